//! The progress of all ranks in one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use truespd_core::load::live::{Counted, HostRate, HostRates, Phase, Progress, Rates};

/// Rates that were told longer ago are no rates of now: each rank tells its own once a second.
const FRESH: Duration = Duration::from_secs(3);

/// How the run of a rank goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankProgress {
    /// Number of the time span, from 1.
    pub time_span: usize,
    pub phase: Phase,
    /// I/Os of the time span so far.
    pub counted: Counted,
    /// Over the last second; none before the first.
    pub rates: Option<Rates>,
}

/// The progress that the other ranks have reported.
#[derive(Debug, Default)]
pub struct ReportedProgress {
    by_rank: BTreeMap<u32, RankReport>,
}

#[derive(Debug)]
struct RankReport {
    at: Instant,
    last: RankProgress,
    /// The end of the time span before.
    before: Option<RankProgress>,
}

impl ReportedProgress {
    /// A rank tells its progress.
    pub fn take(&mut self, rank: u32, progress: RankProgress, at: Instant) {
        let known = self.by_rank.remove(&rank);
        let before = known.and_then(|known| {
            if known.last.time_span == progress.time_span { known.before } else { Some(known.last) }
        });
        self.by_rank.insert(rank, RankReport { at, last: progress, before });
    }

    /// A time span of a run begins: what was told before is not of it.
    pub fn begin(&mut self) {
        self.by_rank.clear();
    }

    /// The last progress of each rank in a time span. A rank that is ahead, or that was silent for too long,
    /// counts with what it did and without rates.
    pub fn in_time_span(&self, time_span: usize, now: Instant) -> BTreeMap<u32, RankProgress> {
        let mut all = BTreeMap::new();
        for (rank, report) in &self.by_rank {
            if report.last.time_span == time_span {
                let is_fresh = now.saturating_duration_since(report.at) <= FRESH;
                all.insert(*rank, if is_fresh { report.last } else { report.last.without_rates() });
            } else if let Some(before) = report.before
                && before.time_span == time_span
            {
                all.insert(*rank, before.without_rates());
            }
        }
        all
    }
}

impl RankProgress {
    pub fn of(progress: &Progress) -> Self {
        RankProgress {
            time_span: progress.span,
            phase: progress.phase,
            counted: progress.counted,
            rates: progress.rates,
        }
    }

    fn without_rates(self) -> Self {
        RankProgress { rates: None, ..self }
    }
}

/// The progress of rank 0 with that of the others in its time span added. `hosts` are the names of the ranks' hosts.
pub fn sum(own: &Progress, others: &BTreeMap<u32, RankProgress>, hosts: &[String]) -> Progress {
    let mut all = others.clone();
    all.insert(0, RankProgress::of(own));
    // What others still did in the last second says nothing once the time is over here.
    let is_running = own.rates.is_some();
    Progress {
        counted: counted(own.counted, others),
        rates: if is_running { rates(&all) } else { None },
        hosts: if is_running { host_rates(&all, hosts).map(Arc::new) } else { None },
        ..own.clone()
    }
}

/// The I/Os of rank 0 with those of the others added.
pub fn counted(own: Counted, others: &BTreeMap<u32, RankProgress>) -> Counted {
    others.values().map(|other| other.counted).sum::<Counted>().plus(own)
}

fn rates(all: &BTreeMap<u32, RankProgress>) -> Option<Rates> {
    let mut sum: Option<Rates> = None;
    // The mean over all I/Os: each rank counts as often as it did I/Os.
    let (mut weight, mut latency_ns) = (0.0, 0.0);
    for progress in all.values() {
        let Some(own) = progress.rates else { continue };
        let rates = sum.get_or_insert_default();
        rates.iops += own.iops;
        rates.bytes_per_s += own.bytes_per_s;
        rates.trims_per_s += own.trims_per_s;
        rates.trimmed_bytes_per_s += own.trimmed_bytes_per_s;
        if let Some(mean_ns) = own.latency_mean_ns {
            weight += own.ios_per_s();
            latency_ns += mean_ns * own.ios_per_s();
        }
    }
    let latency_mean_ns = if weight > 0.0 { Some(latency_ns / weight) } else { None };
    sum.map(|rates| Rates { latency_mean_ns, ..rates })
}

/// The rates of the hosts; none for a run on one, and until a host has told. A host has told when all its
/// ranks have: a part of its ranks would make it look slow.
fn host_rates(all: &BTreeMap<u32, RankProgress>, names: &[String]) -> Option<HostRates> {
    let mut by_host: BTreeMap<&str, Option<f64>> = BTreeMap::new();
    for (rank, name) in (0..).zip(names) {
        let iops = all.get(&rank).and_then(|progress| progress.rates).map(|rates| rates.ios_per_s());
        let of_host = by_host.entry(name).or_insert(Some(0.0));
        *of_host = of_host.zip(iops).map(|(sum, iops)| sum + iops);
    }
    if by_host.len() < 2 {
        return None;
    }
    let hosts = u32::try_from(by_host.len()).unwrap_or(u32::MAX);
    let mut rates: Vec<HostRate> = Vec::new();
    for (host, iops) in by_host {
        rates.extend(iops.map(|iops| HostRate { host: host.to_string(), iops }));
    }
    Some(HostRates {
        hosts,
        told: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        slowest: rates.iter().min_by(|a, b| a.iops.total_cmp(&b.iops))?.clone(),
        fastest: rates.iter().max_by(|a, b| a.iops.total_cmp(&b.iops))?.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: usize = 2;

    fn at(iops: f64, latency_mean_ns: Option<f64>) -> Progress {
        Progress {
            phase: Phase::Measurement,
            span: SPAN,
            spans: 3,
            elapsed_ns: 7,
            planned_ns: 8,
            left_ns: 9,
            counted: Counted { ios: 10, bytes: 40_960, in_flight_ns: 1000, ..Counted::default() },
            rates: Some(Rates { iops, bytes_per_s: iops * 4096.0, latency_mean_ns, ..Rates::default() }),
            machine: None,
            hosts: None,
        }
    }

    /// What ranks from 1 on told.
    fn others(all: &[Progress]) -> BTreeMap<u32, RankProgress> {
        (1..).zip(all.iter().map(RankProgress::of)).collect()
    }

    fn names(names: &str) -> Vec<String> {
        names.split(' ').map(str::to_string).collect()
    }

    fn host(host: &str, iops: f64) -> HostRate {
        HostRate { host: host.to_string(), iops }
    }

    #[test]
    fn the_sums_are_of_all_ranks() {
        let own = at(100.0, Some(1000.0));
        let sum = sum(&own, &others(&[at(300.0, Some(5000.0)), at(0.0, None)]), &names("a b c"));
        let counted = Counted { ios: 30, bytes: 122_880, in_flight_ns: 3000, ..Counted::default() };
        assert_eq!(sum.counted, counted);
        // (100 * 1000 + 300 * 5000) / 400: a rank that did nothing has no latency.
        let latency_mean_ns = Some(4000.0);
        let rates = Rates { iops: 400.0, bytes_per_s: 400.0 * 4096.0, latency_mean_ns, ..Rates::default() };
        assert_eq!(sum.rates, Some(rates));
        let hosts = HostRates { hosts: 3, told: 3, slowest: host("c", 0.0), fastest: host("b", 300.0) };
        assert_eq!(sum.hosts.as_deref(), Some(&hosts));
        assert_eq!(
            Progress { counted: own.counted, rates: own.rates, hosts: None, ..sum },
            own,
            "the rest is its own"
        );
    }

    #[test]
    fn a_mean_latency_of_no_ios_is_none() {
        let sum = sum(&at(0.0, None), &others(&[at(0.0, None)]), &names("a b"));
        assert_eq!(sum.rates, Some(Rates::default()));
    }

    #[test]
    fn trims_are_added_and_have_their_part_in_the_latency_and_in_the_rate_of_a_host() {
        let trims = |trims_per_s, latency_ns| {
            let mut progress = at(0.0, Some(latency_ns));
            progress.counted = Counted { trims: 5, trimmed_bytes: 50, ..Counted::default() };
            progress.rates.as_mut().expect("set").trims_per_s = trims_per_s;
            progress
        };
        let sum = sum(&trims(100.0, 1000.0), &others(&[trims(300.0, 5000.0)]), &names("a b"));
        assert_eq!((sum.counted.trims, sum.counted.trimmed_bytes, sum.counted.ios), (10, 100, 0));
        let rates = sum.rates.expect("two ranks");
        assert_eq!((rates.iops, rates.trims_per_s, rates.latency_mean_ns), (0.0, 400.0, Some(4000.0)));
        assert_eq!(sum.hosts.map(|of| of.fastest.clone()), Some(host("b", 300.0)));
    }

    #[test]
    fn ranks_of_one_host_are_added() {
        let four = others(&[at(200.0, None), at(70.0, None), at(400.0, None)]);
        let sum_of = |hosts: &str, others| sum(&at(100.0, None), others, &names(hosts)).hosts;
        let hosts = sum_of("a b a b", &four).expect("two hosts");
        assert_eq!((hosts.hosts, hosts.told), (2, 2));
        assert_eq!((&hosts.slowest, &hosts.fastest), (&host("a", 170.0), &host("b", 600.0)));
        assert_eq!(sum_of("a a a a", &four), None, "one host is not compared with itself");
        // Host b with one of its ranks only would look slow.
        let three = others(&[at(20.0, None), at(70.0, None)]);
        let hosts = sum_of("a b a b", &three).expect("two hosts");
        assert_eq!((hosts.hosts, hosts.told), (2, 1));
        assert_eq!((&hosts.slowest, &hosts.fastest), (&host("a", 170.0), &host("a", 170.0)));
        assert_eq!(sum_of("a a b b", &others(&[])), None, "no host has told");
    }

    #[test]
    fn ranks_in_another_time_span_are_left_out() {
        let (mut told, now) = (ReportedProgress::default(), Instant::now());
        told.take(1, RankProgress::of(&at(300.0, Some(5.0))), now);
        told.take(2, RankProgress::of(&Progress { span: SPAN - 1, ..at(1e6, Some(1.0)) }), now);
        let sum = sum(&at(100.0, Some(1.0)), &told.in_time_span(SPAN, now), &names("a b c"));
        assert_eq!((sum.counted.ios, sum.rates.map(|rates| rates.iops)), (20, Some(400.0)));
        let hosts = sum.hosts.expect("three hosts");
        assert_eq!((hosts.hosts, hosts.told, &hosts.fastest), (3, 2, &host("b", 300.0)));
    }

    #[test]
    fn a_rank_that_is_ahead_keeps_what_it_did() {
        let (mut told, now) = (ReportedProgress::default(), Instant::now());
        let next = Progress {
            span: SPAN + 1,
            phase: Phase::Start,
            counted: Counted::default(),
            rates: None,
            ..at(0.0, None)
        };
        told.take(1, RankProgress::of(&at(300.0, None)), now);
        for _ in 0..2 {
            told.take(1, RankProgress::of(&next), now);
            let (own, others) = (at(100.0, None), told.in_time_span(SPAN, now));
            let sum = sum(&own, &others, &names("a b"));
            assert_eq!((sum.counted.ios, sum.rates.map(|rates| rates.iops)), (20, Some(100.0)));
            assert_eq!(counted(own.counted, &others).ios, 20);
        }
        assert_eq!(told.in_time_span(SPAN + 1, now)[&1].counted.ios, 0);
        told.begin();
        assert!(told.in_time_span(SPAN, now).is_empty());
    }

    #[test]
    fn a_rank_that_is_silent_has_no_rates_and_keeps_its_counts() {
        let (mut told, now) = (ReportedProgress::default(), Instant::now());
        told.take(1, RankProgress::of(&at(300.0, Some(5.0))), now);
        let rates_and_counts = |passed| {
            let sum = sum(&at(100.0, None), &told.in_time_span(SPAN, now + passed), &names("a b"));
            (sum.rates.map(|rates| rates.iops), sum.counted.ios, sum.hosts.map(|hosts| hosts.told))
        };
        assert_eq!(rates_and_counts(FRESH), (Some(400.0), 20, Some(2)));
        let late = FRESH + Duration::from_millis(1);
        assert_eq!(rates_and_counts(late), (Some(100.0), 20, Some(1)));
    }

    #[test]
    fn without_rates_of_rank_0_there_are_none() {
        let own = Progress { phase: Phase::End, rates: None, ..at(0.0, None) };
        let sum = sum(&own, &others(&[at(300.0, Some(5.0))]), &names("a b"));
        assert_eq!((sum.counted.ios, sum.rates, sum.hosts), (20, None, None));
    }
}

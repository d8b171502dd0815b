//! The progress of all ranks in one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::message::RankProgress;
use crate::load::live::{Counted, HostRate, HostRates, Progress, Rates};

impl RankProgress {
    /// That of this rank.
    pub fn of(progress: &Progress) -> Self {
        let rates = progress.rates;
        RankProgress {
            time_span: progress.span,
            phase: progress.phase,
            ios: progress.counted.ios,
            bytes: progress.counted.bytes,
            in_flight_ns: progress.counted.in_flight_ns,
            iops: rates.map(|rates| rates.iops),
            bytes_per_s: rates.map_or(0.0, |rates| rates.bytes_per_s),
            latency_mean_ns: rates.and_then(|rates| rates.latency_mean_ns),
        }
    }
}

/// The progress of rank 0 with that of the others added, as far as they are in the same time span. `hosts` are the names of
/// the ranks' hosts.
pub fn sum(own: &Progress, others: &BTreeMap<u32, RankProgress>, hosts: &[String]) -> Progress {
    let mut all = BTreeMap::from([(0, RankProgress::of(own))]);
    all.extend(others.iter().filter(|(_, other)| other.time_span == own.span).map(|(rank, p)| (*rank, *p)));
    let counted =
        all.values().map(|p| Counted { ios: p.ios, bytes: p.bytes, in_flight_ns: p.in_flight_ns }).sum();
    Progress { counted, rates: rates(&all), hosts: host_rates(&all, hosts).map(Arc::new), ..own.clone() }
}

fn rates(all: &BTreeMap<u32, RankProgress>) -> Option<Rates> {
    let told = || all.values().filter_map(|progress| Some((progress.iops?, progress)));
    told().next()?;
    let iops = told().map(|(iops, _)| iops).sum();
    // The mean over all I/Os: each rank counts as often as it did I/Os.
    let weighted = told().filter_map(|(iops, progress)| Some((iops, progress.latency_mean_ns? * iops)));
    let (weight, latency_ns) = weighted.fold((0.0, 0.0), |sum, (iops, ns)| (sum.0 + iops, sum.1 + ns));
    Some(Rates {
        iops,
        bytes_per_s: told().map(|(_, progress)| progress.bytes_per_s).sum(),
        latency_mean_ns: (weight > 0.0).then(|| latency_ns / weight),
    })
}

fn host_rates(all: &BTreeMap<u32, RankProgress>, names: &[String]) -> Option<HostRates> {
    let mut by_host: BTreeMap<&str, f64> = BTreeMap::new();
    for (rank, progress) in all {
        if let (Some(name), Some(iops)) = (names.get(*rank as usize), progress.iops) {
            *by_host.entry(name).or_default() += iops;
        }
    }
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let rate = |(host, iops): (&&str, &f64)| HostRate { host: (*host).to_string(), iops: *iops };
    let by_rate = |a: &(&&str, &f64), b: &(&&str, &f64)| a.1.total_cmp(b.1);
    let distinct = names.iter().collect::<std::collections::BTreeSet<_>>().len();
    Some(HostRates {
        hosts: count(distinct),
        told: count(by_host.len()),
        slowest: rate(by_host.iter().min_by(by_rate)?),
        fastest: rate(by_host.iter().max_by(by_rate)?),
    })
}

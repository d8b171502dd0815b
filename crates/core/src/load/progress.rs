//! Tells the progress of a time span while its threads run, on a thread of its own: a terminal that is stopped (Ctrl+S)
//! keeps neither the controller nor a worker waiting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::activity::Sources;
use super::context::{Event, OnEvent};
use super::live::{Cell, Counted, DiskRates, MachineRates, Phase, Progress, Readings, TOLD_EVERY_NS};
use super::phases::Phases;
use crate::measure::clock::{Clock, MachineClock};
use crate::measure::cpu::{CpuCounters, busy_percent};
use truespd_platform::machine::diskstat::{DiskCounts, DiskReading};
use truespd_platform::sys::events::Latch;

/// Busy workers have told their counts this long after they were due.
const LAG_NS: u64 = 20_000_000;

/// Where a time span stands in its profile.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its number, from 1.
    pub span: usize,
    pub spans: usize,
    /// Warm-up, measured time and cool-down of those after it, in nanoseconds.
    pub later_ns: u64,
}

/// What is told, from what, to whom.
pub struct Teller<'a> {
    /// The instants of the time span.
    pub phases: &'a Phases,
    /// The clock of these instants.
    pub clock: &'a MachineClock,
    pub cells: &'a [Arc<Cell>],
    /// The disks under the targets.
    pub sources: &'a Sources,
    /// Where the time span stands.
    pub place: Place,
    pub every: Duration,
    pub on_event: OnEvent<'a>,
}

impl Teller<'_> {
    /// Tells until `done` is set.
    pub fn tell(&self, done: &Latch) {
        let every_ns = u64::try_from(self.every.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut readings = Readings::new(self.every);
        let mut machine = MachineReadings::new(self.sources, self.every);
        let mut told_ns = self.clock.now_ns();
        loop {
            let now_ns = self.clock.now_ns();
            let due_ns = due_ns(self.phases.start_ns(), now_ns, every_ns);
            if Latch::wait_any(&[done], Some(Duration::from_nanos(due_ns.saturating_sub(now_ns)))) {
                return (self.on_event)(Event::Counted(self.counted()));
            }
            let mut progress = self.progress(&mut readings);
            // Before the start it looks more often than it tells, to tell of the start at once.
            let now_ns = self.clock.now_ns();
            if progress.phase != Phase::Start || now_ns.saturating_sub(told_ns) >= every_ns {
                told_ns = now_ns;
                progress.machine = machine.rates(now_ns);
                (self.on_event)(Event::Progress(progress));
            }
        }
    }

    /// What the workers told last.
    fn counted(&self) -> Counted {
        self.cells.iter().map(|cell| cell.heard()).sum()
    }

    fn progress(&self, readings: &mut Readings) -> Progress {
        let (now_ns, phases) = (self.clock.now_ns(), self.phases);
        let (start_ns, stop_ns) = (phases.start_ns(), phases.stop_ns());
        let phase = match now_ns {
            now if now >= stop_ns => Phase::End,
            _ if start_ns == u64::MAX => Phase::Start,
            now if now < phases.measure_start_ns() => Phase::WarmUp,
            now if now < phases.measure_end_ns() => Phase::Measurement,
            _ => Phase::CoolDown,
        };
        let has_begun = phase != Phase::Start;
        let is_running = has_begun && phase != Phase::End;
        let counted = self.counted();
        let rates = is_running.then(|| {
            if readings.is_empty() {
                readings.rates(start_ns, Counted::default());
            }
            readings.rates(told_at_ns(start_ns, now_ns), counted)
        });
        let Place { span, spans, later_ns } = self.place;
        let until_stop_ns = if is_running { stop_ns.saturating_sub(now_ns) } else { 0 };
        Progress {
            phase,
            span,
            spans,
            elapsed_ns: if has_begun { now_ns.saturating_sub(start_ns) } else { 0 },
            planned_ns: if is_running { stop_ns.saturating_sub(start_ns) } else { 0 },
            left_ns: until_stop_ns.saturating_add(later_ns),
            counted,
            rates: rates.flatten(),
            machine: None,
            hosts: None,
        }
    }
}

/// When to tell next: right after the workers have told their counts.
fn due_ns(start_ns: u64, now_ns: u64, every_ns: u64) -> u64 {
    if start_ns > now_ns {
        return now_ns.saturating_add(every_ns.min(TOLD_EVERY_NS));
    }
    let passed = now_ns.saturating_sub(start_ns).saturating_sub(LAG_NS) / every_ns;
    start_ns.saturating_add(LAG_NS).saturating_add((passed + 1).saturating_mul(every_ns))
}

/// When the workers told their counts last.
fn told_at_ns(start_ns: u64, now_ns: u64) -> u64 {
    start_ns + (now_ns - start_ns.min(now_ns)) / TOLD_EVERY_NS * TOLD_EVERY_NS
}

const NS_PER_S: f64 = 1e9;
/// Rates are of this time at least: counters of processors advance in steps of 10 ms.
const WINDOW_NS_MIN: u64 = 1_000_000_000;

/// The last readings of the counters.
#[derive(Debug)]
pub struct MachineReadings<'a> {
    sources: &'a Sources,
    window_ns: u64,
    kept: VecDeque<Reading>,
}

#[derive(Debug)]
struct Reading {
    at_ns: u64,
    processors: Option<CpuCounters>,
    disks: Vec<Option<DiskReading>>,
}

impl<'a> MachineReadings<'a> {
    /// For rates over a second, or over the time between two reports when that is longer.
    pub fn new(sources: &'a Sources, every: Duration) -> Self {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        MachineReadings { sources, window_ns: every_ns.max(WINDOW_NS_MIN), kept: VecDeque::new() }
    }

    /// Reads the counters; the rates since the last reading that is old enough, or the first. None at the first.
    pub fn rates(&mut self, at_ns: u64) -> Option<Arc<MachineRates>> {
        let disks = self.sources.lowest_counts().collect();
        self.kept.push_back(Reading { at_ns, processors: CpuCounters::read().ok(), disks });
        while self.kept.get(1).is_some_and(|then| at_ns.saturating_sub(then.at_ns) >= self.window_ns) {
            self.kept.pop_front();
        }
        let (then, now) = (self.kept.front()?, self.kept.back()?);
        let seconds = now.at_ns.saturating_sub(then.at_ns) as f64 / NS_PER_S;
        if seconds <= 0.0 {
            return None;
        }
        let processors = then.processors.as_ref().zip(now.processors.as_ref());
        let names = self.sources.lowest_names();
        let pairs = names.zip(then.disks.iter().zip(&now.disks));
        let disks = pairs.filter_map(|(name, (then, now))| {
            Some(disk_rates(name, &now.as_ref()?.since(then.as_ref()?), seconds))
        });
        Some(Arc::new(MachineRates {
            processors_busy_percent: processors.and_then(|(then, now)| busy_percent(then, now)),
            disks: disks.collect(),
        }))
    }
}

/// The rates of a disk from what it did in `seconds`.
fn disk_rates(name: &str, did: &DiskCounts, seconds: f64) -> DiskRates {
    let completed = did.reads + did.writes;
    let time_s = (did.read_time_ns + did.write_time_ns) as f64 / NS_PER_S;
    DiskRates {
        name: name.to_string(),
        reads_per_s: did.reads as f64 / seconds,
        read_bytes_per_s: did.read_bytes as f64 / seconds,
        writes_per_s: did.writes as f64 / seconds,
        write_bytes_per_s: did.write_bytes as f64 / seconds,
        latency_mean_s: (completed > 0).then(|| time_s / completed as f64),
        in_flight_mean: did.queue_time_ns as f64 / seconds / NS_PER_S,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn it_tells_right_after_the_workers() {
        assert_eq!(due_ns(5 * S, 5 * S, S), 6 * S + LAG_NS);
        assert_eq!(due_ns(5 * S, 6 * S + LAG_NS - 1, S), 6 * S + LAG_NS);
        assert_eq!(due_ns(5 * S, 6 * S + LAG_NS, S), 7 * S + LAG_NS);
        assert_eq!(due_ns(5 * S, 9 * S + S / 2, S), 10 * S + LAG_NS, "late ones are left out");
        assert_eq!(
            due_ns(u64::MAX, 3 * S, 10 * S),
            3 * S + TOLD_EVERY_NS,
            "the start may come at any moment"
        );
        assert_eq!(told_at_ns(5 * S, 6 * S + LAG_NS), 6 * S);
        assert_eq!(told_at_ns(5 * S, 6 * S + S / 3), 6 * S + S / 4);
    }

    /// Counts that grow by 1000 I/Os of 4 KiB per second, as a worker tells them.
    #[test]
    fn each_phase_has_its_word_its_time_left_and_its_rates() {
        let phases = Phases::new();
        let cells = [Arc::new(Cell::default()), Arc::new(Cell::default())];
        let clock = MachineClock::start();
        let place = Place { span: 1, spans: 2, later_ns: 7 * S };
        let sources = Sources::default();
        let teller = Teller {
            phases: &phases,
            clock: &clock,
            cells: &cells,
            sources: &sources,
            place,
            every: Duration::from_secs(1),
            on_event: &|_| (),
        };
        let mut readings = Readings::new(teller.every);
        assert_eq!(teller.progress(&mut readings).phase, Phase::Start);
        let lengths = |warmup_s, duration_s, cooldown_s| super::super::phases::Lengths {
            warmup_ns: warmup_s * S,
            duration_ns: duration_s * S,
            cooldown_ns: cooldown_s * S,
            rounds: None,
        };
        let now_ns = clock.now_ns();
        for (lengths, phase) in [
            (lengths(1000, 1000, 1000), Phase::WarmUp),
            (lengths(0, 2000, 1000), Phase::Measurement),
            (lengths(0, 0, 3000), Phase::CoolDown),
        ] {
            phases.begin(now_ns, lengths);
            let progress = teller.progress(&mut Readings::new(teller.every));
            assert_eq!((progress.phase, progress.rates), (phase, None));
            let left_s = progress.left_ns / S;
            assert!((2000..=3007).contains(&left_s), "{left_s} s of 3000 and 7 later");
            assert_eq!(progress.planned_ns, 3000 * S);
        }
        phases.interrupt(clock.now_ns());
        let progress = teller.progress(&mut readings);
        assert_eq!((progress.phase, progress.left_ns, progress.rates), (Phase::End, 7 * S, None));
    }
}

#[cfg(test)]
mod tests_of_machine_rates {
    use super::*;

    #[test]
    fn rates_of_a_disk_come_from_what_it_did() {
        let did = DiskCounts {
            reads: 3000,
            read_bytes: 3000 * 4096,
            read_time_ns: 600_000_000,
            writes: 1000,
            write_bytes: 1000 * 8192,
            write_time_ns: 200_000_000,
            queue_time_ns: 900_000_000,
            ..DiskCounts::default()
        };
        let rates = disk_rates("vda", &did, 2.0);
        assert_eq!((rates.reads_per_s, rates.writes_per_s), (1500.0, 500.0));
        assert_eq!((rates.read_bytes_per_s, rates.write_bytes_per_s), (1500.0 * 4096.0, 500.0 * 8192.0));
        assert_eq!((rates.latency_mean_s, rates.in_flight_mean), (Some(0.0002), 0.45));
        assert_eq!(disk_rates("vda", &DiskCounts::default(), 1.0).latency_mean_s, None);
    }

    #[test]
    fn the_first_reading_is_no_rate_and_the_next_is() {
        let sources = Sources::default();
        let mut readings = MachineReadings::new(&sources, Duration::from_secs(1));
        assert_eq!(readings.rates(5), None);
        let rates = readings.rates(5 + WINDOW_NS_MIN).expect("two readings");
        assert!(rates.disks.is_empty());
        assert!(rates.processors_busy_percent.is_none_or(|busy| (0.0..=100.0).contains(&busy)));
        readings.rates(5 + 3 * WINDOW_NS_MIN);
        assert_eq!(readings.kept.len(), 2, "old readings are forgotten");
    }
}

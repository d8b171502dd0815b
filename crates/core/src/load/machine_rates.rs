//! What the processors and the disks did over the last while, for who watches a run. Read by the thread that tells the
//! progress.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::activity::Sources;
use super::live::{DiskRates, MachineRates};
use crate::machine::diskstat::{DiskCounts, DiskReading};
use crate::measure::cpu::{CpuCounters, busy_percent};

const NS_PER_S: f64 = 1e9;
/// Rates are of this time at least: counters of processors advance in steps of 10 ms.
const WINDOW_NS_MIN: u64 = 1_000_000_000;

/// The last readings of the counters.
#[derive(Debug)]
pub struct MachineReadings<'a> {
    sources: &'a Sources,
    window_ns: u64,
    /// Oldest first.
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
    let per_s = |count: u64| count as f64 / seconds;
    let completed = did.reads + did.writes;
    let time_s = (did.read_time_ns + did.write_time_ns) as f64 / NS_PER_S;
    DiskRates {
        name: name.to_string(),
        reads_per_s: per_s(did.reads),
        read_bytes_per_s: per_s(did.read_bytes),
        writes_per_s: per_s(did.writes),
        write_bytes_per_s: per_s(did.write_bytes),
        latency_mean_s: (completed > 0).then(|| time_s / completed as f64),
        in_flight_mean: per_s(did.queue_time_ns) / NS_PER_S,
    }
}

#[cfg(test)]
mod tests {
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
        let sources = Sources::none();
        let mut readings = MachineReadings::new(&sources, Duration::from_secs(1));
        assert_eq!(readings.rates(5), None);
        let rates = readings.rates(5 + WINDOW_NS_MIN).expect("two readings");
        assert!(rates.disks.is_empty());
        assert!(rates.processors_busy_percent.is_none_or(|busy| (0.0..=100.0).contains(&busy)));
        readings.rates(5 + 3 * WINDOW_NS_MIN);
        assert_eq!(readings.kept.len(), 2, "old readings are forgotten");
    }
}

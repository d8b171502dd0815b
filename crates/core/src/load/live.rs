//! What can be seen of a run while it goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Sums since the start signal, over all phases.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Reads and writes, without trims.
    pub ios: u64,
    pub bytes: u64,
    /// Trims (`--trim`), which are none of `ios`.
    pub trims: u64,
    /// Bytes that the trims covered.
    pub trimmed_bytes: u64,
    /// I/Os in flight times nanoseconds, which is the sum of all latencies (Little's law).
    pub in_flight_ns: u64,
}

/// Workers tell their counts at multiples of this after the start signal, when somebody watches.
pub const TOLD_EVERY_NS: u64 = 250_000_000;

/// Counts of one worker. It writes them at the first completion after each multiple of [`TOLD_EVERY_NS`], so
/// that nothing is shared on the hot path. For a moment, the numbers may be of two instants. On a cache
/// line of its own, because the worker's neighbours on the heap may be other workers' data.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Cell {
    ios: AtomicU64,
    bytes: AtomicU64,
    trims: AtomicU64,
    trimmed_bytes: AtomicU64,
    in_flight_ns: AtomicU64,
}

impl Cell {
    /// Replaces what was said before.
    pub fn say(&self, counted: Counted) {
        self.ios.store(counted.ios, Ordering::Relaxed);
        self.bytes.store(counted.bytes, Ordering::Relaxed);
        self.trims.store(counted.trims, Ordering::Relaxed);
        self.trimmed_bytes.store(counted.trimmed_bytes, Ordering::Relaxed);
        self.in_flight_ns.store(counted.in_flight_ns, Ordering::Relaxed);
    }

    /// What was said last.
    pub fn heard(&self) -> Counted {
        Counted {
            ios: self.ios.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            trims: self.trims.load(Ordering::Relaxed),
            trimmed_bytes: self.trimmed_bytes.load(Ordering::Relaxed),
            in_flight_ns: self.in_flight_ns.load(Ordering::Relaxed),
        }
    }
}

impl Counted {
    /// Both together.
    pub fn plus(self, other: Counted) -> Counted {
        Counted {
            ios: self.ios + other.ios,
            bytes: self.bytes + other.bytes,
            trims: self.trims + other.trims,
            trimmed_bytes: self.trimmed_bytes + other.trimmed_bytes,
            in_flight_ns: self.in_flight_ns.saturating_add(other.in_flight_ns),
        }
    }

    /// Whether it only trims (`--trim 100`): then there are no IOPS to tell.
    pub fn are_trims_only(&self) -> bool {
        self.trims > 0 && self.ios == 0
    }
}

impl std::iter::Sum for Counted {
    fn sum<I: Iterator<Item = Counted>>(all: I) -> Counted {
        all.fold(Counted::default(), Counted::plus)
    }
}

/// A part of a time span.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The start signal has not come: threads are being prepared, or an event is waited for (`-yr`).
    Start,
    /// `-W`.
    WarmUp,
    /// `-d`.
    Measurement,
    /// `-C`.
    CoolDown,
    /// Nothing is issued any more, and some I/Os are not back yet.
    End,
}

/// Rates over the last while.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rates {
    /// Reads and writes per second.
    pub iops: f64,
    pub bytes_per_s: f64,
    pub trims_per_s: f64,
    pub trimmed_bytes_per_s: f64,
    /// Mean latency in nanoseconds, of trims as well; none when no I/O completed.
    pub latency_mean_ns: Option<f64>,
}

impl Rates {
    /// Reads, writes and trims per second.
    pub fn ios_per_s(&self) -> f64 {
        self.iops + self.trims_per_s
    }
}

/// What the machine did over the last while.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MachineRates {
    /// Of all online processors, in percent of their time; none where the kernel does not tell.
    pub processors_busy_percent: Option<f64>,
    /// The lowest devices under the targets; none for one that keeps no counters or is gone.
    pub disks: Vec<DiskRates>,
}

/// What a disk did over the last while, by the kernel's counters.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskRates {
    /// The kernel's name of it.
    pub name: String,
    pub reads_per_s: f64,
    pub read_bytes_per_s: f64,
    pub writes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// Mean time of a request, in seconds; absent when none completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_s: Option<f64>,
    /// Requests in the disk and its queue on average.
    pub in_flight_mean: f64,
}

/// Where a time span is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What goes on.
    pub phase: Phase,
    /// Number of the time span, from 1.
    pub span: usize,
    /// How many time spans the profile has.
    pub spans: usize,
    /// Nanoseconds since the first I/O could go out.
    pub elapsed_ns: u64,
    /// Planned from there to the end of the cool-down, in nanoseconds.
    pub planned_ns: u64,
    /// Until the cool-down of the last time span ends, in nanoseconds; without the time to prepare further spans.
    pub left_ns: u64,
    /// All I/Os of the time span so far, in all its phases; up to 0.3 s old.
    pub counted: Counted,
    /// What the last second brought, or the time since the last report when that is longer; none before the first.
    pub rates: Option<Rates>,
    /// What the machine did meanwhile; none before the first.
    pub machine: Option<Arc<MachineRates>>,
    /// The hosts whose sums these are, when it is a run on several.
    pub hosts: Option<Arc<HostRates>>,
}

/// The hosts of a cluster run over the last second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostRates {
    /// Hosts of the run.
    pub hosts: u32,
    /// Those that told their rates.
    pub told: u32,
    /// The one with the fewest I/Os per second.
    pub slowest: HostRate,
    /// The one with the most.
    pub fastest: HostRate,
}

/// One host over the last second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostRate {
    /// Its name.
    pub host: String,
    /// I/Os per second of all its ranks, trims among them.
    pub iops: f64,
}

/// The last readings of all cells, to tell rates from.
#[derive(Debug)]
pub struct Readings {
    /// Instants and sums, oldest first.
    kept: VecDeque<(u64, Counted)>,
    window_ns: u64,
}

impl Readings {
    /// For rates over a second, or over the time between two reports when that is longer.
    pub fn new(every: Duration) -> Self {
        let window_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1_000_000_000);
        Readings { kept: VecDeque::new(), window_ns }
    }

    /// Whether there is no reading yet.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Adds a reading; the rates since the last one that is old enough, or the first.
    pub fn rates(&mut self, at_ns: u64, counted: Counted) -> Option<Rates> {
        self.kept.push_back((at_ns, counted));
        while self.kept.get(1).is_some_and(|(then_ns, _)| at_ns - then_ns >= self.window_ns) {
            self.kept.pop_front();
        }
        let (then_ns, then) = *self.kept.front()?;
        let seconds = at_ns.saturating_sub(then_ns) as f64 / 1e9;
        let ios = counted.ios.saturating_sub(then.ios) as f64;
        let trims = counted.trims.saturating_sub(then.trims) as f64;
        let (all, in_flight_ns) =
            (ios + trims, counted.in_flight_ns.saturating_sub(then.in_flight_ns) as f64);
        (seconds > 0.0).then(|| Rates {
            iops: ios / seconds,
            bytes_per_s: counted.bytes.saturating_sub(then.bytes) as f64 / seconds,
            trims_per_s: trims / seconds,
            trimmed_bytes_per_s: counted.trimmed_bytes.saturating_sub(then.trimmed_bytes) as f64 / seconds,
            latency_mean_ns: (all > 0.0).then(|| in_flight_ns / all),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_second() {
        let mut readings = Readings::new(Duration::from_millis(250));
        let counted =
            |ios| Counted { ios, bytes: ios * 4096, in_flight_ns: ios * 50_000, ..Counted::default() };
        const S: u64 = 1_000_000_000;
        assert_eq!(readings.rates(S, counted(0)), None, "one reading is no rate");
        // 1000 in the first quarter, then 400 in each.
        let rate = |r: Option<Rates>| r.expect("two readings").iops;
        assert_eq!(rate(readings.rates(S + S / 4, counted(1000))), 4000.0);
        assert_eq!(rate(readings.rates(S + S / 2, counted(1400))), 2800.0);
        assert_eq!(rate(readings.rates(S + S / 4 * 3, counted(1800))), 2400.0);
        assert_eq!(rate(readings.rates(2 * S, counted(2200))), 2200.0);
        let later = readings.rates(2 * S + S / 4, counted(2600)).expect("two readings");
        assert_eq!(
            (later.iops, later.bytes_per_s),
            (1600.0, 1600.0 * 4096.0),
            "the first quarter is forgotten"
        );
        assert_eq!(later.latency_mean_ns, Some(50_000.0));
    }

    #[test]
    fn a_stall_shows_as_nothing() {
        let mut readings = Readings::new(Duration::from_secs(10));
        let counted = Counted { ios: 70, bytes: 70, in_flight_ns: 70, ..Counted::default() };
        readings.rates(0, Counted::default());
        assert_eq!(readings.rates(10_000_000_000, counted).map(|r| r.iops), Some(7.0));
        let rates = readings.rates(20_000_000_000, counted);
        assert_eq!(rates, Some(Rates::default()));
    }

    #[test]
    fn trims_have_rates_of_their_own_and_a_part_in_the_latency() {
        let mut readings = Readings::new(Duration::from_secs(1));
        readings.rates(0, Counted::default());
        let (trims, mixed) = (
            Counted { trims: 30, trimmed_bytes: 300, in_flight_ns: 90, ..Counted::default() },
            Counted { ios: 10, ..Counted::default() },
        );
        let rates = readings.rates(1_000_000_000, trims).expect("two readings");
        let wanted = Rates {
            trims_per_s: 30.0,
            trimmed_bytes_per_s: 300.0,
            latency_mean_ns: Some(3.0),
            ..Rates::default()
        };
        assert_eq!((rates, trims.are_trims_only()), (wanted, true));
        let rates = readings.rates(2_000_000_000, trims.plus(trims).plus(mixed)).expect("two readings");
        assert_eq!((rates.iops, rates.trims_per_s, rates.latency_mean_ns), (10.0, 30.0, Some(90.0 / 40.0)));
        assert!(!mixed.are_trims_only() && !Counted::default().are_trims_only());
    }
}

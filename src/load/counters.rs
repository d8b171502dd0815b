//! What a worker counts on one target.

use crate::measure::{Histogram, Intervals};
use crate::result::Direction;

/// Which statistics a time span asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Latency (`-L`).
    pub latency: bool,
    /// Series of this interval and measured time in nanoseconds (`-D`).
    pub intervals: Option<(u64, u64)>,
}

impl Wanted {
    /// Whether time stamps of single I/Os matter.
    pub fn stamps(&self) -> bool {
        self.latency || self.intervals.is_some()
    }
}

/// Counts of one direction. All memory is taken in `new`.
#[derive(Debug)]
pub struct Counter {
    bytes: u64,
    ios: u64,
    latency: Option<Histogram>,
    intervals: Option<Intervals>,
}

impl Counter {
    /// Zero of everything wanted; `used` is false for a direction the mix never takes.
    pub fn new(wanted: Wanted, used: bool) -> Self {
        Counter {
            bytes: 0,
            ios: 0,
            latency: (wanted.latency && used).then(Histogram::new),
            intervals: wanted
                .intervals
                .filter(|_| used)
                .map(|(interval, duration)| Intervals::new(interval, duration)),
        }
    }

    /// Counts one completion; `since_start_ns` is the time since measurement began.
    #[inline(always)]
    pub fn record(&mut self, bytes: u32, latency_ns: u64, since_start_ns: impl FnOnce() -> u64) {
        self.bytes += u64::from(bytes);
        self.ios += 1;
        if let Some(histogram) = &mut self.latency {
            histogram.record(latency_ns);
        }
        if let Some(intervals) = &mut self.intervals {
            intervals.record(since_start_ns(), latency_ns);
        }
    }

    /// I/Os counted so far.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// The direction for the document; `wanted` as given to `new`, `measured_ns` as it turned out.
    pub fn finish(mut self, wanted: Wanted, measured_ns: u64) -> Direction {
        if let Some(intervals) = &mut self.intervals {
            intervals.end_at(measured_ns);
        }
        Direction {
            bytes: self.bytes,
            ios: self.ios,
            latency: self.latency.or_else(|| wanted.latency.then(Histogram::new)),
            intervals: self.intervals,
        }
    }
}

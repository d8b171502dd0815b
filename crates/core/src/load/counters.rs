//! What a worker counts on one target.

use super::live::Counted;
use super::phases::Lengths;
use crate::measure::{Histogram, Intervals};
use crate::profile::TimeSpan;
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
    /// Those of a time span.
    pub fn of(span: &TimeSpan) -> Self {
        let interval_ns = u64::from(span.io_bucket_ms) * 1_000_000;
        let intervals = || (interval_ns, Lengths::of(span).duration_ns);
        Wanted { latency: span.measure_latency, intervals: span.calculate_iops_std_dev.then(intervals) }
    }

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
    more: Option<Box<More>>,
}

/// Statistics that not every run asks for. They stand apart so that one test per I/O skips them all.
#[derive(Debug, Default)]
struct More {
    intervals: Option<Intervals>,
    /// Latencies from the intended start.
    response: Option<Histogram>,
}

impl More {
    #[inline(never)]
    fn record(&mut self, latency_ns: u64, since_start_ns: u64, response_ns: u64) {
        if let Some(intervals) = &mut self.intervals {
            intervals.record(since_start_ns, latency_ns);
        }
        if let Some(histogram) = &mut self.response {
            histogram.record(response_ns);
        }
    }
}

impl Counter {
    /// Empty counts. `used` is false for a direction that the mix never takes. `has_schedule`: a rate limit gives each
    /// I/O an intended start.
    pub fn new(wanted: Wanted, used: bool, has_schedule: bool) -> Self {
        let more = More {
            intervals: wanted.intervals.map(|(interval, duration)| Intervals::new(interval, duration)),
            response: (wanted.latency && has_schedule).then(Histogram::new),
        };
        let is_wanted = used && (more.intervals.is_some() || more.response.is_some());
        Counter {
            bytes: 0,
            ios: 0,
            latency: (wanted.latency && used).then(Histogram::new),
            more: is_wanted.then(|| Box::new(more)),
        }
    }

    /// Counts one completion; `more_ns` gives the time since measurement began and the latency from the intended
    /// start, when either is wanted.
    #[inline(always)]
    pub fn record(&mut self, bytes: u32, latency_ns: u64, more_ns: impl FnOnce() -> (u64, u64)) {
        self.bytes += u64::from(bytes);
        self.ios += 1;
        if let Some(histogram) = &mut self.latency {
            histogram.record_recent(latency_ns);
        }
        if let Some(more) = &mut self.more {
            let (since_start_ns, response_ns) = more_ns();
            more.record(latency_ns, since_start_ns, response_ns);
        }
    }

    /// Hands out the latencies that were counted since the last time, by coarse bucket.
    pub fn take_recent(&mut self, into: impl FnMut(usize, u64)) {
        if let Some(histogram) = &mut self.latency {
            histogram.take_recent(into);
        }
    }

    /// I/Os and bytes counted so far.
    pub fn counted(&self) -> Counted {
        Counted { ios: self.ios, bytes: self.bytes, in_flight_ns: 0 }
    }

    /// I/Os counted so far.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// The direction for the document; `wanted` as given to `new`, `measured_ns` as it turned out.
    pub fn finish(mut self, wanted: Wanted, measured_ns: u64) -> Direction {
        // Nothing is recent any more.
        self.take_recent(|_, _| ());
        let mut more = self.more.map(|more| *more).unwrap_or_default();
        if let Some(intervals) = &mut more.intervals {
            intervals.end_at(measured_ns);
        }
        Direction {
            bytes: self.bytes,
            ios: self.ios,
            latency: self.latency.or_else(|| wanted.latency.then(Histogram::new)).map(Box::new),
            response: more.response.map(Box::new),
            intervals: more.intervals,
        }
    }
}

//! Counts of a run while it goes on, for the progress display.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sums over the measured time so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes they transferred.
    pub bytes: u64,
    /// Sum of their latencies in nanoseconds; 0 without `-L`.
    pub latency_ns: u64,
}

/// Counts of one worker. It writes them whenever an interval of the measured time ends (50 ms to seconds), so that
/// nothing is shared on the hot path. For a moment, the three numbers may be of two intervals.
#[derive(Debug, Default)]
pub struct Cell {
    ios: AtomicU64,
    bytes: AtomicU64,
    latency_ns: AtomicU64,
}

impl Cell {
    /// Replaces what was said before.
    pub fn say(&self, counted: Counted) {
        self.ios.store(counted.ios, Ordering::Relaxed);
        self.bytes.store(counted.bytes, Ordering::Relaxed);
        self.latency_ns.store(counted.latency_ns, Ordering::Relaxed);
    }

    /// What was said last.
    pub fn heard(&self) -> Counted {
        Counted {
            ios: self.ios.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            latency_ns: self.latency_ns.load(Ordering::Relaxed),
        }
    }
}

impl std::iter::Sum for Counted {
    fn sum<I: Iterator<Item = Counted>>(all: I) -> Counted {
        all.fold(Counted::default(), |sum, one| Counted {
            ios: sum.ios + one.ios,
            bytes: sum.bytes + one.bytes,
            latency_ns: sum.latency_ns.saturating_add(one.latency_ns),
        })
    }
}

/// A part of a time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// `-W`.
    WarmUp,
    /// `-d`.
    Measurement,
    /// `-C`.
    CoolDown,
}

/// Where a time span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What goes on.
    pub phase: Phase,
    /// Nanoseconds since the first I/O could go out.
    pub elapsed_ns: u64,
    /// Planned from there to the end of the cool-down, in nanoseconds.
    pub planned_ns: u64,
    /// Of the measured time so far, in nanoseconds.
    pub measured_ns: u64,
    /// Counted so far, up to the end of an interval that is over.
    pub counted: Counted,
}

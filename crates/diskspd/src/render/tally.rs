//! Sums over threads and targets, as the tables, charts and totals of every format need them.

use truespd_core::measure::{Histogram, Intervals};
use truespd_core::result::{Direction, Measured, TargetResult, TimeSpanResult};

/// Which I/Os a table or chart is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads and writes together.
    Total,
    /// Reads only.
    Read,
    /// Writes only.
    Write,
}

/// The sum of any number of [`Direction`]s.
///
/// Latencies and series are merged, never averaged: the mean of a tally is the mean over its I/Os, and
/// its deviation that of the summed series.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    latency: Option<Histogram>,
    intervals: Option<Intervals>,
}

impl Tally {
    /// Adds the I/Os of a kind of one thread on one target.
    pub fn add(&mut self, target: &TargetResult, kind: Kind) {
        self.count(target, kind);
        for direction in directions(target, kind) {
            if let Some(latency) = &direction.latency {
                // A fresh histogram takes no memory until something is recorded; a copy would.
                self.latency.get_or_insert_with(Histogram::new).merge(latency);
            }
            match (&mut self.intervals, &direction.intervals) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
    }

    /// Adds bytes and I/Os only.
    pub fn count(&mut self, target: &TargetResult, kind: Kind) {
        for direction in directions(target, kind) {
            self.bytes += direction.bytes;
            self.ios += direction.ios;
        }
    }

    /// Everything of a kind that one thread did on one target.
    pub fn of_target(target: &TargetResult, kind: Kind) -> Self {
        let mut tally = Tally::default();
        tally.add(target, kind);
        tally
    }

    /// Everything of a kind that all threads did on the targets that `wanted` picks.
    pub fn of_targets(measured: &Measured, kind: Kind, wanted: impl Fn(&TargetResult) -> bool) -> Self {
        let mut tally = Tally::default();
        let targets = measured.threads.iter().flat_map(|thread| &thread.targets);
        targets.filter(|target| wanted(target)).for_each(|target| tally.add(target, kind));
        tally
    }

    /// The merged latencies; `None` without a single sample.
    pub fn latency(&self) -> Option<&Histogram> {
        self.latency.as_ref().filter(|latency| latency.count() > 0)
    }

    /// Mean latency in milliseconds, 0 without samples.
    pub fn latency_mean_ms(&self) -> f64 {
        self.latency().map_or(0.0, |latency| latency.mean_ns() / 1e6)
    }

    /// The merged series; `None` when none was gathered.
    pub fn intervals(&self) -> Option<&Intervals> {
        self.intervals.as_ref()
    }

    /// Standard deviation of the completions per interval, in I/Os per second.
    pub fn iops_std_dev(&self) -> f64 {
        self.intervals.as_ref().map_or(0.0, Intervals::iops_std_dev)
    }

    /// MiB per second over `time_s` seconds.
    pub fn mib_per_s(&self, time_s: f64) -> f64 {
        rate(self.bytes as f64 / (1024.0 * 1024.0), time_s)
    }

    /// I/Os per second over `time_s` seconds.
    pub fn ios_per_s(&self, time_s: f64) -> f64 {
        rate(self.ios as f64, time_s)
    }
}

/// What a target counts for a kind.
fn directions(target: &TargetResult, kind: Kind) -> impl Iterator<Item = &Direction> {
    let read = (kind != Kind::Write).then_some(&target.read);
    let write = (kind != Kind::Read).then_some(&target.write);
    read.into_iter().chain(write)
}

/// `amount / time_s`, 0 when there was no time: a result never holds NaN or infinity.
fn rate(amount: f64, time_s: f64) -> f64 {
    if time_s > 0.0 { amount / time_s } else { 0.0 }
}

/// Nothing is measured below this time, as in 2.2: rates would be noise.
const TEST_TIME_S_MIN: f64 = 1e-7;

/// The numbers of a time span, when it has any worth showing.
pub fn measured(result: &TimeSpanResult) -> Option<&Measured> {
    match result {
        TimeSpanResult::Measured(measured) if measured.test_time_s >= TEST_TIME_S_MIN => Some(measured),
        _ => None,
    }
}

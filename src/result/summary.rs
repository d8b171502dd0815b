//! Figures that follow from a result, beside it in every JSON document so that a reader needs no
//! histogram library for the usual questions. Never read back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latency::LatencySummary;
use super::{Direction, Measured};
use crate::measure::Histogram;

/// Totals of one time span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Measured time in seconds.
    pub test_time_s: f64,
    /// Mean use over all processors in percent, user and kernel.
    pub cpu_usage_percent: f64,
    /// Reads and writes.
    pub total: DirectionSummary,
    /// Reads.
    pub read: DirectionSummary,
    /// Writes.
    pub write: DirectionSummary,
}

/// Totals of reads, writes or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionSummary {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Latencies, when measured and there was I/O.
    pub latency: Option<LatencySummary>,
    /// Latencies from the intended start, of the I/Os on targets with a rate (`-g`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencySummary>,
}

/// Rates and latencies of one thread's reads or writes.
impl DirectionSummary {
    /// Of one direction over `test_time_s`.
    pub fn of(direction: &Direction, test_time_s: f64) -> Self {
        Sum::default().with(direction).finish(test_time_s)
    }
}

#[derive(Default)]
struct Sum {
    bytes: u64,
    ios: u64,
    latency: Histogram,
    response: Histogram,
}

impl Sum {
    fn with(mut self, direction: &Direction) -> Self {
        self.add(direction);
        self
    }

    fn add(&mut self, direction: &Direction) {
        self.bytes += direction.bytes;
        self.ios += direction.ios;
        if let Some(latency) = &direction.latency {
            self.latency.merge(latency);
        }
        if let Some(response) = &direction.response {
            self.response.merge(response);
        }
    }

    fn finish(&self, test_time_s: f64) -> DirectionSummary {
        // Nothing may become NaN or infinite: JSON has neither.
        let rate = |n: u64| if test_time_s > 0.0 { n as f64 / test_time_s } else { 0.0 };
        DirectionSummary {
            bytes: self.bytes,
            ios: self.ios,
            bytes_per_s: rate(self.bytes),
            iops: rate(self.ios),
            latency: LatencySummary::of(&self.latency),
            response: LatencySummary::of(&self.response),
        }
    }
}

impl Summary {
    /// Of a measured time span.
    pub fn of(measured: &Measured) -> Self {
        let (mut read, mut write, mut total) = (Sum::default(), Sum::default(), Sum::default());
        for target in measured.threads.iter().flat_map(|thread| &thread.targets) {
            read.add(&target.read);
            write.add(&target.write);
        }
        for part in [&read, &write] {
            total.bytes += part.bytes;
            total.ios += part.ios;
            total.latency.merge(&part.latency);
            total.response.merge(&part.response);
        }
        let usage: f64 = measured.cpu.iter().map(super::CpuUse::usage).sum();
        Summary {
            test_time_s: measured.test_time_s,
            cpu_usage_percent: usage / measured.cpu.len().max(1) as f64,
            total: total.finish(measured.test_time_s),
            read: read.finish(measured.test_time_s),
            write: write.finish(measured.test_time_s),
        }
    }
}

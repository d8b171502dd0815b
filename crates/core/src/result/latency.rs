//! Latencies in figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::Histogram;

/// Latencies in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct LatencySummary {
    pub mean_ns: f64,
    pub std_dev_ns: f64,
    pub min_ns: u64,
    pub p25_ns: u64,
    pub p50_ns: u64,
    pub p75_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub p99_99_ns: u64,
    pub p99_999_ns: u64,
    pub max_ns: u64,
}

impl LatencySummary {
    /// Of a histogram; `None` without latencies.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let p = |fraction| histogram.percentile_ns(fraction);
        (histogram.count() > 0).then(|| LatencySummary {
            mean_ns: histogram.mean_ns(),
            std_dev_ns: histogram.std_dev_ns(),
            min_ns: histogram.min_ns(),
            p25_ns: p(0.25),
            p50_ns: p(0.5),
            p75_ns: p(0.75),
            p90_ns: p(0.9),
            p95_ns: p(0.95),
            p99_ns: p(0.99),
            p99_9_ns: p(0.999),
            p99_99_ns: p(0.9999),
            p99_999_ns: p(0.99999),
            max_ns: histogram.max_ns(),
        })
    }
}

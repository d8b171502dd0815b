//! What earlier results of the same test on the same disk lead to expect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics::{Metric, Unit};
use crate::text::grouped;

/// Where a figure lies in earlier certified results of the same test on the same disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usual {
    /// Which figure.
    #[schemars(schema_with = "super::metrics::schema_of_any")]
    pub metric: Metric,
    /// How many results there are.
    pub runs: u64,
    /// At least nine of ten results lie between `low` and `high`, in the unit of the metric.
    pub low: f64,
    /// Half of the results are below.
    pub median: f64,
    /// See `low`.
    pub high: f64,
}

impl Usual {
    /// `43,900 to 45,200 IOPS (31 runs)`.
    pub fn words(&self) -> String {
        format!("{} ({} runs)", range_words(self.metric, self.low, self.high), grouped(self.runs))
    }
}

/// `43,900 to 45,200 IOPS`, `1.2 ms to 1.3 ms mean latency`.
pub fn range_words(metric: Metric, low: f64, high: f64) -> String {
    let (low, high) = (metric.show(low), metric.show(high));
    // Two figures of one unit have it once.
    let lead = match low.split_once(' ') {
        Some((number, unit)) if high.ends_with(&format!(" {unit}")) => number,
        _ => &low,
    };
    match metric.unit() {
        Unit::BytesPerSecond => format!("{lead} to {high}"),
        Unit::PerSecond | Unit::Nanoseconds => format!("{lead} to {high} {}", metric.words(false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_said_as_people_say_it() {
        let usual = Usual { metric: Metric::IOPS, runs: 31, low: 43_900.0, median: 44_500.0, high: 45_200.0 };
        assert_eq!(usual.words(), "43,900 to 45,200 IOPS (31 runs)");
        assert_eq!(range_words(Metric::P99, 9e5, 1.2e6), "900 us to 1.20 ms latency at the 99th percentile");
        assert_eq!(range_words(Metric::P99, 1.1e6, 1.2e6), "1.10 to 1.20 ms latency at the 99th percentile");
        assert_eq!(range_words(Metric::BYTES, 1048576.0, 2097152.0), "1 to 2 MiB/s");
    }
}

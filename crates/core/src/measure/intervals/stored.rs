//! The series in documents: one column per number, which is short and easy to plot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Interval, Intervals};
use crate::measure::decimal;

/// A series as a document holds it. All lists have one entry per interval, from the start of measurement.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Intervals")]
pub(super) struct Stored {
    /// Length of an interval in nanoseconds.
    interval_ns: u64,
    /// Measured time in nanoseconds: the planned one, less when the run was stopped.
    duration_ns: u64,
    /// Intervals up to the last completion, which are those that results show.
    valid: usize,
    /// I/Os completed.
    count: Vec<u64>,
    /// Smallest latency in nanoseconds, 0 without I/Os.
    min_ns: Vec<u64>,
    /// Largest latency in nanoseconds.
    max_ns: Vec<u64>,
    /// Sum of latencies in nanoseconds, as decimal text.
    #[serde(with = "decimal::list")]
    #[schemars(with = "Vec<String>")]
    sum_ns: Vec<u128>,
    /// Sum of squared latencies in square nanoseconds, as decimal text.
    #[serde(with = "decimal::list")]
    #[schemars(with = "Vec<String>")]
    sum_squares_ns2: Vec<u128>,
}

/// Why a stored series cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("'interval_ns' is 0")]
    NoLength,
    #[error(
        "the document is damaged: its lists of intervals have different lengths ('count' has {0} entries)"
    )]
    Ragged(usize),
    #[error("'valid' is {valid}, but there are {intervals} intervals")]
    Valid { valid: usize, intervals: usize },
    #[error("interval {0}: 'sum_ns' is more than 'count' and 'max_ns' allow")]
    Sum(usize),
}

impl From<Intervals> for Stored {
    fn from(from: Intervals) -> Self {
        Stored {
            interval_ns: from.interval_ns,
            duration_ns: from.duration_ns,
            valid: from.valid,
            count: from.series.iter().map(|i| i.count).collect(),
            min_ns: from.series.iter().map(|i| i.min_ns).collect(),
            max_ns: from.series.iter().map(|i| i.max_ns).collect(),
            sum_ns: from.series.iter().map(|i| i.sum_ns).collect(),
            sum_squares_ns2: from.series.iter().map(|i| i.sum_squares).collect(),
        }
    }
}

impl TryFrom<Stored> for Intervals {
    type Error = Unreadable;

    fn try_from(stored: Stored) -> Result<Self, Unreadable> {
        let intervals = stored.count.len();
        let others =
            [stored.min_ns.len(), stored.max_ns.len(), stored.sum_ns.len(), stored.sum_squares_ns2.len()];
        if stored.interval_ns == 0 {
            return Err(Unreadable::NoLength);
        }
        if others.iter().any(|&length| length != intervals) {
            return Err(Unreadable::Ragged(intervals));
        }
        if stored.valid > intervals {
            return Err(Unreadable::Valid { valid: stored.valid, intervals });
        }
        let most = |i: usize| u128::from(stored.count[i]) * u128::from(stored.max_ns[i]);
        if let Some(i) = (0..intervals).find(|&i| stored.sum_ns[i] > most(i)) {
            return Err(Unreadable::Sum(i));
        }
        let interval = |i: usize| Interval {
            count: stored.count[i],
            min_ns: stored.min_ns[i],
            max_ns: stored.max_ns[i],
            sum_ns: stored.sum_ns[i],
            sum_squares: stored.sum_squares_ns2[i],
        };
        Ok(Intervals {
            interval_ns: stored.interval_ns,
            duration_ns: stored.duration_ns,
            series: (0..intervals).map(interval).collect(),
            valid: stored.valid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_comes_back() {
        let mut series = Intervals::new(300, 1000);
        for (at, latency) in [(0, 5), (10, u64::MAX), (650, u64::MAX), (650, u64::MAX), (2000, 1)] {
            series.record(at, latency);
        }
        series.end_at(950);
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Intervals>(&text).unwrap(), series, "{text}");
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let good = Stored::from(Intervals::new(300, 1000));
        for (stored, reason) in [
            (Stored { interval_ns: 0, ..good.clone() }, "interval_ns"),
            (Stored { min_ns: vec![], ..good.clone() }, "different lengths"),
            (Stored { sum_ns: vec![0, 1, 0, 0], ..good.clone() }, "interval 1: 'sum_ns'"),
            (Stored { valid: 5, ..good }, "4 intervals"),
        ] {
            let refused = Intervals::try_from(stored).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}

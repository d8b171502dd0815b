//! Histograms and series in few figures: latencies as a row, and I/Os over time in few long intervals, which is what a
//! chart
//! with a line for each of many hosts needs.

use super::Timeline;
use crate::measure::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

const INTERVALS_MAX: usize = 60;

/// I/Os of one source over its measured time. All intervals together have the I/Os of its series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CoarseSeries {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Length of all intervals together in nanoseconds. Where it is no multiple of `interval_ns`, the last
    /// one is shorter.
    pub length_ns: u64,
    /// Reads and writes completed in each interval.
    pub completed: Vec<u64>,
}

impl CoarseSeries {
    /// Adds up neighbouring intervals of a series, always as many, until they are few. None of a series
    /// without intervals.
    pub fn of(series: &Timeline) -> Option<Self> {
        let Timeline { interval_ns, reads, writes } = series;
        let count = reads.len().max(writes.len());
        let joined = count.div_ceil(INTERVALS_MAX).max(1);
        let within = |list: &[u64], first: usize| {
            let held = list.iter().skip(first).take(joined);
            held.fold(0u64, |sum, ios| sum.saturating_add(*ios))
        };
        let completed: Vec<u64> = (0..count)
            .step_by(joined)
            .map(|first| within(reads, first).saturating_add(within(writes, first)))
            .collect();
        let times = |intervals: usize| interval_ns.checked_mul(intervals as u64).filter(|ns| *ns > 0);
        Some(CoarseSeries { interval_ns: times(joined)?, length_ns: times(count)?, completed })
    }

    /// The middle of each interval in seconds since the measured time began, and its I/Os per second.
    pub fn rates(&self) -> Vec<[f64; 2]> {
        (0..)
            .zip(&self.completed)
            .take(INTERVALS_MAX)
            .filter_map(|(place, ios): (u64, &u64)| {
                let begin = place.saturating_mul(self.interval_ns);
                let end = begin.saturating_add(self.interval_ns).min(self.length_ns);
                // A made-up document may say anything.
                let length_s = end.checked_sub(begin).filter(|ns| *ns > 0)? as f64 / 1e9;
                Some([begin as f64 / 1e9 + length_s / 2.0, *ios as f64 / length_s])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests_of_coarse_series {
    use proptest::prelude::*;

    use super::*;

    const NS_PER_S: u64 = 1_000_000_000;

    fn coarse(interval_ns: u64, reads: Vec<u64>, writes: Vec<u64>) -> Option<CoarseSeries> {
        CoarseSeries::of(&Timeline { interval_ns, reads, writes })
    }

    #[test]
    fn short_series_keep_their_intervals() {
        let few = coarse(NS_PER_S, vec![1, 2, 3], vec![10, 0, 0]).expect("has intervals");
        let wanted =
            CoarseSeries { interval_ns: NS_PER_S, length_ns: 3 * NS_PER_S, completed: vec![11, 2, 3] };
        assert_eq!(few, wanted);
        assert_eq!(few.rates(), [[0.5, 11.0], [1.5, 2.0], [2.5, 3.0]]);
        let most = coarse(NS_PER_S, (0..60).collect(), Vec::new()).expect("has intervals");
        assert_eq!(most.completed, (0..60).collect::<Vec<u64>>());
    }

    #[test]
    fn long_series_are_added_up_in_equal_parts() {
        let ten = coarse(NS_PER_S, vec![1; 600], vec![2; 600]).expect("has intervals");
        assert_eq!((ten.interval_ns, ten.completed), (10 * NS_PER_S, vec![30; 60]));
        // The last interval is as long as what is left, and its rate is of that time.
        let odd = coarse(NS_PER_S, vec![5; 61], Vec::new()).expect("has intervals");
        assert_eq!((odd.interval_ns, odd.length_ns), (2 * NS_PER_S, 61 * NS_PER_S));
        assert_eq!((odd.completed.len(), odd.completed[29], odd.completed[30]), (31, 10, 5));
        assert_eq!(odd.rates()[29..], [[59.0, 5.0], [60.5, 5.0]]);
    }

    #[test]
    fn nothing_comes_of_nothing_and_of_impossible_lengths() {
        assert_eq!(coarse(NS_PER_S, Vec::new(), Vec::new()), None);
        assert_eq!(coarse(0, vec![1], vec![1]), None);
        assert_eq!(coarse(u64::MAX / 2, vec![1; 100], Vec::new()), None);
        let completed = vec![7; 100];
        let of =
            |interval_ns, length_ns| CoarseSeries { interval_ns, length_ns, completed: completed.clone() };
        assert!(of(0, 0).rates().is_empty() && of(0, NS_PER_S).rates().is_empty());
        assert_eq!(of(u64::MAX, u64::MAX).rates().len(), 1);
        assert_eq!(of(1, u64::MAX).rates().len(), INTERVALS_MAX);
    }

    proptest! {
        /// No I/O is lost, and no interval but the last is shorter.
        #[test]
        fn intervals_have_the_ios_of_the_series(
            reads in prop::collection::vec(0..1_000_000u64, 0..700),
            writes in prop::collection::vec(0..1_000_000u64, 0..700),
            interval_ns in 1..10_000_000_000u64,
        ) {
            let ios: u64 = reads.iter().chain(&writes).sum();
            let count = reads.len().max(writes.len()) as u64;
            let Some(made) = coarse(interval_ns, reads, writes) else {
                prop_assert_eq!(count, 0);
                return Ok(());
            };
            prop_assert_eq!(made.completed.iter().sum::<u64>(), ios);
            prop_assert_eq!(made.length_ns, count * interval_ns);
            let intervals = made.completed.len() as u64;
            prop_assert!(intervals <= 60 && (count <= 60 || intervals > 30));
            prop_assert!(made.interval_ns * (intervals - 1) < made.length_ns);
            prop_assert!(made.interval_ns * intervals >= made.length_ns);
            let rates = made.rates();
            prop_assert_eq!(rates.len() as u64, intervals);
            prop_assert!(rates.iter().all(|[at_s, _]| *at_s > 0.0 && *at_s < made.length_ns as f64 / 1e9));
        }
    }
}

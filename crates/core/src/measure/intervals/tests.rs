use proptest::prelude::*;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

/// A series with these counts per interval of one second.
fn with_counts(counts: &[u64], duration_ns: u64) -> Intervals {
    let mut intervals = Intervals::new(SECOND_NS, duration_ns);
    for (i, &count) in counts.iter().enumerate() {
        (0..count).for_each(|_| intervals.record(i as u64 * SECOND_NS, 1));
    }
    intervals
}

fn counts(intervals: &Intervals) -> Vec<u64> {
    intervals.series()[..intervals.valid()].iter().map(|i| i.count).collect()
}

/// Sum over all intervals, for comparison with what was recorded.
fn total(intervals: &Intervals) -> Interval {
    intervals.series().iter().fold(Interval::default(), |mut sum, i| {
        sum.merge(i);
        sum
    })
}

#[test]
fn upstream_series() {
    let mut intervals = Intervals::new(10, 40);
    for (time, latency) in [(5, 1), (8, 2), (15, 3), (18, 5), (45, 4)] {
        intervals.record(time, latency);
    }
    assert_eq!(intervals.interval_ns(), 10);
    assert_eq!((intervals.series().len(), intervals.valid()), (4, 4));
    let first = intervals.series()[0];
    assert_eq!((first.count, first.min_ns, first.max_ns), (2, 1, 2));
    assert_eq!((first.latency_mean_ns(), first.latency_std_dev_ns()), (1.5, 0.5));
    let second = intervals.series()[1];
    assert_eq!((second.count, second.min_ns, second.max_ns), (2, 3, 5));
    assert_eq!((second.latency_mean_ns(), second.latency_std_dev_ns()), (4.0, 1.0));
    assert_eq!(intervals.series()[2..], [Interval::default(); 2], "the one after the end is dropped");
}

#[test]
fn upstream_deviation() {
    let mut intervals = Intervals::new(SECOND_NS, 2 * SECOND_NS);
    for time in [0, SECOND_NS, SECOND_NS + 1, 2 * SECOND_NS] {
        intervals.record(time, 1);
    }
    assert_eq!(counts(&intervals), [1, 2]);
    assert_eq!(intervals.iops_std_dev(), 0.5);
    let mut quick = Intervals::new(SECOND_NS / 100, SECOND_NS / 50);
    for time in [0, SECOND_NS / 100, SECOND_NS / 100] {
        quick.record(time, 1);
    }
    assert_eq!(quick.iops_std_dev(), 50.0, "per second, not per interval");
}

#[test]
fn upstream_merge() {
    let mut merged = with_counts(&[2, 0, 1], 3 * SECOND_NS);
    merged.merge(&with_counts(&[1, 3], 3 * SECOND_NS));
    assert_eq!(counts(&merged), [3, 3, 1]);
}

#[test]
fn valid_counts_leading_and_inner_gaps_but_no_trailing_ones() {
    let intervals = with_counts(&[0, 4, 0, 2, 0], 5 * SECOND_NS);
    assert_eq!(counts(&intervals), [0, 4, 0, 2]);
    // Mean 1.5, squares of the distances 2.25 6.25 2.25 0.25.
    assert_eq!(intervals.iops_std_dev(), (11.0f64 / 4.0).sqrt());
    let mut merged = Intervals::new(SECOND_NS, 5 * SECOND_NS);
    assert_eq!((merged.valid(), merged.iops_std_dev()), (0, 0.0), "nothing recorded");
    merged.merge(&with_counts(&[1], 5 * SECOND_NS));
    merged.merge(&intervals);
    assert_eq!(merged.valid(), 4, "the longest contributor's");
}

#[test]
fn edges_belong_to_the_interval_they_start() {
    let mut intervals = Intervals::new(10, 20);
    for time in [0, 9, 10, 19, 20, u64::MAX] {
        intervals.record(time, 1);
    }
    assert_eq!(counts(&intervals), [2, 2]);
}

#[test]
fn a_short_last_interval_is_kept_but_left_out_of_the_deviation() {
    // -d10 -D3000 at a steady rate: the fourth interval lasts one second.
    let mut intervals = Intervals::new(3 * SECOND_NS, 10 * SECOND_NS);
    for i in 0..100 {
        intervals.record(i * SECOND_NS / 10, 1);
    }
    assert_eq!(counts(&intervals), [30, 30, 30, 10]);
    assert_eq!(intervals.iops_std_dev(), 0.0);
    // An interval longer than the measurement leaves nothing to compare.
    let mut long = Intervals::new(3 * SECOND_NS, SECOND_NS);
    long.record(5, 1);
    assert_eq!((counts(&long), long.iops_std_dev()), (vec![1], 0.0));
}

#[test]
fn an_early_stop_leaves_the_interval_it_cuts_out_of_the_deviation() {
    let mut stopped = with_counts(&[5, 7, 1], 10 * SECOND_NS);
    stopped.end_at(2 * SECOND_NS + 100);
    assert_eq!(counts(&stopped), [5, 7, 1]);
    assert_eq!(stopped.iops_std_dev(), 1.0);
    let mut merged = Intervals::new(SECOND_NS, 10 * SECOND_NS);
    merged.merge(&stopped);
    assert_eq!(merged.iops_std_dev(), 1.0, "a merge remembers the stop");
    let mut late = with_counts(&[5, 7], 2 * SECOND_NS);
    late.end_at(2 * SECOND_NS + SECOND_NS / 2);
    assert_eq!(late.iops_std_dev(), 1.0);
}

#[test]
fn empty_contributors_leave_the_minimum_alone() {
    let mut busy = Intervals::new(10, 10);
    busy.record(3, 500);
    let idle = Intervals::new(10, 10);
    let mut merged = idle.clone();
    merged.merge(&busy);
    merged.merge(&idle);
    assert_eq!(merged, busy);
    assert_eq!(merged.series()[0].min_ns, 500);
}

#[test]
fn memory_is_known_beforehand() {
    let intervals = Intervals::new(3, 10);
    let bytes = std::mem::size_of_val(intervals.series()) as u128;
    assert_eq!(Intervals::bytes_needed(3, 10), bytes);
    assert!(Intervals::bytes_needed(1, u64::MAX) > u64::MAX.into());
}

#[test]
fn deviations_do_not_cancel_or_overflow() {
    assert_eq!(std_dev(0, 0, 0), 0.0);
    let n = 1_000_000_007u64;
    let (low, high) = (u128::from(u64::MAX >> 20), u128::from(u64::MAX >> 20) + 2);
    let sum = u128::from(n) * (low + high);
    let squares = u128::from(n) * (low * low + high * high);
    assert_eq!(std_dev(2 * n, sum, squares), 1.0, "n * sum of squares is beyond 128 bits here");
    assert_eq!(std_dev(n, u128::from(n) * low, u128::from(n) * low * low), 0.0);
    let saturated = std_dev(3, u128::from(u64::MAX) * 3, u128::MAX);
    assert_eq!(saturated, 0.0, "a saturated sum of squares gives no NaN");
}

proptest! {
    #[test]
    fn deviation_agrees_with_the_definition(values in prop::collection::vec(0u64..1_000_000, 1..50)) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<u64>() as f64 / n;
        let direct = (values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
        let sum = values.iter().map(|&v| u128::from(v)).sum();
        let squares = values.iter().map(|&v| u128::from(v) * u128::from(v)).sum();
        let found = std_dev(values.len() as u64, sum, squares);
        prop_assert!((found - direct).abs() <= 1e-9 * direct.max(1e-3), "{found} instead of {direct}");
    }

    #[test]
    fn merge_of_parts_is_the_whole(
        parts in prop::collection::vec(prop::collection::vec((0u64..130, 0u64..1 << 40), 0..30), 1..5),
    ) {
        let fill = |records: &[(u64, u64)]| {
            let mut intervals = Intervals::new(10, 105);
            records.iter().for_each(|&(time, latency)| intervals.record(time, latency));
            intervals
        };
        let whole = fill(&parts.concat());
        let mut merged = Intervals::new(10, 105);
        parts.iter().for_each(|part| merged.merge(&fill(part)));
        let kept = parts.iter().flatten().filter(|&&(time, _)| time < 110).count() as u64;
        prop_assert_eq!(total(&merged).count, kept);
        prop_assert_eq!(merged, whole);
    }
}

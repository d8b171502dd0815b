use proptest::prelude::*;

use super::*;

/// Latencies of every magnitude: a uniform `u64` would nearly always be above 2^60.
fn any_latency() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|v| histogram.record(v));
    histogram
}

/// Index of a bucket counted over all blocks.
fn index(value: u64) -> usize {
    let (block, slot) = place(value);
    block * BLOCK_LEN + slot
}

/// `io-semantics.md` §14.2 stated directly: sorted values, fraction as a ratio of whole numbers.
fn percentile_by_sorting(values: &[u64], numerator: u128, denominator: u128) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let reached = |cumulative: usize| cumulative as u128 * denominator >= numerator * sorted.len() as u128;
    let first = (1..=sorted.len()).find(|&cumulative| reached(cumulative)).expect("all reach the end");
    sorted[first - 1]
}

#[test]
fn buckets_cover_every_value_without_gap() {
    let mut next = 0u64;
    for block in 0..BLOCKS {
        for slot in 0..BLOCK_LEN {
            let (low, high) = bounds(block, slot);
            assert_eq!(low, next, "block {block} slot {slot} starts where the last one ended");
            assert_eq!(place(low), (block, slot));
            assert_eq!(place(high), (block, slot));
            if low < 2048 {
                assert_eq!(high, low, "small values are exact");
            } else {
                // Half the width is at most 1/2048 of the smallest value.
                let half_width = (high - low).div_ceil(2);
                assert!(half_width * 2048 <= low, "{low}..={high} is too wide");
            }
            next = high.wrapping_add(1);
        }
    }
    assert_eq!(next, 0, "the last bucket ends at u64::MAX");
}

proptest! {
    #[test]
    fn index_is_monotonic_and_bounds_contain(a in any_latency(), b in any_latency()) {
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(index(low) <= index(high));
        let (block, slot) = place(a);
        let (bucket_low, bucket_high) = bounds(block, slot);
        prop_assert!(bucket_low <= a && a <= bucket_high);
    }

    #[test]
    fn percentiles_are_within_the_stated_error(
        values in prop::collection::vec(any_latency(), 1..200),
        per_mille in 0u32..=1000,
    ) {
        let exact = percentile_by_sorting(&values, per_mille.into(), 1000);
        let found = of(values).percentile_ns(f64::from(per_mille) / 1000.0);
        let error = found.abs_diff(exact);
        prop_assert!(u128::from(error) * 2048 <= u128::from(exact), "{found} instead of {exact}");
        prop_assert!(exact >= 2048 || error == 0);
    }

    #[test]
    fn exact_figures_are_exact(values in prop::collection::vec(any_latency(), 1..100)) {
        let histogram = of(values.iter().copied());
        let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.sum_ns(), sum);
        prop_assert_eq!(histogram.min_ns(), *values.iter().min().unwrap());
        prop_assert_eq!(histogram.max_ns(), *values.iter().max().unwrap());
        prop_assert_eq!(histogram.mean_ns(), sum as f64 / values.len() as f64);
    }

    #[test]
    fn merge_of_parts_is_the_whole(
        parts in prop::collection::vec(prop::collection::vec(any_latency(), 0..40), 0..6),
    ) {
        let whole = of(parts.iter().flatten().copied());
        let mut merged = Histogram::new();
        for part in &parts {
            merged.merge(&of(part.iter().copied()));
        }
        prop_assert_eq!(merged, whole);
    }

    #[test]
    fn iteration_yields_what_was_recorded(values in prop::collection::vec(any_latency(), 0..100)) {
        let histogram = of(values.iter().copied());
        let buckets: Vec<Bucket> = histogram.buckets().collect();
        prop_assert_eq!(buckets.len() as u64, histogram.buckets_used());
        prop_assert!(buckets.windows(2).all(|pair| pair[0].high_ns < pair[1].low_ns));
        for bucket in buckets {
            let inside = values.iter().filter(|&&v| bucket.low_ns <= v && v <= bucket.high_ns).count();
            prop_assert!(bucket.count == inside as u64 && inside > 0);
        }
    }

    #[test]
    fn ranks_are_the_smallest_that_reach(parts in 0u64..=FRACTION_ONE, count in any_latency()) {
        let rank = rank(parts as f64 / FRACTION_ONE as f64, count);
        let wanted = u128::from(parts) * u128::from(count);
        prop_assert!(u128::from(rank) * u128::from(FRACTION_ONE) >= wanted);
        if rank > 1 {
            prop_assert!(u128::from(rank - 1) * u128::from(FRACTION_ONE) < wanted);
        }
    }
}

#[test]
fn upstream_percentiles() {
    let three = of([1, 2, 3]);
    assert_eq!([0.0, 0.5, 1.0].map(|p| three.percentile_ns(p)), [1, 2, 3]);
    let hundred = of(1..100);
    assert_eq!([0.1, 0.5, 0.6, 1.0].map(|p| hundred.percentile_ns(p)), [10, 50, 60, 99]);
    let uneven = of((1..50).chain(1..100));
    assert_eq!(uneven.count(), 148);
    assert_eq!([0.1, 0.5, 0.6].map(|p| uneven.percentile_ns(p)), [8, 37, 45]);
}

#[test]
fn decimal_fractions_are_meant_as_decimals() {
    // In binary floating point 0.07 * 100 is above 7 and 0.1 itself above a tenth.
    for percent in 0..=100u64 {
        assert_eq!(rank(percent as f64 / 100.0, 100), percent.max(1), "{percent} of 100");
        assert_eq!(rank(percent as f64 / 100.0, 1_000_000), (percent * 10_000).max(1));
    }
    assert_eq!(rank(0.1, 10), 1);
    assert_eq!(rank(0.07, 100), 7);
    assert_eq!(rank(0.070000000001, 100), 8, "twelve decimals count");
}

#[test]
fn nines_of_large_counts() {
    assert_eq!(rank(0.999999999, 1_000_000_000), 999_999_999);
    assert_eq!(rank(0.999999999, 1_000_000_001), 1_000_000_000);
    assert_eq!(rank(0.999999999, 999_999_999), 999_999_999, "too few samples: the maximum");
    // Beyond 2^53 a count has no exact floating-point value.
    let large = (1u64 << 53) + 1;
    assert_eq!(rank(1.0, large), large);
    assert_eq!(rank(0.5, large), (1 << 52) + 1);
    assert_eq!(rank(0.999999999, 9_007_199_000_000_000), 9_007_198_990_992_801);
    assert_eq!(rank(1.0, u64::MAX), u64::MAX);
    assert_eq!(rank(0.25, u64::MAX), 1 << 62);
}

#[test]
fn fractions_outside_are_taken_as_the_nearer_end() {
    let histogram = of([5, 6, 7]);
    assert_eq!([-1.0, f64::NEG_INFINITY, f64::NAN].map(|p| histogram.percentile_ns(p)), [5, 5, 5]);
    assert_eq!([1.5, f64::INFINITY].map(|p| histogram.percentile_ns(p)), [7, 7]);
}

#[test]
fn ends_are_exact_although_buckets_are_wide() {
    let (min, max) = (123_456_789, 987_654_321_012_345);
    let histogram = of([min, min + 1, max - 1, max]);
    assert_eq!(histogram.percentile_ns(0.0), min);
    assert_eq!(histogram.percentile_ns(1.0), max);
    assert!(histogram.percentile_ns(0.5) >= min);
    assert!(histogram.percentile_ns(0.75) <= max);
}

#[test]
fn deviation_is_of_the_population() {
    let histogram = of([2, 4, 4, 4, 5, 5, 7, 9]);
    assert_eq!((histogram.mean_ns(), histogram.std_dev_ns()), (5.0, 2.0));
    // A small spread on a large mean is where a naive formula loses everything.
    let far = of([1 << 50, (1 << 50) + 2]);
    assert_eq!(far.std_dev_ns(), 1.0);
}

#[test]
fn nothing_recorded() {
    let empty = Histogram::new();
    assert_eq!((empty.count(), empty.min_ns(), empty.max_ns(), empty.buckets_used()), (0, 0, 0, 0));
    assert_eq!((empty.mean_ns(), empty.std_dev_ns()), (0.0, 0.0));
    assert_eq!([0.0, 0.5, 1.0].map(|p| empty.percentile_ns(p)), [0, 0, 0]);
    let mut one = of([7]);
    one.merge(&empty);
    assert_eq!(one, of([7]), "an empty part changes nothing");
    let mut merged = Histogram::new();
    merged.merge(&one);
    assert_eq!(merged, one);
}

#[test]
fn largest_values_do_not_overflow() {
    let histogram = of([u64::MAX, u64::MAX, 0]);
    assert_eq!((histogram.min_ns(), histogram.max_ns()), (0, u64::MAX));
    assert_eq!(histogram.percentile_ns(0.6), u64::MAX - (1 << 52), "middle of the last bucket");
    assert!(histogram.std_dev_ns().is_finite());
}

proptest! {
    #[test]
    fn a_recent_latency_is_counted_in_its_coarse_bucket_too(before in any_latency(), ns in any_latency()) {
        let mut histogram = Histogram::new();
        histogram.record(before);
        histogram.record_recent(ns);
        let mut taken = Vec::new();
        histogram.take_recent(|bucket, count| taken.push((bucket, count)));
        prop_assert_eq!(taken, [(slices::bucket_of(ns), 1)]);
        prop_assert_eq!(&histogram, &of([before, ns]));
        histogram.take_recent(|_, _| panic!("nothing is left"));
    }
}

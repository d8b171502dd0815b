use proptest::prelude::*;

use super::*;

const S: u64 = 1_000_000_000;

/// Slices of the given length with reads and writes at these moments.
fn of(slice_ns: u64, ios: &[(u64, u64, bool)]) -> LatencySlices {
    let mut counts: Vec<[Vec<u64>; 2]> = Vec::new();
    for &(at_ns, latency_ns, writes) in ios {
        let slice = (at_ns / slice_ns) as usize;
        counts.resize_with(counts.len().max(slice + 1), || [vec![0; BUCKETS], vec![0; BUCKETS]]);
        counts[slice][usize::from(writes)][bucket_of(latency_ns)] += 1;
    }
    LatencySlices::new(
        slice_ns,
        counts.iter().map(|both| [Slice::of(&both[0]), Slice::of(&both[1])]).collect(),
    )
}

#[test]
fn slices_are_round_and_240_at_most() {
    for (seconds, slice_ms, slices) in [
        (1, 20, 50),
        (5, 50, 100),
        (10, 50, 200),
        (30, 200, 150),
        (60, 500, 120),
        (120, 500, 240),
        (600, 5000, 120),
        (3600, 20_000, 180),
        (86_400, 500_000, 173),
        (u64::from(u32::MAX), 20_000_000_000, 215),
    ] {
        let found = (slice_ns(seconds * S), slices_of(seconds * S));
        assert_eq!(found, (slice_ms * 1_000_000, slices), "{seconds} s");
    }
    assert_eq!((slices_of(0), slice_ns(u64::MAX) > 0, slices_of(u64::MAX) <= 240), (0, true, true));
}

#[test]
fn a_percentile_lies_in_its_bucket() {
    let mut counts = [0; BUCKETS];
    (counts[8], counts[20]) = (98, 2);
    let slice = Slice::of(&counts);
    assert_eq!(slice.percentile_ns(0.0), Some(2048.0));
    assert_eq!(slice.percentile_ns(0.49), Some(2048.0 + 256.0));
    assert_eq!(slice.percentile_ns(0.99), Some(16_384.0 + 2048.0));
    assert_eq!(slice.percentile_ns(1.0), Some(20_480.0));
    assert_eq!(Slice::default().percentile_ns(0.5), None);
    assert_eq!(Slice::of(&[0; 300]), Slice::default());
}

#[test]
fn slices_of_other_lengths_share_longer_ones() {
    let mut sum = of(2 * S, &[(0, 5000, false), (3 * S, 5000, false), (7 * S, 90_000, true)]);
    sum.merge(&of(5 * S, &[(6 * S, 70, false), (14 * S, 5000, true)]));
    assert_eq!((sum.slice_ns(), sum.slices().len(), sum.count()), (10 * S, 2, 5));
    let mut odd = of(u64::MAX - 1, &[(0, 1, false)]);
    odd.merge(&of(3, &[(0, 1, false), (9, 1, true)]));
    assert_eq!((odd.slices().len(), odd.count()), (1, 3), "no common length");
}

#[test]
fn long_series_are_joined_by_pairs() {
    let ios: Vec<(u64, u64, bool)> = (0..500).map(|second| (second * S, 1000 * second, false)).collect();
    let joined = of(S, &ios).at_most(180);
    assert_eq!((joined.slice_ns(), joined.slices().len(), joined.count()), (4 * S, 125, 500));
    assert_eq!(joined, of(4 * S, &ios));
    assert_eq!(of(S, &ios[..3]).at_most(180), of(S, &ios[..3]));
}

fn any_ios() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let latency = (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift);
    prop::collection::vec((0..100 * S, latency, any::<bool>()), 0..60)
}

fn any_length() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![S / 5, S / 2, S, 2 * S, 5 * S, 3 * S])
}

fn merged(parts: &[&LatencySlices]) -> LatencySlices {
    let mut sum = parts[0].clone();
    parts[1..].iter().for_each(|part| sum.merge(part));
    sum
}

proptest! {
    #[test]
    fn a_sum_has_every_io_in_its_slice_and_bucket(a in any_ios(), b in any_ios(), length in any_length()) {
        let sum = merged(&[&of(length, &a), &of(length, &b)]);
        let both: Vec<_> = a.iter().chain(&b).copied().collect();
        prop_assert_eq!(sum.count(), both.len() as u64);
        prop_assert_eq!(sum, of(length, &both));
    }

    #[test]
    fn neither_order_nor_grouping_matters(
        (a, b, c) in (any_ios(), any_ios(), any_ios()),
        (i, j, k) in (any_length(), any_length(), any_length()),
    ) {
        let (a, b, c) = (of(i, &a), of(j, &b), of(k, &c));
        let sum = merged(&[&a, &b, &c]);
        prop_assert_eq!(sum.count(), a.count() + b.count() + c.count());
        prop_assert_eq!(&merged(&[&c, &a, &b]), &sum);
        prop_assert_eq!(&merged(&[&a, &merged(&[&c, &b])]), &sum);
    }

    #[test]
    fn stored_slices_come_back(ios in any_ios(), length in any_length()) {
        let slices = of(length, &ios);
        let text = serde_json::to_string(&slices).unwrap();
        prop_assert_eq!(serde_json::from_str::<LatencySlices>(&text).unwrap(), slices);
    }
}

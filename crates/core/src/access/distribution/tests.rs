use super::*;
use crate::access::{RangeSpec, Rng};
use proptest::prelude::*;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const G: u64 = 1 << 30;

fn usable(size_bytes: u64, block_bytes: u64, stride_bytes: u64) -> UsableRange {
    let spec = RangeSpec {
        size_bytes,
        base_bytes: 0,
        max_bytes: 0,
        block_bytes,
        stride_bytes,
        thread_stride_bytes: 0,
    };
    UsableRange::new(spec).expect("a block fits")
}

fn list(pairs: &[(u32, u64)]) -> Vec<DistributionRange> {
    pairs.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect()
}

/// With the implied tail, as the parser appends it.
fn percent(pairs: &[(u32, u64)]) -> Distribution {
    let mut ranges = list(pairs);
    let io: u32 = pairs.iter().map(|p| p.0).sum();
    let target: u64 = pairs.iter().map(|p| p.1).sum();
    if io < 100 && target < 100 {
        ranges.push(DistributionRange { io_percent: 100 - io, span: 100 - target });
    }
    Distribution { kind: DistributionKind::Percent, ranges }
}

fn absolute(pairs: &[(u32, u64)]) -> Distribution {
    Distribution { kind: DistributionKind::Absolute, ranges: list(pairs) }
}

/// (share, offset, length) of every effective range, after checking what must hold for all of them.
fn effective(distribution: &Distribution, range: &UsableRange) -> Vec<(u32, u64, u64)> {
    let effective = EffectiveDistribution::new(distribution, range).expect("something is left");
    check(distribution.kind, &effective, range);
    effective.ranges().iter().map(|r| (r.io_percent, r.offset_bytes, r.length_bytes)).collect()
}

/// Shares contiguous and summing to W; ranges not empty, disjoint, ascending; every start legal.
fn check(kind: DistributionKind, effective: &EffectiveDistribution, range: &UsableRange) {
    let align = range.stride_bytes();
    let (mut share, mut end) = (0, 0);
    for (part, starts) in effective.ranges.iter().zip(&effective.starts) {
        assert_eq!(part.io_start, share);
        assert!(part.io_percent > 0 && part.length_bytes > 0 && part.offset_bytes >= end, "{effective:?}");
        share += part.io_percent;
        end = part.offset_bytes + part.length_bytes;
        assert!(starts.first == part.offset_bytes && starts.span >= align && starts.span % align == 0);
        let last = starts.first + starts.span - align;
        assert!(last < end && last <= range.last_start_bytes(), "{effective:?}");
        let next = last + align;
        assert!(next >= end || next > range.last_start_bytes(), "no start is left out: {effective:?}");
        if kind == DistributionKind::Percent {
            assert!(part.offset_bytes % align == 0 && part.length_bytes % align == 0, "{effective:?}");
        }
        for draw in part.io_start..share {
            assert_eq!(effective.ranges[usize::from(effective.by_draw[draw as usize])], *part);
        }
    }
    assert_eq!(effective.weight(), share);
    assert!(share <= 100);
    match kind {
        DistributionKind::Percent => assert!(end <= range.span_bytes() && share == 100, "{effective:?}"),
        DistributionKind::Absolute => assert!(end <= range.usable_bytes(), "{effective:?}"),
    }
}

#[test]
fn percent_tables_asserted_upstream() {
    let range = usable(100 * K, 4 * K, 4 * K);
    let five: &[(u32, u64)] = &[(10, 1); 5];
    for (pairs, expected) in [
        (&[(10, 10), (10, 10), (0, 10)][..], &[(10, 0, 8), (10, 8, 12), (80, 28, 72)][..]),
        (&[(10, 10), (10, 10), (10, 1)], &[(10, 0, 8), (10, 8, 12), (10, 20, 4), (70, 24, 76)]),
        (&[(10, 96), (10, 3), (80, 1)], &[(10, 0, 96), (90, 96, 4)]),
        (&[(10, 5), (10, 1), (80, 94)], &[(20, 0, 4), (80, 4, 96)]),
        (&[(10, 1), (10, 1)], &[(20, 0, 4), (80, 4, 96)]),
        (&five[..1], &[(10, 0, 4), (90, 4, 96)]),
        (&five[..2], &[(20, 0, 4), (80, 4, 96)]),
        (&five[..3], &[(30, 0, 4), (70, 4, 96)]),
        (&five[..4], &[(40, 0, 4), (60, 4, 96)]),
        (five, &[(40, 0, 4), (10, 4, 4), (50, 8, 92)]),
    ] {
        let kib: Vec<_> =
            effective(&percent(pairs), &range).into_iter().map(|(io, o, l)| (io, o / K, l / K)).collect();
        assert_eq!(kib, expected, "{pairs:?}");
    }
}

#[test]
fn percent_tables_measured() {
    let gib = usable(G, 4 * K, 4 * K);
    assert_eq!(effective(&percent(&[(90, 10)]), &gib), [(90, 0, 107372544), (10, 107372544, 966369280)]);
    assert_eq!(
        effective(&percent(&[(90, 10), (0, 10), (5, 20)]), &gib),
        [(90, 0, 107372544), (5, 214745088, 214749184), (5, 429494272, 644247552)]
    );
    let coarse = usable(M, 64 * K, 64 * K);
    assert_eq!(effective(&percent(&[(90, 10)]), &coarse), [(90, 0, 65536), (10, 65536, 983040)]);
    assert_eq!(effective(&percent(&[(90, 10)]), &usable(64 * K, 64 * K, 64 * K)), [(100, 0, 65536)]);
}

#[test]
fn the_four_inputs_that_break_2_2() {
    let range = usable(100 * K, 4 * K, 4 * K);
    // An empty range before a hole keeps its position.
    assert_eq!(
        effective(&percent(&[(10, 1), (0, 9), (90, 90)]), &range),
        [(10, 0, 4 * K), (90, 8 * K, 92 * K)]
    );
    // A second carry adds to the first.
    assert_eq!(
        effective(&percent(&[(10, 5), (10, 1), (10, 1), (70, 93)]), &range),
        [(30, 0, 4 * K), (70, 4 * K, 96 * K)]
    );
    // A hole first, then a range without a position: there is no previous range.
    let small = usable(16 * K, 4 * K, 4 * K);
    assert_eq!(effective(&percent(&[(0, 41), (11, 1)]), &small), [(100, 4 * K, 12 * K)]);
    // Two ranges without a position at the end, before a hole.
    assert_eq!(effective(&percent(&[(80, 97), (10, 1), (10, 1), (0, 1)]), &range), [(100, 0, 100 * K)]);
}

#[test]
fn a_carried_share_goes_to_the_smaller_neighbour() {
    let range = usable(100 * K, 4 * K, 4 * K);
    assert_eq!(
        effective(&percent(&[(5, 97), (10, 1), (85, 2)]), &range),
        [(15, 0, 96 * K), (85, 96 * K, 4 * K)]
    );
    assert_eq!(
        effective(&percent(&[(80, 97), (10, 1), (10, 2)]), &range),
        [(80, 0, 96 * K), (20, 96 * K, 4 * K)]
    );
}

#[test]
fn nothing_but_unplaceable_ranges_covers_everything() {
    let small = usable(16 * K, 4 * K, 4 * K);
    let only = Distribution { kind: DistributionKind::Percent, ranges: list(&[(0, 41), (100, 1), (0, 58)]) };
    assert_eq!(effective(&only, &small), [(100, 0, 16 * K)]);
}

#[test]
fn absolute_tables() {
    let big = |size| usable(size, 4 * K, 4 * K);
    let odd = usable(100 * K, 3 * K, 3 * K);
    let holed = [(10, G), (10, G), (0, 100 * G)];
    let expected = [(10, 0, G), (10, G, G), (80, 102 * G, 98 * G)];
    for tail in [0, 1 << 40] {
        let pairs: Vec<_> = holed.into_iter().chain([(80, tail)]).collect();
        assert_eq!(effective(&absolute(&pairs), &big(200 * G)), expected);
    }
    for second in [100 * G, 200 * G] {
        let cut = absolute(&[(10, 100 * G), (10, second), (80, 0)]);
        assert_eq!(effective(&cut, &big(200 * G)), [(10, 0, 100 * G), (10, 100 * G, 100 * G)]);
        assert_eq!(EffectiveDistribution::new(&cut, &big(200 * G)).expect("two ranges").weight(), 20);
    }
    let beyond = absolute(&[(10, 10 * K), (10, 90 * K), (80, 10 * K)]);
    assert_eq!(effective(&beyond, &odd), [(10, 0, 10 * K), (10, 10 * K, 90 * K)]);
    assert_eq!(effective(&absolute(&[(10, 98 * K), (90, 0)]), &odd), [(10, 0, 98 * K)]);
    assert_eq!(effective(&absolute(&[(10, 96 * K), (90, 0)]), &odd), [(10, 0, 96 * K), (90, 96 * K, 4 * K)]);
    let four = absolute(&[(90, 10 * G), (0, 10 * G), (5, 20 * G), (5, 0)]);
    assert_eq!(effective(&four, &big(20 * G)), [(90, 0, 10 * G)]);
    assert_eq!(effective(&four, &big(25 * G)), [(90, 0, 10 * G), (5, 20 * G, 5 * G)]);
}

#[test]
fn absolute_starts_are_aligned_and_leave_room() {
    // 2.2 draws 1427468 and the like here: the open tail is no multiple of the alignment.
    let odd = usable(10 * M + 100, 4 * K, 4 * K);
    let tail = EffectiveDistribution::new(&absolute(&[(10, M), (90, 0)]), &odd).expect("two ranges");
    assert_eq!(tail.ranges()[1].length_bytes, 9 * M + 100, "the report shows the whole tail");
    // And here 10 % of its I/Os pass the end: block above alignment.
    let wide = usable(M, 64 * K, 4 * K);
    let spill = EffectiveDistribution::new(&absolute(&[(10, 512 * K), (90, 0)]), &wide).expect("two ranges");
    let mut rng = Rng::new(0);
    for _ in 0..20_000 {
        let (raw, low) = (rng.next_u64(), rng.next_u64());
        let start = tail.start(raw & !0xfff, &mut rng);
        assert!(start.is_multiple_of(4096) && start + 4096 <= 10 * M + 100, "{start}");
        let start = spill.start(low & !0xfff, &mut rng);
        assert!(start.is_multiple_of(4096) && start + 65536 <= M, "{start}");
    }
}

#[test]
fn shares_are_what_was_asked_for() {
    let range = usable(25 * G, 4 * K, 4 * K);
    let cut = absolute(&[(90, 10 * G), (0, 10 * G), (5, 20 * G), (5, 0)]);
    let effective = EffectiveDistribution::new(&cut, &range).expect("two ranges");
    let mut rng = Rng::new(1);
    let draws = 200_000;
    let mut low = 0;
    for _ in 0..draws {
        let raw = rng.next_u64() & !0xfff;
        let start = effective.start(raw, &mut rng);
        assert!(!(10 * G..20 * G).contains(&start), "the hole is left alone");
        low += u32::from(start < 10 * G);
    }
    let share = f64::from(low) / f64::from(draws);
    assert!((share - 90.0 / 95.0).abs() < 0.002, "{share}");
}

#[test]
fn a_distribution_off_the_target_is_refused() {
    let range = usable(5 * G, 4 * K, 4 * K);
    let error = EffectiveDistribution::new(&absolute(&[(0, 10 * G), (100, 10 * G)]), &range)
        .expect_err("2.2 falls back to the whole target, hole included");
    assert_eq!(
        error,
        DistributionError::NothingOnTarget {
            first_bytes: u128::from(10 * G),
            usable_bytes: 5 * G,
            block_bytes: 4096
        }
    );
    for part in ["10737418240", "5GiB", "4096", "-rdabs"] {
        assert!(error.to_string().contains(part), "{part} is missing in: {error}");
    }
}

#[test]
fn broken_rules_are_words_not_panics() {
    let range = usable(G, 4 * K, 4 * K);
    let refused = |d: Distribution| EffectiveDistribution::new(&d, &range).expect_err("refused");
    let all = Distribution { kind: DistributionKind::Percent, ranges: list(&[(60, 50), (50, 50)]) };
    assert_eq!(refused(all), DistributionError::IoAboveHundred { percent: 110 });
    let wide = Distribution { kind: DistributionKind::Percent, ranges: list(&[(50, 60), (50, u64::MAX)]) };
    assert!(matches!(refused(wide), DistributionError::TargetAboveHundred { .. }));
    let empty = Distribution { kind: DistributionKind::Percent, ranges: list(&[(50, 100), (50, 0)]) };
    assert_eq!(refused(empty), DistributionError::NoSpan { range: 2 });
    assert_eq!(refused(absolute(&[(50, 0), (50, G)])), DistributionError::OpenNotLast { range: 1 });
    assert_eq!(refused(absolute(&[])), DistributionError::NoIo);
    assert_eq!(refused(absolute(&[(0, G)])), DistributionError::NoIo);
    let far = absolute(&[(0, u64::MAX), (0, u64::MAX), (100, 0)]);
    assert!(matches!(refused(far), DistributionError::NothingOnTarget { .. }));
}

/// Shares from a small pool and spans that sum to 100, holes included.
fn any_percent() -> impl Strategy<Value = Distribution> {
    prop::collection::vec((0u32..40, 1u64..40), 1..40).prop_map(|pairs| {
        let (mut io_left, mut target_left) = (100, 100);
        let mut ranges = Vec::new();
        for (io, span) in pairs {
            if target_left <= 1 || io_left == 0 {
                break;
            }
            let io_percent = if io < 8 { 0 } else { (io - 7).min(io_left) };
            let span = if span < 25 { 1 } else { (span - 24).min(target_left - 1) };
            io_left -= io_percent;
            target_left -= span;
            ranges.push(DistributionRange { io_percent, span });
        }
        ranges.push(DistributionRange { io_percent: io_left, span: target_left });
        Distribution { kind: DistributionKind::Percent, ranges }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn percent_always_yields_a_sound_partition(
        distribution in any_percent(), positions in 1u64..200, align in 1u64..9000, block in 1u64..9000,
    ) {
        let range = usable((positions - 1) * align + block, block, align);
        effective(&distribution, &range);
    }

    #[test]
    fn absolute_always_yields_legal_starts(
        pairs in prop::collection::vec((0u32..34, 1u64..200_000), 1..6),
        size in 1u64..500_000, block in 1u64..20_000, align in 1u64..20_000, open in any::<bool>(),
    ) {
        let mut left = 100;
        let mut ranges: Vec<_> = pairs.iter().map(|&(io, span)| {
            let io_percent = io.min(left);
            left -= io_percent;
            DistributionRange { io_percent, span }
        }).collect();
        if open {
            ranges.push(DistributionRange { io_percent: left, span: 0 });
        }
        let distribution = Distribution { kind: DistributionKind::Absolute, ranges };
        let range = usable(size.max(block), block, align);
        if let Ok(effective) = EffectiveDistribution::new(&distribution, &range) {
            check(DistributionKind::Absolute, &effective, &range);
        }
    }
}

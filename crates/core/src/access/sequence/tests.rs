use super::*;
use crate::access::{EffectiveDistribution, Places, RangeSpec, Rng, UsableRange};
use crate::profile::{Distribution, DistributionKind, DistributionRange};
use proptest::prelude::*;
use std::sync::Arc;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// The sizes of a case, in bytes; a stride or limit of 0 is the default.
#[derive(Clone, Copy, Default)]
struct Sizes {
    size: u64,
    base: u64,
    max: u64,
    block: u64,
    stride: u64,
    thread_stride: u64,
}

fn spec(sizes: Sizes, thread: u32) -> PatternSpec {
    let range = UsableRange::new(RangeSpec {
        size_bytes: sizes.size,
        base_bytes: sizes.base,
        max_bytes: sizes.max,
        block_bytes: sizes.block,
        stride_bytes: sizes.stride,
        thread_stride_bytes: sizes.thread_stride,
    })
    .expect("a block fits");
    PatternSpec {
        start: range.start_of(thread).expect("the thread can start"),
        slots: 1,
        random_percent: 0,
        interlocked: false,
        parallel: false,
        write_percent: 0,
        places: Places::Uniform,
        mix: Vec::new(),
        stride_bytes: None,
        flush_every: None,
        trim_percent: 0,
        verify: false,
    }
}

fn accesses(spec: PatternSpec, seed: u64, count: usize) -> Vec<Access> {
    let (mut rng, shared) = (Rng::new(seed), SharedOffset::new(0));
    let mut pattern = Pattern::new(spec, &mut rng);
    (0..count).map(|_| pattern.next(0, &mut rng, &shared)).collect()
}

fn offsets(spec: PatternSpec, seed: u64, count: usize) -> Vec<u64> {
    accesses(spec, seed, count).into_iter().map(|a| a.offset).collect()
}

/// `1032192r 466944w ...`
fn written(accesses: &[Access]) -> String {
    let words: Vec<String> =
        accesses.iter().map(|a| format!("{}{}", a.offset, if a.write { 'w' } else { 'r' })).collect();
    words.join(" ")
}

#[track_caller]
fn sequence(sizes: Sizes, thread: u32, expected: &[u64]) {
    assert_eq!(offsets(spec(sizes, thread), 0, expected.len()), expected, "thread {thread}");
}

fn steps(from: u64, to: u64, by: u64) -> Vec<u64> {
    (from..=to).step_by(by as usize).collect()
}

#[test]
fn plain_sequential_as_asserted_upstream() {
    let s = Sizes { base: 1000, block: 1000, stride: 500, size: 3000, ..Sizes::default() };
    sequence(s, 0, &[1000, 1500, 2000, 1000]);
    let s = Sizes { base: 0, thread_stride: 250, ..s };
    sequence(s, 0, &[0, 500, 1000, 1500, 2000, 0, 500]);
    sequence(s, 1, &[250, 750, 1250, 1750, 250, 750]);
    sequence(Sizes { thread_stride: 750, ..s }, 1, &[750, 1250, 1750, 250, 750, 1250]);
    let s = Sizes { stride: 250, thread_stride: 500, ..s };
    sequence(s, 0, &[steps(0, 2000, 250), vec![0, 250]].concat());
    sequence(s, 1, &[steps(500, 2000, 250), vec![0, 250, 500]].concat());
    let s = Sizes { block: 200, stride: 200, thread_stride: 500, size: 3000, ..Sizes::default() };
    sequence(s, 0, &[steps(0, 2800, 200), vec![0, 200]].concat());
    sequence(s, 1, &[steps(500, 2700, 200), vec![100, 300, 500]].concat());
}

#[test]
fn plain_sequential_as_measured() {
    let s = Sizes { block: 64 * K, size: M, ..Sizes::default() };
    sequence(s, 0, &[steps(0, 983040, 64 * K), vec![0]].concat());
    sequence(Sizes { size: M - 1, ..s }, 0, &[steps(0, 917504, 64 * K), vec![0]].concat());
    let s = Sizes { block: 4 * K, stride: 64 * K, size: M + 4096, ..Sizes::default() };
    sequence(s, 0, &[steps(0, 1048576, 64 * K), vec![0]].concat());
    sequence(Sizes { size: M + 4095, ..s }, 0, &[steps(0, 983040, 64 * K), vec![0]].concat());
    let s = Sizes { block: 4 * K, thread_stride: 13 * K, size: 64 * K, ..Sizes::default() };
    sequence(s, 1, &[steps(13312, 58368, 4 * K), vec![1024, 5120, 9216, 13312]].concat());
    let s = Sizes { block: 4 * K, stride: 12 * K, thread_stride: 4 * K, size: 36 * K, ..Sizes::default() };
    sequence(s, 0, &[0, 12288, 24576, 0]);
    sequence(s, 1, &[4096, 16384, 28672, 4096]);
    sequence(s, 2, &[8192, 20480, 32768, 8192]);
    for max in [24 * K, 26000] {
        let s = Sizes { block: 4 * K, base: 8 * K, max, size: M, ..Sizes::default() };
        sequence(s, 0, &[8192, 12288, 16384, 20480, 8192]);
    }
}

#[test]
fn threads_start_a_thread_stride_apart() {
    for (thread_stride, starts) in [(5000, [1000, 6000, 11000]), (50000, [1000, 51000, 101000])] {
        let s = Sizes { base: 1000, block: 1000, thread_stride, size: 200_000, ..Sizes::default() };
        for (thread, start) in (0..).zip(starts) {
            sequence(s, thread, &[start]);
        }
    }
}

#[test]
fn a_stride_beyond_the_target_stays_at_the_start() {
    let s = Sizes { block: 4 * K, stride: u64::MAX, size: 64 * K, thread_stride: 5 * K, ..Sizes::default() };
    sequence(s, 2, &[10240, 10240, 10240]);
}

#[test]
fn interlocked_threads_share_one_walk() {
    let sizes = Sizes { base: 1000, block: 1000, stride: 500, size: 3000, ..Sizes::default() };
    let shared = SharedOffset::new(0);
    let mut rng = Rng::new(0);
    let interlocked = |sizes| PatternSpec { interlocked: true, ..spec(sizes, 0) };
    let mut threads =
        [Pattern::new(interlocked(sizes), &mut rng), Pattern::new(interlocked(sizes), &mut rng)];
    let walked = [0, 0, 1, 0, 1].map(|t: usize| threads[t].next(0, &mut rng, &shared).offset);
    assert_eq!(walked, [1000, 1500, 2000, 1000, 1500]);
    let sizes = Sizes { block: 4 * K, size: 18 * K, ..Sizes::default() };
    assert_eq!(offsets(interlocked(sizes), 0, 5), [0, 4096, 8192, 12288, 0]);
    let sizes = Sizes { stride: 6 * K, ..sizes };
    assert_eq!(offsets(interlocked(sizes), 0, 4), [0, 6144, 12288, 0]);
}

#[test]
fn interlocked_threads_split_laps_exactly() {
    let sizes = Sizes { block: 4 * K, size: 30 * 4 * K + 100, ..Sizes::default() };
    let shared = SharedOffset::new(0);
    let per_thread = 7 * 30 / 3;
    let mut seen: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut rng = Rng::new(0);
                    let spec = PatternSpec { interlocked: true, ..spec(sizes, 0) };
                    let mut pattern = Pattern::new(spec, &mut rng);
                    let walk = (0..per_thread).map(|_| pattern.next(0, &mut rng, &shared).offset);
                    walk.collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|w| w.join().expect("worker ends")).collect()
    });
    seen.sort_unstable();
    let expected: Vec<u64> = (0..30).flat_map(|i| [i * 4 * K; 7]).collect();
    assert_eq!(seen, expected);
}

#[test]
fn interlocked_laps_stay_exact_with_a_huge_stride() {
    // 3 positions do not divide 2^64: a byte counter would leave the walk after 2^24 I/Os here.
    let tib = 1 << 40;
    let sizes = Sizes { block: 4 * K, stride: tib, size: 2 * tib + 4 * K, ..Sizes::default() };
    let shared = SharedOffset::new((1 << 24) - 1);
    let mut rng = Rng::new(0);
    let mut pattern = Pattern::new(PatternSpec { interlocked: true, ..spec(sizes, 0) }, &mut rng);
    let walked: [u64; 4] = std::array::from_fn(|_| pattern.next(0, &mut rng, &shared).offset);
    assert_eq!(walked, [0, tib, 2 * tib, 0]);
}

#[test]
fn parallel_slots_walk_by_themselves() {
    let sizes = Sizes { base: 1000, block: 1000, stride: 500, size: 3000, ..Sizes::default() };
    let spec = PatternSpec { parallel: true, slots: 3, ..spec(sizes, 0) };
    let (mut rng, shared) = (Rng::new(0), SharedOffset::new(0));
    let mut pattern = Pattern::new(spec, &mut rng);
    for expected in [1000, 1500, 2000, 1000, 1500] {
        for slot in [1, 0, 2] {
            assert_eq!(pattern.next(slot, &mut rng, &shared).offset, expected);
        }
    }
    let sizes = Sizes { block: 1000, stride: 500, thread_stride: 750, size: 3000, ..Sizes::default() };
    let mut pattern =
        Pattern::new(PatternSpec { parallel: true, slots: 2, ..self::spec(sizes, 1) }, &mut rng);
    for expected in [750, 1250, 1750, 250] {
        assert_eq!(pattern.next(1, &mut rng, &shared).offset, expected);
    }
    assert_eq!(pattern.next(0, &mut rng, &shared).offset, 750, "slot 0 has not moved");
}

fn one_mib() -> PatternSpec {
    spec(Sizes { block: 4 * K, size: M, ..Sizes::default() }, 0)
}

#[test]
fn random_offset_vectors() {
    let random = PatternSpec { random_percent: 100, ..one_mib() };
    assert_eq!(
        offsets(random.clone(), 0, 12),
        [1032192, 208896, 151552, 430080, 466944, 90112, 397312, 430080, 131072, 315392, 679936, 1036288]
    );
    assert_eq!(
        offsets(random, 1, 12),
        [393216, 405504, 184320, 245760, 856064, 110592, 782336, 483328, 192512, 249856, 495616, 16384]
    );
}

#[test]
fn random_with_types_vector() {
    let spec = PatternSpec { random_percent: 100, write_percent: 50, ..one_mib() };
    assert_eq!(
        written(&accesses(spec, 0, 10)),
        "208896r 430080w 90112w 430080r 315392w 1036288w 655360r 417792w 290816r 45056r"
    );
}

#[test]
fn mixed_vectors() {
    let mixed = PatternSpec { random_percent: 50, ..one_mib() };
    assert_eq!(
        offsets(mixed.clone(), 0, 12),
        [1032192, 1036288, 466944, 471040, 430080, 434176, 679936, 684032, 655360, 659456, 663552, 290816]
    );
    assert_eq!(
        written(&accesses(PatternSpec { write_percent: 50, ..mixed }, 0, 11)),
        "1032192r 466944r 430080r 679936r 655360r 659456r 290816r 167936r 397312w 401408w 520192w"
    );
}

#[test]
fn sequential_types_vector() {
    let spec = PatternSpec { write_percent: 30, ..one_mib() };
    let writes: Vec<u64> = accesses(spec, 0, 16).into_iter().filter(|a| a.write).map(|a| a.offset).collect();
    // The contract's list leaves out 45056; its other vectors draw the same number (21 of 100) there
    // and call it a write.
    assert_eq!(writes, [12288, 32768, 45056, 49152, 61440]);
}

#[test]
fn random_offsets_are_aligned_to_the_base_and_stay_inside() {
    let sizes = Sizes { base: 1000, block: 1000, stride: 500, size: 3000, ..Sizes::default() };
    let spec = PatternSpec { random_percent: 100, ..spec(sizes, 0) };
    let mut seen = offsets(spec, 0, 3000);
    seen.sort_unstable();
    let counts: Vec<(u64, usize)> = seen.chunk_by(|a, b| a == b).map(|c| (c[0], c.len())).collect();
    assert_eq!(counts.iter().map(|c| c.0).collect::<Vec<_>>(), [1000, 1500, 2000]);
    assert!(counts.iter().all(|c| (900..1100).contains(&c.1)), "{counts:?}");
}

#[test]
fn a_distribution_takes_two_draws_per_offset() {
    let base = one_mib();
    let distribution = Distribution {
        kind: DistributionKind::Percent,
        ranges: vec![
            DistributionRange { io_percent: 90, span: 50 },
            DistributionRange { io_percent: 10, span: 50 },
        ],
    };
    let effective = EffectiveDistribution::new(&distribution, base.start.range()).expect("two ranges");
    let spec = PatternSpec { random_percent: 100, places: Places::Ranges(Arc::new(effective)), ..base };
    let mut rng = Rng::new(0);
    let expected: Vec<u64> = (0..1000)
        .map(|_| {
            let (raw, draw) = (rng.next_u64() & !0xfff, rng.next_u64() % 100);
            raw % (M / 2) + if draw < 90 { 0 } else { M / 2 }
        })
        .collect();
    assert_eq!(offsets(spec.clone(), 0, 1000), expected);
    // At the start of a mixed thread as well: two draws, then the type.
    let mut rng = Rng::new(0);
    Pattern::new(PatternSpec { random_percent: 5, write_percent: 5, ..spec }, &mut rng);
    let mut after = Rng::new(0);
    let draws: [u64; 4] = std::array::from_fn(|_| after.next_u64());
    assert_eq!(rng.next_u64(), draws[3]);
}

/// Lengths of runs of a read-only mixed pattern on a target so large that neither wraps nor random
/// I/Os that happen to follow on matter.
fn run_lengths(random_percent: u32, ios: usize) -> Vec<u64> {
    let sizes = Sizes { block: 4 * K, size: 1 << 55, ..Sizes::default() };
    let spec = PatternSpec { random_percent, ..spec(sizes, 0) };
    let walked = offsets(spec, 0, ios);
    let runs = walked.chunk_by(|a, b| a + 4 * K == *b).map(|run| run.len() as u64);
    let mut lengths: Vec<u64> = runs.collect();
    lengths.remove(0); // starts at the initial offset, without a random I/O of its own
    lengths.pop(); // cut off
    lengths
}

#[test]
fn run_lengths_are_geometric() {
    for random_percent in [5, 20, 50, 90] {
        let p = f64::from(random_percent) / 100.0;
        let lengths = run_lengths(random_percent, 400_000);
        let runs = lengths.len() as f64;
        let mean = lengths.iter().sum::<u64>() as f64 / runs;
        let mean_error = (1.0 - p).sqrt() / p / runs.sqrt();
        assert!((mean - 1.0 / p).abs() < 4.0 * mean_error, "-rs{random_percent}: mean {mean}");
        // Chi-square over lengths 1, 2, ... while at least 50 runs are expected, the rest together.
        let (mut chi_square, mut cells, mut left) = (0.0, 0, runs);
        let mut seen_left = runs;
        for length in 1.. {
            let expected = left * p;
            if expected < 50.0 {
                break;
            }
            let seen = lengths.iter().filter(|&&l| l == length).count() as f64;
            chi_square += (seen - expected).powi(2) / expected;
            (left, seen_left, cells) = (left - expected, seen_left - seen, cells + 1);
        }
        chi_square += (seen_left - left).powi(2) / left;
        // `cells` degrees of freedom; mean plus four standard deviations.
        let freedom = f64::from(cells);
        let limit = freedom + 4.0 * (2.0 * freedom).sqrt();
        assert!(chi_square < limit, "-rs{random_percent}: chi-square {chi_square} of {cells} cells");
    }
}

#[test]
fn a_run_has_one_type_and_the_share_of_writes_holds() {
    let sizes = Sizes { block: 4 * K, size: 1 << 55, ..Sizes::default() };
    let spec = PatternSpec { random_percent: 20, write_percent: 30, ..spec(sizes, 0) };
    let walked = accesses(spec, 0, 200_000);
    let mut changes_between_runs = 0;
    for pair in walked.windows(2) {
        let same_type = pair[0].write == pair[1].write;
        if pair[0].offset + 4 * K == pair[1].offset {
            assert!(same_type, "a type changed within a run");
        } else {
            changes_between_runs += u32::from(!same_type);
        }
    }
    assert!(changes_between_runs > 10_000, "types do change between runs");
    let share = walked.iter().filter(|a| a.write).count() as f64 / walked.len() as f64;
    assert!((share - 0.3).abs() < 0.015, "{share}");
}

#[test]
fn mixed_walks_over_the_end_to_the_base() {
    let sizes = Sizes {
        base: 512,
        block: 1000,
        stride: 500,
        size: 4512 + 300,
        thread_stride: 750,
        ..Sizes::default()
    };
    // Validation refuses a thread stride here; a thread's own residue has no place in random offsets.
    let spec = PatternSpec { random_percent: 1, ..spec(sizes, 1) };
    let walked = offsets(spec, 0, 2000);
    let wraps = walked.windows(2).filter(|w| w[0] == 512 + 3000 && w[1] == 512).count();
    assert!(wraps > 100, "{wraps}");
    assert!(walked.iter().all(|o| (512..=3512).contains(o) && (o - 512) % 500 == 0));
}

#[test]
fn all_random_mixed_is_random() {
    // `-rs100` is `-r`: no draw for the choice.
    let random = PatternSpec { random_percent: 100, ..one_mib() };
    assert_eq!(offsets(random, 0, 2), [1032192, 208896]);
}

#[test]
fn shares_of_writes() {
    let count = |write_percent| {
        let spec = PatternSpec { write_percent, ..one_mib() };
        accesses(spec, 0, 100_000).iter().filter(|a| a.write).count()
    };
    assert_eq!(count(0), 0);
    assert_eq!(count(100), 100_000);
    // Four standard deviations: 126 at 1 % and 99 %, 632 at 50 %.
    assert!((1000 - 126..1000 + 126).contains(&count(1)), "{}", count(1));
    assert!((50_000 - 632..50_000 + 632).contains(&count(50)), "{}", count(50));
    assert!((99_000 - 126..99_000 + 126).contains(&count(99)), "{}", count(99));
}

#[test]
fn pure_reads_and_pure_writes_draw_no_type() {
    for write_percent in [0, 100] {
        let spec = PatternSpec { random_percent: 100, write_percent, ..one_mib() };
        assert_eq!(offsets(spec, 0, 3), [1032192, 208896, 151552]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn offsets_stay_inside_and_aligned(
        base in 0u64..100_000, block in 1u64..70_000, room in 0u64..1_000_000, limit in any::<bool>(),
        stride in prop_oneof![1u64..100_000, (0u32..20).prop_map(|s| 1 << s)],
        thread_stride in 0u64..50_000, thread in 0u32..8,
        random_percent in prop_oneof![Just(0u32), 1u32..100, Just(100)],
        flavour in 0u8..3, write_percent in 0u32..=100, seed in any::<u32>(), ranges in any::<bool>(),
    ) {
        let end = base + block + room;
        let (size, max) = if limit { (end + 12345, end) } else { (end, 0) };
        let range = UsableRange::new(RangeSpec {
            size_bytes: size, base_bytes: base, max_bytes: max, block_bytes: block,
            stride_bytes: stride, thread_stride_bytes: if random_percent > 0 { 0 } else { thread_stride },
        }).expect("a block fits");
        let Ok(start) = range.start_of(thread) else { return Ok(()) };
        let places = if ranges && random_percent > 0 {
            let ranges = [(70, 9), (0, 11), (20, 79), (10, 1)]
                .map(|(io_percent, span)| DistributionRange { io_percent, span }).to_vec();
            let distribution = Distribution { kind: DistributionKind::Percent, ranges };
            Places::Ranges(Arc::new(EffectiveDistribution::new(&distribution, &range).expect("ranges remain")))
        } else {
            Places::Uniform
        };
        let spec = PatternSpec {
            start, slots: 3, random_percent, interlocked: flavour == 1, parallel: flavour == 2,
            write_percent, places, mix: Vec::new(), stride_bytes: None, flush_every: None,
            trim_percent: 0,
            verify: false,
        };
        let residue = if random_percent == 0 && flavour != 1 { start.start_bytes() % range.stride_bytes() } else { 0 };
        let (mut rng, shared) = (Rng::for_thread(seed, thread), SharedOffset::new(0));
        let mut pattern = Pattern::new(spec, &mut rng);
        for i in 0..300 {
            let offset = pattern.next(i % 3, &mut rng, &shared).offset;
            prop_assert!(offset >= base && offset + block <= end, "{offset}");
            prop_assert_eq!((offset - base) % range.stride_bytes(), residue);
        }
    }
}

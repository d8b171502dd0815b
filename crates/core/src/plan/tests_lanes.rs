//! Lanes, the ranges of targets, and which thread does what.

use super::*;
use crate::profile::{CacheMode, RingOptions, ThreadTarget};

const GIB: u64 = 1 << 30;

/// Lanes on targets of 1 GiB with direct I/O in units of 4 KiB.
fn lanes_of(span: &TimeSpan) -> Vec<Lane> {
    lanes_on(span, false)
}

fn lanes_on(span: &TimeSpan, by_commands: bool) -> Vec<Lane> {
    use truespd_platform::machine::storage::AlignmentSource;
    let source = AlignmentSource::Statx;
    let direct = Some(DirectAlignment { offset_bytes: 4096, memory_bytes: 4096, source });
    let ranges: Vec<_> = span.targets.iter().map(|t| ranges_of(span, t, GIB).expect("it fits")).collect();
    let targets: Vec<_> = ranges
        .into_iter()
        .map(|(range, places)| PlannedTarget { size_bytes: GIB, direct, by_commands, range, places })
        .collect();
    let targets: Vec<_> = targets.iter().collect();
    let inputs = LaneInputs { span, targets: &targets, engine: None, huge_page_bytes: 2 << 20 };
    lanes(assign(span, &[]), &inputs).expect("it fits")
}

fn span(edit: impl Fn(&mut TimeSpan)) -> TimeSpan {
    let target = Target { block_bytes: 1000, request_count: 3, ..Target::default() };
    let mut span = TimeSpan { targets: vec![target.clone(), target], ..TimeSpan::default() };
    edit(&mut span);
    span
}

/// Submit batch, reap batch and whether a look follows each batch, of a thread with `slots` requests.
fn batches(span: &TimeSpan, slots: u32) -> (u32, u32, bool) {
    let mut span = span.clone();
    span.targets[0].request_count = slots;
    let dispatch = lanes_of(&span)[0].dispatch;
    (dispatch.submit_batch, dispatch.reap_batch, dispatch.poll_after_batch)
}

#[test]
fn batches_are_what_was_asked_for_or_what_is_cheapest() {
    let target = |cache| Target { cache, ..Target::default() };
    let plain = |cache| TimeSpan { targets: vec![target(cache)], ..TimeSpan::default() };
    let (cached, direct) = (plain(CacheMode::Cached), plain(CacheMode::DisableOsCache));
    let with_latency = |span: &TimeSpan| TimeSpan { measure_latency: true, ..span.clone() };
    assert_eq!(batches(&direct, 32), (4, 16, true));
    assert_eq!(batches(&direct, 4), (4, 4, false), "all slots: the wait hands them over");
    assert_eq!(batches(&direct, 2), (2, 2, false));
    assert_eq!(batches(&cached, 32), (32, 16, false));
    for span in [&direct, &cached] {
        assert_eq!(batches(&with_latency(span), 32), (4, 16, true));
    }
    for (batch, expected) in
        [(Batch::Count(8), 8), (Batch::Count(100), 32), (Batch::Percent(25), 8), (Batch::Percent(1), 1)]
    {
        let ring = Some(RingOptions { registered_buffers: true, batch });
        let asked = TimeSpan { ring, ..direct.clone() };
        for span in [with_latency(&asked), asked] {
            assert_eq!(batches(&span, 32), (expected, 16, true));
        }
    }
}

/// The list of DiskSpd 2.3: requests, what is asked for, what comes of it.
#[test]
fn batches_of_a_ring() {
    let list = include_str!("../../../../tests/data/diskspd-2.3/cases-batch.tsv");
    for line in list.lines().skip(1) {
        let [requests, asked, used, ..] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let batch = match asked.strip_suffix('%') {
            Some(percent) => Batch::Percent(percent.parse().expect("a number")),
            None => Batch::Count(asked.parse().expect("a number")),
        };
        let ring = Some(RingOptions { registered_buffers: true, batch });
        let span = TimeSpan { ring, targets: vec![Target::default()], ..TimeSpan::default() };
        let (submit_batch, ..) = batches(&span, requests.parse().expect("a number"));
        assert_eq!(submit_batch.to_string(), used, "{line}");
    }
}

#[test]
fn slots_follow_each_other_and_a_pool_has_all_for_every_target() {
    let fixed = span(|s| s.thread_count = 1);
    let lane = &lanes_of(&fixed)[0];
    assert_eq!(lane.slot_targets(), [0, 0, 0, 1, 1, 1]);
    assert_eq!(
        lane.targets.iter().map(|t| (t.slot_first, t.duty.requests)).collect::<Vec<_>>(),
        [(0, 3), (3, 3)]
    );
    let pool = span(|s| (s.thread_count, s.request_count) = (1, 4));
    let lane = &lanes_of(&pool)[0];
    assert!(lane.pool.is_some());
    assert_eq!(lane.slot_targets(), [0; 4]);
    assert!(lane.targets.iter().all(|t| (t.slot_first, t.duty.requests) == (0, 4)));
}

#[test]
fn blocks_of_direct_io_begin_where_the_device_wants_them() {
    let of = |cache| {
        let span = span(|s| s.targets.iter_mut().for_each(|t| t.cache = cache));
        let target = lanes_of(&span).remove(0).targets.remove(0);
        (target.slot_stride_bytes, target.buffer_bytes())
    };
    assert_eq!(of(CacheMode::Cached), (1000, 3000));
    assert_eq!(of(CacheMode::DisableOsCache), (4096, 3 * 4096));
}

#[test]
fn interlocked_threads_share_the_offset_of_their_target_and_of_no_other() {
    let span = span(|s| s.thread_count = 2);
    let lanes = lanes_of(&span);
    let shared = |lane: usize, target: usize| &lanes[lane].targets[target].shared;
    assert!(Arc::ptr_eq(shared(0, 0), shared(1, 0)) && Arc::ptr_eq(shared(0, 1), shared(1, 1)));
    assert!(!Arc::ptr_eq(shared(0, 0), shared(0, 1)));
    assert!(!Arc::ptr_eq(shared(0, 0), &lanes_of(&span)[0].targets[0].shared), "each call has its own");
}

#[test]
fn write_data_are_what_the_target_asks_for() {
    let of = |edit: &dyn Fn(&mut TimeSpan)| {
        let span = span(|s| {
            s.targets[0].write_percent = 50;
            edit(s);
        });
        lanes_of(&span).remove(0).targets.remove(0)
    };
    assert!(matches!(of(&|_| ()).writes, LaneWrites::Pattern { first: 3000 }));
    assert!(matches!(of(&|s| s.random_write_data = true).writes, LaneWrites::Random));
    assert!(matches!(of(&|s| s.targets[0].zero_write_buffers = true).writes, LaneWrites::Zero));
    assert!(matches!(of(&|s| s.targets[0].write_source_bytes = 4096).writes, LaneWrites::Source(_)));
    let read_only = of(&|s| s.targets[0].write_percent = 0);
    assert!(!read_only.is_written() && read_only.reads);
    assert_eq!(read_only.huge_page_bytes, None);
    assert_eq!(of(&|s| s.targets[0].large_pages = true).huge_page_bytes, Some(2 << 20));
}

#[test]
fn targets_of_commands_get_the_engine_that_sends_them() {
    let span = span(|_| ());
    let rows = |by_commands| lanes_on(&span, by_commands).into_iter().map(|lane| lane.engine.row);
    assert!(rows(true).all(|row| row.is_some_and(|row| row.sends_commands)));
    assert!(rows(false).all(|row| row.is_none()));
}

#[test]
fn a_single_request_with_u_is_for_io_uring() {
    let ring = Some(RingOptions { registered_buffers: false, batch: Batch::Count(1) });
    let of = |requests| {
        let span = span(|s| {
            s.ring = ring;
            s.targets[0].request_count = requests;
        });
        lanes_of(&span).remove(0).engine
    };
    assert_eq!(of(1).row.map(|row| row.name), Some("io_uring"));
    assert!(of(2).row.is_none() && !of(2).registered_buffers);
}

// ---- the ranges of a target

const KIB: u64 = 1024;

#[test]
fn the_last_thread_must_fit_too() {
    let mut span = TimeSpan { targets: vec![Target::default()], ..TimeSpan::default() };
    span.targets[0].threads_per_file = 3;
    span.targets[0].thread_stride_bytes = 64 * KIB;
    let check = |span: &TimeSpan, size| ranges_of(span, &span.targets[0], size).map(|_| ());
    assert_eq!(check(&span, 192 * KIB), Ok(()));
    let message = check(&span, 192 * KIB - 1).unwrap_err().to_string();
    assert!(message.starts_with("The file is too small. File: "), "{message}");
    span.targets[0].base_bytes = 1;
    assert!(check(&span, 192 * KIB).is_err());
    assert!(check(&span, 0).unwrap_err().message.starts_with("Error getting file size"));
    span.targets[0].base_bytes = 0;
    span.targets[0].threads_per_file = 1;
    span.thread_count = 4;
    assert!(check(&span, 192 * KIB).is_err(), "-F counts threads globally");
}

// ---- which thread does what

fn span_of(targets: usize, edit: impl Fn(&mut TimeSpan)) -> TimeSpan {
    let mut span = TimeSpan { targets: vec![Target::default(); targets], ..TimeSpan::default() };
    edit(&mut span);
    span
}

fn shape(threads: &[ThreadWork]) -> Vec<(u32, Vec<(usize, u32)>)> {
    threads
        .iter()
        .map(|t| (t.slots, t.duties.iter().map(|d| (d.target, d.relative_thread)).collect()))
        .collect()
}

#[test]
fn per_target_threads_fill_target_by_target() {
    let span = span_of(2, |s| s.targets.iter_mut().for_each(|t| t.threads_per_file = 2));
    let expected = vec![(2, vec![(0, 0)]), (2, vec![(0, 1)]), (2, vec![(1, 0)]), (2, vec![(1, 1)])];
    assert_eq!(shape(&assign(&span, &[])), expected);
}

#[test]
fn fixed_threads_serve_every_target() {
    let threads = assign(&span_of(5, |s| s.thread_count = 2), &[]);
    assert_eq!(threads.len(), 2);
    assert!(threads.iter().all(|t| t.slots == 10 && t.duties.len() == 5));
    assert!(threads[1].duties.iter().all(|d| d.relative_thread == 1 && d.sharers == 2));
}

#[test]
fn a_pool_thread_has_its_requests_over_all_targets() {
    let threads = assign(
        &span_of(5, |s| {
            s.thread_count = 2;
            s.request_count = 4;
        }),
        &[],
    );
    assert!(threads.iter().all(|t| t.is_pool && t.slots == 4));
    assert!(threads[0].duties.iter().all(|d| d.requests == 4));
}

#[test]
fn thread_targets_restrict_and_override_weights() {
    let threads = assign(
        &span_of(2, |s| {
            s.thread_count = 2;
            s.request_count = 4;
            s.targets[0].weight = 3;
            s.targets[0].thread_targets =
                vec![ThreadTarget { thread: 1, weight: 0 }, ThreadTarget { thread: 0, weight: 9 }];
            s.targets[1].thread_targets = vec![ThreadTarget { thread: 1, weight: 5 }];
        }),
        &[],
    );
    let weights = |t: &ThreadWork| t.duties.iter().map(|d| (d.target, d.weight)).collect::<Vec<_>>();
    assert_eq!(weights(&threads[0]), [(0, 9)]);
    assert_eq!(weights(&threads[1]), [(0, 3), (1, 5)]);
}

#[test]
fn seeds_count_up_and_wrap_and_processors_go_round() {
    let span = span_of(1, |s| {
        s.rand_seed = u32::MAX;
        s.targets[0].threads_per_file = 3;
    });
    let threads = assign(&span, &[4, 6]);
    assert_eq!(threads.iter().map(|t| t.seed).collect::<Vec<_>>(), [u32::MAX, 0, 1]);
    assert_eq!(threads.iter().map(|t| t.cpu).collect::<Vec<_>>(), [Some(4), Some(6), Some(4)]);
}

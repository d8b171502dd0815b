//! The worker against a scripted engine: failures, stops, engines that finish inline, write data.

use super::tests_lab::{Bench, Call, LATENCY, NEVER, NO_STATISTICS, Seen, lane_target, pattern};
use super::*;
use crate::access::{Pace, SourceWindow};
use crate::load::counters::Tables;
use crate::load::phases::Lengths;
use crate::load::rounds::Cut;
use crate::measure::LatencySlices;
use crate::measure::slices::bucket_of;
use crate::plan::Dispatch;
use crate::profile::{Target, Throughput};
use truespd_platform::sys::buffer::IoBuffer;

// ---- failures -----------------------------------------------------------------------------------

#[test]
fn a_failed_io_ends_the_run_and_says_where_it_was() {
    for (result, kind) in [
        (Err(IoError::IO), FailureKind::Io(IoError::IO)),
        (Err(IoError::NO_SPACE), FailureKind::Io(IoError::NO_SPACE)),
        (Ok(0), FailureKind::EndOfTarget),
    ] {
        let bench = Bench::new(1, LATENCY).lengths(250, 1000, 0);
        let seen = bench.result(move |number, io| if number == 4 { result } else { Ok(io.len) }).run();
        let expected = IoFailure {
            target: 0,
            op: Op::Read,
            offset: 3 * 4096,
            bytes: 4096,
            since_measure_start_ns: 150,
            kind,
        };
        assert_eq!(seen.failures, [expected]);
        assert_eq!((seen.ios.len(), seen.reads(), seen.now_ns), (4, 1, 400), "at once; it counts as nothing");
    }
}

#[test]
fn a_failure_in_warm_up_ends_the_run_as_well() {
    let seen = Bench::new(1, NO_STATISTICS).lengths(250, 1000, 0).result(|_, _| Err(IoError::IO)).run();
    assert_eq!((seen.failures[0].since_measure_start_ns, seen.now_ns), (-150, 100));
}

#[test]
fn what_came_with_a_failure_still_counts() {
    let bench = Bench::new(4, LATENCY);
    let seen = bench.result(|number, io| if number == 2 { Err(IoError::IO) } else { Ok(io.len) }).run();
    assert_eq!((seen.failures.len(), seen.reads()), (1, 3));
    assert_eq!(seen.ios.len(), 4, "nothing is issued after it");
}

#[test]
fn the_first_failures_are_kept() {
    let seen = Bench::new(12, NO_STATISTICS).result(|_, _| Err(IoError::IO)).run();
    let offsets: Vec<u64> = seen.failures.iter().map(|f| f.offset / 4096).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_failure_stops_completion_routines_too() {
    let routines = Dispatch {
        submit_batch: 3,
        no_batching_when_fast: false,
        reap_batch: 3,
        poll_after_batch: false,
        reissue_own: true,
    };
    let bench = Bench::new(3, NO_STATISTICS).worker(|w| w.lane.dispatch = routines);
    let seen = bench.result(|number, io| if number == 2 { Err(IoError::IO) } else { Ok(io.len) }).run();
    // The first of the three was reissued before the failure of the second was looked at.
    let submits: Vec<Vec<u32>> = seen.submits().into_iter().map(|(_, slots)| slots).collect();
    assert_eq!(submits, [vec![0, 1, 2], vec![0]]);
    assert_eq!(seen.reads(), 2);
}

#[test]
fn short_transfers_count_with_the_bytes_they_moved() {
    let bench = Bench::new(1, NO_STATISTICS);
    let seen = bench.result(|number, _| Ok(if number.is_multiple_of(3) { 512 } else { 4096 })).run();
    assert!(seen.failures.is_empty());
    assert_eq!((seen.reads(), seen.short_transfers), (9, 3));
    assert_eq!(seen.counted[0].0.bytes, 6 * 4096 + 3 * 512);
    let offsets: Vec<u64> = seen.ios[..5].iter().map(|io| io.offset / 4096).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4], "the rest is not asked for again");
}

#[test]
fn an_engine_that_breaks_ends_the_run() {
    for breaks_at in [(3, 0), (0, 2)] {
        let seen = Bench::new(2, NO_STATISTICS).script(|s| s.breaks_at = breaks_at).run();
        let [failure] = &seen.failures[..] else { panic!("one failure: {:?}", seen.failures) };
        let FailureKind::Engine(words) = &failure.kind else { panic!("{failure:?}") };
        assert!(words.contains("as told") && words.contains("lab"), "{words}");
        let calls = seen.moves();
        let broke = &calls[calls.len() - 2];
        assert!(
            matches!((broke, breaks_at), (Call::Submit(..), (3, 0)) | (Call::Reap(..), (0, 2))),
            "{broke:?}"
        );
    }
}

// ---- stops --------------------------------------------------------------------------------------

/// The worker left at once, and handed nothing over after `at_ns`.
fn assert_left(seen: &Seen, at_ns: u64) {
    assert!(seen.failures.is_empty(), "{:?}", seen.failures);
    assert_eq!(seen.now_ns, at_ns);
    assert!(seen.submits().iter().all(|(at, _)| *at < at_ns), "{:?}", seen.submits());
}

#[test]
fn a_stop_ends_a_wait_without_limit() {
    let bench = Bench::new(2, LATENCY).service(|_, io| if io.slot == 0 { NEVER } else { 100 });
    let seen = bench.script(|s| s.stop_at = Some(450)).run();
    assert_left(&seen, 450);
    assert_eq!((seen.reads(), seen.stuck), (4, 1), "what never ends is handed to the engine and told");
    assert_eq!(seen.moves().last(), Some(&Call::Drain));
}

#[test]
fn a_stop_ends_a_throttle_sleep_and_a_throttle_wait() {
    for service_ns in [10, 5000] {
        let bench =
            Bench::new(2, LATENCY).lengths(0, 10_000, 0).service(move |_, _| service_ns).worker(|w| {
                let target = Target { throughput: Some(Throughput::Iops(1_000_000)), ..Target::default() };
                w.lane.targets[0].pace = Pace::of(&target, 1).expect("legal");
            });
        let seen = bench.script(|s| s.stop_at = Some(1500)).run();
        assert_left(&seen, 1500);
        assert_eq!(seen.ios.len(), 1);
        let in_flight = service_ns > 500;
        assert_eq!(
            (seen.waits.throttle_waits, seen.waits.throttle_sleeps),
            if in_flight { (1, 1) } else { (1, 2) }
        );
    }
}

#[test]
fn a_stop_while_issuing_leaves_the_other_slots_idle() {
    for wanted in [NO_STATISTICS, LATENCY] {
        let bench = Bench::new(8, wanted).worker(|w| w.lane.dispatch.submit_batch = 1);
        let seen = bench.service(|_, _| NEVER).script(|s| {
            s.submit_ns = 100;
            s.stop_at = Some(250);
        });
        let seen = seen.run();
        // The third call ends at 300; the look or the next turn sees the stop.
        assert!((3..=8).contains(&seen.ios.len()), "{}", seen.ios.len());
        if wanted == LATENCY {
            assert_eq!(seen.ios.len(), 3);
            assert_left(&seen, 250);
        }
        assert_eq!(seen.stuck as usize, seen.ios.len());
    }
}

#[test]
fn a_stop_in_each_phase_counts_what_that_phase_demands() {
    // Completions at 100, 200, ...; warm-up to 250, measured to 750, cool-down to 1000.
    for (stop, counted, measured) in [(150, 0, 0), (430, 2, 180), (770, 5, 500), (5000, 5, 500)] {
        let bench = Bench::new(1, NO_STATISTICS).lengths(250, 500, 250);
        let bench = bench.script(|s| s.stop_at = Some(stop));
        let phases = std::rc::Rc::clone(&bench.phases);
        let seen = bench.run();
        assert_eq!((seen.reads(), phases.measured_ns()), (counted, measured), "stopped at {stop}");
        assert_left(&seen, stop.min(1000));
    }
}

#[test]
fn what_comes_back_after_the_stop_is_neither_counted_nor_a_failure() {
    for result in [Err(IoError::INTERRUPTED), Err(IoError::IO), Ok(0), Ok(100), Ok(4096)] {
        // The wait ends by the signal at 950 with the ninth I/O still out; the engine breaks it off.
        let bench = Bench::new(1, NO_STATISTICS).service(|number, _| if number == 9 { 150 } else { 100 });
        let seen = bench
            .worker(|w| w.progress_ios = 9)
            .result(move |number, io| if number == 9 { result } else { Ok(io.len) })
            .script(|s| s.stop_at = Some(950))
            .run();
        assert_left(&seen, 950);
        assert_eq!((seen.reads(), seen.short_transfers, seen.dots), (8, 0, 0), "{result:?}");
    }
}

#[test]
fn a_worker_that_starts_after_the_stop_issues_nothing() {
    let bench = Bench::new(4, LATENCY);
    bench.phases.interrupt(0);
    assert_eq!(bench.run().moves(), [Call::Drain]);
}

// ---- what the end of the measured time finds out ------------------------------------------------

const S: u64 = 1_000_000_000;

/// Two slots, a quarter of a second per I/O, measured for 10 s; the I/Os from `first` on take `takes_ns` more.
fn held_up(wanted: Wanted, first: u64, takes_ns: u64, cooldown_s: u64) -> Seen {
    let bench = Bench::new(2, wanted).lengths(0, 10 * S, cooldown_s * S);
    let service = move |number, _: &_| S / 4 + if number >= first { takes_ns } else { 0 };
    // Nothing else ends a wait for what never comes.
    bench.service(service).script(|s| s.stop_at = Some((10 + cooldown_s) * S)).run()
}

#[test]
fn what_is_out_for_a_moment_at_the_end_is_nothing() {
    for wanted in [NO_STATISTICS, LATENCY] {
        for cooldown_s in [0, 3] {
            assert_eq!(held_up(wanted, u64::MAX, 0, cooldown_s).late, [Late::default()]);
        }
    }
}

#[test]
fn ios_that_are_held_up_at_the_end_are_told_with_their_age() {
    for wanted in [NO_STATISTICS, LATENCY] {
        // The 33rd and 34th are issued at 4 s.
        let late = held_up(wanted, 33, 8 * S, 0).late[0];
        assert_eq!((late.ios, late.never, late.broken_off), (2, 0, 0));
        assert_eq!((late.age_ns_max, late.measured_ns), (6 * S, 12 * S), "{wanted:?}");
        assert_eq!(late.late_ns_max, 2 * S + S / 4, "at 12.25 s");
        // In the cool-down.
        let cooled = held_up(wanted, 33, 8 * S, 5).late[0];
        assert_eq!((cooled.ios, cooled.age_ns_max, cooled.late_ns_max), (2, 6 * S, 2 * S + S / 4));
        // Never: given up after ten seconds.
        let never = held_up(wanted, 33, NEVER - 100 * S, 0);
        let late = never.late[0];
        assert_eq!((late.ios, late.never, late.age_ns_max, never.stuck), (2, 2, 6 * S, 2));
        assert_eq!(late.late_ns_max, u64::from(DRAIN_STEPS) * DRAIN_STEP.as_nanos() as u64);
    }
}

/// One of two is held up while the other goes on: its age is known with stamps only, its lateness always.
#[test]
fn one_that_is_held_up_beside_others_is_told_too() {
    for (wanted, age_ns) in [(LATENCY, 6 * S), (NO_STATISTICS, S / 4)] {
        let bench = Bench::new(2, wanted).lengths(0, 10 * S, 0);
        let bench = bench.service(|number, _| S / 4 + if number == 33 { 8 * S } else { 0 });
        let late = bench.run().late[0];
        assert_eq!((late.ios, late.age_ns_max, late.late_ns_max), (1, age_ns, 2 * S + S / 4), "{wanted:?}");
    }
}

// ---- engines that finish inline -----------------------------------------------------------------

fn inline(slots: u32, wanted: Wanted) -> Bench {
    // However large the batch is.
    let bench = Bench::new(slots, wanted).worker(|w| w.lane.dispatch.submit_batch = 3);
    bench.service(|_, _| 0).script(|s| (s.submit_ns, s.is_inline) = (100, true))
}

#[test]
fn inline_ios_go_one_by_one_round_the_slots_and_are_no_waits() {
    for wanted in [NO_STATISTICS, LATENCY] {
        let seen = inline(3, wanted).run();
        let slots: Vec<u32> = seen.ios.iter().map(|io| io.slot).collect();
        assert_eq!(slots[..7], [0, 1, 2, 0, 1, 2, 0]);
        let is_pair =
            |pair: &[Call]| matches!(pair, [Call::Submit(_, a), Call::Reap(1, _, None, b)] if a == b);
        let moves = seen.moves();
        assert!(moves[..moves.len() - 1].chunks(2).all(is_pair), "{moves:?}");
        assert_eq!(seen.waits, WaitStatistics::default());
        assert_eq!(seen.reads(), 9, "the tenth ends at the end");
    }
}

#[test]
fn an_inline_io_that_a_signal_interrupted_stays_in_flight() {
    let bench = inline(2, LATENCY).service(|number, _| if number == 2 { 250 } else { 0 });
    let seen = bench.script(|s| s.signal_at = Some(270)).run();
    // Issued at 100 and interrupted at 270. The worker goes on with the other slot, and finds both.
    let slots: Vec<u32> = seen.ios.iter().map(|io| io.slot).collect();
    assert_eq!(slots[..5], [0, 1, 0, 0, 1]);
    assert_eq!(seen.latencies_ns().last(), Some(&270), "seen at 370, after the other slot's I/O");
    assert_eq!(seen.waits, WaitStatistics::default());
}

#[test]
fn a_signal_that_is_not_the_stop_only_ends_one_wait() {
    let seen = Bench::new(2, LATENCY).script(|s| s.signal_at = Some(150)).run();
    assert_eq!((seen.reads(), seen.in_flight_ns), (18, 2 * 1000), "as without it");
    assert_eq!(seen.waits.completion_waits, 11);
    let empty =
        seen.calls.iter().filter(|c| matches!(c, Call::Reap(1, _, _, came) if came.is_empty())).count();
    assert_eq!(empty, 1);
}

#[test]
fn inline_targets_are_throttled_one_by_one() {
    let bench = inline(2, NO_STATISTICS).lengths(0, 10_000, 0).worker(|w| {
        let target = Target { throughput: Some(Throughput::Iops(1_000_000)), ..Target::default() };
        w.lane.targets[0].pace = Pace::of(&target, 1).expect("legal");
        let second = pattern(4096, 0, 0, 1, &mut w.lane.rng);
        w.add(lane_target(1, 1, second), &[1, 1]);
    });
    let seen = bench.run();
    let of_first = seen.ios.iter().filter(|io| io.file == 0).count();
    assert_eq!((of_first, seen.ios.len()), (9, 100), "the other takes what is left");
    assert_eq!((seen.waits.throttle_sleeps, seen.waits.throttle_waits), (0, 0));
    // With nothing else to do it sleeps until the next is due.
    let bench = inline(1, NO_STATISTICS).lengths(0, 10_000, 0).worker(|w| {
        let target = Target { throughput: Some(Throughput::Iops(1_000_000)), ..Target::default() };
        w.lane.targets[0].pace = Pace::of(&target, 1).expect("legal");
    });
    let seen = bench.run();
    assert_eq!(
        seen.moves()[..4],
        [Call::Sleep(1000), Call::Submit(1000, vec![0]), seen.moves()[2].clone(), Call::Sleep(900)]
    );
    assert_eq!((seen.waits.throttle_sleeps, seen.waits.throttle_waits), (10, 0));
}

// ---- completions over time ----------------------------------------------------------------------

/// Reads per interval, of a series of whole intervals of `measured_ns`.
fn reads_over_time(seen: &Seen, measured_ns: u64) -> Vec<u64> {
    let series = crate::load::counters::timeline([&seen.buckets].into_iter(), Cut::all(measured_ns))
        .expect("whole intervals");
    assert!(series.0.writes.iter().all(|&count| count == 0));
    series.0.reads
}

#[test]
fn intervals_hold_what_completed_in_them_with_and_without_statistics() {
    for wanted in [NO_STATISTICS, LATENCY] {
        // One at a time, 100 ns each: seen at 100, 200, ...; measured from 50 to 1050, then cool-down.
        let bench = Bench::new(1, wanted).lengths(50, 1000, 500);
        let seen = bench.worker(|w| w.buckets = Buckets::new(250, 4)).run();
        let reads = reads_over_time(&seen, 1000);
        assert_eq!(reads, [2, 3, 2, 3], "50-300, 300-550, 550-800, 800-1050");
        assert_eq!(reads.iter().sum::<u64>(), seen.reads());
    }
}

#[test]
fn a_stopped_run_has_the_intervals_that_were_whole() {
    let bench = Bench::new(1, NO_STATISTICS).script(|s| s.stop_at = Some(630));
    let seen = bench.worker(|w| w.buckets = Buckets::new(250, 4)).run();
    assert_eq!(
        reads_over_time(&seen, 630),
        [2, 2],
        "at 100 and 200, at 300 and 400; 500 and 600 are in no whole one"
    );
}

/// Reads counted per slice and coarse bucket.
fn latencies_over_time(
    wanted: Wanted,
    lengths: (u64, u64, u64),
    stop_at: Option<u64>,
) -> (Seen, LatencySlices) {
    let (warmup_ns, duration_ns, cooldown_ns) = lengths;
    let tables = Tables::new(&Lengths::only(duration_ns), 1, 1, false);
    // The first ten take a quarter of a second, the others a millisecond.
    let bench = Bench::new(1, wanted).lengths(warmup_ns, duration_ns, cooldown_ns);
    let bench = bench.service(|number, _| if number <= 10 { S / 4 } else { S / 1000 });
    let bench = bench.script(|s| s.stop_at = stop_at).worker(|w| w.latencies = tables.of_thread(0));
    let phases = std::rc::Rc::clone(&bench.phases);
    let seen = bench.run();
    let slices = tables.sum(Cut::all(phases.measured_ns())).expect("slices");
    (seen, slices)
}

#[test]
fn each_latency_stands_in_the_slice_in_which_it_was_seen() {
    // Slices of 50 ms; completions at 0.25 s, 0.5 s, ... 2.5 s, then each millisecond; measured from 1.01 s on.
    let (seen, slices) = latencies_over_time(LATENCY, (S + S / 100, 5 * S, S), None);
    assert_eq!((slices.slice_ns(), slices.slices().len()), (S / 20, 100));
    let counts: Vec<u64> = slices.slices().iter().map(|[reads, _]| reads.count()).collect();
    // 1.25 s is 0.24 s after the start, and so on.
    assert_eq!([counts[3], counts[4], counts[5], counts[9], counts[29]], [0, 1, 0, 1, 1 + 9]);
    assert_eq!((counts[30], counts[99]), (50, 50));
    assert_eq!(slices.count(), seen.reads());
    let of = |slice: usize| slices.slices()[slice][0].buckets().map(|(bucket, _)| bucket).collect::<Vec<_>>();
    assert_eq!(of(4), [bucket_of(S / 4)]);
    assert_eq!(of(99), [bucket_of(S / 1000)]);
    assert!(slices.slices().iter().all(|[_, writes]| writes.count() == 0));
}

#[test]
fn a_stopped_run_has_all_latencies_that_it_counted_in_its_slices() {
    let (seen, slices) = latencies_over_time(LATENCY, (0, 5 * S, 0), Some(3 * S + S / 7));
    assert_eq!((slices.count(), slices.slices().len()), (seen.reads(), 63));
    let (seen, slices) = latencies_over_time(NO_STATISTICS, (0, 5 * S, 0), None);
    assert!(seen.reads() > 0 && slices.count() == 0, "nothing is counted without -L");
}

// ---- write data ---------------------------------------------------------------------------------

#[test]
fn windows_of_the_source_are_the_vectors_of_the_spec() {
    for (unbuffered, windows) in [
        (false, [262833, 839056, 1023737, 820827, 392845, 204283]),
        (true, [262656, 838656, 1023488, 820736, 392704, 203776]),
    ] {
        let bench = Bench::new(1, NO_STATISTICS).worker(|w| {
            w.lane.targets[0].pattern = pattern(4096, 0, 100, 1, &mut w.lane.rng);
            let granularity = if unbuffered { 512 } else { 1 };
            let windows = SourceWindow::new(1 << 20, 4096, granularity).expect("legal");
            w.lane.targets[0].writes = LaneWrites::Source(windows);
            w.lane.targets[0].write_region = 5;
            w.data_rng = DataRng::new(0);
        });
        let seen = bench.run();
        let at: Vec<u64> = seen.ios[..6].iter().map(|io| io.region_offset).collect();
        assert_eq!(at, windows);
        assert!(seen.ios.iter().all(|io| io.region == 5 && io.op == Op::Write));
    }
}

#[test]
fn random_data_is_new_for_every_write_and_offsets_do_not_depend_on_it() {
    let offsets = |random: bool| {
        let buffer = std::sync::Arc::new(IoBuffer::new(2 * 4096).expect("memory"));
        let seen_blocks = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let (blocks, memory) = (std::rc::Rc::clone(&seen_blocks), std::sync::Arc::clone(&buffer));
        let bench = Bench::new(2, NO_STATISTICS).worker(|w| {
            w.lane.targets[0].pattern = pattern(4096, 100, 50, 2, &mut w.lane.rng);
            if random {
                w.lane.targets[0].writes = LaneWrites::Random;
                w.buffers = vec![buffer; 2];
            }
        });
        let bench = bench.result(move |_, io| {
            if io.op == Op::Write {
                let block = memory.with_slice_mut(io.region_offset as usize, 4096, |b| b.to_vec());
                blocks.borrow_mut().push(block);
            }
            Ok(io.len)
        });
        let seen = bench.run();
        let list: Vec<(u64, Op)> = seen.ios.iter().map(|io| (io.offset, io.op)).collect();
        let blocks = seen_blocks.borrow().clone();
        (list, blocks)
    };
    let ((fixed, _), (random, blocks)) = (offsets(false), offsets(true));
    assert_eq!(fixed, random);
    assert!(blocks.len() > 5);
    for (i, block) in blocks.iter().enumerate() {
        assert!(blocks[..i].iter().all(|earlier| earlier != block), "write {i} repeats a block");
        let zeros = block.iter().filter(|b| **b == 0).count();
        assert!(zeros < 64, "filled to the end: {zeros} zeros");
    }
}

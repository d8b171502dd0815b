//! The worker against a scripted engine: order of calls, waits, counting, failures and stops.

use std::sync::Mutex;

use super::tests_lab::{Bench, Call, LATENCY, NEVER, NO_STATISTICS, Parts, lane_target, pattern};
use super::*;
use crate::access::{Pace, PoolChoice, Rng, SharedOffset};
use crate::measure::Histogram;
use crate::plan::Dispatch;
use crate::profile::{Target, Throughput};
use truespd_platform::sys::buffer::IoBuffer;

const MS: u64 = 1_000_000;

fn paced(edit: impl FnOnce(&mut Target)) -> Pace {
    let mut target = Target::default();
    edit(&mut target);
    Pace::of(&target, 1).expect("legal")
}

fn submit(at_ns: u64, slots: &[u32]) -> Call {
    Call::Submit(at_ns, slots.to_vec())
}

fn reap(min: u32, max: u32, limit_ns: Option<u64>, came: &[u32]) -> Call {
    Call::Reap(min, max, limit_ns, came.to_vec())
}

// ---- order of slots and calls -------------------------------------------------------------------

#[test]
fn without_statistics_all_idle_slots_go_in_one_call() {
    // Each slot has a service time of its own, so they come back in the order 1 3 0 2.
    let seen = Bench::new(4, NO_STATISTICS).service(|_, io| [30, 10, 40, 20][io.slot as usize]).run();
    assert_eq!(
        seen.moves()[..6],
        [
            submit(0, &[0, 1, 2, 3]),
            reap(1, 4, None, &[1]),
            submit(10, &[1]),
            // 1 again and 3 end together: the older I/O comes first, and both go out in that order.
            reap(1, 4, None, &[3, 1]),
            submit(20, &[3, 1]),
            reap(1, 4, None, &[0, 1]),
        ]
    );
    // The offset is shared by the slots and advances when an I/O is issued.
    let offsets: Vec<u64> = seen.ios[..6].iter().map(|io| io.offset / 4096).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn with_statistics_a_look_follows_every_single_issue() {
    for wanted in [LATENCY, Wanted { latency: false, intervals: Some((100, 1000)) }] {
        let seen = Bench::new(3, wanted).run();
        assert_eq!(
            seen.moves()[..7],
            [
                submit(0, &[0]),
                reap(0, 3, None, &[]),
                submit(0, &[1]),
                reap(0, 3, None, &[]),
                submit(0, &[2]),
                // None is left to issue: wait without limit.
                reap(1, 3, None, &[0, 1, 2]),
                submit(100, &[0]),
            ]
        );
    }
}

#[test]
fn a_look_finds_what_finished_meanwhile_and_puts_it_at_the_tail() {
    // Submitting takes 60 ns: slot 0 is back before slot 2 was issued, and goes out after it.
    let seen = Bench::new(3, LATENCY).script(|s| s.submit_ns = 60).run();
    assert_eq!(
        seen.moves()[..6],
        [
            submit(0, &[0]),
            reap(0, 3, None, &[]),
            submit(60, &[1]),
            reap(0, 3, None, &[0]),
            submit(120, &[2]),
            reap(0, 3, None, &[1]),
        ]
    );
    assert_eq!(seen.submits()[3].1, [0]);
}

#[test]
fn dispatch_comes_first_when_looks_are_not_wanted() {
    let bench = Bench::new(3, NO_STATISTICS).worker(|w| w.lane.dispatch.submit_batch = 1);
    assert_eq!(
        bench.run().moves()[..4],
        [submit(0, &[0]), submit(0, &[1]), submit(0, &[2]), reap(1, 3, None, &[0, 1, 2])]
    );
}

#[test]
fn a_batch_of_u_is_handed_over_at_once_and_the_rest_follows() {
    let bench = Bench::new(5, LATENCY).worker(|w| w.lane.dispatch.submit_batch = 2);
    assert_eq!(
        bench.run().moves()[..6],
        [
            submit(0, &[0, 1]),
            reap(0, 5, None, &[]),
            submit(0, &[2, 3]),
            reap(0, 5, None, &[]),
            submit(0, &[4]),
            reap(1, 5, None, &[0, 1, 2, 3, 4]),
        ]
    );
}

/// How many I/Os were handed over at a time, with batches of up to 4 that spare what is answered at once.
fn batches(slots: u32, service_ns: impl Fn(u64, &Io) -> u64 + 'static) -> Vec<usize> {
    let natural = |w: &mut Parts| {
        (w.lane.dispatch.submit_batch, w.lane.dispatch.no_batching_when_fast) = (4, true);
    };
    let bench = Bench::new(slots, LATENCY).worker(natural).service(service_ns).lengths(0, 30_000, 0);
    let seen = bench.script(|s| (s.stamp_ns, s.submit_ns) = (1, 10)).run();
    seen.submits().into_iter().map(|(_, slots)| slots.len()).collect()
}

#[test]
fn what_came_back_together_goes_out_together() {
    let seen = batches(8, |_, _| 1000);
    // The first goes alone, to see whether it is answered at once. Those that were handed over together come
    // back together.
    assert_eq!(seen[..3], [1, 4, 3]);
    let together: usize = seen.iter().filter(|&&count| count >= 3).sum();
    assert!(together * 4 >= seen.iter().sum::<usize>() * 3, "{seen:?}");
}

#[test]
fn what_is_answered_at_once_goes_alone() {
    for slots in [2, 4, 32] {
        let seen = batches(slots, |_, _| 0);
        assert!(seen.iter().all(|&count| count == 1), "{slots} slots: {seen:?}");
    }
}

#[test]
fn after_an_answer_at_once_batches_wait_for_a_while() {
    // Every I/O takes its time, but for some from the 50th on. Eight that are handed over one by one end together.
    let seen = batches(8, |number, _| if (50..60).contains(&number) { 0 } else { 1000 - number % 8 * 12 });
    let mut ios = 0;
    let after = seen.iter().position(|count| {
        ios += count;
        ios >= 60
    });
    let after = &seen[after.expect("more than 60 I/Os")..];
    assert!(after[..40].iter().all(|&count| count == 1), "{seen:?}");
    assert!(after.contains(&4), "batches come again: {seen:?}");
}

#[test]
fn no_more_completions_are_taken_at_a_time_than_asked_for() {
    let bench = Bench::new(5, NO_STATISTICS).worker(|w| w.lane.dispatch.reap_batch = 2);
    assert_eq!(
        bench.run().moves()[..6],
        [
            submit(0, &[0, 1, 2, 3, 4]),
            reap(1, 2, None, &[0, 1]),
            submit(100, &[0, 1]),
            reap(1, 2, None, &[2, 3]),
            submit(100, &[2, 3]),
            reap(1, 2, None, &[4]),
        ]
    );
}

#[test]
fn a_batch_has_one_stamp_when_issued_and_one_when_taken() {
    let bench = Bench::new(3, LATENCY).worker(|w| w.lane.dispatch.submit_batch = 3).lengths(0, 150, 0);
    let seen = bench.script(|s| s.stamp_ns = 1).run();
    // One at the start, one of the batch, one of what came back together, and so on.
    let kinds: Vec<&Call> = seen.calls.iter().take(6).collect();
    let expected = [
        Call::Stamp,
        Call::Stamp,
        submit(2, &[0, 1, 2]),
        reap(1, 3, None, &[0, 1, 2]),
        Call::Stamp,
        Call::Stamp,
    ];
    assert_eq!(kinds, expected.iter().collect::<Vec<_>>());
    // Issued at 2, finished at 102, seen at 103.
    assert_eq!(seen.latencies_ns(), [101, 101, 101]);
}

/// For every batch that was handed over, whether the clock was read for it alone.
fn own_stamps(bench: Bench) -> Vec<bool> {
    let seen = bench.run();
    let at = |i: &usize| matches!(seen.calls[*i], Call::Submit(..));
    (0..seen.calls.len())
        .filter(at)
        .map(|i| {
            let reaped = seen.calls[..i].iter().rposition(|c| matches!(c, Call::Reap(..))).unwrap_or(0);
            // Looking ends with a stamp; one more is the batch's own.
            seen.calls[reaped..i].iter().filter(|c| **c == Call::Stamp).count() == 2
        })
        .collect()
}

#[test]
fn a_single_issue_shares_the_stamp_of_a_look_that_found_no_more_than_one() {
    // Nothing was found by the looks after 0 and 1, and one by every wait from then on.
    let spread = || Bench::new(3, LATENCY).service(|number, _| 100 + number).lengths(0, 1000, 0);
    assert!(own_stamps(spread().script(|s| s.now_ns = 1)).iter().skip(1).all(|own| !own));
    // The latencies are the same as with stamps of their own, but for what was done in between: nothing.
    let seen = Bench::new(2, LATENCY).lengths(0, 110, 0).script(|s| s.stamp_ns = 1).run();
    assert_eq!(seen.latencies_ns(), [101, 101]);
}

#[test]
fn a_stamp_is_not_shared_when_time_passed() {
    // Three come back at once: the first of them to go out again has waited for the accounting of all.
    let together = own_stamps(Bench::new(3, LATENCY));
    assert!(together[3], "{together:?}");
    assert!(!together[4] && !together[5], "the looks in between found nothing: {together:?}");
    let one = || Bench::new(1, LATENCY);
    assert!(own_stamps(one()).iter().skip(1).all(|own| !own));
    // A dot is printed; a buffer is filled; an engine finishes within nanoseconds.
    assert!(own_stamps(one().worker(|w| w.progress_ios = 1)).iter().all(|own| *own));
    let filled = one().worker(|w| {
        w.lane.targets[0].pattern = pattern(4096, 0, 100, 1, &mut w.lane.rng);
        let buffer = || std::sync::Arc::new(IoBuffer::new(4096).expect("memory"));
        w.lane.targets[0].writes = LaneWrites::Random;
        w.buffers = vec![buffer(), buffer()];
    });
    assert!(own_stamps(filled).iter().all(|own| *own));
    assert!(own_stamps(one().script(|s| s.is_inline = true)).iter().all(|own| *own));
}

#[test]
fn stamps_wait_for_copies_that_the_engine_makes_itself() {
    for copies in [false, true] {
        let seen = Bench::new(3, LATENCY).script(|s| s.copies = copies).run();
        let stamps = seen.calls.iter().filter(|c| **c == Call::Stamp).count();
        // Before the first there is nothing to wait for.
        assert_eq!(seen.stamps_after_copies, if copies { stamps - 1 } else { 0 });
    }
}

#[test]
fn without_statistics_the_clock_is_read_once_per_round() {
    let seen = Bench::new(4, NO_STATISTICS).run();
    let count = |kind: fn(&Call) -> bool| seen.calls.iter().filter(|c| kind(c)).count();
    assert_eq!(count(|c| *c == Call::Stamp), count(|c| matches!(c, Call::Reap(..))) + 1);
}

#[test]
fn completion_routines_reissue_each_request_by_itself_at_once() {
    let bench = Bench::new(3, LATENCY).worker(|w| {
        w.lane.dispatch = Dispatch {
            submit_batch: 3,
            no_batching_when_fast: false,
            reap_batch: 3,
            poll_after_batch: true,
            reissue_own: true,
        };
        // They never ask for the pace, as in 2.2.
        w.lane.targets[0].pace = paced(|t| {
            t.burst_ios = Some(1);
            t.think_ms = Some(5);
        });
    });
    let seen = bench.service(|_, io| [30, 10, 30][io.slot as usize]).run();
    assert_eq!(
        seen.moves()[..8],
        [
            submit(0, &[0, 1, 2]),
            reap(1, 3, None, &[1]),
            submit(10, &[1]),
            reap(1, 3, None, &[1]),
            submit(20, &[1]),
            reap(1, 3, None, &[0, 2, 1]),
            submit(30, &[0]),
            submit(30, &[2]),
        ]
    );
    assert_eq!(seen.in_flight_ns, 3 * 1000, "all requests are out all the time");
    let last = seen.submits().last().expect("some").0;
    assert!(last < 1000, "nothing is reissued from the last completions at {last}");
}

#[test]
fn a_pool_draws_the_target_and_then_the_offset_at_every_issue() {
    let bench = Bench::new(3, NO_STATISTICS).worker(|w| {
        w.lane.rng = Rng::new(7);
        w.lane.targets[0].pattern = pattern(4096, 100, 30, 3, &mut w.lane.rng);
        let second = pattern(4096, 100, 100, 3, &mut w.lane.rng);
        w.add(lane_target(1, 0, second), &[3, 3]);
        w.lane.work.is_pool = true;
        w.lane.pool = Some(PoolChoice::new(&[1, 3]).expect("legal"));
    });
    let seen = bench.lengths(0, 20_000, 0).run();
    let mut rng = Rng::new(7);
    let mut patterns = [pattern(4096, 100, 30, 3, &mut rng), pattern(4096, 100, 100, 3, &mut rng)];
    let pool = PoolChoice::new(&[1, 3]).expect("legal");
    let shared = SharedOffset::default();
    let mut per_target = [0; 2];
    for io in &seen.ios {
        let target = pool.choose(&mut rng);
        let access = patterns[target].next(io.slot, &mut rng, &shared);
        let op = if access.write { Op::Write } else { Op::Read };
        assert_eq!((io.file, io.offset, io.op), (target as u32, access.offset, op));
        // Each slot has its own place in the buffers of each target.
        let region = 2 * target as u32 + u32::from(access.write);
        assert_eq!((io.region, io.region_offset), (region, u64::from(io.slot) * 4096));
        per_target[target] += 1;
    }
    assert!(per_target[0] > 100 && per_target[1] > 2 * per_target[0], "{per_target:?}");
}

#[test]
fn slots_of_fixed_threads_go_to_their_own_targets() {
    let bench = Bench::new(3, NO_STATISTICS).worker(|w| {
        let second = pattern(4096, 0, 0, 1, &mut w.lane.rng);
        w.add(lane_target(1, 2, second), &[2, 1]);
    });
    let seen = bench.run();
    for io in &seen.ios {
        let own_slot = if io.file == 1 { io.slot - 2 } else { io.slot };
        assert_eq!(io.file, u32::from(io.slot == 2));
        assert_eq!(io.region_offset, u64::from(own_slot) * 4096);
    }
    let offsets = |file| seen.ios.iter().filter(move |io| io.file == file).map(|io| io.offset / 4096);
    assert_eq!(offsets(0).take(4).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(offsets(1).take(4).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!((seen.counted[0].0.ios, seen.counted[1].0.ios), (18, 9), "the last batch comes at the end");
}

// ---- pace ---------------------------------------------------------------------------------------

/// A rate of 1000 IOPS, measured for 10 ms.
fn limited(slots: u32, wanted: Wanted) -> Bench {
    Bench::new(slots, wanted)
        .lengths(0, 10 * MS, 0)
        .worker(|w| w.lane.targets[0].pace = paced(|t| t.throughput = Some(Throughput::Iops(1000))))
}

#[test]
fn a_rate_limit_sleeps_when_nothing_is_in_flight_and_waits_for_completions_otherwise() {
    for wanted in [NO_STATISTICS, LATENCY] {
        // 0.4 ms each, so at most one is in flight.
        let seen = limited(2, wanted).service(|_, _| MS * 2 / 5).run();
        assert_eq!(
            seen.moves()[..5],
            [
                Call::Sleep(MS),
                submit(MS, &[0]),
                // The other slot is throttled.
                if wanted == LATENCY { reap(0, 2, None, &[]) } else { reap(1, 2, Some(MS), &[0]) },
                if wanted == LATENCY { reap(1, 2, Some(MS), &[0]) } else { Call::Sleep(MS * 3 / 5) },
                if wanted == LATENCY { Call::Sleep(MS * 3 / 5) } else { submit(2 * MS, &[1]) },
            ]
        );
        let at: Vec<u64> = seen.submits().iter().map(|(at, _)| at / MS).collect();
        assert_eq!(at, [1, 2, 3, 4, 5, 6, 7, 8, 9], "the tenth is due when the run ends");
        assert_eq!((seen.waits.throttle_sleeps, seen.waits.throttle_waits), (10, 9));
        assert_eq!(seen.waits.completion_waits, 0);
    }
}

#[test]
fn a_rate_limit_catches_up_after_a_stall() {
    // The first I/O takes 4.5 ms with one slot: then four are due, and go out one after the other.
    let seen = limited(1, LATENCY).service(|number, _| if number == 1 { 9 * MS / 2 } else { 1000 }).run();
    let at: Vec<u64> = seen.submits().iter().map(|(at, _)| *at).collect();
    let late = 11 * MS / 2;
    assert_eq!(at[..6], [MS, late, late + 1000, late + 2000, late + 3000, 6 * MS]);
    assert_eq!(seen.waits.completion_waits, 9, "all slots are busy");
    // The latency tells of the stall once, the response time at every I/O that it held up.
    assert_eq!(seen.latencies_ns().iter().filter(|ns| **ns > 1000).count(), 1);
    let response = seen.counted[0].0.response.as_ref().expect("a rate was set");
    let mut expected = Histogram::new();
    let held_up = [late, late + 1000, late + 2000, late + 3000, late + 4000];
    (1..=5).zip(held_up).for_each(|(io, end_ns)| expected.record(end_ns - io * MS));
    (6..=9).for_each(|_| expected.record(1000));
    assert_eq!(**response, expected);
}

#[test]
fn gaps_under_a_rate_are_even() {
    let iops = |n| (Throughput::Iops(n), 1_000_000_000, n);
    let bytes = |n| (Throughput::BytesPerMs(n), u64::from(65536u32) * MS, n);
    let rates = [iops(10), iops(7), iops(1000), iops(30_000), iops(200_000), bytes(300), bytes(65_536)];
    for ((throughput, period, divisor), batch) in rates.into_iter().flat_map(|rate| [(rate, 1), (rate, 32)]) {
        // The latency is longer than the gaps of all but the slowest; 64 places are enough for all.
        let duration_ns = (2_000 * period / divisor).min(20_000 * MS);
        let run = |stamp_ns: u64, submit_ns: u64| {
            let bench = Bench::new(64, LATENCY).lengths(0, duration_ns, 0).service(|_, _| 200_000);
            let bench = bench.script(|s| (s.stamp_ns, s.submit_ns) = (stamp_ns, submit_ns)).worker(|w| {
                w.lane.dispatch.submit_batch = batch;
                w.lane.targets[0].pace = paced(|t| t.throughput = Some(throughput));
            });
            let submits = bench.run().submits();
            submits.iter().flat_map(|(at, slots)| slots.iter().map(|_| *at)).collect::<Vec<u64>>()
        };
        let due = |io: u64| (u128::from(io) * u128::from(period)).div_ceil(u128::from(divisor)) as u64;
        // Without costs of its own every I/O goes out at the nanosecond.
        let exact = run(0, 0);
        assert!(exact.len() as u64 >= duration_ns * divisor / period - 1, "{throughput:?}");
        (1..).zip(&exact).for_each(|(io, at)| assert_eq!(*at, due(io), "{throughput:?}, I/O {io}"));
        // With them late by no more than a look, an issue and a stamp, however many there were before.
        let late = run(20, 300);
        (1..).zip(&late).for_each(|(io, at)| {
            let late_ns = at.checked_sub(due(io)).expect("never early");
            assert!(late_ns <= 400, "{throughput:?}, batch {batch}: I/O {io} is {late_ns} ns late");
        });
    }
}

#[test]
fn rates_count_from_the_start_signal_however_late_the_thread_wakes_up() {
    let seen = limited(1, LATENCY).script(|s| s.now_ns = 2 * MS + 5).run();
    let at: Vec<u64> = seen.submits().iter().map(|(at, _)| *at).collect();
    assert_eq!(at[..3], [2 * MS + 5, 2 * MS + 105, 3 * MS]);
    assert_eq!(at.len(), 9, "the same number of I/Os as for a thread that is on time");
}

#[test]
fn a_burst_goes_out_at_once_and_then_there_is_a_pause() {
    let bench = Bench::new(4, LATENCY).lengths(0, 25 * MS, 0).worker(|w| {
        w.lane.targets[0].pace = paced(|t| {
            t.burst_ios = Some(6);
            t.think_ms = Some(10);
        });
    });
    let seen = bench.run();
    let at: Vec<u64> = seen.submits().iter().map(|(at, _)| *at).collect();
    // Four slots; the other two of the burst when the first come back. The pause counts from the last.
    let second = 100 + 10 * MS;
    assert_eq!(at[..9], [0, 0, 0, 0, 100, 100, second, second, second]);
}

#[test]
fn a_throttled_target_does_not_hold_up_another() {
    let bench = limited(4, LATENCY).service(|_, _| MS / 4).worker(|w| {
        let second = pattern(4096, 0, 0, 2, &mut w.lane.rng);
        w.add(lane_target(1, 2, second), &[2, 2]);
    });
    let seen = bench.run();
    assert_eq!(seen.ios.iter().filter(|io| io.file == 0).count(), 9);
    assert_eq!(seen.ios.iter().filter(|io| io.file == 1).count(), 80, "two at a time, 40 rounds");
    assert_eq!(seen.waits.throttle_sleeps, 0, "something is always in flight");
}

#[test]
fn a_throttled_worker_sleeps_no_longer_than_the_run() {
    let seen = limited(1, LATENCY).lengths(0, MS / 2, MS / 4).run();
    assert_eq!(seen.moves(), [Call::Sleep(MS * 3 / 4), Call::Drain]);
}

// ---- what counts --------------------------------------------------------------------------------

#[test]
fn a_completion_counts_when_it_is_taken_within_the_measured_time() {
    // Taken at 99 (warm-up), 100 (the first instant), 1099 (the last), 1100 (over), 1150 (cool-down).
    let ends = [99, 100, 1099, 1100, 1150, 1200];
    let service = move |number: u64, _: &Io| {
        let number = number as usize - 1;
        ends[number] - if number == 0 { 0 } else { ends[number - 1] }
    };
    let seen = Bench::new(1, LATENCY).lengths(100, 1000, 100).service(service).run();
    assert_eq!(seen.ios.len(), 6, "the load is the same in all phases");
    assert_eq!(seen.latencies_ns(), [1, 999]);
    assert_eq!(seen.counted[0].0.bytes, 2 * 4096);
}

#[test]
fn latency_is_whole_for_ios_from_warm_up_and_ios_of_the_end_never_count() {
    // Issued at 0, 40, 80, ... for 60 ns each with a window of [100, 200): slot after slot.
    let seen = Bench::new(1, LATENCY).lengths(100, 100, 100).service(|_, _| 60).run();
    // Ends at 60, 120 (issued before the window), 180, 240 (issued inside, ends after).
    assert_eq!(seen.latencies_ns(), [60, 60]);
    let intervals = Wanted { latency: false, intervals: Some((50, 100)) };
    let seen = Bench::new(1, intervals).lengths(100, 100, 100).service(|_, _| 60).run();
    let series = seen.counted[0].0.intervals.as_ref().expect("gathered");
    let counts: Vec<u64> = series.series().iter().map(|i| i.count).collect();
    assert_eq!((counts, seen.reads()), (vec![1, 1], 2), "20 and 80 ns after the start of measurement");
}

#[test]
fn reads_and_writes_are_counted_apart() {
    let bench = Bench::new(2, LATENCY).lengths(0, 100_000, 0);
    let seen = bench.worker(|w| w.lane.targets[0].pattern = pattern(4096, 0, 30, 2, &mut w.lane.rng)).run();
    let counted = 2 * 999;
    let writes = seen.ios[..counted].iter().filter(|io| io.op == Op::Write).count() as u64;
    let (read, write) = &seen.counted[0];
    assert_eq!((read.ios, write.ios), (counted as u64 - writes, writes));
    assert_eq!(write.latency.as_ref().expect("measured").count(), writes);
    assert!((500..700).contains(&writes), "30 %: {writes}");
}

#[test]
fn depth_is_integrated_over_the_measured_time_only() {
    let full = Bench::new(4, NO_STATISTICS).lengths(130, 1000, 70).run();
    assert_eq!(full.in_flight_ns, 4 * 1000);
    // Waits that reach over the edges: 90 ns each from 0; the window is [100, 300).
    let over = Bench::new(2, NO_STATISTICS).lengths(100, 200, 100).service(|_, _| 90).run();
    assert_eq!(over.in_flight_ns, 2 * 200);
    // 1000 IOPS of 0.25 ms: a quarter of the time one is in flight.
    let sparse = limited(4, NO_STATISTICS).service(|_, _| MS / 4).run();
    assert_eq!(sparse.in_flight_ns, u128::from(9 * MS / 4));
}

#[test]
fn dots_come_with_completions_of_all_phases() {
    for (every, dots) in [(1, 14), (3, 4), (14, 1), (15, 0), (0, 0)] {
        let bench = Bench::new(1, NO_STATISTICS).lengths(500, 500, 500).worker(|w| w.progress_ios = every);
        assert_eq!(bench.run().dots, dots, "a dot every {every}; the completion at the stop is none");
    }
}

#[test]
fn waits_are_told_apart() {
    let bench = Bench::new(9, LATENCY).service(|_, _| 200).script(|s| s.submit_ns = 10);
    let seen = bench.worker(|w| w.counts_waits = true).run();
    let waits = seen.waits;
    assert_eq!(waits.lookasides, waits.lookaside_completions.iter().sum::<u64>());
    let reaps = |min| seen.calls.iter().filter(|c| matches!(c, Call::Reap(m, ..) if *m == min)).count();
    assert_eq!((waits.lookasides, waits.completion_waits), (reaps(0) as u64, reaps(1) as u64));
    assert_eq!((waits.throttle_waits, waits.throttle_sleeps), (0, 0));
    let found = waits.wait_completions.expect("it waited");
    assert_eq!((found.iter().sum(), waits.submits), (waits.completion_waits, None));
    // Two looks that find nothing, then a wait.
    let seen = Bench::new(3, LATENCY).lengths(0, 100, 0).run();
    assert_eq!(
        (seen.waits.lookaside_completions, seen.waits.completion_waits),
        ([2, 0, 0, 0, 0, 0, 0, 0], 1)
    );
    // Eight finish while they are submitted: seven or more have one place.
    let bench = Bench::new(9, LATENCY).lengths(0, 450, 0).worker(|w| w.lane.dispatch.submit_batch = 8);
    let seen = bench.script(|s| s.submit_ns = 200).run();
    // The last look comes after the end, where nothing is accounted for.
    let found = [1, 0, 0, 0, 0, 0, 0, 2];
    assert_eq!((seen.waits.lookaside_completions, seen.waits.completion_waits), (found, 0));
}

#[test]
fn calls_of_a_ring_are_those_of_the_measured_time() {
    for (warmup_ns, fails_at, from_ns, to_ns) in
        [(100, NEVER, 100, 300), (0, NEVER, 0, 200), (0, 3, 0, 200), (100, 4, 100, 300)]
    {
        let bench = Bench::new(1, NO_STATISTICS).lengths(warmup_ns, 200, 100).service(|_, _| 50);
        let bench = bench.script(move |s| {
            s.has_ring = true;
            s.result = Box::new(move |number, io| if number == fails_at { Ok(0) } else { Ok(io.len) });
        });
        let seen = bench.run();
        let calls = seen.calls.iter().filter(|call| match call {
            Call::Submit(at_ns, _) => (from_ns..to_ns).contains(at_ns),
            _ => false,
        });
        assert_eq!(seen.waits.submits, Some(calls.count() as u64), "{warmup_ns} {fails_at}");
    }
}

// ---- what is told while it runs -----------------------------------------------------------------

#[test]
fn counts_of_all_phases_are_told_at_multiples_of_a_quarter_second_and_at_the_end() {
    const MS: u64 = 1_000_000;
    // Two at a time, 50 ms each: seen at 50, 100, ... What comes at the moment of telling is told the next
    // time, and what comes at the very end does not count.
    for (stop_ms, told_ios, end_ms) in
        [(200, vec![0], 200), (700, vec![0, 8, 18], 700), (5000, vec![0, 8, 18, 28], 1000)]
    {
        let cell = Arc::new(Cell::default());
        let told = Arc::new(Mutex::new(Vec::new()));
        let (heard, list) = (Arc::clone(&cell), Arc::clone(&told));
        let bench = Bench::new(2, NO_STATISTICS).lengths(500 * MS, 400 * MS, 100 * MS);
        let service = move |_: u64, _: &Io| {
            list.lock().expect("no panic").push(heard.heard().ios);
            50 * MS
        };
        let bench = bench.service(service).worker(|w| w.live = Some(Arc::clone(&cell)));
        let seen = bench.script(|s| s.stop_at = Some(stop_ms * MS + 1)).run();
        assert!(seen.failures.is_empty());
        let mut told = told.lock().expect("no panic").clone();
        told.dedup();
        assert_eq!(told, told_ios, "stopped after {stop_ms} ms");
        let all = cell.heard();
        let is_stopped = stop_ms < 1000;
        let ios = 2 * (end_ms / 50 - u64::from(!is_stopped));
        assert_eq!((all.ios, all.bytes), (ios, ios * 4096), "stopped after {stop_ms} ms: all of them");
        assert_eq!(all.in_flight_ns / MS, 2 * end_ms, "stopped after {stop_ms} ms");
    }
}

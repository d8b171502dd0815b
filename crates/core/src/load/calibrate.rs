//! What the program itself costs on this machine, for the document of a run: measured before its threads start.

use std::hint::black_box;

use super::bare::Bare;
use crate::access::{DataRng, WriteData};
use crate::measure::Histogram;
use crate::measure::clock::MachineClock;
use crate::measure::repeat::lowest_ns;
use crate::plan::{Duty, PlannedTarget, ThreadWork};
use crate::profile::{Target, TimeSpan};
use crate::result::{LoadCost, SelfCost};

/// Rounds of each figure. The lowest counts, because disturbances only add time.
const ROUNDS: u32 = 3;
/// Length of a round of the loop: some ten thousand I/Os.
const ROUND_NS: u64 = 1_000_000;
/// Kinds of threads to measure. A command line makes one kind; profiles may make many.
const LOADS_MAX: usize = 4;
/// More I/Os outstanding cost no more per I/O, but would take the whole round to issue.
const SLOTS_MAX: u32 = 256;
/// Targets of one thread to measure with.
const DUTIES_MAX: usize = 16;
/// Random data are made in blocks of this size at most: one may be 2 GiB.
const FILL_BYTES_MAX: u64 = 64 << 10;
/// Latencies recorded per round.
const RECORDS: u32 = 2048;

/// Measures for about 3 ms per kind of thread; `None` when the system gives no thread or memory.
pub fn self_cost(
    span: &TimeSpan,
    works: &[ThreadWork],
    targets: &[PlannedTarget<'_>],
    clock: &MachineClock,
) -> Option<SelfCost> {
    // Of several sizes the smallest, which takes longest per KiB.
    let filled_bytes = span.targets.iter().filter(|target| fills(span, target)).map(|t| t.block_bytes).min();
    let fill_ns_per_kib = filled_bytes.map(fill_ns_per_kib);
    let loads = kinds(span, works).into_iter().map(|(work, threads)| {
        let fill_ns = filled_kib_per_io(span, &work) * fill_ns_per_kib.unwrap_or(0.0);
        Some(LoadCost { threads, generator_ns: loop_ns(span, work, targets, clock)? + fill_ns, fill_ns })
    });
    let loads = loads.collect::<Option<Vec<_>>>()?;
    let stamp_ns = clock.describe().cost_ns;
    Some(SelfCost { stamp_ns, record_ns: record_ns(), fill_ns_per_kib, loads })
}

/// One thread of each kind, with the numbers of all threads of that kind.
fn kinds(span: &TimeSpan, works: &[ThreadWork]) -> Vec<(ThreadWork, Vec<u32>)> {
    let nameless = |index: usize| Target { path: String::new(), ..span.targets[index].clone() };
    let alike = |a: &ThreadWork, b: &ThreadWork| {
        let mut pairs = a.duties.iter().zip(&b.duties);
        (a.slots, a.is_pool, a.duties.len()) == (b.slots, b.is_pool, b.duties.len())
            && pairs.all(|(a, b)| a.target == b.target || nameless(a.target) == nameless(b.target))
    };
    let mut kinds: Vec<(ThreadWork, Vec<u32>)> = Vec::new();
    for work in works {
        let light = lightened(work);
        match kinds.iter().position(|(known, _)| alike(known, &light)) {
            Some(place) => kinds[place].1.push(work.id),
            None if kinds.len() < LOADS_MAX => kinds.push((light, vec![work.id])),
            None => {}
        }
    }
    kinds
}

/// The same work in a size that a short round can measure.
fn lightened(work: &ThreadWork) -> ThreadWork {
    let mut light = work.clone();
    light.duties.truncate(DUTIES_MAX);
    if light.is_pool {
        light.slots = light.slots.min(SLOTS_MAX);
        light.duties.iter_mut().for_each(|duty| duty.requests = light.slots);
    } else {
        let each = SLOTS_MAX / light.duties.len().max(1) as u32;
        light.duties.iter_mut().for_each(|duty| duty.requests = duty.requests.min(each));
        light.slots = light.duties.iter().map(|duty| duty.requests).sum();
    }
    light
}

/// Processor time per I/O of the loop, without filling blocks with random data.
fn loop_ns(
    span: &TimeSpan,
    work: ThreadWork,
    targets: &[PlannedTarget<'_>],
    clock: &MachineClock,
) -> Option<f64> {
    let span = TimeSpan { random_write_data: false, ..span.clone() };
    let bare = Bare::with(span, &[work], targets).ok()?;
    let round = || bare.turn(clock, ROUND_NS, &|| None).ok()?.running_ns_per_io();
    (0..ROUNDS).filter_map(|_| round()).min_by(f64::total_cmp)
}

fn fills(span: &TimeSpan, target: &Target) -> bool {
    target.writes() && WriteData::of(target, span.random_write_data) == WriteData::Random
}

/// KiB of random data that an I/O of the thread takes on average.
fn filled_kib_per_io(span: &TimeSpan, work: &ThreadWork) -> f64 {
    let share = |duty: &Duty| if work.is_pool { duty.weight } else { duty.requests };
    let (mut kib, mut all) = (0.0, 0.0);
    for duty in &work.duties {
        let target = &span.targets[duty.target];
        let of_all = f64::from(share(duty));
        all += of_all;
        if fills(span, target) {
            kib += of_all * f64::from(target.write_percent) / 100.0 * target.block_bytes as f64 / 1024.0;
        }
    }
    if all > 0.0 { kib / all } else { 0.0 }
}

/// Random data for blocks of this size.
fn fill_ns_per_kib(block_bytes: u64) -> f64 {
    let bytes = block_bytes.clamp(1, FILL_BYTES_MAX);
    let (mut data, mut rng) = (vec![0; bytes as usize], DataRng::new(0));
    // Many small ones, as a clock is read before and after.
    let calls = (4 * FILL_BYTES_MAX / bytes).min(1024) as u32;
    lowest_ns(ROUNDS, calls, |_| rng.fill(black_box(&mut data))) * 1024.0 / bytes as f64
}

fn record_ns() -> f64 {
    let mut histogram = Histogram::new();
    // Between 64 and 128 microseconds, all over the buckets.
    lowest_ns(ROUNDS, RECORDS, |call| {
        histogram.record(65_536 + u64::from(call.wrapping_mul(40_503) & 0xffff))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{assign, ranges_of};

    const GIB: u64 = 1 << 30;

    fn measured(span: &TimeSpan) -> SelfCost {
        let ranges: Vec<_> =
            span.targets.iter().map(|target| ranges_of(span, target, GIB).expect("it fits")).collect();
        let planned = |ranges| PlannedTarget { size_bytes: GIB, direct: None, by_commands: false, ranges };
        let targets: Vec<_> = ranges.iter().map(planned).collect();
        let cost = self_cost(span, &assign(span, &[]), &targets, &MachineClock::start()).expect("measured");
        assert!(cost.stamp_ns > 0.0 && cost.record_ns > 0.0, "{cost:?}");
        let own_ns = |load: &LoadCost| load.generator_ns - load.fill_ns;
        assert!(cost.loads.iter().all(|load| own_ns(load) > 1.0 && own_ns(load) < 1e6), "{cost:?}");
        cost
    }

    fn span(target: Target) -> TimeSpan {
        TimeSpan { measure_latency: true, targets: vec![target], ..TimeSpan::default() }
    }

    #[test]
    fn threads_of_one_kind_are_measured_once() {
        let one = Target { threads_per_file: 3, block_bytes: 4096, ..Target::default() };
        let mut span = span(Target { path: "a".into(), ..one.clone() });
        span.targets.push(Target { path: "b".into(), ..one.clone() });
        span.targets.push(Target { path: "c".into(), random_percent: 100, ..one });
        let cost = measured(&span);
        let threads: Vec<_> = cost.loads.iter().map(|load| load.threads.clone()).collect();
        assert_eq!(threads, [vec![0, 1, 2, 3, 4, 5], vec![6, 7, 8]]);
        assert_eq!(cost.of_thread(7), Some(&cost.loads[1]));
        assert_eq!((cost.of_thread(9), cost.fill_ns_per_kib), (None, None));
        for number in 0..10 {
            let block_bytes = 8192 << number;
            let other = Target { path: "d".into(), block_bytes, ..Target::default() };
            span.targets.push(other);
        }
        assert_eq!(measured(&span).loads.len(), LOADS_MAX, "a profile of many kinds takes no time either");
    }

    #[test]
    fn random_data_are_in_it_by_their_share() {
        let of = |write_percent, random| {
            let target = Target { block_bytes: 1 << 30, write_percent, ..Target::default() };
            measured(&TimeSpan { random_write_data: random, ..span(target) })
        };
        let (some, all) = (of(25, true), of(100, true));
        for (cost, share) in [(&some, 0.25), (&all, 1.0)] {
            let per_kib = cost.fill_ns_per_kib.expect("random data are made");
            let expected = per_kib * share * (1 << 20) as f64;
            assert!((cost.loads[0].fill_ns / expected - 1.0).abs() < 1e-9, "{cost:?}");
        }
        for none in [of(100, false), of(0, true)] {
            assert_eq!((none.fill_ns_per_kib, none.loads[0].fill_ns), (None, 0.0));
        }
    }

    #[test]
    fn deep_and_wide_work_is_made_light() {
        let target =
            |path: usize| Target { path: path.to_string(), request_count: 4096, ..Target::default() };
        let mut span = TimeSpan { targets: (0..100).map(target).collect(), ..TimeSpan::default() };
        span.thread_count = 64;
        for (requests, slots) in [(0, 256), (5000, 256), (3, 3)] {
            span.request_count = requests;
            let works = assign(&span, &[]);
            let [(work, threads)] = &kinds(&span, &works)[..] else { panic!("all are alike") };
            assert_eq!((threads.len(), work.slots, work.duties.len()), (64, slots, 16));
            assert_eq!(measured(&span).loads.len(), 1);
        }
    }
}

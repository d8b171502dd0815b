//! The workers' loop without storage: the workers of a run, made by the same code, on targets that nobody
//! opens and with the engine that finishes every I/O at once. What is left is what the program itself costs: [`Bare`]
//! lets it run, [`self_cost`] measures it for the document of a run.

use std::hint::black_box;
use std::sync::{Arc, Barrier};

use super::counters::{Buckets, Tables, Wanted};
use super::phases::{Lengths, MachineTime, Phases, StartGate};
use super::span::{StartFailure, unprepared};
use super::worker::Worker;
use crate::access::{DataRng, Pace, WriteData};
use crate::engine::{self, Setup};
use crate::measure::Histogram;
use crate::measure::clock::lowest_ns;
use crate::measure::clock::{Clock, MachineClock};
use crate::plan::{Lane, LaneInputs, LaneWrites, PlannedTarget, ThreadWork, assign, lanes, ranges_of};
use crate::profile::{Target, TimeSpan};
use crate::result::{LoadCost, SelfCost};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::thread::{pin_to_processor, running_ns_of_this_thread};

/// Reads a counter of the calling thread right before and right after its loop; `None` where there is none.
pub type Probe<'a> = &'a (dyn Fn() -> Option<u64> + Sync);

/// Threads and their work, without storage.
#[derive(Debug)]
pub struct Bare {
    span: TimeSpan,
    lanes: Vec<Lane>,
}

/// Turns that are made until one does enough I/Os, and how much longer than the one before each of them is.
const TURNS_MAX: u32 = 6;
const TURN_GROWTH: u64 = 4;

/// What the threads did and took, added up.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    pub ios: u64,
    pub running_ns: u64,
    /// Time by the clock in nanoseconds.
    pub elapsed_ns: u64,
    /// Increase of the probe's counter; `None` without a counter.
    pub counted: Option<u64>,
}

impl Turn {
    /// Processor time per I/O in nanoseconds; `None` without I/O.
    pub fn running_ns_per_io(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.running_ns as f64 / self.ios as f64)
    }

    fn plus(self, other: Turn) -> Turn {
        Turn {
            ios: self.ios + other.ios,
            running_ns: self.running_ns + other.running_ns,
            elapsed_ns: self.elapsed_ns + other.elapsed_ns,
            counted: self.counted.zip(other.counted).map(|(a, b)| a + b),
        }
    }
}

/// Targets of a time span, as if each had `size_bytes`.
fn targets_of_size(span: &TimeSpan, size_bytes: u64) -> Result<Vec<PlannedTarget>, Failure> {
    let mut targets = Vec::with_capacity(span.targets.len());
    for target in &span.targets {
        let (range, places) = ranges_of(span, target, size_bytes)?;
        targets.push(PlannedTarget { size_bytes, direct: None, by_commands: false, range, places });
    }
    Ok(targets)
}

impl Bare {
    /// The threads of a time span, bound to `cpus` in turn (none: not bound), as if each target had
    /// `size_bytes`. Rate limits and pauses are left out.
    ///
    /// # Errors
    /// The time span does not fit such targets.
    pub fn new(span: &TimeSpan, size_bytes: u64, cpus: &[u32]) -> Result<Self, Failure> {
        let targets = targets_of_size(span, size_bytes)?;
        Self::with(span.clone(), assign(span, cpus), &targets.iter().collect::<Vec<_>>())
    }

    /// Given work on given targets.
    fn with(span: TimeSpan, works: Vec<ThreadWork>, targets: &[&PlannedTarget]) -> Result<Self, Failure> {
        let inputs = LaneInputs { span: &span, targets, engine: None, huge_page_bytes: 0 };
        let mut lanes = lanes(works, &inputs)?;
        for target in lanes.iter_mut().flat_map(|lane| &mut lane.targets) {
            target.pace = Pace::UNLIMITED;
        }
        Ok(Bare { span, lanes })
    }

    /// Number of threads.
    pub fn threads(&self) -> u32 {
        self.lanes.len() as u32
    }

    /// I/Os outstanding on each thread.
    pub fn depth(&self) -> u32 {
        self.lanes.iter().map(|lane| lane.work.slots).max().unwrap_or(0)
    }

    /// Lets every thread run its loop for `length_ns`, on threads of their own.
    ///
    /// # Errors
    /// A thread could not be started or prepared.
    pub fn turn(&self, clock: &MachineClock, length_ns: u64, probe: Probe<'_>) -> Result<Turn, Failure> {
        let (phases, together) = (Phases::new(), Barrier::new(self.lanes.len()));
        let gate = StartGate::new();
        std::thread::scope(|scope| {
            let (phases, together, gate) = (&phases, &together, &gate);
            let threads = self.lanes.iter().map(|lane| {
                let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                    if gate.wait() {
                        self.thread_turn(lane, clock, length_ns, phases, together, probe)
                    } else {
                        Err(Failure::new(FailureKind::Thread, "another thread could not be started"))
                    }
                });
                started.map_err(|error| StartFailure::no_thread(lane.work.id, error).into())
            });
            let threads: Result<Vec<_>, Failure> = threads.collect();
            // The barrier waits for all of them. If one did not start, the others must end without it.
            gate.open(threads.is_ok());
            let turns = threads?.into_iter().map(|thread| match thread.join() {
                Ok(turn) => turn,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            let turns: Result<Vec<Turn>, Failure> = turns.collect();
            Ok(turns?.into_iter().reduce(Turn::plus).unwrap_or_default())
        })
    }

    /// Turns of growing length until one does `least` I/Os: on a busy machine a thread may get no processor in all of a
    /// short one. `discarded` hears of each that did fewer. The last of [`TURNS_MAX`] counts whatever it did.
    ///
    /// # Errors
    /// As [`Bare::turn`], and those of `discarded`.
    pub fn turn_with(
        &self,
        least: u64,
        clock: &MachineClock,
        length_ns: u64,
        probe: Probe<'_>,
        discarded: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<Turn, Failure> {
        let mut length_ns = length_ns;
        for _ in 1..TURNS_MAX {
            let turn = self.turn(clock, length_ns, probe)?;
            if turn.ios >= least {
                return Ok(turn);
            }
            discarded()?;
            length_ns = length_ns.saturating_mul(TURN_GROWTH);
        }
        self.turn(clock, length_ns, probe)
    }

    fn thread_turn(
        &self,
        lane: &Lane,
        clock: &MachineClock,
        length_ns: u64,
        phases: &Phases,
        together: &Barrier,
        probe: Probe<'_>,
    ) -> Result<Turn, Failure> {
        if let Some(cpu) = lane.work.cpu {
            // A figure from another processor is better than none.
            let _ = pin_to_processor(cpu);
        }
        let worker = self.worker(lane, length_ns);
        // Before the phases begin, because callgrind needs a while to dump its counters.
        let counted = probe();
        // The others wait here, so a thread without a worker comes here, too.
        if together.wait().is_leader() {
            phases.begin(clock.now_ns(), Lengths::only(length_ns));
        }
        together.wait();
        let (worker, wanted) = worker?;
        let (running_ns, since_ns) = (running_ns_of_this_thread(), clock.now_ns());
        let outcome = worker.run(&MachineTime(clock.clone()), phases, &|| ());
        let elapsed_ns = clock.now_ns().saturating_sub(since_ns);
        let running_ns = running_ns_of_this_thread().saturating_sub(running_ns);
        let counted = probe().zip(counted).map(|(after, before)| after.saturating_sub(before));
        let mut ios = 0;
        for tally in outcome.tallies {
            let trims = tally.trims.ios();
            ios += tally.reads.finish(wanted, length_ns).ios
                + tally.writes.finish(wanted, length_ns).ios
                + trims;
        }
        Ok(Turn { ios, running_ns, elapsed_ns, counted })
    }

    /// The worker of a thread, as `span` makes those of a run. Only what the worker itself fills has memory.
    fn worker(&self, lane: &Lane, length_ns: u64) -> Result<(Worker, Wanted), Failure> {
        let interval_ns = u64::from(self.span.io_bucket_ms.max(1)) * 1_000_000;
        let wanted = Wanted {
            latency: self.span.measure_latency,
            intervals: self.span.calculate_iops_std_dev.then_some((interval_ns, length_ns)),
        };
        let (mut lane, mut buffers) = (lane.clone(), Vec::new());
        for target in &mut lane.targets {
            if matches!(target.writes, LaneWrites::Random) {
                let buffer = IoBuffer::new(target.buffer_bytes()).map_err(unprepared)?;
                buffer.with_slice_mut(0, buffer.len(), |bytes| bytes.fill(0));
                target.write_region = buffers.len() as u32;
                buffers.push(Arc::new(buffer));
            }
        }
        let setup = Setup {
            depth: lane.work.slots,
            files: Vec::new(),
            regions: buffers.clone(),
            registered_buffers: false,
            trims: false,
            parameters: String::new(),
        };
        let row = engine::find("null").expect("in the table of engines");
        let (_, opened) = engine::open(row, setup).map_err(unprepared)?;
        let id = lane.work.id;
        let latencies =
            if wanted.latency { Tables::new(&Lengths::only(length_ns), 1, 1, false) } else { Tables::none() };
        let mut buckets = Buckets::for_lengths(&Lengths::of(&self.span));
        if lane.work.cpu.is_none() {
            buckets = buckets.noting_processors();
        }
        let mut worker = Worker::new(lane, opened.engine, buffers, wanted);
        (worker.buckets, worker.latencies) = (buckets, latencies.of_thread(id));
        Ok((worker, wanted))
    }
}

// What a run tells of it, measured before its threads start.

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
const RECORDS: u32 = 2048;

/// Measures for about 3 ms per kind of thread; `None` when the system gives no thread or memory.
pub fn self_cost(
    span: &TimeSpan,
    lanes: &[Lane],
    targets: &[&PlannedTarget],
    clock: &MachineClock,
) -> Option<SelfCost> {
    // Of several sizes the smallest, which takes longest per KiB.
    let filled_bytes = span.targets.iter().filter(|target| fills(span, target)).map(|t| t.block_bytes).min();
    let fill_ns_per_kib = filled_bytes.map(fill_ns_per_kib);
    let mut loads = Vec::new();
    for (work, threads) in kinds(span, lanes.iter().map(|lane| &lane.work)) {
        let fill_ns = filled_kib_per_io(span, &work) * fill_ns_per_kib.unwrap_or(0.0);
        let generator_ns = loop_ns(span, work, targets, clock)? + fill_ns;
        loads.push(LoadCost { threads, generator_ns, fill_ns });
    }
    let stamp_ns = clock.describe().cost_ns;
    Some(SelfCost { stamp_ns, record_ns: record_ns(), fill_ns_per_kib, loads })
}

/// One thread of each kind, with the numbers of all threads of that kind.
fn kinds<'a>(span: &TimeSpan, works: impl Iterator<Item = &'a ThreadWork>) -> Vec<(ThreadWork, Vec<u32>)> {
    let mut kinds: Vec<(ThreadWork, Vec<u32>)> = Vec::new();
    for work in works {
        let light = lightened(work);
        match kinds.iter().position(|(known, _)| are_alike(span, known, &light)) {
            Some(place) => kinds[place].1.push(work.id),
            None if kinds.len() < LOADS_MAX => kinds.push((light, vec![work.id])),
            None => {}
        }
    }
    kinds
}

/// Whether two threads do the same on targets that differ in nothing but their paths.
fn are_alike(span: &TimeSpan, a: &ThreadWork, b: &ThreadWork) -> bool {
    let mut pairs = a.duties.iter().zip(&b.duties);
    (a.slots, a.is_pool, a.duties.len()) == (b.slots, b.is_pool, b.duties.len())
        && pairs.all(|(a, b)| {
            let [a, b] = [a, b].map(|duty| &span.targets[duty.target]);
            a == b || Target { path: b.path.clone(), ..a.clone() } == *b
        })
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
    targets: &[&PlannedTarget],
    clock: &MachineClock,
) -> Option<f64> {
    let span = TimeSpan { random_write_data: false, ..span.clone() };
    let bare = Bare::with(span, vec![work], targets).ok()?;
    let rounds = (0..ROUNDS).filter_map(|_| {
        bare.turn_with(1, clock, ROUND_NS, &|| None, &mut || Ok(())).ok()?.running_ns_per_io()
    });
    rounds.min_by(f64::total_cmp)
}

fn fills(span: &TimeSpan, target: &Target) -> bool {
    target.writes_data() && WriteData::of(target, span.random_write_data) == WriteData::Random
}

/// KiB of random data that an I/O of the thread takes on average.
fn filled_kib_per_io(span: &TimeSpan, work: &ThreadWork) -> f64 {
    let (mut kib, mut all) = (0.0, 0.0);
    for duty in &work.duties {
        let target = &span.targets[duty.target];
        let of_all = f64::from(if work.is_pool { duty.weight } else { duty.requests });
        all += of_all;
        if fills(span, target) {
            let writes =
                f64::from(target.write_percent) * (100.0 - f64::from(target.trim_percent)) / 10_000.0;
            kib += of_all * writes * target.block_bytes as f64 / 1024.0;
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

    const GIB: u64 = 1 << 30;

    fn measured(span: &TimeSpan) -> SelfCost {
        let targets = targets_of_size(span, GIB).expect("it fits");
        let targets: Vec<_> = targets.iter().collect();
        let inputs = LaneInputs { span, targets: &targets, engine: None, huge_page_bytes: 0 };
        let lanes = lanes(assign(span, &[]), &inputs).expect("it fits");
        let cost = self_cost(span, &lanes, &targets, &MachineClock::start()).expect("measured");
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
            let [(work, threads)] = &kinds(&span, works.iter())[..] else { panic!("all are alike") };
            assert_eq!((threads.len(), work.slots, work.duties.len()), (64, slots, 16));
            assert_eq!(measured(&span).loads.len(), 1);
        }
    }
}

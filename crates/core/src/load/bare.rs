//! The workers' loop without storage: the workers of a run, made by the same code, on targets that nobody
//! opens and with the engine that finishes every I/O at once. What is left is what the program itself costs.

use std::sync::Barrier;

use super::controller::MachineTime;
use super::counters::Wanted;
use super::latencies::Tables;
use super::phases::{Lengths, Phases, StartGate};
use super::start::{Buffers, StartContext, StartFailure, assemble, unprepared};
use super::worker::{DutyState, Worker};
use crate::access::Pace;
use crate::engine::{self, Setup};
use crate::fault::{Failure, FailureKind};
use crate::measure::clock::{Clock, MachineClock};
use crate::plan::{Lane, LaneInputs, PlannedTarget, TargetRanges, ThreadWork, assign, lanes, ranges_of};
use crate::profile::TimeSpan;
use crate::sys::thread::{pin_to_processor, running_ns_of_this_thread};

/// Reads a counter of the calling thread right before and right after its loop; `None` where there is none.
pub type Probe<'a> = &'a (dyn Fn() -> Option<u64> + Sync);

/// Threads and their work, without storage.
#[derive(Debug)]
pub struct Bare {
    span: TimeSpan,
    lanes: Vec<Lane>,
}

/// What the threads did and took, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// I/Os completed.
    pub ios: u64,
    /// Processor time in nanoseconds.
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

impl Bare {
    /// The threads of a time span, bound to `cpus` in turn (none: not bound), as if each target had
    /// `size_bytes`. Rate limits and pauses are left out.
    ///
    /// # Errors
    /// The time span does not fit such targets.
    pub fn new(span: &TimeSpan, size_bytes: u64, cpus: &[u32]) -> Result<Self, Failure> {
        let ranges = |target| ranges_of(span, target, size_bytes);
        let ranges: Vec<TargetRanges> = span.targets.iter().map(ranges).collect::<Result<_, _>>()?;
        let targets: Vec<_> = ranges
            .iter()
            .map(|ranges| PlannedTarget { size_bytes, direct: None, by_commands: false, ranges })
            .collect();
        Self::with(span.clone(), &assign(span, cpus), &targets)
    }

    /// Given work on given targets.
    pub(super) fn with(
        span: TimeSpan,
        works: &[ThreadWork],
        targets: &[PlannedTarget<'_>],
    ) -> Result<Self, Failure> {
        let inputs = LaneInputs { span: &span, targets, engine: None, huge_page_bytes: 0 };
        let mut lanes = lanes(works, &inputs)?;
        lanes.iter_mut().flat_map(|lane| &mut lane.targets).for_each(|target| target.pace = Pace::UNLIMITED);
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
            let body = |lane| {
                move || {
                    if gate.wait() {
                        self.thread_turn(lane, clock, length_ns, phases, together, probe)
                    } else {
                        Err(Failure::new(FailureKind::Thread, "another thread could not be started"))
                    }
                }
            };
            let threads = self.lanes.iter().map(|lane| {
                let started = std::thread::Builder::new().spawn_scoped(scope, body(lane));
                started.map_err(|error| StartFailure::thread(lane.work.id, error).into())
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
            phases.begin(clock.now_ns(), Lengths { warmup_ns: 0, duration_ns: length_ns, cooldown_ns: 0 });
        }
        together.wait();
        let (worker, wanted) = worker?;
        let (running_ns, since_ns) = (running_ns_of_this_thread(), clock.now_ns());
        let outcome = worker.run(&MachineTime(clock.clone()), phases, &|| ());
        let elapsed_ns = clock.now_ns().saturating_sub(since_ns);
        let running_ns = running_ns_of_this_thread().saturating_sub(running_ns);
        let counted = probe().zip(counted).map(|(after, before)| after.saturating_sub(before));
        let ios = |duty: DutyState| {
            let directions = [duty.reads, duty.writes].map(|counter| counter.finish(wanted, length_ns));
            directions.iter().map(|direction| direction.ios).sum::<u64>()
        };
        Ok(Turn { ios: outcome.duties.into_iter().map(ios).sum(), running_ns, elapsed_ns, counted })
    }

    /// The worker of a thread, as `start` makes those of a run.
    fn worker(&self, lane: &Lane, length_ns: u64) -> Result<(Worker, Wanted), Failure> {
        let row = engine::find("null").expect("in the table of engines");
        let interval_ns = u64::from(self.span.io_bucket_ms.max(1)) * 1_000_000;
        let wanted = Wanted {
            latency: self.span.measure_latency,
            intervals: self.span.calculate_iops_std_dev.then_some((interval_ns, length_ns)),
        };
        let latencies = if wanted.latency { Tables::new(length_ns, 1, 1) } else { Tables::none() };
        let context = StartContext {
            targets: &[],
            wanted,
            duration_ns: Lengths::of(&self.span).duration_ns,
            latencies: &latencies,
            progress_ios: 0,
            is_virtual: false,
            several_nodes: None,
        };
        let buffers = Buffers::for_null(lane)?;
        let setup = Setup {
            depth: lane.work.slots,
            files: Vec::new(),
            regions: buffers.regions.clone(),
            registered_buffers: false,
            parameters: String::new(),
        };
        let (_, opened) = engine::open(row, setup).map_err(unprepared)?;
        Ok((assemble(lane, &context, &buffers, opened.engine), wanted))
    }
}

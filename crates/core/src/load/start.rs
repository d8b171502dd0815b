//! Everything a worker does before the start signal: pin, open, allocate, open the engine.
//!
//! Runs on the worker's own thread, so that memory is local to its processor and the ring belongs to it. What it needs
//! to know is in its lane.

use std::sync::Arc;

use super::counters::{Counter, Wanted};
use super::latencies::Tables;
use super::nodes::{self, Placed};
use super::targets::TargetState;
use super::timeline::Buckets;
use super::worker::{DutyState, Worker};
use super::writes::WriteSlots;
use crate::access::{DataRng, Pattern, Rng, data};
use crate::engine::{self, AnyEngine, Engine, EngineError, EngineFile, Opened, Setup};
use crate::fault::{Failure, FailureKind};
use crate::machine::topology::Topology;
use crate::plan::{Lane, LaneTarget, LaneWrites};
use crate::sys::buffer::{BufferError, IoBuffer};
use crate::sys::error::system_text;
use crate::sys::thread::{keep_exact_time_on_this_thread, pin_to_processor};

/// What all threads of a time span share.
pub struct StartContext<'a> {
    /// The opened targets, in the order of the time span; none for an engine that moves no data.
    pub targets: &'a [TargetState],
    /// Statistics asked for.
    pub wanted: Wanted,
    /// Planned measured time in nanoseconds.
    pub duration_ns: u64,
    /// Where latencies over time are added up.
    pub latencies: &'a Tables,
    /// Dots (`-P`).
    pub progress_ios: u32,
    /// The engine simulates time.
    pub is_virtual: bool,
    /// The machine, when it has several memory nodes: then it is looked where buffers lie.
    pub several_nodes: Option<&'a Topology>,
}

/// A worker ready for the start signal.
pub struct Prepared {
    /// The worker.
    pub worker: Worker,
    /// Engine that it opened.
    pub engine: &'static str,
    /// Steps down and other facts, in words.
    pub notes: Vec<String>,
    /// Where its buffers lie, of a bound thread on a machine with several memory nodes.
    pub placed: Option<Placed>,
}

/// Why a thread could not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("thread {thread}: {why}")]
pub struct StartFailure {
    /// Thread number.
    pub thread: u32,
    /// What failed and what to do.
    pub why: Failure,
}

impl From<StartFailure> for Failure {
    fn from(failure: StartFailure) -> Self {
        let StartFailure { thread, why } = failure;
        Failure { message: format!("thread {thread}: {}", why.message), ..why }
    }
}

impl StartFailure {
    /// The system gave no thread.
    pub fn thread(id: u32, error: std::io::Error) -> Self {
        let why = Failure::new(FailureKind::Thread, "the system could not start it")
            .because(system_text(&error))
            .hint("lower -t or -F, or raise the limit of processes");
        StartFailure { thread: id, why }
    }
}

/// Prepares the worker of `lane` on the calling thread.
pub fn prepare(lane: &Lane, context: &StartContext<'_>) -> Result<Prepared, StartFailure> {
    let fail = |why: Failure| StartFailure { thread: lane.work.id, why };
    if let Some(cpu) = lane.work.cpu {
        pin_to_processor(cpu).map_err(|e| fail(unprepared(e)))?;
    }
    // Only rate limits and pauses need exact time. If the system refuses, they are kept on average.
    let _ = keep_exact_time_on_this_thread();
    let files = open_files(lane, context).map_err(fail)?;
    let buffers = Buffers::allocate(lane, context).map_err(fail)?;
    let placed = buffers.placed(lane, context);
    let setup = Setup {
        depth: lane.work.slots,
        files,
        regions: buffers.regions.clone(),
        registered_buffers: lane.engine.registered_buffers,
        parameters: lane.engine.parameters.clone(),
    };
    let opened = match lane.engine.row {
        Some(row) => engine::open(row, setup),
        None => engine::open_ladder(setup),
    };
    let (row, Opened { engine, notes }) = opened.map_err(|e: EngineError| fail(unprepared(e)))?;
    Ok(Prepared { worker: assemble(lane, context, &buffers, engine), engine: row.name, notes, placed })
}

/// What keeps a thread from being prepared.
pub fn unprepared(why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Thread, why.to_string())
}

/// The worker around an opened engine.
pub fn assemble(lane: &Lane, context: &StartContext<'_>, buffers: &Buffers, engine: AnyEngine) -> Worker {
    let seed = lane.work.seed;
    let mut rng = Rng::for_thread(seed, 0);
    let targets = lane.targets.iter().zip(&buffers.of_targets).zip(0u32..);
    let duties =
        targets.map(|((target, own), file)| duty(target, file, own, buffers, context.wanted, &mut rng));
    Worker {
        duties: duties.collect(),
        dispatch: lane.dispatch.of(engine.is_inline()),
        is_inline: engine.is_inline(),
        engine,
        slot_duty: lane.slot_targets(),
        pool: lane.pool.clone(),
        rng,
        data_rng: DataRng::for_thread(seed, 0),
        wanted: context.wanted,
        buckets: buckets(lane, context),
        latencies: context.latencies.of_thread(lane.work.id),
        progress_ios: u64::from(context.progress_ios),
        live: None,
    }
}

/// Simulated time has no processors: a simulated run is the same each time.
fn buckets(lane: &Lane, context: &StartContext<'_>) -> Buckets {
    let buckets = Buckets::for_duration(context.duration_ns);
    match lane.work.cpu {
        None if !context.is_virtual => buckets.noting_processors(),
        _ => buckets,
    }
}

fn open_files(lane: &Lane, context: &StartContext<'_>) -> Result<Vec<EngineFile>, Failure> {
    let open = |target: &LaneTarget| {
        Ok(EngineFile {
            handle: context.targets[target.index].open_again()?,
            size_bytes: target.size_bytes,
            ioprio: target.ioprio.0,
            map: target.map,
        })
    };
    lane.targets.iter().map(open).collect()
}

/// Buffers of one thread and where each target's lie.
pub struct Buffers {
    /// In the order in which I/Os name them.
    pub regions: Vec<Arc<IoBuffer>>,
    of_targets: Vec<TargetBuffers>,
}

/// Buffers of one target of the thread.
#[derive(Clone, Copy, Default)]
struct TargetBuffers {
    read_region: u32,
    /// Memory of the write slots, or the source that all threads share.
    write_region: u32,
}

impl Buffers {
    /// Errors begin with the phrase that wrappers look for (`text-output.md` §13.2).
    fn allocate(lane: &Lane, context: &StartContext<'_>) -> Result<Self, Failure> {
        let mut buffers = Buffers { regions: Vec::new(), of_targets: Vec::new() };
        for target in &lane.targets {
            let state = &context.targets[target.index];
            let own = buffers.for_target(target, state.write_source.as_ref()).map_err(|e| {
                let words = format!("Could not allocate a buffer for target '{}'", state.typed);
                Failure::new(FailureKind::Resource, words).on(&state.typed).because(e)
            })?;
            buffers.of_targets.push(own);
        }
        Ok(buffers)
    }

    /// For an engine that moves no data: only what the worker itself fills has memory.
    pub fn for_null(lane: &Lane) -> Result<Self, Failure> {
        let mut buffers = Buffers { regions: Vec::new(), of_targets: Vec::new() };
        for target in &lane.targets {
            let mut own = TargetBuffers::default();
            if matches!(target.writes, LaneWrites::Random) {
                let buffer = IoBuffer::new(target.buffer_bytes()).map_err(unprepared)?;
                own.write_region = buffers.add(buffer, |buffer| buffer.fill(0));
            }
            buffers.of_targets.push(own);
        }
        Ok(buffers)
    }

    /// Where those lie that the thread has for itself: the source that all threads share is on one node at most.
    fn placed(&self, lane: &Lane, context: &StartContext<'_>) -> Option<Placed> {
        let cpu = lane.work.cpu?;
        let node = context.several_nodes?.node_of(cpu)?;
        let is_shared = |buffer: &Arc<IoBuffer>| {
            context
                .targets
                .iter()
                .filter_map(|state| state.write_source.as_ref())
                .any(|s| Arc::ptr_eq(s, buffer))
        };
        let own = self.regions.iter().filter(|buffer| !is_shared(buffer));
        Some(nodes::look(cpu, node, own.map(Arc::as_ref)))
    }

    fn for_target(
        &mut self,
        target: &LaneTarget,
        source: Option<&Arc<IoBuffer>>,
    ) -> Result<TargetBuffers, BufferError> {
        let mut own = TargetBuffers::default();
        if target.reads {
            // Touched now, so that no page fault falls into the measurement.
            own.read_region = self.add(allocate(target)?, |buffer| buffer.fill(0));
        }
        match (target.writes, source) {
            (LaneWrites::None, _) => {}
            (LaneWrites::Source(_), source) => {
                let source = source.expect("a target whose writes have a source is opened with it");
                own.write_region = self.regions.len() as u32;
                self.regions.push(Arc::clone(source));
            }
            (LaneWrites::Pattern { first }, _) => {
                let (stride, block_bytes) = (target.slot_stride_bytes, u64::from(target.block_bytes));
                own.write_region = self.add(allocate(target)?, |buffer| {
                    for (slot, block) in (0u64..).zip(buffer.chunks_mut(stride as usize)) {
                        data::fill_pattern(block, first + slot * block_bytes);
                    }
                });
            }
            (LaneWrites::Zero | LaneWrites::Random, _) => {
                own.write_region = self.add(allocate(target)?, |buffer| buffer.fill(0));
            }
        }
        Ok(own)
    }

    fn add(&mut self, buffer: IoBuffer, fill: impl FnOnce(&mut [u8])) -> u32 {
        buffer.with_slice_mut(0, buffer.len(), fill);
        self.regions.push(Arc::new(buffer));
        self.regions.len() as u32 - 1
    }
}

fn allocate(target: &LaneTarget) -> Result<IoBuffer, BufferError> {
    match target.huge_page_bytes {
        Some(page_bytes) => IoBuffer::with_large_pages(target.buffer_bytes(), page_bytes),
        None => IoBuffer::new(target.buffer_bytes()),
    }
}

fn duty(
    target: &LaneTarget,
    file: u32,
    own: &TargetBuffers,
    buffers: &Buffers,
    wanted: Wanted,
    rng: &mut Rng,
) -> DutyState {
    let has_schedule = target.pace.has_schedule();
    DutyState {
        target: target.index,
        file,
        block_bytes: target.block_bytes,
        read_region: own.read_region,
        slot_stride_bytes: target.slot_stride_bytes,
        slot_first: target.slot_first,
        pattern: Pattern::new(target.pattern.clone(), rng),
        write_slots: write_slots(target, own.write_region, buffers),
        pace: target.pace,
        meter: None,
        shared: Arc::clone(&target.shared),
        reads: Counter::new(wanted, target.reads, has_schedule),
        writes: Counter::new(wanted, target.is_written(), has_schedule),
        short_transfers: 0,
    }
}

fn write_slots(target: &LaneTarget, region: u32, buffers: &Buffers) -> WriteSlots {
    let slot_stride_bytes = target.slot_stride_bytes;
    match target.writes {
        LaneWrites::None => WriteSlots::None,
        LaneWrites::Zero | LaneWrites::Pattern { .. } => WriteSlots::Fixed { region, slot_stride_bytes },
        LaneWrites::Random => WriteSlots::Random {
            region,
            buffer: Arc::clone(&buffers.regions[region as usize]),
            slot_stride_bytes,
            block_bytes: target.block_bytes as usize,
        },
        LaneWrites::Source(windows) => WriteSlots::Source { region, windows },
    }
}

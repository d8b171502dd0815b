//! A time span while it runs: what is asked for, on what, by which threads, and what was seen of it before.
//!
//! Everything a worker does before the start signal: pin, open, allocate, open the engine. It runs on the worker's own
//! thread, so that memory is local to its processor and the ring belongs to it. What it needs to know is in its lane.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::activity::Sources;
use super::content::{Inspection, LoopCacheSeen};
use super::context::{Event, Note, OnEvent, Options};
use super::counters::Buckets;
use super::counters::{Tables, Wanted};
use super::drives::Drives;
use super::events::Handles;
use super::phases::Lengths;
use super::progress::Place;
use super::ranks::AgreedStart;
use super::rounds::Board;
use super::targets::{Standing, TargetState};
use super::verify_log::Log;
use super::worker::{RoundKeeper, Worker};
use crate::access::data;
use crate::engine::{self, EngineFile, Opened, Setup};
use crate::guard::OtherRun;
use crate::measure::clock::MachineClock;
use crate::measure::cpu::ProcessUsage;
use crate::plan::{Lane, LaneTarget, LaneWrites};
use crate::profile::TimeSpan;
use crate::result::{BoundThread, SelfCost};
use crate::verify::{BlockMap, Checker};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::machine::limits::{allowed_nodes, nodes_with_memory};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::topology::{CpuSet, Topology};
use truespd_platform::sys::buffer::{self, BufferError, IoBuffer};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::thread::{Interrupter, keep_exact_time_on_this_thread, pin_to_processor};
use truespd_platform::text::grouped;

/// A time span whose targets are open and whose threads' work is laid out. Its threads share it.
pub struct Span<'a> {
    pub asked: &'a TimeSpan,
    /// Where it stands in its profile.
    pub place: Place,
    pub lengths: Lengths,
    pub wanted: Wanted,
    /// Dots (`-P`).
    pub progress_ios: u32,
    /// Waits are told (`-vs`).
    pub verbose_stats: bool,
    /// In the order of the profile.
    pub targets: Vec<TargetState>,
    pub lanes: Vec<Lane>,
    /// Kernel ids of the processors in the order in which threads are bound to them; empty when they float.
    pub processors: Vec<u32>,
    /// Buffers begin at multiples of this; 0: anywhere (`-bs`).
    pub separation_bytes: u64,
    /// The engine simulates time: nothing of it reaches the machine.
    pub is_virtual: bool,
    /// The machine, when it has several memory nodes: then it is looked where buffers lie.
    pub several_nodes: Option<Topology>,
    /// Where latencies over time are added up.
    pub latencies: Tables,
    /// Of each target: the map of what is written, where it is verified (`--verify`).
    pub maps: Vec<Option<Arc<BlockMap>>>,
    /// Where it is told what is durable on the one verified target (`--verify-log`).
    pub log: Option<Log>,
    /// Where threads tell of rounds; none where the measured time is not divided.
    pub board: Option<Arc<Board>>,

    pub options: &'a Options,
    pub on_event: OnEvent<'a>,
    /// Ends the run early (Ctrl+C, `-yp`).
    pub stop: &'a Latch,
    /// Named events (`-y`).
    pub handles: &'a Handles,
    pub clock: MachineClock,
    /// Ends the waits of workers.
    pub interrupter: Interrupter,

    /// Whose counters are read during the run.
    pub sources: Sources,
    /// What was seen before the threads start; nothing when time is simulated.
    pub self_cost: Option<SelfCost>,
    /// Of each target: layout, page cache and content.
    pub looks: Vec<Inspection>,
    /// Of each target: what the loop devices below it stand on.
    pub loop_caches: Vec<Vec<LoopCacheSeen>>,
    pub standings: Vec<Standing>,
    /// The drives under the targets; none where no I/O reaches them.
    pub drives: Option<Drives>,
    /// Of each target: other runs on it.
    pub other_runs: Vec<Vec<OtherRun>>,
    pub used: ProcessUsage,
}

/// When the threads are let go.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// As soon as they are ready.
    Now,
    /// At an instant that processes agreed on.
    At(AgreedStart),
}

impl Span<'_> {
    /// A line for verbose mode.
    pub fn say(&self, words: String) {
        (self.on_event)(Event::Verbose(words));
    }

    /// The parts of a thread in the proof of its targets; none where no target is verified.
    fn checkers(&self, lane: &Lane) -> Vec<Option<Checker>> {
        if self.maps.iter().all(Option::is_none) {
            return Vec::new();
        }
        let mut checkers = Vec::new();
        for target in &lane.targets {
            let map = self.maps[target.duty.target].as_ref();
            let entries = self.log.as_ref().map(Log::entries);
            checkers.push(
                map.map(|map| Checker::new(Arc::clone(map), lane.work.id, target.flushes()).telling(entries)),
            );
        }
        checkers
    }

    /// Waits for the event of `-yr` and for the other processes; none when the run is stopped or called off.
    pub fn wait_for_start(&self) -> Option<Start> {
        if !self.handles.wait_for_start(self.stop) {
            return None;
        }
        match &self.options.ranks {
            None => Some(Start::Now),
            Some(companions) => companions.start(self.place.span - 1).ok().map(Start::At),
        }
    }
}

/// A worker ready for the start signal.
pub struct Prepared {
    pub worker: Worker,
    /// Name of the engine that it opened.
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
    pub fn no_thread(thread: u32, error: std::io::Error) -> Self {
        let why = Failure::new(FailureKind::Thread, "the system could not start it")
            .because(system_text(&error))
            .hint("lower -t or -F, or raise the limit of processes (ulimit -u)");
        StartFailure { thread, why }
    }
}

/// Prepares the worker of `lane` on the calling thread.
pub fn prepare(lane: &Lane, span: &Span<'_>) -> Result<Prepared, StartFailure> {
    prepare_here(lane, span).map_err(|why| StartFailure { thread: lane.work.id, why })
}

fn prepare_here(lane: &Lane, span: &Span<'_>) -> Result<Prepared, Failure> {
    if let Some(cpu) = lane.work.cpu {
        pin_to_processor(cpu).map_err(|error| {
            unprepared(error).hint("use -n without -a, which lets the kernel choose the processors")
        })?;
    }
    // Only rate limits and pauses need exact time. If the system refuses, they are kept on average.
    let _ = keep_exact_time_on_this_thread();
    let files = open_files(lane, span)?;
    let buffers = allocate_all(lane, span)?;
    let placed = placed(&buffers, lane, span);
    let setup = Setup {
        depth: lane.work.slots,
        files,
        regions: buffers.clone(),
        registered_buffers: lane.engine.registered_buffers,
        trims: lane.targets.iter().any(|target| target.trims()),
        parameters: lane.engine.parameters.clone(),
    };
    let (row, Opened { engine, notes }) = match lane.engine.row {
        Some(row) => engine::open(row, setup),
        None => engine::open_ladder(setup),
    }
    .map_err(unprepared)?;
    let mut worker = Worker::new(lane.clone(), engine, buffers, span.wanted);
    worker.buckets = Buckets::for_lengths(&span.lengths);
    if lane.work.cpu.is_none() && !span.is_virtual {
        // Simulated time has no processors: a simulated run is the same each time.
        worker.buckets = worker.buckets.noting_processors();
    }
    worker.latencies = span.latencies.of_thread(lane.work.id);
    worker.rounds =
        span.board.as_ref().map(|board| Box::new(RoundKeeper::new(Arc::clone(board), span.wanted)));
    worker.checks = span.checkers(lane);
    worker.progress_ios = u64::from(span.progress_ios);
    worker.counts_waits = span.verbose_stats;
    Ok(Prepared { worker, engine: row.name, notes, placed })
}

/// What keeps a thread from being prepared.
pub fn unprepared(why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Thread, why.to_string())
}

fn open_files(lane: &Lane, span: &Span<'_>) -> Result<Vec<EngineFile>, Failure> {
    let mut files = Vec::with_capacity(lane.targets.len());
    for target in &lane.targets {
        files.push(EngineFile {
            handle: span.targets[target.duty.target].open_again()?,
            size_bytes: target.size_bytes,
            ioprio: target.ioprio.0,
            map: target.map,
        });
    }
    Ok(files)
}

/// The buffers of a thread, by the numbers of its lane. Errors begin with the phrase that wrappers look for
/// (`text-output.md` §13.2).
fn allocate_all(lane: &Lane, span: &Span<'_>) -> Result<Vec<Arc<IoBuffer>>, Failure> {
    let mut buffers = Vec::new();
    for target in &lane.targets {
        let state = &span.targets[target.duty.target];
        let memory = Memory { source: state.write_source.as_ref(), separation_bytes: span.separation_bytes };
        allocate(target, &memory, &mut buffers).map_err(|error| {
            let words = format!("Could not allocate a buffer for target '{}'", state.typed);
            Failure::new(FailureKind::Resource, words).on(&state.typed).because(error)
        })?;
    }
    Ok(buffers)
}

/// What the buffers of a target are made of.
struct Memory<'a> {
    /// The source of write data that all threads share.
    source: Option<&'a Arc<IoBuffer>>,
    separation_bytes: u64,
}

/// The buffers of one target. They are touched now, so that no page fault falls into the measurement.
fn allocate(
    target: &LaneTarget,
    memory: &Memory<'_>,
    buffers: &mut Vec<Arc<IoBuffer>>,
) -> Result<(), BufferError> {
    if target.reads {
        buffers.push(filled(target, memory, |bytes| bytes.fill(0))?);
    }
    match target.writes {
        LaneWrites::None => {}
        LaneWrites::Zero | LaneWrites::Random => {
            buffers.push(filled(target, memory, |bytes| bytes.fill(0))?);
        }
        LaneWrites::Source(_) => {
            let source = memory.source.expect("a target whose writes have a source is opened with it");
            buffers.push(Arc::clone(source));
        }
        LaneWrites::Pattern { first } => buffers.push(filled(target, memory, |bytes| {
            for (slot, block) in (0u64..).zip(bytes.chunks_mut(target.slot_stride_bytes as usize)) {
                data::fill_pattern(block, first + slot * u64::from(target.block_bytes));
            }
        })?),
    }
    Ok(())
}

/// A buffer with a block for each slot of a target.
fn filled(
    target: &LaneTarget,
    memory: &Memory<'_>,
    fill: impl FnOnce(&mut [u8]),
) -> Result<Arc<IoBuffer>, BufferError> {
    let buffer = match target.huge_page_bytes {
        // Large pages win (`release-2.3.md` §1.4).
        Some(page_bytes) => IoBuffer::with_large_pages(target.buffer_bytes(), page_bytes)?,
        None => IoBuffer::apart(target.buffer_bytes(), memory.separation_bytes)?,
    };
    buffer.with_slice_mut(0, buffer.len(), fill);
    Ok(Arc::new(buffer))
}

/// Where those buffers lie that the thread has for itself: the source that all threads share is on one node at most.
fn placed(buffers: &[Arc<IoBuffer>], lane: &Lane, span: &Span<'_>) -> Option<Placed> {
    let cpu = lane.work.cpu?;
    let node = span.several_nodes.as_ref()?.node_of(cpu)?;
    let sources: Vec<_> = span.targets.iter().filter_map(|state| state.write_source.as_ref()).collect();
    let own = buffers.iter().filter(|buffer| !sources.iter().any(|source| Arc::ptr_eq(source, buffer)));
    Some(look_at_nodes(lane.work.id, cpu, node, own.map(Arc::as_ref)))
}

/// Pages that are looked at in each buffer.
const SAMPLES: usize = 16;

/// Where a bound thread and its buffers lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub thread: BoundThread,
    /// Nodes other than that of its processor on which some of these pages lie.
    pub nodes: CpuSet,
    /// The system's text, when it does not tell where pages lie.
    pub unknown: Option<String>,
}

/// Looks where the buffers lie of the thread `id` that is bound to `processor`, which belongs to `node`.
fn look_at_nodes<'a>(
    id: u32,
    processor: u32,
    node: u32,
    buffers: impl Iterator<Item = &'a IoBuffer>,
) -> Placed {
    let pages = buffers.map(|buffer| buffer::nodes_of(buffer, SAMPLES)).collect();
    let thread = BoundThread { id, processor, node, buffer_pages_seen: None, buffer_pages_elsewhere: None };
    placed_by(thread, pages)
}

/// By the number of pages of each buffer on each node.
fn placed_by(mut thread: BoundThread, buffers: Vec<io::Result<BTreeMap<u32, usize>>>) -> Placed {
    let (mut seen, mut elsewhere, mut nodes) = (0, 0, Vec::new());
    for buffer in buffers {
        let found = match buffer {
            Ok(found) => found,
            Err(error) => {
                let (nodes, unknown) = (CpuSet::default(), Some(system_text(&error)));
                return Placed { thread, nodes, unknown };
            }
        };
        seen += found.values().sum::<usize>() as u64;
        for (other, count) in found.into_iter().filter(|&(other, _)| other != thread.node) {
            elsewhere += count as u64;
            nodes.push(other);
        }
    }
    (thread.buffer_pages_seen, thread.buffer_pages_elsewhere) = (Some(seen), Some(elsewhere));
    Placed { thread, nodes: CpuSet::new(nodes), unknown: None }
}

/// What decides where memory comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryRules {
    /// Nodes that have memory; `None` where the kernel does not tell.
    pub with_memory: Option<CpuSet>,
    /// Nodes that the process may take memory from; `None` where the kernel does not tell.
    pub allowed: Option<CpuSet>,
    /// Whether it was started with a policy.
    pub has_policy: Option<bool>,
}

impl MemoryRules {
    pub fn read(roots: &Roots) -> Self {
        MemoryRules {
            with_memory: nodes_with_memory(roots),
            allowed: allowed_nodes(roots),
            has_policy: buffer::has_memory_policy(),
        }
    }

    /// Why memory does not come from `node`, and what to do.
    fn reason(&self, node: u32) -> String {
        let [has_none, is_denied] = [&self.with_memory, &self.allowed]
            .map(|nodes| nodes.as_ref().is_some_and(|nodes| !nodes.contains(node)));
        if has_none {
            return format!(
                "node {node} has no memory: bind the threads to processors of nodes that have some (-a)"
            );
        }
        if is_denied {
            return format!(
                "this process may take no memory of node {node} (cpuset.mems of its cgroup, or of its container): \
                 allow it, or bind \
                 the threads to processors of the nodes it may use (-a)"
            );
        }
        match self.has_policy {
            Some(true) => {
                "the process was started with a memory policy, as by numactl: leave it out, or bind the \
                           threads to \
                           processors of its nodes (-a)"
                    .to_string()
            }
            _ => format!("node {node} had no such memory left: numactl --hardware shows what is free"),
        }
    }
}

/// One sentence about all threads whose buffers lie elsewhere, or are not known to lie right; `None` when all
/// is well.
pub fn node_note(threads: &[Placed], rules: &MemoryRules) -> Option<Note> {
    let mut apart = threads.iter().filter(|placed| placed.thread.buffer_pages_elsewhere > Some(0));
    let Some(Placed { thread, nodes, .. }) = apart.next() else {
        let text = threads.iter().find_map(|placed| placed.unknown.as_ref())?;
        return Some(Note::detail(format!(
            "whether the buffers lie on the nodes of the threads' processors is not known: {text}"
        )));
    };
    let of = match 1 + apart.count() {
        1 => String::new(),
        some => format!(
            "{} of {} threads have buffers on another node; ",
            grouped(some as u64),
            grouped(threads.len() as u64)
        ),
    };
    let nodes: String = nodes.clone().into();
    Some(Note::worth_telling(format!(
        "{of}thread {} runs on processor {} of node {}, and {} of {} pages of its buffers that were looked at lie on \
         node {nodes}, so that its I/O crosses the nodes: {}",
        thread.id,
        thread.processor,
        thread.node,
        grouped(thread.buffer_pages_elsewhere.unwrap_or(0)),
        grouped(thread.buffer_pages_seen.unwrap_or(0)),
        rules.reason(thread.node)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{LaneInputs, PlannedTarget, assign, lanes, ranges_of};
    use crate::profile::Target;
    use truespd_platform::sys::error::Code;

    fn on(nodes: &[(u32, usize)]) -> io::Result<BTreeMap<u32, usize>> {
        Ok(nodes.iter().copied().collect())
    }

    /// Thread `id` with its buffers.
    fn placed(id: u32, buffers: Vec<io::Result<BTreeMap<u32, usize>>>) -> Placed {
        let thread =
            BoundThread { id, processor: 65, node: 1, buffer_pages_seen: None, buffer_pages_elsewhere: None };
        placed_by(thread, buffers)
    }

    fn here(id: u32) -> Placed {
        placed(id, vec![on(&[(1, 16)]), on(&[(1, 1)]), on(&[])])
    }

    fn elsewhere(id: u32) -> Placed {
        placed(id, vec![on(&[(0, 12), (1, 4)]), on(&[(1, 16)])])
    }

    fn unknown(id: u32) -> Placed {
        placed(id, vec![on(&[(0, 1)]), Err(Code::NO_DEVICE.into())])
    }

    #[test]
    fn the_document_tells_where_a_thread_and_its_buffers_lie() {
        let expected = BoundThread {
            id: 7,
            processor: 65,
            node: 1,
            buffer_pages_seen: Some(32),
            buffer_pages_elsewhere: Some(12),
        };
        assert_eq!((elsewhere(7).thread, elsewhere(7).nodes), (expected, CpuSet::new(vec![0])));
        let here = here(7);
        let pages = (here.thread.buffer_pages_seen, here.thread.buffer_pages_elsewhere);
        assert_eq!((pages, here.nodes), ((Some(17), Some(0)), CpuSet::default()));
        let thread = unknown(7).thread;
        assert_eq!((thread.node, thread.buffer_pages_seen, thread.buffer_pages_elsewhere), (1, None, None));
    }

    fn told(threads: &[Placed], rules: &MemoryRules) -> String {
        let note = node_note(threads, rules).expect("a note");
        assert!(!note.is_detail, "{note:?}");
        note.words
    }

    #[test]
    fn what_lies_elsewhere_is_told_once_with_the_reason() {
        let here = |allowed: &[u32], has_policy| {
            let rules = MemoryRules {
                allowed: Some(CpuSet::new(allowed.to_vec())),
                has_policy,
                ..MemoryRules::default()
            };
            told(&[self::here(2), elsewhere(3)], &rules)
        };
        assert_eq!(
            here(&[0, 1], Some(false)),
            "thread 3 runs on processor 65 of node 1, and 12 of 32 pages of its buffers that were looked \
             at lie on node 0, so that its I/O crosses the nodes: node 1 had no such memory left: numactl \
             --hardware shows what is free"
        );
        assert!(here(&[0], Some(false)).contains("may take no memory of node 1 (cpuset.mems"));
        assert!(here(&[0, 1], Some(true)).contains("started with a memory policy"));
        let many: Vec<Placed> = (0..1000).map(elsewhere).collect();
        let without = MemoryRules {
            with_memory: Some(CpuSet::new(vec![0])),
            allowed: Some(CpuSet::new(vec![0])),
            has_policy: None,
        };
        let of_node = told(&[elsewhere(3)], &without);
        assert!(of_node.contains("node 1 has no memory: bind the threads"), "{of_node}");
        let told = told(&many, &MemoryRules::default());
        assert!(told.starts_with("1,000 of 1,000 threads have buffers on another node; thread 0 "), "{told}");
    }

    #[test]
    fn nothing_is_told_when_all_is_well_and_what_is_not_known_once() {
        assert_eq!(node_note(&[], &MemoryRules::default()), None);
        assert_eq!(node_note(&[here(0)], &MemoryRules::default()), None);
        let threads = [here(0), unknown(1), unknown(2)];
        let told = node_note(&threads, &MemoryRules::default()).expect("a note");
        assert!(told.words.ends_with("is not known: No such device") && told.is_detail, "{told:?}");
    }

    #[test]
    fn buffers_of_a_thread_begin_at_multiples_of_the_separation() {
        let target = Target { block_bytes: 4096, write_percent: 50, ..Target::default() };
        let asked = TimeSpan { targets: vec![target], ..TimeSpan::default() };
        let (range, places) = ranges_of(&asked, &asked.targets[0], 1 << 20).expect("it fits");
        let planned = PlannedTarget { size_bytes: 1 << 20, direct: None, by_commands: false, range, places };
        let inputs = LaneInputs { span: &asked, targets: &[&planned], engine: None, huge_page_bytes: 0 };
        let lanes = lanes(assign(&asked, &[]), &inputs).expect("it fits");
        let mut buffers = Vec::new();
        let memory = Memory { source: None, separation_bytes: 32 << 20 };
        allocate(&lanes[0].targets[0], &memory, &mut buffers).expect("memory");
        assert_eq!(buffers.len(), 2, "of reads and of writes");
        assert!(buffers.iter().all(|buffer| buffer.as_ptr().addr() % (32 << 20) == 0));
    }

    /// The real system call, as if the processor were on another node than the only one.
    #[test]
    fn a_buffer_of_this_machine() {
        let buffer = IoBuffer::new(64 << 10).expect("memory");
        buffer.with_slice_mut(0, buffer.len(), |all| all.fill(1));
        let of = look_at_nodes(0, 0, 9999, [&buffer].into_iter());
        match &of.unknown {
            None => assert_eq!(
                (of.thread.buffer_pages_seen, of.thread.buffer_pages_elsewhere),
                (Some(16), Some(16)),
                "no machine has that node: {of:?}"
            ),
            Some(text) => assert!(!text.is_empty()),
        }
    }
}

//! Everything a worker does before the start signal: pin, open, allocate, open the engine.
//!
//! Runs on the worker's own thread, so that memory is local to its processor and the ring belongs to it. What it needs
//! to know is in its lane.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::context::Note;
use super::span::Span;
use super::timeline::Buckets;
use super::worker::Worker;
use crate::access::data;
use crate::engine;
use crate::engine::{EngineFile, Opened, Setup};
use crate::fault::{Failure, FailureKind};
use crate::machine::limits::{allowed_nodes, nodes_with_memory};
use crate::machine::roots::Roots;
use crate::machine::topology::CpuSet;
use crate::plan::{Lane, LaneTarget, LaneWrites};
use crate::result::BoundThread;
use crate::sys::buffer;
use crate::sys::buffer::{BufferError, IoBuffer};
use crate::sys::error::system_text;
use crate::sys::thread::{keep_exact_time_on_this_thread, pin_to_processor};
use crate::text::grouped;

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
            .hint("lower -t or -F, or raise the limit of processes");
        StartFailure { thread, why }
    }
}

/// Prepares the worker of `lane` on the calling thread.
pub fn prepare(lane: &Lane, span: &Span<'_>) -> Result<Prepared, StartFailure> {
    prepare_here(lane, span).map_err(|why| StartFailure { thread: lane.work.id, why })
}

fn prepare_here(lane: &Lane, span: &Span<'_>) -> Result<Prepared, Failure> {
    if let Some(cpu) = lane.work.cpu {
        pin_to_processor(cpu).map_err(unprepared)?;
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
        parameters: lane.engine.parameters.clone(),
    };
    let (row, Opened { engine, notes }) = match lane.engine.row {
        Some(row) => engine::open(row, setup),
        None => engine::open_ladder(setup),
    }
    .map_err(unprepared)?;
    let mut worker = Worker::new(lane.clone(), engine, buffers, span.wanted);
    worker.buckets = Buckets::for_duration(span.lengths.duration_ns);
    if lane.work.cpu.is_none() && !span.is_virtual {
        // Simulated time has no processors: a simulated run is the same each time.
        worker.buckets = worker.buckets.noting_processors();
    }
    worker.latencies = span.latencies.of_thread(lane.work.id);
    worker.progress_ios = u64::from(span.progress_ios);
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
        allocate(target, state.write_source.as_ref(), &mut buffers).map_err(|error| {
            let words = format!("Could not allocate a buffer for target '{}'", state.typed);
            Failure::new(FailureKind::Resource, words).on(&state.typed).because(error)
        })?;
    }
    Ok(buffers)
}

/// The buffers of one target. They are touched now, so that no page fault falls into the measurement.
fn allocate(
    target: &LaneTarget,
    source: Option<&Arc<IoBuffer>>,
    buffers: &mut Vec<Arc<IoBuffer>>,
) -> Result<(), BufferError> {
    if target.reads {
        buffers.push(filled(target, |bytes| bytes.fill(0))?);
    }
    match target.writes {
        LaneWrites::None => {}
        LaneWrites::Zero | LaneWrites::Random => buffers.push(filled(target, |bytes| bytes.fill(0))?),
        LaneWrites::Source(_) => {
            let source = source.expect("a target whose writes have a source is opened with it");
            buffers.push(Arc::clone(source));
        }
        LaneWrites::Pattern { first } => buffers.push(filled(target, |bytes| {
            for (slot, block) in (0u64..).zip(bytes.chunks_mut(target.slot_stride_bytes as usize)) {
                data::fill_pattern(block, first + slot * u64::from(target.block_bytes));
            }
        })?),
    }
    Ok(())
}

/// A buffer with a block for each slot of a target.
fn filled(target: &LaneTarget, fill: impl FnOnce(&mut [u8])) -> Result<Arc<IoBuffer>, BufferError> {
    let buffer = match target.huge_page_bytes {
        Some(page_bytes) => IoBuffer::with_large_pages(target.buffer_bytes(), page_bytes)?,
        None => IoBuffer::new(target.buffer_bytes())?,
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
    Some(look_at_nodes(cpu, node, own.map(Arc::as_ref)))
}

/// Pages that are looked at in each buffer.
const SAMPLES: usize = 16;

/// Where a bound thread and its buffers lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub cpu: u32,
    pub node: u32,
    /// Its buffers; or the system's text, when it does not tell.
    pub pages: Result<Pages, String>,
}

/// Pages of a thread's buffers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pages {
    /// Pages that were looked at.
    pub seen: usize,
    /// Pages among them that lie on another node than the thread's processor.
    pub elsewhere: usize,
    pub nodes: CpuSet,
}

impl Placed {
    pub fn of_thread(&self, id: u32) -> BoundThread {
        let pages = self.pages.as_ref().ok();
        BoundThread {
            id,
            processor: self.cpu,
            node: self.node,
            buffer_pages_seen: pages.map(|pages| pages.seen as u64),
            buffer_pages_elsewhere: pages.map(|pages| pages.elsewhere as u64),
        }
    }
}

/// Looks where the buffers lie of a thread that is bound to `cpu`, which belongs to `node`.
fn look_at_nodes<'a>(cpu: u32, node: u32, buffers: impl Iterator<Item = &'a IoBuffer>) -> Placed {
    let pages: Vec<_> = buffers.map(|buffer| buffer::nodes_of(buffer, SAMPLES)).collect();
    Placed { cpu, node, pages: counted(node, pages).map_err(|error| system_text(&error)) }
}

fn counted(node: u32, buffers: Vec<io::Result<BTreeMap<u32, usize>>>) -> io::Result<Pages> {
    let (mut seen, mut elsewhere, mut nodes) = (0, 0, Vec::new());
    for buffer in buffers {
        let found = buffer?;
        seen += found.values().sum::<usize>();
        for (other, count) in found.into_iter().filter(|&(other, _)| other != node) {
            elsewhere += count;
            nodes.push(other);
        }
    }
    Ok(Pages { seen, elsewhere, nodes: CpuSet::new(nodes) })
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
        let is_outside = |nodes: &Option<CpuSet>| nodes.as_ref().is_some_and(|nodes| !nodes.contains(node));
        if is_outside(&self.with_memory) {
            return format!(
                "node {node} has no memory: bind the threads to processors of nodes that have some (-a)"
            );
        }
        if is_outside(&self.allowed) {
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
/// is well. The threads by their numbers.
pub fn node_note(threads: &[(u32, Placed)], rules: &MemoryRules) -> Option<Note> {
    let apart = threads.iter().filter_map(|(id, placed)| {
        let pages = placed.pages.as_ref().ok().filter(|pages| pages.elsewhere > 0)?;
        Some((id, placed, pages))
    });
    let apart: Vec<_> = apart.collect();
    let Some((id, Placed { cpu, node, .. }, pages)) = apart.first() else {
        let unknown = threads.iter().find_map(|(_, placed)| placed.pages.as_ref().err());
        return unknown.map(|text| {
            Note::detail(format!(
                "whether the buffers lie on the nodes of the threads' processors is not known: {text}"
            ))
        });
    };
    let nodes: String = pages.nodes.clone().into();
    let of = match (apart.len(), threads.len()) {
        (1, _) => String::new(),
        (some, all) => format!(
            "{} of {} threads have buffers on another node; ",
            grouped(some as u64),
            grouped(all as u64)
        ),
    };
    Some(Note::worth_telling(format!(
        "{of}thread {id} runs on processor {cpu} of node {node}, and {} of {} pages of its buffers that were looked \
         at lie on node \
         {nodes}, so that its I/O crosses the nodes: {}",
        grouped(pages.elsewhere as u64),
        grouped(pages.seen as u64),
        rules.reason(*node)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::error::Code;

    fn on(nodes: &[(u32, usize)]) -> io::Result<BTreeMap<u32, usize>> {
        Ok(nodes.iter().copied().collect())
    }

    fn placed(pages: Result<Pages, &str>) -> Placed {
        Placed { cpu: 65, node: 1, pages: pages.map_err(String::from) }
    }

    fn here() -> Placed {
        placed(Ok(Pages { seen: 17, ..Pages::default() }))
    }

    fn elsewhere() -> Placed {
        let pages = counted(1, vec![on(&[(0, 12), (1, 4)]), on(&[(1, 16)])]).expect("both are told");
        placed(Ok(pages))
    }

    #[test]
    fn pages_of_all_buffers_count() {
        let all_here = counted(1, vec![on(&[(1, 16)]), on(&[(1, 1)]), on(&[])]).expect("all are told");
        assert_eq!(all_here, Pages { seen: 17, ..Pages::default() });
        let expected = Pages { seen: 32, elsewhere: 12, nodes: CpuSet::new(vec![0]) };
        assert_eq!(elsewhere().pages, Ok(expected));
        assert!(counted(1, vec![on(&[(0, 1)]), Err(Code::NO_DEVICE.into())]).is_err());
    }

    #[test]
    fn the_document_tells_where_a_thread_and_its_buffers_lie() {
        let of = |placed: Placed| placed.of_thread(7);
        let expected = BoundThread {
            id: 7,
            processor: 65,
            node: 1,
            buffer_pages_seen: Some(32),
            buffer_pages_elsewhere: Some(12),
        };
        assert_eq!(of(elsewhere()), expected);
        let unknown = of(placed(Err("refused")));
        assert_eq!(
            (unknown.node, unknown.buffer_pages_seen, unknown.buffer_pages_elsewhere),
            (1, None, None)
        );
    }

    fn told(threads: &[(u32, Placed)], rules: &MemoryRules) -> String {
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
            told(&[(2, self::here()), (3, elsewhere())], &rules)
        };
        assert_eq!(
            here(&[0, 1], Some(false)),
            "thread 3 runs on processor 65 of node 1, and 12 of 32 pages of its buffers that were looked \
             at lie on node 0, so that its I/O crosses the nodes: node 1 had no such memory left: numactl \
             --hardware shows what is free"
        );
        assert!(here(&[0], Some(false)).contains("may take no memory of node 1 (cpuset.mems"));
        assert!(here(&[0, 1], Some(true)).contains("started with a memory policy"));
        let many: Vec<(u32, Placed)> = (0..1000).map(|id| (id, elsewhere())).collect();
        let without = MemoryRules {
            with_memory: Some(CpuSet::new(vec![0])),
            allowed: Some(CpuSet::new(vec![0])),
            has_policy: None,
        };
        let of_node = told(&[(3, elsewhere())], &without);
        assert!(of_node.contains("node 1 has no memory: bind the threads"), "{of_node}");
        let told = told(&many, &MemoryRules::default());
        assert!(told.starts_with("1,000 of 1,000 threads have buffers on another node; thread 0 "), "{told}");
    }

    #[test]
    fn nothing_is_told_when_all_is_well_and_what_is_not_known_once() {
        assert_eq!(node_note(&[], &MemoryRules::default()), None);
        assert_eq!(node_note(&[(0, here())], &MemoryRules::default()), None);
        let threads = [(0, here()), (1, placed(Err("refused"))), (2, placed(Err("refused")))];
        let told = node_note(&threads, &MemoryRules::default()).expect("a note");
        assert!(told.words.ends_with("is not known: refused") && told.is_detail, "{told:?}");
    }

    /// The real system call, as if the processor were on another node than the only one.
    #[test]
    fn a_buffer_of_this_machine() {
        let buffer = IoBuffer::new(64 << 10).expect("memory");
        buffer.with_slice_mut(0, buffer.len(), |all| all.fill(1));
        match look_at_nodes(0, 9999, [&buffer].into_iter()).pages {
            Ok(of) => assert_eq!((of.seen, of.elsewhere), (16, 16), "no machine has that node: {of:?}"),
            Err(text) => assert!(!text.is_empty()),
        }
    }
}

//! A lane is one thread of a time span with everything that it needs to start: `load` looks nothing up again
//! (`io-semantics.md` §1, §2, §3, §7, §10, §11).
//!
//! [`assign`] says which thread does what, before any target is open; [`ranges_of`] says where the I/Os of a target may
//! go, once its size is known; [`lanes()`] makes of both what a worker owns.

use std::sync::Arc;

use crate::access::{
    EffectiveDistribution, Pace, Pattern, PatternSpec, Places, PoolChoice, RangeError, RangeSpec, Rng,
    SharedOffset, Skew, SourceWindow, UsableRange, Varied, WriteData, Zipf,
};
use crate::engine::{self, EngineRow, MapFlush, MapMode, Op};
use crate::profile::{Batch, FlushMode, IoPriority, Target, TimeSpan};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::machine::storage::DirectAlignment;
use truespd_platform::sys::thread::IoPrio;

/// DiskSpd takes at most this many completions at a time (`io-semantics.md` §2).
const REAP_BATCH_MAX: u32 = 16;
/// Direct I/Os, and with stamps all others, handed over at a time when nothing else is asked for. The block
/// layer holds a batch back until its last I/O is prepared, and the device runs dry meanwhile: all 16 that
/// came back at once cost up to a tenth of the IOPS of a fast disk, single ones a quarter more processor
/// time. (I/O through the page cache is finished by the call that hands it over: there all at once is best.)
const DIRECT_BATCH: u32 = 4;

/// What a thread does on one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duty {
    /// Index into the time span's targets.
    pub target: usize,
    /// Thread number that positions depend on (`k`): within the target, or the global one.
    pub relative_thread: u32,
    /// Request slots with buffers for this target; in pool mode every slot of the thread.
    pub requests: u32,
    /// Share in pool mode.
    pub weight: u32,
    /// Threads that work on the target.
    pub sharers: u32,
}

/// The work of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadWork {
    /// Global thread number, from 0.
    pub id: u32,
    /// Seed of the thread's generator: `(seed + id) mod 2^32`.
    pub seed: u32,
    /// Kernel CPU id to run on.
    pub cpu: Option<u32>,
    /// One per target that the thread serves.
    pub duties: Vec<Duty>,
    /// Outstanding I/Os of the thread over all targets.
    pub slots: u32,
    /// Each I/O goes to a randomly chosen target.
    pub is_pool: bool,
}

/// A target that is open, as far as lanes depend on it.
#[derive(Debug, Clone)]
pub struct PlannedTarget {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What direct I/O on it must be a multiple of.
    pub direct: Option<DirectAlignment>,
    /// It takes NVMe commands only.
    pub by_commands: bool,
    /// The part of it that is tested.
    pub range: UsableRange,
    /// How random offsets are distributed on a target of this size.
    pub places: Places,
}

/// What the lanes of a time span are made of.
#[derive(Debug, Clone, Copy)]
pub struct LaneInputs<'a> {
    /// What is asked for.
    pub span: &'a TimeSpan,
    /// The targets, in the order of the time span.
    pub targets: &'a [&'a PlannedTarget],
    /// `--engine`, with the text after the colon.
    pub engine: Option<(&'static EngineRow, &'a str)>,
    /// Size of a huge page, for `-l`.
    pub huge_page_bytes: usize,
}

/// One thread, ready to be started. Its worker owns a copy, which lies on the memory node of the thread.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Number, seed, processor and shares of the thread.
    pub work: ThreadWork,
    /// What to open it with.
    pub engine: LaneEngine,
    /// How it hands I/Os over and takes them back.
    pub dispatch: Dispatch,
    /// Pool mode: aims each I/O at a random target.
    pub pool: Option<PoolChoice>,
    /// Draws offsets, directions and targets.
    pub rng: Rng,
    /// One per target that the thread serves, in the order of its duties.
    pub targets: Vec<LaneTarget>,
}

/// The engine of a lane.
#[derive(Debug, Clone)]
pub struct LaneEngine {
    /// The one to open; `None`: the best one that the machine offers.
    pub row: Option<&'static EngineRow>,
    /// The text after the colon of `--engine`.
    pub parameters: String,
    /// Register buffers with the kernel where the engine can (`-u` without `n`).
    pub registered_buffers: bool,
}

/// How a worker hands over and takes back. An engine that finishes I/Os in the call that hands them over gets them one
/// at a time and has no use for completion routines, whatever stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// I/Os handed over at a time, at most.
    pub submit_batch: u32,
    /// One at a time as long as I/Os come back in the call that hands them over, because each would wait for
    /// the rest of its batch.
    pub no_batching_when_fast: bool,
    /// Completions taken at a time.
    pub reap_batch: u32,
    /// Look for completions after every batch although slots are still idle.
    pub poll_after_batch: bool,
    /// Each completion reissues its own request at once (`-x`).
    pub reissue_own: bool,
}

/// What a thread does on one target, resolved: where its I/Os go, what they move, how fast.
#[allow(missing_docs)]
#[derive(Debug, Clone)]
pub struct LaneTarget {
    /// The share of the thread, and which target of the time span it is.
    pub duty: Duty,
    /// First request slot; 0 in pool mode, where every slot may use every target.
    pub slot_first: u32,
    /// Size of the largest I/O.
    pub block_bytes: u32,
    /// Sizes of a mix (`--mix`), ascending; empty without one.
    pub sizes: Vec<u32>,
    /// Distance between two slots in a buffer.
    pub slot_stride_bytes: u64,
    /// Where the next I/O goes.
    pub pattern: Pattern,
    /// In its place, where I/Os differ in size, or flushes or trims are among them.
    pub varied: Option<Box<Varied>>,
    /// How its flushes are made (`--flush-every`).
    pub flush: Op,
    /// The one offset that interlocked threads share.
    pub shared: Arc<SharedOffset>,
    pub pace: Pace,
    pub reads: bool,
    pub writes: LaneWrites,
    /// Writes are stamped over that (`--verify`).
    pub verify: bool,
    /// Number of the buffer that reads go to, among all buffers of the thread.
    pub read_region: u32,
    /// Number of the buffer that writes come from: the thread's own, or the source that all threads share.
    pub write_region: u32,
    /// Buffers lie in huge pages of this size (`-l`).
    pub huge_page_bytes: Option<usize>,
    /// Size of the target in bytes.
    pub size_bytes: u64,
    /// Kernel I/O priority of each request (`-I`).
    pub ioprio: IoPrio,
    /// Mapped I/O instead of calls (`-Sm`).
    pub map: Option<MapMode>,
}

/// What the writes of a thread on one target hold (`io-semantics.md` §10).
#[derive(Debug, Clone, Copy)]
pub enum LaneWrites {
    /// The test writes no data.
    None,
    /// Zeros (`-Z`).
    Zero,
    /// The bytes 0 to 255 in turn; the first slot begins at this position of the pattern.
    Pattern {
        /// Bytes of the pattern before it.
        first: u64,
    },
    /// New random bytes each time (`-Zr`).
    Random,
    /// Windows of the source that all threads share (`-Z<size>`).
    Source(SourceWindow),
}

/// Distributes the time span over threads; `cpus` is the order of pinning, empty for none.
pub fn assign(span: &TimeSpan, cpus: &[u32]) -> Vec<ThreadWork> {
    let mut threads = if span.thread_count > 0 { fixed(span) } else { per_target(span) };
    for (thread, id) in threads.iter_mut().zip(0u32..) {
        thread.id = id;
        thread.seed = span.rand_seed.wrapping_add(id);
        thread.cpu = (!cpus.is_empty()).then(|| cpus[id as usize % cpus.len()]);
    }
    threads
}

fn work(duties: Vec<Duty>, slots: u32, is_pool: bool) -> ThreadWork {
    ThreadWork { id: 0, seed: 0, cpu: None, duties, slots, is_pool }
}

/// `-t`: each target has threads of its own.
fn per_target(span: &TimeSpan) -> Vec<ThreadWork> {
    let mut threads = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        for k in 0..target.threads_per_file {
            let duty = Duty {
                target: index,
                relative_thread: k,
                requests: target.request_count,
                weight: target.weight,
                sharers: target.threads_per_file,
            };
            threads.push(work(vec![duty], target.request_count, false));
        }
    }
    threads
}

/// `-F`: each thread serves all targets, or those that a profile assigns to it.
fn fixed(span: &TimeSpan) -> Vec<ThreadWork> {
    let is_pool = span.is_pool();
    let mut threads = Vec::new();
    for thread in 0..span.thread_count {
        let mut duties = Vec::new();
        for (index, target) in span.targets.iter().enumerate() {
            let assigned = target.thread_targets.iter().find(|t| t.thread == thread);
            if !target.thread_targets.is_empty() && assigned.is_none() {
                continue;
            }
            let own = assigned.map(|t| t.weight).filter(|&w| w > 0);
            duties.push(Duty {
                target: index,
                relative_thread: thread,
                requests: if is_pool { span.request_count } else { target.request_count },
                weight: own.unwrap_or(target.weight),
                sharers: span.threads_on(target),
            });
        }
        let slots = if is_pool {
            span.request_count
        } else {
            duties.iter().fold(0, |slots: u32, duty| slots.saturating_add(duty.requests))
        };
        threads.push(work(duties, slots, is_pool));
    }
    threads
}

/// The part of a target of this size that is tested, and how random offsets are distributed in it; or why some thread
/// could not start there. The message begins with the phrase that DiskSpd's users look for.
///
/// # Errors
/// It names the target.
pub fn ranges_of(
    span: &TimeSpan,
    target: &Target,
    size_bytes: u64,
) -> Result<(UsableRange, Places), Failure> {
    let range =
        UsableRange::new(RangeSpec::of(target, size_bytes)).map_err(|error| no_range(target, error))?;
    // Positions depend on the thread's number: the global one with -F, whoever serves the target.
    let threads = if span.thread_count > 0 { span.thread_count } else { target.threads_per_file };
    range.start_of(threads.saturating_sub(1)).map_err(|error| no_range(target, error))?;
    if let Some(exponent) = target.zipf {
        // One hot set for all threads, which the seed chooses.
        let zipf = Zipf::new(exponent.get(), range.positions(), u64::from(span.rand_seed));
        return Ok((range, Places::Zipf(Arc::new(zipf))));
    }
    let Some(asked) = &target.distribution else { return Ok((range, Places::Uniform)) };
    match EffectiveDistribution::new(asked, &range) {
        Ok(distribution) => Ok((range, Places::Ranges(Arc::new(distribution)))),
        Err(error) => Err(not_opened(target, format!("'{}'", target.path)).because(error)),
    }
}

fn no_range(target: &Target, error: RangeError) -> Failure {
    let words = match error {
        RangeError::SizeUnknown | RangeError::TooLarge { .. } => "Error getting file size:",
        _ => "The file is too small. File:",
    };
    not_opened(target, format!("{words} '{}'", target.path)).because(error)
}

fn not_opened(target: &Target, words: String) -> Failure {
    Failure::new(FailureKind::Open, words).on(&target.path)
}

impl Dispatch {
    /// As asked (`-u`), otherwise what is cheapest: see [`DIRECT_BATCH`].
    fn new(span: &TimeSpan, work: &ThreadWork) -> Self {
        let asked = span.ring.map(|ring| match ring.batch {
            Batch::Count(n) => n.clamp(1, work.slots),
            Batch::Percent(p) => (u64::from(work.slots) * u64::from(p)).div_ceil(100).max(1) as u32,
        });
        let stamps = span.measure_latency || span.calculate_iops_std_dev;
        let no_batching_when_fast = asked.is_none() && stamps && !span.completion_routines;
        let is_direct = work.duties.iter().any(|duty| span.targets[duty.target].is_direct());
        let submit_batch = match asked {
            Some(n) => n,
            None if is_direct || no_batching_when_fast => DIRECT_BATCH.min(work.slots),
            None => work.slots,
        };
        Dispatch {
            submit_batch,
            no_batching_when_fast,
            reap_batch: span.completion_batch.map_or(work.slots.min(REAP_BATCH_MAX), |n| n.max(1)),
            poll_after_batch: stamps || asked.is_some() || submit_batch < work.slots,
            reissue_own: span.completion_routines,
        }
    }
}

/// The lanes of all threads. Those of one call share the offsets of interlocked targets.
///
/// # Errors
/// A thread does not fit its target.
pub fn lanes(works: Vec<ThreadWork>, inputs: &LaneInputs<'_>) -> Result<Vec<Lane>, Failure> {
    let shared: Vec<Arc<SharedOffset>> = inputs.targets.iter().map(|_| Arc::default()).collect();
    let mut lanes = Vec::with_capacity(works.len());
    for work in works {
        let id = work.id;
        let lane = Lane::new(work, inputs, &shared);
        lanes.push(lane.map_err(|why| Failure::new(FailureKind::Thread, format!("thread {id}: {why}")))?);
    }
    Ok(lanes)
}

impl Lane {
    fn new(
        work: ThreadWork,
        inputs: &LaneInputs<'_>,
        shared: &[Arc<SharedOffset>],
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let mut rng = Rng::for_thread(work.seed, 0);
        let mut targets = Vec::with_capacity(work.duties.len());
        let (mut slot_first, mut regions) = (0, 0);
        for duty in &work.duties {
            let target = LaneTarget::new(*duty, slot_first, regions, inputs, shared, &mut rng)?;
            slot_first += if work.is_pool { 0 } else { duty.requests };
            regions += u32::from(target.reads) + u32::from(target.is_written());
            targets.push(target);
        }
        let weights: Vec<u32> = work.duties.iter().map(|duty| duty.weight).collect();
        Ok(Lane {
            engine: LaneEngine::new(&work, inputs),
            dispatch: Dispatch::new(inputs.span, &work),
            pool: if work.is_pool { Some(PoolChoice::new(&weights)?) } else { None },
            rng,
            targets,
            work,
        })
    }

    /// Target of each request slot, as an index into [`Lane::targets`]; all 0 in pool mode.
    pub fn slot_targets(&self) -> Vec<u32> {
        if self.work.is_pool {
            return vec![0; self.work.slots as usize];
        }
        let each = self.targets.iter().zip(0u32..);
        each.flat_map(|(target, index)| std::iter::repeat_n(index, target.duty.requests as usize)).collect()
    }
}

impl LaneEngine {
    /// The engine asked for, else that of NVMe commands for targets which take only those, else io_uring when
    /// `-u` asks for it, else what DiskSpd's table implies (`io-semantics.md` §1).
    fn new(work: &ThreadWork, inputs: &LaneInputs<'_>) -> Self {
        let ring = inputs.span.ring;
        let by_commands = work.duties.iter().any(|duty| inputs.targets[duty.target].by_commands);
        let row = match inputs.engine {
            Some((row, _)) => Some(row),
            None if by_commands => Some(engine::of_commands()),
            None if ring.is_some() && work.slots == 1 => engine::find("io_uring"),
            None => None,
        };
        LaneEngine {
            row,
            parameters: inputs.engine.map_or_else(String::new, |(_, parameters)| parameters.to_string()),
            registered_buffers: ring.is_none_or(|r| r.registered_buffers),
        }
    }
}

impl LaneTarget {
    /// `region` is the number of its first buffer. Takes the draws that the thread makes before it starts.
    fn new(
        duty: Duty,
        slot_first: u32,
        region: u32,
        inputs: &LaneInputs<'_>,
        shared: &[Arc<SharedOffset>],
        rng: &mut Rng,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let target = &inputs.span.targets[duty.target];
        let PlannedTarget { size_bytes, direct, range, places, .. } = inputs.targets[duty.target];
        // What addresses of buffers must be multiples of.
        let direct = if target.is_direct() { *direct } else { None };
        let memory_alignment_bytes = direct.map_or(1, |d| d.memory_bytes.max(1));
        let start = range.start_of(duty.relative_thread)?;
        let writes = match WriteData::of(target, inputs.span.random_write_data) {
            _ if !target.writes_data() => LaneWrites::None,
            WriteData::Zero => LaneWrites::Zero,
            WriteData::Pattern => {
                LaneWrites::Pattern { first: target.block_bytes * u64::from(duty.requests) }
            }
            WriteData::Random => LaneWrites::Random,
            WriteData::Source { size_bytes } => {
                let granularity = SourceWindow::granularity_bytes(target.is_direct(), memory_alignment_bytes);
                LaneWrites::Source(SourceWindow::new(size_bytes, target.block_bytes, granularity)?)
            }
        };
        let spec = PatternSpec::of(target, start, duty.requests, places.clone());
        Ok(LaneTarget {
            duty,
            slot_first,
            block_bytes: target.block_bytes as u32,
            sizes: if target.mix.is_empty() {
                Vec::new()
            } else {
                target.sizes().into_iter().map(|bytes| bytes as u32).collect()
            },
            slot_stride_bytes: target.block_bytes.next_multiple_of(memory_alignment_bytes),
            varied: Varied::new(&spec, rng).map(Box::new),
            pattern: Pattern::new(spec, rng),
            flush: if target.flush_every.is_some_and(|flush| flush.data_only) {
                Op::FlushData
            } else {
                Op::Flush
            },
            shared: Arc::clone(&shared[duty.target]),
            pace: Pace::of(target, duty.sharers)?,
            reads: target.reads(),
            writes,
            verify: target.verify,
            read_region: region,
            write_region: region + u32::from(target.reads()),
            huge_page_bytes: target.large_pages.then_some(inputs.huge_page_bytes),
            size_bytes: *size_bytes,
            ioprio: ioprio(target.priority),
            map: target.memory_mapped.then(|| map_mode(target)),
        })
    }

    /// Whether some of the I/Os are flushes.
    pub fn flushes(&self) -> bool {
        self.varied.as_ref().is_some_and(|varied| varied.flushes())
    }

    /// Whether some of the I/Os are trims.
    pub fn trims(&self) -> bool {
        self.varied.as_ref().is_some_and(|varied| varied.trims())
    }

    /// What became of Zipf's law so far; none without one.
    pub fn skew(&self) -> Option<Skew> {
        match &self.varied {
            Some(varied) => varied.skew(),
            None => self.pattern.skew(),
        }
    }

    /// Whether some I/Os write data.
    pub fn is_written(&self) -> bool {
        !matches!(self.writes, LaneWrites::None)
    }

    /// Size of a buffer with a block for each slot, in bytes.
    pub fn buffer_bytes(&self) -> usize {
        usize::try_from(self.slot_stride_bytes * u64::from(self.duty.requests)).unwrap_or(usize::MAX)
    }
}

fn ioprio(priority: IoPriority) -> IoPrio {
    match priority {
        IoPriority::VeryLow => IoPrio::IDLE,
        IoPriority::Low => IoPrio::BEST_EFFORT_LOWEST,
        IoPriority::Normal => IoPrio::NONE,
    }
}

fn map_mode(target: &Target) -> MapMode {
    MapMode {
        non_temporal: target.write_through,
        flush: target.flush.map(|f| match f {
            FlushMode::ViewOfFile => MapFlush::View,
            FlushMode::NonVolatileMemory => MapFlush::CacheLines,
            FlushMode::NonVolatileMemoryNoDrain => MapFlush::CacheLinesNoDrain,
        }),
        read_only: !target.writes(),
    }
}

#[cfg(test)]
#[path = "tests_lanes.rs"]
mod tests;

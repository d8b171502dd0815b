//! A lane is one thread of a time span with everything that it needs to start: `load` looks nothing up again
//! (`io-semantics.md` §1, §2, §10).

use std::sync::Arc;

use super::{Duty, TargetRanges, ThreadWork};
use crate::access::{Pace, PatternSpec, PoolChoice, SharedOffset, SourceWindow, WriteData};
use crate::engine::{self, EngineRow, MapFlush, MapMode};
use crate::fault::{Failure, FailureKind};
use crate::machine::storage::DirectAlignment;
use crate::profile::{Batch, FlushMode, IoPriority, Target, TimeSpan};
use crate::sys::thread::IoPrio;

/// DiskSpd takes at most this many completions at a time (`io-semantics.md` §2).
const REAP_BATCH_MAX: u32 = 16;
/// Direct I/Os, and with stamps all others, handed over at a time when nothing else is asked for. The block
/// layer holds a batch back until its last I/O is prepared, and the device runs dry meanwhile: all 16 that
/// came back at once cost up to a tenth of the IOPS of a fast disk, single ones a quarter more processor
/// time. (I/O through the page cache is finished by the call that hands it over: there all at once is best.)
const DIRECT_BATCH: u32 = 4;

/// What is known of a target once it is open.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTarget<'a> {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What direct I/O on it must be a multiple of.
    pub direct: Option<DirectAlignment>,
    /// It takes NVMe commands only.
    pub by_commands: bool,
    /// Where threads may go on it, and how fast.
    pub ranges: &'a TargetRanges,
}

/// What the lanes of a time span are made of.
#[derive(Debug, Clone, Copy)]
pub struct LaneInputs<'a> {
    /// What is asked for.
    pub span: &'a TimeSpan,
    /// The targets, in the order of the time span.
    pub targets: &'a [PlannedTarget<'a>],
    /// `--engine`, with the text after the colon.
    pub engine: Option<(&'static EngineRow, &'a str)>,
    /// Size of a huge page, for `-l`.
    pub huge_page_bytes: usize,
}

/// One thread, ready to be started.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Number, seed, processor and shares of the thread.
    pub work: ThreadWork,
    /// What to open it with.
    pub engine: LaneEngine,
    /// Batches.
    pub dispatch: Dispatches,
    /// Pool mode: aims each I/O at a random target.
    pub pool: Option<PoolChoice>,
    /// One per target that the thread serves.
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

/// How a worker hands over and takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// I/Os handed over at a time, at most.
    pub submit_batch: u32,
    /// One at a time as long as I/Os come back in the call that hands them over, because each would wait for
    /// the rest of its batch.
    pub spares_answered_at_once: bool,
    /// Completions taken at a time.
    pub reap_batch: u32,
    /// Look for completions after every batch although slots are still idle.
    pub poll_after_batch: bool,
    /// Each completion reissues its own request at once (`-x`).
    pub reissue_own: bool,
}

/// Batches by what the opened engine turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatches {
    /// I/Os are in flight after they were handed over.
    pub queued: Dispatch,
    /// I/Os are finished when they are handed over.
    pub inline: Dispatch,
}

/// What a thread does on one target.
#[derive(Debug, Clone)]
pub struct LaneTarget {
    /// Index into the time span's targets.
    pub index: usize,
    /// First request slot; 0 in pool mode, where every slot may use every target.
    pub slot_first: u32,
    /// Request slots with buffers for this target.
    pub slots: u32,
    /// I/O size.
    pub block_bytes: u32,
    /// Distance between two slots in a buffer.
    pub slot_stride_bytes: u64,
    /// Where the I/Os go.
    pub pattern: PatternSpec,
    /// The one offset that interlocked threads share.
    pub shared: Arc<SharedOffset>,
    /// Rate limit or pauses.
    pub pace: Pace,
    /// Some I/Os read.
    pub reads: bool,
    /// What writes hold.
    pub writes: LaneWrites,
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
    /// The test does not write.
    None,
    /// Zeros (`-Z`).
    Zero,
    /// The bytes 0 to 255 in turn; the first slot begins at this position of the pattern.
    Pattern {
        /// Bytes before it.
        first: u64,
    },
    /// New random bytes each time (`-Zr`).
    Random,
    /// Windows of the source that all threads share (`-Z<size>`).
    Source(SourceWindow),
}

impl Dispatches {
    /// Those of an engine.
    pub fn of(&self, is_inline: bool) -> Dispatch {
        if is_inline { self.inline } else { self.queued }
    }

    /// As asked (`-u`), otherwise what is cheapest: see [`DIRECT_BATCH`].
    fn new(span: &TimeSpan, work: &ThreadWork) -> Self {
        let of_batch = |batch: Batch| match batch {
            Batch::Count(n) => n.clamp(1, work.slots),
            Batch::Percent(p) => (u64::from(work.slots) * u64::from(p) / 100).max(1) as u32,
        };
        let asked = span.ring.map(|r| of_batch(r.batch));
        let stamps = span.measure_latency || span.calculate_iops_std_dev;
        let spares_answered_at_once = asked.is_none() && stamps && !span.completion_routines;
        let is_direct = work.duties.iter().any(|duty| span.targets[duty.target].is_direct());
        let queued = match asked {
            Some(n) => n,
            None if is_direct || spares_answered_at_once => DIRECT_BATCH.min(work.slots),
            None => work.slots,
        };
        let of = |submit_batch: u32, reissue_own: bool, spares_answered_at_once: bool| Dispatch {
            submit_batch,
            spares_answered_at_once,
            reap_batch: span.completion_batch.map_or(work.slots.min(REAP_BATCH_MAX), |n| n.max(1)),
            poll_after_batch: stamps || asked.is_some() || submit_batch < work.slots,
            reissue_own,
        };
        Dispatches {
            queued: of(queued, span.completion_routines, spares_answered_at_once),
            inline: of(1, false, false),
        }
    }
}

/// The lanes of all threads. Those of one call share the offsets of interlocked targets.
///
/// # Errors
/// A thread does not fit its target.
pub fn lanes(works: &[ThreadWork], inputs: &LaneInputs<'_>) -> Result<Vec<Lane>, Failure> {
    let shared: Vec<Arc<SharedOffset>> = inputs.targets.iter().map(|_| Arc::default()).collect();
    works.iter().map(|work| lane(work, inputs, &shared)).collect()
}

fn lane(work: &ThreadWork, inputs: &LaneInputs<'_>, shared: &[Arc<SharedOffset>]) -> Result<Lane, Failure> {
    let unfit =
        |why: &dyn std::fmt::Display| Failure::new(FailureKind::Thread, format!("thread {}: {why}", work.id));
    let weights = || work.duties.iter().map(|duty| duty.weight).collect::<Vec<_>>();
    let mut targets = Vec::with_capacity(work.duties.len());
    let mut slot_first = 0;
    for duty in &work.duties {
        let shared = Arc::clone(&shared[duty.target]);
        targets.push(lane_target(duty, slot_first, inputs, shared).map_err(|e| unfit(&e))?);
        slot_first += if work.is_pool { 0 } else { duty.requests };
    }
    Ok(Lane {
        engine: lane_engine(work, inputs),
        dispatch: Dispatches::new(inputs.span, work),
        pool: work.is_pool.then(|| PoolChoice::new(&weights())).transpose().map_err(|e| unfit(&e))?,
        targets,
        work: work.clone(),
    })
}

/// The engine asked for, else that of NVMe commands for targets which take only those, else io_uring when
/// `-u` asks for it, else what DiskSpd's table implies (`io-semantics.md` §1).
fn lane_engine(work: &ThreadWork, inputs: &LaneInputs<'_>) -> LaneEngine {
    let ring = inputs.span.ring;
    let of_ring = || ring.and_then(|_| engine::find("io_uring")).filter(|_| work.slots == 1);
    let by_commands = work.duties.iter().any(|duty| inputs.targets[duty.target].by_commands);
    let of_commands = || by_commands.then(engine::of_commands);
    LaneEngine {
        row: inputs.engine.map(|(row, _)| row).or_else(of_commands).or_else(of_ring),
        parameters: inputs.engine.map_or_else(String::new, |(_, parameters)| parameters.to_string()),
        registered_buffers: ring.is_none_or(|r| r.registered_buffers),
    }
}

fn lane_target(
    duty: &Duty,
    slot_first: u32,
    inputs: &LaneInputs<'_>,
    shared: Arc<SharedOffset>,
) -> Result<LaneTarget, Box<dyn std::error::Error>> {
    let target = &inputs.span.targets[duty.target];
    let PlannedTarget { size_bytes, direct, ranges, .. } = inputs.targets[duty.target];
    // What addresses of buffers must be multiples of.
    let direct = direct.filter(|_| target.is_direct());
    let memory_alignment_bytes = direct.map_or(1, |d| d.memory_bytes.max(1));
    let start = ranges.range.start_of(duty.relative_thread)?;
    let writes = match WriteData::of(target, inputs.span.random_write_data) {
        _ if !target.writes() => LaneWrites::None,
        WriteData::Zero => LaneWrites::Zero,
        WriteData::Pattern => LaneWrites::Pattern { first: target.block_bytes * u64::from(duty.requests) },
        WriteData::Random => LaneWrites::Random,
        WriteData::Source { size_bytes } => {
            let granularity = SourceWindow::granularity_bytes(target.is_direct(), memory_alignment_bytes);
            LaneWrites::Source(SourceWindow::new(size_bytes, target.block_bytes, granularity)?)
        }
    };
    Ok(LaneTarget {
        index: duty.target,
        slot_first,
        slots: duty.requests,
        block_bytes: target.block_bytes as u32,
        slot_stride_bytes: target.block_bytes.next_multiple_of(memory_alignment_bytes),
        pattern: PatternSpec::of(target, start, duty.requests, ranges.distribution.clone()),
        shared,
        pace: ranges.pace,
        reads: target.reads(),
        writes,
        huge_page_bytes: target.large_pages.then_some(inputs.huge_page_bytes),
        size_bytes,
        ioprio: ioprio(target.priority),
        map: target.memory_mapped.then(|| map_mode(target)),
    })
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

impl Lane {
    /// Target of each request slot, as an index into [`Lane::targets`]; all 0 in pool mode.
    pub fn slot_targets(&self) -> Vec<u32> {
        if self.work.is_pool {
            return vec![0; self.work.slots as usize];
        }
        let each = self.targets.iter().zip(0u32..);
        each.flat_map(|(target, index)| std::iter::repeat_n(index, target.slots as usize)).collect()
    }
}

impl LaneTarget {
    /// Whether some I/Os write.
    pub fn is_written(&self) -> bool {
        !matches!(self.writes, LaneWrites::None)
    }

    /// Size of a buffer with a block for each slot, in bytes.
    pub fn buffer_bytes(&self) -> usize {
        usize::try_from(self.slot_stride_bytes * u64::from(self.slots)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{assign, ranges_of};
    use crate::profile::{CacheMode, RingOptions};

    const GIB: u64 = 1 << 30;

    /// Lanes on targets of 1 GiB with direct I/O in units of 4 KiB.
    fn lanes_of(span: &TimeSpan) -> Vec<Lane> {
        lanes_on(span, false)
    }

    fn lanes_on(span: &TimeSpan, by_commands: bool) -> Vec<Lane> {
        use crate::machine::storage::AlignmentSource;
        let source = AlignmentSource::Statx;
        let direct = Some(DirectAlignment { offset_bytes: 4096, memory_bytes: 4096, source });
        let ranges: Vec<_> = span.targets.iter().map(|t| ranges_of(span, t, GIB).expect("it fits")).collect();
        let targets: Vec<_> = ranges
            .iter()
            .map(|ranges| PlannedTarget { size_bytes: GIB, direct, by_commands, ranges })
            .collect();
        let inputs = LaneInputs { span, targets: &targets, engine: None, huge_page_bytes: 2 << 20 };
        lanes(&assign(span, &[]), &inputs).expect("it fits")
    }

    fn span(edit: impl Fn(&mut TimeSpan)) -> TimeSpan {
        let target = Target { block_bytes: 1000, request_count: 3, ..Target::default() };
        let mut span = TimeSpan { targets: vec![target.clone(), target], ..TimeSpan::default() };
        edit(&mut span);
        span
    }

    /// Submit batch, reap batch and whether a look follows each batch, of a thread with `slots` requests.
    fn batches(span: &TimeSpan, slots: u32, is_inline: bool) -> (u32, u32, bool) {
        let mut span = span.clone();
        span.targets[0].request_count = slots;
        let dispatch = lanes_of(&span)[0].dispatch.of(is_inline);
        (dispatch.submit_batch, dispatch.reap_batch, dispatch.poll_after_batch)
    }

    #[test]
    fn batches_are_what_was_asked_for_or_what_is_cheapest() {
        let target = |cache| Target { cache, ..Target::default() };
        let plain = |cache| TimeSpan { targets: vec![target(cache)], ..TimeSpan::default() };
        let (cached, direct) = (plain(CacheMode::Cached), plain(CacheMode::DisableOsCache));
        let with_latency = |span: &TimeSpan| TimeSpan { measure_latency: true, ..span.clone() };
        assert_eq!(batches(&direct, 32, false), (4, 16, true));
        assert_eq!(batches(&direct, 4, false), (4, 4, false), "all slots: the wait hands them over");
        assert_eq!(batches(&direct, 2, false), (2, 2, false));
        assert_eq!(batches(&cached, 32, false), (32, 16, false));
        for span in [&direct, &cached] {
            assert_eq!(batches(&with_latency(span), 32, false), (4, 16, true));
            assert_eq!(batches(span, 32, true).0, 1, "inline engines take one at a time");
        }
        for (batch, expected) in
            [(Batch::Count(8), 8), (Batch::Count(100), 32), (Batch::Percent(25), 8), (Batch::Percent(1), 1)]
        {
            let ring = Some(RingOptions { registered_buffers: true, batch });
            let asked = TimeSpan { ring, ..direct.clone() };
            for span in [with_latency(&asked), asked] {
                assert_eq!(batches(&span, 32, false), (expected, 16, true));
            }
        }
    }

    #[test]
    fn slots_follow_each_other_and_a_pool_has_all_for_every_target() {
        let fixed = span(|s| s.thread_count = 1);
        let lane = &lanes_of(&fixed)[0];
        assert_eq!(lane.slot_targets(), [0, 0, 0, 1, 1, 1]);
        assert_eq!(
            lane.targets.iter().map(|t| (t.slot_first, t.slots)).collect::<Vec<_>>(),
            [(0, 3), (3, 3)]
        );
        let pool = span(|s| (s.thread_count, s.request_count) = (1, 4));
        let lane = &lanes_of(&pool)[0];
        assert!(lane.pool.is_some());
        assert_eq!(lane.slot_targets(), [0; 4]);
        assert!(lane.targets.iter().all(|t| (t.slot_first, t.slots) == (0, 4)));
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
}

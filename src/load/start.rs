//! Everything a worker does before the start signal: pin, open, allocate, open the engine.
//!
//! Runs on the worker's own thread, so that memory is local to its processor and the ring belongs to it.

use std::sync::Arc;

use super::counters::{Counter, Wanted};
use super::series::Buckets;
use super::targets::TargetState;
use super::worker::{Dispatch, DutyState, Worker};
use super::writes::WriteSlots;
use crate::access::{DataRng, Pattern, PatternSpec, PoolChoice, Rng, SourceWindow, WriteData, data};
use crate::engine::{self, Engine, EngineError, EngineFile, EngineRow, MapFlush, MapMode, Opened, Setup};
use crate::fault::{Failure, FailureKind};
use crate::plan::{Duty, ThreadWork};
use crate::profile::{Batch, FlushMode, IoPriority, Target, TimeSpan};
use crate::sys::buffer::{BufferError, IoBuffer};
use crate::sys::error::system_text;
use crate::sys::thread::{IoPrio, keep_exact_time_on_this_thread, pin_to_processor};

/// DiskSpd takes at most this many completions at a time (`io-semantics.md` §2).
const REAP_BATCH_MAX: u32 = 16;
/// Direct I/Os handed over at a time when nothing else is asked for. The block layer holds a batch back until
/// its last I/O is prepared, and the device runs dry meanwhile: all 16 that came back at once cost up to
/// a tenth of the IOPS of a fast disk, single ones a quarter more processor time. (I/O through
/// the page cache is finished by the call that hands it over: there all at once is best.)
const DIRECT_BATCH: u32 = 4;

/// What all threads of a time span share.
pub struct StartContext<'a> {
    /// The time span.
    pub span: &'a TimeSpan,
    /// The opened targets, in the order of the time span.
    pub targets: &'a [TargetState],
    /// `--engine`, with the text after the colon.
    pub engine: Option<(&'static EngineRow, String)>,
    /// Statistics asked for.
    pub wanted: Wanted,
    /// Dots (`-P`).
    pub progress_ios: u32,
    /// The engine simulates time.
    pub is_virtual: bool,
    /// Size of a huge page, for `-l`.
    pub huge_page_bytes: usize,
}

impl StartContext<'_> {
    /// Planned measured time in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        u64::from(self.span.duration_s) * 1_000_000_000
    }
}

/// A worker ready for the start signal.
pub struct Prepared {
    /// The worker.
    pub worker: Worker,
    /// Engine that it opened.
    pub engine: &'static str,
    /// Steps down and other facts, in words.
    pub notes: Vec<String>,
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

/// Prepares the worker for `work` on the calling thread.
pub fn prepare(work: &ThreadWork, context: &StartContext<'_>) -> Result<Prepared, StartFailure> {
    let fail = |why: Failure| StartFailure { thread: work.id, why };
    if let Some(cpu) = work.cpu {
        pin_to_processor(cpu).map_err(|e| fail(unprepared(e)))?;
    }
    // Only rate limits and pauses notice; where the system refuses, they are kept on average.
    let _ = keep_exact_time_on_this_thread();
    let files = open_files(work, context).map_err(fail)?;
    let buffers = Buffers::allocate(work, context).map_err(fail)?;
    let setup = Setup {
        depth: work.slots,
        files,
        regions: buffers.regions.clone(),
        registered_buffers: context.span.ring.is_none_or(|r| r.registered_buffers),
        parameters: context.engine.as_ref().map(|(_, p)| p.clone()).unwrap_or_default(),
    };
    let (row, opened) = open_engine(work, context, setup).map_err(|e| fail(unprepared(e)))?;
    let Opened { engine, notes } = opened;
    let worker = assemble(work, context, &buffers, engine).map_err(fail)?;
    Ok(Prepared { worker, engine: row.name, notes })
}

/// What keeps a thread from being prepared.
pub fn unprepared(why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Thread, why.to_string())
}

/// The worker around an opened engine.
pub fn assemble(
    work: &ThreadWork,
    context: &StartContext<'_>,
    buffers: &Buffers,
    engine: Box<dyn Engine>,
) -> Result<Worker, Failure> {
    let mut rng = Rng::for_thread(context.span.rand_seed, work.id);
    let duties = duties(work, context, buffers, &mut rng)?;
    let weights: Vec<u32> = work.duties.iter().map(|d| d.weight).collect();
    let pool = work.is_pool.then(|| PoolChoice::new(&weights)).transpose().map_err(unprepared)?;
    Ok(Worker {
        dispatch: dispatch(work, context, engine.is_inline()),
        is_inline: engine.is_inline(),
        engine,
        slot_duty: slot_duties(work),
        pool,
        duties,
        rng,
        data_rng: DataRng::for_thread(context.span.rand_seed, work.id),
        wanted: context.wanted,
        buckets: Buckets::for_duration(context.duration_ns()),
        progress_ios: u64::from(context.progress_ios),
        live: None,
    })
}

fn open_files(work: &ThreadWork, context: &StartContext<'_>) -> Result<Vec<EngineFile>, Failure> {
    work.duties
        .iter()
        .map(|duty| {
            let target = &context.span.targets[duty.target];
            let state = &context.targets[duty.target];
            Ok(EngineFile {
                handle: state.open_again(target)?,
                size_bytes: state.facts.size_bytes,
                ioprio: ioprio(target.priority).0,
                map: target.memory_mapped.then(|| map_mode(target)),
            })
        })
        .collect()
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

/// The engine asked for, else io_uring when `-u` asks for it, else what DiskSpd's table implies (`io-semantics.md` §1).
fn open_engine(
    work: &ThreadWork,
    context: &StartContext<'_>,
    setup: Setup,
) -> Result<(&'static EngineRow, Opened), EngineError> {
    let asked = context.engine.as_ref().map(|(row, _)| *row);
    let ring = || context.span.ring.and_then(|_| engine::find("io_uring")).filter(|_| work.slots == 1);
    match asked.or_else(ring) {
        Some(row) => engine::open(row, setup),
        None => engine::open_ladder(setup),
    }
}

/// Batches: as asked (`-u`), or one by one with stamps as DiskSpd does, so that none waits in a batch with its
/// stamp already taken. Otherwise what is cheapest: see [`DIRECT_BATCH`].
fn dispatch(work: &ThreadWork, context: &StartContext<'_>, is_inline: bool) -> Dispatch {
    let of_batch = |batch: Batch| match batch {
        Batch::Count(n) => n.clamp(1, work.slots),
        Batch::Percent(p) => (u64::from(work.slots) * u64::from(p) / 100).max(1) as u32,
    };
    let asked = context.span.ring.map(|r| of_batch(r.batch));
    let stamps = context.wanted.stamps();
    let is_direct = work.duties.iter().any(|d| context.span.targets[d.target].is_direct());
    let submit_batch = match asked {
        _ if is_inline => 1,
        Some(n) => n,
        None if stamps && !context.span.completion_routines => 1,
        None if is_direct => DIRECT_BATCH.min(work.slots),
        None => work.slots,
    };
    Dispatch {
        submit_batch,
        reap_batch: context.span.completion_batch.map_or(work.slots.min(REAP_BATCH_MAX), |n| n.max(1)),
        poll_after_batch: stamps || asked.is_some() || submit_batch < work.slots,
        reissue_own: context.span.completion_routines && !is_inline,
    }
}

fn slot_duties(work: &ThreadWork) -> Vec<u32> {
    if work.is_pool {
        return vec![0; work.slots as usize];
    }
    work.duties.iter().zip(0u32..).flat_map(|(d, i)| std::iter::repeat_n(i, d.requests as usize)).collect()
}

/// Buffers of one thread and where each target's lie.
pub struct Buffers {
    /// In the order in which I/Os name them.
    pub regions: Vec<Arc<IoBuffer>>,
    places: Vec<Place>,
}

/// Buffers of one target of the thread.
#[derive(Clone, Copy, Default)]
struct Place {
    read_region: u32,
    write_region: Option<u32>,
    source_region: Option<u32>,
    slot_stride_bytes: u64,
}

impl Buffers {
    /// Errors begin with the phrase that wrappers look for (`text-output.md` §13.2).
    fn allocate(work: &ThreadWork, context: &StartContext<'_>) -> Result<Self, Failure> {
        let mut buffers = Buffers { regions: Vec::new(), places: Vec::new() };
        for duty in &work.duties {
            let place = buffers.for_duty(duty, context).map_err(|e| {
                let path = &context.span.targets[duty.target].path;
                let words = format!("Could not allocate a buffer for target '{path}'");
                Failure::new(FailureKind::Resource, words).on(path).because(e)
            })?;
            buffers.places.push(place);
        }
        Ok(buffers)
    }

    /// For an engine that moves no data: only what the worker itself fills has memory.
    pub fn for_null(work: &ThreadWork, context: &StartContext<'_>) -> Result<Self, Failure> {
        let mut buffers = Buffers { regions: Vec::new(), places: Vec::new() };
        for duty in &work.duties {
            let target = &context.span.targets[duty.target];
            let state = &context.targets[duty.target];
            let stride = target.block_bytes.next_multiple_of(state.memory_alignment_bytes(target));
            let kind = WriteData::of(target, context.span.random_write_data);
            let region = |is_there: bool| is_there.then_some(0);
            let mut place = Place { slot_stride_bytes: stride, ..Place::default() };
            place.source_region = region(target.writes() && matches!(kind, WriteData::Source { .. }));
            place.write_region = region(target.writes());
            if target.writes() && kind == WriteData::Random {
                let bytes = usize::try_from(stride * u64::from(duty.requests)).unwrap_or(usize::MAX);
                let buffer = IoBuffer::new(bytes).map_err(unprepared)?;
                place.write_region = Some(buffers.add(buffer, |buffer| buffer.fill(0)));
            }
            buffers.places.push(place);
        }
        Ok(buffers)
    }

    fn for_duty(&mut self, duty: &Duty, context: &StartContext<'_>) -> Result<Place, BufferError> {
        let target = &context.span.targets[duty.target];
        let state = &context.targets[duty.target];
        let stride = target.block_bytes.next_multiple_of(state.memory_alignment_bytes(target));
        let mut place = Place { slot_stride_bytes: stride, ..Place::default() };
        let bytes = usize::try_from(stride * u64::from(duty.requests)).unwrap_or(usize::MAX);
        if target.reads() {
            // Touched now, so that no page fault falls into the measurement.
            place.read_region =
                self.add(allocate(bytes, target.large_pages, context)?, |buffer| buffer.fill(0));
        }
        if let Some(source) = &state.write_source {
            place.source_region = Some(self.regions.len() as u32);
            self.regions.push(Arc::clone(source));
        } else if target.writes() {
            let first = target.block_bytes * u64::from(duty.requests);
            let zero = target.zero_write_buffers;
            place.write_region = Some(self.add(allocate(bytes, target.large_pages, context)?, |buffer| {
                if zero {
                    return buffer.fill(0);
                }
                for (slot, block) in (0u64..).zip(buffer.chunks_mut(stride as usize)) {
                    data::fill_pattern(block, first + slot * target.block_bytes);
                }
            }));
        }
        Ok(place)
    }

    fn add(&mut self, buffer: IoBuffer, fill: impl FnOnce(&mut [u8])) -> u32 {
        buffer.with_slice_mut(0, buffer.len(), fill);
        self.regions.push(Arc::new(buffer));
        self.regions.len() as u32 - 1
    }
}

fn allocate(bytes: usize, large_pages: bool, context: &StartContext<'_>) -> Result<IoBuffer, BufferError> {
    match large_pages {
        true => IoBuffer::with_large_pages(bytes, context.huge_page_bytes),
        false => IoBuffer::new(bytes),
    }
}

fn duties(
    work: &ThreadWork,
    context: &StartContext<'_>,
    buffers: &Buffers,
    rng: &mut Rng,
) -> Result<Vec<DutyState>, Failure> {
    let mut slot_first = 0;
    let mut states = Vec::new();
    for ((duty, place), file) in work.duties.iter().zip(&buffers.places).zip(0u32..) {
        let target = &context.span.targets[duty.target];
        let state = &context.targets[duty.target];
        let slots = if work.is_pool { work.slots } else { duty.requests };
        let ranges = &state.ranges;
        let start = ranges.range.start_of(duty.relative_thread).map_err(unprepared)?;
        let has_schedule = ranges.pace.has_schedule();
        let spec = PatternSpec::of(target, start, slots, ranges.distribution.clone());
        states.push(DutyState {
            target: duty.target,
            file,
            block_bytes: target.block_bytes as u32,
            read_region: place.read_region,
            slot_stride_bytes: place.slot_stride_bytes,
            slot_first,
            pattern: Pattern::new(spec, rng),
            write_slots: write_slots(target, state, place, buffers, context)?,
            pace: ranges.pace,
            meter: None,
            shared: Arc::clone(&state.shared),
            reads: Counter::new(context.wanted, target.reads(), has_schedule),
            writes: Counter::new(context.wanted, target.writes(), has_schedule),
            short_transfers: 0,
        });
        if !work.is_pool {
            slot_first += duty.requests;
        }
    }
    Ok(states)
}

fn write_slots(
    target: &Target,
    state: &TargetState,
    place: &Place,
    buffers: &Buffers,
    context: &StartContext<'_>,
) -> Result<WriteSlots, Failure> {
    let slot_stride_bytes = place.slot_stride_bytes;
    let kind = WriteData::of(target, context.span.random_write_data);
    Ok(match (place.source_region, place.write_region) {
        (Some(region), _) => {
            let granularity = state.window_granularity_bytes(target);
            let windows = SourceWindow::new(target.write_source_bytes, target.block_bytes, granularity)
                .map_err(unprepared)?;
            WriteSlots::Source { region, windows }
        }
        (None, Some(region)) if kind == WriteData::Random => WriteSlots::Random {
            region,
            buffer: Arc::clone(&buffers.regions[region as usize]),
            slot_stride_bytes,
            block_bytes: target.block_bytes as usize,
        },
        (None, Some(region)) => WriteSlots::Fixed { region, slot_stride_bytes },
        (None, None) => WriteSlots::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CacheMode, RingOptions};

    /// Submit batch, reap batch and whether a look follows each batch, of a thread with `slots` requests.
    fn batches(span: &TimeSpan, wanted: Wanted, slots: u32, is_inline: bool) -> (u32, u32, bool) {
        let duty = Duty { target: 0, relative_thread: 0, requests: slots, weight: 0, sharers: 1 };
        let work = ThreadWork { id: 0, seed: 0, cpu: None, duties: vec![duty], slots, is_pool: false };
        let context = StartContext {
            span,
            targets: &[],
            engine: None,
            wanted,
            progress_ios: 0,
            is_virtual: false,
            huge_page_bytes: 0,
        };
        let dispatch = dispatch(&work, &context, is_inline);
        (dispatch.submit_batch, dispatch.reap_batch, dispatch.poll_after_batch)
    }

    #[test]
    fn batches_are_what_was_asked_for_or_what_is_cheapest() {
        let target = |cache| Target { cache, ..Target::default() };
        let span = |cache| TimeSpan { targets: vec![target(cache)], ..TimeSpan::default() };
        let (cached, direct) = (span(CacheMode::Cached), span(CacheMode::DisableOsCache));
        let plain = Wanted { latency: false, intervals: None };
        let latency = Wanted { latency: true, intervals: None };
        assert_eq!(batches(&direct, plain, 32, false), (4, 16, true));
        assert_eq!(batches(&direct, plain, 4, false), (4, 4, false), "all slots: the wait hands them over");
        assert_eq!(batches(&direct, plain, 2, false), (2, 2, false));
        assert_eq!(batches(&cached, plain, 32, false), (32, 16, false));
        for span in [&direct, &cached] {
            assert_eq!(batches(span, latency, 32, false), (1, 16, true), "as DiskSpd: one by one");
            assert_eq!(batches(span, plain, 32, true).0, 1, "inline engines take one at a time");
        }
        for (batch, expected) in
            [(Batch::Count(8), 8), (Batch::Count(100), 32), (Batch::Percent(25), 8), (Batch::Percent(1), 1)]
        {
            let ring = Some(RingOptions { registered_buffers: true, batch });
            let asked = TimeSpan { ring, ..direct.clone() };
            for wanted in [plain, latency] {
                assert_eq!(batches(&asked, wanted, 32, false), (expected, 16, true));
            }
        }
    }
}

//! Reads back what a verified run wrote (`truespd verify`): every block that it wrote, at full depth, against its map.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::entries::lasting_name;
use super::verified::range_of;
use crate::engine::{self, AnyEngine, Completion, Engine, EngineFile, Io, Op, Opened, Setup};
use crate::result::{FaultCount, ReadBack, WrongRange};
use crate::verify::{self, BlockMap, Found, MapHeader, Seen, judge};
use truespd_platform::fault::{Failure, FailureKind, Fault, Refusal, RefusalKind};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{self, OpenedTarget, ReadFlags, TargetKind, resolve};
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::extents::drop_cached;

/// Reads that are outstanding at once.
const DEPTH: u32 = 32;
/// A read is about so long.
const READ_BYTES: u64 = 1 << 20;
/// Memory for the reads that are outstanding, unless one of them needs more.
const BUFFER_BYTES_MAX: u64 = 256 << 20;
/// Blocks of the map that are looked at without a stop being noticed.
const LOOKED_AT: usize = 1 << 24;
/// So many wrong ranges are told.
const RANGES_MAX: usize = 1000;

/// Reads the blocks of `map` back from the target that was typed. Every `tell_every`, `tell` gets the
/// bytes that are done, and all of them.
///
/// # Errors
/// A target that is not the one of the map or cannot be opened; what ended the reading.
pub fn read_back(
    typed: &str,
    map: &BlockMap,
    tell_every: Duration,
    tell: &dyn Fn(u64, u64),
    stop: &Latch,
) -> Result<ReadBack, Fault> {
    let roots = Roots::default();
    let (path, mut opened) = opened(typed, &roots)?;
    check(typed, &path, &opened, map.header(), map.path())?;
    let mut is_direct = false;
    if can_be_direct(&opened, map)
        && let Ok(direct) = storage::open(&path, ReadFlags { direct: true }, &roots)
    {
        check(typed, &path, &direct, map.header(), map.path())?;
        (opened, is_direct) = (direct, true);
    }
    if !is_direct {
        drop_cached(&opened.file, map.header().base_bytes, map.header().blocks * map.header().block_bytes);
    }
    let mut reading = Reading::new(typed, map, opened, is_direct)?;
    reading.run(tell_every, tell, stop)?;
    Ok(reading.concluded())
}

/// Whether the target that was typed is that of a map or log with this header, which is at `place`.
///
/// # Errors
/// What it is instead, or why it cannot be opened.
pub fn check_target(typed: &str, header: &MapHeader, place: &Path) -> Result<(), Refusal> {
    let (path, opened) = opened(typed, &Roots::default())?;
    check(typed, &path, &opened, header, place)
}

fn opened(typed: &str, roots: &Roots) -> Result<(PathBuf, OpenedTarget), Refusal> {
    let path = resolve(typed, roots).map_err(|error| error.refusal(RefusalKind::Machine))?.path;
    let opened = storage::open(&path, ReadFlags::CACHED, roots);
    Ok((path, opened.map_err(|error| Refusal::machine(&[], Some(typed), error.to_string()))?))
}

/// Whether it is the target of the map, and still as large.
fn check(
    typed: &str,
    path: &Path,
    opened: &OpenedTarget,
    header: &MapHeader,
    place: &Path,
) -> Result<(), Refusal> {
    let size_bytes = opened.facts.size_bytes;
    let name = lasting_name(path).display().to_string();
    if name != header.name {
        return Err(unlike(
            typed,
            format!(
                "the map '{}' belongs to '{}', and '{typed}' is '{name}'; name that target, or another map (--map)",
                place.display(),
                header.name
            ),
        ));
    }
    if size_bytes != header.size_bytes {
        return Err(unlike(
            typed,
            format!(
                "'{typed}' has {size_bytes} bytes, and had {} when it was written: it is not what the map \
             '{}' describes",
                header.size_bytes,
                place.display()
            ),
        ));
    }
    let now = Thing::of(&opened.file, &Roots::default()).ok();
    if let (Some(then), Some(now)) = (&header.thing, &now)
        && then.is_again(now) == Some(false)
    {
        let what = if opened.facts.kind == TargetKind::Block { "disk" } else { "file" };
        let words = format!(
            "'{typed}' is another {what} than the one that the test wrote: the map '{}' tells nothing of it",
            place.display()
        );
        return Err(unlike(typed, words));
    }
    Ok(())
}

/// What is there is not what the map is of.
fn unlike(typed: &str, words: String) -> Refusal {
    Refusal::machine(&["--map"], Some(typed), words)
}

/// Whether the blocks can be read past the page cache.
fn can_be_direct(opened: &OpenedTarget, map: &BlockMap) -> bool {
    let header = map.header();
    opened.facts.direct.is_some_and(|direct| {
        let unit = direct.offset_bytes.max(1);
        header.block_bytes.is_multiple_of(unit) && header.base_bytes.is_multiple_of(unit)
    })
}

fn no_room(typed: &str, words: String) -> Failure {
    Failure::new(FailureKind::Resource, words).on(typed)
}

/// Blocks that are read by one I/O.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    first: usize,
    blocks: usize,
}

struct Reading<'a> {
    map: &'a BlockMap,
    engine: AnyEngine,
    buffer: Arc<IoBuffer>,
    /// Distance of two slots in the buffer.
    slot_bytes: u64,
    pieces: Vec<Piece>,
    /// The next block to look at.
    next: usize,
    /// Blocks beside each other of which not all could be read at once: each is read by itself.
    again: Vec<Range<usize>>,
    since: Instant,
    result: ReadBack,
}

impl<'a> Reading<'a> {
    fn new(typed: &str, map: &'a BlockMap, opened: OpenedTarget, is_direct: bool) -> Result<Self, Failure> {
        let header = map.header();
        let slot_bytes = READ_BYTES.next_multiple_of(header.block_bytes);
        let depth = (BUFFER_BYTES_MAX / slot_bytes).clamp(1, u64::from(DEPTH)) as u32;
        let buffer = IoBuffer::new((slot_bytes * u64::from(depth)) as usize);
        let buffer = Arc::new(buffer.map_err(|error| no_room(typed, error.to_string()))?);
        let files = vec![EngineFile {
            handle: opened.file.into(),
            size_bytes: header.size_bytes,
            ioprio: 0,
            map: None,
        }];
        let setup = Setup {
            depth,
            files,
            regions: vec![Arc::clone(&buffer)],
            registered_buffers: false,
            trims: false,
            parameters: String::new(),
        };
        let opened = engine::open_ladder(setup).map_err(|error| no_room(typed, error.to_string()))?;
        let (_, Opened { engine, .. }) = opened;
        let result = ReadBack {
            path: typed.to_string(),
            map: map.path().display().to_string(),
            is_by_log: map.is_of_log(),
            run_ended: header.is_closed,
            is_direct,
            block_bytes: header.block_bytes,
            blocks: header.blocks,
            written_blocks: 0,
            acknowledged_blocks: 0,
            flushed_blocks: 0,
            newest_blocks: 0,
            older_blocks: 0,
            wrong: verify::Fault::ALL.map(|fault| FaultCount { fault, blocks: 0 }).to_vec(),
            ranges: Vec::new(),
            elapsed_s: 0.0,
        };
        let pieces = vec![Piece::default(); depth as usize];
        Ok(Reading {
            map,
            engine,
            buffer,
            slot_bytes,
            pieces,
            next: 0,
            again: Vec::new(),
            since: Instant::now(),
            result,
        })
    }

    /// The next blocks beside each other that the run wrote, or one of those that are read again.
    fn next_piece(&mut self, stop: &Latch) -> Option<Piece> {
        while let Some(range) = self.again.last_mut() {
            if let Some(first) = range.next() {
                return Some(Piece { first, blocks: 1 });
            }
            self.again.pop();
        }
        let blocks = self.map.header().blocks as usize;
        let first = loop {
            if self.next >= blocks || stop.is_set() {
                return None;
            }
            let looked_at = self.next..blocks.min(self.next + LOOKED_AT);
            match self.map.next_written(looked_at.clone()) {
                Some(block) => break block,
                None => self.next = looked_at.end,
            }
        };
        self.next = first;
        let most = (self.slot_bytes / self.map.header().block_bytes) as usize;
        while self.next < blocks && self.next - first < most && self.map.expected(self.next, false).newest > 0
        {
            self.next += 1;
        }
        (self.next > first).then_some(Piece { first, blocks: self.next - first })
    }

    fn run(&mut self, tell_every: Duration, tell: &dyn Fn(u64, u64), stop: &Latch) -> Result<(), Failure> {
        let block_bytes = self.map.header().block_bytes;
        let all_bytes = self.map.header().blocks * block_bytes;
        let depth = self.pieces.len();
        let mut free: Vec<u32> = (0..depth as u32).collect();
        let mut done: Vec<Completion> = Vec::new();
        let mut told = Instant::now();
        loop {
            let mut batch = Vec::new();
            while let Some(slot) = free.pop() {
                let Some(piece) = self.next_piece(stop) else {
                    free.push(slot);
                    break;
                };
                self.pieces[slot as usize] = piece;
                batch.push(Io {
                    slot,
                    file: 0,
                    region: 0,
                    op: Op::Read,
                    len: (piece.blocks as u64 * block_bytes) as u32,
                    region_offset: u64::from(slot) * self.slot_bytes,
                    offset: self.map.address(piece.first),
                });
                if self.engine.is_inline() {
                    break;
                }
            }
            if stop.is_set() {
                let words = format!("'{}': stopped before all of it was read back", self.result.path);
                return Err(Failure::new(FailureKind::Io, words).on(&self.result.path));
            }
            if batch.is_empty() && free.len() == depth {
                return Ok(());
            }
            done.clear();
            let exchanged = self.engine.exchange(&batch, 1, depth as u32, None, &mut done);
            exchanged.map_err(|error| {
                Failure::new(FailureKind::Io, format!("'{}': {error}", self.result.path))
                    .on(&self.result.path)
            })?;
            for completion in &done {
                self.take(completion);
                free.push(completion.slot);
            }
            if told.elapsed() >= tell_every {
                told = Instant::now();
                tell(self.next as u64 * block_bytes, all_bytes);
            }
        }
    }

    fn take(&mut self, completion: &Completion) {
        let piece = self.pieces[completion.slot as usize];
        let block_bytes = self.map.header().block_bytes;
        let read_bytes = completion.result.map_or(0, u64::from);
        let read_blocks = (read_bytes / block_bytes) as usize;
        if read_blocks < piece.blocks {
            // A block that cannot be read keeps nobody from reading those beside it.
            if piece.blocks == 1 {
                return self.take_block(piece.first, None);
            }
            self.again.push(piece.first + read_blocks..piece.first + piece.blocks);
        }
        let buffer = Arc::clone(&self.buffer);
        let place = (u64::from(completion.slot) * self.slot_bytes) as usize;
        buffer.with_slice_mut(place, read_blocks * block_bytes as usize, |data| {
            for (number, block) in data.chunks(block_bytes as usize).enumerate() {
                self.take_block(piece.first + number, Some(block));
            }
        });
    }

    fn take_block(&mut self, block: usize, data: Option<&[u8]>) {
        let expected = self.map.expected(block, false);
        self.result.written_blocks += 1;
        let acknowledged = expected.newest - u32::from(expected.is_in_flight);
        self.result.acknowledged_blocks += u64::from(acknowledged > 0);
        let is_flushed = acknowledged > 0 && (self.map.is_of_log() || expected.oldest == acknowledged);
        self.result.flushed_blocks += u64::from(is_flushed);
        let seen = match data {
            Some(data) => judge(data, &expected),
            None => Seen::Wrong(Found { fault: verify::Fault::Unread, stamp: None }),
        };
        match seen {
            Seen::Newest => self.result.newest_blocks += 1,
            // Nothing older than what a log knows passes.
            Seen::Older if self.map.is_of_log() => self.result.newest_blocks += 1,
            Seen::Older | Seen::Nothing => self.result.older_blocks += 1,
            Seen::Wrong(found) => {
                for count in &mut self.result.wrong {
                    count.blocks += u64::from(count.fault == found.fault);
                }
                let mut range = range_of(expected.address, self.map.header().block_bytes, &found);
                range.expected_generation = Some(expected.oldest);
                self.result.ranges.push(range);
                if self.result.ranges.len() > 2 * RANGES_MAX {
                    merge(&mut self.result.ranges);
                    self.result.ranges.truncate(RANGES_MAX);
                }
            }
        }
    }

    fn concluded(mut self) -> ReadBack {
        merge(&mut self.result.ranges);
        self.result.ranges.truncate(RANGES_MAX);
        self.result.wrong.retain(|count| count.blocks > 0);
        self.result.elapsed_s = self.since.elapsed().as_secs_f64();
        self.result
    }
}

/// Blocks beside each other with the same fault become one range.
fn merge(ranges: &mut Vec<WrongRange>) {
    ranges.sort_by_key(|range| range.offset_bytes);
    ranges.dedup_by(|next, before| {
        let is_same =
            before.offset_bytes + before.length_bytes == next.offset_bytes && before.fault == next.fault;
        if is_same {
            before.length_bytes += next.length_bytes;
        }
        is_same
    });
}

//! Writes a whole file once, so that every byte is really on the device (`io-semantics.md` §15).
//!
//! The file is laid out (`fallocate`), every byte is written in large blocks with several in flight (by direct I/O
//! where possible), the file is flushed (`fsync`), and its pages leave the cache. So a test starts with the same cache
//! however the file was made, and finds no holes or unwritten extents. Opening, naming, marking and reusing files is
//! done elsewhere.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::access::{Noise, data};
use crate::engine::{self, AnyEngine, Completion, Engine, EngineError, EngineFile, Handle, Io, Op, Setup};
use crate::guard::sample::{PIECE_BYTES, find_odd};
use truespd_platform::machine::storage::DirectAlignment;
use truespd_platform::sys::buffer::{BufferError, IoBuffer};
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::extents::drop_cached;
use truespd_platform::sys::file::{self, Opening, Stat};
use truespd_platform::sys::system;

/// Bytes per write. Samples begin where writes do.
const BLOCK_BYTES: u64 = PIECE_BYTES;
/// Smallest unit of direct I/O there is.
const SECTOR_BYTES: u64 = 512;
/// Largest unit of direct I/O that is common.
const PAGE_BYTES: usize = 4096;
/// Places of an unfinished file that are sampled.
const LEFT_OVER_PLACES: u64 = 256;
const DEPTH: u32 = 16;
/// How often a wait checks the stop flag.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// How long a failed or stopped fill waits for its writes.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// Buffered data is flushed this often, so that neither progress nor a stop waits for a full cache.
const FLUSH_BYTES: u64 = 256 << 20;

/// What the file shall hold.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// DiskSpd's pattern: byte j is j mod 256.
    Pattern0to255,
    /// Zeros (`-Z`).
    Zero,
    /// Random bytes that neither compress nor repeat (`-Zr`, `-Z<size>`): each block is the noise of the seed
    /// that begins at its offset ([`Noise::at`]).
    Random { seed: u64 },
}

/// What to fill a file with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillSpec {
    /// Size of the file afterwards, in bytes.
    pub size_bytes: u64,
    /// What it holds.
    pub content: Content,
    /// Write by direct I/O with this alignment; `None` writes through the page cache.
    pub direct: Option<DirectAlignment>,
}

/// How a file was filled.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillReport {
    pub bytes: u64,
    /// Written by direct I/O (except a tail shorter than the alignment).
    pub direct: bool,
    pub engine: &'static str,
    /// What had to be done in a slower or weaker way, in words.
    pub notes: Vec<String>,
    /// From layout to the end of the flush.
    pub elapsed: Duration,
}

/// Why a file could not be filled. The path is the caller's to add.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The stop flag was set.
    #[error("stopped after {done_bytes} of {size_bytes} bytes were written; the file is incomplete")]
    Stopped {
        /// Bytes known to be written.
        done_bytes: u64,
        size_bytes: u64,
    },
    #[error("{action}: {}{advice}", system_text(error))]
    System {
        /// What was tried, with offset and length.
        action: String,
        error: std::io::Error,
        /// Likely cause and what to do, after a colon; empty when nothing is known.
        advice: String,
    },
    /// No engine could be had, or it broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No memory for the blocks.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

/// Fills `file`, which is open for writing, and cuts it to the size. `progress` is told bytes done and
/// bytes in total after every few blocks; `stop` ends the work early.
///
/// # Errors
/// [`FillError`]; the file is then incomplete, and keeps unwritten extents or holes to show it.
pub fn fill(
    file: &File,
    spec: FillSpec,
    progress: &mut dyn FnMut(u64, u64),
    stop: &AtomicBool,
) -> Result<FillReport, FillError> {
    match (Fill { file, spec, progress, stop, notes: Vec::new() }).whole() {
        // The signal that set the flag can interrupt the layout or the flush.
        Err(FillError::System { error, .. }) if error.kind() == std::io::ErrorKind::Interrupted => {
            Err(FillError::Stopped { done_bytes: 0, size_bytes: spec.size_bytes })
        }
        result => result,
    }
}

/// Whether samples of the file hold only this content and zeros, as a fill leaves them that was killed.
pub fn is_left_over(file: &File, content: Content) -> bool {
    let odd = find_odd(file, None, LEFT_OVER_PLACES, &|offset, bytes| {
        let mut made = vec![0; bytes.len()];
        match content {
            Content::Zero => {}
            Content::Pattern0to255 => made.iter_mut().enumerate().for_each(|(j, byte)| *byte = j as u8),
            Content::Random { seed } => Noise::at(seed, offset).fill(&mut made),
        }
        // The last bytes of an odd size are written apart.
        let whole = match content {
            Content::Random { .. } => bytes.len() / PAGE_BYTES * PAGE_BYTES,
            _ => bytes.len(),
        };
        let sectors = bytes[..whole].chunks(SECTOR_BYTES as usize).zip(made.chunks(SECTOR_BYTES as usize));
        !sectors.into_iter().all(|(is, should)| is == &should[..is.len()] || is.iter().all(|&b| b == 0))
    });
    odd.is_ok_and(|odd| odd.is_none())
}

/// A fill that goes on.
struct Fill<'a> {
    file: &'a File,
    spec: FillSpec,
    progress: &'a mut dyn FnMut(u64, u64),
    stop: &'a AtomicBool,
    /// What had to be done in a slower or weaker way.
    notes: Vec<String>,
}

impl Fill<'_> {
    fn whole(mut self) -> Result<FillReport, FillError> {
        let started = Instant::now();
        let size_bytes = self.spec.size_bytes;
        self.lay_out()?;
        (self.progress)(0, size_bytes);
        let direct = self.opened_direct();
        let written = direct.map(|(direct, alignment)| self.write_all(direct, Some(alignment)));
        let (engine, direct) = match written {
            Some(Ok(engine)) => (engine, true),
            Some(Err(error)) if !refuses_direct(&error) => return Err(error),
            refused => {
                if let Some(Err(error)) = refused {
                    self.notes
                        .push(format!("written through the page cache: direct I/O was refused ({error})"));
                }
                let buffered = self.opened_buffered()?;
                (self.write_all(buffered, None)?, false)
            }
        };
        let (engine, engine_notes) = engine;
        self.notes.extend(engine_notes);
        retry_interrupted(self.stop, || file::flush(self.file))
            .map_err(|code| self.failure("flushing the file to the device".into(), code))?;
        // If the pages stay in the cache, the next test is less exact. That is no failure.
        drop_cached(self.file, 0, 0);
        Ok(FillReport { bytes: size_bytes, direct, engine, notes: self.notes, elapsed: started.elapsed() })
    }

    /// Reserves the space, so that the file is laid out in one piece and a full file system is noticed now.
    fn lay_out(&mut self) -> Result<(), FillError> {
        let (file, size) = (self.file, self.spec.size_bytes);
        let action = format!("reserving {size} bytes");
        // Beyond this limit the kernel would end the process by a signal.
        let limit = system::file_size_limit().soft;
        if limit.is_some_and(|limit| limit < size) {
            return Err(self.failure(action, Code::FILE_TOO_LARGE));
        }
        if size > 0 {
            match retry_interrupted(self.stop, || file::set_aside(file, size)) {
                Ok(()) => {}
                Err(Code::NOT_SUPPORTED | Code::NOT_IMPLEMENTED) => {
                    let why = "the file system does not support that (fallocate)";
                    self.notes.push(format!("space was not reserved first: {why}"));
                }
                Err(code) => return Err(self.failure(action, code)),
            }
        }
        retry_interrupted(self.stop, || file::set_length(file, size))
            .map_err(|code| self.failure(action, code))
    }

    /// The same file opened for direct I/O, when alignment and file system allow it.
    fn opened_direct(&mut self) -> Option<(File, DirectAlignment)> {
        let alignment = self.spec.direct?;
        let page = system::page_bytes() as u64;
        let DirectAlignment { offset_bytes: offset, memory_bytes: memory, .. } = alignment;
        let usable = offset.is_power_of_two() && memory.is_power_of_two() && memory <= page;
        if !usable || !(SECTOR_BYTES..=BLOCK_BYTES).contains(&offset) {
            self.notes.push(format!("written through the page cache: unusual alignment {alignment:?}"));
            return None;
        }
        match file::reopen(self.file, Opening { write: true, direct: true, ..Opening::default() }) {
            Ok(direct) => Some((direct, alignment)),
            Err(code) => {
                self.notes.push(format!(
                    "written through the page cache: opening for direct I/O was refused ({})",
                    code.text()
                ));
                None
            }
        }
    }

    /// The same file opened without direct I/O, for blocks and tails of any length.
    fn opened_buffered(&self) -> Result<File, FillError> {
        let opened = if file::is_direct(self.file) {
            file::reopen(self.file, Opening { write: true, ..Opening::default() })
        } else {
            self.file.try_clone().map_err(|e| Code::of(&e).unwrap_or(Code::IO))
        };
        opened.map_err(|code| self.failure("opening the file again".into(), code))
    }

    /// Writes every byte through `opened`, and a tail shorter than the alignment through the page cache. Returns the
    /// name of the engine and its notes.
    fn write_all(
        &mut self,
        opened: File,
        alignment: Option<DirectAlignment>,
    ) -> Result<(&'static str, Vec<String>), FillError> {
        let unit = alignment.map_or(1, |a| a.offset_bytes);
        let size_bytes = self.spec.size_bytes;
        let body = size_bytes - size_bytes % unit;
        let mut written = Writer::open(opened, self.spec, unit, body)?;
        written.run(self, alignment.is_none())?;
        if body < size_bytes {
            let mut tail = Writer::open(self.opened_buffered()?, self.spec, 1, size_bytes)?;
            tail.next = body;
            tail.done_bytes = body;
            tail.run(self, true)?;
        }
        Ok((written.engine_name, written.notes))
    }

    /// An error of the system with its likely cause.
    fn failure(&self, action: String, code: Code) -> FillError {
        let (file, size) = (self.file, self.spec.size_bytes);
        let advice = match code {
            // The file system set all the room aside before the first write.
            Code::NO_SPACE if Stat::of_open(file).is_ok_and(|stat| stat.allocated_bytes >= size) => {
                "the file system has the room, the storage below it has not (thin provisioning, a snapshot, an image \
                 file on a full disk); make room there"
            }
            Code::NO_SPACE => {
                // Without the file itself, which has taken all that it got.
                let taken = Stat::of_open(file).map_or(0, |stat| stat.allocated_bytes);
                let free = file::room(file).map(|room| room.free_bytes.saturating_add(taken).to_string());
                let free = free.unwrap_or_else(|_| "an unknown number of".to_string());
                let words = "ask for a smaller file (-c) or make room";
                let advice = format!(": the file needs {size} bytes, {free} bytes are free; {words}");
                return FillError::System { action, error: code.into(), advice };
            }
            Code::FILE_TOO_LARGE => {
                "larger than the file system's or the process's limit (ulimit -f) for one file; ask for a smaller \
                 file (-c)"
            }
            Code::DISK_QUOTA => "your disk quota is used up; ask for a smaller file (-c) or a larger quota",
            Code::BAD_FILE => "the file is not open for writing",
            _ => code.io_cause().unwrap_or_default(),
        };
        let advice = if advice.is_empty() { String::new() } else { format!(": {advice}") };
        FillError::System { action, error: code.into(), advice }
    }
}

/// Whether the first write failed as it does on file systems that accept `O_DIRECT` but do not support it.
fn refuses_direct(error: &FillError) -> bool {
    matches!(error, FillError::System { error, .. }
        if matches!(Code::of(error), Some(Code::INVALID | Code::NOT_SUPPORTED)))
}

/// The part of the file that a slot is writing.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    offset: u64,
    len: u32,
    /// Bytes of it already written: a short write is continued.
    done: u32,
}

/// Blocks in flight up to an end.
struct Writer {
    engine: AnyEngine,
    engine_name: &'static str,
    notes: Vec<String>,
    blocks: Arc<IoBuffer>,
    spec: FillSpec,
    /// Lengths are multiples of this.
    unit: u64,
    end: u64,
    next: u64,
    done_bytes: u64,
    pieces: [Piece; DEPTH as usize],
}

impl Writer {
    fn open(file: File, spec: FillSpec, unit: u64, end: u64) -> Result<Self, FillError> {
        // On a cloud disk, the same writes merged into requests of several MiB left files whose random writes stayed a
        // third slower: the storage below had laid them out differently.
        let blocks = Arc::new(IoBuffer::in_small_pages((BLOCK_BYTES * u64::from(DEPTH)) as usize)?);
        if spec.content == Content::Pattern0to255 {
            // Every slot and every piece of the file begin at a multiple of 256.
            blocks.with_slice_mut(0, blocks.len(), |bytes| data::fill_pattern(bytes, 0));
        }
        let file =
            EngineFile { handle: Handle::from(file), size_bytes: spec.size_bytes, ioprio: 0, map: None };
        let (row, opened) = engine::open_ladder(Setup {
            depth: DEPTH,
            files: vec![file],
            regions: vec![Arc::clone(&blocks)],
            registered_buffers: true,
            trims: false,
            parameters: String::new(),
        })?;
        Ok(Writer {
            engine: opened.engine,
            engine_name: row.name,
            notes: opened.notes,
            blocks,
            spec,
            unit,
            end,
            next: 0,
            done_bytes: 0,
            pieces: [Piece::default(); DEPTH as usize],
        })
    }

    /// Writes from `next` to `end`.
    fn run(&mut self, fill: &mut Fill<'_>, flush: bool) -> Result<(), FillError> {
        let result = self.write_blocks(fill, flush);
        if result.is_err() {
            self.engine.drain(DRAIN_LIMIT, &mut Vec::new());
        }
        result
    }

    fn write_blocks(&mut self, fill: &mut Fill<'_>, flush: bool) -> Result<(), FillError> {
        let size_bytes = self.spec.size_bytes;
        let mut idle: Vec<u32> = (0..DEPTH).rev().collect();
        let mut done = Vec::with_capacity(DEPTH as usize);
        let mut flushed = self.done_bytes;
        while self.next < self.end || self.engine.in_flight() > 0 {
            if fill.stop.load(Ordering::Relaxed) {
                return Err(FillError::Stopped { done_bytes: self.done_bytes, size_bytes });
            }
            while self.next < self.end
                && let Some(slot) = idle.pop()
            {
                self.start(slot)?;
            }
            done.clear();
            self.engine.reap(1, DEPTH, Some(STOP_LOOK), &mut done)?;
            for completion in &done {
                if self.finish(fill, *completion)? {
                    idle.push(completion.slot);
                }
            }
            if !done.is_empty() {
                (fill.progress)(self.done_bytes, size_bytes);
            }
            if flush && self.done_bytes - flushed >= FLUSH_BYTES {
                flushed = self.done_bytes;
                retry_interrupted(fill.stop, || file::flush_data(fill.file))
                    .map_err(|code| fill.failure(format!("flushing the first {flushed} bytes"), code))?;
            }
        }
        Ok(())
    }

    /// Takes the next block into a slot.
    fn start(&mut self, slot: u32) -> Result<(), FillError> {
        let len = (self.end - self.next).min(BLOCK_BYTES) as u32;
        self.pieces[slot as usize] = Piece { offset: self.next, len, done: 0 };
        if let Content::Random { seed } = self.spec.content {
            let place = (u64::from(slot) * BLOCK_BYTES) as usize;
            let offset = self.next;
            self.blocks.with_slice_mut(place, len as usize, |bytes| Noise::at(seed, offset).fill(bytes));
        }
        self.next += u64::from(len);
        self.issue(slot)
    }

    /// Submits what is left of a slot's piece.
    fn issue(&mut self, slot: u32) -> Result<(), FillError> {
        let piece = self.pieces[slot as usize];
        let io = Io {
            slot,
            file: 0,
            region: 0,
            op: Op::Write,
            len: piece.len - piece.done,
            region_offset: u64::from(slot) * BLOCK_BYTES + u64::from(piece.done),
            offset: piece.offset + u64::from(piece.done),
        };
        Ok(self.engine.submit(&[io])?)
    }

    /// Accounts a completion; true when the slot is idle.
    fn finish(&mut self, fill: &Fill<'_>, completion: Completion) -> Result<bool, FillError> {
        let piece = &mut self.pieces[completion.slot as usize];
        let at = piece.offset + u64::from(piece.done);
        let left = piece.len - piece.done;
        let moved = match completion.result {
            // A direct write goes on at a multiple of the alignment.
            Ok(n) => n - (n % self.unit as u32),
            Err(Code::INTERRUPTED) => 0,
            Err(code) => {
                let action = format!("writing {left} bytes at offset {at}");
                return Err(fill.failure(action, code));
            }
        };
        if moved == 0 && completion.result.is_ok() {
            let action = format!("writing {left} bytes at offset {at}, of which the device accepted none");
            return Err(fill.failure(action, Code::NO_SPACE));
        }
        piece.done += moved;
        self.done_bytes += u64::from(moved);
        if piece.done == piece.len {
            return Ok(true);
        }
        self.issue(completion.slot)?;
        Ok(false)
    }
}

/// Repeats a call that a signal interrupted, unless the signal was to stop.
fn retry_interrupted(stop: &AtomicBool, mut call: impl FnMut() -> Result<(), Code>) -> Result<(), Code> {
    loop {
        match call() {
            Err(Code::INTERRUPTED) if !stop.load(Ordering::Relaxed) => {}
            result => return result,
        }
    }
}

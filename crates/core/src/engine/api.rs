//! What an engine is given, what it returns, and what it is.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use super::IoError;
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::file::{FileKind, Stat};

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read from the file into the buffer.
    Read,
    /// Write the buffer to the file.
    Write,
    /// Make durable what was written, and all that is known of the file; moves no byte.
    Flush,
    /// The same, but of what is known of the file only what is needed to read the data again.
    FlushData,
    /// Tell the target that nobody needs a range any more; moves no byte, and completes with 0.
    Trim,
}

impl Op {
    /// Whether it moves data, or only asks for something.
    pub fn moves_data(self) -> bool {
        matches!(self, Op::Read | Op::Write)
    }
}

/// One I/O to issue.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
pub struct Io {
    /// Request slot, returned in the completion; below [`Setup::depth`], one I/O in flight each.
    pub slot: u32,
    pub file: u32,
    pub region: u32,
    pub op: Op,
    /// Length in bytes, at most 0x7ffff000.
    pub len: u32,
    /// Byte offset within the region.
    pub region_offset: u64,
    /// Byte offset within the file.
    pub offset: u64,
}

/// One finished I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// The slot it was issued with.
    pub slot: u32,
    /// Bytes transferred, or why it failed.
    pub result: Result<u32, IoError>,
}

/// Memory mapping of a file (`-Sm`), for the `mmap` engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapMode {
    /// Copies use non-temporal stores (`-Smw`); then `flush` is ignored.
    pub non_temporal: bool,
    /// Flush after each write (`-N`).
    pub flush: Option<MapFlush>,
    /// The mapping is for reading only.
    pub read_only: bool,
}

/// Flush after a mapped write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapFlush {
    /// `msync(MS_SYNC)` over the covering pages (`-Nv`).
    View,
    /// Cache-line write-back and fence (`-Nn`), DAX mappings only.
    CacheLines,
    /// Cache-line write-back without fence (`-Ni`), DAX mappings only.
    CacheLinesNoDrain,
}

/// An open file that threads and slots share; it is closed with the last copy. What the system knows it by is the
/// engines' own business.
#[derive(Debug, Clone)]
pub struct Handle {
    file: Arc<File>,
    is_device: bool,
}

impl Handle {
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether it is a block device, which is trimmed in another way than a file.
    pub(super) fn is_device(&self) -> bool {
        self.is_device
    }
}

impl From<File> for Handle {
    fn from(file: File) -> Handle {
        let is_device = Stat::of_open(&file).is_ok_and(|stat| stat.kind == FileKind::Block);
        Handle { file: Arc::new(file), is_device }
    }
}

/// A file the engine will use.
#[derive(Debug, Clone)]
pub struct EngineFile {
    /// The open file.
    pub handle: Handle,
    /// Size in bytes when opened.
    pub size_bytes: u64,
    /// Kernel I/O priority of each request (`ioprio_set(2)` encoding), 0 = leave alone.
    pub ioprio: u16,
    /// Mapped I/O instead of calls.
    pub map: Option<MapMode>,
}

/// Everything an engine needs before the first I/O. All memory is taken in `open`.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Largest number of I/Os in flight.
    pub depth: u32,
    /// The files.
    pub files: Vec<EngineFile>,
    /// The buffers; the engine keeps them alive until nothing is in flight.
    pub regions: Vec<Arc<IoBuffer>>,
    /// Register buffers with the kernel where the engine can (`-u` without `n`).
    pub registered_buffers: bool,
    /// Some of the I/Os trim: engines that cannot are passed over, or refuse.
    pub trims: bool,
    /// Parameters after the colon of `--engine NAME:...` (`sim` only), empty otherwise.
    pub parameters: String,
}

/// What an engine says; without words of its own, that it takes or returns no I/Os any more.
pub(super) type Result<T = (), E = EngineError> = std::result::Result<T, E>;

/// What an engine does: take I/Os, return completions, and end.
pub trait Engine: std::fmt::Debug {
    /// Takes a batch of I/Os. The engine may hold them back until the next [`Engine::reap`], which
    /// hands them to the kernel in the same call that collects completions. Never called with more
    /// I/Os than free slots.
    ///
    /// # Errors
    /// Only when the kernel refuses to take any I/O at all; a failing I/O is a [`Completion`].
    fn submit(&mut self, ios: &[Io]) -> Result;

    /// Hands over whatever `submit` held back and appends finished I/Os to `done`, at most `max`.
    ///
    /// Waits until at least `min` are there (`min` 0: never waits), until `timeout` has passed, or
    /// until a signal arrives; fewer than `min`, or none, is not an error. `min` is never larger than
    /// the number in flight.
    ///
    /// # Errors
    /// When the kernel refuses the call itself.
    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result;

    /// [`Engine::submit`] and then [`Engine::reap`], in one call.
    ///
    /// # Errors
    /// Those of either.
    #[inline(always)]
    fn exchange(
        &mut self,
        ios: &[Io],
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result {
        if !ios.is_empty() {
            self.submit(ios)?;
        }
        self.reap(min, max, timeout, done)
    }

    /// I/Os taken by `submit` and not yet returned by `reap`.
    fn in_flight(&self) -> u32;

    /// Cancels what can be cancelled and waits for everything in flight, at most `limit`. What ended, was cancelled or
    /// had not begun is appended to `done`; the last two with an error.
    ///
    /// Returns the number of I/Os still in flight. It can be called again. When the engine is dropped, it keeps their
    /// buffers for ever.
    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32;

    /// Every I/O is finished when `submit` returns (psync, mmap): the worker then issues one at a time,
    /// as DiskSpd's synchronous path does. The one exception is a signal that interrupts the call
    /// before anything was moved: the I/O then stays in flight and `reap` tries it again.
    fn is_inline(&self) -> bool {
        false
    }

    /// The engine moves data in this program's own instructions (mmap), not by system calls.
    fn copies(&self) -> bool {
        false
    }

    /// Calls that handed I/Os to the system since the engine was opened, for engines with a ring.
    fn submits(&self) -> Option<u64> {
        None
    }

    /// The engine's own time in nanoseconds, for engines that simulate it.
    fn virtual_now_ns(&self) -> Option<u64> {
        None
    }

    /// Lets simulated time pass to `now_ns`, for engines that simulate it.
    fn advance_virtual(&mut self, now_ns: u64) {
        let _ = now_ns;
    }
}

/// Why an engine cannot be used, or stopped working.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The machine does not offer it; the ladder may step down.
    #[error("{engine} is not available here: {reason}. {advice}")]
    Unavailable {
        engine: &'static str,
        /// Likely cause, with the system's words.
        reason: String,
        advice: String,
    },
    /// Setting up failed for a reason that another engine would meet as well.
    #[error("{engine}: {action}: {error}")]
    Setup { engine: &'static str, action: String, error: String },
    /// A target is of another kind than the engine serves.
    #[error("{engine} serves one kind of target only: {needs}")]
    OtherTarget { engine: &'static str, needs: &'static str },
    /// A parameter after the colon of `--engine NAME:...` is wrong.
    #[error("{engine}: reading the parameter \"{item}\": {problem}; legal: {legal}")]
    Parameter {
        engine: &'static str,
        item: String,
        /// What is wrong with it.
        problem: String,
        /// All parameters of the engine.
        legal: &'static str,
    },
    /// The kernel refused to take or return I/Os.
    #[error("{engine}: {action}: {error}")]
    Broken { engine: &'static str, action: &'static str, error: String },
}

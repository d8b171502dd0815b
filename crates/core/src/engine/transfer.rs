//! What several engines share: where an I/O's bytes lie, one blocking transfer, the I/O priority of a
//! thread, and the system's words for an error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Completion, Engine, EngineError, EngineFile, Handle, Io, IoError, Op};
use crate::sys::buffer::IoBuffer;
use crate::sys::file;
use crate::sys::thread::{IoPrio, io_priority_of_this_thread, set_io_priority_of_this_thread};

/// How long dropping an engine waits for I/Os that its worker did not drain, or could not.
pub(super) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// The buffers of a worker, kept alive for as long as the engine may touch them.
#[derive(Debug, Clone)]
pub(super) struct Regions(Vec<Arc<IoBuffer>>);

impl Regions {
    pub(super) fn new(regions: Vec<Arc<IoBuffer>>) -> Self {
        Regions(regions)
    }

    pub(super) fn as_slice(&self) -> &[Arc<IoBuffer>] {
        &self.0
    }

    /// Address of the first byte of an I/O; every byte of the I/O is then inside the region.
    ///
    /// # Panics
    /// When the I/O names a region that does not exist or leaves it: a bug of the caller, stopped here
    /// before the kernel is given memory that is not ours.
    #[inline]
    pub(super) fn address(&self, io: &Io) -> *mut u8 {
        let region = &self.0[io.region as usize];
        let end = io.region_offset.checked_add(u64::from(io.len));
        assert!(end.is_some_and(|end| end <= region.len() as u64), "I/O outside its buffer region");
        // SAFETY: the offset is inside the region, as asserted.
        unsafe { region.as_ptr().add(io.region_offset as usize) }
    }
}

/// What is told of an I/O that was taken and never begun.
pub(super) fn not_begun(slot: u32) -> Completion {
    Completion { slot, result: Err(IoError::INTERRUPTED) }
}

/// Reaps what is in flight until nothing is, the deadline has passed or the engine fails.
pub(super) fn reap_all(engine: &mut dyn Engine, deadline: Instant, done: &mut Vec<Completion>) {
    while engine.in_flight() > 0 {
        let left = deadline.saturating_duration_since(Instant::now());
        let reaped = engine.reap(1, u32::MAX, Some(left), done);
        if reaped.is_err() || left.is_zero() {
            break;
        }
    }
}

/// One read or write that blocks: bytes moved, or why not.
///
/// # Safety
/// `len` bytes at `address` belong to this I/O alone until the call returns.
#[inline(always)]
pub(super) unsafe fn transfer(
    handle: &Handle,
    op: Op,
    address: *mut u8,
    len: u32,
    offset: u64,
) -> Result<u32, IoError> {
    match op {
        // SAFETY: the memory is valid for `len` bytes and ours, as the caller promises.
        Op::Read => unsafe { file::read_into(handle.file(), address, len, offset) },
        // SAFETY: as above.
        Op::Write => unsafe { file::write_from(handle.file(), address, len, offset) },
    }
}

/// The system's text with its number.
pub(super) fn numbered_text(error: IoError) -> String {
    std::io::Error::from(error).to_string()
}

/// The I/O priority of the calling thread, changed only when the next I/O wants another one.
#[derive(Debug)]
pub(super) struct ThreadPriority {
    /// What the thread had at the start, for files that ask for none.
    original: u16,
    current: u16,
}

impl ThreadPriority {
    /// Remembers the priority the calling thread has.
    pub(super) fn of_this_thread() -> Self {
        let IoPrio(original) = io_priority_of_this_thread();
        ThreadPriority { original, current: original }
    }

    /// Makes the calling thread issue with `wanted`, 0 being the priority it had at the start.
    #[inline]
    pub(super) fn apply(&mut self, wanted: u16) {
        let wanted = if wanted == 0 { self.original } else { wanted };
        if wanted != self.current {
            // Refusals were found by `check`; one in the middle of a run must not stop it.
            let _ = set_io_priority_of_this_thread(IoPrio(wanted));
            self.current = wanted;
        }
    }

    /// Tries every priority the files ask for and goes back to the original one.
    pub(super) fn check(&self, engine: &'static str, files: &[EngineFile]) -> Result<(), EngineError> {
        for file in files.iter().filter(|f| f.ioprio != 0) {
            set_io_priority_of_this_thread(IoPrio(file.ioprio)).map_err(|error| EngineError::Setup {
                engine,
                action: format!(
                    "setting I/O priority class {} level {} (-I) for the thread",
                    file.ioprio >> 13,
                    file.ioprio & 0x1fff
                ),
                error: error.to_string(),
            })?;
        }
        let _ = set_io_priority_of_this_thread(IoPrio(self.original));
        Ok(())
    }
}

/// Refuses a setup that no engine can serve.
pub(super) fn check_setup(
    engine: &'static str,
    setup: &super::Setup,
    depth_max: u32,
) -> Result<(), EngineError> {
    if setup.depth == 0 || setup.depth > depth_max {
        return Err(EngineError::Setup {
            engine,
            action: format!("preparing {} outstanding I/Os for one thread", setup.depth),
            error: format!(
                "the engine takes 1 to {depth_max}; use fewer per thread (-o, -O) and more threads (-t, -F)"
            ),
        });
    }
    Ok(())
}

/// Moves up to `max` completions, oldest first, to the caller's list.
#[inline]
pub(super) fn hand_out(
    ready: &mut std::collections::VecDeque<super::Completion>,
    max: u32,
    done: &mut Vec<super::Completion>,
) -> u32 {
    let count = ready.len().min(max as usize);
    done.extend(ready.drain(..count));
    count as u32
}

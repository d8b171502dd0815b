//! What several engines share: where an I/O's bytes lie, one blocking transfer, the I/O priority of a
//! thread, and the system's words for an errno.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Engine, EngineError, EngineFile, Io, Op};
use crate::sys::buffer::IoBuffer;

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

/// Reaps and drops what is in flight until nothing is, the deadline has passed or the engine fails.
pub(super) fn reap_all(engine: &mut dyn Engine, deadline: Instant) {
    let mut dropped = Vec::new();
    while engine.in_flight() > 0 {
        let left = deadline.saturating_duration_since(Instant::now());
        let reaped = engine.reap(1, u32::MAX, Some(left), &mut dropped);
        dropped.clear();
        if reaped.is_err() || left.is_zero() {
            break;
        }
    }
}

/// One `pread(2)` or `pwrite(2)`: bytes moved, or the errno.
///
/// # Safety
/// `len` bytes at `address` belong to this I/O alone until the call returns.
pub(super) unsafe fn transfer(
    fd: &OwnedFd,
    op: Op,
    address: *mut u8,
    len: u32,
    offset: u64,
) -> Result<u32, i32> {
    // Offsets beyond the signed range are the kernel's to refuse (EINVAL).
    let (fd, len, offset) = (fd.as_raw_fd(), len as usize, offset as libc::off64_t);
    let moved = match op {
        // SAFETY: the memory is valid for `len` bytes and ours, as the caller promises.
        Op::Read => unsafe { libc::pread64(fd, address.cast(), len, offset) },
        // SAFETY: as above.
        Op::Write => unsafe { libc::pwrite64(fd, address.cast(), len, offset) },
    };
    // At most `len`, which is 32 bits wide.
    u32::try_from(moved).map_err(|_| last_errno())
}

/// The errno of the system call that just failed on this thread.
pub(super) fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// The system's text of an errno.
pub(super) fn errno_text(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

/// The I/O priority of the calling thread, changed only when the next I/O wants another one.
#[derive(Debug)]
pub(super) struct ThreadPriority {
    /// What the thread had at the start, for files that ask for none.
    original: u16,
    current: u16,
}

const IOPRIO_WHO_PROCESS: libc::c_int = 1;

impl ThreadPriority {
    /// Remembers the priority the calling thread has.
    pub(super) fn of_this_thread() -> Self {
        // SAFETY: takes numbers only; 0 is the calling thread.
        let had = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
        let original = u16::try_from(had).unwrap_or(0);
        ThreadPriority { original, current: original }
    }

    /// Makes the calling thread issue with `wanted`, 0 being the priority it had at the start.
    #[inline]
    pub(super) fn apply(&mut self, wanted: u16) {
        let wanted = if wanted == 0 { self.original } else { wanted };
        if wanted != self.current {
            // Refusals were found by `check`; one in the middle of a run must not stop it.
            let _ = set_thread_priority(wanted);
            self.current = wanted;
        }
    }

    /// Tries every priority the files ask for and goes back to the original one.
    pub(super) fn check(&self, engine: &'static str, files: &[EngineFile]) -> Result<(), EngineError> {
        for file in files.iter().filter(|f| f.ioprio != 0) {
            set_thread_priority(file.ioprio).map_err(|errno| EngineError::Setup {
                engine,
                action: format!(
                    "setting I/O priority class {} level {} (-I) for the thread",
                    file.ioprio >> 13,
                    file.ioprio & 0x1fff
                ),
                error: errno_text(errno),
            })?;
        }
        let _ = set_thread_priority(self.original);
        Ok(())
    }
}

fn set_thread_priority(ioprio: u16) -> Result<(), i32> {
    // SAFETY: takes numbers only; 0 is the calling thread.
    let result =
        unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, libc::c_int::from(ioprio)) };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
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

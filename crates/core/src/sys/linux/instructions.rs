//! Instructions executed by a thread, by the processor's own counter (`perf_event_open(2)`).
//!
//! Virtual machines often have none, and administrators can forbid it (`kernel.perf_event_paranoid`).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

use crate::sys::error::system_text;

/// The first version of the kernel's `perf_event_attr`, which every kernel takes.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
}

const KIND_HARDWARE: u32 = 0;
const HARDWARE_INSTRUCTIONS: u64 = 1;
/// On the processor for as long as the thread runs, or an error: nothing is extrapolated.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Close the descriptor in programs that this one starts.
const FLAG_CLOEXEC: libc::c_ulong = 1 << 3;

/// Why a thread's instructions are not counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCounter {
    /// Not for this user.
    #[error(
        "the kernel does not allow the processor's instruction counter ({0}; sysctl kernel.perf_event_paranoid=2 \
         allows it)"
    )]
    NotAllowed(String),
    /// The processor has none, or hides it.
    #[error("the processor has no instruction counter here")]
    None,
    /// Others have all of them.
    #[error("other programs use the processor's instruction counter")]
    Taken,
    /// Anything else the system said.
    #[error("the kernel offers no instruction counter ({0})")]
    Other(String),
}

/// Counts the instructions that the thread which opened it executes in user mode.
#[derive(Debug)]
pub struct Instructions(File);

impl Instructions {
    /// Starts counting on the calling thread.
    ///
    /// # Errors
    /// Why there is no such counter.
    pub fn of_this_thread() -> Result<Self, NoCounter> {
        let attributes = Attributes {
            kind: KIND_HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: HARDWARE_INSTRUCTIONS,
            flags: PINNED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        // SAFETY: the kernel reads `size` bytes of `attributes` and keeps nothing of them. Thread 0 is the caller,
        // processor -1 any, group -1 none.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, FLAG_CLOEXEC)
        };
        let fd = i32::try_from(fd).unwrap_or(-1);
        if fd < 0 {
            return Err(why(&io::Error::last_os_error()));
        }
        // SAFETY: the kernel has just given this descriptor to us alone.
        let counter = Instructions(unsafe { File::from_raw_fd(fd) });
        match counter.read() {
            Some(_) => Ok(counter),
            None => Err(NoCounter::Taken),
        }
    }

    /// Instructions so far; `None` when the counter was lost.
    pub fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count).ok()?;
        Some(u64::from_ne_bytes(count))
    }
}

fn why(error: &io::Error) -> NoCounter {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => NoCounter::NotAllowed(system_text(error)),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => NoCounter::None,
        _ => NoCounter::Other(system_text(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_runs_or_says_why_not() {
        let counter = match Instructions::of_this_thread() {
            Ok(counter) => counter,
            Err(why) => return assert!(why.to_string().contains("instruction counter"), "{why}"),
        };
        let of = |rounds: u64| {
            let before = counter.read().expect("counts");
            (0..rounds).for_each(|i| {
                std::hint::black_box(i);
            });
            counter.read().expect("counts") - before
        };
        let (some, many) = (of(1000), of(1_000_000));
        assert!(some >= 1000 && many >= 1_000_000 && many > 100 * some, "{some} and {many}");
    }

    #[test]
    fn refusals_say_what_to_do() {
        let words = |errno| why(&io::Error::from_raw_os_error(errno)).to_string();
        assert!(words(libc::EACCES).contains("perf_event_paranoid"));
        assert!(words(libc::ENOENT).contains("the processor has no instruction counter here"));
        assert!(words(libc::EMFILE).contains("Too many open files"));
        assert_eq!(size_of::<Attributes>(), 64, "PERF_ATTR_SIZE_VER0");
    }
}

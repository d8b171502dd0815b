//! Making a ring: flags the kernel may not know yet, and the reasons why there is no io_uring here.

use std::io;

use io_uring::{Builder, IoUring, cqueue, squeue};

use super::transfer::numbered_text;
use super::{EngineError, IoError};

pub(super) const NAME: &str = "io_uring";
/// The same with polled completions.
pub(super) const POLLED_NAME: &str = "io_uring_poll";

/// One set of ring flags, best first.
pub(super) struct Step {
    flags: Flags,
    /// What is given up when the kernel refuses this step.
    lost: &'static str,
}

/// What a ring asks for; each has what the next one has not.
#[derive(Debug, Clone, Copy)]
enum Flags {
    /// Nothing.
    Plain,
    /// Completions do not interrupt the worker.
    Cooperative,
    /// They are finished by the call that reaps them.
    Deferred,
    /// The queue of submissions needs no array of indexes.
    Direct,
}

impl Flags {
    fn set<S: squeue::EntryMarker, C: cqueue::EntryMarker>(self, builder: &mut Builder<S, C>) {
        match self {
            Flags::Plain => return,
            Flags::Cooperative => builder.setup_coop_taskrun(),
            Flags::Deferred => builder.setup_single_issuer().setup_defer_taskrun(),
            Flags::Direct => builder.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray(),
        };
        builder.setup_taskrun_flag().setup_submit_all();
    }
}

/// Flags the kernel refuses with EINVAL when it is older than they are.
pub(super) const STEPS: &[Step] = &[
    Step {
        flags: Flags::Direct,
        lost: "the ring has an extra index array: the kernel is older than Linux 6.6",
    },
    Step {
        flags: Flags::Deferred,
        lost: "completion work is not deferred to the reaping call: the kernel is older than Linux 6.1",
    },
    Step {
        flags: Flags::Cooperative,
        lost: "completions interrupt the worker: the kernel is older than Linux 5.19",
    },
    Step { flags: Flags::Plain, lost: "" },
];

/// Largest submission queue the kernel makes; the completion queue is twice as large.
pub(super) const DEPTH_MAX: u32 = 32768;

/// Opens a ring for `depth` I/Os with the best flags the kernel takes; what was given up goes to `notes`. `polled`:
/// nothing completes unless it is asked for. The types of its entries say how long they are.
pub(super) fn build<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    depth: u32,
    polled: bool,
    notes: &mut Vec<String>,
) -> Result<IoUring<S, C>, EngineError> {
    let ring = first_accepted(STEPS, notes, |step| {
        let mut builder = IoUring::<S, C>::builder();
        // A child that inherited the ring could not use it; it only would keep it alive.
        builder.dontfork().setup_cqsize(depth.next_power_of_two() * 2);
        step.flags.set(&mut builder);
        if polled {
            builder.setup_iopoll();
        }
        builder.build(depth)
    })
    .map_err(|errno| refusal_of_entries(errno, size_of::<S>(), sysctl_disabled()))?;
    if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
        return Err(too_old("its io_uring cannot wait with a time limit (needs Linux 5.11)"));
    }
    Ok(ring)
}

/// Tries the steps in order; only EINVAL, the kernel's word for an unknown flag, leads to the next. The errno
/// of the last one when no step is accepted.
fn first_accepted<T>(
    steps: &[Step],
    notes: &mut Vec<String>,
    mut attempt: impl FnMut(&Step) -> io::Result<T>,
) -> Result<T, i32> {
    for step in steps {
        match attempt(step) {
            Ok(made) => return Ok(made),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                if errno != libc::EINVAL {
                    return Err(errno);
                }
                if !step.lost.is_empty() {
                    notes.push(format!("{NAME}: {}", step.lost));
                }
            }
        }
    }
    Err(libc::EINVAL)
}

/// Whether a ring can be had at all. Opens a small one and closes it.
pub(super) fn probe() -> Result<(), EngineError> {
    build::<squeue::Entry, cqueue::Entry>(1, false, &mut Vec::new()).map(drop)
}

/// Whether the kernel is Linux 6.6 or newer, told by a flag that came with it.
pub(super) fn is_linux_6_6() -> bool {
    IoUring::<squeue::Entry, cqueue::Entry>::builder().setup_no_sqarray().build(1).is_ok()
}

/// The switch that administrators use to turn io_uring off, when the kernel has it.
fn sysctl_disabled() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}

fn too_old(reason: &str) -> EngineError {
    EngineError::Unavailable {
        engine: NAME,
        reason: format!("this kernel is too old: {reason}"),
        advice: "Use a newer kernel, or another engine (--engine libaio, --engine threads)".into(),
    }
}

/// The same as [`refusal`], of a ring whose submissions have this many bytes: those of commands are longer,
/// and an older kernel has only the others.
fn refusal_of_entries(errno: i32, entry_bytes: usize, disabled: Option<u32>) -> EngineError {
    if errno == libc::EINVAL && entry_bytes > size_of::<squeue::Entry>() {
        return too_old(&format!("its io_uring has no entries of {entry_bytes} bytes (Linux 5.19)"));
    }
    refusal(errno, disabled)
}

/// Puts the errno of `io_uring_setup(2)` into words; `disabled` is the sysctl `kernel.io_uring_disabled`.
pub(super) fn refusal(errno: i32, disabled: Option<u32>) -> EngineError {
    let text = numbered_text(IoError::from_number(errno));
    let unavailable = |reason: String, advice: &str| EngineError::Unavailable {
        engine: NAME,
        reason,
        advice: advice.to_string(),
    };
    match (errno, disabled) {
        (libc::ENOSYS, _) => unavailable(
            format!("this kernel has no io_uring: it is older than Linux 5.1 or built without it ({text})"),
            "Use another engine (--engine libaio, --engine threads)",
        ),
        (libc::EPERM | libc::EACCES, Some(2)) => unavailable(
            format!(
                "the administrator turned it off for everybody: sysctl kernel.io_uring_disabled is 2 ({text})"
            ),
            "Set kernel.io_uring_disabled to 0, or use another engine (--engine libaio, --engine threads)",
        ),
        (libc::EPERM | libc::EACCES, Some(1)) => unavailable(
            format!(
                "the administrator allows it only to root and to the group in sysctl \
                 kernel.io_uring_group: kernel.io_uring_disabled is 1 ({text})"
            ),
            "Run as root or as a member of that group, or use another engine (--engine libaio, --engine threads)",
        ),
        (libc::EPERM | libc::EACCES, _) => unavailable(
            format!("a system-call filter forbids it, as container runtimes do by default ({text})"),
            "Allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile, \
             or use another engine (--engine libaio, --engine threads)",
        ),
        (libc::ENOMEM, _) => unavailable(
            format!("no memory for the ring; it can count as locked memory (ulimit -l) ({text})"),
            "Raise the locked-memory limit (ulimit -l), or use fewer outstanding I/Os (-o, -O)",
        ),
        (libc::EINVAL, _) => {
            too_old(&format!("it refuses a plain ring with a completion queue size ({text})"))
        }
        _ => EngineError::Setup { engine: NAME, action: "making a ring".into(), error: text },
    }
}

/// What goes without [`register_ring_fd`], in words.
pub(super) fn ring_fd_refused(name: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EINVAL) => {
            format!("{name}: each call looks up its ring by descriptor: the kernel is older than Linux 5.18")
        }
        _ => {
            format!("{name}: each call looks up its ring by descriptor: it could not be registered: {error}")
        }
    }
}

/// Registers the ring's own descriptor, which saves the kernel a reference count per call; the index
/// to use instead.
pub(super) fn register_ring_fd(ring_fd: i32) -> io::Result<u32> {
    const IORING_REGISTER_RING_FDS: libc::c_uint = 20;
    let mut update = RingFdUpdate { offset: u32::MAX, resv: 0, data: ring_fd as u64 };
    // SAFETY: one update entry, which outlives the call; the kernel writes its `offset`.
    let registered = unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring_fd, IORING_REGISTER_RING_FDS, &raw mut update, 1)
    };
    if registered == 1 { Ok(update.offset) } else { Err(io::Error::last_os_error()) }
}

/// Gives the index back; without this the thread would keep the ring alive.
pub(super) fn unregister_ring_fd(ring_fd: i32, index: u32) {
    const IORING_UNREGISTER_RING_FDS: libc::c_uint = 21;
    let mut update = RingFdUpdate { offset: index, resv: 0, data: 0 };
    // SAFETY: one update entry, which outlives the call.
    unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring_fd, IORING_UNREGISTER_RING_FDS, &raw mut update, 1)
    };
}

/// `struct io_uring_rsrc_update` of the kernel.
#[repr(C)]
struct RingFdUpdate {
    offset: u32,
    resv: u32,
    data: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(errno: i32, disabled: Option<u32>) -> String {
        refusal(errno, disabled).to_string()
    }

    #[test]
    fn reasons_are_told_apart() {
        assert!(words(libc::ENOSYS, None).contains("no io_uring"));
        assert!(words(libc::EPERM, Some(2)).contains("io_uring_disabled is 2"));
        assert!(words(libc::EPERM, Some(1)).contains("io_uring_group"));
        assert!(words(libc::EPERM, Some(0)).contains("seccomp"));
        assert!(words(libc::EPERM, None).contains("seccomp"));
        assert!(words(libc::ENOMEM, None).contains("ulimit -l"));
        for errno in [libc::ENOSYS, libc::EPERM, libc::ENOMEM, libc::EINVAL] {
            assert!(matches!(refusal(errno, None), EngineError::Unavailable { .. }), "the ladder steps down");
        }
        assert!(matches!(refusal(libc::EMFILE, None), EngineError::Setup { .. }), "it would not help");
    }

    #[test]
    fn long_entries_are_told_apart_from_plain_ones() {
        let words = |errno, bytes| refusal_of_entries(errno, bytes, None).to_string();
        assert!(words(libc::EINVAL, 128).contains("no entries of 128 bytes"));
        assert!(words(libc::EINVAL, 64).contains("refuses a plain ring"));
        assert!(words(libc::ENOSYS, 128).contains("no io_uring"));
    }

    #[test]
    fn a_ring_that_is_not_registered_tells_the_kernel_that_can() {
        let words = |errno| ring_fd_refused(NAME, &io::Error::from_raw_os_error(errno));
        assert!(words(libc::EINVAL).ends_with("the kernel is older than Linux 5.18"));
        assert!(words(libc::EBUSY).contains("could not be registered"));
    }

    #[test]
    fn an_old_kernel_gets_fewer_flags_and_each_step_is_told() {
        for kernel in 0..STEPS.len() {
            let mut notes = Vec::new();
            let mut tried = 0;
            let made = first_accepted(STEPS, &mut notes, |_| {
                tried += 1;
                if tried > kernel { Ok(tried) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
            });
            assert_eq!(made.expect("one of the steps"), kernel + 1);
            assert_eq!(notes.len(), kernel, "{notes:?}");
        }
    }

    #[test]
    fn other_refusals_end_the_search() {
        let mut notes = Vec::new();
        let mut tried = 0;
        let made: Result<(), _> = first_accepted(STEPS, &mut notes, |_| {
            tried += 1;
            Err(io::Error::from_raw_os_error(libc::ENOSYS))
        });
        assert_eq!(made, Err(libc::ENOSYS));
        assert_eq!((tried, notes.len()), (1, 0));
    }
}

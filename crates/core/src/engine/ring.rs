//! A ring of io_uring: how one is made ([`build`]), the memory that its entries point to, and the one call that hands
//! over what is held and waits for completions. `uring.rs` and `nvme.rs` are engines over it.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};
use std::{fmt, io};

use io_uring::{Builder, IoUring, cqueue, squeue, types};
use rustix::io_uring::{IoringEnterFlags, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg};

use super::transfer::Regions;
use super::{Completion, EngineError, EngineFile, Io, IoError, Result, Setup};
use truespd_platform::sys::error::system_text;

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
) -> Result<IoUring<S, C>> {
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
pub(super) fn probe() -> Result {
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
    let text = IoError::from_number(errno).text();
    let unavailable = |reason: String, advice: &str| EngineError::Unavailable {
        engine: NAME,
        reason,
        advice: advice.to_string(),
    };
    match (errno, disabled) {
        (libc::ENOSYS, _) => unavailable(
            format!(
                "the kernel has no io_uring, or a filter of system calls hides it, as in containers ({text})"
            ),
            "In a container allow io_uring_setup, io_uring_enter and io_uring_register in its seccomp profile. \
             With a kernel before Linux 5.1, or one without io_uring, use --engine libaio or --engine threads",
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
            let text = system_text(error);
            format!("{name}: each call looks up its ring by descriptor: it could not be registered: {text}")
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

// ---- the ring in use

/// The kernel registers at most 1 GiB as one buffer; larger regions are registered in pieces.
const PIECE_BITS: u32 = 30;
const PIECES_MAX: usize = 1 << 14;
/// Attempts to hand over while the kernel has no memory for a request and nothing else is in flight.
const STARVED_MAX: u32 = 1000;
/// User data of what is no I/O, such as a request to cancel.
pub(super) const NO_IO: u64 = u64::MAX;

/// A ring of one thread.
pub(super) struct Ring<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    name: &'static str,
    /// Leaked together with the memory when I/Os stay in flight.
    uring: ManuallyDrop<IoUring<S, C>>,
    memory: ManuallyDrop<Memory>,
    /// Descriptor or registered index for `io_uring_enter(2)`, and the flag that says which.
    enter_fd: i32,
    enter_flags: IoringEnterFlags,
    /// Completions come only when the kernel is asked for them, and it then asks the device.
    is_polled: bool,
    /// In the submission queue, not yet handed to the kernel.
    held: u32,
    in_flight: u32,
    starved: u32,
    /// Calls that had I/Os to hand over.
    submits: u64,
}

pub(super) struct Memory {
    regions: Regions,
    _files: Vec<EngineFile>,
    /// Number of each region's first registered piece; empty when none are registered.
    first_piece: Vec<u32>,
}

impl Memory {
    /// Address of an I/O's bytes, all of which are inside its region.
    #[inline]
    pub(super) fn address(&self, io: &Io) -> *mut u8 {
        self.regions.address(io)
    }

    /// The registered piece that holds the whole I/O, if there is one.
    #[inline]
    pub(super) fn piece(&self, io: &Io) -> Option<u16> {
        let first = *self.first_piece.get(io.region as usize)?;
        piece_after(first, io.region_offset, io.len)
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> fmt::Debug for Ring<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("held", &self.held).field("in_flight", &self.in_flight).finish()
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker + Into<cqueue::Entry>> Ring<S, C> {
    /// With the buffers and the ring's own descriptor registered, as far as the kernel lets it; what it refuses goes to
    /// `notes`.
    pub(super) fn new(
        uring: IoUring<S, C>,
        name: &'static str,
        is_polled: bool,
        setup: Setup,
        notes: &mut Vec<String>,
    ) -> Self {
        let regions = Regions::new(setup.regions);
        let first_piece = if setup.registered_buffers {
            register_buffers(&uring, &regions, name, notes)
        } else {
            Vec::new()
        };
        let (enter_fd, enter_flags) = match register_ring_fd(uring.as_raw_fd()) {
            Ok(index) => (index as i32, IoringEnterFlags::REGISTERED_RING),
            Err(error) => {
                notes.push(ring_fd_refused(name, &error));
                (uring.as_raw_fd(), IoringEnterFlags::empty())
            }
        };
        Ring {
            name,
            uring: ManuallyDrop::new(uring),
            memory: ManuallyDrop::new(Memory { regions, _files: setup.files, first_piece }),
            enter_fd,
            enter_flags,
            is_polled,
            held: 0,
            in_flight: 0,
            starved: 0,
            submits: 0,
        }
    }

    /// I/Os that were pushed and have not been taken out.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Calls that had I/Os to hand over, so far.
    pub(super) fn submits(&self) -> u64 {
        self.submits
    }

    /// Puts the entries of I/Os into the submission queue, without those that have none.
    #[inline(always)]
    pub(super) fn push(&mut self, ios: &[Io], mut entry: impl FnMut(&Memory, &Io) -> Option<S>) {
        let mut queue = self.uring.submission();
        let mut pushed = 0;
        for entry in ios.iter().filter_map(|io| entry(&self.memory, io)) {
            // SAFETY: what made `entry` took the address from the memory, which checks that the bytes are inside a
            // region. The region is kept until nothing is in flight; the worker leaves a slot's bytes alone until its
            // completion. The ranges of trims (`nvme.rs`) are kept and left alone in the same way.
            let result = unsafe { queue.push(&entry) };
            // The queue has at least `depth` entries.
            result.expect("never more I/Os than free slots");
            pushed += 1;
        }
        drop(queue);
        self.held += pushed;
        self.in_flight += pushed;
    }

    /// Hands over an entry that is no I/O, by itself, as far as the kernel takes it. It points to no memory
    /// and bears the user data [`NO_IO`].
    pub(super) fn push_aside(&mut self, entry: &S) {
        if self.held > 0 && self.enter(0, None).is_err() {
            return;
        }
        // SAFETY: the entry points to no memory.
        let pushed = unsafe { self.uring.submission().push(entry) };
        if pushed.is_ok() {
            self.held += 1;
            let _ = self.enter(0, None);
        }
    }

    /// Hands over what is held and takes up to `max` completions, waiting as [`super::Engine::reap`] says.
    /// `result` makes an I/O's result of its slot and of what the kernel says.
    #[inline(always)]
    pub(super) fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
        result: impl Fn(u32, i32) -> Result<u32, IoError>,
    ) -> Result {
        // Right after a submission the kernel is entered anyway, so the queue is read only after that.
        let ready = if min > 0 { self.uring.completion().len() as u32 } else { 0 };
        let wait = if ready >= min { 0 } else { min };
        let must_enter = self.held > 0 || wait > 0 || (min == 0 && self.in_flight > 0 && self.work_waits());
        if must_enter {
            match timeout {
                Some(limit) if self.is_polled && wait > 0 => self.poll_for(min, limit)?,
                _ => self.enter(wait, timeout)?,
            }
        }
        self.take(max, done, result)
    }

    /// Hands over what is held and waits for `wait` completions, in one call. Time limit, signal and a
    /// kernel short of memory end it early.
    #[inline(always)]
    fn enter(&mut self, wait: u32, timeout: Option<Duration>) -> Result {
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        self.submits += u64::from(self.held > 0);
        let entered = self.enter_once(wait, timeout);
        if entered == Ok(self.held) {
            self.held = 0;
            self.starved = 0;
            return Ok(());
        }
        self.enter_again(entered, wait, deadline)
    }

    /// What to do when an entry did not take all that was held.
    #[cold]
    #[inline(never)]
    fn enter_again(&mut self, mut entered: Result<u32, i32>, wait: u32, deadline: Option<Instant>) -> Result {
        loop {
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            match entered {
                Ok(taken) => {
                    self.held -= taken;
                    if taken > 0 {
                        self.starved = 0;
                    }
                    if self.held == 0 || taken == 0 {
                        return Ok(());
                    }
                    // The kernel took a part and did not wait.
                    entered = self.enter_once(wait, left);
                }
                Err(libc::EINTR | libc::ETIME) => return Ok(()),
                // No memory for a request, or completions that must be taken out first.
                Err(errno @ (libc::EAGAIN | libc::EBUSY)) => return self.starve(errno, wait, left),
                Err(errno) => return Err(self.broken(errno)),
            }
        }
    }

    /// What is held stays held; waits for what the kernel already has.
    #[cold]
    fn starve(&mut self, errno: i32, wait: u32, left: Option<Duration>) -> Result {
        let with_kernel = self.in_flight.saturating_sub(self.held);
        if with_kernel == 0 {
            self.starved += 1;
            if self.starved > STARVED_MAX {
                return Err(self.broken(errno));
            }
            std::thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        let waited = self.enter_once(wait.min(1), left);
        self.held = held;
        match waited {
            Ok(_) | Err(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(()),
            Err(errno) => Err(self.broken(errno)),
        }
    }

    /// One `io_uring_enter(2)`, which runs deferred completion work unless there can be none: the number of I/Os
    /// taken, or the errno.
    #[inline(always)]
    fn enter_once(&mut self, wait: u32, timeout: Option<Duration>) -> Result<u32, i32> {
        // What the page cache answers within this very call is in the queue without asking for events. What is polled
        // can be there as soon as it is handed over.
        let events = if wait > 0 || self.in_flight > self.held || self.is_polled {
            IoringEnterFlags::GETEVENTS
        } else {
            IoringEnterFlags::empty()
        };
        let flags = events | self.enter_flags;
        // SAFETY: open for as long as the ring, or the index of the ring among this thread's registered ones.
        let ring = unsafe { BorrowedFd::borrow_raw(self.enter_fd) };
        let taken = match timeout {
            Some(limit) if wait > 0 => {
                let mut limit = types::Timespec::from(limit);
                let argument = io_uring_getevents_arg {
                    ts: (&raw mut limit).cast::<c_void>().into(),
                    ..Default::default()
                };
                let flags = flags | IoringEnterFlags::EXT_ARG;
                // SAFETY: the counts are the ring's own; what the entries point to is kept alive by `memory`. The
                // argument and the limit it points to outlive the call.
                unsafe { io_uring_enter_arg(ring, self.held, wait, flags, Some(&argument)) }
            }
            // SAFETY: as above.
            _ => unsafe { io_uring_enter(ring, self.held, wait, flags) },
        };
        taken.map_err(|errno| errno.raw_os_error())
    }

    /// Takes up to `max` completions out of the queue.
    #[inline(always)]
    fn take(
        &mut self,
        max: u32,
        done: &mut Vec<Completion>,
        result: impl Fn(u32, i32) -> Result<u32, IoError>,
    ) -> Result {
        let mut room = max;
        let mut queue = self.uring.completion();
        while room > 0 {
            let Some(entry) = queue.next() else { break };
            let entry: cqueue::Entry = entry.into();
            if entry.user_data() == NO_IO {
                continue;
            }
            let slot = entry.user_data() as u32;
            done.push(Completion { slot, result: result(slot, entry.result()) });
            room -= 1;
        }
        let has_lost = queue.overflow() > 0;
        drop(queue);
        self.in_flight -= max - room;
        if has_lost {
            return Err(EngineError::Broken {
                engine: self.name,
                action: "collecting completions",
                error: "the kernel lost completions because its queue overflowed and memory ran out".into(),
            });
        }
        Ok(())
    }

    /// Whether the completion queue alone may not show all finished I/Os.
    #[inline(always)]
    fn work_waits(&mut self) -> bool {
        // Without the flag (the last step of the setup) the kernel finishes I/Os by itself.
        let queue = self.uring.submission();
        self.is_polled || queue.taskrun() || queue.cq_overflow()
    }

    /// A polling kernel knows no time limit.
    #[cold]
    fn poll_for(&mut self, min: u32, limit: Duration) -> Result {
        let since = Instant::now();
        loop {
            self.enter(0, None)?;
            if self.uring.completion().len() as u32 >= min || since.elapsed() >= limit {
                return Ok(());
            }
        }
    }

    fn broken(&self, errno: i32) -> EngineError {
        EngineError::Broken {
            engine: self.name,
            action: "handing I/Os to the kernel and waiting for completions (io_uring_enter)",
            error: IoError::from_number(errno).text(),
        }
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Drop for Ring<S, C> {
    fn drop(&mut self) {
        // The kernel takes a closed ring apart later, on its own time, and would hold its files until
        // then: unmounting right after the run would find the file system busy. Nothing to do about a
        // failure, and without registered files there is one.
        if self.in_flight == 0 {
            let _ = self.uring.submitter().unregister_files();
        }
        if self.enter_flags.contains(IoringEnterFlags::REGISTERED_RING) {
            unregister_ring_fd(self.uring.as_raw_fd(), self.enter_fd as u32);
        }
        if self.in_flight == 0 {
            // SAFETY: dropped once, here; the ring goes before the memory it has registered, and
            // nothing is in flight. Otherwise both stay for ever.
            unsafe {
                ManuallyDrop::drop(&mut self.uring);
                ManuallyDrop::drop(&mut self.memory);
            }
        }
    }
}

/// Registers every region in pieces of 1 GiB; the number of each region's first piece, or nothing and
/// a note.
fn register_buffers<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    uring: &IoUring<S, C>,
    regions: &Regions,
    name: &str,
    notes: &mut Vec<String>,
) -> Vec<u32> {
    let mut first = Vec::with_capacity(regions.as_slice().len());
    let mut pieces = Vec::new();
    let mut bytes = 0;
    for region in regions.as_slice() {
        first.push(pieces.len() as u32);
        bytes += region.len();
        let mut start = 0;
        while start < region.len() {
            let len = (region.len() - start).min(1 << PIECE_BITS);
            // SAFETY: `start` is inside the region.
            let base = unsafe { region.as_ptr().add(start) };
            pieces.push(libc::iovec { iov_base: base.cast(), iov_len: len });
            start += len;
        }
    }
    if pieces.is_empty() {
        return Vec::new();
    }
    if pieces.len() > PIECES_MAX {
        notes.push(format!("{name}: buffers not registered: {} of them, {PIECES_MAX} at most", pieces.len()));
        return Vec::new();
    }
    // SAFETY: the engine keeps the regions until the ring is gone, or for ever.
    match unsafe { uring.submitter().register_buffers(&pieces) } {
        Ok(()) => first,
        Err(error) => {
            notes.push(not_registered(name, &error, bytes));
            Vec::new()
        }
    }
}

/// Says why buffers are not registered and what would help.
fn not_registered(name: &str, error: &std::io::Error, bytes: usize) -> String {
    let text = system_text(error);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    match (error.raw_os_error(), limit) {
        (Some(libc::ENOMEM), Some(limit)) => format!(
            "{name}: buffers not registered: they take {} KiB, the locked-memory limit is {} KiB for all \
             threads together (ulimit -l): {text}",
            bytes / 1024,
            limit / 1024
        ),
        _ => format!("{name}: buffers not registered: {text}"),
    }
}

/// The registered piece that holds `len` bytes at `offset` of a region whose first piece is `first`; none
/// when they lie in two.
#[inline]
fn piece_after(first: u32, offset: u64, len: u32) -> Option<u16> {
    let piece = offset >> PIECE_BITS;
    let last = (offset + u64::from(len.max(1)) - 1) >> PIECE_BITS;
    (piece == last).then_some((u64::from(first) + piece) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_uses_the_piece_it_lies_in() {
        const GIB: u64 = 1 << 30;
        assert_eq!(piece_after(0, 0, 4096), Some(0));
        assert_eq!(piece_after(3, GIB - 4096, 4096), Some(3));
        assert_eq!(piece_after(3, GIB - 4096, 4097), None, "in two pieces");
        assert_eq!(piece_after(3, GIB, 4096), Some(4));
        assert_eq!(piece_after(3, 5 * GIB, 0), Some(8), "nothing is moved, but it has a place");
    }
}

#[cfg(test)]
mod tests_of_uring_setup {
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

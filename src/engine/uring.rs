//! `io_uring`: one ring per worker, a batch handed over and completions collected in one kernel entry.
//!
//! The ring is used by the thread that opened it only (single issuer), and the kernel finishes I/Os
//! only while that thread is in `reap` (deferred task work), so that completions never interrupt the
//! worker between two stamps. What the kernel refuses is given up in order and told in the notes.

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io_uring::{IoringEnterFlags, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg};

use super::transfer::{DROP_LIMIT, Regions, check_setup, numbered_text, reap_all};
use super::uring_setup::{self, DEPTH_MAX, NAME, POLLED_NAME};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Op, Opened, Setup};
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::roots::Roots;
use crate::sys::file::{FileKind, Stat, is_direct};

/// User data of the cancel request, which is no slot.
const CANCEL: u64 = u64::MAX;

/// The kernel registers at most 1 GiB as one buffer; larger regions are registered in pieces.
const PIECE_BITS: u32 = 30;
/// Registered buffers per ring.
const PIECES_MAX: usize = 1 << 14;

/// Attempts to hand over while the kernel has no memory for a request and nothing else is in flight.
const STARVED_MAX: u32 = 1000;

struct Uring {
    /// Leaked together with the memory when I/Os stay in flight.
    ring: ManuallyDrop<IoUring>,
    memory: ManuallyDrop<Translator>,
    /// Descriptor or registered index for `io_uring_enter(2)`, and the flag that says which.
    enter_fd: i32,
    enter_flags: IoringEnterFlags,
    /// Completions come only when the kernel is asked for them, and it then asks the device.
    is_polled: bool,
    /// In the submission queue, not yet handed to the kernel.
    held: u32,
    in_flight: u32,
    starved: u32,
}

/// Turns I/Os into entries of the submission queue, and owns the memory they point to.
struct Translator {
    regions: Regions,
    /// Keeps the descriptors open.
    _files: Vec<EngineFile>,
    targets: Vec<Target>,
    file_flags: squeue::Flags,
    /// Number of each region's first registered piece; empty when none are registered.
    first_piece: Vec<u32>,
}

/// What the kernel calls a file: its registered index, or its descriptor.
struct Target {
    fd: types::Fd,
    ioprio: u16,
}

impl fmt::Debug for Uring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uring").field("held", &self.held).field("in_flight", &self.in_flight).finish()
    }
}

pub(super) fn open(setup: Setup) -> Result<Opened, EngineError> {
    open_with(setup, false)
}

/// The same, and nobody waits for interrupts.
pub(super) fn open_polled(setup: Setup) -> Result<Opened, EngineError> {
    setup.files.iter().try_for_each(check_pollable)?;
    open_with(setup, true)
}

/// The kernel would fail each I/O with a number that says nothing about the cause.
fn check_pollable(file: &EngineFile) -> Result<(), EngineError> {
    let refused = |error: String| EngineError::Setup {
        engine: POLLED_NAME,
        action: "preparing to ask the device for completions".into(),
        error,
    };
    if !is_direct(file.handle.file()) {
        return Err(refused("only direct I/O can be polled; add -Su or -Sh".into()));
    }
    let number = Stat::of_open(file.handle.file()).map(|stat| match stat.kind {
        FileKind::Block => stat.node_of,
        _ => stat.device,
    });
    let device =
        number.ok().and_then(|raw| BlockDevice::find(DeviceNumber::from_raw(raw), &Roots::default()));
    match device.filter(|device| device.can_be_polled() == Some(false)) {
        Some(device) => Err(refused(format!(
            "{} has no poll queues (queue/io_poll is 0); NVMe gets some by the module parameter nvme.poll_queues=N; or use \
             --engine {NAME}",
            device.node_name()
        ))),
        None => Ok(()),
    }
}

fn open_with(setup: Setup, is_polled: bool) -> Result<Opened, EngineError> {
    check_setup(NAME, &setup, DEPTH_MAX)?;
    let mut notes = Vec::new();
    let ring = uring_setup::build(setup.depth, is_polled, &mut notes)?;
    let fds: Vec<i32> = setup.files.iter().map(|f| f.handle.file().as_raw_fd()).collect();
    let fixed_files = match ring.submitter().register_files(&fds) {
        Ok(()) => true,
        Err(error) => {
            notes.push(format!("{NAME}: files not registered: {error}"));
            false
        }
    };
    let target = |(index, file): (usize, &EngineFile)| {
        let fd = if fixed_files { index as i32 } else { file.handle.file().as_raw_fd() };
        Target { fd: types::Fd(fd), ioprio: file.ioprio }
    };
    let targets = setup.files.iter().enumerate().map(target).collect();
    let regions = Regions::new(setup.regions);
    let first_piece =
        if setup.registered_buffers { register_buffers(&ring, &regions, &mut notes) } else { Vec::new() };
    let (enter_fd, enter_flags) = match uring_setup::register_ring_fd(ring.as_raw_fd()) {
        Ok(index) => (index as i32, IoringEnterFlags::REGISTERED_RING),
        Err(error) => {
            notes.push(format!("{NAME}: ring descriptor not registered: {error}"));
            (ring.as_raw_fd(), IoringEnterFlags::empty())
        }
    };
    let memory = Translator {
        regions,
        _files: setup.files,
        targets,
        file_flags: if fixed_files { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() },
        first_piece,
    };
    let engine = Uring {
        ring: ManuallyDrop::new(ring),
        memory: ManuallyDrop::new(memory),
        enter_fd,
        enter_flags,
        is_polled,
        held: 0,
        in_flight: 0,
        starved: 0,
    };
    Ok(Opened { engine: Box::new(engine), notes })
}

/// Registers every region in pieces of 1 GiB; the number of each region's first piece, or nothing and
/// a note.
fn register_buffers(ring: &IoUring, regions: &Regions, notes: &mut Vec<String>) -> Vec<u32> {
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
        notes.push(format!("{NAME}: buffers not registered: {} of them, {PIECES_MAX} at most", pieces.len()));
        return Vec::new();
    }
    // SAFETY: the engine keeps the regions until the ring is gone, or for ever.
    match unsafe { ring.submitter().register_buffers(&pieces) } {
        Ok(()) => first,
        Err(error) => {
            notes.push(not_registered(&error, bytes));
            Vec::new()
        }
    }
}

/// Says why buffers are not registered and what would help.
fn not_registered(error: &std::io::Error, bytes: usize) -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    match (error.raw_os_error(), limit) {
        (Some(libc::ENOMEM), Some(limit)) => format!(
            "{NAME}: buffers not registered: they take {} KiB, the locked-memory limit is {} KiB for all \
             threads together (ulimit -l): {error}",
            bytes / 1024,
            limit / 1024
        ),
        _ => format!("{NAME}: buffers not registered: {error}"),
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

impl Translator {
    /// The registered piece that holds the whole I/O, if there is one.
    #[inline]
    fn piece(&self, io: &Io) -> Option<u16> {
        let first = *self.first_piece.get(io.region as usize)?;
        piece_after(first, io.region_offset, io.len)
    }

    #[inline]
    fn entry(&self, io: &Io) -> squeue::Entry {
        let Target { fd, ioprio } = self.targets[io.file as usize];
        let address = self.regions.address(io);
        let entry = match (io.op, self.piece(io)) {
            (Op::Read, Some(piece)) => {
                opcode::ReadFixed::new(fd, address, io.len, piece).offset(io.offset).ioprio(ioprio).build()
            }
            (Op::Write, Some(piece)) => {
                opcode::WriteFixed::new(fd, address, io.len, piece).offset(io.offset).ioprio(ioprio).build()
            }
            (Op::Read, None) => {
                opcode::Read::new(fd, address, io.len).offset(io.offset).ioprio(ioprio).build()
            }
            (Op::Write, None) => {
                opcode::Write::new(fd, address, io.len).offset(io.offset).ioprio(ioprio).build()
            }
        };
        entry.flags(self.file_flags).user_data(u64::from(io.slot))
    }
}

impl Uring {
    /// Hands over what is held and waits for `wait` completions, in one call. Time limit, signal and a
    /// kernel short of memory end it early.
    #[inline]
    fn enter(&mut self, wait: u32, timeout: Option<Duration>) -> Result<(), EngineError> {
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
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
    fn enter_again(
        &mut self,
        mut entered: Result<u32, i32>,
        wait: u32,
        deadline: Option<Instant>,
    ) -> Result<(), EngineError> {
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
                Err(errno) => return Err(broken(errno)),
            }
        }
    }

    /// What is held stays held; waits for what the kernel already has.
    fn starve(&mut self, errno: i32, wait: u32, left: Option<Duration>) -> Result<(), EngineError> {
        let with_kernel = self.in_flight.saturating_sub(self.held);
        if with_kernel == 0 {
            self.starved += 1;
            if self.starved > STARVED_MAX {
                return Err(broken(errno));
            }
            std::thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        let waited = self.enter_once(wait.min(1), left);
        self.held = held;
        match waited {
            Ok(_) | Err(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(()),
            Err(errno) => Err(broken(errno)),
        }
    }

    /// One `io_uring_enter(2)`, which runs deferred completion work unless there can be none: the number of I/Os
    /// taken, or the errno.
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
        let taken = match timeout.filter(|_| wait > 0) {
            // SAFETY: the counts are the ring's own; what the entries point to is kept alive by `memory`.
            None => unsafe { io_uring_enter(ring, self.held, wait, flags) },
            Some(limit) => {
                let mut limit = types::Timespec::from(limit);
                let argument = io_uring_getevents_arg {
                    ts: (&raw mut limit).cast::<c_void>().into(),
                    ..Default::default()
                };
                let flags = flags | IoringEnterFlags::EXT_ARG;
                // SAFETY: as above; the argument and the limit it points to outlive the call.
                unsafe { io_uring_enter_arg(ring, self.held, wait, flags, Some(&argument)) }
            }
        };
        taken.map_err(|errno| errno.raw_os_error())
    }

    /// Takes up to `max` completions out of the queue.
    #[inline]
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let mut room = max;
        let mut queue = self.ring.completion();
        while room > 0 {
            let Some(entry) = queue.next() else { break };
            if entry.user_data() == CANCEL {
                continue;
            }
            let result = u32::try_from(entry.result()).map_err(|_| IoError::from_number(-entry.result()));
            done.push(Completion { slot: entry.user_data() as u32, result });
            room -= 1;
        }
        let has_lost = queue.overflow() > 0;
        drop(queue);
        self.in_flight -= max - room;
        if has_lost {
            return Err(EngineError::Broken {
                engine: NAME,
                action: "collecting completions",
                error: "the kernel lost completions because its queue overflowed and memory ran out".into(),
            });
        }
        Ok(())
    }

    /// Asks the kernel to cancel everything (since Linux 5.19; older ones refuse that one request).
    fn cancel_all(&mut self) {
        if self.held > 0 && self.enter(0, None).is_err() {
            return;
        }
        let cancel = opcode::AsyncCancel2::new(types::CancelBuilder::any().all()).build().user_data(CANCEL);
        // SAFETY: the request points to no memory.
        let pushed = unsafe { self.ring.submission().push(&cancel) };
        if pushed.is_ok() {
            self.held += 1;
            let _ = self.enter(0, None);
        }
    }
}

fn broken(errno: i32) -> EngineError {
    EngineError::Broken {
        engine: NAME,
        action: "handing I/Os to the kernel and waiting for completions (io_uring_enter)",
        error: numbered_text(IoError::from_number(errno)),
    }
}

impl Engine for Uring {
    #[inline]
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        let mut queue = self.ring.submission();
        for io in ios {
            let entry = self.memory.entry(io);
            // SAFETY: `entry` checked that the bytes are inside a region, which is kept until nothing
            // is in flight; the worker leaves a slot's bytes alone until its completion.
            let pushed = unsafe { queue.push(&entry) };
            // The queue has at least `depth` entries.
            pushed.expect("never more I/Os than free slots");
        }
        drop(queue);
        self.held += ios.len() as u32;
        self.in_flight += ios.len() as u32;
        Ok(())
    }

    #[inline]
    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        // Right after a submission the kernel is entered anyway, so the queue is read only after that.
        let ready = if min > 0 { self.ring.completion().len() as u32 } else { 0 };
        let wait = if ready >= min { 0 } else { min };
        let must_enter = self.held > 0 || wait > 0 || (min == 0 && self.in_flight > 0 && self.work_waits());
        if must_enter {
            match timeout.filter(|_| self.is_polled && wait > 0) {
                None => self.enter(wait, timeout)?,
                Some(limit) => self.poll_for(min, limit)?,
            }
        }
        self.take(max, done)
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let deadline = Instant::now() + limit;
        if self.in_flight > 0 {
            self.cancel_all();
        }
        reap_all(self, deadline, done);
        self.in_flight
    }
}

impl Uring {
    /// Whether the completion queue alone may not show all finished I/Os.
    #[inline]
    fn work_waits(&mut self) -> bool {
        // Without the flag (the last step of the setup) the kernel finishes I/Os by itself.
        let queue = self.ring.submission();
        self.is_polled || queue.taskrun() || queue.cq_overflow()
    }

    /// A polling kernel knows no time limit.
    fn poll_for(&mut self, min: u32, limit: Duration) -> Result<(), EngineError> {
        let since = Instant::now();
        loop {
            self.enter(0, None)?;
            if self.ring.completion().len() as u32 >= min || since.elapsed() >= limit {
                return Ok(());
            }
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.drain(DROP_LIMIT, &mut Vec::new());
        }
        // The kernel takes a closed ring apart later, on its own time, and would hold its files until
        // then: unmounting right after the run would find the file system busy. Nothing to do about a
        // failure, and without registered files there is one.
        if self.in_flight == 0 {
            let _ = self.ring.submitter().unregister_files();
        }
        if self.enter_flags.contains(IoringEnterFlags::REGISTERED_RING) {
            uring_setup::unregister_ring_fd(self.ring.as_raw_fd(), self.enter_fd as u32);
        }
        if self.in_flight == 0 {
            // SAFETY: dropped once, here; the ring goes before the memory it has registered, and
            // nothing is in flight. Otherwise both stay for ever.
            unsafe {
                ManuallyDrop::drop(&mut self.ring);
                ManuallyDrop::drop(&mut self.memory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_polled_is_refused_in_words() {
        let file = tempfile::tempfile().expect("a file");
        let file = EngineFile { handle: file.into(), size_bytes: 0, ioprio: Default::default(), map: None };
        let error = check_pollable(&file).expect_err("buffered").to_string();
        assert!(error.contains("only direct I/O can be polled; add -Su or -Sh"), "{error}");
    }

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

//! `nvme`: reads and writes as NVMe commands to the character device of a namespace (`/dev/ngXnY`), through io_uring.
//!
//! A command goes past page cache, file system and block layer: what a drive does without them. Nothing splits, merges or
//! checks it on its way, and for root the driver does not even look at how the device was opened. So this file refuses
//! what a file would refuse: an I/O that is not open for it, and places and lengths that are no whole blocks.
//!
//! Sources: the kernel's `include/uapi/linux/nvme_ioctl.h` (`struct nvme_uring_cmd`), `drivers/nvme/host/ioctl.c`, and
//! Read and Write in the NVM Command Set specification. The ring has entries of 128 bytes and completions of 32, which the
//! driver wants.

use std::collections::VecDeque;
use std::fmt;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::transfer::{DROP_LIMIT, Regions, check_setup, hand_out, numbered_text, reap_all};
use super::uring_setup::{self, DEPTH_MAX};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Op, Opened, Setup};
use crate::machine::namespace::Namespace;
use crate::machine::roots::Roots;
use crate::sys::nvme::{OpenedFor, opened_for};

pub(super) const NAME: &str = "nvme";
/// The same with polled completions.
pub(super) const POLLED_NAME: &str = "nvme_poll";
/// What both serve.
pub(super) const NEEDS: &str =
    "the character device of an NVMe namespace (/dev/ngXnY) with -Su or -Sh; Linux 6.1";

type Ring = IoUring<squeue::Entry128, cqueue::Entry32>;

/// `NVME_URING_CMD_IO`.
const URING_CMD_IO: u32 = libc::_IOWR::<UringCommand>(b'N' as u32, 0x80) as u32;
/// Opcodes of the NVM command set.
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
/// "Force unit access" of Read and Write, in dword 12: the drive completes the write when it is durable.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Blocks of one command: dword 12 has 16 bits for their number, less one.
const BLOCKS_MAX: u32 = 1 << 16;

/// The kernel registers at most 1 GiB as one buffer; larger regions are registered in pieces.
const PIECE_BITS: u32 = 30;
/// Registered buffers per ring.
const PIECES_MAX: usize = 1 << 14;
/// Attempts to hand over while the kernel has no memory for a request and nothing else is in flight.
const STARVED_MAX: u32 = 1000;

/// `struct nvme_uring_cmd`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct UringCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_len: u32,
    data_len: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    reserved_2: u32,
}

const COMMAND_BYTES: usize = size_of::<UringCommand>();

/// A namespace as commands need it.
#[derive(Debug, Clone, Copy)]
struct Target {
    fd: types::Fixed,
    namespace: u32,
    /// Blocks have 1 << `shift` bytes.
    shift: u32,
    how: OpenedFor,
}

impl Target {
    /// The command for an I/O on `address`, or why there is none.
    #[inline]
    fn command(&self, io: &Io, address: u64) -> Result<UringCommand, IoError> {
        let (opcode, is_open) = match io.op {
            Op::Read => (READ, self.how.reads),
            Op::Write => (WRITE, self.how.writes),
        };
        if !is_open {
            return Err(IoError::BAD_FILE);
        }
        let (first, blocks) = (io.offset >> self.shift, io.len >> self.shift);
        let is_whole = first << self.shift == io.offset && blocks << self.shift == io.len;
        if !is_whole || blocks == 0 || blocks > BLOCKS_MAX {
            return Err(IoError::INVALID);
        }
        let durably = if opcode == WRITE && self.how.durably { FORCE_UNIT_ACCESS } else { 0 };
        Ok(UringCommand {
            opcode,
            namespace: self.namespace,
            address,
            data_len: io.len,
            dwords_10_15: [first as u32, (first >> 32) as u32, (blocks - 1) | durably, 0, 0, 0],
            ..UringCommand::default()
        })
    }
}

struct Nvme {
    name: &'static str,
    /// Leaked together with the memory when I/Os stay in flight.
    ring: ManuallyDrop<Ring>,
    memory: ManuallyDrop<Memory>,
    targets: Vec<Target>,
    /// Bytes of the I/O in each slot: a completion does not tell.
    lengths: Vec<u32>,
    /// I/Os that were refused here.
    refused: VecDeque<Completion>,
    is_polled: bool,
    /// In the submission queue, not yet handed to the kernel.
    held: u32,
    /// With the kernel or held.
    in_ring: u32,
    starved: u32,
}

/// What commands point to.
struct Memory {
    regions: Regions,
    /// Keeps the descriptors open.
    _files: Vec<EngineFile>,
    /// Number of each region's first registered piece; empty when none are registered.
    first_piece: Vec<u32>,
}

impl fmt::Debug for Nvme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvme").field("held", &self.held).field("in_ring", &self.in_ring).finish()
    }
}

pub(super) fn open(setup: Setup) -> Result<Opened, EngineError> {
    open_with(setup, NAME, false)
}

/// The same, and nobody waits for interrupts.
pub(super) fn open_polled(setup: Setup) -> Result<Opened, EngineError> {
    open_with(setup, POLLED_NAME, true)
}

/// Whether the driver's commands can go through a ring here. Opens a small one and closes it.
pub(super) fn probe() -> Result<(), EngineError> {
    make_ring(1, NAME, false, &mut Vec::new()).map(drop)
}

fn make_ring(
    depth: u32,
    name: &'static str,
    is_polled: bool,
    notes: &mut Vec<String>,
) -> Result<Ring, EngineError> {
    uring_setup::build(depth, is_polled, notes).map_err(|error| match error {
        EngineError::Unavailable { reason, .. } => EngineError::Unavailable {
            engine: name,
            reason,
            advice: "Commands need io_uring of Linux 6.1; or test the block device of the namespace (lsblk)"
                .into(),
        },
        other => other,
    })
}

fn open_with(setup: Setup, name: &'static str, is_polled: bool) -> Result<Opened, EngineError> {
    check_setup(name, &setup, DEPTH_MAX)?;
    let mut notes = Vec::new();
    let mut targets = Vec::with_capacity(setup.files.len());
    for (index, file) in setup.files.iter().enumerate() {
        targets.push(target_of(index, file, name, is_polled)?);
    }
    let ring = make_ring(setup.depth, name, is_polled, &mut notes)?;
    let fds: Vec<i32> = setup.files.iter().map(|file| file.handle.file().as_raw_fd()).collect();
    ring.submitter().register_files(&fds).map_err(|error| EngineError::Setup {
        engine: name,
        action: "registering the devices with io_uring".into(),
        error: error.to_string(),
    })?;
    let regions = Regions::new(setup.regions);
    let first_piece = match setup.registered_buffers {
        true => register_buffers(&ring, &regions, name, &mut notes),
        false => Vec::new(),
    };
    let engine = Nvme {
        name,
        ring: ManuallyDrop::new(ring),
        memory: ManuallyDrop::new(Memory { regions, _files: setup.files, first_piece }),
        targets,
        lengths: vec![0; setup.depth as usize],
        refused: VecDeque::with_capacity(setup.depth as usize),
        is_polled,
        held: 0,
        in_ring: 0,
        starved: 0,
    };
    Ok(Opened { engine: Box::new(engine), notes })
}

/// What commands to an open file need.
fn target_of(
    index: usize,
    file: &EngineFile,
    name: &'static str,
    is_polled: bool,
) -> Result<Target, EngineError> {
    let unfit = |error: String| EngineError::Setup {
        engine: name,
        action: "preparing to send NVMe commands".into(),
        error,
    };
    let handle = file.handle.file();
    let found = Namespace::of(handle, &Roots::default());
    let Some(namespace) = found.map_err(|error| unfit(error.to_string()))? else {
        return Err(EngineError::OtherTarget { engine: name, needs: NEEDS });
    };
    if file.ioprio != 0 {
        return Err(unfit("NVMe commands carry no I/O priority; leave out -I".into()));
    }
    if is_polled && namespace.disk.can_be_polled() != Some(true) {
        return Err(unfit(format!(
            "{} has no poll queues (queue/io_poll is 0); NVMe gets some by the module parameter nvme.poll_queues=N; or use \
             --engine {NAME}",
            namespace.disk.node_name()
        )));
    }
    let how = opened_for(handle).map_err(|error| unfit(error.to_string()))?;
    let shift = namespace.block_bytes.trailing_zeros();
    Ok(Target { fd: types::Fixed(index as u32), namespace: namespace.id, shift, how })
}

/// Registers every region in pieces of 1 GiB; the number of each region's first piece, or nothing and a note.
fn register_buffers(ring: &Ring, regions: &Regions, name: &str, notes: &mut Vec<String>) -> Vec<u32> {
    let mut first = Vec::with_capacity(regions.as_slice().len());
    let mut pieces = Vec::new();
    for region in regions.as_slice() {
        first.push(pieces.len() as u32);
        for start in (0..region.len()).step_by(1 << PIECE_BITS) {
            // SAFETY: `start` is inside the region.
            let base = unsafe { region.as_ptr().add(start) };
            let len = (region.len() - start).min(1 << PIECE_BITS);
            pieces.push(libc::iovec { iov_base: base.cast(), iov_len: len });
        }
    }
    if pieces.is_empty() || pieces.len() > PIECES_MAX {
        return Vec::new();
    }
    // SAFETY: the engine keeps the regions until the ring is gone, or for ever.
    match unsafe { ring.submitter().register_buffers(&pieces) } {
        Ok(()) => first,
        Err(error) => {
            notes.push(format!("{name}: buffers not registered (locked-memory limit: ulimit -l): {error}"));
            Vec::new()
        }
    }
}

impl Memory {
    /// The registered piece that holds the whole I/O, if there is one.
    #[inline]
    fn piece(&self, io: &Io) -> Option<u16> {
        let first = *self.first_piece.get(io.region as usize)?;
        let piece = io.region_offset >> PIECE_BITS;
        let last = (io.region_offset + u64::from(io.len.max(1)) - 1) >> PIECE_BITS;
        (piece == last).then_some((u64::from(first) + piece) as u16)
    }
}

/// The command as the ring carries it.
#[inline]
fn bytes_of(command: &UringCommand) -> [u8; 80] {
    let mut bytes = [0; 80];
    // SAFETY: a structure of integers without padding, and room for all of it.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(command).cast::<u8>(),
            bytes.as_mut_ptr(),
            COMMAND_BYTES,
        );
    }
    bytes
}

/// What became of a command: a positive result is the drive's status, a negative one the kernel's error.
#[inline]
fn result_of(result: i32, len: u32) -> Result<u32, IoError> {
    match result {
        0 => Ok(len),
        1.. => Err(IoError::from_nvme_status(result as u16)),
        _ => Err(IoError::from_number(-result)),
    }
}

impl Nvme {
    fn broken(&self, error: &std::io::Error) -> EngineError {
        EngineError::Broken {
            engine: self.name,
            action: "handing commands to the kernel and waiting for completions (io_uring_enter)",
            error: IoError::of(error).map_or_else(|| error.to_string(), numbered_text),
        }
    }

    /// Hands over what is held and waits for `wait` completions. Time limit, signal and a kernel short of memory end it early.
    fn enter(&mut self, wait: u32, limit: Option<Duration>) -> Result<(), EngineError> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match self.enter_once(self.held, wait, left) {
                Ok(taken) => {
                    self.held -= taken;
                    self.starved = 0;
                    if self.held == 0 || taken == 0 {
                        return Ok(());
                    }
                    // The kernel took a part and did not wait.
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR | libc::ETIME) => return Ok(()),
                    // No memory for a request, or completions that must be taken out first.
                    Some(libc::EAGAIN | libc::EBUSY) => return self.starve(&error, wait, left),
                    _ => return Err(self.broken(&error)),
                },
            }
        }
    }

    /// What is held stays held; waits for what the kernel already has.
    #[cold]
    fn starve(
        &mut self,
        error: &std::io::Error,
        wait: u32,
        left: Option<Duration>,
    ) -> Result<(), EngineError> {
        if self.in_ring > self.held {
            return match self.enter_once(0, wait.min(1), left) {
                Ok(_) => Ok(()),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(()),
                    _ => Err(self.broken(&error)),
                },
            };
        }
        self.starved += 1;
        if self.starved > STARVED_MAX {
            return Err(self.broken(error));
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    /// One `io_uring_enter(2)` that asks for events: how many of `held` were taken.
    #[inline]
    fn enter_once(&self, held: u32, wait: u32, limit: Option<Duration>) -> std::io::Result<u32> {
        const GETEVENTS: u32 = 1;
        const EXT_ARG: u32 = 1 << 3;
        let submitter = self.ring.submitter();
        let taken = match limit.filter(|_| wait > 0) {
            // SAFETY: the counts are the ring's own; what the commands point to is kept alive by `memory`.
            None => unsafe { submitter.enter::<libc::sigset_t>(held, wait, GETEVENTS, None) },
            Some(limit) => {
                let limit = types::Timespec::from(limit);
                let argument = types::SubmitArgs::new().timespec(&limit);
                // SAFETY: as above; the argument and the limit it points to outlive the call.
                unsafe { submitter.enter(held, wait, GETEVENTS | EXT_ARG, Some(&argument)) }
            }
        };
        taken.map(|taken| taken as u32)
    }

    /// Whether the completion queue alone may not show all finished commands.
    #[inline]
    fn work_waits(&mut self) -> bool {
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

    /// Takes up to `max` completions out of the queue.
    #[inline]
    fn take(&mut self, max: u32, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let mut room = max;
        let mut queue = self.ring.completion();
        while room > 0 {
            let Some(entry) = queue.next() else { break };
            let slot = entry.user_data() as u32;
            let len = self.lengths[slot as usize];
            done.push(Completion { slot, result: result_of(entry.result(), len) });
            room -= 1;
        }
        let has_lost = queue.overflow() > 0;
        drop(queue);
        self.in_ring -= max - room;
        if has_lost {
            return Err(EngineError::Broken {
                engine: self.name,
                action: "collecting completions",
                error: "the kernel lost completions because its queue overflowed and memory ran out".into(),
            });
        }
        Ok(())
    }
}

impl Engine for Nvme {
    #[inline]
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        let mut queue = self.ring.submission();
        let mut held = 0;
        for io in ios {
            let address = self.memory.regions.address(io) as u64;
            let target = &self.targets[io.file as usize];
            let command = match target.command(io, address) {
                Ok(command) => command,
                Err(error) => {
                    self.refused.push_back(Completion { slot: io.slot, result: Err(error) });
                    continue;
                }
            };
            self.lengths[io.slot as usize] = io.len;
            let entry = opcode::UringCmd80::new(target.fd, URING_CMD_IO)
                .cmd(bytes_of(&command))
                .buf_index(self.memory.piece(io))
                .build()
                .user_data(u64::from(io.slot));
            // SAFETY: the bytes are inside a region, which is kept until nothing is in flight; the worker leaves a
            // slot's bytes alone until its completion.
            let pushed = unsafe { queue.push(&entry) };
            // The queue has at least `depth` entries.
            pushed.expect("never more I/Os than free slots");
            held += 1;
        }
        drop(queue);
        self.held += held;
        self.in_ring += held;
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
        let given = if self.refused.is_empty() { 0 } else { hand_out(&mut self.refused, max, done) };
        let min = min.saturating_sub(given).min(self.in_ring);
        let ready = if min > 0 { self.ring.completion().len() as u32 } else { 0 };
        let wait = if ready >= min { 0 } else { min };
        let must_enter = self.held > 0 || wait > 0 || (min == 0 && self.in_ring > 0 && self.work_waits());
        if must_enter {
            match timeout.filter(|_| self.is_polled && wait > 0) {
                None => self.enter(wait, timeout)?,
                Some(limit) => self.poll_for(min, limit)?,
            }
        }
        self.take(max - given, done)
    }

    fn in_flight(&self) -> u32 {
        self.in_ring + self.refused.len() as u32
    }

    /// A command that the drive has cannot be cancelled: this only waits.
    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        reap_all(self, Instant::now() + limit, done);
        self.in_flight()
    }
}

impl Drop for Nvme {
    fn drop(&mut self) {
        if self.in_ring > 0 {
            self.drain(DROP_LIMIT, &mut Vec::new());
        }
        if self.in_ring > 0 {
            return;
        }
        // The kernel takes a closed ring apart later, on its own time, and would hold the devices until then.
        let _ = self.ring.submitter().unregister_files();
        // SAFETY: dropped once, here; the ring goes before the memory it has registered, and nothing is in flight.
        // Otherwise both stay for ever.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: OpenedFor = OpenedFor { reads: true, writes: true, durably: false };

    fn target(shift: u32, how: OpenedFor) -> Target {
        Target { fd: types::Fixed(0), namespace: 7, shift, how }
    }

    fn io(op: Op, offset: u64, len: u32) -> Io {
        Io { slot: 0, file: 0, region: 0, op, len, region_offset: 0, offset }
    }

    #[test]
    fn the_kernel_knows_the_command_by_its_number() {
        assert_eq!((COMMAND_BYTES, URING_CMD_IO), (72, 0xc048_4e80));
        let command =
            UringCommand { opcode: 2, namespace: 0x0403_0201, timeout_ms: 9, ..UringCommand::default() };
        let bytes = bytes_of(&command);
        assert_eq!((bytes[0], &bytes[4..8], bytes[64], &bytes[72..]), (2, &[1, 2, 3, 4][..], 9, &[0; 8][..]));
    }

    #[test]
    fn a_command_says_where_and_how_much_in_blocks() {
        let of = |shift, op, offset, len| target(shift, WHOLE).command(&io(op, offset, len), 0x1000).unwrap();
        let read = of(9, Op::Read, 8192, 4096);
        assert_eq!((read.opcode, read.namespace, read.address, read.data_len), (2, 7, 0x1000, 4096));
        assert_eq!(read.dwords_10_15, [16, 0, 7, 0, 0, 0]);
        let write = of(12, Op::Write, (1 << 45) + 4096, 4096);
        assert_eq!((write.opcode, write.dwords_10_15), (1, [1, 2, 0, 0, 0, 0]), "the place has 64 bits");
        assert_eq!(of(9, Op::Read, 0, 32 << 20).dwords_10_15[2], 0xffff, "as many as the dword can say");
    }

    #[test]
    fn writes_through_a_durable_handle_force_unit_access_and_reads_never_do() {
        let durable = target(9, OpenedFor { durably: true, ..WHOLE });
        let dword = |op| durable.command(&io(op, 0, 512), 0).unwrap().dwords_10_15[2];
        assert_eq!((dword(Op::Write), dword(Op::Read)), (1 << 30, 0));
        assert_eq!(target(9, WHOLE).command(&io(Op::Write, 0, 512), 0).unwrap().dwords_10_15[2], 0);
    }

    #[test]
    fn what_the_handle_is_not_open_for_never_becomes_a_command() {
        let of = |how, op| target(9, how).command(&io(op, 0, 512), 0).map(|command| command.opcode);
        let (reader, writer) = (OpenedFor { writes: false, ..WHOLE }, OpenedFor { reads: false, ..WHOLE });
        assert_eq!(of(reader, Op::Write), Err(IoError::BAD_FILE));
        assert_eq!(of(writer, Op::Read), Err(IoError::BAD_FILE));
        assert_eq!((of(reader, Op::Read), of(writer, Op::Write)), (Ok(2), Ok(1)));
    }

    #[test]
    fn parts_of_blocks_are_refused() {
        let of = |shift, offset, len| target(shift, WHOLE).command(&io(Op::Write, offset, len), 0);
        for (shift, offset, len) in [
            (12, 512, 4096),
            (12, 0, 512),
            (12, 4096, 4097),
            (9, 0, 0),
            (9, 1, 512),
            (9, 0, (32 << 20) + 512),
        ] {
            assert_eq!(of(shift, offset, len), Err(IoError::INVALID), "{shift} {offset} {len}");
        }
    }

    #[test]
    fn the_drives_status_is_told_from_the_kernels_errors() {
        assert_eq!(result_of(0, 4096), Ok(4096));
        assert_eq!(result_of(-libc::EACCES, 4096), Err(IoError::ACCESS_DENIED));
        let media = result_of(0x4281, 4096).unwrap_err();
        assert_eq!(media.number(), libc::ENODATA);
        assert!(media.text().contains("NVMe status 0x281, Unrecovered Read Error"), "{}", media.text());
    }

    #[test]
    fn a_file_is_no_namespace() {
        let file = tempfile::tempfile().expect("a file");
        let file = EngineFile { handle: file.into(), size_bytes: 0, ioprio: 0, map: None };
        let error = target_of(0, &file, NAME, false).expect_err("a file");
        assert!(matches!(error, EngineError::OtherTarget { .. }));
        assert!(error.to_string().contains("/dev/ngXnY"), "{error}");
    }
}

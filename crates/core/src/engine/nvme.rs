//! `nvme`: reads, writes, flushes and trims as NVMe commands to the character device of a namespace (`/dev/ngXnY`),
//! through io_uring.
//!
//! A command goes past page cache, file system and block layer: what a drive does without them. Nothing
//! splits, merges or checks it on its way, and for root the driver does not even look at how the device was
//! opened. So this file refuses what a file would refuse: an I/O that is not open for it, and places and
//! lengths that are no whole blocks.
//!
//! Sources: the kernel's `include/uapi/linux/nvme_ioctl.h` (`struct nvme_uring_cmd`),
//! `drivers/nvme/host/ioctl.c`, and Read, Write and Dataset Management in the NVM
//! Command Set specification. The ring has entries
//! of 128 bytes and completions of 32, which the driver wants.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::ring::{self, DEPTH_MAX, Ring};
use super::transfer::{DROP_LIMIT, check_setup, hand_out, reap_all};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Op, Result, Setup};
use truespd_platform::machine::namespace::Namespace;
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::device::{OpenedFor, opened_for};
use truespd_platform::sys::error::system_text;

pub(super) const NAME: &str = "nvme";
/// The same with polled completions.
pub(super) const POLLED_NAME: &str = "nvme_poll";
pub(super) const NEEDS: &str =
    "the character device of an NVMe namespace (/dev/ngXnY) with -Su or -Sh; Linux 6.1";

/// `NVME_URING_CMD_IO`.
const URING_CMD_IO: u32 = libc::_IOWR::<UringCommand>(b'N' as u32, 0x80) as u32;
/// Opcodes of the NVM command set.
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const FLUSH: u8 = 0x00;
const DATASET_MANAGEMENT: u8 = 0x09;
/// "Deallocate" of Dataset Management, in dword 11.
const DEALLOCATE: u32 = 1 << 2;
/// "Force unit access" of Read and Write, in dword 12: the drive completes the write when it is durable.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Blocks of one command: dword 12 has 16 bits for their number, less one.
const BLOCKS_MAX: u32 = 1 << 16;

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

/// What Dataset Management is about, as the drive reads it from memory: in its order of bytes, and within one page.
#[repr(C, align(16))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Range {
    attributes: u32,
    blocks: u32,
    first: u64,
}

const RANGE_BYTES: usize = size_of::<Range>();

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
    /// The command for an I/O on `address`, or why there is none; a trim has one of its own.
    #[inline]
    fn command(&self, io: &Io, address: impl FnOnce() -> u64) -> Result<UringCommand, IoError> {
        let (opcode, is_open) = match io.op {
            Op::Read => (READ, self.how.reads),
            Op::Write => (WRITE, self.how.writes),
            Op::Flush | Op::FlushData => (FLUSH, self.how.writes),
            Op::Trim => return Err(IoError::NOT_SUPPORTED),
        };
        if !is_open {
            return Err(IoError::BAD_FILE);
        }
        if opcode == FLUSH {
            return Ok(UringCommand { opcode, namespace: self.namespace, ..UringCommand::default() });
        }
        let (first, blocks) = self.blocks(io, BLOCKS_MAX)?;
        let durably = if opcode == WRITE && self.how.durably { FORCE_UNIT_ACCESS } else { 0 };
        Ok(UringCommand {
            opcode,
            namespace: self.namespace,
            address: address(),
            data_len: io.len,
            dwords_10_15: [first as u32, (first >> 32) as u32, (blocks - 1) | durably, 0, 0, 0],
            ..UringCommand::default()
        })
    }

    /// The command for a trim. `range` is its own until it completes.
    fn trim(&self, io: &Io, range: &mut Range) -> Result<UringCommand, IoError> {
        if !self.how.writes {
            return Err(IoError::BAD_FILE);
        }
        let (first, blocks) = self.blocks(io, u32::MAX)?;
        *range = Range { attributes: 0, blocks: blocks.to_le(), first: first.to_le() };
        Ok(UringCommand {
            opcode: DATASET_MANAGEMENT,
            namespace: self.namespace,
            address: std::ptr::from_mut(range) as u64,
            data_len: RANGE_BYTES as u32,
            // The number of ranges, less one.
            dwords_10_15: [0, DEALLOCATE, 0, 0, 0, 0],
            ..UringCommand::default()
        })
    }

    /// The first block of an I/O and the number of its blocks, which are whole and so many at most.
    #[inline]
    fn blocks(&self, io: &Io, most: u32) -> Result<(u64, u32), IoError> {
        let (first, blocks) = (io.offset >> self.shift, io.len >> self.shift);
        let is_whole = first << self.shift == io.offset && blocks << self.shift == io.len;
        if !is_whole || blocks == 0 || blocks > most {
            return Err(IoError::INVALID);
        }
        Ok((first, blocks))
    }
}

#[derive(Debug)]
pub(super) struct Nvme {
    ring: Ring<squeue::Entry128, cqueue::Entry32>,
    targets: Vec<Target>,
    /// Bytes of the I/O in each slot: a completion does not tell.
    lengths: Vec<u32>,
    /// What the trim in each slot is about; none where nothing trims.
    ranges: Vec<Range>,
    /// I/Os that were refused here.
    refused: VecDeque<Completion>,
}

/// With what was given up.
pub(super) fn open(setup: Setup) -> Result<(Nvme, Vec<String>)> {
    open_with(setup, NAME, false)
}

/// The same, and nobody waits for interrupts.
pub(super) fn open_polled(setup: Setup) -> Result<(Nvme, Vec<String>)> {
    open_with(setup, POLLED_NAME, true)
}

/// Whether the driver's commands can go through a ring here. Opens a small one and closes it.
pub(super) fn probe() -> Result {
    make_ring(1, NAME, false, &mut Vec::new()).map(drop)
}

/// The same for polled commands.
pub(super) fn probe_polled() -> Result {
    make_ring(1, POLLED_NAME, true, &mut Vec::new()).map(drop)?;
    polling_allowed(ring::is_linux_6_6())
}

/// Linux 6.1 reads freed memory when it polls for a command (`bio_poll` below
/// `nvme_ns_chr_uring_cmd_iopoll`), and the thread hangs in the kernel for ever; newer kernels look at the
/// request instead. Nothing is tried on an older one.
fn polling_allowed(is_safe: bool) -> Result {
    if is_safe {
        return Ok(());
    }
    Err(EngineError::Unavailable {
        engine: POLLED_NAME,
        reason:
            "this kernel is older than Linux 6.6, and such kernels can crash when they poll for NVMe commands"
                .into(),
        advice: "Use a newer kernel, or --engine nvme, or poll the block device of the namespace (--engine \
                 io_uring_poll)"
            .into(),
    })
}

/// Linux 6.1 counts the pages from a command's first to the end of its registered buffer as parts of the
/// command, and refuses more than the drive takes (`queue/max_segments`): with 127 of them, `-b4K -o256`
/// fails. Other buffers are counted right.
fn registers_buffers(wanted: bool, is_new: bool, notes: &mut Vec<String>) -> bool {
    if wanted && !is_new {
        notes.push(format!(
            "{NAME}: buffers not registered: before Linux 6.6, the kernel refuses commands whose registered buffer \
             is large"
        ));
    }
    wanted && is_new
}

fn make_ring(
    depth: u32,
    name: &'static str,
    is_polled: bool,
    notes: &mut Vec<String>,
) -> Result<IoUring<squeue::Entry128, cqueue::Entry32>> {
    ring::build(depth, is_polled, notes).map_err(|error| match error {
        EngineError::Unavailable { reason, .. } => EngineError::Unavailable {
            engine: name,
            reason,
            advice: "Commands need io_uring of Linux 6.1; or test the block device of the namespace (lsblk)"
                .into(),
        },
        other => other,
    })
}

fn open_with(setup: Setup, name: &'static str, is_polled: bool) -> Result<(Nvme, Vec<String>)> {
    check_setup(name, &setup, DEPTH_MAX)?;
    let mut notes = Vec::new();
    let mut targets = Vec::with_capacity(setup.files.len());
    for (index, file) in setup.files.iter().enumerate() {
        targets.push(target_of(index, file, name, is_polled)?);
    }
    let uring = make_ring(setup.depth, name, is_polled, &mut notes)?;
    let is_new = ring::is_linux_6_6();
    if is_polled {
        polling_allowed(is_new)?;
    }
    let setup = Setup {
        registered_buffers: registers_buffers(setup.registered_buffers, is_new, &mut notes),
        ..setup
    };
    let fds: Vec<i32> = setup.files.iter().map(|file| file.handle.file().as_raw_fd()).collect();
    uring.submitter().register_files(&fds).map_err(|error| EngineError::Setup {
        engine: name,
        action: "registering the devices with io_uring".into(),
        error: system_text(&error),
    })?;
    let depth = setup.depth as usize;
    let ranges = if setup.trims { vec![Range::default(); depth] } else { Vec::new() };
    let ring = Ring::new(uring, name, is_polled, setup, &mut notes);
    let (lengths, refused) = (vec![0; depth], VecDeque::with_capacity(depth));
    Ok((Nvme { ring, targets, lengths, ranges, refused }, notes))
}

/// What commands to an open file need.
fn target_of(index: usize, file: &EngineFile, name: &'static str, is_polled: bool) -> Result<Target> {
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
            "{} has no poll queues (queue/io_poll is 0); NVMe gets some by the module parameter nvme.poll_queues=N; \
             or use \
             --engine {NAME}",
            namespace.disk.node_name()
        )));
    }
    let how = opened_for(handle).map_err(|error| unfit(system_text(&error)))?;
    let shift = namespace.block_bytes.trailing_zeros();
    Ok(Target { fd: types::Fixed(index as u32), namespace: namespace.id, shift, how })
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

impl Engine for Nvme {
    #[inline(always)]
    fn submit(&mut self, ios: &[Io]) -> Result {
        let Nvme { ring, targets, lengths, ranges, refused } = self;
        ring.push(ios, |memory, io| {
            let (target, slot) = (&targets[io.file as usize], io.slot as usize);
            // What is no trim does not ask whether it is one.
            let (command, len, piece) = match target.command(io, || memory.address(io) as u64) {
                Ok(command) => (command, io.len, memory.piece(io)),
                Err(error) => {
                    let trim = match ranges.get_mut(slot) {
                        Some(range) if io.op == Op::Trim => target.trim(io, range),
                        _ => Err(error),
                    };
                    match trim {
                        // It moves nothing, and its range is in no registered buffer.
                        Ok(command) => (command, 0, None),
                        Err(error) => {
                            refused.push_back(Completion { slot: io.slot, result: Err(error) });
                            return None;
                        }
                    }
                }
            };
            lengths[slot] = len;
            let entry = opcode::UringCmd80::new(target.fd, URING_CMD_IO)
                .cmd(bytes_of(&command))
                .buf_index(piece)
                .build();
            Some(entry.user_data(u64::from(io.slot)))
        });
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        let given = if self.refused.is_empty() { 0 } else { hand_out(&mut self.refused, max, done) };
        let min = min.saturating_sub(given).min(self.ring.in_flight());
        let lengths = &self.lengths;
        self.ring
            .reap(min, max - given, timeout, done, |slot, result| result_of(result, lengths[slot as usize]))
    }

    fn in_flight(&self) -> u32 {
        self.ring.in_flight() + self.refused.len() as u32
    }

    fn submits(&self) -> Option<u64> {
        Some(self.ring.submits())
    }

    /// A command that the drive has cannot be cancelled: this only waits.
    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        reap_all(self, Instant::now() + limit, done);
        self.in_flight()
    }
}

impl Drop for Nvme {
    fn drop(&mut self) {
        if self.ring.in_flight() > 0 {
            self.drain(DROP_LIMIT, &mut Vec::new());
        }
        // A drive that answers late may still read them, and would trim what it finds there.
        if self.ring.in_flight() > 0 {
            std::mem::forget(std::mem::take(&mut self.ranges));
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
    fn commands_are_polled_only_where_the_kernel_survives_it() {
        assert!(polling_allowed(true).is_ok());
        let refused = polling_allowed(false).expect_err("an old kernel");
        assert!(
            matches!(refused, EngineError::Unavailable { engine: POLLED_NAME, .. }),
            "another engine may do"
        );
        assert!(refused.to_string().contains("older than Linux 6.6"), "{refused}");
    }

    #[test]
    fn an_old_kernel_gets_no_registered_buffers_and_it_is_told() {
        let mut notes = Vec::new();
        assert!(registers_buffers(true, true, &mut notes) && !registers_buffers(false, false, &mut notes));
        assert!(notes.is_empty(), "{notes:?}");
        assert!(!registers_buffers(true, false, &mut notes));
        assert!(notes[0].contains("before Linux 6.6"), "{notes:?}");
    }

    #[test]
    fn a_command_says_where_and_how_much_in_blocks() {
        let of =
            |shift, op, offset, len| target(shift, WHOLE).command(&io(op, offset, len), || 0x1000).unwrap();
        let read = of(9, Op::Read, 8192, 4096);
        assert_eq!((read.opcode, read.namespace, read.address, read.data_len), (2, 7, 0x1000, 4096));
        assert_eq!(read.dwords_10_15, [16, 0, 7, 0, 0, 0]);
        let write = of(12, Op::Write, (1 << 45) + 4096, 4096);
        assert_eq!((write.opcode, write.dwords_10_15), (1, [1, 2, 0, 0, 0, 0]), "the place has 64 bits");
        assert_eq!(of(9, Op::Read, 0, 32 << 20).dwords_10_15[2], 0xffff, "as many as the dword can say");
    }

    #[test]
    fn a_trim_deallocates_its_range_and_nothing_else() {
        let mut range = Range::default();
        let trim = io(Op::Trim, (1 << 45) + 8192, 65_536);
        let command = target(12, WHOLE).trim(&trim, &mut range).unwrap();
        assert_eq!((command.opcode, command.namespace, command.data_len), (9, 7, 16));
        assert_eq!(command.dwords_10_15, [0, 4, 0, 0, 0, 0], "one range, deallocate");
        assert_eq!(command.address, &raw const range as u64);
        assert_eq!(range, Range { attributes: 0, blocks: 16, first: (1 << 33) + 2 });
        assert_eq!((RANGE_BYTES, align_of::<Range>()), (16, 16), "in one page");
        let reader = OpenedFor { writes: false, ..WHOLE };
        assert_eq!(target(12, reader).trim(&trim, &mut range), Err(IoError::BAD_FILE));
        for (offset, len) in [(512, 4096), (0, 512), (0, 0)] {
            let odd = target(12, WHOLE).trim(&io(Op::Trim, offset, len), &mut range);
            assert_eq!(odd, Err(IoError::INVALID), "{offset} {len}");
        }
        let none = target(12, WHOLE).command(&trim, || panic!("a trim has no buffer"));
        assert_eq!(none, Err(IoError::NOT_SUPPORTED));
    }

    #[test]
    fn writes_through_a_durable_handle_force_unit_access_and_reads_never_do() {
        let durable = target(9, OpenedFor { durably: true, ..WHOLE });
        let dword = |op| durable.command(&io(op, 0, 512), || 0).unwrap().dwords_10_15[2];
        assert_eq!((dword(Op::Write), dword(Op::Read)), (1 << 30, 0));
        assert_eq!(target(9, WHOLE).command(&io(Op::Write, 0, 512), || 0).unwrap().dwords_10_15[2], 0);
    }

    #[test]
    fn what_the_handle_is_not_open_for_never_becomes_a_command() {
        let of = |how, op| target(9, how).command(&io(op, 0, 512), || 0).map(|command| command.opcode);
        let (reader, writer) = (OpenedFor { writes: false, ..WHOLE }, OpenedFor { reads: false, ..WHOLE });
        assert_eq!(of(reader, Op::Write), Err(IoError::BAD_FILE));
        assert_eq!(of(writer, Op::Read), Err(IoError::BAD_FILE));
        assert_eq!((of(reader, Op::Read), of(writer, Op::Write)), (Ok(2), Ok(1)));
    }

    #[test]
    fn parts_of_blocks_are_refused() {
        let of = |shift, offset, len| target(shift, WHOLE).command(&io(Op::Write, offset, len), || 0);
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

//! `io_uring`: one ring per worker, a batch handed over and completions collected in one kernel entry.
//!
//! The ring is used by the thread that opened it only (single issuer), and the kernel finishes I/Os
//! only while that thread is in `reap` (deferred task work), so that completions never interrupt the
//! worker between two stamps. What the kernel refuses is given up in order and told in the notes.

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use io_uring::{cqueue, opcode, squeue, types};

use super::ring::{self, DEPTH_MAX, Memory, NAME, NO_IO, POLLED_NAME, Ring};
use super::transfer::{DROP_LIMIT, check_setup, reap_all};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Op, Result, Setup};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::file::{FileKind, Stat, is_direct};
use truespd_platform::sys::system::is_kernel_since;

#[derive(Debug)]
pub(super) struct Uring {
    ring: Ring<squeue::Entry, cqueue::Entry>,
    targets: Targets,
}

/// The files, as entries of the submission queue name them.
#[derive(Debug)]
struct Targets {
    files: Vec<Target>,
    flags: squeue::Flags,
}

/// What the kernel calls a file: its registered index, or its descriptor.
#[derive(Debug)]
struct Target {
    fd: types::Fd,
    ioprio: u16,
    /// A block device; only trims ask.
    is_device: bool,
}

/// `BLOCK_URING_CMD_DISCARD`, a command of the block layer since Linux 6.12. The place stands where other entries have
/// an address, the length where they have a third one.
const DISCARD_COMMAND: u32 = 0x12 << 8;

/// Mode of `fallocate(2)` that frees a range of a file and leaves its size.
const MAKE_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// With what was given up.
pub(super) fn open(setup: Setup) -> Result<(Uring, Vec<String>)> {
    open_with(setup, false)
}

/// The same, and nobody waits for interrupts.
pub(super) fn open_polled(setup: Setup) -> Result<(Uring, Vec<String>)> {
    setup.files.iter().try_for_each(check_pollable)?;
    open_with(setup, true)
}

/// The kernel would fail each I/O with a number that says nothing about the cause.
fn check_pollable(file: &EngineFile) -> Result {
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
            "{} has no poll queues (queue/io_poll is 0); NVMe gets some by the module parameter nvme.poll_queues=N; \
             or use \
             --engine {NAME}",
            device.node_name()
        ))),
        None => Ok(()),
    }
}

/// Whether the kernel trims block devices through a ring.
pub(super) fn can_trim_devices() -> Result {
    if is_kernel_since(6, 12) {
        return Ok(());
    }
    Err(EngineError::Unavailable {
        engine: NAME,
        reason: "this kernel cannot trim a device through io_uring: that takes Linux 6.12 or later".into(),
        advice: "Use --engine threads".into(),
    })
}

fn open_with(setup: Setup, is_polled: bool) -> Result<(Uring, Vec<String>)> {
    check_setup(NAME, &setup, DEPTH_MAX)?;
    if setup.trims && setup.files.iter().any(|file| file.handle.is_device()) {
        can_trim_devices()?;
    }
    let mut notes = Vec::new();
    let uring = ring::build(setup.depth, is_polled, &mut notes)?;
    let fds: Vec<i32> = setup.files.iter().map(|f| f.handle.file().as_raw_fd()).collect();
    let fixed_files = match uring.submitter().register_files(&fds) {
        Ok(()) => true,
        Err(error) => {
            notes.push(format!("{NAME}: files not registered: {}", system_text(&error)));
            false
        }
    };
    let targets = Targets {
        files: setup
            .files
            .iter()
            .enumerate()
            .map(|(index, file): (usize, &EngineFile)| {
                let fd = if fixed_files { index as i32 } else { file.handle.file().as_raw_fd() };
                let is_device = file.handle.is_device();
                Target { fd: types::Fd(fd), ioprio: file.ioprio, is_device }
            })
            .collect(),
        flags: if fixed_files { squeue::Flags::FIXED_FILE } else { squeue::Flags::empty() },
    };
    let ring = Ring::new(uring, NAME, is_polled, setup, &mut notes);
    Ok((Uring { ring, targets }, notes))
}

impl Targets {
    #[inline(always)]
    fn entry(&self, memory: &Memory, io: &Io) -> squeue::Entry {
        let Target { fd, ioprio, .. } = self.files[io.file as usize];
        if !io.op.moves_data() {
            return self.aside(io);
        }
        let address = memory.address(io);
        let entry = match (io.op == Op::Read, memory.piece(io)) {
            (true, Some(piece)) => {
                opcode::ReadFixed::new(fd, address, io.len, piece).offset(io.offset).ioprio(ioprio).build()
            }
            (false, Some(piece)) => {
                opcode::WriteFixed::new(fd, address, io.len, piece).offset(io.offset).ioprio(ioprio).build()
            }
            (true, None) => opcode::Read::new(fd, address, io.len).offset(io.offset).ioprio(ioprio).build(),
            (false, None) => opcode::Write::new(fd, address, io.len).offset(io.offset).ioprio(ioprio).build(),
        };
        entry.flags(self.flags).user_data(u64::from(io.slot))
    }

    /// The entry of an I/O that moves no data.
    #[inline(never)]
    fn aside(&self, io: &Io) -> squeue::Entry {
        let Target { fd, is_device, .. } = self.files[io.file as usize];
        let len = u64::from(io.len);
        let entry = match io.op {
            Op::Trim if is_device => {
                let mut command = [0; 16];
                command[..8].copy_from_slice(&len.to_ne_bytes());
                opcode::UringCmd16::new(fd, DISCARD_COMMAND).cmd(command).addr(Some(io.offset)).build()
            }
            Op::Trim => opcode::Fallocate::new(fd, len).offset(io.offset).mode(MAKE_HOLE).build(),
            Op::FlushData => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
            _ => opcode::Fsync::new(fd).build(),
        };
        entry.flags(self.flags).user_data(u64::from(io.slot))
    }
}

impl Engine for Uring {
    #[inline(always)]
    fn submit(&mut self, ios: &[Io]) -> Result {
        self.ring.push(ios, |memory, io| Some(self.targets.entry(memory, io)));
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        self.ring.reap(min, max, timeout, done, |_, result| {
            u32::try_from(result).map_err(|_| IoError::from_number(-result))
        })
    }

    fn in_flight(&self) -> u32 {
        self.ring.in_flight()
    }

    fn submits(&self) -> Option<u64> {
        Some(self.ring.submits())
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let deadline = Instant::now() + limit;
        if self.in_flight() > 0 {
            // Since Linux 5.19; older kernels refuse that one request.
            let all = types::CancelBuilder::any().all();
            self.ring.push_aside(&opcode::AsyncCancel2::new(all).build().user_data(NO_IO));
        }
        reap_all(self, deadline, done);
        self.in_flight()
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.in_flight() > 0 {
            self.drain(DROP_LIMIT, &mut Vec::new());
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
}

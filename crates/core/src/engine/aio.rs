//! `libaio`: Linux native asynchronous I/O by its system calls (`io_setup(2)` and kin), for machines
//! without io_uring. Asynchronous for direct I/O only: on other files `io_submit(2)` itself blocks.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::transfer::{DROP_LIMIT, Regions, check_setup, hand_out, not_begun, reap_all};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Op, Result, Setup};
use truespd_platform::sys::file::is_direct;

pub(super) const NAME: &str = "libaio";

/// The kernel's own limit for one context is below this.
pub(super) const DEPTH_MAX: u32 = 0x10000;
const EVENTS_MAX: usize = 256;
const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FSYNC: u16 = 2;
const IOCB_CMD_FDSYNC: u16 = 3;
const IOCB_FLAG_IOPRIO: u32 = 1 << 1;
/// Attempts to hand over while the kernel takes nothing and nothing is in flight.
const STARVED_MAX: u32 = 1000;

/// `struct iocb` of the kernel; the two words after `data` (key and flags, in an order that depends on
/// the machine) stay zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key_and_flags: [u32; 2],
    opcode: u16,
    ioprio: i16,
    fd: u32,
    buffer: u64,
    len: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event` of the kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32);

#[derive(Debug)]
pub(super) struct Aio {
    context: libc::c_ulong,
    /// Leaked when I/Os stay in flight.
    regions: ManuallyDrop<Regions>,
    files: Vec<EngineFile>,
    iocbs: Vec<Iocb>,
    /// Slots whose I/O the kernel has not taken yet.
    waiting: VecDeque<u32>,
    /// I/Os that the kernel refused at once, and events beyond what a `reap` could return.
    ready: VecDeque<Completion>,
    with_kernel: u32,
    events: Vec<IoEvent>,
    starved: u32,
}

pub(super) fn open(setup: Setup) -> Result<(Aio, Vec<String>)> {
    check_setup(NAME, &setup, DEPTH_MAX)?;
    let mut notes = Vec::new();
    if setup.files.iter().any(|f| f.map.is_none() && !is_direct(f.handle.file())) {
        notes.push(format!(
            "{NAME}: not every file is opened for direct I/O; submitting blocks on the others"
        ));
    }
    let depth = setup.depth as usize;
    let engine = Aio {
        context: io_setup(setup.depth)?,
        regions: ManuallyDrop::new(Regions::new(setup.regions)),
        files: setup.files,
        iocbs: vec![Iocb::default(); depth],
        waiting: VecDeque::with_capacity(depth),
        ready: VecDeque::with_capacity(depth),
        with_kernel: 0,
        events: vec![IoEvent::default(); depth.min(EVENTS_MAX)],
        starved: 0,
    };
    Ok((engine, notes))
}

/// Whether a context can be had. Opens a small one and closes it.
pub(super) fn probe() -> Result {
    io_setup(1).map(io_destroy)
}

fn io_setup(depth: u32) -> Result<libc::c_ulong> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes one word, the new context.
    let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
    if result == 0 {
        return Ok(context);
    }
    let error = IoError::last();
    let [used, limit] = ["/proc/sys/fs/aio-nr", "/proc/sys/fs/aio-max-nr"].map(std::fs::read_to_string);
    Err(refusal(error, depth, used.ok(), limit.ok()))
}

fn io_destroy(context: libc::c_ulong) {
    // SAFETY: the context is ours and not used afterwards.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}

/// Puts the error of `io_setup(2)` into words; `used` and `limit` are the sysctls `fs.aio-nr` and
/// `fs.aio-max-nr`.
fn refusal(error: IoError, depth: u32, used: Option<String>, limit: Option<String>) -> EngineError {
    let text = error.text();
    let (reason, advice) = match error.number() {
        libc::EAGAIN => (
            format!(
                "the system's limit of asynchronous I/Os is used up: {depth} more were asked for, fs.aio-nr is {}, \
                 fs.aio-max-nr is {} ({text})",
                used.as_deref().unwrap_or("unknown").trim(),
                limit.as_deref().unwrap_or("unknown").trim()
            ),
            "Raise it (sysctl fs.aio-max-nr), or use fewer outstanding I/Os (-o, -O)",
        ),
        libc::ENOSYS => (
            format!("this kernel is built without asynchronous I/O ({text})"),
            "Use another engine (--engine threads)",
        ),
        libc::EPERM | libc::EACCES => (
            format!("a system-call filter forbids it ({text})"),
            "Allow io_setup, io_submit and io_getevents in the container's seccomp profile, or use another \
             engine (--engine threads)",
        ),
        _ => {
            let action = format!("making a context for {depth} I/Os (io_setup)");
            return EngineError::Setup { engine: NAME, action, error: text };
        }
    };
    EngineError::Unavailable { engine: NAME, reason, advice: advice.into() }
}

impl Aio {
    fn fill(&mut self, io: &Io) {
        let file = &self.files[io.file as usize];
        let fd = file.handle.file().as_raw_fd() as u32;
        if !io.op.moves_data() {
            // The kernel takes a flush with nothing else in it only.
            let opcode = match io.op {
                Op::Flush => IOCB_CMD_FSYNC,
                Op::FlushData => IOCB_CMD_FDSYNC,
                // It has no word for a trim. Plans refuse them before a run.
                _ => {
                    let result = Err(IoError::NOT_SUPPORTED);
                    return self.ready.push_back(Completion { slot: io.slot, result });
                }
            };
            self.iocbs[io.slot as usize] = Iocb { data: u64::from(io.slot), opcode, fd, ..Iocb::default() };
            self.waiting.push_back(io.slot);
            return;
        }
        let address = self.regions.address(io);
        self.iocbs[io.slot as usize] = Iocb {
            data: u64::from(io.slot),
            opcode: if io.op == Op::Read { IOCB_CMD_PREAD } else { IOCB_CMD_PWRITE },
            ioprio: file.ioprio as i16,
            flags: if file.ioprio == 0 { 0 } else { IOCB_FLAG_IOPRIO },
            fd,
            buffer: address as u64,
            len: u64::from(io.len),
            offset: io.offset as i64,
            ..Iocb::default()
        };
        self.waiting.push_back(io.slot);
    }

    /// Hands waiting I/Os to the kernel; those it refuses to start are finished with their error.
    fn hand_over(&mut self) -> Result {
        const BATCH: usize = 64;
        while !self.waiting.is_empty() {
            let mut batch = [std::ptr::null_mut::<Iocb>(); BATCH];
            let count = self.waiting.len().min(BATCH);
            for (pointer, slot) in batch.iter_mut().zip(&self.waiting) {
                *pointer = &raw mut self.iocbs[*slot as usize];
            }
            // SAFETY: `count` control blocks, which the kernel copies before it returns; the bytes they
            // point to are inside regions that are kept until nothing is in flight, and the slot's
            // alone.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, count as libc::c_long, &raw mut batch)
            };
            match u32::try_from(taken) {
                Ok(taken) => {
                    for _ in 0..taken {
                        self.waiting.pop_front();
                    }
                    self.with_kernel += taken;
                    self.starved = 0;
                    if taken == 0 {
                        return Ok(());
                    }
                }
                Err(_) => match IoError::last().number() {
                    // Queues are full: the next `reap` makes room.
                    libc::EAGAIN if self.with_kernel > 0 || self.starved < STARVED_MAX => {
                        self.starved += 1;
                        return Ok(());
                    }
                    errno @ (libc::EAGAIN | libc::ENOSYS | libc::EPERM) => {
                        return Err(broken(
                            "handing I/Os to the kernel (io_submit)",
                            IoError::from_number(errno),
                        ));
                    }
                    // The error is the first I/O's own.
                    errno => {
                        if let Some(slot) = self.waiting.pop_front() {
                            self.ready
                                .push_back(Completion { slot, result: Err(IoError::from_number(errno)) });
                        }
                    }
                },
            }
        }
        Ok(())
    }

    /// One `io_getevents(2)`: the number of events now in `events`.
    fn collect(&mut self, min: u32, max: u32, timeout: Option<Duration>) -> Result<usize, IoError> {
        let max = (max as usize).min(self.events.len());
        let min = (min as usize).min(max);
        let limit = timeout.map(|t| libc::timespec {
            tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: t.subsec_nanos() as libc::c_long,
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `max` events fit; the limit outlives the call.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                min as libc::c_long,
                max as libc::c_long,
                self.events.as_mut_ptr(),
                limit,
            )
        };
        usize::try_from(count).map_err(|_| IoError::last())
    }
}

fn broken(action: &'static str, error: IoError) -> EngineError {
    EngineError::Broken { engine: NAME, action, error: error.text() }
}

impl Engine for Aio {
    fn submit(&mut self, ios: &[Io]) -> Result {
        for io in ios {
            self.fill(io);
        }
        self.hand_over()
    }

    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        self.hand_over()?;
        let mut got = hand_out(&mut self.ready, max, done);
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        while got < max && self.with_kernel > 0 {
            // What the kernel does not have cannot be waited for.
            let wanted = min.saturating_sub(got).min(self.with_kernel);
            let limit = match deadline {
                _ if wanted == 0 => Some(Duration::ZERO),
                Some(deadline) => Some(deadline.saturating_duration_since(Instant::now())),
                None => None,
            };
            let count = match self.collect(wanted, max - got, limit) {
                Ok(count) => count,
                Err(IoError::INTERRUPTED) => break,
                Err(error) => return Err(broken("collecting completions (io_getevents)", error)),
            };
            for event in &self.events[..count] {
                let result =
                    u32::try_from(event.result).map_err(|_| IoError::from_number(-event.result as i32));
                done.push(Completion { slot: event.data as u32, result });
            }
            self.with_kernel -= count as u32;
            got += count as u32;
            // Less than a bufferful: there are no more, time is over, or a signal came.
            if count < self.events.len() {
                break;
            }
        }
        if got == 0 && min > 0 && self.with_kernel == 0 && !self.waiting.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.with_kernel + (self.waiting.len() + self.ready.len()) as u32
    }

    /// The kernel cannot cancel reads and writes: they are waited for.
    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let deadline = Instant::now() + limit;
        done.extend(self.waiting.drain(..).map(not_begun));
        done.extend(self.ready.drain(..));
        reap_all(self, deadline, done);
        self.with_kernel
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        if self.drain(DROP_LIMIT, &mut Vec::new()) == 0 {
            io_destroy(self.context);
            // SAFETY: dropped once, here, and nothing is in flight. Otherwise the memory stays for
            // ever, and the context too: destroying it would wait without limit.
            unsafe { ManuallyDrop::drop(&mut self.regions) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_apart() {
        let words = |errno| {
            refusal(IoError::from_number(errno), 32, Some("65530\n".into()), Some("65536\n".into()))
                .to_string()
        };
        let full = words(libc::EAGAIN);
        assert!(full.contains("fs.aio-nr is 65530") && full.contains("fs.aio-max-nr is 65536"), "{full}");
        assert!(words(libc::ENOSYS).contains("built without"));
        assert!(words(libc::EPERM).contains("seccomp"));
        assert!(matches!(
            refusal(IoError::from_number(libc::ENOMEM), 1, None, None),
            EngineError::Setup { .. }
        ));
    }
}

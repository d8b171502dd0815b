//! What several engines share: where an I/O's bytes lie, one blocking transfer, the I/O priority of a thread, and the
//! system's words for an error.
//!
//! `psync`, which is little more: `pread(2)` and `pwrite(2)` on the worker thread, one I/O at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Completion, Engine, EngineError, EngineFile, Handle, Io, IoError, Op, Result, Setup};
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::thread::{IoPrio, io_priority_of_this_thread, set_io_priority_of_this_thread};
use truespd_platform::sys::{device, file};

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

/// One I/O that blocks: bytes moved, or why not.
///
/// # Safety
/// The bytes of the I/O in its region belong to it alone until the call returns.
#[inline(always)]
pub(super) unsafe fn transfer(handle: &Handle, regions: &Regions, io: &Io) -> Result<u32, IoError> {
    let file = handle.file();
    match io.op {
        // SAFETY: the memory is valid for the whole I/O, as `address` asserts, and its own, as the caller promises.
        Op::Read => unsafe { file::read_into(file, regions.address(io), io.len, io.offset) },
        // SAFETY: as above.
        Op::Write => unsafe { file::write_from(file, regions.address(io), io.len, io.offset) },
        Op::Flush => file::flush(file).map(|()| 0),
        Op::FlushData => file::flush_data(file).map(|()| 0),
        Op::Trim if handle.is_device() => device::discard(file, io.offset, u64::from(io.len)).map(|()| 0),
        Op::Trim => file::make_hole(file, io.offset, u64::from(io.len)).map(|()| 0),
    }
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
    pub(super) fn check(&self, engine: &'static str, files: &[EngineFile]) -> Result {
        for file in files.iter().filter(|f| f.ioprio != 0) {
            set_io_priority_of_this_thread(IoPrio(file.ioprio)).map_err(|error| EngineError::Setup {
                engine,
                action: format!(
                    "setting I/O priority class {} level {} (-I) for the thread",
                    file.ioprio >> 13,
                    file.ioprio & 0x1fff
                ),
                error: system_text(&error),
            })?;
        }
        let _ = set_io_priority_of_this_thread(IoPrio(self.original));
        Ok(())
    }
}

/// Refuses a setup that no engine can serve.
pub(super) fn check_setup(engine: &'static str, setup: &Setup, depth_max: u32) -> Result {
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
pub(super) fn hand_out(ready: &mut VecDeque<Completion>, max: u32, done: &mut Vec<Completion>) -> u32 {
    let count = ready.len().min(max as usize);
    for _ in 0..count {
        if let Some(completion) = ready.pop_front() {
            done.push(completion);
        }
    }
    count as u32
}

pub(super) const NAME: &str = "psync";

#[derive(Debug)]
pub(super) struct Psync {
    files: Vec<EngineFile>,
    regions: Regions,
    priority: ThreadPriority,
    /// I/Os that a signal interrupted before anything was moved.
    waiting: VecDeque<Io>,
    ready: VecDeque<Completion>,
}

pub(super) fn open(setup: Setup) -> Result<(Psync, Vec<String>)> {
    check_setup(NAME, &setup, u32::MAX)?;
    let priority = ThreadPriority::of_this_thread();
    priority.check(NAME, &setup.files)?;
    let depth = setup.depth as usize;
    let engine = Psync {
        files: setup.files,
        regions: Regions::new(setup.regions),
        priority,
        waiting: VecDeque::with_capacity(depth),
        ready: VecDeque::with_capacity(depth),
    };
    Ok((engine, Vec::new()))
}

impl Psync {
    /// Issues one I/O and waits for it.
    #[inline(always)]
    fn one(&mut self, io: &Io) -> Result<u32, IoError> {
        let file = &self.files[io.file as usize];
        self.priority.apply(file.ioprio);
        // SAFETY: the slot's bytes are this I/O's alone until its completion is handed out.
        unsafe { transfer(&file.handle, &self.regions, io) }
    }

    /// Issues what waits, until a signal interrupts.
    fn run(&mut self) {
        while let Some(io) = self.waiting.front().copied() {
            let result = self.one(&io);
            if result == Err(IoError::INTERRUPTED) {
                return;
            }
            self.ready.push_back(Completion { slot: io.slot, result });
            self.waiting.pop_front();
        }
    }
}

impl Engine for Psync {
    fn submit(&mut self, ios: &[Io]) -> Result {
        for io in ios {
            self.waiting.push_back(*io);
        }
        self.run();
        Ok(())
    }

    fn reap(&mut self, min: u32, max: u32, _timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        if self.ready.len() < min as usize {
            self.run();
        }
        hand_out(&mut self.ready, max, done);
        Ok(())
    }

    #[inline(always)]
    fn exchange(
        &mut self,
        ios: &[Io],
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result {
        // The latency of a read from the page cache is a few hundred nanoseconds: not by way of the queues.
        if let [io] = ios
            && max > 0
            && self.waiting.is_empty()
            && self.ready.is_empty()
        {
            let result = self.one(io);
            if result != Err(IoError::INTERRUPTED) {
                done.push(Completion { slot: io.slot, result });
            } else {
                self.waiting.push_back(*io);
            }
            return Ok(());
        }
        if !ios.is_empty() {
            self.submit(ios)?;
        }
        self.reap(min, max, timeout, done)
    }

    fn in_flight(&self) -> u32 {
        (self.waiting.len() + self.ready.len()) as u32
    }

    fn drain(&mut self, _limit: Duration, done: &mut Vec<Completion>) -> u32 {
        // A signal interrupted them before anything was moved.
        done.extend(self.waiting.drain(..).map(|io| not_begun(io.slot)));
        done.extend(self.ready.drain(..));
        0
    }

    fn is_inline(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests_psync {
    use std::io::Write;
    use std::sync::Arc;

    use super::*;
    use crate::engine::Op;
    use truespd_platform::sys::buffer::IoBuffer;

    #[test]
    fn an_exchange_is_a_submission_and_then_a_look() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[7; 4096]).expect("room");
        let region = Arc::new(IoBuffer::new(3 * 4096).expect("memory"));
        let file = EngineFile { handle: file.into(), size_bytes: 4096, ioprio: 0, map: None };
        let setup = Setup {
            depth: 3,
            files: vec![file],
            regions: vec![Arc::clone(&region)],
            registered_buffers: false,
            trims: false,
            parameters: String::new(),
        };
        let (mut engine, _) = open(setup).expect("psync needs nothing");
        let io = |slot: u32| Io {
            slot,
            file: 0,
            region: 0,
            op: Op::Read,
            len: 4096,
            region_offset: u64::from(slot) * 4096,
            offset: 0,
        };
        let (mut done, whole) = (Vec::new(), |slot| Completion { slot, result: Ok(4096) });
        engine.exchange(&[io(1)], 1, 16, None, &mut done).expect("reads");
        assert_eq!((done.as_slice(), engine.in_flight()), ([whole(1)].as_slice(), 0));
        assert_eq!(region.with_slice_mut(4096, 4096, |bytes| bytes.to_vec()), [7; 4096]);
        // What was there before comes first, and no more than asked for.
        done.clear();
        engine.submit(&[io(0)]).expect("reads");
        engine.exchange(&[io(2)], 1, 1, None, &mut done).expect("reads");
        assert_eq!((done.as_slice(), engine.in_flight()), ([whole(0)].as_slice(), 1));
        engine.exchange(&[io(0)], 0, 0, None, &mut done).expect("reads");
        assert_eq!((done.len(), engine.in_flight()), (1, 2));
        engine.exchange(&[], 1, 16, None, &mut done).expect("nothing to read");
        assert_eq!((done.as_slice(), engine.in_flight()), ([whole(0), whole(2), whole(0)].as_slice(), 0));
        // Past the end there is nothing.
        done.clear();
        engine.exchange(&[Io { offset: 4096, ..io(0) }], 1, 16, None, &mut done).expect("a result");
        assert_eq!(done, [Completion { slot: 0, result: Ok(0) }]);
    }
}

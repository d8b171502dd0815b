//! `psync`: `pread(2)` and `pwrite(2)` on the worker thread, one I/O at a time.

use std::collections::VecDeque;
use std::time::Duration;

use super::transfer::{Regions, ThreadPriority, check_setup, hand_out, not_begun, transfer};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Setup};

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

pub(super) fn open(setup: Setup) -> Result<Psync, EngineError> {
    check_setup(NAME, &setup, u32::MAX)?;
    let priority = ThreadPriority::of_this_thread();
    priority.check(NAME, &setup.files)?;
    let depth = setup.depth as usize;
    Ok(Psync {
        files: setup.files,
        regions: Regions::new(setup.regions),
        priority,
        waiting: VecDeque::with_capacity(depth),
        ready: VecDeque::with_capacity(depth),
    })
}

impl Psync {
    /// Issues one I/O and waits for it.
    #[inline(always)]
    fn one(&mut self, io: &Io) -> Result<u32, IoError> {
        let file = &self.files[io.file as usize];
        let address = self.regions.address(io);
        self.priority.apply(file.ioprio);
        // SAFETY: the slot's bytes are this I/O's alone until its completion is handed out.
        unsafe { transfer(&file.handle, io.op, address, io.len, io.offset) }
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
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        self.waiting.extend(ios);
        self.run();
        Ok(())
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        _timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
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
    ) -> Result<(), EngineError> {
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
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::*;
    use crate::engine::Op;
    use crate::sys::buffer::IoBuffer;

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
            parameters: String::new(),
        };
        let mut engine = open(setup).expect("psync needs nothing");
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

//! `null`: every I/O is finished at the next look, without a system call and without data.
//!
//! What is left of a run is the cost of the tool itself. It takes the batch path of the asynchronous
//! engines (`is_inline` is false), because that is the path whose cost is to be known.

use std::time::Duration;

use super::transfer::check_setup;
use super::{Completion, Engine, EngineError, Io, Opened, Setup};

pub(super) const NAME: &str = "null";

#[derive(Debug)]
struct Null {
    /// Taken and not yet returned are those from `next` on.
    taken: Vec<Completion>,
    next: usize,
}

pub(super) fn open(setup: Setup) -> Result<Opened, EngineError> {
    check_setup(NAME, &setup, u32::MAX)?;
    // A batch can arrive while the rest of the previous one is still to be returned.
    let taken = Vec::with_capacity(setup.depth as usize * 2);
    Ok(Opened { engine: Box::new(Null { taken, next: 0 }), notes: Vec::new() })
}

impl Engine for Null {
    #[inline]
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        if self.taken.len() + ios.len() > self.taken.capacity() {
            self.taken.drain(..self.next);
            self.next = 0;
        }
        for io in ios {
            self.taken.push(Completion { slot: io.slot, result: Ok(io.len) });
        }
        Ok(())
    }

    #[inline]
    fn reap(
        &mut self,
        _min: u32,
        max: u32,
        _timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let count = (self.taken.len() - self.next).min(max as usize);
        // One by one: for the few there are, a call that copies memory costs more.
        for completion in &self.taken[self.next..self.next + count] {
            done.push(*completion);
        }
        self.next += count;
        if self.next == self.taken.len() {
            self.taken.clear();
            self.next = 0;
        }
        Ok(())
    }

    #[inline]
    fn exchange(
        &mut self,
        ios: &[Io],
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        if !self.taken.is_empty() || ios.len() > max as usize {
            self.submit(ios)?;
            return self.reap(min, max, timeout, done);
        }
        // Nothing is left over from before and nothing will be: no need to keep them in between.
        done.extend(ios.iter().map(|io| Completion { slot: io.slot, result: Ok(io.len) }));
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        (self.taken.len() - self.next) as u32
    }

    fn drain(&mut self, _limit: Duration) -> u32 {
        self.taken.clear();
        self.next = 0;
        0
    }
}

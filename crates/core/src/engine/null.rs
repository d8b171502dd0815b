//! `null`: every I/O is finished at the next `reap`, without a system call and without data.
//!
//! What is left of a run is the cost of the tool itself. It takes the batch path of the asynchronous
//! engines (`is_inline` is false), because that is the path whose cost is to be known.

use std::time::Duration;

use super::transfer::check_setup;
use super::{Completion, Engine, EngineError, Io, Setup};

pub(super) const NAME: &str = "null";

#[derive(Debug)]
pub(super) struct Null {
    /// Taken and not yet returned are those from `next` on.
    taken: Vec<Completion>,
    next: usize,
}

pub(super) fn open(setup: Setup) -> Result<Null, EngineError> {
    check_setup(NAME, &setup, u32::MAX)?;
    // A batch can arrive while the rest of the previous one is still to be returned.
    let taken = Vec::with_capacity(setup.depth as usize * 2);
    Ok(Null { taken, next: 0 })
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

    #[inline(always)]
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

    fn drain(&mut self, _limit: Duration, done: &mut Vec<Completion>) -> u32 {
        done.extend(self.taken.drain(..).skip(self.next));
        self.next = 0;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Op;

    #[test]
    fn an_exchange_is_a_submission_and_then_a_look() {
        let setup = Setup {
            depth: 4,
            files: Vec::new(),
            regions: Vec::new(),
            registered_buffers: false,
            parameters: String::new(),
        };
        let mut engine = open(setup).expect("null needs nothing");
        let ios: Vec<Io> = (0..4)
            .map(|slot| Io {
                slot,
                file: 0,
                region: 0,
                op: Op::Read,
                len: 512 + slot,
                region_offset: 0,
                offset: 0,
            })
            .collect();
        let mut exchange = |ios: &[Io], max: u32| {
            let mut done = Vec::new();
            engine.exchange(ios, 0, max, None, &mut done).expect("never fails");
            assert!(done.iter().all(|c: &Completion| c.result == Ok(512 + c.slot)));
            (done.iter().map(|c| c.slot).collect::<Vec<_>>(), engine.in_flight())
        };
        assert_eq!(exchange(&ios[..2], 2), (vec![0, 1], 0));
        assert_eq!(exchange(&ios[..3], 2), (vec![0, 1], 1), "no more than asked for");
        assert_eq!(exchange(&ios[3..], 16), (vec![2, 3], 0), "what was left over comes first");
        assert_eq!(exchange(&[], 16), (vec![], 0));
    }
}

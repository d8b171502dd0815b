//! I/Os that are not the usual ones (`--mix`, `--flush-every`, `--trim`), and the checks of verified targets
//! (`--verify`).

use super::aside::{stamp, varied_io};
use super::{InFlight, Worker};
use crate::engine::{Completion, Io, Op};

impl Worker {
    /// The same where I/Os differ in size, flushes or trims are among them, or they are verified. False where the slot
    /// has to wait for others.
    #[inline(never)]
    pub(super) fn prepare_varied(&mut self, slot: u32, target_index: u32) -> bool {
        let target = &mut self.lane.targets[target_index as usize];
        let mut check = self.checks.get_mut(target_index as usize).and_then(Option::as_mut);
        let (rng, data_rng) = (&mut self.lane.rng, &mut self.data_rng);
        let io = varied_io(target, slot, rng, &self.buffers, data_rng, check.as_deref_mut());
        let Some(io) = io else { return false };
        self.accounted = None;
        if let Some(check) = check {
            stamp(check, &io, &self.buffers, self.now_ns);
            self.covered[slot as usize] = check.begin_flush();
        }
        let flight = &mut self.flights[slot as usize];
        (flight.target, flight.op) = (target_index, io.op);
        (flight.bytes, flight.offset) = (io.len, io.offset);
        self.batch.push(Io { file: target_index, ..io });
        true
    }

    /// Checks what an I/O of a verified target read, or notes what it wrote.
    #[inline(never)]
    pub(super) fn check(&mut self, slot: u32, done: u32) {
        let InFlight { target, op, bytes, offset, .. } = self.flights[slot as usize];
        let Some(Some(check)) = self.checks.get_mut(target as usize) else { return };
        match op {
            Op::Read => {
                let lane = &self.lane.targets[target as usize];
                let place = u64::from(slot - lane.slot_first) * lane.slot_stride_bytes;
                let buffer = &self.buffers[lane.read_region as usize];
                buffer.with_slice_mut(place as usize, done as usize, |data| {
                    check.complete_read(offset, bytes, data);
                });
            }
            Op::Write => check.complete_write(offset, bytes, done),
            Op::Flush | Op::FlushData => check.complete_flush(self.covered[slot as usize]),
            Op::Trim => {}
        }
    }

    /// What completed when all was over: nobody counts it, and the map of a verified target knows it.
    pub(super) fn check_late(&mut self) {
        if self.checks.is_empty() {
            return;
        }
        for index in 0..self.done.len() {
            let Completion { slot, result: Ok(done) } = self.done[index] else { continue };
            let InFlight { op, bytes, .. } = self.flights[slot as usize];
            // A read may have been broken off in the middle: then nothing is wrong with what it did not get.
            if op != Op::Read || done == bytes {
                self.check(slot, done);
            }
        }
    }
}

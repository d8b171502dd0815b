//! What a thread counts on one of its targets.

use crate::access::Skew;
use crate::load::counters::{Counter, Wanted};
use crate::load::live::Counted;
use crate::plan::LaneTarget;

/// What was counted on one target of the lane.
#[derive(Debug)]
pub struct Tally {
    pub reads: Counter,
    pub writes: Counter,
    /// Flushes between writes (`--flush-every`).
    pub flushes: Counter,
    /// Trims (`--trim`) with the bytes that they covered.
    pub trims: Counter,
    /// Transfers shorter than the block.
    pub short_transfers: u64,
    /// I/Os that were due in the measured time, where a rate was set.
    pub offered_ios: Option<u64>,
    /// What became of Zipf's law, where places follow it.
    pub skew: Option<Skew>,
}

impl Tally {
    /// Counters for a target, at 0.
    pub fn new(target: &LaneTarget, wanted: Wanted) -> Self {
        let has_schedule = target.pace.has_schedule();
        Tally {
            reads: Counter::new(wanted, target.reads, has_schedule, &target.sizes),
            writes: Counter::new(wanted, target.is_written(), has_schedule, &target.sizes),
            flushes: Counter::new(wanted.without_intervals(), target.flushes(), false, &[]),
            trims: Counter::new(wanted.without_intervals(), target.trims(), has_schedule, &target.sizes),
            short_transfers: 0,
            offered_ios: None,
            skew: None,
        }
    }

    /// Adds what was counted in the round after this one's. The I/Os offered are those of all rounds so far.
    pub fn append(&mut self, next: Tally) {
        self.reads.append(next.reads);
        self.writes.append(next.writes);
        self.flushes.append(next.flushes);
        self.trims.append(next.trims);
        self.short_transfers += next.short_transfers;
        self.offered_ios = next.offered_ios;
        self.skew = next.skew;
    }

    /// What whoever watches is told.
    pub(super) fn counted(&self) -> Counted {
        let trims = self.trims.counted();
        let trims = Counted { trims: trims.ios, trimmed_bytes: trims.bytes, ..Counted::default() };
        self.reads.counted().plus(self.writes.counted()).plus(trims)
    }

    pub(super) fn both(&mut self) -> [&mut Counter; 2] {
        [&mut self.reads, &mut self.writes]
    }
}

//! What a thread counts in each round of a run that measures until it is steady (`--until-steady`).
//!
//! Rounds end at instants that all threads know beforehand. A thread sees that one is over where it looks at phases
//! anyway, so that no I/O asks for it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Tally, Worker};
use crate::engine::Engine;
use crate::load::counters::Wanted;
use crate::load::live::Counted;
use crate::load::phases::Phases;
use crate::load::rounds::{Board, RoundCounts};

/// What a thread counted in a round.
#[derive(Debug)]
pub struct RoundPart {
    /// Number of the round, from 0.
    pub number: u32,
    /// One per target of the lane.
    pub tallies: Vec<Tally>,
    /// Sum of I/Os in flight times nanoseconds.
    pub in_flight_ns: u128,
    /// Calls that handed I/Os to a ring; none with other engines.
    pub submits: Option<u64>,
}

/// The rounds of a thread.
#[derive(Debug)]
pub struct RoundKeeper {
    /// Where all threads tell what they counted.
    board: Arc<Board>,
    wanted: Wanted,
    /// Number of the present round.
    number: u32,
    /// When it ends, by the clock of the run.
    end_ns: u64,
    /// The last rounds that are over.
    kept: VecDeque<RoundPart>,
    /// Reads and writes of all rounds that are over.
    totals: [u64; 2],
    /// What was counted in all of them.
    counted: Counted,
}

impl RoundKeeper {
    pub fn new(board: Arc<Board>, wanted: Wanted) -> Self {
        let kept = VecDeque::with_capacity(board.kept() + 1);
        let (totals, counted) = ([0; 2], Counted::default());
        RoundKeeper { board, wanted, number: 0, end_ns: u64::MAX, kept, totals, counted }
    }

    /// The first round begins with the measured time.
    pub fn begin(&mut self, measure_start_ns: u64) {
        self.end_ns = measure_start_ns.saturating_add(self.board.each_ns());
    }

    /// Reads and writes of the rounds that are over.
    pub fn totals(&self) -> [u64; 2] {
        self.totals
    }

    /// I/Os, bytes and I/Os in flight times nanoseconds of the rounds that are over.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    fn take(&mut self, part: RoundPart) {
        let in_flight_ns = u64::try_from(part.in_flight_ns).unwrap_or(u64::MAX);
        let mut counts = RoundCounts { ios: [0; 3], in_flight_ns };
        self.counted = self.counted.plus(Counted { in_flight_ns, ..Counted::default() });
        for tally in &part.tallies {
            for (place, counter) in [&tally.reads, &tally.writes].into_iter().enumerate() {
                counts.ios[place] += counter.ios();
                self.totals[place] += counter.ios();
            }
            self.counted = self.counted.plus(tally.counted());
            counts.ios[2] += tally.trims.ios();
        }
        self.board.tell(part.number, &counts);
        if self.kept.len() == self.board.kept() {
            self.kept.pop_front();
        }
        self.kept.push_back(part);
    }
}

impl Worker {
    /// When the present round ends; never, where there are no rounds.
    pub(super) fn round_end_ns(&self) -> u64 {
        self.rounds.as_ref().map_or(u64::MAX, |rounds| rounds.end_ns)
    }

    /// Ends the rounds that were over at `self.now_ns`. Until `from_ns` the I/Os in flight were added up; returns until
    /// when they are now.
    pub(super) fn end_rounds(&mut self, phases: &Phases, from_ns: u64, in_flight: usize) -> u64 {
        let mut from_ns = from_ns;
        let last_ns = self.now_ns.min(phases.measure_end_ns());
        while self.round_end_ns() <= last_ns {
            let end_ns = self.round_end_ns();
            let measured_ns = phases.measured_part_ns(from_ns, end_ns);
            self.in_flight_ns += in_flight as u128 * u128::from(measured_ns);
            from_ns = from_ns.max(end_ns);
            self.end_round(end_ns);
        }
        from_ns
    }

    /// Hands what was counted to the rounds that are over, and begins to count anew. This takes memory, once a round.
    pub(super) fn end_round(&mut self, end_ns: u64) {
        self.latencies.end(self.tallies.iter_mut().map(Tally::both));
        let Some(rounds) = &mut self.rounds else { return };
        let wanted = rounds.wanted;
        let fresh = self.lane.targets.iter().map(|target| Tally::new(target, wanted)).collect();
        let mut counted = std::mem::replace(&mut self.tallies, fresh);
        for (tally, meter) in counted.iter_mut().zip(&self.meters) {
            // Of all rounds so far.
            tally.offered_ios = meter.clone().and_then(|meter| meter.offered(end_ns));
        }
        let submits = self.engine.submits();
        let in_round = submits.map(|submits| submits - self.submits_before);
        self.submits_before = submits.unwrap_or(0);
        let in_flight_ns = std::mem::take(&mut self.in_flight_ns);
        rounds.take(RoundPart { number: rounds.number, tallies: counted, in_flight_ns, submits: in_round });
        rounds.number += 1;
        self.series_start_ns = rounds.end_ns;
        rounds.end_ns = rounds.end_ns.saturating_add(rounds.board.each_ns());
    }

    /// The rounds that are kept, with the present one as far as it came; none where there are no rounds.
    pub(super) fn take_rounds(&mut self, phases: &Phases) -> Vec<RoundPart> {
        if self.rounds.is_some() {
            self.end_round(phases.measure_end_ns());
        }
        self.rounds.take().map_or_else(Vec::new, |rounds| rounds.kept.into())
    }
}

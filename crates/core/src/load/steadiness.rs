//! Follows the rounds of a run until they are steady (`--until-steady`), and leaves the result what belongs to it.

use std::collections::VecDeque;

use super::activity::Mark;
use super::rounds::{Board, Cut};
use super::worker::{Outcome, RoundPart, Tally};
use crate::measure::cpu::CpuCounters;
use crate::profile::SteadyRule;
use crate::result::rounds::{are_steady, tracked, words};
use crate::result::{Round, Rounds};
use crate::text::grouped;

const NS_PER_S: f64 = 1e9;

/// Readings at the beginning of a round.
pub struct RoundMark {
    /// Number of the round, from 0.
    number: usize,
    pub mark: Mark,
    pub cpu: Option<CpuCounters>,
}

/// Follows the rounds while they are measured.
pub struct Watch<'a> {
    board: &'a Board,
    /// Rounds that all threads have ended.
    rounds: Vec<Round>,
    /// Those of the last rounds but for the first one of all.
    marks: VecDeque<RoundMark>,
    /// How many rounds have begun, by the clock.
    begun: usize,
    is_steady: bool,
}

impl<'a> Watch<'a> {
    /// At the start of the measured time.
    pub fn new(board: &'a Board) -> Self {
        Watch { board, rounds: Vec::new(), marks: VecDeque::new(), begun: 1, is_steady: false }
    }

    /// When the present round ends, from the start of the measured time.
    pub fn round_end_ns(&self) -> u64 {
        self.board.each_ns().saturating_mul(self.begun as u64)
    }

    /// The next round begins, with these readings.
    pub fn next_round(&mut self, mark: Mark, cpu: Option<CpuCounters>) {
        self.marks.push_back(RoundMark { number: self.begun, mark, cpu });
        self.begun += 1;
        while self.marks.len() > self.board.kept() {
            self.marks.pop_front();
        }
    }

    /// Takes the rounds that all threads have ended, and calls `tell` with a sentence about each. When the last of them
    /// are steady: the measured time up to their end.
    pub fn look(&mut self, tell: impl Fn(String)) -> Option<u64> {
        while let Some(round) = self.board.round(self.rounds.len()) {
            if self.is_steady {
                break;
            }
            self.rounds.push(round);
            let rounds = self.rounds.len();
            // Of a round that ended long ago, threads may have dropped what belongs to its window.
            self.is_steady =
                self.begun <= rounds + 2 && are_steady(self.last_rounds(), &self.board.lengths.rule);
            tell(self.round_words());
            if self.is_steady {
                return Some(self.board.each_ns().saturating_mul(rounds as u64));
            }
        }
        None
    }

    fn last_rounds(&self) -> &[Round] {
        let window = self.board.lengths.rule.window as usize;
        &self.rounds[self.rounds.len().saturating_sub(window)..]
    }

    /// What is told of the last round.
    fn round_words(&self) -> String {
        let SteadyRule { window, rounds: most, .. } = self.board.lengths.rule;
        let number = self.rounds.len();
        let Some(round) = self.rounds.last() else { return String::new() };
        let mut told = format!("round {number} of {most} at most: ");
        let [reads, writes] = [round.read_iops, round.write_iops].map(|iops| grouped(iops.round() as u64));
        if round.write_iops == 0.0 {
            told.push_str(&format!("{reads} read IOPS"));
        } else if round.read_iops == 0.0 {
            told.push_str(&format!("{writes} write IOPS"));
        } else {
            told.push_str(&format!("{reads} read and {writes} write IOPS"));
        }
        told.push_str(&format!(", mean latency {:.3} ms", round.latency_mean_ns / 1e6));
        if number >= window as usize {
            let are_steady = if self.is_steady { "steady" } else { "not steady" };
            let over = words(&tracked(self.last_rounds()));
            told.push_str(&format!("; the last {window} are {are_steady}: {over}"));
        }
        told
    }

    /// The part of a measured time of `measured_ns` that the result is of.
    pub fn cut(&self, measured_ns: u64) -> Cut {
        let each_ns = self.board.each_ns().max(1);
        let rounds = measured_ns.div_ceil(each_ns);
        let skipped = rounds.saturating_sub(u64::from(self.board.lengths.rule.window));
        let skipped_ns = skipped.saturating_mul(each_ns);
        Cut { skipped_ns, measured_ns: measured_ns.saturating_sub(skipped_ns) }
    }

    /// The readings at an instant of the measured time at which a round began; none where there are none.
    pub fn take_mark(&mut self, at_ns: u64) -> Option<RoundMark> {
        let each_ns = self.board.each_ns();
        let place = self.marks.iter().position(|mark| each_ns.saturating_mul(mark.number as u64) == at_ns)?;
        self.marks.remove(place)
    }

    /// The rounds of a measured time of `measured_ns`.
    pub fn finish(self, measured_ns: u64) -> Rounds {
        let each_ns = self.board.each_ns().max(1);
        let mut rounds = self.rounds;
        rounds.truncate((measured_ns / each_ns) as usize);
        let window_first =
            measured_ns.div_ceil(each_ns).saturating_sub(u64::from(self.board.lengths.rule.window));
        Rounds {
            round_s: each_ns as f64 / NS_PER_S,
            rounds,
            window_first: window_first as u32,
            is_steady: self.is_steady,
        }
    }
}

/// Leaves of what a thread counted only the rounds that the result is of.
pub fn keep(outcome: &mut Outcome, rounds: &Rounds, measured_ns: u64) {
    let each_ns = (rounds.round_s * NS_PER_S) as u64;
    let last = measured_ns.div_ceil(each_ns.max(1));
    let mut sum: Option<RoundPart> = None;
    // I/Os that were due in all rounds so far.
    let mut due_before: Vec<Option<u64>> = Vec::new();
    for part in std::mem::take(&mut outcome.rounds) {
        if part.number < rounds.window_first {
            due_before = part.tallies.iter().map(|tally| tally.offered_ios).collect();
        } else if u64::from(part.number) < last {
            sum = Some(match sum {
                None => part,
                Some(sum) => added(sum, part),
            });
        }
    }
    let Some(mut sum) = sum else { return };
    for (tally, before) in sum.tallies.iter_mut().zip(due_before) {
        let before = before.unwrap_or(0);
        tally.offered_ios = tally.offered_ios.map(|due| due.saturating_sub(before));
    }
    for (tally, whole) in sum.tallies.iter_mut().zip(&outcome.tallies) {
        tally.skew = whole.skew;
    }
    outcome.tallies = sum.tallies;
    outcome.in_flight_ns = sum.in_flight_ns;
    outcome.waits.submits = sum.submits;
}

/// Two rounds, one after the other.
fn added(mut sum: RoundPart, next: RoundPart) -> RoundPart {
    let both = sum.tallies.iter_mut().zip(next.tallies);
    both.for_each(|(tally, next): (&mut Tally, Tally)| tally.append(next));
    sum.in_flight_ns += next.in_flight_ns;
    sum.submits = sum.submits.zip(next.submits).map(|(sum, next)| sum + next);
    RoundPart { number: next.number, ..sum }
}

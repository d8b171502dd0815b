//! Follows the rounds of a run until they are steady (`--until-steady`), and leaves the result what belongs to it.

use std::collections::VecDeque;

use super::activity::Mark;
use super::rounds::{Board, Cut};
use super::worker::{Outcome, RoundPart, Tally};
use crate::measure::cpu::CpuCounters;
use crate::profile::SteadyRule;
use crate::result::rounds::{are_steady, tracked, words};
use crate::result::{Round, Rounds};
use truespd_platform::text::grouped;

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
        for (name, iops) in round.rates() {
            told.push_str(&format!("{} {name}, ", grouped(iops.round() as u64)));
        }
        told.push_str(&format!("mean latency {:.3} ms", round.latency_mean_ns / 1e6));
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

    /// The rounds, when the result is of `cut`.
    pub fn finish(self, cut: Cut) -> Rounds {
        let each_ns = self.board.each_ns().max(1);
        let mut rounds = self.rounds;
        rounds.truncate((cut.end_ns() / each_ns) as usize);
        Rounds {
            round_s: each_ns as f64 / NS_PER_S,
            // A run that was stopped ends within a round, whatever the last whole ones say.
            is_steady: self.is_steady && cut.end_ns().is_multiple_of(each_ns),
            rounds,
            window_first: (cut.skipped_ns / each_ns) as u32,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::rounds::{RoundCounts, RoundLengths};

    const S: u64 = 1_000_000_000;

    /// A board on which a thread tells these rounds of a second, 32 outstanding.
    fn board(window: u32, rounds: u32) -> Board {
        let rule = SteadyRule { window, rounds, ..SteadyRule::default() };
        Board::new(RoundLengths { each_ns: S, rule }, 1, false)
    }

    /// After how many rounds of these rates the run ends by the rule; none where it never does.
    fn ends_after(rates: &[u64]) -> Option<u64> {
        let board = board(5, 30);
        let mut watch = Watch::new(&board);
        for (number, &rate) in (0..).zip(rates) {
            board.tell(number, &RoundCounts { ios: [0, rate, 0], in_flight_ns: 32 * S });
            if let Some(end_ns) = watch.look(|_| ()) {
                return Some(end_ns / S);
            }
            watch.begun += 1;
        }
        None
    }

    /// The answers were computed apart from this program, by the two limits of the specification.
    #[test]
    fn series_end_where_the_rule_says() {
        let cliff =
            [98_000, 97_500, 97_900, 97_000, 60_200, 31_000, 24_800, 22_100, 21_500, 21_900, 21_300, 21_700];
        assert_eq!(ends_after(&cliff[4..]), Some(8), "from where it falls");
        assert_eq!(
            ends_after(&[&[96_000], &cliff[..]].concat()),
            Some(5),
            "before the cliff it was steady, too"
        );
        let decay =
            [50_000, 42_000, 36_000, 31_500, 28_000, 25_500, 23_800, 22_700, 22_000, 21_600, 21_300, 21_100];
        assert_eq!(ends_after(&decay), Some(12));
        assert_eq!(ends_after(&[31_000, 30_800, 31_200, 30_900, 31_100]), Some(5));
        // A range of 26 % of the mean, without a trend.
        assert_eq!(ends_after(&[20_000, 26_000].repeat(12)), None);
        // 3 % more each round: 12 % over the window. 2 % are 8 %.
        let creeping = |percent: f64| -> Vec<u64> {
            (0..25).map(|round| (10_000.0 * (1.0 + percent / 100.0).powi(round)) as u64).collect()
        };
        assert_eq!((ends_after(&creeping(3.0)), ends_after(&creeping(2.0))), (None, Some(5)));
        let dip = [30_000, 30_000, 30_000, 23_000, 30_000, 30_000, 30_000, 30_000, 30_000];
        assert_eq!(ends_after(&dip), Some(9), "once the dip is out of the window");
    }

    #[test]
    fn a_round_counts_when_its_last_thread_has_ended_it() {
        let rule = SteadyRule { window: 3, ..SteadyRule::default() };
        let board = Board::new(RoundLengths { each_ns: S, rule }, 2, false);
        let mut watch = Watch::new(&board);
        let counts = RoundCounts { ios: [100, 0, 0], in_flight_ns: 4 * S };
        for number in 0..3 {
            board.tell(number, &counts);
            assert_eq!(watch.look(|_| ()), None, "one of two threads");
        }
        board.tell(0, &counts);
        board.tell(1, &counts);
        assert_eq!(watch.look(|_| ()), None);
        board.tell(2, &counts);
        assert_eq!(watch.look(|_| ()), Some(3 * S));
        let rounds = watch.finish(Cut::all(3 * S));
        assert!(rounds.is_steady && rounds.rounds.len() == 3);
        assert_eq!((rounds.rounds[0].read_iops, rounds.rounds[0].latency_mean_ns), (200.0, 40e6));
    }

    /// Threads keep two rounds beside those of the window.
    #[test]
    fn rounds_that_threads_have_dropped_are_no_result() {
        let board = board(3, 30);
        let mut watch = Watch::new(&board);
        watch.begun = 6;
        for number in 0..3 {
            board.tell(number, &RoundCounts { ios: [100, 0, 0], in_flight_ns: S });
        }
        assert_eq!(watch.look(|_| ()), None, "three rounds begun since");
        board.tell(3, &RoundCounts { ios: [100, 0, 0], in_flight_ns: S });
        assert_eq!(watch.look(|_| ()), Some(4 * S));
    }

    #[test]
    fn the_result_is_the_last_window_of_what_was_measured() {
        let board = board(5, 30);
        let watch = Watch::new(&board);
        let cut = |measured_ns| watch.cut(measured_ns);
        assert_eq!(cut(7 * S), Cut { skipped_ns: 2 * S, measured_ns: 5 * S });
        assert_eq!(cut(3 * S), Cut { skipped_ns: 0, measured_ns: 3 * S });
        // Stopped in round 8.
        assert_eq!(cut(7 * S + S / 2), Cut { skipped_ns: 3 * S, measured_ns: 4 * S + S / 2 });
        assert_eq!(cut(0), Cut::default());
    }
}

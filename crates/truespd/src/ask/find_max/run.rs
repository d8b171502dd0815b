//! Runs a search: without a limit first, then rates, as the decisions say.

use crate::answer::{Advice, SeriesVerdict};
use crate::ask::find_max::decide::{Asked, Next, RUNS_USUAL, next};
use crate::ask::find_max::limits::LatencyLimit;
use crate::ask::find_max::search::{Search, SearchEnd};
use crate::ask::find_max::trial::Point;
use crate::ask::judged;
use crate::runner::rounds::{AROUND_S, SEEDS_OF_A_RUN};
use crate::runner::until_known::{Budget, NextRun, Until, UntilKnown, make_run, until_known};
use crate::runner::{Ahead, Draft, Ended, Known, Length, Runner, Step};
use std::time::Duration;
use truespd_core::result::{Document, Grade};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::text::grouped;

/// Pause after a run that asked for more than the storage can do, at most: it finishes what is still to be done.
const SETTLE: Duration = Duration::from_secs(5);
/// What is left to do grows with the run: no longer than this part of it.
const SETTLE_PART: f64 = 0.5;
/// The rule of the verdict about a rate that is not reached.
const RATE_NOT_REACHED: &str = "below-rate";

/// A line whose highest rate is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Searching {
    /// What stands before the rate in names of runs.
    pub name: String,
    /// Words of the line, without rate, arrivals, seed, times and targets.
    pub line: Vec<String>,
    /// Words of its warm-up, measured time and cool-down.
    pub times: Vec<String>,
    /// The line has a seed of its own (`-z`).
    pub has_seed: bool,
    /// How I/Os arrive: a word of `--arrivals`.
    pub arrivals: String,
    /// Files or devices, as words of the command line.
    pub targets: Vec<String>,
    /// Warm-up, measured time and cool-down of a run in seconds.
    pub run_s: f64,
    /// Measured time of a run in seconds.
    pub measured_s: f64,
    pub limits: Vec<LatencyLimit>,
    /// How near the bounds have to come to each other, in percent of the upper one.
    pub precision_percent: f64,
    /// All runs and pauses take no longer than this, in seconds.
    pub time_max_s: f64,
    /// Threads times targets: what a rate per thread is multiplied with.
    pub streams: u64,
    /// I/Os of all threads that are outstanding at once, at most.
    pub outstanding: u64,
    /// It writes, so that the storage may change meanwhile.
    pub writes: bool,
}

impl Searching {
    /// The line without a limit.
    pub fn unlimited(&self) -> Draft {
        self.draft(format!("{} without a limit", self.name), Vec::new())
    }

    /// The line at a rate; runs of a rate have different I/Os and arrivals.
    fn at(&self, per_stream: u64, run: usize) -> Draft {
        let mut words = vec![format!("-g{per_stream}i"), "--arrivals".to_string(), self.arrivals.clone()];
        if !self.has_seed {
            words.push(format!("-z{}", run as u64 * SEEDS_OF_A_RUN));
        }
        self.draft(format!("{} at {} IOPS", self.name, grouped(self.iops(per_stream))), words)
    }

    fn draft(&self, name: String, rate: Vec<String>) -> Draft {
        let mut words = self.line.clone();
        words.extend(rate);
        words.extend(self.times.iter().cloned());
        words.extend(self.targets.iter().cloned());
        Draft { name, words, length: Length::exactly(self.one_s()), ..Draft::default() }
    }

    fn iops(&self, per_stream: u64) -> u64 {
        per_stream.saturating_mul(self.streams)
    }

    fn one_s(&self) -> f64 {
        self.run_s + AROUND_S
    }

    fn settle(&self) -> Duration {
        SETTLE.min(Duration::from_secs_f64(self.run_s * SETTLE_PART))
    }

    /// What a search usually still takes after `done` rates, with the pauses.
    pub fn ahead(&self, done: usize) -> Ahead {
        let usual = (RUNS_USUAL - 1).saturating_sub(done).max(1);
        let seconds = usual as f64 * (self.one_s() + self.settle().as_secs_f64() / 3.0);
        Ahead { steps: usual, length: Length::exactly(seconds.min(self.time_max_s)), known: Known::Usually }
    }

    /// I/Os that a run needs, so that it can say something about every limit.
    fn ios_min(&self) -> u64 {
        self.limits.iter().map(|limit| limit.of.ios_min()).max().unwrap_or(1)
    }

    /// Refuses a search whose runs have too few I/Os even at the rate without a limit.
    ///
    /// # Errors
    /// How long they have to be.
    pub fn check_ios(&self, unlimited_iops: f64) -> Result<(), Ended> {
        let needed = self.ios_min() as f64;
        if unlimited_iops * self.measured_s >= needed {
            return Ok(());
        }
        let rarest = self.limits.iter().max_by_key(|limit| limit.of.ios_min());
        let words = format!(
            "{} needs {} I/Os in each run, but at {unlimited_iops:.0} IOPS a run of {} s has {:.0}",
            rarest.map_or("", |limit| limit.of.word()),
            grouped(needed as u64),
            self.measured_s,
            unlimited_iops * self.measured_s
        );
        let long = (needed / unlimited_iops.max(0.001) * 2.0).ceil();
        let hint = format!("measure longer, -d{long:.0} or more, or hold a lower percentile");
        Err(Ended::Failed(Failure::new(FailureKind::Figure, words).hint(hint).into()))
    }

    /// Closes in on the highest rate. What is known when it ends early is in the search.
    ///
    /// # Errors
    /// Why it ended early.
    pub fn run(
        &self,
        unlimited: &Document,
        unlimited_iops: f64,
        judge: &mut Judge<'_>,
        runner: &mut dyn Runner,
        search: &mut Search,
    ) -> Result<(), Ended> {
        self.check_ios(unlimited_iops)?;
        let streams = self.streams.max(1) as f64;
        let asked = Asked {
            unlimited: unlimited_iops / streams,
            limits: &self.limits,
            width: self.precision_percent / 100.0,
            least: (self.ios_min() as f64 / self.measured_s.max(1.0) / streams).ceil() as u64,
        };
        // Simulated time passes only while a run goes on.
        let settle = if is_simulated(unlimited) { Duration::ZERO } else { self.settle() };
        let mut budget = Budget::of(Some(self.time_max_s));
        budget.spend(self.one_s());
        let mut rates = AtRates {
            searching: self,
            asked,
            judge,
            search,
            settle,
            is_over: true,
            rate: 0,
            is_again: false,
        };
        if until_known(&mut rates, &mut budget, runner)? == Until::OutOfTime {
            rates.search.note_end(Next::GaveUp);
            rates.search.is_out_of_time = true;
            return Ok(());
        }
        let Some(first) = rates.search.points.first().map(|first| first.per_stream) else { return Ok(()) };
        if !self.writes || matches!(rates.search.end, Some(SearchEnd::NoIo(_))) {
            return Ok(());
        }
        // Writes may change the storage: the first rate once more, and where it is not what it was, no answer.
        (rates.rate, rates.is_again) = (first, true);
        let end = rates.search.end;
        let again = rates.next_run(runner)?;
        make_run(&mut rates, &again, &mut budget, runner)?;
        rates.search.end = end;
        rates.search.note_change();
        Ok(())
    }
}

/// The rates of a search while they are tried.
struct AtRates<'a, 'j> {
    searching: &'a Searching,
    asked: Asked<'a>,
    judge: &'a mut Judge<'j>,
    search: &'a mut Search,
    settle: Duration,
    /// The last run asked for more than the storage can do, which has to settle.
    is_over: bool,
    /// The rate of the next run.
    rate: u64,
    /// The next run is the one of the first rate at the end.
    is_again: bool,
}

impl AtRates<'_, '_> {
    fn next_run(&mut self, runner: &mut dyn Runner) -> Result<NextRun, Ended> {
        self.search.note_bounds();
        let step = self.searching.at(self.rate, self.search.points.len() + 1).read(runner)?;
        let pause = if self.is_over { self.settle } else { Duration::ZERO };
        Ok(NextRun { step, pause, needed_s: Some(pause.as_secs_f64() + self.searching.one_s()) })
    }
}

impl UntilKnown for AtRates<'_, '_> {
    fn next(&mut self, _: &Budget<'_>, runner: &mut dyn Runner) -> Result<Option<NextRun>, Ended> {
        if matches!(self.search.end, Some(SearchEnd::NoIo(_))) {
            return Ok(None);
        }
        match next(&self.asked, &self.search.points) {
            Next::Try(rate) => {
                self.rate = rate;
                self.next_run(runner).map(Some)
            }
            end => {
                self.search.note_end(end);
                Ok(None)
            }
        }
    }

    fn ahead(&self, _: &Budget<'_>) -> Ahead {
        self.searching.ahead(self.search.points.len() + 1)
    }

    fn take(&mut self, step: &Step, document: &Document, _: &mut dyn Runner) -> Result<(), Ended> {
        let grade = self.judge.take_rate(&step.name, document);
        let of = self.searching;
        let Some(mut point) = Point::of(&of.limits, self.rate, of.streams, of.outstanding, document, grade)
        else {
            self.search.note_bounds();
            self.search.end = Some(SearchEnd::NoIo(self.rate));
            return Ok(());
        };
        self.is_over = !point.is_within;
        if let Some(trial) = &mut point.trial {
            trial.is_again = self.is_again;
        }
        self.search.points.push(point);
        Ok(())
    }
}

fn is_simulated(document: &Document) -> bool {
    let mut measured = document.measured();
    measured.any(|measured| measured.engine_traits.is_some_and(|traits| traits.simulates_time))
}

/// Takes the verdicts of runs, with advice in options of the suite.
#[derive(Debug)]
pub struct Judge<'a> {
    pub verdict: &'a mut SeriesVerdict,
    pub advice: Advice,
}

impl Judge<'_> {
    /// Takes that of a run, and returns its grade.
    pub fn take(&mut self, name: &str, document: &Document) -> Option<Grade> {
        self.take_without(name, document, None)
    }

    /// The same of a run at a rate that may be beyond the storage, on purpose.
    fn take_rate(&mut self, name: &str, document: &Document) -> Option<Grade> {
        self.take_without(name, document, Some(RATE_NOT_REACHED))
    }

    fn take_without(&mut self, name: &str, document: &Document, rule: Option<&str>) -> Option<Grade> {
        let (grade, findings) = judged(document, |finding| Some(finding.rule.as_str()) == rule);
        self.verdict.take(name, grade, findings);
        self.verdict.advise(self.advice);
        grade
    }
}

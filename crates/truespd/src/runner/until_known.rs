//! Runs until enough is known, or until the time for them is up: one loop for all questions that decide after each run
//! what comes next.

use crate::runner::rounds::AROUND_S;
use crate::runner::{Ahead, Ended, Runner, Step};
use std::time::Duration;
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::Document;

/// The time that a series may take, and how much of it is spent.
pub struct Budget<'a> {
    limit_s: f64,
    spent_s: f64,
    /// Tells what is spent; without it the planned lengths of runs and pauses are added up, which are the same for
    /// simulated time.
    clock: Option<&'a dyn Fn() -> Duration>,
}

impl<'a> Budget<'a> {
    /// Without a limit: as long as it takes.
    pub fn of(limit_s: Option<f64>) -> Self {
        Budget { limit_s: limit_s.unwrap_or(f64::INFINITY), spent_s: 0.0, clock: None }
    }

    /// As `clock` says, from now on.
    pub fn by_clock(limit: Duration, clock: &'a dyn Fn() -> Duration) -> Self {
        Budget { limit_s: limit.as_secs_f64(), spent_s: -clock().as_secs_f64(), clock: Some(clock) }
    }

    pub fn spend(&mut self, seconds: f64) {
        if self.clock.is_none() {
            self.spent_s += seconds;
        }
    }

    /// How many seconds of it are spent.
    pub fn spent_s(&self) -> f64 {
        self.spent_s + self.clock.map_or(0.0, |clock| clock().as_secs_f64())
    }

    /// How many seconds of it are left; infinite without a limit.
    pub fn left_s(&self) -> f64 {
        self.limit_s - self.spent_s()
    }
}

/// The next run of a question.
pub struct NextRun {
    pub step: Step,
    /// Before it, so that the storage settles.
    pub pause: Duration,
    /// Seconds that the budget must have left for it and for what has to follow; none where it is made in any case.
    pub needed_s: Option<f64>,
}

/// A question that decides after each run what comes next.
pub trait UntilKnown {
    /// The next run; none once enough is known.
    ///
    /// # Errors
    /// Its line cannot be run.
    fn next(&mut self, budget: &Budget<'_>, runner: &mut dyn Runner) -> Result<Option<NextRun>, Ended>;

    /// What is still to come after the next run.
    fn ahead(&self, budget: &Budget<'_>) -> Ahead;

    /// Makes ready for the next run.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn prepare(&mut self) -> Result<(), Ended> {
        Ok(())
    }

    /// Takes the document of a run.
    ///
    /// # Errors
    /// It ends the series.
    fn take(&mut self, step: &Step, document: &Document, runner: &mut dyn Runner) -> Result<(), Ended>;
}

/// Why the runs of a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The question has its answer.
    Known,
    /// The budget has no room for the next run.
    OutOfTime,
}

/// Makes runs until enough is known, or the time is up.
///
/// # Errors
/// Why it ended early; what was taken until then counts.
pub fn until_known(
    question: &mut dyn UntilKnown,
    budget: &mut Budget<'_>,
    runner: &mut dyn Runner,
) -> Result<Until, Ended> {
    while let Some(next) = question.next(budget, runner)? {
        if next.needed_s.is_some_and(|needed_s| needed_s > budget.left_s()) {
            return Ok(Until::OutOfTime);
        }
        make_run(question, &next, budget, runner)?;
    }
    Ok(Until::Known)
}

/// Makes one run of a question, whatever the budget has left.
///
/// # Errors
/// As [`until_known`].
pub fn make_run(
    question: &mut dyn UntilKnown,
    next: &NextRun,
    budget: &mut Budget<'_>,
    runner: &mut dyn Runner,
) -> Result<(), Ended> {
    if !next.pause.is_zero() {
        let after = question.ahead(budget);
        let length = after.length.and(next.step.length.most_s);
        runner.ahead(Ahead { steps: after.steps + 1, length, ..after });
        runner.pause(next.pause)?;
        budget.spend(next.pause.as_secs_f64());
    }
    runner.ahead(question.ahead(budget));
    question.prepare()?;
    let document = runner.run(&next.step)?;
    budget.spend(lasted_s(&document) + AROUND_S);
    question.take(&next.step, &document, runner)
}

/// Seconds that the run of a document took, with warm-up and cool-down, as planned.
pub fn lasted_s(document: &Document) -> f64 {
    let mut sum = 0.0;
    for (span, measured) in document.profile.time_spans.iter().zip(document.measured()) {
        let around_s = f64::from(span.warmup_s) + f64::from(span.cooldown_s);
        let rounds_s = measured.rounds.as_ref().map(|of| of.rounds.len() as f64 * of.round_s);
        sum += around_s + rounds_s.unwrap_or(f64::from(span.duration_s));
    }
    sum
}

/// Whether the storage is not what it was: a figure of the same run at the end of a series differs by more than `part`
/// of what it was `before`, and by more than its error explains, but for `level` of all cases.
pub fn has_changed(before: f64, difference: Estimate, part: f64, level: f64) -> bool {
    difference.mean.abs() > part * before && difference.level() < level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_adds_up_or_asks_its_clock() {
        let mut planned = Budget::of(Some(10.0));
        planned.spend(4.0);
        assert_eq!((planned.spent_s(), planned.left_s()), (4.0, 6.0));
        assert_eq!(Budget::of(None).left_s(), f64::INFINITY);
        let now = std::cell::Cell::new(100);
        let clock = || Duration::from_secs(now.get());
        let mut real = Budget::by_clock(Duration::from_secs(10), &clock);
        now.set(103);
        real.spend(50.0);
        assert_eq!((real.spent_s(), real.left_s()), (3.0, 7.0));
    }

    #[test]
    fn a_change_is_large_and_more_than_the_error() {
        let changed =
            |mean: f64, error: f64| has_changed(100.0, Estimate { mean, error, freedom: 10.0 }, 0.2, 0.05);
        assert!(changed(30.0, 1.0) && changed(-30.0, 1.0));
        assert!(!changed(10.0, 1.0), "small");
        assert!(!changed(30.0, 30.0), "it scatters as much");
        assert!(changed(30.0, 0.0), "nothing scatters");
    }
}

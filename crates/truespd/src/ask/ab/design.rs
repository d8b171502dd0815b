//! How a comparison is planned: its sides, its blocks of runs, and how certain it must be.

use crate::runner::{Ahead, Ended, Known, Length};
use diskspd::request::Line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::Document;
pub use truespd_core::result::metrics::Metric;
use truespd_core::result::metrics::NoFigure;
use truespd_platform::fault::{Failure, FailureKind, Refusal};
use truespd_platform::text::precise;

pub const BLOCK_RUNS: usize = 4;

/// Confidence of the interval that must lie within the margin.
const EQUIVALENCE_CONFIDENCE: f64 = 0.95;

/// Bounds of intervals, as logarithms, lie within this, so that the ratios stay numbers.
const LOG_RATIO_MAX: f64 = 100.0;

/// Runs before the blocks: one of each variant.
pub(super) const UNCOUNTED_RUNS: usize = 2;

/// More than a run itself takes: files are opened and threads started.
pub(super) const AROUND_A_RUN_S: f64 = 0.3;

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// What is compared, and how sure to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What stands before names of runs, e.g. `reads: `.
    pub title: String,
    /// What A and B run.
    pub lines: [Line; 2],
    pub metric: Metric,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// The probability with which variants that are the same may be called different.
    pub significance: f64,
    pub blocks_max: usize,
    /// Time at most, for the blocks; see [`Plan::fitted`].
    pub time_max: Duration,
    /// How long each of its runs takes.
    pub run: Length,
}

impl Plan {
    /// Runs and seconds at most, those that do not count with the others.
    pub fn ahead(&self) -> Ahead {
        self.ahead_with(UNCOUNTED_RUNS)
    }

    /// The same before the first block, with so many runs to come that do not count.
    pub(super) fn ahead_with(&self, uncounted: usize) -> Ahead {
        let mut ahead = self.ahead_after(0, 0, Duration::ZERO);
        ahead.steps += uncounted;
        let prepares = self.run_length().uncounted().times(uncounted as f64);
        ahead.length = [ahead.length, prepares].into_iter().sum();
        ahead
    }

    /// The plan with as many blocks as fit into its time by their planned length, so that no part of the
    /// error is kept for blocks that cannot come.
    ///
    /// # Errors
    /// The time is too short for the least number of blocks; names the minutes that are enough.
    pub fn fitted(&self) -> Result<Plan, Refusal> {
        let fits = (self.time_max.as_secs_f64() / self.block_seconds()) as usize;
        let blocks_max = self.blocks_max.min(fits);
        let least = self.least();
        if blocks_max >= least {
            return Ok(Plan { blocks_max, ..self.clone() });
        }
        let message = format!(
            "--max-minutes {} is too short: a block of four runs of {} s takes {} minutes, and at least {least} blocks \
             are needed",
            precise(self.time_max.as_secs_f64() / 60.0),
            precise(self.run.least_s),
            precise((self.block_seconds() / 6.0).ceil() / 10.0),
        );
        let needed = (self.block_seconds() * least as f64 / 60.0).ceil();
        let hint =
            format!("use --max-minutes {needed:.0}, or shorter runs (--seconds, or -d in --a and --b)");
        Err(Refusal::command_line(message).hint(hint))
    }

    /// The least number of blocks for an answer; with fewer planned, there is one analysis, after the last.
    pub(super) fn least(&self) -> usize {
        BLOCKS_MIN.min(self.blocks_max)
    }

    pub(super) fn block_seconds(&self) -> f64 {
        BLOCK_RUNS as f64 * self.run_seconds()
    }

    pub(super) fn run_length(&self) -> Length {
        self.run.and(AROUND_A_RUN_S)
    }

    fn run_seconds(&self) -> f64 {
        self.run_length().least_s
    }

    /// What can still come when `blocks` blocks and `runs` runs of the next one are done.
    pub(super) fn ahead_after(&self, blocks: usize, runs: usize, elapsed: Duration) -> Ahead {
        let planned = (self.blocks_max.saturating_sub(blocks) * BLOCK_RUNS).saturating_sub(runs);
        let left_s = (self.time_max.as_secs_f64() - elapsed.as_secs_f64()).max(0.0);
        let fits = (left_s / self.run_seconds()) as usize;
        // The least number of blocks, and a block that has begun, are finished also when the time is over.
        let sure = match self.least().saturating_sub(blocks) {
            0 if runs > 0 => 1,
            blocks => blocks,
        };
        let steps = planned.min(fits.max((sure * BLOCK_RUNS).saturating_sub(runs)));
        Ahead { steps, length: self.run_length().times(steps as f64), known: Known::AtMost }
    }
}

/// When to stop, decided before the first run.
pub(super) struct Design {
    pub(super) margin: f64,
    pub(super) significance: f64,
    pub(super) interims: Vec<Interim>,
}

/// What the blocks so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    pub(super) interim: Interim,
    pub(super) estimate: Estimate,
    /// The interval that decides: at 95 % for [`Outcome::Equivalent`], else at the confidence that the
    /// significance asks for. So an interval without 0 and "undecided" never stand together.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) confidence: f64,
    pub(super) outcome: Outcome,
}

impl View {
    fn new(interim: Interim, estimate: Estimate, confidence: f64, outcome: Outcome) -> Self {
        let (low, high) = estimate.interval((1.0 - confidence) * interim.share);
        let (low, high) = (low.max(-LOG_RATIO_MAX), high.min(LOG_RATIO_MAX));
        View { interim, estimate, low, high, confidence, outcome }
    }
}

impl Design {
    pub(super) fn new(plan: &Plan) -> Self {
        Design {
            margin: (plan.margin_percent / 100.0).ln_1p(),
            significance: plan.significance,
            interims: interims(plan.blocks_max),
        }
    }

    /// The latest analysis that the blocks allow; `None` before the first. Blocks after it do not count.
    pub(super) fn view(&self, log_ratios: &[f64]) -> Option<View> {
        let mut done = self.interims.iter().filter(|interim| interim.blocks <= log_ratios.len());
        let interim = *done.next_back()?;
        let estimate = Estimate::of(&log_ratios[..interim.blocks])?;
        let equivalent = View::new(interim, estimate, EQUIVALENCE_CONFIDENCE, Outcome::Equivalent);
        if -self.margin <= equivalent.low && equivalent.high <= self.margin {
            return Some(equivalent);
        }
        let is_different = interim.p(estimate.level()) < self.significance;
        let outcome = if is_different { Outcome::Different } else { Outcome::Undecided };
        Some(View::new(interim, estimate, 1.0 - self.significance, outcome))
    }

    /// Whether the data are analysed after so many blocks.
    pub(super) fn is_interim(&self, blocks: usize) -> bool {
        self.interims.iter().any(|interim| interim.blocks == blocks)
    }
}

/// The runs of a block in their order.
pub(super) fn order(block: usize) -> [Side; BLOCK_RUNS] {
    match block.count_ones() % 2 {
        0 => [Side::A, Side::B, Side::B, Side::A],
        _ => [Side::B, Side::A, Side::A, Side::B],
    }
}

/// What a complete block says: ln(B / A).
pub(super) fn log_ratio(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [a, b] = [a, b].map(|[one, other]| (one.ln() + other.ln()) / 2.0);
    b - a
}

/// The figure of a run; or why this run has none, though another may; or the end of the series.
pub(super) fn figure(plan: &Plan, side: Side, document: &Document) -> Result<Result<f64, NoFigure>, Ended> {
    match plan.metric.of(document) {
        Ok(figure) => Ok(Ok(figure)),
        Err(why @ (NoFigure::NoIo | NoFigure::Zero(_))) => Ok(Err(why)),
        Err(why) => Err(without_figure(plan, side, why)),
    }
}

/// The end of a series; not as a refusal, for something has run.
pub(super) fn without_figure(plan: &Plan, side: Side, why: NoFigure) -> Ended {
    Failure::new(FailureKind::Figure, format!("{}{}", plan.title, side.name())).because(why).into()
}

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// They differ.
    Different,
    /// They do not differ by more than the margin.
    Equivalent,
    /// Neither is shown.
    Undecided,
}

/// Blocks before the first analysis: three degrees of freedom.
pub const BLOCKS_MIN: usize = 4;
/// From one analysis to the next: so many times more blocks.
const GROWTH: f64 = 1.3;
/// Smallest p value that is told.
pub const P_MIN: f64 = 1e-6;

/// An analysis of the data before its end (group sequential design), planned so that looking again and again is not
/// wrong more often than promised.
///
/// Analyses are few: after each, the next comes when there are 30 % more blocks. Of the promised error each may spend
/// its part of the planned blocks, and all parts add up to one (error spending, Lan and DeMets 1983, with the union
/// bound in place of the joint distribution of the analyses: that holds whatever their dependence, and t tests need no
/// other justification than each by itself). The interval at each, with that level of confidence, so holds at all
/// together, whatever ends the series (repeated confidence intervals, Jennison and Turnbull 1989).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interim {
    pub blocks: usize,
    /// Part of the promised error that it may spend.
    pub share: f64,
}

impl Interim {
    /// A p value that repeated looking does not spoil, from that of this test by itself.
    pub fn p(&self, level: f64) -> f64 {
        (level / self.share).clamp(P_MIN, 1.0)
    }
}

/// The analyses of up to `max` blocks; the last is after `max`.
pub fn interims(max: usize) -> Vec<Interim> {
    // From the end, so that no analysis has a part too small to be of use.
    let mut interims = Vec::new();
    let mut blocks = max;
    while blocks > 0 {
        let fewer = ((blocks as f64 / GROWTH).round() as usize).min(blocks - 1);
        let before = if fewer >= BLOCKS_MIN { fewer } else { 0 };
        interims.push(Interim { blocks, share: (blocks - before) as f64 / max as f64 });
        blocks = before;
    }
    interims.reverse();
    interims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} and {b}");
    }

    #[test]
    fn interims_share_the_error_and_end_with_the_last() {
        let blocks = |max| interims(max).iter().map(|interim| interim.blocks).collect::<Vec<_>>();
        assert_eq!(blocks(6), [4, 5, 6]);
        assert_eq!(blocks(100), [4, 5, 7, 9, 12, 16, 21, 27, 35, 45, 59, 77, 100]);
        assert_eq!((blocks(2), blocks(0)), (vec![2], vec![]));
        for max in 1..600 {
            let interims = interims(max);
            near(interims.iter().map(|interim| interim.share).sum::<f64>(), 1.0, 1e-12);
            assert!(interims.windows(2).all(|w| w[0].blocks < w[1].blocks), "{interims:?}");
            assert_eq!(interims[0].blocks, if max < BLOCKS_MIN { max } else { BLOCKS_MIN });
        }
    }

    #[test]
    fn a_p_value_pays_for_its_interims() {
        let interim = Interim { blocks: 20, share: 0.25 };
        assert_eq!((interim.p(0.01), interim.p(0.5), interim.p(0.0)), (0.04, 1.0, P_MIN));
    }
}

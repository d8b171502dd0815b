//! How a comparison is planned: its sides, its blocks of runs, and how certain it must be.

use super::outcome::Outcome;
use super::sequential::{BLOCKS_MIN, Look, looks};
use diskspd::request::Line;
use truespd_core::fault::{Failure, FailureKind, Refusal};
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::Document;
use truespd_core::result::metrics::NoFigure;

use crate::suite::{Ahead, Ended, Known};
use std::time::Duration;
pub use truespd_core::result::metrics::Metric;
use truespd_core::text::precise;

/// Runs of a block.
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
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// `A` or `B`.
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
    /// What to compare.
    pub metric: Metric,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// The probability with which variants that are the same may be called different.
    pub significance: f64,
    /// Blocks at most.
    pub blocks_max: usize,
    /// Time at most, for the blocks; see [`Plan::fitted`].
    pub time_max: Duration,
    /// What one run takes, in seconds.
    pub run_s: f64,
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
        ahead.seconds += uncounted as f64 * self.run_seconds();
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
        let minutes = |seconds: f64| precise((seconds / 6.0).ceil() / 10.0);
        let message = format!(
            "--max-minutes {} is too short: a block of four runs of {} s takes {} minutes, and at least {least} blocks are needed",
            precise(self.time_max.as_secs_f64() / 60.0),
            precise(self.run_s),
            minutes(self.block_seconds()),
        );
        let needed = (self.block_seconds() * least as f64 / 60.0).ceil();
        let hint =
            format!("use --max-minutes {needed:.0}, or shorter runs (--seconds, or -d in --a and --b)");
        Err(Refusal::command_line(message).hint(hint))
    }

    /// The least number of blocks for an answer; with fewer planned, there is one look, after the last.
    pub(super) fn least(&self) -> usize {
        BLOCKS_MIN.min(self.blocks_max)
    }

    pub(super) fn block_seconds(&self) -> f64 {
        BLOCK_RUNS as f64 * self.run_seconds()
    }

    pub(super) fn run_seconds(&self) -> f64 {
        self.run_s + AROUND_A_RUN_S
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
        Ahead { steps, seconds: steps as f64 * self.run_seconds(), known: Known::AtMost }
    }
}

/// When to stop, decided before the first run.
pub(super) struct Design {
    pub(super) margin: f64,
    pub(super) significance: f64,
    pub(super) looks: Vec<Look>,
}

/// What the blocks so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    pub(super) look: Look,
    pub(super) estimate: Estimate,
    /// The interval that decides: at 95 % for [`Outcome::Equivalent`], else at the confidence that the
    /// significance asks for. So an interval without 0 and "undecided" never stand together.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) confidence: f64,
    pub(super) outcome: Outcome,
}

impl Design {
    pub(super) fn of(plan: &Plan) -> Self {
        Design {
            margin: (plan.margin_percent / 100.0).ln_1p(),
            significance: plan.significance,
            looks: looks(plan.blocks_max),
        }
    }

    /// The latest look that the blocks allow; `None` before the first. Blocks after it do not count.
    pub(super) fn view(&self, log_ratios: &[f64]) -> Option<View> {
        let at = self.looks.partition_point(|look| look.blocks <= log_ratios.len()).checked_sub(1)?;
        let look = self.looks[at];
        let estimate = Estimate::of(&log_ratios[..look.blocks])?;
        let interval = |confidence: f64| {
            let (low, high) = estimate.interval((1.0 - confidence) * look.share);
            (low.max(-LOG_RATIO_MAX), high.min(LOG_RATIO_MAX))
        };
        let (low, high) = interval(EQUIVALENCE_CONFIDENCE);
        if -self.margin <= low && high <= self.margin {
            let (confidence, outcome) = (EQUIVALENCE_CONFIDENCE, Outcome::Equivalent);
            return Some(View { look, estimate, low, high, confidence, outcome });
        }
        let confidence = 1.0 - self.significance;
        let (low, high) = interval(confidence);
        let outcome = if look.p(estimate.level()) < self.significance {
            Outcome::Different
        } else {
            Outcome::Undecided
        };
        Some(View { look, estimate, low, high, confidence, outcome })
    }

    /// Whether there is a look right now.
    pub(super) fn is_look(&self, blocks: usize) -> bool {
        self.looks.iter().any(|look| look.blocks == blocks)
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
    let mean = |x: [f64; 2]| (x[0].ln() + x[1].ln()) / 2.0;
    mean(b) - mean(a)
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

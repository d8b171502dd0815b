//! What a comparison leaves.

use super::design::{Outcome, Side};
use crate::answer::SeriesVerdict;
use crate::ask::{Common, Spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::metrics::{Better, Metric};
use truespd_core::result::{Grade, Part};

/// A comparison of two variants of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct Comparison {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
    /// Host name.
    pub computer_name: String,
    /// Begin of the first run, seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
    /// What was compared.
    pub metric: Metric,
    /// Latencies are response times: they count from when the rate (-g) wanted the I/O. Of one variant at least.
    #[serde(default)]
    pub is_response: bool,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// The probability with which variants that are the same may be called different.
    pub significance: f64,
    /// Blocks at most, as planned before the first.
    pub blocks_max: usize,
    /// The first variant.
    pub a: Variant,
    /// The second variant.
    pub b: Variant,
    /// Every block.
    pub blocks: Vec<Block>,
    /// Blocks that do not count, since a run of them completed no I/O.
    #[serde(default)]
    pub empty_blocks: usize,
    /// The difference; none with too few blocks.
    pub effect: Option<Effect>,
    /// What is decided.
    pub outcome: Outcome,
    /// What ended the series.
    pub stopped: Stopped,
    /// What the verdicts of all runs that count say; those of A and B by these names.
    pub verdict: SeriesVerdict,
    /// What the person should know of the comparison, one sentence each.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// What was compared, for people, in the middle of a sentence.
    pub fn what(&self) -> &'static str {
        self.metric.words(self.is_response)
    }

    /// The medians of A and B, by these names.
    pub(in crate::ask) fn parts_of(&self, names: [&str; 2]) -> Vec<Part> {
        let mut parts = Vec::new();
        for (name, variant) in names.into_iter().zip([&self.a, &self.b]) {
            let (runs, median) = (
                variant.figures.map_or(0, |spread| spread.count),
                variant.figures.map(|spread| spread.median),
            );
            let part = Part::of(name, variant.profile.as_deref(), &variant.words, [(self.metric, median)]);
            parts.extend(part.map(|part| part.at("variant", name).of_runs(runs, Some(variant.grade))));
        }
        parts
    }

    /// Whether B is better than A; none when no difference is shown.
    pub fn is_b_better(&self) -> Option<bool> {
        match self.effect {
            Some(effect) if self.outcome == Outcome::Different => Some(self.is_better(&effect)),
            _ => None,
        }
    }

    pub(super) fn is_better(&self, effect: &Effect) -> bool {
        (effect.ratio > 1.0) == (self.metric.better() == Better::Higher)
    }
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Words of its command line.
    pub words: Vec<String>,
    /// Hash of the profile of its runs, by which the history knows the same test; none in documents from
    /// before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The figure in its runs, the first one not counted.
    pub figures: Option<Spread>,
    /// The worst verdict of its runs.
    pub grade: Grade,
    /// Runs whose verdict is invalid.
    pub invalid_runs: usize,
    /// Mean rate of the disks below during its runs, in I/Os per second, as the kernel counted it: of all programs.
    pub disk_iops: Option<f64>,
}

/// Four runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Whose turn it was.
    pub order: Vec<Side>,
    /// The figures of A.
    pub a: [f64; 2],
    /// The figures of B.
    pub b: [f64; 2],
    /// Natural logarithm of B / A.
    pub log_ratio: f64,
}

/// How B differs from A. The interval holds although the series was looked at again and again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// B / A: a mean of the blocks without their outer fifths.
    pub ratio: f64,
    /// Where it lies.
    pub ratio_low: f64,
    /// Where it lies.
    pub ratio_high: f64,
    /// B - A, on top of the median of A, in the unit of the figure.
    pub difference: f64,
    /// Where it lies.
    pub difference_low: f64,
    /// Where it lies.
    pub difference_high: f64,
    /// Confidence of both intervals: 0.95 where the outcome is `equivalent`, else 1 - significance.
    pub confidence: f64,
    /// Probability of such a difference between variants that are the same, also when one looks repeatedly;
    /// smaller ones than 0.000001 are told as that.
    pub p: f64,
    /// Blocks it rests on.
    pub blocks: usize,
}

/// What ended the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// It was decided.
    Decided,
    /// All blocks were done.
    Blocks,
    /// The time was over.
    Time,
    /// The person.
    Person,
    /// A run that failed.
    Failure,
}

impl Effect {
    pub fn confidence_percent(&self) -> String {
        // Without what is left of the subtraction.
        format!("{} %", (self.confidence * 1e6).round() / 1e4)
    }
}

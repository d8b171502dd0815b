//! What is asked, and of what.

use super::gate::Gate;
use truespd_core::result::Document;
use truespd_core::result::metrics::Metric;

/// A document and what it is called in messages: the path of its file as typed.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The result of a run.
    pub document: Document,
}

/// What is asked of two groups.
#[derive(Debug, Clone)]
pub struct Question {
    /// What the decision rests on first; empty for those of the gates, or else IOPS.
    pub headline: Vec<Metric>,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// By how much the means of equal runs may differ, in percent, where one run on each side cannot show it.
    pub between_runs_percent: f64,
    /// What must not be.
    pub gates: Vec<Gate>,
    /// A gate fails also where it cannot be excluded that it has to.
    pub is_strict: bool,
    /// The time span to compare, from 1; `None` where documents have one.
    pub time_span: Option<usize>,
    /// Whether profiles may differ.
    pub may_differ_in_profile: bool,
    /// Whether targets may differ.
    pub may_differ_in_target: bool,
}

impl Question {
    /// Up to so many percent, a difference does not matter, unless told otherwise.
    pub const MARGIN_PERCENT: f64 = 2.0;
    /// By so many percent, the means of equal runs may differ, unless told otherwise.
    pub const BETWEEN_RUNS_PERCENT: f64 = 2.0;
}

impl Default for Question {
    /// Whether IOPS differ, of runs of one profile on one target.
    fn default() -> Self {
        Question {
            headline: Vec::new(),
            margin_percent: Self::MARGIN_PERCENT,
            between_runs_percent: Self::BETWEEN_RUNS_PERCENT,
            gates: Vec::new(),
            is_strict: false,
            time_span: None,
            may_differ_in_profile: false,
            may_differ_in_target: false,
        }
    }
}

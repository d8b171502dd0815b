//! How sure a difference is: over the runs where a side has several, else over the course of each run.

use super::question::Named;
use truespd_core::measure::blocks::{Course, INTERVALS_MIN};
use truespd_core::measure::estimate::{Estimate, student_quantile};
use truespd_core::result::metrics;
use truespd_core::result::metrics::{Metric, NoFigure};

/// Intervals of single runs are longer by this part of what the halves of a run differ by: a step or a drift that comes
/// at another time in the other run moves the means apart by about so much.
const WANDERS: f64 = 1.0;
/// Ends of intervals, as logarithms, lie within this, so that percentages stay numbers.
const LOG_MAX: f64 = 20.0;

/// ln(B / A).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    /// Where it lies, as far as chance within what was seen goes.
    pub estimate: Estimate,
    /// What it may be off by beyond that, as a logarithm.
    pub allowance: f64,
}

impl Gap {
    /// Where it lies with confidence 1 - `level`.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = self.estimate.error * student_quantile(level, self.estimate.freedom) + self.allowance;
        let mean = self.estimate.mean;
        ((mean - half).max(-LOG_MAX), (mean + half).min(LOG_MAX))
    }

    /// The smallest level at which the interval is without 0.
    pub fn level(&self) -> f64 {
        let beyond = (self.estimate.mean.abs() - self.allowance).max(0.0);
        Estimate { mean: beyond, ..self.estimate }.level()
    }
}

/// Why a difference cannot be tested.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Untested {
    /// No figure.
    #[error("{name}: {why}")]
    NoFigure {
        /// The run.
        name: String,
        /// Why it has none.
        why: NoFigure,
    },
    /// Response times here, latencies there.
    #[error("one side has response times (-g), the other latencies")]
    OtherClock,
    /// A percentile, a maximum, or processor time.
    #[error("one run on each side cannot tell: only several runs show how it scatters")]
    WholeRunsOnly,
    /// No `-D`.
    #[error("one run on each side cannot tell without intervals: add -D to the runs, or give several runs")]
    NoIntervals,
    /// As above.
    #[error(
        "response times (-g) cannot be tested from one run, which does not hold their course: give several runs"
    )]
    NoResponseIntervals,
    /// Too few intervals.
    #[error(
        "{name} has fewer than {INTERVALS_MIN} intervals: measure longer (-d), or use shorter intervals (-D100)"
    )]
    TooShort {
        /// The run.
        name: String,
    },
}

/// The figures of a side.
pub(super) fn figures(metric: Metric, side: &[Named]) -> Result<Vec<f64>, Untested> {
    let no_figure = |named: &Named| {
        let name = named.name.clone();
        move |why| Untested::NoFigure { name, why }
    };
    side.iter().map(|named| metric.of(&named.document).map_err(no_figure(named))).collect()
}

/// ln(B / A) of a metric. One run on each side cannot show that means of equal runs differ although each run
/// is steady: files lie elsewhere, threads start otherwise. Their interval is longer by `between_runs` at
/// both ends, a logarithm, and by what the rate wandered within a run.
pub(super) fn gap(metric: Metric, [a, b]: [&[Named]; 2], between_runs: f64) -> Result<Gap, Untested> {
    let logs = |side| Ok(figures(metric, side)?.into_iter().map(f64::ln).collect::<Vec<f64>>());
    let (logs_a, logs_b) = (logs(a)?, logs(b)?);
    let is_response = |named: &Named| metric.is_response(&named.document);
    let first = is_response(&a[0]);
    if a.iter().chain(b).any(|named| is_response(named) != first) {
        return Err(Untested::OtherClock);
    }
    if let ([one_a], [one_b]) = (a, b) {
        let (course_a, course_b) = (course(metric, one_a)?, course(metric, one_b)?);
        // The figures are those of the whole runs, which may be a little longer than their intervals.
        let estimate = Estimate { mean: logs_b[0] - logs_a[0], ..course_b.log_mean.less(course_a.log_mean) };
        let wanders = WANDERS * course_a.halves_differ.max(course_b.halves_differ);
        return Ok(Gap { estimate, allowance: between_runs + wanders });
    }
    let estimate = match (Estimate::of(&logs_a), Estimate::of(&logs_b)) {
        (Some(of_a), Some(of_b)) => of_b.less(of_a),
        (None, _) => Estimate { mean: -alone(logs_a[0], &logs_b).mean, ..alone(logs_a[0], &logs_b) },
        (_, None) => alone(logs_b[0], &logs_a),
    };
    Ok(Gap { estimate, allowance: 0.0 })
}

/// One number less the mean of several others, if it scatters as they do.
fn alone(one: f64, others: &[f64]) -> Estimate {
    let count = others.len() as f64;
    let mean = others.iter().sum::<f64>() / count;
    let variance = others.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Estimate { mean: one - mean, error: (variance * (1.0 + 1.0 / count)).sqrt(), freedom: count - 1.0 }
}

/// What the course of a run says of its mean.
fn course(metric: Metric, named: &Named) -> Result<Course, Untested> {
    let is_mean = [Metric::IOPS, Metric::BYTES, Metric::MEAN].contains(&metric);
    if !is_mean {
        return Err(Untested::WholeRunsOnly);
    }
    // Intervals count latencies from the issue of the I/O.
    if metric.is_response(&named.document) {
        return Err(Untested::NoResponseIntervals);
    }
    let parts = named.document.measured().next().and_then(|measured| metrics::parts(metric, measured));
    let parts = parts.ok_or(Untested::NoIntervals)?;
    Course::of(&parts).ok_or_else(|| Untested::TooShort { name: named.name.clone() })
}

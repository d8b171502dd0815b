//! All metrics of both sides: their values, and how sure a difference is. With several runs on a side that rests on how
//! the runs scatter, else on the course of each run.
//!
//! All intervals together hold with 95 % confidence (Bonferroni, with weights): the headline metrics share
//! one half of the 5 %, the other metrics the other half. So equal sides are called different in any metric
//! in 5 % of all comparisons at most, and the metric that one looks at first keeps its power.

use super::question::{Effect, MetricRow, Outcome};
use super::question::{Named, Question};
use truespd_core::measure::estimate::{Course, INTERVALS_MIN};
use truespd_core::measure::estimate::{Estimate, student_quantile};
use truespd_core::result::metrics;
use truespd_core::result::metrics::{Better, Metric};

/// The permitted error of all metrics together.
const LEVEL: f64 = 0.05;
/// Smallest p value that is told.
const P_MIN: f64 = 1e-6;
/// Logarithms that differ by less are the same but for rounding.
const SAME: f64 = 1e-9;
/// Intervals of single runs are longer by this part of what the halves of a run differ by: a step or a drift that comes
/// at another time in the other run moves the means apart by about so much.
const WANDERS: f64 = 1.0;
/// Ends of intervals, as logarithms, lie within this, so that percentages stay numbers.
const LOG_MAX: f64 = 20.0;

/// Compares all metrics. Nothing is called better or worse when a single run was disturbed.
pub(super) fn rows(question: &Question, sides: &[Vec<Named>; 2], is_disturbed: bool) -> Vec<MetricRow> {
    let groups = [sides[0].as_slice(), sides[1].as_slice()];
    let between_runs = (question.between_runs_percent / 100.0).ln_1p();
    let gaps: Vec<(Metric, Result<Gap, String>)> =
        Metric::all().map(|metric| (metric, gap(metric, groups, between_runs))).collect();
    let shares = Shares::new(&gaps, &headline(question));
    let margin = (question.margin_percent / 100.0).ln_1p();
    let mut rows = Vec::new();
    for (metric, gap) in gaps {
        let mut row = untested_row(metric, groups);
        match gap {
            Ok(gap) => test(&mut row, &gap, shares.of_metric(metric), margin),
            Err(why) => row.why_not = Some(why),
        }
        if is_disturbed && matches!(row.outcome, Outcome::Better | Outcome::Worse) {
            row.outcome = Outcome::Undecided;
        }
        if row.a.is_some() || row.b.is_some() {
            rows.push(row);
        }
    }
    rows
}

/// What was asked for, or what the gates are about, or IOPS.
pub(super) fn headline(question: &Question) -> Vec<Metric> {
    let mut headline: Vec<Metric> = Vec::new();
    for metric in question.headline.iter().copied().chain(question.gates.iter().map(|gate| gate.metric)) {
        if !headline.contains(&metric) {
            headline.push(metric);
        }
    }
    if headline.is_empty() { vec![Metric::IOPS] } else { headline }
}

/// The part of the permitted error that each metric may spend.
struct Shares {
    headline: Vec<Metric>,
    of_headline: f64,
    of_others: f64,
    /// All I/Os have one size: throughput is another word for IOPS and costs no error of its own.
    bytes_are_ios: bool,
}

impl Shares {
    fn new(gaps: &[(Metric, Result<Gap, String>)], headline: &[Metric]) -> Self {
        let bytes_are_ios = match [Metric::IOPS, Metric::BYTES].map(|metric| estimate(gaps, metric)) {
            [Some(a), Some(b)] => (a.mean - b.mean).abs() < SAME && (a.error - b.error).abs() < SAME,
            _ => false,
        };
        let mut shares = Shares { headline: Vec::new(), of_headline: 0.0, of_others: 0.0, bytes_are_ios };
        shares.headline = headline.iter().map(|metric| shares.tested_as(*metric)).collect();
        let (mut first, mut others) = (0u32, 0u32);
        for (metric, gap) in gaps {
            if gap.is_err() || shares.tested_as(*metric) != *metric {
                continue;
            }
            if shares.headline.contains(metric) { first += 1 } else { others += 1 }
        }
        let half = if first == 0 || others == 0 { 1.0 } else { 0.5 };
        shares.of_headline = half / f64::from(first.max(1));
        shares.of_others = half / f64::from(others.max(1));
        shares
    }

    /// The metric whose test this one's is.
    fn tested_as(&self, metric: Metric) -> Metric {
        if self.bytes_are_ios && metric == Metric::BYTES { Metric::IOPS } else { metric }
    }

    fn of_metric(&self, metric: Metric) -> f64 {
        if self.headline.contains(&self.tested_as(metric)) { self.of_headline } else { self.of_others }
    }
}

fn estimate(gaps: &[(Metric, Result<Gap, String>)], wanted: Metric) -> Option<Estimate> {
    let (_, gap) = gaps.iter().find(|(metric, _)| *metric == wanted)?;
    Some(gap.as_ref().ok()?.estimate)
}

fn untested_row(metric: Metric, groups: [&[Named]; 2]) -> MetricRow {
    let [a, b] = groups.map(|side| value(metric, side));
    MetricRow {
        metric,
        unit: metric.unit(),
        better: metric.better(),
        is_response: groups.iter().any(|side| side.iter().any(|named| metric.is_response(&named.document))),
        a,
        b,
        percent: a.zip(b).map(|(a, b)| (b / a - 1.0) * 100.0),
        effect: None,
        outcome: Outcome::NotTested,
        why_not: None,
    }
}

/// The value of a side: of several runs the geometric mean.
fn value(metric: Metric, side: &[Named]) -> Option<f64> {
    let figures = figures(metric, side).ok()?;
    let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
    Some(Estimate::of(&logs).map_or(figures[0], |of| of.mean.exp()))
}

/// Adds how sure the difference is.
fn test(row: &mut MetricRow, gap: &Gap, share: f64, margin: f64) {
    let level = LEVEL * share;
    let (low, high) = gap.interval(level);
    row.percent = Some(percent(gap.estimate.mean));
    row.effect = Some(Effect {
        percent_low: percent(low),
        percent_high: percent(high),
        confidence: 1.0 - level,
        p: (gap.level() / share).clamp(P_MIN, 1.0),
    });
    row.outcome = match row.better {
        _ if -margin <= low && high <= margin => Outcome::NoDifference,
        Better::Higher if low > 0.0 => Outcome::Better,
        Better::Higher if high < 0.0 => Outcome::Worse,
        Better::Lower if high < 0.0 => Outcome::Better,
        Better::Lower if low > 0.0 => Outcome::Worse,
        _ => Outcome::Undecided,
    };
}

fn percent(log: f64) -> f64 {
    log.exp_m1() * 100.0
}

/// The difference as ln(B / A), so that B against A is the same with the other sign.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Gap {
    /// Where it lies, as far as chance within what was seen goes.
    estimate: Estimate,
    /// What it may be off by beyond that, as a logarithm.
    allowance: f64,
}

impl Gap {
    /// Where it lies with confidence 1 - `level`.
    fn interval(&self, level: f64) -> (f64, f64) {
        let half = self.estimate.error * student_quantile(level, self.estimate.freedom) + self.allowance;
        let mean = self.estimate.mean;
        ((mean - half).max(-LOG_MAX), (mean + half).min(LOG_MAX))
    }

    /// The smallest level at which the interval is without 0.
    fn level(&self) -> f64 {
        let beyond = (self.estimate.mean.abs() - self.allowance).max(0.0);
        Estimate { mean: beyond, ..self.estimate }.level()
    }
}

/// The figure of each run; or why a difference cannot be tested.
fn figures(metric: Metric, side: &[Named]) -> Result<Vec<f64>, String> {
    let mut all = Vec::new();
    for Named { name, document } in side {
        let figure = metric.of(document);
        all.push(figure.map_err(|why| format!("{name}: {why}"))?);
    }
    Ok(all)
}

/// ln(B / A) of a metric. One run on each side cannot show that means of equal runs differ although each run
/// is steady: files lie elsewhere, threads start otherwise. Their interval is longer by `between_runs` at
/// both ends, a logarithm, and by what the rate wandered within a run.
fn gap(metric: Metric, [a, b]: [&[Named]; 2], between_runs: f64) -> Result<Gap, String> {
    let logs_a: Vec<f64> = figures(metric, a)?.into_iter().map(f64::ln).collect();
    let logs_b: Vec<f64> = figures(metric, b)?.into_iter().map(f64::ln).collect();
    let is_response = metric.is_response(&a[0].document);
    if a.iter().chain(b).any(|named| metric.is_response(&named.document) != is_response) {
        return Err("one side has response times (-g), the other latencies".into());
    }
    if let ([one_a], [one_b]) = (a, b) {
        let (course_a, course_b) = (course_of_run(metric, one_a)?, course_of_run(metric, one_b)?);
        // The figures are those of the whole runs, which may be a little longer than their intervals.
        let estimate = Estimate { mean: logs_b[0] - logs_a[0], ..course_b.log_mean.less(course_a.log_mean) };
        let wanders = WANDERS * course_a.halves_differ.max(course_b.halves_differ);
        return Ok(Gap { estimate, allowance: between_runs + wanders });
    }
    let estimate = match (Estimate::of(&logs_a), Estimate::of(&logs_b)) {
        (Some(of_a), Some(of_b)) => of_b.less(of_a),
        (None, _) => {
            let a_less_b = one_less_others(logs_a[0], &logs_b);
            Estimate { mean: -a_less_b.mean, ..a_less_b }
        }
        (_, None) => one_less_others(logs_b[0], &logs_a),
    };
    Ok(Gap { estimate, allowance: 0.0 })
}

/// One number less the mean of several others, if it scatters as they do.
fn one_less_others(one: f64, others: &[f64]) -> Estimate {
    let count = others.len() as f64;
    let mean = others.iter().sum::<f64>() / count;
    let variance = others.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Estimate { mean: one - mean, error: (variance * (1.0 + 1.0 / count)).sqrt(), freedom: count - 1.0 }
}

/// What the course of a run says of its mean.
fn course_of_run(metric: Metric, named: &Named) -> Result<Course, String> {
    if ![Metric::IOPS, Metric::BYTES, Metric::MEAN].contains(&metric) {
        return Err("one run on each side cannot tell: only several runs show how it scatters".into());
    }
    // Intervals count latencies from the issue of the I/O.
    if metric.is_response(&named.document) {
        let why = "response times (-g) cannot be tested from one run, which does not hold their course: \
             give several runs";
        return Err(why.into());
    }
    let parts = named.document.measured().next().and_then(|measured| metrics::parts(metric, measured));
    let parts = parts.ok_or(
        "one run on each side cannot tell without intervals: add -D to the runs, or give several runs",
    )?;
    Course::of(&parts).ok_or_else(|| {
        format!(
            "{} has fewer than {INTERVALS_MIN} intervals: measure longer (-d), or use shorter intervals (-D100)",
            named.name
        )
    })
}

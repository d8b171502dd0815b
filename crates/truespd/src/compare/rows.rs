//! All metrics of both sides, and how the permitted error is shared among them.
//!
//! All intervals together hold with 95 % confidence (Bonferroni, with weights): the headline metrics share
//! one half of the 5 %, the other metrics the other half. So equal sides are called different in any metric
//! in 5 % of all comparisons at most, and the metric that one looks at first keeps its power.

use super::effect::{Gap, Untested, figures, gap};
use super::question::{Named, Question};
use super::report::{Effect, Kind, MetricRow, Outcome};
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::metrics::{Better, Metric};

/// The permitted error of all metrics together.
const LEVEL: f64 = 0.05;
/// Smallest p value that is told.
const P_MIN: f64 = 1e-6;
/// Logarithms that differ by less are the same but for rounding.
const SAME: f64 = 1e-9;

pub(super) struct Rows {
    pub kind: Kind,
    pub headline: Vec<Metric>,
    pub metrics: Vec<MetricRow>,
}

/// Compares all metrics. Nothing is called better or worse when a single run was disturbed.
pub(super) fn rows(question: &Question, sides: &[Vec<Named>; 2], is_disturbed: bool) -> Rows {
    let groups = [sides[0].as_slice(), sides[1].as_slice()];
    let between_runs = (question.between_runs_percent / 100.0).ln_1p();
    let gaps: Vec<(Metric, Result<Gap, Untested>)> =
        Metric::all().map(|metric| (metric, gap(metric, groups, between_runs))).collect();
    let headline = headline(question);
    let shares = Shares::of(&gaps, &headline);
    let margin = (question.margin_percent / 100.0).ln_1p();
    let row = |(metric, gap): &(Metric, Result<Gap, Untested>)| {
        let mut row = row(*metric, groups);
        match gap {
            Ok(gap) => test(&mut row, gap, shares.of_metric(*metric), margin),
            Err(why) => row.why_not = Some(why.to_string()),
        }
        if is_disturbed && matches!(row.outcome, Outcome::Better | Outcome::Worse) {
            row.outcome = Outcome::Undecided;
        }
        row
    };
    let has_values = |row: &MetricRow| row.a.is_some() || row.b.is_some();
    let metrics = gaps.iter().map(row).filter(has_values).collect();
    Rows { kind: kind(sides), headline, metrics }
}

fn kind(sides: &[Vec<Named>; 2]) -> Kind {
    match sides.each_ref().map(Vec::len) {
        [1, 1] => Kind::OneRunEach,
        [1, _] | [_, 1] => Kind::OneRunAndSeveral,
        _ => Kind::SeveralRuns,
    }
}

/// What was asked for, or what the gates are about, or IOPS.
fn headline(question: &Question) -> Vec<Metric> {
    let asked = question.headline.iter().copied();
    let of_gates = question.gates.iter().map(|gate| gate.metric);
    let mut headline: Vec<Metric> = Vec::new();
    for metric in asked.chain(of_gates) {
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
    fn of(gaps: &[(Metric, Result<Gap, Untested>)], headline: &[Metric]) -> Self {
        let mean = |wanted: Metric| {
            let found = gaps.iter().find(|(metric, _)| *metric == wanted);
            found.and_then(|(_, gap)| gap.as_ref().ok()).map(|gap| gap.estimate)
        };
        let is_same =
            |a: Estimate, b: Estimate| (a.mean - b.mean).abs() < SAME && (a.error - b.error).abs() < SAME;
        let bytes_are_ios = mean(Metric::IOPS).zip(mean(Metric::BYTES)).is_some_and(|(a, b)| is_same(a, b));
        let mut shares = Shares { headline: Vec::new(), of_headline: 0.0, of_others: 0.0, bytes_are_ios };
        for metric in headline {
            let named = shares.named(*metric);
            if !shares.headline.contains(&named) {
                shares.headline.push(named);
            }
        }
        let tested = gaps.iter().filter(|(_, gap)| gap.is_ok()).map(|(metric, _)| *metric);
        let tested = tested.filter(|&metric| shares.named(metric) == metric);
        let (first, others): (Vec<Metric>, Vec<Metric>) =
            tested.partition(|metric| shares.headline.contains(metric));
        let half = if first.is_empty() || others.is_empty() { 1.0 } else { 0.5 };
        shares.of_headline = half / first.len().max(1) as f64;
        shares.of_others = half / others.len().max(1) as f64;
        shares
    }

    /// The metric whose test this one's is.
    fn named(&self, metric: Metric) -> Metric {
        if self.bytes_are_ios && metric == Metric::BYTES { Metric::IOPS } else { metric }
    }

    fn of_metric(&self, metric: Metric) -> f64 {
        if self.headline.contains(&self.named(metric)) { self.of_headline } else { self.of_others }
    }
}

/// The values of a metric, not tested yet.
fn row(metric: Metric, groups: [&[Named]; 2]) -> MetricRow {
    let value = |side: &[Named]| {
        let figures = figures(metric, side).ok()?;
        let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
        Some(Estimate::of(&logs).map_or(figures[0], |of| of.mean.exp()))
    };
    let [a, b] = groups.map(value);
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

/// Adds how sure the difference is.
fn test(row: &mut MetricRow, gap: &Gap, share: f64, margin: f64) {
    let level = LEVEL * share;
    let (low, high) = gap.interval(level);
    let percent = |log: f64| log.exp_m1() * 100.0;
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

//! The words of a comparison that all its forms share: text, Markdown, a page.

use super::report::{Comparison, GateResult, Held, Kind, MetricRow, Outcome};
use truespd_core::result::metrics::Metric;
use truespd_core::text::printable;

/// An interval whose ends are this far apart, as a ratio, tells nothing.
const WIDEST: f64 = 100.0;
/// What stands for a value that there is none of.
const NONE: &str = "-";

/// A metric of both sides as it stands in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// Its name on command lines.
    pub name: &'static str,
    /// Its value of A with the unit, of several runs the middle.
    pub a: String,
    /// The same of B.
    pub b: String,
    /// B - A in percent of A: `+5.4 %`.
    pub percent: String,
    /// The interval of that: `-3.1 to +7.7 %`.
    pub interval: String,
    /// The p value.
    pub p: String,
    /// What B is: `better`.
    pub word: String,
}

impl Cells {
    /// Of a row.
    pub fn of(row: &MetricRow) -> Self {
        let value = |value: Option<f64>| value.map_or(NONE.to_string(), |value| row.metric.show(value));
        let (interval, p) = match &row.effect {
            Some(effect) => (interval(effect.percent_low, effect.percent_high), p_words(effect.p)),
            None => (NONE.into(), NONE.into()),
        };
        Cells {
            name: row.metric.name(),
            a: value(row.a),
            b: value(row.b),
            percent: row.percent.map_or(NONE.to_string(), percent),
            interval,
            p,
            word: word(row),
        }
    }
}

/// What B is, short.
fn word(row: &MetricRow) -> String {
    match (row.outcome, row.effect) {
        (Outcome::NoDifference, Some(effect)) => {
            format!("within {}", bound(effect.percent_low, effect.percent_high))
        }
        (outcome, _) => outcome.word().into(),
    }
}

/// The larger end of an interval, rounded up.
fn bound(low: f64, high: f64) -> String {
    format!("{:.1}%", (low.abs().max(high.abs()) * 10.0).ceil() / 10.0)
}

/// `+5.4 %`, `-0.31 %`
fn percent(value: f64) -> String {
    match value.abs() {
        huge if huge >= 1000.0 => format!("x {:.0}", value / 100.0 + 1.0),
        small if small < 0.005 => "0 %".into(),
        small if small < 1.0 => format!("{value:+.2} %"),
        _ => format!("{value:+.1} %"),
    }
}

/// `-3.1 to +7.7 %`
fn interval(low: f64, high: f64) -> String {
    if is_too_wide(low, high) {
        return "too wide".into();
    }
    format!("{low:+.1} to {high:+.1} %")
}

/// Whether an interval tells nothing; both ends in percent.
pub fn is_too_wide(low: f64, high: f64) -> bool {
    (high + 100.0) > WIDEST * (low + 100.0)
}

fn p_words(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// What the words and the interval mean, and what could not be tested; `name` is what a metric is called, of
/// latencies or of response times.
pub fn legend(comparison: &Comparison, name: impl Fn(Metric, bool) -> &'static str) -> Vec<String> {
    let is_response = comparison.metrics.iter().any(|row| row.is_response);
    let name = |metric: Metric| name(metric, is_response);
    let mut words = Vec::new();
    let over = match comparison.kind {
        Kind::OneRunEach => "the course of each run",
        Kind::OneRunAndSeveral | Kind::SeveralRuns => "the differences between runs",
    };
    let headline: Vec<&str> = comparison.headline.iter().map(|metric| name(*metric)).collect();
    words.push(format!(
        "All intervals together hold with a probability of 95 %. Half of the 5 % in which one may be wrong is for {}, the other \
         half for the other metrics. They rest on {over}.",
        headline.join(", ")
    ));
    if comparison.metrics.iter().any(|row| row.outcome == Outcome::NoDifference) {
        words.push(format!(
            "within x%: the difference is not larger than x %; differences up to {} % do not matter (--margin).",
            comparison.margin_percent
        ));
    }
    if is_response {
        words.push("Latencies are response times: they begin when the rate (-g) scheduled the I/O.".into());
    }
    let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &comparison.metrics {
        let Some(why) = row.why_not.as_deref() else { continue };
        match whys.iter_mut().find(|(other, _)| *other == why) {
            Some((_, names)) => names.push(name(row.metric)),
            None => whys.push((why, vec![name(row.metric)])),
        }
    }
    words.extend(
        whys.iter().map(|(why, names)| format!("not tested: {}: {}.", names.join(", "), printable(why))),
    );
    words
}

/// `passed: the difference is within -1.0 to +2.0 %`
pub(super) fn gate_words(gate: &GateResult) -> String {
    let word = match (gate.has_failed, gate.held) {
        (true, _) => "failed",
        (false, Held::Kept) => "passed",
        (false, Held::NotTested) => "not tested",
        (false, _) => "passed for lack of proof",
    };
    format!("{word}: {}", gate.why)
}

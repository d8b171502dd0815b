//! A comparison as people read it, in 80 columns.

use super::report::{Comparison, GateResult, Held, Kind, MetricRow, Outcome, Run, Side};
use crate::result::Grade;
use crate::text::{hanging, printable};

const COLUMNS: usize = 80;
/// Runs that are named, at most.
const RUNS_NAMED: usize = 4;
/// An interval whose ends are this far apart, as a ratio, tells nothing.
const WIDEST: f64 = 100.0;

/// Both sides, the table of metrics, what it means, what else differs, gates, what to know.
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    out.push_str(&side("A", &comparison.a));
    out.push_str(&side("B", &comparison.b));
    out.push_str(&format!(
        "\n{:<8}{:>13}{:>13}{:>10}{:>18}{:>8}  {}\n",
        "metric", "A", "B", "B - A", "95 % interval", "p", "B is"
    ));
    for row in &comparison.metrics {
        out.push_str(&line(row));
    }
    out.push('\n');
    for words in legend(comparison) {
        out.push_str(&hanging("", &words, COLUMNS));
    }
    if !comparison.differences.is_empty() {
        out.push_str("\nwhat else differs (A and B), likely causes first:\n");
        for difference in &comparison.differences {
            let area = difference.area.word();
            let lead = if area == difference.name { "  ".to_string() } else { format!("  {area}: ") };
            out.push_str(&hanging(&lead, &printable(&difference.sentence()), COLUMNS));
        }
    }
    if !comparison.gates.is_empty() {
        out.push('\n');
        for gate in &comparison.gates {
            out.push_str(&hanging(&format!("gate {}: ", gate.gate), &gate_words(gate), COLUMNS));
        }
    }
    if !comparison.remarks.is_empty() {
        out.push('\n');
    }
    for remark in &comparison.remarks {
        out.push_str(&hanging("note: ", &printable(remark), COLUMNS));
    }
    out
}

/// `A: before.json: suspect (working-set)`
fn side(name: &str, side: &Side) -> String {
    if let [run] = side.runs.as_slice() {
        return hanging(&format!("{name}: "), &run_words(run), COLUMNS);
    }
    let count = |grade: Grade| side.runs.iter().filter(|run| run.grade == grade).count();
    let grades = [Grade::Certified, Grade::Suspect, Grade::Invalid].map(|grade| (count(grade), grade));
    let grades = grades.iter().filter(|(count, _)| *count > 0);
    let grades: Vec<String> = grades.map(|(count, grade)| format!("{count} {}", grade.loud_word())).collect();
    let mut out =
        hanging(&format!("{name}: "), &format!("{} runs: {}", side.runs.len(), grades.join(", ")), COLUMNS);
    for run in side.runs.iter().take(RUNS_NAMED) {
        out.push_str(&hanging("   ", &run_words(run), COLUMNS));
    }
    if side.runs.len() > RUNS_NAMED {
        out.push_str(&format!("   and {} more\n", side.runs.len() - RUNS_NAMED));
    }
    out
}

fn run_words(run: &Run) -> String {
    let findings = match run.findings.as_slice() {
        [] => String::new(),
        rules => format!(" ({})", rules.join(", ")),
    };
    format!("{}: {}{findings}", printable(&run.name), run.grade.loud_word())
}

fn line(row: &MetricRow) -> String {
    let value = |value: Option<f64>| value.map_or("-".to_string(), |value| row.metric.show(value));
    let percent = row.percent.map_or("-".to_string(), percent);
    let (interval, p) = match &row.effect {
        Some(effect) => (interval(effect.percent_low, effect.percent_high), p_words(effect.p)),
        None => ("-".into(), "-".into()),
    };
    let line = format!(
        "{:<8}{:>13}{:>13}{percent:>10}{interval:>18}{p:>8}  {}",
        row.metric.name(),
        value(row.a),
        value(row.b),
        word(row)
    );
    format!("{}\n", line.trim_end())
}

/// What B is, short.
pub(super) fn word(row: &MetricRow) -> String {
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
pub(super) fn percent(value: f64) -> String {
    match value.abs() {
        huge if huge >= 1000.0 => format!("x {:.0}", value / 100.0 + 1.0),
        small if small < 0.005 => "0 %".into(),
        small if small < 1.0 => format!("{value:+.2} %"),
        _ => format!("{value:+.1} %"),
    }
}

/// `-3.1 to +7.7 %`
pub(super) fn interval(low: f64, high: f64) -> String {
    if (high + 100.0) > WIDEST * (low + 100.0) {
        return "too wide".into();
    }
    format!("{low:+.1} to {high:+.1} %")
}

pub(super) fn p_words(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// What the words and the interval mean, and what could not be tested.
pub(super) fn legend(comparison: &Comparison) -> Vec<String> {
    let mut words = Vec::new();
    let over = match comparison.kind {
        Kind::OneRunEach => "the course of each run",
        Kind::OneRunAndSeveral | Kind::SeveralRuns => "the differences between runs",
    };
    let headline: Vec<&str> = comparison.headline.iter().map(|metric| metric.name()).collect();
    words.push(format!(
        "All intervals together hold with a probability of 95 %; half of the rest is for {}. They rest on {over}.",
        headline.join(", ")
    ));
    if comparison.metrics.iter().any(|row| row.outcome == Outcome::NoDifference) {
        words.push(format!(
            "within x%: there is no difference larger than x %, and up to {} % does not matter (--margin).",
            comparison.margin_percent
        ));
    }
    if comparison.metrics.iter().any(|row| row.is_response) {
        words.push("Latencies are response times: they count from when the rate (-g) wanted the I/O.".into());
    }
    let mut whys: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &comparison.metrics {
        let Some(why) = row.why_not.as_deref() else { continue };
        match whys.iter_mut().find(|(other, _)| *other == why) {
            Some((_, names)) => names.push(row.metric.name()),
            None => whys.push((why, vec![row.metric.name()])),
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
        (false, _) => "passed, not excluded",
    };
    format!("{word}: {}", gate.why)
}

//! A comparison for people and for CI: text of 80 columns, Markdown, JUnit XML; and the words that these and the page
//! share.

use std::fmt::Display;

use super::question::{Comparison, GateResult, Held, Kind, MetricRow, Outcome, Run, Side};
use crate::ask::ab::is_of_use;
use truespd_core::profile::xml::Writer;
use truespd_core::result::Grade;
use truespd_core::result::metrics::Metric;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{hanging, printable};

/// What stands for a value that there is none of.
const NONE: &str = "-";
const COLUMNS: usize = 80;
/// Runs that are named, at most.
const RUNS_NAMED: usize = 4;

/// A metric of both sides as it stands in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// Name of the metric on command lines.
    pub name: &'static str,
    /// Its value of A with the unit, of several runs the middle.
    pub a: String,
    pub b: String,
    /// B - A in percent of A: `+5.4 %`.
    pub percent: String,
    /// The interval of that: `-3.1 to +7.7 %`.
    pub interval: String,
    /// The p value, `<0.001` below that.
    pub p: String,
    pub word: String,
}

impl From<&MetricRow> for Cells {
    fn from(row: &MetricRow) -> Self {
        let [a, b] = [row.a, row.b].map(|value| value.map_or(NONE.into(), |value| row.metric.show(value)));
        let mut cells = Cells {
            name: row.metric.name(),
            a,
            b,
            percent: row.percent.map_or(NONE.into(), percent),
            interval: NONE.into(),
            p: NONE.into(),
            word: row.outcome.word().into(),
        };
        if let Some(effect) = row.effect {
            let (low, high) = (effect.percent_low, effect.percent_high);
            if is_too_wide(low, high) {
                cells.interval = "too wide".into();
            } else {
                cells.interval = format!("{low:+.1} to {high:+.1} %");
            }
            cells.p = if effect.p < 0.001 { "<0.001".into() } else { format!("{:.3}", effect.p) };
            if row.outcome == Outcome::NoDifference {
                // The larger end, rounded up.
                cells.word = format!("within {:.1}%", (low.abs().max(high.abs()) * 10.0).ceil() / 10.0);
            }
        }
        cells
    }
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

/// Whether an interval tells nothing; both ends in percent.
pub fn is_too_wide(low: f64, high: f64) -> bool {
    !is_of_use(low + 100.0, high + 100.0)
}

/// What the words and the interval mean, and what could not be tested; `name` is what a metric is called, of
/// latencies or of response times.
pub fn legend(comparison: &Comparison, name: fn(Metric, bool) -> &'static str) -> Vec<String> {
    let is_response = comparison.metrics.iter().any(|row| row.is_response);
    let over = match comparison.kind {
        Kind::OneRunEach => "the course of each run",
        Kind::OneRunAndSeveral | Kind::SeveralRuns => "the differences between runs",
    };
    let headline: Vec<&str> = comparison.headline.iter().map(|metric| name(*metric, is_response)).collect();
    let mut words = vec![format!(
        "All intervals together hold with a probability of 95 %. Half of the 5 % in which one may be wrong is for \
         {}, the other half for the other metrics. They rest on {over}.",
        headline.join(", ")
    )];
    if comparison.metrics.iter().any(|row| row.outcome == Outcome::NoDifference) {
        words.push(format!(
            "within x%: the difference is not larger than x %; differences up to {} % do not matter (--margin).",
            comparison.margin_percent
        ));
    }
    if is_response {
        words.push("Latencies are response times: they begin when the rate (-g) scheduled the I/O.".into());
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &comparison.metrics {
        let Some(why) = row.why_not.as_deref() else { continue };
        let name = name(row.metric, is_response);
        match reasons.iter_mut().find(|(other, _)| *other == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    for (why, names) in reasons {
        words.push(format!("not tested: {}: {}.", names.join(", "), printable(why)));
    }
    words
}

/// `passed: the difference is within -1.0 to +2.0 %`
fn gate_words(gate: &GateResult) -> String {
    let word = match gate.held {
        _ if gate.has_failed => "failed",
        Held::Kept => "passed",
        Held::NotTested => "not tested",
        Held::Open | Held::Broken => "passed for lack of proof",
    };
    format!("{word}: {}", gate.why)
}

/// ` (working-set, too-short)`, behind the name of a run.
fn findings(run: &Run) -> String {
    if run.findings.is_empty() { String::new() } else { format!(" ({})", run.findings.join(", ")) }
}

/// Both sides, the table of metrics, what it means, what else differs, gates, what to know.
pub fn text(comparison: &Comparison) -> String {
    let mut out = text_of_side("A", &comparison.a) + &text_of_side("B", &comparison.b);
    let head = ["metric", "A", "B", "B - A", "95 % interval", "p", "B is"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for row in &comparison.metrics {
        let Cells { name, a, b, percent, interval, p, word } = Cells::from(row);
        rows.push(vec![name.to_string(), a, b, percent, interval, p, word]);
    }
    out += &format!("\n{}", aligned(rows, &[false, true, true, true, true, true, false]));
    out.push('\n');
    for words in legend(comparison, |metric, _| metric.name()) {
        out += &hanging("", &words, COLUMNS);
    }
    if !comparison.differences.is_empty() {
        out += "\nwhat else differs (A and B), likely causes first:\n";
    }
    for difference in &comparison.differences {
        let area = difference.area.word();
        let lead = if area == difference.name { "  ".to_string() } else { format!("  {area}: ") };
        out += &hanging(&lead, &printable(&difference.sentence()), COLUMNS);
    }
    if !comparison.gates.is_empty() {
        out.push('\n');
    }
    for gate in &comparison.gates {
        out += &hanging(&format!("gate {}: ", gate.gate), &gate_words(gate), COLUMNS);
    }
    if !comparison.remarks.is_empty() {
        out.push('\n');
    }
    for remark in &comparison.remarks {
        out += &hanging("note: ", &printable(remark), COLUMNS);
    }
    out
}

/// A line for a side of one run, such as `A: before.json: suspect (working-set)`, or one for each of the first runs.
fn text_of_side(name: &str, side: &Side) -> String {
    if let [run] = side.runs.as_slice() {
        return hanging(&format!("{name}: "), &text_of_run(run), COLUMNS);
    }
    let mut grades = Vec::new();
    for grade in [Grade::Certified, Grade::Suspect, Grade::Invalid] {
        let count = side.runs.iter().filter(|run| run.grade == grade).count();
        if count > 0 {
            grades.push(format!("{count} {}", grade.loud_word()));
        }
    }
    let words = format!("{} runs: {}", side.runs.len(), grades.join(", "));
    let mut out = hanging(&format!("{name}: "), &words, COLUMNS);
    for run in side.runs.iter().take(RUNS_NAMED) {
        out += &hanging("   ", &text_of_run(run), COLUMNS);
    }
    if side.runs.len() > RUNS_NAMED {
        out += &format!("   and {} more\n", side.runs.len() - RUNS_NAMED);
    }
    out
}

fn text_of_run(run: &Run) -> String {
    format!("{}: {}{}", printable(&run.name), run.grade.loud_word(), findings(run))
}

/// The same as the text, as tables for comments and reports of CI.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::from("## Comparison of results\n\n");
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        for run in &side.runs {
            let (grade, findings) = (run.grade.loud_word(), findings(run));
            out += &format!("- {name}: {}: {grade}{findings}\n", escaped(&run.name));
        }
    }
    out += "\n| metric | A | B | B - A | 95 % interval | p | B is |\n|---|---:|---:|---:|---:|---:|---|\n";
    for row in &comparison.metrics {
        let Cells { name, a, b, percent, interval, p, word } = Cells::from(row);
        let p = escaped(&p);
        out += &format!("| {name} | {a} | {b} | {percent} | {interval} | {p} | {word} |\n");
    }
    out.push('\n');
    for words in legend(comparison, |metric, _| metric.name()) {
        out += &format!("{}\n", escaped(&words));
    }
    if !comparison.differences.is_empty() {
        out += "\n### What else differs\n\n| what | A | B |\n|---|---|---|\n";
    }
    for difference in &comparison.differences {
        let cells = [difference.name.clone(), difference.a.join(", "), difference.b.join(", ")];
        out += &format!("| {} |\n", cells.map(|cell| escaped(&cell)).join(" | "));
    }
    if !comparison.gates.is_empty() {
        out += "\n### Gates\n\n";
    }
    for gate in &comparison.gates {
        out += &format!("- {}: {}\n", escaped(&gate.gate), escaped(&gate_words(gate)));
    }
    if !comparison.remarks.is_empty() {
        out += "\n### Notes\n\n";
    }
    for remark in &comparison.remarks {
        out += &format!("- {}\n", escaped(remark));
    }
    out
}

/// Text that Markdown takes as it is, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        if matches!(c, '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The gates as JUnit XML, which CI systems show. One that could not be tested and did not fail is skipped, and one
/// that passed for lack of proof says so.
pub fn junit(comparison: &Comparison) -> String {
    let gates = &comparison.gates;
    let failed = gates.iter().filter(|gate| gate.has_failed).count();
    let skipped = gates.iter().filter(|gate| is_skipped(gate)).count();
    let mut out = Writer::new(0);
    out.lines("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.open("testsuites", &[]);
    let suite: [(&str, &dyn Display); 6] = [
        ("name", &"truespd compare"),
        ("tests", &gates.len()),
        ("failures", &failed),
        ("errors", &0),
        ("skipped", &skipped),
        ("time", &0),
    ];
    out.open("testsuite", &suite);
    for gate in gates {
        let case: [(&str, &dyn Display); 3] =
            [("classname", &"truespd.compare"), ("name", &gate.gate), ("time", &0)];
        if gate.held == Held::Kept {
            out.empty("testcase", &case);
            continue;
        }
        out.open("testcase", &case);
        if gate.has_failed {
            out.leaf_with("failure", &[("message", &gate.why), ("type", &"gate")], &gate.why);
        } else if is_skipped(gate) {
            out.empty("skipped", &[("message", &gate.why)]);
        } else {
            out.leaf("system-out", gate_words(gate));
        }
        out.close("testcase");
    }
    out.close("testsuite");
    out.close("testsuites");
    out.finish()
}

fn is_skipped(gate: &GateResult) -> bool {
    gate.held == Held::NotTested && !gate.has_failed
}

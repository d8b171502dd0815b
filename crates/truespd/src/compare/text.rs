//! A comparison as people read it, in 80 columns.

use super::report::{Comparison, MetricRow, Run, Side};
use super::words::{Cells, gate_words, legend};
use truespd_core::result::Grade;
use truespd_core::text::{hanging, printable};

const COLUMNS: usize = 80;
/// Runs that are named, at most.
const RUNS_NAMED: usize = 4;

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
    for words in legend(comparison, |metric, _| metric.name()) {
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
    let Cells { name, a, b, percent, interval, p, word, .. } = Cells::of(row);
    let line = format!("{name:<8}{a:>13}{b:>13}{percent:>10}{interval:>18}{p:>8}  {word}");
    format!("{}\n", line.trim_end())
}

//! A comparison as Markdown, for comments and reports of CI.

use super::report::{Comparison, MetricRow, Side};
use super::words::{Cells, gate_words, legend};
use truespd_core::text::printable;

/// The same as the text, as tables.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::from("## Comparison of results\n\n");
    out.push_str(&side("A", &comparison.a));
    out.push_str(&side("B", &comparison.b));
    out.push_str(
        "\n| metric | A | B | B - A | 95 % interval | p | B is |\n|---|---:|---:|---:|---:|---:|---|\n",
    );
    comparison.metrics.iter().for_each(|row| out.push_str(&line(row)));
    out.push('\n');
    legend(comparison, |metric, _| metric.name())
        .iter()
        .for_each(|words| out.push_str(&format!("{}\n", escaped(words))));
    if !comparison.differences.is_empty() {
        out.push_str("\n### What else differs\n\n| what | A | B |\n|---|---|---|\n");
        for difference in &comparison.differences {
            let cells = [difference.name.clone(), difference.a.join(", "), difference.b.join(", ")];
            out.push_str(&format!("| {} |\n", cells.map(|cell| escaped(&cell)).join(" | ")));
        }
    }
    if !comparison.gates.is_empty() {
        out.push_str("\n### Gates\n\n");
        for gate in &comparison.gates {
            out.push_str(&format!("- {}: {}\n", escaped(&gate.gate), escaped(&gate_words(gate))));
        }
    }
    if !comparison.remarks.is_empty() {
        out.push_str("\n### Notes\n\n");
        comparison.remarks.iter().for_each(|remark| out.push_str(&format!("- {}\n", escaped(remark))));
    }
    out
}

fn side(name: &str, side: &Side) -> String {
    let mut out = String::new();
    for run in &side.runs {
        let findings = match run.findings.as_slice() {
            [] => String::new(),
            rules => format!(" ({})", rules.join(", ")),
        };
        out.push_str(&format!("- {name}: {}: {}{findings}\n", escaped(&run.name), run.grade.loud_word()));
    }
    out
}

fn line(row: &MetricRow) -> String {
    let Cells { name, a, b, percent, interval, p, word } = Cells::of(row);
    let cells = [name.to_string(), a, b, percent, interval, escaped(&p), word];
    format!("| {} |\n", cells.join(" | "))
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

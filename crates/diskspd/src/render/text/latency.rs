//! Latency distribution (`text-output.md` §10).

use super::OneLine;
use crate::render::tally::{Kind, Tally};
use truespd_core::measure::Histogram;
use truespd_core::result::{Measured, TargetResult};

/// Rows of a chart: label and share of the I/Os at or below the figure.
const ROWS: [(&str, f64); 15] = [
    ("min", 0.0),
    ("25th", 0.25),
    ("50th", 0.50),
    ("75th", 0.75),
    ("90th", 0.90),
    ("95th", 0.95),
    ("99th", 0.99),
    ("3-nines", 0.999),
    ("4-nines", 0.9999),
    ("5-nines", 0.99999),
    ("6-nines", 0.999999),
    ("7-nines", 0.9999999),
    ("8-nines", 0.99999999),
    ("9-nines", 0.999999999),
    ("max", 1.0),
];

/// A chart per path when there are several, in order of first appearance, then one over everything.
pub(super) fn charts(out: &mut String, measured: &Measured) {
    let mut paths: Vec<&str> = Vec::new();
    for target in measured.threads.iter().flat_map(|thread| &thread.targets) {
        if !paths.contains(&target.path.as_str()) {
            paths.push(&target.path);
        }
    }
    if paths.len() > 1 {
        for path in paths {
            line!(out);
            line!(out, "Latency distribution: {}", OneLine(path));
            chart(out, measured, |target| target.path == path);
        }
    }
    line!(out);
    line!(out, "Total latency distribution:");
    chart(out, measured, |_| true);
}

/// One chart over the targets that `wanted` picks.
fn chart(out: &mut String, measured: &Measured, wanted: impl Fn(&TargetResult) -> bool) {
    let [read, write, total] =
        [Kind::Read, Kind::Write, Kind::Total].map(|kind| Tally::of_targets(measured, kind, &wanted));
    line!(out, "  %-ile |  Read (ms) | Write (ms) | Total (ms)");
    line!(out, "{:-<46}", "");
    for (label, fraction) in ROWS {
        let cell = |tally: &Tally| tally.latency().map(|latency| milliseconds(latency, fraction));
        let not_available = || "N/A".to_string();
        let read = cell(&read).unwrap_or_else(not_available);
        let write = cell(&write).unwrap_or_else(not_available);
        let total = cell(&total).unwrap_or_else(|| "0.000".to_string());
        line!(out, "{label:>7} | {read:>10} | {write:>10} | {total:>10}");
    }
}

fn milliseconds(latency: &Histogram, fraction: f64) -> String {
    let latency_ns = match fraction {
        0.0 => latency.min_ns(),
        1.0 => latency.max_ns(),
        _ => latency.percentile_ns(fraction),
    };
    format!("{:.3}", latency_ns as f64 / 1e6)
}

//! What each host of a sum did. DiskSpd has no sums: this section is TrueSpd's own, so it stands behind everything that
//! DiskSpd prints, and its title says whose it is.

use super::{OneLine, shown};
use crate::render::tally::measured;
use truespd_core::profile::TimeSpan;
use truespd_core::result::Document;
use truespd_core::result::hosts::{HostFigure, HostRow, Outlier, ROWS_MAX, Spread, folded, outliers, rows};

/// Wider names push the figures of their row to the right.
const NAME_MAX: usize = 32;

/// A table for each time span that was measured, and what is missing.
pub(super) fn hosts(out: &mut String, document: &Document) {
    for (place, (span, result)) in document.profile.time_spans.iter().zip(&document.time_spans).enumerate() {
        if measured(result).is_some() {
            line!(out);
            line!(out);
            line!(out, "Hosts of timespan {} (TrueSpd):", place + 1);
            line!(out, "{:*<79}", "");
            line!(out);
            table(out, span, &rows(document, place));
        }
    }
    if !document.missing.is_empty() {
        line!(out);
    }
    for rank in document.missing.iter().take(ROWS_MAX) {
        line!(out, "missing: {}", OneLine(&rank.words()));
    }
    if document.missing.len() > ROWS_MAX {
        line!(out, "missing: {} more", document.missing.len() - ROWS_MAX);
    }
}

/// Whether tables of threads show their sum: threads of so many results fill pages, and each result has its row below.
pub(super) fn is_folded(document: &Document) -> bool {
    document.sources.len() > ROWS_MAX
}

fn table(out: &mut String, span: &TimeSpan, rows: &[HostRow]) {
    let folded = folded(rows);
    let names = folded.shown.iter().map(|&place| OneLine(&rows[place].name).to_string().chars().count());
    let width = names.max().unwrap_or(0).clamp(4, NAME_MAX);
    let latencies = if span.measure_latency { " |  AvgLat  | MedianLat |  99%-Lat " } else { "" };
    let header = format!(
        "{:width$} |       bytes     |     I/Os     |    MiB/s   |  I/O per s{latencies} | late (ms)",
        "host"
    );
    let border = "-".repeat(header.chars().count());
    line!(out, "{header}");
    line!(out, "{border}");
    for &place in &folded.shown {
        let row = &rows[place];
        let late = row.late_ns.map_or("N/A".to_string(), |ns| format!("{:.3}", ns as f64 / 1e6));
        let name = OneLine(&row.name).to_string();
        line!(
            out,
            "{name:width$} | {:15} | {:12} | {:10.2} | {:10.2}{} | {late:>9}",
            row.bytes,
            row.ios,
            shown(row.bytes_per_s / (1024.0 * 1024.0)),
            shown(row.iops),
            latency_cells(span, row)
        );
    }
    if let Some((count, [least, most])) = folded.left_out {
        line!(out, "... {count} more hosts between {:.2} and {:.2} I/O per s", shown(least), shown(most));
    }
    line!(out, "{border}");
    if let Some(spread) = Spread::of(rows.iter().map(|row| row.iops)) {
        let ratio = spread.ratio().map_or(String::new(), |ratio| format!(", largest/smallest {ratio:.2}"));
        line!(
            out,
            "I/O per s of {} results: smallest {:.2}, median {:.2}, largest {:.2}{ratio}",
            rows.len(),
            shown(spread.least),
            shown(spread.median),
            shown(spread.most)
        );
    }
    for outlier in outliers(rows).iter().take(ROWS_MAX) {
        line!(out, "{}", off(outlier, rows));
    }
}

/// Latencies in milliseconds, as in the tables above.
fn latency_cells(span: &TimeSpan, row: &HostRow) -> String {
    if !span.measure_latency {
        return String::new();
    }
    let ms = |ns: Option<f64>| ns.map_or("N/A".to_string(), |ns| format!("{:.3}", shown(ns / 1e6)));
    let times = row.latency.as_ref();
    let all = times.and_then(|times| times.all.as_ref());
    let mean = ms(times.map(|times| times.mean_ns));
    let (p50, p99) = (ms(all.map(|all| all.p50_ns as f64)), ms(all.map(|all| all.p99_ns as f64)));
    format!(" | {mean:>8} | {p50:>9} | {p99:>9}")
}

/// A host that stands off.
fn off(outlier: &Outlier, rows: &[HostRow]) -> String {
    let name = OneLine(&rows[outlier.row].name);
    let (value, median) = (shown(outlier.value), shown(outlier.median));
    match outlier.figure {
        HostFigure::Iops => {
            format!("far from the others: {name} with {value:.2} I/O per s (median {median:.2})")
        }
        HostFigure::Latency => format!(
            "far from the others: {name} with a mean latency of {:.3} ms (median {:.3} ms)",
            value / 1e6,
            median / 1e6
        ),
    }
}

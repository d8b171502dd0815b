//! Sections of TrueSpd's own, for what DiskSpd does not have: the sizes of a mix (`--mix`), flushes (`--flush-every`),
//! trims (`--trim`) and rounds (`--until-steady`).

use super::figures::{line, shown};
use super::layout::Layout;
use super::parameters::OneLine;
use truespd_core::profile::TimeSpan;
use truespd_core::result::{DirectionSummary, LatencySummary, Measured, Operations, SizeSummary, Summary};

const MIB: f64 = 1024.0 * 1024.0;

/// The columns behind size and direction.
const COLUMNS: [&str; 4] = ["     I/Os     ", "% of I/Os", "% of bytes", "   MiB/s   |  I/O per s "];
const LATENCY_COLUMNS: [&str; 6] =
    ["  AvgLat  ", "   50th   ", "   95th   ", "   99th   ", " 3-nines  ", "   max    "];

/// A table for each path with a mix: the sizes of all I/Os, and of reads and writes where there are both.
pub(super) fn sizes(out: &mut String, layout: Layout, span: &TimeSpan, measured: &Measured) {
    let paths = measured.paths();
    for path in &paths {
        let mut rows = Vec::new();
        for (name, operations) in
            [("total", Operations::All), ("read", Operations::Reads), ("write", Operations::Writes)]
        {
            let sum = measured.sum(operations, |target| target.path == *path);
            let sum = DirectionSummary::of(&sum, measured.test_time_s);
            rows.extend(sum.sizes.into_iter().filter(|size| size.ios > 0).map(|size| (name, size)));
        }
        let has_both = ["read", "write"].iter().all(|kind| rows.iter().any(|(name, _)| name == kind));
        if !has_both {
            // One direction is all there is.
            rows.retain(|(name, _)| *name == "total");
        }
        if rows.is_empty() {
            continue;
        }
        line!(out);
        let of = if paths.len() > 1 { format!(" of {}", OneLine(path)) } else { String::new() };
        line!(out, "I/O sizes{of} (TrueSpd), latencies in ms");
        table(out, layout, span.measure_latency, &rows);
    }
}

fn table(out: &mut String, layout: Layout, has_latencies: bool, rows: &[(&str, SizeSummary)]) {
    let mut header = format!("    size  |       |{}", COLUMNS.join("|"));
    if has_latencies {
        header = format!("{header}|{}", LATENCY_COLUMNS.join("|"));
    }
    line!(out, "{}", header.trim_end());
    line!(out, "{:-<width$}", "", width = header.trim_end().len());
    for (name, size) in rows {
        let mut cells = format!(
            "{:>9} | {name:<5} | {:12} | {:7.2} | {:8.2} | {:10.2} | {:10.2}",
            layout.size(size.block_bytes),
            size.ios,
            shown(size.ios_percent),
            shown(size.bytes_percent),
            shown(size.bytes_per_s / MIB),
            shown(size.iops)
        );
        if has_latencies {
            cells.push_str(&latencies(size.latency.as_ref()));
        }
        line!(out, "{cells}");
    }
}

/// The flushes of all targets; nothing without any.
pub(super) fn flushes(out: &mut String, span: &TimeSpan, measured: &Measured) {
    let Some(flush) = Summary::of(measured).flush else { return };
    line!(out);
    line!(out, "Flushes (TrueSpd), latencies in ms");
    let cells = format!("{:13} | {:10.2}", flush.ios, shown(flush.iops));
    row(out, span, "     count    | per second ", &cells, flush.latency.as_ref());
}

/// The trims of all targets; nothing without any.
pub(super) fn trims(out: &mut String, span: &TimeSpan, measured: &Measured) {
    let Some(trim) = Summary::of(measured).trim else { return };
    line!(out);
    line!(out, "Trims (TrueSpd), latencies in ms");
    let cells =
        format!("{:13} | {:10.2} | {:10.2}", trim.ios, shown(trim.iops), shown(trim.bytes_per_s / MIB));
    row(out, span, "     count    | per second |    MiB/s   ", &cells, trim.latency.as_ref());
}

/// A table of one row, with latencies behind it where they were measured.
fn row(out: &mut String, span: &TimeSpan, header: &str, cells: &str, latency: Option<&LatencySummary>) {
    let (mut header, mut cells) = (header.to_string(), cells.to_string());
    if span.measure_latency {
        header = format!("{header}|{}", LATENCY_COLUMNS.join("|"));
        cells.push_str(&latencies(latency));
    }
    line!(out, "{}", header.trim_end());
    line!(out, "{:-<width$}", "", width = header.trim_end().len());
    line!(out, "{cells}");
}

/// The rounds of `--until-steady`, those of the result marked; nothing without it.
pub(super) fn rounds(out: &mut String, measured: &Measured) {
    let Some(all) = &measured.rounds else { return };
    line!(out);
    line!(out, "Rounds of {} s (TrueSpd), those of the result marked *", all.round_s);
    let has_trims = all.rounds.iter().any(|round| round.trim_iops > 0.0);
    let trims = if has_trims { "  trim I/O per s |" } else { "" };
    let header = format!("  round |  read I/O per s | write I/O per s |{trims} mean latency in ms");
    line!(out, "{header}");
    line!(out, "{:-<width$}", "", width = header.len());
    for (number, round) in (1..).zip(&all.rounds) {
        let mark = if number > all.window_first { '*' } else { ' ' };
        let trims = if has_trims { format!("{:15.2} | ", shown(round.trim_iops)) } else { String::new() };
        line!(
            out,
            "{mark} {number:>5} | {:15.2} | {:15.2} | {trims}{:18.3}",
            shown(round.read_iops),
            shown(round.write_iops),
            shown(round.latency_mean_ns / 1e6)
        );
    }
    let is_steady = if all.is_steady { "steady" } else { "not steady" };
    line!(out, "{is_steady}: {}", all.words());
}

fn latencies(latency: Option<&LatencySummary>) -> String {
    let Some(of) = latency else { return " |      N/A".repeat(LATENCY_COLUMNS.len()) };
    let [p50, p95, p99, p99_9, max] =
        [of.p50_ns, of.p95_ns, of.p99_ns, of.p99_9_ns, of.max_ns].map(|ns| ns as f64);
    let mut cells = String::new();
    for ns in [of.mean_ns, p50, p95, p99, p99_9, max] {
        cells.push_str(&format!(" | {:8.3}", shown(ns / 1e6)));
    }
    cells
}

//! Total IO, Read IO, Write IO (`text-output.md` §9).

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::is_folded;
use super::{OneLine, shown};
use crate::render::tally::{Kind, Tally};
use truespd_core::profile::{Size, TimeSpan};
use truespd_core::result::hosts::names;
use truespd_core::result::{Document, Measured, TargetResult, ThreadResult};

/// Targets that a folded table names.
const NAMED_MAX: usize = 32;

/// The three tables, always all three.
pub(super) fn tables(out: &mut String, document: &Document, span: &TimeSpan, measured: &Measured) {
    let names = if document.sources.len() > 1 { names(&document.sources) } else { Vec::new() };
    for (title, kind) in [("Total IO", Kind::Total), ("Read IO", Kind::Read), ("Write IO", Kind::Write)] {
        line!(out);
        line!(out, "{title}");
        let rows = if is_folded(document) {
            folded(kind, span, measured)
        } else {
            each(kind, span, measured, &names)
        };
        table(out, kind, span, measured, &rows);
    }
}

/// A row of a table.
struct Row {
    /// In the column of threads.
    thread: String,
    figures: String,
    /// Behind the figures.
    target: String,
}

/// A row per thread and target; in a sum with the host.
fn each(kind: Kind, span: &TimeSpan, measured: &Measured, names: &[String]) -> Vec<Row> {
    let of = |thread: &ThreadResult| -> Vec<Row> {
        let host = thread.source.and_then(|source| names.get(source as usize));
        let host = host.map_or(String::new(), |host| format!(" on {}", OneLine(host)));
        let row = |target: &TargetResult| Row {
            thread: thread.id.to_string(),
            figures: cells(&Tally::of_target(target, kind), span, measured.test_time_s),
            target: format!("{} ({}){host}", OneLine(&target.path), Size(target.size_bytes)),
        };
        thread.targets.iter().map(row).collect()
    };
    measured.threads.iter().flat_map(of).collect()
}

/// A row per target, or one for all of many.
fn folded(kind: Kind, span: &TimeSpan, measured: &Measured) -> Vec<Row> {
    let targets = || measured.threads.iter().flat_map(|thread| &thread.targets);
    let row = |tally: &Tally, target| {
        let figures = cells(tally, span, measured.test_time_s);
        Row { thread: "all".to_string(), figures, target }
    };
    let paths: BTreeSet<&str> = targets().map(|target| target.path.as_str()).collect();
    if paths.len() > NAMED_MAX {
        let name = format!("{} targets", paths.len());
        return vec![row(&Tally::of_targets(measured, kind, |_| true), name)];
    }
    let mut all: BTreeMap<&str, (Tally, u64)> = BTreeMap::new();
    for target in targets() {
        let (tally, size_bytes) = all.entry(&target.path).or_default();
        tally.add(target, kind);
        *size_bytes = target.size_bytes.max(*size_bytes);
    }
    let named = |(path, (tally, size)): (&str, (Tally, u64))| {
        row(&tally, format!("{} ({})", OneLine(path), Size(size)))
    };
    all.into_iter().map(named).collect()
}

/// Header, the rows, and the sum.
fn table(out: &mut String, kind: Kind, span: &TimeSpan, measured: &Measured, rows: &[Row]) {
    let header = header(span);
    let border = "-".repeat(header.border);
    line!(out, "{}", header.text);
    line!(out, "{border}");
    for Row { thread, figures, target } in rows {
        line!(out, "{thread:>6} | {figures} | {target}");
    }
    line!(out, "{border}");
    let total = Tally::of_targets(measured, kind, |_| true);
    line!(out, "total:   {}", cells(&total, span, measured.test_time_s));
}

struct Header {
    text: String,
    /// Number of dashes; not the length of the text.
    border: usize,
}

fn header(span: &TimeSpan) -> Header {
    let pieces = [
        ("thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s ", 66, true),
        ("|  AvgLat  ", 11, span.measure_latency),
        ("| IopsStdDev ", 13, span.calculate_iops_std_dev),
        ("| LatStdDev ", 12, span.measure_latency),
        ("|  file", 12, true),
    ];
    let shown = pieces.into_iter().filter(|&(_, _, shown)| shown);
    let mut header = Header { text: String::new(), border: 0 };
    for (text, dashes, _) in shown {
        header.text.push_str(text);
        header.border += dashes;
    }
    header
}

/// The figures of a row, without what stands before and after them. Cells grow; nothing is cut.
fn cells(tally: &Tally, span: &TimeSpan, time_s: f64) -> String {
    let (mib_per_s, ios_per_s) = (shown(tally.mib_per_s(time_s)), shown(tally.ios_per_s(time_s)));
    let mut cells = format!("{:15} | {:12} | {mib_per_s:10.2} | {ios_per_s:10.2}", tally.bytes, tally.ios);
    if span.measure_latency {
        cells += &format!(" | {:8.3}", shown(tally.latency_mean_ms()));
    }
    if span.calculate_iops_std_dev {
        cells += &format!(" | {:10.2}", shown(tally.iops_std_dev()));
    }
    if span.measure_latency {
        cells += &match tally.latency() {
            Some(latency) => format!(" |  {:8.3}", shown(latency.std_dev_ns() / 1e6)),
            None => " |       N/A".to_string(),
        };
    }
    cells
}

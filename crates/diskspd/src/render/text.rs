//! DiskSpd's text result (`text-output.md`), in the form of 2.2 or 2.3 (`release-2.3.md` §5).
//!
//! Lines end with LF; nothing is localised. Names that stand in a line of their own format (paths, words, the host's
//! name) cannot break it: see [`OneLine`].

use std::collections::{BTreeMap, BTreeSet};

use super::effective::effective_text;
use super::extensions::{flushes, rounds, sizes, trims};
use super::figures::{INTERRUPTED, cpu_mean, line, measured, rate, shown};
use super::layout::Layout;
use super::parameters::{OneLine, Range, profile_text, ranges_in_bytes};
use super::system::system_text;
use super::waits::{ring, waits};
use truespd_core::measure::{Histogram, Intervals};
use truespd_core::profile::{Release, TimeSpan};
use truespd_core::result::hosts::{
    HostFigure, HostRow, Outlier, ROWS_MAX, Spread, folded, names, outliers, rows,
};
use truespd_core::result::{
    CpuUse, Direction, DistributionPart, Document, Measured, Operations, System, TargetResult, ThreadResult,
    TimeSpanResult,
};

const MIB: f64 = 1024.0 * 1024.0;

/// The whole document as the text of its release, from the first empty line to the end of the last line. A sum of
/// several results has a section of TrueSpd's behind it.
pub fn text(document: &Document) -> String {
    let mut out = profile_text(&document.command_line, &document.profile, &document.system);
    let system = System { computer_name: document.host_words(), ..document.system.clone() };
    out.push_str(&system_text(&system, document.profile.release));
    for (index, (result, span)) in document.time_spans.iter().zip(&document.profile.time_spans).enumerate() {
        line!(out);
        line!(out, "Results for timespan {}:", index + 1);
        line!(out, "{:*<79}", "");
        match measured(result) {
            None => line!(out, "{INTERRUPTED}"),
            Some(measured) => time_span(&mut out, document, index, span, measured),
        }
    }
    if document.time_spans.len() > 1 {
        totals(&mut out, &document.time_spans);
    }
    if document.sources.len() > 1 || !document.missing.is_empty() {
        hosts(&mut out, document);
    }
    out
}

/// The sections of a time span that was measured (`text-output.md` §6).
fn time_span(out: &mut String, document: &Document, index: usize, span: &TimeSpan, measured: &Measured) {
    let layout = Layout::of(document.profile.release);
    let is_of_2_3 = layout.release == Release::V2_3;
    line!(out);
    line!(out, "actual test time:\t{:.2}s", measured.test_time_s);
    line!(out, "thread count:\t\t{}", document.threads_of(index));
    if span.is_pool() {
        line!(out, "request count:\t\t{}", span.request_count);
    }
    if is_of_2_3 {
        effective_text(out, &document.system, measured);
    }
    processors(out, &document.system, &measured.cpu);
    effective_distributions(out, layout, &measured.threads);
    tables(out, document, span, measured);
    if is_of_2_3 && span.ring.is_some() {
        ring(out, measured, is_folded(document));
    }
    if span.measure_latency {
        latency_charts(out, measured);
    }
    if span.targets.iter().any(|target| !target.mix.is_empty()) {
        sizes(out, layout, span, measured);
    }
    flushes(out, span, measured);
    trims(out, span, measured);
    rounds(out, measured);
    if document.profile.verbose_stats {
        waits(out, layout.release, span, &measured.threads, is_folded(document));
    }
}

/// Use of the processors (`text-output.md` §7): one row per processor, then the plain mean.
fn processors(out: &mut String, system: &System, cpu: &[CpuUse]) {
    let topology = &system.topology;
    let class_max = topology.efficiency_class_max();
    // Optional columns before `CPU`; border and blanks below are as wide as their headers.
    let leads = [
        ("Socket | ", topology.sockets > 1),
        ("Node | ", topology.nodes > 1),
        ("Group | ", topology.groups > 1),
        ("Core | ", topology.has_smt()),
        ("Class | ", class_max > 0),
    ];
    let lead: String = leads.iter().filter(|(_, is_shown)| *is_shown).map(|(header, _)| *header).collect();
    let border = "-".repeat(lead.len() + 40);

    line!(out);
    line!(out, "{lead}CPU |  Usage |  User  | Kernel |  Idle");
    line!(out, "{border}");
    for (processor, used) in topology.processors.iter().zip(cpu) {
        let class_mark = if processor.efficiency_class == class_max { 'P' } else { ' ' };
        let cells = [
            format!("{:7}| ", processor.socket),
            format!("{:5}| ", processor.node),
            format!("{:6}| ", processor.group),
            format!("{:5}| ", processor.core),
            format!("{:5}{class_mark}| ", processor.efficiency_class),
        ];
        for (cell, (_, is_shown)) in cells.iter().zip(&leads) {
            if *is_shown {
                out.push_str(cell);
            }
        }
        line!(out, "{:4}|{}", processor.number, percentages(used));
    }
    line!(out, "{border}");
    line!(out, "{:width$}avg.|{}", "", percentages(&cpu_mean(cpu)), width = lead.len());
}

fn percentages(used: &CpuUse) -> String {
    let [usage, user, kernel, idle] = [used.usage(), used.user, used.kernel, used.idle].map(shown);
    format!(" {usage:6.2}%| {user:6.2}%| {kernel:6.2}%| {idle:6.2}%")
}

/// The ranges really used (`text-output.md` §8), each list once, under the targets and threads that used it.
fn effective_distributions(out: &mut String, layout: Layout, threads: &[ThreadResult]) {
    let mut users: BTreeMap<&[DistributionPart], BTreeMap<&str, BTreeSet<u32>>> = BTreeMap::new();
    for thread in threads {
        for target in &thread.targets {
            if let Some(parts) = target.distribution.as_deref().filter(|parts| !parts.is_empty()) {
                users.entry(parts).or_default().entry(&target.path).or_default().insert(thread.id);
            }
        }
    }
    if users.is_empty() {
        return;
    }
    line!(out);
    line!(out, "Effective IO Distributions");
    line!(out, "{:-<26}", "");
    for (parts, targets) in users {
        for (path, threads) in targets {
            line!(out, "target: {} [thread:{}]", OneLine(path), thread_list(threads));
        }
        let ranges: Vec<Range> = parts
            .iter()
            .map(|part| Range {
                io_percent: part.io_percent,
                first: part.offset_bytes,
                end: Some(part.offset_bytes.saturating_add(part.length_bytes)),
            })
            .collect();
        ranges_in_bytes(out, layout, "", &ranges);
    }
}

/// ` 0 - 3 5 6 9`: runs of three or more shortened. (2.2 writes a lone number before the last twice.)
fn thread_list(threads: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for thread in threads {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == thread => *last = thread,
            _ => runs.push((thread, thread)),
        }
    }
    runs.into_iter()
        .map(|(first, last)| match last - first {
            0 => format!(" {first}"),
            1 => format!(" {first} {last}"),
            _ => format!(" {first} - {last}"),
        })
        .collect()
}

/// Targets that a folded table names.
const NAMED_MAX: usize = 32;

/// Total IO, Read IO, Write IO (`text-output.md` §9): always all three.
fn tables(out: &mut String, document: &Document, span: &TimeSpan, measured: &Measured) {
    let layout = Layout::of(document.profile.release);
    let names = if document.sources.len() > 1 { names(&document.sources) } else { Vec::new() };
    for (title, operations) in
        [("Total IO", Operations::All), ("Read IO", Operations::Reads), ("Write IO", Operations::Writes)]
    {
        line!(out);
        line!(out, "{title}");
        let rows = if is_folded(document) {
            folded_rows(operations, layout, span, measured)
        } else {
            thread_rows(operations, layout, span, measured, &names)
        };
        table(out, operations, span, measured, &rows);
    }
}

struct Row {
    /// In the column of threads.
    thread: String,
    figures: String,
    target: String,
}

/// A row per thread and target; in a sum with the host.
fn thread_rows(
    operations: Operations,
    layout: Layout,
    span: &TimeSpan,
    measured: &Measured,
    names: &[String],
) -> Vec<Row> {
    let mut rows = Vec::new();
    for thread in &measured.threads {
        let host = thread.source.and_then(|source| names.get(source as usize));
        let host = host.map_or(String::new(), |host| format!(" on {}", OneLine(host)));
        for target in &thread.targets {
            rows.push(Row {
                thread: thread.id.to_string(),
                figures: cells(&target.sum(operations), span, measured.test_time_s),
                target: format!("{} ({}){host}", OneLine(&target.path), layout.size(target.size_bytes)),
            });
        }
    }
    rows
}

/// A row per target, or one for all of many.
fn folded_rows(operations: Operations, layout: Layout, span: &TimeSpan, measured: &Measured) -> Vec<Row> {
    let mut paths = measured.paths();
    if paths.len() > NAMED_MAX {
        let figures = cells(&measured.sum(operations, |_| true), span, measured.test_time_s);
        return vec![Row { thread: "all".to_string(), figures, target: format!("{} targets", paths.len()) }];
    }
    paths.sort_unstable();
    let mut rows = Vec::new();
    for path in paths {
        let results = measured.targets().filter(|target| target.path == path);
        let size_bytes = results.map(|target| target.size_bytes).max().unwrap_or(0);
        let sum = measured.sum(operations, |target| target.path == path);
        rows.push(Row {
            thread: "all".to_string(),
            figures: cells(&sum, span, measured.test_time_s),
            target: format!("{} ({})", OneLine(path), layout.size(size_bytes)),
        });
    }
    rows
}

/// Header, the rows, and the sum.
fn table(out: &mut String, operations: Operations, span: &TimeSpan, measured: &Measured, rows: &[Row]) {
    // The dashes of a column are not as many as the characters of its header.
    let columns = [
        ("thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s ", 66, true),
        ("|  AvgLat  ", 11, span.measure_latency),
        ("| IopsStdDev ", 13, span.calculate_iops_std_dev),
        ("| LatStdDev ", 12, span.measure_latency),
        ("|  file", 12, true),
    ];
    let (mut header, mut dashes) = (String::new(), 0);
    for (text, width, is_shown) in columns {
        if is_shown {
            header.push_str(text);
            dashes += width;
        }
    }
    line!(out, "{header}");
    line!(out, "{:-<dashes$}", "");
    for Row { thread, figures, target } in rows {
        line!(out, "{thread:>6} | {figures} | {target}");
    }
    line!(out, "{:-<dashes$}", "");
    let total = measured.sum(operations, |_| true);
    line!(out, "total:   {}", cells(&total, span, measured.test_time_s));
}

/// The figures of a row, without what stands before and after them. Cells grow; nothing is cut.
fn cells(sum: &Direction, span: &TimeSpan, time_s: f64) -> String {
    let mut cells = totals_cells(sum.bytes, sum.ios, time_s);
    let latency = sum.latencies();
    if span.measure_latency {
        cells += &format!(" | {:8.3}", shown(latency.map_or(0.0, |latency| latency.mean_ns() / 1e6)));
    }
    if span.calculate_iops_std_dev {
        cells += &format!(" | {:10.2}", shown(sum.intervals.as_ref().map_or(0.0, Intervals::iops_std_dev)));
    }
    if span.measure_latency {
        cells += &match latency {
            Some(latency) => format!(" |  {:8.3}", shown(latency.std_dev_ns() / 1e6)),
            None => " |       N/A".to_string(),
        };
    }
    cells
}

fn totals_cells(bytes: u64, ios: u64, time_s: f64) -> String {
    let (mib_per_s, ios_per_s) = (shown(rate(bytes as f64 / MIB, time_s)), shown(rate(ios as f64, time_s)));
    format!("{bytes:15} | {ios:12} | {mib_per_s:10.2} | {ios_per_s:10.2}")
}

/// Rows of a latency chart (`text-output.md` §10): label and share of the I/Os at or below the figure.
const LATENCY_ROWS: [(&str, f64); 15] = [
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
fn latency_charts(out: &mut String, measured: &Measured) {
    let paths = measured.paths();
    if paths.len() > 1 {
        for path in paths {
            line!(out);
            line!(out, "Latency distribution: {}", OneLine(path));
            latency_chart(out, measured, |target| target.path == path);
        }
    }
    line!(out);
    line!(out, "Total latency distribution:");
    latency_chart(out, measured, |_| true);
}

/// One chart over the targets that `wanted` picks.
fn latency_chart(out: &mut String, measured: &Measured, wanted: impl Fn(&TargetResult) -> bool) {
    let all = [Operations::Reads, Operations::Writes, Operations::All]
        .map(|operations| measured.sum(operations, &wanted).latencies().map(Histogram::percentiles));
    line!(out, "  %-ile |  Read (ms) | Write (ms) | Total (ms)");
    line!(out, "{:-<46}", "");
    for (label, share) in LATENCY_ROWS {
        let [read, write, total] =
            [(&all[0], "N/A"), (&all[1], "N/A"), (&all[2], "0.000")].map(|(percentiles, without)| {
                match percentiles {
                    Some(percentiles) => format!("{:.3}", percentiles.ns(share) as f64 / 1e6),
                    None => without.to_string(),
                }
            });
        line!(out, "{label:>7} | {read:>10} | {write:>10} | {total:>10}");
    }
}

/// Totals over the time spans that were measured (`text-output.md` §12); 0 everywhere when none was.
fn totals(out: &mut String, time_spans: &[TimeSpanResult]) {
    let (mut time_s, mut read, mut write) = (0.0, (0, 0), (0, 0));
    for measured in time_spans.iter().filter_map(measured) {
        time_s += measured.test_time_s;
        for target in measured.targets() {
            read = (read.0 + target.read.bytes, read.1 + target.read.ios);
            write = (write.0 + target.write.bytes, write.1 + target.write.ios);
        }
    }
    line!(out);
    line!(out);
    line!(out, "Totals:");
    line!(out, "{:*<79}", "");
    line!(out);
    line!(out, "type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s");
    line!(out, "{:-<79}", "");
    line!(out, "write  | {}", totals_cells(write.0, write.1, time_s));
    line!(out, "read   | {}", totals_cells(read.0, read.1, time_s));
    line!(out, "{:-<79}", "");
    line!(out, "total  | {}", totals_cells(read.0 + write.0, read.1 + write.1, time_s));
    line!(out);
    line!(out, "total test time:\t{:.2}s", shown(time_s));
}

/// Wider names push the figures of their row to the right.
const NAME_MAX: usize = 32;

/// What each host of a sum did: a table for each time span that was measured, and what is missing. DiskSpd has no sums:
/// this section is TrueSpd's own, so it stands behind everything that DiskSpd prints, and its title says whose it is.
fn hosts(out: &mut String, document: &Document) {
    for (place, (span, result)) in document.profile.time_spans.iter().zip(&document.time_spans).enumerate() {
        if measured(result).is_some() {
            line!(out);
            line!(out);
            line!(out, "Hosts of timespan {} (TrueSpd):", place + 1);
            line!(out, "{:*<79}", "");
            line!(out);
            hosts_table(out, span, &rows(document, place));
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
fn is_folded(document: &Document) -> bool {
    document.sources.len() > ROWS_MAX
}

fn hosts_table(out: &mut String, span: &TimeSpan, rows: &[HostRow]) {
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
            shown(row.bytes_per_s / MIB),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_lists() {
        for (threads, text) in [
            (vec![0], " 0"),
            (vec![0, 1], " 0 1"),
            (vec![0, 1, 2, 3], " 0 - 3"),
            (vec![0, 2], " 0 2"),
            (vec![0, 2, 3, 5, 6, 7, 9], " 0 2 3 5 - 7 9"),
        ] {
            assert_eq!(thread_list(threads), text);
        }
    }
}

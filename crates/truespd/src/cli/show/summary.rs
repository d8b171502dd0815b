//! A stored result in some twenty lines: figures, rate over time, latencies, verdict. DiskSpd's text has four
//! times as many.

use jiff::Timestamp;

use crate::answer::Shown;
use crate::answer::shown::{bar, sparkline};
use crate::answer::table::{Cell, Table};
use truespd_core::profile::{Target, TimeSpan};
use truespd_core::result::Operations;
use truespd_core::result::hosts::{Spread, Times, folded, rows};
use truespd_core::result::metrics::{completions, usual_words};
use truespd_core::result::{
    DirectionSummary, Document, Drive, Grade, LatencySummary, Measured, Proof, Summary, TimeSpanResult,
    Verdict,
};
use truespd_front::show::{Style, plural};
use truespd_platform::machine::topology::Topology;
use truespd_platform::text::{
    clock, columns_of, duration_ns, hanging, number, printable, program_line, rate, typed_size, wrap,
};

/// Column at which what a row is of ends.
const LEAD: usize = 11;
/// Columns of the course of the rate at most.
const COURSE_MAX: usize = 44;
/// Missing ranks that are named.
const MISSING_MAX: usize = 8;
/// Columns of the longest bar at most.
const BAR_MAX: usize = 40;

/// The summary; ends with a line end. `name` is what the result is called.
pub(crate) fn text(name: &str, document: &Document, style: Style) -> String {
    let mut out = head(name, document, style);
    let spans: Vec<_> = document.profile.time_spans.iter().zip(&document.time_spans).collect();
    for (number, (asked, result)) in spans.iter().enumerate() {
        if spans.len() > 1 {
            out.push_str(&format!("\ntime span {} of {}\n", number + 1, spans.len()));
        }
        match result {
            TimeSpanResult::Measured(measured) => {
                out.push_str(&span(asked, measured, &document.system.topology, style));
                out.push_str(&hosts(document, number, style));
            }
            TimeSpanResult::NotMeasured => out.push_str("\nnothing was measured\n"),
        }
    }
    out.push_str(&missing(document, style));
    out.push('\n');
    out.push_str(&judged(document.verdict.as_ref(), style));
    if let Some(usual) = document.usual.as_ref().and_then(usual_words) {
        out.push_str(&format!("{}{usual} on this disk\n", lead("usual")));
    }
    out
}

/// The grade, and why: the worst finding, or what the disks did.
fn judged(verdict: Option<&Verdict>, style: Style) -> String {
    let Some(verdict) = verdict else {
        return format!("{}none: this result was not judged\n", lead("verdict"));
    };
    let grade = style.paint(verdict.grade, verdict.grade.word());
    let worst = if verdict.grade == Grade::Certified { None } else { verdict.findings.first() };
    let why = worst.map(|worst| format!("{}: {}", worst.rule, worst.says));
    let why = why.or(verdict.proofs.first().map(Proof::words));
    let others = verdict.findings.len() - usize::from(worst.is_some());
    let more = match (others, worst) {
        (0, _) => String::new(),
        (others, Some(_)) => format!(" (and {others} more: truespd judge)"),
        (others, None) => format!(" ({}: truespd judge)", plural(others, "remark")),
    };
    let mut out = format!("{}{grade}{more}\n", lead("verdict"));
    if let Some(why) = why {
        out.push_str(&hanging(&lead(""), &printable(&why), style.columns));
    }
    out
}

/// What it is, when and where it ran, and how it can be repeated.
fn head(name: &str, document: &Document, style: Style) -> String {
    let system = &document.system;
    let began = system.start_unix_s.and_then(|s| Timestamp::from_second(s).ok());
    let began = began.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    let host = Some(document.host_words()).filter(|host| !host.is_empty());
    let parts = [Some(printable(name)), began, host.map(|host| format!("on {}", printable(&host)))];
    let mut out = wrap(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "), style.columns).join("\n");
    out.push('\n');
    if !document.command_line.is_empty() {
        out.push_str(&hanging("  ", &printable(&program_line(&document.command_line)), style.columns));
    }
    out
}

fn span(asked: &TimeSpan, measured: &Measured, topology: &Topology, style: Style) -> String {
    let summary = Summary::with_nodes(measured, topology);
    let mut out = String::from("\n");
    for target in &asked.targets {
        out.push_str(&hanging(&lead("target"), &of_target(asked, target), style.columns));
    }
    let mut times = format!(
        "{} measured, processors {:.1} % busy",
        clock(measured.test_time_s),
        summary.cpu_usage_percent
    );
    if !summary.nodes.is_empty() {
        let nodes = summary.nodes.iter();
        let busy: Vec<String> =
            nodes.map(|node| format!("node {}: {:.1} %", node.node, node.cpu_usage_percent)).collect();
        times.push_str(&format!(" ({})", busy.join(", ")));
    }
    out.push_str(&hanging(&lead("time"), &times, style.columns));
    out.push('\n');
    out.push_str(&figures(&summary));
    out.push_str(&course(measured, style));
    let total = &summary.total;
    match (&total.response, &total.latency) {
        (Some(times), _) => out.push_str(&bars("response", times, style)),
        (None, Some(times)) => out.push_str(&bars("latency", times, style)),
        (None, None) => out.push_str("\nlatencies were not measured (-L)\n"),
    }
    out.push_str(&drives(measured, style));
    out
}

/// What the drives said of themselves around the run.
fn drives(measured: &Measured, style: Style) -> String {
    let mut out = String::new();
    for words in measured.evidence.drives.iter().flatten().filter_map(Drive::words) {
        let (gap, first) = if out.is_empty() { ("\n", lead("drive")) } else { ("", lead("")) };
        out.push_str(&format!("{gap}{}", hanging(&first, &printable(&words), style.columns)));
    }
    out
}

fn lead(words: &str) -> String {
    format!("{words:<LEAD$}")
}

fn of_target(span: &TimeSpan, target: &Target) -> String {
    let mut parts = vec![format!("{}: {}", printable(&target.path), typed_size(target.block_bytes))];
    parts.push(match target.random_percent {
        0 => "sequential".to_string(),
        100 => "random".to_string(),
        percent => format!("{percent} % random"),
    });
    parts.push(match target.write_percent {
        0 => "reads".to_string(),
        100 => "writes".to_string(),
        percent => format!("{percent} % writes"),
    });
    if target.trims() {
        parts.push(format!("{} % trims", target.trim_percent));
    }
    if span.thread_count == 0 {
        parts.push(plural(target.threads_per_file as usize, "thread"));
        parts.push(format!("{} outstanding each", target.request_count));
    }
    parts.join(", ")
}

/// A table of figures whose rows are `what`.
fn table(what: &str) -> Table {
    Table::new("", [what, "IOPS", "throughput", "mean", "p50", "p99", "p99.9", "max"])
}

fn latency_cells(times: &LatencySummary) -> Vec<Cell> {
    let [p50, p99, p99_9, max] =
        [times.p50_ns, times.p99_ns, times.p99_9_ns, times.max_ns].map(|ns| ns as f64);
    [times.mean_ns, p50, p99, p99_9, max].map(|ns| Cell::Figure(ns, duration_ns)).into()
}

fn rate_cells(iops: f64, bytes_per_s: f64) -> Vec<Cell> {
    vec![Cell::Figure(iops, number), Cell::Figure(bytes_per_s, rate)]
}

/// As wide as it is: each of its figures is wanted.
fn table_text(table: &Table) -> String {
    table.text(Shown::whole(Style::of_stdout()))
}

/// What each host of a sum did.
fn hosts(document: &Document, time_span: usize, style: Style) -> String {
    let rows = rows(document, time_span);
    let spread = match Spread::of(rows.iter().map(|row| row.iops)) {
        Some(spread) if rows.len() > 1 => spread,
        _ => return String::new(),
    };
    let ratio = spread.ratio().map_or(String::new(), |ratio| format!(", {} times", number(ratio)));
    let words = format!(
        "{} to {} IOPS{ratio}; the median is {}",
        number(spread.least),
        number(spread.most),
        number(spread.median)
    );
    let mut table = table("");
    let folded = folded(&rows);
    for host in folded.shown.iter().map(|&place| &rows[place]) {
        let mut cells = rate_cells(host.iops, host.bytes_per_s);
        match host.times() {
            Some(Times { all: Some(all), .. }) => cells.extend(latency_cells(all)),
            Some(Times { mean_ns, all: None }) => cells.push(Cell::Figure(*mean_ns, duration_ns)),
            None => {}
        }
        table.push(host.name.clone(), cells);
    }
    let mut out = format!("\n{}{}", hanging(&lead("hosts"), &words, style.columns), table_text(&table));
    if let Some((count, [least, most])) = folded.left_out {
        let words = format!("... {count} more hosts between {} and {} IOPS", number(least), number(most));
        out.push_str(&hanging(&lead(""), &words, style.columns));
    }
    out
}

/// Ranks of a cluster run that left no result.
fn missing(document: &Document, style: Style) -> String {
    let named = document.missing.iter().take(MISSING_MAX).map(|rank| printable(&rank.words()));
    let more = document.missing.len().checked_sub(MISSING_MAX).filter(|more| *more > 0);
    let missing: Vec<String> = named.chain(more.map(|more| format!("and {more} more"))).collect();
    if missing.is_empty() {
        String::new()
    } else {
        format!("\n{}", hanging(&lead("missing"), &missing.join("; "), style.columns))
    }
}

/// The table of figures: what reads, writes and both did.
fn figures(summary: &Summary) -> String {
    let has_both = summary.read.ios > 0 && summary.write.ios > 0;
    let mut rows: Vec<(String, &DirectionSummary)> = Vec::new();
    if has_both {
        rows.push(("all".into(), &summary.total));
    }
    if has_both || summary.write.ios == 0 {
        rows.push(("reads".into(), &summary.read));
    }
    if summary.write.ios > 0 {
        rows.push(("writes".into(), &summary.write));
    }
    if let Some(trims) = &summary.trim {
        rows.push(("trims".into(), trims));
    }
    // What the threads on the processors of each memory node did.
    rows.extend(summary.nodes.iter().map(|node| (format!("node {}", node.node), &node.total)));
    let mut table = table("");
    for (name, sum) in rows {
        let mut cells = rate_cells(sum.iops, sum.bytes_per_s);
        if let Some(times) = sum.response.as_ref().or(sum.latency.as_ref()) {
            cells.extend(latency_cells(times));
        }
        table.push(name, cells);
    }
    table_text(&table)
}

/// The rate over the measured time.
fn course(measured: &Measured, style: Style) -> String {
    let (counts, interval_s) = completions(measured, Operations::All);
    if counts.len() < 2 || interval_s <= 0.0 {
        return String::new();
    }
    let rates: Vec<f64> = counts.iter().map(|count| count / interval_s).collect();
    let columns = COURSE_MAX.min(style.columns.saturating_sub(LEAD));
    sparkline(&rates, columns).map_or(String::new(), |(heights, [least, most])| {
        format!("\n{}{heights}  {} to {}\n", lead("over time"), number(least), number(most))
    })
}

/// Latencies as bars whose lengths are their logarithms: an outlier does not make all others vanish.
fn bars(name: &str, times: &LatencySummary, style: Style) -> String {
    let rows = [
        ("min", times.min_ns),
        ("p50", times.p50_ns),
        ("p99", times.p99_ns),
        ("p99.9", times.p99_9_ns),
        ("p99.99", times.p99_99_ns),
        ("max", times.max_ns),
    ];
    let log = |ns: u64| (ns.max(1) as f64).ln();
    let (least, most) = (log(times.min_ns), log(times.max_ns));
    let rows = rows.map(|(name, ns)| (format!("{name:>6}{:>10}", duration_ns(ns as f64)), log(ns)));
    let columns = style.columns.saturating_sub(LEAD + columns_of(&rows[0].0) + 2).min(BAR_MAX);
    let mut out = String::new();
    for (place, (label, log)) in rows.into_iter().enumerate() {
        let share = if most > least { (log - least) / (most - least) } else { 1.0 };
        let first = if place == 0 { name } else { "" };
        out.push_str(&format!("{}{}  {}\n", lead(first), label, bar(share, columns)));
    }
    out
}

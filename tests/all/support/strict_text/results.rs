//! Results blocks and totals: reading. Whether the figures agree is for `checks`.

use super::cursor::{Line, Lines};
use super::{
    Chart, CpuRow, DistributionGroup, Fault, Outcome, RangeText, ResultText, Row, SpanText, SystemText,
    Table, TotalsText, WaitRow,
};

pub const CHART_ROWS: [(&str, f64); 15] = [
    ("    min", 0.0),
    ("   25th", 0.25),
    ("   50th", 0.5),
    ("   75th", 0.75),
    ("   90th", 0.9),
    ("   95th", 0.95),
    ("   99th", 0.99),
    ("3-nines", 0.999),
    ("4-nines", 0.9999),
    ("5-nines", 0.99999),
    ("6-nines", 0.999999),
    ("7-nines", 0.9999999),
    ("8-nines", 0.99999999),
    ("9-nines", 0.999999999),
    ("    max", 1.0),
];

const STARS: &str = "*******************************************************************************";

/// One results block; `None` when it was interrupted.
pub fn block(
    lines: &mut Lines,
    number: usize,
    span: &SpanText,
    system: &SystemText,
) -> Outcome<Option<ResultText>> {
    lines.exact("")?;
    let line = lines.number() + 1;
    lines.exact(&format!("Results for timespan {number}:"))?;
    lines.exact(STARS)?;
    if lines.optional("The test was interrupted before the measurements began. No results are displayed.") {
        return Ok(None);
    }
    lines.exact("")?;
    let mut time = lines.after("actual test time:\t")?;
    let time_s = time.fixed(0, 2)?;
    time.literal("s")?;
    time.end()?;
    let threads = lines.number_line("thread count:\t\t", "")?;
    let requests =
        if span.has_request_pool() { Some(lines.number_line("request count:\t\t", "")?) } else { None };
    lines.exact("")?;
    let (cpu, cpu_mean) = cpu_table(lines, system)?;
    lines.exact("")?;
    let distributions = if span.targets.iter().any(|target| target.has_distribution) {
        effective(lines)?
    } else {
        Vec::new()
    };
    let total = table(lines, "Total IO", span)?;
    lines.exact("")?;
    let read = table(lines, "Read IO", span)?;
    lines.exact("")?;
    let write = table(lines, "Write IO", span)?;
    let charts = if span.latency { charts(lines, &total)? } else { Vec::new() };
    let tables = [total, read, write];
    let waits = waits(lines)?;
    Ok(Some(ResultText {
        line,
        time_s,
        threads,
        requests,
        cpu,
        cpu_mean,
        distributions,
        tables,
        charts,
        waits,
    }))
}

fn cpu_table(lines: &mut Lines, system: &SystemText) -> Outcome<(Vec<CpuRow>, [f64; 4])> {
    let leads = [
        ("Socket | ", system.sockets > 1),
        ("Node | ", system.nodes > 1),
        ("Group | ", system.groups > 1),
        ("Core | ", system.cores < system.cpus),
        ("Class | ", system.heterogeneous),
    ];
    let lead: String = leads.iter().filter(|(_, shown)| *shown).map(|(text, _)| *text).collect();
    let border = "-".repeat(lead.len()) + "----------------------------------------";
    lines.exact(&format!("{lead}CPU |  Usage |  User  | Kernel |  Idle"))?;
    lines.exact(&border)?;
    let mut rows = Vec::new();
    for _ in 0..system.cpus {
        let mut line = lines.line("a processor")?;
        let number = line.number;
        let mut cell = |shown: bool, width: usize| -> Outcome<Option<u64>> {
            if !shown {
                return Ok(None);
            }
            let value = line.uint(width)?;
            line.literal("| ")?;
            Ok(Some(value))
        };
        let socket = cell(leads[0].1, 7)?;
        let node = cell(leads[1].1, 5)?;
        let group = cell(leads[2].1, 6)?;
        let core = cell(leads[3].1, 5)?;
        let class = if !leads[4].1 {
            None
        } else {
            let class = line.uint(5)?;
            let is_best = line.optional("P| ");
            if !is_best {
                line.literal(" | ")?;
            }
            Some((class, is_best))
        };
        let cpu = line.uint(4)?;
        let percent = percentages(&mut line)?;
        rows.push(CpuRow { line: number, socket, node, group, core, class, cpu, percent });
    }
    lines.exact(&border)?;
    let mut line = lines.after(&(" ".repeat(lead.len()) + "avg."))?;
    let mean = percentages(&mut line)?;
    Ok((rows, mean))
}

fn percentages(line: &mut Line) -> Outcome<[f64; 4]> {
    let mut percent = [0.0; 4];
    for figure in &mut percent {
        line.literal("| ")?;
        *figure = line.fixed(6, 2)?;
        line.literal("%")?;
    }
    line.end()?;
    Ok(percent)
}

/// One range in bytes, as asked for or as used.
pub fn absolute_range(mut line: Line) -> Outcome<RangeText> {
    let number = line.number;
    let scaled = line.rest.split('%').next().is_some_and(|share| share.contains('.'));
    let share = if scaled {
        line.literal("    ")?;
        line.fixed(0, 1)?
    } else {
        line.literal("   ")?;
        line.uint(3)? as f64
    };
    line.literal("% of IO => [")?;
    let first =
        if line.optional("     0   ") { super::SizeText { bytes: 0.0, exact: true } } else { line.size(6)? };
    line.literal(" - ")?;
    let end = if line.optional("      end") { None } else { Some(line.size(6)?) };
    line.literal(")")?;
    line.end()?;
    Ok(RangeText { line: number, share, scaled, first, end })
}

/// Shares are 100% together.
pub fn check_shares(ranges: &[RangeText]) -> Outcome<()> {
    let sum: f64 = ranges.iter().map(|range| range.share).sum();
    let scaled = ranges.iter().any(|range| range.scaled);
    let slack = if scaled { 0.05 * ranges.len() as f64 + 1e-9 } else { 0.0 };
    let is_mixed = ranges.iter().any(|range| range.scaled != scaled);
    if is_mixed || (sum - 100.0).abs() > slack {
        let line = ranges.last().map_or(0, |range| range.line);
        return Err(Fault { line, message: format!("shares add up to {sum}") });
    }
    Ok(())
}

/// The section, up to the empty line before `Total IO`.
fn effective(lines: &mut Lines) -> Outcome<Vec<DistributionGroup>> {
    lines.exact("Effective IO Distributions")?;
    lines.exact("--------------------------")?;
    let mut groups = Vec::new();
    while lines.peek().is_some_and(|line| !line.is_empty()) {
        let mut group = DistributionGroup { line: lines.number() + 1, users: Vec::new(), ranges: Vec::new() };
        while let Some(mut line) = lines.optional_after("target: ") {
            let path = line.until_last(" [thread:")?.to_string();
            group.users.push((path, thread_list(line)?));
        }
        while lines.peek().is_some_and(|line| line.starts_with("   ")) {
            group.ranges.push(absolute_range(lines.line("a range")?)?);
        }
        if group.users.is_empty() || group.ranges.is_empty() {
            return lines.line("target: ")?.fault("expected targets, then ranges");
        }
        check_shares(&group.ranges)?;
        groups.push(group);
    }
    lines.exact("")?;
    Ok(groups)
}

/// ` 0 - 3 5]`: ascending, runs of three or more shortened, nothing twice.
fn thread_list(mut line: Line) -> Outcome<Vec<u64>> {
    let mut threads: Vec<u64> = Vec::new();
    while !line.optional("]") {
        line.literal(" ")?;
        let is_range = line.optional("- ");
        let thread = line.uint(0)?;
        match (threads.last().copied(), is_range) {
            (Some(last), true) if thread > last + 1 => threads.extend(last + 1..=thread),
            (None, false) => threads.push(thread),
            (Some(last), false) if thread > last => threads.push(thread),
            _ => return line.fault("thread numbers in disorder"),
        }
    }
    line.end()?;
    if threads.is_empty() { line.fault("no threads") } else { Ok(threads) }
}

fn table(lines: &mut Lines, title: &str, span: &SpanText) -> Outcome<Table> {
    let (latency, iops) = (span.latency, span.interval_ms.is_some());
    let header = format!(
        "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s {}{}{}|  file",
        if latency { "|  AvgLat  " } else { "" },
        if iops { "| IopsStdDev " } else { "" },
        if latency { "| LatStdDev " } else { "" }
    );
    let dashes = match (latency, iops) {
        (false, false) => 78,
        (true, false) => 101,
        (false, true) => 91,
        (true, true) => 114,
    };
    lines.exact(title)?;
    lines.exact(&header)?;
    lines.exact(&"-".repeat(dashes))?;
    let mut rows = Vec::new();
    while lines.peek().is_some_and(|line| line.contains('|'))
        && !lines.peek().unwrap_or("").starts_with("total:")
    {
        let mut line = lines.line("a row")?;
        let thread = line.uint(6)?;
        line.literal(" | ")?;
        let mut row = cells(&mut line, span)?;
        row.thread = Some(thread);
        line.literal(" | ")?;
        row.path = line.until_last(" (")?.to_string();
        row.size = Some(line.size(0)?);
        line.literal(")")?;
        line.end()?;
        rows.push(row);
    }
    lines.exact(&"-".repeat(dashes))?;
    let mut line = lines.after("total:   ")?;
    let total = cells(&mut line, span)?;
    line.end()?;
    Ok(Table { rows, total })
}

fn cells(line: &mut Line, span: &SpanText) -> Outcome<Row> {
    let number = line.number;
    let bytes = line.uint(15)?;
    line.literal(" | ")?;
    let ios = line.uint(12)?;
    line.literal(" | ")?;
    let mib_per_s = line.fixed(10, 2)?;
    line.literal(" | ")?;
    let ios_per_s = line.fixed(10, 2)?;
    let (mut latency_mean, mut iops_dev, mut latency_dev) = (None, None, None);
    if span.latency {
        line.literal(" | ")?;
        latency_mean = Some(line.fixed(8, 3)?);
    }
    if span.interval_ms.is_some() {
        line.literal(" | ")?;
        iops_dev = Some(line.fixed(10, 2)?);
    }
    if span.latency {
        latency_dev = if line.optional(" |       N/A") {
            Some(None)
        } else {
            line.literal(" |  ")?;
            Some(Some(line.fixed(8, 3)?))
        };
    }
    let path = String::new();
    let (thread, size) = (None, None);
    Ok(Row {
        line: number,
        thread,
        bytes,
        ios,
        mib_per_s,
        ios_per_s,
        latency_mean,
        iops_dev,
        latency_dev,
        path,
        size,
    })
}

/// Charts per path, in order of the table, when it has several; then the one over everything.
fn charts(lines: &mut Lines, total: &Table) -> Outcome<Vec<Chart>> {
    let mut paths: Vec<&str> = Vec::new();
    for row in &total.rows {
        if !paths.contains(&row.path.as_str()) {
            paths.push(&row.path);
        }
    }
    let mut charts = Vec::new();
    if paths.len() > 1 {
        for path in paths {
            lines.exact("")?;
            lines.exact(&format!("Latency distribution: {path}"))?;
            charts.push(chart(lines, Some(path.to_string()))?);
        }
    }
    lines.exact("")?;
    lines.exact("Total latency distribution:")?;
    charts.push(chart(lines, None)?);
    Ok(charts)
}

fn chart(lines: &mut Lines, path: Option<String>) -> Outcome<Chart> {
    let line = lines.number();
    lines.exact("  %-ile |  Read (ms) | Write (ms) | Total (ms)")?;
    lines.exact("----------------------------------------------")?;
    let mut cells = Vec::new();
    for (label, _) in CHART_ROWS {
        let mut line = lines.after(label)?;
        let mut row = [None; 3];
        for cell in &mut row {
            line.literal(" | ")?;
            if !line.optional("       N/A") {
                *cell = Some(line.fixed(10, 3)?);
            }
        }
        line.end()?;
        cells.push(row);
    }
    Ok(Chart { line, path, cells })
}

fn waits(lines: &mut Lines) -> Outcome<Option<Vec<WaitRow>>> {
    let at = lines.number();
    if lines.peek() != Some("") || !lines.optional("") {
        return Ok(None);
    }
    if !lines.optional("Wait Statistics") {
        lines.go_back_to(at);
        return Ok(None);
    }
    lines.exact(
        "thread | completion wait | throttle wait  -  sleep | lookaside | 0 - 7+ complete per lookaside",
    )?;
    lines.exact(
        "-----------------------------------------------------------------------------------------------",
    )?;
    let mut rows = Vec::new();
    while lines.peek().is_some_and(|line| line.contains('|')) {
        let mut line = lines.line("a thread")?;
        let thread = line.uint(6)?;
        line.literal(" | ")?;
        let completion_waits = line.uint(15)?;
        line.literal(" | ")?;
        let throttle_waits = line.uint(13)?;
        line.literal("  - ")?;
        let throttle_sleeps = line.uint(6)?;
        line.literal(" | ")?;
        let lookasides = line.uint(9)?;
        line.literal(" |")?;
        let mut found = Vec::new();
        for _ in 0..8 {
            line.literal(" ")?;
            found.push(line.uint(0)?);
        }
        line.end()?;
        let number = line.number;
        rows.push(WaitRow {
            line: number,
            thread,
            completion_waits,
            throttle_waits,
            throttle_sleeps,
            lookasides,
            found,
        });
    }
    Ok(Some(rows))
}

pub fn totals(lines: &mut Lines) -> Outcome<TotalsText> {
    lines.exact("")?;
    lines.exact("")?;
    let line = lines.number() + 1;
    lines.exact("Totals:")?;
    lines.exact(STARS)?;
    lines.exact("")?;
    lines.exact("type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s")?;
    let border = "-------------------------------------------------------------------------------";
    lines.exact(border)?;
    let write = totals_row(lines, "write  | ")?;
    let read = totals_row(lines, "read   | ")?;
    lines.exact(border)?;
    let total = totals_row(lines, "total  | ")?;
    lines.exact("")?;
    let mut time = lines.after("total test time:\t")?;
    let time_s = time.fixed(0, 2)?;
    time.literal("s")?;
    time.end()?;
    Ok(TotalsText { line, rows: [write, read, total], time_s })
}

fn totals_row(lines: &mut Lines, label: &str) -> Outcome<(u64, u64, f64, f64)> {
    let mut line = lines.after(label)?;
    let bytes = line.uint(15)?;
    line.literal(" | ")?;
    let ios = line.uint(12)?;
    line.literal(" | ")?;
    let mib_per_s = line.fixed(10, 2)?;
    line.literal(" | ")?;
    let ios_per_s = line.fixed(10, 2)?;
    line.end()?;
    Ok((bytes, ios, mib_per_s, ios_per_s))
}

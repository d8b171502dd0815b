//! A test after SNIA's PTS as text: its head, what it deviates in, whether it is steady, and its tables.

use super::recovery;
use super::report::{CellTable, Figures, Head, PtsReport, QUICK_NS, ResponseTimes, StageReport};
use super::run::figure_words;
use super::table::Figure;
use crate::answer::{Shown, doubt, doubts_text};
use std::fmt::Write;
use truespd_core::result::Grade;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{
    bytes, duration_ns, hanging, number, part_percent, percent, printable, rate, shell_line, size,
};

/// Rows of a table of rounds, at most.
const ROWS_MAX: usize = 24;

/// A figure that tables show: its name, where it is in a round, and how it is written.
pub struct Shows {
    pub name: &'static str,
    pub of: fn(&Figures) -> Option<f64>,
    pub show: fn(f64) -> String,
}

pub const IOPS: Shows = Shows { name: "IOPS", of: |it| Some(it.iops), show: number };
const THROUGHPUT: Shows = Shows { name: "throughput", of: |it| Some(it.bytes_per_s), show: rate };
const MEAN: Shows = Shows { name: "mean latency", of: |it| it.mean_ns, show: duration_ns };
const NINES: Shows = Shows { name: "99.999 % of latencies below", of: |it| it.p99_999_ns, show: duration_ns };
const LONGEST: Shows = Shows { name: "longest latency", of: |it| it.max_ns, show: duration_ns };

/// What the tables of a test over sizes and mixes are of.
pub fn shown_of(report: &PtsReport) -> &'static [Shows] {
    match report.test.as_str() {
        "latency" => &[MEAN, NINES, LONGEST, IOPS],
        "throughput" => &[THROUGHPUT, IOPS],
        _ => &[IOPS],
    }
}

/// What the tables over threads and outstanding I/Os are of.
pub const OF_DEMANDS: [Shows; 3] = [IOPS, MEAN, NINES];

fn or_unknown(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(unknown)
}

fn unknown() -> String {
    "not known".to_string()
}

/// The head with its members in words; what is not known is told.
pub fn head_lines(report: &PtsReport) -> Vec<(&'static str, String)> {
    let head: &Head = &report.head;
    let host = [&head.machine, &head.processor].map(|it| it.clone().unwrap_or_default());
    let mut host: Vec<String> = host.into_iter().filter(|words| !words.is_empty()).collect();
    host.extend(head.memory_bytes.map(|memory| format!("{} of memory", size(memory))));
    let before = match report.parts.iter().filter_map(|part| part.preconditioned.as_ref()).next() {
        Some(it) => format!("{} x {} sequential, 128 KiB", it.passes, size(it.range_bytes)),
        None => "none".to_string(),
    };
    vec![
        ("drive", or_unknown(&head.model)),
        ("serial", or_unknown(&head.serial)),
        ("firmware", or_unknown(&head.firmware)),
        ("capacity", size(head.capacity_bytes)),
        ("interface", or_unknown(&head.interface)),
        ("host", if host.is_empty() { unknown() } else { host.join(", ") }),
        ("system", head.kernel.as_ref().map_or_else(unknown, |kernel| format!("Linux {kernel}"))),
        ("software", format!("TrueSpd {}", report.tool_version)),
        ("purge", or_unknown(&head.purge)),
        ("preconditioning", before),
        (
            "threads, I/Os of each",
            format!("{}, {}, where the test does not say them", head.threads, head.outstanding),
        ),
        ("data", "random, not compressible".to_string()),
        (
            "active range",
            format!(
                "{}, {}",
                percent(head.active_range_bytes as f64 / head.capacity_bytes.max(1) as f64),
                size(head.active_range_bytes)
            ),
        ),
        ("write cache", or_unknown(&head.write_cache)),
        ("engine", head.engine.clone().unwrap_or_else(|| "the usual one".to_string())),
        ("written", written_words(report)),
    ]
}

fn written_words(report: &PtsReport) -> String {
    let written = report.written_bytes() as f64;
    let share = match report.head.endurance_bytes {
        Some(endurance) => format!("{} of the rated endurance", part_percent(written / endurance as f64)),
        None => "the rated endurance is not known".to_string(),
    };
    format!("{}; {share}", bytes(written))
}

/// What is said of the rounds of a stage, a sentence for each tracking variable.
pub fn sentences(report: &PtsReport, stage: &StageReport) -> Vec<String> {
    let rule = &report.rule;
    let mut all = Vec::new();
    if stage.tracked.is_empty() {
        return all;
    }
    let rounds = stage.whole().count();
    all.push(match stage.is_steady(rule) {
        Some(true) => format!("Steady after {rounds} rounds, by all tracking variables."),
        Some(false) => format!("Steady state was not achieved in {rounds} rounds."),
        None => format!(
            "Whether it is steady is not known: {} rounds are judged, and {rounds} were made.",
            u64::from(rule.window) * u64::from(stage.every)
        ),
    });
    for course in stage.courses(rule) {
        let Some(excursions) = course.excursions else { continue };
        let last = &course.values[course.values.len().saturating_sub(rule.window as usize)..];
        let mean = last.iter().sum::<f64>() / last.len().max(1) as f64;
        let keeps = if course.is_steady(rule) == Some(true) { "steady" } else { "not steady" };
        all.push(format!(
            "{}: mean {} over the last {}, range {:.1} % ({} % at most), slope {:+.1} % ({} % at most): {keeps}.",
            course.tracked.name,
            figure_words(course.tracked.figure, mean),
            rule.window,
            excursions.range * 100.0,
            rule.range_percent,
            excursions.slope * 100.0,
            rule.slope_percent
        ));
    }
    all.extend(of_demands(report, stage));
    all
}

/// The demand with the most IOPS that the drive does quickly.
fn of_demands(report: &PtsReport, stage: &StageReport) -> Option<String> {
    stage.demands()?;
    let mut most: Option<(f64, f64, usize)> = None;
    for place in (0..stage.cells.len()).filter(|place| !stage.cells[*place].is_prewrite) {
        let iops = stage.mean(place, &report.rule, IOPS.of);
        let mean_ns = stage.mean(place, &report.rule, MEAN.of);
        if let (Some(iops), Some(mean_ns)) = (iops, mean_ns)
            && mean_ns < QUICK_NS
            && most.is_none_or(|(best, _, _)| iops > best)
        {
            most = Some((iops, mean_ns, place));
        }
    }
    let limit = duration_ns(QUICK_NS);
    let Some((iops, mean_ns, place)) = most else {
        return Some(format!("No demand has a mean latency below {limit}."));
    };
    let cell = &stage.cells[place];
    Some(format!(
        "Most IOPS with a mean latency below {limit}: {} at {} threads with {} I/Os each, mean {}.",
        number(iops),
        cell.threads,
        cell.outstanding,
        duration_ns(mean_ns)
    ))
}

/// All of it but the verdict.
pub(super) fn tables(report: &PtsReport, shown: Shown) -> String {
    let columns = shown.style.columns;
    let mut out = String::new();
    let title = format!("{} test, after SNIA PTS 2.0.2 ({})", report.title, report.class.edition());
    out.push_str(&format!("{}\n\n", printable(&title)));
    let mut head = Vec::new();
    for (name, words) in head_lines(report) {
        head.push(vec![name.to_string(), words]);
    }
    out.push_str(&aligned(head, &[false, false]));
    if !report.deviations.is_empty() {
        out.push_str("\ndeviations from the specification:\n");
        for deviation in &report.deviations {
            out.push_str(&hanging("  ", &printable(deviation), columns));
        }
    }
    if let Some(told) = recovery::sentence(report) {
        out.push_str(&format!("\n{}", hanging("", &printable(&told), columns)));
    }
    if let Some(rows) = recovery::table(report) {
        let mut lines = vec![rows.head.iter().map(ToString::to_string).collect::<Vec<_>>()];
        lines.extend(rows.lines);
        let mut is_number = vec![true; rows.head.len()];
        is_number[0] = report.test == "hir";
        out.push_str(&format!("\n{}\n{}", rows.caption, aligned(lines, &is_number)));
    }
    let mut grades: Vec<Grade> = Vec::new();
    for (part, stage) in report.stages().filter(|(_, stage)| stage.whole().next().is_some()) {
        grades.extend((0..stage.cells.len()).filter_map(|cell| stage.grade(cell)));
        if recovery::is_one_course(report) && stage.tracked.is_empty() {
            continue;
        }
        let name = [part, stage.name.as_str()].join(" ");
        out.push_str(&format!("\n{}\n", printable(name.trim_start())));
        for sentence in sentences(report, stage) {
            out.push_str(&hanging("", &printable(&sentence), columns));
        }
        out.push_str(&stage_text(report, stage));
    }
    out + &doubts_text(grades.iter().copied(), columns)
}

fn stage_text(report: &PtsReport, stage: &StageReport) -> String {
    if let Some(table) = stage.table() {
        return tables_of(report, stage, &table, shown_of(report));
    }
    if let Some(table) = stage.demands() {
        return tables_of(report, stage, &table, &OF_DEMANDS) + &response_text(stage);
    }
    if stage.cells.len() == 1 && (stage.rounds.len() > 1 || stage.response_times.is_empty()) {
        return over_rounds(report, stage) + &response_text(stage);
    }
    if stage.cells.len() == 1 {
        return response_text(stage);
    }
    let mut lines = vec![["cell", "IOPS", "throughput", "mean", "longest"].map(String::from).to_vec()];
    for (place, cell) in stage.cells.iter().enumerate() {
        let mut line = vec![cell.name.clone()];
        for shows in [&IOPS, &THROUGHPUT, &MEAN, &LONGEST] {
            line.push(figure(report, stage, place, shows));
        }
        lines.push(line);
    }
    format!("\n{}", aligned(lines, &[false, true, true, true, true]))
}

fn tables_of(report: &PtsReport, stage: &StageReport, table: &CellTable, all: &[Shows]) -> String {
    let mut out = String::new();
    for shows in all {
        let mut lines = vec![vec![shows.name.to_string()]];
        lines[0].extend(table.columns.iter().cloned());
        for (name, cells) in &table.rows {
            let mut line = vec![name.clone()];
            for cell in cells {
                line.push(cell.map_or("-".to_string(), |cell| figure(report, stage, cell, shows)));
            }
            lines.push(line);
        }
        let is_number = vec![true; lines[0].len()];
        out.push_str(&format!("\n{}", aligned(lines, &is_number)));
    }
    out
}

/// The mean of a figure over the last rounds with the sign of its verdict.
fn figure(report: &PtsReport, stage: &StageReport, cell: usize, shows: &Shows) -> String {
    let sign = stage.grade(cell).map_or("", doubt);
    stage.mean(cell, &report.rule, shows.of).map_or("-".to_string(), |value| (shows.show)(value) + sign)
}

/// A cell over its rounds, with what was written until then; evenly picked where there are many.
fn over_rounds(report: &PtsReport, stage: &StageReport) -> String {
    let mut lines =
        vec![["round", "written", "drive fills", "IOPS", "mean", "longest"].map(String::from).to_vec()];
    let rounds: Vec<&Figures> = stage.whole().filter_map(|round| round.first()).collect();
    let step = rounds.len().div_ceil(ROWS_MAX).max(1);
    let mut written: u64 = 0;
    for (place, figures) in rounds.iter().enumerate() {
        written = written.saturating_add(figures.written_bytes);
        if !place.is_multiple_of(step) && place + 1 != rounds.len() {
            continue;
        }
        lines.push(vec![
            (place + 1).to_string(),
            bytes(written as f64),
            format!("{:.2}", written as f64 / report.head.capacity_bytes.max(1) as f64),
            number(figures.iops),
            figures.mean_ns.map_or("-".to_string(), duration_ns),
            figures.max_ns.map_or("-".to_string(), duration_ns),
        ]);
    }
    format!("\n{}", aligned(lines, &[true; 6]))
}

/// The nines of response times.
pub fn nines(times: &ResponseTimes) -> Vec<(&'static str, f64)> {
    let of = &times.summary;
    vec![
        ("mean", of.mean_ns),
        ("50 %", of.p50_ns as f64),
        ("90 %", of.p90_ns as f64),
        ("99 %", of.p99_ns as f64),
        ("99.9 %", of.p99_9_ns as f64),
        ("99.99 %", of.p99_99_ns as f64),
        ("99.999 %", of.p99_999_ns as f64),
        ("longest", of.max_ns as f64),
    ]
}

fn response_text(stage: &StageReport) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for times in &stage.response_times {
        let all = nines(times);
        if lines.is_empty() {
            lines.push(vec!["response times".to_string()]);
            lines[0].extend(all.iter().map(|(name, _)| name.to_string()));
        }
        let mut line = vec![response_name(stage, times)];
        line.extend(all.iter().map(|(_, ns)| duration_ns(*ns)));
        lines.push(line);
    }
    if lines.is_empty() {
        return String::new();
    }
    let is_number: Vec<bool> = (0..lines[0].len()).map(|column| column > 0).collect();
    format!("\n{}", aligned(lines, &is_number))
}

/// Whose response times they are.
pub fn response_name(stage: &StageReport, times: &ResponseTimes) -> String {
    match stage.cells.get(times.cell) {
        Some(cell) if stage.cells.len() > 1 => {
            format!("{} T{} Q{}", cell.name, cell.threads, cell.outstanding)
        }
        Some(cell) => cell.name.clone(),
        None => String::new(),
    }
}

/// A row for each cell of each round.
pub(super) fn csv(report: &PtsReport) -> String {
    let mut out = "part,stage,round,cell,threads,outstanding,iops,bytes_per_s,written_bytes,latency_mean_ns,\
                   latency_p99_999_ns,latency_max_ns\n"
        .to_string();
    for (part, stage) in report.stages() {
        for (round, cells) in stage.rounds.iter().enumerate() {
            for (cell, figures) in stage.cells.iter().zip(cells) {
                // Writing to a string cannot fail.
                let _ = write!(
                    out,
                    "{part},{},{},{},{},{}",
                    stage.name,
                    round + 1,
                    cell.name,
                    cell.threads,
                    cell.outstanding
                );
                let values = [
                    Some(figures.iops),
                    Some(figures.bytes_per_s),
                    Some(figures.written_bytes as f64),
                    figures.mean_ns,
                    figures.p99_999_ns,
                    figures.max_ns,
                ];
                crate::suite::rounds::push_cells(&mut out, &values);
                out.push('\n');
            }
        }
    }
    out
}

/// The tracking variable's value with its unit, and how a chart shows it.
pub fn shows(figure: Figure) -> fn(f64) -> String {
    match figure {
        Figure::Iops => number,
        Figure::Throughput => rate,
        Figure::MeanLatency => duration_ns,
    }
}

/// All lines that `--print` shows.
pub fn line_words(words: &[String]) -> String {
    format!("diskspd {}", shell_line(words))
}

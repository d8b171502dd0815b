//! What a test after SNIA's PTS says: its head, what it deviates in, whether it is steady, and its tables.

use super::charts::{self, Shows};
use super::recovery;
use super::report::{CellTable, Figures, Head, PtsReport, QUICK_NS, ResponseTimes, StageReport};
use super::run::figure_words;
use crate::answer::heat::{Heat, HeatCell, HeatTable};
use crate::answer::html::first_large;
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Block, Commands};
use truespd_platform::text::table::Room;
use truespd_platform::text::{bytes, duration_ns, number, part_percent, percent, printable, rate, size};

/// Rows of a table of rounds, at most.
const ROWS_MAX: usize = 24;

const IOPS: Shows = Shows { name: "IOPS", of: |it| Some(it.iops), show: number };
const THROUGHPUT: Shows = Shows { name: "throughput", of: |it| Some(it.bytes_per_s), show: rate };
const MEAN: Shows = Shows { name: "mean latency", of: |it| it.mean_ns, show: duration_ns };
const NINES: Shows =
    Shows { name: "99.999th percentile of the latency", of: |it| it.p99_999_ns, show: duration_ns };
const LONGEST: Shows = Shows { name: "longest latency", of: |it| it.max_ns, show: duration_ns };

/// What the tables of a test over sizes and mixes are of.
fn shown_of(report: &PtsReport) -> &'static [Shows] {
    match report.test.as_str() {
        "latency" => &[MEAN, NINES, LONGEST, IOPS],
        "throughput" => &[THROUGHPUT, IOPS],
        _ => &[IOPS],
    }
}

/// What the tables over threads and outstanding I/Os are of.
const OF_DEMANDS: [Shows; 3] = [IOPS, MEAN, NINES];

fn or_unknown(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(unknown)
}

fn unknown() -> String {
    "not known".to_string()
}

pub(super) fn of(report: &PtsReport) -> Answer {
    let mut answer = Answer::default();
    let edition = report.class.edition();
    answer.about(format!("{} test, after SNIA PTS 2.0.2 ({edition})", printable(&report.title)));
    if let Some(words) = recovery::sentence(report) {
        answer.says(words);
    }
    let are_several = report.stages().filter(|(_, stage)| !stage.tracked.is_empty()).count() > 1;
    for (part, stage) in report.stages() {
        let name = if part.is_empty() { stage.name.as_str() } else { part };
        let lead = if are_several { format!("{name}: ") } else { String::new() };
        let lines = sentences(report, stage).into_iter().map(|words| printable(&(lead.clone() + &words)));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            answer.says(lines.join("\n"));
        }
    }
    answer.push(report.verdict.clone());
    answer.push(head(report));
    answer.note(format!("Figures of the test: {}.", printable(&report.source)));
    if !report.deviations.is_empty() {
        answer.push(Block::Heading("Deviations from the specification".to_string()));
    }
    for deviation in &report.deviations {
        answer.note(printable(deviation));
    }
    let recovery = recovery::table(report);
    // Its stages are shown together over time, and not each by itself.
    let is_one_course = recovery.is_some();
    if let Some(table) = recovery {
        answer.push(Block::Heading("Recovery".to_string()));
        answer.push(table);
        answer.blocks.extend(charts::over_time(report).map(Block::from));
    }
    for (part, stage) in report.stages().filter(|(_, stage)| stage.whole().next().is_some()) {
        if is_one_course && stage.tracked.is_empty() {
            continue;
        }
        let name = [part, stage.name.as_str()].join(" ");
        answer.push(Block::Heading(name.trim_start().to_string()));
        push_stage(&mut answer, report, stage);
    }
    let cells = report.stages().flat_map(|(_, stage)| &stage.cells).filter(|cell| !cell.line.is_empty());
    let lines = cells.map(|cell| (cell.name.clone(), cell.line.clone())).collect();
    answer.push(Commands { title: "lines of the cells".to_string(), lines, is_answer: false });
    answer.push(values(report));
    answer
}

/// The head with its members in words; what is not known is told.
fn head(report: &PtsReport) -> Table {
    let head: &Head = &report.head;
    let host = [&head.machine, &head.processor].map(|it| it.clone().unwrap_or_default());
    let mut host: Vec<String> = host.into_iter().filter(|words| !words.is_empty()).collect();
    host.extend(head.memory_bytes.map(|memory| format!("{} of memory", size(memory))));
    let before = match report.parts.iter().filter_map(|part| part.preconditioned.as_ref()).next() {
        Some(it) => format!("{} x {} sequential, 128 KiB", it.passes, size(it.range_bytes)),
        None => "none".to_string(),
    };
    let members = [
        ("drive", or_unknown(&head.model)),
        ("serial", or_unknown(&head.serial)),
        ("firmware", or_unknown(&head.firmware)),
        ("capacity", size(head.capacity_bytes)),
        ("interface", or_unknown(&head.interface)),
        ("host", if host.is_empty() { unknown() } else { host.join(", ") }),
        ("system", head.kernel.as_ref().map_or_else(unknown, |kernel| format!("Linux {kernel}"))),
        ("software", format!("TrueSpd {}", report.common.tool_version)),
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
    ];
    let columns = vec![Column::words("", Room::Stays), Column::words("", Room::Stays)];
    let mut table = Table::of("Head of the report", columns);
    for (name, words) in members {
        table.push(name, vec![Cell::Text(words)]);
    }
    table
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
fn sentences(report: &PtsReport, stage: &StageReport) -> Vec<String> {
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

/// The charts and tables of a stage, with what makes it steady first.
fn push_stage(answer: &mut Answer, report: &PtsReport, stage: &StageReport) {
    for course in stage.courses(&report.rule) {
        answer.push(charts::of_course(stage, &course, &report.rule));
    }
    if let Some(table) = stage.table() {
        answer.blocks.extend(charts::convergence(report, stage, &table).into_iter().map(Block::from));
        let all = shown_of(report);
        answer.blocks.extend(heats(report, stage, &table, all, "size and reads/writes"));
        answer.note("Means of the window. These tables are the specification's 3-D plots.");
        answer.push(charts::over_sizes(report, stage, &table, &all[0]));
    } else if let Some(table) = stage.demands() {
        answer.blocks.extend(heats(report, stage, &table, &OF_DEMANDS, "threads and outstanding I/Os"));
        answer.note("Threads (T) and I/Os outstanding for each (Q); means of the window.");
        answer.push(charts::demand_curve(report, stage, &table));
    } else if stage.cells.len() > 1 {
        if stage.rounds.len() > 1 {
            answer.push(charts::over_rounds(stage));
        }
        answer.push(of_cells(report, stage));
    } else {
        let has_course = stage.rounds.len() > 1;
        if has_course && report.test == "wsat" {
            answer.blocks.extend(charts::over_writes(report, stage).into_iter().map(Block::from));
        }
        if has_course || stage.response_times.is_empty() {
            answer.push(of_rounds(report, stage));
        }
    }
    answer.push(of_responses(stage));
    for times in &stage.response_times {
        answer.push(charts::histogram(times, &response_name(stage, times)));
    }
}

/// The means of some figures over the last rounds, in the order of the specification's plots.
fn heats(report: &PtsReport, stage: &StageReport, table: &CellTable, all: &[Shows], by: &str) -> Vec<Block> {
    let mut heats = Vec::new();
    for shows in all {
        let mut heat = HeatTable {
            caption: first_large(&format!("{} by {by}", shows.name)),
            head: table.columns.clone(),
            rows: Vec::new(),
        };
        for (name, cells) in &table.rows {
            let mut row = Vec::new();
            for cell in cells {
                row.push(cell.and_then(|cell| {
                    let value = stage.mean(cell, &report.rule, shows.of)?;
                    Some(HeatCell { value, words: (shows.show)(value), grade: stage.grade(cell) })
                }));
            }
            heat.rows.push((name.clone(), row));
        }
        heats.push(Heat { tables: vec![heat] }.into());
    }
    heats
}

/// Cells that differ in more than two ways, each with its means over the last rounds.
fn of_cells(report: &PtsReport, stage: &StageReport) -> Table {
    let all = [&IOPS, &THROUGHPUT, &MEAN, &LONGEST];
    let mut columns = vec![Column::words("cell", Room::Stays)];
    columns.extend(all.map(|shows| Column::numbers(shows.name, Room::Stays)));
    columns.push(Column::words("verdict", Room::Goes(1)));
    let mut table = Table::of("Means of the cells", columns);
    for (place, cell) in stage.cells.iter().enumerate() {
        let means = all.map(|shows| Cell::figure(stage.mean(place, &report.rule, shows.of), shows.show));
        table.push(&cell.name, [Vec::from(means), vec![Cell::Grade(stage.grade(place))]].concat());
    }
    table
}

/// A cell over its rounds, with what was written until then; evenly picked where there are many.
fn of_rounds(report: &PtsReport, stage: &StageReport) -> Table {
    let columns = vec![
        Column::numbers("round", Room::Stays),
        Column::numbers("written", Room::Stays),
        Column::numbers("drive fills", Room::Goes(2)),
        Column::numbers("IOPS", Room::Stays),
        Column::numbers("mean latency", Room::Stays),
        Column::numbers("longest latency", Room::Goes(3)),
        Column::words("verdict", Room::Goes(1)),
    ];
    let rounds: Vec<&Figures> = stage.whole().filter_map(|round| round.first()).collect();
    let step = rounds.len().div_ceil(ROWS_MAX).max(1);
    let picked = if step > 1 { format!(": one of {step}, and the last") } else { String::new() };
    let mut table = Table::of(format!("Rounds{picked}"), columns);
    let mut written: u64 = 0;
    for (place, figures) in rounds.iter().enumerate() {
        written = written.saturating_add(figures.written_bytes);
        if !place.is_multiple_of(step) && place + 1 != rounds.len() {
            continue;
        }
        let fills = written as f64 / report.head.capacity_bytes.max(1) as f64;
        let cells = vec![
            Cell::Figure(written as f64, bytes),
            Cell::Figure(fills, |fills| format!("{fills:.2}")),
            Cell::Figure(figures.iops, number),
            Cell::figure(figures.mean_ns, duration_ns),
            Cell::figure(figures.max_ns, duration_ns),
            Cell::Grade(figures.grade),
        ];
        table.push((place + 1).to_string(), cells);
    }
    table
}

/// The nines of response times; without rows where the test wants none.
fn of_responses(stage: &StageReport) -> Table {
    let columns = vec![
        Column::words("cell", Room::Stays),
        Column::numbers("mean", Room::Stays),
        Column::numbers("50 %", Room::Goes(2)),
        Column::numbers("90 %", Room::Goes(5)),
        Column::numbers("99 %", Room::Goes(1)),
        Column::numbers("99.9 %", Room::Goes(3)),
        Column::numbers("99.99 %", Room::Goes(4)),
        Column::numbers("99.999 %", Room::Stays),
        Column::numbers("longest", Room::Stays),
    ];
    let mut table = Table::of("Response times", columns);
    for times in &stage.response_times {
        let of = &times.summary;
        let nines = [of.p50_ns, of.p90_ns, of.p99_ns, of.p99_9_ns, of.p99_99_ns, of.p99_999_ns, of.max_ns];
        let mut cells = vec![Cell::Figure(of.mean_ns, duration_ns)];
        cells.extend(nines.map(|ns| Cell::Figure(ns as f64, duration_ns)));
        table.push(response_name(stage, times), cells);
    }
    table
}

/// Whose response times they are.
fn response_name(stage: &StageReport, times: &ResponseTimes) -> String {
    match stage.cells.get(times.cell) {
        Some(cell) if stage.cells.len() > 1 => {
            format!("{} T{} Q{}", cell.name, cell.threads, cell.outstanding)
        }
        Some(cell) => cell.name.clone(),
        None => String::new(),
    }
}

/// The values of each cell of each round.
fn values(report: &PtsReport) -> Table {
    let columns = vec![
        Column::value("part"),
        Column::value("stage"),
        Column::value("round"),
        Column::value("cell"),
        Column::value("threads"),
        Column::value("outstanding"),
        Column::value("iops"),
        Column::value("bytes_per_s"),
        Column::value("written_bytes"),
        Column::value("latency_mean_ns"),
        Column::value("latency_p99_999_ns"),
        Column::value("latency_max_ns"),
    ];
    let mut table = Table::of("", columns);
    for (part, stage) in report.stages() {
        for (round, cells) in stage.rounds.iter().enumerate() {
            for (cell, figures) in stage.cells.iter().zip(cells) {
                let row = vec![
                    Cell::Text(stage.name.clone()),
                    Cell::Whole(round as u64 + 1),
                    Cell::Text(cell.name.clone()),
                    Cell::Whole(cell.threads.into()),
                    Cell::Whole(cell.outstanding.into()),
                    Cell::Figure(figures.iops, number),
                    Cell::Figure(figures.bytes_per_s, number),
                    Cell::Figure(figures.written_bytes as f64, number),
                    Cell::figure(figures.mean_ns, number),
                    Cell::figure(figures.p99_999_ns, number),
                    Cell::figure(figures.max_ns, number),
                ];
                table.push(part, row);
            }
        }
    }
    table
}

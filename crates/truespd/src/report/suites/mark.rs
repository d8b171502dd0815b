//! `mark`: CrystalDiskMark's figures, and what they hide.

use super::super::Piece;
use super::super::axis::Point;
use super::super::axis::Spread;
use super::super::chart::Series;
use super::super::table::Cell;
use super::{named, words_table};
use crate::suite::figures;
use crate::suite::mark::{MarkReport, Operation, Row, Test};
use truespd_core::text::{bytes, decimal_rate, duration_ns, number, percent, size};

/// CrystalDiskMark's figures, the rates of all runs as a chart and a table, the verdict, the lines.
pub fn mark(report: &MarkReport) -> Vec<Piece> {
    let mut pieces = vec![Piece::Words(about(report))];
    let rows: Vec<&Row> = report.rows.iter().collect();
    let best = rows.iter().map(|row| best_of(row)).collect();
    let head = ["test", "rate", "IOPS", "mean latency", "verdict"];
    pieces.push(words_table("The best of the runs, as CrystalDiskMark tells it", &head, best));
    pieces.push(Piece::Note(
        "1 MB is 1,000,000 bytes. A name tells the pattern (SEQ: sequential, RND: random), the block size, the I/Os outstanding per \
         thread (Q) and the threads (T)."
            .into(),
    ));
    pieces.push(chart(report));
    let median = rows.iter().filter_map(|row| median_of(row)).collect();
    let head = ["test", "median rate", "±", "median of mean latency", "±", "runs"];
    pieces.push(words_table("The median of the runs, ± half of their range", &head, median));
    let loops = report.settings.loops as usize;
    for row in report.rows.iter().filter(|row| report.is_complete && row.loops.len() < loops) {
        let empty = loops - row.loops.len();
        let words = format!(
            "{}: {empty} of {loops} runs completed no I/O. Measure longer: --measure 60.",
            row.label()
        );
        pieces.push(Piece::Words(words));
    }
    pieces.push(Piece::Verdict(report.verdict.clone()));
    if !report.is_complete {
        pieces.push(Piece::Words("The series was stopped before its end.".into()));
    }
    let lines = report.rows.iter().filter(|row| !row.words.is_empty());
    let line = |row: &Row| {
        (row.label(), std::iter::once("diskspd".to_string()).chain(row.words.iter().cloned()).collect())
    };
    pieces.push(Piece::Heading("To repeat it".into()));
    pieces.push(Piece::Lines(lines.map(line).collect()));
    pieces
}

/// What was measured, where, when and how.
fn about(report: &MarkReport) -> String {
    let (host, place, settings) = (&report.host, &report.place, &report.settings);
    let used = place.used_bytes.zip(place.size_bytes).filter(|(_, all)| *all > 0).map(|(used, all)| {
        format!(", {} of {} in use", percent(used as f64 / all as f64), bytes(all as f64))
    });
    let whole = place.size_bytes.map(|all| format!(", {}", bytes(all as f64)));
    let room = used.or(whole).unwrap_or_default();
    let zeros = if settings.zero_data { ", zeros instead of random data" } else { "" };
    format!(
        "{} on {} ({}, Linux {})\n{}{room}\n{} of test data{zeros}, {} runs of {} s for each test",
        host.local_time.replace('T', " "),
        host.computer_name,
        host.system,
        host.kernel_release,
        place.path,
        size(settings.size_bytes),
        settings.loops,
        settings.measure_s
    )
}

fn best_of(row: &Row) -> (String, Vec<Cell>) {
    let cells = match &row.outcome {
        None => vec![Cell::Text("not measured".into())],
        Some(of) => vec![
            Cell::Text(decimal_rate(of.best_bytes_per_s)),
            Cell::Text(number(of.best_iops)),
            Cell::Text(duration_ns(of.best_latency_mean_ns)),
            Cell::Grade(Some(of.grade)),
        ],
    };
    (row.label(), cells)
}

fn median_of(row: &Row) -> Option<(String, Vec<Cell>)> {
    let of = row.outcome.as_ref()?;
    let spread = |spread: &figures::Spread| match spread.count {
        1 => "-".to_string(),
        _ => format!("{:.1} %", spread.percent()),
    };
    let cells = [
        decimal_rate(of.bytes_per_s.median),
        spread(&of.bytes_per_s),
        duration_ns(of.latency_mean_ns.median),
        spread(&of.latency_mean_ns),
        of.bytes_per_s.count.to_string(),
    ];
    Some((row.label(), cells.map(Cell::Text).into()))
}

/// The rates of each test: reads, writes and mixed beside each other.
fn chart(report: &MarkReport) -> Piece {
    let mut tests: Vec<Test> = Vec::new();
    for row in &report.rows {
        if !tests.contains(&row.test) {
            tests.push(row.test);
        }
    }
    let names = tests.iter().map(|test| format!("{}\n{}", test.access(), test.load())).collect();
    let mut chart = named("Rates of the tests", "test", "bytes per second", decimal_rate, names);
    chart.spread = Spread::Logarithmic;
    chart.about =
        "The point is the median of the runs. The line reaches from the slowest to the fastest.".into();
    for (part, name) in
        [(Operation::Read, "reads"), (Operation::Write, "writes"), (Operation::Mix, "reads and writes")]
    {
        let point = |(at, test): (usize, &Test)| {
            let row = report.rows.iter().find(|row| row.part == part && row.test == *test)?;
            let spread = &row.outcome.as_ref()?.bytes_per_s;
            Some(Point { x: at as f64, y: spread.median, range: [spread.min, spread.max] })
        };
        let points: Vec<Point> = tests.iter().enumerate().filter_map(point).collect();
        if !points.is_empty() {
            chart.series.push(Series::new(name, points));
        }
    }
    Piece::Chart(Box::new(chart))
}

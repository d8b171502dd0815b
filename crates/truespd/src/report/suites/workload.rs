//! `workload`: what a load with a name reached, and the highest rate that keeps a limit.

use super::super::Piece;
use super::super::axis::Point;
use super::super::axis::Spread;
use super::super::chart::{Chart, Guide, Series};
use super::super::course::latency_words;
use super::super::html::first_large;
use super::super::table::Cell;
use super::words_table;
use crate::suite::workload::{Outcome, Point as Tried, Row, Run, Search, SearchEnd};
use truespd_core::text::{duration_ns, number, percent, rate};

const NS_PER_MS: f64 = 1e6;

/// A figure of a rate that was tried.
type Figure = fn(&Tried) -> f64;

/// What it is, the answer of its search with the curve of response times, its runs, the verdict, the lines.
pub fn workload(outcome: &Outcome) -> Vec<Piece> {
    let source = match outcome.source.as_str() {
        "" => String::new(),
        source => format!("\nSource: {source}"),
    };
    let mut pieces = vec![Piece::Words(format!("{}: {}{source}", outcome.workload, outcome.about))];
    if let Some(search) = &outcome.search {
        pieces.extend(of_search(search));
    }
    pieces.extend(outcome.runs.iter().flat_map(of_run));
    pieces.push(Piece::Verdict(outcome.verdict.clone()));
    pieces.push(Piece::Heading("To repeat it".into()));
    let line = |run: &Run| {
        (run.name.clone(), std::iter::once("diskspd".to_string()).chain(run.line.clone()).collect())
    };
    pieces.push(Piece::Lines(outcome.runs.iter().map(line).collect()));
    pieces
}

fn of_run(run: &Run) -> Vec<Piece> {
    let row = |row: &Row| {
        let times = row.latency.as_ref();
        let shown = |ns: Option<f64>| ns.map_or("-".to_string(), duration_ns);
        let cells = [
            number(row.iops),
            rate(row.bytes_per_s),
            shown(times.map(|times| times.mean_ns)),
            shown(times.map(|times| times.p50_ns as f64)),
            shown(times.map(|times| times.p99_ns as f64)),
            shown(times.map(|times| times.max_ns as f64)),
        ];
        (format!("{} ({})", row.what, row.direction), cells.map(Cell::Text).into())
    };
    let busy = run.cpu_usage_percent.map(|cpu| format!(", the processors {} busy", percent(cpu / 100.0)));
    let grade = crate::suite::findings::word(run.grade);
    let mut pieces = vec![words_table(
        &format!("{}: {grade}{}", run.name, busy.unwrap_or_default()),
        &["I/Os", "IOPS", "throughput", "mean", "p50", "p99", "longest"],
        run.rows.iter().map(row).collect(),
    )];
    if run.rows.iter().any(|row| row.is_response) {
        pieces.push(Piece::Note(
            "Latencies of I/Os with a rate are response times: they begin when the rate (-g) scheduled the I/O."
                .into(),
        ));
    }
    pieces
}

fn of_search(search: &Search) -> Vec<Piece> {
    let mut pieces = vec![Piece::Answer(first_large(&search.answer())), Piece::Tiles(tiles(search))];
    let mut points: Vec<&Tried> = search.points.iter().collect();
    points.sort_by_key(|point| point.per_stream);
    if !points.is_empty() {
        pieces.push(Piece::Chart(Box::new(times(search, &points))));
        pieces.push(Piece::Chart(Box::new(rates(&points))));
    }
    let ms = |ms: f64| duration_ns(ms * NS_PER_MS);
    let row = |point: &&Tried| {
        let texts = [
            number(point.reached_iops),
            ms(point.mean_ms),
            ms(point.p50_ms),
            ms(point.p95_ms),
            ms(point.p99_ms),
            ms(point.max_ms),
            match (point.is_within, point.is_reached) {
                (true, _) => "yes".to_string(),
                (false, true) => "no".to_string(),
                (false, false) => "rate not reached".to_string(),
            },
        ];
        let cells = texts.map(Cell::Text).into_iter().chain([Cell::Grade(point.grade)]);
        (format!("{} IOPS", number(point.offered_iops)), cells.collect())
    };
    let head = ["offered", "reached", "mean", "p50", "p95", "p99", "longest", "limit kept", "verdict"];
    pieces.push(words_table(
        "Rates that were tried, with their response times",
        &head,
        points.iter().map(row).collect(),
    ));
    pieces
}

/// The rate that was found, and the rate without a limit.
fn tiles(search: &Search) -> Vec<(String, String)> {
    let limit = duration_ns(search.limit.ms * NS_PER_MS);
    let mut tiles = vec![(format!("limit of the {} response time", search.limit.of.word()), limit)];
    if let Some(rate) = found(search) {
        tiles.push(("highest IOPS that keep it".to_string(), number(rate)));
        tiles.push(("of the IOPS without a limit".to_string(), percent(rate / search.unlimited_iops)));
    }
    tiles.push(("IOPS without a limit".to_string(), number(search.unlimited_iops)));
    tiles
}

/// I/Os per second of the answer.
fn found(search: &Search) -> Option<f64> {
    match search.end {
        Some(SearchEnd::Found(rate) | SearchEnd::AllKeepIt(rate)) => {
            Some(rate.saturating_mul(search.streams) as f64)
        }
        _ => None,
    }
}

/// Response times against the rate that was offered, with the limit and the answer.
fn times(search: &Search, points: &[&Tried]) -> Chart {
    let mut chart = Chart::new(
        "Response times against the rate",
        "I/Os per second offered",
        "response time",
        number,
        latency_words,
    );
    chart.spread = Spread::Logarithmic;
    chart.is_dots = true;
    chart.about = "Each point is a run. Response times begin when the rate (-g) scheduled the I/O.".into();
    let all: [(&str, Figure); 4] = [
        ("mean", |point| point.mean_ms),
        ("p95", |point| point.p95_ms),
        ("p99", |point| point.p99_ms),
        ("longest", |point| point.max_ms),
    ];
    for (name, of) in all {
        let point = |point: &&Tried| Point::at(point.offered_iops, of(point) * NS_PER_MS);
        chart.series.push(Series::new(name, points.iter().map(point).collect()));
    }
    let limit = format!("limit of {}", search.limit.of.word());
    chart.levels.push(Guide { at: search.limit.ms * NS_PER_MS, name: limit });
    chart.guides.extend(found(search).map(|at| Guide { at, name: "highest rate".into() }));
    chart
}

/// The rate that was reached against the rate that was offered.
fn rates(points: &[&Tried]) -> Chart {
    let mut chart = Chart::new(
        "Rate reached against the rate offered",
        "I/Os per second offered",
        "I/Os per second",
        number,
        number,
    );
    let line = |name: &str, of: Figure| {
        Series::new(name, points.iter().map(|point| Point::at(point.offered_iops, of(point))).collect())
    };
    chart.about =
        "Where the storage cannot keep up, the rate that it reached lies below the rate that was offered."
            .into();
    let mut offered = line("offered", |point| point.offered_iops);
    // Dashed, so that what was reached is seen where the two are the same.
    offered.solid_until = f64::NEG_INFINITY;
    chart.series = vec![line("reached", |point| point.reached_iops), offered];
    chart
}

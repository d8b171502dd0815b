//! The charts of suites: one function per kind of document.

use super::axis::Spread;
use super::chart::{Chart, Point, Series, Ticks};
use super::course::latency_words;
use crate::suite::ab::Comparison;
use crate::suite::assess::Assessment;
use crate::suite::mark::MarkReport;
use crate::suite::study::StudyReport;
use crate::suite::workload::Outcome;
use crate::text::{decimal_rate, number, rate};

fn place(x: f64) -> String {
    number(x)
}

/// Things that stand beside each other, each with its name.
fn named(title: &str, x_name: &str, y_name: &str, show_y: fn(f64) -> String, names: Vec<String>) -> Chart {
    let mut chart = Chart::new(title, x_name, y_name, place, show_y);
    chart.ticks = Ticks::Named(names.into_iter().enumerate().map(|(at, name)| (at as f64, name)).collect());
    chart.is_dots = true;
    chart
}

/// `mark`: the rates of each test, its median with the smallest and the largest.
pub fn mark(report: &MarkReport) -> Vec<Chart> {
    let name = |row: &crate::suite::mark::Row| format!("{} {}", row.test, row.part.word());
    let names = report.rows.iter().map(name).collect();
    let mut chart = named("Rates of the tests", "test", "bytes per second", decimal_rate, names);
    chart.spread = Spread::Logarithmic;
    chart.about =
        "The point is the median of the runs; the line reaches from the slowest to the fastest.".into();
    let points = report.rows.iter().enumerate().filter_map(|(at, row)| {
        let spread = &row.outcome.as_ref()?.bytes_per_s;
        Some(Point { x: at as f64, y: spread.median, range: [spread.min, spread.max] })
    });
    chart.series.push(Series::new("rate", points.collect()));
    vec![chart]
}

/// `workload`: response times against the rate that was offered, and the rate that was reached.
pub fn workload(outcome: &Outcome) -> Vec<Chart> {
    let Some(search) = &outcome.search else { return Vec::new() };
    let mut points: Vec<_> = search.points.iter().collect();
    points.sort_by(|a, b| a.offered_iops.total_cmp(&b.offered_iops));
    let line = |name: &str, of: fn(&crate::suite::workload::Point) -> f64| {
        Series::new(name, points.iter().map(|point| Point::at(point.offered_iops, of(point))).collect())
    };
    let mut times = Chart::new(
        "Response times against the rate",
        "I/Os per second offered",
        "response time",
        number,
        latency_words,
    );
    times.spread = Spread::Logarithmic;
    times.is_dots = true;
    times.about = "Each point is a run.".into();
    times.series = vec![
        line("mean", |p| p.mean_ms * 1e6),
        line("p95", |p| p.p95_ms * 1e6),
        line("p99", |p| p.p99_ms * 1e6),
    ];
    let mut rates = Chart::new(
        "Rate reached against the rate offered",
        "I/Os per second offered",
        "I/Os per second",
        number,
        number,
    );
    rates.series = vec![line("reached", |p| p.reached_iops), line("offered", |p| p.offered_iops)];
    vec![times, rates]
}

/// `ab`: both sides in each block.
pub fn ab(comparison: &Comparison) -> Vec<Chart> {
    blocks("A and B in each block", comparison)
}

fn blocks(title: &str, comparison: &Comparison) -> Vec<Chart> {
    let figure = |values: [f64; 2]| values.iter().sum::<f64>() / 2.0;
    let names: Vec<String> = (1..=comparison.blocks.len()).map(|number| number.to_string()).collect();
    let show: fn(f64) -> String = match comparison.metric.unit() {
        crate::result::metrics::Unit::PerSecond => number,
        crate::result::metrics::Unit::BytesPerSecond => rate,
        crate::result::metrics::Unit::Nanoseconds => latency_words,
    };
    let mut values = named(title, "block", comparison.what(), show, names);
    values.about =
        "The point is the mean of the two runs of a side; the line reaches from one to the other.".into();
    for (name, of) in
        [("A", (|block| block.a) as fn(&crate::suite::ab::Block) -> [f64; 2]), ("B", |block| block.b)]
    {
        let points = comparison.blocks.iter().enumerate().map(|(at, block)| {
            let [one, other] = of(block);
            Point { x: at as f64, y: figure([one, other]), range: [one.min(other), one.max(other)] }
        });
        values.series.push(Series::new(name, points.collect()));
    }
    vec![values]
}

/// `study`: the blocks of each comparison.
pub fn study(report: &StudyReport) -> Vec<Chart> {
    report.parts.iter().flat_map(|part| blocks(&part.title, &part.comparison)).collect()
}

/// `assess`: nothing; its figures have different units, and the table tells them with their limits.
pub fn assess(_: &Assessment) -> Vec<Chart> {
    Vec::new()
}

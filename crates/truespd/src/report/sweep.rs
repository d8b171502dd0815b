//! The page of a sweep: what it says, its rate and latencies over the first switch that was varied, and all points.

use super::suites::{OF_RUNS, Page, heading, repeat, texts};
use crate::answer::axis::{Point, Spread};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::findings::of_series;
use crate::answer::heat::{HeatCell, HeatTable};
use crate::answer::html::{details, first_large, latency_words, note, paragraph};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::sweep::SweepReport;
use crate::suite::sweep::heat;
use crate::suite::sweep::report::Point as Measured;
use truespd_platform::text::{number, percent, rate, shell_line, with_micro};

/// Ramps whose answers are shown without being asked for.
const ANSWERS_MAX: usize = 4;
/// Lines of a chart, at most: it has so many colours.
const LINES_MAX: usize = 8;

impl Page for SweepReport {
    fn html(&self) -> String {
        let mut out = paragraph("subtitle", &shell_line(&self.line));
        out += &answers(self);
        for sentence in self.sentences() {
            out += &paragraph("", &with_micro(&sentence));
        }
        out += &of_series(&self.verdict);
        out += &rates(self).html();
        out += &latencies(self).html();
        if lines(self).len() > LINES_MAX {
            out += &note(&format!(
                "The charts show the first {LINES_MAX} of {} combinations.",
                lines(self).len()
            ));
        }
        out += &heats(self);
        out += &table(self).html();
        let smallest = self.groups().into_iter().map(|group| (group.name, self.line_of(group.ramp.knee)));
        let smallest: Vec<(String, Vec<String>)> = smallest.collect();
        if !smallest.is_empty() {
            out += &heading("The smallest line that reaches 95 % of the plateau");
            out += &repeat(smallest.iter().map(|(name, line)| (name.clone(), line.as_slice())));
        }
        out
    }

    fn picture(&self) -> Option<(Picture, String)> {
        let group = self.groups().into_iter().next();
        let says = group.map_or_else(|| self.sentences(), |group| self.sentences_of(&group));
        Some((rates(self).into(), first_large(&says.into_iter().next().unwrap_or_default())))
    }
}

/// What each ramp says; those behind the first few are folded up.
fn answers(report: &SweepReport) -> String {
    let (mut first, mut others) = (String::new(), String::new());
    let groups = report.groups();
    for (place, group) in groups.iter().enumerate() {
        let mut lines = Vec::new();
        if !group.name.is_empty() {
            lines.push(group.name.clone());
        }
        lines.extend(report.sentences_of(group).iter().map(|sentence| first_large(&with_micro(sentence))));
        let said = paragraph("answer", &lines.join("\n"));
        if place < ANSWERS_MAX { first += &said } else { others += &said }
    }
    if !others.is_empty() {
        first += &details(&format!("{} more combinations", groups.len() - ANSWERS_MAX), &others);
    }
    first
}

/// The values of all switches but the first, each combination once.
fn lines(report: &SweepReport) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    for point in &report.points {
        let others = point.values.get(1..).unwrap_or_default().to_vec();
        if !all.contains(&others) {
            all.push(others);
        }
    }
    all
}

/// A chart over the first switch, with a line for each combination of the others.
fn over_first(
    report: &SweepReport,
    title: &str,
    y_name: &str,
    show_y: fn(f64) -> String,
    value: impl Fn(&Measured) -> Option<Point>,
) -> Chart {
    let Some(first) = report.axes.first() else { return Chart::new(title, "", y_name, number, show_y) };
    let mut chart = Chart::new(title, &first.shown(), y_name, number, show_y);
    let names = first.values.iter().enumerate();
    chart.ticks = Ticks::Named(names.map(|(at, name)| (at as f64, name.clone())).collect());
    for others in lines(report).iter().take(LINES_MAX) {
        let mut points = Vec::new();
        for point in
            report.points.iter().filter(|point| point.values.get(1..).unwrap_or_default() == &others[..])
        {
            let at = first.values.iter().position(|value| point.values.first() == Some(value));
            if let (Some(at), Some(shown)) = (at, value(point)) {
                points.push(Point { x: at as f64, ..shown });
            }
        }
        let mut name = Vec::new();
        for (axis, value) in report.axes.iter().skip(1).zip(others) {
            name.push(axis.with(value));
        }
        if !points.is_empty() {
            chart.series.push(Series::new(name.join(", "), points));
        }
    }
    chart
}

fn rates(report: &SweepReport) -> Chart {
    let mut chart = over_first(report, "IOPS", "I/Os per second", number, |point| {
        let iops = point.iops()?;
        Some(Point { range: [iops.low, iops.high], ..Point::at(0.0, iops.mean) })
    });
    chart.about = OF_RUNS.into();
    chart
}

fn latencies(report: &SweepReport) -> Chart {
    let mut chart = over_first(report, "Mean latency", "latency", latency_words, |point| {
        Some(Point::at(0.0, point.mean_ns()?))
    });
    chart.spread = Spread::Logarithmic;
    chart
}

/// The rates over the first two switches, a table for each combination of the others.
fn heats(report: &SweepReport) -> String {
    let heats = report.heats();
    let most = heat::most(&heats);
    let mut out = String::new();
    for of in &heats {
        let mut table = HeatTable { caption: of.title.clone(), head: Vec::new(), rows: Vec::new() };
        for value in &of.columns.values {
            table.head.push(of.columns.with(value));
        }
        for (value, points) in of.rows.values.iter().zip(&of.cells) {
            let mut cells = Vec::new();
            for point in points {
                cells.push(
                    point
                        .map(|point| HeatCell { words: heat::figure(point), part: heat::iops(point) / most }),
                );
            }
            table.rows.push((of.rows.with(value), cells));
        }
        out += &table.html();
    }
    if !heats.is_empty() {
        out += &note("The stronger the colour of a cell, the higher its rate.");
    }
    for line in heat::doubts(&heats, usize::MAX).lines() {
        out += &note(line);
    }
    out
}

fn figure(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or("-".to_string(), show)
}

fn table(report: &SweepReport) -> Table {
    let head = ["point", "IOPS", "±", "throughput", "mean", "p99", "CPU", "in flight", "runs", "verdict"];
    let mut table = Table::new("All points", head);
    for point in report.points.iter().filter(|point| !point.runs.is_empty()) {
        let mut cells = texts([
            figure(point.iops().map(|iops| iops.mean), number),
            figure(point.error_percent(), |error| format!("{error:.1} %")),
            figure(point.bytes_per_s().map(|bytes| bytes.mean), rate),
            figure(point.mean_ns(), latency_words),
            figure(point.p99_ns(), latency_words),
            figure(point.cpu_percent(), |used| percent(used / 100.0)),
            figure(point.in_flight(), number),
            point.runs.len().to_string(),
        ]);
        cells.push(Cell::Grade(point.grade()));
        table.push(report.name(point), cells);
    }
    table
}

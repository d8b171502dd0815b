//! The plots of a test after SNIA's PTS: how it became steady, and the specification's own.

use super::report::{CellTable, Course, Figures, PtsReport, ResponseTimes, StageReport};
use super::table::{Figure, mix};
use crate::answer::axis::{Point, Spread};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::html::latency_words;
use crate::answer::rounds::{Window, line, of_rounds, push_window};
use truespd_core::profile::SteadyRule;
use truespd_core::result::rounds::Tracked;
use truespd_platform::text::{bytes, duration_ns, number, precise, rate, with_micro};

/// Lines of a chart, at most: it has so many colours.
const CELLS_MAX: usize = 8;

/// A figure that tables show: its name, where it is in a round, and how it is written.
pub struct Shows {
    pub name: &'static str,
    pub of: fn(&Figures) -> Option<f64>,
    pub show: fn(f64) -> String,
}

fn line_over(stage: &StageReport, cell: usize, name: &str, of: fn(&Figures) -> Option<f64>) -> Series {
    line(name, stage.whole().map(|cells| cells.get(cell).and_then(of)))
}

/// The throughput of all cells over the rounds; without lines where they are too many.
pub fn over_rounds(stage: &StageReport) -> Chart {
    let mut chart = of_rounds("Throughput of each round", "of each cell", rate, stage.whole().count());
    if stage.cells.len() <= CELLS_MAX {
        for (place, cell) in stage.cells.iter().enumerate() {
            chart.series.push(line_over(stage, place, &cell.name, |it| Some(it.bytes_per_s)));
        }
    }
    chart
}

/// All sizes over the rounds, written only.
fn of_writes(
    stage: &StageReport,
    table: &CellTable,
    title: &str,
    show: fn(f64) -> String,
    of: fn(&Figures) -> Option<f64>,
) -> Chart {
    let mut chart = of_rounds(title, "of each size, writes only (0/100)", show, stage.whole().count());
    let column = table.columns.iter().position(|column| *column == mix(0)).unwrap_or(0);
    for (block, cells) in &table.rows {
        if let Some(Some(cell)) = cells.get(column) {
            chart.series.push(line_over(stage, *cell, block, of));
        }
    }
    chart.spread = Spread::Logarithmic;
    chart
}

/// How all sizes became steady.
pub fn convergence(report: &PtsReport, stage: &StageReport, table: &CellTable) -> Vec<Chart> {
    if report.test != "latency" {
        return vec![of_writes(stage, table, "Convergence: IOPS", number, |it| Some(it.iops))];
    }
    vec![
        of_writes(stage, table, "Convergence: mean latency", latency_words, |it| it.mean_ns),
        of_writes(stage, table, "Convergence: longest latency", latency_words, |it| it.max_ns),
    ]
}

/// A tracking variable over the rounds that are judged, with the window, its mean, what is allowed, and its line.
pub fn of_course(stage: &StageReport, course: &Course<'_>, rule: &SteadyRule) -> Chart {
    let (show, unit, unit_words) = match course.tracked.figure {
        Figure::Iops => (number as fn(f64) -> String, 1.0, "IOPS"),
        Figure::Throughput => (rate as _, 1.0, "bytes/s"),
        Figure::MeanLatency => (latency_words as _, 1e3, "\u{b5}s"),
    };
    let title = format!("Steady state: {}", course.tracked.name);
    let count = course.values.len();
    let mut chart = of_rounds(&title, &course.tracked.name, show, count);
    if stage.every > 1 {
        chart.x_name = format!("every {}th sample", stage.every);
    }
    chart.series.push(line("each round", course.values.iter().copied().map(Some)));
    let rounds = rule.window as usize;
    let (Some(excursions), 2..) = (course.excursions, rounds) else { return chart };
    let tracked = Tracked { name: "", excursions };
    let is_steady = course.is_steady(rule) == Some(true);
    push_window(&mut chart, &Window { rounds, tracked, rule, is_steady });
    let mean = course.values[count - rounds..].iter().sum::<f64>() / rounds as f64;
    let each = mean * excursions.slope / (rounds - 1) as f64;
    let middle = count as f64 - (rounds - 1) as f64 / 2.0;
    chart.about.push_str(&format!(
        " The line is {} + {} x round, in {unit_words}.",
        precise((mean - each * middle) / unit),
        precise(each / unit)
    ));
    chart
}

/// The specification's 2-D plot: a line for each mix over the sizes.
pub fn over_sizes(report: &PtsReport, stage: &StageReport, table: &CellTable, shows: &Shows) -> Chart {
    let show = if report.test == "latency" { latency_words } else { number as fn(f64) -> String };
    let title = format!("{} over the size", shows.name);
    let mut chart = Chart::new(&title, "size of an I/O", shows.name, number, show);
    // From the smallest size on.
    let rows: Vec<&(String, Vec<Option<usize>>)> = table.rows.iter().rev().collect();
    let names = rows.iter().enumerate();
    chart.ticks = Ticks::Named(names.map(|(at, (block, _))| (at as f64, block.clone())).collect());
    for (column, name) in table.columns.iter().enumerate() {
        let mut points = Vec::new();
        for (at, (_, cells)) in rows.iter().enumerate() {
            let cell = cells.get(column).copied().flatten();
            if let Some(mean) = cell.and_then(|cell| stage.mean(cell, &report.rule, shows.of)) {
                points.push(Point::at(at as f64, mean));
            }
        }
        chart.series.push(Series::new(name.clone(), points));
    }
    chart.spread = Spread::Logarithmic;
    chart
}

/// Mean latency against the rate, a line for each number of threads.
pub fn demand_curve(report: &PtsReport, stage: &StageReport, table: &CellTable) -> Chart {
    let mut chart = Chart::new("Mean latency against IOPS", "IOPS", "mean latency", number, latency_words);
    for (name, cells) in &table.rows {
        let mut points = Vec::new();
        for cell in cells.iter().flatten() {
            let iops = stage.mean(*cell, &report.rule, |it| Some(it.iops));
            let mean = stage.mean(*cell, &report.rule, |it| it.mean_ns);
            if let (Some(iops), Some(mean)) = (iops, mean) {
                points.push(Point::at(iops, mean));
            }
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        chart.series.push(Series::new(name.clone(), points));
    }
    chart.about = "Each line is a number of threads (T), with 1 to 32 I/Os outstanding for each.".to_string();
    chart.spread = Spread::Logarithmic;
    chart
}

/// All stages over the time of the test, the waits among it.
pub fn over_time(report: &PtsReport) -> [Chart; 2] {
    let is_hir = report.test == "hir";
    let mut rates = Chart::new("Throughput over time", "minutes", "throughput", precise, rate);
    if is_hir {
        rates = Chart::new("IOPS over time", "minutes", "IOPS", precise, number);
    }
    rates.is_dots = true;
    let mut latencies =
        Chart::new("Mean and longest latency over time", "minutes", "latency", precise, latency_words);
    latencies.spread = Spread::Logarithmic;
    let (mut means, mut longest) = (Vec::new(), Vec::new());
    let mut minutes = 0.0;
    for (_, stage) in report.stages() {
        let mut points = Vec::new();
        for figures in stage.whole().filter_map(|round| round.first()) {
            minutes += figures.measured_s / 60.0;
            points.push(Point::at(minutes, if is_hir { figures.iops } else { figures.bytes_per_s }));
            means.extend(figures.mean_ns.map(|ns| Point::at(minutes, ns)));
            longest.extend(figures.max_ns.map(|ns| Point::at(minutes, ns)));
            minutes += stage.wait_s / 60.0;
        }
        match rates.series.iter_mut().find(|series| series.name == stage.name) {
            Some(series) => series.points.extend(points),
            None => rates.series.push(Series::new(stage.name.clone(), points)),
        }
    }
    latencies.series.push(Series::new("mean", means));
    latencies.series.push(Series::new("longest", longest));
    [rates, latencies]
}

/// A cell against time, what was written, and drive fills; and its latencies against time.
pub fn over_writes(report: &PtsReport, stage: &StageReport) -> Vec<Chart> {
    let capacity = report.head.capacity_bytes.max(1) as f64;
    let (mut minutes, mut written) = (0.0, 0.0);
    let (mut of_time, mut of_bytes, mut of_fills) = (Vec::new(), Vec::new(), Vec::new());
    let mut latencies = [Vec::new(), Vec::new(), Vec::new()];
    for figures in stage.whole().filter_map(|round| round.first()) {
        minutes += figures.measured_s / 60.0;
        written += figures.written_bytes as f64;
        of_time.push(Point::at(minutes, figures.iops));
        of_bytes.push(Point::at(written, figures.iops));
        of_fills.push(Point::at(written / capacity, figures.iops));
        for (points, ns) in latencies.iter_mut().zip([figures.mean_ns, figures.p99_999_ns, figures.max_ns]) {
            points.extend(ns.map(|ns| Point::at(minutes, ns)));
        }
    }
    let mut charts = Vec::new();
    for (title, x_name, show_x, points) in [
        ("IOPS over time", "minutes", precise as fn(f64) -> String, of_time),
        ("IOPS over what was written", "written", bytes, of_bytes),
        ("IOPS over drive fills", "times the capacity was written", precise, of_fills),
    ] {
        let mut chart = Chart::new(title, x_name, "IOPS", show_x, number);
        chart.series.push(Series::new("each sample", points));
        charts.push(chart);
    }
    let mut chart = Chart::new("Latencies over time", "minutes", "latency", precise, latency_words);
    for (name, points) in ["mean", "99.999 %", "longest"].into_iter().zip(latencies) {
        chart.series.push(Series::new(name, points));
    }
    chart.spread = Spread::Logarithmic;
    charts.push(chart);
    charts
}

/// How many I/Os took how long.
pub fn histogram(times: &ResponseTimes, name: &str) -> Chart {
    let title = format!("Histogram of response times: {name}");
    let mut chart = Chart::new(&title, "response time up to", "I/Os", number, number);
    let mut points = Vec::new();
    let mut names = Vec::new();
    for (place, bar) in times.bars.iter().filter(|bar| bar.ios > 0).enumerate() {
        points.push(Point::at(place as f64, bar.ios as f64));
        names.push((place as f64, with_micro(&duration_ns(bar.up_to_ns))));
    }
    chart.ticks = Ticks::Named(names);
    chart.is_dots = true;
    chart.spread = Spread::Logarithmic;
    chart.series.push(Series::new("I/Os", points));
    chart
}

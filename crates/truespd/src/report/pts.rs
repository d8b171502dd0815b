//! The page of a test after SNIA's PTS: its head, whether it is steady, and the specification's plots and tables.

use super::rounds::{push_window, round_words};
use super::suites::{Page, heading, repeat};
use crate::answer::axis::{Point, Spread};
use crate::answer::chart::{Chart, Phase, Series, Ticks};
use crate::answer::findings::of_series;
use crate::answer::heat::{Heat, HeatCell, HeatTable};
use crate::answer::html::{latency_words, note, paragraph, table};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::pts::PtsReport;
use crate::suite::pts::recovery;
use crate::suite::pts::report::{CellTable, Course, Figures, ResponseTimes, StageReport};
use crate::suite::pts::table::{Figure, mix};
use crate::suite::pts::text::{OF_DEMANDS, Shows, head_lines, nines, response_name, sentences, shown_of};
use truespd_core::profile::SteadyRule;
use truespd_core::result::rounds::Tracked;
use truespd_platform::text::{bytes, duration_ns, number, precise, rate, with_micro};

/// More numbers of rounds than this would touch each other.
const TICKS_MAX: usize = 25;

impl Page for PtsReport {
    fn html(&self) -> String {
        let mut out = paragraph("subtitle", &format!("after SNIA PTS 2.0.2 ({})", self.class.edition()));
        let are_several = self.stages().filter(|(_, stage)| !stage.tracked.is_empty()).count() > 1;
        for (part, stage) in self.stages() {
            let name = if part.is_empty() { stage.name.as_str() } else { part };
            for sentence in sentences(self, stage) {
                let of = if are_several { format!("{name}: ") } else { String::new() };
                out += &paragraph("answer", &with_micro(&format!("{of}{sentence}")));
            }
        }
        if let Some(told) = recovery::sentence(self) {
            out += &paragraph("answer", &with_micro(&told));
        }
        out += &of_series(&self.verdict);
        let mut head = Table::new("Head of the report", ["", "value"]);
        for (name, words) in head_lines(self) {
            head.push(name, vec![Cell::Text(words)]);
        }
        out += &head.html();
        if !self.deviations.is_empty() {
            out += &heading("Deviations from the specification");
        }
        for deviation in &self.deviations {
            out += &note(deviation);
        }
        if recovery::is_one_course(self) {
            out += &of_recovery(self);
        }
        for (part, stage) in self.stages().filter(|(_, stage)| stage.whole().next().is_some()) {
            if recovery::is_one_course(self) && stage.tracked.is_empty() {
                continue;
            }
            let name = [part, stage.name.as_str()].join(" ");
            out += &heading(name.trim_start());
            out += &of_stage(self, stage);
        }
        let mut lines = Vec::new();
        for (_, stage) in self.stages() {
            lines.extend(stage.cells.iter().filter(|cell| !cell.line.is_empty()));
        }
        out += &heading("Lines of the cells");
        out + &repeat(lines.iter().map(|cell| (cell.name.clone(), cell.line.as_slice())))
            + &note(&format!("Figures of the test: {}.", self.source))
    }

    fn picture(&self) -> Option<(Picture, String)> {
        let (_, stage) = self.stages().find(|(_, stage)| !stage.tracked.is_empty())?;
        let course = stage.courses(&self.rule).into_iter().next()?;
        let chart = of_course(stage, &course, &self.rule);
        let says = sentences(self, stage).into_iter().next().unwrap_or_default();
        if chart.is_empty() { None } else { Some((chart.into(), says)) }
    }
}

fn of_stage(report: &PtsReport, stage: &StageReport) -> String {
    let mut out = String::new();
    if let Some(table) = stage.table() {
        out += &convergence(stage, &table, report).html();
        if report.test == "latency" {
            out += &longest(stage, &table).html();
        }
    } else if stage.demands().is_none() && stage.cells.len() > 1 && stage.rounds.len() > 1 {
        out += &over_rounds(stage, "Throughput of each round", rate, |it| Some(it.bytes_per_s)).html();
    }
    for course in stage.courses(&report.rule) {
        out += &of_course(stage, &course, &report.rule).html();
    }
    if let Some(table) = stage.table() {
        for shows in shown_of(report) {
            out += &heat(report, stage, &table, shows).html();
        }
        out += &note("Means of the window. These tables are the specification's 3-D plots.");
        out += &over_sizes(report, stage, &table).html();
    } else if let Some(table) = stage.demands() {
        for shows in &OF_DEMANDS {
            out += &heat(report, stage, &table, shows).html();
        }
        out += &note("Threads (T) and I/Os outstanding for each (Q); means of the window.");
        out += &demand_curve(report, stage, &table).html();
    } else if report.test == "wsat" && stage.rounds.len() > 1 {
        for chart in over_writes(report, stage) {
            out += &chart.html();
        }
    }
    for times in &stage.response_times {
        out += &histogram(times, &response_name(stage, times));
    }
    out
}

/// A chart with a number for each round that is judged.
fn of_rounds(title: &str, y_name: &str, rounds: usize, show_y: fn(f64) -> String) -> Chart {
    let mut chart = Chart::new(title, "rounds", y_name, round_words, show_y);
    let numbers = (1..=rounds).step_by(rounds.div_ceil(TICKS_MAX).max(1));
    chart.ticks = Ticks::Named(numbers.map(|number| (number as f64, number.to_string())).collect());
    chart
}

fn line_over(stage: &StageReport, cell: usize, name: &str, of: fn(&Figures) -> Option<f64>) -> Series {
    let mut points = Vec::new();
    for (round, cells) in stage.whole().enumerate() {
        if let Some(value) = cells.get(cell).and_then(of) {
            points.push(Point::at((round + 1) as f64, value));
        }
    }
    Series::new(name, points)
}

/// All cells over the rounds.
fn over_rounds(
    stage: &StageReport,
    title: &str,
    show: fn(f64) -> String,
    of: fn(&Figures) -> Option<f64>,
) -> Chart {
    let mut chart = of_rounds(title, "of each cell", stage.whole().count(), show);
    if stage.cells.len() <= 8 {
        for (place, cell) in stage.cells.iter().enumerate() {
            chart.series.push(line_over(stage, place, &cell.name, of));
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
    let mut chart = of_rounds(title, "of each size, writes only (0/100)", stage.whole().count(), show);
    let column = table.columns.iter().position(|column| *column == mix(0)).unwrap_or(0);
    for (block, cells) in &table.rows {
        if let Some(Some(cell)) = cells.get(column) {
            chart.series.push(line_over(stage, *cell, block, of));
        }
    }
    chart.spread = Spread::Logarithmic;
    chart
}

fn convergence(stage: &StageReport, table: &CellTable, report: &PtsReport) -> Chart {
    if report.test == "latency" {
        return of_writes(stage, table, "Convergence: mean latency", latency_words, |it| it.mean_ns);
    }
    of_writes(stage, table, "Convergence: IOPS", number, |it| Some(it.iops))
}

fn longest(stage: &StageReport, table: &CellTable) -> Chart {
    of_writes(stage, table, "Convergence: longest latency", latency_words, |it| it.max_ns)
}

/// A tracking variable over the rounds that are judged, with the window, its mean, what is allowed, and its line.
fn of_course(stage: &StageReport, course: &Course<'_>, rule: &SteadyRule) -> Chart {
    let show = match course.tracked.figure {
        Figure::Iops => number as fn(f64) -> String,
        Figure::Throughput => rate,
        Figure::MeanLatency => latency_words,
    };
    let title = format!("Steady state: {}", course.tracked.name);
    let mut chart = of_rounds(&title, &course.tracked.name, course.values.len(), show);
    if stage.every > 1 {
        chart.x_name = format!("every {}th sample", stage.every);
    }
    let points: Vec<Point> = course
        .values
        .iter()
        .enumerate()
        .map(|(place, value)| Point::at((place + 1) as f64, *value))
        .collect();
    let first = points.len().saturating_sub(rule.window as usize);
    let window = points[first..].to_vec();
    chart.series.push(Series::new("each round", points));
    if let (Some(excursions), [from, .., to]) = (course.excursions, window.as_slice()) {
        let is_steady = course.is_steady(rule) == Some(true);
        let name = if is_steady { "window: steady" } else { "window: not steady" };
        chart.phases.push(Phase { name, from: from.x, to: to.x });
        let mean = window.iter().map(|point| point.y).sum::<f64>() / window.len() as f64;
        let each = mean * excursions.slope / (to.x - from.x);
        push_window(&mut chart, &window, Tracked { name: "", excursions }, rule);
        let unit = if course.tracked.figure == Figure::MeanLatency { 1e3 } else { 1.0 };
        let unit_words = match course.tracked.figure {
            Figure::Iops => "IOPS",
            Figure::Throughput => "bytes/s",
            Figure::MeanLatency => "\u{b5}s",
        };
        let at_zero = mean - each * (from.x + to.x) / 2.0;
        chart.about.push_str(&format!(
            " The line is {} + {} x round, in {unit_words}.",
            precise(at_zero / unit),
            precise(each / unit)
        ));
    }
    chart
}

fn heat(report: &PtsReport, stage: &StageReport, table: &CellTable, shows: &Shows) -> Heat {
    let by = if stage.table().is_some() { "size and reads/writes" } else { "threads and outstanding I/Os" };
    let caption = format!("{} by {by}", shows.name);
    let mut heat = HeatTable { caption, head: Vec::new(), rows: Vec::new() };
    heat.head.clone_from(&table.columns);
    for (block, cells) in &table.rows {
        let mut row = Vec::new();
        for cell in cells {
            row.push(cell.and_then(|cell| {
                let value = stage.mean(cell, &report.rule, shows.of)?;
                Some(HeatCell { value, words: (shows.show)(value), grade: stage.grade(cell) })
            }));
        }
        heat.rows.push((block.clone(), row));
    }
    Heat { tables: vec![heat] }
}

/// The specification's 2-D plot: a line for each mix over the sizes.
fn over_sizes(report: &PtsReport, stage: &StageReport, table: &CellTable) -> Chart {
    let Some(shows) = shown_of(report).first() else {
        return Chart::new("", "", "", number, number);
    };
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
fn demand_curve(report: &PtsReport, stage: &StageReport, table: &CellTable) -> Chart {
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
fn of_recovery(report: &PtsReport) -> String {
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
    let mut out = heading("Recovery");
    if let Some(rows) = recovery::table(report) {
        let head: Vec<String> = rows.head.iter().map(ToString::to_string).collect();
        let mut lines = Vec::new();
        for line in &rows.lines {
            lines.push(line.iter().map(|words| with_micro(words)).collect());
        }
        out += &table(rows.caption, &head, &lines);
    }
    out + &rates.html() + &latencies.html()
}

/// A cell against time, what was written, and drive fills; and its latencies against time.
fn over_writes(report: &PtsReport, stage: &StageReport) -> Vec<Chart> {
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

/// How many I/Os took how long, and the nines.
fn histogram(times: &ResponseTimes, name: &str) -> String {
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
    let mut table = Table::new(format!("Response times: {name}"), ["share of the I/Os", "up to"]);
    for (name, ns) in nines(times) {
        table.push(name, vec![Cell::Text(latency_words(ns))]);
    }
    chart.html() + &table.html()
}

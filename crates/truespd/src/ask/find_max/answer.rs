//! What a search for the highest rate says: the answer, and the rates that were tried.

use super::HighestRate;
use super::search::{Search, SearchEnd, kept_words};
use super::trial::Point as Tried;
use crate::answer::axis::{Point, Spread};
use crate::answer::chart::{Chart, Guide, Series};
use crate::answer::html::latency_words;
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Block, Commands, SeriesVerdict};
use crate::ask::{Common, SuiteDocument};
use truespd_core::result::Part;
use truespd_core::result::metrics::Metric;
use truespd_platform::text::table::Room;
use truespd_platform::text::{duration_ns, number, percent, shell_line};

const NS_PER_MS: f64 = 1e6;

impl SuiteDocument for HighestRate {
    fn has_figures(&self) -> bool {
        self.search.is_some()
    }

    fn title(&self) -> String {
        format!("Highest rate{}", self.common.ran_on.words())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn parts(&self) -> Vec<Part> {
        let Some(search) = &self.search else { return Vec::new() };
        let profile = self.profile.as_deref();
        let unlimited = [(Metric::IOPS, Some(search.unlimited_iops))];
        let mut parts = Vec::new();
        let unlimited = Part::of("find-max without a limit", profile, &self.line, unlimited);
        parts.extend(unlimited.map(|part| part.of_runs(1, None)));
        parts.extend(search.part("find-max", profile, &self.line));
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        of(self)
    }
}

fn of(report: &HighestRate) -> Answer {
    let mut answer = Answer::default();
    answer.about(shell_line(&report.line));
    if let Some(search) = &report.search {
        push_answer(&mut answer, search);
    }
    answer.push(report.verdict.clone());
    if let Some(search) = &report.search {
        push_rates(&mut answer, search);
    }
    answer.push(Commands::to_repeat(vec![("without a limit".to_string(), report.line.clone())]));
    answer
}

/// What a search found, in words and figures.
pub fn push_answer(answer: &mut Answer, search: &Search) {
    answer.says(search.answer().trim_end());
    let mut figures = Vec::new();
    for limit in search.limits() {
        figures.push((format!("limit of the {} response time", limit.of.word()), ms(limit.ms)));
    }
    if let Some(rate) = found(search) {
        figures.push(("highest IOPS that keep it".into(), number(rate)));
        figures.push(("of the IOPS without a limit".into(), percent(rate / search.unlimited_iops)));
    }
    if let Some(upper) = search.upper {
        figures.push(("lowest IOPS that break it".into(), number(upper.iops as f64)));
    }
    figures.push(("IOPS without a limit".into(), number(search.unlimited_iops)));
    answer.push(Block::Headline(figures));
}

/// The rates that it tried, as charts and as a table.
pub fn push_rates(answer: &mut Answer, search: &Search) {
    let points = search.by_rate();
    answer.push(response_times(search, &points));
    answer.push(reached_rates(&points));
    answer.push(table(search, &points));
}

fn ms(ms: f64) -> String {
    duration_ns(ms * NS_PER_MS)
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

fn table(search: &Search, points: &[&Tried]) -> Table {
    let limits = search.limits();
    let limit = search.limit;
    let columns = vec![
        Column::numbers("offered IOPS", Room::Stays),
        Column::numbers("reached", Room::Stays),
        Column::numbers("mean", Room::Goes(3)),
        Column::numbers("p50", Room::Goes(4)),
        Column::numbers("p95", Room::Goes(2)),
        Column::numbers("p99", Room::Stays),
        Column::numbers("longest", Room::Goes(1)),
        Column::words("kept", Room::Stays),
        Column::words("verdict", Room::Stays),
        Column::words(format!("{}, up to twice the limit", limit.of.word()), Room::Goes(5)),
    ];
    let mut table = Table::of("Rates that were tried, with their response times", columns);
    for point in points {
        let mut row =
            vec![Cell::Figure(point.offered_iops, number), Cell::Figure(point.reached_iops, number)];
        let times = [point.mean_ms, point.p50_ms, point.p95_ms, point.p99_ms, point.max_ms];
        row.extend(times.map(|time| Cell::Figure(time, ms)));
        row.extend([
            Cell::Text(kept_words(point, &limits).into()),
            Cell::Grade(point.grade),
            Cell::Bar(point.held_ms / limit.ms / 2.0),
        ]);
        table.rows.push(row);
    }
    table
}

fn curve(name: &str, points: &[&Tried], figure: fn(&Tried) -> f64) -> Series {
    Series::new(name, points.iter().map(|point| Point::at(point.offered_iops, figure(point))).collect())
}

/// Response times against the rate that was offered, with the limit and the answer.
fn response_times(search: &Search, points: &[&Tried]) -> Chart {
    let (title, x_name) = ("Response times against the rate", "I/Os per second offered");
    let mut chart = Chart::new(title, x_name, "response time", number, latency_words);
    chart.spread = Spread::Logarithmic;
    chart.is_dots = true;
    chart.about = "Each point is a run. Response times begin when the rate (-g) scheduled the I/O.".into();
    chart.series = vec![
        curve("mean", points, |point| point.mean_ms * NS_PER_MS),
        curve("p95", points, |point| point.p95_ms * NS_PER_MS),
        curve("p99", points, |point| point.p99_ms * NS_PER_MS),
        curve("longest", points, |point| point.max_ms * NS_PER_MS),
    ];
    for limit in search.limits() {
        let name = format!("limit of {}", limit.of.word());
        chart.levels.push(Guide { at: limit.ms * NS_PER_MS, name });
    }
    // The bounds are too near each other for a name beside each.
    let name = if search.upper.is_some() { "" } else { "highest rate" };
    chart.guides.extend(found(search).map(|at| Guide { at, name: name.into() }));
    if let Some(upper) = search.upper {
        chart.guides.push(Guide { at: upper.iops as f64, name: "bounds".into() });
    }
    chart
}

/// The rate that was reached against the rate that was offered.
fn reached_rates(points: &[&Tried]) -> Chart {
    let (title, x_name) = ("Rate reached against the rate offered", "I/Os per second offered");
    let mut chart = Chart::new(title, x_name, "I/Os per second", number, number);
    chart.about = "Where the storage cannot keep up, it reaches a lower rate than was offered.".into();
    let mut offered = curve("offered", points, |point| point.offered_iops);
    // Dashed, so that what was reached is seen where the two are the same.
    offered.solid_until = f64::NEG_INFINITY;
    chart.series = vec![curve("reached", points, |point| point.reached_iops), offered];
    chart
}

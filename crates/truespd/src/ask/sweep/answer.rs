//! What a sweep says.

use super::knee::Bound;
use super::report::{Along, Group, Point, SweepReport};
use crate::answer::axis::{Point as Dot, Spread};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::heat::{Heat, HeatCell, HeatTable};
use crate::answer::html::latency_words;
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Block, Commands, Role, Sentence};
use crate::ask::OF_RUNS;
use std::collections::BTreeMap;
use truespd_core::result::Grade;
use truespd_platform::text::table::Room;
use truespd_platform::text::{duration_ns, grouped, number, percent, rate, shell_line, size};

/// Ramps whose answers a page shows without being asked for.
const ANSWERS_MAX: usize = 4;
/// Lines of a chart, at most: it has so many colours.
const LINES_MAX: usize = 8;

pub(super) fn of(report: &SweepReport) -> Answer {
    let mut answer = Answer::default();
    answer.about(shell_line(&report.line));
    let groups = report.groups();
    let mut ramps: Vec<Block> = groups.iter().map(|group| of_ramp(report, group).into()).collect();
    let others = ramps.split_off(ramps.len().min(ANSWERS_MAX));
    answer.blocks.extend(ramps);
    if !others.is_empty() {
        answer.push(Block::Folded(format!("{} more combinations", others.len()), others));
    }
    for words in of_all(report) {
        answer.remark(words);
    }
    answer.push(report.verdict.clone());
    answer.push(rates(report));
    answer.push(latencies(report));
    answer.push(table(report));
    answer.push(heat(report));
    let smallest = groups.iter().filter(|group| !group.ramp.is_open);
    let lines: Vec<(String, Vec<String>)> =
        smallest.map(|group| (group.name.clone(), report.line_of(group.ramp.knee))).collect();
    if !lines.is_empty() {
        let title = "smallest line that reaches 95 % of the plateau".to_string();
        answer.push(Commands { title, lines, is_answer: true });
    }
    answer
}

/// What is asked for, as its ramp counts it.
fn load(along: Along, load: u64) -> String {
    match along {
        Along::Outstanding => grouped(load),
        Along::BlockSize => size(load),
    }
}

/// What it says of a ramp, a line for each thing.
fn of_ramp(report: &SweepReport, group: &Group) -> Sentence {
    let lead = if group.name.is_empty() { String::new() } else { format!("{}: ", group.name) };
    let lines: Vec<String> =
        ramp_words(report, group).into_iter().map(|words| format!("{lead}{words}")).collect();
    Sentence { role: Role::Answer, words: lines.join("\n") }
}

fn ramp_words(report: &SweepReport, group: &Group) -> Vec<String> {
    let ramp = &group.ramp;
    let along = report.along().unwrap_or(Along::Outstanding);
    let most = match along {
        Along::Outstanding => format!("{} IOPS", number(ramp.plateau.mean)),
        Along::BlockSize => rate(ramp.plateau.mean),
    };
    let what = match along {
        Along::Outstanding => "I/Os outstanding",
        Along::BlockSize => "blocks",
    };
    if ramp.is_open {
        let enough = if ramp.knee_load_from < ramp.knee_load {
            format!(" (for the error of the points, {} may be enough)", load(along, ramp.knee_load_from))
        } else {
            String::new()
        };
        return vec![format!(
            "no plateau: the rate still grows at the last step, {most} with {} {what}{enough}. Give larger values.",
            load(along, ramp.knee_load)
        )];
    }
    let range = if ramp.knee_load_from == ramp.knee_load_to {
        String::new()
    } else {
        format!(
            " (between {} and {}, for the error of the points)",
            load(along, ramp.knee_load_from),
            load(along, ramp.knee_load_to)
        )
    };
    let adds = match along {
        Along::Outstanding => "more I/Os add only latency",
        Along::BlockSize => "larger blocks add little",
    };
    let (knee, best) = (&report.points[ramp.knee], &report.points[ramp.best]);
    let latency = knee.mean_ns().map_or(String::new(), |ns| format!(", mean latency {}", duration_ns(ns)));
    let mut says = vec![
        format!("plateau: {most} at {}.", report.name(best)),
        format!("knee: {} {what}{range}{latency}; beyond, {adds}.", load(along, ramp.knee_load)),
    ];
    says.push(format!("what bounds it: {}", bound_words(&group.bound)));
    if best.grade() == Some(Grade::Invalid) {
        says.push("the point at the plateau is INVALID: see the verdict.".to_string());
    }
    says
}

fn bound_words(bound: &Bound) -> String {
    match bound {
        Bound::Generator => "the test itself: its threads could not issue more (generator-bound).".into(),
        Bound::Found(says) => says.clone(),
        Bound::Below => "what is below the test: it had more I/Os to do, and completed no more.".into(),
        Bound::NotKnown => "not known.".into(),
    }
}

/// What it says of the sweep as a whole.
fn of_all(report: &SweepReport) -> Vec<String> {
    let mut all = Vec::new();
    if report.is_out_of_time {
        let unknown = report.points.iter().filter(|point| point.runs.is_empty()).count();
        let missing =
            if unknown > 0 { format!("; {unknown} points were not measured") } else { String::new() };
        all.push(format!(
            "The budget was spent before every point was known to {} %{missing}.",
            report.precision_percent
        ));
    }
    // A changed document may name any point.
    if let Some(again) = report.again
        && let Some(point) = report.points.get(again.point)
    {
        let name = report.name(point);
        let words = format!(
            "The first point ({name}), measured again at the end: {} IOPS, and {} at the start",
            number(again.iops),
            number(again.first_iops)
        );
        all.push(if again.has_changed {
            format!(
                "{words}. The storage changed during the sweep, so differences between points may come from that."
            )
        } else {
            format!("{words}.")
        });
    }
    all
}

fn measured(report: &SweepReport) -> impl Iterator<Item = &Point> {
    report.points.iter().filter(|point| !point.runs.is_empty())
}

/// Mean IOPS of a point that was measured.
fn iops(point: &Point) -> f64 {
    point.iops().map_or(0.0, |figure| figure.mean)
}

/// A row for each point that was measured.
fn table(report: &SweepReport) -> Table {
    let mut columns: Vec<Column> =
        report.axes.iter().map(|axis| Column::numbers(axis.shown(), Room::Stays).key(axis.shown())).collect();
    columns.extend([
        Column::value("outstanding"),
        Column::value("threads"),
        Column::numbers("IOPS", Room::Stays).key("iops"),
        Column::value("iops_low"),
        Column::value("iops_high"),
        Column::numbers("±", Room::Goes(3)),
        Column::numbers("throughput", Room::Stays).key("bytes_per_s"),
        Column::numbers("mean", Room::Stays).key("latency_mean_ns"),
        Column::numbers("p99", Room::Goes(2)).key("latency_p99_ns"),
        Column::numbers("CPU", Room::Goes(5)).key("cpu_percent"),
        Column::numbers("in flight", Room::Goes(6)).key("in_flight"),
        Column::numbers("runs", Room::Goes(4)).key("runs"),
        Column::words("verdict", Room::Goes(1)).key("verdict"),
        Column::words("", Room::Goes(7)),
    ]);
    let mut table = Table::of("All points", columns);
    let most = measured(report).map(iops).fold(1.0, f64::max);
    for point in measured(report) {
        let mut row = Vec::new();
        for place in 0..report.axes.len() {
            row.push(Cell::Text(point.values.get(place).cloned().unwrap_or_default()));
        }
        let rates = point.iops();
        row.extend([
            Cell::Whole(point.outstanding),
            Cell::Whole(point.threads),
            Cell::figure(rates.map(|it| it.mean), number),
            Cell::figure(rates.map(|it| it.low), number),
            Cell::figure(rates.map(|it| it.high), number),
            Cell::figure(point.error_percent(), |error| format!("{error:.1} %")),
            Cell::figure(point.bytes_per_s().map(|figure| figure.mean), rate),
            Cell::figure(point.mean_ns(), duration_ns),
            Cell::figure(point.p99_ns(), duration_ns),
            Cell::figure(point.cpu_percent(), |used| percent(used / 100.0)),
            Cell::figure(point.in_flight(), number),
            Cell::Whole(point.runs.len() as u64),
            Cell::Grade(point.grade()),
            Cell::Bar(iops(point) / most),
        ]);
        table.rows.push(row);
    }
    table
}

/// The rates over the first two switches: a table for each combination of the others, in the order of their first
/// points. With fewer switches there is none.
fn heat(report: &SweepReport) -> Heat {
    let [rows, columns, ..] = &report.axes[..] else { return Heat::default() };
    let mut heat = Heat::default();
    let mut places: BTreeMap<&[String], usize> = BTreeMap::new();
    for point in measured(report) {
        // A changed document may name any values.
        let [of_row, of_column, others @ ..] = &point.values[..] else { continue };
        let row = rows.values.iter().position(|value| value == of_row);
        let column = columns.values.iter().position(|value| value == of_column);
        let (Some(row), Some(column)) = (row, column) else { continue };
        let place = *places.entry(others).or_insert(heat.tables.len());
        if place == heat.tables.len() {
            let mut caption = format!("IOPS over {} and {}", rows.shown(), columns.shown());
            for (axis, value) in report.axes.iter().skip(2).zip(others) {
                caption += &format!(", {}", axis.with(value));
            }
            let names = rows.values.iter().map(|value| (rows.with(value), vec![None; columns.values.len()]));
            heat.tables.push(HeatTable {
                caption,
                head: columns.values.iter().map(|value| columns.with(value)).collect(),
                rows: names.collect(),
            });
        }
        let value = iops(point);
        heat.tables[place].rows[row].1[column] =
            Some(HeatCell { value, words: number(value), grade: point.grade() });
    }
    heat
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
    value: fn(&Point) -> Option<Dot>,
) -> Chart {
    let Some(first) = report.axes.first() else { return Chart::new(title, "", y_name, number, show_y) };
    let mut chart = Chart::new(title, &first.shown(), y_name, number, show_y);
    let names = first.values.iter().enumerate();
    chart.ticks = Ticks::Named(names.map(|(at, name)| (at as f64, name.clone())).collect());
    let lines = lines(report);
    if lines.len() > LINES_MAX {
        chart.about = format!("These are the first {LINES_MAX} of {} combinations. ", lines.len());
    }
    for others in lines.iter().take(LINES_MAX) {
        let mut points = Vec::new();
        for point in
            report.points.iter().filter(|point| point.values.get(1..).unwrap_or_default() == &others[..])
        {
            let at = first.values.iter().position(|value| point.values.first() == Some(value));
            if let (Some(at), Some(shown)) = (at, value(point)) {
                points.push(Dot { x: at as f64, ..shown });
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
        Some(Dot { range: [iops.low, iops.high], ..Dot::at(0.0, iops.mean) })
    });
    chart.about += OF_RUNS;
    chart
}

fn latencies(report: &SweepReport) -> Chart {
    let mut chart = over_first(report, "Mean latency", "latency", latency_words, |point| {
        Some(Dot::at(0.0, point.mean_ns()?))
    });
    chart.spread = Spread::Logarithmic;
    chart
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::super::run::combinations;
    use super::*;
    use crate::answer::SeriesVerdict;
    use crate::answer::shown::tests::shown;
    use crate::ask::Common;

    /// A point has 1,000 IOPS times its place.
    fn report(axes: &[&str]) -> SweepReport {
        let axes: Vec<Axis> = axes.iter().map(|text| Axis::read(text).expect("an axis")).collect();
        let mut points = Vec::new();
        for places in combinations(&axes) {
            let values = axes.iter().zip(&places).map(|(axis, &place)| axis.values[place].clone()).collect();
            let grade = if points.len() == 1 { Grade::Suspect } else { Grade::Certified };
            points.push(Point::made(values, 1000.0 * points.len() as f64, grade));
        }
        SweepReport {
            common: Common::default(),
            line: Vec::new(),
            targets: Vec::new(),
            axes,
            precision_percent: 5.0,
            points,
            again: None,
            is_out_of_time: false,
            verdict: SeriesVerdict::default(),
        }
    }

    #[test]
    fn a_third_switch_divides_the_tables_over_two() {
        let mut report = report(&["o=1,2", "t=1,2,4", "zipf=0.6,0.9"]);
        report.axes[2].switch = "-zipf".to_string();
        report.points[11].runs.clear();
        let heat = heat(&report);
        let captions: Vec<&str> = heat.tables.iter().map(|table| table.caption.as_str()).collect();
        assert_eq!(captions, ["IOPS over -o and -t, --zipf 0.6", "IOPS over -o and -t, --zipf 0.9"]);
        assert!(heat.tables[1].rows[1].1[2].is_none() && heat.tables[0].rows[1].1[2].is_some());
        assert!(self::heat(&self::report(&["o=1,2"])).tables.is_empty(), "one switch");
    }

    #[test]
    fn signs_are_told_below_the_tables() {
        let text = of(&report(&["o=1,2", "t=1,2"])).text(shown(80, true));
        assert!(text.contains("-o1      0 .  1,000? :\n"), "{text}");
        assert!(text.contains("100 %\n? suspect: the figure may not be the disk's own"), "{text}");
        assert!(text.contains("█"), "bars beside the rates: {text}");
    }
}

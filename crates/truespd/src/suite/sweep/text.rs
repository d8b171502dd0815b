//! A sweep as tables and sentences.

use super::heat;
use super::knee::Bound;
use super::report::{Along, Group, Point, SweepReport};
use crate::answer::{Shown, word};
use crate::suite::rounds::push_cells;
use std::fmt::Write;
use truespd_core::result::Grade;
use truespd_platform::text::table::{Column, Room, fitted};
use truespd_platform::text::{
    duration_ns, grouped, hanging, number, percent, printable, rate, shell_line, size,
};

/// Columns of the bar of the largest rate.
const BAR: usize = 20;

/// The table, and what it says.
pub(super) fn tables(report: &SweepReport, shown: Shown) -> String {
    let mut out = format!("{}\n\n", printable(&shell_line(&report.line)));
    out.push_str(&table(report, shown));
    out.push_str(&heat::text(report, shown));
    out.push('\n');
    for sentence in sentences(report) {
        out.push_str(&hanging("", &printable(&sentence), shown.style.columns));
    }
    for group in report.groups().iter().filter(|group| !group.ramp.is_open) {
        let of = if group.name.is_empty() { String::new() } else { format!("{}: ", group.name) };
        out.push_str(&format!("{of}smallest line that reaches 95 % of the plateau:\n"));
        // In one piece, to be copied.
        out.push_str(&format!("  diskspd {}\n", printable(&shell_line(&report.line_of(group.ramp.knee)))));
    }
    out
}

fn cells(points: &[&Point], cell: impl Fn(&Point) -> String) -> Vec<String> {
    points.iter().map(|point| cell(point)).collect()
}

/// Mean IOPS of a point that was measured.
fn iops(point: &Point) -> f64 {
    point.iops().map_or(0.0, |figure| figure.mean)
}

fn time(ns: Option<f64>) -> String {
    ns.map_or("-".to_string(), duration_ns)
}

fn table(report: &SweepReport, shown: Shown) -> String {
    let measured: Vec<&Point> = report.points.iter().filter(|point| !point.runs.is_empty()).collect();
    let mut columns = Vec::new();
    for (place, axis) in report.axes.iter().enumerate() {
        columns.push(Column::numbers(
            axis.shown(),
            cells(&measured, |point| point.values.get(place).cloned().unwrap_or_default()),
            Room::Stays,
        ));
    }
    let most = measured.iter().map(|point| iops(point)).fold(0.0, f64::max);
    columns.push(Column::numbers("IOPS", cells(&measured, |point| number(iops(point))), Room::Stays));
    let errors = cells(&measured, |point| {
        point.error_percent().map_or("-".to_string(), |error| format!("{error:.1} %"))
    });
    columns.push(Column::numbers("±", errors, Room::Goes(3)));
    let rates = cells(&measured, |point| rate(point.bytes_per_s().map_or(0.0, |figure| figure.mean)));
    columns.push(Column::numbers("throughput", rates, Room::Stays));
    columns.push(Column::numbers("mean", cells(&measured, |point| time(point.mean_ns())), Room::Stays));
    columns.push(Column::numbers("p99", cells(&measured, |point| time(point.p99_ns())), Room::Goes(2)));
    let cpu = cells(&measured, |point| percent(point.cpu_percent().unwrap_or_default() / 100.0));
    columns.push(Column::numbers("CPU", cpu, Room::Goes(5)));
    let in_flight = cells(&measured, |point| point.in_flight().map_or("-".to_string(), number));
    columns.push(Column::numbers("in flight", in_flight, Room::Goes(6)));
    columns.push(Column::numbers(
        "runs",
        cells(&measured, |point| point.runs.len().to_string()),
        Room::Goes(4),
    ));
    columns.push(Column::words(
        "verdict",
        cells(&measured, |point| word(point.grade()).to_string()),
        Room::Goes(1),
    ));
    if shown.has_bars {
        let bars = cells(&measured, |point| {
            "#".repeat(((iops(point) / most.max(1.0) * BAR as f64).round() as usize).max(1))
        });
        columns.push(Column::words("", bars, Room::Goes(7)));
    }
    fitted(columns, Some(shown.style.columns))
}

/// What the sweep says, a sentence for each thing.
fn sentences(report: &SweepReport) -> Vec<String> {
    let mut all = Vec::new();
    for group in report.groups() {
        let of = if group.name.is_empty() { String::new() } else { format!("{}: ", group.name) };
        all.extend(of_group(report, &group).into_iter().map(|sentence| format!("{of}{sentence}")));
    }
    all.extend(of_all(report));
    all
}

/// What it says of the sweep as a whole.
pub(super) fn of_all(report: &SweepReport) -> Vec<String> {
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
                "{words}. The storage has changed meanwhile: differences between points may be that change."
            )
        } else {
            format!("{words}.")
        });
    }
    all
}

/// What is asked for, as its ramp counts it.
fn load(along: Along, load: u64) -> String {
    match along {
        Along::Outstanding => grouped(load),
        Along::BlockSize => size(load),
    }
}

/// What it says of a ramp.
pub(super) fn of_group(report: &SweepReport, group: &Group) -> Vec<String> {
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

/// A value as a cell: that of --mix has commas.
fn cell(value: &str) -> String {
    if value.contains([',', '"']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_string() }
}

/// A row for each point that was measured.
pub(super) fn csv(report: &SweepReport) -> String {
    let mut out = String::new();
    for axis in &report.axes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{},", axis.shown());
    }
    out.push_str(
        "outstanding,threads,iops,iops_low,iops_high,bytes_per_s,latency_mean_ns,latency_p99_ns,cpu_percent,\
         in_flight,runs,verdict\n",
    );
    for point in report.points.iter().filter(|point| !point.runs.is_empty()) {
        for value in &point.values {
            let _ = write!(out, "{},", cell(value));
        }
        let iops = point.iops();
        let [mean, low, high] = [iops.map(|it| it.mean), iops.map(|it| it.low), iops.map(|it| it.high)];
        let bytes = point.bytes_per_s().map(|figure| figure.mean);
        let _ = write!(out, "{},{}", point.outstanding, point.threads);
        let cells =
            [mean, low, high, bytes, point.mean_ns(), point.p99_ns(), point.cpu_percent(), point.in_flight()];
        push_cells(&mut out, &cells);
        let _ = writeln!(out, ",{},{}", point.runs.len(), word(point.grade()));
    }
    out
}

//! One load beside another as a table, a chart and sentences.

use super::report::{BesideReport, Felt, Figures, Point, Times};
use crate::answer::{Shown, word};
use crate::suite::OF_RESPONSES;
use crate::suite::rounds::push_cells;
use std::fmt::Write;
use truespd_platform::text::table::{Column, Room, fitted};
use truespd_platform::text::{duration_ns, hanging, number, percent, printable, rate, shell_line};

/// Columns of the bar of the longest p99.
const BAR: f64 = 50.0;

/// The table, the chart where bars are wanted, and what it says.
pub(super) fn tables(report: &BesideReport, shown: Shown) -> String {
    let columns = shown.style.columns;
    let mut out = String::new();
    for (name, line) in [("foreground", &report.foreground_line), ("background", &report.background_line)] {
        out.push_str(&format!("{name}: {}\n", printable(&shell_line(line))));
    }
    out.push('\n');
    let measured: Vec<&Point> = report.points.iter().filter(|point| !point.runs.is_empty()).collect();
    if !measured.is_empty() {
        out.push_str(&table(report, &measured, columns));
        out.push_str(&hanging(
            "",
            "Asked and reached are the background's, all else is the foreground's. ± is half of a 95 % interval.",
            columns,
        ));
        if measured.iter().any(|point| point.is_response()) {
            out.push_str(OF_RESPONSES);
        }
        if shown.has_bars {
            out.push_str(&chart(&measured));
        }
        out.push('\n');
    }
    for sentence in sentences(report) {
        out.push_str(&hanging("", &printable(&sentence), columns));
    }
    out
}

fn cells(points: &[&Point], cell: impl Fn(&Point) -> String) -> Vec<String> {
    points.iter().map(|point| cell(point)).collect()
}

/// A time of the foreground, with a star where it is a response time.
fn time(point: &Point, of: fn(&Figures) -> Option<f64>) -> String {
    let star = if point.is_response() { "*" } else { "" };
    point.foreground(of).map_or("-".to_string(), |figure| duration_ns(figure.mean) + star)
}

fn error(point: &Point, of: fn(&Figures) -> Option<f64>) -> String {
    point.error_percent(of).map_or("-".to_string(), |error| format!("{error:.1} %"))
}

fn asked(point: &Point) -> String {
    point.asked_bytes_per_s.map_or("-".to_string(), rate)
}

fn reached(point: &Point) -> String {
    let reached = point.background(|figures| Some(figures.bytes_per_s));
    // A background that did nothing reached nothing.
    let nothing = point.asked_iops.map_or("-".to_string(), |_| rate(0.0));
    reached.map_or(nothing, |figure| rate(figure.mean))
}

fn table(report: &BesideReport, measured: &[&Point], width: usize) -> String {
    let columns = vec![
        Column::numbers("share", cells(measured, |point| format!("{} %", point.share_percent)), Room::Stays),
        Column::numbers("asked", cells(measured, asked), Room::Goes(3)),
        Column::numbers("reached", cells(measured, reached), Room::Stays),
        Column::numbers("p50", cells(measured, |point| time(point, |it| it.p50_ns)), Room::Stays),
        Column::numbers("±", cells(measured, |point| error(point, |it| it.p50_ns)), Room::Goes(6)),
        Column::numbers("p99", cells(measured, |point| time(point, |it| it.p99_ns)), Room::Stays),
        Column::numbers("±", cells(measured, |point| error(point, |it| it.p99_ns)), Room::Goes(2)),
        Column::numbers("mean", cells(measured, |point| time(point, |it| it.mean_ns)), Room::Goes(5)),
        Column::numbers(
            "IOPS",
            cells(measured, |point| whole(point, |it| Some(it.iops), number)),
            Room::Stays,
        ),
        Column::numbers(
            "throughput",
            cells(measured, |point| whole(point, |it| Some(it.bytes_per_s), rate)),
            Room::Goes(4),
        ),
        Column::numbers(
            "of alone",
            cells(measured, |point| {
                report.times(point, |it| Some(it.iops)).map_or("-".to_string(), |times| percent(times.mean))
            }),
            Room::Goes(7),
        ),
        Column::numbers("runs", cells(measured, |point| point.runs.len().to_string()), Room::Goes(8)),
        Column::words("verdict", cells(measured, |point| word(point.grade()).to_string()), Room::Goes(1)),
    ];
    fitted(columns, Some(width))
}

/// A rate of the foreground; nothing done is 0.
fn whole(point: &Point, of: fn(&Figures) -> Option<f64>, show: fn(f64) -> String) -> String {
    show(point.foreground(of).map_or(0.0, |figure| figure.mean))
}

/// Two bars in one for each share: up to p50, and on to p99.
fn chart(measured: &[&Point]) -> String {
    let mut longest = 0.0_f64;
    for point in measured {
        longest = longest.max(point.foreground(|it| it.p99_ns).map_or(0.0, |figure| figure.mean));
    }
    if longest <= 0.0 {
        return String::new();
    }
    let mut out = "\nlatency of the foreground: = to p50, - to p99\n".to_string();
    for point in measured {
        let Some(p99) = point.foreground(|it| it.p99_ns).map(|figure| figure.mean) else { continue };
        let p50 = point.foreground(|it| it.p50_ns).map_or(0.0, |figure| figure.mean);
        let all = ((p99 / longest * BAR).round() as usize).max(1);
        let half = ((p50 / longest * BAR).round() as usize).clamp(1, all);
        let bar = "=".repeat(half) + &"-".repeat(all - half);
        out.push_str(&format!("{:>3} % {bar} {}\n", point.share_percent, duration_ns(p99)));
    }
    out
}

/// What it says, a sentence for each thing.
pub(super) fn sentences(report: &BesideReport) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(maximum) = report.alone.maximum() {
        all.push(format!(
            "background alone: {}, {} IOPS; the shares are of this.",
            rate(maximum.bytes_per_s),
            number(maximum.iops)
        ));
    }
    if let Some(alone) = report.foreground_alone() {
        all.push(format!("foreground alone: {}.", feels(alone)));
    }
    all.extend(at_most_words(report));
    all.extend(felt_words(report));
    for missed in report.points.iter().filter_map(Point::missed) {
        all.push(format!(
            "At {} %, the background was asked for {} and reached {} ({}): beside the foreground, it got no further.",
            missed.share_percent,
            rate(missed.asked_bytes_per_s),
            rate(missed.reached_bytes_per_s),
            percent(missed.part)
        ));
    }
    if let Some([first, later]) = report.alone.change() {
        all.push(format!(
            "The background alone made {} IOPS in its first run, of which the shares are, and {} later: its own speed \
             varies or has changed, so take the shares as rough.",
            number(first),
            number(later)
        ));
    }
    all
}

/// What the foreground feels at the largest share.
pub(super) fn at_most_words(report: &BesideReport) -> Option<String> {
    let most = report.most()?;
    let mut words = format!("beside {} % of the background: {}", most.share_percent, feels(most));
    if let Some(times) = report.times(most, |it| it.p99_ns) {
        words.push_str(&format!("; p99 is {} that of alone", times_words(times)));
    }
    Some(words + ".")
}

/// `p50 85 us, p99 120 us, 11,000 IOPS`
fn feels(point: &Point) -> String {
    let p50 = time(point, |it| it.p50_ns);
    let p99 = time(point, |it| it.p99_ns);
    format!("p50 {p50}, p99 {p99}, {} IOPS", whole(point, |it| Some(it.iops), number))
}

/// `7.50 times (6.10 to 9.20)`
fn times_words(times: Times) -> String {
    let range =
        times.range.map_or(String::new(), |[low, high]| format!(" ({} to {})", ratio(low), ratio(high)));
    format!("{} times{range}", ratio(times.mean))
}

/// All ratios of a sentence have as many digits: 1.00 is not 1.
fn ratio(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { number(value) }
}

fn felt_words(report: &BesideReport) -> Option<String> {
    let more = "longer than alone by 5 % or more, beyond the error of the runs";
    match report.felt() {
        Felt::From(share) => Some(format!("From {share} % on, p99 is {more}.")),
        Felt::Nowhere => Some(format!("At no share, p99 is {more}.")),
        Felt::NotKnown if report.foreground_alone().is_some() && report.most().is_some() => {
            Some("Three rounds or more tell how sure a difference is: give --rounds 3.".to_string())
        }
        Felt::NotKnown => None,
    }
}

/// A row for each share that was measured.
pub(super) fn csv(report: &BesideReport) -> String {
    let mut out =
        "share_percent,asked_iops,asked_bytes_per_s,background_iops,background_bytes_per_s,iops,bytes_per_s,\
                   latency_mean_ns,latency_p50_ns,latency_p50_low_ns,latency_p50_high_ns,latency_p99_ns,\
                   latency_p99_low_ns,latency_p99_high_ns,runs,verdict\n"
            .to_string();
    for point in report.points.iter().filter(|point| !point.runs.is_empty()) {
        let mut values = vec![point.asked_iops, point.asked_bytes_per_s];
        values.push(point.background(|it| Some(it.iops)).map(|figure| figure.mean));
        values.push(point.background(|it| Some(it.bytes_per_s)).map(|figure| figure.mean));
        values.push(point.foreground(|it| Some(it.iops)).map(|figure| figure.mean));
        values.push(point.foreground(|it| Some(it.bytes_per_s)).map(|figure| figure.mean));
        values.push(point.foreground(|it| it.mean_ns).map(|figure| figure.mean));
        for figure in [point.foreground(|it| it.p50_ns), point.foreground(|it| it.p99_ns)] {
            values.extend([figure.map(|it| it.mean), figure.map(|it| it.low), figure.map(|it| it.high)]);
        }
        // Writing to a string cannot fail.
        let _ = write!(out, "{}", point.share_percent);
        push_cells(&mut out, &values);
        let _ = writeln!(out, ",{},{}", point.runs.len(), word(point.grade()));
    }
    out
}

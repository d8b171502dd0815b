//! What one load beside another says: what the foreground feels, over the share of the background, and all figures.

use super::report::{BesideReport, Felt, Figures, Point, Times};
use crate::answer::axis::{Point as Dot, Spread};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::html::latency_words;
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Commands};
use crate::ask::{OF_RESPONSES, OF_RUNS, show_latency};
use crate::runner::rounds::Measured;
use truespd_platform::text::table::Room;
use truespd_platform::text::{duration_ns, number, percent, rate, shell_line};

pub(super) fn of(report: &BesideReport) -> Answer {
    let mut answer = Answer::default();
    let lines = [("foreground", &report.foreground_line), ("background", &report.background_line)];
    answer.about(lines.map(|(name, line)| format!("{name}: {}", shell_line(line))).join("\n"));
    for sentence in sentences(report) {
        answer.says(sentence);
    }
    answer.push(report.verdict.clone());
    answer.push(latencies(report));
    answer.push(rates(report));
    answer.push(backgrounds(report));
    answer.push(table(report));
    if measured(report).next().is_some() {
        answer.note(
            "Asked and reached are the background's, all else is the foreground's. ± is half of a 95 % interval.",
        );
    }
    if measured(report).any(Point::is_response) {
        answer.note(OF_RESPONSES);
    }
    let lines = lines.map(|(name, line)| (name.to_string(), [&line[..], &report.targets[..]].concat()));
    answer.push(Commands {
        title: "to repeat each alone".to_string(),
        lines: lines.into(),
        is_answer: false,
    });
    answer
}

fn measured(report: &BesideReport) -> impl Iterator<Item = &Point> {
    report.points.iter().filter(|point| !point.runs.is_empty())
}

fn share_words(percent: f64) -> String {
    format!("{percent:.0} %")
}

fn error_words(error: f64) -> String {
    format!("{error:.1} %")
}

/// A figure of the foreground.
fn foreground(point: &Point, of: fn(&Figures) -> Option<f64>) -> Option<f64> {
    point.foreground(of).map(|figure| figure.mean)
}

/// A rate of the foreground; nothing done is 0.
fn whole(point: &Point, of: fn(&Figures) -> Option<f64>) -> f64 {
    foreground(point, of).unwrap_or(0.0)
}

fn time(point: &Point, of: fn(&Figures) -> Option<f64>) -> Cell {
    Cell::figure(foreground(point, of), show_latency(point.is_response()))
}

/// A time of the foreground in a sentence, with a star where it is a response time.
fn time_words(point: &Point, of: fn(&Figures) -> Option<f64>) -> String {
    foreground(point, of).map_or("-".to_string(), show_latency(point.is_response()))
}

fn error(point: &Point, of: fn(&Figures) -> Option<f64>) -> Cell {
    Cell::figure(point.error_percent(of), error_words)
}

/// A row for each share that was measured.
fn table(report: &BesideReport) -> Table {
    let columns = vec![
        Column::numbers("share %", Room::Stays).key("share_percent"),
        Column::value("asked_iops"),
        Column::numbers("asked", Room::Goes(3)).key("asked_bytes_per_s"),
        Column::value("background_iops"),
        Column::numbers("reached", Room::Stays).key("background_bytes_per_s"),
        Column::numbers("IOPS", Room::Stays).key("iops"),
        Column::numbers("of alone", Room::Goes(7)),
        Column::numbers("throughput", Room::Goes(4)).key("bytes_per_s"),
        Column::numbers("mean", Room::Goes(5)).key("latency_mean_ns"),
        Column::numbers("p50", Room::Stays).key("latency_p50_ns"),
        Column::value("latency_p50_low_ns"),
        Column::value("latency_p50_high_ns"),
        Column::numbers("±", Room::Goes(6)),
        Column::numbers("p99", Room::Stays).key("latency_p99_ns"),
        Column::value("latency_p99_low_ns"),
        Column::value("latency_p99_high_ns"),
        Column::numbers("±", Room::Goes(2)),
        Column::numbers("runs", Room::Goes(8)).key("runs"),
        Column::words("verdict", Room::Goes(1)).key("verdict"),
    ];
    let mut table = Table::of("All shares", columns);
    for point in measured(report) {
        let [p50, p99] = [point.foreground(|it| it.p50_ns), point.foreground(|it| it.p99_ns)];
        let reached = point.background(|it| Some(it.bytes_per_s)).map(|figure| figure.mean);
        table.rows.push(vec![
            Cell::Whole(point.share_percent.into()),
            Cell::figure(point.asked_iops, number),
            Cell::figure(point.asked_bytes_per_s, rate),
            Cell::figure(point.background(|it| Some(it.iops)).map(|figure| figure.mean), number),
            // A background that did nothing reached nothing.
            Cell::figure(reached.or(point.asked_iops.map(|_| 0.0)), rate),
            Cell::Figure(whole(point, |it| Some(it.iops)), number),
            Cell::figure(report.times(point, |it| Some(it.iops)).map(|times| times.mean), percent),
            Cell::Figure(whole(point, |it| Some(it.bytes_per_s)), rate),
            time(point, |it| it.mean_ns),
            time(point, |it| it.p50_ns),
            Cell::figure(p50.map(|it| it.low), duration_ns),
            Cell::figure(p50.map(|it| it.high), duration_ns),
            error(point, |it| it.p50_ns),
            time(point, |it| it.p99_ns),
            Cell::figure(p99.map(|it| it.low), duration_ns),
            Cell::figure(p99.map(|it| it.high), duration_ns),
            error(point, |it| it.p99_ns),
            Cell::Whole(point.runs.len() as u64),
            Cell::Grade(point.grade()),
        ]);
    }
    table
}

/// What it says, a sentence for each thing.
fn sentences(report: &BesideReport) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(at_most_words(report));
    all.extend(felt_words(report));
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
fn at_most_words(report: &BesideReport) -> Option<String> {
    let most = report.most()?;
    let mut words = format!("beside {} % of the background: {}", most.share_percent, feels(most));
    if let Some(times) = report.times(most, |it| it.p99_ns) {
        words.push_str(&format!("; p99 is {} that of alone", times_words(times)));
    }
    Some(words + ".")
}

/// `p50 85 us, p99 120 us, 11,000 IOPS`
fn feels(point: &Point) -> String {
    let p50 = time_words(point, |it| it.p50_ns);
    let p99 = time_words(point, |it| it.p99_ns);
    format!("p50 {p50}, p99 {p99}, {} IOPS", number(whole(point, |it| Some(it.iops))))
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

/// A line over the shares.
fn line(report: &BesideReport, name: &str, value: impl Fn(&Point) -> Option<Measured>) -> Option<Series> {
    let mut points = Vec::new();
    for share in &report.points {
        if let Some(Measured { mean, low, high }) = value(share) {
            points.push(Dot { range: [low, high], ..Dot::at(f64::from(share.share_percent), mean) });
        }
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    if points.is_empty() { None } else { Some(Series::new(name, points)) }
}

/// Its x axis is the share of the background.
fn over_shares(report: &BesideReport, chart: Chart) -> Chart {
    let names = report.points.iter().map(|share| f64::from(share.share_percent));
    let ticks = Ticks::Named(names.map(|share| (share, share_words(share))).collect());
    let x_name = "share of the background's own maximum".to_string();
    Chart { x_name, ticks, about: OF_RUNS.into(), ..chart }
}

fn latencies(report: &BesideReport) -> Chart {
    let what = if report.points.iter().any(Point::is_response) { "response time" } else { "latency" };
    let chart = Chart::new("Latency of the foreground", "", what, share_words, latency_words);
    let mut chart = over_shares(report, chart);
    chart.series.extend(line(report, "p99", |share| share.foreground(|it| it.p99_ns)));
    chart.series.extend(line(report, "p50", |share| share.foreground(|it| it.p50_ns)));
    chart.spread = Spread::Logarithmic;
    chart.has_sparkline = true;
    chart
}

fn rates(report: &BesideReport) -> Chart {
    let chart = Chart::new("IOPS of the foreground", "", "I/Os per second", share_words, number);
    let mut chart = over_shares(report, chart);
    chart.series.extend(line(report, "foreground", |share| share.foreground(|it| Some(it.iops))));
    chart
}

fn backgrounds(report: &BesideReport) -> Chart {
    let title = "Throughput of the background, requested and reached";
    let mut chart = over_shares(report, Chart::of_rates(title, "", share_words));
    chart.series.extend(line(report, "reached", |share| share.background(|it| Some(it.bytes_per_s))));
    let asked = line(report, "asked", |share| Measured::of(share.asked_bytes_per_s.as_slice()));
    // Dashed, so that what was reached is seen where the two are the same.
    chart.series.extend(asked.map(|asked| Series { solid_until: f64::NEG_INFINITY, ..asked }));
    chart
}

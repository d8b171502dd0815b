//! The page of one load beside another: what it says, latencies and rates over the share of the background, and all
//! figures.

use super::course::rate_unit;
use super::suites::{Page, heading, repeat, texts};
use crate::answer::axis::{Point, Spread};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::findings::of_series;
use crate::answer::html::{first_large, latency_words, paragraph};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::OF_RUNS;
use crate::suite::beside::BesideReport;
use crate::suite::beside::report::{Figures, Point as Share};
use crate::suite::rounds::Measured;
use truespd_platform::text::{number, rate, shell_line, with_micro};

impl Page for BesideReport {
    fn html(&self) -> String {
        let mut out = paragraph("subtitle", &format!("foreground: {}", shell_line(&self.foreground_line)));
        out += &paragraph("subtitle", &format!("background: {}", shell_line(&self.background_line)));
        for sentence in self.sentences() {
            out += &paragraph("answer", &first_large(&with_micro(&sentence)));
        }
        out += &of_series(&self.verdict);
        out += &latencies(self).html();
        out += &rates(self).html();
        out += &backgrounds(self).html();
        out += &table(self).html();
        let lines = [("foreground", &self.foreground_line), ("background", &self.background_line)];
        let lines = lines.map(|(name, line)| (name.to_string(), [&line[..], &self.targets[..]].concat()));
        out += &heading("To repeat each alone");
        out + &repeat(lines.iter().map(|(name, line)| (name.clone(), line.as_slice())))
    }

    fn picture(&self) -> Option<(Picture, String)> {
        let says = with_micro(&self.at_most_words().unwrap_or_default());
        Some((latencies(self).into(), first_large(&says)))
    }
}

/// A line over the shares.
fn line(report: &BesideReport, name: &str, value: impl Fn(&Share) -> Option<Measured>) -> Option<Series> {
    let mut points = Vec::new();
    for share in &report.points {
        if let Some(Measured { mean, low, high }) = value(share) {
            points.push(Point { range: [low, high], ..Point::at(f64::from(share.share_percent), mean) });
        }
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    if points.is_empty() { None } else { Some(Series::new(name, points)) }
}

fn share_words(percent: f64) -> String {
    format!("{percent:.0} %")
}

fn over_shares(report: &BesideReport, title: &str, y_name: &str, show_y: fn(f64) -> String) -> Chart {
    let mut chart = Chart::new(title, "share of the background's own maximum", y_name, share_words, show_y);
    let names = report.points.iter().map(|share| share.share_percent);
    chart.ticks = Ticks::Named(names.map(|share| (f64::from(share), share_words(share.into()))).collect());
    chart.about = OF_RUNS.into();
    chart
}

fn latencies(report: &BesideReport) -> Chart {
    let what = if report.points.iter().any(Share::is_response) { "response time" } else { "latency" };
    let mut chart = over_shares(report, "Latency of the foreground", what, latency_words);
    chart.series.extend(line(report, "p99", |share| share.foreground(|it| it.p99_ns)));
    chart.series.extend(line(report, "p50", |share| share.foreground(|it| it.p50_ns)));
    chart.spread = Spread::Logarithmic;
    chart
}

fn rates(report: &BesideReport) -> Chart {
    let mut chart = over_shares(report, "IOPS of the foreground", "I/Os per second", number);
    chart.series.extend(line(report, "foreground", |share| share.foreground(|it| Some(it.iops))));
    chart
}

fn backgrounds(report: &BesideReport) -> Chart {
    let mut chart = over_shares(report, "What the background was asked for and reached", "throughput", rate);
    chart.series.extend(line(report, "reached", |share| share.background(|it| Some(it.bytes_per_s))));
    let asked = line(report, "asked", |share| Measured::of(share.asked_bytes_per_s.as_slice()));
    // Dashed, so that what was reached is seen where the two are the same.
    chart.series.extend(asked.map(|asked| Series { solid_until: f64::NEG_INFINITY, ..asked }));
    chart.unit = rate_unit;
    chart
}

fn figure(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or("-".to_string(), show)
}

fn table(report: &BesideReport) -> Table {
    let head = [
        "share",
        "asked",
        "reached",
        "p50",
        "±",
        "p99",
        "±",
        "mean",
        "IOPS",
        "throughput",
        "runs",
        "verdict",
    ];
    let mut table = Table::new("All shares", head);
    for share in report.points.iter().filter(|share| !share.runs.is_empty()) {
        let mut cells = texts([
            figure(share.asked_bytes_per_s, rate),
            figure(share.background(|it| Some(it.bytes_per_s)).map(|it| it.mean), rate),
            foreground(share, |it| it.p50_ns, latency_words),
            figure(share.error_percent(|it| it.p50_ns), |error| format!("{error:.1} %")),
            foreground(share, |it| it.p99_ns, latency_words),
            figure(share.error_percent(|it| it.p99_ns), |error| format!("{error:.1} %")),
            foreground(share, |it| it.mean_ns, latency_words),
            foreground(share, |it| Some(it.iops), number),
            foreground(share, |it| Some(it.bytes_per_s), rate),
            share.runs.len().to_string(),
        ]);
        cells.push(Cell::Grade(share.grade()));
        table.push(format!("{} %", share.share_percent), cells);
    }
    table
}

fn foreground(share: &Share, of: fn(&Figures) -> Option<f64>, show: fn(f64) -> String) -> String {
    figure(share.foreground(of).map(|it| it.mean), show)
}

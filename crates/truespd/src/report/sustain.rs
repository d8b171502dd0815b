//! The page of sustained writes: where the rate fell, what a rest brought back, and all runs.

use super::course::rate_unit;
use super::suites::{Page, heading, repeat, texts};
use crate::answer::axis::Point;
use crate::answer::chart::{Chart, Guide, Series};
use crate::answer::findings::of_series;
use crate::answer::html::{first_large, note, paragraph};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::sustain::SustainReport;
use crate::suite::sustain::report::Phase;
use crate::suite::sustain::text::{answer, recovered_words, sentences, share_words};
use truespd_platform::text::{bytes, duration_ns, rate, with_micro};

/// Points of a line; more could not be told apart.
const POINTS_MAX: usize = 400;

impl Page for SustainReport {
    fn html(&self) -> String {
        let mut out = String::new();
        for sentence in sentences(self) {
            out += &paragraph("answer", &first_large(&with_micro(&sentence)));
        }
        out += &of_series(&self.verdict);
        out += &over_written(self).html();
        out += &stretches(self).html();
        if self.phases.len() > 1 {
            out += &after_rests(self).html();
            out += &recoveries(self).html();
        }
        let degrees = temperatures(self);
        if !degrees.is_empty() {
            out += &degrees.html();
        }
        out += &runs(self).html();
        out += &heading("Line of the first run");
        out + &repeat(std::iter::once(("writes".to_string(), self.line.as_slice())))
            + &note("Later runs begin where the one before ended (-B).")
    }

    fn picture(&self) -> Option<(Picture, String)> {
        let chart = over_written(self);
        if chart.is_empty() { None } else { Some((chart.into(), first_large(&answer(self)))) }
    }
}

/// The rates of a phase over what it had written.
fn line(report: &SustainReport, phase: &Phase, name: &str) -> Series {
    let rates = phase.rates();
    let (mut points, mut written) = (Vec::new(), 0.0);
    for part in rates.chunks(rates.len().div_ceil(POINTS_MAX).max(1)) {
        let sum: f64 = part.iter().sum();
        let moved = sum * report.slice_s;
        points.push(Point::at(written + moved / 2.0, sum / part.len() as f64));
        written += moved;
    }
    Series::new(name, points)
}

fn of_rates(title: &str, x_name: &str) -> Chart {
    let mut chart = Chart::new(title, x_name, "throughput", bytes, rate);
    chart.unit = rate_unit;
    chart
}

fn over_written(report: &SustainReport) -> Chart {
    let mut chart = of_rates("Rate before the first rest", "written");
    chart.series.extend(report.first().map(|phase| line(report, phase, "writes")));
    chart.series.retain(|line| !line.points.is_empty());
    if let Some((area, _)) = report.fast_area_bytes() {
        chart.guides.push(Guide { at: area, name: "the rate fell".to_string() });
    }
    chart
}

fn after_rests(report: &SustainReport) -> Chart {
    let mut chart = of_rates("Rate after rests", "written since the rest");
    for phase in report.phases.iter().skip(1).filter(|phase| !phase.runs.is_empty()) {
        chart.series.push(line(report, phase, &format!("{} s", phase.rest_s)));
    }
    chart
}

fn degrees_words(degrees: f64) -> String {
    format!("{degrees:.0} °C")
}

fn seconds_words(seconds: f64) -> String {
    format!("{seconds:.0} s")
}

fn temperatures(report: &SustainReport) -> Chart {
    let mut chart = Chart::new(
        "Temperature of the drive",
        "writing, without the rests",
        "temperature",
        seconds_words,
        degrees_words,
    );
    let points: Vec<Point> =
        report.temperatures().iter().map(|&[at, degrees]| Point::at(at, degrees)).collect();
    if !points.is_empty() {
        chart.series.push(Series::new("drive", points));
    }
    chart
}

fn stretches(report: &SustainReport) -> Table {
    let mut table = Table::new("Stretches of about the same rate", ["after", "written", "rate"]);
    for stretch in report.stretches() {
        table.push(bytes(stretch.from_bytes), texts([bytes(stretch.bytes), rate(stretch.bytes_per_s)]));
    }
    table
}

fn recoveries(report: &SustainReport) -> Table {
    let mut table =
        Table::new("What a rest brought back", ["rest", "fast again", "of the fast area", "verdict"]);
    let area = report.fast_area_bytes().map_or(0.0, |(bytes, _)| bytes);
    for one in report.recoveries() {
        let mut cells = texts([recovered_words(&one), share_words(&one, area)]);
        cells.push(Cell::Grade(one.grade));
        table.push(format!("{} s", one.rest_s), cells);
    }
    table
}

fn rest_words(phase: &Phase) -> String {
    if phase.rest_s == 0 { "-".to_string() } else { format!("{} s", phase.rest_s) }
}

fn runs(report: &SustainReport) -> Table {
    let head = ["rest before", "run", "began at", "written", "rate", "longest write", "verdict"];
    let mut table = Table::new("All runs", head);
    for phase in &report.phases {
        for (number, run) in phase.runs.iter().enumerate() {
            let mut cells = texts([
                (number + 1).to_string(),
                bytes(run.from_bytes as f64),
                bytes(run.written_bytes as f64),
                rate(run.rate()),
                run.longest_ns.map_or("-".to_string(), duration_ns),
            ]);
            cells.push(Cell::Grade(run.grade));
            table.push(rest_words(phase), cells);
        }
    }
    table
}

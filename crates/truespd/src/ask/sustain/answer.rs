//! What sustained writes say: where the rate fell, what a rest brought back, and all runs.

use super::report::{End, Phase, Recovery, SustainReport};
use crate::answer::axis::Point;
use crate::answer::chart::{Chart, Guide, Series};
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Commands};
use truespd_platform::text::{bytes, duration_ns, part_percent, rate, shell_line};

/// Points of a line; more could not be told apart.
const POINTS_MAX: usize = 400;

pub(super) fn of(report: &SustainReport) -> Answer {
    let mut answer = Answer::default();
    answer.about(format!("writes: {}", shell_line(&report.line)));
    for sentence in sentences(report) {
        answer.says(sentence);
    }
    answer.push(report.verdict.clone());
    answer.push(over_written(report));
    answer.push(stretches(report));
    answer.push(after_rests(report));
    answer.push(recoveries(report));
    answer.push(temperatures(report));
    answer.push(runs(report));
    answer.push(slices(report));
    answer.push(Commands {
        title: "line of the first run; each later run begins (-B) where the run before it ended".to_string(),
        lines: vec![("writes".to_string(), report.line.clone())],
        is_answer: false,
    });
    answer
}

/// `12.3 GiB`, `< 300 MiB` where no more than scatter was seen.
fn recovered_words(recovery: &Recovery) -> String {
    match recovery.bytes {
        Some(_) if recovery.is_more => "all of it".to_string(),
        Some(fast) => bytes(fast),
        None => format!("< {}", bytes(recovery.least_bytes.max(1.0))),
    }
}

/// What it says, a sentence for each thing.
fn sentences(report: &SustainReport) -> Vec<String> {
    let mut all = vec![where_it_fell(report)];
    all.retain(|words| !words.is_empty());
    all.extend(steady_words(report));
    if let Some(longest) = report.recoveries().iter().max_by_key(|one| one.rest_s) {
        all.push(recovery_words(report, longest));
    }
    if let Some(longest) = report.longest_ns() {
        all.push(format!("The longest write took {}.", duration_ns(longest)));
    }
    let degrees = report.temperatures();
    if let (Some([_, first]), Some([_, hottest])) =
        (degrees.first(), degrees.iter().max_by(|a, b| a[1].total_cmp(&b[1])))
    {
        all.push(format!(
            "The drive was at {first:.0} °C after the first run and at {hottest:.0} °C at most."
        ));
    }
    if let Some(room) = report.room {
        all.push(format!(
            "Before the test, {} of {} were free. On many drives the fast area shrinks as they fill.",
            bytes(room.free_bytes as f64),
            bytes(room.size_bytes as f64)
        ));
    }
    all
}

/// Where the rate fell, and to what.
fn where_it_fell(report: &SustainReport) -> String {
    let written = report.first().map_or(0, |phase| phase.written_bytes());
    if written == 0 {
        return String::new();
    }
    let written = bytes(written as f64);
    if let (Some(fall), Some((area, slice))) = (report.fall(), report.fast_area_bytes()) {
        return format!(
            "The rate fell after {} (± {}): from {} to {}, {} of it.",
            bytes(area),
            bytes(slice),
            rate(fall.before),
            rate(fall.behind),
            part_percent(fall.behind / fall.before)
        );
    }
    if report.ended.is_none() {
        return format!("Stopped after {written}: the rate had not fallen.");
    }
    format!("The rate did not fall within {written}: a fast area, if there is one, is larger.")
}

fn steady_words(report: &SustainReport) -> Option<String> {
    let why = match report.ended? {
        End::Steady => {
            return Some(format!(
                "The last {} runs of {} s before the first rest are steady.",
                report.rule.window, report.run_s
            ));
        }
        End::Full => "the range was full",
        End::Time => "the time was over",
    };
    let says = match report.is_steady() {
        Some(true) => format!("The last {} runs before that are steady", report.rule.window),
        Some(false) => format!("The last {} runs before that are not steady", report.rule.window),
        None => "Whether the last rate is steady is not known".to_string(),
    };
    Some(format!("Writing ended as {why}. {says}."))
}

fn recovery_words(report: &SustainReport, longest: &Recovery) -> String {
    let rest = longest.rest_s;
    match (longest.bytes, report.fast_area_bytes()) {
        (Some(_), _) if longest.is_more => {
            format!(
                "After a rest of {rest} s, all of the fast area was fast again, and it did not end where it did before."
            )
        }
        (Some(fast), Some((area, _))) => format!(
            "After a rest of {rest} s, {} were fast again, {} of the fast area.",
            bytes(fast),
            part_percent(fast / area)
        ),
        _ => format!(
            "After a rest of {rest} s, no fast part was seen beyond the scatter of the rate ({}).",
            bytes(longest.least_bytes.max(1.0))
        ),
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

fn over_written(report: &SustainReport) -> Chart {
    let mut chart = Chart::of_rates("Rate before the first rest", "written", bytes);
    chart.series.extend(report.first().map(|phase| line(report, phase, "writes")));
    chart.series.retain(|line| !line.points.is_empty());
    if let Some((area, _)) = report.fast_area_bytes() {
        chart.guides.push(Guide { at: area, name: "the rate fell".to_string() });
    }
    chart.has_sparkline = true;
    chart
}

fn after_rests(report: &SustainReport) -> Chart {
    let mut chart = Chart::of_rates("Rate after rests", "written since the rest", bytes);
    for phase in report.phases.iter().skip(1).filter(|phase| !phase.runs.is_empty()) {
        chart.series.push(line(report, phase, &format!("{} s", phase.rest_s)));
    }
    chart.has_sparkline = true;
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
        let cells = [stretch.from_bytes, stretch.bytes].map(|value| Cell::Figure(value, bytes));
        table.rows.push([&cells[..], &[Cell::Figure(stretch.bytes_per_s, rate)]].concat());
    }
    table
}

fn recoveries(report: &SustainReport) -> Table {
    let mut table =
        Table::new("What a rest brought back", ["rest", "fast again", "of the fast area", "verdict"]);
    let area = report.fast_area_bytes().map_or(0.0, |(bytes, _)| bytes);
    for one in report.recoveries() {
        let fast = if one.is_more || area <= 0.0 { None } else { one.bytes };
        let share = fast.map(|fast| fast / area);
        table.push(
            format!("{} s", one.rest_s),
            vec![
                Cell::Text(recovered_words(&one)),
                Cell::figure(share, part_percent),
                Cell::Grade(one.grade),
            ],
        );
    }
    table
}

fn rest_words(phase: &Phase) -> String {
    if phase.rest_s == 0 { "-".to_string() } else { format!("{} s", phase.rest_s) }
}

fn runs(report: &SustainReport) -> Table {
    let head = ["rest before", "run", "began at", "written", "rate", "longest write", "verdict"];
    let mut table = Table::new("All runs", head).on_pages();
    for phase in &report.phases {
        for (number, run) in phase.runs.iter().enumerate() {
            table.push(
                rest_words(phase),
                vec![
                    Cell::Whole(number as u64 + 1),
                    Cell::Figure(run.from_bytes as f64, bytes),
                    Cell::Figure(run.written_bytes as f64, bytes),
                    Cell::Figure(run.rate(), rate),
                    Cell::figure(run.longest_ns, duration_ns),
                    Cell::Grade(run.grade),
                ],
            );
        }
    }
    table
}

/// A row for each slice of all runs, for programs.
fn slices(report: &SustainReport) -> Table {
    let keys = ["rest_s", "run", "seconds", "written_bytes", "bytes_per_s", "verdict"];
    let mut table = Table::of("All slices", keys.map(Column::value).into());
    for phase in &report.phases {
        let (mut seconds, mut written) = (0.0, 0.0);
        for (number, run) in phase.runs.iter().enumerate() {
            for value in &run.bytes_per_s {
                seconds += report.slice_s;
                written += value * report.slice_s;
                table.rows.push(vec![
                    Cell::Whole(phase.rest_s.into()),
                    Cell::Whole(number as u64 + 1),
                    Cell::Figure(seconds, seconds_words),
                    Cell::Whole(written as u64),
                    Cell::Whole(*value as u64),
                    Cell::Grade(run.grade),
                ]);
            }
        }
    }
    table
}

//! How a drive recovers from waits (`hir`) and from another load (`xsr`), as tables and sentences.

use super::report::{Figures, PtsReport, StageReport};
use crate::answer::table::{Cell, Column, Table};
use truespd_platform::text::table::Room;
use truespd_platform::text::{duration_ns, number, part_percent, rate};

/// Rounds before a switch whose mean is the rate before it, and rounds behind it.
const ROUNDS: usize = 5;

/// The table that tells what the test is about; none of tests that are not about recovery.
pub fn table(report: &PtsReport) -> Option<Table> {
    match report.test.as_str() {
        "hir" => Some(waits(report)),
        "xsr" => Some(switches(report)),
        _ => None,
    }
}

/// What the table says, in a sentence.
pub fn sentence(report: &PtsReport) -> Option<String> {
    match report.test.as_str() {
        "hir" => after_waits(report),
        "xsr" => recovered(report),
        _ => None,
    }
}

/// Stages that have a round, with the stage before each.
fn with_before(report: &PtsReport) -> Vec<(Option<&StageReport>, &StageReport)> {
    let stages: Vec<&StageReport> = report.stages().map(|(_, stage)| stage).collect();
    let mut all = Vec::new();
    for (place, stage) in stages.iter().enumerate() {
        if stage.whole().next().is_some() {
            all.push((place.checked_sub(1).map(|before| stages[before]), *stage));
        }
    }
    all
}

/// A figure of the only cell in each round.
fn values(stage: &StageReport, of: fn(&Figures) -> f64) -> Vec<f64> {
    stage.whole().filter_map(|round| round.first()).map(of).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// Mean of the last rounds of a stage.
fn at_the_end(stage: &StageReport, of: fn(&Figures) -> f64) -> Option<f64> {
    let all = values(stage, of);
    mean(&all[all.len().saturating_sub(ROUNDS)..])
}

fn iops(figures: &Figures) -> f64 {
    figures.iops
}

fn bytes_per_s(figures: &Figures) -> f64 {
    figures.bytes_per_s
}

/// The bursts behind waits, against the rounds before them.
fn waits(report: &PtsReport) -> Table {
    let columns = vec![
        Column::numbers("wait", Room::Stays),
        Column::numbers("measured", Room::Goes(3)),
        Column::numbers("before", Room::Goes(1)),
        Column::numbers("bursts", Room::Stays),
        Column::numbers("lowest", Room::Goes(5)),
        Column::numbers("highest", Room::Goes(4)),
        Column::numbers("of before", Room::Stays),
        Column::numbers("mean latency", Room::Goes(2)),
    ];
    let mut table = Table::of("IOPS of bursts behind waits", columns);
    for (before, stage) in with_before(report).into_iter().filter(|(_, stage)| stage.wait_s > 0.0) {
        let bursts = values(stage, iops);
        let rate_before = before.and_then(|before| at_the_end(before, iops));
        let rate = mean(&bursts);
        let latencies: Vec<f64> =
            stage.whole().filter_map(|round| round.first()).filter_map(|figures| figures.mean_ns).collect();
        let cells = vec![
            Cell::figure(stage.pause_s(), seconds),
            Cell::figure(rate_before, number),
            Cell::figure(rate, number),
            Cell::figure(bursts.iter().copied().reduce(f64::min), number),
            Cell::figure(bursts.iter().copied().reduce(f64::max), number),
            Cell::figure(share(rate, rate_before), part_percent),
            Cell::figure(mean(&latencies), duration_ns),
        ];
        table.push(seconds(stage.wait_s), cells);
    }
    table
}

fn seconds(value: f64) -> String {
    duration_ns(value.max(0.0) * 1e9)
}

fn share(rate: Option<f64>, of: Option<f64>) -> Option<f64> {
    let of = of.filter(|of| *of > 0.0)?;
    Some(rate? / of)
}

fn after_waits(report: &PtsReport) -> Option<String> {
    let mut all = Vec::new();
    for (before, stage) in with_before(report).into_iter().filter(|(_, stage)| stage.wait_s > 0.0) {
        let rate_before = before.and_then(|before| at_the_end(before, iops));
        let part = share(mean(&values(stage, iops)), rate_before)?;
        all.push(format!("{} behind {}", part_percent(part), seconds(stage.wait_s)));
    }
    if all.is_empty() {
        return None;
    }
    Some(format!("Bursts behind waits, of the IOPS before: {}.", all.join(", ")))
}

/// What each load does at first and at the end, and what the one before did at its end.
fn switches(report: &PtsReport) -> Table {
    let columns = vec![
        Column::words("load", Room::Stays),
        Column::numbers("before", Room::Stays),
        Column::numbers("first round", Room::Goes(3)),
        Column::numbers("first 5", Room::Stays),
        Column::numbers("last 5", Room::Stays),
        Column::numbers("lowest", Room::Goes(4)),
        Column::numbers("highest mean latency", Room::Goes(2)),
        Column::numbers("longest", Room::Goes(1)),
    ];
    let mut table = Table::of("Before and behind each switch of the load", columns);
    for (before, stage) in with_before(report) {
        let all = values(stage, bytes_per_s);
        let first: Vec<&Figures> = stage.whole().filter_map(|round| round.first()).collect();
        let cells = vec![
            Cell::figure(before.and_then(|before| at_the_end(before, bytes_per_s)), rate),
            Cell::figure(all.first().copied(), rate),
            Cell::figure(mean(&all[..all.len().min(ROUNDS)]), rate),
            Cell::figure(at_the_end(stage, bytes_per_s), rate),
            Cell::figure(all.iter().copied().reduce(f64::min), rate),
            Cell::figure(first.iter().filter_map(|it| it.mean_ns).reduce(f64::max), duration_ns),
            Cell::figure(first.iter().filter_map(|it| it.max_ns).reduce(f64::max), duration_ns),
        ];
        table.push(stage.cells.first().map_or(String::new(), |cell| cell.name.clone()), cells);
    }
    table
}

/// How long the sequential writes take to be as fast as before the random ones.
fn recovered(report: &PtsReport) -> Option<String> {
    let stages = with_before(report);
    let ((_, first), (_, last)) = (stages.first()?, stages.get(2)?);
    let wanted = mean(&values(first, bytes_per_s))?;
    let again = values(last, bytes_per_s);
    Some(match again.iter().position(|value| *value >= wanted) {
        Some(round) => format!(
            "The second sequential writes reach the mean rate of the first ones, {}, in round {}.",
            rate(wanted),
            round + 1
        ),
        None => format!(
            "The second sequential writes do not reach the mean rate of the first ones, {}, in {} rounds; they end at \
             {}.",
            rate(wanted),
            again.len(),
            at_the_end(last, bytes_per_s).map_or("-".to_string(), rate)
        ),
    })
}

//! Sustained writes as tables, a chart and sentences.

use super::report::{End, Recovery, Stretch, SustainReport};
use crate::answer::{Shown, word};
use std::fmt::Write;
use truespd_platform::text::table::{Column, Room, fitted};
use truespd_platform::text::{bytes, duration_ns, hanging, part_percent, printable, rate, shell_line};

/// Lines of the chart, and columns of its longest bar.
const LINES: usize = 20;
const BAR: f64 = 50.0;

/// The tables, the chart where bars are wanted, and what it says.
pub(super) fn tables(report: &SustainReport, shown: Shown) -> String {
    let columns = shown.style.columns;
    let mut out = hanging("", &format!("writes: {}", printable(&shell_line(&report.line))), columns);
    out.push('\n');
    let stretches = report.stretches();
    if !stretches.is_empty() {
        out.push_str(&of_stretches(&stretches, columns));
        if shown.has_bars {
            out.push_str(&chart(report));
        }
        out.push('\n');
    }
    let recoveries = report.recoveries();
    if !recoveries.is_empty() {
        out.push_str(&of_recoveries(report, &recoveries, columns));
        out.push('\n');
    }
    for sentence in sentences(report) {
        out.push_str(&hanging("", &printable(&sentence), columns));
    }
    out
}

/// A row for each stretch of about the same rate.
fn of_stretches(stretches: &[Stretch], columns: usize) -> String {
    let mut rows: [Vec<String>; 3] = Default::default();
    for stretch in stretches {
        rows[0].push(bytes(stretch.from_bytes));
        rows[1].push(bytes(stretch.bytes));
        rows[2].push(rate(stretch.bytes_per_s));
    }
    let [after, written, rates] = rows;
    let columns_of = vec![
        Column::numbers("after", after, Room::Stays),
        Column::numbers("written", written, Room::Stays),
        Column::numbers("rate", rates, Room::Stays),
    ];
    fitted(columns_of, Some(columns))
}

fn of_recoveries(report: &SustainReport, recoveries: &[Recovery], columns: usize) -> String {
    let area = report.fast_area_bytes().map_or(0.0, |(bytes, _)| bytes);
    let mut rows: [Vec<String>; 4] = Default::default();
    for one in recoveries {
        rows[0].push(format!("{} s", one.rest_s));
        rows[1].push(recovered_words(one));
        rows[2].push(share_words(one, area));
        rows[3].push(word(one.grade).to_string());
    }
    let [rests, fast, shares, verdicts] = rows;
    let columns_of = vec![
        Column::numbers("rest", rests, Room::Stays),
        Column::numbers("fast again", fast, Room::Stays),
        Column::numbers("of the fast area", shares, Room::Stays),
        Column::words("verdict", verdicts, Room::Goes(1)),
    ];
    fitted(columns_of, Some(columns))
}

/// `12.3 GiB`, `< 300 MiB` where no more than scatter was seen.
pub(crate) fn recovered_words(recovery: &Recovery) -> String {
    match recovery.bytes {
        Some(_) if recovery.is_more => "all of it".to_string(),
        Some(fast) => bytes(fast),
        None => format!("< {}", bytes(recovery.least_bytes.max(1.0))),
    }
}

pub(crate) fn share_words(recovery: &Recovery, area_bytes: f64) -> String {
    if recovery.is_more || area_bytes <= 0.0 {
        return "-".to_string();
    }
    recovery.bytes.map_or("-".to_string(), |fast| part_percent(fast / area_bytes))
}

/// The rate over what was written before the first rest.
fn chart(report: &SustainReport) -> String {
    let Some(first) = report.first() else { return String::new() };
    let rates = first.rates();
    let highest = rates.iter().copied().fold(0.0, f64::max);
    if highest <= 0.0 {
        return String::new();
    }
    let mut out = "\nrate over what was written\n".to_string();
    let mut written = 0.0;
    for part in rates.chunks(rates.len().div_ceil(LINES).max(1)) {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let bar = "=".repeat((mean / highest * BAR).round() as usize);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:>10} {bar} {}", bytes(written), rate(mean));
        written += part.iter().sum::<f64>() * report.slice_s;
    }
    out
}

/// What it says, a sentence for each thing.
pub(crate) fn sentences(report: &SustainReport) -> Vec<String> {
    let mut all = vec![answer(report)];
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
pub(crate) fn answer(report: &SustainReport) -> String {
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
            "After a rest of {rest} s, no more was fast than scatter makes ({}).",
            bytes(longest.least_bytes.max(1.0))
        ),
    }
}

/// A row for each slice of all runs.
pub(super) fn csv(report: &SustainReport) -> String {
    let mut out = "rest_s,run,seconds,written_bytes,bytes_per_s,verdict\n".to_string();
    for phase in &report.phases {
        let (mut seconds, mut written) = (0.0, 0.0);
        for (number, run) in phase.runs.iter().enumerate() {
            for value in &run.bytes_per_s {
                seconds += report.slice_s;
                written += value * report.slice_s;
                let grade = word(run.grade);
                // Writing to a string cannot fail.
                let _ = writeln!(
                    out,
                    "{},{},{seconds:.3},{written:.0},{value:.0},{grade}",
                    phase.rest_s,
                    number + 1
                );
            }
        }
    }
    out
}

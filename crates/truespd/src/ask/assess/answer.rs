//! What an assessment says.

use super::plan::{FLUSHED_WRITE_BYTES, FLUSHES_PER_S};
use super::report::{Assessment, Check, Figure, Requirement};
use crate::answer::bars::{Bar, Bars};
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Block};
use crate::ask::SuiteDocument;
use truespd_core::result::Grade;
use truespd_front::show::plural;
use truespd_platform::text::size;
use truespd_platform::text::table::Room;

/// Column at which winsat's values begin.
const VALUE_COLUMN: usize = 47;

/// Where the limits come from.
const SOURCE: &str =
    "Windows hardware requirements, Device.Storage.Hd.AtaProtocol.Performance (MSDN ff567504)";

pub(super) fn of(assessment: &Assessment) -> Answer {
    let mut answer = Answer::default();
    answer.title(assessment.title());
    answer.says(verdict_words(assessment));
    answer.push(assessment.verdict.clone());
    answer.push(bars(assessment));
    answer.push(table(assessment));
    answer.note(format!("Limits: {SOURCE}. Numbers in the names of figures are block sizes in KiB."));
    answer.push(Block::Original(winsat(assessment)));
    answer.method(approximate(assessment));
    answer
}

/// Whether the disk meets the limits: a sentence without its full stop.
fn limits_words(assessment: &Assessment) -> String {
    let not_passed = assessment.not_passed();
    if assessment.figures.iter().all(|figure| figure.check() == Check::NoLimit) {
        "Microsoft published no limit for these figures".to_string()
    } else if not_passed.is_empty() {
        "The disk meets all of Microsoft's limits".to_string()
    } else {
        format!("The disk does not meet all of Microsoft's limits: {}", not_passed.join("; "))
    }
}

/// Whether the disk passes, and how many figures are not certified.
fn verdict_words(assessment: &Assessment) -> String {
    let limits = limits_words(assessment);
    let mut doubts = Vec::new();
    for grade in [Grade::Invalid, Grade::Suspect] {
        let count = assessment.figures.iter().filter(|figure| figure.grade == Some(grade)).count();
        if count > 0 {
            let verb = if count == 1 { "is" } else { "are" };
            doubts.push(format!("{} {verb} {}", plural(count, "figure"), grade.word()));
        }
    }
    match doubts.as_slice() {
        [] => format!("{limits}."),
        doubts => {
            let but = if assessment.not_passed().is_empty() { ", but" } else { "." };
            format!("{limits}{but} {}.", doubts.join(" and "))
        }
    }
}

/// What winsat itself prints: a line for each of its figures, and the time that all took.
fn winsat(assessment: &Assessment) -> String {
    let mut out = String::new();
    for figure in assessment.figures.iter().filter(|figure| figure.is_winsats) {
        let value = match figure.value {
            None => "not measured".to_string(),
            // Where winsat's score stands.
            Some(_) if figure.grade == Some(Grade::Invalid) => {
                format!("{}          INVALID", figure.shown())
            }
            Some(_) => figure.shown(),
        };
        let label = format!("> {}", figure.label);
        out.push_str(&format!("{label:<VALUE_COLUMN$}{value}\n"));
    }
    out + &format!("> Total Run Time {}\n", clock(assessment.run_time_s))
}

/// What winsat does not tell the world, and what stands for it here: a paragraph.
fn approximate(assessment: &Assessment) -> String {
    let has_flush = assessment.figures.iter().any(|figure| figure.test.starts_with("-flush"));
    let flush = if has_flush {
        format!(
            " Reads during flushes: {} random reads in the first half, beside writes in the second half and \
             {FLUSHES_PER_S} writes of {} per second, each followed by a flush of the drive's cache.",
            size(assessment.random_bytes),
            size(FLUSHED_WRITE_BYTES)
        )
    } else {
        String::new()
    };
    format!(
        "approximate: Microsoft does not publish how many I/Os winsat issues, its queue depth, its file size, how \
         often it flushes, or how it computes scores, so there are no scores. Here: queue depth 1, no page cache, \
         {} s per test{}, {}; 1 MB is 1,000,000 bytes.{flush}",
        assessment.seconds,
        if has_flush { " (twice that with flushes)" } else { "" },
        size(assessment.size_bytes),
    )
}

/// The figures beside their limits.
fn table(assessment: &Assessment) -> Table {
    let columns = vec![
        Column::words("figure", Room::Stays),
        Column::numbers("measured", Room::Stays),
        Column::numbers("limit", Room::Stays),
        Column::words("result", Room::Stays),
        Column::doubts("verdict"),
    ];
    let mut table = Table::of("Figures and limits", columns);
    for figure in &assessment.figures {
        let mut cells = Vec::new();
        for words in [figure.shown(), figure.limit_shown(), figure.check().word().to_string()] {
            cells.push(Cell::Text(words));
        }
        cells.push(figure.value.map_or(Cell::Missing, |_| Cell::Grade(figure.grade)));
        table.push(label(figure), cells);
    }
    table
}

/// How near each figure is to its limit. Those without one are in the table only.
fn bars(assessment: &Assessment) -> Bars {
    let mut bars = Bars {
        title: "Figures against their limits".into(),
        about: "A full bar means the limit; shorter is better. For latencies the bar is the measured value as a share \
                of the limit, for throughput it is the limit as a share of the measured value."
            .into(),
        heads: vec![String::new()],
        is_of_pages: true,
        full: Some(1.0),
        rows: Vec::new(),
    };
    for figure in &assessment.figures {
        let (Some(limit), Some(value)) = (figure.limit, figure.value) else { continue };
        let share = match limit {
            Requirement::Above(limit) => limit / value,
            Requirement::Below(limit) => value / limit,
        };
        let check = figure.check();
        let bar = Bar {
            value: share,
            range: [share, share],
            colour: usize::from(check != Check::Pass),
            words: figure.shown(),
            more: format!("limit {}, {}", figure.limit_shown(), check.word()),
            grade: figure.grade,
        };
        bars.rows.push((label(figure), vec![Some(bar)]));
    }
    bars
}

/// winsat's label, without the blanks that make its columns.
fn label(figure: &Figure) -> String {
    figure.label.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clock(seconds: f64) -> String {
    let hundredths = (seconds.max(0.0) * 100.0).round() as u64;
    let (whole, part) = (hundredths / 100, hundredths % 100);
    format!("{:02}:{:02}:{:02}.{part:02}", whole / 3600, whole / 60 % 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bar_is_the_limit() {
        let stored = include_bytes!("../../../../../tests/data/documents/suites/assess.json");
        let mut assessment: Assessment = truespd_core::result::envelope::read(stored).expect("a document");
        let figure = &mut assessment.figures[0];
        (figure.value, figure.limit) = (Some(50.0), Some(Requirement::Above(100.0)));
        let bars = bars(&assessment);
        let with_limit = assessment.figures.iter().filter(|figure| figure.limit.is_some()).count();
        assert_eq!((bars.rows.len(), bars.full), (with_limit, Some(1.0)));
        let bar = bars.rows[0].1[0].as_ref().expect("it was measured");
        assert_eq!((bar.value, bar.colour), (2.0, 1), "beyond its limit, in another colour");
        assert!(bar.more.contains("> 100 ") && bar.more.contains("FAIL"), "{}", bar.more);
    }
}

//! What stands under CrystalDiskMark's table: what the best of the loops hides, and what the verdicts say.

use crate::cli::show::series_verdict::series;
use crate::suite::figures::Spread;
use crate::suite::mark::text::mark;
use crate::suite::mark::{MarkReport, Row};
use diskspd::show::verdict::Style;
use truespd_core::result::Grade;

/// Columns of `write SEQ128K-Q32T16`, and of its test.
const LABEL_COLUMNS: usize = 20;
const REST: usize = LABEL_COLUMNS - "write ".len();

/// All of it.
pub(crate) fn text(report: &MarkReport, style: Style) -> String {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.outcome.is_some()).collect();
    let mut out = legend(&rows);
    let loops = match report.settings.loops {
        1 => "One run per test; its spread is not known:\n".to_string(),
        loops => format!("Median of {loops} runs, \u{b1} half of their range (above: the best):\n"),
    };
    out.push_str(&loops);
    out.push_str(&format!(
        "{:LABEL_COLUMNS$} {:>10} {:9} {:>13} {:9}   verdict\n",
        "", "MB/s", "", "mean latency", ""
    ));
    for row in &rows {
        out.push_str(&line(row, style));
    }
    // A stopped series lacks runs for another reason, which is told elsewhere.
    let loops = report.settings.loops as usize;
    for row in report.rows.iter().filter(|row| report.is_complete && row.loops.len() < loops) {
        let empty = loops - row.loops.len();
        let label = row.label();
        out.push_str(&format!("{label}: {empty} of {loops} runs completed no I/O; use --measure 60\n"));
    }
    out.push_str(&format!("\n{}", series(&report.verdict, style)));
    out
}

/// What the marks behind lines mean, when there are any.
fn legend(rows: &[&Row]) -> String {
    let has =
        |grade| rows.iter().any(|row| row.outcome.as_ref().is_some_and(|outcome| outcome.grade == grade));
    let mut out = String::new();
    for (grade, means) in [
        (Grade::Invalid, "invalid: these are not the storage's figures"),
        (Grade::Suspect, "suspect: measured correctly, but may not mean what it seems to mean"),
    ] {
        if let Some(mark) = mark(grade).filter(|_| has(grade)) {
            out.push_str(&format!("{mark} {means}\n"));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn line(row: &Row, style: Style) -> String {
    let Some(outcome) = &row.outcome else { return String::new() };
    let (rate, latency) = (outcome.bytes_per_s, outcome.latency_mean_ns);
    format!(
        "{:<6}{:REST$} {:10.3} {} {:10.2} us {}   {}\n",
        row.part.word(),
        row.test.to_string(),
        rate.median / 1e6,
        spread(&rate),
        latency.median / 1e3,
        spread(&latency),
        style.paint(outcome.grade, outcome.grade.word())
    )
}

/// Nine columns.
fn spread(spread: &Spread) -> String {
    match spread.count {
        1 => " ".repeat(9),
        _ => format!("\u{b1} {:5.1} %", spread.percent()),
    }
}

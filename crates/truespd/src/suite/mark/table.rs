//! What a person sees of a mark: what was measured, its verdict, and CrystalDiskMark's columns beside each other.

use super::report::{MarkReport, Outcome, Row};
use super::saved::{self, Reader};
use super::test::Operation;
use crate::answer::{SeriesVerdict, Shown, doubt, doubts_text};
use crate::suite::{RanOn, SuiteDocument, VOLATILE_CACHE};
use truespd_core::result::Part;
use truespd_platform::text::{columns_of, duration_ns, hanging, number, percent, printable, size};

impl SuiteDocument for MarkReport {
    fn title(&self) -> String {
        let (computer_name, targets) = (self.host.computer_name.clone(), vec![self.place.path.clone()]);
        let ran_on = RanOn { computer_name, ranks: self.ranks(), targets, models: self.place.models.clone() };
        format!("CrystalDiskMark tests{}", ran_on.words())
    }

    fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.outcome.is_some())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn ranks(&self) -> u32 {
        self.host.ranks
    }

    fn parts(&self) -> Vec<Part> {
        self.rows.iter().filter_map(Row::part).collect()
    }

    fn text(&self, shown: Shown) -> String {
        text(self, shown)
    }
}

/// Columns of a test's name: `SEQ128K-Q32T16`, and a gap.
const NAME: usize = 16;
/// Columns of the figures of a test in one direction: `1,234,567 IOPS, 12.3 ms \u{b1}12.3 %`, and a gap.
const CELL: usize = 32;
/// Columns of a rate before its unit.
const RATE: usize = 9;
/// A bar on a wide terminal.
const BAR_MAX: usize = 24;
/// Eighths of a column, from the left.
const EIGHTHS: [&str; 8] =
    ["", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];

/// All of it; ends with the table.
fn text(report: &MarkReport, shown: Shown) -> String {
    let columns = shown.style.columns;
    let mut out = String::new();
    if shown.has_original {
        out.push_str(&saved::text(report, Reader::Person));
        out.push('\n');
    }
    out.push_str(&hanging("", &about(report), columns));
    out.push_str(&hanging("", &method(report), columns));
    out.push_str(&report.verdict.shown(shown));
    if counts_cached_writes(report) {
        let words = "Writes count when the drive's write cache has them, as CrystalDiskMark counts them. --durable \
                     counts them when they are durable.";
        out.push_str(&hanging("", words, columns));
    }
    let loops = report.settings.loops;
    for (label, empty) in report.rows_with_empty_runs() {
        let words = format!("{label}: {empty} of {loops} runs completed no I/O; use --measure 60");
        out.push_str(&hanging("", &words, columns));
    }
    let grades = report.rows.iter().filter_map(|row| row.outcome.as_ref()).map(|outcome| outcome.grade);
    out.push_str(&doubts_text(grades, columns));
    out + &tables(report, shown)
}

/// What it is, and where.
fn about(report: &MarkReport) -> String {
    let place = &report.place;
    let mut words = printable(&report.title()).to_string();
    if let (Some(used), Some(all)) = (place.used_bytes, place.size_bytes)
        && all > 0
    {
        words.push_str(&format!(", {} full", percent(used as f64 / all as f64)));
    }
    words
}

/// When and how it was measured.
fn method(report: &MarkReport) -> String {
    let minutes = report.host.local_time.rsplit_once(':').map_or("", |(minutes, _)| minutes);
    let settings = &report.settings;
    let runs = match settings.loops {
        1 => format!("one run of {} s", settings.measure_s),
        loops => format!("best of {loops} runs of {} s", settings.measure_s),
    };
    let data = if settings.zero_data { "zeros" } else { "random data" };
    let durable = if settings.is_durable { ", durable writes" } else { "" };
    let spread = if settings.loops > 1 { "; \u{b1} half of their range" } else { "" };
    let when = minutes.replace('T', " ");
    format!("{when}: {runs}, {} of {data}{durable}{spread}", size(settings.size_bytes))
}

/// Whether a cache of the drive acknowledged writes.
fn counts_cached_writes(report: &MarkReport) -> bool {
    report.verdict.findings.iter().any(|finding| finding.rule == VOLATILE_CACHE)
}

/// Reads, writes and mixed tests beside each other, as many as the width takes; the others below.
fn tables(report: &MarkReport, shown: Shown) -> String {
    let room = shown.style.columns.saturating_sub(NAME);
    let beside = (room / CELL).clamp(1, 3);
    let width = (room / beside).min(NAME + CELL);
    let rates = report.rows.iter().filter_map(|row| row.outcome.as_ref()).map(|of| of.best_bytes_per_s);
    let cells = Cells { width, most: rates.fold(0.0, f64::max), has_bars: shown.has_bars };
    let mut out = String::new();
    for parts in report.settings.parts.chunks(beside) {
        out.push('\n');
        let heads = parts.iter().map(|part| format!("{:RATE$}{}", "", head(*part, report)));
        out.push_str(&line("", heads, width));
        for test in &report.settings.tests {
            let mut rows: Vec<Option<&Row>> = Vec::new();
            for part in parts {
                rows.push(report.rows.iter().find(|row| row.part == *part && row.test == *test));
            }
            out.push_str(&line(&test.to_string(), rows.iter().map(|row| cells.rate(*row)), width));
            out.push_str(&line("", rows.iter().map(|row| times(*row)), width));
        }
    }
    out
}

fn head(part: Operation, report: &MarkReport) -> String {
    match part {
        Operation::Read => "READ".into(),
        Operation::Write => "WRITE".into(),
        Operation::Mix => format!("MIX ({} % reads)", report.settings.mix_read_percent),
    }
}

/// A line of the table, without blanks at its end.
fn line(name: &str, cells: impl Iterator<Item = String>, width: usize) -> String {
    let mut out = format!("{name:NAME$}");
    for cell in cells {
        let gap = width.saturating_sub(columns_of(&cell));
        out.push_str(&format!("{cell}{:gap$}", ""));
    }
    out.trim_end().to_string() + "\n"
}

struct Cells {
    width: usize,
    /// The largest rate of the table, which has the longest bar.
    most: f64,
    has_bars: bool,
}

impl Cells {
    /// `    3,423 MB/s ? ███████`.
    fn rate(&self, row: Option<&Row>) -> String {
        let Some(of) = row.and_then(|row| row.outcome.as_ref()) else { return format!("{:>RATE$}", "-") };
        let mark = doubt(of.grade);
        let figure = format!("{:>RATE$} MB/s {mark:1} ", number(of.best_bytes_per_s / 1e6));
        if !self.has_bars || self.most <= 0.0 {
            return figure;
        }
        let room = self.width.saturating_sub(columns_of(&figure) + 1).min(BAR_MAX);
        figure + &bar(of.best_bytes_per_s / self.most, room)
    }
}

/// `    3,264 IOPS, 2.44 ms \u{b1}1.0 %`; what was not measured says so.
fn times(row: Option<&Row>) -> String {
    match row {
        None => String::new(),
        Some(Row { outcome: None, .. }) => "not measured".into(),
        Some(Row { outcome: Some(of), .. }) => format!(
            "{:>RATE$} IOPS, {}{}",
            number(of.best_iops),
            duration_ns(of.best_latency_mean_ns),
            spread(of)
        ),
    }
}

fn spread(of: &Outcome) -> String {
    match of.bytes_per_s.count {
        1 => String::new(),
        _ => format!(" \u{b1}{:.1} %", of.bytes_per_s.percent()),
    }
}

/// As much of so many columns as `share` tells; what is not nothing is seen.
fn bar(share: f64, columns: usize) -> String {
    let eighths = ((share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize).max(1);
    "\u{2588}".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

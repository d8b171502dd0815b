//! The pages of suites: what a report shows of each kind of document.

use crate::answer::bars::{Bar, Bars};
use crate::answer::findings::of_series;
use crate::answer::html::{escaped, first_large, latency_words, note, paragraph};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::ab::Comparison;
use crate::suite::assess::{Assessment, Check, Figure, Requirement, SOURCE};
use crate::suite::beside::BesideReport;
use crate::suite::find_max::HighestRate;
use crate::suite::mark::{self, MarkReport, Operation};
use crate::suite::pts::PtsReport;
use crate::suite::study::StudyReport;
use crate::suite::sustain::SustainReport;
use crate::suite::sweep::SweepReport;
use crate::suite::workload::Outcome;
use crate::suite::{Spread, SuiteDocument};
use truespd_platform::text::{bytes, decimal_rate, number, percent, shell_line, size};

/// Tests of a picture, at most: a document may have any number, and its table has them all.
const TESTS_MAX: usize = 40;
const EMPTY: &str = "-";

/// A document that has a page.
pub trait Page: SuiteDocument {
    /// What its page shows, as HTML.
    fn html(&self) -> String {
        self.answer().html()
    }

    /// The picture that says most of it, and a line about it; none where its tables say all.
    fn picture(&self) -> Option<(Picture, String)> {
        self.answer().picture()
    }
}

impl Page for PtsReport {}
impl Page for SweepReport {}
impl Page for SustainReport {}
impl Page for BesideReport {}
impl Page for HighestRate {}
impl Page for Outcome {}
impl Page for Comparison {}
impl Page for StudyReport {}

pub(super) fn texts<const N: usize>(texts: [String; N]) -> Vec<Cell> {
    texts.map(Cell::Text).into()
}

pub(super) use crate::answer::page::heading;

fn answer(words: &str) -> String {
    paragraph("answer", words)
}

/// The command lines that repeat it, each below its name.
pub(super) fn repeat<'a>(lines: impl Iterator<Item = (String, &'a [String])>) -> String {
    let mut out = String::new();
    for (name, words) in lines {
        if !name.is_empty() {
            out += &format!("# {}\n", escaped(&name));
        }
        out += &format!("{}\n", escaped(&format!("diskspd {}", shell_line(words))));
    }
    if out.is_empty() { out } else { format!("<pre tabindex=\"0\">{out}</pre>\n") }
}

/// Whether the disk passes, every figure with its limit, the verdict, and what winsat does not tell.
impl Page for Assessment {
    fn html(&self) -> String {
        let mut table =
            Table::new("Figures and limits", ["figure", "measured", "limit", "result", "verdict"]);
        for figure in &self.figures {
            let mut cells = texts([figure.shown(), figure.limit_shown(), figure.check().word().to_string()]);
            cells.push(figure.value.map_or(Cell::Text(EMPTY.into()), |_| Cell::Grade(figure.grade)));
            table.push(label(figure), cells);
        }
        let limits = format!("Limits: {SOURCE}. Numbers in the names of figures are block sizes in KiB.");
        let approximate = note(&first_large(&self.approximate()));
        let picture = figures_and_limits(self).html();
        [answer(&self.answer()), of_series(&self.verdict), picture, table.html(), note(&limits), approximate]
            .concat()
    }

    fn picture(&self) -> Option<(Picture, String)> {
        Some((figures_and_limits(self).into(), self.answer()))
    }
}

/// How near each figure is to its limit. Those without one are in the table only.
fn figures_and_limits(assessment: &Assessment) -> Bars {
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
    for figure in assessment.figures.iter().take(TESTS_MAX) {
        let (Some(limit), Some(value)) = (figure.limit, figure.value) else { continue };
        let share = match limit {
            Requirement::Above(limit) => limit / value,
            Requirement::Below(limit) => value / limit,
        };
        let passes = figure.check() == Check::Pass;
        let bar = Bar {
            value: share,
            range: [share, share],
            colour: usize::from(!passes),
            words: figure.shown(),
            more: format!("limit {} · {}", figure.limit_shown(), figure.check().word()),
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

/// What was measured, the verdict, the bars, all figures as a table, the lines.
impl Page for MarkReport {
    fn html(&self) -> String {
        let mut out = paragraph("subtitle", &about_mark(self))
            + &of_series(&self.verdict)
            + &rates_of_tests(self).html();
        let loops = self.settings.loops;
        for (label, empty) in self.rows_with_empty_runs() {
            let words = format!("{label}: {empty} of {loops} runs completed no I/O.");
            out += &paragraph("", &format!("{words} Measure longer: --measure 60."));
        }
        if !self.is_complete {
            out += &paragraph("", "The series was stopped before its end.");
        }
        out += &figures_of_mark(self).html();
        out += &note(
            "1 MB is 1,000,000 bytes. A name tells the pattern (SEQ: sequential, RND: random), the block size, the \
             I/Os outstanding per thread (Q) and the threads (T). The rate and its IOPS are those of the best run, the \
             latency is the smallest mean, as in CrystalDiskMark; ± is half of the range of all runs.",
        );
        let rows = self.rows.iter().filter(|row| !row.words.is_empty());
        out + &heading("To repeat it") + &repeat(rows.map(|row| (row.label(), row.words.as_slice())))
    }

    fn picture(&self) -> Option<(Picture, String)> {
        let (when, place) = (self.host.local_time.replace('T', " "), method_of_mark(self));
        Some((rates_of_tests(self).into(), format!("{when}, {place}")))
    }
}

/// Everything of each test in a row.
fn figures_of_mark(report: &MarkReport) -> Table {
    let head = ["test", "rate", "IOPS", "mean latency", "median rate", "median latency", "verdict"];
    let mut table = Table::new("Figures", head);
    for row in &report.rows {
        let Some(of) = &row.outcome else {
            table.push(row.label(), vec![Cell::Text("not measured".into())]);
            continue;
        };
        let mut cells = texts([
            decimal_rate(of.best_bytes_per_s),
            number(of.best_iops),
            latency_words(of.best_latency_mean_ns),
            decimal_rate(of.bytes_per_s.median) + &half_range(of.bytes_per_s),
            latency_words(of.latency_mean_ns.median) + &half_range(of.latency_mean_ns),
        ]);
        cells.push(Cell::Grade(Some(of.grade)));
        table.push(row.label(), cells);
    }
    table
}

/// ` ±7.4 %`; a single run has no range.
fn half_range(spread: Spread) -> String {
    if spread.count == 1 { String::new() } else { format!(" ±{:.1} %", spread.percent()) }
}

/// What was measured, where, when and how.
fn about_mark(report: &MarkReport) -> String {
    let (host, place) = (&report.host, &report.place);
    let room = match (place.used_bytes, place.size_bytes) {
        (Some(used), Some(all)) if all > 0 => {
            format!(", {} of {} in use", percent(used as f64 / all as f64), bytes(all as f64))
        }
        (_, Some(all)) => format!(", {}", bytes(all as f64)),
        (_, None) => String::new(),
    };
    format!(
        "{} on {} ({}, Linux {})\n{}{room}\n{}",
        host.local_time.replace('T', " "),
        host.computer_name,
        host.system,
        host.kernel_release,
        place.path,
        method_of_mark(report)
    )
}

fn method_of_mark(report: &MarkReport) -> String {
    let settings = &report.settings;
    let zeros = if settings.zero_data { ", zeros instead of random data" } else { "" };
    let durable = if settings.is_durable { ", durable writes" } else { "" };
    let bytes = size(settings.size_bytes);
    format!(
        "{bytes} of test data{zeros}{durable}, {} runs of {} s for each test",
        settings.loops, settings.measure_s
    )
}

/// The rates of each test: reads, writes and mixed beside each other.
fn rates_of_tests(report: &MarkReport) -> Bars {
    let settings = &report.settings;
    let mut bars = Bars {
        title: "Reads and writes".into(),
        about: "The bar is the best run. The line on it reaches from the slowest run to the fastest.".into(),
        heads: settings.parts.iter().map(|part| head_of(*part, settings.mix_read_percent)).collect(),
        is_of_pages: true,
        full: None,
        rows: Vec::new(),
    };
    if settings.loops == 1 {
        bars.about.clear();
    }
    for test in settings.tests.iter().take(TESTS_MAX) {
        let mut row = Vec::new();
        for (place, part) in settings.parts.iter().enumerate() {
            let found = report.rows.iter().find(|row| row.part == *part && row.test == *test);
            row.push(found.and_then(|row| row.outcome.as_ref()).map(|of| bar_of(of, place)));
        }
        bars.rows.push((test.to_string(), row));
    }
    bars
}

fn head_of(part: Operation, mix_read_percent: u32) -> String {
    match part {
        Operation::Read => "READ".into(),
        Operation::Write => "WRITE".into(),
        Operation::Mix => format!("MIX ({mix_read_percent} % reads)"),
    }
}

fn bar_of(of: &mark::Outcome, colour: usize) -> Bar {
    let (iops, latency) = (number(of.best_iops), latency_words(of.best_latency_mean_ns));
    Bar {
        value: of.best_bytes_per_s,
        range: [of.bytes_per_s.min, of.bytes_per_s.max],
        colour,
        words: decimal_rate(of.best_bytes_per_s),
        more: format!("{iops} IOPS · {latency}{}", half_range(of.bytes_per_s)),
        grade: Some(of.grade),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bar_is_the_limit() {
        let stored = include_bytes!("../../../../tests/data/documents/suites/assess.json");
        let mut assessment: Assessment = truespd_core::result::envelope::read(stored).expect("a document");
        let figure = &mut assessment.figures[0];
        (figure.value, figure.limit) = (Some(50.0), Some(Requirement::Above(100.0)));
        let bars = figures_and_limits(&assessment);
        let with_limit = assessment.figures.iter().filter(|figure| figure.limit.is_some()).count();
        assert_eq!((bars.rows.len(), bars.full), (with_limit, Some(1.0)));
        let bar = bars.rows[0].1[0].as_ref().expect("it was measured");
        assert_eq!((bar.value, bar.colour), (2.0, 1), "beyond its limit, in another colour");
        assert!(bar.more.contains("> 100 ") && bar.more.contains("FAIL"), "{}", bar.more);
    }
}

//! The pages of suites: what a report shows of each kind of document.

use crate::answer::axis::{Point, Spread as Spreading};
use crate::answer::bars::{Bar, Bars};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::doubt;
use crate::answer::findings::of_series;
use crate::answer::html::{escaped, first_large, latency_words, note, paragraph, tiles};
use crate::answer::picture::Picture;
use crate::answer::table::{Cell, Table};
use crate::suite::ab::{self, Comparison, Effect, Metric, Variant, change, percent_of};
use crate::suite::assess::{Assessment, Check, Figure, Requirement, SOURCE};
use crate::suite::beside::BesideReport;
use crate::suite::find_max::HighestRate;
use crate::suite::mark::{self, MarkReport, Operation};
use crate::suite::study::Node;
use crate::suite::study::StudyReport;
use crate::suite::sustain::SustainReport;
use crate::suite::sweep::SweepReport;
use crate::suite::workload::Outcome;
use crate::suite::{Spread, SuiteDocument};
use truespd_core::result::Grade;
use truespd_core::result::metrics::Unit;
use truespd_platform::text::{bytes, decimal_rate, number, percent, rate, shell_line, size};

/// Tests of a picture, at most: a document may have any number, and its table has them all.
const TESTS_MAX: usize = 40;
/// Logarithms of ratios lie within this, so that percentages stay numbers in any document.
const LOG_MAX: f64 = 20.0;
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

impl Page for SweepReport {}
impl Page for SustainReport {}
impl Page for BesideReport {}
impl Page for HighestRate {}
impl Page for Outcome {}

/// A chart of things that stand beside each other, each with its name.
fn named(title: &str, x_name: &str, y_name: &str, show_y: fn(f64) -> String, names: Vec<String>) -> Chart {
    let mut chart = Chart::new(title, x_name, y_name, number, show_y);
    chart.ticks = Ticks::Named(names.into_iter().enumerate().map(|(at, name)| (at as f64, name)).collect());
    chart.is_dots = true;
    chart
}

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

/// A metric's values as an axis shows them.
fn shown(metric: Metric) -> fn(f64) -> String {
    match metric.unit() {
        Unit::PerSecond => number,
        Unit::BytesPerSecond => rate,
        Unit::Nanoseconds => latency_words,
    }
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
            doubt: figure.grade.map_or(String::new(), doubt_words),
        };
        bars.rows.push((label(figure), vec![Some(bar)]));
    }
    bars
}

/// winsat's label, without the blanks that make its columns.
fn label(figure: &Figure) -> String {
    figure.label.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sign and the word of a grade that a reader must know.
fn doubt_words(grade: Grade) -> String {
    match doubt(grade) {
        "" => String::new(),
        sign => format!("{sign} {}", grade.word()),
    }
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
        doubt: doubt_words(of.grade),
    }
}

/// The answer, both variants, the blocks, the verdict, the lines.
impl Page for Comparison {
    fn html(&self) -> String {
        let names = names_of_sides();
        [compared(self, &names, ""), heading("To repeat it"), lines_of(self, &names)].concat()
    }

    fn picture(&self) -> Option<(Picture, String)> {
        Some((blocks(self, &names_of_sides(), "").into(), first_large(&ab::sentence(self))))
    }
}

fn names_of_sides() -> [String; 2] {
    ["A".to_string(), "B".to_string()]
}

/// What it means, then each comparison, then the runs of other nodes.
impl Page for StudyReport {
    fn html(&self) -> String {
        let mut out = answer(self.study.question());
        for words in &self.says {
            out += &paragraph("", words);
        }
        for part in &self.parts {
            let names = [format!("A ({})", part.names[0]), format!("B ({})", part.names[1])];
            out += &heading(&part.title);
            out += &compared(&part.comparison, &names, &format!(": {}", part.title));
            out += &lines_of(&part.comparison, &names);
        }
        out + &nodes(&self.nodes)
    }

    fn picture(&self) -> Option<(Picture, String)> {
        let part = self.parts.first()?;
        let chart = blocks(&part.comparison, &names_of_sides(), &format!(": {}", part.title));
        Some((chart.into(), first_large(&ab::sentence(&part.comparison))))
    }
}

fn sides<'c>(comparison: &'c Comparison, names: &[String; 2]) -> [(String, &'c Variant); 2] {
    [(names[0].clone(), &comparison.a), (names[1].clone(), &comparison.b)]
}

fn lines_of(comparison: &Comparison, names: &[String; 2]) -> String {
    repeat(sides(comparison, names).into_iter().map(|(name, variant)| (name, variant.words.as_slice())))
}

/// The answer, figures of both, the charts, whose titles end with `of`, and the verdict.
fn compared(comparison: &Comparison, names: &[String; 2], of: &str) -> String {
    let mut out = answer(&(first_large(&ab::sentence(comparison)) + "."));
    if let Some(effect) = &comparison.effect {
        out += &tiles_of_effect(effect, comparison.blocks_max);
    }
    out += &of_series(&comparison.verdict);
    if !comparison.blocks.is_empty() {
        out += &differences(comparison, of).html();
    }
    let what = first_large(&comparison.metric.heading(comparison.is_response));
    let head = ["variant", "median", "smallest", "largest", "runs", "IOPS of the disks", "verdict"];
    let mut table = Table::new(format!("{what} of the runs"), head);
    for (name, variant) in sides(comparison, names) {
        let Some(figures) = variant.figures else {
            table.push(name, vec![Cell::Text("no run".into())]);
            continue;
        };
        let [median, min, max] =
            [figures.median, figures.min, figures.max].map(|value| comparison.metric.show(value));
        let disks = variant.disk_iops.map_or(EMPTY.to_string(), number);
        let cells = [
            texts([median, min, max, figures.count.to_string(), disks]),
            vec![Cell::Grade(Some(variant.grade))],
        ]
        .concat();
        table.push(name, cells);
    }
    out += &table.html();
    if comparison.a.disk_iops.or(comparison.b.disk_iops).is_some() {
        out += &note(
            "IOPS of the disks: of all programs, as the kernel counted them on the disks below the target.",
        );
    }
    for remark in &comparison.remarks {
        out += &note(&format!("{}.", first_large(remark)));
    }
    if !comparison.blocks.is_empty() {
        out += &blocks(comparison, names, of).html();
    }
    out
}

fn tiles_of_effect(effect: &Effect, blocks_max: usize) -> String {
    let Effect { ratio, ratio_low, ratio_high, p, blocks, .. } = *effect;
    let range = if ab::is_of_use(ratio_low, ratio_high) {
        format!("{} to {}", change(percent_of(ratio_low)), change(percent_of(ratio_high)))
    } else {
        "too wide to tell".to_string()
    };
    let p = if p < 0.001 { "below 0.001".to_string() } else { format!("{p:.3}") };
    tiles(&[
        ("B compared with A", Some(change(percent_of(ratio)))),
        (&format!("{} interval", effect.confidence_percent()), Some(range)),
        ("p", Some(p)),
        ("blocks of four runs", Some(format!("{blocks} of {blocks_max} planned"))),
    ])
}

fn numbers_of_blocks(comparison: &Comparison) -> Vec<String> {
    (1..=comparison.blocks.len()).map(|number| number.to_string()).collect()
}

/// How far B is from A in each block, with the margin and the interval.
fn differences(comparison: &Comparison, of: &str) -> Chart {
    let title = format!("Difference in each block{of}");
    let mut chart = named(&title, "block", "B compared with A", change, numbers_of_blocks(comparison));
    chart.spread = Spreading::Free;
    let margin = comparison.margin_percent;
    chart.strips.push([-margin, margin]);
    chart.about = format!(
        "Each point is a block of four runs. Differences within the shaded {margin} % do not matter (--margin)."
    );
    let ratios = comparison.blocks.iter().map(|block| block.log_ratio.clamp(-LOG_MAX, LOG_MAX).exp());
    let points = ratios.enumerate().map(|(at, ratio)| Point::at(at as f64, percent_of(ratio)));
    chart.series.push(Series::new("a block", points.collect()));
    if let Some(effect) = comparison.effect
        && ab::is_of_use(effect.ratio_low, effect.ratio_high)
    {
        let x = comparison.blocks.len() as f64;
        let [y, low, high] = [effect.ratio, effect.ratio_low, effect.ratio_high].map(percent_of);
        if let Ticks::Named(names) = &mut chart.ticks {
            names.push((x, "all".to_string()));
        }
        chart.series.push(Series::new("all blocks", vec![Point { x, y, range: [low, high] }]));
        chart.about.push_str(" The last point is the result of all blocks together, with its interval.");
    }
    chart
}

/// Both sides in each block.
fn blocks(comparison: &Comparison, names: &[String; 2], of: &str) -> Chart {
    let title = format!("A and B in each block{of}");
    let show = shown(comparison.metric);
    let mut chart = named(&title, "block", comparison.what(), show, numbers_of_blocks(comparison));
    chart.about =
        "The point is the mean of the two runs of a side. The line reaches from one to the other.".into();
    for (side, name) in names.iter().enumerate() {
        let mut points = Vec::new();
        for (at, block) in comparison.blocks.iter().enumerate() {
            let [one, other] = [block.a, block.b][side];
            let range = [one.min(other), one.max(other)];
            points.push(Point { x: at as f64, y: (one + other) / 2.0, range });
        }
        chart.series.push(Series::new(name, points));
    }
    chart
}

/// Runs that were made elsewhere.
fn nodes(nodes: &[Node]) -> String {
    let Some(first) = nodes.first() else { return String::new() };
    let what = first_large(&first.metric.heading(nodes.iter().any(|node| node.is_response)));
    let beside = format!("compared with {}", first.name);
    let head =
        ["node", "median", "smallest", "largest", "runs", beside.as_str(), "95 % interval", "p", "verdict"];
    let mut table = Table::new(format!("{what} of the runs of each node"), head);
    let mut points = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let figures = &node.figures;
        points.push(Point { x: at as f64, y: figures.median, range: [figures.min, figures.max] });
        let [ratio, interval, p] = match &node.difference {
            Some(of) if at > 0 => [
                change(percent_of(of.ratio)),
                format!("{} to {}", change(percent_of(of.ratio_low)), change(percent_of(of.ratio_high))),
                if of.p < 0.001 { "<0.001".to_string() } else { format!("{:.3}", of.p) },
            ],
            _ if at > 0 => ["needs two runs of each", EMPTY, EMPTY].map(String::from),
            _ => [EMPTY; 3].map(String::from),
        };
        let [median, min, max] =
            [figures.median, figures.min, figures.max].map(|value| node.metric.show(value));
        let cells = [
            texts([median, min, max, figures.count.to_string(), ratio, interval, p]),
            vec![Cell::Grade(node.grade)],
        ]
        .concat();
        table.push(&node.name, cells);
    }
    let names = nodes.iter().map(|node| node.name.clone()).collect();
    let y_name = first.metric.words(first.is_response);
    let mut chart = named(&format!("{what} of each node"), "node", y_name, shown(first.metric), names);
    chart.about =
        "The point is the median of the runs. The line reaches from the smallest to the largest.".into();
    chart.series.push(Series::new("runs of a node", points));
    [heading("Runs of the nodes"), table.html(), chart.html()].concat()
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

    #[test]
    fn changes_have_a_sign_and_few_digits() {
        assert_eq!([5.44, -0.314, 0.001, -12.0].map(change), ["+5.4 %", "-0.31 %", "0 %", "-12.0 %"]);
    }
}

//! What a comparison says: how far B is from A, and how sure that is.

use super::design::{BLOCKS_MIN, Outcome, P_MIN};
use super::report::{Comparison, Effect, Stopped, Variant};
use crate::answer::axis::{Point, Spread as Spreading};
use crate::answer::chart::{Chart, Series, Ticks};
use crate::answer::html::{first_large, latency_words};
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Block, Commands};
use crate::ask::Spread;
use truespd_core::result::metrics::{Metric, Unit};
use truespd_platform::text::table::Room;
use truespd_platform::text::{number, precise, rate, shell_line};

/// Logarithms of ratios lie within this, so that percentages stay numbers in any document.
const LOG_MAX: f64 = 20.0;

pub(super) fn of(comparison: &Comparison) -> Answer {
    let names = ["A", "B"].map(String::from);
    let mut answer = Answer::default();
    push(&mut answer, comparison, &names, "");
    answer.push(Commands::to_repeat(lines(comparison, &names)));
    answer
}

/// Adds what a comparison of sides with these names says. The titles of its charts end with `of`.
pub(in crate::ask) fn push(answer: &mut Answer, comparison: &Comparison, names: &[String; 2], of: &str) {
    let lines = lines(comparison, names);
    let lines: Vec<String> =
        lines.iter().map(|(name, words)| format!("{name}: {}", shell_line(words))).collect();
    answer.about(lines.join("\n"));
    answer.says(format!("{}.", sentence(comparison)));
    if let Some(effect) = &comparison.effect {
        answer.push(Block::Headline(figures(comparison, effect)));
    }
    for remark in &comparison.remarks {
        answer.remark(format!("note: {remark}."));
    }
    answer.push(comparison.verdict.clone());
    answer.push(blocks(comparison, names, of));
    answer.push(table(comparison, names));
    if comparison.a.disk_iops.or(comparison.b.disk_iops).is_some() {
        answer
            .note("disks' IOPS: of all programs, as the kernel counted them on the disks below the target.");
    }
    answer.push(differences(comparison, of));
}

fn sides<'c>(comparison: &'c Comparison, names: &'c [String; 2]) -> [(&'c String, &'c Variant); 2] {
    [(&names[0], &comparison.a), (&names[1], &comparison.b)]
}

/// The command line of each side.
pub(in crate::ask) fn lines(comparison: &Comparison, names: &[String; 2]) -> Vec<(String, Vec<String>)> {
    sides(comparison, names).map(|(name, variant)| (name.clone(), variant.words.clone())).into()
}

/// How far B is from A, and on how many blocks that rests.
fn figures(comparison: &Comparison, effect: &Effect) -> Vec<(String, String)> {
    let confidence = effect.confidence_percent();
    let percent = change(percent_of(effect.ratio));
    let mut figures = Vec::new();
    if is_of_use(effect.ratio_low, effect.ratio_high) {
        let [low, high] = [effect.ratio_low, effect.ratio_high].map(|end| format!("{end:.4}"));
        figures.push((
            "B / A".to_string(),
            format!("{:.4}\n{percent}; {confidence} interval {low} to {high}", effect.ratio),
        ));
        let differences = [effect.difference, effect.difference_low, effect.difference_high];
        let [difference, low, high] = differences.map(|value| {
            let sign = if value < 0.0 { "-" } else { "+" };
            format!("{sign}{}", comparison.metric.show(value.abs()))
        });
        figures.push(("B - A".to_string(), format!("{difference}\n{confidence} interval {low} to {high}")));
    } else {
        let ratios = Spread::of(comparison.blocks.iter().map(|block| block.log_ratio.exp()));
        let range = ratios.map_or(String::new(), |of| {
            format!("; in single blocks {} to {}", precise(of.min), precise(of.max))
        });
        figures.push(("B / A".to_string(), format!("{}\n{percent}{range}", precise(effect.ratio))));
    }
    let blocks = format!("{} blocks of four runs, {} planned at most", effect.blocks, comparison.blocks_max);
    figures.push(("p".to_string(), format!("{}\n{blocks}", p_words(effect.p))));
    figures
}

/// The figures of both sides.
fn table(comparison: &Comparison, names: &[String; 2]) -> Table {
    let columns = vec![
        Column::words("variant", Room::Start(8, 1)),
        Column::numbers("median", Room::Stays),
        Column::numbers("smallest", Room::Stays),
        Column::numbers("largest", Room::Stays),
        Column::numbers("runs", Room::Stays),
        Column::numbers("disks' IOPS", Room::Stays),
        Column::words("verdict", Room::Stays),
    ];
    let what = first_large(&comparison.metric.heading(comparison.is_response));
    let mut table = Table::of(format!("{what} of the runs"), columns);
    for (name, variant) in sides(comparison, names) {
        let mut cells = vec![Cell::Missing; 6];
        if let Some(figures) = &variant.figures {
            cells = spread_cells(comparison.metric, figures).into();
            cells.push(Cell::figure(variant.disk_iops, number));
            cells.push(Cell::Grade(Some(variant.grade)));
        }
        table.push(name, cells);
    }
    table
}

/// Median, smallest and largest of the figures of runs, and the number of the runs.
pub(in crate::ask) fn spread_cells(metric: Metric, figures: &Spread) -> [Cell; 4] {
    let [median, min, max] =
        [figures.median, figures.min, figures.max].map(|value| Cell::Text(metric.show(value)));
    [median, min, max, Cell::Whole(figures.count as u64)]
}

/// A metric's values as an axis shows them.
pub(in crate::ask) fn shown(metric: Metric) -> fn(f64) -> String {
    match metric.unit() {
        Unit::PerSecond => number,
        Unit::BytesPerSecond => rate,
        Unit::Nanoseconds => latency_words,
    }
}

fn numbers_of_blocks(comparison: &Comparison) -> Vec<String> {
    (1..=comparison.blocks.len()).map(|number| number.to_string()).collect()
}

/// Both sides in each block.
fn blocks(comparison: &Comparison, names: &[String; 2], of: &str) -> Chart {
    let title = format!("A and B in each block{of}");
    let show = shown(comparison.metric);
    let mut chart = Chart::of_names(&title, "block", comparison.what(), show, numbers_of_blocks(comparison));
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

/// How far B is from A in each block, with the margin and the interval.
fn differences(comparison: &Comparison, of: &str) -> Chart {
    let title = format!("Difference in each block{of}");
    let mut chart =
        Chart::of_names(&title, "block", "B compared with A", change, numbers_of_blocks(comparison));
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
        && is_of_use(effect.ratio_low, effect.ratio_high)
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

/// The largest interval that tells anything, as the ratio of its ends.
const WIDEST: f64 = 100.0;

/// Whether an interval tells anything. The ends of a wider one are artefacts of the few blocks behind it.
pub fn is_of_use(ratio_low: f64, ratio_high: f64) -> bool {
    ratio_high <= ratio_low * WIDEST
}

pub(in crate::ask) fn p_words(p: f64) -> String {
    match p {
        p if p <= P_MIN => "< 0.000001".into(),
        p if p < 0.001 => format!("{p:.6}"),
        p => format!("{p:.3}"),
    }
}

/// A signed change in percent: `+5.4 %`.
pub(in crate::ask) fn change(value: f64) -> String {
    let digits = if value.abs() < 1.0 { 2 } else { 1 };
    let text = format!("{value:+.digits$}");
    let is_zero = text.trim_start_matches(['+', '-']).chars().all(|c| c == '0' || c == '.');
    if is_zero { "0 %".to_string() } else { format!("{text} %") }
}

/// Two ratios as the ends of a change: `-3.1 % to +7.7 %`.
pub(in crate::ask) fn change_range(low: f64, high: f64) -> String {
    format!("{} to {}", change(percent_of(low)), change(percent_of(high)))
}

/// A ratio as a change in percent.
pub(in crate::ask) fn percent_of(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// An undecided comparison with a smaller p looks like a difference.
const LOOKS_DIFFERENT_P: f64 = 0.05;

/// The answer in a sentence or two, without a line end.
pub(super) fn sentence(report: &Comparison) -> String {
    let Some(effect) = &report.effect else {
        let why = match report.stopped {
            Stopped::Person => "stopped",
            Stopped::Failure => "a run failed",
            Stopped::Decided | Stopped::Blocks | Stopped::Time => "the limits are reached",
        };
        let blocks = match report.blocks.len() {
            1 => "1 block".to_string(),
            blocks => format!("{blocks} blocks"),
        };
        let least = BLOCKS_MIN.min(report.blocks_max);
        return format!("undecided: {why} after {blocks}, but at least {least} are needed");
    };
    let confidence = effect.confidence_percent();
    let range = if is_of_use(effect.ratio_low, effect.ratio_high) {
        format!("{confidence} interval {}", change_range(effect.ratio_low, effect.ratio_high))
    } else {
        format!("no {confidence} interval: the blocks differ too much")
    };
    match report.outcome {
        Outcome::Different => {
            let equals = if effect.p <= P_MIN { "" } else { "= " };
            format!("different: {} ({range}; p {equals}{})", b_is(report, effect), p_words(effect.p))
        }
        Outcome::Equivalent => {
            let but = if effect.p < report.significance {
                format!(
                    "; there is one of {}, which is too small to matter",
                    change(percent_of(effect.ratio))
                )
            } else {
                String::new()
            };
            let (what, margin) = (report.what(), precise(report.margin_percent));
            format!("no difference in {what} larger than {margin} % ({range}){but}")
        }
        Outcome::Undecided => undecided(report, effect, &range),
    }
}

/// In the middle of a sentence: IOPS 5.0 % higher with B than with A, which is better
fn b_is(report: &Comparison, effect: &Effect) -> String {
    format!(
        "{} {} {} with B than with A, which is {}",
        report.what(),
        change(percent_of(effect.ratio)).trim_start_matches(['+', '-']),
        if effect.ratio > 1.0 { "higher" } else { "lower" },
        if report.is_better(effect) { "better" } else { "worse" }
    )
}

fn undecided(report: &Comparison, effect: &Effect, range: &str) -> String {
    let by = match report.stopped {
        Stopped::Time => "the time ran out; raise --max-minutes",
        Stopped::Person => "stopped",
        Stopped::Failure => "a run failed",
        Stopped::Decided | Stopped::Blocks => "all blocks are done; raise --blocks",
    };
    // Enough to suspect a difference, too little to promise one.
    if effect.p < LOOKS_DIFFERENT_P && effect.p >= report.significance {
        return format!(
            "undecided: probably {}, but {} blocks are too few to be sure ({range}; p = {}, and --significance asks \
             for less than {}; {by})",
            b_is(report, effect),
            effect.blocks,
            p_words(effect.p),
            report.significance
        );
    }
    format!(
        "undecided: neither a difference in {} nor its absence within {} % is shown ({range}; {by})",
        report.what(),
        precise(report.margin_percent)
    )
}

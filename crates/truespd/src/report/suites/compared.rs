//! `ab` and `study`: variants that ran in turns.

use super::super::Piece;
use super::super::axis::Point;
use super::super::axis::Spread;
use super::super::chart::{Chart, Series};
use super::super::course::latency_words;
use super::super::html::first_large;
use super::super::table::Cell;
use super::{named, words_table};
use crate::suite::ab::{self, Comparison, Effect, Metric, Variant};
use crate::suite::study::StudyReport;
use crate::suite::study::nodes::Node;
use truespd_core::result::metrics::Unit;
use truespd_core::text::{number, rate};

/// Logarithms of ratios lie within this, so that percentages stay numbers in any document.
const LOG_MAX: f64 = 20.0;

/// The answer, both variants, the blocks, the verdict, the lines.
pub fn ab(comparison: &Comparison) -> Vec<Piece> {
    let mut pieces = of_pair(comparison, ["A".into(), "B".into()], "");
    pieces.push(Piece::Verdict(comparison.verdict.clone()));
    pieces.push(Piece::Heading("To repeat it".into()));
    pieces.push(lines(comparison, &["A".into(), "B".into()]));
    pieces
}

/// What it means, then each comparison, then the runs of other nodes.
pub fn study(report: &StudyReport) -> Vec<Piece> {
    let mut pieces = vec![Piece::Answer(report.study.question().to_string())];
    pieces.extend(report.says.iter().cloned().map(Piece::Words));
    for part in &report.parts {
        let [a, b] = &part.names;
        pieces.push(Piece::Heading(part.title.clone()));
        let names = [format!("A ({a})"), format!("B ({b})")];
        pieces.extend(of_pair(&part.comparison, names.clone(), &format!(": {}", part.title)));
        pieces.push(Piece::Verdict(part.comparison.verdict.clone()));
        pieces.push(lines(&part.comparison, &names));
    }
    pieces.extend(nodes(&report.nodes));
    pieces
}

fn lines(comparison: &Comparison, names: &[String; 2]) -> Piece {
    let line = |name: &String, variant: &Variant| {
        (name.clone(), std::iter::once("diskspd".to_string()).chain(variant.words.clone()).collect())
    };
    Piece::Lines(vec![line(&names[0], &comparison.a), line(&names[1], &comparison.b)])
}

/// A signed change: `+5.4 %`.
fn percent(value: f64) -> String {
    let digits = if value.abs() < 1.0 { 2 } else { 1 };
    let text = format!("{value:+.digits$}");
    let is_zero = text.trim_start_matches(['+', '-']).chars().all(|c| c == '0' || c == '.');
    if is_zero { "0 %".to_string() } else { format!("{text} %") }
}

fn of_ratio(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// The answer, figures of both, and the charts; `of` ends the titles of charts.
fn of_pair(comparison: &Comparison, names: [String; 2], of: &str) -> Vec<Piece> {
    let mut pieces = vec![Piece::Answer(first_large(&ab::sentence(comparison)) + ".")];
    if let Some(tiles) = tiles(comparison) {
        pieces.push(Piece::Tiles(tiles));
    }
    let sides = [&comparison.a, &comparison.b];
    let row = |(name, variant): (&String, &&Variant)| {
        let cells = match &variant.figures {
            None => vec![Cell::Text("no run".into())],
            Some(figures) => {
                let texts =
                    [figures.median, figures.min, figures.max].map(|value| comparison.metric.show(value));
                let mut cells: Vec<Cell> = texts.map(Cell::Text).into();
                cells.push(Cell::Text(figures.count.to_string()));
                cells.push(Cell::Text(variant.disk_iops.map_or("-".to_string(), number)));
                cells.push(Cell::Grade(Some(variant.grade)));
                cells
            }
        };
        (name.clone(), cells)
    };
    let what = comparison.metric.heading(comparison.is_response);
    let head = ["variant", "median", "smallest", "largest", "runs", "IOPS of the disks", "verdict"];
    let rows = names.iter().zip(&sides).map(row).collect();
    pieces.push(words_table(&format!("{} of the runs", first_large(&what)), &head, rows));
    if sides.iter().any(|side| side.disk_iops.is_some()) {
        let words =
            "IOPS of the disks: of all programs, as the kernel counted them on the disks below the target.";
        pieces.push(Piece::Note(words.into()));
    }
    pieces.extend(comparison.remarks.iter().map(|remark| Piece::Note(format!("{}.", first_large(remark)))));
    if !comparison.blocks.is_empty() {
        pieces.push(Piece::Chart(Box::new(differences(comparison, of))));
        pieces.push(Piece::Chart(Box::new(blocks(comparison, &names, of))));
    }
    pieces
}

fn tiles(comparison: &Comparison) -> Option<Vec<(String, String)>> {
    let Effect { ratio, ratio_low, ratio_high, confidence, p, blocks, .. } = comparison.effect?;
    let confidence = (confidence * 1e6).round() / 1e4;
    let range = if ab::is_of_use(ratio_low, ratio_high) {
        format!("{} to {}", percent(of_ratio(ratio_low)), percent(of_ratio(ratio_high)))
    } else {
        "too wide to tell".to_string()
    };
    let p = if p < 0.001 { "below 0.001".to_string() } else { format!("{p:.3}") };
    Some(vec![
        ("B compared with A".to_string(), percent(of_ratio(ratio))),
        (format!("{confidence} % interval"), range),
        ("p".to_string(), p),
        ("blocks of four runs".to_string(), format!("{blocks} of {} planned", comparison.blocks_max)),
    ])
}

fn names_of(comparison: &Comparison) -> Vec<String> {
    (1..=comparison.blocks.len()).map(|number| number.to_string()).collect()
}

/// How far B is from A in each block, with the margin and the interval.
fn differences(comparison: &Comparison, of: &str) -> Chart {
    let title = format!("Difference in each block{of}");
    let mut chart = named(&title, "block", "B compared with A", percent, names_of(comparison));
    chart.spread = Spread::Free;
    let margin = comparison.margin_percent;
    chart.strips.push([-margin, margin]);
    chart.about = format!(
        "Each point is a block of four runs. Differences within the shaded {margin} % do not matter (--margin)."
    );
    let point = |(at, block): (usize, &ab::Block)| {
        Point::at(at as f64, of_ratio(block.log_ratio.clamp(-LOG_MAX, LOG_MAX).exp()))
    };
    chart.series.push(Series::new("a block", comparison.blocks.iter().enumerate().map(point).collect()));
    let effect = comparison.effect.filter(|effect| ab::is_of_use(effect.ratio_low, effect.ratio_high));
    if let Some(effect) = effect {
        let last = comparison.blocks.len() as f64;
        let [at, low, high] = [effect.ratio, effect.ratio_low, effect.ratio_high].map(of_ratio);
        let name = "all blocks";
        if let super::Ticks::Named(names) = &mut chart.ticks {
            names.push((last, "all".to_string()));
        }
        chart.series.push(Series::new(name, vec![Point { x: last, y: at, range: [low, high] }]));
        chart.about.push_str(" The last point is the result of all blocks together, with its interval.");
    }
    chart
}

/// Both sides in each block.
fn blocks(comparison: &Comparison, names: &[String; 2], of: &str) -> Chart {
    let figure = |values: [f64; 2]| values.iter().sum::<f64>() / 2.0;
    let show: fn(f64) -> String = match comparison.metric.unit() {
        Unit::PerSecond => number,
        Unit::BytesPerSecond => rate,
        Unit::Nanoseconds => latency_words,
    };
    let title = format!("A and B in each block{of}");
    let mut chart = named(&title, "block", comparison.what(), show, names_of(comparison));
    chart.about =
        "The point is the mean of the two runs of a side. The line reaches from one to the other.".into();
    let sides: [fn(&ab::Block) -> [f64; 2]; 2] = [|block| block.a, |block| block.b];
    for (name, of) in names.iter().zip(sides) {
        let points = comparison.blocks.iter().enumerate().map(|(at, block)| {
            let [one, other] = of(block);
            Point { x: at as f64, y: figure([one, other]), range: [one.min(other), one.max(other)] }
        });
        chart.series.push(Series::new(name, points.collect()));
    }
    chart
}

/// Runs that were made elsewhere.
fn nodes(nodes: &[Node]) -> Vec<Piece> {
    let Some(first) = nodes.first() else { return Vec::new() };
    let what = first.metric.heading(nodes.iter().any(|node| node.is_response));
    let row = |node: &Node| {
        let show = |value| Cell::Text(Metric::show(node.metric, value));
        let mut cells = vec![
            show(node.figures.median),
            show(node.figures.min),
            show(node.figures.max),
            Cell::Text(node.figures.count.to_string()),
        ];
        let texts = match (&node.difference, std::ptr::eq(node, first)) {
            (_, true) => ["-".to_string(), "-".to_string(), "-".to_string()],
            (None, false) => ["needs two runs of each".to_string(), "-".to_string(), "-".to_string()],
            (Some(of), false) => [
                percent(of_ratio(of.ratio)),
                format!("{} to {}", percent(of_ratio(of.ratio_low)), percent(of_ratio(of.ratio_high))),
                if of.p < 0.001 { "<0.001".to_string() } else { format!("{:.3}", of.p) },
            ],
        };
        cells.extend(texts.map(Cell::Text));
        cells.push(Cell::Grade(node.grade));
        (node.name.clone(), cells)
    };
    let beside = format!("compared with {}", first.name);
    let head =
        ["node", "median", "smallest", "largest", "runs", beside.as_str(), "95 % interval", "p", "verdict"];
    let rows = nodes.iter().map(row).collect();
    let names = nodes.iter().map(|node| node.name.clone()).collect();
    let show: fn(f64) -> String = match first.metric.unit() {
        Unit::PerSecond => number,
        Unit::BytesPerSecond => rate,
        Unit::Nanoseconds => latency_words,
    };
    let mut chart = named(
        &format!("{} of each node", first_large(&what)),
        "node",
        first.metric.words(first.is_response),
        show,
        names,
    );
    chart.about =
        "The point is the median of the runs. The line reaches from the smallest to the largest.".into();
    let point = |(at, node): (usize, &Node)| Point {
        x: at as f64,
        y: node.figures.median,
        range: [node.figures.min, node.figures.max],
    };
    chart.series.push(Series::new("runs of a node", nodes.iter().enumerate().map(point).collect()));
    vec![
        Piece::Heading("Runs of the nodes".into()),
        words_table(&format!("{} of the runs of each node", first_large(&what)), &head, rows),
        Piece::Chart(Box::new(chart)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_and_few_digits() {
        assert_eq!([5.44, -0.314, 0.001, -12.0].map(percent), ["+5.4 %", "-0.31 %", "0 %", "-12.0 %"]);
    }
}

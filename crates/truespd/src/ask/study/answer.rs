//! What a study says: each of its comparisons, the runs of other nodes, and what they mean.

use super::nodes::Node;
use super::report::StudyReport;
use crate::answer::axis::Point;
use crate::answer::chart::{Chart, Series};
use crate::answer::html::first_large;
use crate::answer::table::{Cell, Column, Table};
use crate::answer::{Answer, Block, Commands};
use crate::ask::ab::answer::{change, change_range, lines, p_words, percent_of, push, shown, spread_cells};
use truespd_platform::text::table::Room;

pub(super) fn of(report: &StudyReport) -> Answer {
    let mut answer = Answer::default();
    answer.about(report.study.question());
    let mut all_lines = Vec::new();
    for part in &report.parts {
        let names = [format!("A {}", part.names[0]), format!("B {}", part.names[1])];
        answer.push(Block::Heading(part.title.clone()));
        push(&mut answer, &part.comparison, &names, &format!(": {}", part.title));
        let named = lines(&part.comparison, &names).into_iter();
        all_lines.extend(named.map(|(name, words)| (format!("{}: {name}", part.title), words)));
    }
    if let Some(first) = report.nodes.first() {
        push_nodes(&mut answer, first, &report.nodes);
    }
    if !report.says.is_empty() {
        answer.push(Block::Heading("What this means".to_string()));
    }
    for words in &report.says {
        answer.remark(words);
    }
    answer.push(Commands::to_repeat(all_lines));
    answer
}

/// Adds the runs that were made elsewhere, each node beside the first.
fn push_nodes(answer: &mut Answer, first: &Node, nodes: &[Node]) {
    let is_response = nodes.iter().any(|node| node.is_response);
    let what = first_large(first.metric.words(is_response));
    answer.push(Block::Heading(format!("{what} of the nodes' runs")));
    answer.push(table(first, nodes));
    let names = nodes.iter().map(|node| node.name.clone()).collect();
    let title = format!("{what} of each node");
    let y_name = first.metric.words(is_response);
    let mut chart = Chart::of_names(&title, "node", y_name, shown(first.metric), names);
    chart.about =
        "The point is the median of the runs. The line reaches from the smallest to the largest.".into();
    let figures = nodes.iter().map(|node| node.figures).enumerate();
    let points = figures.map(|(at, of)| Point { x: at as f64, y: of.median, range: [of.min, of.max] });
    chart.series.push(Series::new("runs of a node", points.collect()));
    answer.push(chart);
}

fn table(first: &Node, nodes: &[Node]) -> Table {
    let columns = vec![
        Column::words("node", Room::Start(8, 1)),
        Column::numbers("median", Room::Stays),
        Column::numbers("smallest", Room::Goes(4)),
        Column::numbers("largest", Room::Goes(5)),
        Column::numbers("runs", Room::Goes(6)),
        Column::words(format!("compared with {}", first.name), Room::Stays),
        Column::words("95 % interval", Room::Goes(2)),
        Column::numbers("p", Room::Goes(3)),
        Column::words("verdict", Room::Stays),
    ];
    let mut table = Table::of("Figures of each node", columns);
    for (place, node) in nodes.iter().enumerate() {
        let mut cells = spread_cells(node.metric, &node.figures).to_vec();
        cells.extend(match &node.difference {
            Some(of) if place > 0 => [
                Cell::Text(change(percent_of(of.ratio))),
                Cell::Text(change_range(of.ratio_low, of.ratio_high)),
                Cell::Text(p_words(of.p)),
            ],
            _ if place > 0 => [Cell::Text("needs two runs of each".into()), Cell::Missing, Cell::Missing],
            _ => [Cell::Missing, Cell::Missing, Cell::Missing],
        });
        cells.push(Cell::Grade(node.grade));
        table.push(&node.name, cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::nodes::tests::runs;
    use super::super::nodes::{Runs, compare_nodes};
    use super::super::questions::Study;
    use super::*;
    use crate::answer::shown::tests::shown;
    use truespd_core::result::metrics::Metric;

    /// What a study of these nodes prints, which has no comparison.
    fn text(nodes: &[Runs]) -> String {
        let nodes = compare_nodes(nodes, Metric::IOPS);
        of(&StudyReport::new(Study::Locality, nodes)).text(shown(120, false))
    }

    #[test]
    fn nodes_stand_beside_the_first() {
        let owner = runs("owner", &[1000.0, 1010.0, 990.0, 1005.0]);
        let other = runs("other", &[800.0, 805.0, 795.0, 802.0]);
        let once = Runs { grade: None, ..runs("once", &[900.0]) };
        let text = text(&[owner, other, once]);
        let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row").to_string();
        assert!(
            text.contains("\n== IOPS of the nodes' runs\n") && text.contains("compared with owner"),
            "{text}"
        );
        let other = row("other");
        assert!(other.contains("-20.0 %") && other.contains("  -21.1 % to -19.0 %  < 0.000001  "), "{text}");
        assert!(other.ends_with("suspect"), "{text}");
        assert!(row("once").contains("needs two runs of each"), "{text}");
        assert!(row("once").ends_with("not judged"), "{text}");
    }
}

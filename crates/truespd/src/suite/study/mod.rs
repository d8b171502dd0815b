//! Ready-made comparisons: questions that come up again and again, each built on [`super::ab`].

mod nodes;
mod questions;
mod report;
#[cfg(test)]
mod tests;

use crate::answer::{SeriesVerdict, Shown};
use crate::suite::{RanOn, SuiteDocument, ab};
pub use nodes::{Node, Runs, compare_nodes, differs, nodes_text};
pub use questions::{
    Question, Study, StudyTarget, about_cache, about_locality, about_write_cache, cache, is_cache_on,
    locality, write_cache,
};
pub use report::{ComparedPair, StudyReport};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::{Grade, Part};
use truespd_platform::text::table::{Column, Room, fitted};
use truespd_platform::text::{printable, shell_line};

impl SuiteDocument for StudyReport {
    fn title(&self) -> String {
        let name = self.parts.first().map(|part| part.comparison.computer_name.clone());
        let ran_on = RanOn { computer_name: name.unwrap_or_default(), ..RanOn::default() };
        format!("Study {}{}", self.study.name(), ran_on.words())
    }

    fn has_figures(&self) -> bool {
        !(self.parts.is_empty() && self.nodes.is_empty())
    }

    /// Runs of other nodes have a verdict, too.
    fn grade(&self) -> Option<Grade> {
        let parts = self.parts.iter().map(|part| part.comparison.verdict.grade);
        parts.chain(self.nodes.iter().map(|node| node.grade)).max().flatten()
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        self.parts.iter().map(|part| (part.title.as_str(), &part.comparison.verdict)).collect()
    }

    /// Without the titles, which name targets. Runs of other nodes are kept there.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for part in &self.parts {
            let [a, b] = part.names.each_ref().map(|name| format!("{} {name}", self.study.name()));
            parts.extend(part.comparison.parts_of([&a, &b]));
        }
        Part::apart(parts)
    }

    /// A table of each comparison with its verdict, the answers, what they mean.
    fn text(&self, shown: Shown) -> String {
        let mut out = String::new();
        for part in &self.parts {
            let text = part.text(shown.style.columns);
            out.push_str(&format!("{text}{}\n", part.comparison.verdict.shown(shown)));
        }
        if !self.nodes.is_empty() {
            // Names of nodes may hold anything.
            for line in nodes_text(&self.nodes).lines() {
                out.push_str(&format!("{}\n", printable(line)));
            }
            out.push('\n');
        }
        for sentence in &self.says {
            out.push_str(&format!("{sentence}\n"));
        }
        out
    }
}

impl ComparedPair {
    /// Both sides in so many columns of a terminal, and what follows.
    fn text(&self, columns: usize) -> String {
        let comparison = &self.comparison;
        let sides = [("A", &comparison.a), ("B", &comparison.b)];
        let mut out = format!("== {}\n", printable(&self.title));
        for (letter, variant) in sides {
            out.push_str(&format!("{letter}: {}\n", printable(&shell_line(&variant.words))));
        }
        let mut names = Vec::new();
        let mut cells: [Vec<String>; 6] = Default::default();
        for ((letter, variant), name) in sides.iter().zip(&self.names) {
            names.push(format!("{letter} {name}"));
            let disks = variant.disk_iops.map(|iops| ab::Metric::IOPS.show(iops.round()));
            let row = match variant.figures {
                Some(figures) => [
                    comparison.metric.show(figures.median),
                    comparison.metric.show(figures.min),
                    comparison.metric.show(figures.max),
                    disks.unwrap_or("-".into()),
                    figures.count.to_string(),
                    variant.grade.loud_word().to_string(),
                ],
                None => ["-"; 6].map(String::from),
            };
            cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        }
        let [median, smallest, largest, disks, runs, verdict] = cells;
        let table = vec![
            Column::words("", names, Room::Start(8, 1)),
            Column::numbers("median", median, Room::Stays),
            Column::numbers("smallest", smallest, Room::Stays),
            Column::numbers("largest", largest, Room::Stays),
            Column::numbers("disks' IOPS", disks, Room::Stays),
            Column::numbers("runs", runs, Room::Stays),
            Column::words("verdict", verdict, Room::Stays),
        ];
        out.push_str(&fitted(table, Some(columns)));
        if sides.iter().any(|(_, variant)| variant.disk_iops.is_some()) {
            out.push_str(
                "disks' IOPS: of all programs, as the kernel counted them on the disks below the target\n",
            );
        }
        out + &ab::answer(comparison)
    }
}

impl DocumentKind for StudyReport {
    const FORMAT: &'static str = "truespd-study";
    const MEMBER: &'static str = "study";
    const MEMBER_ABOUT: &'static str = "The study.";
    const TITLE: &'static str = "TrueSpd study, version 1";
    const ABOUT: &'static str =
        "A study by TrueSpd, version 1. Latencies and processor times are in nanoseconds, rates per second.";
    const NAME: &'static str = "study by TrueSpd";
}

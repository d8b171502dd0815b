//! Ready-made comparisons: questions that come up again and again, each built on [`super::ab`].

mod answer;
pub(crate) mod arguments;
mod nodes;
pub(crate) mod options;
mod places;
mod questions;
mod report;
#[cfg(test)]
mod tests;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, SuiteDocument};
pub use nodes::{Node, Runs, compare_nodes, differs};
pub use questions::{
    Question, Study, StudyTarget, about_cache, about_locality, about_write_cache, cache, is_cache_on,
    locality, write_cache,
};
pub use report::{ComparedPair, StudyReport};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::{Grade, Part};

impl SuiteDocument for StudyReport {
    fn title(&self) -> String {
        format!("Study {}{}", self.study.name(), self.common.ran_on.words())
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

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
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

    fn answer(&self) -> Answer {
        answer::of(self)
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

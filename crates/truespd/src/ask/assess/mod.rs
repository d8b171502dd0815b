//! `truespd assess`: the tests of winsat disk, its labels, and Microsoft's limits.
//!
//! What is public of winsat: block sizes, order, labels, units and what the flush tests are for. The number
//! of I/Os, the queue depth, the file's size and how often it flushes are not; they are chosen here and told
//! under the table.

mod answer;
pub(crate) mod options;
mod plan;
mod report;
mod run;
#[cfg(test)]
mod tests;

pub use plan::{FILE_BYTES, Plan, RANDOM_BYTES, SEQUENTIAL_BYTES, SIZE_MIN_BYTES, Test, TestRun};
pub use report::{Assessment, Check, Figure, Requirement, WinsatUnit};

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, SuiteDocument};
use truespd_core::result::Part;

impl SuiteDocument for Assessment {
    fn title(&self) -> String {
        format!("Windows's disk assessment{}", self.common.ran_on.words())
    }

    fn has_figures(&self) -> bool {
        self.figures.iter().any(|figure| figure.value.is_some())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    /// Figures of one run are one part.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for of_run in self.figures.chunk_by(|one, next| one.test == next.test) {
            let (test, profile) = (&of_run[0].test, of_run[0].profile.as_deref());
            let part = Part::of(test, profile, &[], of_run.iter().filter_map(Figure::of_metric));
            parts.extend(part.map(|part| part.at("test", test).of_runs(1, of_run[0].grade)));
        }
        parts
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

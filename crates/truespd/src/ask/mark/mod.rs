//! `truespd mark`: CrystalDiskMark's tests, in its order, by its rule for the result, and what that rule hides.
//!
//! What is CrystalDiskMark's: tests, presets and profiles; all reads, then all writes, then all mixed tests;
//! a pause between tests; of each test one run that is discarded and some that count; the largest rate and,
//! apart from it, the smallest mean latency of those. What is better here: random data are random over the
//! whole file, every loop of a random test goes to other places (a sequential one has one way only), threads
//! that go through the file together share one position, median and spread stand beside the best, and every
//! run has its verdict.

mod answer;
pub(crate) mod options;
mod report;
mod saved;
mod test;
#[cfg(test)]
mod tests;

pub use report::*;
pub use saved::{Reader, text};
pub use test::{NoTest, Operation, Pattern, Planned, Preset, Profile, Settings, Target, Test};

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, SuiteDocument};
use truespd_core::result::Part;

impl SuiteDocument for MarkReport {
    fn title(&self) -> String {
        format!("CrystalDiskMark tests{}", self.common.ran_on.words())
    }

    fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.outcome.is_some())
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

    fn parts(&self) -> Vec<Part> {
        self.rows.iter().filter_map(Row::part).collect()
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

//! `truespd sweep`: a line at every combination of the values of some switches.

mod answer;
pub mod axis;
pub mod knee;
pub(crate) mod options;
pub mod report;
pub mod run;
pub mod written;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::MEMBERS_ARE_ADDED;
use crate::ask::SuiteDocument;
pub use report::SweepReport;
use truespd_core::result::Part;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::Metric;

impl DocumentKind for SweepReport {
    const FORMAT: &'static str = "truespd-sweep";
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "sweep";
    const MEMBER_ABOUT: &'static str = "What was measured.";
    const TITLE: &'static str = "TrueSpd sweep, version 1";
    const ABOUT: &'static str =
        "A sweep by TrueSpd, version 1. Units are at the end of names: `_ns`, `_bytes`, `_percent`.";
    const NAME: &'static str = "result of truespd sweep";
}

impl SuiteDocument for SweepReport {
    fn has_figures(&self) -> bool {
        self.points.iter().any(|point| !point.runs.is_empty())
    }

    fn title(&self) -> String {
        format!("Sweep{}", self.ran_on.words())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn ranks(&self) -> u32 {
        self.ran_on.ranks
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (place, point) in self.points.iter().enumerate() {
            let figures = [
                (Metric::IOPS, point.iops().map(|figure| figure.mean)),
                (Metric::BYTES, point.bytes_per_s().map(|figure| figure.mean)),
                (Metric::MEAN, point.mean_ns()),
                (Metric::P99, point.p99_ns()),
            ];
            let name = format!("sweep {}", self.name(point));
            parts.extend(Part::of(name, point.profile.as_deref(), &self.line_of(place), figures));
        }
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

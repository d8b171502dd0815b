//! `truespd sweep`: a line at every combination of the values of some switches.

mod answer;
pub mod axis;
pub mod knee;
pub(crate) mod options;
pub mod report;
pub mod run;
pub mod written;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, MEMBERS_ARE_ADDED, SuiteDocument};
use crate::runner::rounds::Measured;
pub use report::SweepReport;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{OverRuns, Part};

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
        format!("Sweep{}", self.common.ran_on.words())
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
        let mut parts = Vec::new();
        for (place, point) in self.points.iter().enumerate() {
            let figures = [
                (Metric::IOPS, point.iops().map(Measured::over_runs)),
                (Metric::BYTES, point.bytes_per_s().map(Measured::over_runs)),
                (Metric::MEAN, point.mean_ns().map(OverRuns::from)),
                (Metric::P99, point.p99_ns().map(OverRuns::from)),
            ];
            let name = format!("sweep {}", self.name(point));
            let part = Part::of(name, point.profile.as_deref(), &self.line_of(place), figures);
            let Some(mut part) = part else { continue };
            for (axis, value) in self.axes.iter().zip(&point.values) {
                part = part.at(&axis.switch, value);
            }
            parts.push(part.of_runs(point.runs.len(), point.grade()));
        }
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

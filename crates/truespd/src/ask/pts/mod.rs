//! `truespd pts`: the tests of SNIA's Solid State Storage Performance Test Specification 2.0.2.

mod answer;
mod charts;
pub(crate) mod options;
mod plan;
mod recovery;
pub mod report;
pub mod run;
pub mod table;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, MEMBERS_ARE_ADDED, SuiteDocument};
pub use report::PtsReport;
use truespd_core::result::Part;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::Metric;

impl DocumentKind for PtsReport {
    const FORMAT: &'static str = "truespd-pts";
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "pts";
    const MEMBER_ABOUT: &'static str = "What was measured.";
    const TITLE: &'static str = "TrueSpd pts, version 1";
    const ABOUT: &'static str = "A test after SNIA's Solid State Storage Performance Test Specification by TrueSpd, \
        version 1. Units are at the end of names: `_ns`, `_bytes`, `_percent`, `_per_s`, `_s`.";
    const NAME: &'static str = "result of truespd pts";
}

impl SuiteDocument for PtsReport {
    fn has_figures(&self) -> bool {
        self.stages().any(|(_, stage)| stage.rounds.iter().flatten().any(|figures| figures.iops > 0.0))
    }

    fn title(&self) -> String {
        format!("SNIA PTS 2.0.2: {}{}", self.title, self.common.ran_on.words())
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
        for (part, stage) in self.stages() {
            for (place, cell) in stage.cells.iter().enumerate() {
                let name = [self.test.as_str(), part, stage.name.as_str(), cell.name.as_str()].join(" ");
                let figures = [
                    (Metric::IOPS, stage.mean(place, &self.rule, |it| Some(it.iops))),
                    (Metric::BYTES, stage.mean(place, &self.rule, |it| Some(it.bytes_per_s))),
                    (Metric::MEAN, stage.mean(place, &self.rule, |it| it.mean_ns)),
                ];
                let name = format!("pts {}", name.replace("  ", " "));
                let Some(found) = Part::of(name, cell.profile.as_deref(), &cell.line, figures) else {
                    continue;
                };
                let found = found.at("part", part).at("stage", &stage.name).at("cell", &cell.name);
                parts.push(found.of_runs(stage.whole().count(), stage.grade(place)));
            }
        }
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

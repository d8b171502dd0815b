//! `truespd sustain`: the rate of writes that go on and on, where it falls, and what a rest brings back.

mod answer;
mod course;
pub(crate) mod options;
pub mod report;
pub mod run;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, MEMBERS_ARE_ADDED, SuiteDocument};
pub use report::SustainReport;
use truespd_core::result::Part;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::Metric;

impl DocumentKind for SustainReport {
    const FORMAT: &'static str = "truespd-sustain";
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "sustain";
    const MEMBER_ABOUT: &'static str = "What was measured.";
    const TITLE: &'static str = "TrueSpd sustain, version 1";
    const ABOUT: &'static str = "Sustained writes by TrueSpd, version 1. Units are at the end of names: `_ns`, \
        `_bytes`, `_percent`, `_per_s`, `_s`.";
    const NAME: &'static str = "result of truespd sustain";
}

impl SuiteDocument for SustainReport {
    fn has_figures(&self) -> bool {
        self.written_bytes() > 0
    }

    fn title(&self) -> String {
        format!("Sustained writes{}", self.common.ran_on.words())
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
        let stretches = self.stretches();
        let fall = self.fall();
        let rates = [
            ("before the fall", fall.map(|fall| fall.before)),
            ("at the end", stretches.last().map(|stretch| stretch.bytes_per_s)),
        ];
        let mut parts = Vec::new();
        for (when, bytes_per_s) in rates {
            let (name, figures) = (format!("sustain {when}"), [(Metric::BYTES, bytes_per_s)]);
            let part = Part::of(name, self.profile.as_deref(), &self.line, figures);
            parts.extend(part.map(|part| Part { grade: self.grade(), ..part.at("when", when) }));
        }
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

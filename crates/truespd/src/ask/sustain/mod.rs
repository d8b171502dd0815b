//! `truespd sustain`: the rate of writes that go on and on, where it falls, and what a rest brings back.

mod answer;
mod course;
pub(crate) mod options;
pub mod report;
pub mod run;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::MEMBERS_ARE_ADDED;
use crate::ask::SuiteDocument;
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
        format!("Sustained writes{}", self.ran_on.words())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn ranks(&self) -> u32 {
        self.ran_on.ranks
    }

    fn parts(&self) -> Vec<Part> {
        let stretches = self.stretches();
        let fall = self.fall();
        let rates = [
            ("sustain before the fall", fall.map(|fall| fall.before)),
            ("sustain at the end", stretches.last().map(|stretch| stretch.bytes_per_s)),
        ];
        let mut parts = Vec::new();
        for (name, bytes_per_s) in rates {
            let figures = [(Metric::BYTES, bytes_per_s)];
            parts.extend(Part::of(name.to_string(), self.profile.as_deref(), &self.line, figures));
        }
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

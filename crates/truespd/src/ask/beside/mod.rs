//! `truespd workload beside`: what one load feels while another one runs on the same target, at shares of that one's
//! own maximum.

mod answer;
pub(crate) mod options;
pub mod pace;
pub mod report;
pub mod run;

use crate::answer::{Answer, SeriesVerdict};
use crate::ask::{Common, MEMBERS_ARE_ADDED, SuiteDocument};
use crate::runner::rounds::Measured;
pub use report::BesideReport;
use report::{Point, Run};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{OverRuns, Part};

impl DocumentKind for BesideReport {
    const FORMAT: &'static str = "truespd-beside";
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "beside";
    const MEMBER_ABOUT: &'static str = "What was measured.";
    const TITLE: &'static str = "TrueSpd workload beside, version 1";
    const ABOUT: &'static str = "One load beside another by TrueSpd, version 1. Units are at the end of names: `_ns`, \
        `_percent`, `_per_s`.";
    const NAME: &'static str = "result of truespd workload beside";
}

impl SuiteDocument for BesideReport {
    fn has_figures(&self) -> bool {
        !self.alone.runs.is_empty() || self.points.iter().any(|point| !point.runs.is_empty())
    }

    fn title(&self) -> String {
        format!("One load beside another{}", self.common.ran_on.words())
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
        let alone = self.alone.background(|figures| Some(figures.iops)).map(Measured::over_runs);
        let bytes = self.alone.background(|figures| Some(figures.bytes_per_s)).map(Measured::over_runs);
        let figures = [(Metric::IOPS, alone), (Metric::BYTES, bytes)];
        let line = [&self.background_line[..], &self.targets[..]].concat();
        let alone = Part::of("beside, the background alone", self.alone.profile.as_deref(), &line, figures);
        parts.extend(alone.map(|part| of_runs(part.at("load", "background"), &self.alone.runs)));
        let line = [&self.foreground_line[..], &self.targets[..]].concat();
        for point in &self.points {
            let name = format!("beside, the foreground at {} %", point.share_percent);
            let part = Part::of(name, point.profile.as_deref(), &line, figures_of(point));
            let part =
                part.map(|part| part.at("load", "foreground").at("share_percent", point.share_percent));
            parts.extend(part.map(|part| of_runs(part, &point.runs)));
        }
        Part::apart(parts)
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

/// With the number and the grade of these runs.
fn of_runs(part: Part, runs: &[Run]) -> Part {
    part.of_runs(runs.len(), runs.iter().filter_map(|run| run.grade).max())
}

/// What the foreground did at a share.
fn figures_of(point: &Point) -> Vec<(Metric, Option<OverRuns>)> {
    let mut all = Vec::new();
    for (metric, figure) in [
        (Metric::IOPS, point.foreground(|figures| Some(figures.iops))),
        (Metric::BYTES, point.foreground(|figures| Some(figures.bytes_per_s))),
        (Metric::MEAN, point.foreground(|figures| figures.mean_ns)),
        (Metric::P50, point.foreground(|figures| figures.p50_ns)),
        (Metric::P99, point.foreground(|figures| figures.p99_ns)),
    ] {
        all.push((metric, figure.map(Measured::over_runs)));
    }
    all
}

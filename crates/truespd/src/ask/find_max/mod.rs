//! `truespd find-max`: the highest rate of a line whose response times keep limits, between two bounds.

pub mod answer;
mod batches;
pub mod decide;
pub mod limits;
pub(crate) mod options;
pub mod run;
pub mod search;
#[cfg(test)]
mod tests;
pub mod trial;

use crate::answer::{Advice, SeriesVerdict};
use crate::ask::find_max::run::{Judge, Searching};
use crate::ask::find_max::search::Search;
use crate::ask::{Common, LARGER_TARGET, MEMBERS_ARE_ADDED};
use crate::runner::{Ended, Runner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::profile;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Summary};

/// Advice in options of this suite.
const ADVICE: Advice = &[
    (&["generator-bound"], "let more threads issue (-t in the line), or stop other programs"),
    (&["working-set"], LARGER_TARGET),
];

/// What a search for the highest rate found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HighestRate")]
pub struct HighestRate {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
    /// DiskSpd's words of the run without a limit.
    pub line: Vec<String>,
    /// Hash of its profile, by which the history knows the same test; none until it has run.
    pub profile: Option<String>,
    /// The rates that were tried; none until the run without a limit has ended.
    pub search: Option<Search>,
    /// What the verdicts of all runs say.
    pub verdict: SeriesVerdict,
}

impl DocumentKind for HighestRate {
    const FORMAT: &'static str = "truespd-find-max";
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "find_max";
    const MEMBER_ABOUT: &'static str = "What was found.";
    const TITLE: &'static str = "TrueSpd find-max, version 1";
    const ABOUT: &'static str = "A search for the highest rate by TrueSpd, version 1. Units are at the end of names: \
        `_ms`, `_iops`, `_percent`.";
    const NAME: &'static str = "result of truespd find-max";
}

/// I/Os per second of the first time span of a run; none when it completed none.
pub fn reached_iops(document: &Document) -> Option<f64> {
    let measured = document.measured().next()?;
    Metric::IOPS.of_sum(&Summary::of(measured).total, Since::Issued).filter(|iops| *iops > 0.0)
}

impl Searching {
    /// A search that has not tried a rate yet.
    pub fn begin(&self, unlimited_iops: f64) -> Search {
        Search {
            limit: self.limits[0],
            limits: self.limits.clone(),
            precision_percent: Some(self.precision_percent),
            streams: self.streams,
            outstanding: self.outstanding,
            unlimited_iops,
            points: Vec::new(),
            lower: None,
            upper: None,
            is_generator_bound: false,
            is_out_of_time: false,
            change: None,
            end: None,
        }
    }

    /// Runs all of it. What is done when it ends early is in the document.
    pub fn find(&self, runner: &mut dyn Runner) -> (HighestRate, Result<(), Ended>) {
        let draft = self.unlimited();
        let mut found = HighestRate {
            common: Common::default(),
            line: draft.words.clone(),
            profile: None,
            search: None,
            verdict: SeriesVerdict::default(),
        };
        let result = self.find_in(draft, runner, &mut found);
        (found, result)
    }

    fn find_in(
        &self,
        draft: crate::runner::Draft,
        runner: &mut dyn Runner,
        found: &mut HighestRate,
    ) -> Result<(), Ended> {
        runner.ahead(self.ahead(0));
        let step = draft.read(runner)?;
        let document = runner.run(&step)?;
        let mut judge = Judge { verdict: &mut found.verdict, advice: ADVICE };
        judge.take(&step.name, &document);
        found.profile = Some(profile::hash(&document.profile));
        let Some(unlimited_iops) = reached_iops(&document) else { return Ok(()) };
        self.check_ios(unlimited_iops)?;
        let mut search = self.begin(unlimited_iops);
        let result = self.run(&document, unlimited_iops, &mut judge, runner, &mut search);
        found.search = Some(search);
        result
    }
}

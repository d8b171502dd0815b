//! `truespd study`: ready-made comparisons.

mod arguments;
mod documents;
mod places;

use crate::cli::commands::ab::fill;
use crate::cli::commands::suite::{Asked, Measured, SeriesArguments, Suite};
use crate::series::Series;
use crate::suite::ab::{Side, Surroundings};
use crate::suite::study::nodes::Node;
use crate::suite::study::{ComparedPair, Question, Study, StudyReport, StudyTarget};
use crate::suite::{Ended, Runner, ab, study};
use arguments::{Ask, Common, WriteCacheArguments, failed};
use clap::Args;
use places::{Found, fill_made, find, other_paths, switches};
use std::time::Instant;
use truespd_core::fault::{Fault, Refusal};
use truespd_core::machine::drive::{Reach, WRITE_BACK, WRITE_THROUGH};

/// Ready-made comparisons of common questions (each runs like `truespd ab`)
#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    study: Ask,
}

impl StudyArguments {
    fn study(&self) -> Study {
        match &self.study {
            Ask::Cache(_) => Study::Cache,
            Ask::WriteCache(_) => Study::WriteCache,
            Ask::Locality(_) => Study::Locality,
        }
    }

    fn common(&self) -> &Common {
        match &self.study {
            Ask::Cache(common) => common,
            Ask::WriteCache(arguments) => &arguments.common,
            Ask::Locality(arguments) => &arguments.common,
        }
    }

    /// Documents of other nodes, as typed.
    fn nodes(&self) -> &[String] {
        match &self.study {
            Ask::Locality(arguments) => &arguments.nodes,
            Ask::Cache(_) | Ask::WriteCache(_) => &[],
        }
    }
}

impl Suite for StudyArguments {
    const NAME: &'static str = "study";
    type Work = Vec<Node>;
    type Document = StudyReport;

    fn series(&self) -> &SeriesArguments {
        &self.common().series
    }

    fn title(&self) -> String {
        format!("study {}", self.study().name())
    }

    fn ask(&self) -> Result<Asked<Vec<Node>>, Fault> {
        let targets = &self.common().targets;
        let nodes = documents::nodes(self.nodes(), self.common().comparing.metric)?;
        if targets.is_empty() && nodes.is_empty() {
            let message = format!("truespd {} needs a TARGET: a directory, a file or a device", self.title());
            return Err(Refusal::command_line(message).into());
        }
        let used = targets.iter().cloned().chain(documents::paths(self.nodes())).collect();
        Ok(Asked::Work { work: nodes, used })
    }

    fn measure(&self, nodes: Vec<Node>, series: &mut Series) -> Measured<StudyReport> {
        let mut report = StudyReport::new(self.study(), nodes);
        let result = match &self.study {
            Ask::Cache(common) => cache(series, common, &mut report),
            Ask::WriteCache(arguments) => write_cache(series, arguments, &mut report),
            Ask::Locality(arguments) => locality(series, &arguments.common, &mut report),
        };
        Ok((report, result))
    }
}

fn cache(series: &mut Series, common: &Common, report: &mut StudyReport) -> Result<(), Ended> {
    let found = find(series, Study::Cache, common)?;
    let asked = Asking::of(study::cache(&places(&found)), common)?;
    asked.announce(series);
    fill_made(series, &found, common.size_bytes)?;
    report.says = study::about_cache(&places(&found));
    // Otherwise, data that a run left in the cache would be written during the next run.
    let mut settle = |_: Side| found.iter().try_for_each(Found::settle);
    asked.ask(series, common, &mut settle, &mut report.parts)
}

fn locality(series: &mut Series, common: &Common, report: &mut StudyReport) -> Result<(), Ended> {
    let says = study::about_locality(&report.nodes);
    if common.targets.is_empty() {
        report.says = says;
        return Ok(());
    }
    let (places, is_made) = other_paths(series, common)?;
    let asked = Asking::of(study::locality(&places), common)?;
    asked.announce(series);
    if is_made {
        fill(series, &places[0].word, common.size_bytes)?;
    }
    report.says = says;
    asked.ask(series, common, &mut |_| Ok(()), &mut report.parts)
}

fn write_cache(
    series: &mut Series,
    arguments: &WriteCacheArguments,
    report: &mut StudyReport,
) -> Result<(), Ended> {
    let common = &arguments.common;
    // What is refused is refused before files are filled.
    let found = find(series, Study::WriteCache, common)?;
    let asked = Asking::of(study::write_cache(&places(&found)), common)?;
    let switches = switches(series, &found, arguments.risk_power_loss)?;
    asked.announce(series);
    fill_made(series, &found, common.size_bytes)?;
    let kernel_only = switches.iter().filter(|s| s.reach == Reach::Kernel).map(|s| s.disk.clone());
    report.says = study::about_write_cache(&kernel_only.collect::<Vec<_>>());
    let mut arrange = |side: Side| {
        let to = if study::is_cache_on(side) { WRITE_BACK } else { WRITE_THROUGH };
        switches.iter().try_for_each(|switch| switch.set(to)).map_err(|no| failed(no.to_string()))
    };
    asked.ask(series, common, &mut arrange, &mut report.parts)
}

fn places(found: &[Found]) -> Vec<StudyTarget> {
    found.iter().map(|found| found.place.clone()).collect()
}

struct Asking {
    questions: Vec<Question>,
    plans: Vec<ab::Plan>,
}

impl Asking {
    fn of(questions: Vec<Question>, common: &Common) -> Result<Self, Fault> {
        let plans = common.plans(&questions)?;
        Ok(Asking { questions, plans })
    }

    /// Tells what is to come.
    fn announce(&self, series: &mut Series) {
        series.ahead(self.plans.iter().map(ab::Plan::ahead).sum());
    }

    /// Runs the comparisons one after the other.
    fn ask(
        &self,
        series: &mut Series,
        common: &Common,
        arrange: &mut dyn FnMut(Side) -> Result<(), Ended>,
        parts: &mut Vec<ComparedPair>,
    ) -> Result<(), Ended> {
        let begin = Instant::now();
        let consents = common.consents()?;
        for (number, (question, plan)) in self.questions.iter().zip(&self.plans).enumerate() {
            series.later(self.plans[number + 1..].iter().map(ab::Plan::ahead).sum());
            // The write guard refuses --overwrite for anything but a target of the run.
            let of_this = consents.iter().filter(|consent| question.words[0].contains(&consent.target));
            series.allow(of_this.map(|consent| consent.path.clone()).collect());
            let mut surroundings = Surroundings { arrange: &mut *arrange, elapsed: &|| begin.elapsed() };
            let (comparison, result) = ab::compare(plan, series, &mut surroundings);
            if result.is_ok() || !comparison.blocks.is_empty() {
                let (title, names) = (question.title.clone(), question.names.clone());
                parts.push(ComparedPair { title, names, comparison });
            }
            result?;
        }
        Ok(())
    }
}

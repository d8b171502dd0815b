//! `truespd study`: ready-made comparisons.

mod documents;
mod places;
mod same;
mod switches;

use std::time::Instant;

use clap::{Args, Subcommand};

use crate::cli::commands::ab::fill;
use crate::cli::commands::comparing::Comparing;
use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::commands::suite::{self, SeriesArguments, Suite, nothing_measured};
use crate::cli::commands::values::file_bytes;
use crate::cli::show::verdict::{Style, series as series_verdict};
use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::machine::write_cache::{BACK, Reach, THROUGH};
use crate::session::outputs::{LaterOutputs, later_json};
use crate::session::place::{absolute, names_no_target, target_named};
use crate::session::series::Series;
use crate::suite::ab::{self, Side, Surroundings};
use crate::suite::study::{self, Part, Place, Question, Report, Study};
use crate::suite::{Ended, Runner};
use places::{Found, fill_made, find, other_paths};
use switches::switches;

/// Questions that come up again and again, answered by comparing in turns (see `truespd ab --help`)
#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    study: Ask,
}

#[derive(Debug, Subcommand)]
enum Ask {
    /// What does the operating system's cache change? Reads and writes, past it and through it
    #[command(mut_arg("targets", |arg| arg.required(true)))]
    Cache(Common),
    /// What do the drives' write caches change? 4 KiB random I/O, on one target and on all of them
    ///
    /// Switches the cache of every disk right below the targets before each run, through sysfs, and sets it back at the end,
    /// also when the program is killed. Needs root. Of SCSI, SAS and SATA disks it is the drive's own cache; of NVMe, and of virtio
    /// where the host does not let one, only whether the kernel sends flushes, so that "off" shows what flushes cost. Such a disk
    /// is refused while something uses it, but for --risk-power-loss.
    #[command(mut_arg("targets", |arg| arg.required(true)))]
    WriteCache(WriteCacheArguments),
    /// From where is the same storage faster? Reads by the first path and by each of the others
    ///
    /// Give the same file or device by several paths, or directories that show the same place: a file is then made in the
    /// first. Or compare what several nodes measured: --node takes their documents.
    #[command(mut_arg("targets", |arg| arg.help(
        "Paths to the same file or device, which is only read, or directories that show the same place: a test file is made in \
         the first, and removed"
    )))]
    Locality(LocalityArguments),
}

#[derive(Debug, Clone, Args)]
struct Common {
    /// Directories, in which a test file is made and removed, files, or devices; of the latter two only reads are measured,
    /// unless --overwrite names them
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,

    /// Size of the test files, as after -c
    #[arg(long = "size", value_name = "SIZE", default_value = "1G", value_parser = file_bytes)]
    size_bytes: u64,

    #[command(flatten)]
    comparing: Comparing,

    /// Write the study to this file as JSON (`truespd schema study`)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,

    #[command(flatten)]
    series: SeriesArguments,
}

/// A target that may be written.
struct Consent {
    /// What `--overwrite` says.
    path: String,
    /// The target as it stands in a line.
    target: String,
}

impl Common {
    /// What may be written. The error is a sentence.
    fn consents(&self) -> Result<Vec<Consent>, String> {
        let targets: Vec<String> = self.targets.iter().cloned().map(absolute).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let consent = |path: &String| match target_named(path, &targets) {
            Some(target) => Ok(Consent { path: path.clone(), target: target.to_string() }),
            None => Err(names_no_target(path)),
        };
        self.series.overwrite.iter().map(consent).collect()
    }

    /// How the questions are answered, before anything is filled: time may be too short for them.
    fn plans(&self, questions: &[Question]) -> Result<Vec<ab::Plan>, Ended> {
        let plan = |question: &Question| {
            let line = |words: &Vec<String>| self.comparing.variant(&question.title, words.clone(), None);
            let [a, b] = &question.words;
            self.comparing.plan(&format!("{}: ", question.title), [line(a)?, line(b)?]).fitted()
        };
        questions.iter().map(plan).collect::<Result<_, String>>().map_err(refused)
    }
}

#[derive(Debug, Clone, Args)]
struct WriteCacheArguments {
    #[command(flatten)]
    common: Common,

    /// Go on where the study is refused otherwise: something uses the disk, and its cache is off and would be turned on, or only
    /// the kernel's flushes can be switched off. A loss of power during the study can then cost what else is on it
    #[arg(long)]
    risk_power_loss: bool,
}

#[derive(Debug, Clone, Args)]
struct LocalityArguments {
    #[command(flatten)]
    common: Common,

    /// Documents of a node's runs (--json, --keep): a file or a folder; once for each node, the first is compared with the others
    #[arg(long = "node", value_name = "NAME=PATH")]
    nodes: Vec<String>,
}

impl Suite for StudyArguments {
    const NAME: &'static str = "study";
    const WRITES: &'static str = "What `study --json` writes";
    type Document = Report;

    fn run(&self) -> ExitCode {
        let (study, common) = match &self.study {
            Ask::Cache(common) => (Study::Cache, common),
            Ask::WriteCache(arguments) => (Study::WriteCache, &arguments.common),
            Ask::Locality(arguments) => (Study::Locality, &arguments.common),
        };
        let name = study.name();
        let typed_nodes = match &self.study {
            Ask::Locality(arguments) => arguments.nodes.as_slice(),
            Ask::Cache(_) | Ask::WriteCache(_) => &[],
        };
        let nodes = match documents::nodes(typed_nodes, common.comparing.metric) {
            Ok(nodes) => nodes,
            Err(words) => {
                return suite::refused(&words);
            }
        };
        if common.targets.is_empty() && nodes.is_empty() {
            return suite::refused(&format!(
                "truespd study {name} needs a TARGET: a directory, a file or a device"
            ));
        }
        // Results take the place of no target, nor of a node's document.
        let taken: Vec<String> =
            common.targets.iter().cloned().chain(documents::paths(typed_nodes)).collect();
        let output = later_json(common.json.as_deref(), &taken).map_err(|error| error.to_string());
        let begun = output.and_then(|output| {
            common
                .series
                .begin(&format!("study {name}"), &output)
                .map(|s| (output, s))
                .map_err(|refusal| refusal.to_string())
        });
        let (output, mut series) = match begun {
            Ok(begun) => begun,
            Err(words) => {
                return suite::refused(&words);
            }
        };
        let mut parts = Vec::new();
        let says = match &self.study {
            Ask::Cache(common) => cache(&mut series, common, &mut parts),
            Ask::WriteCache(arguments) => write_cache(&mut series, arguments, &mut parts),
            Ask::Locality(_) => locality(&mut series, common, &mut parts, !nodes.is_empty()),
        };
        let (says, result) = says;
        let report = Report { nodes, ..Report::new(study, parts, says) };
        let is_complete = result.is_ok();
        let code = finish(series, &report, result, &output);
        common.series.held_to_grade(is_complete, report.grade(), code)
    }
}

/// Undoes what was changed, then shows what was found, also when the study ended early.
fn finish(series: Series, report: &Report, result: Result<(), Ended>, output: &LaterOutputs) -> ExitCode {
    let code = series.end(result);
    if report.parts.is_empty() && report.nodes.is_empty() {
        return nothing_measured(code, false);
    }
    let code = print(&study::text(report, |verdict| series_verdict(verdict, Style::of_stdout())), code);
    suite::write_document(output, report, code)
}

/// The end of a study that cannot go on, in a sentence.
fn refused(words: impl Into<String>) -> Ended {
    Refusal::new(RefusalKind::Target, words).into()
}

/// The same after something was done.
fn failed(words: impl Into<String>) -> Ended {
    Failure::new(FailureKind::Open, words).into()
}

/// What is said at the end, and how it ended.
type Told = (Vec<String>, Result<(), Ended>);

fn cache(series: &mut Series, common: &Common, parts: &mut Vec<Part>) -> Told {
    let ready = find(series, Study::Cache, common).and_then(|found| {
        let asked = Asked::of(study::cache(&places(&found)), common)?;
        asked.announce(series);
        fill_made(series, &found, common.size_bytes)?;
        Ok((found, asked))
    });
    let (found, asked) = match ready {
        Ok(ready) => ready,
        Err(ended) => return (Vec::new(), Err(ended)),
    };
    // What a run through the cache left there would be written during the next one.
    let mut settle = |_: Side| found.iter().try_for_each(Found::settle);
    let result = asked.ask(series, common, &mut settle, parts);
    (study::about_cache(&places(&found)), result)
}

fn locality(series: &mut Series, common: &Common, parts: &mut Vec<Part>, has_nodes: bool) -> Told {
    let says = study::about_locality(has_nodes);
    if common.targets.is_empty() {
        return (says, Ok(()));
    }
    let ready = other_paths(series, common).and_then(|(places, is_made)| {
        let asked = Asked::of(study::locality(&places), common)?;
        asked.announce(series);
        if is_made {
            fill(series, &places[0].word, common.size_bytes)?;
        }
        Ok(asked)
    });
    match ready {
        Ok(asked) => (says, asked.ask(series, common, &mut |_| Ok(()), parts)),
        Err(ended) => (Vec::new(), Err(ended)),
    }
}

fn write_cache(series: &mut Series, arguments: &WriteCacheArguments, parts: &mut Vec<Part>) -> Told {
    let common = &arguments.common;
    // What is refused is refused before files are filled.
    let ready = find(series, Study::WriteCache, common).and_then(|found| {
        let asked = Asked::of(study::write_cache(&places(&found)), common)?;
        let switches = switches(series, &found, arguments.risk_power_loss)?;
        asked.announce(series);
        fill_made(series, &found, common.size_bytes)?;
        Ok((asked, switches))
    });
    let (asked, switches) = match ready {
        Ok(ready) => ready,
        Err(ended) => return (Vec::new(), Err(ended)),
    };
    let mut arrange = |side: Side| {
        let to = if study::is_cache_on(side) { BACK } else { THROUGH };
        switches.iter().try_for_each(|switch| switch.set(to)).map_err(|no| failed(no.to_string()))
    };
    let result = asked.ask(series, common, &mut arrange, parts);
    let kernel_only = switches.iter().filter(|s| s.reach == Reach::Kernel).map(|s| s.disk.clone());
    (study::about_write_cache(&kernel_only.collect::<Vec<_>>()), result)
}

fn places(found: &[Found]) -> Vec<Place> {
    found.iter().map(|found| found.place.clone()).collect()
}

/// Comparisons, planned.
struct Asked {
    questions: Vec<Question>,
    plans: Vec<ab::Plan>,
}

impl Asked {
    fn of(questions: Vec<Question>, common: &Common) -> Result<Self, Ended> {
        let plans = common.plans(&questions)?;
        Ok(Asked { questions, plans })
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
        parts: &mut Vec<Part>,
    ) -> Result<(), Ended> {
        let begin = Instant::now();
        let consents = common.consents().map_err(refused)?;
        for (number, (question, plan)) in self.questions.iter().zip(&self.plans).enumerate() {
            series.later(self.plans[number + 1..].iter().map(ab::Plan::ahead).sum());
            // The guard refuses a word for what is no target of a run.
            let of_this = consents.iter().filter(|consent| question.words[0].contains(&consent.target));
            series.allow(of_this.map(|consent| consent.path.clone()).collect());
            let mut surroundings = Surroundings { arrange: &mut *arrange, elapsed: &|| begin.elapsed() };
            let (comparison, result) = ab::compare(plan, series, &mut surroundings);
            if result.is_ok() || !comparison.blocks.is_empty() {
                let (title, names) = (question.title.clone(), question.names.clone());
                parts.push(Part { title, names, comparison });
            }
            result?;
        }
        Ok(())
    }
}

//! `truespd study`: ready-made comparisons.

mod documents;
mod places;
mod switches;

use std::time::Instant;

use clap::{Args, Subcommand};

use super::ab_command::Comparing;
use super::command::{ExitCode, print};
use super::console::say_error;
use super::outputs::{LaterOutputs, later_json};
use super::place::{bytes, target_named};
use super::series::{Series, SeriesArguments, failed, nothing_measured, refused};
use super::verdict::{Style, series as series_verdict};
use super::words::VariantWords;
use crate::os::write_cache::{BACK, Reach, THROUGH};
use crate::suite::Ended;
use crate::suite::ab::{self, Side, Surroundings};
use crate::suite::study::{self, Part, Place, Question, Report, Study};
use places::{Found, fill_made, find, other_paths};
use switches::switches;

/// Questions that come up again and again, answered by comparing in turns (see `truespd ab --help`)
#[derive(Debug, Args)]
pub(super) struct StudyArguments {
    #[command(subcommand)]
    study: Ask,
}

#[derive(Debug, Subcommand)]
enum Ask {
    /// What does the operating system's cache change? Reads and writes, past it and through it
    Cache(Common),
    /// What do the drives' write caches change? 4 KiB random I/O, on one target and on all of them
    ///
    /// Switches the cache of every disk right below the targets before each run, through sysfs, and sets it back at the end,
    /// also when the program is killed. Needs root.
    WriteCache(WriteCacheArguments),
    /// From where is the same storage faster? Reads by the first path and by each of the others
    ///
    /// Give the same file or device by several paths, or directories that show the same place: a file is then made in the
    /// first. Or compare what several nodes measured: --node takes their documents.
    Locality(LocalityArguments),
}

#[derive(Debug, Clone, Args)]
struct Common {
    /// Directories, in which a test file is made and removed, files, or devices; of the latter two only reads are measured,
    /// unless --overwrite names them
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,

    /// Size of the test files, as after -c
    #[arg(long = "size", value_name = "SIZE", default_value = "1G", value_parser = bytes)]
    size_bytes: u64,

    #[command(flatten)]
    comparing: Comparing,

    /// Write the study to this file as JSON (`truespd schema study`)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,

    #[command(flatten)]
    series: SeriesArguments,
}

impl Common {
    /// What may be written, spelt as the targets are; a path that names none stays as it is.
    fn overwrite(&self) -> Vec<String> {
        let targets: Vec<&str> = self.targets.iter().map(String::as_str).collect();
        let typed = |path: &String| target_named(path, &targets).unwrap_or_else(|| path.clone());
        self.series.overwrite.iter().map(typed).collect()
    }
}

#[derive(Debug, Clone, Args)]
struct WriteCacheArguments {
    #[command(flatten)]
    common: Common,

    /// On a disk that something uses, switch also a cache that is off now, and where "off" only keeps the kernel from sending
    /// flushes: a loss of power during the study can then cost what else is on it
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

/// `truespd study`.
pub(super) fn run(arguments: &StudyArguments) -> ExitCode {
    let (name, common) = match &arguments.study {
        Ask::Cache(common) => ("cache", common),
        Ask::WriteCache(arguments) => ("write-cache", &arguments.common),
        Ask::Locality(arguments) => ("locality", &arguments.common),
    };
    let typed_nodes = match &arguments.study {
        Ask::Locality(arguments) => arguments.nodes.as_slice(),
        Ask::Cache(_) | Ask::WriteCache(_) => &[],
    };
    let nodes = match documents::nodes(typed_nodes, common.comparing.metric) {
        Ok(nodes) => nodes,
        Err(words) => {
            say_error(&words);
            return ExitCode::Refused;
        }
    };
    if common.targets.is_empty() && nodes.is_empty() {
        say_error(&format!("truespd study {name} needs a TARGET: a directory, a file or a device"));
        return ExitCode::Refused;
    }
    let begun = later_json(common.json.as_deref(), &common.targets)
        .and_then(|output| Ok((output, Series::begin(&format!("study {name}"), &common.series)?)));
    let (output, mut series) = match begun {
        Ok(begun) => begun,
        Err(words) => {
            say_error(&words);
            return ExitCode::Refused;
        }
    };
    let mut parts = Vec::new();
    let says = match &arguments.study {
        Ask::Cache(common) => cache(&mut series, common, &mut parts),
        Ask::WriteCache(arguments) => write_cache(&mut series, arguments, &mut parts),
        Ask::Locality(_) => locality(&mut series, common, &mut parts, !nodes.is_empty()),
    };
    let study = match &arguments.study {
        Ask::Cache(_) => Study::Cache,
        Ask::WriteCache(_) => Study::WriteCache,
        Ask::Locality(_) => Study::Locality,
    };
    let (says, result) = says;
    let report = Report { nodes, ..Report::new(study, parts, says) };
    finish(series, &report, result, &output)
}

/// Undoes what was changed, then shows what was found, also when the study ended early.
fn finish(series: Series, report: &Report, result: Result<(), Ended>, output: &LaterOutputs) -> ExitCode {
    let code = series.end(result);
    if report.parts.is_empty() && report.nodes.is_empty() {
        return nothing_measured(code);
    }
    let code = print(&study::text(report, |verdict| series_verdict(verdict, Style::of_stdout())), code);
    output.write(|_| study::write(report), code)
}

/// What is said at the end, and how it ended.
type Told = (Vec<String>, Result<(), Ended>);

fn cache(series: &mut Series, common: &Common, parts: &mut Vec<Part>) -> Told {
    let found = find(series, "cache", common.size_bytes, &common.targets, &common.overwrite());
    let filled = found.and_then(|found| fill_made(series, &found, common.size_bytes).map(|()| found));
    let found = match filled {
        Ok(found) => found,
        Err(ended) => return (Vec::new(), Err(ended)),
    };
    let places = places(&found);
    // What a run through the cache left there would be written during the next one.
    let mut settle = |_: Side| found.iter().try_for_each(Found::settle);
    let result = ask(series, common, &study::cache(&places), &mut settle, parts);
    (study::about_cache(&places), result)
}

fn locality(series: &mut Series, common: &Common, parts: &mut Vec<Part>, has_nodes: bool) -> Told {
    if common.targets.is_empty() {
        return (study::about_locality(has_nodes), Ok(()));
    }
    let places = match other_paths(series, common.size_bytes, &common.targets) {
        Ok(places) => places,
        Err(ended) => return (Vec::new(), Err(ended)),
    };
    let result = ask(series, common, &study::locality(&places), &mut |_| Ok(()), parts);
    (study::about_locality(has_nodes), result)
}

fn write_cache(series: &mut Series, arguments: &WriteCacheArguments, parts: &mut Vec<Part>) -> Told {
    let common = &arguments.common;
    let found = find(series, "write-cache", common.size_bytes, &common.targets, &common.overwrite());
    // What is refused is refused before files are filled.
    let ready = found.and_then(|found| {
        let switches = switches(series, &found, arguments.risk_power_loss)?;
        fill_made(series, &found, common.size_bytes)?;
        Ok((found, switches))
    });
    let (found, switches) = match ready {
        Ok(ready) => ready,
        Err(ended) => return (Vec::new(), Err(ended)),
    };
    let mut arrange = |side: Side| {
        let to = if study::is_cache_on(side) { BACK } else { THROUGH };
        switches.iter().try_for_each(|switch| switch.set(to)).map_err(|words| failed(&words))
    };
    let result = ask(series, common, &study::write_cache(&places(&found)), &mut arrange, parts);
    let kernel_only = switches.iter().filter(|s| s.reach == Reach::Kernel).map(|s| s.disk.clone());
    (study::about_write_cache(&kernel_only.collect::<Vec<_>>()), result)
}

fn places(found: &[Found]) -> Vec<Place> {
    found.iter().map(|found| found.place.clone()).collect()
}

/// Runs the comparisons one after the other.
fn ask(
    series: &mut Series,
    common: &Common,
    questions: &[Question],
    arrange: &mut dyn FnMut(Side) -> Result<(), Ended>,
    parts: &mut Vec<Part>,
) -> Result<(), Ended> {
    let begin = Instant::now();
    let overwrite = common.overwrite();
    let variant = |question: &Question, words: &Vec<String>| {
        let variant = common.comparing.variant(&question.title, words.clone(), None);
        variant.map_err(|words| refused(&words))
    };
    let plan = |question: &Question| -> Result<ab::Plan, Ended> {
        let [a, b] = &question.words;
        let variants: [VariantWords; 2] = [variant(question, a)?, variant(question, b)?];
        Ok(common.comparing.plan(&format!("{}: ", question.title), variants))
    };
    let plans = questions.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
    for (number, (question, plan)) in questions.iter().zip(&plans).enumerate() {
        series.later(plans[number + 1..].iter().map(ab::Plan::ahead).sum());
        // The guard refuses a word for what is no target of a run.
        let of_this = overwrite.iter().filter(|path| question.words[0].contains(path));
        series.allow(of_this.cloned().collect());
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

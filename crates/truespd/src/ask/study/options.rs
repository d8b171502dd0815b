//! `truespd study`: ready-made comparisons.

use crate::ask::ab::{Metric, Side, Surroundings};
use crate::ask::command::{Asked, Measured, SeriesArguments, Suite};
use crate::ask::study::arguments::{Ask, Common, WriteCacheArguments, failed};
use crate::ask::study::places::{Found, fill_made, find, other_paths, switches};
use crate::ask::study::{
    ComparedPair, Node, Question, Runs, Study, StudyReport, StudyTarget, compare_nodes, differs,
};
use crate::ask::{ab, study};
use crate::runner::keep::is_of_uncounted;
use crate::runner::place::absolute;
use crate::runner::{Ended, Runner, Series};
use clap::Args;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use truespd_core::result::json::ReadError;
use truespd_core::result::{Document, json};
use truespd_platform::fault::{Fault, Refusal, RefusalKind};
use truespd_platform::machine::drive::{Reach, WRITE_BACK, WRITE_THROUGH};
use truespd_platform::sys::error::system_text;
use truespd_platform::text::printable_path;

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
        let nodes = nodes(self.nodes(), self.common().comparing.metric)?;
        if targets.is_empty() && nodes.is_empty() {
            let message = format!("truespd {} needs a TARGET: a directory, a file or a device", self.title());
            return Err(Refusal::command_line(message).into());
        }
        let targets = targets.iter().cloned().map(absolute).collect();
        Ok(Asked::Work { work: nodes, targets, read: paths(self.nodes()) })
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
        series.fill(&places[0].word, common.size_bytes)?;
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

/// Reads the documents of `NAME=PATH` and compares the first node with the others.
pub fn nodes(typed: &[String], metric: Metric) -> Result<Vec<Node>, Refusal> {
    let mut seen = Seen::default();
    let mut all: Vec<Runs> = Vec::new();
    let mut first: Option<Document> = None;
    let mut different = None;
    for node in typed {
        let (runs, document) = runs(node, metric, &mut seen)?;
        all.push(runs);
        let Some(first) = &first else {
            first = Some(document);
            continue;
        };
        // What cannot be read is told first.
        if different.is_none() {
            different = differs(first, &document).map(|what| (node, what));
        }
    }
    if all.len() == 1 {
        return Err(unfit("--node: give at least two nodes to compare"));
    }
    if let Some((node, what)) = different {
        let message = format!("--node {} and --node {node} are of different loads: {what}", typed[0]);
        return Err(unfit(message).hint("run the same line on all nodes"));
    }
    Ok(compare_nodes(&all, metric))
}

pub fn paths(typed: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    for (_, path) in typed.iter().filter_map(|typed| typed.split_once('=')) {
        for path in documents_of(Path::new(path)).unwrap_or_default() {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    paths
}

/// The runs of a node, and the document of one.
fn runs(typed: &str, metric: Metric, seen: &mut Seen) -> Result<(Runs, Document), Refusal> {
    let read = match typed.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            runs_of(name, Path::new(path), metric, seen)
        }
        _ => Err(unfit("legal: NAME=PATH, a name and the documents of its runs")),
    };
    read.map_err(|why| why.behind(format!("--node {typed}")))
}

fn runs_of(name: &str, path: &Path, metric: Metric, seen: &mut Seen) -> Result<(Runs, Document), Refusal> {
    let mut documents = counting(path, &documents_of(path)?, seen)?;
    let runs = Runs::of(name, &documents, metric).map_err(|why| unfit(why.to_string()))?;
    Ok((runs, documents.swap_remove(0)))
}

/// Documents that count, of all nodes so far, and where they are.
#[derive(Default)]
struct Seen(HashMap<String, PathBuf>);

impl Seen {
    /// Takes a document that counts, each once: a copy would make the runs look more alike than they are.
    fn take(&mut self, path: &Path, document: &Document) -> Result<(), Refusal> {
        match self.0.insert(json::write(document), path.to_path_buf()) {
            None => Ok(()),
            Some(before) if before == path => Err(unfit(format!("{} is named twice", printable_path(path)))
                .hint("name the documents of each node once")),
            Some(before) => Err(unfit(format!(
                "{} and {} are copies of the same run",
                printable_path(&before),
                printable_path(path)
            ))
            .hint("remove one of them")),
        }
    }
}

/// The documents of runs that count, all of the same run.
fn counting(folder: &Path, paths: &[PathBuf], seen: &mut Seen) -> Result<Vec<Document>, Refusal> {
    let mut documents = Vec::new();
    for path in paths {
        documents.push((path, read(path)?));
    }
    if folder.is_dir() {
        documents.retain(|(path, document)| !is_uncounted(path, document));
    }
    let Some(((first_path, first), rest)) = documents.split_first() else {
        return Err(unfit(format!(
            "'{}' holds no document of a run that counts, only of runs that prepare others",
            printable_path(folder)
        )));
    };
    for (path, document) in rest {
        if let Some(what) = differs(first, document) {
            let (one, other) = (printable_path(first_path), printable_path(path));
            return Err(unfit(format!("{one} and {other} are of different loads: {what}"))
                .hint("put the documents of each line into their own directory"));
        }
    }
    documents.iter().try_for_each(|(path, document)| seen.take(path, document))?;
    Ok(documents.into_iter().map(|(_, document)| document).collect())
}

/// A step of a series that makes a file, or runs for the first time and does not count: kept by a suite,
/// under such a name.
fn is_uncounted(path: &Path, document: &Document) -> bool {
    let is_kept = document.command_line.first().is_some_and(|program| program.starts_with("truespd "));
    is_kept && is_of_uncounted(path)
}

/// A file, or the JSON files in a folder.
fn documents_of(path: &Path) -> Result<Vec<PathBuf>, Refusal> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    found.sort();
    if found.is_empty() {
        Err(unfit(format!("{}: there is no document (*.json)", printable_path(path))))
    } else {
        Ok(found)
    }
}

fn read(path: &Path) -> Result<Document, Refusal> {
    json::text_of_file(path).and_then(|text| json::read(&text)).map_err(|error| match error {
        ReadError::Io(error) => unreadable(path, &error),
        error => unfit(format!("{} {error}", printable_path(path))),
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    unfit(format!("{}: {}", printable_path(path), system_text(error)))
}

fn unfit(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Input, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::{Profile, Target, TimeSpan};
    use truespd_core::result::{Direction, Measured, TargetResult, ThreadResult, TimeSpanResult};

    /// A document of a run with so many I/Os in a second, made by `program`, writing so many percent.
    fn put(folder: &Path, name: &str, program: &str, write_percent: u32, ios: u64) {
        let target = Target { write_percent, ..Target::default() };
        let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
        let result = TargetResult {
            path: "f".into(),
            size_bytes: 1,
            read: Direction { ios, ..Direction::default() },
            write: Direction::default(),
            distribution: None,
            short_transfers: 0,
            ..TargetResult::default()
        };
        let thread = ThreadResult { id: 0, source: None, targets: vec![result], waits: Default::default() };
        let measured = Measured { test_time_s: 1.0, threads: vec![thread], ..Measured::default() };
        let document = Document {
            command_line: vec![program.into(), "f".into()],
            profile: Profile { time_spans: vec![span], ..Profile::default() },
            time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
            ..Document::default()
        };
        fs::write(folder.join(name), json::write(&document)).expect("a document");
    }

    #[test]
    fn only_runs_that_count_and_only_of_one_line() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path();
        put(folder, "001-making-the-test-file.json", "truespd ab", 100, 9000);
        put(folder, "002-a-first-run-does-not-count.json", "truespd ab", 0, 8000);
        put(folder, "003-rnd4k-q1t1-read-discarded-run.json", "truespd mark", 0, 7000);
        put(folder, "004-a-block-1.json", "truespd ab", 0, 1000);
        put(folder, "005-a-block-1.json", "truespd ab", 0, 1010);
        let typed = format!("node={}", folder.display());
        let (found, _) = runs(&typed, Metric::IOPS, &mut Seen::default()).expect("two runs");
        assert_eq!((found.figures, found.grade), (vec![1000.0, 1010.0], None));
        // What a person called so is a run like any other.
        put(folder, "making-the-test-file.json", "diskspd", 0, 990);
        assert_eq!(runs(&typed, Metric::IOPS, &mut Seen::default()).expect("three").0.figures.len(), 3);
        put(folder, "006-writes-a-block-1.json", "truespd ab", 100, 500);
        let words =
            runs(&typed, Metric::IOPS, &mut Seen::default()).expect_err("reads and writes").to_string();
        for says in ["004-a", "006-writes", "write_percent (0 and 100)", "their own directory"] {
            assert!(words.contains(says), "{says}: {words}");
        }
        let empty = tempfile::tempdir().expect("a folder");
        put(empty.path(), "001-making-the-test-file.json", "truespd ab", 100, 9000);
        let words = runs(&format!("node={}", empty.path().display()), Metric::IOPS, &mut Seen::default())
            .expect_err("none")
            .to_string();
        assert!(words.contains("no document of a run that counts"), "{words}");
    }
    #[test]
    fn a_run_counts_once() {
        let place = tempfile::tempdir().expect("a folder");
        for (node, ios) in [("one", 1000), ("two", 1100)] {
            let folder = place.path().join(node);
            fs::create_dir(&folder).expect("a folder");
            for run in 0..2 {
                put(&folder, &format!("{run}.json"), "diskspd", 0, ios + run);
            }
        }
        let typed = |node: &str| format!("{node}={}", place.path().join(node).display());
        assert_eq!(nodes(&[typed("one"), typed("two")], Metric::IOPS).map(|nodes| nodes.len()), Ok(2));
        let words =
            nodes(&[typed("one"), typed("one")], Metric::IOPS).expect_err("the same twice").to_string();
        assert!(words.contains("one/0.json is named twice"), "{words}");
        fs::copy(place.path().join("one/1.json"), place.path().join("two/7.json")).expect("a copy");
        let words = nodes(&[typed("one"), typed("two")], Metric::IOPS).expect_err("a copy").to_string();
        for says in ["one/1.json", "two/7.json", "copies of the same run"] {
            assert!(words.contains(says), "{says}: {words}");
        }
    }
}

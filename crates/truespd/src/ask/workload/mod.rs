//! `truespd workload`: named loads, and the highest rate that keeps a latency limit.

mod answer;
pub(crate) mod options;
mod prepared;
pub mod preset;
#[cfg(test)]
mod tests;

use crate::answer::{Advice, SeriesVerdict};
use crate::ask::find_max::run::{Judge, Searching};
use crate::ask::find_max::search::Search;
use crate::ask::of_target::{results_of, sum};
use crate::ask::{Common, MEMBERS_ARE_ADDED};
use crate::runner::rounds::AROUND_S;
use crate::runner::{Ahead, Draft, Ended, Length, Runner, run_steps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::profile;
use truespd_core::profile::{Profile, Release, Size, Target, Throughput, TimeSpan};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{
    DirectionSummary, Document, Grade, LatencySummary, Measured, Part, Summary, TimeSpanResult,
};
use truespd_platform::text::duration_ns;

impl Plan {
    /// The lines that run first: all, but those of a search that follow from what is found.
    pub fn steps(&self) -> Vec<Draft> {
        match &self.work {
            Work::Lines(lines) => {
                let mut steps = Vec::new();
                for (index, line) in lines.iter().enumerate() {
                    let name = match lines.len() {
                        1 => self.name.clone(),
                        count => format!("{}, {} of {count}", self.name, index + 1),
                    };
                    steps.push(self.line(name, line));
                }
                steps
            }
            Work::Profile { path, profile } => {
                let mut words = Vec::new();
                if profile.release != Release::default() {
                    words.extend(["--compat", profile.release.word()].map(str::to_string));
                }
                words.push(format!("-X{path}"));
                words.extend(self.times.words());
                words.extend(self.targets.iter().cloned());
                let length = self.times.length().times(profile.time_spans.len() as f64);
                vec![Draft { name: self.name.clone(), words, length, ..Draft::default() }]
            }
            Work::Search(searching) => vec![searching.unlimited()],
        }
    }

    fn line(&self, name: String, line: &[String]) -> Draft {
        let mut words: Vec<String> = self.create.iter().cloned().collect();
        words.extend(line.iter().cloned());
        words.extend(self.times.words());
        words.extend(self.targets.iter().cloned());
        Draft { name, words, length: self.times.length(), ..Draft::default() }
    }

    /// Runs it. What is done when it ends early is in the outcome.
    pub fn run(&self, runner: &mut dyn Runner) -> (Outcome, Result<(), Ended>) {
        let mut outcome = Outcome::begin(&self.name, &self.about, &self.source);
        outcome.flush_p99_ms = self.flush_p99_ms;
        if let Work::Search(searching) = &self.work {
            let result = outcome.search_for(searching, runner);
            return (outcome, result);
        }
        let steps = self.steps();
        let result = run_steps(&steps, runner, Ahead::exactly, |place, document| {
            outcome.take(&steps[place], document);
            None
        });
        (outcome, result)
    }
}

/// Measured times that were asked for, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub warmup_s: u32,
    pub duration_s: u32,
    pub cooldown_s: u32,
}

impl Times {
    pub fn words(self) -> [String; 3] {
        [format!("-W{}", self.warmup_s), format!("-d{}", self.duration_s), format!("-C{}", self.cooldown_s)]
    }

    fn length(self) -> Length {
        let measured_s = f64::from(self.duration_s);
        Length::measured(measured_s, self.all_s() - measured_s + AROUND_S)
    }

    /// Warm-up, measured time and cool-down in seconds.
    pub fn all_s(self) -> f64 {
        f64::from(self.warmup_s) + f64::from(self.duration_s) + f64::from(self.cooldown_s)
    }
}

/// A workload on its targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Words of `-c` for lines whose files are to be made; the files of a line are equally large.
    pub create: Option<String>,
    /// Files or devices, as words of the command line.
    pub targets: Vec<String>,
    pub times: Times,
    pub work: Work,
    /// The 99th percentile of its flushes should stay below this, in milliseconds.
    pub flush_p99_ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Lines(Vec<Vec<String>>),
    /// A profile in a file, for `-X`.
    Profile {
        path: String,
        profile: Box<Profile>,
    },
    /// A line at rates, until the highest that keeps the limit is known.
    Search(Box<Searching>),
}

/// Reads or writes of one target of a run, or all of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// What was done, in a few words.
    pub what: String,
    /// `read`, `write`, `flush` or `total`.
    pub direction: String,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Latencies in nanoseconds; response times from the intended start where there was a rate, as `is_response` says.
    pub latency: Option<LatencySummary>,
    /// The latencies are response times.
    pub is_response: bool,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// DiskSpd's line.
    pub line: Vec<String>,
    /// Hash of its profile, by which the history knows the same test; none in documents from before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What was reached; one group per time span and target.
    pub rows: Vec<Row>,
    /// I/Os per second of the first time span.
    pub total_iops: Option<f64>,
    /// Mean use of all processors over the run, in percent.
    pub cpu_usage_percent: Option<f64>,
    /// Its verdict.
    pub grade: Option<Grade>,
}

/// What a workload reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
    /// Name of the workload.
    pub workload: String,
    /// What it is.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Runs, but those of the search.
    pub runs: Vec<Run>,
    /// The search for a rate.
    pub search: Option<Search>,
    /// The 99th percentile of its flushes should stay below this, in milliseconds; none where nothing is asked of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_p99_ms: Option<f64>,
    /// What the verdicts of all runs say, those of the search with them.
    pub verdict: SeriesVerdict,
}

impl DocumentKind for Outcome {
    const FORMAT: &'static str = "truespd-workload";
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "outcome";
    const MEMBER_ABOUT: &'static str = "What was reached.";
    const TITLE: &'static str = "TrueSpd workload, version 1";
    const ABOUT: &'static str =
        "An outcome as JSON, version 1. Units are at the end of names: `_ms`, `_ns`, `_iops`.";
    const NAME: &'static str = "result of truespd workload";
}

impl Row {
    fn part(&self, run: &Run) -> Option<Part> {
        let name = format!("{}, {}, {}", run.name, self.what, self.direction);
        let mut figures = vec![(Metric::IOPS, Some(self.iops)), (Metric::BYTES, Some(self.bytes_per_s))];
        if let Some(latency) = &self.latency {
            figures.extend(Metric::all().map(|metric| (metric, metric.of_latencies(latency))));
        }
        let part = Part::of(name, run.profile.as_deref(), &run.line, figures)?;
        let part = part.at("run", &run.name).at("load", &self.what).at("direction", &self.direction);
        Some(part.of_runs(1, run.grade))
    }
}

impl Outcome {
    /// The highest rate within a limit, of a search that found it.
    fn found(&self) -> Option<Part> {
        let (search, first) = (self.search.as_ref()?, self.runs.first()?);
        search.part(&self.workload, first.profile.as_deref(), &first.line)
    }

    /// Runs the line without a limit, and then at rates.
    fn search_for(&mut self, searching: &Searching, runner: &mut dyn Runner) -> Result<(), Ended> {
        let draft = searching.unlimited();
        runner.ahead(searching.ahead(0));
        let step = draft.clone().read(runner)?;
        let unlimited = runner.run(&step)?;
        self.take(&draft, &unlimited);
        let Some(unlimited_iops) = self.runs.first().and_then(|run| run.total_iops) else { return Ok(()) };
        searching.check_ios(unlimited_iops)?;
        let mut search = searching.begin(unlimited_iops);
        let mut judge = Judge { verdict: &mut self.verdict, advice: ADVICE };
        let result = searching.run(&unlimited, unlimited_iops, &mut judge, runner, &mut search);
        self.search = Some(search);
        result
    }

    fn begin(workload: &str, about: &str, source: &str) -> Self {
        Outcome {
            common: Common::default(),
            workload: workload.to_string(),
            about: about.to_string(),
            source: source.to_string(),
            runs: Vec::new(),
            search: None,
            flush_p99_ms: None,
            verdict: SeriesVerdict::default(),
        }
    }

    fn take(&mut self, step: &Draft, document: &Document) {
        let grade = self.judge(&step.name, document);
        let mut rows = Vec::new();
        let mut first = None;
        let spans = document.profile.time_spans.iter().zip(&document.time_spans);
        for (index, (span, result)) in spans.enumerate() {
            let TimeSpanResult::Measured(measured) = result else { continue };
            let several = document.time_spans.len() > 1;
            let prefix = if several { format!("time span {}, ", index + 1) } else { String::new() };
            rows.extend(rows_of(span, measured, &prefix));
            first.get_or_insert_with(|| Summary::of(measured));
        }
        self.runs.push(Run {
            name: step.name.clone(),
            line: step.words.clone(),
            profile: Some(profile::hash(&document.profile)),
            rows,
            total_iops: first.as_ref().and_then(|first| Metric::IOPS.of_sum(&first.total, Since::Issued)),
            cpu_usage_percent: first.map(|first| first.cpu_usage_percent),
            grade,
        });
    }

    /// Takes the verdict of a run.
    fn judge(&mut self, name: &str, document: &Document) -> Option<Grade> {
        Judge { verdict: &mut self.verdict, advice: ADVICE }.take(name, document)
    }

    /// How long the flushes of each run took, beside what is asked of them.
    pub fn of_flushes(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let Some(limit_ms) = self.flush_p99_ms else { return sentences };
        let rows = self.runs.iter().flat_map(|run| &run.rows);
        for row in rows.filter(|row| row.direction == FLUSH) {
            let p99 = row.latency.as_ref().and_then(|latency| Metric::P99.of_latencies(latency));
            sentences.extend(p99.map(|ns| {
                let is_within = ns <= limit_ms * 1e6;
                let word = if is_within { "within" } else { "above" };
                format!(
                    "p99 of the flushes: {}, {word} the {limit_ms} ms that are asked for",
                    duration_ns(ns)
                )
            }));
        }
        sentences
    }
}

/// Advice in options of this suite.
const ADVICE: Advice = &[
    (&["working-set"], "use --size 20G, or another size much larger than the caches"),
    (
        &["generator-bound"],
        "stop other programs, or write a preset of your own with fewer threads (-t), or with -n",
    ),
];

/// What a row of flushes says in the place of a direction.
const FLUSH: &str = "flush";

/// What a row of trims says there.
const TRIM: &str = "trim";

/// Reads, writes, flushes and trims of each target that is known, in the profile's order, and the sum unless it is the
/// only row.
fn rows_of(span: &TimeSpan, measured: &Measured, prefix: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        let Some(parts) = results_of(span, measured, index) else { continue };
        let what = format!("{prefix}{}", words_of(target));
        if target.reads() {
            let reads = parts.iter().map(|part| &part.read);
            rows.push(row(&what, "read", &sum(reads, measured.test_time_s)));
        }
        if target.writes_data() {
            let writes = parts.iter().map(|part| &part.write);
            rows.push(row(&what, "write", &sum(writes, measured.test_time_s)));
        }
        if target.flush_every.is_some() {
            let flushes = parts.iter().filter_map(|part| part.flush.as_ref());
            rows.push(row(&what, FLUSH, &sum(flushes, measured.test_time_s)));
        }
        if target.trims() {
            let trims = parts.iter().filter_map(|part| part.trim.as_ref());
            rows.push(row(&what, TRIM, &sum(trims, measured.test_time_s)));
        }
    }
    if rows.iter().filter(|row| ![FLUSH, TRIM].contains(&row.direction.as_str())).count() != 1 {
        let mut total = Summary::of(measured).total;
        // With targets with and without a rate, the sum would have the response times of only some I/Os.
        if rows.is_empty() || !rows.iter().all(|row: &Row| row.is_response) {
            total.response = None;
        }
        rows.push(row(&format!("{prefix}all"), "total", &total));
    }
    rows
}

fn row(what: &str, direction: &str, summary: &DirectionSummary) -> Row {
    let is_response = summary.response.is_some();
    let [iops, bytes_per_s] =
        [Metric::IOPS, Metric::BYTES].map(|metric| metric.of_sum(summary, Since::Issued).unwrap_or_default());
    Row {
        what: what.to_string(),
        direction: direction.to_string(),
        iops,
        bytes_per_s,
        latency: if is_response { summary.response.clone() } else { summary.latency.clone() },
        is_response,
    }
}

/// `8KiB random, 30 % writes, 1500/s a thread`
fn words_of(target: &Target) -> String {
    let pattern = match target.random_percent {
        0 if target.interlocked => "sequential, shared".to_string(),
        0 => "sequential".to_string(),
        100 => "random".to_string(),
        percent => format!("{percent} % random"),
    };
    let rate = match target.throughput {
        Some(Throughput::Iops(n)) if n > 0 => format!(", {n}/s a thread"),
        Some(Throughput::BytesPerMs(n)) if n > 0 => format!(", {n} bytes/ms a thread"),
        _ => String::new(),
    };
    format!("{} {pattern}{rate}", Size(target.block_bytes))
}

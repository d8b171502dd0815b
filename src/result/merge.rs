//! Adds results of runs that ran at the same time, on one host or several, without losing anything:
//! histograms and series are summed, and each run keeps its row in [`Document::sources`].
//!
//! The sum is the same whatever the order, and sums can be summed again. Memory does not grow with the
//! number of results beyond their rows.
//!
//! # Rates
//! The measured time of the sum is the mean of the measured times. Runs of one profile measure for the
//! same time, so every rate is the sum of the runs' rates: the rate over the window that all of them
//! share, as long as each ran evenly. Where windows or times differ notably, a warning says so.

mod difference;

use super::{Source, SourceSpan, SourceTotals};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    CpuUse, Direction, Document, EngineTraits, Evidence, LatencySummary, Measured, OwnCost, System,
    TargetFacts, TargetResult, ThreadResult, TimeSpanResult, WaitStatistics, Window,
};
use crate::measure::{Histogram, LatencySlices};
use crate::profile::{Profile, ResultFormat};

/// Shared time below this part of the longest run is worth a warning.
const COMMON_PART_NOTABLE: f64 = 0.98;
/// Measured times that differ by more than this part are worth a warning.
const TIMES_PART_NOTABLE: f64 = 0.01;

/// Why results cannot be added.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MergeError {
    /// Not one document.
    #[error("there is nothing to merge")]
    Nothing,
    /// Another test.
    #[error("{name} is the result of another test than {first}: {difference}; --force adds them anyway")]
    OtherProfile {
        /// The document in question.
        name: String,
        /// The first document.
        first: String,
        /// The first difference.
        difference: String,
    },
    /// Statistics that have no sum.
    #[error(
        "{name} cannot be added to {first}, not even with --force: in time span {time_span} the {what} differ, and \
         such statistics have no sum"
    )]
    NoSum {
        /// The document in question.
        name: String,
        /// The first document.
        first: String,
        /// From 1.
        time_span: usize,
        /// What differs.
        what: &'static str,
    },
    /// No common window.
    #[error(
        "time span {time_span}: the runs did not measure at the same time ({host_early} ended before {host_late} \
         began), so their rates have no sum; check the clocks of the hosts, or use --force to add the results anyway"
    )]
    NotTogether {
        /// From 1.
        time_span: usize,
        /// Host of the run that ended first.
        host_early: String,
        /// Host of the run that began last.
        host_late: String,
    },
    /// The same result twice.
    #[error("the result of {host} ({words}) is given more than once; --force counts it each time")]
    Twice {
        /// Its host.
        host: String,
        /// Its command line.
        words: String,
    },
}

/// Adds documents one by one.
#[derive(Debug)]
pub struct Merger {
    force: bool,
    /// Name and profile of the document that came first.
    first: Option<(String, Profile)>,
    /// The profile of the source that stands first in the table, with that source's place.
    base: Option<(String, Profile)>,
    spans: Vec<SpanSum>,
    sources: Vec<(String, Source)>,
}

/// One time span so far.
#[derive(Debug, Default)]
struct SpanSum {
    threads: BTreeMap<u32, (WaitStatistics, BTreeMap<String, TargetResult>)>,
    engine_notes: BTreeSet<String>,
    facts: BTreeSet<TargetFacts>,
    cost: Option<OwnCost>,
    /// None before the first result; without latencies over time where one of the results has none.
    latencies: Option<Option<LatencySlices>>,
}

impl Merger {
    /// Nothing yet. `force` adds results of different tests, at different times, and twice.
    pub fn new(force: bool) -> Self {
        Merger { force, first: None, base: None, spans: Vec::new(), sources: Vec::new() }
    }

    /// Adds a document; `name` is for messages.
    ///
    /// # Errors
    /// When the document is of another test. The sum is not to be used afterwards.
    pub fn add(&mut self, name: &str, document: Document) -> Result<(), MergeError> {
        self.check(name, &document)?;
        let sources = match document.sources.is_empty() {
            true => vec![source_of(&document)],
            false => document.sources,
        };
        for source in sources {
            let key = place(&source);
            if self.base.as_ref().is_none_or(|(least, _)| key < *least) {
                self.base = Some((key.clone(), document.profile.clone()));
            }
            self.sources.push((key, source));
        }
        if self.spans.len() < document.time_spans.len() {
            self.spans.resize_with(document.time_spans.len(), SpanSum::default);
        }
        for (sum, span) in self.spans.iter_mut().zip(document.time_spans) {
            if let TimeSpanResult::Measured(measured) = span {
                sum.add(*measured);
            }
        }
        if self.first.is_none() {
            self.first = Some((name.to_string(), document.profile));
        }
        Ok(())
    }

    fn check(&self, name: &str, document: &Document) -> Result<(), MergeError> {
        let Some((first, profile)) = &self.first else { return Ok(()) };
        let (ours, theirs) = (same_test(profile), same_test(&document.profile));
        if ours == theirs {
            return Ok(());
        }
        let difference = || difference::first((first, &ours), (name, &theirs));
        let (name, first) = (name.to_string(), first.clone());
        if !self.force {
            return Err(MergeError::OtherProfile { difference: difference(), name, first });
        }
        for (i, (a, b)) in ours.time_spans.iter().zip(&theirs.time_spans).enumerate() {
            let what = if a.measure_latency != b.measure_latency {
                "latency measurements (-L)"
            } else if a.calculate_iops_std_dev != b.calculate_iops_std_dev || a.io_bucket_ms != b.io_bucket_ms
            {
                "intervals (-D)"
            } else {
                continue;
            };
            return Err(MergeError::NoSum { name, first, time_span: i + 1, what });
        }
        Ok(())
    }

    /// The sum.
    ///
    /// # Errors
    /// When there was nothing, a result came twice, or the runs did not run at the same time.
    pub fn finish(self) -> Result<Document, MergeError> {
        let Some((_, profile)) = self.base else { return Err(MergeError::Nothing) };
        let mut keyed = self.sources;
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        if !self.force
            && let Some(twice) = keyed.windows(2).find(|two| two[0].0 == two[1].0)
        {
            let source = &twice[0].1;
            return Err(MergeError::Twice {
                host: source.system.computer_name.clone(),
                words: source.command_line.join(" "),
            });
        }
        let sources: Vec<Source> = keyed.into_iter().map(|(_, source)| source).collect();
        let mut warnings: BTreeSet<String> = sources.iter().flat_map(|s| s.warnings.clone()).collect();
        let mut time_spans = Vec::with_capacity(self.spans.len());
        for (i, sum) in self.spans.into_iter().enumerate() {
            let rows = Rows::of(&sources, i);
            rows.check_together(self.force)?;
            warnings.extend(rows.warnings());
            time_spans.push(sum.finish(&rows, &profile));
        }
        time_spans.resize_with(profile.time_spans.len(), || TimeSpanResult::NotMeasured);
        let failures = sources
            .iter()
            .flat_map(|s| s.failures.iter().map(|failure| format!("{}: {failure}", s.system.computer_name)));
        let base = &sources[0];
        Ok(Document {
            command_line: base.command_line.clone(),
            system: base.system.clone(),
            verdict: None,
            tool_version: base.tool_version.clone(),
            warnings: warnings.into_iter().collect(),
            notes: vec![format!("the sum of {} results", sources.len())],
            failures: failures.collect(),
            rank: None,
            profile,
            time_spans,
            sources,
        })
    }
}

/// The sort key of a source: host and start, then everything else.
fn place(source: &Source) -> String {
    let start = source.system.start_unix_s.unwrap_or(0);
    let rest = serde_json::to_string(source).expect("a source is always JSON");
    format!("{}\0{start:020}\0{rest}", source.system.computer_name)
}

/// The profile without members that do not change the test: how it is reported, and its random numbers.
fn same_test(profile: &Profile) -> Profile {
    let mut profile = Profile {
        progress_ios: 0,
        result_format: ResultFormat::Text,
        verbose: false,
        verbose_stats: false,
        etw: None,
        ..profile.clone()
    };
    profile.time_spans.iter_mut().for_each(|span| span.rand_seed = 0);
    profile
}

fn source_of(document: &Document) -> Source {
    let span = |span: &TimeSpanResult| match span {
        TimeSpanResult::NotMeasured => None,
        TimeSpanResult::Measured(m) => Some(SourceSpan {
            test_time_s: m.test_time_s,
            window: m.evidence.window,
            common_start: m.evidence.common_start,
            threads: Some(m.threads.len() as u64),
            engine: m.engine.clone(),
            engine_traits: m.engine_traits,
            cpu: m.cpu.clone(),
            read: totals(m, |target| &target.read),
            write: totals(m, |target| &target.write),
        }),
    };
    Source {
        command_line: document.command_line.clone(),
        system: document.system.clone(),
        tool_version: document.tool_version.clone(),
        time_spans: document.time_spans.iter().map(span).collect(),
        warnings: document.warnings.clone(),
        failures: document.failures.clone(),
        rank: document.rank.clone(),
    }
}

fn totals(measured: &Measured, of: fn(&TargetResult) -> &Direction) -> SourceTotals {
    let (mut latencies, mut responses) = (Histogram::new(), Histogram::new());
    let (mut bytes, mut ios) = (0, 0);
    for direction in measured.threads.iter().flat_map(|thread| &thread.targets).map(of) {
        bytes += direction.bytes;
        ios += direction.ios;
        if let Some(latency) = &direction.latency {
            latencies.merge(latency);
        }
        if let Some(response) = &direction.response {
            responses.merge(response);
        }
    }
    SourceTotals {
        bytes,
        ios,
        latency: LatencySummary::of(&latencies),
        response: LatencySummary::of(&responses),
    }
}

impl SpanSum {
    fn add(&mut self, measured: Measured) {
        for thread in measured.threads {
            let (waits, targets) = self.threads.entry(thread.id).or_default();
            add_waits(waits, &thread.waits);
            for target in thread.targets {
                match targets.get_mut(&target.path) {
                    Some(mine) => add_target(mine, target),
                    None => drop(targets.insert(target.path.clone(), target)),
                }
            }
        }
        self.engine_notes.extend(measured.engine_notes);
        self.facts.extend(measured.evidence.targets);
        if let Some(theirs) = measured.evidence.own_cost {
            add_cost(self.cost.get_or_insert_default(), &theirs);
        }
        // A sum without the I/Os of one result would not be of the same I/Os as the other figures.
        self.latencies = Some(match (self.latencies.take(), measured.latency_over_time) {
            (None, theirs) => theirs,
            (Some(Some(mut mine)), Some(theirs)) => {
                mine.merge(&theirs);
                Some(mine)
            }
            (Some(_), _) => None,
        });
    }

    fn finish(self, rows: &Rows<'_>, profile: &Profile) -> TimeSpanResult {
        if rows.spans.is_empty() {
            return TimeSpanResult::NotMeasured;
        }
        let paths: Vec<&str> = profile
            .time_spans
            .get(rows.time_span)
            .map_or_else(Vec::new, |span| span.targets.iter().map(|t| t.path.as_str()).collect());
        let rank = |path: &str| paths.iter().position(|known| *known == path).unwrap_or(usize::MAX);
        let thread = |(id, (waits, targets)): (u32, (WaitStatistics, BTreeMap<String, TargetResult>))| {
            let mut targets: Vec<TargetResult> = targets.into_values().collect();
            targets.sort_by_key(|target| rank(&target.path));
            ThreadResult { id, targets, waits }
        };
        let engines: BTreeSet<&str> = rows.spans.iter().map(|(_, span)| span.engine.as_str()).collect();
        TimeSpanResult::Measured(Box::new(Measured {
            test_time_s: rows.mean_time_s(),
            cpu: rows.cpu(),
            threads: self.threads.into_iter().map(thread).collect(),
            engine: engines.into_iter().collect::<Vec<_>>().join(", "),
            engine_traits: EngineTraits::common(rows.spans.iter().map(|(_, span)| span.engine_traits)),
            engine_notes: self.engine_notes.into_iter().collect(),
            latency_over_time: self.latencies.flatten(),
            evidence: Evidence {
                window: rows.common(),
                targets: self.facts.into_iter().collect(),
                own_cost: self.cost,
                ..Evidence::default()
            },
        }))
    }
}

fn add_waits(mine: &mut WaitStatistics, theirs: &WaitStatistics) {
    mine.completion_waits += theirs.completion_waits;
    mine.throttle_waits += theirs.throttle_waits;
    mine.throttle_sleeps += theirs.throttle_sleeps;
    mine.lookasides += theirs.lookasides;
    for (sum, count) in mine.lookaside_completions.iter_mut().zip(theirs.lookaside_completions) {
        *sum += count;
    }
}

fn add_target(mine: &mut TargetResult, theirs: TargetResult) {
    // Targets of one name on several hosts may differ in size, and with it their ranges.
    mine.size_bytes = mine.size_bytes.max(theirs.size_bytes);
    mine.distribution = mine.distribution.take().max(theirs.distribution);
    mine.short_transfers += theirs.short_transfers;
    add_direction(&mut mine.read, theirs.read);
    add_direction(&mut mine.write, theirs.write);
}

fn add_direction(mine: &mut Direction, theirs: Direction) {
    mine.bytes += theirs.bytes;
    mine.ios += theirs.ios;
    match (&mut mine.latency, theirs.latency) {
        (Some(mine), Some(theirs)) => mine.merge(&theirs),
        (mine @ None, theirs) => *mine = theirs,
        (Some(_), None) => {}
    }
    match (&mut mine.response, theirs.response) {
        (Some(mine), Some(theirs)) => mine.merge(&theirs),
        (mine @ None, theirs) => *mine = theirs,
        (Some(_), None) => {}
    }
    match (&mut mine.intervals, theirs.intervals) {
        (Some(mine), Some(theirs)) => mine.merge(&theirs),
        (mine @ None, theirs) => *mine = theirs,
        (Some(_), None) => {}
    }
}

fn add_cost(mine: &mut OwnCost, theirs: &OwnCost) {
    mine.user_ns += theirs.user_ns;
    mine.system_ns += theirs.system_ns;
    mine.resident_bytes_max += theirs.resident_bytes_max;
    mine.faults_minor += theirs.faults_minor;
    mine.faults_major += theirs.faults_major;
    mine.switches_voluntary += theirs.switches_voluntary;
    mine.switches_involuntary += theirs.switches_involuntary;
}

/// The rows of all sources for one time span, in the table's order.
struct Rows<'a> {
    time_span: usize,
    sources: usize,
    base: &'a System,
    spans: Vec<(&'a Source, &'a SourceSpan)>,
}

impl<'a> Rows<'a> {
    fn of(sources: &'a [Source], time_span: usize) -> Self {
        let measured = |source: &'a Source| Some((source, source.time_spans.get(time_span)?.as_ref()?));
        Rows {
            time_span,
            sources: sources.len(),
            base: &sources[0].system,
            spans: sources.iter().filter_map(measured).collect(),
        }
    }

    fn times_s(&self) -> impl Iterator<Item = f64> {
        self.spans.iter().map(|(_, span)| span.test_time_s)
    }

    fn mean_time_s(&self) -> f64 {
        // As a deviation from the first, so that equal times give exactly that time.
        let first = self.times_s().next().unwrap_or(0.0);
        first + self.times_s().map(|time| time - first).sum::<f64>() / self.spans.len().max(1) as f64
    }

    /// Mean use of each processor over the sources on machines like the first one's.
    fn cpu(&self) -> Vec<CpuUse> {
        let alike: Vec<&[CpuUse]> = self.alike().collect();
        let mean = |of: fn(&CpuUse) -> f64, i: usize| {
            let first = of(&alike[0][i]);
            first + alike.iter().map(|cpu| of(&cpu[i]) - first).sum::<f64>() / alike.len() as f64
        };
        let processor = |i| match alike.is_empty() {
            true => CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 },
            false => {
                CpuUse { user: mean(|c| c.user, i), kernel: mean(|c| c.kernel, i), idle: mean(|c| c.idle, i) }
            }
        };
        (0..self.base.topology.processors.len()).map(processor).collect()
    }

    fn alike(&self) -> impl Iterator<Item = &'a [CpuUse]> {
        let processors = self.base.topology.processors.len();
        let is_alike = move |source: &Source, span: &SourceSpan| {
            source.system.topology == self.base.topology && span.cpu.len() == processors
        };
        self.spans.iter().filter(move |(source, span)| is_alike(source, span)).map(|(_, s)| s.cpu.as_slice())
    }

    fn windows(&self) -> impl Iterator<Item = Window> {
        self.spans.iter().filter_map(|(_, span)| span.window)
    }

    /// The window that all share.
    fn common(&self) -> Option<Window> {
        let mut windows = self.windows();
        let first = windows.next()?;
        windows.try_fold(first, Window::common)
    }

    fn check_together(&self, force: bool) -> Result<(), MergeError> {
        if force || self.windows().next().is_none() || self.common().is_some() {
            return Ok(());
        }
        let rows = || self.spans.iter().filter_map(|(source, span)| Some((source, span.window?)));
        let host = |row: Option<(&&Source, Window)>| {
            row.map_or_else(String::new, |(source, _)| source.system.computer_name.clone())
        };
        Err(MergeError::NotTogether {
            time_span: self.time_span + 1,
            host_early: host(rows().min_by_key(|(_, window)| window.end_unix_ns)),
            host_late: host(rows().max_by_key(|(_, window)| window.start_unix_ns)),
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.spans.len() < 2 && self.sources < 2 {
            return warnings;
        }
        let number = self.time_span + 1;
        if self.spans.len() < self.sources {
            let missing = self.sources - self.spans.len();
            warnings
                .push(format!("time span {number}: {missing} of {} results measured nothing", self.sources));
        }
        let (least, most) =
            self.times_s().fold((f64::MAX, 0.0f64), |(least, most), s| (least.min(s), most.max(s)));
        if most - least > most * TIMES_PART_NOTABLE {
            warnings.push(format!(
                "time span {number}: the runs measured for {least:.3} to {most:.3} s; rates are totals divided by \
                 the mean time"
            ));
        }
        let longest_ns = self.windows().map(|w| w.length_ns()).max().unwrap_or(0);
        let common_ns = self.common().map_or(0, |w| w.length_ns());
        if self.windows().count() < self.spans.len() {
            warnings.push(format!(
                "time span {number}: not every result shows when it ran, so it is not known whether all ran at the \
                 same time"
            ));
        } else if (common_ns as f64) < longest_ns as f64 * COMMON_PART_NOTABLE {
            warnings.push(format!(
                "time span {number}: all runs together measured for only {:.3} s, the longest for {:.3} s; the rates \
                 are those of this common time if every run was steady, and each run's intervals count from its own \
                 start",
                common_ns as f64 / 1e9,
                longest_ns as f64 / 1e9
            ));
        }
        let others = self.spans.len() - self.alike().count();
        if others > 0 {
            warnings.push(format!(
                "time span {number}: processor use is the mean of the hosts with the processors of {}; {others} \
                 results of other machines are only in the table of sources",
                self.base.computer_name
            ));
        }
        warnings
    }
}

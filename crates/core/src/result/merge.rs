//! Adds results of runs that ran at the same time, on one host or several, without losing anything:
//! histograms and series are summed, and each run keeps its row in [`Document::sources`].
//!
//! The sum is the same whatever the order, and sums can be summed again. Memory does not grow with the
//! number of results beyond their rows: threads stand for themselves while they are few (`threads`).
//!
//! # Rates
//! The measured time of the sum is the mean of the measured times. Runs of one profile measure for the
//! same time, so every rate is the sum of the runs' rates: the rate over the window that all of them
//! share, as long as each ran evenly. Where windows or times differ notably, a warning says so.
//!
//! # Cluster runs
//! The ranks of one run belong together whatever their profiles say: paths, offsets and sizes of targets may be each
//! rank's own. Their windows are compared by the clock of rank 0. Ranks without a result are [`Document::missing`].

mod rows;
mod threads;

use std::collections::BTreeSet;

use super::json::Counted;
use super::{
    CoarseSeries, Document, EngineTraits, Evidence, Measured, Operations, OwnCost, Source, SourceSpan,
    SourceTotals, SourceVerdict, TargetFacts, TimeSpanResult, Timeline,
};
use crate::measure::LatencySlices;
use crate::profile::{Profile, ResultFormat, TimeSpan};
use rows::{Rows, first_difference, missing, missing_warning};
use threads::{Fold, Threads, bytes_of};

/// With more sources than this, what is known of each target is left out: nothing says whose it is, and it
/// would be most of the document.
const FACTS_OF_MAX: usize = 256;

/// With more sources than this, rows have no I/Os over time: nobody can tell so many lines apart, and they
/// would be much of a large sum.
const SERIES_OF_MAX: usize = 32;

/// Warnings of single results that a sum repeats.
const WARNINGS_MAX: usize = 32;

/// Why results cannot be added.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MergeError {
    /// No document was added.
    #[error("there is nothing to merge")]
    Nothing,
    /// Results of another test than the first one's.
    #[error("{0}")]
    OtherProfile(String),
    /// Statistics that have no sum.
    #[error("{0}")]
    NoSum(String),
    /// No time in which all runs measured.
    #[error("{0}")]
    NotTogether(String),
    /// Counts of more than any machines do.
    #[error("{0}")]
    TooLarge(String),
    /// The same result more than once.
    #[error("{0}")]
    Twice(String),
}

impl MergeError {
    /// The results can be added all the same, if the person wants that.
    pub fn can_be_forced(&self) -> bool {
        matches!(self, MergeError::OtherProfile(_) | MergeError::NotTogether(_) | MergeError::Twice(_))
    }
}

/// Adds documents one by one.
#[derive(Debug)]
pub struct Merger {
    force: bool,
    /// The first misfit in spite of which results were added.
    forced: Option<MergeError>,
    first: Option<First>,
    /// The profile of the source that stands first in the table, with that source's place.
    base: Option<(String, Profile)>,
    spans: Vec<SpanSum>,
    sources: Vec<(String, Source)>,
    counted: Counted,
}

/// What came of the results that were added.
#[derive(Debug)]
pub struct Sum {
    /// All results in one document.
    pub document: Document,
    /// Why the results do not fit together, where they were added all the same; the first reason.
    pub forced: Option<MergeError>,
}

/// The document that came first, which the others are held against.
#[derive(Debug)]
struct First {
    name: String,
    profile: Profile,
    /// The cluster run that it belongs to.
    run: Option<String>,
}

/// One time span so far.
#[derive(Debug, Default)]
struct SpanSum {
    threads: Threads,
    threads_all: u64,
    /// What the results of all sources may take in memory.
    bytes_all: u64,
    engine_notes: BTreeSet<String>,
    facts: BTreeSet<TargetFacts>,
    cost: Option<OwnCost>,
    /// None before the first result; without latencies over time where one of the results has none.
    latencies: Option<Option<LatencySlices>>,
    /// Likewise of response times from the intended starts.
    responses: Option<Option<LatencySlices>>,
    /// Likewise of completions over time, and without where intervals differ in length.
    series: Option<Option<Timeline>>,
}

impl Merger {
    /// Nothing yet. `force` adds results of different tests, at different times, and twice.
    pub fn new(force: bool) -> Self {
        Merger {
            force,
            forced: None,
            first: None,
            base: None,
            spans: Vec::new(),
            sources: Vec::new(),
            counted: Counted::default(),
        }
    }

    /// Adds a document; `name` is for messages.
    ///
    /// # Errors
    /// When the document is of another test. The sum is not to be used afterwards.
    pub fn add(&mut self, name: &str, document: Document) -> Result<(), MergeError> {
        self.check(name, &document)?;
        document.measured().for_each(|measured| self.counted.add(measured));
        if self.counted.is_too_much() {
            return Err(MergeError::TooLarge(format!(
                "with {name}, the counts of bytes or I/Os are too large for a sum; leave out the results that are not \
                 true"
            )));
        }
        if self.spans.len() < document.time_spans.len() {
            self.spans.resize_with(document.time_spans.len(), SpanSum::default);
        }
        let (first, is_sum) = (self.sources.len(), document.is_sum());
        let run = run_of(&document).map(str::to_string);
        let sources = if !is_sum { vec![source_of(&document)] } else { document.sources };
        for source in sources {
            let key = place(&source);
            if self.base.as_ref().is_none_or(|(least, _)| key < *least) {
                self.base = Some((key.clone(), document.profile.clone()));
            }
            for ((sum, span), asked) in
                self.spans.iter_mut().zip(&source.time_spans).zip(&document.profile.time_spans)
            {
                sum.count(span.as_ref(), asked);
            }
            self.sources.push((key, source));
        }
        self.fold();
        for (sum, span) in self.spans.iter_mut().zip(document.time_spans) {
            if let TimeSpanResult::Measured(measured) = span {
                sum.add(first, is_sum, *measured);
            }
        }
        if self.first.is_none() {
            self.first = Some(First { name: name.to_string(), profile: document.profile, run });
        }
        Ok(())
    }

    /// Refuses results that do not fit together, or notes it where they are added all the same.
    fn misfit(&mut self, error: MergeError) -> Result<(), MergeError> {
        if !self.force {
            return Err(error);
        }
        self.forced.get_or_insert(error);
        Ok(())
    }

    fn check(&mut self, name: &str, document: &Document) -> Result<(), MergeError> {
        let Some(first) = &self.first else { return Ok(()) };
        let (ours, theirs) = (same_test(&first.profile), same_test(&document.profile));
        if ours == theirs {
            return Ok(());
        }
        let is_one_run = first.run.is_some() && first.run.as_deref() == run_of(document);
        for (i, (a, b)) in ours.time_spans.iter().zip(&theirs.time_spans).enumerate() {
            let what = if a.measure_latency != b.measure_latency {
                "latency measurements (-L)"
            } else if a.calculate_iops_std_dev != b.calculate_iops_std_dev || a.io_bucket_ms != b.io_bucket_ms
            {
                "intervals (-D)"
            } else {
                continue;
            };
            return Err(MergeError::NoSum(format!(
                "{name} cannot be added to {}: in time span {} the {what} differ, and such statistics have no sum",
                first.name,
                i + 1
            )));
        }
        if is_one_run {
            return Ok(());
        }
        let difference = first_difference((&first.name, &ours), (name, &theirs));
        let words = format!("{name} is the result of another test than {}: {difference}", first.name);
        self.misfit(MergeError::OtherProfile(words))
    }

    /// Folds threads as far as the sources that are here demand.
    fn fold(&mut self) {
        let threads = self.spans.iter().map(|sum| sum.threads_all).max().unwrap_or(0);
        let bytes = self.spans.iter().map(|sum| sum.bytes_all).fold(0, u64::saturating_add);
        let fold = Fold::of(threads, bytes);
        let has_facts = self.sources.len() <= FACTS_OF_MAX;
        for sum in &mut self.spans {
            sum.threads.fold(fold);
            if !has_facts {
                sum.facts.clear();
            }
        }
    }

    /// The sum.
    ///
    /// # Errors
    /// When there was nothing, a result came twice, or the runs did not run at the same time.
    pub fn finish(mut self) -> Result<Sum, MergeError> {
        let Some((_, profile)) = self.base.take() else { return Err(MergeError::Nothing) };
        let sources = std::mem::take(&mut self.sources);
        let mut keyed: Vec<(usize, (String, Source))> = sources.into_iter().enumerate().collect();
        if keyed.len() > SERIES_OF_MAX {
            keyed.iter_mut().for_each(|(_, (_, source))| drop_series(source));
        }
        keyed.sort_by(|(_, a), (_, b)| a.0.cmp(&b.0).then_with(|| series_of(&a.1).cmp(series_of(&b.1))));
        if let Some(twice) = keyed.windows(2).find(|two| is_same(&two[0].1, &two[1].1)) {
            let source = &twice[0].1.1;
            let (host, words) = (&source.system.computer_name, source.command_line.join(" "));
            let words = format!("the result of {host} ({words}) is given more than once");
            self.misfit(MergeError::Twice(words))?;
        }
        let mut place_of = vec![0; keyed.len()];
        keyed.iter().zip(0..).for_each(|((added, _), place)| place_of[*added] = place);
        let sources: Vec<Source> = keyed.into_iter().map(|(_, (_, source))| source).collect();
        let missing = missing(&sources);
        let mut warnings = warnings_of(&sources);
        warnings.extend(missing_warning(&missing, sources.len()));
        let mut notes = vec![format!("the sum of {} results", sources.len())];
        notes.extend(self.spans.iter().map(|sum| sum.threads.folded()).max().and_then(Fold::note));
        let mut time_spans = Vec::with_capacity(self.spans.len());
        for (i, sum) in std::mem::take(&mut self.spans).into_iter().enumerate() {
            let rows = Rows::of(&sources, i);
            if let Some((host_early, host_late)) = rows.apart() {
                self.misfit(MergeError::NotTogether(format!(
                    "time span {}: the runs did not measure at the same time ({host_early} ended before {host_late} \
                     began), so their rates have no sum; check the clocks of the hosts",
                    i + 1
                )))?;
            }
            warnings.extend(rows.warnings());
            time_spans.push(sum.finish(&rows, &place_of, sources.len() <= FACTS_OF_MAX));
        }
        time_spans.resize_with(profile.time_spans.len(), || TimeSpanResult::NotMeasured);
        let failures = sources
            .iter()
            .flat_map(|s| s.failures.iter().map(|failure| format!("{}: {failure}", s.system.computer_name)));
        let base = &sources[0];
        let document = Document {
            preconditioned: Vec::new(),
            command_line: base.command_line.clone(),
            system: base.system.clone(),
            verdict: None,
            usual: None,
            tool_version: base.tool_version.clone(),
            warnings: warnings.into_iter().collect(),
            notes,
            failures: failures.collect(),
            rank: None,
            profile,
            time_spans,
            sources,
            missing,
        };
        Ok(Sum { document, forced: self.forced })
    }
}

/// A sum without the rows of its results and with all threads as one: a few kilobytes however many results there are.
/// What it all came to is the same.
pub fn without_rows(mut sum: Document) -> Document {
    for span in &mut sum.time_spans {
        if let TimeSpanResult::Measured(measured) = span {
            let mut threads = Threads::default();
            threads.fold(Fold::All);
            threads.add(0, true, std::mem::take(&mut measured.threads));
            measured.threads = threads.finish(&[], &[]);
        }
    }
    sum.sources = Vec::new();
    sum
}

/// What the results warn of, each once. Of many hosts each may have words of its own: the rows have them all.
fn warnings_of(sources: &[Source]) -> BTreeSet<String> {
    let mut warnings: BTreeSet<String> = sources.iter().flat_map(|s| s.warnings.clone()).collect();
    if let Some(more) = warnings.len().checked_sub(WARNINGS_MAX).filter(|more| *more > 0) {
        warnings = warnings.into_iter().take(WARNINGS_MAX).collect();
        warnings.insert(format!("{more} more warnings of single results are in the document (sources)"));
    }
    warnings
}

/// The cluster run that all of a result belongs to.
fn run_of(document: &Document) -> Option<&str> {
    if !document.is_sum() {
        return document.rank.as_ref().map(|rank| rank.run.as_str());
    }
    let mut runs = document.sources.iter().map(|source| Some(source.rank.as_ref()?.run.as_str()));
    let first = runs.next()??;
    runs.all(|run| run == Some(first)).then_some(first)
}

/// The I/Os over time of each time span.
fn series_of(source: &Source) -> impl Iterator<Item = Option<&CoarseSeries>> {
    source.time_spans.iter().map(|span| span.as_ref()?.series.as_ref())
}

fn drop_series(source: &mut Source) {
    source.time_spans.iter_mut().flatten().for_each(|span| span.series = None);
}

/// The sort key of a source: ranks of a cluster run by number, others by host and start, then everything
/// else. A result that lost its series in a large sum is still the same result.
fn place(source: &Source) -> String {
    let start = source.system.start_unix_s.unwrap_or(0);
    let mut bare = source.clone();
    drop_series(&mut bare);
    let rest = serde_json::to_string(&bare).expect("a source is always JSON");
    let (run, rank) = source.rank.as_ref().map_or(("", 0), |rank| (rank.run.as_str(), rank.rank));
    format!("{run}\0{rank:010}\0{}\0{start:020}\0{rest}", source.system.computer_name)
}

/// Whether two neighbours in the table are one result: the same in everything, or the same rank of a run.
fn is_same(a: &(String, Source), b: &(String, Source)) -> bool {
    let [a_rank, b_rank] = [a, b].map(|(_, source)| source.rank.as_ref().map(|rank| (&rank.run, rank.rank)));
    a.0 == b.0 || a_rank.is_some() && a_rank == b_rank
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
    Source {
        command_line: document.command_line.clone(),
        system: document.system.clone(),
        tool_version: document.tool_version.clone(),
        time_spans: document
            .time_spans
            .iter()
            .map(|span| match span {
                TimeSpanResult::NotMeasured => None,
                TimeSpanResult::Measured(m) => Some(SourceSpan {
                    test_time_s: m.test_time_s,
                    window: m.evidence.window,
                    common_start: m.evidence.common_start,
                    threads: Some(m.threads.len() as u64),
                    targets: m.paths().into_iter().map(str::to_string).collect(),
                    engine: m.engine.clone(),
                    engine_traits: m.engine_traits,
                    cpu: m.cpu.clone(),
                    read: SourceTotals::of(m, Operations::Reads),
                    write: SourceTotals::of(m, Operations::Writes),
                    total: Some(SourceTotals::of(m, Operations::All)),
                    series: m.evidence.series.as_ref().and_then(CoarseSeries::of),
                }),
            })
            .collect(),
        warnings: document.warnings.clone(),
        failures: document.failures.clone(),
        rank: document.rank.clone(),
        verdict: document.verdict.as_ref().map(SourceVerdict::from),
    }
}

impl SpanSum {
    /// Counts a source, before its threads come.
    fn count(&mut self, span: Option<&SourceSpan>, asked: &TimeSpan) {
        let Some(span) = span else { return };
        // Sums from before it was kept do not tell.
        self.threads_all = self.threads_all.saturating_add(span.threads.unwrap_or(1));
        let interval_ms = asked.calculate_iops_std_dev.then_some(asked.io_bucket_ms);
        self.bytes_all = self.bytes_all.saturating_add(bytes_of(span, interval_ms));
    }

    /// Adds a result whose first source has the place `first` among those that were added.
    fn add(&mut self, first: usize, is_sum: bool, measured: Measured) {
        self.threads.add(first, is_sum, measured.threads);
        self.engine_notes.extend(measured.engine_notes);
        self.facts.extend(measured.evidence.targets);
        if let Some(theirs) = measured.evidence.own_cost {
            add_cost(self.cost.get_or_insert_default(), &theirs);
        }
        self.add_series(measured.evidence.series);
        // A sum without the I/Os of one result would not be of the same I/Os as the other figures.
        self.latencies = Some(added(self.latencies.take(), measured.latency_over_time));
        self.responses = Some(added(self.responses.take(), measured.response_over_time));
    }

    fn add_series(&mut self, theirs: Option<Timeline>) {
        self.series = Some(match (self.series.take(), theirs) {
            (None, theirs) => theirs,
            (Some(Some(mut mine)), Some(theirs)) => mine.add(&theirs).then_some(mine),
            (Some(_), _) => None,
        });
    }

    fn finish(self, rows: &Rows<'_>, place_of: &[u32], has_facts: bool) -> TimeSpanResult {
        if rows.spans.is_empty() {
            return TimeSpanResult::NotMeasured;
        }
        let engines: BTreeSet<&str> = rows.spans.iter().map(|(_, span)| span.engine.as_str()).collect();
        TimeSpanResult::Measured(Box::new(Measured {
            verified: Vec::new(),
            test_time_s: rows.mean_time_s(),
            cpu: rows.cpu(),
            threads: self.threads.finish(place_of, &rows.paths()),
            engine: engines.into_iter().collect::<Vec<_>>().join(", "),
            engine_traits: EngineTraits::common(rows.spans.iter().map(|(_, span)| span.engine_traits)),
            engine_notes: self.engine_notes.into_iter().collect(),
            latency_over_time: self.latencies.flatten(),
            response_over_time: self.responses.flatten(),
            rounds: None,
            in_effect: None,
            evidence: Evidence {
                window: rows.common(),
                targets: if has_facts { self.facts.into_iter().collect() } else { Vec::new() },
                own_cost: self.cost,
                series: self.series.flatten(),
                ..Evidence::default()
            },
        }))
    }
}

/// What there is so far with that of one more result; none where one of them has none.
fn added(mine: Option<Option<LatencySlices>>, theirs: Option<LatencySlices>) -> Option<LatencySlices> {
    match (mine, theirs) {
        (None, theirs) => theirs,
        (Some(Some(mut mine)), Some(theirs)) => {
            mine.merge(&theirs);
            Some(mine)
        }
        (Some(_), _) => None,
    }
}

fn add_cost(mine: &mut OwnCost, theirs: &OwnCost) {
    mine.user_ns = mine.user_ns.saturating_add(theirs.user_ns);
    mine.system_ns = mine.system_ns.saturating_add(theirs.system_ns);
    mine.resident_bytes_max = mine.resident_bytes_max.saturating_add(theirs.resident_bytes_max);
    mine.faults_minor = mine.faults_minor.saturating_add(theirs.faults_minor);
    mine.faults_major = mine.faults_major.saturating_add(theirs.faults_major);
    mine.switches_voluntary = mine.switches_voluntary.saturating_add(theirs.switches_voluntary);
    mine.switches_involuntary = mine.switches_involuntary.saturating_add(theirs.switches_involuntary);
}

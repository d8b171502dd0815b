//! The document of a run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    CommonStart, Evidence, MissingRank, Preconditioned, Rank, Rounds, SkewResult, SourceVerdict, Timeline,
    Usual, Verdict, Verified, Window,
};
use crate::measure::{Histogram, Intervals, LatencySlices};
use crate::profile::{BufferSeparation, Profile};
use truespd_platform::machine::processor_caches::ProcessorCache;
use truespd_platform::machine::topology::Topology;

/// A run, as stored and rendered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Document {
    /// The words as typed, program name first.
    pub command_line: Vec<String>,
    /// The resolved profile.
    pub profile: Profile,
    /// The machine.
    pub system: System,
    /// One per time span of the profile, in order.
    pub time_spans: Vec<TimeSpanResult>,
    /// What was written to the targets before the test (`--precondition`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preconditioned: Vec<Preconditioned>,
    /// What the person should know, one sentence each.
    pub warnings: Vec<String>,
    /// Facts worth knowing, one sentence each: engine and how it was reached, queue depth.
    pub notes: Vec<String>,
    /// Why the run failed; empty when it did not.
    pub failures: Vec<String>,
    /// Version of the tool that ran.
    pub tool_version: String,
    /// What the rules of that version said of it; none in documents from before there were rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What earlier results lead to expect, as `truespd run` finds it in the history before it keeps this one; none
    /// where there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual: Option<Usual>,
    /// Its place in a cluster run; none for a run of one process, and for a sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// The results this one was added up from, by host and start, the ranks of a cluster run by their
    /// numbers; empty for the result of one run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Ranks of a cluster run whose results are not in this sum: with any, the sum is one of a part of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingRank>,
}

impl Document {
    /// The numbers of the time spans that have some, in order.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.time_spans.iter().filter_map(|span| match span {
            TimeSpanResult::Measured(measured) => Some(&**measured),
            TimeSpanResult::NotMeasured => None,
        })
    }

    /// Whether it was added up from results, and is not that of one run.
    pub fn is_sum(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Names of the hosts of a sum, each once, in the order of its sources; none for the result of one run.
    pub fn hosts(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.sources.iter().map(|source| source.system.computer_name.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// The name of the host, or how many there are: `node-a`, `4 hosts`.
    pub fn host_words(&self) -> String {
        match self.hosts().len() {
            0 | 1 => self.system.computer_name.clone(),
            several => format!("{several} hosts"),
        }
    }

    /// Threads that ran in a time span, from 0: those of all results that were added up, or the thread results.
    pub fn threads_of(&self, time_span: usize) -> u64 {
        if self.is_sum() {
            let mut threads = Some(0);
            for source in &self.sources {
                if let Some(Some(span)) = source.time_spans.get(time_span) {
                    threads = threads.zip(span.threads).map(|(sum, more)| sum + more);
                }
            }
            if let Some(threads) = threads {
                return threads;
            }
        }
        match self.time_spans.get(time_span) {
            Some(TimeSpanResult::Measured(measured)) => measured.threads.len() as u64,
            _ => 0,
        }
    }
}

/// The machine and the moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct System {
    /// Host name.
    pub computer_name: String,
    /// Start of the run, seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
    /// Name of the first processor; empty where the kernel tells none, or the document does not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub processor_name: String,
    /// What the firmware calls the machine, maker and model: `Dell Inc. PowerEdge R740`, `Amazon EC2 m5.large`; empty
    /// where it tells nothing, or the document does not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine_model: String,
    /// Processors.
    pub topology: Topology,
    /// Caches of the processors, each once; empty where the kernel tells none, or the document does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<ProcessorCache>,
    /// Size of a page of memory; `None` when the document does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Frequency governor, or `<unknown>`.
    pub power_scheme: String,
    /// Release of the kernel, e.g. `6.1.0-28-amd64`.
    pub kernel_release: String,
    /// Memory of the machine in bytes, when known.
    pub memory_bytes: Option<u64>,
}

impl System {
    /// How far apart buffers lie on this machine, in bytes; `None` when the document does not tell the size of a page.
    pub fn separation_bytes(&self, wanted: BufferSeparation) -> Option<u64> {
        let line_bytes = self.caches.iter().map(|cache| cache.line_bytes).max();
        self.page_bytes.map(|page_bytes| wanted.bytes(page_bytes, line_bytes))
    }
}

/// What became of one time span.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeSpanResult {
    /// Nothing was measured: stopped during warm-up, an error, or never started.
    NotMeasured,
    /// Measured.
    Measured(Box<Measured>),
}

/// The numbers of one time span.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Measured {
    /// Measured time in seconds, full precision.
    pub test_time_s: f64,
    /// Use of each logical processor of [`System::topology`], same order.
    pub cpu: Vec<CpuUse>,
    /// One per thread.
    pub threads: Vec<ThreadResult>,
    /// Engine that ran, as `--engine` names it.
    pub engine: String,
    /// What kind of engine that is; `None` when the document does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_traits: Option<EngineTraits>,
    /// How the engine was reached: each step down and why, in words.
    pub engine_notes: Vec<String>,
    /// Latencies over time, of all threads and targets together, when measured (`-L`); none when the document
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_over_time: Option<LatencySlices>,
    /// Latencies from the intended start of each I/O over time, of the same I/Os, where a rate was set (`-g`); none
    /// without a rate, and when the document does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_over_time: Option<LatencySlices>,
    /// The rounds of a run that measures until it is steady (`--until-steady`); none of any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// What was written to verified targets, and found there meanwhile (`--verify`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<Verified>,
    /// What came of settings that DiskSpd 2.3 resolves; none in sums, and when the document does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_effect: Option<InEffect>,
    /// What the numbers rest on.
    pub evidence: Evidence,
}

impl Measured {
    /// Every result of a thread on a target.
    pub fn targets(&self) -> impl Iterator<Item = &TargetResult> {
        self.threads.iter().flat_map(|thread| &thread.targets)
    }

    /// Paths of the targets, each once, in the order in which the threads have them, which is that of the profile.
    pub fn paths(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.targets().map(|target| target.path.as_str()).filter(|path| seen.insert(*path)).collect()
    }

    /// What all threads did on the targets that `wanted` picks.
    pub fn sum(&self, operations: Operations, wanted: impl Fn(&TargetResult) -> bool) -> Direction {
        let mut sum = Direction::default();
        for target in self.targets().filter(|target| wanted(target)) {
            target.directions(operations).for_each(|direction| sum.add(direction));
        }
        sum
    }

    /// How long the I/Os that completed were out on average, in nanoseconds, without those that the end of
    /// the measured time found out; none when none completed, or nobody counted.
    pub fn mean_time_out_ns(&self) -> Option<f64> {
        let ios: f64 = self.targets().map(|target| target.ios() as f64).sum();
        let outstanding = self.evidence.outstanding.iter().flatten();
        let outstanding_ns: f64 = outstanding.map(|of| of.measured_ns as f64).sum();
        let out_ns = self.evidence.queue_depth?.reached * self.test_time_s * 1e9 - outstanding_ns;
        (ios > 0.0).then(|| (out_ns / ios).max(0.0))
    }
}

/// Settings as the run had them, beside those that were asked for (`release-2.3.md` §2 to §4).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InEffect {
    /// Kernel ids of the processors that threads were bound to, in the order of their threads and no longer than their
    /// number; with more threads they begin again. Empty when threads were not bound.
    pub processors: Vec<u32>,
    /// Distance between the beginnings of threads' buffers; 0 when the system decided.
    pub buffer_separation_bytes: u64,
    /// One per thread.
    pub dispatch: Vec<DispatchInEffect>,
}

/// How a thread handed I/Os over and took them back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DispatchInEffect {
    /// I/Os handed over at a time, at most (`-u`).
    pub submit_batch: u32,
    /// Completions taken at a time, at most (`-oc`).
    pub completion_depth: u32,
}

/// What an engine does that changes what its numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EngineTraits {
    /// Nothing is read from the target or written to it.
    pub touches_no_storage: bool,
    /// Time is simulated.
    pub simulates_time: bool,
    /// Its threads ask the device for completions all the time, and keep their processors busy.
    pub polls: bool,
}

impl EngineTraits {
    /// What several engines of one time span, or of several results, have in common; `None` when one does not tell.
    pub fn common(all: impl IntoIterator<Item = Option<EngineTraits>>) -> Option<EngineTraits> {
        let told: Vec<EngineTraits> = all.into_iter().collect::<Option<_>>()?;
        told.into_iter().reduce(|a, b| EngineTraits {
            touches_no_storage: a.touches_no_storage && b.touches_no_storage,
            simulates_time: a.simulates_time && b.simulates_time,
            polls: a.polls && b.polls,
        })
    }
}

/// Use of one logical processor over the measured time, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUse {
    /// User and nice.
    #[serde(rename = "user_percent")]
    pub user: f64,
    /// System, interrupts and soft interrupts.
    #[serde(rename = "kernel_percent")]
    pub kernel: f64,
    /// Idle and waiting for I/O.
    #[serde(rename = "idle_percent")]
    pub idle: f64,
}

impl CpuUse {
    /// User plus kernel, in percent of the time.
    pub fn usage(&self) -> f64 {
        self.user + self.kernel
    }
}

/// The numbers of one thread; in a large sum, of all threads of a host, or of all hosts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadResult {
    /// Thread number, from 0; in a sum one after the other over all of its sources.
    pub id: u32,
    /// The source it belongs to, as its place in [`Document::sources`]; none for the result of one run, and
    /// where the threads of several sources are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<u32>,
    /// One per target that the thread served.
    pub targets: Vec<TargetResult>,
    /// How the thread waited (`-vs`).
    pub waits: WaitStatistics,
}

/// How a thread handed over and waited (`io-semantics.md` §13, `release-2.3.md` §3 and §5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitStatistics {
    /// Waits without limit for completions.
    pub completion_waits: u64,
    /// Waits for completions while throttled.
    pub throttle_waits: u64,
    /// Pure throttle sleeps.
    pub throttle_sleeps: u64,
    /// Looks for completions without waiting.
    pub lookasides: u64,
    /// Looks that found 0, 1, ... 6, 7 or more completions.
    pub lookaside_completions: [u64; 8],
    /// Waits without limit that found 0, 1, ... 6, 7 or more completions, counted with `-vs`; none when they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_completions: Option<[u64; 8]>,
    /// Calls of the measured time that handed I/Os to a ring; none with other engines, and when the document does not
    /// tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submits: Option<u64>,
}

impl WaitStatistics {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &WaitStatistics) {
        self.completion_waits = self.completion_waits.saturating_add(other.completion_waits);
        self.throttle_waits = self.throttle_waits.saturating_add(other.throttle_waits);
        self.throttle_sleeps = self.throttle_sleeps.saturating_add(other.throttle_sleeps);
        self.lookasides = self.lookasides.saturating_add(other.lookasides);
        for (sum, count) in self.lookaside_completions.iter_mut().zip(other.lookaside_completions) {
            *sum = sum.saturating_add(count);
        }
        if let Some(theirs) = &other.wait_completions {
            let mine = self.wait_completions.get_or_insert_default();
            for (sum, count) in mine.iter_mut().zip(theirs) {
                *sum = sum.saturating_add(*count);
            }
        }
        if let Some(theirs) = other.submits {
            self.submits = Some(self.submits.unwrap_or(0).saturating_add(theirs));
        }
    }
}

/// The numbers of one thread on one target.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetResult {
    /// Path as given.
    pub path: String,
    /// Size in bytes as opened.
    pub size_bytes: u64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Flushes between writes (`--flush-every`); none without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Direction>,
    /// Trims (`--trim`), with the bytes that they covered; none without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Direction>,
    /// Ranges really used, when a distribution was given.
    pub distribution: Option<Vec<DistributionPart>>,
    /// Transfers shorter than the block.
    pub short_transfers: u64,
    /// I/Os that were due in the measured time under a rate (`-g`), whatever became of them; none without a rate, and
    /// in documents from before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_ios: Option<u64>,
    /// What became of Zipf's law (`--zipf`); none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<SkewResult>,
}

/// The I/Os that a figure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Reads and writes, each interval added up.
    All,
    #[allow(missing_docs)]
    Reads,
    #[allow(missing_docs)]
    Writes,
}

impl TargetResult {
    /// Its reads, its writes, or both.
    pub fn directions(&self, operations: Operations) -> impl Iterator<Item = &Direction> {
        let [read, write] = match operations {
            Operations::All => [Some(&self.read), Some(&self.write)],
            Operations::Reads => [Some(&self.read), None],
            Operations::Writes => [None, Some(&self.write)],
        };
        read.into_iter().chain(write)
    }

    /// I/Os that completed: reads, writes and trims.
    pub fn ios(&self) -> u64 {
        let trims = self.trim.as_ref().map_or(0, |trim| trim.ios);
        self.read.ios.saturating_add(self.write.ios).saturating_add(trims)
    }

    /// The sum of its [`TargetResult::directions`].
    pub fn sum(&self, operations: Operations) -> Direction {
        let mut sum = Direction::default();
        self.directions(operations).for_each(|direction| sum.add(direction));
        sum
    }
}

/// One effective range of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionPart {
    /// Sum of the shares before this range.
    pub io_start: u32,
    /// Share of I/O; all shares add up to 100, or less when ranges fell off the target.
    pub io_percent: u32,
    /// First byte relative to the base.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
}

/// Reads or writes of one thread on one target.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Direction {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Latencies, when measured (`-L`).
    pub latency: Option<Box<Histogram>>,
    /// Latencies from the intended start of each I/O (response times), of the same I/Os, when a rate was set
    /// (`-g`) and latencies were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Box<Histogram>>,
    /// Series per interval, when gathered (`-D`).
    pub intervals: Option<Intervals>,
    /// The I/Os of each size of a mix (`--mix`), ascending; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<OfSize>,
}

/// The I/Os of one size of a mix (`--mix`).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfSize {
    /// Size of these I/Os in bytes.
    pub block_bytes: u64,
    /// How many of them completed.
    pub ios: u64,
    /// Bytes that they transferred in all.
    pub bytes: u64,
    /// Latencies of these I/Os, when measured (`-L`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Box<Histogram>>,
}

impl Direction {
    /// The latencies; `None` without a single sample.
    pub fn latencies(&self) -> Option<&Histogram> {
        self.latency.as_deref().filter(|latency| latency.count() > 0)
    }

    /// Adds other I/Os. Latencies and series are merged, never averaged: the mean of a sum is the mean over its I/Os,
    /// and its deviation that of the summed series.
    pub fn add(&mut self, other: &Direction) {
        self.add_totals(other);
        match (&mut self.intervals, &other.intervals) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    pub(super) fn add_totals(&mut self, other: &Direction) {
        self.bytes += other.bytes;
        self.ios += other.ios;
        for (mine, theirs) in [(&mut self.latency, &other.latency), (&mut self.response, &other.response)] {
            if let Some(theirs) = theirs {
                // A fresh histogram takes no memory until something is recorded; a copy would.
                mine.get_or_insert_default().merge(theirs);
            }
        }
        for theirs in &other.sizes {
            let place = match self.sizes.binary_search_by_key(&theirs.block_bytes, |mine| mine.block_bytes) {
                Ok(place) => place,
                Err(place) => {
                    self.sizes.insert(place, OfSize { block_bytes: theirs.block_bytes, ..OfSize::default() });
                    place
                }
            };
            let mine = &mut self.sizes[place];
            mine.ios += theirs.ios;
            mine.bytes += theirs.bytes;
            if let Some(latency) = &theirs.latency {
                mine.latency.get_or_insert_default().merge(latency);
            }
        }
    }
}

/// One of the results that were added up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Source {
    /// The words as typed.
    pub command_line: Vec<String>,
    /// The machine.
    pub system: System,
    /// Version of the tool that ran.
    pub tool_version: String,
    /// Its numbers, `null` where nothing was measured.
    pub time_spans: Vec<Option<SourceSpan>>,
    /// Its warnings.
    pub warnings: Vec<String>,
    /// Its failures.
    pub failures: Vec<String>,
    /// Its place in a cluster run; none for a run of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// What the rules said of it; none when it was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SourceVerdict>,
}

/// The numbers of one source in one time span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceSpan {
    /// Measured time in seconds.
    pub test_time_s: f64,
    /// Measured time by the wall clock of its host.
    pub window: Option<Window>,
    /// How it started together with the other ranks of a cluster run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_start: Option<CommonStart>,
    /// Threads that ran; `None` when the document does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Paths of its targets, each once; empty when the document does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Engine that ran.
    pub engine: String,
    /// What kind of engine that is; `None` when the document does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_traits: Option<EngineTraits>,
    /// Use of each logical processor of its machine.
    pub cpu: Vec<CpuUse>,
    /// Reads.
    pub read: SourceTotals,
    /// Writes.
    pub write: SourceTotals,
    /// Reads and writes together; `None` when the document does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<SourceTotals>,
    /// Reads and writes over time; `None` in sums of many sources, and when the document does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<CoarseSeries>,
}

impl SourceSpan {
    /// When it measured, by the clock of rank 0 where the clocks were compared, else by that of its own host.
    pub fn common_window(&self) -> Option<Window> {
        let (window, Some(start)) = (self.window?, self.common_start) else { return self.window };
        let Window { start_unix_ns, end_unix_ns } = window;
        Some(Window {
            start_unix_ns: start.by_rank_0(start_unix_ns),
            end_unix_ns: start.by_rank_0(end_unix_ns),
        })
    }
}

/// What one source read or wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceTotals {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Latencies, when measured.
    pub latency: Option<LatencySummary>,
    /// Latencies from the intended start, of the I/Os on targets with a rate (`-g`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencySummary>,
}

impl SourceTotals {
    /// Of one time span of a run.
    pub(super) fn of(measured: &Measured, operations: Operations) -> Self {
        let mut sum = Direction::default();
        for direction in measured.targets().flat_map(|target| target.directions(operations)) {
            sum.add_totals(direction);
        }
        SourceTotals {
            bytes: sum.bytes,
            ios: sum.ios,
            latency: sum.latency.as_deref().and_then(LatencySummary::of),
            response: sum.response.as_deref().and_then(LatencySummary::of),
        }
    }
}

/// Latencies in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct LatencySummary {
    pub mean_ns: f64,
    pub std_dev_ns: f64,
    pub min_ns: u64,
    pub p25_ns: u64,
    pub p50_ns: u64,
    pub p75_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub p99_99_ns: u64,
    pub p99_999_ns: u64,
    pub max_ns: u64,
}

impl LatencySummary {
    /// Of a histogram; `None` without latencies.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        let percentiles = histogram.percentiles();
        (histogram.count() > 0).then(|| LatencySummary {
            mean_ns: histogram.mean_ns(),
            std_dev_ns: histogram.std_dev_ns(),
            min_ns: histogram.min_ns(),
            p25_ns: percentiles.ns(0.25),
            p50_ns: percentiles.ns(0.5),
            p75_ns: percentiles.ns(0.75),
            p90_ns: percentiles.ns(0.9),
            p95_ns: percentiles.ns(0.95),
            p99_ns: percentiles.ns(0.99),
            p99_9_ns: percentiles.ns(0.999),
            p99_99_ns: percentiles.ns(0.9999),
            p99_999_ns: percentiles.ns(0.99999),
            max_ns: histogram.max_ns(),
        })
    }
}

const INTERVALS_MAX: usize = 60;

/// I/Os of one source over its measured time. All intervals together have the I/Os of its series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CoarseSeries {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Length of all intervals together in nanoseconds. Where it is no multiple of `interval_ns`, the last
    /// one is shorter.
    pub length_ns: u64,
    /// Reads and writes completed in each interval.
    pub completed: Vec<u64>,
}

impl CoarseSeries {
    /// Adds up neighbouring intervals of a series, always as many, until they are few. None of a series
    /// without intervals.
    pub fn of(series: &Timeline) -> Option<Self> {
        let Timeline { interval_ns, reads, writes } = series;
        let count = reads.len().max(writes.len());
        let joined = count.div_ceil(INTERVALS_MAX).max(1);
        let mut completed = vec![0u64; count.div_ceil(joined)];
        for (place, ios) in reads.iter().enumerate().chain(writes.iter().enumerate()) {
            completed[place / joined] = completed[place / joined].saturating_add(*ios);
        }
        let [interval_ns, length_ns] = [joined, count].map(|many| interval_ns.checked_mul(many as u64));
        let (interval_ns, length_ns) = (interval_ns?, length_ns.filter(|ns| *ns > 0)?);
        Some(CoarseSeries { interval_ns, length_ns, completed })
    }

    /// The middle of each interval in seconds since the measured time began, and its I/Os per second.
    pub fn rates(&self) -> Vec<[f64; 2]> {
        (0..)
            .zip(&self.completed)
            .take(INTERVALS_MAX)
            .filter_map(|(place, ios): (u64, &u64)| {
                let begin = place.saturating_mul(self.interval_ns);
                let end = begin.saturating_add(self.interval_ns).min(self.length_ns);
                // A made-up document may say anything.
                let length_s = end.checked_sub(begin).filter(|ns| *ns > 0)? as f64 / 1e9;
                Some([begin as f64 / 1e9 + length_s / 2.0, *ios as f64 / length_s])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests_of_coarse_series {
    use proptest::prelude::*;

    use super::*;

    const NS_PER_S: u64 = 1_000_000_000;

    fn coarse(interval_ns: u64, reads: Vec<u64>, writes: Vec<u64>) -> Option<CoarseSeries> {
        CoarseSeries::of(&Timeline { interval_ns, reads, writes })
    }

    #[test]
    fn short_series_keep_their_intervals() {
        let few = coarse(NS_PER_S, vec![1, 2, 3], vec![10, 0, 0]).expect("has intervals");
        let wanted =
            CoarseSeries { interval_ns: NS_PER_S, length_ns: 3 * NS_PER_S, completed: vec![11, 2, 3] };
        assert_eq!(few, wanted);
        assert_eq!(few.rates(), [[0.5, 11.0], [1.5, 2.0], [2.5, 3.0]]);
        let most = coarse(NS_PER_S, (0..60).collect(), Vec::new()).expect("has intervals");
        assert_eq!(most.completed, (0..60).collect::<Vec<u64>>());
    }

    #[test]
    fn long_series_are_added_up_in_equal_parts() {
        let ten = coarse(NS_PER_S, vec![1; 600], vec![2; 600]).expect("has intervals");
        assert_eq!((ten.interval_ns, ten.completed), (10 * NS_PER_S, vec![30; 60]));
        // The last interval is as long as what is left, and its rate is of that time.
        let odd = coarse(NS_PER_S, vec![5; 61], Vec::new()).expect("has intervals");
        assert_eq!((odd.interval_ns, odd.length_ns), (2 * NS_PER_S, 61 * NS_PER_S));
        assert_eq!((odd.completed.len(), odd.completed[29], odd.completed[30]), (31, 10, 5));
        assert_eq!(odd.rates()[29..], [[59.0, 5.0], [60.5, 5.0]]);
    }

    #[test]
    fn nothing_comes_of_nothing_and_of_impossible_lengths() {
        assert_eq!(coarse(NS_PER_S, Vec::new(), Vec::new()), None);
        assert_eq!(coarse(0, vec![1], vec![1]), None);
        assert_eq!(coarse(u64::MAX / 2, vec![1; 100], Vec::new()), None);
        let completed = vec![7; 100];
        let of =
            |interval_ns, length_ns| CoarseSeries { interval_ns, length_ns, completed: completed.clone() };
        assert!(of(0, 0).rates().is_empty() && of(0, NS_PER_S).rates().is_empty());
        assert_eq!(of(u64::MAX, u64::MAX).rates().len(), 1);
        assert_eq!(of(1, u64::MAX).rates().len(), INTERVALS_MAX);
    }

    proptest! {
        /// No I/O is lost, and no interval but the last is shorter.
        #[test]
        fn intervals_have_the_ios_of_the_series(
            reads in prop::collection::vec(0..1_000_000u64, 0..700),
            writes in prop::collection::vec(0..1_000_000u64, 0..700),
            interval_ns in 1..10_000_000_000u64,
        ) {
            let ios: u64 = reads.iter().chain(&writes).sum();
            let count = reads.len().max(writes.len()) as u64;
            let Some(made) = coarse(interval_ns, reads, writes) else {
                prop_assert_eq!(count, 0);
                return Ok(());
            };
            prop_assert_eq!(made.completed.iter().sum::<u64>(), ios);
            prop_assert_eq!(made.length_ns, count * interval_ns);
            let intervals = made.completed.len() as u64;
            prop_assert!(intervals <= 60 && (count <= 60 || intervals > 30));
            prop_assert!(made.interval_ns * (intervals - 1) < made.length_ns);
            prop_assert!(made.interval_ns * intervals >= made.length_ns);
            let rates = made.rates();
            prop_assert_eq!(rates.len() as u64, intervals);
            prop_assert!(rates.iter().all(|[at_s, _]| *at_s > 0.0 && *at_s < made.length_ns as f64 / 1e9));
        }
    }
}

//! The table of metrics: what can be read from a result as one number, what people call it, its unit, and which way is
//! better, and what its mean is made of, interval by interval. Whoever compares, searches, keeps or exports figures
//! reads
//! them here; a new metric is a new row.

use super::{
    Direction, DirectionSummary, Document, LatencySummary, Measured, Operations, Summary, TimeSpanResult,
    Usual,
};
use crate::measure::estimate::Part;
use crate::measure::intervals::Interval;
use crate::profile::Target;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use truespd_platform::text::{grouped, precise};

/// I/Os that a percentile should leave above it.
const ABOVE_MIN: f64 = 10.0;
const MIB: f64 = 1_048_576.0;

/// What a metric counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// I/Os per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// From when the time of an I/O counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From when it was issued.
    Issued,
    /// From when the rate (`-g`) wanted it: a stall that keeps I/Os from being issued is not hidden then.
    Wanted,
}

/// How a metric is read.
enum Read {
    /// From what reads, writes or both did.
    Rate(fn(&DirectionSummary) -> f64),
    /// From their latencies or response times.
    Latency(fn(&LatencySummary) -> f64),
    /// From the run, for its number of I/Os: reads and writes cannot be told apart.
    Run(fn(&Measured, u64) -> Option<f64>),
}

/// How it is read from an interval (`-D`, for completions also the run's own series).
enum PerInterval {
    Rate,
    /// From the latencies of the completions in it.
    Latency(fn(&Interval) -> f64),
    /// Intervals say nothing of it.
    Nothing,
}

/// A row of the table.
struct Row {
    /// Name in documents; never changes.
    id: &'static str,
    name: &'static str,
    about: &'static str,
    /// For people, in the middle of a sentence: of latencies, and of response times.
    words: [&'static str; 2],
    unit: Unit,
    better: Better,
    /// Part of the I/Os that lie above it, for a percentile.
    part_above: Option<f64>,
    is_compared: bool,
    read: Read,
    interval: PerInterval,
}

/// A latency, with nothing filled in.
const LATENCY: Row = Row {
    id: "",
    name: "",
    about: "",
    words: [""; 2],
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    part_above: None,
    is_compared: false,
    read: Read::Rate(|_| 0.0),
    interval: PerInterval::Nothing,
};

const TABLE: &[Row] = &[
    Row {
        id: "iops",
        name: "iops",
        about: "I/Os per second.",
        words: ["IOPS"; 2],
        unit: Unit::PerSecond,
        better: Better::Higher,
        is_compared: true,
        read: Read::Rate(|sum| sum.iops),
        interval: PerInterval::Rate,
        ..LATENCY
    },
    Row {
        id: "bytes",
        name: "bytes",
        about: "Bytes per second.",
        words: ["throughput"; 2],
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        is_compared: true,
        read: Read::Rate(|sum| sum.bytes_per_s),
        ..LATENCY
    },
    Row {
        id: "mean_latency",
        name: "latency",
        about: "Mean latency in nanoseconds.",
        words: ["mean latency", "mean response time"],
        is_compared: true,
        read: Read::Latency(|times| times.mean_ns),
        interval: PerInterval::Latency(Interval::latency_mean_ns),
        ..LATENCY
    },
    Row {
        id: "p50",
        name: "p50",
        about: "Latency that half of the I/Os stay below, in nanoseconds.",
        words: ["median latency", "median response time"],
        part_above: Some(0.5),
        read: Read::Latency(|times| times.p50_ns as f64),
        ..LATENCY
    },
    Row {
        id: "p95",
        name: "p95",
        about: "Latency that 95 % of the I/Os stay below, in nanoseconds.",
        words: ["latency at the 95th percentile", "response time at the 95th percentile"],
        part_above: Some(0.05),
        read: Read::Latency(|times| times.p95_ns as f64),
        ..LATENCY
    },
    Row {
        id: "p99",
        name: "p99",
        about: "Latency that 99 % of the I/Os stay below, in nanoseconds.",
        words: ["latency at the 99th percentile", "response time at the 99th percentile"],
        part_above: Some(0.01),
        is_compared: true,
        read: Read::Latency(|times| times.p99_ns as f64),
        ..LATENCY
    },
    Row {
        id: "p999",
        name: "p99.9",
        about: "Likewise 99.9 %.",
        words: ["latency at the 99.9th percentile", "response time at the 99.9th percentile"],
        part_above: Some(0.001),
        is_compared: true,
        read: Read::Latency(|times| times.p99_9_ns as f64),
        ..LATENCY
    },
    Row {
        id: "max_latency",
        name: "max",
        about: "Longest latency in nanoseconds.",
        words: ["longest latency", "longest response time"],
        read: Read::Latency(|times| times.max_ns as f64),
        interval: PerInterval::Latency(|interval| interval.max_ns as f64),
        ..LATENCY
    },
    Row {
        id: "processor_time",
        name: "cpu",
        about: "Processor time of the program per I/O, in nanoseconds.",
        words: ["processor time per I/O"; 2],
        is_compared: true,
        read: Read::Run(processor_time),
        ..LATENCY
    },
];

/// Processor time of the program over its threads' life, shared out over the measured time.
fn processor_time(measured: &Measured, ios: u64) -> Option<f64> {
    let evidence = &measured.evidence;
    let own = evidence.own_cost?;
    let life_ns = evidence.threads.iter().map(|thread| thread.elapsed_ns).max().filter(|&ns| ns > 0)?;
    let share = (own.user_ns + own.system_ns) as f64 / life_ns as f64;
    Some(share * measured.test_time_s * 1e9 / ios as f64)
}

/// A figure of a run.
#[derive(Clone, Copy)]
pub struct Metric(&'static Row);

/// Why a run has no figure; stands after the name of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoFigure {
    /// Which of several is meant?
    #[error("the profile has several time spans; compare one at a time")]
    SeveralSpans,
    /// The run stopped or failed before.
    #[error("the run ended before anything was measured")]
    NotMeasured,
    /// There is nothing to divide by.
    #[error("no I/O was completed in the measured time; measure longer (-d)")]
    NoIo,
    /// The run had no `-L`.
    #[error("the run measured no latencies; add -L")]
    NoLatencies,
    /// A document from before it was measured.
    #[error("the result does not contain the processor time of the run")]
    NoProcessorTime,
    /// The value of this metric is 0.
    #[error("the {0} of the run is 0, so there is no ratio")]
    Zero(&'static str),
}

#[allow(missing_docs)] // The rows of the table.
impl Metric {
    pub const IOPS: Metric = Metric::known("iops");
    pub const BYTES: Metric = Metric::known("bytes");
    pub const MEAN: Metric = Metric::known("mean_latency");
    pub const P50: Metric = Metric::known("p50");
    pub const P95: Metric = Metric::known("p95");
    pub const P99: Metric = Metric::known("p99");
    pub const P999: Metric = Metric::known("p999");
    pub const MAX: Metric = Metric::known("max_latency");
    pub const PROCESSOR_TIME: Metric = Metric::known("processor_time");

    /// The row that code names; the compiler looks for it.
    const fn known(id: &str) -> Metric {
        let mut at = 0;
        while at < TABLE.len() {
            if is_same(TABLE[at].id, id) {
                return Metric(&TABLE[at]);
            }
            at += 1;
        }
        panic!("no such metric")
    }

    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Metric> {
        TABLE.iter().map(Metric)
    }

    /// The one with this id.
    pub fn named(id: &str) -> Option<Metric> {
        Self::all().find(|metric| metric.0.id == id)
    }

    /// Those that `ab` and `study` offer.
    pub fn compared() -> impl Iterator<Item = Metric> {
        Self::all().filter(|metric| metric.0.is_compared)
    }

    /// Its name in documents and options.
    pub fn id(self) -> &'static str {
        self.0.id
    }

    /// What it is, in a sentence, for those who read its name in a document.
    pub fn about(self) -> &'static str {
        self.0.about
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// For people, in the middle of a sentence; of response times when `is_response`.
    pub fn words(self, is_response: bool) -> &'static str {
        self.0.words[usize::from(is_response)]
    }

    /// The same for the head of a column: `response time p99.9`.
    pub fn heading(self, is_response: bool) -> String {
        let times = if is_response { "response time" } else { "latency" };
        match self.0.part_above {
            Some(_) => format!("{times} {}", self.name()),
            None => self.words(is_response).to_string(),
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        self.0.unit
    }

    /// Which way is better, for comparisons.
    pub fn better(self) -> Better {
        self.0.better
    }

    /// Whether runs have to measure latencies (`-L`).
    pub fn needs_latency(self) -> bool {
        matches!(self.0.read, Read::Latency(_))
    }

    /// Whether a rate that is set (`-g`) decides it.
    pub fn is_rate(self) -> bool {
        matches!(self.0.read, Read::Rate(_))
    }

    /// A figure with its unit.
    pub fn show(self, value: f64) -> String {
        match self.unit() {
            Unit::PerSecond => precise(value),
            Unit::BytesPerSecond => format!("{} MiB/s", precise(value / MIB)),
            Unit::Nanoseconds => {
                let (scaled, unit) = match value.abs() {
                    ns if ns >= 1e6 => (value / 1e6, "ms"),
                    ns if ns >= 1e3 => (value / 1e3, "us"),
                    _ => (value, "ns"),
                };
                format!("{} {unit}", precise(scaled))
            }
        }
    }

    /// A range of figures with what they are: `43,900 to 45,200 IOPS`, `900 us to 1.20 ms mean latency`.
    pub fn show_range(self, low: f64, high: f64) -> String {
        format!("{} to {} {}", self.show(low), self.show(high), self.words(false))
    }

    /// Of what reads, writes or both did; none without latencies where it needs some, and none where it is of
    /// whole runs.
    pub fn of_sum(self, sum: &DirectionSummary, since: Since) -> Option<f64> {
        let latencies = match since {
            Since::Issued => &sum.latency,
            Since::Wanted => &sum.response,
        };
        match self.0.read {
            Read::Rate(read) => Some(read(sum)),
            Read::Latency(read) => latencies.as_ref().map(read),
            Read::Run(_) => None,
        }
    }

    /// Of latencies; none where it is something else.
    pub fn of_latencies(self, latencies: &LatencySummary) -> Option<f64> {
        match self.0.read {
            Read::Latency(read) => Some(read(latencies)),
            Read::Rate(_) | Read::Run(_) => None,
        }
    }

    /// Of a time span; none where that does not tell.
    pub fn of_span(self, measured: &Measured, operations: Operations, since: Since) -> Option<f64> {
        let summary = Summary::of(measured);
        match (&self.0.read, operations) {
            (Read::Run(read), Operations::All) => read(measured, summary.total.ios),
            (Read::Run(_), _) => None,
            (_, Operations::All) => self.of_sum(&summary.total, since),
            (_, Operations::Reads) => self.of_sum(&summary.read, since),
            (_, Operations::Writes) => self.of_sum(&summary.write, since),
        }
    }

    /// Of each interval of a time span, and the length of an interval in seconds; none where intervals do not tell.
    pub fn of_intervals(self, measured: &Measured, operations: Operations) -> Option<(Vec<f64>, f64)> {
        let read = match self.0.interval {
            PerInterval::Rate => {
                let (counts, interval_s) = completions(measured, operations);
                let rates = counts.iter().map(|count| count / interval_s).collect();
                return (interval_s > 0.0).then_some((rates, interval_s));
            }
            PerInterval::Latency(read) => read,
            PerInterval::Nothing => return None,
        };
        let mut parts = gathered(measured, operations);
        let mut sum = parts.next()?.clone();
        // A time span has one interval; a damaged document may have more.
        let interval_ns = sum.interval_ns();
        parts.filter(|part| part.interval_ns() == interval_ns).for_each(|part| sum.merge(part));
        let interval_s = interval_ns as f64 / 1e9;
        Some((sum.series()[..sum.valid()].iter().map(read).collect(), interval_s))
    }

    /// Whether the figure of this run is one of response times. With rates on some targets only, response
    /// times would be those of some I/Os.
    pub fn is_response(self, document: &Document) -> bool {
        let mut measured = document.measured().peekable();
        self.needs_latency()
            && measured.peek().is_some()
            && measured.all(|measured| Summary::of(measured).total.response.is_some())
            && is_paced(document)
    }

    /// Of a run with one time span; always above 0.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(self, document: &Document) -> Result<f64, NoFigure> {
        self.of_run(&Ran::of(document)?)
    }

    /// All metrics that a run with one time span has; none where it has no I/O.
    pub fn all_of(document: &Document) -> Vec<(Metric, f64)> {
        let Ok(ran) = Ran::of(document) else { return Vec::new() };
        Metric::all().filter_map(|metric| Some((metric, metric.of_run(&ran).ok()?))).collect()
    }

    fn of_run(self, ran: &Ran<'_>) -> Result<f64, NoFigure> {
        let since = if self.needs_latency() { ran.since } else { Since::Issued };
        let value = match self.0.read {
            Read::Run(read) => read(ran.measured, ran.total.ios).ok_or(NoFigure::NoProcessorTime)?,
            _ => self.of_sum(&ran.total, since).ok_or(NoFigure::NoLatencies)?,
        };
        if value > 0.0 && value.is_finite() { Ok(value) } else { Err(NoFigure::Zero(self.words(false))) }
    }

    /// What a run of so many I/Os cannot tell.
    pub fn doubt(self, ios: u64) -> Option<String> {
        let above = self.0.part_above? * ios as f64;
        (above < ABOVE_MIN).then(|| {
            format!(
                "a run has {} I/Os, and only {} of them are above the {}: measure longer (--seconds)",
                precise(ios as f64),
                precise(above.floor()),
                self.words(false)
            )
        })
    }
}

/// A run with one time span, as metrics read it: its latencies are added up once for all of them.
struct Ran<'a> {
    measured: &'a Measured,
    total: DirectionSummary,
    since: Since,
}

impl<'a> Ran<'a> {
    fn of(document: &'a Document) -> Result<Self, NoFigure> {
        let mut spans = document.time_spans.iter();
        let measured = match (spans.next(), spans.next()) {
            (Some(TimeSpanResult::Measured(measured)), None) => measured,
            (Some(TimeSpanResult::Measured(_)), Some(_)) => return Err(NoFigure::SeveralSpans),
            _ => return Err(NoFigure::NotMeasured),
        };
        let total = Summary::of(measured).total;
        if total.ios == 0 {
            return Err(NoFigure::NoIo);
        }
        let has_response = total.response.is_some() && is_paced(document);
        let since = if has_response { Since::Wanted } else { Since::Issued };
        Ok(Ran { measured, total, since })
    }
}

/// `43,900 to 45,200 IOPS (31 runs)`; nothing where a later version had a metric that this one has not.
pub fn usual_words(usual: &Usual) -> Option<String> {
    let range = Metric::named(&usual.metric)?.show_range(usual.low, usual.high);
    Some(format!("{range} ({} runs)", grouped(usual.runs)))
}

/// Whether every target has a rate (`-g`).
pub fn is_paced(document: &Document) -> bool {
    let mut targets = document.profile.targets().peekable();
    targets.peek().is_some() && targets.all(Target::is_rate_limited)
}

/// Completions per interval over the measured time, with the interval's length in seconds: the run's own
/// series, or that of `-D` in documents without one. Empty when there is neither.
pub fn completions(measured: &Measured, operations: Operations) -> (Vec<f64>, f64) {
    if let Some(series) = measured.evidence.series.as_ref().filter(|series| series.interval_ns > 0) {
        let mut sums = vec![0.0; series.reads.len().max(series.writes.len())];
        for (list, other) in [(&series.reads, Operations::Writes), (&series.writes, Operations::Reads)] {
            if operations != other {
                sums.iter_mut().zip(list).for_each(|(sum, count)| *sum += *count as f64);
            }
        }
        return (sums, series.interval_ns as f64 / 1e9);
    }
    let (mut sums, mut interval_ns): (Vec<f64>, u64) = (Vec::new(), 0);
    for intervals in gathered(measured, operations) {
        interval_ns = intervals.interval_ns();
        let length = intervals.series().len();
        sums.resize(sums.len().max(length), 0.0);
        for (sum, interval) in sums.iter_mut().zip(intervals.series()) {
            *sum += interval.count as f64;
        }
    }
    let interval_s = interval_ns as f64 / 1e9;
    if interval_s > 0.0 {
        // One that the end cut short says nothing.
        let seconds = if measured.test_time_s.is_finite() { measured.test_time_s.max(0.0) } else { 0.0 };
        sums.truncate((seconds / interval_s + 1e-6) as usize);
    }
    (sums, interval_s)
}

/// What was gathered per thread and target (`-D`).
pub(super) fn gathered(
    measured: &Measured,
    operations: Operations,
) -> impl Iterator<Item = &crate::measure::Intervals> {
    let directions = measured.targets().flat_map(move |target| target.directions(operations));
    directions.filter_map(|direction| direction.intervals.as_ref())
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

impl PartialEq for Metric {
    fn eq(&self, other: &Metric) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Metric {}

impl Default for Metric {
    fn default() -> Self {
        Metric::IOPS
    }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Cow::<'de, str>::deserialize(deserializer)?;
        Metric::named(&id).ok_or_else(|| de::Error::custom(format!("unknown metric `{id}`")))
    }
}

/// What is summed in each interval, and what it is divided by, so that the sums give the metric of the run;
/// `None` where intervals do not tell: of percentiles, the maximum and the processor time, and of latencies
/// without `-D`.
pub fn parts(metric: Metric, measured: &Measured) -> Option<Vec<Part>> {
    if metric == Metric::MEAN {
        return latencies(measured);
    }
    let [of_read, of_write] = match metric {
        of if of == Metric::IOPS => [1.0, 1.0],
        of if of == Metric::BYTES => {
            [mean_bytes(measured, |target| &target.read), mean_bytes(measured, |target| &target.write)]
        }
        _ => return None,
    };
    let (reads, interval_s) = completions(measured, Operations::Reads);
    let (writes, _) = completions(measured, Operations::Writes);
    let mut parts = vec![Part { sum: 0.0, weight: interval_s }; reads.len().max(writes.len())];
    for (counts, of_each) in [(reads, of_read), (writes, of_write)] {
        parts.iter_mut().zip(counts).for_each(|(part, count)| part.sum += count * of_each);
    }
    (interval_s > 0.0 && !parts.is_empty()).then_some(parts)
}

/// Bytes of a read, or of a write; 0 without any.
fn mean_bytes(measured: &Measured, of: fn(&super::TargetResult) -> &Direction) -> f64 {
    let directions = measured.threads.iter().flat_map(|thread| &thread.targets).map(of);
    let (bytes, ios) = directions.fold((0, 0), |(bytes, ios), one| (bytes + one.bytes, ios + one.ios));
    if ios > 0 { bytes as f64 / ios as f64 } else { 0.0 }
}

fn latencies(measured: &Measured) -> Option<Vec<Part>> {
    let mut all = gathered(measured, Operations::All);
    let mut sum = all.next()?.clone();
    let interval_ns = sum.interval_ns();
    all.filter(|one| one.interval_ns() == interval_ns).for_each(|one| sum.merge(one));
    let intervals = sum.series()[..sum.valid()].iter();
    let parts: Vec<Part> =
        intervals.map(|all| Part { sum: all.sum_ns as f64, weight: all.count as f64 }).collect();
    // Without -L the intervals hold counts only.
    parts.iter().any(|part| part.sum > 0.0).then_some(parts)
}

#[cfg(test)]
mod tests_of_metrics {
    use super::*;
    use crate::measure::{Histogram, Intervals};
    use crate::result::{Direction, TargetResult, ThreadResult, Timeline, WaitStatistics};

    fn direction(ios: u64, ns: u64) -> Direction {
        let (mut latency, mut intervals) =
            (Histogram::default(), Intervals::new(1_000_000_000, 2_000_000_000));
        for number in 0..ios {
            latency.record(ns);
            intervals.record(number * 2_000_000_000 / ios, ns);
        }
        let (latency, intervals) = (Some(Box::new(latency)), Some(intervals));
        Direction { bytes: ios * 4096, ios, latency, intervals, ..Direction::default() }
    }

    fn measured() -> Measured {
        let target = TargetResult {
            path: "f".into(),
            size_bytes: 1 << 20,
            read: direction(100, 2000),
            write: direction(50, 8000),
            distribution: None,
            short_transfers: 0,
            ..TargetResult::default()
        };
        let waits = WaitStatistics::default();
        Measured {
            test_time_s: 2.0,
            threads: vec![ThreadResult { id: 0, source: None, targets: vec![target], waits }],
            ..Measured::default()
        }
    }

    #[test]
    fn names_are_unique() {
        for pick in [Metric::id, Metric::name] {
            let mut names: Vec<&str> = Metric::all().map(pick).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), TABLE.len());
        }
        let json = serde_json::to_string(&Metric::P999).unwrap();
        assert_eq!(
            (json.as_str(), serde_json::from_str::<Metric>(&json).unwrap()),
            ("\"p999\"", Metric::P999)
        );
        assert!(serde_json::from_str::<Metric>("\"speed\"").is_err());
    }

    #[test]
    fn reads_and_writes_are_read_alike() {
        let measured = measured();
        let of = |metric: Metric, operations| metric.of_span(&measured, operations, Since::Issued);
        assert_eq!(of(Metric::IOPS, Operations::All), Some(75.0));
        assert_eq!(of(Metric::BYTES, Operations::Writes), Some(25.0 * 4096.0));
        assert!((of(Metric::MEAN, Operations::All).unwrap() - 4000.0).abs() < 10.0);
        assert!((of(Metric::P50, Operations::Reads).unwrap() - 2000.0).abs() < 10.0);
        assert!((of(Metric::MAX, Operations::Writes).unwrap() - 8000.0).abs() < 10.0);
        assert_eq!(of(Metric::PROCESSOR_TIME, Operations::Reads), None);
        assert_eq!(Metric::P95.of_span(&measured, Operations::All, Since::Wanted), None);
    }

    #[test]
    fn intervals_are_read_where_they_tell() {
        let mut measured = measured();
        let of = |measured: &Measured, metric: Metric, operations| metric.of_intervals(measured, operations);
        assert_eq!(of(&measured, Metric::IOPS, Operations::All), Some((vec![75.0, 75.0], 1.0)));
        assert_eq!(of(&measured, Metric::MEAN, Operations::All), Some((vec![4000.0, 4000.0], 1.0)));
        assert_eq!(of(&measured, Metric::MAX, Operations::Reads), Some((vec![2000.0, 2000.0], 1.0)));
        assert_eq!(of(&measured, Metric::P99, Operations::All), None);
        let (reads, writes) = (vec![10, 20], vec![1, 2]);
        measured.evidence.series = Some(Timeline { interval_ns: 500_000_000, reads, writes });
        assert_eq!(of(&measured, Metric::IOPS, Operations::All), Some((vec![22.0, 44.0], 0.5)));
        assert_eq!(of(&measured, Metric::IOPS, Operations::Writes), Some((vec![2.0, 4.0], 0.5)));
        assert_eq!(of(&Measured::default(), Metric::IOPS, Operations::All), None);
        assert_eq!(of(&Measured::default(), Metric::MEAN, Operations::All), None);
    }
}

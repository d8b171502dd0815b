//! The document of `truespd mark`: one versioned record, as JSON in and out.
//!
//! Within a version members are only added, and each of those may be missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operation, Planned, Settings, Target, Test};
use crate::suite::SuiteDocument;
use crate::suite::figures::Spread;
use crate::suite::findings::SeriesVerdict;
use truespd_core::profile;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Finding, Grade, Part, Summary};

/// What was measured, where and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct MarkReport {
    /// Version of the tool.
    pub tool_version: String,
    /// Where and when.
    pub host: Host,
    /// What the tests went to.
    pub place: Storage,
    /// What was asked for.
    pub settings: Settings,
    /// One per test and part, in order; also those that were not reached.
    pub rows: Vec<Row>,
    /// What the verdicts of all runs that count say.
    pub verdict: SeriesVerdict,
    /// Whether nothing is missing: neither stopped nor failed.
    pub is_complete: bool,
}

/// The machine and the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub computer_name: String,
    /// The system's name for people, e.g. `Debian GNU/Linux 13 (trixie)`.
    pub system: String,
    /// Release of the kernel.
    pub kernel_release: String,
    /// Architecture, e.g. `x86_64`.
    pub architecture: String,
    /// Whether root ran it.
    pub is_root: bool,
    /// When it ended, local time, as `yyyy-mm-ddThh:mm:ss`.
    pub local_time: String,
    /// The same in seconds since 1970 UTC.
    pub unix_s: Option<i64>,
}

/// What the tests went to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct Storage {
    /// Absolute path of the directory or device.
    pub path: String,
    /// Whether it is a device.
    pub is_device: bool,
    /// Size of the file system or device in bytes, where known.
    pub size_bytes: Option<u64>,
    /// Bytes used of the file system before the test; none for a device.
    pub used_bytes: Option<u64>,
}

/// One test with what it does, and its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The test.
    pub test: Test,
    /// What it does.
    pub part: Operation,
    /// The words of DiskSpd's command line of its first loop; the others have another seed (`-z`).
    pub words: Vec<String>,
    /// Hash of the profile of its runs, by which the history knows the same test; none in documents from
    /// before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The run before those that count.
    pub discarded: Option<Loop>,
    /// The runs that count, in order.
    pub loops: Vec<Loop>,
    /// What follows from them; none without any.
    pub outcome: Option<Outcome>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loop {
    /// Bytes per second, reads and writes together.
    pub bytes_per_s: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency in nanoseconds.
    pub latency_mean_ns: f64,
    /// Half of the I/Os took no longer, in nanoseconds.
    pub latency_p50_ns: u64,
    /// 99 % of the I/Os took no longer, in nanoseconds.
    pub latency_p99_ns: u64,
    /// The longest, in nanoseconds.
    pub latency_max_ns: u64,
    /// How far it can be trusted.
    pub grade: Grade,
    /// What the rules found, worst first.
    pub findings: Vec<Finding>,
}

/// A figure and where a loop has it.
type OfLoop = (Metric, fn(&Loop) -> f64);

/// What the history keeps of the loops.
const FIGURES: [OfLoop; 6] = [
    (Metric::IOPS, |run| run.iops),
    (Metric::BYTES, |run| run.bytes_per_s),
    (Metric::MEAN, |run| run.latency_mean_ns),
    (Metric::P50, |run| run.latency_p50_ns as f64),
    (Metric::P99, |run| run.latency_p99_ns as f64),
    (Metric::MAX, |run| run.latency_max_ns as f64),
];

/// What the loops of a test say together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// CrystalDiskMark's result: the largest rate.
    pub best_bytes_per_s: f64,
    /// CrystalDiskMark's IOPS: that rate divided by the block size.
    pub best_iops: f64,
    /// CrystalDiskMark's latency: the smallest mean, perhaps of another loop.
    pub best_latency_mean_ns: f64,
    /// Rates of all loops.
    pub bytes_per_s: Spread,
    /// Mean latencies of all loops.
    pub latency_mean_ns: Spread,
    /// The worst verdict of all loops.
    pub grade: Grade,
}

impl Host {
    /// This one, now.
    pub fn this() -> Self {
        use truespd_core::machine::host;
        Host {
            computer_name: host::host_name(),
            system: host::system_name(),
            kernel_release: host::kernel_release(),
            architecture: std::env::consts::ARCH.to_string(),
            is_root: host::is_root(),
            local_time: host::local_time_now(),
            unix_s: host::unix_time_s(),
        }
    }
}

impl MarkReport {
    /// The report of `rows`.
    pub fn new(host: Host, place: Storage, settings: Settings, rows: Vec<Row>, is_complete: bool) -> Self {
        let mut verdict = SeriesVerdict::default();
        for row in &rows {
            row.loops.iter().for_each(|run| verdict.take(&row.label(), Some(run.grade), &run.findings));
        }
        verdict.advise(advice);
        let tool_version = env!("CARGO_PKG_VERSION").to_string();
        MarkReport { tool_version, host, place, settings, rows, verdict, is_complete }
    }
}

impl SuiteDocument for MarkReport {
    fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.outcome.is_some())
    }

    fn grade(&self) -> Option<Grade> {
        self.verdict.grade
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn parts(&self) -> Vec<Part> {
        self.rows.iter().filter_map(Row::part).collect()
    }
}

/// Advice in options of this suite.
fn advice(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "too-short" | "not-steady" | "step-down" | "warm-up-short" => "use --measure 60",
        "working-set" => "use --size 20G, or another size much larger than the caches",
        "zero-data" | "reducible-reads" | "reducible-writes" => "use --data random",
        "generator-bound" => "stop other programs that use the processors, and repeat",
        "queue-depth" => {
            "use a test with more threads and a smaller queue depth each, e.g. --test RND4K-Q8T4"
        }
        "volatile-cache" => {
            "this is how CrystalDiskMark measures; for durable writes, run the commands of --print with -Sh instead of -Su"
        }
        _ => return None,
    })
}

impl Row {
    /// A test without runs yet.
    pub(super) fn new(planned: Planned, settings: &Settings, target: &Target) -> Self {
        Row {
            test: planned.test,
            part: planned.part,
            words: settings.words(planned, 1, target),
            profile: None,
            discarded: None,
            loops: Vec::new(),
            outcome: None,
        }
    }

    pub(super) fn planned(&self) -> Planned {
        Planned { test: self.test, part: self.part }
    }

    /// `write RND4K-Q32T1`.
    pub fn label(&self) -> String {
        format!("{} {}", self.part.word(), self.test)
    }

    /// The medians of its loops.
    fn part(&self) -> Option<Part> {
        let median =
            |read: fn(&Loop) -> f64| Spread::of(self.loops.iter().map(read)).map(|spread| spread.median);
        let figures = FIGURES.map(|(metric, read)| (metric, median(read)));
        Part::of(self.label(), self.profile.as_deref(), &self.words, figures)
    }

    /// Takes the document of a run.
    pub(super) fn put(&mut self, number: u32, document: &Document) {
        let run = Loop::of(document);
        if number == Settings::DISCARDED {
            self.discarded = run;
            return;
        }
        self.loops.extend(run);
        self.profile = Some(profile::hash(&document.profile));
        self.outcome = Outcome::of(&self.loops, self.test.block_bytes);
    }
}

impl Loop {
    /// Of a document with one time span; `None` when nothing was measured.
    fn of(document: &Document) -> Option<Self> {
        let total = Summary::of(document.measured().next()?).total;
        let read = |metric: Metric| metric.of_sum(&total, Since::Issued);
        let verdict = document.verdict.clone().unwrap_or_default();
        Some(Loop {
            bytes_per_s: read(Metric::BYTES)?,
            iops: read(Metric::IOPS)?,
            latency_mean_ns: read(Metric::MEAN)?,
            latency_p50_ns: read(Metric::P50)? as u64,
            latency_p99_ns: read(Metric::P99)? as u64,
            latency_max_ns: read(Metric::MAX)? as u64,
            grade: verdict.grade,
            findings: verdict.findings,
        })
    }
}

impl Outcome {
    fn of(loops: &[Loop], block_bytes: u64) -> Option<Self> {
        let bytes_per_s = Spread::of(loops.iter().map(|run| run.bytes_per_s))?;
        let latency_mean_ns = Spread::of(loops.iter().map(|run| run.latency_mean_ns))?;
        Some(Outcome {
            best_bytes_per_s: bytes_per_s.max,
            best_iops: bytes_per_s.max / block_bytes as f64,
            best_latency_mean_ns: latency_mean_ns.min,
            bytes_per_s,
            latency_mean_ns,
            grade: loops.iter().map(|run| run.grade).max()?,
        })
    }
}

impl DocumentKind for MarkReport {
    const FORMAT: &'static str = "truespd-mark";
    const MEMBER: &'static str = "mark";
    const MEMBER_ABOUT: &'static str = "The result.";
    const TITLE: &'static str = "TrueSpd mark, version 1";
    const ABOUT: &'static str =
        "The result of `truespd mark`, version 1. Units are at the end of names: `_ns`, `_bytes`, `_s`.";
    const NAME: &'static str = "result of truespd mark";
}

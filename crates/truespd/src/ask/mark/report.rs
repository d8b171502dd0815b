//! The document of a mark: its runs, what follows from them, and how it is made.

use super::test::{Operation, Pattern, Planned, Settings, Target, Test};
use crate::answer::{Advice, SeriesVerdict};
use crate::ask::{Common, RanOn, Spread, counting_cached_writes, is_one, one_rank};
use crate::runner::rounds::Measured;
use crate::runner::{Ahead, Draft, Ended, Kind, Length, Runner, run_steps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use truespd_core::profile;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Finding, Grade, OverRuns, Part, Summary};

/// Name of the test file in the suite's folder.
pub const FILE: &str = "data";

/// Read shares that CrystalDiskMark offers for mixed tests, in percent.
pub const MIX_READ_PERCENT: [u32; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];
/// What it mixes when nothing is said.
pub const MIX_READ_PERCENT_DEFAULT: u32 = 70;

/// Random data for writes, each from another place in it. CrystalDiskMark's data is only as large as a block,
/// so that it writes one block everywhere. Fresh data for each write (`-Zr`) would take time between the I/Os
/// of depth 1.
const SOURCE_WORD: &str = "-Z64M";
/// Starting, looking at the file and ending a run, in seconds.
const AROUND_A_RUN_S: f64 = 0.5;

impl Settings {
    /// All tests in CrystalDiskMark's order: all of a part before the next part.
    pub fn planned(&self) -> Vec<Planned> {
        let mut all = Vec::new();
        for &part in &self.parts {
            all.extend(self.tests.iter().map(|&test| Planned { test, part }));
        }
        all
    }

    /// Number of the run that does not count, as [`Settings::words`] wants it.
    pub const DISCARDED: u32 = 0;

    /// The words of DiskSpd's command line for one run of a test.
    pub fn words(&self, planned: Planned, number: u32, target: &Target) -> Vec<String> {
        let Planned { test, part } = planned;
        let (block, unit) = test.block();
        let write_percent = match part {
            Operation::Read => 0,
            Operation::Write => 100,
            Operation::Mix => 100 - self.mix_read_percent,
        };
        let (Target::File(path) | Target::Device(path)) = target;
        let is_device = matches!(target, Target::Device(_));
        // In every line: a resumed series may skip the first run, which would otherwise create the file.
        let mut words = vec![format!("-{}{}M", if is_device { 'f' } else { 'c' }, self.size_bytes >> 20)];
        if !is_device || part != Operation::Read {
            words.push(if self.zero_data { "-Z" } else { SOURCE_WORD }.into());
        }
        words.extend([
            format!("-b{block}{unit}"),
            format!("-o{}", test.queues),
            format!("-t{}", test.threads),
            format!("-w{write_percent}"),
        ]);
        let pattern = match (test.pattern, test.threads) {
            (Pattern::Random, _) => "-r",
            // Threads that each go through the file from its beginning would mostly meet what another has just read.
            (Pattern::Sequential, 2..) => "-si",
            (Pattern::Sequential, _) => "-s",
        };
        words.push(pattern.into());
        // Without another seed, every loop would repeat the same I/Os, which a cache below may still hold.
        words.push(format!("-z{}", number + 1));
        // The kernel places the threads, as it does those of other programs.
        words.extend(["-n", if self.is_durable { "-Sh" } else { "-Su" }, "-L", "-W0"].map(String::from));
        words.extend([format!("-d{}", self.measure_s), path.clone()]);
        words
    }

    fn step(&self, planned: Planned, number: u32, target: &Target) -> Draft {
        let (kind, which) = match number {
            Self::DISCARDED => (Kind::Discarded, Kind::Discarded.name().to_string()),
            number => (Kind::Counts, format!("{number} of {}", self.loops)),
        };
        Draft {
            name: format!("{} {}, {which}", planned.test, planned.part.word()),
            words: self.words(planned, number, target),
            length: kind.lasting(Length::measured(f64::from(self.measure_s), AROUND_A_RUN_S)),
            kind,
            pause: None,
        }
    }

    /// Runs everything, in order. What was measured comes back however it ends.
    pub fn run(&self, target: &Target, runner: &mut dyn Runner) -> (Vec<Row>, Result<(), Ended>) {
        let (mut rows, mut steps) = (Vec::new(), Vec::new());
        for planned in self.planned() {
            for number in Self::DISCARDED..=self.loops {
                steps.push(self.step(planned, number, target));
            }
            rows.push(Row::new(planned, self, target));
        }
        let runs = self.loops as usize + 1;
        for first in steps.iter_mut().step_by(runs).skip(1) {
            first.pause = Some(Duration::from_secs(self.interval_s.into()));
        }
        let ended = run_steps(&steps, runner, Ahead::exactly, |place, document| {
            let (row, number) = (&mut rows[place / runs], place % runs);
            row.put(number as u32, document);
            let best = row.outcome.as_ref()?;
            let (mb, us) = (best.best_bytes_per_s / 1e6, best.best_latency_mean_ns / 1e3);
            let (label, loops) = (row.label(), row.loops.len());
            let words = format!("{label}: {mb:.3} MB/s, {us:.2} us, the best of {loops}");
            (number + 1 == runs).then_some(words)
        });
        (rows, ended)
    }
}

/// What was measured, where and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct MarkReport {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
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
    /// Host name: in a cluster run, that of rank 0.
    pub computer_name: String,
    /// Ranks of a cluster run that measured together; 1 without a cluster.
    #[serde(default = "one_rank", skip_serializing_if = "is_one")]
    pub ranks: u32,
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
    /// Models of the disks below it, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
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
    /// The host that this program runs on, where so many ranks measured together.
    pub fn this(ranks: u32) -> Self {
        use truespd_platform::machine::host;
        Host {
            computer_name: host::host_name(),
            ranks,
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
    pub fn new(host: Host, place: Storage, settings: Settings, rows: Vec<Row>, is_complete: bool) -> Self {
        let mut verdict = SeriesVerdict::default();
        for row in &rows {
            for run in &row.loops {
                verdict.take(&row.label(), Some(run.grade), &run.findings);
            }
        }
        verdict.advise(ADVICE);
        let ran_on = RanOn {
            computer_name: host.computer_name.clone(),
            ranks: host.ranks,
            targets: vec![place.path.clone()],
            models: place.models.clone(),
        };
        MarkReport {
            common: Common { ran_on, ..Common::default() },
            host,
            place,
            settings,
            rows,
            verdict,
            is_complete,
        }
    }

    /// Rows with fewer runs than loops, and how many are missing. A stopped series lacks runs for another reason, which
    /// is told elsewhere.
    pub fn rows_with_empty_runs(&self) -> Vec<(String, usize)> {
        let mut rows = Vec::new();
        for row in &self.rows {
            let empty = (self.settings.loops as usize).saturating_sub(row.loops.len());
            if self.is_complete && empty > 0 {
                rows.push((row.label(), empty));
            }
        }
        rows
    }
}

/// Advice in options of this suite.
const ADVICE: Advice = &[
    (&["too-short", "not-steady", "step-down", "warm-up-short"], "use --measure 60"),
    (&["working-set"], "use --size 20G, or another size much larger than the caches"),
    (&["zero-data", "reducible-reads", "reducible-writes"], "use --data random"),
    (&["generator-bound"], "stop other programs that use the processors, and repeat"),
    (&["queue-depth"], "use a test with more threads and a smaller queue depth each, e.g. --test RND4K-Q8T4"),
];

impl Row {
    /// A test without runs yet.
    fn new(planned: Planned, settings: &Settings, target: &Target) -> Self {
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

    pub fn label(&self) -> String {
        format!("{} {}", self.part.word(), self.test)
    }

    /// The medians of its loops.
    pub(super) fn part(&self) -> Option<Part> {
        let figures = FIGURES.map(|(metric, read)| {
            let values: Vec<f64> = self.loops.iter().map(read).collect();
            let interval = Measured::of(&values).map(|measured| [measured.low, measured.high]);
            (metric, Spread::of(values).map(|spread| OverRuns { value: spread.median, interval }))
        });
        let part = Part::of(self.label(), self.profile.as_deref(), &self.words, figures)?;
        let grade = self.outcome.as_ref().map(|outcome| outcome.grade);
        Some(part.at("test", self.test).at("operation", self.part.word()).of_runs(self.loops.len(), grade))
    }

    /// Takes the document of a run.
    fn put(&mut self, number: u32, document: &Document) {
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
        let read = [Metric::BYTES, Metric::IOPS, Metric::MEAN, Metric::P50, Metric::P99, Metric::MAX]
            .map(|metric| metric.of_sum(&total, Since::Issued));
        let [Some(bytes_per_s), Some(iops), Some(latency_mean_ns), Some(p50), Some(p99), Some(max)] = read
        else {
            return None;
        };
        let findings = counting_cached_writes(document);
        Some(Loop {
            bytes_per_s,
            iops,
            latency_mean_ns,
            latency_p50_ns: p50 as u64,
            latency_p99_ns: p99 as u64,
            latency_max_ns: max as u64,
            grade: Grade::of(&findings),
            findings,
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

//! `truespd assess`: the tests of winsat disk, its labels, and Microsoft's limits.
//!
//! What is public of winsat: block sizes, order, labels, units and what the flush tests are for. The number
//! of I/Os, the queue depth, the file's size and how often it flushes are not; they are chosen here and told
//! under the table.

#[cfg(test)]
mod tests;

use crate::answer::{Advice, SeriesVerdict, Shown, doubt, doubts_text};
use crate::suite::rounds::AROUND_S;
use crate::suite::{
    Ahead, Draft, Ended, Length, RanOn, Runner, SuiteDocument, VOLATILE_CACHE, counting_cached_writes,
    run_steps,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::profile;
use truespd_core::profile::{CacheMode, Profile, Target, Throughput, TimeSpan, xml};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Since, Unit};
use truespd_core::result::schema;
use truespd_core::result::{Document, Grade, Part, Summary};
use truespd_front::show::plural;
use truespd_platform::text::{hanging, size, wrap};

/// Size of the file unless told otherwise: at the 20 MB/s that Microsoft asked for, writing it takes 54 of the 120 s.
pub const FILE_BYTES: u64 = 1 << 30;
/// The smallest file or device.
pub const SIZE_MIN_BYTES: u64 = 16 << 20;
const FLUSH_REGION_BYTES: u64 = 1 << 20;
/// Rules that say nothing about reads beside flushes.
const BESIDE_FLUSHES: [&str; 2] = [VOLATILE_CACHE, "working-set"];
/// Before every measurement, in seconds.
const WARMUP_S: u32 = 1;

impl Plan {
    /// The runs. `profile_path` tells where the profile for a test is going to be.
    pub fn parts(&self, profile_path: impl Fn(Test) -> String) -> Vec<TestRun> {
        let mut parts = Vec::new();
        for &test in &self.tests {
            let (words, profile) = if test.is_flush() {
                let words = vec![format!("-X{}", profile_path(test)), self.target.clone()];
                (words, Some(xml::write(&self.flush_profile(test), 0)))
            } else {
                (self.throughput_words(test), None)
            };
            let length = Length::measured(f64::from(self.seconds_of(test)), f64::from(WARMUP_S) + AROUND_S);
            let step = Draft { name: test.name(), words, length, ..Draft::default() };
            parts.push(TestRun { test, step, profile });
        }
        parts
    }

    fn seconds_of(&self, test: Test) -> u32 {
        if test.is_flush() { self.seconds.saturating_mul(2) } else { self.seconds }
    }

    fn block_bytes(&self, test: Test) -> u64 {
        if test.is_random() { self.random_bytes } else { self.sequential_bytes }
    }

    fn throughput_words(&self, test: Test) -> Vec<String> {
        let size = if self.is_made { "-c" } else { "-f" };
        let pattern = if test.is_random() { "-r" } else { "-s" };
        let write = if test.writes() { "-w100" } else { "-w0" };
        // Not pinned: at one I/O at a time the processor that takes the interrupt is the best one.
        let line = format!(
            "{size}{} -b{} {pattern} {write} -o1 -t1 -n -Su -Zr -L -W{WARMUP_S} -d{}",
            self.size_bytes,
            self.block_bytes(test),
            self.seconds_of(test)
        );
        line.split(' ').map(str::to_string).chain([self.target.clone()]).collect()
    }

    /// A reader in the first half, whose reads are timed; a writer in the rest, as fast as the drive takes
    /// it; and small writes at the end, each of which the page cache takes, writes out and follows with a
    /// flush of the drive's cache (`O_DSYNC` without `O_DIRECT`: what `fdatasync` does, and unlike a direct
    /// write never FUA alone).
    fn flush_profile(&self, test: Test) -> Profile {
        let half = self.size_bytes / 2 / FLUSH_REGION_BYTES * FLUSH_REGION_BYTES;
        let flushed = (self.size_bytes - FLUSH_REGION_BYTES) / FLUSH_REGION_BYTES * FLUSH_REGION_BYTES;
        let common = Target {
            path: "*1".into(),
            request_count: 1,
            create_bytes: self.is_made.then_some(self.size_bytes),
            ..Target::default()
        };
        let reader = Target {
            block_bytes: self.random_bytes,
            random_percent: 100,
            cache: CacheMode::DisableOsCache,
            max_bytes: half,
            ..common.clone()
        };
        let writer = Target {
            block_bytes: self.block_bytes(test),
            random_percent: if test.is_random() { 100 } else { 0 },
            cache: CacheMode::DisableOsCache,
            base_bytes: half,
            max_bytes: flushed,
            write_percent: 100,
            ..common.clone()
        };
        let flusher = Target {
            block_bytes: FLUSHED_WRITE_BYTES,
            cache: CacheMode::Cached,
            write_through: true,
            base_bytes: flushed,
            max_bytes: flushed + FLUSH_REGION_BYTES,
            write_percent: 100,
            throughput: Some(Throughput::Iops(FLUSHES_PER_S)),
            ..common
        };
        let span = TimeSpan {
            measure_latency: true,
            disable_affinity: true,
            random_write_data: true,
            warmup_s: WARMUP_S,
            duration_s: self.seconds_of(test),
            targets: vec![reader, writer, flusher],
            ..TimeSpan::default()
        };
        Profile { time_spans: vec![span], ..Profile::default() }
    }

    /// Runs the parts. What is done when it ends early is in the assessment.
    pub fn run(&self, parts: &[TestRun], runner: &mut dyn Runner) -> (Assessment, Result<(), Ended>) {
        let steps: Vec<Draft> = parts.iter().map(|part| part.step.clone()).collect();
        let mut assessment = Assessment::begin(self);
        let result = run_steps(&steps, runner, Ahead::exactly, |place, document| {
            assessment.take(parts[place].test, document);
            None
        });
        (assessment, result)
    }
}

impl Assessment {
    /// Puts what a run measured where its figures stand.
    fn take(&mut self, test: Test, document: &Document) {
        let mut findings = counting_cached_writes(document);
        // Whether the writes are durable does not matter for the latency of the reads, and only the small writes
        // use the page cache.
        findings.retain(|finding| !test.is_flush() || !BESIDE_FLUSHES.contains(&finding.rule.as_str()));
        let grade = document.verdict.as_ref().map(|_| Grade::of(&findings));
        let Some(measured) = document.measured().next().map(Summary::of) else { return };
        let mut has_value = false;
        for figure in self.figures.iter_mut().filter(|figure| figure.test == test.words()) {
            figure.value = figure.metric.and_then(|metric| value(metric, test, &measured));
            figure.profile = figure.value.map(|_| profile::hash(&document.profile));
            figure.grade = figure.value.and(grade);
            has_value |= figure.value.is_some();
        }
        if has_value {
            self.verdict.take(&test.name(), grade, &findings);
            self.verdict.advise(ADVICE);
        }
    }
}

/// In the unit of winsat: millions of bytes per second, or milliseconds.
fn value(metric: Metric, test: Test, summary: &Summary) -> Option<f64> {
    let direction = if test.writes() && !test.is_flush() { &summary.write } else { &summary.read };
    if direction.ios == 0 {
        return None;
    }
    Some(metric.of_sum(direction, Since::Issued)? / 1e6)
}

/// Block size of random tests unless told otherwise.
pub const RANDOM_BYTES: u64 = 16 << 10;

/// Block size of sequential tests unless told otherwise.
pub const SEQUENTIAL_BYTES: u64 = 64 << 10;

/// How often the drive's cache is flushed while reads are timed.
pub const FLUSHES_PER_S: u64 = 10;

/// Bytes of a write that ends with a flush.
const FLUSHED_WRITE_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    RandomRead,
    SequentialRead,
    RandomWrite,
    SequentialWrite,
    FlushSequential,
    FlushRandom,
}

impl Test {
    /// The formal set in winsat's order.
    pub const FORMAL: [Test; 5] = [
        Test::RandomRead,
        Test::SequentialRead,
        Test::SequentialWrite,
        Test::FlushSequential,
        Test::FlushRandom,
    ];

    pub fn writes(self) -> bool {
        !matches!(self, Test::RandomRead | Test::SequentialRead)
    }

    fn is_random(self) -> bool {
        matches!(self, Test::RandomRead | Test::RandomWrite | Test::FlushRandom)
    }

    fn is_flush(self) -> bool {
        matches!(self, Test::FlushSequential | Test::FlushRandom)
    }

    pub fn words(self) -> &'static str {
        match self {
            Test::RandomRead => "-ran -read",
            Test::SequentialRead => "-seq -read",
            Test::RandomWrite => "-ran -write",
            Test::SequentialWrite => "-seq -write",
            Test::FlushSequential => "-flush -seq",
            Test::FlushRandom => "-flush -ran",
        }
    }

    /// Its name for people and documents: `ran read`.
    fn name(self) -> String {
        self.words().trim_start_matches('-').replace(" -", " ")
    }
}

/// What is tested and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The file or device, as a word of the command line.
    pub target: String,
    /// Bytes of it that are used.
    pub size_bytes: u64,
    /// It is a file to be made.
    pub is_made: bool,
    pub tests: Vec<Test>,
    /// Block size of random tests.
    pub random_bytes: u64,
    /// Block size of sequential tests.
    pub sequential_bytes: u64,
    /// Measured time of a throughput test, in seconds; tests with flushes take twice as long.
    pub seconds: u32,
}

/// A run of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRun {
    pub test: Test,
    pub step: Draft,
    /// Text of the XML profile that the line names, when it does.
    pub profile: Option<String>,
}

/// Columns of the longest label.
const LABEL_COLUMNS: usize = 40;
/// Column at which winsat's values begin.
const VALUE_COLUMN: usize = 47;

/// Where the limits come from.
pub const SOURCE: &str =
    "Windows hardware requirements, Device.Storage.Hd.AtaProtocol.Performance (MSDN ff567504)";

/// Bytes per second of winsat's unit.
const MB: f64 = 1e6;
const NS_PER_MS: f64 = 1e6;

/// Unit of a figure, as winsat prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Unit")]
pub enum WinsatUnit {
    /// 1,000,000 bytes per second.
    #[serde(rename = "MB/s")]
    MbPerS,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
}

impl WinsatUnit {
    fn word(self) -> &'static str {
        match self {
            WinsatUnit::MbPerS => "MB/s",
            WinsatUnit::Ms => "ms",
        }
    }

    /// With winsat's number of decimals, and the unit.
    fn show(self, value: f64) -> String {
        match self {
            WinsatUnit::MbPerS => format!("{value:.2} MB/s"),
            WinsatUnit::Ms => format!("{value:.3} ms"),
        }
    }
}

/// What a disk had to reach to be certified for Windows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Limit")]
pub enum Requirement {
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
}

/// How a figure stands to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Within.
    Pass,
    /// Beyond.
    Fail,
    /// There is a limit, and nothing valid to compare with it.
    Undecided,
    /// Microsoft published none for it.
    NoLimit,
}

impl Check {
    pub fn word(self) -> &'static str {
        match self {
            Check::Pass => "pass",
            Check::Fail => "FAIL",
            Check::Undecided => "undecided",
            Check::NoLimit => "-",
        }
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// As winsat prints it.
    pub label: String,
    /// The test's words.
    pub test: String,
    /// What it is; none in documents from before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::any_metric")]
    pub metric: Option<Metric>,
    /// Hash of the profile of its run, by which the history knows the same test; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The value; none when it was not measured.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: WinsatUnit,
    /// winsat prints it too.
    pub is_winsats: bool,
    /// The verdict of the run behind it.
    pub grade: Option<Grade>,
    /// Microsoft's limit, for winsat's own block sizes.
    pub limit: Option<Requirement>,
}

impl Figure {
    /// How it stands to its limit.
    pub fn check(&self) -> Check {
        let (Some(limit), value) = (self.limit, self.value) else { return Check::NoLimit };
        let holds = match (limit, value) {
            (_, None) => return Check::Undecided,
            _ if self.grade == Some(Grade::Invalid) => return Check::Undecided,
            (Requirement::Above(limit), Some(value)) => value > limit,
            (Requirement::Below(limit), Some(value)) => value < limit,
        };
        if holds { Check::Pass } else { Check::Fail }
    }

    /// With its metric, in the unit of that.
    fn of_metric(&self) -> Option<(Metric, Option<f64>)> {
        let metric = self.metric?;
        let unit = match metric.unit() {
            Unit::BytesPerSecond => MB,
            Unit::Nanoseconds => NS_PER_MS,
            Unit::PerSecond => return None,
        };
        Some((metric, self.value.map(|value| value * unit)))
    }

    /// The value with its unit.
    pub fn shown(&self) -> String {
        self.value.map_or("-".into(), |value| self.unit.show(value))
    }

    /// The limit with its unit.
    pub fn limit_shown(&self) -> String {
        match self.limit {
            None => "-".into(),
            Some(Requirement::Above(limit)) => format!("> {limit} {}", self.unit.word()),
            Some(Requirement::Below(limit)) => format!("< {limit} {}", self.unit.word()),
        }
    }
}

/// What the tests found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assessment {
    /// Version of the tool.
    pub tool_version: String,
    /// Bytes of the file or device that were used.
    pub size_bytes: u64,
    /// Block size of random tests.
    pub random_bytes: u64,
    /// Block size of sequential tests.
    pub sequential_bytes: u64,
    /// Measured time of a throughput test in seconds; tests with flushes take twice as long.
    pub seconds: u32,
    /// Figures in winsat's order.
    pub figures: Vec<Figure>,
    /// What the verdicts of the runs behind the figures say.
    pub verdict: SeriesVerdict,
    /// From the start to the end, with the making of the file.
    pub run_time_s: f64,
    /// Where its runs measured, and on what.
    #[serde(default, skip_serializing_if = "RanOn::is_unknown")]
    pub ran_on: RanOn,
}

impl DocumentKind for Assessment {
    const FORMAT: &'static str = "truespd-assess";
    const VERSION_ABOUT: &'static str = "Version of this layout: 1. Within a version members are only added, and \
        each of those may be missing.";
    const MEMBER: &'static str = "assessment";
    const MEMBER_ABOUT: &'static str = "What was found.";
    const TITLE: &'static str = "TrueSpd assessment, version 1";
    const ABOUT: &'static str =
        "An assessment as JSON, version 1. Units are at the end of names: `_bytes`, `_s`.";
    const NAME: &'static str = "assessment by TrueSpd";
}

impl SuiteDocument for Assessment {
    fn title(&self) -> String {
        format!("Windows's disk assessment{}", self.ran_on.words())
    }

    fn has_figures(&self) -> bool {
        self.figures.iter().any(|figure| figure.value.is_some())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn ranks(&self) -> u32 {
        self.ran_on.ranks
    }

    /// Figures of one run are one part.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for of_run in self.figures.chunk_by(|one, next| one.test == next.test) {
            let (test, profile) = (&of_run[0].test, of_run[0].profile.as_deref());
            parts.extend(Part::of(test, profile, &[], of_run.iter().filter_map(Figure::of_metric)));
        }
        parts
    }

    fn text(&self, shown: Shown) -> String {
        let columns = shown.style.columns;
        let mut out = String::new();
        if shown.has_original {
            let approximate = wrap(&self.approximate(), columns).join("\n");
            out.push_str(&format!("{}\n{approximate}\n\n", self.winsat()));
        }
        out.push_str(&hanging("", &self.answer(), columns));
        out.push_str(&self.verdict.shown(shown));
        out.push_str(&hanging("", &format!("Limits: {SOURCE}"), columns));
        out.push_str(&doubts_text(self.figures.iter().filter_map(|figure| figure.grade), columns));
        format!("{out}\n{}", self.table())
    }
}

impl Assessment {
    /// With gaps for everything that the plan measures.
    fn begin(plan: &Plan) -> Self {
        Assessment {
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            size_bytes: plan.size_bytes,
            random_bytes: plan.random_bytes,
            sequential_bytes: plan.sequential_bytes,
            seconds: plan.seconds,
            figures: plan.tests.iter().flat_map(|&test| figures(plan, test)).collect(),
            verdict: SeriesVerdict::default(),
            run_time_s: 0.0,
            ran_on: RanOn::default(),
        }
    }

    /// Labels of figures that do not pass their limits, with why; where there is no limit at all, that.
    pub fn not_passed(&self) -> Vec<String> {
        if self.figures.iter().all(|figure| figure.check() == Check::NoLimit) {
            return vec!["none of the figures has a limit".to_string()];
        }
        let mut all = Vec::new();
        for figure in &self.figures {
            let why = match figure.check() {
                Check::Pass | Check::NoLimit => continue,
                Check::Fail => format!("{} (limit {})", figure.shown(), figure.limit_shown()),
                Check::Undecided if figure.value.is_some() => "invalid".to_string(),
                Check::Undecided => "not measured".to_string(),
            };
            all.push(format!("{}, {why}", figure.label));
        }
        all
    }

    /// Whether the disk meets the limits: a sentence without its full stop.
    pub fn limits_words(&self) -> String {
        let not_passed = self.not_passed();
        if self.figures.iter().all(|figure| figure.check() == Check::NoLimit) {
            "Microsoft published no limit for these figures".to_string()
        } else if not_passed.is_empty() {
            "The disk meets all of Microsoft's limits".to_string()
        } else {
            format!("The disk does not meet all of Microsoft's limits: {}", not_passed.join("; "))
        }
    }

    /// Whether the disk passes, and how many figures are not certified.
    pub fn answer(&self) -> String {
        let limits = self.limits_words();
        let mut doubts = Vec::new();
        for grade in [Grade::Invalid, Grade::Suspect] {
            let count = self.figures.iter().filter(|figure| figure.grade == Some(grade)).count();
            if count > 0 {
                let verb = if count == 1 { "is" } else { "are" };
                doubts.push(format!("{} {verb} {}", plural(count, "figure"), grade.word()));
            }
        }
        match doubts.as_slice() {
            [] => format!("{limits}."),
            doubts => {
                let but = if self.not_passed().is_empty() { ", but" } else { "." };
                format!("{limits}{but} {}.", doubts.join(" and "))
            }
        }
    }

    /// What winsat itself prints: a line for each of its figures, and the time that all took.
    pub fn winsat(&self) -> String {
        let mut out = String::new();
        for figure in self.figures.iter().filter(|figure| figure.is_winsats) {
            let value = match figure.value {
                None => "not measured".to_string(),
                // Where winsat's score stands.
                Some(_) if figure.grade == Some(Grade::Invalid) => {
                    format!("{}          INVALID", figure.shown())
                }
                Some(_) => figure.shown(),
            };
            let label = format!("> {}", figure.label);
            out.push_str(&format!("{label:<VALUE_COLUMN$}{value}\n"));
        }
        out + &format!("> Total Run Time {}\n", clock(self.run_time_s))
    }

    /// The figures beside their limits; what is not certified says so.
    pub fn table(&self) -> String {
        let mut out = format!("{:<LABEL_COLUMNS$}{:>13}  {:>10}  result\n", "", "measured", "limit");
        for figure in &self.figures {
            let (measured, limit) = (figure.shown(), figure.limit_shown());
            let (result, doubt) = (figure.check().word(), figure.grade.map_or("", doubt));
            let line =
                format!("{:<LABEL_COLUMNS$}{measured:>13}  {limit:>10}  {result} {doubt}", figure.label);
            out.push_str(&format!("{}\n", line.trim_end()));
        }
        out
    }

    /// What winsat does not tell the world, and what stands for it here: a paragraph.
    pub fn approximate(&self) -> String {
        let has_flush = self.figures.iter().any(|figure| figure.test.starts_with("-flush"));
        let flush = if has_flush {
            format!(
                " Reads during flushes: {} random reads in the first half, beside writes in the second half and \
                 {FLUSHES_PER_S} writes of {} per second, each followed by a flush of the drive's cache.",
                size(self.random_bytes),
                size(FLUSHED_WRITE_BYTES)
            )
        } else {
            String::new()
        };
        format!(
            "approximate: Microsoft does not publish how many I/Os winsat issues, its queue depth, its file size, how \
             often it flushes, or how it computes scores, so there are no scores. Here: queue depth 1, no page cache, \
             {} s per test{}, {}; 1 MB is 1,000,000 bytes.{flush}",
            self.seconds,
            if has_flush { " (twice that with flushes)" } else { "" },
            size(self.size_bytes),
        )
    }
}

/// Advice in options of this suite.
const ADVICE: Advice = &[
    (&["too-short", "not-steady", "step-down", "warm-up-short"], "use -d 60"),
    (&["working-set"], "use --size 20G, or another size much larger than the caches"),
];

/// Figures of a test. Limits count for winsat's own block sizes.
fn figures(plan: &Plan, test: Test) -> Vec<Figure> {
    use Requirement::{Above, Below};
    let pattern = if test.is_random() { "Random" } else { "Sequential" };
    let kib = plan.block_bytes(test) as f64 / 1024.0;
    let [read, write] = ["Read", "Write"].map(|way| format!("Disk  {pattern} {kib:.1} {way}"));
    let rows: Vec<(&str, Metric, bool, Option<Requirement>)> = match test {
        Test::RandomRead => vec![(&read, Metric::BYTES, true, Some(Above(0.5)))],
        Test::SequentialRead => vec![(&read, Metric::BYTES, true, Some(Above(25.0)))],
        Test::RandomWrite => vec![(&write, Metric::BYTES, true, None)],
        Test::SequentialWrite => vec![(&write, Metric::BYTES, true, Some(Above(20.0)))],
        Test::FlushSequential => vec![
            ("Average Read Time with Sequential Writes", Metric::MEAN, true, Some(Below(25.0))),
            ("Latency: 95th Percentile", Metric::P95, true, Some(Below(120.0))),
            ("Latency: Maximum", Metric::MAX, true, Some(Below(700.0))),
        ],
        Test::FlushRandom => vec![
            ("Average Read Time with Random Writes", Metric::MEAN, true, Some(Below(40.0))),
            ("95th Percentile with Random Writes", Metric::P95, false, None),
            ("Maximum with Random Writes", Metric::MAX, false, None),
        ],
    };
    let is_random_standard = plan.random_bytes == RANDOM_BYTES;
    let is_sequential_standard = plan.sequential_bytes == SEQUENTIAL_BYTES;
    let is_standard = match test {
        Test::RandomRead | Test::RandomWrite | Test::FlushRandom => is_random_standard,
        Test::SequentialRead | Test::SequentialWrite => is_sequential_standard,
        Test::FlushSequential => is_random_standard && is_sequential_standard,
    };
    let mut figures = Vec::new();
    for (label, metric, is_winsats, limit) in rows {
        figures.push(Figure {
            label: label.to_string(),
            test: test.words().to_string(),
            metric: Some(metric),
            profile: None,
            value: None,
            unit: if metric.is_rate() { WinsatUnit::MbPerS } else { WinsatUnit::Ms },
            is_winsats,
            grade: None,
            limit: if is_standard { limit } else { None },
        });
    }
    figures
}

fn clock(seconds: f64) -> String {
    let hundredths = (seconds.max(0.0) * 100.0).round() as u64;
    let (whole, part) = (hundredths / 100, hundredths % 100);
    format!("{:02}:{:02}:{:02}.{part:02}", whole / 3600, whole / 60 % 60, whole % 60)
}

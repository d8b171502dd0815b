//! What `truespd assess` found: document and table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FLUSHED_WRITE_BYTES, FLUSHES_PER_S, Plan, RANDOM_BYTES, SEQUENTIAL_BYTES, Test};
use crate::suite::SuiteDocument;
use crate::suite::findings::{SeriesVerdict, word};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Unit, schema_of_any};
use truespd_core::result::{Grade, Part};
use truespd_core::text::size;

/// Column at which winsat's values begin.
const VALUE_COLUMN: usize = 47;

/// Where the limits come from.
pub const SOURCE: &str =
    "Windows hardware requirements, Device.Storage.Hd.AtaProtocol.Performance (MSDN ff567504)";

/// Bytes per second of winsat's unit.
const MB: f64 = 1e6;
/// Nanoseconds of winsat's unit.
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
    fn of(metric: Metric) -> Self {
        if metric.is_rate() { WinsatUnit::MbPerS } else { WinsatUnit::Ms }
    }

    fn word(self) -> &'static str {
        match self {
            WinsatUnit::MbPerS => "MB/s",
            WinsatUnit::Ms => "ms",
        }
    }

    /// With winsat's number of decimals.
    fn number(self, value: f64) -> String {
        match self {
            WinsatUnit::MbPerS => format!("{value:.2}"),
            WinsatUnit::Ms => format!("{value:.3}"),
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

impl Requirement {
    fn holds(self, value: f64) -> bool {
        match self {
            Requirement::Above(limit) => value > limit,
            Requirement::Below(limit) => value < limit,
        }
    }

    fn text(self, unit: WinsatUnit) -> String {
        match self {
            Requirement::Above(limit) => format!("> {limit} {}", unit.word()),
            Requirement::Below(limit) => format!("< {limit} {}", unit.word()),
        }
    }
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
    /// Its word in tables.
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
    #[schemars(schema_with = "schema_of_any")]
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
        match (self.limit, self.value) {
            (None, _) => Check::NoLimit,
            (Some(_), None) => Check::Undecided,
            (Some(_), Some(_)) if self.grade == Some(Grade::Invalid) => Check::Undecided,
            (Some(limit), Some(value)) if limit.holds(value) => Check::Pass,
            _ => Check::Fail,
        }
    }

    /// With its metric, in the unit of that.
    fn told(&self) -> Option<(Metric, Option<f64>)> {
        let metric = self.metric?;
        let of_one = match metric.unit() {
            Unit::BytesPerSecond => MB,
            Unit::Nanoseconds => NS_PER_MS,
            Unit::PerSecond => return None,
        };
        Some((metric, self.value.map(|value| value * of_one)))
    }

    /// The value with its unit.
    pub fn shown(&self) -> String {
        self.value.map_or("-".into(), |value| format!("{} {}", self.unit.number(value), self.unit.word()))
    }

    /// The limit with its unit.
    pub fn limit_shown(&self) -> String {
        self.limit.map_or("-".into(), |limit| limit.text(self.unit))
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
}

impl DocumentKind for Assessment {
    const FORMAT: &'static str = "truespd-assess";
    const VERSION_ABOUT: &'static str = "Version of this layout: 1. Within a version members are only added, and each of those may be missing.";
    const MEMBER: &'static str = "assessment";
    const MEMBER_ABOUT: &'static str = "What was found.";
    const TITLE: &'static str = "TrueSpd assessment, version 1";
    const ABOUT: &'static str =
        "An assessment as JSON, version 1. Units are at the end of names: `_bytes`, `_s`.";
    const NAME: &'static str = "assessment by TrueSpd";
}

impl SuiteDocument for Assessment {
    fn has_figures(&self) -> bool {
        self.figures.iter().any(|figure| figure.value.is_some())
    }

    fn grade(&self) -> Option<Grade> {
        self.verdict.grade
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    /// Figures of one run are one part.
    fn parts(&self) -> Vec<Part> {
        let of_run = |figures: &[Figure]| {
            let first = figures.first()?;
            Part::of(&first.test, first.profile.as_deref(), &[], figures.iter().filter_map(Figure::told))
        };
        self.figures.chunk_by(|one, next| one.test == next.test).filter_map(of_run).collect()
    }
}

impl Assessment {
    /// With gaps for everything that the plan measures.
    pub(super) fn begin(plan: &Plan) -> Self {
        Assessment {
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            size_bytes: plan.size_bytes,
            random_bytes: plan.random_bytes,
            sequential_bytes: plan.sequential_bytes,
            seconds: plan.seconds,
            figures: plan.tests.iter().flat_map(|&test| figures(plan, test)).collect(),
            verdict: SeriesVerdict::default(),
            run_time_s: 0.0,
        }
    }

    /// Labels of figures that do not pass their limits, with why; where there is no limit at all, that.
    pub fn not_passed(&self) -> Vec<String> {
        let why = |figure: &Figure| match figure.check() {
            Check::Fail => Some(format!("{} (limit {})", figure.shown(), figure.limit_shown())),
            Check::Undecided if figure.value.is_some() => Some("invalid".to_string()),
            Check::Undecided => Some("not measured".to_string()),
            Check::Pass | Check::NoLimit => None,
        };
        let told = |figure: &Figure| why(figure).map(|why| format!("{}, {why}", figure.label));
        if self.figures.iter().all(|figure| figure.check() == Check::NoLimit) {
            return vec!["none of the figures has a limit".to_string()];
        }
        self.figures.iter().filter_map(told).collect()
    }

    /// winsat's lines, and under them what winsat does not say.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for figure in self.figures.iter().filter(|figure| figure.is_winsats) {
            out.push_str(&winsat_line(figure));
        }
        out.push_str(&format!("> Total Run Time {}\n", clock(self.run_time_s)));
        out.push_str(&format!(
            "\n{:<43}{:>13}  {:>12}  {:<9}  {}\n",
            "", "measured", "limit", "result", "verdict"
        ));
        for figure in &self.figures {
            out.push_str(&limit_line(figure));
        }
        out.push_str(&format!("limits: {SOURCE}\n"));
        out
    }

    /// What winsat does not tell the world, and what stands for it here: a paragraph.
    pub fn approximate(&self) -> String {
        let has_flush = self.figures.iter().any(|figure| figure.test.starts_with("-flush"));
        let flush = if has_flush {
            format!(
                " Reads during flushes: {} random reads in the first half, beside writes in the second half and {FLUSHES_PER_S} \
             writes of {} per second, each followed by a flush of the drive's cache.",
                size(self.random_bytes),
                size(FLUSHED_WRITE_BYTES)
            )
        } else {
            String::new()
        };
        format!(
            "approximate: Microsoft does not publish how many I/Os winsat issues, its queue depth, its file size, how often it \
             flushes, or how it computes scores, so there are no scores. Here: queue depth 1, no page cache, {} s per test{}, {}; \
             1 MB is 1,000,000 bytes.{flush}",
            self.seconds,
            if has_flush { " (twice that with flushes)" } else { "" },
            size(self.size_bytes),
        )
    }
}

/// Advice in options of this suite.
pub(super) fn advice(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "too-short" | "not-steady" | "step-down" | "warm-up-short" => "use -d 60",
        "working-set" => "use --size 20G, or another size much larger than the caches",
        "volatile-cache" => {
            "this is how winsat measures; for durable writes, run the commands of --print with -Sh instead of -Su"
        }
        _ => return None,
    })
}

/// Figures of a test. Limits count for winsat's own block sizes.
fn figures(plan: &Plan, test: Test) -> Vec<Figure> {
    let block_bytes = plan.block_bytes(test);
    let standard = (plan.random_bytes == RANDOM_BYTES, plan.sequential_bytes == SEQUENTIAL_BYTES);
    let is_standard = match test {
        Test::RandomRead | Test::RandomWrite | Test::FlushRandom => standard.0,
        Test::SequentialRead | Test::SequentialWrite => standard.1,
        Test::FlushSequential => standard.0 && standard.1,
    };
    let figure = |label: &str, metric: Metric, is_winsats: bool, limit: Option<Requirement>| Figure {
        label: label.to_string(),
        test: test.words().to_string(),
        metric: Some(metric),
        profile: None,
        value: None,
        unit: WinsatUnit::of(metric),
        is_winsats,
        grade: None,
        limit: limit.filter(|_| is_standard),
    };
    let throughput = |way: &str, limit: Option<Requirement>| {
        let pattern = if test.is_random() { "Random" } else { "Sequential" };
        let label = format!("Disk  {pattern} {:.1} {way}", block_bytes as f64 / 1024.0);
        vec![figure(&label, Metric::BYTES, true, limit)]
    };
    let (above, below) = (|n| Some(Requirement::Above(n)), |n| Some(Requirement::Below(n)));
    match test {
        Test::RandomRead => throughput("Read", above(0.5)),
        Test::SequentialRead => throughput("Read", above(25.0)),
        Test::RandomWrite => throughput("Write", None),
        Test::SequentialWrite => throughput("Write", above(20.0)),
        Test::FlushSequential => vec![
            figure("Average Read Time with Sequential Writes", Metric::MEAN, true, below(25.0)),
            figure("Latency: 95th Percentile", Metric::P95, true, below(120.0)),
            figure("Latency: Maximum", Metric::MAX, true, below(700.0)),
        ],
        Test::FlushRandom => vec![
            figure("Average Read Time with Random Writes", Metric::MEAN, true, below(40.0)),
            figure("95th Percentile with Random Writes", Metric::P95, false, None),
            figure("Maximum with Random Writes", Metric::MAX, false, None),
        ],
    }
}

/// `> Disk  Random 16.0 Read                       21.05 MB/s`, and a word where winsat's score stands when the
/// figure must not be used.
fn winsat_line(figure: &Figure) -> String {
    let label = format!("> {}", figure.label);
    match figure.value {
        None => format!("{label:<VALUE_COLUMN$}not measured\n"),
        Some(value) => {
            let mark = if figure.grade == Some(Grade::Invalid) { "          INVALID" } else { "" };
            format!("{label:<VALUE_COLUMN$}{} {}{mark}\n", figure.unit.number(value), figure.unit.word())
        }
    }
}

fn limit_line(figure: &Figure) -> String {
    let (measured, limit) = (figure.shown(), figure.limit_shown());
    let result = figure.check().word();
    let verdict = if figure.value.is_some() { word(figure.grade) } else { "-" };
    format!("{:<43}{measured:>13}  {limit:>12}  {result:<9}  {verdict}\n", figure.label)
}

/// `00:00:39.41`
fn clock(seconds: f64) -> String {
    let hundredths = (seconds.max(0.0) * 100.0).round() as u64;
    let (whole, part) = (hundredths / 100, hundredths % 100);
    format!("{:02}:{:02}:{:02}.{part:02}", whole / 3600, whole / 60 % 60, whole % 60)
}

//! The document of an assessment: its figures beside Microsoft's limits.

use crate::answer::SeriesVerdict;
use crate::ask::{Common, MEMBERS_ARE_ADDED};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::Grade;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Unit};
use truespd_core::result::schema;

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
    pub(super) fn of_metric(&self) -> Option<(Metric, Option<f64>)> {
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
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
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
    const VERSION_ABOUT: &'static str = MEMBERS_ARE_ADDED;
    const MEMBER: &'static str = "assessment";
    const MEMBER_ABOUT: &'static str = "What was found.";
    const TITLE: &'static str = "TrueSpd assessment, version 1";
    const ABOUT: &'static str =
        "An assessment as JSON, version 1. Units are at the end of names: `_bytes`, `_s`.";
    const NAME: &'static str = "assessment by TrueSpd";
}

impl Assessment {
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
}

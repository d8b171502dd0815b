//! The document of a comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use truespd_core::result::Grade;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Better, Metric, Unit, schema_of_any};

/// A comparison of two groups of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct Comparison {
    /// Version of the tool that compared.
    pub tool_version: String,
    /// The first group.
    pub a: Side,
    /// The second group.
    pub b: Side,
    /// What the intervals rest on.
    pub kind: Kind,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// Names of the metrics that have half of the permitted error.
    #[schemars(schema_with = "any_metrics")]
    pub headline: Vec<Metric>,
    /// Every metric that both sides have.
    pub metrics: Vec<MetricRow>,
    /// What else differs between the groups, likely causes first.
    pub differences: Vec<Difference>,
    /// What was asked with `--fail-if`, in that order.
    pub gates: Vec<GateResult>,
    /// A gate fails also where it cannot be excluded that it has to.
    pub is_strict: bool,
    /// What the person should know, one sentence each.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// Gates that failed.
    pub fn failed(&self) -> impl Iterator<Item = &GateResult> {
        self.gates.iter().filter(|gate| gate.has_failed)
    }
}

fn any_metrics(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let items = schema_of_any(generator);
    schemars::json_schema!({ "type": "array", "items": items })
}

/// How many runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One on each side: intervals rest on the course of each run.
    OneRunEach,
    /// One against several, whose scatter counts for both.
    OneRunAndSeveral,
    /// Several on each side: intervals rest on how the runs scatter.
    SeveralRuns,
}

/// A group of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Its runs.
    pub runs: Vec<Run>,
    /// The worst verdict of them.
    pub grade: Grade,
}

/// A run of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The file, as typed.
    pub name: String,
    /// Host name.
    pub computer_name: String,
    /// Start of the run, seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
    /// Its verdict by the rules of the version that compared.
    pub grade: Grade,
    /// Names of the rules that spoke against it, worst first.
    pub findings: Vec<String>,
}

/// A metric of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRow {
    /// Which.
    #[schemars(schema_with = "schema_of_any")]
    pub metric: Metric,
    /// Unit of `a` and `b`.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Latencies are response times: they count from when the rate (-g) wanted the I/O.
    pub is_response: bool,
    /// Its value, of several runs the middle; none when a run has none.
    pub a: Option<f64>,
    /// The same of B.
    pub b: Option<f64>,
    /// B - A in percent of A; none without both values.
    pub percent: Option<f64>,
    /// How sure that is; none when it cannot be tested.
    pub effect: Option<Effect>,
    /// What that means.
    pub outcome: Outcome,
    /// Why it cannot be tested.
    pub why_not: Option<String>,
}

/// How sure a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    // The published schema has its line break here.
    #[schemars(
        description = "Lower end of the interval of the difference, in percent. With a probability of 95 %, \
                              the intervals of all metrics\ntogether hold."
    )]
    pub percent_low: f64,
    /// Its upper end.
    pub percent_high: f64,
    /// Confidence of this interval by itself.
    pub confidence: f64,
    /// Probability of such a difference between equal sides, corrected for the number of metrics.
    pub p: f64,
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// B is better than A.
    Better,
    /// B is worse than A.
    Worse,
    /// No difference larger than the ends of the interval, which lie within the margin.
    NoDifference,
    /// It can be either.
    Undecided,
    /// It cannot be tested.
    NotTested,
}

impl Outcome {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::NoDifference => "no difference",
            Outcome::Undecided => "undecided",
            Outcome::NotTested => "not tested",
        }
    }
}

/// What a fact belongs to, in the order in which differences are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// What was asked for.
    Profile,
    /// The file or device, and its size.
    Target,
    /// Limits that somebody set.
    Limits,
    /// File system, layers and disks below the target.
    Storage,
    /// The engine, and the version of TrueSpd.
    Program,
    /// The kernel.
    Kernel,
    /// Processors, memory, host.
    Machine,
}

impl Area {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Area::Profile => "profile",
            Area::Target => "target",
            Area::Limits => "limits",
            Area::Storage => "storage",
            Area::Program => "program",
            Area::Kernel => "kernel",
            Area::Machine => "machine",
        }
    }
}

/// Something that is not the same in both groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What it belongs to.
    pub area: Area,
    /// What differs.
    pub name: String,
    /// The values of A, in the order of its runs, each once.
    pub a: Vec<String>,
    /// Those of B.
    pub b: Vec<String>,
}

impl Difference {
    /// `block size (-b): 4096 and 65536`
    pub fn sentence(&self) -> String {
        format!("{}: {} and {}", self.name, self.a.join(", "), self.b.join(", "))
    }
}

/// What the interval says of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// The whole interval is on the right side of the limit.
    Kept,
    /// The whole interval is beyond the limit.
    Broken,
    /// The limit is within the interval.
    Open,
    /// The metric cannot be tested.
    NotTested,
}

/// A gate and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// As it is read: `iops < -5%`.
    pub gate: String,
    /// What it looks at.
    #[schemars(schema_with = "schema_of_any")]
    pub metric: Metric,
    /// What the interval says.
    pub held: Held,
    /// Whether that fails the comparison.
    pub has_failed: bool,
    /// Why, for people.
    pub why: String,
}

impl DocumentKind for Comparison {
    const FORMAT: &'static str = "truespd-compare";
    const MEMBER: &'static str = "comparison";
    const MEMBER_ABOUT: &'static str = "The comparison.";
    const TITLE: &'static str = "TrueSpd comparison of results, version 1";
    const ABOUT: &'static str = "A comparison of two groups of results by TrueSpd, version 1. Latencies and processor \
         times are in nanoseconds, rates per second.";
    const NAME: &'static str = "comparison of results by TrueSpd";
}

//! What is asked of two groups of documents, the gates for programs that decide by the exit code, and the document of
//! the answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Better, Metric, Unit};
use truespd_core::result::schema;
use truespd_core::result::{Document, Grade};
use truespd_platform::fault::Refusal;

/// A document and what it is called in messages: the path of its file as typed.
#[derive(Debug, Clone)]
pub struct Named {
    /// In messages and tables: the path as typed, or the label.
    pub name: String,
    /// The result of a run.
    pub document: Document,
}

/// What is asked of two groups.
#[derive(Debug, Clone)]
pub struct Question {
    /// What the decision rests on first; empty for those of the gates, or else IOPS.
    pub headline: Vec<Metric>,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// By how much the means of equal runs may differ, in percent, where one run on each side cannot show it.
    pub between_runs_percent: f64,
    /// What must not be shown, for the exit code.
    pub gates: Vec<Gate>,
    /// A gate fails also where it cannot be excluded that it has to.
    pub is_strict: bool,
    /// The time span to compare, from 1; `None` where documents have one.
    pub time_span: Option<usize>,
    pub may_differ_in_profile: bool,
    pub may_differ_in_target: bool,
}

impl Question {
    /// Up to so many percent, a difference does not matter, unless told otherwise.
    pub const MARGIN_PERCENT: f64 = 2.0;
    /// By so many percent, the means of equal runs may differ, unless told otherwise.
    pub const BETWEEN_RUNS_PERCENT: f64 = 2.0;
}

impl Default for Question {
    /// Whether IOPS differ, of runs of one profile on one target.
    fn default() -> Self {
        Question {
            headline: Vec::new(),
            margin_percent: Self::MARGIN_PERCENT,
            between_runs_percent: Self::BETWEEN_RUNS_PERCENT,
            gates: Vec::new(),
            is_strict: false,
            time_span: None,
            may_differ_in_profile: false,
            may_differ_in_target: false,
        }
    }
}

/// `iops < -5%`: B must not be shown to have more than 5 % fewer IOPS than A.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The metric whose difference is held against it.
    pub metric: Metric,
    /// Below the limit fails, or above it.
    pub is_below: bool,
    /// B - A in percent of A.
    pub percent: f64,
}

const FORM: &str = "write METRIC < PERCENT% or METRIC > PERCENT%, e.g. 'iops < -5%' or 'p99 > +10%'";

impl FromStr for Gate {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let place = text.find(['<', '>']).ok_or_else(|| Refusal::command_line(FORM))?;
        let (name, rest) = (text[..place].trim(), text[place + 1..].trim());
        if name.is_empty() || rest.is_empty() || rest.starts_with('=') || rest.contains(['<', '>']) {
            return Err(Refusal::command_line(FORM));
        }
        let Some(metric) = Metric::all().find(|metric| metric.name() == name) else {
            let names: Vec<&str> = Metric::all().map(Metric::name).collect();
            let message = format!("'{name}' is no metric; legal: {}", names.join(", "));
            return Err(Refusal::command_line(message));
        };
        let number = rest.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = number.filter(|number| number.is_finite() && *number > -100.0);
        let Some(percent) = percent else {
            let legal = "legal: a number above -100 with %, e.g. -5% or +10%";
            return Err(Refusal::command_line(format!("'{rest}' is no percentage; {legal}")));
        };
        Ok(Gate { metric, is_below: text[place..].starts_with('<'), percent })
    }
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {:+}%", self.metric.name(), if self.is_below { '<' } else { '>' }, self.percent)
    }
}

impl Gate {
    /// What it asks about, as it is said: `a loss of 5 %`.
    fn what(&self) -> String {
        let percent = self.percent.abs();
        let is_worse = self.is_below == (self.metric.better() == Better::Higher);
        if self.is_below && self.percent < 0.0 {
            let word = if is_worse { "loss" } else { "fall" };
            format!("a {word} of {percent} %")
        } else if !self.is_below && self.percent > 0.0 {
            format!("a rise of {percent} %")
        } else {
            let side = if self.is_below { "below" } else { "above" };
            format!("a difference {side} {:+} %", self.percent)
        }
    }

    pub(super) fn result(&self, rows: &[MetricRow], is_strict: bool) -> GateResult {
        let row = rows.iter().find(|row| row.metric == self.metric);
        let (held, mut why) = match row.and_then(|row| row.effect) {
            Some(Effect { percent_low: low, percent_high: high, .. }) => {
                (self.held(low, high), format!("the difference is within {low:+.1} to {high:+.1} %"))
            }
            None => {
                let why = row.and_then(|row| row.why_not.clone());
                (Held::NotTested, why.unwrap_or_else(|| "no run has this metric".into()))
            }
        };
        if held == Held::Open && is_strict {
            why = format!("{} cannot be excluded (--strict): {why}", self.what());
        } else if held == Held::Open {
            why = format!("{} is neither shown nor excluded: {why}", self.what());
        } else if held == Held::NotTested && is_strict {
            why += " (--strict)";
        }
        let has_failed = held == Held::Broken || (is_strict && held != Held::Kept);
        GateResult { gate: self.to_string(), metric: self.metric, held, has_failed, why }
    }

    /// What an interval says, in percent.
    fn held(&self, low: f64, high: f64) -> Held {
        let (broken, kept) = if self.is_below {
            (high < self.percent, low >= self.percent)
        } else {
            (low > self.percent, high <= self.percent)
        };
        if broken {
            Held::Broken
        } else if kept {
            Held::Kept
        } else {
            Held::Open
        }
    }
}

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
    pub fn failed(&self) -> impl Iterator<Item = &GateResult> {
        self.gates.iter().filter(|gate| gate.has_failed)
    }
}

fn any_metrics(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let items = schema::any_metric(generator);
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
    #[schemars(schema_with = "schema::any_metric")]
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
    #[schemars(schema_with = "schema::any_metric")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_with_and_without_blanks() {
        for (text, shown) in [
            ("iops < -5%", "iops < -5%"),
            ("p99>10%", "p99 > +10%"),
            ("  p99.9 > +2.5 % ", "p99.9 > +2.5%"),
            ("cpu<0%", "cpu < +0%"),
        ] {
            assert_eq!(text.parse::<Gate>().map(|gate| gate.to_string()).as_deref(), Ok(shown), "{text}");
        }
        for (text, error) in [
            ("", "write METRIC <"),
            ("iops", "write METRIC <"),
            ("iops <= 5%", "write METRIC <"),
            ("iops < ", "write METRIC <"),
            ("< 5%", "write METRIC <"),
            ("1 < iops < 5%", "write METRIC <"),
            ("speed < 5%", "'speed' is no metric; legal: iops"),
            ("iops < 5", "'5' is no percentage; legal:"),
            ("iops < -100%", "'-100%' is no percentage; legal:"),
            ("iops < nan%", "'nan%' is no percentage; legal:"),
            ("iops < 1e999%", "'1e999%' is no percentage; legal:"),
        ] {
            let read = text.parse::<Gate>().unwrap_err().to_string();
            assert!(read.starts_with(error), "{text}: {read}");
        }
        assert!("speed > 1%".parse::<Gate>().unwrap_err().to_string().contains("iops, bytes, latency, p50"));
    }

    #[test]
    fn a_gate_fails_when_the_interval_proves_it_and_if_strict_when_it_does_not_exclude_it() {
        let row = |low: f64, high: f64| MetricRow {
            metric: Metric::IOPS,
            unit: Metric::IOPS.unit(),
            better: Metric::IOPS.better(),
            is_response: false,
            a: Some(1.0),
            b: Some(1.0),
            percent: Some(0.0),
            effect: Some(Effect { percent_low: low, percent_high: high, confidence: 0.95, p: 0.5 }),
            outcome: Outcome::Undecided,
            why_not: None,
        };
        for (gate, low, high, held, fails) in [
            ("iops < -5%", -9.0, -6.0, Held::Broken, [true, true]),
            ("iops < -5%", -9.0, -4.0, Held::Open, [false, true]),
            ("iops < -5%", -5.0, 8.0, Held::Kept, [false, false]),
            ("iops > 5%", 5.1, 8.0, Held::Broken, [true, true]),
            ("iops > 5%", -9.0, 8.0, Held::Open, [false, true]),
            ("iops > 5%", -9.0, 5.0, Held::Kept, [false, false]),
            ("p99 > 5%", 9.0, 9.0, Held::NotTested, [false, true]),
        ] {
            let gate: Gate = gate.parse().unwrap();
            let results = [false, true].map(|is_strict| gate.result(&[row(low, high)], is_strict));
            assert_eq!(results.each_ref().map(|result| result.has_failed), fails, "{gate} {low} {high}");
            assert!(results.iter().all(|result| result.held == held), "{gate} {low} {high}");
        }
        // What is not proven is not called excluded.
        for (gate, says) in [
            (
                "iops < -5%",
                "a loss of 5 % is neither shown nor excluded: the difference is within -28.0 to +57.0 %",
            ),
            ("iops > 5%", "a rise of 5 % is neither shown nor excluded"),
            ("p99 > 10%", "a rise of 10 % is neither shown nor excluded"),
            ("p99 < -10%", "a fall of 10 % is neither shown nor excluded"),
            ("iops < 3%", "a difference below +3 % is neither shown nor excluded"),
            ("iops > -3%", "a difference above -3 % is neither shown nor excluded"),
        ] {
            let gate: Gate = gate.parse().unwrap();
            let open = MetricRow { metric: gate.metric, ..row(-28.0, 57.0) };
            let result = gate.result(&[open], false);
            assert!(result.why.starts_with(says) && result.held == Held::Open, "{}", result.why);
        }
    }
}

//! What is asked of two groups of documents, and the gates for programs that decide by the exit code.

use std::str::FromStr;

use super::report::{Effect, GateResult, Held, MetricRow};
use truespd_core::fault::Refusal;
use truespd_core::result::Document;
use truespd_core::result::metrics::{Better, Metric};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::report::Outcome;

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

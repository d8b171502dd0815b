//! What the tests of a suite reached, in one form for all suites.

use super::metrics::Metric;
use super::verdict::Grade;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use truespd_platform::text::shell_line;

/// What one test of a suite reached. Parts of two documents with the same name and profile may be compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Part {
    /// Which test, in words that are the same wherever and whenever it runs: `read SEQ1M-Q8T1`.
    pub name: String,
    /// What tells it from the other tests of its document: options or words of the suite, each with its value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub coordinates: BTreeMap<String, String>,
    /// Hash of the profile of its runs, by which the history knows the same test.
    pub profile: String,
    /// Words of DiskSpd's command line, as a shell takes them; empty where the document does not tell.
    pub command: String,
    /// Its figures by the id of their metric (`iops`, `p99`), in the metric's unit.
    pub figures: BTreeMap<String, f64>,
    /// Lower and upper end of the interval of a figure over the runs: 95 % from three runs on, else the smallest and
    /// the largest run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// Runs that count; 0 where the document does not tell.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs: usize,
    /// The worst verdict of these runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// What its figures are.
    #[serde(skip_serializing_if = "Found::is_measured")]
    pub found: Found,
}

/// What the figures of a test are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// They were measured, without a limit.
    #[default]
    Measured,
    /// They kept the limits of a search.
    Kept,
    /// Nothing that a search tried kept its limits: there are no figures.
    Nothing,
    /// A search ended before it was decided: there are no figures.
    Undecided,
}

impl Found {
    fn is_measured(&self) -> bool {
        *self == Found::Measured
    }
}

/// Whether a document need not tell how many runs there were.
fn is_zero(runs: &usize) -> bool {
    *runs == 0
}

/// A figure over some runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverRuns {
    /// In the unit of its metric.
    pub value: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
}

impl From<f64> for OverRuns {
    fn from(value: f64) -> Self {
        OverRuns { value, interval: None }
    }
}

impl Part {
    /// With those figures that have a value above 0; none without a profile, as in documents from before it was noted.
    pub fn of<F: Into<OverRuns>>(
        name: impl Into<String>,
        profile: Option<&str>,
        words: &[String],
        figures: impl IntoIterator<Item = (Metric, Option<F>)>,
    ) -> Option<Self> {
        let profile = profile?.to_string();
        let mut part = Part { name: name.into(), profile, command: shell_line(words), ..Part::default() };
        for (metric, figure) in figures {
            let figure: Option<OverRuns> = figure.map(Into::into);
            if let Some(figure) = figure.filter(|figure| figure.value.is_finite() && figure.value > 0.0) {
                part.figures.insert(metric.id().to_string(), figure.value);
                part.intervals.extend(figure.interval.map(|ends| (metric.id().to_string(), ends)));
            }
        }
        if part.figures.is_empty() { None } else { Some(part) }
    }

    /// Where it stands among the tests of its document.
    #[must_use]
    pub fn at(mut self, coordinate: &str, value: impl ToString) -> Self {
        self.coordinates.insert(coordinate.to_string(), value.to_string());
        self
    }

    /// With the number of its runs, and the worst verdict of them.
    #[must_use]
    pub fn of_runs(self, runs: usize, grade: Option<Grade>) -> Self {
        Part { runs, grade, ..self }
    }

    /// Names each part once: of equal ones the second becomes `name (2)`.
    pub fn apart(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
        let mut met: BTreeMap<(String, String), usize> = BTreeMap::new();
        parts
            .into_iter()
            .map(|mut part| {
                let count = met.entry((part.name.clone(), part.profile.clone())).or_default();
                *count += 1;
                if *count > 1 {
                    part.name = format!("{} ({count})", part.name);
                }
                part
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_what_was_measured() {
        let figures = [(Metric::IOPS, Some(5.0)), (Metric::MEAN, Some(0.0)), (Metric::P99, None)];
        let words = ["-b4K".to_string(), "a b".to_string()];
        let part = Part::of("read", Some("0123"), &words, figures).unwrap();
        assert_eq!(part.figures, BTreeMap::from([("iops".to_string(), 5.0)]));
        assert_eq!((part.profile.as_str(), part.command.as_str()), ("0123", "-b4K 'a b'"));
        assert_eq!(Part::of("read", None, &words, figures), None, "of which test?");
        assert_eq!(Part::of("read", Some("0123"), &words, [(Metric::IOPS, Some(f64::NAN))]), None);
    }

    #[test]
    fn a_document_tells_only_what_is_known_of_a_part() {
        let measured = OverRuns { value: 5.0, interval: Some([4.0, 6.0]) };
        let part = Part::of("read", Some("0123"), &[], [(Metric::IOPS, Some(measured))]).unwrap();
        let json = |part: &Part| serde_json::to_value(part).unwrap();
        let told: Vec<String> = json(&part).as_object().unwrap().keys().cloned().collect();
        assert_eq!(told, ["command", "figures", "intervals", "name", "profile"]);
        let whole = Part { found: Found::Kept, ..part.at("o", 4).of_runs(3, Some(Grade::Certified)) };
        assert_eq!(serde_json::from_value::<Part>(json(&whole)).unwrap(), whole);
        assert_eq!(json(&whole)["found"], "kept");
        assert_eq!(json(&whole)["coordinates"]["o"], "4");
    }

    #[test]
    fn equal_parts_are_told_apart() {
        let part = |name: &str, profile: &str| Part {
            name: name.into(),
            profile: profile.into(),
            ..Part::default()
        };
        let all =
            Part::apart([part("a", "1"), part("a", "2"), part("a", "1"), part("b", "1"), part("a", "1")]);
        let names: Vec<&str> = all.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["a", "a", "a (2)", "b", "a (3)"]);
    }
}

//! Figures of documents that hold several tests: those of suites.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metrics::Metric;
use crate::text::shell_line;

/// What one test of a suite reached. Parts of two documents with the same name and profile may be compared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Which test, in words that are the same wherever and whenever it runs: `read SEQ1M-Q8T1`.
    pub name: String,
    /// Hash of the profile of its runs ([`crate::profile::hash()`]).
    pub profile: String,
    /// Words of DiskSpd's command line, as a shell takes them; empty where the document does not tell.
    pub command: String,
    /// Its figures by the id of their metric ([`Metric::id`]), in the metric's unit.
    pub figures: BTreeMap<String, f64>,
}

impl Part {
    /// With those figures that have a value above 0; none without a profile, as in documents from before it was noted.
    pub fn of(
        name: impl Into<String>,
        profile: Option<&str>,
        words: &[String],
        figures: impl IntoIterator<Item = (Metric, Option<f64>)>,
    ) -> Option<Self> {
        let told = |(metric, value): (Metric, Option<f64>)| {
            let value = value.filter(|value| value.is_finite() && *value > 0.0)?;
            Some((metric.id().to_string(), value))
        };
        let figures: BTreeMap<String, f64> = figures.into_iter().filter_map(told).collect();
        let profile = profile.filter(|_| !figures.is_empty())?.to_string();
        Some(Part { name: name.into(), profile, command: shell_line(words), figures })
    }

    /// Names each part once: of equal ones the second becomes `name (2)`.
    pub fn apart(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
        let mut met: BTreeMap<(String, String), usize> = BTreeMap::new();
        let numbered = |mut part: Part| {
            let count = met.entry((part.name.clone(), part.profile.clone())).or_default();
            *count += 1;
            if *count > 1 {
                part.name = format!("{} ({count})", part.name);
            }
            part
        };
        parts.into_iter().map(numbered).collect()
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

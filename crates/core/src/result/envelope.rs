//! Documents of other kinds than results of runs (of suites, of the tool's own cost): one versioned envelope for all,
//! and the
//! figures of those that hold several tests.
//!
//! `{"format": "truespd-<kind>", "format_version": n, "<member>": ...}`. Within a version members are only
//! added, and each of those may be missing.

use super::json::indented;
use super::metrics::Metric;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use truespd_platform::text::{printable_json, shell_line};

/// A kind of documents, with the envelope that its JSON has.
pub trait DocumentKind: Serialize + DeserializeOwned + 'static {
    /// What the member `format` says.
    const FORMAT: &'static str;
    /// The version this program writes and reads.
    const VERSION: u32 = 1;
    /// What the member `format_version` is, for the schema.
    const VERSION_ABOUT: &'static str = "Version of this layout: 1.";
    /// Name of the member that holds it.
    const MEMBER: &'static str;
    /// What that member is, for the schema.
    const MEMBER_ABOUT: &'static str;
    /// Title of the schema, as editors show it.
    const TITLE: &'static str;
    /// What the schema is of.
    const ABOUT: &'static str;
    /// What such a document is, behind "is no".
    const NAME: &'static str;
}

/// Why a document could not be read; completes a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(String);

/// A document in its envelope.
pub(super) struct Envelope<'a, T>(&'a T);

impl<T: DocumentKind> Serialize for Envelope<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut envelope = serializer.serialize_struct("Envelope", 3)?;
        envelope.serialize_field("format", T::FORMAT)?;
        envelope.serialize_field("format_version", &T::VERSION)?;
        envelope.serialize_field(T::MEMBER, self.0)?;
        envelope.end()
    }
}

/// Writes a document, indented: people compare them line by line.
pub fn write<T: DocumentKind>(document: &T) -> String {
    indented(&Envelope(document))
}

/// What `show` makes of a document whose strings are printable: the way out for all that is no JSON. One that
/// was read for that (by way of [`printable_json`]) is shown as it is.
pub fn shown<T: DocumentKind, R>(document: &T, show: impl FnOnce(&T) -> R) -> R {
    let json = serde_json::to_vec(document).expect("figures, text and lists are always JSON");
    let printable: Option<T> = match printable_json(&json) {
        Cow::Borrowed(_) => None,
        Cow::Owned(json) => serde_json::from_slice(&json).ok(),
    };
    show(printable.as_ref().unwrap_or(document))
}

/// Reads a document.
///
/// # Errors
/// [`ReadError`].
pub fn read<T: DocumentKind>(text: &[u8]) -> Result<T, ReadError> {
    let mut stored: Value = serde_json::from_slice(text).map_err(malformed::<T>)?;
    let format = stored["format"].as_str().ok_or_else(|| missing::<T>("format"))?;
    let version = stored["format_version"].as_u64().ok_or_else(|| missing::<T>("format_version"))?;
    if format != T::FORMAT || version != u64::from(T::VERSION) {
        return Err(ReadError(format!(
            "has format \"{format}\", version {version}; this program reads \"{}\", version {}",
            T::FORMAT,
            T::VERSION
        )));
    }
    let member = stored.get_mut(T::MEMBER).map(Value::take).ok_or_else(|| missing::<T>(T::MEMBER))?;
    serde_json::from_value(member).map_err(malformed::<T>)
}

fn malformed<T: DocumentKind>(error: serde_json::Error) -> ReadError {
    ReadError(format!("is no {}, or not a whole one: {error}", T::NAME))
}

fn missing<T: DocumentKind>(member: &'static str) -> ReadError {
    malformed::<T>(serde_json::Error::missing_field(member))
}

/// What the member `format` of a JSON document says; `None` when it is none, or has no such member.
pub fn format_of(text: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
    }
    serde_json::from_slice::<Head>(text).ok().map(|head| head.format)
}

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
        let profile = profile?.to_string();
        let mut told = BTreeMap::new();
        for (metric, value) in figures {
            if let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) {
                told.insert(metric.id().to_string(), value);
            }
        }
        if told.is_empty() {
            return None;
        }
        let figures = told;
        Some(Part { name: name.into(), profile, command: shell_line(words), figures })
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
mod tests_of_part {
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

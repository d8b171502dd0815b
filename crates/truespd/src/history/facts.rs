//! What lists and statistics know of a document without reading it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use truespd_core::profile;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{Document, Grade, Layer, Measured, Part};
use truespd_core::text::program_line;

/// What a document tells, in columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Kind of document: `result`, or the name of a suite.
    pub kind: String,
    /// When the run began, seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
    /// Host name.
    pub host: String,
    /// The words as typed, as a shell takes them.
    pub command: String,
    /// Paths of the targets, as given.
    pub targets: Vec<String>,
    /// The disks at the bottom of the targets.
    pub devices: Vec<Device>,
    /// Hash of the profile without what differs from run to run ([`profile::hash()`]); parts of suites have their own.
    pub profile: Option<String>,
    /// The verdict, or the worst one of a suite's runs.
    pub grade: Option<Grade>,
    /// Version of the tool that ran.
    pub tool_version: String,
    /// Figures of a run with one time span, by the id of their metric ([`Metric::id`]), in the metric's unit.
    pub figures: BTreeMap<String, f64>,
    /// The tests of a suite with theirs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A disk below a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// The kernel's name.
    pub name: String,
    /// Model as the device tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Version of its firmware, where the document tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
}

impl Facts {
    /// Of the result of a run.
    pub fn of_result(document: &Document) -> Self {
        let spans = &document.profile.time_spans;
        let targets = spans.iter().flat_map(|span| &span.targets).map(|target| target.path.clone());
        let figure = |metric: Metric| Some((metric.id().to_string(), metric.of(document).ok()?));
        Facts {
            kind: "result".into(),
            start_unix_s: document.system.start_unix_s,
            host: document.host_words(),
            command: program_line(&document.command_line),
            targets: distinct(targets),
            devices: distinct(document.measured().flat_map(devices)),
            profile: Some(profile::hash(&document.profile)),
            grade: document.verdict.as_ref().map(|verdict| verdict.grade),
            tool_version: document.tool_version.clone(),
            figures: Metric::all().filter_map(figure).collect(),
            parts: Vec::new(),
        }
    }

    /// Of the document of a suite, whose tests have the figures of `parts`. Suites tell the same under
    /// different names, and some of it not at all: what is not there is left empty.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn of_suite(
        kind: &str,
        grade: Option<Grade>,
        parts: Vec<Part>,
        document: &[u8],
    ) -> Result<Self, serde_json::Error> {
        let value: Value = serde_json::from_slice(document)?;
        let text =
            |names: &[&str]| found(&value, names).and_then(Value::as_str).unwrap_or_default().to_string();
        Ok(Facts {
            kind: kind.to_string(),
            start_unix_s: found(&value, &["start_unix_s", "unix_s"]).and_then(Value::as_i64),
            host: text(&["computer_name"]),
            command: format!("truespd {kind}"),
            grade,
            tool_version: text(&["tool_version"]),
            parts,
            ..Facts::default()
        })
    }
}

/// The first member of such a name, outer ones first.
fn found<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    let here = names.iter().find_map(|name| value.get(name)).filter(|value| !value.is_null());
    let inside = || match value {
        Value::Object(members) => members.values().find_map(|member| found(member, names)),
        Value::Array(items) => items.iter().find_map(|item| found(item, names)),
        _ => None,
    };
    here.or_else(inside)
}

/// The disks of a time span.
fn devices(measured: &Measured) -> impl Iterator<Item = Device> {
    let layers = measured.evidence.targets.iter().flat_map(|target| &target.layers);
    layers.filter(|layer| layer.is_lowest()).map(Device::of)
}

impl Device {
    /// Of the lowest layer of a target.
    pub fn of(layer: &Layer) -> Self {
        Device { name: layer.name.clone(), model: layer.model.clone(), firmware: layer.firmware.clone() }
    }
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_command_is_one_that_can_be_typed() {
        let of =
            |words: &[&str]| program_line(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["/opt/bin/truespd run", "-b4K", "a b"]), "truespd run -b4K 'a b'");
        assert_eq!(of(&["diskspd"]), "diskspd");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn suites_are_read_whatever_they_call_it() {
        let mark = br#"{"format":"truespd-mark","mark":{"tool_version":"1","host":{"computer_name":"a","unix_s":5}}}"#;
        let facts = Facts::of_suite("mark", Some(Grade::Suspect), Vec::new(), mark).unwrap();
        assert_eq!(
            (facts.host.as_str(), facts.start_unix_s, facts.tool_version.as_str()),
            ("a", Some(5), "1")
        );
        let study = br#"{"study":{"parts":[{"comparison":{"computer_name":"b","start_unix_s":6}}]}}"#;
        let facts = Facts::of_suite("study", None, Vec::new(), study).unwrap();
        assert_eq!((facts.host.as_str(), facts.start_unix_s), ("b", Some(6)));
        assert!(Facts::of_suite("mark", None, Vec::new(), b"{").is_err());
    }
}

//! What lists and statistics know of a document without reading it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::profile::{Profile, ResultFormat, xml};
use crate::result::metrics::Metric;
use crate::result::{Document, Grade, Measured};
use crate::text::shell_line;

/// Hexadecimal digits of a profile's hash: 64 bits.
const HASH_DIGITS: usize = 16;

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
    /// Hash of the profile without what differs from run to run ([`profile_hash`]); none for suites.
    pub profile: Option<String>,
    /// The verdict, or the worst one of a suite's runs.
    pub grade: Option<Grade>,
    /// Version of the tool that ran.
    pub tool_version: String,
    /// Figures of a run with one time span, by the id of their metric ([`Metric::id`]), in the metric's unit.
    pub figures: BTreeMap<String, f64>,
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
            host: document.system.computer_name.clone(),
            command: command(&document.command_line),
            targets: distinct(targets),
            devices: distinct(document.measured().flat_map(devices)),
            profile: Some(profile_hash(&document.profile)),
            grade: document.verdict.as_ref().map(|verdict| verdict.grade),
            tool_version: document.tool_version.clone(),
            figures: Metric::all().filter_map(figure).collect(),
        }
    }

    /// Of the document of a suite. Suites tell the same under different names, and some of it not at all: what is not
    /// there is left empty.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn of_suite(kind: &str, grade: Option<Grade>, document: &[u8]) -> Result<Self, serde_json::Error> {
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
            ..Facts::default()
        })
    }
}

/// A command line as a person would type it: the program by its name, with its subcommand, and not by its path.
fn command(words: &[String]) -> String {
    let Some((program, options)) = words.split_first() else { return String::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    [name, &shell_line(options)].join(" ").trim_end().to_string()
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
    let lowest = layers.filter(|layer| layer.is_lowest());
    lowest.map(|layer| Device { name: layer.name.clone(), model: layer.model.clone(), firmware: None })
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

/// The hash of what a profile asks for: the same for runs that may be compared.
///
/// Seeds, paths and the form of the output do not count, so that the same test on another disk has the same hash; sizes,
/// times, caching and threads do. It is made from the XML of the profile, whose form DiskSpd decides and which therefore
/// stays the same from version to version.
pub fn profile_hash(profile: &Profile) -> String {
    let mut plain = profile.clone();
    plain.result_format = ResultFormat::Text;
    plain.progress_ios = 0;
    (plain.verbose, plain.verbose_stats) = (false, false);
    plain.etw = None;
    for span in &mut plain.time_spans {
        span.rand_seed = 0;
        for (place, target) in span.targets.iter_mut().enumerate() {
            target.path = place.to_string();
        }
    }
    let hash = Sha256::digest(xml::write(&plain, 0).as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..HASH_DIGITS].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Target, TimeSpan};

    fn profile(path: &str, seed: u32, block_bytes: u64) -> Profile {
        let targets = vec![Target { path: path.into(), block_bytes, ..Target::default() }];
        let time_spans = vec![TimeSpan { rand_seed: seed, targets, ..TimeSpan::default() }];
        Profile { time_spans, ..Profile::default() }
    }

    #[test]
    fn the_same_test_has_the_same_hash_elsewhere() {
        let hash = profile_hash(&profile("/dev/a", 1, 4096));
        assert_eq!(hash.len(), HASH_DIGITS);
        assert_eq!(profile_hash(&profile("/srv/b.dat", 7, 4096)), hash);
        let verbose = Profile { verbose: true, ..profile("/dev/a", 1, 4096) };
        assert_eq!(profile_hash(&verbose), hash);
        assert_ne!(profile_hash(&profile("/dev/a", 1, 8192)), hash);
        // Two targets are another test than one.
        let mut two = profile("/dev/a", 1, 4096);
        two.time_spans[0].targets.extend(profile("/dev/b", 1, 4096).time_spans[0].targets.clone());
        assert_ne!(profile_hash(&two), hash);
    }

    #[test]
    fn a_command_is_one_that_can_be_typed() {
        let of = |words: &[&str]| command(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["/opt/bin/truespd run", "-b4K", "a b"]), "truespd run -b4K 'a b'");
        assert_eq!(of(&["diskspd"]), "diskspd");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn suites_are_read_whatever_they_call_it() {
        let mark = br#"{"format":"truespd-mark","mark":{"tool_version":"1","host":{"computer_name":"a","unix_s":5}}}"#;
        let facts = Facts::of_suite("mark", Some(Grade::Suspect), mark).unwrap();
        assert_eq!(
            (facts.host.as_str(), facts.start_unix_s, facts.tool_version.as_str()),
            ("a", Some(5), "1")
        );
        let study = br#"{"study":{"parts":[{"comparison":{"computer_name":"b","start_unix_s":6}}]}}"#;
        let facts = Facts::of_suite("study", None, study).unwrap();
        assert_eq!((facts.host.as_str(), facts.start_unix_s), ("b", Some(6)));
        assert!(Facts::of_suite("mark", None, b"{").is_err());
    }
}

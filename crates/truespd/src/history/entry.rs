//! A kept document, as lists show it: its facts, what the person said about it, and its line of an export.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use truespd_core::profile;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{Document, Grade, Layer, Measured, Part};
use truespd_platform::text::{program_line, visible_json};

/// Letters and digits of ids: no `i`, `l`, `o` and `u`, which look like others (Crockford's base 32).
pub(super) const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Digits of a digest: 130 bits.
pub(super) const DIGEST_DIGITS: usize = 26;
/// Digits of an id, as long as no other document begins with them.
pub(super) const ID_DIGITS: usize = 7;

/// What a person says about a document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// A name that several documents may share: those of one group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Words to find it by, in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Revision of what was tested, as the person gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

#[derive(Debug, Clone)]
pub struct NewEntry<'a> {
    /// The document, as `--json` writes it.
    pub document: &'a [u8],
    pub facts: &'a Facts,
    /// What the person says about it.
    pub given: &'a Given,
    /// When it is kept, seconds since 1970 UTC.
    pub kept_unix_s: i64,
}

/// What became of a [`NewEntry`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    pub id: String,
    /// It was not there before.
    pub is_new: bool,
}

/// A kept document without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number in the file; others' files have others.
    #[serde(skip)]
    pub(super) number: i64,
    pub id: String,
    /// When it was kept, seconds since 1970 UTC.
    pub kept_unix_s: i64,
    #[serde(flatten)]
    pub facts: Facts,
    #[serde(flatten)]
    pub given: Given,
    /// Length of the document in bytes.
    pub document_bytes: u64,
}

/// The digest of a document, of which ids are the first digits. Two documents have the same one only when
/// they are the same byte for byte, so that programs which know nothing of each other choose different ids.
pub(super) fn digest(document: &[u8]) -> String {
    let hash = Sha256::digest(document);
    let mut digits = String::new();
    for place in 0..DIGEST_DIGITS {
        let mut digit = 0;
        for bit in place * 5..place * 5 + 5 {
            digit = digit << 1 | usize::from(hash[bit / 8] >> (7 - bit % 8) & 1);
        }
        digits.push(char::from(DIGITS[digit]));
    }
    digits
}

/// What a document tells, in columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Kind of document: `result`, or the name of a suite.
    pub kind: String,
    /// When the run began, seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
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
        let figures = Metric::all_of(document).into_iter();
        let figures = figures.map(|(metric, value)| (metric.id().to_string(), value)).collect();
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
            figures,
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
        Ok(Facts {
            kind: kind.to_string(),
            start_unix_s: found(&value, &["start_unix_s", "unix_s"]).and_then(Value::as_i64),
            host: found_text(&value, "computer_name"),
            command: format!("truespd {kind}"),
            grade,
            tool_version: found_text(&value, "tool_version"),
            parts,
            ..Facts::default()
        })
    }
}

pub(super) fn found_text(value: &Value, name: &str) -> String {
    found(value, &[name]).and_then(Value::as_str).unwrap_or_default().to_string()
}

/// The first member of such a name, outer ones first.
fn found<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    let here = names.iter().find_map(|name| value.get(name)).filter(|value| !value.is_null());
    match value {
        _ if here.is_some() => here,
        Value::Object(members) => members.values().find_map(|member| found(member, names)),
        Value::Array(items) => items.iter().find_map(|item| found(item, names)),
        _ => None,
    }
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

/// What the member `format` of a line says.
pub const FORMAT: &str = "truespd-history";
/// The version that this program writes and reads.
const VERSION: u32 = 1;

/// A document with what is known of it. The document is text inside of the text, so that it stays as it is
/// byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedLine {
    format: String,
    format_version: u32,
    id: String,
    kept_unix_s: i64,
    facts: Facts,
    given: Given,
    /// Names were left out of it ([`super::Redaction`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    pub document: String,
}

/// Why a line is no exported document; completes a sentence that begins with its place.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or not with these members.
    #[error("is not a document that `truespd history export` wrote, or not all of it: {0}")]
    Malformed(#[from] serde_json::Error),
    /// One of a later version.
    #[error("has the format version {0}: a newer truespd wrote it; this program reads version {VERSION}")]
    Newer(u32),
    /// A line of some other program.
    #[error("has the format \"{0}\", version {1}; this program reads \"{FORMAT}\", version {VERSION}")]
    Other(String, u32),
    /// The id is not that of the document.
    #[error("is damaged: the document is not the one with the id {0}")]
    Changed(String),
}

impl ExportedLine {
    /// The line of a document.
    pub fn new(entry: &Entry, document: String) -> Self {
        let (id, given) = (entry.id.clone(), entry.given.clone());
        ExportedLine { id, given, ..Self::of_new(document, entry.facts.clone(), entry.kept_unix_s) }
    }

    /// The line of a document that no file has kept yet.
    pub fn of_new(document: String, facts: Facts, kept_unix_s: i64) -> Self {
        ExportedLine {
            format: FORMAT.into(),
            format_version: VERSION,
            id: digest(document.as_bytes()),
            kept_unix_s,
            facts,
            given: Given::default(),
            redacted: false,
            document,
        }
    }

    /// The same under the whole digest: how long an id is depends on what else is in a history.
    pub fn whole(self) -> Self {
        ExportedLine { id: self.digest(), ..self }
    }

    /// A redacted document with its own facts, and with what the person said where that is kept.
    pub fn without_names(self, facts: Facts, keeps_notes: bool) -> Self {
        let given = if keeps_notes { self.given } else { Given::default() };
        let id = digest(self.document.as_bytes());
        ExportedLine { id, facts, given, redacted: true, ..self }
    }

    /// The digest of the document, of which ids are the first digits.
    pub fn digest(&self) -> String {
        digest(self.document.as_bytes())
    }

    /// The same document with these facts, those that it tells itself, in place of those that somebody wrote beside it.
    pub fn with_facts(self, facts: Facts) -> Self {
        ExportedLine { facts, ..self }
    }

    /// What was written beside the document.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// As text, without a line end.
    pub fn text(&self) -> String {
        visible_json(serde_json::to_string(self).expect("all keys are text, and no type refuses"))
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn read(line: &[u8]) -> Result<Self, LineError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            format_version: u32,
        }
        let Head { format, format_version } = serde_json::from_slice(line)?;
        if format == FORMAT && format_version > VERSION {
            return Err(LineError::Newer(format_version));
        }
        if format != FORMAT || format_version != VERSION {
            return Err(LineError::Other(format, format_version));
        }
        let read: ExportedLine = serde_json::from_slice(line)?;
        let is_its = read.id.len() >= ID_DIGITS && digest(read.document.as_bytes()).starts_with(&read.id);
        if is_its { Ok(read) } else { Err(LineError::Changed(read.id)) }
    }

    pub(super) fn entry(&self) -> NewEntry<'_> {
        NewEntry {
            document: self.document.as_bytes(),
            facts: &self.facts,
            given: &self.given,
            kept_unix_s: self.kept_unix_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_bytes() {
        // SHA-256 of nothing begins with the bytes e3 b0 c4 42 98: 11100 01110 11000 01100 01000 01010 01100 0....
        assert!(digest(b"").starts_with("we" /* 28, 14 */), "{}", digest(b""));
        assert_eq!(&digest(b"")[..7], "werc8gm");
        assert_eq!(digest(b"a").len(), DIGEST_DIGITS);
        assert_ne!(digest(b"a"), digest(b"b"));
    }

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

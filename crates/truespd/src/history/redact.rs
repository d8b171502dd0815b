//! Documents without names: those of hosts, people, files, programs and servers, and whatever a person wrote.
//!
//! Nothing is searched for. Each string of a document has a row in [`ROWS`] that says what it is, and what has no row
//! is left out: a member that is added later is hidden until somebody decides. Sentences are not searched either.
//! They are made anew from the redacted document, or they are those of the catalogue of rules.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::entry::{DIGITS, Facts};
use truespd_core::result::{Document, Finding, TimeSpanResult};
use truespd_verdict::{causes, judge};

mod words;

use words::{harmless_options, is_kernel_device, is_kernel_thread, kept_word, known_filesystem};

/// What stands where a sentence was.
const LEFT_OUT: &str = "(left out: it may hold names)";
/// What a redacted result says of itself.
const NOTE: &str =
    "Names of hosts, files, programs and people were left out of this result (truespd history, --redact).";
/// What the tests of a suite reached, in the form that all suites share.
const RESULTS: &str = "results";
/// Digits of a pseudonym: 35 bits.
const PSEUDONYM_DIGITS: usize = 7;

/// What a string of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Is {
    /// A word of this program, of the kernel or of a device: it stays.
    Harmless,
    /// A machine that measures; the same name has the same pseudonym in all documents of one sender.
    Host,
    /// A machine that serves storage, by name or address; likewise.
    Server,
    /// One cluster run; its ranks stay together.
    Run,
    /// A file or device that is measured, or that lies below one.
    Path,
    /// A device by the kernel's name.
    Device,
    /// The name of a layer: by its kind a path, a kind of file system, or a device.
    Layer,
    /// Kind of a file system.
    Filesystem,
    /// What is mounted at a place.
    MountSource,
    MountPoint,
    MountOptions,
    /// A name that somebody gave to a volume.
    Volume,
    /// What the storage calls itself.
    Storage,
    /// An address of a path to storage.
    Address,
    /// A program that somebody ran.
    Program,
    /// A thread of the kernel, whose name may hold that of a device.
    Thread,
    Group,
    /// A word of a command line.
    Word,
    /// The sides of a comparison: words of a study, or names that a person gave.
    Side,
    /// What is compared, which names targets.
    Title,
    /// A sentence, of which only is left that there was one.
    Sentence,
}

/// What strings are, by the name of their member and that of the member around it; `*` is any.
const ROWS: &[(&str, &[&str], Is)] = &[
    (
        "*",
        &["format", "kind", "by", "role", "cause", "grade", "meaning", "rule", "rules", "tool_version"],
        Is::Harmless,
    ),
    ("*", &["series_end"], Is::Harmless),
    (
        "*",
        &["hdr_v2_base64", "sum_ns", "sum_squares_ns2", "processors", "answered_by", "version"],
        Is::Harmless,
    ),
    (
        "*",
        &["efficiency", "precreate", "release", "result_format", "protocol", "how", "access"],
        Is::Harmless,
    ),
    (
        "*",
        &["bypass_io", "cache", "flush", "priority", "engine", "model", "models", "firmware"],
        Is::Harmless,
    ),
    ("*", &["scheduler", "write_cache", "transport", "compression", "profile", "metric"], Is::Harmless),
    (
        "*",
        &[
            "kernel_release",
            "power_scheme",
            "processor_name",
            "machine_model",
            "governors",
            "driver",
            "level",
        ],
        Is::Harmless,
    ),
    (
        "*",
        &["cache_mode", "consistency", "data_profile", "mapped_as", "partition", "path_policy"],
        Is::Harmless,
    ),
    ("*", &["sync_action", "mode", "state", "connection", "result", "of", "end"], Is::Harmless),
    ("gone", &["what"], Is::Harmless),
    ("head", &["interface", "kernel", "processor", "machine"], Is::Harmless),
    // What a person says of the purge and the serial number have no row.
    ("pts", &["test", "title", "class", "source", "deviations"], Is::Harmless),
    ("sustain", &["ended"], Is::Harmless),
    ("parts", &["name"], Is::Harmless),
    ("stages", &["name"], Is::Harmless),
    ("cells", &["name", "pattern", "block"], Is::Harmless),
    ("tracked", &["name", "figure"], Is::Harmless),
    ("limits", &["what"], Is::Harmless),
    ("losses", &["what"], Is::Harmless),
    ("new", &["what"], Is::Harmless),
    ("of", &["what"], Is::Harmless),
    ("rows", &["what", "direction", "part"], Is::Harmless),
    ("result", &["time_spans"], Is::Harmless),
    ("upper", &["why"], Is::Harmless),
    ("lower", &["why"], Is::Harmless),
    ("clock", &["name"], Is::Harmless),
    ("figures", &["name", "label", "test", "unit"], Is::Harmless),
    ("host", &["architecture", "local_time", "system"], Is::Harmless),
    ("settings", &["parts", "preset"], Is::Harmless),
    ("test", &["pattern"], Is::Harmless),
    ("tests", &["pattern"], Is::Harmless),
    ("blocks", &["order"], Is::Harmless),
    ("comparison", &["outcome", "stopped"], Is::Harmless),
    ("study", &["study"], Is::Harmless),
    ("outcome", &["about", "source", "workload"], Is::Harmless),
    ("runs", &["name"], Is::Harmless),
    ("peers", &["disk"], Is::Harmless),
    ("replica", &["disk"], Is::Harmless),
    ("*", &["computer_name", "host"], Is::Host),
    ("peers", &["name"], Is::Host),
    ("nodes", &["name"], Is::Host),
    ("served_mounts", &["address"], Is::Server),
    ("layers", &["server"], Is::Server),
    ("server", &["name"], Is::Server),
    ("*", &["run"], Is::Run),
    ("*", &["path", "opened_path", "write_source_path", "backing_file", "idle_pages_to"], Is::Path),
    ("*", &["targets", "upper_directory"], Is::Path),
    ("findings", &["target"], Is::Path),
    ("nvme_commands", &["device"], Is::Path),
    ("*", &["device", "device_name", "disks", "layer", "cache_disks", "origin_disks"], Is::Device),
    ("disks", &["name"], Is::Device),
    ("drives", &["name"], Is::Device),
    ("upper_disks", &["name"], Is::Device),
    ("beside_disks", &["name"], Is::Device),
    ("kernel_devices", &["name"], Is::Device),
    ("paths", &["name"], Is::Device),
    ("layers", &["name"], Is::Layer),
    ("*", &["filesystem"], Is::Filesystem),
    ("*", &["mount_source"], Is::MountSource),
    ("*", &["mount_point", "mount_points"], Is::MountPoint),
    ("*", &["mount_options"], Is::MountOptions),
    ("details", &["name"], Is::Volume),
    ("before", &["name"], Is::Volume),
    ("after", &["name"], Is::Volume),
    ("replica", &["resource"], Is::Volume),
    ("*", &["target"], Is::Storage),
    ("paths", &["address"], Is::Address),
    ("most", &["name"], Is::Program),
    ("kernel", &["name"], Is::Thread),
    ("*", &["group"], Is::Group),
    ("*", &["command_line", "words", "line", "foreground_line", "background_line"], Is::Word),
    ("other_runs", &["command_line"], Is::Sentence),
    ("parts", &["names"], Is::Side),
    ("parts", &["title"], Is::Title),
];

/// What the string of a member is; one without a row is a sentence.
fn what(around: &str, member: &str) -> Is {
    let mut of_any = Is::Sentence;
    for (outer, members, is) in ROWS {
        if members.contains(&member) {
            if *outer == around {
                return *is;
            }
            if *outer == "*" {
                of_any = *is;
            }
        }
    }
    of_any
}

/// Makes documents without names. Pseudonyms of hosts come from a secret of the history.
#[derive(Debug)]
pub struct Redaction {
    secret: Vec<u8>,
}

/// Names of one document with what stands in their place.
struct Names<'a> {
    secret: &'a [u8],
    given: BTreeMap<(Is, String), String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Redaction {
    /// With the secret of a history ([`super::Store::secret`]).
    pub fn new(secret: Vec<u8>) -> Self {
        Redaction { secret }
    }

    fn names(&self) -> Names<'_> {
        Names { secret: &self.secret, given: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// The result of a run. What the verdict says is said anew, of the redacted result.
    ///
    /// # Errors
    /// The redacted result could not be read again, so nothing may be given away.
    pub fn result(&self, document: &Document) -> Result<Document, serde_json::Error> {
        let mut value = serde_json::to_value(document)?;
        let mut names = self.names();
        // In the order of the profile: words of the command line know them by that.
        for target in document.profile.targets() {
            names.path(&target.path);
        }
        names.member("", "result", None, &mut value);
        let mut redacted: Document = serde_json::from_value(value)?;
        redacted.notes = vec![NOTE.to_string()];
        for span in &mut redacted.time_spans {
            if let TimeSpanResult::Measured(measured) = span {
                for target in &mut measured.evidence.targets {
                    for layer in &mut target.layers {
                        layer.detail = layer.details.as_ref().and_then(|details| details.sentence());
                    }
                }
            }
        }
        say_anew(&mut redacted);
        Ok(redacted)
    }

    /// The document of a suite with its facts, as JSON that its reader has to read once more: what has no place in
    /// its type must not come through.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn suite(&self, document: &[u8], facts: &Facts) -> Result<(String, Facts), serde_json::Error> {
        let mut value: Value = serde_json::from_slice(document)?;
        let mut names = self.names();
        names.member("", "", None, &mut value);
        let mut facts = facts.clone();
        facts.host = names.instead(Is::Host, &facts.host);
        for target in &mut facts.targets {
            *target = names.instead(Is::Path, target);
        }
        for device in &mut facts.devices {
            device.name = names.instead(Is::Device, &device.name);
        }
        Ok((value.to_string(), facts))
    }
}

/// Sentences of the verdict: those that the rules say of the redacted result, and where a rule of today does not find
/// the same, what it looks for.
fn say_anew(document: &mut Document) {
    let judged = judge(document);
    let Some(verdict) = &mut document.verdict else { return };
    let mut left: Vec<Finding> = judged.findings;
    for finding in &mut verdict.findings {
        let same = left.iter().position(|one| {
            one.rule == finding.rule && one.time_span == finding.time_span && one.target == finding.target
        });
        if let Some(place) = same {
            let said = left.remove(place);
            (finding.says, finding.advice) = (said.says, said.advice);
        }
    }
    for unchecked in &mut verdict.unchecked {
        let same = judged
            .unchecked
            .iter()
            .find(|one| one.rule == unchecked.rule && one.time_span == unchecked.time_span);
        if let Some(same) = same {
            unchecked.why = same.why.clone();
        }
    }
}

impl Names<'_> {
    /// A member and all inside of it; `kind` is the word of its neighbour of that name.
    fn member(&mut self, around: &str, member: &str, kind: Option<&str>, value: &mut Value) {
        match value {
            Value::String(text) => {
                let is = match (what(around, member), kind) {
                    (Is::Layer, Some("file")) => Is::Path,
                    (Is::Layer, Some(kind)) if kind.ends_with("filesystem") => Is::Filesystem,
                    (Is::Layer, _) => Is::Device,
                    (is, _) => is,
                };
                *text = self.instead(is, text);
            }
            Value::Array(items) if what(around, member) == Is::Word => self.words(items),
            Value::Array(items) => {
                for item in &mut *items {
                    self.member(around, member, kind, item);
                }
                // One is enough to say that there were some.
                if what(around, member) == Is::Sentence && items.iter().all(Value::is_string) {
                    items.truncate(1);
                }
            }
            Value::Object(members) => self.members(member, members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn members(&mut self, around: &str, members: &mut Map<String, Value>) {
        // They are computed from the rest, and their coordinates hold words of any kind.
        members.remove(RESULTS);
        let kind = members.get("kind").and_then(Value::as_str).map(str::to_string);
        if let (Some(path), Some(opened)) = (text_of(members, "path"), text_of(members, "opened_path")) {
            // A file keeps one name, however its path is written.
            if path.rsplit('/').next() == opened.rsplit('/').next() {
                let instead = self.instead(Is::Path, &path);
                self.given.insert((Is::Path, opened), instead);
            }
        }
        let rule = text_of(members, "rule");
        for (name, value) in members {
            self.member(around, name, kind.as_deref(), value);
            if let (Some(rule), Value::String(text)) = (&rule, value) {
                let cause = causes().find(|cause| cause.name == rule);
                match (name.as_str(), cause) {
                    ("says", Some(cause)) => *text = cause.about.to_string(),
                    ("advice", Some(cause)) => *text = cause.advice.to_string(),
                    _ => {}
                }
            }
        }
    }

    /// What stands in the place of a string.
    fn instead(&mut self, is: Is, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        match is {
            Is::Harmless => text.to_string(),
            Is::Sentence => LEFT_OUT.to_string(),
            Is::Host => self.pseudonym("host", text),
            Is::Server => self.pseudonym("server", text),
            Is::Run => self.pseudonym("run", text),
            Is::Path => self.path(text),
            Is::Layer | Is::Device if is_kernel_device(text) => text.to_string(),
            Is::Layer | Is::Device => self.numbered(Is::Device, "device", text),
            Is::Filesystem => known_filesystem(text).to_string(),
            Is::MountSource => self.mount_source(text),
            Is::MountPoint if text == "/" => text.to_string(),
            Is::MountPoint => format!("/{}", self.numbered(is, "mount", text)),
            Is::MountOptions => harmless_options(text),
            Is::Volume => match text.split_once('/') {
                Some((group, volume)) => {
                    let group = self.numbered(is, "group", group);
                    format!("{group}/{}", self.numbered(is, "volume", volume))
                }
                None => self.numbered(is, "volume", text),
            },
            Is::Storage => self.numbered(is, "storage", text),
            Is::Address => self.numbered(is, "address", text),
            Is::Program => self.numbered(is, "program", text),
            Is::Thread if is_kernel_thread(text) => text.to_string(),
            Is::Thread => self.numbered(is, "thread", text),
            Is::Group if text == "/" => text.to_string(),
            Is::Group => format!("/{}", self.numbered(is, "group", text)),
            Is::Word => kept_word(text).map_or_else(|| words::without_value(text), str::to_string),
            Is::Side if words::is_of_a_study(text) => text.to_string(),
            Is::Side => self.path(text),
            Is::Title => self.numbered(is, "comparison", text),
        }
    }

    /// A name that only this history gives, and always the same.
    fn pseudonym(&self, what: &str, name: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.secret);
        hash.update(what.as_bytes());
        hash.update([0]);
        hash.update(name.as_bytes());
        let digits: String = hash
            .finalize()
            .iter()
            .take(PSEUDONYM_DIGITS)
            .map(|byte| char::from(DIGITS[usize::from(byte % 32)]))
            .collect();
        format!("{what}-{digits}")
    }

    /// A name with a number: the first one of this document has 1. What was one name stays one.
    fn numbered(&mut self, is: Is, what: &'static str, name: &str) -> String {
        if let Some(known) = self.given.get(&(is, name.to_string())) {
            return known.clone();
        }
        let number = self.counts.entry(what).or_default();
        *number += 1;
        let made = format!("{what}-{number}");
        self.given.insert((is, name.to_string()), made.clone());
        made
    }

    /// A device stays a device, and a disk by its number or a template stays what it is.
    fn path(&mut self, path: &str) -> String {
        if let Some(known) = self.given.get(&(Is::Path, path.to_string())) {
            return known.clone();
        }
        let is_by_number =
            path.strip_prefix(['#', '*']).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let device = path.strip_prefix("/dev/");
        if is_by_number || device.is_some_and(is_kernel_device) {
            return path.to_string();
        }
        let name = self.numbered(Is::Path, "target", path);
        let made = if device.is_some() { format!("/dev/{name}") } else { format!("{name}.dat") };
        self.given.insert((Is::Path, path.to_string()), made.clone());
        made
    }

    fn mount_source(&mut self, source: &str) -> String {
        if source.strip_prefix("/dev/").is_some_and(is_kernel_device) || known_filesystem(source) == source {
            return source.to_string();
        }
        let served = match source.strip_prefix("//") {
            Some(share) => share.split_once('/'),
            None => source.split_once(":/"),
        };
        match served {
            Some((server, _)) => {
                let server = self.pseudonym("server", server);
                format!("{server}:/{}", self.numbered(Is::MountSource, "source", source))
            }
            None => self.numbered(Is::MountSource, "source", source),
        }
    }

    /// A command line: targets by their new names, options that hold nothing but numbers, and of others their letter.
    fn words(&mut self, items: &mut [Value]) {
        let mut is_value = true;
        for (place, item) in items.iter_mut().enumerate() {
            let Value::String(word) = item else { continue };
            let is_target = place > 0 && !is_value && !word.starts_with('-') && kept_word(word).is_none();
            // A value may stand behind an option of two dashes, as a word of its own.
            is_value = word.starts_with("--") && !word.contains('=');
            *word = if is_target { self.path(word) } else { self.instead(Is::Word, word) };
        }
    }
}

fn text_of(members: &Map<String, Value>, name: &str) -> Option<String> {
    members.get(name).and_then(Value::as_str).map(str::to_string)
}

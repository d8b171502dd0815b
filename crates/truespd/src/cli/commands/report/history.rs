//! `truespd report --history`: the kept results as a table for their page, and their documents in it or beside it.

use crate::cli::commands::render::{Read, document};
use crate::history::{Beside, Entry, HistoryError, Store, Surroundings};
use crate::report::history::{Documents, Kept, KeptResult, KeptTest, Machine, packed};
use crate::report::words_of_test;
use diskspd::request::Output;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use truespd_core::result::Part;
use truespd_front::console::say_line;
use truespd_platform::machine::host::unix_time_s;

/// Bytes that documents take in a page at most; more of them lie beside it.
const INSIDE_BYTES_MAX: usize = 4 << 20;

/// What is read of a history for a page.
pub(super) struct Gathered {
    pub kept: Kept,
    /// Those whose documents can be read.
    pub entries: Vec<Entry>,
}

/// What makes a test: kind of document, part of a suite, hash of the profile.
type TestKey = (String, Option<String>, String);

/// Reads all documents of the entries, each once. A damaged one has its figures on the page, and no document.
pub(super) fn gathered(store: &Store, entries: Vec<Entry>, filters: String) -> Gathered {
    let mut tests: Vec<KeptTest> = Vec::new();
    let mut places: HashMap<TestKey, usize> = HashMap::new();
    let (mut results, mut readable) = (Vec::new(), Vec::new());
    let (mut inside, mut inside_bytes, mut unmeasured) = (Vec::new(), 0, 0);
    for entry in entries {
        let parts = parts(&entry);
        if parts.is_empty() {
            unmeasured += 1;
            continue;
        }
        let bytes = match store.document(&entry) {
            Ok(bytes) => bytes,
            Err(error) => {
                say_line(format_args!("the page shows {} without its document: {error}", entry.id));
                Vec::new()
            }
        };
        let base = base(&entry, &bytes);
        for (key, part) in parts {
            let test = *places.entry(key.clone()).or_insert_with(|| {
                tests.push(test(&key, &part, &entry, &bytes));
                tests.len() - 1
            });
            let command = if part.command.is_empty() { base.command.clone() } else { part.command };
            results.push(KeptResult { test, command, figures: part.figures, ..base.clone() });
        }
        if bytes.is_empty() {
            continue;
        }
        if inside_bytes <= INSIDE_BYTES_MAX {
            let packed = packed(&bytes);
            inside_bytes += packed.len();
            inside.push((entry.id.clone(), packed));
        }
        readable.push(entry);
    }
    let documents =
        if inside_bytes <= INSIDE_BYTES_MAX { Documents::Inside(inside) } else { Documents::Kept };
    told_apart(&mut tests);
    let tests = frequent_first(tests, &mut results);
    let made_unix_s = unix_time_s().unwrap_or(0);
    let kept = Kept { results, tests, documents, unmeasured, filters, made_unix_s };
    Gathered { kept, entries: readable }
}

/// What counts of a document: the run, or each test of a suite; nothing without figures.
fn parts(entry: &Entry) -> Vec<(TestKey, Part)> {
    let facts = &entry.facts;
    let mut parts = Vec::new();
    if !facts.figures.is_empty() {
        let profile = facts.profile.clone().unwrap_or_default();
        let (command, figures) = (facts.command.clone(), facts.figures.clone());
        let part = Part { profile: profile.clone(), command, figures, ..Part::default() };
        parts.push(((facts.kind.clone(), None, profile), part));
    }
    for part in &facts.parts {
        let key = (facts.kind.clone(), Some(part.name.clone()), part.profile.clone());
        parts.push((key, part.clone()));
    }
    parts
}

/// What all parts of a document share.
fn base(entry: &Entry, bytes: &[u8]) -> KeptResult {
    let facts = &entry.facts;
    let told = Surroundings::of(&facts.kind, bytes);
    let (mut names, mut models, mut firmware) = (Vec::new(), Vec::new(), Vec::new());
    for device in &facts.devices {
        names.push(device.name.clone());
        models.extend(device.model.clone());
        firmware.extend(device.firmware.clone());
    }
    KeptResult {
        id: entry.id.clone(),
        has_document: !bytes.is_empty(),
        time_s: entry.time_s(),
        machine: Machine {
            name: facts.host.clone(),
            model: told.machine_model,
            processor: told.processor,
            processors: told.processors,
            memory_gib: told.memory_bytes.map_or(0, whole_gib),
        },
        targets: facts.targets.join(", "),
        device: names.join(", "),
        model: models.join(", "),
        firmware: firmware.join(", "),
        kernel: told.kernel,
        filesystem: told.filesystem,
        settings: told.settings,
        command: facts.command.clone(),
        label: entry.given.label.clone().unwrap_or_default(),
        note: entry.given.note.clone().unwrap_or_default(),
        tags: entry.given.tags.join(", "),
        grade: facts.grade,
        ..KeptResult::default()
    }
}

fn whole_gib(bytes: u64) -> u64 {
    bytes.saturating_add(1 << 29) >> 30
}

fn test(key: &TestKey, part: &Part, entry: &Entry, bytes: &[u8]) -> KeptTest {
    let (kind, name, profile) = key;
    let command = if part.command.is_empty() { entry.facts.command.clone() } else { part.command.clone() };
    let words = match name {
        Some(name) => format!("{kind}: {name}"),
        None => match document(Path::new(&entry.id), bytes) {
            Ok(Read::Result(document)) => words_of_test(&document),
            _ => command.clone(),
        },
    };
    KeptTest { words, command, profile: profile.clone() }
}

/// Tests that read alike get the beginning of what tells them apart.
fn told_apart(tests: &mut [KeptTest]) {
    let mut of_words: HashMap<String, usize> = HashMap::new();
    for test in tests.iter() {
        *of_words.entry(test.words.clone()).or_default() += 1;
    }
    for test in tests {
        if of_words[&test.words] > 1 {
            let digits: String = test.profile.chars().take(7).collect();
            test.words += &format!(" (profile {digits})");
        }
    }
}

/// The tests with most results first.
fn frequent_first(tests: Vec<KeptTest>, results: &mut [KeptResult]) -> Vec<KeptTest> {
    let mut counts = vec![0_usize; tests.len()];
    for result in results.iter() {
        counts[result.test] += 1;
    }
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by_key(|&test| (usize::MAX - counts[test], &tests[test].words));
    let mut new = vec![0; tests.len()];
    for (place, &test) in order.iter().enumerate() {
        new[test] = place;
    }
    for result in results {
        result.test = new[result.test];
    }
    order.into_iter().map(|test| tests[test].clone()).collect()
}

impl Gathered {
    /// The folder for documents that do not fit into the page, which is told its name. Nothing is written yet.
    ///
    /// # Errors
    /// They cannot go there.
    pub fn beside(&mut self, page: &Output, store: &Store) -> Result<Option<Beside>, HistoryError> {
        let Documents::Kept = self.kept.documents else { return Ok(None) };
        let stem = page.path.strip_suffix(".html").unwrap_or(&page.path);
        let path = PathBuf::from(format!("{stem}-documents"));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.kept.documents = Documents::Beside(name);
        Beside::check(path, store, &self.entries).map(Some)
    }
}

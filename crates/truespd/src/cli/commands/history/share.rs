//! `truespd history push|pull`: results put into a folder that several people share, and taken from it; and results
//! without names, to be given away.

use crate::cli::commands::history::find::{CommandResult, FilterArguments, HistoryFile};
use crate::cli::commands::render::{Read, faithful, unreadable};
use crate::history::{
    Entry, ExportedLine, Facts, FileError, Filter, HistoryError, Put, Redaction, Shared, Store,
};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use truespd_core::result::{Document, json};
use truespd_front::console::{say_line, tell};
use truespd_front::program::print;
use truespd_front::show::plural;
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Fault};
use truespd_platform::machine::host::unix_time_s;
use truespd_platform::text::{printable, printable_path};

/// Put kept results into a folder that others share
///
/// Each result is a file of its own, named by its digest and written once, so that any number of people and machines
/// may push into one folder (NFS, SMB, a folder that a program synchronises) at the same time. What is there already
/// stays as it is. The first push makes the folder.
#[derive(Debug, Args)]
pub(crate) struct PushArguments {
    /// Folder that others reach, too
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    redact: RedactArguments,
    #[command(flatten)]
    which: FilterArguments,
}

/// Keep the results of a folder that others share
///
/// Only what this history has not is read. With filters, only the results that they name are kept. What is no result,
/// or damaged, is named and left out; all others are kept.
#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// Folder into which `history push` put results
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    which: FilterArguments,
}

/// Whether names are left out of what is written.
#[derive(Debug, Args)]
pub(crate) struct RedactArguments {
    /// Leave out names of hosts, users, files, programs, volumes and servers, and labels, notes, tags and revisions.
    /// Models, firmware, kernel, figures and verdict stay
    #[arg(long)]
    redact: bool,
    /// With --redact: keep labels, notes, tags and revisions as they are
    #[arg(long, requires = "redact")]
    keep_notes: bool,
}

/// How lines of kept results are made.
pub(super) struct Lines<'s> {
    store: &'s Store,
    redaction: Option<Redaction>,
    keeps_notes: bool,
}

impl<'s> Lines<'s> {
    pub fn new(store: &'s Store, arguments: &RedactArguments) -> Result<Self, HistoryError> {
        let redaction = if arguments.redact { Some(Redaction::new(store.secret()?)) } else { None };
        Ok(Lines { store, redaction, keeps_notes: arguments.keep_notes })
    }

    /// The line of a kept result.
    pub fn of(&self, entry: &Entry) -> Result<ExportedLine, Failure> {
        let bytes = self.store.document(entry)?;
        match &self.redaction {
            None => Ok(ExportedLine::new(entry, String::from_utf8_lossy(&bytes).into_owned())),
            Some(redaction) => self.redacted(entry, &bytes, redaction),
        }
    }

    fn redacted(&self, entry: &Entry, bytes: &[u8], redaction: &Redaction) -> Result<ExportedLine, Failure> {
        let path = Path::new(&entry.id);
        let (document, facts) = match faithful(path, bytes)? {
            Read::Result(document) => {
                let redacted = redaction.result(&document).map_err(|error| cannot_redact(path, &error))?;
                (json::write(&redacted), Facts::of_result(&redacted))
            }
            Read::OfSuite(_) => {
                let (text, facts) =
                    redaction.suite(bytes, &entry.facts).map_err(|error| cannot_redact(path, &error))?;
                let Read::OfSuite(stored) = faithful(path, text.as_bytes())? else {
                    return Err(unreadable(path, "is no document of a suite any more").into());
                };
                let facts = Facts { parts: stored.kept_parts(), ..facts };
                (stored.json(), facts)
            }
            Read::Plain(plain) => return Err(unreadable(path, format!("is a {}", plain.kind)).into()),
        };
        Ok(ExportedLine::new(entry, document).without_names(facts, self.keeps_notes))
    }
}

fn cannot_redact(path: &Path, error: &serde_json::Error) -> Failure {
    unreadable(path, format!("cannot be given away without names: {error}")).into()
}

/// What went wrong with single results. A folder may hold a million files of others, so only the first are told one by
/// one, and of the rest there is the number.
#[derive(Default)]
struct Failures {
    first: Vec<Failure>,
    more: usize,
}

/// How many are told one by one.
const TOLD: usize = 10;

impl Failures {
    fn add(&mut self, failure: Failure) {
        if self.first.len() < TOLD { self.first.push(failure) } else { self.more += 1 }
    }

    /// Tells them; `left` is what became of the results.
    fn tell(self, left: &str) -> ExitCode {
        if self.first.is_empty() {
            return ExitCode::Done;
        }
        let code = tell(Fault::from(self.first));
        if self.more > 0 {
            say_line(format_args!("ERROR: {} more like these; {left}", self.more));
        }
        code
    }
}

fn of_file(path: &Path, error: &FileError) -> Failure {
    let shown = printable_path(path);
    let failure = Failure::new(FailureKind::Output, format!("'{shown}' {error}")).on(shown);
    match error {
        FileError::Taken(_) => failure.hint("remove that file, and push again"),
        FileError::CutOff | FileError::Damaged(_) => {
            failure.hint("remove that file, and then push once more from a history that has the result")
        }
        _ => failure,
    }
}

pub(super) fn push(file: &HistoryFile, arguments: &PushArguments) -> CommandResult {
    let Some(store) = file.open_to_read()? else {
        say_line(format_args!("{}", file.nothing_yet()));
        return Ok(ExitCode::Done);
    };
    let mut entries = store.list(&arguments.which.filter())?;
    entries.reverse();
    let lines = Lines::new(&store, &arguments.redact)?;
    let shared = Shared::open_to_put(&arguments.folder)?;
    let (mut new, mut known, mut failures) = (0, 0, Failures::default());
    for entry in &entries {
        let line = match lines.of(entry) {
            Ok(line) => line.whole(),
            Err(failure) => {
                failures.add(failure);
                continue;
            }
        };
        match shared.put(&line) {
            Ok(Put::New) => new += 1,
            Ok(Put::Known) => known += 1,
            Err(error) => {
                failures.add(of_file(&shared.path_of(&line.digest()), &error));
                // Each of the others would fail for the same reason.
                if matches!(error, FileError::Write(_)) {
                    break;
                }
            }
        }
    }
    shared.flush();
    let code = failures.tell("they were not pushed");
    Ok(print(&format!("{} pushed{}\n", plural(new, "result"), there_already(known)), code))
}

fn there_already(known: usize) -> String {
    if known > 0 { format!(", {known} there already") } else { String::new() }
}

/// Results that are kept as one change: enough for a fast pull, and few enough that others wait for moments only.
const AT_ONCE: usize = 100;
/// And no more bytes of documents than this, but for one that is larger.
const BYTES_AT_ONCE: usize = 64 << 20;
/// A start that lies so far ahead is no matter of clocks that differ a little.
const AHEAD_S: i64 = 24 * 60 * 60;
/// Before this (2001-09-09) no result was measured: a clock that was not set says 1970.
const FIRST_S: i64 = 1_000_000_000;

pub(super) fn pull(file: &HistoryFile, arguments: &PullArguments) -> CommandResult {
    let shared = Shared::open_to_take(&arguments.folder)?;
    let names = shared.names()?;
    let store = Store::open(&file.path)?;
    let kept = store.digests()?;
    let mut seen = Seen { now_s: unix_time_s(), ..Seen::default() };
    let mut taking = Taking { store, which: arguments.which.filter(), new: 0, known: 0, left: 0 };
    let mut failures = Failures::default();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for digest in &names.documents {
        if kept.contains(digest) {
            taking.known += 1;
            continue;
        }
        match taken(&shared, digest, &mut seen) {
            Ok(line) => {
                bytes += line.document.len();
                batch.push(line);
            }
            Err(failure) => failures.add(failure),
        }
        if batch.len() >= AT_ONCE || bytes >= BYTES_AT_ONCE {
            taking.keep(&mut batch)?;
            bytes = 0;
        }
    }
    taking.keep(&mut batch)?;
    seen.say();
    for name in names.others.iter().take(TOLD) {
        let path = arguments.folder.join(name);
        let shown = printable_path(&path);
        let message = format!("'{shown}' was not written by truespd history push");
        failures.add(Failure::new(FailureKind::Output, message).on(shown));
    }
    failures.more += names.others.len().saturating_sub(TOLD);
    let code = failures.tell("they were left out");
    let Taking { new, known, left, .. } = taking;
    let left = if left > 0 { format!(", {left} not asked for") } else { String::new() };
    Ok(print(&format!("{} imported{}{left}\n", plural(new, "result"), there_already(known)), code))
}

/// The history while results of a folder come into it.
struct Taking {
    store: Store,
    /// Which of them are wanted.
    which: Filter,
    new: usize,
    known: usize,
    /// Not of the filter.
    left: usize,
}

impl Taking {
    fn keep(&mut self, batch: &mut Vec<ExportedLine>) -> Result<(), Fault> {
        if batch.is_empty() {
            return Ok(());
        }
        let asked = batch.len();
        let added = self.store.add_all(batch.drain(..).map(Ok::<_, HistoryError>), &self.which)?;
        let new = added.iter().filter(|one| one.is_new).count();
        self.new += new;
        self.known += added.len() - new;
        self.left += asked - added.len();
        Ok(())
    }
}

/// A document of the folder. What can be known from it is not taken from what stands beside it.
fn taken(shared: &Shared, digest: &str, seen: &mut Seen) -> Result<ExportedLine, Failure> {
    let path = shared.path_of(digest);
    let line = shared.read(digest).map_err(|error| of_file(&path, &error))?;
    let facts = match faithful(&path, line.document.as_bytes())? {
        Read::Result(document) => {
            seen.look(&document);
            Facts::of_result(&document)
        }
        Read::OfSuite(stored) => {
            let text = line.document.as_bytes();
            let told = Facts::of_suite(stored.name(), stored.grade(), stored.kept_parts(), text);
            let told = told.map_err(|error| unreadable(&path, format!("is no JSON: {error}")))?;
            // Its document does not tell these.
            let Facts { targets, devices, .. } = line.facts().clone();
            Facts { targets, devices, ..told }
        }
        Read::Plain(plain) => {
            let what = format!("is a {}, not the result of a run or a suite", plain.kind);
            return Err(unreadable(&path, what).into());
        }
    };
    seen.look_at_time(&facts);
    Ok(line.with_facts(facts))
}

/// What is odd about the machines of the results that were read.
#[derive(Default)]
struct Seen {
    now_s: Option<i64>,
    /// The machines that a name was seen of.
    machines: BTreeMap<String, Vec<String>>,
    /// Hosts whose clocks were wrong, with how many results.
    clocks: BTreeMap<String, usize>,
}

impl Seen {
    fn look(&mut self, document: &Document) {
        if document.is_sum() {
            return;
        }
        let system = &document.system;
        let processors = plural(system.topology.processors.len(), "processor");
        let machine = format!("{processors} {}", system.processor_name).trim_end().to_string();
        let machines = self.machines.entry(system.computer_name.clone()).or_default();
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }

    fn look_at_time(&mut self, facts: &Facts) {
        let (Some(start_s), Some(now_s)) = (facts.start_unix_s, self.now_s) else { return };
        if start_s > now_s.saturating_add(AHEAD_S) || start_s < FIRST_S {
            *self.clocks.entry(facts.host.clone()).or_default() += 1;
        }
    }

    fn say(&self) {
        for (host, machines) in self.machines.iter().filter(|(_, machines)| machines.len() > 1).take(TOLD) {
            let (host, machines) = (printable(host), printable(&machines.join("; ")));
            say_line(format_args!(
                "note: machines that differ have the name '{host}', or one was changed: {machines}"
            ));
        }
        for (host, count) in self.clocks.iter().take(TOLD) {
            let (host, results) = (printable(host), plural(*count, "result"));
            say_line(format_args!(
                "note: the clock of '{host}' was wrong: {results} began in the future or before 2001; --since and \
                 --until do not find them where they belong"
            ));
        }
    }
}

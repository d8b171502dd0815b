//! `truespd history`: kept results named, removed and moved to another file; `find` lists, shows and counts them.

use crate::ask::keeping;
use crate::ask::keeping::{Keeping, store_path};
use crate::cli::commands::history::find::{CommandResult, FilterArguments, HistoryFile, Moment, ago};
use crate::cli::commands::render::{Read, faithful, unreadable};
use crate::history::{Added, Entry, ExportedLine, FORMAT, Facts, Filter, Store};
use clap::{ArgGroup, Args, Subcommand};
use diskspd::request::{HistoryOptions, Output};
use diskspd::run::outputs::LaterOutputs;
use std::io;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use truespd_core::result::envelope::format_of;
use truespd_core::result::json;
use truespd_core::result::json::ReadError;
use truespd_front::console::{say_line, tell};
use truespd_front::keeping::{HANDED_OVER, NotKept};
use truespd_front::program::print;
use truespd_front::show::plural;
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Outcome, Refusal, RefusalKind};
use truespd_platform::machine::host::unix_time_s;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::source::{BYTES_MAX, Source, read_line};
use truespd_platform::text::printable;

mod expect;
pub(crate) mod find;
mod share;

/// Find kept results again: every run and suite of truespd is kept in one file
///
/// DOCUMENT is the id of a kept result, the beginning of one, or a label. Times are UTC: 2026-11-23,
/// 2026-11-23T10:00, or how long ago: 90d, 12h, 2w.
#[derive(Debug, Args)]
pub(crate) struct HistoryCommand {
    /// File of the history [default: $TRUESPD_STORE, that of the configuration file, or
    /// ~/.local/share/truespd/history.sqlite]
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<String>,
    /// What is done; without it the newest results are listed.
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(find::ListArguments),
    Show(find::ShowArguments),
    Label(LabelArguments),
    Tag(TagArguments),
    Note(NoteArguments),
    Rm(RemoveArguments),
    Export(ExportArguments),
    Import(ImportArguments),
    Push(share::PushArguments),
    Pull(share::PullArguments),
    Prune(PruneArguments),
    Stats(find::StatsArguments),
    Expect(expect::ExpectArguments),
}

pub(crate) fn run(arguments: &HistoryCommand) -> ExitCode {
    if let Some(Action::Import(import)) = &arguments.action
        && import.is_handed_over
    {
        return take_over(arguments.store.as_deref(), import);
    }
    let file = match store_path(arguments.store.as_deref()) {
        Ok(path) => HistoryFile { path },
        Err(refusal) => return tell(refusal),
    };
    let newest = Action::List(find::ListArguments::default());
    let done = match arguments.action.as_ref().unwrap_or(&newest) {
        Action::List(arguments) => find::list(&file, arguments),
        Action::Show(arguments) => find::show(&file, arguments),
        Action::Label(arguments) => label(&file, arguments),
        Action::Tag(arguments) => tag(&file, arguments),
        Action::Note(arguments) => note(&file, arguments),
        Action::Rm(arguments) => remove(&file, arguments),
        Action::Export(arguments) => export(&file, arguments),
        Action::Import(arguments) => import(&file, arguments),
        Action::Push(arguments) => share::push(&file, arguments),
        Action::Pull(arguments) => share::pull(&file, arguments),
        Action::Prune(arguments) => prune(&file, arguments),
        Action::Stats(arguments) => find::stats(&file, arguments),
        Action::Expect(arguments) => expect::expect(&file, arguments),
    };
    done.unwrap_or_else(tell)
}

/// Give a kept result a name, or take it away
///
/// Several results may share a label: they are one group for comparisons.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct LabelArguments {
    /// Id, beginning of an id, or label
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// The name
    #[arg(value_name = "NAME", group = "what", value_parser = keeping::label)]
    name: Option<String>,
    /// Take the label away
    #[arg(long, group = "what")]
    remove: bool,
}

/// Add tags to kept results and remove others: `history tag 3f7k2q1 +night -draft`
#[derive(Debug, Args)]
pub(crate) struct TagArguments {
    /// Id, beginning of an id, or label: then of all results with it
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// +TAG or TAG adds it, -TAG removes it
    #[arg(required = true, value_name = "+TAG|-TAG", allow_hyphen_values = true, value_parser = tag_change)]
    changes: Vec<TagChange>,
}

/// Write a sentence to a kept result, or take it away
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true))]
pub(crate) struct NoteArguments {
    /// Id, beginning of an id, or label
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// The sentence
    #[arg(value_name = "TEXT", group = "what", value_parser = keeping::label)]
    text: Option<String>,
    /// Take the note away
    #[arg(long, group = "what")]
    remove: bool,
}

/// Remove kept results for good
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Ids or beginnings of ids; a label counts where one result has it
    #[arg(required = true, value_name = "DOCUMENT")]
    documents: Vec<String>,
}

/// A tag to add or to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TagChange {
    Add(String),
    Remove(String),
}

fn tag_change(text: &str) -> Result<TagChange, Refusal> {
    match text.strip_prefix('-') {
        Some(tag) => keeping::tag(tag).map(TagChange::Remove),
        None => keeping::tag(text.strip_prefix('+').unwrap_or(text)).map(TagChange::Add),
    }
}

fn label(file: &HistoryFile, arguments: &LabelArguments) -> CommandResult {
    let (mut store, entry) = one(file, &arguments.document)?;
    store.set_label(&entry, arguments.name.as_deref())?;
    Ok(print_lines(&[entry], |_| {
        arguments.name.as_ref().map_or("no label".into(), |name| format!("label {name}"))
    }))
}

fn note(file: &HistoryFile, arguments: &NoteArguments) -> CommandResult {
    let (mut store, entry) = one(file, &arguments.document)?;
    store.set_note(&entry, arguments.text.as_deref())?;
    Ok(print_lines(&[entry], |_| {
        arguments.text.as_ref().map_or("no note".into(), |text| format!("note: {text}"))
    }))
}

fn tag(file: &HistoryFile, arguments: &TagArguments) -> CommandResult {
    let mut store = file.open_to_change(&arguments.document)?;
    let entries = store.find(&arguments.document)?;
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for change in &arguments.changes {
        match change {
            TagChange::Add(tag) => add.push(tag.clone()),
            TagChange::Remove(tag) => remove.push(tag.clone()),
        }
    }
    store.tag(&entries, &add, &remove)?;
    let now = store.find(&arguments.document)?;
    Ok(print_lines(&now, |entry| match entry.given.tags.as_slice() {
        [] => "no tags".to_string(),
        tags => format!("tags {}", tags.join(" ")),
    }))
}

fn remove(file: &HistoryFile, arguments: &RemoveArguments) -> CommandResult {
    let mut store = file.open_to_change(&arguments.documents[0])?;
    // All are found before the first is removed.
    let found = arguments.documents.iter().map(|word| store.find_one(word));
    let entries: Vec<Entry> = found.collect::<Result<_, _>>()?;
    store.remove(&entries)?;
    Ok(print_lines(&entries, |_| "removed".to_string()))
}

fn one(file: &HistoryFile, word: &str) -> Result<(Store, Entry), Refusal> {
    let store = file.open_to_change(word)?;
    let entry = store.find_one(word)?;
    Ok((store, entry))
}

/// Prints a line for each document.
fn print_lines(entries: &[Entry], words: impl Fn(&Entry) -> String) -> ExitCode {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&printable(&format!("{}: {}", entry.id, words(entry))));
        text.push('\n');
    }
    print(&text, ExitCode::Done)
}

/// Remove old results for good, and give their room back
///
/// Results with a label or a note stay: somebody named them to have them later.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("rule").required(true).multiple(true))]
pub(crate) struct PruneArguments {
    /// Remove results that began longer ago: 90d, 12h, 2w, 6mo
    #[arg(long, value_name = "AGE", group = "rule", value_parser = ago)]
    older_than: Option<Moment>,
    /// The newest N stay in any case; without --older-than all others are removed
    #[arg(long, value_name = "N", group = "rule")]
    keep_last: Option<usize>,
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    which: FilterArguments,
}

fn prune(file: &HistoryFile, arguments: &PruneArguments) -> CommandResult {
    let Some(store) = file.open_to_read()? else {
        say_line(format_args!("{}", file.nothing_yet()));
        return Ok(ExitCode::Done);
    };
    let before_s = arguments.older_than.map(|moment| moment.0);
    let keep_last = arguments.keep_last.unwrap_or(0);
    let prunable = store.prunable(&arguments.which.filter(), before_s, keep_last)?;
    let results = plural(prunable.len(), "result");
    if arguments.dry_run {
        let code = print(&find::listed(&prunable), ExitCode::Done);
        say_line(format_args!("{results} would be removed"));
        return Ok(code);
    }
    if !prunable.is_empty() {
        drop(store);
        let mut store = file.open_to_change("prune")?;
        store.remove(&prunable)?;
        if let Err(error) = store.shrink() {
            say_line(format_args!(
                "WARNING: the results are removed, but the file could not be made smaller: {error}"
            ));
        }
    }
    Ok(print(&format!("{results} removed\n"), ExitCode::Done))
}

/// Write kept results as JSON lines: one for each, with what is known of it and the document as text
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// File to write; it gets its name when it is complete; - is standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    redact: share::RedactArguments,
    #[command(flatten)]
    which: FilterArguments,
}

/// Keep results of another history, or documents that --json wrote
///
/// A result that is there already stays as it is, but for tags, a label and a note that it has not. Nothing
/// is imported when a line cannot be read.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Files that `history export` or --json wrote; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The result of one run, from `diskspd`: the answer is the line that tells of it
    #[arg(long = HANDED_OVER, hide = true)]
    is_handed_over: bool,
    #[command(flatten)]
    given: GivenArguments,
}

/// What `diskspd` says of a result that it hands over.
#[derive(Debug, Args)]
struct GivenArguments {
    #[arg(long, hide = true, requires = "is_handed_over", value_parser = keeping::label)]
    label: Option<String>,
    #[arg(long, hide = true, requires = "is_handed_over", value_parser = keeping::tag)]
    tag: Vec<String>,
    #[arg(long, hide = true, requires = "is_handed_over", value_parser = keeping::label)]
    revision: Option<String>,
}

fn export(file: &HistoryFile, arguments: &ExportArguments) -> CommandResult {
    let Some(store) = file.open_to_read()? else {
        say_line(format_args!("{}", file.nothing_yet()));
        return Ok(ExitCode::Done);
    };
    let output = arguments.output.iter().map(|path| Output { format: "kept", path: path.clone() });
    let outputs = match arguments.output.as_deref() {
        None | Some("-") => None,
        Some(_) => {
            let taken = [file.path.to_string_lossy().into_owned()];
            Some(LaterOutputs::check(output.collect(), &taken).map_err(Refusal::from)?)
        }
    };
    let lines = share::Lines::new(&store, &arguments.redact)?;
    let mut entries = store.list(&arguments.which.filter())?;
    // In the order in which they were made, as a log is.
    entries.reverse();
    let Some(outputs) = outputs else {
        for entry in &entries {
            let code = print(&line(&lines, entry)?, ExitCode::Done);
            if code != ExitCode::Done {
                return Ok(code);
            }
        }
        return Ok(ExitCode::Done);
    };
    // All are read before the file is made: what cannot be read leaves an earlier one as it is.
    let text: String = entries.iter().map(|entry| line(&lines, entry)).collect::<Result<_, _>>()?;
    let failures: Vec<Failure> = outputs.write(|_| text.clone()).into_iter().map(Failure::from).collect();
    if !failures.is_empty() {
        return Err(failures.into());
    }
    Ok(print(&format!("{} exported\n", plural(entries.len(), "result")), ExitCode::Done))
}

fn line(lines: &share::Lines<'_>, entry: &Entry) -> Result<String, Failure> {
    Ok(lines.of(entry)?.text() + "\n")
}

/// Keeps the result of a run of `diskspd`, and answers with a line that it tells.
fn take_over(store: Option<&str>, arguments: &ImportArguments) -> ExitCode {
    let GivenArguments { label, tag, revision } = &arguments.given;
    let options = HistoryOptions {
        is_on: true,
        store: store.map(str::to_string),
        label: label.clone(),
        tags: tag.clone(),
        revision: revision.clone(),
        ..HistoryOptions::default()
    };
    match taken_over(&options) {
        Ok(words) => print(&format!("{words}\n"), ExitCode::Done),
        Err(error) => print(&format!("{error}\n"), ExitCode::of(Outcome::Failed(FailureKind::Output))),
    }
}

fn taken_over(options: &HistoryOptions) -> Result<String, NotKept> {
    let keeping = Keeping::of(options).map_err(|refusals| NotKept::Because(refusals.to_string()))?;
    let text = json::text_from(io::stdin()).map_err(|error| NotKept::Because(error.to_string()))?;
    let document = json::read(&text).map_err(|error| NotKept::Because(error.to_string()))?;
    keeping.kept(&text, &Facts::of_result(&document))
}

fn import(file: &HistoryFile, arguments: &ImportArguments) -> CommandResult {
    // All lines are read before the history is opened, and once more while they are kept: what cannot be read is told
    // before anything is made, and only one document is in memory at a time. Standard input is read once.
    for path in arguments.files.iter().filter(|path| path.as_path() != Path::new("-")) {
        lines(path)?.try_for_each(|line| line.map(drop))?;
    }
    let mut store = Store::open(&file.path)?;
    let all = arguments.files.iter().flat_map(|path| match lines(path) {
        Ok(lines) => lines,
        Err(refusal) => Box::new(std::iter::once(Err(refusal))) as Lines,
    });
    let added: Vec<Added> = store.add_all(all, &Filter::default())?;
    let new = added.iter().filter(|one| one.is_new).count();
    let known = match added.len() - new {
        0 => String::new(),
        known => format!(", {known} there already"),
    };
    Ok(print(&format!("{} imported{known}\n", plural(new, "result")), ExitCode::Done))
}

/// Documents of a file with what is known of them.
type Lines = Box<dyn Iterator<Item = Result<ExportedLine, Refusal>>>;

/// The documents of a file: lines that were exported, or one document as `--json` writes it. Of both no more
/// than 1 GiB is read for a document, whatever the file is.
fn lines(path: &Path) -> Result<Lines, Refusal> {
    let source: Box<dyn io::Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(Source::open(path).map_err(|error| cannot_read(path, &error))?)
    };
    let mut lines = LinesOf { reader: BufReader::new(source), number: 0 };
    let mut first = Vec::new();
    // Of what begins otherwise, the reader of documents takes as much as it needs to tell what it is.
    if lines.begin_as_json().map_err(|error| cannot_read(path, &error))? {
        match lines.next().map_err(|error| cannot_read(path, &error))? {
            Some(line) => first = line,
            None => return Ok(Box::new(std::iter::empty())),
        }
    }
    if format_of(&first).is_none_or(|format| format != FORMAT) {
        let text = json::text_from(first.chain(lines.reader)).map_err(|error| match error {
            ReadError::Io(error) => cannot_read(path, &error),
            error => unreadable(path, error),
        })?;
        return Ok(Box::new(std::iter::once(of_document(path, text))));
    }
    let path = path.to_path_buf();
    let first = exported(&path, lines.number, &first);
    let rest = std::iter::from_fn(move || match lines.next() {
        Ok(line) => line.map(|line| exported(&path, lines.number, &line)),
        Err(error) => Some(Err(cannot_read(&path, &error))),
    });
    Ok(Box::new(std::iter::once(first).chain(rest)))
}

/// A line that was exported.
fn exported(path: &Path, number: usize, line: &[u8]) -> Result<ExportedLine, Refusal> {
    ExportedLine::read(line).map_err(|error| {
        let message = format!("'{}', line {number}: it {error}", path.display());
        Refusal::new(RefusalKind::Input, message).hint("nothing was imported")
    })
}

struct LinesOf {
    reader: BufReader<Box<dyn io::Read>>,
    /// Of the line that was read last, from 1.
    number: usize,
}

impl LinesOf {
    fn begin_as_json(&mut self) -> io::Result<bool> {
        let begin = self.reader.fill_buf()?.trim_ascii_start();
        Ok(begin.is_empty() || begin.starts_with(b"{"))
    }

    /// The next line that is not blank, behind those that are; none at the end.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let begin = line.len();
            if read_line(&mut self.reader, &mut line, BYTES_MAX)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !line[begin..].trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

/// A document that no history knew.
fn of_document(path: &Path, text: Vec<u8>) -> Result<ExportedLine, Refusal> {
    let facts = match faithful(path, &text)? {
        Read::Result(document) => Facts::of_result(&document),
        Read::OfSuite(stored) => Facts::of_suite(stored.name(), stored.grade(), stored.kept_parts(), &text)
            .map_err(|error| unreadable(path, format!("is no JSON: {error}")))?,
        Read::Plain(plain) => {
            let what = format!("is a {}, not the result of a run or a suite", plain.kind);
            return Err(unreadable(path, what).hint(plain.instead));
        }
    };
    let text = String::from_utf8(text).map_err(|_| unreadable(path, "is not UTF-8 text"))?;
    Ok(ExportedLine::of_new(text, facts, unix_time_s().unwrap_or(0)))
}

fn cannot_read(path: &Path, error: &io::Error) -> Refusal {
    unreadable(path, format!("cannot be read: {}", system_text(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_added_and_removed_by_their_sign() {
        assert_eq!(tag_change("+a"), Ok(TagChange::Add("a".into())));
        assert_eq!(tag_change("a-b"), Ok(TagChange::Add("a-b".into())));
        assert_eq!(tag_change("-a"), Ok(TagChange::Remove("a".into())));
        for none in ["", "+", "-", "--a", "a b"] {
            assert!(tag_change(none).is_err(), "{none}");
        }
    }
}

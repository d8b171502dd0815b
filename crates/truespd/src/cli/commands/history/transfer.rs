//! `truespd history export|import`: kept results on their way to another file.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::at::{At, Done};
use super::filter::FilterArguments;
use crate::cli::commands::keeping::{Keeping, label, tag};
use crate::cli::commands::render::{Read, faithful, unreadable};
use crate::history::{Added, Entry, ExportedLine, FORMAT, Facts, Store};
use diskspd::console::say_line;
use diskspd::keeping::{HANDED_OVER, NotKept};
use diskspd::program::{ExitCode, print};
use diskspd::request::{HistoryOptions, Output};
use diskspd::run::outputs::LaterOutputs;
use diskspd::show::verdict::plural;
use truespd_core::fault::{Failure, FailureKind, Outcome, Refusal, RefusalKind};
use truespd_core::machine::host::unix_time_s;
use truespd_core::result::envelope::format_of;
use truespd_core::result::json::{self, ReadError};
use truespd_core::sys::error::system_text;
use truespd_core::sys::source::{BYTES_MAX, Source, read_line};

/// Write kept results as JSON lines: one for each, with what is known of it and the document as text
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// File to write; it gets its name when it is complete; - is standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
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
    pub(super) is_handed_over: bool,
    #[command(flatten)]
    given: GivenArguments,
}

/// What `diskspd` says of a result that it hands over.
#[derive(Debug, Args)]
struct GivenArguments {
    #[arg(long, hide = true, requires = "is_handed_over", value_parser = label)]
    label: Option<String>,
    #[arg(long, hide = true, requires = "is_handed_over", value_parser = tag)]
    tag: Vec<String>,
    #[arg(long, hide = true, requires = "is_handed_over", value_parser = label)]
    revision: Option<String>,
}

pub(super) fn export(at: &At, arguments: &ExportArguments) -> Done {
    let Some(store) = at.to_read()? else {
        say_line(format_args!("{}", at.nothing_yet()));
        return Ok(ExitCode::Done);
    };
    let output = arguments.output.iter().map(|path| Output { format: "output", path: path.clone() });
    let outputs = match arguments.output.as_deref() {
        None | Some("-") => None,
        Some(_) => {
            let taken = [at.path.to_string_lossy().into_owned()];
            Some(LaterOutputs::check(output.collect(), &taken).map_err(Refusal::from)?)
        }
    };
    let mut entries = store.list(&arguments.which.filter()).map_err(Refusal::from)?;
    // In the order in which they were made, as a log is.
    entries.reverse();
    let Some(outputs) = outputs else {
        for entry in &entries {
            let code = print(&line(&store, entry)?, ExitCode::Done);
            if code != ExitCode::Done {
                return Ok(code);
            }
        }
        return Ok(ExitCode::Done);
    };
    // All are read before the file is made: what cannot be read leaves an earlier one as it is.
    let text: String = entries.iter().map(|entry| line(&store, entry)).collect::<Result<_, _>>()?;
    let failures: Vec<Failure> = outputs.write(|_| text.clone()).into_iter().map(Failure::from).collect();
    if !failures.is_empty() {
        return Err(failures.into());
    }
    Ok(print(&format!("{} exported\n", plural(entries.len(), "result")), ExitCode::Done))
}

fn line(store: &Store, entry: &Entry) -> Result<String, Failure> {
    let bytes = store.document(entry)?;
    let document = String::from_utf8_lossy(&bytes).into_owned();
    Ok(ExportedLine::new(entry, document).text() + "\n")
}

/// Keeps the result of a run of `diskspd`, and answers with a line that it tells.
pub(super) fn take_over(store: Option<&str>, arguments: &ImportArguments) -> ExitCode {
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

pub(super) fn import(at: &At, arguments: &ImportArguments) -> Done {
    // All lines are read before the history is opened, and once more while they are kept: what cannot be read is told
    // before anything is made, and only one document is in memory at a time. Standard input is read once.
    let is_file = |path: &&PathBuf| path.as_path() != Path::new("-");
    for path in arguments.files.iter().filter(is_file) {
        lines(path)?.try_for_each(|line| line.map(drop))?;
    }
    let mut store = Store::open(&at.path).map_err(Refusal::from)?;
    let mut added: Vec<Added> = Vec::new();
    let all = arguments.files.iter().flat_map(|path| match lines(path) {
        Ok(lines) => lines,
        Err(refusal) => Box::new(std::iter::once(Err(refusal))) as Lines,
    });
    added.extend(store.add_all(all)?);
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

/// A file of lines.
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
        Read::OfSuite(stored) => Facts::of_suite(stored.name(), stored.grade(), stored.parts(), &text)
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

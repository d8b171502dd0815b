//! `truespd render`: a stored result in any format.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::cli::commands::suite::Stored;
use crate::cli::commands::suites::Row;
use crate::cli::kept::kept_one;
use crate::cli::show::bench;
use crate::compare::{self, Comparison};
use crate::report;
use crate::selfcost::CostReport;
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};
use diskspd::render::{self, Format};
use diskspd::show::verdict::{Style, fitting_stdout};
use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::result::Document;
use truespd_core::result::envelope::{self, DocumentKind};
use truespd_core::result::json::{self, ReadError};
use truespd_core::sys::error::system_text;
use truespd_core::text::printable_json;

/// Print a stored result in any format, as the run or the suite itself would have printed it
#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    /// Result written with --json, of a run, a suite or compare; - for standard input
    document: PathBuf,
    #[command(flatten)]
    format: FormatArgument,
}

/// `-R`, in the style of DiskSpd: `-Rxml`.
#[derive(Debug, Args)]
pub(crate) struct FormatArgument {
    /// Format [default: that of the run; of suites text, or json]
    #[arg(short = 'R', value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()))]
    format: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    render::FORMATS.iter().map(|format| format.name)
}

impl FormatArgument {
    /// The format asked for, or the one the run had on standard output.
    pub fn of(&self, document: &Document) -> &'static Format {
        let asked = self.format.as_deref().and_then(render::format);
        asked.unwrap_or(render::format_of(document.profile.result_format))
    }

    /// A format was asked for.
    pub fn is_given(&self) -> bool {
        self.format.is_some()
    }
}

/// A stored document.
pub(crate) enum Read {
    /// The result of a run, or a sum of such.
    Result(Box<Document>),
    /// The document of a suite.
    OfSuite(Box<dyn Stored>),
    /// One that is only shown.
    Plain(Plain),
}

impl Read {
    /// The tables of what is no result of a run.
    fn text(self, style: Style) -> String {
        match self {
            Read::Result(document) => render::text(&document),
            Read::OfSuite(stored) => stored.text(style),
            Read::Plain(plain) => fitting_stdout(plain.text),
        }
    }

    /// As it is stored.
    fn json(self) -> String {
        match self {
            Read::Result(document) => json::write(&document),
            Read::OfSuite(stored) => stored.json(),
            Read::Plain(plain) => plain.json,
        }
    }
}

/// A document without runs of its own: there is nothing in it to judge, to compare or to keep.
pub(crate) struct Plain {
    /// What it is, behind "a".
    pub kind: &'static str,
    /// As people see it.
    pub text: String,
    /// As it is stored.
    pub json: String,
    /// What to do where documents with runs are wanted.
    pub instead: &'static str,
}

/// A kind of such documents.
struct PlainKind {
    /// What the member `format` says.
    format: &'static str,
    read: fn(&[u8]) -> Result<Plain, envelope::ReadError>,
}

/// All of them.
const PLAIN: [PlainKind; 2] = [
    PlainKind {
        format: CostReport::FORMAT,
        read: |text| plain::<CostReport>(text, bench::text, "truespd render shows it"),
    },
    PlainKind {
        format: Comparison::FORMAT,
        read: |text| {
            let instead = "name the results that it compares; truespd render shows the comparison itself";
            plain::<Comparison>(text, compare::text, instead)
        },
    },
];

fn plain<D: DocumentKind>(
    stored: &[u8],
    text: fn(&D) -> String,
    instead: &'static str,
) -> Result<Plain, envelope::ReadError> {
    let document: D = envelope::read(stored)?;
    Ok(Plain { kind: D::NAME, text: text(&document), json: envelope::write(&document), instead })
}

/// Reads a document of any kind, to be shown, from a file, or from standard input for `-`.
pub(crate) fn read_any(path: &Path) -> Result<Read, Refusal> {
    document(path, &bytes(path)?)
}

/// Reads a document of any kind, to be shown: its strings are printable. `path` is where it is from, for messages.
pub(crate) fn document(path: &Path, text: &[u8]) -> Result<Read, Refusal> {
    faithful(path, &printable_json(text))
}

/// Reads a document of any kind, to be written as JSON or XML, which hold every string as it is.
pub(crate) fn faithful(path: &Path, text: &[u8]) -> Result<Read, Refusal> {
    let format = envelope::format_of(text).unwrap_or_default();
    if let Some(row) = Row::of_format(&format) {
        return (row.stored)(text).map(Read::OfSuite).map_err(|error| unreadable(path, error));
    }
    if let Some(kind) = PLAIN.iter().find(|kind| kind.format == format) {
        return (kind.read)(text).map(Read::Plain).map_err(|error| unreadable(path, error));
    }
    let read = json::read(text).map_err(|error| unreadable(path, error))?;
    Ok(Read::Result(Box::new(read)))
}

/// Reads the result of a run as it is from a file, or from standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Document, Refusal> {
    json::read(&bytes(path)?).map_err(|error| unreadable(path, error))
}

/// The document at `path`, that of a report, or one of the history: as it is stored.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    if let Some(kept) = kept_one(path)? {
        return Ok(kept.bytes);
    }
    let (file, chosen) = numbered(path);
    let stored = file_bytes(&file)?;
    if !report::is_page(&stored) {
        return Ok(stored);
    }
    let count = report::count(&stored).map_err(|error| unreadable(&file, error))?;
    match chosen.or((count == 1).then_some(1)) {
        Some(number) if (1..=count).contains(&number) => {
            report::document(&stored, number).map_err(|error| unreadable(&file, error))
        }
        _ => {
            let shown = file.display();
            let refusal = unreadable(&file, format!("is a report of {count} documents"));
            Err(refusal.hint(format!("name one of them: '{shown}#1' to '{shown}#{count}'")))
        }
    }
}

/// `report.html#2` is the second document of `report.html`, unless a file has that name.
fn numbered(path: &Path) -> (PathBuf, Option<usize>) {
    let split = path.to_str().and_then(|text| text.rsplit_once('#'));
    match split.and_then(|(file, number)| Some((file, number.parse().ok()?))) {
        Some((file, number)) if !path.exists() && Path::new(file).exists() => (file.into(), Some(number)),
        _ => (path.to_path_buf(), None),
    }
}

fn file_bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    let read =
        if path == Path::new("-") { json::text_from(io::stdin().lock()) } else { json::text_of_file(path) };
    read.map_err(|error| match error {
        ReadError::Io(error) => {
            let refusal = unreadable(path, format!("cannot be read: {}", system_text(&error)));
            match error.kind() {
                io::ErrorKind::NotFound => refusal.hint("no kept result has that id or label either"),
                _ => refusal,
            }
        }
        error => unreadable(path, error),
    })
}

/// `why` completes a sentence that begins with the file's name.
pub(crate) fn unreadable(path: &Path, why: impl Display) -> Refusal {
    let shown = path.display();
    Refusal::new(RefusalKind::Input, format!("'{shown}' {why}")).on(shown.to_string())
}

/// `truespd render`.
pub(crate) fn run(arguments: &RenderArguments) -> ExitCode {
    let path = &arguments.document;
    match bytes(path).and_then(|stored| rendered(&arguments.format, path, &stored)) {
        Ok(text) => print(&text, ExitCode::Done),
        Err(refusal) => tell(refusal),
    }
}

/// A stored document in a format; `path` is where it is from, for messages.
pub(crate) fn rendered(format: &FormatArgument, path: &Path, stored: &[u8]) -> Result<String, Refusal> {
    let read = document(path, stored)?;
    let kind = match &read {
        Read::Result(document) => {
            let format = format.of(document);
            if format.keeps_strings
                && let Read::Result(as_it_is) = faithful(path, stored)?
            {
                return Ok((format.render)(&as_it_is));
            }
            return Ok((format.render)(document));
        }
        Read::OfSuite(suite) => suite.kind(),
        Read::Plain(plain) => plain.kind,
    };
    match format.format.as_deref() {
        None | Some("text") => Ok(read.text(Style::of_stdout())),
        Some("json") => Ok(faithful(path, stored)?.json()),
        Some(other) => {
            let shown = path.display();
            let message = format!("-R{other}: '{shown}' is a {kind}, which has no such form");
            Err(Refusal::command_line(message).hint("-Rtext or -Rjson"))
        }
    }
}

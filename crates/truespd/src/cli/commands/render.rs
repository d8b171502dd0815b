//! `truespd render`: a stored result in any format. `truespd show`: one in some twenty lines. Both, and other commands,
//! read documents of every kind here.

use crate::answer::Shown;
use crate::ask::command::{Stored, shown_on_stdout};
use crate::ask::table::Row;
use crate::ask::values::json_output;
use crate::cli::commands::bench_self;
use crate::cli::kept::kept_one;
use crate::cli::show::history::{JudgedRow, judged_table};
use crate::cli::show::rules::rules;
use crate::cli::show::summary;
use crate::compare::Comparison;
use crate::selfcost::CostReport;
use crate::{compare, report};
use clap::Args;
use clap::builder::PossibleValuesParser;
use diskspd::render;
use diskspd::render::Format;
use diskspd::run::grade;
use diskspd::run::outputs::Outputs;
use serde::Serialize;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use truespd_core::profile::Release;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::json::{ReadError, indented};
use truespd_core::result::merge::{MergeError, Merger};
use truespd_core::result::{Document, Grade, Verdict, envelope, json};
use truespd_front::console::{say, say_line, tell};
use truespd_front::program::print;
use truespd_front::show::{Extent, Style, drives, fitting_stdout, line, text};
use truespd_platform::fault::{ExitCode, Failure, Outcome, Refusal, RefusalKind};
use truespd_platform::sys::error::system_text;
use truespd_platform::text::{printable, printable_json, wrap};
use truespd_verdict::judge;

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
    /// Release of DiskSpd whose text and XML it is [default: that of the run]
    #[arg(long, value_name = "RELEASE", value_parser = PossibleValuesParser::new(Release::WORDS))]
    compat: Option<String>,
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

    /// The document in its format.
    pub fn render(&self, document: &mut Document) -> String {
        let format = self.of(document);
        // Other formats hold the document as it is.
        if format.is_of_diskspd
            && let Some(release) = self.compat.as_deref().and_then(Release::of_word)
        {
            document.profile.release = release;
        }
        (format.render)(document)
    }

    /// A format was asked for.
    pub fn is_given(&self) -> bool {
        self.format.is_some()
    }
}

/// What of a suite's text a terminal shows beside its table; a file or a pipe has everything.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct SuiteTextArguments {
    /// Of a suite, show every finding with its sentence and advice
    #[arg(long)]
    verdict: bool,
    /// Of mark and assess, print CrystalDiskMark's text and winsat's lines above the table
    #[arg(long)]
    text: bool,
}

impl SuiteTextArguments {
    fn shown(self) -> Shown {
        shown_on_stdout(self.verdict, self.text, "--verdict")
    }
}

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
    fn text(self, shown: Shown) -> String {
        match self {
            Read::Result(document) => render::text(&document),
            Read::OfSuite(stored) => fitting_stdout(stored.text(shown)),
            Read::Plain(plain) => fitting_stdout(plain.text),
        }
    }

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
    pub text: String,
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

const PLAIN: [PlainKind; 2] = [
    PlainKind {
        format: CostReport::FORMAT,
        read: |text| plain::<CostReport>(text, bench_self::text, "truespd render shows it"),
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

/// [`document`] from a file, or from standard input for `-`.
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

pub(crate) fn run(arguments: &RenderArguments) -> ExitCode {
    let path = &arguments.document;
    let suite = SuiteTextArguments::default();
    match bytes(path).and_then(|stored| rendered(&arguments.format, &suite, path, &stored)) {
        Ok(text) => print(&text, ExitCode::Done),
        Err(refusal) => tell(refusal),
    }
}

/// Show a stored result in some twenty lines: figures, rate over time, latencies, verdict
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Result written with --json, of a run or a suite, or the id or label of a kept one; - for standard input
    document: PathBuf,
    #[command(flatten)]
    suite: SuiteTextArguments,
}

/// `truespd show`; tables of suites are as short as a summary would be.
pub(crate) fn show(arguments: &ShowArguments) -> ExitCode {
    match read_any(&arguments.document) {
        Ok(Read::Result(document)) => {
            let name = arguments.document.display().to_string();
            let text = summary::text(&name, &document, Style::of_stdout());
            print(&fitting_stdout(text), ExitCode::Done)
        }
        Ok(other) => print(&other.text(arguments.suite.shown()), ExitCode::Done),
        Err(refusal) => tell(refusal),
    }
}

/// A stored document in a format; `path` is where it is from, for messages.
pub(crate) fn rendered(
    format: &FormatArgument,
    suite: &SuiteTextArguments,
    path: &Path,
    stored: &[u8],
) -> Result<String, Refusal> {
    let mut read = document(path, stored)?;
    let kind = match &mut read {
        Read::Result(document) => {
            if format.of(document).keeps_strings
                && let Read::Result(mut as_it_is) = faithful(path, stored)?
            {
                return Ok(format.render(&mut as_it_is));
            }
            return Ok(format.render(document));
        }
        Read::OfSuite(suite) => suite.kind(),
        Read::Plain(plain) => plain.kind,
    };
    match format.format.as_deref() {
        None => Ok(read.text(suite.shown())),
        Some("text") => Ok(read.text(Shown::whole(Style::of_stdout()))),
        Some("json") => Ok(faithful(path, stored)?.json()),
        Some(other) => {
            let shown = path.display();
            let message = format!("-R{other}: '{shown}' is a {kind}, which has no such form");
            Err(Refusal::command_line(message).hint("-Rtext or -Rjson"))
        }
    }
}

/// Judge stored results by the rules of this version: certified, suspect or invalid, and why
///
/// One document is told with all its findings, several as a table.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Results written with --json, of runs or suites; - for standard input
    #[arg(required_unless_present = "rules")]
    documents: Vec<PathBuf>,
    /// Exit code 5 when a result has a worse grade than this: certified, or suspect
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    require: Option<Grade>,
    /// Print the grades and findings as JSON: a list with one entry for each document
    #[arg(long, conflicts_with = "rules")]
    json: bool,
    /// Print all rules: what they check, and what to do when they find something
    #[arg(long, conflicts_with = "documents")]
    rules: bool,
}

/// `truespd judge`.
pub(crate) fn judge_documents(arguments: &JudgeArguments) -> ExitCode {
    if arguments.rules {
        return print(&rules(), ExitCode::Done);
    }
    let (mut all, mut refused) = (Vec::new(), None);
    for path in &arguments.documents {
        match read_any(path).and_then(|read| judged(path, &read)) {
            Ok(judged) => all.push(judged),
            Err(refusal) => refused = Some(tell(refusal)),
        }
    }
    // What was not judged is nothing to rely on.
    let worst =
        all.iter().map(|one| one.told.grade.unwrap_or(Grade::Invalid)).max().unwrap_or(Grade::Certified);
    let outcome = match arguments.require {
        Some(required) if worst > required => Outcome::Unmet,
        _ => Outcome::Done,
    };
    let code = refused.unwrap_or(ExitCode::of(outcome));
    match all.as_slice() {
        all if arguments.json => print(&judgements_json(all), code),
        [] => code,
        [one] if arguments.documents.len() == 1 => print(&one.text, code),
        all => print(&judged_table(all.iter().map(|one| &one.row), Style::of_stdout()), code),
    }
}

fn judgements_json(all: &[Judged]) -> String {
    let told: Vec<&Told> = all.iter().map(|one| &one.told).collect();
    indented(&told)
}

/// A document with its verdict.
struct Judged {
    told: Told,
    row: JudgedRow,
    text: String,
}

/// For programs.
#[derive(Debug, Serialize)]
struct Told {
    /// The file as given.
    document: String,
    kind: &'static str,
    /// The worst grade of its runs; none when no run was judged.
    grade: Option<Grade>,
    /// By the rules of this version; none for suites, whose runs were judged when they were made.
    verdict: Option<Verdict>,
}

fn judged(path: &Path, read: &Read) -> Result<Judged, Refusal> {
    let (shown, style) = (path.display().to_string(), Style::of_stdout());
    match read {
        Read::Result(document) => {
            let verdict = judge(document);
            let text = text(&verdict, &shown, Extent::All, style) + &drives(document, style);
            let row = JudgedRow::of_run(&shown, document, &verdict);
            let told =
                Told { document: shown, kind: "result", grade: Some(verdict.grade), verdict: Some(verdict) };
            Ok(Judged { told, row, text })
        }
        // The runs themselves are not in it.
        Read::OfSuite(stored) => {
            let head = format!(
                "{}: {}; its runs were judged when it was made (--keep keeps them, to be judged again)",
                printable(&shown),
                stored.kind()
            );
            let head = wrap(&head, style.columns).join("\n");
            let text = format!("{head}\n{}", stored.verdict_text(style));
            let row = JudgedRow::of_suite(&shown, stored.kind(), stored.grade());
            let told = Told { document: shown, kind: stored.kind(), grade: stored.grade(), verdict: None };
            Ok(Judged { told, row, text })
        }
        Read::Plain(plain) => {
            let message = format!("'{shown}' is a {}: it has no runs to judge", plain.kind);
            Err(Refusal::new(RefusalKind::Input, message).hint(plain.instead).on(shown))
        }
    }
}

/// Add up results of runs that ran at the same time, on one host or several
///
/// Histograms and interval series are summed; nothing that can be added is averaged. Each run keeps its
/// row in the sum, which is a result like any other: it can be printed, judged and merged again. The results of
/// the ranks of a cluster run belong together although their targets differ; ranks without a result are named.
#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Results written with --json
    #[arg(required = true)]
    documents: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgument,
    /// Write the sum to this file as JSON (- is standard output); then nothing else is printed, unless -R is given
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Also add results of different tests or different times, and one result more than once
    #[arg(long)]
    force: bool,
    /// Show all of the verdict of the sum: every finding with its advice, rules that lacked evidence
    #[arg(long)]
    verdict: bool,
}

pub(crate) fn merge(arguments: &MergeArguments) -> ExitCode {
    let (output, on_stdout) = json_output(arguments.json.as_deref());
    let inputs = arguments.documents.iter().map(|path| (path.clone(), "one of the results to add".into()));
    let outputs = match Outputs::open_without_run(&Vec::from_iter(output), inputs) {
        Ok(outputs) => outputs,
        Err(error) => return tell(Refusal::from(error)),
    };
    let mut document = match sum(arguments) {
        Ok(document) => document,
        Err(refusal) => return tell(refusal),
    };
    let verdict = judge(&document);
    let told = if arguments.verdict {
        text(&verdict, "verdict", Extent::All, Style::of_stderr())
    } else {
        format!("{}\n", line(&verdict, Style::of_stderr()))
    };
    document.verdict = Some(verdict);
    for warning in &document.warnings {
        say_line(format_args!("WARNING: {warning}"));
    }
    say(&told);
    let failures: Vec<Failure> = outputs.write(&document).into_iter().map(Failure::from).collect();
    if !failures.is_empty() {
        return tell(failures);
    }
    if on_stdout {
        return print(&json::write(&document), ExitCode::Done);
    }
    if arguments.json.is_some() && !arguments.format.is_given() {
        return ExitCode::Done;
    }
    print(&arguments.format.render(&mut document), ExitCode::Done)
}

/// One document after the other, so that only one is in memory beside the sum.
fn sum(arguments: &MergeArguments) -> Result<Document, Refusal> {
    let mut merger = Merger::new(arguments.force);
    for path in &arguments.documents {
        let document = read(path)?;
        merger.add(&format!("'{}'", path.display()), document).map_err(unfit)?;
    }
    Ok(merger.finish().map_err(unfit)?.document)
}

fn unfit(error: MergeError) -> Refusal {
    let refusal = Refusal::new(RefusalKind::Input, error.to_string());
    if error.can_be_forced() { refusal.hint("--force adds them all the same") } else { refusal }
}

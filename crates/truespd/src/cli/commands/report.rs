//! `truespd report`: stored results as one HTML page.

mod history;
mod open;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::answer::html::plain;
use crate::ask::keeping::store_path;
use crate::cli::commands::compare::Unlike;
use crate::cli::commands::history::find::{FilterArguments, HistoryFile};
use crate::cli::commands::render::{Read, document};
use crate::cli::kept::Kept;
use crate::cli::operands::{stored, titles};
use crate::compare::Question;
use crate::report;
use crate::report::{Content, Input, page, picture, words_of_verdict};
use diskspd::request::Output;
use diskspd::run::outputs::LaterOutputs;
use truespd_front::console::{say_line, tell};
use truespd_front::program::{ExitCode, print};
use truespd_front::show::plural;
use truespd_platform::fault::{Failure, Fault, Refusal, RefusalKind};
use truespd_platform::text::printable;

/// Make one HTML page from stored results, to look at and to send to others
///
/// The page needs no network and no other file. Runs are drawn into the same charts, and the first is
/// compared with each other, as `truespd compare` does; kept runs of one label are one side. The results are
/// in the page: `truespd render` reads them back. `--svg` and `--png` make a picture of its main chart instead, for
/// chats and tickets.
///
/// `--history` makes one page over everything that is kept, or what its filters leave: how each test is distributed
/// over hosts, models, firmware and kernels, where each result stands, and what changed over time.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Results written with --json, of runs or suites, other reports, or ids and labels of the history; - for standard
    /// input
    #[arg(required_unless_present = "history")]
    documents: Vec<PathBuf>,
    /// Compare runs of different profiles, or on different targets
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    unlike: Option<Unlike>,
    /// Make the page over the history instead: all kept results, or those that the filters below name. Its documents
    /// are in the page, or in the folder PAGE-documents beside it when they are large
    #[arg(long, conflicts_with_all = ["documents", "unlike", "svg", "png"])]
    history: bool,
    /// File of the history, for --history
    #[arg(long, value_name = "FILE")]
    store: Option<String>,
    /// Page to write; - is standard output [default: the name of the document with .html, of several report.html, of
    /// the history history.html; an existing page is replaced, any other file is refused]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write the main chart of the first document to this file as SVG; - is standard output. Without -o, no page is
    /// written
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// The same as PNG, twice as large
    #[arg(long, value_name = "FILE")]
    png: Option<String>,
    /// Show the page in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    which: FilterArguments,
}

pub(crate) fn run(arguments: &ReportArguments) -> ExitCode {
    let written = if arguments.history { written_of_history(arguments) } else { written(arguments) };
    written.unwrap_or_else(tell)
}

/// Names of the outputs in messages.
const PAGE: &str = "page";
const SVG: &str = "svg";
const PNG: &str = "png";

fn written(arguments: &ReportArguments) -> Result<ExitCode, Fault> {
    let mut filters = arguments.which.words();
    if let Some(store) = &arguments.store {
        filters = format!("--store {store} {filters}").trim_end().to_string();
    }
    if !filters.is_empty() {
        let message = format!("{filters} is for a page over the history");
        return Err(Refusal::command_line(message).hint("add --history and name no document").into());
    }
    if arguments.documents.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Refusal::command_line("standard input (-) can be read only once").into());
    }
    let (on_stdout, files) = outputs(arguments)?;
    let mut read: Vec<String> = Vec::new();
    for path in &arguments.documents {
        let path = path.to_string_lossy().into_owned();
        // `page.html#2` is read from `page.html`.
        read.extend(path.rsplit_once('#').map(|(page, _)| page.to_string()));
        read.push(path);
    }
    let files = LaterOutputs::check(files, &read).map_err(Refusal::from)?;
    let mut all = Vec::new();
    for word in &arguments.documents {
        all.extend(stored(word)?.into_iter().map(|one| (word, one)));
    }
    let names = titles(&all.iter().map(|(_, one)| one).collect::<Vec<_>>());
    let mut inputs = Vec::new();
    for ((word, one), name) in all.into_iter().zip(names) {
        inputs.push(input(word, one, name)?);
    }
    let mut pictures = Pictures::default();
    if arguments.svg.is_some() || arguments.png.is_some() {
        pictures = Pictures::of(&inputs, arguments)?;
    }
    let unlike = arguments.unlike;
    let question = Question {
        may_differ_in_profile: unlike.is_some_and(Unlike::in_profile),
        may_differ_in_target: unlike.is_some_and(Unlike::in_target),
        ..Question::default()
    };
    let is_page_wanted = files.files().chain(&on_stdout).any(|output| output.format == PAGE);
    let page = if is_page_wanted { page(&inputs, &question) } else { String::new() };
    let mut code = ExitCode::Done;
    let written: Vec<Output> = files.files().cloned().collect();
    let errors = files.write(|output| match output.format {
        SVG => pictures.svg.clone().into_bytes(),
        PNG => pictures.png.clone(),
        _ => page.clone().into_bytes(),
    });
    if errors.is_empty() && arguments.output.is_none() {
        written.iter().for_each(|output| say_line(format_args!("written: {}", printable(&output.path))));
    }
    for error in errors {
        code = tell(Failure::from(error));
    }
    if let (Some(page), ExitCode::Done) = (page_to_open(arguments, &written), code) {
        open::open(page);
    }
    match on_stdout {
        Some(output) if output.format == SVG => Ok(print(&pictures.svg, code)),
        Some(_) => Ok(print(&page, code)),
        None => Ok(code),
    }
}

/// What goes to standard output, and the files.
fn outputs(arguments: &ReportArguments) -> Result<(Option<Output>, Vec<Output>), Refusal> {
    let mut files = Vec::new();
    let has_picture = arguments.svg.is_some() || arguments.png.is_some();
    match &arguments.output {
        Some(path) => files.push(Output { format: PAGE, path: path.clone() }),
        None if has_picture && arguments.open => {
            return Err(Refusal::command_line("--open shows a page").hint("name the page: -o FILE"));
        }
        None if has_picture => {}
        None => files.push(Output { format: PAGE, path: usual_name(usual_stem(&arguments.documents)) }),
    }
    for (format, path) in [(SVG, &arguments.svg), (PNG, &arguments.png)] {
        files.extend(path.iter().map(|path| Output { format, path: path.clone() }));
    }
    let (on_stdout, files): (Vec<Output>, Vec<Output>) =
        files.into_iter().partition(|output| output.path == "-");
    if arguments.open && on_stdout.iter().any(|output| output.format == PAGE) {
        return Err(opens_no_stream());
    }
    match on_stdout.as_slice() {
        [] => Ok((None, files)),
        [one] if one.format != PNG => Ok((Some(one.clone()), files)),
        [_] => Err(Refusal::command_line("--png needs a file: - is standard output")),
        _ => Err(Refusal::command_line("standard output (-) can take one result only")),
    }
}

fn opens_no_stream() -> Refusal {
    Refusal::command_line("--open needs a file: - is standard output").hint("name one: -o FILE")
}

/// The name of the only document without its ending.
fn usual_stem(documents: &[PathBuf]) -> &OsStr {
    match documents {
        [only] if only != Path::new("-") => only.file_stem().unwrap_or(only.as_os_str()),
        _ => "report".as_ref(),
    }
}

/// The page of this name in this folder.
fn usual_name(stem: &OsStr) -> String {
    format!("{}.html", stem.to_string_lossy())
}

/// The page that `--open` shows, when it was written.
fn page_to_open<'o>(arguments: &ReportArguments, written: &'o [Output]) -> Option<&'o str> {
    let page = written.iter().find(|output| output.format == PAGE)?;
    arguments.open.then_some(page.path.as_str())
}

/// The page over the history, with its documents.
fn written_of_history(arguments: &ReportArguments) -> Result<ExitCode, Fault> {
    let file = HistoryFile { path: store_path(arguments.store.as_deref())? };
    let filters = arguments.which.words();
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => usual_name("history".as_ref()),
    };
    if path == "-" && arguments.open {
        return Err(opens_no_stream().into());
    }
    let Some(store) = file.open_to_read()? else { return Err(nothing_of(&file, file.nothing_yet()).into()) };
    let entries = store.list(&arguments.which.filter())?;
    if entries.is_empty() && filters.is_empty() {
        return Err(nothing_of(&file, file.nothing_yet()).into());
    }
    if entries.is_empty() {
        let refusal = nothing_of(&file, format!("no kept result matches {filters}"));
        return Err(refusal.hint("truespd history list shows what there is").into());
    }
    let page = Output { format: PAGE, path };
    let is_on_stdout = page.path == "-";
    let outputs = if is_on_stdout { Vec::new() } else { vec![page.clone()] };
    let taken = [file.path.to_string_lossy().into_owned()];
    let outputs = LaterOutputs::check(outputs, &taken).map_err(Refusal::from)?;
    let count = entries.len();
    let mut gathered = history::gathered(&store, entries, filters);
    if gathered.kept.results.is_empty() {
        let refusal = nothing_of(&file, format!("none of the {} has figures", plural(count, "kept result")));
        return Err(refusal.hint("runs that failed, and runs of several time spans, have none").into());
    }
    if is_on_stdout {
        return Ok(print(&report::history::page(&gathered.kept), ExitCode::Done));
    }
    let beside = gathered.beside(&page, &store)?;
    if let Some(beside) = &beside {
        beside.write(&store, &gathered.entries).map_err(Failure::from)?;
    }
    let html = report::history::page(&gathered.kept);
    let failures: Vec<Failure> = outputs.write(|_| html.as_str()).into_iter().map(Failure::from).collect();
    if !failures.is_empty() {
        return Err(failures.into());
    }
    if arguments.output.is_none() {
        say_line(format_args!("written: {}", printable(&page.path)));
    }
    if let Some(beside) = &beside {
        say_line(format_args!("its documents are in the folder {}", beside.shown()));
    }
    if arguments.open {
        open::open(&page.path);
    }
    Ok(ExitCode::Done)
}

fn nothing_of(file: &HistoryFile, message: String) -> Refusal {
    Refusal::new(RefusalKind::Input, message).on(file.path.display().to_string())
}

#[derive(Default)]
struct Pictures {
    svg: String,
    png: Vec<u8>,
}

impl Pictures {
    /// # Errors
    /// The first document has nothing to draw.
    fn of(inputs: &[Input], arguments: &ReportArguments) -> Result<Self, Refusal> {
        let drawn = picture(inputs).and_then(|(picture, words)| {
            let png = if arguments.png.is_some() { picture.png(&words)? } else { Vec::new() };
            Some(Pictures { svg: picture.svg(&words)?, png })
        });
        drawn.ok_or_else(|| {
            let shown = arguments.documents[0].display().to_string();
            let message =
                format!("'{shown}' has no chart: nothing was measured, or its page has tables only");
            Refusal::new(RefusalKind::Input, message).on(shown).hint("-o FILE writes its page")
        })
    }
}

/// `name` is what the page calls it beside others.
fn input(word: &Path, one: Kept, name: String) -> Result<Input, Refusal> {
    let content = match document(word, &one.bytes)? {
        Read::Result(document) => Content::Run(document),
        Read::OfSuite(suite) => {
            let answer = suite.answer();
            let (picture, about) = answer.picture().unzip();
            let mut lines: Vec<String> = about.into_iter().collect();
            for (title, verdict) in suite.verdicts() {
                let part = if title.is_empty() { String::new() } else { format!("{title}: ") };
                let found = verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
                let rules: Vec<&str> = found.map(|finding| finding.rule.as_str()).collect();
                lines.extend(verdict.grade.map(|grade| part + &words_of_verdict(grade, &rules)));
            }
            let picture = picture.map(|picture| (picture, lines));
            Content::Other { title: suite.title(), html: answer.html(), picture }
        }
        Read::Plain(other) => {
            Content::Other { title: other.kind.to_string(), html: plain(&other.text), picture: None }
        }
    };
    // All runs with a label are one side of a comparison.
    let group = one.label.clone().unwrap_or_else(|| name.clone());
    Ok(Input { name, label: one.label, group, stored: one.bytes, content })
}

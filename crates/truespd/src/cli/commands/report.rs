//! `truespd report`: stored results as one HTML page.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::compare::Unlike;
use crate::cli::commands::render::{Read, document};
use crate::cli::kept::Kept;
use crate::cli::operands::{stored, titles};
use crate::compare::Question;
use crate::report::{Content, Input, is_page, page, picture, plain, printed, words_of_verdict};
use crate::suite::Shown;
use diskspd::console::{say_line, tell};
use diskspd::program::{ExitCode, print};
use diskspd::request::Output;
use diskspd::run::outputs::LaterOutputs;
use diskspd::show::Style;
use truespd_core::fault::{Failure, Fault, Refusal, RefusalKind};
use truespd_core::text::printable;

/// Width of a suite's tables on the page.
const PLAIN: Style = Style { columns: 100, has_colour: false };

/// Make one HTML page from stored results, to look at and to send to others
///
/// The page needs no network and no other file. Runs are drawn into the same charts, and the first is
/// compared with each other, as `truespd compare` does; kept runs of one label are one side. The results are
/// in the page: `truespd render` reads them back. `--svg` and `--png` make a picture of its main chart instead, for
/// chats and tickets.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Results written with --json, of runs or suites, other reports, or ids and labels of the history; - for standard
    /// input
    #[arg(required = true)]
    documents: Vec<PathBuf>,
    /// Compare runs of different profiles, or on different targets
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    unlike: Option<Unlike>,
    /// Page to write; - is standard output [default: the name of the document with .html, of several report.html; an
    /// existing page is replaced, any other file is refused]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write the main chart of the first document to this file as SVG; - is standard output. Without -o, no page is
    /// written
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// The same as PNG, twice as large
    #[arg(long, value_name = "FILE")]
    png: Option<String>,
}

pub(crate) fn run(arguments: &ReportArguments) -> ExitCode {
    written(arguments).unwrap_or_else(tell)
}

/// Names of the outputs in messages.
const PAGE: &str = "output";
const SVG: &str = "svg";
const PNG: &str = "png";

fn written(arguments: &ReportArguments) -> Result<ExitCode, Fault> {
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
    let written: Vec<String> = files.files().map(|output| output.path.clone()).collect();
    let errors = files.write(|output| match output.format {
        SVG => pictures.svg.clone().into_bytes(),
        PNG => pictures.png.clone(),
        _ => page.clone().into_bytes(),
    });
    if errors.is_empty() && arguments.output.is_none() {
        written.iter().for_each(|path| say_line(format_args!("written: {}", printable(path))));
    }
    for error in errors {
        code = tell(Failure::from(error));
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
        None if has_picture => {}
        None => files.push(Output { format: PAGE, path: usual_name(&arguments.documents)? }),
    }
    for (format, path) in [(SVG, &arguments.svg), (PNG, &arguments.png)] {
        files.extend(path.iter().map(|path| Output { format, path: path.clone() }));
    }
    let (on_stdout, files): (Vec<Output>, Vec<Output>) =
        files.into_iter().partition(|output| output.path == "-");
    match on_stdout.as_slice() {
        [] => Ok((None, files)),
        [one] if one.format != PNG => Ok((Some(one.clone()), files)),
        [_] => Err(Refusal::command_line("--png needs a file: - is standard output")),
        _ => Err(Refusal::command_line("standard output (-) can take one result only")),
    }
}

/// The name of the only document with another ending, in this folder. A file that is no page of ours stays.
fn usual_name(documents: &[PathBuf]) -> Result<String, Refusal> {
    let stem = match documents {
        [only] if only != Path::new("-") => only.file_stem().unwrap_or(only.as_os_str()),
        _ => "report".as_ref(),
    };
    let name = format!("{}.html", stem.to_string_lossy());
    let path = Path::new(&name);
    if path.symlink_metadata().is_ok() && !std::fs::read(path).is_ok_and(|bytes| is_page(&bytes)) {
        let message = format!("'{name}' exists and is not a page of TrueSpd");
        return Err(Refusal::new(RefusalKind::Input, message).on(name).hint("name the page: -o FILE"));
    }
    Ok(name)
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
            let html = suite.html() + &printed(&suite.text(Shown::whole(PLAIN)));
            let (picture, about) = suite.picture().unzip();
            let mut lines: Vec<String> = about.into_iter().collect();
            for (title, verdict) in suite.verdicts() {
                let part = if title.is_empty() { String::new() } else { format!("{title}: ") };
                let found = verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
                let rules: Vec<&str> = found.map(|finding| finding.rule.as_str()).collect();
                lines.extend(verdict.grade.map(|grade| part + &words_of_verdict(grade, &rules)));
            }
            let picture = picture.map(|picture| (picture, lines));
            Content::Other { title: suite.title(), html, picture }
        }
        Read::Plain(other) => {
            Content::Other { title: other.kind.to_string(), html: plain(&other.text), picture: None }
        }
    };
    // All runs with a label are one side of a comparison.
    let group = one.label.clone().unwrap_or_else(|| name.clone());
    Ok(Input { name, label: one.label, group, stored: one.bytes, content })
}

//! `truespd report`: stored results as one HTML page.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::compare::Unlike;
use crate::cli::commands::render::{Read, document};
use crate::cli::kept::Kept;
use crate::cli::operands::{stored, titles};
use crate::compare::Question;
use crate::report::{Content, Input, page, plain, printed};
use crate::suite::Shown;
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};
use diskspd::request::Output;
use diskspd::run::outputs::LaterOutputs;
use diskspd::show::Style;
use truespd_core::fault::{Failure, Fault, Refusal};

/// Width of a suite's tables on the page.
const PLAIN: Style = Style { columns: 100, has_colour: false };

/// Make one HTML page from stored results, to look at and to send to others
///
/// The page needs no network and no other file. Runs are drawn into the same charts, and the first is
/// compared with each other, as `truespd compare` does; kept runs of one label are one side. The results are
/// in the page: `truespd render` reads them back.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Results written with --json, of runs or suites, other reports, or ids and labels of the history; - for standard
    /// input
    #[arg(required = true)]
    documents: Vec<PathBuf>,
    /// Compare runs of different profiles, or on different targets
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    unlike: Option<Unlike>,
    /// Page to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: String,
}

pub(crate) fn run(arguments: &ReportArguments) -> ExitCode {
    written(arguments).unwrap_or_else(tell)
}

fn written(arguments: &ReportArguments) -> Result<ExitCode, Fault> {
    if arguments.documents.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Refusal::command_line("standard input (-) can be read only once").into());
    }
    let files = match arguments.output.as_str() {
        "-" => Vec::new(),
        path => vec![Output { format: "output", path: path.to_string() }],
    };
    let read: Vec<String> =
        arguments.documents.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let outputs = LaterOutputs::check(files, &read).map_err(Refusal::from)?;
    let mut all = Vec::new();
    for word in &arguments.documents {
        all.extend(stored(word)?.into_iter().map(|one| (word, one)));
    }
    let titles = titles(&all.iter().map(|(_, one)| one).collect::<Vec<_>>());
    let inputs: Vec<Input> = all
        .into_iter()
        .zip(titles)
        .map(|((word, one), title)| input(word, one, title))
        .collect::<Result<_, _>>()?;
    let unlike = arguments.unlike;
    let question = Question {
        may_differ_in_profile: unlike.is_some_and(Unlike::in_profile),
        may_differ_in_target: unlike.is_some_and(Unlike::in_target),
        ..Question::default()
    };
    let page = page(&inputs, &question);
    if arguments.output == "-" {
        return Ok(print(&page, ExitCode::Done));
    }
    let errors = outputs.write(|_| page.clone());
    Ok(errors.into_iter().fold(ExitCode::Done, |_, error| tell(Failure::from(error))))
}

/// `title` is what the page calls it.
fn input(word: &Path, one: Kept, title: String) -> Result<Input, Refusal> {
    let content = match document(word, &one.bytes)? {
        Read::Result(document) => Content::Run(document),
        Read::OfSuite(suite) => {
            let html = suite.html() + &printed(&suite.text(Shown::whole(PLAIN)));
            Content::Other { kind: suite.kind().to_string(), grade: suite.grade(), html }
        }
        Read::Plain(other) => {
            Content::Other { kind: other.kind.to_string(), grade: None, html: plain(&other.text) }
        }
    };
    // All runs with a label are one side of a comparison.
    let group = one.label.unwrap_or_else(|| title.clone());
    Ok(Input { name: title, group, stored: one.bytes, content })
}

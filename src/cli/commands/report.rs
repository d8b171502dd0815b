//! `truespd report`: stored results as one HTML page.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::commands::render::{Read, document};
use crate::cli::console::tell;
use crate::cli::kept::Kept;
use crate::cli::operands::stored;
use crate::cli::show::verdict::Style;
use crate::fault::{Failure, Fault, Refusal};
use crate::report::{Content, Input, page};
use crate::request::Output;
use crate::session::outputs::LaterOutputs;

/// Width of a suite's tables on the page.
const PLAIN: Style = Style { columns: 100, has_colour: false };

/// Make one HTML page from stored results, to look at and to send to others
///
/// The page needs no network and no other file. Runs are drawn into the same charts. The results are in the page: `truespd
/// render` reads them back.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Results written with --json, of runs or suites, other reports, or ids and labels of the history; - for standard
    /// input
    #[arg(required = true)]
    documents: Vec<PathBuf>,
    /// Page to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: String,
}

/// `truespd report`.
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
    let mut inputs = Vec::new();
    for word in &arguments.documents {
        for one in stored(word)? {
            inputs.push(input(word, one)?);
        }
    }
    let page = page(&inputs);
    if arguments.output == "-" {
        return Ok(print(&page, ExitCode::Done));
    }
    let errors = outputs.write(|_| page.clone());
    Ok(errors.into_iter().fold(ExitCode::Done, |_, error| tell(Failure::from(error))))
}

fn input(word: &Path, one: Kept) -> Result<Input, Refusal> {
    let content = match document(word, &one.bytes)? {
        Read::Result(document) => Content::Run(document),
        Read::OfSuite(suite) => Content::Other {
            kind: suite.kind().to_string(),
            text: suite.text(PLAIN),
            grade: suite.grade(),
            charts: suite.charts(),
        },
        Read::Plain(plain) => {
            Content::Other { kind: plain.kind.to_string(), text: plain.text, grade: None, charts: Vec::new() }
        }
    };
    Ok(Input { name: one.name, stored: one.bytes, content })
}

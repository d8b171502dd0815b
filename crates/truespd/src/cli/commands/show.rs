//! `truespd show`: a stored result in some twenty lines.

use std::path::PathBuf;

use clap::Args;

use crate::cli::commands::render::{Read, read_any};
use crate::cli::show::summary;
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};
use diskspd::show::verdict::{Style, fitting_stdout};

/// Show a stored result in some twenty lines: figures, rate over time, latencies, verdict
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Result written with --json, of a run or a suite, or the id or label of a kept one; - for standard input
    document: PathBuf,
}

/// `truespd show`.
pub(crate) fn run(arguments: &ShowArguments) -> ExitCode {
    let style = Style::of_stdout();
    match read_any(&arguments.document) {
        Ok(Read::Result(document)) => {
            let name = arguments.document.display().to_string();
            print(&summary::text(&name, &document, style), ExitCode::Done)
        }
        // Their tables are as short as a summary would be.
        Ok(Read::OfSuite(stored)) => print(&stored.text(style), ExitCode::Done),
        Ok(Read::Plain(plain)) => print(&fitting_stdout(plain.text), ExitCode::Done),
        Err(refusal) => tell(refusal),
    }
}

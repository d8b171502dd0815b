//! `truespd render`: a stored result in any format.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::console::tell;
use crate::fault::{Refusal, RefusalKind};
use crate::profile::ResultFormat;
use crate::render::{self, Format};
use crate::result::Document;
use crate::result::json::{self, ReadError};
use crate::sys::error::system_text;

/// Print a stored result in any format, as the run itself would have printed it
#[derive(Debug, Args)]
pub(crate) struct RenderArguments {
    /// Result written with --json; - for standard input
    document: PathBuf,
    #[command(flatten)]
    format: FormatArgument,
}

/// `-R`, in the style of DiskSpd: `-Rxml`.
#[derive(Debug, Args)]
pub(crate) struct FormatArgument {
    /// Format [default: that of the run]
    #[arg(short = 'R', value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()))]
    format: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    render::FORMATS.iter().map(|format| format.name)
}

impl FormatArgument {
    /// The format asked for, or the one the run had on standard output.
    pub fn of(&self, document: &Document) -> &'static Format {
        let name = self.format.as_deref().unwrap_or(match document.profile.result_format {
            ResultFormat::Text => "text",
            ResultFormat::Xml => "xml",
        });
        render::format(name).unwrap_or(&render::FORMATS[0])
    }

    /// A format was asked for.
    pub fn is_given(&self) -> bool {
        self.format.is_some()
    }
}

/// Reads a document from a file, or from standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Document, Refusal> {
    let read = match path == Path::new("-") {
        true => json::read_from(io::stdin().lock()),
        false => json::read_file(path),
    };
    let shown = path.display();
    read.map_err(|error| {
        let message = match error {
            ReadError::Io(error) => format!("'{shown}' cannot be read: {}", system_text(&error)),
            error => format!("'{shown}' {error}"),
        };
        Refusal::new(RefusalKind::Input, message).on(shown.to_string())
    })
}

/// `truespd render`.
pub(crate) fn run(arguments: &RenderArguments) -> ExitCode {
    match read(&arguments.document) {
        Ok(document) => print(&(arguments.format.of(&document).render)(&document), ExitCode::Done),
        Err(refusal) => tell(refusal),
    }
}

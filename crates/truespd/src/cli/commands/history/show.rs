//! `truespd history show`.

use std::path::Path;

use clap::Args;

use super::at::{At, Done};
use crate::cli::commands::render::{FormatArgument, Read, document, rendered};
use crate::cli::show::history::head;
use diskspd::program::{ExitCode, print};
use diskspd::show::verdict::{Extent, Style, text};
use truespd_core::fault::Refusal;

/// Show a kept result: what is known of it, its text and its verdict
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Id, beginning of an id, or label
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// Print the document itself, byte for byte as it was kept
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    format: FormatArgument,
}

pub(super) fn run(at: &At, arguments: &ShowArguments) -> Done {
    let store = at.to_find(&arguments.document)?;
    let entry = store.find_one(&arguments.document).map_err(Refusal::from)?;
    let bytes = store.document(&entry).map_err(Refusal::from)?;
    if arguments.json {
        // Documents are JSON, and so UTF-8: other bytes would not have been kept.
        return Ok(print(&String::from_utf8_lossy(&bytes), ExitCode::Done));
    }
    let path = Path::new(&entry.id);
    let body = rendered(&arguments.format, path, &bytes)?;
    if arguments.format.is_given() {
        return Ok(print(&body, ExitCode::Done));
    }
    let read = document(path, &bytes)?;
    let style = Style::of_stdout();
    let mut out = head(&entry, style);
    out.push('\n');
    out.push_str(&body);
    if let Read::Result(document) = &read
        && let Some(verdict) = &document.verdict
    {
        let gap = if body.ends_with('\n') { "" } else { "\n" };
        out.push_str(&format!("{gap}\n{}", text(verdict, "verdict", Extent::Findings, style)));
    }
    Ok(print(&out, ExitCode::Done))
}

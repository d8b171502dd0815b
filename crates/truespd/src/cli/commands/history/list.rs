//! `truespd history list`.

use clap::Args;

use super::at::{At, Done};
use super::filter::FilterArguments;
use crate::cli::show::history::table;
use crate::history::{Entry, Filter};
use diskspd::console::say_line;
use diskspd::program::{ExitCode, print};
use diskspd::show::verdict::Style;
use truespd_core::fault::Refusal;
use truespd_core::result::json::indented;
use truespd_core::text::grouped;

/// Rows that are shown without `--limit`: a screen.
const ROWS: usize = 20;

/// List kept results, the newest first
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The newest N of them; 0 is all [default: 20, with --json all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print them as JSON: a list with one entry for each, without the documents
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: FilterArguments,
}

pub(super) fn run(at: &At, arguments: &ListArguments) -> Done {
    let limit = match arguments.limit {
        None if arguments.json => None,
        None => Some(ROWS),
        Some(0) => None,
        Some(limit) => Some(limit),
    };
    let filter = Filter { limit, ..arguments.which.filter() };
    let store = at.to_read()?;
    let (entries, count) = match &store {
        Some(store) => {
            (store.list(&filter).map_err(Refusal::from)?, store.count(&filter).map_err(Refusal::from)?)
        }
        None => (Vec::new(), 0),
    };
    if arguments.json {
        return Ok(print(&json(&entries), ExitCode::Done));
    }
    if store.is_none() {
        say_line(format_args!("{}", at.nothing_yet()));
    } else if entries.is_empty() {
        say_line(format_args!("no kept result matches these filters"));
    }
    let code = print(&table(&entries, Style::of_stdout()), ExitCode::Done);
    if count > entries.len() as u64 {
        say_line(format_args!("the newest {} of {}; --limit 0 lists all", entries.len(), grouped(count)));
    }
    Ok(code)
}

fn json(entries: &[Entry]) -> String {
    indented(entries)
}

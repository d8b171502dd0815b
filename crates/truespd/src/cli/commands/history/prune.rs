//! `truespd history prune`.

use clap::{ArgGroup, Args};

use super::at::{At, Done};
use super::filter::FilterArguments;
use super::moment::{Moment, ago};
use crate::cli::show::history::table;
use diskspd::console::say_line;
use diskspd::program::{ExitCode, print};
use diskspd::show::verdict::{Style, plural};
use truespd_core::fault::Refusal;

/// Remove old results for good, and give their room back
///
/// Results with a label or a note stay: somebody named them to have them later.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("rule").required(true).multiple(true))]
pub(crate) struct PruneArguments {
    /// Remove results that began longer ago: 90d, 12h, 2w, 6mo
    #[arg(long, value_name = "AGE", group = "rule", value_parser = ago)]
    older_than: Option<Moment>,
    /// The newest N stay in any case; without --older-than all others are removed
    #[arg(long, value_name = "N", group = "rule")]
    keep_last: Option<usize>,
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    which: FilterArguments,
}

pub(super) fn run(at: &At, arguments: &PruneArguments) -> Done {
    let Some(store) = at.to_read()? else {
        say_line(format_args!("{}", at.nothing_yet()));
        return Ok(ExitCode::Done);
    };
    let before_s = arguments.older_than.map(|moment| moment.0);
    let keep_last = arguments.keep_last.unwrap_or(0);
    let prunable = store.prunable(&arguments.which.filter(), before_s, keep_last).map_err(Refusal::from)?;
    let results = plural(prunable.len(), "result");
    if arguments.dry_run {
        let code = print(&table(&prunable, Style::of_stdout()), ExitCode::Done);
        say_line(format_args!("{results} would be removed"));
        return Ok(code);
    }
    if !prunable.is_empty() {
        drop(store);
        let mut store = at.to_change("prune")?;
        store.remove(&prunable).map_err(Refusal::from)?;
        if let Err(error) = store.shrink() {
            say_line(format_args!(
                "WARNING: the results are removed, but the file could not be made smaller: {error}"
            ));
        }
    }
    Ok(print(&format!("{results} removed\n"), ExitCode::Done))
}

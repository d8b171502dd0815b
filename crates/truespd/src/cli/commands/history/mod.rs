//! `truespd history`: kept documents found, shown, named, moved and removed. One file each.

mod at;
mod change;
mod filter;
mod list;
mod moment;
mod prune;
mod show;
mod stats;
mod transfer;

use clap::{Args, Subcommand};

use self::at::At;
use crate::cli::commands::keeping::store_path;
use diskspd::console::tell;
use diskspd::program::ExitCode;

/// Find kept results again: every run and suite of truespd is kept in one file
///
/// DOCUMENT is the id of a kept result, the beginning of one, or a label. Times are UTC: 2026-11-23,
/// 2026-11-23T10:00, or how long ago: 90d, 12h, 2w.
#[derive(Debug, Args)]
pub(crate) struct HistoryCommand {
    /// File of the history [default: $TRUESPD_STORE, that of the configuration file, or
    /// ~/.local/share/truespd/history.sqlite]
    #[arg(long, value_name = "FILE", global = true)]
    store: Option<String>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::ListArguments),
    Show(show::ShowArguments),
    Label(change::LabelArguments),
    Tag(change::TagArguments),
    Note(change::NoteArguments),
    Rm(change::RemoveArguments),
    Export(transfer::ExportArguments),
    Import(transfer::ImportArguments),
    Prune(prune::PruneArguments),
    Stats(stats::StatsArguments),
}

/// `truespd history`.
pub(crate) fn run(arguments: &HistoryCommand) -> ExitCode {
    if let Action::Import(import) = &arguments.action
        && import.is_handed_over
    {
        return transfer::take_over(arguments.store.as_deref(), import);
    }
    let place = match store_path(arguments.store.as_deref()) {
        Ok(path) => At { path },
        Err(refusal) => return tell(refusal),
    };
    let done = match &arguments.action {
        Action::List(arguments) => list::run(&place, arguments),
        Action::Show(arguments) => show::run(&place, arguments),
        Action::Label(arguments) => change::label(&place, arguments),
        Action::Tag(arguments) => change::tag(&place, arguments),
        Action::Note(arguments) => change::note(&place, arguments),
        Action::Rm(arguments) => change::remove(&place, arguments),
        Action::Export(arguments) => transfer::export(&place, arguments),
        Action::Import(arguments) => transfer::import(&place, arguments),
        Action::Prune(arguments) => prune::run(&place, arguments),
        Action::Stats(arguments) => stats::run(&place, arguments),
    };
    done.unwrap_or_else(tell)
}

//! `truespd clean`: what killed suites left, shown and settled.

use clap::Args;

use crate::cli::ask::{agrees, can_ask};
use crate::series::undo::{Abandoned, Fate, Undone, journals_of_this_user};
use diskspd::console::{say, tell};
use diskspd::program::{ExitCode, print};
use truespd_core::fault::{Failure, FailureKind, Outcome, Refusal, RefusalKind};
use truespd_core::machine::roots::Roots;

/// Show what suites left that were killed, and remove it or set it back
///
/// Lists what is left and asks first. Only what the journals of this user name is touched, and only as long
/// as it is what the suite made: folders with other files in them and settings that somebody else changed
/// stay as they are.
#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Only list what is left
    #[arg(short = 'n', long, conflicts_with_all = ["yes", "forget"])]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Also forget what this user cannot remove or set back: it stays as it is, and no suite tells of it again
    #[arg(long)]
    forget: bool,
}

pub(crate) fn run(arguments: &CleanArguments) -> ExitCode {
    let Some(folder) = journals_of_this_user() else {
        let words = "there is no folder for what is to be undone; set XDG_STATE_HOME or HOME";
        return tell(Refusal::new(RefusalKind::Machine, words));
    };
    let found = match Abandoned::find(&folder, &Roots::default()) {
        Ok(found) => found,
        Err(refusal) => return tell(refusal),
    };
    let left = found.list();
    let mut text = listed(&left);
    if found.others() > 0 {
        text.push_str("Journals of suites that still run, or of another user, were left alone.\n");
    }
    if left.is_empty() || arguments.dry_run {
        return print(&text, ExitCode::Done);
    }
    if !arguments.yes {
        if !can_ask() {
            let words = "standard input is no terminal, so nobody can be asked; nothing was changed";
            let hint = "truespd clean --dry-run shows what is left, and --yes settles it";
            return tell(Refusal::command_line(words).hint(hint));
        }
        say(&text);
        if !agrees("Settle this?") {
            say("Nothing was changed.\n");
            return ExitCode::of(Outcome::Refused(RefusalKind::Input));
        }
    }
    settled(&found.settle(arguments.forget), arguments.forget)
}

/// What is left, by what becomes of it.
fn listed(left: &[Undone]) -> String {
    if left.is_empty() {
        return "No suite that was killed has left anything.\n".into();
    }
    let mut text = String::new();
    for (fate, title) in [
        (Fate::Undone, "To be removed or set back:"),
        (
            Fate::Forgotten,
            "To be forgotten, because it is not TrueSpd's any more or nothing tells that it is:",
        ),
        (Fate::Stuck, "Not possible for this user (with --forget it is not told of again):"),
    ] {
        let of_fate: Vec<&Undone> = left.iter().filter(|one| one.fate == fate).collect();
        if !of_fate.is_empty() {
            text.push_str(&format!("{title}\n"));
            of_fate.iter().for_each(|one| text.push_str(&format!("  {}\n", one.words)));
        }
    }
    text
}

fn settled(undone: &[Undone], forgets: bool) -> ExitCode {
    let mut text = String::new();
    let mut kept: Vec<Failure> = Vec::new();
    for one in undone {
        if one.fate != Fate::Stuck || forgets {
            text.push_str(&format!("{}\n", one.words));
        } else {
            let hint = "remove it or set it back as root, or forget it (truespd clean --forget)";
            kept.push(Failure::new(FailureKind::Lost, one.words.clone()).hint(hint));
        }
    }
    let code = print(&text, ExitCode::Done);
    if kept.is_empty() { code } else { tell(kept) }
}

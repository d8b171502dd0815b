//! `truespd adopt` and `truespd clean`, with the questions to the person at the terminal.

use crate::runner::undo::{Abandoned, Fate, Undone, journals_of_this_user};
use clap::Args;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};
use truespd_core::guard::mark::{Marks, Whose};
use truespd_core::guard::{Adoptable, Adoption, Consent, Guard, Purpose};
use truespd_front::console::{say, tell};
use truespd_front::program::print;
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Outcome, Refusal, RefusalKind, Refusals};
use truespd_platform::machine::roots::Roots;
use truespd_platform::text::{coarse_size, printable_path};

/// Let write tests overwrite existing files from now on, without asking for each test
///
/// Lists the files and asks first. The files are marked, not changed. The mark holds until something other than TrueSpd
/// writes to the file.
#[derive(Debug, Args)]
pub(crate) struct AdoptArguments {
    /// Files, or folders with --recursive
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Take all files in folders, too; links are not followed, other file systems are not entered
    #[arg(short, long)]
    recursive: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Remove the marks: write tests ask again
    #[arg(long)]
    forget: bool,
}

pub(crate) fn run(arguments: &AdoptArguments) -> ExitCode {
    let (marks, roots) = (Marks::of_this_user(), Roots::default());
    let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
    let purpose = if arguments.forget { Purpose::Forget } else { Purpose::Adopt };
    match guard.adoption(&arguments.paths, arguments.recursive, purpose) {
        Ok(found) if arguments.forget => forget(&guard, &found),
        Ok(found) => adopt(&guard, &found, arguments.yes),
        Err(refusals) => tell(Refusals::from(refusals)),
    }
}

fn adopt(guard: &Guard<'_>, found: &Adoption, is_agreed: bool) -> ExitCode {
    let new: Vec<&Adoptable> = found.files.iter().filter(|file| file.whose != Whose::Ours).collect();
    let mut text = String::new();
    if !new.is_empty() {
        text.push_str("Write tests will overwrite these files without asking:\n");
        text.push_str(&list(&new));
    }
    text.push_str(&remarks(found, found.files.len() - new.len(), "already a test file of TrueSpd"));
    if new.is_empty() || is_agreed {
        let listed = print(&text, ExitCode::Done);
        if new.is_empty() || listed != ExitCode::Done {
            return listed;
        }
    } else {
        // Beside the question: standard output is for what was done.
        say(&text);
        if !can_ask() {
            let words = "standard input is no terminal, so nobody can be asked; nothing was changed";
            return tell(
                Refusal::command_line(words).hint(format!("to adopt {}, add --yes", files(new.len()))),
            );
        }
        if !agrees(if new.len() == 1 { "Adopt this file?" } else { "Adopt these files?" }) {
            say("Nothing was changed.\n");
            return ExitCode::of(Outcome::Refused(RefusalKind::Input));
        }
    }
    for (before, file) in new.iter().enumerate() {
        if let Err(failure) = guard.adopt(file) {
            return tell(failure.hint(format!("{} adopted before that", files(before))));
        }
    }
    print(&format!("{} adopted.\n", files(new.len())), ExitCode::Done)
}

fn forget(guard: &Guard<'_>, found: &Adoption) -> ExitCode {
    let marked: Vec<&Adoptable> = found.files.iter().filter(|file| file.is_marked).collect();
    for file in &marked {
        if let Err(failure) = guard.forget(file) {
            return tell(failure);
        }
    }
    let mut text = String::new();
    if !marked.is_empty() {
        text.push_str("Write tests will ask before they overwrite these files:\n");
        text.push_str(&list(&marked));
    }
    text.push_str(&remarks(found, found.files.len() - marked.len(), "without a mark"));
    print(&text, ExitCode::Done)
}

/// Size and path of each file.
fn list(all: &[&Adoptable]) -> String {
    let mut text = String::new();
    for file in all {
        let links =
            if file.names > 1 { format!(" ({} names, hard links)", file.names) } else { String::new() };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:>12}  {}{links}", coarse_size(file.size_bytes), printable_path(&file.path));
    }
    let total = all.iter().map(|file| file.size_bytes).fold(0, u64::saturating_add);
    let _ = writeln!(text, "{:>12}  {}", coarse_size(total), files(all.len()));
    text
}

/// What is left as it is.
fn remarks(found: &Adoption, others: usize, what: &str) -> String {
    let mut text = String::new();
    if others > 0 {
        let _ = writeln!(text, "{} {what}.", files(others));
    }
    if !found.left.is_empty() {
        text.push_str("Left alone, because they are links, devices or on another file system:\n");
        for path in &found.left {
            let _ = writeln!(text, "{:>12}  {}", "", printable_path(path));
        }
    }
    if text.is_empty() && found.files.is_empty() {
        text.push_str("There are no files.\n");
    }
    text
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_string() } else { format!("{count} files") }
}

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

pub(crate) fn clean(arguments: &CleanArguments) -> ExitCode {
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

/// Whether somebody is there who can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// Asks on standard error for a yes; anything else, and the end of the input, is a no.
pub(crate) fn agrees(question: &str) -> bool {
    say(&format!("{question} Type yes to agree: "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["yes", "y"].contains(&answer.trim().to_lowercase().as_str())
}

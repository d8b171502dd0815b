//! `truespd adopt`: the person's word about files, once and for good.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::ask::{agrees, can_ask};
use diskspd::console::{say, tell};
use diskspd::program::{ExitCode, print};
use truespd_core::fault::{Outcome, Refusal, RefusalKind, Refusals};
use truespd_core::guard::mark::{Marks, Whose};
use truespd_core::guard::{Adoptable, Adoption, Consent, Guard, Purpose};
use truespd_core::machine::roots::Roots;
use truespd_core::text::{coarse_size, printable_path};

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

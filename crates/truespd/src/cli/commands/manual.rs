//! `truespd manual` and `truespd completions`: manual pages, on the screen, as troff or as files, and what shells
//! need to complete the words of `diskspd` and `truespd`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::cli::commands::generated::{GeneratedFile, write_generated};
use crate::cli::completions::{self, Shell};
use crate::cli::manual::{self, ManualPage};
use truespd_front::console::tell;
use truespd_front::program::{ExitCode, print};
use truespd_front::show::readable;
use truespd_platform::fault::Refusal;
use truespd_platform::sys::program;
use truespd_platform::text::{columns_of, hanging, nearest};

/// Print a manual page, or write all of them to a folder
///
/// On a terminal the page is shown as man shows it; elsewhere it is printed for troff. Without PAGE, the
/// pages are listed.
#[derive(Debug, Args)]
pub(crate) struct ManualArguments {
    /// Page: diskspd, truespd, truespd-ab, ...
    #[arg(conflicts_with = "folder")]
    page: Option<String>,

    /// Write all pages to man1 in this folder, which is created if it is missing; files of the same names are replaced
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// `truespd manual`. `command` is `truespd` with all its subcommands.
pub(crate) fn run(arguments: &ManualArguments, command: &clap::Command) -> ExitCode {
    let pages = manual::pages(command);
    match (&arguments.page, &arguments.folder) {
        (Some(name), _) => match pages.iter().find(|page| page.name == *name) {
            Some(page) if std::io::stdout().is_terminal() => show(page),
            Some(page) => print(&page.troff, ExitCode::Done),
            None => tell(no_page(name, &pages)),
        },
        (None, Some(folder)) => write(folder, &pages),
        (None, None) => print(&list(&pages), ExitCode::Done),
    }
}

/// Programs that show a page from standard input, in the order in which they are asked.
const VIEWERS: [(&str, &[&str]); 2] = [("man", &["-l", "-"]), ("mandoc", &["-a"])];

/// Pagers for plain text where neither variable names one.
const PAGERS: [&str; 2] = ["less", "more"];

/// Shows a page on the terminal: by a program for that, as plain text in a pager, or just so.
fn show(page: &ManualPage) -> ExitCode {
    for (program, options) in VIEWERS {
        if is_shown_by(Command::new(program).args(options), &page.troff) {
            return ExitCode::Done;
        }
    }
    let columns = program::terminal_columns(std::io::stdout()).map_or(80, readable);
    let plain = manual::plain(&page.troff, columns);
    let named = ["MANPAGER", "PAGER"].iter().filter_map(|name| std::env::var(name).ok());
    for pager in named.filter(|pager| !pager.is_empty()).chain(PAGERS.map(String::from)) {
        // As for man, a pager may have options.
        if is_shown_by(Command::new("sh").args(["-c", &pager]), &plain) {
            return ExitCode::Done;
        }
    }
    print(&plain, ExitCode::Done)
}

/// Whether a program is there and has shown a text, which it reads from a pipe.
fn is_shown_by(viewer: &mut Command, text: &str) -> bool {
    let started = viewer.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut viewer) = started else { return false };
    if let Some(mut page) = viewer.stdin.take() {
        // A reader that has seen enough closes it.
        let _ = std::io::copy(&mut text.as_bytes(), &mut page);
    }
    viewer.wait().is_ok_and(|end| end.success())
}

fn write(folder: &Path, pages: &[ManualPage]) -> ExitCode {
    let folder = folder.join("man1");
    let files = pages.iter();
    written(
        files
            .map(|page| GeneratedFile {
                path: folder.join(manual::file_name(page)),
                text: page.troff.clone(),
            })
            .collect(),
    )
}

fn written(files: Vec<GeneratedFile>) -> ExitCode {
    match write_generated(&files) {
        Ok(()) => ExitCode::Done,
        Err(failure) => tell(failure),
    }
}

fn list(pages: &[ManualPage]) -> String {
    let widest = pages.iter().map(|page| columns_of(&page.name)).max().unwrap_or(0);
    let mut text = String::new();
    for page in pages {
        text.push_str(&hanging(&format!("{:<widest$}  ", page.name), &page.about, 100));
    }
    text + "\nA page on the screen: truespd manual diskspd\n"
}

fn no_page(name: &str, pages: &[ManualPage]) -> Refusal {
    let refusal = Refusal::command_line(format!("there is no manual page '{name}'"));
    let below = format!("truespd-{name}");
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    match names.iter().find(|page| **page == below).copied().or_else(|| nearest(name, names.into_iter())) {
        Some(near) => refusal.hint(format!("did you mean {near}? truespd manual lists all pages")),
        None => refusal.hint("truespd manual lists all pages"),
    }
}

/// Print what a shell needs to complete the words of diskspd and truespd
///
/// For this shell only: source <(truespd completions bash). For all later ones: the same line in ~/.bashrc or
/// ~/.zshrc, or the files of --folder where the shell looks for them.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell that reads the script
    #[arg(required_unless_present = "folder", conflicts_with = "folder")]
    shell: Option<Shell>,

    /// Write the files for all shells to bash, zsh and fish in this folder, which is created if it is
    /// missing; files of the same names are replaced
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// `truespd completions`. `command` is `truespd` with all its subcommands.
pub(crate) fn complete(arguments: &CompletionsArguments, command: &clap::Command) -> ExitCode {
    if let Some(shell) = arguments.shell {
        return print(&completions::script(shell, command), ExitCode::Done);
    }
    let folder = arguments.folder.clone().unwrap_or_default();
    let files = completions::files(command).into_iter();
    written(files.map(|(path, text)| GeneratedFile { path: folder.join(path), text }).collect())
}

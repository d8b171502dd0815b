//! `truespd manual`: manual pages, on the screen, as troff or as files.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::cli::commands::values::{GeneratedFile, write_generated};
use crate::cli::manual::{self, ManualPage};
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};
use diskspd::show::verdict::readable;
use truespd_core::fault::Refusal;
use truespd_core::sys::terminal;
use truespd_core::text::{columns_of, hanging, nearest};

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

/// Shows a page on the terminal: by a program for that, or as plain text.
fn show(page: &ManualPage) -> ExitCode {
    if VIEWERS.iter().any(|(program, options)| is_shown_by(program, options, &page.troff)) {
        return ExitCode::Done;
    }
    let columns = terminal::columns(std::io::stdout()).map_or(80, readable);
    print(&manual::plain(&page.troff, columns), ExitCode::Done)
}

/// Whether a program is there and has shown the page, which it reads from a pipe.
fn is_shown_by(program: &str, options: &[&str], troff: &str) -> bool {
    let started = Command::new(program).args(options).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut viewer) = started else { return false };
    if let Some(mut page) = viewer.stdin.take() {
        // A reader that has seen enough closes it.
        let _ = std::io::copy(&mut troff.as_bytes(), &mut page);
    }
    viewer.wait().is_ok_and(|end| end.success())
}

fn write(folder: &Path, pages: &[ManualPage]) -> ExitCode {
    let file = |page: &ManualPage| GeneratedFile {
        path: folder.join("man1").join(manual::file_name(page)),
        text: page.troff.clone(),
    };
    let files: Vec<GeneratedFile> = pages.iter().map(file).collect();
    match write_generated(&files) {
        Ok(()) => ExitCode::Done,
        Err(failure) => tell(failure),
    }
}

fn list(pages: &[ManualPage]) -> String {
    let widest = pages.iter().map(|page| columns_of(&page.name)).max().unwrap_or(0);
    let line = |page: &ManualPage| hanging(&format!("{:<widest$}  ", page.name), &page.about, 100);
    let lines: String = pages.iter().map(line).collect();
    format!("{lines}\nA page on the screen: truespd manual diskspd\n")
}

fn no_page(name: &str, pages: &[ManualPage]) -> Refusal {
    let refusal = Refusal::command_line(format!("there is no manual page '{name}'"));
    let below = format!("truespd-{name}");
    let names = || pages.iter().map(|page| page.name.as_str());
    match names().find(|page| *page == below).or_else(|| nearest(name, names())) {
        Some(near) => refusal.hint(format!("did you mean {near}? truespd manual lists all pages")),
        None => refusal.hint("truespd manual lists all pages"),
    }
}

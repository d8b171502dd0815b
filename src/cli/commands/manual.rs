//! `truespd manual`: manual pages, as troff or as files.

use std::path::{Path, PathBuf};

use clap::{Args, Command};

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::commands::values::{GeneratedFile, write_generated};
use crate::cli::console::tell;
use crate::cli::manual::{self, ManualPage};
use crate::fault::Refusal;
use crate::text::{columns_of, hanging, nearest};

/// Print a manual page, or write all of them to a folder
///
/// `truespd manual diskspd | man -l -` shows one. Without PAGE, the pages are listed.
#[derive(Debug, Args)]
pub(crate) struct ManualArguments {
    /// Page to print for troff: diskspd, truespd, truespd-ab, ...
    #[arg(conflicts_with = "folder")]
    page: Option<String>,

    /// Write all pages to man1 in this folder, which is created if it is missing; files of the same names are replaced
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// `truespd manual`. `command` is `truespd` with all its subcommands.
pub(crate) fn run(arguments: &ManualArguments, command: &Command) -> ExitCode {
    let pages = manual::pages(command);
    match (&arguments.page, &arguments.folder) {
        (Some(name), _) => match pages.iter().find(|page| page.name == *name) {
            Some(page) => print(&page.troff, ExitCode::Done),
            None => tell(no_page(name, &pages)),
        },
        (None, Some(folder)) => write(folder, &pages),
        (None, None) => print(&list(&pages), ExitCode::Done),
    }
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
    format!("{lines}\nA page on the screen: truespd manual diskspd | man -l -\n")
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

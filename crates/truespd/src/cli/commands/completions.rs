//! `truespd completions`: what shells need to complete the words of `diskspd` and `truespd`.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::cli::commands::values::{GeneratedFile, write_generated};
use crate::cli::completions::{self, Shell};
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};

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
pub(crate) fn run(arguments: &CompletionsArguments, command: &Command) -> ExitCode {
    if let Some(shell) = arguments.shell {
        return print(&completions::script(shell, command), ExitCode::Done);
    }
    let folder = arguments.folder.clone().unwrap_or_default();
    let files: Vec<GeneratedFile> = completions::files(command)
        .into_iter()
        .map(|file| GeneratedFile { path: folder.join(file.path), text: file.text })
        .collect();
    match write_generated(&files) {
        Ok(()) => ExitCode::Done,
        Err(failure) => tell(failure),
    }
}

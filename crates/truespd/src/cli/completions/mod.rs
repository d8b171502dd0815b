//! Completion scripts for bash, zsh and fish: the subcommands of `truespd` by `clap_complete`, DiskSpd's
//! words, whose values are glued to their letters, from the rows of the switches. The scripts hold all they
//! need and start no program.

mod bash;
mod fish;
mod switches;
mod tree;
mod zsh;

use clap::{Command, ValueEnum};

/// A shell that a script is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// source <(truespd completions bash), or in ~/.bashrc
    Bash,
    /// source <(truespd completions zsh), or in ~/.zshrc behind compinit
    Zsh,
    /// truespd completions fish | source, or in ~/.config/fish/config.fish
    Fish,
}

/// One script that completes both commands, to be read by a running shell. `command` is `truespd` with all
/// its subcommands.
pub(crate) fn script(shell: Shell, command: &Command) -> String {
    let mut command = tree::completed(command);
    match shell {
        Shell::Bash => bash::both(&mut command),
        Shell::Zsh => zsh::both(&mut command),
        Shell::Fish => fish::both(&mut command),
    }
}

/// A file for the place where a shell looks for completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptFile {
    /// Below the folder: `zsh/_truespd`.
    pub path: &'static str,
    /// The script.
    pub text: String,
}

/// The files of all shells. Each works without the others.
pub(crate) fn files(command: &Command) -> Vec<ScriptFile> {
    let mut command = tree::completed(command);
    let file = |path, text| ScriptFile { path, text };
    vec![
        file("bash/diskspd", bash::diskspd()),
        file("bash/truespd", bash::truespd(&mut command)),
        file("zsh/_diskspd", zsh::diskspd()),
        file("zsh/_truespd", zsh::truespd(&mut command)),
        file("fish/diskspd.fish", fish::diskspd()),
        file("fish/truespd.fish", fish::truespd(&mut command)),
    ]
}

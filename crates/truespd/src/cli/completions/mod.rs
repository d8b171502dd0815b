//! Completion scripts for bash, zsh and fish: the subcommands of `truespd` by `clap_complete`, DiskSpd's
//! words, whose values are glued to their letters, from the rows of the switches. The scripts hold all they
//! need and start no program.

mod shells;
mod switches;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueEnum, ValueHint};

use crate::ask::pts::table::{Class, TESTS};
use crate::ask::table;
use crate::ask::workload::preset::BUILT_IN;
use crate::cli::manual::{self, visible};
use diskspd::run::Required;
use truespd_core::result::Grade;
use truespd_core::result::metrics::Metric;

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
    let mut command = completed(command);
    match shell {
        Shell::Bash => {
            format!("{}{}{}", shells::bash_words(), shells::BASH_DISKSPD, shells::bash_truespd(&mut command))
        }
        Shell::Zsh => {
            let (words, diskspd) = (shells::zsh_words(), shells::ZSH_DISKSPD);
            format!("{words}{diskspd}\ncompdef _diskspd diskspd\n{}", shells::zsh_truespd(&mut command))
        }
        Shell::Fish => {
            let (words, diskspd) = (shells::fish_words(), shells::fish_options("diskspd", &[]));
            format!("{words}{diskspd}{}", shells::fish_truespd(&mut command))
        }
    }
}

/// The files of all shells, each with its path below the folder where shells look. Each works without the others.
pub(crate) fn files(command: &Command) -> [(&'static str, String); 6] {
    let mut command = completed(command);
    let (bash, zsh, fish) = (shells::bash_words(), shells::zsh_words(), shells::fish_words());
    let zsh_diskspd = format!("{}{}", shells::ZSH_DISKSPD, shells::ZSH_DISKSPD_END);
    [
        ("bash/diskspd", format!("{bash}{}", shells::BASH_DISKSPD)),
        ("bash/truespd", format!("{bash}{}", shells::bash_truespd(&mut command))),
        ("zsh/_diskspd", format!("#compdef diskspd\n\n{zsh}{zsh_diskspd}")),
        ("zsh/_truespd", format!("#compdef truespd\n\n{zsh}{}", shells::zsh_truespd(&mut command))),
        ("fish/diskspd.fish", format!("{fish}{}", shells::fish_options("diskspd", &[]))),
        ("fish/truespd.fish", format!("{fish}{}", shells::fish_truespd(&mut command))),
    ]
}

/// The subcommands of `truespd` as the scripts complete them: what people are told of, with what is known of its
/// values.
fn completed(command: &Command) -> Command {
    let mut built = command.clone();
    built.build();
    let names: Vec<String> = visible(&built).map(|sub| sub.get_name().to_string()).collect();
    let help = Arg::new("command").value_parser(PossibleValuesParser::new(names));
    let about = "Print this message or the help of the given subcommand(s)";
    let pages = manual::names(command);
    visible_part(&built, &[])
        .version(env!("CARGO_PKG_VERSION"))
        .mut_subcommand("manual", |sub| {
            sub.mut_arg("page", |arg| {
                arg.value_parser(PossibleValuesParser::new(pages)).value_hint(ValueHint::Unknown)
            })
        })
        .subcommand(Command::new("help").about(about).arg(help))
}

/// The command with its visible options and subcommands. `path`: the names of the commands that lead to it.
fn visible_part(command: &Command, path: &[&str]) -> Command {
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let own: Vec<&str> = path.iter().copied().chain([command.get_name()]).collect();
    let mut part = Command::new(command.get_name().to_string())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(args.map(|arg| with_values(arg.clone().global(false), &own)));
    if let Some(about) = command.get_about() {
        part = part.about(about.clone());
    }
    part.subcommands(visible(command).map(|sub| visible_part(sub, &own)))
}

/// The argument with its values, or with what kind of path it takes.
fn with_values(arg: Arg, command: &[&str]) -> Arg {
    if !arg.get_action().takes_values()
        || arg.get_value_parser().possible_values().is_some_and(|mut values| values.next().is_some())
    {
        return arg;
    }
    let words = values(&arg, command);
    if words.is_empty() {
        let hint = hint(&arg);
        arg.value_hint(hint)
    } else {
        arg.value_parser(PossibleValuesParser::new(words))
    }
}

/// Legal words of arguments whose parser does not tell them.
fn values(arg: &Arg, command: &[&str]) -> Vec<&'static str> {
    let last = command.last().copied().unwrap_or_default();
    match (last, arg.get_id().as_str()) {
        (_, "require") => {
            let grades = [Grade::Certified, Grade::Suspect].map(Required::Grade);
            let own: &[Required] = match last {
                "ab" => &[Required::NotWorse, Required::Better],
                "assess" => &[Required::Pass],
                "pts" | "sustain" => &[Required::Steady],
                _ => &[],
            };
            grades.iter().chain(own).map(|required| required.word()).collect()
        }
        ("ab" | "cache" | "write-cache" | "locality", "metric") => {
            Metric::compared().map(Metric::name).collect()
        }
        (_, "metric") => Metric::all().map(Metric::name).collect(),
        ("list" | "export" | "stats" | "prune" | "rm", "verdict") => {
            [Grade::Certified, Grade::Suspect, Grade::Invalid].map(Grade::word).into()
        }
        (_, "kind") => std::iter::once("result").chain(table::TABLE.iter().map(|row| row.name)).collect(),
        ("pts", "test") => TESTS.iter().map(|test| test.name).collect(),
        ("pts", "class") => Class::ALL.map(|(_, name)| name).into(),
        ("workload", "name") => BUILT_IN.iter().map(|(name, ..)| *name).collect(),
        _ => Vec::new(),
    }
}

/// What kind of path it takes, by the name of its value.
fn hint(arg: &Arg) -> ValueHint {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
    match name.as_str() {
        "DIR" | "FOLDER" => ValueHint::DirPath,
        "FILE" | "PATH" | "EVENTS" | "DOCUMENT" | "DOCUMENTS" | "RESULTS" | "TARGET" | "DIR|DEVICE"
        | "NAME=PATH" => ValueHint::AnyPath,
        _ => ValueHint::Other,
    }
}

//! The subcommands of `truespd` as the scripts complete them: what people are told of, with what is known of
//! its values.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, ValueHint};

use crate::cli::commands::suites;
use crate::cli::manual;
use crate::suite::workload::preset::BUILT_IN;
use diskspd::run::required::Required;
use truespd_core::result::Grade;
use truespd_core::result::metrics::Metric;

/// The command as it is completed.
pub(super) fn completed(command: &Command) -> Command {
    let mut built = command.clone();
    built.build();
    let names: Vec<String> = visible(&built).map(|sub| sub.get_name().to_string()).collect();
    let help = Arg::new("command").value_parser(PossibleValuesParser::new(names));
    let about = "Print this message or the help of the given subcommand(s)";
    let pages = manual::names(command);
    told(&built, &[])
        .version(env!("CARGO_PKG_VERSION"))
        .mut_subcommand("manual", |sub| {
            sub.mut_arg("page", |arg| {
                arg.value_parser(PossibleValuesParser::new(pages)).value_hint(ValueHint::Unknown)
            })
        })
        .subcommand(Command::new("help").about(about).arg(help))
}

/// The long options of a subcommand itself, without the help.
pub(super) fn options(command: &Command, path: &[&str]) -> Vec<String> {
    let sub = path.iter().try_fold(command, |command, name| command.find_subcommand(name));
    let args = sub.into_iter().flat_map(Command::get_arguments);
    args.filter_map(Arg::get_long).filter(|long| *long != "help").map(|long| format!("--{long}")).collect()
}

/// Subcommands that people are told of, in the order of the help.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let told = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
    let mut subcommands: Vec<&Command> = command.get_subcommands().filter(told).collect();
    subcommands.sort_by_key(|sub| sub.get_display_order());
    subcommands.into_iter()
}

/// The command with its visible options and subcommands. `path`: the names of the commands that lead to it.
fn told(command: &Command, path: &[&str]) -> Command {
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let own: Vec<&str> = path.iter().copied().chain([command.get_name()]).collect();
    let mut told = Command::new(command.get_name().to_string())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(args.map(|arg| with_values(arg.clone().global(false), &own)));
    if let Some(about) = command.get_about() {
        told = told.about(about.clone());
    }
    told.subcommands(visible(command).map(|sub| self::told(sub, &own)))
}

/// The argument with its values, or with what kind of path it takes.
fn with_values(arg: Arg, command: &[&str]) -> Arg {
    let is_known =
        || arg.get_value_parser().possible_values().is_some_and(|mut values| values.next().is_some());
    if !arg.get_action().takes_values() || is_known() {
        return arg;
    }
    match values(&arg, command) {
        Some(values) => arg.value_parser(PossibleValuesParser::new(values)),
        None => {
            let hint = hint(&arg);
            arg.value_hint(hint)
        }
    }
}

/// Legal words of arguments whose parser does not tell them.
fn values(arg: &Arg, command: &[&str]) -> Option<Vec<PossibleValue>> {
    let words = |words: &mut dyn Iterator<Item = &'static str>| Some(words.map(PossibleValue::new).collect());
    let last = command.last().copied().unwrap_or_default();
    match (last, arg.get_id().as_str()) {
        (_, "require") => {
            let grades = [Grade::Certified, Grade::Suspect].map(Required::Grade);
            let own: &[Required] = match last {
                "ab" => &[Required::NotWorse, Required::Better],
                "assess" => &[Required::Pass],
                _ => &[],
            };
            words(&mut grades.iter().chain(own).map(|required| required.word()))
        }
        ("ab" | "cache" | "write-cache" | "locality", "metric") => {
            words(&mut Metric::compared().map(Metric::name))
        }
        (_, "metric") => words(&mut Metric::all().map(Metric::name)),
        ("list" | "export" | "stats" | "prune" | "rm", "verdict") => {
            words(&mut [Grade::Certified, Grade::Suspect, Grade::Invalid].map(Grade::word).into_iter())
        }
        (_, "kind") => words(&mut std::iter::once("result").chain(suites::TABLE.iter().map(|row| row.name))),
        ("workload", "name") => words(&mut BUILT_IN.iter().map(|(name, ..)| *name)),
        _ => None,
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

//! `truespd`: the command with subcommands; each lives in a file of its own.

use crate::ask::keeping::Keeping;
use crate::ask::table::{Chosen, Row};
use crate::ask::{command, table};
use crate::cli::commands;
use crate::cli::commands::adopt::{AdoptArguments, CleanArguments};
use crate::cli::commands::answer::print_or_refuse;
use crate::cli::commands::bench_self::BenchArguments;
use crate::cli::commands::cluster::ClusterArguments;
use crate::cli::commands::compare::CompareArguments;
use crate::cli::commands::config;
use crate::cli::commands::config::{ConfigArguments, ConfigReport};
use crate::cli::commands::doctor::DoctorArguments;
use crate::cli::commands::history::HistoryCommand;
use crate::cli::commands::import::ImportArguments;
use crate::cli::commands::inspect::InspectArguments;
use crate::cli::commands::manual::{CompletionsArguments, ManualArguments};
use crate::cli::commands::render::{JudgeArguments, MergeArguments, RenderArguments, ShowArguments};
use crate::cli::commands::report::ReportArguments;
use crate::cli::commands::verify::VerifyArguments;
use crate::cli::commands::watch::WatchArguments;
use crate::compare::Comparison;
use crate::runner::CARETAKER;
use crate::selfcost;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use truespd_core::result::{ReadBack, schema};
use truespd_front::program::{Front, Program, VerdictTo, begin, print, run_words};
use truespd_platform::fault::ExitCode;
use truespd_verdict::doctor;

/// Measure storage with evidence: run a load as DiskSpd does, keep the whole result, print it in any format,
/// add results up.
#[derive(Debug, Parser)]
#[command(name = "truespd", version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a load with the options of `diskspd` (`truespd run -?` lists them)
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Run {
        /// Options and targets as for `diskspd`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
        words: Vec<OsString>,
    },
    #[command(flatten)]
    Suite(Chosen),
    Cluster(ClusterArguments),
    Inspect(InspectArguments),
    Doctor(DoctorArguments),
    Verify(VerifyArguments),
    Adopt(AdoptArguments),
    Clean(CleanArguments),
    Judge(JudgeArguments),
    Show(ShowArguments),
    Watch(WatchArguments),
    Render(RenderArguments),
    Report(ReportArguments),
    Merge(MergeArguments),
    History(HistoryCommand),
    Compare(CompareArguments),
    Import(ImportArguments),
    Config(ConfigArguments),
    BenchSelf(BenchArguments),
    /// Clean up after a suite that was killed (started by suites)
    #[command(hide = true, name = CARETAKER)]
    Caretaker {
        /// Journal of the suite
        journal: String,
    },
    /// Print the JSON Schema of a kind of document
    Schema {
        /// Kind of document
        #[arg(value_parser = kinds_of_documents(), default_value = RESULT)]
        of: String,
    },
    Manual(ManualArguments),
    Completions(CompletionsArguments),
}

/// All subcommands with their options, for the manual and for completions: also those that the parser hands on.
pub(crate) fn described() -> clap::Command {
    Arguments::command().mut_subcommand("cluster", commands::cluster::described)
}

/// Results of runs, as a kind of documents.
const RESULT: &str = "result";
/// What `compare` writes, as a kind of documents.
const COMPARE: &str = "compare";
/// What `bench-self` writes, as a kind of documents.
const SELF_COST: &str = "self-cost";
/// What `doctor` writes, as a kind of documents.
const DOCTOR: &str = "doctor";
/// What `verify` writes, as a kind of documents.
const VERIFY: &str = "verify";
/// What `config` writes, as a kind of documents.
const CONFIG: &str = "config";

/// Kinds of documents with what they are.
fn kinds_of_documents() -> PossibleValuesParser {
    let own = [
        (RESULT, "Results of runs".to_string()),
        (COMPARE, "What `compare --json` writes".into()),
        (CONFIG, "What `config --json` writes".into()),
        (SELF_COST, "What `bench-self --json` writes".into()),
        (DOCTOR, "What `doctor --json` writes".into()),
        (VERIFY, "What `verify --json` writes".into()),
    ];
    let mut kinds: Vec<PossibleValue> = Vec::new();
    for (name, about) in own {
        kinds.push(PossibleValue::new(name).help(about));
    }
    for row in &table::TABLE {
        kinds.push(PossibleValue::new(row.name).help(format!("What `{} --json` writes", row.typed())));
    }
    kinds.into()
}

/// The JSON Schema of a kind of documents.
fn schema_of(kind: &str) -> String {
    match Row::named(kind) {
        Some(row) => (row.schema)(),
        None if kind == COMPARE => schema::of_kind::<Comparison>(),
        None if kind == CONFIG => schema::of_kind::<ConfigReport>(),
        None if kind == SELF_COST => schema::of_kind::<selfcost::CostReport>(),
        None if kind == DOCTOR => schema::of_kind::<doctor::Report>(),
        None if kind == VERIFY => schema::of_kind::<ReadBack>(),
        None => schema::of_results(),
    }
}

/// Runs the `truespd` command with `args` (without the program name).
pub fn truespd(program: &Program, args: &[OsString]) -> ExitCode {
    begin().map_or_else(|code| code, |()| dispatch(program, args))
}

fn dispatch(program: &Program, args: &[OsString]) -> ExitCode {
    // What follows `run` are DiskSpd's options, which the parser of subcommands would read by other rules.
    if let Some((first, words)) = args.split_first()
        && first == "run"
    {
        return run(program, words);
    }
    if let [first, words @ ..] = args
        && first == "cluster"
    {
        return commands::cluster::run_words(program, words);
    }
    let words = std::iter::once(OsString::from(&program.name)).chain(parsable(args));
    match Arguments::try_parse_from(words) {
        Ok(arguments) => match started(arguments.command) {
            Ok(command) => command_of(program, args, command),
            Err(code) => code,
        },
        Err(answer) => print_or_refuse(&answer, program, args, described()),
    }
}

/// The command, once the configuration is read that it needs.
fn started(command: Command) -> Result<Command, ExitCode> {
    match command {
        // They ask for nothing that could be configured, `diskspd` and a cluster read it themselves, and
        // `config` tells all.
        Command::Schema { .. } | Command::Caretaker { .. } | Command::Run { .. } | Command::Cluster(_) => {}
        // A configuration that is wrong stops neither itself being shown, nor the start of a shell that
        // completes words.
        Command::Config(_) | Command::Manual(_) | Command::Completions(_) => {}
        _ => config::begin()?,
    }
    Ok(command)
}

fn command_of(program: &Program, args: &[OsString], command: Command) -> ExitCode {
    match command {
        Command::Run { words } => run(program, &words),
        Command::Cluster(arguments) => commands::cluster::run(program, &arguments),
        Command::Suite(suite) => {
            suite.run(None).unwrap_or_else(|answer| print_or_refuse(&answer, program, args, described()))
        }
        Command::Verify(arguments) => commands::verify::run(&arguments),
        Command::Adopt(arguments) => commands::adopt::run(&arguments),
        Command::Clean(arguments) => commands::adopt::clean(&arguments),
        Command::Inspect(arguments) => commands::inspect::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Show(arguments) => commands::render::show(&arguments),
        Command::Watch(arguments) => commands::watch::run(&arguments),
        Command::Render(arguments) => commands::render::run(&arguments),
        Command::History(arguments) => commands::history::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Merge(arguments) => commands::render::merge(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Config(arguments) => commands::config::run(&arguments),
        Command::Judge(arguments) => commands::render::judge_documents(&arguments),
        Command::BenchSelf(arguments) => commands::bench_self::run(&arguments),
        Command::Caretaker { journal } => command::caretaker(&journal),
        Command::Manual(arguments) => commands::manual::run(&arguments, &described()),
        Command::Completions(arguments) => commands::manual::complete(&arguments, &described()),
        Command::Schema { of } => print(&schema_of(&of), ExitCode::Done),
    }
}

/// The words behind `truespd`, as the parser wants them.
fn parsable(args: &[OsString]) -> Vec<OsString> {
    let suite = args.first().and_then(|first| Row::named(first.to_str()?));
    suite.map_or_else(|| args.to_vec(), |row| (row.words)(args))
}

/// `truespd run`: the verdict stands under the result, and this program keeps results.
const RUN: Front = Front { verdict_to: VerdictTo::UnderResult, keeping: Keeping::of_run };

fn run(program: &Program, words: &[OsString]) -> ExitCode {
    run_words(&Program { name: format!("{} run", program.name) }, words, &RUN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::manual::{EXAMPLES, pages};
    use truespd_platform::text::split_line;

    #[test]
    fn the_examples_of_the_manual_are_legal() {
        for (line, _) in EXAMPLES {
            let words = split_line(line).expect("quotes are closed");
            let parsed = Arguments::try_parse_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.expect_err("refused"));
        }
    }

    #[test]
    fn other_names_are_no_commands_and_lead_to_one() {
        let program = described();
        let mut seen: Vec<&str> = Vec::new();
        for (names, hint) in commands::answer::COMMANDS {
            for name in names.split(' ') {
                assert!(!seen.contains(&name) && program.find_subcommand(name).is_none(), "{name}");
                seen.push(name);
            }
            let words: Vec<&str> = hint.split_whitespace().collect();
            for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == "truespd") {
                let next = words[at + 1];
                assert!(next == "--version" || program.find_subcommand(next).is_some(), "{hint}");
            }
        }
        assert!(commands::answer::command("oltp").is_some_and(|hint| hint.contains("truespd workload oltp")));
        assert!(commands::answer::command("nonsense").is_none());
    }

    /// Calls `check` with the name of the page of every subcommand that people are told of.
    fn each_command(command: &clap::Command, check: &mut dyn FnMut(&str, &clap::Command)) {
        check(command.get_display_name().unwrap_or_else(|| command.get_name()), command);
        let told = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        told.for_each(|sub| each_command(sub, check));
    }

    #[test]
    fn every_option_of_every_subcommand_is_in_the_manual() {
        let mut command = described();
        command.build();
        let (pages, mut options) = (pages(&command), 0);
        each_command(&command, &mut |name, command| {
            let page =
                pages.iter().find(|page| page.name == name).unwrap_or_else(|| panic!("no page {name}"));
            assert!(!page.about.is_empty() && page.about.len() <= 100, "{name}: {}", page.about);
            if name == "truespd-run" {
                return;
            }
            let terms: Vec<&str> = page
                .troff
                .lines()
                .zip(page.troff.lines().skip(1))
                .filter_map(|(line, term)| (line == ".TP").then_some(term))
                .collect();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let long = arg.get_long().map(|long| format!("\\-\\-{}\\fR", long.replace('-', "\\-")));
                let short = arg.get_short().map(|short| format!("\\-{short}\\fR"));
                let value = arg.get_value_names().map(|names| names.join(" ").replace('-', "\\-"));
                let word = long.or(short).or(value).expect("an option has a name");
                assert!(
                    terms.iter().any(|term| term.contains(&word)),
                    "{name}: {word}\n{}",
                    terms.join("\n")
                );
                options += 1;
            }
        });
        assert!(options > 150, "{options}");
    }
}

//! `truespd`: the command with subcommands; each lives in a file of its own.

use std::ffi::OsString;

use clap::{Parser, Subcommand, ValueEnum};

use crate::cli::commands;
use crate::cli::commands::ab::AbArguments;
use crate::cli::commands::assess::AssessArguments;
use crate::cli::commands::bench_self::BenchArguments;
use crate::cli::commands::diskspd::{ExitCode, Place, Program, print, run_words};
use crate::cli::commands::inspect::InspectArguments;
use crate::cli::commands::judge::JudgeArguments;
use crate::cli::commands::mark::MarkArguments;
use crate::cli::commands::merge::MergeArguments;
use crate::cli::commands::render::RenderArguments;
use crate::cli::commands::study::StudyArguments;
use crate::cli::commands::workload::WorkloadArguments;
use crate::cli::console::say;
use crate::fault::{Outcome, RefusalKind};
use crate::result::json;
use crate::selfcost;
use crate::session::series::CARETAKER;
use crate::suite::{ab, assess, mark, study, workload};

/// Storage performance with evidence: run a load as DiskSpd does, keep the whole result, show it in any
/// format, add results up.
#[derive(Debug, Parser)]
#[command(name = "truespd", version, arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a load: the words of `diskspd` (`truespd run -?` lists them)
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Run {
        /// Options and targets as for `diskspd`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
        words: Vec<OsString>,
    },
    Mark(MarkArguments),
    Assess(AssessArguments),
    Workload(WorkloadArguments),
    Ab(AbArguments),
    Study(StudyArguments),
    Inspect(InspectArguments),
    Judge(JudgeArguments),
    Render(RenderArguments),
    Merge(MergeArguments),
    BenchSelf(BenchArguments),
    /// Clean up after a suite that was killed (started by suites)
    #[command(hide = true, name = CARETAKER)]
    Caretaker {
        /// Journal of the suite
        journal: String,
    },
    /// Print the JSON Schema of a kind of documents
    Schema {
        /// Which documents
        #[arg(value_enum, default_value_t = Documents::Result)]
        of: Documents,
    },
}

/// Kinds of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Documents {
    /// Results of runs
    Result,
    /// What `bench-self --json` writes
    SelfCost,
    /// What `assess --json` writes
    Assess,
    /// What `mark --json` writes
    Mark,
    /// What `ab --json` writes
    Ab,
    /// What `workload --json` writes
    Workload,
    /// What `study --json` writes
    Study,
}

/// Runs the `truespd` command with `args` (without the program name).
pub fn truespd(program: &Program, args: &[OsString]) -> ExitCode {
    // What stands behind `run` is DiskSpd's and would only be spoilt by other rules for options.
    if let Some((first, words)) = args.split_first()
        && first == "run"
    {
        return run(program, words);
    }
    let words = std::iter::once(OsString::from(&program.name)).chain(parsable(args));
    match Arguments::try_parse_from(words) {
        Ok(arguments) => match arguments.command {
            Command::Run { words } => run(program, &words),
            Command::Mark(arguments) => commands::mark::run(&arguments),
            Command::Inspect(arguments) => commands::inspect::run(&arguments),
            Command::Render(arguments) => commands::render::run(&arguments),
            Command::Merge(arguments) => commands::merge::run(&arguments),
            Command::Judge(arguments) => commands::judge::run(&arguments),
            Command::Assess(arguments) => commands::assess::run(&arguments),
            Command::Workload(arguments) => commands::workload::run(&arguments),
            Command::BenchSelf(arguments) => commands::bench_self::run(&arguments),
            Command::Ab(arguments) => commands::ab::run(&arguments),
            Command::Study(arguments) => commands::study::run(&arguments),
            Command::Caretaker { journal } => commands::suite::caretaker(&journal),
            Command::Schema { of: Documents::Result } => print(&json::schema(), ExitCode::Done),
            Command::Schema { of: Documents::SelfCost } => print(&selfcost::schema(), ExitCode::Done),
            Command::Schema { of: Documents::Workload } => print(&workload::schema(), ExitCode::Done),
            Command::Schema { of: Documents::Assess } => print(&assess::schema(), ExitCode::Done),
            Command::Schema { of: Documents::Mark } => print(&mark::schema(), ExitCode::Done),
            Command::Schema { of: Documents::Ab } => print(&ab::schema(), ExitCode::Done),
            Command::Schema { of: Documents::Study } => print(&study::schema(), ExitCode::Done),
        },
        // Help and the version are asked for; the rest is refused.
        Err(answer) if !answer.use_stderr() => print(&answer.to_string(), ExitCode::Done),
        Err(refusal) => {
            say(&refusal_text(&refusal, args));
            ExitCode::of(Outcome::Refused(RefusalKind::CommandLine))
        }
    }
}

/// A refusal of options as the program's own ones look.
fn refusal_text(refusal: &clap::Error, args: &[OsString]) -> String {
    let mut text = refusal.to_string();
    // Behind an option it was meant as the value, which `--` would make a target of.
    if let Some(clap::error::ContextValue::String(word)) = refusal.get(clap::error::ContextKind::InvalidArg)
        && args.windows(2).any(|two| two[1] == **word && two[0].to_string_lossy().starts_with("--"))
    {
        text = text.replace(&format!("  tip: to pass '{word}' as a value, use '-- {word}'\n\n"), "");
    }
    match text.strip_prefix("error: ") {
        Some(rest) => format!("ERROR: {rest}"),
        None => text,
    }
}

/// The words behind `truespd`, as the parser wants them.
fn parsable(args: &[OsString]) -> Vec<OsString> {
    match args.first() {
        Some(first) if first == "mark" => commands::mark::joined_words(args),
        _ => commands::assess::long_words(args),
    }
}

fn run(program: &Program, words: &[OsString]) -> ExitCode {
    run_words(&Program { name: format!("{} run", program.name) }, words, Place::UnderResult)
}

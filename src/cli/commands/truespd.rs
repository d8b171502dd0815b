//! `truespd`: the command with subcommands; each lives in a file of its own.

use std::ffi::OsString;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand};

use crate::cli::commands;
use crate::cli::commands::adopt::AdoptArguments;
use crate::cli::commands::bench_self::BenchArguments;
use crate::cli::commands::cluster::ClusterArguments;
use crate::cli::commands::compare::CompareArguments;
use crate::cli::commands::diskspd::{ExitCode, Program, VerdictTo, begin, print, run_words};
use crate::cli::commands::history::HistoryCommand;
use crate::cli::commands::inspect::InspectArguments;
use crate::cli::commands::judge::JudgeArguments;
use crate::cli::commands::merge::MergeArguments;
use crate::cli::commands::render::RenderArguments;
use crate::cli::commands::report::ReportArguments;
use crate::cli::commands::show::ShowArguments;
use crate::cli::commands::suites::{self, Chosen, Row};
use crate::cli::commands::watch::WatchArguments;
use crate::cli::console::say;
use crate::compare::Comparison;
use crate::fault::{Outcome, RefusalKind};
use crate::result::{envelope, json};
use crate::selfcost;
use crate::session::series::CARETAKER;

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
    Adopt(AdoptArguments),
    Judge(JudgeArguments),
    Show(ShowArguments),
    Watch(WatchArguments),
    Render(RenderArguments),
    Report(ReportArguments),
    Merge(MergeArguments),
    History(HistoryCommand),
    Compare(CompareArguments),
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
}

/// Results of runs, as a kind of documents.
const RESULT: &str = "result";
/// What `compare` writes, as a kind of documents.
const COMPARE: &str = "compare";
/// What `bench-self` writes, as a kind of documents.
const SELF_COST: &str = "self-cost";

/// Kinds of documents with what they are.
fn kinds_of_documents() -> PossibleValuesParser {
    let own = [
        (RESULT, "Results of runs".to_string()),
        (COMPARE, "What `compare --json` writes".into()),
        (SELF_COST, "What `bench-self --json` writes".into()),
    ];
    let of_suite = |row: &Row| (row.name, format!("What `{} --json` writes", row.name));
    let all = own.into_iter().chain(suites::TABLE.iter().map(of_suite));
    all.map(|(name, about)| PossibleValue::new(name).help(about)).collect::<Vec<_>>().into()
}

/// The JSON Schema of a kind of documents.
fn schema(kind: &str) -> String {
    match Row::named(kind) {
        Some(row) => (row.schema)(),
        None if kind == COMPARE => envelope::schema::<Comparison>(),
        None if kind == SELF_COST => envelope::schema::<selfcost::CostReport>(),
        None => json::schema(),
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
        Ok(arguments) => match arguments.command {
            Command::Run { words } => run(program, &words),
            Command::Cluster(arguments) => commands::cluster::run(program, &arguments),
            Command::Suite(suite) => suite.run(None).unwrap_or_else(|answer| told(&answer, args)),
            Command::Adopt(arguments) => commands::adopt::run(&arguments),
            Command::Inspect(arguments) => commands::inspect::run(&arguments),
            Command::Show(arguments) => commands::show::run(&arguments),
            Command::Watch(arguments) => commands::watch::run(&arguments),
            Command::Render(arguments) => commands::render::run(&arguments),
            Command::History(arguments) => commands::history::run(&arguments),
            Command::Report(arguments) => commands::report::run(&arguments),
            Command::Merge(arguments) => commands::merge::run(&arguments),
            Command::Compare(arguments) => commands::compare::run(&arguments),
            Command::Judge(arguments) => commands::judge::run(&arguments),
            Command::BenchSelf(arguments) => commands::bench_self::run(&arguments),
            Command::Caretaker { journal } => commands::suite::caretaker(&journal),
            Command::Schema { of } => print(&schema(&of), ExitCode::Done),
        },
        Err(answer) => told(&answer, args),
    }
}

/// Help and the version are asked for; the rest is refused.
pub(crate) fn told(answer: &clap::Error, args: &[OsString]) -> ExitCode {
    if !answer.use_stderr() {
        return print(&answer.to_string(), ExitCode::Done);
    }
    say(&refusal_text(answer, args));
    ExitCode::of(Outcome::Refused(RefusalKind::CommandLine))
}

/// A refusal of options in the form of the program's own refusals.
fn refusal_text(refusal: &clap::Error, args: &[OsString]) -> String {
    let mut text = refusal.to_string();
    // `--` would make a target of the word, but `--word` is meant as an option, and a word after an option as its value.
    if let Some(clap::error::ContextValue::String(word)) = refusal.get(clap::error::ContextKind::InvalidArg)
        && (word.starts_with("--")
            || args.windows(2).any(|two| two[1] == **word && two[0].to_string_lossy().starts_with("--")))
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
    let suite = args.first().and_then(|first| Row::named(first.to_str()?));
    suite.map_or_else(|| args.to_vec(), |row| (row.words)(args))
}

fn run(program: &Program, words: &[OsString]) -> ExitCode {
    run_words(&Program { name: format!("{} run", program.name) }, words, VerdictTo::UnderResult)
}

//! `truespd cluster`: one run on many hosts at the same time.

mod launch;
mod options;
mod run;
mod series;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::ask::table::Row;
use crate::cli::commands::answer::print_or_refuse;
use crate::cli::commands::config::tell_warnings;
use options::Own;
use truespd_front::config;
use truespd_front::console::{tell, write_waiting};
use truespd_front::program::{ExitCode, Program, print};
use truespd_platform::fault::{FailureKind, Outcome, Refusal, RefusalKind};
use truespd_platform::machine::host::{host_name, launched};

/// One run on many hosts at the same time, by MPI: mpirun -np 3 --host a,b,c truespd cluster run LINE
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ClusterArguments {
    /// run, mark, workload or find-max, with its options (`truespd cluster run --help`)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<OsString>,
}

/// What runs on every rank.
#[derive(Debug, Clone, Copy)]
enum Load {
    Line,
    Suite(&'static Row),
}

impl Load {
    /// What the first word names.
    fn named(word: &str) -> Option<Self> {
        match word {
            "run" => Some(Load::Line),
            name => Row::named(name).filter(|row| series::SUITES.contains(&row.name)).map(Load::Suite),
        }
    }
}

/// `truespd cluster` with what it runs as subcommands, which its parser does not know.
pub(crate) fn described(own: clap::Command) -> clap::Command {
    let suites = series::SUITES.iter().filter_map(|name| Row::named(name));
    clap::Command::new("cluster")
        .about(own.get_about().cloned().unwrap_or_default())
        .display_order(own.get_display_order())
        .override_usage(
            "mpirun -np RANKS --host HOSTS truespd cluster <run|mark|workload|find-max> [OPTIONS] ...",
        )
        .subcommand(options::described())
        .subcommands(suites.map(|row| options::described_suite(row.name, row.own_command())))
}

/// How long a rank waits with what rank 0 may say as well.
const AFTER_RANK_0: Duration = Duration::from_secs(2);

pub(crate) fn run(program: &Program, arguments: &ClusterArguments) -> ExitCode {
    run_words(program, &arguments.words)
}

/// Help, the version, or why options behind `cluster` are refused.
fn refused_option(answer: &clap::Error, program: &Program, words: &[OsString]) -> ExitCode {
    let name = format!("{} cluster", program.name);
    let command = described(clap::Command::new("cluster")).name("truespd cluster");
    print_or_refuse(answer, &Program { name }, words, command)
}

/// Says what is missing on this host, or on every one.
fn refused_here(mut refusal: Refusal, is_first: bool) -> ExitCode {
    if !is_first {
        // Where it concerns every host, rank 0 says it first, and some launchers end this process meanwhile.
        std::thread::sleep(AFTER_RANK_0);
        refusal.hints.truncate(1);
        refusal.message = format!("on host {}, {}", host_name(), refusal.message);
    }
    tell(refusal)
}

/// `truespd cluster` with these words.
pub(crate) fn run_words(program: &Program, words: &[OsString]) -> ExitCode {
    // All ranks have the same words, so one of them is enough to say what is wrong with them.
    let launched = launched();
    let is_first = launched.is_none_or(|launched| launched.rank.unwrap_or(0) == 0);
    let told = |refusal: Refusal| {
        let code = ExitCode::of(Outcome::Refused(refusal.kind));
        if is_first { tell(refusal) } else { code }
    };
    let typed: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_string)).collect();
    let Some(typed) = typed else {
        return told(Refusal::command_line("a word of the command line is not UTF-8 text"));
    };
    let (first, rest) = match typed.split_first() {
        Some((first, rest)) if !matches!(first.as_str(), "--help" | "-h" | "-?" | "help") => (first, rest),
        asked => {
            let refused = ExitCode::of(Outcome::Refused(RefusalKind::CommandLine));
            let code = if asked.is_some() { ExitCode::Done } else { refused };
            return if is_first { print(&options::help(), code) } else { code };
        }
    };
    let Some(what) = Load::named(first) else { return told(series::no_suite(first)) };
    let own = match Own::split(rest, matches!(what, Load::Line)) {
        Ok(own) => own,
        Err(answer) if !answer.use_stderr() => {
            return if is_first { print(&options::help(), ExitCode::Done) } else { ExitCode::Done };
        }
        Err(answer) if is_first => return refused_option(&answer, program, words),
        Err(_) => return ExitCode::of(Outcome::Refused(RefusalKind::CommandLine)),
    };
    if own.line.is_empty() && matches!(what, Load::Line) {
        return told(
            Refusal::command_line("there is no command line to run")
                .legal("options and targets as for diskspd, after the options of the cluster")
                .hint("truespd cluster run --help"),
        );
    }
    if let Load::Suite(row) = what {
        match series::chosen(row, &own.line) {
            Err(answer) => {
                let refused = ExitCode::of(Outcome::Refused(RefusalKind::CommandLine));
                let code = if answer.use_stderr() { refused } else { ExitCode::Done };
                return if is_first { refused_option(&answer, program, words) } else { code };
            }
            Ok(chosen) if !chosen.is_of(row) => return told(series::no_suite(&chosen.typed())),
            Ok(_) => {}
        }
    }
    let objects = match launch::objects(launched) {
        Ok(objects) => objects,
        Err(refusal) => return refused_here(refusal, is_first),
    };
    let has_others = launched.is_some_and(|launched| launched.ranks != Some(1));
    if has_others && let Err(code) = launch::is_rank(&own, matches!(what, Load::Line), is_first) {
        let told = u8::try_from(code).ok().and_then(ExitCode::of_number);
        return told.unwrap_or_else(|| ExitCode::of(Outcome::Failed(FailureKind::Lost)));
    }
    let open = match launch::transport(&objects, launched) {
        Ok(open) => open,
        Err(refusal) => return refused_here(refusal, is_first),
    };
    // What is wrong with it is told when all ranks are asked whether they can run. Warnings of a line stand beside its
    // result.
    let is_suite = matches!(what, Load::Suite(_));
    if let Ok(config) = config::read()
        && is_first
        && is_suite
    {
        tell_warnings(config);
    }
    let joined = match launch::join(&typed, &own.options, open, is_first) {
        Ok(joined) => joined,
        Err(code) => return code,
    };
    let code = match what {
        Load::Line => {
            let program = Program { name: format!("{} cluster run", program.name) };
            run::run(&program, rest, &own, &joined)
        }
        Load::Suite(row) => series::run(row, &own, &joined),
    };
    if joined.cluster.me().is_hub() {
        // MPI may end this process with the others.
        write_waiting();
        joined.cluster.dismiss(code);
    }
    code
}

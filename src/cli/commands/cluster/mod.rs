//! `truespd cluster`: one run on many hosts at the same time.

mod options;
mod run;
mod transport;

use std::ffi::OsString;

use clap::Subcommand;

use crate::cli::commands::diskspd::{ExitCode, Program, print};
use crate::cli::console::{say, tell};
use crate::fault::{Outcome, Refusal, RefusalKind};
use options::Own;

/// One run on many hosts at the same time, by MPI: mpirun -np 3 --host a,b,c truespd cluster run LINE
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Run a load on every rank, and add up the results (`truespd cluster run --help` lists the options)
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Run {
        /// Options of the cluster, and a command line as for `diskspd`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
        words: Vec<OsString>,
    },
}

/// `truespd cluster`.
pub(crate) fn run(program: &Program, command: &ClusterCommand) -> ExitCode {
    let ClusterCommand::Run { words } = command;
    run_words(program, words)
}

/// `truespd cluster run` with these words.
pub(crate) fn run_words(program: &Program, words: &[OsString]) -> ExitCode {
    let program = Program { name: format!("{} cluster run", program.name) };
    // All ranks have the same words, so one of them is enough to say what is wrong with them.
    let launched = crate::machine::launcher::launched();
    let is_first = launched.is_none_or(|launched| launched.rank.unwrap_or(0) == 0);
    if words.is_empty() {
        let refused = ExitCode::of(Outcome::Refused(RefusalKind::CommandLine));
        return if is_first { print(&options::help(), refused) } else { refused };
    }
    let told = |refusal: Refusal| {
        let code = ExitCode::of(Outcome::Refused(refusal.kind));
        if is_first { tell(refusal) } else { code }
    };
    let Some(words) = words.iter().map(|word| word.to_str().map(str::to_string)).collect::<Option<Vec<_>>>()
    else {
        return told(Refusal::command_line("a word of the command line is not UTF-8 text"));
    };
    let own = match Own::split(&words) {
        Ok(own) => own,
        Err(answer) if !answer.use_stderr() => return print(&options::help(), ExitCode::Done),
        Err(answer) => {
            if is_first {
                say(&answer.to_string().replacen("error: ", "ERROR: ", 1));
            }
            return ExitCode::of(Outcome::Refused(RefusalKind::CommandLine));
        }
    };
    if own.line.is_empty() {
        return told(
            Refusal::command_line("there is no command line to run")
                .legal("options and targets as for diskspd, after the options of the cluster")
                .hint("truespd cluster run --help"),
        );
    }
    match transport::choose(launched) {
        Ok(open) => run::run(&program, &words, own, open),
        Err(refusal) => told(refusal),
    }
}

//! `truespd merge`: adds up results of runs that ran at the same time.

use std::path::PathBuf;

use clap::Args;

use crate::cli::commands::render::{FormatArgument, read};
use crate::cli::commands::values::json_output;
use diskspd::console::{say, say_line, tell};
use diskspd::program::{ExitCode, print};
use diskspd::run::outputs::Outputs;
use diskspd::show::verdict::{Extent, Style, line, text};
use truespd_core::fault::{Failure, Refusal, RefusalKind};
use truespd_core::result::merge::{MergeError, Merger};
use truespd_core::result::{Document, json};
use truespd_core::verdict::judge;

/// Add up results of runs that ran at the same time, on one host or several
///
/// Histograms and interval series are summed; nothing that can be added is averaged. Each run keeps its
/// row in the sum, which is a result like any other: it can be printed, judged and merged again. The results of
/// the ranks of a cluster run belong together although their targets differ; ranks without a result are named.
#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Results written with --json
    #[arg(required = true)]
    documents: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgument,
    /// Write the sum to this file as JSON (- is standard output); then nothing else is printed, unless -R is given
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Also add results of different tests or different times, and one result more than once
    #[arg(long)]
    force: bool,
    /// Show all of the verdict of the sum: every finding with its advice, rules that lacked evidence
    #[arg(long)]
    verdict: bool,
}

pub(crate) fn run(arguments: &MergeArguments) -> ExitCode {
    let (output, on_stdout) = json_output(arguments.json.as_deref());
    let inputs = arguments.documents.iter().map(|path| (path.clone(), "one of the results to add".into()));
    let outputs = match Outputs::open_without_run(&Vec::from_iter(output), inputs) {
        Ok(outputs) => outputs,
        Err(error) => return tell(Refusal::from(error)),
    };
    let mut document = match sum(arguments) {
        Ok(document) => document,
        Err(refusal) => return tell(refusal),
    };
    let verdict = judge(&document);
    let told = if arguments.verdict {
        text(&verdict, "verdict", Extent::All, Style::of_stderr())
    } else {
        format!("{}\n", line(&verdict, Style::of_stderr()))
    };
    document.verdict = Some(verdict);
    for warning in &document.warnings {
        say_line(format_args!("WARNING: {warning}"));
    }
    say(&told);
    let failures: Vec<Failure> = outputs.write(&document).into_iter().map(Failure::from).collect();
    if !failures.is_empty() {
        return tell(failures);
    }
    if on_stdout {
        return print(&json::write(&document), ExitCode::Done);
    }
    if arguments.json.is_some() && !arguments.format.is_given() {
        return ExitCode::Done;
    }
    print(&(arguments.format.of(&document).render)(&document), ExitCode::Done)
}

/// One document after the other, so that only one is in memory beside the sum.
fn sum(arguments: &MergeArguments) -> Result<Document, Refusal> {
    let unfit = |error: MergeError| Refusal::new(RefusalKind::Input, error.to_string());
    let mut merger = Merger::new(arguments.force);
    for path in &arguments.documents {
        let document = read(path)?;
        merger.add(&format!("'{}'", path.display()), document).map_err(unfit)?;
    }
    merger.finish().map_err(unfit)
}

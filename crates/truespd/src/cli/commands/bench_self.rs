//! `truespd bench-self`: what the tool itself costs on this machine.

use std::ffi::OsString;
use std::io;

use clap::Args;

use crate::cli::commands::values::json_output;
use crate::cli::show::bench;
use crate::selfcost::{self, Case, Effort, WORDS};
use diskspd::console::{say_line, tell};
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use diskspd::program::{ExitCode, print};
use diskspd::run::outputs::TextOutput;
use diskspd::show::verdict::fitting_stdout;
use truespd_core::fault::{Failure, FailureKind, Refusal};
use truespd_core::profile::TimeSpan;
use truespd_core::result::envelope;
use truespd_core::sys::error::system_text;

/// Measure what the tool itself costs on this machine: processor time and instructions per I/O
///
/// Runs the null engine under many loads, with and without -L, and single parts of the I/O loop. Touches no storage.
/// Instructions are counted by the processor where possible, otherwise by callgrind, if valgrind is installed.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Quick estimate: fewer and shorter rounds
    #[arg(long)]
    quick: bool,
    /// Write the figures to this file as JSON (`truespd schema self-cost`); - is standard output, then
    /// without the table
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Run every load once for so many nanoseconds, for callgrind to count
    #[arg(long, hide = true, conflicts_with_all = ["quick", "json"])]
    counted_ns: Option<u64>,
}

pub(crate) fn run(arguments: &BenchArguments) -> ExitCode {
    let (output, on_stdout) = json_output(arguments.json.as_deref());
    let output = match output.map(|output| TextOutput::open(&output)).transpose() {
        Ok(output) => output,
        Err(error) => return tell(Refusal::from(error)),
    };
    let report = cases().and_then(|cases| {
        if let Some(length_ns) = arguments.counted_ns {
            return selfcost::count_here(&cases, length_ns, &mut io::stdout().lock()).map(|()| None);
        }
        let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
        let counted = counted(effort)?;
        selfcost::measure(&cases, effort, &counted, &|words| say_line(format_args!("{words}"))).map(Some)
    });
    let report = match report {
        Ok(Some(report)) => report,
        Ok(None) => return ExitCode::Done,
        Err(failure) => return tell(failure),
    };
    let text = if on_stdout {
        envelope::write(&report)
    } else {
        fitting_stdout(envelope::shown(&report, bench::text))
    };
    let code = print(&text, ExitCode::Done);
    match output.map(|output| output.write(&envelope::write(&report))) {
        Some(Err(error)) => tell(Failure::from(error)),
        _ => code,
    }
}

fn failed(words: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Machine, words)
}

/// This program, to be run under callgrind.
fn counted(effort: Effort) -> Result<Vec<OsString>, Failure> {
    let program =
        std::env::current_exe().map_err(|e| failed("cannot find this program").because(system_text(&e)))?;
    let words = ["bench-self".into(), "--counted-ns".into(), effort.counted_ns.to_string().into()];
    Ok(std::iter::once(program.into()).chain(words).collect())
}

/// All loads, without and with `-L`.
fn cases() -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for words in WORDS.iter().flat_map(|words| [words.to_string(), format!("{words} -L")]) {
        let case = Case::new(&words, &time_span(&words)?);
        cases.push(case.map_err(|error| failed(words).because(error))?);
    }
    Ok(cases)
}

/// What the words mean to `diskspd`. The target is only a name.
fn time_span(words: &str) -> Result<TimeSpan, Failure> {
    let arguments: Vec<String> = words.split(' ').chain(["nothing"]).map(str::to_string).collect();
    match parse(&arguments, "diskspd", &|| 0) {
        Ok(Invocation::Run(request)) if request.profile.time_spans.len() == 1 => {
            Ok(request.profile.time_spans[0].clone())
        }
        Ok(_) => Err(failed(format!("{words}: these options do not run a load"))),
        Err(refusal) => Err(failed(refusal.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_a_line_that_diskspd_takes() {
        let cases = cases().expect("all fit");
        assert_eq!(cases.len(), 2 * WORDS.len());
        for words in WORDS {
            let with = time_span(&format!("{words} -L")).expect("a line");
            assert!(with.measure_latency && !time_span(words).expect("a line").measure_latency);
            assert!(with.targets[0].throughput.is_none(), "{words}: rates are left out");
        }
        // What the issue names is there.
        for word in
            ["-s", "-si", "-r", "-rs50", "-rdpct90/10", "-rdabs90/100M", "-w100", "-Zr", "-Z1M", "-o1", "-t2"]
        {
            assert!(WORDS.iter().any(|words| words.split(' ').any(|w| w == word)), "{word}");
        }
    }
}

//! `truespd compare`: two groups of stored results beside each other.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::ask::values::{json_output, metric, number};
use crate::cli::operands;
use crate::compare::{self, Comparison, Gate, Named, Question};
use diskspd::request::Output;
use diskspd::run::outputs::LaterOutputs;
use truespd_core::result::envelope;
use truespd_core::result::metrics::Metric;
use truespd_front::console::{say_line, tell};
use truespd_front::program::{ExitCode, print};
use truespd_front::show::fitting_stdout;
use truespd_platform::fault::{Failure, Outcome, Refusal};
use truespd_platform::text::printable_path;

/// Compare stored results: every metric with its difference and how sure it is, and what else differs
///
/// A and B are results written with --json, or folders of them. With several runs on each side, the intervals
/// rest on how equal runs differ; with one run each, on the course of the run.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The two sides, A and B: a file, a folder of results, or the id or label of kept ones, each
    #[arg(value_name = "RESULTS", num_args = 1.., required_unless_present_any = ["a", "b"])]
    sides: Vec<PathBuf>,
    /// Runs of side A: files, folders, ids or labels
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "b")]
    a: Vec<PathBuf>,
    /// Runs of side B: files, folders, ids or labels
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "a")]
    b: Vec<PathBuf>,
    /// Metric that the decision rests on: iops, bytes, latency, p50, p95, p99, p99.9, max, cpu; can be repeated
    ///
    /// Half of the permitted 5 % of errors is for these metrics, so a difference in them is found more easily
    /// than in the others. Without it they are the metrics of --fail-if, or else iops.
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    metric: Vec<Metric>,
    /// Differences up to this percentage do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = Question::MARGIN_PERCENT, value_parser = margin)]
    margin: f64,
    /// By how much the means of equal runs may differ, in percent; counts where each side has one run, which
    /// cannot show it
    #[arg(long, value_name = "PERCENT", default_value_t = Question::BETWEEN_RUNS_PERCENT, value_parser = between_runs)]
    between_runs: f64,
    /// Exit code 5 when it is shown, e.g. 'iops < -5%' or 'p99 > +10%'; can be repeated
    #[arg(long, value_name = "GATE", allow_hyphen_values = true, value_parser = gate)]
    fail_if: Vec<Gate>,
    /// Exit code 5 also when a gate cannot be excluded
    #[arg(long, requires = "fail_if")]
    strict: bool,
    /// Compare runs of different profiles, or on different targets
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    unlike: Option<Unlike>,
    /// Compare this time span, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    time_span: Option<u32>,
    /// Print Markdown instead of text, on standard output
    #[arg(long)]
    markdown: bool,
    /// Write the comparison to this file as JSON (- is standard output, which then gets no text)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the gates to this file as JUnit XML
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    junit: Option<String>,
}

/// What may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Unlike {
    /// The profile
    Profile,
    /// The targets
    Targets,
    /// Both
    All,
}

impl Unlike {
    pub fn in_profile(self) -> bool {
        self != Unlike::Targets
    }

    pub fn in_target(self) -> bool {
        self != Unlike::Profile
    }
}

fn margin(text: &str) -> Result<f64, Refusal> {
    number(text, "more than 0 and up to 100 percent", |v| v > 0.0 && v <= 100.0)
}

fn between_runs(text: &str) -> Result<f64, Refusal> {
    number(text, "0 to 100 percent", |v| (0.0..=100.0).contains(&v))
}

fn gate(text: &str) -> Result<Gate, Refusal> {
    text.parse()
}

pub(crate) fn run(arguments: &CompareArguments) -> ExitCode {
    let (outputs, comparison) = match asked(arguments) {
        Ok(asked) => asked,
        Err(refusal) => return tell(refusal),
    };
    let errors = outputs.write(|output| match output.format {
        "junit" => envelope::shown(&comparison, compare::junit),
        _ => envelope::write(&comparison),
    });
    let failures: Vec<Failure> = errors.into_iter().map(Failure::from).collect();
    if !failures.is_empty() {
        return tell(failures);
    }
    for gate in comparison.failed() {
        say_line(format_args!("gate {} failed: {}", gate.gate, gate.why));
    }
    let code = match comparison.failed().next() {
        Some(_) => ExitCode::of(Outcome::Unmet),
        None => ExitCode::Done,
    };
    let text = match json_output(arguments.json.as_deref()) {
        (_, true) => envelope::write(&comparison),
        _ if arguments.markdown => envelope::shown(&comparison, compare::markdown),
        _ => fitting_stdout(envelope::shown(&comparison, compare::text)),
    };
    print(&text, code)
}

/// The files that are written, checked, and the comparison.
fn asked(arguments: &CompareArguments) -> Result<(LaterOutputs, Comparison), Refusal> {
    let [a, b] = arguments.words()?;
    let read = a.iter().chain(b).flat_map(|word| operands::files(word));
    let read: Vec<String> = read.map(|path| path.display().to_string()).collect();
    let outputs = LaterOutputs::check(arguments.outputs(), &read)?;
    let sides = [documents(a)?, documents(b)?];
    Ok((outputs, compare::compare(&arguments.question(), sides)?))
}

fn documents(words: &[PathBuf]) -> Result<Vec<Named>, Refusal> {
    let mut all = Vec::new();
    for word in words {
        all.extend(operands::documents(word)?);
    }
    Ok(all)
}

impl CompareArguments {
    fn words(&self) -> Result<[&[PathBuf]; 2], Refusal> {
        let has_sides_by_option = !(self.a.is_empty() && self.b.is_empty());
        match self.sides.as_slice() {
            [first, ..] if has_sides_by_option => {
                let message = format!(
                    "'{}' stands beside --a and --b, which name all results of both sides already",
                    printable_path(first)
                );
                Err(self.beside_markdown(Refusal::command_line(message)))
            }
            [a, b] => Ok([std::slice::from_ref(a), std::slice::from_ref(b)]),
            [] => Ok([&self.a, &self.b]),
            other => {
                let given = match other.len() {
                    1 => "1 is given".to_string(),
                    count => format!("{count} are given"),
                };
                let refusal = Refusal::command_line(format!("two sides are compared, and {given}"));
                Err(self
                    .beside_markdown(refusal)
                    .hint("truespd compare A B; with several runs a side: --a FILE... --b FILE..."))
            }
        }
    }

    /// The refusal of words that are too many, or too few, with what `--markdown` did not take.
    fn beside_markdown(&self, refusal: Refusal) -> Refusal {
        if !self.markdown {
            return refusal;
        }
        refusal.hint(
            "--markdown takes no file, so a word behind it is taken for results: it prints on standard output, > FILE \
             keeps that",
        )
    }

    fn outputs(&self) -> Vec<Output> {
        let (json, _) = json_output(self.json.as_deref());
        let junit = self.junit.iter().map(|path| Output { format: "junit", path: path.clone() });
        json.into_iter().chain(junit).collect()
    }

    fn question(&self) -> Question {
        Question {
            headline: self.metric.clone(),
            margin_percent: self.margin,
            between_runs_percent: self.between_runs,
            gates: self.fail_if.clone(),
            is_strict: self.strict,
            time_span: self.time_span.map(|number| number as usize),
            may_differ_in_profile: self.unlike.is_some_and(Unlike::in_profile),
            may_differ_in_target: self.unlike.is_some_and(Unlike::in_target),
        }
    }
}

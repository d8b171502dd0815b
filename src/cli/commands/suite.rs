//! What the commands of all suites share: options, the begin of a series, and what is told at its end.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, FromArgMatches};

use crate::cli::commands::diskspd::ExitCode;
use crate::cli::console::{say_error, say_line, tell};
use crate::cli::grammar::lines::Lines;
use crate::cli::show::series::{View, tell_left};
use crate::fault::{Failure, FailureKind, Outcome, Refusal, RefusalKind};
use crate::request::Output;
use crate::result::Grade;
use crate::result::envelope::{self, Kind};
use crate::session::caretaker;
use crate::session::outputs::LaterOutputs;
use crate::session::required::{Answer, Required, required_grade};
use crate::session::series::{Series, Wishes};
use crate::suite::Ended;
use crate::sys::error::system_text;

/// A suite as a command: its options (its own and [`SeriesArguments`]), what it does with them, and its documents.
pub(crate) trait Suite: Args + FromArgMatches {
    /// The subcommand, and the kind of documents.
    const NAME: &'static str;
    /// What the documents are, for the help of `truespd schema`.
    const WRITES: &'static str;
    /// What `--json` writes.
    type Document: Kind;

    /// Words as people write them to words that the parser takes.
    fn words(args: &[OsString]) -> Vec<OsString> {
        args.to_vec()
    }

    /// Asks what is to be asked, runs the steps and shows what they say.
    fn run(&self) -> ExitCode;
}

/// Options that all suites share.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SeriesArguments {
    /// Keep the document of every run in this folder, which is made when it is missing
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<String>,

    /// Go on where a series with the same --keep folder ended: runs whose documents are there are not repeated
    #[arg(long, requires = "keep")]
    pub resume: bool,

    /// This device or file may be written although it holds something else: what is on it will be lost
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<String>,

    /// Exit code 5 unless the verdict is this or better: certified, or suspect
    #[arg(long, value_name = "WORD", value_parser = required_grade)]
    pub require: Vec<Required>,
}

impl SeriesArguments {
    /// A series called `truespd <suite>`, shown on standard error.
    pub fn begin(&self, suite: &str, outputs: &LaterOutputs) -> Result<Series, Refusal> {
        let program = format!("truespd {suite}");
        let wishes =
            Wishes { keep: self.keep.clone(), resume: self.resume, overwrite: self.overwrite.clone() };
        let grammar = Box::new(Lines { program: program.clone() });
        Series::begin(&program, &wishes, outputs, grammar, Arc::new(View::new()))
    }

    /// The exit code of a suite that ended with `code`: what is required and not so is told, and makes a success
    /// [`Outcome::Unmet`].
    pub fn held_to(&self, answer: &Answer<'_>, code: ExitCode) -> ExitCode {
        let lacking = answer.lacking(&self.require);
        for (required, lack) in &lacking {
            say_line(format_args!("--require {}: {lack}", required.word()));
        }
        match code {
            ExitCode::Done if !lacking.is_empty() => ExitCode::of(Outcome::Unmet),
            code => code,
        }
    }

    /// The same for a suite whose answer has nothing but a verdict.
    pub fn held_to_grade(&self, is_complete: bool, grade: Option<Grade>, code: ExitCode) -> ExitCode {
        self.held_to(&Answer { is_complete, grade, lacks: &|_| None }, code)
    }
}

/// Tells why a suite does not begin: a sentence, or what are complete lines already.
pub(crate) fn refused(words: &str) -> ExitCode {
    say_error(words);
    ExitCode::of(Outcome::Refused(RefusalKind::CommandLine))
}

/// Ends a series that has measured nothing.
pub(crate) fn end_early(series: Series, ended: Ended) -> ExitCode {
    nothing_measured(series.end(Err(ended)), false)
}

/// A series that has no figure, with the exit code so far: who waits for a result must not take that for one.
pub(crate) fn nothing_measured(code: ExitCode, is_complete: bool) -> ExitCode {
    if code != ExitCode::Done {
        return code;
    }
    if is_complete {
        let words = "no I/O was completed in the measured time of any run: measure longer";
        return tell(Failure::new(FailureKind::Figure, words));
    }
    say_line(format_args!("stopped before anything was measured"));
    ExitCode::of(Outcome::Failed(FailureKind::Interrupted))
}

/// Writes the files of a suite; `code` unless that fails, which is told.
pub(crate) fn write(outputs: &LaterOutputs, text: impl Fn(&Output) -> String, code: ExitCode) -> ExitCode {
    outputs.write(text).into_iter().fold(code, |_, error| tell(Failure::from(error)))
}

/// Writes the file of `--json`; `code` unless that fails, which is told.
pub(crate) fn write_document<T: Kind>(outputs: &LaterOutputs, document: &T, code: ExitCode) -> ExitCode {
    write(outputs, |_| envelope::write(document), code)
}

/// The life of the caretaker of the journal at `path`.
pub(crate) fn caretaker(path: &str) -> ExitCode {
    match caretaker::live(Path::new(path)) {
        Ok(undone) => {
            undone.iter().for_each(tell_left);
            ExitCode::Done
        }
        Err(error) => tell(Failure::new(FailureKind::Thread, system_text(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_so_changes_a_success_only() {
        let lacks = |required| (required == Required::Better).then(|| "it is not".to_string());
        let answer = Answer { is_complete: true, grade: Some(Grade::Suspect), lacks: &lacks };
        let held_to = |required: &[Required], code| {
            SeriesArguments { require: required.to_vec(), ..SeriesArguments::default() }
                .held_to(&answer, code)
        };
        let suspect = Required::Grade(Grade::Suspect);
        assert_eq!(held_to(&[], ExitCode::Done), ExitCode::Done);
        assert_eq!(held_to(&[suspect, Required::NotWorse], ExitCode::Done), ExitCode::Done);
        assert_eq!(held_to(&[suspect, Required::Better], ExitCode::Done), ExitCode::NotTrusted);
        // A failure stays one.
        assert_eq!(held_to(&[Required::Better], ExitCode::Failed), ExitCode::Failed);
    }
}

//! What the commands of all suites share: options, the begin of a series, and what is told at its end.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use crate::cli::commands::diskspd::ExitCode;
use crate::cli::console::{say_error, say_line};
use crate::cli::grammar::lines::Lines;
use crate::cli::show::series::{View, tell_left};
use crate::request::Output;
use crate::result::Grade;
use crate::session::caretaker;
use crate::session::outputs::LaterOutputs;
use crate::session::required::{Answer, Required, required_grade};
use crate::session::series::{Series, Wishes};
use crate::suite::Ended;
use crate::sys::error::system_text;

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
    /// A series called `truespd <suite>`, shown on standard error. The error is a sentence.
    pub fn begin(&self, suite: &str, outputs: &LaterOutputs) -> Result<Series, String> {
        let program = format!("truespd {suite}");
        let wishes =
            Wishes { keep: self.keep.clone(), resume: self.resume, overwrite: self.overwrite.clone() };
        let grammar = Box::new(Lines { program: program.clone() });
        Series::begin(&program, &wishes, outputs, grammar, Arc::new(View::new()))
            .map_err(|refusal| refusal.to_string())
    }

    /// The exit code of a suite that ended with `code`: what is required and not so is told, and makes a success
    /// [`ExitCode::NotTrusted`].
    pub fn held_to(&self, answer: &Answer<'_>, code: ExitCode) -> ExitCode {
        let lacking = answer.lacking(&self.require);
        for (required, lack) in &lacking {
            say_line(format_args!("--require {}: {lack}", required.word()));
        }
        if code == ExitCode::Done && !lacking.is_empty() { ExitCode::NotTrusted } else { code }
    }

    /// The same for a suite whose answer has nothing but a verdict.
    pub fn held_to_grade(&self, is_complete: bool, grade: Option<Grade>, code: ExitCode) -> ExitCode {
        self.held_to(&Answer { is_complete, grade, lacks: &|_| None }, code)
    }
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
    match is_complete {
        true => say_error("no I/O was completed in the measured time of any run: measure longer"),
        false => say_line(format_args!("stopped before anything was measured")),
    }
    ExitCode::Failed
}

/// Writes the files of a suite; `code` unless that fails, which is told.
pub(crate) fn write(outputs: &LaterOutputs, text: impl Fn(&Output) -> String, code: ExitCode) -> ExitCode {
    outputs.write(text).iter().fold(code, |_, error| {
        say_error(&error.to_string());
        ExitCode::Failed
    })
}

/// The life of the caretaker of the journal at `path`.
pub(crate) fn caretaker(path: &str) -> ExitCode {
    match caretaker::live(Path::new(path)) {
        Ok(undone) => {
            undone.iter().for_each(tell_left);
            ExitCode::Done
        }
        Err(error) => {
            say_error(&system_text(&error));
            ExitCode::Failed
        }
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

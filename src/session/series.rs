//! Runs the lines of a suite: shows what goes on, keeps documents, obeys Ctrl+C, leaves nothing behind.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;

use super::keep::{Kept, Line};
use super::outputs::LaterOutputs;
use super::place::check_write;
use super::required::required_grade;
pub(crate) use super::required::{Answer, Required, required};
use super::signals::stop_on_signals;
use crate::cli::commands::diskspd::{ExitCode, Program, QuietRun, plan_refused, profile_of};
use crate::cli::console::{error_lines, say, say_error, say_line};
use crate::cli::show::series::View;
use crate::guard::check_directory;
use crate::load::Event;
use crate::machine::host::host_name;
use crate::machine::roots::Roots;
use crate::result::{Document, Grade};
use crate::session::caretaker;
use crate::session::caretaker::Caretaker;
use crate::session::scratch::Scratch;
use crate::session::undo::{Journal, Undone, journals_of_this_user, sweep};
use crate::suite::{Ahead, Ended, Failure, Runner, Step};
use crate::sys::error::system_text;
use crate::sys::wake::Latch;
use crate::text::{printable, shell_line};

/// Hidden subcommand of the process that cleans up after a killed suite.
pub(crate) const CARETAKER: &str = "caretaker";

/// The step that makes a test file, in names of runs and of what `--keep` keeps. It measures nothing.
pub(crate) const FILL: &str = "making the test file";

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
    /// [`Answer::held_to`] for a suite whose answer has nothing but a verdict.
    pub fn held_to_grade(&self, is_complete: bool, grade: Option<Grade>, code: ExitCode) -> ExitCode {
        Answer { is_complete, grade, lacks: &|_| None }.held_to(&self.require, code)
    }
}

/// A series that runs.
pub(crate) struct Series {
    program: Program,
    stop: Latch,
    overwrite: Vec<String>,
    keep: Option<Kept>,
    view: View,
    /// Notes and warnings shown so far: each run of a series would repeat them.
    told: Mutex<Vec<String>>,
    undo: Option<(Journal, Option<Caretaker>)>,
    /// Folders of the series' own files.
    scratch: Vec<Scratch>,
    /// What comes after the present part of the series.
    later: Ahead,
    /// Whether a run has gone on since the last pause. Kept documents need no pauses between them.
    has_run: bool,
    /// Whether a run has been made: what follows is no refusal any more.
    has_begun: bool,
    /// Runs that prepare the next ones, and were not made as their documents are kept.
    owed: Vec<Step>,
    /// The last run prepared something.
    has_prepared: bool,
}

impl Series {
    /// A series called `truespd <suite>`, with results in `outputs`. The error is a sentence.
    pub fn begin(suite: &str, arguments: &SeriesArguments, outputs: &LaterOutputs) -> Result<Self, String> {
        let failed = |what: &str, error: &std::io::Error| format!("{what}: {}", system_text(error));
        journals_of_this_user().iter().flat_map(|dir| sweep(dir)).for_each(|undone| tell_undone(&undone));
        let stop = Latch::new().map_err(|e| failed("no file descriptor left", &e))?;
        let view = View::new();
        let notice = view.notice("stopping; once more to stop at once");
        stop_on_signals(&stop, notice).map_err(|e| failed("could not prepare for Ctrl+C", &e))?;
        let keep = arguments.keep.as_ref().map(|folder| Kept::open(Path::new(folder), arguments.resume));
        let keep = keep.transpose()?;
        let is_kept = |path: &str| keep.as_ref().is_some_and(|keep| keep.would_hold(Path::new(path)));
        if let Some(file) = outputs.files().find(|file| is_kept(&file.path)) {
            return Err(format!(
                "--{} '{}': --keep calls the documents of runs so in that folder; choose another name",
                file.format, file.path
            ));
        }
        Ok(Series {
            program: Program { name: format!("truespd {suite}") },
            stop,
            overwrite: arguments.overwrite.clone(),
            keep,
            view,
            told: Mutex::new(Vec::new()),
            undo: None,
            scratch: Vec::new(),
            later: Ahead::default(),
            has_run: false,
            has_begun: false,
            owed: Vec::new(),
            has_prepared: false,
        })
    }

    /// The person's word for targets of the steps that follow: the write guard refuses one that names no target of a run.
    /// What it was before.
    pub fn allow(&mut self, overwrite: Vec<String>) -> Vec<String> {
        std::mem::replace(&mut self.overwrite, overwrite)
    }

    /// Refuses a device that a later step could not write, before the steps that only read it have taken their time.
    pub fn check_write(&self, typed: &str) -> Result<(), Ended> {
        check_write(typed, &self.overwrite).map_err(|mut refusal| {
            // Advice in options that a suite has not.
            refusal.hints.retain(|hint| !["-w0", "-c<size>"].iter().any(|option| hint.contains(option)));
            let words = self.overwrite.iter().flat_map(|path| ["--overwrite", path]).chain([typed]);
            let words: Vec<OsString> = words.map(OsString::from).collect();
            let (words, code) = plan_refused(&self.program, &words, &[refusal]);
            ended(words, code)
        })
    }

    /// What comes after the part of the series that tells what is ahead of it.
    pub fn later(&mut self, later: Ahead) {
        self.later = later;
    }

    /// A folder for files called `files` in `parent`, removed when the series ends, however it ends.
    pub fn scratch(&mut self, parent: &Path, suite: &str, files: &[&str]) -> Result<Scratch, Ended> {
        check_directory(parent, &Roots::default()).map_err(|refusal| {
            let (words, code) = plan_refused(&self.program, &[parent.as_os_str().to_os_string()], &[refusal]);
            ended(words, code)
        })?;
        let made = Scratch::make(parent, suite, files, self.journal()?).map_err(|words| refused(&words))?;
        self.scratch.push(made.clone());
        Ok(made)
    }

    /// Notes what to undo when the series ends, however it ends.
    pub fn journal(&mut self) -> Result<&mut Journal, Ended> {
        if self.undo.is_none() {
            self.undo = Some(watched_journal().map_err(|words| refused(&words))?);
        }
        Ok(&mut self.undo.as_mut().expect("just made").0)
    }

    /// Ends the series: undoes what it changed. `result` tells how it ended; partial results are for the caller.
    pub fn end(mut self, result: Result<(), Ended>) -> ExitCode {
        self.view.clear();
        let mut code = match result {
            Ok(()) | Err(Ended::Stopped) => ExitCode::Done,
            Err(Ended::Failed(failure)) => {
                say(&failure.words);
                match failure.exit_code {
                    code if code == ExitCode::Failed as u8 => ExitCode::Failed,
                    code if code == ExitCode::Guarded as u8 => ExitCode::Guarded,
                    _ => ExitCode::Refused,
                }
            }
        };
        if let Some((journal, caretaker)) = self.undo.take() {
            let undone = journal.undo();
            for one in undone.iter().filter(|one| !one.is_done) {
                say_line(format_args!("WARNING: {}", one.words));
                code = ExitCode::Failed;
            }
            if let Some(caretaker) = caretaker {
                caretaker.dismiss();
            }
        }
        code
    }

    /// Ends a series that has measured nothing.
    pub fn end_early(self, ended: Ended) -> ExitCode {
        nothing_measured(self.end(Err(ended)), false)
    }

    /// The document of a run that an earlier series has made, or a folder for the next one.
    fn kept(&mut self, step: &Step, words: &[String]) -> Result<Option<Document>, Ended> {
        let Some(keep) = &mut self.keep else { return Ok(None) };
        let profile = profile_of(&self.program, words);
        let profile = profile.map_err(|(said, code)| ended(with_line(&said, words), code))?;
        let computer_name = host_name();
        let line =
            Line { computer_name: &computer_name, suite: &self.program.name, words, profile: &profile };
        // A file is filled anew in every series, with other data.
        let found = if step.name == FILL { Ok(None) } else { keep.found(step, &line) };
        let found = found.and_then(|found| keep.make().map(|()| found));
        found.map_err(|words| self.hindered(&words))
    }

    /// The words of a step with what the person allowed; options come before targets.
    fn words(&self, step: &Step) -> Vec<String> {
        let overwrite = self.overwrite.iter().flat_map(|path| ["--overwrite".to_string(), path.clone()]);
        overwrite.chain(step.words.iter().cloned()).collect()
    }

    /// The end of the series for what keeps its next run from being made: a refusal only while nothing has been done.
    fn hindered(&self, words: &str) -> Ended {
        if self.has_begun { failed(words) } else { refused(words) }
    }

    /// Makes a run.
    fn make(&mut self, words: &[String]) -> Result<Document, Ended> {
        self.scratch.iter().try_for_each(Scratch::check).map_err(|words| self.hindered(&words))?;
        self.has_run = true;
        let run = QuietRun {
            program: &self.program,
            words,
            on_event: &|event| self.show(event),
            progress_every: self.view.progress_every(),
            stop: &self.stop,
        };
        let report = run.run().map_err(|(said, code)| {
            let code = if self.has_begun { ExitCode::Failed } else { code };
            ended(with_line(&said, words), code)
        })?;
        self.has_begun = true;
        match self.stop.is_set() {
            true => Err(Ended::Stopped),
            false => Ok(report.document),
        }
    }

    /// Shows an event of a run.
    fn show(&self, event: Event) {
        let words = match event {
            Event::Progress(progress) => return self.view.progress(&progress),
            Event::Fill { done_bytes, total_bytes, .. } => return self.view.fill(done_bytes, total_bytes),
            Event::Warning(words) => format!("WARNING: {words}"),
            // That the next run takes the file that this one made is no news.
            Event::Note(words) if self.scratch.iter().any(|own| words.starts_with(&own.file(""))) => return,
            Event::Note(words) => format!("note: {words}"),
            Event::Dot | Event::Verbose(_) => return,
        };
        let Ok(mut told) = self.told.lock() else { return };
        if !told.contains(&words) {
            self.view.line(&words);
            told.push(words);
        }
    }
}

impl Runner for Series {
    fn run(&mut self, step: &Step) -> Result<Document, Ended> {
        if self.stop.is_set() {
            return Err(Ended::Stopped);
        }
        if step.prepares && !self.has_prepared {
            self.owed.clear();
        }
        self.has_prepared = step.prepares;
        let words = self.words(step);
        self.view.begin(step);
        if let Some(document) = self.kept(step, &words)? {
            self.view.end(step, &document, true);
            self.owed.extend(step.prepares.then(|| step.clone()));
            return Ok(document);
        }
        for owed in std::mem::take(&mut self.owed) {
            self.view.line(&format!("{}: once more, for the runs that are still to be made", owed.name));
            self.view.begin(&owed);
            self.make(&self.words(&owed))?;
            self.view.begin(step);
        }
        let document = self.make(&words)?;
        if let Some(keep) = &mut self.keep {
            let kept = keep.put(step, &document);
            kept.map_err(|words| failed(&words))?;
        }
        self.view.end(step, &document, false);
        Ok(document)
    }

    fn pause(&mut self, length: Duration) -> Result<(), Ended> {
        if !std::mem::take(&mut self.has_run) {
            return Ok(());
        }
        self.view.pause(length);
        match Latch::wait_any(&[&self.stop], Some(length)) {
            true => Err(Ended::Stopped),
            false => Ok(()),
        }
    }

    fn ahead(&mut self, ahead: Ahead) {
        self.view.ahead([ahead, self.later].into_iter().sum());
    }

    fn tell(&mut self, words: &str) {
        self.view.line(words);
    }
}

/// What was said about a line of a suite, with the line when it speaks of options that the suite itself does not have.
fn with_line(said: &str, words: &[String]) -> String {
    let is_option = |word: &str| {
        word.strip_prefix('-').is_some_and(|letter| letter.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    if !said.split(|c: char| c.is_whitespace() || c == '(').any(is_option) {
        return said.to_string();
    }
    let line = printable(&shell_line(words));
    format!("{said}note: options of one letter are DiskSpd's, and this was the line: diskspd {line}\n")
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

/// The end of a series that cannot go on; `words` tell why and what to do (see [`error_lines`]).
pub(crate) fn refused(words: &str) -> Ended {
    ended(error_lines(words), ExitCode::Refused)
}

/// The same after something was done, which exit code 3 would deny.
pub(crate) fn failed(words: &str) -> Ended {
    ended(error_lines(words), ExitCode::Failed)
}

fn ended(words: String, code: ExitCode) -> Ended {
    Ended::Failed(Failure { words, exit_code: code as u8 })
}

/// A journal with a process that looks after it. The error is a sentence. Without a caretaker the next suite cleans up.
fn watched_journal() -> Result<(Journal, Option<Caretaker>), String> {
    let dir = journals_of_this_user()
        .ok_or("there is no folder to note in what to clean up; set XDG_STATE_HOME or HOME")?;
    let journal = Journal::begin(&dir).map_err(|error| {
        format!(
            "could not note in {} what to clean up: {}; set XDG_STATE_HOME to a folder that can be written",
            dir.display(),
            system_text(&error)
        )
    })?;
    let started =
        std::env::current_exe().and_then(|own| Caretaker::start(&own, &[CARETAKER], journal.path()));
    if let Err(error) = &started {
        say_line(format_args!(
            "note: if this is killed, the next suite cleans up: there is nobody to do it at once ({})",
            system_text(error)
        ));
    }
    Ok((journal, started.ok()))
}

/// Tells what was left, and what became of it.
pub(crate) fn tell_undone(undone: &Undone) {
    let kind = if undone.is_done { "note" } else { "WARNING" };
    say_line(format_args!("{kind}: left by a series that was ended: {}", undone.words));
}

/// The life of the caretaker of the journal at `path`.
pub(crate) fn caretaker(path: &str) -> ExitCode {
    match caretaker::live(Path::new(path)) {
        Ok(undone) => {
            undone.iter().for_each(tell_undone);
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
    fn what_a_line_of_a_suite_is_refused_for_comes_with_the_line() {
        let words = ["-b512", "-c1G", "/mnt/a b"].map(String::from);
        let said = with_line("ERROR: the block size (-b) is 512\n", &words);
        assert!(said.starts_with("ERROR: the block size"), "{said}");
        assert!(said.ends_with("the line: diskspd -b512 -c1G '/mnt/a b'\n"), "{said}");
        let plain = "ERROR: 'a-b' is gone; name it again: --overwrite a-b\n";
        assert_eq!(with_line(plain, &words), plain);
    }
}

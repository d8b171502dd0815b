//! What is the same in all suites: their options, and the one way from words to an exit code.

use crate::answer::{Findings, Shown};
use crate::ask::keeping::{HistoryArguments, Keeping};
use crate::ask::{Common, RanOn, SeriesEnd, SuiteDocument, values};
use crate::runner::place::Place;
use crate::runner::view::{Throughput, View, tell_left};
use crate::runner::watch::WithTelemetry;
use crate::runner::{Ended, Length, Series, SeriesRanks, Wishes, undo};
use clap::{Args, FromArgMatches};
use diskspd::grammar::parse::Lines;
use diskspd::request::Output;
use diskspd::run::outputs::{LaterOutputs, use_of};
use diskspd::run::{Answer, Required, required_grade};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use truespd_core::result::envelope;
use truespd_core::result::envelope::{DocumentKind, ReadError};
use truespd_front::config::{self, From, Key, Setting, Value};
use truespd_front::console::{say_line, tell};
use truespd_front::program::{live_view, print};
use truespd_front::show::{Style, fitting_stdout};
use truespd_front::telemetry::Telemetry;
use truespd_front::{telemetry, viewer};
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Fault, Outcome, Refusal, RefusalKind};
use truespd_platform::sys::error::system_text;
use truespd_platform::text::{printable, printable_path, rate, shell_word};

/// A suite as a command: its options (its own and [`SeriesArguments`]), its steps and its document. [`run`] does the
/// rest.
pub(crate) trait Suite: Args + FromArgMatches {
    /// The subcommand, and the kind of documents.
    const NAME: &'static str;
    /// What is to be done, once nothing speaks against it.
    type Work;
    type Document: Stored + DocumentKind + schemars::JsonSchema;

    /// How its tables write bytes per second, and so what is shown while it runs.
    const THROUGHPUT: Throughput = rate;

    /// Words as people write them to words that the parser takes.
    fn words(args: &[OsString]) -> Vec<OsString> {
        args.to_vec()
    }

    fn series(&self) -> &SeriesArguments;

    /// What stands behind `truespd` in messages and in the documents of its runs.
    fn title(&self) -> String {
        Self::NAME.to_string()
    }

    /// Where the comma-separated values of its document go; none where nobody asks for them, or it has none.
    fn csv(&self) -> Option<&str> {
        None
    }

    /// Files that are written at the end.
    fn outputs(&self) -> Vec<Output> {
        let mut outputs = Vec::new();
        for (format, path) in [("json", self.series().json.as_deref()), ("csv", self.csv())] {
            outputs.extend(path.map(|path| Output { format, path: path.to_string() }));
        }
        outputs
    }

    /// Everything that can be refused without touching anything.
    fn ask(&self) -> Result<Asked<Self::Work>, Fault>;

    /// Runs the steps. The error is the end of a series that has nothing to show.
    fn measure(&self, work: Self::Work, series: &mut Series) -> Measured<Self::Document>;

    /// What one of the files holds.
    fn content(&self, output: &Output, document: &Self::Document) -> String {
        if output.format == "csv" { document.csv() } else { envelope::write(document) }
    }

    /// Whether the form of the original program is asked for where a person reads.
    fn wants_original(&self) -> bool {
        false
    }

    /// Why the answer does not satisfy a word of `--require` that only this suite has; none if it does.
    fn lacks(_document: &Self::Document, _required: Required) -> Option<String> {
        None
    }
}

/// What the words ask for.
pub(crate) enum Asked<W> {
    /// Only this text; nothing runs.
    Text(String),
    Work {
        work: W,
        /// Files, folders and devices that are tested.
        targets: Vec<String>,
        /// Files that are read besides. No result may replace one of both.
        read: Vec<String>,
    },
}

impl<W> Asked<W> {
    /// Work on these targets, which reads no other file.
    pub fn on(work: W, targets: Vec<String>) -> Self {
        Asked::Work { work, targets, read: Vec::new() }
    }
}

/// A document, and how the series ended: it holds what was measured until then.
pub(crate) type Measured<D> = Result<(D, Result<(), Ended>), Ended>;

/// Runs a suite, as one of several ranks in a cluster run.
pub(crate) fn run<S: Suite>(suite: &S, ranks: Option<Arc<dyn SeriesRanks>>) -> ExitCode {
    let ended = ask_and_run(suite, ranks);
    viewer::leave();
    ended.unwrap_or_else(tell)
}

fn ask_and_run<S: Suite>(suite: &S, ranks: Option<Arc<dyn SeriesRanks>>) -> Result<ExitCode, Fault> {
    let (work, targets, read) = match suite.ask()? {
        Asked::Text(text) => return Ok(print(&text, ExitCode::Done)),
        Asked::Work { work, targets, read } => (work, targets, read),
    };
    let used = [&targets[..], &read].concat();
    let shows = ranks.as_ref().is_none_or(|ranks| ranks.shows());
    let outputs = if shows { suite.outputs() } else { Vec::new() };
    let (on_stdout, files): (Vec<Output>, Vec<Output>) =
        outputs.into_iter().partition(|output| output.path == "-");
    if on_stdout.len() > 1 {
        return Err(Refusal::command_line("standard output (-) can take one result only").into());
    }
    let outputs = LaterOutputs::check(files, &used).map_err(Refusal::from)?;
    let arguments = suite.series();
    let keeping = Keeping::of(&arguments.history.options())?;
    let telemetry = if shows { Arc::new(arguments.telemetry(&used, &outputs)?) } else { Arc::default() };
    let program = format!("truespd {}", suite.title());
    let mut series = arguments.begin(&program, &outputs, S::THROUGHPUT, &telemetry, ranks)?;
    let (document, result) = match suite.measure(work, &mut series) {
        Ok((document, result)) => (Some(document), result),
        Err(ended) => (None, Err(ended)),
    };
    let ended = match &result {
        Ok(()) => SeriesEnd::Complete,
        Err(Ended::Stopped) => SeriesEnd::Stopped,
        Err(Ended::Failed(_)) => SeriesEnd::Failed,
    };
    let (ranks, disks) = (series.ranks(), series.disks().to_vec());
    let mut code = series.end(result);
    for error in telemetry.end() {
        code = tell(Failure::from(error));
    }
    let is_complete = ended == SeriesEnd::Complete;
    let Some(mut document) = document.filter(SuiteDocument::has_figures) else {
        return Ok(nothing_measured(code, is_complete));
    };
    *document.common_mut() = Common {
        command_line: typed(),
        ran_on: RanOn::here(ranks, targets.clone(), &disks),
        series_end: Some(ended),
        results: document.parts(),
        ..Common::default()
    };
    let text = match on_stdout.first() {
        Some(output) => suite.content(output, &document),
        None => {
            let rest = if keeping.is_on() { "truespd history show --verdict" } else { "--verdict" };
            let shown = shown_on_stdout(arguments.verdict, suite.wants_original(), rest);
            fitting_stdout(envelope::shown(&document, |document| document.text(shown)))
        }
    };
    code = print(&text, code);
    for error in outputs.write(|output| suite.content(output, &document)) {
        code = tell(Failure::from(error));
    }
    if shows {
        keeping.keep_suite(S::NAME, &targets, &disks, &document, &envelope::write(&document));
    }
    let grade = document.grade();
    let answer = Answer { is_complete, grade, lacks: &|required| S::lacks(&document, required) };
    Ok(arguments.held_to(&answer, code))
}

/// The command line as it was typed.
fn typed() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// How a suite's document is shown on standard output: a terminal has the table and the names of the findings, and all
/// the rest where it is asked for; a file or a pipe has everything. `rest` is what tells the findings whole.
pub(crate) fn shown_on_stdout(has_findings: bool, has_original: bool, rest: &'static str) -> Shown {
    let style = Style::of_stdout();
    if !io::stdout().is_terminal() {
        return Shown::whole(style);
    }
    let findings = if has_findings { Findings::Whole } else { Findings::Names { rest } };
    Shown { style, has_bars: true, has_original, findings }
}

/// Options that all suites share.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SeriesArguments {
    /// Write the result to this file as JSON (`truespd schema` prints its schema); - is standard output, then without
    /// the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,

    /// Keep the document of every run in this directory, which is created if it is missing
    #[arg(long, value_name = "DIR")]
    pub keep: Option<String>,

    /// Continue a series that was interrupted: runs whose documents are in the --keep directory are not repeated
    #[arg(long, requires = "keep")]
    pub resume: bool,

    /// Replace this file every second by a page for Prometheus (textfile collector of the node exporter)
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<String>,

    /// Write a line of JSON to the end of this file for everything that happens; a pipe or /dev/fd/3 goes as well
    #[arg(long, value_name = "FILE")]
    pub events: Option<String>,

    /// Show every finding with its sentence and advice: a terminal has only their names otherwise
    #[arg(long)]
    pub verdict: bool,

    /// Show the series on a full screen while it goes on; where standard error is no terminal, as lines
    #[arg(long)]
    pub live: bool,

    /// Allow writes to this device or file although it holds data: its contents will be lost
    #[arg(long, value_name = "PATH")]
    pub overwrite: Vec<String>,

    /// Before the first run, write the tested range of its targets this often, as in 2x: sequentially, random bytes.
    /// Destroys what they hold
    #[arg(long, value_name = "Nx", value_parser = values::passes)]
    pub precondition: Option<u32>,

    /// Measure every run that counts in rounds of its time, until the last 5 are steady by SNIA's rule
    #[arg(long)]
    pub until_steady: bool,

    /// Exit with code 5 unless the verdict is at least this: certified or suspect
    #[arg(long, value_name = "WORD", value_parser = required_grade)]
    pub require: Vec<Required>,

    #[command(flatten)]
    pub history: HistoryArguments,
}

impl SeriesArguments {
    /// A series of this program (`truespd <suite>`), shown on standard error.
    fn begin(
        &self,
        program: &str,
        outputs: &LaterOutputs,
        throughput: Throughput,
        telemetry: &Arc<Telemetry>,
        ranks: Option<Arc<dyn SeriesRanks>>,
    ) -> Result<Series, Refusal> {
        if ranks.is_some() && self.resume {
            let message =
                "--resume does not go with a cluster run: the other ranks would not skip what is kept";
            return Err(Refusal::command_line(message).hint("run it anew, without --resume"));
        }
        let shows = ranks.as_ref().is_none_or(|ranks| ranks.shows());
        let keep = if shows { self.keep.clone() } else { None };
        let wishes = Wishes {
            keep,
            resume: self.resume,
            overwrite: self.overwrite.clone(),
            precondition: self.precondition,
            until_steady: self.until_steady,
            ranks,
        };
        let grammar = Box::new(Lines { program: program.to_string() });
        // The telemetry has started the live view, if that could be.
        let view = Arc::new(View::new(throughput, viewer::is_shown()));
        let watch = Arc::new(WithTelemetry::new(view, Arc::clone(telemetry)));
        Series::begin(program, &wishes, outputs, grammar, watch)
    }

    /// What other programs are told while it runs: not in files that it tests, reads or writes at its end.
    fn telemetry(&self, used: &[String], outputs: &LaterOutputs) -> Result<Telemetry, Refusal> {
        let wishes = telemetry::Wishes { metrics: self.metrics.clone(), events: self.events.clone() };
        let used =
            used.iter().map(|path| (PathBuf::from(path), format!("'{path}', which is tested or read")));
        let used = used.chain(outputs.files().map(use_of));
        Telemetry::open(&wishes, &typed(), used, live_view(self.live)).map_err(Refusal::from)
    }

    /// How long runs take: until they are steady, where that is asked for.
    pub fn lasting(&self, length: Length) -> Length {
        if self.until_steady { length.until_steady() } else { length }
    }

    /// Refuses what does not go with a search, which decides by itself how long a rate is run.
    pub fn check_search(&self) -> Result<(), Refusal> {
        if self.until_steady {
            let message =
                "--until-steady does not go with a search: the search decides how long it runs a rate";
            return Err(Refusal::command_line(message).hint("write to it before: --precondition 2x"));
        }
        Ok(())
    }

    /// The directory or device that a suite tests; the usual folder where none is named.
    pub fn place_or_usual(&self, typed: Option<&str>) -> Result<Place, Refusal> {
        let place = Place::find(&typed.map_or_else(usual_folder, |typed| Ok(typed.to_string()))?)?
            .directory_or_device()?;
        place.check_overwrite(&self.overwrite)?;
        Ok(place)
    }

    /// Whether that may be written: files that are made always, a device where the person says so.
    pub fn may_write(&self, place: &Place) -> bool {
        place.is_directory() || !self.overwrite.is_empty()
    }

    /// The exit code of a suite that ended with `code`: what is required and not so is told, and makes a success
    /// [`Outcome::Unmet`].
    fn held_to(&self, answer: &Answer<'_>, code: ExitCode) -> ExitCode {
        let lacking = answer.lacking(&self.require);
        for (required, lack) in &lacking {
            say_line(format_args!("--require {}: {lack}", required.word()));
        }
        match code {
            ExitCode::Done if !lacking.is_empty() => ExitCode::of(Outcome::Unmet),
            code => code,
        }
    }
}

/// A stored document of a suite.
pub(crate) trait Stored: SuiteDocument {
    fn name(&self) -> &'static str;
    /// What it is, behind "a".
    fn kind(&self) -> &'static str;
    fn json(&self) -> String;
}

impl<D: SuiteDocument + DocumentKind> Stored for D {
    fn name(&self) -> &'static str {
        D::FORMAT.trim_start_matches("truespd-")
    }

    fn kind(&self) -> &'static str {
        D::NAME
    }

    fn json(&self) -> String {
        envelope::write(self)
    }
}

/// A stored document, or why it is none.
pub(crate) type MaybeStored = Result<Box<dyn Stored>, ReadError>;

/// Reads a stored document of a suite.
///
/// # Errors
/// Why it is none.
pub(crate) fn stored<D: Stored + DocumentKind>(text: &[u8]) -> MaybeStored {
    Ok(Box::new(envelope::read::<D>(text)?))
}

/// Tells that a target is not written.
pub(crate) fn say_read_only(typed: &str) {
    say_line(format_args!(
        "note: '{}' is only read. Write tests destroy its contents; to run them: --overwrite {}",
        printable(typed),
        shell_word(typed)
    ));
}

/// Words of a line that choose an engine; none for the usual one.
pub(crate) fn engine_words(name: Option<&str>) -> Vec<String> {
    name.map_or(Vec::new(), |name| vec!["--engine".to_string(), name.to_string()])
}

/// Tells the plan of a test that destroys what `place` holds; the refusal says how to allow it.
pub(crate) fn wears_out(plan: &[String], place: &Place) -> Refusal {
    for line in plan {
        say_line(format_args!("{line}"));
    }
    let path = place.word();
    let message = format!("'{}': this test destroys its contents and wears the drive", printable(&path));
    let hint = format!("to allow that: --overwrite {}", shell_word(&path));
    Refusal::new(RefusalKind::Guard, message).hint(hint).on(path)
}

/// Why `tests` (the words that ask for them) do not run on a device that may not be written.
pub(crate) fn would_destroy(tests: &str, place: &Place) -> Refusal {
    let path = place.word();
    let message = format!("{tests}: this would write to '{}' and destroy its contents", printable(&path));
    let hint = format!("if they may be lost: --overwrite {}", shell_word(&path));
    Refusal::command_line(message).hint(hint).on(path)
}

/// A profile for `-X`, in a folder of the series.
pub(crate) fn write_profile(path: &str, profile: &str) -> Result<(), Ended> {
    std::fs::write(path, profile).map_err(|error| {
        let message = format!("'{path}': could not be written: {}", system_text(&error));
        Refusal::new(RefusalKind::Target, message).into()
    })
}

/// The directory for suites whose user names no target: that of the configuration, or the current one.
///
/// # Errors
/// The configured path is not a directory.
pub(crate) fn usual_folder() -> Result<String, Refusal> {
    let Setting { value: Some(Value::Path(path)), from: From::File(at) } =
        config::in_force().setting(Key::TargetsFolder)?
    else {
        return Ok(".".to_string());
    };
    let (shown, whence) = (printable_path(&path), format!("folder below [targets], {}", at.words()));
    let hint = "name a target (. is the current directory), or change that line";
    let why = match path.to_str().map(|typed| (typed, Place::find(typed))) {
        None => format!("is no UTF-8 text: '{shown}'"),
        Some((_, Err(why))) => format!("cannot be used: {}", why.without_hints()),
        Some((typed, Ok(place))) if place.is_directory() => {
            say_line(format_args!("note: no target is named: '{shown}' is used ({whence})"));
            return Ok(typed.to_string());
        }
        Some(_) => format!("is not a directory: '{shown}'"),
    };
    Err(Refusal::new(RefusalKind::Target, format!("no target is named, and {whence}, {why}")).hint(hint))
}

/// The exit code of a series without a figure, which scripts must not take for a success.
fn nothing_measured(code: ExitCode, is_complete: bool) -> ExitCode {
    if code != ExitCode::Done {
        return code;
    }
    if is_complete {
        let words = "no run completed any I/O in its measured time; measure longer";
        return tell(Failure::new(FailureKind::Figure, words));
    }
    say_line(format_args!("stopped before anything was measured"));
    ExitCode::of(Outcome::Failed(FailureKind::Interrupted))
}

/// The life of the caretaker of the journal at `path`.
pub(crate) fn caretaker(path: &str) -> ExitCode {
    match undo::live(Path::new(path)) {
        Ok(undone) => {
            for one in &undone {
                tell_left(one);
            }
            ExitCode::Done
        }
        Err(error) => tell(Failure::new(FailureKind::Thread, system_text(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Grade;

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

//! `diskspd` as a command: words in, result on standard output, everything else on standard error.

use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use crate::config;
use crate::console::{Console, Message, ProgressAs, StandardError};
use crate::console::{
    end, is_waiting, say, say_line, say_lines, say_message, tell, write_out, write_waiting,
};
use crate::keeping::{self, Keep, Keeper};
use crate::show::can_draw;
use crate::show::{Extent, Style, drives, line, readable, text};
use crate::telemetry::{Listener, Seldom, Telemetry, Wishes};
use crate::viewer;
use diskspd::grammar::hints::refuse_strays;
use diskspd::grammar::parse::Invocation;
use diskspd::grammar::parse::{refuse_findings, refuse_option, refuse_plan};
use diskspd::grammar::{help_for, help_of_for, short_help_for};
use diskspd::render::{self, Format};
use diskspd::request::{HistoryOptions, Request};
use diskspd::run::Ready;
use diskspd::run::outputs::{OutputError, Outputs, files_of, use_of};
use diskspd::run::stop_on_signals;
use truespd_core::load::{self, Event, FinishedRun};
use truespd_core::profile::xml;
use truespd_core::profile::{Release, ResultFormat};
use truespd_core::result::metrics::usual_words;
use truespd_core::result::{Document, System, Verdict};
pub use truespd_platform::fault::ExitCode;
use truespd_platform::fault::{Failure, FailureKind, Outcome, Refusal, RefusalKind, Refusals};
use truespd_platform::machine::host::uptime_ms;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::program;
use truespd_platform::sys::program::is_output_closed;
use truespd_platform::sys::program::with_room;
use truespd_platform::sys::signals::survive_file_size_limit;
use truespd_verdict::judge;

/// What the program was started as.
#[derive(Debug, Clone)]
pub struct Program {
    /// For usage and for the report's command line.
    pub name: String,
}

/// What a run does that the two programs do differently.
#[derive(Clone, Copy)]
pub struct Front {
    pub verdict_to: VerdictTo,
    /// How its result is kept, if it is.
    pub keeping: fn(&HistoryOptions) -> Result<Keeper, Refusals>,
}

/// `diskspd`: standard output is DiskSpd's, and `truespd` keeps results.
const DISKSPD: Front = Front { verdict_to: VerdictTo::StandardError, keeping: keeping::by_truespd };

/// Where the verdict of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictTo {
    /// To standard error: standard output is DiskSpd's.
    StandardError,
    /// Under a text result on standard output; to standard error for a format that programs read.
    UnderResult,
}

/// Runs a command on the words that this process was started with. `usual_name` is what it is called where nobody says.
pub fn main(usual_name: &str, command: fn(&Program, &[OsString]) -> ExitCode) -> ExitCode {
    let ran = with_room(|| {
        let mut args = std::env::args_os();
        let name = args.next().map_or_else(|| usual_name.into(), |name| name.to_string_lossy().into_owned());
        let code = command(&Program { name }, &args.collect::<Vec<_>>());
        write_waiting();
        code
    });
    ran.unwrap_or_else(|error| {
        let message = format!(
            "the stack is limited to less than this program needs, and there is no memory for another one: {}",
            system_text(&error)
        );
        let hint = "raise the limit of the stack (ulimit -s 8192), or of address space (ulimit -v)";
        tell(Refusal::new(RefusalKind::Machine, message).hint(hint))
    })
}

/// Runs the DiskSpd command with `args` (without the program name).
pub fn diskspd(program: &Program, args: &[OsString]) -> ExitCode {
    begin().map_or_else(|code| code, |()| run_words(program, args, &DISKSPD))
}

/// Runs the words of DiskSpd's command line.
pub fn run_words(program: &Program, args: &[OsString], front: &Front) -> ExitCode {
    match diskspd::grammar::parse::parse_os(args, &program.name, &uptime_ms) {
        Ok(invocation) => dispatch(program, args, invocation, front),
        Err(refusals) => tell(refusals),
    }
}

fn dispatch(program: &Program, args: &[OsString], invocation: Invocation, front: &Front) -> ExitCode {
    match invocation {
        Invocation::Help => print(&help(program), ExitCode::Done),
        Invocation::ShortHelp => print(&help_for_now(program), ExitCode::Done),
        Invocation::HelpOf(word) => {
            let help = help_of_for(&word, columns().unwrap_or(usize::MAX));
            print(&help.unwrap_or_default(), ExitCode::Done)
        }
        Invocation::NoArguments => {
            let refused = ExitCode::of(Outcome::Refused(RefusalKind::CommandLine));
            print(&help_for_now(program), refused)
        }
        Invocation::Version => print(&diskspd::grammar::version(), ExitCode::Done),
        Invocation::SystemInformation(format, asked) => system_information(format, asked),
        Invocation::SetEvents(names) => set_events(&names),
        Invocation::Run(request) => run(program, args, *request, front),
    }
}

/// The help, as wide as the terminal that it is for.
fn help(program: &Program) -> String {
    help_for(&program.name, columns().unwrap_or(usize::MAX))
}

/// The short help on a terminal; a file and another program get all of it.
fn help_for_now(program: &Program) -> String {
    columns().map_or_else(|| help(program), |columns| short_help_for(&program.name, columns))
}

/// Width for text on standard output; `None` where that is no terminal.
fn columns() -> Option<usize> {
    program::terminal_columns(std::io::stdout()).map(readable)
}

/// Prints a document. A full disk is a failure; a reader that has seen enough (`| head`) is told nothing, as other
/// programs do it.
pub fn print(text: &str, code: ExitCode) -> ExitCode {
    match write_out(text) {
        Ok(()) => code,
        Err(error) if error.kind() == ErrorKind::BrokenPipe && code == ExitCode::Done => {
            ExitCode::of(Outcome::Unread)
        }
        Err(error) if error.kind() == ErrorKind::BrokenPipe => code,
        Err(error) => {
            let failure = Failure::new(FailureKind::Output, "could not write to standard output");
            tell(failure.because(system_text(&error)))
        }
    }
}

/// What both programs do before anything else.
///
/// # Errors
/// The exit code, when standard output is closed: a result would be lost without an error.
pub fn begin() -> Result<(), ExitCode> {
    survive_file_size_limit();
    if !is_output_closed() {
        return Ok(());
    }
    let refusal = Refusal::new(RefusalKind::Output, "standard output is closed, so the result would be lost");
    Err(tell(refusal.hint("send it to a file (> FILE), or to /dev/null if it is not wanted")))
}

fn system_information(format: ResultFormat, asked: Option<Release>) -> ExitCode {
    let release = match config::read().and_then(|_| release(asked)) {
        Ok(release) => release,
        Err(refusals) => return tell(refusals),
    };
    match load::system() {
        Ok(system) => {
            let text = match format {
                ResultFormat::Text => render::system_text(&system, release),
                ResultFormat::Xml => render::xml::system(&system, release),
            };
            print(&text, ExitCode::Done)
        }
        Err(error) => {
            let failure = Failure::new(FailureKind::Machine, "could not read the processors of this machine");
            tell(failure.because(error))
        }
    }
}

/// The release that is asked for, else that of the variable or the configuration.
fn release(asked: Option<Release>) -> Result<Release, Refusals> {
    match asked {
        Some(release) => Ok(release),
        None => config::in_force().release().map_err(Refusals::from),
    }
}

fn set_events(names: &[String]) -> ExitCode {
    for name in names {
        if let Err(fault) = load::events::set_existing(name) {
            return tell(fault);
        }
    }
    ExitCode::Done
}

fn command_line(program: &Program, args: &[OsString]) -> Vec<String> {
    std::iter::once(program.name.clone()).chain(typed(args)).collect()
}

fn run(program: &Program, args: &[OsString], mut request: Request, front: &Front) -> ExitCode {
    let read = config::read().map(|_| ()).and_then(|()| load_profile(program, args, &mut request));
    if let Err(refusals) = read {
        return tell(refusals);
    }
    let shape = Shape::of(&request, front.verdict_to);
    tell_warnings(shape.stderr);
    tell_how_understood(&request, shape.stderr);
    if request.profile_only {
        let text = match request.profile.result_format {
            ResultFormat::Text => {
                // Only 2.3 tells of the machine, as far as it is known.
                let machine = match request.profile.release {
                    Release::V2_2 => System::default(),
                    Release::V2_3 => load::system().unwrap_or_default(),
                };
                render::profile_text(&command_line(program, args), &request.profile, &machine)
            }
            ResultFormat::Xml => xml::write(&request.profile, 0),
        };
        return print(&text, ExitCode::Done);
    }
    let makes = request.profile.targets().any(|one| one.create_bytes.is_some());
    if makes
        && request.profile_file.is_none()
        && let Some(refusals) = refuse_strays(&typed(args), &program.name)
    {
        return tell(refusals);
    }
    let keep = match (front.keeping)(&request.options.history) {
        Ok(keep) => keep,
        Err(refusal) => return tell(refusal),
    };
    if request.options.live && front.verdict_to == VerdictTo::StandardError {
        let hint = "diskspd has no live view; truespd run has, and takes the same options";
        return tell(refuse_option(&typed(args), &program.name, "-live", hint));
    }
    match ready(program, args, &request) {
        Ok(ready) => measure(program, args, &request, ready, shape, keep.as_deref()),
        Err(refusals) => tell(refusals),
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The format on standard output.
    pub format: &'static Format,
    pub stderr: StandardError,
    pub verdict_to: VerdictTo,
}

impl Shape {
    pub fn of(request: &Request, verdict_to: VerdictTo) -> Self {
        let of_profile = render::format_of(request.profile.result_format);
        let format = request.options.stdout.and_then(render::format).unwrap_or(of_profile);
        Shape {
            format,
            stderr: StandardError::of_process(request.options.quiet, format.is_for_people),
            verdict_to,
        }
    }
}

/// How the words of the line were taken, before anything happens.
pub fn tell_how_understood(request: &Request, stderr: StandardError) {
    for (message, all) in [
        (Message::WarningOfDiskSpd, &request.findings_warnings),
        (Message::Warning, &request.reinterpreted),
        (Message::Note, &request.notes),
    ] {
        for words in all {
            say_message(stderr, message, words);
        }
    }
    let has_results = !request.options.outputs.is_empty() || request.options.stdout.is_some();
    if request.profile_only && has_results {
        say_message(stderr, Message::Note, "-Rp runs nothing, so no result is written");
    }
}

/// The request, when its engine is available.
fn ready<'a>(program: &Program, args: &[OsString], request: &'a Request) -> Result<Ready<'a>, Refusals> {
    Ready::of(request, command_line(program, args))
        .map_err(|error| refuse_option(&typed(args), &program.name, "-engine", &error.to_string()))
}

/// Reads the profile of `-X` into the request, with the overrides and targets beside it, and takes the defaults of the
/// release that is meant; the error is what to show.
pub fn load_profile(program: &Program, args: &[OsString], request: &mut Request) -> Result<(), Refusals> {
    let release = release(request.options.compat)?;
    request.options.compat = Some(release);
    request.profile.take_release(release);
    request.load_profile().map_err(|error| {
        error.refusals(|profile, findings| refuse_findings(&typed(args), &program.name, profile, findings))
    })?;
    if request.options.require_steady && !request.profile.time_spans.iter().any(|s| s.until_steady.is_some())
    {
        let words = "--require steady: nothing is measured until it is steady: add --until-steady";
        return Err(refuse_option(&typed(args), &program.name, "-require", words));
    }
    Ok(())
}

fn typed(args: &[OsString]) -> Vec<String> {
    args.iter().map(|a| a.to_string_lossy().into_owned()).collect()
}

/// Runs the load and prints the document.
fn measure(
    program: &Program,
    args: &[OsString],
    request: &Request,
    ready: Ready<'_>,
    shape: Shape,
    keep: Option<&dyn Keep>,
) -> ExitCode {
    let options = &request.options;
    let has_view = options.live && can_draw();
    let progress_as = if shape.stderr.shows(Message::Progress) && !has_view {
        ProgressAs::of_stderr(options.progress || options.live, request.profile.progress_ios > 0)
    } else {
        ProgressAs::Nothing
    };
    let console = Arc::new(Console::new(request.profile.verbose, progress_as, shape.stderr));
    let stop = match watch_signals(shape, &console) {
        Ok(stop) => stop,
        Err(refusal) => return tell(refusal),
    };
    let opened = Outputs::open(&request.options.outputs, request)
        .and_then(|outputs| Ok((outputs, telemetry(program, args, request, live_view(options.live))?)));
    let (outputs, telemetry) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            viewer::leave();
            return tell(Refusal::from(error));
        }
    };
    console.begin();
    let seldom = Seldom::every(progress_as.every());
    let on_event = |event: Event| {
        telemetry.see(&event);
        if seldom.passes(&event) {
            console.show(event);
        }
    };
    let every = telemetry.every().into_iter().chain(progress_as.every()).min();
    let mut report = ready.telling(every).run(&on_event, &stop);
    if let (Ok(report), Some(keep)) = (&mut report, keep) {
        seen_beside_others(&mut report.document, keep);
    }
    viewer::leave();
    console.finish();
    if let Ok(report) = &report {
        telemetry.result(&report.document);
    }
    let asked = Asked { program, args, request, shape, keep };
    let code = asked.finish(report, outputs, &console, &stop);
    telemetry.end().into_iter().fold(code, |_, error| tell(Failure::from(error)))
}

/// What other programs are told while it runs. Their files must be others than those of the run and of its results.
/// `listener` hears it as well.
fn telemetry(
    program: &Program,
    args: &[OsString],
    request: &Request,
    listener: Option<Listener>,
) -> Result<Telemetry, OutputError> {
    let options = &request.options;
    let wishes = Wishes { metrics: options.metrics.clone(), events: options.events.clone() };
    let taken = files_of(request).chain(options.outputs.iter().map(use_of));
    Telemetry::open(&wishes, &command_line(program, args), taken, listener)
}

/// The live view, which hears what is told, where it is wanted and standard error can show it. Without it the
/// run goes on.
pub fn live_view(is_wanted: bool) -> Option<Listener> {
    if !is_wanted || !can_draw() {
        return None;
    }
    viewer::start()
        .inspect_err(|error| {
            say_line(format_args!(
                "note: the live view could not be started: {}; the run goes on",
                system_text(error)
            ));
        })
        .ok()
}

/// A run as it was asked for.
struct Asked<'a> {
    program: &'a Program,
    args: &'a [OsString],
    request: &'a Request,
    shape: Shape,
    keep: Option<&'a dyn Keep>,
}

impl Asked<'_> {
    /// Shows what came of it, and writes the results.
    fn finish(
        &self,
        report: Result<FinishedRun, Vec<Refusal>>,
        outputs: Outputs,
        console: &Console,
        stop: &Latch,
    ) -> ExitCode {
        let Asked { program, args, request, shape, keep } = *self;
        match report {
            Ok(report) if stop.is_set() && is_empty(&report) => stopped_unmeasured(),
            Ok(report) => {
                let verdict = report.document.verdict.clone().unwrap_or_default();
                let is_unmet = request.options.is_unmet(&report.document);
                let show = Show { verdict, shape, has_all: request.options.verdict, is_unmet };
                let code = print_report(&report, outputs, console, &show);
                // At last, so that nothing is lost for it.
                keep_result(keep, &report.document, shape.stderr);
                match code {
                    ExitCode::Done if is_unmet => ExitCode::of(Outcome::Unmet),
                    code => code,
                }
            }
            Err(refusals) => {
                let refusals = refuse_plan(&typed(args), &program.name, &refusals);
                let is_not_opened = refusals.kind() == RefusalKind::Open;
                let code = tell(refusals);
                if is_not_opened {
                    tell_phrases(request.profile.result_format);
                }
                code
            }
        }
    }
}

/// Puts into a document what earlier results lead to expect, and judges it with that.
fn seen_beside_others(document: &mut Document, keep: &dyn Keep) {
    document.usual = keep.usual(document);
    if document.usual.is_some() {
        document.verdict = Some(judge(document));
    }
}

/// Keeps the result of a run that measured something, and tells where.
pub fn keep_result(keep: Option<&dyn Keep>, document: &Document, stderr: StandardError) {
    let Some(keep) = keep else { return };
    if document.measured().next().is_none() {
        return;
    }
    match keep.keep(document) {
        Ok(words) => say_message(stderr, Message::Kept, &words),
        Err(error) => say_message(stderr, Message::Warning, &error.to_string()),
    }
}

/// Tells the warnings of the configuration beside a result.
pub fn tell_warnings(stderr: StandardError) {
    for words in &config::known().warnings {
        say_message(stderr, Message::Warning, words);
    }
}

/// Whether nothing was measured, and nothing failed.
pub fn is_empty(report: &FinishedRun) -> bool {
    report.failures.is_empty() && report.document.measured().next().is_none()
}

/// A run that was stopped before it had a result to show.
pub fn stopped_unmeasured() -> ExitCode {
    say_line(format_args!("stopped before anything was measured"));
    ExitCode::of(Outcome::Failed(FailureKind::Interrupted))
}

/// The verdict and how it is shown.
pub struct Show {
    pub verdict: Verdict,
    pub shape: Shape,
    pub has_all: bool,
    /// `--require` is not met: the verdict is the reason for the exit code.
    pub is_unmet: bool,
}

impl Show {
    fn is_under_result(&self) -> bool {
        self.shape.verdict_to == VerdictTo::UnderResult && self.shape.format.is_for_people
    }

    /// Under a result on standard output stands the verdict alone. Where messages wait for the result, it is the last
    /// of them.
    fn is_on_stdout(&self) -> bool {
        self.is_under_result() && !is_waiting()
    }

    fn extent(&self) -> Extent {
        if self.has_all { Extent::All } else { Extent::Findings }
    }

    /// The verdict in lines of its own.
    fn whole(&self, document: &Document, style: Style) -> String {
        let verdict = text(&self.verdict, "verdict", self.extent(), style);
        with_usual(document, verdict) + &drives(document, style)
    }

    /// What stands under the result on standard output.
    fn under_result(&self, document: &Document) -> String {
        if self.is_on_stdout() {
            format!("\n{}", self.whole(document, Style::of_stdout()))
        } else {
            String::new()
        }
    }

    fn on_stderr(&self, report: &FinishedRun) -> String {
        let stderr = self.shape.stderr;
        // Whatever stands behind a format that programs read would be part of it.
        if stderr == StandardError::Closed || self.is_on_stdout() {
            return String::new();
        }
        if self.has_all || self.is_under_result() {
            return self.whole(&report.document, Style::of_stderr());
        }
        // The reasons of a failure are shown below.
        if !report.failures.is_empty() || !(self.is_unmet || stderr.shows(Message::Verdict)) {
            return String::new();
        }
        with_usual(&report.document, format!("{}\n", line(&self.verdict, Style::of_stderr())))
    }

    /// Facts about the run that standard error shows.
    fn tell_facts(&self, report: &FinishedRun, console: &Console) {
        let stderr = self.shape.stderr;
        let document = &report.document;
        for warning in document.warnings.iter().filter(|words| !console.has_warned(words)) {
            say_message(stderr, Message::Warning, warning);
        }
        for note in report.notes.iter().filter(|note| !note.is_detail || document.profile.verbose) {
            say_message(stderr, Message::Note, &note.words);
        }
    }
}

/// The text of a verdict, with what is usual below its first line.
fn with_usual(document: &Document, verdict: String) -> String {
    let Some(usual) = document.usual.as_ref().and_then(usual_words) else { return verdict };
    let (first, rest) = verdict.split_once('\n').unwrap_or((&verdict, ""));
    format!("{first}\nusual for this disk: {usual}\n{rest}")
}

pub fn print_report(report: &FinishedRun, outputs: Outputs, console: &Console, show: &Show) -> ExitCode {
    let Shape { format, stderr, .. } = show.shape;
    let waits_with_notice = console.is_interrupted() && format.is_for_people && !shows_notice_at_once();
    let notice = if waits_with_notice { NOTICE } else { "" };
    let result =
        format!("{notice}{}{}", (format.render)(&report.document), show.under_result(&report.document));
    let mut code = print(&result, ExitCode::Done);
    let errors = outputs.write(&report.document);
    let verdict = show.on_stderr(report);
    // DiskSpd's text does not end with a line end, so the next line would follow it.
    let has_more = !errors.is_empty() || !verdict.is_empty() || !report.failures.is_empty();
    let is_one_terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    if !result.ends_with('\n') && (is_one_terminal || (stderr == StandardError::Closed && has_more)) {
        say("\n");
    }
    for error in errors {
        code = tell(Failure::from(error));
    }
    show.tell_facts(report, console);
    say_lines(Message::Verdict, &verdict);
    if report.failures.is_empty() {
        return code;
    }
    let code = tell(report.failures.clone());
    tell_phrases(report.document.profile.result_format);
    code
}

/// The phrases that wrappers look for after a failure (`text-output.md` §13.2).
fn tell_phrases(format: ResultFormat) {
    say_line(format_args!("There has been an error during threads execution"));
    if format == ResultFormat::Xml {
        say_line(format_args!(""));
    }
    say_line(format_args!("Error generating I/O requests"));
}

/// How long a run that is stopped may take to end before it is told what it waits for.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// The first SIGINT, SIGTERM or SIGHUP stops the run in an orderly way.
fn watch_signals(shape: Shape, console: &Arc<Console>) -> Result<Latch, Refusal> {
    stop_on_signals(stop_notice(shape, console), end)
}

/// Where DiskSpd prints it before a text result; nothing may stand before a result that programs read.
const NOTICE: &str = "\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n";

/// A person who stops a run wants to see it at once. In a file or pipe it comes with the result: without one,
/// nothing stands there.
fn shows_notice_at_once() -> bool {
    std::io::stdout().is_terminal()
}

/// What the first of these signals shows.
pub fn stop_notice(shape: Shape, console: &Arc<Console>) -> impl Fn() + Send + Sync + 'static {
    let console = Arc::clone(console);
    move || {
        viewer::leave();
        console.stop();
        if shape.format.is_for_people {
            if shows_notice_at_once() {
                // If nobody reads it any more, the result will tell.
                drop(write_out(NOTICE));
            }
        } else if shape.stderr.shows(Message::Note) {
            say(NOTICE);
        }
        let console = Arc::clone(&console);
        // It ends with the process. Without a thread, the wait is not told.
        let _ = viewer::spawn("stopping", move || {
            std::thread::sleep(STOP_PATIENCE);
            console.tell_wait();
        });
    }
}

//! `diskspd` as a command: words in, result on standard output, everything else on standard error.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::cli::console::{Console, say, say_line};
use crate::cli::grammar::parse::{refuse_findings, refuse_option, refuse_plan};
use crate::cli::show::verdict::{Extent, Style, line, text};
use crate::cli::{EngineChoice, Events, Invocation, RunRequest};
use crate::engine::{self, EngineError, EngineRow};
pub use crate::fault::ExitCode;
use crate::fault::{Outcome, Refusal as PlanRefusal, Refusals};
use crate::load::{self, Event, Report};
use crate::machine::host::uptime_ms;
use crate::profile::xml::{self, Overrides, XmlError};
use crate::profile::{Profile, ResultFormat, Severity, validate};
use crate::render;
use crate::result::Verdict;
use crate::session::outputs::Outputs;
use crate::sys::error::system_text;
use crate::sys::wake::Latch;
use crate::text::printable;
use crate::verdict::judge;

/// What the program was started as.
#[derive(Debug, Clone)]
pub struct Program {
    /// For usage and for the report's command line.
    pub name: String,
}

/// Where the verdict of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// To standard error: standard output is DiskSpd's.
    StandardError,
    /// Under a text result on standard output; to standard error for a format that programs read.
    UnderResult,
}

/// Runs the DiskSpd command with `args` (without the program name).
pub fn diskspd(program: &Program, args: &[OsString]) -> ExitCode {
    run_words(program, args, Place::StandardError)
}

/// Runs the words of DiskSpd's command line.
pub(crate) fn run_words(program: &Program, args: &[OsString], place: Place) -> ExitCode {
    match crate::cli::grammar::parse::parse_os(args, &program.name, &uptime_ms) {
        Ok(invocation) => dispatch(program, args, invocation, place),
        Err(refusal) => {
            say(&refusal.to_string());
            ExitCode::Refused
        }
    }
}

fn dispatch(program: &Program, args: &[OsString], invocation: Invocation, place: Place) -> ExitCode {
    match invocation {
        Invocation::Help => print(&crate::cli::grammar::help(&program.name), ExitCode::Done),
        Invocation::NoArguments => print(&crate::cli::grammar::help(&program.name), ExitCode::Refused),
        Invocation::Version => print(&crate::cli::version(), ExitCode::Done),
        Invocation::SystemInformation(format) => system_information(format),
        Invocation::SetEvents(names) => set_events(&names),
        Invocation::Run(request) => run(program, args, *request, place),
    }
}

/// Prints a document; a closed pipe or a full disk is a failure, not a panic.
pub(crate) fn print(text: &str, code: ExitCode) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => code,
        Err(error) => {
            say_line(format_args!("ERROR: could not write to standard output: {}", system_text(&error)));
            ExitCode::Failed
        }
    }
}

fn system_information(format: ResultFormat) -> ExitCode {
    let render = match format {
        ResultFormat::Text => render::system_text,
        ResultFormat::Xml => render::xml::system,
    };
    match load::system() {
        Ok(system) => print(&render(&system), ExitCode::Done),
        Err(error) => {
            say_line(format_args!("ERROR: could not read the processors of this machine: {error}"));
            ExitCode::Failed
        }
    }
}

fn set_events(names: &[String]) -> ExitCode {
    for name in names {
        if let Err(error) = load::events::set_existing(name) {
            say_line(format_args!("ERROR: -ye{name}: {error}"));
            return ExitCode::Failed;
        }
    }
    ExitCode::Done
}

fn command_line(program: &Program, args: &[OsString]) -> Vec<String> {
    std::iter::once(program.name.clone()).chain(typed(args)).collect()
}

fn run(program: &Program, args: &[OsString], mut request: RunRequest, place: Place) -> ExitCode {
    if let Err(words) = load_profile(program, args, &mut request) {
        say_line(format_args!("{}", words.trim_end()));
        return ExitCode::Refused;
    }
    for warning in &request.findings_warnings {
        say_line(format_args!("WARNING: {warning}"));
    }
    for note in &request.notes {
        say_line(format_args!("note: {note}"));
    }
    if request.profile_only {
        if !request.options.outputs.is_empty() {
            say_line(format_args!("note: -Rp runs nothing, so there is no result to write to a file"));
        }
        let text = match request.profile.result_format {
            ResultFormat::Text => render::profile_text(&command_line(program, args), &request.profile),
            ResultFormat::Xml => xml::write(&request.profile, 0),
        };
        return print(&text, ExitCode::Done);
    }
    match options_of(program, args, &request) {
        Ok(options) => measure(program, args, &request, &options, place),
        Err(words) => {
            say(&words);
            ExitCode::Refused
        }
    }
}

/// What a run needs beyond its profile; the error is what to show.
fn options_of(program: &Program, args: &[OsString], request: &RunRequest) -> Result<load::Options, String> {
    let engine = request.options.engine.as_ref().map(find_engine).transpose().map_err(|error| {
        refuse_option(&typed(args), &program.name, "-engine", &error.to_string()).to_string()
    })?;
    Ok(load::Options {
        command_line: command_line(program, args),
        engine,
        overwrite: request.options.overwrite.clone(),
        recreate: request.options.recreate,
        events: names(&request.events),
        progress_every: None,
    })
}

/// A line that a suite runs, and who watches it.
pub(crate) struct QuietRun<'a> {
    /// Stands for the program in the document.
    pub program: &'a Program,
    /// The line.
    pub words: &'a [String],
    /// Receives what goes on.
    pub on_event: load::OnEvent<'a>,
    /// How often to tell where it is.
    pub progress_every: Option<Duration>,
    /// Ends it early.
    pub stop: &'a Latch,
}

impl QuietRun<'_> {
    /// Runs the line and prints nothing: the report, its document with its verdict. The error is what to show,
    /// and the exit code.
    pub fn run(&self) -> Result<Report, (String, ExitCode)> {
        let args: Vec<OsString> = self.words.iter().map(OsString::from).collect();
        let request = request_of(self.program, &args)?;
        let options = options_of(self.program, &args, &request);
        let mut options = options.map_err(|words| (words, ExitCode::Refused))?;
        options.progress_every = self.progress_every;
        let report = load::run(&request.profile, &options, self.on_event, self.stop);
        let mut report = report.map_err(|refusals| plan_refused(self.program, &args, &refusals))?;
        if !report.failures.is_empty() {
            let lines =
                report.failures.iter().map(|failure| format!("ERROR: {}\n", printable(&failure.to_string())));
            return Err((lines.collect(), ExitCode::Failed));
        }
        report.document.verdict = Some(judge(&report.document));
        Ok(report)
    }
}

/// What a line of a suite asks for. The error is what to show, and the exit code.
fn request_of(program: &Program, args: &[OsString]) -> Result<Box<RunRequest>, (String, ExitCode)> {
    let refused = |words: String| (words, ExitCode::Refused);
    let invocation = crate::cli::grammar::parse::parse_os(args, &program.name, &uptime_ms);
    let Invocation::Run(mut request) = invocation.map_err(|refusal| refused(refusal.to_string()))? else {
        return Err(refused("ERROR: a line of a suite has to run something\n".into()));
    };
    load_profile(program, args, &mut request).map_err(refused)?;
    Ok(request)
}

/// The profile that a line of a suite means. The error is what to show, and the exit code.
pub(crate) fn profile_of(program: &Program, words: &[String]) -> Result<Profile, (String, ExitCode)> {
    let args: Vec<OsString> = words.iter().map(OsString::from).collect();
    Ok(request_of(program, &args)?.profile)
}

/// Reads the profile of `-X` into the request, with the overrides and targets beside it; the error is
/// what to show.
pub(crate) fn load_profile(
    program: &Program,
    args: &[OsString],
    request: &mut RunRequest,
) -> Result<(), String> {
    let Some(file) = &request.profile_file else { return Ok(()) };
    let path = Path::new(&file.path);
    let unreadable = |e: &std::io::Error| XmlError::unreadable(path, e).to_string();
    let opened = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
    let read = xml::read_from(opened).map_err(|e| unreadable(&e))?;
    let mut profile = read.map_err(|e| e.to_string())?;
    let overrides = Overrides {
        duration_s: file.duration_s,
        warmup_s: file.warmup_s,
        cooldown_s: file.cooldown_s,
        rand_seed: file.seed,
        verbose: file.verbose,
        verbose_stats: file.verbose_stats,
        result_format: file.result_format,
        experiment_flags: file.experiment_flags,
    };
    xml::apply_overrides(&mut profile, &overrides);
    xml::substitute_templates(&mut profile, &file.targets)
        .map_err(|errors| errors.iter().map(|e| format!("ERROR: {e}\n")).collect::<String>())?;
    let findings = validate(&profile, !request.profile_only);
    if findings.iter().any(|f| f.severity == Severity::Error) {
        return Err(refuse_findings(&typed(args), &program.name, &profile, &findings).to_string());
    }
    request.findings_warnings.extend(findings.iter().map(ToString::to_string));
    request.profile = profile;
    Ok(())
}

fn typed(args: &[OsString]) -> Vec<String> {
    args.iter().map(|a| a.to_string_lossy().into_owned()).collect()
}

fn names(events: &Events) -> load::EventNames {
    let Events { start, finish, wait, stop } = events.clone();
    load::EventNames { start, finish, wait, stop }
}

/// The engine of `--engine`, when this machine can open it.
fn find_engine(choice: &EngineChoice) -> Result<(&'static EngineRow, String), EngineError> {
    // The words were checked when they were read.
    let row = engine::find(&choice.name).expect("parsing refuses unknown engines");
    (row.probe)()?;
    Ok((row, choice.parameters.clone()))
}

/// Runs the load and prints the document.
fn measure(
    program: &Program,
    args: &[OsString],
    request: &RunRequest,
    options: &load::Options,
    place: Place,
) -> ExitCode {
    let stop = match Latch::new()
        .and_then(|latch| watch_signals(&latch, request.profile.result_format).map(|()| latch))
    {
        Ok(stop) => stop,
        Err(error) => {
            say_line(format_args!("ERROR: could not prepare for Ctrl+C: {}", system_text(&error)));
            return ExitCode::Failed;
        }
    };
    let outputs = match Outputs::open(&request.options.outputs, request) {
        Ok(outputs) => outputs,
        Err(error) => {
            say_line(format_args!("ERROR: {error}"));
            return ExitCode::Refused;
        }
    };
    let console = Console::new(request.profile.verbose);
    let report = load::run(&request.profile, options, &|event: Event| console.show(event), &stop);
    console.finish();
    match report {
        Ok(mut report) => {
            let verdict = judge(&report.document);
            report.document.verdict = Some(verdict.clone());
            let is_refused = request.options.require.is_some_and(|required| verdict.grade > required);
            let show = Show { verdict, place, has_all: request.options.verdict };
            match print_report(&report, outputs, &console, &show) {
                ExitCode::Done if is_refused => ExitCode::NotTrusted,
                code => code,
            }
        }
        Err(refusals) => refuse(program, args, &refusals),
    }
}

/// The verdict and how it is shown.
struct Show {
    verdict: Verdict,
    place: Place,
    /// `--verdict`.
    has_all: bool,
}

impl Show {
    fn is_under_result(&self, format: ResultFormat) -> bool {
        self.place == Place::UnderResult && format == ResultFormat::Text
    }

    fn extent(&self) -> Extent {
        if self.has_all { Extent::All } else { Extent::Findings }
    }

    /// What stands under the result on standard output.
    fn under_result(&self, format: ResultFormat) -> String {
        match self.is_under_result(format) {
            true => format!("\n{}", text(&self.verdict, "verdict", self.extent(), Style::of_stdout())),
            false => String::new(),
        }
    }

    /// What standard error shows.
    fn on_stderr(&self, report: &Report) -> String {
        let is_told = self.is_under_result(report.document.profile.result_format);
        match self.has_all {
            _ if is_told => String::new(),
            true => text(&self.verdict, "verdict", Extent::All, Style::of_stderr()),
            // The reasons of a failure follow anyway.
            false if !report.failures.is_empty() => String::new(),
            false => format!("{}\n", line(&self.verdict, Style::of_stderr())),
        }
    }
}

fn print_report(report: &Report, outputs: Outputs, console: &Console, show: &Show) -> ExitCode {
    let format = report.document.profile.result_format;
    let mut result = match format {
        ResultFormat::Text => render::text(&report.document),
        ResultFormat::Xml => render::xml::results(&report.document),
    };
    result.push_str(&show.under_result(format));
    let mut code = print(&result, ExitCode::Done);
    // DiskSpd's text ends in the middle of a line, which a terminal would go on with.
    if !result.ends_with('\n') && std::io::stdout().is_terminal() && std::io::stderr().is_terminal() {
        say("\n");
    }
    for error in outputs.write(&report.document) {
        say_line(format_args!("ERROR: {}", printable(&error.to_string())));
        code = ExitCode::Failed;
    }
    for warning in report.document.warnings.iter().filter(|words| !console.has_warned(words)) {
        say_line(format_args!("WARNING: {}", printable(warning)));
    }
    for note in &report.notes {
        say_line(format_args!("note: {}", printable(note)));
    }
    say(&show.on_stderr(report));
    for failure in &report.failures {
        say_line(format_args!("ERROR: {}", printable(&failure.to_string())));
    }
    if report.failures.is_empty() {
        return code;
    }
    // The phrases that wrappers look for (`text-output.md` §13.2).
    say_line(format_args!("There has been an error during threads execution"));
    if format == ResultFormat::Xml {
        say_line(format_args!(""));
    }
    say_line(format_args!("Error generating I/O requests"));
    ExitCode::Failed
}

/// Shows refusals of the plan under the words they are about.
fn refuse(program: &Program, args: &[OsString], refusals: &[PlanRefusal]) -> ExitCode {
    let (words, code) = plan_refused(program, args, refusals);
    say(&words);
    code
}

/// What to show for refusals of a plan, and the exit code.
pub(crate) fn plan_refused(
    program: &Program,
    args: &[OsString],
    refusals: &[PlanRefusal],
) -> (String, ExitCode) {
    let kind = Refusals::from(refusals.to_vec()).kind();
    let code = ExitCode::of(Outcome::Refused(kind));
    (refuse_plan(&typed(args), &program.name, refusals).to_string(), code)
}

/// Signals that come this soon after the first one mean the same.
const SAME_WISH: Duration = Duration::from_millis(500);

/// The first SIGINT or SIGTERM stops the run in an orderly way.
fn watch_signals(stop: &Latch, format: ResultFormat) -> std::io::Result<()> {
    // Where DiskSpd prints it before a text result; nothing may stand before an XML result.
    const NOTICE: &str = "\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n";
    stop_on_signals(stop, move || {
        let mut out = std::io::stdout().lock();
        let _ = match format {
            ResultFormat::Text => out.write_all(NOTICE.as_bytes()).and_then(|()| out.flush()),
            ResultFormat::Xml => std::io::stderr().write_all(NOTICE.as_bytes()),
        };
    })
}

/// Sets `stop` at the first SIGINT or SIGTERM, after `notice`; the second ends the process.
pub(crate) fn stop_on_signals(stop: &Latch, notice: impl Fn() + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let stop = stop.clone();
    let wait = move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            match first {
                None => first = Some(Instant::now()),
                // `timeout` signals the process and then its group: that is one wish, not two.
                Some(at) if at.elapsed() < SAME_WISH => continue,
                Some(_) => std::process::exit(128 + signal),
            }
            notice();
            stop.set();
        }
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(wait);
    started.map(drop).map_err(|error| {
        let words = system_text(&error);
        std::io::Error::other(format!("{words}; raise the limit of processes (ulimit -u)"))
    })
}

//! `truespd import`: a job file of fio as lines of `diskspd`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::import::{Included, Kind, Outside, Remark, Run, import};
use diskspd::config::text_of;
use diskspd::console::{say_line, tell};
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use diskspd::program::{ExitCode, print};
use diskspd::request::Output;
use diskspd::run::outputs::TextOutput;
use diskspd::show::plural;
use truespd_core::fault::{Failure, Fault, Outcome, Refusal, RefusalKind};
use truespd_core::profile::{Profile, TimeSpan, xml};
use truespd_core::sys::error::system_text;
use truespd_core::text::{printable, printable_path, shell_line, shell_word};

/// The largest job file: others are none.
const BYTES_MAX: u64 = 1 << 20;

/// Name of a job file that comes from there.
const STDIN: &str = "standard input";

/// Turn a job file of fio into lines of diskspd; what cannot be said is listed
///
/// Prints one line for jobs that run at the same time, as a script of the shell. Above each line stands what
/// became of keys that are no options there: what cannot be said, with the line of the job file and what
/// comes nearest, and what means something else. Runs nothing, and writes nothing but the file of --profile.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truespd import job.fio                     lines of diskspd, with comments
  truespd import job.fio > job.sh            the same as a script
  truespd import --profile job.xml job.fio   jobs that differ, at the same time: an XML profile, and its line
  truespd import --strict job.fio            exit code 5 when something cannot be said
  truespd import --lossy job.fio             also lines without the flushes of the job, which test something else

Variables (${NAME}) are those of the environment. docs/import.md tells which keys are known, and what differs.")]
pub(crate) struct ImportArguments {
    /// Job file of fio; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write all jobs to this file as one XML profile of DiskSpd, with a time span for each group of jobs;
    /// needed where jobs with different options run at the same time; - is standard output, then without the
    /// lines
    #[arg(long, value_name = "FILE")]
    profile: Option<String>,
    /// Exit with code 5 when something cannot be said
    #[arg(long)]
    strict: bool,
    /// Make lines also of jobs whose writes become durable in a way that cannot be said (fsync=32,
    /// end_fsync=1, ...): such a line goes without the flushes, and tests something else
    #[arg(long)]
    lossy: bool,
}

pub(crate) fn run(arguments: &ImportArguments) -> ExitCode {
    imported(arguments).unwrap_or_else(tell)
}

fn imported(arguments: &ImportArguments) -> Result<ExitCode, Fault> {
    let (name, text) = read(&arguments.file)?;
    let outside = Outside { include: &included, variable: &|name| std::env::var(name).ok() };
    let runs = import(&name, &text, &outside, arguments.lossy).map_err(|wrong| {
        let what =
            format!("'{}' is no job file of fio: {}, {}", printable(&name), wrong.at, printable(&wrong.what));
        Refusal::new(RefusalKind::Input, what).on(name.clone()).with_hints(wrong.hint.map(str::to_string))
    })?;
    let profile = arguments.profile.as_deref();
    let unsaid = unsaid(&runs, profile.is_some());
    let text = match profile {
        None if runs.iter().any(has_line) => lines(&name, &runs),
        None => return Ok(without_lines(&name, &runs)),
        Some(path) => {
            let written = xml::write(&profile_of(&runs)?, 0);
            match path {
                "-" => written,
                path => {
                    write(path, &arguments.file, &written)?;
                    profile_line(&name, path, &runs)
                }
            }
        }
    };
    let code = print(&text, ExitCode::Done);
    if unsaid > 0 {
        let keys = plural(unsaid, "thing");
        let place = if profile == Some("-") { "the comments without --profile" } else { "the comments" };
        say_line(format_args!("note: {keys} of '{}' could not be said: see {place}", printable(&name)));
    }
    Ok(match code {
        ExitCode::Done if unsaid > 0 && arguments.strict => ExitCode::of(Outcome::Unmet),
        code => code,
    })
}

/// The name and the text of a job file.
fn read(file: &Path) -> Result<(String, String), Refusal> {
    let (name, text) = if file.as_os_str() == "-" {
        let text = text_of(std::io::stdin().lock(), BYTES_MAX).map_err(|error| system_text(&error));
        (STDIN.to_string(), text)
    } else {
        (file.display().to_string(), read_text(file))
    };
    match text {
        Ok(text) => Ok((name, text)),
        Err(why) => {
            let what = format!("the job file '{}' cannot be read: {why}", printable_path(file));
            Err(Refusal::new(RefusalKind::Input, what).on(file.display().to_string()))
        }
    }
}

/// A file of a reasonable size.
fn read_text(file: &Path) -> Result<String, String> {
    let text = std::fs::File::open(file).and_then(|stream| text_of(stream, BYTES_MAX));
    text.map_err(|error| system_text(&error))
}

/// The job file as a word of a line.
fn word_of(file: &str) -> String {
    match file {
        STDIN => "-".into(),
        file if file.starts_with('-') => shell_word(&format!("./{file}")),
        file => shell_word(file),
    }
}

/// An included file: as it is named, or beside the file that includes it.
fn included(from: &str, name: &str) -> Included {
    let beside = Path::new(from).parent().map(|folder| folder.join(name));
    let path =
        if Path::new(name).exists() { PathBuf::from(name) } else { beside.unwrap_or_else(|| name.into()) };
    let text = read_text(&path)?;
    Ok((path.display().to_string(), text))
}

fn write(path: &str, job: &Path, text: &str) -> Result<(), Fault> {
    if let (Ok(one), Ok(other)) = (std::fs::canonicalize(path), std::fs::canonicalize(job))
        && one == other
    {
        return Err(Refusal::command_line("--profile names the job file itself").into());
    }
    let output = TextOutput::open(&Output { format: "profile", path: path.into() }).map_err(Refusal::from)?;
    output.write(text).map_err(|error| Failure::from(error).into())
}

/// How many things cannot be said.
fn unsaid(runs: &[Run], has_profile: bool) -> usize {
    let remarks = runs.iter().flat_map(|run| &run.remarks);
    let keys = remarks.filter(|(_, remark)| matches!(remark.kind, Kind::Unsaid | Kind::Lost)).count();
    let lacking = runs.iter().filter(|run| !has_profile && !run.lanes.is_empty() && !has_line(run));
    keys + lacking.count() + usize::from(has_profile && engines(runs).1)
}

/// The engine of a profile, which has one for all groups: that of the first; and whether others want another.
fn engines(runs: &[Run]) -> (Vec<String>, bool) {
    let mut engines = runs.iter().filter(|run| !run.lanes.is_empty()).map(Run::engine_words);
    let first = engines.next().unwrap_or_default();
    let differ = engines.any(|engine| engine != first);
    (first, differ)
}

/// Whether one line says what a group of jobs does.
fn has_line(run: &Run) -> bool {
    run.line().is_some_and(|words| time_span(&words).is_ok())
}

/// Refuses a file that makes no line, and tells what became of each key: a script without a line would do nothing, and
/// seem to have done it well.
fn without_lines(name: &str, runs: &[Run]) -> ExitCode {
    let what = "no job of this file can be written as a line of diskspd";
    let mut refusal = Refusal::new(RefusalKind::Input, what).on(name);
    if runs.iter().any(|run| !run.lanes.is_empty()) {
        refusal = refusal.hint("with --profile FILE.xml, an XML profile says what a line cannot");
    }
    if runs.iter().flat_map(|run| &run.remarks).any(|(_, remark)| remark.kind == Kind::Lost) {
        refusal = refusal.hint("with --lossy, lines go without the flushes that cannot be said");
    }
    let code = tell(refusal);
    lines(name, runs).lines().for_each(|line| say_line(format_args!("{line}")));
    code
}

fn lines(file: &str, runs: &[Run]) -> String {
    let mut out = format!("# {}\n", printable(file));
    for run in runs {
        out.push_str(&comments(run));
        match run.line() {
            Some(words) => match time_span(&words) {
                Ok(_) => out.push_str(&format!("diskspd {}\n", shell_line(&words))),
                Err(why) => out.push_str(&format!("# no line: {}\n", printable(&why.to_string()))),
            },
            None if run.lanes.is_empty() => out.push_str("# no line: none of these jobs can be written as one\n"),
            None => out.push_str(&format!(
                "# no line: these targets differ in their options; a profile can say that: truespd import --profile \
                 FILE.xml {}\n",
                printable(&word_of(file))
            )),
        }
    }
    out
}

/// The line for a profile, with all comments.
fn profile_line(file: &str, profile: &str, runs: &[Run]) -> String {
    let mut out = format!("# {}\n", printable(file));
    runs.iter().for_each(|run| out.push_str(&comments(run)));
    let (first, differ) = engines(runs);
    if differ {
        out.push_str("# not said: the groups have different engines; a profile runs with one: the first\n");
    }
    let words: Vec<String> = std::iter::once(format!("-X{profile}")).chain(first).collect();
    out.push_str(&format!("diskspd {}\n", shell_line(&words)));
    out
}

/// What stands above a line.
fn comments(run: &Run) -> String {
    let names: Vec<String> = run.jobs.iter().map(|name| format!("[{}]", printable(name))).collect();
    let mut out = format!("\n# {}\n", names.join(" "));
    let mut needless: Vec<&str> = Vec::new();
    for (_, remark) in of_kind(run, Kind::Needless) {
        if !needless.contains(&remark.typed.as_str()) {
            needless.push(&remark.typed);
        }
    }
    for (lead, kind) in [("not said", Kind::Lost), ("not said", Kind::Unsaid), ("differs", Kind::Differs)] {
        for (job, remark) in of_kind(run, kind) {
            out.push_str(&format!("# {lead}: {}\n", printable(&words_of(job, remark))));
        }
    }
    if !needless.is_empty() {
        out.push_str(&format!("# needs no word: {}\n", printable(&needless.join(", "))));
    }
    out
}

fn of_kind(run: &Run, kind: Kind) -> impl Iterator<Item = &(String, Remark)> {
    run.remarks.iter().filter(move |(_, remark)| remark.kind == kind)
}

fn words_of(job: &str, remark: &Remark) -> String {
    let place = match &remark.at {
        Some(at) => format!("{at}: {}", remark.typed),
        None => format!("[{job}]"),
    };
    match (remark.why.as_str(), remark.nearest.as_str()) {
        ("", "") => format!("{place}: there is nothing like it"),
        (why, "") => format!("{place}: {why}"),
        ("", nearest) => format!("{place}: nearest: {nearest}"),
        (why, nearest) => format!("{place}: {why}; nearest: {nearest}"),
    }
}

/// All runs as time spans of one profile.
fn profile_of(runs: &[Run]) -> Result<Profile, Refusal> {
    let mut profile = Profile::default();
    for run in runs {
        let mut spans = run.lanes.iter().map(|lane| time_span(&run.line_of(lane)));
        let Some(first) = spans.next() else { continue };
        let mut span = first?;
        for other in spans {
            span.targets.extend(other?.targets);
        }
        profile.time_spans.push(span);
    }
    if profile.time_spans.is_empty() {
        let refusal =
            Refusal::new(RefusalKind::Input, "no job of this file can be written as a profile of diskspd");
        return Err(refusal.hint("without --profile, the reasons are listed"));
    }
    Ok(profile)
}

/// What a line means. It was made here, so a line that the parser refuses asks for more than a run can do.
fn time_span(words: &[String]) -> Result<TimeSpan, Refusal> {
    let why = match parse(words, "diskspd", &|| 0) {
        Ok(Invocation::Run(mut request)) if !request.profile.time_spans.is_empty() => {
            return Ok(request.profile.time_spans.swap_remove(0));
        }
        Ok(Invocation::Run(_)) => "it has no time span".to_string(),
        Ok(_) => "it runs nothing".to_string(),
        Err(refusals) => refusals.all.iter().map(Refusal::without_hints).collect::<Vec<_>>().join("; "),
    };
    let refusal =
        Refusal::new(RefusalKind::Input, format!("the job file asks for what no run can do: {why}"));
    Err(refusal.hint(format!("the line would be: diskspd {}", shell_line(words))))
}

//! `truespd import`: a job file or a command line of fio as lines of `diskspd`.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::import;
use crate::import::{Included, Kind, NoJobFile, Outside, Remark, Run};
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use diskspd::request::Output;
use diskspd::run::outputs::TextOutput;
use truespd_front::config::{bytes_of, no_text};
use truespd_front::console::{say_line, tell};
use truespd_front::program::{ExitCode, print};
use truespd_front::show::plural;
use truespd_platform::fault::{Failure, Fault, Outcome, Refusal, RefusalKind};

use truespd_core::profile::{Profile, TimeSpan, xml};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::file::{FileKind, Stat};
use truespd_platform::text::{printable, printable_path, shell_line, shell_word};

/// The largest job file: others are none.
const BYTES_MAX: u64 = 1 << 20;

/// Name of a job file that comes from there.
const STDIN: &str = "standard input";
/// Name of a command line behind `--`.
const ARGUMENTS: &str = "arguments";

/// Turn a job file or a command line of fio into lines of diskspd; what cannot be said is listed
///
/// Prints one line for jobs that run at the same time, as a script of the shell. Above each line stands what
/// became of keys that are no options there: what cannot be said, with the line of the job file and what
/// comes nearest, and what means something else. Runs nothing, and writes nothing but the file of --profile.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truespd import job.fio                     lines of diskspd, with comments
  truespd import job.fio > job.sh            the same as a script
  truespd import -- fio --name=a --rw=read   a command line of fio
  truespd import - < commands.sh             command lines of fio, or a job file, of standard input
  truespd import --profile job.xml job.fio   jobs that differ, at the same time: an XML profile, and its line
  truespd import --strict job.fio            exit code 5 when something cannot be said
  truespd import --lossy job.fio             also lines without what cannot be said, which test something else

Variables (${NAME}) are those of the environment. docs/import.md tells which keys are known, and what differs.")]
pub(crate) struct ImportArguments {
    /// Job file of fio, or a text with its command lines; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "words", conflicts_with = "words")]
    file: Option<PathBuf>,
    /// A command line of fio, or a job file whose name begins with a dash
    #[arg(value_name = "FIO", last = true)]
    words: Vec<String>,
    /// Write all jobs to this file as one XML profile of DiskSpd, with a time span for each group of jobs;
    /// needed where jobs with different options run at the same time; - is standard output, then without the
    /// lines
    #[arg(long, value_name = "FILE")]
    profile: Option<String>,
    /// Exit with code 5 when something cannot be said
    #[arg(long)]
    strict: bool,
    /// Make lines also of jobs that say what no line can (end_fsync=1, thinktime=500us, ...): such a line goes
    /// without it, and tests something else
    #[arg(long)]
    lossy: bool,
}

pub(crate) fn run(arguments: &ImportArguments) -> ExitCode {
    imported(arguments).unwrap_or_else(tell)
}

/// The jobs that were given, and how the person named them.
struct Given {
    name: String,
    /// The words that name them on another line of `truespd import`.
    word: String,
    /// The file, if it is one.
    file: Option<PathBuf>,
    runs: Vec<Run>,
}

fn imported(arguments: &ImportArguments) -> Result<ExitCode, Fault> {
    let Given { name, word, file, runs } = given(arguments)?;
    let profile = arguments.profile.as_deref();
    let unsaid = unsaid(&runs, profile.is_some());
    let text = match profile {
        None if runs.iter().any(has_line) => lines(&name, &word, &runs),
        None => return Ok(without_lines(&name, &word, &runs)),
        Some(path) => {
            let written = xml::write(&profile_of(&runs)?, 0);
            match path {
                "-" => written,
                path => {
                    write(path, file.as_deref(), &written)?;
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

fn no_jobs(name: &str, wrong: NoJobFile) -> Refusal {
    let what =
        format!("'{}' is not a job file of fio: {}, {}", printable(name), wrong.at, printable(&wrong.what));
    Refusal::new(RefusalKind::Input, what).on(name).with_hints(wrong.hint.map(str::to_string))
}

/// Reads the jobs that were given.
fn given(arguments: &ImportArguments) -> Result<Given, Refusal> {
    let outside = Outside { include: &included, variable: &|name| std::env::var(name).ok(), size: &size_of };
    let file = match (&arguments.file, arguments.words.as_slice()) {
        (Some(file), _) => file.clone(),
        (None, [only]) if is_file(only) => PathBuf::from(only),
        (None, words) => {
            let runs = import::import_words(ARGUMENTS, words, &outside, arguments.lossy)
                .map_err(|wrong| no_jobs(ARGUMENTS, wrong))?;
            let word = format!("-- {}", shell_line(words));
            return Ok(Given { name: ARGUMENTS.into(), word, file: None, runs });
        }
    };
    let (name, text) = read(&file)?;
    let runs =
        import::import(&name, &text, &outside, arguments.lossy).map_err(|wrong| no_jobs(&name, wrong))?;
    Ok(Given { word: word_of(&name), name, file: Some(file), runs })
}

/// Whether the only word behind `--` names a file, and is no word of fio.
fn is_file(word: &str) -> bool {
    word != "fio" && !word.starts_with("--") && !(word.starts_with('-') && word.contains('='))
}

/// The name and the text of a job file.
fn read(file: &Path) -> Result<(String, String), Refusal> {
    let (name, text) = if file.as_os_str() == "-" {
        (STDIN.to_string(), text_of(std::io::stdin().lock()))
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
    text_of(std::fs::File::open(file).map_err(|error| system_text(&error))?)
}

/// A text whose comments are bytes.
fn text_of(stream: impl Read) -> Result<String, String> {
    let bytes = bytes_of(stream, BYTES_MAX);
    let text = bytes.and_then(|bytes| import::text(&bytes).map_err(no_text));
    text.map_err(|error| system_text(&error))
}

/// The bytes of a file or a block device that is there; nothing is opened.
fn size_of(path: &str) -> Option<u64> {
    let about = std::fs::metadata(path).ok()?;
    if about.is_file() {
        return Some(about.len());
    }
    let stat = Stat::of(&about);
    if stat.kind != FileKind::Block {
        return None;
    }
    BlockDevice::find(DeviceNumber::from_raw(stat.node_of), &Roots::default())?.size_bytes()
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

fn write(path: &str, job: Option<&Path>, text: &str) -> Result<(), Fault> {
    if let Some(job) = job
        && let (Ok(one), Ok(other)) = (std::fs::canonicalize(path), std::fs::canonicalize(job))
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
fn without_lines(name: &str, word: &str, runs: &[Run]) -> ExitCode {
    let what = "no job of this file can be written as a line of diskspd";
    let mut refusal = Refusal::new(RefusalKind::Input, what).on(name);
    if runs.iter().any(|run| !run.lanes.is_empty()) {
        refusal = refusal.hint("with --profile FILE.xml, an XML profile says what a line cannot");
    }
    let mut lost = runs.iter().flat_map(|run| of_kind(run, Kind::Lost)).peekable();
    if lost.peek().is_some() {
        let are_flushes = lost.all(|(_, remark)| remark.is_about_durability());
        let what = if are_flushes { "the flushes that cannot be said" } else { "what cannot be said" };
        refusal = refusal.hint(format!("with --lossy, lines go without {what}, and test something else"));
    }
    let code = tell(refusal);
    lines(name, word, runs).lines().for_each(|line| say_line(format_args!("{line}")));
    code
}

fn lines(file: &str, word: &str, runs: &[Run]) -> String {
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
                printable(word)
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

//! `truespd workload`: named loads, the program's own and a person's.

mod presets;

use std::ffi::OsString;

use clap::Args;

use crate::cli::Invocation;
use crate::cli::commands::diskspd::{ExitCode, Program, plan_refused, print};
use crate::cli::commands::suite::{self, SeriesArguments, Suite, end_early, nothing_measured};
use crate::cli::commands::values::{between, bytes};
use crate::cli::console::say_line;
use crate::cli::grammar::parse;
use crate::cli::grammar::parse::refuse_findings;
use crate::cli::show::verdict::{Style, series as series_verdict};
use crate::cli::words::{has_number, unwanted};
use crate::fault::{Refusal, RefusalKind};
use crate::machine::storage::{AlignmentSource, DirectAlignment};
use crate::plan::check_alignment;
use crate::profile::{Severity, Size, Target, TimeSpan, validate, xml};
use crate::session::outputs::{LaterOutputs, later_json};
use crate::session::place::{FILE_BYTES_MIN, Place};
use crate::session::series::Series;
use crate::suite::Ended;
use crate::suite::workload::preset::{Load, Preset, fitted};
use crate::suite::workload::sweep::{Limit, Of};
use crate::suite::workload::{Outcome, Plan, Times, Work};
use crate::sys::error::system_text;
use crate::text::shell_line;

/// The profile in the scratch folder.
const PROFILE: &str = "workload.xml";
/// Warm-up unless told otherwise, in seconds.
const WARMUP_S: u32 = 5;
/// Measured time unless told otherwise, in seconds.
const DURATION_S: u32 = 30;
/// The same for each rate of a search.
const RATE_WARMUP_S: u32 = 2;
const RATE_DURATION_S: u32 = 10;
/// A day: none of the times is longer.
const SECONDS_MAX: u32 = 86_400;

/// Run a load by its name: oltp, olap, web, vdi, sql, VM Fleet's, or one of your own
///
/// In a folder, files are made for it and removed at the end. `oltp` looks for the highest rate whose response
/// times stay under a limit. `--list` shows all names, `--print` what would run.
#[derive(Debug, Args)]
pub(crate) struct WorkloadArguments {
    /// Name of the workload
    name: Option<String>,
    /// Folder for the test files (default: this one), or as many files or devices as the workload needs
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Show the names of all workloads
    #[arg(long)]
    list: bool,
    /// Run nothing; print the lines of DiskSpd, and the profile, that would run
    #[arg(long)]
    print: bool,
    /// Folder with presets of your own, NAME.toml or NAME.xml (default: ~/.config/truespd/workloads, or
    /// truespd/workloads in $XDG_CONFIG_HOME)
    #[arg(long, value_name = "DIR")]
    presets: Option<String>,
    /// Size of each test file that is made; regions of a profile shrink in proportion
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    size: Option<u64>,
    /// Share of writes in percent, in the place of the workload's own; refused where it is several loads (web, sql, fleet-vdi,
    /// fleet-sql)
    #[arg(long, short = 'w', value_name = "PERCENT", value_parser = between::<0, 100>)]
    write_ratio: Option<u32>,
    /// Size of the I/Os, in the place of the workload's own; refused where it is several loads
    #[arg(long, short = 'b', value_name = "SIZE", value_parser = bytes)]
    block: Option<u64>,
    /// Measured seconds of each run [default: 30, in a search 10]
    #[arg(long, short = 'd', value_name = "SECONDS", value_parser = between::<1, SECONDS_MAX>)]
    duration: Option<u32>,
    /// Seconds before each measurement [default: 5, in a search 2]
    #[arg(long, short = 'W', value_name = "SECONDS", value_parser = between::<0, SECONDS_MAX>)]
    warmup: Option<u32>,
    /// Seconds after each measurement
    #[arg(long, short = 'C', value_name = "SECONDS", default_value_t = 0, value_parser = between::<0, SECONDS_MAX>)]
    cooldown: u32,
    /// Look for the highest rate whose response times keep this, in milliseconds; 0: run once, without a search. For
    /// workloads of one line (oltp, olap, olap-si, vdi, your own)
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    limit: Option<f64>,
    /// Which figure of the response times the limit is about: mean, p95, p99 or p99.9 [default: that of the preset, or p99]
    #[arg(long, value_name = "FIGURE", value_parser = figure)]
    of: Option<Of>,
    /// Write the figures to this file as JSON (`truespd schema workload`)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    #[command(flatten)]
    series: SeriesArguments,
}

fn figure(text: &str) -> Result<Of, String> {
    let found = Of::ALL.iter().find(|(_, word)| *word == text);
    let words = || Of::ALL.map(|(_, word)| word).join(", ");
    found.map(|(of, _)| *of).ok_or_else(|| format!("one of {}", words()))
}

impl Suite for WorkloadArguments {
    const NAME: &'static str = "workload";
    const WRITES: &'static str = "What `workload --json` writes";
    type Document = Outcome;

    fn run(&self) -> ExitCode {
        let done = match &self.name {
            _ if self.list => presets::list(self.presets.as_deref()).map(|text| print(&text, ExitCode::Done)),
            Some(name) => work(self, name),
            None => presets::names(self.presets.as_deref()).and_then(|names| {
                Err(format!("name a workload; there are {names} (--list says what they are)"))
            }),
        };
        done.unwrap_or_else(|words| suite::refused(&words))
    }
}

/// The error is for [`suite::refused`].
fn work(arguments: &WorkloadArguments, name: &str) -> Result<ExitCode, String> {
    let mut preset = presets::find(name, arguments.presets.as_deref())?;
    choose_limit(&mut preset, arguments)?;
    preset
        .vary(arguments.write_ratio, arguments.block)
        .map_err(|why| format!("-w and -b: '{name}': {why}"))?;
    if let Some(size) = arguments.size {
        preset.resize(size);
    }
    let places = places(arguments, name, &preset)?;
    let is_made = places.iter().all(Place::is_directory);
    if !is_made && arguments.size.is_some() {
        return Err("--size is for files that are made in a folder; what is there has its size".into());
    }
    if places.iter().any(|place| place.size_bytes() == Some(0)) {
        return Err("an empty file cannot be tested; name the folder, and files are made".into());
    }
    let file_bytes: Vec<u64> = match is_made {
        true => preset.file_bytes.clone(),
        false => places.iter().filter_map(Place::size_bytes).collect(),
    };
    let names: Vec<String> = (1..=preset.file_bytes.len()).map(|number| format!("data-{number}")).collect();
    let printed = Prepared { arguments, name, preset: &preset, file_bytes: &file_bytes, is_made };
    if arguments.print {
        let targets = match &places[..] {
            [place] if is_made => names.iter().map(|name| place.file(name)).collect(),
            _ => words_of(&places),
        };
        let plan = printed.plan(targets, PROFILE.into())?;
        check_printed(&plan)?;
        return Ok(print(&lines(&plan), ExitCode::Done));
    }
    if let ([place], Some(&largest)) = (&places[..], file_bytes.iter().max())
        && is_made
    {
        place.check_overwrite(&arguments.series.overwrite)?;
        place.check_room(largest, file_bytes.len() as u64, FILE_BYTES_MIN)?;
    }
    run_plan(&printed, &places, &names)
}

/// What the options of the search make of the preset's.
fn choose_limit(preset: &mut Preset, arguments: &WorkloadArguments) -> Result<(), String> {
    let option = match (arguments.limit, arguments.of) {
        (None, None) => return Ok(()),
        (Some(_), _) => "--limit",
        (None, Some(_)) => "--of",
    };
    let Load::Lines { lines, limit } = &mut preset.load else {
        return Err(format!(
            "{option} is for workloads that are written as one line; this one is a DiskSpd profile"
        ));
    };
    let Some(ms) = arguments.limit.or(limit.map(|limit| limit.ms)) else {
        return Err("--of: this workload has no limit; give one, in milliseconds: --limit MS".into());
    };
    if ms == 0.0 {
        *limit = None;
        return Ok(());
    }
    if lines.len() > 1 {
        return Err("--limit is for workloads of one line".into());
    }
    let of = arguments.of.or(limit.map(|limit| limit.of)).unwrap_or(Of::P99);
    *limit = Some(Limit::new(of, ms).map_err(|words| format!("--limit: {words}"))?);
    Ok(())
}

/// The targets that were named, as many as the workload needs.
fn places(arguments: &WorkloadArguments, name: &str, preset: &Preset) -> Result<Vec<Place>, String> {
    let here = [".".to_string()];
    let typed = if arguments.targets.is_empty() { &here[..] } else { &arguments.targets[..] };
    let places = typed.iter().map(|typed| Place::find(typed)).collect::<Result<Vec<Place>, _>>()?;
    let needed = preset.file_bytes.len();
    let has_folder = places.iter().any(Place::is_directory);
    if has_folder && places.len() > 1 {
        return Err("name one folder, in which all files are made, or files and devices only".into());
    }
    // Lines run on any number of targets.
    let fits = has_folder || places.len() == needed || matches!(preset.load, Load::Lines { .. });
    match fits {
        true => Ok(places),
        false => Err(format!(
            "'{name}' needs {needed} targets, and {} {}; name {needed} files or devices, or one folder",
            places.len(),
            if places.len() == 1 { "is named" } else { "are named" }
        )),
    }
}

fn words_of(places: &[Place]) -> Vec<String> {
    places.iter().map(Place::word).collect()
}

/// A workload that fits its targets.
struct Prepared<'a> {
    arguments: &'a WorkloadArguments,
    name: &'a str,
    preset: &'a Preset,
    file_bytes: &'a [u64],
    is_made: bool,
}

impl Prepared<'_> {
    /// On these targets, with the profile there. The error is one sentence.
    fn plan(&self, targets: Vec<String>, profile_path: String) -> Result<Plan, String> {
        let Prepared { arguments, preset, .. } = *self;
        let work = match &preset.load {
            Load::Lines { lines, limit } => self.lines(lines, *limit, &targets)?.0,
            Load::Profile(profile) => {
                let (profile, is_shrunk) = fitted(profile, self.file_bytes, self.is_made);
                if is_shrunk {
                    let sizes: Vec<String> =
                        self.file_bytes.iter().map(|&bytes| Size(bytes).to_string()).collect();
                    say_line(format_args!(
                        "note: the profile's regions are larger than {}: they are shrunk in proportion",
                        sizes.join(", ")
                    ));
                }
                Work::Profile { path: profile_path, profile: Box::new(profile) }
            }
        };
        let is_search = matches!(work, Work::Search { .. });
        let (warmup, duration) = match is_search {
            true => (RATE_WARMUP_S, RATE_DURATION_S),
            false => (WARMUP_S, DURATION_S),
        };
        Ok(Plan {
            name: self.name.to_string(),
            about: preset.about.clone(),
            source: preset.source.clone(),
            create: self.file_bytes.first().filter(|_| self.is_made).map(|bytes| format!("-c{bytes}")),
            targets,
            times: Times {
                warmup_s: arguments.warmup.unwrap_or(warmup),
                duration_s: arguments.duration.unwrap_or(duration),
                cooldown_s: arguments.cooldown,
            },
            work,
        })
    }

    /// Targets that are there and written, some perhaps several times. The error is as that of [`Prepared::lines`].
    fn written(&self, targets: &[String]) -> Result<Vec<String>, String> {
        let spans = match &self.preset.load {
            Load::Lines { lines, limit } => self.lines(lines, *limit, targets)?.1,
            Load::Profile(profile) => profile.time_spans.clone(),
        };
        if self.is_made {
            return Ok(Vec::new());
        }
        // Templates count from 1.
        let path = |target: &Target| match target.template_number() {
            Some(number) => targets.get(number as usize - 1).cloned(),
            None => Some(target.path.clone()),
        };
        let written = spans.iter().flat_map(|span| &span.targets).filter(|target| target.writes());
        Ok(written.filter_map(path).collect())
    }

    /// What lines are to do, and what each means. The error is one sentence or a refusal as `diskspd` shows it.
    fn lines(
        &self,
        lines: &[Vec<String>],
        limit: Option<Limit>,
        targets: &[String],
    ) -> Result<(Work, Vec<TimeSpan>), String> {
        let spans =
            lines.iter().map(|line| self.span(line, targets)).collect::<Result<Vec<TimeSpan>, String>>()?;
        let (Some(limit), [line], [span]) = (limit, lines, &spans[..]) else {
            return Ok((Work::Lines(lines.to_vec()), spans));
        };
        let shown = || line.join(" ");
        if !span.measure_latency {
            return Err(format!("'{}': {}: a search needs latencies; add -L", self.name, shown()));
        }
        if span.targets.iter().any(Target::is_rate_limited) {
            return Err(format!("'{}': {}: a search sets the rate itself; leave -g out", self.name, shown()));
        }
        // What cannot have a rate is told before anything is made.
        let with_rate: Vec<String> = line.iter().cloned().chain(["-g1i".to_string()]).collect();
        self.span(&with_rate, targets)?;
        let streams = match span.thread_count {
            0 => span.threads_total(),
            threads => u64::from(threads) * targets.len() as u64,
        };
        let outstanding = outstanding(span);
        Ok((Work::Search { line: line.clone(), limit, streams, outstanding }, spans))
    }

    /// What a line means to `diskspd`. The error is one sentence or the refusal as `diskspd` shows it.
    fn span(&self, line: &[String], targets: &[String]) -> Result<TimeSpan, String> {
        let words: Vec<String> = line.iter().chain(targets).cloned().collect();
        let invocation = parse(&words, "diskspd", &|| 0)
            .map_err(|refusal| format!("'{}' is no line of DiskSpd:\n{refusal}", self.name))?;
        let wrong = |why: &str| Err(format!("'{}': {}: {why}", self.name, line.join(" ")));
        let Invocation::Run(request) = invocation else { return wrong("this is no run") };
        if request.profile_file.is_some() {
            return wrong("-X does not belong here; a profile is a preset of its own: NAME.xml");
        }
        if let Some(why) = unwanted(&request) {
            return wrong(why);
        }
        if let Some(letter) = ['d', 'W', 'C'].into_iter().find(|&letter| has_number(line, letter)) {
            return wrong(&format!(
                "-{letter} does not belong in a preset: -d, -W and -C are options of truespd workload, the same for all loads"
            ));
        }
        match &request.profile.time_spans[..] {
            [span] if span.targets.len() != targets.len() => wrong("a line of a preset names no target"),
            [span] if span.targets.iter().any(|target| target.create_bytes.is_some()) => {
                wrong("-c does not belong here: files are made in a folder; write size = \"...\"")
            }
            [span] => Ok(span.clone()),
            _ => wrong("this is no run"),
        }
    }
}

/// I/Os of all threads that are outstanding at once, at most.
fn outstanding(span: &TimeSpan) -> u64 {
    let each = span.targets.iter().map(|target| u64::from(target.request_count));
    match span.thread_count {
        0 => {
            let own = span.targets.iter().map(|target| u64::from(target.threads_per_file));
            own.zip(each).map(|(threads, requests)| threads * requests).sum()
        }
        threads => u64::from(threads) * each.sum::<u64>(),
    }
}

/// What is printed could run, as far as that can be told without its targets. The error is a refusal as `diskspd` shows it.
fn check_printed(plan: &Plan) -> Result<(), String> {
    // No storage takes less past the page cache.
    const SECTOR: DirectAlignment =
        DirectAlignment { offset_bytes: 512, memory_bytes: 1, source: AlignmentSource::Assumed };
    let program = Program { name: "diskspd".into() };
    for step in plan.steps() {
        let profile = match &plan.work {
            Work::Profile { profile, .. } => {
                let mut profile = (**profile).clone();
                xml::substitute_templates(&mut profile, &plan.targets)
                    .map_err(|errors| errors.iter().map(|e| format!("ERROR: {e}\n")).collect::<String>())?;
                let findings = validate(&profile, true);
                if findings.iter().any(|finding| finding.severity == Severity::Error) {
                    let refusal = refuse_findings(&step.words, &program.name, &profile, &findings);
                    return Err(refusal.to_string());
                }
                profile
            }
            Work::Lines(_) | Work::Search { .. } => match parse(&step.words, &program.name, &|| 0) {
                Ok(Invocation::Run(request)) => request.profile,
                Ok(_) => continue,
                Err(refusal) => return Err(refusal.to_string()),
            },
        };
        let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
        let refusals: Vec<_> = targets
            .filter(|target| target.is_direct())
            .filter_map(|target| check_alignment(target, SECTOR).err())
            .collect();
        if !refusals.is_empty() {
            let words: Vec<OsString> = step.words.iter().map(OsString::from).collect();
            return Err(plan_refused(&program, &words, &refusals).0);
        }
    }
    Ok(())
}

/// What would run.
fn lines(plan: &Plan) -> String {
    let mut out = String::new();
    for step in plan.steps() {
        out.push_str(&format!("diskspd {}\n", shell_line(&step.words)));
    }
    match &plan.work {
        Work::Lines(_) => {}
        Work::Profile { path, profile } => {
            out.push_str(&format!("<!-- {path} -->\n{}", xml::write(profile, 0)));
        }
        Work::Search { limit, streams, .. } => out.push_str(&format!(
            "# then the same with -g<rate>i at rates up to what that reached, divided by {streams} (threads x \
             targets), until\n# the highest is found whose response times keep {} at {} ms\n",
            limit.of.word(),
            limit.ms
        )),
    }
    out
}

/// The error is for [`suite::refused`].
fn run_plan(prepared: &Prepared<'_>, places: &[Place], names: &[String]) -> Result<ExitCode, String> {
    let arguments = prepared.arguments;
    // What is wrong with the preset is told before anything is made.
    let targets = if prepared.is_made { names.to_vec() } else { words_of(places) };
    let written = prepared.written(&targets)?;
    let json = later_json(arguments.json.as_deref(), &words_of(places))?;
    let mut series = arguments.series.begin("workload", &json).map_err(|refusal| refusal.to_string())?;
    // Of all that is there, before the first line takes its time.
    let checked = written.iter().try_for_each(|path| series.check_write(path));
    let ready = checked.and_then(|()| scratch(&mut series, prepared, places, names));
    let plan = match ready {
        Ok(plan) => plan,
        Err(ended) => return Ok(end_early(series, ended)),
    };
    let (outcome, result) = plan.run(&mut series);
    let is_complete = result.is_ok();
    let code = series.end(result);
    if !outcome.has_figures() {
        return Ok(nothing_measured(code, is_complete));
    }
    let code = show(&outcome, &json, code);
    Ok(arguments.series.held_to_grade(is_complete, outcome.verdict.grade, code))
}

/// The plan on files of the scratch folder, and the profile in it.
fn scratch(
    series: &mut Series,
    prepared: &Prepared<'_>,
    places: &[Place],
    names: &[String],
) -> Result<Plan, Ended> {
    let files: Vec<&str> = names.iter().map(String::as_str).chain([PROFILE]).collect();
    let folder = places.first().map_or_else(std::env::temp_dir, Place::folder);
    let scratch = series.scratch(&folder, "workload", &files)?;
    let targets = match prepared.is_made {
        true => names.iter().map(|name| scratch.file(name)).collect(),
        false => words_of(places),
    };
    let plan = prepared.plan(targets, scratch.file(PROFILE)).map_err(refused)?;
    if let Work::Profile { path, profile } = &plan.work {
        std::fs::write(path, xml::write(profile, 0))
            .map_err(|error| refused(format!("'{path}': could not be written: {}", system_text(&error))))?;
    }
    Ok(plan)
}

/// The end of a workload that cannot begin, in a sentence.
fn refused(words: String) -> Ended {
    Refusal::new(RefusalKind::Target, words).into()
}

/// Prints what was measured.
fn show(outcome: &Outcome, json: &LaterOutputs, code: ExitCode) -> ExitCode {
    let shown = format!("{}\n{}", outcome.text(), series_verdict(&outcome.verdict, Style::of_stdout()));
    let code = print(&shown, code);
    suite::write_document(json, outcome, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outstanding_ios_are_those_of_all_threads() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            match parse(&words, "diskspd", &|| 0) {
                Ok(Invocation::Run(request)) => outstanding(&request.profile.time_spans[0]),
                other => panic!("{line}: {other:?}"),
            }
        };
        assert_eq!(of("-t4 -o8 a"), 32);
        assert_eq!(of("-t4 -o8 a b"), 64);
        assert_eq!(of("-F4 -o8 a b"), 64);
    }
}

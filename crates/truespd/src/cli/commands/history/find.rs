//! `truespd history list|show|stats`: kept documents found, listed, shown and counted.

use crate::ask::keeping::tag;
use crate::ask::table;
use crate::ask::values::{metric, one_of};
use crate::cli::commands::render::{FormatArgument, Read, SuiteTextArguments, document, rendered};
use crate::cli::show::history::{head, standing, statistics, table};
use crate::history::{Entry, Environment, Filter, Group, Journal, Rank, Store};
use clap::Args;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use truespd_core::result::Grade;
use truespd_core::result::json::indented;
use truespd_core::result::metrics::Metric;
use truespd_front::console::say_line;
use truespd_front::program::print;
use truespd_front::show::{Extent, Style, fitting_stdout, text};
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Fault, Refusal, RefusalKind};
use truespd_platform::sys::program::terminal_columns;
use truespd_platform::text::{grouped, shell_word};

pub(crate) struct HistoryFile {
    pub path: PathBuf,
}

impl HistoryFile {
    /// For reading; none when nothing was kept yet.
    pub fn open_to_read(&self) -> Result<Option<Store>, Refusal> {
        Ok(Store::open_to_read(&self.path)?)
    }

    /// For reading documents that are named.
    pub fn open_to_find(&self, word: &str) -> Result<Store, Refusal> {
        self.open_to_read()?.ok_or_else(|| nothing_kept(self, word))
    }

    /// For changing documents that are named: a file that is missing is not made.
    pub fn open_to_change(&self, word: &str) -> Result<Store, Refusal> {
        if !self.path.exists() {
            return Err(nothing_kept(self, word));
        }
        Ok(Store::open(&self.path)?)
    }

    /// What is told where nothing was kept yet.
    pub fn nothing_yet(&self) -> String {
        format!("the history '{}' is empty so far; every truespd run is kept in it", self.path.display())
    }
}

fn nothing_kept(file: &HistoryFile, word: &str) -> Refusal {
    let path = file.path.display();
    Refusal::new(RefusalKind::Input, format!("'{word}': there is no history '{path}'"))
        .hint("every truespd run makes one; another file is given with --store")
        .on(path.to_string())
}

pub(super) type CommandResult = Result<ExitCode, Fault>;

/// Which documents: those that all of these options name.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which results (all of these)")]
pub(crate) struct FilterArguments {
    /// Of this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// On a device whose name or model has this part, in upper or lower case
    #[arg(long, value_name = "PART")]
    device: Option<String>,
    /// On a device with this revision of its firmware, all of it
    #[arg(long, value_name = "REVISION")]
    firmware: Option<String>,
    /// Of a target whose path has this part
    #[arg(long, value_name = "PART")]
    target: Option<String>,
    /// Begun at this time or later
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,
    /// Begun before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Moment>,
    /// With this verdict: certified, suspect or invalid
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    verdict: Option<Grade>,
    /// Of this kind: result, or the name of a suite
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// With this label
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// With this tag; given several times, with all of them
    #[arg(long, value_name = "NAME", value_parser = tag)]
    tag: Vec<String>,
    /// Of the profile with this hash, or its first digits (suites have one for each test): `history list
    /// --json` and `history stats` show them
    #[arg(long, value_name = "HASH")]
    profile: Option<String>,
}

impl FilterArguments {
    pub fn filter(&self) -> Filter {
        Filter {
            host: self.host.clone(),
            device: self.device.clone(),
            firmware: self.firmware.clone(),
            target: self.target.clone(),
            since_s: self.since.map(|moment| moment.0),
            until_s: self.until.map(|moment| moment.0),
            grade: self.verdict,
            kind: self.kind.clone(),
            label: self.label.clone(),
            tags: self.tag.clone(),
            profile: self.profile.clone(),
            limit: None,
        }
    }

    /// The options as they could be typed; empty when there are none.
    pub fn words(&self) -> String {
        let grade = self.verdict.map(|grade| grade.word().to_string());
        let mut words = Vec::new();
        for (option, value) in [
            ("host", &self.host),
            ("device", &self.device),
            ("firmware", &self.firmware),
            ("target", &self.target),
            ("since", &self.since.map(Moment::words)),
            ("until", &self.until.map(Moment::words)),
            ("verdict", &grade),
            ("kind", &self.kind),
            ("label", &self.label),
            ("profile", &self.profile),
        ] {
            words.extend(value.iter().map(|value| format!("--{option} {}", shell_word(value))));
        }
        words.extend(self.tag.iter().map(|tag| format!("--tag {}", shell_word(tag))));
        words.join(" ")
    }
}

impl Moment {
    /// `2026-11-23T10:00:00`.
    fn words(self) -> String {
        let stamp = Timestamp::from_second(self.0);
        stamp.map_or_else(|_| self.0.to_string(), |stamp| stamp.strftime("%Y-%m-%dT%H:%M:%S").to_string())
    }
}

fn grade(text: &str) -> Result<Grade, Refusal> {
    one_of(text, Grade::ALL.map(|grade| (grade, grade.word())))
}

fn kind(text: &str) -> Result<String, Refusal> {
    let names = std::iter::once("result").chain(table::TABLE.iter().map(|row| row.name));
    one_of(text, names.map(|name| (name.to_string(), name)))
}

const LEGAL: &str =
    "legal: a time (2026-11-23, 2026-11-23T10:00, both UTC) or how long ago (90d, 12h, 2w, 6mo)";

/// A moment in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub i64);

fn moment(text: &str) -> Result<Moment, Refusal> {
    moment_of(text, Timestamp::now()).ok_or_else(|| Refusal::command_line(LEGAL))
}

/// Reads how long ago it was.
pub(super) fn ago(text: &str) -> Result<Moment, Refusal> {
    let moment = time_before(text, Timestamp::now()).map(Moment);
    moment.ok_or_else(|| Refusal::command_line("legal: an age: 90d, 12h, 2w, 6mo"))
}

fn moment_of(text: &str, now: Timestamp) -> Option<Moment> {
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Some(Moment(stamp.as_second()));
    }
    if let Ok(civil) = text.parse::<DateTime>()
        && let Ok(zoned) = civil.to_zoned(TimeZone::UTC)
    {
        return Some(Moment(zoned.timestamp().as_second()));
    }
    time_before(text, now).map(Moment)
}

fn time_before(text: &str, now: Timestamp) -> Option<i64> {
    // jiff reads a number without a unit as nothing, and `-2d` or `2d ago` as a time to come when it is taken away.
    let span: Span = text.parse().ok().filter(|span: &Span| span.is_positive())?;
    let before = now.to_zoned(TimeZone::UTC).checked_sub(span).ok()?;
    Some(before.timestamp().as_second())
}

/// Rows that are shown without `--limit`: a screen.
const ROWS: usize = 20;

/// List kept results, the newest first
///
/// Of a mark or an assessment the best of its tests are shown, of a workload and of find-max the highest rate. A
/// terminal shows as many columns as fit.
#[derive(Debug, Default, Args)]
pub(crate) struct ListArguments {
    /// The newest N of them; 0 is all [default: 20, with --json all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print them as JSON: a list with one entry for each, without the documents
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: FilterArguments,
}

pub(super) fn list(file: &HistoryFile, arguments: &ListArguments) -> CommandResult {
    let limit = match arguments.limit {
        None if arguments.json => None,
        None => Some(ROWS),
        Some(0) => None,
        Some(limit) => Some(limit),
    };
    let filter = Filter { limit, ..arguments.which.filter() };
    let store = file.open_to_read()?;
    let (entries, count): (Vec<Entry>, u64) = match &store {
        Some(store) => (store.list(&filter)?, store.count(&filter)?),
        None => (Vec::new(), 0),
    };
    if arguments.json {
        return Ok(print(&indented(&entries), ExitCode::Done));
    }
    if store.is_none() {
        say_line(format_args!("{}", file.nothing_yet()));
    } else if entries.is_empty() {
        say_line(format_args!("no kept result matches these filters"));
    }
    let code = print(&listed(&entries), ExitCode::Done);
    if count > entries.len() as u64 {
        say_line(format_args!("the newest {} of {}; --limit 0 lists all", entries.len(), grouped(count)));
    }
    Ok(code)
}

/// The list of results on standard output.
pub(super) fn listed(entries: &[Entry]) -> String {
    fitting_stdout(table(entries, terminal_columns(io::stdout()), Style::of_stdout()))
}

/// Show a kept result: what is known of it, its text and its verdict
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Id, beginning of an id, or label [default: the newest result]
    #[arg(value_name = "DOCUMENT")]
    document: Option<String>,
    /// Print the document itself, byte for byte as it was kept
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    format: FormatArgument,
    #[command(flatten)]
    suite: SuiteTextArguments,
}

pub(super) fn show(file: &HistoryFile, arguments: &ShowArguments) -> CommandResult {
    let store = match &arguments.document {
        Some(word) => Some(file.open_to_find(word)?),
        None => file.open_to_read()?,
    };
    let entry = match (&store, &arguments.document) {
        (Some(store), Some(word)) => Some(store.find_one(word)?),
        (Some(store), None) => store.list(&Filter { limit: Some(1), ..Filter::default() })?.pop(),
        (None, _) => None,
    };
    let (Some(store), Some(entry)) = (store, entry) else {
        say_line(format_args!("{}", file.nothing_yet()));
        return Ok(ExitCode::Done);
    };
    let bytes = store.document(&entry)?;
    if arguments.json {
        // Documents are JSON, and so UTF-8: other bytes would not have been kept.
        return Ok(print(&String::from_utf8_lossy(&bytes), ExitCode::Done));
    }
    let path = Path::new(&entry.id);
    let body = rendered(&arguments.format, &arguments.suite, path, &bytes)?;
    if arguments.format.is_given() {
        return Ok(print(&body, ExitCode::Done));
    }
    let read = document(path, &bytes)?;
    let style = Style::of_stdout();
    let mut out = head(&entry, style);
    out.push('\n');
    out.push_str(&body);
    if let Read::Result(document) = &read
        && let Some(verdict) = &document.verdict
    {
        let gap = if body.ends_with('\n') { "" } else { "\n" };
        out.push_str(&format!("{gap}\n{}", text(verdict, "verdict", Extent::Findings, style)));
    }
    Ok(print(&out, ExitCode::Done))
}

/// Show how a figure is distributed over the results of each environment, and where one of them stands
///
/// Each profile is told apart: results of different tests are no distribution. Each test of a suite counts by
/// itself, with the median of its runs. Runs of several time spans have no such figures.
#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// What makes an environment: host, model, firmware, target, label, revision
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "host,model", value_parser = environment)]
    by: Vec<Environment>,
    /// Figure: iops, bytes, latency (mean), p50, p99, ...
    #[arg(long, default_value = "iops", value_parser = metric)]
    metric: Metric,
    /// Tell where this result stands among the others with its profile in its environment
    #[arg(long, value_name = "DOCUMENT")]
    of: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    which: FilterArguments,
}

#[derive(Debug, Serialize)]
struct StatisticsDocument<'t> {
    metric: &'static str,
    by: &'t [Environment],
    groups: &'t [Group],
    #[serde(skip_serializing_if = "<[Rank]>::is_empty")]
    of: &'t [Rank],
}

fn environment(text: &str) -> Result<Environment, Refusal> {
    one_of(text, Environment::ALL)
}

pub(super) fn stats(file: &HistoryFile, arguments: &StatsArguments) -> CommandResult {
    let (by, metric) = (&arguments.by, arguments.metric);
    let store = match &arguments.of {
        Some(word) => Some(file.open_to_find(word)?),
        None => file.open_to_read()?,
    };
    let mut groups = match &store {
        Some(store) => store.statistics(&arguments.which.filter(), by, metric)?,
        None => Vec::new(),
    };
    let mut ranks = Vec::new();
    if let (Some(word), Some(store)) = (&arguments.of, &store) {
        let entry = store.find_one(word)?;
        ranks = Rank::of(&entry, &groups, metric);
        if ranks.is_empty() {
            let (id, figure) = (&entry.id, metric.words(false));
            let words = format!("{id} has no figure for {figure}, or is none of these results");
            return Err(Failure::new(FailureKind::Figure, words).into());
        }
        groups.retain(|group| group.has(&entry));
    }
    if arguments.json {
        let document = StatisticsDocument { metric: metric.id(), by, groups: &groups, of: &ranks };
        return Ok(print(&indented(&document), ExitCode::Done));
    }
    if let Some(store) = &store {
        match store.journal() {
            Journal::WriteAhead => say_line(format_args!("history: {}", store.path().display())),
            unusual => {
                say_line(format_args!("history: {}; journal: {}", store.path().display(), unusual.words()))
            }
        }
    } else {
        say_line(format_args!("{}", file.nothing_yet()));
    }
    let mut text = statistics(&groups, by, metric, terminal_columns(io::stdout()));
    text.push_str(&standing(&ranks, metric));
    Ok(print(&fitting_stdout(text), ExitCode::Done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_type_them() {
        let now: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        for (text, meant) in [
            ("2026-11-23", "2026-11-23T00:00:00Z"),
            ("2026-11-23T10:30", "2026-11-23T10:30:00Z"),
            ("2026-11-23 10:30", "2026-11-23T10:30:00Z"),
            ("2026-11-23T10:30:00+02:00", "2026-11-23T08:30:00Z"),
            ("90d", "2026-08-25T12:00:00Z"),
            ("12h", "2026-11-23T00:00:00Z"),
            ("2w", "2026-11-09T12:00:00Z"),
            ("1mo", "2026-10-23T12:00:00Z"),
        ] {
            let meant: Timestamp = meant.parse().unwrap();
            assert_eq!(moment_of(text, now), Some(Moment(meant.as_second())), "{text}");
        }
        for none in ["", "90", "-2d", "yesterday", "2026-13-01", "2d ago", "99999999999d"] {
            assert_eq!(moment_of(none, now), None, "{none}");
        }
        assert!(time_before("2026-11-23", now).is_none());
    }
}

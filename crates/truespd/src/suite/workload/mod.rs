//! `truespd workload`: named loads, and the highest rate that keeps a latency limit.

pub mod preset;
pub mod sweep;
#[cfg(test)]
mod tests;

use crate::suite::{Advice, Ahead, Draft, Ended, Known, Runner, SuiteDocument, run_steps};
use crate::suite::{RanOn, Shown};
use crate::suite::{SeriesVerdict, judged, word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
pub use sweep::Point;
use sweep::{LatencyLimit, Next, RUNS_USUAL};
use truespd_core::profile;
use truespd_core::profile::{Profile, Release, Size, Target, Throughput, TimeSpan};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{
    Direction, DirectionSummary, Document, Grade, LatencySummary, Measured, Part, Summary, TargetResult,
    ThreadResult, TimeSpanResult,
};
use truespd_core::text::table::{Column, Room, fitted};
use truespd_core::text::{duration_ns, grouped, number, printable, rate};

/// Pause between the run without a limit and the first rate, in which the storage finishes what that run wrote.
const SETTLE: Duration = Duration::from_secs(5);

impl Plan {
    /// The lines that run first: all, but those of a search that follow from what is found.
    pub fn steps(&self) -> Vec<Draft> {
        match &self.work {
            Work::Lines(lines) => {
                let mut steps = Vec::new();
                for (index, line) in lines.iter().enumerate() {
                    let name = match lines.len() {
                        1 => self.name.clone(),
                        count => format!("{}, {} of {count}", self.name, index + 1),
                    };
                    steps.push(self.line(name, line, None));
                }
                steps
            }
            Work::Profile { path, profile } => {
                let mut words = Vec::new();
                if profile.release != Release::default() {
                    words.extend(["--compat", profile.release.word()].map(str::to_string));
                }
                words.push(format!("-X{path}"));
                words.extend(self.times.words());
                words.extend(self.targets.iter().cloned());
                let seconds = self.times.seconds() * profile.time_spans.len() as f64;
                vec![Draft { name: self.name.clone(), words, seconds, ..Draft::default() }]
            }
            Work::Search { line, .. } => {
                vec![self.line(format!("{} without a limit", self.name), line, None)]
            }
        }
    }

    fn line(&self, name: String, line: &[String], per_stream: Option<u64>) -> Draft {
        let mut words: Vec<String> = self.create.iter().cloned().collect();
        words.extend(line.iter().cloned());
        words.extend(per_stream.map(|rate| format!("-g{rate}i")));
        words.extend(self.times.words());
        words.extend(self.targets.iter().cloned());
        Draft { name, words, seconds: self.times.seconds(), ..Draft::default() }
    }

    /// Runs it. What is done when it ends early is in the outcome.
    pub fn run(&self, runner: &mut dyn Runner) -> (Outcome, Result<(), Ended>) {
        let mut outcome = Outcome::begin(&self.name, &self.about, &self.source);
        let steps = self.steps();
        let mut result = run_steps(
            &steps,
            runner,
            |rest| self.ahead(rest),
            |place, document| {
                outcome.take(&steps[place], document);
                None
            },
        );
        let unlimited = outcome.runs.first().and_then(|run| run.total_iops);
        if let (Ok(()), Work::Search { line, limit, streams, outstanding }, Some(unlimited_iops)) =
            (&result, &self.work, unlimited)
        {
            let mut search = Search {
                limit: *limit,
                streams: *streams,
                outstanding: *outstanding,
                unlimited_iops,
                points: Vec::new(),
                end: None,
            };
            result = self.search(line, &mut search, &mut outcome, runner);
            outcome.search = Some(search);
        }
        (outcome, result)
    }

    fn ahead(&self, rest: &[Draft]) -> Ahead {
        if !matches!(self.work, Work::Search { .. }) {
            return Ahead::exactly(rest);
        }
        let search = self.search_ahead(0);
        Ahead { seconds: search.seconds + SETTLE.as_secs_f64(), ..search }
    }

    /// What a search usually still takes after `done` rates.
    fn search_ahead(&self, done: usize) -> Ahead {
        let steps = (RUNS_USUAL - 1).saturating_sub(done).max(1);
        Ahead { steps, seconds: steps as f64 * self.times.seconds(), known: Known::Usually }
    }

    fn search(
        &self,
        line: &[String],
        search: &mut Search,
        outcome: &mut Outcome,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        let (limit, streams) = (search.limit, search.streams);
        let unlimited = search.unlimited_iops / streams.max(1) as f64;
        runner.ahead(self.search_ahead(0));
        runner.pause(SETTLE)?;
        loop {
            let rate = match sweep::next(unlimited, &search.points) {
                Next::Try(rate) => rate,
                end => {
                    search.end = Some(SearchEnd::of(end, limit, &search.points));
                    return Ok(());
                }
            };
            runner.ahead(self.search_ahead(search.points.len() + 1));
            let name = format!("{} at {} IOPS", self.name, rate.saturating_mul(streams));
            let step = self.line(name.clone(), line, Some(rate)).read(runner)?;
            let document = runner.run(&step)?;
            let grade = outcome.judge(&name, &document);
            let Some(point) = point(limit, rate, streams, &document, grade) else {
                search.end = Some(SearchEnd::NoIo(rate));
                return Ok(());
            };
            search.points.push(point);
        }
    }
}

/// What a run at a rate reached; none when it did no I/O at all.
fn point(
    limit: LatencyLimit,
    rate: u64,
    streams: u64,
    document: &Document,
    grade: Option<Grade>,
) -> Option<Point> {
    let total = Summary::of(document.measured().next()?).total;
    let reached = Metric::IOPS.of_sum(&total, Since::Wanted)?;
    Some(Point::of(limit, rate, streams, reached, total.response.as_ref()?, grade))
}

/// Starting and ending a run, roughly, in seconds.
const AROUND_S: f64 = 0.5;

/// Measured times that were asked for, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub warmup_s: u32,
    pub duration_s: u32,
    pub cooldown_s: u32,
}

impl Times {
    fn words(self) -> [String; 3] {
        [format!("-W{}", self.warmup_s), format!("-d{}", self.duration_s), format!("-C{}", self.cooldown_s)]
    }

    fn seconds(self) -> f64 {
        f64::from(self.warmup_s) + f64::from(self.duration_s) + f64::from(self.cooldown_s) + AROUND_S
    }
}

/// A workload on its targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Words of `-c` for lines whose files are to be made; the files of a line are equally large.
    pub create: Option<String>,
    /// Files or devices, as words of the command line.
    pub targets: Vec<String>,
    pub times: Times,
    pub work: Work,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Lines(Vec<Vec<String>>),
    /// A profile in a file, for `-X`.
    Profile {
        path: String,
        profile: Box<Profile>,
    },
    /// A line at rates, until the highest that keeps the limit is found.
    Search {
        line: Vec<String>,
        limit: LatencyLimit,
        /// Threads times targets: what a rate per thread is multiplied with.
        streams: u64,
        /// I/Os of all threads that are outstanding at once, at most.
        outstanding: u64,
    },
}

/// Columns of a run's table.
const LATENCIES: [Metric; 4] = [Metric::MEAN, Metric::P50, Metric::P99, Metric::MAX];
/// Columns of a bar whose middle is the limit.
const BAR_COLUMNS: usize = 20;

/// Reads or writes of one target of a run, or all of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// What was done, in a few words.
    pub what: String,
    /// `read`, `write` or `total`.
    pub direction: String,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Latencies in nanoseconds; response times from the intended start where there was a rate, as `is_response` says.
    pub latency: Option<LatencySummary>,
    /// The latencies are response times.
    pub is_response: bool,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// DiskSpd's line.
    pub line: Vec<String>,
    /// Hash of its profile, by which the history knows the same test; none in documents from before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What was reached; one group per time span and target.
    pub rows: Vec<Row>,
    /// I/Os per second of the first time span.
    pub total_iops: Option<f64>,
    /// Mean use of all processors over the run, in percent.
    pub cpu_usage_percent: Option<f64>,
    /// Its verdict.
    pub grade: Option<Grade>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// The highest rate that kept the limit, in two runs or more; per stream.
    Found(u64),
    /// Every rate kept it: not the limit ends the search, but what is outstanding at once. The highest rate
    /// that was reached, in two runs or more; per stream.
    AllKeepIt(u64),
    /// No rate kept it.
    NoneKeepsIt,
    /// The storage did not answer twice alike.
    GaveUp,
    /// No I/O was completed at this rate; per stream.
    NoIo(u64),
}

impl SearchEnd {
    /// How a search over these points ended.
    fn of(next: Next, limit: LatencyLimit, points: &[Point]) -> Self {
        match next {
            // A rate that was not reached broke no limit. Of the answer itself, most runs kept it.
            Next::Found(rate) if points.iter().any(|p| p.per_stream > rate && p.held_ms > limit.ms) => {
                SearchEnd::Found(rate)
            }
            Next::Found(rate) => SearchEnd::AllKeepIt(rate),
            Next::None => SearchEnd::NoneKeepsIt,
            Next::Try(_) | Next::GaveUp => SearchEnd::GaveUp,
        }
    }
}

/// Rates that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// What had to be kept.
    pub limit: LatencyLimit,
    /// Threads times targets.
    pub streams: u64,
    /// I/Os of all threads that are outstanding at once, at most; 0 in documents from before this was noted.
    #[serde(default)]
    pub outstanding: u64,
    /// I/Os per second without a limit.
    pub unlimited_iops: f64,
    /// In the order of trying.
    pub points: Vec<Point>,
    /// How it ended; none when it was stopped.
    pub end: Option<SearchEnd>,
}

/// What a workload reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Version of the tool.
    pub tool_version: String,
    /// Name of the workload.
    pub workload: String,
    /// What it is.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Runs, but those of the search.
    pub runs: Vec<Run>,
    /// The search for a rate.
    pub search: Option<Search>,
    /// What the verdicts of all runs say, those of the search with them.
    pub verdict: SeriesVerdict,
    /// Where its runs measured, and on what.
    #[serde(default, skip_serializing_if = "RanOn::is_unknown")]
    pub ran_on: RanOn,
}

impl DocumentKind for Outcome {
    const FORMAT: &'static str = "truespd-workload";
    const VERSION_ABOUT: &'static str = "Version of this layout: 1. Within a version members are only added, and \
        each of those may be missing.";
    const MEMBER: &'static str = "outcome";
    const MEMBER_ABOUT: &'static str = "What was reached.";
    const TITLE: &'static str = "TrueSpd workload, version 1";
    const ABOUT: &'static str =
        "An outcome as JSON, version 1. Units are at the end of names: `_ms`, `_ns`, `_iops`.";
    const NAME: &'static str = "result of truespd workload";
}

impl SuiteDocument for Outcome {
    fn title(&self) -> String {
        format!("Workload {}{}", self.workload, self.ran_on.words())
    }

    fn has_figures(&self) -> bool {
        self.runs.iter().any(|run| !run.rows.is_empty())
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn ranks(&self) -> u32 {
        self.ran_on.ranks
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for run in &self.runs {
            parts.extend(run.rows.iter().filter_map(|row| row.part(run)));
        }
        parts.extend(self.found());
        Part::apart(parts)
    }

    fn text(&self, shown: Shown) -> String {
        format!("{}\n{}", self.tables(shown.style.columns), self.verdict.shown(shown))
    }
}

impl Row {
    fn part(&self, run: &Run) -> Option<Part> {
        let name = format!("{}, {}, {}", run.name, self.what, self.direction);
        let mut figures = vec![(Metric::IOPS, Some(self.iops)), (Metric::BYTES, Some(self.bytes_per_s))];
        if let Some(latency) = &self.latency {
            figures.extend(Metric::all().map(|metric| (metric, metric.of_latencies(latency))));
        }
        Part::of(name, run.profile.as_deref(), &run.line, figures)
    }
}

impl Outcome {
    /// The highest rate within a limit, of a search that found it.
    fn found(&self) -> Option<Part> {
        let (search, first) = (self.search.as_ref()?, self.runs.first()?);
        let (SearchEnd::Found(rate) | SearchEnd::AllKeepIt(rate)) = search.end? else { return None };
        let LatencyLimit { of, ms } = search.limit;
        let name = format!("{}, highest rate with {} up to {ms} ms", self.workload, of.word());
        let iops = rate.saturating_mul(search.streams) as f64;
        Part::of(name, first.profile.as_deref(), &first.line, [(Metric::IOPS, Some(iops))])
    }

    fn begin(workload: &str, about: &str, source: &str) -> Self {
        Outcome {
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            workload: workload.to_string(),
            about: about.to_string(),
            source: source.to_string(),
            runs: Vec::new(),
            search: None,
            verdict: SeriesVerdict::default(),
            ran_on: RanOn::default(),
        }
    }

    fn take(&mut self, step: &Draft, document: &Document) {
        let grade = self.judge(&step.name, document);
        let mut rows = Vec::new();
        let mut first = None;
        let spans = document.profile.time_spans.iter().zip(&document.time_spans);
        for (index, (span, result)) in spans.enumerate() {
            let TimeSpanResult::Measured(measured) = result else { continue };
            let several = document.time_spans.len() > 1;
            let prefix = if several { format!("time span {}, ", index + 1) } else { String::new() };
            rows.extend(rows_of(span, measured, &prefix));
            first.get_or_insert_with(|| Summary::of(measured));
        }
        self.runs.push(Run {
            name: step.name.clone(),
            line: step.words.clone(),
            profile: Some(profile::hash(&document.profile)),
            rows,
            total_iops: first.as_ref().and_then(|first| Metric::IOPS.of_sum(&first.total, Since::Issued)),
            cpu_usage_percent: first.map(|first| first.cpu_usage_percent),
            grade,
        });
    }

    /// Takes the verdict of a run.
    fn judge(&mut self, name: &str, document: &Document) -> Option<Grade> {
        let (grade, findings) = judged(document, |_| false);
        self.verdict.take(name, grade, findings);
        self.verdict.advise(ADVICE);
        grade
    }

    /// The tables in so many columns, without the verdict.
    pub fn tables(&self, columns: usize) -> String {
        // A person's preset may hold anything.
        let mut out = format!("{}: {}\n", printable(&self.workload), printable(&self.about));
        if !self.source.is_empty() {
            out.push_str(&format!("source: {}\n", printable(&self.source)));
        }
        for run in &self.runs {
            out.push('\n');
            out.push_str(&run_text(run, columns));
        }
        if let Some(search) = &self.search {
            out.push('\n');
            out.push_str(&search_text(search, columns));
        }
        out
    }
}

/// Advice in options of this suite.
const ADVICE: Advice = &[
    (&["working-set"], "use --size 20G, or another size much larger than the caches"),
    (
        &["generator-bound"],
        "stop other programs, or write a preset of your own with fewer threads (-t), or with -n",
    ),
];

/// Reads and writes of each target that is known, in the profile's order, and the sum unless it is the only row.
fn rows_of(span: &TimeSpan, measured: &Measured, prefix: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        let Some(parts) = results_of(span, measured, index) else { continue };
        let what = format!("{prefix}{}", words_of(target));
        if target.reads() {
            let reads = parts.iter().map(|part| &part.read);
            rows.push(row(&what, "read", &sum(reads, measured.test_time_s)));
        }
        if target.writes() {
            let writes = parts.iter().map(|part| &part.write);
            rows.push(row(&what, "write", &sum(writes, measured.test_time_s)));
        }
    }
    if rows.len() != 1 {
        let mut total = Summary::of(measured).total;
        // With targets with and without a rate, the sum would have the response times of only some I/Os.
        if rows.is_empty() || !rows.iter().all(|row: &Row| row.is_response) {
            total.response = None;
        }
        rows.push(row(&format!("{prefix}all"), "total", &total));
    }
    rows
}

/// What the threads on the profile's target `index` did, on all ranks; none where a sum does not tell any more, because
/// the threads of its results were added up and several targets have one path.
fn results_of<'a>(span: &TimeSpan, measured: &'a Measured, index: usize) -> Option<Vec<&'a TargetResult>> {
    let mut found = Vec::new();
    // The threads of each rank follow each other.
    for threads in measured.threads.chunk_by(|a, b| a.source == b.source) {
        found.extend(results_of_rank(span, threads, index)?);
    }
    Some(found)
}

fn results_of_rank<'a>(
    span: &TimeSpan,
    threads: &'a [ThreadResult],
    index: usize,
) -> Option<Vec<&'a TargetResult>> {
    let target = &span.targets[index];
    let before: u32 = span.targets[..index].iter().map(|target| target.threads_per_file).sum();
    let all: u32 = span.targets.iter().map(|target| target.threads_per_file).sum();
    if span.thread_count == 0 && threads.len() == all as usize {
        // Threads of their own: those of the first target come first.
        let own = threads.iter().skip(before as usize).take(target.threads_per_file as usize);
        return Some(own.filter_map(|thread| thread.targets.first()).collect());
    }
    // The targets of each rank stand in the order of the profile, whatever they are called there.
    if threads.iter().all(|thread| thread.targets.len() == span.targets.len()) {
        return Some(threads.iter().map(|thread| &thread.targets[index]).collect());
    }
    if threads.len() != span.thread_count as usize {
        return None;
    }
    let earlier = span.targets[..index].iter().filter(|other| other.path == target.path).count();
    let mut found = Vec::new();
    for thread in threads {
        found.extend(thread.targets.iter().filter(|result| result.path == target.path).nth(earlier));
    }
    Some(found)
}

fn sum<'a>(parts: impl Iterator<Item = &'a Direction>, test_time_s: f64) -> DirectionSummary {
    let mut sum = Direction::default();
    for part in parts {
        sum.ios += part.ios;
        sum.bytes += part.bytes;
        for (to, from) in [(&mut sum.latency, &part.latency), (&mut sum.response, &part.response)] {
            if let Some(from) = from {
                to.get_or_insert_default().merge(from);
            }
        }
    }
    DirectionSummary::of(&sum, test_time_s)
}

fn row(what: &str, direction: &str, summary: &DirectionSummary) -> Row {
    let is_response = summary.response.is_some();
    let [iops, bytes_per_s] =
        [Metric::IOPS, Metric::BYTES].map(|metric| metric.of_sum(summary, Since::Issued).unwrap_or_default());
    Row {
        what: what.to_string(),
        direction: direction.to_string(),
        iops,
        bytes_per_s,
        latency: if is_response { summary.response.clone() } else { summary.latency.clone() },
        is_response,
    }
}

/// `8KiB random, 30 % writes, 1500/s a thread`
fn words_of(target: &Target) -> String {
    let pattern = match target.random_percent {
        0 if target.interlocked => "sequential, shared".to_string(),
        0 => "sequential".to_string(),
        100 => "random".to_string(),
        percent => format!("{percent} % random"),
    };
    let rate = match target.throughput {
        Some(Throughput::Iops(n)) if n > 0 => format!(", {n}/s a thread"),
        Some(Throughput::BytesPerMs(n)) if n > 0 => format!(", {n} bytes/ms a thread"),
        _ => String::new(),
    };
    format!("{} {pattern}{rate}", Size(target.block_bytes))
}

/// A column's cells, one for each row.
fn cells<R>(rows: &[R], cell: fn(&R) -> String) -> Vec<String> {
    rows.iter().map(cell).collect()
}

/// A run's figures, in so many columns of a terminal.
fn run_text(run: &Run, columns: usize) -> String {
    let cpu =
        run.cpu_usage_percent.map_or(String::new(), |cpu| format!(", processors {:.0} % in use", cpu + 0.0));
    let mut out = format!("{}: {}{cpu}\n", printable(&run.name), word(run.grade));
    let mut table = vec![
        Column::words("", cells(&run.rows, |row| row.what.clone()), Room::Start(16, 1)),
        Column::words("", cells(&run.rows, |row| row.direction.clone()), Room::Stays),
        Column::numbers("IOPS", cells(&run.rows, |row| number(row.iops)), Room::Stays),
        Column::numbers("throughput", cells(&run.rows, |row| rate(row.bytes_per_s)), Room::Goes(2)),
    ];
    for ((head, room), metric) in
        [("mean", Room::Stays), ("p50", Room::Goes(4)), ("p99", Room::Stays), ("longest", Room::Goes(3))]
            .into_iter()
            .zip(LATENCIES)
    {
        let mut times = Vec::new();
        for row in &run.rows {
            let ns = row.latency.as_ref().and_then(|latency| metric.of_latencies(latency));
            let star = if row.is_response && ns.is_some() { "*" } else { "" };
            times.push(ns.map_or("-".to_string(), duration_ns) + star);
        }
        table.push(Column::numbers(head, times, room));
    }
    if run.grade == Some(Grade::Invalid) {
        table.push(Column::words("", vec!["INVALID".into(); run.rows.len()], Room::Stays));
    }
    out.push_str(&fitted(table, Some(columns)));
    if run.rows.iter().any(|row| row.is_response) {
        out.push_str("* response time, from the time for which the rate scheduled the I/O\n");
    }
    out
}

/// A column of times: its head, what becomes of it where there is no room, and milliseconds.
type TimeColumn = (&'static str, Room, fn(&Point) -> f64);

/// The rates that were tried, and the answer.
fn search_text(search: &Search, columns: usize) -> String {
    let LatencyLimit { of, ms: limit_ms } = search.limit;
    let of = of.word();
    let points = search.by_rate();
    let mut table = vec![
        Column::numbers("offered IOPS", cells(&points, |point| number(point.offered_iops)), Room::Stays),
        Column::numbers("reached", cells(&points, |point| number(point.reached_iops)), Room::Stays),
    ];
    let times: [TimeColumn; 5] = [
        ("mean", Room::Goes(3), |point| point.mean_ms),
        ("p50", Room::Goes(4), |point| point.p50_ms),
        ("p95", Room::Goes(2), |point| point.p95_ms),
        ("p99", Room::Stays, |point| point.p99_ms),
        ("longest", Room::Goes(1), |point| point.max_ms),
    ];
    for (head, room, ms) in times {
        table.push(Column::numbers(
            head,
            points.iter().map(|point| duration_ns(ms(point) * 1e6)).collect(),
            room,
        ));
    }
    let kept = cells(&points, |point| if point.is_within { "yes" } else { "no" }.to_string());
    table.push(Column::words("kept", kept, Room::Stays));
    table.push(Column::words("verdict", cells(&points, |point| word(point.grade).to_string()), Room::Stays));
    let bars = points.iter().map(|point| bar(point.held_ms, limit_ms)).collect();
    table.push(Column::words(format!("{of}, up to twice the limit"), bars, Room::Goes(5)));
    let mut out = format!("limit: {of} response time at most {limit_ms} ms, and the rate reached\n");
    out.push_str(&fitted(table, Some(columns)));
    out + &search.answer()
}

/// A bar whose middle is the limit; `>` at its end when it goes beyond twice the limit.
fn bar(value: f64, limit: f64) -> String {
    let half = BAR_COLUMNS / 2;
    let length = ((value / limit * half as f64).round() as usize).clamp(1, BAR_COLUMNS);
    let mut bar = String::new();
    for column in 0..BAR_COLUMNS {
        bar.push(match column {
            column if column == half => '|',
            column if column < length => '#',
            _ => ' ',
        });
    }
    if value > limit * 2.0 {
        bar.push('>');
    }
    bar.trim_end().to_string()
}

impl Search {
    /// What was tried, from the lowest rate to the highest.
    pub fn by_rate(&self) -> Vec<&Point> {
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by_key(|point| point.per_stream);
        points
    }

    /// How it ended, for people; with a line end.
    pub fn answer(&self) -> String {
        let LatencyLimit { of, ms } = self.limit;
        let of = of.word();
        match self.end {
            Some(SearchEnd::Found(rate)) => {
                format!("highest rate within the limit: {}\n", self.found_words(rate))
            }
            Some(SearchEnd::AllKeepIt(rate)) => format!(
                "highest rate within the limit: {}\n{}: the {} outstanding I/Os are what ends the search, not the \
                 limit; a preset of your own with a larger -o can reach more\n",
                self.found_words(rate),
                // The table says "no" in both cases.
                if self.points.iter().all(|point| point.is_reached) {
                    "the limit was kept at every rate tried"
                } else {
                    "no higher rate broke the limit, but some were not reached"
                },
                self.outstanding
            ),
            Some(SearchEnd::NoneKeepsIt) => match self.points.iter().min_by_key(|point| point.per_stream) {
                Some(point) => format!(
                    "no rate keeps {of} within {ms} ms: at {} IOPS, {of} is {}\n",
                    number(point.offered_iops),
                    duration_ns(point.held_ms * 1e6)
                ),
                None => format!(
                    "no rate could be tried: {} IOPS without a limit are less than one for each of {} (threads x \
                 targets); use a preset of your own with fewer threads\n",
                    number(self.unlimited_iops),
                    self.streams
                ),
            },
            Some(SearchEnd::GaveUp) => format!(
                "undecided after {} runs: runs at the same rate disagree; longer runs (-d) may help{}\n",
                self.points.len(),
                self.best_so_far()
            ),
            Some(SearchEnd::NoIo(rate)) => format!(
                "undecided: no I/O was completed in the run at {} IOPS; longer runs (-d) may help{}\n",
                grouped(rate.saturating_mul(self.streams)),
                self.best_so_far()
            ),
            None => format!("stopped before it was decided{}\n", self.best_so_far()),
        }
    }

    /// The answer: `1,000 IOPS (p99 2 ms, ...), 50 % of ...`
    fn found_words(&self, rate: u64) -> String {
        // The latest run at this rate that kept the limit; at a rate that is found, most did.
        let run = self.points.iter().rfind(|point| point.per_stream == rate && point.is_within);
        let (held, grade) = run.map_or((0.0, None), |run| (run.held_ms, run.grade));
        let iops = rate.saturating_mul(self.streams);
        format!(
            "{} IOPS ({} {}, kept in two runs or more), {:.0} % of the {} IOPS without a limit{}",
            grouped(iops),
            self.limit.of.word(),
            duration_ns(held * 1e6),
            iops as f64 / self.unlimited_iops * 100.0,
            number(self.unlimited_iops),
            if grade == Some(Grade::Invalid) { " (INVALID: see the verdict)" } else { "" }
        )
    }

    /// What is known when there is no answer: `; the highest rate that kept the limit so far: ...`
    fn best_so_far(&self) -> String {
        let Some(rate) = sweep::best(&self.points) else {
            let words = if self.points.is_empty() { "" } else { "; no rate kept the limit so far" };
            return words.into();
        };
        let (kept, broken) = sweep::runs_of(&self.points, rate);
        format!(
            "; the highest rate that kept the limit so far: {} IOPS (in {kept} of {} runs)",
            rate.saturating_mul(self.streams),
            kept + broken
        )
    }
}

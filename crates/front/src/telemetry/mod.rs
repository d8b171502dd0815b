//! What other programs are told of a run while it goes on: a file for Prometheus (`--metrics`) and lines of JSON
//! (`--events`). What is told comes from the thread that tells the progress, so no worker waits for a slow reader.

mod page;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use diskspd::request::Output;
use diskspd::run::outputs::{Lines, OutputError, Problem, open_refreshed, refuse_clashes};
use diskspd::run::unfinished::Refreshed;
use jiff::Timestamp;
use page::Page;
use serde::{Deserialize, Serialize};
use truespd_core::load;
use truespd_core::load::live::{Counted, DiskRates, HostRates, Phase, Progress};
use truespd_core::result::{DirectionSummary, Document, FindingGrade, Grade, Summary, TimeSpanResult};
use truespd_platform::machine::host::unix_time_ns;
use truespd_platform::text::{printable_json, visible_json};

/// How often the progress is told.
const EVERY: Duration = Duration::from_secs(1);
/// How far from its instant the progress may come.
const TOLERANCE: Duration = Duration::from_millis(100);
/// Name of the option of the file for Prometheus.
const METRICS: &str = "metrics";
/// Name of the option of the lines.
const EVENTS: &str = "events";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// `--metrics`: the path of the file.
    pub metrics: Option<String>,
    /// `--events`: the path of a file, a pipe or a descriptor.
    pub events: Option<String>,
}

/// Hears each line of the events as it happens, with its line end. Called from the threads of the run's
/// progress: it must not wait.
pub type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// Tells it. Errors after the beginning end the telling, not the run: [`Telemetry::end`] returns them.
#[derive(Default)]
pub struct Telemetry {
    /// None when nothing is wanted: then nothing is locked.
    state: Option<Mutex<State>>,
    seldom: Seldom,
}

struct State {
    page: Page,
    metrics: Option<(Output, Refreshed)>,
    events: Events,
    /// A run has begun: what is refused leaves no file, and changes none.
    has_begun: bool,
    listener: Option<Listener>,
    lost: Vec<OutputError>,
}

/// The lines of the events.
enum Events {
    /// They are not wanted, or could not be written.
    Nowhere,
    /// They wait for the first run to begin.
    Waiting(Lines, String),
    Open(Output, File),
}

impl Telemetry {
    /// Opens what is wanted for a program with this command line; none may be one of `taken`, which are paths with a
    /// description. A listener hears the events beside those files.
    ///
    /// # Errors
    /// [`OutputError`]; nothing was changed.
    pub fn open(
        wishes: &Wishes,
        command_line: &[String],
        taken: impl Iterator<Item = (PathBuf, String)>,
        listener: Option<Listener>,
    ) -> Result<Self, OutputError> {
        let metrics = wishes.metrics.clone().map(|path| Output { format: METRICS, path });
        let events = wishes.events.clone().map(|path| Output { format: EVENTS, path });
        let all: Vec<Output> = metrics.iter().chain(&events).cloned().collect();
        if all.is_empty() && listener.is_none() {
            return Ok(Telemetry::default());
        }
        refuse_clashes(&all, taken)?;
        let metrics = metrics.map(|output| open_refreshed(&output).map(|file| (output, file))).transpose()?;
        let events = events.map(Lines::at).transpose()?;
        let events = events.map_or(Events::Nowhere, |lines| Events::Waiting(lines, String::new()));
        let page = Page::default();
        let telemetry = Telemetry {
            state: Some(Mutex::new(State {
                page,
                metrics,
                events,
                has_begun: false,
                listener,
                lost: Vec::new(),
            })),
            seldom: Seldom::every(Some(EVERY)),
        };
        telemetry.tell(Some(Happened::Begin { command_line: command_line.to_vec() }), false, |_| ());
        Ok(telemetry)
    }

    /// How often the progress should come.
    pub fn every(&self) -> Option<Duration> {
        self.state.as_ref().map(|_| EVERY)
    }

    /// An event of the present run.
    pub fn see(&self, event: &load::Event) {
        // Workers send these.
        if matches!(event, load::Event::Dot | load::Event::Verbose(_)) || !self.seldom.passes(event) {
            return;
        }
        self.tell(Happened::of_run(event), true, |page| match event {
            load::Event::Progress(progress) => page.progress = Some(progress.clone()),
            load::Event::Counted(counted) => page.span_is_over(*counted),
            _ => {}
        });
    }

    /// A step of a series begins: an event with its name.
    pub fn step(&self, name: &str, begins: Happened) {
        self.tell(Some(begins), false, |page| page.step(name));
    }

    /// The suite itself says something.
    pub fn note(&self, says: &str) {
        self.tell(Some(Happened::Note { says: says.to_string() }), false, |_| ());
    }

    pub fn result(&self, document: &Document) {
        self.tell(Some(Happened::result(document)), true, |page| page.result(document));
    }

    /// Everything is over. What could not be written since the beginning.
    pub fn end(&self) -> Vec<OutputError> {
        self.tell(Some(Happened::End), false, |page| page.is_over = true);
        let Some(state) = &self.state else { return Vec::new() };
        std::mem::take(&mut state.lock().unwrap_or_else(PoisonError::into_inner).lost)
    }

    /// `begins`: only a run that has begun tells that.
    fn tell(&self, happened: Option<Happened>, begins: bool, change: impl FnOnce(&mut Page)) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        change(&mut state.page);
        if begins {
            state.begin();
        }
        if let Some(happened) = happened {
            state.line(&happened.line());
        }
        if state.has_begun
            && let Some((output, file)) = &state.metrics
            && let Err(error) = file.put(state.page.text().as_bytes())
        {
            state.lost.push(output.error(Problem::Live(error)));
            state.metrics = None;
        }
    }
}

impl State {
    fn line(&mut self, line: &str) {
        if let Some(listener) = &self.listener {
            listener(line);
        }
        self.write(line);
    }

    fn write(&mut self, line: &str) {
        match &mut self.events {
            Events::Nowhere => {}
            Events::Waiting(_, text) => text.push_str(line),
            Events::Open(output, file) => {
                if let Err(error) = file.write_all(line.as_bytes()) {
                    self.lost.push(output.error(Problem::Live(error)));
                    self.events = Events::Nowhere;
                }
            }
        }
    }

    /// Opens the file of the lines, and writes what waited.
    fn begin(&mut self) {
        self.has_begun = true;
        match std::mem::replace(&mut self.events, Events::Nowhere) {
            Events::Waiting(lines, text) => match lines.open() {
                Ok((output, file)) => {
                    self.events = Events::Open(output, file);
                    // A listener has heard them already.
                    self.write(&text);
                }
                Err(error) => self.lost.push(error),
            },
            other => self.events = other,
        }
    }
}

/// Passes on the progress as seldom as a view wants it, although others want it more often.
#[derive(Debug, Default)]
pub struct Seldom {
    every: Option<Duration>,
    passed: Mutex<Option<(usize, Phase, u64)>>,
}

impl Seldom {
    /// For a view that wants it this often, or never.
    pub fn every(every: Option<Duration>) -> Self {
        Seldom { every, passed: Mutex::new(None) }
    }

    /// Whether the view should see this event.
    pub fn passes(&self, event: &load::Event) -> bool {
        let load::Event::Progress(progress) = event else { return true };
        self.every.is_some_and(|every| self.is_due(progress, every))
    }

    fn is_due(&self, progress: &Progress, every: Duration) -> bool {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (progress.span, progress.phase, progress.elapsed_ns);
        // The instants of the progress are not exactly so far apart.
        let least = every - TOLERANCE.min(every / 2);
        let every_ns = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        let is_due = passed.is_none_or(|(span, phase, elapsed_ns)| {
            (span, phase) != (now.0, now.1) || elapsed_ns > now.2 || now.2 - elapsed_ns >= every_ns
        });
        if is_due {
            *passed = Some(now);
        }
        is_due
    }
}

const NS_PER_S: f64 = 1e9;

fn is_none_s(seconds: &f64) -> bool {
    *seconds == 0.0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happened {
    Begin {
        /// As typed, the program first.
        command_line: Vec<String>,
    },
    /// A step of a series began.
    Step {
        name: String,
        /// How long it takes as planned, in seconds; files that are to be made are not in it.
        #[serde(default)]
        planned_s: f64,
        /// Runs after it, as far as is known.
        #[serde(default)]
        runs_ahead: usize,
        /// How long those take as planned, in seconds.
        #[serde(default)]
        ahead_s: f64,
        /// How much longer both may take, in seconds: runs measure until they are steady (`--until-steady`).
        #[serde(default, skip_serializing_if = "is_none_s")]
        longer_s: f64,
    },
    /// A file is being written.
    Fill {
        path: String,
        done_bytes: u64,
        total_bytes: u64,
    },
    /// An unfinished file is being removed.
    Remove {
        path: String,
        /// Size that it was to have.
        bytes: u64,
    },
    /// An existing file is used as it is.
    Reuse {
        path: String,
    },
    /// Something that a person should know.
    Note {
        says: String,
    },
    /// A warning, which is also in the document.
    Warning {
        says: String,
    },
    Progress(Box<At>),
    GivenUp {
        says: String,
    },
    Result(Brought),
    End,
}

/// Where a run is. Counts are of the time span so far, rates of the last second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct At {
    pub phase: Phase,
    /// Number of the time span, from 1.
    pub time_span: usize,
    /// Time spans of the profile.
    pub time_spans: usize,
    /// Since the time span began.
    pub elapsed_s: f64,
    /// Until the last time span ends.
    pub left_s: f64,
    /// Reads and writes, without trims.
    pub ios: u64,
    pub bytes: u64,
    /// Trims (`--trim`); absent while there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Trimmed>,
    /// I/Os per second; absent before the first rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// Mean latency, of trims as well; absent when no I/O completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_s: Option<f64>,
    /// I/Os in flight on average, by Little's law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_mean: Option<f64>,
    /// How busy all processors of the machine were, in percent of their time; of rank 0's in a cluster run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors_busy_percent: Option<f64>,
    /// The lowest disks under the targets, by the kernel's counters; under those of rank 0 in a cluster run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskRates>,
    /// The hosts of a cluster run; absent for a run on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostRates>,
}

/// Trims of the time span so far, with the rates of the last second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trimmed {
    pub ios: u64,
    pub bytes: u64,
    /// Absent before the first rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Brought {
    /// Its grade; absent when it was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Grade>,
    #[serde(default)]
    pub findings: Vec<Found>,
    /// One for each time span that was measured.
    #[serde(default)]
    pub time_spans: Vec<Span>,
}

/// A finding of the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub rule: String,
    pub grade: FindingGrade,
    pub says: String,
}

/// The figures of a time span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub test_time_s: f64,
    pub read: Sum,
    pub write: Sum,
    /// Trims (`--trim`); absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Sum>,
}

/// The figures of reads, of writes or of trims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub ios: u64,
    pub bytes: u64,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Mean latency; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_s: Option<f64>,
    /// 99th percentile of the latency; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99_s: Option<f64>,
}

/// A line that was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Heard {
    pub time: Timestamp,
    #[serde(flatten)]
    pub happened: Happened,
}

impl Heard {
    /// Reads a line of `--events`, whose words are to be shown.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(line: &str) -> Result<Heard, serde_json::Error> {
        serde_json::from_slice(&printable_json(line.as_bytes()))
    }
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    happened: &'a Happened,
}

impl Happened {
    /// As a line of now.
    pub fn line(&self) -> String {
        let now_ns = unix_time_ns().map_or(0, i128::from);
        let time = Timestamp::from_nanosecond(now_ns).unwrap_or_default();
        let line = Line { time: format!("{time:.3}"), happened: self };
        let line = serde_json::to_string(&line);
        visible_json(line.expect("it has names for members, and no number that JSON lacks")) + "\n"
    }

    /// What an event of a run tells; nothing for those that are many.
    pub fn of_run(event: &load::Event) -> Option<Happened> {
        use load::Event;
        Some(match event.clone() {
            Event::Dot | Event::Verbose(_) | Event::Counted(_) => return None,
            Event::Note(says) => Happened::Note { says },
            Event::Warning(says) => Happened::Warning { says },
            Event::Reused { path, .. } => Happened::Reuse { path },
            Event::Fill { path, done_bytes, total_bytes } => Happened::Fill { path, done_bytes, total_bytes },
            Event::Removing { path, bytes } => Happened::Remove { path, bytes },
            Event::Progress(progress) => Happened::Progress(Box::new(At::of(&progress))),
            Event::GivenUp(failure) => Happened::GivenUp { says: failure.message },
        })
    }

    pub fn result(document: &Document) -> Happened {
        let verdict = document.verdict.as_ref();
        let found = verdict.into_iter().flat_map(|verdict| &verdict.findings);
        let found =
            found.map(|one| Found { rule: one.rule.clone(), grade: one.grade, says: one.says.clone() });
        let spans = document.time_spans.iter().filter_map(|span| match span {
            TimeSpanResult::Measured(measured) => Some(Summary::of(measured)),
            TimeSpanResult::NotMeasured => None,
        });
        Happened::Result(Brought {
            verdict: verdict.map(|verdict| verdict.grade),
            findings: found.collect(),
            time_spans: spans.map(|summary| Span::of(&summary)).collect(),
        })
    }
}

impl At {
    fn of(progress: &Progress) -> At {
        let (rates, machine) = (progress.rates.as_ref(), progress.machine.as_ref());
        let latency_mean_s = rates.and_then(|rates| rates.latency_mean_ns).map(|ns| ns / NS_PER_S);
        At {
            phase: progress.phase,
            time_span: progress.span,
            time_spans: progress.spans,
            elapsed_s: progress.elapsed_ns as f64 / NS_PER_S,
            left_s: progress.left_ns as f64 / NS_PER_S,
            ios: progress.counted.ios,
            bytes: progress.counted.bytes,
            trim: Trimmed::of(progress),
            iops: rates.map(|rates| rates.iops),
            bytes_per_s: rates.map(|rates| rates.bytes_per_s),
            latency_mean_s,
            in_flight_mean: rates.zip(latency_mean_s).map(|(rates, s)| rates.ios_per_s() * s),
            processors_busy_percent: machine.and_then(|machine| machine.processors_busy_percent),
            disks: machine.map(|machine| machine.disks.clone()).unwrap_or_default(),
            hosts: progress.hosts.as_deref().cloned(),
        }
    }
}

impl Trimmed {
    fn of(progress: &Progress) -> Option<Trimmed> {
        let Counted { trims, trimmed_bytes, .. } = progress.counted;
        let rates = progress.rates.as_ref();
        (trims > 0).then(|| Trimmed {
            ios: trims,
            bytes: trimmed_bytes,
            iops: rates.map(|rates| rates.trims_per_s),
            bytes_per_s: rates.map(|rates| rates.trimmed_bytes_per_s),
        })
    }
}

impl Span {
    fn of(summary: &Summary) -> Span {
        Span {
            test_time_s: summary.test_time_s,
            read: Sum::of(&summary.read),
            write: Sum::of(&summary.write),
            trim: summary.trim.as_ref().map(Sum::of),
        }
    }
}

impl Sum {
    fn of(sum: &DirectionSummary) -> Sum {
        let latency = sum.latency.as_ref();
        Sum {
            ios: sum.ios,
            bytes: sum.bytes,
            iops: sum.iops,
            bytes_per_s: sum.bytes_per_s,
            latency_mean_s: latency.map(|latency| latency.mean_ns / NS_PER_S),
            latency_p99_s: latency.map(|latency| latency.p99_ns as f64 / NS_PER_S),
        }
    }
}

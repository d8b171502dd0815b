//! What other programs are told of a run while it goes on: a file for Prometheus (`--metrics`) and lines of JSON
//! (`--events`). What is told comes from the thread that tells the progress, so no worker waits for a slow reader.

pub mod lines;
mod page;
mod status;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::request::Output;
use crate::run::outputs::{OutputError, Problem, open_lines, open_refreshed, refuse_clashes};
use crate::run::unfinished::Refreshed;
use lines::Happened;
use status::Status;
use truespd_core::load::{self, live::Phase, live::Progress};
use truespd_core::result::Document;

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
    status: Status,
    metrics: Option<(Output, Refreshed)>,
    events: Option<(Output, File)>,
    listener: Option<Listener>,
    lost: Vec<OutputError>,
}

impl Telemetry {
    /// Opens what is wanted for a program with this command line; none may be one of `taken`, which are paths with a
    /// description. A listener hears the events beside those files.
    ///
    /// # Errors
    /// [`OutputError`]; nothing was changed, but an empty file for the lines may be there.
    pub fn open(
        wishes: &Wishes,
        command_line: &[String],
        taken: impl Iterator<Item = (PathBuf, String)>,
        listener: Option<Listener>,
    ) -> Result<Self, OutputError> {
        let output = |format, path: &Option<String>| path.clone().map(|path| Output { format, path });
        let (metrics, events) = (output(METRICS, &wishes.metrics), output(EVENTS, &wishes.events));
        let all: Vec<Output> = metrics.iter().chain(&events).cloned().collect();
        if all.is_empty() && listener.is_none() {
            return Ok(Telemetry::default());
        }
        refuse_clashes(&all, taken)?;
        let metrics = metrics.map(|output| open_refreshed(&output).map(|file| (output, file))).transpose()?;
        let events = events.map(|output| open_lines(&output).map(|file| (output, file))).transpose()?;
        let status = Status::new(command_line);
        let telemetry = Telemetry {
            state: Some(Mutex::new(State { status, metrics, events, listener, lost: Vec::new() })),
            seldom: Seldom::every(Some(EVERY)),
        };
        telemetry.tell(|status| Some(Happened::Begin { command_line: status.command_line().to_vec() }));
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
        self.tell(|status| {
            match event {
                load::Event::Progress(progress) => status.progress(progress.clone()),
                load::Event::Counted(counted) => status.span_is_over(*counted),
                _ => {}
            }
            Happened::of_run(event)
        });
    }

    /// A step of a series begins: an event with its name.
    pub fn step(&self, name: &str, begins: Happened) {
        self.tell(|status| {
            status.step(name);
            Some(begins)
        });
    }

    /// The suite itself says something.
    pub fn note(&self, says: &str) {
        self.tell(|_| Some(Happened::Note { says: says.to_string() }));
    }

    pub fn result(&self, document: &Document) {
        self.tell(|status| {
            status.result(document);
            Some(Happened::result(document))
        });
    }

    /// Everything is over. What could not be written since the beginning.
    pub fn end(&self) -> Vec<OutputError> {
        self.tell(|status| {
            status.end();
            Some(Happened::End)
        });
        let Some(state) = &self.state else { return Vec::new() };
        std::mem::take(&mut state.lock().unwrap_or_else(PoisonError::into_inner).lost)
    }

    fn tell(&self, change: impl FnOnce(&mut Status) -> Option<Happened>) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let happened = change(&mut state.status);
        if let Some(happened) = happened {
            state.line(&happened.line());
        }
        if let Some((output, file)) = &state.metrics
            && let Err(error) = file.put(page::text(&state.status).as_bytes())
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
        if let Some((output, file)) = &mut self.events
            && let Err(error) = file.write_all(line.as_bytes())
        {
            self.lost.push(output.error(Problem::Live(error)));
            self.events = None;
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

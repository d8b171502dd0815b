//! What a series reports while it runs. A view implements [`Watch`]; nothing here prints.

use crate::runner::undo::Undone;
use crate::runner::{Ahead, Length, Step};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use truespd_core::load;
use truespd_core::result::Document;
use truespd_front::telemetry::Happened;
use truespd_front::telemetry::{Seldom, Telemetry};
use truespd_platform::fault::Fault;

/// Receives the reports of a series. Called from several threads, also from the one that waits for signals.
pub trait Watch: Send + Sync {
    /// How often it wants the progress of a run.
    fn progress_every(&self) -> Option<Duration>;

    fn see(&self, event: Event<'_>);
}

#[derive(Debug)]
pub enum Event<'a> {
    /// The steps after the one that begins next.
    Ahead(Ahead),
    Begins(&'a Step),
    /// A step that prepares others is repeated, for runs whose documents are not kept.
    Repeats(&'a Step),
    Pause(Duration),
    /// An event of the present run; each note and warning comes once in a series.
    Run(load::Event),
    Done {
        step: &'a Step,
        document: &'a Document,
        /// It was made before, by the series that this one resumes.
        is_kept: bool,
    },
    /// Where the series is: shown when the next step begins.
    At(&'a str),
    /// A line of the suite itself, beside what is shown of the present step.
    Note(&'a str),
    /// Ctrl+C: the present run is being ended.
    Stopping,
    /// A series that was stopped is being undone, which can take long when its files are large.
    Undoing,
    /// The runs are over. Later events tell how the series ended.
    Over,
    /// Why the series could not go on.
    Fault {
        fault: &'a Fault,
        /// The command line that it is about.
        line: Option<&'a [String]>,
    },
    /// Something that a killed series had left.
    Left(&'a Undone),
    /// A change of this series that could not be undone.
    NotUndone(&'a Undone),
    /// The process that cleans up after this program, if it is killed, could not be started.
    NoCaretaker(&'a io::Error),
}

/// A view of a series, and the telemetry that tells other programs of it.
pub struct WithTelemetry {
    view: Arc<dyn Watch>,
    seldom: Seldom,
    telemetry: Arc<Telemetry>,
    ahead: Mutex<Ahead>,
}

impl WithTelemetry {
    pub fn new(view: Arc<dyn Watch>, telemetry: Arc<Telemetry>) -> Self {
        let seldom = Seldom::every(view.progress_every());
        WithTelemetry { seldom, view, telemetry, ahead: Mutex::default() }
    }
}

impl Watch for WithTelemetry {
    fn progress_every(&self) -> Option<Duration> {
        self.telemetry.every().into_iter().chain(self.view.progress_every()).min()
    }

    fn see(&self, event: Event<'_>) {
        match &event {
            Event::Ahead(ahead) => *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = *ahead,
            Event::Begins(step) => {
                let ahead = *self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
                let begins = Happened::Step {
                    name: step.name.clone(),
                    planned_s: step.length.least_s,
                    runs_ahead: ahead.steps,
                    ahead_s: ahead.length.least_s,
                    longer_s: longer_s(step.length) + longer_s(ahead.length),
                };
                self.telemetry.step(&step.name, begins);
            }
            Event::Note(words) | Event::At(words) => self.telemetry.note(words),
            Event::Run(event) => {
                self.telemetry.see(event);
                if !self.seldom.passes(event) {
                    return;
                }
            }
            Event::Done { document, is_kept: false, .. } => self.telemetry.result(document),
            _ => {}
        }
        self.view.see(event);
    }
}

/// How much longer it may take than it does at least.
fn longer_s(length: Length) -> f64 {
    length.most_s - length.least_s
}

//! A series told to other programs as well as to its view.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diskspd::telemetry::lines::Happened;
use diskspd::telemetry::{Seldom, Telemetry};

use super::watch::{self, Watch};
use crate::suite::Ahead;

/// A series told to other programs as well as to its view.
pub struct Told {
    view: Arc<dyn Watch>,
    seldom: Seldom,
    telemetry: Arc<Telemetry>,
    ahead: Mutex<Ahead>,
}

impl Told {
    /// With the view that shows the series.
    pub fn beside(view: Arc<dyn Watch>, telemetry: Arc<Telemetry>) -> Self {
        Told { seldom: Seldom::every(view.progress_every()), view, telemetry, ahead: Mutex::default() }
    }
}

impl Told {
    fn lock_ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Told {
    fn progress_every(&self) -> Option<Duration> {
        self.telemetry.every().into_iter().chain(self.view.progress_every()).min()
    }

    fn see(&self, event: watch::Event<'_>) {
        match &event {
            watch::Event::Ahead(ahead) => *self.lock_ahead() = *ahead,
            watch::Event::Begins(step) => {
                let ahead = *self.lock_ahead();
                let begins = Happened::Step {
                    name: step.name.clone(),
                    planned_s: step.seconds,
                    runs_ahead: ahead.steps,
                    ahead_s: ahead.seconds,
                };
                self.telemetry.step(&step.name, begins);
            }
            watch::Event::Told(words) => self.telemetry.note(words),
            watch::Event::Run(event) => self.telemetry.see(event),
            watch::Event::Done { document, is_kept: false, .. } => self.telemetry.result(document),
            _ => {}
        }
        let is_passed = match &event {
            watch::Event::Run(event) => self.seldom.passes(event),
            _ => true,
        };
        if is_passed {
            self.view.see(event);
        }
    }
}

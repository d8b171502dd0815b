//! Named events between processes around a run (`-y`, `command-line.md` §5.9).

use std::thread::Scope;

use crate::fault::{Failure, FailureKind};
use crate::profile::EventNames;
use crate::sys::error::system_text;
use crate::sys::events::{EventDir, EventError, EventHandle, WaitEnd};
use crate::sys::wake::Latch;

/// Signals other programs around the measurement (`-ys`, `-yf`).
pub trait Signals: Sync {
    /// Measurement starts.
    fn measurement_starts(&self);
    /// Measurement has ended.
    fn measurement_ends(&self);
}

/// Sets an event that must exist (`-ye`).
///
/// # Errors
/// Nobody holds an event of that name.
pub fn set_existing(name: &str) -> Result<(), EventError> {
    EventHandle::open_existing(name, &EventDir::of_this_user())?.set();
    Ok(())
}

/// The events of a run, held as long as it lasts.
#[derive(Debug, Default)]
pub struct Handles {
    start: Option<EventHandle>,
    finish: Option<EventHandle>,
    wait: Option<EventHandle>,
    stop: Option<EventHandle>,
}

impl Handles {
    /// Creates or joins every named event.
    ///
    /// # Errors
    /// An event cannot be had.
    pub fn open(names: &EventNames) -> Result<Self, Failure> {
        let dir = EventDir::of_this_user();
        let open = |switch: &str, name: &Option<String>| match name {
            None => Ok(None),
            Some(name) => {
                let handle = EventHandle::create_or_open(name, &dir);
                let failed = |e| Failure::new(FailureKind::Event, format!("-y{switch}{name}")).because(e);
                handle.map(Some).map_err(failed)
            }
        };
        Ok(Handles {
            start: open("s", &names.start)?,
            finish: open("f", &names.finish)?,
            wait: open("r", &names.wait)?,
            stop: open("p", &names.stop)?,
        })
    }

    /// Waits for the start event; false when stopped meanwhile.
    pub fn wait_for_start(&self, stop: &Latch) -> bool {
        match &self.wait {
            None => true,
            Some(event) => event.wait(&|| stop.is_set(), None) == WaitEnd::Set,
        }
    }

    /// Ties the stop event and the stop latch together until `done` is set: either sets the other.
    ///
    /// # Errors
    /// The system gives no thread for that.
    pub fn watch_stop<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        stop: &Latch,
        done: &Latch,
    ) -> Result<(), Failure> {
        let Some(event) = &self.stop else { return Ok(()) };
        let (stop, done) = (stop.clone(), done.clone());
        let watch = move || match event.wait(&|| stop.is_set() || done.is_set(), None) {
            WaitEnd::Set => stop.set(),
            _ if stop.is_set() => event.set(),
            _ => {}
        };
        let started = std::thread::Builder::new().spawn_scoped(scope, watch);
        started.map(drop).map_err(|error| {
            let what = "the system could not start a thread that waits for the event of -yp";
            Failure::new(FailureKind::Thread, what)
                .because(system_text(&error))
                .hint("raise the limit of processes")
        })
    }
}

impl Signals for Handles {
    fn measurement_starts(&self) {
        if let Some(event) = &self.start {
            event.set();
        }
    }

    fn measurement_ends(&self) {
        if let Some(event) = &self.finish {
            event.set();
        }
    }
}

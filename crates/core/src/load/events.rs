//! Named events between processes around a run (`-y`, `command-line.md` §5.9).

use std::thread::Scope;

use crate::profile::EventNames;
use truespd_platform::fault::{Failure, FailureKind, Fault, Refusal, RefusalKind};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::events::{EventDir, EventError, EventHandle, WaitEnd};

/// Sets an event that must exist (`-ye`).
///
/// # Errors
/// Nobody holds an event of that name, or it cannot be one.
pub fn set_existing(name: &str) -> Result<(), Fault> {
    match EventHandle::open_existing(name, &EventDir::of_this_user()) {
        Ok(event) => {
            event.set();
            Ok(())
        }
        Err(error @ EventError::Name { .. }) => Err(refused("ye", &error).into()),
        Err(error) => Err(Failure::new(FailureKind::Event, format!("-ye{name}")).because(error).into()),
    }
}

/// Why the event of a switch cannot be had.
fn refused(switch: &'static str, error: &EventError) -> Refusal {
    let kind = match error {
        EventError::Name { .. } => RefusalKind::CommandLine,
        _ => RefusalKind::Machine,
    };
    Refusal::new(kind, format!("-{switch}: {error}")).about(&[switch])
}

fn open(dir: &EventDir, switch: &'static str, name: &Option<String>) -> Result<Option<EventHandle>, Refusal> {
    let Some(name) = name else { return Ok(None) };
    EventHandle::create_or_open(name, dir).map(Some).map_err(|error| refused(switch, &error))
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
    /// An event cannot be had. What was made for the others is removed.
    pub fn open(names: &EventNames) -> Result<Self, Refusal> {
        let dir = EventDir::of_this_user();
        Ok(Handles {
            start: open(&dir, "ys", &names.start)?,
            finish: open(&dir, "yf", &names.finish)?,
            wait: open(&dir, "yr", &names.wait)?,
            stop: open(&dir, "yp", &names.stop)?,
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
        let started = std::thread::Builder::new().spawn_scoped(scope, move || {
            match event.wait(&|| stop.is_set() || done.is_set(), None) {
                WaitEnd::Set => stop.set(),
                _ if stop.is_set() => event.set(),
                _ => {}
            }
        });
        started.map(drop).map_err(|error| {
            let what = "the system could not start a thread that waits for the event of -yp";
            Failure::new(FailureKind::Thread, what)
                .because(system_text(&error))
                .hint("raise the limit of processes (ulimit -u)")
        })
    }

    /// Signals other programs (`-ys`).
    pub fn measurement_starts(&self) {
        if let Some(event) = &self.start {
            event.set();
        }
    }

    /// Signals other programs (`-yf`).
    pub fn measurement_ends(&self) {
        if let Some(event) = &self.finish {
            event.set();
        }
    }
}

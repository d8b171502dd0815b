//! What a run is given, what it tells, and what it leaves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::events::Handles;
use super::live::{Counted, Progress};
use super::ranks::Ranks;
use super::verify_log::{LogLost, LogPlace};
use crate::engine::EngineRow;
use crate::guard::mark::Marks;
use crate::guard::{Consent, Custody, MadeFile};
use crate::measure::clock::MachineClock;
use crate::profile::{EventNames, Profile};
use crate::result::Document;
use truespd_platform::fault::Failure;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{self, ReadFlags, resolve};
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::events::Latch;

/// What goes on during a run.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A step of progress (`-P`).
    Dot,
    /// A line for verbose mode (`-v`).
    Verbose(String),
    /// Something the person should see at once.
    Note(String),
    /// An existing file is used as it is.
    Reused {
        path: String,
        /// Which file it is and why it may be used, in a sentence.
        words: String,
    },
    /// A warning known before the run, also in the document.
    Warning(String),
    /// A file is being written.
    Fill { path: String, done_bytes: u64, total_bytes: u64 },
    /// An unfinished file is being removed, which can take long when it is large.
    Removing {
        path: String,
        /// Size that it was to have.
        bytes: u64,
    },
    /// Progress of the time span, when [`Options::progress_every`] asks for it.
    Progress(Progress),
    /// The time span is over: all its I/Os, in all its phases. Comes after its last [`Event::Progress`], and
    /// only when that was asked for.
    Counted(Counted),
    /// Threads do not end, because nothing can interrupt their I/Os. The run goes on waiting for them; who
    /// cannot wait for ever ends the process.
    GivenUp(Failure),
}

/// Receives events, also from worker threads.
pub type OnEvent<'a> = &'a (dyn Fn(Event) + Sync);

/// What a run needs beyond the profile.
#[allow(missing_docs)]
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The words as typed, program name first, for the document.
    pub command_line: Vec<String>,
    /// `--engine NAME[:parameters]`.
    pub engine: Option<(&'static EngineRow, String)>,
    /// Targets that may be written although they hold foreign data (`--overwrite`).
    pub overwrite: Vec<String>,
    /// Targets that may be written although nothing tells whether they are in use (`--unchecked`).
    pub unchecked: Vec<String>,
    /// No other run may have a target of this one (`--exclusive`).
    pub exclusive: bool,
    /// Samples of a device are enough before a write test (`--quick-check`).
    pub quick_check: bool,
    /// Always write `-c` files anew (`--recreate`).
    pub recreate: bool,
    /// How often the tested range of every target is written before the test (`--precondition`).
    pub precondition: Option<u32>,
    /// Where the map of a verified target is kept (`--verify-map`); in the user's state folder unless given.
    pub verify_map: Option<PathBuf>,
    /// Where it is told which writes of a verified target are durable (`--verify-log`).
    pub verify_log: Option<LogPlace>,
    /// What is done when that log is lost (`--verify-log-lost`).
    pub verify_log_lost: LogLost,
    /// For each time span: the measured time ends when so many bytes are done; empty where none ends so.
    pub until_bytes: Vec<u64>,
    /// `-ys -yf -yr -yp`.
    pub events: EventNames,
    /// How often to send [`Event::Progress`].
    pub progress_every: Option<Duration>,
    /// How long after its end the run waits for threads before it sends [`Event::GivenUp`]; a minute unless given.
    pub patience: Option<Duration>,
    /// Processes that run the same test at the same time.
    pub ranks: Option<Arc<dyn Ranks>>,
    /// Targets that were looked at before: each must still be the same file or device.
    pub known: Vec<KnownTarget>,
    /// Devices that are held from run to run.
    pub held: HeldDevices,
}

/// A target that was there when it was checked.
#[derive(Debug, Clone)]
pub struct CheckedThing {
    pub thing: Thing,
    /// It must not get another size before it is opened: it is written, or it is compared with the other runs of a
    /// series. A file that is only read may grow, as logs do.
    pub keeps_size: bool,
}

/// A target that was looked at before a run.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTarget {
    /// The target as the command line or the profile gives it.
    pub typed: String,
    /// The file or device that was there at the first look.
    pub thing: Thing,
}

impl KnownTarget {
    /// Looks at a file or device; `None` when nothing can be opened there.
    pub fn look(typed: &str, roots: &Roots) -> Option<Self> {
        let path = resolve(typed, roots).ok()?.path;
        let opened = storage::open(&path, ReadFlags::CACHED, roots).ok()?;
        Some(KnownTarget { typed: typed.to_string(), thing: Thing::of(&opened.file, roots).ok()? })
    }

    /// Whether a target is called so, or stands for the same path.
    pub(super) fn is(&self, typed: &str, roots: &Roots) -> bool {
        if self.typed == typed {
            return true;
        }
        let paths = resolve(&self.typed, roots).ok().zip(resolve(typed, roots).ok());
        paths.is_some_and(|(own, other)| own.path == other.path)
    }
}

/// The devices that the runs of a series hold, also between two of them, so that nobody else can use them.
#[derive(Debug, Clone, Default)]
pub struct HeldDevices(Option<Arc<Mutex<Custody>>>);

impl HeldDevices {
    /// To be given to each run of a series.
    pub fn for_a_series() -> Self {
        HeldDevices(Some(Arc::default()))
    }

    /// What a run begins with, to which these processes of this host belong as well.
    pub(super) fn take(&self, companions: Vec<u32>) -> Custody {
        let held = self
            .0
            .as_ref()
            .map(|held| std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner)));
        held.unwrap_or_default().with(companions)
    }

    /// Keeps what the next run begins with.
    pub(super) fn keep(&self, custody: Custody) {
        if let Some(held) = &self.0 {
            *held.lock().unwrap_or_else(PoisonError::into_inner) = custody.between_runs();
        }
    }
}

impl Options {
    /// What the person allowed.
    pub fn consent(&self) -> Consent<'_> {
        Consent {
            overwrite: &self.overwrite,
            unchecked: &self.unchecked,
            exclusive: self.exclusive,
            quick_check: self.quick_check,
        }
    }
}

/// A fact about a finished run, a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// In words.
    pub words: String,
    /// Nothing to act on: only who wants all of it (`-v`) sees it beside the result. The document has it.
    pub is_detail: bool,
}

impl Note {
    /// A fact that changes what the result means, or that stands nowhere else.
    pub fn worth_telling(words: String) -> Self {
        Note { words, is_detail: false }
    }

    /// A fact that is as expected, or that the verdict weighs.
    pub fn detail(words: String) -> Self {
        Note { words, is_detail: true }
    }
}

/// A finished run.
#[derive(Debug)]
pub struct FinishedRun {
    /// The result.
    pub document: Document,
    /// Why the run failed; empty when it did not.
    pub failures: Vec<Failure>,
    /// Facts for standard error: engine, queue depth, steal.
    pub notes: Vec<Note>,
}

pub type Failures = Vec<Failure>;

pub struct Run<'a> {
    pub profile: &'a Profile,
    /// What the run needs beyond that.
    pub options: &'a Options,
    pub on_event: OnEvent<'a>,
    /// Ends the run early (Ctrl+C, `-yp`).
    pub stop: &'a Latch,
    /// Named events (`-y`).
    pub handles: &'a Handles,
    pub clock: MachineClock,
    pub roots: Roots,
    /// The user's marks of files.
    pub marks: Marks,
    /// What it made and holds.
    pub custody: Custody,
    /// The files that it made where nothing was: they go again where the run cannot begin.
    pub made: Vec<MadeFile>,
    /// A thread has begun with I/O.
    pub has_begun: bool,
    /// Paths of the files that were made before the first time span.
    pub precreated: Vec<String>,
    /// What comes out of it.
    pub report: FinishedRun,
}

impl Run<'_> {
    /// Warns once, at once and in the document.
    pub fn warn(&mut self, words: &str) {
        let known = &mut self.report.document.warnings;
        if !known.iter().any(|w| w == words) {
            known.push(words.to_string());
            (self.on_event)(Event::Warning(words.to_string()));
        }
    }

    /// Notes a fact that is worth telling, once.
    pub fn note(&mut self, words: String) {
        let note = Note::worth_telling(words);
        if !self.report.notes.contains(&note) {
            self.report.notes.push(note);
        }
    }

    /// A line for verbose mode.
    pub fn say(&self, words: String) {
        (self.on_event)(Event::Verbose(words));
    }
}

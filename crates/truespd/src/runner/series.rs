//! Runs the command lines of a suite ([`crate::runner::Runner`]): asks the write guard first, makes a folder for test
//! files, keeps the document of every run and resumes an earlier series ([`super::keep`]), stops at Ctrl+C, and undoes
//! its changes, whatever ends it ([`super::undo`]).
//!
//! [`SeriesRanks`] are the processes that run the same series at the same time (a cluster run), and [`super::place`] is
//! the directory, file or device that a person chose for a test. Nothing here prints or parses a command line.
//! Progress goes to a [`Watch`]; what ends a series is a [`truespd_platform::fault::Fault`]; a
//! [`diskspd::request::Grammar`] parses each command line once, when its step is made.

use crate::runner::keep::{Kept, Planned};
use crate::runner::place::{Scratch, check_write};
use crate::runner::undo::{Caretaker, Fate, Journal, Undone, journals_of_this_user, sweep};
use crate::runner::watch::{Event, Watch};
use crate::runner::{Ahead, Draft, Ended, Kind, Length, Runner, Step};
use diskspd::request::{Grammar, Line, Request};
use diskspd::run::Ready;
use diskspd::run::outputs::LaterOutputs;
use diskspd::run::stop_on_signals;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use truespd_core::guard::check_directory;
use truespd_core::load;
use truespd_core::load::live::{Counted, Progress};
use truespd_core::load::ranks::Ranks;
use truespd_core::load::{FinishedRun, HeldDevices, KnownTarget};
use truespd_core::profile::Profile;
use truespd_core::result::{Document, Layer};
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Fault, Outcome, Refusal, RefusalKind};
use truespd_platform::machine::host::{host_name, uptime_ms};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;

/// Hidden subcommand of the process that cleans up after a killed suite.
pub const CARETAKER: &str = "caretaker";

/// How often a rank of several tells the progress of its run.
const RANKS_TELL_EVERY: Duration = Duration::from_secs(1);

/// What a person can ask of every series.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Folder for the document of every run.
    pub keep: Option<String>,
    /// Runs whose documents are kept already are not repeated.
    pub resume: bool,
    /// Targets that may be written although they hold something.
    pub overwrite: Vec<String>,
    /// How often the targets of the first run are written before it.
    pub precondition: Option<u32>,
    /// Every run that counts measures until it is steady.
    pub until_steady: bool,
    /// The other processes of a cluster run.
    pub ranks: Option<Arc<dyn SeriesRanks>>,
}

pub struct Series {
    /// `truespd <suite>`, for the program in documents.
    program: String,
    grammar: Box<dyn Grammar>,
    watch: Arc<dyn Watch>,
    stop: Latch,
    overwrite: Vec<String>,
    /// The targets as they were looked at before: those that may be overwritten when the series began, and all of its
    /// runs so far.
    known: Vec<KnownTarget>,
    /// Devices that its runs have written, held until it ends.
    held: HeldDevices,
    precondition: Option<u32>,
    until_steady: bool,
    ranks: Option<Arc<dyn SeriesRanks>>,
    keep: Option<Kept>,
    /// Notes and warnings shown so far: each run of a series would repeat them.
    told: Mutex<Vec<String>>,
    undo: Option<(Journal, Option<Caretaker>)>,
    /// Folders of the series' own files.
    scratch: Vec<Scratch>,
    /// The steps after the present part of the series.
    later: Ahead,
    /// Whether a run was made since the last pause. Kept documents need no pauses between them.
    has_run: bool,
    /// Whether a run has been made: then an error is not a refusal any more.
    has_begun: bool,
    /// Runs that prepare the next ones, and were skipped because their documents are kept.
    owed: Vec<Step>,
    /// The last run prepared something.
    has_prepared: bool,
    /// The disks below the targets of its runs.
    disks: Vec<Layer>,
    /// The line that could not be run.
    broken: Option<Line>,
}

impl Series {
    /// A series called `program` (`truespd <suite>`), with results in `outputs`. What a killed one left is
    /// undone first.
    ///
    /// # Errors
    /// Why it cannot begin; nothing was changed.
    pub fn begin(
        program: &str,
        wishes: &Wishes,
        outputs: &LaterOutputs,
        grammar: Box<dyn Grammar>,
        watch: Arc<dyn Watch>,
    ) -> Result<Self, Refusal> {
        for undone in journals_of_this_user().iter().flat_map(|dir| sweep(dir, &Roots::default())) {
            watch.see(Event::Left(&undone));
        }
        let view = Arc::clone(&watch);
        let stop = match &wishes.ranks {
            Some(ranks) => ranks.stop(Box::new(move || view.see(Event::Stopping))),
            None => stop_on_signals(move || view.see(Event::Stopping), std::process::exit)?,
        };
        let mut keep = None;
        if let Some(folder) = &wishes.keep {
            let kept = Kept::open(Path::new(folder), wishes.resume)?;
            if let Some(file) = outputs.files().find(|file| kept.would_hold(Path::new(&file.path))) {
                let words = format!(
                    "--{} '{}': --keep uses such names for the documents of runs in that folder; choose another name",
                    file.format, file.path
                );
                return Err(Refusal::new(RefusalKind::Output, words).on(&file.path));
            }
            keep = Some(kept);
        }
        Ok(Series {
            program: program.to_string(),
            grammar,
            watch,
            stop,
            overwrite: wishes.overwrite.clone(),
            known: look(&wishes.overwrite),
            held: HeldDevices::for_a_series(),
            precondition: wishes.precondition,
            until_steady: wishes.until_steady,
            ranks: wishes.ranks.clone(),
            keep,
            told: Mutex::new(Vec::new()),
            undo: None,
            scratch: Vec::new(),
            later: Ahead::default(),
            has_run: false,
            has_begun: false,
            owed: Vec::new(),
            has_prepared: false,
            disks: Vec::new(),
            broken: None,
        })
    }

    /// Processes that measure together: 1 without a cluster.
    pub fn ranks(&self) -> u32 {
        self.ranks.as_ref().map_or(1, |ranks| ranks.count())
    }

    /// The disks below the targets of all its runs, each once, as the first of these met it.
    pub fn disks(&self) -> &[Layer] {
        &self.disks
    }

    fn note_disks(&mut self, document: &Document) {
        for measured in document.measured() {
            for disk in measured.evidence.targets.iter().flat_map(|target| target.lowest()) {
                if !self.disks.iter().any(|known| {
                    known.name == disk.name && known.model == disk.model && known.firmware == disk.firmware
                }) {
                    self.disks.push(disk.clone());
                }
            }
        }
    }

    /// Sets the paths of `--overwrite` for the steps that follow, and returns those before. The write guard
    /// refuses a path that names no target of a run.
    pub fn allow(&mut self, overwrite: Vec<String>) -> Vec<String> {
        let mut new = look(&overwrite);
        new.retain(|new| !self.known.iter().any(|known| known.typed == new.typed));
        self.known.extend(new);
        std::mem::replace(&mut self.overwrite, overwrite)
    }

    /// Refuses a device that a later step could not write, before the time for the steps that only read it is spent.
    ///
    /// # Errors
    /// The write guard's reasons.
    pub fn check_write(&self, typed: &str) -> Result<(), Ended> {
        check_write(typed, &self.overwrite).map_err(|mut refusal| {
            // A suite does not have these options.
            refusal.switch_hints.clear();
            let words = self.overwrite.iter().flat_map(|path| ["--overwrite", path]).chain([typed]);
            let words: Vec<String> = words.map(str::to_string).collect();
            self.grammar.marked(&words, vec![refusal]).into()
        })
    }

    /// Fills a file with random data, so that neither compression nor unwritten blocks answer instead of the disk.
    ///
    /// # Errors
    /// [`Ended`], as for any step.
    pub fn fill(&mut self, file: &str, size_bytes: u64) -> Result<(), Ended> {
        // After filling, the run reads one block through the page cache, as not every file system has direct I/O. Each
        // process has another seed, so that a resumed series creates the file anew as well.
        let options = format!("-c{size_bytes} -Zr -b1M -f1M -o1 -d1 -W0 -z{}", std::process::id());
        let words = options.split(' ').chain([file]).map(str::to_string).collect();
        // --overwrite is not for the file that is filled.
        let allowed = self.allow(Vec::new());
        let name = Kind::Fill.name().into();
        let draft = Draft { name, words, length: Length::exactly(1.5), kind: Kind::Fill, pause: None };
        let filled = draft.read(self).and_then(|step| self.run(&step)).map(|_| ());
        self.allow(allowed);
        filled
    }

    /// How long runs take in this series: until they are steady, where it has --until-steady.
    fn lasting(&self, length: Length) -> Length {
        if self.until_steady { length.until_steady() } else { length }
    }

    /// Sets the steps after the present part of the series.
    pub fn later(&mut self, later: Ahead) {
        self.later = later;
    }

    /// A folder for files called `files` in `parent`, removed when the series ends, however it ends.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn scratch(&mut self, parent: &Path, suite: &str, files: &[&str]) -> Result<Scratch, Ended> {
        check_directory(parent, &Roots::default()).map_err(|refusal| {
            self.grammar.marked(&[parent.to_string_lossy().into_owned()], vec![refusal])
        })?;
        let made = Scratch::make(parent, suite, files, self.journal()?)?;
        self.scratch.push(made.clone());
        Ok(made)
    }

    /// The journal of changes to be undone when the series ends, whatever ends it.
    ///
    /// # Errors
    /// Why there can be no journal.
    pub fn journal(&mut self) -> Result<&mut Journal, Ended> {
        if self.undo.is_none() {
            self.undo = Some(self.watched_journal()?);
        }
        Ok(&mut self.undo.as_mut().expect("just made").0)
    }

    /// Reports what a killed series left, when that is found later than at the beginning.
    pub fn tell_left(&self, undone: &Undone) {
        self.watch.see(Event::Left(undone));
    }

    /// A journal with a process that looks after it. Without a caretaker the next suite cleans up.
    fn watched_journal(&self) -> Result<(Journal, Option<Caretaker>), Refusal> {
        let Some(dir) = journals_of_this_user() else {
            let words = "there is no folder for the clean-up journal; set XDG_STATE_HOME or HOME";
            return Err(Refusal::new(RefusalKind::Machine, words));
        };
        let journal = Journal::begin(&dir, Roots::default()).map_err(|error| {
            let words = format!(
                "the clean-up journal could not be written in {}: {}; set XDG_STATE_HOME to a folder that you may \
                 write to",
                dir.display(),
                system_text(&error)
            );
            Refusal::new(RefusalKind::Machine, words)
        })?;
        let started =
            std::env::current_exe().and_then(|own| Caretaker::start(&own, &[CARETAKER], journal.path()));
        if let Err(error) = &started {
            self.watch.see(Event::NoCaretaker(error));
        }
        Ok((journal, started.ok()))
    }

    /// Ends the series: undoes what it changed. `result` tells how it ended; partial results are for the caller.
    pub fn end(mut self, result: Result<(), Ended>) -> ExitCode {
        self.watch.see(Event::Over);
        let mut code = match &result {
            Ok(()) | Err(Ended::Stopped) => ExitCode::Done,
            Err(Ended::Failed(fault)) => {
                let line = self.broken.as_ref().map(Line::words);
                self.watch.see(Event::Fault { fault, line });
                fault.exit_code()
            }
        };
        if let Some((journal, caretaker)) = self.undo.take() {
            if matches!(result, Err(Ended::Stopped)) {
                self.watch.see(Event::Undoing);
            }
            let undone = journal.undo();
            for one in undone.iter().filter(|one| one.fate != Fate::Undone) {
                self.watch.see(Event::NotUndone(one));
                code = ExitCode::of(Outcome::Failed(FailureKind::Lost));
            }
            if let Some(caretaker) = caretaker {
                caretaker.dismiss();
            }
        }
        code
    }

    /// The end of the series because its next run cannot be made: a refusal only while nothing has been done.
    fn hindered(&self, fault: impl Into<Fault>) -> Ended {
        let fault = fault.into();
        Ended::Failed(if self.has_begun { fault.later() } else { fault })
    }

    /// The kept document of a run of an earlier series. If there is none, the folder is made for the next one.
    fn kept(&mut self, step: &Step, line: &Line) -> Result<Option<Document>, Ended> {
        let Some(keep) = &mut self.keep else { return Ok(None) };
        let computer_name = host_name();
        let planned = Planned { computer_name: &computer_name, program: &self.program, line };
        // Every series fills its files again, with other data.
        let found = if step.kind == Kind::Fill { Ok(None) } else { keep.found(step, &planned) };
        let found = found.and_then(|found| keep.make().map(|()| found));
        found.map_err(|refusal| self.hindered(refusal))
    }

    /// The line of a step with what was asked for of the whole series: the first one writes its targets before, and
    /// those that count measure until they are steady.
    fn line_of(&mut self, step: &Step) -> Result<Line, Ended> {
        let mut words = Vec::new();
        if let Some(passes) = self.precondition.take() {
            words.push(format!("--precondition={passes}x"));
        }
        let spans = &step.line.request().profile.time_spans;
        if self.until_steady && step.kind == Kind::Counts && spans.iter().all(|span| span.duration_s > 0) {
            words.push("--until-steady".to_string());
        }
        if words.is_empty() {
            return Ok(step.line.clone());
        }
        words.extend(step.line.words().iter().cloned());
        self.line(words)
    }

    fn make(&mut self, line: Line) -> Result<Document, Ended> {
        let lost = self.scratch.iter().try_for_each(Scratch::check);
        lost.map_err(|refusal| self.hindered(refusal))?;
        self.has_run = true;
        match self.measure(&line) {
            Ok(document) => {
                self.has_begun = true;
                self.know(&document);
                if self.stop.is_set() { Err(Ended::Stopped) } else { Ok(document) }
            }
            // Stopped before its first I/O, together with the other ranks.
            Err(_) if self.stop.is_set() && self.ranks.is_some() => Err(Ended::Stopped),
            Err(fault) => {
                self.broken = Some(line);
                Err(self.hindered(fault))
            }
        }
    }

    /// Whether it is in a folder that the series made.
    fn is_own(&self, path: &str) -> bool {
        self.scratch.iter().any(|own| Path::new(path).starts_with(own.path()))
    }

    /// Remembers the targets of a run as it opened them. Files of the series' own folders may be made anew.
    fn know(&mut self, document: &Document) {
        let targets = document.measured().flat_map(|measured| &measured.evidence.targets);
        for target in targets {
            let Some(thing) = target.identity.clone() else { continue };
            if self.is_own(&target.path) {
                continue;
            }
            self.known.retain(|known| known.typed != target.path);
            self.known.push(KnownTarget { typed: target.path.clone(), thing });
        }
    }

    fn measure(&self, line: &Line) -> Result<Document, Fault> {
        let command_line = std::iter::once(&self.program).chain(line.words()).cloned().collect();
        let mut request = line.request().beginning(uptime_ms());
        if let Some(ranks) = &self.ranks {
            ranks.arrange(&mut request.to_mut().profile);
        }
        let ready = Ready::of(&request, command_line).map_err(|error| {
            let refusal = Refusal::command_line(error.to_string()).about(&["-engine"]);
            self.grammar.marked(line.words(), vec![refusal])
        })?;
        let paths = line.request().profile.targets().map(|target| &target.path);
        let own = paths.filter(|path| self.is_own(path)).cloned();
        let ready = ready.in_series(self.known.clone(), self.held.clone()).owning(own);
        let Some(ranks) = &self.ranks else {
            let ready = ready.telling(self.watch.progress_every());
            let report = ready
                .run(&|event| self.tell_of_run(event), &self.stop)
                .map_err(|refusals| self.grammar.marked(line.words(), refusals))?;
            if report.failures.is_empty() {
                return Ok(report.document);
            }
            return Err(report.failures.into());
        };
        let ready = ready.telling(Some(RANKS_TELL_EVERY)).with_ranks(ranks.ranks());
        let finished = ready.run(
            &|event| {
                self.tell_of_run(match event {
                    load::Event::Progress(own) => load::Event::Progress(ranks.progress(&own)),
                    load::Event::Counted(own) => load::Event::Counted(ranks.counted(own)),
                    other => other,
                });
            },
            &self.stop,
        );
        match finished {
            Ok(report) => ranks.sum(report),
            // Refused by this process or by another one.
            Err(own) => {
                let mut refusals = self.grammar.marked(line.words(), own);
                refusals.all.extend(ranks.refusals());
                if refusals.all.is_empty() {
                    return Err(Failure::new(FailureKind::Interrupted, "the run was called off").into());
                }
                Err(refusals.into())
            }
        }
    }

    /// Reports an event of a run, unless an earlier run reported the same.
    fn tell_of_run(&self, event: load::Event) {
        if let load::Event::Reused { path, .. } = &event {
            // It is expected that a run uses the file that an earlier one made.
            if self.is_own(path) {
                return;
            }
        }
        if let load::Event::Warning(words) | load::Event::Note(words) | load::Event::Reused { words, .. } =
            &event
        {
            let Ok(mut told) = self.told.lock() else { return };
            if told.contains(words) {
                return;
            }
            told.push(words.clone());
        }
        self.watch.see(Event::Run(event));
    }
}

/// The files and devices that these paths lead to now.
fn look(paths: &[String]) -> Vec<KnownTarget> {
    paths.iter().filter_map(|path| KnownTarget::look(path, &Roots::default())).collect()
}

impl Runner for Series {
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended> {
        self.grammar.line(words.clone()).map_err(|refusals| {
            self.broken = Some(Line::new(words, Request::default()).allowing(&self.overwrite));
            self.hindered(refusals)
        })
    }

    fn run(&mut self, step: &Step) -> Result<Document, Ended> {
        if self.stop.is_set() {
            return Err(Ended::Stopped);
        }
        if step.kind.prepares() && !self.has_prepared {
            self.owed.clear();
        }
        self.has_prepared = step.kind.prepares();
        let step = &Step { length: self.lasting(step.length), ..step.clone() };
        let line = self.line_of(step)?.allowing(&self.overwrite);
        self.watch.see(Event::Begins(step));
        if let Some(document) = self.kept(step, &line)? {
            self.note_disks(&document);
            self.watch.see(Event::Done { step, document: &document, is_kept: true });
            if step.kind.prepares() {
                self.owed.push(step.clone());
            }
            return Ok(document);
        }
        for owed in std::mem::take(&mut self.owed) {
            self.watch.see(Event::Repeats(&owed));
            self.watch.see(Event::Begins(&owed));
            self.make(owed.line.allowing(&self.overwrite))?;
            self.watch.see(Event::Begins(step));
        }
        let document = self.make(line)?;
        self.note_disks(&document);
        if let Some(keep) = &mut self.keep {
            keep.put(step, &document)?;
        }
        self.watch.see(Event::Done { step, document: &document, is_kept: false });
        Ok(document)
    }

    fn pause(&mut self, length: Duration) -> Result<(), Ended> {
        if !std::mem::take(&mut self.has_run) {
            return Ok(());
        }
        self.watch.see(Event::Pause(length));
        if Latch::wait_any(&[&self.stop], Some(length)) { Err(Ended::Stopped) } else { Ok(()) }
    }

    fn ahead(&mut self, ahead: Ahead) {
        let ahead: Ahead = [ahead, self.later].into_iter().sum();
        self.watch.see(Event::Ahead(Ahead { length: self.lasting(ahead.length), ..ahead }));
    }

    fn tell(&mut self, words: &str) {
        self.watch.see(Event::Note(words));
    }

    fn at(&mut self, words: &str) {
        self.watch.see(Event::At(words));
    }
}

/// The other processes of a series.
pub trait SeriesRanks: Debug + Send + Sync {
    /// How many there are, with this one.
    fn count(&self) -> u32;

    /// This process shows the series, writes its results and keeps them.
    fn shows(&self) -> bool;

    /// The latch that ends the series of this process; `notice` is called when the person wants that.
    fn stop(&self, notice: Box<dyn Fn() + Send + Sync>) -> Latch;

    /// Makes the profile of a step that of this process: a rate is shared among all.
    fn arrange(&self, profile: &mut Profile);

    /// For the run of a step.
    fn ranks(&self) -> Arc<dyn Ranks>;

    /// The progress of all, of that of this process.
    fn progress(&self, own: &Progress) -> Progress;

    /// What all counted over a time span, of what this process did.
    fn counted(&self, own: Counted) -> Counted;

    /// Why the others refuse a step.
    fn refusals(&self) -> Vec<Refusal>;

    /// The sum of the results of all processes, of that of this one: the same on all of them.
    ///
    /// # Errors
    /// A process failed or is lost.
    fn sum(&self, own: FinishedRun) -> Result<Document, Fault>;
}

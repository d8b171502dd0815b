//! Run a profile: prepare files, start threads together, pace, issue, record, stop.
//!
//! [`run`] is the one deep call. It refuses before anything is touched, tells what goes on through
//! events, and returns the document also when the run failed.

mod activity;
pub mod bare;
pub mod before;
mod calibrate;
mod content;
mod controller;
mod counters;
mod document;
pub mod events;
pub mod facts;
pub mod fill;
pub mod live;
mod phases;
mod prepare;
mod series;
mod start;
mod targets;
mod verbose;
mod worker;
mod writes;

use std::time::Duration;

use crate::engine::EngineRow;
use crate::fault::{Failure, FailureKind, Refusal};
use crate::guard::mark::Marks;
use crate::guard::{Custody, Guard};
use crate::machine::memory::memory_facts;
use crate::machine::roots::Roots;
use crate::machine::storage::resolve;
use crate::machine::topology::{Topology, TopologyError};
use crate::measure::clock::MachineClock;
use crate::measure::process::process_usage;
use crate::plan::{ThreadWork, assign, precreate_sizes};
use crate::profile::{Profile, Target, TimeSpan};
use crate::result::{Document, Measured, System, TimeSpanResult};
use crate::sys::error::system_text;
use crate::sys::identity::Identity;
use crate::sys::thread::Interrupter;
use crate::sys::wake::Latch;

pub use events::EventNames;

use activity::Sources;
use calibrate::self_cost;
use content::look_before;
use controller::{Control, SpanOutcome, run_threads};
use counters::Wanted;
use fill::Content;
use live::Progress;
use phases::Lengths;
use prepare::{Checked, Creation};
use start::StartContext;
use targets::TargetState;

/// What goes on during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A step of progress (`-P`).
    Dot,
    /// A line for verbose mode (`-v`).
    Verbose(String),
    /// Something the person should see at once.
    Note(String),
    /// A file that is there is taken as it is.
    Reused {
        /// Its path.
        path: String,
        /// Which it is and why it may be taken, in a sentence.
        words: String,
    },
    /// A warning known before the run, also in the document.
    Warning(String),
    /// A file is being written.
    Fill {
        /// Path as given.
        path: String,
        /// Written so far.
        done_bytes: u64,
        /// Size of the file.
        total_bytes: u64,
    },
    /// Where the time span is, when [`Options::progress_every`] asks for it.
    Progress(Progress),
}

/// Receives events, also from worker threads.
pub type OnEvent<'a> = &'a (dyn Fn(Event) + Sync);

/// What a run needs beyond the profile.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The words as typed, program name first, for the document.
    pub command_line: Vec<String>,
    /// `--engine NAME[:parameters]`.
    pub engine: Option<(&'static EngineRow, String)>,
    /// Targets that may be written although they hold foreign data (`--overwrite`).
    pub overwrite: Vec<String>,
    /// Always write `-c` files anew (`--recreate`).
    pub recreate: bool,
    /// `-ys -yf -yr -yp`.
    pub events: EventNames,
    /// How often to tell where a time span is; [`Event::Progress`].
    pub progress_every: Option<Duration>,
}

/// A finished run.
#[derive(Debug)]
pub struct Report {
    /// The result.
    pub document: Document,
    /// Why the run failed; empty when it did not.
    pub failures: Vec<Failure>,
    /// Facts for standard error: engine, queue depth, steal.
    pub notes: Vec<String>,
}

/// The machine, for the document.
///
/// # Errors
/// When the processors cannot be read.
pub fn system() -> Result<System, TopologyError> {
    let roots = Roots::default();
    Ok(System {
        computer_name: crate::machine::host::host_name(),
        start_unix_s: crate::machine::host::unix_time_s(),
        topology: Topology::of_this_machine()?,
        power_scheme: crate::machine::host::power_scheme(&roots),
        kernel_release: crate::machine::host::kernel_release(),
        memory_bytes: memory_facts(&roots).ok().and_then(|m| m.total_bytes),
    })
}

/// What went wrong.
type Failures = Vec<Failure>;

/// Runs `profile` until it is done, fails, or `stop` is set.
///
/// # Errors
/// Refusals found before anything was created, opened for writing or changed.
pub fn run(
    profile: &Profile,
    options: &Options,
    on_event: OnEvent<'_>,
    stop: &Latch,
) -> Result<Report, Vec<Refusal>> {
    let unreadable = |e: TopologyError| vec![Refusal::machine(&[], None, e.to_string())];
    let system = system().map_err(unreadable)?;
    let checked = prepare::check_before(profile, options, &system.topology)?;
    let mut report = Report {
        document: Document {
            command_line: options.command_line.clone(),
            profile: profile.clone(),
            system,
            time_spans: Vec::new(),
            warnings: Vec::new(),
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            ..Document::default()
        },
        failures: Vec::new(),
        notes: Vec::new(),
    };
    let session = Session { profile, options, on_event, stop };
    checked.iter().flat_map(|c| &c.warnings).for_each(|words| session.warn(words, &mut report));
    if let Err(failures) = session.run_all(&checked, &mut report) {
        report.failures = failures;
    }
    // Every time span of the profile has its entry, also those never reached.
    report.document.time_spans.resize_with(profile.time_spans.len(), || TimeSpanResult::NotMeasured);
    report.document.notes.clone_from(&report.notes);
    report.document.failures = report.failures.iter().map(ToString::to_string).collect();
    Ok(report)
}

/// A failure of the system.
fn failed(kind: FailureKind, what: &str, error: &std::io::Error) -> Failures {
    vec![Failure::new(kind, what).because(system_text(error))]
}

/// One call of [`run`].
struct Session<'a> {
    profile: &'a Profile,
    options: &'a Options,
    on_event: OnEvent<'a>,
    stop: &'a Latch,
}

/// What all time spans share.
struct Tools {
    clock: MachineClock,
    interrupter: Interrupter,
    handles: events::Handles,
    /// Paths that were created up front.
    precreated: Vec<String>,
}

impl Session<'_> {
    fn run_all(&self, checked: &[Checked], report: &mut Report) -> Result<(), Failures> {
        let interrupter = Interrupter::install()
            .map_err(|e| failed(FailureKind::Thread, "could not prepare to interrupt threads", &e))?;
        let handles = events::Handles::open(&self.options.events).map_err(|e| vec![e])?;
        let mut custody = Custody::default();
        let precreated = self.precreate(&mut custody)?;
        let tools = Tools { clock: MachineClock::start(), interrupter, handles, precreated };
        std::thread::scope(|scope| {
            let done =
                Latch::new().map_err(|e| failed(FailureKind::Resource, "no file descriptor left", &e))?;
            tools.handles.watch_stop(scope, self.stop, &done).map_err(|e| vec![e])?;
            let result = self.run_spans(checked, &tools, &mut custody, report);
            done.set();
            result
        })
    }

    fn run_spans(
        &self,
        checked: &[Checked],
        tools: &Tools,
        custody: &mut Custody,
        report: &mut Report,
    ) -> Result<(), Failures> {
        for (span, checked) in self.profile.time_spans.iter().zip(checked) {
            // A stop ends the time span it falls into and all that follow.
            if self.stop.is_set() {
                break;
            }
            let measured = self.run_span(span, checked, tools, custody, report)?;
            report.document.time_spans.push(match measured {
                Some(measured) => TimeSpanResult::Measured(Box::new(measured)),
                None => TimeSpanResult::NotMeasured,
            });
        }
        Ok(())
    }

    /// Files of `PrecreateFiles`, which time spans then do not create again.
    fn precreate(&self, custody: &mut Custody) -> Result<Vec<String>, Failures> {
        let mut done = Vec::new();
        for file in precreate_sizes(self.profile) {
            let creation = Creation {
                typed: &file.path,
                size_bytes: file.size_bytes,
                content: if file.zero { Content::Zero } else { Content::Pattern0to255 },
                writes: self.profile.time_spans.iter().flat_map(|s| &s.targets).any(|t| t.writes()),
            };
            let file_made = prepare::create(&creation, self.options, self.on_event, self.stop);
            file_made.map_err(|e| vec![e])?.iter().for_each(|made| custody.add(made));
            done.push(file.path);
        }
        Ok(done)
    }

    /// Files of `-c`.
    fn create_files(&self, span: &TimeSpan, tools: &Tools, custody: &mut Custody) -> Result<(), Failures> {
        for target in &span.targets {
            let Some(size_bytes) = target.create_bytes.filter(|&s| s > 0) else { continue };
            if tools.precreated.contains(&target.path) {
                continue;
            }
            let creation = Creation {
                typed: &target.path,
                size_bytes,
                content: prepare::content_of(target, span.random_write_data, span.rand_seed),
                writes: target.writes(),
            };
            let file_made = prepare::create(&creation, self.options, self.on_event, self.stop);
            if self.stop.is_set() {
                return Ok(());
            }
            file_made.map_err(|e| vec![e])?.iter().for_each(|made| custody.add(made));
        }
        Ok(())
    }

    /// One time span: files, targets, threads, numbers. `None` when nothing was measured.
    fn run_span(
        &self,
        span: &TimeSpan,
        checked: &Checked,
        tools: &Tools,
        custody: &mut Custody,
        report: &mut Report,
    ) -> Result<Option<Measured>, Failures> {
        self.create_files(span, tools, custody)?;
        if self.stop.is_set() {
            return Ok(None);
        }
        let roots = Roots::default();
        let marks = Marks::of_this_user();
        let guard = Guard { overwrite: &self.options.overwrite, marks: &marks, roots: &roots };
        let targets = targets::open_all(span, &guard, &checked.identities, custody)?;
        self.say_facts(span, &targets, report);
        let works = assign(span, &checked.cpus);
        let clock = tools.clock.refined();
        self.say_threads(span, &works, &targets, &clock);
        let context = StartContext {
            span,
            targets: &targets,
            engine: self.options.engine.clone(),
            wanted: wanted(span),
            progress_ios: self.profile.progress_ios,
            is_virtual: self.options.engine.as_ref().is_some_and(|(row, _)| row.simulates_time),
            huge_page_bytes: memory_facts(&roots)
                .ok()
                .and_then(|m| m.huge_page_bytes)
                .map_or(HUGE_PAGE_BYTES_USUAL, |b| b as usize),
        };
        let sources = match context.is_virtual {
            true => Sources::none(),
            false => Sources::open(targets.iter().map(|t| &t.chain[..]), &roots),
        };
        let control = Control {
            lengths: lengths(span),
            stop: self.stop,
            wait_for_start: &|| tools.handles.wait_for_start(self.stop),
            signals: &tools.handles,
            on_event: self.on_event,
            progress_every: self.options.progress_every,
            clock: &clock,
            interrupter: tools.interrupter,
            sources: &sources,
        };
        let self_cost = (!context.is_virtual).then(|| self_cost(span, &works, &targets, &clock)).flatten();
        self_cost.iter().for_each(|cost| self.say(verbose::self_cost(cost)));
        let mut looks = if context.is_virtual { Vec::new() } else { look_before(span, &targets) };
        let used_before = process_usage();
        targets.iter().for_each(|state| state.begin_writing(&marks, longest(span)));
        let (outcome, lost) = keeping(custody, self.stop, || run_threads(works.clone(), &context, &control));
        custody.devices_are_written();
        looks.iter_mut().zip(&targets).for_each(|(look, state)| look.look_after(state.file()));
        targets.iter().for_each(|state| state.end_writing(&marks));
        if let Some(identity) = lost {
            let is_it = |both: &(&Target, &TargetState)| both.1.identity() == identity;
            let path = span.targets.iter().zip(&targets).find(is_it).map_or("a device", |both| &both.0.path);
            let words = format!(
                "'{path}' was taken by something else when another run on it ended, so this run was stopped (see \
                 lsblk)"
            );
            return Err(vec![Failure::new(FailureKind::Lost, words).on(path)]);
        }
        let outcome = outcome.map_err(|e| {
            let mut failures = failed(FailureKind::Thread, "could not start the threads", &e);
            failures[0].hints.push("raise the limit of processes or open files".into());
            failures
        })?;
        let clock_facts = document::clock_facts(&clock, context.is_virtual, outcome.drift_ppm);
        let own_cost = document::own_cost(&used_before);
        let mut measured = self.conclude(span, &context, &works, outcome, report)?;
        if let Some(measured) = &mut measured {
            measured.evidence.clock = Some(clock_facts);
            measured.evidence.own_cost = Some(own_cost);
            measured.evidence.self_cost = self_cost;
            if context.is_virtual {
                // No simulated I/O reaches what lies below a target.
                measured.evidence.targets.iter_mut().for_each(|t| t.layers.clear());
            } else {
                measured.evidence.limits = facts::limits(targets.iter().map(|t| &t.chain[..]), &roots);
            }
            let target_facts = &mut measured.evidence.targets;
            target_facts.iter_mut().zip(looks).for_each(|(facts, look)| look.tell(facts));
        }
        Ok(measured)
    }

    /// Failures, or the numbers with what should be said about them.
    fn conclude(
        &self,
        span: &TimeSpan,
        context: &StartContext<'_>,
        works: &[ThreadWork],
        outcome: SpanOutcome,
        report: &mut Report,
    ) -> Result<Option<Measured>, Failures> {
        let mut failures: Failures = outcome.start_failures.iter().cloned().map(Failure::from).collect();
        for (thread, outcome) in &outcome.outcomes {
            failures.extend(outcome.failures.iter().map(|f| document::failure_of(*thread, f, span)));
            if outcome.stuck > 0 {
                report.notes.push(format!("thread {thread}: {} I/Os never came back", outcome.stuck));
            }
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        if outcome.measured_ns == 0 {
            return Ok(None);
        }
        if outcome.drift_ppm.abs() > DRIFT_PPM_NOTABLE {
            report.document.warnings.push(format!(
                "the clock ran {:.0} parts per million off CLOCK_MONOTONIC during the run: rates and times are wrong by \
                 as much",
                outcome.drift_ppm
            ));
        }
        let topology = &report.document.system.topology;
        let (measured, notes) =
            document::measured(span, context.wanted, works, context.targets, outcome, topology);
        report.notes.push(format!("engine: {}", measured.engine));
        report.notes.extend(measured.engine_notes.iter().cloned());
        report.notes.extend(notes);
        report.document.warnings.extend(document::short_transfer_words(span, &measured.threads));
        Ok(Some(measured))
    }

    /// Facts about the opened targets that change what the numbers mean.
    fn say_facts(&self, span: &TimeSpan, targets: &[TargetState], report: &mut Report) {
        for (target, state) in span.targets.iter().zip(targets) {
            let (path, size) = (&target.path, state.facts.size_bytes);
            let by_id = resolve(path, &Roots::default()).ok().and_then(|r| r.by_id);
            let by_id = by_id.map(|p| p.display().to_string());
            self.say(verbose::target(target, state, by_id.as_deref()));
            verbose::priority(target, state).into_iter().for_each(|words| self.say(words));
            let mut warnings = Vec::new();
            if state.ranges.range.is_limit_beyond_size() {
                warnings.push(format!(
                    "'{path}': the end of the tested range ({} bytes) lies beyond the size of the target; its size of \
                     {size} bytes is used",
                    target.max_bytes
                ));
            }
            let filesystem = state.facts.filesystem.as_ref();
            if target.is_direct()
                && let Some(f) = filesystem.filter(|f| f.is_memory)
            {
                warnings.push(format!(
                    "'{path}' is on {}, which keeps files in memory: direct I/O is accepted there and bypasses nothing",
                    f.name
                ));
            }
            warnings.iter().for_each(|words: &String| self.warn(words, report));
        }
    }

    /// Warns once, at once and in the document.
    fn warn(&self, words: &str, report: &mut Report) {
        let known = &mut report.document.warnings;
        if !known.iter().any(|w| w == words) {
            known.push(words.to_string());
            (self.on_event)(Event::Warning(words.to_string()));
        }
    }

    fn say(&self, words: String) {
        (self.on_event)(Event::Verbose(words));
    }

    /// What the threads are about to do, when somebody wants to know.
    fn say_threads(
        &self,
        span: &TimeSpan,
        works: &[ThreadWork],
        targets: &[TargetState],
        clock: &MachineClock,
    ) {
        if !self.profile.verbose {
            return;
        }
        self.say(verbose::clock(clock));
        for work in works {
            self.say(verbose::thread(work));
            for duty in &work.duties {
                self.say(verbose::duty(work, duty, span, &targets[duty.target]));
            }
        }
    }
}

/// Where the kernel tells no size of huge pages it has none, and says so when they are asked for.
const HUGE_PAGE_BYTES_USUAL: usize = 2 << 20;
/// Beyond this the clock of a run is worth a warning: a tenth of the error that measured times may have.
/// Below it lies what calibrating for a few milliseconds on a busy machine leaves, and what time
/// synchronisation does to the kernel's clock on a quiet day.
const DRIFT_PPM_NOTABLE: f64 = 100.0;

fn wanted(span: &TimeSpan) -> Wanted {
    let ns_of_ms = |ms: u32| u64::from(ms) * 1_000_000;
    Wanted {
        latency: span.measure_latency,
        intervals: span
            .calculate_iops_std_dev
            .then(|| (ns_of_ms(span.io_bucket_ms), lengths(span).duration_ns)),
    }
}

/// A run whose threads end late says so in good time: what is written after that counts as somebody else's.
const LATE: Duration = Duration::from_secs(60);

/// How long a time span can write at most.
fn longest(span: &TimeSpan) -> Duration {
    [span.warmup_s, span.duration_s, span.cooldown_s]
        .map(|s| Duration::from_secs(u64::from(s)))
        .iter()
        .sum::<Duration>()
        + LATE
}

/// How often a device that another run holds is asked for.
const TAKE_OVER_PAUSE: Duration = Duration::from_millis(50);

/// Does something while devices that another run holds are taken over once that ends. When somebody else was faster,
/// `stop` is set, and which device it was comes with the result.
fn keeping<T>(custody: &mut Custody, stop: &Latch, run: impl FnOnce() -> T) -> (T, Option<Identity>) {
    if custody.is_settled() {
        return (run(), None);
    }
    let Ok(over) = Latch::new() else { return (run(), None) };
    std::thread::scope(|scope| {
        let take_over = || {
            while !Latch::wait_any(&[&over], Some(TAKE_OVER_PAUSE)) {
                if let Some(lost) = custody.settle() {
                    stop.set();
                    return Some(lost);
                }
            }
            None
        };
        // Without a thread for that there is hardly one for the run, which tells why.
        let keeper = std::thread::Builder::new().spawn_scoped(scope, take_over);
        let result = run();
        over.set();
        (result, keeper.ok().and_then(|keeper| keeper.join().unwrap_or(None)))
    })
}

fn lengths(span: &TimeSpan) -> Lengths {
    let ns_of_s = |s: u32| u64::from(s) * 1_000_000_000;
    Lengths {
        warmup_ns: ns_of_s(span.warmup_s),
        duration_ns: ns_of_s(span.duration_s),
        cooldown_ns: ns_of_s(span.cooldown_s),
    }
}

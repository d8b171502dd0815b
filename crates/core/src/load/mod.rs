//! Run a profile: prepare files, start threads together, pace, issue, record, stop.
//!
//! [`run`] is the one deep call. It refuses before anything is touched, tells what goes on through
//! events, and returns the document also when the run failed.

mod activity;
pub mod bare;
pub mod before;
mod content;
mod context;
mod controller;
mod counters;
mod document;
mod drives;
mod entries;
pub mod events;
pub mod facts;
pub mod fill;
mod layout;
pub mod live;
mod other_runs;
mod phases;
mod precondition;
mod prepare;
mod progress;
pub mod ranks;
pub mod readback;
mod rounds;
mod serving;
mod span;
mod steadiness;
mod steps;
mod targets;
pub mod verified;
pub mod verify_log;
mod worker;
mod written_back;

use crate::guard::mark::Marks;
use crate::measure::clock::MachineClock;
use crate::profile::Profile;
use crate::result::{Document, System, TimeSpanResult};
use truespd_platform::fault::{Failure, FailureKind, Refusal};
use truespd_platform::machine::limits::memory_facts;
use truespd_platform::machine::processor_caches::processor_caches;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::topology::{Topology, TopologyError};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::system::page_bytes;
use truespd_platform::sys::thread::Interrupter;

pub use context::{Event, FinishedRun, HeldDevices, KnownTarget, Note, OnEvent, Options};

use context::{Failures, Run};
use prepare::Checked;
use ranks::CalledOff;

/// The machine, for the document.
///
/// # Errors
/// When the processors cannot be read.
pub fn system() -> Result<System, TopologyError> {
    let roots = Roots::default();
    let topology = Topology::of_this_machine()?;
    Ok(System {
        computer_name: truespd_platform::machine::host::host_name(),
        start_unix_s: truespd_platform::machine::host::unix_time_s(),
        processor_name: truespd_platform::machine::host::processor_model(&roots).unwrap_or_default(),
        machine_model: truespd_platform::machine::host::machine_model(&roots),
        caches: processor_caches(&roots.sys, &topology),
        page_bytes: Some(page_bytes() as u64),
        topology,
        power_scheme: truespd_platform::machine::host::power_scheme(&roots),
        kernel_release: truespd_platform::machine::host::kernel_release(),
        memory_bytes: memory_facts(&roots).ok().and_then(|m| m.total_bytes),
    })
}

/// Runs `profile` until it is done, fails, or `stop` is set.
///
/// # Errors
/// Refusals found before anything was created, opened for writing or changed; none of them where only another process
/// refuses ([`ranks`]). Also why a write test could not begin with its I/O: the files that it made are removed again.
pub fn run(
    profile: &Profile,
    options: &Options,
    on_event: OnEvent<'_>,
    stop: &Latch,
) -> Result<FinishedRun, Vec<Refusal>> {
    if options.precondition.is_some() {
        return precondition::run(profile, options, on_event, stop, run);
    }
    let system = system().map_err(|e: TopologyError| vec![Refusal::machine(&[], None, e.to_string())])?;
    let checked = prepare::check_before(profile, options, &system.topology).and_then(|checked| {
        let handles = events::Handles::open(&options.events).map_err(|refusal| vec![refusal])?;
        Ok((checked, handles))
    });
    let (checked, handles) = agreed(profile, options, checked)?;
    let companions = options.ranks.as_ref().map(|companions| companions.processes());
    let document = Document {
        command_line: options.command_line.clone(),
        profile: profile.clone(),
        system,
        tool_version: env!("CARGO_PKG_VERSION").to_string(),
        ..Document::default()
    };
    let mut run = Run {
        profile,
        options,
        on_event,
        stop,
        handles: &handles,
        clock: MachineClock::start(),
        roots: Roots::default(),
        marks: Marks::of_this_user(),
        custody: options.held.take(companions.unwrap_or_default()),
        made: Vec::new(),
        has_begun: false,
        precreated: Vec::new(),
        report: FinishedRun { document, failures: Vec::new(), notes: Vec::new() },
    };
    checked.iter().flat_map(|c| &c.warnings).for_each(|words| run.warn(words));
    checked.iter().flat_map(|c| &c.notes).for_each(|words| run.note(words.clone()));
    let ended = run.run_all(&checked);
    if let Err(failures) = &ended
        && run.is_taken_back()
    {
        run.made.iter().for_each(|made| made.remove(&run.roots));
        options.held.keep(run.custody);
        return Err(failures.iter().cloned().map(prepare::certain).collect());
    }
    options.held.keep(run.custody);
    let mut report = run.report;
    report.failures.extend(ended.err().unwrap_or_default());
    // Every time span of the profile has its entry, also those never reached.
    report.document.time_spans.resize_with(profile.time_spans.len(), || TimeSpanResult::NotMeasured);
    report.document.notes = report.notes.iter().map(|note| note.words.clone()).collect();
    report.document.failures = report.failures.iter().map(ToString::to_string).collect();
    Ok(report)
}

/// What was checked, when the other processes agree as well.
fn agreed<T>(
    profile: &Profile,
    options: &Options,
    checked: Result<T, Vec<Refusal>>,
) -> Result<T, Vec<Refusal>> {
    let Some(companions) = &options.ranks else { return checked };
    let refusals = checked.as_ref().err().map_or(&[][..], Vec::as_slice);
    let places = ranks::places(profile, &Roots::default());
    match companions.agree(&places, refusals) {
        Ok(()) => checked,
        Err(CalledOff) => Err(checked.err().unwrap_or_default()),
    }
}

/// A failure of the system.
fn failed(kind: FailureKind, what: &str, error: &std::io::Error) -> Failures {
    vec![Failure::new(kind, what).because(system_text(error))]
}

impl Run<'_> {
    /// A write test that could not begin is like one that was refused: nothing of it stays. Other ranks wait for a
    /// result.
    fn is_taken_back(&self) -> bool {
        let mut targets = self.profile.targets();
        !self.has_begun
            && !self.stop.is_set()
            && self.options.ranks.is_none()
            && targets.any(|it| it.writes())
    }

    fn run_all(&mut self, checked: &[Checked]) -> Result<(), Failures> {
        let interrupter = Interrupter::install()
            .map_err(|e| failed(FailureKind::Thread, "could not prepare to interrupt threads", &e))?;
        self.precreate()?;
        std::thread::scope(|scope| {
            let done =
                Latch::new().map_err(|e| failed(FailureKind::Resource, "no file descriptor left", &e))?;
            self.handles.watch_stop(scope, self.stop, &done).map_err(|e| vec![e])?;
            let result = self.run_spans(checked, interrupter);
            done.set();
            result
        })
    }

    fn run_spans(&mut self, checked: &[Checked], interrupter: Interrupter) -> Result<(), Failures> {
        for (index, checked) in checked.iter().enumerate() {
            // A stop ends the time span it falls into and all that follow, and so do writes that were lost.
            if self.stop.is_set() || !self.report.failures.is_empty() {
                break;
            }
            let measured = self.run_span(index, checked, interrupter)?;
            self.report.document.time_spans.push(match measured {
                Some(measured) => TimeSpanResult::Measured(Box::new(measured)),
                None => TimeSpanResult::NotMeasured,
            });
        }
        Ok(())
    }
}

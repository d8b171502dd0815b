//! After a test of buffered writes: has what it wrote reached the storage? A device that failed or ran full
//! underneath tells it to whoever flushes next, and nobody else.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use super::context::Event;
use super::context::{Failures, OnEvent, Run};
use super::targets::TargetState;
use crate::profile::{Target, TimeSpan};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::sys::aside::Flushes;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::events::Latch;

/// The run waits this long for the storage, of all targets together.
const LIMIT: Duration = Duration::from_secs(30);
/// A person who waits longer is told why.
const UNTOLD: Duration = Duration::from_secs(1);
/// How often a stop is looked for.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// What is not known of the writes of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    TookTooLong,
    Stopped,
}

impl Run<'_> {
    /// Flushes the targets whose writes may still be in the page cache.
    ///
    /// # Errors
    /// The writes that are lost.
    pub fn write_back(&mut self, span: &TimeSpan, targets: &[TargetState]) -> Result<(), Failures> {
        let written: Vec<&TargetState> = span
            .targets
            .iter()
            .zip(targets)
            .filter(|(target, _)| is_buffered(target))
            .map(|(_, it)| it)
            .collect();
        if written.is_empty() || self.stop.is_set() {
            return Ok(());
        }
        let files: Vec<&File> = written.iter().map(|state| &state.file).collect();
        let ended = flush_all(&files, self.stop, self.on_event);
        let ended = ended.map_err(|error| {
            let failure = Failure::new(FailureKind::Resource, "could not flush what the test wrote");
            vec![failure.because(system_text(&error))]
        })?;
        let mut failures = Vec::new();
        for (state, ended) in written.iter().zip(ended) {
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(code)) => failures.push(lost(&state.typed, code)),
                Err(unknown) => self.note(unknown_words(&state.typed, unknown)),
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }
}

/// The test writes through the page cache or a memory map. What is verified is flushed at its end anyhow.
fn is_buffered(target: &Target) -> bool {
    target.writes_data()
        && !target.is_direct()
        && !target.verify
        && (!target.write_through || target.memory_mapped)
}

/// Flushes files; what came of each.
fn flush_all(
    files: &[&File],
    stop: &Latch,
    on_event: OnEvent<'_>,
) -> io::Result<Vec<Result<Result<(), Code>, Unknown>>> {
    let mut flushes = Flushes::begin(files)?;
    let mut ended = vec![Err(Unknown::TookTooLong); files.len()];
    let begun = Instant::now();
    let mut is_told = false;
    while begun.elapsed() < LIMIT {
        match flushes.next(LOOK_PAUSE) {
            Ok(Some((file, said))) => ended[file] = Ok(said),
            Ok(None) => return Ok(ended),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            Err(error) => return Err(error),
        }
        if stop.is_set() {
            return Ok(ended.into_iter().map(|one| one.map_err(|_| Unknown::Stopped)).collect());
        }
        if begun.elapsed() > UNTOLD && !std::mem::replace(&mut is_told, true) {
            on_event(Event::Note(format!(
                "the test is over; waiting until the storage has what it wrote to the page cache, at most {} s \
                 (Ctrl+C ends the wait)",
                LIMIT.as_secs()
            )));
        }
    }
    Ok(ended)
}

fn lost(typed: &str, code: Code) -> Failure {
    let words = format!(
        "'{typed}': some of what the test wrote never reached the storage: the page cache took it, and the figures \
         count it"
    );
    Failure::new(FailureKind::Io, words).on(typed).because(code.text()).hint(
        "the device failed, or what is below it is full (a thin volume, a sparse image): dmesg may say which",
    )
}

fn unknown_words(typed: &str, unknown: Unknown) -> String {
    let why = match unknown {
        Unknown::TookTooLong => format!("the storage had not taken it {} s after the test", LIMIT.as_secs()),
        Unknown::Stopped => "the wait for the storage was stopped".to_string(),
    };
    format!(
        "'{typed}': whether all that the test wrote to the page cache reaches the storage is not known: {why}"
    )
}

//! One judged run.
//!
//! [`Ready`] runs a request: it checks that its engine is available, runs it, and judges the document.
//! `diskspd` and every step of a series use it. [`outputs`] are the files for results (those that are not
//! complete: [`unfinished`]), [`required`] is `--require`, and [`signals`] stop a run. Nothing here prints or
//! parses a command line.

pub mod outputs;
pub mod required;
pub mod signals;
pub mod unfinished;

use std::sync::Arc;
use std::time::Duration;

use crate::request::{EngineChoice, Request};
use truespd_core::engine::{self, EngineError};
use truespd_core::fault::Refusal;
use truespd_core::load::ranks::Ranks;
use truespd_core::load::{self, FinishedRun, OnEvent};
use truespd_core::sys::events::Latch;
use truespd_core::verdict::judge;

/// A request whose engine is available on this machine.
#[derive(Debug)]
pub struct Ready<'a> {
    request: &'a Request,
    options: load::Options,
}

impl<'a> Ready<'a> {
    /// `command_line` goes into the document, program first. The profile of the request must have been read.
    ///
    /// # Errors
    /// Why the engine of `--engine` is not available here.
    pub fn of(request: &'a Request, command_line: Vec<String>) -> Result<Self, EngineError> {
        let options = &request.options;
        let options = load::Options {
            command_line,
            engine: options.engine.as_ref().map(available).transpose()?,
            overwrite: options.overwrite.clone(),
            unchecked: options.unchecked.clone(),
            exclusive: options.exclusive,
            quick_check: options.quick_check,
            recreate: options.recreate,
            events: request.events.clone(),
            progress_every: None,
            patience: None,
            ranks: None,
        };
        Ok(Ready { request, options })
    }

    /// The same, and its run reports its progress this often.
    pub fn telling(mut self, progress_every: Option<Duration>) -> Self {
        self.options.progress_every = progress_every;
        self
    }

    /// The same, together with other processes.
    pub fn with_ranks(mut self, ranks: Arc<dyn Ranks>) -> Self {
        self.options.ranks = Some(ranks);
        self
    }

    /// Runs it until it is done or `stop` is set. The document has its verdict, also when the run failed.
    ///
    /// # Errors
    /// Why it is refused; nothing was changed.
    pub fn run(&self, on_event: OnEvent<'_>, stop: &Latch) -> Result<FinishedRun, Vec<Refusal>> {
        let mut report = load::run(&self.request.profile, &self.options, on_event, stop)?;
        report.document.verdict = Some(judge(&report.document));
        Ok(report)
    }
}

/// The engine of `--engine`, when this machine can open it.
fn available(choice: &EngineChoice) -> Result<(&'static engine::EngineRow, String), EngineError> {
    // The words were checked when they were read.
    let row = engine::find(&choice.name).expect("reading refuses unknown engines");
    (row.probe)()?;
    Ok((row, choice.parameters.clone()))
}

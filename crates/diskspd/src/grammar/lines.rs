//! The grammar for the rooms below: command lines that suites make.

use crate::grammar::parse::Invocation;
use crate::grammar::parse::{parse, refuse_findings, refuse_plan};
use crate::request::{Grammar, Line};
use truespd_core::fault::{Refusal, Refusals};
use truespd_core::machine::host::uptime_ms;

/// Lines of a program of this name.
pub struct Lines {
    /// `truespd mark`, for messages.
    pub program: String,
}

impl Grammar for Lines {
    fn line(&self, words: Vec<String>) -> Result<Line, Refusals> {
        let Invocation::Run(mut request) = parse(&words, &self.program, &uptime_ms)? else {
            return Err(Refusal::command_line("a command line of a suite must run something").into());
        };
        request.load_profile().map_err(|error| {
            error.refusals(|profile, findings| refuse_findings(&words, &self.program, profile, findings))
        })?;
        Ok(Line::new(words, *request))
    }

    fn marked(&self, words: &[String], refusals: Vec<Refusal>) -> Refusals {
        refuse_plan(words, &self.program, &refusals)
    }
}

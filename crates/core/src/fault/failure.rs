//! Errors of something that had begun.

use std::fmt;

use crate::fault::Refusal;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A target cannot be opened, or does not fit what is to be done with it.
    Open,
    /// A file cannot be created or filled.
    Create,
    /// Another program took a target, or its path leads to something else now.
    Lost,
    /// A read, write or flush failed.
    Io,
    /// A thread cannot be started or prepared.
    Thread,
    /// No memory, or no descriptor.
    Resource,
    /// A named event.
    Event,
    /// A fact about this machine is not available.
    Machine,
    /// A result, a document or a note cannot be written.
    Output,
    /// It was stopped before there was anything to show.
    Interrupted,
    /// There is no figure: nothing was measured, or the measurement does not give one.
    Figure,
    /// It was refused after something had been done.
    Refused,
}

/// Why something that had begun failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind it is.
    pub kind: FailureKind,
    /// Path of the target or file that it is about, as typed.
    pub subject: Option<String>,
    /// What failed.
    pub message: String,
    /// Why: the system's error, or that of a room below.
    pub cause: Option<String>,
    /// What to do next.
    pub hints: Vec<String>,
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.cause.iter().try_for_each(|cause| write!(f, ": {cause}"))?;
        self.hints.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl From<Refusal> for Failure {
    /// A refusal that comes after the beginning.
    fn from(refusal: Refusal) -> Self {
        let message = refusal.without_hints();
        let (subject, hints) = (refusal.subject.clone(), refusal.all_hints().cloned().collect());
        Failure { kind: FailureKind::Refused, subject, message, cause: None, hints }
    }
}

impl Failure {
    /// A failure; `message` says what failed and, where [`Failure::because`] does not, why.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Failure { kind, subject: None, message: message.into(), cause: None, hints: Vec::new() }
    }

    /// The same about a target or file.
    pub fn on(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// The same with its cause, which follows the message behind a colon.
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// The same with one more thing that can be done.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_a_sentence() {
        let failure = Failure::new(FailureKind::Thread, "could not start the threads");
        assert_eq!(failure.to_string(), "could not start the threads");
        let failure = failure.because("no room").hint("use fewer threads (-t)").on("f");
        assert_eq!(failure.to_string(), "could not start the threads: no room; use fewer threads (-t)");
    }
}

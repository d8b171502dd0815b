//! The one family of errors, below all rooms.
//!
//! A [`Refusal`] comes before anything was changed, a [`Failure`] after something had begun. A [`Fault`] is
//! what ends a command: either of them, with the typed arguments. A room may have error types of its own,
//! which convert into the family. The exit code follows from the kind, in [`ExitCode::of`] and nowhere else.
//! Nothing here prints.

mod exit;
mod failure;
mod lines;
mod refusal;

pub use exit::{ExitCode, Outcome};
pub use failure::{Failure, FailureKind};
pub use refusal::{Caret, Details, Refusal, RefusalKind, Refusals, Typed};

/// What ends a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was changed.
    Refused(Refusals),
    /// A later step was refused: something was done before it, which the exit code of a refusal would deny.
    RefusedLater(Refusals),
    /// It had begun. At least one.
    Failed(Vec<Failure>),
}

impl Fault {
    /// How the command ends for it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Fault::Refused(refusals) => Outcome::Refused(refusals.kind()),
            Fault::RefusedLater(_) => Outcome::Failed(FailureKind::Refused),
            Fault::Failed(failures) => {
                Outcome::Failed(failures.first().map_or(FailureKind::Refused, |first| first.kind))
            }
        }
    }

    /// What is wrong, a sentence each, without a mark and without what leads a line.
    pub fn sentences(&self) -> Vec<String> {
        match self {
            Fault::Refused(refusals) | Fault::RefusedLater(refusals) => {
                refusals.all.iter().map(ToString::to_string).collect()
            }
            Fault::Failed(failures) => failures.iter().map(ToString::to_string).collect(),
        }
    }

    /// The exit code for it.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::of(self.outcome())
    }

    /// The same after something was done.
    pub fn later(self) -> Self {
        match self {
            Fault::Refused(refusals) => Fault::RefusedLater(refusals),
            other => other,
        }
    }
}

impl std::error::Error for Fault {}

impl From<Refusals> for Fault {
    fn from(refusals: Refusals) -> Self {
        Fault::Refused(refusals)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Fault::Refused(refusal.into())
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Fault::Failed(vec![failure])
    }
}

impl From<Vec<Failure>> for Fault {
    fn from(failures: Vec<Failure>) -> Self {
        Fault::Failed(failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_from_the_kind() {
        let machine = Refusal::machine(&["-b"], Some("f"), "the block is too large".into());
        let guard = Refusal::guard("f", "'f' is in use".into());
        let both = Refusals::from(vec![machine.clone(), guard.clone()]);
        assert_eq!(Fault::from(machine).exit_code(), ExitCode::Refused);
        assert_eq!(Fault::from(guard.clone()).exit_code(), ExitCode::Guarded);
        assert_eq!(Fault::from(both).exit_code(), ExitCode::Guarded, "one target that is guarded is enough");
        assert_eq!(
            Fault::from(guard).later().exit_code(),
            ExitCode::Failed,
            "3 and 4 say that nothing was touched"
        );
        assert_eq!(Fault::from(Failure::new(FailureKind::Io, "no")).later().exit_code(), ExitCode::Failed);
    }
}

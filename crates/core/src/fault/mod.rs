//! The one family of errors, below all rooms.
//!
//! A [`Refusal`] comes before anything was changed, a [`Failure`] after something had begun. A [`Fault`] is
//! what ends a command: either of them, with the typed arguments. A room may have error types of its own,
//! which convert into the family. The exit code follows from the kind, in [`ExitCode::of`] and nowhere else.
//! Nothing here prints.
//!
//! ```
//! use truespd_core::fault::{Fault, Refusal};
//!
//! let refusal = Refusal::command_line("-t0: a target needs a thread").hint("-t1 or more");
//! let fault = Fault::from(refusal);
//! assert_eq!(fault.exit_code() as u8, 3);
//! assert!(fault.sentences()[0].starts_with("-t0: a target needs a thread"));
//! ```

mod failure;
mod lines;
mod refusal;

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

/// Exit codes, a documented contract (`docs/exit-codes.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done.
    Done = 0,
    /// The run failed, or its target cannot be opened.
    Failed = 1,
    /// Command line, profile or machine check refused.
    Refused = 3,
    /// The write guard refused.
    Guarded = 4,
    /// The verdict is worse than `--require` asks for.
    NotTrusted = 5,
    /// Nobody reads standard output any more: what a shell shows for a program that SIGPIPE ended (128 + 13).
    Unread = 141,
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was done.
    Done,
    /// It was refused, and nothing was changed.
    Refused(RefusalKind),
    /// It had begun and failed.
    Failed(FailureKind),
    /// It is done, and its answer is not what `--require` asks for.
    Unmet,
    /// It is done, and the reader of its standard output has left (`| head`).
    Unread,
}

impl ExitCode {
    /// All of them, in the order of their numbers.
    pub const ALL: [ExitCode; 6] = [
        ExitCode::Done,
        ExitCode::Failed,
        ExitCode::Refused,
        ExitCode::Guarded,
        ExitCode::NotTrusted,
        ExitCode::Unread,
    ];

    /// The exit code with this number; none when no end of a command has it.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as u8 == number)
    }

    /// What it says of a run (`diskspd`, `truespd run`), for help and manual.
    pub fn of_run(self) -> &'static str {
        match self {
            ExitCode::Done => {
                "done, also when stopped by Ctrl+C, and after -Rp, -Rs, -ye and help that was asked for"
            }
            ExitCode::Failed => {
                "a target cannot be opened or is too small, or the run was stopped before anything was measured: \
                 nothing \
                 on standard output; or the run failed (an I/O, a thread): the result so far is still printed. The \
                 reason \
                 is on standard error"
            }
            ExitCode::Refused => {
                "the command line, the profile, the configuration file or a check of the machine was refused; \
                 nothing on \
                 standard output, nothing was changed"
            }
            ExitCode::Guarded => {
                "write guard: the target is in use or holds data that TrueSpd did not make; nothing on standard \
                 output, \
                 nothing was changed"
            }
            ExitCode::NotTrusted => "--require: the run is done, and its verdict is worse than required",
            ExitCode::Unread => "nobody reads standard output any more (| head)",
        }
    }

    /// What it says of any other command of `truespd`, for the manual.
    pub fn of_command(self) -> &'static str {
        match self {
            ExitCode::Done => {
                "done, also when a series of runs was stopped by Ctrl+C and could show what it had measured"
            }
            ExitCode::Failed => {
                "it had begun and failed, measured nothing, or could not write its result; what was measured until \
                 then is \
                 still printed. The reason is on standard error"
            }
            ExitCode::Refused => {
                "the command line, a file that it should read, or a check of the machine was refused; nothing was \
                 changed"
            }
            ExitCode::Guarded => {
                "write guard: a target is in use or holds data that TrueSpd did not make; nothing was changed"
            }
            ExitCode::NotTrusted => {
                "it is done, and its answer is worse than an option asks for (--require, --fail-if, --strict)"
            }
            ExitCode::Unread => "nobody reads standard output any more (| head)",
        }
    }

    /// The one way from a kind to an exit code.
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => ExitCode::Done,
            Outcome::Refused(RefusalKind::Guard) => ExitCode::Guarded,
            // DiskSpd's exit code of a target that cannot be opened.
            Outcome::Refused(RefusalKind::Open) => ExitCode::Failed,
            Outcome::Refused(_) => ExitCode::Refused,
            Outcome::Failed(_) => ExitCode::Failed,
            Outcome::Unmet => ExitCode::NotTrusted,
            Outcome::Unread => ExitCode::Unread,
        }
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

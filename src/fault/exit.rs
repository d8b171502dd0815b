//! Exit codes.

use crate::fault::{FailureKind, RefusalKind};

/// Exit codes, a documented contract (README, "Exit codes").
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
    /// The exit code with this number; none when no end of a command has it.
    pub fn of_number(number: u8) -> Option<Self> {
        let all = [
            ExitCode::Done,
            ExitCode::Failed,
            ExitCode::Refused,
            ExitCode::Guarded,
            ExitCode::NotTrusted,
            ExitCode::Unread,
        ];
        all.into_iter().find(|code| *code as u8 == number)
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

//! What may be said on standard error beside a result.
//!
//! DiskSpd's own standard error is empty when a run succeeds and nothing warned. Programs that start it rely on that:
//! some take any word there for a failure, others merge it into standard output (`2>&1`) and read the result from what
//! comes out. So each kind of words has its conditions here, in one place. Errors have none: they are always told.

use crate::config;
use truespd_core::sys::program;

/// A kind of message beside a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// What an option asks for as it goes on: `-v`, `-P`.
    Requested,
    Progress,
    Note,
    /// A warning that DiskSpd does not have.
    Warning,
    /// A warning that DiskSpd 2.2 prints in the same case, in its words (`text-output.md` §13.2).
    WarningOfDiskSpd,
    /// The verdict in a line.
    Verdict,
    /// Where the result is kept.
    Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    /// What DiskSpd itself would print.
    AsDiskSpd,
    /// Standard error goes where the result goes: in front of a text what options ask for, where DiskSpd
    /// prints it; beside a format that programs read, nothing.
    Merged {
        is_text: bool,
    },
}

/// Standard error during one run: which messages it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandardError(Extent);

impl StandardError {
    /// For the streams, the environment and the configuration of this process. `is_quiet`: `--quiet` was
    /// given. `is_text`: standard output gets the result as text.
    pub fn of_process(is_quiet: bool, is_text: bool) -> Self {
        let is_merged = program::are_merged(std::io::stdout(), std::io::stderr());
        let is_quiet = is_quiet || config::in_force().is_quiet();
        StandardError(if is_merged {
            Extent::Merged { is_text }
        } else if is_quiet {
            Extent::AsDiskSpd
        } else {
            Extent::All
        })
    }

    /// Whether it shows such messages.
    pub fn shows(self, message: Message) -> bool {
        match self.0 {
            Extent::All => true,
            Extent::AsDiskSpd => matches!(message, Message::Requested | Message::WarningOfDiskSpd),
            Extent::Merged { is_text } => is_text && message == Message::Requested,
        }
    }

    /// The result and these words end in one place, which is no terminal.
    pub fn is_merged(self) -> bool {
        matches!(self.0, Extent::Merged { .. })
    }
}

impl Message {
    /// How a line of such words begins.
    pub fn lead(self) -> &'static str {
        match self {
            Message::Note => "note: ",
            Message::Warning | Message::WarningOfDiskSpd => "WARNING: ",
            Message::Requested | Message::Progress | Message::Verdict | Message::Kept => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: [Message; 7] = [
        Message::Requested,
        Message::Progress,
        Message::Note,
        Message::Warning,
        Message::WarningOfDiskSpd,
        Message::Verdict,
        Message::Kept,
    ];

    fn told(extent: Extent) -> Vec<Message> {
        EVERYTHING.into_iter().filter(|told| StandardError(extent).shows(*told)).collect()
    }

    #[test]
    fn each_extent_tells_what_it_says() {
        assert_eq!(told(Extent::All), EVERYTHING);
        assert_eq!(told(Extent::AsDiskSpd), [Message::Requested, Message::WarningOfDiskSpd]);
        assert_eq!(told(Extent::Merged { is_text: true }), [Message::Requested]);
        assert_eq!(told(Extent::Merged { is_text: false }), []);
    }
}

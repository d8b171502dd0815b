//! Reasons against writing a target, as data, and how a message says them.

use std::fmt;
use std::path::PathBuf;

use super::claimant::Use;
use super::contents::Holding;
use super::error::GuardError;
use super::files::{FileLock, FileUse};
use super::mark::{Ignored, Whose};
use super::missing::Missing;
use super::openers::Opener;
use crate::machine::sight::Sight;
use crate::text::printable_path;

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Somebody uses the device.
    Used(Use),
    /// Somebody uses the file as if it were a device.
    FileUsed(FileUse),
    /// The loop device over the file is used.
    UsedAs {
        /// Kernel name of the loop device.
        device: String,
        /// Its use.
        by: Use,
    },
    /// A process has the file open for writing.
    Open(Opener),
    /// Somebody has the file open for writing, and this process cannot see who.
    OpenUnseen(Sight),
    /// Whether it is in use is not known.
    NotKnown(Missing),
    /// A flag of the file lets nobody change it.
    Locked(FileLock),
    /// What lies there.
    Holds(Holding),
    /// What lies there is not known.
    Unknown(GuardError),
    /// Whose data the file holds.
    Whose(Whose),
    /// The file has a mark that does not count.
    MarkIgnored(Ignored),
    /// Names (hard links) of the file.
    Names(u64),
    /// The loop device is built on a file.
    StandsOn {
        /// The file.
        file: PathBuf,
        /// Whose data that holds.
        whose: Whose,
    },
}

impl fmt::Display for Reason {
    /// In words about "it", the target.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Used(by) => by.fmt(f),
            Reason::FileUsed(user) => write!(f, "it {user}"),
            Reason::UsedAs { device, by } => write!(f, "as {device}, {by}"),
            Reason::Open(opener) => opener.fmt(f),
            Reason::OpenUnseen(sight) => {
                f.write_str("another program has it open for writing; ")?;
                f.write_str(match sight {
                    Sight::OwnUser => "only root can see which one",
                    Sight::Container => "from inside this container it cannot be seen which one",
                    Sight::Nothing => "without /proc it cannot be seen which one",
                    Sight::All => {
                        "no process shows it, so it may be a memory map whose file was closed, a server in the kernel, a \
                         file system over it, or a killed process whose I/O has not ended"
                    }
                })
            }
            Reason::NotKnown(missing) => missing.fmt(f),
            Reason::Locked(lock) => write!(f, "it is {lock}"),
            Reason::Holds(holding) => holding.fmt(f),
            Reason::Unknown(error) => error.fmt(f),
            Reason::Whose(whose) => write!(f, "it {whose}"),
            Reason::MarkIgnored(ignored) => ignored.fmt(f),
            Reason::Names(count) => {
                write!(f, "it has {count} names (hard links), and each of them is this data")
            }
            Reason::StandsOn { file, whose } => {
                write!(f, "it is built on the file {}, which {whose}", printable_path(file))
            }
        }
    }
}

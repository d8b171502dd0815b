//! The part of a device that a use or a process is about.

use std::fmt;

use crate::machine::device::BlockDevice;
use crate::text::printable;

/// The part of the storage that a use is of, as the person who named the device sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The device itself.
    It,
    /// A partition of it, by its kernel name.
    Partition(String),
    /// The disk that it is a partition of, by its kernel name.
    WholeDisk(String),
    /// The character device by which it, or its disk, takes NVMe commands.
    Commands(String),
    /// Another device, as it is described.
    Other(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::It => f.write_str("it"),
            Subject::Partition(name) => write!(f, "its partition {name}"),
            Subject::WholeDisk(name) => write!(f, "the whole disk {name}"),
            Subject::Commands(name) => write!(f, "{name}, by which it takes NVMe commands,"),
            Subject::Other(what) => f.write_str(&printable(what)),
        }
    }
}

impl Subject {
    /// What `part` is to the person who named `own`.
    pub(super) fn of(part: &BlockDevice, own: &BlockDevice) -> Self {
        match part.is_partition() {
            _ if part == own => Subject::It,
            true => Subject::Partition(part.name.clone()),
            false => Subject::WholeDisk(part.name.clone()),
        }
    }
}

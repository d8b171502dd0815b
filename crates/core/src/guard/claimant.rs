//! Who uses a block device, as data, and how a message says it.

use std::fmt;
use std::path::PathBuf;

use super::files::FileUse;
use super::openers::Opener;
use super::subject::Subject;
use crate::text::{printable, printable_path};

/// One user of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The running system is on it.
    pub is_system: bool,
    /// Who uses what of it, and how.
    pub how: How,
}

/// How something is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// Its file system is mounted.
    Mounted {
        /// What is mounted.
        what: Subject,
        /// Where.
        point: PathBuf,
        /// Type of the file system.
        filesystem: String,
    },
    /// It holds a part of a file system that is mounted from another device: a log, a journal.
    Serves {
        /// What holds it.
        what: Subject,
        /// Where the file system is mounted.
        point: PathBuf,
        /// Type of the file system.
        filesystem: String,
    },
    /// It is one of the devices of a mounted btrfs.
    InBtrfs {
        /// What is.
        what: Subject,
        /// Where that is mounted, when this process sees it.
        point: Option<PathBuf>,
    },
    /// Swap.
    Swap {
        /// What is swapped to.
        what: Subject,
    },
    /// Another device is made of it.
    PartOf {
        /// What it is made of.
        what: Subject,
        /// Description of that device.
        holder: String,
    },
    /// A neighbour on the same disk carries the running system.
    BesideSystem {
        /// Kernel name of the disk.
        disk: String,
        /// Uses of the neighbours.
        by: Vec<Use>,
    },
    /// A loop device over it is in use.
    BelowLoop {
        /// Description of the loop device.
        device: String,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// It is a loop device over another device that is in use.
    OverDevice {
        /// Node of the other device.
        node: PathBuf,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// It is a loop device over a file that is in use.
    OverFile {
        /// The file.
        file: PathBuf,
        /// Its use.
        user: FileUse,
    },
    /// Another loop device over the same file is in use.
    SameFile {
        /// Kernel name of the other one.
        device: String,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// The same storage is in use by another name: a path of a multipath device.
    Twin {
        /// Kernel name of the disk by that name.
        disk: String,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// A run of this program tests a part of it, or the disk it is a part of.
    Tested {
        /// [`Subject::Partition`] or [`Subject::WholeDisk`].
        what: Subject,
    },
    /// A process has it open.
    Open(Opener),
    /// The kernel says that it is claimed, and nobody is seen to claim it.
    Unknown,
}

impl Use {
    /// A use that the running system does not depend on.
    pub(super) fn plain(how: How) -> Self {
        Use { is_system: false, how }
    }

    /// Several uses of another device as one of this; `None` when there are none.
    pub(super) fn summed(by: Vec<Use>, how: impl FnOnce(Vec<Use>) -> How) -> Option<Self> {
        let is_system = by.iter().any(|u| u.is_system);
        (!by.is_empty()).then(|| Use { is_system, how: how(by) })
    }
}

impl fmt::Display for Use {
    /// For example: it is mounted at /boot (vfat)
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.how {
            How::Mounted { what, point, filesystem } => {
                write!(f, "{what} is mounted at {} ({})", printable_path(point), printable(filesystem))
            }
            How::Serves { what, point, filesystem } => {
                let (point, filesystem) = (printable_path(point), printable(filesystem));
                write!(f, "{what} is used by the file system mounted at {point} ({filesystem})")
            }
            How::InBtrfs { what, point: Some(point) } => {
                write!(f, "{what} is part of the btrfs file system mounted at {}", printable_path(point))
            }
            How::InBtrfs { what, point: None } => write!(f, "{what} is part of a mounted btrfs file system"),
            How::Swap { what } => write!(f, "{what} is in use as swap"),
            How::PartOf { what, holder } => write!(f, "{what} is part of {}", printable(holder)),
            How::BesideSystem { disk, by } => {
                write!(f, "the running system is on the same disk, {disk}: {}", Listed(by))
            }
            How::BelowLoop { device, by } => {
                write!(f, "{} is built on it and is in use: {}", printable(device), Listed(by))
            }
            How::OverDevice { node, by } => {
                write!(f, "{}, which it is built on, is in use: {}", printable_path(node), Listed(by))
            }
            How::OverFile { file, user } => {
                write!(f, "{}, the file behind it, {user}", printable_path(file))
            }
            How::SameFile { device, by } => {
                write!(f, "{device} has the same file behind it and is in use: {}", Listed(by))
            }
            How::Twin { disk, by } => {
                let disk = printable(disk);
                write!(f, "{disk} is the same storage under another name and is in use: {}", Listed(by))
            }
            How::Tested { what } => {
                write!(f, "{what} is being tested by this or another run of TrueSpd")
            }
            How::Open(opener) => opener.fmt(f),
            How::Unknown => f.write_str(
                "it is in exclusive use, and the kernel does not tell by what: perhaps a mount in another namespace \
                 (container), a ZFS pool, or a program that opened it exclusively; lsblk, lsof or zpool status may \
                 show it",
            ),
        }
    }
}

/// Uses one after the other.
pub(super) struct Listed<'a>(pub &'a [Use]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(i, by)| match i {
            0 => by.fmt(f),
            _ => write!(f, "; {by}"),
        })
    }
}

//! What the guard would have to know and nothing tells here.
//!
//! Why a fact for the guard is not known.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use truespd_platform::machine::host::Sight;
use truespd_platform::machine::storage::TargetFacts;
use truespd_platform::sys::error::system_text;
use truespd_platform::text::printable_path;

/// An open target about which is decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// As the person typed it.
    pub typed: &'a str,
    /// By which it was opened.
    pub path: &'a Path,
    pub file: &'a File,
    pub facts: &'a TargetFacts,
}

/// A fact without which a write test could harm somebody who is not seen. Procfs or sysfs is missing, hidden, or does
/// not answer; the kernel does not tell it this user; or a file system below cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is not known.
    pub fact: Fact,
    /// What could not be read, and the system's text.
    pub why: String,
}

/// What the guard has to know of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// Where file systems are mounted: whether the running system is on the disk.
    Mounts,
    /// What is swapped to.
    Swaps,
    /// Disk, partitions, what is built on them, the same storage under other names.
    Layers,
    /// Loop devices that stand on it, and what a loop device stands on.
    Loops,
    /// Programs that have it open.
    Programs,
    /// Programs of other users, or outside of this container, that have a file open for writing.
    OtherPrograms,
    /// The same where the file system keeps no leases.
    Writers,
    /// Who uses the file that holds its data: the file system below cannot be asked, or is elsewhere.
    Beneath,
}

impl Fact {
    /// A file that TrueSpd wrote last is tested all the same: what nobody here can ask of any file of such a
    /// file system would make each of its files need a word, each time.
    pub(super) fn is_needed_of_ours(self) -> bool {
        !matches!(self, Fact::Writers | Fact::Beneath)
    }

    /// What a person can do to have these facts, each once.
    pub(super) fn ways_to_know(missing: &[Missing]) -> Vec<&'static str> {
        let mut ways = Vec::new();
        for one in missing {
            let way = match one.fact {
                Fact::OtherPrograms => {
                    "run the test as root or as the owner of the file: the kernel tells nobody else"
                }
                Fact::Writers | Fact::Beneath => {
                    "test a file that TrueSpd makes there (-c<size>), or give the file that holds the data by \
                     its own path"
                }
                _ => "mount proc on /proc and sysfs on /sys, as every system has them, and try again",
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }
}

impl Missing {
    pub(super) fn new(fact: Fact, why: impl fmt::Display) -> Self {
        Missing { fact, why: why.to_string() }
    }
}

impl fmt::Display for Missing {
    /// For example: whether it is swap is not known: /proc/swaps: No such file or directory
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fact = match self.fact {
            Fact::Mounts => "whether the running system is on its disk",
            Fact::Swaps => "whether it is swap",
            Fact::Layers => "what is built on it or shares its disk",
            Fact::Loops => "whether a loop device uses the same storage",
            Fact::Programs => "which programs have it open",
            Fact::OtherPrograms => "whether a program of another user or container has it open for writing",
            Fact::Writers => "whether somebody has it open for writing",
            Fact::Beneath => "who else uses its data",
        };
        write!(f, "{fact} is not known: {}", self.why)
    }
}

/// Writers of a target that could not be looked for, because this process has not the rights or because they are
/// elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// Processes of this machine, beyond what this one sees.
    Programs(Sight),
    /// Whoever writes the file without this machine's file system: another client of its server, or the program behind
    /// it.
    Elsewhere,
    /// Whoever uses the file that overlayfs keeps it in.
    Beneath,
}

impl Unseen {
    /// What is not seen of the programs of this machine; `None` when all are.
    pub(super) fn beyond(sight: Sight) -> Option<Self> {
        (sight != Sight::All).then_some(Unseen::Programs(sight))
    }
}

impl fmt::Display for Unseen {
    /// In words that follow the name of the target: programs of other users may write it ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unseen::Programs(Sight::OwnUser) => {
                "programs of other users may write it, and only root can see them"
            }
            Unseen::Programs(Sight::Container) => {
                "programs outside of this container may write it, and they cannot be seen from inside"
            }
            Unseen::Programs(Sight::Nothing | Sight::All) => {
                "other programs may write it, and without /proc they cannot be seen"
            }
            Unseen::Beneath => {
                "programs that use the file in the layer below may write it, and they cannot be seen from here"
            }
            Unseen::Elsewhere => {
                "other machines, or the program that serves the file system, may write it, and they cannot be \
                 seen from here"
            }
        })
    }
}

/// Why a fact for the guard could not be had. A write test must then not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The device could not be opened for the check.
    #[error("{path}: could not be opened to check that it is not in use: {text}")]
    Open { path: String, text: String },
    /// The path means another device than the one opened for the test.
    #[error("{path}: another device took this path while it was being checked; try again")]
    Changed { path: String },
    /// The device could not be read.
    #[error("{path}: could not be read to check that it holds no data: {text}")]
    Read { path: String, text: String },
}

impl GuardError {
    pub(super) fn open(path: &Path, error: &io::Error) -> Self {
        GuardError::Open { path: printable_path(path), text: system_text(error) }
    }

    pub(super) fn read(path: &Path, error: &io::Error) -> Self {
        GuardError::Read { path: printable_path(path), text: system_text(error) }
    }

    pub(super) fn changed(path: &Path) -> Self {
        GuardError::Changed { path: printable_path(path) }
    }
}

//! What the guard would have to know and nothing tells here.

use std::fmt;

use crate::machine::sight::Sight;

/// A fact without which a write test could harm somebody who is not seen. Procfs or sysfs is missing, hidden, or does
/// not answer.
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
        };
        write!(f, "{fact} is not known: {}", self.why)
    }
}

/// Writers of a target that could not be looked for, because that needs rights that this process does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unseen(pub Sight);

impl fmt::Display for Unseen {
    /// In words that follow the target's name: programs of other users ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            // Not said: all programs are visible.
            Sight::All => "which programs write it is visible",
            Sight::Nothing => "which programs write it is not visible without /proc",
            Sight::OwnUser => "whether programs of other users write it is not visible without root",
            Sight::Container => {
                "whether programs outside of this container write it is not visible from inside"
            }
        })
    }
}

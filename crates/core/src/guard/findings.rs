//! Everything that speaks against writing a target, and the refusal that says it all.
//!
//! Reasons against writing a target, as data, and how a message says them.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::contents::Holding;
use super::devices::{Use, claim};
use super::facts::{Fact, GuardError, Missing, Unseen};
use super::files::{FileLock, FileUse, locks_of_file, uses_of_file};
use super::mark::{Ignored, Whose};
use super::openers::Opener;
use crate::fault::Refusal;
use crate::machine::host::Sight;
use crate::machine::roots::Roots;
use crate::machine::storage::{Filesystem, ReadFlags, open_file};
use crate::sys::error::system_text;
use crate::sys::identity::names;
use crate::text::{printable_path, shell_word};

/// Everything that speaks against writing a target.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Who uses it, or what else no option overrides.
    pub in_use: Vec<Reason>,
    /// The running system is on it.
    pub is_system: bool,
    /// It is a regular file.
    pub is_file: bool,
    /// What it holds: `--overwrite` allows to write it all the same.
    pub holds: Vec<Reason>,
    /// What should be known besides, but speaks against nothing by itself.
    pub besides: Vec<Reason>,
    /// What would have to be known about its users and nothing tells: `--unchecked` allows to write it all the same.
    pub missing: Vec<Missing>,
    /// Whose writing is not visible with the rights of this process.
    pub unseen: Option<Unseen>,
}

impl Findings {
    pub fn claims_of(&mut self, file: &File, path: &Path, roots: &Roots) -> Result<(), GuardError> {
        let claim = claim(file, path, roots)?;
        self.is_system |= claim.is_system;
        self.in_use.extend(claim.by.into_iter().map(Reason::Used));
        self.missing.extend(claim.missing);
        self.unseen = self.unseen.or(claim.unseen);
        Ok(())
    }

    /// Uses and locks of a regular file.
    pub fn uses_of(
        &mut self,
        file: &File,
        filesystem: Option<&Filesystem>,
        typed: &str,
        roots: &Roots,
    ) -> Result<(), Refusal> {
        let found = uses_of_file(file, filesystem, roots).map_err(|e| {
            Refusal::guard(typed, format!("'{typed}': its facts could not be read: {}", system_text(&e)))
        })?;
        self.missing.extend(found.missing);
        self.unseen = found.unseen.or(self.unseen);
        for user in found.uses {
            self.in_use.push(Reason::FileUsed(user.clone()));
            let FileUse::Loop { device: name, .. } = user else { continue };
            let node = roots.dev.join(&name);
            // A node that cannot be opened changes nothing: the file is in use already.
            let Ok(device) = open_file(&node, ReadFlags::CACHED) else { continue };
            let above = claim(&device, &node, roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
            self.is_system |= above.is_system;
            let used_as = |by| Reason::UsedAs { device: name.clone(), by };
            self.in_use.extend(above.by.into_iter().map(used_as));
        }
        self.in_use.extend(found.writers.into_iter().map(Reason::Open));
        self.in_use.extend(found.hidden_writer.map(Reason::OpenUnseen));
        self.in_use.extend(locks_of_file(file).into_iter().map(Reason::Locked));
        let names = file.metadata().map_or(1, |about| names(&about));
        if names > 1 {
            self.besides.push(Reason::Names(names));
        }
        Ok(())
    }

    /// The file was written by TrueSpd last, or its owner gives it to tests: what no program can ask of any
    /// file of such a file system is not asked for each time. It is told.
    pub fn excuse_what_is_never_known(&mut self) {
        let is_beneath = |missing: &Missing| missing.fact == Fact::Beneath;
        let unseen = self.missing.iter().any(is_beneath).then_some(Unseen::Beneath);
        self.unseen = self.unseen.or(unseen);
        self.missing.retain(|missing| missing.fact.is_needed_of_ours());
    }

    pub fn in_use_refusal(self, typed: &str, title: &str) -> Refusal {
        let words = format!("{title} is in use and will not be written");
        let (hint, switch_hint) = match (self.is_system, self.is_file) {
            (true, _) => (
                "the running system is on that disk, and no option allows a write test of it: test another disk",
                "or test a file on that disk (-c<size>), or test reads only (-w0)",
            ),
            (false, true) => (
                "no option allows a write test of a file in use: release it first (end the program, umount, losetup \
                 -d, swapoff, chattr -i)",
                "or test reads only (-w0)",
            ),
            (false, false) => (
                "no option allows a write test of a device in use: release it first (umount, swapoff, vgchange -an, \
                 mdadm --stop)",
                "or test reads only (-w0)",
            ),
        };
        let mut refusal = Refusal::guard(typed, words).hint(hint).switch_hint(switch_hint);
        let reasons = self.in_use.iter().chain(&self.holds).chain(&self.besides);
        refusal.reasons = reasons.map(Reason::to_string).collect();
        refusal
    }

    /// `again` is the path for `--unchecked`; `needs_overwrite`: what it holds needs the person's word as well.
    pub fn not_known_refusal(self, typed: &str, again: &str, title: &str, needs_overwrite: bool) -> Refusal {
        let words = format!("{title} may be in use, and this cannot be checked here");
        let also = if needs_overwrite { format!(" --overwrite {again}") } else { String::new() };
        let mut refusal = Refusal::guard(typed, words);
        for way in Fact::ways_to_know(&self.missing) {
            refusal = refusal.hint(way);
        }
        refusal = refusal
            .hint(format!("if you are sure that nothing else uses it, add --unchecked {again}{also}"))
            .switch_hint("or test reads only (-w0)");
        let missing = self.missing.into_iter().map(Reason::NotKnown);
        let reasons: Vec<Reason> = missing.chain(self.holds).chain(self.besides).collect();
        refusal.reasons = reasons.iter().map(Reason::to_string).collect();
        refusal
    }

    /// `again` is the path for `--overwrite`.
    pub fn holds_refusal(self, typed: &str, again: &str, words: String) -> Refusal {
        let mut refusal = Refusal::guard(typed, words)
            .hint(format!("if this data is no longer needed, add --overwrite {again}"))
            .switch_hint("or test reads only (-w0)");
        refusal.reasons = self.holds.iter().chain(&self.besides).map(Reason::to_string).collect();
        refusal
    }

    /// A file of ours is kept when somebody has put something into it that is known.
    pub fn kept(self, typed: &str) -> Result<(), Refusal> {
        if self.holds.is_empty() {
            return Ok(());
        }
        let words = format!("TrueSpd made '{typed}', but it now holds data that a write test would destroy");
        Err(self.holds_refusal(typed, &shell_word(typed), words))
    }

    pub fn foreign(self, typed: &str, whose: Whose, why: &str) -> Refusal {
        let word = shell_word(typed);
        let mut refusal = Refusal::guard(typed, format!("'{typed}' {whose}, and {why}"))
            .hint(format!("if its content is no longer needed, add --overwrite {word}"));
        // There a mark does not tell next time either.
        if whose != Whose::Untold {
            refusal = refusal
                .hint(format!("or let all write tests overwrite it from now on: truespd adopt {word}"));
        }
        refusal = match whose {
            Whose::Unfinished => refusal.switch_hint(
                "or repeat the command line that made it: -c<size> creates the file again if it holds only what that \
                 run wrote",
            ),
            Whose::Interrupted => refusal.hint(
                "random write data (-Zr, -Z<size>) looks like any other data; without these options the file of \
                 a killed run is recognised as test data",
            ),
            _ => refusal.switch_hint("or give another path with -c<size>, which creates a test file"),
        };
        refusal.reasons = self.holds.iter().chain(&self.besides).map(Reason::to_string).collect();
        refusal
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    Used(Use),
    /// Somebody uses the file as if it were a device.
    FileUsed(FileUse),
    /// The loop device over the file is used.
    UsedAs {
        /// Kernel name of the loop device.
        device: String,
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
        file: PathBuf,
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
                        "no process shows it, so it may be a memory map whose file was closed, a server in the \
                         kernel, a file system over it, or a killed process whose I/O has not ended"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_file_are_told_when_it_has_several() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "data").unwrap();
        let besides = || {
            let mut found = Findings::default();
            found.uses_of(&File::open(&path).unwrap(), None, "a", &Roots::default()).unwrap();
            found.besides
        };
        assert_eq!(besides(), []);
        std::fs::hard_link(&path, dir.path().join("b")).unwrap();
        assert_eq!(besides(), [Reason::Names(2)]);
    }
}

//! What killed series left, for a person who wants to see it before it is settled.

use std::fs;
use std::path::Path;

use super::outcome::Left;
use super::{Journal, Lock, Undo, Undone, check_folder, folder, journals, setting, take_over};
use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::machine::host::boot_id;
use truespd_core::machine::roots::Roots;
use truespd_core::text::printable_path;

/// What becomes of a thing that a killed series left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is removed, or set back.
    Undone,
    /// It is not this program's any more, and is forgotten.
    Forgotten,
    /// The system does not allow it to be undone.
    Stuck,
}

/// A thing that a killed series left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// What it is, and why it stays if it does.
    pub words: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// The journals of killed series, which nobody else settles meanwhile.
#[derive(Debug)]
pub struct Abandoned {
    journals: Vec<Journal>,
    /// Journals of series that run, or of another user.
    others: usize,
}

impl Abandoned {
    /// Those in `dir`; none where there is no such folder.
    ///
    /// # Errors
    /// Why nothing counts that is in this folder, and what to do.
    pub fn find(dir: &Path) -> Result<Self, Refusal> {
        Self::find_with(dir, &Roots::default())
    }

    pub(super) fn find_with(dir: &Path, roots: &Roots) -> Result<Self, Refusal> {
        let paths = journals(dir);
        if let Err(why) = check_folder(dir)
            && !paths.is_empty()
        {
            let words = format!("'{}': {why}", printable_path(dir));
            return Err(Refusal::new(RefusalKind::Machine, words));
        }
        let journals: Vec<Journal> =
            paths.iter().filter_map(|path| take_over(path, Lock::Try, roots)).collect();
        let others = paths.iter().filter(|path| path.exists()).count().saturating_sub(journals.len());
        Ok(Abandoned { journals, others })
    }

    /// Journals that were left alone, because their series run or another user wrote them.
    pub fn others(&self) -> usize {
        self.others
    }

    /// What is left, each thing once. Nothing is changed.
    pub fn list(&self) -> Vec<Leftover> {
        let mut all: Vec<Leftover> = Vec::new();
        for journal in &self.journals {
            let boot = boot_id(&journal.roots);
            for entry in journal.entries.iter().rev() {
                let found = look(&entry.undo, entry.boot == boot, &journal.roots);
                all.extend(found.filter(|one| !all.contains(one)));
            }
        }
        all
    }

    /// Removes and sets back what can be; with `forgets` what cannot is not remembered any more.
    pub fn settle(self, forgets: bool) -> Vec<Undone> {
        let mut undone = Vec::new();
        for journal in self.journals {
            let path = journal.path.clone();
            let of_journal = journal.undo();
            if forgets && of_journal.iter().any(|one| !one.is_settled) {
                // If it cannot be removed, it is told of again.
                let _ = fs::remove_file(path);
            }
            undone.extend(of_journal);
        }
        undone
    }
}

/// What would become of one thing; nothing when it is gone.
fn look(undo: &Undo, is_same_boot: bool, roots: &Roots) -> Option<Leftover> {
    let (path, found) = match undo {
        Undo::Folder { path, identity, files } => {
            (path.clone(), folder::look(path, *identity, files, is_same_boot)?)
        }
        Undo::Setting { path, before, during, disk } => {
            setting::look(path, disk, [before, during], is_same_boot, roots)?
        }
        Undo::Settled { .. } => return None,
    };
    let path = printable_path(&path);
    let (words, fate) = match (found, undo) {
        (Ok(()), Undo::Setting { before, .. }) => (format!("{path}, which was '{before}'"), Fate::Undone),
        (Ok(()), _) => (format!("'{path}'"), Fate::Undone),
        (Err(Left::Foreign(why)), _) => (format!("'{path}': {why}"), Fate::Forgotten),
        (Err(Left::Refused(why)), _) => (format!("'{path}': {why}"), Fate::Stuck),
    };
    Some(Leftover { words, fate })
}

//! The way to what is to be written: by which names a path leads to the open file.
//!
//! What the guard decides on is an open descriptor. But who chose it? A link of another user, a hard link
//! that another user made, or a path of procfs to what a program has open leads to a file that the person did
//! not mean.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::files::writers_of_file;
use super::reason::Reason;
use crate::fault::Refusal;
use crate::machine::roots::Roots;
use crate::machine::storage::{TargetFacts, TargetKind, resolve};
use crate::sys::destination::{Destination, Entry, LostWay, follow_target, is_name_of_others};
use crate::sys::error::{Code, system_text};
use crate::sys::file::{FileKind, Stat};
use crate::sys::identity::names;
use crate::sys::open::own_path;
use crate::text::printable_path;

/// Why a path is refused that leads elsewhere by now.
pub(super) const ANOTHER: &str = "another file or device has this path now";

/// May what is open be written, given the names by which its path leads to it? `path` is that by which it was opened.
///
/// # Errors
/// A link of another user, a hard link that another user may have made, a file without a name.
pub(super) fn check_way(
    typed: &str,
    path: &Path,
    file: &File,
    facts: &TargetFacts,
    roots: &Roots,
) -> Result<(), Refusal> {
    let is_namespace = facts.namespace.is_some();
    // `path` is that of its block device, which nobody typed.
    let path = if is_namespace { resolve(typed, roots)?.path } else { path.to_path_buf() };
    let own = Stat::of_open(file).map_err(|error| changed(typed, &system_text(&error)))?;
    match follow_target(&path) {
        Ok(Destination::Entry(entry)) => {
            // Of a namespace its character device is named, and its block device is open.
            let is_it = entry.there.is_some_and(|there| {
                there.identity() == own.identity() || (is_namespace && there.kind == FileKind::Character)
            });
            if !is_it {
                return Err(changed(typed, ANOTHER));
            }
            if facts.kind == TargetKind::Regular { check_names(typed, &entry, file) } else { Ok(()) }
        }
        Ok(Destination::Open(seen)) => {
            if !Stat::of_open(&seen).is_ok_and(|seen| seen.identity() == own.identity()) {
                return Err(changed(typed, ANOTHER));
            }
            check_has_name(typed, file, facts, roots)
        }
        Err(LostWay::System { code, .. }) => Err(changed(typed, &code.text())),
        Err(LostWay::ForeignLink { link, owner, to }) => Err(foreign_link(typed, &link, owner, &to)),
    }
}

/// A file that procfs leads to may have no name: memory of a program (memfd), or a deleted file.
fn check_has_name(typed: &str, file: &File, facts: &TargetFacts, roots: &Roots) -> Result<(), Refusal> {
    let has_name = file.metadata().is_ok_and(|about| names(&about) > 0);
    if has_name || facts.kind == TargetKind::Block {
        return Ok(());
    }
    let is_memory = facts.filesystem.as_ref().is_some_and(|filesystem| filesystem.is_memory);
    let mut refusal = if is_memory { memory_of_programs(typed) } else { deleted(typed) };
    let writers = writers_of_file(file, roots).into_iter();
    refusal.reasons = writers.map(|opener| Reason::Open(opener).to_string()).collect();
    Err(refusal)
}

pub(super) fn memory_of_programs(typed: &str) -> Refusal {
    Refusal::guard(typed, format!("'{typed}' is memory of a program, not storage, and will not be written"))
        .hint("no option allows a write test of it: give the path of a file, which -c<size> creates, or a device")
}

fn deleted(typed: &str) -> Refusal {
    let words = format!(
        "'{typed}' has no name (it was deleted): it belongs to the programs that have it open, and will not be written"
    );
    Refusal::guard(typed, words)
        .hint("no option allows a write test of it: give the path of a file, which -c<size> creates")
}

/// The refusal of a path that leads through a link of another user.
pub(super) fn foreign_link(typed: &str, link: &Path, owner: u32, to: &Path) -> Refusal {
    let words = format!(
        "'{typed}' leads through the link '{}', which user {owner} made, and links of other users are not followed to write",
        printable_path(link)
    );
    Refusal::guard(typed, words)
        .hint(format!("if you mean the file where it leads, name that path: '{}'", printable_path(to)))
}

/// The refusal of a path that means something else than a moment ago.
pub(super) fn changed(typed: &str, why: &str) -> Refusal {
    Refusal::guard(typed, format!("'{typed}' changed while it was being checked: {why}"))
        .hint("another program renames it or a folder of its path; try again")
}

/// A name that another user may have given somebody else's file (a hard link) is no path to write it by.
pub(super) fn check_names(typed: &str, entry: &Entry, file: &File) -> Result<(), Refusal> {
    let facts = file.metadata().map_err(|error| changed(typed, &system_text(&error)))?;
    let folder = entry.folder.stat().map_err(|code| changed(typed, &code.text()))?;
    let (own, count) = (Stat::of(&facts), names(&facts));
    if count < 2 || !is_name_of_others(&own, &folder) {
        return Ok(());
    }
    let words = format!(
        "'{typed}' has {count} names (hard links), and other users may add names in its folder, so one of them may have \
         put somebody else's file there"
    );
    let hint = format!(
        "name it by its path in a folder that only you can write to; all its names: find MOUNTPOINT -xdev -inum {}",
        own.inode
    );
    Err(Refusal::guard(typed, words).hint(hint))
}

/// The path by which the kernel knows an open file or folder, also where links of procfs led to it.
pub(super) fn known_path(file: &File) -> Option<PathBuf> {
    std::fs::read_link(own_path(file)).ok().filter(|path| path.is_absolute())
}

/// The entry of a target that has to have a name.
///
/// # Errors
/// A link of another user, and what `otherwise` makes of what the system says.
pub(super) fn entry_of(
    typed: &str,
    path: &Path,
    otherwise: impl FnOnce(&Path, Code) -> Refusal,
) -> Result<Entry, Refusal> {
    match follow_target(path) {
        Ok(Destination::Entry(entry)) => Ok(entry),
        Ok(Destination::Open(_)) => {
            let words = format!("'{typed}' is a file that a program has open, not the path of a file");
            Err(Refusal::guard(typed, words).hint("give the path of a file"))
        }
        Err(LostWay::ForeignLink { link, owner, to }) => Err(foreign_link(typed, &link, owner, &to)),
        Err(LostWay::System { at, code }) => Err(otherwise(&at, code)),
    }
}

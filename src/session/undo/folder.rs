//! Removes folders that the program made.

use std::path::Path;

use crate::guard::mark::Marks;
use crate::session::undo::Left;
use crate::sys::error::Code;
use crate::sys::file::{Directory, Stat, remove_directory};
use crate::sys::identity::Identity;
use crate::sys::system::user;

/// What the names of all folders begin with that this program makes and removes.
pub const FOLDER_PREFIX: &str = "truespd-";

/// `None` when the folder is gone already.
pub(super) fn remove(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
) -> Option<Result<(), Left>> {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX));
    if !is_named || !path.is_absolute() {
        return Some(Err(Left::Foreign("TrueSpd makes no folder of this name".into())));
    }
    let emptied = match identity {
        Some(identity) => remove_files(path, identity, files, is_same_boot),
        None => Ok(()),
    };
    let removed = emptied.and_then(|()| match remove_directory(path) {
        Err(Code::NOT_EMPTY | Code::ALREADY_EXISTS) => {
            Err(Removal::Left(Left::Foreign("it holds files that TrueSpd did not make".into())))
        }
        other => Ok(other?),
    });
    match removed {
        Ok(()) => Some(Ok(())),
        Err(Removal::System(Code::NOT_FOUND)) => None,
        Err(Removal::System(code)) => Some(Err(Left::Refused(code.text()))),
        Err(Removal::Left(left)) => Some(Err(left)),
    }
}

enum Removal {
    System(Code),
    Left(Left),
}

impl From<Code> for Removal {
    fn from(code: Code) -> Self {
        Removal::System(code)
    }
}

fn remove_files(
    path: &Path,
    identity: Identity,
    files: &[String],
    is_same_boot: bool,
) -> Result<(), Removal> {
    let folder = Directory::open(path)?;
    if !is_the_one(&folder.stat()?, identity, is_same_boot) {
        return Err(Removal::Left(Left::Foreign("another folder has its name now".into())));
    }
    // Only names, not paths: nothing outside of the folder is removed.
    for name in files.iter().filter(|name| !name.contains('/')) {
        forget_mark(&folder, name);
        match folder.remove_entry(name) {
            Ok(()) | Err(Code::NOT_FOUND) => {}
            Err(code) => {
                let why = format!("{name}: {}", code.text());
                return Err(Removal::Left(Left::Refused(why)));
            }
        }
    }
    Ok(())
}

/// Where a file system has no extended attributes, the mark of a file is in the user's state folder and would stay there.
fn forget_mark(folder: &Directory, name: &str) {
    if let Ok(file) = folder.open_entry(name) {
        // The file is removed, also when its mark cannot be.
        let _ = Marks::of_this_user().unmark(&file);
    }
}

/// The device number of a file system can change with a boot (btrfs, NFS, overlay, device-mapper). Then name, inode, owner
/// and mode identify the folder.
pub(super) fn is_the_one(now: &Stat, identity: Identity, is_same_boot: bool) -> bool {
    let is_private = now.owner == user() && now.mode == 0o700;
    let is_same_place = if is_same_boot { now.device == identity.device() } else { is_private };
    now.inode == identity.inode() && is_same_place
}

//! Removes folders that the program made.

use crate::series::undo::setting::{Action, Left};
use std::fs;
use std::path::Path;
use truespd_core::guard::mark::Marks;
use truespd_core::sys::error::Code;
use truespd_core::sys::file::{Directory, Stat, may_write, remove_directory};
use truespd_core::sys::identity::Identity;
use truespd_core::sys::system::user;

/// What the names of all folders begin with that this program makes and removes.
pub const FOLDER_PREFIX: &str = "truespd-";
const FOREIGN_FILES: &str = "it holds files that TrueSpd did not make";

/// Removes the folder with its files, or only looks whether that could be done; `None` when it is gone already.
pub(super) fn settle(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
    action: Action,
) -> Option<Result<(), Left>> {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX));
    if !is_named || !path.is_absolute() {
        return Some(Err(Left::Foreign("TrueSpd makes no folder of this name".into())));
    }
    let settled = match action {
        Action::Undo => remove(path, identity, files, is_same_boot),
        Action::Look => may_remove(path, identity, files, is_same_boot),
    };
    Some(match settled {
        Ok(()) => Ok(()),
        Err(Removal::System(Code::NOT_FOUND)) => return None,
        Err(Removal::System(Code::ACCESS_DENIED)) if identity.is_none() => Err(Left::Foreign(
            "this user may not look there, and it is not known whether it was made; if it was, it is empty"
                .into(),
        )),
        Err(Removal::System(code @ (Code::ACCESS_DENIED | Code::NOT_PERMITTED))) => Err(Left::Refused(
            format!("{}: only the owner of the folder above it, or root, can remove it", code.text()),
        )),
        Err(Removal::System(code)) => Err(Left::Refused(code.text())),
        Err(Removal::Left(left)) => Err(left),
    })
}

fn foreign(why: &str) -> Removal {
    Removal::Left(Left::Foreign(why.into()))
}

fn remove(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
) -> Result<(), Removal> {
    if let Some(identity) = identity {
        let folder = Directory::open(path)?;
        check_identity(&folder.stat()?, identity, is_same_boot)?;
        // Only names, not paths: nothing outside of the folder is removed.
        for name in files.iter().filter(|name| !name.contains('/')) {
            forget_mark(&folder, name);
            match folder.remove_entry(name) {
                Ok(()) | Err(Code::NOT_FOUND) => {}
                Err(code) => return Err(Removal::Left(Left::Refused(format!("{name}: {}", code.text())))),
            }
        }
    }
    match remove_directory(path) {
        Err(Code::NOT_EMPTY | Code::ALREADY_EXISTS) => Err(foreign(FOREIGN_FILES)),
        other => Ok(other?),
    }
}

fn may_remove(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
) -> Result<(), Removal> {
    let about = Directory::open(path)?.stat()?;
    if let Some(identity) = identity {
        check_identity(&about, identity, is_same_boot)?;
    }
    for entry in fs::read_dir(path).map_err(|error| Code::of(&error).unwrap_or(Code::IO))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if identity.is_none() || !files.contains(&name) {
            return Err(foreign(FOREIGN_FILES));
        }
    }
    if let Some(parent) = path.parent() {
        may_write(parent)?;
    }
    // Files are removed from the folder itself, too.
    if !files.is_empty() {
        may_write(path)?;
    }
    Ok(())
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

/// Where a file system has no extended attributes, the mark of a file is in the user's state folder and would
/// stay there.
fn forget_mark(folder: &Directory, name: &str) {
    if let Ok(file) = folder.open_entry(name) {
        // The file is removed, also when its mark cannot be.
        let _ = Marks::of_this_user().unmark(&file);
    }
}

/// The device number of a file system can change with a boot (btrfs, NFS, overlay, device-mapper). Then name,
/// inode, owner and mode identify the folder.
fn check_identity(now: &Stat, identity: Identity, is_same_boot: bool) -> Result<(), Removal> {
    let is_private = now.owner == user() && now.mode == 0o700;
    let is_same_place = if is_same_boot { now.device == identity.device() } else { is_private };
    if now.inode == identity.inode() && is_same_place {
        return Ok(());
    }
    Err(foreign("another folder has its name now"))
}

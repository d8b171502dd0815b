//! Removes folders that the program made.

use std::path::Path;

use crate::series::undo::Left;
use truespd_core::guard::mark::Marks;
use truespd_core::sys::error::Code;
use truespd_core::sys::file::{Directory, Stat, may_write, remove_directory};
use truespd_core::sys::identity::Identity;
use truespd_core::sys::system::user;

/// What the names of all folders begin with that this program makes and removes.
pub const FOLDER_PREFIX: &str = "truespd-";

/// `None` when the folder is gone already.
pub(super) fn remove(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
) -> Option<Result<(), Left>> {
    if let Err(left) = check_name(path) {
        return Some(Err(left));
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
    answer(removed, identity)
}

/// The same without removing anything.
pub(super) fn look(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
) -> Option<Result<(), Left>> {
    if let Err(left) = check_name(path) {
        return Some(Err(left));
    }
    answer(look_into(path, identity, files, is_same_boot), identity)
}

fn look_into(
    path: &Path,
    identity: Option<Identity>,
    files: &[String],
    is_same_boot: bool,
) -> Result<(), Removal> {
    let about = Directory::open(path)?.stat()?;
    if identity.is_some_and(|identity| !is_the_one(&about, identity, is_same_boot)) {
        return Err(Removal::Left(Left::Foreign("another folder has its name now".into())));
    }
    let names = std::fs::read_dir(path).map_err(|error| Code::of(&error).unwrap_or(Code::IO))?;
    let is_ours = |name: &str| identity.is_some() && files.iter().any(|own| own == name);
    if names.flatten().any(|entry| !is_ours(&entry.file_name().to_string_lossy())) {
        return Err(Removal::Left(Left::Foreign("it holds files that TrueSpd did not make".into())));
    }
    let changed = path.parent().into_iter().chain(names_its_files(files).then_some(path));
    for folder in changed {
        may_write(folder)?;
    }
    Ok(())
}

/// Whether files are removed from the folder itself, too.
fn names_its_files(files: &[String]) -> bool {
    !files.is_empty()
}

fn check_name(path: &Path) -> Result<(), Left> {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX));
    if is_named && path.is_absolute() {
        return Ok(());
    }
    Err(Left::Foreign("TrueSpd makes no folder of this name".into()))
}

fn answer(removed: Result<(), Removal>, identity: Option<Identity>) -> Option<Result<(), Left>> {
    match removed {
        Ok(()) => Some(Ok(())),
        Err(Removal::System(Code::NOT_FOUND)) => None,
        Err(Removal::System(Code::ACCESS_DENIED)) if identity.is_none() => Some(Err(Left::Foreign(
            "this user may not look there, and it is not known whether it was made; if it was, it is empty"
                .into(),
        ))),
        Err(Removal::System(code @ (Code::ACCESS_DENIED | Code::NOT_PERMITTED))) => Some(Err(Left::Refused(
            format!("{}: only the owner of the folder above it, or root, can remove it", code.text()),
        ))),
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
pub(super) fn is_the_one(now: &Stat, identity: Identity, is_same_boot: bool) -> bool {
    let is_private = now.owner == user() && now.mode == 0o700;
    let is_same_place = if is_same_boot { now.device == identity.device() } else { is_private };
    now.inode == identity.inode() && is_same_place
}

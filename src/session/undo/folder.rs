//! Removes folders that the program made.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::guard::mark::Marks;
use crate::session::undo::{Left, own_user};
use crate::sys::error::system_text;

/// What the names of all folders begin with that this program makes and removes.
pub const FOLDER_PREFIX: &str = "truespd-";

/// `None` when the folder is gone already.
pub(super) fn remove(
    path: &Path,
    identity: Option<(u64, u64)>,
    files: &[String],
    is_same_boot: bool,
) -> Option<Result<(), Left>> {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX));
    if !is_named || !path.is_absolute() {
        return Some(Err(Left::Foreign("no folder that TrueSpd makes has such a name".into())));
    }
    let emptied = match identity {
        Some(identity) => remove_files(path, identity, files, is_same_boot),
        None => Ok(()),
    };
    let removed = emptied.and_then(|()| match rustix::fs::rmdir(path) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            Err(Removal::Left(Left::Foreign("somebody else keeps files there".into())))
        }
        other => Ok(other?),
    });
    match removed {
        Ok(()) => Some(Ok(())),
        Err(Removal::Errno(Errno::NOENT)) => None,
        Err(Removal::Errno(errno)) => Some(Err(Left::Refused(system_text(&errno.into())))),
        Err(Removal::Left(left)) => Some(Err(left)),
    }
}

enum Removal {
    Errno(Errno),
    Left(Left),
}

impl From<Errno> for Removal {
    fn from(errno: Errno) -> Self {
        Removal::Errno(errno)
    }
}

fn remove_files(
    path: &Path,
    identity: (u64, u64),
    files: &[String],
    is_same_boot: bool,
) -> Result<(), Removal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    if !is_the_one(&rustix::fs::fstat(&folder)?, identity, is_same_boot) {
        return Err(Removal::Left(Left::Foreign("another folder has its name now".into())));
    }
    // Names, not paths: nothing outside of the folder.
    for name in files.iter().filter(|name| !name.contains('/')) {
        forget_mark(&folder, name);
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => {
                let why = format!("{name}: {}", system_text(&errno.into()));
                return Err(Removal::Left(Left::Refused(why)));
            }
        }
    }
    Ok(())
}

/// Where a file system keeps no attributes, what says that a file is ours lies in a folder of the user's and would stay.
fn forget_mark(folder: &OwnedFd, name: &str) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) {
        // The file goes, whatever becomes of its mark.
        let _ = Marks::of_this_user().unmark(&file.into());
    }
}

/// The number of a file system is another after a boot (btrfs, NFS, overlay, device-mapper). Then inode, owner and mode
/// must do, with the name.
pub(super) fn is_the_one(now: &Stat, (device, inode): (u64, u64), is_same_boot: bool) -> bool {
    let is_private = now.st_uid == own_user() && now.st_mode & 0o7777 == 0o700;
    let is_same_place = if is_same_boot { now.st_dev == device } else { is_private };
    now.st_ino == inode && is_same_place
}

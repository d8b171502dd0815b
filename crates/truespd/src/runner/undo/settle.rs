//! Sets settings of disks back, and removes folders that the program made.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use truespd_core::guard::mark::Marks;
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::drive::{NotSet, Reach, Switch, put};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::{may_write, remove_directory};

/// Whether something is undone, or only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Undo,
    Look,
}

/// What becomes of a thing to undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is removed, or set back.
    Undone,
    /// It is not this program's any more, and is forgotten.
    Forgotten,
    /// The system does not allow it to be undone; it will be tried again.
    Stuck,
}

/// A thing to undo, and what became of it, or will.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// What it is, and why it stays if it does: `removed '/mnt/truespd-mark-x1'`.
    pub words: String,
    pub fate: Fate,
}

/// Why something stays that is somebody else's now.
fn foreign(words: impl Into<String>) -> Undone {
    Undone { words: words.into(), fate: Fate::Forgotten }
}

/// Why something stays that the system may take later.
pub(super) fn stuck(words: impl Into<String>) -> Undone {
    Undone { words: words.into(), fate: Fate::Stuck }
}

/// A disk whose setting was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub name: String,
    thing: Thing,
}

impl Disk {
    /// The disk of this kernel name; `None` when sysfs knows none.
    pub fn named(name: &str, roots: &Roots) -> Option<Self> {
        let device = BlockDevice::named(name, roots)?;
        Some(Disk { name: name.to_string(), thing: Thing::of_device(&device, roots) })
    }
}

/// Where the setting is now, and whether it was (or could be) set back. `None` when it is as it was, or gone with its
/// device or the boot.
pub(super) fn settle_setting(
    path: &Path,
    disk: &Disk,
    [before, during]: [&str; 2],
    is_same_boot: bool,
    roots: &Roots,
    action: Action,
) -> Option<(PathBuf, Result<(), Undone>)> {
    let place = match find(path, disk, before, is_same_boot, roots) {
        Ok(place) => place?,
        Err(why) => return Some((path.to_path_buf(), Err(why))),
    };
    let now = match fs::read_to_string(&place) {
        Ok(now) => now.trim().to_string(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some((place, Err(stuck(system_text(&error))))),
    };
    if now == before {
        return None;
    }
    let settled = if now != during {
        Err(foreign(format!("somebody else set it to '{now}'; it was '{before}' before")))
    } else if action == Action::Look {
        Ok(())
    } else {
        set_back(&place, before, |path, word| fs::write(path, word))
    };
    Some((place, settled))
}

/// The path of the setting of that disk, and of no other.
fn find(
    path: &Path,
    disk: &Disk,
    before: &str,
    is_same_boot: bool,
    roots: &Roots,
) -> Result<Option<PathBuf>, Undone> {
    if !is_of_a_disk(path, roots) {
        return Err(foreign("TrueSpd does not change this setting"));
    }
    let now = Disk::named(&disk.name, roots);
    if is_same_boot && now.is_some_and(|now| disk.thing.change(&now.thing).is_none()) {
        return Ok(Some(path.to_path_buf()));
    }
    if path.parent().is_some_and(|dir| dir.ends_with("queue")) {
        // This setting of the kernel ends with the boot, or with the removal of the disk.
        return Ok(None);
    }
    // The disk itself may have kept the setting.
    for entry in fs::read_dir(roots.sys.join("block")).into_iter().flatten().flatten() {
        let Some(now) = Disk::named(&entry.file_name().to_string_lossy(), roots) else { continue };
        if disk.thing.is_again(&now.thing) != Some(true) {
            continue;
        }
        match Switch::of(&now.name, roots) {
            Ok(switch) if switch.reach == Reach::Disk => return Ok(Some(switch.path)),
            _ => break,
        }
    }
    Err(foreign(format!(
        "the disk {} is not there, or it is not certain that the disk of that name is the same; its write cache was \
         '{before}': write that to its cache_type when the disk is there",
        disk.name
    )))
}

fn is_of_a_disk(path: &Path, roots: &Roots) -> bool {
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let is_below = ["block", "devices"].iter().any(|dir| path.starts_with(roots.sys.join(dir)));
    is_plain && is_below && (path.ends_with("cache_type") || path.ends_with("queue/write_cache"))
}

/// Writes, and checks that the setting changed.
pub(super) fn set_back(
    path: &Path,
    before: &str,
    write: impl FnOnce(&Path, String) -> io::Result<()>,
) -> Result<(), Undone> {
    put(path, before, write).map_err(|not_set| match not_set {
        NotSet::Refused(error) => stuck(system_text(&error)),
        NotSet::Still(now) => {
            stuck(format!("'{before}' was written, but it is still '{now}'; set it by hand"))
        }
    })
}

/// What the names of all folders begin with that this program makes and removes.
pub const FOLDER_PREFIX: &str = "truespd-";
const FOREIGN_FILES: &str = "it holds files that TrueSpd did not make";

/// The file in each of these folders that proves whose it is.
pub const TOKEN_NAME: &str = ".truespd-folder";
const ANOTHER_FOLDER: &str = "another folder has its name now";

/// What a folder of the program is recognised by, and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeFolder {
    /// Known once it is made; before that only an empty folder goes.
    pub thing: Option<Thing>,
    /// What the file [`TOKEN_NAME`] in it holds. A file system may give the inode of a folder to the next one, and tell
    /// nothing else of it.
    pub token: String,
    /// Names of the files that go with it; what else is there stays, and the folder with it.
    pub files: Vec<String>,
}

/// Removes the folder with its files, or only looks whether that could be done; `None` when it is gone already.
pub(super) fn settle_folder(
    path: &Path,
    made: &MadeFolder,
    roots: &Roots,
    action: Action,
) -> Option<Result<(), Undone>> {
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX));
    if !is_named || !path.is_absolute() {
        return Some(Err(foreign("TrueSpd makes no folder of this name")));
    }
    let settled = match action {
        Action::Undo => remove(path, made, roots),
        Action::Look => may_remove(path, made, roots),
    };
    Some(match settled {
        Ok(()) => Ok(()),
        Err(Removal::System(Code::NOT_FOUND)) => return None,
        Err(Removal::System(Code::ACCESS_DENIED)) if made.thing.is_none() => Err(foreign(
            "this user may not look there, and it is not known whether it was made; if it was, it is empty",
        )),
        Err(Removal::System(code @ (Code::ACCESS_DENIED | Code::NOT_PERMITTED))) => Err(stuck(format!(
            "{}: only the owner of the folder above it, or root, can remove it",
            code.text()
        ))),
        Err(Removal::System(code)) => Err(stuck(code.text())),
        Err(Removal::Stays(why)) => Err(why),
    })
}

fn remove(path: &Path, made: &MadeFolder, roots: &Roots) -> Result<(), Removal> {
    let folder = Directory::open(path)?;
    let is_ours = check_folder(&folder, made, roots)?;
    if made.thing.is_some() {
        // Only names, not paths: nothing outside of the folder is removed.
        for name in made.files.iter().filter(|name| !name.contains('/')) {
            forget_mark(&folder, name);
            match folder.remove_entry(name) {
                Ok(()) | Err(Code::NOT_FOUND) => {}
                Err(code) => return Err(Removal::Stays(stuck(format!("{name}: {}", code.text())))),
            }
        }
    }
    if is_ours {
        folder.remove_entry(TOKEN_NAME)?;
    }
    match remove_directory(path) {
        Err(Code::NOT_EMPTY | Code::ALREADY_EXISTS) => Err(Removal::Stays(foreign(FOREIGN_FILES))),
        Err(code) => {
            // It will be tried again.
            let _ = put_token(&folder, &made.token);
            Err(code.into())
        }
        Ok(()) => Ok(()),
    }
}

fn may_remove(path: &Path, made: &MadeFolder, roots: &Roots) -> Result<(), Removal> {
    check_folder(&Directory::open(path)?, made, roots)?;
    for entry in fs::read_dir(path).map_err(|error| Code::of(&error).unwrap_or(Code::IO))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let goes = name == TOKEN_NAME || (made.thing.is_some() && made.files.contains(&name));
        if !goes {
            return Err(Removal::Stays(foreign(FOREIGN_FILES)));
        }
    }
    if let Some(parent) = path.parent() {
        may_write(parent)?;
    }
    // Files are removed from the folder itself, too.
    if !made.files.is_empty() {
        may_write(path)?;
    }
    Ok(())
}

/// Writes the token of a folder that was just made.
///
/// # Errors
/// What the system says.
pub fn put_token(folder: &Directory, token: &str) -> io::Result<()> {
    folder.put_new(TOKEN_NAME, token.as_bytes())
}

/// Whether the open folder holds the token; false in one that may not have been made by this program, which goes only
/// if it is empty.
fn check_folder(folder: &Directory, made: &MadeFolder, roots: &Roots) -> Result<bool, Removal> {
    /// Longer than any token that is written.
    const BYTES_MAX: u64 = 64;
    let mut token = String::new();
    let found = match folder.open_entry(TOKEN_NAME) {
        Ok(file) => file.take(BYTES_MAX).read_to_string(&mut token).is_ok() && token == made.token,
        Err(_) => false,
    };
    let Some(thing) = &made.thing else { return Ok(found) };
    let now = Thing::of(folder.as_file(), roots).map_err(|error| Code::of(&error).unwrap_or(Code::IO))?;
    if found && thing.is_again(&now) != Some(false) {
        return Ok(true);
    }
    Err(Removal::Stays(foreign(ANOTHER_FOLDER)))
}

enum Removal {
    System(Code),
    Stays(Undone),
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

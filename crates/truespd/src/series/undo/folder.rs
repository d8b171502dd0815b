//! Folders for a suite's own files: made with an entry in the journal, and removed at the end, whatever ends the suite.

use crate::series::undo::{Action, Journal, Left, Undo};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::guard::mark::Marks;
use truespd_core::sys::error::{Code, system_text};
use truespd_core::sys::file::{Directory, Stat, make_private_directory, may_write, remove_directory};
use truespd_core::sys::identity::Identity;
use truespd_core::sys::system::user;
use truespd_core::text::printable_path;

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

/// Attempts to find a name that is free.
const NAMES_TRIED: u32 = 100;

/// A folder for files whose names were given when it was made.
#[derive(Debug, Clone)]
pub struct Scratch {
    path: PathBuf,
    /// The open folder: while it is open, its file system cannot be unmounted by mistake.
    folder: Arc<File>,
}

impl Scratch {
    /// Makes a folder for a suite in `parent`, for files called `files`. The journal removes it.
    ///
    /// # Errors
    /// What could not be done and what to do.
    pub fn make(parent: &Path, suite: &str, files: &[&str], journal: &mut Journal) -> Result<Self, Refusal> {
        let failed = |error: std::io::Error| {
            let (shown, why) = (printable_path(parent), system_text(&error));
            refused(format!("'{shown}': could not make a folder for the test file: {why}"))
                .hint("choose a directory that you may write to")
        };
        let place = fs::canonicalize(parent).map_err(failed)?;
        for number in 0..NAMES_TRIED {
            let path = place.join(format!("{FOLDER_PREFIX}{suite}-{}-{number}", std::process::id()));
            let files: Vec<String> = files.iter().map(ToString::to_string).collect();
            if path.symlink_metadata().is_ok() {
                continue;
            }
            let entry = Undo::Folder { path: path.clone(), identity: None, files: files.clone() };
            journal.add(entry).map_err(not_noted)?;
            if let Err(error) = make_private_directory(&path) {
                // Only what was made is remembered.
                journal.withdraw(&path).map_err(not_noted)?;
                if error.kind() == std::io::ErrorKind::AlreadyExists {
                    continue;
                }
                return Err(failed(error));
            }
            let identity = Some(Identity::of_name(&path).map_err(failed)?);
            journal.add(Undo::Folder { path: path.clone(), identity, files }).map_err(not_noted)?;
            let folder = Arc::new(File::open(&path).map_err(failed)?);
            return Ok(Scratch { path, folder });
        }
        let words = format!("'{}': too many folders of killed runs", printable_path(&place));
        Err(refused(words).hint(format!("remove {FOLDER_PREFIX}{suite}-*")))
    }

    /// Checks that the path still leads to the folder: otherwise a run would make it again, perhaps on another disk.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> Result<(), Refusal> {
        let own = Identity::of(&self.folder).ok();
        let there = Identity::of_name(&self.path).ok();
        if there.is_some() && there == own {
            return Ok(());
        }
        let words = format!(
            "'{}': the folder of the test file is gone, or another one is there now: it was removed or renamed, or a \
             file system was mounted or unmounted there; the series ends, as its next run might measure another disk",
            printable_path(&self.path)
        );
        Err(refused(words))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the file `name`, as a word of a command line.
    pub fn file(&self, name: &str) -> String {
        self.path.join(name).to_string_lossy().into_owned()
    }
}

fn refused(words: String) -> Refusal {
    Refusal::new(RefusalKind::Target, words)
}

fn not_noted(error: std::io::Error) -> Refusal {
    refused(format!("the clean-up journal could not be written: {}", system_text(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_files() {
        let place = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(&place.path().join("undo")).unwrap();
        let first = Scratch::make(place.path(), "mark", &["data"], &mut journal).unwrap();
        let second = Scratch::make(place.path(), "mark", &["data"], &mut journal).unwrap();
        assert_ne!(first.file("data"), second.file("data"));
        // Another folder of the same name is another folder.
        assert_eq!(second.check(), Ok(()));
        fs::remove_dir(&second.path).unwrap();
        assert!(second.check().unwrap_err().message.contains("is gone"));
        fs::create_dir(&second.path).unwrap();
        assert!(second.check().unwrap_err().message.contains("another one is there"));
        fs::remove_dir(&second.path).unwrap();
        fs::write(first.file("data"), "x").unwrap();
        journal.undo();
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["undo"]);
        let mut journal = Journal::begin(&place.path().join("undo")).unwrap();
        let error = Scratch::make(&place.path().join("none"), "mark", &[], &mut journal).unwrap_err();
        assert!(error.message.contains("could not make a folder"), "{error}");
    }
}

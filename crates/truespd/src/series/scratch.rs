//! The folder for a suite's own files, which is removed at the end, whatever ends the suite.

use crate::series::undo::{FOLDER_PREFIX, Journal, Undo};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::sys::error::system_text;
use truespd_core::sys::file::make_private_directory;
use truespd_core::sys::identity::Identity;
use truespd_core::text::printable_path;

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

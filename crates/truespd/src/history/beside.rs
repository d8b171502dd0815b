//! Documents of a history as files of a folder, for a page that lies beside the folder. No file of it is ever
//! replaced, but for what a killed program left of one.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::{Entry, HistoryError, Store};
use truespd_platform::sys::destination::{make_folder, open_way};
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::{FileKind, Stat};
use truespd_platform::sys::system::user;
use truespd_platform::text::printable_path;

#[derive(Debug)]
pub struct Beside {
    path: PathBuf,
}

/// What has the name of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum There {
    Nothing,
    Document,
    /// A part of it, from its beginning on.
    Part,
    Other,
}

impl Beside {
    /// A folder which these documents may go to. It may be missing; nothing is written yet.
    ///
    /// # Errors
    /// Something else has its name, or that of a document.
    pub fn check(path: PathBuf, store: &Store, entries: &[Entry]) -> Result<Beside, HistoryError> {
        let beside = Beside { path };
        let Ok(there) = beside.path.symlink_metadata() else { return Ok(beside) };
        if !there.is_dir() {
            return Err(beside.refused(&beside.path, "this is no folder"));
        }
        let folder = beside.open()?;
        for entry in entries {
            let name = file_name(entry, store)?;
            if folder.stat_of(OsStr::new(&name)).is_some()
                && there_is(&folder, &name, &store.document(entry)?) == There::Other
            {
                return Err(beside.refused(&beside.path.join(name), "this is another file"));
            }
        }
        Ok(beside)
    }

    pub fn shown(&self) -> String {
        printable_path(&self.path)
    }

    /// Writes what is missing. What was made before an error stays: the next page uses it.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, store: &Store, entries: &[Entry]) -> Result<(), HistoryError> {
        make_folder(&self.path).map_err(|lost| self.failed(&self.path, &lost.to_string()))?;
        let folder = self.open()?;
        for entry in entries {
            let name = file_name(entry, store)?;
            let bytes = store.document(entry)?;
            let path = self.path.join(&name);
            match there_is(&folder, &name, &bytes) {
                There::Document => continue,
                There::Other => return Err(self.refused(&path, "this is another file")),
                There::Part => {
                    folder.remove_entry(&name).map_err(|code| self.failed(&path, &code.text()))?;
                }
                There::Nothing => {}
            }
            let mut file = folder.make_entry(&name).map_err(|code| self.failed(&path, &code.text()))?;
            file.write_all(&bytes).map_err(|error| self.failed(&path, &system_text(&error)))?;
        }
        Ok(())
    }

    fn open(&self) -> Result<Directory, HistoryError> {
        let folder = open_way(&self.path).map_err(|lost| self.failed(&self.path, &lost.to_string()))?;
        match folder.stat() {
            Ok(stat) if stat.owner == user() => Ok(folder),
            Ok(_) => Err(self.refused(&self.path, "this folder belongs to another user")),
            Err(code) => Err(self.failed(&self.path, &code.text())),
        }
    }

    fn refused(&self, path: &Path, why: &str) -> HistoryError {
        let message =
            format!("the documents of the page cannot be put into '{}': {why}", printable_path(path));
        let hint = "move it away, give the page another name with -o, or take fewer results (--since)";
        HistoryError::new(&self.path, message, hint)
    }

    fn failed(&self, path: &Path, why: &str) -> HistoryError {
        let message = format!("'{}' cannot be written: {why}", printable_path(path));
        HistoryError::new(
            &self.path,
            message,
            "the page was not written; run the command again: what is in the folder already is used",
        )
    }
}

/// Ids of a history are digits and letters; a damaged one must not lead elsewhere.
fn file_name(entry: &Entry, store: &Store) -> Result<String, HistoryError> {
    if !entry.id.is_empty() && entry.id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(format!("{}.json", entry.id));
    }
    Err(HistoryError::damaged(&store.path, &format!("'{}' is no id", entry.id)))
}

fn there_is(folder: &Directory, name: &str, document: &[u8]) -> There {
    let file = match folder.open_entry(name) {
        Ok(file) => file,
        Err(Code::NOT_FOUND) => return There::Nothing,
        Err(_) => return There::Other,
    };
    let mut there = Vec::new();
    let is_file = file.metadata().is_ok_and(|about| Stat::of(&about).kind == FileKind::Regular);
    if !is_file || file.take(document.len() as u64 + 1).read_to_end(&mut there).is_err() {
        return There::Other;
    }
    match document.strip_prefix(there.as_slice()) {
        Some([]) => There::Document,
        Some(_) => There::Part,
        None => There::Other,
    }
}

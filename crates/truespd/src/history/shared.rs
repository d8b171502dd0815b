//! A folder that several histories share: a file for each document, compressed, named by the digest of the document and
//! written once.
//!
//! A file gets its name when all of it is on the medium, and a name is given only once, so that a reader never sees
//! half a document and no writer can take away what another one wrote. Nobody waits for anybody: there are no locks,
//! which network file systems and programs that synchronise folders keep or do not keep.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::HistoryError;
use super::entry::{DIGEST_DIGITS, DIGITS, ExportedLine, LineError};
use truespd_core::result::json::{self, ReadError};
use truespd_platform::sys::destination::{make_folder, open_way};
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::FileKind;
use truespd_platform::text::printable_path;

/// The file that says whose folder it is.
const MARKER: &str = "truespd-history.json";
const MARKER_FORMAT: &str = "truespd-history-folder";
/// The version that this program writes and reads.
const MARKER_VERSION: u32 = 1;
/// More than a marker has.
const MARKER_BYTES_MAX: u64 = 4096;

/// How names of documents end, behind the digest.
const ENDING: &str = ".json.gz";
/// How names of files begin that are still written.
const UNFINISHED: &str = ".truespd-unfinished-";
/// What a killed writer left is removed when it is older than this.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What file systems and programs that synchronise put into folders; names with a dot in front count likewise where a
/// folder has its marker.
const OF_OTHERS: [&str; 6] = [".DS_Store", ".dropbox", ".snapshot", ".stfolder", "desktop.ini", "lost+found"];

/// Such a folder while it is open.
#[derive(Debug)]
pub struct Shared {
    path: PathBuf,
    folder: Directory,
}

/// What became of a document that was to be put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was written by this call.
    New,
    /// It was there, and is whole.
    Known,
}

/// What is in such a folder.
#[derive(Debug, Default)]
pub struct Names {
    /// Digests of documents, each once, in order.
    pub documents: BTreeSet<String>,
    /// What somebody else put there, in order.
    pub others: BTreeSet<OsString>,
    /// Files that are still written, or that a killed writer left.
    unfinished: Vec<OsString>,
    has_marker: bool,
}

/// Why a file of the folder cannot be written or is no document; completes a sentence that begins with its name.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// What the system says of reading it.
    #[error("cannot be read: {}", .0.text())]
    Read(Code),
    /// What the system says of writing it.
    #[error("cannot be written: {}", .0.text())]
    Write(Code),
    /// A link, a pipe, a folder: nothing that anybody pushed.
    #[error("is no regular file")]
    NoFile,
    /// Its end is missing, as after a crash of the machine that wrote it, or a copy that was not finished.
    #[error("is cut off")]
    CutOff,
    /// What is in it does not decompress.
    #[error("is damaged: {0}")]
    Damaged(String),
    /// It is more than anybody reads.
    #[error("unpacks to more than any result of its size has: it is damaged, or made to fill the memory")]
    TooLarge,
    /// No exported line, or that of another document.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The name belongs to another document.
    #[error("holds another document than its name says")]
    Renamed,
    /// What has the name of the document is not the document.
    #[error("is there already, and {0}; it was left as it is")]
    Taken(Box<FileError>),
}

/// What the marker of a folder says.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    format: String,
    format_version: u32,
    #[serde(default)]
    about: String,
}

impl Shared {
    /// Opens a folder to put documents into, and makes it where there is none. What is there already has to be one of
    /// these folders, or empty: nothing is added to other people's files.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing was changed.
    pub fn open_to_put(path: &Path) -> Result<Shared, HistoryError> {
        make_folder(path).map_err(|lost| cannot(path, "be made", &lost.to_string()))?;
        let shared = Self::open(path)?;
        if !shared.has_marker()? {
            let names = shared.names()?;
            // Somebody else may have begun the folder meanwhile.
            if !(names.is_free() || shared.has_marker()?) {
                return Err(shared.of_others(&names));
            }
            shared.put_marker().map_err(|error| cannot(path, "be written", &error.to_string()))?;
            shared.has_marker()?;
        }
        shared.remove_leftovers();
        Ok(shared)
    }

    /// Opens a folder to take documents from.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn open_to_take(path: &Path) -> Result<Shared, HistoryError> {
        let shared = Self::open(path)?;
        if !shared.has_marker()? {
            let shown = printable_path(path);
            let message = format!("'{shown}' holds no results of truespd: the file '{MARKER}' is missing");
            return Err(HistoryError::new(
                path,
                message,
                "give a folder that was made by truespd history push FOLDER",
            ));
        }
        Ok(shared)
    }

    fn open(path: &Path) -> Result<Shared, HistoryError> {
        let folder = open_way(path).map_err(|lost| cannot(path, "be opened", &lost.to_string()))?;
        Ok(Shared { path: path.to_path_buf(), folder })
    }

    /// Where a document is, for messages.
    pub fn path_of(&self, digest: &str) -> PathBuf {
        self.path.join(file_name(digest))
    }

    /// Whether it is one of these folders.
    ///
    /// # Errors
    /// It is one of a later version, or its marker is damaged.
    fn has_marker(&self) -> Result<bool, HistoryError> {
        let Some(kind) = self.kind_of(MARKER) else { return Ok(false) };
        let marker = self.path.join(MARKER);
        let shown = printable_path(&marker);
        let hint = "if the folder is one of truespd, remove this file: the next push makes it anew";
        let mut text = Vec::new();
        if kind != FileKind::Regular {
            return Err(HistoryError::new(&marker, format!("'{shown}' is no regular file"), hint));
        }
        let file = self.folder.open_entry(MARKER).map_err(|code| cannot(&marker, "be read", &code.text()))?;
        let read = file.take(MARKER_BYTES_MAX).read_to_end(&mut text);
        read.map_err(|error| cannot(&marker, "be read", &system_text(&error)))?;
        match serde_json::from_slice::<Marker>(&text) {
            Ok(marker) if marker.format == MARKER_FORMAT && marker.format_version == MARKER_VERSION => {
                Ok(true)
            }
            Ok(Marker { format, format_version, .. }) if format == MARKER_FORMAT => {
                let message = format!(
                    "'{shown}' says that the folder has version {format_version}, but this program knows version \
                     {MARKER_VERSION}"
                );
                Err(HistoryError::new(&marker, message, "use a newer truespd, or another folder"))
            }
            _ => {
                let message = format!("'{shown}' is damaged, or of another program");
                Err(HistoryError::new(&marker, message, hint))
            }
        }
    }

    fn put_marker(&self) -> Result<(), FileError> {
        let marker = Marker {
            format: MARKER_FORMAT.into(),
            format_version: MARKER_VERSION,
            about: "Results of truespd, a file for each; truespd history pull FOLDER reads them.".into(),
        };
        let text = json::indented(&marker);
        let unfinished = self.write_unfinished(text.as_bytes()).map_err(FileError::Write)?;
        self.give_name(&unfinished, MARKER).map_err(FileError::Write).map(drop)
    }

    fn of_others(&self, names: &Names) -> HistoryError {
        let some: Vec<String> =
            names.others.iter().take(3).map(|name| printable_path(Path::new(name))).collect();
        let more = if names.others.len() > some.len() { ", ..." } else { "" };
        let message = format!(
            "the folder '{}' is not empty, and truespd history push did not make it: it has {}{more}",
            printable_path(&self.path),
            some.join(", ")
        );
        HistoryError::new(&self.path, message, "give an empty folder, or one that does not exist yet")
    }

    fn kind_of(&self, name: &str) -> Option<FileKind> {
        self.folder.stat_of(OsStr::new(name)).map(|stat| stat.kind)
    }

    /// What is there.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn names(&self) -> Result<Names, HistoryError> {
        let all = self.folder.names().map_err(|code| cannot(&self.path, "be read", &code.text()))?;
        let mut names = Names::default();
        for name in all {
            let Some(text) = name.to_str() else {
                names.others.insert(name);
                continue;
            };
            if text == MARKER {
                names.has_marker = true;
            } else if text.starts_with(UNFINISHED) {
                names.unfinished.push(name);
            } else if let Some(digest) = text.strip_suffix(ENDING).filter(|digest| is_digest(digest)) {
                names.documents.insert(digest.to_string());
            } else if !matches!(text, "." | "..") && !OF_OTHERS.contains(&text) {
                names.others.insert(name);
            }
        }
        if names.has_marker {
            names.others.retain(|name| !name.to_string_lossy().starts_with('.'));
        }
        Ok(names)
    }

    /// Puts a document there. One that is there already stays as it is.
    ///
    /// # Errors
    /// Its name is taken by something that is not this document, or it cannot be written; what is there is as it was.
    pub fn put(&self, line: &ExportedLine) -> Result<Put, FileError> {
        let digest = line.digest();
        let name = file_name(&digest);
        if self.kind_of(&name).is_some() {
            return self.is_known(&digest);
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let text = line.text();
        let packed = gzip.write_all(text.as_bytes()).and_then(|()| gzip.write_all(b"\n"));
        let bytes = packed.and_then(|()| gzip.finish()).expect("memory takes all that is written");
        let unfinished = self.write_unfinished(&bytes).map_err(FileError::Write)?;
        match self.give_name(&unfinished, &name).map_err(FileError::Write)? {
            Put::New => Ok(Put::New),
            Put::Known => self.is_known(&digest),
        }
    }

    /// Whether what has the name is the document.
    fn is_known(&self, digest: &str) -> Result<Put, FileError> {
        match self.read(digest) {
            Ok(_) => Ok(Put::Known),
            Err(error) => Err(FileError::Taken(Box::new(error))),
        }
    }

    /// Writes a file under a name that nobody looks at, to the medium.
    fn write_unfinished(&self, bytes: &[u8]) -> Result<String, Code> {
        loop {
            let name = format!("{UNFINISHED}{:016x}", RandomState::new().hash_one(std::process::id()));
            let mut file = match self.folder.make_entry(&name) {
                Err(Code::ALREADY_EXISTS) => continue,
                made => made?,
            };
            return match file.write_all(bytes).and_then(|()| file.sync_all()) {
                Ok(()) => Ok(name),
                Err(error) => {
                    let _ = self.folder.remove_entry(&name);
                    Err(Code::of(&error).unwrap_or(Code::IO))
                }
            };
        }
    }

    /// Gives what was written its name, where nothing has it.
    fn give_name(&self, unfinished: &str, name: &str) -> Result<Put, Code> {
        let given = match self.folder.rename_entry_to_free(unfinished, OsStr::new(name)) {
            // No such flag, and no second names for a file (FAT, some file systems in user space). Between this look
            // and the renaming somebody else may give the name: to the same document, because the name is its digest.
            Err(Code::NOT_PERMITTED | Code::NOT_SUPPORTED) if self.kind_of(name).is_none() => {
                self.folder.rename_entry(unfinished, OsStr::new(name))
            }
            other => other,
        };
        match given {
            Ok(()) => Ok(Put::New),
            Err(code) => {
                let _ = self.folder.remove_entry(unfinished);
                // A file server may have done what it was asked for twice, and say so only of the second time.
                if self.kind_of(name).is_some() { Ok(Put::Known) } else { Err(code) }
            }
        }
    }

    /// Brings the names to the medium, too. File systems that cannot do that do it by themselves.
    pub fn flush(&self) {
        if let Ok(folder) = File::open(&self.path) {
            let _ = folder.sync_all();
        }
    }

    /// Removes what killed writers left. Its age is told by the clock of the file system, and so is now: the clocks
    /// of the machines do not matter.
    fn remove_leftovers(&self) {
        let Ok(names) = self.names() else { return };
        if names.unfinished.is_empty() {
            return;
        }
        let Ok(made) = self.write_unfinished(b"") else { return };
        let now = self.modified(&made);
        let _ = self.folder.remove_entry(&made);
        for name in names.unfinished {
            let then = name.to_str().and_then(|name| self.modified(name));
            let age = now.zip(then).and_then(|(now, then)| now.duration_since(then).ok());
            if age.is_some_and(|age| age > LEFTOVER_AGE) {
                let _ = self.folder.remove_entry(&name);
            }
        }
    }

    fn modified(&self, name: &str) -> Option<SystemTime> {
        self.folder.open_entry(name).ok()?.metadata().ok()?.modified().ok()
    }

    /// Reads a document, and checks that it is the one of its name.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(&self, digest: &str) -> Result<ExportedLine, FileError> {
        let name = file_name(digest);
        // Before it is opened: opening a device may do something.
        match self.kind_of(&name) {
            Some(FileKind::Regular) => {}
            Some(_) => return Err(FileError::NoFile),
            None => return Err(FileError::Read(Code::NOT_FOUND)),
        }
        let file = self.folder.open_entry(&name).map_err(FileError::Read)?;
        let packed_bytes = file.metadata().map_or(0, |about| about.len());
        let unpacking = MultiGzDecoder::new(BufReader::new(file));
        let text = json::unpacked(packed_bytes, unpacking).map_err(|error| match error {
            ReadError::TooLarge => FileError::TooLarge,
            ReadError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => FileError::CutOff,
            ReadError::Io(error) => match Code::of(&error) {
                Some(code) => FileError::Read(code),
                None => FileError::Damaged(system_text(&error)),
            },
            other => FileError::Damaged(other.to_string()),
        })?;
        let line = ExportedLine::read(&text)?;
        if line.digest() == digest { Ok(line) } else { Err(FileError::Renamed) }
    }
}

impl Names {
    /// Nothing is there that somebody wanted to have.
    fn is_free(&self) -> bool {
        self.documents.is_empty() && self.others.is_empty()
    }
}

fn file_name(digest: &str) -> String {
    format!("{digest}{ENDING}")
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_DIGITS && text.bytes().all(|digit| DIGITS.contains(&digit))
}

/// `what` and `why` say what cannot be done with the path.
fn cannot(path: &Path, what: &str, why: &str) -> HistoryError {
    let message = format!("'{}' cannot {what}: {why}", printable_path(path));
    HistoryError::new(path, message, "see whether it is mounted, and who may write there: ls -ld FOLDER")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Facts, Filter, Store};
    use std::fs;

    /// Their digests have the same first seven digits, which are their ids as long as they are alone.
    const OF_ONE_ID: [&str; 2] = ["88277", "102584"];

    #[test]
    fn documents_of_one_id_stay_two() {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::open_to_put(&dir.path().join("team")).unwrap();
        let lines = OF_ONE_ID.map(|text| ExportedLine::of_new(text.into(), Facts::default(), 0));
        assert_eq!(lines[0].digest()[..7], lines[1].digest()[..7]);
        for line in &lines {
            assert_eq!(shared.put(line).unwrap(), Put::New);
            assert_eq!(shared.put(line).unwrap(), Put::Known);
        }
        let names = shared.names().unwrap();
        let read: Vec<ExportedLine> =
            names.documents.iter().map(|digest| shared.read(digest).unwrap()).collect();
        let mut store = Store::open(&dir.path().join("history.sqlite")).unwrap();
        let added = store.add_all(read.into_iter().map(Ok::<_, HistoryError>), &Filter::default()).unwrap();
        assert_eq!(added.iter().map(|one| one.id.len()).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(store.digests().unwrap(), names.documents);
    }

    #[test]
    fn a_small_file_is_not_unpacked_to_a_large_one() {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::open_to_put(dir.path()).unwrap();
        let digest = ExportedLine::of_new("{}".into(), Facts::default(), 0).digest();
        for (mib, is_read) in [(63, true), (100, false)] {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
            gzip.write_all(b"{").unwrap();
            (0..mib).for_each(|_| gzip.write_all(&[b' '; 1 << 20]).unwrap());
            fs::write(shared.path_of(&digest), gzip.finish().unwrap()).unwrap();
            let told = shared.read(&digest).unwrap_err();
            assert_eq!(matches!(told, FileError::TooLarge), !is_read, "{mib} MiB: {told}");
        }
    }

    #[test]
    fn a_name_is_given_once() {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::open_to_put(dir.path()).unwrap();
        let unfinished = shared.write_unfinished(b"a").unwrap();
        assert_eq!(shared.give_name(&unfinished, "name"), Ok(Put::New));
        let unfinished = shared.write_unfinished(b"b").unwrap();
        assert_eq!(shared.give_name(&unfinished, "name"), Ok(Put::Known));
        assert_eq!(fs::read(dir.path().join("name")).unwrap(), b"a");
        assert_eq!(shared.names().unwrap().unfinished.len(), 0);
    }
}

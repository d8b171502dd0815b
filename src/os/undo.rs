//! What must be put back or removed when a program ends, however it ends.
//!
//! A [`Journal`] in the user's state directory says what to undo, and says so before anything is changed. The program
//! undoes it at its end. When it is killed, its caretaker does (a process that waits for nothing else), and when that
//! was killed too or the power failed, the next program that looks ([`sweep`]). Whose journal it is tells a lock
//! (`flock(2)`) that ends with the process.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::words::{printable_path, system_text};

/// One thing to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Removes a folder that the program made, with the files it made there.
    Folder {
        /// Absolute path.
        path: PathBuf,
        /// Device and inode number, once it is made; before that only an empty folder goes.
        identity: Option<(u64, u64)>,
        /// Names of the files that go with it; what else is there stays, and the folder with it.
        files: Vec<String>,
    },
    /// Writes a setting of the kernel back, unless somebody else changed it meanwhile.
    Setting {
        /// Absolute path in sysfs or procfs.
        path: PathBuf,
        /// What it was.
        before: String,
        /// What the program made it.
        during: String,
    },
}

/// What became of one thing to undo, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// What it was: `removed '/mnt/truespd-mark-x1'`.
    pub words: String,
    /// Whether it is undone. If not, the words say why, and whether anybody will try again does `is_settled`.
    pub is_done: bool,
    /// Nothing is left to do: undone, or not this program's any more.
    pub is_settled: bool,
}

/// Why something was not undone.
enum Left {
    /// It is somebody else's now.
    Foreign(String),
    /// The system refused; it may take it later.
    Refused(String),
}

/// What this program has to undo. Undo it with [`Journal::undo`]; dropped without that, it stays for a caretaker or
/// the next [`sweep`].
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Holds the lock.
    file: File,
    entries: Vec<Undo>,
}

/// `truespd/undo` in the user's state directory; none where neither XDG_STATE_HOME nor HOME is set.
pub fn journals_of_this_user() -> Option<PathBuf> {
    super::mark::state_dir().map(|dir| dir.join("undo"))
}

impl Journal {
    /// An empty journal in `dir`, which is made when it is missing.
    ///
    /// # Errors
    /// What the system says about the folder or the file.
    pub fn begin(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let (file, path) = tempfile::Builder::new()
            .prefix("run-")
            .suffix(".json")
            .tempfile_in(dir)?
            .keep()
            .map_err(|e| e.error)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Journal { path, file, entries: Vec::new() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes one more thing to undo. Call it before the thing is done.
    ///
    /// # Errors
    /// What the system says; then it is not noted and must not be done.
    pub fn add(&mut self, undo: Undo) -> io::Result<()> {
        self.entries.push(undo);
        self.store().inspect_err(|_| {
            self.entries.pop();
        })
    }

    /// One entry a line, so that a torn last line costs none of those before it; appended, so that none is ever lost.
    fn store(&mut self) -> io::Result<()> {
        let last = self.entries.last().expect("called after one was added");
        let mut line = serde_json::to_string(last)?;
        line.push('\n');
        self.file.seek(io::SeekFrom::End(0))?;
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()
    }

    /// Undoes everything, the last first, and removes the journal when nothing is left to do.
    pub fn undo(mut self) -> Vec<Undone> {
        let undone = undo_all(&mut self.entries);
        if undone.iter().all(|one| one.is_settled) {
            // What is left of it says nothing any more.
            let _ = fs::remove_file(&self.path);
        }
        undone
    }
}

/// Undoes what the owner of the journal at `path` left, after waiting for the owner's end. Nothing, when the owner
/// did it.
pub fn undo_abandoned(path: &Path) -> Vec<Undone> {
    take_over(path, FlockOperation::LockExclusive).map(Journal::undo).unwrap_or_default()
}

/// Undoes what programs left that were killed together with their caretakers.
pub fn sweep(dir: &Path) -> Vec<Undone> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let journals =
        entries.flatten().map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "json"));
    let abandoned = journals.filter_map(|path| take_over(&path, FlockOperation::NonBlockingLockExclusive));
    abandoned.flat_map(Journal::undo).collect()
}

/// The journal, when nobody has it any more.
fn take_over(path: &Path, lock: FlockOperation) -> Option<Journal> {
    let mut file = File::options().read(true).write(true).open(path).ok()?;
    flock(&file, lock).ok()?;
    // Removed by the one who had it.
    let is_there =
        fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|own| own.ino() == now.ino()));
    if !is_there {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Some(Journal { path: path.to_path_buf(), file, entries })
}

fn undo_all(entries: &mut Vec<Undo>) -> Vec<Undone> {
    std::iter::from_fn(|| entries.pop()).filter_map(|entry| undo_one(&entry)).collect()
}

/// Nothing to tell when there was nothing to do.
fn undo_one(undo: &Undo) -> Option<Undone> {
    match undo {
        Undo::Folder { path, identity, files } => {
            let removed = remove_folder(path, *identity, files)?;
            Some(told(removed, format!("removed '{}'", printable_path(path)), path))
        }
        Undo::Setting { path, before, during } => {
            let restored = restore(path, before, during)?;
            Some(told(restored, format!("set {} back to '{before}'", printable_path(path)), path))
        }
    }
}

fn told(result: Result<(), Left>, done: String, path: &Path) -> Undone {
    let left = |why| format!("'{}' was left as it is: {why}", printable_path(path));
    match result {
        Ok(()) => Undone { words: done, is_done: true, is_settled: true },
        Err(Left::Foreign(why)) => Undone { words: left(why), is_done: false, is_settled: true },
        Err(Left::Refused(why)) => Undone { words: left(why), is_done: false, is_settled: false },
    }
}

/// `None` when the folder is gone already.
fn remove_folder(path: &Path, identity: Option<(u64, u64)>, files: &[String]) -> Option<Result<(), Left>> {
    let emptied = match identity {
        Some(identity) => remove_files(path, identity, files),
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

fn remove_files(path: &Path, identity: (u64, u64), files: &[String]) -> Result<(), Removal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    let now = rustix::fs::fstat(&folder)?;
    if (now.st_dev, now.st_ino) != identity {
        return Err(Removal::Left(Left::Foreign("another folder has its name now".into())));
    }
    // Names, not paths: nothing outside of the folder.
    for name in files.iter().filter(|name| !name.contains('/')) {
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

/// `None` when it is as it was, or gone with its device.
fn restore(path: &Path, before: &str, during: &str) -> Option<Result<(), Left>> {
    let now = match fs::read_to_string(path) {
        Ok(now) => now.trim().to_string(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(Left::Refused(system_text(&error)))),
    };
    if now == before {
        return None;
    }
    if now != during {
        let why = format!("somebody else set it to '{now}'; it was '{before}' before");
        return Some(Err(Left::Foreign(why)));
    }
    Some(fs::write(path, before).map_err(|error| Left::Refused(system_text(&error))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path, files: &[&str]) -> Undo {
        let made = fs::metadata(path).unwrap();
        Undo::Folder {
            path: path.to_path_buf(),
            identity: Some((made.dev(), made.ino())),
            files: files.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn everything_is_undone_and_the_journal_goes() {
        let place = tempfile::tempdir().unwrap();
        let (made, setting) = (place.path().join("made"), place.path().join("setting"));
        let mut journal = Journal::begin(&place.path().join("undo")).unwrap();
        journal.add(Undo::Folder { path: made.clone(), identity: None, files: vec![] }).unwrap();
        fs::create_dir(&made).unwrap();
        journal.add(folder(&made, &["a", "never-made"])).unwrap();
        fs::write(made.join("a"), "x").unwrap();
        fs::write(&setting, "write through\n").unwrap();
        let (before, during) = ("write back".to_string(), "write through".to_string());
        journal.add(Undo::Setting { path: setting.clone(), before, during }).unwrap();
        let undone = journal.undo();
        assert!(undone.iter().all(|one| one.is_done), "{undone:?}");
        assert_eq!(undone.len(), 2, "the folder is told of once");
        assert!(!made.exists());
        assert_eq!(fs::read_to_string(&setting).unwrap(), "write back");
        assert_eq!(fs::read_dir(place.path().join("undo")).unwrap().count(), 0);
    }

    #[test]
    fn what_somebody_else_did_stays() {
        let place = tempfile::tempdir().unwrap();
        let (made, setting) = (place.path().join("made"), place.path().join("setting"));
        fs::create_dir(&made).unwrap();
        let undo_dir = place.path().join("undo");
        let mut journal = Journal::begin(&undo_dir).unwrap();
        journal.add(folder(&made, &["a"])).unwrap();
        fs::write(made.join("theirs"), "data").unwrap();
        fs::write(&setting, "third").unwrap();
        let setting_entry =
            Undo::Setting { path: setting.clone(), before: "first".into(), during: "second".into() };
        journal.add(setting_entry).unwrap();
        let undone = journal.undo();
        assert!(undone.iter().all(|one| !one.is_done), "{undone:?}");
        assert!(undone[0].words.contains("somebody else set it to 'third'"), "{undone:?}");
        assert_eq!(fs::read_dir(&undo_dir).unwrap().count(), 0, "nobody would be told of it for ever");
        assert_eq!(fs::read_to_string(made.join("theirs")).unwrap(), "data");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "third");

        // A folder of the same name that is not ours.
        let other = place.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("a"), "data").unwrap();
        let undo = Undo::Folder { path: other.clone(), identity: Some((1, 1)), files: vec!["a".into()] };
        assert!(!undo_one(&undo).unwrap().is_done);
        assert!(other.join("a").exists());
    }

    #[test]
    fn only_abandoned_journals_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let made = place.path().join("made");
        fs::create_dir(&made).unwrap();
        let undo_dir = place.path().join("undo");
        let mut journal = Journal::begin(&undo_dir).unwrap();
        journal.add(folder(&made, &[])).unwrap();
        assert_eq!(sweep(&undo_dir), vec![], "its owner lives");
        assert!(made.exists());
        // A write that was torn by the kill.
        fs::OpenOptions::new().append(true).open(journal.path()).unwrap().write_all(b"{\"fol").unwrap();
        drop(journal);
        assert_eq!(sweep(&undo_dir).len(), 1);
        assert!(!made.exists());
        assert_eq!(sweep(&undo_dir), vec![]);
        assert_eq!(sweep(&place.path().join("none")), vec![]);
    }

    #[test]
    fn the_caretaker_waits_for_the_end_of_the_owner() {
        let place = tempfile::tempdir().unwrap();
        let made = place.path().join("made");
        fs::create_dir(&made).unwrap();
        let mut journal = Journal::begin(&place.path().join("undo")).unwrap();
        journal.add(folder(&made, &[])).unwrap();
        let path = journal.path().to_path_buf();
        let caretaker = std::thread::spawn(move || undo_abandoned(&path));
        assert!(made.exists());
        drop(journal);
        assert_eq!(caretaker.join().unwrap().len(), 1);
        assert!(!made.exists());
    }
}

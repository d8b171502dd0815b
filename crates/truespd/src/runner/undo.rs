//! What must be put back or removed when a program ends, however it ends.
//!
//! A [`Journal`] in the user's state directory says what to undo, and is written before anything is changed.
//! The program undoes it at its end. When it is killed, its caretaker does (a process that only waits for
//! that); when that was killed too, or the power failed, the next series does ([`sweep`]). A lock
//! (`flock(2)`) that ends with the process tells whose journal it is.
//!
//! Only journals of this user are used, and only changes that this program makes are undone: folders with its names,
//! settings of disks.

mod settle;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use settle::{Action, settle_folder, settle_setting, stuck};
pub use settle::{Disk, FOLDER_PREFIX, Fate, MadeFolder, TOKEN_NAME, Undone, put_token};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{fs, io};
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_platform::machine::host::boot_id;
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::identity::Identity;
use truespd_platform::sys::lock::{Lock, lock};
use truespd_platform::sys::own::OwnFolder;
use truespd_platform::sys::{file, signals};
use truespd_platform::text::printable_path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Removes a folder that the program made, with the files it made there.
    Folder {
        /// Absolute path; its last name begins with [`FOLDER_PREFIX`].
        path: PathBuf,
        #[serde(flatten)]
        made: MadeFolder,
    },
    /// Writes a disk's setting back, unless somebody else changed it meanwhile.
    Setting {
        path: PathBuf,
        before: String,
        /// What the program made it.
        during: String,
        /// Whose setting it is: another disk can have the path after the next boot.
        disk: Disk,
    },
    /// Nothing is to be undone at this path any more: it was never made, or it is settled. Earlier lines
    /// about it are void.
    Settled {
        /// As in the earlier lines.
        path: PathBuf,
    },
}

impl Undo {
    fn path(&self) -> &Path {
        match self {
            Undo::Folder { path, .. } | Undo::Setting { path, .. } | Undo::Settled { path } => path,
        }
    }
}

/// A line of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    /// The boot that it was noted in (`random/boot_id` in procfs).
    boot: Option<String>,
    undo: Undo,
}

/// What this program has to undo. Undo it with [`Journal::undo`]; dropped without that, it stays for a caretaker or
/// the next [`sweep`].
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Locked,
    entries: Vec<Entry>,
    /// Settings that nobody else may change until this is undone, locked.
    claims: Vec<Locked>,
    roots: Roots,
}

/// `truespd/undo` in the user's state directory; none where neither XDG_STATE_HOME nor HOME is set.
pub fn journals_of_this_user() -> Option<PathBuf> {
    truespd_platform::sys::system::state_folder().map(|dir| dir.join("undo"))
}

impl Journal {
    /// An empty journal in `dir`, which is made when it is missing.
    ///
    /// # Errors
    /// What the system says about the folder or the file, or in words that the folder is another user's.
    pub fn begin(dir: &Path, roots: Roots) -> io::Result<Self> {
        OwnFolder::make(dir)?;
        loop {
            let (file, path) = tempfile::Builder::new()
                .prefix("run-")
                .suffix(".json")
                .tempfile_in(dir)?
                .keep()
                .map_err(|e| e.error)?;
            // A sweep of another process can lock it before its maker does, and removes it as empty.
            lock(&file, Lock::Wait)?;
            if is_at(&file, &path) {
                return Ok(Journal {
                    path,
                    file: Locked(file),
                    entries: Vec::new(),
                    claims: Vec::new(),
                    roots,
                });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a setting for this program alone, until this is undone. Read what it says after that, not before: a series
    /// that was killed may have left it changed, and that is undone first and told.
    ///
    /// # Errors
    /// Another series has it.
    pub fn claim(&mut self, setting: &Path) -> Result<Vec<Undone>, Refusal> {
        const TAKEN: &str = "another series of TrueSpd has changed its write cache and sets it back at its end; wait \
                             until then";
        let opened = File::open(setting).and_then(|file| lock(&file, Lock::Try).map(|()| file));
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(Refusal::new(RefusalKind::Target, TAKEN));
            }
            Err(error) => {
                let words = format!("{}: {}", printable_path(setting), system_text(&error));
                return Err(Refusal::new(RefusalKind::Target, words));
            }
        };
        let dir = self.path.parent().expect("a file in a folder");
        let undone = sweep(dir, &self.roots);
        if let Some(left) = undone.iter().find(|one| one.fate == Fate::Stuck) {
            let words = format!("a series that was killed may have left it changed: {}", left.words);
            return Err(Refusal::new(RefusalKind::Target, words));
        }
        // A journal that is still there has an owner, or a caretaker that is undoing it.
        for other in journals(dir).iter().filter(|path| **path != self.path) {
            let entries = entries(&fs::read_to_string(other).unwrap_or_default());
            if entries
                .iter()
                .any(|entry| matches!(&entry.undo, Undo::Setting { path, .. } if path == setting))
            {
                return Err(Refusal::new(RefusalKind::Target, TAKEN));
            }
        }
        self.claims.push(Locked(file));
        Ok(undone)
    }

    /// Notes one more thing to undo. Call it before the thing is done.
    ///
    /// # Errors
    /// What the system says; then it is not noted and must not be done.
    pub fn add(&mut self, undo: Undo) -> io::Result<()> {
        let entry = Entry { boot: boot_id(&self.roots), undo };
        self.store(&entry)?;
        take(&mut self.entries, entry);
        Ok(())
    }

    /// Takes back what was noted about a path, because nothing was made there.
    ///
    /// # Errors
    /// What the system says.
    pub fn withdraw(&mut self, path: &Path) -> io::Result<()> {
        self.add(Undo::Settled { path: path.to_path_buf() })
    }

    /// One entry a line, so that a torn last line costs none of those before it; appended, so that none is ever lost.
    fn store(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_string(entry)?;
        line.push('\n');
        self.file.0.seek(io::SeekFrom::End(0))?;
        self.file.0.write_all(line.as_bytes())?;
        self.file.0.sync_data()
    }

    /// Undoes everything, the last first, and removes the journal when nothing is left to do. Of each path it
    /// tells once.
    pub fn undo(mut self) -> Vec<Undone> {
        let boot = boot_id(&self.roots);
        let mut undone: Vec<Undone> = Vec::new();
        let mut kept: Vec<PathBuf> = Vec::new();
        let entries = std::mem::take(&mut self.entries);
        for entry in entries.iter().rev() {
            let Some(one) = outcome(&entry.undo, entry.boot == boot, &self.roots, Action::Undo) else {
                continue;
            };
            if one.fate == Fate::Stuck {
                kept.push(entry.undo.path().to_path_buf());
            }
            if !undone.contains(&one) {
                undone.push(one);
            }
        }
        if kept.is_empty() {
            // If it cannot be removed, it holds nothing that is still to be undone.
            let _ = fs::remove_file(&self.path);
            return undone;
        }
        for entry in &entries {
            let path = entry.undo.path();
            if !kept.iter().any(|kept| kept == path) {
                // If it cannot be noted, it is told once more.
                let _ = self.withdraw(path);
            }
        }
        undone
    }
}

/// Adds an entry to those that are still to be undone. What it makes void goes.
fn take(entries: &mut Vec<Entry>, entry: Entry) {
    let path = entry.undo.path();
    match &entry.undo {
        Undo::Settled { .. } => {
            entries.retain(|earlier| earlier.undo.path() != path);
            return;
        }
        Undo::Folder { made: MadeFolder { thing: Some(_), .. }, .. } => entries.retain(|earlier| {
            let is_before_it_was_made =
                matches!(&earlier.undo, Undo::Folder { made: MadeFolder { thing: None, .. }, .. });
            !is_before_it_was_made || earlier.undo.path() != path
        }),
        _ => {}
    }
    entries.push(entry);
}

/// Undoes what the owner of the journal at `path` left, after waiting for the owner's end. Nothing, when the owner
/// did it.
pub fn undo_abandoned(path: &Path) -> Vec<Undone> {
    let journal = take_over(path, Lock::Wait, &Roots::default());
    journal.map(Journal::undo).unwrap_or_default()
}

/// Undoes what programs left that were killed together with their caretakers.
pub fn sweep(dir: &Path, roots: &Roots) -> Vec<Undone> {
    let journals = journals(dir);
    match OwnFolder::open(dir) {
        Ok(_) => {
            let abandoned = journals.iter().filter_map(|path| take_over(path, Lock::Try, roots));
            abandoned.flat_map(Journal::undo).collect()
        }
        Err(why) if !journals.is_empty() => {
            vec![left(dir, stuck(why.to_string()))]
        }
        Err(_) => Vec::new(),
    }
}

fn journals(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

/// What is still to be undone of a journal.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        take(&mut entries, entry);
    }
    entries
}

/// The journal, when its owner is gone. Only one that this user wrote: another user could have this program
/// remove files for them.
fn take_over(path: &Path, how: Lock, roots: &Roots) -> Option<Journal> {
    // Nor one that is no plain file.
    OwnFolder::open(path.parent()?).ok()??.open_file(&path.file_name()?.to_string_lossy()).ok()??;
    let mut file = file::open_unlinked(path).ok()?;
    lock(&file, how).ok()?;
    // Else removed by the one who had it.
    if !is_at(&file, path) {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let entries = entries(&text);
    let (path, file) = (path.to_path_buf(), Locked(file));
    Some(Journal { path, file, entries, claims: Vec::new(), roots: roots.clone() })
}

/// A file with a lock of this program. The lock is released explicitly, not only by closing the file: a process that
/// another thread is starting has a copy of every descriptor, and so the lock, until it executes its program.
#[derive(Debug)]
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // The end of the process does the same.
        let _ = lock(&self.0, Lock::Release);
    }
}

/// Whether the path still leads to the open file.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(now)) = (Identity::of(file), Identity::of_name(path)) else { return false };
    own == now
}

/// What becomes of one thing, or would; nothing when it is gone.
fn outcome(undo: &Undo, is_same_boot: bool, roots: &Roots, action: Action) -> Option<Undone> {
    let (place, settled) = settle(undo, is_same_boot, roots, action)?;
    let path = printable_path(&place);
    let words = match (settled, undo, action) {
        (Ok(()), Undo::Setting { before, .. }, Action::Undo) => format!("set {path} back to '{before}'"),
        (Ok(()), Undo::Setting { before, .. }, Action::Look) => format!("{path}, which was '{before}'"),
        (Ok(()), _, Action::Undo) => format!("removed '{path}'"),
        (Ok(()), _, Action::Look) => format!("'{path}'"),
        (Err(why), _, Action::Undo) => return Some(left(&place, why)),
        (Err(why), _, Action::Look) => {
            return Some(Undone { words: format!("'{path}': {}", why.words), ..why });
        }
    };
    Some(Undone { words, fate: Fate::Undone })
}

fn left(path: &Path, why: Undone) -> Undone {
    Undone { words: format!("'{}' was left as it is: {}", printable_path(path), why.words), ..why }
}

/// Where a thing is now, and whether it was undone, or could be.
fn settle(
    undo: &Undo,
    is_same_boot: bool,
    roots: &Roots,
    action: Action,
) -> Option<(PathBuf, Result<(), Undone>)> {
    match undo {
        Undo::Folder { path, made } => Some((path.clone(), settle_folder(path, made, roots, action)?)),
        Undo::Setting { path, before, during, disk } => {
            settle_setting(path, disk, [before, during], is_same_boot, roots, action)
        }
        Undo::Settled { .. } => None,
    }
}

/// The journals of killed series, which nobody else settles meanwhile.
#[derive(Debug)]
pub struct Abandoned {
    journals: Vec<Journal>,
    /// Journals of series that run, or of another user.
    others: usize,
}

impl Abandoned {
    /// Those in `dir`; none where there is no such folder.
    ///
    /// # Errors
    /// Why nothing counts that is in this folder, and what to do.
    pub fn find(dir: &Path, roots: &Roots) -> Result<Self, Refusal> {
        let paths = journals(dir);
        if let Err(why) = OwnFolder::open(dir)
            && !paths.is_empty()
        {
            let words = format!("'{}': {why}", printable_path(dir));
            return Err(Refusal::new(RefusalKind::Machine, words));
        }
        let journals: Vec<Journal> =
            paths.iter().filter_map(|path| take_over(path, Lock::Try, roots)).collect();
        let others = paths.iter().filter(|path| path.exists()).count().saturating_sub(journals.len());
        Ok(Abandoned { journals, others })
    }

    /// Journals that were left alone, because their series run or another user wrote them.
    pub fn others(&self) -> usize {
        self.others
    }

    /// What is left, each thing once. Nothing is changed.
    pub fn list(&self) -> Vec<Undone> {
        let mut all: Vec<Undone> = Vec::new();
        for journal in &self.journals {
            let boot = boot_id(&journal.roots);
            for entry in journal.entries.iter().rev() {
                let found = outcome(&entry.undo, entry.boot == boot, &journal.roots, Action::Look);
                all.extend(found.filter(|one| !all.contains(one)));
            }
        }
        all
    }

    /// Removes and sets back what can be; with `forgets` what cannot is not remembered any more.
    pub fn settle(self, forgets: bool) -> Vec<Undone> {
        let mut undone = Vec::new();
        for journal in self.journals {
            let path = journal.path.clone();
            let of_journal = journal.undo();
            if forgets && of_journal.iter().any(|one| one.fate == Fate::Stuck) {
                // If it cannot be removed, it is told of again.
                let _ = fs::remove_file(path);
            }
            undone.extend(of_journal);
        }
        undone
    }
}

/// What the program sends when it has undone everything itself.
const DISMISSED: &[u8] = b"done\n";
/// What the caretaker sends when no signal can end it any more.
const READY: &str = "ready";

#[derive(Debug)]
pub struct Caretaker {
    child: Child,
}

impl Caretaker {
    /// Starts `program` with the arguments `words` and the path of the journal; it has to call [`live`].
    /// Returns when it is ready.
    ///
    /// # Errors
    /// The system's error, or that it ended at once.
    pub fn start(program: &Path, words: &[&str], journal: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(words.iter().map(OsStr::new))
            .arg(journal)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        io::BufReader::new(out).read_line(&mut line)?;
        if line.trim() != READY {
            let _ = child.wait();
            return Err(io::Error::other("it ended at once"));
        }
        Ok(Caretaker { child })
    }

    /// Ends it: nothing is left to undo.
    pub fn dismiss(mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            // If this fails, it has ended already.
            let _ = input.write_all(DISMISSED);
        }
        let _ = self.child.wait();
    }
}

/// The caretaker's side: waits until the program has ended and undoes what its journal holds.
///
/// # Errors
/// When signals cannot be ignored.
pub fn live(journal: &Path) -> io::Result<Vec<Undone>> {
    signals::ignore_ends()?;
    signals::leave_session();
    {
        let mut out = io::stdout().lock();
        // If nobody reads, the program has ended, which the read below shows.
        let _ = writeln!(out, "{READY}").and_then(|()| out.flush());
    }
    let mut said = Vec::new();
    // Interrupted reads are repeated. A failing one means the same as the end: the program is gone.
    let _ = io::stdin().lock().read_to_end(&mut said);
    Ok(if said == DISMISSED { Vec::new() } else { undo_abandoned(journal) })
}

//! The person's word, given once and for good: files that write tests may overwrite from now on without asking.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::decision::{self, Guard};
use super::facts::Candidate;
use super::mark::{MarkState, Whose};
use super::path::{ANOTHER, changed, check_names, entry_of, known_path};
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::machine::storage::{ReadFlags, TargetKind, facts_of, open, resolve};
use truespd_platform::sys::destination::Entry;
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::FileKind;
use truespd_platform::sys::identity::Stamp;
use truespd_platform::sys::identity::names;
use truespd_platform::text::{printable_path, shell_word};

/// A file that may be adopted, or whose mark may be removed.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoptable {
    pub path: PathBuf,
    pub size_bytes: u64,
    /// Names (hard links) of the file.
    pub names: u64,
    pub whose: Whose,
    /// It carries a mark, whatever that says.
    pub is_marked: bool,
    /// Which file it was, with its times, when it was listed.
    listed: Stamp,
}

/// What is there to adopt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adoption {
    /// Files, each once, in the order of their paths.
    pub files: Vec<Adoptable>,
    /// Entries of folders that are left alone: links, devices, pipes, other file systems.
    pub left: Vec<PathBuf>,
}

/// What is to be done with the files.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Adopt,
    Forget,
}

/// Folders of the running system: nothing in them is for tests.
const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr"];
/// A file system in memory, for everybody.
const SHARED_MEMORY: &str = "/dev/shm";

impl Guard<'_> {
    /// The files that these paths stand for. A folder stands for all files in it when `is_recursive`; links
    /// in it are not followed, and other file systems in it are not entered. Touches nothing.
    ///
    /// # Errors
    /// Everything that speaks against it: devices, files in use, files of the running system.
    pub fn adoption(
        &self,
        typed: &[String],
        is_recursive: bool,
        purpose: Purpose,
    ) -> Result<Adoption, Vec<Refusal>> {
        let mut listing =
            Listing { guard: self, purpose, found: Adoption::default(), refusals: Vec::new(), device: 0 };
        for word in typed {
            if let Err(refusal) = listing.add(word, is_recursive) {
                listing.refusals.push(refusal);
            }
        }
        let Listing { mut found, refusals, .. } = listing;
        found.left.sort();
        if refusals.is_empty() { Ok(found) } else { Err(refusals) }
    }

    /// Opens the file that has the name now. What is decided is decided about this open file.
    fn adoptable(&self, path: &Path, entry: &Entry, purpose: Purpose) -> Result<(Adoptable, File), Refusal> {
        let typed = printable_path(path);
        let file = entry.open_to_read().map_err(|code| match code {
            Code::AGAIN => changed(&typed, ANOTHER),
            code => unreadable(path, &code.into()),
        })?;
        let listed = Stamp::of(&file).map_err(|e| unreadable(path, &e))?;
        if purpose == Purpose::Adopt {
            self.check_adoption(&typed, path, entry, &file)?;
        }
        let about = file.metadata().map_err(|e| unreadable(path, &e))?;
        let adoptable = Adoptable {
            path: path.to_path_buf(),
            size_bytes: listed.size_bytes,
            names: names(&about),
            // Whose it is may need a look at the content.
            whose: if purpose == Purpose::Adopt { self.marks.whose(&file) } else { Whose::Foreign },
            is_marked: self.marks.read(&file).is_some(),
            listed,
        };
        Ok((adoptable, file))
    }

    /// May the person give the file away?
    fn check_adoption(&self, typed: &str, path: &Path, entry: &Entry, file: &File) -> Result<(), Refusal> {
        let place = known_path(file).unwrap_or_else(|| entry.path.clone());
        if let Some(folder) = SYSTEM_FOLDERS.iter().find(|folder| place.starts_with(folder))
            && !place.starts_with(SHARED_MEMORY)
        {
            let words = format!(
                "'{typed}' is in {folder}, where the files of the running system are, so it is not adopted"
            );
            return Err(Refusal::guard(typed, words).hint("adopt files in a folder of your own"));
        }
        if let Err(code) = entry.may_write() {
            let why = system_text(&code.into());
            let words =
                format!("'{typed}' cannot be written by this user ({why}), so there is nothing to adopt");
            return Err(Refusal::new(RefusalKind::Target, words).on(typed));
        }
        check_names(typed, entry, file)?;
        let facts = facts_of(file, path, self.roots)?;
        let found =
            self.findings(Candidate { typed, path, file, facts: &facts }, decision::Purpose::Adoption)?;
        if found.holds.is_empty() {
            return Ok(());
        }
        // A file system that somebody puts into a test file is kept, so a mark would not help here either.
        let words = format!("'{typed}' holds data of a known kind, so it is not adopted");
        Err(found.holds_refusal(typed, &shell_word(typed), words))
    }

    /// Opens a file again that was listed: by the same path, and it must be the same file, unchanged.
    fn listed(&self, found: &Adoptable, purpose: Purpose) -> Result<File, Failure> {
        let (path, typed) = (&found.path, printable_path(&found.path));
        let entry = entry_of(&typed, path, |_, code| unreadable(path, &code.into()))?;
        let (now, file) = self.adoptable(path, &entry, purpose)?;
        let (then, now) = (&found.listed, &now.listed);
        let is_same = (then.identity, then.size_bytes, then.birth, then.modified)
            == (now.identity, now.size_bytes, now.birth, now.modified);
        if is_same { Ok(file) } else { Err(another(&typed)) }
    }

    /// Marks a file as one that tests may overwrite.
    ///
    /// # Errors
    /// It is not the file any more that was found, it is in use by now, or it cannot be marked.
    pub fn adopt(&self, found: &Adoptable) -> Result<(), Failure> {
        let typed = printable_path(&found.path);
        let file = self.listed(found, Purpose::Adopt)?;
        self.marks.mark(&file, MarkState::Complete).map(drop).map_err(|e| {
            let words = format!("'{typed}' could not be marked");
            Failure::new(FailureKind::Output, words).because(e).on(&typed)
        })
    }

    /// Removes the mark of a file.
    ///
    /// # Errors
    /// It is not the file any more that was found, or its mark cannot be removed.
    pub fn forget(&self, found: &Adoptable) -> Result<(), Failure> {
        let typed = printable_path(&found.path);
        let file = self.listed(found, Purpose::Forget)?;
        self.marks.unmark(&file).map_err(|e| {
            let words = format!("the mark of '{typed}' could not be removed");
            Failure::new(FailureKind::Output, words).because(e).on(&typed)
        })
    }
}

/// Files that are found one by one, through open folders.
struct Listing<'a> {
    guard: &'a Guard<'a>,
    purpose: Purpose,
    found: Adoption,
    refusals: Vec<Refusal>,
    /// The file system of the folder that was given.
    device: u64,
}

impl Listing<'_> {
    /// Adds what a word of the command line stands for.
    fn add(&mut self, word: &str, is_recursive: bool) -> Result<(), Refusal> {
        let roots = self.guard.roots;
        let path = resolve(word, roots)?.path;
        let entry = entry_of(word, &path, |_, code| unreadable(&path, &code.into()))?;
        match entry.there.map(|there| there.kind) {
            None => Err(unreadable(&path, &Code::NOT_FOUND.into())),
            Some(FileKind::Regular) => self.add_file(&path, &entry),
            Some(FileKind::Directory) if is_recursive => {
                let folder = entry.folder.open_folder(&entry.name);
                let folder = folder.map_err(|code| unreadable(&path, &code.into()))?;
                self.device = folder.stat().map_err(|code| unreadable(&path, &code.into()))?.device;
                self.add_files_in(&path, &folder)
            }
            Some(FileKind::Directory) => {
                let words = format!("'{word}' is a folder");
                let hint =
                    format!("to adopt every file in it: truespd adopt --recursive {}", shell_word(word));
                Err(Refusal::command_line(words).on(word).hint(hint))
            }
            Some(_) => {
                let typed = printable_path(&path);
                let what = match open(&path, ReadFlags::CACHED, roots)?.facts.kind {
                    TargetKind::Block => "is a device, and only files can be adopted",
                    TargetKind::Regular => "is another file now",
                };
                let hint =
                    format!("a write test of a device needs --overwrite {} each time", shell_word(&typed));
                Err(Refusal::guard(&typed, format!("'{typed}' {what}")).hint(hint))
            }
        }
    }

    fn add_file(&mut self, path: &Path, entry: &Entry) -> Result<(), Refusal> {
        let (file, _) = self.guard.adoptable(path, entry, self.purpose)?;
        if self.found.files.iter().all(|other| other.listed.identity != file.listed.identity) {
            self.found.files.push(file);
        }
        Ok(())
    }

    /// All regular files below a folder, on its own file system, in the order of their names. No link is followed: each
    /// entry is opened in its open folder.
    fn add_files_in(&mut self, path: &Path, folder: &Directory) -> Result<(), Refusal> {
        let mut names = folder.names().map_err(|code| unreadable(path, &code.into()))?;
        names.retain(|name| name != "." && name != "..");
        names.sort();
        for name in names {
            let path = path.join(&name);
            let entry = match folder.entry(&name, path.clone()) {
                // It was removed since the folder was read.
                Err(Code::NOT_FOUND) => continue,
                entry => entry.map_err(|code| unreadable(&path, &code.into()))?,
            };
            match entry.there.filter(|there| there.device == self.device).map(|there| there.kind) {
                Some(FileKind::Regular) => {
                    if let Err(refusal) = self.add_file(&path, &entry) {
                        self.refusals.push(refusal);
                    }
                }
                Some(FileKind::Directory) => {
                    let below = folder.open_folder(&name);
                    let below = below.map_err(|code| unreadable(&path, &code.into()))?;
                    if below.stat().is_ok_and(|stat| stat.device == self.device) {
                        self.add_files_in(&path, &below)?;
                    }
                }
                _ => self.found.left.push(path),
            }
        }
        Ok(())
    }
}

fn another(typed: &str) -> Failure {
    let words = format!("'{typed}' is another file than the one that was listed, or was changed since");
    Failure::new(FailureKind::Lost, words).on(typed).hint("look at it, and adopt it again")
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    let typed = printable_path(path);
    let words = format!("'{typed}' cannot be read: {}", system_text(error));
    Refusal::new(RefusalKind::Target, words).on(typed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::decision::Consent;
    use crate::guard::mark::Marks;
    use crate::made::{pipe, symlink};
    use truespd_platform::machine::roots::Roots;

    fn with_listing(folder: &Path, see: impl FnOnce(&Guard<'_>, Adoption)) {
        let state = tempfile::tempdir().unwrap();
        let (marks, roots) = (Marks::with_registry(&state.path().join("state")), Roots::default());
        let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
        let found = guard.adoption(&[folder.to_str().unwrap().to_string()], true, Purpose::Adopt).unwrap();
        see(&guard, found);
    }

    #[test]
    fn only_the_file_that_was_listed_is_adopted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let other = tempfile::tempdir().unwrap();
        let precious = other.path().join("precious");
        for name in ["a", "b", "c", "d"] {
            std::fs::write(at(name), [7; 4096]).unwrap();
        }
        std::fs::write(&precious, [7; 4096]).unwrap();
        with_listing(dir.path(), |guard, found| {
            assert_eq!(found.files.len(), 4);
            std::fs::rename(&precious, at("a")).unwrap();
            std::fs::remove_file(at("b")).and_then(|()| symlink(at("a"), at("b"))).unwrap();
            std::fs::write(at("c"), [8; 4096]).unwrap();
            let failed = found.files.iter().map(|file| guard.adopt(file).is_err());
            assert_eq!(failed.collect::<Vec<_>>(), [true, true, true, false]);
            let whose = |name| guard.marks.whose(&File::open(at(name)).unwrap());
            assert_eq!(["a", "c", "d"].map(whose), [Whose::Foreign, Whose::Foreign, Whose::Ours]);
        });
    }

    #[test]
    fn links_and_pipes_in_a_folder_are_left() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        for name in ["b", "a", "below/c"] {
            std::fs::write(at(name), "data").unwrap();
        }
        symlink("/proc/self", at("link")).unwrap();
        pipe(&at("pipe")).unwrap();
        with_listing(dir.path(), |_, found| {
            let paths: Vec<_> = found.files.iter().map(|file| file.path.clone()).collect();
            assert_eq!(paths, [at("a"), at("b"), at("below/c")]);
            assert_eq!(found.left, [at("link"), at("pipe")]);
        });
    }
}

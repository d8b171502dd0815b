//! The person's word, given once and for good: files that write tests may overwrite from now on without asking.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::decision::Guard;
use super::mark::{MarkState, Whose};
use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::machine::storage::{OpenedTarget, ReadFlags, TargetKind, open, resolve};
use crate::sys::error::system_text;
use crate::sys::file::may_write;
use crate::sys::file::{FileKind, Stat};
use crate::sys::identity::{Identity, names};
use crate::text::{printable_path, shell_word};

/// A file that may be adopted, or whose mark may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoptable {
    /// Where it is.
    pub path: PathBuf,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Names (hard links) of the file.
    pub names: u64,
    /// Whose data it holds.
    pub whose: Whose,
    /// It carries a mark, whatever that says.
    pub is_marked: bool,
    identity: Identity,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Mark them.
    Adopt,
    /// Remove their marks.
    Forget,
}

/// Folders of the running system: nothing in them is for tests.
const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr"];
/// A file system in memory, for everybody.
const SHARED_MEMORY: &str = "/dev/shm";

impl Guard<'_> {
    /// The files that these paths stand for. A folder stands for all files in it when `is_recursive`; links in it are not
    /// followed, and other file systems in it are not entered. Touches nothing.
    ///
    /// # Errors
    /// Everything that speaks against it: devices, files in use, files of the running system.
    pub fn adoption(
        &self,
        typed: &[String],
        is_recursive: bool,
        purpose: Purpose,
    ) -> Result<Adoption, Vec<Refusal>> {
        let (mut found, mut refusals) = (Adoption::default(), Vec::new());
        for word in typed {
            match self.paths_of(word, is_recursive, &mut found.left) {
                Ok(paths) => {
                    for path in paths {
                        match self.adoptable(&path, purpose) {
                            Ok(file) if found.files.iter().any(|other| other.identity == file.identity) => {}
                            Ok(file) => found.files.push(file),
                            Err(refusal) => refusals.push(refusal),
                        }
                    }
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
        if refusals.is_empty() { Ok(found) } else { Err(refusals) }
    }

    fn paths_of(
        &self,
        word: &str,
        is_recursive: bool,
        left: &mut Vec<PathBuf>,
    ) -> Result<Vec<PathBuf>, Refusal> {
        let path = resolve(word, self.roots)?.path;
        let about = std::fs::metadata(&path).map_err(|e| unreadable(&path, &e))?;
        match about.is_dir() {
            true if is_recursive => files_below(&path, left),
            true => {
                let words = format!("'{word}' is a folder");
                let hint =
                    format!("to adopt every file in it: truespd adopt --recursive {}", shell_word(word));
                Err(Refusal::command_line(words).on(word).hint(hint))
            }
            false => Ok(vec![path]),
        }
    }

    fn adoptable(&self, path: &Path, purpose: Purpose) -> Result<Adoptable, Refusal> {
        let typed = printable_path(path);
        let look = open(path, ReadFlags::CACHED, self.roots)?;
        if look.facts.kind == TargetKind::Block {
            let words = format!("'{typed}' is a device, and only files can be adopted");
            let hint = format!("a write test of a device needs --overwrite {} each time", shell_word(&typed));
            return Err(Refusal::guard(&typed, words).hint(hint));
        }
        if purpose == Purpose::Adopt {
            self.check_adoption(&typed, path, &look)?;
        }
        let OpenedTarget { file, facts } = &look;
        let identity = Identity::of(file).map_err(|e| unreadable(path, &e))?;
        let about = file.metadata().map_err(|e| unreadable(path, &e))?;
        let is_marked = self.marks.read(file).is_some();
        // Whose it is may need a look at the content.
        let whose = if purpose == Purpose::Adopt { self.marks.whose(file) } else { Whose::Foreign };
        Ok(Adoptable {
            path: path.to_path_buf(),
            size_bytes: facts.size_bytes,
            names: names(&about),
            whose,
            is_marked,
            identity,
        })
    }

    /// May the person give the file away?
    fn check_adoption(&self, typed: &str, path: &Path, look: &OpenedTarget) -> Result<(), Refusal> {
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let is_in = |folder: &&&str| place.starts_with(folder);
        if let Some(folder) = SYSTEM_FOLDERS.iter().find(is_in).filter(|_| !place.starts_with(SHARED_MEMORY))
        {
            let words = format!(
                "'{typed}' is in {folder}, where the files of the running system are, so it is not adopted"
            );
            return Err(Refusal::guard(typed, words).hint("adopt files in a folder of your own"));
        }
        if let Err(code) = may_write(path) {
            let why = system_text(&code.into());
            let words =
                format!("'{typed}' cannot be written by this user ({why}), so there is nothing to adopt");
            return Err(Refusal::new(RefusalKind::Target, words).on(typed));
        }
        let found = self.findings_to_adopt(typed, path, &look.file, &look.facts)?;
        if found.holds.is_empty() {
            return Ok(());
        }
        // A file system that somebody puts into a test file is kept, so a mark would not help here either.
        let words = format!("'{typed}' holds data of a known kind, so it is not adopted");
        Err(found.holds_refusal(typed, &shell_word(typed), words))
    }

    /// Marks a file as one that tests may overwrite.
    ///
    /// # Errors
    /// It is not the file any more that was found, it is in use by now, or it cannot be marked.
    pub fn adopt(&self, found: &Adoptable) -> Result<(), Failure> {
        let typed = printable_path(&found.path);
        let look = open(&found.path, ReadFlags::CACHED, self.roots)?;
        check_same(found, &look.file)?;
        self.check_adoption(&typed, &found.path, &look)?;
        let marked = self.marks.mark(&look.file, MarkState::Complete);
        let failed =
            |e| Failure::new(FailureKind::Output, format!("'{typed}' could not be marked")).because(e);
        marked.map(drop).map_err(|e| failed(e).on(&typed))
    }

    /// Removes the mark of a file.
    ///
    /// # Errors
    /// It is not the file any more that was found, or its mark cannot be removed.
    pub fn forget(&self, found: &Adoptable) -> Result<(), Failure> {
        let typed = printable_path(&found.path);
        let look = open(&found.path, ReadFlags::CACHED, self.roots)?;
        check_same(found, &look.file)?;
        let failed = |e| {
            Failure::new(FailureKind::Output, format!("the mark of '{typed}' could not be removed"))
                .because(e)
        };
        self.marks.unmark(&look.file).map_err(|e| failed(e).on(&typed))
    }
}

fn check_same(found: &Adoptable, file: &File) -> Result<(), Failure> {
    let is_same = Identity::of(file).is_ok_and(|now| now == found.identity)
        && file.metadata().is_ok_and(|about| about.len() == found.size_bytes);
    if is_same {
        return Ok(());
    }
    let typed = printable_path(&found.path);
    let words = format!("'{typed}' is another file, or has another size, than the one that was listed");
    Err(Failure::new(FailureKind::Lost, words).on(&typed).hint("look at it, and adopt it again"))
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    let typed = printable_path(path);
    let words = format!("'{typed}' cannot be read: {}", system_text(error));
    Refusal::new(RefusalKind::Target, words).on(typed)
}

/// All regular files below a folder, on its own file system, sorted.
fn files_below(folder: &Path, left: &mut Vec<PathBuf>) -> Result<Vec<PathBuf>, Refusal> {
    let device = Stat::at(folder).map_err(|e| unreadable(folder, &e))?.device;
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| unreadable(&folder, &e))?;
        for entry in entries {
            let entry = entry.map_err(|e| unreadable(&folder, &e))?;
            let path = entry.path();
            let stat = Stat::of(&entry.metadata().map_err(|e| unreadable(&path, &e))?);
            match stat.kind {
                FileKind::Regular if stat.device == device => found.push(path),
                FileKind::Directory if stat.device == device => open.push(path),
                _ => left.push(path),
            }
        }
    }
    found.sort();
    left.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::{pipe, symlink};

    #[test]
    fn only_the_file_that_was_listed_is_adopted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["listed", "other"] {
            std::fs::write(at(name), [7; 4096]).unwrap();
        }
        let (listed, other) = (File::open(at("listed")).unwrap(), File::open(at("other")).unwrap());
        let found = Adoptable {
            path: at("listed"),
            size_bytes: 4096,
            names: 1,
            whose: Whose::Foreign,
            is_marked: false,
            identity: Identity::of(&listed).unwrap(),
        };
        assert!(check_same(&found, &listed).is_ok());
        assert!(check_same(&found, &other).is_err(), "of the same size");
        std::fs::write(at("listed"), [7; 4097]).unwrap();
        assert!(check_same(&found, &listed).is_err(), "it grew");
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
        let mut left = Vec::new();
        assert_eq!(files_below(dir.path(), &mut left).unwrap(), [at("a"), at("b"), at("below/c")]);
        assert_eq!(left, [at("link"), at("pipe")]);
    }
}

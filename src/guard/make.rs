//! The permit to make a file (`-c`), and the only thing that makes or overwrites one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::decision::Guard;
use super::mark::Whose;
use super::reuse::{Reuse, reuse_decision};
use crate::fault::{Failure, FailureKind, Refusal};
use crate::machine::storage::{ReadFlags, facts_of, open_file};
use crate::sys::error::system_text;
use crate::sys::identity::Identity;

/// A file that `-c` asks for.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// Path as typed.
    pub typed: &'a str,
    /// Path that it stands for.
    pub path: &'a Path,
    /// Size in bytes.
    pub size_bytes: u64,
    /// The test writes it.
    pub writes: bool,
    /// It is made anew in any case (`--recreate`).
    pub recreate: bool,
    /// Whether samples of a file show only what a killed run of the same command line wrote while it was making this
    /// file: then it may be made again.
    pub is_left_over: &'a dyn Fn(&File) -> bool,
}

/// What may be done for a wish.
#[derive(Debug)]
pub enum Wished<'a> {
    /// The file that is there is taken as it is.
    Taken {
        /// One sentence for the person.
        sentence: String,
    },
    /// The file may be made.
    Permitted {
        /// One sentence for the person, which says why a file that is there was not taken.
        sentence: String,
        /// Makes it.
        permit: PermitToMake<'a>,
    },
}

/// The permission to make a file, replacing what is there.
pub struct PermitToMake<'a> {
    guard: &'a Guard<'a>,
    wish: Wish<'a>,
}

impl std::fmt::Debug for PermitToMake<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PermitToMake").field("path", &self.wish.path).finish_non_exhaustive()
    }
}

/// A file open for filling.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    identity: Identity,
    folder_made: Option<PathBuf>,
}

/// Why a file was not made. The first words are those of DiskSpd, which scripts look for.
fn not_made(typed: &str, action: &str, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Some("this user may not write there; choose a directory that this user may write to")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is read-only; choose a path on another file system")
        }
        io::ErrorKind::NotADirectory => Some("a part of the path is a file"),
        io::ErrorKind::ExecutableFileBusy => Some("it is a running program or active swap"),
        _ => None,
    };
    let code = error.raw_os_error().unwrap_or(0);
    let words = format!("Could not create the file (error code: {code}): '{typed}': {action}");
    let failure = Failure::new(FailureKind::Create, words).on(typed).because(system_text(error));
    Failure { hints: advice.map(String::from).into_iter().collect(), ..failure }
}

impl Guard<'_> {
    /// What `-c` will do with the path, when the guard lets it. Touches nothing.
    ///
    /// # Errors
    /// As [`Guard::check`], and why the path cannot be a made file.
    pub fn permit_to_make<'a>(&'a self, wish: Wish<'a>) -> Result<Wished<'a>, Refusal> {
        let Wish { typed, path, writes, recreate, .. } = wish;
        let mut decision = reuse_decision(path, wish.size_bytes, self.marks)
            .map_err(|e| Refusal::machine(&["-c"], Some(typed), e.to_string()))?;
        let existing = open_file(path, ReadFlags::CACHED)
            .ok()
            .and_then(|file| facts_of(&file, path, self.roots).ok().map(|facts| (file, facts)));
        let existing = existing.as_ref().map(|(file, facts)| (file, facts));
        if let (Reuse::Create { replaces_foreign_data, .. }, Some((file, _))) = (&mut decision, existing) {
            *replaces_foreign_data = *replaces_foreign_data && !self.is_left_over(file, wish);
        }
        self.check_creation(typed, path, existing, &decision, writes, recreate)?;
        Ok(match decision {
            Reuse::Reuse { sentence, .. } if !recreate => Wished::Taken { sentence },
            Reuse::Create { sentence, .. } | Reuse::Reuse { sentence, .. } | Reuse::Refuse { sentence } => {
                Wished::Permitted { sentence, permit: PermitToMake { guard: self, wish } }
            }
        })
    }

    fn is_left_over(&self, file: &File, wish: Wish<'_>) -> bool {
        self.marks.whose(file) == Whose::Unfinished && (wish.is_left_over)(file)
    }
}

impl PermitToMake<'_> {
    /// Opens the file for reading and writing, after making it and missing folders above it. What is in it stays for now.
    ///
    /// # Errors
    /// The system's error, or that another file was put there since the decision. Then nothing was changed, except that
    /// missing folders were made.
    pub fn open(self) -> Result<NewFile, Failure> {
        let PermitToMake { guard, wish } = self;
        let Wish { typed, path, .. } = wish;
        let failed = |action| move |error| not_made(typed, action, &error);
        let folder_made = first_missing_folder(path);
        if let Some(parent) = path.parent().filter(|_| folder_made.is_some()) {
            std::fs::create_dir_all(parent).map_err(failed("its directory could not be made"))?;
        }
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed("it could not be opened for writing"))?;
        let bytes = file.metadata().map_err(failed("its size could not be read"))?.len();
        let may_go = || {
            guard.marks.whose(&file).may_be_written()
                || guard.is_left_over(&file, wish)
                || guard.is_let_through(typed, path, Some(&file))
        };
        if bytes > 0 && !may_go() {
            let words = format!(
                "another file took the place of '{typed}' while the test was being prepared; nothing was changed"
            );
            return Err(Failure::new(FailureKind::Lost, words).on(typed));
        }
        let identity = Identity::of(&file).map_err(failed("its identity could not be read"))?;
        Ok(NewFile { file, identity, folder_made })
    }
}

/// The first folder of a path that is not there.
fn first_missing_folder(path: &Path) -> Option<PathBuf> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    path.ancestors().skip(1).take_while(is_missing).last().map(Path::to_path_buf)
}

impl NewFile {
    /// The file, open for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The first of the folders that were made for it.
    pub fn folder_made(&self) -> Option<&Path> {
        self.folder_made.as_deref()
    }

    /// Which file it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Word;
    use crate::guard::mark::Marks;
    use crate::machine::roots::Roots;

    #[test]
    fn what_can_be_done_about_a_file_that_is_not_made_is_said() {
        let hints = |kind: io::ErrorKind| not_made("f", "no", &kind.into()).hints;
        for (kind, says) in [
            (io::ErrorKind::PermissionDenied, "choose a directory that this user may write to"),
            (io::ErrorKind::ReadOnlyFilesystem, "choose a path on another file system"),
            (io::ErrorKind::NotADirectory, "a part of the path is a file"),
            (io::ErrorKind::ExecutableFileBusy, "it is a running program or active swap"),
        ] {
            assert!(hints(kind).concat().ends_with(says), "{kind}: {:?}", hints(kind));
        }
        assert!(hints(io::ErrorKind::StorageFull).is_empty());
    }

    #[test]
    fn folders_are_made_and_the_first_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (marks, roots) = (Marks::with_registry(&at("state")), Roots::default());
        let guard = Guard { word: Word::default(), marks: &marks, roots: &roots };
        let make = |name: &str| {
            let path = at(name);
            let typed = path.to_str().unwrap();
            let wish = Wish {
                typed,
                path: &path,
                size_bytes: 4096,
                writes: true,
                recreate: false,
                is_left_over: &|_| false,
            };
            match guard.permit_to_make(wish).unwrap() {
                Wished::Permitted { permit, .. } => permit.open(),
                taken => panic!("{taken:?}"),
            }
        };
        let made = make("a/b/file").unwrap();
        assert_eq!(made.folder_made(), Some(at("a").as_path()));
        assert_eq!(made.file().metadata().unwrap().len(), 0);
        assert_eq!(make("a/c/file").unwrap().folder_made(), Some(at("a/c").as_path()));
        assert_eq!(make("a/b/other").unwrap().folder_made(), None);
        // The folder of a path in the current one has no name.
        let first = |path: &str| first_missing_folder(Path::new(path));
        assert_eq!(first("none-such-here"), None);
        assert_eq!(first("none-such-here/below/file"), Some(PathBuf::from("none-such-here")));
    }
}

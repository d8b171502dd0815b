//! The permit to make a file (`-c`), and the only thing that makes or overwrites one.
//!
//! `-c`: may a file that is already there serve as the test file (`io-semantics.md` §15)?

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::decision::{Findings, Guard, Purpose};
use super::facts::Candidate;
use super::mark::{MarkState, Marks, Whose};
use super::path::{ANOTHER, changed, check_names, check_place_of_new, entry_of};
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{TargetFacts, facts_of};
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::destination::{Destination, Entry, LostWay, follow_target};
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::extents::{self, Extents};
use truespd_platform::sys::file::{FileKind, Stat, may_become, remove_directory};
use truespd_platform::sys::identity::Identity;
use truespd_platform::text::printable_path;

/// A file that `-c` asks for.
#[allow(missing_docs)]
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub typed: &'a str,
    /// Path that it stands for.
    pub path: &'a Path,
    pub size_bytes: u64,
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
        permit: Box<PermitToMake<'a>>,
    },
}

/// The permission to make a file, replacing what is there.
pub struct PermitToMake<'a> {
    guard: &'a Guard<'a>,
    wish: Wish<'a>,
    entry: Entry,
    existing: Option<File>,
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
    entry: Entry,
}

/// What is said of a file that cannot be made. The first words are those of DiskSpd, which scripts look for.
fn words_of(typed: &str, action: &str, error: &io::Error) -> String {
    let code = error.raw_os_error().unwrap_or(0);
    format!("Could not create the file (error code: {code}): '{typed}': {action}")
}

/// What can be done about it.
fn advice_on(error: &io::Error) -> Option<&'static str> {
    match Code::of(error) {
        Some(Code::NAME_TOO_LONG) => return Some("give a shorter name"),
        Some(Code::FILE_TOO_LARGE) => {
            return Some(
                "that is larger than the file system or the limit of this process (ulimit -f) allows for one file: ask \
                 for a smaller file (-c)",
            );
        }
        Some(Code::NO_SPACE) => {
            return Some("its file system takes no more files: remove some, or choose a path on another one");
        }
        Some(Code::IS_A_DIRECTORY) => return Some("the path ends with '/': give the name of a file"),
        _ => {}
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Some("this user may not write there; choose a directory that this user may write to")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is read-only; choose a path on another file system")
        }
        io::ErrorKind::NotADirectory => Some("a part of the path is a file"),
        io::ErrorKind::ExecutableFileBusy => Some("it is a running program or active swap"),
        _ => None,
    }
}

/// Why a file was not made, although nothing had spoken against it.
fn not_made(typed: &str, action: &str, error: &io::Error) -> Failure {
    let failure = Failure::new(FailureKind::Create, words_of(typed, action, error))
        .on(typed)
        .because(system_text(error));
    Failure { hints: advice_on(error).map(String::from).into_iter().collect(), ..failure }
}

/// The same before anything was made.
fn cannot_be_made(typed: &str, action: &str, code: Code) -> Refusal {
    let error = io::Error::from(code);
    let words = format!("{}: {}", words_of(typed, action, &error), system_text(&error));
    let refusal = Refusal::machine(&["-c"], Some(typed), words);
    refusal.with_hints(advice_on(&error).map(String::from))
}

/// Another file has the place.
fn taken(typed: &str) -> Failure {
    let words = format!(
        "another file took the place of '{typed}' while the test was being prepared; nothing was changed"
    );
    Failure::new(FailureKind::Lost, words).on(typed)
}

impl Guard<'_> {
    /// What `-c` will do with the path, when the guard lets it. Touches nothing.
    ///
    /// # Errors
    /// As [`Guard::check`], and why the path cannot be a made file.
    pub fn permit_to_make<'a>(&'a self, wish: Wish<'a>) -> Result<Wished<'a>, Refusal> {
        let Wish { typed, path, recreate, .. } = wish;
        let entry = entry_of(typed, path, |at, code| {
            let action = format!("nothing can be made at '{}'", printable_path(at));
            cannot_be_made(typed, &action, code)
        });
        let entry = entry.map_err(|refusal| refusal.about(&["-c"]))?;
        let is_regular = entry.there.map(|there| there.kind == FileKind::Regular);
        let there = match is_regular {
            None => Ok(None),
            Some(true) => entry.open_to_read().map(Some),
            Some(false) => entry.look().map(Some),
        };
        let there = there.map_err(|code| match code {
            Code::AGAIN => changed(typed, ANOTHER).about(&["-c"]),
            code => {
                let words = format!(
                    "'{typed}': could not open it to check whether it can be reused: {}",
                    code.text()
                );
                Refusal::machine(&["-c"], Some(typed), words)
            }
        })?;
        let mut decision = reuse_decision(path, there.as_ref(), wish.size_bytes, self.marks)
            .map_err(|refusal| refusal.about(&["-c"]).on(typed))?;
        let facts = match &there {
            Some(file) if is_regular == Some(true) => Some(facts_of(file, path, self.roots)?),
            _ => None,
        };
        let existing = there.as_ref().zip(facts.as_ref());
        let mut purpose = Purpose::Test;
        if let (Reuse::Create { replaces_foreign_data, .. }, Some((file, _))) = (&mut decision, existing)
            && self.is_left_over(file, wish)
        {
            *replaces_foreign_data = false;
            purpose = Purpose::Repetition;
        }
        self.check_creation(&entry, existing, purpose, &decision, wish)?;
        let sentence = match decision {
            Reuse::Reuse { sentence, .. } if !recreate => return Ok(Wished::Taken { sentence }),
            Reuse::Create { sentence, .. } | Reuse::Reuse { sentence, .. } | Reuse::Refuse { sentence } => {
                sentence
            }
        };
        check_permissions(typed, &entry)?;
        Ok(Wished::Permitted {
            sentence,
            permit: Box::new(PermitToMake { guard: self, wish, entry, existing: there }),
        })
    }

    /// May `-c` do what was decided? Replacing or writing a foreign file needs `--overwrite`, and so does one
    /// of ours that holds a file system now. `entry` is where the path leads, `existing` the file that is
    /// there already.
    ///
    /// # Errors
    /// As [`Guard::check`].
    fn check_creation(
        &self,
        entry: &Entry,
        existing: Option<(&File, &TargetFacts)>,
        purpose: Purpose,
        decision: &Reuse,
        wish: Wish<'_>,
    ) -> Result<(), Refusal> {
        let Wish { typed, path, writes, recreate, .. } = wish;
        let let_through = self.is_let_through(typed, path, existing.map(|(file, _)| file));
        let makes = recreate || matches!(decision, Reuse::Create { .. });
        if makes {
            check_place_of_new(typed, entry).map_err(|refusal| refusal.about(&["-c"]))?;
        }
        let found = match existing {
            Some((file, facts)) if makes || writes => {
                check_names(typed, entry, file)?;
                self.findings(Candidate { typed, path, file, facts }, purpose)?
            }
            _ => Findings::default(),
        };
        let whose = existing.map_or(Whose::Foreign, |(file, _)| self.marks.whose(file));
        match decision {
            Reuse::Refuse { sentence } => Err(Refusal::machine(&["-c"], Some(typed), sentence.clone())),
            Reuse::Create { replaces_foreign_data: true, sentence } if !let_through => {
                Err(found.foreign(typed, whose, &format!("-c would replace it ({sentence})")))
            }
            Reuse::Reuse { ours: false, .. } if recreate && !let_through => {
                Err(found.foreign(typed, whose, "--recreate would replace it"))
            }
            Reuse::Reuse { ours: false, .. } if writes && !let_through => {
                Err(found.foreign(typed, whose, "a write test would destroy what it holds"))
            }
            _ if let_through => Ok(()),
            _ => found.kept(typed),
        }
        .map_err(|refusal| if writes { refusal } else { refusal.about(&["-c"]) })
    }

    fn is_left_over(&self, file: &File, wish: Wish<'_>) -> bool {
        self.marks.whose(file) == Whose::Unfinished && (wish.is_left_over)(file)
    }
}

/// Whether this user may make or change the file there.
fn check_permissions(typed: &str, entry: &Entry) -> Result<(), Refusal> {
    if entry.there.is_some() {
        return entry.may_write().map_err(|code| cannot_be_made(typed, "it cannot be written", code));
    }
    let folder = entry.path.ancestors().nth(entry.missing.len() + 1).unwrap_or(Path::new("/"));
    let action = format!("no such file can be made in the folder '{}'", printable_path(folder));
    entry.may_make().map_err(|code| cannot_be_made(typed, &action, code))
}

impl PermitToMake<'_> {
    /// Where the file will be.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The file that is there already, open for reading.
    pub fn existing(&self) -> Option<&File> {
        self.existing.as_ref()
    }

    /// Checks that the file may become so large as is wished. `alike` is a file on its file system, if there is one.
    ///
    /// # Errors
    /// It may not.
    pub fn check_size(&self, alike: Option<&File>) -> Result<(), Refusal> {
        let Wish { typed, size_bytes, .. } = self.wish;
        let action = format!("it cannot become {size_bytes} bytes long");
        may_become(alike, size_bytes).map_err(|code| cannot_be_made(typed, &action, code))
    }

    /// Opens the file for reading and writing, after making it and missing folders above it. What is in it
    /// stays for now.
    ///
    /// # Errors
    /// The system's error, or that another file was put there since the decision. Then nothing was changed.
    pub fn open(self) -> Result<NewFile, Failure> {
        let PermitToMake { guard, wish, mut entry, .. } = self;
        let Wish { typed, path, .. } = wish;
        entry.make_folders().map_err(|lost| match lost {
            LostWay::System { code: Code::AGAIN, .. } | LostWay::ForeignLink { .. } => taken(typed),
            LostWay::System { at, code } => {
                let action = format!("its folder '{}' could not be made", printable_path(&at));
                not_made(typed, &action, &code.into())
            }
        })?;
        let file = entry.open_to_fill().map_err(|code| {
            entry.remove_folders();
            match code {
                Code::AGAIN | Code::ALREADY_EXISTS => taken(typed),
                code => not_made(typed, "it could not be opened for writing", &code.into()),
            }
        })?;
        let about = file.metadata().map_err(|e| not_made(typed, "its size could not be read", &e))?;
        if about.len() > 0
            && !guard.marks.whose(&file).may_be_written()
            && !guard.is_left_over(&file, wish)
            && !guard.is_let_through(typed, path, Some(&file))
        {
            return Err(taken(typed));
        }
        let identity =
            Identity::of(&file).map_err(|e| not_made(typed, "its identity could not be read", &e))?;
        Ok(NewFile { file, identity, entry })
    }
}

impl NewFile {
    /// The file, open for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The first of the folders that were made for it.
    pub fn folder_made(&self) -> Option<PathBuf> {
        self.entry.first_made()
    }

    /// Removes it with the folders that were made for it. Where another file has its name by now, it is emptied.
    pub fn remove(&self) {
        // Best effort, as the mark says in any case that the file is unfinished.
        if !self.entry.remove_if(self.identity) {
            let _ = self.file.set_len(0);
        }
        self.entry.remove_folders();
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// How to take it back later; `None` where a file was there before.
    pub fn made_anew(&self, roots: &Roots) -> Option<MadeFile> {
        if self.entry.there.is_some() {
            return None;
        }
        let path = self.entry.path.clone();
        let first = self.folder_made();
        let above = path.ancestors().skip(1);
        let folders =
            above.take_while(|folder| first.as_ref().is_some_and(|first| folder.starts_with(first)));
        let folders = folders.map(Path::to_path_buf).collect();
        Some(MadeFile { thing: Thing::of(&self.file, roots).ok()?, path, folders })
    }
}

/// A file that a run has made where nothing was.
#[derive(Debug)]
pub struct MadeFile {
    path: PathBuf,
    thing: Thing,
    /// Those that were made for it, from the lowest one up.
    folders: Vec<PathBuf>,
}

impl MadeFile {
    /// Removes it with its folders, if it still is that file. What somebody put into a folder meanwhile stays.
    pub fn remove(&self, roots: &Roots) {
        let Ok(Destination::Entry(entry)) = follow_target(&self.path) else { return };
        let now = entry.look().ok().and_then(|file| Thing::of(&file, roots).ok());
        let is_it = now.is_some_and(|now| self.thing.replacement(&now).is_none());
        if is_it && entry.remove_if(self.thing.identity()) {
            // One that is not empty stays, and so do those above.
            let _ = self.folders.iter().try_for_each(|folder| remove_directory(folder));
        }
    }
}

/// What to do for `-c<size>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reuse {
    /// Take the file as it is: exactly that size, every byte written.
    Reuse {
        /// TrueSpd made it, or it holds nothing; otherwise only a test that reads may use it.
        ours: bool,
        /// One sentence for the person.
        sentence: String,
    },
    /// Create it, replacing what is there.
    Create {
        /// One sentence for the person, which says why a file that is there was not taken.
        sentence: String,
        /// A file that TrueSpd did not make, and that holds data, is replaced: only with `--overwrite`.
        replaces_foreign_data: bool,
    },
    /// The path cannot be a created file.
    Refuse {
        /// One sentence for the person.
        sentence: String,
    },
}

/// Decides what `-c` with `size_bytes` means for `path`, where `there` is: a regular file is open for
/// reading, anything else for questions. Touches nothing.
///
/// # Errors
/// What is there cannot be examined.
pub fn reuse_decision(
    path: &Path,
    there: Option<&File>,
    size_bytes: u64,
    marks: &Marks,
) -> Result<Reuse, Refusal> {
    let name = printable_path(path);
    let Some(file) = there else {
        let sentence = format!("{name} does not exist and is created with {size_bytes} bytes");
        return Ok(Reuse::Create { sentence, replaces_foreign_data: false });
    };
    let (action, decision) = match Stat::of_open(file).map(|stat| stat.kind) {
        Ok(FileKind::Regular) => {
            ("read which parts of it are written", decide_for_file(&name, file, size_bytes, marks))
        }
        Ok(kind) => {
            let what = match kind {
                FileKind::Directory => "a directory",
                FileKind::Block => "a block device, whose size is fixed; leave out -c",
                _ => "not a regular file",
            };
            return Ok(Reuse::Refuse { sentence: format!("{name} cannot be created with -c: it is {what}") });
        }
        Err(error) => ("read its metadata", Err(error)),
    };
    decision.map_err(|error| {
        let text = system_text(&error);
        let words = format!("{name}: could not {action} to check whether it can be reused: {text}");
        Refusal::new(RefusalKind::Machine, words)
    })
}

fn decide_for_file(name: &str, file: &File, size_bytes: u64, marks: &Marks) -> io::Result<Reuse> {
    let found_bytes = file.metadata()?.len();
    let mark = marks.read(file);
    let whose = marks.whose(file);
    let ours = whose.may_be_written();
    let because = if mark.is_some_and(|m| m.state == MarkState::Filling) {
        "an earlier run left it unfinished".to_string()
    } else if found_bytes != size_bytes {
        let relation = if found_bytes > size_bytes { "larger" } else { "smaller" };
        format!("the file there has {found_bytes} bytes, {relation} than the {size_bytes} of -c")
    } else {
        let found = extents::examine(file)?;
        if found == Extents::AllWritten {
            let whose = match whose {
                Whose::Ours => "made by an earlier run",
                Whose::Nobodys => "holding nothing but zeros",
                Whose::Resized | Whose::Rewritten => {
                    "made by an earlier run and changed by something else since"
                }
                Whose::Untold | Whose::Restarted => {
                    "made by an earlier run and perhaps changed by something else since"
                }
                Whose::Unread => "marked as made by TrueSpd, but not readable",
                Whose::Unfinished | Whose::Interrupted => "left by a run that was killed",
                Whose::Foreign => "not made by TrueSpd",
            };
            let sentence =
                format!("{name} is used as it is: {whose}, exactly {size_bytes} bytes, every byte written");
            return Ok(Reuse::Reuse { ours, sentence });
        }
        format!("the file there {found}")
    };
    let sentence = format!("{name} is created again: {because}");
    Ok(Reuse::Create { sentence, replaces_foreign_data: !ours && found_bytes > 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Consent;
    use crate::guard::mark::Marks;
    use truespd_platform::machine::roots::Roots;

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
        let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
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
        let top = dir.path().canonicalize().unwrap();
        assert_eq!(made.folder_made(), Some(top.join("a")));
        assert_eq!(made.file().metadata().unwrap().len(), 0);
        let second = make("a/c/file").unwrap();
        assert_eq!(second.folder_made(), Some(top.join("a/c")));
        assert_eq!(make("a/b/other").unwrap().folder_made(), None);
        second.remove();
        assert!(!at("a/c").exists() && at("a/b/file").exists());
    }
}

#[cfg(test)]
mod tests_reuse {
    use super::*;
    use crate::made::{FileExt, pipe, symlink};
    use std::path::PathBuf;
    use truespd_platform::sys::destination::{Destination, follow_target};
    use truespd_platform::sys::file::set_aside;

    fn decide(path: &Path, size_bytes: u64, marks: &Marks) -> Reuse {
        let Ok(Destination::Entry(entry)) = follow_target(path) else { panic!("{path:?}") };
        let there = match entry.there.map(|there| there.kind) {
            None => None,
            Some(FileKind::Regular) => Some(entry.open_to_read().unwrap()),
            Some(_) => Some(entry.look().unwrap()),
        };
        reuse_decision(path, there.as_ref(), size_bytes, marks).unwrap()
    }

    struct Case {
        dir: tempfile::TempDir,
        marks: Marks,
    }

    impl Case {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let marks = Marks::with_registry(&dir.path().join("state"));
            Case { dir, marks }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("test.dat")
        }

        fn file(&self, bytes: usize) -> File {
            let file = File::options().create_new(true).read(true).write(true).open(self.path()).unwrap();
            file.write_all_at(&vec![5; bytes], 0).unwrap();
            file
        }

        fn decide(&self, size_bytes: u64) -> Reuse {
            decide(&self.path(), size_bytes, &self.marks)
        }
    }

    fn created(decision: Reuse) -> (String, bool) {
        match decision {
            Reuse::Create { sentence, replaces_foreign_data } => (sentence, replaces_foreign_data),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_there() {
        let case = Case::new();
        let (sentence, foreign) = created(case.decide(4096));
        assert!(sentence.ends_with("does not exist and is created with 4096 bytes") && !foreign);
        symlink(case.dir.path().join("nowhere"), case.path()).unwrap();
        assert!(created(case.decide(4096)).0.contains("does not exist"), "a link to nothing");
    }

    #[test]
    fn exact_size_is_used_again() {
        let case = Case::new();
        let file = case.file(40960);
        let Reuse::Reuse { ours, sentence } = case.decide(40960) else { panic!() };
        assert!(!ours && sentence.contains("not made by TrueSpd"), "{sentence}");
        case.marks.mark(&file, MarkState::Complete).unwrap();
        let Reuse::Reuse { ours, sentence } = case.decide(40960) else { panic!() };
        assert!(ours && sentence.contains("made by an earlier run, exactly 40960 bytes"), "{sentence}");
        let link = case.dir.path().join("link");
        symlink(case.path(), &link).unwrap();
        let through = decide(&link, 40960, &case.marks);
        assert!(matches!(through, Reuse::Reuse { ours: true, .. }));
    }

    #[test]
    fn larger_and_smaller_are_created_anew() {
        let case = Case::new();
        let file = case.file(40960);
        assert!(created(case.decide(8192)).1, "holds data that is not ours");
        case.marks.mark(&file, MarkState::Complete).unwrap();
        let (sentence, foreign) = created(case.decide(8192));
        assert!(sentence.contains("has 40960 bytes, larger than the 8192 of -c") && !foreign, "{sentence}");
        assert!(created(case.decide(81920)).0.contains("smaller"));
    }

    #[test]
    fn an_empty_file_holds_nothing_to_lose() {
        let case = Case::new();
        case.file(0);
        assert!(!created(case.decide(4096)).1);
    }

    #[test]
    fn holes_and_unwritten_space_are_not_taken() {
        let case = Case::new();
        let file = case.file(65536);
        file.set_len(1 << 20).unwrap();
        case.marks.mark(&file, MarkState::Complete).unwrap();
        assert!(created(case.decide(1 << 20)).0.ends_with("has a hole at byte 65536"));
        if set_aside(&file, 1 << 20).is_ok() {
            let (sentence, _) = created(case.decide(1 << 20));
            assert!(sentence.contains("at byte 65536"), "{sentence}");
        }
    }

    #[test]
    fn a_partial_fill_is_not_taken_even_when_size_and_extents_fit() {
        let case = Case::new();
        let file = case.file(40960);
        case.marks.mark(&file, MarkState::Filling).unwrap();
        let (sentence, foreign) = created(case.decide(40960));
        // What it holds by now is not known here.
        assert!(sentence.ends_with("an earlier run left it unfinished") && foreign, "{sentence}");
    }

    #[test]
    fn directories_devices_and_pipes_are_refused() {
        let case = Case::new();
        let refused = |path: &Path| match decide(path, 4096, &case.marks) {
            Reuse::Refuse { sentence } => sentence,
            other => panic!("{other:?}"),
        };
        assert!(refused(case.dir.path()).ends_with("it is a directory"));
        assert!(refused(Path::new("/dev/null")).ends_with("it is not a regular file"));
        pipe(&case.path()).unwrap();
        assert!(refused(&case.path()).ends_with("it is not a regular file"));
    }
}

//! `-c`: may a file that is already there serve as the test file (`io-semantics.md` §15)?

use std::fs::File;
use std::io;
use std::path::Path;

use super::mark::{MarkState, Marks, Whose};
use crate::sys::error::system_text;
use crate::sys::extents;
use crate::sys::extents::Extents;
use crate::sys::file::{FileKind, Stat};
use crate::text::printable_path;

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

/// Why the question could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: could not {action} to check whether it can be reused: {text}")]
pub struct ReuseError {
    /// Path as given.
    pub path: String,
    /// What was tried.
    pub action: &'static str,
    /// The system's text.
    pub text: String,
}

/// Decides what `-c` with `size_bytes` means for `path`, where `there` is: a regular file is open for
/// reading, anything else for questions. Touches nothing.
///
/// # Errors
/// [`ReuseError`] when what is there cannot be examined.
pub fn reuse_decision(
    path: &Path,
    there: Option<&File>,
    size_bytes: u64,
    marks: &Marks,
) -> Result<Reuse, ReuseError> {
    let name = printable_path(path);
    let failed = |action: &'static str| {
        let path = name.clone();
        move |e: io::Error| ReuseError { path, action, text: system_text(&e) }
    };
    let Some(file) = there else {
        let sentence = format!("{name} does not exist and is created with {size_bytes} bytes");
        return Ok(Reuse::Create { sentence, replaces_foreign_data: false });
    };
    let what = match Stat::of_open(file).map_err(failed("read its metadata"))?.kind {
        FileKind::Regular => {
            let decision = decide_for_file(&name, file, size_bytes, marks);
            return decision.map_err(failed("read which parts of it are written"));
        }
        FileKind::Directory => "a directory",
        FileKind::Block => "a block device, whose size is fixed; leave out -c",
        _ => "not a regular file",
    };
    Ok(Reuse::Refuse { sentence: format!("{name} cannot be created with -c: it is {what}") })
}

fn decide_for_file(name: &str, file: &File, size_bytes: u64, marks: &Marks) -> io::Result<Reuse> {
    let found_bytes = file.metadata()?.len();
    let mark = marks.read(file);
    let whose = marks.whose(file);
    let ours = whose.may_be_written();
    let create = |because: String| Reuse::Create {
        sentence: format!("{name} is created again: {because}"),
        replaces_foreign_data: !ours && found_bytes > 0,
    };
    if mark.is_some_and(|m| m.state == MarkState::Filling) {
        return Ok(create("an earlier run left it unfinished".to_string()));
    }
    if found_bytes != size_bytes {
        let relation = if found_bytes > size_bytes { "larger" } else { "smaller" };
        let because =
            format!("the file there has {found_bytes} bytes, {relation} than the {size_bytes} of -c");
        return Ok(create(because));
    }
    Ok(match extents::examine(file)? {
        Extents::AllWritten => {
            let whose = match whose {
                Whose::Ours => "made by an earlier run",
                Whose::Nobodys => "holding nothing but zeros",
                Whose::Resized | Whose::Rewritten => {
                    "made by an earlier run and changed by something else since"
                }
                Whose::Untold => "made by an earlier run and perhaps changed by something else since",
                Whose::Unread => "marked as made by TrueSpd, but not readable",
                Whose::Unfinished | Whose::Interrupted => "left by a run that was killed",
                Whose::Foreign => "not made by TrueSpd",
            };
            let sentence =
                format!("{name} is used as it is: {whose}, exactly {size_bytes} bytes, every byte written");
            Reuse::Reuse { ours, sentence }
        }
        other => create(format!("the file there {other}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::destination::{Destination, follow_target};
    use crate::sys::file::set_aside;
    use crate::sys::made::{FileExt, pipe, symlink};
    use std::path::PathBuf;

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

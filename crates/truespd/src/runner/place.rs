//! Where a suite tests: a directory for files of its own, or an existing file or device; and the folder for its own
//! files ([`Scratch`]), which is removed at the end, whatever ends the suite.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use crate::runner::undo::{FOLDER_PREFIX, Journal, MadeFolder, Undo, put_token};
use std::sync::Arc;
use truespd_core::guard::mark::{MarkState, Marks};
use truespd_core::guard::{Consent, Guard, Range};
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage;
use truespd_platform::machine::storage::{ReadFlags, Room, TargetKind, resolve, room};
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::destination::{LostWay, follow_target};
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::{FileKind, make_private_directory, set_aside, set_length};
use truespd_platform::sys::identity::Identity;
use truespd_platform::text::foreign::Foreign;
use truespd_platform::text::{meant_size, printable_path, shell_word, size, typed_size};

/// CrystalDiskMark's smallest test file. A smaller one is no test of a disk: a run is over the same blocks
/// again and again.
pub const FILE_BYTES_MIN: u64 = 16 << 20;

/// A directory, file or device that a person chose.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Files are made there and removed again.
    Directory(Option<Room>),
    File {
        size_bytes: u64,
    },
    Device {
        size_bytes: u64,
    },
}

impl Place {
    /// Finds out what `typed` names; opens read-only.
    ///
    /// # Errors
    /// It does not exist, or cannot be tested.
    pub fn find(typed: &str) -> Result<Self, Refusal> {
        let roots = Roots::default();
        let path = resolve(typed, &roots)?.path;
        let about = fs::metadata(&path).map_err(|error| failed(&path, typed, &error))?;
        if about.is_dir() {
            if let Err(lost @ LostWay::ForeignLink { .. }) = follow_target(&path) {
                return Err(Refusal::new(RefusalKind::Guard, lost.to_string()));
            }
            let path = fs::canonicalize(&path).map_err(|error| failed(&path, typed, &error))?;
            if path.to_str().is_none() {
                return Err(not_utf8(&path).hint("choose another directory"));
            }
            // Some file systems in memory, on networks or in programs report no size.
            let room = File::open(&path).and_then(|directory| room(&directory)).ok();
            let room = room.filter(|room| room.size_bytes > 0 || room.is_read_only);
            return Ok(Place { path, kind: Kind::Directory(room) });
        }
        if !about.is_file() && FileKind::of(&about) != FileKind::Block {
            let what = "is a pipe, a socket or a character device, which cannot be measured";
            let refusal = refused(format!("'{}' {what}", printable_path(&path)));
            return Err(refusal.hint("give a directory or a block device"));
        }
        let size_bytes = storage::open(&path, ReadFlags::CACHED, &roots)?.facts.size_bytes;
        let kind = if about.is_file() { Kind::File { size_bytes } } else { Kind::Device { size_bytes } };
        let absolute = path.to_str().and_then(absolute_path).map(PathBuf::from);
        let absolute = absolute.ok_or_else(|| not_utf8(&path).hint("choose another file or device"));
        Ok(Place { path: absolute?, kind })
    }

    /// For suites that do not test an existing file.
    ///
    /// # Errors
    /// It is one.
    pub fn directory_or_device(self) -> Result<Self, Refusal> {
        if !matches!(self.kind, Kind::File { .. }) {
            return Ok(self);
        }
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Err(refused(format!("'{}' is a file", printable_path(&self.path))).hint(format!(
            "give a directory, e.g. '{}', where a test file is made and removed, or a block device",
            printable_path(parent.unwrap_or(Path::new(".")))
        )))
    }

    /// As a word of a command line: absolute.
    pub fn word(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// A file in the directory, as a word of a command line.
    pub fn file(&self, name: &str) -> String {
        self.path.join(name).to_string_lossy().into_owned()
    }

    /// It is a directory, where files are made.
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory(_))
    }

    /// It is a block device.
    pub fn is_device(&self) -> bool {
        matches!(self.kind, Kind::Device { .. })
    }

    /// Room of the directory's file system, if it reports that.
    pub fn room(&self) -> Option<&Room> {
        match &self.kind {
            Kind::Directory(room) => room.as_ref(),
            Kind::File { .. } | Kind::Device { .. } => None,
        }
    }

    /// Bytes of the file or device.
    pub fn size_bytes(&self) -> Option<u64> {
        match self.kind {
            Kind::Directory(_) => None,
            Kind::File { size_bytes } | Kind::Device { size_bytes } => Some(size_bytes),
        }
    }

    /// Where a suite's own small files go: the directory, or that of temporary files.
    pub fn folder(&self) -> PathBuf {
        if self.is_directory() { self.path.clone() } else { std::env::temp_dir() }
    }

    /// Whether `count` files of `--size`, or so much of a device, fit.
    ///
    /// # Errors
    /// They do not; with a size that fits and is at least `least_bytes`, if there is one.
    pub fn check_room(&self, size_bytes: u64, count: u64, least_bytes: u64) -> Result<(), Refusal> {
        let path = printable_path(&self.path);
        let count = count.max(1);
        let (has_bytes, usable_bytes, has) = match (&self.kind, self.room()) {
            (_, Some(room)) if room.is_read_only => {
                return Err(refused(format!("'{path}': the file system is read-only"))
                    .hint("choose a directory on another one"));
            }
            // A file system needs some of it for itself.
            (_, Some(room)) => (
                room.free_bytes,
                room.free_bytes / count / 8 * 7,
                format!("{} are free", size(room.free_bytes)),
            ),
            (Kind::Directory(_), None) => return Ok(()),
            (Kind::File { size_bytes }, _) => {
                (*size_bytes, *size_bytes / count, format!("the file has {}", size(*size_bytes)))
            }
            (Kind::Device { size_bytes }, _) => {
                (*size_bytes, *size_bytes / count, format!("the device has {}", size(*size_bytes)))
            }
        };
        if has_bytes / count >= size_bytes {
            return Ok(());
        }
        let next = match fitting(usable_bytes).filter(|bytes| *bytes >= least_bytes) {
            Some(bytes) => format!("--size {} would fit", typed_size(bytes)),
            None => "choose another place".to_string(),
        };
        let wanted = match count {
            0 | 1 => format!("--size {} does not fit", typed_size(size_bytes)),
            _ => format!("{count} files of --size {} do not fit", typed_size(size_bytes)),
        };
        Err(refused(format!("'{path}': {wanted}: {has}")).hint(next))
    }

    /// `--overwrite` is for existing targets.
    ///
    /// # Errors
    /// It is given for a directory.
    pub fn check_overwrite(&self, overwrite: &[String]) -> Result<(), Refusal> {
        match overwrite.first() {
            Some(first) if self.is_directory() => Err(Refusal::command_line(format!(
                "--overwrite {}: '{}' is a directory, where a new file is made and nothing is overwritten",
                shell_word(first),
                printable_path(&self.path)
            ))
            .hint("leave it out")),
            _ => Ok(()),
        }
    }
}

/// Whether a write test of an existing target is possible: it is not write-protected, and the write guard
/// allows it. If it cannot be opened, the run says so.
pub fn check_write(typed: &str, overwrite: &[String]) -> Result<(), Refusal> {
    let roots = Roots::default();
    let opened = resolve(typed, &roots)
        .ok()
        .and_then(|found| storage::open(&found.path, ReadFlags::CACHED, &roots).ok());
    let Some(opened) = opened else { return Ok(()) };
    let is_block = opened.facts.kind == TargetKind::Block;
    let device = is_block.then(|| BlockDevice::find(opened.facts.device, &roots)).flatten();
    if device.is_some_and(|device| device.is_read_only()) {
        let message = format!("'{typed}' is write-protected");
        let hint = "test reads only, or remove the protection (blockdev --setrw)";
        return Err(Refusal::machine(&["-w"], Some(typed), message).hint(hint));
    }
    let word = Consent { overwrite, ..Consent::default() };
    let guard = Guard { consent: word, marks: &Marks::of_this_user(), roots: &roots };
    guard.check(typed, &opened.facts.path, &opened.file, &opened.facts, Range::ALL).map(|_| ())
}

/// Which of the targets a path of `--overwrite` names, spelt as the target is.
pub fn target_named<'t>(path: &str, targets: &[&'t str]) -> Option<&'t str> {
    let guard =
        Guard { consent: Consent::default(), marks: &Marks::of_this_user(), roots: &Roots::default() };
    guard.named_by(path, targets)
}

/// Why a path of `--overwrite` is refused that names none of the targets.
pub fn names_no_target(path: &str) -> Refusal {
    let (why, hint) = if path.starts_with('#') {
        ("a number may mean another disk when disks are added or removed", "give the device by its name")
    } else {
        ("this is none of the targets", "repeat the path of a target, not its disk or a partition of it")
    };
    Refusal::command_line(format!("--overwrite {path}: {why}")).hint(hint)
}

fn refused(words: String) -> Refusal {
    Refusal::new(RefusalKind::Target, words)
}

fn not_utf8(path: &Path) -> Refusal {
    refused(format!("'{}': the name is not UTF-8 text", printable_path(path)))
}

/// What the system says of a path.
fn failed(path: &Path, typed: &str, error: &io::Error) -> Refusal {
    let refusal = refused(format!("'{}': {}", printable_path(path), system_text(error)));
    if error.kind() != io::ErrorKind::NotFound {
        return refusal;
    }
    let size = meant_size(typed).map(|size| format!("a size is given with its option: --size {size}"));
    refusal.hint("give a directory for the test file, or a block device").with_hints(size)
}

/// A target with an absolute path, so that a command line that a suite shows or keeps means the same in any directory.
/// Numbers of disks, templates and paths of Windows, which are refused, stay as they are.
pub fn absolute(word: String) -> String {
    if Foreign::of(&word).is_some() && fs::symlink_metadata(&word).is_err() {
        return word;
    }
    match word.chars().next() {
        None | Some('#' | '*' | '/') => word,
        Some(_) => absolute_path(&word).unwrap_or(word),
    }
}

/// Without resolving links. `None` where the name of the current directory is not UTF-8.
fn absolute_path(path: &str) -> Option<String> {
    std::path::absolute(path).ok()?.into_os_string().into_string().ok()
}

/// The largest power of two, from 1 MiB, that fits.
fn fitting(usable_bytes: u64) -> Option<u64> {
    let bytes = 1u64 << usable_bytes.checked_ilog2()?;
    (bytes >= 1 << 20).then_some(bytes)
}

/// Attempts to find a name that is free.
const NAMES_TRIED: u32 = 100;

/// A folder for files whose names were given when it was made.
#[derive(Debug, Clone)]
pub struct Scratch {
    path: PathBuf,
    /// The open folder: while it is open, its file system cannot be unmounted by mistake.
    folder: Arc<Directory>,
}

impl Scratch {
    /// Makes a folder for a suite in `parent`, for files called `files`. The journal removes it.
    ///
    /// # Errors
    /// What could not be done and what to do.
    pub fn make(parent: &Path, suite: &str, files: &[&str], journal: &mut Journal) -> Result<Self, Refusal> {
        let place = fs::canonicalize(parent).map_err(not_made(parent))?;
        for number in 0..NAMES_TRIED {
            let path = place.join(format!("{FOLDER_PREFIX}{suite}-{}-{number}", std::process::id()));
            let files: Vec<String> = files.iter().map(ToString::to_string).collect();
            if path.symlink_metadata().is_ok() {
                continue;
            }
            let made = MadeFolder { thing: None, token: new_token(), files };
            journal.add(Undo::Folder { path: path.clone(), made: made.clone() }).map_err(not_noted)?;
            if let Err(error) = make_private_directory(&path) {
                // Only what was made is remembered.
                journal.withdraw(&path).map_err(not_noted)?;
                if error.kind() == io::ErrorKind::AlreadyExists {
                    continue;
                }
                return Err(not_made(parent)(error));
            }
            let folder = Directory::open(&path).map_err(|code| not_made(parent)(code.into()))?;
            put_token(&folder, &made.token).map_err(not_made(parent))?;
            let thing = Some(Thing::of(folder.as_file(), &Roots::default()).map_err(not_made(parent))?);
            let made = MadeFolder { thing, ..made };
            journal.add(Undo::Folder { path: path.clone(), made }).map_err(not_noted)?;
            return Ok(Scratch { path, folder: Arc::new(folder) });
        }
        let words = format!("'{}': too many folders of killed runs", printable_path(&place));
        Err(refused(words).hint(format!("remove {FOLDER_PREFIX}{suite}-*")))
    }

    /// Checks that the path still leads to the folder: otherwise a run would make it again, perhaps on another disk.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> Result<(), Refusal> {
        let own = Identity::of(self.folder.as_file()).ok();
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

    /// Makes the file `name`, whose space is set aside and not written, and gives its path as [`Scratch::file`] does.
    ///
    /// It is marked as made by TrueSpd: where the guard cannot see who uses a file, only such a file is written.
    ///
    /// # Errors
    /// The file system is full, or this user may not create a file there.
    pub fn make_file(&self, name: &str, size_bytes: u64) -> Result<String, Failure> {
        let path = self.file(name);
        let made = File::options().read(true).write(true).create_new(true).open(&path).and_then(|file| {
            match set_aside(&file, size_bytes) {
                // Where nothing can be set aside, writing takes the space as it goes. Zero bytes are invalid.
                Err(Code::NOT_SUPPORTED | Code::NOT_IMPLEMENTED | Code::INVALID) => {
                    set_length(&file, size_bytes)?;
                }
                made => made?,
            }
            // Where the guard needs the mark and it could not be put, it says so.
            let _ = Marks::of_this_user().mark(&file, MarkState::Complete);
            Ok(())
        });
        made.map(|()| path.clone()).map_err(|error| {
            let (shown, why) = (printable_path(Path::new(&path)), system_text(&error));
            let words = format!("'{shown}': a file of {} could not be made: {why}", size(size_bytes));
            Failure::new(FailureKind::Create, words).on(&path)
        })
    }
}

/// What no other folder holds.
fn new_token() -> String {
    let drawn: [u64; 2] = std::array::from_fn(|_| RandomState::new().hash_one(std::process::id()));
    format!("{:016x}{:016x}", drawn[0], drawn[1])
}

fn not_noted(error: io::Error) -> Refusal {
    refused(format!("the clean-up journal could not be written: {}", system_text(&error)))
}

/// Why the folder cannot be made.
fn not_made(parent: &Path) -> impl Fn(io::Error) -> Refusal {
    move |error| {
        let (shown, why) = (printable_path(parent), system_text(&error));
        refused(format!("'{shown}': could not make a folder for the test file: {why}"))
            .hint("choose a directory that you may write to")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(free_bytes: u64, is_read_only: bool) -> Place {
        let room = Room { free_bytes, size_bytes: 1 << 40, used_bytes: 0, is_read_only };
        Place { path: "/m".into(), kind: Kind::Directory(Some(room)) }
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_would() {
        assert_eq!(directory(1 << 30, false).check_room(1 << 30, 1, FILE_BYTES_MIN), Ok(()));
        let refused = |place: &Place, size, count| {
            place.check_room(size, count, FILE_BYTES_MIN).unwrap_err().to_string()
        };
        for (free_bytes, size_bytes, count, says) in [
            ((1 << 30) - 1, 1 << 30, 1, "'/m': --size 1G does not fit: 1024.0 MiB are free;"),
            ((1 << 30) - 1, 1 << 30, 1, "; --size 512M would fit"),
            (600 << 30, 1 << 40, 1, "; --size 512G would fit"),
            (20 << 20, 1 << 30, 1, "; --size 16M would fit"),
            (18 << 20, 1 << 30, 1, "; choose another place"),
            (0, 1 << 30, 1, "; choose another place"),
            (3 << 30, 1 << 30, 4, "4 files of --size 1G do not fit"),
            (3 << 30, 1 << 30, 4, "; --size 512M would fit"),
        ] {
            let words = refused(&directory(free_bytes, false), size_bytes, count);
            assert!(words.contains(says), "{free_bytes} {size_bytes} {count}: {words}");
        }
        assert!(refused(&directory(1 << 40, true), 1 << 30, 1).contains("read-only"));
        let device = Place { path: "/dev/x".into(), kind: Kind::Device { size_bytes: 100 << 20 } };
        let words = refused(&device, 1 << 30, 1);
        assert!(
            words.contains("the device has 100 MiB") && words.ends_with("--size 64M would fit"),
            "{words}"
        );
        let device = Place { path: "/dev/x".into(), kind: Kind::Device { size_bytes: 64 << 20 } };
        let words = refused(&device, 128 << 20, 1);
        assert!(words.contains("--size 128M does") && words.ends_with("--size 64M would fit"), "{words}");
    }

    #[test]
    fn places_are_directories_files_or_devices() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::find(dir.path().to_str().unwrap()).unwrap();
        assert!(place.is_directory() && !place.is_device() && place.room().is_some());
        assert_eq!((place.size_bytes(), place.folder()), (None, dir.path().canonicalize().unwrap()));
        assert!(place.check_overwrite(&["/dev/x".into()]).unwrap_err().to_string().contains("leave it out"));
        let file = dir.path().join("f");
        fs::write(&file, "x").unwrap();
        let place = Place::find(file.to_str().unwrap()).unwrap();
        assert_eq!((place.size_bytes(), place.is_device()), (Some(1), false));
        let words = place.directory_or_device().unwrap_err().to_string();
        assert!(words.contains("is a file; give a directory, e.g. '"), "{words}");
        assert!(
            Place::find("/dev/null")
                .unwrap_err()
                .to_string()
                .contains("; give a directory or a block device")
        );
        let words = Place::find(dir.path().join("none").to_str().unwrap()).unwrap_err().to_string();
        assert!(words.contains("No such file or directory; give a directory"), "{words}");
    }

    #[test]
    fn a_folder_goes_with_its_files() {
        let place = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(&place.path().join("undo"), Roots::default()).unwrap();
        let first = Scratch::make(place.path(), "mark", &["data"], &mut journal).unwrap();
        let second = Scratch::make(place.path(), "mark", &["data"], &mut journal).unwrap();
        assert_ne!(first.file("data"), second.file("data"));
        // Another folder of the same name is another folder.
        assert_eq!(second.check(), Ok(()));
        fs::remove_dir_all(&second.path).unwrap();
        assert!(second.check().unwrap_err().message.contains("is gone"));
        fs::create_dir(&second.path).unwrap();
        assert!(second.check().unwrap_err().message.contains("another one is there"));
        fs::remove_dir(&second.path).unwrap();
        fs::write(first.file("data"), "x").unwrap();
        journal.undo();
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["undo"]);
        let mut journal = Journal::begin(&place.path().join("undo"), Roots::default()).unwrap();
        let error = Scratch::make(&place.path().join("none"), "mark", &[], &mut journal).unwrap_err();
        assert!(error.message.contains("could not make a folder"), "{error}");
    }
}

//! Marks on files that TrueSpd made, so that a write test knows them from other people's data.
//!
//! The mark is an extended attribute, `user.truespd.made`. It stays with the file through renames and is
//! lost on a plain copy. It says when the file was last written by us: a later (or earlier) time of last
//! modification means that something else wrote to it, for example a copy in place. While a run of ours
//! writes, the mark says so and until when at most; a killed run leaves that behind, and then nothing tells when
//! it wrote last. Such a file counts as ours only as long as samples of it show nothing but what tests write.
//! Where the filesystem has no such attributes, a small file in the user's state directory stands in for the
//! mark, tied to this very file by its device, inode, birth time (or, without one, its last change) and size.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::hold::is_being_tested;
use super::sample::find_odd;
use crate::machine::device::DeviceNumber;
use crate::sys::error::system_text;
use crate::sys::file::filesystem;
use crate::sys::folders;
use crate::sys::stat::{Moment, Stamp};
use crate::sys::{attribute, lock};
use crate::text::printable_path;

const ATTRIBUTE: &str = "user.truespd.made";
const VERSION: u32 = 1;
/// A shared lock that another run holds alone is tried this often, with this pause between.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// Longest mark that is read.
const MARK_BYTES_MAX: usize = 256;

/// How far the making of a file got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkState {
    /// Being filled, or left unfinished.
    Filling,
    /// Every byte was written once, and a run is writing now or was killed.
    Running,
    /// Every byte was written.
    Complete,
}

/// The mark of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Size the file was made with, in bytes.
    pub size_bytes: u64,
    /// How far the making got.
    pub state: MarkState,
    /// Time of last modification after our last write; for a file that is being written, the latest time that is
    /// possible. In seconds and nanoseconds; `None` where a server sets it (remote file systems) or it is not known.
    pub written: Option<Moment>,
}

/// Whose data a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// TrueSpd wrote it last.
    Ours,
    /// TrueSpd made it, and it has another size now.
    Resized,
    /// TrueSpd made it, and something else wrote to it since.
    Rewritten,
    /// TrueSpd was making it and was killed; what it holds now is for [`Marks::whose`]'s caller to compare with
    /// what should have been made.
    Unfinished,
    /// A run that wrote it was killed, and samples of it show data that may be other people's.
    Interrupted,
    /// It carries no mark that this program knows.
    Foreign,
}

impl fmt::Display for Whose {
    /// In words that follow the file's name: was not made by TrueSpd
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Whose::Ours => "was made by TrueSpd",
            Whose::Resized => "was made by TrueSpd, but something else changed its size since",
            Whose::Rewritten => "was made by TrueSpd, but something else wrote to it since",
            Whose::Unfinished => "was being made by a run of TrueSpd that was killed",
            Whose::Interrupted => {
                "was being written by a run of TrueSpd that was killed, so it may hold data other than test data"
            }
            Whose::Foreign => "was not made by TrueSpd",
        })
    }
}

/// File systems may keep times more coarsely on the disk than in memory, at worst (FAT) in steps of 2 s,
/// rounded down.
const TIME_STEP_MAX_S: i64 = 2;

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            MarkState::Filling => "filling",
            MarkState::Running => "running",
            MarkState::Complete => "complete",
        };
        write!(f, "version={VERSION} size={} state={state}", self.size_bytes)?;
        match self.written {
            Some((seconds, nanoseconds)) => write!(f, " written={seconds}.{nanoseconds:09}"),
            None => Ok(()),
        }
    }
}

impl Mark {
    /// `None` when the text is no mark of a version this program knows.
    fn parse(text: &str) -> Option<Self> {
        let value =
            |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        if value("version")? != VERSION.to_string() {
            return None;
        }
        let state = match value("state")? {
            "filling" => MarkState::Filling,
            "running" => MarkState::Running,
            "complete" => MarkState::Complete,
            _ => return None,
        };
        let written = match value("written").map(|text| text.split_once('.')) {
            Some(parts) => {
                let (seconds, nanoseconds) = parts?;
                Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
            }
            None => None,
        };
        Some(Mark { size_bytes: value("size")?.parse().ok()?, state, written })
    }

    /// Whether a file of this size and time of last modification can be as we left it.
    fn whose(&self, size_bytes: u64, modified: Moment) -> Whose {
        if self.size_bytes != size_bytes && self.state != MarkState::Filling {
            return Whose::Resized;
        }
        let oldest = |(seconds, nanoseconds): Moment| match self.state {
            MarkState::Complete => (seconds.saturating_sub(TIME_STEP_MAX_S), nanoseconds),
            MarkState::Filling | MarkState::Running => (i64::MIN, 0),
        };
        match (self.written, self.state) {
            (Some(newest), _) if !(oldest(newest)..=newest).contains(&modified) => Whose::Rewritten,
            (_, MarkState::Filling) => Whose::Unfinished,
            _ => Whose::Ours,
        }
    }
}

/// Where a mark was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkPlace {
    /// On the file itself.
    Attribute,
    /// In this file of the state directory.
    Registry(PathBuf),
}

/// Why a file could not be marked; it is usable, but a later write test will not recognise it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// No attributes on the filesystem and no state directory.
    #[error(
        "the file system has no extended attributes ({attribute}), and there is no state directory for the mark; \
         set XDG_STATE_HOME or HOME"
    )]
    NoRegistry {
        /// The system's text about the attribute.
        attribute: String,
    },
    /// The mark could not be written to the state directory.
    #[error(
        "the file system has no extended attributes ({attribute}), and the mark could not be written to {registry}: {text}"
    )]
    Registry {
        /// The system's text about the attribute.
        attribute: String,
        /// Path in the state directory.
        registry: String,
        /// The system's text about that.
        text: String,
    },
    /// The file itself could not be read or changed.
    #[error("could not {action}: {text}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The system's text.
        text: String,
    },
}

/// Name of a file's entry in the registry. With the birth time in it, a reused inode has another name.
fn entry_name(stamp: &Stamp) -> String {
    let DeviceNumber { major, minor } = DeviceNumber::from_raw(stamp.identity.device());
    let birth = stamp.birth.map(|(s, ns)| format!("-{s}.{ns:09}")).unwrap_or_default();
    format!("{major}-{minor}-{}{birth}", stamp.identity.inode())
}

/// Extra words of an entry: without a birth time the last change must still be the same.
fn entry_tail(stamp: &Stamp) -> String {
    match stamp.birth {
        Some(_) => String::new(),
        None => format!(" changed={}.{:09}", stamp.change.0, stamp.change.1),
    }
}

/// Sets, reads and removes marks.
#[derive(Debug, Clone)]
pub struct Marks {
    registry: Option<PathBuf>,
    attributes: bool,
}

impl Marks {
    /// With the registry of this user: `$XDG_STATE_HOME/truespd/files` or `~/.local/state/truespd/files`.
    pub fn of_this_user() -> Self {
        Marks { registry: folders::state().map(|dir| dir.join("files")), attributes: true }
    }

    /// With the registry in `dir`.
    pub fn with_registry(dir: &Path) -> Self {
        Marks { registry: Some(dir.to_path_buf()), attributes: true }
    }

    /// Marks an open file as made by TrueSpd with its present size; needs write permission on the file.
    ///
    /// In the registry a file without birth time is known by its last change, so mark it again after
    /// the test wrote to it.
    ///
    /// # Errors
    /// [`MarkError`]; the file stays usable.
    pub fn mark(&self, file: &File, state: MarkState) -> Result<MarkPlace, MarkError> {
        self.put(file, state, None)
    }

    /// The same for a file that is going to be written, for at most so long from now.
    ///
    /// # Errors
    /// As [`Marks::mark`].
    pub fn mark_for(&self, file: &File, state: MarkState, longest: Duration) -> Result<MarkPlace, MarkError> {
        let end = SystemTime::now().checked_add(longest).and_then(|end| end.duration_since(UNIX_EPOCH).ok());
        let end = end.and_then(|end| Some((i64::try_from(end.as_secs()).ok()?, end.subsec_nanos())));
        self.put(file, state, end)
    }

    fn put(&self, file: &File, state: MarkState, end: Option<Moment>) -> Result<MarkPlace, MarkError> {
        let stamp = Stamp::of(file).map_err(|e| file_error("read the facts of the file", &e))?;
        let written = if state == MarkState::Complete { Some(stamp.modified) } else { end };
        let written = written.filter(|_| keeps_own_times(file));
        let mark = Mark { size_bytes: stamp.size_bytes, state, written };
        let refusal = match self.set_attribute(file, mark) {
            Ok(()) => {
                self.forget(&stamp);
                return Ok(MarkPlace::Attribute);
            }
            Err(e) => system_text(&e),
        };
        let Some(dir) = &self.registry else { return Err(MarkError::NoRegistry { attribute: refusal }) };
        let entry = dir.join(entry_name(&stamp));
        match write_entry(dir, &entry, &format!("{mark}{}\n", entry_tail(&stamp))) {
            Ok(()) => Ok(MarkPlace::Registry(entry)),
            Err(e) => Err(MarkError::Registry {
                attribute: refusal,
                registry: printable_path(&entry),
                text: system_text(&e),
            }),
        }
    }

    /// The mark of an open file; `None` when it carries none that this program knows.
    pub fn read(&self, file: &File) -> Option<Mark> {
        self.attribute(file).or_else(|| self.entry(file))
    }

    /// TrueSpd made this file and wrote it last, and its size is still the one it was given.
    pub fn is_ours(&self, file: &File) -> bool {
        self.whose(file) == Whose::Ours
    }

    /// Whose data the open file holds.
    pub fn whose(&self, file: &File) -> Whose {
        let (Some(mark), Ok(now)) = (self.read(file), Stamp::of(file)) else { return Whose::Foreign };
        match mark.whose(now.size_bytes, now.modified) {
            Whose::Ours
                if mark.state == MarkState::Running && !is_being_tested(file) && !is_test_data(file) =>
            {
                Whose::Interrupted
            }
            whose => whose,
        }
    }

    /// Marks a file of ours as being written by a run, for at most so long; `false` when it is not ours, or cannot
    /// be marked.
    ///
    /// Runs of several programs on one file know each other by a shared lock (`flock(2)`), which ends with them,
    /// however they end.
    pub fn begin_writing(&self, file: &File, longest: Duration) -> bool {
        if !self.is_ours(file) {
            return false;
        }
        // A run that ends holds the lock alone for a moment. A run without the lock may go on all the same.
        for _ in 0..LOCK_TRIES {
            match lock::try_share(file) {
                Ok(false) => std::thread::sleep(LOCK_PAUSE),
                _ => break,
            }
        }
        // Of several runs the last end counts.
        let ends = |mark: Mark| mark.state == MarkState::Running && is_later(mark.written, longest);
        match self.read(file) {
            Some(mark) if ends(mark) => true,
            Some(_) => self.mark_for(file, MarkState::Running, longest).is_ok(),
            None => false,
        }
    }

    /// Marks a file as written by us up to now, unless another run is still writing it.
    ///
    /// # Errors
    /// As [`Marks::mark`]; nothing is lost, a later write test will ask for `-c` or `--overwrite`.
    pub fn end_writing(&self, file: &File) -> Result<(), MarkError> {
        let is_alone = !matches!(lock::try_alone(file), Ok(false));
        // A registry entry without birth time does not fit any more: this process knows whose file it is. No run of
        // ours changes a size: if it changed, the data are somebody else's.
        let size = file.metadata().map(|m| m.len()).ok();
        let is_whole = self
            .read(file)
            .is_none_or(|mark| mark.state != MarkState::Filling && Some(mark.size_bytes) == size);
        let marked = match is_alone && is_whole {
            true => self.mark(file, MarkState::Complete).map(|_| ()),
            false => Ok(()),
        };
        lock::unlock(file);
        marked
    }

    /// Removes the mark, wherever it is; no mark is no error.
    ///
    /// # Errors
    /// [`MarkError::File`] when the attribute is there and cannot be removed.
    pub fn unmark(&self, file: &File) -> Result<(), MarkError> {
        if let Ok(stamp) = Stamp::of(file) {
            self.forget(&stamp);
        }
        if self.attribute(file).is_some() {
            attribute::remove(file, ATTRIBUTE).map_err(|e| file_error("remove the mark", &e))?;
        }
        Ok(())
    }

    fn set_attribute(&self, file: &File, mark: Mark) -> io::Result<()> {
        if !self.attributes {
            return Err(attribute::unsupported());
        }
        attribute::set(file, ATTRIBUTE, mark.to_string().as_bytes())
    }

    fn attribute(&self, file: &File) -> Option<Mark> {
        if !self.attributes {
            return None;
        }
        let text = attribute::get(file, ATTRIBUTE, MARK_BYTES_MAX)?;
        Mark::parse(std::str::from_utf8(&text).ok()?)
    }

    fn entry(&self, file: &File) -> Option<Mark> {
        let stamp = Stamp::of(file).ok()?;
        let text = fs::read_to_string(self.registry.as_ref()?.join(entry_name(&stamp))).ok()?;
        let mark = Mark::parse(&text)?;
        let same_change = text.trim_end().ends_with(&entry_tail(&stamp));
        let same_size = mark.size_bytes == stamp.size_bytes || mark.state == MarkState::Filling;
        (same_change && same_size).then_some(mark)
    }

    fn forget(&self, stamp: &Stamp) {
        if let Some(dir) = &self.registry {
            // Usually there is none.
            let _ = fs::remove_file(dir.join(entry_name(stamp)));
        }
    }
}

/// Whether a moment lies further ahead than `longest`.
fn is_later(moment: Option<Moment>, longest: Duration) -> bool {
    let since = moment.and_then(|(s, ns)| Some(Duration::new(u64::try_from(s).ok()?, ns)));
    let end = SystemTime::now().checked_add(longest).and_then(|end| end.duration_since(UNIX_EPOCH).ok());
    since.zip(end).is_some_and(|(since, end)| since > end)
}

/// Samples that are read of a file after a run was killed.
const PLACES: u64 = 256;
/// In so many bytes the pattern may start again a few times, where writes of odd sizes overlap.
const PATTERN_BYTES: usize = 4096;
const BREAKS_MAX: usize = 4;

/// Samples of the file show nothing but what tests write unless told otherwise: zeros, and 0, 1, ... 255 again and
/// again. Random data (`-Zr`) look like any other data.
fn is_test_data(file: &File) -> bool {
    let is_odd = |_, bytes: &[u8]| !bytes.chunks(PATTERN_BYTES).all(is_pattern);
    find_odd(file, PLACES, &is_odd).is_ok_and(|odd| odd.is_none())
}

fn is_pattern(bytes: &[u8]) -> bool {
    let is_break = |pair: &&[u8]| pair[1] != 0 && pair[1] != pair[0].wrapping_add(1);
    bytes.windows(2).filter(is_break).count() <= BREAKS_MAX
}

/// Whether times of modification are set by this kernel, at the write: elsewhere a server sets them, perhaps
/// later. Source: `linux/magic.h`.
fn keeps_own_times(file: &File) -> bool {
    const ELSEWHERE: &[u64] = &[
        0x6969,      // NFS
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB 2
        0x517b,      // SMB
        0x00c3_6400, // Ceph
        0x0102_1997, // 9p
        0x6573_5546, // FUSE
        0x5346_414f, // AFS
        0x7461_636f, // OCFS2
        0x0116_1970, // GFS2
        0x0bd0_0bd0, // Lustre
        0x4750_4653, // GPFS
        0x1983_0326, // BeeGFS
    ];
    filesystem(file).is_ok_and(|found| found.is_some_and(|found| !ELSEWHERE.contains(&found.magic)))
}

fn file_error(action: &'static str, error: &io::Error) -> MarkError {
    MarkError::File { action, text: system_text(error) }
}

/// Writes another file and renames it, so that a reader never sees half an entry.
fn write_entry(dir: &Path, entry: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let beside = dir.join(format!(".{}.{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&beside, text)?;
    fs::rename(&beside, entry).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::FileExt;
    use crate::sys::within_a_second;
    use std::io::Write;

    struct Place {
        dir: tempfile::TempDir,
        marks: Marks,
    }

    /// With attributes where the filesystem has them, and without.
    fn places() -> [Place; 2] {
        [true, false].map(|attributes| {
            let dir = tempfile::tempdir().unwrap();
            let registry = Some(dir.path().join("state"));
            Place { marks: Marks { registry, attributes }, dir }
        })
    }

    fn file_of(dir: &Path, name: &str, bytes: usize) -> File {
        let mut file = File::options().create_new(true).read(true).write(true).open(dir.join(name)).unwrap();
        file.write_all(&pattern(bytes)).unwrap();
        file
    }

    fn pattern(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| at as u8).collect()
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn marked_files_are_ours_until_unmarked() {
        for Place { dir, marks } in places() {
            let file = file_of(dir.path(), "a", 1000);
            assert!(!marks.is_ours(&file));
            marks.mark(&file, MarkState::Complete).unwrap();
            let mark = marks.read(&file).unwrap();
            assert_eq!((mark.size_bytes, mark.state), (1000, MarkState::Complete));
            assert!(marks.begin_writing(&file, MINUTE));
            file.write_all_at(&pattern(10), 0).unwrap();
            assert!(marks.is_ours(&file), "a test writes to it, or was killed");
            marks.end_writing(&file).unwrap();
            assert!(marks.is_ours(&file), "a test wrote to it");
            fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
            let renamed = File::open(dir.path().join("b")).unwrap();
            assert!(marks.is_ours(&renamed), "renamed, and opened for reading only");
            marks.unmark(&file).unwrap();
            assert!(!marks.is_ours(&file));
            marks.unmark(&file).unwrap();
        }
    }

    #[test]
    fn copies_and_other_files_are_not_ours() {
        for Place { dir, marks } in places() {
            let file = file_of(dir.path(), "a", 1000);
            marks.mark(&file, MarkState::Complete).unwrap();
            let copy = file_of(dir.path(), "copy", 1000);
            assert!(!marks.is_ours(&copy));
        }
    }

    #[test]
    fn a_file_that_changed_its_size_is_not_ours() {
        for Place { dir, marks } in places() {
            let file = file_of(dir.path(), "a", 1000);
            marks.mark(&file, MarkState::Complete).unwrap();
            file.set_len(2000).unwrap();
            assert_eq!(marks.whose(&file), resized(&marks), "somebody appended data");
            marks.mark(&file, MarkState::Filling).unwrap();
            file.set_len(5000).unwrap();
            assert_eq!(marks.whose(&file), Whose::Unfinished, "left while being filled");
            assert_eq!(marks.read(&file).unwrap().state, MarkState::Filling);
        }
    }

    /// A registry entry is tied to the size.
    fn resized(marks: &Marks) -> Whose {
        if marks.attributes { Whose::Resized } else { Whose::Foreign }
    }

    fn set_modified(file: &File, seconds_from_now: i64) {
        let now = std::time::SystemTime::now();
        let step = Duration::from_secs(seconds_from_now.unsigned_abs());
        let time = if seconds_from_now < 0 { now - step } else { now + step };
        file.set_modified(time).unwrap();
    }

    #[test]
    fn a_file_that_something_else_wrote_to_is_not_ours() {
        for Place { dir, marks } in places() {
            let file = file_of(dir.path(), "a", 1000);
            set_modified(&file, -60);
            marks.mark(&file, MarkState::Complete).unwrap();
            assert_eq!(marks.whose(&file), Whose::Ours);
            file.write_all_at(&[9; 10], 0).unwrap();
            assert_eq!(marks.whose(&file), Whose::Rewritten);
            // A copy that brings its times along.
            for seconds in [-90, -3600, 3600] {
                set_modified(&file, seconds);
                assert_eq!(marks.whose(&file), Whose::Rewritten, "{seconds}");
            }
            assert!(!marks.begin_writing(&file, MINUTE), "a run does not make it ours again");
        }
    }

    #[test]
    fn what_a_killed_run_leaves_is_ours_while_nothing_else_is_seen_in_it() {
        for Place { dir, marks } in places() {
            let file = file_of(dir.path(), "a", 3_000_000);
            marks.mark(&file, MarkState::Complete).unwrap();
            assert!(marks.begin_writing(&file, MINUTE));
            file.write_all_at(&pattern(4000), 1000).unwrap();
            file.write_all_at(&[0; 4096], 8192).unwrap();
            assert_eq!(marks.whose(&file), Whose::Ours);
            for (at, words) in [(0, "somebody's thesis"), (2_999_900, "and its end")] {
                file.write_all_at(words.as_bytes(), at).unwrap();
                assert_eq!(marks.whose(&file), Whose::Interrupted, "{words}");
                // As long as a run is alive it is the one that writes.
                let hold = super::super::hold::Hold::take(&file).unwrap();
                assert_eq!(marks.whose(&file), Whose::Interrupted, "one that only asks");
                hold.says_it_writes();
                assert_eq!(marks.whose(&file), Whose::Ours);
                drop(hold);
                assert!(within_a_second(|| !is_being_tested(&file)));
                file.write_all_at(&vec![0; words.len()], at).unwrap();
                assert_eq!(marks.whose(&file), Whose::Ours);
            }
            // Written after that run can have written.
            set_modified(&file, 30);
            assert_eq!(marks.whose(&file), Whose::Ours);
            set_modified(&file, 90);
            assert_eq!(marks.whose(&file), Whose::Rewritten);
            marks.mark_for(&file, MarkState::Filling, MINUTE).unwrap();
            assert_eq!(marks.whose(&file), Whose::Rewritten);
            set_modified(&file, 0);
            assert_eq!(marks.whose(&file), Whose::Unfinished);
        }
    }

    #[test]
    fn only_the_pattern_and_zeros_are_test_data() {
        let mut page = pattern(4096);
        assert!(is_pattern(&page) && is_pattern(&[0; 4096]) && is_pattern(&[]));
        page[1000..].copy_from_slice(&pattern(3096));
        page[1500..1600].copy_from_slice(&pattern(100));
        assert!(is_pattern(&page), "writes of odd sizes");
        page[2000..2010].copy_from_slice(b"a password");
        assert!(!is_pattern(&page));
        assert!(!is_pattern(&[7; 100]) && !is_pattern(&"words ".repeat(20).into_bytes()));
        let wide: Vec<u8> = "words".bytes().flat_map(|byte| [byte, 0]).collect();
        assert!(!is_pattern(&wide.repeat(20)));
    }

    #[test]
    fn coarse_times_on_disk_do_no_harm() {
        let mark = Mark { size_bytes: 1, state: MarkState::Complete, written: Some((100, 7)) };
        for modified in [(100, 7), (100, 0), (99, 0), (98, 7)] {
            assert_eq!(mark.whose(1, modified), Whose::Ours, "{modified:?}");
        }
        for modified in [(100, 8), (101, 0), (98, 6), (0, 0)] {
            assert_eq!(mark.whose(1, modified), Whose::Rewritten, "{modified:?}");
        }
        assert_eq!(Mark { written: None, ..mark }.whose(1, (0, 0)), Whose::Ours);
    }

    #[test]
    fn the_last_of_several_runs_says_that_the_file_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let marks = Marks::with_registry(&dir.path().join("state"));
        let file = file_of(dir.path(), "a", 1000);
        marks.mark(&file, MarkState::Complete).unwrap();
        let open = || File::options().read(true).write(true).open(dir.path().join("a")).unwrap();
        let (first, second) = (open(), open());
        assert!(marks.begin_writing(&first, MINUTE) && marks.begin_writing(&second, MINUTE));
        first.write_all_at(&pattern(10), 0).unwrap();
        marks.end_writing(&first).unwrap();
        assert_eq!(marks.read(&file).unwrap().state, MarkState::Running);
        second.write_all_at(&pattern(20), 0).unwrap();
        marks.end_writing(&second).unwrap();
        assert_eq!(marks.read(&file).unwrap().state, MarkState::Complete);
        assert_eq!(marks.whose(&file), Whose::Ours);
        // Somebody cuts the file under a run.
        assert!(marks.begin_writing(&first, MINUTE));
        first.set_len(900).unwrap();
        marks.end_writing(&first).unwrap();
        assert_eq!(marks.whose(&file), Whose::Resized);
        first.set_len(1000).unwrap();
        // One that is killed lets go.
        assert!(marks.begin_writing(&first, MINUTE));
        drop(first);
        assert!(within_a_second(|| {
            assert!(marks.begin_writing(&second, MINUTE));
            marks.end_writing(&second).unwrap();
            marks.read(&file).unwrap().state == MarkState::Complete
        }));
    }

    #[test]
    fn a_registry_entry_does_not_match_the_next_file_of_the_inode() {
        let file = tempfile::tempfile().unwrap();
        let now = Stamp::of(&file).unwrap();
        let later = Stamp { birth: now.birth.map(|(s, ns)| (s + 1, ns)), ..now };
        if now.birth.is_some() {
            assert_ne!(entry_name(&now), entry_name(&later));
        }
        let unborn = Stamp { birth: None, ..now };
        let changed = Stamp { change: (now.change.0 + 1, now.change.1), ..unborn };
        assert_eq!(entry_name(&unborn), entry_name(&changed));
        assert_ne!(entry_tail(&unborn), entry_tail(&changed), "the entry's words no longer fit");
    }

    #[test]
    fn without_any_place_the_error_says_what_to_set() {
        let marks = Marks { registry: None, attributes: false };
        let error = marks.mark(&tempfile::tempfile().unwrap(), MarkState::Complete).unwrap_err();
        assert!(error.to_string().contains("set XDG_STATE_HOME or HOME"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        let marks = Marks { registry: Some(file.path().join("below-a-file")), attributes: false };
        let error = marks.mark(file.as_file(), MarkState::Complete).unwrap_err();
        assert!(error.to_string().contains("the mark could not be written to"), "{error}");
    }

    #[test]
    fn marks_print_and_parse() {
        for state in [MarkState::Filling, MarkState::Running, MarkState::Complete] {
            for written in [None, Some((0, 0)), Some((-1, 5)), Some((i64::MAX, 999_999_999))] {
                let mark = Mark { size_bytes: u64::MAX, state, written };
                assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
            }
        }
        for text in
            ["", "version=2 size=1 state=complete", "version=1 size=-1 state=complete", "version=1 size=1"]
        {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}

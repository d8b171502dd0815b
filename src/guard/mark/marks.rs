//! Sets, reads and removes marks.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::digest::{Digest, all_of};
use super::entry::entry_of;
use super::nothing::holds_nothing;
use super::registry::{Ignored, Registry};
use super::sharing::Sharing;
use super::text::{Mark, MarkState};
use super::whose::{Whose, keeps_own_times};
use crate::sys::attribute;
use crate::sys::error::system_text;
use crate::sys::folders;
use crate::sys::stat::{Moment, Stamp};
use crate::text::printable_path;

const ATTRIBUTE: &str = "user.truespd.made";
/// A shared lock that another run holds alone is tried this often, with this pause between.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// Longest mark that is read.
pub(super) const MARK_BYTES_MAX: usize = 256;
/// An answer that needed the content is kept for so long.
const KNOWN_FOR: Duration = Duration::from_secs(2);
/// A file that was changed so recently can change again without another time of change.
const UNSETTLED: Duration = Duration::from_millis(50);

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

/// A file of ours that a run of this program writes.
#[derive(Debug)]
pub struct Writing {
    /// Whose it was before.
    pub whose: Whose,
    /// Why it could not be marked as being written.
    pub unmarked: Option<MarkError>,
    /// What this run does not write, and what was there.
    outside: Vec<Range<u64>>,
    before: Option<Digest>,
    sharing: Sharing,
}

/// What a file is at the end of a run that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Ours, and marked so.
    Ours,
    /// Another run of ours still writes it, and will mark it.
    StillWritten,
    /// Somebody changed its size, so it is not marked as ours.
    Resized,
    /// Something else wrote to it during the run, so it no longer counts as ours.
    Shared,
}

/// Sets, reads and removes marks.
#[derive(Debug, Clone)]
pub struct Marks {
    pub(super) registry: Option<Registry>,
    pub(super) attributes: bool,
    known: Arc<Mutex<Option<Known>>>,
}

/// The last answer that needed the content of a file.
#[derive(Debug, Clone, Copy)]
struct Known {
    at: Instant,
    stamp: Stamp,
    mark: Option<Mark>,
    whose: Whose,
}

impl Marks {
    /// With the registry of this user: `$XDG_STATE_HOME/truespd/files` or `~/.local/state/truespd/files`.
    pub fn of_this_user() -> Self {
        Self::with(folders::state().map(|dir| dir.join("files")), true)
    }

    /// With the registry in `dir`.
    pub fn with_registry(dir: &Path) -> Self {
        Self::with(Some(dir.to_path_buf()), true)
    }

    pub(super) fn with(registry: Option<PathBuf>, attributes: bool) -> Self {
        Marks { registry: registry.map(Registry), attributes, known: Arc::default() }
    }

    /// Marks an open file as made by TrueSpd with its present size and content; needs write permission on the file.
    ///
    /// In the registry a file without birth time is known by its last change, so mark it again after
    /// the test wrote to it.
    ///
    /// # Errors
    /// [`MarkError`]; the file stays usable.
    pub fn mark(&self, file: &File, state: MarkState) -> Result<MarkPlace, MarkError> {
        // Before the content is read: what is written from now on shows in the times.
        let stamp = stamp_of(file)?;
        let mut mark = Mark::new(stamp.size_bytes, state);
        if state == MarkState::Complete {
            mark.written = Some(stamp.modified);
            mark.digest = Digest::of(file, &all_of(stamp.size_bytes)).ok();
            mark.entry = entry_of(file);
        }
        self.put(file, &stamp, mark)
    }

    /// The same for a file that is going to be written, for at most so long from now.
    ///
    /// # Errors
    /// As [`Marks::mark`].
    pub fn mark_for(&self, file: &File, state: MarkState, longest: Duration) -> Result<MarkPlace, MarkError> {
        let stamp = stamp_of(file)?;
        self.put_until(file, longest, None, Mark::new(stamp.size_bytes, state))
    }

    /// Puts a mark that says until when at most the file can be written, but not before `least`.
    fn put_until(
        &self,
        file: &File,
        longest: Duration,
        least: Option<Moment>,
        mark: Mark,
    ) -> Result<MarkPlace, MarkError> {
        let written = from_now(longest).max(least);
        let place = self.put(file, &stamp_of(file)?, Mark { written, ..mark })?;
        if keeps_own_times(file) {
            return Ok(place);
        }
        // The clock of a server may be ahead of ours. The time at which it took the mark tells.
        let theirs = after(stamp_of(file)?.change, longest);
        if Some(theirs) <= written {
            return Ok(place);
        }
        self.put(file, &stamp_of(file)?, Mark { written: Some(theirs), ..mark })
    }

    fn put(&self, file: &File, stamp: &Stamp, mark: Mark) -> Result<MarkPlace, MarkError> {
        let is_complete = mark.state == MarkState::Complete;
        let attribute = match self.set_attribute(file, mark) {
            Ok(()) => {
                self.registry.iter().for_each(|registry| registry.forget(stamp));
                return Ok(MarkPlace::Attribute);
            }
            Err(e) => system_text(&e),
        };
        let Some(registry) = &self.registry else { return Err(MarkError::NoRegistry { attribute }) };
        // An entry does not change the file.
        let mark = Mark { changed_by: is_complete.then_some(stamp.change), ..mark };
        registry.write(stamp, &mark).map(MarkPlace::Registry).map_err(|e| MarkError::Registry {
            attribute,
            registry: printable_path(&registry.path_of(stamp)),
            text: system_text(&e),
        })
    }

    fn set_attribute(&self, file: &File, mark: Mark) -> io::Result<()> {
        if !self.attributes {
            return Err(attribute::unsupported());
        }
        let set = |mark: Mark| attribute::set(file, ATTRIBUTE, mark.to_string().as_bytes());
        if mark.state != MarkState::Complete {
            return set(mark);
        }
        // Putting the mark changes the file's entry, at a time that is known afterwards only.
        for step in SETTLE_STEPS {
            let begun = Instant::now();
            let latest = match keeps_own_times(file) {
                true => from_now(step),
                // By the clock of the server.
                false => set(mark).and_then(|()| Stamp::of(file)).ok().map(|now| after(now.change, step)),
            };
            set(Mark { changed_by: latest, ..mark })?;
            if latest.is_some_and(|latest| Stamp::of(file).is_ok_and(|now| now.change <= latest)) {
                // A change that follows shall have a later time.
                std::thread::sleep((step + TICK).saturating_sub(begun.elapsed()));
                return Ok(());
            }
        }
        set(mark)
    }

    /// The mark of an open file; `None` when it carries none that this program knows and trusts.
    pub fn read(&self, file: &File) -> Option<Mark> {
        self.attribute(file).or_else(|| self.registry.as_ref()?.read(&Stamp::of(file).ok()?).ok()?)
    }

    /// The mark of an open file that does not count, because others may have put it there.
    pub fn ignored(&self, file: &File) -> Option<Ignored> {
        if self.attribute(file).is_some() {
            return None;
        }
        self.registry.as_ref()?.read(&Stamp::of(file).ok()?).err()
    }

    /// TrueSpd made this file and wrote it last, and its size is still the one it was given.
    pub fn is_ours(&self, file: &File) -> bool {
        self.whose(file) == Whose::Ours
    }

    /// Whose data the open file holds. Reads the file where mark and times do not tell.
    pub fn whose(&self, file: &File) -> Whose {
        let Ok(stamp) = Stamp::of(file) else { return Whose::Foreign };
        let mark = self.read(file);
        if let Some(whose) = self.known(&stamp, mark) {
            return whose;
        }
        let whose = match mark.map_or(Whose::Foreign, |mark| Whose::by_mark(&mark, file, &stamp)) {
            Whose::Ours => Whose::Ours,
            _ if holds_nothing(file, stamp.size_bytes) => Whose::Nobodys,
            other => other,
        };
        self.keep(Known { at: Instant::now(), stamp, mark, whose });
        whose
    }

    /// The last answer, if it was about this very file and nothing can have changed since.
    fn known(&self, stamp: &Stamp, mark: Option<Mark>) -> Option<Whose> {
        let last = (*self.known.lock().unwrap_or_else(PoisonError::into_inner))?;
        let is_same = last.stamp == *stamp && last.mark == mark && last.at.elapsed() < KNOWN_FOR;
        is_same.then_some(last.whose)
    }

    fn keep(&self, answer: Known) {
        let is_settled = is_past(answer.stamp.change, UNSETTLED);
        // Whether a run that is writing lives can change at any time.
        let is_written = answer.mark.is_some_and(|mark| mark.state == MarkState::Running);
        let answer = (is_settled && !is_written).then_some(answer);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Marks a file that may be written without asking as being written by a run, for at most so long, in these ranges of
    /// bytes. `None` when it is somebody else's.
    ///
    /// Runs of several programs on one file know each other by a shared lock (`Sharing`), which ends with them,
    /// however they end.
    pub fn begin_writing(&self, file: &File, longest: Duration, tested: &[Range<u64>]) -> Option<Writing> {
        let whose = self.whose(file);
        if !whose.may_be_written() {
            return None;
        }
        let sharing = Sharing::on(file);
        let is_alone = matches!(sharing.try_alone(file), Ok(true));
        // A run that ends holds the lock alone for a moment. A run without the lock may go on all the same.
        for _ in 0..LOCK_TRIES {
            match sharing.try_share(file) {
                Ok(false) => std::thread::sleep(LOCK_PAUSE),
                _ => break,
            }
        }
        let others = self.read(file).filter(|mark| mark.state == MarkState::Running && !is_alone);
        let runs = others.map_or(1, |mark| mark.runs.saturating_add(1));
        let size = file.metadata().map_or(0, |about| about.len());
        // Another run may write there.
        let outside = if runs == 1 { outside_of(tested, size) } else { Vec::new() };
        let before = if outside.is_empty() { None } else { Digest::of(file, &outside).ok() };
        let unmarked = self.mark_running(file, longest, others, runs).err();
        Some(Writing { whose, unmarked, outside, before, sharing })
    }

    /// Of several runs the last end counts.
    fn mark_running(
        &self,
        file: &File,
        longest: Duration,
        others: Option<Mark>,
        runs: u32,
    ) -> Result<MarkPlace, MarkError> {
        let mark = Mark { runs, ..Mark::new(stamp_of(file)?.size_bytes, MarkState::Running) };
        self.put_until(file, longest, others.and_then(|mark| mark.written), mark)
    }

    /// Marks a file as written by us up to now, unless another run is still writing it or something else wrote to it
    /// besides. `is_shared` tells of another program that could write to it during the run.
    ///
    /// # Errors
    /// As [`Marks::mark`]; nothing is lost, a later write test will ask for `-c` or `--overwrite`.
    pub fn end_writing(&self, file: &File, writing: &Writing, is_shared: bool) -> Result<Ended, MarkError> {
        let is_alone = !matches!(writing.sharing.try_alone(file), Ok(false));
        // A registry entry without birth time does not fit any more: this process knows whose file it is. No run of
        // ours changes a size: if it changed, the data are somebody else's.
        let mark = self.read(file);
        let size = file.metadata().map(|m| m.len()).ok();
        let is_whole =
            mark.is_none_or(|mark| mark.state != MarkState::Filling && Some(mark.size_bytes) == size);
        let ended = match () {
            () if !is_alone => Ended::StillWritten,
            () if !is_whole => Ended::Resized,
            () if is_shared || writing.is_changed_outside(file, mark) => Ended::Shared,
            () => Ended::Ours,
        };
        let marked = match ended {
            Ended::Ours => self.mark(file, MarkState::Complete).map(|_| ended),
            Ended::Shared => self.mark(file, MarkState::Shared).map(|_| ended),
            _ => Ok(ended),
        };
        writing.sharing.end(file);
        marked
    }

    /// Removes the mark, wherever it is; no mark is no error.
    ///
    /// # Errors
    /// [`MarkError::File`] when the attribute is there and cannot be removed.
    pub fn unmark(&self, file: &File) -> Result<(), MarkError> {
        if let Ok(stamp) = Stamp::of(file) {
            self.registry.iter().for_each(|registry| registry.forget(&stamp));
        }
        if self.attribute(file).is_some() {
            attribute::remove(file, ATTRIBUTE).map_err(|e| file_error("remove the mark", &e))?;
        }
        Ok(())
    }

    fn attribute(&self, file: &File) -> Option<Mark> {
        if !self.attributes {
            return None;
        }
        let text = attribute::get(file, ATTRIBUTE, MARK_BYTES_MAX)?;
        Mark::parse(std::str::from_utf8(&text).ok()?)
    }
}

impl Writing {
    /// Whether something wrote where this run does not, as far as samples show. Not known once another run of ours has
    /// written, too.
    fn is_changed_outside(&self, file: &File, mark: Option<Mark>) -> bool {
        let is_only_run = mark.is_none_or(|mark| mark.runs == 1);
        let is_changed = |before: Digest| !before.is_of(file, &self.outside).unwrap_or(false);
        is_only_run && self.before.is_some_and(is_changed)
    }
}

/// What of a file of `size` bytes lies in none of the ranges.
fn outside_of(ranges: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable_by_key(|range| (range.start, range.end));
    let (mut found, mut at) = (Vec::new(), 0);
    for range in sorted {
        if range.start.min(size) > at {
            found.push(at..range.start.min(size));
        }
        at = at.max(range.end);
    }
    if at < size {
        found.push(at..size);
    }
    found
}

fn stamp_of(file: &File) -> Result<Stamp, MarkError> {
    Stamp::of(file).map_err(|e| file_error("read the facts of the file", &e))
}

fn file_error(action: &'static str, error: &io::Error) -> MarkError {
    MarkError::File { action, text: system_text(error) }
}

/// How far ahead the time is set by which a mark has been put: usually the first is enough.
const SETTLE_STEPS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(100), Duration::from_secs(1)];
/// Times of files are as coarse as the kernel's ticks, of which there are a hundred a second at least.
const TICK: Duration = Duration::from_millis(10);

fn from_now(ahead: Duration) -> Option<Moment> {
    let at = SystemTime::now().checked_add(ahead)?.duration_since(UNIX_EPOCH).ok()?;
    Some((i64::try_from(at.as_secs()).ok()?, at.subsec_nanos()))
}

/// The moment so much after another.
fn after((seconds, nanoseconds): Moment, ahead: Duration) -> Moment {
    let sum = u64::from(nanoseconds) + u64::from(ahead.subsec_nanos());
    let more = i64::try_from(ahead.as_secs() + sum / 1_000_000_000).unwrap_or(i64::MAX);
    (seconds.saturating_add(more), (sum % 1_000_000_000) as u32)
}

/// Whether a moment lies longer ago than `distance`.
fn is_past(moment: Moment, distance: Duration) -> bool {
    let now = from_now(Duration::ZERO);
    let later = now.map(|(seconds, nanoseconds)| (seconds, i64::from(nanoseconds)));
    later.is_some_and(|(seconds, nanoseconds)| {
        let passed =
            i128::from(seconds - moment.0) * 1_000_000_000 + i128::from(nanoseconds - i64::from(moment.1));
        passed > distance.as_nanos() as i128
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{lock, within_a_second};

    #[test]
    fn what_is_outside_of_ranges() {
        assert_eq!(outside_of(&[], 10), all_of(10));
        assert_eq!(outside_of(&all_of(10), 10), []);
        assert_eq!(outside_of(&all_of(u64::MAX), 10), []);
        assert_eq!(outside_of(&[3..5, 5..5], 10), [0..3, 5..10]);
        assert_eq!(outside_of(&[5..7, 0..3, 2..4], 10), [4..5, 7..10]);
        assert_eq!(outside_of(&[2..9, 3..4, 20..30], 10), [0..2, 9..10]);
    }

    #[test]
    fn an_answer_is_kept_for_a_while_for_the_same_state_of_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let marks = Marks::with_registry(dir.path());
        let stamp = Stamp { change: (0, 0), ..Stamp::of(&tempfile::tempfile().unwrap()).unwrap() };
        let mark = Some(Mark::new(stamp.size_bytes, MarkState::Complete));
        let answer = Known { at: Instant::now(), stamp, mark, whose: Whose::Rewritten };
        assert_eq!(marks.known(&stamp, mark), None);
        marks.keep(answer);
        assert_eq!(marks.known(&stamp, mark), Some(Whose::Rewritten));
        let grown = Stamp { size_bytes: stamp.size_bytes + 1, ..stamp };
        assert_eq!(marks.known(&grown, mark), None);
        assert_eq!(marks.known(&stamp, None), None);
        let changed = from_now(Duration::ZERO).unwrap();
        let running = mark.map(|mark| Mark { state: MarkState::Running, ..mark });
        for (answer, why) in [
            (Known { at: Instant::now() - KNOWN_FOR, ..answer }, "it is old"),
            (Known { stamp: Stamp { change: changed, ..stamp }, ..answer }, "it may change at the same time"),
            (Known { mark: running, ..answer }, "the run may end"),
        ] {
            marks.keep(Known { at: answer.at, ..answer });
            assert_eq!(marks.known(&answer.stamp, answer.mark), None, "{why}");
        }
    }

    #[test]
    fn a_run_that_begins_waits_for_one_that_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let marks = Marks::with_registry(&dir.path().join("state"));
        let open =
            || File::options().create(true).truncate(false).read(true).write(true).open(&path).unwrap();
        marks.mark(&open(), MarkState::Complete).unwrap();
        // On a busy machine the other one may hold the lock for too long.
        let is_shared = (0..20).any(|_| {
            let (ends, begins) = (open(), open());
            assert!(within_a_second(|| lock::try_alone(&ends).unwrap()));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(LOCK_PAUSE * 2);
                    lock::unlock(&ends);
                });
                let written: [Range<u64>; 0] = [];
                assert!(marks.begin_writing(&begins, Duration::from_secs(1), &written).is_some());
            });
            let is_shared = !lock::try_alone(&open()).unwrap();
            marks.mark(&begins, MarkState::Complete).unwrap();
            is_shared
        });
        assert!(is_shared);
    }

    #[test]
    fn a_run_after_a_killed_one_is_the_only_one() {
        let dir = tempfile::tempdir().unwrap();
        let marks = Marks::with_registry(&dir.path().join("state"));
        let path = dir.path().join("a");
        std::fs::write(&path, [0; 4096]).unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        marks.mark(&open(), MarkState::Complete).unwrap();
        let runs = |file: &File| {
            marks.begin_writing(file, Duration::from_secs(60), &all_of(10)).expect("ours");
            marks.read(file).unwrap().runs
        };
        let first = open();
        assert_eq!((runs(&first), runs(&open())), (1, 2));
        // As a killed one, it ends without a word.
        drop(first);
        assert!(within_a_second(|| runs(&open()) == 1));
    }

    #[test]
    fn moments_after_moments() {
        assert_eq!(after((5, 999_999_999), Duration::new(2, 1)), (8, 0));
        assert_eq!(after((-5, 1), Duration::from_millis(10)), (-5, 10_000_001));
        assert_eq!(after((i64::MAX, 0), Duration::MAX), (i64::MAX, 999_999_999));
    }

    #[test]
    fn moments_that_are_past() {
        let now = from_now(Duration::ZERO).unwrap();
        assert!(!is_past((now.0 + 1, 0), Duration::ZERO) && !is_past(now, Duration::from_secs(60)));
        assert!(is_past((now.0 - 61, now.1), Duration::from_secs(60)) && is_past((0, 0), Duration::ZERO));
    }
}

//! Marks on files that TrueSpd made, so that a write test knows them from other people's data.
//!
//! The mark is an extended attribute, `user.truespd.made`. It stays with the file through renames and is lost
//! on a plain copy. Where the file system has no such attributes, a small file in the user's state directory
//! stands in for it (`registry`), tied to this very file by its device, inode, birth time (or, without one,
//! its last change) and size.
//!
//! The mark says when the file was last written by us, when the mark was put, and what the file held then
//! (`text`, `digest`). Another time of last modification means that something else wrote to the file, for
//! example a copy in place. Where times do not tell (`text`), the content decides: on file systems whose
//! times a server sets, that keep whole seconds or do not show writes through memory maps, and where
//! something changed the file's entry after the mark (`chmod`, `mv`, but also a write whose time was set
//! back). While runs of ours write, the mark says so, until when at most, which parts they write, and what
//! the rest held; a killed run leaves that behind. Such a file counts as ours only as long as samples of it
//! show nothing but what tests write.
//!
//! A file that provably holds nothing is nobody's (`content`), whatever its mark says.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::guard::locks::{Gate, Sharing};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::identity::{Moment, Stamp};
use truespd_platform::sys::{file, system};
use truespd_platform::text::printable_path;

mod content;
mod digest;
mod registry;
mod text;

use content::{do_maps_show, entry_of, holds_nothing, is_outside_kept, keeps_own_times};
use digest::all_of;
use registry::Registry;
use text::{
    LATEST, Parts, TICK, after, are_fine, from_now, is_settled, joined, outside_of, set_back, this_boot,
    wait_past,
};

pub use content::Whose;
pub use digest::Digest;
pub use text::{MarkState, Provenance};

const ATTRIBUTE: &str = "user.truespd.made";
/// Longest mark that is read.
const MARK_BYTES_MAX: usize = 256;
/// An answer that needed the content is kept for so long.
const KNOWN_FOR: Duration = Duration::from_secs(2);
/// Where times do not show every write, all of a large file is read if that takes no longer: at the end of a
/// run, and of what a run does not write before it begins.
const READ_ALL_LONGEST: Duration = Duration::from_secs(1);
/// The content of such a file is looked at again and again.
const SMALL_BYTES: u64 = 64 << 20;

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
#[error("{0}")]
pub struct MarkError(String);

/// A file of ours that a run of this program writes.
#[derive(Debug)]
pub struct Writing {
    /// Whose it was before.
    pub whose: Whose,
    /// Why it could not be marked as being written.
    pub unmarked: Option<MarkError>,
    /// What neither this run nor one that began before it writes, and what was there.
    outside: Vec<Range<u64>>,
    before: Option<Digest>,
    /// The mark that was put.
    mark: Option<Provenance>,
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
    registry: Option<Registry>,
    attributes: bool,
    known: Arc<Mutex<Option<Known>>>,
}

/// The last answer that needed the content of a file.
#[derive(Debug, Clone, Copy)]
struct Known {
    at: Instant,
    stamp: Stamp,
    mark: Option<Provenance>,
    whose: Whose,
}

impl Marks {
    /// With the registry of this user: `$XDG_STATE_HOME/truespd/files` or `~/.local/state/truespd/files`.
    pub fn of_this_user() -> Self {
        Self::with(system::state_folder().map(|dir| dir.join("files")), true)
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
        let mut mark = Provenance { boot: this_boot(), ..Provenance::new(stamp.size_bytes, state) };
        if state != MarkState::Complete {
            return self.put(file, &stamp, mark);
        }
        let stamp = if keeps_own_times(file) { set_back(file, stamp) } else { stamp };
        mark.written = Some(stamp.modified);
        mark.maps_show = do_maps_show(file);
        let all = all_of(stamp.size_bytes);
        let digest = if mark.maps_show && are_fine(stamp.change) {
            Digest::of(file, &all)
        } else {
            Digest::of_all_within(READ_ALL_LONGEST, file, &all)
        };
        mark.digest = digest.ok();
        mark.entry = entry_of(file);
        self.put(file, &stamp, mark)
    }

    /// The same for a file that is going to be written, for at most so long from now.
    ///
    /// # Errors
    /// As [`Marks::mark`].
    pub fn mark_for(&self, file: &File, state: MarkState, longest: Duration) -> Result<MarkPlace, MarkError> {
        let stamp = stamp_of(file)?;
        self.put_until(file, longest, None, Provenance::new(stamp.size_bytes, state))
    }

    /// Puts a mark that says until when at most the file can be written, but not before `least`.
    fn put_until(
        &self,
        file: &File,
        longest: Duration,
        least: Option<Moment>,
        mark: Provenance,
    ) -> Result<MarkPlace, MarkError> {
        let written = from_now(longest).max(least);
        let mark = Provenance { boot: this_boot(), ..mark };
        let place = self.put(file, &stamp_of(file)?, Provenance { written, ..mark })?;
        if keeps_own_times(file) {
            return Ok(place);
        }
        // The clock of a server may be ahead of ours. The time at which it took the mark tells.
        let theirs = after(stamp_of(file)?.change, longest);
        if Some(theirs) <= written {
            return Ok(place);
        }
        self.put(file, &stamp_of(file)?, Provenance { written: Some(theirs), ..mark })
    }

    fn put(&self, file: &File, stamp: &Stamp, mark: Provenance) -> Result<MarkPlace, MarkError> {
        let is_complete = mark.state == MarkState::Complete;
        let attribute = match self.set_attribute(file, mark) {
            Ok(()) => {
                self.registry.iter().for_each(|registry| registry.forget(stamp));
                return Ok(MarkPlace::Attribute);
            }
            Err(e) => system_text(&e),
        };
        let no_attribute = format!("the file system has no extended attributes ({attribute})");
        let Some(registry) = &self.registry else {
            let why = "there is no state directory for the mark; set XDG_STATE_HOME or HOME";
            return Err(MarkError(format!("{no_attribute}, and {why}")));
        };
        // An entry does not change the file. A change that follows shall have a later time.
        let is_told = is_complete && (!are_fine(stamp.change) || wait_past(stamp.change));
        let mark = Provenance { changed_by: is_told.then_some(stamp.change), ..mark };
        registry.write(stamp, &mark).map(MarkPlace::Registry).map_err(|e| {
            let (entry, text) = (printable_path(&registry.path_of(stamp)), system_text(&e));
            MarkError(format!("{no_attribute}, and the mark could not be written to {entry}: {text}"))
        })
    }

    fn set_attribute(&self, file: &File, mark: Provenance) -> io::Result<()> {
        if !self.attributes {
            return Err(file::no_attributes());
        }
        if mark.state != MarkState::Complete {
            return put_attribute(file, mark);
        }
        // Putting the mark changes the file's entry, at a time that is known afterwards only.
        for step in SETTLE_STEPS {
            let begun = Instant::now();
            let latest = if keeps_own_times(file) {
                from_now(step)
            } else {
                put_attribute(file, mark)
                    .and_then(|()| Stamp::of(file))
                    .ok()
                    .map(|now| after(now.change, step))
            };
            put_attribute(file, Provenance { changed_by: latest, ..mark })?;
            let Some(latest) = latest.filter(|latest| Stamp::of(file).is_ok_and(|now| now.change <= *latest))
            else {
                continue;
            };
            // A change that follows shall have a later time.
            if !keeps_own_times(file) {
                std::thread::sleep((step + TICK).saturating_sub(begun.elapsed()));
                return Ok(());
            }
            if wait_past(latest) {
                return Ok(());
            }
        }
        put_attribute(file, mark)
    }

    /// The mark of an open file; `None` when it carries none that this program knows and trusts.
    pub fn read(&self, file: &File) -> Option<Provenance> {
        self.attribute(file).or_else(|| self.registry.as_ref()?.read(&Stamp::of(file).ok()?).ok()?)
    }

    /// The mark of an open file that does not count, because others may have put it there.
    pub fn ignored(&self, file: &File) -> Option<String> {
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
    fn known(&self, stamp: &Stamp, mark: Option<Provenance>) -> Option<Whose> {
        let last = (*self.known.lock().unwrap_or_else(PoisonError::into_inner))?;
        let is_same = last.stamp == *stamp && last.mark == mark && last.at.elapsed() < KNOWN_FOR;
        is_same.then_some(last.whose)
    }

    fn keep(&self, answer: Known) {
        // Whether a run that is writing lives can change at any time, and so can what times do not show.
        let is_steady = answer.mark.is_none_or(|mark| {
            mark.state != MarkState::Running
                && mark.is_of_this_boot()
                && (mark.shows_writes(&answer.stamp) || answer.stamp.size_bytes > SMALL_BYTES)
        });
        let is_kept = is_settled(answer.stamp.change) && is_steady;
        let answer = is_kept.then_some(answer);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Marks a file that may be written without asking as being written by a run, for at most so long, in
    /// these ranges of bytes. `None` when it is somebody else's.
    ///
    /// Runs of several programs on one file know each other (`Sharing`). What none of them writes has to stay as it was
    /// when the first one began: the mark says what they write, and what the rest held.
    pub fn begin_writing(&self, file: &File, longest: Duration, tested: &[Range<u64>]) -> Option<Writing> {
        let whose = self.whose(file);
        if !whose.may_be_written() {
            return None;
        }
        let _gate = Gate::close(file);
        let sharing = Sharing::begin(file);
        let is_alone = sharing.is_with_others(file) == Some(false);
        let others = self.read(file).filter(|mark| mark.state == MarkState::Running && !is_alone);
        let size = file.metadata().map_or(0, |about| about.len());
        let mut written = tested.to_vec();
        written.extend(others.into_iter().flat_map(|mark| mark.parts.ranges()));
        let outside = outside_of(&written, size);
        let before = digest_of(file, &outside);
        // After that, so that nothing is written between the two.
        if others.is_some_and(|mark| !is_outside_kept(&mark, file, size)) {
            sharing.end(file);
            return None;
        }
        let mut mark = Provenance {
            digest: before,
            parts: Parts::of(&written),
            ..Provenance::new(size, MarkState::Running)
        };
        if mark.parts.ranges() != joined(&written) {
            // There is no room for all of them.
            mark.digest = digest_of(file, &outside_of(&mark.parts.ranges(), size));
        }
        // Of several runs the last end counts.
        let put = self.put_until(file, longest, others.and_then(|mark| mark.written), mark);
        let mark = put.is_ok().then_some(mark);
        Some(Writing { whose, unmarked: put.err(), outside, before, mark, sharing })
    }

    /// Marks a file as written by us up to now, unless another run is still writing it or something else wrote to it
    /// besides. `is_shared` tells of another program that could write to it during the run.
    ///
    /// # Errors
    /// As [`Marks::mark`]; nothing is lost, a later write test will ask for `-c` or `--overwrite`.
    pub fn end_writing(&self, file: &File, writing: &Writing, is_shared: bool) -> Result<Ended, MarkError> {
        let gate = Gate::close(file);
        let is_with_others = writing.sharing.is_with_others(file) == Some(true);
        // A registry entry without birth time does not fit any more: this process knows whose file it is. No run of
        // ours changes a size: if it changed, the data are somebody else's.
        let mark = self.read(file);
        let size = file.metadata().map(|m| m.len()).ok();
        let is_whole =
            mark.is_none_or(|mark| mark.state != MarkState::Filling && Some(mark.size_bytes) == size);
        // Another run that ended may have found it so.
        let is_shared = is_shared || mark.is_some_and(|mark| mark.state == MarkState::Shared);
        let ended = if !is_whole {
            Ended::Resized
        } else if is_shared || writing.is_changed_outside(file, mark) {
            Ended::Shared
        } else if is_with_others {
            Ended::StillWritten
        } else {
            Ended::Ours
        };
        let marked = match ended {
            Ended::Ours => self.mark(file, MarkState::Complete).map(|_| ended),
            Ended::Shared => self.mark(file, MarkState::Shared).map(|_| ended),
            _ => Ok(ended),
        };
        writing.sharing.end(file);
        drop(gate);
        marked
    }

    /// Removes the mark, wherever it is; no mark is no error.
    ///
    /// # Errors
    /// [`MarkError`] when the attribute is there and cannot be removed.
    pub fn unmark(&self, file: &File) -> Result<(), MarkError> {
        if let Ok(stamp) = Stamp::of(file) {
            self.registry.iter().for_each(|registry| registry.forget(&stamp));
        }
        if self.attribute(file).is_some() {
            file::remove_attribute(file, ATTRIBUTE).map_err(|e| file_error("remove the mark", &e))?;
        }
        Ok(())
    }

    fn attribute(&self, file: &File) -> Option<Provenance> {
        if !self.attributes {
            return None;
        }
        let text = file::attribute(file, ATTRIBUTE, MARK_BYTES_MAX)?;
        Provenance::parse(std::str::from_utf8(&text).ok()?)
    }
}

impl Writing {
    /// As a run that is killed ends for the others.
    #[cfg(test)]
    pub(super) fn end(&self, file: &File) {
        self.sharing.end(file);
    }

    /// Whether something wrote where no run of ours does, as far as samples show. `mark` is the mark of the file now.
    fn is_changed_outside(&self, file: &File, mark: Option<Provenance>) -> bool {
        let own = self.mark.map(|own| (own.parts, own.digest));
        match mark {
            // Another run of ours began to write besides.
            Some(mark) if mark.state == MarkState::Running && own != Some((mark.parts, mark.digest)) => {
                !is_outside_kept(&mark, file, mark.size_bytes)
            }
            // Another one ended that did not see this one.
            Some(mark) if mark.state == MarkState::Complete && self.mark.is_some() => false,
            _ => self.before.is_some_and(|before| !before.is_of(file, &self.outside).unwrap_or(false)),
        }
    }
}

fn put_attribute(file: &File, mark: Provenance) -> io::Result<()> {
    file::set_attribute(file, ATTRIBUTE, mark.to_string().as_bytes())
}

/// Of what no run writes; `None` where they write all.
fn digest_of(file: &File, outside: &[Range<u64>]) -> Option<Digest> {
    if outside.is_empty() { None } else { Digest::of_all_within(READ_ALL_LONGEST, file, outside).ok() }
}

fn stamp_of(file: &File) -> Result<Stamp, MarkError> {
    Stamp::of(file).map_err(|e| file_error("read the facts of the file", &e))
}

fn file_error(action: &str, error: &io::Error) -> MarkError {
    MarkError(format!("could not {action}: {}", system_text(error)))
}

/// How far ahead the time is set by which a mark has been put: usually the first is enough.
const SETTLE_STEPS: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(100), LATEST];

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_marks {
    use super::*;
    use crate::made::comes_to_hold;

    #[test]
    fn an_answer_is_kept_for_a_while_for_the_same_state_of_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let marks = Marks::with_registry(dir.path());
        let stamp = Stamp { change: (0, 1), ..Stamp::of(&tempfile::tempfile().unwrap()).unwrap() };
        let new = Provenance::new(stamp.size_bytes, MarkState::Complete);
        let mark = Some(Provenance { maps_show: true, boot: this_boot(), ..new });
        let answer = Known { at: Instant::now(), stamp, mark, whose: Whose::Rewritten };
        assert_eq!(marks.known(&stamp, mark), None);
        marks.keep(answer);
        assert_eq!(marks.known(&stamp, mark), Some(Whose::Rewritten));
        let grown = Stamp { size_bytes: stamp.size_bytes + 1, ..stamp };
        assert_eq!(marks.known(&grown, mark), None);
        assert_eq!(marks.known(&stamp, None), None);
        let changed = from_now(Duration::ZERO).unwrap();
        let running = mark.map(|mark| Provenance { state: MarkState::Running, ..mark });
        let hidden = mark.map(|mark| Provenance { maps_show: false, ..mark });
        for (answer, why) in [
            (Known { at: Instant::now() - KNOWN_FOR, ..answer }, "it is old"),
            (Known { stamp: Stamp { change: changed, ..stamp }, ..answer }, "it may change at the same time"),
            (Known { mark: running, ..answer }, "the run may end"),
            (Known { mark: hidden, ..answer }, "a write may not show"),
        ] {
            marks.keep(Known { at: answer.at, ..answer });
            assert_eq!(marks.known(&answer.stamp, answer.mark), None, "{why}");
        }
    }

    #[test]
    fn a_run_after_a_killed_one_is_the_only_one() {
        let dir = tempfile::tempdir().unwrap();
        let marks = Marks::with_registry(&dir.path().join("state"));
        let path = dir.path().join("a");
        std::fs::write(&path, [0; 4096]).unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        marks.mark(&open(), MarkState::Complete).unwrap();
        let parts = |file: &File, at: u64| {
            marks.begin_writing(file, Duration::from_secs(60), &[at..at + 5, at + 5..at + 10]).expect("ours");
            marks.read(file).unwrap().parts.to_string()
        };
        let first = open();
        assert_eq!((parts(&first, 0).as_str(), parts(&open(), 16).as_str()), ("0-a", "0-a,10-1a"));
        // As a killed one, it ends without a word.
        drop(first);
        assert!(comes_to_hold(|| parts(&open(), 16) == "10-1a"));
    }
}

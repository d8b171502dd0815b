//! What a mark says, and what it says about a file with these times.

use std::fmt;
use std::str::FromStr;

use super::digest::Digest;
use super::parts::Parts;
use super::times::{are_fine, is_long_before};
use crate::sys::stat::{Moment, Stamp};

const VERSION: u32 = 1;

/// How far the making of a file got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkState {
    /// Being filled, or left unfinished.
    Filling,
    /// Every byte was written once, and a run is writing now or was killed.
    Running,
    /// Every byte was written.
    Complete,
    /// Something else wrote to it while a run did.
    Shared,
}

/// Words of the states.
const STATES: &[(MarkState, &str)] = &[
    (MarkState::Filling, "filling"),
    (MarkState::Running, "running"),
    (MarkState::Complete, "complete"),
    (MarkState::Shared, "shared"),
];

/// The mark of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Size the file was made with, in bytes.
    pub size_bytes: u64,
    /// How far the making got.
    pub state: MarkState,
    /// Time of last modification after our last write; for a file that is being written, the latest time that is
    /// possible. In seconds and nanoseconds; `None` where it is not known.
    pub written: Option<Moment>,
    /// The file's entry was last changed at this time at the latest, by putting the mark. `None` while a run writes.
    pub changed_by: Option<Moment>,
    /// What the complete file held; of a file that is being written, what lies outside of `parts`.
    pub digest: Option<Digest>,
    /// What the complete file's entry said besides times (owner, permissions, links, path), as one number.
    pub entry: Option<u64>,
    /// What runs may have written since the file was complete.
    pub parts: Parts,
    /// Writes through memory maps change the times of the file.
    pub maps_show: bool,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = STATES.iter().find(|(state, _)| *state == self.state).map_or("", |(_, word)| word);
        write!(f, "version={VERSION} size={} state={state}", self.size_bytes)?;
        let moments = [("written", self.written), ("changed_by", self.changed_by)];
        for (key, (seconds, nanoseconds)) in moments.into_iter().filter_map(|(key, at)| Some((key, at?))) {
            write!(f, " {key}={seconds}.{nanoseconds:09}")?;
        }
        self.digest.iter().try_for_each(|digest| write!(f, " digest={digest}"))?;
        self.entry.iter().try_for_each(|entry| write!(f, " entry={entry:016x}"))?;
        if self.maps_show {
            f.write_str(" maps=shown")?;
        }
        if self.parts == Parts::ALL { Ok(()) } else { write!(f, " parts={}", self.parts) }
    }
}

/// File systems may keep times more coarsely on the disk than in memory, rounded down: in steps of so many nanoseconds
/// (NTFS, UDF, exFAT, ext3 and FAT, for example).
const TIME_STEPS_NS: &[i128] = &[1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000];
/// A server may set the time of our last write so much later, for example when the file is closed. That is allowed for
/// where every byte can be compared.
const SERVER_LATE_S: i64 = 10;

/// What size and times say about a marked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByTimes {
    /// It has another size.
    Resized,
    /// Something else wrote to it.
    Rewritten,
    /// It was being filled.
    Unfinished,
    /// A run was writing, and nothing else has since.
    Interrupted,
    /// Nothing has changed it since.
    Untouched,
    /// They do not tell.
    Unknown,
}

impl Mark {
    /// A mark with nothing but size and state.
    pub(super) fn new(size_bytes: u64, state: MarkState) -> Self {
        Mark {
            size_bytes,
            state,
            written: None,
            changed_by: None,
            digest: None,
            entry: None,
            parts: Parts::ALL,
            maps_show: false,
        }
    }

    /// `None` when the text is no mark of a version this program knows.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value =
            |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        if value("version")? != VERSION.to_string() {
            return None;
        }
        let word = value("state")?;
        let state = STATES.iter().find(|(_, known)| *known == word)?.0;
        let moment = |text: &str| {
            let (seconds, nanoseconds) = text.split_once('.')?;
            Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
        };
        Some(Mark {
            written: optional(value("written"), moment)?,
            changed_by: optional(value("changed_by"), moment)?,
            digest: optional(value("digest"), |text| Digest::from_str(text).ok())?,
            entry: optional(value("entry"), |text| u64::from_str_radix(text, 16).ok())?,
            parts: optional(value("parts"), |text| text.parse().ok())?.unwrap_or(Parts::ALL),
            maps_show: value("maps") == Some("shown"),
            ..Mark::new(value("size")?.parse().ok()?, state)
        })
    }

    /// What a file's size and times tell. `are_own` is whether this kernel sets the times of its file system.
    pub(super) fn by_times(&self, now: &Stamp, are_own: bool) -> ByTimes {
        if self.size_bytes != now.size_bytes && self.state != MarkState::Filling {
            return ByTimes::Resized;
        }
        if self.state == MarkState::Shared || !self.may_be_written_at(now.modified, are_own) {
            return ByTimes::Rewritten;
        }
        match self.state {
            MarkState::Filling => ByTimes::Unfinished,
            MarkState::Running => ByTimes::Interrupted,
            _ if are_own && self.maps_show && are_fine(now.change) && self.is_entry_kept(now) => {
                ByTimes::Untouched
            }
            _ => ByTimes::Unknown,
        }
    }

    fn is_entry_kept(&self, now: &Stamp) -> bool {
        self.changed_by.is_some_and(|latest| now.change <= latest)
    }

    /// Whether every write after the mark would have changed the file's times, but one whose time was set back.
    pub(super) fn shows_writes(&self, now: &Stamp) -> bool {
        let is_old =
            || self.written.zip(self.changed_by).is_some_and(|(written, by)| is_long_before(written, by));
        self.maps_show && (are_fine(now.change) || is_old())
    }

    /// Whether something changed the file's entry after the mark was put.
    pub(super) fn is_entry_changed(&self, now: &Stamp) -> bool {
        self.changed_by.is_some_and(|latest| now.change > latest)
    }

    /// Whether a file whose content was last changed at this time can be as we left it.
    fn may_be_written_at(&self, modified: Moment, are_own: bool) -> bool {
        let Some((seconds, nanoseconds)) = self.written else { return true };
        let can_compare_all = self.digest.is_some_and(|digest| digest.is_of_all(self.size_bytes));
        let newest = if !are_own && can_compare_all {
            (seconds.saturating_add(SERVER_LATE_S), nanoseconds)
        } else {
            (seconds, nanoseconds)
        };
        let is_old = modified < (seconds, nanoseconds);
        let is_kept = !is_old || is_rounded((seconds, nanoseconds), modified);
        modified <= newest && (is_kept || self.state != MarkState::Complete)
    }
}

/// Whether a file system may have kept this time so.
fn is_rounded(time: Moment, kept: Moment) -> bool {
    let nanoseconds = |at: Moment| i128::from(at.0) * 1_000_000_000 + i128::from(at.1);
    let (time, kept) = (nanoseconds(time), nanoseconds(kept));
    TIME_STEPS_NS.iter().any(|step| time - time.rem_euclid(*step) == kept)
}

/// `Some(None)` for a word that is not there, `None` for one that cannot be read.
fn optional<T>(word: Option<&str>, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match word {
        None => Some(None),
        Some(word) => read(word).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::identity::Identity;

    fn stamp(modified: Moment, change: Moment) -> Stamp {
        Stamp { identity: Identity::from((1, 2)), size_bytes: 1, birth: None, change, modified }
    }

    const MARK: Mark = Mark {
        size_bytes: 1,
        state: MarkState::Complete,
        written: Some((100, 7)),
        changed_by: Some((101, 5)),
        digest: None,
        entry: None,
        parts: Parts::ALL,
        maps_show: true,
    };

    #[test]
    fn coarse_times_on_disk_do_no_harm() {
        let mark = Mark { written: Some((101, 123_456_789)), ..MARK };
        let says = |modified| mark.by_times(&stamp(modified, (101, 5)), true);
        let kept = [123_456_789, 123_456_700, 123_456_000, 123_000_000, 120_000_000, 0].map(|ns| (101, ns));
        for modified in kept.into_iter().chain([(100, 0)]) {
            assert_eq!(says(modified), ByTimes::Untouched, "{modified:?}");
        }
        // Also just before, as after the clock was set back.
        for modified in [(101, 123_456_790), (102, 0), (101, 123_456_788), (100, 1), (99, 0), (0, 0)] {
            assert_eq!(says(modified), ByTimes::Rewritten, "{modified:?}");
        }
        let unknown = Mark { written: None, ..MARK };
        assert_eq!(unknown.by_times(&stamp((0, 0), (101, 5)), true), ByTimes::Untouched);
    }

    #[test]
    fn a_later_change_of_the_entry_leaves_it_to_the_content() {
        for (change, says) in
            [((101, 5), ByTimes::Untouched), ((0, 1), ByTimes::Untouched), ((101, 6), ByTimes::Unknown)]
        {
            let now = stamp((100, 7), change);
            assert_eq!(MARK.by_times(&now, true), says);
            assert_eq!(MARK.is_entry_changed(&now), says == ByTimes::Unknown);
            let older = Mark { changed_by: None, ..MARK };
            assert_eq!(older.by_times(&stamp((100, 7), change), true), ByTimes::Unknown, "an older mark");
        }
    }

    #[test]
    fn times_that_do_not_show_every_write_leave_it_to_the_content() {
        let says = |mark: Mark, change| {
            let now = stamp((100, 7), change);
            (mark.by_times(&now, true), mark.shows_writes(&now))
        };
        assert_eq!(says(MARK, (101, 5)), (ByTimes::Untouched, true));
        // A change in the same second has the same time.
        assert_eq!(says(MARK, (101, 0)), (ByTimes::Unknown, false));
        // But not the same time of last modification.
        let old = Mark { written: Some((90, 0)), ..MARK };
        assert!(old.shows_writes(&stamp((90, 0), (101, 0))));
        let hidden = Mark { maps_show: false, ..MARK };
        assert_eq!(says(hidden, (101, 5)), (ByTimes::Unknown, false));
    }

    #[test]
    fn times_of_a_server_never_suffice() {
        let late = [(100, 8), (110, 7)];
        for (digest, late_says) in
            [("0/1", ByTimes::Unknown), ("0/0", ByTimes::Rewritten), ("", ByTimes::Rewritten)]
        {
            let mark = Mark { digest: digest.parse().ok(), ..MARK };
            let says = |modified| mark.by_times(&stamp(modified, (101, 0)), false);
            assert!([(100, 7), (100, 0)].into_iter().all(|modified| says(modified) == ByTimes::Unknown));
            assert!(late.into_iter().all(|modified| says(modified) == late_says), "{digest}");
            assert!([(110, 8), (98, 6), (0, 0)].into_iter().all(|at| says(at) == ByTimes::Rewritten));
        }
        let running = Mark { state: MarkState::Running, ..MARK };
        assert_eq!(running.by_times(&stamp((100, 8), (0, 0)), false), ByTimes::Rewritten);
        assert_eq!(running.by_times(&stamp((1, 0), (0, 0)), false), ByTimes::Interrupted);
    }

    #[test]
    fn states_without_a_time_of_their_own() {
        let with = |state| Mark { state, ..MARK }.by_times(&stamp((100, 7), (200, 0)), true);
        assert_eq!(with(MarkState::Shared), ByTimes::Rewritten);
        assert_eq!(with(MarkState::Running), ByTimes::Interrupted);
        assert_eq!(with(MarkState::Filling), ByTimes::Unfinished);
        let grown = Stamp { size_bytes: 2, ..stamp((100, 7), (101, 0)) };
        assert_eq!(MARK.by_times(&grown, true), ByTimes::Resized);
        assert_eq!(Mark { state: MarkState::Filling, ..MARK }.by_times(&grown, true), ByTimes::Unfinished);
    }

    #[test]
    fn marks_print_and_parse() {
        let digests = [None, "00000000000000ff/258".parse().ok()];
        for (&(state, _), digest) in STATES.iter().flat_map(|state| digests.map(|digest| (state, digest))) {
            for written in [None, Some((0, 0)), Some((-1, 5)), Some((i64::MAX, 999_999_999))] {
                let mark = Mark {
                    size_bytes: u64::MAX,
                    state,
                    written,
                    changed_by: written,
                    digest,
                    entry: digest.map(|_| u64::MAX),
                    parts: Parts::ALL,
                    maps_show: true,
                };
                assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
                assert!(mark.to_string().len() <= super::super::marks::MARK_BYTES_MAX);
            }
        }
        let far = |n: u64| i64::MAX as u64 - n..i64::MAX as u64 - n + 1;
        let running = Mark {
            written: Some((9_999_999_999, 999_999_999)),
            digest: digests[1],
            parts: Parts::of(&[far(1), far(3), far(5), far(7)]),
            ..Mark::new(i64::MAX as u64, MarkState::Running)
        };
        assert_eq!(Mark::parse(&running.to_string()), Some(running));
        assert!(running.to_string().len() <= super::super::marks::MARK_BYTES_MAX, "{running}");
        let known = "version=1 size=1 state=complete";
        assert_eq!(Mark::parse(known), Some(Mark::new(1, MarkState::Complete)), "an older one");
        let more = ["written=x", "changed_by=1", "digest=1", "entry=g", "parts=1"]
            .map(|word| format!("{known} {word}"));
        let wrong =
            ["", "version=2 size=1 state=complete", "version=1 size=-1 state=complete", "version=1 size=1"];
        for text in wrong.into_iter().chain(more.iter().map(String::as_str)) {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}

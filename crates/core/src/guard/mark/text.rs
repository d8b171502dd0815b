//! What a mark says, and what it says about a file with these times.
//!
//! Parts of a file: ranges of bytes in order, in the few words that a mark has room for.
//!
//! What the times of a file tell of the writes since its mark was put.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crc_fast::crc64_nvme;

use super::digest::Digest;
use truespd_platform::machine::host::boot_id;
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::identity::{Moment, Stamp, file_clock};

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

const STATES: &[(MarkState, &str)] = &[
    (MarkState::Filling, "filling"),
    (MarkState::Running, "running"),
    (MarkState::Complete, "complete"),
    (MarkState::Shared, "shared"),
];

/// The mark of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance {
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
    /// The boot in which the mark was put, as a number. After a power cut a file may hold what was written before
    /// and have older times.
    pub boot: Option<u64>,
}

impl fmt::Display for Provenance {
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
        self.boot.iter().try_for_each(|boot| write!(f, " boot={boot:016x}"))?;
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
    Resized,
    /// Something else wrote to it.
    Rewritten,
    Unfinished,
    /// A run was writing, and nothing else has since.
    Interrupted,
    /// Nothing has changed it since.
    Untouched,
    Unknown,
}

impl Provenance {
    /// A mark with nothing but size and state.
    pub(super) fn new(size_bytes: u64, state: MarkState) -> Self {
        Provenance {
            size_bytes,
            state,
            written: None,
            changed_by: None,
            digest: None,
            entry: None,
            parts: Parts::ALL,
            maps_show: false,
            boot: None,
        }
    }

    /// `None` when the text is no mark of a version this program knows.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if word_of(text, "version")? != VERSION.to_string() {
            return None;
        }
        let word = word_of(text, "state")?;
        let state = STATES.iter().find(|(_, known)| *known == word)?.0;
        Some(Provenance {
            written: optional(text, "written", moment)?,
            changed_by: optional(text, "changed_by", moment)?,
            digest: optional(text, "digest", Digest::parse)?,
            entry: optional(text, "entry", |text| u64::from_str_radix(text, 16).ok())?,
            parts: optional(text, "parts", Parts::parse)?.unwrap_or(Parts::ALL),
            boot: optional(text, "boot", |text| u64::from_str_radix(text, 16).ok())?,
            maps_show: word_of(text, "maps") == Some("shown"),
            ..Provenance::new(word_of(text, "size")?.parse().ok()?, state)
        })
    }

    /// Put in this boot: the times of the file show what was written since.
    pub(super) fn is_of_this_boot(&self) -> bool {
        self.boot.is_some() && self.boot == this_boot()
    }

    /// What a file's size and times tell. `are_own` is whether this kernel sets the times of its file system, since the
    /// mark was put.
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
            self.written.zip(self.changed_by).is_some_and(|(written, by)| is_long_before(written, by));
        self.maps_show && (are_fine(now.change) || is_old)
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

/// The present boot as a number; `None` where the system does not tell.
pub(super) fn this_boot() -> Option<u64> {
    boot_id(&Roots::default()).map(|id| crc64_nvme(id.as_bytes()))
}

/// Whether a file system may have kept this time so.
fn is_rounded(time: Moment, kept: Moment) -> bool {
    let [time, kept] = [time, kept].map(|at| i128::from(at.0) * 1_000_000_000 + i128::from(at.1));
    TIME_STEPS_NS.iter().any(|step| time - time.rem_euclid(*step) == kept)
}

fn word_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// `Some(None)` for a word that is not there, `None` for one that cannot be read.
fn optional<T>(text: &str, key: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    word_of(text, key).map_or(Some(None), |word| read(word).map(Some))
}

fn moment(text: &str) -> Option<Moment> {
    let (seconds, nanoseconds) = text.split_once('.')?;
    Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
}

/// So many parts have room in a mark.
const PARTS_MAX: usize = 4;

/// Up to [`PARTS_MAX`] parts of a file, in order, with something between any two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts([(u64, u64); PARTS_MAX]);

impl Parts {
    /// The whole file, whatever its size.
    pub const ALL: Parts = Parts([(0, u64::MAX), NONE, NONE, NONE]);

    /// Parts that hold all of these ranges. Of more than have room, those that lie closest become one.
    pub fn of(ranges: &[Range<u64>]) -> Self {
        let mut found = joined(ranges);
        while found.len() > PARTS_MAX {
            let closest =
                (0..found.len() - 1).min_by_key(|&at| found[at + 1].start - found[at].end).unwrap_or(0);
            found[closest].end = found[closest + 1].end;
            found.remove(closest + 1);
        }
        let mut parts = [NONE; PARTS_MAX];
        for (part, range) in parts.iter_mut().zip(found) {
            *part = (range.start, range.end);
        }
        Parts(parts)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut ranges = Vec::new();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (start, end) = word.split_once('-')?;
            ranges.push(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?);
        }
        if ranges.len() > PARTS_MAX { None } else { Some(Parts::of(&ranges)) }
    }

    pub fn ranges(&self) -> Vec<Range<u64>> {
        self.0.iter().filter(|part| **part != NONE).map(|part| part.0..part.1).collect()
    }
}

const NONE: (u64, u64) = (0, 0);

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.ranges().iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{:x}-{:x}", range.start, range.end)?;
        }
        Ok(())
    }
}

/// The same bytes in order, each once.
pub(super) fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> =
        ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut found: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match found.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => found.push(range),
        }
    }
    found
}

/// What of a file of `size` bytes lies in none of the ranges.
pub(super) fn outside_of(ranges: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let (mut found, mut at) = (Vec::new(), 0);
    for range in joined(ranges) {
        if range.start.min(size) > at {
            found.push(at..range.start.min(size));
        }
        at = range.end;
    }
    if at < size {
        found.push(at..size);
    }
    found
}

/// Times are fine where their steps are shorter: those of the kernel's clock, of which there are a hundred a second at
/// least.
pub(super) const TICK: Duration = Duration::from_millis(10);
/// No file system keeps times in longer steps (FAT).
const LONGEST_STEP: Duration = Duration::from_secs(2);
/// A mark says up to so much later than it was put.
pub(super) const LATEST: Duration = Duration::from_secs(1);
/// A clock that does not go on is waited for so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether the file system keeps times in fine steps, by one of its times. Whole seconds, as of ext2, ext3
/// and ext4 with small inodes, show in every time.
pub(super) fn are_fine(time: Moment) -> bool {
    u128::from(time.1) % TICK.as_nanos() != 0
}

/// Whether a write that came after the mark would show in the time of last modification: that of our last
/// write lies at least one step before the mark, whatever the steps are.
pub(super) fn is_long_before(written: Moment, marked: Moment) -> bool {
    after(written, LONGEST_STEP + LATEST + TICK) < marked
}

/// Waits until what is changed from now on has a later time than this one, where times are fine; `false` when
/// the clock does not get there.
pub(super) fn wait_past(moment: Moment) -> bool {
    let begun = Instant::now();
    while file_clock() <= after(moment, TICK) {
        if begun.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Where the steps of times are long, sets the time of last modification so far back that a write from now on
/// shows in it. The owner of the file may do that.
pub(super) fn set_back(file: &File, stamp: Stamp) -> Stamp {
    let now = file_clock();
    if are_fine(stamp.change) || is_long_before(stamp.modified, now) {
        return stamp;
    }
    // An even second, which all file systems can keep.
    let seconds = u64::try_from(now.0 - 4).unwrap_or(0) / 2 * 2;
    let Ok(()) = file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)) else { return stamp };
    Stamp::of(file).unwrap_or(stamp)
}

/// The moment so far ahead of now.
pub(super) fn from_now(ahead: Duration) -> Option<Moment> {
    let at = SystemTime::now().checked_add(ahead)?.duration_since(UNIX_EPOCH).ok()?;
    Some((i64::try_from(at.as_secs()).ok()?, at.subsec_nanos()))
}

/// The moment so much after another.
pub(super) fn after((seconds, nanoseconds): Moment, ahead: Duration) -> Moment {
    let sum = u64::from(nanoseconds) + u64::from(ahead.subsec_nanos());
    let more = i64::try_from(ahead.as_secs() + sum / 1_000_000_000).unwrap_or(i64::MAX);
    (seconds.saturating_add(more), (sum % 1_000_000_000) as u32)
}

/// Whether a moment lies longer ago than `distance`.
fn is_past(moment: Moment, distance: Duration) -> bool {
    from_now(Duration::ZERO).is_some_and(|now| after(moment, distance) < now)
}

/// Whether the file was changed so long ago that another change has another time.
pub(super) fn is_settled(change: Moment) -> bool {
    const FINE: Duration = Duration::from_millis(50);
    is_past(change, if are_fine(change) { FINE } else { LONGEST_STEP + FINE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_platform::sys::identity::Identity;

    fn stamp(modified: Moment, change: Moment) -> Stamp {
        Stamp { identity: Identity::from((1, 2)), size_bytes: 1, birth: None, change, modified }
    }

    const MARK: Provenance = Provenance {
        size_bytes: 1,
        state: MarkState::Complete,
        written: Some((100, 7)),
        changed_by: Some((101, 5)),
        digest: None,
        entry: None,
        parts: Parts::ALL,
        maps_show: true,
        boot: None,
    };

    #[test]
    fn coarse_times_on_disk_do_no_harm() {
        let mark = Provenance { written: Some((101, 123_456_789)), ..MARK };
        let says = |modified| mark.by_times(&stamp(modified, (101, 5)), true);
        let kept = [123_456_789, 123_456_700, 123_456_000, 123_000_000, 120_000_000, 0].map(|ns| (101, ns));
        for modified in kept.into_iter().chain([(100, 0)]) {
            assert_eq!(says(modified), ByTimes::Untouched, "{modified:?}");
        }
        // Also just before, as after the clock was set back.
        for modified in [(101, 123_456_790), (102, 0), (101, 123_456_788), (100, 1), (99, 0), (0, 0)] {
            assert_eq!(says(modified), ByTimes::Rewritten, "{modified:?}");
        }
        let unknown = Provenance { written: None, ..MARK };
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
            let older = Provenance { changed_by: None, ..MARK };
            assert_eq!(older.by_times(&stamp((100, 7), change), true), ByTimes::Unknown, "an older mark");
        }
    }

    #[test]
    fn times_that_do_not_show_every_write_leave_it_to_the_content() {
        let says = |mark: Provenance, change| {
            let now = stamp((100, 7), change);
            (mark.by_times(&now, true), mark.shows_writes(&now))
        };
        assert_eq!(says(MARK, (101, 5)), (ByTimes::Untouched, true));
        // A change in the same second has the same time.
        assert_eq!(says(MARK, (101, 0)), (ByTimes::Unknown, false));
        // But not the same time of last modification.
        let old = Provenance { written: Some((90, 0)), ..MARK };
        assert!(old.shows_writes(&stamp((90, 0), (101, 0))));
        let hidden = Provenance { maps_show: false, ..MARK };
        assert_eq!(says(hidden, (101, 5)), (ByTimes::Unknown, false));
    }

    #[test]
    fn times_of_a_server_never_suffice() {
        let late = [(100, 8), (110, 7)];
        for (digest, late_says) in
            [("0/1", ByTimes::Unknown), ("0/0", ByTimes::Rewritten), ("", ByTimes::Rewritten)]
        {
            let mark = Provenance { digest: Digest::parse(digest), ..MARK };
            let says = |modified| mark.by_times(&stamp(modified, (101, 0)), false);
            assert!([(100, 7), (100, 0)].into_iter().all(|modified| says(modified) == ByTimes::Unknown));
            assert!(late.into_iter().all(|modified| says(modified) == late_says), "{digest}");
            assert!([(110, 8), (98, 6), (0, 0)].into_iter().all(|at| says(at) == ByTimes::Rewritten));
        }
        let running = Provenance { state: MarkState::Running, ..MARK };
        assert_eq!(running.by_times(&stamp((100, 8), (0, 0)), false), ByTimes::Rewritten);
        assert_eq!(running.by_times(&stamp((1, 0), (0, 0)), false), ByTimes::Interrupted);
    }

    #[test]
    fn states_without_a_time_of_their_own() {
        let with = |state| Provenance { state, ..MARK }.by_times(&stamp((100, 7), (200, 0)), true);
        assert_eq!(with(MarkState::Shared), ByTimes::Rewritten);
        assert_eq!(with(MarkState::Running), ByTimes::Interrupted);
        assert_eq!(with(MarkState::Filling), ByTimes::Unfinished);
        let grown = Stamp { size_bytes: 2, ..stamp((100, 7), (101, 0)) };
        assert_eq!(MARK.by_times(&grown, true), ByTimes::Resized);
        assert_eq!(
            Provenance { state: MarkState::Filling, ..MARK }.by_times(&grown, true),
            ByTimes::Unfinished
        );
    }

    #[test]
    fn marks_print_and_parse() {
        let digests = [None, Digest::parse("00000000000000ff/258")];
        for (&(state, _), digest) in STATES.iter().flat_map(|state| digests.map(|digest| (state, digest))) {
            for written in [None, Some((0, 0)), Some((-1, 5)), Some((i64::MAX, 999_999_999))] {
                let mark = Provenance {
                    size_bytes: u64::MAX,
                    state,
                    written,
                    changed_by: written,
                    digest,
                    entry: digest.map(|_| u64::MAX),
                    parts: Parts::ALL,
                    maps_show: true,
                    boot: None,
                };
                assert_eq!(Provenance::parse(&mark.to_string()), Some(mark));
                assert!(mark.to_string().len() <= super::super::MARK_BYTES_MAX);
            }
        }
        let far = |n: u64| i64::MAX as u64 - n..i64::MAX as u64 - n + 1;
        let running = Provenance {
            written: Some((9_999_999_999, 999_999_999)),
            digest: digests[1],
            parts: Parts::of(&[far(1), far(3), far(5), far(7)]),
            ..Provenance::new(i64::MAX as u64, MarkState::Running)
        };
        assert_eq!(Provenance::parse(&running.to_string()), Some(running));
        assert!(running.to_string().len() <= super::super::MARK_BYTES_MAX, "{running}");
        let known = "version=1 size=1 state=complete";
        assert_eq!(Provenance::parse(known), Some(Provenance::new(1, MarkState::Complete)), "an older one");
        let more = ["written=x", "changed_by=1", "digest=1", "entry=g", "parts=1"]
            .map(|word| format!("{known} {word}"));
        let wrong =
            ["", "version=2 size=1 state=complete", "version=1 size=-1 state=complete", "version=1 size=1"];
        for text in wrong.into_iter().chain(more.iter().map(String::as_str)) {
            assert_eq!(Provenance::parse(text), None, "{text}");
        }
    }
}

#[cfg(test)]
mod tests_parts {
    use super::super::digest::all_of;
    use super::*;

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
    fn parts_hold_all_and_are_few() {
        let text = |ranges: &[Range<u64>]| Parts::of(ranges).to_string();
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[5..5, 0x20..0x30, 0..0x10, 0x10..0x12]), "0-12,20-30");
        assert_eq!(text(&[0..1, 10..11, 20..21, 24..25, 40..41]), "0-1,a-b,14-19,28-29");
        assert_eq!(Parts::ALL.ranges(), all_of(u64::MAX));
        for parts in ["", "0-12,20-30", "0-1,a-b,14-19,28-29", "0-ffffffffffffffff"] {
            assert_eq!(Parts::parse(parts).unwrap().to_string(), parts);
        }
        for wrong in ["1", "x-y", "1-2-3", "0-1,2-3,4-5,6-7,8-9"] {
            assert_eq!(Parts::parse(wrong), None, "{wrong}");
        }
    }
}

#[cfg(test)]
mod tests_times {
    use super::*;
    use truespd_platform::sys::identity::Identity;

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
        assert!(is_settled((now.0 - 1, 1)) && !is_settled((now.0 - 1, 0)) && is_settled((now.0 - 3, 0)));
    }

    #[test]
    fn steps_of_times() {
        assert!(are_fine((5, 123_456_789)) && are_fine((5, 1_000_000)));
        assert!(!are_fine((5, 0)) && !are_fine((5, 120_000_000)));
        assert!(is_long_before((5, 0), (8, 10_000_001)) && !is_long_before((5, 0), (8, 10_000_000)));
    }

    #[test]
    fn a_wait_ends_when_the_clock_has_passed_and_before_long() {
        let begun = from_now(Duration::ZERO).unwrap();
        assert!(wait_past(begun) && file_clock() > after(begun, TICK));
        assert!(!wait_past((begun.0 + 60, 0)));
    }

    #[test]
    fn only_a_coarse_time_that_is_recent_is_set_back() {
        let file = tempfile::tempfile().unwrap();
        let identity = Identity::of(&file).unwrap();
        let now = file_clock();
        let stamp = |change, modified| Stamp { identity, size_bytes: 0, birth: None, change, modified };
        let fine = stamp((now.0, 1), now);
        assert_eq!(set_back(&file, fine), fine);
        let old = stamp((now.0, 0), (now.0 - 5, 0));
        assert_eq!(set_back(&file, old), old);
        let set = set_back(&file, stamp((now.0, 0), (now.0, 0)));
        assert!(is_long_before(set.modified, now) && set.modified.0 >= now.0 - 6);
        assert_eq!(Stamp::of(&file).unwrap().modified, set.modified);
    }
}

//! What the times of a file tell of the writes since its mark was put.

use std::fs::File;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::sys::stat::{Moment, Stamp};
use crate::sys::times::file_clock;

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
    use crate::sys::identity::Identity;

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

//! The flash of a simulated drive (`sim:ftl=SLOW+SPARE`): fresh, then the cliff, then steady.
//!
//! A law, no model of pages. As long as the drive has erased flash (its capacity and its spare), a write takes the
//! time of a fresh drive. From then on the drive moves old data to erase flash, the more the more mixed the ages of
//! the data are: each sequential write of the capacity orders them, each random one mixes them, both by an exponential.
//! A drive that is all mixed takes SLOW for a write.
//!
//! The fast area of a drive (`sim:slc=SLOW+SIZE+RATE`): a write takes the time of a fresh drive while there is room in
//! it, and SLOW once it is full. A drive that rests empties it, at RATE bytes per second of real time, from three
//! seconds on: shorter rests are those between the runs of a series, also on a busy machine.
//!
//! A drive is one file. What was written to it is known until the process ends, whichever engines wrote it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::EngineFile;
use truespd_platform::sys::identity::Identity;

/// What `ftl=SLOW+SPARE` says of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flash {
    /// Time of a write once the drive is all mixed, in nanoseconds.
    pub slow_ns: u64,
    /// Flash beyond the capacity, in bytes.
    pub spare_bytes: u64,
}

/// What `slc=SLOW+SIZE+RATE` says of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FastArea {
    /// Time of a write once it is full, in nanoseconds.
    pub slow_ns: u64,
    pub size_bytes: u64,
    /// What a second of rest empties.
    pub emptied_bytes: u64,
}

/// A rest begins to empty the fast area after this time.
const RESTS_AFTER: Duration = Duration::from_secs(3);

/// What was written to a drive.
#[derive(Debug, Default)]
pub(super) struct Written {
    capacity_bytes: u64,
    bytes: u64,
    /// How mixed the ages of its data are: 0 written in order, 1 at random.
    mixed: f64,
    /// Where the last write ended.
    end_bytes: u64,
    /// Bytes in the fast area.
    fast_bytes: u64,
    last_write: Option<Instant>,
}

/// A drive, as all engines of the process see it.
pub(super) type Drive = Arc<Mutex<Written>>;

/// All drives of this process.
static DRIVES: Mutex<Vec<(Identity, Drive)>> = Mutex::new(Vec::new());

/// The drive that is this file; one of its own where the system does not tell which file it is.
pub(super) fn drive_of(file: &EngineFile) -> Drive {
    let new = Written { capacity_bytes: file.size_bytes.max(1), ..Written::default() };
    let new = Arc::new(Mutex::new(new));
    let Ok(identity) = Identity::of(file.handle.file()) else { return new };
    let mut drives = DRIVES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = drives.iter().find(|(other, _)| *other == identity) {
        return Arc::clone(known);
    }
    drives.push((identity, Arc::clone(&new)));
    new
}

impl Written {
    /// Writes so many bytes; how long that takes in nanoseconds, where it takes `fast_ns` on a fresh drive.
    pub fn write(&mut self, flash: Flash, offset: u64, len: u32, fast_ns: u64) -> u64 {
        self.bytes += u64::from(len);
        let part = f64::from(len) / self.capacity_bytes as f64;
        let towards = if offset == self.end_bytes { 0.0 } else { 1.0 };
        self.mixed += (towards - self.mixed) * part.min(1.0);
        self.end_bytes = offset + u64::from(len);
        if self.bytes <= self.capacity_bytes + flash.spare_bytes {
            return fast_ns;
        }
        let more_ns = flash.slow_ns.saturating_sub(fast_ns) as f64 * self.mixed;
        fast_ns + more_ns as u64
    }

    /// Writes so many bytes through the fast area at an instant of real time; how long that takes in nanoseconds, where
    /// it takes `fast_ns` as long as there is room.
    pub fn write_fast(&mut self, area: FastArea, len: u32, fast_ns: u64, now: Instant) -> u64 {
        let rest = self.last_write.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        let emptied = rest.saturating_sub(RESTS_AFTER).as_secs_f64() * area.emptied_bytes as f64;
        self.fast_bytes = self.fast_bytes.saturating_sub(emptied as u64);
        self.last_write = Some(now);
        if self.fast_bytes + u64::from(len) > area.size_bytes {
            return area.slow_ns;
        }
        self.fast_bytes += u64::from(len);
        fast_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLASH: Flash = Flash { slow_ns: 1000, spare_bytes: 64 << 10 };

    /// The time of the last write of a pass over the drive.
    fn pass(drive: &mut Written, stride: u64) -> u64 {
        let mut last_ns = 0;
        for number in 0..256 {
            last_ns = drive.write(FLASH, number * stride % 256 * 4096, 4096, 100);
        }
        last_ns
    }

    #[test]
    fn a_drive_is_fresh_then_falls_and_is_steady() {
        let mut drive = Written { capacity_bytes: 1 << 20, ..Written::default() };
        assert_eq!(pass(&mut drive, 37), 100, "fresh");
        let cliff = pass(&mut drive, 37);
        assert!((850..900).contains(&cliff), "e^-2 is left: {cliff}");
        for _ in 0..4 {
            pass(&mut drive, 37);
        }
        let steady = pass(&mut drive, 37);
        assert!(steady > 990, "{steady}");
        for _ in 0..5 {
            pass(&mut drive, 1);
        }
        let ordered = pass(&mut drive, 1);
        assert!(ordered < 120, "sequential writes order it: {ordered}");
    }

    #[test]
    fn a_fast_area_fills_and_rests_empty_it() {
        let area = FastArea { slow_ns: 1000, size_bytes: 10 * 4096, emptied_bytes: 4096 };
        let mut drive = Written::default();
        let begin = Instant::now();
        let mut writes_at = |seconds: u64, writes: u32| -> Vec<u64> {
            let now = begin + Duration::from_secs(seconds);
            (0..writes).map(|_| drive.write_fast(area, 4096, 100, now)).collect()
        };
        assert_eq!(writes_at(0, 12), [[100; 10].as_slice(), &[1000; 2]].concat());
        assert_eq!(writes_at(3, 1), [1000], "a short rest empties nothing");
        assert_eq!(writes_at(9, 5), [100, 100, 100, 1000, 1000], "six seconds, less three");
        assert_eq!(writes_at(500, 11), [[100; 10].as_slice(), &[1000]].concat(), "all of it");
    }
}

//! What a file holds, as one number: a digest of samples, or of all of a small file.
//!
//! It recognises data of ours that look like any other, such as those of `-Zr`. It guards against mistakes, not against
//! somebody who forges content.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crc_fast::crc64_nvme;

use crate::guard::sample::{PIECE_BYTES, read_places};

/// So many bytes are read as a whole.
const WHOLE_BYTES: u64 = 64 << 20;
/// Places of a larger file besides its ends.
const PLACES: u64 = 256;
/// Bytes of such a place.
const PLACE_BYTES: u64 = 64 << 10;
/// Direct reads begin at multiples of this.
const STEP_BYTES: u64 = 4096;
/// A digest for a mark is made in this time, from as many places as can be read meanwhile.
const LIMIT: Duration = Duration::from_millis(300);
/// But from so many at least.
const PLACES_MIN: usize = 16;
/// Where all is wanted, so many bytes are read however long that takes.
const PATIENT_BYTES: u64 = 128 << 20;
/// After so much of the time it is given up when the rest cannot be read in time.
const EARLY: u32 = 10;
/// All of a large file is compared for so long.
const COMPARE_LIMIT: Duration = Duration::from_secs(10);

/// All of a file of this size, as ranges.
pub(super) fn all_of(size_bytes: u64) -> [Range<u64>; 1] {
    std::array::from_fn(|_| 0..size_bytes)
}

/// A digest of the first so many places of a file, or of all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    sum: u64,
    places: Places,
}

/// What a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    /// So many of the places that [`places`] gives.
    First(usize),
    /// Every byte of what is too large for that.
    All,
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.places {
            Places::First(count) => write!(f, "{:016x}/{count}", self.sum),
            Places::All => write!(f, "{:016x}/all", self.sum),
        }
    }
}

impl Digest {
    /// Of the words of a mark.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (sum, places) = text.split_once('/')?;
        let sum = u64::from_str_radix(sum, 16).ok()?;
        let places = if places == "all" { Places::All } else { Places::First(places.parse().ok()?) };
        Some(Digest { sum, places })
    }

    /// Of what lies in these ranges of bytes now, within a short time.
    ///
    /// # Errors
    /// When a place cannot be read.
    pub fn of(file: &File, ranges: &[Range<u64>]) -> io::Result<Self> {
        Self::until(Instant::now() + LIMIT, file, ranges)
    }

    /// Of every byte, where all can be read in this time or is at most [`PATIENT_BYTES`]; otherwise as [`Digest::of`].
    ///
    /// # Errors
    /// When a place cannot be read.
    pub fn of_all_within(longest: Duration, file: &File, ranges: &[Range<u64>]) -> io::Result<Self> {
        let total = total(ranges);
        if total <= WHOLE_BYTES {
            let (sum, count) = sum(file, &places(ranges), &|_| true)?;
            return Ok(Digest { sum, places: Places::First(count) });
        }
        let begun = Instant::now();
        let sum = sum_of_all(file, ranges, &|read| {
            let (bytes, passed) = (read as u64 * PIECE_BYTES, begun.elapsed());
            let needed = passed.mul_f64(total as f64 / bytes.max(1) as f64);
            total <= PATIENT_BYTES || passed < longest / EARLY || needed < longest
        })?;
        if let Some(sum) = sum {
            return Ok(Digest { sum, places: Places::All });
        }
        Self::of(file, ranges)
    }

    /// The first places until this time.
    fn until(end: Instant, file: &File, ranges: &[Range<u64>]) -> io::Result<Self> {
        let (sum, count) = sum(file, &places(ranges), &|read| read < PLACES_MIN || Instant::now() < end)?;
        Ok(Digest { sum, places: Places::First(count) })
    }

    /// Whether it is of every byte of a file of this size.
    pub fn is_of_all(&self, size_bytes: u64) -> bool {
        match self.places {
            Places::First(count) => {
                size_bytes <= WHOLE_BYTES && count as u64 >= size_bytes.div_ceil(PIECE_BYTES)
            }
            Places::All => true,
        }
    }

    /// Whether the same places hold the same now.
    ///
    /// # Errors
    /// When a place cannot be read, or all cannot be read in time ([`io::ErrorKind::TimedOut`]).
    pub fn is_of(&self, file: &File, ranges: &[Range<u64>]) -> io::Result<bool> {
        let Places::First(count) = self.places else {
            let end = Instant::now() + COMPARE_LIMIT;
            let found = sum_of_all(file, ranges, &|_| Instant::now() < end)?;
            return found.map(|sum| sum == self.sum).ok_or_else(|| io::ErrorKind::TimedOut.into());
        };
        let mut places = places(ranges);
        if places.len() < count {
            return Ok(false);
        }
        places.truncate(count);
        Ok(sum(file, &places, &|_| true)? == (self.sum, count))
    }
}

fn total(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum()
}

/// Adds up every byte; `None` when it was given up.
fn sum_of_all(
    file: &File,
    ranges: &[Range<u64>],
    goes_on: &(dyn Fn(usize) -> bool + Sync),
) -> io::Result<Option<u64>> {
    /// The list of more pieces would be long, and they cannot be read in time.
    const BYTES_MAX: u64 = 64 << 30;
    if total(ranges) > BYTES_MAX {
        return Ok(None);
    }
    let places: Vec<_> = ranges.iter().flat_map(|range| pieces(range.clone())).collect();
    let (sum, count) = sum(file, &places, goes_on)?;
    Ok((count == places.len()).then_some(sum))
}

/// Adds up what the places hold, until `goes_on`, given how many have been read, says otherwise; and how many
/// those were.
fn sum(
    file: &File,
    places: &[(u64, u64)],
    goes_on: &(dyn Fn(usize) -> bool + Sync),
) -> io::Result<(u64, usize)> {
    let (total, read, failed) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let places = read_places(file, places, &|offset, bytes| {
        let Ok(bytes) = bytes else {
            failed.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        };
        // A sum, because places come in any order.
        total.fetch_add(hash(offset, bytes), Ordering::Relaxed);
        if goes_on(read.fetch_add(1, Ordering::Relaxed) + 1) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    if failed.into_inner() {
        Err(io::Error::other("a sample cannot be read"))
    } else {
        Ok((total.into_inner(), places))
    }
}

/// The places of these ranges (offset and length), in the order in which they are read: the ends, then the others in an
/// order that spreads also the first few. The same ranges have the same places.
fn places(ranges: &[Range<u64>]) -> Vec<(u64, u64)> {
    let total = total(ranges);
    let mut found = if total <= WHOLE_BYTES {
        ranges.iter().flat_map(|range| pieces(range.clone())).collect()
    } else {
        spread(ranges, total)
    };
    // The ends stay in front: other people's files begin and end there.
    let ends = found.len().min(2);
    let mut state = total;
    for at in (ends + 1..found.len()).rev() {
        let other = ends + (next(&mut state) % (at - ends + 1) as u64) as usize;
        found.swap(at, other);
    }
    found
}

/// All of a range, the last piece second.
fn pieces(range: Range<u64>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let length = PIECE_BYTES.min(range.end - at);
        found.push((at, length));
        at += length;
    }
    if let Some(last) = found.len().checked_sub(1).filter(|&last| last > 1) {
        found.swap(1, last);
    }
    found
}

/// Both ends, and one place somewhere in each of as many equal parts: no change that is longer than two parts
/// is missed.
fn spread(ranges: &[Range<u64>], total: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let used: Vec<_> = ranges.iter().filter(|range| range.end > range.start).collect();
    if let (Some(first), Some(last)) = (used.first(), used.last()) {
        found.push((first.start, PIECE_BYTES.min(first.end - first.start)));
        let length = PIECE_BYTES.min(last.end - last.start);
        found.push((last.end - length, length));
    }
    let mut state = total;
    let part = total / PLACES;
    for index in 0..PLACES {
        let at = part * index + next(&mut state) % part;
        found.extend(place_at(ranges, at));
    }
    found
}

/// The place around the byte that is `at` bytes into the ranges.
fn place_at(ranges: &[Range<u64>], mut at: u64) -> Option<(u64, u64)> {
    for range in ranges {
        let length = range.end.saturating_sub(range.start);
        if at < length {
            let offset = ((range.start + at) / STEP_BYTES * STEP_BYTES).max(range.start);
            return Some((offset, PLACE_BYTES.min(range.end - offset)));
        }
        at -= length;
    }
    None
}

/// A number that differs for all other content and places, but for chance.
pub(super) fn hash(offset: u64, bytes: &[u8]) -> u64 {
    mixed(crc64_nvme(bytes) ^ mixed(offset ^ mixed(bytes.len() as u64)))
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(FACTOR);
    mixed(*state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::FileExt;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn is_in(place: (u64, u64), ranges: &[Range<u64>]) -> bool {
        ranges.iter().any(|range| range.start <= place.0 && place.0 + place.1 <= range.end && place.1 > 0)
    }

    #[test]
    fn places_lie_in_the_ranges_and_cover_small_ones() {
        assert_eq!(places(&[]), []);
        assert_eq!(places(&std::array::from_fn::<_, 1, _>(|_| 7..7)), []);
        assert_eq!(places(&all_of(5)), [(0, 5)]);
        let all: u64 = places(&[3..10 * MIB + 1, 20 * MIB..40 * MIB]).iter().map(|place| place.1).sum();
        assert_eq!(all, 30 * MIB - 2);
        for ranges in [
            all_of(GIB).to_vec(),
            all_of(u64::MAX).to_vec(),
            vec![0..GIB + 5, 2 * GIB + 1..3 * GIB],
            vec![0..10, 5 * GIB..6 * GIB],
            vec![7..10, 5 * GIB..6 * GIB, 7 * GIB..7 * GIB + 10],
            vec![0..GIB, GIB..GIB],
        ] {
            let found = places(&ranges);
            assert_eq!(found, places(&ranges));
            assert_eq!(found.len() as u64, PLACES + 2);
            assert!(found.iter().all(|&place| is_in(place, &ranges) && place.1 <= PIECE_BYTES), "{ranges:?}");
            assert_eq!(found[0].0, ranges[0].start);
            assert!(found.iter().any(|place| Some(place.0 + place.1) == ranges.iter().map(|r| r.end).max()));
        }
        // The first few are spread, and no gap between all of them is wider than two parts.
        let mut found = places(&all_of(GIB));
        let first = &found[2..18];
        assert!(first.iter().any(|p| p.0 < GIB / 3) && first.iter().any(|p| p.0 > GIB / 3 * 2), "{first:?}");
        found.sort_unstable();
        assert!(found.windows(2).all(|two| two[1].0 - two[0].0 <= 2 * GIB / PLACES));
    }

    #[test]
    fn the_byte_behind_a_range_is_the_first_of_the_next_one() {
        let ranges = [0..8192, 10_000..20_000];
        assert_eq!(place_at(&ranges, 8191), Some((4096, 4096)));
        assert_eq!(place_at(&ranges, 8192), Some((10_000, 10_000)));
        assert_eq!(place_at(&ranges, 18_191), Some((16_384, 3616)));
        assert_eq!(place_at(&ranges, 18_192), None);
    }

    #[test]
    fn every_byte_of_a_small_file_counts() {
        let file = tempfile::tempfile().unwrap();
        let size = 3 * MIB + 77;
        file.write_all_at(&vec![1; size as usize], 0).unwrap();
        let digest = Digest::of(&file, &all_of(size)).unwrap();
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert!(digest.is_of_all(size) && !digest.is_of_all(4 * MIB + 1) && !digest.is_of_all(GIB));
        for at in [0, 1, 31, 32, MIB - 1, MIB, 2 * MIB + 12_345, size - 1] {
            assert!(digest.is_of(&file, &all_of(size)).unwrap());
            file.write_all_at(&[2], at).unwrap();
            assert!(!digest.is_of(&file, &all_of(size)).unwrap(), "byte {at}");
            file.write_all_at(&[1], at).unwrap();
        }
        assert!(!digest.is_of(&file, &all_of(size - 1)).unwrap(), "another range");
        // The same bytes in other places.
        file.write_all_at(&[3; 32], MIB).unwrap();
        let before = Digest::of(&file, &all_of(size)).unwrap();
        file.write_all_at(&[1; 32], MIB).unwrap();
        file.write_all_at(&[3; 32], 2 * MIB).unwrap();
        assert!(!before.is_of(&file, &all_of(size)).unwrap());
    }

    #[test]
    fn a_digest_of_the_first_places_is_compared_with_the_same_ones() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100 * MIB).unwrap();
        let (sum, count) = sum(&file, &places(&all_of(100 * MIB)), &|read| read < 20).unwrap();
        let few = Digest { sum, places: Places::First(count) };
        assert!((20..40).contains(&count) && !few.is_of_all(100 * MIB), "{few}");
        assert!(few.is_of(&file, &all_of(100 * MIB)).unwrap());
        file.write_all_at(b"x", 5).unwrap();
        assert!(!few.is_of(&file, &all_of(100 * MIB)).unwrap());
        assert!(!Digest { places: Places::First(1000), ..few }.is_of(&file, &all_of(100 * MIB)).unwrap());
        for text in ["", "12", "12/", "xyz/3", "12/-1"] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }

    #[test]
    fn as_many_places_count_as_the_time_allows() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(MIB).unwrap();
        let ranges: Vec<Range<u64>> = (0..200).map(|at| 5000 * at..5000 * at + 1).collect();
        let count = |digest: Digest| match digest.places {
            Places::First(count) => count,
            Places::All => panic!("{digest}"),
        };
        let places = |end| count(Digest::until(end, &file, &ranges).unwrap());
        assert_eq!(places(Instant::now() + Duration::from_secs(600)), 200);
        // Those that are being read when the time is over count as well.
        assert!((PLACES_MIN..PLACES_MIN + 16).contains(&places(Instant::now())));
        // A busy machine may take longer.
        assert!((0..10).any(|_| count(Digest::of(&file, &ranges).unwrap()) == 200));
    }

    #[test]
    fn every_byte_of_a_large_file_counts_where_all_of_it_can_be_read_in_time() {
        let file = tempfile::tempfile().unwrap();
        let ranges = [0..MIB, 2 * MIB + 5..70 * MIB];
        file.set_len(70 * MIB).unwrap();
        let digest = Digest::of_all_within(Duration::ZERO, &file, &ranges).unwrap();
        assert!(digest.is_of_all(70 * MIB) && digest.to_string().ends_with("/all"), "{digest}");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        for at in [0, MIB - 1, 2 * MIB + 5, 41 * MIB + 12_345, 70 * MIB - 1] {
            assert!(digest.is_of(&file, &ranges).unwrap());
            file.write_all_at(b"x", at).unwrap();
            assert!(!digest.is_of(&file, &ranges).unwrap(), "byte {at}");
            file.write_all_at(&[0], at).unwrap();
        }
        file.write_all_at(b"x", MIB).unwrap();
        assert!(digest.is_of(&file, &ranges).unwrap(), "outside");
        // More than can be read in no time.
        file.set_len(129 * MIB).unwrap();
        let samples = Digest::of_all_within(Duration::ZERO, &file, &all_of(129 * MIB)).unwrap();
        assert!(!samples.is_of_all(129 * MIB), "{samples}");
        file.set_len(1 << 40).unwrap();
        let all = Digest { places: Places::All, ..samples };
        assert_eq!(all.is_of(&file, &all_of(1 << 40)).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    /// Marks of earlier versions hold digests: places and numbers stay as they are.
    #[test]
    fn stored_digests_stay_valid() {
        let bytes: Vec<u8> = (0..PIECE_BYTES as usize + 77).map(|at| (at * 7 % 251) as u8).collect();
        let hashes = [(0, 0), (0, 5), (4096, 32), (1 << 40, 77), (3, bytes.len())];
        let found = hashes.map(|(offset, length)| hash(offset, &bytes[..length]));
        assert_eq!(found.map(|sum| format!("{sum:016x}")), HASHES);
        let ranges = [
            all_of(5).to_vec(),
            all_of(WHOLE_BYTES).to_vec(),
            all_of(WHOLE_BYTES + 1).to_vec(),
            vec![3..10 * MIB + 1, 20 * MIB..40 * MIB],
            vec![7..7, 11..GIB + 5, 2 * GIB + 1..3 * GIB],
        ];
        let found = ranges.map(|ranges| {
            let all = places(&ranges).into_iter().flat_map(|(at, length)| [at, length]);
            format!("{:016x}", hash(0, &all.flat_map(u64::to_le_bytes).collect::<Vec<_>>()))
        });
        assert_eq!(found, PLACES_OF);
    }

    const HASHES: [&str; 5] =
        ["0000000000000000", "daa53f6dae1479cd", "da267be1a1acba8d", "cdc71a5cf511ae6c", "fb93a72439b17a28"];
    const PLACES_OF: [&str; 5] =
        ["4f48665178678940", "90befd19939b05b7", "4afd0e4d37583f9f", "31768c00cf39d59f", "64e20a1b9999939c"];
}

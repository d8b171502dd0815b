//! Reads samples of what a file or device holds: its start, its end, and pieces spread between them.
//!
//! Only reads, by direct I/O where that is possible; where it is not, what was read leaves the page cache
//! again. Several reads are in flight, so that a disk can put them in order.
//!
//! Looks through a device before the first write, for as long as a person will wait: which data can be missed is known
//! then, and told.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use super::signatures::Range;
use truespd_platform::machine::storage::{AccessHint, advise};
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::extents::{cached, drop_cached};
use truespd_platform::sys::file::read_exact_at;
use truespd_platform::sys::file::{ReadOptions, read_again};
use truespd_platform::text::coarse_size;

/// Every piece starts at a multiple of this and is at most as long.
pub const PIECE_BYTES: u64 = 1 << 20;
/// Bytes of a piece between start and end.
const SPREAD_BYTES: u64 = 16 << 10;
const READERS: usize = 8;

/// Waits neither for a pipe nor for a medium.
const AT_ONCE: ReadOptions = ReadOptions { direct: false, exclusive: false, at_once: true };

/// The sample that ended the search.
#[derive(Debug)]
pub struct Odd {
    /// First byte of the piece.
    pub offset_bytes: u64,
    /// It could not be read.
    pub error: Option<io::Error>,
}

/// Offset and length of the pieces to read: the first and the last mebibyte, and up to `count` between them.
fn pieces(size_bytes: u64, count: u64) -> Vec<(u64, u64)> {
    let tail = floor(size_bytes.saturating_sub(PIECE_BYTES));
    let mut found = vec![(0, PIECE_BYTES), (tail, PIECE_BYTES), (tail + PIECE_BYTES, PIECE_BYTES)];
    found.extend((1..count).map(|index| (floor(part_of(size_bytes, index, count)), SPREAD_BYTES)));
    found.retain(|(offset, _)| *offset < size_bytes);
    for (offset, length) in &mut found {
        *length = (*length).min(size_bytes - *offset);
    }
    each_once(found)
}

fn floor(offset: u64) -> u64 {
    offset / PIECE_BYTES * PIECE_BYTES
}

/// Where the part `index` of `count` equal ones begins.
fn part_of(whole: u64, index: u64, count: u64) -> u64 {
    (u128::from(whole) * u128::from(index) / u128::from(count)) as u64
}

/// In order; of two at one offset the longer one.
fn each_once(mut pieces: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    pieces.sort_by_key(|&(offset, length)| (offset, std::cmp::Reverse(length)));
    pieces.dedup_by_key(|(offset, _)| *offset);
    pieces
}

/// A range that is no longer is read whole.
const WHOLE_MAX_BYTES: u64 = 64 << 20;
/// Places between the ends of a longer range.
const RANGE_PLACES: u64 = 256;

/// Pieces of a range that is to be written: all of it, or of a long one its first and last mebibyte and places between.
/// They begin at whole mebibytes, so that a little before and behind the range is read as well.
fn pieces_of(range: Range, size_bytes: u64) -> Vec<(u64, u64)> {
    let end = range.start_bytes.saturating_add(range.length_bytes).min(size_bytes);
    let (first, last) = (range.start_bytes / PIECE_BYTES, end.div_ceil(PIECE_BYTES));
    let count = last.saturating_sub(first);
    let mut numbers: Vec<(u64, u64)>;
    if end.saturating_sub(range.start_bytes) <= WHOLE_MAX_BYTES {
        numbers = (first..last).map(|number| (number, PIECE_BYTES)).collect();
    } else {
        // Two at each end, because it may begin and end inside one.
        let ends = [first, first.saturating_add(1), last.saturating_sub(2), last.saturating_sub(1)];
        numbers = ends.map(|number| (number, PIECE_BYTES)).to_vec();
        numbers.extend((0..RANGE_PLACES).map(|at| (first + part_of(count, at, RANGE_PLACES), SPREAD_BYTES)));
    }
    let mut found = Vec::new();
    for (number, longest) in numbers {
        let offset = number * PIECE_BYTES;
        let length = longest.min(size_bytes.saturating_sub(offset));
        found.extend((length > 0).then_some((offset, length)));
    }
    found
}

/// Whether the bytes at an offset are what is looked for.
pub(super) type IsOdd<'a> = &'a (dyn Fn(u64, &[u8]) -> bool + Sync);

/// The first sampled piece that cannot be read or for which `is_odd`, given its offset and its bytes, says so; pieces
/// are read until one is found. `count` is the number of pieces besides start and end; the range is sampled densely
/// besides.
///
/// # Errors
/// When the file has no size, or there is no memory.
pub fn find_odd(file: &File, range: Option<Range>, count: u64, is_odd: IsOdd<'_>) -> io::Result<Option<Odd>> {
    let found = FirstOdd::default();
    let size_bytes = again(file)?.seek(SeekFrom::End(0))?;
    let mut places = pieces(size_bytes, count.max(1));
    places.extend(range.into_iter().flat_map(|range| pieces_of(range, size_bytes)));
    read_places(file, &each_once(places), &|offset_bytes, bytes| found.see(offset_bytes, bytes, is_odd))?;
    Ok(found.get())
}

/// The first odd piece of those that were seen.
#[derive(Debug, Default)]
struct FirstOdd(Mutex<Option<Odd>>);

impl FirstOdd {
    /// Breaks where there is one.
    fn see(&self, offset_bytes: u64, bytes: io::Result<&[u8]>, is_odd: IsOdd<'_>) -> ControlFlow<()> {
        let error = match bytes {
            Ok(bytes) if !is_odd(offset_bytes, bytes) => return ControlFlow::Continue(()),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|known| offset_bytes < known.offset_bytes) {
            *first = Some(Odd { offset_bytes, error });
        }
        ControlFlow::Break(())
    }

    fn is_found(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn get(self) -> Option<Odd> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one place holds goes to it, with the place's first byte; it says whether to go on.
pub type See<'a> = &'a (dyn Fn(u64, io::Result<&[u8]>) -> ControlFlow<()> + Sync);

/// Reads places (offset and length, at most [`PIECE_BYTES`]) in their order, a few at a time, until `see` breaks.
/// Returns how many were read: the first ones, without a gap.
///
/// # Errors
/// When the file cannot be opened once more for reading, or there is no memory.
pub fn read_places(file: &File, places: &[(u64, u64)], see: See<'_>) -> io::Result<usize> {
    read_by(file, places.len(), &|index| places[index], see)
}

/// The same of so many places, which `place` tells by their number.
pub(super) fn read_by(
    file: &File,
    count: usize,
    place: &(dyn Fn(usize) -> (u64, u64) + Sync),
    see: See<'_>,
) -> io::Result<usize> {
    let buffered = again(file)?;
    // What cannot be read past the cache is read through it.
    let direct = read_again(file, ReadOptions { direct: true, ..AT_ONCE }).ok();
    let _ = advise(&buffered, AccessHint::Random);
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |buffer: &IoBuffer| {
        while !is_over.load(Ordering::Relaxed) {
            // One that is taken is read: so no gap is left.
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            let (offset, length) = place(index);
            let length = length.min(PIECE_BYTES) as usize;
            let seen = buffer.with_slice_mut(0, length, |bytes| {
                let answer = read(direct.as_ref(), &buffered, offset, bytes);
                see(offset, answer.map(|()| &*bytes))
            });
            if seen.is_break() {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    };
    let buffers: Result<Vec<IoBuffer>, _> =
        (0..READERS.min(count.max(1))).map(|_| IoBuffer::new(PIECE_BYTES as usize)).collect();
    let buffers = buffers.map_err(io::Error::other)?;
    std::thread::scope(|scope| {
        for buffer in &buffers[1..] {
            // Without the thread it only takes longer.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || work(buffer));
        }
        work(&buffers[0]);
    });
    Ok(next.into_inner().min(count))
}

/// The file once more, for reads through the cache.
fn again(file: &File) -> io::Result<File> {
    // Without procfs the file itself must do; a write-only one then cannot be read.
    read_again(file, AT_ONCE).or_else(|_| file.try_clone())
}

fn read(direct: Option<&File>, buffered: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    let length = bytes.len() as u64;
    // What waits in the cache is the content, and a direct read would have to wait until it is written.
    let seen = cached(buffered, &[(offset, length)]);
    if seen.is_some_and(|seen| seen.dirty_bytes.is_some_and(|dirty| dirty > 0)) {
        return read_exact_at(buffered, bytes, offset);
    }
    // Also where only the length does not fit: the last bytes of a file.
    if direct.is_some_and(|file| read_exact_at(file, bytes, offset).is_ok()) {
        // Btrfs may fill the page cache all the same.
        if seen.is_some_and(|seen| seen.cached_bytes == 0) {
            drop_cached(buffered, offset, length);
        }
        return Ok(());
    }
    // A clean page may be older than what a server has by now.
    drop_cached(buffered, offset, length);
    let answer = read_exact_at(buffered, bytes, offset);
    drop_cached(buffered, offset, length);
    answer
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Samples.
    Quick,
    /// As much as this time allows.
    For(Duration),
}

impl Depth {
    /// What a person waits for before the first write.
    pub const THOROUGH: Depth = Depth::For(Duration::from_secs(3));
}

/// What was not read, because it would have taken too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Bytes that can hold something, as far as anything tells.
    pub size_bytes: u64,
    /// Bytes of them that were read.
    pub read_bytes: u64,
    /// Data that lies together and is as long as this was seen.
    pub seen_from_bytes: u64,
}

impl fmt::Display for Looked {
    /// In words that follow the name of the target: 9GiB of 8TiB were read and hold nothing ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} were read and hold nothing; data between them that is smaller than {} is not seen",
            coarse_size(self.read_bytes),
            coarse_size(self.size_bytes),
            coarse_size(self.seen_from_bytes)
        )
    }
}

#[derive(Debug)]
pub(super) enum End {
    Odd(Odd),
    Whole,
    Part(Looked),
}

/// Places of the first pass.
const FIRST_PLACES: u64 = 256;
/// Bytes read at a place. When places lie so close, all is read.
const PLACE_BYTES: u64 = 16 << 10;
/// From here on it is tried to read everything.
const CLOSE_BYTES: u64 = 1 << 20;
/// Pieces by which the time for everything is estimated.
const TRIAL_PIECES: u64 = 64;
/// Direct reads begin at multiples of this.
const PAGE_BYTES: u64 = 4096;

/// Looks through these parts (first byte, length) of a device, in passes: each halves the distance between two places,
/// so that whenever time is over, the places are spread evenly.
pub(super) fn look_through(
    file: &File,
    parts: &[(u64, u64)],
    time: Duration,
    is_odd: IsOdd<'_>,
) -> io::Result<End> {
    let mut look = Looking {
        file,
        space: Space::of(parts),
        end: Instant::now() + time,
        is_odd,
        odd: FirstOdd::default(),
        read_bytes: 0,
        whole_bytes: 0,
    };
    let size_bytes = look.space.size_bytes;
    let mut distance = size_bytes;
    // Halves of a power of two meet the places that are known.
    let mut next = size_bytes.div_ceil(FIRST_PLACES).next_power_of_two().max(PLACE_BYTES);
    let mut is_tried = false;
    loop {
        if !is_tried && next <= CLOSE_BYTES {
            is_tried = true;
            if look.reads_all()? {
                return Ok(look.ended(0));
            }
        }
        if look.is_over() {
            return Ok(look.ended(distance));
        }
        // The first pass begins at the first byte, later ones half way between the places that are known.
        let (first, step) = if distance == size_bytes { (0, next) } else { (next, 2 * next) };
        if !look.places(first, step, PLACE_BYTES)? {
            return Ok(look.ended(distance));
        }
        distance = next;
        if distance <= PLACE_BYTES {
            return Ok(look.ended(0));
        }
        next = distance / 2;
    }
}

struct Looking<'a> {
    file: &'a File,
    space: Space,
    end: Instant,
    is_odd: IsOdd<'a>,
    odd: FirstOdd,
    read_bytes: u64,
    /// So much from the first byte on was read whole.
    whole_bytes: u64,
}

impl Looking<'_> {
    fn is_over(&self) -> bool {
        self.odd.is_found() || Instant::now() >= self.end
    }

    /// Reads everything, where there is time for it by a few pieces; whether it did.
    fn reads_all(&mut self) -> io::Result<bool> {
        let begin = Instant::now();
        let all = self.space.size_bytes.div_ceil(PIECE_BYTES);
        let count = all.min(TRIAL_PIECES);
        if !self.some(0, PIECE_BYTES, PIECE_BYTES, count)? {
            return Ok(false);
        }
        if count == all {
            return Ok(true);
        }
        self.whole_bytes = count * PIECE_BYTES;
        let needed = begin.elapsed().as_secs_f64() / count.max(1) as f64 * all as f64;
        let is_time = needed < self.end.saturating_duration_since(Instant::now()).as_secs_f64();
        Ok(is_time && self.places(0, PIECE_BYTES, PIECE_BYTES)?)
    }

    /// Reads `length` bytes at `first` and at every `step` from there on; `false` when something was seen, or time is
    /// over.
    fn places(&mut self, first: u64, step: u64, length: u64) -> io::Result<bool> {
        let count = self.space.size_bytes.saturating_sub(first).div_ceil(step);
        self.some(first, step, length, count)
    }

    fn some(&mut self, first: u64, step: u64, length: u64, count: u64) -> io::Result<bool> {
        let space = &self.space;
        let read = read_by(
            self.file,
            count as usize,
            &|index| space.place(first + index as u64 * step, length),
            &|offset_bytes, bytes| match self.odd.see(offset_bytes, bytes, self.is_odd) {
                ControlFlow::Continue(()) if Instant::now() < self.end => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            },
        )?;
        let known = self.whole_bytes.saturating_sub(first).div_ceil(step);
        self.read_bytes += (read as u64).saturating_sub(known).saturating_mul(length);
        // The last one may have ended in time.
        Ok(!self.odd.is_found() && read as u64 == count)
    }

    /// `distance`: between two places that were read; 0 when nothing is between them.
    fn ended(self, distance: u64) -> End {
        match self.odd.get() {
            Some(odd) => End::Odd(odd),
            None if distance == 0 => End::Whole,
            None => End::Part(Looked {
                size_bytes: self.space.size_bytes,
                read_bytes: self.read_bytes.min(self.space.size_bytes),
                seen_from_bytes: distance,
            }),
        }
    }
}

/// Parts of a device, as if they lay one behind the other.
struct Space {
    /// Where each begins in that order, where on the device, and its length.
    parts: Vec<(u64, u64, u64)>,
    size_bytes: u64,
}

impl Space {
    fn of(parts: &[(u64, u64)]) -> Self {
        let mut space = Space { parts: Vec::new(), size_bytes: 0 };
        for &(start, length) in parts {
            // Whole pages, which direct reads need.
            let first = start / PAGE_BYTES * PAGE_BYTES;
            let length = length + (start - first);
            space.parts.push((space.size_bytes, first, length));
            space.size_bytes = space.size_bytes.saturating_add(length);
        }
        space
    }

    /// Where on the device to read, and how much, for a place in that order.
    fn place(&self, at: u64, length: u64) -> (u64, u64) {
        let index = self.parts.partition_point(|part| part.0 <= at).saturating_sub(1);
        let (begin, start, size) = self.parts[index];
        let into = (at - begin) / PAGE_BYTES * PAGE_BYTES;
        (start + into, length.min(size - into))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::made::FileExt;
    use crate::needs::{Need, not_run};

    const MIB: u64 = 1 << 20;

    #[test]
    fn start_end_and_places_between() {
        assert_eq!(pieces(0, 64), []);
        assert_eq!(pieces(100, 64), [(0, 100)]);
        assert_eq!(pieces(MIB + 5, 64), [(0, MIB), (MIB, 5)]);
        for size in [3 * MIB, 64 * MIB - 512, 64 * MIB, 1000 * MIB + 7, 1 << 40, (1 << 60) + 512, u64::MAX] {
            let all = pieces(size, 64);
            assert_eq!(all[0], (0, MIB), "{size}");
            let (offset, length) = all[all.len() - 1];
            assert_eq!(offset + length, size);
            // All of the last mebibyte, though pieces start at whole ones.
            let inside = |at: u64| all.iter().any(|(o, l)| (*o..=o + (l - 1)).contains(&at));
            assert!([size - 1, size - MIB / 2, size - MIB].into_iter().all(inside), "{size}");
            assert!(all.iter().all(|(o, l)| o % MIB == 0 && *l <= MIB && *l > 0), "{size}");
            assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0), "{size}");
            assert!(all.len() <= 66 && all.len() as u64 >= 65.min(size / MIB), "{size}: {}", all.len());
        }
    }

    #[test]
    fn a_short_range_is_read_whole_and_a_long_one_densely() {
        let range = |start_bytes, length_bytes| Range { start_bytes, length_bytes };
        assert_eq!(pieces_of(range(3001 * MIB, MIB), 4096 * MIB), [(3001 * MIB, MIB)]);
        assert_eq!(pieces_of(range(MIB - 1, 2), 4096 * MIB), [(0, MIB), (MIB, MIB)]);
        assert_eq!(pieces_of(range(2 * MIB, 9 * MIB), 3 * MIB + 512), [(2 * MIB, MIB), (3 * MIB, 512)]);
        assert_eq!(pieces_of(range(5 * MIB, MIB), 4 * MIB), []);
        assert_eq!(pieces_of(range(7 * MIB, 64 * MIB), 1 << 40).len(), 64);
        for size in [65 * MIB, 1000 * MIB + 7, 1 << 40, u64::MAX] {
            for range in [Range::ALL, range(0, size), range(3 * MIB + 512, size - 20 * MIB)] {
                let all = each_once(pieces_of(range, size));
                let end = range.start_bytes.saturating_add(range.length_bytes).min(size);
                let inside = |at: u64| all.iter().any(|(o, l)| (*o..=o + (l - 1)).contains(&at));
                let ends = [range.start_bytes, range.start_bytes + MIB - 1, end - MIB, end - 1];
                assert!(ends.into_iter().all(inside), "{size} {range:?}");
                let gaps = all.windows(2).map(|pair| pair[1].0 - pair[0].0);
                assert!(gaps.max().unwrap() <= (size / 256).max(MIB) + MIB, "{size} {range:?}");
                assert!(all.len() as u64 >= 250.min(size / MIB - 20), "{size} {range:?}");
            }
        }
    }

    #[test]
    fn a_look_changes_nothing_in_the_page_cache() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = File::options().write(true).open(file.path()).unwrap();
        let state = || cached(&written, &[(0, 4 * MIB)]).and_then(|s| Some((s.cached_bytes, s.dirty_bytes?)));
        let look =
            || assert!(find_odd(file.as_file(), None, 4, &|_, bytes| bytes.contains(&0)).unwrap().is_none());
        // The kernel may write what is dirty at any time by itself.
        let stays_dirty = (0..5).any(|_| {
            written.write_all_at(&vec![1; 4 << 20], 0).unwrap();
            let before = state();
            look();
            before.is_none_or(|(_, dirty)| dirty == 0) || state() == before
        });
        assert!(stays_dirty, "a direct read makes the kernel write it");
        written.sync_all().unwrap();
        drop_cached(&written, 0, 4 * MIB);
        let before = state();
        // btrfs may read a file with checksums through the page cache, whatever was asked for.
        let direct = read_again(file.as_file(), ReadOptions { direct: true, ..AT_ONCE });
        let buffer = IoBuffer::new(PIECE_BYTES as usize).unwrap();
        let _ = buffer.with_slice_mut(0, PIECE_BYTES as usize, |bytes| read_exact_at(&direct?, bytes, 0));
        if state() != before {
            return not_run(Need::UncachedReads);
        }
        look();
        assert_eq!(state(), before, "what was on the disk only");
    }

    #[test]
    fn of_several_odd_places_that_are_read_at_a_time_the_first_is_told() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 * MIB).unwrap();
        for last in [0, 3 * MIB] {
            // The other one of the two ends is told first. A machine without threads reads them in turn.
            let is_told = AtomicBool::new(false);
            let is_odd = |offset: u64, _: &[u8]| {
                let is_end = offset == 0 || offset == 3 * MIB;
                let begun = Instant::now();
                while offset == last && !is_told.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if offset == last {
                    // It says so first and is noted then.
                    std::thread::sleep(Duration::from_millis(50));
                }
                is_told.fetch_or(is_end, Ordering::Relaxed);
                is_end
            };
            let found = find_odd(&file, None, 1, &is_odd).unwrap().unwrap();
            assert_eq!(found.offset_bytes, 0, "{last} was told last");
        }
    }

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn one_byte_in_the_first_or_last_mebibyte_is_found() {
        let file = tempfile::tempfile().unwrap();
        let odd = |file: &File| {
            let found = find_odd(file, None, 64, &|_, bytes| bytes.iter().any(|&b| b != 0)).unwrap();
            found.map(|odd| odd.offset_bytes)
        };
        file.set_len(200 * MIB + 100).unwrap();
        assert_eq!(odd(&file), None);
        for (at, piece) in [(200 * MIB + 99, 200 * MIB), (199 * MIB + 200, 199 * MIB), (MIB - 1, 0)] {
            file.write_all_at(b"x", at).unwrap();
            assert_eq!(odd(&file), Some(piece));
            file.write_all_at(&[0], at).unwrap();
        }
        assert_eq!(odd(&file), None);
    }
}

#[cfg(test)]
mod tests_look {
    use super::*;
    use crate::made::FileExt;

    const MIB: u64 = 1 << 20;
    const LONG: Duration = Duration::from_secs(600);

    fn is_odd(_: u64, bytes: &[u8]) -> bool {
        bytes.contains(&1)
    }

    fn file_with_data(size: u64, at: u64, length: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file.write_all_at(&vec![1; length as usize], at).unwrap();
        file
    }

    #[test]
    fn with_time_enough_every_byte_is_seen() {
        let size = 20 * MIB + 8192;
        for at in [0, 5 * MIB + 12_345, size - 1] {
            let file = file_with_data(size, at, 1);
            let end = look_through(&file, &[(0, size)], LONG, &is_odd).unwrap();
            assert!(matches!(end, End::Odd(Odd { error: None, .. })), "{at}: {end:?}");
        }
        let blank = file_with_data(size, 0, 0);
        assert!(matches!(look_through(&blank, &[(0, size)], LONG, &is_odd).unwrap(), End::Whole));
        assert!(
            matches!(look_through(&blank, &[], LONG, &is_odd).unwrap(), End::Whole),
            "nothing is allocated"
        );
    }

    #[test]
    fn only_the_parts_that_can_hold_something_are_read() {
        let size = 1 << 40;
        let file = file_with_data(size, 700 * MIB + 9000, 1);
        let parts = |at: u64| [(5 * MIB, MIB), (at, 3 * MIB)];
        let look = |at: u64| look_through(&file, &parts(at), LONG, &is_odd).unwrap();
        assert!(matches!(look(699 * MIB + 8192), End::Odd(_)));
        assert!(matches!(look(699 * MIB + 512), End::Odd(_)), "not at a page");
        assert!(matches!(look(800 * MIB), End::Whole));
    }

    #[test]
    fn when_time_is_over_the_smallest_data_that_is_seen_is_told() {
        // As large as ext4 takes.
        let size = 8 << 40;
        let blank = file_with_data(size, 0, 0);
        let End::Part(looked) =
            look_through(&blank, &[(0, size)], Duration::from_millis(300), &is_odd).unwrap()
        else {
            panic!("8 TiB were read");
        };
        assert!(looked.seen_from_bytes <= size && looked.read_bytes < size, "{looked:?}");
        let whole = look_through(&blank, &[(0, MIB)], Duration::ZERO, &is_odd).unwrap();
        assert!(matches!(whole, End::Whole), "one piece is read in any case: {whole:?}");
        let none = look_through(&blank, &[(0, size)], Duration::ZERO, &is_odd).unwrap();
        assert!(matches!(none, End::Part(Looked { seen_from_bytes, .. }) if seen_from_bytes == size));
    }

    #[test]
    fn each_pass_halves_the_distance() {
        let size = 64 * MIB;
        let seen = Mutex::new(Vec::new());
        let note = |offset: u64, _: &[u8]| {
            seen.lock().unwrap().push(offset);
            false
        };
        let blank = file_with_data(size, 0, 0);
        look_through(&blank, &[(0, size)], LONG, &note).unwrap();
        // All fits, so that no pass is needed after the pieces.
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.windows(2).all(|pair| pair[1] - pair[0] <= MIB), "{seen:?}");
        assert_eq!((seen[0], seen[seen.len() - 1]), (0, 63 * MIB));
        let words = Looked { size_bytes: 8 << 40, read_bytes: 9 << 30, seen_from_bytes: 3 << 20 }.to_string();
        assert_eq!(
            words,
            "9GiB of 8TiB were read and hold nothing; data between them that is smaller than 3MiB is not seen"
        );
    }
}

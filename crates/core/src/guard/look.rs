//! Looks through a device before the first write, for as long as a person will wait: which data can be missed is known
//! then, and told.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::sample::{Odd, PIECE_BYTES, read_by};
use crate::text::coarse_size;

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Samples.
    Quick,
    /// As much as this time allows.
    For(Duration),
}

impl Look {
    /// What a person waits for before the first write.
    pub const THOROUGH: Look = Look::For(Duration::from_secs(3));
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

/// How a look ended.
#[derive(Debug)]
pub(super) enum End {
    /// It saw something.
    Odd(Odd),
    /// All was read.
    Whole,
    /// Time was over.
    Part(Looked),
}

/// Places of the first pass.
const PLACES: u64 = 256;
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
    is_odd: &(dyn Fn(u64, &[u8]) -> bool + Sync),
) -> io::Result<End> {
    let mut look = Looking {
        file,
        space: Space::of(parts),
        end: Instant::now() + time,
        is_odd,
        odd: Mutex::new(None),
        read_bytes: 0,
    };
    let size_bytes = look.space.size_bytes;
    let mut distance = size_bytes;
    // Halves of a power of two meet the places that are known.
    let mut next = size_bytes.div_ceil(PLACES).next_power_of_two().max(PLACE_BYTES);
    let mut is_tried = false;
    loop {
        if !is_tried && next <= CLOSE_BYTES {
            is_tried = true;
            if look.all_fits()? && look.places(0, PIECE_BYTES, PIECE_BYTES)? {
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
    is_odd: &'a (dyn Fn(u64, &[u8]) -> bool + Sync),
    odd: Mutex<Option<Odd>>,
    read_bytes: u64,
}

impl Looking<'_> {
    fn is_over(&self) -> bool {
        self.odd.lock().unwrap_or_else(PoisonError::into_inner).is_some() || Instant::now() >= self.end
    }

    /// Whether there is time to read everything, by a few pieces of it.
    fn all_fits(&mut self) -> io::Result<bool> {
        let begin = Instant::now();
        let all = self.space.size_bytes.div_ceil(PIECE_BYTES);
        let count = all.min(TRIAL_PIECES);
        if !self.some(0, PIECE_BYTES, PIECE_BYTES, count)? {
            return Ok(false);
        }
        let needed = begin.elapsed().as_secs_f64() / count.max(1) as f64 * all as f64;
        Ok(needed < self.end.saturating_duration_since(Instant::now()).as_secs_f64())
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
            &|offset_bytes, bytes| self.see(offset_bytes, bytes),
        )?;
        self.read_bytes += (read as u64).saturating_mul(length);
        // The last one may have ended in time.
        let is_seen = self.odd.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        Ok(!is_seen && read as u64 == count)
    }

    fn see(&self, offset_bytes: u64, bytes: io::Result<&[u8]>) -> ControlFlow<()> {
        let odd = match bytes {
            Ok(bytes) if !(self.is_odd)(offset_bytes, bytes) => None,
            Ok(_) => Some(Odd { offset_bytes, error: None }),
            Err(error) => Some(Odd { offset_bytes, error: Some(error) }),
        };
        if odd.is_some() {
            *self.odd.lock().unwrap_or_else(PoisonError::into_inner) = odd;
        }
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// `distance`: between two places that were read; 0 when nothing is between them.
    fn ended(self, distance: u64) -> End {
        match self.odd.into_inner().unwrap_or_else(PoisonError::into_inner) {
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
    use super::*;
    use crate::sys::made::FileExt;

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

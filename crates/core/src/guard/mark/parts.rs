//! Parts of a file: ranges of bytes in order, in the few words that a mark has room for.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

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
            let gap = |at: &usize| found[*at + 1].start - found[*at].end;
            let closest = (0..found.len() - 1).min_by_key(gap).unwrap_or(0);
            found[closest].end = found[closest + 1].end;
            found.remove(closest + 1);
        }
        let mut parts = [NONE; PARTS_MAX];
        for (part, range) in parts.iter_mut().zip(found) {
            *part = (range.start, range.end);
        }
        Parts(parts)
    }

    /// As ranges.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        self.0.iter().filter(|part| **part != NONE).map(|part| part.0..part.1).collect()
    }
}

const NONE: (u64, u64) = (0, 0);

impl fmt::Display for Parts {
    /// For example: 0-100000,200000-300000
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.ranges().iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{:x}-{:x}", range.start, range.end)?;
        }
        Ok(())
    }
}

/// The text is no list of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoParts;

impl FromStr for Parts {
    type Err = NoParts;

    fn from_str(text: &str) -> Result<Self, NoParts> {
        let mut ranges = Vec::new();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (start, end) = word.split_once('-').ok_or(NoParts)?;
            let number = |text| u64::from_str_radix(text, 16).map_err(|_| NoParts);
            ranges.push(number(start)?..number(end)?);
        }
        if ranges.len() > PARTS_MAX { Err(NoParts) } else { Ok(Parts::of(&ranges)) }
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

#[cfg(test)]
mod tests {
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
            assert_eq!(parts.parse::<Parts>().unwrap().to_string(), parts);
        }
        for wrong in ["1", "x-y", "1-2-3", "0-1,2-3,4-5,6-7,8-9"] {
            assert_eq!(wrong.parse::<Parts>(), Err(NoParts), "{wrong}");
        }
    }
}

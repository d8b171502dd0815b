//! Counts of buckets in few bytes: what a histogram of a document is in memory, as in the document itself.
//!
//! The form is the payload of HdrHistogram V2: a number for each bucket from the first on, and one for a run
//! of empty ones. A number is zigzag (a count is positive, a run negative) in LEB128 of nine bytes at most.
//! So a histogram takes what is there, not what somebody says of it.

/// Bytes of a number, at most.
pub(super) const NUMBER_BYTES_MAX: usize = 9;
/// The largest count that has a form.
const COUNT_MAX: u64 = i64::MAX as u64;

/// Packs counts, bucket after bucket.
#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
    /// The bucket behind the last one.
    next: usize,
}

impl Packer {
    /// Adds the count of a bucket that comes after all that were added.
    pub fn add(&mut self, bucket: usize, count: u64) {
        debug_assert!(bucket >= self.next && count > 0);
        match bucket - self.next {
            0 => {}
            1 => put(&mut self.bytes, 0),
            // The run as a negative number, in zigzag.
            zeros => put(&mut self.bytes, zeros as u64 * 2 - 1),
        }
        put(&mut self.bytes, count.min(COUNT_MAX) * 2);
        self.next = bucket + 1;
    }

    /// All of them.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.shrink_to_fit();
        self.bytes
    }
}

/// The buckets with counts, ascending. It ends at what is no number.
pub(super) struct Counts<'a> {
    rest: &'a [u8],
    next: usize,
}

impl<'a> Counts<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        Counts { rest: bytes, next: 0 }
    }

    /// Whether all bytes were numbers, once there are no more counts.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl Iterator for Counts<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        while let Some((number, rest)) = take(self.rest) {
            self.rest = rest;
            let bucket = self.next;
            if number % 2 == 1 {
                let zeros = usize::try_from(number / 2 + 1).unwrap_or(usize::MAX);
                self.next = bucket.saturating_add(zeros);
                continue;
            }
            self.next = bucket.saturating_add(1);
            if number > 0 {
                return Some((bucket, number / 2));
            }
        }
        None
    }
}

/// The sum of two.
pub(super) fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (Counts::of(a).peekable(), Counts::of(b).peekable());
    let mut sum = Packer::default();
    loop {
        let (bucket, count) = match (a.peek().copied(), b.peek().copied()) {
            (None, None) => return sum.finish(),
            (Some(one), Some(other)) if one.0 == other.0 => (one.0, one.1.saturating_add(other.1)),
            (Some(one), Some(other)) => one.min(other),
            (Some(one), None) | (None, Some(one)) => one,
        };
        sum.add(bucket, count);
        a.next_if(|next| next.0 == bucket);
        b.next_if(|next| next.0 == bucket);
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    for _ in 1..NUMBER_BYTES_MAX {
        if number < 0x80 {
            break;
        }
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    // The ninth byte has all of its bits.
    bytes.push(number as u8);
}

/// A number, and what comes after it.
fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, byte) in bytes.iter().take(NUMBER_BYTES_MAX).enumerate() {
        let is_last = place == NUMBER_BYTES_MAX - 1 || *byte < 0x80;
        let bits = if place == NUMBER_BYTES_MAX - 1 { *byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if is_last {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKETS: usize = 56_320;

    fn packed(counts: &[(usize, u64)]) -> Vec<u8> {
        let mut packer = Packer::default();
        counts.iter().for_each(|&(bucket, count)| packer.add(bucket, count));
        packer.finish()
    }

    #[test]
    fn counts_come_back() {
        for counts in [
            &[][..],
            &[(0, 1)],
            &[(1, 1), (2, 64), (4, 1 << 20)],
            &[(7, COUNT_MAX), (BUCKETS - 1, 1 << 55), (BUCKETS, 3)],
        ] {
            let bytes = packed(counts);
            let mut read = Counts::of(&bytes);
            assert_eq!(read.by_ref().collect::<Vec<_>>(), counts);
            assert!(read.is_at_end());
        }
        assert_eq!(packed(&[(0, 1), (2, 1), (5, 3)]), [2, 0, 2, 3, 6]);
    }

    #[test]
    fn sums_are_those_of_the_buckets() {
        let (a, b) = (packed(&[(1, 1), (5, 2), (9, COUNT_MAX)]), packed(&[(0, 4), (5, 3), (9, 1)]));
        let wanted = [(0, 4), (1, 1), (5, 5), (9, COUNT_MAX)];
        assert_eq!(Counts::of(&sum(&a, &b)).collect::<Vec<_>>(), wanted);
        assert_eq!(sum(&a, &[]), a);
    }

    #[test]
    fn what_is_cut_off_is_seen() {
        let bytes = packed(&[(3, 1 << 40)]);
        let mut read = Counts::of(&bytes[..bytes.len() - 1]);
        assert_eq!(read.next(), None);
        assert!(!read.is_at_end());
        // A run beyond the end of all numbers.
        let mut read = Counts::of(&[0xff; 18]);
        assert_eq!(read.next(), None);
        assert!(read.is_at_end());
    }
}

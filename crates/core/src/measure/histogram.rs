//! Log-linear latency histogram with exact minimum, maximum, sum and sum of squares.
//!
//! Own code, not a crate: recording is on the hot path, parts never used must cost no memory (64
//! threads times 16 targets times two directions), and no value may be clipped.
//!
//! # Buckets
//! Values below 2048 have a bucket each. Above, every power of two is cut into 1024 buckets of equal width,
//! up to `u64::MAX`. 1024 buckets form a block of 8 KiB (and 32 bytes for what is recent), made at the first
//! value that falls into it: a typical latency distribution needs five to ten blocks. Blocks are made one by
//! one rather than as one large zeroed mapping because that costs no more when recording, and neither the
//! allocator nor transparent huge pages can turn unused parts into memory.

mod stored;

use serde::{Deserialize, Serialize};

use super::slices;

/// Buckets per block are `2^BLOCK_BITS`.
const BLOCK_BITS: u32 = 10;
const BLOCK_LEN: usize = 1 << BLOCK_BITS;
/// Blocks for every 64-bit value: one below 1024 and one per power of two from there.
const BLOCKS: usize = 65 - BLOCK_BITS as usize;
/// Buckets of all blocks.
const BUCKETS: usize = BLOCKS * BLOCK_LEN;
/// Buckets that are passed over together where none of them is in use.
const GROUP_LEN: usize = 32;
/// `BLOCKS` rounded up to a power of two, so that a masked index needs no bounds check.
const TABLE_LEN: usize = BLOCKS.next_power_of_two();
/// Fractions are taken to this many decimals (as a power of ten): percentiles are decimal numbers, and
/// `0.07 * 100.0` is 7.000000000000001 in binary floating point.
const FRACTION_ONE: u64 = 1_000_000_000_000;

/// Parts of a block that are counted apart, each a coarse bucket.
const PARTS: usize = 1 << slices::BITS;

/// The counts of the buckets, and behind them those of what is recent ([`Histogram::record_recent`]): there
/// they cost neither a table nor finding its place.
type Block = [u64; BLOCK_LEN + PARTS];

/// Counts of latencies in nanoseconds.
///
/// Count, minimum, maximum, mean and standard deviation are exact. Percentiles of latencies below
/// 2048 ns are exact; above, they are within 1/2048 (0.0489 %) of the exact percentile.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "stored::Stored", into = "stored::Stored")]
pub struct Histogram {
    blocks: [Option<Box<Block>>; TABLE_LEN],
    /// What was read from a document ([`stored`]), instead of blocks: those would take a thousand times as much as it.
    packed: Vec<u8>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_squares: u128,
}

/// A bucket that holds at least one latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest latency that belongs to the bucket, in nanoseconds.
    pub low_ns: u64,
    /// Largest latency that belongs to the bucket, in nanoseconds.
    pub high_ns: u64,
    /// Latencies recorded.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Block of a value and its place in the block.
#[inline]
fn place(value: u64) -> (usize, usize) {
    // Block 0 holds 0..1024 and block 1 1024..2048, one value a bucket; block b holds the values with
    // 9 + b binary digits after the first, 2^(b-1) of them a bucket.
    let block = 64 - BLOCK_BITS - (value | (BLOCK_LEN as u64 - 1)).leading_zeros();
    let slot = (value >> block.saturating_sub(1)) as usize & (BLOCK_LEN - 1);
    (block as usize, slot)
}

/// Smallest and largest value of a bucket.
fn bounds(block: usize, slot: usize) -> (u64, u64) {
    if block == 0 {
        return (slot as u64, slot as u64);
    }
    let shift = block - 1;
    let low = ((BLOCK_LEN + slot) as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

#[cold]
#[inline(never)]
fn new_block() -> Box<Block> {
    // By way of a vector, so that no 8 KiB array passes over the stack.
    vec![0u64; BLOCK_LEN + PARTS].into_boxed_slice().try_into().expect("the vector has the block's length")
}

impl Histogram {
    /// An empty histogram. Takes no memory beyond its own few hundred bytes.
    pub fn new() -> Self {
        Histogram {
            blocks: [const { None }; TABLE_LEN],
            packed: Vec::new(),
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_squares: 0,
        }
    }

    /// Records one latency.
    ///
    /// The first latency in a range of a power of two takes 8 KiB of memory. The sum of squares
    /// saturates at 2^128, which takes 10^12 latencies of five hours each. Nothing is recorded into a histogram that
    /// was read from a document.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        let (block, slot) = place(latency_ns);
        self.blocks[block & (TABLE_LEN - 1)].get_or_insert_with(new_block)[slot] += 1;
        self.add(latency_ns);
    }

    /// [`Histogram::record`], and counts the latency among what is recent too.
    #[inline]
    pub fn record_recent(&mut self, latency_ns: u64) {
        let (block, slot) = place(latency_ns);
        let block = self.blocks[block & (TABLE_LEN - 1)].get_or_insert_with(new_block);
        block[slot] += 1;
        block[BLOCK_LEN + (slot >> (BLOCK_BITS - slices::BITS))] += 1;
        self.add(latency_ns);
    }

    /// Hands out what was recorded as recent since the last time, by coarse bucket ([`slices`]), in ascending order.
    pub fn take_recent(&mut self, mut into: impl FnMut(usize, u64)) {
        let blocks =
            self.blocks.iter_mut().enumerate().filter_map(|(i, block)| Some((i, block.as_deref_mut()?)));
        for (i, block) in blocks {
            for (part, count) in block[BLOCK_LEN..].iter_mut().enumerate().filter(|(_, count)| **count > 0) {
                into((i << slices::BITS) | part, std::mem::take(count));
            }
        }
    }

    #[inline]
    fn add(&mut self, latency_ns: u64) {
        debug_assert!(self.packed.is_empty(), "it was read from a document");
        self.count += 1;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns += u128::from(latency_ns);
        let square = u128::from(latency_ns) * u128::from(latency_ns);
        match self.sum_squares.checked_add(square) {
            Some(sum) => self.sum_squares = sum,
            None => self.saturate(),
        }
    }

    #[cold]
    fn saturate(&mut self) {
        self.sum_squares = u128::MAX;
    }

    /// Adds everything `other` holds. The sum of what was read from documents stays as small as those.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if !other.packed.is_empty() && self.blocks.iter().all(Option::is_none) {
            self.packed = sum(&self.packed, &other.packed);
        } else {
            let mine = std::mem::take(&mut self.packed);
            self.add_packed(&mine);
            self.add_packed(&other.packed);
            self.add_blocks(other);
        }
        self.count = self.count.saturating_add(other.count);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }

    fn add_blocks(&mut self, other: &Histogram) {
        for (mine, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            let Some(theirs) = theirs else { continue };
            let Some(mine) = mine else {
                let mine = mine.insert(theirs.clone());
                mine[BLOCK_LEN..].fill(0);
                continue;
            };
            for (slot, count) in used(theirs) {
                mine[slot] = mine[slot].saturating_add(count);
            }
        }
    }

    fn add_packed(&mut self, packed: &[u8]) {
        for (bucket, count) in Counts::of(packed) {
            let block = self.blocks[bucket / BLOCK_LEN].get_or_insert_with(new_block);
            let sum = &mut block[bucket % BLOCK_LEN];
            *sum = sum.saturating_add(count);
        }
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Smallest latency in nanoseconds, 0 without samples.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// Largest latency in nanoseconds, 0 without samples.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Sum of the latencies in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Mean in nanoseconds, 0 without samples.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Population standard deviation in nanoseconds, 0 without samples.
    pub fn std_dev_ns(&self) -> f64 {
        crate::measure::intervals::std_dev(self.count, self.sum_ns, self.sum_squares)
    }

    /// The buckets in use, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts().map(|(bucket, count)| {
            let (low_ns, high_ns) = bounds(bucket / BLOCK_LEN, bucket % BLOCK_LEN);
            Bucket { low_ns, high_ns, count }
        })
    }

    /// The numbers of the buckets in use, counted over all blocks, with what they hold. There are blocks, or
    /// it is packed.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let blocks = self.blocks.iter().enumerate().filter_map(|(i, block)| Some((i, block.as_deref()?)));
        let of_blocks =
            blocks.flat_map(|(i, block)| used(block).map(move |(slot, count)| (i * BLOCK_LEN + slot, count)));
        Counts::of(&self.packed).chain(of_blocks)
    }

    /// Number of buckets in use.
    pub fn buckets_used(&self) -> u64 {
        self.buckets().count() as u64
    }

    /// The smallest recorded latency whose cumulative count reaches `fraction` (0..1) of all samples,
    /// no interpolation, in nanoseconds; 0 is the minimum, 1 the maximum (`io-semantics.md` §14.2).
    /// 0 without samples.
    ///
    /// The fraction is read as the decimal number it stands for, to 12 decimals, and the rank is
    /// computed in integers, so it is right for every fraction and count. Fractions outside 0..1 are
    /// taken as the nearer end.
    pub fn percentile_ns(&self, fraction: f64) -> u64 {
        self.percentiles().ns(fraction)
    }

    /// All percentiles, after one pass over the buckets.
    pub fn percentiles(&self) -> Percentiles {
        let mut seen = 0;
        let buckets = self.buckets().map(|bucket| {
            seen += bucket.count;
            let middle = bucket.low_ns + (bucket.high_ns - bucket.low_ns) / 2;
            (seen, middle.clamp(self.min_ns, self.max_ns))
        });
        Percentiles {
            buckets: buckets.collect(),
            count: self.count,
            min_ns: self.min_ns(),
            max_ns: self.max_ns,
        }
    }
}

/// The percentiles of a histogram. Where many are wanted, this is faster than [`Histogram::percentile_ns`].
#[derive(Debug, Clone)]
pub struct Percentiles {
    /// For each bucket in use the latencies up to its end, and its middle in nanoseconds.
    buckets: Vec<(u64, u64)>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Percentiles {
    /// The percentile in nanoseconds, by the rules of [`Histogram::percentile_ns`].
    pub fn ns(&self, fraction: f64) -> u64 {
        let rank = rank(fraction, self.count);
        if rank <= 1 {
            return self.min_ns;
        }
        if rank == self.count {
            return self.max_ns;
        }
        let reached = self.buckets.partition_point(|&(seen, _)| seen < rank);
        self.buckets.get(reached).map_or(self.max_ns, |&(_, middle_ns)| middle_ns)
    }
}

/// The slots of a block in use, ascending, with what they hold.
fn used(block: &Block) -> impl Iterator<Item = (usize, u64)> + '_ {
    let (groups, _) = block[..BLOCK_LEN].as_chunks::<GROUP_LEN>();
    let groups = groups.iter().enumerate().filter(|(_, counts)| **counts != [0; GROUP_LEN]);
    groups.flat_map(|(group, counts)| {
        let used = counts.iter().enumerate().filter(|&(_, &count)| count != 0);
        used.map(move |(slot, &count)| (group * GROUP_LEN + slot, count))
    })
}

impl PartialEq for Histogram {
    /// Of what was recorded, however it is held.
    fn eq(&self, other: &Self) -> bool {
        let exact = |one: &Self| (one.count, one.min_ns, one.max_ns, one.sum_ns, one.sum_squares);
        exact(self) == exact(other) && self.counts().eq(other.counts())
    }
}

impl Eq for Histogram {}

/// Smallest whole number of samples that is at least `fraction` of `count`, but 1 at least, as far as
/// there are samples.
fn rank(fraction: f64, count: u64) -> u64 {
    // The cast turns negative numbers and NaN into 0.
    let parts = ((fraction * FRACTION_ONE as f64).round() as u64).min(FRACTION_ONE);
    let rank = (u128::from(parts) * u128::from(count)).div_ceil(u128::from(FRACTION_ONE));
    (rank as u64).max(1).min(count)
}

/// Bytes of a number, at most.
const NUMBER_BYTES_MAX: usize = 9;
/// The largest count that has a form.
const COUNT_MAX: u64 = i64::MAX as u64;

/// Packs counts, bucket after bucket.
#[derive(Debug, Default)]
struct Packer {
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
struct Counts<'a> {
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
fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
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
mod tests;

#[cfg(test)]
mod tests_packed {
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

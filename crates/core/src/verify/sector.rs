//! What a sector of a verified write says of itself.
//!
//! A sector of 512 bytes begins with 48 bytes in little endian: magic number (4), CRC32C of all from byte 8 on as it is
//! stored (4), scrambled address in the target in bytes (8), and behind the masks that follow from it: number of the
//! target (8), number of the run (8), generation of the block (4), thread (4), nanoseconds since the run began (8). The
//! magic number has a mask as well. What was asked for follows (`-Z`, `-Zr`).
//!
//! Without scrambling and masks, most of these bytes would be the same in each sector of a block. A device that
//! compresses would find them, and would work otherwise than without `--verify`.

use crc_fast::crc32_iscsi;

/// The unit that is stamped and checked. Drives with larger sectors write several of them at once.
pub const SECTOR_BYTES: usize = 512;
const MAGIC: u32 = u32::from_le_bytes(*b"TSv1");
/// Where the bytes begin that the checksum covers.
const COVERED_FROM: usize = 8;
/// Odd, so that each product belongs to one address: 2^64 divided by the golden ratio.
const SCRAMBLE: u64 = 0x9e37_79b9_7f4a_7c15;
const UNSCRAMBLE: u64 = inverse(SCRAMBLE);
/// Makes a mask of the scrambled address for each word after it, and for the magic number. Any large odd numbers do.
const MASKS: [u64; 5] = [
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xff51_afd7_ed55_8ccd,
    0xc4ce_b9fe_1a85_ec53,
    0xd6e8_feb8_6659_fd93,
];
/// A sector as it lies in a buffer.
pub type Sector = [u8; SECTOR_BYTES];

/// What a sector says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Where it was written, in bytes from the begin of the target.
    pub address: u64,
    /// Number of the target, drawn for each target of a run.
    pub target: u64,
    /// Number of the run, drawn for each run.
    pub run: u64,
    /// How often the run had written its block, this write included.
    pub generation: u32,
    /// Number of the thread that wrote it.
    pub thread: u32,
    /// When it was issued, in nanoseconds since the run began.
    pub issued_ns: u64,
}

/// What a sector that was read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The checksum of it is right.
    Stamped(Stamp),
    /// It looks like a sector of a verified write, and its checksum is wrong: what it claims to be.
    Damaged(Stamp),
    /// All of its bytes are zero.
    Zeros,
    /// No verified write made it.
    Unknown,
}

/// Puts a stamp over the begin of a sector, and the checksum of all of it.
#[inline]
pub fn stamp(sector: &mut Sector, stamp: &Stamp) {
    let place = scrambled(stamp.address);
    let mask = MASKS.map(|factor| place.wrapping_mul(factor));
    let numbers = u64::from(stamp.generation) | u64::from(stamp.thread) << 32;
    sector[..4].copy_from_slice(&(MAGIC ^ high(mask[0])).to_le_bytes());
    sector[8..16].copy_from_slice(&place.to_le_bytes());
    sector[16..24].copy_from_slice(&(stamp.target ^ mask[1]).to_le_bytes());
    sector[24..32].copy_from_slice(&(stamp.run ^ mask[2]).to_le_bytes());
    sector[32..40].copy_from_slice(&(numbers ^ mask[3]).to_le_bytes());
    sector[40..48].copy_from_slice(&(stamp.issued_ns ^ mask[4]).to_le_bytes());
    let sum = crc32_iscsi(&sector[COVERED_FROM..]);
    sector[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// What a sector is that was read at `address`.
#[inline]
pub fn read(sector: &Sector, address: u64) -> Content {
    let place = word(sector, 8);
    let is_whole = crc32_iscsi(&sector[COVERED_FROM..]) == half(sector, 4);
    if is_whole && has_magic(sector, place) {
        return Content::Stamped(claimed(sector, place));
    }
    if sector.iter().all(|&byte| byte == 0) {
        return Content::Zeros;
    }
    // A right checksum with a wrong magic number is damage to the magic number. Where the address itself is damaged,
    // the masks of the right one still show the magic number.
    for place in [place, scrambled(address)] {
        if is_whole || has_magic(sector, place) {
            return Content::Damaged(claimed(sector, place));
        }
    }
    Content::Unknown
}

fn has_magic(sector: &Sector, place: u64) -> bool {
    half(sector, 0) ^ high(place.wrapping_mul(MASKS[0])) == MAGIC
}

/// What a sector says of itself where this is its scrambled address.
fn claimed(sector: &Sector, place: u64) -> Stamp {
    let mask = MASKS.map(|factor| place.wrapping_mul(factor));
    let numbers = word(sector, 32) ^ mask[3];
    Stamp {
        address: !place.wrapping_mul(UNSCRAMBLE),
        target: word(sector, 16) ^ mask[1],
        run: word(sector, 24) ^ mask[2],
        generation: numbers as u32,
        thread: high(numbers),
        issued_ns: word(sector, 40) ^ mask[4],
    }
}

/// Inverted first, so that the masks of address 0 are not 0.
fn scrambled(address: u64) -> u64 {
    (!address).wrapping_mul(SCRAMBLE)
}

fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

fn word(sector: &Sector, at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&sector[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn half(sector: &Sector, at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&sector[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// The number that undoes the multiplication with an odd one, modulo 2^64. By Newton's method, right bits double each
/// time.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut right_bits = 3;
    while right_bits < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        right_bits *= 2;
    }
    inverse
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use super::*;

    pub const STAMP: Stamp =
        Stamp { address: 1 << 40, target: 7, run: 9, generation: 3, thread: 2, issued_ns: 1_000_000 };

    pub fn stamped(with: Stamp) -> Sector {
        let mut sector = [0xa5; SECTOR_BYTES];
        stamp(&mut sector, &with);
        sector
    }

    #[test]
    fn a_sector_says_what_was_put_into_it() {
        let sector = stamped(STAMP);
        assert_eq!(read(&sector, STAMP.address), Content::Stamped(STAMP));
        assert_eq!(read(&sector, 0), Content::Stamped(STAMP), "it says itself where it belongs");
        assert_eq!(&sector[48..], &[0xa5; 464], "what was asked for stays");
        assert_eq!(read(&[0; SECTOR_BYTES], 0), Content::Zeros);
        assert_eq!(read(&[1; SECTOR_BYTES], 0), Content::Unknown);
        // The check value of the standard (RFC 3720 B.4): the checksum is CRC32C.
        assert_eq!(crc32_iscsi(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn no_flipped_bit_stays_unseen() {
        let whole = stamped(STAMP);
        for bit in 0..SECTOR_BYTES * 8 {
            let mut sector = whole;
            sector[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(read(&sector, STAMP.address), Content::Damaged(_)), "bit {bit}");
        }
    }

    /// A device that compresses must find nothing in stamps: no four bytes are the same in two of them.
    #[test]
    fn stamps_do_not_repeat_themselves() {
        let sectors = (0..128).map(|n| stamped(Stamp { address: n * SECTOR_BYTES as u64, ..STAMP }));
        let begins: Vec<Sector> = sectors.collect();
        let mut seen = HashSet::new();
        for window in begins.iter().flat_map(|sector| sector[..48].windows(4)) {
            assert!(seen.insert(window), "{window:x?}");
        }
    }
}

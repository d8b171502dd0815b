//! What a sector of a verified write says of itself.
//!
//! A sector of 512 bytes begins with 48 bytes in little endian: magic number (4), CRC32C of all that follows (4), byte
//! address in the target (8), number of the target (8), number of the run (8), generation of the block (4), thread (4),
//! nanoseconds since the run began (8). What was asked for follows (`-Z`, `-Zr`).

/// The unit that is stamped and checked. Drives with larger sectors write several of them at once.
pub const SECTOR_BYTES: usize = 512;
const MAGIC: u32 = u32::from_le_bytes(*b"TSv1");
/// Where the bytes begin that the checksum covers.
const COVERED_FROM: usize = 8;
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
    sector[..4].copy_from_slice(&MAGIC.to_le_bytes());
    sector[8..16].copy_from_slice(&stamp.address.to_le_bytes());
    sector[16..24].copy_from_slice(&stamp.target.to_le_bytes());
    sector[24..32].copy_from_slice(&stamp.run.to_le_bytes());
    sector[32..36].copy_from_slice(&stamp.generation.to_le_bytes());
    sector[36..40].copy_from_slice(&stamp.thread.to_le_bytes());
    sector[40..48].copy_from_slice(&stamp.issued_ns.to_le_bytes());
    let sum = crc32c::crc32c(&sector[COVERED_FROM..]);
    sector[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// What a sector that was read is.
#[inline]
pub fn read(sector: &Sector) -> Content {
    let claimed = Stamp {
        address: word(sector, 8),
        target: word(sector, 16),
        run: word(sector, 24),
        generation: half(sector, 32),
        thread: half(sector, 36),
        issued_ns: word(sector, 40),
    };
    let is_whole = crc32c::crc32c(&sector[COVERED_FROM..]) == half(sector, 4);
    if is_whole && half(sector, 0) == MAGIC {
        return Content::Stamped(claimed);
    }
    if sector.iter().all(|&byte| byte == 0) {
        return Content::Zeros;
    }
    // A right checksum with a wrong magic number is damage to the magic number.
    if is_whole || half(sector, 0) == MAGIC { Content::Damaged(claimed) } else { Content::Unknown }
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

#[cfg(test)]
pub(crate) mod tests {
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
        assert_eq!(read(&sector), Content::Stamped(STAMP));
        assert_eq!(&sector[48..], &[0xa5; 464], "what was asked for stays");
        assert_eq!(read(&[0; SECTOR_BYTES]), Content::Zeros);
        assert_eq!(read(&[1; SECTOR_BYTES]), Content::Unknown);
        // The check value of the standard (RFC 3720 B.4): the checksum is CRC32C.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn no_flipped_bit_stays_unseen() {
        let whole = stamped(STAMP);
        for bit in 0..SECTOR_BYTES * 8 {
            let mut sector = whole;
            sector[bit / 8] ^= 1 << (bit % 8);
            let is_seen = matches!(read(&sector), Content::Damaged(_) | Content::Unknown);
            assert!(is_seen, "bit {bit}");
        }
    }
}

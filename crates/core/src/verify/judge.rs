//! Whether a block that was read is what it must be.

use serde::{Deserialize, Serialize};

use super::sector::{Content, SECTOR_BYTES, Stamp, read};

/// What a block must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Where it begins, in bytes from the begin of the target.
    pub address: u64,
    /// Number of the target, as its sectors say it.
    pub target: u64,
    /// Number of the run, as its sectors say it.
    pub run: u64,
    /// The oldest generation that may be there: the last one that is durable. 0: it may be without any.
    pub oldest: u32,
    /// The newest generation that may be there. More than the oldest where a write was not durable, or not completed.
    pub newest: u32,
    /// The newest one was still being written: the block may hold sectors of it and of one before.
    pub is_in_flight: bool,
}

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It holds an older generation, or nothing: a write was lost.
    Missing,
    /// It holds what was written for another address of the target.
    Misplaced,
    /// It holds what another run or a write to another target left.
    Foreign,
    /// It holds sectors of several generations: a write was not whole.
    Torn,
    /// The checksum of a sector is wrong.
    Damaged,
    /// It could not be read.
    Unread,
}

impl Fault {
    /// All faults, in the order in which they are told.
    pub const ALL: [Fault; 6] =
        [Fault::Missing, Fault::Misplaced, Fault::Foreign, Fault::Torn, Fault::Damaged, Fault::Unread];

    /// The word that people read for it.
    pub fn word(self) -> &'static str {
        match self {
            Fault::Missing => "missing",
            Fault::Misplaced => "misplaced",
            Fault::Foreign => "foreign",
            Fault::Torn => "torn",
            Fault::Damaged => "damaged",
            Fault::Unread => "unread",
        }
    }
}

/// What a block that was read holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// All of its newest write.
    Newest,
    /// An older one, which may be there.
    Older,
    /// It may be without any write of the run, and is.
    Nothing,
    /// It is not what it must be.
    Wrong(Found),
}

/// A block that is not what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// What is wrong with it.
    pub fault: Fault,
    /// The stamp of the first wrong sector; none where it has none.
    pub stamp: Option<Stamp>,
}

/// Judges a block of whole sectors.
pub fn judge(block: &[u8], expected: &Expected) -> Seen {
    let (mut first, mut is_torn) = (None, false);
    let mut blank = 0;
    for (number, sector) in block.as_chunks::<SECTOR_BYTES>().0.iter().enumerate() {
        let address = expected.address + (number * SECTOR_BYTES) as u64;
        let stamp = match read(sector, address) {
            Content::Stamped(stamp) => stamp,
            Content::Damaged(stamp) => return wrong(Fault::Damaged, Some(stamp)),
            Content::Zeros => {
                blank += 1;
                continue;
            }
            Content::Unknown if expected.oldest == 0 => {
                blank += 1;
                continue;
            }
            Content::Unknown => return wrong(Fault::Foreign, None),
        };
        if (stamp.target, stamp.run) != (expected.target, expected.run) {
            // What was there before the run may still be there.
            if expected.oldest == 0 {
                blank += 1;
                continue;
            }
            return wrong(Fault::Foreign, Some(stamp));
        }
        if stamp.address != address {
            return wrong(Fault::Misplaced, Some(stamp));
        }
        match first {
            None => first = Some(stamp),
            Some(before) if before.generation != stamp.generation => {
                is_torn = true;
                // The older one tells what is missing.
                if stamp.generation < before.generation {
                    first = Some(stamp);
                }
            }
            Some(_) => {}
        }
    }
    let Some(stamp) = first else {
        return if expected.oldest == 0 { Seen::Nothing } else { wrong(Fault::Missing, None) };
    };
    if blank > 0 && !(expected.oldest == 0 && expected.is_in_flight) {
        return wrong(Fault::Torn, Some(stamp));
    }
    if is_torn && !expected.is_in_flight {
        return wrong(Fault::Torn, Some(stamp));
    }
    if stamp.generation < expected.oldest || stamp.generation > expected.newest {
        return wrong(Fault::Missing, Some(stamp));
    }
    if stamp.generation == expected.newest && blank == 0 && !is_torn { Seen::Newest } else { Seen::Older }
}

fn wrong(fault: Fault, stamp: Option<Stamp>) -> Seen {
    Seen::Wrong(Found { fault, stamp })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::sector::tests::{STAMP, stamped};

    const EXPECTED: Expected =
        Expected { address: 1 << 40, target: 7, run: 9, oldest: 3, newest: 3, is_in_flight: false };

    /// A block of sectors with these generations, at the right places.
    fn block(generations: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, generation) in (0..).zip(generations) {
            let address = STAMP.address + number * SECTOR_BYTES as u64;
            bytes.extend(stamped(Stamp { address, generation: *generation, ..STAMP }));
        }
        bytes
    }

    fn fault(bytes: &[u8], expected: &Expected) -> Option<Fault> {
        match judge(bytes, expected) {
            Seen::Wrong(found) => Some(found.fault),
            _ => None,
        }
    }

    #[test]
    fn a_durable_write_must_be_there() {
        assert_eq!(judge(&block(&[3; 8]), &EXPECTED), Seen::Newest);
        assert_eq!(fault(&block(&[2; 8]), &EXPECTED), Some(Fault::Missing), "a lost write");
        assert_eq!(fault(&[0; 4096], &EXPECTED), Some(Fault::Missing), "nothing was ever written");
        assert_eq!(fault(&block(&[3, 3, 2, 3]), &EXPECTED), Some(Fault::Torn));
        assert_eq!(fault(&block(&[4; 8]), &EXPECTED), Some(Fault::Missing), "no such write was made");
        let mut zeros_behind = block(&[3, 3]);
        zeros_behind.extend([0; 1024]);
        assert_eq!(fault(&zeros_behind, &EXPECTED), Some(Fault::Torn));
        assert_eq!(fault(&[9; 4096], &EXPECTED), Some(Fault::Foreign));
        let mut flipped = block(&[3; 8]);
        flipped[3000] ^= 4;
        assert_eq!(fault(&flipped, &EXPECTED), Some(Fault::Damaged));
        let elsewhere = Expected { address: 1 << 20, ..EXPECTED };
        assert_eq!(fault(&block(&[3; 8]), &elsewhere), Some(Fault::Misplaced));
        for other in [Expected { run: 1, ..EXPECTED }, Expected { target: 1, ..EXPECTED }] {
            assert_eq!(fault(&block(&[3; 8]), &other), Some(Fault::Foreign));
        }
    }

    #[test]
    fn what_was_not_durable_may_be_either() {
        let either = Expected { oldest: 3, newest: 5, ..EXPECTED };
        assert_eq!(judge(&block(&[5; 8]), &either), Seen::Newest);
        assert_eq!(judge(&block(&[3; 8]), &either), Seen::Older);
        assert_eq!(fault(&block(&[2; 8]), &either), Some(Fault::Missing), "older than the last durable one");
        assert_eq!(fault(&block(&[3, 4]), &either), Some(Fault::Torn), "each write was completed");
        let in_flight = Expected { is_in_flight: true, ..either };
        assert_eq!(judge(&block(&[3, 5]), &in_flight), Seen::Older);
        assert_eq!(fault(&block(&[2, 5]), &in_flight), Some(Fault::Missing));
        let first = Expected { oldest: 0, newest: 1, is_in_flight: true, ..EXPECTED };
        assert_eq!(judge(&[9; 4096], &first), Seen::Nothing, "what was there before");
        let mut half = block(&[1, 1]);
        half.extend([9; 512]);
        assert_eq!(judge(&half, &first), Seen::Older);
        assert_eq!(fault(&half, &Expected { is_in_flight: false, ..first }), Some(Fault::Torn));
    }
}

//! A disk of two files that acknowledges everything and is wrong at places that a seed chooses. `support::gate` serves
//! its files.
//!
//! It keeps beside what it stores a hash of what it was told to store. So it knows which blocks it answers wrongly
//! without the help of what is tested.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};

/// The unit that faults are planted in.
pub const BLOCK: usize = 4096;
/// The length of the I/Os of a test. What the program reads before and after it is of other lengths.
pub const IO_BYTES: usize = 16 * BLOCK;
const SECTOR: usize = 512;
/// Places of each kind.
pub const PLANTED: usize = 1000;

/// What goes wrong with a block of the first file, from its second write on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A write is acknowledged and not stored.
    Lost,
    /// A read gives the write before the last one.
    Stale,
    /// Only the first sectors of a write are stored.
    Torn,
    /// A write is stored at another place instead.
    Misplaced,
    /// A bit is stored wrong.
    FlipStored,
    /// A bit is read wrong.
    FlipRead,
    /// A write is stored in the other file instead.
    OtherFile,
    /// A read gives what the other file has there.
    OtherFileRead,
    /// A read ends in the middle of the block.
    Short,
    /// A write is stored at its place, and at another one too.
    Twice,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Lost,
        Kind::Stale,
        Kind::Torn,
        Kind::Misplaced,
        Kind::FlipStored,
        Kind::FlipRead,
        Kind::OtherFile,
        Kind::OtherFileRead,
        Kind::Short,
        Kind::Twice,
    ];

    /// The word of the program for a block of this kind that is wrong; none where only its victim is.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Kind::Lost | Kind::Stale | Kind::Misplaced | Kind::OtherFile => Some("missing"),
            Kind::Torn => Some("torn"),
            Kind::FlipStored | Kind::FlipRead => Some("damaged"),
            Kind::OtherFileRead => Some("foreign"),
            Kind::Short => Some("unread"),
            Kind::Twice => None,
        }
    }

    /// The word for the block that was written over instead of this one or beside it, and the file of that.
    pub fn victim(self) -> Option<(usize, &'static str)> {
        match self {
            Kind::Misplaced | Kind::Twice => Some((0, "misplaced")),
            Kind::OtherFile => Some((1, "foreign")),
            _ => None,
        }
    }
}

/// What is planted at a block of the first file.
#[derive(Debug, Clone, Copy)]
struct Plant {
    kind: Kind,
    /// The block that is written over, for the kinds that have one.
    victim: usize,
    /// Which bit is flipped; also how many sectors are stored of a write.
    draw: usize,
}

#[derive(Debug)]
pub struct Disk {
    stored: [Vec<u8>; 2],
    /// A hash of what each block must hold.
    told: [Vec<u64>; 2],
    /// What stale blocks held before their last write.
    before: BTreeMap<usize, Vec<u8>>,
    writes: [Vec<u32>; 2],
    plants: BTreeMap<usize, Plant>,
    /// The words for what is planted, by file and block.
    words: BTreeMap<(usize, usize), &'static str>,
    /// The first file takes no writes any more when each of its blocks, from the second on, has so many.
    last_write: Option<u32>,
    fails_flushes: bool,
    flushed_blocks: usize,
    /// Blocks of reads of the test that were answered wrongly, of each file.
    pub wrong_reads: [u64; 2],
    /// The blocks of the first file that were answered wrongly and that something was planted at.
    found: BTreeSet<(usize, usize)>,
}

impl Disk {
    /// A disk whose files have so many blocks, with faults of these kinds at places that a seed chooses. The first
    /// block of each file is left alone.
    pub fn new(blocks: usize, kinds: &[Kind], seed: u64) -> Self {
        let mut state = seed;
        let mut draw = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let mut places: Vec<usize> = (1..blocks).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, draw() % (last + 1));
        }
        let (mut plants, mut words) = (BTreeMap::new(), BTreeMap::new());
        for kind in kinds {
            for _ in 0..PLANTED {
                let mut place = places.pop().expect("enough places");
                let mut victim = place;
                if let Some((0, _)) = kind.victim() {
                    let other = places.pop().expect("enough places");
                    // One that is written in order has passed its victim.
                    (victim, place) = (place.min(other), place.max(other));
                }
                plants.insert(place, Plant { kind: *kind, victim, draw: draw() });
                words.extend(kind.word().map(|word| ((0, place), word)));
                words.extend(kind.victim().map(|(file, word)| ((file, victim), word)));
            }
        }
        Disk {
            stored: [vec![0; blocks * BLOCK], vec![0; blocks * BLOCK]],
            told: [vec![0; blocks], vec![0; blocks]],
            before: BTreeMap::new(),
            writes: [vec![0; blocks], vec![0; blocks]],
            plants,
            words,
            last_write: None,
            fails_flushes: false,
            flushed_blocks: 0,
            wrong_reads: [0, 0],
            found: BTreeSet::new(),
        }
    }

    /// The same; it takes no writes of the first file when it has so many of each block.
    pub fn until(mut self, writes: u32) -> Self {
        self.last_write = Some(writes);
        self
    }

    pub fn file_bytes(&self) -> u64 {
        self.stored[0].len() as u64
    }

    pub fn is_over(&self) -> bool {
        self.last_write.is_some_and(|last| self.writes[0][1..].iter().all(|&count| count >= last))
    }

    /// Whether each block of a file was written, from the second on.
    pub fn is_written(&self, file: usize) -> bool {
        self.writes[file][1..].iter().all(|&count| count > 0)
    }

    /// From now on it says that flushes fail.
    pub fn fail_flushes(&mut self) {
        self.fails_flushes = true;
    }

    /// How many blocks had been written when the last flush succeeded.
    pub fn flushed_blocks(&self) -> usize {
        self.flushed_blocks
    }

    /// The word for what is planted there.
    pub fn word(&self, file: usize, block: usize) -> Option<&'static str> {
        self.words.get(&(file, block)).copied()
    }

    /// How many places for which there is a word have been answered wrongly, and how many there are.
    pub fn found(&self) -> (usize, usize) {
        (self.found.len(), self.words.len())
    }

    /// Answers a flush; the number of an error, or 0.
    pub fn flush(&mut self) -> i32 {
        if self.fails_flushes {
            return libc::EIO;
        }
        self.flushed_blocks = self.writes[0].iter().filter(|&&count| count > 0).count();
        0
    }

    pub fn write(&mut self, file: usize, offset: u64, data: &[u8]) {
        let first = offset as usize / BLOCK;
        for (number, data) in data.chunks(BLOCK).enumerate() {
            self.write_block(file, first + number, data);
        }
    }

    fn write_block(&mut self, file: usize, block: usize, data: &[u8]) {
        let place = block * BLOCK..block * BLOCK + data.len();
        self.told[file][block] = hash(data);
        self.writes[file][block] += 1;
        let planted = self.plants.get(&block).filter(|_| file == 0 && self.writes[0][block] > 1);
        let Some(&Plant { kind, victim, draw }) = planted else {
            return self.stored[file][place].copy_from_slice(data);
        };
        let victim = victim * BLOCK..victim * BLOCK + data.len();
        match kind {
            Kind::Lost => {}
            Kind::Torn => {
                let some = SECTOR * (1 + draw % (BLOCK / SECTOR - 1));
                self.stored[0][place.start..place.start + some].copy_from_slice(&data[..some]);
            }
            Kind::Misplaced => self.stored[0][victim].copy_from_slice(data),
            Kind::OtherFile => self.stored[1][victim].copy_from_slice(data),
            _ => {
                if kind == Kind::Stale {
                    self.before.insert(block, self.stored[0][place.clone()].to_vec());
                }
                self.stored[0][place.clone()].copy_from_slice(data);
                if kind == Kind::Twice {
                    self.stored[0][victim].copy_from_slice(data);
                }
                if kind == Kind::FlipStored {
                    flip(&mut self.stored[0][place], draw);
                }
            }
        }
    }

    pub fn read(&mut self, file: usize, offset: u64, len: u32) -> Vec<u8> {
        let end = (offset as usize + len as usize).min(self.stored[file].len());
        let mut data = self.stored[file][(offset as usize).min(end)..end].to_vec();
        // The program looks at parts of blocks before the test and after it.
        if !(offset as usize | data.len()).is_multiple_of(BLOCK) {
            return data;
        }
        let first = offset as usize / BLOCK;
        let mut whole = data.len();
        for (number, data) in data.chunks_mut(BLOCK).enumerate() {
            let block = first + number;
            let planted = self.plants.get(&block).filter(|_| file == 0 && self.writes[0][block] > 1);
            match planted {
                Some(Plant { kind: Kind::Stale, .. }) => data.copy_from_slice(&self.before[&block]),
                Some(Plant { kind: Kind::FlipRead, draw, .. }) => flip(data, *draw),
                // Nothing could tell zeros from a write that is missing.
                Some(Plant { kind: Kind::OtherFileRead, .. }) if self.writes[1][block] > 0 => {
                    data.copy_from_slice(&self.stored[1][block * BLOCK..(block + 1) * BLOCK]);
                }
                Some(Plant { kind: Kind::Short, .. }) => whole = whole.min(number * BLOCK + data.len() / 2),
                _ => {}
            }
            let is_wrong = hash(data) != self.told[file][block] || (number + 1) * BLOCK > whole;
            if is_wrong && self.writes[file][block] > 0 {
                self.wrong_reads[file] += u64::from(len as usize == IO_BYTES);
                if self.words.contains_key(&(file, block)) {
                    self.found.insert((file, block));
                }
            }
        }
        data.truncate(whole);
        data
    }
}

fn flip(block: &mut [u8], draw: usize) {
    let bit = draw % (block.len() * 8);
    block[bit / 8] ^= 1 << (bit % 8);
}

fn hash(block: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(block);
    hasher.finish()
}

//! What one thread does on a verified target: it claims blocks, stamps what it writes, and checks what it reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::judge::{Fault, Found, Seen, judge};
use super::log::Durable;
use super::map::BlockMap;
use super::sector::{SECTOR_BYTES, Stamp, stamp};

/// Wrong blocks of which all is kept; the others are counted.
const KEPT: usize = 16;
/// Places that are drawn for an I/O before it has to wait for others to end.
pub const TRIES: u32 = 16;

/// What a thread counted on a target, all phases included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks of writes that were completed.
    pub written_blocks: u64,
    /// Blocks that were read and checked.
    pub checked_blocks: u64,
    /// Blocks that were read and that the run had not written before.
    pub unknown_blocks: u64,
    /// Blocks that were not what they must be.
    pub wrong_blocks: u64,
    /// Places that were given up for another, because an I/O was under way there.
    pub moved_ios: u64,
    /// I/Os that had to wait, because one was under way everywhere they tried.
    pub held_ios: u64,
    /// The first wrong blocks, by their addresses.
    pub wrong: Vec<(u64, Found)>,
}

impl Counts {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &Counts) {
        self.written_blocks += other.written_blocks;
        self.checked_blocks += other.checked_blocks;
        self.unknown_blocks += other.unknown_blocks;
        self.wrong_blocks += other.wrong_blocks;
        self.moved_ios += other.moved_ios;
        self.held_ios += other.held_ios;
        self.wrong.extend(&other.wrong);
        self.wrong.truncate(KEPT);
    }
}

/// What a thread needs for the proof of a target.
#[derive(Debug)]
pub struct Checker {
    map: Arc<BlockMap>,
    thread: u32,
    /// Completed writes that no flush covers yet, the oldest first; empty where no flush follows.
    waiting: VecDeque<(usize, u32)>,
    /// How many were there before the first of them.
    passed: u64,
    /// Flushes of this thread cover its writes (`--flush-every`).
    flushes: bool,
    /// Where what becomes durable is told; none where no log is kept, or it was lost.
    telling: Option<Telling>,
    counts: Counts,
}

/// What a log is told by a thread.
#[derive(Debug)]
struct Telling {
    log: SyncSender<Entry>,
    durable: Vec<Durable>,
    since: Instant,
}

/// What threads send to the one that writes the log.
#[derive(Debug)]
pub enum Entry {
    /// Blocks that are durable now.
    Durable(Vec<Durable>),
    /// The run has ended: the log is closed, and later entries are not written.
    End,
}

/// A thread tells a log of so many blocks at once, or as often as this.
const TOLD_BLOCKS: usize = 256;
const TOLD_EVERY: Duration = Duration::from_millis(5);

impl Telling {
    /// Tells it at once or later; false where the log is lost. Waits where the log cannot keep up.
    fn tell(&mut self, durable: Durable) -> bool {
        self.durable.push(durable);
        let is_due = self.durable.len() >= TOLD_BLOCKS || self.since.elapsed() >= TOLD_EVERY;
        !is_due || self.tell_all()
    }

    fn tell_all(&mut self) -> bool {
        self.since = Instant::now();
        self.log.send(Entry::Durable(std::mem::take(&mut self.durable))).is_ok()
    }
}

impl Checker {
    /// The part of a thread with this number.
    pub fn new(map: Arc<BlockMap>, thread: u32, flushes: bool) -> Self {
        let flushes = flushes && !map.is_write_through();
        Checker {
            map,
            thread,
            waiting: VecDeque::new(),
            passed: 0,
            flushes,
            telling: None,
            counts: Counts::default(),
        }
    }

    /// Tells `log` what becomes durable.
    pub fn telling(mut self, log: Option<SyncSender<Entry>>) -> Self {
        self.telling = log.map(|log| Telling { log, durable: Vec::new(), since: Instant::now() });
        self
    }

    /// What this thread counted, at its end.
    pub fn into_counts(mut self) -> Counts {
        if let Some(telling) = &mut self.telling {
            telling.tell_all();
        }
        self.counts
    }

    /// Takes the blocks of an I/O; false where another I/O is under way there.
    pub fn claim(&mut self, offset: u64, bytes: u32) -> bool {
        let is_free = self.map.claim(self.map.blocks(offset, bytes));
        self.counts.moved_ios += u64::from(!is_free);
        is_free
    }

    /// An I/O tried so often in vain that it waits.
    pub fn hold(&mut self) {
        self.counts.held_ios += 1;
    }

    /// Stamps the data of a write of claimed blocks at `offset`, at `now_ns` on the clock of the run.
    pub fn stamp(&self, data: &mut [u8], offset: u64, now_ns: u64) {
        let header = self.map.header();
        let mut next = Stamp {
            address: offset,
            target: header.target,
            run: header.run,
            generation: 0,
            thread: self.thread,
            issued_ns: now_ns.saturating_sub(header.start_ns),
        };
        let blocks = self.map.blocks(offset, data.len() as u32);
        for (block, bytes) in blocks.zip(data.chunks_mut(header.block_bytes as usize)) {
            next.generation = self.map.begin_write(block);
            for sector in bytes.as_chunks_mut::<SECTOR_BYTES>().0 {
                stamp(sector, &next);
                next.address += SECTOR_BYTES as u64;
            }
        }
    }

    /// A write of claimed blocks was completed, of which the first `done` bytes were written.
    pub fn complete_write(&mut self, offset: u64, bytes: u32, done: u32) {
        let written = self.map.blocks(offset, done);
        self.counts.written_blocks += written.len() as u64;
        for block in written {
            let generation = self.map.complete_write(block);
            if self.flushes {
                self.waiting.push_back((block, generation));
            } else if self.map.is_write_through() {
                self.tell((block, generation));
            }
        }
        self.map.release(self.map.blocks(offset, bytes));
    }

    /// Checks what a read of claimed blocks gave; `data` is what was read. Blocks that it did not get are unread.
    pub fn complete_read(&mut self, offset: u64, bytes: u32, data: &[u8]) {
        let blocks = self.map.blocks(offset, bytes);
        let mut read = data.chunks_exact(self.map.header().block_bytes as usize);
        for block in blocks.clone() {
            let data = read.next();
            let expected = self.map.expected(block, true);
            if expected.newest == 0 || expected.is_in_flight {
                self.counts.unknown_blocks += 1;
                continue;
            }
            self.counts.checked_blocks += 1;
            let seen = match data {
                Some(data) => judge(data, &expected),
                None => Seen::Wrong(Found { fault: Fault::Unread, stamp: None }),
            };
            if let Seen::Wrong(found) = seen {
                self.counts.wrong_blocks += 1;
                if self.counts.wrong.len() < KEPT {
                    self.counts.wrong.push((expected.address, found));
                }
            }
        }
        self.map.release(blocks);
    }

    /// What a flush covers that is issued now.
    pub fn begin_flush(&self) -> u64 {
        self.passed + self.waiting.len() as u64
    }

    /// A flush was completed that covers so much.
    pub fn complete_flush(&mut self, covered: u64) {
        while self.passed < covered {
            let Some((block, generation)) = self.waiting.pop_front() else { break };
            self.map.note_flushed(block, generation);
            self.tell((block, generation));
            self.passed += 1;
        }
    }

    fn tell(&mut self, durable: Durable) {
        if let Some(telling) = &mut self.telling
            && !telling.tell(durable)
        {
            self.telling = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::map::tests::header;

    fn checker(is_write_through: bool) -> (tempfile::TempDir, Checker) {
        let dir = tempfile::tempdir().unwrap();
        let map = BlockMap::create(&dir.path().join("map"), header(64, is_write_through)).unwrap();
        (dir, Checker::new(Arc::new(map), 1, true))
    }

    #[test]
    fn what_was_written_is_what_a_read_must_give() {
        let (_dir, mut checker) = checker(true);
        let (at, mut data) = (8192 + 4096, vec![7; 8192]);
        assert!(checker.claim(at, 8192) && !checker.claim(at + 4096, 4096));
        checker.stamp(&mut data, at, 5);
        checker.complete_write(at, 8192, 8192);
        let old = data.clone();
        assert!(checker.claim(at, 8192));
        checker.stamp(&mut data, at, 6);
        checker.complete_write(at, 8192, 8192);
        for read in [&data, &old] {
            assert!(checker.claim(at, 8192));
            checker.complete_read(at, 8192, read);
        }
        assert!(checker.claim(8192, 4096));
        checker.complete_read(8192, 4096, &[0; 4096]);
        assert!(checker.claim(at, 8192));
        checker.complete_read(at, 8192, &data[..6000]);
        let counts = checker.counts;
        assert_eq!((counts.written_blocks, counts.checked_blocks, counts.unknown_blocks), (4, 6, 1));
        assert_eq!((counts.wrong_blocks, counts.moved_ios), (3, 1));
        let (address, found) = counts.wrong[2];
        assert_eq!((address, found.fault), (at + 4096, Fault::Unread));
        let (address, found) = counts.wrong[0];
        assert_eq!((address, found.fault, found.stamp.unwrap().issued_ns), (at, Fault::Missing, 4));
    }

    #[test]
    fn a_flush_covers_what_was_completed_before_it_was_issued() {
        let (_dir, mut checker) = checker(false);
        let mut data = vec![7; 4096];
        let mut covered = 0;
        for place in 2..4 {
            assert!(checker.claim(place * 4096, 4096));
            checker.stamp(&mut data, place * 4096, 0);
            checker.complete_write(place * 4096, 4096, 4096);
            if place == 2 {
                covered = checker.begin_flush();
            }
        }
        checker.complete_flush(covered);
        assert_eq!(checker.map.expected(0, false).oldest, 1);
        assert_eq!(checker.map.expected(1, false).oldest, 0);
    }
}

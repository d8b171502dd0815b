//! Maps and logs of verified tests, which other hosts and people hand in: whatever sizes a header claims, nothing is laid out
//! for it.

use std::fs;
use std::path::Path;

use truespd_core::verify::log;
use truespd_core::verify::{BlockMap, MapHeader};

use super::change;
use super::doors::{Door, assert_says_something};
use crate::support::documents::Random;

/// Headers that a run writes, or would if its numbers were possible.
fn header(random: &mut Random) -> MapHeader {
    let mut number = |usual: u64| match random.below(4) {
        0 => random.below(usual.max(1)),
        1 => 1 << random.below(63),
        2 => u64::MAX - random.below(3),
        _ => usual,
    };
    MapHeader {
        version: if number(1) == 0 { 2 } else { 1 },
        name: "/t".into(),
        thing: None,
        size_bytes: number(1 << 20),
        base_bytes: number(8192),
        block_bytes: number(4096),
        blocks: number(100),
        run: 5,
        target: 6,
        is_write_through: number(2) > 1,
        start_ns: 1,
        is_closed: number(2) > 1,
        is_flushed: false,
    }
}

/// Logs with checksums that are right, and such that were changed after.
pub struct VerifyLogs;

impl Door for VerifyLogs {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = Vec::new();
        log::begin(&mut bytes, &header(random)).expect("memory");
        for _ in 0..random.below(5) {
            let block = if random.below(4) == 0 {
                usize::MAX >> random.below(60)
            } else {
                random.below(100) as usize
            };
            log::tell(&mut bytes, &[(block, random.below(1 << 32) as u32)]).expect("memory");
        }
        if random.below(2) == 0 {
            return bytes;
        }
        let text = String::from_utf8(bytes).expect("text");
        change::text(&text, std::slice::from_ref(&text), random)
    }

    fn try_input(&self, input: &[u8]) {
        match log::read(Path::new("l"), &mut &input[..], &|_| Ok(())) {
            Ok(map) => {
                let blocks = map.header().blocks.min(1 << 16) as usize;
                let written = map.next_written(0..blocks);
                assert!(written.is_none_or(|block| map.expected(block, false).newest > 0));
            }
            Err(error) => assert_says_something(&error),
        }
    }
}

/// Files of maps that were changed, cut, or drawn out to a length that their header claims.
pub struct VerifyMaps {
    folder: tempfile::TempDir,
    whole: Vec<u8>,
}

impl VerifyMaps {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map");
        let header = MapHeader {
            size_bytes: 1 << 20,
            base_bytes: 0,
            block_bytes: 4096,
            blocks: 200,
            ..header(&mut Random(1))
        };
        let map = BlockMap::create(&path, MapHeader { is_write_through: true, ..header }).expect("a map");
        map.begin_write(7);
        map.complete_write(7);
        map.close().expect("a map");
        let whole = fs::read(&path).expect("a map");
        VerifyMaps { folder, whole }
    }
}

impl Door for VerifyMaps {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.whole.clone();
        for _ in 0..random.below(3) {
            let end = if random.below(2) == 0 { 400 } else { bytes.len() as u64 };
            let at = random.below(end) as usize;
            bytes[at] = random.below(256) as u8;
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        bytes
    }

    fn try_input(&self, input: &[u8]) {
        let path = self.folder.path().join("changed");
        fs::write(&path, input).expect("room");
        match BlockMap::open(&path, &|_| Ok(())) {
            Ok(map) => {
                assert!(map.next_written(0..map.header().blocks as usize).is_some_and(|block| block == 7))
            }
            Err(error) => assert_says_something(&error),
        }
    }
}

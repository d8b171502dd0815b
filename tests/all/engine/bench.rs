//! What the engines are held to account with: files on every kind of file system at hand, and a bench that drives an
//! engine slot by slot.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::needs::{Need, not_run};
use crate::support::runner::has_engine;
use truespd_core::engine::{
    AnyEngine, Completion, Engine, EngineError, EngineFile, EngineRow, Io, IoError, Op, Opened, Setup, TABLE,
};
use truespd_platform::sys::buffer::IoBuffer;

pub const BLOCK: u32 = 4096;
pub const DEPTH: u32 = 16;

/// Engines that move data and can be had here.
pub fn engines() -> Vec<&'static EngineRow> {
    // Polling needs a device for it: `ci/guest polled`. Commands need a namespace: `ci/guest commands`; what
    // they do with other targets, `commands_go_to_namespaces_only` holds.
    let is_general = |row: &&EngineRow| row.moves_data && !row.sends_commands && row.name != "io_uring_poll";
    let moves = TABLE.iter().filter(is_general);
    let here = moves.filter(|row| has_engine(row.name));
    let here: Vec<_> = here.collect();
    assert!(here.len() >= 3, "threads, psync and mmap are everywhere");
    here
}

/// A folder on each kind of file system: where cargo builds, where temporary files go, and memory.
pub fn folders() -> Vec<(String, tempfile::TempDir)> {
    let mut found: Vec<(String, tempfile::TempDir)> = Vec::new();
    let places =
        [PathBuf::from(env!("CARGO_TARGET_TMPDIR")), std::env::temp_dir(), PathBuf::from("/dev/shm")];
    for place in places.iter().filter(|p| p.is_dir()) {
        let Ok(stat) = rustix::fs::statfs(place) else { continue };
        let kind = match stat.f_type as u64 {
            0xef53 => "ext4".to_string(),
            0x0102_1994 => "tmpfs".to_string(),
            other => format!("file system {other:#x}"),
        };
        if found.iter().all(|(k, _)| *k != kind) {
            match tempfile::tempdir_in(place) {
                Ok(folder) => found.push((kind, folder)),
                Err(error) => eprintln!("{} is not for us: {error}", place.display()),
            }
        }
    }
    found
}

/// A file of `len` bytes whose 8-byte words hold their number plus `salt`.
pub fn make_file(path: &Path, len: usize, salt: u64) {
    let mut data: Vec<u8> = (0..len as u64 / 8 + 1).flat_map(|word| (word + salt).to_le_bytes()).collect();
    data.truncate(len);
    std::fs::write(path, data).expect("room for a test file");
}

pub fn open_flags(path: &Path, write: bool, flags: i32) -> std::io::Result<EngineFile> {
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)?;
    let size_bytes = file.metadata()?.len();
    Ok(EngineFile { handle: file.into(), size_bytes, ioprio: 0, map: None })
}

pub fn of_descriptor(fd: OwnedFd, size_bytes: u64) -> EngineFile {
    EngineFile { handle: File::from(fd).into(), size_bytes, ioprio: 0, map: None }
}

/// An engine with one buffer of `DEPTH` blocks, slot by slot.
pub struct Bench {
    pub engine: AnyEngine,
    pub memory: Arc<IoBuffer>,
    pub notes: Vec<String>,
}

impl Bench {
    pub fn try_new(row: &EngineRow, files: Vec<EngineFile>, registered: bool) -> Result<Self, EngineError> {
        let memory = Arc::new(IoBuffer::new((DEPTH * BLOCK) as usize).expect("memory"));
        let setup = Setup {
            depth: DEPTH,
            files,
            regions: vec![Arc::clone(&memory)],
            registered_buffers: registered,
            trims: row.trims,
            parameters: String::new(),
        };
        let Opened { engine, notes } = (row.open)(setup)?;
        Ok(Bench { engine, memory, notes })
    }

    pub fn new(row: &EngineRow, file: EngineFile) -> Self {
        Self::try_new(row, vec![file], true).unwrap_or_else(|e| panic!("{}: {e}", row.name))
    }

    pub fn io(slot: u32, op: Op, offset: u64, len: u32) -> Io {
        Io { slot, file: 0, region: 0, op, len, region_offset: u64::from(slot * BLOCK), offset }
    }

    pub fn set(&self, slot: u32, fill: impl Fn(usize) -> u8) {
        self.memory.with_slice_mut((slot * BLOCK) as usize, BLOCK as usize, |bytes| {
            for (j, byte) in bytes.iter_mut().enumerate() {
                *byte = fill(j);
            }
        });
    }

    pub fn get(&self, slot: u32, len: usize) -> Vec<u8> {
        self.memory.with_slice_mut((slot * BLOCK) as usize, len, |bytes| bytes.to_vec())
    }

    /// One I/O from slot 0, waited for.
    pub fn one(&mut self, op: Op, offset: u64, len: u32) -> Result<u32, i32> {
        self.engine.submit(&[Self::io(0, op, offset, len)]).expect("submit");
        let mut done = Vec::new();
        while done.is_empty() {
            self.engine.reap(1, 1, None, &mut done).expect("reap");
        }
        assert_eq!((done.len(), done[0].slot, self.engine.in_flight()), (1, 0, 0));
        done[0].result.map_err(IoError::number)
    }

    /// Runs I/Os as (operation, offset) at full depth; `before` sees each slot before its I/O, `after`
    /// afterwards. Every slot comes back exactly once per I/O.
    pub fn run(
        &mut self,
        ios: &[(Op, u64)],
        before: impl Fn(&Bench, u32, (Op, u64)),
        after: impl Fn(&Bench, u32, (Op, u64), Result<u32, i32>),
    ) {
        let mut idle: VecDeque<u32> = (0..DEPTH).collect();
        let mut carries = [None; DEPTH as usize];
        let mut next = ios.iter();
        let mut finished = 0;
        let mut done: Vec<Completion> = Vec::new();
        while finished < ios.len() {
            let mut batch = Vec::new();
            while let Some(slot) = idle.pop_front() {
                let Some(&io) = next.next() else {
                    idle.push_front(slot);
                    break;
                };
                before(self, slot, io);
                carries[slot as usize] = Some(io);
                batch.push(Self::io(slot, io.0, io.1, BLOCK));
            }
            self.engine.submit(&batch).expect("submit");
            assert_eq!(self.engine.in_flight() as usize, DEPTH as usize - idle.len());
            // Sometimes more than one is wanted, sometimes fewer may be given.
            let in_flight = self.engine.in_flight();
            let min = (finished as u32 % 3 + 1).min(in_flight);
            done.clear();
            self.engine.reap(min, min.max(7), None, &mut done).expect("reap");
            assert!(done.len() <= min.max(7) as usize);
            for completion in &done {
                let io = carries[completion.slot as usize].take();
                let io = io.unwrap_or_else(|| panic!("slot {} came back twice", completion.slot));
                after(self, completion.slot, io, completion.result.map_err(IoError::number));
                idle.push_back(completion.slot);
                finished += 1;
            }
        }
        assert_eq!(self.engine.in_flight(), 0);
        assert!(carries.iter().all(Option::is_none));
    }
}

/// Numbers without a pattern, the same in every run.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }

    pub fn shuffled(&mut self, count: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..count).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i as u64 + 1) as usize);
        }
        all
    }
}

/// Runs `check` for every engine, kind of file system, and both kinds of descriptor that fit the engine.
pub fn everywhere(file_len: usize, check: impl Fn(&EngineRow, &str, &Path, EngineFile)) {
    let mut ran = 0;
    for (kind, folder) in folders() {
        for row in engines() {
            for direct in [false, true] {
                if direct && row.name == "mmap" {
                    continue;
                }
                let path = folder.path().join(format!("{}-{direct}", row.name));
                make_file(&path, file_len, 0);
                let what = format!("{} on {kind}, {}", row.name, if direct { "direct" } else { "buffered" });
                match open_flags(&path, true, if direct { libc::O_DIRECT } else { 0 }) {
                    Ok(file) => check(row, &what, &path, file),
                    // Memory takes direct I/O since Linux 6.6.
                    Err(_) if kind == "tmpfs" => {}
                    Err(_) => not_run(Need::DirectIo),
                }
                ran += 1;
            }
        }
    }
    assert!(ran >= 5, "at least one folder with all engines");
}

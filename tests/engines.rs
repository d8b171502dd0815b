//! Conformance: one set of demands on every engine that moves data, on real files, buffered and direct,
//! on every kind of file system at hand.

#[allow(dead_code)]
#[path = "gate/mod.rs"]
mod gate;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gate::Gate;
use truespd::engine::{
    self, Completion, Engine, EngineError, EngineFile, EngineRow, Io, LADDER, MapFlush, MapMode, Op, Opened,
    Setup, TABLE,
};
use truespd::sys::buffer::IoBuffer;

const BLOCK: u32 = 4096;
const DEPTH: u32 = 16;

/// What may be missing in CI without failing there: engines, "FUSE", or a file system with "direct".
const MAY_BE_MISSING_IN_CI: &[&str] = &["tmpfs direct"];

/// Says that something is not available here; in CI that is a failure unless listed.
fn not_available(what: &str, why: &dyn std::fmt::Display) {
    eprintln!("not available here: {what}: {why}");
    let excused = MAY_BE_MISSING_IN_CI.contains(&what);
    assert!(std::env::var_os("CI").is_none() || excused, "{what} has to be available in CI: {why}");
}

/// Engines that move data and can be had here.
fn engines() -> Vec<&'static EngineRow> {
    // Polling needs a device for it: `ci/guest polled`.
    let moves = TABLE.iter().filter(|row| row.moves_data && row.name != "io_uring_poll");
    let here = moves.filter(|row| match (row.probe)() {
        Ok(()) => true,
        Err(error) => {
            not_available(row.name, &error);
            false
        }
    });
    let here: Vec<_> = here.collect();
    assert!(here.len() >= 3, "threads, psync and mmap are everywhere");
    here
}

/// A folder on each kind of file system: where cargo builds, where temporary files go, and memory.
fn folders() -> Vec<(String, tempfile::TempDir)> {
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
fn make_file(path: &Path, len: usize, salt: u64) {
    let mut data: Vec<u8> = (0..len as u64 / 8 + 1).flat_map(|word| (word + salt).to_le_bytes()).collect();
    data.truncate(len);
    std::fs::write(path, data).expect("room for a test file");
}

fn open_flags(path: &Path, write: bool, flags: i32) -> std::io::Result<EngineFile> {
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)?;
    let size_bytes = file.metadata()?.len();
    Ok(EngineFile { fd: Arc::new(OwnedFd::from(file)), size_bytes, ioprio: 0, map: None })
}

fn of_descriptor(fd: OwnedFd, size_bytes: u64) -> EngineFile {
    EngineFile { fd: Arc::new(fd), size_bytes, ioprio: 0, map: None }
}

/// An engine with one buffer of `DEPTH` blocks, slot by slot.
struct Bench {
    engine: Box<dyn Engine>,
    memory: Arc<IoBuffer>,
    notes: Vec<String>,
}

impl Bench {
    fn try_new(row: &EngineRow, files: Vec<EngineFile>, registered: bool) -> Result<Self, EngineError> {
        let memory = Arc::new(IoBuffer::new((DEPTH * BLOCK) as usize).expect("memory"));
        let setup = Setup {
            depth: DEPTH,
            files,
            regions: vec![Arc::clone(&memory)],
            registered_buffers: registered,
            parameters: String::new(),
        };
        let Opened { engine, notes } = (row.open)(setup)?;
        Ok(Bench { engine, memory, notes })
    }

    fn new(row: &EngineRow, file: EngineFile) -> Self {
        Self::try_new(row, vec![file], true).unwrap_or_else(|e| panic!("{}: {e}", row.name))
    }

    fn io(slot: u32, op: Op, offset: u64, len: u32) -> Io {
        Io { slot, file: 0, region: 0, op, len, region_offset: u64::from(slot * BLOCK), offset }
    }

    fn set(&self, slot: u32, fill: impl Fn(usize) -> u8) {
        self.memory.with_slice_mut((slot * BLOCK) as usize, BLOCK as usize, |bytes| {
            for (j, byte) in bytes.iter_mut().enumerate() {
                *byte = fill(j);
            }
        });
    }

    fn get(&self, slot: u32, len: usize) -> Vec<u8> {
        self.memory.with_slice_mut((slot * BLOCK) as usize, len, |bytes| bytes.to_vec())
    }

    /// One I/O from slot 0, waited for.
    fn one(&mut self, op: Op, offset: u64, len: u32) -> Result<u32, i32> {
        self.engine.submit(&[Self::io(0, op, offset, len)]).expect("submit");
        let mut done = Vec::new();
        while done.is_empty() {
            self.engine.reap(1, 1, None, &mut done).expect("reap");
        }
        assert_eq!((done.len(), done[0].slot, self.engine.in_flight()), (1, 0, 0));
        done[0].result
    }

    /// Runs I/Os as (operation, offset) at full depth; `before` sees each slot before its I/O, `after`
    /// afterwards. Every slot comes back exactly once per I/O.
    fn run(
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
                after(self, completion.slot, io, completion.result);
                idle.push_back(completion.slot);
                finished += 1;
            }
        }
        assert_eq!(self.engine.in_flight(), 0);
        assert!(carries.iter().all(Option::is_none));
    }
}

/// Numbers without a pattern, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }

    fn shuffled(&mut self, count: u64) -> Vec<u64> {
        let mut all: Vec<u64> = (0..count).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i as u64 + 1) as usize);
        }
        all
    }
}

/// Runs `check` for every engine, kind of file system, and both kinds of descriptor that fit the engine.
fn everywhere(file_len: usize, check: impl Fn(&EngineRow, &str, &Path, EngineFile)) {
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
                    Err(error) => not_available(&format!("{kind} direct"), &error),
                }
                ran += 1;
            }
        }
    }
    assert!(ran >= 5, "at least one folder with all engines");
}

#[test]
fn written_out_of_order_read_back_out_of_order() {
    const BLOCKS: u64 = 200;
    everywhere(BLOCKS as usize * BLOCK as usize, |row, what, path, file| {
        let mut bench = Bench::new(row, file);
        let byte = |offset: u64, j: usize| ((offset / 4096) as usize * 31 + j * 7 + j / 256) as u8;
        let whole = |what: &str, result| assert_eq!(result, Ok(BLOCK), "{what}");
        let writes: Vec<_> = Draw(1).shuffled(BLOCKS).iter().map(|b| (Op::Write, b * 4096)).collect();
        bench.run(
            &writes,
            |bench, slot, (_, offset)| bench.set(slot, |j| byte(offset, j)),
            |_, _, _, result| whole(what, result),
        );
        let reads: Vec<_> = Draw(2).shuffled(BLOCKS).iter().map(|b| (Op::Read, b * 4096)).collect();
        bench.run(
            &reads,
            |bench, slot, _| bench.set(slot, |_| 0xa5),
            |bench, slot, (_, offset), result| {
                whole(what, result);
                let expected: Vec<u8> = (0..BLOCK as usize).map(|j| byte(offset, j)).collect();
                assert_eq!(bench.get(slot, BLOCK as usize), expected, "{what} at {offset}");
            },
        );
        drop(bench);
        let data = std::fs::read(path).expect("the file is still there");
        assert!(
            (0..data.len()).all(|at| data[at] == byte(at as u64, at % 4096)),
            "{what}: others see it too"
        );
    });
}

#[test]
fn reads_end_at_the_end_of_the_file() {
    everywhere(3 * BLOCK as usize + 100, |row, what, _, file| {
        let mut bench = Bench::new(row, file);
        bench.set(0, |_| 0xee);
        assert_eq!(bench.one(Op::Read, 3 * 4096, BLOCK), Ok(100), "{what}");
        let expected: Vec<u8> = (3 * 512..3 * 512 + 12u64).flat_map(u64::to_le_bytes).collect();
        assert_eq!(bench.get(0, 96), expected, "{what}");
        assert_eq!(bench.one(Op::Read, 4 * 4096, BLOCK), Ok(0), "{what}: beyond the end");
        assert_eq!(bench.one(Op::Read, 1 << 40, BLOCK), Ok(0), "{what}: far beyond the end");
        assert_eq!(bench.one(Op::Read, 0, BLOCK), Ok(BLOCK), "{what}: nothing is broken afterwards");
    });
}

#[test]
fn errors_are_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    make_file(&path, 64 * 1024, 0);
    for row in engines() {
        let mut bench = Bench::new(row, open_flags(&path, false, 0).expect("readable"));
        assert_eq!(bench.one(Op::Write, 0, BLOCK), Err(libc::EBADF), "{}: write, read-only", row.name);
        assert_eq!(bench.one(Op::Read, 0, BLOCK), Ok(BLOCK), "{}: it goes on", row.name);
        let write_only = File::options().write(true).open(&path).expect("writable");
        let write_only = of_descriptor(write_only.into(), 64 * 1024);
        let directory = of_descriptor(File::open(folder.path()).expect("a folder").into(), 4096);
        if row.name == "mmap" {
            let told =
                Bench::try_new(row, vec![write_only], true).err().expect("cannot be mapped").to_string();
            assert!(told.contains("opened for reading") && told.contains("file ("), "{told}");
            let told =
                Bench::try_new(row, vec![directory], true).err().expect("cannot be mapped").to_string();
            assert!(told.contains("cannot be mapped"), "{told}");
            continue;
        }
        let mut bench = Bench::new(row, write_only);
        assert_eq!(bench.one(Op::Read, 0, BLOCK), Err(libc::EBADF), "{}: read, write-only", row.name);
        let mut bench = Bench::new(row, directory);
        let read = bench.one(Op::Read, 0, BLOCK);
        // A directory has no asynchronous reads at all, which libaio tells otherwise.
        assert!(matches!(read, Err(libc::EISDIR | libc::EINVAL)), "{}: directory: {read:?}", row.name);
        let mut bench = Bench::new(row, open_flags(&path, true, 0).expect("writable"));
        assert_eq!(bench.one(Op::Read, 1 << 63, BLOCK), Err(libc::EINVAL), "{}: no such offset", row.name);
    }
}

#[test]
fn unaligned_direct_io_is_refused_not_hidden() {
    for (kind, folder) in folders().into_iter().filter(|(kind, _)| kind == "ext4") {
        for row in engines().into_iter().filter(|row| row.name != "mmap") {
            let path = folder.path().join(row.name);
            make_file(&path, 64 * 1024, 0);
            let file = open_flags(&path, true, libc::O_DIRECT).expect("ext4 takes O_DIRECT");
            let mut bench = Bench::new(row, file);
            assert_eq!(bench.one(Op::Read, 1, BLOCK), Err(libc::EINVAL), "{} on {kind}", row.name);
            assert_eq!(bench.one(Op::Write, 0, 100), Err(libc::EINVAL), "{} on {kind}", row.name);
        }
    }
}

#[test]
fn ten_thousand_random_ios_each_slot_exactly_once() {
    const BLOCKS: u64 = 256;
    everywhere(BLOCKS as usize * BLOCK as usize, |row, what, _, file| {
        let mut bench = Bench::new(row, file);
        let mut draw = Draw(3);
        let ios: Vec<_> = (0..10_000)
            .map(|_| (if draw.below(2) == 0 { Op::Read } else { Op::Write }, draw.below(BLOCKS) * 4096))
            .collect();
        bench.run(&ios, |_, _, _| {}, |_, _, _, result| assert_eq!(result, Ok(BLOCK), "{what}"));
    });
}

#[test]
fn a_full_queue_is_taken_at_once_and_drained() {
    everywhere(DEPTH as usize * BLOCK as usize, |row, what, _, file| {
        let mut bench = Bench::new(row, file);
        let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, u64::from(s * BLOCK), BLOCK)).collect();
        let mut done = Vec::new();
        for round in 0..3 {
            bench.engine.submit(&batch).expect("submit");
            assert_eq!(bench.engine.in_flight(), DEPTH, "{what}");
            bench.engine.reap(0, 0, None, &mut done).expect("handing over only");
            assert_eq!(done.len(), 0, "{what}: none allowed");
            while (done.len() as u32) < DEPTH {
                let left = DEPTH - done.len() as u32;
                bench.engine.reap(left, left, None, &mut done).expect("reap");
            }
            done.sort_by_key(|c| c.slot);
            let all: Vec<_> = (0..DEPTH).map(|slot| Completion { slot, result: Ok(BLOCK) }).collect();
            assert_eq!(done, all, "{what} round {round}");
            done.clear();
        }
        // Once more, without asking for the completions.
        bench.engine.submit(&batch).expect("submit");
        assert_eq!(bench.engine.drain(Duration::from_secs(20)), 0, "{what}");
        assert_eq!(bench.engine.in_flight(), 0, "{what}");
        bench.engine.reap(0, DEPTH, None, &mut done).expect("reap");
        assert!(done.is_empty(), "{what}: drained ones are dropped");
        // And left to the end of the engine.
        bench.engine.submit(&batch).expect("submit");
    });
}

#[test]
fn without_registered_buffers_and_with_priority() {
    let folder = tempfile::tempdir().expect("a folder");
    for row in engines() {
        let path = folder.path().join(row.name);
        make_file(&path, 64 * 1024, 5);
        let mut file = open_flags(&path, true, 0).expect("open");
        // Best effort, lowest level (-I2).
        file.ioprio = 2 << 13 | 7;
        let mut bench = Bench::try_new(row, vec![file], false).expect("opens");
        assert_eq!(bench.one(Op::Read, 4096, BLOCK), Ok(BLOCK), "{}", row.name);
        assert_eq!(bench.get(0, 8), (512u64 + 5).to_le_bytes(), "{}", row.name);
        assert!(bench.notes.iter().all(|note| !note.contains("buffers")), "{:?}", bench.notes);
    }
}

#[test]
fn several_files_keep_their_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    for row in engines() {
        let files: Vec<_> = (0..5u64)
            .map(|n| {
                let path = folder.path().join(format!("{}-{n}", row.name));
                make_file(&path, 64 * 1024, n << 32);
                open_flags(&path, false, 0).expect("open")
            })
            .collect();
        let mut bench = Bench::try_new(row, files, true).expect("opens");
        for number in [3u32, 0, 4, 1, 2] {
            let io = Io { file: number, ..Bench::io(number, Op::Read, 0, BLOCK) };
            bench.engine.submit(&[io]).expect("submit");
            let mut done = Vec::new();
            bench.engine.reap(1, 1, None, &mut done).expect("reap");
            assert_eq!(done, [Completion { slot: number, result: Ok(BLOCK) }], "{}", row.name);
            assert_eq!(bench.get(number, 8), (u64::from(number) << 32).to_le_bytes(), "{}", row.name);
        }
    }
}

#[test]
#[should_panic(expected = "outside its buffer region")]
fn memory_that_is_not_the_workers_is_never_given_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    make_file(&path, 64 * 1024, 0);
    let row = engine::find("psync").expect("in the table");
    let mut bench = Bench::new(row, open_flags(&path, false, 0).expect("open"));
    let _ = bench.engine.submit(&[Bench::io(DEPTH - 1, Op::Read, 0, BLOCK + 1)]);
}

/// Runs `check` with every asynchronous engine and a file whose I/Os can be held up.
fn gated(names: &[&str], check: impl Fn(&EngineRow, &Gate, &mut Bench) + Sync) {
    let check_one = |row| {
        let gate = match Gate::direct() {
            Ok(gate) => gate,
            Err(error) => return not_available("FUSE", &error),
        };
        let mut bench = Bench::new(row, of_descriptor(gate.open(true), gate::FILE_BYTES));
        check(row, &gate, &mut bench);
    };
    for row in engines().into_iter().filter(|row| names.contains(&row.name)) {
        // A thread for each, as workers have: when a ring is closed, the kernel interrupts the next waits
        // of the thread that used it.
        std::thread::scope(|scope| scope.spawn(|| check_one(row)).join()).unwrap_or_else(|panic| {
            std::panic::resume_unwind(panic);
        });
    }
}

const ASYNCHRONOUS: &[&str] = &["io_uring", "libaio", "threads"];
const BY_CALLS: &[&str] = &["io_uring", "libaio", "threads", "psync"];

#[test]
fn looking_never_waits_and_time_limits_hold() {
    gated(ASYNCHRONOUS, |row, gate, bench| {
        gate.close();
        let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, u64::from(s * BLOCK), BLOCK)).collect();
        bench.engine.submit(&batch).expect("submit");
        let mut done = Vec::new();
        let start = Instant::now();
        for _ in 0..100 {
            bench.engine.reap(0, DEPTH, None, &mut done).expect("a look");
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{}: a look waited", row.name);
        let start = Instant::now();
        bench.engine.reap(1, DEPTH, Some(Duration::from_millis(60)), &mut done).expect("a wait");
        let waited = start.elapsed();
        assert!(waited >= Duration::from_millis(59), "{}: only {waited:?}", row.name);
        assert!(waited < Duration::from_secs(20), "{}: {waited:?}", row.name);
        bench.engine.reap(1, DEPTH, Some(Duration::ZERO), &mut done).expect("a wait of no time");
        assert!(done.is_empty(), "{}", row.name);
        gate.wait_parked(DEPTH as usize);
        gate.open_up();
        while (done.len() as u32) < DEPTH {
            bench.engine.reap(1, DEPTH, None, &mut done).expect("reap");
        }
        assert!(done.iter().all(|c| c.result == Ok(BLOCK)), "{}: {done:?}", row.name);
        assert_eq!(bench.get(5, 2), [5, 5], "{}", row.name);
    });
}

#[test]
fn looks_alone_find_what_is_finished() {
    gated(ASYNCHRONOUS, |row, _, bench| {
        bench.engine.submit(&[Bench::io(3, Op::Read, 0, BLOCK)]).expect("submit");
        let mut done = Vec::new();
        let limit = Instant::now() + Duration::from_secs(20);
        while done.is_empty() {
            assert!(Instant::now() < limit, "{}: deferred work never ran", row.name);
            bench.engine.reap(0, DEPTH, None, &mut done).expect("a look");
        }
        assert_eq!(done, [Completion { slot: 3, result: Ok(BLOCK) }], "{}", row.name);
    });
}

#[test]
fn draining_has_a_limit_and_can_be_tried_again() {
    gated(ASYNCHRONOUS, |row, gate, bench| {
        gate.close();
        let batch: Vec<_> =
            (0..DEPTH).map(|s| Bench::io(s, Op::Write, u64::from(s * BLOCK), BLOCK)).collect();
        bench.engine.submit(&batch).expect("submit");
        bench.engine.reap(0, DEPTH, None, &mut Vec::new()).expect("handed over");
        gate.wait_parked(1);
        let start = Instant::now();
        let left = bench.engine.drain(Duration::from_millis(100));
        assert!(start.elapsed() < Duration::from_secs(20), "{}: {:?}", row.name, start.elapsed());
        assert_eq!(left, bench.engine.in_flight(), "{}", row.name);
        assert!(left > 0, "{}: nobody answered the writes", row.name);
        gate.open_up();
        assert_eq!(bench.engine.drain(Duration::from_secs(20)), 0, "{}", row.name);
    });
}

#[test]
fn memory_outlives_ios_that_never_end() {
    gated(ASYNCHRONOUS, |row, gate, bench| {
        gate.close();
        let Bench { engine, memory, .. } = Bench::new(row, of_descriptor(gate.open(true), gate::FILE_BYTES));
        let mut engine = engine;
        let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, u64::from(s * BLOCK), BLOCK)).collect();
        engine.submit(&batch).expect("submit");
        engine.reap(0, DEPTH, None, &mut Vec::new()).expect("handed over");
        gate.wait_parked(DEPTH as usize);
        let start = Instant::now();
        drop(engine);
        assert!(start.elapsed() < Duration::from_secs(20), "{}: dropping waits only so long", row.name);
        assert!(Arc::strong_count(&memory) > 1, "{}: the kernel may still write there", row.name);
        gate.open_up();
        // The late data arrives in memory that is still ours.
        let limit = Instant::now() + Duration::from_secs(20);
        while memory.with_slice_mut((9 * BLOCK) as usize, 1, |bytes| bytes[0]) != 9 {
            assert!(Instant::now() < limit, "{}: lost", row.name);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(bench.one(Op::Read, 0, BLOCK), Ok(BLOCK), "{}: others are not touched", row.name);
    });
}

#[test]
fn errors_and_short_transfers_of_the_device_arrive() {
    gated(BY_CALLS, |row, _, bench| {
        let mut one = |op, offset| bench.one(op, offset, BLOCK);
        assert_eq!(one(Op::Read, gate::EIO_RANGE.start + 4096), Err(libc::EIO), "{}", row.name);
        assert_eq!(one(Op::Write, gate::EIO_RANGE.start), Err(libc::EIO), "{}", row.name);
        assert_eq!(one(Op::Write, gate::FULL_OFFSET), Err(libc::ENOSPC), "{}", row.name);
        assert_eq!(one(Op::Read, gate::SHORT_OFFSET), Ok(BLOCK / 2), "{}", row.name);
        assert_eq!(one(Op::Read, 0), Ok(BLOCK), "{}", row.name);
    });
}

#[test]
fn io_uring_cancels_what_would_never_end() {
    let Some(row) = engines().into_iter().find(|row| row.name == "io_uring") else { return };
    let (read_end, _write_end) = gate::pipe();
    let mut bench = Bench::new(row, of_descriptor(read_end, 0));
    let batch: Vec<_> = (0..DEPTH).map(|s| Bench::io(s, Op::Read, 0, BLOCK)).collect();
    bench.engine.submit(&batch).expect("submit");
    bench.engine.reap(0, DEPTH, None, &mut Vec::new()).expect("handed over");
    let start = Instant::now();
    assert_eq!(bench.engine.drain(Duration::from_secs(20)), 0);
    assert!(start.elapsed() < Duration::from_secs(10), "cancelled, not waited for");
}

/// Sends SIGUSR1, whose handler does nothing, to the calling thread until dropped.
struct Pest {
    end: Arc<AtomicBool>,
    sender: Option<std::thread::JoinHandle<()>>,
}

impl Pest {
    fn every(pause: Duration) -> Self {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: a handler that does nothing; no SA_RESTART, so that calls are interrupted.
        let tid = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
            libc::gettid()
        };
        let end = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&end);
        let sender = std::thread::spawn(move || {
            while !seen.load(Ordering::SeqCst) {
                std::thread::sleep(pause);
                // SAFETY: takes numbers only; the thread lives until `Pest` is dropped.
                unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR1) };
            }
        });
        Pest { end, sender: Some(sender) }
    }
}

impl Drop for Pest {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        if let Some(sender) = self.sender.take() {
            let _ = sender.join();
        }
    }
}

#[test]
fn signals_lose_no_completions() {
    const BLOCKS: u64 = 256;
    everywhere(BLOCKS as usize * BLOCK as usize, |row, what, _, file| {
        let _pest = Pest::every(Duration::from_micros(100));
        let mut bench = Bench::new(row, file);
        let mut draw = Draw(4);
        let ios: Vec<_> = (0..3000).map(|_| (Op::Read, draw.below(BLOCKS) * 4096)).collect();
        bench.run(&ios, |_, _, _| {}, |_, _, _, result| assert_eq!(result, Ok(BLOCK), "{what}"));
    });
}

#[test]
fn a_signal_ends_a_wait_without_limit() {
    gated(BY_CALLS, |row, gate, bench| {
        gate.close();
        let pest = Pest::every(Duration::from_millis(20));
        let mut done = Vec::new();
        // `psync` waits in `submit`; either way the worker gets the word.
        bench.engine.submit(&[Bench::io(2, Op::Read, 4096, BLOCK)]).expect("submit");
        bench.engine.reap(1, DEPTH, None, &mut done).expect("reap");
        assert!(done.is_empty(), "{}: {done:?}", row.name);
        assert_eq!(bench.engine.in_flight(), 1, "{}", row.name);
        drop(pest);
        gate.open_up();
        while done.is_empty() {
            bench.engine.reap(1, DEPTH, None, &mut done).expect("reap");
        }
        assert_eq!(done, [Completion { slot: 2, result: Ok(BLOCK) }], "{}", row.name);
    });
}

fn mapped(path: &Path, mode: MapMode) -> EngineFile {
    EngineFile { map: Some(mode), ..open_flags(path, !mode.read_only, 0).expect("open") }
}

#[test]
fn mapped_files_in_every_mode() {
    let row = engine::find("mmap").expect("in the table");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    let stream = cfg!(target_arch = "x86_64");
    for (non_temporal, flush) in [(false, None), (false, Some(MapFlush::View)), (stream, None)] {
        make_file(&path, 5 * 4096 + 10, 0);
        let mut bench = Bench::new(row, mapped(&path, MapMode { non_temporal, flush, read_only: false }));
        bench.set(0, |j| (j * 3) as u8);
        assert_eq!(bench.one(Op::Write, 4096 + 3, 1001), Ok(1001));
        assert_eq!(bench.one(Op::Write, 5 * 4096, BLOCK), Ok(10), "a map makes no file longer");
        bench.set(0, |_| 0);
        assert_eq!(bench.one(Op::Read, 4096 + 3, 1001), Ok(1001));
        let expected: Vec<u8> = (0..1001).map(|j| (j * 3) as u8).collect();
        assert_eq!(bench.get(0, 1001), expected);
        let data = std::fs::read(&path).expect("there");
        assert_eq!((data.len(), &data[4099..5100]), (5 * 4096 + 10, &expected[..]));
    }
    make_file(&path, 8192, 0);
    let read_only = MapMode { read_only: true, ..MapMode::default() };
    let mut bench = Bench::new(row, mapped(&path, read_only));
    assert_eq!(bench.one(Op::Write, 0, BLOCK), Err(libc::EBADF));
    assert_eq!(bench.one(Op::Read, 4096, BLOCK), Ok(BLOCK));
    make_file(&path, 0, 0);
    assert_eq!(Bench::new(row, mapped(&path, read_only)).one(Op::Read, 0, BLOCK), Ok(0), "an empty file");
}

#[test]
fn cache_line_flushes_need_persistent_memory_and_say_so() {
    let row = engine::find("mmap").expect("in the table");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    make_file(&path, 8192, 0);
    for flush in [MapFlush::CacheLines, MapFlush::CacheLinesNoDrain] {
        let mode = MapMode { flush: Some(flush), ..MapMode::default() };
        match Bench::try_new(row, vec![mapped(&path, mode)], true) {
            Ok(mut bench) => {
                assert_eq!(bench.one(Op::Write, 0, BLOCK), Ok(BLOCK), "this is a DAX file system")
            }
            Err(error) => {
                let told = error.to_string();
                assert!(told.contains("persistent memory") && told.contains("-Nv"), "{told}");
            }
        }
    }
}

#[test]
fn a_mapped_file_that_shrinks_gives_short_transfers_not_death() {
    let row = engine::find("mmap").expect("in the table");
    for (kind, folder) in folders() {
        let path = folder.path().join("file");
        make_file(&path, 64 * 4096, 0);
        let mut bench = Bench::new(row, mapped(&path, MapMode::default()));
        assert_eq!(bench.one(Op::Read, 40 * 4096, BLOCK), Ok(BLOCK), "{kind}");
        let file = File::options().write(true).open(&path).expect("open");
        file.set_len(8192).expect("cut");
        for _ in 0..3 {
            assert_eq!(bench.one(Op::Read, 40 * 4096, BLOCK), Ok(0), "{kind}");
            assert_eq!(bench.one(Op::Write, 2 * 4096 - 100, BLOCK), Ok(100), "{kind}");
            assert_eq!(bench.one(Op::Read, 4096, BLOCK), Ok(BLOCK), "{kind}");
        }
        // And nothing that was put in the holes is left when the file grows again.
        file.set_len(64 * 4096).expect("grow");
        file.write_all_at(&[7; 4096], 40 * 4096).expect("write");
        bench.set(0, |_| 0);
        assert_eq!(bench.one(Op::Read, 40 * 4096, BLOCK), Ok(BLOCK), "{kind}");
        assert_eq!(bench.get(0, 4096), [7; 4096], "{kind}");
    }
}

#[test]
fn a_mapped_device_that_fails_gives_an_error_not_death() {
    let gate = match Gate::mappable() {
        Ok(gate) => gate,
        Err(error) => return not_available("FUSE", &error),
    };
    let row = engine::find("mmap").expect("in the table");
    let file = of_descriptor(gate.open(false), gate::FILE_BYTES);
    let mut bench = Bench::new(row, file);
    for _ in 0..2 {
        assert_eq!(bench.one(Op::Read, gate::EIO_RANGE.start, BLOCK), Err(libc::EIO));
        assert_eq!(bench.one(Op::Read, 1 << 20, BLOCK), Ok(BLOCK));
        assert_eq!(bench.get(0, 4096), [0; 4096]);
        assert_eq!(bench.one(Op::Read, 5 << 12, BLOCK), Ok(BLOCK));
        assert_eq!(bench.get(0, 4096), [5; 4096]);
    }
}

#[test]
fn mapped_and_unmapped_files_in_one_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = [folder.path().join("mapped"), folder.path().join("plain")];
    for depth in [1, DEPTH] {
        for (number, path) in paths.iter().enumerate() {
            make_file(path, 64 * 4096, (number as u64) << 32);
        }
        let memory = Arc::new(IoBuffer::new((DEPTH * BLOCK) as usize).expect("memory"));
        let setup = Setup {
            depth,
            files: vec![mapped(&paths[0], MapMode::default()), open_flags(&paths[1], true, 0).expect("open")],
            regions: vec![Arc::clone(&memory)],
            registered_buffers: true,
            parameters: String::new(),
        };
        let (row, opened) = engine::open_ladder(setup).expect("opens");
        assert_eq!(row.name == "psync", depth == 1);
        assert!(opened.notes.iter().any(|note| note.contains("mapped targets are served by mmap")));
        let mut bench = Bench { engine: opened.engine, memory, notes: opened.notes };
        assert_eq!(bench.engine.is_inline(), depth == 1);
        for round in 0..50u64 {
            let batch: Vec<_> = (0..depth)
                .map(|slot| Io { file: slot % 2, ..Bench::io(slot, Op::Read, round * 4096, BLOCK) })
                .collect();
            bench.engine.submit(&batch).expect("submit");
            assert_eq!(bench.engine.in_flight(), depth);
            let mut done = Vec::new();
            while (done.len() as u32) < depth {
                let left = depth - done.len() as u32;
                bench.engine.reap(left.min(3), left.min(5), None, &mut done).expect("reap");
            }
            for io in &batch {
                let expected = (round * 512 + (u64::from(io.file) << 32)).to_le_bytes();
                assert_eq!(bench.get(io.slot, 8), expected, "slot {} of round {round}", io.slot);
            }
            done.sort_by_key(|c| c.slot);
            assert!(done.iter().zip(0..).all(|(c, slot)| c.slot == slot && c.result == Ok(BLOCK)));
        }
        bench.engine.submit(&[Bench::io(0, Op::Read, 0, BLOCK)]).expect("submit");
        assert_eq!(bench.engine.drain(Duration::from_secs(20)), 0);
    }
}

const MISSING: EngineRow = EngineRow {
    name: "missing",
    summary: "",
    needs: "",
    asynchronous: true,
    needs_direct: false,
    moves_data: true,
    simulates_time: false,
    probe: || Ok(()),
    open: |_| {
        Err(EngineError::Unavailable {
            engine: "missing",
            reason: "the test says so".into(),
            advice: "Nothing".into(),
        })
    },
};

const FAILING: EngineRow = EngineRow {
    name: "failing",
    open: |_| {
        let action = "opening".into();
        Err(EngineError::Setup { engine: "failing", action, error: "no descriptors".into() })
    },
    ..MISSING
};

const PICKY: EngineRow = EngineRow { name: "picky", needs_direct: true, ..PSYNC_LIKE };
const PSYNC_LIKE: EngineRow = EngineRow {
    name: "plain",
    open: |setup| (engine::find("psync").expect("in the table").open)(setup),
    ..MISSING
};

static TO_PLAIN: [EngineRow; 3] = [MISSING, PICKY, PSYNC_LIKE];
static TO_NOTHING: [EngineRow; 2] = [MISSING, MISSING];
static TO_FAILURE: [EngineRow; 2] = [FAILING, PSYNC_LIKE];

#[test]
fn the_ladder_steps_down_and_tells() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = folder.path().join("file");
    make_file(&path, 64 * 1024, 0);
    let setup = |flags, depth| Setup {
        depth,
        files: vec![open_flags(&path, true, flags).expect("open")],
        regions: vec![Arc::new(IoBuffer::new(4096).expect("memory"))],
        registered_buffers: false,
        parameters: String::new(),
    };
    let (row, opened) = engine::step_down(&TO_PLAIN, setup(0, 4)).expect("the last one");
    assert_eq!(row.name, "plain");
    assert_eq!(opened.notes.len(), 2, "{:?}", opened.notes);
    assert!(opened.notes[0].contains("missing not used: the test says so"), "{:?}", opened.notes);
    assert!(opened.notes[1].contains("picky not used: it would block"), "{:?}", opened.notes);
    match open_flags(&path, true, libc::O_DIRECT) {
        Ok(_) => {
            let (row, _) = engine::step_down(&TO_PLAIN, setup(libc::O_DIRECT, 4)).expect("the second");
            assert_eq!(row.name, "picky");
        }
        Err(error) => not_available("direct I/O in the build folder", &error),
    }
    let error = engine::step_down(&TO_NOTHING, setup(0, 4)).expect_err("there is none");
    assert!(matches!(error, EngineError::Unavailable { .. }), "{error}");
    let error = engine::step_down(&TO_FAILURE, setup(0, 4)).expect_err("another would fail as well");
    assert!(matches!(error, EngineError::Setup { .. }), "{error}");
    assert_eq!(engine::open_ladder(setup(0, 1)).expect("opens").0.name, "psync");
    assert!(engine::open_ladder(setup(0, 2)).expect("opens").0.asynchronous);
    let names: Vec<_> = LADDER.iter().map(|row| row.name).collect();
    assert_eq!(names, ["io_uring", "libaio", "threads"]);
}

#[test]
fn a_depth_that_cannot_be_is_refused_in_words() {
    for row in TABLE {
        let setup = Setup {
            depth: 0,
            files: Vec::new(),
            regions: Vec::new(),
            registered_buffers: false,
            parameters: String::new(),
        };
        let error = (row.open)(setup).expect_err("no depth at all");
        assert!(error.to_string().contains("-o"), "{}: {error}", row.name);
    }
}

#[test]
fn the_null_engine_finishes_everything_at_the_next_look() {
    let row = engine::find("null").expect("in the table");
    let mut bench = Bench::try_new(row, Vec::new(), true).expect("opens");
    assert!(!bench.engine.is_inline());
    let mut done = Vec::new();
    for round in 0..1000 {
        let free = DEPTH - bench.engine.in_flight();
        let batch: Vec<_> = (0..free).map(|slot| Bench::io(slot, Op::Write, 0, round)).collect();
        bench.engine.submit(&batch).expect("submit");
        assert_eq!(bench.engine.in_flight(), DEPTH);
        done.clear();
        bench.engine.reap(1, 5, None, &mut done).expect("reap");
        assert_eq!(done.len(), 5);
    }
    assert_eq!(done[0].result, Ok(999 - 3), "first in, first out");
    assert_eq!(bench.engine.drain(Duration::ZERO), 0);
}

//! Conformance: one set of demands on every engine that moves data, on real files, buffered and direct,
//! on every kind of file system at hand.

use std::fs::File;
use std::path::Path;

use super::bench::{
    BLOCK, Bench, DEPTH, Draw, engines, everywhere, folders, make_file, of_descriptor, open_flags,
};
use truespd_core::engine::{self, Completion, Engine, EngineError, Io, Op, Setup, TABLE};

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
fn flushes_complete_and_move_nothing() {
    everywhere(4 * BLOCK as usize, |row, what, _, file| {
        // Mapped files are flushed with each write (-N).
        if row.name == "mmap" || row.polls {
            return;
        }
        let mut bench = Bench::new(row, file);
        assert_eq!(bench.one(Op::Write, 4096, BLOCK), Ok(BLOCK), "{what}");
        for op in [Op::Flush, Op::FlushData] {
            assert_eq!(bench.one(op, 0, 0), Ok(0), "{what}: {op:?}");
        }
        assert_eq!(bench.one(Op::Read, 4096, BLOCK), Ok(BLOCK), "{what}: it goes on");
    });
}

#[test]
fn trims_leave_zeros_and_nothing_else() {
    everywhere(8 * BLOCK as usize, |row, what, path, file| {
        let mut bench = Bench::new(row, file);
        let trimmed = bench.one(Op::Trim, 4096, 2 * BLOCK);
        if !row.trims {
            assert_eq!(trimmed, Err(libc::EOPNOTSUPP), "{what}: it says so");
            return;
        }
        assert_eq!(trimmed, Ok(0), "{what}");
        let found = std::fs::read(path).expect("a file");
        assert_eq!(found.len(), 8 * BLOCK as usize, "{what}: as long as before");
        let words: Vec<u64> =
            found.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
        let first = words[0];
        for (at, word) in words.iter().enumerate() {
            let is_trimmed = (512..1536).contains(&at);
            assert_eq!(*word, if is_trimmed { 0 } else { first + at as u64 }, "{what}: word {at}");
        }
        // No buffer belongs to a trim: its length may be more than the one at hand.
        assert_eq!(bench.one(Op::Trim, 0, 1 << 30), Ok(0), "{what}: beyond the end as well");
        assert_eq!(bench.one(Op::Read, 4096, BLOCK), Ok(BLOCK), "{what}: it goes on");
    });
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
        assert_eq!(bench.engine.drain(crate::support::HANG, &mut Vec::new()), 0, "{what}");
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

#[test]
fn a_depth_that_cannot_be_is_refused_in_words() {
    for row in TABLE {
        let setup = Setup {
            depth: 0,
            files: Vec::new(),
            regions: Vec::new(),
            registered_buffers: false,
            trims: false,
            parameters: String::new(),
        };
        let error = (row.open)(setup).expect_err("no depth at all");
        assert!(error.to_string().contains("-o"), "{}: {error}", row.name);
    }
}

#[test]
fn commands_go_to_namespaces_only() {
    let rows: Vec<_> = TABLE.iter().filter(|row| row.sends_commands).collect();
    assert_eq!(rows.len(), 2, "with and without polling");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    make_file(&path, 64 * 1024, 0);
    for row in rows {
        for file in [&path, Path::new("/dev/null")] {
            let file = open_flags(file, true, 0).expect("open");
            match Bench::try_new(row, vec![file], true).map(|_| ()) {
                Err(error @ EngineError::OtherTarget { .. }) => {
                    assert!(error.to_string().contains("/dev/ngXnY"), "{}: {error}", row.name);
                }
                other => panic!("{}: {other:?}", row.name),
            }
        }
    }
    let unchanged: Vec<u8> = (0..64 * 128u64).flat_map(u64::to_le_bytes).collect();
    assert_eq!(std::fs::read(&path).expect("it is there"), unchanged);
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
    assert_eq!(bench.engine.drain(std::time::Duration::ZERO, &mut Vec::new()), 0);
}

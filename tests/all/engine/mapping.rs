//! Mapped files: every mode, files that shrink, devices that fail, and mapped targets beside plain ones.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::bench::{BLOCK, Bench, DEPTH, folders, make_file, of_descriptor, open_flags};
use crate::support::gate::{self, Gate};
use truespd_core::engine::{self, Engine, EngineFile, Io, MapFlush, MapMode, Op, Setup};
use truespd_platform::sys::buffer::IoBuffer;

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
    let Some(gate) = Gate::mappable() else { return };
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
            trims: false,
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
        assert_eq!(bench.engine.drain(crate::support::HANG, &mut Vec::new()), 0);
    }
}

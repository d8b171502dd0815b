//! Filling files: every byte as specified, nothing unwritten left, errors in words.

// This suite needs the failing ranges only.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::needs::{Need, has};
use crate::support::{devices, gate};
use truespd_core::load::fill::{Content, FillError, FillReport, FillSpec, fill};
use truespd_platform::machine::storage::{AlignmentSource, DirectAlignment};

const DIRECT: Option<DirectAlignment> =
    Some(DirectAlignment { offset_bytes: 512, memory_bytes: 512, source: AlignmentSource::Assumed });

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn create(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).expect("a new file")
}

fn filled(file: &File, spec: FillSpec) -> Result<FillReport, FillError> {
    let mut told = Vec::new();
    let report = fill(file, spec, &mut |done, total| told.push((done, total)), &AtomicBool::new(false))?;
    assert_eq!(report.bytes, spec.size_bytes);
    assert!(told.iter().all(|(_, total)| *total == spec.size_bytes));
    assert!(told.is_sorted_by_key(|(done, _)| *done), "progress goes forward");
    assert_eq!(told.last().expect("told at least once").0, spec.size_bytes);
    Ok(report)
}

/// Extents of a file as (offset, length, flags), by `FS_IOC_FIEMAP`; none where the file system cannot.
fn extents(file: &File) -> Option<Vec<(u64, u64, u32)>> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Extent {
        logical: u64,
        physical: u64,
        length: u64,
        reserved: [u64; 2],
        flags: u32,
        reserved_too: [u32; 3],
    }
    #[repr(C)]
    struct Request {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        count: u32,
        reserved: u32,
        extents: [Extent; 256],
    }
    const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
    // SAFETY: plain numbers, valid when zero; the kernel writes at most `count` extents.
    unsafe {
        let mut request: Request = std::mem::zeroed();
        request.length = u64::MAX;
        request.count = 256;
        if libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut request) != 0 {
            return None;
        }
        assert!(request.mapped < 256, "more extents than this test expects");
        Some(
            request.extents[..request.mapped as usize]
                .iter()
                .map(|e| (e.logical, e.length, e.flags))
                .collect(),
        )
    }
}

/// Every byte is on the device: no hole, no unwritten extent.
fn assert_all_written(file: &File, size: u64, what: &str) {
    const UNWRITTEN: u32 = 0x800;
    let hole = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)).expect("seek");
    assert_eq!(hole, size, "{what}: first hole");
    let Some(extents) = extents(file) else {
        return eprintln!("{what}: no extents to look at on this file system");
    };
    let mut end = 0;
    for (start, len, flags) in extents {
        assert_eq!(start, end, "{what}: a hole");
        assert_eq!(flags & UNWRITTEN, 0, "{what}: unwritten extent at {start}");
        end = start + len;
    }
    assert!(end >= size, "{what}: extents end at {end}");
}

#[test]
fn every_byte_is_written_and_as_specified() {
    let folder = folder();
    let path = folder.path().join("file");
    for size_bytes in [0, 1, 511, 4096, (1 << 20) - 1, 1 << 20, (40 << 20) + 512, (33 << 20) + 12345] {
        for direct in [None, DIRECT] {
            for content in [Content::Pattern0to255, Content::Zero, Content::Random { seed: 9 }] {
                let what = format!("{size_bytes} bytes, {content:?}, {direct:?}");
                let file = create(&path);
                let report = filled(&file, FillSpec { size_bytes, content, direct }).expect(&what);
                if direct.is_some() && !report.direct {
                    eprintln!("{what}: {:?}", report.notes);
                    assert!(report.notes.iter().any(|note| note.contains("page cache")), "{what}");
                }
                let data = std::fs::read(&path).expect("readable");
                assert_eq!(data.len() as u64, size_bytes, "{what}");
                match content {
                    Content::Pattern0to255 => {
                        assert!(data.iter().zip(0..).all(|(b, j)| *b == j as u8), "{what}")
                    }
                    Content::Zero => assert!(data.iter().all(|b| *b == 0), "{what}"),
                    Content::Random { .. } => assert_random(&data, &what),
                }
                if size_bytes > 0 {
                    assert_all_written(&file, size_bytes, &what);
                }
            }
        }
    }
}

/// Every 4 KiB block is different and all byte values are about as frequent.
fn assert_random(data: &[u8], what: &str) {
    let mut seen = std::collections::HashSet::new();
    assert!(data.chunks_exact(4096).all(|block| seen.insert(&block[..16])), "{what}: a block repeats");
    let mut counts = [0f64; 256];
    data.iter().for_each(|byte| counts[usize::from(*byte)] += 1.0);
    let expected = data.len() as f64 / 256.0;
    if expected > 1000.0 {
        let chi_square: f64 = counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum();
        assert!((150.0..400.0).contains(&chi_square), "{what}: {chi_square}");
    }
}

#[test]
fn a_longer_file_is_cut_and_a_direct_descriptor_may_be_given() {
    let folder = folder();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![1; 9 << 20]).expect("room");
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(&path);
    let file = file.or_else(|_| OpenOptions::new().read(true).write(true).open(&path)).expect("open");
    let size_bytes = (5 << 20) + 100;
    for direct in [None, DIRECT] {
        filled(&file, FillSpec { size_bytes, content: Content::Pattern0to255, direct }).expect("filled");
        let data = std::fs::read(&path).expect("readable");
        assert_eq!(data.len() as u64, size_bytes);
        assert!(data.iter().zip(0..).all(|(b, j)| *b == j as u8));
    }
}

#[test]
fn memory_file_systems_and_strange_alignments_work_too() {
    if !has(&[Need::MemoryFilesystem]) {
        return;
    }
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let file = create(&folder.path().join("file"));
    for (offset_bytes, memory_bytes) in [(512, 512), (4096, 4096), (3, 1), (512, 1 << 30), (1 << 30, 512)] {
        let direct = Some(DirectAlignment { offset_bytes, memory_bytes, source: AlignmentSource::Assumed });
        let spec = FillSpec { size_bytes: (3 << 20) + 77, content: Content::Pattern0to255, direct };
        let report = filled(&file, spec).expect("filled");
        assert!(report.direct || report.notes.iter().any(|n| n.contains("page cache")), "{report:?}");
    }
}

#[test]
fn a_stop_ends_the_work_and_leaves_its_mark() {
    let folder = folder();
    let file = create(&folder.path().join("file"));
    let stop = AtomicBool::new(false);
    let spec = FillSpec { size_bytes: 256 << 20, content: Content::Pattern0to255, direct: DIRECT };
    let mut after = |done, _| {
        if done >= 20 << 20 {
            stop.store(true, Ordering::SeqCst);
        }
    };
    match fill(&file, spec, &mut after, &stop) {
        Err(FillError::Stopped { done_bytes, size_bytes }) => {
            assert_eq!(size_bytes, 256 << 20);
            assert!((20 << 20..100 << 20).contains(&done_bytes), "{done_bytes}");
        }
        other => panic!("{other:?}"),
    }
    let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).expect("seek");
    assert!(hole < 256 << 20, "an incomplete file can be told from a complete one");
}

#[test]
fn refusals_are_in_words() {
    let folder = folder();
    let path = folder.path().join("file");
    create(&path);
    let spec = |size_bytes| FillSpec { size_bytes, content: Content::Zero, direct: None };
    let told = |file: &File, size| filled(file, spec(size)).expect_err("refused").to_string();
    let read_only = File::open(&path).expect("readable");
    let words = told(&read_only, 1 << 20);
    assert!(words.contains("not open for writing"), "{words}");
    let file = create(&path);
    let words = told(&file, 1 << 62);
    assert!(words.contains("reserving 4611686018427387904 bytes") && words.contains("-c"), "{words}");
    // A device that is always full refuses the reservation or the first write.
    let full = OpenOptions::new().write(true).open("/dev/full").expect("there");
    filled(&full, spec(1 << 20)).expect_err("/dev/full is no file to fill");
}

/// On a file system of its own: a reservation that does not fit takes all the room there is before it fails.
#[test]
fn a_full_file_system_is_told_with_what_is_free() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let tmpfs = devices::Mount::new(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"]);
    let file = create(&tmpfs.point.join("file"));
    let spec = FillSpec { size_bytes: 3 << 40, content: Content::Zero, direct: None };
    let words = filled(&file, spec).expect_err("refused").to_string();
    assert!(words.contains("the file needs 3298534883328 bytes, ") && words.contains("(-c)"), "{words}");
    drop(file);
}

#[test]
fn a_failing_device_is_told_with_its_place() {
    let Some(gate) = gate::Gate::direct() else { return };
    for direct in [None, DIRECT] {
        let file = File::from(gate.open(false));
        let spec = FillSpec { size_bytes: gate::FILE_BYTES, content: Content::Zero, direct };
        let words = filled(&file, spec).expect_err("a range fails").to_string();
        assert!(words.contains("writing 1048576 bytes at offset 4194304"), "{words}");
        assert!(words.contains("the device or a layer below it reported a failure"), "{words}");
        let spec = FillSpec { size_bytes: gate::EIO_RANGE.start, ..spec };
        assert_eq!(filled(&file, spec).expect("the good part").direct, direct.is_some());
    }
}

//! Whether a file has holes or unwritten extents: reads of those return zeros without touching the device.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// What lies behind the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extents {
    /// Every byte was written.
    AllWritten,
    /// Nothing is allocated at this byte offset.
    Hole {
        /// First such byte.
        offset_bytes: u64,
    },
    /// Space is allocated but was never written at this byte offset.
    Unwritten {
        /// First such byte.
        offset_bytes: u64,
    },
    /// The filesystem does not tell.
    Unknown {
        /// Why not, in words.
        why: String,
    },
}

impl fmt::Display for Extents {
    /// A clause about the file: "has a hole at byte 4096".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extents::AllWritten => f.write_str("is written throughout"),
            Extents::Hole { offset_bytes } => write!(f, "has a hole at byte {offset_bytes}"),
            Extents::Unwritten { offset_bytes } => write!(f, "was never written at byte {offset_bytes}"),
            Extents::Unknown { why } => write!(f, "may have holes: {why}"),
        }
    }
}

/// Looks through the whole file, writing back dirty pages first so that delayed allocation is settled.
///
/// # Errors
/// When the file cannot be examined at all (I/O error).
pub fn examine(file: &File) -> io::Result<Extents> {
    let size = file.metadata()?.len();
    if size == 0 {
        return Ok(Extents::AllWritten);
    }
    match fiemap(file, size) {
        Err(e) if is_unsupported(&e) => seek_hole(file, size),
        found => found,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    // EBADR: a request flag that the filesystem does not know.
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS | libc::EINVAL | libc::EBADR)
    )
}

/// `struct fiemap_extent`, `linux/fiemap.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Extents per call.
const BATCH: usize = 128;

/// `struct fiemap` with room for the answer.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; BATCH],
}

const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// The ioctl's number counts only the head of the structure, 32 bytes.
const FS_IOC_FIEMAP: libc::Ioctl = libc::_IOWR::<[u64; 4]>(b'f' as u32, 11);

fn fiemap(file: &File, size: u64) -> io::Result<Extents> {
    let mut next = 0u64;
    while next < size {
        let mut map = Box::new(Fiemap {
            start: next,
            length: size - next,
            flags: FIEMAP_FLAG_SYNC,
            mapped_extents: 0,
            extent_count: BATCH as u32,
            reserved: 0,
            extents: [FiemapExtent::default(); BATCH],
        });
        // SAFETY: the kernel reads the head and writes at most `extent_count` extents behind it, all
        // inside `map`, which outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let answer = &map.extents[..(map.mapped_extents as usize).min(BATCH)];
        let Some(end) = follow(answer, next, size) else { return Ok(Extents::Hole { offset_bytes: next }) };
        match end {
            Followed::Ends(found) => return Ok(found),
            Followed::UpTo(offset) => next = offset,
        }
    }
    Ok(Extents::AllWritten)
}

/// How far a batch of extents goes.
#[derive(Debug, PartialEq, Eq)]
enum Followed {
    /// The answer is known.
    Ends(Extents),
    /// Written without a gap up to this offset.
    UpTo(u64),
}

/// Follows a batch from `next` on; `None` when it is empty.
fn follow(extents: &[FiemapExtent], mut next: u64, size: u64) -> Option<Followed> {
    let last = extents.last()?;
    for extent in extents {
        if next >= size {
            break;
        }
        if extent.logical > next {
            return Some(Followed::Ends(Extents::Hole { offset_bytes: next }));
        }
        if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            return Some(Followed::Ends(Extents::Unwritten { offset_bytes: next }));
        }
        next = next.max(extent.logical.saturating_add(extent.length));
    }
    if next >= size {
        Some(Followed::Ends(Extents::AllWritten))
    } else if last.flags & FIEMAP_EXTENT_LAST != 0 {
        Some(Followed::Ends(Extents::Hole { offset_bytes: next }))
    } else {
        Some(Followed::UpTo(next))
    }
}

/// The weaker test: unwritten extents show as holes, and a filesystem that keeps no record of holes
/// shows none.
fn seek_hole(file: &File, size: u64) -> io::Result<Extents> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)) {
        Ok(offset) if offset < size => Ok(Extents::Hole { offset_bytes: offset }),
        Ok(_) => {
            let allocated = file.metadata()?.blocks().saturating_mul(512);
            if allocated >= size {
                return Ok(Extents::AllWritten);
            }
            let why = format!("the file system counts {allocated} bytes for {size} and shows no holes");
            Ok(Extents::Unknown { why })
        }
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => {
            Ok(Extents::Unknown { why: "the file system does not show them".to_string() })
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn extent(logical: u64, length: u64, flags: u32) -> FiemapExtent {
        FiemapExtent { logical, length, flags, ..Default::default() }
    }

    #[test]
    fn batches_of_extents_are_followed() {
        let hole = |offset_bytes| Some(Followed::Ends(Extents::Hole { offset_bytes }));
        let written = Some(Followed::Ends(Extents::AllWritten));
        assert_eq!(follow(&[extent(0, 8192, 1)], 0, 8000), written);
        assert_eq!(follow(&[extent(0, 4096, 0), extent(4096, 4096, 1)], 0, 8192), written);
        assert_eq!(follow(&[extent(0, 4096, 0)], 0, 8192), Some(Followed::UpTo(4096)));
        assert_eq!(follow(&[extent(0, 4096, 1)], 0, 8192), hole(4096));
        assert_eq!(follow(&[extent(4096, 4096, 1)], 0, 8192), hole(0));
        assert_eq!(
            follow(&[extent(0, 4096, 0), extent(4096, 4096, FIEMAP_EXTENT_UNWRITTEN | 1)], 0, 8192),
            Some(Followed::Ends(Extents::Unwritten { offset_bytes: 4096 }))
        );
        assert_eq!(
            follow(&[extent(0, 4096, 0), extent(4096, 4096, FIEMAP_EXTENT_UNWRITTEN | 1)], 0, 4000),
            written,
            "space kept beyond the end does not matter"
        );
        assert_eq!(follow(&[], 0, 8192), None);
    }

    /// The same files on the disk filesystem of the temporary directory and on tmpfs.
    fn directories() -> Vec<tempfile::TempDir> {
        let mut found = vec![tempfile::tempdir().unwrap()];
        if Path::new("/dev/shm").is_dir() {
            found.extend(tempfile::tempdir_in("/dev/shm"));
        }
        found
    }

    #[test]
    fn written_sparse_and_preallocated_files() {
        for dir in directories() {
            let create = |name: &str| {
                File::options().create_new(true).read(true).write(true).open(dir.path().join(name)).unwrap()
            };
            let mut written = create("written");
            written.write_all(&vec![7; 300_001]).unwrap();
            assert_eq!(examine(&written).unwrap(), Extents::AllWritten, "not even written back yet");

            let sparse = create("sparse");
            sparse.write_all_at(&[1; 65536], 0).unwrap();
            sparse.set_len(1 << 20).unwrap();
            assert_eq!(examine(&sparse).unwrap(), Extents::Hole { offset_bytes: 65536 });

            let empty = create("empty");
            assert_eq!(examine(&empty).unwrap(), Extents::AllWritten);

            let middle = create("middle");
            middle.write_all_at(&[1; 65536], 0).unwrap();
            middle.write_all_at(&[1; 65536], 1 << 20).unwrap();
            assert_eq!(examine(&middle).unwrap(), Extents::Hole { offset_bytes: 65536 });

            let reserved = create("reserved");
            let flags = rustix::fs::FallocateFlags::empty();
            if rustix::fs::fallocate(&reserved, flags, 0, 1 << 20).is_err() {
                eprintln!("skipped: no fallocate at {}", dir.path().display());
                continue;
            }
            let nothing_written = examine(&reserved).unwrap();
            assert!(
                matches!(
                    nothing_written,
                    Extents::Unwritten { offset_bytes: 0 } | Extents::Hole { offset_bytes: 0 }
                ) || dir.path().starts_with("/dev/shm"),
                "{nothing_written}"
            );
        }
    }

    #[test]
    fn many_small_extents_take_several_batches() {
        let file = tempfile::tempfile().unwrap();
        // Every second block first, so that extents cannot simply grow.
        for half in [0, 1] {
            for i in 0..400u64 {
                file.write_all_at(&[1; 4096], (2 * i + half) * 4096).unwrap();
            }
            file.sync_all().unwrap();
            let expected = if half == 0 { Extents::Hole { offset_bytes: 4096 } } else { Extents::AllWritten };
            assert_eq!(examine(&file).unwrap(), expected);
        }
    }

    #[test]
    fn the_weaker_test_agrees() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 8192], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(seek_hole(&file, 8192).unwrap(), Extents::AllWritten);
        file.set_len(1 << 20).unwrap();
        assert_eq!(seek_hole(&file, 1 << 20).unwrap(), Extents::Hole { offset_bytes: 8192 });
    }
}

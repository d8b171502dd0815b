//! Whether a file has holes or unwritten extents, and how many: reads of those return zeros without touching
//! the device.
//!
//! How much of a file or device the page cache holds.
//!
//! Source: the kernel's `mm/filemap.c` (`cachestat`, Linux 6.5) and `mincore(2)`.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::time::Instant;
use std::{fmt, io};

use rustix::mm::{MapFlags, ProtFlags};

/// What lies behind the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extents {
    /// Every byte of it was written.
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
        /// What the kernel or file system answered, in words.
        why: String,
    },
}

impl fmt::Display for Extents {
    /// A clause about the file: "has a hole at byte 4096".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extents::AllWritten => f.write_str("has every byte written"),
            Extents::Hole { offset_bytes } => write!(f, "has a hole at byte {offset_bytes}"),
            Extents::Unwritten { offset_bytes } => write!(f, "was never written at byte {offset_bytes}"),
            Extents::Unknown { why } => write!(f, "may have holes: {why}"),
        }
    }
}

/// Extents that [`survey`] looks at, at most.
const SURVEY_EXTENTS_MAX: u64 = 200_000;

/// How part of a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Bytes looked at; the counts are about them.
    pub range_bytes: u64,
    /// Bytes that have been written.
    pub written_bytes: u64,
    /// Bytes allocated and never written.
    pub unwritten_bytes: u64,
    /// Bytes with nothing behind them.
    pub hole_bytes: u64,
    /// Bytes that the filesystem stores compressed or encrypted, among the written ones.
    pub encoded_bytes: u64,
    /// Bytes that another file or a snapshot shares, among the written ones.
    pub shared_bytes: u64,
    /// Number of extents that hold them.
    pub extents: u64,
    /// Where the written ones lie on the device, first byte and length, as the file system tells it.
    pub places: Vec<(u64, u64)>,
    /// Why the layout is not known, or not all of it, in words.
    pub unknown: Option<String>,
}

impl Survey {
    /// What two parts hold together.
    pub fn and(mut self, other: Survey) -> Self {
        self.range_bytes += other.range_bytes;
        self.written_bytes += other.written_bytes;
        self.unwritten_bytes += other.unwritten_bytes;
        self.hole_bytes += other.hole_bytes;
        self.encoded_bytes += other.encoded_bytes;
        self.shared_bytes += other.shared_bytes;
        self.extents += other.extents;
        self.places.extend(other.places);
        self.unknown = self.unknown.or(other.unknown);
        self
    }

    fn unknown(why: String) -> Self {
        Survey { unknown: Some(why), ..Survey::default() }
    }

    /// Adds an extent, of which only what lies in `next..end` counts; returns where the next may begin.
    fn add(&mut self, extent: &FiemapExtent, next: u64, end: u64) -> u64 {
        let from = extent.logical.clamp(next, end);
        let to = extent.logical.saturating_add(extent.length).clamp(from, end);
        self.hole_bytes += from - next;
        let bytes = to - from;
        if bytes > 0 {
            self.extents += 1;
        }
        if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            self.unwritten_bytes += bytes;
        } else {
            self.written_bytes += bytes;
            if extent.flags & FIEMAP_EXTENT_ENCODED != 0 {
                self.encoded_bytes += bytes;
            }
            if extent.flags & FIEMAP_EXTENT_SHARED != 0 {
                self.shared_bytes += bytes;
            }
            if bytes > 0 && extent.flags & FIEMAP_EXTENT_UNKNOWN == 0 {
                self.place(extent.physical.saturating_add(from - extent.logical), bytes);
            }
        }
        to
    }

    fn place(&mut self, physical: u64, bytes: u64) {
        match self.places.last_mut() {
            Some((start, length)) if *start + *length == physical => *length += bytes,
            _ => self.places.push((physical, bytes)),
        }
    }

    /// Looking ended at `next`, before `end`.
    fn cut_short(mut self, start: u64, next: u64, end: u64) -> Self {
        self.range_bytes = next - start;
        self.unknown = Some(format!(
            "the file has too many extents, so only the first {} of {} bytes were checked",
            next - start,
            end - start
        ));
        self
    }
}

/// Counts the extents of `length` bytes from `start` on, until the `deadline` or 200,000 extents. With `sync`,
/// dirty pages are written back first: only then does space that was reserved beforehand show as written.
/// Failures are words in the answer.
pub fn survey(file: &File, start: u64, length: u64, sync: bool, deadline: Instant) -> Survey {
    let size = match file.metadata() {
        Ok(metadata) => metadata.len(),
        Err(error) => return Survey::unknown(crate::sys::error::system_text(&error)),
    };
    let end = start.saturating_add(length).min(size);
    if end <= start {
        return Survey::default();
    }
    let found = match survey_fiemap(file, start, end, sync, deadline) {
        Err(e) if is_unsupported(&e) => survey_seek(file, start, end, deadline),
        found => found,
    };
    found.unwrap_or_else(|e| Survey::unknown(crate::sys::error::system_text(&e)))
}

fn survey_fiemap(file: &File, start: u64, end: u64, sync: bool, deadline: Instant) -> io::Result<Survey> {
    let mut survey = Survey { range_bytes: end - start, ..Survey::default() };
    let mut next = start;
    let mut map = Fiemap::boxed();
    while next < end {
        if survey.extents >= SURVEY_EXTENTS_MAX || Instant::now() > deadline {
            return Ok(survey.cut_short(start, next, end));
        }
        let answer = map.ask(file, next, end - next, if sync { FIEMAP_FLAG_SYNC } else { 0 })?;
        for extent in answer {
            next = survey.add(extent, next, end);
        }
        let is_last = answer.last().is_none_or(|extent| extent.flags & FIEMAP_EXTENT_LAST != 0);
        if is_last {
            survey.hole_bytes += end - next;
            break;
        }
    }
    Ok(survey)
}

/// The weaker way: unwritten space shows as holes, and a filesystem that keeps no record of holes shows none.
fn survey_seek(file: &File, start: u64, end: u64, deadline: Instant) -> io::Result<Survey> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    let mut survey = Survey { range_bytes: end - start, ..Survey::default() };
    let mut next = start;
    while next < end {
        if survey.extents >= SURVEY_EXTENTS_MAX || Instant::now() > deadline {
            return Ok(survey.cut_short(start, next, end));
        }
        let data = match seek(file, SeekFrom::Data(next)) {
            Ok(offset) => offset.min(end),
            Err(Errno::NXIO) => end,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                return Ok(Survey::unknown("the file system does not report holes".to_string()));
            }
            Err(errno) => return Err(errno.into()),
        };
        let hole = if data < end { seek(file, SeekFrom::Hole(data))?.clamp(data, end) } else { end };
        // This way tells no places.
        let flags = FIEMAP_EXTENT_UNKNOWN;
        let extent = FiemapExtent { logical: data, length: hole - data, flags, ..FiemapExtent::default() };
        next = survey.add(&extent, next, end);
    }
    let metadata = file.metadata()?;
    let allocated = metadata.blocks().saturating_mul(512);
    if survey.hole_bytes == 0 && allocated < metadata.len() {
        let size = metadata.len();
        let why = format!("the file system has allocated {allocated} of {size} bytes, but reports no holes");
        return Ok(Survey::unknown(why));
    }
    Ok(survey)
}

/// Parts (first byte, length) of `length` bytes from `start` on that are no holes; what was set aside and never written
/// counts as hole. `None` where the file system does not tell, or where there are more than `most`.
pub(crate) fn data_parts(file: &File, start: u64, length: u64, most: usize) -> Option<Vec<(u64, u64)>> {
    use rustix::fs::{SeekFrom, seek};
    let end = start.checked_add(length)?;
    let mut found = Vec::new();
    let mut next = start;
    while next < end {
        let data = match seek(file, SeekFrom::Data(next)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => break,
            Err(_) => return None,
        };
        if data >= end {
            break;
        }
        let hole = seek(file, SeekFrom::Hole(data)).ok()?.clamp(data + 1, end);
        found.push((data, hole - data));
        if found.len() > most {
            return None;
        }
        next = hole;
    }
    Some(found)
}

/// The first byte from this one on that is no hole, the length of the file where there is none; this one where the file
/// system does not tell.
pub fn next_data(file: &File, from: u64) -> u64 {
    use rustix::fs::{SeekFrom, seek};
    match seek(file, SeekFrom::Data(from)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => file.metadata().map_or(from, |about| about.len().max(from)),
        Err(_) => from,
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
/// It has no place yet.
const FIEMAP_EXTENT_UNKNOWN: u32 = 2;
/// Stored in another form: compressed, encrypted.
const FIEMAP_EXTENT_ENCODED: u32 = 8;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// Other files or snapshots have the same blocks.
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;
/// The ioctl's number counts only the head of the structure, 32 bytes.
const FS_IOC_FIEMAP: libc::Ioctl = libc::_IOWR::<[u64; 4]>(b'f' as u32, 11);

impl Fiemap {
    fn boxed() -> Box<Self> {
        Box::new(Fiemap {
            start: 0,
            length: 0,
            flags: 0,
            mapped_extents: 0,
            extent_count: BATCH as u32,
            reserved: 0,
            extents: [FiemapExtent::default(); BATCH],
        })
    }

    /// The first extents from `start` on.
    fn ask(&mut self, file: &File, start: u64, length: u64, flags: u32) -> io::Result<&[FiemapExtent]> {
        (self.start, self.length, self.flags, self.mapped_extents) = (start, length, flags, 0);
        // SAFETY: the kernel reads the head and writes at most `extent_count` extents behind it, all
        // inside `self`, which outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, std::ptr::from_mut(self)) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(&self.extents[..(self.mapped_extents as usize).min(BATCH)])
    }
}

fn fiemap(file: &File, size: u64) -> io::Result<Extents> {
    let mut next = 0u64;
    let mut map = Fiemap::boxed();
    while next < size {
        let answer = map.ask(file, next, size - next, FIEMAP_FLAG_SYNC)?;
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
            let why =
                format!("the file system has allocated {allocated} of {size} bytes, but reports no holes");
            Ok(Extents::Unknown { why })
        }
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => {
            Ok(Extents::Unknown { why: "the file system does not report them".to_string() })
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Bytes looked at in one go.
const PIECE_BYTES: u64 = 1 << 30;
/// A range is looked at in at most as many pieces: all of it up to 128 GiB.
const PIECES_MAX: u64 = 128;
/// `cachestat(2)`, the same number on every architecture that we build for.
const SYS_CACHESTAT: libc::c_long = 451;

/// What the page cache holds of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cached {
    /// Bytes in whole pages, at most as many as were looked at.
    pub cached_bytes: u64,
    /// Bytes of them that are not on the disk yet; `None` where the kernel does not tell.
    pub dirty_bytes: Option<u64>,
    /// Bytes that were cached once, were dropped for want of memory and were not read again; `None` where the
    /// kernel does not tell.
    pub evicted_bytes: Option<u64>,
}

impl Cached {
    /// Nothing, known of a range of no length.
    const NONE_YET: Cached = Cached { cached_bytes: 0, dirty_bytes: Some(0), evicted_bytes: Some(0) };

    fn and(self, other: Cached) -> Cached {
        Cached {
            cached_bytes: self.cached_bytes + other.cached_bytes,
            dirty_bytes: self.dirty_bytes.zip(other.dirty_bytes).map(|(a, b)| a + b),
            evicted_bytes: self.evicted_bytes.zip(other.evicted_bytes).map(|(a, b)| a + b),
        }
    }
}

/// Parts of a range to look at, offset and length: all of it, or evenly spread pieces of a very large one.
pub fn pieces(start: u64, length: u64) -> Vec<(u64, u64)> {
    let count = length.div_ceil(PIECE_BYTES).min(PIECES_MAX);
    let step = if length > PIECES_MAX * PIECE_BYTES { length / PIECES_MAX } else { PIECE_BYTES };
    let pieces = (0..count).map(|index| {
        let offset = index * step / 4096 * 4096;
        (start + offset, PIECE_BYTES.min(length - offset))
    });
    pieces.collect()
}

/// What the page cache holds of these parts of an open file or device. `None` where the kernel does not tell
/// this process.
pub fn cached(file: &File, pieces: &[(u64, u64)]) -> Option<Cached> {
    pieces
        .iter()
        .try_fold(Cached::NONE_YET, |sum, &(offset, len)| Some(sum.and(cached_part(file, offset, len)?)))
}

fn cached_part(file: &File, offset: u64, len: u64) -> Option<Cached> {
    if len == 0 {
        return Some(Cached::NONE_YET);
    }
    // The pages of a file on overlayfs are those of the file in its layer, which only a memory map leads to.
    let found = if is_on_overlayfs(file) { None } else { Some(cachestat(file, offset, len)) };
    match found {
        Some(Ok(found)) => return Some(found),
        Some(Err(error)) if error.raw_os_error() != Some(libc::ENOSYS) => return None,
        _ => {}
    }
    let cached_bytes = mincore(file, offset, len)?;
    Some(Cached { cached_bytes, dirty_bytes: None, evicted_bytes: None })
}

fn is_on_overlayfs(file: &File) -> bool {
    /// As in the kernel's `linux/magic.h`.
    const OVERLAYFS: u64 = 0x794c_7630;
    rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type as u64 == OVERLAYFS)
}

fn cachestat(file: &File, offset: u64, len: u64) -> io::Result<Cached> {
    let range = [offset, len];
    // Pages cached, dirty, being written, evicted, recently evicted.
    let mut pages = [0u64; 5];
    // SAFETY: the kernel reads two numbers and writes five; both arrays outlive the call.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), pages.as_mut_ptr(), 0 as libc::c_uint)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let [cached_bytes, dirty_bytes, evicted_bytes] = [pages[0], pages[1].saturating_add(pages[2]), pages[3]]
        .map(|pages: u64| pages.saturating_mul(rustix::param::page_size() as u64).min(len));
    Ok(Cached { cached_bytes, dirty_bytes: Some(dirty_bytes), evicted_bytes: Some(evicted_bytes) })
}

/// For somebody else's file that this user may not write, `mincore(2)` reports all of it as cached: not asked.
fn mincore(file: &File, offset: u64, len: u64) -> Option<u64> {
    let owner = file.metadata().ok()?.uid();
    let user = rustix::process::geteuid();
    if !user.is_root() && user.as_raw() != owner {
        return None;
    }
    let page = rustix::param::page_size() as u64;
    let first = offset / page * page;
    let bytes = usize::try_from(offset.checked_add(len)? - first).ok()?;
    let mut resident = vec![0u8; bytes.div_ceil(page as usize)];
    // SAFETY: a new mapping at an address the kernel chooses aliases nothing and is never touched; `resident` has
    // a byte for each of its pages; it is unmapped once, before anybody else knows of it.
    let result = unsafe {
        let map = rustix::mm::mmap(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::READ,
            MapFlags::SHARED,
            file.as_fd(),
            first,
        )
        .ok()?;
        let result = libc::mincore(map, bytes, resident.as_mut_ptr());
        let _ = rustix::mm::munmap(map, bytes);
        result
    };
    let count = resident.iter().filter(|state| **state & 1 == 1).count() as u64;
    (result == 0).then(|| (count * page).min(len))
}

/// The parts of a range that the page cache does not hold, in order; none where the kernel does not tell.
pub fn gaps(file: &File, start: u64, length: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let page = rustix::param::page_size() as u64;
    // Halves of what is cached in part, down to a page.
    let mut open = vec![(start, length)];
    while let Some((offset, len)) = open.pop().filter(|part| part.1 > 0) {
        match cached(file, &[(offset, len)]) {
            Some(seen) if seen.cached_bytes == 0 => found.push((offset, len)),
            Some(seen) if seen.cached_bytes < len && len > page => {
                let half = (len / 2).next_multiple_of(page);
                open.extend([(offset + half, len - half), (offset, half)]);
            }
            _ => {}
        }
    }
    // Neighbours become one: only whole parts of large pages can be dropped.
    found.dedup_by(|next, before| {
        let touches = before.0 + before.1 == next.0;
        before.1 += if touches { next.1 } else { 0 };
        touches
    });
    found
}

/// Drops clean pages of a range from the page cache, as far as the kernel likes.
pub fn drop_cached(file: &File, offset: u64, len: u64) {
    // A hint: the kernel may keep pages, which the next look shows.
    let _ = rustix::fs::fadvise(file, offset, std::num::NonZeroU64::new(len), rustix::fs::Advice::DontNeed);
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

    fn soon() -> Instant {
        Instant::now() + std::time::Duration::from_secs(60)
    }

    #[test]
    fn a_survey_counts_what_lies_in_the_range() {
        let mut survey = Survey::default();
        let next = survey.add(&extent(0, 8192, FIEMAP_EXTENT_ENCODED), 4096, 65536);
        let next = survey.add(&extent(16384, 8192, FIEMAP_EXTENT_UNWRITTEN), next, 65536);
        let next =
            survey.add(&extent(32768, 1 << 20, FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_SHARED), next, 65536);
        assert_eq!(next, 65536);
        let wanted = Survey {
            written_bytes: 4096 + 32768,
            unwritten_bytes: 8192,
            hole_bytes: 8192 + 8192,
            encoded_bytes: 4096,
            shared_bytes: 32768,
            places: vec![(4096, 4096), (0, 32768)],
            extents: 3,
            ..Survey::default()
        };
        assert_eq!(survey, wanted);
    }

    #[test]
    fn surveys_of_real_files() {
        for dir in directories() {
            let file =
                File::options().create_new(true).read(true).write(true).open(dir.path().join("f")).unwrap();
            file.write_all_at(&vec![1; 1 << 20], 0).unwrap();
            file.write_all_at(&vec![1; 1 << 20], 4 << 20).unwrap();
            file.set_len(8 << 20).unwrap();
            let seen = survey(&file, 0, 8 << 20, true, soon());
            assert_eq!((seen.written_bytes, seen.hole_bytes), (2 << 20, 6 << 20), "{seen:?}");
            assert_eq!((seen.range_bytes, seen.unknown.as_deref()), (8 << 20, None));
            assert!(seen.extents >= 2, "{seen:?}");
            assert_eq!(survey_seek(&file, 0, 8 << 20, soon()).unwrap().hole_bytes, 6 << 20);
            let part = survey(&file, 512 << 10, 4 << 20, true, soon());
            assert_eq!((part.written_bytes, part.hole_bytes), (1 << 20, 3 << 20), "{part:?}");
            let beyond = survey(&file, 7 << 20, 4 << 20, true, soon());
            assert_eq!((beyond.range_bytes, beyond.hole_bytes), (1 << 20, 1 << 20), "{beyond:?}");
            assert_eq!(survey(&file, 9 << 20, 1 << 20, true, soon()), Survey::default());
            let late = survey(&file, 0, 8 << 20, false, Instant::now() - std::time::Duration::from_secs(1));
            assert!(late.range_bytes == 0 && late.unknown.is_some(), "{late:?}");
        }
    }

    #[test]
    fn a_survey_of_many_extents_takes_several_batches() {
        let file = tempfile::tempfile().unwrap();
        for i in 0..400u64 {
            file.write_all_at(&[1; 4096], 2 * i * 4096).unwrap();
        }
        let seen = survey(&file, 0, 800 * 4096, true, soon());
        let wanted = (400 * 4096, 399 * 4096, 400);
        assert_eq!((seen.written_bytes, seen.hole_bytes, seen.extents), wanted, "{seen:?}");
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

#[cfg(test)]
mod tests_residency {
    use super::*;
    use crate::needs::{Need, has};
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    #[test]
    fn pieces_cover_the_range_or_are_spread_over_it() {
        assert_eq!(pieces(0, 0), []);
        assert_eq!(pieces(512, 4096), [(512, 4096)]);
        assert_eq!(pieces(7, PIECE_BYTES + 1), [(7, PIECE_BYTES), (7 + PIECE_BYTES, 1)]);
        let whole: u64 = pieces(0, 128 * PIECE_BYTES).iter().map(|p| p.1).sum();
        assert_eq!(whole, 128 * PIECE_BYTES);
        let spread = pieces(MIB, 100_000 * PIECE_BYTES + 5);
        assert_eq!(spread.len(), 128);
        assert!(spread.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "no piece twice");
        assert!(spread.iter().all(|p| p.1 == PIECE_BYTES && p.0 + p.1 <= MIB + 100_000 * PIECE_BYTES + 5));
        assert!(spread[127].0 > 99_000 * PIECE_BYTES, "to the end");
    }

    /// Bytes of a range that are cached, one way to find out.
    type Way = fn(&File, u64, u64) -> Option<u64>;

    const WAYS: [Way; 2] = [|f, o, l| cachestat(f, o, l).ok().map(|c| c.cached_bytes), mincore];

    /// What is cached of a range, if all ways that this kernel has say that; otherwise what they say.
    fn agree(file: &File, offset: u64, len: u64, wanted: u64) -> Result<(), String> {
        let seen: Vec<u64> = WAYS.iter().filter_map(|way| way(file, offset, len)).collect();
        assert!(!seen.is_empty());
        is_so(&seen, seen.iter().all(|&cached| cached == wanted))
    }

    fn is_so(seen: &dyn std::fmt::Debug, holds: bool) -> Result<(), String> {
        if holds { Ok(()) } else { Err(format!("{seen:?}")) }
    }

    fn write_and_drop() -> Result<(), String> {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![1; 8 << 20], 0).unwrap();
        if let Ok(found) = cachestat(&file, 0, 8 * MIB) {
            is_so(&found, found.dirty_bytes == Some(8 * MIB))?;
        }
        file.sync_all().unwrap();
        agree(&file, 0, 8 * MIB, 8 * MIB)?;
        agree(&file, MIB + 100, MIB, MIB)?;
        drop_cached(&file, 0, 4 * MIB);
        agree(&file, 0, 8 * MIB, 4 * MIB)?;
        let all = cached(&file, &pieces(0, 8 * MIB)).unwrap();
        is_so(&all, all.cached_bytes == 4 * MIB)?;
        for (offset, len, wanted) in [(0, 8 * MIB, (0, 4 * MIB)), (MIB, 6 * MIB, (MIB, 3 * MIB))] {
            let found = gaps(&file, offset, len);
            is_so(&found, found == [wanted])?;
        }
        let beyond = cached(&file, &[(6 * MIB, 8 * MIB)]).unwrap();
        is_so(&("beyond the end is nothing", &beyond), beyond.cached_bytes == 2 * MIB)
    }

    /// The kernel writes back, and takes back what nobody maps (DAMON), at any time: a disturbed attempt is repeated.
    #[test]
    fn both_ways_see_what_was_written_and_what_was_dropped() {
        if !has(&[Need::PageCache]) {
            return;
        }
        let mut disturbed = Vec::new();
        for _ in 0..5 {
            match write_and_drop() {
                Ok(()) => return,
                Err(seen) => disturbed.push(seen),
            }
        }
        panic!("{disturbed:#?}");
    }
}

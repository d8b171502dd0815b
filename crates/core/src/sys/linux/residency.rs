//! How much of a file or device the page cache holds.
//!
//! Source: the kernel's `mm/filemap.c` (`cachestat`, Linux 6.5) and `mincore(2)`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;

use rustix::mm::{MapFlags, ProtFlags};

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
    let piece = |index: u64| {
        let offset = index * step / 4096 * 4096;
        (start + offset, PIECE_BYTES.min(length - offset))
    };
    (0..count).map(piece).collect()
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
    match cachestat(file, offset, len) {
        Ok(found) => Some(found),
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            let cached_bytes = mincore(file, offset, len)?;
            Some(Cached { cached_bytes, dirty_bytes: None, evicted_bytes: None })
        }
        Err(_) => None,
    }
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
    let bytes = |pages: u64| pages.saturating_mul(rustix::param::page_size() as u64).min(len);
    Ok(Cached {
        cached_bytes: bytes(pages[0]),
        dirty_bytes: Some(bytes(pages[1].saturating_add(pages[2]))),
        evicted_bytes: Some(bytes(pages[3])),
    })
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

//! I/O buffers: page-aligned anonymous memory that the kernel reads and writes.
//!
//! On which memory node pages lie, and which policy decides that.
//!
//! Sources: `move_pages(2)`, `get_mempolicy(2)`. Containers may refuse both.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::{io, ptr};

use rustix::mm::{MapFlags, ProtFlags};

use super::error::system_text;

/// From this size on, a buffer lies in large pages where the kernel has some. Below, it has few enough small pages to
/// go to a disk as one request.
const WIDE_FROM_BYTES: usize = 1 << 20;

/// Size of a large page on most machines, and alignment of such buffers.
const HUGE_BYTES: usize = 2 << 20;

/// Anonymous, private, zeroed memory, aligned to pages (or huge pages).
///
/// The kernel writes into it while reads are in flight, so it hands out no references: callers copy
/// in and out through [`IoBuffer::with_slice_mut`] and engines use [`IoBuffer::as_ptr`].
#[derive(Debug)]
pub struct IoBuffer {
    ptr: NonNull<u8>,
    len: usize,
    mapped: usize,
}

// SAFETY: the memory is plain bytes owned by this value; who may touch which part when is the
// promise stated at `with_slice_mut` and `as_ptr`.
unsafe impl Send for IoBuffer {}
// SAFETY: as above; shared source buffers are only read after they were filled.
unsafe impl Sync for IoBuffer {}

/// Why memory for buffers could not be had.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the text of each error says what its members are")]
pub enum BufferError {
    #[error("could not allocate {bytes} bytes for I/O buffers: {}", system_text(error))]
    Memory { bytes: usize, error: std::io::Error },
    #[error(
        "could not allocate {bytes} bytes of large pages for I/O buffers: {}; reserve at least {pages} pages of \
         {page_bytes} bytes first (sysctl vm.nr_hugepages), or leave out -l",
        system_text(error)
    )]
    LargePages { bytes: usize, pages: usize, page_bytes: usize, error: std::io::Error },
}

impl IoBuffer {
    /// Maps `len` bytes (at least one) of zeroed memory aligned to the page size.
    ///
    /// From 1 MiB on the kernel is asked for memory in large contiguous parts. A disk takes
    /// only so many separate parts in one request (254 on virtio): 1 MiB of scattered 4 KiB pages becomes
    /// two requests, of 1016 KiB and 8 KiB.
    ///
    /// # Errors
    /// [`BufferError::Memory`] when the system has not that much.
    pub fn new(len: usize) -> Result<Self, BufferError> {
        if len < WIDE_FROM_BYTES {
            let page = rustix::param::page_size();
            return Self::map(len, len.max(1).next_multiple_of(page), MapFlags::PRIVATE)
                .map_err(|e| no_memory(len, e));
        }
        Self::aligned(len, HUGE_BYTES)
    }

    /// Like [`IoBuffer::new`], at a multiple of `separation_bytes` (0: anywhere). Only addresses lie between two such
    /// buffers, and no memory.
    ///
    /// # Errors
    /// [`BufferError::Memory`].
    pub fn apart(len: usize, separation_bytes: u64) -> Result<Self, BufferError> {
        match usize::try_from(separation_bytes).unwrap_or(usize::MAX) {
            0 => Self::new(len),
            alignment => Self::aligned(len, alignment),
        }
    }

    /// Large ones are whole large pages, and the kernel is asked for such.
    fn aligned(len: usize, alignment: usize) -> Result<Self, BufferError> {
        let unit = if len < WIDE_FROM_BYTES { rustix::param::page_size() } else { HUGE_BYTES };
        let mapped = len.max(1).checked_next_multiple_of(unit).unwrap_or(usize::MAX);
        let alignment = alignment.checked_next_multiple_of(unit).unwrap_or(usize::MAX);
        let wide = mapped.saturating_add(alignment);
        let buffer = Self::map(len, wide, MapFlags::PRIVATE).map_err(|e| no_memory(len, e))?;
        let buffer = buffer.cut_to_alignment(mapped, alignment);
        if unit == HUGE_BYTES {
            // SAFETY: advice on a mapping that is this value's own. Without large pages the memory is as good as any
            // other.
            let _ = unsafe {
                rustix::mm::madvise(buffer.ptr.as_ptr().cast(), mapped, rustix::mm::Advice::LinuxHugepage)
            };
        }
        Ok(buffer)
    }

    /// Like [`IoBuffer::new`], in pages of the smallest size whatever the system prefers: the block layer then cannot
    /// merge neighbouring writes into larger requests.
    ///
    /// # Errors
    /// [`BufferError::Memory`].
    pub fn in_small_pages(len: usize) -> Result<Self, BufferError> {
        let mapped = len.max(1).next_multiple_of(rustix::param::page_size());
        let buffer = Self::map(len, mapped, MapFlags::PRIVATE).map_err(|e| no_memory(len, e))?;
        // SAFETY: advice on a mapping that is this value's own. A kernel without large pages refuses it, and
        // needs none.
        let _ = unsafe {
            rustix::mm::madvise(buffer.ptr.as_ptr().cast(), mapped, rustix::mm::Advice::LinuxNoHugepage)
        };
        Ok(buffer)
    }

    /// Gives back what lies before the first multiple of `alignment` and after `mapped` bytes from there on.
    fn cut_to_alignment(mut self, mapped: usize, alignment: usize) -> Self {
        let before = self.ptr.as_ptr().addr().next_multiple_of(alignment) - self.ptr.as_ptr().addr();
        let after = self.mapped - before - mapped;
        // SAFETY: both parts belong to this mapping, which nobody knows of yet, and are whole pages.
        unsafe {
            let start = self.ptr.add(before);
            for (part, bytes) in [(self.ptr, before), (start.add(mapped), after)] {
                if bytes > 0 {
                    let _ = rustix::mm::munmap(part.as_ptr().cast(), bytes);
                }
            }
            self.ptr = start;
        }
        self.mapped = mapped;
        self
    }

    /// Maps `len` bytes of huge pages of `page_bytes` each (`-l`).
    ///
    /// # Errors
    /// [`BufferError::LargePages`] when not enough are reserved.
    pub fn with_large_pages(len: usize, page_bytes: usize) -> Result<Self, BufferError> {
        let mapped = len.max(1).checked_next_multiple_of(page_bytes).unwrap_or(usize::MAX);
        Self::map(len, mapped, MapFlags::PRIVATE | MapFlags::HUGETLB).map_err(|e| BufferError::LargePages {
            bytes: len,
            pages: mapped / page_bytes,
            page_bytes,
            error: e.into(),
        })
    }

    fn map(len: usize, mapped: usize, flags: MapFlags) -> rustix::io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping at an address the kernel chooses aliases nothing.
        let ptr = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped, prot, flags)? };
        let ptr = NonNull::new(ptr.cast()).expect("mmap never returns null");
        Ok(IoBuffer { ptr, len, mapped })
    }

    /// Length in bytes, without what aligns it.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// First byte. Engines use it under the promise that a byte range is touched either by one I/O in
    /// flight or by `with_slice_mut`, never both; the worker's request slots keep that promise.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Runs `f` over a part of the buffer. The part must not belong to an I/O in flight, and no other
    /// thread may use the same part meanwhile: the worker calls it for slots it owns and that are
    /// idle, `load` for shared sources before any worker starts.
    ///
    /// # Panics
    /// When the range is not inside the buffer.
    #[inline]
    pub fn with_slice_mut<T>(&self, offset: usize, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> T {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len), "range outside buffer");
        // SAFETY: inside the mapping; exclusive by the promise above.
        let slice = unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr().add(offset), len) };
        f(slice)
    }
}

fn no_memory(bytes: usize, error: rustix::io::Errno) -> BufferError {
    BufferError::Memory { bytes, error: error.into() }
}

impl Drop for IoBuffer {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping and nothing is in flight any more: engines hold an
        // `Arc` of the buffer until drained, and leak it when they cannot drain.
        let _ = unsafe { rustix::mm::munmap(self.ptr.as_ptr().cast(), self.mapped) };
    }
}

/// Pages of each node among `samples` pages spread evenly over the buffer, its first and last among them;
/// fewer where it has fewer. Pages that were never touched lie nowhere and are left out.
///
/// # Errors
/// What `move_pages(2)` says: `ENOSYS` without NUMA in the kernel, `EPERM` in containers.
pub fn nodes_of(buffer: &IoBuffer, samples: usize) -> io::Result<BTreeMap<u32, usize>> {
    let page_bytes = rustix::param::page_size();
    let last = buffer.len().div_ceil(page_bytes).saturating_sub(1);
    let count = samples.min(last + 1).max(1);
    let mut addresses: Vec<*mut c_void> = (0..count)
        .map(|at| if count == 1 { 0 } else { last * at / (count - 1) })
        .map(|page| buffer.as_ptr().wrapping_add(page * page_bytes).cast())
        .collect();
    let mut found = vec![0 as libc::c_int; count];
    // SAFETY: the kernel reads `count` addresses, which it looks up and never follows, and writes `count`
    // numbers. Without nodes to go to it moves nothing. Process 0 is the caller.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            count,
            addresses.as_mut_ptr(),
            ptr::null::<libc::c_int>(),
            found.as_mut_ptr(),
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut nodes = BTreeMap::new();
    // A negative number is why this page has no node.
    for node in found.into_iter().filter_map(|node| u32::try_from(node).ok()) {
        *nodes.entry(node).or_default() += 1;
    }
    Ok(nodes)
}

/// Whether somebody gave the calling thread a policy for its memory, as `numactl` does; `None` where the
/// kernel does not tell.
pub fn has_memory_policy() -> Option<bool> {
    let mut mode: libc::c_int = 0;
    // SAFETY: the kernel writes one number into `mode`, and no nodes without a mask for them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            ptr::null_mut::<c_void>(),
            0,
            ptr::null::<c_void>(),
            0,
        )
    };
    (result == 0).then_some(mode != libc::MPOL_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_are_whole_pages_and_large_ones_whole_large_pages() {
        let page = rustix::param::page_size();
        for (len, unit) in [
            (1, page),
            (page + 1, page),
            (WIDE_FROM_BYTES - 1, page),
            (WIDE_FROM_BYTES, HUGE_BYTES),
            (HUGE_BYTES, HUGE_BYTES),
            (5 * HUGE_BYTES + 1, HUGE_BYTES),
        ] {
            // Several at once, so that not all lie at a multiple by chance.
            for buffer in [IoBuffer::new(len), IoBuffer::new(len), IoBuffer::new(len)].map(Result::unwrap) {
                assert_eq!(buffer.as_ptr().align_offset(unit), 0, "{len}");
                assert_eq!((buffer.len(), buffer.mapped), (len, len.next_multiple_of(unit)));
                buffer.with_slice_mut(0, len, |all| {
                    assert!(all.iter().all(|&b| b == 0));
                    all.fill(1);
                });
            }
        }
    }

    #[test]
    fn separated_buffers_begin_at_multiples_and_take_no_more_memory() {
        let distance = 16 << 20;
        for (len, unit) in [(1, rustix::param::page_size()), (3 << 20, HUGE_BYTES), (20 << 20, HUGE_BYTES)] {
            let buffers = [(); 4].map(|()| IoBuffer::apart(len, distance).expect("memory"));
            for buffer in &buffers {
                assert_eq!(buffer.as_ptr().addr() as u64 % distance, 0, "{len}");
                assert_eq!((buffer.len(), buffer.mapped), (len, len.next_multiple_of(unit)));
                buffer.with_slice_mut(0, len, |all| all.fill(1));
            }
        }
        let usual = IoBuffer::apart(1, 0).expect("memory");
        assert_eq!(usual.mapped, rustix::param::page_size());
        assert!(matches!(IoBuffer::apart(1, u64::MAX), Err(BufferError::Memory { .. })));
    }

    #[test]
    fn small_pages_stay_small() {
        let len = 4 * HUGE_BYTES;
        let buffer = IoBuffer::in_small_pages(len).unwrap();
        buffer.with_slice_mut(0, len, |all| all.fill(1));
        // "VmFlags: ... nh ..." of the mapping that holds the buffer: no huge pages.
        let at = buffer.as_ptr() as usize;
        let holds = |line: &str| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            range.and_then(|(a, b)| Some((number(a)?..number(b)?).contains(&at))) == Some(true)
        };
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("procfs");
        let mut lines = smaps.lines().skip_while(|line| !holds(line));
        let flags = lines.find(|line| line.starts_with("VmFlags:")).expect("flags of the mapping");
        assert!(flags.split_whitespace().any(|flag| flag == "nh"), "{flags}");
        drop(buffer);
        let empty = IoBuffer::in_small_pages(0).unwrap();
        assert!(empty.is_empty());
    }

    #[test]
    fn what_large_buffers_take_is_given_back() {
        let pages = || {
            let statm = std::fs::read_to_string("/proc/self/statm").expect("procfs");
            statm.split(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number of pages")
        };
        let before = pages();
        (0..64).for_each(|_| drop(IoBuffer::new(64 << 20)));
        let grown = pages().saturating_sub(before) * rustix::param::page_size();
        assert!(grown < 1 << 30, "{grown} bytes are left of 64 buffers of 64 MiB each");
    }

    #[test]
    fn more_memory_than_there_is_is_an_error() {
        for len in [usize::MAX, usize::MAX - HUGE_BYTES, usize::MAX / 2] {
            assert!(matches!(IoBuffer::new(len), Err(BufferError::Memory { .. })), "{len}");
        }
    }
}

#[cfg(test)]
mod tests_pages {
    use super::*;

    #[test]
    fn touched_pages_lie_on_a_node_and_others_nowhere() {
        let pages = 8;
        let buffer = IoBuffer::in_small_pages(pages * rustix::param::page_size()).unwrap();
        let nothing = match nodes_of(&buffer, 4) {
            Ok(nodes) => nodes,
            // A kernel without NUMA, or a container.
            Err(e) => return assert!(matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)), "{e}"),
        };
        assert_eq!(nothing, BTreeMap::new());
        buffer.with_slice_mut(0, buffer.len(), |all| all.fill(1));
        for (samples, seen) in [(1, 1), (4, 4), (pages, pages), (100, pages)] {
            assert_eq!(nodes_of(&buffer, samples).unwrap().values().sum::<usize>(), seen, "{samples}");
        }
        let half = IoBuffer::in_small_pages(pages * rustix::param::page_size()).unwrap();
        half.with_slice_mut(0, half.len() / 2, |part| part.fill(1));
        assert_eq!(nodes_of(&half, pages).unwrap().values().sum::<usize>(), pages / 2);
        assert_eq!(nodes_of(&half, 2).unwrap().values().sum::<usize>(), 1, "the first and the last");
    }

    #[test]
    fn the_policy_is_that_of_the_thread() {
        let own = || {
            let Some(before) = has_memory_policy() else { return };
            assert!(!before, "tests run without one");
            // SAFETY: a policy without nodes; it ends with the thread.
            let set =
                unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_LOCAL, ptr::null::<c_void>(), 0) };
            if set == 0 {
                assert_eq!(has_memory_policy(), Some(true));
            }
        };
        std::thread::spawn(own).join().unwrap();
    }
}

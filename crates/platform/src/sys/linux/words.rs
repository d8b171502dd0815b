//! Words of a file that is mapped into memory, or of memory alone.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use rustix::mm::{MapFlags, ProtFlags};

/// Words that processes share through a file. What is stored reaches the file also when the process is killed.
#[derive(Debug)]
pub struct SharedWords {
    address: NonNull<AtomicU32>,
    words: usize,
}

// SAFETY: the words are atomic, and the mapping belongs to this value alone.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps `words` words of a file from a byte on, which is a multiple of the page size. The file is that long, and
    /// has room for all of them: a page that cannot be stored ends the process. It must be open for writing if the
    /// words are to be stored to; a file that is open for reading gives words that may only be loaded.
    ///
    /// # Errors
    /// What the system says.
    pub fn map(file: &File, offset_bytes: u64, words: usize, is_writable: bool) -> io::Result<Self> {
        let length = words.max(1) * size_of::<u32>();
        let prot = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new shared mapping at an address that the kernel chooses aliases nothing of this process.
        let address = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                prot,
                MapFlags::SHARED,
                file.as_fd(),
                offset_bytes,
            )?
        };
        // Mappings begin at pages, so the words are aligned.
        let address = NonNull::new(address.cast()).expect("mmap never returns null");
        Ok(SharedWords { address, words })
    }

    /// Zeros of this process alone, which take memory where something else is stored.
    ///
    /// # Errors
    /// What the system says.
    pub fn zeros(words: usize) -> io::Result<Self> {
        let length = words.max(1) * size_of::<u32>();
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: new memory at an address that the kernel chooses aliases nothing of this process.
        let address = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, prot, flags)? };
        let address = NonNull::new(address.cast()).expect("mmap never returns null");
        Ok(SharedWords { address, words })
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU32];

    #[inline]
    fn deref(&self) -> &[AtomicU32] {
        // SAFETY: so many words are mapped there as long as this value lives.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        let length = self.words.max(1) * size_of::<u32>();
        // SAFETY: mapped by this value, and nobody has a reference to the words any more.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), length) };
    }
}

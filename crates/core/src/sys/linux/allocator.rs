//! The allocator of the programs: the system's, and words instead of an abort when there is no memory left.
//!
//! What a run needs is checked before it begins, but limits can be lower than anything that is checked, and
//! other programs can take the memory meanwhile. The standard library would end the process by SIGABRT, with
//! a core dump.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Write};

/// The system's allocator. Where it has no memory left, the program says so and ends with exit code 1.
#[derive(Debug, Clone, Copy)]
pub struct EndsInWords;

// SAFETY: all promises are those of the system's allocator, which does the work; no call returns a null pointer.
unsafe impl GlobalAlloc for EndsInWords {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.realloc(at, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn told(at: *mut u8, bytes: usize) -> *mut u8 {
    if at.is_null() {
        end(bytes);
    }
    at
}

#[cold]
fn end(bytes: usize) -> ! {
    let mut words = Words { text: [0; 256], len: 0 };
    // Too long for its place, it is cut.
    let _ = writeln!(
        words,
        "ERROR: the system has no {bytes} bytes of memory left for this program; raise its limit (ulimit -v, ulimit -d), \
         or use fewer threads (-t, -F) and outstanding I/Os (-o)"
    );
    // SAFETY: the bytes are there, and nothing of this process runs after the second call. An error of the
    // first changes nothing about the end.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.text.as_ptr().cast(), words.len);
        libc::_exit(1)
    }
}

/// Text without memory from an allocator.
struct Words {
    text: [u8; 256],
    len: usize,
}

impl Write for Words {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let place = self.text.get_mut(self.len..self.len + part.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(part.as_bytes());
        self.len += part.len();
        Ok(())
    }
}

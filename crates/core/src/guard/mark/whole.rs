//! Reads all of a file, if that does not take long.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::guard::sample::{PIECE_BYTES, read_places};

/// More than this cannot be read in time.
const READ_BYTES_MAX: u64 = 64 << 30;
/// So much is read however long it takes.
const READ_BYTES_MIN: u64 = 96 << 20;
/// A larger file is read for so long.
const READ_LIMIT: Duration = Duration::from_secs(1);

/// Whether all of the file could be read and each piece fits. `false` for a file that cannot be read within a second,
/// unless it is small.
pub(super) fn fits_throughout(file: &File, size_bytes: u64, fits: &(dyn Fn(&[u8]) -> bool + Sync)) -> bool {
    if size_bytes > READ_BYTES_MAX {
        return false;
    }
    let (end, is_so) = (Instant::now() + READ_LIMIT, AtomicBool::new(true));
    let starts = (0..size_bytes).step_by(PIECE_BYTES as usize);
    let places: Vec<_> = starts.map(|start| (start, PIECE_BYTES.min(size_bytes - start))).collect();
    let read = read_places(file, &places, &|_, bytes| {
        if bytes.is_ok_and(fits) && (size_bytes <= READ_BYTES_MIN || Instant::now() < end) {
            return ControlFlow::Continue(());
        }
        is_so.store(false, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    read.is_ok_and(|read| read == places.len()) && is_so.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::FileExt;

    const MIB: u64 = 1 << 20;

    fn file_of(size_bytes: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size_bytes).unwrap();
        file
    }

    fn is_zero(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte == 0)
    }

    #[test]
    fn every_byte_has_to_fit() {
        let size = 2 * MIB + 77;
        let file = file_of(size);
        assert!(fits_throughout(&file, size, &is_zero));
        assert!(fits_throughout(&file, 0, &|_| false), "there is none");
        for at in [0, MIB - 1, MIB, 2 * MIB, size - 1] {
            file.write_all_at(b"x", at).unwrap();
            assert!(!fits_throughout(&file, size, &is_zero), "byte {at}");
            file.write_all_at(&[0], at).unwrap();
        }
        assert!(!fits_throughout(&file, size + 1, &is_zero), "the last byte cannot be read");
    }

    #[test]
    fn a_large_file_is_given_up_after_a_while_and_a_small_one_is_not() {
        let slow = |bytes: &[u8]| {
            std::thread::sleep(READ_LIMIT + Duration::from_millis(50));
            bytes.len() as u64 <= PIECE_BYTES
        };
        assert!(fits_throughout(&file_of(MIB), MIB, &slow));
        let large = READ_BYTES_MIN + 1;
        assert!(!fits_throughout(&file_of(large), large, &slow));
        assert!(fits_throughout(&file_of(large), large, &|_| true));
        let huge = READ_BYTES_MAX + 1;
        assert!(!fits_throughout(&file_of(huge), huge, &|_| panic!("it is not read")));
    }
}

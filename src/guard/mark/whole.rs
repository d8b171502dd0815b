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

//! What is there already must stay, unless it is a file of an earlier run.

use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::Path;

/// Whether there is something at a place that does not begin with this line, and so must stay.
pub fn is_taken(path: &Path, first_line: &str) -> bool {
    let Ok(about) = fs::symlink_metadata(path) else { return false };
    // A pipe would wait for somebody who writes.
    if !about.is_file() {
        return true;
    }
    let mut begin = vec![0; first_line.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_err() || begin != first_line.as_bytes()
}

/// Whether a run that goes on has locked a file of its own. Call it for regular files only.
pub fn is_in_use(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Locks a file that a run has made until it is closed, so that others see that the run goes on. File systems without
/// locks do not tell it.
pub fn lock(file: &File) {
    let _ = file.try_lock();
}

//! Room on file systems.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that this user's files may still take on the file system of a path; `None` where it tells nothing.
///
/// # Errors
/// What `statvfs(3)` says.
pub fn free_bytes(path: &Path) -> io::Result<Option<u64>> {
    let facts = rustix::fs::statvfs(path)?;
    let free_blocks = if rustix::process::geteuid().is_root() { facts.f_bfree } else { facts.f_bavail };
    Ok((facts.f_blocks > 0).then(|| free_blocks.saturating_mul(facts.f_frsize)))
}

/// Bytes that a file takes on its file system; holes take none.
pub fn taken_bytes(about: &Metadata) -> u64 {
    // The system counts in units of 512 bytes, whatever the block size is.
    about.blocks().saturating_mul(512)
}

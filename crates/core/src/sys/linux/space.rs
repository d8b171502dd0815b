//! Room on file systems.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Bytes that a file takes on its file system; holes take none.
pub fn taken_bytes(about: &Metadata) -> u64 {
    // The system counts in units of 512 bytes, whatever the block size is.
    about.blocks().saturating_mul(512)
}

//! What the target holds and what was written to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the tested range of a file is laid out (FIEMAP), before the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExtentMap {
    /// Bytes looked at.
    pub range_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes allocated and never written: reads return zeros without the disk.
    pub unwritten_bytes: u64,
    /// Bytes with nothing behind them.
    pub hole_bytes: u64,
    /// Bytes that the filesystem stores compressed or encrypted, among the written ones.
    pub encoded_bytes: u64,
    /// Separate extents.
    pub extents: u64,
    /// Why the layout is not known, or not all of it, in words; the counts are about `range_bytes`, which may
    /// then be 0.
    pub unknown: Option<String>,
}

/// Bytes of the tested range in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Residency {
    /// Bytes looked at.
    pub range_bytes: u64,
    /// Cached before the run.
    pub cached_before_bytes: u64,
    /// Cached after it.
    pub cached_after_bytes: u64,
}

/// The page cache of what a loop device below a target stands on, all of it. A loop device without direct I/O reads and
/// writes through it, in the name of no process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoopCache {
    /// Kernel name of the loop device.
    pub device: String,
    /// Path of the file or device that it stands on.
    pub path: String,
    /// Its page cache before and after the run.
    pub residency: Residency,
    /// Bytes that had been cached, were dropped for want of memory and were not read again, before the run; none where
    /// the kernel does not tell.
    pub evicted_before_bytes: Option<u64>,
    /// The same after the run.
    pub evicted_after_bytes: Option<u64>,
}

/// What a sample of data is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContentSample {
    /// Blocks looked at, spread over the tested range.
    pub blocks: u32,
    /// Bytes of each.
    pub block_bytes: u32,
    /// Blocks of nothing but zeros.
    pub zero_blocks: u32,
    /// Blocks equal to an earlier one, zeros included.
    pub repeated_blocks: u32,
    /// Size of all blocks after compression (deflate, fastest level), in bytes.
    pub compressed_bytes: u64,
}

//! What was proven of verified targets (`--verify`) while they were tested.

use serde::{Deserialize, Serialize};

use crate::verify::Fault;

/// What a run wrote to a verified target, and what it found there meanwhile. Counts are of all phases of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verified {
    /// The target as it was given.
    pub path: String,
    /// The file that says what must be there.
    pub map: String,
    /// The map lies on a disk that the target lies on as well.
    #[serde(default)]
    pub map_is_on_target: bool,
    /// Size of a block of the map in bytes.
    pub block_bytes: u64,
    /// Blocks of the tested range.
    pub blocks: u64,
    /// Blocks of completed writes, each counted as often as it was written.
    pub written_blocks: u64,
    /// Blocks that were read and checked.
    pub checked_blocks: u64,
    /// Blocks that were read before this run had written them, so that nothing is known of them.
    pub unknown_blocks: u64,
    /// Blocks that were read and were not what they must be.
    pub wrong_blocks: u64,
    /// Places that were given up for another, because an I/O was under way there.
    pub moved_ios: u64,
    /// How often an I/O had to wait, because one was under way everywhere it tried.
    pub held_ios: u64,
    /// What was written was flushed at the end, or each write was durable by itself.
    pub is_flushed: bool,
    /// The first of these wrong blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongRange>,
}

/// Blocks beside each other with the same fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongRange {
    /// Where they begin, in bytes from the begin of the target.
    pub offset_bytes: u64,
    /// The length of all of them in bytes.
    pub length_bytes: u64,
    /// What is wrong with them.
    pub fault: Fault,
    /// The oldest generation that may be in the first block; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_generation: Option<u32>,
    /// The generation that is there; none where no sector says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_generation: Option<u32>,
    /// For which address it was written, in bytes; none where no sector says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_offset_bytes: Option<u64>,
    /// When that was, in seconds since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_written_s: Option<f64>,
    /// The thread that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_thread: Option<u32>,
}

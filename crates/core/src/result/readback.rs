//! What is on a target after a verified run (`truespd verify`).

use serde::{Deserialize, Serialize};

use super::WrongRange;
use super::envelope::DocumentKind;
use crate::verify::Fault;

/// What is on a target after a verified run: `truespd verify`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadBack {
    /// The target as it was given.
    pub path: String,
    /// The file that says what must be there.
    pub map: String,
    /// That file is a log (`--verify-log`): it knows of each block what was durable, and may be behind. Only these
    /// blocks were read.
    #[serde(default)]
    pub is_by_log: bool,
    /// The run ended by itself; false where it was killed, and the map is what it had told by then.
    pub run_ended: bool,
    /// The page cache was bypassed.
    pub is_direct: bool,
    /// Size of a block in bytes.
    pub block_bytes: u64,
    /// Blocks of the tested range.
    pub blocks: u64,
    /// Blocks that the run wrote: a write of them was acknowledged, or was under way when the run ended.
    pub written_blocks: u64,
    /// Of these: a write of them was acknowledged.
    pub acknowledged_blocks: u64,
    /// Of these: the last acknowledged write was flushed, so that it must be there.
    pub flushed_blocks: u64,
    /// Blocks that hold their last write; by a log, the last one that it knows, or what was written after it.
    pub newest_blocks: u64,
    /// Blocks that hold an older write or none, as they may: the last one was not flushed, or was under way.
    pub older_blocks: u64,
    /// Blocks that are not what they must be, by fault.
    pub wrong: Vec<FaultCount>,
    /// These blocks, those beside each other with the same fault as one; the first thousand.
    pub ranges: Vec<WrongRange>,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
}

/// A fault, and how many blocks have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultCount {
    /// What is wrong with them.
    pub fault: Fault,
    /// So many blocks have this fault.
    pub blocks: u64,
}

impl ReadBack {
    /// Blocks that are not what they must be.
    pub fn wrong_blocks(&self) -> u64 {
        self.wrong.iter().map(|count| count.blocks).sum()
    }
}

impl DocumentKind for ReadBack {
    const FORMAT: &'static str = "truespd-verify";
    const MEMBER: &'static str = "verify";
    const MEMBER_ABOUT: &'static str = "What is on the target.";
    const TITLE: &'static str = "What is on a target after a verified run";
    const ABOUT: &'static str = "What `truespd verify --json` writes.";
    const NAME: &'static str = "answer of truespd verify";
}

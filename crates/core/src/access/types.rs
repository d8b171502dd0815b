//! What the parts of this room share.

use std::sync::atomic::AtomicU64;

/// The next I/O of a thread on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Byte offset within the target (base included).
    pub offset: u64,
    /// Write, or read.
    pub write: bool,
}

/// An effective range of a non-uniform distribution, as really used (`io-semantics.md` §7.3, §7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectiveRange {
    /// Sum of the shares before this range, in percent.
    pub io_start: u32,
    /// Share of I/O in percent.
    pub io_percent: u32,
    /// First byte relative to the base.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
}

/// The one counter that threads of an interlocked target share (`-si`): I/Os issued so far, from 0.
///
/// One per target and time span. It counts I/Os and not bytes, so that laps stay exact for ever: a
/// byte count passes 2^64 within hours when the stride is large.
pub type SharedOffset = AtomicU64;

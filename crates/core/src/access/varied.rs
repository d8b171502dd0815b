//! I/Os that differ from each other in more than place and direction: in their size (`--mix`), or with flushes
//! (`--flush-every`) or trims (`--trim`) among them.
//!
//! They stand apart from [`Pattern`], so that a test without them pays nothing for them.

use super::places::{PatternSpec, Skew, happens};
use super::sizes::Sizes;
use super::{Pattern, Rng, SharedOffset};

/// What an I/O of a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It reads a block of the target.
    Read,
    /// It writes a block of the target.
    Write,
    /// It asks that writes become durable which were completed before (`--flush-every`).
    Flush,
    /// It tells the target that nobody needs a block any more (`--trim`).
    Trim,
}

/// The next I/O of a thread on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VariedAccess {
    /// Byte offset within the target (base included); 0 for a flush.
    pub offset: u64,
    /// Size in bytes; 0 for a flush.
    pub bytes: u32,
    /// What it does there: read, write, flush or trim.
    pub act: Act,
}

/// The I/Os of one thread on one target, in issue order.
#[derive(Debug, Clone)]
pub struct Varied {
    source: Source,
    base_bytes: u64,
    write_percent: u32,
    /// Writes between two flushes; 0 = no flush.
    flush_every: u32,
    /// Writes since the last flush.
    writes: u32,
    /// Share of the trims among the I/Os, in percent; 0 = no trim.
    trim_percent: u32,
}

#[derive(Debug, Clone)]
enum Source {
    /// All I/Os are so large.
    Pattern(Box<Pattern>, u32),
    Sizes(Box<Sizes>),
}

impl Varied {
    /// Takes the draws that a thread makes before it starts; none where I/Os differ in place and direction only.
    pub fn new(spec: &PatternSpec, rng: &mut Rng) -> Option<Self> {
        let range = spec.start.range();
        let source = if !spec.mix.is_empty() {
            Source::Sizes(Box::new(Sizes::new(spec, rng)))
        } else if spec.flush_every.is_some() || spec.trim_percent > 0 {
            Source::Pattern(Box::new(Pattern::new(spec.clone(), rng)), range.block_bytes() as u32)
        } else {
            return None;
        };
        let (base_bytes, write_percent) = (range.base_bytes(), spec.write_percent);
        let flush_every = spec.flush_every.unwrap_or(0);
        let trim_percent = spec.trim_percent;
        Some(Varied { source, base_bytes, write_percent, flush_every, writes: 0, trim_percent })
    }

    /// Whether some of the I/Os are flushes.
    pub fn flushes(&self) -> bool {
        self.flush_every > 0
    }

    /// Whether some of the I/Os are trims.
    pub fn trims(&self) -> bool {
        self.trim_percent > 0
    }

    /// Whether the next I/O is a flush, which belongs to the writes before it.
    pub fn owes_flush(&self) -> bool {
        self.flush_every > 0 && self.writes >= self.flush_every
    }

    /// The next I/O; as [`Pattern::next`].
    pub fn next(&mut self, slot: u32, rng: &mut Rng, shared: &SharedOffset) -> VariedAccess {
        if self.owes_flush() {
            self.writes = 0;
            return VariedAccess { offset: 0, bytes: 0, act: Act::Flush };
        }
        let (offset, bytes, write) = match &mut self.source {
            Source::Sizes(sizes) => {
                let (start, bytes, write) = sizes.next(self.write_percent, rng);
                (self.base_bytes + start, bytes, write)
            }
            Source::Pattern(pattern, bytes) => {
                let access = pattern.next(slot, rng, shared);
                (access.offset, *bytes, access.write)
            }
        };
        // A trim takes the place and the size that a read or a write would have had.
        if self.trim_percent > 0 && happens(self.trim_percent, rng) {
            return VariedAccess { offset, bytes, act: Act::Trim };
        }
        self.writes += u32::from(write);
        VariedAccess { offset, bytes, act: if write { Act::Write } else { Act::Read } }
    }

    /// What became of Zipf's law so far; none without one.
    pub fn skew(&self) -> Option<Skew> {
        match &self.source {
            Source::Sizes(sizes) => Some(sizes.skew()).filter(|skew| skew.drawn > 0),
            Source::Pattern(pattern, _) => pattern.skew(),
        }
    }
}

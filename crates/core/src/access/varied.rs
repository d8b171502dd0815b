//! I/Os that differ from each other in more than place and direction: in their size (`--mix`), or with flushes
//! (`--flush-every`) or trims (`--trim`) among them; and those of verified tests (`--verify`), which may be given up
//! for the next one.
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
        } else if spec.flush_every.is_some() || spec.trim_percent > 0 || spec.verify {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Places, RangeSpec, UsableRange};
    use crate::profile::{FlushEvery, MixPart, Target};

    fn acts(edit: impl Fn(&mut Target), count: usize) -> Vec<VariedAccess> {
        let mut target = Target { block_bytes: 4096, random_percent: 100, ..Target::default() };
        edit(&mut target);
        let range = UsableRange::new(RangeSpec::of(&target, 1 << 20)).expect("a block fits");
        let start = range.start_of(0).expect("a thread can start");
        let mut rng = Rng::new(5);
        let spec = PatternSpec::of(&target, start, 4, Places::Uniform);
        let mut varied = Varied::new(&spec, &mut rng).expect("it varies");
        let shared = SharedOffset::new(0);
        (0..count).map(|number| varied.next(number as u32 % 4, &mut rng, &shared)).collect()
    }

    fn count(all: &[VariedAccess], act: Act) -> usize {
        all.iter().filter(|access| access.act == act).count()
    }

    #[test]
    fn trims_have_their_share_and_the_others_are_as_asked() {
        let all = acts(|t| (t.trim_percent, t.write_percent) = (20, 30), 100_000);
        let [trims, writes, reads] = [Act::Trim, Act::Write, Act::Read].map(|act| count(&all, act));
        assert!((19_600..20_400).contains(&trims), "{trims}");
        // 30 % and 70 % of the others.
        assert!((23_600..24_400).contains(&writes) && (55_500..56_500).contains(&reads), "{writes} {reads}");
        for access in &all {
            let end = access.offset + u64::from(access.bytes);
            assert!(
                access.bytes == 4096 && access.offset.is_multiple_of(4096) && end <= 1 << 20,
                "{access:?}"
            );
        }
        assert_eq!(count(&acts(|t| t.trim_percent = 100, 1000), Act::Trim), 1000);
        let all = acts(|t| (t.trim_percent, t.write_percent) = (50, 100), 1000);
        assert_eq!(count(&all, Act::Read), 0);
    }

    #[test]
    fn trims_take_places_in_their_turn() {
        let all = acts(|t| (t.trim_percent, t.random_percent) = (50, 0), 256);
        let offsets: Vec<u64> = all.iter().map(|access| access.offset).collect();
        assert_eq!(offsets, (0..256).map(|block| block * 4096).collect::<Vec<u64>>());
        let all = acts(|t| (t.trim_percent, t.random_percent, t.interlocked) = (50, 0, true), 3);
        assert_eq!(all[2].offset, 8192, "the offset that threads share");
        let all = acts(|t| (t.trim_percent, t.random_percent, t.parallel) = (50, 0, true), 8);
        assert_eq!((all[3].offset, all[4].offset), (0, 4096), "each request has one of its own");
    }

    #[test]
    fn trims_beside_sizes_and_flushes() {
        let part = |bytes, percent| MixPart {
            block_bytes: bytes,
            percent: crate::profile::Decimal::new(percent).expect("above 0"),
        };
        let all = acts(
            |t| {
                t.mix = vec![part(4096, 50.0), part(8192, 50.0)];
                (t.block_bytes, t.trim_percent, t.write_percent) = (8192, 50, 100);
                t.flush_every = Some(FlushEvery { writes: 4, data_only: false });
            },
            10_000,
        );
        let small = all.iter().filter(|access| access.act == Act::Trim && access.bytes == 4096).count();
        let (trims, writes, flushes) =
            (count(&all, Act::Trim), count(&all, Act::Write), count(&all, Act::Flush));
        assert!((small * 2).abs_diff(trims) < trims / 10, "{small} of {trims}");
        assert!(writes.abs_diff(trims) < trims / 10, "{writes} and {trims}");
        assert!(
            (writes / 4).abs_diff(flushes) <= 1,
            "{flushes} flushes for {writes} writes: a trim must not count as a write"
        );
    }
}

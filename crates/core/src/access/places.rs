//! What a pattern is made from, and how random offsets are distributed over a range: evenly, in shares (`-rd`), or by
//! Zipf's law (`--zipf`).
//!
//! Source: `io-semantics.md` §5, §7, §8.

use std::sync::Arc;

use super::{EffectiveDistribution, EffectiveRange, Rng, ThreadStart, UsableRange, Zipf};
use crate::profile::{MixPart, Target};

/// What a [`super::Pattern`] is made from.
#[derive(Debug, Clone)]
pub struct PatternSpec {
    /// Usable range of the target and start of the thread in it.
    pub start: ThreadStart,
    /// Request slots of the thread that may use the target, 1 or more; only `-p` looks at it.
    pub slots: u32,
    /// 0 sequential, 1..99 mixed, 100 random (`-r`, `-rs`).
    pub random_percent: u32,
    /// One offset for all threads of the target (`-si`); only sequential.
    pub interlocked: bool,
    /// One offset per slot (`-p`); only sequential.
    pub parallel: bool,
    /// Percentage of writes, 0..100 (`-w`).
    pub write_percent: u32,
    /// How random offsets are distributed.
    pub places: Places,
    /// Sizes in shares (`--mix`); empty where all I/Os have the size of the range's blocks.
    pub mix: Vec<MixPart>,
    /// An alignment or stride that was asked for (`-r`, `-s`), in bytes; none: that of each I/O is its size.
    pub stride_bytes: Option<u64>,
    /// Writes between two flushes (`--flush-every`); none: no flush.
    pub flush_every: Option<u32>,
    /// Percentage of trims, 0..100 (`--trim`).
    pub trim_percent: u32,
    /// Writes are stamped and reads checked (`--verify`).
    pub verify: bool,
}

/// How random offsets are distributed over a range.
#[derive(Debug, Clone, Default)]
pub enum Places {
    /// Each place as often as any other.
    #[default]
    Uniform,
    /// In shares of ranges (`-rd`).
    Ranges(Arc<EffectiveDistribution>),
    /// By Zipf's law (`--zipf`): few places get most of it.
    Zipf(Arc<Zipf>),
}

impl PatternSpec {
    /// The pattern that `target` asks for.
    pub fn of(target: &Target, start: ThreadStart, slots: u32, places: Places) -> Self {
        PatternSpec {
            start,
            slots,
            random_percent: target.random_percent,
            interlocked: target.interlocked,
            parallel: target.parallel,
            write_percent: target.write_percent,
            places,
            mix: target.mix.clone(),
            stride_bytes: target.stride_bytes.filter(|&bytes| bytes > 0),
            flush_every: target.flush_every.map(|flush| flush.writes),
            trim_percent: target.trim_percent,
            verify: target.verify,
        }
    }
}

impl Places {
    /// The ranges of a distribution (`-rd`), as really used; empty without one.
    pub fn ranges(&self) -> &[EffectiveRange] {
        match self {
            Places::Ranges(distribution) => distribution.ranges(),
            Places::Uniform | Places::Zipf(_) => &[],
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct RandomStart {
    align: u64,
    /// What leaves whole alignments of a number where the alignment is a power of two, else 0: it is cheaper to look
    /// at this than to ask the alignment again for each I/O.
    align_mask: u64,
    /// All there is to do when alignment and span are powers of two, as with most blocks and files: a division
    /// takes longer than the rest of choosing an offset.
    mask: Option<u64>,
    /// Number of positions times alignment (A).
    span: u64,
    places: Places,
    skew: Skew,
}

/// What became of Zipf's law in one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skew {
    /// How many places were drawn so far.
    pub drawn: u64,
    /// Those of the hottest hundredth.
    pub hot: u64,
}

impl RandomStart {
    pub(super) fn new(range: &UsableRange, places: Places) -> Self {
        let align = range.stride_bytes();
        let span = range.span_bytes();
        let align_mask = if align.is_power_of_two() { !(align - 1) } else { 0 };
        let is_simple = align_mask != 0 && span.is_power_of_two() && matches!(places, Places::Uniform);
        let mask = is_simple.then(|| (span - 1) & align_mask);
        RandomStart { align, align_mask, mask, span, places, skew: Skew::default() }
    }

    /// One draw, two with a distribution.
    #[inline(always)]
    pub(super) fn draw(&mut self, rng: &mut Rng) -> u64 {
        let raw = rng.next_u64();
        match self.mask {
            Some(mask) => raw & mask,
            None => self.divide(raw, rng),
        }
    }

    #[inline(never)]
    fn divide(&mut self, raw: u64, rng: &mut Rng) -> u64 {
        if let Places::Zipf(zipf) = &self.places {
            return skewed(zipf, &mut self.skew, raw, rng) * self.align;
        }
        let aligned = if self.align_mask != 0 { raw & self.align_mask } else { raw - raw % self.align };
        match &self.places {
            Places::Ranges(distribution) => distribution.start(aligned, rng),
            Places::Uniform | Places::Zipf(_) => aligned % self.span,
        }
    }

    pub(super) fn skew(&self) -> Skew {
        self.skew
    }
}

/// A place by Zipf's law. Out of line: it needs many registers, which the other ways would save and restore.
#[inline(never)]
fn skewed(zipf: &Zipf, skew: &mut Skew, raw: u64, rng: &mut Rng) -> u64 {
    let (place, is_hot) = zipf.draw(raw, rng);
    skew.drawn += 1;
    skew.hot += u64::from(is_hot);
    place
}

/// True in `percent` of 100 draws.
#[inline]
pub(super) fn happens(percent: u32, rng: &mut Rng) -> bool {
    rng.next_u32() % 100 < percent
}

/// Read or write; draws only when both can happen (`io-semantics.md` §8).
#[inline]
pub(super) fn draw_write(write_percent: u32, rng: &mut Rng) -> bool {
    match write_percent {
        0 => false,
        1..=99 => happens(write_percent, rng),
        _ => true,
    }
}

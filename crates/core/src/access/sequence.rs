//! Where the next I/O goes, and whether it reads or writes.
//!
//! One [`Pattern`] per thread and target. It is asked once per I/O, in issue order; everything that
//! can be computed before the run is. Draws come in DiskSpd's order, so offsets repeat its sequences.
//!
//! Source: `io-semantics.md` §4, §5, §6, §8, §9.

use std::sync::atomic::Ordering;

use super::places::{PatternSpec, RandomStart, Skew, draw_write, happens};
use super::{Access, Rng, SharedOffset};

/// The I/Os of one thread on one target, in issue order.
#[derive(Debug, Clone)]
pub struct Pattern {
    base_bytes: u64,
    write_percent: u32,
    kind: Kind,
}

// A tag of its own: reading one that lies in a field of a variant takes 2 to 6 instructions more per I/O.
#[derive(Debug, Clone)]
#[repr(u8)]
enum Kind {
    Sequential { lap: Lap, next: u64 },
    Interlocked { stride: u64, positions: u64 },
    Parallel { lap: Lap, next: Box<[u64]> },
    Random(RandomStart),
    Mixed(Box<Mixed>),
}

/// How a sequential offset moves on.
#[derive(Debug, Clone)]
struct Lap {
    stride: u64,
    last: u64,
    /// Start of every lap but the first.
    first: u64,
}

impl Lap {
    /// The next offset after all: `next` itself, or the start of a new lap.
    #[inline]
    fn take(&self, next: &mut u64) -> u64 {
        let at = if *next > self.last { self.first } else { *next };
        // A stride is at most the usable length: no overflow.
        *next = at + self.stride;
        at
    }
}

/// Runs: one random I/O and the sequential ones after it, all of one type.
#[derive(Debug, Clone)]
struct Mixed {
    random: RandomStart,
    random_percent: u32,
    lap: Lap,
    next: u64,
    write: bool,
}

impl Mixed {
    /// Offset from the base, and whether to write. Out of line: the other patterns are a few instructions.
    #[inline(never)]
    fn next(&mut self, write_percent: u32, rng: &mut Rng) -> (u64, bool) {
        if happens(self.random_percent, rng) {
            self.next = self.random.draw(rng);
            self.write = draw_write(write_percent, rng);
        }
        // A random start is always legal, so taking it only moves on.
        (self.lap.take(&mut self.next), self.write)
    }
}

impl Pattern {
    /// Takes the draws that a thread makes before it starts: mixed patterns draw a random offset; any
    /// pattern that reads and writes draws a type. Build the patterns of a thread in target order.
    pub fn new(spec: PatternSpec, rng: &mut Rng) -> Self {
        let range = spec.start.range();
        let stride = range.stride_bytes();
        let last = range.last_start_bytes();
        let start = spec.start.start_bytes();
        let lap = Lap { stride, last, first: start % stride };
        let mut kind = match spec.random_percent {
            0 if spec.interlocked => Kind::Interlocked { stride, positions: range.positions() },
            0 if spec.parallel => {
                Kind::Parallel { lap, next: vec![start; spec.slots as usize].into_boxed_slice() }
            }
            0 => Kind::Sequential { lap, next: start },
            1..=99 => {
                let mut random = RandomStart::new(range, spec.places);
                let next = random.draw(rng);
                let lap = Lap { first: 0, ..lap };
                let random_percent = spec.random_percent;
                Kind::Mixed(Box::new(Mixed { random, random_percent, lap, next, write: false }))
            }
            _ => Kind::Random(RandomStart::new(range, spec.places)),
        };
        // Drawn by every pattern, used by mixed ones only.
        let write = draw_write(spec.write_percent, rng);
        if let Kind::Mixed(mixed) = &mut kind {
            mixed.write = write;
        }
        Pattern { base_bytes: range.base_bytes(), write_percent: spec.write_percent, kind }
    }

    /// What became of Zipf's law so far; none without one.
    pub fn skew(&self) -> Option<Skew> {
        let skew = match &self.kind {
            Kind::Random(random) => random.skew(),
            Kind::Mixed(mixed) => mixed.random.skew(),
            Kind::Sequential { .. } | Kind::Interlocked { .. } | Kind::Parallel { .. } => Skew::default(),
        };
        (skew.drawn > 0).then_some(skew)
    }

    /// The next I/O. `slot` counts the thread's slots on this target from 0; `shared` is the target's
    /// own counter, used with `-si` only.
    ///
    /// # Panics
    /// With `-p`, when `slot` is not below [`PatternSpec::slots`].
    #[inline(always)]
    pub fn next(&mut self, slot: u32, rng: &mut Rng, shared: &SharedOffset) -> Access {
        if let Kind::Random(random) = &mut self.kind {
            let offset = self.base_bytes + random.draw(rng);
            return Access { offset, write: draw_write(self.write_percent, rng) };
        }
        let start = match &mut self.kind {
            Kind::Sequential { lap, next } => lap.take(next),
            Kind::Random(random) => random.draw(rng),
            Kind::Mixed(mixed) => {
                let (start, write) = mixed.next(self.write_percent, rng);
                return Access { offset: self.base_bytes + start, write };
            }
            // The order in which threads get numbers carries no other memory: relaxed is enough.
            Kind::Interlocked { stride, positions } => {
                shared.fetch_add(1, Ordering::Relaxed) % *positions * *stride
            }
            Kind::Parallel { lap, next } => lap.take(&mut next[slot as usize]),
        };
        Access { offset: self.base_bytes + start, write: draw_write(self.write_percent, rng) }
    }
}

// Which target the next I/O goes to when a thread's requests are shared by all (`-F` with `-O`, `io-semantics.md` §1,
// "Pool mode").

/// Picks targets with probabilities in proportion to their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolChoice(PoolKind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PoolKind {
    One,
    Uniform(u64),
    /// Sums of the weights up to and including each target.
    Weighted(Box<[u64]>),
}

impl PoolChoice {
    /// A choice among as many targets as there are weights, for one thread.
    ///
    /// # Errors
    /// [`PoolError`] when there is no target or a weight is 0.
    pub fn new(weights: &[u32]) -> Result<Self, PoolError> {
        let first = *weights.first().ok_or(PoolError::NoTarget)?;
        if let Some(target) = weights.iter().position(|&w| w == 0) {
            return Err(PoolError::NoWeight { target });
        }
        Ok(PoolChoice(if weights.len() == 1 {
            PoolKind::One
        } else if weights.iter().all(|&w| w == first) {
            PoolKind::Uniform(weights.len() as u64)
        } else {
            let sums = weights.iter().scan(0, |sum, &w| {
                *sum += u64::from(w);
                Some(*sum)
            });
            PoolKind::Weighted(sums.collect())
        }))
    }

    /// Index of the target of the next I/O; no draw with one target, otherwise one.
    #[inline]
    pub fn choose(&self, rng: &mut Rng) -> usize {
        match &self.0 {
            PoolKind::One => 0,
            PoolKind::Uniform(targets) => (rng.next_u64() % targets) as usize,
            PoolKind::Weighted(sums) => {
                let drawn = rng.next_u64() % sums[sums.len() - 1];
                sums.partition_point(|&sum| sum <= drawn)
            }
        }
    }
}

/// Why a thread has nothing to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// ThreadTargets leave the thread without a target.
    #[error("the thread is assigned to no target; name it in the ThreadTargets of at least one target")]
    NoTarget,
    /// A weight of 0.
    #[error("target {target} (counted from 0) has weight 0; a weight must be at least 1")]
    NoWeight {
        /// Index among the thread's targets.
        target: usize,
    },
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_pool {
    use super::*;

    fn counts(weights: &[u32], draws: u32) -> Vec<u32> {
        let choice = PoolChoice::new(weights).expect("legal");
        let mut rng = Rng::new(0);
        let mut counts = vec![0; weights.len()];
        for _ in 0..draws {
            counts[choice.choose(&mut rng)] += 1;
        }
        counts
    }

    #[test]
    fn weights_one_two_seven_as_measured() {
        assert_eq!(counts(&[1, 2, 7], 100_000), [10072, 20105, 69823]);
    }

    #[test]
    fn equal_weights_are_uniform_and_one_target_draws_nothing() {
        for count in counts(&[5, 5, 5, 5], 100_000) {
            assert!((24_500..25_500).contains(&count), "{count}");
        }
        let mut rng = Rng::new(3);
        assert_eq!(PoolChoice::new(&[9]).expect("legal").choose(&mut rng), 0);
        assert_eq!(rng.next_u64(), Rng::new(3).next_u64());
    }

    #[test]
    fn sums_beyond_32_bits_do_not_wrap() {
        let counts = counts(&[u32::MAX, u32::MAX, u32::MAX - 1], 30_000);
        assert!(counts.iter().all(|c| (9_600..10_400).contains(c)), "{counts:?}");
    }

    #[test]
    fn nothing_to_choose_from_is_refused() {
        assert_eq!(PoolChoice::new(&[]), Err(PoolError::NoTarget));
        assert_eq!(PoolChoice::new(&[1, 0]), Err(PoolError::NoWeight { target: 1 }));
    }
}

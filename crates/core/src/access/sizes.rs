//! I/Os of several sizes (`--mix`): how large the next one is, and where it goes.
//!
//! | pattern | where an I/O goes |
//! |---|---|
//! | random | to a multiple of its own size, or of the alignment that was asked for |
//! | random, with a distribution or Zipf's law | as the largest size would; then to one of its own places in there |
//! | sequential | to where the one before ended, or a stride further, where one was asked for |
//!
//! The size is drawn before the place, so that the end of a range does not change the shares.

use super::Rng;
use super::places::{PatternSpec, Places, RandomStart, Skew, draw_write, happens};
use crate::profile::MixPart;

/// The state of a thread on one target.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    shares: Shares,
    places: SizePlaces,
    random_percent: u32,
    /// Where the next sequential I/O goes, from the base.
    next: u64,
    /// Where each lap but the first begins.
    first: u64,
    usable_bytes: u64,
    stride_bytes: Option<u64>,
    /// All I/Os of a run of mixed patterns are of one type.
    write: bool,
}

/// Random places for each size.
#[derive(Debug, Clone)]
enum SizePlaces {
    /// One for each size of the mix, in its order.
    Own(Vec<RandomStart>),
    /// Those of the largest size; smaller I/Os go to a random place of theirs in it.
    Largest { start: RandomStart, bytes: u64 },
}

/// Draws sizes by their shares.
#[derive(Debug, Clone)]
struct Shares {
    /// A draw up to this one is of the size.
    up_to: Vec<u64>,
    bytes: Vec<u32>,
}

impl Shares {
    fn new(mix: &[MixPart]) -> Self {
        let sum: f64 = mix.iter().map(|part| part.percent.get()).sum();
        let (mut up_to, mut before) = (Vec::new(), 0.0);
        for part in mix {
            before += part.percent.get();
            up_to.push((before / sum * u64::MAX as f64) as u64);
        }
        // Whatever rounding did, each draw has a size.
        if let Some(last) = up_to.last_mut() {
            *last = u64::MAX;
        }
        Shares { up_to, bytes: mix.iter().map(|part| part.block_bytes as u32).collect() }
    }

    /// The place of a size in the mix.
    fn draw(&self, rng: &mut Rng) -> usize {
        let drawn = rng.next_u64();
        self.up_to.iter().take_while(|&&up_to| up_to < drawn).count()
    }
}

impl Sizes {
    /// Takes the draws that a thread makes before it starts.
    pub(super) fn new(spec: &PatternSpec, rng: &mut Rng) -> Self {
        let range = spec.start.range();
        let places = match spec.places {
            Places::Uniform => {
                let mut own = Vec::new();
                for part in &spec.mix {
                    let stride = spec.stride_bytes.unwrap_or(part.block_bytes);
                    own.push(RandomStart::new(&range.with_block(part.block_bytes, stride), Places::Uniform));
                }
                SizePlaces::Own(own)
            }
            Places::Ranges(_) | Places::Zipf(_) => SizePlaces::Largest {
                start: RandomStart::new(range, spec.places.clone()),
                bytes: range.block_bytes(),
            },
        };
        let start = spec.start.start_bytes();
        let mut sizes = Sizes {
            shares: Shares::new(&spec.mix),
            places,
            random_percent: spec.random_percent,
            next: start,
            first: spec.stride_bytes.map_or(0, |stride| start % stride),
            usable_bytes: range.usable_bytes(),
            stride_bytes: spec.stride_bytes,
            write: draw_write(spec.write_percent, rng),
        };
        if sizes.random_percent > 0 {
            let size = sizes.shares.draw(rng);
            sizes.next = sizes.random_start(size, rng);
            sizes.first = 0;
        }
        sizes
    }

    /// The next I/O: its offset from the base of the range, its size, and whether it writes.
    pub(super) fn next(&mut self, write_percent: u32, rng: &mut Rng) -> (u64, u32, bool) {
        let size = self.shares.draw(rng);
        let bytes = self.shares.bytes[size];
        if self.random_percent == 100 {
            let offset = self.random_start(size, rng);
            return (offset, bytes, draw_write(write_percent, rng));
        }
        if self.random_percent == 0 {
            self.write = draw_write(write_percent, rng);
        } else if happens(self.random_percent, rng) {
            self.next = self.random_start(size, rng);
            self.write = draw_write(write_percent, rng);
        }
        let is_beyond = self.next.saturating_add(u64::from(bytes)) > self.usable_bytes;
        let offset = if is_beyond { self.first } else { self.next };
        self.next = offset.saturating_add(self.stride_bytes.unwrap_or(u64::from(bytes)));
        (offset, bytes, self.write)
    }

    fn random_start(&mut self, size: usize, rng: &mut Rng) -> u64 {
        match &mut self.places {
            SizePlaces::Own(starts) => starts[size].draw(rng),
            SizePlaces::Largest { start, bytes } => {
                let own = u64::from(self.shares.bytes[size]);
                let outer = start.draw(rng);
                // An alignment that was asked for stands for all sizes.
                let inner = if self.stride_bytes.is_some() { 1 } else { *bytes / own };
                if inner > 1 { outer + rng.next_u64() % inner * own } else { outer }
            }
        }
    }

    pub(super) fn skew(&self) -> Skew {
        match &self.places {
            SizePlaces::Own(_) => Skew::default(),
            SizePlaces::Largest { start, .. } => start.skew(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{RangeSpec, SharedOffset, UsableRange, Varied, VariedAccess, Zipf};
    use crate::profile::{Decimal, Target};
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    use std::sync::Arc;

    const SIZES: [(u64, f64); 4] = [(4096, 40.5), (8192, 9.5), (1536, 20.0), (65536, 30.0)];

    fn target(change: impl FnOnce(&mut Target)) -> Target {
        let part = |(block_bytes, percent)| MixPart { block_bytes, percent: Decimal::new(percent).unwrap() };
        let mut target = Target { mix: SIZES.map(part).to_vec(), ..Target::default() };
        change(&mut target);
        target
    }

    fn accesses(target: &Target, size_bytes: u64, places: Places, count: usize) -> Vec<VariedAccess> {
        let range = UsableRange::new(RangeSpec::of(target, size_bytes)).unwrap();
        let mut rng = Rng::for_thread(1, 0);
        let spec = PatternSpec::of(target, range.start_of(0).unwrap(), 4, places);
        let mut pattern = Varied::new(&spec, &mut rng).unwrap();
        let shared = SharedOffset::new(0);
        (0..count).map(|_| pattern.next(0, &mut rng, &shared)).collect()
    }

    /// Probability of a chi-square at least as large, of the sizes against their shares.
    fn shares_fit(accesses: impl Iterator<Item = u32>) -> f64 {
        let mut counts = [0u64; 4];
        for bytes in accesses {
            counts[SIZES.iter().position(|(size, _)| *size == u64::from(bytes)).unwrap()] += 1;
        }
        let all: u64 = counts.iter().sum();
        let mut sum = 0.0;
        for (count, (_, percent)) in counts.iter().zip(SIZES) {
            let expected = percent / 100.0 * all as f64;
            sum += (*count as f64 - expected).powi(2) / expected;
        }
        1.0 - ChiSquared::new(3.0).unwrap().cdf(sum)
    }

    #[test]
    fn sizes_have_their_shares_and_random_places_are_aligned_to_them() {
        // The last 1,536 bytes are a place for the smallest size only.
        let size = (1 << 20) + 1536;
        let random = target(|t| t.random_percent = 100);
        let all = accesses(&random, size, Places::Uniform, 200_000);
        let p = shares_fit(all.iter().map(|access| access.bytes));
        assert!(p > 0.001, "p {p}");
        for access in &all {
            let bytes = u64::from(access.bytes);
            assert!(access.offset % bytes == 0 && access.offset + bytes <= size, "{access:?}");
        }
        for (bytes, _) in SIZES {
            let last =
                all.iter().filter(|access| u64::from(access.bytes) == bytes).map(|access| access.offset);
            assert_eq!(last.max(), Some((size - bytes) / bytes * bytes), "the last place of {bytes} is used");
        }
        let aligned = target(|t| (t.random_percent, t.stride_bytes) = (100, Some(512)));
        let all = accesses(&aligned, size, Places::Uniform, 10_000);
        assert!(all.iter().all(|access| access.offset % 512 == 0));
        assert!(all.iter().any(|access| access.offset % u64::from(access.bytes) != 0));
    }

    #[test]
    fn sequential_ios_follow_each_other() {
        let size = 1 << 20;
        let all = accesses(&target(|_| ()), size, Places::Uniform, 100_000);
        assert!(shares_fit(all.iter().map(|access| access.bytes)) > 0.001, "the end changes no share");
        let mut laps = 0;
        for pair in all.windows(2) {
            let end = pair[0].offset + u64::from(pair[0].bytes);
            if pair[1].offset == end {
                continue;
            }
            assert_eq!(pair[1].offset, 0);
            assert!(end + u64::from(pair[1].bytes) > size, "it would have fitted: {pair:?}");
            laps += 1;
        }
        assert!(laps > 1000);
        let strided = accesses(&target(|t| t.stride_bytes = Some(100_000)), size, Places::Uniform, 100);
        assert!(strided.iter().all(|access| access.offset % 100_000 == 0));
    }

    #[test]
    fn mixed_patterns_read_and_write_in_runs() {
        let all = accesses(
            &target(|t| (t.random_percent, t.write_percent) = (10, 50)),
            1 << 30,
            Places::Uniform,
            50_000,
        );
        let follow =
            all.windows(2).filter(|pair| pair[1].offset == pair[0].offset + u64::from(pair[0].bytes)).count();
        assert!((43_000..47_000).contains(&follow), "{follow}");
        let turns = all.windows(2).filter(|pair| pair[0].act != pair[1].act).count();
        assert!((1800..3200).contains(&turns), "{turns}");
    }

    #[test]
    fn one_hot_set_for_all_sizes() {
        let skewed = target(|t| (t.random_percent, t.block_bytes) = (100, 65536));
        let size = 1000 * 65536;
        let zipf = Arc::new(Zipf::new(1.0, 1000, 5));
        let all = accesses(&skewed, size, Places::Zipf(zipf), 50_000);
        assert!(shares_fit(all.iter().map(|access| access.bytes)) > 0.001);
        let mut counts = vec![[0u32; 2]; 1000];
        for access in &all {
            assert!(
                access.offset % 65536 + u64::from(access.bytes) <= 65536,
                "within a place of the largest"
            );
            counts[(access.offset / 65536) as usize][usize::from(access.bytes == 65536)] += 1;
        }
        let hottest = |column: usize| (0..1000).max_by_key(|&place| counts[place][column]);
        assert_eq!(hottest(0), hottest(1));
    }
}

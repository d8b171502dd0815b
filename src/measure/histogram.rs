//! Log-linear latency histogram with exact minimum, maximum, sum and sum of squares.
//!
//! Own code, not a crate: recording is on the hot path (two adds and one array increment), untouched
//! parts must cost no memory (64 threads times 16 targets), and no value may be clipped.

/// Linear sub-buckets per power of two: 2048 gives a relative error below 0.05 %.
const SUB_BITS: u32 = 11;
const SUB_COUNT: usize = 1 << SUB_BITS;
const HALF_COUNT: usize = SUB_COUNT / 2;
/// Buckets for every 64-bit value.
const BUCKETS: usize = SUB_COUNT + (64 - SUB_BITS as usize) * HALF_COUNT;

/// Counts of latencies in nanoseconds.
///
/// Values below 2048 are exact; above, a percentile is within 0.05 % of a recorded value. Count,
/// minimum, maximum, mean and standard deviation are exact (128-bit sums).
#[derive(Debug, Clone)]
pub struct Histogram {
    /// Zeroed lazily by the system: only the pages of recorded values take memory.
    counts: Vec<u64>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_squares: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_squares: 0,
        }
    }

    #[inline]
    fn index(value: u64) -> usize {
        let bits = 64 - (value | (SUB_COUNT as u64 - 1)).leading_zeros();
        let shift = bits - SUB_BITS;
        (shift as usize) * HALF_COUNT + (value >> shift) as usize
    }

    /// Smallest and largest value of a bucket.
    fn bounds(index: usize) -> (u64, u64) {
        let shift = (index / HALF_COUNT).saturating_sub(1);
        let low = ((index - shift * HALF_COUNT) as u64) << shift;
        (low, low + ((1u64 << shift) - 1))
    }

    /// Records one latency.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.counts[Self::index(latency_ns)] += 1;
        self.count += 1;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns += u128::from(latency_ns);
        self.sum_squares += u128::from(latency_ns) * u128::from(latency_ns);
    }

    /// Adds everything `other` holds.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        let (first, last) = (Self::index(other.min_ns), Self::index(other.max_ns));
        for i in first..=last {
            // Reading never touches fresh pages; writing zeros would.
            if other.counts[i] != 0 {
                self.counts[i] += other.counts[i];
            }
        }
        self.count += other.count;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.sum_squares += other.sum_squares;
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Smallest latency in nanoseconds, 0 without samples.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// Largest latency in nanoseconds, 0 without samples.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Mean in nanoseconds, 0 without samples.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Population standard deviation in nanoseconds, 0 without samples.
    pub fn std_dev_ns(&self) -> f64 {
        crate::measure::intervals::std_dev(self.count, self.sum_ns, self.sum_squares)
    }

    /// Distinct buckets in use.
    pub fn buckets_used(&self) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let range = Self::index(self.min_ns)..=Self::index(self.max_ns);
        self.counts[range].iter().filter(|&&c| c != 0).count() as u64
    }

    /// The smallest recorded latency whose cumulative count reaches `fraction` (0..1) of all samples,
    /// no interpolation; 0 is the minimum, 1 the maximum (`io-semantics.md` §14.2).
    pub fn percentile_ns(&self, fraction: f64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let wanted = ((fraction * self.count as f64).ceil() as u64).clamp(1, self.count);
        if wanted == self.count {
            return self.max_ns;
        }
        let mut seen = 0;
        for i in Self::index(self.min_ns)..=Self::index(self.max_ns) {
            seen += self.counts[i];
            if seen >= wanted {
                let (low, high) = Self::bounds(i);
                return (low + (high - low) / 2).clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }
}

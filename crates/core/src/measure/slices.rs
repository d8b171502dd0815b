//! Latencies over time: a coarse histogram of each slice of the measured time, reads and writes apart.
//!
//! Coarse buckets of latencies, for how they spread over time.
//!
//! # Buckets
//! From 1,024 ns on, every power of two is cut into four buckets of equal width, so that a bucket is a
//! quarter (at its low end) to a seventh (at its high end) as wide as the latencies in it: some 13 to a power
//! of ten. Below there are four of 256 ns each. They hold every 64-bit number, and each is made of whole
//! buckets of the fine histogram.

use serde::{Deserialize, Serialize};

/// A time span has no more slices than this.
const SLICES_MAX: u64 = 240;
/// In a shorter slice, few I/Os complete even on a fast drive.
const SLICE_NS_MIN: u64 = 20_000_000;

/// Length of the slices of a measured time in nanoseconds: 1, 2 or 5 times a power of ten, the shortest that makes
/// 240 of them or fewer. Lengths that differ then share slices that are twice as long as the longer at most.
pub fn slice_ns(duration_ns: u64) -> u64 {
    let powers = std::iter::successors(Some(10_000_000u64), |power| power.checked_mul(10));
    let all = powers.flat_map(|power| [1, 2, 5].map(|times| power.saturating_mul(times)));
    all.filter(|ns| *ns >= SLICE_NS_MIN)
        .find(|slice_ns: &u64| duration_ns.div_ceil(*slice_ns) <= SLICES_MAX)
        .unwrap_or(u64::MAX)
}

/// How many slices a measured time has.
pub fn slices_of(duration_ns: u64) -> usize {
    duration_ns.div_ceil(slice_ns(duration_ns)) as usize
}

/// Latencies of one slice, by coarse bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slice {
    /// The first bucket with a count; 0 when there is none.
    first: usize,
    /// From the first bucket with a count to the last.
    counts: Vec<u64>,
}

impl Slice {
    /// Of counts from bucket 0 on; what is beyond the last bucket is left out.
    pub fn of(counts: &[u64]) -> Self {
        Slice::beginning_at(0, &counts[..counts.len().min(BUCKETS)])
    }

    fn beginning_at(first: usize, counts: &[u64]) -> Self {
        match (counts.iter().position(|&count| count > 0), counts.iter().rposition(|&count| count > 0)) {
            (Some(begin), Some(end)) => Slice { first: first + begin, counts: counts[begin..=end].to_vec() },
            _ => Slice::default(),
        }
    }

    /// The buckets with counts, ascending.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        let all = self.counts.iter().enumerate();
        all.filter(|(_, count)| **count > 0).map(|(place, count)| (self.first + place, *count))
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// About this latency in nanoseconds is not exceeded by `fraction` (0..1) of all, as if those of a bucket
    /// lay evenly in it; none without latencies.
    pub fn percentile_ns(&self, fraction: f64) -> Option<f64> {
        let rank = fraction.clamp(0.0, 1.0) * self.count() as f64;
        let mut seen = 0.0;
        let mut at = None;
        for (bucket, count) in self.buckets() {
            let (low, high) = (low_ns(bucket) as f64, low_ns(bucket + 1) as f64);
            at = Some(low + (high - low) * ((rank - seen) / count as f64).clamp(0.0, 1.0));
            seen += count as f64;
            if seen >= rank {
                break;
            }
        }
        at
    }

    /// Adds what `other` holds.
    pub fn add(&mut self, other: &Slice) {
        if other.counts.is_empty() {
            return;
        }
        if self.counts.is_empty() {
            return other.clone_into(self);
        }
        let (first, end) = (self.first.min(other.first), self.end().max(other.end()));
        let mut counts = vec![0u64; end - first];
        for slice in [&*self, other] {
            let sums = &mut counts[slice.first - first..];
            sums.iter_mut().zip(&slice.counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
        *self = Slice { first, counts };
    }

    /// The bucket behind the last with a count.
    fn end(&self) -> usize {
        self.first + self.counts.len()
    }
}

/// Latencies of a time span, slice by slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Stored", into = "Stored")]
pub struct LatencySlices {
    slice_ns: u64,
    /// Reads and writes of each.
    slices: Vec<[Slice; 2]>,
}

impl LatencySlices {
    /// Reads and writes of slices of `slice_ns` nanoseconds each, from the start of measurement.
    pub fn new(slice_ns: u64, slices: Vec<[Slice; 2]>) -> Self {
        LatencySlices { slice_ns: slice_ns.max(1), slices }
    }

    /// Length of a slice in nanoseconds.
    pub fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    /// Reads and writes of each slice, in the order of time.
    pub fn slices(&self) -> &[[Slice; 2]] {
        &self.slices
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.slices.iter().flatten().fold(0, |sum, slice| sum.saturating_add(slice.count()))
    }

    /// Adds another result of the same time span. Where slices differ in length, those of the sum are as long as both
    /// share, so nothing is divided and the order does not matter.
    pub fn merge(&mut self, other: &LatencySlices) {
        match common_multiple(self.slice_ns, other.slice_ns) {
            Some(common_ns) => {
                self.join(common_ns / self.slice_ns);
                let mut other = other.clone();
                other.join(common_ns / other.slice_ns);
                self.add(&other);
            }
            // Lengths that no run has: all in one slice.
            None => {
                let mut other = other.clone();
                (self.slice_ns, other.slice_ns) = (1, 1);
                self.join(u64::MAX);
                other.join(u64::MAX);
                self.add(&other);
            }
        }
    }

    /// The same with slices so many times as long that `most` are left, or fewer.
    pub fn at_most(&self, most: usize) -> LatencySlices {
        let mut joined = self.clone();
        while joined.slices.len() > most.max(1) {
            joined.join(2);
        }
        joined
    }

    /// Makes one slice of each `times`.
    fn join(&mut self, times: u64) {
        if times <= 1 {
            return;
        }
        let each = usize::try_from(times).unwrap_or(usize::MAX);
        self.slices = self
            .slices
            .chunks(each)
            .map(|slices: &[[Slice; 2]]| {
                let mut sum = <[Slice; 2]>::default();
                slices.iter().for_each(|slice| add_both(&mut sum, slice));
                sum
            })
            .collect();
        self.slice_ns = self.slice_ns.saturating_mul(times);
    }

    fn add(&mut self, other: &LatencySlices) {
        let length = self.slices.len().max(other.slices.len());
        self.slices.resize_with(length, Default::default);
        self.slices.iter_mut().zip(&other.slices).for_each(|(sum, slice)| add_both(sum, slice));
    }
}

fn add_both(sum: &mut [Slice; 2], slice: &[Slice; 2]) {
    sum.iter_mut().zip(slice).for_each(|(sum, slice)| sum.add(slice));
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

/// Latencies over time as a document holds them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LatencySlices"))]
struct Stored {
    /// Length of a slice in nanoseconds. The first one begins with the measured time; the last one may be cut
    /// short by its end.
    slice_ns: u64,
    /// Limits of the buckets in nanoseconds, ascending: bucket n (from 0) holds latencies from limit n to
    /// below limit n + 1.
    limits_ns: Vec<u64>,
    /// Reads.
    reads: Lists,
    /// Writes.
    writes: Lists,
}

/// Reads or writes as a document holds them. Both lists have an entry for each slice, in the order of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LatencySliceLists"))]
struct Lists {
    /// The first bucket with I/Os.
    first: Vec<usize>,
    /// I/Os in that bucket and in those after it; what is beyond the end of the list has none.
    counts: Vec<Vec<u64>>,
}

/// Why stored slices cannot be taken back.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("'slice_ns' is 0")]
    NoLength,
    #[error(
        "the document is damaged: its lists of latencies over time have different lengths ('reads.first' has {0} \
         entries)"
    )]
    Ragged(usize),
    #[error("'limits_ns' are not limits of buckets of this version")]
    Limits,
    #[error("slice {slice}: its buckets end at {end}, but 'limits_ns' has {buckets} of them")]
    Beyond { slice: usize, end: usize, buckets: usize },
}

impl From<LatencySlices> for Stored {
    fn from(from: LatencySlices) -> Self {
        let used = from.slices.iter().flatten().filter(|slice| !slice.counts.is_empty());
        let first = used.clone().map(|slice| slice.first).min().unwrap_or(0);
        let limits_ns = match used.map(Slice::end).max() {
            Some(end) => (first..=end).map(low_ns).collect(),
            None => Vec::new(),
        };
        let [reads, writes] = [0, 1].map(|which: usize| Lists {
            first: from.slices.iter().map(|slices| slices[which].first.saturating_sub(first)).collect(),
            counts: from.slices.iter().map(|slices| slices[which].counts.clone()).collect(),
        });
        Stored { slice_ns: from.slice_ns, limits_ns, reads, writes }
    }
}

impl TryFrom<Stored> for LatencySlices {
    type Error = Unreadable;

    fn try_from(stored: Stored) -> Result<Self, Unreadable> {
        let Stored { slice_ns, limits_ns, reads, writes } = stored;
        if slice_ns == 0 {
            return Err(Unreadable::NoLength);
        }
        let slices = reads.first.len();
        if [reads.counts.len(), writes.first.len(), writes.counts.len()]
            .iter()
            .any(|&length| length != slices)
        {
            return Err(Unreadable::Ragged(slices));
        }
        let begin = limits_ns.first().map_or(0, |&ns| bucket_of(ns));
        let buckets = limits_ns.len().saturating_sub(1);
        let are_ours = begin + buckets <= BUCKETS
            && limits_ns.iter().enumerate().all(|(place, &ns)| ns == low_ns(begin + place));
        if !are_ours {
            return Err(Unreadable::Limits);
        }
        let mut both = vec![[Slice::default(), Slice::default()]; slices];
        for (slice, both) in both.iter_mut().enumerate() {
            for (to, lists) in both.iter_mut().zip([&reads, &writes]) {
                let (first, counts) = (lists.first[slice], &lists.counts[slice]);
                let end = first.saturating_add(counts.len());
                if !counts.is_empty() && end > buckets {
                    return Err(Unreadable::Beyond { slice, end, buckets });
                }
                *to = Slice::beginning_at(begin.saturating_add(first), counts);
            }
        }
        Ok(LatencySlices { slice_ns, slices: both })
    }
}

/// A power of two has `2^BITS` buckets.
pub const BITS: u32 = 2;
/// Number of buckets.
pub const BUCKETS: usize = (65 - BLOCK_BITS as usize) << BITS;
/// As the fine histogram, whose blocks are cut here.
const BLOCK_BITS: u32 = 10;
/// The bucket of a latency.
pub fn bucket_of(ns: u64) -> usize {
    let block = 64 - BLOCK_BITS - (ns | ((1 << BLOCK_BITS) - 1)).leading_zeros();
    let quarter = (ns >> (block.saturating_sub(1) + BLOCK_BITS - BITS)) & ((1 << BITS) - 1);
    ((block << BITS) as usize) | quarter as usize
}

/// The smallest latency of a bucket in nanoseconds; of the one behind the last, the largest there is.
pub fn low_ns(bucket: usize) -> u64 {
    let (block, quarter) = (bucket >> BITS, (bucket & ((1 << BITS) - 1)) as u64);
    let width_bits = BLOCK_BITS - BITS;
    match block {
        0 => quarter << width_bits,
        _ if bucket >= BUCKETS => u64::MAX,
        _ => ((1 << BITS) + quarter) << (block as u32 - 1 + width_bits),
    }
}

/// Where a latency lies among the buckets: the number of its bucket, and how far it is in that, from 0 to 1.
/// Each bucket takes the same room, so it is a logarithm but for a tenth of a power of two.
pub fn position(ns: f64) -> f64 {
    let bucket = bucket_of(ns.max(0.0) as u64);
    let (low, high) = (low_ns(bucket) as f64, low_ns(bucket + 1) as f64);
    bucket as f64 + ((ns - low) / (high - low)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_stored {
    use super::*;

    fn slices() -> LatencySlices {
        let mut counts = [0; BUCKETS];
        (counts[40], counts[42]) = (3, 1);
        let mut last = [0; BUCKETS];
        last[BUCKETS - 1] = u64::MAX;
        let none = Slice::default;
        LatencySlices::new(
            500,
            vec![[Slice::of(&counts), none()], [none(), none()], [none(), Slice::of(&last)]],
        )
    }

    #[test]
    fn slices_come_back() {
        for slices in
            [slices(), LatencySlices::new(7, Vec::new()), LatencySlices::new(7, vec![Default::default()])]
        {
            let text = serde_json::to_string(&slices).unwrap();
            assert_eq!(serde_json::from_str::<LatencySlices>(&text).unwrap(), slices, "{text}");
        }
    }

    #[test]
    fn the_stored_form_explains_itself() {
        let mut short = slices();
        short.slices.truncate(2);
        let stored = serde_json::to_value(&short).unwrap();
        let expected = serde_json::json!({
            "slice_ns": 500,
            "limits_ns": [524_288, 655_360, 786_432, 917_504],
            "reads": { "first": [0, 0], "counts": [[3, 0, 1], []] },
            "writes": { "first": [0, 0], "counts": [[], []] },
        });
        assert_eq!(stored, expected);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let good = Stored::from(slices());
        let lists = |first: Vec<usize>, counts: Vec<Vec<u64>>| Lists { first, counts };
        for (stored, reason) in [
            (Stored { slice_ns: 0, ..good.clone() }, "slice_ns"),
            (Stored { reads: Lists::default(), ..good.clone() }, "different lengths"),
            (Stored { limits_ns: vec![0, 256, 511], ..good.clone() }, "not limits"),
            (Stored { limits_ns: vec![u64::MAX, u64::MAX], ..good.clone() }, "not limits"),
            (Stored { limits_ns: vec![], ..good.clone() }, "slice 0: its buckets end at 3"),
            (
                Stored { reads: lists(vec![usize::MAX, 0, 0], vec![vec![1], vec![], vec![]]), ..good },
                "slice 0: its buckets end at",
            ),
        ] {
            let refused = LatencySlices::try_from(stored).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}

#[cfg(test)]
mod tests_coarse {
    use super::*;

    #[test]
    fn buckets_hold_every_latency_without_gap() {
        assert_eq!(low_ns(0), 0);
        for bucket in 0..BUCKETS {
            let (low, next) = (low_ns(bucket), low_ns(bucket + 1));
            assert!(low < next);
            assert_eq!((bucket_of(low), bucket_of(next - 1)), (bucket, bucket), "{low} to {next}");
            assert!(low < 1024 || (next - low) as f64 <= 0.2501 * low as f64, "{low} to {next} is too wide");
        }
        assert_eq!((low_ns(BUCKETS), bucket_of(u64::MAX)), (u64::MAX, BUCKETS - 1));
        assert_eq!([1023, 1024, 1280, 2048].map(bucket_of), [3, 4, 5, 8]);
    }

    #[test]
    fn positions_rise_evenly() {
        assert_eq!([0.0, 128.0, 1024.0, 1152.0, 2048.0].map(position), [0.0, 0.5, 4.0, 4.5, 8.0]);
        let far = 1e9f64;
        assert!((position(far) - 4.0 * (far.log2() - 9.0)).abs() < 0.4);
        assert_eq!(position(-1.0), 0.0);
    }
}

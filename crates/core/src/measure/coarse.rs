//! Coarse buckets of latencies, for how they spread over time.
//!
//! # Buckets
//! From 1,024 ns on, every power of two is cut into four buckets of equal width, so that a bucket is a
//! quarter (at its low end) to a seventh (at its high end) as wide as the latencies in it: some 13 to a power
//! of ten. Below there are four of 256 ns each. They hold every 64-bit number, and each is made of whole
//! buckets of the fine histogram.

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
mod tests {
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

//! The histogram in documents: the buckets as HdrHistogram V2, which every HdrHistogram library reads,
//! and beside them the exact numbers that buckets cannot give.
//!
//! Nothing is lost: HdrHistogram with three significant digits and a unit of 1 ns has the same buckets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BLOCK_LEN, Bucket, Histogram, TABLE_LEN, new_block, place};
use crate::measure::decimal;

/// Significant digits that make HdrHistogram's buckets ours: 2048 of one unit, then 1024 per power of two.
const DIGITS: u8 = 3;

/// A histogram as a document holds it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
pub(super) struct Stored {
    /// Number of latencies.
    count: u64,
    /// Smallest latency in nanoseconds, exact; 0 without latencies.
    min_ns: u64,
    /// Largest latency in nanoseconds, exact; 0 without latencies.
    max_ns: u64,
    /// Sum of the latencies in nanoseconds, exact, as decimal text.
    #[serde(with = "decimal")]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+$"))]
    sum_ns: u128,
    /// Sum of the squared latencies in square nanoseconds, exact, as decimal text.
    #[serde(with = "decimal")]
    #[schemars(with = "String", regex(pattern = r"^[0-9]+$"))]
    sum_squares_ns2: u128,
    /// The buckets: HdrHistogram, encoding V2, compressed, base64; values in nanoseconds, three
    /// significant digits.
    hdr_v2_base64: String,
}

/// Why a stored histogram cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("hdr_v2_base64 is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("hdr_v2_base64 is not an HdrHistogram of encoding V2: {0}")]
    Encoding(#[from] hdrhistogram::serialization::DeserializeError),
    #[error(
        "hdr_v2_base64 has {digits} significant digits and a unit of {unit} ns, but must have {DIGITS} digits and 1 ns"
    )]
    Resolution { digits: u8, unit: u64 },
    #[error("the buckets hold {buckets} latencies, but 'count' says {count}")]
    Count { buckets: u64, count: u64 },
    #[error("'{field}' does not fit the buckets, 'count' and the other sums")]
    Inconsistent { field: &'static str },
}

impl From<Histogram> for Stored {
    fn from(histogram: Histogram) -> Self {
        Stored {
            count: histogram.count(),
            min_ns: histogram.min_ns(),
            max_ns: histogram.max_ns(),
            sum_ns: histogram.sum_ns,
            sum_squares_ns2: histogram.sum_squares,
            hdr_v2_base64: BASE64.encode(encode(&histogram)),
        }
    }
}

fn encode(histogram: &Histogram) -> Vec<u8> {
    let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, histogram.max_ns().max(2), DIGITS)
        .expect("three digits over 1 ns and more is legal");
    for Bucket { low_ns, count, .. } in histogram.buckets() {
        hdr.record_n(low_ns, count).expect("the largest latency is within the bounds");
    }
    let mut bytes = Vec::new();
    // Refused are only counts beyond 2^63, which no run reaches, and a writer that fails.
    V2DeflateSerializer::new().serialize(&hdr, &mut bytes).expect("memory can be written to");
    bytes
}

impl TryFrom<Stored> for Histogram {
    type Error = Unreadable;

    fn try_from(stored: Stored) -> Result<Self, Unreadable> {
        let bytes = BASE64.decode(&stored.hdr_v2_base64)?;
        let hdr: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice())?;
        if hdr.sigfig() != DIGITS || hdr.low() != 1 {
            return Err(Unreadable::Resolution { digits: hdr.sigfig(), unit: hdr.low() });
        }
        let mut histogram = Histogram::new();
        for step in hdr.iter_recorded() {
            let (block, slot) = place(step.value_iterated_to());
            debug_assert!(block < TABLE_LEN && slot < BLOCK_LEN);
            histogram.blocks[block].get_or_insert_with(new_block)[slot] += step.count_at_value();
            histogram.count = histogram.count.saturating_add(step.count_at_value());
        }
        if histogram.count != stored.count {
            return Err(Unreadable::Count { buckets: histogram.count, count: stored.count });
        }
        check_sums(&stored, &histogram)?;
        if stored.count > 0 {
            (histogram.min_ns, histogram.max_ns) = (stored.min_ns, stored.max_ns);
        }
        (histogram.sum_ns, histogram.sum_squares) = (stored.sum_ns, stored.sum_squares_ns2);
        Ok(histogram)
    }
}

/// The exact numbers must be possible beside the buckets, or later arithmetic would go wrong on them.
fn check_sums(stored: &Stored, histogram: &Histogram) -> Result<(), Unreadable> {
    let wrong = |field| Err(Unreadable::Inconsistent { field });
    let holds = |bucket: Option<Bucket>, ns| bucket.is_none_or(|b| (b.low_ns..=b.high_ns).contains(&ns));
    if !holds(histogram.buckets().next(), stored.min_ns) {
        return wrong("min_ns");
    }
    if !holds(histogram.buckets().last(), stored.max_ns) {
        return wrong("max_ns");
    }
    let count = u128::from(stored.count);
    let sums = count * u128::from(stored.min_ns)..=count * u128::from(stored.max_ns);
    if !sums.contains(&stored.sum_ns) {
        return wrong("sum_ns");
    }
    // Each square is at least its latency, and at most its latency times the largest one.
    let squares = stored.sum_ns..=stored.sum_ns.saturating_mul(stored.max_ns.into());
    if !squares.contains(&stored.sum_squares_ns2) {
        return wrong("sum_squares_ns2");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn there_and_back(histogram: &Histogram) -> Histogram {
        let text = serde_json::to_string(histogram).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn of(latencies: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn the_ends_of_the_scale_come_back() {
        for latencies in [&[][..], &[0], &[1], &[2047, 2048, 2049], &[u64::MAX], &[0, u64::MAX], &[1 << 63]] {
            assert_eq!(there_and_back(&of(latencies)), of(latencies), "{latencies:?}");
        }
    }

    #[test]
    fn other_libraries_find_their_encoding() {
        let stored = Stored::from(of(&[100, 200, 3_000_000]));
        assert!(stored.hdr_v2_base64.starts_with("HISTFAAAA"), "{}", stored.hdr_v2_base64);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let good = Stored::from(of(&[100, 200, 3_000_000]));
        let cases: [(Stored, &str); 7] = [
            (Stored { count: 4, ..good.clone() }, "hold 3 latencies"),
            (Stored { min_ns: 99, ..good.clone() }, "'min_ns'"),
            (Stored { max_ns: 3_100_000, ..good.clone() }, "'max_ns'"),
            (Stored { sum_ns: 1, ..good.clone() }, "'sum_ns'"),
            (Stored { sum_squares_ns2: 1, ..good.clone() }, "'sum_squares_ns2'"),
            (Stored { hdr_v2_base64: "*".into(), ..good.clone() }, "not base64"),
            (
                Stored { hdr_v2_base64: "HISTFAAAAA==".into(), ..good },
                "hdr_v2_base64 is not an HdrHistogram of encoding V2: ",
            ),
        ];
        for (stored, reason) in cases {
            let refused = Histogram::try_from(stored).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn another_resolution_is_refused() {
        for (digits, unit) in [(2, 1), (DIGITS, 2), (2, 2)] {
            let hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(unit, 1 << 40, digits).unwrap();
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&hdr, &mut bytes).unwrap();
            let stored = Stored { hdr_v2_base64: BASE64.encode(bytes), ..Stored::from(of(&[])) };
            let refused = Histogram::try_from(stored).unwrap_err();
            assert!(matches!(refused, Unreadable::Resolution { .. }), "{digits}, {unit}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn every_histogram_comes_back(
            latencies in prop::collection::vec((any::<u64>(), 0u32..64), 0..200),
        ) {
            let latencies: Vec<u64> = latencies.iter().map(|&(value, shift)| value >> shift).collect();
            prop_assert_eq!(there_and_back(&of(&latencies)), of(&latencies));
        }
    }
}

//! The histogram in documents: the buckets as HdrHistogram V2, which every HdrHistogram library reads,
//! and beside them the exact numbers that buckets cannot give.
//!
//! Nothing is lost: HdrHistogram with three significant digits and a unit of 1 ns has the same buckets.
//!
//! Counts of buckets in few bytes: what a histogram of a document is in memory, as in the document itself.
//!
//! The form is the payload of HdrHistogram V2: a number for each bucket from the first on, and one for a run
//! of empty ones. A number is zigzag (a count is positive, a run negative) in LEB128 of nine bytes at most.
//! So a histogram takes what is there, not what somebody says of it.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

use crate::measure::histogram::{BUCKETS, Counts, Histogram, NUMBER_BYTES_MAX, Packer};
use crate::measure::intervals::decimal;

/// Significant digits that make HdrHistogram's buckets ours: 2048 of one unit, then 1024 per power of two.
const DIGITS: u32 = 3;
/// How encoding V2 begins, and the compressed one.
const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Bytes before the payload of V2: cookie, length, offset, digits, lowest and highest value, ratio.
const HEAD_BYTES: usize = 40;
/// Bytes of the payload, at most: a number for each bucket.
const PAYLOAD_BYTES_MAX: u32 = (BUCKETS * NUMBER_BYTES_MAX) as u32;
/// A histogram takes this at most, or so many times what its compressed form takes. Latencies that are
/// measured come to a tenth of both; what is beyond was made so that a small file takes much memory.
const BYTES_MAX: usize = 16 << 10;
const BYTES_FOR_EACH_MAX: usize = 64;

/// A histogram as a document holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Histogram"))]
pub(super) struct Stored {
    /// Number of latencies.
    count: u64,
    /// Smallest latency in nanoseconds, exact; 0 without latencies.
    min_ns: u64,
    /// Largest latency in nanoseconds, exact; 0 without latencies.
    max_ns: u64,
    /// Sum of the latencies in nanoseconds, exact, as decimal text.
    #[serde(with = "decimal")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"^[0-9]+$")))]
    sum_ns: u128,
    /// Sum of the squared latencies in square nanoseconds, exact, as decimal text.
    #[serde(with = "decimal")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"^[0-9]+$")))]
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
    Encoding(&'static str),
    #[error(
        "hdr_v2_base64 has {digits} significant digits and a unit of {unit} ns, but must have {DIGITS} digits and 1 ns"
    )]
    Resolution { digits: u32, unit: u64 },
    #[error("hdr_v2_base64 says that it holds {says} bytes, but it holds {there}")]
    Length { says: u64, there: usize },
    #[error("hdr_v2_base64 says that it holds {0} bytes, but no histogram has more than {PAYLOAD_BYTES_MAX}")]
    TooLong(u32),
    #[error("hdr_v2_base64 holds a bucket beyond the last one, which is number {BUCKETS}")]
    Beyond,
    #[error(
        "the buckets take {bytes} bytes, but their compressed form has {compressed}: no measurement is like that"
    )]
    Bomb { bytes: usize, compressed: usize },
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
    let mut packer = Packer::default();
    histogram.counts().for_each(|(bucket, count)| packer.add(bucket, count));
    let mut payload = packer.finish();
    if payload.is_empty() {
        // One bucket without a count, as HdrHistogram writes it.
        payload.push(0);
    }
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.extend([COOKIE, payload.len() as u32, 0, DIGITS].map(u32::to_be_bytes).concat());
    head.extend([1, histogram.max_ns().max(2)].map(u64::to_be_bytes).concat());
    head.extend(1f64.to_be_bytes());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(&head).and_then(|()| encoder.write_all(&payload));
    let compressed = written.and_then(|()| encoder.finish()).expect("memory takes all that is written");
    let mut bytes = [COMPRESSED_COOKIE, compressed.len() as u32].map(u32::to_be_bytes).concat();
    bytes.extend(compressed);
    bytes
}

/// The buckets, packed. No length that the text tells is believed: memory is taken for what comes.
fn decode(text: &str) -> Result<Vec<u8>, Unreadable> {
    let bytes = BASE64.decode(text)?;
    let (cookie, rest) = word(&bytes)?;
    let (length, compressed) = word(rest)?;
    if cookie != COMPRESSED_COOKIE {
        return Err(Unreadable::Encoding("it begins otherwise"));
    }
    if length as usize != compressed.len() {
        return Err(Unreadable::Length { says: length.into(), there: compressed.len() });
    }
    let mut decoder = ZlibDecoder::new(compressed);
    let mut head = [0; HEAD_BYTES];
    decoder.read_exact(&mut head).map_err(damaged)?;
    let (cookie, rest) = word(&head)?;
    let (length, rest) = word(rest)?;
    let (offset, rest) = word(rest)?;
    let (digits, rest) = word(rest)?;
    let unit = u64::from_be_bytes(rest[..8].try_into().expect("eight bytes"));
    if cookie != COOKIE || offset != 0 || rest[16..] != 1f64.to_be_bytes() {
        return Err(Unreadable::Encoding("its head is that of something else"));
    }
    if digits != DIGITS || unit != 1 {
        return Err(Unreadable::Resolution { digits, unit });
    }
    if length > PAYLOAD_BYTES_MAX {
        return Err(Unreadable::TooLong(length));
    }
    let mut payload = Vec::new();
    decoder.take(u64::from(length) + 1).read_to_end(&mut payload).map_err(damaged)?;
    if payload.len() != length as usize {
        return Err(Unreadable::Length { says: length.into(), there: payload.len() });
    }
    let packed = checked(&payload)?;
    if packed.len() > BYTES_MAX && packed.len() / BYTES_FOR_EACH_MAX > compressed.len() {
        return Err(Unreadable::Bomb { bytes: packed.len(), compressed: compressed.len() });
    }
    Ok(packed)
}

/// A number, and what comes after it.
fn word(bytes: &[u8]) -> Result<(u32, &[u8]), Unreadable> {
    let (word, rest) = bytes.split_first_chunk().ok_or(Unreadable::Encoding("it is cut off"))?;
    Ok((u32::from_be_bytes(*word), rest))
}

fn damaged(_: std::io::Error) -> Unreadable {
    Unreadable::Encoding("its compressed form is damaged")
}

/// The same counts in the one form that they have here.
fn checked(payload: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut counts = Counts::of(payload);
    let mut packer = Packer::default();
    for (bucket, count) in counts.by_ref() {
        if bucket >= BUCKETS {
            return Err(Unreadable::Beyond);
        }
        packer.add(bucket, count);
    }
    if counts.is_at_end() { Ok(packer.finish()) } else { Err(Unreadable::Encoding("it is cut off")) }
}

impl TryFrom<Stored> for Histogram {
    type Error = Unreadable;

    fn try_from(stored: Stored) -> Result<Self, Unreadable> {
        let mut histogram = Histogram { packed: decode(&stored.hdr_v2_base64)?, ..Histogram::new() };
        histogram.count = histogram.counts().fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
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
    let (first, last) = (histogram.buckets().next(), histogram.buckets().last());
    for (bucket, ns, field) in [(first, stored.min_ns, "min_ns"), (last, stored.max_ns, "max_ns")] {
        if bucket.is_some_and(|b| !(b.low_ns..=b.high_ns).contains(&ns)) {
            return wrong(field);
        }
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
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;

    /// Those of the library.
    type Hdr = hdrhistogram::Histogram<u64>;

    fn hdr_bytes(hdr: &Hdr) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(hdr, &mut bytes).unwrap();
        bytes
    }

    /// A head and a payload, which may be anything, in a good frame.
    fn framed(numbers: [u32; 4], payload: &[u8]) -> String {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&numbers.map(u32::to_be_bytes).concat()).unwrap();
        encoder.write_all(&[1, 2].map(u64::to_be_bytes).concat()).unwrap();
        encoder.write_all(&1f64.to_be_bytes()).unwrap();
        encoder.write_all(payload).unwrap();
        let compressed = encoder.finish().unwrap();
        let mut bytes = [COMPRESSED_COOKIE, compressed.len() as u32].map(u32::to_be_bytes).concat();
        bytes.extend(compressed);
        BASE64.encode(bytes)
    }

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
        for latencies in [&[][..], &[0], &[1, 3, 3], &[100, 200, 3_000_000], &[0, u64::MAX], &[1 << 63]] {
            let histogram = of(latencies);
            let mut hdr = Hdr::new_with_bounds(1, histogram.max_ns().max(2), 3).unwrap();
            histogram.buckets().for_each(|bucket| hdr.record_n(bucket.low_ns, bucket.count).unwrap());
            let bytes = encode(&histogram);
            assert_eq!(bytes, hdr_bytes(&hdr), "{latencies:?}");
            let read: Hdr = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(read, hdr);
        }
    }

    #[test]
    fn lengths_and_buckets_that_are_not_there_take_no_memory() {
        let ones = vec![2; BUCKETS];
        for (text, reason) in [
            (framed([COOKIE, u32::MAX, 0, 3], &[2]), "says that it holds 4294967295 bytes, but no histogram"),
            (framed([COOKIE, 500_000, 0, 3], &[2]), "says that it holds 500000 bytes, but it holds 1"),
            (framed([COOKIE, 1, 0, 3], &[2; 1 << 20]), "says that it holds 1 bytes, but it holds 2"),
            (framed([COOKIE, 1, 1, 3], &[2]), "its head is that of something else"),
            (framed([COOKIE + 1, 1, 0, 3], &[2]), "its head is that of something else"),
            (framed([COOKIE, 1, 0, 5], &[2]), "5 significant digits"),
            (framed([COOKIE, 2, 0, 3], &[0x80, 0x80]), "it is cut off"),
            (framed([COOKIE, BUCKETS as u32 + 1, 0, 3], &[&ones[..], &[2]].concat()), "beyond the last one"),
            (framed([COOKIE, BUCKETS as u32, 0, 3], &ones), "no measurement is like that"),
            (
                BASE64.encode([0x1c, 0x84, 0x93, 0x14, 0xff, 0xff, 0xff, 0xff]),
                "holds 4294967295 bytes, but it holds 0",
            ),
        ] {
            let refused = decode(&text).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        // Blocks for each power of two would take 450 KiB.
        let far: Vec<u64> = (0..64).map(|power| 1 << power).collect();
        let read = there_and_back(&of(&far));
        assert!(read == of(&far) && read.packed.len() < 256 && read.blocks.iter().all(Option::is_none));
        let mut sum = Histogram::new();
        sum.merge(&read);
        sum.merge(&read);
        assert!(sum.packed.len() < 256 && sum.blocks.iter().all(Option::is_none));
        let mut mixed = of(&far);
        mixed.merge(&read);
        assert_eq!(mixed, sum);
        assert_eq!(sum.percentile_ns(0.5), mixed.percentile_ns(0.5));
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
        for (digits, unit) in [(2, 1), (3, 2), (2, 2)] {
            let hdr = Hdr::new_with_bounds(unit, 1 << 40, digits).unwrap();
            let stored = Stored { hdr_v2_base64: BASE64.encode(hdr_bytes(&hdr)), ..Stored::from(of(&[])) };
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

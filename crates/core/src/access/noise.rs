//! Random bytes as fast as memory takes them: what writes hold that shall neither compress nor repeat. No generator
//! for statistics or secrets.
//!
//! The sequence of a seed is a promise (`docs/design/hot-path.md`, "Random data"): the same on every machine.

use truespd_platform::sys::vector::{Vectors, Work};

/// Generators side by side. A step needs the one before of its own lane only, and takes six instructions in a row:
/// so many lanes keep vectors of 512 bits busy, and still fit into the registers of AVX2.
const LANES: usize = 32;
/// One word of each lane.
const LINE_BYTES: usize = LANES * size_of::<u64>();

/// The generator: 32 of Marsaglia's 64-bit xorshift generators (13, 7, 17) take turns, a word each. A fill begins with
/// a word of the first lane; what is left of the last turn of a fill is dropped.
#[derive(Debug, Clone)]
pub struct Noise {
    lanes: [u64; LANES],
    vectors: Vectors,
}

impl Noise {
    /// The noise of a seed.
    pub fn new(seed: u64) -> Self {
        Noise::at(seed, 0)
    }

    /// The noise that begins at a place, for what must be made again without what stands before it. No two places of
    /// a seed have the same noise.
    pub fn at(seed: u64, place: u64) -> Self {
        let start = |lane: usize| {
            let number = place.wrapping_mul(LANES as u64).wrapping_add(lane as u64 + 1);
            let state = split_mix(split_mix(seed).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            // Zero is the one state that a xorshift generator never leaves.
            state.max(1)
        };
        Noise { lanes: std::array::from_fn(start), vectors: Vectors::widest() }
    }

    /// Fills `bytes` with what comes next.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.vectors.run(Fill { lanes: &mut self.lanes, bytes });
    }
}

/// The mixing step of Vigna's SplitMix64.
fn split_mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Fill<'a> {
    lanes: &'a mut [u64; LANES],
    bytes: &'a mut [u8],
}

impl Work for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut lanes = *self.lanes;
        let (lines, rest) = self.bytes.as_chunks_mut::<LINE_BYTES>();
        for line in lines {
            lanes = stepped(lanes);
            put(lanes, line);
        }
        if !rest.is_empty() {
            lanes = stepped(lanes);
            let mut line = [0; LINE_BYTES];
            put(lanes, &mut line);
            rest.copy_from_slice(&line[..rest.len()]);
        }
        *self.lanes = lanes;
    }
}

/// A step of every lane. Lanes are passed by value, or they would be kept in memory instead of in registers.
#[inline(always)]
fn stepped(mut lanes: [u64; LANES]) -> [u64; LANES] {
    for x in &mut lanes {
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
    }
    lanes
}

/// The lanes' words as bytes.
#[inline(always)]
fn put(lanes: [u64; LANES], line: &mut [u8; LINE_BYTES]) {
    for (word, lane) in line.as_chunks_mut::<8>().0.iter_mut().zip(lanes) {
        *word = lane.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::Write;

    fn made(len: usize, mut noise: Noise) -> Vec<u8> {
        let mut bytes = vec![0xaa; len];
        noise.fill(&mut bytes);
        bytes
    }

    /// The sequence as `docs/design/hot-path.md` tells it, word by word.
    fn by_the_book(seed: u64, words: usize) -> Vec<u8> {
        let mix = |z: u64| {
            let z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
            z ^ z >> 31
        };
        let state = |lane: u64| mix(mix(seed).wrapping_add((lane + 1).wrapping_mul(0x9e3779b97f4a7c15)));
        let mut lanes: Vec<u64> = (0..32).map(state).collect();
        let mut bytes = Vec::new();
        for word in 0..words {
            let lane = &mut lanes[word % 32];
            *lane ^= *lane << 13;
            *lane ^= *lane >> 7;
            *lane ^= *lane << 17;
            bytes.extend(lane.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_sequence_is_the_documented_one_at_every_width() {
        let first: Vec<u8> = [0x6661260e8cc57df4_u64, 0x3edccdf2e263ea3f, 0x8b7ab46053fbe405]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        assert_eq!(by_the_book(0, 3), first);
        for vectors in Vectors::all() {
            for seed in [0, 1, 1 << 32, u64::MAX] {
                let mut noise = Noise { vectors, ..Noise::new(seed) };
                let mut bytes = vec![0; 8 * 3200];
                // In pieces of whole turns the sequence goes on without a gap.
                for piece in bytes.chunks_mut(1280) {
                    noise.fill(piece);
                }
                assert_eq!(bytes, by_the_book(seed, 3200), "{vectors:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn a_fill_of_any_length_is_the_beginning_of_a_longer_one_and_drops_the_rest_of_its_turn() {
        for vectors in Vectors::all() {
            let whole = by_the_book(9, 1024);
            for len in (0..600).chain([4096, 4099]) {
                let mut noise = Noise { vectors, ..Noise::new(9) };
                let (mut first, mut second) = (vec![0xaa; len], vec![0x55; 8]);
                noise.fill(&mut first);
                noise.fill(&mut second);
                assert_eq!(first, whole[..len], "{vectors:?}, {len} bytes");
                let next = len.next_multiple_of(LINE_BYTES);
                assert_eq!(second, whole[next..next + 8], "{vectors:?}, after {len} bytes");
            }
        }
    }

    #[test]
    fn a_compressor_finds_nothing() {
        let bytes = made(4 << 20, Noise::new(1 << 32));
        let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&bytes).expect("to memory");
        let packed = packed.finish().expect("to memory").len();
        assert!(packed >= bytes.len(), "{} bytes became {packed}", bytes.len());
        // The windows of compressors are shorter than the distances here: no word of eight bytes comes twice at all.
        let words: HashSet<&[u8]> = bytes.chunks_exact(8).collect();
        assert_eq!(words.len(), bytes.len() / 8);
    }

    #[test]
    fn every_bit_of_every_lane_is_set_half_the_time() {
        let mut noise = Noise::new(3);
        let mut counts = vec![0_u32; LINE_BYTES * 8];
        const LINES: u32 = 4096;
        for _ in 0..LINES {
            let mut line = [0; LINE_BYTES];
            noise.fill(&mut line);
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += u32::from(line[bit / 8] >> (bit % 8) & 1);
            }
        }
        // Six standard deviations, of 32 each.
        assert!(counts.iter().all(|count| count.abs_diff(LINES / 2) < 6 * 32), "{counts:?}");
    }

    #[test]
    fn seeds_and_places_have_noise_of_their_own() {
        let mut words = HashSet::new();
        for (seed, place) in [(7, 1 << 20), (8, 1 << 20), (7, 0), (0, 0), (7, 2 << 20), (7, (1 << 20) + 512)]
        {
            let bytes = made(4096, Noise::at(seed, place));
            let fresh = bytes.chunks(8).all(|word| words.insert(word.to_vec()));
            assert!(fresh, "seed {seed} place {place}: a word was seen before");
        }
        assert_eq!(made(1003, Noise::at(7, 512)), made(4096, Noise::at(7, 512))[..1003]);
        // The first state of this lane would be zero, which stays zero.
        let stuck = with_a_lane_that_mixes_to_zero();
        assert!(made(256, stuck).chunks(8).all(|word| word != [0; 8]));
    }

    /// A generator one of whose lanes the mixing leaves at zero.
    fn with_a_lane_that_mixes_to_zero() -> Noise {
        // The mix of 0 is 0.
        let number = split_mix(5).wrapping_neg().wrapping_mul(inverse(0x9e37_79b9_7f4a_7c15));
        Noise::at(5, number.wrapping_sub(1) / LANES as u64)
    }

    /// Of an odd number, modulo 2^64 (Newton).
    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |x, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))))
    }
}

//! What write buffers hold.
//!
//! Plain functions over byte slices: who owns the memory and when it may be touched is not known here.
//!
//! DiskSpd draws data and offsets from one generator, so that `-Zr` changes where I/Os go. Here data
//! has a generator of its own ([`DataRng`]): offsets do not depend on `-Z`. Its seeds lie outside the
//! 32 bits of offset seeds; with the same seed the window of an I/O would be a function of its offset,
//! and overwriting a block would tend to write the same data again.
//!
//! Source: `io-semantics.md` §9, §10.

use std::io::{self, Read};

use crate::profile::Target;
use truespd_platform::sys::error::system_text;

use super::{Noise, Rng};

/// Smallest alignment of source windows with direct I/O, in bytes.
pub const DIRECT_WINDOW_BYTES: u64 = 512;

/// Where the data of a target's writes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteData {
    /// Byte j of the buffers is j mod 256 ([`fill_pattern`]), written again and again.
    Pattern,
    /// Zeros, written again and again (`-Z`).
    Zero,
    /// Every write has new random data ([`DataRng::fill`], `-Zr`).
    Random,
    /// Every write is a window of one buffer that all threads of the target share (`-Z<size>`).
    Source {
        /// Size of the buffer in bytes.
        size_bytes: u64,
    },
}

impl WriteData {
    /// What `target` asks for: `-Z<size>` before `-Z` before `-Zr` (`random_write_data` of the time
    /// span) before the pattern.
    pub fn of(target: &Target, random_write_data: bool) -> Self {
        match target.write_source_bytes {
            0 if target.zero_write_buffers => WriteData::Zero,
            0 if random_write_data => WriteData::Random,
            0 => WriteData::Pattern,
            size_bytes => WriteData::Source { size_bytes },
        }
    }
}

/// Fills `buffer` with the pattern 0, 1, ... 255, 0, ... of an allocation; `first` is the position
/// of the buffer's first byte in it. Write slot i of a thread with q slots on the target begins at
/// `b * (q + i)`, after the read buffers, whether these were allocated or not.
pub fn fill_pattern(buffer: &mut [u8], first: u64) {
    let period: [u8; 256] = std::array::from_fn(|i| (first as u8).wrapping_add(i as u8));
    for chunk in buffer.chunks_mut(period.len()) {
        chunk.copy_from_slice(&period[..chunk.len()]);
    }
}

/// The generator of write data: of what blocks hold ([`Noise`]), and of which part of a source a block is.
#[derive(Debug, Clone)]
pub struct DataRng {
    windows: Rng,
    noise: Noise,
}

impl DataRng {
    /// A generator with this very seed.
    pub fn new(seed: u64) -> Self {
        DataRng { windows: Rng::new(seed), noise: Noise::new(seed) }
    }

    /// The generator of a thread, for [`DataRng::fill`] and [`SourceWindow::next`]: repeatable, and
    /// apart from every [`Rng::for_thread`].
    pub fn for_thread(seed: u32, thread: u32) -> Self {
        DataRng::new((1 << 32) | u64::from(seed.wrapping_add(thread)))
    }

    /// The generator of source buffers (`-Z<size>`): always the same data, which neither threads nor files have. Fill
    /// the buffers in target order from one generator.
    pub fn for_sources() -> Self {
        DataRng::new(2 << 32)
    }

    /// Fills `buffer` with new random bytes, which do not compress.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.noise.fill(buffer);
    }
}

/// Fills a source buffer with the content of a file from its start, repeated when the file is shorter
/// and truncated when it is longer (`-Z<size>,<file>`). `name` is the file's name for messages.
///
/// # Errors
/// [`SourceError`] when the file cannot be read or is empty.
pub fn fill_from(buffer: &mut [u8], file: &mut impl Read, name: &str) -> Result<(), SourceError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(SourceError::Read { name: name.to_string(), offset_bytes: filled as u64, error });
            }
        }
    }
    if filled == 0 && !buffer.is_empty() {
        return Err(SourceError::Empty { name: name.to_string() });
    }
    while filled < buffer.len() {
        // What is there is whole repetitions, so it may follow itself.
        let count = filled.min(buffer.len() - filled);
        buffer.copy_within(..count, filled);
        filled += count;
    }
    Ok(())
}

/// Which part of a source buffer the next write takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceWindow {
    starts: u64,
    mask: u64,
}

impl SourceWindow {
    /// Windows of `block_bytes` in a buffer of `size_bytes`, starting at multiples of
    /// `granularity_bytes` (see [`SourceWindow::granularity_bytes`]; rounded up to a power of two).
    ///
    /// # Errors
    /// [`SourceError::TooSmall`] when the buffer is smaller than a block.
    pub fn new(size_bytes: u64, block_bytes: u64, granularity_bytes: u64) -> Result<Self, SourceError> {
        match size_bytes.checked_sub(block_bytes) {
            Some(room) if block_bytes > 0 => Ok(SourceWindow {
                starts: room + 1,
                // 2^63 is far beyond every buffer: rounding to it leaves start 0 only, as it should.
                mask: !(granularity_bytes.clamp(1, 1 << 63).next_power_of_two() - 1),
            }),
            _ => Err(SourceError::TooSmall { size_bytes, block_bytes }),
        }
    }

    /// Alignment of windows in bytes: any byte when cached, otherwise the target's memory alignment
    /// and at least 512.
    pub fn granularity_bytes(is_direct: bool, memory_alignment_bytes: u64) -> u64 {
        if is_direct { DIRECT_WINDOW_BYTES.max(memory_alignment_bytes) } else { 1 }
    }

    /// Start of the next window in bytes: one draw, of 32 bits unless the buffer has more starts.
    #[inline]
    pub fn next(&self, rng: &mut DataRng) -> u64 {
        let start = match u32::try_from(self.starts) {
            Ok(starts) => u64::from(rng.windows.next_u32() % starts),
            Err(_) => rng.windows.next_u64() % self.starts,
        };
        start & self.mask
    }
}

/// Why a source buffer cannot be had.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(
        "the write source buffer of {size_bytes} bytes (-Z<size>) is smaller than the block size of \
         {block_bytes} bytes (-b); it must hold at least one block"
    )]
    TooSmall {
        /// Size of the buffer in bytes.
        size_bytes: u64,
        block_bytes: u64,
    },
    #[error(
        "the write source file {name} (-Z<size>,<file>) is empty; give a file with data, or no file for random data"
    )]
    Empty { name: String },
    /// The file cannot be read.
    #[error(
        "could not read the write source file {name} (-Z<size>,<file>) at byte {offset_bytes}: {}",
        system_text(error)
    )]
    Read { name: String, offset_bytes: u64, error: io::Error },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::Write;

    #[test]
    fn precedence_of_data() {
        let target = |source, zero| Target {
            write_source_bytes: source,
            zero_write_buffers: zero,
            ..Target::default()
        };
        for random in [false, true] {
            assert_eq!(WriteData::of(&target(7, true), random), WriteData::Source { size_bytes: 7 });
            assert_eq!(WriteData::of(&target(0, true), random), WriteData::Zero);
        }
        assert_eq!(WriteData::of(&target(0, false), true), WriteData::Random);
        assert_eq!(WriteData::of(&target(0, false), false), WriteData::Pattern);
    }

    #[test]
    fn the_pattern_goes_on_through_the_allocation() {
        let (block, slots) = (1000, 3);
        let mut whole = vec![0; 2 * block * slots];
        fill_pattern(&mut whole, 0);
        assert!(whole.iter().enumerate().all(|(j, &byte)| byte == (j % 256) as u8));
        for slot in 0..slots {
            let at = block * (slots + slot);
            let mut part = vec![0; block];
            fill_pattern(&mut part, at as u64);
            assert_eq!(part, whole[at..at + block]);
        }
    }

    #[test]
    fn windows_as_measured() {
        let starts = |granularity| {
            let window = SourceWindow::new(1 << 20, 4096, granularity).expect("fits");
            let mut rng = DataRng::new(0);
            std::array::from_fn::<u64, 6, _>(|_| window.next(&mut rng))
        };
        assert_eq!(starts(1), [262833, 839056, 1023737, 820827, 392845, 204283]);
        assert_eq!(starts(512), [262656, 838656, 1023488, 820736, 392704, 203776]);
        assert_eq!(SourceWindow::granularity_bytes(false, 4096), 1);
        assert_eq!(SourceWindow::granularity_bytes(true, 4), 512);
        assert_eq!(SourceWindow::granularity_bytes(true, 4096), 4096);
    }

    fn distinct(size: u64, block: u64, granularity: u64) -> HashSet<u64> {
        let window = SourceWindow::new(size, block, granularity).expect("fits");
        let mut rng = DataRng::new(0);
        let starts: HashSet<u64> = (0..20_000).map(|_| window.next(&mut rng)).collect();
        assert!(starts.iter().all(|s| s + block <= size && s % granularity == 0));
        starts
    }

    #[test]
    fn every_window_and_no_other_is_used() {
        let b = 4096;
        for (extra, cached, direct) in [(0, 1, 1), (1, 2, 1), (511, 512, 1), (512, 513, 2)] {
            assert_eq!(distinct(b + extra, b, 1).len(), cached, "b+{extra} cached");
            assert_eq!(distinct(b + extra, b, 512).len(), direct, "b+{extra} direct");
        }
        let too_small = SourceWindow::new(b - 1, b, 1).expect_err("smaller than a block").to_string();
        assert!(too_small.contains("4095") && too_small.contains("4096"), "{too_small}");
    }

    #[test]
    fn large_sources_are_reached_to_their_end() {
        let size = 10 << 30;
        let window = SourceWindow::new(size, 4096, 512).expect("fits");
        let mut rng = DataRng::new(0);
        let starts: Vec<u64> = (0..1000).map(|_| window.next(&mut rng)).collect();
        assert!(starts.iter().any(|&s| s > size - (size >> 6)), "2.2 stops at 4 GiB");
        assert!(starts.iter().all(|s| s + 4096 <= size));
        // At 2^32 starts and just below: still the whole buffer, still inside.
        for starts in [u64::from(u32::MAX), 1 << 32] {
            let window = SourceWindow::new(starts - 1 + 4096, 4096, 1).expect("fits");
            let largest = (0..1000).map(|_| window.next(&mut rng)).max().expect("some");
            assert!(largest < starts && largest > starts - (starts >> 6));
        }
    }

    #[test]
    fn no_two_blocks_are_equal_and_no_compressor_saves_a_byte() {
        let mut blocks = HashSet::new();
        for (seed, thread) in [(0, 0), (0, 1), (2, 0), (77, 0)] {
            let mut rng = DataRng::for_thread(seed, thread);
            for _ in 0..256 {
                let mut block = vec![0; 4096];
                rng.fill(&mut block);
                let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
                packed.write_all(&block).expect("to memory");
                assert!(packed.finish().expect("to memory").len() >= block.len());
                // For deduplication at any usual size.
                assert!(block.chunks(512).all(|sector| blocks.insert(sector.to_vec())));
            }
        }
    }

    #[test]
    fn every_byte_is_refilled_and_runs_repeat() {
        for len in [0, 1, 7, 8, 9, 4096, 4099] {
            let (mut one, mut two) = (vec![0xaa; len], vec![0x55; len]);
            DataRng::for_thread(5, 1).fill(&mut one);
            DataRng::for_thread(4, 2).fill(&mut two);
            assert_eq!(one, two, "the same seed, whatever was there before");
        }
        let (mut one, mut two) = (vec![0; 64], vec![0; 64]);
        DataRng::for_thread(0, 0).fill(&mut one);
        DataRng::for_thread(0, 1).fill(&mut two);
        assert_ne!(one, two, "threads differ");
        assert_ne!(one[..8], Rng::for_thread(0, 0).next_u64().to_le_bytes(), "data is not offsets");
        DataRng::for_sources().fill(&mut two);
        let mut file = vec![0; 64];
        Noise::at(0, 0).fill(&mut file);
        assert!(file != two && one != two, "sources are neither a file's content nor a thread's data");
    }

    /// Hands out a few bytes at a time, with interruptions, and counts what was taken.
    struct Trickle<'a> {
        rest: &'a [u8],
        calls: usize,
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = buffer.len().min(7).min(self.rest.len());
            buffer[..count].copy_from_slice(&self.rest[..count]);
            self.rest = &self.rest[count..];
            Ok(count)
        }
    }

    #[test]
    fn file_content_is_repeated_or_cut_off() {
        let content: Vec<u8> = (0..100).map(|i| i * 2 + 1).collect();
        for len in [1, 50, 99, 100, 101, 250, 1000] {
            let mut buffer = vec![0; len];
            let mut file = Trickle { rest: &content, calls: 0 };
            fill_from(&mut buffer, &mut file, "f").expect("readable");
            let expected: Vec<u8> = content.iter().copied().cycle().take(len).collect();
            assert_eq!(buffer, expected, "{len}");
        }
    }

    #[test]
    fn a_file_longer_than_64_kib_is_used_to_the_last_byte() {
        // 2.2 repeats the first chunks instead of reading on.
        let mut content = vec![0; 300_000];
        DataRng::new(1).fill(&mut content);
        let mut buffer = vec![0; 200_000];
        fill_from(&mut buffer, &mut &content[..], "f").expect("readable");
        assert_eq!(buffer, content[..200_000]);
    }

    #[test]
    fn unreadable_files_are_words() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("disk on fire"))
            }
        }
        let mut buffer = [0; 8];
        let broken = fill_from(&mut buffer, &mut Broken, "a/b").expect_err("broken").to_string();
        assert!(broken.contains("a/b") && broken.contains("byte 0") && broken.contains("disk on fire"));
        let empty = fill_from(&mut buffer, &mut io::empty(), "a/b").expect_err("empty").to_string();
        assert!(empty.contains("a/b") && empty.contains("empty"), "{empty}");
    }
}

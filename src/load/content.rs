//! What the tested range is like before a run: layout, page cache, content; and what the run will write.
//!
//! Nothing here may fail a run, change what it measures, or take long: what does not answer in time stays
//! unknown.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::targets::TargetState;
use crate::access::{DataRng, SourceWindow, WriteData, data};
use crate::os::buffer::IoBuffer;
use crate::os::extents::survey;
use crate::os::residency::{Cached, cached, drop_cached, pieces};
use crate::os::target::{Access, AccessHint, OpenFlags, TargetKind, advise, open_file};
use crate::plan::Identity;
use crate::profile::{Target, TimeSpan};
use crate::result::{ContentSample, ExtentMap, Residency, TargetFacts};

/// For the extents of all targets together.
const SURVEY_LIMIT: Duration = Duration::from_secs(1);
/// For the samples of all targets together.
const SAMPLE_LIMIT: Duration = Duration::from_millis(150);
/// Blocks of a sample, at most.
const BLOCKS_MAX: u64 = 64;
/// Smallest and largest block looked at.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 4096..=65_536;
/// Bytes of a sample, at most.
const SAMPLE_BYTES_MAX: u64 = 2 << 20;
/// More dirty pages are not written back for the sake of a look.
const DIRTY_BYTES_MAX: u64 = 64 << 20;
/// Room for a compressed block: deflate adds less than this even to random data.
const COMPRESSED_BYTES_MAX: usize = 65_536 + 4096;

/// What was seen of one target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// Parts of the range looked at in the page cache.
    pieces: Vec<(u64, u64)>,
    extents: Option<ExtentMap>,
    residency: Option<Residency>,
    content: Option<ContentSample>,
    written: Option<ContentSample>,
}

/// Looks at all targets of a time span.
pub fn look_before(span: &TimeSpan, targets: &[TargetState]) -> Vec<Look> {
    let survey_end = Instant::now() + SURVEY_LIMIT;
    let share = SAMPLE_LIMIT / u32::try_from(targets.len().max(1)).unwrap_or(u32::MAX);
    let both = span.targets.iter().zip(targets);
    both.map(|(target, state)| look_at(span, target, state, survey_end, share)).collect()
}

fn look_at(
    span: &TimeSpan,
    target: &Target,
    state: &TargetState,
    survey_end: Instant,
    share: Duration,
) -> Look {
    let (start, length) = (state.ranges.range.base_bytes(), state.ranges.range.usable_bytes());
    let pieces = pieces(start, length);
    let before = cached(state.file(), &pieces);
    let residency = before.map(|seen| Residency {
        range_bytes: pieces.iter().map(|piece| piece.1).sum(),
        cached_before_bytes: seen.cached_bytes,
        cached_after_bytes: 0,
    });
    let is_file = state.facts.kind == TargetKind::Regular;
    let extents = is_file.then(|| layout(state.file(), start, length, before, survey_end));
    Look {
        pieces,
        extents,
        residency,
        content: if target.reads() { sample_content(target, state, share) } else { None },
        written: if target.writes() { sample_writes(span, target, state, share) } else { None },
    }
}

/// Layout of a range. Space that was reserved shows as never written until what was written to it is on the disk:
/// a little is written back first, before much of it the answer stays open.
fn layout(file: &File, start: u64, length: u64, before: Option<Cached>, end: Instant) -> ExtentMap {
    let dirty = before.map_or(Some(0), |seen| seen.dirty_bytes);
    let is_little = dirty.is_some_and(|bytes| bytes > 0 && bytes <= DIRTY_BYTES_MAX);
    let mut seen = survey(file, start, length, is_little, end);
    if seen.unwritten_bytes > 0 && dirty.is_none() {
        seen = survey(file, start, length, true, end);
    }
    if let Some(bytes) = dirty.filter(|&bytes| bytes > DIRTY_BYTES_MAX && seen.unwritten_bytes > 0) {
        seen.unknown = Some(format!(
            "{bytes} bytes were not on the disk yet, maybe of those that count as never written"
        ));
    }
    ExtentMap {
        range_bytes: seen.range_bytes,
        written_bytes: seen.written_bytes,
        unwritten_bytes: seen.unwritten_bytes,
        hole_bytes: seen.hole_bytes,
        encoded_bytes: seen.encoded_bytes,
        extents: seen.extents,
        unknown: seen.unknown,
    }
}

impl Look {
    /// Looks at the page cache again, after the run.
    pub fn look_after(&mut self, state: &TargetState) {
        let after = self.residency.and_then(|_| cached(state.file(), &self.pieces));
        self.residency = self
            .residency
            .zip(after)
            .map(|(residency, after)| Residency { cached_after_bytes: after.cached_bytes, ..residency });
    }

    /// Puts what was seen into the facts of the target.
    pub fn tell(self, facts: &mut TargetFacts) {
        facts.extents = self.extents;
        facts.residency = self.residency;
        facts.content = self.content;
        facts.written = self.written;
    }
}

/// Size of the blocks of a sample, and how many.
fn blocks_of(target: &Target, alignment: u64) -> (u64, u64) {
    let block = target.block_bytes.clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end());
    let block = block.next_multiple_of(alignment.max(1));
    (block, BLOCKS_MAX.min(SAMPLE_BYTES_MAX / block.max(1)))
}

/// Up to `count` starts of blocks spread evenly over a range, in an order in which the first few are spread, too.
fn spread(start: u64, length: u64, block: u64, alignment: u64, count: u64) -> Vec<u64> {
    let first = start.next_multiple_of(alignment);
    let room = (start + length).saturating_sub(first) / block;
    let count = count.min(room);
    let step = (start + length - start.min(first)).checked_div(count).unwrap_or(0);
    let at = |index: u64| first + (index * step / alignment * alignment).min((room - 1) * block);
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|index| index.reverse_bits());
    let mut offsets: Vec<u64> = order.into_iter().map(at).collect();
    let mut seen = HashSet::new();
    offsets.retain(|offset| seen.insert(*offset));
    offsets
}

/// Reads blocks from the tested range. Where another program or machine would have to serve the reads (FUSE, NFS)
/// nothing is read.
fn sample_content(target: &Target, state: &TargetState, limit: Duration) -> Option<ContentSample> {
    let filesystem = state.facts.filesystem.as_ref();
    if filesystem.is_some_and(|f| f.is_remote || f.name.starts_with("fuse")) {
        return None;
    }
    let since = Instant::now();
    let alignment = state.facts.direct.map_or(4096, |d| d.offset_bytes.max(1));
    let (file, is_direct) = open_for_sample(state)?;
    let (block, count) = blocks_of(target, alignment);
    let range = &state.ranges.range;
    let buffer = IoBuffer::new(block as usize).ok()?;
    let mut sampler = Sampler::new(block);
    for offset in spread(range.base_bytes(), range.usable_bytes(), block, alignment, count) {
        if since.elapsed() > limit {
            break;
        }
        read_unnoticed(&file, is_direct, offset, &buffer, |bytes| sampler.add(bytes))?;
    }
    sampler.finish()
}

/// A descriptor of its own, by direct I/O where that is possible.
fn open_for_sample(state: &TargetState) -> Option<(File, bool)> {
    let open = |direct: bool| {
        let flags = OpenFlags { access: Access::Read, direct, dsync: false };
        let file = open_file(&state.path, flags).ok()?;
        (Identity::of(&file).ok()? == state.identity()).then_some((file, direct))
    };
    let can_direct = state.facts.direct.is_some_and(|d| d.memory_bytes <= page_bytes());
    let opened = if can_direct { open(true) } else { None };
    let (file, is_direct) = opened.or_else(|| open(false))?;
    // Where it goes through the page cache all the same, it must not read ahead.
    let _ = advise(&file, AccessHint::Random);
    Some((file, is_direct))
}

/// Buffers are aligned to pages.
fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Reads a block and leaves the page cache as it was: what was not cached before is dropped again. Through the
/// page cache it is read only where the kernel tells whether it is there.
fn read_unnoticed(
    file: &File,
    is_direct: bool,
    offset: u64,
    buffer: &IoBuffer,
    take: impl FnOnce(&[u8]),
) -> Option<()> {
    let part = [(offset, buffer.len() as u64)];
    let before = cached(file, &part);
    if before.is_none() && !is_direct {
        return None;
    }
    let read = buffer.with_slice_mut(0, buffer.len(), |bytes| {
        let len = file.read_at(bytes, offset).ok()?;
        take(&bytes[..len]);
        Some(())
    });
    if before.is_some_and(|b| b.cached_bytes == 0) && cached(file, &part).is_some_and(|c| c.cached_bytes > 0)
    {
        drop_cached(file, part[0].0, part[0].1);
    }
    read
}

/// Blocks as the workers are going to write them.
fn sample_writes(
    span: &TimeSpan,
    target: &Target,
    state: &TargetState,
    limit: Duration,
) -> Option<ContentSample> {
    let since = Instant::now();
    let (block, count) = blocks_of(target, 1);
    let mut rng = DataRng::for_thread(span.rand_seed, 0);
    let mut bytes = vec![0; block as usize];
    let granularity = state.window_granularity_bytes(target);
    let windows = SourceWindow::new(target.write_source_bytes, target.block_bytes, granularity).ok();
    let mut sampler = Sampler::new(block);
    for slot in 0..count {
        if since.elapsed() > limit {
            break;
        }
        match (WriteData::of(target, span.random_write_data), &state.write_source, &windows) {
            (WriteData::Zero, ..) => bytes.fill(0),
            (WriteData::Random, ..) => rng.fill(&mut bytes),
            (WriteData::Source { size_bytes }, Some(source), Some(windows)) => {
                let at = windows.next(&mut rng);
                let len = block.min(size_bytes - at) as usize;
                source.with_slice_mut(at as usize, len, |window| bytes[..len].copy_from_slice(window));
            }
            (WriteData::Source { .. }, ..) => return None,
            (WriteData::Pattern, ..) => {
                let requests = u64::from(target.request_count.max(1));
                data::fill_pattern(&mut bytes, target.block_bytes * (requests + slot % requests));
            }
        }
        sampler.add(&bytes);
    }
    sampler.finish()
}

/// Counts blocks.
struct Sampler {
    sample: ContentSample,
    seen: HashSet<Vec<u8>>,
    compress: Compress,
    room: Vec<u8>,
}

impl Sampler {
    fn new(block_bytes: u64) -> Self {
        Sampler {
            sample: ContentSample { block_bytes: block_bytes as u32, ..ContentSample::default() },
            seen: HashSet::new(),
            compress: Compress::new(Compression::fast(), false),
            room: vec![0; COMPRESSED_BYTES_MAX],
        }
    }

    /// Adds a block; one that is not whole (the end of a file) is left out.
    fn add(&mut self, block: &[u8]) {
        if block.len() != self.sample.block_bytes as usize {
            return;
        }
        self.sample.blocks += 1;
        self.sample.zero_blocks += u32::from(block.iter().all(|&byte| byte == 0));
        self.sample.repeated_blocks += u32::from(!self.seen.insert(block.to_vec()));
        self.compress.reset();
        let ended = self.compress.compress(block, &mut self.room, FlushCompress::Finish);
        // What does not become smaller is counted as it is.
        let bytes = match ended {
            Ok(Status::StreamEnd) => self.compress.total_out().min(block.len() as u64),
            _ => block.len() as u64,
        };
        self.sample.compressed_bytes += bytes;
    }

    fn finish(self) -> Option<ContentSample> {
        (self.sample.blocks > 0).then_some(self.sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_spread_over_the_range_and_inside_it() {
        for (start, length, block, alignment, count, wanted) in [
            (0, 1 << 30, 4096, 4096, 64, 64),
            (4096, 1 << 20, 65_536, 512, 64, 16),
            (512, 8192 + 512, 4096, 4096, 64, 1),
            (0, 4096, 4096, 512, 64, 1),
            (0, 1000, 4096, 512, 64, 0),
            (1 << 40, (1 << 40) + 7, 8192, 4096, 64, 64),
        ] {
            let offsets = spread(start, length, block, alignment, count);
            assert_eq!(offsets.len(), wanted, "{start} {length} {block}");
            for offset in &offsets {
                let inside = *offset >= start && offset + block <= start + length;
                assert!(inside && offset % alignment == 0, "{offset} of {start}+{length}");
            }
        }
        let offsets = spread(0, 1 << 30, 4096, 4096, 64);
        assert!(*offsets.iter().max().expect("some") > (1 << 30) / 64 * 62, "to the end");
        let halves = offsets[..4].iter().filter(|&&offset| offset >= 1 << 29).count();
        assert_eq!(halves, 2, "also the first few: {:?}", &offsets[..4]);
    }

    #[test]
    fn a_sample_counts_zeros_repetitions_and_what_compresses() {
        let mut sampler = Sampler::new(4096);
        assert_eq!(Sampler::new(4096).finish(), None, "nothing was looked at");
        let mut random = vec![0; 4096];
        DataRng::new(7).fill(&mut random);
        sampler.add(&[0; 4096]);
        sampler.add(&random);
        let incompressible = sampler.sample.compressed_bytes;
        assert!((4096..4200).contains(&incompressible), "{incompressible}");
        sampler.add(&[0; 4096]);
        sampler.add(&random);
        sampler.add(&random[..100]);
        let sample = sampler.finish().expect("four blocks");
        assert_eq!((sample.blocks, sample.zero_blocks, sample.repeated_blocks), (4, 2, 2));
        assert_eq!(sample.compressed_bytes, 2 * incompressible, "each block by itself");
    }
}

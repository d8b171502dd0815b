//! What the tested range is like before a run: layout, page cache, content; and what the run will write.
//!
//! Nothing here may fail a run, change what it measures, or take long. What does not answer in time stays unknown.
//! File systems of other machines and of FUSE programs are not asked, because they may never answer.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::layout::{Below, layout, map_of};
use super::targets::TargetState;
use crate::access::{DataRng, EffectiveRange, data};
use crate::plan::{Lane, LaneTarget, LaneWrites};
use crate::profile::{Target, TimeSpan};
use crate::result::{Allocation, ContentSample, ExtentMap, LoopCache, RangePart, Residency, TargetFacts};
use crate::verify::sector::{SECTOR_BYTES, Stamp, stamp};
use truespd_platform::machine::chain::LayerKind;
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{
    AccessHint, OpenedTarget, ReadFlags, TargetKind, advise, keep_access_time, open_file,
};
use truespd_platform::machine::{chain, loops, storage};
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::extents::Survey;
use truespd_platform::sys::extents::{Cached, cached, drop_cached, gaps, pieces};
use truespd_platform::sys::file::read_at;
use truespd_platform::sys::identity::Identity;

/// For the extents of all targets together.
const SURVEY_LIMIT: Duration = Duration::from_secs(1);
/// For the samples of all targets together.
const SAMPLE_LIMIT: Duration = Duration::from_millis(150);
/// Blocks of a sample, at most.
const BLOCKS_MAX: u64 = 64;
/// Smallest and largest block of a sample.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 4096..=65_536;
/// Bytes of a sample, at most.
const SAMPLE_BYTES_MAX: u64 = 2 << 20;
/// Partition tables and file systems have their signatures within this distance of both ends.
const ENDS_BYTES: u64 = 16 << 20;
/// Room for a compressed block: deflate adds less than this even to random data.
const COMPRESSED_BYTES_MAX: usize = 65_536 + 4096;

/// The part of a target that is examined.
struct TestedRange<'a> {
    path: &'a Path,
    file: &'a File,
    identity: Identity,
    facts: &'a storage::TargetFacts,
    chain: &'a [chain::Layer],
    start: u64,
    length: u64,
    /// The ranges of a distribution with their shares of the I/O (`-rd`); none where all of it gets the same.
    hot: Vec<EffectiveRange>,
    /// Block size of the test.
    block_bytes: u64,
    /// Whether a few dirty pages may be written back for an exact answer.
    may_write_back: bool,
}

impl<'a> TestedRange<'a> {
    /// The tested range of a target.
    fn of_run(target: &Target, state: &'a TargetState) -> Self {
        TestedRange {
            path: &state.path,
            file: &state.file,
            identity: state.identity,
            facts: &state.facts,
            chain: &state.chain,
            start: state.planned.range.base_bytes(),
            length: state.planned.range.usable_bytes(),
            hot: state.planned.places.ranges().to_vec(),
            block_bytes: target.block_bytes,
            may_write_back: true,
        }
    }

    /// All of a target, outside of a run.
    fn at_rest(opened: &'a OpenedTarget, chain: &'a [chain::Layer]) -> Option<Self> {
        Some(TestedRange {
            path: &opened.facts.path,
            file: &opened.file,
            identity: Identity::of(&opened.file).ok()?,
            facts: &opened.facts,
            chain,
            start: 0,
            length: opened.facts.size_bytes,
            hot: Vec::new(),
            block_bytes: REST_BLOCK_BYTES,
            may_write_back: false,
        })
    }

    /// Whether another machine or a FUSE program would have to answer questions beyond the page cache.
    fn is_elsewhere(&self) -> bool {
        self.facts.filesystem.as_ref().is_some_and(|f| f.is_remote) || is_served(self.chain)
    }

    /// `sample`: how long its content is sampled, if at all.
    fn look(&self, survey_end: Instant, sample: Option<Duration>) -> Inspection {
        let pieces = pieces(self.start, self.length);
        let before = cached(self.file, &pieces);
        let residency = before.map(|seen| residency_of(&pieces, seen));
        let content = sample.and_then(|limit| sample_content(self, limit));
        let mut look = Inspection { pieces, residency, content, ..Inspection::default() };
        if self.is_elsewhere() {
            let unknown = Some("TrueSpd asks no other machine and no FUSE program for it".to_string());
            let is_file = self.facts.kind == TargetKind::Regular;
            look.extents = is_file.then(|| ExtentMap { unknown, ..ExtentMap::default() });
            return look;
        }
        let seen = self.survey(self.start, self.length, before, survey_end);
        look.allocation = self.below(self.start, self.length, seen.as_ref(), before, survey_end);
        look.parts = self.hot.iter().map(|part| self.part(part, survey_end)).collect();
        look.extents = seen.as_ref().map(map_of);
        look
    }

    /// What gives room to data below a part of the target.
    fn below(
        &self,
        start: u64,
        length: u64,
        layout: Option<&Survey>,
        before: Option<Cached>,
        end: Instant,
    ) -> Vec<Allocation> {
        let below = Below { chain: self.chain, start, length, may_write_back: self.may_write_back };
        below.look(layout, before.and_then(|seen| seen.dirty_bytes), end)
    }

    /// Layout of a part of a file; `None` of a device.
    fn survey(&self, start: u64, length: u64, before: Option<Cached>, end: Instant) -> Option<Survey> {
        let is_file = self.facts.kind == TargetKind::Regular;
        is_file.then(|| layout(self.file, &[(start, length)], before, self.may_write_back, end))
    }

    /// What a range of the distribution is like.
    fn part(&self, range: &EffectiveRange, end: Instant) -> RangePart {
        let (start, length) = (self.start + range.offset_bytes, range.length_bytes);
        let pieces = pieces(start, length);
        let before = cached(self.file, &pieces);
        let seen = self.survey(start, length, before, end);
        RangePart {
            offset_bytes: start,
            length_bytes: length,
            io_percent: range.io_percent,
            extents: seen.as_ref().map(map_of),
            allocation: self.below(start, length, seen.as_ref(), before, end),
            residency: before.map(|seen| residency_of(&pieces, seen)),
        }
    }
}

fn residency_of(pieces: &[(u64, u64)], before: Cached) -> Residency {
    Residency {
        range_bytes: pieces.iter().map(|piece| piece.1).sum(),
        cached_before_bytes: before.cached_bytes,
        cached_after_bytes: 0,
    }
}

/// Outside of a run, samples have the smallest blocks.
const REST_BLOCK_BYTES: u64 = *BLOCK_BYTES.start();

/// Examines all of each target outside of a run. Nothing is written back.
pub fn look_at_rest(targets: &[(&OpenedTarget, &[chain::Layer])]) -> Vec<Inspection> {
    let survey_end = Instant::now() + SURVEY_LIMIT;
    let share = share(targets.len());
    let mut looks = Vec::new();
    for (opened, chain) in targets {
        let range = TestedRange::at_rest(opened, chain);
        looks.push(range.map_or_else(Inspection::default, |range| range.look(survey_end, Some(share))));
    }
    looks
}

/// Time for the sample of one target.
fn share(targets: usize) -> Duration {
    SAMPLE_LIMIT / u32::try_from(targets.max(1)).unwrap_or(u32::MAX)
}

/// What was seen of one target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    /// Parts of the range looked at in the page cache.
    pieces: Vec<(u64, u64)>,
    extents: Option<ExtentMap>,
    parts: Vec<RangePart>,
    residency: Option<Residency>,
    allocation: Vec<Allocation>,
    content: Option<ContentSample>,
    written: Option<ContentSample>,
}

/// Examines all targets of a time span, and what the lanes are going to write.
pub fn look_before(span: &TimeSpan, targets: &[TargetState], lanes: &[Lane]) -> Vec<Inspection> {
    let survey_end = Instant::now() + SURVEY_LIMIT;
    let share = share(targets.len());
    let mut looks = Vec::new();
    for (index, (target, state)) in span.targets.iter().zip(targets).enumerate() {
        let range = TestedRange::of_run(target, state);
        let mut look = range.look(survey_end, if target.reads() { Some(share) } else { None });
        let own = lanes.iter().flat_map(|lane| &lane.targets).find(|own| own.duty.target == index);
        let source = state.write_source.as_deref();
        look.written = own.and_then(|own| sample_writes(own, source, span.rand_seed, share));
        looks.push(look);
    }
    looks
}

impl Inspection {
    /// Examines the page cache again after the run.
    pub fn look_after(&mut self, file: &File) {
        let after = self.residency.and_then(|_| cached(file, &self.pieces));
        self.residency = self
            .residency
            .zip(after)
            .map(|(residency, after)| Residency { cached_after_bytes: after.cached_bytes, ..residency });
        for part in &mut self.parts {
            let after = cached(file, &pieces(part.offset_bytes, part.length_bytes));
            if let Some((residency, after)) = part.residency.as_mut().zip(after) {
                residency.cached_after_bytes = after.cached_bytes;
            }
        }
    }

    /// What is not cached now: at both ends, or anywhere if nothing was cached before.
    pub fn not_cached(&self, file: &File, size_bytes: u64) -> Vec<(u64, u64)> {
        let Some(seen) = self.residency else { return Vec::new() };
        if seen.cached_before_bytes == 0 {
            return self.pieces.clone();
        }
        let head = size_bytes.min(ENDS_BYTES);
        let tail = (size_bytes - head).min(ENDS_BYTES);
        [gaps(file, 0, head), gaps(file, (size_bytes - tail) / 4096 * 4096, tail)].concat()
    }

    /// Puts what was seen into the facts of the target.
    pub fn tell(self, facts: &mut TargetFacts) {
        facts.extents = self.extents;
        facts.parts = self.parts;
        facts.allocation = self.allocation;
        facts.residency = self.residency;
        facts.content = self.content;
        facts.written = self.written;
    }
}

/// Size of the blocks of a sample, and how many.
fn blocks_of(block_bytes: u64, alignment: u64) -> (u64, u64) {
    let block = block_bytes.clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end());
    let block = block.next_multiple_of(alignment.max(1));
    (block, BLOCKS_MAX.min(SAMPLE_BYTES_MAX / block.max(1)))
}

/// Up to `count` starts of blocks, spread evenly over a range. The order spreads the first few evenly, too.
fn spread(start: u64, length: u64, block: u64, alignment: u64, count: u64) -> Vec<u64> {
    let first = start.next_multiple_of(alignment);
    let room = (start + length).saturating_sub(first) / block;
    let count = count.min(room);
    let step = (start + length - start.min(first)).checked_div(count).unwrap_or(0);
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|index| index.reverse_bits());
    let (mut offsets, mut seen) = (Vec::new(), HashSet::new());
    for index in order {
        let offset = first + (index * step / alignment * alignment).min((room - 1) * block);
        if seen.insert(offset) {
            offsets.push(offset);
        }
    }
    offsets
}

/// Starts of up to `count` blocks, as many of each range of the distribution as it gets of the I/O, the first few
/// likewise. Evenly over the tested range where there is no distribution.
fn places(range: &TestedRange<'_>, block: u64, alignment: u64, count: u64) -> Vec<u64> {
    let weight: u64 = range.hot.iter().map(|part| u64::from(part.io_percent)).sum();
    if weight == 0 {
        return spread(range.start, range.length, block, alignment, count);
    }
    let (mut found, mut until) = (Vec::new(), 0);
    for part in &range.hot {
        let before = until * count / weight;
        until += u64::from(part.io_percent);
        let own = until * count / weight - before;
        let offsets = spread(range.start + part.offset_bytes, part.length_bytes, block, alignment, own);
        let all = offsets.len().max(1) as u64;
        // Each range's blocks at equal distances in the order of all.
        found.extend((0..).zip(offsets).map(|(at, offset)| ((2 * at + 1) * count / all, offset)));
    }
    found.sort_by_key(|&(turn, _)| turn);
    found.into_iter().map(|(_, offset)| offset).collect()
}

/// Reads blocks from the range.
fn sample_content(range: &TestedRange<'_>, limit: Duration) -> Option<ContentSample> {
    if range.is_elsewhere() {
        return None;
    }
    let since = Instant::now();
    let alignment = range.facts.direct.map_or(4096, |d| d.offset_bytes.max(1));
    let reader = Reader::open(range)?;
    let (block, count) = blocks_of(range.block_bytes, alignment);
    let buffer = IoBuffer::new(block as usize).ok()?;
    let mut sampler = Sampler::new(block);
    for offset in places(range, block, alignment, count) {
        if since.elapsed() > limit {
            break;
        }
        reader.read_unnoticed(offset, &buffer, |bytes| sampler.add(bytes))?;
    }
    sampler.finish()
}

/// Reads blocks for a sample.
struct Reader {
    /// By direct I/O where that is possible.
    file: File,
    is_direct: bool,
    /// For blocks that are dirty in the page cache, which a direct read would write back. `None` where they may be
    /// written back.
    cached: Option<File>,
}

impl Reader {
    fn open(range: &TestedRange<'_>) -> Option<Self> {
        let can_direct = range.facts.direct.is_some_and(|d| d.memory_bytes <= page_bytes());
        let direct = if can_direct { opened(range, true) } else { None };
        let is_direct = direct.is_some();
        let cached = if is_direct && !range.may_write_back { Some(opened(range, false)?) } else { None };
        Some(Reader { file: direct.or_else(|| opened(range, false))?, is_direct, cached })
    }

    /// Reads a block and leaves the page cache as it was. What was not cached before is dropped again, and a block that
    /// is cached in part is left out. Without direct I/O, a block is read only if the kernel tells whether it is
    /// cached. `None`: other blocks would fail as well.
    fn read_unnoticed(&self, offset: u64, buffer: &IoBuffer, take: impl FnOnce(&[u8])) -> Option<()> {
        let part = [(offset, buffer.len() as u64)];
        let before = cached(&self.file, &part);
        if before.is_none() && !self.is_direct {
            return None;
        }
        let cached_bytes = before.map_or(0, |seen| seen.cached_bytes);
        let may_be_dirty = cached_bytes > 0 && before.is_some_and(|seen| seen.dirty_bytes != Some(0));
        let through_cache = match &self.cached {
            Some(cached) if may_be_dirty => Some(cached),
            _ if self.is_direct => None,
            _ => Some(&self.file),
        };
        if through_cache.is_some() && cached_bytes > 0 && cached_bytes < part[0].1 {
            return Some(());
        }
        let read = buffer.with_slice_mut(0, buffer.len(), |bytes| {
            let len = read_at(through_cache.unwrap_or(&self.file), bytes, offset).ok()?;
            take(&bytes[..len]);
            Some(())
        });
        if before.is_some()
            && cached_bytes == 0
            && cached(&self.file, &part).is_some_and(|seen| seen.cached_bytes > 0)
        {
            drop_cached(&self.file, part[0].0, part[0].1);
        }
        read
    }
}

/// The target of a range, opened for its samples.
fn opened(range: &TestedRange<'_>, direct: bool) -> Option<File> {
    let file = open_file(range.path, ReadFlags { direct }).ok()?;
    keep_access_time(&file);
    // Reads through the page cache must not read ahead.
    let _ = advise(&file, AccessHint::Random);
    (Identity::of(&file).ok()? == range.identity).then_some(file)
}

/// Buffers are aligned to pages.
fn page_bytes() -> u64 {
    truespd_platform::sys::system::page_bytes() as u64
}

/// Blocks as the workers are going to write them; `None` when they write nothing.
fn sample_writes(
    target: &LaneTarget,
    source: Option<&IoBuffer>,
    seed: u32,
    limit: Duration,
) -> Option<ContentSample> {
    let since = Instant::now();
    let block_bytes = u64::from(target.block_bytes);
    let (block, count) = blocks_of(block_bytes, 1);
    let mut rng = DataRng::for_thread(seed, 0);
    let mut bytes = vec![0; block as usize];
    let mut sampler = Sampler::new(block);
    for slot in 0..count {
        if since.elapsed() > limit {
            break;
        }
        match target.writes {
            LaneWrites::None => return None,
            LaneWrites::Zero => bytes.fill(0),
            LaneWrites::Random => rng.fill(&mut bytes),
            LaneWrites::Source(windows) => {
                let (source, at) = (source?, windows.next(&mut rng) as usize);
                let len = bytes.len().min(source.len() - at);
                source.with_slice_mut(at, len, |window| bytes[..len].copy_from_slice(window));
            }
            LaneWrites::Pattern { first } => {
                let slots = u64::from(target.duty.requests.max(1));
                data::fill_pattern(&mut bytes, first + block_bytes * (slot % slots));
            }
        }
        if target.verify {
            let addresses = (slot * block..).step_by(SECTOR_BYTES);
            for (sector, address) in bytes.as_chunks_mut::<SECTOR_BYTES>().0.iter_mut().zip(addresses) {
                stamp(sector, &Stamp { address, ..Stamp::default() });
            }
        }
        sampler.add(&bytes);
    }
    sampler.finish()
}

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

    /// Adds a block. A short block (at the end of a file) is left out.
    fn add(&mut self, block: &[u8]) {
        if block.len() != self.sample.block_bytes as usize {
            return;
        }
        self.sample.blocks += 1;
        self.sample.zero_blocks += u32::from(block.iter().all(|&byte| byte == 0));
        self.sample.repeated_blocks += u32::from(!self.seen.insert(block.to_vec()));
        self.compress.reset();
        let ended = self.compress.compress(block, &mut self.room, FlushCompress::Finish);
        // A block that does not compress counts with its own size.
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

/// What one loop device stands on, open, as it was before the run.
#[derive(Debug, Clone)]
pub struct LoopCacheSeen {
    file: Arc<File>,
    pieces: Vec<(u64, u64)>,
    pub cache: LoopCache,
}

/// Looks at what the loop devices of each chain stand on, of those without direct I/O. What cannot be opened or
/// is too large to be looked at as a whole is left out. A device below many targets is looked at once.
pub fn look_at_loops(chains: &[&[chain::Layer]], roots: &Roots) -> Vec<Vec<LoopCacheSeen>> {
    let mut known: HashMap<DeviceNumber, Option<LoopCacheSeen>> = HashMap::new();
    let mut all = Vec::new();
    for chain in chains {
        let mut found = Vec::new();
        let layers = chain.iter().filter(|layer| layer.kind.is_cached_loop(layer.direct_io));
        for (layer, number) in layers.filter_map(|layer| Some((layer, layer.number?))) {
            if !is_served(chain) {
                found.extend(known.entry(number).or_insert_with(|| of_layer(layer, roots)).clone());
            }
        }
        all.push(found);
    }
    all
}

/// By another machine or a program, which may never answer.
fn is_served(chain: &[chain::Layer]) -> bool {
    let kinds = [LayerKind::RemoteFilesystem, LayerKind::UserFilesystem];
    chain.iter().any(|layer| kinds.contains(&layer.kind))
}

fn of_layer(layer: &chain::Layer, roots: &Roots) -> Option<LoopCacheSeen> {
    let path = layer.details.as_ref()?.backing_file.as_deref()?;
    let mut file = open_file(Path::new(path), ReadFlags::CACHED).ok()?;
    // The path may lead to another file in this mount namespace.
    let device = BlockDevice::find(layer.number?, roots)?;
    if loops::Ground::of(&device, Path::new(path), roots)?.own() != Identity::of(&file).ok()? {
        return None;
    }
    // Of files and devices alike.
    let length = file.seek(SeekFrom::End(0)).ok()?;
    let pieces = pieces(0, length);
    let range_bytes = pieces.iter().map(|piece| piece.1).sum();
    if range_bytes != length {
        return None;
    }
    let now = cached(&file, &pieces)?;
    let residency = Residency { range_bytes, cached_before_bytes: now.cached_bytes, cached_after_bytes: 0 };
    let cache = LoopCache {
        device: layer.name.clone(),
        path: path.to_string(),
        residency,
        evicted_before_bytes: now.evicted_bytes,
        evicted_after_bytes: None,
    };
    Some(LoopCacheSeen { file: Arc::new(file), pieces, cache })
}

impl LoopCacheSeen {
    /// Looks again, after the run. False where the kernel does not tell any more.
    pub fn look_after(&mut self) -> bool {
        let Some(now) = cached(&self.file, &self.pieces) else { return false };
        self.cache.residency.cached_after_bytes = now.cached_bytes;
        self.cache.evicted_after_bytes = now.evicted_bytes;
        true
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

    /// A part that gets 90 % of the I/O gets 90 % of the sample, from its first blocks on.
    #[test]
    fn a_sample_is_drawn_where_the_io_goes() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("data");
        File::create(&path).and_then(|file| file.set_len(100 << 20)).expect("room");
        let opened = opened(&path);
        let mut range = TestedRange::at_rest(&opened, &[]).expect("a file");
        let even = places(&range, 4096, 4096, 64);
        assert_eq!(even, spread(0, 100 << 20, 4096, 4096, 64), "as ever");
        let part = |io_percent, offset_bytes, length_bytes| EffectiveRange {
            io_percent,
            offset_bytes,
            length_bytes,
            ..EffectiveRange::default()
        };
        range.hot = vec![part(90, 0, 4 << 20), part(0, 4 << 20, 1 << 20), part(10, 5 << 20, 95 << 20)];
        let found = places(&range, 4096, 4096, 64);
        let hot = |of: &[u64]| of.iter().filter(|&&offset| offset < 4 << 20).count();
        assert_eq!((found.len(), hot(&found), hot(&found[..20])), (64, 57, 18), "{found:?}");
        assert!(!found.iter().any(|offset| (4 << 20..5 << 20).contains(offset)), "no I/O goes there");
        // A part of one block has no more.
        range.hot = vec![part(90, 0, 4096), part(10, 4096, 95 << 20)];
        let found = places(&range, 4096, 4096, 64);
        assert_eq!((found.len(), found.iter().filter(|&&offset| offset == 0).count()), (8, 1));
    }

    fn opened(path: &Path) -> OpenedTarget {
        storage::open(path, ReadFlags::CACHED, &truespd_platform::machine::roots::Roots::default())
            .expect("just made")
    }

    #[test]
    fn a_sample_without_a_limit_is_whole() {
        use crate::made::FileExt;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("data");
        let file = File::create(&path).expect("room");
        file.set_len(8 << 20).expect("room");
        file.write_all_at(&vec![7; 1 << 20], 3 << 20).expect("room");
        file.sync_all().expect("synced");
        let opened = opened(&path);
        let range = TestedRange::at_rest(&opened, &[]).expect("a file");
        let sample = sample_content(&range, Duration::MAX).expect("a sample");
        assert_eq!((sample.blocks, sample.zero_blocks, sample.repeated_blocks), (64, 56, 62));
        // Time that is over ends it.
        assert_eq!(sample_content(&range, Duration::ZERO), None);
    }

    #[test]
    fn filesystems_of_others_are_asked_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("data");
        std::fs::write(&path, vec![1; 1 << 20]).expect("room");
        let opened = opened(&path);
        let look = |kinds: &[LayerKind]| {
            let layer = |kind: &LayerKind| chain::Layer { kind: *kind, ..chain::Layer::default() };
            let chain: Vec<_> = kinds.iter().map(layer).collect();
            look_at_rest(&[(&opened, &chain)]).remove(0)
        };
        let here = look(&[LayerKind::File, LayerKind::Filesystem, LayerKind::NetworkDisk]);
        assert!(here.content.is_some() && here.extents.is_some_and(|map| map.range_bytes == 1 << 20));
        for kind in [LayerKind::RemoteFilesystem, LayerKind::UserFilesystem] {
            let there = look(&[LayerKind::File, kind]);
            assert_eq!(there.content, None, "{kind:?}");
            let map = there.extents.expect("of a file");
            assert!(map.range_bytes == 0 && map.unknown.is_some(), "{map:?}");
            let below =
                look(&[LayerKind::File, LayerKind::Filesystem, LayerKind::Loop, LayerKind::File, kind]);
            assert_eq!(below.content, None, "below a loop device");
        }
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

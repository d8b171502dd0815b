//! How much of what completed can have been at the disks: by their own counters, by the kernel's account of
//! this process, and by what loop devices had in the page cache. Each is a most, so that the least of them
//! counts.
//!
//! The counters of a disk are no proof while somebody else uses it. The account of the process
//! (`/proc/self/io`) counts what its threads handed to the block layer, also those of io_uring's kernel side,
//! whatever lies below.

use crate::result::{LayerKind, LayerRole, LoopCache, Residency};
use crate::verdict::Case;
use crate::verdict::figures::ratio;
use crate::verdict::view::{Flow, Group, RestsOn, View, Way};

/// The most that the disks can have moved for the test.
#[derive(Debug, Clone, Copy)]
pub struct Most<'a> {
    /// Bytes per second.
    pub bytes: f64,
    /// How that is known.
    pub by: By<'a>,
}

/// How it is known.
#[derive(Debug, Clone, Copy)]
pub enum By<'a> {
    /// The disks moved no more in all.
    Disks,
    /// This process handed no more to them.
    Own,
    /// This loop device had the rest in the page cache.
    Loop(&'a LoopCache),
}

/// The most of a way that the disks of a group can have moved for the test.
pub fn most<'a>(case: &Case<'_>, group: &Group<'a>, way: Way) -> Most<'a> {
    // A late last reading divides the same bytes by more time, so its rate is too low.
    let in_measured = ratio(group.moved_bytes(way), case.seconds());
    let disks = Most { bytes: group.moved(way).bytes.max(in_measured), by: By::Disks };
    let own = own(case, group, way).map(|bytes| Most { bytes, by: By::Own });
    [own, from_loops(case, group, way)].into_iter().flatten().fold(disks, |least, other| {
        // What the disks show is told where it says the same.
        if other.bytes < 0.9 * least.bytes { other } else { least }
    })
}

/// I/Os in flight at the ends of the measured time, as a rate in bytes per second: one per request, at most a
/// tenth of what was done.
pub fn edge(case: &Case<'_>, targets: &[View<'_>], done: Flow) -> f64 {
    ratio(case.in_flight(targets) * done.size(), case.seconds()).min(done.bytes / 10.0)
}

/// What was done before the first reading of the counters, and is in no count, in bytes per second.
pub fn unread(case: &Case<'_>, group: &Group<'_>, way: Way) -> f64 {
    let late_s = group.disks.iter().map(|disk| disk.late_ns).max().unwrap_or(0) as f64 / 1e9;
    group.done(way).bytes * ratio(late_s, case.seconds()).min(1.0)
}

/// What this process handed to the block layer in all, in bytes per second, where it counts all I/O on the
/// targets of the group. It may hold I/O on other targets as well.
pub fn own(case: &Case<'_>, group: &Group<'_>, way: Way) -> Option<f64> {
    let host = case.measured.evidence.host.as_ref()?;
    let counted = match way {
        Way::Read => host.own_disk_read_bytes,
        Way::Write => host.own_disk_write_bytes,
    }?;
    let is_told = group.targets.iter().all(|target| is_accounted(target, way));
    is_told.then(|| ratio(counted as f64, case.seconds()))
}

/// File systems that hand down reads, and take pages to be written, in the name of the process.
const ACCOUNTED: [&str; 13] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs3", "jfs", "erofs", "squashfs",
    "overlay",
];

/// Whether less in the account of the process means less at the disks.
fn is_accounted(target: &View<'_>, way: Way) -> bool {
    let is_known = |layer: &crate::result::Layer| match layer.kind {
        LayerKind::Filesystem => ACCOUNTED.contains(&layer.name.as_str()),
        _ => !matches!(layer.role(), LayerRole::Zfs | LayerRole::ZfsVolume),
    };
    if target.rests_on() != RestsOn::Disks || !target.layers().iter().all(is_known) {
        return false;
    }
    // Whatever answered in the place of a disk was in memory. Where the page cache holds nothing, the account is wrong.
    let residency = target.facts.and_then(|facts| facts.residency);
    let held = residency.map(|seen| seen.cached_before_bytes.max(seen.cached_after_bytes));
    let journals =
        target.layers().iter().any(|layer| layer.details.as_ref().is_some_and(|d| d.journals_data));
    match (way, target.is_direct()) {
        (Way::Read, false) => held != Some(0),
        (Way::Read, true) => {
            let range = residency.map_or(0, |seen| seen.range_bytes);
            held.is_some_and(|held| held > 0 && held as f64 >= 0.01 * range as f64)
        }
        // A page is counted when it becomes dirty, so that writes to a dirty page count once, as they reach the disk.
        (Way::Write, false) => !journals && !target.is_write_through() && held != Some(0),
        (Way::Write, true) => false,
    }
}

/// The most that came through loop devices which use the page cache: what was not in it before. Reads only.
fn from_loops<'a>(case: &Case<'_>, group: &Group<'a>, way: Way) -> Option<Most<'a>> {
    if way == Way::Write {
        return None;
    }
    let mut by = None;
    let bytes = group.targets.iter().map(|target| {
        let done = target.done(way).bytes;
        let caches = target.facts.map_or(&[][..], |facts| &facts.loop_caches);
        let least = caches.iter().filter_map(|cache| Some((from_disk(cache, done, case.seconds())?, cache)));
        match least.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((bytes, cache)) if bytes < done => {
                by = Some(cache);
                bytes
            }
            _ => done,
        }
    });
    let bytes = bytes.sum();
    by.map(|cache| Most { bytes, by: By::Loop(cache) })
}

/// Dropped pages above this part of those cached mean that the page cache is too small for the file.
const EVICTED_FEW: f64 = 0.05;
/// From this part on all of the file counts as cached.
const ALL_CACHED: f64 = 0.95;

/// The most that the file of a loop device can have had read from its disk, in bytes per second. `None` where
/// it may have been read several times, because the page cache dropped it in between.
fn from_disk(cache: &LoopCache, done: f64, seconds: f64) -> Option<f64> {
    let Residency { range_bytes, cached_before_bytes, cached_after_bytes } = cache.residency;
    let grew = cached_after_bytes.saturating_sub(cached_before_bytes) as f64;
    if let (Some(before), Some(after)) = (cache.evicted_before_bytes, cache.evicted_after_bytes) {
        let evicted = before.max(after) as f64;
        if evicted <= EVICTED_FEW * cached_after_bytes as f64 && cached_after_bytes >= cached_before_bytes {
            return Some(ratio(grew + evicted, seconds));
        }
    }
    let held = cached_before_bytes.min(cached_after_bytes);
    let is_all = held as f64 >= ALL_CACHED * range_bytes as f64 && held > 0;
    // Some pages may have gone and come again.
    is_all.then(|| ratio(range_bytes.saturating_sub(held) as f64, seconds) + (1.0 - ALL_CACHED) * done)
}

/// How far a layer that makes data smaller explains that the disks moved less.
#[derive(Debug, Clone)]
pub struct Reduction {
    /// What the layer does, in words.
    pub by: String,
    /// The least part of the bytes that it leaves.
    pub least: f64,
    /// To which part the sampled data compress; none without a sample.
    pub sampled: Option<f64>,
}

/// Storage compresses at best to this part of what the fastest deflate does, block by block.
const BETTER_THAN_SAMPLE: f64 = 0.5;
/// The smallest part without a sample: a sector of 4 KiB for 128 KiB, which is also the least that btrfs keeps.
pub const SMALLEST: f64 = 1.0 / 32.0;

/// What the layers of a group make of the bytes of a way; `None` where none is known to make them smaller
/// above the disks.
pub fn reduction(group: &Group<'_>, way: Way) -> Option<Reduction> {
    let parts: Vec<(f64, Option<Reduction>)> =
        group.targets.iter().map(|target| (target.done(way).bytes, reduction_of(target, way))).collect();
    let first = parts.iter().find_map(|(_, found)| found.clone())?;
    let left = |(done, found): &(f64, Option<Reduction>)| done * found.as_ref().map_or(1.0, |one| one.least);
    let least = ratio(parts.iter().map(left).sum(), group.done(way).bytes);
    Some(Reduction { least, ..first })
}

fn reduction_of(target: &View<'_>, way: Way) -> Option<Reduction> {
    let (layer, by) = target.reducer()?;
    // Disks count what they are sent: what they make of it themselves is not in their counters.
    if layer.is_lowest() {
        return None;
    }
    let facts = target.facts?;
    let sample = match way {
        Way::Read => facts.content.as_ref(),
        Way::Write => facts.written.as_ref(),
    };
    let sample = sample.filter(|sample| sample.blocks > 0 && sample.block_bytes > 0);
    let size =
        |sample: &crate::result::ContentSample| f64::from(sample.blocks) * f64::from(sample.block_bytes);
    let sampled = sample.map(|sample| ratio(sample.compressed_bytes as f64, size(sample)).min(1.0));
    let compressed = match sampled {
        Some(part) => (part * BETTER_THAN_SAMPLE).max(if layer.name == "btrfs" { SMALLEST } else { 0.0 }),
        None => SMALLEST,
    };
    let part_of =
        |blocks: u32| ratio(f64::from(blocks), sample.map_or(0.0, |sample| f64::from(sample.blocks)));
    let distinct = match (sample, layer.deduplicates) {
        (Some(sample), Some(true)) => 1.0 - part_of(sample.repeated_blocks),
        _ => 1.0,
    };
    // Only extents that are stored compressed are smaller than what they hold.
    let encoded = match (&facts.extents, way, layer.kind) {
        (Some(map), Way::Read, LayerKind::Filesystem) if map.unknown.is_none() && map.range_bytes > 0 => {
            let is_own = target.layers().iter().find(|one| one.kind == LayerKind::Filesystem) == Some(layer);
            if is_own { ratio(map.encoded_bytes as f64, map.range_bytes as f64).min(1.0) } else { 1.0 }
        }
        _ => 1.0,
    };
    Some(Reduction { by, least: 1.0 - encoded + encoded * compressed * distinct, sampled })
}

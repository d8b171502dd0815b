//! How the tested range lies on its file system, and on those of the files of loop devices below it.

use std::fs::File;
use std::time::Instant;

use crate::result::{AllocatedBy, Allocation, ExtentMap};
use truespd_platform::machine::allocated::loop_file;
use truespd_platform::machine::caches::StateUnknown;
use truespd_platform::machine::chain::{self, LayerKind};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::places::{Snapshot, ThinVolume, snapshots, thin_volumes};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::extents::{Cached, Survey, cached, pieces, survey};

/// With more dirty pages than this, nothing is written back for an exact answer.
const DIRTY_BYTES_MAX: u64 = 64 << 20;

/// Layout of a part of a file. Reserved space counts as never written until its dirty pages are on the disk. A few
/// dirty pages are written back first where they may be; with many of them the answer is "unknown".
pub fn layout(
    file: &File,
    parts: &[(u64, u64)],
    before: Option<Cached>,
    may_write_back: bool,
    end: Instant,
) -> Survey {
    let limit = if may_write_back { DIRTY_BYTES_MAX } else { 0 };
    let dirty = before.map_or(Some(0), |seen| seen.dirty_bytes);
    let is_little = dirty.is_some_and(|bytes| bytes > 0 && bytes <= limit);
    let mut seen = survey_parts(file, parts, is_little, end);
    if seen.unwritten_bytes > 0 && dirty.is_none() && may_write_back {
        seen = survey_parts(file, parts, true, end);
    }
    // Where the kernel does not tell which pages are dirty, all cached pages may be.
    let all_cached = before.map(|seen| seen.cached_bytes);
    let maybe_dirty = if may_write_back { dirty } else { dirty.or(all_cached) };
    if let Some(bytes) = maybe_dirty.filter(|&bytes| bytes > limit && seen.unwritten_bytes > 0) {
        seen.unknown = Some(format!(
            "{bytes} bytes in the page cache were not on the disk yet, and some of them may lie in parts that count as \
             never written"
        ));
    }
    seen
}

fn survey_parts(file: &File, parts: &[(u64, u64)], sync: bool, end: Instant) -> Survey {
    let each = parts.iter().map(|&(start, length)| survey(file, start, length, sync, end));
    each.fold(Survey::default(), Survey::and)
}

/// The same as a member of the document.
pub fn map_of(seen: &Survey) -> ExtentMap {
    ExtentMap {
        range_bytes: seen.range_bytes,
        written_bytes: seen.written_bytes,
        unwritten_bytes: seen.unwritten_bytes,
        hole_bytes: seen.hole_bytes,
        encoded_bytes: seen.encoded_bytes,
        shared_bytes: seen.shared_bytes,
        placed_bytes: seen.places.iter().map(|place| place.1).sum(),
        extents: seen.extents,
        unknown: seen.unknown.clone(),
    }
}

/// A part of a target, and what lies below it.
pub struct Below<'a> {
    pub chain: &'a [chain::Layer],
    /// First byte of the part.
    pub start: u64,
    pub length: u64,
    /// Whether a few dirty pages may be written back for an exact answer.
    pub may_write_back: bool,
}

/// File systems on one device that tell where on it the blocks of a file lie.
const TELL_PLACES: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];

impl Below<'_> {
    /// What gives room to data on the first write, below the target. `layout` is that of a file, `waiting_bytes` what
    /// the page cache holds of the target that is not on the disk yet.
    pub fn look(&self, layout: Option<&Survey>, waiting_bytes: Option<u64>, end: Instant) -> Vec<Allocation> {
        let roots = Roots::default();
        let mut found = self.loops(layout, waiting_bytes, end);
        found.extend(thin_volumes(self.chain, &roots).into_iter().map(|volume| self.of_thin(volume)));
        found.extend(snapshots(self.chain, &roots).into_iter().map(|snapshot| self.of_snapshot(snapshot)));
        found
    }

    fn of_snapshot(&self, (at, told): (usize, Result<Snapshot, StateUnknown>)) -> Allocation {
        let layer = self.chain[at].name.clone();
        let allocation = Allocation { layer, by: AllocatedBy::Snapshot, ..Allocation::default() };
        match told {
            Err(why) => Allocation { unknown: Some(why.to_string()), ..allocation },
            Ok(snapshot) => Allocation {
                range_bytes: snapshot.size_bytes,
                allocated_bytes: snapshot.size_bytes,
                shared_bytes: snapshot.size_bytes.saturating_sub(snapshot.copied_bytes),
                is_tested_range: self.is_all_of(at, snapshot.size_bytes),
                ..allocation
            },
        }
    }

    /// Whether the part is all of a device of the chain.
    fn is_all_of(&self, at: usize, size_bytes: u64) -> bool {
        at == 0 && self.start == 0 && self.length == size_bytes
    }

    /// Of a thin volume nothing tells which parts have their place, only how much.
    fn of_thin(&self, (at, told): (usize, Result<ThinVolume, StateUnknown>)) -> Allocation {
        let layer = self.chain[at].name.clone();
        let allocation = Allocation { layer, by: AllocatedBy::ThinPool, ..Allocation::default() };
        let volume = match told {
            Ok(volume) => volume,
            Err(why) => return Allocation { unknown: Some(why.to_string()), ..allocation },
        };
        let is_full = volume.mapped_bytes >= volume.size_bytes;
        // Blocks that a snapshot shares have a place, too, and the first write to them takes another.
        let unknown = (is_full && volume.may_share)
            .then(|| "a snapshot may share its blocks, and the kernel does not tell which".to_string());
        Allocation {
            range_bytes: volume.size_bytes,
            allocated_bytes: volume.mapped_bytes.min(volume.size_bytes),
            is_tested_range: self.is_all_of(at, volume.size_bytes),
            unknown,
            ..allocation
        }
    }

    fn loops(&self, layout: Option<&Survey>, waiting_bytes: Option<u64>, end: Instant) -> Vec<Allocation> {
        if !self.chain.iter().any(|layer| layer.kind == LayerKind::Loop) {
            return Vec::new();
        }
        let roots = Roots::default();
        let mut found: Vec<Allocation> = Vec::new();
        if let Some((device, parts)) = self.on_device(layout, &roots)
            && let Some((layer, seen)) = self.below_device(&device, &parts, &roots, end)
        {
            let waits = waiting_bytes.filter(|&bytes| layout.is_none() && bytes > 0);
            let waits =
                waits.map(|bytes| format!("{bytes} bytes wait in the page cache to be written to it"));
            found.push(Allocation { is_tested_range: true, ..of_loop(layer, &seen, waits) });
        }
        for layer in self.chain.iter().filter(|layer| layer.kind == LayerKind::Loop) {
            if found.is_empty()
                && let Some((device, size)) = layer.number.zip(layer.size_bytes)
                && let Some(device) = BlockDevice::find(device, &roots)
                && let Some((layer, seen)) = self.below_device(&device, &[(0, size)], &roots, end)
            {
                found.push(of_loop(layer, &seen, None));
            }
        }
        found
    }

    /// The device that holds the part, and where on it; `None` where nothing tells.
    fn on_device(&self, layout: Option<&Survey>, roots: &Roots) -> Option<(BlockDevice, Vec<(u64, u64)>)> {
        let first = self.chain.first()?;
        let Some(layout) = layout else {
            return Some((BlockDevice::find(first.number?, roots)?, vec![(self.start, self.length)]));
        };
        let [filesystem] = first.below.as_slice() else { return None };
        let filesystem = self.chain.get(*filesystem)?;
        let [device] = filesystem.below.as_slice() else { return None };
        // A file of the realtime part of XFS has its places on another device.
        let options = filesystem.mount.options.as_deref().unwrap_or_default();
        let is_told = TELL_PLACES.contains(&filesystem.name.as_str()) && !options.contains("rtdev=");
        let device = BlockDevice::find(self.chain.get(*device)?.number?, roots)?;
        (is_told && layout.unknown.is_none() && !layout.places.is_empty())
            .then(|| (device, layout.places.clone()))
    }

    /// The loop device below a device, and how parts of that lie in its file.
    fn below_device(
        &self,
        device: &BlockDevice,
        parts: &[(u64, u64)],
        roots: &Roots,
        end: Instant,
    ) -> Option<(String, Survey)> {
        let first = parts.iter().map(|part| part.0).min()?;
        let last = parts.iter().map(|part| part.0.saturating_add(part.1)).max()?;
        let below = loop_file(device, first, last - first, roots)?;
        let parts: Vec<_> = parts.iter().map(|part| (part.0 - first + below.start, part.1)).collect();
        let before = cached(&below.file, &pieces(below.start, below.length));
        Some((below.device, layout(&below.file, &parts, before, self.may_write_back, end)))
    }
}

fn of_loop(layer: String, seen: &Survey, unknown: Option<String>) -> Allocation {
    Allocation {
        layer,
        by: AllocatedBy::LoopFile,
        range_bytes: seen.range_bytes,
        allocated_bytes: seen.written_bytes,
        shared_bytes: seen.shared_bytes,
        extents: seen.extents,
        is_tested_range: false,
        unknown: seen.unknown.clone().or(unknown),
    }
}

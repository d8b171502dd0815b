//! What the layers between a test and the disks can make of its I/O at most. What a disk moved beyond that came from
//! somebody else.

use crate::view::{Direction, DiskGroup, Flow, TargetView, copies};
use truespd_core::result::{Layer, LayerKind, LayerRole};

pub(super) const PAGE: f64 = 4096.0;
const KIB: f64 = 1024.0;

/// A file system without copies on write commits its journal so many times a second at most while only times of
/// files change: they change with the kernel's tick.
const COMMITS_PER_S: f64 = 1000.0;

/// Blocks of the journal that such a commit takes (measured: 6 KiB to 12 KiB).
const COMMIT_BYTES: f64 = 32.0 * KIB;

/// The same where each write allocates.
const ALLOCATION_BYTES: f64 = 64.0 * KIB;

/// What btrfs writes for a durable write: its log and the blocks that lead to the data, each twice (measured: 145 KiB
/// to 175 KiB).
const COPY_BYTES: f64 = 512.0 * KIB;

/// What it may have to read of its trees for a write, ...
const COPY_READ_BYTES: f64 = 256.0 * KIB;

/// ... and for a read: checksums and places.
const LOOKUP_BYTES: f64 = 64.0 * KIB;

/// The largest extent that is kept compressed; a read meets the ends of two.
const COMPRESSED_EXTENTS: f64 = 2.0 * 128.0 * KIB;

/// The largest chunk that LVM takes for snapshots.
const SNAPSHOT_CHUNK: f64 = 512.0 * KIB;

/// Checksums of dm-integrity are read and written by blocks of this size at most.
const CHECKSUM_BYTES: f64 = 128.0 * KIB;

/// What the I/O of a test becomes on its way down, at most; `None` where a layer has no known limit.
#[derive(Debug, Clone, Copy)]
struct Flows {
    read: Option<Flow>,
    write: Option<Flow>,
}

impl Flows {
    /// Each read and each write of the test reads so many bytes more.
    fn reads_more(&mut self, per_read: f64, per_write: f64) {
        let writes = self.write.map(|write| write.ios);
        self.read = self.read.and_then(|read| {
            let more = if per_write > 0.0 { writes? * per_write } else { 0.0 };
            Some(Flow { bytes: read.bytes + read.ios * per_read + more, ..read })
        });
    }

    /// So many times the bytes, and so many more for each write.
    fn writes_more(&mut self, times: f64, per_write: f64) {
        self.write =
            self.write.map(|write| Flow { bytes: write.bytes * times + write.ios * per_write, ..write });
    }

    fn nothing_known(&mut self) {
        (self.read, self.write) = (None, None);
    }
}

/// The most that the test can have had the disks of a group move, in bytes per second; `None` where a layer has no
/// known limit.
pub(super) fn most(group: &DiskGroup<'_>, way: Direction) -> Option<f64> {
    group.targets.iter().map(|target| most_of(target, way)).sum()
}

fn most_of(target: &TargetView<'_>, way: Direction) -> Option<f64> {
    let mut flows = Flows { read: Some(target.read), write: Some(target.write) };
    if !target.is_direct() {
        // Read ahead has no such limit, and writes come later.
        if target.read.ios > 0.0 {
            flows.read = None;
        }
        let size = target.write.size();
        if target.is_write_through() {
            let whole = (size / PAGE).ceil() + 1.0;
            flows.reads_more(0.0, 2.0 * PAGE);
            flows.write = Some(Flow { bytes: target.write.ios * whole * PAGE, ..target.write });
        } else if target.write.ios > 0.0 {
            flows.nothing_known();
        }
    }
    // The file of a loop device may have holes, which nobody looked for.
    let mut allocates = target.allocates();
    for layer in target.layers() {
        through(&mut flows, layer, target.is_write_through(), allocates);
        allocates = allocates || layer.kind == LayerKind::Loop;
    }
    Some(way.pick(flows.read, flows.write)?.bytes)
}

/// What one layer makes of it, at most.
fn through(flows: &mut Flows, layer: &Layer, is_durable: bool, allocates: bool) {
    match layer.kind {
        LayerKind::Filesystem => through_filesystem(flows, layer, is_durable, allocates),
        LayerKind::Loop if layer.direct_io != Some(true) => flows.nothing_known(),
        LayerKind::Md => through_array(flows, layer),
        LayerKind::DeviceMapper => through_mapped(flows, layer),
        LayerKind::Unknown => flows.nothing_known(),
        _ => match layer.role() {
            LayerRole::Bcache | LayerRole::Zfs | LayerRole::ZfsVolume => flows.nothing_known(),
            // The log of what the copies of DRBD may lack.
            LayerRole::Replica => flows.writes_more(1.0, 2.0 * PAGE),
            _ => {}
        },
    }
}

fn through_filesystem(flows: &mut Flows, layer: &Layer, is_durable: bool, allocates: bool) {
    let is_compressed = layer.compression.is_some();
    match layer.role() {
        LayerRole::Zfs => return flows.nothing_known(),
        LayerRole::CopyOnWrite => {
            let extents = if is_compressed { COMPRESSED_EXTENTS } else { 0.0 };
            flows.reads_more(extents + LOOKUP_BYTES, COPY_READ_BYTES);
            return flows.writes_more(copies(layer).unwrap_or(1.0), COPY_BYTES);
        }
        _ if is_compressed => flows.reads_more(COMPRESSED_EXTENTS, COMPRESSED_EXTENTS),
        _ => {}
    }
    if layer.details.as_ref().is_some_and(|details| details.journals_data) {
        return flows.writes_more(2.0, ALLOCATION_BYTES);
    }
    if allocates {
        flows.reads_more(0.0, 2.0 * PAGE);
        return flows.writes_more(1.0, ALLOCATION_BYTES);
    }
    if is_durable {
        flows.write = flows.write.map(|write| {
            let commits = write.ios.min(COMMITS_PER_S);
            Flow { bytes: write.bytes + commits * COMMIT_BYTES, ..write }
        });
    }
}

/// Copies write the same several times. Parity is read with what it is about, and written with it.
fn through_array(flows: &mut Flows, layer: &Layer) {
    let Some(array) = &layer.details else { return flows.nothing_known() };
    // A resync is no I/O of the test, and as fast as it is let.
    if array.is_rebuilding() {
        return flows.nothing_known();
    }
    let disks = layer.below.len().max(1) as f64;
    if array.is_redundant == Some(false) {
        return;
    }
    match copies(layer) {
        Some(copies) => flows.writes_more(copies, PAGE),
        None => {
            flows.reads_more(0.0, disks * PAGE);
            let size = flows.write.map_or(0.0, Flow::size);
            flows.reads_more(0.0, disks * size);
            flows.writes_more(3.0, 3.0 * PAGE);
        }
    }
}

fn through_mapped(flows: &mut Flows, layer: &Layer) {
    match layer.role() {
        LayerRole::LogicalVolume
        | LayerRole::Encrypted
        | LayerRole::Multipath
        | LayerRole::MultipathPartition => {}
        LayerRole::OtherMapped if layer.below.len() <= 1 => {}
        LayerRole::Snapshot => {
            // A chunk is read, copied and listed before its first write.
            flows.reads_more(0.0, SNAPSHOT_CHUNK + PAGE);
            flows.writes_more(1.0, SNAPSHOT_CHUNK + 2.0 * PAGE);
        }
        LayerRole::Integrity => {
            flows.reads_more(CHECKSUM_BYTES, CHECKSUM_BYTES);
            flows.writes_more(2.0, CHECKSUM_BYTES);
        }
        _ => flows.nothing_known(),
    }
}

//! Every layer below a target down to its disks: file, filesystem, partition, device-mapper, md, loop, disk.
//!
//! Read from mountinfo and sysfs and from nothing else, so that recorded trees can take their place. Nothing here
//! judges. Sources: the kernel's `Documentation/ABI/stable/sysfs-block`, `testing/sysfs-block-dm`,
//! `testing/sysfs-block-loop`, `testing/sysfs-fs-btrfs`, `admin-guide/md.rst`.

mod block;
mod details;
mod filesystem;
mod transport;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

pub use details::{DELETED, DevicePath, LayerDetails, LayerRole};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::roots::Roots;
use crate::machine::device::{BlockDevice, DeviceNumber, SectorSizes};
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::storage::{TargetFacts, TargetKind};
use crate::sys::file::{self, CompressionFlags, FileKind, Stat};

/// What a layer is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// Something that was not recognised.
    #[default]
    Unknown,
    /// A regular file.
    File,
    /// A filesystem with its data on devices of this machine.
    Filesystem,
    /// A filesystem in memory (tmpfs, ramfs).
    MemoryFilesystem,
    /// A filesystem whose data another machine holds (NFS, SMB, Ceph, ...).
    RemoteFilesystem,
    /// A filesystem served by a program (FUSE).
    UserFilesystem,
    /// A partition of a disk.
    Partition,
    /// A device-mapper device: LVM, dm-crypt, multipath, ...
    DeviceMapper,
    /// An md array.
    Md,
    /// A loop device.
    Loop,
    /// A device in memory (zram, brd).
    Memory,
    /// A block device over the network (nbd, rbd, drbd, NVMe over fabrics, iSCSI).
    NetworkDisk,
    /// A disk, as far down as this machine sees.
    Disk,
}

/// How the block layer drives a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// Whether it is a disk that turns.
    pub rotational: Option<bool>,
    /// Scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether single writes can be forced to the medium.
    pub forces_unit_access: Option<bool>,
    /// Requests that may wait (`nr_requests`).
    pub requests: Option<u32>,
    /// Largest request in bytes.
    pub request_bytes_max: Option<u64>,
    /// Separate parts of memory of a request.
    pub segments_max: Option<u32>,
    /// Largest discard in bytes; 0 when it takes none.
    pub discard_bytes_max: Option<u64>,
}

/// What is mounted where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MountedAs {
    /// What is mounted.
    pub source: Option<PathBuf>,
    /// Where.
    pub point: Option<PathBuf>,
    /// Options of the mount and the filesystem.
    pub options: Option<String>,
}

/// One level between a target and its disks. Absent members: not applicable, or the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layer {
    /// What it is.
    pub kind: LayerKind,
    /// Kernel name of a device, type of a filesystem, path of a file.
    pub name: String,
    /// Layers directly below, as indexes into the same list.
    pub below: Vec<usize>,
    /// Number of a block device.
    pub number: Option<DeviceNumber>,
    /// What the name does not say, in words; of a loop device the path of its file.
    pub detail: Option<String>,
    /// The same and more as members.
    pub details: Option<LayerDetails>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Where a partition begins on its disk, in bytes.
    pub starts_at_bytes: Option<u64>,
    /// Sector sizes.
    pub sectors: Option<SectorSizes>,
    /// How the block layer drives it.
    pub queue: Queue,
    /// Commands that the device takes at once.
    pub queue_depth: Option<u32>,
    /// Model as the device tells it.
    pub model: Option<String>,
    /// How it is connected.
    pub transport: Option<String>,
    /// Host that holds the data.
    pub server: Option<String>,
    /// What is mounted, for a filesystem.
    pub mount: MountedAs,
    /// Algorithm when data are compressed here.
    pub compression: Option<String>,
    /// Whether equal data are stored once here.
    pub deduplicates: Option<bool>,
    /// Whether what a loop device hands down bypasses the page cache.
    pub direct_io: Option<bool>,
}

impl Layer {
    /// The layer with what is known of it beyond its kind, and the sentence made from that.
    fn with(self, details: Option<LayerDetails>) -> Self {
        let detail = details.as_ref().and_then(LayerDetails::sentence);
        Layer { detail, details, ..self }
    }
}

/// The layers of an open target: itself first, then everything below it, each once.
pub fn of(file: &File, facts: &TargetFacts, roots: &Roots) -> Vec<Layer> {
    let mut layers = of_facts(facts, roots);
    if let Some(flags) = flags_of(file, facts) {
        apply_flags(&mut layers, flags);
    }
    layers
}

/// [`of`] without what only the open file tells (its compression flags).
pub fn of_facts(facts: &TargetFacts, roots: &Roots) -> Vec<Layer> {
    let mut builder = Builder::new(roots);
    match facts.kind {
        TargetKind::Block => {
            builder.number(facts.device, &facts.path);
        }
        TargetKind::Regular => {
            let mounted = facts.filesystem.as_ref().map(filesystem::Mounted::of);
            builder.file(&facts.path, Some(facts.size_bytes), facts.device, mounted);
        }
    }
    builder.layers
}

/// Numbers of all block devices of a chain.
pub fn numbers(layers: &[Layer]) -> Vec<DeviceNumber> {
    layers.iter().filter_map(|l| l.number).collect()
}

/// The devices whose counters tell what reached the storage, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    /// The devices that the target itself stands on; whole disks, also for partitions.
    pub top: Vec<(String, DeviceNumber)>,
    /// The lowest ones that this machine sees.
    pub lowest: Vec<(String, DeviceNumber)>,
}

/// The devices of a chain whose counters matter: a partition's I/Os are those of its disk, and a loop device whose
/// file lies on no device is a lowest one itself.
pub fn counted(layers: &[Layer]) -> Counted {
    /// The devices directly under a layer, whatever is in between.
    fn devices_below(layers: &[Layer], at: usize, found: &mut Vec<usize>) {
        for &below in &layers[at].below {
            if is_counted(&layers[below]) {
                found.push(below);
            } else {
                devices_below(layers, below, found);
            }
        }
    }
    fn is_counted(layer: &Layer) -> bool {
        layer.number.is_some() && (layer.kind != LayerKind::Partition || layer.below.is_empty())
    }
    let device = |at: usize| Some((layers[at].name.clone(), layers[at].number?));
    let mut top = Vec::new();
    match layers.first() {
        Some(first) if is_counted(first) => top.push(0),
        Some(_) => devices_below(layers, 0, &mut top),
        None => {}
    }
    let stands_alone = |&at: &usize| {
        let mut below = Vec::new();
        devices_below(layers, at, &mut below);
        below.is_empty()
    };
    let lowest = (0..layers.len()).filter(|&at| is_counted(&layers[at])).filter(stands_alone);
    let mut found = Counted {
        top: top.into_iter().filter_map(device).collect(),
        lowest: lowest.filter_map(device).collect(),
    };
    for list in [&mut found.top, &mut found.lowest] {
        list.sort();
        list.dedup();
    }
    found
}

/// Flags that compress a single file, or keep it from being compressed.
fn flags_of(file: &File, facts: &TargetFacts) -> Option<CompressionFlags> {
    let name = facts.filesystem.as_ref()?.name.as_str();
    let can_compress = matches!(name, "btrfs" | "f2fs" | "bcachefs" | "ntfs3" | "ubifs");
    if can_compress { file::compression_flags(file) } else { None }
}

/// A file marked for compression is compressed without a mount option; one without copy-on-write is not
/// compressed even with it.
fn apply_flags(layers: &mut [Layer], flags: CompressionFlags) {
    let Some(filesystem) = layers.iter_mut().find(|l| l.kind == LayerKind::Filesystem) else { return };
    if flags.is_plain {
        filesystem.compression = None;
    } else if flags.is_compressed && filesystem.compression.is_none() {
        filesystem.compression = Some("set on the file".to_string());
    }
}

/// Builds the list, each file and device once.
struct Builder<'a> {
    roots: &'a Roots,
    mounts: Vec<Mount>,
    layers: Vec<Layer>,
    /// Where a device or file stands in the list, by name.
    known: HashMap<String, usize>,
    /// The layers above the present one: none of them can be below itself.
    open: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(roots: &'a Roots) -> Self {
        let mounts = read_mounts(roots).unwrap_or_default();
        Builder { roots, mounts, layers: Vec::new(), known: HashMap::new(), open: Vec::new() }
    }

    /// Adds `layer` and, by calling `descend`, what lies below it. `key` names it among all layers; what is known by
    /// it already is not looked at again.
    fn add(
        &mut self,
        key: &str,
        layer: impl FnOnce(&Self) -> Layer,
        descend: impl FnOnce(&mut Self) -> Vec<usize>,
    ) -> usize {
        if let Some(&known) = self.known.get(key) {
            return known;
        }
        let at = self.layers.len();
        let layer = layer(self);
        self.layers.push(layer);
        self.known.insert(key.to_string(), at);
        self.open.push(at);
        let mut below = descend(self);
        below.retain(|b| !self.open.contains(b));
        below.dedup();
        self.open.pop();
        self.layers[at].below = below;
        at
    }

    /// A block device by number; one that sysfs does not know is a layer that tells nothing but its path.
    fn number(&mut self, number: DeviceNumber, path: &Path) -> usize {
        match BlockDevice::find(number, self.roots) {
            Some(device) => self.device(&device),
            None => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                let layer = |_: &Self| Layer { name, number: Some(number), ..Layer::default() };
                self.add(&format!("number {number}"), layer, |_| Vec::new())
            }
        }
    }

    /// Whether the trees are those of this machine, so that its paths may be asked.
    fn is_live(&self) -> bool {
        *self.roots == Roots::default()
    }

    /// The device that a path below `/dev` names.
    fn node(&self, path: &Path) -> Option<BlockDevice> {
        let inside = path.strip_prefix("/dev").ok()?;
        let node = self.roots.dev.join(inside);
        let by_number = Stat::at(&node)
            .ok()
            .filter(|stat| stat.kind == FileKind::Block)
            .and_then(|stat| BlockDevice::find(DeviceNumber::from_raw(stat.node_of), self.roots));
        let resolved = std::fs::canonicalize(&node).unwrap_or(node);
        let by_name = || {
            let name = resolved.file_name()?.to_str()?;
            BlockDevice::named(name, self.roots).or_else(|| block::mapped(name, self.roots))
        };
        by_number.or_else(by_name)
    }
}

//! One layer below a target.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::details::LayerDetails;
use crate::machine::device::{DeviceNumber, SectorSizes};
use crate::machine::interrupts::HardwareQueue;

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
    /// Its hardware queues, and which processors answer for them; empty where the driver has none.
    pub hardware_queues: Vec<HardwareQueue>,
    /// Model as the device tells it.
    pub model: Option<String>,
    /// Revision of its firmware, as the device tells it.
    pub firmware: Option<String>,
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
    pub(super) fn with(self, details: Option<LayerDetails>) -> Self {
        let detail = details.as_ref().and_then(LayerDetails::sentence);
        Layer { detail, details, ..self }
    }
}

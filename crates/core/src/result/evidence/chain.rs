//! What lies between a target and its disks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::machine::chain::{
    DevicePath, LayerDetails, LayerKind, LayerRole, PathAccess, Replica, ReplicaPeer,
};
pub use crate::machine::interrupts::HardwareQueue;
pub use crate::machine::topology::CpuSet;

/// One level between a target and its disks. Absent members: not applicable, or the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Layer {
    /// What it is.
    pub kind: LayerKind,
    /// Kernel name of a device (`dm-0`, `nvme0n1`), type of a filesystem (`ext4`), path of a file.
    pub name: String,
    /// Layers directly below, as indexes into the same list; empty for the lowest.
    pub below: Vec<u32>,
    /// What the name does not say, for people: `crypt`, `raid1`, the path of a loop device's file, the name in LVM.
    /// Nothing judges by it: `details` has the same as members.
    pub detail: Option<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Where a partition begins on its disk, in bytes.
    pub starts_at_bytes: Option<u64>,
    /// Logical sector size in bytes.
    pub sector_logical_bytes: Option<u32>,
    /// Physical sector size in bytes.
    pub sector_physical_bytes: Option<u32>,
    /// Whether it is a disk that turns.
    pub rotational: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Volatile cache as the kernel drives it: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether single writes can be forced to the medium (FUA).
    pub forces_unit_access: Option<bool>,
    /// Requests that may wait in the block layer's queue (`nr_requests`).
    pub queue_requests: Option<u32>,
    /// Commands that the device takes at once.
    pub queue_depth: Option<u32>,
    /// Hardware queues of a disk, and which processors answer for them, before the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hardware_queues: Vec<HardwareQueue>,
    /// Largest request in bytes (`max_sectors_kb`).
    pub request_bytes_max: Option<u64>,
    /// Separate parts of memory that a request may have.
    pub segments_max: Option<u32>,
    /// Model as the device tells it.
    pub model: Option<String>,
    /// Revision of its firmware as the device tells it; a card tells a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// How it is connected: `nvme`, `nvme tcp`, `sata`, `sas`, `usb`, `virtio`, `mmc`, ...
    pub transport: Option<String>,
    /// Largest discard in bytes; 0 when it takes none.
    pub discard_bytes_max: Option<u64>,
    /// What is mounted, for a filesystem.
    pub mount_source: Option<String>,
    /// Where it is mounted.
    pub mount_point: Option<String>,
    /// Options of the mount and the filesystem, as the kernel lists them.
    pub mount_options: Option<String>,
    /// Algorithm when data are compressed here.
    pub compression: Option<String>,
    /// Whether equal data are stored once here.
    pub deduplicates: Option<bool>,
    /// Whether a loop device reaches its file by direct I/O; otherwise the page cache answers below it.
    pub direct_io: Option<bool>,
    /// Host that holds the data, for what is reached over the network.
    pub server: Option<String>,
    /// What it is and does beyond its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<LayerDetails>,
}

impl Layer {
    /// Whether nothing lies below that this machine sees.
    pub fn is_lowest(&self) -> bool {
        self.below.is_empty()
    }

    /// Who made it and for what.
    pub fn role(&self) -> LayerRole {
        self.details.as_ref().map_or(LayerRole::Other, |details| details.role)
    }

    /// Its cache for writes; `None` when the kernel does not tell.
    pub fn cache(&self) -> Option<WriteCache<'_>> {
        self.write_cache.as_deref().map(WriteCache::of)
    }

    /// Whether it acknowledges writes from a volatile cache; `None` when the kernel does not tell.
    pub fn has_volatile_cache(&self) -> Option<bool> {
        self.cache().map(|cache| cache == WriteCache::Volatile)
    }
}

/// A device's cache for writes, as the kernel drives it (`queue/write_cache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteCache<'a> {
    /// Writes are acknowledged from a cache that loses its content with the power.
    Volatile,
    /// What is acknowledged is kept.
    Safe,
    /// A word that no kernel is known to say.
    Other(&'a str),
}

impl<'a> WriteCache<'a> {
    /// By the kernel's word.
    pub(super) fn of(word: &'a str) -> Self {
        match word {
            "write back" => WriteCache::Volatile,
            "write through" => WriteCache::Safe,
            other => WriteCache::Other(other),
        }
    }
}

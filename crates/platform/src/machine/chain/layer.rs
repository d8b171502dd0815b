//! One layer below a target.
//!
//! What a layer is and does beyond its kind, as members, and the sentence made from them.
//!
//! Other rooms judge by the members. The sentence is for people and is never read back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::paths::{DevicePath, Replica};
use crate::machine::device::{DeviceNumber, SectorSizes};
use crate::machine::interrupts::HardwareQueue;
use crate::machine::mounts::Mount;

/// What a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

impl LayerKind {
    /// Whether a loop device uses the page cache for its file. A kernel that does not tell (`None`) knows no other way.
    pub fn is_cached_loop(self, direct_io: Option<bool>) -> bool {
        direct_io.map_or(self == LayerKind::Loop, |is_direct| !is_direct)
    }
}

/// How the block layer drives a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// Whether it is a disk that turns.
    pub rotational: Option<bool>,
    /// I/O scheduler in use (`queue/scheduler`), e.g. `mq-deadline`.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether single writes can be forced to the medium.
    pub forces_unit_access: Option<bool>,
    /// Requests that may wait (`nr_requests`).
    pub requests: Option<u32>,
    /// Largest request in bytes (`queue/max_sectors_kb`).
    pub request_bytes_max: Option<u64>,
    /// Separate parts of memory of a request.
    pub segments_max: Option<u32>,
    /// Largest discard in bytes; 0 when it takes none.
    pub discard_bytes_max: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
/// How the filesystem of a layer is mounted.
pub struct MountedAs {
    /// The device or server that is mounted.
    pub source: Option<PathBuf>,
    /// The folder at which it is mounted.
    pub point: Option<PathBuf>,
    /// Options of the mount and the filesystem.
    pub options: Option<String>,
}

impl From<&Mount> for MountedAs {
    fn from(mount: &Mount) -> Self {
        MountedAs {
            source: Some(mount.source.clone()),
            point: Some(mount.mount_point.clone()),
            options: Some(mount.options.clone()),
        }
    }
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
    /// Size in bytes; `None` when nothing tells.
    pub size_bytes: Option<u64>,
    /// Where a partition begins on its disk, in bytes.
    pub starts_at_bytes: Option<u64>,
    /// Its logical and physical sector sizes.
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
    /// How it is connected: `nvme`, `sata`, `iscsi` ..
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

/// Who made a layer and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LayerRole {
    /// A logical volume of LVM that hands I/O on as it is.
    LogicalVolume,
    /// A pool of LVM that thin volumes take their blocks from.
    ThinPool,
    /// A volume of LVM whose blocks are provided by the first write to them.
    ThinVolume,
    /// A pool of LVM that VDO volumes store in.
    VdoPool,
    /// A volume of LVM in a VDO pool.
    VdoVolume,
    /// A snapshot of a volume of LVM, or the volume that it was taken of.
    Snapshot,
    /// A volume of LVM with a cache (dm-cache).
    CachedVolume,
    /// A volume of LVM with a write cache (dm-writecache).
    WriteCachedVolume,
    /// A volume of LVM that is mirrored or striped with parity.
    RaidVolume,
    /// dm-crypt.
    Encrypted,
    /// dm-verity: what is read is checked.
    Verity,
    /// dm-integrity: a checksum is kept for each block.
    Integrity,
    /// Several paths to one device, by device-mapper or by the NVMe driver.
    Multipath,
    /// A partition of a device-mapper device with several paths.
    MultipathPartition,
    /// VDO without LVM.
    Vdo,
    /// A RAID of the machine's firmware, driven by device-mapper.
    FirmwareRaid,
    /// Another device-mapper device.
    OtherMapped,
    /// An md array.
    Array,
    /// bcache.
    Bcache,
    /// A loop device.
    Loop,
    /// zram: memory that compresses.
    Zram,
    /// `null_blk`: keeps no data unless told to.
    NullBlock,
    /// A volume of ZFS.
    ZfsVolume,
    /// An image of Ceph's block device.
    CephImage,
    /// A disk of a storage server, by one path: NVMe over fabrics, iSCSI, Fibre Channel, nbd.
    ServedDisk,
    /// A device that DRBD keeps the same on several machines.
    Replica,
    /// A disk behind an adapter that hides what it really is.
    Adapter,
    /// The file system ZFS.
    Zfs,
    /// Another file system that writes changed blocks to new places (btrfs, bcachefs, f2fs, nilfs2).
    CopyOnWrite,
    /// An overlay of directories.
    Overlay,
    /// Nothing of these.
    #[default]
    #[serde(other)]
    Other,
}

/// What a layer is and does beyond its kind. Absent members: not applicable, or the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LayerDetails {
    /// Who made it and for what.
    pub role: LayerRole,
    /// Name in device-mapper, `group/volume` of LVM, `pool/image` of Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// No I/O is let through at the moment (device-mapper).
    #[serde(skip_serializing_if = "is_false")]
    pub is_suspended: bool,
    /// Kinds of the parts of its table (device-mapper), each once: `linear`, `striped`, `cache`; empty where this
    /// process may not ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mapped_as: Vec<String>,
    /// Format of what is encrypted, e.g. `LUKS2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Number of a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// What the storage calls itself: the qualified name of an NVMe subsystem or of an iSCSI target, the
    /// number (fsid) of a Ceph cluster, what an nbd client was told about its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The paths to one device; of a disk of a storage server also a single one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<DevicePath>,
    /// How the NVMe driver chooses among the paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_policy: Option<String>,
    /// The copies that DRBD keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<Replica>,
    /// Level of an md array in the kernel's words, e.g. `raid1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Whether an array keeps copies or parity, so that one write becomes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_redundant: Option<bool>,
    /// Disks of an array when whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<u64>,
    /// Bytes that lie together on one disk of an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// How an array stays consistent after a crash: `bitmap`, `journal` or `ppl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<String>,
    /// Disks that an array misses; absent when it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_disks: Option<u64>,
    /// What an array does with its disks beside the I/O that is asked for: `resync`, `recover`, `check`, `repair`,
    /// `reshape`; absent when nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_action: Option<String>,
    /// Mode of bcache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_mode: Option<String>,
    /// Device that zram moves idle pages to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_pages_to: Option<String>,
    /// Path of the file of a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backing_file: Option<String>,
    /// The file of a loop device was deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub is_deleted: bool,
    /// Driver of an adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// How btrfs keeps data, e.g. `raid1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_profile: Option<String>,
    /// Devices of btrfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<u64>,
    /// Directory that an overlay writes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_directory: Option<String>,
    /// The file system writes data to its journal first.
    #[serde(skip_serializing_if = "is_false")]
    pub journals_data: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What sysfs puts behind the path of a file that was deleted.
pub const DELETED: &str = " (deleted)";

impl LayerDetails {
    /// Details of nothing but a role.
    pub fn of(role: LayerRole) -> Self {
        LayerDetails { role, ..LayerDetails::default() }
    }

    /// Details of a role with a name.
    pub fn named(role: LayerRole, name: impl Into<String>) -> Self {
        LayerDetails { role, name: Some(name.into()), ..LayerDetails::default() }
    }

    /// An array that lacks a disk, or brings its disks in step.
    pub fn is_rebuilding(&self) -> bool {
        self.missing_disks.is_some() || self.sync_action.is_some()
    }

    /// `None` when nothing is known.
    pub(super) fn if_any(self) -> Option<Self> {
        (self != LayerDetails::default()).then_some(self)
    }

    /// The sentence; `None` when the layer's kind and name say all there is.
    pub fn sentence(&self) -> Option<String> {
        let name = self.name.as_deref().unwrap_or_default();
        // Of LVM it is a group and a volume; a name in device-mapper has no slash.
        let by = if name.contains('/') { "LVM" } else { "device-mapper" };
        let words = match self.role {
            LayerRole::LogicalVolume => Some(format!("LVM {name}")),
            LayerRole::ThinPool => Some(format!("{by} {name}, thin pool")),
            LayerRole::ThinVolume => Some(format!("{by} {name}, thin")),
            LayerRole::VdoPool => Some(format!("LVM {name}, VDO pool")),
            LayerRole::VdoVolume => Some(format!("LVM {name}, on a VDO pool")),
            LayerRole::Snapshot => Some(format!("{by} {name}, snapshot")),
            LayerRole::CachedVolume => Some(format!("{by} {name}, cached")),
            LayerRole::WriteCachedVolume => Some(format!("{by} {name}, with write cache")),
            LayerRole::RaidVolume => Some(format!("{by} {name}, RAID")),
            LayerRole::Encrypted => Some(match &self.format {
                Some(format) => format!("crypt {name} ({format})"),
                None => format!("crypt {name}"),
            }),
            LayerRole::Verity => Some(format!("verity {name}")),
            LayerRole::Integrity => Some(format!("integrity {name}")),
            LayerRole::Multipath => Some(self.paths_words()),
            LayerRole::MultipathPartition => {
                let number = self.partition.as_deref().unwrap_or_default();
                Some(format!("partition {number} of a multipath device, {name}"))
            }
            LayerRole::Vdo => Some(format!("vdo {name}")),
            LayerRole::FirmwareRaid => Some(format!("firmware RAID {name}")),
            LayerRole::OtherMapped => Some(format!("device-mapper {name}")),
            LayerRole::Array => Some(self.array_words()),
            LayerRole::Bcache => Some(match &self.cache_mode {
                Some(mode) => format!("bcache, {mode}"),
                None => "bcache".to_string(),
            }),
            LayerRole::Loop => self
                .backing_file
                .as_ref()
                .map(|path| if self.is_deleted { format!("{path}{DELETED}") } else { path.clone() }),
            LayerRole::Zram => {
                self.idle_pages_to.as_ref().map(|device| format!("moves idle pages to {device}"))
            }
            LayerRole::NullBlock => Some("null_blk: keeps no data unless told to".to_string()),
            LayerRole::ZfsVolume => Some("ZFS volume".to_string()),
            LayerRole::CephImage => self.name.clone(),
            LayerRole::Replica => Some(self.replica_words()),
            LayerRole::Adapter => self.driver.as_ref().map(|driver| format!("driver {driver}")),
            LayerRole::CopyOnWrite => self.data_profile.as_ref().map(|profile| {
                let devices = self.devices.unwrap_or(0);
                let s = if devices == 1 { "" } else { "s" };
                format!("data {profile} on {devices} device{s}")
            }),
            LayerRole::Overlay => {
                self.upper_directory.as_ref().map(|upper| format!("upper directory {upper}"))
            }
            LayerRole::ServedDisk | LayerRole::Zfs | LayerRole::Other => None,
        };
        if self.is_suspended { words.map(|words| format!("{words}, suspended")) } else { words }
    }

    /// `raid1, 2 disks, with bitmap, degraded by 1, recover running`.
    fn array_words(&self) -> String {
        let mut words = vec![self.level.clone().unwrap_or_else(|| "level unknown".to_string())];
        words.extend(self.disks.map(|n| format!("{n} disks")));
        words.extend(self.chunk_bytes.map(|bytes| format!("{} KiB chunks", bytes / 1024)));
        words.extend(self.consistency.as_ref().map(|policy| format!("with {policy}")));
        words.extend(self.missing_disks.map(|n| format!("degraded by {n}")));
        words.extend(self.sync_action.as_ref().map(|action| format!("{action} running")));
        words.join(", ")
    }

    /// `DRBD r0, this node is Primary, the other node is Secondary, protocol C`.
    fn replica_words(&self) -> String {
        let Some(replica) = &self.replica else { return "DRBD".to_string() };
        let name = replica.resource.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("DRBD{name}, {}", replica.nodes_words())
    }

    /// `multipath mpatha, 2 paths` of device-mapper, `2 paths (nvme0 live, nvme1 connecting), policy numa` of NVMe.
    fn paths_words(&self) -> String {
        let count = self.paths.len();
        if let Some(name) = &self.name {
            return format!("multipath {name}, {count} path{}", if count == 1 { "" } else { "s" });
        }
        let each = self.paths.iter().map(|path| match &path.state {
            Some(state) => format!("{} {state}", path.name),
            None => path.name.clone(),
        });
        let each: Vec<String> = each.collect();
        let policy = self.path_policy.as_ref().map(|p| format!(", policy {p}")).unwrap_or_default();
        format!("{count} paths ({}){policy}", each.join(", "))
    }
}

#[cfg(test)]
mod tests_details {
    use super::*;

    #[test]
    fn what_nobody_knows_is_not_written() {
        let thin = LayerDetails::named(LayerRole::ThinVolume, "vg0/data");
        let text = serde_json::to_string(&thin).expect("members are plain");
        assert_eq!(text, r#"{"role":"thin_volume","name":"vg0/data"}"#);
        let later: LayerDetails = serde_json::from_str(r#"{"role":"of_a_later_version"}"#).expect("is read");
        assert_eq!(later, LayerDetails::default());
        assert_eq!(later.if_any(), None);
    }
}

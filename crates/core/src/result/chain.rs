//! What lies between a target and its disks, also where the storage is in another machine: who serves it, by which
//! paths,
//! and what changed meanwhile.

use serde::{Deserialize, Serialize};
pub use truespd_platform::machine::chain::{
    DevicePath, LayerDetails, LayerKind, LayerRole, PathAccess, Replica, ReplicaPeer,
};
use truespd_platform::machine::diskstat::DiskCounts;
pub use truespd_platform::machine::interrupts::HardwareQueue;
pub use truespd_platform::machine::thing::Thing;
pub use truespd_platform::machine::topology::CpuSet;

/// One level between a target and its disks. Absent members: not applicable, or the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// By what a lowest device is recognised later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Thing>,
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

    /// Whether it is a loop device that uses the page cache for its file ([`LayerKind::is_cached_loop`]).
    pub fn is_cached_loop(&self) -> bool {
        self.kind.is_cached_loop(self.direct_io)
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
    pub(super) fn of(word: &'a str) -> Self {
        match word {
            "write back" => WriteCache::Volatile,
            "write through" => WriteCache::Safe,
            other => WriteCache::Other(other),
        }
    }
}

/// What one of several paths to a disk carried over the measured time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PathActivity {
    /// Kernel name of the controller, as in [`DevicePath::name`].
    pub name: String,
    /// From the first to the last reading.
    pub total: DiskCounts,
}

/// The paths to a device, or the copies that DRBD keeps of it, were not what they had been.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WayChange {
    /// Kernel name of the device, as in [`Layer::name`].
    pub device: String,
    /// When that was seen, in nanoseconds since the measured time began; 0 for a change since the target was opened.
    pub seen_ns: u64,
    /// How long before that they had been looked at, in nanoseconds.
    pub within_ns: u64,
    /// What they had been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<LayerDetails>,
    /// What they were from then on; none when the device was gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<LayerDetails>,
}

/// Names of ways in [`Layer::transport`] and in words.
const NETWORKS: [(&str, &str); 7] = [
    ("nvme tcp", "NVMe/TCP"),
    ("nvme rdma", "NVMe/RDMA"),
    ("nvme fc", "NVMe/FC"),
    ("iscsi", "iSCSI"),
    ("fc", "Fibre Channel"),
    ("rbd", "Ceph RBD"),
    ("nbd", "NBD"),
];

/// Servers that are named, at most.
const SERVERS_MAX: usize = 4;

impl Layer {
    /// The name that people know: that of LVM or device-mapper, otherwise the kernel's.
    pub fn known_name(&self) -> &str {
        self.details.as_ref().and_then(|details| details.name.as_deref()).unwrap_or(&self.name)
    }

    /// The paths to it; empty for a device that is not known to have any.
    pub fn paths(&self) -> &[DevicePath] {
        self.details.as_ref().map_or(&[], |details| &details.paths)
    }

    /// The copies that DRBD keeps of it, where the kernel tells.
    pub fn replica(&self) -> Option<&Replica> {
        self.details.as_ref().and_then(|details| details.replica.as_ref())
    }

    /// `10.0.0.5:4420 over NVMe/TCP (2 paths, 1 of them optimized)`; `None` for a device that is not in
    /// another machine, and for one that DRBD keeps, of which a copy is here.
    pub fn served_by(&self) -> Option<String> {
        if self.kind != LayerKind::NetworkDisk || self.role() == LayerRole::Replica {
            return None;
        }
        Some(served_by(self, self.transport.as_deref(), self.server.as_deref()))
    }
}

fn served_by(layer: &Layer, transport: Option<&str>, server: Option<&str>) -> String {
    let mut servers: Vec<&str> = Vec::new();
    for address in layer.paths().iter().filter_map(|path| path.address.as_deref()) {
        if !servers.contains(&address) {
            servers.push(address);
        }
    }
    let named = match servers.as_slice() {
        [] => server.unwrap_or("another machine").to_string(),
        [one] => (*one).to_string(),
        [first @ .., last] if first.len() < SERVERS_MAX => format!("{} and {last}", first.join(", ")),
        [first, ..] => format!("{first} and {} other addresses", servers.len() - 1),
    };
    let over = NETWORKS.iter().find(|(name, _)| Some(*name) == transport).map(|(_, words)| *words);
    let over = over.or(transport).map(|over| format!(" over {over}")).unwrap_or_default();
    format!("{named}{over}{}", count(layer.paths()))
}

/// ` (2 paths, 1 of them optimized)`; nothing for one path.
fn count(paths: &[DevicePath]) -> String {
    if paths.len() < 2 {
        return String::new();
    }
    let down = paths.iter().filter(|path| path.is_down).count();
    let optimized = paths.iter().filter(|path| path.access == Some(PathAccess::Optimized)).count();
    let mut words = vec![format!("{} paths", paths.len())];
    if paths.iter().any(|path| path.access.is_some()) {
        words.push(if optimized == paths.len() {
            "all optimized".to_string()
        } else {
            format!("{optimized} of them optimized")
        });
    }
    if down > 0 {
        words.push(format!("{down} of them down"));
    }
    format!(" ({})", words.join(", "))
}

/// Disks that a server holds: their names, and by whom they are served. Paths of device-mapper are told as
/// the device above them.
pub fn served(layers: &[Layer]) -> Vec<(Vec<&str>, String)> {
    let mut found: Vec<(Vec<&str>, String)> = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        let by = if is_path(layers, at) {
            None
        } else {
            by_its_paths(layers, layer).or_else(|| layer.served_by())
        };
        let Some(by) = by else { continue };
        match found.iter_mut().find(|(_, known)| *known == by) {
            Some((names, _)) => names.push(&layer.name),
            None => found.push((vec![&layer.name], by)),
        }
    }
    found
}

/// Who serves a device of device-mapper with several paths through a network.
fn by_its_paths(layers: &[Layer], layer: &Layer) -> Option<String> {
    if layer.kind != LayerKind::DeviceMapper || layer.role() != LayerRole::Multipath {
        return None;
    }
    let mut below = layer.below.iter().filter_map(|&at| layers.get(at as usize));
    let disk = below.find(|disk| disk.kind == LayerKind::NetworkDisk)?;
    Some(served_by(layer, disk.transport.as_deref(), disk.server.as_deref()))
}

/// Whether a layer is one of the paths of a device of device-mapper.
pub fn is_path(layers: &[Layer], at: usize) -> bool {
    layers.iter().any(|layer| layer.role() == LayerRole::Multipath && layer.below.contains(&(at as u32)))
}

#[cfg(test)]
mod tests_of_ways {
    use super::*;

    fn path(name: &str, address: &str, access: Option<PathAccess>) -> DevicePath {
        let state = Some("live".to_string());
        DevicePath { address: Some(address.to_string()), access, ..DevicePath::new(name, state) }
    }

    fn disk(name: &str, transport: &str, paths: Vec<DevicePath>) -> Layer {
        Layer {
            kind: LayerKind::NetworkDisk,
            name: name.to_string(),
            transport: Some(transport.to_string()),
            details: Some(LayerDetails { paths, ..LayerDetails::of(LayerRole::ServedDisk) }),
            ..Layer::default()
        }
    }

    #[test]
    fn who_serves_a_disk() {
        let one = path("nvme1", "10.0.0.5:4420", Some(PathAccess::Optimized));
        let two = path("nvme2", "10.0.0.6:4420", Some(PathAccess::NonOptimized));
        let by = |paths: &[&DevicePath]| {
            disk("nvme1n1", "nvme tcp", paths.iter().map(|path| (*path).clone()).collect()).served_by()
        };
        assert_eq!(by(&[&one]).as_deref(), Some("10.0.0.5:4420 over NVMe/TCP"));
        assert_eq!(
            by(&[&one, &two]).as_deref(),
            Some("10.0.0.5:4420 and 10.0.0.6:4420 over NVMe/TCP (2 paths, 1 of them optimized)")
        );
        let down = DevicePath { is_down: true, access: None, ..two };
        let same = DevicePath { access: None, ..one };
        assert_eq!(
            by(&[&same, &same, &down]).as_deref(),
            Some("10.0.0.5:4420 and 10.0.0.6:4420 over NVMe/TCP (3 paths, 1 of them down)")
        );
        assert_eq!(by(&[]).as_deref(), Some("another machine over NVMe/TCP"));
        assert_eq!(Layer { kind: LayerKind::Disk, ..disk("sda", "fc", Vec::new()) }.served_by(), None);
    }

    #[test]
    fn the_paths_of_one_device_are_told_once() {
        let paths = vec![path("sdb", "10.0.0.5:3260", None), path("sdc", "10.0.0.6:3260", None)];
        let above = Layer {
            kind: LayerKind::DeviceMapper,
            name: "dm-0".to_string(),
            below: vec![1, 2],
            details: Some(LayerDetails { paths, ..LayerDetails::of(LayerRole::Multipath) }),
            ..Layer::default()
        };
        let layers = [above, disk("sdb", "iscsi", Vec::new()), disk("sdc", "iscsi", Vec::new())];
        let by = "10.0.0.5:3260 and 10.0.0.6:3260 over iSCSI (2 paths)".to_string();
        assert_eq!(served(&layers), [(vec!["dm-0"], by)]);
        let apart = [disk("sdb", "nbd", Vec::new()), disk("sdc", "nbd", Vec::new())];
        assert_eq!(served(&apart), [(vec!["sdb", "sdc"], "another machine over NBD".to_string())]);
    }
}

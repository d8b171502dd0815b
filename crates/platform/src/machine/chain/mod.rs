//! Every layer below a target down to its disks: file, filesystem, partition, device-mapper, md, loop, disk.
//!
//! Read from mountinfo and sysfs and from nothing else, so that recorded trees can take their place. Nothing here
//! judges. Sources: the kernel's `Documentation/ABI/stable/sysfs-block`, `testing/sysfs-block-dm`,
//! `testing/sysfs-block-loop`, `testing/sysfs-fs-btrfs`, `admin-guide/md.rst`.
//!
//! Puts the layers together, each once.
//!
//! Block devices, from partitions and stacked ones down to disks.
//!
//! What stands on a disk: its partitions, devices built on those, file systems. The same layers as below a
//! target, found the other way round.

mod filesystem;
mod layer;
mod mapper;
mod paths;
mod transport;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

pub use filesystem::{of, of_facts};
pub use layer::{DELETED, MountedAs};
pub use layer::{Layer, LayerDetails, LayerKind, LayerRole, Queue};
pub(in crate::machine) use mapper::{ask, kinds};
pub use paths::{DevicePath, PathAccess, Replica, ReplicaPeer, parse_drbd};

use crate::machine::chain::transport::{connection, path_by};
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::interrupts::queues_of;
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::roots::{Roots, names_in, number_in, read_number, read_word};
use crate::machine::storage::TargetFacts;
use crate::sys::file::{self, CompressionFlags, FileKind, Stat};

/// Devices whose way to the storage can change while they are used: those with paths, those that DRBD keeps the same
/// on several machines, and arrays with copies or parity, which can lose disks and work for themselves.
pub fn watched(layers: &[Layer]) -> impl Iterator<Item = &Layer> {
    layers.iter().filter(|layer| {
        layer.details.as_ref().is_some_and(|details| {
            let is_array = match details.role {
                LayerRole::Array => details.is_redundant != Some(false),
                role => role == LayerRole::RaidVolume,
            };
            is_array || !details.paths.is_empty() || details.replica.is_some()
        })
    })
}

/// The details of a device as they are now; `None` when it is gone, or tells nothing.
pub fn details_now(number: DeviceNumber, roots: &Roots) -> Option<LayerDetails> {
    details_of(&BlockDevice::find(number, roots)?, roots)
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
    let mut top = Vec::new();
    match layers.first() {
        Some(first) if is_counted(first) => top.push(0),
        Some(_) => devices_below(layers, 0, &mut top),
        None => {}
    }
    let mut found = Counted::default();
    for (at, layer) in layers.iter().enumerate() {
        let Some(number) = layer.number else { continue };
        if top.contains(&at) {
            found.top.push((layer.name.clone(), number));
        }
        let mut below = Vec::new();
        devices_below(layers, at, &mut below);
        if is_counted(layer) && below.is_empty() {
            found.lowest.push((layer.name.clone(), number));
        }
    }
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
pub(super) struct Builder<'a> {
    pub(super) roots: &'a Roots,
    pub(super) mounts: Vec<Mount>,
    pub(super) layers: Vec<Layer>,
    /// Where a device or file stands in the list, by name.
    pub(super) known: HashMap<String, usize>,
    /// The layers above the present one: none of them can be below itself.
    pub(super) open: Vec<usize>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(roots: &'a Roots) -> Self {
        let mounts = read_mounts(roots).unwrap_or_default();
        Builder { roots, mounts, layers: Vec::new(), known: HashMap::new(), open: Vec::new() }
    }

    /// Adds `layer` and, by calling `descend`, what lies below it. `key` names it among all layers; what is known by
    /// it already is not looked at again.
    pub(super) fn add(
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

    /// Whether the trees are those of this machine, so that its paths may be asked.
    pub(super) fn is_live(&self) -> bool {
        *self.roots == Roots::default()
    }
}

/// The device-mapper device of this name in `/dev/mapper`.
pub(super) fn mapped(name: &str, roots: &Roots) -> Option<BlockDevice> {
    let all = names_in(&roots.sys.join("class/block"));
    let mut devices =
        all.iter().filter(|n| n.starts_with("dm-")).filter_map(|n| BlockDevice::named(n, roots));
    devices.find(|d| read_word(&d.dir().join("dm/name")).as_deref() == Some(name))
}

impl Builder<'_> {
    /// A block device by number; one that sysfs does not know is a layer that tells nothing but its path.
    pub(super) fn number(&mut self, number: DeviceNumber, path: &Path) -> usize {
        match BlockDevice::find(number, self.roots) {
            Some(device) => self.device(&device),
            None => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                let key = format!("number {number}");
                self.add(&key, |_| Layer { name, number: Some(number), ..Layer::default() }, |_| Vec::new())
            }
        }
    }

    /// The device that a path below `/dev` names.
    pub(super) fn node(&self, path: &Path) -> Option<BlockDevice> {
        let inside = path.strip_prefix("/dev").ok()?;
        let node = self.roots.dev.join(inside);
        let by_number = Stat::at(&node)
            .ok()
            .filter(|stat| stat.kind == FileKind::Block)
            .and_then(|stat| BlockDevice::find(DeviceNumber::from_raw(stat.node_of), self.roots));
        let resolved = std::fs::canonicalize(&node).unwrap_or(node);
        by_number.or_else(|| {
            let name = resolved.file_name()?.to_str()?;
            BlockDevice::named(name, self.roots).or_else(|| mapped(name, self.roots))
        })
    }

    /// A block device and everything below it.
    pub(super) fn device(&mut self, device: &BlockDevice) -> usize {
        self.add(
            &format!("device {}", device.name),
            |builder| layer_of(device, builder.roots),
            |builder| match backing(device) {
                _ if device.is_partition() => {
                    device.whole_disk().map(|disk| builder.device(&disk)).into_iter().collect()
                }
                Some(Backing::File(path)) => vec![builder.below_loop(&path)],
                Some(Backing::Gone) => Vec::new(),
                None => device.slaves().iter().map(|below| builder.device(below)).collect(),
            },
        )
    }

    /// What a loop device stands on: a file, or another device.
    fn below_loop(&mut self, path: &Path) -> usize {
        match self.node(path) {
            Some(device) => self.device(&device),
            None => self.backing_file(path),
        }
    }
}

enum Backing {
    File(PathBuf),
    /// Deleted while in use: its path means nothing any more, or something else.
    Gone,
}

fn backing(device: &BlockDevice) -> Option<Backing> {
    let file = device.loop_backing_file()?;
    if file.to_string_lossy().ends_with(DELETED) { Some(Backing::Gone) } else { Some(Backing::File(file)) }
}

/// Everything about a device but what lies below it.
pub(super) fn layer_of(device: &BlockDevice, roots: &Roots) -> Layer {
    let dir = device.dir();
    let (kind, details) = recognise(device, roots);
    let is_disk = matches!(kind, LayerKind::Disk | LayerKind::NetworkDisk);
    let connected = if is_disk { connection(device, roots) } else { Layer::default() };
    let details = details.or_else(|| connected.details.clone());
    let layer = Layer {
        kind: if connected.kind == LayerKind::NetworkDisk { LayerKind::NetworkDisk } else { kind },
        name: device.name.clone(),
        number: device.number(),
        size_bytes: device.size_bytes(),
        starts_at_bytes: device.start_bytes(),
        sectors: device.sector_sizes(),
        ..connected
    };
    // A partition shares the queue of its disk, which is a layer of its own.
    if kind == LayerKind::Partition {
        return layer;
    }
    Layer {
        queue: queue_of(device),
        hardware_queues: if kind == LayerKind::Disk { queues_of(device, roots) } else { Vec::new() },
        compression: read_word(&dir.join("comp_algorithm")).and_then(|list| bracketed(&list)),
        deduplicates: is_vdo(dir).then_some(true),
        direct_io: read_word(&dir.join("loop/dio")).map(|dio| dio == "1"),
        ..layer
    }
    .with(details)
}

fn queue_of(device: &BlockDevice) -> Queue {
    Queue {
        rotational: flag(device, "rotational"),
        scheduler: device.scheduler(),
        write_cache: device.write_cache(),
        forces_unit_access: flag(device, "fua"),
        requests: read_number(&device.queue("nr_requests")),
        request_bytes_max: read_number::<u64>(&device.queue("max_sectors_kb")).map(|kib| kib * 1024),
        segments_max: read_number(&device.queue("max_segments")),
        discard_bytes_max: read_number(&device.queue("discard_max_bytes")),
    }
}

fn flag(device: &BlockDevice, file: &str) -> Option<bool> {
    read_number::<u8>(&device.queue(file)).map(|value| value != 0)
}

/// What a device is and does beyond its kind, and nothing else of it.
pub(super) fn details_of(device: &BlockDevice, roots: &Roots) -> Option<LayerDetails> {
    let (kind, details) = recognise(device, roots);
    let is_disk = matches!(kind, LayerKind::Disk | LayerKind::NetworkDisk);
    details.or_else(|| if is_disk { connection(device, roots).details } else { None })
}

/// What a device is, by what sysfs shows in its directory and by its driver's names.
fn recognise(device: &BlockDevice, roots: &Roots) -> (LayerKind, Option<LayerDetails>) {
    let dir = device.dir();
    if device.is_partition() {
        return (LayerKind::Partition, None);
    }
    if dir.join("dm").is_dir() {
        return (LayerKind::DeviceMapper, Some(mapped_details(device, roots)));
    }
    if dir.join("md").is_dir() {
        return (LayerKind::Md, Some(array_details(dir)));
    }
    let driver: &str = device.name.trim_end_matches(|c: char| c.is_ascii_digit());
    match driver {
        "loop" => (LayerKind::Loop, loop_details(device)),
        "zram" => (LayerKind::Memory, Some(zram_details(dir))),
        "ram" => (LayerKind::Memory, None),
        "nullb" => (LayerKind::Memory, Some(LayerDetails::of(LayerRole::NullBlock))),
        "nbd" | "rbd" => (LayerKind::NetworkDisk, None),
        "drbd" => {
            let replica = paths::replica(device, roots);
            let details = LayerDetails { replica, ..LayerDetails::of(LayerRole::Replica) };
            (LayerKind::NetworkDisk, Some(details))
        }
        "bcache" => (LayerKind::Unknown, Some(bcache_details(dir))),
        "zd" => (LayerKind::Unknown, Some(LayerDetails::of(LayerRole::ZfsVolume))),
        _ => (LayerKind::Disk, None),
    }
}

/// Levels of md that keep neither copies nor parity.
const PLAIN_LEVELS: [&str; 2] = ["raid0", "linear"];

fn array_details(dir: &Path) -> LayerDetails {
    let word = |file: &str| read_word(&dir.join("md").join(file)).filter(|w| !w.is_empty());
    let number = |file: &str| read_number::<u64>(&dir.join("md").join(file)).filter(|&n| n > 0);
    let level = word("level");
    LayerDetails {
        is_redundant: level.as_deref().map(|level| !PLAIN_LEVELS.contains(&level)),
        level,
        disks: number("raid_disks"),
        chunk_bytes: number("chunk_size"),
        consistency: word("consistency_policy")
            .filter(|p| matches!(p.as_str(), "bitmap" | "journal" | "ppl")),
        missing_disks: number("degraded"),
        sync_action: word("sync_action").filter(|a| a != "idle" && a != "frozen"),
        ..LayerDetails::of(LayerRole::Array)
    }
}

fn loop_details(device: &BlockDevice) -> Option<LayerDetails> {
    let file = device.loop_backing_file()?.to_string_lossy().into_owned();
    let path = file.strip_suffix(DELETED);
    Some(LayerDetails {
        is_deleted: path.is_some(),
        backing_file: Some(path.unwrap_or(&file).to_string()),
        ..LayerDetails::of(LayerRole::Loop)
    })
}

/// LayerKind and name of a device-mapper device. Its table is not in sysfs; the prefix of its uuid tells who made it.
fn mapped_details(device: &BlockDevice, roots: &Roots) -> LayerDetails {
    let dir = device.dir();
    let name = read_word(&dir.join("dm/name")).unwrap_or_default();
    let uuid = read_word(&dir.join("dm/uuid")).unwrap_or_default();
    let details = match uuid.split('-').next().unwrap_or("") {
        "LVM" => volume_details(&device.slaves(), &name, &uuid),
        "CRYPT" => crypt_details(&name, &uuid),
        "mpath" => {
            let paths = device.slaves().iter().map(|disk| path_by(disk, roots)).collect();
            LayerDetails { paths, ..LayerDetails::named(LayerRole::Multipath, name) }
        }
        "VDO" => LayerDetails::named(LayerRole::Vdo, name),
        "DMRAID" => LayerDetails::named(LayerRole::FirmwareRaid, name),
        part if part.starts_with("part") && uuid.contains("-mpath-") => LayerDetails {
            partition: Some(part.trim_start_matches("part").to_string()),
            ..LayerDetails::named(LayerRole::MultipathPartition, name)
        },
        _ => LayerDetails::named(LayerRole::OtherMapped, name),
    };
    let is_suspended = number_in(dir, "dm/suspended") == Some(1u8);
    let mapped_as = device.number().map_or_else(Vec::new, |number| mapper::kinds(number, roots));
    let role = match details.role {
        LayerRole::OtherMapped => mapper::role_of(&mapped_as).unwrap_or(LayerRole::OtherMapped),
        role => role,
    };
    let raid = match device.number() {
        Some(number) if role == LayerRole::RaidVolume => mapper::raid_state(number, roots),
        _ => mapper::RaidState::default(),
    };
    let mapper::RaidState { missing_disks, sync_action } = raid;
    LayerDetails { role, is_suspended, mapped_as, missing_disks, sync_action, ..details }
}

/// `CRYPT-LUKS2-<uuid>-<name>`, also `PLAIN`, `BITLK`, `VERITY`, `INTEGRITY`.
fn crypt_details(name: &str, uuid: &str) -> LayerDetails {
    match uuid.split('-').nth(1).unwrap_or("") {
        "VERITY" => LayerDetails::named(LayerRole::Verity, name),
        "INTEGRITY" => LayerDetails::named(LayerRole::Integrity, name),
        format => LayerDetails {
            format: Some(format.to_string()).filter(|format| !format.is_empty()),
            ..LayerDetails::named(LayerRole::Encrypted, name)
        },
    }
}

/// Group and volume, and of what type the volume is as far as names and what it stands on tell.
fn volume_details(below: &[BlockDevice], name: &str, uuid: &str) -> LayerDetails {
    let mut parts = lvm_parts(name).into_iter();
    let (group, volume) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let uuids: Vec<String> = below.iter().filter_map(|d| read_word(&d.dir().join("dm/uuid"))).collect();
    let names: Vec<String> = below.iter().filter_map(|d| read_word(&d.dir().join("dm/name"))).collect();
    let is_on = |suffix: &str| uuids.iter().any(|u| u.ends_with(suffix));
    let has = |part: &str| names.iter().any(|n| n.contains(part));
    let role = if uuid.ends_with("-tpool") {
        LayerRole::ThinPool
    } else if uuid.ends_with("-vpool") {
        LayerRole::VdoPool
    } else if is_on("-tpool") {
        LayerRole::ThinVolume
    } else if is_on("-vpool") {
        LayerRole::VdoVolume
    } else if uuid.ends_with("-cow") || is_on("-cow") {
        LayerRole::Snapshot
    } else if has("_corig") {
        LayerRole::CachedVolume
    } else if has("_wcorig") {
        LayerRole::WriteCachedVolume
    } else if has("_rimage_") || has("_mimage_") {
        LayerRole::RaidVolume
    // What LVM hands to a snapshot and to the volume that it was taken of is called -real.
    } else if is_on("-real") {
        LayerRole::Snapshot
    } else {
        LayerRole::LogicalVolume
    };
    LayerDetails::named(role, format!("{group}/{volume}"))
}

/// Splits a device-mapper name of LVM at single hyphens; doubled ones stand for one of a name.
fn lvm_parts(name: &str) -> Vec<String> {
    const PLACE: &str = "\u{0}";
    name.replace("--", PLACE).split('-').map(|part| part.replace(PLACE, "-")).collect()
}

fn is_vdo(dir: &Path) -> bool {
    let uuid = read_word(&dir.join("dm/uuid")).unwrap_or_default();
    uuid.starts_with("VDO-") || uuid.ends_with("-vpool")
}

fn bcache_details(dir: &Path) -> LayerDetails {
    let modes = read_word(&dir.join("bcache/cache_mode"));
    LayerDetails { cache_mode: modes.and_then(|m| bracketed(&m)), ..LayerDetails::of(LayerRole::Bcache) }
}

fn zram_details(dir: &Path) -> LayerDetails {
    let device = read_word(&dir.join("backing_dev")).filter(|d| d != "none" && !d.is_empty());
    LayerDetails { idle_pages_to: device, ..LayerDetails::of(LayerRole::Zram) }
}

/// The word in brackets of `lzo [zstd] lz4`.
fn bracketed(list: &str) -> Option<String> {
    let (_, rest) = list.split_once('[')?;
    Some(rest.split_once(']')?.0.to_string())
}

/// Places of one file system that are named, beside the first.
const PLACES_MAX: usize = 2;

/// A disk and all that stands on it, each once, itself first. `below` of each are those of the list that it stands on.
pub fn on_disk(disk: &BlockDevice, roots: &Roots) -> Vec<Layer> {
    let mut found = Upwards { of: Builder::new(roots), devices: Vec::new(), layers: Vec::new() };
    found.add(disk, None);
    found.layers
}

struct Upwards<'a> {
    /// Mounts, and whose paths are whose devices.
    of: Builder<'a>,
    /// Devices in the list, with their places.
    devices: Vec<(String, usize)>,
    layers: Vec<Layer>,
}

impl Upwards<'_> {
    fn add(&mut self, device: &BlockDevice, below: Option<usize>) {
        // An array on two partitions of one disk stands on both.
        if let Some((_, at)) = self.devices.iter().find(|(name, _)| *name == device.name) {
            self.layers[*at].below.extend(below);
            return;
        }
        let at = self.layers.len();
        self.devices.push((device.name.clone(), at));
        let below = below.into_iter().collect();
        self.layers.push(Layer { below, ..layer_of(device, self.of.roots) });
        let filesystem = self.filesystem(device).map(|layer| Layer { below: vec![at], ..layer });
        self.layers.extend(filesystem);
        for next in device.partitions().iter().chain(&device.holders()) {
            self.add(next, Some(at));
        }
    }

    /// The file system that is mounted from a device, with its places.
    fn filesystem(&self, device: &BlockDevice) -> Option<Layer> {
        let family = self.family(device);
        let mounts: Vec<&Mount> =
            self.of.mounts.iter().filter(|mount| self.is_from(mount, device, &family)).collect();
        // A place that shows all of it says more than one that shows a folder of it.
        let first = *mounts.iter().find(|mount| mount.root == Path::new("/")).or(mounts.first())?;
        let is_program = first.fs_type.starts_with("fuse");
        Some(Layer {
            kind: if is_program { LayerKind::UserFilesystem } else { LayerKind::Filesystem },
            name: first.fs_type.clone(),
            mount: MountedAs::from(first),
            detail: more_places(&mounts, first),
            ..Layer::default()
        })
    }

    /// A file system over several devices has a number of its own, and its mount names one of them.
    fn is_from(&self, mount: &Mount, device: &BlockDevice, family: &[String]) -> bool {
        if Some(mount.device) == device.number() {
            return true;
        }
        let names_a_node = mount.device.major == 0 && mount.source.starts_with("/dev");
        names_a_node
            && self
                .of
                .node(&mount.source)
                .is_some_and(|named| named == *device || family.contains(&named.name))
    }

    /// The devices of the btrfs that a device belongs to.
    fn family(&self, device: &BlockDevice) -> Vec<String> {
        let all = self.of.roots.sys.join("fs/btrfs");
        let families = names_in(&all).into_iter().map(|name| names_in(&all.join(name).join("devices")));
        families.into_iter().find(|names| names.contains(&device.name)).unwrap_or_default()
    }
}

/// `also at /a, /b and 3 more places`.
fn more_places(mounts: &[&Mount], first: &Mount) -> Option<String> {
    let mut points: Vec<String> =
        mounts.iter().map(|mount| mount.mount_point.display().to_string()).collect();
    points.sort();
    points.dedup();
    points.retain(|point| *point != first.mount_point.display().to_string());
    let more = match points.len().saturating_sub(PLACES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more places"),
    };
    points.truncate(PLACES_MAX);
    (!points.is_empty()).then(|| format!("also at {}{more}", points.join(", ")))
}

#[cfg(test)]
mod tests_block {
    use super::*;

    #[test]
    fn lvm_names_come_apart_at_single_hyphens() {
        assert_eq!(lvm_parts("vg0-root"), ["vg0", "root"]);
        assert_eq!(lvm_parts("ubuntu--vg-ubuntu--lv"), ["ubuntu-vg", "ubuntu-lv"]);
        assert_eq!(lvm_parts("vg-pool-tpool"), ["vg", "pool", "tpool"]);
    }

    #[test]
    fn kinds_of_encryption() {
        let words = |name, uuid| crypt_details(name, uuid).sentence().unwrap_or_default();
        assert_eq!(words("root", "CRYPT-LUKS2-0123-root"), "crypt root (LUKS2)");
        assert_eq!(words("usr", "CRYPT-VERITY-0123-usr"), "verity usr");
        assert_eq!(bracketed("lzo-rle lzo [zstd]").as_deref(), Some("zstd"));
        assert_eq!(bracketed("none"), None);
    }
}

//! Reads the sentences of earlier documents into the members that today's documents have.
//!
//! The one place that takes the program's own sentences apart. It runs on reading, fills only members that are
//! missing, and knows only sentences that earlier versions wrote; what it does not know stays unknown.

use super::{DevicePath, Document, EngineTraits, Layer, LayerDetails, LayerKind, LayerRole, TimeSpanResult};
use truespd_platform::machine::chain::DELETED;

/// Fills the members that a document of an earlier version lacks.
pub fn complete(document: &mut Document) {
    for span in &mut document.time_spans {
        let TimeSpanResult::Measured(measured) = span else { continue };
        let layers = measured.evidence.targets.iter_mut().flat_map(|facts| &mut facts.layers);
        layers.for_each(complete_layer);
        complete_engine(&measured.engine, &mut measured.engine_traits);
    }
    for span in document.sources.iter_mut().flat_map(|source| &mut source.time_spans).flatten() {
        complete_engine(&span.engine, &mut span.engine_traits);
    }
}

/// Engines of before there were members, as far as they are special.
fn complete_engine(name: &str, traits: &mut Option<EngineTraits>) {
    let plain = EngineTraits::default();
    let by_name = match name {
        "null" => Some(EngineTraits { touches_no_storage: true, ..plain }),
        "sim" => Some(EngineTraits { touches_no_storage: true, simulates_time: true, ..plain }),
        "io_uring_poll" => Some(EngineTraits { polls: true, ..plain }),
        _ => None,
    };
    *traits = traits.or(by_name);
}

/// Fills the members of one layer.
pub fn complete_layer(layer: &mut Layer) {
    if layer.details.is_none() {
        layer.details = details(layer);
    }
}

/// By the kind first: the words of a loop device are a path, which may hold anything.
fn details(layer: &Layer) -> Option<LayerDetails> {
    let words = layer.detail.as_deref();
    match layer.kind {
        LayerKind::Loop => words.map(backing_file),
        LayerKind::Md => words.map(array),
        LayerKind::DeviceMapper => words.and_then(mapped),
        LayerKind::Memory => memory(&layer.name, words),
        LayerKind::Unknown => words.and_then(unknown),
        LayerKind::Disk | LayerKind::NetworkDisk => words.and_then(|words| disk(layer, words)),
        LayerKind::Filesystem
        | LayerKind::MemoryFilesystem
        | LayerKind::RemoteFilesystem
        | LayerKind::UserFilesystem => filesystem(layer),
        LayerKind::File | LayerKind::Partition => None,
    }
}

fn backing_file(words: &str) -> LayerDetails {
    let path = words.strip_suffix(DELETED);
    LayerDetails {
        backing_file: Some(path.unwrap_or(words).to_string()),
        is_deleted: path.is_some(),
        ..LayerDetails::of(LayerRole::Loop)
    }
}

/// `raid5, 3 disks, 512 KiB chunks, with bitmap, degraded by 1, recover running`.
fn array(words: &str) -> LayerDetails {
    let mut parts = words.split(", ");
    let level = parts.next().filter(|level| *level != "level unknown").map(str::to_string);
    let mut array = LayerDetails {
        is_redundant: level.as_deref().map(|level| level != "raid0" && level != "linear"),
        level,
        ..LayerDetails::of(LayerRole::Array)
    };
    for part in parts {
        if let Some(count) = part.strip_suffix(" disks") {
            array.disks = count.parse().ok();
        } else if let Some(kib) = part.strip_suffix(" KiB chunks") {
            array.chunk_bytes = kib.parse().ok().and_then(|kib: u64| kib.checked_mul(1024));
        } else if let Some(policy) = part.strip_prefix("with ") {
            array.consistency = Some(policy.to_string());
        } else if let Some(count) = part.strip_prefix("degraded by ") {
            array.missing_disks = count.parse().ok();
        } else if let Some(action) = part.strip_suffix(" running") {
            array.sync_action = Some(action.to_string());
        }
    }
    array
}

/// Words after the name of a volume of LVM, the most specific first.
const VOLUMES: [(&str, LayerRole); 8] = [
    (", thin pool", LayerRole::ThinPool),
    (", thin", LayerRole::ThinVolume),
    (", VDO pool", LayerRole::VdoPool),
    (", on a VDO pool", LayerRole::VdoVolume),
    (", snapshot", LayerRole::Snapshot),
    (", cached", LayerRole::CachedVolume),
    (", with write cache", LayerRole::WriteCachedVolume),
    (", RAID", LayerRole::RaidVolume),
];

/// Words before the name of a device of device-mapper.
const MAPPED: [(&str, LayerRole); 6] = [
    ("verity ", LayerRole::Verity),
    ("integrity ", LayerRole::Integrity),
    ("vdo ", LayerRole::Vdo),
    ("firmware RAID ", LayerRole::FirmwareRaid),
    ("device-mapper ", LayerRole::OtherMapped),
    ("crypt ", LayerRole::Encrypted),
];

fn mapped(words: &str) -> Option<LayerDetails> {
    let unsuspended = words.strip_suffix(", suspended");
    let is_suspended = unsuspended.is_some();
    let words = unsuspended.unwrap_or(words);
    let details = if let Some(volume) = words.strip_prefix("LVM ") {
        let found = VOLUMES.iter().find_map(|(end, role)| Some((volume.strip_suffix(end)?, *role)));
        let (name, role) = found.unwrap_or((volume, LayerRole::LogicalVolume));
        LayerDetails::named(role, name)
    } else if let Some(multipath) = words.strip_prefix("multipath ") {
        // The number of paths is that of the layers below.
        LayerDetails::named(LayerRole::Multipath, multipath.rsplit_once(", ")?.0)
    } else if let Some(partition) = words.strip_prefix("partition ") {
        let (number, name) = partition.split_once(" of a multipath device, ")?;
        LayerDetails {
            partition: Some(number.to_string()),
            ..LayerDetails::named(LayerRole::MultipathPartition, name)
        }
    } else {
        let (name, role) =
            MAPPED.iter().find_map(|(begin, role)| Some((words.strip_prefix(begin)?, *role)))?;
        let format = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
        match format {
            Some((name, format)) if role == LayerRole::Encrypted => {
                LayerDetails { format: Some(format.to_string()), ..LayerDetails::named(role, name) }
            }
            _ => LayerDetails::named(role, name),
        }
    };
    Some(LayerDetails { is_suspended, ..details })
}

fn memory(name: &str, words: Option<&str>) -> Option<LayerDetails> {
    if name.starts_with("zram") {
        let idle = words.and_then(|words| words.strip_prefix("moves idle pages to "));
        let idle_pages_to = idle.map(str::to_string);
        return Some(LayerDetails { idle_pages_to, ..LayerDetails::of(LayerRole::Zram) });
    }
    words.filter(|words| words.starts_with("null_blk: ")).map(|_| LayerDetails::of(LayerRole::NullBlock))
}

fn unknown(words: &str) -> Option<LayerDetails> {
    if words == "ZFS volume" {
        return Some(LayerDetails::of(LayerRole::ZfsVolume));
    }
    let mode = words.strip_prefix("bcache")?.strip_prefix(", ").map(str::to_string);
    Some(LayerDetails { cache_mode: mode, ..LayerDetails::of(LayerRole::Bcache) })
}

/// A driver, an image of Ceph, or `2 paths (nvme1 live, nvme2 connecting), policy numa`.
fn disk(layer: &Layer, words: &str) -> Option<LayerDetails> {
    if layer.transport.as_deref() == Some("rbd") {
        return Some(LayerDetails::named(LayerRole::CephImage, words));
    }
    if let Some(driver) = words.strip_prefix("driver ") {
        let driver = Some(driver.to_string());
        return Some(LayerDetails { driver, ..LayerDetails::of(LayerRole::Adapter) });
    }
    let (paths, policy) = words.split_once(" paths (")?.1.split_once(')')?;
    Some(LayerDetails {
        paths: paths
            .split(", ")
            .map(|path| match path.split_once(' ') {
                Some((name, state)) => DevicePath::new(name, Some(state.to_string())),
                None => DevicePath::new(path, None),
            })
            .collect(),
        path_policy: policy.strip_prefix(", policy ").map(str::to_string),
        ..LayerDetails::of(LayerRole::Multipath)
    })
}

fn filesystem(layer: &Layer) -> Option<LayerDetails> {
    let role = match layer.name.as_str() {
        "zfs" => LayerRole::Zfs,
        "btrfs" | "bcachefs" | "f2fs" | "nilfs2" => LayerRole::CopyOnWrite,
        "overlay" => LayerRole::Overlay,
        _ => LayerRole::Other,
    };
    let options = layer.mount_options.as_deref().unwrap_or_default();
    let mut details = LayerDetails {
        journals_data: options.split([',', ' ']).any(|option| option == "data=journal"),
        ..LayerDetails::of(role)
    };
    let words = layer.detail.as_deref().unwrap_or_default();
    if let Some(upper) = words.strip_prefix("upper directory ") {
        details.upper_directory = Some(upper.to_string());
    } else if let Some((profile, devices)) =
        words.strip_prefix("data ").and_then(|rest| rest.rsplit_once(" on "))
    {
        details.data_profile = Some(profile.to_string());
        details.devices = devices.split(' ').next().and_then(|count| count.parse().ok());
    }
    (details != LayerDetails::default()).then_some(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: LayerKind, name: &str, words: Option<&str>) -> Layer {
        let detail = words.map(str::to_string);
        let mut layer = Layer { kind, name: name.to_string(), detail, ..Layer::default() };
        if kind == LayerKind::NetworkDisk && words.is_some_and(|words| words.contains('/')) {
            layer.transport = Some("rbd".to_string());
        }
        complete_layer(&mut layer);
        layer
    }

    /// The sentence that today's program makes of the members is the one that they were taken from.
    #[test]
    fn every_sentence_of_before_comes_apart() {
        use LayerKind::{DeviceMapper, Disk, Filesystem, Loop, Md, Memory, NetworkDisk, Unknown};
        for (kind, words, role) in [
            (Loop, "/srv/a", LayerRole::Loop),
            (Loop, "/srv/raid1, degraded by 1, check running, thin (deleted)", LayerRole::Loop),
            (Md, "raid1, 2 disks", LayerRole::Array),
            (Md, "level unknown", LayerRole::Array),
            (
                Md,
                "raid5, 3 disks, 512 KiB chunks, with bitmap, degraded by 1, recover running",
                LayerRole::Array,
            ),
            (DeviceMapper, "LVM vg0/root", LayerRole::LogicalVolume),
            (DeviceMapper, "LVM vg0/pool, thin pool", LayerRole::ThinPool),
            (DeviceMapper, "LVM vg0/a, thin, suspended", LayerRole::ThinVolume),
            (DeviceMapper, "LVM vg0/a, VDO pool", LayerRole::VdoPool),
            (DeviceMapper, "LVM vg0/a, on a VDO pool", LayerRole::VdoVolume),
            (DeviceMapper, "LVM vg0/a, snapshot", LayerRole::Snapshot),
            (DeviceMapper, "LVM vg0/a, cached", LayerRole::CachedVolume),
            (DeviceMapper, "LVM vg0/a, with write cache", LayerRole::WriteCachedVolume),
            (DeviceMapper, "LVM vg0/a, RAID", LayerRole::RaidVolume),
            (DeviceMapper, "crypt root (LUKS2)", LayerRole::Encrypted),
            (DeviceMapper, "crypt root, suspended", LayerRole::Encrypted),
            (DeviceMapper, "verity usr", LayerRole::Verity),
            (DeviceMapper, "integrity data", LayerRole::Integrity),
            (DeviceMapper, "vdo data", LayerRole::Vdo),
            (DeviceMapper, "firmware RAID isw_x", LayerRole::FirmwareRaid),
            (DeviceMapper, "device-mapper thing, with a comma", LayerRole::OtherMapped),
            (DeviceMapper, "partition 1 of a multipath device, mpatha1", LayerRole::MultipathPartition),
            (Memory, "null_blk: keeps no data unless told to", LayerRole::NullBlock),
            (Unknown, "bcache, writethrough", LayerRole::Bcache),
            (Unknown, "bcache", LayerRole::Bcache),
            (Unknown, "ZFS volume", LayerRole::ZfsVolume),
            (Disk, "driver megaraid_sas", LayerRole::Adapter),
            (Disk, "2 paths (nvme1 live, nvme2 connecting), policy numa", LayerRole::Multipath),
            (Disk, "2 paths (nvme1, nvme2 deleting (no IO))", LayerRole::Multipath),
            (NetworkDisk, "volumes/vm-104-disk-1", LayerRole::CephImage),
        ] {
            let layer = told(kind, "x0", Some(words));
            let details = layer.details.unwrap_or_else(|| panic!("{words}"));
            assert_eq!(details.role, role, "{words}");
            let is_cut = words.contains("(no IO)");
            assert!(is_cut || details.sentence().as_deref() == Some(words), "{words}: {details:?}");
        }
        for (name, words, role) in [
            ("btrfs", Some("data raid1 on 2 devices"), LayerRole::CopyOnWrite),
            ("btrfs", Some("data single and raid1 on 1 device"), LayerRole::CopyOnWrite),
            ("f2fs", None, LayerRole::CopyOnWrite),
            ("zfs", None, LayerRole::Zfs),
            ("overlay", Some("upper directory /var/a on 2 devices"), LayerRole::Overlay),
        ] {
            let details = told(Filesystem, name, words).details.unwrap_or_else(|| panic!("{name}"));
            assert_eq!((details.role, details.sentence().as_deref()), (role, words), "{name}");
        }
        let idle = told(Memory, "zram0", Some("moves idle pages to /dev/sdb"));
        assert_eq!(idle.details.and_then(|details| details.sentence()), idle.detail);
        assert_eq!(told(Memory, "zram0", None).role(), LayerRole::Zram);
        let down: Vec<bool> = told(Disk, "x", Some("2 paths (a live, b connecting)"))
            .details
            .map(|details| details.paths.iter().map(|path| path.is_down).collect())
            .unwrap_or_default();
        assert_eq!(down, [false, true]);
    }

    #[test]
    fn what_says_nothing_stays_unknown() {
        for (kind, words) in [
            (LayerKind::File, Some("raid1, degraded by 1")),
            (LayerKind::Partition, Some("LVM a/b, thin")),
            (LayerKind::DeviceMapper, Some("something new")),
            (LayerKind::DeviceMapper, Some("multipath ")),
            (LayerKind::Unknown, Some("else")),
            (LayerKind::Disk, Some("a paths (")),
            (LayerKind::Memory, None),
            (LayerKind::Filesystem, None),
        ] {
            assert_eq!(told(kind, "btrfs-backup", words).details, None, "{words:?}");
        }
    }

    #[test]
    fn members_that_are_there_stay() {
        let told = LayerDetails::named(LayerRole::LogicalVolume, "a/b");
        let detail = Some("LVM a/b, thin".to_string());
        let mut layer =
            Layer { kind: LayerKind::DeviceMapper, detail, details: Some(told.clone()), ..Layer::default() };
        complete_layer(&mut layer);
        assert_eq!(layer.details, Some(told));
    }
}

//! Every layer below a target down to its disks: file, filesystem, partition, device-mapper, md, loop, disk.
//!
//! Read from mountinfo and sysfs and from nothing else, so that recorded trees can take their place. Nothing here
//! judges. Sources: the kernel's `Documentation/ABI/stable/sysfs-block`, `testing/sysfs-block-dm`,
//! `testing/sysfs-block-loop`, `testing/sysfs-fs-btrfs`, `admin-guide/md.rst`.

mod block;
mod filesystem;
mod layer;
mod paths;
mod transport;

use std::fs::File;

pub use block::on_disk;
pub(crate) use layer::DELETED;
pub use layer::LayerRole;
pub(crate) use layer::MountedAs;
pub use layer::{Layer, LayerDetails, LayerKind, Queue};
pub use paths::{DevicePath, PathAccess, Replica, ReplicaPeer, parse_drbd};

use super::roots::Roots;
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::storage::{TargetFacts, TargetKind};
use crate::sys::file::{self, CompressionFlags};
use block::Builder;

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
            let mounted = facts.filesystem.as_ref().map(filesystem::Mounted::from);
            builder.file(&facts.path, Some(facts.size_bytes), facts.device, mounted);
        }
    }
    builder.layers
}

/// Devices whose way to the storage can change while they are used: those with paths, and those that DRBD
/// keeps the same on several machines.
pub fn watched(layers: &[Layer]) -> impl Iterator<Item = &Layer> {
    layers.iter().filter(|layer| {
        let details = layer.details.as_ref();
        details.is_some_and(|details| !details.paths.is_empty() || details.replica.is_some())
    })
}

/// The details of a device as they are now; `None` when it is gone, or tells nothing.
pub fn details_now(number: DeviceNumber, roots: &Roots) -> Option<LayerDetails> {
    block::details_of(&BlockDevice::find(number, roots)?, roots)
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

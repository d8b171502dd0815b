//! What stands on a disk: its partitions, devices built on those, file systems. The same layers as below a
//! target, found the other way round.

use std::path::Path;

use super::block::layer_of;
use super::builder::Builder;
use super::filesystem::names_in;
use super::layer::{Layer, LayerKind, MountedAs};
use crate::machine::device::BlockDevice;
use crate::machine::mounts::Mount;
use crate::machine::roots::Roots;

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
            mount: MountedAs {
                source: Some(first.source.clone()),
                point: Some(first.mount_point.clone()),
                options: Some(first.options.clone()),
            },
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

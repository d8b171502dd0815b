//! What is known of a target before anything runs, as members of the document: the layers below it and the
//! limits in force on them.

use std::path::{Path, PathBuf};

use crate::engine;
use crate::result::{EngineTraits, KernelDevice, Layer, Limit, NvmeCommands, OpenedKind, TargetFacts};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber, with_size};
use truespd_platform::machine::mounts::read_swaps;
use truespd_platform::machine::namespace::Namespace;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::TargetKind;
use truespd_platform::machine::thing::Thing;
use truespd_platform::machine::{chain, limits, storage};

/// Facts of an opened target with the layers below it. `typed` is the target as given, `path` what was opened.
pub fn of_target(
    typed: &str,
    path: &Path,
    facts: &storage::TargetFacts,
    chain: &[chain::Layer],
) -> TargetFacts {
    let filesystem = facts.filesystem.as_ref();
    TargetFacts {
        path: typed.to_string(),
        opened_path: path.display().to_string(),
        kind: match facts.kind {
            TargetKind::Regular => OpenedKind::File,
            TargetKind::Block => OpenedKind::BlockDevice,
        },
        size_bytes: facts.size_bytes,
        identity: None,
        device_name: facts.device_name.clone(),
        sector_logical_bytes: facts.sectors.map(|s| s.logical_bytes),
        sector_physical_bytes: facts.sectors.map(|s| s.physical_bytes),
        direct_alignment_bytes: facts.direct.map(|d| d.offset_bytes),
        filesystem: filesystem.map(|f| f.name.clone()),
        mount_source: shown(filesystem.and_then(|f| f.source.as_ref())),
        mount_point: shown(filesystem.and_then(|f| f.mount_point.as_ref())),
        mount_options: filesystem.and_then(|f| f.mount_options.clone()),
        scheduler: facts.scheduler.clone(),
        write_cache: facts.write_cache.clone(),
        nvme_commands: facts.namespace.as_ref().map(|namespace| of_commands(namespace, &Roots::default())),
        layers: chain.iter().map(of_layer).collect(),
        ..TargetFacts::default()
    }
}

fn of_commands(namespace: &Namespace, roots: &Roots) -> NvmeCommands {
    NvmeCommands {
        device: namespace.path(roots).display().to_string(),
        transfer_bytes_max: namespace.transfer_bytes_max(),
        counted: namespace.is_counted(roots),
    }
}

/// All block devices of this kernel that have a size; `None` where it does not show its list.
pub fn kernel_devices(roots: &Roots) -> Option<Vec<KernelDevice>> {
    // A container has no nodes of these, so their names tell.
    let swaps: Vec<_> = read_swaps(roots).ok().into_iter().flatten().collect();
    let devices = with_size(roots)?.into_iter();
    let devices = devices.map(|device| KernelDevice {
        is_swap: swaps.contains(&Path::new("/dev").join(&device.name)),
        name: device.name,
        size_bytes: device.size_bytes,
    });
    Some(devices.collect())
}

/// What kind of engine that is, by its row; `None` for one that is not in the table.
pub fn of_engine(name: &str) -> Option<EngineTraits> {
    engine::find(name).map(|row| EngineTraits {
        touches_no_storage: !row.moves_data,
        simulates_time: row.simulates_time,
        polls: row.polls,
    })
}

/// Limits in force for this process on any device of the chains, its processors and its memory.
pub fn limits<'a>(chains: impl Iterator<Item = &'a [chain::Layer]>, roots: &Roots) -> Vec<Limit> {
    LimitSources::find(chains, roots).in_force()
}

/// Where these limits are told, to read them again and again.
#[derive(Debug)]
pub struct LimitSources {
    sources: limits::Sources,
    /// Devices with their kernel names.
    names: Vec<(DeviceNumber, String)>,
}

impl LimitSources {
    /// Those of the devices of the chains.
    pub fn find<'a>(chains: impl Iterator<Item = &'a [chain::Layer]>, roots: &Roots) -> Self {
        let mut names: Vec<(DeviceNumber, String)> = chains
            .flatten()
            .filter_map(|layer: &chain::Layer| Some((layer.number?, layer.name.clone())))
            .collect();
        // Of two names the first: a file system has the number of its device.
        names.sort_by_key(|(number, _)| *number);
        names.dedup_by_key(|(number, _)| *number);
        let numbers: Vec<DeviceNumber> = names.iter().map(|(number, _)| *number).collect();
        LimitSources { sources: limits::Sources::find(&numbers, roots), names }
    }

    /// The control groups of this process, in the kernel's words.
    pub fn groups(&self) -> String {
        self.sources.groups()
    }

    /// The limits in force now.
    pub fn in_force(&self) -> Vec<Limit> {
        let found = self.sources.in_force().into_iter().map(|limit| Limit {
            by: limit.by.to_string(),
            group: limit.group,
            device: limit.device.and_then(|number| {
                self.names.iter().find(|(known, _)| *known == number).map(|(_, name)| name.clone())
            }),
            what: limit.what,
            value: limit.value,
        });
        found.collect()
    }
}

fn shown(path: Option<&PathBuf>) -> Option<String> {
    path.map(|path| path.display().to_string())
}

/// By what a lowest device is recognised later.
fn identity_of(layer: &chain::Layer, roots: &Roots) -> Option<Thing> {
    if !layer.below.is_empty() {
        return None;
    }
    Some(Thing::of_device(&BlockDevice::find(layer.number?, roots)?, roots))
}

/// A layer as a member of the document.
pub fn of_layer(layer: &chain::Layer) -> Layer {
    let queue = &layer.queue;
    Layer {
        kind: layer.kind,
        name: layer.name.clone(),
        below: layer.below.iter().map(|&at| u32::try_from(at).unwrap_or(u32::MAX)).collect(),
        detail: layer.detail.clone(),
        size_bytes: layer.size_bytes,
        starts_at_bytes: layer.starts_at_bytes,
        identity: identity_of(layer, &Roots::default()),
        sector_logical_bytes: layer.sectors.map(|s| s.logical_bytes),
        sector_physical_bytes: layer.sectors.map(|s| s.physical_bytes),
        rotational: queue.rotational,
        scheduler: queue.scheduler.clone(),
        write_cache: queue.write_cache.clone(),
        forces_unit_access: queue.forces_unit_access,
        queue_requests: queue.requests,
        queue_depth: layer.queue_depth,
        hardware_queues: layer.hardware_queues.clone(),
        request_bytes_max: queue.request_bytes_max,
        segments_max: queue.segments_max,
        model: layer.model.clone(),
        firmware: layer.firmware.clone(),
        transport: layer.transport.clone(),
        discard_bytes_max: queue.discard_bytes_max,
        mount_source: shown(layer.mount.source.as_ref()),
        mount_point: shown(layer.mount.point.as_ref()),
        mount_options: layer.mount.options.clone(),
        compression: layer.compression.clone(),
        deduplicates: layer.deduplicates,
        direct_io: layer.direct_io,
        server: layer.server.clone(),
        details: layer.details.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_areas_are_told_by_their_nodes_and_not_by_the_names_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        let list = "major minor  #blocks  name\n\n 253 0 8 zram0\n 253 1 8 zram1\n 7 0 8 loop0\n";
        std::fs::write(dir.path().join("partitions"), list).unwrap();
        let swaps = "Filename Type Size Used Priority\n/dev/zram0 partition 8 0 -2\n/srv/loop0 file 8 0 -2\n";
        std::fs::write(dir.path().join("swaps"), swaps).unwrap();
        let found = kernel_devices(&roots).unwrap();
        let swap: Vec<bool> = found.iter().map(|device| device.is_swap).collect();
        assert_eq!((swap, found[0].size_bytes), (vec![true, false, false], 8192));
        std::fs::remove_file(dir.path().join("swaps")).unwrap();
        assert!(kernel_devices(&roots).unwrap().iter().all(|device| !device.is_swap));
    }
}

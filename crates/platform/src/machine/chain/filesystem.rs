//! Files and filesystems, and what those stand on.

use std::path::{Path, PathBuf};

use crate::machine::chain::{
    BlockDevice, Builder, Layer, LayerDetails, LayerKind, LayerRole, MountedAs, apply_flags, flags_of,
};
use crate::machine::device::DeviceNumber;
use crate::machine::mounts::Mount;
use crate::machine::roots::Roots;
use crate::machine::roots::names_in;
use crate::machine::storage::{Filesystem, is_memory, is_remote};
use crate::machine::storage::{TargetFacts, TargetKind};
use std::fs::File;

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
            let mounted = facts.filesystem.as_ref().map(Mounted::from);
            builder.file(&facts.path, Some(facts.size_bytes), facts.device, mounted);
        }
    }
    builder.layers
}

/// Said as the server where a virtual machine's host holds the data.
const HYPERVISOR: &str = "the host of this virtual machine";

/// A filesystem as far as its mount tells.
#[derive(Debug, Clone)]
pub(super) struct Mounted {
    fs_type: String,
    mount: MountedAs,
}

impl From<&Filesystem> for Mounted {
    fn from(filesystem: &Filesystem) -> Self {
        let mount = MountedAs {
            source: filesystem.source.clone(),
            point: filesystem.mount_point.clone(),
            options: filesystem.mount_options.clone(),
        };
        Mounted { fs_type: filesystem.name.clone(), mount }
    }
}

impl From<&Mount> for Mounted {
    fn from(mount: &Mount) -> Self {
        Mounted { fs_type: mount.fs_type.clone(), mount: MountedAs::from(mount) }
    }
}

impl Mounted {
    /// The value of `name=value` among the options.
    fn option(&self, name: &str) -> Option<&str> {
        let options = self.mount.options.as_deref()?.split(',');
        options.filter_map(|o| o.split_once('=')).find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    fn has_option(&self, name: &str) -> bool {
        self.mount.options.as_deref().is_some_and(|o| o.split(',').any(|o| o == name))
    }

    fn source_text(&self) -> String {
        self.mount.source.as_ref().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn kind(&self) -> LayerKind {
        let name = self.fs_type.as_str();
        if is_memory(name) {
            LayerKind::MemoryFilesystem
        } else if is_remote(name) {
            LayerKind::RemoteFilesystem
        } else if name == "fuse" || name == "fuseblk" || name.starts_with("fuse.") {
            LayerKind::UserFilesystem
        } else {
            LayerKind::Filesystem
        }
    }

    fn role(&self) -> LayerRole {
        match self.fs_type.as_str() {
            "zfs" => LayerRole::Zfs,
            "btrfs" | "bcachefs" | "f2fs" | "nilfs2" => LayerRole::CopyOnWrite,
            "overlay" => LayerRole::Overlay,
            _ => LayerRole::Other,
        }
    }

    /// The machine that holds the data, from what is mounted or the options.
    fn server(&self) -> Option<String> {
        let source = self.source_text();
        let before_path = source.rsplit_once(":/").map(|(host, _)| host.to_string());
        let host = match self.fs_type.as_str() {
            "cifs" | "smb" | "smb2" | "smb3" | "smbfs" => {
                let rest = source.trim_start_matches(['/', '\\']);
                rest.split(['/', '\\']).next().filter(|h| !h.is_empty()).map(str::to_string)
            }
            "virtiofs" | "vboxsf" | "fuse.vmhgfs-fuse" => Some(HYPERVISOR.to_string()),
            "9p" => match self.option("trans") {
                Some("virtio") => Some(HYPERVISOR.to_string()),
                _ => Some(source.clone()).filter(|s| !s.is_empty()),
            },
            "ceph" => self.option("mon_addr").map(|a| a.replace('/', ",")).or(before_path),
            "fuse.sshfs" => source.split_once(':').map(|(host, _)| host.to_string()),
            _ => before_path,
        };
        let host = host.filter(|h| !h.is_empty()).or_else(|| self.option("addr").map(str::to_string))?;
        // Without the user's name, and without the brackets of a numeric address.
        let host =
            host.rsplit_once('@').filter(|(_, h)| *h != "tcp" && *h != "o2ib").map_or(&*host, |(_, h)| h);
        Some(host.trim_start_matches('[').trim_end_matches(']').to_string())
    }

    fn compression(&self) -> Option<String> {
        match self.fs_type.as_str() {
            "btrfs" if self.has_option("nodatacow") => None,
            "btrfs" => {
                let given = self.option("compress-force").or_else(|| self.option("compress"));
                let is_bare = self.has_option("compress") || self.has_option("compress-force");
                given.or(if is_bare { Some("zlib") } else { None }).map(str::to_string)
            }
            "bcachefs" => self.option("compression").map(str::to_string),
            "ubifs" => self.option("compr").map(str::to_string),
            "squashfs" | "erofs" => Some("read-only image".to_string()),
            _ => None,
        }
        .filter(|algorithm| !matches!(algorithm.as_str(), "no" | "none"))
    }
}

impl Builder<'_> {
    /// A regular file and everything below it. Without `mounted` the path tells the mount.
    pub(super) fn file(
        &mut self,
        path: &Path,
        size_bytes: Option<u64>,
        device: DeviceNumber,
        mounted: Option<Mounted>,
    ) -> usize {
        let name = path.to_string_lossy().into_owned();
        self.add(
            &format!("file {name}"),
            |_| Layer { kind: LayerKind::File, name, size_bytes, ..Layer::default() },
            |builder| match mounted {
                Some(mounted) => vec![builder.filesystem_of(path, device, mounted)],
                None => builder.below_path(path).into_iter().collect(),
            },
        )
    }

    /// The file behind a loop device, by its path.
    pub(super) fn backing_file(&mut self, path: &Path) -> usize {
        let metadata = std::fs::metadata(path).ok().filter(|m| self.is_live() && m.is_file());
        let size_bytes = metadata.map(|m| m.len());
        self.file(path, size_bytes, DeviceNumber { major: 0, minor: 0 }, None)
    }

    /// The filesystem that a path lies on. Nothing when the path is not of this machine's view (a loop device
    /// made in another container).
    fn below_path(&mut self, path: &Path) -> Option<usize> {
        if self.is_live() && !path.exists() {
            return None;
        }
        let mount = self.mount_of(path)?.clone();
        Some(self.filesystem(mount.device, Mounted::from(&mount)))
    }

    /// The mount with the longest matching path; of several at one place the last is seen.
    fn mount_of(&self, path: &Path) -> Option<&Mount> {
        let matching = self.mounts.iter().filter(|m| path.starts_with(&m.mount_point));
        matching.max_by_key(|m| m.mount_point.components().count())
    }

    /// The file system of a file: an overlay may keep it in a lower layer, as long as nobody writes to it.
    fn filesystem_of(&mut self, path: &Path, device: DeviceNumber, mounted: Mounted) -> usize {
        if mounted.fs_type != "overlay" || !self.is_live() {
            return self.filesystem(device, mounted);
        }
        let below = match mounted.place_in_overlay(path) {
            InOverlay::Upper | InOverlay::Unseen => return self.filesystem(device, mounted),
            InOverlay::Lower(below) => Some(below),
            InOverlay::NotFound => None,
        };
        let named = below.as_deref().unwrap_or(Path::new("")).display();
        let key = format!("mount overlay {} {device} of {named}", mounted.source_text());
        self.add(
            &key,
            |builder| builder.filesystem_layer(LayerKind::Filesystem, &mounted),
            |builder| below.and_then(|below| builder.below_path(&below)).into_iter().collect(),
        )
    }

    fn filesystem(&mut self, device: DeviceNumber, mounted: Mounted) -> usize {
        let kind = mounted.kind();
        let key = format!("mount {} {} {device}", mounted.fs_type, mounted.source_text());
        self.add(
            &key,
            |builder| builder.filesystem_layer(kind, &mounted),
            |builder| builder.below_filesystem(kind, device, &mounted),
        )
    }

    fn filesystem_layer(&self, kind: LayerKind, mounted: &Mounted) -> Layer {
        let is_in_memory = kind == LayerKind::MemoryFilesystem;
        Layer {
            kind,
            name: mounted.fs_type.clone(),
            size_bytes: if is_in_memory { mounted.option("size").and_then(bytes) } else { None },
            server: if kind == LayerKind::RemoteFilesystem { mounted.server() } else { None },
            compression: mounted.compression(),
            mount: mounted.mount.clone(),
            ..Layer::default()
        }
        .with(self.filesystem_details(mounted).if_any())
    }

    fn filesystem_details(&self, mounted: &Mounted) -> LayerDetails {
        let role = mounted.role();
        let mut details = LayerDetails {
            journals_data: mounted.option("data") == Some("journal"),
            ..LayerDetails::of(role)
        };
        if role == LayerRole::Overlay {
            details.upper_directory = mounted.option("upperdir").map(str::to_string);
        }
        let btrfs = if mounted.fs_type == "btrfs" { self.btrfs_dir(mounted) } else { None };
        if let Some(dir) = btrfs
            && let Some(profile) = first_profile(&dir.join("allocation/data"))
        {
            details.data_profile = Some(profile);
            details.devices = u64::try_from(names_in(&dir.join("devices")).len()).ok();
        }
        details
    }

    fn below_filesystem(&mut self, kind: LayerKind, device: DeviceNumber, mounted: &Mounted) -> Vec<usize> {
        match (kind, mounted.fs_type.as_str()) {
            (LayerKind::MemoryFilesystem | LayerKind::RemoteFilesystem, _) => Vec::new(),
            (_, "overlay") => {
                let upper = mounted.option("upperdir").map(PathBuf::from);
                upper.and_then(|upper| self.below_upper(&upper)).into_iter().collect()
            }
            (_, "ecryptfs") => {
                let lower = mounted.mount.source.clone();
                lower.and_then(|lower| self.below_path(&lower)).into_iter().collect()
            }
            (_, "btrfs") => {
                let devices = self.btrfs_devices(mounted);
                if devices.is_empty() {
                    self.devices_named(device, mounted)
                } else {
                    devices.iter().map(|d| self.device(d)).collect()
                }
            }
            _ => self.devices_named(device, mounted),
        }
    }

    /// The filesystem of an overlay's upper directory. In a container the path is one of the host; but what the
    /// runtime bound in beside it (`/etc/hosts` and others) often comes from the same tree of the same filesystem.
    fn below_upper(&mut self, upper: &Path) -> Option<usize> {
        let is_seen = self.mount_of(upper).is_some_and(|m| m.fs_type != "overlay");
        if is_seen && (!self.is_live() || upper.exists()) {
            return self.below_path(upper);
        }
        let runtime: PathBuf = upper.components().take(4).collect();
        let beside =
            self.mounts.iter().find(|m| m.device.major != 0 && m.root.starts_with(&runtime))?.clone();
        Some(self.filesystem(beside.device, Mounted::from(&beside)))
    }

    /// The device by the filesystem's number, or those that its mount names, also for its log.
    fn devices_named(&mut self, device: DeviceNumber, mounted: &Mounted) -> Vec<usize> {
        let by_number = BlockDevice::find(device, self.roots);
        let source = mounted.source_text();
        let mut found: Vec<BlockDevice> = match by_number {
            Some(found) => vec![found],
            // bcachefs names all its devices, separated by colons.
            None => source.split(':').filter_map(|path| self.node(Path::new(path))).collect(),
        };
        let others = ["logdev", "rtdev"].into_iter().filter_map(|name| mounted.option(name));
        found.extend(others.filter_map(|path| self.node(Path::new(path))));
        found.iter().map(|d| self.device(d)).collect()
    }

    /// Directory of a mounted btrfs in sysfs: the one that lists the device which the mount names.
    fn btrfs_dir(&self, mounted: &Mounted) -> Option<PathBuf> {
        let all = self.roots.sys.join("fs/btrfs");
        let dirs: Vec<PathBuf> = names_in(&all)
            .into_iter()
            .map(|name| all.join(name))
            .filter(|dir| dir.join("devices").is_dir())
            .collect();
        let named = mounted.mount.source.as_deref().and_then(|source| self.node(source));
        match named {
            Some(device) => dirs.into_iter().find(|dir| dir.join("devices").join(&device.name).exists()),
            // No node to ask, as in a container; with a single btrfs there is no doubt.
            None if dirs.len() == 1 => dirs.into_iter().next(),
            None => None,
        }
    }

    fn btrfs_devices(&self, mounted: &Mounted) -> Vec<BlockDevice> {
        let Some(dir) = self.btrfs_dir(mounted) else { return Vec::new() };
        let names = names_in(&dir.join("devices"));
        names.iter().filter_map(|name| BlockDevice::named(name, self.roots)).collect()
    }
}

/// Where an overlay keeps a file.
#[derive(Debug, PartialEq, Eq)]
enum InOverlay {
    Upper,
    /// In this file of a lower layer: nobody has written to it.
    Lower(PathBuf),
    /// The folders of the layers are here, and the file is in none of them.
    NotFound,
    /// The folders are those of another view, as in a container.
    Unseen,
}

impl Mounted {
    /// Where this overlay keeps a file. The first layer that has the name counts, as for the kernel.
    fn place_in_overlay(&self, path: &Path) -> InOverlay {
        let upper = self.option("upperdir").map(Path::new);
        let lower = self.mount.options.as_deref().unwrap_or_default().split(',');
        let lower = lower.filter_map(|option| option.split_once('='));
        let lower = lower.filter(|(name, _)| matches!(*name, "lowerdir" | "lowerdir+"));
        let lower: Vec<&Path> = lower
            .flat_map(|(_, folders)| folders.split(':'))
            .filter(|one| !one.is_empty())
            .map(Path::new)
            .collect();
        let whole = path.canonicalize();
        let inside = match (&whole, &self.mount.point) {
            (Ok(whole), Some(point)) => whole.strip_prefix(point).ok(),
            _ => None,
        };
        let Some(inside) = inside else { return InOverlay::Unseen };
        if upper.iter().chain(&lower).any(|folder| !folder.is_absolute() || !folder.is_dir()) {
            return InOverlay::Unseen;
        }
        if upper.is_some_and(|upper| upper.join(inside).symlink_metadata().is_ok()) {
            return InOverlay::Upper;
        }
        let found =
            lower.iter().map(|folder| folder.join(inside)).find(|place| place.symlink_metadata().is_ok());
        match found {
            Some(place) if file_size(&place).is_some() && file_size(&place) == file_size(path) => {
                InOverlay::Lower(place)
            }
            _ => InOverlay::NotFound,
        }
    }
}

/// Of a regular file, in bytes.
fn file_size(path: &Path) -> Option<u64> {
    path.metadata().ok().filter(|file| file.is_file()).map(|file| file.len())
}

/// The profile in which btrfs keeps data: the only directories beside its counters.
fn first_profile(dir: &Path) -> Option<String> {
    let profiles: Vec<String> = names_in(dir).into_iter().filter(|name| dir.join(name).is_dir()).collect();
    (!profiles.is_empty()).then(|| profiles.join(" and "))
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_keeps_a_file_in_its_first_layer() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = |name: &str| dir.path().join(name);
        for folder in ["upper", "low1", "low2", "shown"] {
            std::fs::create_dir(place(folder)).expect("a folder");
        }
        let file = |name: &str| std::fs::write(place(name), "data").expect("a file");
        ["shown/f", "low2/f"].into_iter().for_each(file);
        let folder = dir.path().display();
        let options = format!("rw,lowerdir={folder}/low1:{folder}/low2,upperdir={folder}/upper");
        let mount = MountedAs { source: None, point: Some(place("shown")), options: Some(options) };
        let overlay = Mounted { fs_type: "overlay".to_string(), mount };
        let found = || overlay.place_in_overlay(&place("shown/f"));
        assert_eq!(found(), InOverlay::Lower(place("low2/f")));
        file("low1/f");
        assert_eq!(found(), InOverlay::Lower(place("low1/f")));
        std::fs::write(place("low1/f"), "other").expect("a file");
        assert_eq!(found(), InOverlay::NotFound);
        file("upper/f");
        assert_eq!(found(), InOverlay::Upper);
        std::fs::remove_dir(place("low2"))
            .unwrap_or_else(|_| std::fs::remove_dir_all(place("low2")).expect("gone"));
        assert_eq!(found(), InOverlay::Unseen);
    }
}

//! The block devices below a file or device: the topmost ones and those with nothing below them.
//!
//! Source: the kernel's `Documentation/ABI/stable/sysfs-block` (`slaves`), `loop/backing_file`, and
//! `Documentation/ABI/testing/sysfs-fs-btrfs` (`devices`).

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::device::DeviceNumber;
use super::roots::Roots;
use super::words::{read_number, read_word};

/// Deeper stacks than any that a kernel can make work.
const LEVELS_MAX: usize = 32;

/// A whole block device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
}

/// The devices under one target, each once, in order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Under {
    /// The devices that the target itself stands on; whole disks, also for partitions.
    pub top: Vec<Device>,
    /// The lowest ones that this machine sees.
    pub lowest: Vec<Device>,
}

/// The devices under a device, or under the filesystem of a file. `device` is the device itself or what
/// the file's filesystem reports; `name` one of the devices of a filesystem that reports a number of its own
/// (btrfs). Nothing for filesystems without devices.
pub fn under(device: DeviceNumber, name: Option<&str>, roots: &Roots) -> Under {
    let by_name = || name.map(|name| roots.sys.join("class/block").join(name.replace('/', "!")));
    let first = dir_of(&roots.sys.join("dev/block").join(device.to_string()));
    let starts = match first {
        Some(dir) => vec![dir],
        None => by_name().and_then(|dir| dir_of(&dir)).map_or_else(Vec::new, |dir| members(&dir, roots)),
    };
    let mut found = Under::default();
    for dir in &starts {
        found.top.extend(of_dir(dir));
        descend(dir, roots, LEVELS_MAX, &mut found.lowest);
    }
    for list in [&mut found.top, &mut found.lowest] {
        list.sort();
        list.dedup();
    }
    found
}

/// The directory of the whole device, symbolic links resolved.
fn dir_of(link: &Path) -> Option<PathBuf> {
    let dir = fs::canonicalize(link).ok()?;
    if dir.join("partition").exists() { dir.parent().map(Path::to_path_buf) } else { Some(dir) }
}

fn of_dir(dir: &Path) -> Option<Device> {
    Some(Device {
        name: dir.file_name()?.to_string_lossy().into_owned(),
        number: read_number(&dir.join("dev"))?,
    })
}

/// All devices of the btrfs that one of them belongs to, or that one alone.
fn members(dir: &Path, roots: &Roots) -> Vec<PathBuf> {
    let of_filesystem = |filesystem: &Path| -> Vec<PathBuf> { links(&filesystem.join("devices")) };
    let filesystems = fs::read_dir(roots.sys.join("fs/btrfs")).into_iter().flatten().flatten();
    let all = filesystems.map(|entry| of_filesystem(&entry.path()));
    all.into_iter()
        .find(|devices| devices.iter().any(|d| d == dir))
        .unwrap_or_else(|| vec![dir.to_path_buf()])
}

/// The devices that the links of a directory lead to.
fn links(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().filter_map(|entry| dir_of(&entry.path())).collect()
}

fn descend(dir: &Path, roots: &Roots, levels_left: usize, lowest: &mut Vec<Device>) {
    let mut below = links(&dir.join("slaves"));
    if let Some(file) = read_word(&dir.join("loop/backing_file")) {
        below.extend(behind_loop(Path::new(&file), roots));
    }
    if below.is_empty() || levels_left == 0 {
        lowest.extend(of_dir(dir));
    }
    for part in below.iter().filter(|_| levels_left > 0) {
        descend(part, roots, levels_left - 1, lowest);
    }
}

/// The devices under the file, or the device, behind a loop device.
fn behind_loop(file: &Path, roots: &Roots) -> Vec<PathBuf> {
    let Ok(metadata) = fs::metadata(file) else { return Vec::new() };
    let is_device = metadata.file_type().is_block_device();
    let number = DeviceNumber::from_raw(if is_device { metadata.rdev() } else { metadata.dev() });
    let by_number = |number: DeviceNumber| dir_of(&roots.sys.join("dev/block").join(number.to_string()));
    if let Some(dir) = by_number(number) {
        return vec![dir];
    }
    let mounts = super::mounts::read_mounts(roots).unwrap_or_default();
    let source = mounts.iter().find(|mount| mount.device == number).map(|mount| &mount.source);
    let node = source.and_then(|source| fs::metadata(source).ok());
    let node = node.filter(|m| m.file_type().is_block_device());
    node.and_then(|m| by_number(DeviceNumber::from_raw(m.rdev())))
        .map_or_else(Vec::new, |dir| members(&dir, roots))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A recorded sysfs in a directory.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Tree(tempfile::tempdir().unwrap());
            for dir in ["dev/block", "class/block", "devices"] {
                fs::create_dir_all(tree.0.path().join(dir)).unwrap();
            }
            tree
        }

        fn roots(&self) -> Roots {
            Roots { sys: self.0.path().into(), proc: self.0.path().join("proc"), ..Roots::default() }
        }

        /// `place` below `devices`, e.g. `nvme0n1/nvme0n1p2`, standing on others.
        fn device(&self, place: &str, number: &str, slaves: &[&str]) -> &Self {
            let root = self.0.path();
            let dir = root.join("devices").join(place);
            fs::create_dir_all(dir.join("slaves")).unwrap();
            fs::write(dir.join("dev"), number).unwrap();
            let name = dir.file_name().unwrap();
            if place.contains('/') {
                fs::write(dir.join("partition"), "1\n").unwrap();
            }
            symlink(&dir, root.join("dev/block").join(number)).unwrap();
            symlink(&dir, root.join("class/block").join(name)).unwrap();
            for slave in slaves {
                symlink(root.join("class/block").join(slave), dir.join("slaves").join(slave)).unwrap();
            }
            self
        }

        fn names(&self, number: &str, name: Option<&str>) -> (Vec<String>, Vec<String>) {
            let found = under(number.parse().unwrap(), name, &self.roots());
            let names = |list: Vec<Device>| list.into_iter().map(|d| d.name).collect();
            (names(found.top), names(found.lowest))
        }
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn partitions_stacks_and_mirrors() {
        let tree = Tree::new();
        tree.device("nvme0n1", "259:0", &[]).device("nvme0n1/nvme0n1p2", "259:2", &[]);
        tree.device("nvme1n1", "259:3", &[]).device("nvme1n1/nvme1n1p2", "259:5", &[]);
        tree.device("md0", "9:0", &["nvme0n1p2", "nvme1n1p2"]);
        tree.device("dm-0", "253:0", &["md0"]).device("dm-1", "253:1", &["dm-0"]);
        assert_eq!(tree.names("259:2", None), (words(&["nvme0n1"]), words(&["nvme0n1"])));
        assert_eq!(tree.names("253:1", None), (words(&["dm-1"]), words(&["nvme0n1", "nvme1n1"])));
        assert_eq!(tree.names("0:45", None), (words(&[]), words(&[])), "tmpfs");
    }

    #[test]
    fn btrfs_on_several_devices() {
        let tree = Tree::new();
        tree.device("sda", "8:0", &[]).device("sdb", "8:16", &[]).device("sdb/sdb1", "8:17", &[]);
        tree.device("sdc", "8:32", &[]);
        let devices = tree.0.path().join("fs/btrfs/6b1c/devices");
        fs::create_dir_all(&devices).unwrap();
        assert_eq!(tree.names("0:38", Some("sda")).1, words(&["sda"]), "without a list of members");
        for name in ["sda", "sdb1"] {
            symlink(tree.0.path().join("class/block").join(name), devices.join(name)).unwrap();
        }
        let both = words(&["sda", "sdb"]);
        assert_eq!(tree.names("0:38", Some("sda")), (both.clone(), both.clone()));
        assert_eq!(tree.names("0:38", Some("sdb1")), (both.clone(), both));
    }

    #[test]
    fn a_loop_that_stands_on_nothing_known_is_the_lowest() {
        let tree = Tree::new();
        tree.device("loop3", "7:3", &[]);
        let dir = tree.0.path().join("devices/loop3/loop");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("backing_file"), "/no/such/file\n").unwrap();
        assert_eq!(tree.names("7:3", None), (words(&["loop3"]), words(&["loop3"])));
    }
}

//! NVMe namespaces by their character devices (`/dev/ngXnY`), and the block device that is the same namespace.
//!
//! The numbers in the two names may differ: with native multipath on, the disk of a namespace that has one
//! controller is named by its subsystem and its character device by its controller, so that `ng1n1` can be
//! `nvme0n1` (`nvme_alloc_ns` and `nvme_add_ns_cdev` in the kernel's `drivers/nvme/host/core.c`). Three facts
//! have to agree instead: both are of the same controller or subsystem, have the same place in it (the number
//! behind the last `n`), and are the same namespace by what the driver answers.
//!
//! Names of the disks that stand for one path each of an NVMe namespace that has several (the kernel's
//! `drivers/nvme/host/core.c`): `nvme1c2n1` is `nvme1n1` by the controller `nvme2`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::device::{BlockDevice, DeviceNumber, DevicesUnknown};
use super::roots::Roots;
use super::roots::{is_number, names_in, read_number, read_word};
use crate::sys::device::{Format, format, namespace_id, takes_trims};
use crate::sys::error::{Code, system_text};
use crate::sys::file::{FileKind, Stat};

/// A namespace that takes NVMe commands by a character device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Kernel name of the character device.
    pub name: String,
    /// Number of the character device.
    pub number: DeviceNumber,
    /// Number of the namespace, which commands carry.
    pub id: u32,
    /// The block device that is the same namespace.
    pub disk: BlockDevice,
    /// Length of its blocks in bytes, a power of two.
    pub block_bytes: u64,
}

/// Why no commands can be sent to a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceError {
    /// The node cannot be opened, or answers no questions.
    #[error("could not {action}: {}{}", error.text(), explained(*error))]
    System {
        /// What was tried, as in "could not open the node".
        action: &'static str,
        /// The number of the system's error.
        error: Code,
    },
    /// The drive refuses to tell about itself.
    #[error("could not ask the drive about itself: {0}")]
    Drive(String),
    /// It is not known which block device is the same namespace.
    #[error("could not find the block device of this namespace: {0}")]
    Unknown(#[from] DevicesUnknown),
    /// No block device is the same namespace, so that nothing tells who uses it.
    #[error(
        "no block device stands for this namespace (number {id}), so nothing tells who uses it; TrueSpd tests \
         namespaces that the kernel offers as disks (lsblk)"
    )]
    NoDisk {
        /// Number of the namespace on its controller.
        id: u32,
    },
    /// The drive and the kernel disagree.
    #[error(
        "the drive says {drive}, but the kernel's {disk} {kernel}; let the kernel look again (nvme ns-rescan) \
         before a test"
    )]
    Differs {
        /// Kernel name of the block device.
        disk: String,
        /// What the drive says of itself.
        drive: String,
        /// What the kernel says of the block device.
        kernel: String,
    },
    /// The namespace is formatted with metadata in each block.
    #[error(
        "each block of {disk} carries {bytes} bytes of metadata, which TrueSpd does not send; test /dev/{disk} instead"
    )]
    Metadata {
        /// Kernel name of the block device.
        disk: String,
        /// Length of the metadata of a block.
        bytes: u16,
    },
}

fn explained(error: Code) -> &'static str {
    match error {
        Code::ACCESS_DENIED | Code::NOT_PERMITTED => {
            "; run as root, or give this user the right to open the node (before Linux 6.2 root alone may send \
             commands)"
        }
        _ => "",
    }
}

fn failed(action: &'static str) -> impl Fn(io::Error) -> NamespaceError {
    move |error| match Code::of(&error) {
        Some(error) => NamespaceError::System { action, error },
        None => NamespaceError::Drive(system_text(&error)),
    }
}

/// The directory in sysfs of a character device by which a namespace takes commands; `None` for any other device.
fn dir_of(number: DeviceNumber, roots: &Roots) -> Option<PathBuf> {
    let dir = fs::canonicalize(roots.sys.join("dev/char").join(number.to_string())).ok()?;
    let class = fs::read_link(dir.join("subsystem")).ok()?;
    (class.file_name()? == "nvme-generic").then_some(dir)
}

/// What a node leads to, when it takes NVMe commands for a namespace. Nothing is opened.
fn node_at(path: &Path, roots: &Roots) -> Option<DeviceNumber> {
    let node = Stat::at(path).ok().filter(|stat| stat.kind == FileKind::Character)?;
    let number = DeviceNumber::from_raw(node.node_of);
    dir_of(number, roots).map(|_| number)
}

/// The controller or subsystem of a device, by its directory.
fn parent(dir: &Path) -> Option<PathBuf> {
    fs::canonicalize(dir.join("device")).ok()
}

/// The number behind the last `n` of `ng0n1` and `nvme0n1`: the place of a namespace among those of its subsystem.
fn place(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("nvme").or_else(|| name.strip_prefix("ng"))?;
    let (above, place) = rest.split_once('n')?;
    above.parse::<u32>().ok()?;
    place.parse().ok()
}

impl Namespace {
    /// The namespace to which a node leads; `None` for anything that is not such a character device.
    ///
    /// # Errors
    /// Why no commands can be sent to it.
    pub fn at(path: &Path, roots: &Roots) -> Result<Option<Self>, NamespaceError> {
        // Merely opening another character device (a tape, a watchdog) has effects.
        if node_at(path, roots).is_none() {
            return Ok(None);
        }
        let file = File::open(path).map_err(failed("open it"))?;
        Self::of(&file, roots)
    }

    /// The same of an open file.
    ///
    /// # Errors
    /// As [`Namespace::at`].
    pub fn of(file: &File, roots: &Roots) -> Result<Option<Self>, NamespaceError> {
        let stat = Stat::of_open(file).map_err(failed("read its file type"))?;
        let number = DeviceNumber::from_raw(stat.node_of);
        let dir = match stat.kind {
            FileKind::Character => dir_of(number, roots),
            _ => None,
        };
        let Some(dir) = dir else { return Ok(None) };
        let id = namespace_id(file).map_err(failed("ask for the number of the namespace"))?;
        let disk = disk_of(&dir, id, roots)?;
        let format = format(file, id).map_err(failed("ask the drive for its format"))?;
        check_format(&disk, format)?;
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Namespace { name, number, id, disk, block_bytes: format.block_bytes }))
    }

    /// Node of the character device.
    pub fn path(&self, roots: &Roots) -> PathBuf {
        roots.dev.join(&self.name)
    }

    /// Node of the block device.
    pub(crate) fn disk_path(&self, roots: &Roots) -> PathBuf {
        roots.dev.join(self.disk.node_name())
    }

    /// Longest transfer of one command in bytes, which nobody splits for a command (`queue/max_hw_sectors_kb`).
    pub fn transfer_bytes_max(&self) -> Option<u64> {
        read_number::<u64>(&self.disk.queue("max_hw_sectors_kb"))?.checked_mul(1024)
    }

    /// Longest trim of one command in bytes, as the drive told the kernel (`queue/discard_max_hw_bytes`); `None` where
    /// that says nothing.
    pub fn trim_bytes_max(&self) -> Option<u64> {
        read_number::<u64>(&self.disk.queue("discard_max_hw_bytes")).filter(|bytes| *bytes > 0)
    }

    /// Whether the drive has a command that trims (Dataset Management).
    ///
    /// # Errors
    /// Why it does not tell.
    pub fn takes_trims(&self, roots: &Roots) -> Result<bool, NamespaceError> {
        let file = File::open(self.path(roots)).map_err(failed("open it"))?;
        takes_trims(&file).map_err(failed("ask the drive for its commands"))
    }

    /// Whether the kernel counts commands of programs as it does other I/O (`queue/iostats_passthrough`,
    /// Linux 6.13). With several paths each of them counts.
    pub fn is_counted(&self, roots: &Roots) -> bool {
        let list = roots.sys.join("block");
        let names = names_in(&list).into_iter().filter(|name| is_path_of(name, &self.disk.name));
        let mut dirs: Vec<PathBuf> = names.map(|name| list.join(name)).collect();
        if dirs.is_empty() {
            dirs.push(self.disk.dir().to_path_buf());
        }
        dirs.iter().all(|dir| read_word(&dir.join("queue/iostats_passthrough")).as_deref() == Some("1"))
    }
}

/// The block device that is namespace `id` of the controller or subsystem to which the character device at
/// `dir` belongs.
fn disk_of(dir: &Path, id: u32, roots: &Roots) -> Result<BlockDevice, NamespaceError> {
    let (above, name) = (parent(dir), dir.file_name().unwrap_or_default().to_string_lossy());
    for disk in BlockDevice::all(roots)? {
        let is_there = place(&disk.name) == place(&name) && parent(disk.dir()) == above;
        let is_known = place(&name).is_some() && above.is_some();
        if is_there && is_known && read_number(&disk.dir().join("nsid")) == Some(id) {
            return Ok(disk);
        }
    }
    Err(NamespaceError::NoDisk { id })
}

/// What the drive says of the namespace has to be what the kernel has it for, or another one is meant.
fn check_format(disk: &BlockDevice, format: Format) -> Result<(), NamespaceError> {
    let Format { blocks, block_bytes, metadata_bytes } = format;
    if metadata_bytes > 0 {
        return Err(NamespaceError::Metadata { disk: disk.name.clone(), bytes: metadata_bytes });
    }
    let (bytes, sector) = (disk.size_bytes(), disk.sector_sizes().map(|s| u64::from(s.logical_bytes)));
    if bytes == blocks.checked_mul(block_bytes) && sector == Some(block_bytes) {
        return Ok(());
    }
    let number = |of: Option<u64>| of.map_or("an unknown number of".to_string(), |of| of.to_string());
    Err(NamespaceError::Differs {
        disk: disk.name.clone(),
        drive: format!("{blocks} blocks of {block_bytes} bytes"),
        kernel: format!("has {} bytes in blocks of {} bytes", number(bytes), number(sector)),
    })
}

/// A character device that takes commands: its name and its number.
pub type Node = (String, DeviceNumber);

/// The character devices by which the disk, or the disk of the partition, takes NVMe commands. Nothing is opened.
pub fn nodes_of(device: &BlockDevice, roots: &Roots) -> Vec<Node> {
    let disk = device.whole_disk().unwrap_or_else(|| device.clone());
    let (Some(place_of_disk), Some(above)) = (place(&disk.name), parent(disk.dir())) else {
        return Vec::new();
    };
    let entries = fs::read_dir(roots.sys.join("class/nvme-generic")).into_iter().flatten().flatten();
    let mut found: Vec<Node> = Vec::new();
    for entry in entries {
        let (name, dir) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if place(&name) == Some(place_of_disk) && parent(&dir).as_ref() == Some(&above) {
            found.extend(read_number(&dir.join("dev")).map(|number| (name, number)));
        }
    }
    found.sort();
    found
}

/// The controller by which `path` leads to the namespace `disk`, e.g. `nvme2` for `nvme1c2n1` of `nvme1n1`.
/// `None` when it is no path of it.
pub(crate) fn controller_of_path(path: &str, disk: &str) -> Option<String> {
    let (subsystem, namespace) = disk.strip_prefix("nvme")?.split_once('n')?;
    let rest = path.strip_prefix("nvme")?.strip_prefix(subsystem)?.strip_prefix('c')?;
    let (controller, of) = rest.split_once('n')?;
    let is_path = [subsystem, namespace, controller].into_iter().all(is_number) && of == namespace;
    is_path.then(|| format!("nvme{controller}"))
}

/// Whether `path` leads to the namespace `disk`.
pub(crate) fn is_path_of(path: &str, disk: &str) -> bool {
    controller_of_path(path, disk).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::symlink;

    /// A controller whose only namespace is the disk of another number, and a subsystem of two paths.
    fn recorded() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { sys: at("sys"), proc: at("proc"), dev: at("dev") };
        let put = |path: &str, text: &str| {
            let path = roots.sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let link = |at: &str, to: &str| {
            let at = roots.sys.join(at);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(roots.sys.join(to), at).unwrap();
        };
        fs::create_dir_all(roots.sys.join("class/nvme-generic")).unwrap();
        let disk = |above: &str, name: &str, minor: u32, id: &str| {
            let dir = format!("{above}/{name}");
            put(&format!("{dir}/dev"), &format!("259:{minor}\n"));
            put(&format!("{dir}/nsid"), id);
            put(&format!("{dir}/size"), "2048\n");
            put(&format!("{dir}/queue/logical_block_size"), "512\n");
            put(&format!("{dir}/queue/max_hw_sectors_kb"), "512\n");
            put(&format!("{dir}/queue/discard_max_hw_bytes"), "1048576\n");
            put(&format!("{dir}/queue/iostats_passthrough"), "0\n");
            link(&format!("{dir}/device"), above);
            link(&format!("block/{name}"), &dir);
            link(&format!("dev/block/259:{minor}"), &dir);
        };
        let generic = |above: &str, name: &str, minor: u32| {
            let dir = format!("{above}/{name}");
            put(&format!("{dir}/dev"), &format!("241:{minor}\n"));
            link(&format!("{dir}/device"), above);
            link(&format!("{dir}/subsystem"), "class/nvme-generic");
            link(&format!("class/nvme-generic/{name}"), &dir);
            link(&format!("dev/char/241:{minor}"), &dir);
        };
        disk("devices/nvme/nvme1", "nvme0n1", 0, "7\n");
        generic("devices/nvme/nvme1", "ng1n1", 0);
        disk("devices/nvme/nvme0", "nvme1n1", 1, "7\n");
        generic("devices/nvme/nvme0", "ng0n1", 1);
        disk("devices/nvme-subsys2", "nvme2n1", 2, "1\n");
        disk("devices/nvme-subsys2", "nvme2n2", 3, "2\n");
        generic("devices/nvme-subsys2", "ng2n2", 2);
        generic("devices/nvme-subsys2", "ng2n3", 3);
        put("devices/tape/dev", "9:0\n");
        link("devices/tape/subsystem", "class/scsi_tape");
        fs::create_dir_all(roots.sys.join("class/scsi_tape")).unwrap();
        link("dev/char/9:0", "devices/tape");
        (dir, roots)
    }

    fn char_number(minor: u32) -> DeviceNumber {
        DeviceNumber { major: 241, minor }
    }

    #[test]
    fn the_disk_is_found_by_what_it_is_and_not_by_its_name() {
        let (_dir, roots) = recorded();
        let of = |minor, id| {
            let dir = dir_of(char_number(minor), &roots).expect("it takes commands");
            disk_of(&dir, id, &roots).map(|disk| disk.name)
        };
        assert_eq!(of(0, 7).as_deref(), Ok("nvme0n1"), "ng1n1");
        assert_eq!(of(1, 7).as_deref(), Ok("nvme1n1"), "ng0n1");
        assert_eq!(of(2, 2).as_deref(), Ok("nvme2n2"), "ng2n2");
        // The driver answers another number than sysfs, and a namespace that is no disk.
        assert_eq!(of(0, 8), Err(NamespaceError::NoDisk { id: 8 }));
        assert_eq!(of(2, 1), Err(NamespaceError::NoDisk { id: 1 }));
        assert_eq!(of(3, 1), Err(NamespaceError::NoDisk { id: 1 }));
        let hidden = Roots { sys: roots.sys.join("none"), ..roots.clone() };
        assert!(dir_of(char_number(0), &hidden).is_none());
        let dir = dir_of(char_number(0), &roots).unwrap();
        assert!(matches!(disk_of(&dir, 7, &hidden), Err(NamespaceError::Unknown(_))));
    }

    #[test]
    fn other_character_devices_take_no_commands() {
        let (_dir, roots) = recorded();
        assert!(dir_of(DeviceNumber { major: 9, minor: 0 }, &roots).is_none());
        assert!(dir_of(DeviceNumber { major: 1, minor: 3 }, &roots).is_none());
        let null = Path::new("/dev/null");
        assert_eq!(Namespace::at(null, &Roots::default()), Ok(None));
        assert_eq!(Namespace::of(&File::open(null).unwrap(), &Roots::default()), Ok(None));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Namespace::at(file.path(), &roots), Ok(None));
        assert_eq!(Namespace::of(file.as_file(), &roots), Ok(None));
    }

    #[test]
    fn nodes_of_a_disk() {
        let (_dir, roots) = recorded();
        let of = |name: &str| nodes_of(&BlockDevice::named(name, &roots).unwrap(), &roots);
        assert_eq!(of("nvme0n1"), [("ng1n1".to_string(), char_number(0))]);
        assert_eq!(of("nvme1n1"), [("ng0n1".to_string(), char_number(1))]);
        assert_eq!(of("nvme2n1"), []);
        assert_eq!(of("nvme2n2"), [("ng2n2".to_string(), char_number(2))]);
    }

    #[test]
    fn drive_and_kernel_must_agree() {
        let (_dir, roots) = recorded();
        let disk = BlockDevice::named("nvme0n1", &roots).unwrap();
        let check = |blocks, block_bytes, metadata_bytes| {
            check_format(&disk, Format { blocks, block_bytes, metadata_bytes }).map_err(|e| e.to_string())
        };
        assert_eq!(check(2048, 512, 0), Ok(()));
        let told = check(2048, 512, 8).unwrap_err();
        assert!(told.contains("8 bytes of metadata") && told.contains("/dev/nvme0n1"), "{told}");
        for (blocks, block_bytes) in [(2047, 512), (256, 4096), (u64::MAX, 512)] {
            let told = check(blocks, block_bytes, 0).unwrap_err();
            assert!(told.contains("has 1048576 bytes in blocks of 512 bytes"), "{told}");
        }
    }

    #[test]
    fn what_is_counted_and_what_fits() {
        let (_dir, roots) = recorded();
        let disk = BlockDevice::named("nvme2n2", &roots).unwrap();
        let namespace =
            Namespace { name: "ng2n2".into(), number: char_number(2), id: 2, disk, block_bytes: 512 };
        assert_eq!(
            (namespace.transfer_bytes_max(), namespace.trim_bytes_max()),
            (Some(512 << 10), Some(1 << 20))
        );
        fs::write(namespace.disk.queue("discard_max_hw_bytes"), "0\n").unwrap();
        assert_eq!(namespace.trim_bytes_max(), None);
        assert!(namespace.takes_trims(&roots).unwrap_err().to_string().contains("could not open it"));
        assert!(!namespace.is_counted(&roots));
        fs::write(namespace.disk.dir().join("queue/iostats_passthrough"), "1\n").unwrap();
        assert!(namespace.is_counted(&roots));
        // A path that does not count.
        let path = roots.sys.join("block/nvme2c0n2/queue");
        fs::create_dir_all(&path).unwrap();
        assert!(!namespace.is_counted(&roots));
        fs::write(path.join("iostats_passthrough"), "1\n").unwrap();
        assert!(namespace.is_counted(&roots));
    }
}

#[cfg(test)]
mod tests_nvme {
    use super::controller_of_path;

    #[test]
    fn paths_belong_to_one_namespace() {
        let of = |path: &str| controller_of_path(path, "nvme1n1");
        assert_eq!(of("nvme1c0n1").as_deref(), Some("nvme0"));
        assert_eq!(of("nvme1c12n1").as_deref(), Some("nvme12"));
        for other in ["nvme1n1", "nvme1c0n12", "nvme11c0n1", "nvme1cn1", "nvme1cxn1", "sda", ""] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(controller_of_path("nvme1c0n1p1", "nvme1n1p1"), None);
    }
}

//! Block devices as sysfs describes them: names, parts, holders, schedulers.
//!
//! Source: the kernel's `Documentation/ABI/stable/sysfs-block` and `testing/sysfs-dev`.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::roots::Roots;
use super::roots::{read_number, read_word};
use crate::sys::device;
use crate::sys::error::{Code, system_text};
use crate::sys::identity::Identity;
use crate::text::printable_path;

/// Major and minor number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Number of the driver, 12 bits.
    pub major: u32,
    /// Number of the device within the driver, 20 bits.
    pub minor: u32,
}

impl DeviceNumber {
    /// From `st_dev` or `st_rdev`.
    pub fn from_raw(raw: u64) -> Self {
        DeviceNumber { major: device::major(raw), minor: device::minor(raw) }
    }

    /// Of a device that is identified; `None` for a file.
    pub fn of(identity: Identity) -> Option<Self> {
        // Inodes of files begin at 1.
        (identity.inode() == 0).then(|| Self::from_raw(identity.device()))
    }

    /// What tells the device from files and other devices.
    pub fn identity(self) -> Identity {
        Identity::from((device::number(self.major, self.minor), 0))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (major, minor) = text.split_once(':').unwrap_or((text, ""));
        Ok(DeviceNumber { major: major.trim().parse()?, minor: minor.trim().parse()? })
    }
}

/// Sector sizes of a device in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorSizes {
    /// Smallest unit the device can be addressed in.
    pub logical_bytes: u32,
    /// Smallest unit the device writes without reading first.
    pub physical_bytes: u32,
}

/// A block device that has a size, as the kernel lists it, partitions as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedDevice {
    /// Its name, as in /proc/partitions.
    pub name: String,
    /// The number of the driver that serves it.
    pub major: u32,
    /// Size in bytes, in whole KiB.
    pub size_bytes: u64,
}

/// All block devices of this kernel that have a size, also those that belong to other containers; `None` without the
/// kernel's list.
pub fn with_size(roots: &Roots) -> Option<Vec<SizedDevice>> {
    let list = fs::read_to_string(roots.proc.join("partitions")).ok()?;
    // The first line names the columns; a file that was put over the list has another one.
    let mut lines = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    (lines.next()?.first() == Some(&"major")).then_some(())?;
    let devices = lines.filter(|words| !words.is_empty()).map(|words| {
        let [major, _, kib, name] = words.as_slice() else { return None };
        let size_bytes = kib.parse::<u64>().ok()?.saturating_mul(1024);
        Some(SizedDevice { name: (*name).to_string(), major: major.parse().ok()?, size_bytes })
    });
    devices.collect()
}

/// What a device takes of discards (trims).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscardLimits {
    /// Most that it takes at a time; 0: it takes none.
    pub max_bytes: u64,
    /// What it frees is made of whole units of this; 0: it does not tell.
    pub granularity_bytes: u64,
}

/// Why sysfs does not tell about block devices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {text}")]
pub struct DevicesUnknown {
    /// What could not be read.
    pub path: String,
    /// Why, in the system's words with the number.
    pub text: String,
}

impl DevicesUnknown {
    pub(super) fn new(path: &Path, error: &io::Error) -> Self {
        DevicesUnknown { path: printable_path(path), text: system_text(error) }
    }
}

/// A block device's directory in sysfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its directory, symbolic links resolved.
    dir: PathBuf,
    /// Kernel name, e.g. `nvme0n1p2`.
    pub name: String,
}

impl BlockDevice {
    /// Looks a device up by number; `None` when sysfs does not know it.
    pub fn find(number: DeviceNumber, roots: &Roots) -> Option<Self> {
        Self::from_dir(&roots.sys.join("dev/block").join(number.to_string()))
    }

    /// The same for a device that is known to exist.
    ///
    /// # Errors
    /// Sysfs is missing, hidden or does not show this device.
    pub fn shown(number: DeviceNumber, roots: &Roots) -> Result<Self, DevicesUnknown> {
        let dir = roots.sys.join("dev/block").join(number.to_string());
        roots.check_sysfs(&dir).map_err(|error| DevicesUnknown::new(&dir, &error))?;
        Self::find(number, roots).ok_or_else(|| DevicesUnknown::new(&dir, &Code::NOT_FOUND.into()))
    }

    /// All devices that are no partitions, in order of their names, without those that the kernel hides.
    ///
    /// # Errors
    /// Sysfs is missing, or hides a device.
    pub fn all(roots: &Roots) -> Result<Vec<Self>, DevicesUnknown> {
        let list = roots.sys.join("block");
        roots.check_sysfs(&list).map_err(|error| DevicesUnknown::new(&list, &error))?;
        let mut found = Vec::new();
        for entry in fs::read_dir(&list).map_err(|error| DevicesUnknown::new(&list, &error))? {
            let path = entry.map_err(|error| DevicesUnknown::new(&list, &error))?.path();
            match fs::metadata(&path) {
                // A path of a multipath device has no number, and nobody can open it.
                Ok(_) => found.extend(Self::from_dir(&path).filter(|device| device.number().is_some())),
                // It was removed since the list was read.
                Err(_) if fs::symlink_metadata(&path).is_err() => {}
                Err(error) => return Err(DevicesUnknown::new(&path, &error)),
            }
        }
        found.sort_by(|a: &Self, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// Looks a device up by its kernel name, also a partition.
    pub fn named(name: &str, roots: &Roots) -> Option<Self> {
        // Partitions are listed under `class` only; trees that were recorded without it have them below disks.
        [roots.sys.join("class/block").join(name), roots.sys.join("block").join(name)]
            .iter()
            .find_map(|dir| Self::from_dir(dir).filter(|device| device.number().is_some()))
            .or_else(|| children(&roots.sys.join("dev/block")).into_iter().find(|d| d.name == name))
    }

    /// Its name below `/dev`: sysfs writes a slash as an exclamation mark (cciss!c0d0).
    pub fn node_name(&self) -> String {
        self.name.replace('!', "/")
    }

    /// The device with its partitions and its disk: a claim on a disk counts for its partitions and the other
    /// way round.
    pub fn involved(&self) -> Vec<Self> {
        let mut involved = vec![self.clone()];
        involved.extend(self.partitions());
        involved.extend(self.whole_disk());
        involved.extend(self.overlapping());
        involved
    }

    /// Other partitions of its disk that share bytes with it: an extended partition holds logical ones, and a table may
    /// be wrong.
    fn overlapping(&self) -> Vec<Self> {
        let Some((disk, (start, length))) = self.whole_disk().zip(self.extent_bytes()) else {
            return Vec::new();
        };
        let end = start.saturating_add(length);
        let mut others = disk.partitions();
        others.retain(|part| {
            let extent = part.extent_bytes();
            part != self
                && extent.is_some_and(|(other, length)| other < end && start < other.saturating_add(length))
        });
        others
    }

    fn from_dir(dir: &Path) -> Option<Self> {
        let dir = fs::canonicalize(dir).ok()?;
        let name = dir.file_name()?.to_string_lossy().into_owned();
        Some(BlockDevice { dir, name })
    }

    /// Its directory in sysfs, symbolic links resolved.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Devices that it is built on: device-mapper, md, bcache.
    pub fn slaves(&self) -> Vec<Self> {
        children(&self.dir.join("slaves"))
    }

    /// Its number by sysfs (`dev`); none for paths of a multipath device.
    pub fn number(&self) -> Option<DeviceNumber> {
        read_number(&self.dir.join("dev"))
    }

    /// Whether it is a partition of another device.
    pub fn is_partition(&self) -> bool {
        self.dir.join("partition").exists()
    }

    /// The whole disk of a partition.
    pub fn whole_disk(&self) -> Option<Self> {
        if self.is_partition() { Self::from_dir(self.dir.parent()?) } else { None }
    }

    /// Its partitions, in order of their names.
    pub fn partitions(&self) -> Vec<Self> {
        children(&self.dir).into_iter().filter(Self::is_partition).collect()
    }

    /// Devices built on top of it: device-mapper, md, bcache.
    pub fn holders(&self) -> Vec<Self> {
        children(&self.dir.join("holders"))
    }

    /// The name that a disk gives of itself, the same on every path to it; `None` for those that give none or
    /// one that tells nothing.
    pub fn world_wide_id(&self) -> Option<String> {
        // NVMe has it at the namespace, SCSI at the device below.
        let id = read_word(&self.dir.join("wwid")).or_else(|| read_word(&self.dir.join("device/wwid")))?;
        // Some disks call themselves eui.0000000000000000.
        let named = id.split_once('.').map_or(id.as_str(), |(_, rest)| rest);
        named.chars().any(|c| c.is_ascii_alphanumeric() && c != '0').then_some(id)
    }

    /// The serial number of a disk, where its driver shows one.
    ///
    /// Sources: the kernel's `drivers/block/virtio_blk.c`, `drivers/nvme/host/sysfs.c` and `drivers/mmc/core/mmc.c`
    /// (`serial`), `drivers/scsi/scsi_sysfs.c` (`vpd_pg80`); SPC-4, 7.8.16 (Unit Serial Number VPD page).
    pub fn serial(&self) -> Option<String> {
        let own = ["serial", "device/serial"].iter().find_map(|file| read_word(&self.dir.join(file)));
        if let Some(serial) = own.filter(|serial| !serial.is_empty()) {
            return Some(serial);
        }
        let page = fs::read(self.dir.join("device/vpd_pg80")).ok()?;
        let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
        let serial = std::str::from_utf8(page.get(4..4 + length)?).ok()?.trim_matches([' ', '\0']);
        if serial.is_empty() { None } else { Some(serial.to_string()) }
    }

    /// What distinguishes a disk from all others, as it says itself: world wide name or serial number, and the UUID
    /// of a device-mapper device.
    pub(crate) fn own_name(&self) -> Option<String> {
        let mapped = read_word(&self.dir.join("dm/uuid")).filter(|uuid| !uuid.is_empty());
        mapped.or_else(|| self.world_wide_id()).or_else(|| self.serial())
    }

    /// Other disks that are this disk by another name, and of each the partition that is this partition.
    ///
    /// # Errors
    /// As [`BlockDevice::all`].
    pub fn twins(&self, roots: &Roots) -> Result<Vec<(Self, Option<Self>)>, DevicesUnknown> {
        let disk = self.whole_disk().unwrap_or_else(|| self.clone());
        let Some(id) = disk.world_wide_id() else { return Ok(Vec::new()) };
        let twins = Self::all(roots)?
            .into_iter()
            // Makers give one name to several disks, but hardly of the same size.
            .filter(|other| {
                *other != disk
                    && other.world_wide_id().as_ref() == Some(&id)
                    && read_word(&other.dir.join("size")) == read_word(&disk.dir.join("size"))
            })
            .map(|other| {
                let number = self.partition_number();
                let part = number.and_then(|n| {
                    other.partitions().into_iter().find(|part| part.partition_number() == Some(n))
                });
                (other, part)
            })
            .collect();
        Ok(twins)
    }

    /// Capacity in bytes by sysfs (`size`).
    pub fn size_bytes(&self) -> Option<u64> {
        // Units of 512 bytes, whatever its sectors are.
        read_number::<u64>(&self.dir.join("size"))?.checked_mul(512)
    }

    /// The first byte of a partition on its disk.
    pub(crate) fn start_bytes(&self) -> Option<u64> {
        read_number::<u64>(&self.dir.join("start"))?.checked_mul(512)
    }

    /// Where a partition lies on its disk: first byte and length.
    pub fn extent_bytes(&self) -> Option<(u64, u64)> {
        Some((self.start_bytes()?, self.size_bytes()?))
    }

    /// The number of a partition on its disk.
    pub fn partition_number(&self) -> Option<u32> {
        read_number(&self.dir.join("partition"))
    }

    /// A file of its queue directory; partitions share the queue of their disk.
    pub fn queue(&self, file: &str) -> PathBuf {
        let own = self.dir.join("queue").join(file);
        if own.exists() { own } else { self.dir.join("../queue").join(file) }
    }

    /// Sector sizes of its queue.
    pub(crate) fn sector_sizes(&self) -> Option<SectorSizes> {
        let logical_bytes = read_number(&self.queue("logical_block_size"))?;
        let physical_bytes = read_number(&self.queue("physical_block_size")).unwrap_or(logical_bytes);
        Some(SectorSizes { logical_bytes, physical_bytes })
    }

    /// Name of the I/O scheduler in use, e.g. `none`, `mq-deadline`.
    pub fn scheduler(&self) -> Option<String> {
        parse_scheduler(&read_word(&self.queue("scheduler"))?)
    }

    /// The volatile cache as the kernel drives it: `write back` or `write through`.
    pub fn write_cache(&self) -> Option<String> {
        Some(fs::read_to_string(self.queue("write_cache")).ok()?.trim().to_string())
    }

    /// What it takes of discards; `None` when sysfs does not tell.
    pub fn discards(&self) -> Option<DiscardLimits> {
        let max_bytes = read_number(&self.queue("discard_max_bytes"))?;
        let granularity_bytes = read_number(&self.queue("discard_granularity")).unwrap_or(0);
        Some(DiscardLimits { max_bytes, granularity_bytes })
    }

    /// Whether it has queues whose completions can be polled for (`queue/io_poll`).
    pub fn can_be_polled(&self) -> Option<bool> {
        Some(read_word(&self.queue("io_poll"))? == "1")
    }

    /// What kind of stacked device it is and under which name people know it, in words; for other
    /// devices the kernel name.
    pub fn describe(&self) -> String {
        if let Some(name) = read_word(&self.dir.join("dm/name")) {
            let uuid = read_word(&self.dir.join("dm/uuid")).unwrap_or_default();
            let kind = match uuid.split('-').next().unwrap_or("") {
                "LVM" => "LVM volume",
                "CRYPT" => "encrypted volume",
                "mpath" => "multipath device",
                _ => "device-mapper device",
            };
            return format!("{kind} {name} ({})", self.name);
        }
        if let Some(level) = read_word(&self.dir.join("md/level")) {
            return format!("md array {} ({level})", self.name);
        }
        if self.name.starts_with("bcache") {
            return format!("bcache device {}", self.name);
        }
        if let Some(file) = read_word(&self.dir.join("loop/backing_file")) {
            return format!("loop device {} of file {file}", self.name);
        }
        self.name.clone()
    }

    /// Whether the kernel refuses all writes to it (`ro`).
    pub fn is_read_only(&self) -> bool {
        read_number(&self.dir.join("ro")) == Some(1u32)
    }

    /// File behind a loop device.
    pub fn loop_backing_file(&self) -> Option<PathBuf> {
        read_word(&self.dir.join("loop/backing_file")).map(PathBuf::from)
    }
}

/// Device directories inside `dir` (also behind symbolic links), in order of their names.
fn children(dir: &Path) -> Vec<BlockDevice> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<BlockDevice> = entries
        .filter(|e| e.path().join("dev").exists())
        .filter_map(|e| BlockDevice::from_dir(&e.path()))
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The scheduler in brackets of `none [mq-deadline] kyber`, or the only one listed.
fn parse_scheduler(text: &str) -> Option<String> {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    let name = bracketed.or_else(|| text.split_whitespace().next())?;
    Some(name.to_string())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sys::made::symlink;

    /// The small machine of [`crate::sysfs`].
    pub(crate) fn recorded_sysfs() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        crate::sysfs::make(dir.path());
        let [sys, proc, dev] = ["sys", "proc", "dev"].map(|name| dir.path().join(name));
        (dir, Roots { sys, proc, dev })
    }

    const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
    const SDA2: DeviceNumber = DeviceNumber { major: 8, minor: 2 };

    #[test]
    fn partitions_that_share_bytes_are_found() {
        let (dir, roots) = recorded_sysfs();
        let lies = |name: &str, start: u64, sectors: u64| {
            for (file, number) in [("start", start), ("size", sectors)] {
                fs::write(dir.path().join(format!("sys/devices/sda/{name}/{file}")), number.to_string())
                    .unwrap();
            }
        };
        let involved = || {
            let own = BlockDevice::named("sda1", &roots).unwrap();
            own.involved().into_iter().map(|device| device.name).collect::<Vec<_>>()
        };
        for (start, is_shared) in [(2048, true), (3000, true), (4095, true), (4096, false), (9000, false)] {
            lies("sda1", 2048, 2048);
            lies("sda2", start, 100);
            assert_eq!(involved().contains(&"sda2".to_string()), is_shared, "{start}");
        }
    }

    #[test]
    fn disk_partitions_and_holders() {
        let (_dir, roots) = recorded_sysfs();
        let disk = BlockDevice::find(SDA, &roots).unwrap();
        assert_eq!(disk.name, "sda");
        assert!(!disk.is_partition() && disk.whole_disk().is_none());
        let parts: Vec<_> = disk.partitions().into_iter().map(|p| p.name).collect();
        assert_eq!(parts, ["sda1", "sda2"]);
        let part = BlockDevice::find(SDA2, &roots).unwrap();
        assert_eq!(part.whole_disk().unwrap().name, "sda");
        assert_eq!(part.holders()[0].describe(), "LVM volume vg-root (dm-0)");
        assert_eq!(disk.partitions()[0].holders()[0].describe(), "md array md0 (raid1)");
        assert!(BlockDevice::find(DeviceNumber { major: 1, minor: 1 }, &roots).is_none());
    }

    #[test]
    fn what_sysfs_hides_is_not_known() {
        let (_dir, roots) = recorded_sysfs();
        let names = |roots: &Roots| {
            BlockDevice::all(roots).map(|all| all.into_iter().map(|d| d.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&roots).unwrap(), ["dm-0", "sda"]);
        assert_eq!(BlockDevice::shown(SDA, &roots).unwrap().name, "sda");
        let unknown = BlockDevice::shown(DeviceNumber { major: 1, minor: 1 }, &roots).unwrap_err();
        assert!(unknown.to_string().ends_with("dev/block/1:1: No such file or directory"), "{unknown}");
        fs::create_dir(roots.sys.join("devices/nvme0c0n1")).unwrap();
        symlink(roots.sys.join("devices/nvme0c0n1"), roots.sys.join("block/nvme0c0n1")).unwrap();
        assert_eq!(names(&roots).unwrap(), ["dm-0", "sda"], "a path that nobody can open");
        symlink(roots.sys.join("devices/sdb"), roots.sys.join("block/sdb")).unwrap();
        assert!(names(&roots).unwrap_err().to_string().contains("block/sdb: No such file"));
        fs::remove_dir_all(roots.sys.join("block")).unwrap();
        assert!(names(&roots).is_err());
    }

    #[test]
    fn partitions_share_the_queue_of_the_disk() {
        let (_dir, roots) = recorded_sysfs();
        let part = BlockDevice::find(SDA2, &roots).unwrap();
        let sizes = SectorSizes { logical_bytes: 512, physical_bytes: 4096 };
        assert_eq!(part.sector_sizes(), Some(sizes));
        assert_eq!(part.scheduler().as_deref(), Some("mq-deadline"));
    }

    #[test]
    fn scheduler_texts() {
        assert_eq!(parse_scheduler("[none] mq-deadline").as_deref(), Some("none"));
        assert_eq!(parse_scheduler("none").as_deref(), Some("none"));
        assert_eq!(parse_scheduler(""), None);
    }

    #[test]
    fn device_numbers_print_and_parse() {
        assert_eq!("254:16".parse(), Ok(DeviceNumber { major: 254, minor: 16 }));
        assert!("254".parse::<DeviceNumber>().is_err());
        assert_eq!(DeviceNumber::from_raw(crate::sys::made::device_number(259, 300)).to_string(), "259:300");
    }

    #[test]
    fn devices_with_a_size_are_those_of_the_kernels_list() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        let listed = |text: &str| {
            fs::write(dir.path().join("partitions"), text).unwrap();
            with_size(&roots)
        };
        assert_eq!(with_size(&roots), None);
        let head = "major minor  #blocks  name\n\n";
        assert_eq!(listed(head), Some(Vec::new()));
        let found =
            listed(&format!("{head}   7        0      32768 loop0\n 254        0  268435456 vda\n")).unwrap();
        let loop0 = SizedDevice { name: "loop0".to_string(), major: 7, size_bytes: 32 << 20 };
        assert_eq!((found.len(), &found[0]), (2, &loop0));
        for odd in ["", "nothing of the kind\n", "major minor  #blocks  name\n\n 7 0 many loop0\n"] {
            assert_eq!(listed(odd), None, "{odd:?}: a device may be missing");
        }
    }
}

//! How a disk is attached: its PCI link, the memory node it is near, power saving of link and drive, its temperature.
//!
//! Sources: the kernel's `Documentation/ABI/testing/sysfs-bus-pci` (`current_link_speed`, `numa_node`),
//! `testing/sysfs-devices-power` and `drivers/nvme/host/core.c` (`power/pm_qos_latency_tolerance_us`),
//! `Documentation/scsi/link_power_management_policy.rst`, `Documentation/hwmon/sysfs-interface.rst`.
//!
//! The write cache of a disk as sysfs lets one switch it.
//!
//! Three files say `write back` (on) or `write through` (off). A SCSI, SAS or SATA disk's `cache_type`
//! changes the disk itself (kernel, `drivers/scsi/sd.c`, `cache_type_store`), a virtio disk's asks the host
//! (`drivers/block/virtio_blk.c`), where the host lets it. `queue/write_cache` only changes what the kernel
//! does: with `write through` it sends no flush, whatever the disk's cache still holds
//! (`Documentation/ABI/stable/sysfs-block`). NVMe disks have only that one: their own cache is changed with
//! an administrative command (feature 6), which is no file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::machine::chain::{Layer, LayerKind};
use crate::machine::device::BlockDevice;
use crate::machine::roots::Roots;
use crate::machine::roots::{Setting, is_number, number_in, read_number, read_word};
use crate::sys::error::system_text;
use crate::sys::file::Stat;
use crate::text::printable_path;

/// A PCI Express link as it is, and what its ends could.
#[derive(Debug, Clone, PartialEq)]
pub struct PciLink {
    /// Address of the device, e.g. `0000:01:00.0`.
    pub address: String,
    /// Its speed and lanes now.
    pub now: LinkWidth,
    /// The most that the device can.
    pub device_max: LinkWidth,
    /// The most that the port above it can, where the kernel tells.
    pub port_max: Option<LinkWidth>,
}

/// Speed of a lane and number of lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkWidth {
    /// Gigatransfers per second and lane.
    pub gigatransfers: f64,
    /// Number of lanes of the link.
    pub lanes: u32,
}

impl LinkWidth {
    fn read(dir: &Path, which: &str) -> Option<Self> {
        let speed = read_word(&dir.join(format!("{which}_link_speed")))?;
        // "8.0 GT/s PCIe", or "Unknown".
        let gigatransfers = speed.split_whitespace().next()?.parse().ok()?;
        let lanes = read_number(&dir.join(format!("{which}_link_width"))).filter(|&lanes| lanes > 0)?;
        Some(LinkWidth { gigatransfers, lanes })
    }

    /// What goes through it, for comparing.
    pub fn rate(self) -> f64 {
        self.gigatransfers * f64::from(self.lanes)
    }

    /// The link as people write it: `8 GT/s x4`.
    pub fn words(self) -> String {
        format!("{} GT/s x{}", self.gigatransfers, self.lanes)
    }

    /// The least of both ends.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        LinkWidth {
            gigatransfers: self.gigatransfers.min(other.gigatransfers),
            lanes: self.lanes.min(other.lanes),
        }
    }
}

/// The links of a disk: one, or one for each controller by which it is reached; none where it is on no PCI Express bus.
pub fn pci_links(device: &BlockDevice) -> Vec<PciLink> {
    let mut links: Vec<PciLink> = functions(device).iter().filter_map(|dir| link_at(dir)).collect();
    links.dedup();
    links
}

fn link_at(dir: &Path) -> Option<PciLink> {
    let port = dir.parent().and_then(|port| LinkWidth::read(port, "max"));
    Some(PciLink {
        address: dir.file_name()?.to_str()?.to_string(),
        now: LinkWidth::read(dir, "current")?,
        device_max: LinkWidth::read(dir, "max")?,
        port_max: port,
    })
}

/// Folders of the PCI devices that a disk is attached to.
fn functions(device: &BlockDevice) -> Vec<PathBuf> {
    let nvme = nvme_controllers(device);
    let from = if nvme.is_empty() { vec![device.dir().to_path_buf()] } else { nvme };
    let found = from.iter().filter_map(|dir| dir.ancestors().find(|dir| is_pci_address(dir)));
    let mut found: Vec<PathBuf> = found.map(Path::to_path_buf).collect();
    found.sort();
    found.dedup();
    found
}

fn is_pci_address(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parts: Vec<&str> = name.split([':', '.']).collect();
    parts.len() == 4
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The memory node that a disk is near; `None` where the machine does not tell.
pub fn node_of(device: &BlockDevice) -> Option<u32> {
    // -1 is a node that the firmware does not name.
    functions(device).iter().find_map(|dir| u32::try_from(read_number::<i64>(&dir.join("numa_node"))?).ok())
}

/// Folders of the NVMe controllers of a namespace.
pub(crate) fn nvme_controllers(device: &BlockDevice) -> Vec<PathBuf> {
    let Ok(owner) = fs::canonicalize(device.dir().join("device")) else { return Vec::new() };
    if is_controller(&owner) {
        return vec![owner];
    }
    let inside = children(&owner).into_iter().filter(|dir| is_controller(dir));
    let mut controllers: Vec<PathBuf> = inside.filter_map(|dir| fs::canonicalize(dir).ok()).collect();
    controllers.sort();
    controllers.dedup();
    controllers
}

fn is_controller(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(b"nvme") && dir.join("transport").exists()
}

/// How long an NVMe drive may take to wake up from power states that it enters by itself, in microseconds; 0 keeps it
/// awake. None for drives that have no such states.
pub fn nvme_wake_limits(device: &BlockDevice, roots: &Roots) -> Vec<Setting> {
    let mut limits = Vec::new();
    for dir in nvme_controllers(device) {
        let short = roots.sys.join("class/nvme").join(dir.file_name().unwrap_or_default());
        let shown = if short.exists() { short } else { dir };
        limits.push(Setting::read(shown.join("power/pm_qos_latency_tolerance_us")));
    }
    limits
}

/// Power saving of a SATA link; `None` for disks on no host adapter.
pub fn sata_link_policy(device: &BlockDevice, roots: &Roots) -> Option<Setting> {
    let mut parts = device.dir().components().filter_map(|part| part.as_os_str().to_str());
    let host = parts.find(|part| part.strip_prefix("host").is_some_and(is_number))?;
    Some(Setting::read(roots.sys.join("class/scsi_host").join(host).join("link_power_management_policy")))
}

/// What a sensor of a drive says, in thousandths of a degree Celsius.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temperature {
    /// What the sensor says now.
    pub now: i64,
    /// From where on the drive calls itself too warm.
    pub warm: Option<i64>,
    /// From where on it is in danger.
    pub critical: Option<i64>,
}

/// The temperature of a drive, where a driver shows its sensor (`nvme`, `drivetemp`).
pub fn temperature(device: &BlockDevice) -> Option<Temperature> {
    let mut places = nvme_controllers(device);
    places.push(device.dir().join("device"));
    places.iter().flat_map(|dir| sensors(dir)).find_map(|sensor| {
        Some(Temperature {
            now: number_in(&sensor, "temp1_input")?,
            warm: number_in(&sensor, "temp1_max"),
            critical: number_in(&sensor, "temp1_crit"),
        })
    })
}

fn sensors(dir: &Path) -> Vec<PathBuf> {
    let mut found = children(dir);
    found.extend(children(&dir.join("hwmon")));
    found.retain(|dir| dir.join("temp1_input").exists());
    found.sort();
    found
}

/// The kernel's word for a cache that is on.
pub const WRITE_BACK: &str = "write back";
/// The kernel's word for a cache that is off.
pub const WRITE_THROUGH: &str = "write through";

/// Whether a switch changes the disk or the kernel's view of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The disk: off, a write is acknowledged when it is durable.
    Disk,
    /// Only the kernel: off, it sends no flushes, and the disk's cache stays as it is.
    Kernel,
}

/// The switch of a disk's write cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Kernel name of the disk.
    pub disk: String,
    /// `cache_type` of the disk, or `queue/write_cache`.
    pub path: PathBuf,
    /// Whether the disk itself changes by it.
    pub reach: Reach,
    /// What it says now: [`WRITE_BACK`] or [`WRITE_THROUGH`].
    pub now: String,
}

const CANNOT_BE_SWITCHED: &str = ": the write cache cannot be switched";

fn refused(disk: &str, why: &str) -> Refusal {
    Refusal::new(RefusalKind::Target, format!("{disk}{why}")).on(disk)
}

impl Switch {
    /// Of the disk with this kernel name.
    ///
    /// # Errors
    /// There is none, or it says something else.
    pub fn of(disk: &str, roots: &Roots) -> Result<Self, Refusal> {
        let device =
            BlockDevice::named(disk, roots).ok_or_else(|| refused(disk, ": sysfs has no such disk"))?;
        let scsi =
            children(&device.dir().join("device/scsi_disk")).into_iter().map(|dir| dir.join("cache_type"));
        // A host that does not let a virtio disk be switched shows the file read-only.
        let of_disk = scsi.chain([device.dir().join("cache_type")]).find(|path| is_for_writing(path));
        let (path, reach) = match of_disk {
            Some(path) => (path, Reach::Disk),
            None => (device.queue("write_cache"), Reach::Kernel),
        };
        match read_word(&path) {
            Some(now) if now == WRITE_BACK || now == WRITE_THROUGH => {
                Ok(Switch { disk: disk.to_string(), path, reach, now })
            }
            Some(now) => {
                let path = printable_path(&path);
                let neither = format!("{path} is '{now}', neither '{WRITE_BACK}' nor '{WRITE_THROUGH}'");
                Err(refused(disk, &format!("{CANNOT_BE_SWITCHED}: {neither}")))
            }
            None => {
                Err(refused(disk, &format!(": it has no write cache setting ({})", printable_path(&path))))
            }
        }
    }

    /// Whether this program may switch it.
    ///
    /// # Errors
    /// It may not, or nobody may.
    pub fn check(&self) -> Result<(), Refusal> {
        let path = printable_path(&self.path);
        if self.path.exists() && !is_for_writing(&self.path) {
            let why = "is read-only, even for root: the host or the driver does not allow it";
            return Err(
                refused(&self.disk, &format!("{CANNOT_BE_SWITCHED}: {path} {why}")).hint("give another disk")
            );
        }
        File::options().write(true).open(&self.path).map(|_| ()).map_err(|error| {
            refused(&self.disk, &format!("{CANNOT_BE_SWITCHED} ({path}: {})", system_text(&error)))
                .hint("run as root, on the machine that owns the disk")
        })
    }

    /// Switches, and looks whether it did.
    ///
    /// # Errors
    /// It does not say so now.
    pub fn set(&self, to: &str) -> Result<(), Failure> {
        let failed = |why: String| {
            let path = printable_path(&self.path);
            let words = format!("{}: the write cache could not be set to '{to}' ({path}: {why})", self.disk);
            Failure::new(FailureKind::Output, words).on(&self.disk)
        };
        if read_word(&self.path).as_deref() == Some(to) {
            return Ok(());
        }
        put(&self.path, to, |path, line| fs::write(path, line)).map_err(|not_set| match not_set {
            NotSet::Refused(error) => failed(system_text(&error)),
            NotSet::Still(now) => failed(format!(
                "the value was accepted, but is still '{now}': this disk has no cache to switch"
            )),
        })
    }
}

/// Why a setting does not say what it was set to.
#[derive(Debug)]
pub enum NotSet {
    /// The system refused the word.
    Refused(io::Error),
    /// It took the word and says this.
    Still(String),
}

/// Writes a setting by `write`, and looks whether that helped.
pub fn put(
    path: &Path,
    word: &str,
    write: impl FnOnce(&Path, String) -> io::Result<()>,
) -> Result<(), NotSet> {
    // Older kernels want the line end (`cache_type_store` compares with it).
    write(path, format!("{word}\n")).map_err(NotSet::Refused)?;
    match read_word(path) {
        Some(now) if now == word => Ok(()),
        now => Err(NotSet::Still(now.unwrap_or_default())),
    }
}

/// Kernel names of the disks whose caches a target's writes go into: the first whole devices on the way down
/// that are no mere map of others. A loop device is one: its flushes are syncs of its file.
pub fn disks(layers: &[Layer]) -> Vec<String> {
    fn below(layers: &[Layer], at: usize, found: &mut Vec<String>) {
        let layer = &layers[at];
        let is_disk = matches!(
            layer.kind,
            LayerKind::Disk | LayerKind::NetworkDisk | LayerKind::Loop | LayerKind::Memory
        );
        if is_disk && layer.number.is_some() {
            found.push(layer.name.clone())
        } else {
            layer.below.iter().for_each(|&next| below(layers, next, found))
        }
    }
    let mut found = Vec::new();
    if !layers.is_empty() {
        below(layers, 0, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// Whether anybody may write the file: root passes over a mode, and the kernel refuses it all the same.
fn is_for_writing(path: &Path) -> bool {
    Stat::at(path).is_ok_and(|stat| stat.mode & 0o222 != 0)
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::symlink;

    /// An NVMe drive and a SATA disk.
    fn tree() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().expect("a folder");
        let sys = dir.path().join("sys");
        let put = |path: &str, text: &str| {
            let path = sys.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let port = "devices/pci0000:00/0000:00:1d.0";
        let drive = format!("{port}/0000:01:00.0");
        for (at, speed, lanes) in [(port, "8.0 GT/s PCIe", "4"), (drive.as_str(), "16.0 GT/s PCIe", "4")] {
            put(&format!("{at}/max_link_speed"), speed);
            put(&format!("{at}/max_link_width"), lanes);
        }
        put(&format!("{drive}/current_link_speed"), "2.5 GT/s PCIe\n");
        put(&format!("{drive}/current_link_width"), "4\n");
        put(&format!("{drive}/numa_node"), "1\n");
        put(&format!("{drive}/nvme/nvme0/transport"), "pcie\n");
        put(&format!("{drive}/nvme/nvme0/power/pm_qos_latency_tolerance_us"), "100000\n");
        put(&format!("{drive}/nvme/nvme0/hwmon2/temp1_input"), "71850\n");
        put(&format!("{drive}/nvme/nvme0/hwmon2/temp1_max"), "81850\n");
        put(&format!("{drive}/nvme/nvme0/nvme0n1/dev"), "259:0\n");
        let disk = "devices/pci0000:00/0000:00:17.0/ata1/host3/target3:0:0/3:0:0:0/block/sda";
        put(&format!("{disk}/dev"), "8:0\n");
        put("class/scsi_host/host3/link_power_management_policy", "med_power_with_dipm\n");
        fs::create_dir_all(sys.join("block")).expect("a folder");
        symlink(sys.join(&drive).join("nvme/nvme0/nvme0n1"), sys.join("block/nvme0n1")).expect("a link");
        symlink(sys.join(&drive).join("nvme/nvme0"), sys.join(&drive).join("nvme/nvme0/nvme0n1/device"))
            .expect("a link");
        symlink(sys.join(disk), sys.join("block/sda")).expect("a link");
        (dir, Roots { sys, ..Roots::default() })
    }

    #[test]
    fn how_an_nvme_drive_is_attached() {
        let (_dir, roots) = tree();
        let drive = BlockDevice::named("nvme0n1", &roots).expect("it is there");
        let links = pci_links(&drive);
        assert_eq!(links.len(), 1, "{links:?}");
        let width = |gigatransfers| LinkWidth { gigatransfers, lanes: 4 };
        assert_eq!((links[0].now, links[0].device_max), (width(2.5), width(16.0)));
        assert_eq!(links[0].port_max, Some(width(8.0)));
        assert_eq!(links[0].device_max.and(width(8.0)).words(), "8 GT/s x4");
        assert_eq!((links[0].address.as_str(), node_of(&drive)), ("0000:01:00.0", Some(1)));
        assert_eq!(nvme_wake_limits(&drive, &roots)[0].number(), Some(100_000));
        assert_eq!(temperature(&drive), Some(Temperature { now: 71850, warm: Some(81850), critical: None }));
        assert_eq!(sata_link_policy(&drive, &roots), None);
    }

    #[test]
    fn how_a_sata_disk_is_attached() {
        let (_dir, roots) = tree();
        let disk = BlockDevice::named("sda", &roots).expect("it is there");
        assert!(pci_links(&disk).is_empty() && nvme_wake_limits(&disk, &roots).is_empty());
        assert_eq!((node_of(&disk), temperature(&disk)), (None, None));
        let policy = sata_link_policy(&disk, &roots).expect("it has a host");
        assert_eq!(policy.word(), Some("med_power_with_dipm"));
    }
}

#[cfg(test)]
mod tests_write_cache {
    use super::*;

    /// A tree with a SCSI, a virtio and an NVMe disk.
    fn tree() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path().join("sys");
        let put = |path: &str, text: &str| {
            let path = sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (disk, number) in
            [("sda", "8:0"), ("vda", "253:0"), ("nvme0n1", "259:0"), ("odd", "7:0"), ("mute", "7:1")]
        {
            put(&format!("block/{disk}/dev"), &format!("{number}\n"));
        }
        put("block/sda/queue/write_cache", "write back\n");
        put("block/sda/device/scsi_disk/0:0:0:0/cache_type", "write back\n");
        put("block/vda/queue/write_cache", "write through\n");
        put("block/vda/cache_type", "write through\n");
        put("block/nvme0n1/queue/write_cache", "write back\n");
        put("block/odd/cache_type", "none\n");
        let roots = Roots { sys, ..Roots::default() };
        (dir, roots)
    }

    #[test]
    fn the_switch_nearest_to_the_disk_is_taken() {
        let (_dir, roots) = tree();
        let of = |disk: &str| Switch::of(disk, &roots);
        let sda = of("sda").unwrap();
        assert!(sda.path.ends_with("0:0:0:0/cache_type"));
        assert_eq!((sda.reach, sda.now.as_str()), (Reach::Disk, WRITE_BACK));
        let vda = of("vda").unwrap();
        assert_eq!((vda.reach, vda.now.as_str()), (Reach::Disk, WRITE_THROUGH));
        let nvme = of("nvme0n1").unwrap();
        assert!(nvme.path.ends_with("queue/write_cache"));
        assert_eq!(nvme.reach, Reach::Kernel);
        assert!(of("odd").unwrap_err().to_string().contains("'none'"));
        assert!(of("mute").unwrap_err().to_string().contains("it has no write cache setting ("));
        assert!(of("none").unwrap_err().to_string().contains("none: sysfs has no such disk"));
    }

    #[test]
    fn it_is_switched_and_back() {
        let (_dir, roots) = tree();
        let switch = Switch::of("sda", &roots).unwrap();
        switch.check().unwrap();
        switch.set(WRITE_THROUGH).unwrap();
        assert_eq!(
            fs::read_to_string(&switch.path).unwrap(),
            format!("{WRITE_THROUGH}\n"),
            "as sysfs wants it"
        );
        switch.set(WRITE_BACK).unwrap();
        assert_eq!(Switch::of("sda", &roots).unwrap(), switch);
        let gone = Switch { path: switch.path.with_file_name("gone/x"), ..switch };
        assert!(gone.check().unwrap_err().to_string().contains("run as root"));
        assert!(gone.set(WRITE_BACK).unwrap_err().to_string().contains("could not be set"));
    }

    #[test]
    fn where_the_host_does_not_let_it_the_kernels_part_is_switched() {
        let (_dir, roots) = tree();
        let lock = |path: &str| {
            let path = roots.sys.join(path);
            crate::sys::made::set_mode(&path, 0o444).unwrap();
        };
        lock("block/vda/cache_type");
        let vda = Switch::of("vda", &roots).unwrap();
        assert!(vda.path.ends_with("queue/write_cache"));
        assert_eq!(vda.reach, Reach::Kernel);
        vda.check().unwrap();
        lock("block/vda/queue/write_cache");
        let words = vda.check().unwrap_err().to_string();
        assert!(
            words.contains("is read-only, even for root: the host or the driver does not allow it")
                && !words.contains("run as root"),
            "{words}"
        );
    }

    #[test]
    fn maps_are_seen_through_and_loop_devices_are_not() {
        let number = Some(super::super::device::DeviceNumber { major: 7, minor: 0 });
        let layer = |kind, name: &str, below: &[usize]| {
            let number = if kind == LayerKind::File || kind == LayerKind::Filesystem { None } else { number };
            Layer { kind, name: name.into(), below: below.to_vec(), number, ..Layer::default() }
        };
        let mirrored = [
            layer(LayerKind::File, "/m/f", &[1]),
            layer(LayerKind::Filesystem, "ext4", &[2]),
            layer(LayerKind::Md, "md0", &[3, 5]),
            layer(LayerKind::Partition, "sda1", &[4]),
            layer(LayerKind::Disk, "sda", &[]),
            layer(LayerKind::Loop, "loop3", &[6]),
            layer(LayerKind::File, "/image", &[4]),
        ];
        assert_eq!(disks(&mirrored), ["loop3", "sda"]);
        assert!(disks(&[]).is_empty());
    }
}

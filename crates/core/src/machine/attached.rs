//! How a disk is attached: its PCI link, the memory node it is near, power saving of link and drive, its temperature.
//!
//! Sources: the kernel's `Documentation/ABI/testing/sysfs-bus-pci` (`current_link_speed`, `numa_node`),
//! `testing/sysfs-devices-power` and `drivers/nvme/host/core.c` (`power/pm_qos_latency_tolerance_us`),
//! `Documentation/scsi/link_power_management_policy.rst`, `Documentation/hwmon/sysfs-interface.rst`.

use std::fs;
use std::path::{Path, PathBuf};

use super::device::BlockDevice;
use super::roots::Roots;
use super::setting::Setting;
use super::setting::{read_number, read_word};

/// A PCI Express link as it is, and what its ends could.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PciLink {
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
pub(crate) struct LinkWidth {
    /// Gigatransfers per second and lane.
    pub gigatransfers: f64,
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
pub(crate) fn pci_links(device: &BlockDevice) -> Vec<PciLink> {
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
    let of = |dir: &PathBuf| dir.ancestors().find(|dir| is_pci_address(dir)).map(Path::to_path_buf);
    let mut found: Vec<PathBuf> = from.iter().filter_map(of).collect();
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
    let is_controller = |dir: &Path| {
        let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("nvme") && dir.join("transport").exists()
    };
    if is_controller(&owner) {
        return vec![owner];
    }
    let inside = fs::read_dir(&owner).into_iter().flatten().flatten().map(|entry| entry.path());
    let controllers = inside.filter(|dir| is_controller(dir)).filter_map(|dir| fs::canonicalize(dir).ok());
    let mut controllers: Vec<PathBuf> = controllers.collect();
    controllers.sort();
    controllers.dedup();
    controllers
}

/// How long an NVMe drive may take to wake up from power states that it enters by itself, in microseconds; 0 keeps it
/// awake. None for drives that have no such states.
pub(crate) fn nvme_wake_limits(device: &BlockDevice, roots: &Roots) -> Vec<Setting> {
    let shown = |dir: &PathBuf| {
        let short = roots.sys.join("class/nvme").join(dir.file_name().unwrap_or_default());
        if short.exists() { short } else { dir.clone() }
    };
    let dirs = nvme_controllers(device);
    dirs.iter().map(|dir| Setting::read(shown(dir).join("power/pm_qos_latency_tolerance_us"))).collect()
}

/// Power saving of a SATA link; `None` for disks on no host adapter.
pub(crate) fn sata_link_policy(device: &BlockDevice, roots: &Roots) -> Option<Setting> {
    let is_host = |part: &&str| part.strip_prefix("host").is_some_and(|n| n.parse::<u32>().is_ok());
    let host = device.dir().components().filter_map(|part| part.as_os_str().to_str()).find(is_host)?;
    Some(Setting::read(roots.sys.join("class/scsi_host").join(host).join("link_power_management_policy")))
}

/// What a sensor of a drive says, in thousandths of a degree Celsius.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Temperature {
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
        let value = |name: &str| read_number::<i64>(&sensor.join(name));
        Some(Temperature {
            now: value("temp1_input")?,
            warm: value("temp1_max"),
            critical: value("temp1_crit"),
        })
    })
}

fn sensors(dir: &Path) -> Vec<PathBuf> {
    let inside = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = inside(dir).chain(inside(&dir.join("hwmon"))).collect();
    found.retain(|dir| dir.join("temp1_input").exists());
    found.sort();
    found
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

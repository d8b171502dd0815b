//! How a disk is connected, what it calls itself, and who serves it.
//!
//! The path of a device in sysfs goes through every bus between the processor and the disk; its parts tell the
//! transport. NVMe, SCSI and iSCSI tell more in the directories of their controllers.

use std::path::{Path, PathBuf};

use super::details::{DevicePath, LayerDetails, LayerRole};
use super::filesystem::names_in;
use crate::machine::device::BlockDevice;
use crate::machine::read::{read_number, read_word};
use crate::machine::roots::Roots;

/// What is known of the way to a disk.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// As in [`super::Layer::transport`].
    pub transport: Option<String>,
    pub model: Option<String>,
    pub server: Option<String>,
    pub queue_depth: Option<u32>,
    pub details: Option<LayerDetails>,
    /// Another machine holds the data.
    pub is_network: bool,
}

/// Parts of a path in sysfs and what they mean, most telling first.
const PARTS: &[(&str, &str)] = &[
    ("usb", "usb"),
    ("ata", "sata"),
    ("end_device-", "sas"),
    ("rport-", "fc"),
    ("mmc_host", "mmc"),
    ("ufshcd", "ufs"),
    ("VMBUS", "hyper-v"),
    ("vmbus_", "hyper-v"),
    ("vbd-", "xen"),
    ("virtio", "virtio"),
    ("ublkb", "ublk"),
    ("ndbus", "pmem"),
];

pub(super) fn connection(device: &BlockDevice, roots: &Roots) -> Connection {
    let dir = device.dir();
    if device.name.starts_with("nvme") {
        return nvme(dir);
    }
    if device.name.starts_with("rbd") {
        return rbd(dir);
    }
    let mut found = Connection {
        transport: transport_of_path(dir),
        model: model(dir),
        queue_depth: read_number(&dir.join("device/queue_depth")).or_else(|| tags(dir)),
        ..Connection::default()
    };
    if let Some(session) = part_starting(dir, "session") {
        found.transport = Some("iscsi".to_string());
        found.is_network = true;
        found.server = iscsi_server(&session, roots);
    } else if found.transport.is_none()
        && let Some(host) = part_starting(dir, "host")
    {
        // A controller that hides what is behind it: a RAID adapter, or one of a virtual machine.
        found.transport = Some("scsi".to_string());
        let driver = read_word(&roots.sys.join("class/scsi_host").join(host).join("proc_name"));
        let driver = driver.filter(|d| !d.is_empty() && d != "(null)");
        let details = |driver| LayerDetails { driver: Some(driver), ..LayerDetails::of(LayerRole::Adapter) };
        found.details = driver.map(details);
    }
    found
}

fn parts(dir: &Path) -> impl Iterator<Item = &str> {
    dir.components().filter_map(|c| c.as_os_str().to_str())
}

/// The first part of the path that is `prefix` and a number.
fn part_starting(dir: &Path, prefix: &str) -> Option<String> {
    let is_numbered = |part: &&str| part.strip_prefix(prefix).is_some_and(|n| n.parse::<u32>().is_ok());
    parts(dir).find(is_numbered).map(str::to_string)
}

fn transport_of_path(dir: &Path) -> Option<String> {
    let continues = |rest: &str, prefix: &str| {
        // `ata7` and `usb2`, but not `atari`; names that end in a sign continue with anything.
        prefix.ends_with(|c: char| !c.is_ascii_alphabetic())
            || rest.is_empty()
            || rest.starts_with(|c: char| !c.is_ascii_alphabetic())
    };
    let goes_through =
        |prefix: &str| parts(dir).any(|p| p.strip_prefix(prefix).is_some_and(|rest| continues(rest, prefix)));
    PARTS.iter().find(|(prefix, _)| goes_through(prefix)).map(|(_, name)| (*name).to_string())
}

/// Vendor and model; libata and NVMe put a constant in the place of the vendor.
fn model(dir: &Path) -> Option<String> {
    let word = |file: &str| read_word(&dir.join("device").join(file)).filter(|w| !w.is_empty());
    let model = word("model").or_else(|| word("name"))?;
    match word("vendor").filter(|v| v != "ATA" && !v.starts_with("0x")) {
        Some(vendor) => Some(format!("{vendor} {model}")),
        None => Some(model),
    }
}

/// Commands of all hardware queues together.
fn tags(dir: &Path) -> Option<u32> {
    let queues = dir.join("mq");
    let each =
        names_in(&queues).into_iter().filter_map(|q| read_number::<u32>(&queues.join(q).join("nr_tags")));
    Some(each.sum()).filter(|&sum| sum > 0)
}

/// One controller of an NVMe namespace.
struct Controller {
    name: String,
    dir: PathBuf,
}

impl Controller {
    fn word(&self, file: &str) -> Option<String> {
        read_word(&self.dir.join(file)).filter(|w| !w.is_empty())
    }

    /// Without the queue for administration.
    fn depth(&self) -> Option<u32> {
        let queues: u32 = read_number(&self.dir.join("queue_count"))?;
        let each: u32 = read_number(&self.dir.join("sqsize"))?;
        queues.saturating_sub(1).checked_mul(each)
    }

    /// `traddr=10.0.0.5,trsvcid=4420`.
    fn address(&self) -> Option<String> {
        let address = self.word("address")?;
        address.split(',').find_map(|part| part.trim().strip_prefix("traddr=")).map(str::to_string)
    }
}

/// The directory above a namespace is its controller, or with native multipath its subsystem, which lists the
/// controllers.
fn nvme(dir: &Path) -> Connection {
    let Ok(above) = std::fs::canonicalize(dir.join("device")) else { return Connection::default() };
    let name = |dir: &Path| dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_controller = |dir: &Path| dir.join("transport").exists();
    let controllers: Vec<Controller> = if is_controller(&above) {
        vec![Controller { name: name(&above), dir: above.clone() }]
    } else {
        let inside = names_in(&above).into_iter().map(|n| above.join(n)).filter(|d| is_controller(d));
        inside.map(|d| Controller { name: name(&d), dir: d }).collect()
    };
    let mut transports: Vec<String> = controllers.iter().filter_map(|c| c.word("transport")).collect();
    transports.dedup();
    let is_network = transports.iter().any(|t| matches!(t.as_str(), "tcp" | "rdma" | "fc"));
    let mut servers: Vec<String> = controllers.iter().filter_map(Controller::address).collect();
    servers.dedup();
    let depths: Vec<u32> = controllers.iter().filter_map(Controller::depth).collect();
    Connection {
        transport: Some(match transports.first().map(String::as_str) {
            None | Some("pcie" | "apple-nvme") => "nvme".to_string(),
            Some(other) => format!("nvme {other}"),
        }),
        model: model(dir),
        server: Some(servers.join(", ")).filter(|s| is_network && !s.is_empty()),
        queue_depth: tags(dir).or_else(|| Some(depths.iter().sum()).filter(|&sum| sum > 0)),
        details: paths(&controllers, read_word(&above.join("iopolicy"))),
        is_network,
    }
}

/// The controllers as paths, when there are several.
fn paths(controllers: &[Controller], policy: Option<String>) -> Option<LayerDetails> {
    if controllers.len() < 2 {
        return None;
    }
    let path = |controller: &Controller| DevicePath::new(&controller.name, controller.word("state"));
    Some(LayerDetails {
        paths: controllers.iter().map(path).collect(),
        path_policy: policy,
        ..LayerDetails::of(LayerRole::Multipath)
    })
}

/// Ceph's block device: pool, image and the monitors it was mapped with.
fn rbd(dir: &Path) -> Connection {
    let word = |file: &str| read_word(&dir.join("device").join(file)).filter(|w| !w.is_empty());
    let image = word("pool").zip(word("name")).map(|(pool, image)| format!("{pool}/{image}"));
    Connection {
        transport: Some("rbd".to_string()),
        server: word("config_info").and_then(|c| c.split_whitespace().next().map(str::to_string)),
        details: image.map(|image| LayerDetails::named(LayerRole::CephImage, image)),
        is_network: true,
        ..Connection::default()
    }
}

/// `session3` -> the address of its first connection.
fn iscsi_server(session: &str, roots: &Roots) -> Option<String> {
    let number = session.strip_prefix("session")?;
    let dir = roots.sys.join("class/iscsi_connection").join(format!("connection{number}:0"));
    read_word(&dir.join("persistent_address")).or_else(|| read_word(&dir.join("address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<String> {
        transport_of_path(Path::new(path))
    }

    #[test]
    fn the_way_through_the_buses_tells_the_transport() {
        let is = |path: &str, name: &str| assert_eq!(of(path).as_deref(), Some(name), "{path}");
        is("/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda", "sata");
        is(
            "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb",
            "usb",
        );
        is("/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "virtio");
        is("/sys/devices/platform/soc/fe320000.mmc/mmc_host/mmc0/mmc0:0001/block/mmcblk0", "mmc");
        is("/sys/devices/vbd-51712/block/xvda", "xen");
        is(
            "/sys/devices/pci0000:16/0000:17:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda",
            "sas",
        );
        assert_eq!(of("/sys/devices/virtual/block/zd0"), None);
        assert_eq!(of("/sys/devices/platform/atari/block/x"), None);
    }
}

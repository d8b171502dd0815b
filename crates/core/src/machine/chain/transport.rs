//! How a disk is connected, what it calls itself, and who serves it.
//!
//! The path of a device in sysfs goes through every bus between the processor and the disk; its parts tell the
//! transport. NVMe, SCSI and iSCSI tell more in the directories of their controllers.

use std::path::Path;

use super::bus::{Connection, model, part_starting, parts, tags};
use super::details::{LayerDetails, LayerRole};
use super::firmware::firmware;
use super::nvme::nvme;
use super::paths::{DevicePath, NOT_CONNECTED, SET_UP};
use super::scsi;
use crate::machine::device::BlockDevice;
use crate::machine::read::{read_number, read_word};
use crate::machine::roots::Roots;

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
        return nvme(device);
    }
    if device.name.starts_with("rbd") {
        return rbd(dir);
    }
    if device.name.starts_with("nbd") {
        return nbd(device);
    }
    let mut found = Connection {
        transport: transport_of_path(dir),
        model: model(dir),
        firmware: firmware(dir),
        queue_depth: read_number(&dir.join("device/queue_depth")).or_else(|| tags(dir)),
        ..Connection::default()
    };
    if let Some(way) = scsi::way(device, roots) {
        found.is_network = way.is_network;
        found.transport = Some(way.transport.to_string());
        found.server = way.server;
        found.details = Some(LayerDetails {
            target: way.target,
            paths: vec![way.path],
            ..LayerDetails::of(LayerRole::ServedDisk)
        });
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

/// A disk as one of the paths to a device of device-mapper.
pub(super) fn path_by(disk: &BlockDevice, roots: &Roots) -> DevicePath {
    let known = connection(disk, roots).details.and_then(|details| details.paths.into_iter().next());
    let path = known.unwrap_or_else(|| scsi::path_of(&disk.name, None, None, disk));
    DevicePath { name: disk.name.clone(), ..path }
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

/// Ceph's block device: pool, image and the monitors it was mapped with.
fn rbd(dir: &Path) -> Connection {
    let word = |file: &str| read_word(&dir.join("device").join(file)).filter(|w| !w.is_empty());
    let image = word("pool").zip(word("name")).map(|(pool, image)| format!("{pool}/{image}"));
    Connection {
        transport: Some("rbd".to_string()),
        server: word("config_info").and_then(|c| c.split_whitespace().next().map(str::to_string)),
        details: image.map(|image| LayerDetails {
            target: word("cluster_fsid"),
            ..LayerDetails::named(LayerRole::CephImage, image)
        }),
        is_network: true,
        ..Connection::default()
    }
}

/// A server of the network block device protocol. The kernel shows a process (`pid`) from when the device is
/// set up until it is given up, also where that process has ended or the server has gone, and what it was
/// told of the server since Linux 5.14 (`drivers/block/nbd.c`), but no address.
fn nbd(device: &BlockDevice) -> Connection {
    let word = |file: &str| read_word(&device.dir().join(file)).filter(|w| !w.is_empty());
    let state = if word("pid").is_some() { SET_UP } else { NOT_CONNECTED };
    Connection {
        transport: Some("nbd".to_string()),
        details: Some(LayerDetails {
            target: word("backend"),
            paths: vec![DevicePath::new(&device.name, Some(state.to_string()))],
            ..LayerDetails::of(LayerRole::ServedDisk)
        }),
        is_network: true,
        ..Connection::default()
    }
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

//! How a disk is connected, what it calls itself, and who serves it.
//!
//! The path of a device in sysfs goes through every bus between the processor and the disk; its parts tell the
//! transport. NVMe, SCSI and iSCSI tell more in the directories of their controllers.
//!
//! What the drivers of all buses share: the path of a device in sysfs, its model, its queues.
//!
//! Disks of SCSI that a storage server holds: by which session of iSCSI or remote port of Fibre Channel, and whether it
//! stands.
//!
//! Sources: the attributes of the kernel's `drivers/scsi/scsi_sysfs.c` (`state`, `access_state`),
//! `scsi_transport_iscsi.c` (classes `iscsi_session` and `iscsi_connection`) and `scsi_transport_fc.c` (class
//! `fc_remote_ports`).
//!
//! NVMe: controllers of a namespace, where they are, and whether they stand.
//!
//! Sources: the attributes of the kernel's `drivers/nvme/host/sysfs.c` (`transport`, `address`, `state`,
//! `subsysnqn`) and `multipath.c` (`iopolicy` of a subsystem, `ana_state` of a path).
//!
//! The revision of a disk's firmware, as the kernel shows it beside the model.
//!
//! Sources: the attributes of the kernel's `drivers/nvme/host/sysfs.c` (`firmware_rev`, of a controller and
//! of a subsystem), `drivers/scsi/scsi_sysfs.c` (`rev`, `vpd_pg89`) and `drivers/mmc/core/mmc.c` and `sd.c`
//! (`fwrev`, `prv`).
//!
//! A serial number is not read: results are sent to others, and it would name a single disk.

use std::path::{Path, PathBuf};

use super::layer::{Layer, LayerDetails, LayerKind, LayerRole};
use super::paths::{DevicePath, NOT_CONNECTED, PathAccess, SET_UP};
use crate::machine::device::BlockDevice;
use crate::machine::drive::nvme_controllers;
use crate::machine::namespace::controller_of_path;
use crate::machine::roots::Roots;
use crate::machine::roots::{is_number, names_in, read_number, read_word};

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

/// A disk as far as its connection tells: transport, model, firmware, server, queue depth and details. Of a disk
/// whose data another machine holds, the kind is [`LayerKind::NetworkDisk`].
pub(super) fn connection(device: &BlockDevice, roots: &Roots) -> Layer {
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
    let mut found = Layer {
        kind: LayerKind::Disk,
        transport: transport_of_path(dir),
        model: model(dir),
        firmware: firmware(dir),
        queue_depth: read_number(&dir.join("device/queue_depth")).or_else(|| tags(dir)),
        ..Layer::default()
    };
    if let Some(session) = part_starting(dir, "session") {
        add_iscsi(&mut found, device, &session, roots);
    } else if let Some(port) = parts(dir).find(|part| part.starts_with("rport-")) {
        // Fibre Channel is a network of storage alone, not of computers.
        let known = roots.sys.join("class/fc_remote_ports").join(port);
        let path = scsi_path(port, word(&known, "port_state"), word(&known, "port_name"), device);
        found.transport = Some("fc".to_string());
        found.details = Some(LayerDetails { paths: vec![path], ..LayerDetails::of(LayerRole::ServedDisk) });
    } else if found.transport.is_none()
        && let Some(host) = part_starting(dir, "host")
    {
        // A controller that hides what is behind it: a RAID adapter, or one of a virtual machine.
        found.transport = Some("scsi".to_string());
        if let Some(driver) = word(&roots.sys.join("class/scsi_host").join(host), "proc_name") {
            found.details =
                Some(LayerDetails { driver: Some(driver), ..LayerDetails::of(LayerRole::Adapter) });
        }
    }
    found
}

/// A disk as one of the paths to a device of device-mapper.
pub(super) fn path_by(disk: &BlockDevice, roots: &Roots) -> DevicePath {
    let known = connection(disk, roots).details.and_then(|details| details.paths.into_iter().next());
    let path = known.unwrap_or_else(|| scsi_path(&disk.name, None, None, disk));
    DevicePath { name: disk.name.clone(), ..path }
}

fn transport_of_path(dir: &Path) -> Option<String> {
    for (prefix, name) in PARTS {
        for rest in parts(dir).filter_map(|part| part.strip_prefix(prefix)) {
            // `ata7` and `usb2`, but not `atari`; names that end in a sign continue with anything.
            if !prefix.ends_with(char::is_alphabetic) || !rest.starts_with(char::is_alphabetic) {
                return Some((*name).to_string());
            }
        }
    }
    None
}

/// A disk whose data another machine holds.
fn network_disk(transport: &str, details: Option<LayerDetails>) -> Layer {
    let transport = Some(transport.to_string());
    Layer { kind: LayerKind::NetworkDisk, transport, details, ..Layer::default() }
}

/// Ceph's block device: pool, image and the monitors it was mapped with.
fn rbd(dir: &Path) -> Layer {
    let below = dir.join("device");
    let image = word(&below, "pool").zip(word(&below, "name")).map(|(pool, image)| LayerDetails {
        target: word(&below, "cluster_fsid"),
        ..LayerDetails::named(LayerRole::CephImage, format!("{pool}/{image}"))
    });
    let monitors = word(&below, "config_info");
    let server = monitors.and_then(|list| list.split_whitespace().next().map(str::to_string));
    Layer { server, ..network_disk("rbd", image) }
}

/// A server of the network block device protocol. The kernel shows a process (`pid`) from when the device is
/// set up until it is given up, also where that process has ended or the server has gone, and what it was
/// told of the server since Linux 5.14 (`drivers/block/nbd.c`), but no address.
fn nbd(device: &BlockDevice) -> Layer {
    let state = if word(device.dir(), "pid").is_some() { SET_UP } else { NOT_CONNECTED };
    let details = LayerDetails {
        target: word(device.dir(), "backend"),
        paths: vec![DevicePath::new(&device.name, Some(state.to_string()))],
        ..LayerDetails::of(LayerRole::ServedDisk)
    };
    network_disk("nbd", Some(details))
}

fn parts(dir: &Path) -> impl Iterator<Item = &str> {
    dir.components().filter_map(|c| c.as_os_str().to_str())
}

/// The first part of the path that is `prefix` and a number.
fn part_starting(dir: &Path, prefix: &str) -> Option<String> {
    parts(dir).find(|part| part.strip_prefix(prefix).is_some_and(is_number)).map(str::to_string)
}

/// Vendor and model; libata and NVMe put a constant in the place of the vendor.
fn model(dir: &Path) -> Option<String> {
    let below = dir.join("device");
    let model = word(&below, "model").or_else(|| word(&below, "name"))?;
    match word(&below, "vendor").filter(|v| v != "ATA" && !v.starts_with("0x")) {
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

fn endpoint(host: &str, port: &str) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// A disk of the session `session3` and its first connection; iSCSI on Linux has no other.
fn add_iscsi(found: &mut Layer, device: &BlockDevice, name: &str, roots: &Roots) {
    let number = name.strip_prefix("session").unwrap_or_default();
    let session = roots.sys.join("class/iscsi_session").join(name);
    let connection = roots.sys.join("class/iscsi_connection").join(format!("connection{number}:0"));
    let server = word(&connection, "persistent_address").or_else(|| word(&connection, "address"));
    let port = word(&connection, "persistent_port").or_else(|| word(&connection, "port"));
    let address = server.as_ref().map(|host| match &port {
        Some(port) => endpoint(host, port),
        None => host.clone(),
    });
    found.kind = LayerKind::NetworkDisk;
    found.transport = Some("iscsi".to_string());
    found.details = Some(LayerDetails {
        target: word(&session, "targetname"),
        paths: vec![scsi_path(name, word(&session, "state"), address, device)],
        ..LayerDetails::of(LayerRole::ServedDisk)
    });
    found.server = server;
}

/// A path to a disk as the disk itself tells: its state, and how the storage serves it.
fn scsi_path(name: &str, state: Option<String>, address: Option<String>, device: &BlockDevice) -> DevicePath {
    let below = device.dir().join("device");
    let access = word(&below, "access_state").map(|word| PathAccess::of(&word));
    DevicePath { address, access, ..DevicePath::of_parts(name, [state, word(&below, "state")]) }
}

fn word(dir: &Path, file: &str) -> Option<String> {
    read_word(&dir.join(file)).filter(|word| !word.is_empty() && word != "(null)" && word != "<NULL>")
}

/// One controller of a namespace.
struct Controller {
    name: String,
    dir: PathBuf,
}

impl Controller {
    fn at(dir: PathBuf) -> Self {
        Controller { name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(), dir }
    }

    /// Without the queue for administration.
    fn depth(&self) -> Option<u32> {
        let queues: u32 = read_number(&self.dir.join("queue_count"))?;
        let each: u32 = read_number(&self.dir.join("sqsize"))?;
        queues.saturating_sub(1).checked_mul(each)
    }

    fn part_of_address(&self, name: &str) -> Option<String> {
        let address = word(&self.dir, "address")?;
        let mut parts = address.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
    }

    fn host(&self) -> Option<String> {
        self.part_of_address("traddr")
    }

    /// The path to a namespace that this controller is.
    fn path(&self, namespace: &str) -> DevicePath {
        let address = self.host().map(|host| match self.part_of_address("trsvcid") {
            Some(port) => endpoint(&host, &port),
            None => host,
        });
        // With native multipath each path has a disk of its own, which is hidden.
        let below =
            names_in(&self.dir).into_iter().find(|name| controller_of_path(name, namespace).is_some());
        let state = below.and_then(|disk| word(&self.dir, &format!("{disk}/ana_state")));
        let access = state.map(|state| PathAccess::of(&state));
        DevicePath { address, access, ..DevicePath::new(&self.name, word(&self.dir, "state")) }
    }
}

/// Transports that lead to another machine.
const NETWORKS: [&str; 3] = ["tcp", "rdma", "fc"];

/// The directory above a namespace is its controller, or with native multipath its subsystem, which lists the
/// controllers.
fn nvme(device: &BlockDevice) -> Layer {
    let dir = device.dir();
    let Ok(above) = std::fs::canonicalize(dir.join("device")) else { return Layer::default() };
    let mut controllers: Vec<Controller> = nvme_controllers(device).into_iter().map(Controller::at).collect();
    controllers.sort_by(|a, b| a.name.cmp(&b.name));
    let mut transports: Vec<String> = controllers.iter().filter_map(|c| word(&c.dir, "transport")).collect();
    transports.dedup();
    let is_network = transports.iter().any(|t| NETWORKS.contains(&t.as_str()));
    let mut servers: Vec<String> = controllers.iter().filter_map(Controller::host).collect();
    servers.dedup();
    let depths: Vec<u32> = controllers.iter().filter_map(Controller::depth).collect();
    Layer {
        kind: if is_network { LayerKind::NetworkDisk } else { LayerKind::Disk },
        transport: Some(match transports.first().map(String::as_str) {
            None | Some("pcie" | "apple-nvme") => "nvme".to_string(),
            Some(other) => format!("nvme {other}"),
        }),
        model: model(dir),
        // The subsystem of several paths shows that of its controllers.
        firmware: firmware(dir).or_else(|| controllers.iter().find_map(|c| word(&c.dir, "firmware_rev"))),
        server: Some(servers.join(", ")).filter(|s| is_network && !s.is_empty()),
        queue_depth: tags(dir).or_else(|| Some(depths.iter().sum()).filter(|&sum| sum > 0)),
        details: nvme_details(&controllers, &device.name, &above, is_network),
        ..Layer::default()
    }
}

/// The controllers as paths, when there are several or they lead to another machine. A namespace of several
/// paths has lost them all when no controller is listed.
fn nvme_details(
    controllers: &[Controller],
    name: &str,
    above: &Path,
    is_network: bool,
) -> Option<LayerDetails> {
    let role = match controllers.len() {
        0 => return None,
        1 if !is_network => return None,
        1 => LayerRole::ServedDisk,
        _ => LayerRole::Multipath,
    };
    Some(LayerDetails {
        target: if is_network { word(above, "subsysnqn") } else { None },
        paths: controllers.iter().map(|controller| controller.path(name)).collect(),
        path_policy: read_word(&above.join("iopolicy")),
        ..LayerDetails::of(role)
    })
}

/// Of the disk whose directory in sysfs this is; `None` where the driver shows none (virtio, Xen, network
/// block devices).
fn firmware(dir: &Path) -> Option<String> {
    let below = &dir.join("device");
    let ata = std::fs::read(below.join("vpd_pg89")).ok().and_then(|page| ata_revision(&page));
    let revision = ata.or_else(|| word(below, "firmware_rev")).or_else(|| word(below, "rev"));
    // Only eMMC from version 5 on has more than 0 in `fwrev`; an SD card has no other.
    let card = word(below, "fwrev");
    let is_told = card
        .as_ref()
        .is_some_and(|revision| revision.trim_start_matches("0x").chars().any(|digit| digit != '0'));
    let card = if is_told { card } else { word(below, "prv").or(card) };
    revision.or(card)
}

/// Vital product data of ATA disks: INQUIRY, "ATA Information VPD page" (SAT-4, 12.4.2).
const ATA_PAGE: u8 = 0x89;
/// The place of the command that made the data in it, and the command of disks.
const COMMAND: (usize, u8) = (56, 0xec);
/// The firmware revision in it: words 23 to 26 of IDENTIFY DEVICE (ACS-4, 7.13), which begins at byte 60.
const REVISION: std::ops::Range<usize> = 60 + 2 * 23..60 + 2 * 27;

/// The whole revision of an ATA disk: eight characters, of which `rev` has only the last four.
fn ata_revision(page: &[u8]) -> Option<String> {
    let (place, command) = COMMAND;
    if page.get(1) != Some(&ATA_PAGE) || page.get(place) != Some(&command) {
        return None;
    }
    // ATA writes the two characters of a word the other way round.
    let characters: Vec<u8> = page.get(REVISION)?.chunks(2).flat_map(|word| [word[1], word[0]]).collect();
    let text = std::str::from_utf8(&characters).ok()?.trim_matches([' ', '\0']);
    let is_text = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    is_text.then(|| text.to_string())
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

#[cfg(test)]
mod tests_bus {
    use super::*;

    #[test]
    fn numeric_addresses_stay_apart_from_ports() {
        assert_eq!(endpoint("10.0.0.5", "4420"), "10.0.0.5:4420");
        assert_eq!(endpoint("fd00::5", "3260"), "[fd00::5]:3260");
        assert_eq!(endpoint("[fd00::5]", "3260"), "[fd00::5]:3260");
    }
}

#[cfg(test)]
mod tests_firmware {
    use super::*;

    fn page(revision: &[u8; 8]) -> Vec<u8> {
        let mut page = vec![0; 572];
        (page[1], page[COMMAND.0]) = (ATA_PAGE, COMMAND.1);
        for (word, pair) in page[REVISION].chunks_mut(2).zip(revision.chunks(2)) {
            word.copy_from_slice(&[pair[1], pair[0]]);
        }
        page
    }

    #[test]
    fn the_whole_revision_of_an_ata_disk() {
        assert_eq!(ata_revision(&page(b"01.01K02")).as_deref(), Some("01.01K02"));
        assert_eq!(ata_revision(&page(b"SC60    ")).as_deref(), Some("SC60"));
        for none in
            [page(b"        "), page(b"\0\0\0\0\0\0\0\0"), page(b"\x01bc.1234"), page(b"\xff\xffabcdef")]
        {
            assert_eq!(ata_revision(&none), None);
        }
        let whole = page(b"01.01K02");
        assert_eq!(ata_revision(&whole[..REVISION.end - 1]), None, "cut");
        assert_eq!(ata_revision(&[]), None);
        for (at, other) in [(1, 0x83), (COMMAND.0, 0xa1)] {
            let mut page = whole.clone();
            page[at] = other;
            assert_eq!(ata_revision(&page), None, "another page, or no disk");
        }
    }

    #[test]
    fn cards_have_it_in_one_of_two_registers() {
        for (files, revision) in [
            (&[("fwrev", "0x0600000000000000"), ("prv", "0x6")][..], Some("0x0600000000000000")),
            (&[("fwrev", "0x0"), ("prv", "0x7")], Some("0x7")),
            (&[("fwrev", "0x0000000000000000"), ("prv", "0x7")], Some("0x7")),
            (&[("fwrev", "0x0")], Some("0x0")),
            (&[("rev", "")], None),
            (&[("vpd_pg89", "no page"), ("rev", "2.5+")], Some("2.5+")),
        ] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("device")).unwrap();
            for (file, content) in files {
                std::fs::write(dir.path().join("device").join(file), format!("{content}\n")).unwrap();
            }
            assert_eq!(firmware(dir.path()).as_deref(), revision, "{files:?}");
        }
    }
}

//! Disks of SCSI that a storage server holds: by which session of iSCSI or remote port of Fibre Channel, and whether it
//! stands.
//!
//! Sources: the attributes of the kernel's `drivers/scsi/scsi_sysfs.c` (`state`, `access_state`),
//! `scsi_transport_iscsi.c` (classes `iscsi_session` and `iscsi_connection`) and `scsi_transport_fc.c` (class
//! `fc_remote_ports`).

use std::path::Path;

use super::bus::{part_starting, parts};
use super::paths::{DevicePath, PathAccess};
use crate::machine::device::BlockDevice;
use crate::machine::read::read_word;
use crate::machine::roots::Roots;

/// The way to a disk of a storage server.
pub(super) struct Way {
    /// As in [`super::Layer::transport`].
    pub transport: &'static str,
    /// Address without port.
    pub server: Option<String>,
    /// What the storage calls itself.
    pub target: Option<String>,
    pub path: DevicePath,
    /// It leads through a network of computers; Fibre Channel is one of storage alone.
    pub is_network: bool,
}

/// `None` for a disk whose path names neither a session nor a remote port.
pub(super) fn way(device: &BlockDevice, roots: &Roots) -> Option<Way> {
    let dir = device.dir();
    if let Some(session) = part_starting(dir, "session") {
        return Some(iscsi(device, &session, roots));
    }
    let port = parts(dir).find(|part| part.starts_with("rport-"))?;
    let known = roots.sys.join("class/fc_remote_ports").join(port);
    let path = path_of(port, word(&known, "port_state"), word(&known, "port_name"), device);
    Some(Way { transport: "fc", server: None, target: None, path, is_network: false })
}

/// `session3` with its first connection; iSCSI on Linux has no other.
fn iscsi(device: &BlockDevice, name: &str, roots: &Roots) -> Way {
    let number = name.strip_prefix("session").unwrap_or_default();
    let session = roots.sys.join("class/iscsi_session").join(name);
    let connection = roots.sys.join("class/iscsi_connection").join(format!("connection{number}:0"));
    let either =
        |persistent: &str, now: &str| word(&connection, persistent).or_else(|| word(&connection, now));
    let server = either("persistent_address", "address");
    let address = server.as_ref().map(|host| match either("persistent_port", "port") {
        Some(port) => super::bus::endpoint(host, &port),
        None => host.clone(),
    });
    Way {
        transport: "iscsi",
        target: word(&session, "targetname"),
        path: path_of(name, word(&session, "state"), address, device),
        server,
        is_network: true,
    }
}

/// A path to a disk as the disk itself tells: its state, and how the storage serves it.
pub(super) fn path_of(
    name: &str,
    state: Option<String>,
    address: Option<String>,
    device: &BlockDevice,
) -> DevicePath {
    let below = device.dir().join("device");
    let access = word(&below, "access_state").map(|word| PathAccess::of(&word));
    DevicePath { address, access, ..DevicePath::of_parts(name, [state, word(&below, "state")]) }
}

fn word(dir: &Path, file: &str) -> Option<String> {
    read_word(&dir.join(file)).filter(|word| !word.is_empty() && word != "(null)" && word != "<NULL>")
}

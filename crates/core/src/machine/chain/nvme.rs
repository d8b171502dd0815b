//! NVMe: controllers of a namespace, where they are, and whether they stand.
//!
//! Sources: the attributes of the kernel's `drivers/nvme/host/sysfs.c` (`transport`, `address`, `state`,
//! `subsysnqn`) and `multipath.c` (`iopolicy` of a subsystem, `ana_state` of a path).

use std::path::{Path, PathBuf};

use super::bus::{Connection, endpoint, model, tags};
use super::details::{LayerDetails, LayerRole};
use super::filesystem::names_in;
use super::firmware::firmware;
use super::paths::{DevicePath, PathAccess};
use crate::machine::device::BlockDevice;
use crate::machine::nvme::controller_of_path;
use crate::machine::read::{read_number, read_word};

/// One controller of a namespace.
struct Controller {
    name: String,
    dir: PathBuf,
}

impl Controller {
    fn at(dir: PathBuf) -> Self {
        Controller { name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(), dir }
    }

    fn word(&self, file: &str) -> Option<String> {
        read_word(&self.dir.join(file)).filter(|w| !w.is_empty())
    }

    /// Without the queue for administration.
    fn depth(&self) -> Option<u32> {
        let queues: u32 = read_number(&self.dir.join("queue_count"))?;
        let each: u32 = read_number(&self.dir.join("sqsize"))?;
        queues.saturating_sub(1).checked_mul(each)
    }

    /// A part of `traddr=10.0.0.5,trsvcid=4420`.
    fn part_of_address(&self, name: &str) -> Option<String> {
        let address = self.word("address")?;
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
        let word = below.and_then(|disk| self.word(&format!("{disk}/ana_state")));
        let access = word.map(|word| PathAccess::of(&word));
        DevicePath { address, access, ..DevicePath::new(&self.name, self.word("state")) }
    }
}

/// Transports that lead to another machine.
const NETWORKS: [&str; 3] = ["tcp", "rdma", "fc"];

/// The directory above a namespace is its controller, or with native multipath its subsystem, which lists the
/// controllers.
pub(super) fn nvme(device: &BlockDevice) -> Connection {
    let dir = device.dir();
    let Ok(above) = std::fs::canonicalize(dir.join("device")) else { return Connection::default() };
    let is_controller = |dir: &Path| dir.join("transport").exists();
    let controllers: Vec<Controller> = if is_controller(&above) {
        vec![Controller::at(above.clone())]
    } else {
        let inside = names_in(&above).into_iter().map(|n| above.join(n)).filter(|d| is_controller(d));
        inside.map(Controller::at).collect()
    };
    let mut transports: Vec<String> = controllers.iter().filter_map(|c| c.word("transport")).collect();
    transports.dedup();
    let is_network = transports.iter().any(|t| NETWORKS.contains(&t.as_str()));
    let mut servers: Vec<String> = controllers.iter().filter_map(Controller::host).collect();
    servers.dedup();
    let depths: Vec<u32> = controllers.iter().filter_map(Controller::depth).collect();
    Connection {
        transport: Some(match transports.first().map(String::as_str) {
            None | Some("pcie" | "apple-nvme") => "nvme".to_string(),
            Some(other) => format!("nvme {other}"),
        }),
        model: model(dir),
        // The subsystem of several paths shows that of its controllers.
        firmware: firmware(dir).or_else(|| controllers.iter().find_map(|c| c.word("firmware_rev"))),
        server: Some(servers.join(", ")).filter(|s| is_network && !s.is_empty()),
        queue_depth: tags(dir).or_else(|| Some(depths.iter().sum()).filter(|&sum| sum > 0)),
        details: details(&controllers, &device.name, &above, is_network),
        is_network,
    }
}

/// The controllers as paths, when there are several or they lead to another machine. A namespace of several
/// paths has lost them all when no controller is listed.
fn details(controllers: &[Controller], name: &str, above: &Path, is_network: bool) -> Option<LayerDetails> {
    let role = match controllers.len() {
        0 => return None,
        1 if !is_network => return None,
        1 => LayerRole::ServedDisk,
        _ => LayerRole::Multipath,
    };
    Some(LayerDetails {
        target: read_word(&above.join("subsysnqn")).filter(|word| is_network && !word.is_empty()),
        paths: controllers.iter().map(|controller| controller.path(name)).collect(),
        path_policy: read_word(&above.join("iopolicy")),
        ..LayerDetails::of(role)
    })
}

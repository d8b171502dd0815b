//! A device that DRBD keeps the same on several machines: on which of them it is in use, and whether all have the data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device that DRBD keeps the same on several machines. States are in DRBD's words. Absent members: the
/// kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Replica {
    /// Name of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Role of this machine: `Primary` uses the device, `Secondary` only keeps its copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// State of the disk of this machine, e.g. `UpToDate`, `Inconsistent`, `Diskless`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// When a write is complete: `A` here, `B` when the others have it in memory, `C` when they have it on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The other machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<ReplicaPeer>,
}

/// Another machine with a copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReplicaPeer {
    /// Its name; DRBD 8 does not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// State of its disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// State of the connection to it, e.g. `Connected`, `StandAlone`, `SyncSource`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
}

/// A disk with all data.
const WHOLE: &str = "UpToDate";
/// A machine without a disk of its own.
const DISKLESS: &str = "Diskless";
/// Connections over which writes go as they come: DRBD 8 and DRBD 9.
const CONNECTED: [&str; 2] = ["Connected", "Established"];
/// Connections that are not there: `drbd_conn_str` of DRBD 8 (the kernel's
/// `drivers/block/drbd/drbd_strings.c`), and what DRBD 9 calls waiting for one.
const NOT_THERE: [&str; 10] = [
    "StandAlone",
    "Disconnecting",
    "Unconnected",
    "Timeout",
    "BrokenPipe",
    "NetworkFailure",
    "ProtocolError",
    "TearDown",
    "WFConnection",
    "Connecting",
];

impl Replica {
    /// This machine has no copy: all I/O goes to the others.
    pub fn is_diskless(&self) -> bool {
        self.disk.as_deref() == Some(DISKLESS)
    }

    /// Reads may come from another machine, because this one has not all data.
    pub fn reads_from_peers(&self) -> bool {
        self.disk.as_deref().is_some_and(|disk| disk != WHOLE)
    }

    /// No other machine is connected, so writes stay here.
    pub fn is_alone(&self) -> bool {
        let is_there =
            |peer: &ReplicaPeer| !peer.connection.as_deref().is_some_and(|c| NOT_THERE.contains(&c));
        self.role.is_some() && !self.peers.iter().any(is_there)
    }

    /// What keeps the copies from being the same, in words; empty when nothing does.
    pub fn faults(&self) -> Vec<String> {
        let is_good = |disk: &str| disk == WHOLE || disk == DISKLESS;
        let mut faults = Vec::new();
        let here = self.disk.as_deref().filter(|disk| !is_good(disk));
        faults.extend(here.map(|disk| format!("the disk of this node is {disk}")));
        for peer in &self.peers {
            let name = peer.name();
            let connection = peer.connection.as_deref().filter(|state| !CONNECTED.contains(state));
            let disk = peer.disk.as_deref().filter(|disk| !is_good(disk));
            match (connection, disk) {
                (Some(state), _) => faults.push(format!("the connection to {name} is {state}")),
                (None, Some(disk)) => faults.push(format!("the disk of {name} is {disk}")),
                (None, None) => {}
            }
        }
        let has_role = self.role.is_some();
        if has_role && self.peers.is_empty() {
            faults.push("no other node is configured".to_string());
        }
        faults
    }

    /// `this node is Primary, the other node is Secondary, protocol C`.
    pub fn nodes_words(&self) -> String {
        let role = |role: &Option<String>| role.clone().unwrap_or_else(|| "in an unknown role".to_string());
        let mut words = vec![format!("this node is {}", role(&self.role))];
        words.extend(self.peers.iter().map(|peer| format!("{} is {}", peer.name(), role(&peer.role))));
        words.extend(self.protocol.as_ref().map(|protocol| format!("protocol {protocol}")));
        words.join(", ")
    }
}

impl ReplicaPeer {
    /// Its name in a sentence.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| "the other node".to_string())
    }
}

//! The paths to a device: by what they lead, and what their states in the kernel's words mean.
//!
//! A device that DRBD keeps the same on several machines: on which of them it is in use, and whether all have the data.
//!
//! What DRBD tells of its devices.
//!
//! Sources: `/proc/drbd` of DRBD 8 (the kernel's `drivers/block/drbd/drbd_proc.c`), and `proc_drbd` of each
//! connection below `/sys/kernel/debug/drbd` of DRBD 9 (its `drbd_debugfs.c`), which has the same line and
//! which only root may read.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::device::BlockDevice;
use crate::machine::roots::Roots;
use crate::machine::roots::names_in;

/// How the storage serves what is asked for by a path: asymmetric access of NVMe (ANA) or SCSI (ALUA).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    /// As fast as the storage can.
    Optimized,
    /// By a detour inside the storage.
    NonOptimized,
    /// Not at all: another path has to be taken.
    Refused,
    /// It is just changing.
    Changing,
    /// In another way.
    #[default]
    #[serde(other)]
    Other,
}

impl PathAccess {
    /// By the kernel's word: `ana_state` of NVMe (`nvme_ana_state_names` in `drivers/nvme/host/multipath.c`) or
    /// `access_state` of SCSI (`sdev_access_states` in `drivers/scsi/scsi_sysfs.c`).
    pub(super) fn of(word: &str) -> Self {
        match word {
            "optimized" | "active/optimized" => PathAccess::Optimized,
            "non-optimized" | "active/non-optimized" => PathAccess::NonOptimized,
            "inaccessible" | "persistent-loss" | "standby" | "unavailable" | "offline" => PathAccess::Refused,
            "change" | "transitioning" => PathAccess::Changing,
            _ => PathAccess::Other,
        }
    }

    /// In words; `None` for what has none.
    pub fn word(self) -> Option<&'static str> {
        match self {
            PathAccess::Optimized => Some("optimized"),
            PathAccess::NonOptimized => Some("non-optimized"),
            PathAccess::Refused => Some("refused by the storage"),
            PathAccess::Changing => Some("changing"),
            PathAccess::Other => None,
        }
    }
}

/// One of the paths to a device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DevicePath {
    /// Kernel name of the controller (NVMe), the disk (device-mapper), the session (iSCSI), the remote port
    /// (Fibre Channel) or the device.
    pub name: String,
    /// State in the kernel's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// No I/O goes through it now.
    #[serde(skip_serializing_if = "is_false")]
    pub is_down: bool,
    /// Where it leads: address and port of the server, or name of a port of Fibre Channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// How the storage serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<PathAccess>,
}

/// States in which no I/O goes through; a state may have an addition. None means something else for another
/// kind of path.
const DOWN: [&str; 21] = [
    // Controllers of NVMe (`nvme_sysfs_show_state`).
    "connecting",
    "resetting",
    "deleting",
    "dead",
    // Disks of SCSI (`sdev_states`).
    "offline",
    "transport-offline",
    "blocked",
    "created-blocked",
    "quiesce",
    "cancel",
    "deleted",
    // Sessions of iSCSI (`iscsi_session_state_names`).
    "FAILED",
    "FREE",
    // Ports of Fibre Channel (`fc_port_state_names`).
    "Blocked",
    "Offline",
    "Not Present",
    "Linkdown",
    "Error",
    "Bypassed",
    "Deleted",
    // nbd.
    NOT_CONNECTED,
];

/// Said of an nbd device without a connection, for which the kernel has no word.
pub(super) const NOT_CONNECTED: &str = "not connected";
/// Said of one that was given a connection, which may be gone.
pub(super) const SET_UP: &str = "set up";

impl DevicePath {
    /// A path in a state that the kernel tells.
    pub fn new(name: &str, state: Option<String>) -> Self {
        let is_down = state.as_ref().is_some_and(|state| DOWN.iter().any(|down| state.starts_with(down)));
        DevicePath { name: name.to_string(), state, is_down, ..DevicePath::default() }
    }

    /// A path that is up when all of its parts are: the first part that is down tells the state, or else the
    /// first part.
    pub(super) fn of_parts(name: &str, parts: impl IntoIterator<Item = Option<String>>) -> Self {
        let mut told = parts.into_iter().flatten().map(|state| DevicePath::new(name, Some(state))).peekable();
        let first = told.peek().cloned();
        told.find(|path| path.is_down).or(first).unwrap_or_else(|| DevicePath::new(name, None))
    }

    /// `nvme2 (10.0.0.6:4420)`.
    pub fn place(&self) -> String {
        match &self.address {
            Some(address) => format!("{} ({address})", self.name),
            None => self.name.clone(),
        }
    }

    /// `live, optimized`; `in an unknown state` where nothing is told.
    pub fn standing(&self) -> String {
        let access = self.access.and_then(PathAccess::word);
        let words: Vec<&str> = self.state.as_deref().into_iter().chain(access).collect();
        if words.is_empty() { "in an unknown state".to_string() } else { words.join(", ") }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A device that DRBD keeps the same on several machines. States are in DRBD's words. Absent members: the
/// kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
const NOT_THERE: &str = "StandAlone Disconnecting Unconnected Timeout BrokenPipe NetworkFailure ProtocolError TearDown \
    WFConnection Connecting";

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
        self.role.is_some()
            && self.peers.iter().all(|peer| {
                peer.connection.as_deref().is_some_and(|state| NOT_THERE.split(' ').any(|gone| gone == state))
            })
    }

    /// What keeps the copies from being the same, in words; empty when nothing does.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let here = self.disk.as_deref().filter(|disk| ![WHOLE, DISKLESS].contains(disk));
        faults.extend(here.map(|disk| format!("the disk of this node is {disk}")));
        for peer in &self.peers {
            let name = peer.name();
            let connection = peer.connection.as_deref().filter(|state| !CONNECTED.contains(state));
            let disk = peer.disk.as_deref().filter(|disk| ![WHOLE, DISKLESS].contains(disk));
            match (connection, disk) {
                (Some(state), _) => faults.push(format!("the connection to {name} is {state}")),
                (None, Some(disk)) => faults.push(format!("the disk of {name} is {disk}")),
                (None, None) => {}
            }
        }
        if self.role.is_some() && self.peers.is_empty() {
            faults.push("no other node is configured".to_string());
        }
        faults
    }

    /// `this node is Primary, the other node is Secondary, protocol C`.
    pub fn nodes_words(&self) -> String {
        let mut words = vec![format!("this node is {}", role_words(&self.role))];
        words.extend(self.peers.iter().map(|peer| format!("{} is {}", peer.name(), role_words(&peer.role))));
        words.extend(self.protocol.as_ref().map(|protocol| format!("protocol {protocol}")));
        words.join(", ")
    }
}

fn role_words(role: &Option<String>) -> &str {
    role.as_deref().unwrap_or("in an unknown role")
}

impl ReplicaPeer {
    /// Its name in a sentence.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| "the other node".to_string())
    }
}

/// What DRBD tells of one of its devices; `None` when it tells nothing, as DRBD 9 to who is not root.
pub(super) fn replica(device: &BlockDevice, roots: &Roots) -> Option<Replica> {
    let minor = device.number()?.minor;
    let debug = roots.sys.join("kernel/debug/drbd");
    // The link leads to `../resources/NAME/volumes/NUMBER`.
    let volume = std::fs::read_link(debug.join("minors").join(minor.to_string())).ok();
    let mut parts = volume.iter().flat_map(|path| path.iter().rev());
    let mut parts = parts.by_ref().map(|part| part.to_string_lossy().into_owned());
    let (number, resource) = (parts.next(), parts.nth(1));
    let table = std::fs::read_to_string(roots.proc.join("drbd")).unwrap_or_default();
    let mut found = parse_drbd(&table, minor, None);
    if let (None, Some(resource), Some(number)) = (&found, &resource, &number) {
        found = by_connections(&debug.join("resources").join(resource).join("connections"), number, minor);
    }
    found.map(|replica| Replica { resource, ..replica })
}

/// DRBD 9: one line for each connection.
fn by_connections(dir: &Path, volume: &str, minor: u32) -> Option<Replica> {
    let mut all: Option<Replica> = None;
    for name in names_in(dir) {
        let text =
            std::fs::read_to_string(dir.join(&name).join(volume).join("proc_drbd")).unwrap_or_default();
        let Some(one) = parse_drbd(&text, minor, Some(name)) else { continue };
        match &mut all {
            Some(all) => all.peers.extend(one.peers),
            None => all = Some(one),
        }
    }
    all
}

/// The device `minor` in the text of `/proc/drbd`, or of `proc_drbd` of a connection to `peer`.
pub fn parse_drbd(text: &str, minor: u32, peer: Option<String>) -> Option<Replica> {
    text.lines().find_map(|line| replica_of_line(line, minor, peer.clone()))
}

/// ` 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----`: before each slash is this machine.
fn replica_of_line(text: &str, minor: u32, peer: Option<String>) -> Option<Replica> {
    let (number, rest) = text.trim_start().split_once(": ")?;
    if number.parse() != Ok(minor) {
        return None;
    }
    let word = |name: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(name));
    let both = |name: &str| {
        let (here, there) = word(name)?.split_once('/')?;
        Some((here.to_string(), there.to_string()))
    };
    let connection = Some(word("cs:")?.to_string());
    let (role, role_there) = both("ro:").unzip();
    let (disk, disk_there) = both("ds:").unzip();
    let protocol = rest.split_whitespace().find(|word| matches!(*word, "A" | "B" | "C")).map(str::to_string);
    let peers = vec![ReplicaPeer { name: peer, role: role_there, disk: disk_there, connection }];
    Some(Replica { resource: None, role, disk, protocol, peers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_in_which_nothing_goes_through() {
        let is_down = |state: &str| DevicePath::new("p", Some(state.to_string())).is_down;
        for up in ["live", "new", "running", "created", "LOGGED_IN", "Online", "Marginal", "unknown state"] {
            assert!(!is_down(up), "{up}");
        }
        for down in ["deleting (no IO)", "transport-offline", "blocked", "FAILED", "Not Present"] {
            assert!(is_down(down), "{down}");
        }
        assert!(!DevicePath::new("p", None).is_down);
    }

    #[test]
    fn the_part_that_is_down_tells_the_state() {
        let of = |parts: &[Option<&str>]| {
            let path = DevicePath::of_parts("sdb", parts.iter().map(|part| part.map(str::to_string)));
            (path.standing(), path.is_down)
        };
        assert_eq!(of(&[Some("LOGGED_IN"), Some("running")]), ("LOGGED_IN".to_string(), false));
        assert_eq!(of(&[Some("LOGGED_IN"), Some("offline")]), ("offline".to_string(), true));
        assert_eq!(of(&[None, Some("running")]), ("running".to_string(), false));
        assert_eq!(of(&[None]), ("in an unknown state".to_string(), false));
    }

    #[test]
    fn access_of_both_families() {
        assert_eq!(PathAccess::of("active/non-optimized"), PathAccess::of("non-optimized"));
        assert_eq!(PathAccess::of("standby"), PathAccess::Refused);
        assert_eq!(PathAccess::of("lba-dependent").word(), None);
        let path: DevicePath =
            serde_json::from_str(r#"{"name":"a","access":"of_a_later_version"}"#).expect("is read");
        assert_eq!(path.access, Some(PathAccess::Other));
    }
}

#[cfg(test)]
mod tests_drbd {
    use super::*;

    fn told(text: &str) -> Replica {
        replica_of_line(text, 0, None).expect("a line of device 0")
    }

    #[test]
    fn two_whole_copies_have_no_fault() {
        let both = told(" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----");
        assert_eq!(both.nodes_words(), "this node is Primary, the other node is Secondary, protocol C");
        assert!(both.faults().is_empty() && !both.reads_from_peers() && !both.is_alone());
        assert!(replica_of_line("301: cs:Connected ro:Primary/Secondary", 30, None).is_none());
    }

    #[test]
    fn what_keeps_copies_apart() {
        let faults = |text: &str| told(text).faults().join("; ");
        assert_eq!(
            faults(" 0: cs:StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r-----"),
            "the connection to the other node is StandAlone"
        );
        assert_eq!(
            faults(" 0: cs:SyncTarget ro:Primary/Secondary ds:Inconsistent/UpToDate C r-----"),
            "the disk of this node is Inconsistent; the connection to the other node is SyncTarget"
        );
        assert_eq!(
            faults(" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/Outdated C r-----"),
            "the disk of the other node is Outdated"
        );
        assert!(told(" 0: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----").is_alone());
        assert!(!told(" 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----").is_alone());
        let diskless = told(" 0: cs:Connected ro:Primary/Secondary ds:Diskless/UpToDate C r-----");
        assert!(diskless.is_diskless() && diskless.reads_from_peers() && diskless.faults().is_empty());
        assert_eq!(told(" 0: cs:Unconfigured").role, None);
    }
}

//! The paths to a device: by what they lead, and what their states in the kernel's words mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the storage serves what is asked for by a path: asymmetric access of NVMe (ANA) or SCSI (ALUA).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
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

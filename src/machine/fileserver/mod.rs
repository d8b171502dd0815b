//! What the kernel counts for mounts whose files another machine holds: requests to the server, bytes that it sent and
//! took, times on the way.

mod counts;
pub mod nfs;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use counts::{RequestCounts, ServerCounts};

use super::mounts::{Mount, read_mounts};
use super::roots::Roots;

/// How a client talks to a file server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FileProtocol {
    /// NFS.
    Nfs,
    /// One that a later version knows.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

impl FileProtocol {
    /// By the type of the file system.
    fn of_filesystem(fs_type: &str) -> Option<Self> {
        matches!(fs_type, "nfs" | "nfs4").then_some(FileProtocol::Nfs)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FileProtocol::Nfs => "NFS",
            FileProtocol::Untold => "an unknown protocol",
        }
    }
}

/// A client's view of a file system of a server, which may be mounted in several places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedMount {
    /// How it talks to the server.
    pub protocol: FileProtocol,
    /// Version of the protocol.
    pub version: Option<String>,
    /// Address of the server.
    pub address: Option<String>,
    /// Places that were asked for. Their counters are the same.
    pub points: Vec<PathBuf>,
}

/// Mounts whose counters are read.
#[derive(Debug, Default)]
pub struct ServedMounts {
    mounts: Vec<ServedMount>,
    roots: Roots,
}

/// One reading of all mounts; `None` for one that is gone.
pub type Readings = Vec<Option<Reading>>;

/// Counters of one mount at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The counters.
    pub counts: ServerCounts,
    /// Connections to the server.
    pub connections: Option<u32>,
}

impl ServedMounts {
    /// The mounts at these places, as far as the kernel counts for them; several places of one file system are one.
    pub fn open<'a>(points: impl Iterator<Item = &'a Path>, roots: &Roots) -> Self {
        let points: Vec<&Path> = points.collect();
        // The usual case: nothing is read.
        let mounts = if points.is_empty() { Vec::new() } else { read_mounts(roots).unwrap_or_default() };
        let mut found: Vec<(&Mount, ServedMount)> = Vec::new();
        for point in points {
            // Of several at one place the last is seen.
            let Some(mount) = mounts.iter().rfind(|mount| mount.mount_point == point) else { continue };
            let Some(protocol) = FileProtocol::of_filesystem(&mount.fs_type) else { continue };
            match found.iter_mut().find(|(known, _)| known.device == mount.device) {
                Some((_, known)) if known.points.iter().any(|other| other == point) => {}
                Some((_, known)) => known.points.push(point.to_path_buf()),
                None => {
                    let option = |name: &str| option(&mount.options, name).map(str::to_string);
                    let (version, address) = (option("vers"), option("addr"));
                    let points = vec![point.to_path_buf()];
                    found.push((mount, ServedMount { protocol, version, address, points }));
                }
            }
        }
        let mounts = found.into_iter().map(|(_, served)| served).collect();
        let mut served = ServedMounts { mounts, roots: roots.clone() };
        let is_counted: Vec<bool> = served.read().iter().map(Option::is_some).collect();
        let mut is_counted = is_counted.into_iter();
        served.mounts.retain(|_| is_counted.next().unwrap_or(false));
        served
    }

    /// The mounts, in the order of their readings.
    pub fn mounts(&self) -> &[ServedMount] {
        &self.mounts
    }

    /// Reads all counters.
    pub fn read(&self) -> Readings {
        if self.mounts.is_empty() {
            return Vec::new();
        }
        let all = nfs::read(&self.roots).unwrap_or_default();
        let of = |mount: &ServedMount| {
            let point = mount.points.first()?;
            let found = all.iter().rfind(|found| found.mount_point == *point)?;
            Some(Reading { counts: found.counts, connections: Some(found.connections).filter(|&n| n > 0) })
        };
        self.mounts.iter().map(of).collect()
    }
}

/// The value of `name=value` among options of a mount.
fn option<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    options.split(',').filter_map(|option| option.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
}

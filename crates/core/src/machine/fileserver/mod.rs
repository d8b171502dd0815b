//! What the kernel counts for mounts whose files another machine holds: requests to the server, bytes that it sent and
//! took, times on the way.

mod counts;
pub mod nfs;
pub mod smb;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use counts::{RequestCounts, ServerCounts};

use super::device::DeviceNumber;
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
    /// SMB.
    Smb,
    /// One that a later version knows.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

impl FileProtocol {
    /// By the type of the file system.
    fn of_filesystem(fs_type: &str) -> Option<Self> {
        match fs_type {
            "nfs" | "nfs4" => Some(FileProtocol::Nfs),
            "cifs" | "smb3" => Some(FileProtocol::Smb),
            _ => None,
        }
    }

    /// Whether its client also counts what programs asked for, and what was sent again.
    pub fn counts_programs(self) -> bool {
        self == FileProtocol::Nfs
    }

    /// What it calls a request to make written data durable.
    pub fn commit_word(self) -> &'static str {
        if self == FileProtocol::Smb { "FLUSH" } else { "COMMIT" }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FileProtocol::Nfs => "NFS",
            FileProtocol::Smb => "SMB",
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

/// What has counters of its own: mounts with the same have the same counters.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Counted {
    /// A file system by its number.
    FileSystem(DeviceNumber),
    /// A share of a server by its name.
    Share(String),
}

impl Counted {
    fn of(mount: &Mount, protocol: FileProtocol) -> Option<Self> {
        match protocol {
            FileProtocol::Smb => smb::share_name(&mount.source).map(Counted::Share),
            _ => Some(Counted::FileSystem(mount.device)),
        }
    }
}

/// Mounts whose counters are read.
#[derive(Debug, Default)]
pub struct ServedMounts {
    mounts: Vec<ServedMount>,
    /// Of each, in the same order.
    counted: Vec<Counted>,
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
        let mut found: Vec<(Counted, ServedMount)> = Vec::new();
        for point in points {
            // Of several at one place the last is seen.
            let Some(mount) = mounts.iter().rfind(|mount| mount.mount_point == point) else { continue };
            let Some(protocol) = FileProtocol::of_filesystem(&mount.fs_type) else { continue };
            let Some(counted) = Counted::of(mount, protocol) else { continue };
            match found.iter_mut().find(|(known, _)| *known == counted) {
                Some((_, known)) if known.points.iter().any(|other| other == point) => {}
                Some((_, known)) => known.points.push(point.to_path_buf()),
                None => {
                    let option = |name: &str| option(&mount.options, name).map(str::to_string);
                    let (version, address) = (option("vers"), option("addr"));
                    let points = vec![point.to_path_buf()];
                    found.push((counted, ServedMount { protocol, version, address, points }));
                }
            }
        }
        let (counted, mounts): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let all = ServedMounts { mounts, counted, roots: roots.clone() };
        let is_counted: Vec<bool> = all.read().iter().map(Option::is_some).collect();
        let ServedMounts { mounts, counted, roots } = all;
        let pairs = mounts.into_iter().zip(counted).zip(is_counted);
        let (mounts, counted) = pairs.filter(|(_, is_counted)| *is_counted).map(|(pair, _)| pair).unzip();
        ServedMounts { mounts, counted, roots }
    }

    /// The mounts, in the order of their readings.
    pub fn mounts(&self) -> &[ServedMount] {
        &self.mounts
    }

    /// Reads all counters.
    pub fn read(&self) -> Readings {
        let uses = |protocol| self.mounts.iter().any(|mount| mount.protocol == protocol);
        let nfs =
            if uses(FileProtocol::Nfs) { nfs::read(&self.roots).unwrap_or_default() } else { Vec::new() };
        let shares =
            if uses(FileProtocol::Smb) { smb::read(&self.roots).unwrap_or_default() } else { Vec::new() };
        let of = |(mount, counted): (&ServedMount, &Counted)| match counted {
            Counted::Share(name) => of_share(&shares, name),
            Counted::FileSystem(_) => {
                let point = mount.points.first()?;
                let found = nfs.iter().rfind(|found| found.mount_point == *point)?;
                let connections = Some(found.connections).filter(|&n| n > 0);
                Some(Reading { counts: found.counts, connections })
            }
        };
        self.mounts.iter().zip(&self.counted).map(of).collect()
    }
}

/// Counters of a share. A share with several, as of two users, could be any of them.
fn of_share(shares: &[smb::Share], name: &str) -> Option<Reading> {
    let mut found = shares.iter().filter(|share| share.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (Some(only), None) => Some(Reading { counts: only.counts?, connections: None }),
        _ => None,
    }
}

/// The value of `name=value` among options of a mount.
fn option<'a>(options: &'a str, name: &str) -> Option<&'a str> {
    options.split(',').filter_map(|option| option.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
}

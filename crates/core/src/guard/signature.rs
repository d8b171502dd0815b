//! Known signatures: what they are called, and what they say about a device or file.

use std::fmt;

use crate::profile::Target;
use crate::text::printable;

/// Family of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureKind {
    /// A filesystem.
    Filesystem,
    /// A table of partitions.
    PartitionTable,
    /// A member of something larger: LVM, md, bcache, ...
    Member,
    /// Encrypted data.
    Encrypted,
    /// A swap area.
    Swap,
    /// Something else that is known by its signature.
    Other,
}

/// A known signature found on a device or in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Family.
    pub kind: SignatureKind,
    /// libblkid's name: `ext4`, `gpt`, `dos`, `LVM2_member`, `crypto_LUKS`, ...
    pub name: String,
    /// Label, when there is one.
    pub label: Option<String>,
    /// Offset of its magic number in bytes.
    pub offset_bytes: Option<u64>,
}

impl Signature {
    /// What it is, in words, without its place.
    fn what(&self) -> String {
        let name = printable(&self.name);
        match (self.kind, self.name.as_str()) {
            (_, "LVM2_member" | "LVM1_member") => "an LVM physical volume".to_string(),
            (_, "linux_raid_member") => "a member of an md array".to_string(),
            (_, "zfs_member") => "a member of a ZFS pool".to_string(),
            (_, "crypto_LUKS") => "a LUKS encrypted volume".to_string(),
            (_, "dos") => "an MBR partition table".to_string(),
            (_, "gpt") => "a GPT partition table".to_string(),
            (SignatureKind::Filesystem, _) => format!("a file system of type {name}"),
            (SignatureKind::PartitionTable, _) => format!("a partition table of type {name}"),
            (SignatureKind::Swap, _) => "a swap area".to_string(),
            (SignatureKind::Encrypted, _) => format!("an encrypted volume of type {name}"),
            (SignatureKind::Member, _) => format!("a member device of type {name}"),
            (SignatureKind::Other, _) => format!("data of type {name}"),
        }
    }
}

impl fmt::Display for Signature {
    /// For example: a file system of type ext4, label "backup".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        match &self.label {
            Some(label) => write!(f, ", label \"{}\"", printable(label)),
            None => Ok(()),
        }
    }
}

/// What searched for signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannedBy {
    /// libblkid of the machine: knows everything that `wipefs` and `mount` know.
    Libblkid,
    /// The small built-in table, because the library could not be used for this reason.
    BuiltIn(String),
}

/// Result of a search for signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// What was found; empty when nothing known is there.
    pub signatures: Vec<Signature>,
    /// What searched.
    pub by: ScannedBy,
}

/// A part of a device or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub start_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
}

impl Range {
    /// All of a target, however large.
    pub const ALL: Range = Range { start_bytes: 0, length_bytes: u64::MAX };

    /// What a time span does I/O to, whatever the target's size: from `-B` to the end that `-f` or `-B` sets.
    /// All threads stay inside.
    pub fn tested(target: &Target) -> Self {
        let end = if target.max_bytes == 0 { u64::MAX } else { target.max_bytes };
        Range { start_bytes: target.base_bytes, length_bytes: end.saturating_sub(target.base_bytes) }
    }
}

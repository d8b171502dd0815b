//! Facts for the write guard: who claims a device, and what known data lies on it.
//!
//! Only facts: whether a test may write is decided in `plan`.

mod blkid;
mod claim;
mod contents;
mod decision;
mod files;
mod hold;
mod magic;
pub mod mark;
mod openers;
pub mod reuse;
pub mod sample;
mod uses;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use claim::{Claim, claim};
use contents::Part;
pub use contents::contents;
pub use decision::{Guard, Identity, check_directory};
use files::file_in_use;
pub use files::{FileUse, locks_of_file, uses_of_file};
pub use hold::{Hold, Kept, is_being_tested};
pub use openers::writers_of_file;

use rustix::fs::{Mode, OFlags};

use crate::sys::error::system_text;
use crate::text::{printable, printable_path};

/// Why a fact for the guard could not be had. A write test must then not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The device could not be opened for a look.
    #[error("{path}: could not be opened to check that it is not in use: {text}")]
    Open {
        /// Path as given.
        path: String,
        /// The system's text.
        text: String,
    },
    /// The path means another device than the one opened for the test.
    #[error("{path}: came to mean another device while it was being checked; try again")]
    Changed {
        /// Path as given.
        path: String,
    },
    /// The device could not be read.
    #[error("{path}: could not be read to check that it holds no data: {text}")]
    Read {
        /// Path as given.
        path: String,
        /// The system's text.
        text: String,
    },
}

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
    /// Where its magic number stands, in bytes.
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

/// Who looked for signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannedBy {
    /// libblkid of the machine: knows everything that `wipefs` and `mount` know.
    Libblkid,
    /// The small built-in table, because the library could not be used for this reason.
    BuiltIn(String),
}

/// Result of looking for signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// What was found; empty when nothing known is there.
    pub signatures: Vec<Signature>,
    /// Who looked.
    pub by: ScannedBy,
}

/// Looks for known signatures on an open device or in an open file.
///
/// The descriptor itself is not used for reading: it may be write-only or need alignment.
///
/// # Errors
/// [`GuardError`] when the target cannot be read: then nothing is known about its content.
pub fn signatures(file: &File, path: &Path) -> Result<Scan, GuardError> {
    scan(&reopen_for_reading(file, path)?, path, None)
}

/// A part of a device or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    start_bytes: u64,
    length_bytes: u64,
}

/// Looks at all of a readable file, or at a part as if it were a device of its own.
fn scan(reader: &File, path: &Path, range: Option<Range>) -> Result<Scan, GuardError> {
    let why = match blkid::library() {
        Ok(library) => match library.probe(reader, range) {
            Ok(signatures) => return Ok(Scan { signatures, by: ScannedBy::Libblkid }),
            Err(why) => why,
        },
        Err(why) => why.clone(),
    };
    let unreadable = |e: io::Error| GuardError::Read { path: printable_path(path), text: system_text(&e) };
    let signatures = magic::probe_file(reader, range).map_err(unreadable)?;
    Ok(Scan { signatures, by: ScannedBy::BuiltIn(why) })
}

/// The partitions that a table on the device or in the file describes; none without libblkid.
fn partitions(reader: &File) -> Vec<Part> {
    blkid::library().map(|library| library.partitions(reader)).unwrap_or_default()
}

/// A descriptor of its own for the same file or device, for buffered reads.
fn reopen_for_reading(file: &File, path: &Path) -> Result<File, GuardError> {
    let name = || printable_path(path);
    let failed = |e: io::Error| GuardError::Read { path: name(), text: system_text(&e) };
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    // A look must leave no trace, not even the time of the last access; only the owner may ask for that.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let reader: File = rustix::fs::open(&own, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| rustix::fs::open(&own, flags, Mode::empty()))
        .or_else(|_| rustix::fs::open(path, flags, Mode::empty()))
        .map_err(|e| failed(e.into()))?
        .into();
    let (a, b) = (file.metadata().map_err(failed)?, reader.metadata().map_err(failed)?);
    // The same inode, or another node of the same device.
    let same = (a.dev(), a.ino()) == (b.dev(), b.ino()) || (a.rdev() != 0 && a.rdev() == b.rdev());
    if same { Ok(reader) } else { Err(GuardError::Changed { path: name() }) }
}

#[cfg(test)]
mod tests;

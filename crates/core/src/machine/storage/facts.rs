//! What is known of a target, and how it is opened.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::filesystem::Filesystem;
use crate::machine::device::{DeviceNumber, SectorSizes};
use crate::machine::namespace::Namespace;
use crate::sys::file::Opening;

/// What the test does with the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads only (`-w0`).
    Read,
    /// Writes only (`-w100`).
    Write,
    /// Both.
    ReadWrite,
}

/// How to open a target for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadFlags {
    /// `O_DIRECT`: bypass the page cache.
    pub direct: bool,
}

impl ReadFlags {
    /// Through the page cache.
    pub const CACHED: Self = ReadFlags { direct: false };
    /// Past the page cache.
    pub const DIRECT: Self = ReadFlags { direct: true };
}

impl From<ReadFlags> for OpenFlags {
    fn from(flags: ReadFlags) -> Self {
        OpenFlags { access: Access::Read, direct: flags.direct, dsync: false }
    }
}

/// Says that the write guard lets a target be written. Only what the guard gives after its decision is one
/// (`tests/all/house.rs`).
pub trait WriteLeave {
    /// Path of the target that may be opened for writing.
    fn path(&self) -> &Path;

    /// The namespace that the target is, when it is written by NVMe commands; `path` is that of its block device.
    fn namespace(&self) -> Option<&Namespace> {
        None
    }
}

/// How a test opens a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFlags {
    /// Reading, writing or both.
    pub access: Access,
    /// `O_DIRECT`: bypass the page cache (`-Su`, `-Sh`, `-Sr`).
    pub direct: bool,
    /// `O_DSYNC`: writes are durable when they complete (`-Sw`, `-Sh`).
    pub dsync: bool,
}

impl OpenFlags {
    pub(super) fn opening(self) -> Opening {
        Opening {
            read: self.access != Access::Write,
            write: self.access != Access::Read,
            direct: self.direct,
            dsync: self.dsync,
        }
    }
}

/// What kind of thing a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    Regular,
    /// A block device: whole disk, partition, loop, zram, device-mapper, md.
    Block,
}

/// Where an alignment comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignmentSource {
    /// The kernel's own report (`STATX_DIOALIGN`, Linux 6.1).
    Statx,
    /// The block size of the filesystem: below it btrfs quietly goes through the page cache.
    FilesystemBlock,
    /// The logical sector of the device underneath.
    LogicalSector,
    /// Nothing is known: 4096.
    Assumed,
}

/// Direct-I/O alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Offsets and lengths must be multiples of this.
    pub offset_bytes: u64,
    /// Buffer addresses must be multiples of this.
    pub memory_bytes: u64,
    /// Who says so.
    pub source: AlignmentSource,
}

/// Facts about an open target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// Path as opened; of a namespace that takes NVMe commands that of its block device.
    pub path: PathBuf,
    /// File or device.
    pub kind: TargetKind,
    /// File size or device capacity in bytes.
    pub size_bytes: u64,
    /// The device itself, or the one the file's filesystem reports.
    pub device: DeviceNumber,
    /// Inode number; with `device` it tells whether two paths are one file.
    pub inode: u64,
    /// Kernel name of the device, or of the one under the filesystem, when there is one.
    pub device_name: Option<String>,
    /// Sectors of the device, or of the one under the filesystem, when there is one.
    pub sectors: Option<SectorSizes>,
    /// Direct-I/O alignment; `None`: the kernel says that direct I/O is not possible on this file.
    pub direct: Option<DirectAlignment>,
    /// Filesystem of a regular file; `None` for a device.
    pub filesystem: Option<Filesystem>,
    /// I/O scheduler of the device, when there is one.
    pub scheduler: Option<String>,
    /// Volatile cache of the device as the kernel drives it, when it says: `write back`, `write through`.
    pub write_cache: Option<String>,
    /// The target was given as the character device of an NVMe namespace, and the test sends commands to it.
    /// Everything else is told of the block device that is the same namespace.
    pub namespace: Option<Namespace>,
}

/// An open target with its facts.
#[derive(Debug)]
pub struct OpenedTarget {
    /// The open descriptor; of a namespace that takes commands its block device, open for reading.
    pub file: File,
    /// Its facts.
    pub facts: TargetFacts,
}

/// What a target argument stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Path to open.
    pub path: PathBuf,
    /// Set when it was given as `#n`.
    pub disk_number: Option<usize>,
    /// Name that stays the same over boots; only looked for with `#n`.
    pub by_id: Option<PathBuf>,
}

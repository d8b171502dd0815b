//! Where a suite tests: a folder for files of its own, or a file or device that is there.

use std::path::PathBuf;

use super::value::size_above_zero;
use crate::os::roots::Roots;
use crate::os::target::{self, Access, OpenFlags, TargetKind, resolve};

/// What a person named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A folder: files are made there and removed again.
    Folder(PathBuf),
    /// A file or device that stays.
    There {
        /// As typed, for command lines.
        typed: String,
        /// Size of the file or capacity of the device in bytes.
        size_bytes: u64,
        /// It is a block device.
        is_device: bool,
    },
}

impl Place {
    /// Looks at what `typed` names; opens read-only. The error is one sentence.
    pub fn find(typed: &str) -> Result<Self, String> {
        let roots = Roots::default();
        let path = resolve(typed, &roots).map_err(|e| e.to_string())?.path;
        if path.is_dir() {
            return Ok(Place::Folder(path));
        }
        let read = OpenFlags { access: Access::Read, direct: false, dsync: false };
        let facts = target::open(&path, read, &roots).map_err(|e| e.to_string())?.facts;
        let is_device = facts.kind == TargetKind::Block;
        Ok(Place::There { typed: typed.to_string(), size_bytes: facts.size_bytes, is_device })
    }

    /// Where a suite's own small files go: the folder, or that of temporary files.
    pub fn folder(&self) -> PathBuf {
        match self {
            Place::Folder(path) => path.clone(),
            Place::There { .. } => std::env::temp_dir(),
        }
    }
}

/// Reads a size as DiskSpd writes them (`4096`, `64K`, `1G`).
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    size_above_zero(text, 1).map_err(|slip| format!("{}; write digits and a unit: 4096, 64K, 1G", slip.what))
}

//! Who uses a regular file as if it were a device, and what keeps it from being written.

use std::fs::{self, File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};

use super::claim::without_remark;
use crate::machine::device::loop_devices_backed_by;
use crate::machine::mounts::read_swaps;
use crate::machine::roots::Roots;
use crate::text::printable;

/// A user of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// In words that follow the file's name: "is in use as swap".
    pub words: String,
    /// Kernel name of the loop device that stands on it.
    pub loop_device: Option<String>,
}

/// Who uses the open file.
pub fn uses_of_file(file: &File, roots: &Roots) -> Vec<FileUse> {
    file.metadata().map(|metadata| uses(&metadata, roots)).unwrap_or_default()
}

/// Who uses the file at a path; nobody when there is none.
pub(super) fn file_in_use(path: &Path, roots: &Roots) -> Vec<FileUse> {
    fs::metadata(path).map(|metadata| uses(&metadata, roots)).unwrap_or_default()
}

fn uses(file: &Metadata, roots: &Roots) -> Vec<FileUse> {
    let same = |path: &Path| fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (file.dev(), file.ino()));
    let swaps = read_swaps(roots).unwrap_or_default();
    let is_swap = swaps.iter().any(|swap| same(&without_remark(swap)));
    let swap = is_swap.then(|| FileUse { words: "is in use as swap".to_string(), loop_device: None });
    let loops = loop_devices_backed_by(file, roots).into_iter().map(|device| {
        let read_only = if device.is_read_only() { ", which is read-only," } else { "" };
        let name = printable(&device.name);
        FileUse {
            words: format!("is the file behind loop device {name}{read_only}"),
            loop_device: Some(device.name),
        }
    });
    swap.into_iter().chain(loops).collect()
}

/// Flags of the file that let nobody change it, in words that follow "it is".
pub fn locks_of_file(file: &File) -> Vec<&'static str> {
    let Ok(facts) = rustix::fs::statx(file.as_fd(), c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS) else {
        return Vec::new();
    };
    [
        (StatxAttributes::IMMUTABLE, "marked immutable (chattr +i)"),
        (StatxAttributes::APPEND, "marked append-only (chattr +a)"),
        (StatxAttributes::VERITY, "sealed with fs-verity"),
    ]
    .into_iter()
    .filter(|(flag, _)| facts.stx_attributes.contains(*flag))
    .map(|(_, words)| words)
    .collect()
}

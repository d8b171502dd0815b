//! Who uses a regular file as if it were a device, and what keeps it from being written.

use std::fmt;
use std::fs::File;
use std::path::Path;

use crate::machine::device::loop_devices_backed_by;
use crate::machine::mounts::read_swaps;
use crate::machine::roots::Roots;
use crate::sys::identity::Identity;
use crate::sys::stat::write_locks;
use crate::text::printable;

/// A user of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileUse {
    /// Swap.
    Swap,
    /// It is the file behind a loop device.
    Loop {
        /// Kernel name of the loop device.
        device: String,
        /// It cannot be written through that.
        is_read_only: bool,
    },
}

impl fmt::Display for FileUse {
    /// In words that follow the file's name: is in use as swap
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileUse::Swap => f.write_str("is in use as swap"),
            FileUse::Loop { device, is_read_only } => {
                let read_only = if *is_read_only { " (read-only)" } else { "" };
                write!(f, "is the file behind loop device {}{read_only}", printable(device))
            }
        }
    }
}

/// Who uses the open file.
pub(super) fn uses_of_file(file: &File, roots: &Roots) -> Vec<FileUse> {
    Identity::of(file).map(|own| uses(own, roots)).unwrap_or_default()
}

/// Who uses the file at a path; nobody when there is none.
pub(super) fn uses_at(path: &Path, roots: &Roots) -> Vec<FileUse> {
    Identity::at(path).map(|own| uses(own, roots)).unwrap_or_default()
}

fn uses(own: Identity, roots: &Roots) -> Vec<FileUse> {
    let swaps = read_swaps(roots).unwrap_or_default();
    let is_swap = swaps.iter().any(|swap| Identity::at(swap).is_ok_and(|at| at == own));
    let loops = loop_devices_backed_by(own, roots)
        .into_iter()
        .map(|device| FileUse::Loop { is_read_only: device.is_read_only(), device: device.name });
    is_swap.then_some(FileUse::Swap).into_iter().chain(loops).collect()
}

/// A flag of a file that lets nobody change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLock {
    /// `chattr +i`.
    Immutable,
    /// `chattr +a`.
    AppendOnly,
    /// fs-verity.
    Sealed,
}

impl fmt::Display for FileLock {
    /// In words that follow "it is".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileLock::Immutable => "marked immutable (chattr +i)",
            FileLock::AppendOnly => "marked append-only (chattr +a)",
            FileLock::Sealed => "sealed with fs-verity",
        })
    }
}

/// Flags of the open file that let nobody change it.
pub(super) fn locks_of_file(file: &File) -> Vec<FileLock> {
    let set = write_locks(file);
    [
        (set.immutable, FileLock::Immutable),
        (set.append_only, FileLock::AppendOnly),
        (set.sealed, FileLock::Sealed),
    ]
    .into_iter()
    .filter_map(|(is_set, lock)| is_set.then_some(lock))
    .collect()
}

//! The two devices of an NVMe namespace that is given by its character device (`/dev/ngXnY`).
//!
//! What a test must know of it (size, users, content) is known of the block device that is the same
//! namespace, so that is what is opened in its place wherever somebody asks. The character device is opened
//! for the commands alone.

use std::fs::File;
use std::path::Path;

use super::error::{OpenFailure, TargetError};
use super::facts::{OpenFlags, ReadFlags};
use crate::machine::device::DeviceNumber;
use crate::machine::namespace::Namespace;
use crate::machine::roots::Roots;
use crate::sys::error::Code;
use crate::sys::file;
use crate::sys::identity::block_device;

/// The namespace to whose character device a path leads; `None` for anything else.
pub(super) fn namespace_at(path: &Path, roots: &Roots) -> Result<Option<Namespace>, TargetError> {
    Namespace::at(path, roots).map_err(|why| TargetError::namespace(path, why))
}

/// What was opened as the block device of a namespace must be the one that sysfs shows.
pub(super) fn check_disk(disk: File, namespace: &Namespace, roots: &Roots) -> Result<File, TargetError> {
    let number = block_device(&disk).ok().flatten().map(DeviceNumber::from_raw);
    match number {
        Some(_) if number == namespace.disk.number() => Ok(disk),
        _ => Err(changed(&namespace.disk_path(roots))),
    }
}

fn changed(path: &Path) -> TargetError {
    let advice = "Another device took this path while it was being opened; try again";
    TargetError::open(path, OpenFailure::Other, Code::STALE, advice)
}

/// Opens the character device of a namespace for reading, for one thread.
///
/// # Errors
/// [`TargetError::Open`], also when it is another namespace by now; [`TargetError::Namespace`].
pub fn open_for_commands(namespace: &Namespace, roots: &Roots) -> Result<File, TargetError> {
    open_node(namespace, ReadFlags::CACHED.into(), roots)
}

/// Opens the character device as `flags` say. It must still lead to the namespace that it led to.
pub(super) fn open_node(namespace: &Namespace, flags: OpenFlags, roots: &Roots) -> Result<File, TargetError> {
    let path = &namespace.path(roots);
    // Before the open, because opening another device for writing has effects.
    if namespace_at(path, roots)?.as_ref() != Some(namespace) {
        return Err(changed(path));
    }
    // There is no page cache to bypass.
    let flags = OpenFlags { direct: false, ..flags };
    let file = file::open(path, flags.opening()).map_err(|code| TargetError::of_code(path, code, flags))?;
    match Namespace::of(&file, roots).map_err(|why| TargetError::namespace(path, why))? {
        Some(opened) if opened == *namespace => Ok(file),
        _ => Err(changed(path)),
    }
}

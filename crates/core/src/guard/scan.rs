//! Searches for signatures, with libblkid or without it.

use std::fs::File;
use std::io;
use std::path::Path;

use super::error::GuardError;
use super::magic;
use super::signature::{Range, Scan, ScannedBy, Signature, SignatureKind};
use crate::sys::blkid::{self, Found, Partition};
use crate::sys::error::system_text;
use crate::sys::identity::Identity;
use crate::sys::open::{Reading, read, read_again};
use crate::text::printable_path;

/// Searches for known signatures on an open device or in an open file.
///
/// The descriptor itself is not used for reading: it may be write-only or need alignment.
///
/// # Errors
/// [`GuardError`] when the target cannot be read: then nothing is known about its content.
pub fn signatures(file: &File, path: &Path) -> Result<Scan, GuardError> {
    scan(&reopen_for_reading(file, path)?, path, None)
}

/// Searches all of a readable file, or a part as if it were a device of its own.
pub(super) fn scan(reader: &File, path: &Path, range: Option<Range>) -> Result<Scan, GuardError> {
    let part = range.map(|range| (range.start_bytes, range.length_bytes));
    let why = match blkid::library() {
        Ok(library) => match library.probe(reader, part) {
            Ok(found) => {
                let signatures = found.into_iter().map(signature).collect();
                return Ok(Scan { signatures, by: ScannedBy::Libblkid });
            }
            Err(why) => why.to_string(),
        },
        Err(why) => why.to_string(),
    };
    let unreadable = |e: io::Error| GuardError::Read { path: printable_path(path), text: system_text(&e) };
    let signatures = magic::probe_file(reader, range).map_err(unreadable)?;
    Ok(Scan { signatures, by: ScannedBy::BuiltIn(why) })
}

/// The partitions that a table on the device or in the file describes; none without libblkid.
pub(super) fn partitions(reader: &File) -> Vec<Partition> {
    blkid::library().map(|library| library.partitions(reader)).unwrap_or_default()
}

fn signature(found: Found) -> Signature {
    let kind = kind(&found.name, found.usage.as_deref());
    Signature { kind, name: found.name, label: found.label, offset_bytes: found.offset_bytes }
}

fn kind(name: &str, usage: Option<&str>) -> SignatureKind {
    match (name, usage) {
        (_, None) => SignatureKind::PartitionTable,
        ("swap" | "swsuspend", _) => SignatureKind::Swap,
        // libblkid counts ZFS among the filesystems.
        ("zfs_member", _) | (_, Some("raid")) => SignatureKind::Member,
        (_, Some("filesystem")) => SignatureKind::Filesystem,
        (_, Some("crypto")) => SignatureKind::Encrypted,
        ("bcache", _) => SignatureKind::Member,
        _ => SignatureKind::Other,
    }
}

/// Another descriptor for the same file or device, for buffered reads. The check must leave no trace, not even the time
/// of the last access.
pub(super) fn reopen_for_reading(file: &File, path: &Path) -> Result<File, GuardError> {
    let name = || printable_path(path);
    let failed = |e: io::Error| GuardError::Read { path: name(), text: system_text(&e) };
    // Without procfs the path must do.
    let how = Reading::default();
    let reader = read_again(file, how).or_else(|_| read(path, how)).map_err(failed)?;
    // The same inode, or another node of the same device.
    let same = Identity::of(file).map_err(failed)? == Identity::of(&reader).map_err(failed)?;
    if same { Ok(reader) } else { Err(GuardError::Changed { path: name() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_gives_the_family() {
        assert_eq!(kind("ext4", Some("filesystem")), SignatureKind::Filesystem);
        assert_eq!(kind("LVM2_member", Some("raid")), SignatureKind::Member);
        assert_eq!(kind("crypto_LUKS", Some("crypto")), SignatureKind::Encrypted);
        assert_eq!(kind("swap", Some("other")), SignatureKind::Swap);
        assert_eq!(kind("bcache", Some("other")), SignatureKind::Member);
        assert_eq!(kind("ubi", Some("other")), SignatureKind::Other);
        assert_eq!(kind("gpt", None), SignatureKind::PartitionTable);
    }
}

//! What lies on a device, in words: its signatures, its partitions and theirs, and those of the disk around
//! a partition.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::guard::sample::find_odd;
use crate::guard::{GuardError, Range, Scan, Signature, SignatureKind, partitions, reopen_for_reading, scan};
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::roots::Roots;
use crate::sys::error::system_text;
use crate::text::{coarse_size, printable, printable_path};

/// More partitions than this are counted, not described.
const PARTITIONS_TOLD_MAX: usize = 16;
/// Places looked at on a device where nothing is known: what fills a tenth of it is missed once in a thousand.
const PLACES: u64 = 64;

/// A partition as the table on the device describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub number: u32,
    /// Where it lies.
    pub range: Range,
    /// Label in the table.
    pub label: Option<String>,
    /// Type as the table has it: a GUID, or `0x83`.
    pub type_code: Option<String>,
}

/// What is known to lie on an open device or in an open file, in words that follow its name: "it holds ...".
///
/// `device` is the number when it is one: then the kernel's partitions count too, and for a partition what
/// stands on its disk outside of all partitions. Where nothing of all that is found, samples of the device are
/// looked at: only zeros are nothing.
///
/// # Errors
/// [`GuardError`] when the target cannot be read: then nothing is known about its content.
pub fn contents(
    file: &File,
    path: &Path,
    device: Option<DeviceNumber>,
    roots: &Roots,
) -> Result<Vec<String>, GuardError> {
    let reader = reopen_for_reading(file, path)?;
    let own = device.and_then(|number| BlockDevice::find(number, roots));
    let whole = scan(&reader, path, None)?;
    let mut found: Vec<String> = whole.signatures.iter().map(|s| format!("it holds {s}")).collect();
    let parts = parts_of(&reader, own.as_ref());
    for part in parts.iter().take(PARTITIONS_TOLD_MAX) {
        found.push(describe(part, own.as_ref(), scan(&reader, path, Some(part.range)).ok().as_ref()));
    }
    if parts.len() > PARTITIONS_TOLD_MAX {
        found.push(format!("it has {} more partitions", parts.len() - PARTITIONS_TOLD_MAX));
    }
    if let Some(disk) = own.as_ref().and_then(BlockDevice::whole_disk) {
        found.extend(around(&disk, own.as_ref().and_then(BlockDevice::partition_number), roots));
    }
    if found.is_empty() && device.is_some() {
        found.extend(unknown_data(&reader, path)?);
    }
    Ok(found)
}

/// Data without a signature: plain dm-crypt, a database on the bare device, a damaged file system, an earlier test.
fn unknown_data(reader: &File, path: &Path) -> Result<Option<String>, GuardError> {
    let is_odd = |_, bytes: &[u8]| bytes.iter().any(|&byte| byte != 0);
    let failed = |e| GuardError::Read { path: printable_path(path), text: system_text(&e) };
    let odd = find_odd(reader, PLACES, &is_odd).map_err(failed)?;
    Ok(odd.map(|odd| match odd.error {
        None => format!(
            "it holds data that nothing here recognises, perhaps of an earlier test (at or after byte {})",
            odd.offset_bytes
        ),
        Some(error) => format!(
            "it could not be read at byte {}, so nobody can tell what it holds: {}",
            odd.offset_bytes,
            system_text(&error)
        ),
    }))
}

/// Partitions by the table on the device, or by the kernel where no table can be read.
fn parts_of(reader: &File, own: Option<&BlockDevice>) -> Vec<Part> {
    let mut parts = partitions(reader);
    for known in own.map(BlockDevice::partitions).unwrap_or_default() {
        let (Some(number), Some((start, length))) = (known.partition_number(), known.extent_bytes()) else {
            continue;
        };
        let range = Range { start_bytes: start, length_bytes: length };
        if !parts.iter().any(|part| part.number == number || part.range == range) {
            parts.push(Part { number, range, label: None, type_code: None });
        }
    }
    parts.sort_by_key(|part| part.number);
    parts
}

/// For example: its partition 1 (sda1, 512MiB, EFI system, "boot") holds a file system of type vfat
fn describe(part: &Part, own: Option<&BlockDevice>, scan: Option<&Scan>) -> String {
    let known = own.map(BlockDevice::partitions).unwrap_or_default();
    let name = known.iter().find(|p| p.partition_number() == Some(part.number)).map(|p| p.name.clone());
    let mut facts: Vec<String> = name.into_iter().collect();
    facts.push(coarse_size(part.range.length_bytes));
    facts.extend(part.type_code.as_deref().map(type_words));
    facts.extend(part.label.as_deref().map(|label| format!("\"{}\"", printable(label))));
    let holds = match scan {
        None => "cannot be read".to_string(),
        Some(scan) if scan.signatures.is_empty() => "holds nothing that is known".to_string(),
        Some(scan) => {
            let all: Vec<String> = scan.signatures.iter().map(Signature::to_string).collect();
            format!("holds {}", all.join(" and "))
        }
    };
    format!("its partition {} ({}) {holds}", part.number, facts.join(", "))
}

/// What stands on a disk outside of its partitions and is no table: a member of something larger. And the type
/// of partition `number` when such hold data that has no signature.
fn around(disk: &BlockDevice, number: Option<u32>, roots: &Roots) -> Vec<String> {
    let node = roots.dev.join(disk.node_name());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(file) = rustix::fs::open(&node, flags, Mode::empty()).map(File::from) else { return Vec::new() };
    let device = file.metadata().ok().map(|m| DeviceNumber::from_raw(m.rdev()));
    if device != disk.number() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let in_table = partitions(&file).into_iter().find(|part| Some(part.number) == number);
    if let Some(code) = in_table.and_then(|part| part.type_code).filter(|code| holds_raw_data(code)) {
        found.push(format!("by its type, {}, it holds data without a signature", type_words(&code)));
    }
    let Ok(whole) = scan(&file, &node, None) else { return found };
    let parts = disk.partitions();
    let is_inside = |offset: u64| {
        let mut extents = parts.iter().filter_map(BlockDevice::extent_bytes);
        extents.any(|(start, length)| offset >= start && offset - start < length)
    };
    let name = printable_path(&node);
    found.extend(
        whole
            .signatures
            .iter()
            .filter(|s| s.kind != SignatureKind::PartitionTable)
            .filter(|s| s.offset_bytes.is_some_and(|offset| !is_inside(offset)))
            .map(|s| format!("the whole disk {name} holds {s}")),
    );
    found
}

/// Boot loaders and volume managers write to such partitions without anything that could be recognised.
fn holds_raw_data(code: &str) -> bool {
    const TYPES: &[&str] =
        &["BIOS boot", "PReP boot", "LDM metadata", "LDM data", "Solaris reserved", "VMFS"];
    TYPES.contains(&type_words(code).as_str())
}

/// Types of partitions that people know by name; others are shown as they are.
fn type_words(code: &str) -> String {
    const KNOWN: &[(&str, &str)] = &[
        ("c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "EFI system"),
        ("21686148-6449-6e6f-744e-656564454649", "BIOS boot"),
        ("9e1a2d38-c612-4316-aa26-8b49521e5a8b", "PReP boot"),
        ("0fc63daf-8483-4772-8e79-3d69d8477de4", "Linux file system"),
        ("4f68bce3-e8cd-4db1-96e7-fbcaf984b709", "Linux root"),
        ("b921b045-1df0-41c3-af44-4c6f280d3fae", "Linux root"),
        ("bc13c2ff-59e6-4262-a352-b275fd6f7172", "Linux boot"),
        ("933ac7e1-2eb4-4f13-b844-0e14e2aef915", "Linux home"),
        ("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f", "Linux swap"),
        ("e6d6d379-f507-44c2-a23c-238f2a3df928", "Linux LVM"),
        ("a19d880f-05fc-4d3b-a006-743f0f84911e", "Linux RAID"),
        ("ca7d7ccb-63ed-4c53-861c-1742536059cc", "LUKS"),
        ("e3c9e316-0b5c-4db8-817d-f92df00215ae", "Microsoft reserved"),
        ("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7", "Microsoft data"),
        ("de94bba4-06d1-4d40-a16a-bfd50179d6ac", "Windows recovery"),
        ("5808c8aa-7e8f-42e0-85d2-e1e90434cfb3", "LDM metadata"),
        ("af9b60a0-1431-4f62-bc68-3311714a69ad", "LDM data"),
        ("6a898cc3-1dd2-11b2-99a6-080020736631", "ZFS"),
        ("6a945a3b-1dd2-11b2-99a6-080020736631", "Solaris reserved"),
        ("aa31e02a-400f-11db-9590-000c2911d1b8", "VMFS"),
        ("0x5", "extended"),
        ("0xf", "extended"),
        ("0x85", "extended"),
        ("0x7", "NTFS or exFAT"),
        ("0xb", "FAT32"),
        ("0xc", "FAT32"),
        ("0xe", "FAT16"),
        ("0x82", "Linux swap"),
        ("0x83", "Linux file system"),
        ("0x8e", "Linux LVM"),
        ("0xef", "EFI system"),
        ("0xfd", "Linux RAID"),
        ("0xee", "GPT protective"),
        ("0xfb", "VMFS"),
        ("0x41", "PReP boot"),
    ];
    let lower = code.to_ascii_lowercase();
    let known = KNOWN.iter().find(|(known, _)| *known == lower).map(|(_, words)| (*words).to_string());
    known.unwrap_or_else(|| format!("type {}", printable(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_types_read_well() {
        assert_eq!(coarse_size(512 << 20), "512MiB");
        assert_eq!(coarse_size(1536 << 30), "1.5TiB");
        assert_eq!(coarse_size(100), "100 bytes");
        assert_eq!(coarse_size(u64::MAX), "16777215.9TiB");
        assert_eq!(type_words("C12A7328-F81F-11D2-BA4B-00A0C93EC93B"), "EFI system");
        assert_eq!(type_words("0x8e"), "Linux LVM");
        assert_eq!(type_words("0x42"), "type 0x42");
    }
}

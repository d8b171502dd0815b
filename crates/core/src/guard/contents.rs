//! What lies on a device: its signatures, its partitions and theirs, and those of the disk around
//! a partition.

use std::fs::File;
use std::io;
use std::path::Path;

use super::facts::GuardError;
use super::sample::{Depth, End, Looked, look_through};
use super::sample::{Odd, find_odd};
use super::signatures::{Range, Signature, SignatureKind};
use super::signatures::{partitions, reopen_for_reading, scan};
use truespd_platform::machine::allocated::{Allocated, allocated};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::device::Partition;
use truespd_platform::sys::device::capacity_bytes;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::file::{ReadOptions, read};
use truespd_platform::sys::identity::block_device;
use truespd_platform::text::{coarse_size, printable, printable_path};

/// More partitions than this are counted, not described.
const PARTITIONS_TOLD_MAX: usize = 16;
/// Samples taken of a device on which nothing known is found, besides those of the tested range: data that
/// fills a tenth of the device is missed once in a thousand times.
const PLACES: u64 = 64;

/// What lies on a device or in a file, as far as was looked.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// In words about "it": it holds a file system of type ext4
    pub holds: Vec<String>,
    /// What could have been missed.
    pub looked: Option<Looked>,
}

/// What a sample shows that is no zeros or cannot be read.
fn told_of(odd: &Odd) -> String {
    let at = odd.offset_bytes;
    match &odd.error {
        None => format!("{UNKNOWN_KIND} (at or after byte {at})"),
        Some(error) => {
            format!("it may hold data, because byte {at} cannot be read: {}", system_text(error))
        }
    }
}

/// Data without a signature: plain dm-crypt, a database on the bare device, a damaged file system, an earlier test.
const UNKNOWN_KIND: &str = "it holds data of an unknown kind, perhaps from an earlier test";

/// What is known to lie on an open device or in an open file.
///
/// `device` is the number when it is one: then the kernel's partitions count too, and for a partition what
/// lies on its disk outside of all partitions. Where none of that is found, samples of the device are read, and more of
/// `range`, which is going to be written, as `look` says: only zeros are no data.
///
/// # Errors
/// [`GuardError`] when the target cannot be read: then nothing is known about its content.
pub(super) fn contents(
    file: &File,
    path: &Path,
    device: Option<DeviceNumber>,
    (range, look): (Range, Depth),
    roots: &Roots,
) -> Result<Contents, GuardError> {
    let reader = reopen_for_reading(file, path)?;
    let own = device.and_then(|number| BlockDevice::find(number, roots));
    let whole = scan(&reader, path, None)?;
    let mut found: Vec<String> = whole.signatures.iter().map(|known| format!("it holds {known}")).collect();
    let parts = parts_of(&reader, own.as_ref());
    for part in parts.iter().take(PARTITIONS_TOLD_MAX) {
        let holds = scan(&reader, path, Some(range_of(part))).ok().map(|scan| scan.signatures);
        found.push(held(part, own.as_ref(), holds.as_deref()));
    }
    if parts.len() > PARTITIONS_TOLD_MAX {
        found.push(format!("it has {} more partitions", parts.len() - PARTITIONS_TOLD_MAX));
    }
    if let Some(disk) = own.as_ref().and_then(BlockDevice::whole_disk) {
        found.extend(around(&disk, own.as_ref().and_then(BlockDevice::partition_number), roots));
    }
    if !found.is_empty() || device.is_none() {
        return Ok(Contents { holds: found, looked: None });
    }
    unknown_data(&reader, own.as_ref(), (range, look), roots).map_err(|error| GuardError::read(path, &error))
}

/// Data without a signature: by samples, and by what tells which parts can hold anything or as much reading as there is
/// time for.
fn unknown_data(
    reader: &File,
    own: Option<&BlockDevice>,
    (range, look): (Range, Depth),
    roots: &Roots,
) -> io::Result<Contents> {
    let nothing = Contents::default();
    if let Some(odd) = find_odd(reader, Some(range), PLACES, &is_data)? {
        return Ok(Contents { holds: vec![told_of(&odd)], looked: None });
    }
    let Depth::For(time) = look else { return Ok(nothing) };
    let size_bytes = capacity_bytes(reader)?;
    let start = range.start_bytes.min(size_bytes);
    let length = range.length_bytes.min(size_bytes - start);
    let parts = match own.and_then(|own| allocated(reader, own, start, length, roots)) {
        Some(Allocated::Holds(packed_bytes)) if length == size_bytes => {
            let packed = coarse_size(packed_bytes);
            let words = format!("{UNKNOWN_KIND} (its driver keeps {packed} of it, packed)");
            return Ok(Contents { holds: vec![words], looked: None });
        }
        Some(Allocated::Parts(parts)) => parts,
        _ => vec![(start, length)],
    };
    Ok(match look_through(reader, &parts, time, &is_data)? {
        End::Odd(odd) => Contents { holds: vec![told_of(&odd)], looked: None },
        End::Whole => nothing,
        End::Part(looked) => Contents { looked: Some(looked), ..nothing },
    })
}

fn is_data(_: u64, bytes: &[u8]) -> bool {
    const ZEROS: &[u8] = &[0; 4096];
    // Many bytes at once.
    bytes.chunks(ZEROS.len()).any(|part| part != &ZEROS[..part.len()])
}

/// Partitions by the table on the device, or by the kernel where no table can be read.
fn parts_of(reader: &File, own: Option<&BlockDevice>) -> Vec<Partition> {
    let mut parts = partitions(reader);
    for known in own.map(BlockDevice::partitions).unwrap_or_default() {
        let (Some(number), Some((start_bytes, length_bytes))) =
            (known.partition_number(), known.extent_bytes())
        else {
            continue;
        };
        let is_known = parts.iter().any(|part| {
            part.number == number || (part.start_bytes, part.length_bytes) == (start_bytes, length_bytes)
        });
        if !is_known {
            parts.push(Partition { number, start_bytes, length_bytes, label: None, type_code: None });
        }
    }
    parts.sort_by_key(|part| part.number);
    parts
}

fn range_of(part: &Partition) -> Range {
    Range { start_bytes: part.start_bytes, length_bytes: part.length_bytes }
}

/// For example: its partition 1 (sda1, 512MiB, EFI system, "boot") holds a file system of type vfat
///
/// `holds` is `None` where it cannot be read.
fn held(part: &Partition, own: Option<&BlockDevice>, holds: Option<&[Signature]>) -> String {
    let mut known = own.map(BlockDevice::partitions).unwrap_or_default().into_iter();
    let known = known.find(|known| known.partition_number() == Some(part.number));
    let mut facts: Vec<String> = known.map(|known| known.name).into_iter().collect();
    facts.push(coarse_size(part.length_bytes));
    facts.extend(part.type_code.as_deref().map(|code| PartitionType::of(code).name));
    facts.extend(part.label.as_deref().map(|label| format!("\"{}\"", printable(label))));
    let holds = match holds {
        None => "cannot be read".to_string(),
        Some([]) => "holds nothing known".to_string(),
        Some(all) => {
            let all: Vec<String> = all.iter().map(Signature::to_string).collect();
            format!("holds {}", all.join(" and "))
        }
    };
    format!("its partition {} ({}) {holds}", part.number, facts.join(", "))
}

/// What lies on a disk outside of its partitions and is no table: the disk is a member of something larger. And the
/// type of partition `number` when partitions of that type hold data without a signature.
fn around(disk: &BlockDevice, number: Option<u32>, roots: &Roots) -> Vec<String> {
    let node = roots.dev.join(disk.node_name());
    let Ok(file) = read(&node, ReadOptions { at_once: true, ..ReadOptions::default() }) else {
        return Vec::new();
    };
    let number_there = block_device(&file).ok().flatten().map(DeviceNumber::from_raw);
    if number_there.is_none() || number_there != disk.number() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let in_table = partitions(&file).into_iter().find(|part| Some(part.number) == number);
    let kind = in_table.and_then(|part| part.type_code).map(|code| PartitionType::of(&code));
    if let Some(PartitionType { name, holds_raw_data: true }) = kind {
        found.push(format!("it has the type {name}, and such partitions hold data without a signature"));
    }
    let Ok(whole) = scan(&file, &node, None) else { return found };
    let parts = disk.partitions();
    for known in whole.signatures {
        let Some(offset) = known.offset_bytes else { continue };
        let mut extents = parts.iter().filter_map(BlockDevice::extent_bytes);
        let is_inside = extents.any(|(start, length)| offset >= start && offset - start < length);
        if known.kind != SignatureKind::PartitionTable && !is_inside {
            found.push(format!("the whole disk {} holds {known}", printable_path(&node)));
        }
    }
    found
}

struct PartitionType {
    /// Known to people, or what the table has: a GUID, or `0x83`.
    name: String,
    /// Boot loaders and volume managers write to such partitions without anything that could be recognised.
    holds_raw_data: bool,
}

impl PartitionType {
    fn of(code: &str) -> Self {
        const RAW: bool = true;
        const KNOWN: &[(&str, &str, bool)] = &[
            ("c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "EFI system", !RAW),
            ("21686148-6449-6e6f-744e-656564454649", "BIOS boot", RAW),
            ("9e1a2d38-c612-4316-aa26-8b49521e5a8b", "PReP boot", RAW),
            ("0fc63daf-8483-4772-8e79-3d69d8477de4", "Linux file system", !RAW),
            ("4f68bce3-e8cd-4db1-96e7-fbcaf984b709", "Linux root", !RAW),
            ("b921b045-1df0-41c3-af44-4c6f280d3fae", "Linux root", !RAW),
            ("bc13c2ff-59e6-4262-a352-b275fd6f7172", "Linux boot", !RAW),
            ("933ac7e1-2eb4-4f13-b844-0e14e2aef915", "Linux home", !RAW),
            ("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f", "Linux swap", !RAW),
            ("e6d6d379-f507-44c2-a23c-238f2a3df928", "Linux LVM", !RAW),
            ("a19d880f-05fc-4d3b-a006-743f0f84911e", "Linux RAID", !RAW),
            ("ca7d7ccb-63ed-4c53-861c-1742536059cc", "LUKS", !RAW),
            ("e3c9e316-0b5c-4db8-817d-f92df00215ae", "Microsoft reserved", !RAW),
            ("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7", "Microsoft data", !RAW),
            ("de94bba4-06d1-4d40-a16a-bfd50179d6ac", "Windows recovery", !RAW),
            ("5808c8aa-7e8f-42e0-85d2-e1e90434cfb3", "LDM metadata", RAW),
            ("af9b60a0-1431-4f62-bc68-3311714a69ad", "LDM data", RAW),
            ("6a898cc3-1dd2-11b2-99a6-080020736631", "ZFS", !RAW),
            ("6a945a3b-1dd2-11b2-99a6-080020736631", "Solaris reserved", RAW),
            ("aa31e02a-400f-11db-9590-000c2911d1b8", "VMFS", RAW),
            ("0x5", "extended", !RAW),
            ("0xf", "extended", !RAW),
            ("0x85", "extended", !RAW),
            ("0x7", "NTFS or exFAT", !RAW),
            ("0xb", "FAT32", !RAW),
            ("0xc", "FAT32", !RAW),
            ("0xe", "FAT16", !RAW),
            ("0x82", "Linux swap", !RAW),
            ("0x83", "Linux file system", !RAW),
            ("0x8e", "Linux LVM", !RAW),
            ("0xef", "EFI system", !RAW),
            ("0xfd", "Linux RAID", !RAW),
            ("0xee", "GPT protective", !RAW),
            ("0xfb", "VMFS", RAW),
            ("0x41", "PReP boot", RAW),
        ];
        let lower = code.to_ascii_lowercase();
        let known = KNOWN.iter().find(|(known, _, _)| *known == lower);
        match known {
            Some((_, name, is_raw)) => PartitionType { name: (*name).to_string(), holds_raw_data: *is_raw },
            None => PartitionType { name: format!("type {}", printable(code)), holds_raw_data: false },
        }
    }
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
        let type_words = |code| PartitionType::of(code).name;
        assert_eq!(type_words("C12A7328-F81F-11D2-BA4B-00A0C93EC93B"), "EFI system");
        assert_eq!(type_words("0x8e"), "Linux LVM");
        assert_eq!(type_words("0x42"), "type 0x42");
    }
}

//! What lies on a device: its signatures, its partitions and theirs, and those of the disk around
//! a partition.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::facts::GuardError;
use super::sample::{Depth, End, Looked, look_through};
use super::sample::{Odd, find_odd_beside};
use super::signatures::{Range, Signature, SignatureKind};
use super::signatures::{partitions, reopen_for_reading, scan};
use crate::machine::beneath::{Allocated, allocated};
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::roots::Roots;
use crate::sys::device::Partition;
use crate::sys::device::capacity_bytes;
use crate::sys::error::system_text;
use crate::sys::file::{ReadOptions, read};
use crate::sys::identity::block_device;
use crate::text::{coarse_size, printable, printable_path};

/// More partitions than this are counted, not described.
const PARTITIONS_TOLD_MAX: usize = 16;
/// Samples taken of a device on which nothing known is found, besides those of the tested range: data that
/// fills a tenth of the device is missed once in a thousand times.
const PLACES: u64 = 64;

/// Something that lies on a device or in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holding {
    Signature(Signature),
    Partition(PartitionHeld),
    MorePartitions(usize),
    /// It is a partition of this type, which holds data without a signature.
    OfType(PartitionType),
    /// On the disk around the partition, and outside of all partitions.
    Around {
        disk: PathBuf,
        signature: Signature,
    },
    /// Data without a signature: plain dm-crypt, a database on the bare device, a damaged file system, an earlier test.
    Unrecognised {
        /// First byte of the sample that shows it.
        offset_bytes: u64,
    },
    /// Its driver counts data that is no zeros, somewhere.
    Counted {
        /// So many bytes when packed.
        packed_bytes: u64,
    },
    /// A part of it cannot be read.
    Unreadable {
        offset_bytes: u64,
        text: String,
    },
}

impl Holding {
    fn of(odd: Odd) -> Self {
        let offset_bytes = odd.offset_bytes;
        match odd.error {
            None => Holding::Unrecognised { offset_bytes },
            Some(error) => Holding::Unreadable { offset_bytes, text: system_text(&error) },
        }
    }
}

/// What lies on a device or in a file, as far as was looked.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub holds: Vec<Holding>,
    /// What could have been missed.
    pub looked: Option<Looked>,
}

/// A partition and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionHeld {
    pub number: u32,
    /// Kernel name, when the kernel knows it.
    pub name: Option<String>,
    pub length_bytes: u64,
    /// Type, when a table tells.
    pub kind: Option<PartitionType>,
    pub label: Option<String>,
    /// Signatures in it; `None` when it cannot be read.
    pub holds: Option<Vec<Signature>>,
}

impl fmt::Display for Holding {
    /// In words about "it": it holds a file system of type ext4
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holding::Signature(signature) => write!(f, "it holds {signature}"),
            Holding::Partition(partition) => partition.fmt(f),
            Holding::MorePartitions(count) => write!(f, "it has {count} more partitions"),
            Holding::OfType(kind) => {
                write!(f, "it has the type {kind}, and such partitions hold data without a signature")
            }
            Holding::Around { disk, signature } => {
                write!(f, "the whole disk {} holds {signature}", printable_path(disk))
            }
            Holding::Unrecognised { offset_bytes } => write!(
                f,
                "it holds data of an unknown kind, perhaps from an earlier test (at or after byte {offset_bytes})"
            ),
            Holding::Counted { packed_bytes } => write!(
                f,
                "it holds data of an unknown kind, perhaps from an earlier test (its driver keeps {} of it, packed)",
                coarse_size(*packed_bytes)
            ),
            Holding::Unreadable { offset_bytes, text } => {
                write!(f, "it may hold data, because byte {offset_bytes} cannot be read: {text}")
            }
        }
    }
}

impl fmt::Display for PartitionHeld {
    /// For example: its partition 1 (sda1, 512MiB, EFI system, "boot") holds a file system of type vfat
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut facts: Vec<String> = self.name.clone().into_iter().collect();
        facts.push(coarse_size(self.length_bytes));
        facts.extend(self.kind.as_ref().map(PartitionType::to_string));
        facts.extend(self.label.as_deref().map(|label| format!("\"{}\"", printable(label))));
        write!(f, "its partition {} ({}) ", self.number, facts.join(", "))?;
        match self.holds.as_deref() {
            None => f.write_str("cannot be read"),
            Some([]) => f.write_str("holds nothing known"),
            Some(all) => {
                let all: Vec<String> = all.iter().map(Signature::to_string).collect();
                write!(f, "holds {}", all.join(" and "))
            }
        }
    }
}

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
    let mut found: Vec<Holding> = whole.signatures.into_iter().map(Holding::Signature).collect();
    let parts = parts_of(&reader, own.as_ref());
    for part in parts.iter().take(PARTITIONS_TOLD_MAX) {
        let holds = scan(&reader, path, Some(range_of(part))).ok().map(|scan| scan.signatures);
        found.push(Holding::Partition(held(part, own.as_ref(), holds)));
    }
    if parts.len() > PARTITIONS_TOLD_MAX {
        found.push(Holding::MorePartitions(parts.len() - PARTITIONS_TOLD_MAX));
    }
    if let Some(disk) = own.as_ref().and_then(BlockDevice::whole_disk) {
        found.extend(around(&disk, own.as_ref().and_then(BlockDevice::partition_number), roots));
    }
    let mut contents = Contents { holds: found, looked: None };
    if contents.holds.is_empty() && device.is_some() {
        unknown_data(&reader, own.as_ref(), (range, look), roots, &mut contents)
            .map_err(|error| GuardError::Read { path: printable_path(path), text: system_text(&error) })?;
    }
    Ok(contents)
}

/// Data without a signature: by samples, and by what tells which parts can hold anything or as much reading as there is
/// time for.
fn unknown_data(
    reader: &File,
    own: Option<&BlockDevice>,
    (range, look): (Range, Depth),
    roots: &Roots,
    contents: &mut Contents,
) -> io::Result<()> {
    if let Some(odd) = find_odd_beside(reader, Some(range), PLACES, &is_data)? {
        contents.holds.push(Holding::of(odd));
        return Ok(());
    }
    let Depth::For(time) = look else { return Ok(()) };
    let size_bytes = capacity_bytes(reader)?;
    let start = range.start_bytes.min(size_bytes);
    let length = range.length_bytes.min(size_bytes - start);
    let parts = match own.and_then(|own| allocated(reader, own, start, length, roots)) {
        Some(Allocated::Holds(packed_bytes)) if length == size_bytes => {
            contents.holds.push(Holding::Counted { packed_bytes });
            return Ok(());
        }
        Some(Allocated::Parts(parts)) => parts,
        _ => vec![(start, length)],
    };
    match look_through(reader, &parts, time, &is_data)? {
        End::Odd(odd) => contents.holds.push(Holding::of(odd)),
        End::Whole => {}
        End::Part(looked) => contents.looked = Some(looked),
    }
    Ok(())
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
        let is_it = |part: &Partition| {
            part.number == number || (part.start_bytes, part.length_bytes) == (start_bytes, length_bytes)
        };
        if !parts.iter().any(is_it) {
            parts.push(Partition { number, start_bytes, length_bytes, label: None, type_code: None });
        }
    }
    parts.sort_by_key(|part| part.number);
    parts
}

fn range_of(part: &Partition) -> Range {
    Range { start_bytes: part.start_bytes, length_bytes: part.length_bytes }
}

fn held(part: &Partition, own: Option<&BlockDevice>, holds: Option<Vec<Signature>>) -> PartitionHeld {
    let known = own.map(BlockDevice::partitions).unwrap_or_default();
    PartitionHeld {
        number: part.number,
        name: known.iter().find(|p| p.partition_number() == Some(part.number)).map(|p| p.name.clone()),
        length_bytes: part.length_bytes,
        kind: part.type_code.as_deref().map(PartitionType::of),
        label: part.label.clone(),
        holds,
    }
}

/// What lies on a disk outside of its partitions and is no table: the disk is a member of something larger. And the
/// type of partition `number` when partitions of that type hold data without a signature.
fn around(disk: &BlockDevice, number: Option<u32>, roots: &Roots) -> Vec<Holding> {
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
    found.extend(kind.filter(|kind| kind.holds_raw_data).map(Holding::OfType));
    let Ok(whole) = scan(&file, &node, None) else { return found };
    let parts = disk.partitions();
    let is_inside = |offset: u64| {
        let mut extents = parts.iter().filter_map(BlockDevice::extent_bytes);
        extents.any(|(start, length)| offset >= start && offset - start < length)
    };
    found.extend(
        whole
            .signatures
            .into_iter()
            .filter(|s| s.kind != SignatureKind::PartitionTable)
            .filter(|s| s.offset_bytes.is_some_and(|offset| !is_inside(offset)))
            .map(|signature| Holding::Around { disk: node.clone(), signature }),
    );
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionType {
    /// Code as the table has it: a GUID, or `0x83`.
    pub code: String,
    /// Name, for types that people know by name.
    pub name: Option<&'static str>,
    /// Boot loaders and volume managers write to such partitions without anything that could be recognised.
    pub holds_raw_data: bool,
}

impl fmt::Display for PartitionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", printable(&self.code)),
        }
    }
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
        PartitionType {
            code: code.to_string(),
            name: known.map(|(_, name, _)| *name),
            holds_raw_data: known.is_some_and(|(_, _, is_raw)| *is_raw),
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
        let type_words = |code| PartitionType::of(code).to_string();
        assert_eq!(type_words("C12A7328-F81F-11D2-BA4B-00A0C93EC93B"), "EFI system");
        assert_eq!(type_words("0x8e"), "Linux LVM");
        assert_eq!(type_words("0x42"), "type 0x42");
    }
}

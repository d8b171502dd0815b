//! Known signatures: what they are called, and what they say about a device or file.
//!
//! Searches for signatures, with libblkid or without it.
//!
//! A small table of signatures, for machines without libblkid.
//!
//! It rather finds too much than too little: a false alarm costs one long option, a miss costs data.
//! Offsets and numbers are those of the on-disk formats.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::{fmt, io};

use super::facts::GuardError;
use crate::profile::Target;
use truespd_platform::sys::device::{self, Found, Partition};
use truespd_platform::sys::file::read_exact_at;
use truespd_platform::sys::file::{ReadOptions, read, read_again};
use truespd_platform::sys::identity::Identity;
use truespd_platform::text::printable;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureKind {
    Filesystem,
    PartitionTable,
    /// A member of something larger: LVM, md, bcache, ...
    Member,
    Encrypted,
    Swap,
    /// Something else that is known by its signature.
    Other,
}

/// A known signature found on a device or in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub kind: SignatureKind,
    /// libblkid's name: `ext4`, `gpt`, `dos`, `LVM2_member`, `crypto_LUKS`, ...
    pub name: String,
    /// Label, when there is one.
    pub label: Option<String>,
    /// Offset of its magic number in bytes.
    pub offset_bytes: Option<u64>,
}

impl fmt::Display for Signature {
    /// For example: a file system of type ext4, label "backup".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(&self.name);
        match (self.kind, self.name.as_str()) {
            (_, "LVM2_member" | "LVM1_member") => f.write_str("an LVM physical volume"),
            (_, "linux_raid_member") => f.write_str("a member of an md array"),
            (_, "zfs_member") => f.write_str("a member of a ZFS pool"),
            (_, "crypto_LUKS") => f.write_str("a LUKS encrypted volume"),
            (_, "dos") => f.write_str("an MBR partition table"),
            (_, "gpt") => f.write_str("a GPT partition table"),
            (SignatureKind::Filesystem, _) => write!(f, "a file system of type {name}"),
            (SignatureKind::PartitionTable, _) => write!(f, "a partition table of type {name}"),
            (SignatureKind::Swap, _) => f.write_str("a swap area"),
            (SignatureKind::Encrypted, _) => write!(f, "an encrypted volume of type {name}"),
            (SignatureKind::Member, _) => write!(f, "a member device of type {name}"),
            (SignatureKind::Other, _) => write!(f, "data of type {name}"),
        }?;
        match &self.label {
            Some(label) => write!(f, ", label \"{}\"", printable(label)),
            None => Ok(()),
        }
    }
}

/// Result of a search for signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// What was found; empty when nothing known is there.
    pub signatures: Vec<Signature>,
    /// Why the small built-in table was used and not libblkid, which knows everything that `wipefs` and `mount` know.
    pub why_built_in: Option<String>,
}

/// A part of a device or file.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start_bytes: u64,
    pub length_bytes: u64,
}

impl Range {
    /// All of a target, however large.
    pub const ALL: Range = Range { start_bytes: 0, length_bytes: u64::MAX };

    /// What a time span does I/O to, whatever the target's size: from `-B` to the end that `-f` or `-B` sets.
    /// All threads stay inside.
    pub fn tested(target: &Target) -> Self {
        let end = if target.max_bytes == 0 { u64::MAX } else { target.max_bytes };
        Range { start_bytes: target.base_bytes, length_bytes: end.saturating_sub(target.base_bytes) }
    }
}

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
    let why = match device::blkid() {
        Ok(library) => match library.probe(reader, part) {
            Ok(found) => {
                let signatures = found
                    .into_iter()
                    .map(|Found { name, usage, label, offset_bytes }| {
                        let kind = kind(&name, usage.as_deref());
                        Signature { kind, name, label, offset_bytes }
                    })
                    .collect();
                return Ok(Scan { signatures, why_built_in: None });
            }
            Err(why) => why.to_string(),
        },
        Err(why) => why.to_string(),
    };
    let signatures = probe_file(reader, range).map_err(|e| GuardError::read(path, &e))?;
    Ok(Scan { signatures, why_built_in: Some(why) })
}

/// The partitions that a table on the device or in the file describes; none without libblkid.
pub(super) fn partitions(reader: &File) -> Vec<Partition> {
    device::blkid().map(|library| library.partitions(reader)).unwrap_or_default()
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
    // Without procfs the path must do.
    let how = ReadOptions::default();
    let reader = read_again(file, how).or_else(|_| read(path, how));
    // The same inode, or another node of the same device.
    let is_same = reader.and_then(|reader| Ok((Identity::of(file)? == Identity::of(&reader)?, reader)));
    match is_same.map_err(|e| GuardError::read(path, &e))? {
        (true, reader) => Ok(reader),
        (false, _) => Err(GuardError::changed(path)),
    }
}

/// Random access to what is examined.
pub(super) trait Source {
    fn size(&self) -> u64;
    /// Fills `buffer` from `offset`; the caller stays inside the size.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

#[cfg(test)]
impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let part = self.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(part);
        Ok(())
    }
}

struct OpenFile<'a> {
    file: &'a File,
    range: Range,
}

impl Source for OpenFile<'_> {
    fn size(&self) -> u64 {
        self.range.length_bytes
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(self.file, buffer, self.range.start_bytes.saturating_add(offset))
    }
}

/// Searches an open file or device, or a part of it.
pub(super) fn probe_file(mut file: &File, range: Option<Range>) -> io::Result<Vec<Signature>> {
    let size = file.seek(SeekFrom::End(0))?;
    let range = range.unwrap_or(Range { start_bytes: 0, length_bytes: size });
    let length_bytes = range.length_bytes.min(size.saturating_sub(range.start_bytes));
    probe(&OpenFile { file, range: Range { length_bytes, ..range } })
}

/// Magic numbers at fixed places: name, kind, offset, bytes.
type Magic = (&'static str, SignatureKind, u64, &'static [u8]);

const TABLE: &[Magic] = &[
    ("xfs", SignatureKind::Filesystem, 0, b"XFSB"),
    ("btrfs", SignatureKind::Filesystem, 0x1_0040, b"_BHRfS_M"),
    (
        "bcachefs",
        SignatureKind::Filesystem,
        4096 + 24,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    ("f2fs", SignatureKind::Filesystem, 1024, b"\x10\x20\xf5\xf2"),
    ("erofs", SignatureKind::Filesystem, 1024, b"\xe2\xe1\xf5\xe0"),
    ("ntfs", SignatureKind::Filesystem, 3, b"NTFS    "),
    ("ReFS", SignatureKind::Filesystem, 0, b"\0\0\0ReFS\0"),
    ("exfat", SignatureKind::Filesystem, 3, b"EXFAT   "),
    ("vfat", SignatureKind::Filesystem, 82, b"FAT32   "),
    ("vfat", SignatureKind::Filesystem, 54, b"FAT16   "),
    ("vfat", SignatureKind::Filesystem, 54, b"FAT12   "),
    ("vfat", SignatureKind::Filesystem, 54, b"FAT     "),
    ("iso9660", SignatureKind::Filesystem, 0x8001, b"CD001"),
    ("udf", SignatureKind::Filesystem, 0x8001, b"BEA01"),
    ("squashfs", SignatureKind::Filesystem, 0, b"hsqs"),
    ("jfs", SignatureKind::Filesystem, 0x8000, b"JFS1"),
    ("reiserfs", SignatureKind::Filesystem, 0x1_0034, b"ReIsEr"),
    ("reiser4", SignatureKind::Filesystem, 0x1_0000, b"ReIsEr4"),
    ("nilfs2", SignatureKind::Filesystem, 1024 + 6, b"\x34\x34"),
    ("hfsplus", SignatureKind::Filesystem, 1024, b"H+\0\x04"),
    ("hfsplus", SignatureKind::Filesystem, 1024, b"HX\0\x05"),
    ("apfs", SignatureKind::Filesystem, 32, b"NXSB"),
    ("gfs2", SignatureKind::Filesystem, 0x1_0000, b"\x01\x16\x19\x70"),
    ("ocfs2", SignatureKind::Filesystem, 2 * 4096, b"OCFSV2"),
    ("ufs", SignatureKind::Filesystem, 0x1_0000 + 1372, b"\x19\x01\x54\x19"),
    ("ufs", SignatureKind::Filesystem, 8192 + 1372, b"\x19\x01\x54\x19"),
    ("VMFS_volume_member", SignatureKind::Member, 1024 * 1024, b"\x0d\xd0\x01\xc0"),
    ("crypto_LUKS", SignatureKind::Encrypted, 0, b"LUKS\xba\xbe"),
    ("crypto_LUKS", SignatureKind::Encrypted, 0x4000, b"SKUL\xba\xbe"),
    ("BitLocker", SignatureKind::Encrypted, 3, b"-FVE-FS-"),
    (
        "bcache",
        SignatureKind::Member,
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    ("ceph_bluestore", SignatureKind::Member, 0, b"bluestore block device"),
    ("linux_raid_member", SignatureKind::Member, 0, MD_MAGIC),
    ("linux_raid_member", SignatureKind::Member, 4096, MD_MAGIC),
    ("LVM2_member", SignatureKind::Member, 24, b"LVM2 001"),
    ("LVM2_member", SignatureKind::Member, 512 + 24, b"LVM2 001"),
    ("LVM2_member", SignatureKind::Member, 1024 + 24, b"LVM2 001"),
    ("LVM2_member", SignatureKind::Member, 1536 + 24, b"LVM2 001"),
    ("gpt", SignatureKind::PartitionTable, 512, b"EFI PART"),
    ("gpt", SignatureKind::PartitionTable, 4096, b"EFI PART"),
    ("mac", SignatureKind::PartitionTable, 512, b"PM\0\0"),
    ("atari", SignatureKind::PartitionTable, 0x1c6, b"\x01GEM"),
    ("bsd", SignatureKind::PartitionTable, 512, b"\x57\x45\x56\x82"),
];

const MD_MAGIC: &[u8] = b"\xfc\x4e\x2b\xa9";
/// ZFS uberblock, either byte order.
const UBERBLOCK: [&[u8]; 2] = [b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c"];
const ZFS_LABEL_BYTES: u64 = 256 * 1024;
const ZFS_RING_BYTES: u64 = 128 * 1024;

/// Everything the table knows, in the order found; a name may appear once per place.
pub(super) fn probe<S: Source + ?Sized>(source: &S) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    for &(name, kind, offset, magic) in TABLE {
        if has(source, offset, magic)? {
            found.push(found_at(name, kind, offset));
        }
    }
    found.extend(extended(source)?);
    found.extend(swap(source)?);
    found.extend(md_at_end(source)?);
    found.extend(backup_gpt(source)?);
    found.extend(zfs(source)?);
    let is_gpt = found.iter().any(|s| s.name == "gpt");
    let is_boot_sector =
        found.iter().any(|s| ["vfat", "ntfs", "exfat", "BitLocker"].contains(&s.name.as_str()));
    if !is_gpt && !is_boot_sector {
        found.extend(mbr(source)?);
    }
    Ok(found)
}

fn found_at(name: &str, kind: SignatureKind, offset: u64) -> Signature {
    Signature { kind, name: name.to_string(), label: None, offset_bytes: Some(offset) }
}

/// `N` bytes at `offset`; `None` past the end.
fn bytes<const N: usize, S: Source + ?Sized>(source: &S, offset: u64) -> io::Result<Option<[u8; N]>> {
    if offset.checked_add(N as u64).is_none_or(|end| end > source.size()) {
        return Ok(None);
    }
    let mut buffer = [0; N];
    source.read(offset, &mut buffer)?;
    Ok(Some(buffer))
}

fn has<S: Source + ?Sized>(source: &S, offset: u64, wanted: &[u8]) -> io::Result<bool> {
    if offset.checked_add(wanted.len() as u64).is_none_or(|end| end > source.size()) {
        return Ok(false);
    }
    let mut buffer = vec![0; wanted.len()];
    source.read(offset, &mut buffer)?;
    Ok(buffer == wanted)
}

/// ext2, ext3, ext4: one magic number, told apart by features.
fn extended<S: Source + ?Sized>(source: &S) -> io::Result<Option<Signature>> {
    const SUPERBLOCK: u64 = 1024;
    let Some(block) = bytes::<256, S>(source, SUPERBLOCK)? else { return Ok(None) };
    if block[0x38..0x3a] != [0x53, 0xef] {
        return Ok(None);
    }
    const HAS_JOURNAL: u32 = 4;
    const JOURNAL_DEVICE: u32 = 8;
    // Incompatible features an ext3 driver knows: filetype, recover, meta_bg.
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
    // Read-only features an ext3 driver knows: sparse_super, large_file, btree_dir.
    const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;
    let [compatible, incompatible, read_only] = [0x5c, 0x60, 0x64].map(|at| word_at(&block, at));
    let name = if incompatible & JOURNAL_DEVICE != 0 {
        "jbd"
    } else if incompatible & !EXT3_INCOMPATIBLE != 0 || read_only & !EXT3_READ_ONLY != 0 {
        "ext4"
    } else if compatible & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    let label = String::from_utf8_lossy(&block[0x78..0x88]);
    let label = label.trim_end_matches('\0');
    let mut found = found_at(name, SignatureKind::Filesystem, SUPERBLOCK + 0x38);
    found.label = (!label.is_empty()).then(|| label.to_string());
    Ok(Some(found))
}

fn word_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The magic number stands at the end of the first page, whatever the page size was.
fn swap<S: Source + ?Sized>(source: &S) -> io::Result<Option<Signature>> {
    for page in [4096u64, 8192, 16384, 32768, 65536] {
        for text in [b"SWAPSPACE2", b"SWAP-SPACE"] {
            if has(source, page - 10, text)? {
                return Ok(Some(found_at("swap", SignatureKind::Swap, page - 10)));
            }
        }
    }
    Ok(None)
}

/// md versions 0.90 and 1.0 keep their superblock near the end.
fn md_at_end<S: Source + ?Sized>(source: &S) -> io::Result<Option<Signature>> {
    let size = source.size();
    let v0 = (size & !0xffff).checked_sub(0x1_0000);
    let v1 = (size / 512).checked_sub(16).map(|sectors| (sectors & !7) * 512);
    for offset in [v0, v1].into_iter().flatten() {
        // 0.90 is stored in the byte order of the machine that made it.
        if has(source, offset, MD_MAGIC)? || has(source, offset, b"\xa9\x2b\x4e\xfc")? {
            return Ok(Some(found_at("linux_raid_member", SignatureKind::Member, offset)));
        }
    }
    Ok(None)
}

/// The second copy of a GPT, in the last sector.
fn backup_gpt<S: Source + ?Sized>(source: &S) -> io::Result<Option<Signature>> {
    for sector in [512u64, 4096] {
        let last = (source.size() / sector * sector).checked_sub(sector);
        if let Some(offset) = last.filter(|&o| o > sector)
            && has(source, offset, b"EFI PART")?
        {
            return Ok(Some(found_at("gpt", SignatureKind::PartitionTable, offset)));
        }
    }
    Ok(None)
}

/// Two labels at the start and two at the end, each with a ring of uberblocks.
fn zfs<S: Source + ?Sized>(source: &S) -> io::Result<Option<Signature>> {
    let aligned = source.size() / ZFS_LABEL_BYTES * ZFS_LABEL_BYTES;
    if aligned < 4 * ZFS_LABEL_BYTES {
        return Ok(None);
    }
    let labels = [0, ZFS_LABEL_BYTES, aligned - 2 * ZFS_LABEL_BYTES, aligned - ZFS_LABEL_BYTES];
    let mut ring = vec![0; ZFS_RING_BYTES as usize];
    for label in labels {
        let start = label + ZFS_LABEL_BYTES - ZFS_RING_BYTES;
        source.read(start, &mut ring)?;
        // The smallest uberblock takes 1 KiB.
        let slot =
            ring.chunks_exact(1024).position(|slot| UBERBLOCK.iter().any(|magic| slot.starts_with(magic)));
        if let Some(slot) = slot {
            return Ok(Some(found_at("zfs_member", SignatureKind::Member, start + slot as u64 * 1024)));
        }
    }
    Ok(None)
}

/// A boot signature with entries that make sense, also when all are empty: libblkid decides the same way.
fn mbr<S: Source + ?Sized>(source: &S) -> io::Result<Option<Signature>> {
    let Some(sector) = bytes::<512, S>(source, 0)? else { return Ok(None) };
    if sector[510..] != [0x55, 0xaa] {
        return Ok(None);
    }
    let mut entries = sector[446..510].chunks_exact(16);
    let is_table = entries.all(|entry| entry[0] & 0x7f == 0 && (entry[4] == 0 || word_at(entry, 12) > 0));
    Ok(is_table.then(|| found_at("dos", SignatureKind::PartitionTable, 510)))
}

#[cfg(test)]
mod tests_scan {
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

#[cfg(test)]
mod tests;

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
use crate::sys::device;
use crate::sys::device::{Found, Partition};
use crate::sys::error::system_text;
use crate::sys::file::read_exact_at;
use crate::sys::file::{ReadOptions, read, read_again};
use crate::sys::identity::Identity;
use crate::text::{printable, printable_path};

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

impl Signature {
    /// What it is, in words, without its place.
    fn what(&self) -> String {
        let name = printable(&self.name);
        match (self.kind, self.name.as_str()) {
            (_, "LVM2_member" | "LVM1_member") => "an LVM physical volume".to_string(),
            (_, "linux_raid_member") => "a member of an md array".to_string(),
            (_, "zfs_member") => "a member of a ZFS pool".to_string(),
            (_, "crypto_LUKS") => "a LUKS encrypted volume".to_string(),
            (_, "dos") => "an MBR partition table".to_string(),
            (_, "gpt") => "a GPT partition table".to_string(),
            (SignatureKind::Filesystem, _) => format!("a file system of type {name}"),
            (SignatureKind::PartitionTable, _) => format!("a partition table of type {name}"),
            (SignatureKind::Swap, _) => "a swap area".to_string(),
            (SignatureKind::Encrypted, _) => format!("an encrypted volume of type {name}"),
            (SignatureKind::Member, _) => format!("a member device of type {name}"),
            (SignatureKind::Other, _) => format!("data of type {name}"),
        }
    }
}

impl fmt::Display for Signature {
    /// For example: a file system of type ext4, label "backup".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        match &self.label {
            Some(label) => write!(f, ", label \"{}\"", printable(label)),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScannedBy {
    /// libblkid of the machine: knows everything that `wipefs` and `mount` know.
    Libblkid,
    /// The small built-in table, because the library could not be used for this reason.
    BuiltIn(String),
}

/// Result of a search for signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// What was found; empty when nothing known is there.
    pub signatures: Vec<Signature>,
    pub by: ScannedBy,
}

/// A part of a device or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub start_bytes: u64,
    /// Length in bytes.
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
                let signatures = found.into_iter().map(signature).collect();
                return Ok(Scan { signatures, by: ScannedBy::Libblkid });
            }
            Err(why) => why,
        },
        Err(why) => why.clone(),
    };
    let unreadable = |e: io::Error| GuardError::Read { path: printable_path(path), text: system_text(&e) };
    let signatures = probe_file(reader, range).map_err(unreadable)?;
    Ok(Scan { signatures, by: ScannedBy::BuiltIn(why) })
}

/// The partitions that a table on the device or in the file describes; none without libblkid.
pub(super) fn partitions(reader: &File) -> Vec<Partition> {
    device::blkid().map(|library| library.partitions(reader)).unwrap_or_default()
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
    let how = ReadOptions::default();
    let reader = read_again(file, how).or_else(|_| read(path, how)).map_err(failed)?;
    // The same inode, or another node of the same device.
    let same = Identity::of(file).map_err(failed)? == Identity::of(&reader).map_err(failed)?;
    if same { Ok(reader) } else { Err(GuardError::Changed { path: name() }) }
}

/// Random access to what is examined.
pub(super) trait Source {
    fn size(&self) -> u64;
    /// Fills `buffer` from `offset`; the caller stays inside the size.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

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

/// A magic number at a fixed place.
struct Magic {
    name: &'static str,
    kind: SignatureKind,
    offset: u64,
    bytes: &'static [u8],
}

const fn row(name: &'static str, kind: SignatureKind, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, kind, offset, bytes }
}

const TABLE: &[Magic] = &[
    row("xfs", SignatureKind::Filesystem, 0, b"XFSB"),
    row("btrfs", SignatureKind::Filesystem, 0x1_0040, b"_BHRfS_M"),
    row(
        "bcachefs",
        SignatureKind::Filesystem,
        4096 + 24,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    row("f2fs", SignatureKind::Filesystem, 1024, b"\x10\x20\xf5\xf2"),
    row("erofs", SignatureKind::Filesystem, 1024, b"\xe2\xe1\xf5\xe0"),
    row("ntfs", SignatureKind::Filesystem, 3, b"NTFS    "),
    row("ReFS", SignatureKind::Filesystem, 0, b"\0\0\0ReFS\0"),
    row("exfat", SignatureKind::Filesystem, 3, b"EXFAT   "),
    row("vfat", SignatureKind::Filesystem, 82, b"FAT32   "),
    row("vfat", SignatureKind::Filesystem, 54, b"FAT16   "),
    row("vfat", SignatureKind::Filesystem, 54, b"FAT12   "),
    row("vfat", SignatureKind::Filesystem, 54, b"FAT     "),
    row("iso9660", SignatureKind::Filesystem, 0x8001, b"CD001"),
    row("udf", SignatureKind::Filesystem, 0x8001, b"BEA01"),
    row("squashfs", SignatureKind::Filesystem, 0, b"hsqs"),
    row("jfs", SignatureKind::Filesystem, 0x8000, b"JFS1"),
    row("reiserfs", SignatureKind::Filesystem, 0x1_0034, b"ReIsEr"),
    row("reiser4", SignatureKind::Filesystem, 0x1_0000, b"ReIsEr4"),
    row("nilfs2", SignatureKind::Filesystem, 1024 + 6, b"\x34\x34"),
    row("hfsplus", SignatureKind::Filesystem, 1024, b"H+\0\x04"),
    row("hfsplus", SignatureKind::Filesystem, 1024, b"HX\0\x05"),
    row("apfs", SignatureKind::Filesystem, 32, b"NXSB"),
    row("gfs2", SignatureKind::Filesystem, 0x1_0000, b"\x01\x16\x19\x70"),
    row("ocfs2", SignatureKind::Filesystem, 2 * 4096, b"OCFSV2"),
    row("ufs", SignatureKind::Filesystem, 0x1_0000 + 1372, b"\x19\x01\x54\x19"),
    row("ufs", SignatureKind::Filesystem, 8192 + 1372, b"\x19\x01\x54\x19"),
    row("VMFS_volume_member", SignatureKind::Member, 1024 * 1024, b"\x0d\xd0\x01\xc0"),
    row("crypto_LUKS", SignatureKind::Encrypted, 0, b"LUKS\xba\xbe"),
    row("crypto_LUKS", SignatureKind::Encrypted, 0x4000, b"SKUL\xba\xbe"),
    row("BitLocker", SignatureKind::Encrypted, 3, b"-FVE-FS-"),
    row(
        "bcache",
        SignatureKind::Member,
        4096 + 24,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    row("ceph_bluestore", SignatureKind::Member, 0, b"bluestore block device"),
    row("linux_raid_member", SignatureKind::Member, 0, MD_MAGIC),
    row("linux_raid_member", SignatureKind::Member, 4096, MD_MAGIC),
    row("LVM2_member", SignatureKind::Member, 24, b"LVM2 001"),
    row("LVM2_member", SignatureKind::Member, 512 + 24, b"LVM2 001"),
    row("LVM2_member", SignatureKind::Member, 1024 + 24, b"LVM2 001"),
    row("LVM2_member", SignatureKind::Member, 1536 + 24, b"LVM2 001"),
    row("gpt", SignatureKind::PartitionTable, 512, b"EFI PART"),
    row("gpt", SignatureKind::PartitionTable, 4096, b"EFI PART"),
    row("mac", SignatureKind::PartitionTable, 512, b"PM\0\0"),
    row("atari", SignatureKind::PartitionTable, 0x1c6, b"\x01GEM"),
    row("bsd", SignatureKind::PartitionTable, 512, b"\x57\x45\x56\x82"),
];

const MD_MAGIC: &[u8] = b"\xfc\x4e\x2b\xa9";
/// ZFS uberblock, either byte order.
const UBERBLOCK: [&[u8]; 2] = [b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c"];
const ZFS_LABEL_BYTES: u64 = 256 * 1024;
const ZFS_RING_BYTES: u64 = 128 * 1024;

/// Everything the table knows, in the order found; a name may appear once per place.
pub(super) fn probe<S: Source + ?Sized>(source: &S) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    for magic in TABLE {
        if has(source, magic.offset, magic.bytes)? {
            found.push(found_at(magic.name, magic.kind, magic.offset));
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
    let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    if block[0x38..0x3a] != [0x53, 0xef] {
        return Ok(None);
    }
    const HAS_JOURNAL: u32 = 4;
    const JOURNAL_DEVICE: u32 = 8;
    // Incompatible features an ext3 driver knows: filetype, recover, meta_bg.
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
    // Read-only features an ext3 driver knows: sparse_super, large_file, btree_dir.
    const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;
    let (compatible, incompatible, read_only) = (word(0x5c), word(0x60), word(0x64));
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
    let plausible = |entry: &[u8]| {
        let sectors = u32::from_le_bytes([entry[12], entry[13], entry[14], entry[15]]);
        entry[0] & 0x7f == 0 && (entry[4] == 0 || sectors > 0)
    };
    let entries = &sector[446..510];
    let is_table = entries.chunks_exact(16).all(plausible);
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

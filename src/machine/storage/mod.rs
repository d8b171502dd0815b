//! What a target is: a regular file or a block device, how large, how aligned, on what.
//!
//! Everything is asked of the opened descriptor, so that the facts belong to what will be tested even when
//! somebody renames the path meanwhile. Nothing here decides whether a test may run: `plan` does.

mod disks;
mod error;
mod filesystem;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Statx, StatxFlags};

pub use disks::{by_id, whole_disks};
pub use error::{OpenFailure, TargetError};
pub use filesystem::Filesystem;
pub(super) use filesystem::{is_memory, is_remote};

use super::roots::Roots;
use crate::machine::device::{BlockDevice, DeviceNumber, SectorSizes};
use crate::machine::mounts::{Mount, read_mounts};
use crate::sys::buffer::IoBuffer;
use crate::text::printable_path;

/// Direct-I/O alignment when nothing is known: no device in use needs more.
const ALIGNMENT_UNKNOWN_BYTES: u64 = 4096;

/// Longest test read: a multiple of every alignment in use, and quick.
const PROBE_BYTES_MAX: usize = 1 << 20;

/// What the test does with the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads only (`-w0`).
    Read,
    /// Writes only (`-w100`).
    Write,
    /// Both.
    ReadWrite,
}

/// How to open a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFlags {
    /// Reading, writing or both.
    pub access: Access,
    /// `O_DIRECT`: bypass the page cache (`-Su`, `-Sh`, `-Sr`).
    pub direct: bool,
    /// `O_DSYNC`: writes are durable when they complete (`-Sw`, `-Sh`).
    pub dsync: bool,
}

impl OpenFlags {
    fn bits(self) -> OFlags {
        let access = match self.access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        let mut bits = access | OFlags::CLOEXEC;
        bits.set(OFlags::DIRECT, self.direct);
        bits.set(OFlags::DSYNC, self.dsync);
        bits
    }
}

/// What kind of thing a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    Regular,
    /// A block device: whole disk, partition, loop, zram, device-mapper, md.
    Block,
}

/// Where an alignment comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignmentSource {
    /// The kernel's own report (`STATX_DIOALIGN`, Linux 6.1).
    Statx,
    /// The block size of the filesystem: below it btrfs quietly goes through the page cache.
    FilesystemBlock,
    /// The logical sector of the device underneath.
    LogicalSector,
    /// Nothing is known: 4096.
    Assumed,
}

/// Direct-I/O alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Offsets and lengths must be multiples of this.
    pub offset_bytes: u64,
    /// Buffer addresses must be multiples of this.
    pub memory_bytes: u64,
    /// Who says so.
    pub source: AlignmentSource,
}

/// Facts about an open target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// Path as opened.
    pub path: PathBuf,
    /// File or device.
    pub kind: TargetKind,
    /// File size or device capacity in bytes.
    pub size_bytes: u64,
    /// The device itself, or the one the file's filesystem reports.
    pub device: DeviceNumber,
    /// Inode number; with `device` it tells whether two paths are one file.
    pub inode: u64,
    /// Kernel name of the device, or of the one under the filesystem, when there is one.
    pub device_name: Option<String>,
    /// Sectors of the device, or of the one under the filesystem, when there is one.
    pub sectors: Option<SectorSizes>,
    /// Direct-I/O alignment; `None`: the kernel says that direct I/O is not possible on this file.
    pub direct: Option<DirectAlignment>,
    /// Filesystem of a regular file; `None` for a device.
    pub filesystem: Option<Filesystem>,
    /// I/O scheduler of the device, when there is one.
    pub scheduler: Option<String>,
    /// Volatile cache of the device as the kernel drives it, when it says: `write back`, `write through`.
    pub write_cache: Option<String>,
}

/// An open target with its facts.
#[derive(Debug)]
pub struct OpenedTarget {
    /// The open descriptor.
    pub file: File,
    /// Its facts.
    pub facts: TargetFacts,
}

/// What a target argument stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Path to open.
    pub path: PathBuf,
    /// Set when it was given as `#n`.
    pub disk_number: Option<usize>,
    /// Name that stays the same over boots; only looked for with `#n`.
    pub by_id: Option<PathBuf>,
}

/// Turns a target argument into a path: `#n` into the n-th whole disk, anything else into itself.
///
/// # Errors
/// [`TargetError::NoSuchDisk`], [`TargetError::Volume`].
pub fn resolve(typed: &str, roots: &Roots) -> Result<Resolved, TargetError> {
    let plain = || Resolved { path: typed.into(), disk_number: None, by_id: None };
    let volume = typed.len() == 2 && typed.as_bytes()[0].is_ascii_alphabetic() && typed.ends_with(':');
    if volume {
        return Err(TargetError::Volume { typed: typed.to_string() });
    }
    let Some(digits) = typed.strip_prefix('#').filter(|rest| !rest.is_empty()) else { return Ok(plain()) };
    let refuse = |reason: String| TargetError::NoSuchDisk { typed: typed.to_string(), reason };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(refuse(format!("only digits may follow '#'; for a file of that name give './{typed}'")));
    }
    let disks = whole_disks(roots);
    let number: usize = digits.parse().unwrap_or(usize::MAX);
    let Some(name) = disks.get(number) else {
        let listed: Vec<String> = disks.iter().enumerate().map(|(i, d)| format!("#{i} {d}")).collect();
        return Err(refuse(match listed.is_empty() {
            true => "this machine shows no whole disks; name the device node".to_string(),
            false => format!("this machine has {}", listed.join(", ")),
        }));
    };
    // sysfs writes a slash in a device name as an exclamation mark (cciss!c0d0).
    let path = roots.dev.join(name.replace('!', "/"));
    Ok(Resolved { by_id: by_id(&path, roots), path, disk_number: Some(number) })
}

/// Opens a target without gathering facts: for each further thread.
///
/// Looks at the path first and opens only regular files and block devices, because merely opening
/// a tape, a watchdog or a pipe has effects.
///
/// # Errors
/// [`TargetError::Open`].
pub fn open_file(path: &Path, flags: OpenFlags) -> Result<File, TargetError> {
    let failed = |errno: rustix::io::Errno| TargetError::of_errno(path, errno.raw_os_error(), flags);
    let look: File =
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?.into();
    let before = kind_of(&look, path)?;
    let opened = match rustix::fs::open(path, flags.bits(), Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(errno) if errno == rustix::io::Errno::INVAL && flags.direct => {
            return Err(explain_invalid(path, flags));
        }
        Err(errno) => return Err(failed(errno)),
    };
    if kind_of(&opened, path)? != before {
        let advice = "The path came to mean something else while it was being opened; try again";
        return Err(TargetError::open(path, OpenFailure::Other, libc::ESTALE, advice));
    }
    Ok(opened)
}

/// Opens a target and gathers its facts.
///
/// # Errors
/// [`TargetError::Open`], [`TargetError::Facts`].
pub fn open(path: &Path, flags: OpenFlags, roots: &Roots) -> Result<OpenedTarget, TargetError> {
    let file = open_file(path, flags)?;
    if flags.access != Access::Read && is_read_only_device(&file) {
        let advice =
            "The device is write-protected: test reads only (-w0), or lift the protection (blockdev --setrw)";
        return Err(TargetError::open(path, OpenFailure::ReadOnly, libc::EROFS, advice));
    }
    let facts = facts_of(&file, path, roots)?;
    if flags.direct && facts.direct.is_none() {
        return Err(direct_refused(path, facts.filesystem.as_ref().map(|f| f.name.as_str())));
    }
    Ok(OpenedTarget { file, facts })
}

/// Tells regular file from block device, refuses everything else in words.
fn kind_of(file: &File, path: &Path) -> Result<TargetKind, TargetError> {
    let kind = file.metadata().map_err(|e| TargetError::facts(path, "ask what it is", &e))?.file_type();
    let refuse = |kind, errno, advice: &str| Err(TargetError::open(path, kind, errno, advice));
    if kind.is_file() {
        Ok(TargetKind::Regular)
    } else if kind.is_block_device() {
        Ok(TargetKind::Block)
    } else if kind.is_dir() {
        refuse(
            OpenFailure::Directory,
            libc::EISDIR,
            "It is a directory; name a file in it, e.g. with -c<size> to create it",
        )
    } else {
        let what = if kind.is_char_device() {
            "a character device"
        } else if kind.is_fifo() {
            "a named pipe"
        } else if kind.is_socket() {
            "a socket"
        } else {
            "neither file nor block device"
        };
        let advice = format!("It is {what}; a target is a regular file or a block device");
        refuse(OpenFailure::NotAFile, libc::EINVAL, &advice)
    }
}

/// An open with `O_DIRECT` said "invalid argument": is it `O_DIRECT` that is refused?
fn explain_invalid(path: &Path, flags: OpenFlags) -> TargetError {
    let plain = rustix::fs::open(path, OpenFlags { direct: false, ..flags }.bits(), Mode::empty());
    match plain {
        Ok(fd) => {
            let file = File::from(fd);
            let is_file = file.metadata().is_ok_and(|m| m.is_file());
            let filesystem = is_file.then(|| filesystem::of_file(&file, None, &[]).ok()).flatten();
            direct_refused(path, filesystem.as_ref().map(|f| f.name.as_str()))
        }
        Err(_) => TargetError::of_errno(path, libc::EINVAL, flags),
    }
}

fn direct_refused(path: &Path, filesystem: Option<&str>) -> TargetError {
    let advice = match filesystem {
        Some(name) => format!(
            "The file system ({name}) refuses direct I/O (O_DIRECT), so the page cache cannot be bypassed there; \
             test a file on another file system, or leave out -Su, -Sh, -h or -Sr to measure with the page cache"
        ),
        None => {
            "The device refuses direct I/O (O_DIRECT) of this size at this place; block size and offset must \
                 be multiples of its sector size"
                .to_string()
        }
    };
    TargetError::open(path, OpenFailure::DirectRefused, libc::EINVAL, advice)
}

/// `BLKROGET`: the kernel lets a write-protected device be opened and fails the writes.
fn is_read_only_device(file: &File) -> bool {
    /// `_IO(0x12, 94)`, `linux/fs.h`.
    const BLKROGET: libc::Ioctl = libc::_IO(0x12, 94);
    let mut read_only: libc::c_int = 0;
    // SAFETY: BLKROGET writes one int through the pointer, which outlives the call; on other files
    // the ioctl fails without writing.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET, &raw mut read_only) };
    result == 0 && read_only != 0
}

/// Capacity of a block device in bytes (`BLKGETSIZE64`).
fn device_bytes(file: &File) -> io::Result<u64> {
    /// `_IOR(0x12, 114, size_t)`, `linux/fs.h`.
    const BLKGETSIZE64: libc::Ioctl = libc::_IOR::<libc::size_t>(0x12, 114);
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 writes one u64 through the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) };
    if result == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Everything the kernel tells about an open file or device.
///
/// # Errors
/// [`TargetError::Facts`], and [`TargetError::Open`] for what is neither file nor device.
pub fn facts_of(file: &File, path: &Path, roots: &Roots) -> Result<TargetFacts, TargetError> {
    let kind = kind_of(file, path)?;
    let metadata = file.metadata().map_err(|e| TargetError::facts(path, "ask its size", &e))?;
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::DIOALIGN;
    let statx = rustix::fs::statx(file.as_fd(), c"", AtFlags::EMPTY_PATH, mask).ok();
    match kind {
        TargetKind::Block => {
            let device = DeviceNumber::from_raw(metadata.rdev());
            let node = BlockDevice::find(device, roots);
            let sectors = sectors_of_device(file);
            Ok(TargetFacts {
                path: path.to_path_buf(),
                kind,
                size_bytes: device_bytes(file)
                    .map_err(|e| TargetError::facts(path, "ask its capacity", &e))?,
                device,
                inode: metadata.ino(),
                device_name: node.as_ref().map(|n| n.name.clone()),
                sectors,
                direct: direct_alignment(statx.as_ref(), None, sectors),
                filesystem: None,
                scheduler: node.as_ref().and_then(BlockDevice::scheduler),
                write_cache: node.and_then(|n| n.write_cache()),
            })
        }
        TargetKind::Regular => {
            let mounts = read_mounts(roots).unwrap_or_default();
            let mount_id = statx.as_ref().filter(|s| has(s, StatxFlags::MNT_ID)).map(|s| s.stx_mnt_id);
            let filesystem = filesystem::of_file(file, mount_id, &mounts)
                .map_err(|e| TargetError::facts(path, "ask its file system", &e))?;
            let device = DeviceNumber::from_raw(metadata.dev());
            let below = device_below(device, &filesystem, &mounts, roots);
            let sectors = below.as_ref().and_then(BlockDevice::sector_sizes);
            Ok(TargetFacts {
                path: path.to_path_buf(),
                kind,
                size_bytes: metadata.len(),
                device,
                inode: metadata.ino(),
                device_name: below.as_ref().map(|n| n.name.clone()),
                sectors,
                direct: direct_alignment(statx.as_ref(), Some(&filesystem), sectors),
                filesystem: Some(filesystem),
                scheduler: below.as_ref().and_then(BlockDevice::scheduler),
                write_cache: below.and_then(|n| n.write_cache()),
            })
        }
    }
}

fn has(statx: &Statx, flag: StatxFlags) -> bool {
    statx.stx_mask & flag.bits() != 0
}

fn sectors_of_device(file: &File) -> Option<SectorSizes> {
    let logical_bytes = rustix::fs::ioctl_blksszget(file).ok()?;
    let physical_bytes = rustix::fs::ioctl_blkpbszget(file).unwrap_or(logical_bytes);
    Some(SectorSizes { logical_bytes, physical_bytes })
}

/// The block device under a filesystem. Filesystems that span devices (btrfs) report a number of their
/// own; then the mount's source names one of the devices.
fn device_below(
    device: DeviceNumber,
    filesystem: &Filesystem,
    mounts: &[Mount],
    roots: &Roots,
) -> Option<BlockDevice> {
    if let Some(found) = BlockDevice::find(device, roots) {
        return Some(found);
    }
    let by_number = || mounts.iter().find(|m| m.device == device).map(|m| m.source.clone());
    let source = filesystem.source.clone().or_else(by_number)?;
    let metadata = std::fs::metadata(source).ok().filter(|m| m.file_type().is_block_device())?;
    BlockDevice::find(DeviceNumber::from_raw(metadata.rdev()), roots)
}

/// The kernel's report, or the best that is known without one.
fn direct_alignment(
    statx: Option<&Statx>,
    filesystem: Option<&Filesystem>,
    sectors: Option<SectorSizes>,
) -> Option<DirectAlignment> {
    if let Some(report) = statx.filter(|s| has(s, StatxFlags::DIOALIGN)) {
        let (offset, memory) = (report.stx_dio_offset_align, report.stx_dio_mem_align);
        // Both zero is the kernel's way to say that direct I/O does not work on this file.
        return (offset != 0 && memory != 0).then_some(DirectAlignment {
            offset_bytes: offset.into(),
            memory_bytes: memory.into(),
            source: AlignmentSource::Statx,
        });
    }
    let same =
        |bytes: u64, source| Some(DirectAlignment { offset_bytes: bytes, memory_bytes: bytes, source });
    match (filesystem, sectors) {
        (Some(f), _) if f.name == "btrfs" && f.block_bytes > 0 => {
            same(f.block_bytes, AlignmentSource::FilesystemBlock)
        }
        (_, Some(s)) => same(s.logical_bytes.into(), AlignmentSource::LogicalSector),
        _ => same(ALIGNMENT_UNKNOWN_BYTES, AlignmentSource::Assumed),
    }
}

/// Reads once with direct I/O at `offset`, `block_bytes` (at most 1 MiB) long: some filesystems accept `O_DIRECT` at open
/// and refuse the first transfer.
///
/// The read goes through a descriptor of its own, so it also serves tests that only write; a
/// user who may not read the target gets no answer and no error.
///
/// # Errors
/// [`TargetError::Open`] with [`OpenFailure::DirectRefused`], [`TargetError::Facts`] when the read fails
/// in another way or memory is short.
pub fn probe_direct_read(target: &OpenedTarget, offset: u64, block_bytes: usize) -> Result<(), TargetError> {
    let path = &target.facts.path;
    let flags = OpenFlags { access: Access::Read, direct: true, dsync: false };
    let file = match open_file(path, flags) {
        Err(error) if error.open_failure() == Some(OpenFailure::Permission) => return Ok(()),
        opened => opened?,
    };
    let alignment = target.facts.direct.map_or(ALIGNMENT_UNKNOWN_BYTES, |d| d.memory_bytes);
    let page = rustix::param::page_size();
    // Mappings are page-aligned; a wish for more is met by starting further inside.
    let slack = usize::try_from(alignment).unwrap_or(page).max(page).next_power_of_two();
    let block_bytes = block_bytes.min(PROBE_BYTES_MAX);
    let no_memory = |e: &dyn std::fmt::Display| TargetError::Facts {
        path: printable_path(path),
        action: "allocate a block for a test read",
        text: e.to_string(),
    };
    let buffer = IoBuffer::new(block_bytes.saturating_add(slack)).map_err(|e| no_memory(&e))?;
    let skip = buffer.as_ptr().align_offset(slack).min(slack);
    let result = buffer.with_slice_mut(skip, block_bytes, |block| file.read_at(block, offset));
    match result {
        Ok(_) => Ok(()),
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            Err(direct_refused(path, target.facts.filesystem.as_ref().map(|f| f.name.as_str())))
        }
        // Whether the device can read here is what the run will find out, with offset and reason.
        Err(_) => Ok(()),
    }
}

/// Hint about the access pattern (`-fs`, `-fr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessHint {
    /// `POSIX_FADV_SEQUENTIAL`: read further ahead.
    Sequential,
    /// `POSIX_FADV_RANDOM`: do not read ahead.
    Random,
}

/// Gives the kernel a hint about the access pattern; it matters to cached I/O only.
///
/// # Errors
/// What `posix_fadvise(2)` says.
pub fn advise(file: &File, hint: AccessHint) -> io::Result<()> {
    let advice = match hint {
        AccessHint::Sequential => rustix::fs::Advice::Sequential,
        AccessHint::Random => rustix::fs::Advice::Random,
    };
    Ok(rustix::fs::fadvise(file, 0, None, advice)?)
}

/// Reads through this descriptor leave the time of last access alone. Only the owner of a file (and root) may ask
/// for that; for others the mount's options decide.
pub fn keep_access_time(file: &File) {
    if let Ok(flags) = rustix::fs::fcntl_getfl(file) {
        // What a refusal means is said above.
        let _ = rustix::fs::fcntl_setfl(file, flags | OFlags::NOATIME);
    }
}

/// What a filesystem can still take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes free for this user's files.
    pub free_bytes: u64,
    /// Bytes of the filesystem.
    pub size_bytes: u64,
    /// Bytes that nobody has free.
    pub used_bytes: u64,
    /// Whether it is mounted read-only.
    pub is_read_only: bool,
}

/// The room in the filesystem of an open file.
///
/// # Errors
/// What `fstatvfs(3)` says.
pub fn room(file: &File) -> io::Result<Room> {
    let found = rustix::fs::fstatvfs(file)?;
    Ok(Room {
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        size_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        used_bytes: found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize),
        is_read_only: found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    })
}

#[cfg(test)]
mod tests;

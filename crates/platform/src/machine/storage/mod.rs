//! What a target is: a regular file or a block device, how large, how aligned, on what.
//!
//! Everything is asked of the opened descriptor, so that the facts belong to what will be tested even when
//! somebody renames the path meanwhile. Nothing here decides whether a test may run: `plan` does.
//!
//! `#n`: whole disks in natural order.
//!
//! The two devices of an NVMe namespace that is given by its character device (`/dev/ngXnY`).
//!
//! What a test must know of it (size, users, content) is known of the block device that is the same
//! namespace, so that is what is opened in its place wherever somebody asks. The character device is opened
//! for the commands alone.

mod error;
mod facts;

use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::device::{BlockDevice, DeviceNumber, SectorSizes};
use super::mounts::{Mount, read_mounts};
use super::namespace::Namespace;
use super::roots::Roots;
use super::roots::read_number;
use crate::sys::buffer::IoBuffer;
use crate::sys::error::Code;
use crate::sys::file::{DirectUnits, FileKind, Stat};
use crate::sys::identity::block_device;
use crate::sys::{device, file, system};
use crate::text::foreign::Foreign;
use crate::text::printable_path;

pub use crate::sys::file::AccessHint;
pub use crate::sys::file::keep_access_time;
pub use crate::sys::file::{Room, advise, room};
pub use error::{OpenFailure, TargetError};
pub use facts::Filesystem;
pub(crate) use facts::Resolved;
pub use facts::filesystem_of;
pub use facts::filesystem_of_folder;
pub use facts::type_of_open;
pub use facts::{
    Access, AlignmentSource, DirectAlignment, OpenFlags, OpenedTarget, ReadFlags, TargetFacts, TargetKind,
    WriteLeave,
};
pub(super) use facts::{is_memory, is_remote};

/// Direct-I/O alignment when nothing is known: no device in use needs more.
const ALIGNMENT_UNKNOWN_BYTES: u64 = 4096;

/// Longest test read: a multiple of every alignment in use, and quick.
const PROBE_BYTES_MAX: usize = 1 << 20;

/// Turns a target argument into a path: `#n` into the n-th whole disk, anything else into itself.
///
/// # Errors
/// [`TargetError::NoSuchDisk`], [`TargetError::Volume`], and [`TargetError::Foreign`] for what is a path on
/// Windows and no file here: a test would make a file of that name in the current folder.
pub fn resolve(typed: &str, roots: &Roots) -> Result<Resolved, TargetError> {
    let volume = typed.len() == 2 && typed.as_bytes()[0].is_ascii_alphabetic() && typed.ends_with(':');
    if volume {
        return Err(TargetError::Volume { typed: typed.to_string() });
    }
    if let Some(foreign) = Foreign::of(typed)
        && std::fs::symlink_metadata(typed).is_err()
    {
        return Err(TargetError::Foreign { typed: typed.to_string(), foreign });
    }
    let Some(digits) = typed.strip_prefix('#').filter(|rest| !rest.is_empty()) else {
        return Ok(Resolved { path: typed.into(), disk_number: None, by_id: None });
    };
    let refuse = |reason: String| TargetError::NoSuchDisk { typed: typed.to_string(), reason };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(refuse(format!("only digits may follow '#'; for a file of that name give './{typed}'")));
    }
    let disks = whole_disks(roots);
    let number: usize = digits.parse().unwrap_or(usize::MAX);
    let Some(name) = disks.get(number) else {
        let listed: Vec<String> = disks.iter().enumerate().map(|(i, d)| format!("#{i} {d}")).collect();
        return Err(refuse(if listed.is_empty() {
            "this machine shows no whole disk; give the device node".to_string()
        } else {
            format!("this machine has {}", listed.join(", "))
        }));
    };
    // sysfs writes a slash in a device name as an exclamation mark (cciss!c0d0).
    let path = roots.dev.join(name.replace('!', "/"));
    Ok(Resolved { by_id: by_id(&path, roots), path, disk_number: Some(number) })
}

/// Opens a target for reading without gathering facts: for each further thread.
///
/// Looks at the path first and opens only regular files and block devices, because merely opening
/// a tape, a watchdog or a pipe has effects. Of an NVMe namespace that is given by its character device
/// the block device is opened; [`open_for_commands`] opens the other.
///
/// # Errors
/// [`TargetError::Open`], [`TargetError::Namespace`].
pub fn open_file(path: &Path, flags: ReadFlags) -> Result<File, TargetError> {
    let roots = Roots::default();
    match namespace_at(path, &roots)? {
        Some(namespace) => open_disk(&namespace, flags, &roots),
        None => open_any(path, flags.into()),
    }
}

/// The same for a target that may be written, as `flags` say. Of a namespace that is written by NVMe commands
/// the character device is opened.
///
/// # Errors
/// As [`open_file`].
pub fn open_file_to_write(leave: &impl WriteLeave, flags: OpenFlags) -> Result<File, TargetError> {
    match leave.namespace() {
        Some(namespace) => open_node(namespace, flags, &Roots::default()),
        None => open_any(leave.path(), flags),
    }
}

/// Whether this user may write what a path leads to. Nothing is opened.
///
/// # Errors
/// [`TargetError::Open`], as opening it for a test that writes would say.
pub fn may_write(path: &Path) -> Result<(), TargetError> {
    let flags = OpenFlags { access: Access::ReadWrite, direct: false, dsync: false };
    file::may_write(path).map_err(|code| TargetError::of_code(path, code, flags))
}

fn open_any(path: &Path, flags: OpenFlags) -> Result<File, TargetError> {
    let look = file::look(path).map_err(|code| TargetError::of_code(path, code, flags))?;
    let before = kind_of(&look, path)?;
    let opened = match before {
        TargetKind::Regular => file::open_patiently(path, flags.opening()),
        TargetKind::Block => file::open(path, flags.opening()),
    };
    let opened = match opened {
        Ok(file) => file,
        Err(Code::INVALID) if flags.direct => return Err(explain_invalid(path, flags)),
        Err(code) => return Err(TargetError::of_code(path, code, flags)),
    };
    if kind_of(&opened, path)? != before {
        let advice = "Another file took this path while it was being opened; try again";
        return Err(TargetError::open(path, OpenFailure::Other, Code::STALE, advice));
    }
    Ok(opened)
}

/// Opens a target for reading and gathers its facts.
///
/// # Errors
/// [`TargetError::Open`], [`TargetError::Facts`], [`TargetError::Namespace`].
pub fn open(path: &Path, flags: ReadFlags, roots: &Roots) -> Result<OpenedTarget, TargetError> {
    match namespace_at(path, roots)? {
        Some(namespace) => open_disk_with_facts(namespace, flags, roots),
        None => open_any_with_facts(path, flags.into(), roots),
    }
}

/// The same for a target that may be written, as `flags` say. Of a namespace that is written by NVMe commands the block
/// device is opened, for reading.
///
/// # Errors
/// As [`open`].
pub fn open_to_write(
    leave: &impl WriteLeave,
    flags: OpenFlags,
    roots: &Roots,
) -> Result<OpenedTarget, TargetError> {
    let Some(namespace) = leave.namespace() else { return open_any_with_facts(leave.path(), flags, roots) };
    let opened = open_disk_with_facts(namespace.clone(), ReadFlags::CACHED, roots)?;
    refuse_protected(&opened.file, leave.path())?;
    Ok(opened)
}

/// Opens the block device of a namespace for reading.
fn open_disk(namespace: &Namespace, flags: ReadFlags, roots: &Roots) -> Result<File, TargetError> {
    let disk = open_any(&namespace.disk_path(roots), flags.into())?;
    check_disk(disk, namespace, roots)
}

/// The same with its facts.
fn open_disk_with_facts(
    namespace: Namespace,
    flags: ReadFlags,
    roots: &Roots,
) -> Result<OpenedTarget, TargetError> {
    let OpenedTarget { file, facts } = open_any_with_facts(&namespace.disk_path(roots), flags.into(), roots)?;
    let file = check_disk(file, &namespace, roots)?;
    Ok(OpenedTarget { file, facts: TargetFacts { namespace: Some(namespace), ..facts } })
}

/// Opens a folder, with the facts that a file in it has of where it lies.
///
/// # Errors
/// As [`open`].
pub fn open_folder(path: &Path, roots: &Roots) -> Result<OpenedTarget, TargetError> {
    let flags = OpenFlags { access: Access::Read, direct: false, dsync: false };
    let file = file::open(path, flags.opening()).map_err(|code| TargetError::of_code(path, code, flags))?;
    let facts = facts_as(TargetKind::Regular, &file, path, roots)?;
    Ok(OpenedTarget { file, facts })
}

fn open_any_with_facts(path: &Path, flags: OpenFlags, roots: &Roots) -> Result<OpenedTarget, TargetError> {
    let file = open_any(path, flags)?;
    if flags.access != Access::Read {
        refuse_protected(&file, path)?;
    }
    let facts = facts_of(&file, path, roots)?;
    if flags.direct && facts.direct.is_none() {
        return Err(direct_refused(path, facts.filesystem.as_ref().map(|f| f.name.as_str())));
    }
    Ok(OpenedTarget { file, facts })
}

fn refuse_protected(file: &File, path: &Path) -> Result<(), TargetError> {
    if !device::is_write_protected(file) {
        return Ok(());
    }
    let advice =
        "The device is write-protected: test reads only (-w0), or lift the protection (blockdev --setrw)";
    Err(TargetError::open(path, OpenFailure::ReadOnly, Code::READ_ONLY, advice))
}

/// Tells regular file from block device, refuses everything else in words.
fn kind_of(file: &File, path: &Path) -> Result<TargetKind, TargetError> {
    let kind = Stat::of_open(file).map_err(|e| TargetError::facts(path, "read its file type", &e))?.kind;
    let what = match kind {
        FileKind::Regular => return Ok(TargetKind::Regular),
        FileKind::Block => return Ok(TargetKind::Block),
        FileKind::Directory => {
            let advice = "The path is a directory; name a file in it, which a run creates with -c<size>";
            return Err(TargetError::open(path, OpenFailure::Directory, Code::IS_A_DIRECTORY, advice));
        }
        FileKind::Character => "a character device",
        FileKind::Pipe => "a named pipe",
        FileKind::Socket => "a socket",
        FileKind::Link | FileKind::Other => "neither a file nor a block device",
    };
    let advice = format!(
        "It is {what}; a target is a regular file, a block device, or the character device of an NVMe namespace \
         (/dev/ng0n1)"
    );
    Err(TargetError::open(path, OpenFailure::NotAFile, Code::INVALID, advice))
}

/// An open with `O_DIRECT` said "invalid argument": is it `O_DIRECT` that is refused?
fn explain_invalid(path: &Path, flags: OpenFlags) -> TargetError {
    match file::open(path, OpenFlags { direct: false, ..flags }.opening()) {
        Ok(file) => {
            let is_file = file.metadata().is_ok_and(|m| m.is_file());
            let filesystem = is_file.then(|| facts::of_file(&file, None, &[]).ok()).flatten();
            direct_refused(path, filesystem.as_ref().map(|f| f.name.as_str()))
        }
        Err(_) => TargetError::of_code(path, Code::INVALID, flags),
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
    TargetError::open(path, OpenFailure::DirectRefused, Code::INVALID, advice)
}

/// Everything the kernel tells about an open file or device.
///
/// # Errors
/// [`TargetError::Facts`], and [`TargetError::Open`] for what is neither file nor device.
pub fn facts_of(file: &File, path: &Path, roots: &Roots) -> Result<TargetFacts, TargetError> {
    facts_as(kind_of(file, path)?, file, path, roots)
}

fn facts_as(kind: TargetKind, file: &File, path: &Path, roots: &Roots) -> Result<TargetFacts, TargetError> {
    let metadata = file.metadata().map_err(|e| TargetError::facts(path, "read its size", &e))?;
    let stat = Stat::of(&metadata);
    let report = file::report(file);
    let is_device = kind == TargetKind::Block;
    let device = DeviceNumber::from_raw(if is_device { stat.node_of } else { stat.device });
    let (size_bytes, filesystem, node, sectors) = if is_device {
        let size_bytes =
            device::capacity_bytes(file).map_err(|e| TargetError::facts(path, "read its capacity", &e))?;
        (size_bytes, None, BlockDevice::find(device, roots), sectors_of_device(file))
    } else {
        let mounts = read_mounts(roots).unwrap_or_default();
        let filesystem = facts::of_file(file, report.mount_id, &mounts)
            .map_err(|e| TargetError::facts(path, "read the type of its file system", &e))?;
        let below = device_below(device, &filesystem, &mounts, roots);
        let sectors = below.as_ref().and_then(BlockDevice::sector_sizes);
        (metadata.len(), Some(filesystem), below, sectors)
    };
    Ok(TargetFacts {
        path: path.to_path_buf(),
        kind,
        size_bytes,
        device,
        inode: stat.inode,
        device_name: node.as_ref().map(|node| node.name.clone()),
        sectors,
        direct: direct_alignment(report.direct, filesystem.as_ref(), sectors),
        filesystem,
        scheduler: node.as_ref().and_then(BlockDevice::scheduler),
        write_cache: node.and_then(|node| node.write_cache()),
        namespace: None,
    })
}

fn sectors_of_device(file: &File) -> Option<SectorSizes> {
    let (logical_bytes, physical_bytes) = device::sector_bytes(file)?;
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
    let by_number = mounts.iter().find(|m| m.device == device).map(|m| &m.source);
    let node = Stat::at(filesystem.source.as_ref().or(by_number)?)
        .ok()
        .filter(|stat| stat.kind == FileKind::Block)?;
    BlockDevice::find(DeviceNumber::from_raw(node.node_of), roots)
}

/// The kernel's report, or the best that is known without one.
fn direct_alignment(
    report: Option<DirectUnits>,
    filesystem: Option<&Filesystem>,
    sectors: Option<SectorSizes>,
) -> Option<DirectAlignment> {
    if let Some(DirectUnits { offset_bytes: offset, memory_bytes: memory }) = report {
        // Both zero is the kernel's way to say that direct I/O does not work on this file.
        return (offset != 0 && memory != 0).then_some(DirectAlignment {
            offset_bytes: offset.into(),
            memory_bytes: memory.into(),
            source: AlignmentSource::Statx,
        });
    }
    let (bytes, source) = match (filesystem, sectors) {
        (Some(f), _) if f.name == "btrfs" && f.block_bytes > 0 => {
            (f.block_bytes, AlignmentSource::FilesystemBlock)
        }
        (_, Some(s)) => (s.logical_bytes.into(), AlignmentSource::LogicalSector),
        _ => (ALIGNMENT_UNKNOWN_BYTES, AlignmentSource::Assumed),
    };
    Some(DirectAlignment { offset_bytes: bytes, memory_bytes: bytes, source })
}

/// Reads once with direct I/O at `offset`, `block_bytes` (at most 1 MiB) long: some filesystems accept
/// `O_DIRECT` at open and refuse the first transfer.
///
/// The read goes through a descriptor of its own, so it also serves tests that only write; a
/// user who may not read the target gets no answer and no error.
///
/// # Errors
/// [`TargetError::Open`] with [`OpenFailure::DirectRefused`], [`TargetError::Facts`] when the read fails
/// in another way or memory is short.
pub fn probe_direct_read(target: &OpenedTarget, offset: u64, block_bytes: usize) -> Result<(), TargetError> {
    let path = &target.facts.path;
    let file = match open_file(path, ReadFlags::DIRECT) {
        Err(error) if error.open_failure() == Some(OpenFailure::Permission) => return Ok(()),
        opened => opened?,
    };
    let alignment = target.facts.direct.map_or(ALIGNMENT_UNKNOWN_BYTES, |d| d.memory_bytes);
    let page = system::page_bytes();
    // Mappings are page-aligned; a larger alignment is reached by starting further inside.
    let slack = usize::try_from(alignment).unwrap_or(page).max(page).next_power_of_two();
    let block_bytes = block_bytes.min(PROBE_BYTES_MAX);
    let buffer = IoBuffer::new(block_bytes.saturating_add(slack)).map_err(|error| TargetError::Facts {
        path: printable_path(path),
        action: "allocate a block for a test read",
        text: error.to_string(),
    })?;
    let skip = buffer.as_ptr().align_offset(slack).min(slack);
    let result = buffer.with_slice_mut(skip, block_bytes, |block| file::read_at(&file, block, offset));
    match result {
        Ok(_) => Ok(()),
        Err(e) if Code::of(&e) == Some(Code::INVALID) => {
            Err(direct_refused(path, target.facts.filesystem.as_ref().map(|f| f.name.as_str())))
        }
        // The run itself will report a device that cannot read here, with offset and reason.
        Err(_) => Ok(()),
    }
}

/// Drivers whose devices are not disks of the machine (`command-line.md` §2).
const NOT_DISKS: &[&str] = &["loop", "ram", "zram", "dm-", "md", "sr", "fd"];
/// Drivers that number their disks with letters: sda .. sdz, sdaa ..
const LETTERED: &[&str] = &["sd", "hd", "vd", "xvd"];

/// One step of a name's natural order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Text(String),
    Number(u64),
}

/// Kernel names of the whole disks, in natural order; `#n` means the n-th, from 0.
///
/// Left out: partitions, loop, ram, zram, device-mapper, md, optical and floppy drives, paths of
/// multipath NVMe drives that the kernel hides, and network block devices that are not connected.
pub fn whole_disks(roots: &Roots) -> Vec<String> {
    let dir = roots.sys.join("block");
    let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|name| is_disk(name, &dir.join(name)))
        .collect();
    names.sort_by_cached_key(|name| natural_key(name));
    names
}

fn is_disk(name: &str, dir: &Path) -> bool {
    let other_driver = NOT_DISKS.iter().any(|driver| {
        name.strip_prefix(driver).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let hidden = read_number(&dir.join("hidden")) == Some(1u32);
    let unconnected = name.starts_with("nbd") && read_number(&dir.join("size")) == Some(0u64);
    !other_driver && !hidden && !unconnected
}

/// Orders nvme0n1 < nvme1n1 < nvme10n1 and sda < sdb < sdaa.
fn natural_key(name: &str) -> Vec<Step> {
    for family in LETTERED {
        let Some(letters) = name.strip_prefix(family) else { continue };
        if !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase()) {
            let value = letters.bytes().fold(0u64, |v, b| v.saturating_mul(26) + u64::from(b - b'a') + 1);
            return vec![Step::Text((*family).to_string()), Step::Number(value)];
        }
    }
    let mut steps = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        steps.push(match head.parse() {
            Ok(number) if digits => Step::Number(number),
            _ => Step::Text(head.to_string()),
        });
        rest = tail;
    }
    steps
}

/// The name under `/dev/disk/by-id` that stays the same over boots, preferably one with the model
/// in it; `None` when udev made none.
pub fn by_id(node: &Path, roots: &Roots) -> Option<PathBuf> {
    let node = fs::canonicalize(node).ok()?;
    let entries = fs::read_dir(roots.dev.join("disk/by-id")).ok()?.flatten();
    let mut links: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| fs::canonicalize(p).is_ok_and(|to| to == node)).collect();
    links.sort_by_cached_key(|path| {
        let name = path.file_name().map(OsString::from).unwrap_or_default();
        let text = name.to_string_lossy().into_owned();
        let number_only =
            ["wwn-", "nvme-eui.", "nvme-nvme.", "nvme-uuid."].iter().any(|p| text.starts_with(p));
        (number_only, text)
    });
    links.into_iter().next()
}

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

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_disks {
    use super::*;
    use crate::sys::made::symlink;

    fn roots_with(names: &[&str]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let roots =
            Roots { sys: dir.path().join("sys"), proc: dir.path().join("proc"), dev: dir.path().join("dev") };
        for name in names {
            fs::create_dir_all(roots.sys.join("block").join(name)).unwrap();
        }
        (dir, roots)
    }

    #[test]
    fn disks_in_natural_order_and_nothing_else() {
        let (_dir, roots) = roots_with(&[
            "sdaa",
            "sdb",
            "sda",
            "nvme10n1",
            "nvme1n1",
            "nvme0n1",
            "nvme0n2",
            "vda",
            "loop0",
            "ram0",
            "zram0",
            "dm-0",
            "md127",
            "md_d0",
            "sr0",
            "fd0",
            "mmcblk0",
            "nvme0c0n1",
            "nbd0",
            "nbd1",
        ]);
        fs::write(roots.sys.join("block/nvme0c0n1/hidden"), "1\n").unwrap();
        fs::write(roots.sys.join("block/nbd0/size"), "0\n").unwrap();
        fs::write(roots.sys.join("block/nbd1/size"), "2048\n").unwrap();
        assert_eq!(
            whole_disks(&roots),
            ["mmcblk0", "nbd1", "nvme0n1", "nvme0n2", "nvme1n1", "nvme10n1", "sda", "sdb", "sdaa", "vda"]
        );
    }

    #[test]
    fn no_sysfs_means_no_disks() {
        let (_dir, roots) = roots_with(&[]);
        assert!(whole_disks(&roots).is_empty());
    }

    #[test]
    fn by_id_prefers_the_name_with_the_model() {
        let (_dir, roots) = roots_with(&[]);
        let ids = roots.dev.join("disk/by-id");
        fs::create_dir_all(&ids).unwrap();
        for node in ["sda", "sdb"] {
            fs::write(roots.dev.join(node), "").unwrap();
        }
        symlink("../../sda", ids.join("wwn-0x5000")).unwrap();
        symlink("../../sda", ids.join("ata-Model_Serial")).unwrap();
        assert_eq!(by_id(&roots.dev.join("sda"), &roots), Some(ids.join("ata-Model_Serial")));
        assert_eq!(by_id(&roots.dev.join("sdb"), &roots), None);
    }
}

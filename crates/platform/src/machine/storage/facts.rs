//! What is known of a target, and how it is opened.
//!
//! Which filesystem a file lives on, and what that means for a storage test.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::machine::device::{DeviceNumber, SectorSizes};
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::namespace::Namespace;
use crate::machine::roots::Roots;
use crate::sys::file;
use crate::sys::file::{Opening, Stat};

/// What the test does with the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads only (`-w0`).
    Read,
    /// Writes only (`-w100`).
    Write,
    /// Reads and writes (`-w1` to `-w99`).
    ReadWrite,
}

/// How to open a target for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadFlags {
    /// `O_DIRECT`: bypass the page cache.
    pub direct: bool,
}

impl ReadFlags {
    /// Through the page cache, as without `-S`.
    pub const CACHED: Self = ReadFlags { direct: false };
    /// Past the page cache, by `O_DIRECT`.
    pub const DIRECT: Self = ReadFlags { direct: true };
}

impl From<ReadFlags> for OpenFlags {
    fn from(flags: ReadFlags) -> Self {
        OpenFlags { access: Access::Read, direct: flags.direct, dsync: false }
    }
}

/// Says that the write guard lets a target be written. Only what the guard gives after its decision is one
/// (`tests/all/house.rs`).
pub trait WriteLeave {
    /// Path of the target that may be opened for writing.
    fn path(&self) -> &Path;

    /// The namespace that the target is, when it is written by NVMe commands; `path` is that of its block device.
    fn namespace(&self) -> Option<&Namespace> {
        None
    }
}

/// How a test opens a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFlags {
    /// Reading, writing or both, as opened.
    pub access: Access,
    /// `O_DIRECT`: bypass the page cache (`-Su`, `-Sh`, `-Sr`).
    pub direct: bool,
    /// `O_DSYNC`: writes are durable when they complete (`-Sw`, `-Sh`).
    pub dsync: bool,
}

impl OpenFlags {
    pub(super) fn opening(self) -> Opening {
        Opening {
            read: self.access != Access::Write,
            write: self.access != Access::Read,
            direct: self.direct,
            dsync: self.dsync,
        }
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
    /// Nothing is known: 4096 bytes are assumed.
    Assumed,
}

/// What offsets, lengths and buffers of direct I/O are multiples of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Offsets and lengths must be multiples of this.
    pub offset_bytes: u64,
    /// Buffer addresses must be multiples of this.
    pub memory_bytes: u64,
    /// Whether the kernel said so, or what was assumed instead.
    pub source: AlignmentSource,
}

/// Facts about an open target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// Path as opened; of a namespace that takes NVMe commands that of its block device.
    pub path: PathBuf,
    /// Regular file or block device.
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
    /// The target was given as the character device of an NVMe namespace, and the test sends commands to it.
    /// Everything else is told of the block device that is the same namespace.
    pub namespace: Option<Namespace>,
}

/// An open target with its facts.
#[derive(Debug)]
pub struct OpenedTarget {
    /// The open descriptor; of a namespace that takes commands its block device, open for reading.
    pub file: File,
    /// What was found out when it was opened.
    pub facts: TargetFacts,
}

/// What a target argument stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub path: PathBuf,
    /// Set when it was given as `#n`.
    pub disk_number: Option<usize>,
    /// Name that stays the same over boots; only looked for with `#n`.
    pub by_id: Option<PathBuf>,
}

/// The filesystem of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filesystem {
    /// Type, with the subtype of FUSE when known: `ext4`, `nfs4`, `fuse.sshfs`, ...
    pub name: String,
    /// What is mounted, e.g. `/dev/sda1` or `host:/export`; `None` when the mount is not visible.
    pub source: Option<PathBuf>,
    /// Where it is mounted; `None` when no mount shows it.
    pub mount_point: Option<PathBuf>,
    /// Options of the mount and of the filesystem.
    pub mount_options: Option<String>,
    /// The data is on another machine (or the host of this one), behind a client cache: `-Sr` makes sense.
    pub is_remote: bool,
    /// The data is in memory only: there is no storage to measure.
    pub is_memory: bool,
    /// Preferred unit of the filesystem in bytes (`f_bsize`).
    pub block_bytes: u64,
}

/// File systems of Linux that make no holes in files, by their names in the list of mounts.
const WITHOUT_HOLES: [&str; 16] = [
    "9p", "affs", "ecryptfs", "exfat", "hfs", "hfsplus", "jffs2", "jfs", "minix", "msdos", "nilfs2", "ramfs",
    "reiserfs", "ubifs", "udf", "vfat",
];

impl Filesystem {
    /// Whether a part of a file can be freed there; true where nobody knows.
    pub fn makes_holes(&self) -> bool {
        !WITHOUT_HOLES.contains(&self.name.as_str())
    }
}

impl Filesystem {
    /// Another machine, or a program of this one, holds the files, and others can write them there.
    pub fn is_served(&self) -> bool {
        // A FUSE file system over a block device claims that.
        self.is_remote || (self.name.starts_with("fuse") && self.name != "fuseblk")
    }

    /// It keeps its files in files of another file system, past everything that the kernel knows of those.
    pub(crate) fn is_stacked(&self) -> bool {
        STACKED.contains(&self.name.as_str())
    }

    /// No program, other machine or other file system keeps what its files hold.
    pub(crate) fn keeps_own_data(&self) -> bool {
        !self.is_served() && !self.is_stacked()
    }

    /// It keeps no owners: every file belongs to who is named when it is mounted.
    pub fn is_without_owners(&self) -> bool {
        WITHOUT_OWNERS.contains(&self.name.as_str())
    }
}

/// Types by the magic number of `statfs(2)`, used when mountinfo does not show the mount.
/// Source: `linux/magic.h` and the filesystems' own headers.
const TYPES: &[(u64, &str)] = &[
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x2fc1_2fc1, "zfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x9584_58f6, "hugetlbfs"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smb"),
    (0x00c3_6400, "ceph"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x794c_7630, "overlay"),
    (0xf15f, "ecryptfs"),
    (0x6175_6673, "aufs"),
    (0x5346_544e, "ntfs"),
    (0x7366_746e, "ntfs3"),
    (0x2011_bab0, "exfat"),
    (0x4d44, "vfat"),
    (0x9660, "iso9660"),
    (0x7371_7368, "squashfs"),
    (0x3153_464a, "jfs"),
    (0x5265_4973, "reiserfs"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "fhgfs"),
    (0x5346_414f, "afs"),
    (0x2405_1905, "ubifs"),
    (0x3434, "nilfs2"),
    // Those of the kernel: a write there is a command.
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x1cd1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x6e73_6673, "nsfs"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6e66_7364, "nfsd"),
    (0x0765_5821, "resctrl"),
    (0xabba_1974, "xenfs"),
    // Those that are mounted nowhere: their files have no path, and belong to programs.
    (0x0904_1934, "anon_inodefs"),
    (0x444d_4142, "dmabuf"),
    (0x474d_454d, "guest_memfd"),
    (0x5049_4446, "pidfs"),
    (0x5345_434d, "secretmem"),
];

/// Filesystems whose data is reached through another machine.
const REMOTE: &str = "nfs nfs4 cifs smb smb2 smb3 smbfs ceph 9p virtiofs afs coda lustre fhgfs beegfs orangefs gpfs \
    fuse.sshfs fuse.glusterfs fuse.ceph fuse.ceph-fuse fuse.rclone fuse.s3fs fuse.gcsfuse fuse.mount-s3 \
    fuse.blobfuse fuse.blobfuse2 fuse.juicefs fuse.mfs fuse.seaweedfs fuse.davfs fuse.goofys fuse.lizardfs \
    fuse.moosefs fuse.quobyte fuse.vmhgfs-fuse panfs pvfs2 vboxsf wekafs";

/// Filesystems of the kernel over files of another one, besides overlayfs, whose layers can be asked.
const STACKED: &[&str] = &["ecryptfs", "aufs", "unionfs", "shiftfs", "wrapfs", "sdcardfs", "esdfs"];

const WITHOUT_OWNERS: &[&str] =
    &["vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "hfs", "udf", "iso9660"];

/// Filesystems that hold data in memory only.
const MEMORY: &[&str] = &["tmpfs", "ramfs", "hugetlbfs", "devtmpfs", "rootfs"];

/// Whether a filesystem of this type has its data behind another machine.
pub(crate) fn is_remote(name: &str) -> bool {
    REMOTE.split(' ').any(|remote| remote == name)
}

/// Whether a filesystem of this type has its data in memory only.
pub(crate) fn is_memory(name: &str) -> bool {
    MEMORY.contains(&name)
}

/// Facts about the filesystem of `file`; `mounts` may be empty.
pub(super) fn of_file(file: &File, mount_id: Option<u64>, mounts: &[Mount]) -> std::io::Result<Filesystem> {
    // A file system in user space need not answer; then the mount alone tells what it is.
    let told = file::filesystem(file)?;
    let magic = told.map_or(0, |told| told.magic);
    let device = DeviceNumber::from_raw(Stat::of_open(file)?.device);
    let mount = find_mount(mount_id, device, mounts);
    let name = mount.map_or_else(|| name_of_magic(magic), |m| m.fs_type.clone());
    Ok(Filesystem {
        is_remote: is_remote(&name),
        is_memory: is_memory(&name),
        source: mount.map(|m| m.source.clone()),
        mount_point: mount.map(|m| m.mount_point.clone()),
        mount_options: mount.map(|m| m.options.clone()),
        block_bytes: told.map_or(0, |told| told.block_bytes),
        name,
    })
}

/// The file system of an open file; `None` where nothing tells.
pub fn filesystem_of(file: &File, roots: &Roots) -> Option<Filesystem> {
    let mounts = read_mounts(roots).unwrap_or_default();
    of_file(file, file::report(file).mount_id, &mounts).ok()
}

/// Type of the file system of an open file or folder, by its magic number.
pub fn type_of_open(file: &File) -> Option<String> {
    Some(name_of_magic(file::filesystem(file).ok()??.magic))
}

/// The file system that a folder is on; `mounts` may be empty.
pub fn filesystem_of_folder(folder: &Path, mounts: &[Mount]) -> Option<Filesystem> {
    of_file(&File::open(folder).ok()?, None, mounts).ok()
}

/// By mount id where the kernel tells it (5.8), otherwise by device.
fn find_mount(mount_id: Option<u64>, device: DeviceNumber, mounts: &[Mount]) -> Option<&Mount> {
    match mount_id {
        Some(id) => mounts.iter().find(|m| m.id == id),
        None => mounts.iter().find(|m| m.device == device),
    }
}

fn name_of_magic(magic: u64) -> String {
    let known = TYPES.iter().find(|(m, _)| *m == magic);
    known.map_or_else(|| format!("unknown (type 0x{magic:x})"), |(_, name)| (*name).to_string())
}

#[cfg(test)]
mod tests_filesystem {
    use super::*;

    fn mount(id: u64, minor: u32, fs_type: &str) -> Mount {
        Mount {
            id,
            device: DeviceNumber { major: 0, minor },
            root: "/".into(),
            mount_point: "/m".into(),
            fs_type: fs_type.into(),
            source: "/dev/x".into(),
            options: "rw".into(),
        }
    }

    #[test]
    fn mount_id_wins_over_the_device() {
        let mounts = [mount(1, 7, "nfs4"), mount(2, 7, "fuse.sshfs")];
        let device = DeviceNumber { major: 0, minor: 7 };
        assert_eq!(find_mount(Some(2), device, &mounts).unwrap().fs_type, "fuse.sshfs");
        assert_eq!(find_mount(None, device, &mounts).unwrap().fs_type, "nfs4");
        assert_eq!(find_mount(Some(9), device, &mounts), None, "a mount of another namespace is unknown");
    }

    #[test]
    fn files_that_others_can_write_elsewhere() {
        let served = |name: &str| {
            let file = tempfile::tempfile().unwrap();
            let facts = of_file(&file, Some(1), &[mount(1, 7, name)]).unwrap();
            facts.is_served()
        };
        assert!(served("nfs4") && served("fuse.bindfs") && served("fuse") && served("virtiofs"));
        assert!(!served("ext4") && !served("fuseblk") && !served("overlay"));
        let stacked = |name: &str| {
            let file = tempfile::tempfile().unwrap();
            of_file(&file, Some(1), &[mount(1, 7, name)]).unwrap().is_stacked()
        };
        assert!(stacked("ecryptfs") && stacked("aufs") && !stacked("overlay") && !stacked("ext4"));
    }

    #[test]
    fn magic_numbers_have_names() {
        assert_eq!(name_of_magic(0xff53_4d42), "cifs");
        assert_eq!(name_of_magic(0x1234), "unknown (type 0x1234)");
        let mut magics: Vec<_> = TYPES.iter().map(|t| t.0).collect();
        magics.sort_unstable();
        magics.dedup();
        assert_eq!(magics.len(), TYPES.len());
    }

    #[test]
    fn without_mountinfo_the_magic_number_names_the_same_file() {
        let file = tempfile::tempfile().unwrap();
        let facts = of_file(&file, None, &[]).unwrap();
        assert!(!facts.name.is_empty() && facts.source.is_none());
    }
}

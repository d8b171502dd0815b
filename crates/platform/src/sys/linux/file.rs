//! Files: what they are, opening, transfers at an offset, hints to the page cache, room.
//!
//! Room on file systems.
//!
//! Extended attributes of files (`xattr(7)`).
//!
//! Ways to open files and devices beyond those of the standard library.
//!
//! They open for reading only.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FallocateFlags, IFlags, Mode, OFlags, StatxFlags, XattrFlags};

use crate::sys::linux::error::Code;

/// What a path or an open file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file (`S_IFREG`), sparse or not.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, where links are not followed.
    Link,
    /// A block device.
    Block,
    /// A character device.
    Character,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// Something that this program does not know.
    Other,
}

impl FileKind {
    /// What the standard library's facts are about.
    pub fn of(metadata: &Metadata) -> FileKind {
        match metadata.mode() & libc::S_IFMT {
            libc::S_IFREG => FileKind::Regular,
            libc::S_IFDIR => FileKind::Directory,
            libc::S_IFLNK => FileKind::Link,
            libc::S_IFBLK => FileKind::Block,
            libc::S_IFCHR => FileKind::Character,
            libc::S_IFIFO => FileKind::Pipe,
            libc::S_IFSOCK => FileKind::Socket,
            _ => FileKind::Other,
        }
    }
}

/// What the standard library tells about a file on some systems only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What the file is: regular, folder, device.
    pub kind: FileKind,
    /// Number of the device that its file system reports.
    pub device: u64,
    /// Inode number; with `device` it tells whether two paths are one file.
    pub inode: u64,
    /// Of a device node: the number of its device. Otherwise 0.
    pub node_of: u64,
    /// Bytes that the file system set aside for it.
    pub allocated_bytes: u64,
    /// Number of the user who owns it.
    pub owner: u32,
    /// Number of the group that owns it.
    pub group: u32,
    /// Permissions: read, write, execute for owner, group and others.
    pub mode: u32,
}

impl Stat {
    /// From the standard library's facts.
    pub fn of(metadata: &Metadata) -> Stat {
        Stat {
            kind: FileKind::of(metadata),
            device: metadata.dev(),
            inode: metadata.ino(),
            node_of: metadata.rdev(),
            allocated_bytes: metadata.blocks() * 512,
            owner: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode() & 0o7777,
        }
    }

    /// Of what a path leads to.
    ///
    /// # Errors
    /// What `stat(2)` says.
    pub fn at(path: &Path) -> io::Result<Stat> {
        Ok(Stat::of(&std::fs::metadata(path)?))
    }

    /// Of an open file.
    ///
    /// # Errors
    /// What `fstat(2)` says.
    pub fn of_open(file: &File) -> io::Result<Stat> {
        Ok(Stat::of(&file.metadata()?))
    }
}

/// Whether this user may write what the path leads to; nothing is opened.
///
/// # Errors
/// What `faccessat(2)` says: no permission, a read-only file system, a running program.
pub fn may_write(path: &Path) -> Result<(), Code> {
    rustix::fs::accessat(rustix::fs::CWD, path, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS).map_err(code)
}

/// How to open what exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Opening {
    /// Open for reading (`O_RDONLY` or `O_RDWR`).
    pub read: bool,
    /// Open for writing (`O_WRONLY` or `O_RDWR`).
    pub write: bool,
    /// `O_DIRECT`: past the page cache.
    pub direct: bool,
    /// `O_DSYNC`: writes are durable when they complete.
    pub dsync: bool,
}

impl Opening {
    fn flags(self) -> OFlags {
        let mut flags = OFlags::CLOEXEC
            | match (self.read, self.write) {
                (true, true) => OFlags::RDWR,
                (false, true) => OFlags::WRONLY,
                (_, false) => OFlags::RDONLY,
            };
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::DSYNC, self.dsync);
        flags
    }
}

/// Opens what exists; makes and cuts nothing.
///
/// # Errors
/// What `open(2)` says.
pub fn open(path: &Path, how: Opening) -> Result<File, Code> {
    rustix::fs::open(path, how.flags(), Mode::empty()).map(File::from).map_err(code)
}

/// Opens a regular file; of one that somebody has a lease on it waits a moment for that, and no longer.
///
/// # Errors
/// What `open(2)` says; [`Code::AGAIN`] when somebody keeps a lease on it.
pub(crate) fn open_patiently(path: &Path, how: Opening) -> Result<File, Code> {
    let flags = how.flags();
    let file = super::lock::patiently(|| {
        rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::empty()).map(File::from).map_err(code)
    })?;
    // Left set, engines would be told to try again where they should wait.
    match rustix::fs::fcntl_getfl(&file)
        .and_then(|now| rustix::fs::fcntl_setfl(&file, now - OFlags::NONBLOCK))
    {
        Ok(()) => Ok(file),
        Err(_) => self::open(path, how),
    }
}

/// Opens a path for questions only: without effects, also on tapes, watchdogs and pipes.
///
/// # Errors
/// What `open(2)` says.
pub fn look(path: &Path) -> Result<File, Code> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map(File::from).map_err(code)
}

/// Opens the same file again in another way: a duplicate would share the flags.
///
/// # Errors
/// What `open(2)` says; [`Code::BAD_FILE`] for writing when the file is not open for that.
pub fn reopen(file: &File, how: Opening) -> Result<File, Code> {
    // Through its path in procfs, a file that is open for reading could be opened for writing.
    let own = rustix::fs::fcntl_getfl(file).map_err(code)?;
    if how.write && own & OFlags::ACCMODE == OFlags::RDONLY {
        return Err(Code::BAD_FILE);
    }
    open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())), how)
}

/// Opens a path for reading without waiting for whoever writes into a pipe.
///
/// # Errors
/// What `open(2)` says.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

/// Makes a directory that only this user may enter.
///
/// # Errors
/// What `mkdir(2)` says.
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

/// Makes directories that only this user may enter, with those above that are missing.
///
/// # Errors
/// What `mkdir(2)` says.
pub fn make_private_directories(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes the permissions to a directory from everybody but its owner.
///
/// # Errors
/// What `chmod(2)` says.
pub fn make_private(directory: &Path) -> io::Result<()> {
    std::fs::set_permissions(directory, Permissions::from_mode(0o700))
}

/// Takes the permissions to a file from everybody but its owner.
///
/// # Errors
/// What `chmod(2)` says.
pub fn make_private_file(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o600))
}

/// Opens for reading and writing, and neither follows a link nor waits for the other end of a pipe.
///
/// # Errors
/// What `open(2)` says.
pub fn open_unlinked(path: &Path) -> Result<File, Code> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(code)
}

/// Removes an empty directory.
///
/// # Errors
/// What `rmdir(2)` says.
pub fn remove_directory(path: &Path) -> Result<(), Code> {
    rustix::fs::rmdir(path).map_err(code)
}

/// Whether an open file goes past the page cache.
pub fn is_direct(file: &File) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

/// The flags with which a file was opened (`F_GETFL`).
pub(super) fn status_flags(file: &File) -> io::Result<i32> {
    Ok(rustix::fs::fcntl_getfl(file)?.bits() as i32)
}

/// One `pread(2)`: the number of bytes read.
///
/// # Errors
/// What the system says.
///
/// # Safety
/// `len` bytes at `address` are the caller's alone until the call returns.
#[inline(always)]
pub unsafe fn read_into(file: &File, address: *mut u8, len: u32, offset: u64) -> Result<u32, Code> {
    // SAFETY: the memory is valid for `len` bytes and ours, as the caller promises; a buffer always holds something.
    let bytes = unsafe { std::slice::from_raw_parts_mut(address, len as usize) };
    // Offsets beyond the signed range are the kernel's to refuse (EINVAL). It moves at most `len`, which is
    // 32 bits wide.
    rustix::io::pread(file, bytes, offset).map(|moved| moved as u32).map_err(code)
}

/// One `pwrite(2)`: the number of bytes written.
///
/// # Errors
/// What the system says.
///
/// # Safety
/// As for [`read_into`].
#[inline(always)]
pub unsafe fn write_from(file: &File, address: *const u8, len: u32, offset: u64) -> Result<u32, Code> {
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts(address, len as usize) };
    rustix::io::pwrite(file, bytes, offset).map(|moved| moved as u32).map_err(code)
}

/// Reads at an offset, at most as much as fits; the number of bytes.
///
/// # Errors
/// What `pread(2)` says.
pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

/// Reads at an offset until the bytes are there.
///
/// # Errors
/// What `pread(2)` says, or that the file ends before.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Flushes data and facts of a file to its device.
///
/// # Errors
/// What `fsync(2)` says.
pub fn flush(file: &File) -> Result<(), Code> {
    rustix::fs::fsync(file).map_err(code)
}

/// Flushes the data of a file, and as much of its facts as reading it needs.
///
/// # Errors
/// What `fdatasync(2)` says.
pub fn flush_data(file: &File) -> Result<(), Code> {
    rustix::fs::fdatasync(file).map_err(code)
}

/// Sets space aside for the first `size_bytes` of a file.
///
/// # Errors
/// What `fallocate(2)` says; [`Code::NOT_SUPPORTED`] and [`Code::NOT_IMPLEMENTED`] where the file system cannot.
pub fn set_aside(file: &File, size_bytes: u64) -> Result<(), Code> {
    rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size_bytes).map_err(code)
}

/// Frees a range of a file: it reads as zeros then, and the file is as long as before.
///
/// # Errors
/// What `fallocate(2)` says; [`Code::NOT_SUPPORTED`] where the file system makes no holes.
pub fn make_hole(file: &File, offset: u64, bytes: u64) -> Result<(), Code> {
    let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, mode, offset, bytes).map_err(code)
}

/// Makes a file as long as that.
///
/// # Errors
/// What `ftruncate(2)` says.
pub fn set_length(file: &File, size_bytes: u64) -> Result<(), Code> {
    rustix::fs::ftruncate(file, size_bytes).map_err(code)
}

/// How a file is going to be read.
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

/// Reads through this open file leave the time of last access alone. Only the owner of a file (and root) may ask
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
    /// Capacity of the filesystem in bytes (`f_blocks`).
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

/// Whether a file may become so long: neither this process (`ulimit -f`) nor the file system of `file` forbids it. The
/// position of the open file is changed.
///
/// # Errors
/// [`Code::FILE_TOO_LARGE`].
pub fn may_become(file: Option<&File>, size_bytes: u64) -> Result<(), Code> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    let is_beyond =
        file.is_some_and(|file| rustix::fs::seek(file, rustix::fs::SeekFrom::Start(size_bytes)).is_err());
    if is_beyond || limit.is_some_and(|limit| size_bytes > limit) {
        return Err(Code::FILE_TOO_LARGE);
    }
    Ok(())
}

/// What the filesystem of an open file tells about itself (`fstatfs(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesystemStat {
    /// Magic number of its type.
    pub magic: u64,
    /// Preferred unit of I/O in bytes (`f_bsize`).
    pub block_bytes: u64,
}

/// Asks the filesystem of an open file; `None` from one in user space that need not answer.
///
/// # Errors
/// What `fstatfs(2)` says.
pub fn filesystem(file: &File) -> io::Result<Option<FilesystemStat>> {
    match rustix::fs::fstatfs(file) {
        // The kernel's words are signed and of the machine's width; magic numbers have 32 bits.
        Ok(found) => Ok(Some(FilesystemStat {
            magic: found.f_type as u64 & 0xffff_ffff,
            block_bytes: u64::try_from(found.f_bsize).unwrap_or(0),
        })),
        Err(rustix::io::Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The kernel's own report on an open file (`statx(2)`); what it does not tell is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStat {
    /// The mount that it is seen through (Linux 5.8).
    pub mount_id: Option<u64>,
    /// What direct I/O has to be multiples of (Linux 6.1).
    pub direct: Option<DirectUnits>,
}

/// Units of direct I/O in bytes; both are 0 on a file that it does not work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectUnits {
    /// What offsets and lengths are multiples of.
    pub offset_bytes: u32,
    /// What addresses of buffers are multiples of.
    pub memory_bytes: u32,
}

/// Asks the kernel for its report.
pub fn report(file: &File) -> FileStat {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::DIOALIGN;
    let Ok(found) = rustix::fs::statx(file.as_fd(), c"", AtFlags::EMPTY_PATH, mask) else {
        return FileStat::default();
    };
    let known = StatxFlags::from_bits_retain(found.stx_mask);
    FileStat {
        mount_id: known.contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id),
        direct: known.contains(StatxFlags::DIOALIGN).then_some(DirectUnits {
            offset_bytes: found.stx_dio_offset_align,
            memory_bytes: found.stx_dio_mem_align,
        }),
    }
}

/// Flags of a single file that compress it, or keep it from being compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompressionFlags {
    /// Compressed without a mount option.
    pub is_compressed: bool,
    /// Not compressed even with one: no copy on write, or so marked.
    pub is_plain: bool,
}

/// Asks for the flags of a file; `None` where its filesystem has none.
pub(crate) fn compression_flags(file: &File) -> Option<CompressionFlags> {
    const NEVER_COMPRESSED: IFlags = IFlags::from_bits_retain(0x400);
    let flags = rustix::fs::ioctl_getflags(file).ok()?;
    Some(CompressionFlags {
        is_compressed: flags.contains(IFlags::COMPRESSED),
        is_plain: flags.intersects(IFlags::NOCOW | NEVER_COMPRESSED),
    })
}

/// The bytes of a name.
pub(crate) fn bytes_of_name(name: &OsStr) -> &[u8] {
    name.as_bytes()
}

/// A name from the bytes that the kernel prints.
pub(crate) fn name_of_bytes(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

fn code(errno: rustix::io::Errno) -> Code {
    Code::from_number(errno.raw_os_error())
}

/// Bytes that a file takes on its file system; holes take none.
pub fn taken_bytes(about: &Metadata) -> u64 {
    // The system counts in units of 512 bytes, whatever the block size is.
    about.blocks().saturating_mul(512)
}

/// Sets an attribute, whether it is there already or not.
///
/// # Errors
/// What `fsetxattr(2)` says: many file systems have none.
pub fn set_attribute(file: &File, name: &str, value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())?)
}

/// An attribute of at most `longest` bytes; `None` when there is none or it is longer.
pub fn attribute(file: &File, name: &str, longest: usize) -> Option<Vec<u8>> {
    let mut value = vec![0; longest];
    let length = rustix::fs::fgetxattr(file, name, &mut value).ok()?;
    value.truncate(length);
    Some(value)
}

/// Removes an attribute.
///
/// # Errors
/// What `fremovexattr(2)` says, also when there is none.
pub fn remove_attribute(file: &File, name: &str) -> io::Result<()> {
    Ok(rustix::fs::fremovexattr(file, name)?)
}

/// What file systems without attributes say.
pub fn no_attributes() -> io::Error {
    rustix::io::Errno::OPNOTSUPP.into()
}

/// How to open for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Fail when somebody else has claimed the block device, and claim it while it is open (`O_EXCL`).
    pub exclusive: bool,
    /// Wait neither for the other end of a pipe nor for a medium (`O_NONBLOCK`).
    pub at_once: bool,
}

impl ReadOptions {
    fn bits(self) -> OFlags {
        let mut bits = OFlags::RDONLY | OFlags::CLOEXEC;
        bits.set(OFlags::DIRECT, self.direct);
        bits.set(OFlags::EXCL, self.exclusive);
        bits.set(OFlags::NONBLOCK, self.at_once);
        bits
    }
}

/// Opens for reading.
///
/// # Errors
/// What `open(2)` says.
pub fn read(path: &Path, how: ReadOptions) -> io::Result<File> {
    Ok(rustix::fs::open(path, how.bits(), Mode::empty())?.into())
}

/// Opens an open file or device once more, for reading, as a descriptor of its own. Where the user may ask for that
/// (the owner and root may), reads leave the time of the last access alone.
///
/// # Errors
/// What `open(2)` says; without procfs nothing is there.
pub fn read_again(file: &File, how: ReadOptions) -> io::Result<File> {
    let own = own_path(file);
    let opened = rustix::fs::open(&own, how.bits() | OFlags::NOATIME, Mode::empty())
        .or_else(|_| rustix::fs::open(&own, how.bits(), Mode::empty()));
    Ok(opened?.into())
}

/// A path that leads to an open file or device, as long as it is open.
pub fn own_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Whether a descriptor with these flags (`fdinfo` in procfs) can be written through.
pub fn is_for_writing(flags: i32) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

#[cfg(test)]
mod tests_open {
    use super::*;
    use crate::sys::error::Code;
    use crate::sys::file::{Opening, reopen};
    use crate::sys::identity::{Identity, is_written_here};
    use std::os::unix::fs::FileExt;

    #[test]
    fn only_what_is_open_for_writing_is_opened_for_it_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = Opening { write: true, ..Opening::default() };
        reopen(file.as_file(), write).unwrap().write_all_at(b"x", 0).unwrap();
        let reader = read(file.path(), ReadOptions::default()).unwrap();
        assert_eq!(reopen(&reader, write).unwrap_err(), Code::BAD_FILE);
        let again =
            read_again(file.as_file(), ReadOptions { at_once: true, ..ReadOptions::default() }).unwrap();
        let mut byte = [0];
        again.read_exact_at(&mut byte, 0).unwrap();
        assert_eq!(byte, *b"x");
        assert!(again.write_all_at(b"y", 0).is_err());
        let own = Identity::of(file.as_file()).unwrap();
        assert!(is_written_here(own));
        drop(file);
        assert!(!is_written_here(own), "only readers are left");
    }
}

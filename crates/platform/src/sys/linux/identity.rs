//! Which file or device something is, whatever its path means now.
//!
//! What the system says about a file beyond the standard library.
//!
//! What the times of files tell of writes: by which clock they go, and whether a write through a memory map
//! changes them.
//!
//! On file systems in memory (tmpfs, ramfs) a page that was read through a map is then written without a time being
//! changed. Nothing says so, so it is tried out.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, IFlags, StatxAttributes, StatxFlags, StatxTimestamp};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::sys::linux::directory::Directory;
use crate::sys::linux::error::Code;
use crate::sys::linux::file::own_path;
use crate::sys::linux::file::{FileKind, Stat};
use crate::sys::linux::system::page_bytes;

/// Tells whether two descriptors or paths are the same file, folder or device: device and inode, or of a
/// block device its number, so that two nodes of one device are the same.
///
/// It holds as long as somebody keeps the file open or its name in place: after that the inode can be another file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Identity of an open file or device.
    ///
    /// # Errors
    /// When the system does not answer.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::of_metadata(&file.metadata()?))
    }

    /// Identity of what a path leads to. Nothing is opened.
    ///
    /// # Errors
    /// When nothing is there, or the system does not answer.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&fs::metadata(path)?))
    }

    /// Identity of what has the name; of a symbolic link its own.
    ///
    /// # Errors
    /// As [`Identity::at`].
    pub fn of_name(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&fs::symlink_metadata(path)?))
    }

    /// The same from what the system said about a file.
    pub(crate) fn of_metadata(about: &Metadata) -> Self {
        Stat::of(about).identity()
    }

    /// Number of the device itself, or of the one that the file's file system reports.
    pub fn device(self) -> u64 {
        self.device
    }

    /// Number of the inode; 0 for a block device.
    pub fn inode(self) -> u64 {
        self.inode
    }
}

impl Stat {
    /// Tells a file from all others that exist at the same time.
    pub fn identity(&self) -> Identity {
        match self.kind {
            // Character devices have numbers of their own, which may be those of a block device.
            FileKind::Block => Identity::from((self.node_of, 0)),
            _ => Identity::from((self.device, self.inode)),
        }
    }
}

impl From<(u64, u64)> for Identity {
    /// Device and inode, as documents keep them.
    fn from((device, inode): (u64, u64)) -> Self {
        Identity { device, inode }
    }
}

impl From<Identity> for (u64, u64) {
    fn from(identity: Identity) -> Self {
        (identity.device, identity.inode)
    }
}

/// Number of the block device that is open; `None` when it is something else.
///
/// # Errors
/// When the system does not answer.
pub fn block_device(file: &File) -> io::Result<Option<u64>> {
    Ok(block_device_of(&file.metadata()?))
}

/// Number of the block device whose node the path leads to; `None` when it is something else, or nothing.
pub fn block_device_at(path: &Path) -> Option<u64> {
    block_device_of(&fs::metadata(path).ok()?)
}

/// The same from what the system said about a file.
pub(crate) fn block_device_of(about: &Metadata) -> Option<u64> {
    let about = Stat::of(about);
    (about.kind == FileKind::Block).then_some(about.node_of)
}

/// Names (hard links) that a file has.
pub fn names(about: &Metadata) -> u64 {
    about.nlink()
}

/// A moment in seconds since 1970 and nanoseconds.
pub type Moment = (i64, u32);

/// A file at one moment: which it is, how large, and when it was made and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Which file it is, by device and number.
    pub identity: Identity,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// When it was made, where the file system keeps that.
    pub birth: Option<Moment>,
    /// Last change of the file or of what is known about it.
    pub change: Moment,
    /// Last change of its content.
    pub modified: Moment,
}

impl Stamp {
    /// Of an open regular file.
    ///
    /// # Errors
    /// What `statx(2)` says, or `fstat(2)` before Linux 4.11.
    pub fn of(file: &File) -> io::Result<Self> {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        // From the server, not from what the kernel remembers of a remote file.
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        let s = match rustix::fs::statx(file.as_fd(), c"", flags, mask) {
            Err(Errno::NOSYS) => return Self::without_statx(file),
            found => found?,
        };
        let [birth, change, modified] =
            [s.stx_btime, s.stx_ctime, s.stx_mtime].map(|time: StatxTimestamp| (time.tv_sec, time.tv_nsec));
        let device = rustix::fs::makedev(s.stx_dev_major, s.stx_dev_minor);
        Ok(Stamp {
            identity: Identity::from((device, s.stx_ino)),
            size_bytes: s.stx_size,
            birth: (s.stx_mask & StatxFlags::BTIME.bits() != 0).then_some(birth),
            change,
            modified,
        })
    }

    /// Of an open regular file, where the kernel has no `statx(2)`: `fstat(2)` does not tell when it was made.
    fn without_statx(file: &File) -> io::Result<Self> {
        let facts = file.metadata()?;
        // Nanoseconds of a second fit.
        Ok(Stamp {
            identity: Identity::of_metadata(&facts),
            size_bytes: facts.size(),
            birth: None,
            change: (facts.ctime(), facts.ctime_nsec() as u32),
            modified: (facts.mtime(), facts.mtime_nsec() as u32),
        })
    }
}

/// Which of the files that had its inode an open file is (`FS_IOC_GETVERSION`); `None` where the file system does not
/// tell.
pub(crate) fn generation(file: &File) -> Option<u32> {
    const FS_IOC_GETVERSION: libc::Ioctl = libc::_IOR::<libc::c_long>(b'v' as u32, 1);
    // The ioctl is defined with a long, and file systems write an int.
    let mut number: [u32; 2] = [0; 2];
    // SAFETY: the ioctl writes at most a long through the pointer, which outlives the call; elsewhere it fails without
    // writing.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_GETVERSION, number.as_mut_ptr()) };
    (result == 0).then_some(number[0])
}

/// Flags of a file that let nobody change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteLocks {
    /// Nobody may change it (`chattr +i`).
    pub immutable: bool,
    /// It may only grow (`chattr +a`).
    pub append_only: bool,
    /// fs-verity protects what it holds.
    pub sealed: bool,
}

/// The flags of an open file; none where the file system has none.
pub fn write_locks(file: &File) -> WriteLocks {
    let facts = rustix::fs::statx(file.as_fd(), c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
    let facts = match facts {
        Ok(facts) => facts,
        Err(Errno::NOSYS) => return write_locks_without_statx(file),
        Err(_) => return WriteLocks::default(),
    };
    let attributes = facts.stx_attributes;
    WriteLocks {
        immutable: attributes.contains(StatxAttributes::IMMUTABLE),
        append_only: attributes.contains(StatxAttributes::APPEND),
        sealed: attributes.contains(StatxAttributes::VERITY),
    }
}

/// The same before Linux 4.11, which has neither `statx(2)` nor seals.
fn write_locks_without_statx(file: &File) -> WriteLocks {
    let flags = rustix::fs::ioctl_getflags(file).unwrap_or(IFlags::empty());
    WriteLocks {
        immutable: flags.contains(IFlags::IMMUTABLE),
        append_only: flags.contains(IFlags::APPEND),
        sealed: false,
    }
}

/// What the clock shows by which the kernel sets the times of files. It goes on in steps.
pub fn file_clock() -> Moment {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    (now.tv_sec, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Whether a write through a memory map changes the times of files where this one lies: tried out with a
/// nameless file in its folder. `None` where none can be made there.
pub fn do_maps_change_times(file: &File) -> Option<bool> {
    let path = std::fs::read_link(own_path(file)).ok()?;
    let folder = Directory::open(path.parent()?).ok()?;
    let probe = folder.make_nameless().or_else(|_| unlinked(&folder)).ok()?;
    // A single file may lie on another file system than its folder (bind mount).
    let lies_there = probe.metadata().ok()?.dev() == file.metadata().ok()?.dev();
    if lies_there { write_by_map(&probe).ok() } else { None }
}

/// A file without a name where the file system makes none: it has one for a moment.
fn unlinked(folder: &Directory) -> Result<File, Code> {
    let name = format!(".truespd-{}-{:?}", std::process::id(), std::thread::current().id());
    let file = folder.make_entry(&name)?;
    folder.remove_entry(&name)?;
    Ok(file)
}

/// Reads and writes a page of a file of our own through a map; whether that changed its time.
fn write_by_map(probe: &File) -> io::Result<bool> {
    // No clock is as late, and every file system has this time.
    let long_ago: SystemTime = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let length = page_bytes();
    // Room for the page is there then, so that it can be written.
    std::os::unix::fs::FileExt::write_all_at(probe, &vec![1; length], 0)?;
    probe.set_modified(long_ago)?;
    let before = Stamp::of(probe)?.modified;
    let both = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new map of a file that nobody else can reach; it is as long as the file.
    let map = unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, both, MapFlags::SHARED, probe, 0) }?;
    // SAFETY: mapped above, and there is a byte.
    unsafe { map.cast::<u8>().read_volatile() };
    // The kernel writes it: where a page cannot be written, a system call fails, and an instruction ends the process.
    // SAFETY: the structure is shorter than a page, and a map begins at a page.
    let told = unsafe { libc::uname(map.cast()) };
    // SAFETY: mapped above, and nothing uses it any more.
    unsafe { rustix::mm::munmap(map, length) }?;
    if told == -1 {
        return Err(io::ErrorKind::Other.into());
    }
    Ok(Stamp::of(probe)?.modified != before)
}

/// Whether a descriptor of this process can write to this file. Needs no procfs.
pub fn is_written_here(file: Identity) -> bool {
    /// A process that raised its limit beyond this uses the lowest numbers all the same.
    const DESCRIPTORS_MAX: u64 = 1 << 16;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let numbers = 0..limit.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX) as i32;
    numbers.into_iter().any(|number| {
        // SAFETY: a number, open or not; nothing is changed.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
        flags != -1 && super::file::is_for_writing(flags) && identity_of_number(number) == Some(file)
    })
}

fn identity_of_number(number: i32) -> Option<Identity> {
    // SAFETY: a plain C structure of numbers, for which zero is a value.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a number, open or not, and a structure that outlives the call.
    let told = unsafe { libc::fstat(number, &raw mut about) } == 0;
    let is_node = about.st_mode & libc::S_IFMT == libc::S_IFBLK;
    told.then(|| Identity::from(if is_node { (about.st_rdev, 0) } else { (about.st_dev, about.st_ino) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_any_name_and_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let file = File::create(at("a")).unwrap();
        fs::hard_link(at("a"), at("b")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        let own = Identity::of(&file).unwrap();
        assert_eq!(Identity::at(&at("b")).unwrap(), own);
        assert_eq!(Identity::at(&at("link")).unwrap(), own);
        assert_ne!(Identity::of_name(&at("link")).unwrap(), own);
        assert_ne!(Identity::at(dir.path()).unwrap(), own);
        assert_eq!((names(&file.metadata().unwrap()), block_device(&file).unwrap()), (2, None));
        assert!(Identity::at(&at("none")).is_err());
    }

    #[test]
    fn a_character_device_is_no_block_device_of_its_number() {
        let null = Stat::at(Path::new("/dev/null")).unwrap();
        let block = Stat { kind: FileKind::Block, ..null };
        assert_eq!((block.identity().device(), block.identity().inode()), (null.node_of, 0));
        assert_eq!((null.identity().device(), null.identity().inode()), (null.device, null.inode));
    }

    /// The folder of its path does not hold it.
    #[test]
    fn maps_are_tried_out_only_where_the_file_itself_lies() {
        let elsewhere = rustix::fs::memfd_create("a", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert_eq!(do_maps_change_times(&File::from(elsewhere)), None);
        let dir = tempfile::tempdir().unwrap();
        assert!(do_maps_change_times(&File::create(dir.path().join("a")).unwrap()).is_some());
    }

    #[test]
    fn documents_keep_device_and_inode() {
        let identity = Identity::from((3, 4));
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(text, "[3,4]");
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
    }
}

#[cfg(test)]
mod tests_times {
    use super::*;

    #[test]
    fn a_stamp_is_of_the_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(77).unwrap();
        let stamp = Stamp::of(&file).unwrap();
        assert_eq!((stamp.identity, stamp.size_bytes), (Identity::of(&file).unwrap(), 77));
        assert!(stamp.birth.is_none_or(|birth| birth <= stamp.change));
        assert_eq!(write_locks(&file), WriteLocks::default());
        // An older kernel tells the same but the time when the file was made.
        assert_eq!(Stamp::without_statx(&file).unwrap(), Stamp { birth: None, ..stamp });
        assert_eq!(write_locks_without_statx(&file), WriteLocks::default());
    }
}

#[cfg(test)]
mod tests_moments {
    use super::*;
    use crate::sys::file::filesystem;
    use std::path::Path;

    #[test]
    fn maps_change_times_on_a_disk_and_not_in_memory() {
        for (folder, magic, expected) in
            [("/dev/shm", 0x0102_1994, false), ("/tmp", 0xef53, true), ("/var/tmp", 0xef53, true)]
        {
            let Ok(file) = tempfile::NamedTempFile::new_in(folder) else { continue };
            if filesystem(file.as_file()).unwrap().is_some_and(|found| found.magic == magic) {
                assert_eq!(do_maps_change_times(file.as_file()), Some(expected), "{folder}");
            }
            assert!(write_by_map(&unlinked(&Directory::open(Path::new(folder)).unwrap()).unwrap()).is_ok());
        }
    }

    #[test]
    fn the_clock_of_files_is_not_ahead() {
        let before = file_clock();
        let made = Stamp::of(&tempfile::tempfile().unwrap()).unwrap().change;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!(before.0 >= made.0 - 2 && before <= (now.as_secs() as i64, now.subsec_nanos()));
    }
}

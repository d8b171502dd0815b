//! What the system says about a file beyond the standard library.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, IFlags, StatxAttributes, StatxFlags, StatxTimestamp};
use rustix::io::Errno;

use super::identity::Identity;

/// A moment in seconds since 1970 and nanoseconds.
pub type Moment = (i64, u32);

/// A file at one moment: which it is, how large, and when it was made and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Which file.
    pub identity: Identity,
    /// Size in bytes.
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
        let moment = |time: StatxTimestamp| (time.tv_sec, time.tv_nsec);
        let device = rustix::fs::makedev(s.stx_dev_major, s.stx_dev_minor);
        Ok(Stamp {
            identity: Identity::from((device, s.stx_ino)),
            size_bytes: s.stx_size,
            birth: (s.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| moment(s.stx_btime)),
            change: moment(s.stx_ctime),
            modified: moment(s.stx_mtime),
        })
    }

    /// Of an open regular file, where the kernel has no `statx(2)`: `fstat(2)` does not tell when it was made.
    fn without_statx(file: &File) -> io::Result<Self> {
        let facts = file.metadata()?;
        // Nanoseconds of a second fit.
        let moment = |seconds, nanoseconds: i64| (seconds, u32::try_from(nanoseconds).unwrap_or_default());
        Ok(Stamp {
            identity: Identity::of_metadata(&facts),
            size_bytes: facts.size(),
            birth: None,
            change: moment(facts.ctime(), facts.ctime_nsec()),
            modified: moment(facts.mtime(), facts.mtime_nsec()),
        })
    }
}

/// Flags of a file that let nobody change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteLocks {
    /// `chattr +i`.
    pub immutable: bool,
    /// `chattr +a`.
    pub append_only: bool,
    /// Sealed with fs-verity.
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
    let has = |flag| facts.stx_attributes.contains(flag);
    WriteLocks {
        immutable: has(StatxAttributes::IMMUTABLE),
        append_only: has(StatxAttributes::APPEND),
        sealed: has(StatxAttributes::VERITY),
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

#[cfg(test)]
mod tests {
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

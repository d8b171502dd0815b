//! Ways to open files and devices beyond those of the standard library.
//!
//! They open for reading only.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::identity::Identity;

/// How to open for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Fail when somebody else has claimed the block device, and claim it while it is open (`O_EXCL`).
    pub exclusive: bool,
    /// Wait neither for the other end of a pipe nor for a medium (`O_NONBLOCK`).
    pub at_once: bool,
}

impl Reading {
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
pub fn read(path: &Path, how: Reading) -> io::Result<File> {
    Ok(rustix::fs::open(path, how.bits(), Mode::empty())?.into())
}

/// Opens an open file or device once more, for reading, as a descriptor of its own. Where the user may ask for that
/// (the owner and root may), reads leave the time of the last access alone.
///
/// # Errors
/// What `open(2)` says; without procfs nothing is there.
pub fn read_again(file: &File, how: Reading) -> io::Result<File> {
    let own = own_path(file);
    let opened = rustix::fs::open(&own, how.bits() | OFlags::NOATIME, Mode::empty())
        .or_else(|_| rustix::fs::open(&own, how.bits(), Mode::empty()));
    Ok(opened?.into())
}

/// A path that leads to an open file or device, as long as it is open.
pub(crate) fn own_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Whether a descriptor with these flags (`fdinfo` in procfs) can be written through.
pub(crate) fn is_for_writing(flags: i32) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

/// Whether a descriptor of this process can write to this file. Needs no procfs.
pub(crate) fn is_written_here(file: Identity) -> bool {
    /// A process that raised its limit beyond this uses the lowest numbers all the same.
    const DESCRIPTORS_MAX: u64 = 1 << 16;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let numbers = 0..limit.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX) as i32;
    numbers.into_iter().any(|number| {
        // SAFETY: a number, open or not; nothing is changed.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
        flags != -1 && is_for_writing(flags) && identity_of_number(number) == Some(file)
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
    use crate::sys::error::Code;
    use crate::sys::file::{Opening, reopen};
    use std::os::unix::fs::FileExt;

    #[test]
    fn only_what_is_open_for_writing_is_opened_for_it_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = Opening { write: true, ..Opening::default() };
        reopen(file.as_file(), write).unwrap().write_all_at(b"x", 0).unwrap();
        let reader = read(file.path(), Reading::default()).unwrap();
        assert_eq!(reopen(&reader, write).unwrap_err(), Code::BAD_FILE);
        let again = read_again(file.as_file(), Reading { at_once: true, ..Reading::default() }).unwrap();
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

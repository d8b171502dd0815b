//! Locks on open files.
//!
//! Two kinds: locks on single bytes that belong to the open file (`F_OFD_SETLK` in `fcntl(2)`), which `fdinfo` in procfs
//! shows to everybody, and locks on whole files (`flock(2)`). Both end with the process, however it ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

fn request(kind: libc::c_int, at: u64) -> io::Result<libc::flock> {
    // SAFETY: a plain C structure of numbers, for which zero is a value; `l_pid` must be zero.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = kind as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    request.l_start = at.try_into().map_err(io::Error::other)?;
    request.l_len = 1;
    Ok(request)
}

/// Takes a shared lock on the byte at `at`, which need not exist. The file is open for reading.
///
/// # Errors
/// When somebody has an exclusive lock, or the file system has no such locks.
pub fn share_byte(file: &File, at: u64) -> io::Result<()> {
    let request = request(libc::F_RDLCK, at)?;
    // SAFETY: an open descriptor and a structure that outlives the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether any other open file has a lock on the byte at `at`.
pub fn is_byte_locked(file: &File, at: u64) -> bool {
    let Ok(mut request) = request(libc::F_WRLCK, at) else { return false };
    // SAFETY: an open descriptor and a structure that outlives the call, which the kernel changes.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut request) };
    answer != -1 && request.l_type != libc::F_UNLCK as libc::c_short
}

/// What to do with the exclusive lock on a whole file. Closing the file releases it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Take it, and wait for it.
    Wait,
    /// Take it, or fail when somebody else has a lock: [`io::ErrorKind::WouldBlock`].
    Try,
    /// Release it.
    Release,
}

/// Takes or releases the exclusive lock on a file or directory.
///
/// # Errors
/// What `flock(2)` says.
pub fn lock(file: &File, how: Lock) -> io::Result<()> {
    let operation = match how {
        Lock::Wait => FlockOperation::LockExclusive,
        Lock::Try => FlockOperation::NonBlockingLockExclusive,
        Lock::Release => FlockOperation::NonBlockingUnlock,
    };
    loop {
        match flock(file, operation) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Takes a shared lock on the whole file without waiting; `false` when somebody has an exclusive one.
///
/// # Errors
/// What `flock(2)` says besides.
pub fn try_share(file: &File) -> io::Result<bool> {
    taken(flock(file, FlockOperation::NonBlockingLockShared).map_err(io::Error::from))
}

/// Takes an exclusive lock on the whole file without waiting; `false` when somebody else has a lock on it.
///
/// # Errors
/// What `flock(2)` says besides.
pub fn try_alone(file: &File) -> io::Result<bool> {
    taken(lock(file, Lock::Try))
}

fn taken(answer: io::Result<()>) -> io::Result<bool> {
    match answer {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        other => other.map(|()| true),
    }
}

/// Gives the lock on the whole file back.
pub fn unlock(file: &File) {
    // The end of the process does the same.
    let _ = lock(file, Lock::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::within_a_second;

    #[test]
    fn bytes_and_files_are_locked_by_open_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) = (file.reopen().unwrap(), file.reopen().unwrap());
        share_byte(&first, 1 << 40).unwrap();
        assert!(is_byte_locked(&second, 1 << 40) && !is_byte_locked(&second, (1 << 40) + 1));
        assert!(!is_byte_locked(&first, 1 << 40), "its own");
        assert!(try_share(&first).unwrap() && try_share(&second).unwrap());
        assert!(!try_alone(&first).unwrap());
        unlock(&second);
        assert!(within_a_second(|| try_alone(&first).unwrap()));
        drop(first);
        assert!(within_a_second(|| !is_byte_locked(&second, 1 << 40)));
    }
}

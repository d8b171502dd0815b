//! Locks on open files.
//!
//! Two kinds: locks on single bytes that belong to the open file (`F_OFD_SETLK` in `fcntl(2)`), which
//! `fdinfo` in procfs shows to everybody, and locks on whole files (`flock(2)`). Both end with the process,
//! however it ends.
//!
//! Who may only read a file can take a shared lock on any byte of it, and any lock on the whole file. An
//! exclusive lock on a byte needs a descriptor that is open for writing.
//!
//! Asks the kernel who else has a file open, by a lease (`fcntl(2)`, `F_SETLEASE`).
//!
//! A lease is given only while nobody has the file open in a way that conflicts with it, whoever that is: a process of
//! another user or another container, a driver of the kernel, a memory map whose descriptor is closed.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::Code;

fn request(kind: libc::c_int, bytes: Range<u64>) -> io::Result<libc::flock> {
    // SAFETY: a plain C structure of numbers, for which zero is a value; `l_pid` must be zero.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = kind as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    request.l_start = bytes.start.try_into().map_err(io::Error::other)?;
    request.l_len = bytes.end.saturating_sub(bytes.start).try_into().map_err(io::Error::other)?;
    Ok(request)
}

fn set_byte_lock(file: &File, kind: libc::c_int, at: u64) -> io::Result<()> {
    let request = request(kind, at..at + 1)?;
    // SAFETY: an open descriptor and a structure that outlives the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes a shared lock on the byte at `at`, which need not exist. The file is open for reading.
///
/// # Errors
/// When somebody has an exclusive lock, or the file system has no such locks.
pub fn share_byte(file: &File, at: u64) -> io::Result<()> {
    set_byte_lock(file, libc::F_RDLCK, at)
}

/// Takes the exclusive lock on the byte at `at`; `false` when somebody has a lock there. The file is open for writing.
///
/// # Errors
/// When it is not open for writing, or the file system has no such locks.
pub fn take_byte(file: &File, at: u64) -> io::Result<bool> {
    match set_byte_lock(file, libc::F_WRLCK, at) {
        // Both are allowed by POSIX.
        Err(e) if [Some(libc::EAGAIN), Some(libc::EACCES)].contains(&e.raw_os_error()) => Ok(false),
        answer => answer.map(|()| true),
    }
}

/// Gives the lock on the byte at `at` back.
pub fn release_byte(file: &File, at: u64) {
    // The end of the process does the same.
    let _ = set_byte_lock(file, libc::F_UNLCK, at);
}

/// A lock of another open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteLock {
    /// On these bytes; the end is that of all numbers where it has none.
    pub bytes: Range<u64>,
    /// It belongs to an open file, as ours do, or to another machine, which does not tell; not to a process.
    pub is_of_open_file: bool,
}

/// A lock of another open file on any of these bytes, the first one in the kernel's list: an exclusive one, or any.
pub fn find_lock(file: &File, bytes: Range<u64>, exclusive_only: bool) -> Option<ByteLock> {
    // What a lock of this kind would have to wait for.
    let kind = if exclusive_only { libc::F_RDLCK } else { libc::F_WRLCK };
    let mut request = request(kind, bytes).ok()?;
    // SAFETY: an open descriptor and a structure that outlives the call, which the kernel changes.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut request) };
    if answer == -1 || request.l_type == libc::F_UNLCK as libc::c_short {
        return None;
    }
    let start = u64::try_from(request.l_start).unwrap_or(0);
    let length = u64::try_from(request.l_len).ok().filter(|length| *length > 0);
    let end = length.map_or(u64::MAX, |length| start.saturating_add(length));
    Some(ByteLock { bytes: start..end, is_of_open_file: request.l_pid < 0 })
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

/// Takes an exclusive lock on the whole file without waiting; `false` when somebody else has a lock on it.
///
/// # Errors
/// What `flock(2)` says besides.
pub fn try_alone(file: &File) -> io::Result<bool> {
    match lock(file, Lock::Try) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        other => other.map(|()| true),
    }
}

/// How long somebody who holds a lease is given to let go of it: a file server does within moments.
const HOLDER_PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether he did.
const HOLDER_LOOK: Duration = Duration::from_millis(5);

/// Opens something by a call that does not wait (`O_NONBLOCK`), for as long as somebody's lease is in the
/// way. Such a call asks the holder to let go of it; one that waits would do so for as long as
/// `fs.lease-break-time`, and take no signal.
///
/// # Errors
/// What `open` says: [`Code::AGAIN`] when somebody still holds a lease.
pub(crate) fn patiently<T>(mut open: impl FnMut() -> Result<T, Code>) -> Result<T, Code> {
    let since = Instant::now();
    loop {
        match open() {
            Err(Code::AGAIN) if since.elapsed() < HOLDER_PATIENCE => std::thread::sleep(HOLDER_LOOK),
            other => return other,
        }
    }
}

/// Which signal tells that a lease is broken; `asm-generic/fcntl.h`.
const F_SETSIG: libc::c_int = 10;

/// Who has a file open besides the asking descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Nobody else has the file open.
    Nobody,
    /// Somebody, and only for reading.
    Readers,
    /// Somebody, for writing; descriptors of this process count as well.
    Writers,
    /// The kernel does not say: the file belongs to another user, or the file system has no leases.
    Untold(Code),
}

/// Who else has the open file open at this moment. The descriptor must be open for reading only.
///
/// The lease is given back at once. Whoever opens the file just then waits for that.
pub fn others(file: &File) -> Others {
    // By default the signal is SIGIO, which ends a process. SIGURG is ignored by every process that does not want it.
    // SAFETY: an open descriptor and numbers.
    if unsafe { libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) } == -1 {
        return Others::Untold(Code::last());
    }
    let told = match try_lease(file, libc::F_WRLCK) {
        Ok(()) => Others::Nobody,
        Err(Code::AGAIN) => match try_lease(file, libc::F_RDLCK) {
            Ok(()) => Others::Readers,
            Err(Code::AGAIN) => Others::Writers,
            Err(code) => Others::Untold(code),
        },
        Err(code) => Others::Untold(code),
    };
    // SAFETY: as above. The default comes back; if not, nothing uses it.
    unsafe { libc::fcntl(file.as_raw_fd(), F_SETSIG, 0) };
    told
}

fn try_lease(file: &File, lease: libc::c_int) -> Result<(), Code> {
    set_lease(file, lease).map_err(|error| Code::of(&error).unwrap_or(Code::IO))?;
    // A lease that cannot be given back ends with the descriptor.
    let _ = set_lease(file, libc::F_UNLCK);
    Ok(())
}

fn set_lease(file: &File, lease: libc::c_int) -> io::Result<()> {
    // SAFETY: an open descriptor and a number.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, lease) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::comes_to_hold;

    const FAR: u64 = 1 << 40;

    fn finds(file: &File, exclusive_only: bool) -> Option<Range<u64>> {
        find_lock(file, FAR..FAR + 10, exclusive_only).map(|found| found.bytes)
    }

    #[test]
    fn bytes_and_files_are_locked_by_open_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) = (file.reopen().unwrap(), file.reopen().unwrap());
        share_byte(&first, FAR).unwrap();
        let found = ByteLock { bytes: FAR..FAR + 1, is_of_open_file: true };
        assert_eq!(find_lock(&second, FAR..FAR + 10, false), Some(found));
        assert_eq!(find_lock(&second, FAR + 1..FAR + 10, false), None);
        assert_eq!((finds(&second, true), finds(&first, false)), (None, None), "shared, and its own");
        assert!(!take_byte(&second, FAR).unwrap() && take_byte(&second, FAR + 1).unwrap());
        assert_eq!(finds(&first, true), Some(FAR + 1..FAR + 2));
        release_byte(&second, FAR + 1);
        assert_eq!(finds(&first, true), None);
        assert!(try_alone(&first).unwrap() && !try_alone(&second).unwrap());
        drop(first);
        assert!(comes_to_hold(|| finds(&second, false).is_none() && try_alone(&second).unwrap()));
    }

    #[test]
    fn who_may_only_read_takes_no_exclusive_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reader = File::open(file.path()).unwrap();
        assert!(take_byte(&reader, FAR).is_err());
        assert_eq!(finds(file.as_file(), false), None);
    }
}

#[cfg(test)]
mod tests_lease {
    use super::*;
    use crate::sys::comes_to_hold;

    #[test]
    fn readers_writers_and_nobody_are_told_apart() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (writer, path) = file.into_parts();
        let reader = File::open(&path).unwrap();
        if let Others::Untold(_) = others(&reader) {
            // A file system without leases is a place for temporary files, too.
            return;
        }
        assert_eq!(others(&reader), Others::Writers);
        drop(writer);
        assert!(comes_to_hold(|| others(&reader) == Others::Nobody));
        let second = reader.try_clone().unwrap();
        assert!(comes_to_hold(|| others(&reader) == Others::Nobody), "a duplicate is the same");
        let third = File::open(&path).unwrap();
        assert!(comes_to_hold(|| others(&reader) == Others::Readers));
        drop((second, third));
        assert!(comes_to_hold(|| others(&reader) == Others::Nobody));
    }

    #[test]
    fn a_lease_is_asked_back_and_not_waited_for_long() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let holder = File::open(file.path()).unwrap();
        drop(file.reopen());
        let (writer, path) = file.into_parts();
        drop(writer);
        // SAFETY: an open descriptor and a number: no signal may end this process.
        unsafe { libc::fcntl(holder.as_raw_fd(), F_SETSIG, libc::SIGURG) };
        if !comes_to_hold(|| set_lease(&holder, libc::F_WRLCK).is_ok()) {
            // A file system without leases is a place for temporary files, too.
            return;
        }
        let how = crate::sys::file::Opening { read: true, ..Default::default() };
        // After the 45 s of a lease the kernel itself would end it.
        assert_eq!(crate::sys::file::open_patiently(&path, how).unwrap_err(), Code::AGAIN);
        // The holder lets go of it.
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            set_lease(&holder, libc::F_UNLCK).unwrap();
        });
        let opened = crate::sys::file::open_patiently(&path, how).unwrap();
        let flags = rustix::fs::fcntl_getfl(&opened).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "I/O is as usual");
        other.join().unwrap();
    }

    #[test]
    fn what_has_no_leases_says_nothing() {
        let told = others(&File::open("/dev/null").unwrap());
        assert!(matches!(told, Others::Untold(_)), "{told:?}");
    }
}

//! Asks the kernel who else has a file open, by a lease (`fcntl(2)`, `F_SETLEASE`).
//!
//! A lease is given only while nobody has the file open in a way that conflicts with it, whoever that is: a process of
//! another user or another container, a driver of the kernel, a memory map whose descriptor is closed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::error::Code;

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
pub fn patiently<T>(mut open: impl FnMut() -> Result<T, Code>) -> Result<T, Code> {
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
    /// Nobody.
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
    let told = match ask(file, libc::F_WRLCK) {
        Ok(()) => Others::Nobody,
        Err(Code::AGAIN) => match ask(file, libc::F_RDLCK) {
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

fn ask(file: &File, lease: libc::c_int) -> Result<(), Code> {
    set(file, lease).map_err(|error| Code::of(&error).unwrap_or(Code::IO))?;
    // A lease that cannot be given back ends with the descriptor.
    let _ = set(file, libc::F_UNLCK);
    Ok(())
}

fn set(file: &File, lease: libc::c_int) -> io::Result<()> {
    // SAFETY: an open descriptor and a number.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, lease) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::within_a_second;

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
        assert!(within_a_second(|| others(&reader) == Others::Nobody));
        let second = reader.try_clone().unwrap();
        assert!(within_a_second(|| others(&reader) == Others::Nobody), "a duplicate is the same");
        let third = File::open(&path).unwrap();
        assert!(within_a_second(|| others(&reader) == Others::Readers));
        drop((second, third));
        assert!(within_a_second(|| others(&reader) == Others::Nobody));
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
        if !within_a_second(|| set(&holder, libc::F_WRLCK).is_ok()) {
            // A file system without leases is a place for temporary files, too.
            return;
        }
        let how = crate::sys::file::Opening { read: true, ..Default::default() };
        let since = Instant::now();
        assert_eq!(crate::sys::file::open_patiently(&path, how).unwrap_err(), Code::AGAIN);
        assert!(since.elapsed() < 5 * HOLDER_PATIENCE);
        // The holder lets go of it.
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            set(&holder, libc::F_UNLCK).unwrap();
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

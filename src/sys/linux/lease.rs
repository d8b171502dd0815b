//! Asks the kernel who else has a file open, by a lease (`fcntl(2)`, `F_SETLEASE`).
//!
//! A lease is given only while nobody has the file open in a way that conflicts with it, whoever that is: a process of
//! another user or another container, a driver of the kernel, a memory map whose descriptor is closed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::error::Code;

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
    fn what_has_no_leases_says_nothing() {
        let told = others(&File::open("/dev/null").unwrap());
        assert!(matches!(told, Others::Untold(_)), "{told:?}");
    }
}

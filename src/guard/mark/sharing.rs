//! The lock by which runs that write the same file know of each other. It ends with the process, however it ends.
//!
//! It is one on the whole file (`flock(2)`), except over SMB. There the client passes it on to the server, and a server
//! enforces locks: a file that is locked as a whole takes no writes by another open of it, the run's own included. So
//! there is none: of two runs the first to end marks the file as ours, and what the other one leaves decides. Source:
//! the kernel's `fs/smb/client/file.c` (`cifs_flock`).

use std::fs::File;
use std::io;

use crate::sys::file::filesystem;
use crate::sys::lock;

/// SMB's numbers in `linux/magic.h`: CIFS, SMB 2 and the client before them.
const SMB: [u64; 3] = [0xff53_4d42, 0xfe53_4d42, 0x517b];

/// How runs know of each other on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// By a lock on the whole file.
    File,
    /// Not at all.
    Unknown,
}

impl Sharing {
    /// What is right where this file lies.
    pub fn on(file: &File) -> Self {
        match filesystem(file) {
            Ok(Some(found)) if SMB.contains(&found.magic) => Sharing::Unknown,
            _ => Sharing::File,
        }
    }

    /// Takes the lock for this run alone; `false` when another run has it, too.
    ///
    /// # Errors
    /// Where there is no such lock, or what the system says besides.
    pub fn try_alone(self, file: &File) -> io::Result<bool> {
        match self {
            Sharing::File => lock::try_alone(file),
            Sharing::Unknown => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Takes the lock as others do; `false` while one run has it alone.
    ///
    /// # Errors
    /// As [`Sharing::try_alone`].
    pub fn try_share(self, file: &File) -> io::Result<bool> {
        match self {
            Sharing::File => lock::try_share(file),
            Sharing::Unknown => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Gives the lock back.
    pub fn end(self, file: &File) {
        if self == Sharing::File {
            lock::unlock(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::within_a_second;

    #[test]
    fn runs_see_each_other_where_locks_keep_nobody_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let [first, second] = [(); 2].map(|()| file.reopen().unwrap());
        let sharing = Sharing::on(&first);
        assert_eq!(sharing, Sharing::File);
        assert!(sharing.try_alone(&first).unwrap() && sharing.try_share(&first).unwrap());
        assert!(!sharing.try_alone(&second).unwrap());
        sharing.end(&first);
        assert!(within_a_second(|| sharing.try_alone(&second).unwrap()));
        assert!(Sharing::Unknown.try_alone(&first).is_err() && Sharing::Unknown.try_share(&first).is_err());
        Sharing::Unknown.end(&second);
        assert!(!lock::try_alone(&first).unwrap(), "no lock is touched");
    }
}

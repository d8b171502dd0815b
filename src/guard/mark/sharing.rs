//! The lock by which runs that write the same file know of each other. It ends with the process, however it ends.
//!
//! It is one on the whole file (`flock(2)`), except over SMB. There the client passes it on to the server, and a server
//! enforces locks: a file that is locked as a whole takes no writes by another open of it, the run's own included. So
//! there it is a lock on one byte far beyond any end. Source: the kernel's `fs/smb/client/file.c` (`cifs_flock`).

use std::fs::File;
use std::io;

use crate::guard::hold::SHARING_BYTE;
use crate::sys::file::filesystem;
use crate::sys::lock;

/// SMB's numbers in `linux/magic.h`: CIFS, SMB 2 and the client before them.
const SMB: [u64; 3] = [0xff53_4d42, 0xfe53_4d42, 0x517b];

/// How runs know of each other on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// By a lock on the whole file.
    File,
    /// By a lock on a byte that no I/O touches. A run that is alone cannot keep others from coming.
    Byte,
}

impl Sharing {
    /// What is right where this file lies.
    pub fn on(file: &File) -> Self {
        let is_smb =
            filesystem(file).is_ok_and(|found| found.is_some_and(|found| SMB.contains(&found.magic)));
        if is_smb { Sharing::Byte } else { Sharing::File }
    }

    /// Takes the lock for this run alone; `false` when another run has it, too.
    ///
    /// # Errors
    /// What the system says besides.
    pub fn try_alone(self, file: &File) -> io::Result<bool> {
        match self {
            Sharing::File => lock::try_alone(file),
            // The own one first: of two runs that begin together each sees the other.
            Sharing::Byte => {
                lock::share_byte(file, SHARING_BYTE)?;
                Ok(!lock::is_byte_locked(file, SHARING_BYTE))
            }
        }
    }

    /// Takes the lock as others do; `false` while one run has it alone.
    ///
    /// # Errors
    /// What the system says besides.
    pub fn try_share(self, file: &File) -> io::Result<bool> {
        match self {
            Sharing::File => lock::try_share(file),
            Sharing::Byte => lock::share_byte(file, SHARING_BYTE).map(|()| true),
        }
    }

    /// Gives the lock back.
    pub fn end(self, file: &File) {
        match self {
            Sharing::File => lock::unlock(file),
            Sharing::Byte => lock::release_byte(file, SHARING_BYTE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::within_a_second;

    #[test]
    fn runs_see_each_other_until_they_end() {
        for sharing in [Sharing::File, Sharing::Byte] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let [first, second] = [(); 2].map(|()| file.reopen().unwrap());
            assert!(sharing.try_alone(&first).unwrap(), "{sharing:?}");
            assert!(sharing.try_share(&first).unwrap());
            assert!(!sharing.try_alone(&second).unwrap(), "{sharing:?}");
            assert!(sharing.try_share(&second).unwrap());
            assert!(!sharing.try_alone(&first).unwrap(), "{sharing:?}");
            sharing.end(&first);
            assert!(within_a_second(|| sharing.try_alone(&second).unwrap()), "{sharing:?}");
        }
    }

    #[test]
    fn a_byte_leaves_the_file_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = file.reopen().unwrap();
        assert!(Sharing::Byte.try_alone(file.as_file()).unwrap());
        assert!(lock::try_alone(&other).unwrap());
        assert_eq!(Sharing::on(file.as_file()), Sharing::File);
    }
}

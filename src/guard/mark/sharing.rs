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
use crate::sys::open::{Reading, read_again};

/// SMB's numbers in `linux/magic.h`: CIFS, SMB 2 and the client before them.
const SMB: [u64; 3] = [0xff53_4d42, 0xfe53_4d42, 0x517b];

/// How runs know of each other on a file.
#[derive(Debug)]
pub(super) enum Sharing {
    /// By a lock on the whole file.
    File,
    /// By a lock on a byte that no I/O touches. A run that is alone cannot keep others from coming. Runs share it by an open
    /// file of their own, because it must be readable; `None` when it is not.
    Byte(Option<File>),
}

impl Sharing {
    /// What is right where this file lies.
    pub fn on(file: &File) -> Self {
        let is_smb =
            filesystem(file).is_ok_and(|found| found.is_some_and(|found| SMB.contains(&found.magic)));
        if is_smb { Sharing::Byte(read_again(file, Reading::default()).ok()) } else { Sharing::File }
    }

    /// Takes the lock for this run alone; `false` when another run has it, too.
    ///
    /// # Errors
    /// What the system says besides.
    pub fn try_alone(&self, file: &File) -> io::Result<bool> {
        match self {
            Sharing::File => lock::try_alone(file),
            // The own one first: of two runs that begin together each sees the other.
            Sharing::Byte(own) => {
                let own = own.as_ref().ok_or(io::ErrorKind::PermissionDenied)?;
                lock::share_byte(own, SHARING_BYTE)?;
                Ok(!lock::is_byte_locked(own, SHARING_BYTE))
            }
        }
    }

    /// Takes the lock as others do; `false` while one run has it alone.
    ///
    /// # Errors
    /// What the system says besides.
    pub fn try_share(&self, file: &File) -> io::Result<bool> {
        match self {
            Sharing::File => lock::try_share(file),
            Sharing::Byte(own) => {
                lock::share_byte(own.as_ref().ok_or(io::ErrorKind::PermissionDenied)?, SHARING_BYTE)?;
                Ok(true)
            }
        }
    }

    /// Gives the lock back.
    pub fn end(&self, file: &File) {
        match self {
            Sharing::File => lock::unlock(file),
            Sharing::Byte(own) => own.iter().for_each(|own| lock::release_byte(own, SHARING_BYTE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::within_a_second;

    /// Two runs that write the same file, which neither can read through its descriptor.
    fn two(of: impl Fn(&File) -> Sharing) -> [(Sharing, File); 2] {
        let file = tempfile::NamedTempFile::new().unwrap();
        [(); 2].map(|()| {
            let file = File::options().write(true).open(file.path()).unwrap();
            (of(&file), file)
        })
    }

    fn by_byte(file: &File) -> Sharing {
        Sharing::Byte(Some(read_again(file, Reading::default()).unwrap()))
    }

    #[test]
    fn runs_see_each_other_until_they_end() {
        for of in [Sharing::on, by_byte] {
            let [(first, one), (second, other)] = two(of);
            assert!(first.try_alone(&one).unwrap(), "{first:?}");
            assert!(first.try_share(&one).unwrap());
            assert!(!second.try_alone(&other).unwrap(), "{second:?}");
            assert!(second.try_share(&other).unwrap());
            assert!(!first.try_alone(&one).unwrap(), "{first:?}");
            first.end(&one);
            assert!(within_a_second(|| second.try_alone(&other).unwrap()), "{second:?}");
        }
    }

    #[test]
    fn a_byte_leaves_the_file_alone() {
        let [(first, one), (_, other)] = two(by_byte);
        assert!(first.try_alone(&one).unwrap());
        assert!(lock::try_alone(&other).unwrap());
        assert!(matches!(Sharing::on(&one), Sharing::File));
        assert!(Sharing::Byte(None).try_alone(&one).is_err());
    }
}

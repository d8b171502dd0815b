//! Requests that wait in the programs that serve file systems (FUSE).
//!
//! Source: the kernel's `Documentation/filesystems/fuse.rst`, "Control filesystem": a directory for each connection, with
//! `waiting`, the requests that were handed over and have no answer yet. Its name is the number of the file system's device.

use std::fs::File;

use super::device::DeviceNumber;
use super::roots::Roots;
use crate::sys::file::read_at;

/// Bits of a device number that are the minor number, inside of the kernel (`MINORBITS` in `linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;
/// Longer than any number.
const TEXT_BYTES_MAX: usize = 32;

/// The connection of a file system to its program, kept open.
#[derive(Debug)]
pub struct FuseConnection {
    waiting: File,
}

impl FuseConnection {
    /// Opens the one of a file system by its number. `None` where the control file system is not mounted, or belongs to
    /// another user.
    pub fn open(device: DeviceNumber, roots: &Roots) -> Option<Self> {
        let number = (u64::from(device.major) << MINOR_BITS) | u64::from(device.minor);
        let dir = roots.sys.join("fs/fuse/connections").join(number.to_string());
        Some(FuseConnection { waiting: File::open(dir.join("waiting")).ok()? })
    }

    /// Requests without an answer at this moment; `None` when the connection is gone.
    pub fn waiting(&self) -> Option<u64> {
        let mut buffer = [0; TEXT_BYTES_MAX];
        let len = read_at(&self.waiting, &mut buffer, 0).ok()?;
        std::str::from_utf8(&buffer[..len]).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_found_by_its_device() {
        let dir = tempfile::tempdir().expect("a directory");
        let roots = Roots { sys: dir.path().into(), ..Roots::default() };
        let put = |number: &str, text: &str| {
            let place = dir.path().join("fs/fuse/connections").join(number);
            std::fs::create_dir_all(&place).expect("a folder");
            std::fs::write(place.join("waiting"), text).expect("a file");
        };
        put("47", "3\n");
        // fuseblk has the number of its device, 8:17.
        put("8388625", "12\n");
        let waiting = |device: &str| {
            FuseConnection::open(device.parse().expect("a number"), &roots).map(|found| found.waiting())
        };
        assert_eq!(waiting("0:47"), Some(Some(3)));
        assert_eq!(waiting("8:17"), Some(Some(12)));
        assert_eq!(waiting("0:48"), None);
        put("47", "gone");
        assert_eq!(waiting("0:47"), Some(None));
    }
}

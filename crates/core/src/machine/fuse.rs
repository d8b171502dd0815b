//! Requests that wait in the programs that serve file systems (FUSE).
//!
//! Source: the kernel's `Documentation/filesystems/fuse.rst`, "Control filesystem": a directory for each
//! connection, with `waiting`, the requests that were handed over and have no answer yet. Its name is the
//! number of the file system's device.

use std::path::PathBuf;

use super::device::DeviceNumber;
use super::roots::Roots;

/// Bits of a device number that are the minor number, inside of the kernel (`MINORBITS` in `linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;

/// The connection of a file system to its program.
#[derive(Debug)]
pub struct FuseConnection {
    /// Read anew each time: the kernel lets nobody go back in this file, nor read it at an offset.
    waiting: PathBuf,
}

impl FuseConnection {
    /// The one of a file system by its number. `None` where the control file system is not mounted, or belongs to
    /// another user.
    pub fn find(device: DeviceNumber, roots: &Roots) -> Option<Self> {
        let number = (u64::from(device.major) << MINOR_BITS) | u64::from(device.minor);
        let waiting = roots.sys.join("fs/fuse/connections").join(number.to_string()).join("waiting");
        std::fs::File::open(&waiting).is_ok().then_some(FuseConnection { waiting })
    }

    /// Requests without an answer at this moment; `None` when the connection is gone.
    pub fn waiting(&self) -> Option<u64> {
        std::fs::read_to_string(&self.waiting).ok()?.trim().parse().ok()
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
            FuseConnection::find(device.parse().expect("a number"), &roots).map(|found| found.waiting())
        };
        assert_eq!(waiting("0:47"), Some(Some(3)));
        assert_eq!(waiting("8:17"), Some(Some(12)));
        assert_eq!(waiting("0:48"), None);
        put("47", "gone");
        assert_eq!(waiting("0:47"), Some(None));
    }
}

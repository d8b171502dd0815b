//! Block devices: numbers, and what their drivers answer.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::identity::Identity;

/// Major number in what `stat(2)` reports.
pub fn major(number: u64) -> u32 {
    libc::major(number)
}

/// Minor number in what `stat(2)` reports.
pub fn minor(number: u64) -> u32 {
    libc::minor(number)
}

/// The number that `stat(2)` reports for these two.
pub fn number(major: u32, minor: u32) -> u64 {
    libc::makedev(major, minor)
}

/// Whether an open device is write-protected (`BLKROGET`): the kernel lets it be opened and fails the writes.
pub fn is_write_protected(file: &File) -> bool {
    /// `_IO(0x12, 94)`, `linux/fs.h`.
    const BLKROGET: libc::Ioctl = libc::_IO(0x12, 94);
    let mut read_only: libc::c_int = 0;
    // SAFETY: BLKROGET writes one int through the pointer, which outlives the call; on other files
    // the ioctl fails without writing.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKROGET, &raw mut read_only) };
    result == 0 && read_only != 0
}

/// Capacity of an open device in bytes (`BLKGETSIZE64`).
///
/// # Errors
/// What `ioctl(2)` says.
pub fn capacity_bytes(file: &File) -> io::Result<u64> {
    /// `_IOR(0x12, 114, size_t)`, `linux/fs.h`.
    const BLKGETSIZE64: libc::Ioctl = libc::_IOR::<libc::size_t>(0x12, 114);
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 writes one u64 through the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) };
    if result == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Logical and physical sector of an open device, in bytes.
pub fn sector_bytes(file: &File) -> Option<(u32, u32)> {
    let logical = rustix::fs::ioctl_blksszget(file).ok()?;
    Some((logical, rustix::fs::ioctl_blkpbszget(file).unwrap_or(logical)))
}

/// What an open loop device stands on (`LOOP_GET_STATUS64`): a file, or another block device. This names it without a
/// path, which may mean something else to this process than to the kernel.
///
/// # Errors
/// What `ioctl(2)` says: it is no loop device, or stands on nothing.
pub fn stands_on(file: &File) -> io::Result<Identity> {
    /// `linux/loop.h`.
    const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;
    /// The beginning of `struct loop_info64`; what follows is of no interest.
    #[repr(C)]
    struct Status {
        device: u64,
        inode: u64,
        node_of: u64,
        rest: [u64; 26],
    }
    let mut status = Status { device: 0, inode: 0, node_of: 0, rest: [0; 26] };
    // SAFETY: the ioctl writes 232 bytes, which `Status` has, through the pointer, which outlives the call; on other
    // files it fails without writing.
    if unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, &raw mut status) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (device, node_of) = (from_kernel(status.device), from_kernel(status.node_of));
    // Of a file the kernel tells no number of a node, or that of its file system again.
    let is_node = node_of != 0 && node_of != device;
    Ok(if is_node { Identity::from((node_of, 0)) } else { Identity::from((device, status.inode)) })
}

/// The kernel's own form of a device number (`new_encode_dev`) as `stat(2)` has it.
fn from_kernel(number: u64) -> u64 {
    let major = (number >> 8) & 0xfff;
    let minor = (number & 0xff) | ((number >> 12) & 0xf_ff00);
    libc::makedev(major as u32, minor as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_kernel() {
        for (major, minor) in [(7, 0), (254, 300), (8, 0xf_ffff), (0, 44)] {
            let number: u64 = (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12);
            assert_eq!(from_kernel(number), libc::makedev(major as u32, minor as u32), "{major}:{minor}");
        }
    }

    #[test]
    fn numbers_come_apart() {
        let number = libc::makedev(259, 300);
        assert_eq!((major(number), minor(number)), (259, 300));
    }

    #[test]
    fn a_file_is_no_device() {
        let file = tempfile::tempfile().expect("a file");
        assert!(
            !is_write_protected(&file) && capacity_bytes(&file).is_err() && sector_bytes(&file).is_none()
        );
        assert!(stands_on(&file).is_err());
    }
}

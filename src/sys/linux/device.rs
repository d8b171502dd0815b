//! Block devices: numbers, and what their drivers answer.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Major number in what `stat(2)` reports.
pub fn major(number: u64) -> u32 {
    libc::major(number)
}

/// Minor number in what `stat(2)` reports.
pub fn minor(number: u64) -> u32 {
    libc::minor(number)
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}

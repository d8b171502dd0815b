//! Block devices: numbers, and what their drivers answer.
//!
//! NVMe namespaces by their character devices (`/dev/ngXnY`): what the driver and the drive answer.
//!
//! Sources: the kernel's `include/uapi/linux/nvme_ioctl.h`, and the NVM Command Set specification for
//! Identify Namespace.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::file;
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
pub(crate) fn is_write_protected(file: &File) -> bool {
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
pub(crate) fn capacity_bytes(file: &File) -> io::Result<u64> {
    const BLKGETSIZE64: libc::Ioctl = libc::_IOR::<libc::size_t>(0x12, 114);
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 writes one u64 through the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) };
    if result == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Logical and physical sector of an open device, in bytes.
pub(crate) fn sector_bytes(file: &File) -> Option<(u32, u32)> {
    let logical = rustix::fs::ioctl_blksszget(file).ok()?;
    Some((logical, rustix::fs::ioctl_blkpbszget(file).unwrap_or(logical)))
}

/// What an open loop device stands on (`LOOP_GET_STATUS64`): a file, or another block device. This names it without a
/// path, which may mean something else to this process than to the kernel.
///
/// # Errors
/// What `ioctl(2)` says: it is no loop device, or stands on nothing.
pub(crate) fn stands_on(file: &File) -> io::Result<Identity> {
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

/// How a namespace is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub blocks: u64,
    /// Length of a block of data in bytes.
    pub block_bytes: u64,
    /// Length of what belongs to each block besides, in bytes.
    pub metadata_bytes: u16,
}

#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_len: u32,
    data_len: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Length of what Identify answers.
const IDENTIFY_BYTES: usize = 4096;

/// Number of the namespace behind an open device on its controller (`NVME_IOCTL_ID`).
///
/// # Errors
/// What `ioctl(2)` says: the device is no namespace.
pub(crate) fn namespace_id(file: &File) -> io::Result<u32> {
    const NVME_IOCTL_ID: libc::Ioctl = libc::_IO(b'N' as u32, 0x40);
    // SAFETY: takes no argument and returns the number.
    let id = unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ID) };
    if id > 0 { Ok(id as u32) } else { Err(io::Error::last_os_error()) }
}

/// Asks the drive how a namespace is formatted (Identify Namespace).
///
/// # Errors
/// What `ioctl(2)` says; before Linux 6.2 only root may ask.
pub fn format(file: &File, namespace: u32) -> io::Result<Format> {
    const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = libc::_IOWR::<AdminCommand>(b'N' as u32, 0x41);
    const IDENTIFY: u8 = 0x06;
    let mut answer = vec![0u8; IDENTIFY_BYTES];
    let mut command = AdminCommand {
        opcode: IDENTIFY,
        namespace,
        address: answer.as_mut_ptr() as u64,
        data_len: IDENTIFY_BYTES as u32,
        ..AdminCommand::default()
    };
    // SAFETY: the drive writes `data_len` bytes to `address`; both outlive the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, &raw mut command) } {
        0 => format_of(&answer).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "the drive tells no size of its blocks")
        }),
        -1 => Err(io::Error::last_os_error()),
        status => Err(io::Error::other(format!("the drive refuses to tell (NVMe status {status:#x})"))),
    }
}

/// Reads the answer to Identify Namespace.
fn format_of(answer: &[u8]) -> Option<Format> {
    const FORMATTED_SIZE: usize = 26;
    const FORMATS: usize = 128;
    let blocks = u64::from_le_bytes(answer.get(..8)?.try_into().ok()?);
    let formatted = usize::from(*answer.get(FORMATTED_SIZE)?);
    // Bits 0 to 3, and above them bits 5 and 6.
    let chosen = (formatted & 0xf) | ((formatted >> 1) & 0x30);
    let at = FORMATS + 4 * chosen;
    let metadata_bytes = u16::from_le_bytes(answer.get(at..at + 2)?.try_into().ok()?);
    let shift = u32::from(*answer.get(at + 2)?);
    // A format that is not available has the size 0; none is smaller than 512 bytes.
    (9..32).contains(&shift).then(|| Format { blocks, block_bytes: 1 << shift, metadata_bytes })
}

/// How a device was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenedFor {
    pub reads: bool,
    pub writes: bool,
    /// Writes are durable when they complete (`O_DSYNC`).
    pub durably: bool,
}

/// How an open device was opened. The driver does not look at it for root: whoever sends commands has to.
///
/// # Errors
/// What `fcntl(2)` says.
pub(crate) fn opened_for(file: &File) -> io::Result<OpenedFor> {
    let flags = file::status_flags(file)?;
    let mode = flags & libc::O_ACCMODE;
    Ok(OpenedFor {
        reads: mode != libc::O_WRONLY,
        writes: mode != libc::O_RDONLY,
        durably: flags & libc::O_DSYNC != 0,
    })
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

#[cfg(test)]
mod tests_nvme {
    use super::*;
    use std::os::unix::fs::OpenOptionsExt;

    #[test]
    fn the_command_is_as_long_as_the_kernel_has_it() {
        assert_eq!(size_of::<AdminCommand>(), 72);
    }

    #[test]
    fn the_format_in_use_is_read() {
        let mut answer = vec![0; IDENTIFY_BYTES];
        answer[..8].copy_from_slice(&1_000_000u64.to_le_bytes());
        answer[130] = 9;
        answer[136..139].copy_from_slice(&[8, 0, 12]);
        answer[128 + 4 * 17 + 2] = 12;
        let of = |formatted: u8, answer: &mut [u8]| {
            answer[26] = formatted;
            format_of(answer).map(|format| (format.blocks, format.block_bytes, format.metadata_bytes))
        };
        assert_eq!(of(0, &mut answer), Some((1_000_000, 512, 0)));
        assert_eq!(of(2, &mut answer), Some((1_000_000, 4096, 8)));
        assert_eq!(of(0x10, &mut answer), Some((1_000_000, 512, 0)), "bit 4 says where metadata lie");
        assert_eq!(of(0x21, &mut answer), Some((1_000_000, 4096, 0)), "format 17");
        assert_eq!(of(1, &mut answer), None, "a format that is not there");
        assert_eq!(format_of(&answer[..100]), None);
    }

    #[test]
    fn a_file_is_no_namespace_and_says_how_it_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = File::create(&path).unwrap();
        assert!(namespace_id(&file).is_err() && format(&file, 1).is_err());
        let of = |read, write, flags| {
            let file = File::options().read(read).write(write).custom_flags(flags).open(&path).unwrap();
            let OpenedFor { reads, writes, durably } = opened_for(&file).unwrap();
            (reads, writes, durably)
        };
        assert_eq!(of(true, false, 0), (true, false, false));
        assert_eq!(of(false, true, 0), (false, true, false));
        assert_eq!(of(true, true, libc::O_DSYNC), (true, true, true));
    }
}

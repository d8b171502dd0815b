//! NVMe namespaces by their character devices (`/dev/ngXnY`): what the driver and the drive answer.
//!
//! Sources: the kernel's `include/uapi/linux/nvme_ioctl.h`, and the NVM Command Set specification for
//! Identify Namespace.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::file;

/// How a namespace is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Blocks that it has.
    pub blocks: u64,
    /// Length of a block of data in bytes.
    pub block_bytes: u64,
    /// Length of what belongs to each block besides, in bytes.
    pub metadata_bytes: u16,
}

/// `struct nvme_passthru_cmd`.
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
pub fn namespace_id(file: &File) -> io::Result<u32> {
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
pub struct OpenedFor {
    /// For reading.
    pub reads: bool,
    /// For writing.
    pub writes: bool,
    /// Writes are durable when they complete (`O_DSYNC`).
    pub durably: bool,
}

/// How an open device was opened. The driver does not look at it for root: whoever sends commands has to.
///
/// # Errors
/// What `fcntl(2)` says.
pub fn opened_for(file: &File) -> io::Result<OpenedFor> {
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

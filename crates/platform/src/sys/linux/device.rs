//! Block devices: numbers, and what their drivers answer.
//!
//! NVMe namespaces by their character devices (`/dev/ngXnY`): what the driver and the drive answer.
//!
//! Sources: the kernel's `include/uapi/linux/nvme_ioctl.h`, and the NVM Command Set specification for
//! Identify Namespace.
//!
//! libblkid, loaded when first needed: the machine's own knowledge of signatures.
//!
//! Loaded at run time so that the program starts where the library is missing. Only functions of
//! the library's first releases (util-linux 2.15 to 2.23) are used; their C signatures are in `blkid.h`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use libloading::Library;

use crate::sys::error::Code;

use crate::sys::linux::error::system_text;
use crate::sys::linux::file;
use crate::sys::linux::identity::Identity;

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

/// The number that the kernel gave the disk of an open device when it appeared (`BLKGETDISKSEQ`, Linux 5.15).
///
/// # Errors
/// What `ioctl(2)` says.
pub(crate) fn sequence_number(file: &File) -> io::Result<u64> {
    const BLKGETDISKSEQ: libc::Ioctl = libc::_IOR::<u64>(0x12, 128);
    let mut number: u64 = 0;
    // SAFETY: BLKGETDISKSEQ writes one u64 through the pointer, which outlives the call; an older kernel fails without
    // writing.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETDISKSEQ, &raw mut number) };
    if result == 0 { Ok(number) } else { Err(io::Error::last_os_error()) }
}

/// Capacity of an open device in bytes (`BLKGETSIZE64`).
///
/// # Errors
/// What `ioctl(2)` says.
pub fn capacity_bytes(file: &File) -> io::Result<u64> {
    const BLKGETSIZE64: libc::Ioctl = libc::_IOR::<libc::size_t>(0x12, 114);
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 writes one u64 through the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) };
    if result == 0 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Tells an open device that nobody needs a range any more (`BLKDISCARD`); both numbers in bytes, and multiples of its
/// logical sector.
///
/// # Errors
/// What `ioctl(2)` says; [`Code::NOT_SUPPORTED`] where the device takes no discards.
pub fn discard(file: &File, offset: u64, bytes: u64) -> Result<(), Code> {
    const BLKDISCARD: libc::Ioctl = libc::_IO(0x12, 119);
    let range = [offset, bytes];
    // SAFETY: BLKDISCARD reads two u64 through the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(Code::last()) }
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
    /// Number of blocks of the namespace.
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
    const OF_NAMESPACE: u32 = 0;
    let answer = identify(file, namespace, OF_NAMESPACE)?;
    format_of(&answer)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the drive tells no size of its blocks"))
}

/// Asks the drive whether it has the command that trims (Identify Controller).
///
/// # Errors
/// As [`format()`].
pub(crate) fn takes_trims(file: &File) -> io::Result<bool> {
    const OF_CONTROLLER: u32 = 1;
    Ok(has_dataset_management(&identify(file, 0, OF_CONTROLLER)?))
}

/// Reads the answer to Identify Controller: bit 2 of the optional commands (ONCS).
fn has_dataset_management(answer: &[u8]) -> bool {
    const OPTIONAL_COMMANDS: usize = 520;
    answer.get(OPTIONAL_COMMANDS).is_some_and(|commands| commands & 1 << 2 != 0)
}

/// What the drive answers to Identify; `what` is told of (CNS).
pub(super) fn identify(file: &File, namespace: u32, what: u32) -> io::Result<Vec<u8>> {
    const IDENTIFY: u8 = 0x06;
    let mut answer = vec![0u8; IDENTIFY_BYTES];
    nvme_admin(file, IDENTIFY, namespace, [what, 0, 0, 0, 0, 0], &mut answer)?;
    Ok(answer)
}

/// Sends an administrative command that reads; `dwords_10_15` is what it takes, `answer` what the drive fills.
pub(super) fn nvme_admin(
    file: &File,
    opcode: u8,
    namespace: u32,
    dwords_10_15: [u32; 6],
    answer: &mut [u8],
) -> io::Result<()> {
    const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = libc::_IOWR::<AdminCommand>(b'N' as u32, 0x41);
    let mut command = AdminCommand {
        opcode,
        namespace,
        address: answer.as_mut_ptr() as u64,
        data_len: answer.len() as u32,
        dwords_10_15,
        ..AdminCommand::default()
    };
    // SAFETY: the drive writes `data_len` bytes to `address`; both outlive the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, &raw mut command) } {
        0 => Ok(()),
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
    /// It was opened for reading.
    pub reads: bool,
    /// It was opened for writing.
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

/// `blkid_probe`: a pointer to a structure only the library knows.
type RawProbe = *mut c_void;

/// `blkid_partlist` and `blkid_partition`: they belong to the probe and live as long.
type PartList = *mut c_void;
type RawPartition = *mut c_void;

/// `BLKID_SUBLKS_LABEL | _TYPE | _USAGE | _MAGIC`, and `_BADCSUM`: a damaged superblock is data too.
const SUPERBLOCKS_FLAGS: c_int = 1 << 1 | 1 << 5 | 1 << 7 | 1 << 9 | 1 << 10;
/// `BLKID_PARTS_MAGIC`, and `_FORCE_GPT`: a GPT whose protective MBR is gone is data too.
const PARTITIONS_FLAGS: c_int = 1 << 3 | 1 << 1;
/// More signatures than this on one device mean that the library does not advance.
const SIGNATURES_MAX: usize = 64;

/// A signature that the library found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The library's name: `ext4`, `gpt`, `LVM2_member`, ...
    pub name: String,
    /// What such things are for, in the library's words: `filesystem`, `raid`, `crypto`, `other`; `None` for a table
    /// of partitions.
    pub usage: Option<String>,
    /// Label, when there is one.
    pub label: Option<String>,
    /// Where its magic number stands, in bytes.
    pub offset_bytes: Option<u64>,
}

/// A partition as the table in a file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its number in the table, from 1.
    pub number: u32,
    /// Where it begins, in bytes.
    pub start_bytes: u64,
    /// Length of the partition in bytes.
    pub length_bytes: u64,
    /// Label, where the table has one.
    pub label: Option<String>,
    /// Type as the table has it: a GUID, or `0x83`.
    pub type_code: Option<String>,
}

/// The functions of the library.
#[derive(Debug)]
pub struct Blkid {
    new_probe: unsafe extern "C" fn() -> RawProbe,
    free_probe: unsafe extern "C" fn(RawProbe),
    set_device: unsafe extern "C" fn(RawProbe, c_int, i64, i64) -> c_int,
    enable_superblocks: unsafe extern "C" fn(RawProbe, c_int) -> c_int,
    set_superblocks_flags: unsafe extern "C" fn(RawProbe, c_int) -> c_int,
    enable_partitions: unsafe extern "C" fn(RawProbe, c_int) -> c_int,
    set_partitions_flags: unsafe extern "C" fn(RawProbe, c_int) -> c_int,
    do_probe: unsafe extern "C" fn(RawProbe) -> c_int,
    lookup_value: unsafe extern "C" fn(RawProbe, *const c_char, *mut *const c_char, *mut usize) -> c_int,
    get_partitions: unsafe extern "C" fn(RawProbe) -> PartList,
    partition_count: unsafe extern "C" fn(PartList) -> c_int,
    partition_at: unsafe extern "C" fn(PartList, c_int) -> RawPartition,
    partition_name: unsafe extern "C" fn(RawPartition) -> *const c_char,
    partition_type: unsafe extern "C" fn(RawPartition) -> *const c_char,
    partition_type_number: unsafe extern "C" fn(RawPartition) -> c_int,
    partition_number: unsafe extern "C" fn(RawPartition) -> c_int,
    partition_start: unsafe extern "C" fn(RawPartition) -> i64,
    partition_size: unsafe extern "C" fn(RawPartition) -> i64,
    _library: Library,
}

/// Why libblkid cannot be used, or could not look.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BlkidError(String);

/// The library, loaded once.
pub fn blkid() -> Result<&'static Blkid, &'static BlkidError> {
    static LIBRARY: OnceLock<Result<Blkid, BlkidError>> = OnceLock::new();
    LIBRARY.get_or_init(|| Blkid::load("libblkid.so.1")).as_ref()
}

impl Blkid {
    fn load(name: &str) -> Result<Self, BlkidError> {
        // It holds a C library of its own, and one that loads the system's beside it may crash.
        if cfg!(target_feature = "crt-static") {
            let why = "libblkid is not used: a static program loads no libraries";
            return Err(BlkidError(why.to_string()));
        }
        let words = |e: libloading::Error| BlkidError(format!("{name} cannot be used: {e}"));
        // SAFETY: libblkid is an ordinary system library; its initialisers only set up its own state.
        let library = unsafe { Library::new(name) }.map_err(words)?;
        macro_rules! function {
            ($symbol:literal) => {
                // SAFETY: the field's type is the C prototype in blkid.h, unchanged since the function
                // appeared; the library is kept loaded in the same struct.
                *unsafe { library.get($symbol) }.map_err(words)?
            };
        }
        Ok(Blkid {
            new_probe: function!(c"blkid_new_probe"),
            free_probe: function!(c"blkid_free_probe"),
            set_device: function!(c"blkid_probe_set_device"),
            enable_superblocks: function!(c"blkid_probe_enable_superblocks"),
            set_superblocks_flags: function!(c"blkid_probe_set_superblocks_flags"),
            enable_partitions: function!(c"blkid_probe_enable_partitions"),
            set_partitions_flags: function!(c"blkid_probe_set_partitions_flags"),
            do_probe: function!(c"blkid_do_probe"),
            lookup_value: function!(c"blkid_probe_lookup_value"),
            get_partitions: function!(c"blkid_probe_get_partitions"),
            partition_count: function!(c"blkid_partlist_numof_partitions"),
            partition_at: function!(c"blkid_partlist_get_partition"),
            partition_name: function!(c"blkid_partition_get_name"),
            partition_type: function!(c"blkid_partition_get_type_string"),
            partition_type_number: function!(c"blkid_partition_get_type"),
            partition_number: function!(c"blkid_partition_get_partno"),
            partition_start: function!(c"blkid_partition_get_start"),
            partition_size: function!(c"blkid_partition_get_size"),
            _library: library,
        })
    }

    /// The partitions that the table in the file describes, the logical ones among them; none when there is no
    /// table or the library cannot read it.
    pub fn partitions(&self, file: &File) -> Vec<Partition> {
        if file.metadata().is_ok_and(|m| m.is_file() && m.len() == 0) {
            return Vec::new();
        }
        let Ok(probe) = Probe::new(self, file, None) else { return Vec::new() };
        // SAFETY: a valid probe, used by this thread only; the list is looked at before the probe is freed.
        let list = unsafe { (self.get_partitions)(probe.raw.as_ptr()) };
        if list.is_null() {
            return Vec::new();
        }
        // SAFETY: a list of this probe, not null.
        let count = unsafe { (self.partition_count)(list) };
        // SAFETY: as above; the library answers a number out of range with null.
        (0..count).filter_map(|n| self.partition(unsafe { (self.partition_at)(list, n) })).collect()
    }

    fn partition(&self, raw: RawPartition) -> Option<Partition> {
        if raw.is_null() {
            return None;
        }
        // SAFETY: a partition of a list whose probe is alive in the caller.
        let (number, start, size, type_number) = unsafe {
            (
                (self.partition_number)(raw),
                (self.partition_start)(raw),
                (self.partition_size)(raw),
                (self.partition_type_number)(raw),
            )
        };
        // SAFETY: as above; both return null or a terminated text that lives as long as the probe.
        let (label, type_code) =
            unsafe { (owned((self.partition_name)(raw)), owned((self.partition_type)(raw))) };
        let [start_bytes, length_bytes] =
            [start, size].map(|sectors| u64::try_from(sectors).ok()?.checked_mul(512));
        Some(Partition {
            number: u32::try_from(number).ok()?,
            start_bytes: start_bytes?,
            length_bytes: length_bytes?,
            label,
            type_code: type_code.or_else(|| (type_number > 0).then(|| format!("{type_number:#x}"))),
        })
    }

    /// Finds every signature, not only the most likely one. `part` is the start and the length in bytes of a part that
    /// is looked at as if it were all there is.
    ///
    /// # Errors
    /// [`BlkidError`] when the library could not look.
    pub fn probe(&self, file: &File, part: Option<(u64, u64)>) -> Result<Vec<Found>, BlkidError> {
        if file.metadata().is_ok_and(|m| m.is_file() && m.len() == 0) {
            return Ok(Vec::new());
        }
        let probe = Probe::new(self, file, part)?;
        let mut found = Vec::new();
        loop {
            // SAFETY: a valid probe, used by this thread only.
            match unsafe { (self.do_probe)(probe.raw.as_ptr()) } {
                0 if found.len() < SIGNATURES_MAX => found.extend(probe.signature()),
                0 | 1 => return Ok(found),
                _ => {
                    let error = std::io::Error::last_os_error();
                    return Err(BlkidError(format!("libblkid could not read it: {}", system_text(&error))));
                }
            }
        }
    }
}

/// A probe set to one file, freed on drop.
struct Probe<'a> {
    blkid: &'a Blkid,
    raw: NonNull<c_void>,
    /// The library reads through the descriptor until the probe is freed.
    _file: &'a File,
}

impl<'a> Probe<'a> {
    fn new(blkid: &'a Blkid, file: &'a File, part: Option<(u64, u64)>) -> Result<Self, BlkidError> {
        // Offset and size 0 mean the whole device.
        let (start, length) = part.unwrap_or((0, 0));
        let (Ok(start), Ok(length)) = (i64::try_from(start), i64::try_from(length)) else {
            return Err(BlkidError("the device is too large".to_string()));
        };
        // SAFETY: no arguments; the result is checked for null.
        let raw = unsafe { (blkid.new_probe)() };
        let raw = NonNull::new(raw).ok_or_else(|| BlkidError("libblkid ran out of memory".to_string()))?;
        let probe = Probe { blkid, raw, _file: file };
        let p = raw.as_ptr();
        // SAFETY: `p` is a valid probe; the descriptor stays open as long as the probe (`_file`).
        let refused = unsafe {
            (blkid.set_device)(p, file.as_raw_fd(), start, length) != 0
                || (blkid.enable_superblocks)(p, 1) != 0
                || (blkid.set_superblocks_flags)(p, SUPERBLOCKS_FLAGS) != 0
                || (blkid.enable_partitions)(p, 1) != 0
                || (blkid.set_partitions_flags)(p, PARTITIONS_FLAGS) != 0
        };
        if refused { Err(BlkidError("libblkid does not accept the device".to_string())) } else { Ok(probe) }
    }

    /// The values of the signature found last.
    fn signature(&self) -> Option<Found> {
        if let Some(name) = self.value(c"PTTYPE") {
            return Some(Found {
                name,
                usage: None,
                label: None,
                offset_bytes: self.offset(c"PTMAGIC_OFFSET"),
            });
        }
        Some(Found {
            name: self.value(c"TYPE")?,
            usage: Some(self.value(c"USAGE").unwrap_or_default()),
            label: self.value(c"LABEL").filter(|l| !l.is_empty()),
            offset_bytes: self.offset(c"SBMAGIC_OFFSET"),
        })
    }

    fn offset(&self, name: &CStr) -> Option<u64> {
        self.value(name)?.trim().parse().ok()
    }

    fn value(&self, name: &CStr) -> Option<String> {
        let mut data: *const c_char = ptr::null();
        let mut len = 0usize;
        // SAFETY: valid probe, terminated name, both results written before 0 is returned.
        let missing = unsafe {
            (self.blkid.lookup_value)(self.raw.as_ptr(), name.as_ptr(), &raw mut data, &raw mut len)
        };
        if missing != 0 || data.is_null() {
            return None;
        }
        // SAFETY: the library says that `len` bytes are at `data`; they are copied before the probe
        // is used again.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
        // The length counts the closing zero.
        let text = bytes.split(|&b| b == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new_probe`, freed once.
        unsafe { (self.blkid.free_probe)(self.raw.as_ptr()) };
    }
}

/// A copy of the library's text; `None` for null and empty texts.
///
/// # Safety
/// `text` is null or terminated, and not changed meanwhile.
unsafe fn owned(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    Some(text).filter(|t| !t.is_empty())
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
    fn a_controller_tells_whether_it_trims() {
        let mut answer = vec![0; IDENTIFY_BYTES];
        assert!(!has_dataset_management(&answer) && !has_dataset_management(&answer[..100]));
        answer[520] = 0b1111_1011;
        assert!(!has_dataset_management(&answer));
        answer[520] = 0b100;
        assert!(has_dataset_management(&answer));
    }

    #[test]
    fn a_file_is_no_namespace_and_says_how_it_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = File::create(&path).unwrap();
        assert!(namespace_id(&file).is_err() && format(&file, 1).is_err() && takes_trims(&file).is_err());
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

#[cfg(test)]
mod tests_blkid {
    use super::*;

    #[test]
    fn a_missing_library_is_told_in_words() {
        let why = Blkid::load("libno-such-library.so.9").unwrap_err().to_string();
        assert!(why.starts_with("libno-such-library.so.9 cannot be used: "), "{why}");
    }
}

//! What device-mapper says of its devices: tables and states, by the ioctls on `/dev/mapper/control`.
//!
//! Source: the kernel's `include/uapi/linux/dm-ioctl.h`. Only root may ask.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `struct dm_ioctl`, which stands before the answer.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    rest: [u8; 7],
}

const HEAD_BYTES: usize = size_of::<Head>();
/// Bytes of `struct dm_target_spec`: first sector, length, result, where the next one begins, kind.
const SPEC_BYTES: usize = 40;
const KIND_BYTES: std::ops::Range<usize> = 24..40;

/// `DM_TABLE_STATUS`: `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: libc::Ioctl = libc::_IOWR::<Head>(0xfd, 12);
/// The table as it was loaded, not the state.
const DM_STATUS_TABLE_FLAG: u32 = 1 << 4;
const DM_BUFFER_FULL_FLAG: u32 = 1 << 8;
/// Nothing is written to answer.
const DM_NOFLUSH_FLAG: u32 = 1 << 11;
/// The first version of the interface that counts; the kernel takes older ones of the same number.
const VERSION: [u32; 3] = [4, 0, 0];

/// Enough for nearly every table; longer ones are asked for again.
const ANSWER_BYTES: [usize; 2] = [16 << 10, 1 << 20];

/// One part of a device, as its table has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MappedPart {
    pub start_sectors: u64,
    pub length_sectors: u64,
    /// What makes it: `linear`, `cache`, `thin`.
    pub kind: String,
    /// Its parameters, or its state.
    pub words: String,
}

/// What a device is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Table,
    State,
}

/// The device by which device-mapper is asked, open.
#[derive(Debug)]
pub struct Control(File);

impl Control {
    /// # Errors
    /// What the system says: there is no such device, or only root may ask.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Control)
    }

    /// The parts of a device. Nothing is written, and nothing waits for a device that is suspended.
    ///
    /// # Errors
    /// What `ioctl(2)` says.
    pub fn parts(&self, (major, minor): (u32, u32), asked: Asked) -> io::Result<Vec<MappedPart>> {
        let flags = match asked {
            Asked::Table => DM_STATUS_TABLE_FLAG | DM_NOFLUSH_FLAG,
            Asked::State => DM_NOFLUSH_FLAG,
        };
        for bytes in ANSWER_BYTES {
            let (head, answer) = self.ask(to_kernel(major, minor), flags, bytes)?;
            if head.flags & DM_BUFFER_FULL_FLAG == 0 {
                return Ok(parts(&answer, head.data_start as usize, head.target_count));
            }
        }
        Err(io::ErrorKind::FileTooLarge.into())
    }

    fn ask(&self, device: u64, flags: u32, bytes: usize) -> io::Result<(Head, Vec<u8>)> {
        // Words of eight bytes, so that the head stands where it may.
        let mut answer = vec![0u64; bytes / 8];
        let head = Head {
            version: VERSION,
            data_size: bytes as u32,
            data_start: HEAD_BYTES as u32,
            target_count: 0,
            open_count: 0,
            flags,
            event: 0,
            padding: 0,
            device,
            name: [0; 128],
            uuid: [0; 129],
            rest: [0; 7],
        };
        let place = answer.as_mut_ptr().cast::<Head>();
        // SAFETY: `answer` is aligned for `Head` and longer than it, and lives until the end of the block. The kernel
        // reads and writes `data_size` bytes at most from its beginning, which is its length; any bytes are a `Head`.
        let head = unsafe {
            place.write(head);
            if libc::ioctl(self.0.as_raw_fd(), DM_TABLE_STATUS, place) != 0 {
                return Err(io::Error::last_os_error());
            }
            place.read()
        };
        Ok((head, answer.iter().flat_map(|word| word.to_ne_bytes()).collect()))
    }
}

/// Numbers as the kernel's interface has them (`new_encode_dev`).
fn to_kernel(major: u32, minor: u32) -> u64 {
    u64::from((minor & 0xff) | (major << 8)) | (u64::from(minor & !0xff) << 12)
}

/// The parts in an answer. What does not fit into it is left out.
fn parts(answer: &[u8], data_start: usize, count: u32) -> Vec<MappedPart> {
    let mut found = Vec::new();
    let mut at = data_start;
    for _ in 0..count {
        let Some(spec) = answer.get(at..at.saturating_add(SPEC_BYTES)) else { break };
        let next = u32::from_ne_bytes([spec[20], spec[21], spec[22], spec[23]]) as usize;
        found.push(MappedPart {
            start_sectors: number_at(spec, 0),
            length_sectors: number_at(spec, 8),
            kind: text(&spec[KIND_BYTES]),
            words: text(&answer[at + SPEC_BYTES..]),
        });
        // Counted from where the parts begin.
        let after = data_start.saturating_add(next);
        if after <= at {
            break;
        }
        at = after;
    }
    found
}

/// The number of 64 bits at a place.
fn number_at(bytes: &[u8], from: usize) -> u64 {
    u64::from_ne_bytes(bytes[from..from + 8].try_into().unwrap_or_default())
}

/// What stands before the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_as_long_as_the_kernels() {
        assert_eq!((HEAD_BYTES, DM_TABLE_STATUS), (312, 0xc138_fd0c));
        assert_eq!(to_kernel(253, 2), 0xfd02);
        assert_eq!(to_kernel(253, 0x1234), 0x120_0000 | 0xfd34);
    }

    #[test]
    fn parts_of_an_answer() {
        let mut answer = vec![0u8; 16];
        let mut next = 0u32;
        for (start, length, kind, words) in
            [(0u64, 8u64, "linear", "253:0 0"), (8, 24, "cache", "8 1/2"), (32, 8, "error", "")]
        {
            let words_bytes = (words.len() + 1).next_multiple_of(8);
            next += (SPEC_BYTES + words_bytes) as u32;
            answer.extend(start.to_ne_bytes().into_iter().chain(length.to_ne_bytes()));
            answer.extend(0i32.to_ne_bytes().into_iter().chain(next.to_ne_bytes()));
            let mut padded = kind.as_bytes().to_vec();
            padded.resize(16, 0);
            answer.extend(padded);
            let mut padded = words.as_bytes().to_vec();
            padded.resize(words_bytes, 0);
            answer.extend(padded);
        }
        let found = parts(&answer, 16, 3);
        let told: Vec<String> = found
            .iter()
            .map(|part| {
                format!("{} {} {} {}", part.start_sectors, part.length_sectors, part.kind, part.words)
            })
            .collect();
        assert_eq!(told, ["0 8 linear 253:0 0", "8 24 cache 8 1/2", "32 8 error "]);
        // Answers that are cut or say nonsense end early.
        assert_eq!(parts(&answer[..70], 16, 3).len(), 1);
        assert_eq!(parts(&answer, 16, 9).len(), 3);
        assert_eq!(parts(&vec![0; 400], 0, 9).len(), 1);
        assert!(parts(&answer, 9999, 3).is_empty());
    }

    #[test]
    fn a_device_that_is_no_control_says_so() {
        let null = Control::open(Path::new("/dev/null")).expect("it is everywhere");
        assert!(null.parts((253, 0), Asked::State).is_err());
        assert!(Control::open(Path::new("/dev/mapper/not/there")).is_err());
    }
}

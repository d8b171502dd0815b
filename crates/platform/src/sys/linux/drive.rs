//! What a drive answers when it is asked for its own logs: NVMe by administrative commands, ATA and SCSI by SG_IO.
//! Every question here only reads.
//!
//! A command that is cancelled resets the drive's controller, so that none has a time limit of its own: the kernel's
//! holds (a minute), and whoever must not wait asks on a thread that can be left behind.
//!
//! Sources: the kernel's `include/uapi/linux/nvme_ioctl.h` and `include/scsi/sg.h`; NVM Express base specification
//! (Get Log Page, Identify); T10 SAT (ATA PASS-THROUGH (16)) and SPC (LOG SENSE); T13 ACS (CHECK POWER MODE, SMART READ
//! DATA, READ LOG EXT).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use super::device::{identify, nvme_admin};
use crate::sys::error::Code;

/// What a drive can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// NVMe: a structure of Identify (CNS), 4096 bytes.
    NvmeIdentify(u8),
    /// NVMe: the beginning of a log page of the controller.
    NvmeLog {
        /// Identifier of the page (LID).
        page: u8,
        /// Whose page it is, where several makers use the number: a place in the list of UUIDs; 0 for nobody's.
        uuid_index: u8,
        /// Bytes that are wanted, a multiple of 4.
        bytes: u16,
    },
    /// ATA: the power mode, one byte (the count register); wakes nothing up.
    AtaPowerMode,
    /// ATA: SMART READ DATA, 512 bytes.
    AtaSmartData,
    /// ATA: a page of a log (READ LOG EXT), 512 bytes.
    AtaLog { log: u8, page: u8 },
    /// SCSI: a log page with the values as they are now, up to 252 bytes.
    ScsiLog(u8),
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The system lets only others ask.
    NotPermitted,
    /// The kernel has no way to ask this device.
    NoInterface,
    /// The drive, or the way to it, refused.
    Refused,
}

impl Unanswered {
    /// What the system's error means for a question.
    pub fn of(error: &io::Error) -> Self {
        match Code::of(error) {
            Some(Code::ACCESS_DENIED | Code::NOT_PERMITTED) => Unanswered::NotPermitted,
            // ENOTTY, which the kernel says of all ioctls that a driver does not know.
            Some(code) if code.number() == libc::ENOTTY => Unanswered::NoInterface,
            Some(Code::NOT_SUPPORTED | Code::NOT_IMPLEMENTED) => Unanswered::NoInterface,
            _ => Unanswered::Refused,
        }
    }
}

/// Asks the drive behind an open block device.
///
/// # Errors
/// Why it does not tell.
pub fn ask(file: &File, question: Question) -> Result<Vec<u8>, Unanswered> {
    let answer = match question {
        Question::NvmeIdentify(what) => identify(file, 0, what.into()),
        Question::NvmeLog { page, uuid_index, bytes } => nvme_log(file, page, uuid_index, bytes),
        Question::AtaPowerMode => return ata_power_mode(file),
        Question::AtaSmartData => {
            // SMART READ DATA wants these two in the middle and the high byte of the address.
            let smart = Ata { command: 0xb0, features: 0xd0, count: 1, lba: [0, 0x4f, 0xc2], is_long: false };
            return scsi_read(file, &smart.cdb(FromDrive::Data), ATA_PAGE_BYTES);
        }
        Question::AtaLog { log, page } => {
            let read = Ata { command: 0x2f, features: 0, count: 1, lba: [log, page, 0], is_long: true };
            return scsi_read(file, &read.cdb(FromDrive::Data), ATA_PAGE_BYTES);
        }
        Question::ScsiLog(page) => {
            const CURRENT_VALUES: u8 = 1 << 6;
            let cdb = [0x4d, 0, CURRENT_VALUES | page, 0, 0, 0, 0, 0, SCSI_LOG_BYTES as u8, 0];
            return scsi_read(file, &cdb, SCSI_LOG_BYTES);
        }
    };
    answer.map_err(|error| Unanswered::of(&error))
}

const ATA_PAGE_BYTES: usize = 512;
const SCSI_LOG_BYTES: usize = 252;

fn nvme_log(file: &File, page: u8, uuid_index: u8, bytes: u16) -> io::Result<Vec<u8>> {
    const GET_LOG_PAGE: u8 = 0x02;
    /// Of the controller, not of one namespace.
    const ALL_NAMESPACES: u32 = u32::MAX;
    let mut answer = vec![0u8; bytes.into()];
    // The number of double words counts from 0.
    let dwords = u32::from(bytes) / 4 - 1;
    let command = [u32::from(page) | dwords << 16, 0, 0, 0, u32::from(uuid_index), 0];
    nvme_admin(file, GET_LOG_PAGE, ALL_NAMESPACES, command, &mut answer)?;
    Ok(answer)
}

/// A command of ATA, with the low bytes of its registers.
struct Ata {
    command: u8,
    features: u8,
    count: u8,
    lba: [u8; 3],
    /// It is one of those with 48 bits of address.
    is_long: bool,
}

/// What a command of ATA hands back.
#[derive(Clone, Copy, PartialEq)]
enum FromDrive {
    Registers,
    Data,
}

impl Ata {
    /// As the command of SCSI that carries it.
    fn cdb(&self, wanted: FromDrive) -> [u8; 16] {
        const NO_DATA: u8 = 3 << 1;
        const PIO_IN: u8 = 4 << 1;
        const TELL_REGISTERS: u8 = 1 << 5;
        const FROM_DRIVE: u8 = 1 << 3;
        /// The count register holds the length, in blocks.
        const LENGTH_IS_COUNT: u8 = 1 << 2 | 2;
        let (protocol, flags) = match wanted {
            FromDrive::Registers => (NO_DATA, TELL_REGISTERS | FROM_DRIVE),
            FromDrive::Data => (PIO_IN, FROM_DRIVE | LENGTH_IS_COUNT),
        };
        let mut cdb = [0; 16];
        cdb[..3].copy_from_slice(&[0x85, protocol | u8::from(self.is_long), flags]);
        (cdb[4], cdb[6]) = (self.features, self.count);
        [cdb[8], cdb[10], cdb[12]] = self.lba;
        cdb[14] = self.command;
        cdb
    }
}

fn ata_power_mode(file: &File) -> Result<Vec<u8>, Unanswered> {
    let check = Ata { command: 0xe5, features: 0, count: 0, lba: [0; 3], is_long: false };
    let reply = scsi(file, &check.cdb(FromDrive::Registers), &mut [])?;
    Ok(vec![count_register(&reply.sense).ok_or(Unanswered::Refused)?])
}

/// The count register in what a command of ATA left in the sense data, of either form.
fn count_register(sense: &[u8]) -> Option<u8> {
    const RETURNED_REGISTERS: u8 = 0x09;
    match sense.first()? & 0x7f {
        // Descriptors follow each other: their kind, their length, and what they hold.
        0x72 => {
            let mut at = 8;
            while *sense.get(at)? != RETURNED_REGISTERS {
                at += 2 + usize::from(*sense.get(at + 1)?);
            }
            sense.get(at + 5).copied()
        }
        // "ATA pass-through information available".
        0x70 if sense.get(12..14)? == [0, 0x1d] => sense.get(6).copied(),
        _ => None,
    }
}

/// Reads up to `bytes` with a command of SCSI.
fn scsi_read(file: &File, cdb: &[u8], bytes: usize) -> Result<Vec<u8>, Unanswered> {
    let mut answer = vec![0; bytes];
    let reply = scsi(file, cdb, &mut answer)?;
    if reply.status != 0 {
        return Err(Unanswered::Refused);
    }
    answer.truncate(reply.moved_bytes);
    Ok(answer)
}

struct Reply {
    /// Of SCSI: 0 is good, 2 says that sense data tell more.
    status: u8,
    sense: Vec<u8>,
    /// What came of the data.
    moved_bytes: usize,
}

/// A question of SG_IO and its answer: `struct sg_io_hdr` of `scsi/sg.h`.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    cdb_bytes: u8,
    sense_bytes_max: u8,
    vectors: u16,
    data_bytes: u32,
    data: *mut u8,
    cdb: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    residue: i32,
    duration_ms: u32,
    info: u32,
}

fn scsi(file: &File, cdb: &[u8], data: &mut [u8]) -> Result<Reply, Unanswered> {
    const SG_IO: libc::Ioctl = 0x2285;
    const FROM_DEVICE: i32 = -3;
    const NO_DATA: i32 = -1;
    let mut sense = vec![0u8; 64];
    let mut header = Header {
        interface: 'S' as i32,
        direction: if data.is_empty() { NO_DATA } else { FROM_DEVICE },
        cdb_bytes: cdb.len() as u8,
        sense_bytes_max: sense.len() as u8,
        vectors: 0,
        data_bytes: data.len() as u32,
        data: data.as_mut_ptr(),
        cdb: cdb.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: 0,
        flags: 0,
        id: 0,
        user: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_bytes: 0,
        host_status: 0,
        driver_status: 0,
        residue: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the ioctl reads the command, and writes data and sense of these lengths; all of them outlive the call.
    if unsafe { libc::ioctl(file.as_raw_fd(), SG_IO, &raw mut header) } != 0 {
        return Err(Unanswered::of(&io::Error::last_os_error()));
    }
    if header.host_status != 0 {
        return Err(Unanswered::Refused);
    }
    sense.truncate(header.sense_bytes.into());
    let missing_bytes = usize::try_from(header.residue).unwrap_or_default();
    Ok(Reply { status: header.status, sense, moved_bytes: data.len().saturating_sub(missing_bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_as_long_as_the_kernel_has_it() {
        assert_eq!(size_of::<Header>(), 88);
    }

    #[test]
    fn commands_of_ata_stand_where_sat_has_them() {
        let log = Ata { command: 0x2f, features: 0, count: 1, lba: [4, 5, 0], is_long: true };
        let cdb = [0x85, 0x09, 0x0e, 0, 0, 0, 1, 0, 4, 0, 5, 0, 0, 0, 0x2f, 0];
        assert_eq!(log.cdb(FromDrive::Data), cdb);
        let mode = Ata { command: 0xe5, features: 0, count: 0, lba: [0; 3], is_long: false };
        let cdb = [0x85, 0x06, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe5, 0];
        assert_eq!(mode.cdb(FromDrive::Registers), cdb);
    }

    #[test]
    fn the_count_register_is_found_in_sense_data_of_both_forms() {
        let mut described = vec![0x72, 1, 0, 0x1d, 0, 0, 0, 0];
        described.extend([0x00, 2, 0, 0]);
        described.extend([0x09, 12, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x50]);
        assert_eq!(count_register(&described), Some(0x80));
        assert_eq!(count_register(&described[..16]), None);
        let fixed = [0xf0, 0, 1, 0, 0x50, 0, 0xff, 10, 0, 0, 0, 0, 0, 0x1d];
        assert_eq!(count_register(&fixed), Some(0xff));
        // An illegal request, and nothing at all.
        assert_eq!(count_register(&[0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0]), None);
        assert_eq!(count_register(&[]), None);
    }

    #[test]
    fn a_file_is_no_drive() {
        let file = tempfile::tempfile().unwrap();
        let log = Question::NvmeLog { page: 2, uuid_index: 0, bytes: 512 };
        for question in [Question::NvmeIdentify(1), log, Question::AtaPowerMode, Question::ScsiLog(13)] {
            assert_eq!(ask(&file, question), Err(Unanswered::NoInterface), "{question:?}");
        }
        let denied = io::Error::from_raw_os_error(libc::EACCES);
        assert_eq!(Unanswered::of(&denied), Unanswered::NotPermitted);
        assert_eq!(Unanswered::of(&io::Error::other("status")), Unanswered::Refused);
    }
}

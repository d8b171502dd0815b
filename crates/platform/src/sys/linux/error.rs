//! What the system says about failed calls: names, texts without numbers, and likely causes of failed reads and
//! writes.

use std::io;

/// The system's text for `error`, without the number that the standard library appends, and without what crates
/// append to that: names of temporary files, which nobody has typed.
pub fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_string(),
        None => text,
    }
}

/// What the system said about a call, by name; the numbers differ between systems, and are told for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// The kernel's numbers go to 4095.
    number: i16,
    /// What an NVMe drive said, where it was asked without the block layer; 0 otherwise.
    nvme_status: u16,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:ident;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Code = Code::from_number(libc::$number);)*
        }
    };
}

codes! {
    /// Permission to the file is denied.
    ACCESS_DENIED = EACCES;
    /// Something is there already.
    ALREADY_EXISTS = EEXIST;
    /// Not now: a queue or a limit is full, or the call would wait.
    AGAIN = EAGAIN;
    /// The file is not open for that.
    BAD_FILE = EBADF;
    /// In use by somebody who shares with nobody.
    BUSY = EBUSY;
    /// Taken back before it was done, as by an io_uring that has no thread for it.
    CANCELED = ECANCELED;
    /// The integrity check failed (data and checksum do not agree).
    CHECKSUM = EILSEQ;
    /// The quota is used up.
    DISK_QUOTA = EDQUOT;
    /// It would become larger than a limit allows.
    FILE_TOO_LARGE = EFBIG;
    /// The host does not answer.
    HOST_DOWN = EHOSTDOWN;
    /// A signal came before anything was done.
    INTERRUPTED = EINTR;
    /// An argument is not legal there: an alignment, a size, a flag.
    INVALID = EINVAL;
    /// The device or a layer reported a failure.
    IO = EIO;
    /// It is a directory.
    IS_A_DIRECTORY = EISDIR;
    /// Symbolic links go round in a circle.
    LINK_LOOP = ELOOP;
    /// The path or a part of it is too long.
    NAME_TOO_LONG = ENAMETOOLONG;
    /// Nothing is there.
    NOT_FOUND = ENOENT;
    /// A part of the path is no directory.
    NOT_A_DIRECTORY = ENOTDIR;
    /// Nobody is connected.
    NOT_CONNECTED = ENOTCONN;
    /// The system does not have that call.
    NOT_IMPLEMENTED = ENOSYS;
    /// The directory is not empty.
    NOT_EMPTY = ENOTEMPTY;
    /// Forbidden, also to who may do much.
    NOT_PERMITTED = EPERM;
    /// The file system or device cannot do that.
    NOT_SUPPORTED = EOPNOTSUPP;
    /// The node exists, the device behind it does not answer.
    NO_ADDRESS = ENXIO;
    /// The medium does not give or take that place.
    NO_DATA = ENODATA;
    /// There is no such device.
    NO_DEVICE = ENODEV;
    /// The way to the device failed.
    NO_LINK = ENOLINK;
    /// The drive holds no medium.
    NO_MEDIUM = ENOMEDIUM;
    /// Another machine may use the device, this one only keeps its copy (DRBD).
    NOT_HERE = EMEDIUMTYPE;
    /// The file system, or the pool below it, is full.
    NO_SPACE = ENOSPC;
    /// A number does not fit.
    OVERFLOW = EOVERFLOW;
    /// The file system or device takes no writes.
    READ_ONLY = EROFS;
    /// The device itself failed.
    REMOTE_IO = EREMOTEIO;
    /// Another host reserved the device.
    RESERVED = EBADE;
    /// A program that runs, or active swap.
    RUNNING_PROGRAM = ETXTBSY;
    /// The server no longer knows the file.
    STALE = ESTALE;
    /// Nobody answered in time.
    TIMED_OUT = ETIMEDOUT;
    /// This process has too many files open.
    TOO_MANY_FILES = EMFILE;
    /// The system has too many files open.
    TOO_MANY_FILES_IN_SYSTEM = ENFILE;
}

impl Code {
    /// By the system's number.
    #[inline]
    pub const fn from_number(number: i32) -> Code {
        Code { number: number as i16, nvme_status: 0 }
    }

    /// By the status with which an NVMe drive completed a command: type and code (bits 0 to 10), retry and
    /// "do not retry" above. The number is the one that the kernel's block layer makes of it
    /// (`nvme_error_status` in its `drivers/nvme/host/core.c`), so that errors compare, whichever way the
    /// drive was asked.
    pub fn from_nvme_status(status: u16) -> Code {
        let status = status & nvme::TYPE_AND_CODE;
        Code { nvme_status: status, ..nvme::code_of(status) }
    }

    /// The system's number, for messages and documents.
    #[inline]
    pub const fn number(self) -> i32 {
        self.number as i32
    }

    /// Of an error that came from the system; `None` for those of libraries.
    pub fn of(error: &io::Error) -> Option<Code> {
        error.raw_os_error().map(Code::from_number)
    }

    /// Of the system call that just failed on this thread.
    #[inline]
    pub fn last() -> Code {
        Code::of(&io::Error::last_os_error()).unwrap_or(Code::IO)
    }

    /// The system's text, with what an NVMe drive said.
    pub fn text(self) -> String {
        let text = system_text(&self.into());
        match self.nvme_status {
            0 => text,
            status => format!("{text} ({})", nvme::words(status)),
        }
    }

    /// Likely cause of a failed read or write, and what to do next; `None` when the system's text says it.
    ///
    /// The kernel's block layer puts what a device reported into error numbers whose texts were written for other
    /// things (`blk_errors` in its `block/blk-core.c`).
    pub fn io_cause(self) -> Option<&'static str> {
        Some(match Code::from_number(self.number()) {
            Code::IO => "the device or a layer below it reported a failure; see the kernel log (dmesg)",
            Code::NO_DATA => "the device cannot read or write this place (medium error); see its SMART data",
            Code::NO_LINK => {
                "the connection to the device failed (transport error); check cables, paths and the network"
            }
            Code::REMOTE_IO => "the device itself failed (target error); see the kernel log (dmesg)",
            Code::RESERVED => "another host reserved the device (reservation conflict)",
            Code::CHECKSUM => "the integrity check failed: data and checksum do not agree (protection error)",
            Code::NO_DEVICE | Code::NO_ADDRESS => "the device is gone or offline",
            Code::TIMED_OUT => "the device did not answer in time; see the kernel log (dmesg)",
            Code::NO_SPACE => "the file system, or the pool of a thin device, is full",
            Code::READ_ONLY => "the file system or device became read-only, as after an earlier failure",
            Code::STALE => "the server no longer knows the file; remount or check the export",
            Code::FILE_TOO_LARGE => "the file would become larger than the file system or ulimit -f allows",
            // As io-wq says it of what it cannot give to a thread (`io_wq_enqueue` in the kernel's `io_uring/io-wq.c`).
            Code::CANCELED => {
                "the kernel could not start a thread for this I/O; raise the limit of processes (ulimit -u)"
            }
            Code::NOT_SUPPORTED => "the device, or the file system, has no such operation",
            Code::INVALID => "the device or file system does not accept I/Os of this size at this place",
            _ => return None,
        })
    }
}

impl From<Code> for io::Error {
    fn from(code: Code) -> io::Error {
        io::Error::from_raw_os_error(code.number())
    }
}

mod nvme {
    use super::Code;

    /// The part of a status that says what happened.
    pub(crate) const TYPE_AND_CODE: u16 = 0x7ff;

    /// Status, its name in the specification (NVM Express Base Specification and NVM Command Set
    /// Specification), and what the block layer makes of it.
    const KNOWN: [(u16, &str, Code); 27] = [
        (0x001, "Invalid Command Opcode", Code::NOT_SUPPORTED),
        (0x002, "Invalid Field in Command", Code::NOT_SUPPORTED),
        (0x004, "Data Transfer Error", Code::IO),
        (0x006, "Internal Error", Code::IO),
        (0x007, "Command Abort Requested", Code::IO),
        (0x00b, "Invalid Namespace or Format", Code::NOT_SUPPORTED),
        (0x013, "Data SGL Length Invalid", Code::IO),
        (0x020, "Namespace is Write Protected", Code::IO),
        (0x021, "Command Interrupted", Code::REMOTE_IO),
        (0x080, "LBA Out of Range", Code::REMOTE_IO),
        (0x081, "Capacity Exceeded", Code::NO_SPACE),
        (0x082, "Namespace Not Ready", Code::REMOTE_IO),
        (0x083, "Reservation Conflict", Code::RESERVED),
        (0x180, "Conflicting Attributes", Code::NOT_SUPPORTED),
        (0x181, "Invalid Protection Information", Code::CHECKSUM),
        (0x182, "Attempted Write to Read Only Range", Code::NO_DATA),
        (0x1bc, "Zone Invalid Write", Code::IO),
        (0x280, "Write Fault", Code::NO_DATA),
        (0x281, "Unrecovered Read Error", Code::NO_DATA),
        (0x282, "End-to-end Guard Check Error", Code::CHECKSUM),
        (0x283, "End-to-end Application Tag Check Error", Code::CHECKSUM),
        (0x284, "End-to-end Reference Tag Check Error", Code::CHECKSUM),
        (0x285, "Compare Failure", Code::NO_DATA),
        (0x286, "Access Denied", Code::NO_DATA),
        (0x287, "Deallocated or Unwritten Logical Block", Code::NO_DATA),
        (0x370, "Host Pathing Error", Code::NO_LINK),
        (0x371, "Command Aborted By Host", Code::IO),
    ];

    pub(crate) fn code_of(status: u16) -> Code {
        KNOWN.iter().find(|(known, ..)| *known == status).map_or(Code::IO, |(_, _, code)| *code)
    }

    /// For example: NVMe status 0x281, Unrecovered Read Error
    pub fn words(status: u16) -> String {
        match KNOWN.iter().find(|(known, ..)| *known == status) {
            Some((_, name, _)) => format!("NVMe status {status:#05x}, {name}"),
            None => format!("NVMe status {status:#05x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_drive_said_is_told_with_the_number_of_the_block_layer() {
        // Bit 14: do not retry.
        let media = Code::from_nvme_status(0x4281);
        assert_eq!(media.number(), libc::ENODATA);
        assert_eq!(media.text(), "No data available (NVMe status 0x281, Unrecovered Read Error)");
        assert!(media.io_cause().unwrap().contains("medium error"));
        let range = Code::from_nvme_status(0x80);
        assert!(range.text().ends_with("(NVMe status 0x080, LBA Out of Range)"), "{}", range.text());
        assert_ne!(range, Code::REMOTE_IO, "the drive said more than that");
        let unknown = Code::from_nvme_status(0x7ff);
        assert_eq!((unknown.number(), unknown.text().ends_with("(NVMe status 0x7ff)")), (libc::EIO, true));
    }

    #[test]
    fn error_texts_carry_no_number() {
        assert_eq!(Code::NOT_FOUND.text(), "No such file or directory");
        assert_eq!(system_text(&io::Error::other("plain words")), "plain words");
        let error = tempfile::NamedTempFile::new_in("/no/such/folder").expect_err("there is none");
        assert!(error.to_string().contains("(os error 2) at path"), "{error}");
        assert_eq!(system_text(&error), "No such file or directory");
    }

    #[test]
    fn causes_are_told_where_the_text_misleads() {
        assert_eq!(Code::NO_DATA.text(), "No data available");
        assert!(Code::NO_DATA.io_cause().unwrap().contains("medium error"));
        assert_eq!(Code::NOT_PERMITTED.io_cause(), None);
    }
}

//! The system's error texts without numbers, and likely causes of failed reads and writes.

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

/// The system's text for an errno value.
pub fn errno_text(errno: i32) -> String {
    system_text(&io::Error::from_raw_os_error(errno))
}

/// Likely cause of a failed read or write, and what to do next; `None` when the system's text says it.
///
/// The kernel's block layer puts what a device reported into error numbers whose texts were written for other
/// things (`blk_errors` in its `block/blk-core.c`).
pub fn io_cause(errno: i32) -> Option<&'static str> {
    Some(match errno {
        libc::EIO => "the device, or a layer below, reported a failure; the kernel log (dmesg) tells more",
        libc::ENODATA => "the device cannot read or write that place (medium error); see its SMART data",
        libc::ENOLINK => {
            "the way to the device failed (transport error); check cables, paths and the network"
        }
        libc::EREMOTEIO => "the device itself failed (target error); the kernel log (dmesg) tells more",
        libc::EBADE => "another host reserved the device (reservation conflict)",
        libc::EILSEQ => "the integrity check failed: data and checksum do not agree (protection error)",
        libc::ENODEV | libc::ENXIO => "the device is gone or offline",
        libc::ETIMEDOUT => "the device did not answer in time; the kernel log (dmesg) tells more",
        libc::ENOSPC => "the file system, or the pool behind a thin device, is full",
        libc::EROFS => "the file system or device became read-only, as after an earlier failure",
        libc::ESTALE => "the server no longer knows the file; remount or check the export",
        libc::EFBIG => "the file would become larger than the file system or ulimit -f allows",
        libc::EINVAL => "the device or file system does not take I/Os of this size at this place",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_carry_no_number() {
        assert_eq!(errno_text(libc::ENOENT), "No such file or directory");
        assert_eq!(system_text(&io::Error::other("plain words")), "plain words");
        let error = tempfile::NamedTempFile::new_in("/no/such/folder").expect_err("there is none");
        assert!(error.to_string().contains("(os error 2) at path"), "{error}");
        assert_eq!(system_text(&error), "No such file or directory");
    }

    #[test]
    fn causes_are_told_where_the_text_misleads() {
        assert_eq!(errno_text(libc::ENODATA), "No data available");
        assert!(io_cause(libc::ENODATA).unwrap().contains("medium error"));
        assert_eq!(io_cause(libc::EPERM), None);
    }
}

//! The system's words: error texts without numbers, paths and labels safe to print.

use std::io;
use std::path::Path;

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

/// `text` with control characters escaped: labels and names come from storage and may hold
/// anything, also terminal commands.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// A path for a message.
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// A file of one short line, trimmed; `None` when it is missing or unreadable.
pub(super) fn read_word(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_string())
}

/// A file that holds one number.
pub(super) fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_word(path)?.parse().ok()
}

/// A path as it can be pasted into a shell.
pub fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    match path.chars().all(is_plain) && !path.is_empty() {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

/// Words of a command line as they can be pasted into a shell.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
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

    #[test]
    fn control_characters_are_escaped_and_others_kept() {
        assert_eq!(printable("a\u{1b}[2Jö\n"), "a\\u{1b}[2Jö\\n");
    }
}

//! The system's words: error texts without numbers, paths and labels safe to print.

use std::io;
use std::path::Path;

/// The system's text for `error`, without the number that the standard library appends.
pub fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) if text.ends_with(')') => text[..at].to_string(),
        _ => text,
    }
}

/// The system's text for an errno value.
pub fn errno_text(errno: i32) -> String {
    system_text(&io::Error::from_raw_os_error(errno))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_carry_no_number() {
        assert_eq!(errno_text(libc::ENOENT), "No such file or directory");
        assert_eq!(system_text(&io::Error::other("plain words")), "plain words");
    }

    #[test]
    fn control_characters_are_escaped_and_others_kept() {
        assert_eq!(printable("a\u{1b}[2Jö\n"), "a\\u{1b}[2Jö\\n");
    }
}

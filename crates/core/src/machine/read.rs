//! Short files of procfs and sysfs.

use std::path::Path;

/// A file of one short line, trimmed; `None` when it is missing or unreadable.
pub fn read_word(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_string())
}

/// A file that holds one number.
pub fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_word(path)?.parse().ok()
}

//! Words that people read: made safe to print, and pasted into a shell.

use std::path::Path;

/// `text` with control characters escaped: labels and names come from storage and may hold
/// anything, also terminal commands.
pub fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// A path for a message.
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
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
    fn control_characters_are_escaped_and_others_kept() {
        assert_eq!(printable("a\u{1b}[2Jö\n"), "a\\u{1b}[2Jö\\n");
    }
}

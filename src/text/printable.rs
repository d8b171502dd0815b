//! Text from elsewhere that must not act on a terminal or look like other text.

use std::path::Path;

/// `text` with everything escaped that [`hides`]: labels and names come from storage and may hold anything, also
/// terminal commands.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// A path for a message.
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Control characters, characters that turn the direction of writing, and characters that take no room: text with
/// these shows something else than it holds. (Unicode's categories Cc, Cf, Zl and Zp, without the signs of Arabic,
/// Syriac and other scripts, which are seen.)
pub fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_others_kept() {
        assert_eq!(printable("a\u{1b}[2Jö\n"), "a\\u{1b}[2Jö\\n");
        assert_eq!(printable("漢字 e\u{301} \u{600} 😀"), "漢字 e\u{301} \u{600} 😀");
    }

    #[test]
    fn what_turns_or_hides_text_is_escaped() {
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert_eq!(printable("a\u{200b}\u{feff}\u{2028}"), "a\\u{200b}\\u{feff}\\u{2028}");
        assert!(['\u{200e}', '\u{200f}', '\u{61c}', '\u{e0041}'].into_iter().all(hides));
    }
}

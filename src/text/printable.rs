//! Text from elsewhere that must not act on a terminal or look like other text.

use std::borrow::Cow;
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

/// Colours that this program gives its own words.
pub const COLOURS: [&str; 4] = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"];

/// A whole text with line ends, tabs and [`COLOURS`], otherwise as [`printable`]. Everything passes through here on its way
/// to a terminal: words from outside that nobody thought of change nothing there.
pub fn printable_text(text: &str) -> Cow<'_, str> {
    let must_go = |c: char| hides(c) && !matches!(c, '\n' | '\t');
    if !text.contains(must_go) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let len = colour.map_or(c.len_utf8(), |colour| colour.len());
        if colour.is_none() && must_go(c) {
            out.extend(c.escape_default())
        } else {
            out.push_str(&rest[..len])
        }
        rest = &rest[len..];
    }
    Cow::Owned(out)
}

/// A path for a message.
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// A text as far as it fits into a sentence: so many characters, and dots where there are more.
pub fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
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
    fn of_a_whole_text_lines_and_our_colours_stay() {
        let plain = "verdict: \u{1b}[32mcertified\u{1b}[0m\n\tö\n";
        assert_eq!(printable_text(plain), plain);
        assert_eq!(
            printable_text("\u{1b}[31mx\u{1b}[0m\u{1b}[2J\u{9b}2J\r\u{202e}\n"),
            "\u{1b}[31mx\u{1b}[0m\\u{1b}[2J\\u{9b}2J\\r\\u{202e}\n"
        );
    }

    #[test]
    fn what_turns_or_hides_text_is_escaped() {
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert_eq!(printable("a\u{200b}\u{feff}\u{2028}"), "a\\u{200b}\\u{feff}\\u{2028}");
        assert!(['\u{200e}', '\u{200f}', '\u{61c}', '\u{e0041}'].into_iter().all(hides));
    }
}

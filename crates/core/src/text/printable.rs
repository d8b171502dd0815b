//! Text from elsewhere that must not act on a terminal or look like other text.

use std::borrow::Cow;
use std::fmt::Write;
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

/// A whole text with line ends, tabs and [`COLOURS`], otherwise as [`printable`]. Everything passes through
/// here on its way to a terminal: words from outside that nobody thought of change nothing there.
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

/// JSON whose strings are [`printable`]: how a document is read whose words are shown. All of its strings
/// pass here, so no place that shows one can forget it. What is no JSON comes back unchanged where it is
/// none.
pub fn printable_json(json: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(json) else { return Cow::Borrowed(json) };
    let mut out = String::new();
    let (mut at, mut copied, mut is_inside) = (0, 0, false);
    while let Some(c) = text[at..].chars().next() {
        let (hidden, length) = match c {
            '\\' if is_inside => escaped(&text[at..]),
            // Escaped or not, it can only stand for itself; line ends here are no JSON.
            c => (Some(c).filter(|c| is_inside && *c >= ' '), c.len_utf8()),
        };
        if let Some(hidden) = hidden.filter(|hidden| hides(*hidden)) {
            out.push_str(&text[copied..at]);
            // The backslash of the escape is one of the text.
            out.push('\\');
            out.extend(hidden.escape_default());
            copied = at + length;
        }
        is_inside ^= c == '"';
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out.into_bytes())
}

/// The character of an escape of JSON, if it is one that may hide, and the length of the escape.
fn escaped(text: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u16::from_str_radix(digits, 16).ok()
    };
    let second = text[1..].chars().next();
    match second {
        Some('b') => (Some('\u{8}'), 2),
        Some('f') => (Some('\u{c}'), 2),
        Some('n') => (Some('\n'), 2),
        Some('r') => (Some('\r'), 2),
        Some('t') => (Some('\t'), 2),
        Some('u') => {
            let units = [unit(0), unit(6)].into_iter().map_while(|unit| unit);
            match char::decode_utf16(units).next() {
                Some(Ok(c)) => (Some(c), 6 * c.len_utf16()),
                // Half of a pair: readers of JSON refuse it.
                _ => (None, 2),
            }
        }
        other => (None, 1 + other.map_or(0, char::len_utf8)),
    }
}

/// JSON with escapes for characters that hide something on a terminal. They can only stand in strings, where
/// readers take an escape for the character: nothing is changed by it.
pub fn visible_json(json: String) -> String {
    let must_go = |c: char| hides(c) && c != '\n';
    if !json.contains(must_go) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if !must_go(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
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
    fn strings_of_json_are_made_printable_and_nothing_else() {
        let shown = |json: &str| String::from_utf8(printable_json(json.as_bytes()).into_owned()).unwrap();
        for plain in
            ["{\n\t\"a\\\\n\": \"\\\"\\/ \\u0041 \\ud83d\\ude00 ö\"}\r\n", "\"\\", "\"\\u00", "\u{1b}", ""]
        {
            assert!(matches!(printable_json(plain.as_bytes()), Cow::Borrowed(_)), "{plain:?}");
        }
        assert_eq!(shown(r#"{"a\n": "\n\r\t\b\f"}"#), r#"{"a\\n": "\\n\\r\\t\\u{8}\\u{c}"}"#);
        assert_eq!(shown(r#"["\\\n", "\\n"]"#), r#"["\\\\n", "\\n"]"#);
        assert_eq!(
            shown(r#"["\u001B[32m", "\u009b", "\udb40\udc41"]"#),
            r#"["\\u{1b}[32m", "\\u{9b}", "\\u{e0041}"]"#
        );
        assert_eq!(shown("[\"\u{202e}x\u{7f}\"]"), "[\"\\\\u{202e}x\\\\u{7f}\"]");
        // Half pairs and raw control characters are no JSON, before and after.
        for broken in [r#"["\ud800"]"#, r#"["\ud800\u0041\n"]"#, "[\"\u{1b}\"]"] {
            serde_json::from_str::<serde_json::Value>(broken).unwrap_err();
            serde_json::from_str::<serde_json::Value>(&shown(broken)).unwrap_err();
        }
        assert_eq!(printable_json(b"\"\xff\\n\"").as_ref(), b"\"\xff\\n\"");
    }

    #[test]
    fn what_is_visible_is_the_same_json() {
        let json = "[\"a\u{9b}\u{202e}\u{e0041}\",\n \"\u{7f}\"]".to_string();
        let visible = visible_json(json.clone());
        assert_eq!(visible, "[\"a\\u009b\\u202e\\udb40\\udc41\",\n \"\\u007f\"]");
        let values = [json, visible].map(|json| serde_json::from_str::<serde_json::Value>(&json).unwrap());
        assert_eq!(values[0], values[1]);
    }

    #[test]
    fn what_turns_or_hides_text_is_escaped() {
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert_eq!(printable("a\u{200b}\u{feff}\u{2028}"), "a\\u{200b}\\u{feff}\\u{2028}");
        assert!(['\u{200e}', '\u{200f}', '\u{61c}', '\u{e0041}'].into_iter().all(hides));
    }
}

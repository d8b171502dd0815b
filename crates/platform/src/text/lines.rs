//! Lines of a limited width, lines of a shell, and the word that was probably meant.
//!
//! Lines of a shell are quoted and split by hand, not with `shell-words` (1.1) or `shlex` (1.3), which are alive and
//! cannot do this: both read `#` at the beginning of a word as a comment, and `#1` is DiskSpd's name of a disk.
//! Both quote characters that stand in usual options (`=`, `%`, `,`), which would change every printed line.
//!
//! Text from elsewhere that must not act on a terminal or look like other text.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Breaks text at blanks so that no line is wider than `columns`, unless a single word is. Line ends stay. A line takes
/// one blank less than stood there: lists whose members stand two blanks apart keep one at its end.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns)
        .break_words(false)
        .word_separator(WordSeparator::Custom(|line| Box::new(line.split_inclusive(' ').map(Word::from))))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).iter().map(|line| line.trim_start_matches(' ').to_string()).collect()
}

/// Words behind `lead`, further lines below the first word, all in `columns`; every line with its end.
pub fn hanging(lead: &str, words: &str, columns: usize) -> String {
    let width = columns_of(lead);
    let lines = wrap(words, columns.saturating_sub(width));
    let first = std::iter::once(lead.to_string()).chain(std::iter::repeat(" ".repeat(width)));
    first.zip(lines).map(|(lead, line)| format!("{lead}{line}\n")).collect()
}

/// The text with lines of no more than `columns`: what is broken at a blank goes on two columns further right
/// than its line began.
pub fn folded(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if columns_of(line.trim_end_matches('\n')) <= columns {
            out.push_str(line);
            continue;
        }
        let words = line.trim_end_matches('\n');
        let lead = words.len() - words.trim_start_matches(' ').len();
        // The first line has the lead, the others that and two blanks: so much less is left for words.
        let indent = (lead + 2).min(columns / 2);
        let mut lines = wrap(words.trim_start_matches(' '), columns.saturating_sub(indent)).into_iter();
        let first = lines.next().unwrap_or_default();
        out.push_str(&format!("{:lead$}{first}\n", ""));
        lines.for_each(|line| out.push_str(&format!("{:indent$}{line}\n", "")));
        if !line.ends_with('\n') {
            out.pop();
        }
    }
    out
}

/// The text, or as much of its end as fits into so many columns, behind an ellipsis.
pub fn end_of(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    let kept = fitting(text.chars().rev(), columns);
    std::iter::once('\u{2026}').chain(kept.into_iter().rev()).collect()
}

/// The text, or as much of its start as fits into so many columns, before an ellipsis.
pub fn start_of(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    let kept: String = fitting(text.chars(), columns).into_iter().collect();
    kept.trim_end().to_string() + "\u{2026}"
}

/// As many of the characters as fit beside an ellipsis.
fn fitting(chars: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut kept: Vec<char> = Vec::new();
    let mut left = columns.saturating_sub(1);
    for c in chars {
        let width = columns_of(c.encode_utf8(&mut [0; 4]));
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    kept
}

/// Microseconds as [`duration_ns`](super::duration_ns) writes them.
const MICROSECONDS: &str = " us";

/// The text with the sign of microseconds: `389 us` becomes `389 \u{b5}s`.
pub fn with_micro(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(MICROSECONDS) {
        let is_unit = before.ends_with(|c: char| c.is_ascii_digit())
            && !behind.starts_with(|c: char| c.is_alphanumeric());
        out.push_str(before);
        out.push_str(if is_unit { " \u{b5}s" } else { MICROSECONDS });
        rest = behind;
    }
    out + rest
}

/// The text for a terminal without UTF-8: the signs and bars of this program in ASCII.
pub fn as_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{b5}' => out.push('u'),
            '\u{b1}' => out.push_str("+-"),
            '\u{2026}' => out.push_str("..."),
            '\u{2588}' => out.push('#'),
            '\u{258c}'..='\u{258f}' | '\u{2589}'..='\u{258b}' => out.push('='),
            '\u{2581}'..='\u{2583}' => out.push('_'),
            '\u{2584}'..='\u{2587}' => out.push('='),
            other => out.push(other),
        }
    }
    out
}

/// Columns that a text takes on a terminal.
pub fn columns_of(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// A path as it can be pasted into a shell.
pub fn shell_word(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+:,@%=".contains(c));
    if is_plain && !path.is_empty() { path.to_string() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// Words of a command line as they can be pasted into a shell.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// The words of a document's command line as a person would type them: the program by its name, with its subcommand
/// (`truespd run` is one word of a document), and not by its path. What looks otherwise, as in a document that somebody
/// made up, is one quoted word.
pub fn program_line(words: &[String]) -> String {
    let Some((program, options)) = words.split_first() else { return String::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || [' ', '-', '_', '.'].contains(&c));
    let name = if is_plain { name.to_string() } else { shell_word(name) };
    [name, shell_line(options)].join(" ").trim_end().to_string()
}

/// Splits a line at blanks as a shell would, without its variables and patterns: quotes hold words together,
/// a backslash takes the next character as it is.
///
/// # Errors
/// The quote that has no end.
pub fn split_line(line: &str) -> Result<Vec<String>, char> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(open),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

/// The candidate nearest to what was typed, if it is near enough to be meant.
pub fn nearest<'c>(typed: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let typed: Vec<char> = typed.chars().collect();
    // One slip in three letters; a beginning may go on as it likes.
    let allowed = (typed.len() / 3).max(1);
    let distances = candidates.map(|candidate| {
        let letters: Vec<char> = candidate.chars().collect();
        let is_beginning = typed.len() >= 3 && letters.starts_with(&typed);
        (if is_beginning { 1 } else { distance(&typed, &letters) }, candidate)
    });
    let (distance, candidate) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(candidate)
}

/// Letters to add, to leave out, to change, or to swap with the next one (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    // Of the last two rows of the table, and the present one.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

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
    if !text.contains(hides_in_text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let len = colour.map_or(c.len_utf8(), |colour| colour.len());
        if colour.is_none() && hides_in_text(c) {
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
    let second = text[1..].chars().next();
    match second {
        Some('b') => (Some('\u{8}'), 2),
        Some('f') => (Some('\u{c}'), 2),
        Some('n') => (Some('\n'), 2),
        Some('r') => (Some('\r'), 2),
        Some('t') => (Some('\t'), 2),
        Some('u') => {
            let units = [0, 6].into_iter().map_while(|at| unit_at(text, at));
            match char::decode_utf16(units).next() {
                Some(Ok(c)) => (Some(c), 6 * c.len_utf16()),
                // Half of a pair: readers of JSON refuse it.
                _ => (None, 2),
            }
        }
        other => (None, 1 + other.map_or(0, char::len_utf8)),
    }
}

/// The UTF-16 unit of an escape of JSON.
fn unit_at(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

/// JSON with escapes for characters that hide something on a terminal. They can only stand in strings, where
/// readers take an escape for the character: nothing is changed by it.
pub fn visible_json(json: String) -> String {
    if !json.contains(hides_in_json) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if !hides_in_json(c) {
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

fn hides_in_text(c: char) -> bool {
    hides(c) && !matches!(c, '\n' | '\t')
}

fn hides_in_json(c: char) -> bool {
    hides(c) && c != '\n'
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
mod tests_of_ends {
    use super::*;

    #[test]
    fn wide_characters_take_their_columns() {
        assert_eq!(end_of("\u{6f22}\u{5b57}", 3), "\u{2026}\u{5b57}");
        assert_eq!(end_of("\u{6f22}\u{5b57}", 4), "\u{6f22}\u{5b57}");
        assert_eq!(end_of("\u{6f22}\u{5b57}", 2), "\u{2026}");
        assert_eq!(start_of("\u{6f22}\u{5b57}", 3), "\u{6f22}\u{2026}");
        assert_eq!(
            (start_of("one two", 5), end_of("one two", 4)),
            ("one\u{2026}".into(), "\u{2026}two".into())
        );
    }

    #[test]
    fn microseconds_are_written_with_their_sign() {
        assert_eq!(
            with_micro("389 us, 12 usual uses; p99 1.2 us"),
            "389 \u{b5}s, 12 usual uses; p99 1.2 \u{b5}s"
        );
        assert_eq!(with_micro("usb us 1us"), "usb us 1us");
    }

    #[test]
    fn other_terminals_get_what_they_can_show() {
        assert_eq!(as_ascii("5 \u{b5}s \u{b1}1 % \u{2588}\u{2588}\u{258c} a\u{2026}"), "5 us +-1 % ##= a...");
        assert_eq!(as_ascii("\u{e9}"), "\u{e9}", "what is no sign of ours stays");
    }
}

#[cfg(test)]
mod tests_of_wrap {
    use super::*;

    #[test]
    fn text_is_wrapped_at_blanks() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("abcdefgh i", 5), ["abcdefgh", "i"]);
        assert_eq!(wrap("a-b/c-d e", 4), ["a-b/c-d", "e"]);
        assert_eq!(wrap("漢字 漢字", 8), ["漢字", "漢字"]);
        assert_eq!(wrap("aa  bb  cc", 6), ["aa  bb", "cc"]);
        assert_eq!(wrap("aa  bb  cc", 7), ["aa  bb ", "cc"]);
        assert_eq!(wrap("\n\nAdvice: b.\n", 7), ["", "", "Advice:", "b.", ""]);
        assert_eq!(wrap("aa", 0), ["aa"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn long_lines_are_folded_and_others_stay() {
        let text = "short\nWARNING: one two three four\n    a bb ccc dddd\n\n";
        assert_eq!(folded(text, 16), "short\nWARNING: one\n  two three four\n    a bb ccc\n      dddd\n\n");
        assert_eq!(folded(text, 80), text);
        assert_eq!(folded("one two three", 8), "one\n  two\n  three", "no line end, none added");
        let painted = "verdict: \u{1b}[33msuspect\u{1b}[0m: so it is";
        assert_eq!(
            folded(painted, 24),
            "verdict: \u{1b}[33msuspect\u{1b}[0m: so\n  it is",
            "colours take no room"
        );
        assert_eq!(
            folded("/a/very/long/path/without/blanks is", 10),
            "/a/very/long/path/without/blanks\n  is"
        );
    }

    #[test]
    fn further_lines_stand_below_the_first_word() {
        assert_eq!(hanging("  - ", "aa bb cc", 9), "  - aa bb\n    cc\n");
        assert_eq!(hanging("name  ", "", 9), "name  \n");
        assert_eq!(hanging("漢字 ", "a b", 6), "漢字 a\n     b\n");
    }
}

#[cfg(test)]
mod tests_of_shell {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split_line(line).unwrap()
    }

    #[test]
    fn a_line_can_be_typed_again() {
        let line = |all: &[&str]| program_line(&all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(line(&["/opt/bin/truespd run", "-b4K", "a b"]), "truespd run -b4K 'a b'");
        assert_eq!(line(&["diskspd"]), "diskspd");
        assert_eq!(line(&["x; rm -r *", "-b4K"]), "'x; rm -r *' -b4K");
        assert_eq!(line(&[]), "");
    }

    #[test]
    fn lines_are_split_as_a_shell_does() {
        assert_eq!(words("  -b4K\t'a b'  \"c'd\" e\\ f '' "), ["-b4K", "a b", "c'd", "e f", ""]);
        assert_eq!(words("x'y'z \"a\\\"b\" 'c\\d'"), ["xyz", "a\"b", "c\\d"]);
        assert!(words("").is_empty());
        assert_eq!(split_line("a 'b"), Err('\''));
    }

    #[test]
    fn disks_are_no_comments_and_options_stay_plain() {
        assert_eq!(words("-w30 #1 #2"), ["-w30", "#1", "#2"]);
        let line = ["-ag0,1".to_string(), "a b".into(), "it's".into(), "#1".into(), String::new()];
        assert_eq!(shell_line(&line), "-ag0,1 'a b' 'it'\\''s' '#1' ''");
        assert_eq!(words(&shell_line(&line)), line);
    }
}

#[cfg(test)]
mod tests_of_near {
    use super::*;

    const WORDS: [&str; 6] = ["overwrite", "verdict", "json", "xml", "recreate", "require"];

    fn near(typed: &str) -> Option<&'static str> {
        nearest(typed, WORDS.into_iter())
    }

    #[test]
    fn slips_of_the_finger_are_seen() {
        for (typed, meant) in [
            ("overwirte", "overwrite"),
            ("over", "overwrite"),
            ("verdit", "verdict"),
            ("jsn", "json"),
            ("josn", "json"),
            ("rqeuire", "require"),
            ("xml", "xml"),
        ] {
            assert_eq!(near(typed), Some(meant), "{typed}");
        }
    }

    #[test]
    fn other_words_are_not() {
        for typed in ["", "o", "rw", "filename", "direct", "runtime"] {
            assert_eq!(near(typed), None, "{typed}");
        }
        assert_eq!(nearest("json", std::iter::empty()), None);
    }

    #[test]
    fn a_distance_counts_slips() {
        let of = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(
            (of("", ""), of("a", ""), of("", "ab"), of("ab", "ba"), of("abc", "abd")),
            (0, 1, 2, 1, 1)
        );
        assert_eq!(of("kitten", "sitting"), 3);
    }
}

#[cfg(test)]
mod tests_printable {
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

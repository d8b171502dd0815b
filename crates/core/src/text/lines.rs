//! Lines of a limited width, lines of a shell, and the word that was probably meant.
//!
//! Lines of a shell are quoted and split by hand, not with `shell-words` (1.1) or `shlex` (1.3), which are alive and
//! cannot
//! do this: both read `#` at the beginning of a word as a comment, and `#1` is DiskSpd's name of a disk. Both quote
//! characters that stand in usual options (`=`, `%`, `,`), which would change every printed line.

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

/// Columns that a text takes on a terminal.
pub fn columns_of(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// A path as it can be pasted into a shell.
pub fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if path.chars().all(is_plain) && !path.is_empty() {
        path.to_string()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
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
    let distance_to = |candidate: &'c str| {
        let letters: Vec<char> = candidate.chars().collect();
        let is_beginning = typed.len() >= 3 && letters.starts_with(&typed);
        let distance = if is_beginning { 1 } else { distance(&typed, &letters) };
        (distance, candidate)
    };
    let (distance, candidate) = candidates.map(distance_to).min_by_key(|(distance, _)| *distance)?;
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

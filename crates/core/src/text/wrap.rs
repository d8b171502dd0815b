//! Lines of a limited width.

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

#[cfg(test)]
mod tests {
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

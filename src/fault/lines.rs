//! A fault as standard error shows it: complete lines that begin with `ERROR: `. Where the typed arguments are known, a mark
//! points at the wrong one.

use std::fmt;
use std::ops::Range;

use crate::fault::{Failure, Fault, Mark, Refusal, Refusals, Typed};
use crate::text::{columns_of, hanging, hides, printable};

/// Columns that the quoted command line may take.
const LINE_COLUMNS: usize = 92;
/// Columns kept before the mark when the line is cut.
const LEAD_COLUMNS: usize = 36;
/// Columns of wrapped text.
const TEXT_COLUMNS: usize = 100;
/// Columns of a list of reasons and of the hints below it.
const REASON_COLUMNS: usize = 80;

/// Columns of text below a headline.
const HEADED_COLUMNS: usize = 99;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Refused(refusals) | Fault::RefusedLater(refusals) => refusals.fmt(f),
            Fault::Failed(failures) => failures.iter().try_for_each(|failure| write_failure(f, failure)),
        }
    }
}

fn write_failure(f: &mut fmt::Formatter<'_>, failure: &Failure) -> fmt::Result {
    writeln!(f, "ERROR: {}", printable(&failure.to_string()))
}

impl fmt::Display for Refusals {
    /// Ends with a line end. Without the typed arguments each refusal is one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, refusal) in self.all.iter().enumerate() {
            match &self.typed {
                None => writeln!(f, "ERROR: {}", printable(&refusal.to_string()))?,
                Some(typed) => {
                    if i > 0 {
                        writeln!(f)?;
                    }
                    write_marked(f, refusal, typed)?;
                }
            }
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "WARNING: {}", printable(warning)))
    }
}

fn write_marked(f: &mut fmt::Formatter<'_>, refusal: &Refusal, typed: &Typed) -> fmt::Result {
    // A list is easier to read when no terminal breaks its lines.
    let columns = match &refusal.headline {
        Some(_) => HEADED_COLUMNS,
        None if refusal.reasons.is_empty() => TEXT_COLUMNS,
        None => REASON_COLUMNS,
    };
    refusal.headline.iter().try_for_each(|headline| writeln!(f, "ERROR: {}", printable(headline)))?;
    write_message(f, refusal)?;
    if !refusal.marks.is_empty() {
        let (line, marks) = marked_line(typed, &refusal.marks);
        writeln!(f, "    {line}\n    {marks}")?;
    }
    write_reasons(f, &refusal.reasons)?;
    write_block(f, "  legal: ", refusal.legal.iter(), columns)?;
    write_block(f, "  hint:  ", refusal.all_hints(), columns)
}

/// One line; above a list of reasons it is broken to the width of that list.
fn write_message(f: &mut fmt::Formatter<'_>, refusal: &Refusal) -> fmt::Result {
    const LEAD: &str = "ERROR: ";
    let message = printable(&refusal.message);
    if refusal.reasons.is_empty() {
        return writeln!(f, "{LEAD}{message}");
    }
    f.write_str(&hanging(LEAD, &message, REASON_COLUMNS))
}

fn write_reasons(f: &mut fmt::Formatter<'_>, reasons: &[String]) -> fmt::Result {
    for (i, reason) in reasons.iter().enumerate() {
        f.write_str(&hanging(&format!("  {:>2}. ", i + 1), &printable(reason), REASON_COLUMNS))?;
    }
    Ok(())
}

fn write_block<'t>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    texts: impl Iterator<Item = &'t String>,
    columns: usize,
) -> fmt::Result {
    for text in texts {
        f.write_str(&hanging(title, &printable(text), columns))?;
    }
    Ok(())
}

/// A character of the quoted line: what is shown, how wide, and the mark under it.
struct Cell {
    text: String,
    columns: usize,
    mark: char,
}

impl Cell {
    fn new(c: char) -> Self {
        let text: String = if hides(c) { c.escape_default().collect() } else { c.to_string() };
        let columns = columns_of(&text);
        Cell { text, columns, mark: ' ' }
    }
}

/// The command line and the line of marks below it, cut to a window around the culprit.
fn marked_line(typed: &Typed, marks: &[Mark]) -> (String, String) {
    let Typed { program, arguments } = typed;
    let mut cells: Vec<Cell> = program.chars().map(Cell::new).collect();
    let mut starts = Vec::with_capacity(arguments.len());
    for word in arguments {
        cells.push(Cell::new(' '));
        let quote = quote_of(word);
        cells.extend(quote.map(Cell::new));
        starts.push(cells.len());
        cells.extend(word.chars().map(Cell::new));
        cells.extend(quote.map(Cell::new));
    }
    // The blank after each argument, also the last, is where a missing value is marked; the one after that
    // is where a missing argument is.
    cells.extend([Cell::new(' '), Cell::new(' ')]);
    let ordered = marks.iter().filter(|m| !m.main).chain(marks.iter().filter(|m| m.main));
    for mark in ordered {
        let Some(start) = starts.get(mark.word) else { continue };
        let end = mark.chars.end.max(mark.chars.start + 1);
        for cell in cells.iter_mut().take(start + end).skip(start + mark.chars.start) {
            cell.mark = if mark.main { '^' } else { '~' };
        }
    }
    draw(&cells, &window(&cells))
}

/// The quotes around an argument that needs them, as one would type it.
fn quote_of(word: &str) -> Option<char> {
    let needs = word.is_empty()
        || word
            .chars()
            .any(|c| c.is_whitespace() || matches!(c, '#' | '*' | '?' | '&' | ';' | '|' | '<' | '>' | '$'));
    needs.then_some(if word.contains('\'') { '"' } else { '\'' })
}

/// The cells to show: all of them, or as many as fit around the first mark.
fn window(cells: &[Cell]) -> Range<usize> {
    let total: usize = cells.iter().map(|cell| cell.columns).sum();
    if total <= LINE_COLUMNS {
        return 0..cells.len();
    }
    let culprit = cells.iter().position(|cell| cell.mark == '^').unwrap_or(0);
    let mut start = culprit;
    let mut lead = 0;
    while start > 0 && lead + cells[start - 1].columns <= LEAD_COLUMNS {
        start -= 1;
        lead += cells[start].columns;
    }
    let mut end = start;
    let mut columns = 0;
    while end < cells.len() && columns + cells[end].columns <= LINE_COLUMNS - 2 {
        columns += cells[end].columns;
        end += 1;
    }
    start..end
}

fn draw(cells: &[Cell], shown: &Range<usize>) -> (String, String) {
    let (mut line, mut marks) = (String::new(), String::new());
    if shown.start > 0 {
        line.push('\u{2026}');
        marks.push(' ');
    }
    for cell in &cells[shown.clone()] {
        line.push_str(&cell.text);
        marks.extend(std::iter::repeat_n(cell.mark, cell.columns));
    }
    if shown.end < cells.len() {
        line.push('\u{2026}');
    }
    (line.trim_end().to_string(), marks.trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(program: &str, words: &[&str]) -> Typed {
        Typed { program: program.into(), arguments: words.iter().map(|w| w.to_string()).collect() }
    }

    fn mark(word: usize, chars: Range<usize>) -> Mark {
        Mark { word, chars, main: true }
    }

    #[test]
    fn the_mark_stands_under_the_character() {
        let (line, marks) = marked_line(&typed("diskspd", &["-b4KB", "f"]), &[mark(0, 4..5)]);
        assert_eq!(line, "diskspd -b4KB f");
        assert_eq!(marks, "            ^");
    }

    #[test]
    fn a_missing_value_is_marked_behind_the_word() {
        let (line, marks) = marked_line(&typed("d", &["f", "-b"]), &[mark(1, 2..2)]);
        assert_eq!((line.as_str(), marks.as_str()), ("d f -b", "      ^"));
        let (line, marks) = marked_line(&typed("d", &["-b", "f"]), &[mark(0, 2..2)]);
        assert_eq!((line.as_str(), marks.as_str()), ("d -b f", "    ^"));
        let (line, marks) = marked_line(&typed("d", &["-b"]), &[mark(0, 3..3)]);
        assert_eq!((line.as_str(), marks.as_str()), ("d -b", "     ^"));
    }

    #[test]
    fn wide_and_combining_characters_keep_the_columns() {
        let (line, marks) = marked_line(&typed("d", &["\u{6f22}\u{5b57}e\u{301}", "-x"]), &[mark(1, 0..2)]);
        assert_eq!(line, "d \u{6f22}\u{5b57}e\u{301} -x");
        assert_eq!(marks, format!("{}^^", " ".repeat(2 + 4 + 1 + 1)));
    }

    #[test]
    fn words_with_blanks_are_quoted_and_control_characters_escaped() {
        let (line, marks) = marked_line(&typed("d", &["a b", "", "-\u{1b}[2J"]), &[mark(2, 1..2)]);
        assert_eq!(line, "d 'a b' '' -\\u{1b}[2J");
        assert_eq!(marks, format!("{}^^^^^^", " ".repeat(12)));
    }

    #[test]
    fn a_long_line_shows_a_window_around_the_culprit() {
        let mut words: Vec<String> = (0..60).map(|i| format!("-option{i}")).collect();
        words[30] = "-wrong".to_string();
        let (line, marks) =
            marked_line(&Typed { program: "diskspd".into(), arguments: words }, &[mark(30, 0..6)]);
        assert!(columns_of(&line) <= LINE_COLUMNS, "{line}");
        assert!(line.starts_with('\u{2026}') && line.ends_with('\u{2026}'));
        let column = marks.find('^').expect("the mark is in view");
        let under: String = line.chars().skip(column).take(6).collect();
        assert_eq!(under, "-wrong");
    }

    #[test]
    fn marks_beyond_the_word_or_the_line_do_no_harm() {
        let (_, marks) = marked_line(&typed("d", &["f"]), &[mark(0, 90..99), mark(7, 0..1)]);
        assert_eq!(marks, "");
    }
}

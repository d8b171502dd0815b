//! A fault as standard error shows it: complete lines that begin with `ERROR: `. Where the typed arguments
//! are known, a mark points at the wrong one.

use std::fmt;
use std::ops::Range;

use crate::fault::{Caret, Fault, Refusal, Refusals, Typed};
use crate::text::{columns_of, hanging, hides, printable};

/// Reasons that are shown when there are more: who corrects these sees the next ones.
const REFUSALS_SHOWN: usize = 10;
/// Columns that the quoted command line may take.
const LINE_COLUMNS: usize = 92;
/// Columns kept before the mark when the line is cut.
const LEAD_COLUMNS: usize = 36;
const TEXT_COLUMNS: usize = 100;
/// Columns of a list of reasons and of the hints below it.
const REASON_COLUMNS: usize = 80;

/// Columns of text below a headline.
const HEADED_COLUMNS: usize = 99;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(None))
    }
}

impl fmt::Display for Refusals {
    /// Ends with a line end. Without the typed arguments each refusal is one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Page::of(None).refusals(self))
    }
}

impl Fault {
    /// Its lines, each with its end; on a terminal of so many columns none is wider where words allow.
    pub fn shown(&self, columns: Option<usize>) -> String {
        let page = Page::of(columns);
        match self {
            Fault::Refused(refusals) | Fault::RefusedLater(refusals) => page.refusals(refusals),
            Fault::Failed(failures) => {
                failures.iter().map(|failure| page.line("ERROR: ", &failure.to_string())).collect()
            }
        }
    }
}

/// What the lines are written on.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// Columns of the terminal; none for what programs may read, where a message is a line.
    columns: Option<usize>,
}

impl Page {
    fn of(columns: Option<usize>) -> Self {
        Page { columns }
    }

    /// So many columns, or less on a narrow terminal.
    fn at_most(self, usual: usize) -> usize {
        self.columns.map_or(usual, |columns| columns.min(usual))
    }

    /// A message: one line, unless it is on a terminal.
    fn line(self, lead: &str, words: &str) -> String {
        let words = printable(words);
        match self.columns {
            Some(columns) => hanging(lead, &words, columns),
            None => format!("{lead}{words}\n"),
        }
    }

    fn refusals(self, refusals: &Refusals) -> String {
        let mut text = String::new();
        // A reason for another exit code than that of all is no reason for this one.
        let kind = refusals.kind();
        let (first, later): (Vec<_>, Vec<_>) = refusals.all.iter().partition(|refusal| refusal.kind == kind);
        let is_long = refusals.all.len() > REFUSALS_SHOWN;
        let shown: Vec<&Refusal> = if is_long {
            first.into_iter().chain(later).take(REFUSALS_SHOWN).collect()
        } else {
            refusals.all.iter().collect()
        };
        for (i, refusal) in shown.into_iter().enumerate() {
            match &refusals.typed {
                None => text.push_str(&self.line("ERROR: ", &refusal.to_string())),
                Some(typed) => {
                    if i > 0 {
                        text.push('\n');
                    }
                    text.push_str(&self.marked(refusal, typed));
                }
            }
        }
        if is_long {
            let more = refusals.all.len() - REFUSALS_SHOWN;
            text.push_str(&self.line("ERROR: ", &format!("and {more} more reasons")));
        }
        refusals.warnings.iter().for_each(|warning| text.push_str(&self.line("WARNING: ", warning)));
        text
    }

    fn marked(self, refusal: &Refusal, typed: &Typed) -> String {
        // A list is easier to read when no terminal breaks its lines.
        let columns = match &refusal.headline {
            Some(_) => HEADED_COLUMNS,
            None if refusal.reasons.is_empty() => TEXT_COLUMNS,
            None => REASON_COLUMNS,
        };
        let columns = self.at_most(columns);
        let headlines = refusal.headline.iter().map(|headline| self.line("ERROR: ", headline));
        let mut text: String = headlines.collect();
        text.push_str(&self.message(refusal));
        if !refusal.marks.is_empty() {
            let (line, marks) = marked_line(typed, &refusal.marks, self.at_most(LINE_COLUMNS + 4) - 4);
            text.push_str(&format!("    {line}\n    {marks}\n"));
        }
        for (i, reason) in refusal.reasons.iter().enumerate() {
            let lead = format!("  {:>2}. ", i + 1);
            text.push_str(&hanging(&lead, &printable(reason), self.at_most(REASON_COLUMNS)));
        }
        let legal = refusal.legal.iter().map(|words| ("  legal: ", words));
        for (title, words) in legal.chain(refusal.all_hints().map(|words| ("  hint:  ", words))) {
            text.push_str(&hanging(title, &printable(words), columns));
        }
        text
    }

    /// One line; above a list of reasons it is broken to the width of that list.
    fn message(self, refusal: &Refusal) -> String {
        const LEAD: &str = "ERROR: ";
        if refusal.reasons.is_empty() {
            self.line(LEAD, &refusal.message)
        } else {
            hanging(LEAD, &printable(&refusal.message), self.at_most(REASON_COLUMNS))
        }
    }
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
        Cell::shown(&text)
    }

    fn shown(text: &str) -> Self {
        Cell { text: text.to_string(), columns: columns_of(text), mark: ' ' }
    }
}

/// The command line and the line of marks below it, cut to a window of so many columns around the culprit.
fn marked_line(typed: &Typed, marks: &[Caret], columns: usize) -> (String, String) {
    let Typed { program, arguments } = typed;
    let mut cells: Vec<Cell> = program.chars().map(Cell::new).collect();
    let mut starts = Vec::with_capacity(arguments.len());
    for word in arguments {
        cells.push(Cell::new(' '));
        let is_quoted = needs_quotes(word);
        cells.extend(is_quoted.then(|| Cell::new('\'')));
        starts.push(cells.len());
        // Inside single quotes a shell changes nothing. A quote of the word itself stands between two pairs of them.
        cells.extend(word.chars().map(|c| match c {
            '\'' if is_quoted => Cell::shown("'\\''"),
            c => Cell::new(c),
        }));
        cells.extend(is_quoted.then(|| Cell::new('\'')));
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
    draw(&cells, &window(&cells, columns))
}

/// A shell would not take the argument as it is.
fn needs_quotes(word: &str) -> bool {
    const OF_SHELLS: &str = "#*?&;|<>$`'\"\\(){}[]~!^";
    word.is_empty() || word.chars().any(|c| c.is_whitespace() || OF_SHELLS.contains(c))
}

/// The cells to show: all of them, or as many as fit around the first mark.
fn window(cells: &[Cell], columns: usize) -> Range<usize> {
    let total: usize = cells.iter().map(|cell| cell.columns).sum();
    if total <= columns {
        return 0..cells.len();
    }
    let lead_columns = LEAD_COLUMNS.min(columns * 2 / 5);
    let culprit = cells.iter().position(|cell| cell.mark == '^').unwrap_or(0);
    let mut start = culprit;
    let mut lead = 0;
    while start > 0 && lead + cells[start - 1].columns <= lead_columns {
        start -= 1;
        lead += cells[start].columns;
    }
    let mut end = start;
    let mut taken = 0;
    while end < cells.len() && taken + cells[end].columns <= columns.saturating_sub(2) {
        taken += cells[end].columns;
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
    use crate::fault::{Failure, FailureKind};

    fn typed(program: &str, words: &[&str]) -> Typed {
        Typed { program: program.into(), arguments: words.iter().map(|w| w.to_string()).collect() }
    }

    fn mark(word: usize, chars: Range<usize>) -> Caret {
        Caret { word, chars, main: true }
    }

    #[test]
    fn a_line_that_is_pasted_runs_nothing_else() {
        for word in
            ["it's $(touch x)", "a`touch x`b", "a\"$(touch x)\"b", "back\\slash", "'", "~root", "a{1,2}b"]
        {
            let (line, _) = marked_line(&typed("printf", &["%s", word]), &[], 1000);
            let said = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word, "{line}");
        }
        let (line, marks) = marked_line(&typed("d", &["it's", "f"]), &[mark(0, 3..4)], LINE_COLUMNS);
        assert_eq!((line.as_str(), marks.as_str()), ("d 'it'\\''s' f", "         ^"));
    }

    #[test]
    fn the_mark_stands_under_the_character() {
        let (line, marks) = marked_line(&typed("diskspd", &["-b4KB", "f"]), &[mark(0, 4..5)], LINE_COLUMNS);
        assert_eq!(line, "diskspd -b4KB f");
        assert_eq!(marks, "            ^");
    }

    #[test]
    fn a_missing_value_is_marked_behind_the_word() {
        let (line, marks) = marked_line(&typed("d", &["f", "-b"]), &[mark(1, 2..2)], LINE_COLUMNS);
        assert_eq!((line.as_str(), marks.as_str()), ("d f -b", "      ^"));
        let (line, marks) = marked_line(&typed("d", &["-b", "f"]), &[mark(0, 2..2)], LINE_COLUMNS);
        assert_eq!((line.as_str(), marks.as_str()), ("d -b f", "    ^"));
        let (line, marks) = marked_line(&typed("d", &["-b"]), &[mark(0, 3..3)], LINE_COLUMNS);
        assert_eq!((line.as_str(), marks.as_str()), ("d -b", "     ^"));
    }

    #[test]
    fn wide_and_combining_characters_keep_the_columns() {
        let (line, marks) =
            marked_line(&typed("d", &["\u{6f22}\u{5b57}e\u{301}", "-x"]), &[mark(1, 0..2)], LINE_COLUMNS);
        assert_eq!(line, "d \u{6f22}\u{5b57}e\u{301} -x");
        assert_eq!(marks, format!("{}^^", " ".repeat(2 + 4 + 1 + 1)));
    }

    #[test]
    fn words_with_blanks_are_quoted_and_control_characters_escaped() {
        let (line, marks) =
            marked_line(&typed("d", &["a b", "", "-\u{1b}[2J"]), &[mark(2, 1..2)], LINE_COLUMNS);
        assert_eq!(line, "d 'a b' '' '-\\u{1b}[2J'");
        assert_eq!(marks, format!("{}^^^^^^", " ".repeat(13)));
    }

    #[test]
    fn a_long_line_shows_a_window_around_the_culprit() {
        let mut words: Vec<String> = (0..60).map(|i| format!("-option{i}")).collect();
        words[30] = "-wrong".to_string();
        let (line, marks) = marked_line(
            &Typed { program: "diskspd".into(), arguments: words },
            &[mark(30, 0..6)],
            LINE_COLUMNS,
        );
        assert!(columns_of(&line) <= LINE_COLUMNS, "{line}");
        assert!(line.starts_with('\u{2026}') && line.ends_with('\u{2026}'));
        let column = marks.find('^').expect("the mark is in view");
        let under: String = line.chars().skip(column).take(6).collect();
        assert_eq!(under, "-wrong");
    }

    #[test]
    fn a_terminal_has_its_width_and_programs_have_lines() {
        let words = ["--engine=io_uring", "-b4KB", "/mnt/data/some/folder/with/a/name/test.dat"];
        let mut refusal = Refusal::command_line("the size is followed by something that is no suffix");
        refusal.marks.push(mark(1, 4..5));
        refusal.legal.push("a number and one suffix of K M G T, or b for blocks of the size of -b".into());
        let refusals = Refusals::from(refusal).of("diskspd", &words.map(String::from));
        let fault = Fault::Refused(refusals);
        for columns in [40, 60, 80, 120] {
            let shown = fault.shown(Some(columns));
            assert!(shown.lines().all(|line| columns_of(line) <= columns), "{columns}:\n{shown}");
            let lines: Vec<&str> = shown.lines().collect();
            let at = lines.iter().position(|line| line.trim() == "^").expect("a line of marks");
            let mark = lines[at].find('^').expect("it is this line");
            assert_eq!(lines[at - 1].chars().nth(mark), Some('B'), "{shown}");
        }
        let failure = Failure::new(FailureKind::Io, "a ".repeat(100));
        let fault = Fault::Failed(vec![failure]);
        assert_eq!(fault.to_string().lines().count(), 1);
        assert!(fault.shown(Some(40)).lines().all(|line| columns_of(line) <= 40));
    }

    #[test]
    fn marks_beyond_the_word_or_the_line_do_no_harm() {
        let (_, marks) = marked_line(&typed("d", &["f"]), &[mark(0, 90..99), mark(7, 0..1)], LINE_COLUMNS);
        assert_eq!(marks, "");
    }
}

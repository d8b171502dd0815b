//! A manual page while it is written: paragraphs and entries to the macros of man(7).

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use truespd_platform::text::{columns_of, wrap};

/// The section of the manual: commands.
pub(super) const SECTION: &str = "1";
/// What stands between the words of a form.
const MARKS: [char; 9] = [' ', '[', ']', '<', '>', '|', '=', ':', ','];
/// Source lines are no longer, where words allow.
const COLUMNS: usize = 78;

/// A page of section 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManualPage {
    /// What `man` is asked for: `truespd-ab`.
    pub name: String,
    /// What the command does, in one line.
    pub about: String,
    /// The page for troff, in the macros of man(7).
    pub troff: String,
}

/// A page that is being written.
#[derive(Debug)]
pub(super) struct Page {
    written: String,
}

impl Page {
    /// A page of this name, with its first section.
    pub fn new(name: &str, about: &str) -> Self {
        let title = name.to_uppercase();
        let version = env!("CARGO_PKG_VERSION");
        // No date: the page is made anew each time, and says the version that it describes.
        let written =
            format!(".TH {title} {SECTION} \"\" \"TrueSpd {version}\" \"TrueSpd Manual\"\n.nh\n.ad l\n");
        let mut page = Page { written };
        page.section("Name");
        page.write(|roff| {
            roff.text([roman(format!("{name} - {about}"))]);
        });
        page
    }

    pub fn section(&mut self, title: &str) {
        let title = title.to_uppercase();
        self.write(|roff| {
            roff.control("SH", [title.as_str()]);
        });
    }

    pub fn subsection(&mut self, title: &str) {
        self.write(|roff| {
            roff.control("SS", [title]);
        });
    }

    /// How the command is called: its words in bold, and what stands for something else.
    pub fn call(&mut self, words: &str, rest: &str) {
        let mut line = vec![bold(words), roman(" ")];
        line.extend(placeholders(rest));
        self.write(|roff| {
            roff.text(line);
        });
    }

    pub fn line_break(&mut self) {
        self.write(|roff| {
            roff.control("br", []);
        });
    }

    pub fn paragraph(&mut self, text: &str) {
        self.begin_paragraph();
        self.words(marked(text));
    }

    /// A heading begins one by itself.
    fn begin_paragraph(&mut self) {
        let last = self.written.lines().last().unwrap_or_default();
        if !last.starts_with(".SH") && !last.starts_with(".SS") {
            self.written.push_str(".PP\n");
        }
    }

    /// Words without a paragraph of their own.
    pub fn words(&mut self, words: Vec<Inline>) {
        self.write(|roff| {
            roff.text(words);
        });
    }

    /// A term, and what it means, in lines of their own.
    pub fn entry(&mut self, term: Vec<Inline>, lines: &[Vec<Inline>]) {
        self.write(|roff| {
            roff.control("TP", []);
            roff.text(term);
            for (number, line) in lines.iter().enumerate() {
                if number > 0 {
                    roff.control("br", []);
                }
                roff.text(line.clone());
            }
        });
    }

    /// A line to type, and what it does.
    pub fn example(&mut self, line: &str, meaning: &str) {
        self.begin_paragraph();
        self.write(|roff| {
            roff.text([bold(line)]);
            if !meaning.is_empty() {
                roff.control("RS", ["4"]);
                roff.text(marked(meaning));
                roff.control("RE", []);
            }
        });
    }

    pub fn take(&mut self, section: &[u8]) {
        let source = cleaned(&String::from_utf8_lossy(section));
        // Lists of values: below their option, and without empty lines.
        self.written
            .push_str(&source.replace(".RS 14\n", ".RS 7\n.PD 0\n").replace("\n.RE\n", "\n.PD\n.RE\n"));
    }

    /// Source in the macros of man(7), as it is.
    pub fn append(&mut self, source: &str) {
        self.written.push_str(source);
    }

    pub fn finish(self) -> String {
        folded(&self.written)
    }

    fn write(&mut self, write: impl FnOnce(&mut Roff)) {
        let mut roff = Roff::new();
        write(&mut roff);
        self.written.push_str(&cleaned(&roff.render()));
    }
}

/// Text with options, and with what stands between backquotes, in bold.
pub(super) fn marked(text: &str) -> Vec<Inline> {
    let mut inlines = Vec::new();
    for (number, part) in text.split('`').enumerate() {
        match number % 2 {
            1 => inlines.push(bold(part)),
            _ => mark_options(part, &mut inlines),
        }
    }
    inlines
}

/// Options in bold, the rest as it is.
fn mark_options(text: &str, inlines: &mut Vec<Inline>) {
    let mut plain = String::new();
    for word in text.split_inclusive(' ') {
        let start = word.len() - word.trim_start_matches('(').len();
        let end = word.trim_end_matches([' ', '.', ',', ';', ':', ')']).len();
        let option = word.get(start..end).unwrap_or_default();
        let is_option = option
            .strip_prefix("--")
            .or_else(|| option.strip_prefix('-'))
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
        if !is_option {
            plain.push_str(word);
            continue;
        }
        plain.push_str(&word[..start]);
        inlines.extend((!plain.is_empty()).then(|| roman(std::mem::take(&mut plain))));
        inlines.push(bold(option));
        plain.push_str(&word[end..]);
    }
    inlines.extend((!plain.is_empty()).then(|| roman(plain)));
}

/// A form of a call: options in bold, words in capitals or angle brackets, which stand for something else, in italics.
pub(super) fn placeholders(form: &str) -> Vec<Inline> {
    let mut inlines = Vec::new();
    let mut rest = form;
    while !rest.is_empty() {
        let before = &rest[..rest.len() - rest.trim_start_matches(MARKS).len()];
        let word = &rest[before.len()..];
        let word = &word[..word.find(MARKS).unwrap_or(word.len())];
        if !before.is_empty() {
            inlines.push(roman(before));
        }
        if word.starts_with('-') {
            inlines.push(bold(word));
        } else if !word.is_empty() {
            inlines.push(italic(word));
        }
        rest = &rest[before.len() + word.len()..];
    }
    inlines
}

/// Source that troff shows as it was meant: without what the writer puts before each piece, and with the
/// characters that troff shows as others.
fn cleaned(source: &str) -> String {
    let lead = Roff::new().render();
    let mut text = String::new();
    for line in source.strip_prefix(&lead).unwrap_or(source).lines() {
        let line = line.replace(r"\*(Aq", r"\(aq").replace('~', r"\(ti").replace('^', r"\(ha");
        // No sentence ends here.
        let line = line.replace("e.g. ", r"e.g.\& ");
        for (number, part) in line.split('`').enumerate() {
            match number {
                0 => (),
                odd if odd % 2 == 1 => text.push_str(r"\fB"),
                _ => text.push_str(r"\fR"),
            }
            text.push_str(part);
        }
        text.push('\n');
    }
    // Above a list of values, and between paragraphs.
    text.replace(".br\n\n.br\n", ".sp\n").replace("\n\n", "\n.sp\n")
}

/// The same with source lines of a length that tools like, a new one for each sentence.
fn folded(source: &str) -> String {
    let mut text = String::new();
    let mut is_term = false;
    for line in source.lines() {
        // A line to type stays one.
        let is_command =
            line.starts_with(r"\fB") && line.ends_with(r"\fR") && line.matches(r"\f").count() == 2;
        if line.starts_with('.') || is_term || is_command {
            text.push_str(line);
            text.push('\n');
        } else {
            sentences(line).for_each(|sentence| fold(sentence, &mut text));
        }
        is_term = line == ".TP";
    }
    text
}

/// The text cut behind each full stop before a capital letter.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let cut = rest.match_indices(". ").map(|(at, _)| at).find(|at| is_end_of_sentence(rest, *at));
        let (sentence, behind) = match cut {
            Some(at) => (&rest[..=at], &rest[at + 2..]),
            None => (rest, ""),
        };
        rest = behind;
        (!sentence.is_empty()).then_some(sentence)
    })
}

/// Whether the sentence ends at the full stop that is there.
fn is_end_of_sentence(text: &str, at: usize) -> bool {
    let next = text[at + 2..].trim_start_matches(r"\fB").chars().next();
    // A command at the beginning has no capital letter.
    let is_command = text[at + 2..].starts_with(r"\fB") && !text[..at].ends_with('.');
    is_command || next.is_some_and(|c| c.is_uppercase() || c == '\\' || c == '-')
}

fn fold(sentence: &str, text: &mut String) {
    let mut columns = 0;
    for word in sentence.split_whitespace() {
        if columns > 0 && columns + 1 + word.len() > COLUMNS {
            // No sentence ends here, which troff would show by a wider gap.
            if text.ends_with(['.', '?', '!']) {
                text.push_str(r"\&");
            }
            text.push('\n');
            columns = 0;
        }
        match columns {
            // No macro begins here.
            0 if word.starts_with(['.', '\'']) => text.push_str(r"\&"),
            0 => (),
            _ => text.push(' '),
        }
        text.push_str(word);
        columns += 1 + word.len();
    }
    text.push('\n');
}

/// Columns of a paragraph before its text, and those that an entry adds.
const INDENT: usize = 7;

/// The page in lines of so many columns at most, where words allow. It knows the macros that our pages use.
pub(crate) fn plain(troff: &str, columns: usize) -> String {
    let mut sheet =
        Sheet { out: String::new(), text: String::new(), term: None, indent: 0, shift: 0, columns };
    let mut lines = troff.lines();
    while let Some(line) = lines.next() {
        let Some(macro_line) = line.strip_prefix('.') else {
            sheet.add(&readable(line));
            continue;
        };
        let (name, rest) = macro_line.split_once(' ').unwrap_or((macro_line, ""));
        let rest = readable(rest.trim().trim_matches('"'));
        match name {
            "SH" | "SS" => {
                sheet.gap();
                (sheet.indent, sheet.shift) = (0, 0);
                let lead = if name == "SH" { "" } else { "   " };
                sheet.out.push_str(&format!("{lead}{rest}\n"));
                sheet.indent = INDENT;
            }
            "PP" => {
                sheet.gap();
                sheet.indent = INDENT;
            }
            "TP" => {
                sheet.gap();
                sheet.indent = INDENT;
                let term = readable(lines.next().unwrap_or_default());
                sheet.begin(&term);
            }
            "IP" => {
                sheet.flush();
                sheet.indent = INDENT;
                let mark = rest.split(' ').next().unwrap_or_default().to_string();
                sheet.term = Some(mark);
                sheet.indent += 4;
            }
            "RS" => {
                sheet.flush();
                sheet.shift += rest.parse().unwrap_or(INDENT);
            }
            "RE" => {
                sheet.flush();
                sheet.shift = 0;
            }
            "br" => sheet.flush(),
            "sp" => sheet.gap(),
            _ => {}
        }
    }
    sheet.flush();
    sheet.out
}

/// A page while it is laid out.
struct Sheet {
    out: String,
    /// Words of a paragraph that is not written yet.
    text: String,
    /// What stands before them, in columns of its own.
    term: Option<String>,
    indent: usize,
    shift: usize,
    columns: usize,
}

impl Sheet {
    fn add(&mut self, words: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(words);
    }

    /// The term of an entry, in a line of its own.
    fn begin(&mut self, term: &str) {
        let lead = self.indent + self.shift;
        self.out.push_str(&format!("{:lead$}{term}\n", ""));
        self.indent += INDENT;
    }

    fn flush(&mut self) {
        let lead = self.indent + self.shift;
        let text = std::mem::take(&mut self.text);
        let term = self.term.take();
        if text.trim().is_empty() {
            return;
        }
        for (at, line) in wrap(&text, self.columns.saturating_sub(lead).max(20)).iter().enumerate() {
            match &term {
                Some(term) if at == 0 => {
                    let before = lead.saturating_sub(2 + columns_of(term));
                    self.out.push_str(&format!("{:before$}{term}  {line}\n", ""));
                }
                _ => self.out.push_str(&format!("{:lead$}{line}\n", "")),
            }
        }
    }

    /// An empty line, but not two, and not at the beginning.
    fn gap(&mut self) {
        self.flush();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

/// A line without the escapes of troff.
fn readable(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let named = escape.strip_prefix('(').and_then(|name| name.get(..2));
        let (shown, length) = match (escape.chars().next(), named) {
            (Some('f'), _) => ("", 2),
            (Some('&'), _) => ("", 1),
            (Some('-'), _) => ("-", 1),
            (Some('\\' | 'e'), _) => ("\\", 1),
            (_, Some("aq")) => ("'", 3),
            (_, Some("ti")) => ("~", 3),
            (_, Some("ha")) => ("^", 3),
            (_, Some("bu")) => ("*", 3),
            _ => ("\\", 0),
        };
        out.push_str(shown);
        rest = escape.get(length..).unwrap_or_default();
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(write: impl FnOnce(&mut Page)) -> String {
        let mut page = Page { written: String::new() };
        write(&mut page);
        page.finish()
    }

    #[test]
    fn what_troff_takes_for_something_else_is_escaped() {
        let text = source(|page| page.paragraph("It's ~/x, `a-b` and \\n; .TH"));
        assert_eq!(text, ".PP\nIt\\(aqs \\(ti/x, \\fBa\\-b\\fR and \\\\n; .TH\n");
        let long = format!("{} .TH 'x", "word ".repeat(15).trim_end());
        let text = source(|page| page.paragraph(&long));
        assert!(text.lines().skip(1).all(|line| !line.starts_with(['.', '\''])), "{text}");
    }

    #[test]
    fn options_are_bold_wherever_they_stand() {
        let text = source(|page| page.paragraph("Needs -r or -rs (see --overwrite). A - dash, 2 -1."));
        assert!(
            text.contains("Needs \\fB\\-r\\fR or \\fB\\-rs\\fR (see \\fB\\-\\-overwrite\\fR)."),
            "{text}"
        );
        assert!(text.contains("A \\- dash, 2 \\-1."), "{text}");
    }

    #[test]
    fn every_sentence_has_a_line_of_its_own() {
        let text = source(|page| page.paragraph("One. Two e.g. three. -b is four."));
        assert_eq!(text, ".PP\nOne.\nTwo e.g.\\& three.\n\\fB\\-b\\fR is four.\n");
    }
}

#[cfg(test)]
mod tests_plain {
    use super::*;
    use crate::cli::commands::truespd::described;
    use crate::cli::manual::pages;

    #[test]
    fn no_page_shows_the_language_of_troff() {
        for page in pages(&described()) {
            let text = plain(&page.troff, 80);
            for line in text.lines() {
                let is_macro =
                    line.starts_with('.') && line.chars().nth(1).is_some_and(|c| c.is_ascii_uppercase());
                let has_escape = ["\\f", "\\(", "\\-", "\\&"].iter().any(|escape| line.contains(escape));
                assert!(!is_macro && !has_escape, "{}: {line}", page.name);
            }
            assert!(text.starts_with("NAME\n") && text.contains("\nSYNOPSIS\n"), "{}:\n{text}", page.name);
            assert!(text.lines().all(|line| columns_of(line) <= 100), "{}:\n{text}", page.name);
        }
    }

    #[test]
    fn entries_stand_below_their_term() {
        let page = ".TH X 1\n.nh\n.SH NAME\nx \\- a thing\n.TP\n\\fB\\-b\\fR\\fI<size>\\fR\nIt\\(aqs the \
            size.\nMore.\n.RS 7\n.PD 0\n.IP \\(bu 2\none\n.IP \\(bu 2\ntwo\n.PD\n.RE\n";
        let text = plain(page, 60);
        assert_eq!(
            text,
            "NAME\n       x - a thing\n\n       -b<size>\n              It's the size. \
             More.\n               *  one\n               *  two\n"
        );
    }
}

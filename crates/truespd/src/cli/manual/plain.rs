//! A page as plain text, for terminals of machines without a program that shows manual pages.

use truespd_core::text::{columns_of, wrap};

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

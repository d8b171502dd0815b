//! Why a profile is refused.

use std::fmt;
use std::io;
use std::path::Path;

use truespd_platform::text::{hides, wrap};

/// Longest piece of a file that a message repeats, in characters.
const QUOTED_CHARS_MAX: usize = 60;
/// Width of the text that says what is legal.
const LINE_CHARS_MAX: usize = 90;

/// A profile that is refused: where, why, and what would be legal.
///
/// Its text begins as DiskSpd's does, `ERROR: failed to load profile, line 7, line position 11`, and has
/// no line end after the last line. Nothing of the file is repeated unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlError {
    /// Line in the file from 1; 0 when the file as a whole is meant.
    pub line: u32,
    /// Character in the line from 1; 0 when the file as a whole is meant.
    pub column: u32,
    /// The element, with its parents: `TimeSpan[2]/Targets/Target/BlockSize`. May be empty.
    pub element: String,
    /// What is wrong.
    pub reason: String,
    /// What would be legal.
    pub legal: Option<String>,
}

impl XmlError {
    /// An error about the file as a whole.
    pub(super) fn whole(reason: impl Into<String>, legal: impl Into<String>) -> Self {
        XmlError {
            line: 0,
            column: 0,
            element: String::new(),
            reason: reason.into(),
            legal: Some(legal.into()),
        }
    }

    /// An error at a byte of the text.
    pub(super) fn at(
        text: &str,
        byte: usize,
        reason: impl Into<String>,
        legal: impl Into<Option<String>>,
    ) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        XmlError {
            line: count(before.bytes().filter(|&b| b == b'\n').count() + 1),
            column: count(before[line_start..].chars().count() + 1),
            element: String::new(),
            reason: reason.into(),
            legal: legal.into(),
        }
    }

    /// A profile file that cannot be opened or read.
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        let name = quoted(&path.to_string_lossy());
        let advice = match error.kind() {
            io::ErrorKind::NotFound => {
                "check the name after -X; a relative name starts at the current folder"
            }
            io::ErrorKind::PermissionDenied => "make the file readable for the user who runs the test",
            io::ErrorKind::IsADirectory => "name the profile file itself after -X, not its folder",
            // A pipe that nobody writes into; the error itself says what to do.
            io::ErrorKind::TimedOut => "",
            _ => "copy the profile to a local file and name that after -X",
        };
        let gap = if advice.is_empty() { "" } else { "; " };
        XmlError {
            legal: None,
            ..XmlError::whole(format!("{name} cannot be read: {}{gap}{advice}", system_text(error)), "")
        }
    }
}

impl std::error::Error for XmlError {}

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "ERROR: failed to load profile, line {}, line position {}", self.line, self.column)?;
        write!(f, "ERROR: reason: ")?;
        if !self.element.is_empty() {
            write!(f, "{}: ", self.element)?;
        }
        write!(f, "{}", self.reason)?;
        if let Some(legal) = &self.legal {
            for (i, line) in wrap(legal, LINE_CHARS_MAX).iter().enumerate() {
                write!(f, "\n{}{line}", if i == 0 { "  legal: " } else { "         " })?;
            }
        }
        Ok(())
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A piece of the file in quotes: cut when long, nothing in it that a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        if i == QUOTED_CHARS_MAX {
            out.push('\u{2026}');
            break;
        }
        if hides(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push('"');
    out
}

/// The system's words for an error, without its number (`os` has the same for the rooms that may use it).
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_begins_as_the_originals_does() {
        let error = XmlError {
            line: 7,
            column: 11,
            element: "TimeSpan/Duration".to_string(),
            reason: "is empty".to_string(),
            legal: Some("a number".to_string()),
        };
        assert_eq!(
            error.to_string(),
            "ERROR: failed to load profile, line 7, line position 11\n\
             ERROR: reason: TimeSpan/Duration: is empty\n  legal: a number"
        );
    }

    #[test]
    fn long_lists_are_wrapped() {
        let names = vec!["Element"; 30].join(", ");
        let error = XmlError { legal: Some(names.clone()), ..XmlError::whole("", "") };
        let text = error.to_string();
        assert!(text.lines().all(|line| line.len() <= LINE_CHARS_MAX + 9), "{text}");
        let (_, shown) = text.split_once("legal: ").expect("has it");
        assert_eq!(shown.split_whitespace().collect::<Vec<_>>().join(" "), names);
    }

    #[test]
    fn positions_count_lines_and_characters() {
        let text = "a\nbé<c";
        let at = |byte| {
            let error = XmlError::at(text, byte, "", None);
            (error.line, error.column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (2, 1));
        assert_eq!(at(5), (2, 3));
        assert_eq!(at(99), (2, 5));
    }

    #[test]
    fn files_that_cannot_be_read_are_explained_without_numbers() {
        let error = std::fs::File::open("/nonexistent/p.xml").expect_err("there is no such folder");
        let text = XmlError::unreadable(Path::new("/nonexistent/p.xml"), &error).to_string();
        assert!(text.starts_with("ERROR: failed to load profile, line 0, line position 0\n"), "{text}");
        assert!(text.contains("\"/nonexistent/p.xml\" cannot be read: No such file or directory"), "{text}");
        assert!(!text.contains("os error"), "{text}");
    }

    #[test]
    fn pieces_of_the_file_are_cut_and_harmless() {
        assert_eq!(quoted("a\u{1b}[2J\u{202e}b"), "\"a\\u{1b}[2J\\u{202e}b\"");
        assert_eq!(quoted(&"x".repeat(1000)).chars().count(), QUOTED_CHARS_MAX + 3);
    }
}

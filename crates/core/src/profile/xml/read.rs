//! XML in: checked, parsed, turned into a profile.

use std::io::{self, Read};

use roxmltree::{Document, Error, ParsingOptions};

use super::error::quoted;
use super::guard::FILE_BYTES_MAX;
use super::schema::{self, Element};
use super::{XmlError, decode, guard, tables};
use crate::profile::Profile;

/// Reads a profile from its text.
///
/// Checks the form of every element and the rules within one element. Rules across elements are
/// [`validate`](crate::profile::validate())'s.
///
/// # Errors
/// The first fault, with its place.
pub fn read(text: &str) -> Result<Profile, XmlError> {
    // A byte order mark is no part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    guard::check(text)?;
    let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| syntax(text, &error))?;
    let root = Element::outermost(document.root_element(), tables::home_of)?;
    if root.name() != "Profile" {
        let reason = format!("the outermost element is {}", quoted(root.name()));
        return Err(root.error(reason, "Profile".to_string()));
    }
    let mut profile = Profile::default();
    schema::read_fields(root, tables::PROFILE, &mut profile)?;
    Ok(profile)
}

/// Reads a profile from the bytes of a file, in UTF-8 or UTF-16.
///
/// # Errors
/// As [`read`], or another encoding.
pub fn read_bytes(bytes: &[u8]) -> Result<Profile, XmlError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(guard::too_large());
    }
    read(&decode::decode(bytes)?)
}

/// Reads a profile from an open file; takes no more than [`FILE_BYTES_MAX`] bytes from it, whatever it is.
///
/// # Errors
/// The outer error when reading fails ([`XmlError::unreadable`] words it), the inner as [`read_bytes`].
pub fn read_from(file: impl Read) -> io::Result<Result<Profile, XmlError>> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(read_bytes(&bytes))
}

/// A text that is not well-formed XML, in our words.
fn syntax(text: &str, error: &Error) -> XmlError {
    let (reason, legal) = match error {
        Error::UnexpectedCloseTag(open, close, _) => {
            let reason = format!("the element {} is closed by {}", quoted(open), quoted(close));
            (reason, Some("every element closed by its own name, inner ones first".to_string()))
        }
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            ("the file ends within an element".to_string(), Some("every element closed".to_string()))
        }
        Error::NoRootNode => ("the file has no element".to_string(), Some("<Profile>".to_string())),
        Error::DuplicatedAttribute(name, _) => {
            (format!("the attribute {} appears twice in this tag", quoted(name)), None)
        }
        Error::UnknownEntityReference(name, _) => (
            format!("the entity {} is not known", quoted(name)),
            Some("&amp; &lt; &gt; &quot; &apos; and numbers such as &#38;".to_string()),
        ),
        Error::MalformedEntityReference(_) => {
            ("here is a & without an entity".to_string(), Some("&amp; for the character &".to_string()))
        }
        Error::InvalidAttributeValue(_) => {
            ("an attribute contains <".to_string(), Some("&lt; for the character <".to_string()))
        }
        Error::UnknownNamespace(prefix, _) => (
            format!("the prefix {} is not declared", quoted(prefix)),
            Some("names without prefix".to_string()),
        ),
        Error::NonXmlChar(c, _) => {
            (format!("the character U+{:04X} is not allowed in XML", u32::from(*c)), None)
        }
        Error::UnexpectedDeclaration(_) => (
            "the XML declaration is not at the start of the file".to_string(),
            Some("<?xml ...?> before everything else, blanks and line ends too".to_string()),
        ),
        Error::DtdDetected => ("the file has a document type declaration".to_string(), None),
        Error::InvalidChar(expected, found, _) => {
            (format!("here is {} instead of {}", byte_text(*found), byte_text(*expected)), None)
        }
        Error::InvalidChar2(expected, found, _) => {
            (format!("here is {} instead of {expected}", byte_text(*found)), None)
        }
        Error::InvalidString(expected, _) => (format!("{} is missing", quoted(expected)), None),
        Error::InvalidName(_) => ("a name is missing here".to_string(), None),
        Error::InvalidComment(_) => {
            ("a comment contains --".to_string(), Some("single hyphens in comments".to_string()))
        }
        Error::UnknownToken(_) => (
            "here is content outside the outermost element".to_string(),
            Some("a single <Profile> with everything inside".to_string()),
        ),
        other => (quoted(without_place(&other.to_string())), None),
    };
    let place = match error {
        // The parser points at the start; the end is where something is missing.
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            return XmlError::at(text, text.trim_end().len(), not_well_formed(&reason), legal);
        }
        _ => error.pos(),
    };
    XmlError {
        line: place.row,
        column: place.col,
        element: String::new(),
        reason: not_well_formed(&reason),
        legal,
    }
}

fn not_well_formed(reason: &str) -> String {
    format!("not well-formed XML: {reason}")
}

/// A byte as it may be shown.
fn byte_text(byte: u8) -> String {
    if byte.is_ascii_graphic() {
        format!("\"{}\"", char::from(byte))
    } else {
        format!("the byte 0x{byte:02x}")
    }
}

/// The parser's words without the place at their end.
fn without_place(text: &str) -> &str {
    text.rfind(" at ").map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_syntax_in_words() {
        for (text, place, words) in [
            ("<Profile>\n <a>\n</Profile>", (3, 1), "closed by"),
            ("<Profile>\n", (1, 10), "ends within"),
            ("<Profile a='1' a='2'/>", (1, 16), "twice"),
            ("<Profile>&nbsp;</Profile>", (1, 10), "&amp;"),
            ("<Profile>a & b</Profile>", (1, 12), "here is a & without an entity"),
            ("<Profile a='<'/>", (1, 13), " instead of "),
            ("<p:Profile/>", (1, 2), "prefix"),
            ("<Profile>\u{1}</Profile>", (1, 10), "U+0001"),
            ("\n<?xml version='1.0'?><Profile/>", (2, 1), "before everything"),
            ("<Profile/><Profile/>", (1, 11), "outside"),
            ("<Profile><!-- -- --></Profile>", (1, 10), "hyphens"),
            ("hello", (1, 1), "single <Profile>"),
            ("<1/>", (1, 2), "name"),
            ("<Profile a=1/>", (1, 12), "quote"),
            ("<!-- -->", (1, 1), "no element"),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!((error.line, error.column), place, "{text:?}: {error}");
            assert!(error.to_string().contains(words), "{text:?}: {error}");
            assert!(error.reason.starts_with("not well-formed XML: "), "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_in_the_text_is_skipped() {
        let error = read("\u{feff}<a/>").expect_err("is no profile");
        assert_eq!((error.line, error.column, error.element.as_str()), (1, 1, "a"));
    }
}

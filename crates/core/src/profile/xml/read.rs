//! XML in: decoded, checked, parsed, turned into a profile.
//!
//! Nothing reaches the recursive parser before its size, depth and shape were checked, so that no file can make reading
//! slow or large. The check is a single pass over the markup without any memory of its own. It judges no syntax: what
//! it
//! cannot make sense of is left for the parser to report.

use std::borrow::Cow;
use std::io::{self, Read};

use roxmltree::{Document, Error, ParsingOptions};

use super::elements;
use super::error::{XmlError, quoted};
use super::rows::{self, Element};
use crate::profile::Profile;

/// Largest profile file in bytes.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// Pieces of markup; a target takes about 60, so this is far more than any machine could run.
const MARKUP_MAX: usize = 500_000;
/// Elements within each other; the format itself has eight.
const DEPTH_MAX: usize = 32;
/// Length of a tag with its attributes; the longest of the format has 60 bytes.
const TAG_BYTES_MAX: usize = 2048;
/// Tags that declare namespaces; tools put one or two at the root.
const NAMESPACED_TAGS_MAX: usize = 16;

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
    check(text)?;
    let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| syntax(text, &error))?;
    let root = Element::outermost(document.root_element(), elements::home_of)?;
    if root.name() != "Profile" {
        let reason = format!("the outermost element is {}", quoted(root.name()));
        return Err(root.error(reason, "Profile".to_string()));
    }
    let mut profile = Profile::default();
    rows::read_fields(root, elements::PROFILE, &mut profile)?;
    Ok(profile)
}

/// Reads a profile from the bytes of a file, in UTF-8 or UTF-16.
///
/// # Errors
/// As [`read`], or another encoding.
pub fn read_bytes(bytes: &[u8]) -> Result<Profile, XmlError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(too_large());
    }
    read(&decode(bytes)?)
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

const ENCODINGS: &str = "UTF-8 with or without byte order mark, or UTF-16; save the profile in one of these";

/// The text of a file, without a byte order mark.
///
/// # Errors
/// Another encoding, or bytes that the encoding does not allow.
fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, XmlError> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [b'<', 0, 0, 0, ..] | [0, 0, 0, b'<', ..] => {
            Err(XmlError::whole("the file is encoded in UTF-32", ENCODINGS))
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest).map(Cow::Borrowed),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).map(Cow::Owned),
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes).map(Cow::Owned),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes).map(Cow::Owned),
        _ => {
            let text = utf8(bytes)?;
            match declared_encoding(text) {
                Some(name) if !text.is_ascii() && !is_utf8(name) => Err(XmlError::whole(
                    format!("the file says that it is encoded in {}", quoted(name)),
                    ENCODINGS,
                )),
                _ => Ok(Cow::Borrowed(text)),
            }
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, XmlError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let byte = bytes[error.valid_up_to()];
        let mut reason = format!("the byte 0x{byte:02x} here is not UTF-8");
        if let Some(name) = declared_encoding(&valid).filter(|name| !is_utf8(name)) {
            reason.push_str(&format!("; the file says that it is encoded in {}", quoted(name)));
        }
        XmlError::at(&valid, valid.len(), reason, ENCODINGS.to_string())
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, XmlError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    for c in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        match c {
            Ok(c) => text.push(c),
            Err(_) => {
                let reason = "here is half a UTF-16 character";
                return Err(XmlError::at(&text, text.len(), reason, ENCODINGS.to_string()));
            }
        }
    }
    if !rest.is_empty() {
        let reason = "the file ends within a UTF-16 character";
        return Err(XmlError::at(&text, text.len(), reason, ENCODINGS.to_string()));
    }
    Ok(text)
}

/// The encoding that an XML declaration names.
fn declared_encoding(text: &str) -> Option<&str> {
    let declaration = text.strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split(quote).next()
}

fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8")
}

/// Refuses texts that no profile would be.
///
/// # Errors
/// Too large, too deep, too many tags, an overlong tag, or a document type declaration.
fn check(text: &str) -> Result<(), XmlError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(too_large());
    }
    if text.trim().is_empty() {
        return Err(XmlError::whole("the file is empty", "a profile: <Profile> with its content"));
    }
    let bytes = text.as_bytes();
    // The parser sets memory aside for every one of these, wherever it stands.
    let markup = bytes.iter().filter(|&&b| b == b'<' || b == b'=').count();
    if markup > MARKUP_MAX {
        let reason = format!("the file has {markup} tags and attributes");
        return Err(XmlError::whole(reason, format!("at most {MARKUP_MAX}")));
    }
    let (mut depth, mut namespaced) = (0usize, 0usize);
    let mut at = 0;
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        let rest = &text[start..];
        let skipped = if rest.starts_with("<!--") {
            end_of(rest, 4, "-->")
        } else if rest.starts_with("<![CDATA[") {
            end_of(rest, 9, "]]>")
        } else if rest.starts_with("<?") {
            end_of(rest, 2, "?>")
        } else if rest.starts_with("<!") {
            return Err(XmlError::at(
                text,
                start,
                "the file has a document type declaration (DOCTYPE)",
                "a profile without it: entities and external files are not used".to_string(),
            ));
        } else if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
            end_of(rest, 2, ">")
        } else {
            let tag = tag(rest);
            if tag.map_or(rest.len() - 1, str::len) > TAG_BYTES_MAX {
                let reason = "this tag with its attributes is too long";
                let legal = format!("at most {TAG_BYTES_MAX} bytes between < and >");
                return Err(XmlError::at(text, start, reason, legal));
            }
            namespaced += usize::from(tag.is_some_and(|tag| tag.contains("xmlns")));
            if namespaced > NAMESPACED_TAGS_MAX {
                let reason = "too many elements declare a namespace";
                return Err(XmlError::at(text, start, reason, "elements without namespace".to_string()));
            }
            depth += usize::from(tag.is_some_and(|tag| !tag.ends_with('/')));
            if depth > DEPTH_MAX {
                let reason = format!("elements are nested more than {DEPTH_MAX} deep");
                return Err(XmlError::at(text, start, reason, "a profile has eight levels".to_string()));
            }
            tag.map(|tag| tag.len() + 2)
        };
        let Some(length) = skipped else { break };
        at = start + length;
    }
    Ok(())
}

/// A file over the limit.
fn too_large() -> XmlError {
    let limit = FILE_BYTES_MAX >> 20;
    XmlError::whole(
        format!("the file is larger than {limit} MiB"),
        format!("at most {limit} MiB; is this a profile?"),
    )
}

/// Length up to and including `end`, which is looked for from `from`.
fn end_of(rest: &str, from: usize, end: &str) -> Option<usize> {
    rest[from..].find(end).map(|found| from + found + end.len())
}

/// What stands between `<` and the `>` that closes the tag; `None` when the text ends before it.
fn tag(rest: &str) -> Option<&str> {
    let mut quote = None;
    for (i, b) in rest.bytes().enumerate().skip(1) {
        match (quote, b) {
            (None, b'>') => return Some(&rest[1..i]),
            (None, b'"' | b'\'') => quote = Some(b),
            (Some(open), _) if open == b => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<a>\u{e9}\u{1d11e}</a>";

    fn units(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn the_encodings_that_are_read() {
        let (le, be) = (units(TEXT, u16::to_le_bytes), units(TEXT, u16::to_be_bytes));
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for bytes in [
            TEXT.as_bytes().to_vec(),
            marked(&[0xef, 0xbb, 0xbf], TEXT.as_bytes()),
            le.clone(),
            be.clone(),
            marked(&[0xff, 0xfe], &le),
            marked(&[0xfe, 0xff], &be),
        ] {
            assert_eq!(decode(&bytes).expect("is read"), TEXT);
        }
    }

    #[test]
    fn the_others_are_refused_in_words() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?>\n<a>\xe9</a>";
        let error = decode(latin).expect_err("is refused");
        assert_eq!((error.line, error.column), (2, 4));
        assert!(error.reason.contains("0xe9") && error.reason.contains("ISO-8859-1"), "{error}");

        let mislabelled = "<?xml version=\"1.0\" encoding=\"windows-1252\"?><a>\u{e9}</a>";
        assert!(decode(mislabelled.as_bytes()).expect_err("is refused").reason.contains("windows-1252"));
        let plain = mislabelled.replace('\u{e9}', "e");
        assert_eq!(decode(plain.as_bytes()).expect("ASCII is the same in all of them"), plain);

        for bytes in [
            &[0xff, 0xfe, 0, 0, b'<', 0, 0, 0][..],
            &[0xff, 0xfe, b'<', 0, b'a'],
            &[0xff, 0xfe, 0x00, 0xd8, b'a', 0],
            &[0xef, 0xbb, 0xbf, 0xff],
        ] {
            assert!(decode(bytes).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn ordinary_texts_pass() {
        for text in [
            "<a b='>' c=\"</a>\"><!-- <<< --><![CDATA[<a><a>]]></a>",
            "<?xml version='1.0'?><a/>",
            "<a",
            "<a><!-- never closed",
            "no markup at all",
            &format!("{}{}", "<a>".repeat(32), "</a>".repeat(32)),
            &"<a></a>".repeat(1000),
        ] {
            assert_eq!(check(text), Ok(()), "{text:.60}");
        }
    }

    #[test]
    fn the_limits() {
        for (text, word) in [
            (" \n".to_string(), "empty"),
            ("<!DOCTYPE a []><a/>".to_string(), "DOCTYPE"),
            ("<a>".repeat(33), "nested"),
            (format!("<a b='{}'/>", "x".repeat(3000)), "too long"),
            (format!("<a b='{}", "x".repeat(3000)), "too long"),
            (format!("<a>{}</a>", "<b xmlns:c='d'/>".repeat(17)), "namespace"),
            ("=".repeat(MARKUP_MAX + 1), "tags"),
            ("x".repeat(FILE_BYTES_MAX + 1), "larger than 16 MiB"),
        ] {
            let error = check(&text).expect_err("is refused");
            assert!(error.reason.contains(word), "{error}");
        }
    }

    #[test]
    fn the_place_is_named() {
        let error = check("<a>\n  <!DOCTYPE b>").expect_err("is refused");
        assert_eq!((error.line, error.column), (2, 3));
    }

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

//! What is checked before the parser sees a text: nothing may make it slow, large or deep.
//!
//! A single pass over the markup without any memory of its own. It judges no syntax: what it cannot make
//! sense of is left for the parser to report.

use super::XmlError;

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

/// Refuses texts that no profile would be.
///
/// # Errors
/// Too large, too deep, too many tags, an overlong tag, or a document type declaration.
pub(super) fn check(text: &str) -> Result<(), XmlError> {
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
pub(super) fn too_large() -> XmlError {
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
}

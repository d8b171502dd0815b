//! What a page is written with: text as HTML that shows it and nothing else, lists of names, and documents inside the
//! page.
//!
//! A document lies in a page as gzip in base64 in a script element that no browser runs, so that no byte of it can be
//! markup. [`document`] reads one back.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use truespd_core::result::json::BYTES_MAX;
use truespd_core::text::printable;

/// Text for an element or a quoted attribute. Characters that hide something are shown as escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON for an attribute in single quotes: those in double quotes would need an escape for each quote of the JSON.
fn escaped_json(json: &str) -> String {
    escaped(json).replace("&quot;", "\"")
}

/// JSON that is longer than this is packed.
const PLAIN_MAX: usize = 4096;

/// An attribute for the script: `data-NAME` holds the JSON, or `data-packed-NAME` holds it as gzip in base64
/// where it is long.
pub(super) fn data(name: &str, json: &str) -> String {
    match json.len() {
        ..=PLAIN_MAX => format!(" data-{name}='{}'", escaped_json(json)),
        _ => format!(" data-packed-{name}=\"{}\"", packed(json.as_bytes())),
    }
}

/// A paragraph of a class of the style sheet; usual words have none.
pub(super) fn paragraph(class: &str, words: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<p{class}>{}</p>\n", words.lines().map(escaped).collect::<Vec<_>>().join("<br>"))
}

/// A paragraph that not everybody reads.
pub(super) fn note(words: &str) -> String {
    paragraph("note", words)
}

/// What is folded up; both are HTML.
pub(super) fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{summary}</summary>{inside}</details>\n")
}

/// A pair or a part of a page, folded up.
pub(super) fn folded(name: &str, inside: &str) -> String {
    format!("<details class=\"pair\"><summary>{}</summary>{inside}</details>\n", escaped(name))
}

/// Figures that a reader wants first, with their names.
pub(super) fn tiles<N: AsRef<str>>(all: &[(N, Option<String>)]) -> String {
    let mut out = String::from("<dl class=\"tiles\">");
    for (name, value) in all {
        out += &format!("<div><dt>{}</dt>", escaped(name.as_ref()));
        out += &match value {
            Some(value) => format!("<dd>{}</dd></div>", escaped(value)),
            None => "<dd class=\"none\">not measured (-L)</dd></div>".to_string(),
        };
    }
    out + "</dl>\n"
}

/// Text as it is printed on a terminal.
pub fn plain(text: &str) -> String {
    let lines: String = text.lines().map(|line| escaped(line) + "\n").collect();
    format!("<pre class=\"table\" tabindex=\"0\">{lines}</pre>\n")
}

/// The same, folded up: the page says it in its own way.
pub fn printed(text: &str) -> String {
    details("As it is printed on a terminal", plain(text).trim_end())
}

/// A table: its caption, its head, and rows whose first cell is their heading. All cells are text.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    if !head.is_empty() {
        let cells: String =
            head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escaped(cell))).collect();
        out += &format!("<thead><tr>{cells}</tr></thead>");
    }
    out += "<tbody>";
    for row in rows {
        for (place, cell) in row.iter().map(|cell| escaped(cell)).enumerate() {
            out += &match place {
                0 => format!("<tr><th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            };
        }
        out += "</tr>";
    }
    // People who use the keyboard must reach what is scrolled.
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>{out}\
         </tbody></table></div>\n",
        escaped(caption)
    )
}

/// Names of a list at most.
const NAMED_MAX: usize = 6;

/// `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] if names.len() <= NAMED_MAX => format!("{} and {last}", first.join(", ")),
        all => format!("{} and {} more", all[..NAMED_MAX].join(", "), all.len() - NAMED_MAX),
    }
}

/// Equal things with the names of all that have them, in the order of the first.
pub(super) fn collapsed<T: PartialEq, N>(all: impl IntoIterator<Item = (N, T)>) -> Vec<(Vec<N>, T)> {
    let mut found: Vec<(Vec<N>, T)> = Vec::new();
    for (name, thing) in all {
        match found.iter_mut().find(|(_, other)| *other == thing) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], thing)),
        }
    }
    found
}

/// Each of them once, in the order of the first.
pub(super) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    collapsed(all.into_iter().map(|one| ((), one))).into_iter().map(|(_, one)| one).collect()
}

/// A sentence begins with a capital letter.
pub(super) fn first_large(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How a page begins; what begins otherwise is read as something else.
pub(super) const BEGIN: &str = "<!doctype html><!-- TrueSpd report, version 1 -->\n";
const OPEN: &str = "<script type=\"application/vnd.truespd.document\">";
const CLOSE: &str = "</script>\n";
/// Bytes that a document may have when it is unpacked: so many, or so many times what it takes in the page.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
const BYTES_FOR_EACH_MAX: u64 = 256;

/// Why a page has no document to read; completes a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The document with this number is not there, or not whole.
    #[error("is a report, but document {0} in it is damaged; give the document that it was made from")]
    Damaged(usize),
    /// The document with this number has more bytes than are read.
    #[error(
        "is a report, but document {0} in it is far larger than a document of its size in the page can be"
    )]
    TooLarge(usize),
}

/// The element that holds a document.
pub(super) fn element(document: &[u8]) -> String {
    format!("{OPEN}{}{CLOSE}", packed(document))
}

pub(super) fn packed(bytes: &[u8]) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = packed.write_all(bytes).and_then(|()| packed.finish());
    STANDARD.encode(bytes.expect("writing to memory cannot fail"))
}

/// Whether these bytes are a page of this program.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN.as_bytes())
}

/// How many documents a page has.
///
/// # Errors
/// [`EmbedError::Damaged`]: there is none.
pub fn count(page: &[u8]) -> Result<usize, EmbedError> {
    match String::from_utf8_lossy(page).matches(OPEN).count() {
        0 => Err(EmbedError::Damaged(1)),
        count => Ok(count),
    }
}

/// A document of a page, byte for byte, by its number from 1.
///
/// # Errors
/// [`EmbedError`].
pub fn document(page: &[u8], number: usize) -> Result<Vec<u8>, EmbedError> {
    let text = String::from_utf8_lossy(page);
    unpacked(number, text.split(OPEN).nth(number).ok_or(EmbedError::Damaged(number))?)
}

fn unpacked(number: usize, part: &str) -> Result<Vec<u8>, EmbedError> {
    let (packed, _) = part.split_once(CLOSE).ok_or(EmbedError::Damaged(number))?;
    let packed = STANDARD.decode(packed).map_err(|_| EmbedError::Damaged(number))?;
    let bytes_max = DOCUMENT_BYTES_MAX.max(packed.len() as u64 * BYTES_FOR_EACH_MAX).min(BYTES_MAX);
    let mut document = Vec::new();
    let read = GzDecoder::new(&packed[..]).take(bytes_max + 1).read_to_end(&mut document);
    read.map_err(|_| EmbedError::Damaged(number))?;
    if document.len() as u64 > bytes_max { Err(EmbedError::TooLarge(number)) } else { Ok(document) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        assert_eq!(
            escaped("</script><a b='c' d=\"e\">&\u{1b}"),
            "&lt;/script&gt;&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{1b}"
        );
        assert_eq!(escaped_json("[\"<'&\"]"), "[\"&lt;&#39;&amp;\"]");
        let table = table("a<b", &["<i>".into(), "n".into()], &[vec!["<u>".into(), "&".into()]]);
        assert!(table.contains("<th scope=\"col\">&lt;i&gt;</th>"), "{table}");
        assert!(table.contains("<th scope=\"row\">&lt;u&gt;</th><td>&amp;</td>"), "{table}");
    }

    #[test]
    fn names_are_listed_as_in_speech() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(listed(&names[..0]), "");
        assert_eq!(listed(&names[..1]), "a");
        assert_eq!(listed(&names[..2]), "a and b");
        assert_eq!(listed(&names[..6]), "a, b, c, d, e and f");
        assert_eq!(listed(&names), "a, b, c, d, e, f and 2 more");
    }

    #[test]
    fn equal_things_are_told_once() {
        let found = collapsed([("a", 1), ("b", 2), ("c", 1)]);
        assert_eq!(found, [(vec!["a", "c"], 1), (vec!["b"], 2)]);
    }

    #[test]
    fn documents_come_back_byte_for_byte() {
        let hostile = "{\"a\": \"</script><script>alert(1)</script>\u{0}\"}\n".as_bytes();
        let page = format!("{BEGIN}<p>{}{}", element(hostile), element(b"{}"));
        assert!(is_page(page.as_bytes()) && !is_page(hostile));
        assert_eq!(count(page.as_bytes()).unwrap(), 2);
        assert_eq!([1, 2].map(|number| document(page.as_bytes(), number).unwrap()), [hostile, b"{}"]);
        assert_eq!(page.matches("</script>").count(), 2, "no byte of a document ends the element");
    }

    #[test]
    fn damage_is_told() {
        let page = format!("{BEGIN}{}{}", element(b"{}"), element(b"[1, 2, 3]"));
        for cut in [page.len() - 12, page.len() - 30] {
            let told = document(&page.as_bytes()[..cut], 2).unwrap_err().to_string();
            assert!(told.contains("document 2 in it is damaged"), "{told}");
        }
        assert!(count(BEGIN.as_bytes()).is_err() && document(BEGIN.as_bytes(), 1).is_err());
        let bomb = format!("{BEGIN}{}", element(&vec![b' '; 65 << 20]));
        let told = document(bomb.as_bytes(), 1).unwrap_err().to_string();
        assert!(told.contains("document 1 in it is far larger"), "{told}");
    }
}

//! Documents inside a page.
//!
//! A document lies in a page as gzip in base64 in a script element that no browser runs, so that no byte of it can be
//! markup. [`document`] reads one back.

use crate::answer::html::packed;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use truespd_core::result::json::{self, ReadError};

/// How a page begins; what begins otherwise is read as something else.
pub(super) const BEGIN: &str = "<!doctype html><!-- TrueSpd report, version 1 -->\n";
/// What only a page over a history has.
pub(super) const HISTORY: &str = "<p class=\"brand\">TrueSpd history</p>";
const OPEN: &str = "<script type=\"application/vnd.truespd.document\">";
const CLOSE: &str = "</script>\n";

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
    /// A page over a history that was too large to be in it.
    #[error(
        "is a page over a history, and its documents are not in the page: its last line says where they are"
    )]
    Elsewhere,
}

/// The element that holds a document.
pub(super) fn element(document: &[u8]) -> String {
    packed_element(&packed(document))
}

/// The element of a document that is already packed.
pub(super) fn packed_element(packed: &str) -> String {
    format!("{OPEN}{packed}{CLOSE}")
}
/// Whether these bytes are a page of this program.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN.as_bytes())
}

/// How many documents a page has.
///
/// # Errors
/// [`EmbedError::Damaged`] or [`EmbedError::Elsewhere`]: there is none.
pub fn count(page: &[u8]) -> Result<usize, EmbedError> {
    let text = String::from_utf8_lossy(page);
    match text.matches(OPEN).count() {
        0 if text.contains(HISTORY) => Err(EmbedError::Elsewhere),
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
    json::unpacked(packed.len() as u64, GzDecoder::new(&packed[..])).map_err(|error| match error {
        ReadError::TooLarge => EmbedError::TooLarge(number),
        _ => EmbedError::Damaged(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

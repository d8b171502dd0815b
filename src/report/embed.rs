//! Documents inside a page: gzip in base64 in a script element that no browser runs, so that no byte of a document can
//! be markup. [`documents`] reads them back.

use std::io::{self, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// How a page begins; what begins otherwise is read as something else.
pub(super) const BEGIN: &str = "<!doctype html><!-- TrueSpd report, version 1 -->\n";
const OPEN: &str = "<script type=\"application/vnd.truespd.document\">";
const CLOSE: &str = "</script>\n";
/// Bytes that one document may have when it is unpacked: as those of a file.
const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

/// Why a page has no document to read; completes a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// No document, or not a whole one.
    #[error("is a report, but document {0} in it is damaged; give the document that it was made from")]
    Damaged(usize),
    /// More than is read.
    #[error("is a report, but document {0} in it is larger than 1 GiB")]
    TooLarge(usize),
}

/// The element that holds a document.
pub(super) fn element(document: &[u8]) -> String {
    format!("{OPEN}{}{CLOSE}", packed(document))
}

/// As gzip in base64.
pub(super) fn packed(bytes: &[u8]) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = packed.write_all(bytes).and_then(|()| packed.finish());
    STANDARD.encode(bytes.expect("writing to memory cannot fail"))
}

/// Whether these bytes are a page of this program.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN.as_bytes())
}

/// The documents of a page, in order, byte for byte.
///
/// # Errors
/// [`EmbedError`]; also where there is none.
pub fn documents(page: &[u8]) -> Result<Vec<Vec<u8>>, EmbedError> {
    let text = String::from_utf8_lossy(page);
    let parts = text.split(OPEN).skip(1).enumerate();
    let found: Vec<Vec<u8>> =
        parts.map(|(place, part)| unpacked(place + 1, part)).collect::<Result<_, _>>()?;
    if found.is_empty() { Err(EmbedError::Damaged(1)) } else { Ok(found) }
}

fn unpacked(number: usize, part: &str) -> Result<Vec<u8>, EmbedError> {
    let damaged = |_: io::Error| EmbedError::Damaged(number);
    let (packed, _) = part.split_once(CLOSE).ok_or(EmbedError::Damaged(number))?;
    let packed = STANDARD.decode(packed).map_err(|_| EmbedError::Damaged(number))?;
    let mut document = Vec::new();
    GzDecoder::new(&packed[..]).take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut document).map_err(damaged)?;
    if document.len() as u64 > DOCUMENT_BYTES_MAX { Err(EmbedError::TooLarge(number)) } else { Ok(document) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_back_byte_for_byte() {
        let hostile = "{\"a\": \"</script><script>alert(1)</script>\u{0}\"}\n".as_bytes();
        let page = format!("{BEGIN}<p>{}{}", element(hostile), element(b"{}"));
        assert!(is_page(page.as_bytes()) && !is_page(hostile));
        assert_eq!(documents(page.as_bytes()).unwrap(), [hostile, b"{}"]);
        assert_eq!(page.matches("</script>").count(), 2, "no byte of a document ends the element");
    }

    #[test]
    fn damage_is_told() {
        let page = format!("{BEGIN}{}{}", element(b"{}"), element(b"[1, 2, 3]"));
        for cut in [page.len() - 12, page.len() - 30] {
            let told = documents(&page.as_bytes()[..cut]).unwrap_err().to_string();
            assert!(told.contains("document 2 in it is damaged"), "{told}");
        }
        assert!(documents(BEGIN.as_bytes()).is_err());
    }
}

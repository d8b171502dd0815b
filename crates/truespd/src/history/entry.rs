//! A kept document, as lists show it: its facts and what the person said about it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::facts::Facts;

/// Letters and digits of ids: no `i`, `l`, `o` and `u`, which look like others (Crockford's base 32).
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Digits of a digest: 130 bits.
const DIGEST_DIGITS: usize = 26;
/// Digits of an id, as long as no other document begins with them.
pub(super) const ID_DIGITS: usize = 7;

/// What a person says about a document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// A name that several documents may share: those of one group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Words to find it by, in order, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Revision of what was tested, as the person gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// A document to keep.
#[derive(Debug, Clone)]
pub struct NewEntry<'a> {
    /// The document, as `--json` writes it.
    pub document: &'a [u8],
    /// What it tells.
    pub facts: &'a Facts,
    /// What the person says about it.
    pub given: &'a Given,
    /// When it is kept, seconds since 1970 UTC.
    pub kept_unix_s: i64,
}

/// What became of a [`NewEntry`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Id of the document.
    pub id: String,
    /// It was not there before.
    pub is_new: bool,
}

/// A kept document without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number in the file; others' files have others.
    #[serde(skip)]
    pub(super) number: i64,
    /// Short and for good.
    pub id: String,
    /// When it was kept, seconds since 1970 UTC.
    pub kept_unix_s: i64,
    /// What the document tells.
    #[serde(flatten)]
    pub facts: Facts,
    /// What the person said.
    #[serde(flatten)]
    pub given: Given,
    /// Length of the document in bytes.
    pub document_bytes: u64,
}

/// The digest of a document, of which ids are the first digits. Two documents have the same one only when
/// they are the same byte for byte, so that programs which know nothing of each other choose different ids.
pub(super) fn digest(document: &[u8]) -> String {
    let hash = Sha256::digest(document);
    let bit = |at: usize| usize::from(hash[at / 8] >> (7 - at % 8) & 1);
    let digit = |place: usize| (0..5).fold(0, |sum, offset| sum << 1 | bit(place * 5 + offset));
    (0..DIGEST_DIGITS).map(|place| char::from(DIGITS[digit(place)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_bytes() {
        // SHA-256 of nothing begins with the bytes e3 b0 c4 42 98: 11100 01110 11000 01100 01000 01010 01100 0....
        assert!(digest(b"").starts_with("we" /* 28, 14 */), "{}", digest(b""));
        assert_eq!(&digest(b"")[..7], "werc8gm");
        assert_eq!(digest(b"a").len(), DIGEST_DIGITS);
        assert_ne!(digest(b"a"), digest(b"b"));
    }
}

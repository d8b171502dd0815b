//! Documents on their way from one file to another: a JSON object in a line for each.

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Given, ID_DIGITS, NewEntry, digest};
use super::facts::Facts;
use truespd_core::text::visible_json;

/// What the member `format` of a line says.
pub const FORMAT: &str = "truespd-history";
/// The version that this program writes and reads.
const VERSION: u32 = 1;

/// A document with what is known of it. The document is text inside of the text, so that it stays as it is
/// byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedLine {
    format: String,
    format_version: u32,
    id: String,
    kept_unix_s: i64,
    facts: Facts,
    given: Given,
    /// The document.
    pub document: String,
}

/// Why a line is no exported document; completes a sentence that begins with its place.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or not with these members.
    #[error("is not a document that `truespd history export` wrote, or not all of it: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Something else, or of a later version.
    #[error("has the format \"{0}\", version {1}; this program reads \"{FORMAT}\", version {VERSION}")]
    Other(String, u32),
    /// The id is not that of the document.
    #[error("is damaged: the document is not the one with the id {0}")]
    Changed(String),
}

impl ExportedLine {
    /// The line of a document.
    pub fn new(entry: &Entry, document: String) -> Self {
        ExportedLine {
            format: FORMAT.into(),
            format_version: VERSION,
            id: entry.id.clone(),
            kept_unix_s: entry.kept_unix_s,
            facts: entry.facts.clone(),
            given: entry.given.clone(),
            document,
        }
    }

    /// The line of a document that no file has kept yet.
    pub fn of_new(document: String, facts: Facts, kept_unix_s: i64) -> Self {
        ExportedLine {
            format: FORMAT.into(),
            format_version: VERSION,
            id: digest(document.as_bytes()),
            kept_unix_s,
            facts,
            given: Given::default(),
            document,
        }
    }

    /// As text, without a line end.
    pub fn text(&self) -> String {
        visible_json(serde_json::to_string(self).expect("all keys are text, and no type refuses"))
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn read(line: &[u8]) -> Result<Self, LineError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            format_version: u32,
        }
        let Head { format, format_version } = serde_json::from_slice(line)?;
        if format != FORMAT || format_version != VERSION {
            return Err(LineError::Other(format, format_version));
        }
        let read: ExportedLine = serde_json::from_slice(line)?;
        let is_its = read.id.len() >= ID_DIGITS && digest(read.document.as_bytes()).starts_with(&read.id);
        if is_its { Ok(read) } else { Err(LineError::Changed(read.id)) }
    }

    /// For [`super::Store`].
    pub(super) fn entry(&self) -> NewEntry<'_> {
        NewEntry {
            document: self.document.as_bytes(),
            facts: &self.facts,
            given: &self.given,
            kept_unix_s: self.kept_unix_s,
        }
    }
}

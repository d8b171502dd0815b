//! Documents of other kinds than results of runs (of suites, of the tool's own cost): one versioned envelope for all.
//!
//! `{"format": "truespd-<kind>", "format_version": n, "<member>": ...}`. Within a version members are only
//! added, and each of those may be missing.

use super::json::indented;
use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::{SerializeStruct, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use truespd_platform::text::printable_json;

/// A kind of documents, with the envelope that its JSON has.
pub trait DocumentKind: Serialize + DeserializeOwned + 'static {
    /// What the member `format` says.
    const FORMAT: &'static str;
    /// The version this program writes and reads.
    const VERSION: u32 = 1;
    /// What the member `format_version` is, for the schema.
    const VERSION_ABOUT: &'static str = "Version of this layout: 1.";
    /// Name of the member that holds it.
    const MEMBER: &'static str;
    /// What that member is, for the schema.
    const MEMBER_ABOUT: &'static str;
    /// Title of the schema, as editors show it.
    const TITLE: &'static str;
    /// What the schema is of.
    const ABOUT: &'static str;
    /// What such a document is, behind "is no".
    const NAME: &'static str;
}

/// Why a document could not be read; completes a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(String);

/// A document in its envelope.
pub(super) struct Envelope<'a, T>(&'a T);

impl<T: DocumentKind> Serialize for Envelope<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut envelope = serializer.serialize_struct("Envelope", 3)?;
        envelope.serialize_field("format", T::FORMAT)?;
        envelope.serialize_field("format_version", &T::VERSION)?;
        envelope.serialize_field(T::MEMBER, self.0)?;
        envelope.end()
    }
}

/// Writes a document, indented: people compare them line by line.
pub fn write<T: DocumentKind>(document: &T) -> String {
    indented(&Envelope(document))
}

/// What `show` makes of a document whose strings are printable: the way out for all that is no JSON. One that
/// was read for that (by way of [`printable_json`]) is shown as it is.
pub fn shown<T: DocumentKind, R>(document: &T, show: impl FnOnce(&T) -> R) -> R {
    let json = serde_json::to_vec(document).expect("figures, text and lists are always JSON");
    let printable: Option<T> = match printable_json(&json) {
        Cow::Borrowed(_) => None,
        Cow::Owned(json) => serde_json::from_slice(&json).ok(),
    };
    show(printable.as_ref().unwrap_or(document))
}

/// Reads a document.
///
/// # Errors
/// [`ReadError`].
pub fn read<T: DocumentKind>(text: &[u8]) -> Result<T, ReadError> {
    let mut stored: Value = serde_json::from_slice(text).map_err(malformed::<T>)?;
    let format = stored["format"].as_str().ok_or_else(|| missing::<T>("format"))?;
    let version = stored["format_version"].as_u64().ok_or_else(|| missing::<T>("format_version"))?;
    if format != T::FORMAT || version != u64::from(T::VERSION) {
        return Err(ReadError(format!(
            "has format \"{format}\", version {version}; this program reads \"{}\", version {}",
            T::FORMAT,
            T::VERSION
        )));
    }
    let member = stored.get_mut(T::MEMBER).map(Value::take).ok_or_else(|| missing::<T>(T::MEMBER))?;
    serde_json::from_value(member).map_err(malformed::<T>)
}

fn malformed<T: DocumentKind>(error: serde_json::Error) -> ReadError {
    ReadError(format!("is no {}, or not a whole one: {error}", T::NAME))
}

fn missing<T: DocumentKind>(member: &'static str) -> ReadError {
    malformed::<T>(serde_json::Error::missing_field(member))
}

/// What the member `format` of a JSON document says; `None` when it is none, or has no such member.
pub fn format_of(text: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
    }
    serde_json::from_slice::<Head>(text).ok().map(|head| head.format)
}

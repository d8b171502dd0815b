//! Words that name results kept in the history, where a file could be named as well.

use crate::ask::keeping::known_store;
use crate::history::{Entry, Problem, Store};
use std::path::Path;
use truespd_platform::fault::{Refusal, RefusalKind};

/// A kept result, or one of a file.
pub(crate) struct Kept {
    /// Its id, or the path of its file as typed.
    pub name: String,
    /// The label that a person gave it.
    pub label: Option<String>,
    /// It lies in a file.
    pub is_file: bool,
    /// The document, as it was kept.
    pub bytes: Vec<u8>,
}

/// The kept results that a word names by an id, the beginning of one, or a label; none when it names no kept
/// result. A file of that name comes first, and what has a folder in it is a path.
///
/// # Errors
/// The history cannot be read, or the word is the beginning of several ids.
pub(crate) fn kept(word: &Path) -> Result<Option<Vec<Kept>>, Refusal> {
    let Some((store, entries)) = find(word)? else { return Ok(None) };
    entries.iter().map(|entry| read(&store, entry)).collect::<Result<_, _>>().map(Some)
}

/// The same for a command that takes one result.
///
/// # Errors
/// As there, and a label that several results share.
pub(crate) fn kept_one(word: &Path) -> Result<Option<Kept>, Refusal> {
    let Some((store, entries)) = find(word)? else { return Ok(None) };
    if let [entry] = entries.as_slice() {
        return read(&store, entry).map(Some);
    }
    let shown = word.display();
    let message = format!("'{shown}' is the label of {} kept results", entries.len());
    let ids = entries.iter().map(|entry| entry.id.as_str()).take(5).collect::<Vec<_>>().join(", ");
    Err(Refusal::new(RefusalKind::Input, message)
        .on(shown.to_string())
        .hint(format!("name one by its id: {ids}")))
}

fn find(word: &Path) -> Result<Option<(Store, Vec<Entry>)>, Refusal> {
    let Some(text) = word.to_str().filter(|text| *text != "-" && !text.contains('/')) else {
        return Ok(None);
    };
    if word.symlink_metadata().is_ok() {
        return Ok(None);
    }
    // Without a place for a history, the word can only be a file.
    let Some(path) = known_store()? else { return Ok(None) };
    let Some(store) = Store::open_to_read(&path)? else { return Ok(None) };
    match store.find(text) {
        Ok(entries) => Ok(Some((store, entries))),
        Err(error) if error.problem == Problem::Unknown => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn read(store: &Store, entry: &Entry) -> Result<Kept, Refusal> {
    let (name, label) = (entry.id.clone(), entry.given.label.clone());
    Ok(Kept { name, label, is_file: false, bytes: store.document(entry)? })
}

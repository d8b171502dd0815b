//! Words that name results kept in the history, where a file could be named as well.

use std::path::Path;

use crate::cli::commands::keeping::store_path;
use crate::fault::{Refusal, RefusalKind};
use crate::history::{Problem, Store};

/// A kept result.
pub(crate) struct Kept {
    /// Its id.
    pub name: String,
    /// The document, as it was kept.
    pub bytes: Vec<u8>,
}

/// The kept results that a word names by an id, the beginning of one, or a label; none when it names no kept result. A file
/// of that name comes first, and what has a folder in it is a path.
///
/// # Errors
/// The history cannot be read, or the word is the beginning of several ids.
pub(crate) fn kept(word: &Path) -> Result<Option<Vec<Kept>>, Refusal> {
    let Some(text) = word.to_str().filter(|text| *text != "-" && !text.contains('/')) else {
        return Ok(None);
    };
    if word.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let Some(store) = Store::open_to_read(&store_path(None)?).map_err(Refusal::from)? else {
        return Ok(None);
    };
    let entries = match store.find(text) {
        Err(error) if matches!(error.problem, Problem::Unknown(_)) => return Ok(None),
        found => found.map_err(Refusal::from)?,
    };
    let read = entries.iter().map(|entry| {
        Ok(Kept { name: entry.id.clone(), bytes: store.document(entry).map_err(Refusal::from)? })
    });
    read.collect::<Result<Vec<_>, Refusal>>().map(Some)
}

/// The same for a command that takes one result.
///
/// # Errors
/// As there, and a label that several results share.
pub(crate) fn kept_one(word: &Path) -> Result<Option<Kept>, Refusal> {
    let Some(mut all) = kept(word)? else { return Ok(None) };
    if all.len() == 1 {
        return Ok(all.pop());
    }
    let shown = word.display();
    let message = format!("'{shown}' is the label of {} kept results", all.len());
    let ids = all.iter().map(|kept| kept.name.as_str()).take(5).collect::<Vec<_>>().join(", ");
    Err(Refusal::new(RefusalKind::Input, message)
        .on(shown.to_string())
        .hint(format!("name one by its id: {ids}")))
}

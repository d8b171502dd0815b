//! The system's words.

use std::io;

/// The system's words for an error, without its number (`os` has the same for the rooms that may use it).
pub(crate) fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}

//! Words that name documents: files, folders of them, and what is kept in the history.

use std::path::{Path, PathBuf};

use crate::cli::commands::render::{self, Read, read_any};
use crate::cli::kept::{Kept, kept};
use crate::compare::Named;
use crate::fault::{Refusal, RefusalKind};
use crate::sys::error::system_text;
use crate::text::printable_path;

/// What files of documents end with.
const EXTENSION: &str = "json";

/// The results of runs that a word names: a file, standard input (`-`), all `.json` files of a folder in the order of their
/// names, or kept results by their id or label.
///
/// # Errors
/// There is none, or one that cannot be read or is of another kind; nothing is left out silently.
pub(crate) fn documents(word: &Path) -> Result<Vec<Named>, Refusal> {
    if let Some(all) = kept(word)? {
        let named = |one: Kept| named(one.name.clone(), render::document(Path::new(&one.name), &one.bytes)?);
        return all.into_iter().map(named).collect();
    }
    if !word.is_dir() {
        return Ok(vec![document(word)?]);
    }
    let files = files_of(word)?;
    if files.is_empty() {
        let message = format!("'{}' has no .{EXTENSION} file", word.display());
        let hint = "name a folder of results that were written with --json";
        return Err(Refusal::new(RefusalKind::Input, message).on(word.display().to_string()).hint(hint));
    }
    files.iter().map(|file| document(file)).collect()
}

/// The files that a word stands for, which no output may replace.
pub(crate) fn files(word: &Path) -> Vec<PathBuf> {
    if word.is_dir() { files_of(word).unwrap_or_default() } else { vec![word.to_path_buf()] }
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let unreadable = |error: std::io::Error| {
        let message = format!("'{}' cannot be read: {}", folder.display(), system_text(&error));
        Refusal::new(RefusalKind::Input, message).on(folder.display().to_string())
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn document(file: &Path) -> Result<Named, Refusal> {
    let name = file.display().to_string();
    named(name, read_any(file)?)
}

fn named(name: String, read: Read) -> Result<Named, Refusal> {
    let (kind, hint) = match read {
        Read::Result(document) => return Ok(Named { name, document: *document }),
        Read::OfSuite(stored) => {
            (stored.kind(), "a suite keeps the results of its runs with --keep FOLDER; name those")
        }
        Read::Plain(plain) => (plain.kind, plain.instead),
    };
    let message = format!("'{name}' is a {kind}, not the result of a run");
    Err(Refusal::new(RefusalKind::Input, message).on(name).hint(hint))
}

/// The documents of any kind that a word names, with what to call them: a file, standard input (`-`), a document of a report, or
/// kept results by their id or label.
///
/// # Errors
/// There is none, or it cannot be read.
pub(crate) fn stored(word: &Path) -> Result<Vec<Kept>, Refusal> {
    if let Some(all) = kept(word)? {
        return Ok(all);
    }
    let name = match word == Path::new("-") {
        true => "standard input".to_string(),
        false => printable_path(Path::new(word.file_stem().unwrap_or(word.as_os_str()))),
    };
    Ok(vec![Kept { name, bytes: render::bytes(word)? }])
}

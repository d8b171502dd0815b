//! Words that name documents: files, folders of them, and what is kept in the history.

use std::path::{Path, PathBuf};

use crate::cli::commands::render::{self, Read, read_any};
use crate::cli::kept::{Kept, kept};
use crate::compare::Named;
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_platform::sys::error::system_text;
use truespd_platform::text::printable_path;

/// What files of documents end with.
const EXTENSION: &str = "json";

/// The results of runs that a word names: a file, standard input (`-`), all `.json` files of a folder in the
/// order of their names, or kept results by their id or label.
///
/// # Errors
/// There is none, or one that cannot be read or is of another kind; nothing is left out silently.
pub(crate) fn documents(word: &Path) -> Result<Vec<Named>, Refusal> {
    if let Some(all) = kept(word)? {
        let mut documents = Vec::new();
        for one in all {
            let read = render::document(Path::new(&one.name), &one.bytes)?;
            documents.push(named(one.name, read)?);
        }
        return Ok(documents);
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
            (stored.kind(), "run the suite with --keep FOLDER, and name the results that it keeps there")
        }
        Read::Plain(plain) => (plain.kind, plain.instead),
    };
    let message = format!("'{name}' is a {kind}, not the result of a run");
    Err(Refusal::new(RefusalKind::Input, message).on(name).hint(hint))
}

/// The documents of any kind that a word names, with what to call them: a file, standard input (`-`), a
/// document of a report, or kept results by their id or label.
///
/// # Errors
/// There is none, or it cannot be read.
pub(crate) fn stored(word: &Path) -> Result<Vec<Kept>, Refusal> {
    if let Some(all) = kept(word)? {
        return Ok(all);
    }
    let name = if word == Path::new("-") {
        "standard input".to_string()
    } else {
        word.to_string_lossy().into_owned()
    };
    Ok(vec![Kept { name, label: None, is_file: true, bytes: render::bytes(word)? }])
}

/// What people call these documents, each by another name: by its label, by its id without one, or by the
/// name of its file. Folders are named only where files are told apart by them.
pub(crate) fn titles(all: &[&Kept]) -> Vec<String> {
    let deepest = all.iter().map(|one| Path::new(&one.name).components().count()).max().unwrap_or(0);
    let mut titles = Vec::new();
    for (place, one) in all.iter().enumerate() {
        let own =
            (0..=deepest).map(|folders| (folders, title(one, folders))).find(|(folders, title_of_one)| {
                all.iter()
                    .enumerate()
                    .all(|(other, of)| other == place || title(of, *folders) != *title_of_one)
            });
        titles.push(match own {
            Some((_, title)) => title,
            // The same word twice.
            None => format!("{} ({})", title(one, 0), place + 1),
        });
    }
    titles
}

fn title(one: &Kept, folders: usize) -> String {
    match (&one.label, one.is_file) {
        (Some(label), _) if folders == 0 => label.clone(),
        (Some(label), _) => format!("{label} ({})", one.name),
        (None, false) => one.name.clone(),
        (None, true) => short_path(Path::new(&one.name), folders),
    }
}

/// The name of a file without its extension, behind so many of its folders. `page.html#2` keeps its number.
fn short_path(path: &Path, folders: usize) -> String {
    let stem = match path.to_str().and_then(|text| text.rsplit_once(".html#")) {
        Some((page, number)) => PathBuf::from(format!("{page}#{number}")),
        None => path.with_extension(""),
    };
    let parts: Vec<_> = stem.components().collect();
    let from = parts.len().saturating_sub(folders + 1);
    printable_path(&parts[from..].iter().collect::<PathBuf>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Kept {
        Kept { name: name.into(), label: None, is_file: true, bytes: Vec::new() }
    }

    fn kept(id: &str, label: Option<&str>) -> Kept {
        Kept { name: id.into(), label: label.map(str::to_string), is_file: false, bytes: Vec::new() }
    }

    #[test]
    fn documents_are_called_by_label_or_file_and_told_apart() {
        let of = |all: &[Kept]| titles(&all.iter().collect::<Vec<_>>());
        assert_eq!(of(&[file("/long/way/before.json"), file("x/after.json")]), ["before", "after"]);
        assert_eq!(of(&[file("/a/run.json"), file("/b/run.json"), file("c.json")]), ["a/run", "b/run", "c"]);
        assert_eq!(of(&[file("p.html#1"), file("p.html#2"), file("1.2.json")]), ["p#1", "p#2", "1.2"]);
        assert_eq!(of(&[file("run.json"), file("run.json")]), ["run (1)", "run (2)"]);
        assert_eq!(of(&[kept("3f7k2q1", Some("before")), kept("9z", None)]), ["before", "9z"]);
        assert_eq!(
            of(&[kept("3f7k2q1", Some("new")), kept("9zk2q17", Some("new"))]),
            ["new (3f7k2q1)", "new (9zk2q17)"]
        );
    }
}

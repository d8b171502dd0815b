//! Documents of runs that were made on other nodes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::os::words::{printable_path, system_text};
use crate::result::{Document, json};
use crate::suite::ab::Metric;
use crate::suite::study::nodes::{Node, Runs, compare};

/// Reads the documents of `NAME=PATH` and compares the first node with the others. The error is a sentence.
pub fn nodes(typed: &[String], metric: Metric) -> Result<Vec<Node>, String> {
    let runs: Vec<Runs> = typed.iter().map(|typed| runs(typed, metric)).collect::<Result<_, _>>()?;
    if runs.len() == 1 {
        return Err("--node: give at least two nodes to compare".into());
    }
    Ok(compare(&runs, metric))
}

fn runs(typed: &str, metric: Metric) -> Result<Runs, String> {
    let refused = |why: String| format!("--node {typed}: {why}");
    let (name, path) = typed
        .split_once('=')
        .filter(|(name, path)| !name.is_empty() && !path.is_empty())
        .ok_or_else(|| refused("legal is NAME=PATH, a name and the documents of its runs".into()))?;
    let paths = documents_of(Path::new(path)).map_err(refused)?;
    let documents: Result<Vec<Document>, String> = paths.iter().map(|path| read(path)).collect();
    Runs::of(name, &documents.map_err(refused)?, metric).map_err(refused)
}

/// A file, or the JSON files in a folder.
fn documents_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = fs::read_dir(path).map_err(|e| format!("{}: {}", printable_path(path), system_text(&e)))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    found.sort();
    match found.is_empty() {
        true => Err(format!("{}: no document (*.json) is there", printable_path(path))),
        false => Ok(found),
    }
}

fn read(path: &Path) -> Result<Document, String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {}", printable_path(path), system_text(&e)))?;
    json::read(&bytes).map_err(|e| format!("{} {e}", printable_path(path)))
}

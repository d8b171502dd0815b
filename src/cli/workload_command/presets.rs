//! Where presets are found: a person's folder, then the program.

use std::path::{Path, PathBuf};

use crate::cli::place::bytes;
use crate::os::words::{printable, printable_path, system_text};
use crate::profile::Size;
use crate::suite::workload::preset::{BUILT_IN, Form, Preset};

/// The folder of a person's presets: the one given, or `truespd/workloads` in $XDG_CONFIG_HOME or ~/.config.
fn folder(given: Option<&str>) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match given {
        Some(given) => Some(PathBuf::from(given)),
        None => {
            let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
            Some(config.join("truespd").join("workloads"))
        }
    }
}

/// Names and files of a person's presets, by name. A folder that was not asked for may be missing.
fn own(given: Option<&str>) -> Result<Vec<(String, Form, PathBuf)>, String> {
    let Some(folder) = folder(given) else { return Ok(Vec::new()) };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if given.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => {
            return Err(format!("presets in '{}': {}", printable_path(&folder), system_text(&error)));
        }
    };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let form = Form::ALL.iter().find(|(_, known)| Some(*known) == ending).map(|(form, _)| *form);
        let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_string);
        if let (Some(form), Some(name)) = (form, name) {
            found.push((name, form, path));
        }
    }
    found.sort_by(|a, b| (&a.0, &a.2).cmp(&(&b.0, &b.2)));
    Ok(found)
}

/// The preset called `name`; a person's own comes first.
pub(super) fn find(name: &str, given: Option<&str>) -> Result<Preset, String> {
    let own = own(given)?;
    let mut same = own.iter().filter(|(known, ..)| known == name);
    if let Some((_, form, path)) = same.next() {
        if let Some((_, _, other)) = same.next() {
            return Err(format!(
                "'{name}' is there twice: {} and {}; keep one",
                printable_path(path),
                printable_path(other)
            ));
        }
        return read(*form, path).map_err(|words| error_of_lines(&words));
    }
    if let Some((_, form, text)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
        return Preset::read(*form, text, bytes);
    }
    Err(format!("there is no workload '{name}'; there are {}", names(given)?))
}

/// The names of all workloads, a person's own first, with commas between them.
pub(super) fn names(given: Option<&str>) -> Result<String, String> {
    let own = own(given)?;
    let own_names = own.iter().map(|(name, ..)| name.as_str());
    let names: Vec<&str> = own_names.chain(BUILT_IN.iter().map(|(name, ..)| *name)).collect();
    Ok(names.join(", "))
}

/// What is wrong with a preset can take several lines, which show the place: they stay lines.
fn error_of_lines(words: &str) -> String {
    let lines: Vec<String> = words.lines().map(printable).collect();
    format!("ERROR: {}", lines.join("\n"))
}

fn read(form: Form, path: &Path) -> Result<Preset, String> {
    let failed = |what: String| format!("'{}': {what}", printable_path(path));
    let text = std::fs::read_to_string(path).map_err(|error| failed(system_text(&error)))?;
    Preset::read(form, &text, bytes).map_err(failed)
}

/// What a preset is, and the room it takes in a folder.
fn about(preset: &Preset) -> String {
    format!("{} [makes {}]", preset.about, Size(preset.file_bytes.iter().sum()))
}

/// Names and what they are, a line each.
pub(super) fn list(given: Option<&str>) -> Result<String, String> {
    let own = own(given)?;
    let mut out = String::new();
    for (name, form, text) in BUILT_IN {
        let is_hidden = own.iter().any(|(own, ..)| own == name);
        let about = about(&Preset::read(*form, text, bytes)?);
        let hidden = if is_hidden { " (hidden by yours)" } else { "" };
        out.push_str(&format!("{name:<16}{about}{hidden}\n"));
    }
    for (name, form, path) in &own {
        let about = match read(*form, path) {
            Ok(preset) => format!("{} ({})", about(&preset), path.to_string_lossy()),
            Err(words) => format!("cannot be used: {}", words.lines().collect::<Vec<_>>().join(" ")),
        };
        // A person's preset may hold anything.
        out.push_str(&format!("{:<16}{}\n", printable(name), printable(&about)));
    }
    Ok(out)
}

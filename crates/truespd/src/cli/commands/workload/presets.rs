//! Where presets are found: a person's folder, then the program.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cli::commands::values::bytes;
use crate::suite::workload::preset::{BUILT_IN, Form, Preset};
use truespd_core::fault::{Refusal, RefusalKind, Refusals};
use truespd_core::sys::error::system_text;
use truespd_core::sys::file::open_without_waiting;
use truespd_core::sys::folders;
use truespd_core::text::{printable, printable_path, size};

/// No preset is longer.
const PRESET_BYTES_MAX: u64 = 1 << 20;

/// The folder of a person's presets: the one given, or `truespd/workloads` in $XDG_CONFIG_HOME or ~/.config.
fn folder(given: Option<&str>) -> Option<PathBuf> {
    given.map(PathBuf::from).or_else(|| Some(folders::config()?.join("workloads")))
}

/// Names and files of a person's presets, by name. A folder that was not asked for may be missing.
fn own(given: Option<&str>) -> Result<Vec<(String, Form, PathBuf)>, Refusal> {
    let Some(folder) = folder(given) else { return Ok(Vec::new()) };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if given.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => {
            return Err(refusal(format!(
                "presets in '{}' cannot be read: {}",
                printable_path(&folder),
                system_text(&error)
            )));
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
pub(crate) fn find(name: &str, given: Option<&str>) -> Result<Preset, Refusals> {
    let own = own(given)?;
    let mut same = own.iter().filter(|(known, ..)| known == name);
    if let Some((_, form, path)) = same.next() {
        if let Some((_, _, other)) = same.next() {
            let (one, other) = (printable_path(path), printable_path(other));
            let twice = refusal(format!("there are two presets '{name}': {one} and {other}"));
            return Err(twice.hint("keep one").into());
        }
        // With its blocks of what is legal.
        return read(*form, path).map_err(|why| Refusals::from(why).of("", &[]));
    }
    if let Some((_, form, text)) = BUILT_IN.iter().find(|(known, ..)| *known == name) {
        return Ok(Preset::read(*form, text, bytes)?);
    }
    Err(refusal(format!("there is no workload '{name}'; legal: {}", names(given)?)).into())
}

/// The names of all workloads, a person's own first, with commas between them.
pub(crate) fn names(given: Option<&str>) -> Result<String, Refusal> {
    let own = own(given)?;
    let own_names = own.iter().map(|(name, ..)| name.as_str());
    let names: Vec<&str> = own_names.chain(BUILT_IN.iter().map(|(name, ..)| *name)).collect();
    Ok(names.join(", "))
}

fn read(form: Form, path: &Path) -> Result<Preset, Refusal> {
    let text = text_of(path).map_err(|error| refusal(system_text(&error)));
    let text = text.and_then(|text| {
        text.ok_or_else(|| {
            refusal(format!("a preset is a regular file of {} at most", size(PRESET_BYTES_MAX)))
        })
    });
    text.and_then(|text| Preset::read(form, &text, bytes))
        .map_err(|why| why.behind(format!("'{}'", printable_path(path))))
}

fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Input, message)
}

/// What a preset's file holds; none where it is no file, or a longer one: pipes and devices may never end.
fn text_of(path: &Path) -> std::io::Result<Option<String>> {
    // Without waiting for a writer, should it be a pipe.
    let file = open_without_waiting(path)?;
    let mut text = String::new();
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    file.take(PRESET_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(Some(text).filter(|text| text.len() as u64 <= PRESET_BYTES_MAX))
}

/// What a preset is, and the room it takes in a folder.
fn about(preset: &Preset) -> String {
    format!("{} [creates {}]", preset.about, size(preset.file_bytes.iter().sum()))
}

/// Names and what they are, a line each.
pub(crate) fn list(given: Option<&str>) -> Result<String, Refusal> {
    let own = own(given)?;
    let mut out = String::new();
    for (name, form, text) in BUILT_IN {
        let is_hidden = own.iter().any(|(own, ..)| own == name);
        let about = about(&Preset::read(*form, text, bytes)?);
        let hidden = if is_hidden { " (replaced by your own)" } else { "" };
        out.push_str(&format!("{name:<16}{about}{hidden}\n"));
    }
    for (name, form, path) in &own {
        let about = match read(*form, path) {
            Ok(preset) => format!("{} ({})", about(&preset), path.to_string_lossy()),
            Err(why) => format!("cannot be used: {why}"),
        };
        // A person's preset may hold anything.
        out.push_str(&format!("{:<16}{}\n", printable(name), printable(&about)));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_files_of_a_size_that_people_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("good.toml"), "about = 'x'\nlines = ['-b8K']\n").expect("a file");
        std::fs::write(path("long.toml"), "#".repeat(PRESET_BYTES_MAX as usize + 1)).expect("a file");
        std::fs::write(path("wrong.xml"), "<Profil/>").expect("a file");
        crate::made::symlink("/dev/zero", path("zero.toml")).expect("a link");
        crate::made::pipe(path("pipe.xml").as_ref()).expect("a pipe");
        let given = folder.path().to_str();
        let list = list(given).expect("a list");
        let says =
            |name: &str, words: &str| list.lines().any(|line| line.starts_with(name) && line.contains(words));
        assert!(says("good", "x [creates"), "{list}");
        for name in ["long", "pipe", "zero"] {
            assert!(says(name, "a preset is a regular file of 1 MiB at most"), "{name}: {list}");
        }
        let wrong = "wrong.xml': line 1, column 1: Profil: the outermost element is \"Profil\"";
        assert!(says("wrong", wrong), "{list}");
        let words = find("wrong", given).expect_err("no profile").to_string();
        assert!(words.contains(&format!("{wrong}\n  legal: Profile\n")), "{words}");
    }
}

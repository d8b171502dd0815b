//! Documents of a series in a folder, and finding them again.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::os::words::{printable_path, system_text};
use crate::profile::Profile;
use crate::result::{Document, json};
use crate::suite::Step;

/// A folder of documents, one per run, named after number and step.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    resume: bool,
    /// Runs so far.
    count: usize,
}

impl Kept {
    /// Looks at the folder, which need not be there yet. Without `resume` it must hold no documents of a series. The error
    /// is a sentence.
    pub fn open(folder: &Path, resume: bool) -> Result<Self, String> {
        let refused = |why: &str| format!("--keep '{}': {why}", printable_path(folder));
        let entries = match fs::read_dir(folder) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(refused("this is a file; give a folder, which is made when it is missing"));
            }
            Err(error) => return Err(refused(&system_text(&error))),
        };
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        if !resume && names.into_iter().any(|name| is_document(&name.to_string_lossy())) {
            return Err(format!(
                "--keep '{}': documents of a series are there already; choose another folder, or go on with --resume",
                printable_path(folder)
            ));
        }
        Ok(Kept { folder: folder.to_path_buf(), resume, count: 0 })
    }

    /// Makes the folder when it is missing. The error is a sentence.
    pub fn make(&self) -> Result<(), String> {
        fs::create_dir_all(&self.folder)
            .map_err(|error| format!("--keep '{}': {}", printable_path(&self.folder), system_text(&error)))
    }

    /// The document of the next run, when it is there from before, of the same machine and suite, with the same command
    /// line and the same profile: that of `-X` may have changed behind its name. After that (or after [`Kept::put`]) comes the
    /// one after it.
    pub fn found(&mut self, step: &Step, line: &Line<'_>) -> Option<Document> {
        if !self.resume {
            return None;
        }
        let document = json::read(&fs::read(self.path(step)).ok()?).ok()?;
        let (suite, words) = document.command_line.split_first()?;
        let is_same = document.system.computer_name == line.computer_name
            && suite == line.suite
            && comparable(words) == comparable(line.words)
            && with_comparable_paths(&document.profile) == with_comparable_paths(line.profile);
        is_same.then(|| {
            self.count += 1;
            document
        })
    }

    /// Keeps the document of the next run. The error is a sentence.
    pub fn put(&mut self, step: &Step, document: &Document) -> Result<(), String> {
        let path = self.path(step);
        self.count += 1;
        let stored = tempfile::NamedTempFile::new_in(&self.folder).and_then(
            |mut file: tempfile::NamedTempFile<File>| {
                file.write_all(json::write(document).as_bytes())?;
                match self.resume {
                    true => file.persist(&path),
                    // Another series that began at the same time has the same names.
                    false => file.persist_noclobber(&path),
                }
                .map_err(|e| e.error)?;
                Ok(())
            },
        );
        stored.map_err(|error| format!("--keep '{}': {}", printable_path(&path), system_text(&error)))
    }

    fn path(&self, step: &Step) -> PathBuf {
        self.folder.join(format!("{:03}-{}.json", self.count + 1, slug(&step.name)))
    }
}

/// A line that a series is about to run.
pub struct Line<'a> {
    /// Name of this machine.
    pub computer_name: &'a str,
    /// `truespd mark`.
    pub suite: &'a str,
    /// Its words.
    pub words: &'a [String],
    /// What they mean.
    pub profile: &'a Profile,
}

fn is_document(name: &str) -> bool {
    let digits = name.chars().take_while(char::is_ascii_digit).count();
    digits >= 3 && name[digits..].starts_with('-') && name.ends_with(".json")
}

/// Small letters, digits and single dashes.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    // ASCII. A name may have 255 bytes, and steps that name their targets can be longer; the number tells them apart. The
    // end stays: what a run is, and whether it counts.
    slug[slug.len().saturating_sub(SLUG_BYTES_MAX)..].to_string()
}

/// Longest part of a document's name that comes from its step.
const SLUG_BYTES_MAX: usize = 150;

/// The profile with [`comparable`] paths.
fn with_comparable_paths(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        target.path = comparable(std::slice::from_ref(&target.path)).concat();
    }
    profile
}

/// Words in which the folders that suites make for their files look the same every time.
fn comparable(words: &[String]) -> Vec<String> {
    let made_up = |part: &str| {
        let mut ends = part.rsplit('-');
        let is_number =
            |end: Option<&str>| end.is_some_and(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit()));
        part.starts_with("truespd-") && is_number(ends.next()) && is_number(ends.next())
    };
    let same = |part| if made_up(part) { "truespd-*" } else { part };
    words.iter().map(|word| word.split('/').map(same).collect::<Vec<_>>().join("/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::ab::UNCOUNTED;

    fn step(name: &str, words: &[&str]) -> (Step, Vec<String>) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        (Step { name: name.into(), words: words.clone(), seconds: 1.0, prepares: false }, words)
    }

    fn document(words: &[String]) -> Document {
        let command_line = std::iter::once("truespd mark".to_string()).chain(words.iter().cloned()).collect();
        Document { command_line, ..Document::default() }
    }

    #[test]
    fn runs_are_found_again_by_place_and_words() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("kept");
        let profile = Profile::default();
        let line = |words| Line { computer_name: "", suite: "truespd mark", words, profile: &profile };
        let (first, first_words) = step("RND4K Q32T1 read, 1 of 2", &["-r", "/m/truespd-mark-77-0/data"]);
        let (second, second_words) = step("SEQ", &["-s", "/m/truespd-mark-77-0/data"]);
        let mut kept = Kept::open(&folder, false).unwrap();
        assert!(!folder.exists(), "refusals leave nothing");
        kept.make().unwrap();
        assert!(kept.found(&first, &line(&first_words)).is_none());
        kept.put(&first, &document(&first_words)).unwrap();
        kept.put(&second, &document(&second_words)).unwrap();
        assert!(folder.join("001-rnd4k-q32t1-read-1-of-2.json").exists());
        assert!(Kept::open(&folder, false).unwrap_err().contains("--resume"));
        let long = step(&format!("{}: A, {UNCOUNTED}", "x".repeat(300)), &[]).0;
        kept.put(&long, &document(&[])).expect("a name that fits");
        let names = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let is_whole =
            |name: &str| name.starts_with("003-x") && name.ends_with("first-run-does-not-count.json");
        assert!(names().any(|name| is_whole(name.to_str().unwrap())), "the end tells that it does not count");
        let file = place.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(Kept::open(&file, false).unwrap_err().contains("this is a file; give a folder"));

        let mut kept = Kept::open(&folder, true).unwrap();
        let (_, again) = step("", &["-r", "/m/truespd-mark-9123-4/data"]);
        assert!(kept.found(&first, &line(&again)).is_some(), "another process, another folder");
        let (_, other) = step("", &["-s", "-b8K", "/m/truespd-mark-77-0/data"]);
        assert!(kept.found(&second, &line(&other)).is_none(), "another line");
        let other_profile = Profile { progress_ios: 7, ..Profile::default() };
        for line in [
            Line { computer_name: "other", ..line(&second_words) },
            Line { suite: "truespd ab", ..line(&second_words) },
            Line { profile: &other_profile, ..line(&second_words) },
        ] {
            assert!(kept.found(&second, &line).is_none(), "another machine, suite, profile");
        }
        assert!(kept.found(&second, &line(&second_words)).is_some());
        fs::write(folder.join("003-seq.json"), "{").unwrap();
        assert!(kept.found(&second, &line(&second_words)).is_none(), "half a document is none");
    }
}

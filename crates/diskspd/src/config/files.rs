//! The files: that of the machine and that of the person, one above the other.

use super::file::{self, Wrong};
use super::keys::{Key, Value};
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use truespd_core::fault::{Refusal, RefusalKind, Refusals};
use truespd_core::sys::error::system_text;
use truespd_core::sys::file::FileKind;
use truespd_core::text::printable_path;

const BYTES_MAX: u64 = 1 << 20;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    pub file: PathBuf,
    /// Number of the line, from 1.
    pub line: usize,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Read,
    Missing,
    /// This user may not read it.
    Forbidden,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    pub(super) set: Vec<(Key, Value, At)>,
    /// The files, in the order in which they are read.
    pub files: Vec<(PathBuf, State)>,
    /// What could not be read, or is of a newer version; a sentence each.
    pub warnings: Vec<String>,
}

impl At {
    pub fn words(&self) -> String {
        format!("'{}', line {}", printable_path(&self.file), self.line)
    }
}

impl Config {
    /// Reads the file of the machine and then that of the person; a missing one says nothing.
    ///
    /// # Errors
    /// One of them cannot be read, or says what is not known.
    pub fn read_from(machine: &Path, person: Option<&Path>) -> Result<Config, Refusals> {
        let mut config = Config::default();
        let mut refusals = Vec::new();
        for path in std::iter::once(machine).chain(person) {
            let state = match text(path) {
                Ok(text) => {
                    config.take(path, &text).unwrap_or_else(|wrong| refusals.extend(wrong));
                    State::Read
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    State::Missing
                }
                // The machine's may be for root only. A program that root started as another user may still
                // have root's home.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    config.warnings.push(format!(
                        "the configuration file '{}' is not for this user to read, so nothing in it counts: {}",
                        printable_path(path),
                        system_text(&error)
                    ));
                    State::Forbidden
                }
                Err(error) => {
                    let shown = printable_path(path);
                    let what =
                        format!("the configuration file '{shown}' cannot be read: {}", system_text(&error));
                    let refusal = Refusal::new(RefusalKind::Input, what).on(path.display().to_string());
                    refusals.push(refusal.hint("it must be a text file; correct it, or move it away"));
                    State::Forbidden
                }
            };
            config.files.push((path.to_path_buf(), state));
        }
        if refusals.is_empty() { Ok(config) } else { Err(refusals.into()) }
    }

    pub(super) fn take(&mut self, path: &Path, text: &str) -> Result<(), Vec<Refusal>> {
        let at = |line: usize| At { file: path.to_path_buf(), line };
        let said = file::parse(text).map_err(|all| {
            all.into_iter().map(|wrong| refusal(&at(wrong.line), wrong)).collect::<Vec<Refusal>>()
        })?;
        self.set.extend(said.set.into_iter().map(|set| (set.key, set.value, at(set.line))));
        let unknown = |wrong: Wrong| {
            let place = at(wrong.line).words();
            format!("the configuration file {place}: {} (the file is of a newer version)", wrong.what)
        };
        self.warnings.extend(said.unknown.into_iter().map(unknown));
        Ok(())
    }

    /// What a key is set to, and where.
    pub fn get(&self, key: Key) -> Option<(&Value, &At)> {
        self.set.iter().rev().find(|(of, _, _)| *of == key).map(|(_, value, at)| (value, at))
    }
}

fn text(path: &Path) -> std::io::Result<String> {
    // Opening a pipe would wait for somebody who writes to it.
    if FileKind::of(&path.metadata()?) == FileKind::Pipe {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe"));
    }
    text_of(File::open(path)?, BYTES_MAX)
}

fn refusal(at: &At, wrong: Wrong) -> Refusal {
    let what = format!("the configuration file {}: {}", at.words(), wrong.what);
    let hints = [
        wrong.legal.map(|legal| format!("legal: {legal}")),
        wrong.meant.map(|meant| format!("did you mean {meant}?")),
    ];
    Refusal::new(RefusalKind::Input, what)
        .on(at.file.display().to_string())
        .with_hints(hints.into_iter().flatten())
}

/// All of a small file that people write, as text.
///
/// # Errors
/// It cannot be read, is larger than so many bytes ([`ErrorKind::FileTooLarge`]), or is no UTF-8
/// ([`ErrorKind::InvalidData`]).
pub fn text_of(stream: impl Read, bytes_max: u64) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    stream.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} KiB", bytes_max >> 10),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::new(ErrorKind::InvalidData, format!("it is no text in UTF-8 (line {line})"))
    })
}

#[cfg(test)]
mod tests_of_files {
    use super::*;

    #[test]
    fn the_person_comes_above_the_machine() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let (machine, person) = (dir.path().join("machine"), dir.path().join("person"));
        let read = || Config::read_from(&machine, Some(&person));
        let states = |config: &Config| config.files.iter().map(|(_, state)| *state).collect::<Vec<_>>();
        assert_eq!(states(&read().expect("nothing is there")), [State::Missing, State::Missing]);
        std::fs::write(&machine, "[history]\nkeep = false\n[output]\nquiet = true\n").expect("written");
        std::fs::write(&person, "\n[output]\nquiet = false\n").expect("written");
        let config = read().expect("both are right");
        assert_eq!(states(&config), [State::Read, State::Read]);
        let line = |key| config.get(key).map(|(value, at)| (value.clone(), at.line, at.file == person));
        assert_eq!(line(Key::OutputQuiet), Some((Value::Flag(false), 3, true)));
        assert_eq!(line(Key::HistoryKeep), Some((Value::Flag(false), 2, false)));
        assert_eq!(line(Key::TargetsFolder), None);
    }

    #[test]
    fn all_that_is_wrong_in_both_is_refused() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let machine = dir.path().join("machine");
        std::fs::write(&machine, "[output]\ncolor = \"auto\"\n").expect("written");
        let refusals = Config::read_from(&machine, Some(dir.path())).expect_err("two reasons").all;
        let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        assert!(texts[0].contains("machine', line 2: unknown key color in [output]"), "{texts:?}");
        assert!(texts[0].contains("did you mean colour?"), "{texts:?}");
        assert!(texts[1].contains("cannot be read: Is a directory"), "{texts:?}");
        assert!(refusals.iter().all(|refusal| refusal.kind == RefusalKind::Input));
    }

    #[test]
    fn what_is_no_text_of_a_reasonable_size_is_refused() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let file = dir.path().join("file");
        let large = "#".repeat(usize::try_from(BYTES_MAX).expect("it is small") + 1).into_bytes();
        for (bytes, says) in [
            (&b"[output]\nquiet = true # \xff"[..], "cannot be read: it is no text in UTF-8 (line 2)"),
            (&large, "cannot be read: it is larger than 1024 KiB"),
            (b"[output]\nquiet =\n", "line 2: "),
            (b"[output\n", "the line is: [output"),
        ] {
            std::fs::write(&file, bytes).expect("written");
            let refusals = Config::read_from(&file, None).expect_err(says).all;
            assert!(refusals[0].to_string().contains(says), "{refusals:?}");
        }
    }

    #[test]
    fn keys_of_a_newer_version_are_warnings() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let file = dir.path().join("c");
        std::fs::write(&file, "version = 7\n[output]\nquiet = true\nsound = true\n").expect("written");
        let config = Config::read_from(&file, None).expect("a warning");
        assert_eq!(config.warnings.len(), 1);
        assert!(
            config.warnings[0].contains("line 4: unknown key sound in [output]"),
            "{:?}",
            config.warnings
        );
        assert!(config.get(Key::OutputQuiet).is_some());
    }
}

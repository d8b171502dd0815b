//! The configuration files: `/etc/truespd/config.toml` of the machine, and above it that of the person,
//! `$XDG_CONFIG_HOME/truespd/config.toml` or `~/.config/truespd/config.toml`. Variables and the command line
//! come above both ([`Force`]).
//!
//! Everything in them may be missing. What is not known is refused before anything happens: a misspelt line
//! would do nothing, and nobody would see. Only a file that says `version = N` with an N that is newer than
//! this program is believed to hold more than this program knows: then that is a warning. A number decides,
//! and not how near a key is to one that is known: a new key can look like an old one. A file without it is
//! taken for one of this version, because most people never write it, and their slips are to be found.
//!
//! Each process reads them once. Whatever comes before that sees what is usual.

mod file;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use file::{ALWAYS, KEYS, Key, NEVER, Row, Value};

use file::{AUTO, Wrong};
use truespd_core::profile::Release;
use truespd_platform::fault::{Refusal, RefusalKind, Refusals};
use truespd_platform::sys::destination::{Destination, LostWay, follow};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::file::FileKind;
use truespd_platform::sys::system;
use truespd_platform::sys::system::user;
use truespd_platform::text::{printable, printable_path};

const NAME: &str = "config.toml";

/// What is read when nothing was read yet.
static NOTHING: Config = Config { set: Vec::new(), files: Vec::new(), warnings: Vec::new() };
/// What this process has read.
static READ: OnceLock<Result<Config, Refusals>> = OnceLock::new();

/// The configuration, read when it was not yet.
///
/// # Errors
/// A file cannot be read, or says what is not known.
pub fn read() -> Result<&'static Config, Refusals> {
    READ.get_or_init(|| {
        Config::read_from(&system::machine_config_folder().join(NAME), person_file().as_deref())
    })
    .as_ref()
    .map_err(Clone::clone)
}

/// What was read so far.
pub fn known() -> &'static Config {
    READ.get().and_then(|read| read.as_ref().ok()).unwrap_or(&NOTHING)
}

pub fn in_force() -> Force<'static> {
    Force::new(known(), &|name| std::env::var_os(name))
}

fn person_file() -> Option<PathBuf> {
    system::config_folder().map(|folder| folder.join(NAME))
}

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
    /// This user may not read it, or may not see whether it is there.
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
        place_words(&self.file, self.line)
    }
}

fn place_words(file: &Path, line: usize) -> String {
    format!("'{}', line {line}", printable_path(file))
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
                Ok(Found::OfAnother(owner)) => {
                    config.warnings.push(format!(
                        "the configuration file '{}' belongs to user {owner}, or a link of that user leads to it, so \
                         nothing in it counts for root; give root one of its own (HOME or XDG_CONFIG_HOME)",
                        printable_path(path)
                    ));
                    State::Forbidden
                }
                Ok(Found::Text(text)) => {
                    config.take(path, &text).unwrap_or_else(|wrong| refusals.extend(wrong));
                    State::Read
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    State::Missing
                }
                // A program that root started as another user may still have root's home, where that user can know
                // nothing: there may be a file or not.
                Err(error)
                    if error.kind() == ErrorKind::PermissionDenied && path.symlink_metadata().is_err() =>
                {
                    State::Forbidden
                }
                // The machine's may be for root only.
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
        let said = file::parse(text)
            .map_err(|all| all.into_iter().map(|wrong| refusal(path, wrong)).collect::<Vec<Refusal>>())?;
        for set in said.set {
            self.set.push((set.key, set.value, At { file: path.to_path_buf(), line: set.line }));
        }
        for wrong in said.unknown {
            self.warnings.push(format!(
                "the configuration file {}: {} (the file is of a newer version)",
                place_words(path, wrong.line),
                wrong.what
            ));
        }
        Ok(())
    }

    /// What a key is set to, and where.
    pub fn get(&self, key: Key) -> Option<(&Value, &At)> {
        self.set.iter().rev().find(|(of, _, _)| *of == key).map(|(_, value, at)| (value, at))
    }
}

/// A file, as far as this user follows it.
enum Found {
    Text(String),
    /// It belongs to this user, or a link of this user leads to it: the settings of another user could have root
    /// replace files.
    OfAnother(u32),
}

fn text(path: &Path) -> std::io::Result<Found> {
    const ROOT: u32 = 0;
    // Opening a pipe would wait for somebody who writes to it.
    if FileKind::of(&path.metadata()?) == FileKind::Pipe {
        return Err(Error::new(ErrorKind::InvalidInput, "it is a pipe"));
    }
    let file = match (user(), follow(path)) {
        (ROOT, Err(LostWay::ForeignLink { owner, .. })) => return Ok(Found::OfAnother(owner)),
        (ROOT, Ok(Destination::Entry(entry))) => match entry.there {
            Some(there) if there.owner != ROOT => return Ok(Found::OfAnother(there.owner)),
            _ => entry.open_to_read()?,
        },
        _ => File::open(path)?,
    };
    text_of(file, BYTES_MAX).map(Found::Text)
}

fn refusal(file: &Path, wrong: Wrong) -> Refusal {
    let what = format!("the configuration file {}: {}", place_words(file, wrong.line), wrong.what);
    let hints = [
        wrong.legal.map(|legal| format!("legal: {legal}")),
        wrong.meant.map(|meant| format!("did you mean {meant}?")),
    ];
    Refusal::new(RefusalKind::Input, what)
        .on(file.display().to_string())
        .with_hints(hints.into_iter().flatten())
}

/// All of a small file that people write, as text.
///
/// # Errors
/// It cannot be read, is larger than so many bytes ([`ErrorKind::FileTooLarge`]), or is no UTF-8
/// ([`ErrorKind::InvalidData`]).
pub fn text_of(stream: impl Read, bytes_max: u64) -> std::io::Result<String> {
    String::from_utf8(bytes_of(stream, bytes_max)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        no_text(before.iter().filter(|byte| **byte == b'\n').count() + 1)
    })
}

/// All bytes of a small file that people write.
///
/// # Errors
/// It cannot be read, or is larger than the limit ([`ErrorKind::FileTooLarge`]).
pub fn bytes_of(stream: impl Read, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} KiB", bytes_max >> 10),
        ));
    }
    Ok(bytes)
}

/// The error for a file that is not UTF-8, with the first line that is not.
pub fn no_text(line: usize) -> Error {
    Error::new(ErrorKind::InvalidData, format!("it is no text in UTF-8 (line {line})"))
}

/// The file of the history.
pub const STORE: &str = "TRUESPD_STORE";
/// `0` keeps nothing, `1` keeps everything, also of `diskspd`.
pub const HISTORY: &str = "TRUESPD_HISTORY";
/// Silences as `--quiet` does, for programs whose command line cannot be changed. Anything but nothing and `0`.
const QUIET: &str = "TRUESPD_QUIET";
/// The release of DiskSpd that `diskspd` is compatible with.
pub const COMPAT: &str = "TRUESPD_COMPAT";
/// No colours (<https://no-color.org>): anything but nothing.
const NO_COLOUR: &str = "NO_COLOR";

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    Usual,
    /// A line of a file.
    File(At),
    /// A variable of the environment.
    Variable(&'static str),
}

/// A setting that is in force. It has no value where the usual one depends on the machine or the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub value: Option<Value>,
    pub from: From,
}

/// The files and the environment together.
pub struct Force<'a> {
    config: &'a Config,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Force<'a> {
    /// Of these files and this environment.
    pub fn new(config: &'a Config, variable: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Force { config, variable }
    }

    /// What is in force for a key.
    ///
    /// # Errors
    /// A variable has a value that means nothing.
    pub fn setting(&self, key: Key) -> Result<Setting, Refusal> {
        if let Some((name, value)) = self.by_variable(key)? {
            return Ok(Setting { value: Some(value), from: From::Variable(name) });
        }
        Ok(match self.config.get(key) {
            Some((value, at)) => Setting { value: Some(value.clone()), from: From::File(at.clone()) },
            None => Setting { value: usual(key), from: From::Usual },
        })
    }

    /// A setting that is true or false.
    ///
    /// # Errors
    /// As [`Force::setting`].
    pub fn flag(&self, key: Key) -> Result<bool, Refusal> {
        Ok(self.setting(key)?.value == Some(Value::Flag(true)))
    }

    /// Nothing is told beside a result but what DiskSpd prints.
    pub fn is_quiet(&self) -> bool {
        // This variable has no illegal value.
        self.flag(Key::OutputQuiet).unwrap_or_default()
    }

    pub fn colour(&self) -> &'static str {
        match self.setting(Key::OutputColour) {
            Ok(Setting { value: Some(Value::Word(word)), .. }) => word,
            _ => AUTO,
        }
    }

    /// The release of DiskSpd whose forms and defaults are meant where the line names none.
    ///
    /// # Errors
    /// As [`Force::setting`].
    pub fn release(&self) -> Result<Release, Refusal> {
        Ok(match self.setting(Key::DiskspdCompat)?.value {
            Some(Value::Word(word)) => Release::of_word(word).unwrap_or_default(),
            _ => Release::default(),
        })
    }

    /// All settings, in the order of the table.
    ///
    /// # Errors
    /// As [`Force::setting`].
    pub fn all(&self) -> Result<Vec<Setting>, Refusal> {
        KEYS.iter().map(|row| self.setting(row.key)).collect()
    }

    /// A variable that is set to more than nothing.
    fn filled(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn by_variable(&self, key: Key) -> Result<Option<(&'static str, Value)>, Refusal> {
        let found = match key {
            Key::HistoryKeep | Key::HistoryDiskspd => match self.filled(HISTORY) {
                Some(value) => Some((HISTORY, Value::Flag(zero_or_one(&value)?))),
                None => None,
            },
            Key::HistoryStore => self.filled(STORE).map(|value| (STORE, Value::Path(value.into()))),
            Key::OutputQuiet => self.filled(QUIET).map(|value| (QUIET, Value::Flag(value != "0"))),
            Key::OutputColour => self.filled(NO_COLOUR).map(|_| (NO_COLOUR, Value::Word(NEVER))),
            Key::DiskspdCompat => match self.filled(COMPAT) {
                Some(value) => Some((COMPAT, Value::Word(release_of(&value)?.word()))),
                None => None,
            },
            Key::TargetsFolder => None,
        };
        Ok(found)
    }
}

fn zero_or_one(value: &OsStr) -> Result<bool, Refusal> {
    match value.to_string_lossy().as_ref() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(Refusal::command_line(format!("the variable {HISTORY} is '{other}'"))
            .hint("set it to 0 to keep nothing, or to 1 to keep every result")),
    }
}

fn release_of(value: &OsStr) -> Result<Release, Refusal> {
    let word = value.to_string_lossy();
    Release::of_word(&word).ok_or_else(|| {
        Refusal::command_line(format!("the variable {COMPAT} is '{}'", printable(&word)))
            .hint(format!("set it to {}", Release::WORDS.join(" or to ")))
    })
}

fn usual(key: Key) -> Option<Value> {
    match key {
        Key::HistoryKeep => Some(Value::Flag(true)),
        Key::HistoryDiskspd | Key::OutputQuiet => Some(Value::Flag(false)),
        Key::OutputColour => Some(Value::Word(AUTO)),
        Key::DiskspdCompat => Some(Value::Word(Release::default().word())),
        Key::HistoryStore | Key::TargetsFolder => None,
    }
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

#[cfg(test)]
mod tests_of_force {
    use super::*;

    #[test]
    fn variables_come_above_files() {
        let mut config = Config::default();
        let text = "[history]\nkeep = false\nstore = \"/c\"\n[output]\nquiet = true\ncolour = \"always\"\n";
        config.take("/etc/c".as_ref(), text).expect("is right");
        let none = |_: &str| None;
        let by_file = Force::new(&config, &none);
        assert!(by_file.is_quiet() && by_file.colour() == "always");
        assert_eq!(by_file.flag(Key::HistoryKeep), Ok(false));
        let at = At { file: "/etc/c".into(), line: 3 };
        let store = Setting { value: Some(Value::Path("/c".into())), from: From::File(at) };
        assert_eq!(by_file.setting(Key::HistoryStore), Ok(store));
        let set = |name: &str| {
            let value = match name {
                QUIET => "0",
                NO_COLOUR | HISTORY => "1",
                STORE => "/v",
                COMPAT => "2.3",
                _ => return None,
            };
            Some(OsString::from(value))
        };
        let by_variable = Force::new(&config, &set);
        assert!(!by_variable.is_quiet() && by_variable.colour() == NEVER);
        let all = by_variable.all().expect("all are legal");
        let names: Vec<&From> = all.iter().map(|setting| &setting.from).collect();
        let wanted = [
            &From::Variable(HISTORY),
            &From::Variable(HISTORY),
            &From::Variable(STORE),
            &From::Variable(QUIET),
            &From::Variable(NO_COLOUR),
            &From::Usual,
            &From::Variable(COMPAT),
        ];
        assert_eq!(names, wanted);
        assert_eq!((by_file.release(), by_variable.release()), (Ok(Release::V2_2), Ok(Release::V2_3)));
        // An empty variable says nothing.
        let empty = |_: &str| Some(OsString::new());
        assert!(Force::new(&config, &empty).is_quiet());
        let odd = |_: &str| Some(OsString::from("maybe"));
        let refusal = Force::new(&config, &odd).all().expect_err("neither 0 nor 1");
        assert!(refusal.message.contains("TRUESPD_HISTORY is 'maybe'"));
    }
}

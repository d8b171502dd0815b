//! Where the kernel's own file trees are, so that tests can put recorded trees in their place.
//!
//! One short file of procfs or sysfs that says how something is set, with its path: who can read a setting can mostly
//! write it there, too.
//!
//! Short files of procfs and sysfs.

use std::fs::File;
use std::io;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::sys::error::{Code, system_text};
use crate::sys::file::filesystem;

/// Root directories of the kernel's trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs, normally `/proc`.
    pub proc: PathBuf,
    /// sysfs, normally `/sys`.
    pub sys: PathBuf,
    /// Device nodes, normally `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into() }
    }
}

/// Type of procfs as `statfs(2)` tells it (`linux/magic.h`).
const PROCFS: u64 = 0x9fa0;
const SYSFS: u64 = 0x6265_6572;

impl Roots {
    /// Fails when a folder of sysfs is missing or is something else than sysfs: containers put an empty file system
    /// over what they hide, and an empty folder would read as "no device". A recorded tree only has to be there.
    ///
    /// # Errors
    /// What the system says, or that another file system is there.
    pub(crate) fn check_sysfs(&self, folder: &Path) -> io::Result<()> {
        is_of_type(folder, (self.sys == Roots::default().sys).then_some(SYSFS))
    }

    /// The same for procfs.
    ///
    /// # Errors
    /// As [`Roots::check_sysfs`].
    pub fn check_procfs(&self, folder: &Path) -> io::Result<()> {
        is_of_type(folder, (self.proc == Roots::default().proc).then_some(PROCFS))
    }
}

fn is_of_type(folder: &Path, wanted: Option<u64>) -> io::Result<()> {
    let folder = File::open(folder)?;
    let Some(wanted) = wanted else { return Ok(()) };
    match filesystem(&folder)? {
        Some(found) if found.magic == wanted => Ok(()),
        _ => Err(io::Error::other("another file system is mounted over it")),
    }
}

/// A setting, as its file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Where the setting stands in sysfs or procfs.
    pub path: PathBuf,
    /// Its text without white space around it, or why there is none.
    pub value: Value,
}

/// What a file says, or why it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Its text without white space around it.
    Is(String),
    /// The kernel, the driver or the device has no such setting, or its file says nothing.
    Absent,
    /// It is there, and this process may not read it. With the system's text.
    Unreadable(String),
}

impl Setting {
    /// Reads the file now; a failure is a value, too.
    pub fn read(path: PathBuf) -> Self {
        let value = match std::fs::read(&path) {
            Ok(bytes) => match String::from_utf8_lossy(&bytes).trim() {
                "" => Value::Absent,
                text => Value::Is(text.to_string()),
            },
            Err(error) if is_absent(&error) => Value::Absent,
            Err(error) => Value::Unreadable(system_text(&error)),
        };
        Setting { path, value }
    }

    /// The text; `None` when there is none.
    pub fn word(&self) -> Option<&str> {
        match &self.value {
            Value::Is(text) => Some(text),
            Value::Absent | Value::Unreadable(_) => None,
        }
    }

    /// The chosen word of several, which stands in brackets (`none [mq-deadline] bfq`); else the whole text.
    pub fn chosen(&self) -> Option<&str> {
        let text = self.word()?;
        let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
        Some(bracketed.unwrap_or(text))
    }

    /// Whether a word is among those that can be chosen.
    pub fn offers(&self, word: &str) -> bool {
        self.word()
            .is_some_and(|text| text.split_whitespace().any(|each| each.trim_matches(['[', ']']) == word))
    }

    /// The text as a number.
    pub fn number<T: std::str::FromStr>(&self) -> Option<T> {
        self.word()?.parse().ok()
    }
}

/// Some files are there for every device, and say that theirs has no such thing.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput)
        || matches!(Code::of(error), Some(Code::NO_DEVICE | Code::NO_ADDRESS))
}

/// A file of one short line, trimmed; `None` when it is missing or unreadable.
pub fn read_word(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_string())
}

/// A file that holds one number.
pub fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_word(path)?.parse().ok()
}

/// [`read_number`] of a file in a directory.
pub(crate) fn number_in<T: std::str::FromStr>(dir: &Path, file: &str) -> Option<T> {
    read_number(&dir.join(file))
}

/// Whether a text is a decimal number without a sign.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names in a directory, sorted; none when it is not there.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_the_place_of_sysfs_is_not_taken_for_it() {
        let real = Roots::default();
        assert!(real.check_sysfs(Path::new("/sys/block")).is_ok());
        assert!(real.check_procfs(Path::new("/proc/self/fd")).is_ok());
        let folder = tempfile::tempdir().unwrap();
        assert!(real.check_sysfs(folder.path()).is_err() && real.check_procfs(folder.path()).is_err());
        assert!(real.check_sysfs(&folder.path().join("none")).is_err());
        let at = |name: &str| folder.path().join(name);
        let recorded = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        assert!(recorded.check_sysfs(folder.path()).is_ok() && recorded.check_procfs(folder.path()).is_ok());
    }
}

#[cfg(test)]
mod tests_setting {
    use super::*;

    #[test]
    fn a_setting_is_its_text_or_the_word_in_brackets() {
        let dir = tempfile::tempdir().expect("a folder");
        let read = |text: &str| {
            std::fs::write(dir.path().join("scheduler"), text).expect("a file");
            Setting::read(dir.path().join("scheduler"))
        };
        let scheduler = read("none [mq-deadline] kyber bfq \n");
        assert_eq!(scheduler.chosen(), Some("mq-deadline"));
        assert!(scheduler.offers("none") && scheduler.offers("mq-deadline") && !scheduler.offers("mq"));
        assert_eq!(scheduler.number::<u32>(), None);
        assert_eq!((read("256\n").number(), read("none\n").chosen()), (Some(256u32), Some("none")));
        let missing = Setting::read(dir.path().join("none"));
        assert_eq!(
            (missing.value.clone(), missing.word(), missing.offers("none")),
            (Value::Absent, None, false)
        );
        assert!(matches!(Setting::read(dir.path().into()).value, Value::Unreadable(_)));
        assert_eq!(read("\n").value, Value::Absent, "an empty file");
    }
}

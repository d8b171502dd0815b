//! Documents that last: one SQLite file with every result and every suite, found again by id, label, host, device, time
//! or verdict.
//!
//! The file holds each document as it was written, byte for byte and compressed, beside a row of facts about it
//! ([`Facts`]) that lists and statistics read. A run must never be lost for the history: whatever goes wrong is a
//! [`HistoryError`], and what becomes of it is for the callers.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use truespd_platform::fault::{Failure, FailureKind, Fault, Refusal, RefusalKind};
use truespd_platform::sys::error::system_text;
use truespd_platform::text::{printable, printable_path};

mod beside;
mod entry;
mod expectation;
mod open;
mod redact;
mod shared;
mod statistics;
mod store;
mod surroundings;

pub use beside::Beside;
pub use entry::{Added, Device, Entry, ExportedLine, FORMAT, Facts, Given, LineError, NewEntry};
pub use expectation::{Expectation, Likeness, metric_of};
pub use open::{DEFAULT_NAME, Journal, Store};
pub use redact::Redaction;
pub use shared::{FileError, Names, Put, Shared};
pub use statistics::{Environment, Group, Rank, Spread};
pub use store::Filter;
pub use surroundings::Surroundings;

/// What a caller decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is not known where it should be: neither XDG_DATA_HOME nor HOME is set.
    NoPlace,
    Full,
    /// No document has this id or label.
    Unknown,
    Other,
}

/// Why the history cannot be used, and which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryError {
    /// The file; none where it is not known where it should be.
    path: Option<PathBuf>,
    pub problem: Problem,
    /// What is wrong, in one sentence.
    message: String,
    hint: Option<String>,
}

impl std::error::Error for HistoryError {}

impl fmt::Display for HistoryError {
    /// In one line, with what to do next.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl HistoryError {
    fn new(path: &Path, message: String, hint: impl Into<String>) -> Self {
        let path = Some(path.to_path_buf());
        HistoryError { path, problem: Problem::Other, message, hint: Some(hint.into()) }
    }

    /// `what` is said of the file; another one is to be used.
    fn refused(path: &Path, what: &str) -> Self {
        Self::new(path, format!("'{}' is no {what}", printable_path(path)), "give another file with --store")
    }

    fn damaged(path: &Path, how: &str) -> Self {
        let shown = printable_path(path);
        let hint = format!(
            "to begin a new one, move this one away: mv {shown} {shown}.damaged; the tool sqlite3 can often save what \
             is left (.recover)"
        );
        Self::new(path, format!("the history '{shown}' is damaged: {}", printable(how)), hint)
    }

    fn full(path: &Path) -> Self {
        let message = format!("there is no space left for the history '{}'", printable_path(path));
        let full =
            Self::new(path, message, "free some space there, or use a file elsewhere with --store FILE");
        HistoryError { problem: Problem::Full, ..full }
    }

    fn read_only(path: &Path) -> Self {
        let shown = printable_path(path);
        let message = format!("the history '{shown}' cannot be written here: no permission, or read-only");
        Self::new(path, message, "use a file that you may write with --store FILE")
    }

    fn busy(path: &Path) -> Self {
        let message =
            format!("another program kept the history '{}' locked for too long", printable_path(path));
        Self::new(path, message, "try again, and see who has it open: fuser -v FILE")
    }

    fn unknown(path: &Path, word: &str) -> Self {
        let shown = printable_path(path);
        let message = format!("the history '{shown}' has no document with the id or label '{word}'");
        let unknown = Self::new(path, message, "truespd history list shows what there is");
        HistoryError { problem: Problem::Unknown, ..unknown }
    }

    fn other(path: &Path, how: &str) -> Self {
        let message = format!("the history '{}' cannot be used: {}", printable_path(path), printable(how));
        HistoryError { hint: None, ..Self::new(path, message, "") }
    }

    /// Makes an error of one of the system about the file or its folder.
    fn of_system(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::full(path),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::read_only(path),
            _ => Self::other(path, &system_text(&error)),
        }
    }

    /// Makes an error of one of SQLite about the file.
    fn of_sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |error| match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                Self::refused(path, "history: it is not a SQLite file, or its beginning is damaged")
            }
            Some(ErrorCode::DiskFull) => Self::full(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::read_only(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::busy(path),
            None if matches!(error, rusqlite::Error::QueryReturnedNoRows) => {
                let message = format!("the history '{}' did not keep what was written", printable_path(path));
                let hint = "see who else changes this file, or use another one with --store FILE";
                Self::new(path, message, hint)
            }
            // Without a code: columns that do not hold what the layout says.
            Some(ErrorCode::DatabaseCorrupt) | None => Self::damaged(path, &sqlite_words(&error)),
            Some(_) => Self::other(path, &sqlite_words(&error)),
        }
    }
}

/// What SQLite says, without the numbers of its codes.
fn sqlite_words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(words)) => words.clone(),
        rusqlite::Error::SqliteFailure(code, None) => {
            let text = code.to_string();
            text.split_once(": ").map_or(text.clone(), |(_, words)| words.to_string())
        }
        other => other.to_string(),
    }
}

impl From<HistoryError> for Refusal {
    fn from(error: HistoryError) -> Self {
        let refusal = Refusal::new(RefusalKind::Input, error.message).with_hints(error.hint);
        match &error.path {
            Some(path) => refusal.on(path.display().to_string()),
            None => refusal,
        }
    }
}

impl From<HistoryError> for Fault {
    fn from(error: HistoryError) -> Self {
        Refusal::from(error).into()
    }
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        let failure = Failure::new(FailureKind::Output, error.message);
        error.hint.into_iter().fold(failure, Failure::hint)
    }
}

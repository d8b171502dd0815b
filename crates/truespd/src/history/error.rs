//! Why the history cannot be read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use truespd_core::fault::{Failure, FailureKind, Fault, Refusal, RefusalKind};
use truespd_core::sys::error::system_text;
use truespd_core::text::{printable, printable_path};

/// What is wrong with the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It is not known where it should be: neither XDG_DATA_HOME nor HOME is set.
    NoPlace,
    /// The file belongs to another user, with this number.
    OfAnother(u32),
    /// The path leads to something that is no regular file.
    NoFile,
    /// The file is no SQLite database.
    NotSqlite,
    /// The file is a database of another program.
    Foreign,
    /// A later version of this program wrote it.
    Newer {
        version: i64,
        /// The latest that this program knows.
        known: i64,
    },
    /// An earlier version wrote it, and it cannot be changed here.
    Older {
        version: i64,
    },
    /// Its content is damaged; what SQLite says.
    Damaged(String),
    /// Another program put a trigger there, which changes or drops what is written; its name.
    Trigger(String),
    /// What was written is not there.
    NotKept,
    Full,
    /// The file, its folder or its file system can only be read.
    ReadOnly,
    /// Another program has held it for longer than it was waited.
    Busy,
    /// No document has this id or label.
    Unknown(String),
    /// Several documents have ids that begin so; some of them.
    Ambiguous(String, Vec<String>),
    /// Several documents have this label; some of their ids.
    Shared(String, Vec<String>),
    /// The system or SQLite says something else.
    Other(String),
}

/// Why the history cannot be used, and which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryError {
    /// The file; none where it is not known where it should be.
    pub path: Option<PathBuf>,
    pub problem: Problem,
}

impl std::error::Error for HistoryError {}

impl fmt::Display for HistoryError {
    /// In one line, with what to do next.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, hint) = self.words();
        f.write_str(&message)?;
        hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl HistoryError {
    pub(super) fn new(path: &Path, problem: Problem) -> Self {
        HistoryError { path: Some(path.to_path_buf()), problem }
    }

    /// There is no place for a history.
    pub(super) fn no_place() -> Self {
        HistoryError { path: None, problem: Problem::NoPlace }
    }

    /// An error of the system about the file or its folder.
    pub(super) fn of_system(path: &Path, error: &io::Error) -> Self {
        let problem = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Problem::Full,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Problem::ReadOnly,
            _ => Problem::Other(system_text(error)),
        };
        Self::new(path, problem)
    }

    pub(super) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let problem = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Problem::NotSqlite,
            Some(ErrorCode::DatabaseCorrupt) => Problem::Damaged(sqlite_words(error)),
            Some(ErrorCode::DiskFull) => Problem::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Problem::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Problem::Busy,
            Some(_) => Problem::Other(sqlite_words(error)),
            None if matches!(error, rusqlite::Error::QueryReturnedNoRows) => Problem::NotKept,
            // Columns that do not hold what the layout says.
            None => Problem::Damaged(sqlite_words(error)),
        };
        Self::new(path, problem)
    }

    /// What is wrong, in one sentence, and what to do next.
    pub fn words(&self) -> (String, Option<String>) {
        let path = self.path.as_deref().map(printable_path).unwrap_or_default();
        let (message, hint) = match &self.problem {
            Problem::NoPlace => (
                "neither XDG_DATA_HOME nor HOME is set, so there is no place for the history".into(),
                "set one of them, or give a file with --store",
            ),
            Problem::OfAnother(owner) => (
                format!("the history '{path}' belongs to user {owner}, not to you"),
                "use one of your own with --store FILE",
            ),
            Problem::NoFile => (
                format!("'{path}' is no regular file, so it cannot hold the history"),
                "give another file with --store",
            ),
            Problem::NotSqlite => (
                format!("'{path}' is no history: it is not a SQLite file, or its beginning is damaged"),
                "give another file with --store",
            ),
            Problem::Foreign => (
                format!("'{path}' is no history: it is the database of another program"),
                "give another file with --store",
            ),
            Problem::Newer { version, known } => (
                format!(
                    "the history '{path}' has version {version}, but this program knows versions up to {known}: a \
                     newer truespd wrote it"
                ),
                "use that version, or another file with --store",
            ),
            Problem::Older { version } => (
                format!(
                    "the history '{path}' has version {version} and must be brought to the present one, but it can \
                     only be read here"
                ),
                "copy the file to a folder where you may write, and name the copy: --store FILE",
            ),
            Problem::Damaged(how) => {
                let hint = format!(
                    "to begin a new one, move this one away: mv {path} {path}.damaged; the tool sqlite3 can often \
                     save what is left (.recover)"
                );
                return (format!("the history '{path}' is damaged: {}", printable(how)), Some(hint));
            }
            Problem::Trigger(name) => {
                let name = printable(name);
                let message = format!(
                    "the history '{path}' has a trigger '{name}', which another program put there: it may change or \
                     drop what is written"
                );
                let remove = format!("sqlite3 {path} 'DROP TRIGGER \"{name}\"'");
                return (
                    message,
                    Some(format!("remove it ({remove}), or use another file with --store FILE")),
                );
            }
            Problem::NotKept => (
                format!("the history '{path}' did not keep what was written"),
                "see who else changes this file, or use another one with --store FILE",
            ),
            Problem::Full => (
                format!("there is no space left for the history '{path}'"),
                "free some space there, or use a file elsewhere with --store FILE",
            ),
            Problem::ReadOnly => (
                format!("the history '{path}' cannot be written here: no permission, or read-only"),
                "use a file that you may write with --store FILE",
            ),
            Problem::Busy => (
                format!("another program kept the history '{path}' locked for too long"),
                "try again, and see who has it open: fuser -v FILE",
            ),
            Problem::Unknown(word) => (
                format!("the history '{path}' has no document with the id or label '{word}'"),
                "truespd history list shows what there is",
            ),
            Problem::Ambiguous(word, ids) => {
                (format!("'{word}' is the beginning of several ids: {}", ids.join(", ")), "type more of it")
            }
            Problem::Shared(word, ids) => (
                format!("several documents have the label '{word}': {}", ids.join(", ")),
                "give the id of one of them",
            ),
            Problem::Other(how) => {
                return (format!("the history '{path}' cannot be used: {}", printable(how)), None);
            }
        };
        (message, Some(hint.to_string()))
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
        let (message, hint) = error.words();
        let refusal = Refusal::new(RefusalKind::Input, message).with_hints(hint);
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
        let (message, hint) = error.words();
        let failure = Failure::new(FailureKind::Output, message);
        hint.into_iter().fold(failure, Failure::hint)
    }
}

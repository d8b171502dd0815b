//! Opening the file: where it is, whose it is, which version it has, and how SQLite keeps a half-written change
//! apart, which depends on the file system.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};

use super::{HistoryError, Problem};
use truespd_platform::sys::destination::make_private_folders;
use truespd_platform::sys::file::{self, FileKind, Stat, filesystem};
use truespd_platform::sys::lock::{Lock, lock};
use truespd_platform::sys::system;
use truespd_platform::sys::system::user;
use truespd_platform::text::{printable, printable_path};

/// `application_id` of our files: "TSpd" (sqlite.org/fileformat2.html, "Application ID").
const APPLICATION_ID: i64 = 0x5453_7064;

/// What makes version `n` of a file of version `n - 1`, from version 1 on. A released step never changes; a
/// new version is a new step, with a file of the version before it in `tests/data/history`.
const STEPS: &[&str] = &[
    include_str!("schema/version-1.sql"),
    include_str!("schema/version-2.sql"),
    include_str!("schema/version-3.sql"),
];

/// Name of the file in the person's data folder.
pub const DEFAULT_NAME: &str = "history.sqlite";

/// How long others may hold the file. Each of them holds it for the time of one small write and its flush.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a lock file is tried.
const LOCK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Store {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    journal: Journal,
    /// Held while the history is open, where SQLite's own locks do not work. Closed after `db`: fields go in
    /// their order.
    _lock: Option<File>,
}

impl Store {
    /// Where the history of this user is: `$XDG_DATA_HOME/truespd/history.sqlite`, or below `~/.local/share`.
    ///
    /// # Errors
    /// [`Problem::NoPlace`].
    pub fn default_path() -> Result<PathBuf, HistoryError> {
        system::data_folder().map(|folder| folder.join(DEFAULT_NAME)).ok_or_else(|| HistoryError {
            path: None,
            problem: Problem::NoPlace,
            message: "neither XDG_DATA_HOME nor HOME is set, so there is no place for the history".into(),
            hint: Some("set one of them, or give a file with --store".into()),
        })
    }

    /// Opens the file for reading and writing, and makes it and its folder when they are missing. Another
    /// user's file is not touched: what root writes there, its owner could not write any more.
    ///
    /// # Errors
    /// [`HistoryError`]; a file that is no history is as it was.
    pub fn open(path: &Path) -> Result<Store, HistoryError> {
        let file = match check(path)? {
            Some(()) => File::open(path).map_err(HistoryError::of_system(path))?,
            None => make(path).map_err(HistoryError::of_system(path))?,
        };
        file::may_write(path).map_err(|_| HistoryError::read_only(path))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let network = needs_rollback(&file);
        let lock = if network.is_some_and(needs_lock_file) { Some(take_lock(path)?) } else { None };
        let db = match &lock {
            None => Connection::open_with_flags(path, flags),
            Some(_) => {
                Connection::open_with_flags(address(path, "nolock=1"), flags | OpenFlags::SQLITE_OPEN_URI)
            }
        };
        let mut db = db.map_err(HistoryError::of_sqlite(path))?;
        db.busy_timeout(PATIENCE).map_err(HistoryError::of_sqlite(path))?;
        version(&db, path, STEPS)?;
        let journal = set_journal(&db, network, PATIENCE).map_err(HistoryError::of_sqlite(path))?;
        db.pragma_update(None, "foreign_keys", true).map_err(HistoryError::of_sqlite(path))?;
        migrate(&mut db, path, STEPS)?;
        Ok(Store { db, path: path.to_path_buf(), journal, _lock: lock })
    }

    /// Opens the file for reading; none when there is no file or an empty one, which is a history without
    /// documents. Where file and folder may be written this is [`Store::open`], since a file of an earlier
    /// version is brought to the present one.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn open_to_read(path: &Path) -> Result<Option<Store>, HistoryError> {
        if check(path)?.is_none() || is_empty(path) {
            return Ok(None);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if file::may_write(path).is_ok() && file::may_write(folder).is_ok() {
            match Self::open(path) {
                // What is there can be read without room for a log.
                Err(error) if error.problem == Problem::Full => {}
                opened => return opened.map(Some),
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // A reader of a write-ahead log needs files beside it, which cannot be made here. Without a log there
        // is nothing that changes while the file is read-only.
        let db = if has_length(&beside(path, "-wal")) {
            Connection::open_with_flags(path, flags)
        } else {
            Connection::open_with_flags(address(path, "immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)
        };
        let db = db.map_err(HistoryError::of_sqlite(path))?;
        db.busy_timeout(PATIENCE).map_err(HistoryError::of_sqlite(path))?;
        let version = version(&db, path, STEPS)?;
        if version < latest(STEPS) {
            let message = format!(
                "the history '{}' has version {version} and must be brought to the present one, but it can only \
                 be read here",
                printable_path(path)
            );
            let hint = "copy the file to a folder where you may write, and name the copy: --store FILE";
            return Err(HistoryError::new(path, message, hint));
        }
        let (path, journal) = (path.to_path_buf(), Journal::ReadOnly);
        Ok(Some(Store { db, path, journal, _lock: None }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it keeps half-written changes apart.
    pub fn journal(&self) -> Journal {
        self.journal
    }

    /// A history has no triggers of its own.
    ///
    /// # Errors
    /// It has one: what is written may then not be kept.
    pub(super) fn check_triggers(&self) -> Result<(), HistoryError> {
        let query = "SELECT name FROM sqlite_schema WHERE type = 'trigger' LIMIT 1";
        let found = self.db.query_row(query, [], |row| row.get::<_, String>(0)).optional();
        let Some(name) = found.map_err(|error| self.fault(error))? else { return Ok(()) };
        let (name, path) = (printable(&name), printable_path(&self.path));
        let message = format!(
            "the history '{path}' has a trigger '{name}', which another program put there: it may change or drop what \
             is written"
        );
        let remove = format!("sqlite3 {path} 'DROP TRIGGER \"{name}\"'");
        let hint = format!("remove it ({remove}), or use another file with --store FILE");
        Err(HistoryError::new(&self.path, message, hint))
    }

    /// An error of SQLite about this file.
    pub(super) fn fault(&self, error: rusqlite::Error) -> HistoryError {
        HistoryError::of_sqlite(&self.path)(error)
    }

    /// Does several changes as one: all of them, or none.
    ///
    /// # Errors
    /// That of `change`, or what SQLite says.
    pub(super) fn change<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        self.check_triggers()?;
        let path = &self.path;
        let done =
            self.db.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                let done = change(&transaction)?;
                transaction.commit().map(|()| done)
            });
        done.map_err(HistoryError::of_sqlite(path))
    }
}

/// Whether it is a database that nothing was ever put into: an empty file, too. Reading makes no history of it.
fn is_empty(path: &Path) -> bool {
    if !has_length(path) {
        return true;
    }
    // What another process has just written may be in its log only.
    if has_length(&beside(path, "-wal")) || has_length(&beside(path, "-journal")) {
        return false;
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(address(path, "immutable=1"), flags);
    db.is_ok_and(|db| version(&db, path, STEPS) == Ok(0))
}

fn has_length(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.len() > 0)
}

/// A file beside the database, of SQLite.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

/// Waits until nobody else has the history open. The file beside it stays; the system releases the lock of a killed
/// program.
fn take_lock(path: &Path) -> Result<File, HistoryError> {
    let beside = beside(path, "-lock");
    let opened = File::options().write(true).create(true).truncate(false).open(&beside);
    let file = opened.map_err(HistoryError::of_system(&beside))?;
    let end = Instant::now() + PATIENCE;
    loop {
        match lock(&file, Lock::Try) {
            Ok(()) => return Ok(file),
            // A server of SMB says that access is denied.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::PermissionDenied)
                    && Instant::now() < end =>
            {
                std::thread::sleep(LOCK_EVERY);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(HistoryError::busy(path));
            }
            Err(error) => return Err(HistoryError::of_system(&beside)(error)),
        }
    }
}

/// The address of a file with a parameter: `immutable=1` for one that nobody changes, `nolock=1` without SQLite's locks
/// (sqlite.org/uri.html).
fn address(path: &Path, parameter: &str) -> String {
    let path = path.to_string_lossy();
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let slash = if escaped.starts_with('/') { "//" } else { "" };
    format!("file:{slash}{escaped}?{parameter}")
}

/// Whether there is a file that this user may use; none when there is nothing.
fn check(path: &Path) -> Result<Option<()>, HistoryError> {
    match Stat::at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(HistoryError::of_system(path)(error)),
        Ok(stat) if stat.kind != FileKind::Regular => {
            Err(HistoryError::refused(path, "regular file, so it cannot hold the history"))
        }
        Ok(stat) if stat.owner != user() => {
            let (shown, owner) = (printable_path(path), stat.owner);
            let message = format!("the history '{shown}' belongs to user {owner}, not to you");
            Err(HistoryError::new(path, message, "use one of your own with --store FILE"))
        }
        Ok(_) => Ok(Some(())),
    }
}

/// Makes an empty file, which is an empty database, in a folder for this user alone. Another process may do so now.
fn make(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_private_folders(folder).map_err(io::Error::other)?;
    }
    match File::options().write(true).create_new(true).open(path) {
        Ok(made) => file::make_private_file(path).map(|()| made),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::open(path),
        Err(error) => Err(error),
    }
}

fn latest(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).expect("there are a few")
}

/// The version of the layout; 0 of an empty file.
///
/// # Errors
/// It is no history, or one that this program does not know.
fn version(db: &Connection, path: &Path, steps: &[&str]) -> Result<i64, HistoryError> {
    // One statement for all three: another program may make the history between two.
    let query = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) \
                 FROM pragma_application_id, pragma_user_version";
    let (application, version, tables): (i64, i64, i64) = db
        .query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .map_err(HistoryError::of_sqlite(path))?;
    if application == APPLICATION_ID && version > latest(steps) {
        let message = format!(
            "the history '{}' has version {version}, but this program knows versions up to {}: \
             a newer truespd wrote it",
            printable_path(path),
            latest(steps)
        );
        Err(HistoryError::new(path, message, "use that version, or another file with --store"))
    } else if application == APPLICATION_ID && version > 0 {
        Ok(version)
    } else if application == 0 && version == 0 && tables == 0 {
        Ok(0)
    } else {
        Err(HistoryError::refused(path, "history: it is the database of another program"))
    }
}

/// Brings a file to the latest version, all of it or nothing.
fn migrate(db: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), HistoryError> {
    if version(db, path, steps)? == latest(steps) {
        return Ok(());
    }
    let transaction = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(HistoryError::of_sqlite(path))?;
    // Another process may have done it meanwhile.
    let from = usize::try_from(version(&transaction, path, steps)?).unwrap_or(0);
    for step in &steps[from..] {
        transaction.execute_batch(step).map_err(HistoryError::of_sqlite(path))?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(HistoryError::of_sqlite(path))?;
    transaction.pragma_update(None, "user_version", latest(steps)).map_err(HistoryError::of_sqlite(path))?;
    transaction.commit().map_err(HistoryError::of_sqlite(path))
}

/// What the file system of Windows' servers is called.
const SMB: &str = "SMB";

/// File systems whose memory is not shared between hosts (or need not be, in user space): a write-ahead log needs that
/// (sqlite.org/wal.html, "Overview"). Magic numbers of `statfs(2)` and `linux/magic.h`.
const WITHOUT_SHARED_MEMORY: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, SMB),
    (0xff53_4d42, SMB),
    (0xfe53_4d42, SMB),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7375_7245, "Coda"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x786f_4256, "a folder of the virtual machine's host"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// Changes go to a log beside the file; readers and a writer do not wait for each other.
    WriteAhead,
    /// The old content goes to a journal first, because the file is on such a file system.
    RollbackOn(&'static str),
    /// The same, and a lock file keeps others out instead of SQLite's locks.
    LockFileOn(&'static str),
    /// The same, because SQLite could not make a write-ahead log here.
    Rollback,
    /// Nothing is written: the file or its folder is read-only.
    ReadOnly,
}

impl Journal {
    /// For people, behind "journal: ".
    pub fn words(self) -> String {
        match self {
            Journal::WriteAhead => "write-ahead log".into(),
            Journal::RollbackOn(what) => {
                format!("rollback journal, because a write-ahead log does not work on {what}")
            }
            Journal::LockFileOn(what) => {
                format!("rollback journal with a lock file, because SQLite's own locks do not work on {what}")
            }
            Journal::Rollback => "rollback journal, because no write-ahead log can be made here".into(),
            Journal::ReadOnly => "none: the file can only be read here".into(),
        }
    }
}

/// The name of the file system of an open file, where it needs a rollback journal.
fn needs_rollback(file: &File) -> Option<&'static str> {
    // A file system that does not answer is local: network ones do.
    let magic = filesystem(file).ok().flatten()?.magic;
    WITHOUT_SHARED_MEMORY.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

/// Whether SQLite can never lock a file there to write it: it makes its shared lock on some bytes an
/// exclusive one, and a server of SMB refuses an exclusive lock beside the shared one of the same program.
fn needs_lock_file(file_system: &str) -> bool {
    file_system == SMB
}

/// Sets the journal of an open database, and how far a commit goes: to the medium.
///
/// # Errors
/// What SQLite says.
fn set_journal(
    db: &Connection,
    network: Option<&'static str>,
    patience: Duration,
) -> rusqlite::Result<Journal> {
    if let Some(name) = network {
        // Without memory that is shared, a log left by a write-ahead journal is only read under an exclusive lock.
        db.pragma_update(None, "locking_mode", "exclusive")?;
        journal_mode(db, "truncate", patience)?;
        db.pragma_update(None, "locking_mode", "normal")?;
        // The lock of the exclusive mode goes with the next read.
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        db.pragma_update(None, "synchronous", "extra")?;
        let has_lock_file = needs_lock_file(name);
        return Ok(if has_lock_file { Journal::LockFileOn(name) } else { Journal::RollbackOn(name) });
    }
    if journal_mode(db, "wal", patience)? == "wal" {
        // Every commit of the log is flushed: it outlives a power loss (sqlite.org/pragma.html, "synchronous").
        db.pragma_update(None, "synchronous", "full")?;
        return Ok(Journal::WriteAhead);
    }
    journal_mode(db, "truncate", patience)?;
    db.pragma_update(None, "synchronous", "extra")?;
    Ok(Journal::Rollback)
}

/// Asks for a journal mode and returns that in use. SQLite does not wait by itself for others that open the file now.
fn journal_mode(db: &Connection, wanted: &str, patience: Duration) -> rusqlite::Result<String> {
    let present: String = db.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if present == wanted {
        return Ok(present);
    }
    let end = Instant::now() + patience;
    loop {
        match db.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get::<_, String>(0)) {
            Err(error) if is_busy(&error) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5))
            }
            other => return other,
        }
    }
}

/// Another program has the file.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_step_changes_files_of_the_version_before_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(DEFAULT_NAME);
        drop(Store::open(&path).unwrap());
        let steps = [STEPS, &["CREATE TABLE later (word TEXT) STRICT;"]].concat();
        for _ in 0..2 {
            let mut db = Connection::open(&path).unwrap();
            migrate(&mut db, &path, &steps).unwrap();
            assert_eq!(version(&db, &path, &steps), Ok(latest(&steps)));
            db.execute("INSERT INTO later VALUES ('x')", []).unwrap();
        }
        let known = latest(STEPS);
        let newer = format!("has version {}, but this program knows versions up to {known}:", known + 1);
        assert!(Store::open(&path).unwrap_err().to_string().contains(&newer));
        assert!(Store::open_to_read(&path).unwrap_err().to_string().contains(&newer));
    }

    /// What one of them reads of a new file must not be half of before and half of after another one's first step.
    #[test]
    fn many_may_make_the_file_at_once() {
        const ROUNDS: usize = 20;
        const AT_ONCE: usize = 16;
        for _ in 0..ROUNDS {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(DEFAULT_NAME);
            let start = std::sync::Barrier::new(AT_ONCE);
            std::thread::scope(|scope| {
                for _ in 0..AT_ONCE {
                    scope.spawn(|| {
                        start.wait();
                        assert_eq!(Store::open(&path).map(|_| ()), Ok(()));
                    });
                }
            });
        }
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(DEFAULT_NAME);
        drop(Store::open(&path).unwrap());
        let steps = [STEPS, &["CREATE TABLE later (word TEXT) STRICT;", "no SQL;"]].concat();
        let mut db = Connection::open(&path).unwrap();
        migrate(&mut db, &path, &steps).unwrap_err();
        assert_eq!(version(&db, &path, STEPS), Ok(latest(STEPS)));
        assert!(db.prepare("SELECT word FROM later").is_err());
    }

    #[test]
    fn reading_makes_no_history() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("empty"), "").unwrap();
        let made = Connection::open(at("without tables")).unwrap();
        made.execute_batch("CREATE TABLE gone (x); DROP TABLE gone; VACUUM").unwrap();
        drop(made);
        for name in ["empty", "without tables", "none"] {
            let before = fs::read(at(name)).ok();
            assert!(Store::open_to_read(&at(name)).unwrap().is_none(), "{name}");
            assert_eq!(fs::read(at(name)).ok(), before, "{name}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing was made beside them");
        Store::open(&at("empty")).unwrap();
        assert!(Store::open_to_read(&at("empty")).unwrap().is_some());
    }

    #[test]
    fn what_is_no_history_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("other.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("CREATE TABLE mine (x); PRAGMA user_version = 1;").unwrap();
        drop(db);
        let before = fs::read(&path).unwrap();
        let refusal = |path: &Path| Store::open(path).unwrap_err().to_string();
        assert!(refusal(&path).contains("is the database of another program"));
        fs::write(dir.path().join("text"), "no database, but more than a hundred bytes of text ".repeat(30))
            .unwrap();
        assert!(refusal(&dir.path().join("text")).contains("it is not a SQLite file"));
        assert!(refusal(dir.path()).contains("is no regular file"));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert!(Store::open_to_read(&dir.path().join("none")).unwrap().is_none());
        assert!(!dir.path().join("none").exists());
    }
}

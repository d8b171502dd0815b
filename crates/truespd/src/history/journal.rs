//! How SQLite keeps a half-written change apart, by the file system that the file is on.

use std::fs::File;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use truespd_core::sys::file::filesystem;

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

/// The journal in use.
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
pub(super) fn needs_rollback(file: &File) -> Option<&'static str> {
    // A file system that does not answer is local: network ones do.
    let magic = filesystem(file).ok().flatten()?.magic;
    WITHOUT_SHARED_MEMORY.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

/// Whether SQLite can never lock a file there to write it: it makes its shared lock on some bytes an
/// exclusive one, and a server of SMB refuses an exclusive lock beside the shared one of the same program.
pub(super) fn needs_lock_file(file_system: &str) -> bool {
    file_system == SMB
}

/// Sets the journal of an open database, and how far a commit goes: to the medium.
///
/// # Errors
/// What SQLite says.
pub(super) fn set(
    db: &Connection,
    network: Option<&'static str>,
    patience: Duration,
) -> rusqlite::Result<Journal> {
    if let Some(name) = network {
        // Without memory that is shared, a log left by a write-ahead journal is only read under an exclusive lock.
        db.pragma_update(None, "locking_mode", "exclusive")?;
        mode(db, "truncate", patience)?;
        db.pragma_update(None, "locking_mode", "normal")?;
        // The lock of the exclusive mode goes with the next read.
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        db.pragma_update(None, "synchronous", "extra")?;
        let has_lock_file = needs_lock_file(name);
        return Ok(if has_lock_file { Journal::LockFileOn(name) } else { Journal::RollbackOn(name) });
    }
    if mode(db, "wal", patience)? == "wal" {
        // Every commit of the log is flushed: it outlives a power loss (sqlite.org/pragma.html, "synchronous").
        db.pragma_update(None, "synchronous", "full")?;
        return Ok(Journal::WriteAhead);
    }
    mode(db, "truncate", patience)?;
    db.pragma_update(None, "synchronous", "extra")?;
    Ok(Journal::Rollback)
}

/// Asks for a journal mode and returns that in use. SQLite does not wait by itself for others that open the file now.
fn mode(db: &Connection, wanted: &str, patience: Duration) -> rusqlite::Result<String> {
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
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

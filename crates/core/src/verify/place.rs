//! Where a run may put a file of its own: a name that is free, or one of an earlier run's file of the same kind.

use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::Path;

use truespd_platform::sys::destination::{Destination, Entry, LostWay, follow};
use truespd_platform::sys::file::FileKind;

/// Why a run cannot have a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// Something is there that is not such a file, and stays.
    Taken,
    /// The run that writes the file goes on.
    InUse,
    /// The path leads nowhere, or through a link of another user.
    Lost(LostWay),
}

impl From<LostWay> for PlaceError {
    fn from(lost: LostWay) -> Self {
        PlaceError::Lost(lost)
    }
}

/// Whether a file that begins with this line can be put there. Nothing is changed.
///
/// # Errors
/// [`PlaceError`].
pub fn check_place(path: &Path, first_line: &str) -> Result<(), PlaceError> {
    entry_for(path, first_line).map(drop)
}

/// Makes an empty file, in the place of an earlier one that begins with this line, and locks it until it is closed,
/// so that others see that the run goes on.
///
/// # Errors
/// [`PlaceError`]; what is there stays as it is.
pub fn make(path: &Path, first_line: &str) -> Result<File, PlaceError> {
    let entry = entry_for(path, first_line)?;
    let made = match entry.there {
        Some(_) => entry.folder.remove_entry(&entry.name),
        None => Ok(()),
    }
    .and_then(|()| entry.folder.make_entry(&entry.name));
    let file = made.map_err(|code| LostWay::System { at: path.to_path_buf(), code })?;
    // File systems without locks do not tell that it goes on.
    let _ = file.try_lock();
    Ok(file)
}

fn entry_for(path: &Path, first_line: &str) -> Result<Entry, PlaceError> {
    let Destination::Entry(entry) = follow(path)? else { return Err(PlaceError::Taken) };
    match entry.there.map(|there| there.kind) {
        None => return Ok(entry),
        Some(FileKind::Regular) => {}
        // A pipe would wait for somebody who writes.
        Some(_) => return Err(PlaceError::Taken),
    }
    let Ok(mut file) = entry.open_to_read() else { return Err(PlaceError::Taken) };
    let mut begin = vec![0; first_line.len()];
    if file.read_exact(&mut begin).is_err() || begin != first_line.as_bytes() {
        return Err(PlaceError::Taken);
    }
    if is_in_use(&file) { Err(PlaceError::InUse) } else { Ok(entry) }
}

/// Whether a run that goes on has locked an open file of its own.
pub fn is_in_use(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_file_of_the_same_kind_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let running = make(&path, "kind\n").unwrap();
        fs::write(&path, "kind\nold").unwrap();
        assert_eq!(make(&path, "kind\n").unwrap_err(), PlaceError::InUse);
        drop(running);
        assert_eq!(make(&path, "other\n").unwrap_err(), PlaceError::Taken);
        assert_eq!(fs::read(&path).unwrap(), b"kind\nold");
        make(&path, "kind\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(check_place(dir.path(), "kind\n"), Err(PlaceError::Taken));
        assert!(matches!(check_place(&dir.path().join("no/x"), "kind\n"), Err(PlaceError::Lost(_))));
    }
}

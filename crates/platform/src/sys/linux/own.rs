//! Folders in which this user keeps what the program remembers: marks, maps, journals.
//!
//! What is read there decides what may be overwritten or removed, so it counts only where nobody but this user can
//! have put it. Root may have the home of another user, who can put links and files there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::destination::{LostWay, make_private_folders, open_way};
use super::directory::Directory;
use super::error::{Code, system_text};
use super::file::{FileKind, Stat};
use super::identity::names;
use super::system::user;

/// Bits of a mode that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a folder, or a file in it, is not this user's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NotOwn {
    #[error("the folder is a symbolic link, or no folder")]
    NoFolder,
    #[error("the folder belongs to another user; set XDG_STATE_HOME to a folder of your own")]
    FolderOfAnother,
    #[error("other users may write to the folder; forbid that (chmod 700)")]
    OpenFolder,
    #[error("it is not a regular file")]
    NotPlain,
    #[error("it belongs to another user")]
    OfAnother,
    #[error("other users may write to it")]
    Open,
    #[error("it has more than one name (hard links)")]
    Linked,
    /// The way to the folder.
    #[error(transparent)]
    Lost(#[from] LostWay),
    #[error("{0}")]
    System(String),
}

impl From<NotOwn> for io::Error {
    fn from(why: NotOwn) -> Self {
        io::Error::other(why)
    }
}

/// An open folder of this user's own.
#[derive(Debug)]
pub struct OwnFolder {
    folder: Directory,
    path: PathBuf,
}

impl OwnFolder {
    /// Makes the folder with those above that are missing, for this user alone. Follows no link of another user.
    ///
    /// # Errors
    /// [`NotOwn`].
    pub fn make(path: &Path) -> Result<Self, NotOwn> {
        make_private_folders(path)?;
        let folder = Directory::open(path).map_err(|_| NotOwn::NoFolder)?;
        let about = folder.stat().map_err(|code| NotOwn::System(code.text()))?;
        if about.owner == user() && about.mode & WRITABLE_BY_OTHERS != 0 {
            // Made by an umask that lets others write.
            let private = std::fs::Permissions::from_mode(0o700);
            folder.as_file().set_permissions(private).map_err(|error| NotOwn::System(system_text(&error)))?;
        }
        OwnFolder::checked(folder, path)
    }

    /// Opens the folder; `None` when it is not there.
    ///
    /// # Errors
    /// [`NotOwn`].
    pub fn open(path: &Path) -> Result<Option<Self>, NotOwn> {
        match open_way(path) {
            Ok(_) => {}
            Err(LostWay::System { code: Code::NOT_FOUND, .. }) => return Ok(None),
            Err(lost @ LostWay::ForeignLink { .. }) => return Err(lost.into()),
            Err(LostWay::System { .. }) => return Err(NotOwn::NoFolder),
        }
        match Directory::open(path) {
            Ok(folder) => OwnFolder::checked(folder, path).map(Some),
            Err(Code::NOT_FOUND) => Ok(None),
            Err(_) => Err(NotOwn::NoFolder),
        }
    }

    fn checked(folder: Directory, path: &Path) -> Result<Self, NotOwn> {
        let about = folder.stat().map_err(|_| NotOwn::NoFolder)?;
        if about.owner != user() {
            Err(NotOwn::FolderOfAnother)
        } else if about.mode & WRITABLE_BY_OTHERS != 0 {
            Err(NotOwn::OpenFolder)
        } else {
            Ok(OwnFolder { folder, path: path.to_path_buf() })
        }
    }

    /// Path of an entry, for messages.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a file of this user for reading; `None` when nothing has the name.
    ///
    /// # Errors
    /// [`NotOwn`].
    pub fn open_file(&self, name: &str) -> Result<Option<File>, NotOwn> {
        let file = match self.folder.open_entry(name) {
            Ok(file) => file,
            Err(Code::NOT_FOUND) => return Ok(None),
            Err(_) => return Err(NotOwn::NotPlain),
        };
        let about = file.metadata().map_err(|_| NotOwn::NotPlain)?;
        let stat = Stat::of(&about);
        if stat.kind != FileKind::Regular {
            Err(NotOwn::NotPlain)
        } else if stat.owner != user() {
            Err(NotOwn::OfAnother)
        } else if stat.mode & WRITABLE_BY_OTHERS != 0 {
            Err(NotOwn::Open)
        } else if names(&about) != 1 {
            Err(NotOwn::Linked)
        } else {
            Ok(Some(file))
        }
    }

    /// The beginning of a file as text, at most so many bytes; `None` when nothing has the name, or it is not text.
    ///
    /// # Errors
    /// [`NotOwn`].
    pub fn read(&self, name: &str, bytes_max: u64) -> Result<Option<String>, NotOwn> {
        let Some(file) = self.open_file(name)? else { return Ok(None) };
        let mut text = String::new();
        Ok(file.take(bytes_max).read_to_string(&mut text).is_ok().then_some(text))
    }

    /// Writes a file under another name and renames it, so that a reader never sees half of it.
    ///
    /// # Errors
    /// What the system says; nothing is left of it.
    pub fn put(&self, name: &str, text: &str) -> io::Result<()> {
        let beside = format!(".{}.{:?}", std::process::id(), std::thread::current().id());
        let _ = self.folder.remove_entry(&beside);
        let mut file = self.folder.make_entry(&beside)?;
        let placed = file
            .set_permissions(std::fs::Permissions::from_mode(0o600))
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| Ok(self.folder.rename_entry(&beside, OsStr::new(name))?));
        placed.inspect_err(|_| {
            let _ = self.folder.remove_entry(&beside);
        })
    }

    /// Removes a file; nothing happens when nothing has the name.
    pub fn remove(&self, name: &str) {
        let _ = self.folder.remove_entry(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::{give_to, set_mode, symlink};
    use std::fs;

    #[test]
    fn folders_are_made_for_this_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        OwnFolder::make(&path).unwrap().put("x", "text").unwrap();
        for folder in ["a", "a/b", "a/b/c"] {
            assert_eq!(Stat::at(&dir.path().join(folder)).unwrap().mode & 0o7777, 0o700, "{folder}");
        }
        assert_eq!(Stat::at(&path.join("x")).unwrap().mode & 0o7777, 0o600);
        let folder = OwnFolder::open(&path).unwrap().unwrap();
        assert_eq!(folder.read("x", 100).unwrap().as_deref(), Some("text"));
        folder.put("x", "more").unwrap();
        assert_eq!(folder.read("x", 2).unwrap().as_deref(), Some("mo"));
        folder.remove("x");
        assert_eq!(folder.read("x", 100), Ok(None));
        assert!(OwnFolder::open(&path.join("none/at/all")).unwrap().is_none());
    }

    #[test]
    fn links_and_files_of_another_user_do_not_count() {
        if user() != 0 {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (home, mine) = (dir.path().join("home"), dir.path().join("mine"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&mine).unwrap();
        symlink(&mine, home.join("state")).unwrap();
        let nobody = Some(rustix::fs::Uid::from_raw(65534));
        let link = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(rustix::fs::CWD, home.join("state"), nobody, None, link).unwrap();
        let path = home.join("state/verify");
        assert!(matches!(OwnFolder::make(&path), Err(NotOwn::Lost(LostWay::ForeignLink { .. }))));
        assert!(matches!(OwnFolder::open(&path), Err(NotOwn::Lost(LostWay::ForeignLink { .. }))));
        assert_eq!(fs::read_dir(&mine).unwrap().count(), 0, "nothing is made where it leads");
        let folder = OwnFolder::make(&home.join("own")).unwrap();
        folder.put("x", "text").unwrap();
        give_to(&home.join("own/x"), 65534).unwrap();
        assert_eq!(folder.read("x", 9), Err(NotOwn::OfAnother));
        give_to(&home.join("own"), 65534).unwrap();
        assert_eq!(OwnFolder::open(&home.join("own")).unwrap_err(), NotOwn::FolderOfAnother);
        give_to(&home.join("own"), 0).unwrap();
        set_mode(&home.join("own"), 0o777).unwrap();
        assert_eq!(OwnFolder::open(&home.join("own")).unwrap_err(), NotOwn::OpenFolder);
    }
}

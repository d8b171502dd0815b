//! An open directory, and calls on its entries: its path may meanwhile lead elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

use super::error::Code;
use super::file::Stat;

/// An open directory. Its entries are found through it, because its path may meanwhile lead elsewhere.
#[derive(Debug)]
pub struct Directory(File);

impl Directory {
    /// Opens a directory; a link to one is none.
    ///
    /// # Errors
    /// What `open(2)` says.
    pub fn open(path: &Path) -> Result<Directory, Code> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).map(|open| Directory(File::from(open))).map_err(code)
    }

    /// A directory that is open.
    pub(super) fn from_open(open: File) -> Directory {
        Directory(open)
    }

    /// For calls on its entries.
    pub(super) fn handle(&self) -> &File {
        &self.0
    }

    /// What it is.
    ///
    /// # Errors
    /// What `fstat(2)` says.
    pub fn stat(&self) -> Result<Stat, Code> {
        Stat::of_open(&self.0).map_err(|error| Code::of(&error).unwrap_or(Code::IO))
    }

    /// Opens an entry for reading, and neither follows a link nor waits for the writer of a pipe.
    ///
    /// # Errors
    /// What `openat(2)` says.
    pub fn open_entry(&self, name: &str) -> Result<File, Code> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.0, name, flags, Mode::empty()).map(File::from).map_err(code)
    }

    /// Removes an entry that is no directory.
    ///
    /// # Errors
    /// What `unlinkat(2)` says.
    pub fn remove_entry(&self, name: impl AsRef<OsStr>) -> Result<(), Code> {
        rustix::fs::unlinkat(&self.0, name.as_ref(), AtFlags::empty()).map_err(code)
    }

    pub(super) fn look_at(&self, name: &OsStr) -> Result<File, Code> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.handle(), name, flags, Mode::empty()).map(File::from).map_err(code)
    }

    /// The open folder, for questions.
    pub fn as_file(&self) -> &File {
        self.handle()
    }

    /// Makes a file without a name; it is gone when it is closed.
    ///
    /// # Errors
    /// What `openat(2)` says; not all file systems have such files.
    pub fn make_nameless(&self) -> Result<File, Code> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.handle(), c".", flags, Mode::from_raw_mode(0o600));
        file.map(File::from).map_err(code)
    }

    /// What has the name at this moment; of a link its own.
    pub fn stat_of(&self, name: &OsStr) -> Option<Stat> {
        Stat::of_open(&self.look_at(name).ok()?).ok()
    }

    /// Opens an entry that is a folder; a link to one is none.
    ///
    /// # Errors
    /// What `openat(2)` says.
    pub fn open_folder(&self, name: &OsStr) -> Result<Directory, Code> {
        self.to_folder(name, OFlags::NOFOLLOW)
    }

    pub(super) fn follow_to_folder(&self, name: &OsStr) -> Result<Directory, Code> {
        self.to_folder(name, OFlags::empty())
    }

    fn to_folder(&self, name: &OsStr, more: OFlags) -> Result<Directory, Code> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
        let opened = rustix::fs::openat(self.handle(), name, flags, Mode::empty()).map_err(code)?;
        Ok(Directory::from_open(File::from(opened)))
    }

    /// Makes a new file and opens it for writing, with the permissions of the user's umask.
    ///
    /// # Errors
    /// What `openat(2)` says; [`Code::ALREADY_EXISTS`] when the name is taken, also by a link.
    pub fn make_entry(&self, name: impl AsRef<OsStr>) -> Result<File, Code> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::openat(self.handle(), name.as_ref(), flags, mode).map(File::from).map_err(code)
    }

    /// Makes a new file that holds these bytes.
    ///
    /// # Errors
    /// As [`Directory::make_entry`], and what a write says.
    pub fn put_new(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.make_entry(name)?.write_all(bytes)
    }

    /// Gives an entry another name, in place of what has that name; a link of that name is replaced, not followed.
    ///
    /// # Errors
    /// What `renameat(2)` says.
    pub fn rename_entry(&self, from: &str, to: &OsStr) -> Result<(), Code> {
        rustix::fs::renameat(self.handle(), from, self.handle(), to).map_err(code)
    }

    /// Gives an entry another name that nothing has.
    ///
    /// # Errors
    /// What `renameat2(2)` says; [`Code::ALREADY_EXISTS`] when the name is taken.
    pub fn rename_entry_to_free(&self, from: impl AsRef<OsStr>, to: &OsStr) -> Result<(), Code> {
        let (own, from) = (self.handle(), from.as_ref());
        match rustix::fs::renameat_with(own, from, own, to, RenameFlags::NOREPLACE).map_err(code) {
            // Some file systems do not know the flag.
            Err(Code::INVALID | Code::NOT_IMPLEMENTED) => {
                rustix::fs::linkat(own, from, own, to, AtFlags::empty()).map_err(code)?;
                self.remove_entry(from)
            }
            other => other,
        }
    }

    /// The names of the entries.
    ///
    /// # Errors
    /// What `openat(2)` and `getdents64(2)` say: a folder may be written that may not be read.
    pub fn names(&self) -> Result<Vec<OsString>, Code> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(self.handle(), c".", flags, Mode::empty()).map_err(code)?;
        let entries = rustix::fs::Dir::new(open).map_err(code)?;
        let names = entries
            .map(|entry| Ok(OsStr::from_bytes(entry.map_err(code)?.file_name().to_bytes()).to_os_string()));
        names.collect()
    }
}

fn code(errno: rustix::io::Errno) -> Code {
    Code::of(&errno.into()).unwrap_or(Code::IO)
}

//! Where a path leads for a file that is to be written, link by link, and how such a file is made: through
//! the open folder, so that nobody can put another place under the path meanwhile. A result is made under
//! another name in the same folder; the target of a test under its own.
//!
//! Links of other users are not followed. In a folder that others may write, such a link is a way to make
//! this user (often root) replace a file of the planter's choice: `fs.protected_symlinks` in
//! `proc_sys_fs(5)`, which not every system has on and which holds for sticky folders only.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

use super::directory::Directory;
use super::error::Code;
use super::file::{self, FileKind, Stat};
use super::identity::Identity;
use super::system;
use crate::text::printable_path;

/// Links that are followed in one path, as the kernel does (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;
const PROC_MAGIC: u64 = 0x9fa0;
/// Permissions of a folder of one user.
const PRIVATE: u32 = 0o700;
/// Owner of what the system itself provides.
const ROOT: u32 = 0;

/// Why a path leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LostWay {
    /// What the system says about a part of the path.
    #[error("{}", code.text())]
    System {
        /// The part, with all before it.
        at: PathBuf,
        /// Error number of the system.
        code: Code,
    },
    /// A link that another user made.
    #[error(
        "'{}' is a link that user {owner} made, and links of other users are not followed; to write where it \
         leads, name that path: '{}'",
        printable_path(link),
        printable_path(to)
    )]
    ForeignLink {
        /// Path of the link that is not followed.
        link: PathBuf,
        /// Number of the user who owns it.
        owner: u32,
        /// Where the link and the rest of the path lead.
        to: PathBuf,
    },
}

/// Where a path leads when it is followed link by link.
#[derive(Debug)]
pub enum Destination {
    /// To a name in a folder.
    Entry(Entry),
    /// To a file that is open already: `/dev/stdout`, `/dev/fd/63`. That of a target is open for questions only.
    Open(File),
}

/// A name in an open folder.
#[derive(Debug)]
pub struct Entry {
    /// The open folder that holds the name.
    pub folder: Directory,
    /// The name within the folder, one part.
    pub name: OsString,
    /// Both as a path without links.
    pub path: PathBuf,
    /// What has the name now, which is no link; `None` when nothing has it.
    pub there: Option<Stat>,
    /// Folders of the path, below `folder`, that are not there. Of a result none may be missing.
    pub missing: Vec<OsString>,
    /// Folders that were made, from above, each with the folder that it is in.
    made: Vec<(Directory, OsString)>,
}

/// What the way is gone for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// A result: what is open already is written as it is open, and folders must be there.
    Result,
    /// The target of a test: nothing is opened for writing, and folders may be missing.
    Target,
}

/// Follows a path to where a result of that name would be.
///
/// # Errors
/// [`LostWay`].
pub fn follow(path: &Path) -> Result<Destination, LostWay> {
    Walk::begin(path, Aim::Result)?.walk()
}

/// Follows a path to where the target of a test is, or would be made. Nothing is opened but for questions.
///
/// # Errors
/// [`LostWay`].
pub fn follow_target(path: &Path) -> Result<Destination, LostWay> {
    let destination = Walk::begin(path, Aim::Target)?.walk()?;
    let Destination::Entry(entry) = &destination else { return Ok(destination) };
    let bytes = path.as_os_str().as_bytes();
    if !bytes.ends_with(b"/") && !bytes.ends_with(b"/.") {
        return Ok(destination);
    }
    let code = match entry.there.map(|there| there.kind) {
        Some(FileKind::Directory) => return Ok(destination),
        Some(_) => Code::NOT_A_DIRECTORY,
        None => Code::IS_A_DIRECTORY,
    };
    Err(LostWay::System { at: path.to_path_buf(), code })
}

/// Makes a folder with those above that are missing, and follows no link of another user on the way.
///
/// # Errors
/// [`LostWay`].
pub fn make_folders(path: &Path) -> Result<(), LostWay> {
    match Walk::begin(&path.join("x"), Aim::Target)?.walk()? {
        Destination::Entry(mut entry) => entry.make_folders(),
        Destination::Open(_) => Err(LostWay::System { at: path.to_path_buf(), code: Code::NOT_A_DIRECTORY }),
    }
}

/// Makes a folder where there is none, in one that is there, and follows no link of another user on the way.
///
/// # Errors
/// [`LostWay`].
pub fn make_folder(path: &Path) -> Result<(), LostWay> {
    match follow(path)? {
        Destination::Entry(entry) if entry.there.is_none() => {
            match rustix::fs::mkdirat(entry.folder.handle(), &entry.name, Mode::from_raw_mode(0o777)) {
                // Another process makes it as well.
                Err(rustix::io::Errno::EXIST) => Ok(()),
                made => made.map_err(|errno| lost(path, code(errno))),
            }
        }
        _ => Ok(()),
    }
}

/// The same for what only this user may look at; also where the umask would let others.
///
/// # Errors
/// [`LostWay`].
pub fn make_private_folders(path: &Path) -> Result<(), LostWay> {
    match Walk::begin(&path.join("x"), Aim::Target)?.walk()? {
        Destination::Entry(mut entry) => entry.make_folders_as(PRIVATE),
        Destination::Open(_) => Err(LostWay::System { at: path.to_path_buf(), code: Code::NOT_A_DIRECTORY }),
    }
}

/// Opens a folder, for calls on its entries, and follows no link of another user on the way.
///
/// # Errors
/// [`LostWay`].
pub fn open_way(path: &Path) -> Result<Directory, LostWay> {
    match Walk::begin(&path.join("x"), Aim::Result)?.walk()? {
        Destination::Entry(entry) => Ok(entry.folder),
        Destination::Open(_) => Err(LostWay::System { at: path.to_path_buf(), code: Code::NOT_A_DIRECTORY }),
    }
}

struct Walk {
    folder: Directory,
    path: PathBuf,
    /// What is still to be gone.
    ahead: VecDeque<OsString>,
    links: u32,
    aim: Aim,
}

impl Walk {
    fn begin(path: &Path, aim: Aim) -> Result<Walk, LostWay> {
        let start = PathBuf::from(if path.is_absolute() { "/" } else { "." });
        let folder = start_at(&start)?;
        let start = if path.is_absolute() { start } else { std::env::current_dir().unwrap_or(start) };
        Ok(Walk { folder, path: start, ahead: parts(path), links: 0, aim })
    }

    fn walk(mut self) -> Result<Destination, LostWay> {
        while let Some(part) = self.ahead.pop_front() {
            if part == ".." {
                self.up()?;
                continue;
            }
            let at = self.path.join(&part);
            let is_last = self.ahead.is_empty();
            let seen = match self.folder.look_at(&part) {
                Ok(seen) => seen,
                Err(Code::NOT_FOUND) if is_last => {
                    return Ok(Destination::Entry(self.entry(part, None)));
                }
                // Where `..` of a folder leads that is not there is not known.
                Err(Code::NOT_FOUND)
                    if self.aim == Aim::Target && self.ahead.iter().all(|name| name != "..") =>
                {
                    return Ok(Destination::Entry(self.entry_below(part)));
                }
                Err(code) => return Err(lost(&at, code)),
            };
            let stat = Stat::of_open(&seen).map_err(|_| lost(&at, Code::IO))?;
            match stat.kind {
                FileKind::Link => {
                    if let Some(open) = self.follow_link(&part, &seen, &stat)? {
                        return Ok(Destination::Open(open));
                    }
                }
                _ if is_last => return Ok(Destination::Entry(self.entry(part, Some(stat)))),
                _ => {
                    self.folder = self.folder.open_folder(&part).map_err(|code| lost(&at, code))?;
                    self.path = at;
                }
            }
        }
        // The path ends with `..` or `.`, or is the root: a folder.
        let stat = self.folder.stat().ok();
        Ok(Destination::Entry(self.entry(OsString::from("."), stat)))
    }

    fn entry(self, name: OsString, there: Option<Stat>) -> Entry {
        let (missing, made) = (Vec::new(), Vec::new());
        Entry { path: self.path.join(&name), folder: self.folder, name, there, missing, made }
    }

    /// The name at the end of the path, below folders of which the first is missing.
    fn entry_below(mut self, first: OsString) -> Entry {
        let mut missing = vec![first];
        missing.extend(self.ahead.drain(..));
        let name = missing.pop().unwrap_or_default();
        let path = self.path.join(missing.iter().collect::<PathBuf>()).join(&name);
        Entry { path, missing, ..self.entry(name, None) }
    }

    fn up(&mut self) -> Result<(), LostWay> {
        let at = self.path.join("..");
        self.folder =
            self.folder.open_folder(OsStr::new("..")).map_err(|code| LostWay::System { at, code })?;
        self.path.pop();
        Ok(())
    }

    /// Puts what a link names before what is still to be gone. The file, when the link is of one that is open.
    fn follow_link(&mut self, name: &OsStr, link: &File, stat: &Stat) -> Result<Option<File>, LostWay> {
        let at = self.path.join(name);
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(lost(&at, Code::LINK_LOOP));
        }
        let to = rustix::fs::readlinkat(link, c"", Vec::new()).map_err(|errno| lost(&at, code(errno)))?;
        let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
        let is_of_proc = matches!(file::filesystem(link), Ok(Some(found)) if found.magic == PROC_MAGIC);
        if is_of_proc && (to.is_absolute() || to.as_os_str().as_bytes().contains(&b':')) {
            return self.follow_proc(name, &at);
        }
        if ![ROOT, system::user()].contains(&stat.owner) {
            let to = self.ahead.iter().fold(self.path.join(to), |path, name| path.join(name));
            return Err(LostWay::ForeignLink { link: at, owner: stat.owner, to });
        }
        if to.is_absolute() {
            self.path = PathBuf::from("/");
            self.folder = start_at(&self.path)?;
        }
        for part in parts(&to).into_iter().rev() {
            self.ahead.push_front(part);
        }
        Ok(None)
    }

    /// A link of procfs to something that a process has open. Its text need not be a path, and only the
    /// kernel follows it.
    fn follow_proc(&mut self, name: &OsStr, at: &Path) -> Result<Option<File>, LostWay> {
        if self.ahead.is_empty() && self.aim == Aim::Target {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let open = rustix::fs::openat(self.folder.handle(), name, flags, Mode::empty());
            return open.map(|open| Some(File::from(open))).map_err(|errno| lost(at, code(errno)));
        }
        if self.ahead.is_empty() {
            let own = Path::new("/proc").join(std::process::id().to_string()).join("fd");
            // Not opened again: what was redirected to a file goes on behind what was written there so far.
            let opened = match name.to_str().and_then(|name| name.parse().ok()) {
                Some(number) if self.path == own => duplicate(number),
                _ => open_to_append(&self.folder, name),
            };
            return opened.map(Some).map_err(|code| lost(at, code));
        }
        self.folder = self.folder.follow_to_folder(name).map_err(|code| lost(at, code))?;
        self.path = at.to_path_buf();
        Ok(None)
    }
}

fn lost(at: &Path, code: Code) -> LostWay {
    LostWay::System { at: at.to_path_buf(), code }
}

/// The folder that a way begins in. One that may only be passed through cannot be opened for reading.
fn start_at(path: &Path) -> Result<Directory, LostWay> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| lost(path, code(errno)))?;
    Ok(Directory::from_open(File::from(open)))
}

/// The parts of a path that are gone one by one.
fn parts(path: &Path) -> VecDeque<OsString> {
    let names = path.as_os_str().as_bytes().split(|&byte| byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    names.map(|name| OsStr::from_bytes(name).to_os_string()).collect()
}

/// The open file behind a number of this process, once more.
fn duplicate(number: i32) -> Result<File, Code> {
    // SAFETY: the number is used for one call, which fails when nothing is open under it.
    let open = unsafe { BorrowedFd::borrow_raw(number) };
    let own = rustix::io::fcntl_dupfd_cloexec(open, 3).map_err(code)?;
    let flags = rustix::fs::fcntl_getfl(&own).map_err(code)?;
    if flags & OFlags::ACCMODE == OFlags::RDONLY { Err(Code::BAD_FILE) } else { Ok(File::from(own)) }
}

fn open_to_append(folder: &Directory, name: &OsStr) -> Result<File, Code> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder.handle(), name, flags, Mode::empty()).map_err(code)?;
    wait_in_writes(File::from(opened))
}

/// From here on, writes wait.
fn wait_in_writes(file: File) -> Result<File, Code> {
    let flags = rustix::fs::fcntl_getfl(&file).map_err(code)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(code)?;
    Ok(file)
}

impl Entry {
    /// Opens the pipe or character device that has the name, for writing. Nothing is made or cut.
    ///
    /// # Errors
    /// What `openat(2)` says; [`Code::NO_ADDRESS`] for a pipe that nobody reads; [`Code::AGAIN`] when
    /// something else has the name now.
    pub fn open_stream(&self) -> Result<File, Code> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened =
            rustix::fs::openat(self.folder.handle(), &self.name, flags, Mode::empty()).map_err(code)?;
        let file = File::from(opened);
        let is_same = Stat::of_open(&file)
            .is_ok_and(|now| self.there.is_some_and(|there| there.identity() == now.identity()));
        if is_same { wait_in_writes(file) } else { Err(Code::AGAIN) }
    }

    /// Opens the regular file that has the name, to write behind what it holds; makes it when nothing has the name.
    ///
    /// # Errors
    /// What `openat(2)` says; [`Code::AGAIN`] when something else has the name now.
    pub fn open_to_append(&self) -> Result<File, Code> {
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NONBLOCK
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file = rustix::fs::openat(self.folder.handle(), &self.name, flags, mode).map_err(code)?;
        let file = File::from(file);
        let is_right = Stat::of_open(&file).is_ok_and(|now| {
            now.kind == FileKind::Regular && self.there.is_none_or(|there| there.identity() == now.identity())
        });
        if is_right { Ok(file) } else { Err(Code::AGAIN) }
    }

    /// Whether this user may write what has the name.
    ///
    /// # Errors
    /// What `faccessat(2)` says: no permission, a read-only file system.
    pub fn may_write(&self) -> Result<(), Code> {
        let how = rustix::fs::Access::WRITE_OK;
        rustix::fs::accessat(self.folder.handle(), &self.name, how, AtFlags::EACCESS).map_err(code)
    }

    /// Whether this user may make a file of that name, and the folders that are missing. Nothing is made.
    ///
    /// # Errors
    /// What the system would say.
    pub fn may_make(&self) -> Result<(), Code> {
        let how = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(self.folder.handle(), c".", how, AtFlags::EACCESS).map_err(code)?;
        let room = rustix::fs::fstatvfs(self.folder.handle()).map_err(code)?;
        let names = self.missing.iter().chain([&self.name]);
        if room.f_namemax > 0 && names.into_iter().any(|name| name.len() as u64 > room.f_namemax) {
            return Err(Code::NAME_TOO_LONG);
        }
        // Some file systems do not count their files.
        if room.f_files > 0 && room.f_favail == 0 { Err(Code::NO_SPACE) } else { Ok(()) }
    }

    /// Makes the folders that are missing. After that `folder` is that of the name.
    ///
    /// # Errors
    /// [`LostWay::System`]; what was made by then is removed.
    pub fn make_folders(&mut self) -> Result<(), LostWay> {
        self.make_folders_as(0o777)
    }

    /// Makes them with these permissions. The umask takes its part away, but not from [`PRIVATE`] folders.
    fn make_folders_as(&mut self, mode: u32) -> Result<(), LostWay> {
        let above = self.path.ancestors().nth(self.missing.len() + 1).unwrap_or(Path::new("/"));
        let mut at = above.to_path_buf();
        for name in std::mem::take(&mut self.missing) {
            at.push(&name);
            if let Err(code) = self.make_folder(name, mode) {
                self.remove_folders();
                return Err(LostWay::System { at, code });
            }
        }
        Ok(())
    }

    fn make_folder(&mut self, name: OsString, mode: u32) -> Result<(), Code> {
        let is_new = match rustix::fs::mkdirat(self.folder.handle(), &name, Mode::from_raw_mode(mode)) {
            // Another run needs it as well.
            Err(rustix::io::Errno::EXIST) => false,
            answer => answer.map_err(code).map(|()| true)?,
        };
        let below = self.folder.open_folder(&name)?;
        let owner = below.stat()?.owner;
        // Another user's folder has taken its place.
        if owner != system::user() && (is_new || owner != ROOT) {
            return Err(Code::AGAIN);
        }
        let above = std::mem::replace(&mut self.folder, below);
        if is_new {
            if mode == PRIVATE {
                self.give_back_permissions().map_err(code)?;
            }
            self.made.push((above, name));
        }
        Ok(())
    }

    /// An umask can take permissions away that this program needs. The handle is for its entries only.
    fn give_back_permissions(&self) -> rustix::io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(self.folder.handle(), c".", flags, Mode::empty())?;
        rustix::fs::fchmod(folder, Mode::from_raw_mode(PRIVATE))
    }

    /// Removes the folders that were made, if they are empty.
    pub fn remove_folders(&self) {
        for (above, name) in self.made.iter().rev() {
            // Something else is in it by now, perhaps.
            let _ = rustix::fs::unlinkat(above.handle(), name, AtFlags::REMOVEDIR);
        }
    }

    /// The first of the folders that were made.
    pub fn first_made(&self) -> Option<PathBuf> {
        if self.made.is_empty() {
            return None;
        }
        self.path.ancestors().nth(self.made.len()).map(Path::to_path_buf)
    }

    /// Opens what has the name for questions only.
    ///
    /// # Errors
    /// What `openat(2)` says; [`Code::AGAIN`] when something else has the name now.
    pub fn look(&self) -> Result<File, Code> {
        self.same(self.folder.look_at(&self.name)?)
    }

    /// Opens the regular file that has the name, for reading.
    ///
    /// # Errors
    /// As [`Entry::look`].
    pub fn open_to_read(&self) -> Result<File, Code> {
        self.open_regular(OFlags::RDONLY)
    }

    /// Opens the regular file that has the name, for reading and writing; makes it when nothing had the name.
    /// What it holds stays.
    ///
    /// # Errors
    /// As [`Entry::look`]; [`Code::ALREADY_EXISTS`] when something has the name that had nothing.
    pub fn open_to_fill(&self) -> Result<File, Code> {
        match self.there {
            Some(_) => self.open_regular(OFlags::RDWR),
            None => self.folder.make_entry(&self.name),
        }
    }

    fn open_regular(&self, how: OFlags) -> Result<File, Code> {
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::openat(self.folder.handle(), &self.name, flags, Mode::empty()).map_err(code) {
            Ok(file) => wait_in_writes(self.same(File::from(file))?),
            // A lease of another program, for which this would have to wait.
            Err(Code::AGAIN) => Err(Code::BUSY),
            // A link has the name now, or nothing.
            Err(Code::LINK_LOOP | Code::NOT_FOUND) => Err(Code::AGAIN),
            Err(code) => Err(code),
        }
    }

    fn same(&self, opened: File) -> Result<File, Code> {
        let now = Stat::of_open(&opened).map_err(|_| Code::IO)?;
        let is_same = self.there.is_some_and(|there| there.identity() == now.identity());
        if is_same { Ok(opened) } else { Err(Code::AGAIN) }
    }

    /// Removes the name if it is a name of this file. It is changed first, because another file could take it
    /// between check and removal.
    pub fn remove_if(&self, own: Identity) -> bool {
        let aside = OsString::from(format!(".truespd-{}.removed", std::process::id()));
        if !self.folder.is_name_of(&self.name, own)
            || self.folder.rename_entry_to_free(&self.name, &aside).is_err()
        {
            return false;
        }
        if self.folder.is_name_of(&aside, own) {
            return self.folder.remove_entry(&aside).is_ok();
        }
        // Another file took the name meanwhile. It gets its name back, unless a third file has it now.
        let _ = self.folder.rename_entry_to_free(&aside, &self.name);
        false
    }

    /// What has the name at this moment.
    pub fn now(&self) -> Option<Stat> {
        self.folder.stat_of(&self.name)
    }
}

impl Directory {
    fn is_name_of(&self, name: &OsStr, file: Identity) -> bool {
        self.stat_of(name).is_some_and(|now| now.identity() == file)
    }

    /// What is known of an entry, with its path; a link is told as such.
    ///
    /// # Errors
    /// What `openat(2)` says.
    pub fn entry(&self, name: &OsStr, path: PathBuf) -> Result<Entry, Code> {
        let folder = self.handle().try_clone().map_err(|error| Code::of(&error).unwrap_or(Code::IO))?;
        let there = Stat::of_open(&self.look_at(name)?).map_err(|_| Code::IO)?;
        let (folder, there, missing, made) =
            (Directory::from_open(folder), Some(there), Vec::new(), Vec::new());
        Ok(Entry { folder, name: name.to_os_string(), path, there, missing, made })
    }
}

/// Gives a new file owner, group and permissions of another one, as far as this user may.
pub fn take_after(file: &File, other: &Stat) {
    // Only root may give files away; a member of a group may give it a file. What is refused stays this user's.
    let (owner, group) = (Uid::from_raw(other.owner), Gid::from_raw(other.group));
    if rustix::fs::fchown(file, Some(owner), Some(group)).is_err() {
        let _ = rustix::fs::fchown(file, None, Some(group));
    }
    // After the owner, because changing that clears permissions. Rights of programs are no business of a result.
    let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(other.mode & 0o777));
}

/// Whether others may put things into a folder: it is sticky, or everybody may write it.
pub fn is_shared(folder: &Stat) -> bool {
    folder.mode & 0o1002 != 0
}

/// Whether another user can have given a file its name in a folder, and the file is not that user's: a hard link to
/// somebody else's file (`fs.protected_hardlinks` in `proc_sys_fs(5)`).
pub fn is_name_of_others(file: &Stat, folder: &Stat) -> bool {
    let own_group = rustix::process::getegid().as_raw();
    let is_of_group = folder.mode & 0o020 != 0 && ![ROOT, own_group].contains(&folder.group);
    let is_of_other = ![ROOT, system::user(), file.owner].contains(&folder.owner);
    folder.mode & 0o002 != 0 || is_of_group || is_of_other
}

fn code(errno: rustix::io::Errno) -> Code {
    Code::from_number(errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn entry(path: &Path) -> Entry {
        match follow(path) {
            Ok(Destination::Entry(entry)) => entry,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    #[test]
    fn own_links_are_followed_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/file"), "x").unwrap();
        symlink("a/b", at("deep")).unwrap();
        symlink("../file", at("a/b/up")).unwrap();
        symlink(at("a/new"), at("absolute")).unwrap();
        symlink("round", at("round")).unwrap();
        for (path, leads, is_there) in [
            ("a/file", "a/file", true),
            ("deep/up", "a/file", true),
            ("deep/../file", "a/file", true),
            ("./a//b/./none", "a/b/none", false),
            ("absolute", "a/new", false),
        ] {
            let found = entry(&at(path));
            assert_eq!((found.path.clone(), found.there.is_some()), (at(leads), is_there), "{path}");
            assert_eq!(found.now(), found.there);
        }
        assert_eq!(entry(&at("deep")).there.unwrap().kind, FileKind::Directory);
        for (path, code) in
            [("round", Code::LINK_LOOP), ("none/x", Code::NOT_FOUND), ("a/file/x", Code::NOT_A_DIRECTORY)]
        {
            assert!(
                matches!(follow(&at(path)), Err(LostWay::System { code: told, .. }) if told == code),
                "{path}"
            );
        }
    }

    #[test]
    fn what_is_open_already_is_no_name_in_a_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        file.as_file().write_all(b"a").unwrap();
        for path in [format!("/dev/fd/{number}"), format!("/proc/self/fd/{number}")] {
            let Ok(Destination::Open(mut open)) = follow(Path::new(&path)) else { panic!("{path}") };
            open.write_all(b"b").unwrap();
        }
        assert_eq!(std::fs::read(file.path()).unwrap(), b"abb", "behind what was written before");
        let reader = File::open(file.path()).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
        let path = format!("/dev/fd/{number}");
        assert!(matches!(follow(Path::new(&path)), Err(LostWay::System { code: Code::BAD_FILE, .. })));
    }

    fn target(path: &Path) -> Entry {
        match follow_target(path) {
            Ok(Destination::Entry(entry)) => entry,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    #[test]
    fn folders_of_a_target_may_be_missing_and_are_made_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("a")).unwrap();
        symlink("a/none/x", top.join("link")).unwrap();
        let mut new = target(&top.join("a/b/./c//new"));
        assert_eq!((new.path.clone(), new.missing.len()), (top.join("a/b/c/new"), 2));
        assert!(new.may_make().is_ok() && new.first_made().is_none());
        assert_eq!(target(&top.join("link")).path, top.join("a/none/x"));
        for (path, code) in [
            ("a/b/../new", Code::NOT_FOUND),
            ("a/new/", Code::IS_A_DIRECTORY),
            ("a/new/.", Code::IS_A_DIRECTORY),
        ] {
            let lost = follow_target(&top.join(path));
            assert!(matches!(lost, Err(LostWay::System { code: told, .. }) if told == code), "{path}");
        }
        // Another run makes the first one meanwhile: that one stays.
        std::fs::create_dir(top.join("a/b")).unwrap();
        new.make_folders().unwrap();
        assert_eq!(new.first_made(), Some(top.join("a/b/c")));
        let file = new.open_to_fill().unwrap();
        assert_eq!(new.open_to_fill().unwrap_err(), Code::ALREADY_EXISTS);
        assert!(new.remove_if(Stat::of_open(&file).unwrap().identity()));
        new.remove_folders();
        assert!(top.join("a/b").exists() && !top.join("a/b/c").exists());
        let mut blocked = target(&top.join("a/d/e/new"));
        std::fs::create_dir(top.join("a/d")).and_then(|()| std::fs::write(top.join("a/d/e"), "x")).unwrap();
        assert!(blocked.make_folders().is_err());
        make_folders(&top.join("p/q")).unwrap();
        assert!(top.join("p/q").is_dir());
    }

    #[test]
    fn a_target_is_opened_only_while_it_is_what_was_seen() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), "a").unwrap();
        std::fs::write(at("b"), "b").unwrap();
        let seen = target(&at("a"));
        assert!(seen.open_to_read().is_ok() && seen.open_to_fill().is_ok() && seen.look().is_ok());
        std::fs::rename(at("b"), at("a")).unwrap();
        assert_eq!(seen.open_to_read().unwrap_err(), Code::AGAIN);
        assert_eq!(seen.open_to_fill().unwrap_err(), Code::AGAIN);
        std::fs::remove_file(at("a")).and_then(|()| symlink("elsewhere", at("a"))).unwrap();
        assert_eq!(seen.open_to_fill().unwrap_err(), Code::AGAIN);
        // What a program has open is only looked at.
        let open = tempfile::tempfile().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&open);
        let found = follow_target(Path::new(&format!("/proc/self/fd/{number}")));
        let Ok(Destination::Open(seen)) = found else { panic!("{found:?}") };
        assert!(rustix::fs::fcntl_getfl(&seen).unwrap().contains(OFlags::PATH));
    }

    #[test]
    fn names_that_others_may_have_given() {
        let own = Stat { owner: 77, ..Stat::at(Path::new("/")).unwrap() };
        let is_of_others = |owner, group, mode| is_name_of_others(&own, &Stat { owner, group, mode, ..own });
        let group = rustix::process::getegid().as_raw();
        assert!(!is_of_others(0, 0, 0o755) && !is_of_others(system::user(), group, 0o775));
        assert!(is_of_others(0, 0, 0o1777) && is_of_others(0, 0, 0o757), "everybody");
        assert!(is_of_others(0, group + 1, 0o775), "a group");
        assert!(is_of_others(78, group, 0o755), "the owner of the folder");
        assert!(!is_of_others(77, group, 0o755), "its own file");
    }

    #[test]
    fn names_that_are_taken_stay_unless_they_shall_not() {
        let dir = tempfile::tempdir().unwrap();
        let folder = entry(&dir.path().join("new")).folder;
        folder.make_entry("a").unwrap().write_all(b"a").unwrap();
        folder.make_entry("b").unwrap();
        assert_eq!(folder.make_entry("a").unwrap_err(), Code::ALREADY_EXISTS);
        assert_eq!(folder.rename_entry_to_free("a", OsStr::new("b")), Err(Code::ALREADY_EXISTS));
        symlink("elsewhere", dir.path().join("link")).unwrap();
        folder.rename_entry("a", OsStr::new("link")).unwrap();
        assert_eq!(std::fs::read(dir.path().join("link")).unwrap(), b"a");
        folder.rename_entry_to_free("b", OsStr::new("c")).unwrap();
        let mut names = folder.names().unwrap();
        names.retain(|name| name != "." && name != "..");
        names.sort();
        assert_eq!(names, ["c", "link"], "the link was replaced, not followed");
    }
}

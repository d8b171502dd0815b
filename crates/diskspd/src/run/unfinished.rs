//! A file that gets its name only when it is complete: until then it has another one in the same folder.
//!
//! A program that is killed leaves it. The next one that writes there removes it, and knows it by its name
//! (with the name of the host, since a folder may be shared by several), its owner and its lock, which ends
//! with the process that made it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};

use truespd_platform::machine::host::host_name;
use truespd_platform::sys::destination::{Entry, is_shared, take_after};
use truespd_platform::sys::directory::Directory;
use truespd_platform::sys::error::Code;
use truespd_platform::sys::file::{FileKind, Stat};
use truespd_platform::sys::identity::names;
use truespd_platform::sys::lock::try_alone;
use truespd_platform::sys::system;

/// Names that are tried: others are those of killed programs whose numbers come again.
const NAMES_TRIED: u32 = 1000;
/// Longest part of a name that is the host's: names have 255 bytes.
const HOST_CHARS_MAX: usize = 64;
const PREFIX: &str = ".truespd-";
const SUFFIX: &str = ".part";

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Replaced,
    /// It stays, and the new one is not written.
    Stays,
}

/// A file that is replaced again and again: whoever reads it finds one state of it, never a part. It is not written
/// through to the disk, because that would load the disk, and a state is of no use after the next one.
#[derive(Debug)]
pub struct Refreshed {
    entry: Entry,
}

impl Refreshed {
    /// Tries whether files can be made there. What has the name stays.
    ///
    /// # Errors
    /// The system's.
    pub fn try_at(entry: Entry) -> Result<Self, Code> {
        remove_abandoned(&entry.folder);
        let (own_name, _file) = make(&entry.folder)?;
        entry.folder.remove_entry(&own_name)?;
        Ok(Refreshed { entry })
    }

    /// Replaces what has the name.
    ///
    /// # Errors
    /// The system's; what had the name is as before.
    pub fn put(&self, bytes: &[u8]) -> io::Result<()> {
        let folder = &self.entry.folder;
        let (own_name, mut file) = make(folder)?;
        let written = file.write_all(bytes);
        let put = written.and_then(|()| Ok(folder.rename_entry(&own_name, &self.entry.name)?));
        put.inspect_err(|_| {
            let _ = folder.remove_entry(&own_name);
        })
    }
}

/// A file without its name. Removed when it is dropped.
#[derive(Debug)]
pub struct Unfinished {
    entry: Entry,
    own_name: String,
    /// Locked as long as it is open.
    file: File,
}

impl Unfinished {
    /// Makes it, and removes what killed programs left in the folder.
    ///
    /// # Errors
    /// The system's.
    pub fn make(entry: Entry) -> Result<Self, Code> {
        remove_abandoned(&entry.folder);
        let (own_name, file) = make(&entry.folder)?;
        Ok(Unfinished { entry, own_name, file })
    }

    /// Writes it, and gives it its name. A file that it replaces leaves it its owner, group and permissions,
    /// as far as this user may give them.
    ///
    /// # Errors
    /// The system's; what had the name is as before.
    pub fn finish(mut self, bytes: &[u8], taken: Taken) -> io::Result<()> {
        // Before the first byte: what only some may read must never be there for others.
        if let Some(there) = self.entry.now().filter(|there| there.kind == FileKind::Regular) {
            take_after(&self.file, &there);
        }
        self.file.write_all(bytes)?;
        // After a power failure the file must not have its name without its content.
        self.file.sync_all()?;
        let (folder, name) = (&self.entry.folder, &self.entry.name);
        match taken {
            Taken::Replaced => folder.rename_entry(&self.own_name, name),
            Taken::Stays => folder.rename_entry_to_free(&self.own_name, name),
        }?;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nothing has that name any more when the file got its own.
        let _ = self.entry.folder.remove_entry(&self.own_name);
    }
}

/// Whether a file in a folder is of another user who could have put it there for this user to replace.
pub fn is_planted(there: &Stat, folder: &Stat) -> bool {
    is_shared(folder) && ![0, system::user()].contains(&there.owner)
}

fn make(folder: &Directory) -> Result<(String, File), Code> {
    let lead = lead();
    for number in 0..NAMES_TRIED {
        let name = format!("{lead}{}-{number}{SUFFIX}", std::process::id());
        let file = match folder.make_entry(&name) {
            Ok(file) => file,
            Err(Code::ALREADY_EXISTS) => continue,
            Err(code) => return Err(code),
        };
        // A file system without locks gets none: then nobody removes what is not locked either.
        match try_alone(&file) {
            Ok(true) | Err(_) if is_named(&file) => return Ok((name, file)),
            // Another program took it for abandoned in the moment before it was locked.
            _ => {}
        }
    }
    Err(Code::ALREADY_EXISTS)
}

fn is_named(file: &File) -> bool {
    file.metadata().is_ok_and(|about| names(&about) > 0)
}

/// What the names of this host's unfinished files begin with.
fn lead() -> String {
    let host: String = host_name().chars().take(HOST_CHARS_MAX).collect();
    let host = host.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    format!("{PREFIX}{host}-")
}

/// Removes the files of killed programs of this user on this host.
fn remove_abandoned(folder: &Directory) {
    // A folder may be written that may not be read. What cannot be looked at stays.
    let Ok(entries) = folder.names() else { return };
    let lead = lead();
    for name in entries.iter().filter_map(|name| name.to_str()).filter(|name| is_of_us(name, &lead)) {
        if let Ok(file) = folder.open_entry(name)
            && is_abandoned(&file, folder, OsStr::new(name))
        {
            // Somebody else was faster, perhaps.
            let _ = folder.remove_entry(name);
        }
    }
}

/// Whether a name is one that [`make`] gives on this host.
fn is_of_us(name: &str, lead: &str) -> bool {
    let numbers = name.strip_prefix(lead).and_then(|rest| rest.strip_suffix(SUFFIX));
    numbers.and_then(|numbers| numbers.split_once('-')).is_some_and(|(pid, number)| {
        [pid, number].iter().all(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// A file of this user without another name, whose maker is gone: nobody has its lock. It stays locked until
/// it is closed.
fn is_abandoned(file: &File, folder: &Directory, name: &OsStr) -> bool {
    let Ok(about) = file.metadata() else { return false };
    let stat = Stat::of(&about);
    let is_ours = stat.kind == FileKind::Regular && stat.owner == system::user() && names(&about) == 1;
    is_ours
        && matches!(try_alone(file), Ok(true))
        // Its maker may have given it its real name, and another program may have made one, since it was opened.
        && folder.stat_of(name).is_some_and(|now| now.identity() == stat.identity())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::fs;
    use std::path::Path;
    use truespd_platform::sys::destination::{Destination, follow};

    fn entry(path: &Path) -> Entry {
        match follow(path) {
            Ok(Destination::Entry(entry)) => entry,
            other => panic!("{other:?}"),
        }
    }

    fn left_in(dir: &Path) -> Vec<OsString> {
        let mut names: Vec<OsString> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_killed_programs_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let lead = lead();
        // As a killed program leaves it: nobody has its lock.
        fs::write(at(&format!("{lead}77-0.part")), "half").unwrap();
        let kept = [
            format!("{lead}77.part"),
            format!("{lead}77-0.json"),
            format!("{lead}x-0.part"),
            ".truespd-other.host-77-0.part".to_string(),
        ];
        kept.iter().for_each(|name| fs::write(at(name), "x").unwrap());
        let two_names = format!("{lead}78-0.part");
        fs::write(at(&two_names), "x").unwrap();
        fs::hard_link(at(&two_names), at("precious")).unwrap();
        // One of a program that runs.
        let running = Unfinished::make(entry(&at("first"))).unwrap();
        let second = Unfinished::make(entry(&at("second"))).unwrap();
        let mut expected: Vec<OsString> = kept.iter().map(OsString::from).collect();
        expected.extend([&two_names, &running.own_name, &second.own_name].map(OsString::from));
        expected.push("precious".into());
        expected.sort();
        assert_eq!(left_in(dir.path()), expected);
        drop(second);
        running.finish(b"whole", Taken::Replaced).unwrap();
        assert_eq!(fs::read(at("first")).unwrap(), b"whole");
        expected.retain(|name| !name.to_string_lossy().contains(&format!("-{}-", std::process::id())));
        expected.push("first".into());
        expected.sort();
        assert_eq!(left_in(dir.path()), expected);
    }

    #[test]
    fn a_name_that_is_taken_stays_where_it_shall() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("a");
        fs::write(&at, "earlier").unwrap();
        let refused = Unfinished::make(entry(&at)).unwrap().finish(b"new", Taken::Stays).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&at).unwrap(), b"earlier");
        assert_eq!(left_in(dir.path()), ["a"]);
    }
}

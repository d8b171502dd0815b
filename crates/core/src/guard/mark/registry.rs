//! Marks in the user's state folder, for files on file systems without extended attributes.
//!
//! An entry lets a test write to a file, so only entries count that nobody but this user can have put there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::text::{MarkState, Provenance};
use crate::machine::device::DeviceNumber;
use crate::sys::error::Code;
use crate::sys::file::{self, Directory, FileKind, Stat};
use crate::sys::identity::Stamp;
use crate::sys::identity::names;
use crate::sys::system::user;
use crate::text::printable_path;

/// Bits of a mode that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Longest entry that is read: a mark and what ties it to the file.
const ENTRY_BYTES_MAX: u64 = 512;

/// Why an entry is not trusted.
type Distrust = &'static str;
const NO_FOLDER: Distrust = "its folder is a symbolic link, or no folder";
const NOT_PLAIN: Distrust = "it is not a regular file";

/// Name of a file's entry. With the birth time in it, a reused inode has another name.
pub(super) fn entry_name(stamp: &Stamp) -> String {
    let DeviceNumber { major, minor } = DeviceNumber::from_raw(stamp.identity.device());
    let birth = stamp.birth.map(|(s, ns)| format!("-{s}.{ns:09}")).unwrap_or_default();
    format!("{major}-{minor}-{}{birth}", stamp.identity.inode())
}

/// Extra words of an entry: without a birth time the last change must still be the same.
pub(super) fn entry_tail(stamp: &Stamp) -> String {
    match stamp.birth {
        Some(_) => String::new(),
        None => format!(" changed={}.{:09}", stamp.change.0, stamp.change.1),
    }
}

#[derive(Debug, Clone)]
pub(super) struct Registry(pub PathBuf);

impl Registry {
    /// Where the mark of a file with this stamp is, if it has one here.
    pub fn path_of(&self, stamp: &Stamp) -> PathBuf {
        self.0.join(entry_name(stamp))
    }

    /// The mark of a file with this stamp; none when it has none or its entry is of another file.
    ///
    /// # Errors
    /// There is an entry, and it does not count. In words about the file: its mark in ... is ignored: ...
    pub(super) fn read(&self, stamp: &Stamp) -> Result<Option<Provenance>, String> {
        let text = self
            .trusted_text(&entry_name(stamp))
            .map_err(|why| format!("its mark {} is ignored: {why}", printable_path(&self.path_of(stamp))))?;
        let Some(text) = text else { return Ok(None) };
        let Some(mark) = Provenance::parse(&text) else { return Ok(None) };
        let is_same_change = text.trim_end().ends_with(&entry_tail(stamp));
        let is_same_size = mark.size_bytes == stamp.size_bytes || mark.state == MarkState::Filling;
        Ok((is_same_change && is_same_size).then_some(mark))
    }

    fn trusted_text(&self, name: &str) -> Result<Option<String>, Distrust> {
        let folder = match Directory::open(&self.0) {
            Ok(folder) => folder,
            // Whether there is an entry is asked only to say that it is ignored.
            Err(_) if fs::symlink_metadata(self.0.join(name)).is_ok() => return Err(NO_FOLDER),
            Err(_) => return Ok(None),
        };
        let entry = match folder.open_entry(name) {
            Ok(entry) => entry,
            Err(Code::NOT_FOUND) => return Ok(None),
            Err(_) => return Err(NOT_PLAIN),
        };
        check_folder(&folder)?;
        let about = entry.metadata().map_err(|_| NOT_PLAIN)?;
        let stat = Stat::of(&about);
        if stat.kind != FileKind::Regular {
            return Err(NOT_PLAIN);
        }
        if stat.owner != user() {
            return Err("it belongs to another user");
        }
        if stat.mode & WRITABLE_BY_OTHERS != 0 {
            return Err("other users may write to it");
        }
        if names(&about) != 1 {
            return Err("it has more than one name (hard links)");
        }
        let mut text = String::new();
        Ok(entry.take(ENTRY_BYTES_MAX).read_to_string(&mut text).is_ok().then_some(text))
    }

    /// Notes the mark of a file with this stamp.
    ///
    /// # Errors
    /// What the system says, or that an entry in the folder would not count.
    pub fn write(&self, stamp: &Stamp, mark: &Provenance) -> io::Result<PathBuf> {
        file::make_private_directories(&self.0)?;
        let about = Stat::at(&self.0)?;
        if about.owner == user() && about.mode & WRITABLE_BY_OTHERS != 0 {
            // Made by an umask that lets the group write.
            file::make_private(&self.0)?;
        }
        let folder = Directory::open(&self.0).map_err(|_| io::Error::other(NO_FOLDER))?;
        check_folder(&folder).map_err(io::Error::other)?;
        let path = self.path_of(stamp);
        write_entry(&self.0, &path, &format!("{mark}{}\n", entry_tail(stamp)))?;
        Ok(path)
    }

    /// Removes the entry of a file with this stamp.
    pub fn forget(&self, stamp: &Stamp) {
        // Usually there is none.
        let _ = fs::remove_file(self.path_of(stamp));
    }
}

/// Entries count where nobody else can put, move or remove one.
fn check_folder(folder: &Directory) -> Result<(), Distrust> {
    let about = folder.stat().map_err(|_| NO_FOLDER)?;
    if about.owner != user() {
        Err("its folder belongs to another user; set XDG_STATE_HOME to a folder of your own")
    } else if about.mode & WRITABLE_BY_OTHERS != 0 {
        Err("other users may write to its folder; forbid that (chmod 700)")
    } else {
        Ok(())
    }
}

/// Writes another file in `dir` and renames it, so that a reader never sees half an entry.
///
/// # Errors
/// Why it could not be written; nothing is left of it.
pub fn write_entry(dir: &Path, entry: &Path, text: &str) -> io::Result<()> {
    let beside = dir.join(format!(".{}.{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&beside, text)?;
    let placed = file::make_private_file(&beside).and_then(|()| fs::rename(&beside, entry));
    placed.inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::{give_to, set_mode, symlink};
    use std::fs::File;

    struct Case {
        dir: tempfile::TempDir,
        registry: Registry,
        stamp: Stamp,
    }

    fn case() -> Case {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry(dir.path().join("state/files"));
        let stamp = Stamp::of(&File::create(dir.path().join("test.dat")).unwrap()).unwrap();
        registry.write(&stamp, &Provenance::new(0, MarkState::Complete)).unwrap();
        Case { dir, registry, stamp }
    }

    /// Why an entry is ignored.
    fn distrust(ignored: &str) -> String {
        ignored.split_once(" is ignored: ").unwrap().1.to_string()
    }

    #[test]
    fn an_entry_counts_while_only_its_user_can_have_made_it() {
        let Case { dir: _dir, registry, stamp } = case();
        let path = registry.path_of(&stamp);
        let why = || registry.read(&stamp).map_err(|ignored| distrust(&ignored));
        let counts = Ok(Some(Provenance::new(0, MarkState::Complete)));
        assert_eq!(why(), counts);
        for (place, mode, distrust) in [
            (&path, 0o602, "other users may write to it"),
            (&path, 0o620, "other users may write to it"),
            (&registry.0, 0o770, "other users may write to its folder; forbid that (chmod 700)"),
            (&registry.0, 0o1777, "other users may write to its folder; forbid that (chmod 700)"),
        ] {
            let before = Stat::at(place).unwrap().mode;
            set_mode(place, mode).unwrap();
            assert_eq!(why(), Err(distrust.to_string()), "{mode:o}");
            set_mode(place, before).unwrap();
            assert_eq!(why(), counts);
        }
        fs::hard_link(&path, path.with_file_name("other")).unwrap();
        assert_eq!(why(), Err("it has more than one name (hard links)".to_string()));
        fs::rename(&path, path.with_file_name("moved")).unwrap();
        assert_eq!(why(), Ok(None));
        symlink("other", &path).unwrap();
        assert_eq!(why(), Err(NOT_PLAIN.to_string()));
        let ignored = registry.read(&stamp).unwrap_err();
        assert!(ignored.ends_with("is ignored: it is not a regular file"), "{ignored}");
        fs::remove_file(&path).unwrap();
        crate::sys::made::pipe(&path).unwrap();
        assert_eq!(why(), Err(NOT_PLAIN.to_string()), "nobody waits for its writer");
    }

    #[test]
    fn a_folder_of_another_user_does_not_count() {
        if user() != 0 {
            return;
        }
        let Case { dir: _dir, registry, stamp } = case();
        give_to(&registry.0, 65534).unwrap();
        let ignored = registry.read(&stamp).unwrap_err();
        assert!(ignored.ends_with("; set XDG_STATE_HOME to a folder of your own"), "{ignored}");
        let error = registry.write(&stamp, &Provenance::new(0, MarkState::Complete)).unwrap_err();
        assert!(error.to_string().contains("another user"), "{error}");
        // It is left as its owner has it.
        set_mode(&registry.0, 0o777).unwrap();
        registry.write(&stamp, &Provenance::new(0, MarkState::Complete)).unwrap_err();
        assert_eq!(Stat::at(&registry.0).unwrap().mode & 0o7777, 0o777);
    }

    #[test]
    fn a_folder_behind_a_link_does_not_count() {
        let Case { dir, registry, stamp } = case();
        fs::rename(&registry.0, dir.path().join("elsewhere")).unwrap();
        symlink(dir.path().join("elsewhere"), &registry.0).unwrap();
        assert_eq!(distrust(&registry.read(&stamp).unwrap_err()), NO_FOLDER);
        let error = registry.write(&stamp, &Provenance::new(0, MarkState::Complete)).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        fs::remove_file(&registry.0).unwrap();
        assert_eq!(registry.read(&stamp), Ok(None));
    }

    #[test]
    fn what_an_umask_allowed_is_taken_back_before_an_entry_is_written() {
        let Case { dir: _dir, registry, stamp } = case();
        set_mode(&registry.0, 0o775).unwrap();
        registry.write(&stamp, &Provenance::new(0, MarkState::Complete)).unwrap();
        assert!(registry.read(&stamp).unwrap().is_some());
        // Others may look.
        set_mode(&registry.0, 0o755).unwrap();
        registry.write(&stamp, &Provenance::new(0, MarkState::Complete)).unwrap();
        assert_eq!(Stat::at(&registry.0).unwrap().mode & 0o7777, 0o755);
    }

    #[test]
    fn an_entry_does_not_match_the_next_file_of_the_inode() {
        let now = Stamp::of(&tempfile::tempfile().unwrap()).unwrap();
        let later = Stamp { birth: now.birth.map(|(s, ns)| (s + 1, ns)), ..now };
        if now.birth.is_some() {
            assert_ne!(entry_name(&now), entry_name(&later));
        }
        let unborn = Stamp { birth: None, ..now };
        let changed = Stamp { change: (now.change.0 + 1, now.change.1), ..unborn };
        assert_eq!(entry_name(&unborn), entry_name(&changed));
        assert_ne!(entry_tail(&unborn), entry_tail(&changed), "the entry's words no longer fit");
    }
}

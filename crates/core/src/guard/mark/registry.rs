//! Marks in the user's state folder, for files on file systems without extended attributes.
//!
//! An entry lets a test write to a file, so only entries count that nobody but this user can have put there.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::text::{MarkState, Provenance};
use truespd_platform::machine::device::DeviceNumber;
use truespd_platform::sys::identity::Stamp;
use truespd_platform::sys::own::{NotOwn, OwnFolder};
use truespd_platform::text::printable_path;

/// Longest entry that is read: a mark and what ties it to the file.
const ENTRY_BYTES_MAX: u64 = 512;

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
            .text(&entry_name(stamp))
            .map_err(|why| format!("its mark {} is ignored: {why}", printable_path(&self.path_of(stamp))))?;
        let Some(text) = text else { return Ok(None) };
        let Some(mark) = Provenance::parse(&text) else { return Ok(None) };
        let is_same_change = text.trim_end().ends_with(&entry_tail(stamp));
        let is_same_size = mark.size_bytes == stamp.size_bytes || mark.state == MarkState::Filling;
        Ok((is_same_change && is_same_size).then_some(mark))
    }

    fn text(&self, name: &str) -> Result<Option<String>, NotOwn> {
        match OwnFolder::open(&self.0) {
            Ok(Some(folder)) => folder.read(name, ENTRY_BYTES_MAX),
            Ok(None) => Ok(None),
            // Whether there is an entry is asked only to say that it is ignored.
            Err(_) if fs::symlink_metadata(self.0.join(name)).is_err() => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// Notes the mark of a file with this stamp.
    ///
    /// # Errors
    /// What the system says, or that an entry in the folder would not count.
    pub fn write(&self, stamp: &Stamp, mark: &Provenance) -> io::Result<PathBuf> {
        let name = entry_name(stamp);
        OwnFolder::make(&self.0)?.put(&name, &format!("{mark}{}\n", entry_tail(stamp)))?;
        Ok(self.path_of(stamp))
    }

    /// Removes the entry of a file with this stamp.
    pub fn forget(&self, stamp: &Stamp) {
        // Usually there is none.
        if let Ok(Some(folder)) = OwnFolder::open(&self.0) {
            folder.remove(&entry_name(stamp));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::{give_to, set_mode, symlink};
    use std::fs::File;
    use truespd_platform::sys::file::Stat;
    use truespd_platform::sys::system::user;

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
            (&registry.0, 0o770, "other users may write to the folder; forbid that (chmod 700)"),
            (&registry.0, 0o1777, "other users may write to the folder; forbid that (chmod 700)"),
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
        assert_eq!(why(), Err(NotOwn::NotPlain.to_string()));
        let ignored = registry.read(&stamp).unwrap_err();
        assert!(ignored.ends_with("is ignored: it is not a regular file"), "{ignored}");
        fs::remove_file(&path).unwrap();
        crate::made::pipe(&path).unwrap();
        assert_eq!(why(), Err(NotOwn::NotPlain.to_string()), "nobody waits for its writer");
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
        assert_eq!(distrust(&registry.read(&stamp).unwrap_err()), NotOwn::NoFolder.to_string());
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

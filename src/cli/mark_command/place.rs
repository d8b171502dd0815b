//! What the target is, and whether the test fits there.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::os::roots::Roots;
use crate::os::target::{self, Access, OpenFlags, resolve, room};
use crate::os::words::{printable_path, shell_word, system_text};
use crate::profile::Size;
use crate::suite::mark::{Place, SIZE_BYTES_MIN};

/// A directory or a device.
#[derive(Debug)]
pub(super) struct Found {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Directory(Option<target::Room>),
    Device { size_bytes: u64 },
}

/// Looks at a target. The error is a sentence.
pub(super) fn find(typed: &str) -> Result<Found, String> {
    let roots = Roots::default();
    let path = resolve(typed, &roots).map_err(|error| error.to_string())?.path;
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => "; give a directory for the test file, or a block device",
            _ => "",
        };
        format!("'{}': {}{hint}", printable_path(&path), system_text(&error))
    };
    let about = fs::metadata(&path).map_err(failed)?;
    if about.is_dir() {
        let path = fs::canonicalize(&path).map_err(failed)?;
        if path.to_str().is_none() {
            return Err(format!(
                "'{}': a name that is no UTF-8; choose another directory",
                printable_path(&path)
            ));
        }
        let room = File::open(&path).and_then(|directory| room(&directory)).ok();
        return Ok(Found { path, kind: Kind::Directory(room) });
    }
    if about.file_type().is_block_device() {
        let read = OpenFlags { access: Access::Read, direct: false, dsync: false };
        let opened = target::open(&path, read, &roots).map_err(|error| error.to_string())?;
        return Ok(Found { path, kind: Kind::Device { size_bytes: opened.facts.size_bytes } });
    }
    let what = if about.is_file() { "a file" } else { "neither a directory nor a block device" };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Err(format!(
        "'{}' is {what}; give a directory, e.g. {}, where a test file is made and removed, or a block device",
        printable_path(&path),
        shell_word(&parent.to_string_lossy())
    ))
}

impl Found {
    /// Absolute where it is a directory, else as given.
    pub fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    pub fn is_device(&self) -> bool {
        matches!(self.kind, Kind::Device { .. })
    }

    pub fn place(&self) -> Place {
        let (size_bytes, used_bytes) = match &self.kind {
            Kind::Directory(room) => {
                let room = room.as_ref();
                (room.map(|room| room.size_bytes), room.map(|room| room.used_bytes))
            }
            Kind::Device { size_bytes } => (Some(*size_bytes), None),
        };
        Place { path: self.path(), is_device: self.is_device(), size_bytes, used_bytes }
    }

    /// Whether `size_bytes` fit; if not, a sentence.
    pub fn check_room(&self, size_bytes: u64) -> Result<(), String> {
        let path = printable_path(&self.path);
        let (has_bytes, what) = match &self.kind {
            Kind::Device { size_bytes } => (*size_bytes, "the device has"),
            Kind::Directory(None) => return Ok(()),
            Kind::Directory(Some(room)) if room.is_read_only => {
                return Err(format!(
                    "'{path}': the file system is read-only; choose a directory on another one"
                ));
            }
            Kind::Directory(Some(room)) => (room.free_bytes, "free there are"),
        };
        if has_bytes >= size_bytes {
            return Ok(());
        }
        let next = match has_bytes >> 20 << 20 {
            bytes if bytes >= 2 * SIZE_BYTES_MIN => format!("--size {} would fit", fitting(bytes)),
            _ => "choose another place".to_string(),
        };
        Err(format!("'{path}': --size {} does not fit: {what} {}; {next}", Size(size_bytes), Size(has_bytes)))
    }

    /// `--overwrite` is for a device, and only for this one.
    pub fn check_overwrite(&self, overwrite: &[String]) -> Result<(), String> {
        let Some(first) = overwrite.first() else { return Ok(()) };
        let path = printable_path(&self.path);
        match self.is_device() {
            true => Ok(()),
            false => Err(format!(
                "--overwrite {}: '{path}' is a directory, where a new file is made and nothing overwritten; leave it out",
                shell_word(first)
            )),
        }
    }
}

/// The largest power of two that leaves some room, as a word of the command line.
fn fitting(has_bytes: u64) -> String {
    let bytes = 1u64 << (has_bytes / 8 * 7).ilog2();
    match bytes >> 30 {
        0 => format!("{}M", bytes >> 20),
        gib => format!("{gib}G"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(free_bytes: u64, is_read_only: bool) -> Found {
        let room = target::Room { free_bytes, size_bytes: 1 << 40, used_bytes: 0, is_read_only };
        Found { path: "/m".into(), kind: Kind::Directory(Some(room)) }
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_would() {
        assert_eq!(directory(1 << 30, false).check_room(1 << 30), Ok(()));
        let refused = |found: &Found, size| found.check_room(size).unwrap_err();
        let words = refused(&directory((1 << 30) - 1, false), 1 << 30);
        assert!(
            words.contains("--size 1GiB does not fit") && words.ends_with("--size 512M would fit"),
            "{words}"
        );
        let words = refused(&directory(600 << 30, false), 1 << 40);
        assert!(words.ends_with("--size 512G would fit"), "{words}");
        let words = refused(&directory(20 << 20, false), 1 << 30);
        assert!(words.ends_with("choose another place"), "{words}");
        assert!(refused(&directory(1 << 40, true), 1 << 30).contains("read-only"));
        let device = Found { path: "/dev/x".into(), kind: Kind::Device { size_bytes: 100 << 20 } };
        let words = refused(&device, 1 << 30);
        assert!(
            words.contains("the device has 100MiB") && words.ends_with("--size 64M would fit"),
            "{words}"
        );
    }

    #[test]
    fn targets_are_directories_or_devices() {
        let place = tempfile::tempdir().unwrap();
        let found = find(place.path().to_str().unwrap()).unwrap();
        assert!(!found.is_device() && found.place().size_bytes.is_some());
        assert!(found.check_overwrite(&["/dev/x".into()]).unwrap_err().contains("leave it out"));
        let file = place.path().join("f");
        fs::write(&file, "x").unwrap();
        let words = find(file.to_str().unwrap()).unwrap_err();
        assert!(words.contains("is a file; give a directory"), "{words}");
        assert!(find("/dev/null").unwrap_err().contains("neither a directory nor a block device"));
        let words = find(place.path().join("none").to_str().unwrap()).unwrap_err();
        assert!(words.contains("No such file or directory; give a directory"), "{words}");
    }
}

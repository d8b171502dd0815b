//! Where the kernel's own file trees are, so that tests can put recorded trees in their place.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::sys::file::filesystem;

/// Root directories of the kernel's trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs, normally `/proc`.
    pub proc: PathBuf,
    /// sysfs, normally `/sys`.
    pub sys: PathBuf,
    /// Device nodes, normally `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into() }
    }
}

/// Type of procfs as `statfs(2)` tells it (`linux/magic.h`).
const PROCFS: u64 = 0x9fa0;
const SYSFS: u64 = 0x6265_6572;

impl Roots {
    /// Fails when a folder of sysfs is missing or is something else than sysfs: containers put an empty file system
    /// over what they hide, and an empty folder would read as "no device". A recorded tree only has to be there.
    ///
    /// # Errors
    /// What the system says, or that another file system is there.
    pub(crate) fn check_sysfs(&self, folder: &Path) -> io::Result<()> {
        is_of_type(folder, (self.sys == Roots::default().sys).then_some(SYSFS))
    }

    /// The same for procfs.
    ///
    /// # Errors
    /// As [`Roots::check_sysfs`].
    pub(crate) fn check_procfs(&self, folder: &Path) -> io::Result<()> {
        is_of_type(folder, (self.proc == Roots::default().proc).then_some(PROCFS))
    }
}

fn is_of_type(folder: &Path, wanted: Option<u64>) -> io::Result<()> {
    let folder = File::open(folder)?;
    let Some(wanted) = wanted else { return Ok(()) };
    match filesystem(&folder)? {
        Some(found) if found.magic == wanted => Ok(()),
        _ => Err(io::Error::other("another file system is mounted over it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_the_place_of_sysfs_is_not_taken_for_it() {
        let real = Roots::default();
        assert!(real.check_sysfs(Path::new("/sys/block")).is_ok());
        assert!(real.check_procfs(Path::new("/proc/self/fd")).is_ok());
        let folder = tempfile::tempdir().unwrap();
        assert!(real.check_sysfs(folder.path()).is_err() && real.check_procfs(folder.path()).is_err());
        assert!(real.check_sysfs(&folder.path().join("none")).is_err());
        let at = |name: &str| folder.path().join(name);
        let recorded = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        assert!(recorded.check_sysfs(folder.path()).is_ok() && recorded.check_procfs(folder.path()).is_ok());
    }
}

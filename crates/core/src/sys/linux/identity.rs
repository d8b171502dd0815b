//! Which file or device something is, whatever its path means now.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::file::{FileKind, Stat};

/// Tells whether two descriptors or paths are the same file, folder or device: device and inode, or of a
/// block device its number, so that two nodes of one device are the same.
///
/// It holds as long as somebody keeps the file open or its name in place: after that the inode can be another file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Identity of an open file or device.
    ///
    /// # Errors
    /// When the system does not answer.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::of_metadata(&file.metadata()?))
    }

    /// Identity of what a path leads to. Nothing is opened.
    ///
    /// # Errors
    /// When nothing is there, or the system does not answer.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&fs::metadata(path)?))
    }

    /// Identity of what has the name; of a symbolic link its own.
    ///
    /// # Errors
    /// As [`Identity::at`].
    pub fn of_name(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&fs::symlink_metadata(path)?))
    }

    /// The same from what the system said about a file.
    pub(crate) fn of_metadata(about: &Metadata) -> Self {
        Stat::of(about).identity()
    }

    /// Number of the device itself, or of the one that the file's file system reports.
    pub fn device(self) -> u64 {
        self.device
    }

    /// Number of the inode; 0 for a block device.
    pub fn inode(self) -> u64 {
        self.inode
    }
}

impl Stat {
    /// Tells a file from all others that exist at the same time.
    pub fn identity(&self) -> Identity {
        match self.kind {
            // Character devices have numbers of their own, which may be those of a block device.
            FileKind::Block => Identity::from((self.node_of, 0)),
            _ => Identity::from((self.device, self.inode)),
        }
    }
}

impl From<(u64, u64)> for Identity {
    /// Device and inode, as documents keep them.
    fn from((device, inode): (u64, u64)) -> Self {
        Identity { device, inode }
    }
}

impl From<Identity> for (u64, u64) {
    fn from(identity: Identity) -> Self {
        (identity.device, identity.inode)
    }
}

/// Number of the block device that is open; `None` when it is something else.
///
/// # Errors
/// When the system does not answer.
pub(crate) fn block_device(file: &File) -> io::Result<Option<u64>> {
    Ok(block_device_of(&file.metadata()?))
}

/// Number of the block device whose node the path leads to; `None` when it is something else, or nothing.
pub(crate) fn block_device_at(path: &Path) -> Option<u64> {
    block_device_of(&fs::metadata(path).ok()?)
}

/// The same from what the system said about a file.
pub(crate) fn block_device_of(about: &Metadata) -> Option<u64> {
    let about = Stat::of(about);
    (about.kind == FileKind::Block).then_some(about.node_of)
}

/// Names (hard links) that a file has.
pub fn names(about: &Metadata) -> u64 {
    about.nlink()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_any_name_and_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let file = File::create(at("a")).unwrap();
        fs::hard_link(at("a"), at("b")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        let own = Identity::of(&file).unwrap();
        assert_eq!(Identity::at(&at("b")).unwrap(), own);
        assert_eq!(Identity::at(&at("link")).unwrap(), own);
        assert_ne!(Identity::of_name(&at("link")).unwrap(), own);
        assert_ne!(Identity::at(dir.path()).unwrap(), own);
        assert_eq!((names(&file.metadata().unwrap()), block_device(&file).unwrap()), (2, None));
        assert!(Identity::at(&at("none")).is_err());
    }

    #[test]
    fn a_character_device_is_no_block_device_of_its_number() {
        let null = Stat::at(Path::new("/dev/null")).unwrap();
        let block = Stat { kind: FileKind::Block, ..null };
        assert_eq!((block.identity().device(), block.identity().inode()), (null.node_of, 0));
        assert_eq!((null.identity().device(), null.identity().inode()), (null.device, null.inode));
    }

    #[test]
    fn documents_keep_device_and_inode() {
        let identity = Identity::from((3, 4));
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(text, "[3,4]");
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
    }
}

//! Other processes that run the same test at the same time, on this host or on others (a cluster run).
//!
//! A run asks them three times: before it writes anything, before it makes a file that another process may
//! make, and before each start. How they are reached is not known here.

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::profile::Profile;
use crate::result::CommonStart;
use truespd_platform::fault::Refusal;
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::mounts::read_mounts;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage;
use truespd_platform::machine::storage::{ReadFlags, resolve};
use truespd_platform::sys::extents::drop_cached;
use truespd_platform::sys::file::read_exact_at;
use truespd_platform::sys::identity::{Identity, block_device_at};

/// The other processes.
pub trait Ranks: Debug + Send + Sync {
    /// All checks of this process are done, and nothing was written. Waits until all processes have done theirs.
    ///
    /// # Errors
    /// At least one process refuses. The reasons of the others are not told here.
    fn agree(&self, places: &[Place], refusals: &[Refusal]) -> Result<(), CalledOff>;

    /// Processors for the threads of this process alone, where those of others on this host may use the same ones.
    fn processors(&self) -> Option<Vec<u32>>;

    /// Those on this host, by the numbers of their processes.
    fn processes(&self) -> Vec<u32>;

    /// Asks who makes the file of `-c` with this path, as typed, and waits until the other process has made it.
    ///
    /// # Errors
    /// The run is called off.
    fn turn_to_make(&self, typed: &str) -> Result<Maker, CalledOff>;

    /// This process has made that file.
    fn has_made(&self, typed: &str);

    /// The threads of this time span (from 0) stand ready. Waits until those of all processes do.
    ///
    /// # Errors
    /// The run is called off.
    fn start(&self, time_span: usize) -> Result<AgreedStart, CalledOff>;
}

/// The run does not begin, or does not go on: another process refuses, failed or is lost, or somebody wants it to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalledOff;

/// Who makes a file that several processes would make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// This process, which tells the others.
    This,
    /// Another one, which has made it.
    Another,
}

/// Where a target of this process is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// As given.
    pub typed: String,
    /// Absolute, with links followed as far as the path exists.
    pub path: String,
    /// What it is now; none when it is not there yet.
    pub identity: Option<Identity>,
    /// The folder that it is or will be in; none when that is not there yet.
    pub folder: Option<Identity>,
    /// It is to be made (`-c`).
    pub is_made: bool,
    /// The test writes to it.
    pub is_written: bool,
    /// It is a disk that other hosts may have as well: what tells it from others.
    pub disk: Option<String>,
    /// It is on a file system of another machine, which other hosts may use as well: that file system, as mounted.
    pub remote: Option<String>,
}

/// An instant at which all start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgreedStart {
    /// By the wall clock of this host, nanoseconds since 1970 UTC.
    pub unix_ns: u64,
    /// What the document says of it; how late this process starts is filled in at the start.
    pub common: CommonStart,
}

/// Bytes that are read at a place of a disk.
const BLOCK_BYTES: u64 = 4096;
/// Places that are read, the first and the last block among them.
const PLACES: u64 = 17;

/// Where the targets of all time spans are, each path once.
pub fn places(profile: &Profile, roots: &Roots) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for target in profile.targets() {
        let is_made = target.create_bytes.is_some_and(|bytes| bytes > 0);
        if let Some(known) = places.iter_mut().find(|place| place.typed == target.path) {
            known.is_made |= is_made;
            known.is_written |= target.writes();
            continue;
        }
        let Ok(resolved) = resolve(&target.path, roots) else { continue };
        let path = real(&resolved.path);
        places.push(Place {
            typed: target.path.clone(),
            remote: remote_filesystem(&path, roots),
            identity: Identity::at(&path).ok(),
            folder: path.parent().and_then(|folder| Identity::at(folder).ok()),
            disk: disk(&path, roots),
            path: path.to_string_lossy().into_owned(),
            is_made,
            is_written: target.writes(),
        });
    }
    places
}

/// Absolute, with links followed as far as the path exists.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for folder in whole.ancestors() {
        if let Ok(found) = folder.canonicalize() {
            let rest = whole.strip_prefix(folder).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    whole
}

/// What is mounted where the file is or will be, when another machine holds its files.
fn remote_filesystem(path: &Path, roots: &Roots) -> Option<String> {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let mounts = read_mounts(roots).unwrap_or_default();
    let filesystem = storage::filesystem_of_folder(folder, &mounts).filter(|it| it.is_remote)?;
    Some(filesystem.source.map_or(filesystem.name, |source| source.to_string_lossy().into_owned()))
}

/// A disk or partition that other hosts may have as well (a LUN of a storage network), by the name that the
/// disk gives of itself, its size, and what a little of it holds: makers give one name to several disks. None
/// for what gives no such name.
fn disk(path: &Path, roots: &Roots) -> Option<String> {
    let number = DeviceNumber::from_raw(block_device_at(path)?);
    let device = BlockDevice::find(number, roots)?;
    let whole = device.whole_disk().unwrap_or_else(|| device.clone());
    let (name, size_bytes) = (whole.world_wide_id()?, device.size_bytes()?);
    let file = storage::open_file(path, ReadFlags::CACHED).ok()?;
    let part = device.partition_number().unwrap_or(0);
    Some(format!("{name} {size_bytes} {part} {}", digest(&file, size_bytes)?))
}

/// A digest of blocks all over it, read from the storage.
fn digest(file: &File, size_bytes: u64) -> Option<String> {
    let length = BLOCK_BYTES.min(size_bytes);
    let last = size_bytes - length;
    let mut digest = Sha256::new();
    for nth in 0..PLACES {
        let offset =
            (u128::from(last) * u128::from(nth) / u128::from(PLACES - 1)) as u64 / BLOCK_BYTES * BLOCK_BYTES;
        // Each host has a cache of its own, which does not see what others write.
        drop_cached(file, offset, length);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        read_exact_at(file, &mut bytes, offset).ok()?;
        drop_cached(file, offset, length);
        digest.update(&bytes);
    }
    Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_digest_tells_contents_apart() {
        let of = |content: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content).unwrap();
            digest(&file, content.len() as u64)
        };
        let one: Vec<u8> = (0..1u32 << 20).map(|n| (n / 7) as u8).collect();
        let mut other = one.clone();
        assert_eq!(of(&one), of(&other));
        *other.last_mut().unwrap() ^= 1;
        assert_ne!(of(&one), of(&other), "the last block is among what is read");
        assert_eq!(of(b"").map(|digest| digest.len()), Some(64));
    }

    #[test]
    fn a_path_that_is_not_there_yet_is_found_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let real_folder = folder.path().canonicalize().unwrap();
        assert_eq!(real(&folder.path().join("a/b")), real_folder.join("a/b"));
        assert!(disk(folder.path(), &Roots::default()).is_none(), "a folder is no disk");
    }
}

//! Sets settings of disks back.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use truespd_core::machine::device::BlockDevice;
use truespd_core::machine::drive::{NotSet, Reach, Switch, put};
use truespd_core::machine::roots::Roots;
use truespd_core::machine::roots::{read_number, read_word};
use truespd_core::sys::error::system_text;

/// Whether something is undone, or only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Undo,
    Look,
}

/// Why something is not undone.
#[derive(Debug)]
pub(super) enum Left {
    /// It is somebody else's now.
    Foreign(String),
    /// The system refused; it may take it later.
    Refused(String),
}

/// What distinguishes a disk from another one that gets its name or path later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub name: String,
    /// A number that is unique to each disk that appears, until the next boot (`diskseq`, Linux 5.15).
    sequence: Option<u64>,
    /// World wide name or serial number: the only identification that stays the same after a boot.
    id: Option<String>,
    number: Option<String>,
    sectors: Option<u64>,
}

impl Disk {
    /// The disk of this kernel name; `None` when sysfs knows none.
    pub fn named(name: &str, roots: &Roots) -> Option<Self> {
        let device = BlockDevice::named(name, roots)?;
        let files = ["serial", "device/serial"].map(|file| device.dir().join(file));
        Some(Disk {
            name: name.to_string(),
            sequence: read_number(&device.dir().join("diskseq")),
            id: device
                .world_wide_id()
                .or_else(|| files.iter().find_map(|file| read_word(file)))
                .filter(|id| !id.is_empty()),
            number: device.number().map(|number| number.to_string()),
            sectors: read_number(&device.dir().join("size")),
        })
    }

    /// Whether `now`, in the same boot, is this disk and was never removed.
    fn is_still(&self, now: &Self) -> bool {
        match (self.sequence, now.sequence) {
            (Some(then), Some(now)) => then == now,
            _ => self == now,
        }
    }

    /// Whether `now` is this disk, perhaps after a boot and under another name.
    fn is_again(&self, now: &Self) -> bool {
        self.id.is_some() && self.id == now.id && self.sectors == now.sectors
    }
}

/// Where the setting is now, and whether it was (or could be) set back. `None` when it is as it was, or gone with its
/// device or the boot.
pub(super) fn settle(
    path: &Path,
    disk: &Disk,
    [before, during]: [&str; 2],
    is_same_boot: bool,
    roots: &Roots,
    action: Action,
) -> Option<(PathBuf, Result<(), Left>)> {
    let place = match find(path, disk, before, is_same_boot, roots) {
        Ok(place) => place?,
        Err(left) => return Some((path.to_path_buf(), Err(left))),
    };
    let now = match fs::read_to_string(&place) {
        Ok(now) => now.trim().to_string(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some((place, Err(Left::Refused(system_text(&error))))),
    };
    if now == before {
        return None;
    }
    let settled = if now != during {
        Err(Left::Foreign(format!("somebody else set it to '{now}'; it was '{before}' before")))
    } else if action == Action::Look {
        Ok(())
    } else {
        set_back(&place, before, |path, word| fs::write(path, word))
    };
    Some((place, settled))
}

/// The path of the setting of that disk, and of no other.
fn find(
    path: &Path,
    disk: &Disk,
    before: &str,
    is_same_boot: bool,
    roots: &Roots,
) -> Result<Option<PathBuf>, Left> {
    if !is_of_a_disk(path, roots) {
        return Err(Left::Foreign("TrueSpd does not change this setting".into()));
    }
    let now = Disk::named(&disk.name, roots);
    if is_same_boot && now.is_some_and(|now| disk.is_still(&now)) {
        return Ok(Some(path.to_path_buf()));
    }
    if path.parent().is_some_and(|dir| dir.ends_with("queue")) {
        // This setting of the kernel ends with the boot, or with the removal of the disk.
        return Ok(None);
    }
    // The disk itself may have kept the setting.
    for entry in fs::read_dir(roots.sys.join("block")).into_iter().flatten().flatten() {
        let Some(now) = Disk::named(&entry.file_name().to_string_lossy(), roots) else { continue };
        if !disk.is_again(&now) {
            continue;
        }
        match Switch::of(&now.name, roots) {
            Ok(switch) if switch.reach == Reach::Disk => return Ok(Some(switch.path)),
            _ => break,
        }
    }
    Err(Left::Foreign(format!(
        "the disk ({}, {}) is not there, or it is not certain that the disk of that name is the same; its write cache \
         was '{before}': write that to its cache_type when the disk is there",
        disk.name,
        disk.id.as_deref().unwrap_or("without a name of its own")
    )))
}

fn is_of_a_disk(path: &Path, roots: &Roots) -> bool {
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let is_below = ["block", "devices"].iter().any(|dir| path.starts_with(roots.sys.join(dir)));
    is_plain && is_below && (path.ends_with("cache_type") || path.ends_with("queue/write_cache"))
}

/// Writes, and checks that the setting changed.
pub(super) fn set_back(
    path: &Path,
    before: &str,
    write: impl FnOnce(&Path, String) -> io::Result<()>,
) -> Result<(), Left> {
    put(path, before, write).map_err(|not_set| match not_set {
        NotSet::Refused(error) => Left::Refused(system_text(&error)),
        NotSet::Still(now) => {
            Left::Refused(format!("'{before}' was written, but it is still '{now}'; set it by hand"))
        }
    })
}

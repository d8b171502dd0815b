//! A file, folder or device that was looked at, as it is recognised later, whatever its path leads to by then.
//!
//! [`Identity`] distinguishes what exists at the same moment. The numbers that it holds are used again: an inode by the
//! next file, `8:16` by the next disk. A [`Thing`] also holds what is not used again: the time when a file was made (or
//! its generation), the sequence number of a device, and the name that a disk gives of itself.
//!
//! Sources: `statx(2)`, the kernel's `include/uapi/linux/fs.h` (`FS_IOC_GETVERSION`, `BLKGETDISKSEQ`, Linux 5.15) and
//! `Documentation/ABI/stable/sysfs-block` (`diskseq`).

use std::fs::File;
use std::io;
use std::path::Path;

use crc_fast::crc64_nvme;
use serde::{Deserialize, Serialize};

use super::device::{BlockDevice, DeviceNumber};
use super::host::boot_id;
use super::roots::{Roots, read_number};
use super::storage::{ReadFlags, open_file};
use crate::sys::device::{capacity_bytes, sequence_number, stands_on};
use crate::sys::identity::{Identity, Moment, Stamp, block_device, generation};

/// A file, folder or device, as it is recognised later.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thing {
    /// Device and inode number; of a device its own number and 0.
    #[cfg_attr(feature = "schema", schemars(with = "(u64, u64)"))]
    identity: Identity,
    /// The boot in which it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    /// Size of a file or device in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// When a file or folder was made: seconds since 1970 and nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<Moment>,
    /// Which of the files that had its inode it is, where the file system does not tell when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generation: Option<u32>,
    /// The number that the kernel gave a disk when it appeared. No other disk has it in the same boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    /// A checksum of the name that a disk gives of itself (WWN, serial number, UUID).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name_sum: Option<u64>,
    /// Where a partition begins on its disk, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_bytes: Option<u64>,
}

/// How what is there differs from what was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is another file or folder.
    AnotherFile,
    /// It is another disk, or the disk was removed and came back.
    AnotherDevice,
    /// It is the same, and has another size by now.
    Resized {
        /// Size of the file or device at the first look, in bytes.
        from_bytes: u64,
        /// Size of the file or device as it is now, in bytes.
        to_bytes: u64,
    },
}

impl Thing {
    /// An open file, folder or device.
    ///
    /// # Errors
    /// When the system does not answer.
    pub fn of(file: &File, roots: &Roots) -> io::Result<Self> {
        let boot = boot_id(roots);
        if let Some(number) = block_device(file)? {
            let number = DeviceNumber::from_raw(number);
            let device = BlockDevice::find(number, roots);
            let listed = device.as_ref().map(|device| Thing::of_device(device, roots));
            let mut thing = listed.unwrap_or_else(|| Thing::at(number.identity(), boot));
            // The open device answers also where sysfs shows another one by now.
            thing.identity = number.identity();
            thing.sequence = sequence_number(file).ok().or(thing.sequence);
            thing.size_bytes = capacity_bytes(file).ok().or(thing.size_bytes);
            let of_loop = device.and_then(|device| loop_name(file, &device));
            thing.name_sum = of_loop.map(|name| sum(&name)).or(thing.name_sum);
            return Ok(thing);
        }
        let stamp = Stamp::of(file)?;
        let is_folder = file.metadata()?.is_dir();
        Ok(Thing {
            size_bytes: (!is_folder).then_some(stamp.size_bytes),
            born: stamp.birth,
            generation: if stamp.birth.is_none() { generation(file) } else { None },
            ..Thing::at(stamp.identity, boot)
        })
    }

    /// A device as sysfs describes it. Nothing is opened.
    pub fn of_device(device: &BlockDevice, roots: &Roots) -> Self {
        let disk = device.whole_disk().unwrap_or_else(|| device.clone());
        let identity = device.number().map_or(Identity::from((0, 0)), DeviceNumber::identity);
        Thing {
            size_bytes: device.size_bytes(),
            sequence: read_number(&disk.dir().join("diskseq")),
            name_sum: disk.own_name().map(|name| sum(&name)),
            start_bytes: device.start_bytes(),
            ..Thing::at(identity, boot_id(roots))
        }
    }

    fn at(identity: Identity, boot: Option<String>) -> Self {
        Thing {
            identity,
            boot,
            size_bytes: None,
            born: None,
            generation: None,
            sequence: None,
            name_sum: None,
            start_bytes: None,
        }
    }

    /// Which it is among all that exist at the same time.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Size of a file or device in bytes.
    pub fn size_bytes(&self) -> Option<u64> {
        self.size_bytes
    }

    fn is_device(&self) -> bool {
        self.identity.inode() == 0
    }

    /// How `now`, looked at in the same boot, differs: `None` when it is this very file or device, which was there all
    /// the time.
    pub fn change(&self, now: &Thing) -> Option<Change> {
        self.replacement(now).or_else(|| self.resize(now))
    }

    /// [`Thing::change`] without the size, which a file's owner may change.
    pub fn replacement(&self, now: &Thing) -> Option<Change> {
        let is_it = self.identity == now.identity
            && agrees(self.born, now.born)
            && agrees(self.generation, now.generation)
            && agrees(self.sequence, now.sequence)
            && agrees(self.name_sum, now.name_sum)
            && agrees(self.start_bytes, now.start_bytes);
        match (is_it, now.is_device() || self.is_device()) {
            (true, _) => None,
            (false, true) => Some(Change::AnotherDevice),
            (false, false) => Some(Change::AnotherFile),
        }
    }

    fn resize(&self, now: &Thing) -> Option<Change> {
        let (from_bytes, to_bytes) = self.size_bytes.zip(now.size_bytes)?;
        (from_bytes != to_bytes).then_some(Change::Resized { from_bytes, to_bytes })
    }

    /// Whether `now` is this file or device, perhaps after a boot or under another number. `None` when nothing tells.
    pub fn is_again(&self, now: &Thing) -> Option<bool> {
        let is_same_boot = self.boot.is_some() && self.boot == now.boot;
        if self.is_device() != now.is_device() || self.resize(now).is_some() {
            return Some(false);
        }
        if is_same_boot && self.replacement(now).is_none() {
            return Some(true);
        }
        if !self.is_device() {
            // The number of the device may be another one after a boot (btrfs, NFS, overlay, device-mapper).
            let is_inode = self.identity.inode() == now.identity.inode();
            let is_it = is_inode && agrees(self.born, now.born) && agrees(self.generation, now.generation);
            let is_proven =
                self.born.and(now.born).is_some() || self.generation.and(now.generation).is_some();
            return match (is_it, is_same_boot) {
                (false, _) | (true, true) => Some(false),
                (true, false) => is_proven.then_some(true),
            };
        }
        match (self.name_sum, now.name_sum) {
            (Some(then), Some(now_sum)) => Some(then == now_sum && agrees(self.start_bytes, now.start_bytes)),
            _ if is_same_boot => Some(false),
            _ => None,
        }
    }
}

/// What is not known of both does not differ.
fn agrees<T: PartialEq>(then: Option<T>, now: Option<T>) -> bool {
    then.zip(now).is_none_or(|(then, now)| then == now)
}

/// Documents are handed on, and a serial number is nobody else's business.
fn sum(name: &str) -> u64 {
    crc64_nvme(name.as_bytes())
}

/// The file that an open loop device stands on, and where in it the device begins.
fn loop_name(device: &File, listed: &BlockDevice) -> Option<String> {
    let path = listed.whole_disk().unwrap_or_else(|| listed.clone()).loop_backing_file()?;
    let stands_on = stands_on(device).ok()?;
    // The path may lead to another file by now.
    let file = open_file(Path::new(&path), ReadFlags::CACHED).ok()?;
    let stamp = Stamp::of(&file).ok().filter(|stamp| stamp.identity == stands_on)?;
    let made = match stamp.birth {
        Some((seconds, nanoseconds)) => format!("{seconds}.{nanoseconds}"),
        None => generation(&file)?.to_string(),
    };
    let offset: u64 = read_number(&listed.dir().join("loop/offset")).unwrap_or_default();
    Some(format!("loop {} {made} {offset}", stamp.identity.inode()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn thing(path: &Path) -> Thing {
        Thing::of(&File::open(path).unwrap(), &Roots::default()).unwrap()
    }

    fn after_a_boot(thing: &Thing) -> Thing {
        let identity = Identity::from((thing.identity.device() + 1, thing.identity.inode()));
        Thing { boot: Some("later".into()), identity, ..thing.clone() }
    }

    #[test]
    fn a_file_is_recognised_by_any_name_and_another_one_of_its_name_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "12345").unwrap();
        let first = thing(&at("a"));
        fs::rename(at("a"), at("b")).unwrap();
        assert_eq!((first.change(&thing(&at("b"))), first.is_again(&thing(&at("b")))), (None, Some(true)));
        fs::write(at("a"), "12345").unwrap();
        let second = thing(&at("a"));
        assert_eq!(first.change(&second), Some(Change::AnotherFile));
        assert_eq!(first.is_again(&second), Some(false));
        fs::write(at("b"), "1234567").unwrap();
        let resized = Change::Resized { from_bytes: 5, to_bytes: 7 };
        assert_eq!(first.change(&thing(&at("b"))), Some(resized));
        assert_eq!(
            (first.replacement(&thing(&at("b"))), first.is_again(&thing(&at("b")))),
            (None, Some(false))
        );
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Thing>(&text).unwrap(), first, "{text}");
    }

    #[test]
    fn an_inode_that_is_used_again_is_another_file() {
        let first = Thing {
            born: Some((1000, 7)),
            size_bytes: Some(4096),
            ..Thing::at(Identity::from((5, 12)), Some("boot".into()))
        };
        let again = Thing { born: Some((1001, 0)), ..first.clone() };
        assert_eq!((first.change(&again), first.is_again(&again)), (Some(Change::AnotherFile), Some(false)));
        assert_eq!(first.is_again(&after_a_boot(&first)), Some(true), "the number of its device may change");
        assert_eq!(first.is_again(&after_a_boot(&again)), Some(false));
        // Without the time when it was made its generation tells, and without that nothing does after a boot.
        let old = Thing { born: None, generation: Some(3), ..first.clone() };
        assert_eq!(old.change(&Thing { generation: Some(4), ..old.clone() }), Some(Change::AnotherFile));
        assert_eq!(old.is_again(&after_a_boot(&old)), Some(true));
        let bare = Thing { generation: None, ..old };
        assert_eq!((bare.change(&bare), bare.is_again(&after_a_boot(&bare))), (None, None));
    }

    #[test]
    fn a_disk_is_recognised_by_its_name_and_one_without_a_name_until_it_goes() {
        let disk = Thing {
            size_bytes: Some(1 << 30),
            sequence: Some(9),
            name_sum: Some(sum("wwid")),
            ..Thing::at(Identity::from((0x810, 0)), Some("boot".into()))
        };
        let came_back = Thing { sequence: Some(10), identity: Identity::from((0x820, 0)), ..disk.clone() };
        assert_eq!((disk.change(&disk), disk.is_again(&disk)), (None, Some(true)));
        assert_eq!(
            (disk.change(&came_back), disk.is_again(&came_back)),
            (Some(Change::AnotherDevice), Some(true))
        );
        let nameless = Thing { name_sum: None, ..disk.clone() };
        let next = Thing { name_sum: None, sequence: Some(10), ..disk.clone() };
        assert_eq!(
            (nameless.change(&next), nameless.is_again(&next)),
            (Some(Change::AnotherDevice), Some(false))
        );
        assert_eq!(nameless.is_again(&after_a_boot(&nameless)), None);
        assert_eq!(disk.is_again(&after_a_boot(&disk)), Some(true));
        let other = Thing { name_sum: Some(sum("other")), ..after_a_boot(&disk) };
        assert_eq!(disk.is_again(&other), Some(false));
        let larger = Thing { size_bytes: Some(2 << 30), ..after_a_boot(&nameless) };
        assert_eq!(nameless.is_again(&larger), Some(false));
        // Another partition of the same disk.
        let first = Thing { start_bytes: Some(1 << 20), ..disk.clone() };
        let second = Thing { start_bytes: Some(2 << 20), ..first.clone() };
        assert_eq!(
            (first.change(&second), first.is_again(&second)),
            (Some(Change::AnotherDevice), Some(false))
        );
    }

    #[test]
    fn a_folder_made_again_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("folder");
        fs::create_dir(&at).unwrap();
        let first = thing(&at);
        fs::write(at.join("file"), "x").unwrap();
        assert_eq!(first.change(&thing(&at)), None, "its size does not count");
        fs::remove_file(at.join("file")).unwrap();
        fs::remove_dir(&at).unwrap();
        // The clock of files goes on in steps.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::create_dir(&at).unwrap();
        if first.born.is_some() {
            assert_eq!(first.change(&thing(&at)), Some(Change::AnotherFile));
        }
    }
}

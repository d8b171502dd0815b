//! The write cache of a disk as sysfs lets one switch it.
//!
//! Three files say `write back` (on) or `write through` (off). A SCSI, SAS or SATA disk's `cache_type`
//! changes the disk itself (kernel, `drivers/scsi/sd.c`, `cache_type_store`), a virtio disk's asks the host
//! (`drivers/block/virtio_blk.c`), where the host lets it. `queue/write_cache` only changes what the kernel
//! does: with `write through` it sends no flush, whatever the disk's cache still holds
//! (`Documentation/ABI/stable/sysfs-block`). NVMe disks have only that one: their own cache is changed with
//! an administrative command (feature 6), which is no file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::device::BlockDevice;
use super::roots::Roots;
use super::setting::read_word;
use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::machine::chain::{Layer, LayerKind};
use crate::sys::error::system_text;
use crate::sys::file::Stat;
use crate::text::printable_path;

/// On.
pub const BACK: &str = "write back";
/// Off.
pub const THROUGH: &str = "write through";

/// What a switch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The disk: off, a write is acknowledged when it is durable.
    Disk,
    /// Only the kernel: off, it sends no flushes, and the disk's cache stays as it is.
    Kernel,
}

/// The switch of a disk's write cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Kernel name of the disk.
    pub disk: String,
    /// The file.
    pub path: PathBuf,
    /// What it changes.
    pub reach: Reach,
    /// What it says now: [`BACK`] or [`THROUGH`].
    pub now: String,
}

impl Switch {
    /// Of the disk with this kernel name.
    ///
    /// # Errors
    /// There is none, or it says something else.
    pub fn of(disk: &str, roots: &Roots) -> Result<Self, Refusal> {
        let refused = |words: String| Refusal::new(RefusalKind::Target, words).on(disk);
        let device = BlockDevice::named(disk, roots)
            .ok_or_else(|| refused(format!("{disk}: sysfs has no such disk")))?;
        let scsi =
            children(&device.dir().join("device/scsi_disk")).into_iter().map(|dir| dir.join("cache_type"));
        // A host that does not let a virtio disk be switched shows the file read-only.
        let of_disk = scsi.chain([device.dir().join("cache_type")]).find(|path| is_for_writing(path));
        let (path, reach) = match of_disk {
            Some(path) => (path, Reach::Disk),
            None => (device.queue("write_cache"), Reach::Kernel),
        };
        match read_word(&path) {
            Some(now) if now == BACK || now == THROUGH => {
                Ok(Switch { disk: disk.to_string(), path, reach, now })
            }
            Some(now) => Err(refused(format!(
                "{disk}: the write cache cannot be switched: {} is '{now}', neither '{BACK}' nor '{THROUGH}'",
                printable_path(&path)
            ))),
            None => {
                Err(refused(format!("{disk}: it has no write cache setting ({})", printable_path(&path))))
            }
        }
    }

    /// Whether this program may switch it.
    ///
    /// # Errors
    /// It may not, or nobody may.
    pub fn check(&self) -> Result<(), Refusal> {
        let path = printable_path(&self.path);
        let refused = |why: String| {
            let words = format!("{}: the write cache cannot be switched{why}", self.disk);
            Refusal::new(RefusalKind::Target, words).on(&self.disk)
        };
        if self.path.exists() && !is_for_writing(&self.path) {
            let why =
                format!(": {path} is read-only, even for root: the host or the driver does not allow it");
            return Err(refused(why).hint("give another disk"));
        }
        File::options().write(true).open(&self.path).map(|_| ()).map_err(|error| {
            refused(format!(" ({path}: {})", system_text(&error)))
                .hint("run as root, on the machine that owns the disk")
        })
    }

    /// Switches, and looks whether it did.
    ///
    /// # Errors
    /// It does not say so now.
    pub fn set(&self, to: &str) -> Result<(), Failure> {
        let failed = |why: String| {
            let path = printable_path(&self.path);
            let words = format!("{}: the write cache could not be set to '{to}' ({path}: {why})", self.disk);
            Failure::new(FailureKind::Output, words).on(&self.disk)
        };
        if read_word(&self.path).as_deref() == Some(to) {
            return Ok(());
        }
        put(&self.path, to, |path, line| fs::write(path, line)).map_err(|not_set| match not_set {
            NotSet::Refused(error) => failed(system_text(&error)),
            NotSet::Still(now) => failed(format!(
                "the value was accepted, but is still '{now}': this disk has no cache to switch"
            )),
        })
    }
}

/// Why a setting does not say what it was set to.
#[derive(Debug)]
pub enum NotSet {
    /// The system refused the word.
    Refused(io::Error),
    /// It took the word and says this.
    Still(String),
}

/// Writes a setting by `write`, and looks whether that helped.
pub fn put(
    path: &Path,
    word: &str,
    write: impl FnOnce(&Path, String) -> io::Result<()>,
) -> Result<(), NotSet> {
    // Older kernels want the line end (`cache_type_store` compares with it).
    write(path, format!("{word}\n")).map_err(NotSet::Refused)?;
    match read_word(path) {
        Some(now) if now == word => Ok(()),
        now => Err(NotSet::Still(now.unwrap_or_default())),
    }
}

/// Kernel names of the disks whose caches a target's writes go into: the first whole devices on the way down
/// that are no mere map of others. A loop device is one: its flushes are syncs of its file.
pub fn disks(layers: &[Layer]) -> Vec<String> {
    fn below(layers: &[Layer], at: usize, found: &mut Vec<String>) {
        let layer = &layers[at];
        let is_disk = matches!(
            layer.kind,
            LayerKind::Disk | LayerKind::NetworkDisk | LayerKind::Loop | LayerKind::Memory
        );
        if is_disk && layer.number.is_some() {
            found.push(layer.name.clone())
        } else {
            layer.below.iter().for_each(|&next| below(layers, next, found))
        }
    }
    let mut found = Vec::new();
    if !layers.is_empty() {
        below(layers, 0, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// Whether anybody may write the file: root passes over a mode, and the kernel refuses it all the same.
fn is_for_writing(path: &Path) -> bool {
    Stat::at(path).is_ok_and(|stat| stat.mode & 0o222 != 0)
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with a SCSI, a virtio and an NVMe disk.
    fn tree() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path().join("sys");
        let put = |path: &str, text: &str| {
            let path = sys.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (disk, number) in
            [("sda", "8:0"), ("vda", "253:0"), ("nvme0n1", "259:0"), ("odd", "7:0"), ("mute", "7:1")]
        {
            put(&format!("block/{disk}/dev"), &format!("{number}\n"));
        }
        put("block/sda/queue/write_cache", "write back\n");
        put("block/sda/device/scsi_disk/0:0:0:0/cache_type", "write back\n");
        put("block/vda/queue/write_cache", "write through\n");
        put("block/vda/cache_type", "write through\n");
        put("block/nvme0n1/queue/write_cache", "write back\n");
        put("block/odd/cache_type", "none\n");
        let roots = Roots { sys, ..Roots::default() };
        (dir, roots)
    }

    #[test]
    fn the_switch_nearest_to_the_disk_is_taken() {
        let (_dir, roots) = tree();
        let of = |disk: &str| Switch::of(disk, &roots);
        let sda = of("sda").unwrap();
        assert!(sda.path.ends_with("0:0:0:0/cache_type"));
        assert_eq!((sda.reach, sda.now.as_str()), (Reach::Disk, BACK));
        let vda = of("vda").unwrap();
        assert_eq!((vda.reach, vda.now.as_str()), (Reach::Disk, THROUGH));
        let nvme = of("nvme0n1").unwrap();
        assert!(nvme.path.ends_with("queue/write_cache"));
        assert_eq!(nvme.reach, Reach::Kernel);
        assert!(of("odd").unwrap_err().to_string().contains("'none'"));
        assert!(of("mute").unwrap_err().to_string().contains("it has no write cache setting ("));
        assert!(of("none").unwrap_err().to_string().contains("none: sysfs has no such disk"));
    }

    #[test]
    fn it_is_switched_and_back() {
        let (_dir, roots) = tree();
        let switch = Switch::of("sda", &roots).unwrap();
        switch.check().unwrap();
        switch.set(THROUGH).unwrap();
        assert_eq!(fs::read_to_string(&switch.path).unwrap(), format!("{THROUGH}\n"), "as sysfs wants it");
        switch.set(BACK).unwrap();
        assert_eq!(Switch::of("sda", &roots).unwrap(), switch);
        let gone = Switch { path: switch.path.with_file_name("gone/x"), ..switch };
        assert!(gone.check().unwrap_err().to_string().contains("run as root"));
        assert!(gone.set(BACK).unwrap_err().to_string().contains("could not be set"));
    }

    #[test]
    fn where_the_host_does_not_let_it_the_kernels_part_is_switched() {
        let (_dir, roots) = tree();
        let lock = |path: &str| {
            let path = roots.sys.join(path);
            crate::sys::made::set_mode(&path, 0o444).unwrap();
        };
        lock("block/vda/cache_type");
        let vda = Switch::of("vda", &roots).unwrap();
        assert!(vda.path.ends_with("queue/write_cache"));
        assert_eq!(vda.reach, Reach::Kernel);
        vda.check().unwrap();
        lock("block/vda/queue/write_cache");
        let words = vda.check().unwrap_err().to_string();
        assert!(
            words.contains("is read-only, even for root: the host or the driver does not allow it")
                && !words.contains("run as root"),
            "{words}"
        );
    }

    #[test]
    fn maps_are_seen_through_and_loop_devices_are_not() {
        let number = Some(super::super::device::DeviceNumber { major: 7, minor: 0 });
        let layer = |kind, name: &str, below: &[usize]| {
            let number = if kind == LayerKind::File || kind == LayerKind::Filesystem { None } else { number };
            Layer { kind, name: name.into(), below: below.to_vec(), number, ..Layer::default() }
        };
        let mirrored = [
            layer(LayerKind::File, "/m/f", &[1]),
            layer(LayerKind::Filesystem, "ext4", &[2]),
            layer(LayerKind::Md, "md0", &[3, 5]),
            layer(LayerKind::Partition, "sda1", &[4]),
            layer(LayerKind::Disk, "sda", &[]),
            layer(LayerKind::Loop, "loop3", &[6]),
            layer(LayerKind::File, "/image", &[4]),
        ];
        assert_eq!(disks(&mirrored), ["loop3", "sda"]);
        assert!(disks(&[]).is_empty());
    }
}

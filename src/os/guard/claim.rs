//! Who claims a block device.
//!
//! The kernel answers whether: a claimed device (mounted, swap, part of device-mapper, md, ...; also
//! through one of its partitions) cannot be opened with `O_EXCL`. Mountinfo, the list of swap areas and
//! sysfs answer who. Loop devices do not claim what they stand on: those are looked for besides.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::GuardError;
use crate::os::device::{BlockDevice, DeviceNumber, loop_devices_over};
use crate::os::mounts::{Mount, read_mounts, read_swaps};
use crate::os::roots::Roots;
use crate::os::words::{errno_text, printable, printable_path, system_text};

/// Something other than this test has the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Each claimant in words, e.g. "partition sda1 is mounted at /boot (vfat)"; never empty.
    pub by: Vec<String>,
}

/// How often to look again when the device is claimed and nobody is seen to claim it: another test may be
/// making this same check at this moment.
const LOOKS: u32 = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(40);

/// Who claims the block device at `path`, which was opened as `device`; `None`: nobody.
///
/// The device is held exclusively for a moment only.
///
/// # Errors
/// [`GuardError::Open`], [`GuardError::Changed`].
pub fn claim(path: &Path, device: DeviceNumber, roots: &Roots) -> Result<Option<Claim>, GuardError> {
    for look in 1..=LOOKS {
        if !is_busy(path, device)? {
            let by = through_loops(device, roots)?;
            return Ok(if by.is_empty() { None } else { Some(Claim { by }) });
        }
        let by = claimants(device, roots);
        if !by.is_empty() {
            return Ok(Some(Claim { by }));
        }
        if look < LOOKS {
            std::thread::sleep(LOOK_PAUSE);
        }
    }
    let unknown = "it is claimed by something that the kernel does not name here: a mount of another \
                   namespace (container), a ZFS pool, or a program that opened it exclusively; lsblk, lsof and \
                   zpool status may show it";
    Ok(Some(Claim { by: vec![unknown.to_string()] }))
}

/// Users of loop devices that stand on the device, a partition of it or its disk.
fn through_loops(device: DeviceNumber, roots: &Roots) -> Result<Vec<String>, GuardError> {
    let numbers = match BlockDevice::find(device, roots) {
        Some(own) => involved(&own).iter().filter_map(BlockDevice::number).collect(),
        None => vec![device],
    };
    let mut found = Vec::new();
    for above in loop_devices_over(&numbers, roots) {
        let node = roots.dev.join(&above.name);
        let by = match above.number() {
            Some(number) if node.exists() => claim(&node, number, roots)?.map_or(Vec::new(), |c| c.by),
            // No node to ask the kernel with, as in a container: what is seen must do.
            number => number.map_or(Vec::new(), |n| claimants(n, roots)),
        };
        if !by.is_empty() {
            let above = printable(&above.describe());
            found.push(format!("{above} stands on it and is itself in use: {}", by.join("; ")));
        }
    }
    Ok(found)
}

/// The device with its partitions and its disk: a claim on a disk counts for its partitions and the other
/// way round.
fn involved(own: &BlockDevice) -> Vec<BlockDevice> {
    let mut involved = vec![own.clone()];
    involved.extend(own.partitions());
    involved.extend(own.whole_disk());
    involved
}

/// Asks the kernel by opening exclusively.
fn is_busy(path: &Path, device: DeviceNumber) -> Result<bool, GuardError> {
    let name = || printable_path(path);
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => {
            let failed = |e: std::io::Error| GuardError::Open { path: name(), text: system_text(&e) };
            let metadata = fs::File::from(fd).metadata().map_err(failed)?;
            let same =
                metadata.file_type().is_block_device() && DeviceNumber::from_raw(metadata.rdev()) == device;
            if same { Ok(false) } else { Err(GuardError::Changed { path: name() }) }
        }
        Err(rustix::io::Errno::BUSY) => Ok(true),
        Err(errno) => Err(GuardError::Open { path: name(), text: errno_text(errno.raw_os_error()) }),
    }
}

/// Everybody who is seen to use the device, its partitions, its disk, or what is built on them.
fn claimants(device: DeviceNumber, roots: &Roots) -> Vec<String> {
    let mounts = read_mounts(roots).unwrap_or_default();
    let swaps = read_swaps(roots).unwrap_or_default();
    let Some(own) = BlockDevice::find(device, roots) else {
        return mounts.iter().filter(|m| m.device == device).map(|m| mounted("it", m)).collect();
    };
    let mut found = Vec::new();
    for part in &involved(&own) {
        let subject = subject(part, &own);
        found.extend(uses(part, &subject, &mounts, &swaps, roots));
        for holder in part.holders() {
            found.push(format!("{subject} is part of {}", printable(&holder.describe())));
            let mut seen = vec![holder.name.clone()];
            found.extend(uses_above(&holder, &mounts, &swaps, roots, &mut seen));
        }
    }
    found
}

/// How a message calls `part` when the person named `own`.
fn subject(part: &BlockDevice, own: &BlockDevice) -> String {
    if part == own {
        "it".to_string()
    } else if part.is_partition() {
        format!("its partition {}", part.name)
    } else {
        format!("the whole disk {}", part.name)
    }
}

fn mounted(subject: &str, mount: &Mount) -> String {
    let point = printable_path(&mount.mount_point);
    format!("{subject} is mounted at {point} ({})", printable(&mount.fs_type))
}

/// Direct uses of one device: mounts and swap.
fn uses(
    device: &BlockDevice,
    subject: &str,
    mounts: &[Mount],
    swaps: &[PathBuf],
    roots: &Roots,
) -> Vec<String> {
    let number = device.number();
    let node = roots.dev.join(&device.name);
    let is_device = |path: &Path| {
        path == node
            || fs::metadata(path).is_ok_and(|m| {
                m.file_type().is_block_device() && Some(DeviceNumber::from_raw(m.rdev())) == number
            })
    };
    let is_mounted_from = |mount: &Mount| {
        Some(mount.device) == number
            // Filesystems over several devices have a number of their own and name one device.
            || (mount.device.major == 0 && mount.source.is_absolute() && is_device(&mount.source))
    };
    let mut found: Vec<String> =
        mounts.iter().filter(|m| is_mounted_from(m)).map(|m| mounted(subject, m)).collect();
    if found.is_empty() && in_mounted_btrfs(&device.name, roots) {
        found.push(format!("{subject} is part of a mounted btrfs file system"));
    }
    if swaps.iter().any(|swap| is_device(swap)) {
        found.push(format!("{subject} is in use as swap"));
    }
    found
}

/// Uses of a stacked device and of what is stacked on it.
fn uses_above(
    device: &BlockDevice,
    mounts: &[Mount],
    swaps: &[PathBuf],
    roots: &Roots,
    seen: &mut Vec<String>,
) -> Vec<String> {
    let subject = printable(&device.describe());
    let mut found = uses(device, &subject, mounts, swaps, roots);
    for part in device.partitions().into_iter().chain(device.holders()) {
        if !seen.contains(&part.name) {
            seen.push(part.name.clone());
            found.extend(uses_above(&part, mounts, swaps, roots, seen));
        }
    }
    found
}

/// The devices of mounted btrfs filesystems are listed in sysfs.
fn in_mounted_btrfs(name: &str, roots: &Roots) -> bool {
    let filesystems = fs::read_dir(roots.sys.join("fs/btrfs")).into_iter().flatten().flatten();
    filesystems.into_iter().any(|f| f.path().join("devices").join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::device::tests::recorded_sysfs;

    const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
    const SDA1: DeviceNumber = DeviceNumber { major: 8, minor: 1 };

    #[test]
    fn a_disk_is_claimed_through_partitions_and_what_is_on_them() {
        let (_dir, roots) = recorded_sysfs();
        fs::write(
            roots.proc.join("self/mountinfo"),
            "30 1 252:0 / / rw - ext4 /dev/mapper/vg-root rw\n31 1 9:0 / /data\\040x rw - xfs /dev/md0 rw\n",
        )
        .unwrap();
        assert_eq!(
            claimants(SDA, &roots),
            [
                "its partition sda1 is part of md array md0 (raid1)",
                "md array md0 (raid1) is mounted at /data x (xfs)",
                "its partition sda2 is part of LVM volume vg-root (dm-0)",
                "LVM volume vg-root (dm-0) is mounted at / (ext4)",
            ]
        );
    }

    #[test]
    fn a_partition_is_claimed_through_itself_and_its_disk_not_its_neighbour() {
        let (_dir, roots) = recorded_sysfs();
        fs::write(
            roots.proc.join("self/mountinfo"),
            "30 1 8:2 / /other rw - ext4 /dev/sda2 rw\n31 1 8:1 / /boot rw - vfat /dev/sda1 rw\n",
        )
        .unwrap();
        let swap = roots.dev.join("sda1");
        fs::write(roots.proc.join("swaps"), format!("Filename\n{} partition 1 0 -2\n", swap.display()))
            .unwrap();
        assert_eq!(
            claimants(SDA1, &roots),
            ["it is mounted at /boot (vfat)", "it is in use as swap", "it is part of md array md0 (raid1)",]
        );
    }

    #[test]
    fn btrfs_members_are_found_by_source_or_by_sysfs() {
        let (_dir, roots) = recorded_sysfs();
        let source = roots.dev.join("sda1");
        let line = format!("30 1 0:44 / /b rw - btrfs {} rw\n", source.display());
        fs::write(roots.proc.join("self/mountinfo"), line).unwrap();
        assert_eq!(claimants(SDA1, &roots)[0], "it is mounted at /b (btrfs)");
        fs::create_dir_all(roots.sys.join("fs/btrfs/uuid/devices/sda2")).unwrap();
        let sda2 = DeviceNumber { major: 8, minor: 2 };
        assert_eq!(claimants(sda2, &roots)[0], "it is part of a mounted btrfs file system");
    }

    #[test]
    fn a_path_that_is_no_such_device_is_told_apart() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = claim(file.path(), SDA, &Roots::default()).unwrap_err();
        assert!(matches!(error, GuardError::Changed { .. }), "{error}");
        let error = claim(Path::new("/no/such"), SDA, &Roots::default()).unwrap_err();
        assert!(error.to_string().ends_with("No such file or directory"), "{error}");
    }
}

//! The known users of a block device: mounts, swap areas, holders, and whether the running system is among
//! them. Read from mountinfo, the list of swap areas and sysfs; nothing is opened.

use std::fs;
use std::path::{Path, PathBuf};

use super::claimant::{How, Use};
use super::missing::{Fact, Missing};
use super::subject::Subject;
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::mounts::{Mount, mountinfo, parse_mountinfo, read_mounts, read_swaps, swaps};
use crate::machine::roots::Roots;
use crate::sys::error::system_text;
use crate::sys::identity::block_device_at;
use crate::sys::kernel_table;
use crate::text::printable_path;

/// What the kernel lists, read once for a question.
pub(super) struct Uses<'a> {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
    /// Lists that could not be read.
    pub missing: Vec<Missing>,
    roots: &'a Roots,
}

/// Everybody who is seen to use a device, its partitions or what is built on them, without opening it.
pub fn users(device: DeviceNumber, roots: &Roots) -> Vec<Use> {
    Uses::read(roots).of(device)
}

/// Where the files are that the running system cannot do without.
const SYSTEM_PLACES: &[&str] = &["/boot", "/efi", "/usr", "/etc"];

fn is_system_place(point: &Path) -> bool {
    point == Path::new("/") || SYSTEM_PLACES.iter().any(|place| point.starts_with(place))
}

impl<'a> Uses<'a> {
    pub fn read(roots: &'a Roots) -> Self {
        let mut missing = Vec::new();
        let mut mounts = read_mounts(roots).unwrap_or_else(|error| {
            let why = format!("{}: {}", printable_path(&mountinfo(roots)), system_text(&error));
            missing.push(Missing::new(Fact::Mounts, why));
            Vec::new()
        });
        // The first process sees the machine's own mounts, also when this one is shut into a part of them.
        let first = kernel_table::read(&roots.proc.join("1/mountinfo")).map(|text| parse_mountinfo(&text));
        for mount in first.unwrap_or_default() {
            if !mounts.iter().any(|m| m.device == mount.device && m.mount_point == mount.mount_point) {
                mounts.push(mount);
            }
        }
        let swaps = read_swaps(roots).unwrap_or_else(|error| {
            let why = format!("{}: {}", printable_path(&swaps(roots)), system_text(&error));
            missing.push(Missing::new(Fact::Swaps, why));
            Vec::new()
        });
        Uses { mounts, swaps, missing, roots }
    }

    /// Everybody who is seen to use the device, its partitions, its disk, or what is built on them.
    pub fn of(&self, device: DeviceNumber) -> Vec<Use> {
        let Some(own) = BlockDevice::find(device, self.roots) else {
            return self
                .mounts
                .iter()
                .filter(|m| m.device == device)
                .map(|m| mounted(&Subject::It, m))
                .collect();
        };
        let mut found = Vec::new();
        for part in &own.involved() {
            found.extend(self.of_part(part, &Subject::of(part, &own)));
        }
        found.extend(self.system_beside(&own));
        found
    }

    /// Uses of one device and of what is stacked on it.
    fn of_part(&self, part: &BlockDevice, subject: &Subject) -> Vec<Use> {
        let mut found = self.direct(part, subject);
        for holder in part.holders() {
            let mut seen = vec![holder.name.clone()];
            let above = self.above(&holder, &mut seen);
            found.push(Use::plain(How::PartOf { what: subject.clone(), holder: holder.describe() }));
            found.extend(above);
        }
        found
    }

    /// A partition whose neighbour carries the running system.
    fn system_beside(&self, own: &BlockDevice) -> Option<Use> {
        let disk = own.whole_disk()?;
        let neighbours = disk.partitions().into_iter().filter(|part| part != own);
        let by: Vec<Use> = neighbours
            .flat_map(|part| self.of_part(&part, &Subject::Other(part.name.clone())))
            .filter(|use_of| use_of.is_system)
            .collect();
        Use::summed(by, |by| How::BesideSystem { disk: disk.name.clone(), by })
    }

    /// Direct uses of one device: mounts and swap.
    fn direct(&self, device: &BlockDevice, subject: &Subject) -> Vec<Use> {
        let mut found: Vec<Use> =
            self.mounts.iter().filter(|m| self.is_from(m, device)).map(|m| mounted(subject, m)).collect();
        if found.is_empty() {
            found.extend(self.in_btrfs(device, subject));
        }
        let serves = self.mounts.iter().filter(|m| {
            m.options.split(',').filter_map(|o| o.split_once("=/")).any(|(_, path)| {
                // logdev=, rtdev=, journal_path=: parts of a file system on devices of their own.
                self.is_node_of(Path::new(&format!("/{path}")), device)
            })
        });
        found.extend(serves.map(|m| {
            let (what, point, filesystem) = (subject.clone(), m.mount_point.clone(), m.fs_type.clone());
            Use { is_system: is_system_place(&m.mount_point), how: How::Serves { what, point, filesystem } }
        }));
        if self.swaps.iter().any(|swap| self.is_node_of(swap, device)) {
            found.push(Use { is_system: true, how: How::Swap { what: subject.clone() } });
        }
        found
    }

    fn is_node_of(&self, path: &Path, device: &BlockDevice) -> bool {
        path == self.roots.dev.join(device.node_name())
            || device.number().is_some_and(|number| device_at(path) == Some(number))
    }

    fn is_from(&self, mount: &Mount, device: &BlockDevice) -> bool {
        if Some(mount.device) == device.number() {
            return true;
        }
        // Filesystems over several devices have a number of their own and name one device, or all (bcachefs).
        let source = mount.source.to_string_lossy();
        mount.device.major == 0
            && source.starts_with('/')
            && (self.is_node_of(&mount.source, device)
                || source.split(':').any(|one| self.is_node_of(Path::new(one), device)))
    }

    /// The devices of mounted btrfs filesystems are listed in sysfs; the mount names one of them.
    fn in_btrfs(&self, device: &BlockDevice, subject: &Subject) -> Vec<Use> {
        let filesystems = fs::read_dir(self.roots.sys.join("fs/btrfs")).into_iter().flatten().flatten();
        let dirs = filesystems.into_iter().map(|f| f.path().join("devices"));
        let Some(members) = dirs.into_iter().find(|dir| dir.join(&device.name).exists()) else {
            return Vec::new();
        };
        let names = fs::read_dir(members).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let members: Vec<BlockDevice> = names
            .filter_map(|name| BlockDevice::named(&name.to_string_lossy(), self.roots))
            .filter(|member| member != device)
            .collect();
        let of = |m: &&Mount| m.fs_type == "btrfs" && members.iter().any(|member| self.is_from(m, member));
        let found: Vec<Use> = self
            .mounts
            .iter()
            .filter(of)
            .map(|m| {
                let how = How::InBtrfs { what: subject.clone(), point: Some(m.mount_point.clone()) };
                Use { is_system: is_system_place(&m.mount_point), how }
            })
            .collect();
        if found.is_empty() {
            // Mounted where this process does not see it, or named by something that is no device here.
            let root = self.mounts.iter().any(|m| {
                m.fs_type == "btrfs" && m.mount_point == Path::new("/") && device_at(&m.source).is_none()
            });
            return vec![Use { is_system: root, how: How::InBtrfs { what: subject.clone(), point: None } }];
        }
        found
    }

    /// Uses of a stacked device and of what is stacked on it.
    fn above(&self, device: &BlockDevice, seen: &mut Vec<String>) -> Vec<Use> {
        let subject = Subject::Other(device.describe());
        let mut found = self.direct(device, &subject);
        for part in device.partitions().into_iter().chain(device.holders()) {
            if !seen.contains(&part.name) {
                seen.push(part.name.clone());
                found.extend(self.above(&part, seen));
            }
        }
        found
    }
}

fn mounted(subject: &Subject, mount: &Mount) -> Use {
    let (point, filesystem) = (mount.mount_point.clone(), mount.fs_type.clone());
    Use {
        is_system: is_system_place(&mount.mount_point),
        how: How::Mounted { what: subject.clone(), point, filesystem },
    }
}

/// Number of the block device whose node the path leads to; `None` when it is something else.
pub(super) fn device_at(path: &Path) -> Option<DeviceNumber> {
    block_device_at(path).map(DeviceNumber::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::device::tests::recorded_sysfs;

    const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
    const SDA1: DeviceNumber = DeviceNumber { major: 8, minor: 1 };
    const SDA2: DeviceNumber = DeviceNumber { major: 8, minor: 2 };
    const DM0: DeviceNumber = DeviceNumber { major: 252, minor: 0 };

    fn words(device: DeviceNumber, roots: &Roots) -> Vec<String> {
        Uses::read(roots).of(device).iter().map(Use::to_string).collect()
    }

    fn is_system(device: DeviceNumber, roots: &Roots) -> bool {
        Uses::read(roots).of(device).iter().any(|u| u.is_system)
    }

    fn put_mounts(roots: &Roots, text: &str) {
        let proc = "22 1 0:21 / /proc rw - proc proc rw\n";
        fs::write(roots.proc.join("self/mountinfo"), format!("{proc}{text}")).unwrap();
    }

    #[test]
    fn lists_that_cannot_be_read_are_told() {
        let (_dir, roots) = recorded_sysfs();
        assert_eq!(Uses::read(&roots).missing, []);
        fs::write(roots.proc.join("self/mountinfo"), "").unwrap();
        fs::remove_file(roots.proc.join("swaps")).unwrap();
        let told: Vec<String> = Uses::read(&roots).missing.iter().map(Missing::to_string).collect();
        assert!(told[0].ends_with("self/mountinfo: it lists no mount"), "{told:?}");
        assert!(told[1].starts_with("whether it is swap is not known: "), "{told:?}");
    }

    #[test]
    fn of_a_device_that_sysfs_does_not_show_the_mounts_are_told() {
        let (_dir, roots) = recorded_sysfs();
        put_mounts(&roots, "30 1 99:1 / /x rw - ext4 /dev/x rw\n31 1 99:2 / / rw - ext4 /dev/y rw\n");
        let found = users(DeviceNumber { major: 99, minor: 1 }, &roots);
        assert_eq!(found.iter().map(Use::to_string).collect::<Vec<_>>(), ["it is mounted at /x (ext4)"]);
    }

    #[test]
    fn a_disk_is_claimed_through_partitions_and_what_is_on_them() {
        let (_dir, roots) = recorded_sysfs();
        put_mounts(
            &roots,
            "30 1 252:0 / / rw - ext4 /dev/mapper/vg-root rw\n31 1 9:0 / /data\\040x rw - xfs /dev/md0 rw\n",
        );
        assert_eq!(
            words(SDA, &roots),
            [
                "its partition sda1 is part of md array md0 (raid1)",
                "md array md0 (raid1) is mounted at /data x (xfs)",
                "its partition sda2 is part of LVM volume vg-root (dm-0)",
                "LVM volume vg-root (dm-0) is mounted at / (ext4)",
            ]
        );
        // Everything below the root, and the neighbours on that disk.
        for device in [SDA, SDA1, SDA2, DM0] {
            assert!(is_system(device, &roots), "{device}");
        }
        assert!(words(SDA1, &roots).last().unwrap().starts_with(
            "the running system is on the same disk, sda: LVM volume vg-root (dm-0) is mounted at /"
        ));
    }

    #[test]
    fn every_mount_is_told_and_only_the_places_of_the_system_make_its_disk() {
        let (_dir, roots) = recorded_sysfs();
        put_mounts(
            &roots,
            "30 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n31 1 8:1 /a /home rw - ext4 /dev/sda1 rw\n",
        );
        let two = ["it is mounted at /srv (ext4)", "it is mounted at /home (ext4)"];
        assert_eq!(words(SDA1, &roots)[..2], two);
        assert!(!is_system(SDA, &roots) && !is_system(SDA2, &roots));
        for point in ["/", "/boot", "/boot/efi", "/usr", "/efi", "/etc/hosts"] {
            put_mounts(&roots, &format!("30 1 8:1 / {point} rw - ext4 /dev/sda1 rw\n"));
            assert!(is_system(SDA, &roots) && is_system(SDA1, &roots) && is_system(SDA2, &roots), "{point}");
        }
        // A process in a chroot or a container does not see it, the first one does.
        put_mounts(&roots, "");
        fs::create_dir_all(roots.proc.join("1")).unwrap();
        fs::write(roots.proc.join("1/mountinfo"), "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n").unwrap();
        assert!(is_system(SDA, &roots));
    }

    #[test]
    fn a_partition_is_claimed_through_itself_and_its_disk_not_its_neighbour() {
        let (_dir, roots) = recorded_sysfs();
        put_mounts(
            &roots,
            "30 1 8:2 / /other rw - ext4 /dev/sda2 rw\n31 1 8:1 / /mnt rw - vfat /dev/sda1 rw\n",
        );
        assert_eq!(
            words(SDA1, &roots),
            ["it is mounted at /mnt (vfat)", "it is part of md array md0 (raid1)"]
        );
        let swap = roots.dev.join("sda1");
        fs::write(roots.proc.join("swaps"), format!("Filename\n{} partition 1 0 -2\n", swap.display()))
            .unwrap();
        assert_eq!(words(SDA1, &roots)[1], "it is in use as swap");
        assert!(is_system(SDA1, &roots) && is_system(SDA, &roots), "active swap");
    }

    #[test]
    fn btrfs_members_are_found_by_source_or_by_sysfs() {
        let (_dir, roots) = recorded_sysfs();
        let source = roots.dev.join("sda1");
        put_mounts(&roots, &format!("30 1 0:44 / /b rw - btrfs {} rw\n", source.display()));
        assert_eq!(words(SDA1, &roots)[0], "it is mounted at /b (btrfs)");
        let members = roots.sys.join("fs/btrfs/uuid/devices");
        fs::create_dir_all(members.join("sda2")).unwrap();
        assert_eq!(words(SDA2, &roots)[0], "it is part of a mounted btrfs file system");
        fs::create_dir_all(members.join("sda1")).unwrap();
        assert_eq!(words(SDA2, &roots)[0], "it is part of the btrfs file system mounted at /b");
        assert!(!is_system(SDA2, &roots));
        put_mounts(&roots, &format!("30 1 0:44 / / rw - btrfs {} rw\n", source.display()));
        assert!(is_system(SDA2, &roots), "the root's second device");
    }

    #[test]
    fn a_btrfs_root_whose_source_is_no_device_here_may_be_on_any_member() {
        let (_dir, roots) = recorded_sysfs();
        fs::create_dir_all(roots.sys.join("fs/btrfs/uuid/devices/sda2")).unwrap();
        let is_system_with = |mount: &str| {
            put_mounts(&roots, mount);
            assert_eq!(words(SDA2, &roots)[0], "it is part of a mounted btrfs file system", "{mount}");
            is_system(SDA2, &roots)
        };
        assert!(is_system_with("30 1 0:44 / / rw - btrfs /dev/nowhere rw\n"));
        assert!(!is_system_with("30 1 0:44 / /b rw - btrfs /dev/nowhere rw\n"));
        assert!(!is_system_with("30 1 0:44 / / rw - overlay /dev/nowhere rw\n"));
    }

    #[test]
    fn mounts_that_only_the_first_process_sees_are_told_each_once() {
        let (_dir, roots) = recorded_sysfs();
        let both = "30 1 8:2 / /srv rw - ext4 /dev/sda2 rw\n";
        put_mounts(&roots, both);
        fs::create_dir_all(roots.proc.join("1")).unwrap();
        let more = "31 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n32 1 8:2 / /home rw - ext4 /dev/sda2 rw\n";
        fs::write(roots.proc.join("1/mountinfo"), format!("{both}{more}")).unwrap();
        let mounted = |device| {
            let mut all = words(device, &roots);
            all.retain(|words| words.starts_with("it is mounted at"));
            all
        };
        assert_eq!(mounted(SDA1), ["it is mounted at /srv (ext4)"], "the same place, another device");
        assert_eq!(mounted(SDA2), ["it is mounted at /srv (ext4)", "it is mounted at /home (ext4)"]);
    }

    #[test]
    fn devices_that_serve_a_file_system_elsewhere() {
        let (_dir, roots) = recorded_sysfs();
        let log = roots.dev.join("sda1");
        let line = format!("30 1 8:32 / /x rw - xfs /dev/sdc rw,logdev={},noquota\n", log.display());
        put_mounts(&roots, &line);
        assert_eq!(words(SDA1, &roots)[0], "it is used by the file system mounted at /x (xfs)");
        let both = format!("{}:{}", roots.dev.join("sdx").display(), log.display());
        put_mounts(&roots, &format!("30 1 0:50 / /c rw - bcachefs {both} rw\n"));
        assert_eq!(words(SDA1, &roots)[0], "it is mounted at /c (bcachefs)");
    }
}

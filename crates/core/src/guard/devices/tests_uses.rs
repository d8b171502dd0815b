use super::*;

const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
const SDA1: DeviceNumber = DeviceNumber { major: 8, minor: 1 };
const SDA2: DeviceNumber = DeviceNumber { major: 8, minor: 2 };
const DM0: DeviceNumber = DeviceNumber { major: 252, minor: 0 };

/// The small machine of [`crate::sysfs`].
fn recorded_sysfs() -> (tempfile::TempDir, Roots) {
    let dir = tempfile::tempdir().unwrap();
    crate::sysfs::make(dir.path());
    let [sys, proc, dev] = ["sys", "proc", "dev"].map(|name| dir.path().join(name));
    (dir, Roots { sys, proc, dev })
}

fn words(device: DeviceNumber, roots: &Roots) -> Vec<String> {
    Uses::read(roots).of(device).into_iter().map(|by| by.words).collect()
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
    assert_eq!(found.into_iter().map(|by| by.words).collect::<Vec<_>>(), ["it is mounted at /x (ext4)"]);
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
    put_mounts(&roots, "30 1 8:1 / /srv rw - ext4 /dev/sda1 rw\n31 1 8:1 /a /home rw - ext4 /dev/sda1 rw\n");
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
    put_mounts(&roots, "30 1 8:2 / /other rw - ext4 /dev/sda2 rw\n31 1 8:1 / /mnt rw - vfat /dev/sda1 rw\n");
    assert_eq!(words(SDA1, &roots), ["it is mounted at /mnt (vfat)", "it is part of md array md0 (raid1)"]);
    let swap = roots.dev.join("sda1");
    fs::write(roots.proc.join("swaps"), format!("Filename\n{} partition 1 0 -2\n", swap.display())).unwrap();
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

//! What stands on a disk, and the list of all disks (`truespd inspect` without a target).

use std::process::Command;

use serde_json::Value;
use truespd_platform::machine::chain::{Layer, on_disk};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::storage::whole_disks;

use crate::support::devices::Loop;
use crate::support::needs::{Need, has};
use crate::support::trees::Tree;

/// One line a layer: name, where it is mounted, what is said of it, and the names of those that it stands on.
fn lines(tree: &Tree, disk: &str) -> Vec<String> {
    let device = BlockDevice::named(disk, &tree.roots).expect("a disk of the tree");
    let layers = on_disk(&device, &tree.roots);
    let line = |layer: &Layer| {
        let mut words = vec![format!("{:?} {}", layer.kind, layer.name)];
        words.extend(layer.mount.point.as_ref().map(|point| format!("at {}", point.display())));
        words.extend(layer.detail.clone());
        let below: Vec<&str> = layer.below.iter().map(|&at| layers[at].name.as_str()).collect();
        words.extend((!below.is_empty()).then(|| format!("on {}", below.join(" and "))));
        words.join("; ")
    };
    layers.iter().map(line).collect()
}

#[test]
fn volumes_on_an_array_on_a_partition() {
    let tree = Tree::load("lvm-on-md");
    assert_eq!(
        lines(&tree, "sda"),
        [
            "Disk sda",
            "Partition sda2; on sda",
            "Md md127; raid1, 2 disks, with bitmap, degraded by 1; on sda2",
            "DeviceMapper dm-0; LVM vg0/root; on md127",
            "Filesystem xfs; at /; on dm-0",
            "DeviceMapper dm-1; LVM vg0/pool_tmeta; on md127",
            "DeviceMapper dm-3; LVM vg0/pool, thin pool; on dm-1 and dm-2",
            "DeviceMapper dm-5; LVM vg0/vm-images, thin; on dm-3",
            "Filesystem ext4; at /srv/vm--images; on dm-5",
            "DeviceMapper dm-2; LVM vg0/pool_tdata; on md127",
            "DeviceMapper dm-7; LVM vg0/cached_corig; on md127",
            "DeviceMapper dm-9; LVM vg0/cached, cached; on dm-7",
            "Filesystem xfs; at /srv/cached; on dm-9",
        ]
    );
    let device = BlockDevice::named("sda", &tree.roots).expect("a disk");
    let disk = &on_disk(&device, &tree.roots)[0];
    assert_eq!(disk.model.as_deref(), Some("WDC WD4003FRYZ-0"));
    assert_eq!(disk.queue.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(disk.queue.write_cache.as_deref(), Some("write back"));
    assert_eq!(disk.queue.rotational, Some(true));
    assert_eq!(disk.size_bytes, Some(7_814_037_168 * 512));
    assert_eq!(whole_disks(&tree.roots), ["sda", "sdc"]);
}

#[test]
fn file_systems_over_several_disks_and_in_several_places() {
    let tree = Tree::load("btrfs");
    assert_eq!(
        lines(&tree, "sda"),
        ["Disk sda", "Partition sda2; on sda", "Filesystem btrfs; at /; also at /home; on sda2"]
    );
    // The mount names the other disk.
    assert_eq!(lines(&tree, "sdb"), ["Disk sdb", "Filesystem btrfs; at /; also at /home; on sdb"]);
    assert_eq!(lines(&tree, "sdc"), ["Disk sdc", "Filesystem btrfs; at /scratch; on sdc"]);
    assert_eq!(
        lines(&tree, "sdd"),
        ["Disk sdd", "Partition sdd1; on sdd", "UserFilesystem fuseblk; at /media/usb; on sdd1"]
    );
}

#[test]
fn paths_to_one_disk_carry_the_same() {
    let tree = Tree::load("multipath");
    for disk in whole_disks(&tree.roots) {
        assert!(lines(&tree, &disk)[0].contains(&disk));
    }
}

fn listed(args: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_truespd");
    let output = Command::new(program).arg("inspect").args(args).output().expect("truespd runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_list_of_this_machine_has_its_disks_and_no_others() {
    // A loop device is no disk of the machine, and has no number.
    let _device = has(&[Need::LoopDevices]).then(|| Loop::new(1 << 20));
    let list: Value = serde_json::from_str(&listed(&["--json"])).expect("JSON");
    assert_eq!((&list["format"], &list["format_version"]), (&"truespd-disks".into(), &1.into()));
    let disks = list["disks"].as_array().expect("a list");
    let names: Vec<&str> =
        disks.iter().map(|disk| disk["layers"][0]["name"].as_str().expect("a name")).collect();
    assert_eq!(names, whole_disks(&Default::default()));
    let numbers: Vec<u64> = disks.iter().map(|disk| disk["number"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, (0..disks.len() as u64).collect::<Vec<_>>());
    let text = listed(&[]);
    for (number, name) in names.iter().enumerate() {
        assert!(text.contains(&format!("#{number} ")) && text.contains(name), "{text}");
    }
    assert!(!text.contains("loop device") && !text.is_empty(), "{text}");
}

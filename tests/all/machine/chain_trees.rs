//! The layers below targets of recorded machines, and limits of recorded cgroups.

use crate::support::trees::{Tree, outline};
use truespd_core::load::facts::of_layer;
use truespd_platform::machine::chain::LayerKind;
use truespd_platform::machine::limits::LimitKind;
use truespd_platform::machine::{chain, limits};

/// Compares an outline with lines as they stand in a test, without their common indentation.
fn assert_outline(layers: &[chain::Layer], expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|l| !l.trim().is_empty()).collect();
    let common = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|l| format!("{}\n", &l[common..])).collect();
    let found = outline(layers);
    assert!(found == expected, "found:\n{found}\nexpected:\n{expected}");
}

#[test]
fn a_plain_nvme_disk() {
    let tree = Tree::load("nvme");
    let layers = tree.file("/home/me/test.dat");
    assert_outline(
        &layers,
        "
        File /home/me/test.dat
          Filesystem ext4
            Partition nvme0n1p2; at byte 538968064
              Disk nvme0n1; model Samsung SSD 980 PRO 1TB; firmware 5B2QGXA7; by nvme
        ",
    );
    let disk = &layers[3];
    assert_eq!(disk.size_bytes, Some(1_000_204_886_016));
    assert_eq!(disk.queue_depth, Some(2046), "both hardware queues");
    assert_eq!(disk.queue.rotational, Some(false));
    assert_eq!(disk.queue.scheduler.as_deref(), Some("none"));
    assert_eq!(disk.queue.write_cache.as_deref(), Some("write back"));
    assert_eq!(disk.queue.forces_unit_access, Some(true));
    assert_eq!((disk.queue.requests, disk.queue.segments_max), (Some(1023), Some(33)));
    assert_eq!(disk.queue.request_bytes_max, Some(131_072));
    assert_eq!(disk.queue.discard_bytes_max, Some(2_199_023_255_040));
    assert_eq!(layers[1].mount.options.as_deref(), Some("rw,relatime,errors=remount-ro"));
    assert_outline(
        &tree.file("/snap/core22/1380/bin/bash"),
        "
        File /snap/core22/1380/bin/bash
          Filesystem squashfs; compresses read-only image
            Loop loop0; /var/lib/snapd/snaps/core22_1380.snap
              File /var/lib/snapd/snaps/core22_1380.snap
                Filesystem ext4
                  Partition nvme0n1p2; at byte 538968064
                    Disk nvme0n1; model Samsung SSD 980 PRO 1TB; firmware 5B2QGXA7; by nvme
        ",
    );
    let shm = tree.file("/dev/shm/x");
    assert_eq!((shm[1].kind, shm[1].size_bytes), (LayerKind::MemoryFilesystem, Some(8_131_180 * 1024)));
}

#[test]
fn lvm_on_md_on_sata() {
    let tree = Tree::load("lvm-on-md");
    assert_outline(
        &tree.file("/var/lib/db/test.dat"),
        "
        File /var/lib/db/test.dat
          Filesystem xfs
            DeviceMapper dm-0; LVM vg0/root
              Md md127; raid1, 2 disks, with bitmap, degraded by 1
                Partition sda2; at byte 537919488
                  Disk sda; model WDC WD4003FRYZ-0; firmware 1K02; by sata
        ",
    );
    assert_outline(
        &tree.file("/srv/vm--images/a"),
        "
        File /srv/vm--images/a
          Filesystem ext4
            DeviceMapper dm-5; LVM vg0/vm-images, thin
              DeviceMapper dm-3; LVM vg0/pool, thin pool
                DeviceMapper dm-1; LVM vg0/pool_tmeta
                  Md md127; raid1, 2 disks, with bitmap, degraded by 1
                    Partition sda2; at byte 537919488
                      Disk sda; model WDC WD4003FRYZ-0; firmware 1K02; by sata
                DeviceMapper dm-2; LVM vg0/pool_tdata
                  Md md127 (as above)
        ",
    );
    // XFS with its log on a third disk: writes go there too.
    assert_outline(
        &tree.file("/srv/cached/a"),
        "
        File /srv/cached/a
          Filesystem xfs
            DeviceMapper dm-9; LVM vg0/cached, cached
              DeviceMapper dm-7; LVM vg0/cached_corig
                Md md127; raid1, 2 disks, with bitmap, degraded by 1
                  Partition sda2; at byte 537919488
                    Disk sda; model WDC WD4003FRYZ-0; firmware 1K02; by sata
              DeviceMapper dm-8; LVM vg0/fast_cdata
                Disk sdc; model SAMSUNG MZ7LH480; firmware 904Q; by sata
            Partition sdc1; at byte 32256
              Disk sdc (as above)
        ",
    );
}

/// Each kind of disk where its driver shows the revision.
#[test]
fn firmware_of_each_kind_of_disk() {
    let of = |tree: &Tree, disk: &str| tree.device(disk).pop().expect("a layer").firmware;
    for (tree, disk, revision) in [
        ("nvme", "nvme0n1", Some("5B2QGXA7")),
        ("nvme", "nvme0n1p2", Some("5B2QGXA7")),
        ("nvme-fabrics", "nvme1n1", Some("6.1.0-18")),
        ("lvm-on-md", "sda", Some("1K02")),
        ("btrfs", "sdd", Some("1021")),
        ("multipath", "sdb", Some("9999")),
        ("multipath", "sdd", Some("0")),
        ("multipath", "sda", Some("4.30")),
        ("cards", "mmcblk1", Some("0x3430303232303338")),
        ("cards", "mmcblk3", Some("0x11")),
        ("cards", "mmcblk0", Some("0x0")),
        ("cards", "vda", None),
        ("remote", "nbd0", None),
        ("remote", "rbd0", None),
    ] {
        assert_eq!(of(&Tree::load(tree), disk).as_deref(), revision, "{disk} of {tree}");
    }
    // The member of documents and of `inspect --json`; where there is none, documents are as they were before
    // there was one.
    let member = |tree: &str, disk: &str| {
        let layer = of_layer(&Tree::load(tree).device(disk)[0]);
        serde_json::to_value(&layer).expect("keys are text").get("firmware").cloned()
    };
    assert_eq!(member("nvme", "nvme0n1"), Some("5B2QGXA7".into()));
    assert_eq!(member("cards", "vda"), None);
    // A newer kernel shows the identity of an ATA disk, which has all of it.
    let tree = Tree::load("lvm-on-md");
    let mut page = [0; 572];
    (page[1], page[56]) = (0x89, 0xec);
    page[106..114].copy_from_slice(b"100.K120");
    std::fs::write(tree.roots.sys.join("class/block/sda/device/vpd_pg89"), page).expect("written");
    assert_eq!(of(&tree, "sda").as_deref(), Some("01.01K02"));
    // A controller by itself, where the subsystem is of an older kernel.
    let tree = Tree::load("nvme-fabrics");
    let disk = tree.roots.sys.join("class/block/nvme1n1/device");
    std::fs::remove_file(disk.join("firmware_rev")).expect("there");
    std::fs::write(disk.join("nvme1/firmware_rev"), "6.1.0-17\n").expect("written");
    assert_eq!(of(&tree, "nvme1n1").as_deref(), Some("6.1.0-17"));
}

#[test]
fn encryption() {
    let tree = Tree::load("luks");
    let layers = tree.file("/home/me/test.dat");
    assert_outline(
        &layers,
        "
        File /home/me/test.dat
          Filesystem ext4
            DeviceMapper dm-1; LVM ubuntu-vg/ubuntu-lv
              DeviceMapper dm-0; crypt dm_crypt-0 (LUKS2)
                Partition nvme0n1p3; at byte 1881145344
                  Disk nvme0n1; model WDC PC SN720 SDAPNTW-512G-1006; firmware 10130002; by nvme
        ",
    );
    assert_eq!(layers[3].queue.discard_bytes_max, Some(0), "encryption keeps discards to itself");
    assert_eq!(layers[5].queue_depth, Some(8 * 1023), "from the controller's queues");
}

#[test]
fn multipath_iscsi_and_a_raid_adapter() {
    let tree = Tree::load("multipath");
    assert_outline(
        &tree.file("/data/a"),
        "
        File /data/a
          Filesystem xfs
            DeviceMapper dm-1; partition 1 of a multipath device, mpatha1
              DeviceMapper dm-0; multipath mpatha, 2 paths
                Disk sdb; model PURE FLASH-ARRAY; firmware 9999; by fc
                Disk sdc; model PURE FLASH-ARRAY; firmware 9999; by fc
        ",
    );
    assert_outline(
        &tree.file("/iscsi/a"),
        "
        File /iscsi/a
          Filesystem ext4
            Partition sdd1; at byte 1048576
              NetworkDisk sdd; model IET VIRTUAL-DISK; firmware 0; by iscsi; from 10.20.0.7
        ",
    );
    let layers = tree.device("sda");
    assert_outline(
        &layers,
        "Disk sda; driver megaraid_sas; model DELL PERC H730P Mini; firmware 4.30; by scsi",
    );
    assert_eq!(layers[0].queue_depth, Some(256));
}

#[test]
fn nvme_over_tcp_with_two_paths() {
    let tree = Tree::load("nvme-fabrics");
    let layers = tree.file("/mnt/fabric/a");
    assert_outline(
        &layers,
        "
        File /mnt/fabric/a
          Filesystem ext4
            NetworkDisk nvme1n1; 2 paths (nvme1 live, nvme2 connecting), policy numa; model Linux; firmware 6.1.0-18; by nvme tcp; \
         from 192.168.50.11, 192.168.51.11
        ",
    );
    assert_eq!(layers[2].queue_depth, Some(2 * 16 * 127));
    assert_eq!(target_of(&layers[2]), Some("nqn.2014-08.org.example:pool1"));
    assert_eq!(
        paths_of(&layers[2]),
        [
            "nvme1 (192.168.50.11:4420): live, non-optimized",
            "nvme2 (192.168.51.11:4420): connecting, optimized, down"
        ]
    );
}

fn target_of(layer: &chain::Layer) -> Option<&str> {
    layer.details.as_ref().and_then(|details| details.target.as_deref())
}

fn paths_of(layer: &chain::Layer) -> Vec<String> {
    let paths = layer.details.as_ref().map_or(&[][..], |details| &details.paths);
    let down = |path: &chain::DevicePath| if path.is_down { ", down" } else { "" };
    paths.iter().map(|path| format!("{}: {}{}", path.place(), path.standing(), down(path))).collect()
}

#[test]
fn paths_of_a_storage_network() {
    let tree = Tree::load("multipath");
    let layers = tree.file("/data/a");
    assert_eq!(
        paths_of(&layers[3]),
        ["sdb (0x524a937abcdef010): Online, optimized", "sdc (0x524a937abcdef011): Blocked, optimized, down"]
    );
    let disk = tree.file("/iscsi/a").pop().expect("a disk");
    assert_eq!(target_of(&disk), Some("iqn.2003-01.org.example:bench"));
    assert_eq!(paths_of(&disk), ["session3 (10.20.0.7:3260): LOGGED_IN"]);

    let tree = Tree::load("iscsi-multipath");
    let layers = tree.file("/data/a");
    assert_outline(
        &layers,
        "
        File /data/a
          Filesystem xfs
            DeviceMapper dm-0; multipath mpathb, 2 paths
              NetworkDisk sda; model LIO-ORG bench; firmware 4.0; by iscsi; from 10.20.0.7
              NetworkDisk sdb; model LIO-ORG bench; firmware 4.0; by iscsi; from fd00::7
        ",
    );
    let wanted =
        ["sda (10.20.0.7:3260): LOGGED_IN, non-optimized", "sdb ([fd00::7]:3260): FAILED, optimized, down"];
    assert_eq!(paths_of(&layers[2]), wanted);
    // What a run looks at once per second is what it found when it opened the target.
    let now = chain::details_now(layers[2].number.expect("a number"), &tree.roots);
    assert_eq!(now, layers[2].details);
    let watched: Vec<&str> = chain::watched(&layers).map(|layer| layer.name.as_str()).collect();
    assert_eq!(watched, ["dm-0", "sda", "sdb"]);
}

#[test]
fn network_block_devices() {
    let tree = Tree::load("remote");
    let [connected, left] = ["nbd0", "nbd1"].map(|name| tree.device(name).remove(0));
    assert_eq!((connected.kind, left.kind), (LayerKind::NetworkDisk, LayerKind::NetworkDisk));
    assert_eq!((target_of(&connected), target_of(&left)), (Some("export=vol1"), None));
    assert_eq!(paths_of(&connected), ["nbd0: set up"]);
    assert_eq!(paths_of(&left), ["nbd1: not connected, down"]);
    assert_eq!(target_of(&tree.device("rbd0")[0]), Some("b3acfc0d-575f-41d3-9c91-0e7ed3dbb3fa"));
}

#[test]
fn copies_that_drbd_keeps() {
    let tree = Tree::load("drbd");
    assert_outline(
        &tree.file("/srv/db/a"),
        "
        File /srv/db/a
          Filesystem ext4
            NetworkDisk drbd0; DRBD db, this node is Primary, the other node is Secondary, protocol C
              Disk vdb; by virtio
        ",
    );
    let replica = |tree: &Tree, name: &str| {
        tree.device(name).remove(0).details.and_then(|details| details.replica).expect("copies")
    };
    assert!(replica(&tree, "drbd0").faults().is_empty());
    let alone = replica(&tree, "drbd2");
    assert_eq!(alone.faults(), ["the connection to the other node is WFConnection"]);
    assert_eq!(alone.resource, None, "only root sees it");

    let tree = Tree::load("drbd9");
    assert_outline(
        &tree.device("drbd1000"),
        "NetworkDisk drbd1000; DRBD vm-100, this node is Primary, node-a is Secondary, node-b is Secondary, protocol C",
    );
    let client = replica(&tree, "drbd1000");
    assert!(client.is_diskless());
    assert_eq!(client.faults(), ["the disk of node-b is Inconsistent"]);
}

#[test]
fn btrfs_over_two_disks() {
    let tree = Tree::load("btrfs");
    assert_outline(
        &tree.file("/home/me/test.dat"),
        "
        File /home/me/test.dat
          Filesystem btrfs; data raid1 on 2 devices; compresses zstd:1
            Partition sda2; at byte 537919488
              Disk sda; model CT1000MX500SSD1; firmware 023; by sata
            Disk sdb; model CT1000MX500SSD1; firmware 023; by sata
        ",
    );
    // Without copy-on-write nothing is compressed, whatever the other option says.
    assert_outline(
        &tree.file("/scratch/a"),
        "
        File /scratch/a
          Filesystem btrfs; data single on 1 device
            Disk sdc; model ST2000DM008-2FR1; firmware 0001; by sata
        ",
    );
    assert_outline(
        &tree.file("/media/usb/a"),
        "
        File /media/usb/a
          UserFilesystem fuseblk
            Partition sdd1; at byte 1048576
              Disk sdd; model WD Elements 25A2; firmware 1021; by usb
        ",
    );
}

#[test]
fn filesystems_of_other_machines() {
    let tree = Tree::load("remote");
    let host = "the host of this virtual machine";
    let remote = [
        ("/nfs", "nfs4", "filer.example.com"),
        ("/nfs6", "nfs4", "fd00::5"),
        ("/smb", "cifs", "fileserver"),
        ("/ceph", "ceph", "10.0.1.1:6789,10.0.1.2:6789"),
        ("/ceph2", "ceph", "10.0.1.1:3300,10.0.1.2:3300"),
        ("/host", "9p", host),
        ("/vfs", "virtiofs", host),
        ("/ssh", "fuse.sshfs", "build7"),
        ("/lustre", "lustre", "10.9.0.1@tcp:10.9.0.2@tcp"),
    ];
    for (at, name, server) in remote {
        let layers = tree.file(&format!("{at}/a"));
        let words = format!("File {at}/a\n  RemoteFilesystem {name}; from {server}");
        assert_outline(&layers, &words);
    }
    assert_outline(&tree.file("/s3/a"), "File /s3/a\n  RemoteFilesystem fuse.s3fs");
    assert_outline(&tree.file("/gvfs/a"), "File /gvfs/a\n  UserFilesystem fuse.portal");
    assert_outline(&tree.file("/tmp/a"), "File /tmp/a\n  MemoryFilesystem tmpfs");
    // ZFS does not show its devices.
    assert_outline(&tree.file("/tank/a"), "File /tank/a\n  Filesystem zfs");
    assert_outline(
        &tree.file("/rbd/a"),
        "
        File /rbd/a
          Filesystem ext4
            Partition rbd0p1; at byte 4194304
              NetworkDisk rbd0; volumes/vm-104-disk-1; by rbd; from 10.0.1.1:6789,10.0.1.2:6789
        ",
    );
}

/// Limits as "by group device what value".
fn limits_of(tree: &Tree, layers: &[chain::Layer]) -> Vec<String> {
    let found = limits::in_force(&chain::numbers(layers), &tree.roots);
    let words = found.iter().map(|l| {
        let device = l.device.map(|d| format!(" {d}")).unwrap_or_default();
        format!("{} {}{device} {:?} {}", l.by, l.group, l.what, l.value)
    });
    words.collect()
}

#[test]
fn a_container_of_cgroup_2() {
    let tree = Tree::load("container");
    assert_outline(
        &tree.file("/tmp/a"),
        "
        File /tmp/a
          Filesystem overlay; upper directory \
         /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/77/fs
            Filesystem xfs
              Partition nvme0n1p1; at byte 2097152
                Disk nvme0n1; model Amazon Elastic Block Store; firmware 1.0; by nvme
        ",
    );
    let data = tree.file("/data/a");
    assert_outline(
        &data,
        "
        File /data/a
          Filesystem ext4
            Disk nvme1n1; model Amazon Elastic Block Store; firmware 1.0; by nvme
        ",
    );
    assert_eq!(
        limits_of(&tree, &data),
        [
            "io.max /bench/inner 259:4 WriteIops 500",
            "io.max /bench 259:4 ReadIops 3000",
            "io.max /bench 259:4 WriteBytesPerSecond 104857600",
            "cpu.max /bench CpuMillis 1500",
            "memory.high /bench MemoryBytes 2147483648",
            "memory.max / MemoryBytes 4294967296",
        ]
    );
    // The limit of a disk counts for a file on its partition.
    let root = limits_of(&tree, &tree.file("/tmp/a"));
    assert!(root.contains(&"io.max /bench 259:0 ReadBytesPerSecond 1048576".to_string()), "{root:?}");
}

#[test]
fn a_container_of_cgroup_1() {
    let tree = Tree::load("container-v1");
    let data = tree.file("/data/a");
    assert_eq!(data.last().unwrap().name, "sda");
    // The throttle of the group above does not count: it knows no hierarchy in version 1.
    assert_eq!(
        limits_of(&tree, &data),
        [
            "memory.limit_in_bytes / MemoryBytes 536870912",
            "cpu.cfs_quota_us / CpuMillis 500",
            "blkio.throttle /job 8:0 ReadBytesPerSecond 10485760",
        ]
    );
    let root = tree.file("/tmp/a");
    assert_eq!(root.last().unwrap().name, "sda", "by the volume that lies beside the upper directory");
    assert!(
        limits::in_force(&[], &tree.roots)
            .iter()
            .all(|l| matches!(l.what, LimitKind::CpuMillis | LimitKind::MemoryBytes))
    );
}

#[test]
fn an_overlay_seen_from_its_host() {
    let tree = Tree::load("podman-host");
    assert_outline(
        &tree.file("/var/lib/containers/storage/overlay/f00/merged/a"),
        "
        File /var/lib/containers/storage/overlay/f00/merged/a
          Filesystem overlay; upper directory /var/lib/containers/storage/overlay/f00/diff
            Filesystem xfs
              Disk sda; model Google PersistentDisk; firmware 1; by virtio
        ",
    );
    let root = tree.file("/srv/a");
    assert_eq!(root[3].transport.as_deref(), Some("virtio"));
    assert_eq!(root[3].queue_depth, Some(512));
}

#[test]
fn a_machine_that_tells_nothing_gives_what_the_path_says() {
    let tree = Tree::load("nvme");
    let empty = tempfile::tempdir().unwrap();
    let roots = truespd_platform::machine::roots::Roots {
        proc: empty.path().into(),
        sys: empty.path().into(),
        dev: empty.path().into(),
    };
    let facts = truespd_platform::machine::storage::TargetFacts {
        path: "/dev/sdz".into(),
        kind: truespd_platform::machine::storage::TargetKind::Block,
        size_bytes: 0,
        device: truespd_platform::machine::device::DeviceNumber { major: 65, minor: 144 },
        inode: 0,
        device_name: None,
        sectors: None,
        direct: None,
        filesystem: None,
        scheduler: None,
        write_cache: None,
        namespace: None,
    };
    assert_outline(&chain::of_facts(&facts, &roots), "Unknown sdz");
    assert_eq!(limits::in_force(&[facts.device], &roots), []);
    assert_eq!(limits::in_force(&[facts.device], &tree.roots), [], "the laptop's session has no limits");
}

/// Names of the topmost and of the lowest devices whose counters matter.
fn counted(layers: &[chain::Layer]) -> (Vec<String>, Vec<String>) {
    let found = chain::counted(layers);
    let names = |list: Vec<(String, _)>| list.into_iter().map(|(name, _)| name).collect();
    (names(found.top), names(found.lowest))
}

#[test]
fn devices_whose_counters_matter() {
    let words = |list: &[&str]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
    let nvme = Tree::load("nvme");
    let disk = words(&["nvme0n1"]);
    assert_eq!(counted(&nvme.file("/home/me/test.dat")), (disk.clone(), disk), "a partition is its disk");
    assert_eq!(counted(&nvme.file("/dev/shm/x")), (vec![], vec![]), "memory");
    let stacked = Tree::load("lvm-on-md");
    assert_eq!(counted(&stacked.file("/var/lib/db/test.dat")), (words(&["dm-0"]), words(&["sda"])));
    let btrfs = Tree::load("btrfs");
    let both = words(&["sda", "sdb"]);
    assert_eq!(counted(&btrfs.file("/home/me/test.dat")), (both.clone(), both), "all members");
    assert_eq!(counted(&[]), (vec![], vec![]));
    let loop_on_nothing = [chain::Layer {
        kind: chain::LayerKind::Loop,
        name: "loop3".to_string(),
        number: "7:3".parse().ok(),
        ..chain::Layer::default()
    }];
    assert_eq!(counted(&loop_on_nothing), (words(&["loop3"]), words(&["loop3"])));
}

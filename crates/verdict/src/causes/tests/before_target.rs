//! What is said of a target before a run.

use super::*;
use crate::inspect::of_target;
use truespd_core::result::{
    CpuSet, DevicePath, HardwareQueue, LayerDetails, LayerRole, MachineNow, NvmeCommands, Replica,
};

fn know(facts: &TargetFacts, memory_bytes: Option<u64>) -> Vec<String> {
    let machine = MachineNow { memory_bytes, ..MachineNow::quiet() };
    let told = of_target(facts, None, &machine, &[]);
    let why_not = told.beginning.why_not.map(|why| why.to_string());
    told.sentences.into_iter().filter(|says| Some(says) != why_not.as_ref()).collect()
}

/// The layer as a document of before told it: by its words.
fn told(mut layer: Layer) -> Layer {
    legacy::complete_layer(&mut layer);
    layer
}

fn about(layer: Layer) -> Vec<String> {
    let facts = TargetFacts {
        kind: OpenedKind::File,
        size_bytes: 1 << 40,
        direct_alignment_bytes: Some(512),
        layers: vec![told(layer)],
        ..TargetFacts::default()
    };
    know(&facts, Some(1 << 30))
}

fn layer(kind: LayerKind, name: &str) -> Layer {
    Layer { kind, name: name.into(), ..Layer::default() }
}

#[test]
fn commands_that_nobody_counts_are_told() {
    let commands = |counted| TargetFacts {
        device_name: Some("nvme0n1".to_string()),
        nvme_commands: Some(NvmeCommands {
            device: "/dev/ng0n1".to_string(),
            counted,
            ..NvmeCommands::default()
        }),
        ..TargetFacts::default()
    };
    let told =
        |facts: &TargetFacts| know(facts, None).into_iter().find(|says| says.contains("NVMe commands"));
    let uncounted = told(&commands(false)).expect("not counted");
    assert!(uncounted.contains("/sys/block/nvme0n1/queue/iostats_passthrough is 1"), "{uncounted}");
    assert!(!uncounted.contains("  "), "{uncounted}");
    assert_eq!(told(&commands(true)), None);
    assert_eq!(told(&TargetFacts::default()), None);
}

#[test]
fn a_plain_disk_larger_than_memory_needs_no_words() {
    let disk = Layer { write_cache: Some("write through".into()), ..layer(LayerKind::Disk, "sda") };
    assert_eq!(about(disk), Vec::<String>::new());
}

fn queue(processors: &[u32], answered_by: &[u32]) -> HardwareQueue {
    let [processors, answered_by] = [processors, answered_by].map(|cpus| CpuSet::new(cpus.to_vec()));
    HardwareQueue { number: 0, processors, irq: Some(36), answered_by }
}

#[test]
fn who_answers_is_told_where_it_makes_a_difference() {
    let said = |queues: Vec<HardwareQueue>| {
        about(Layer { hardware_queues: queues, ..layer(LayerKind::Disk, "vda") }).into_iter().next()
    };
    let one = "The interrupts of vda are answered by processor 1 only: one I/O at a time (-o1) is mostly \
        faster on that processor (-a1) than on others.";
    assert_eq!(said(vec![queue(&[0, 1], &[1])]).as_deref(), Some(one));
    let two = said(vec![queue(&[0, 1, 2, 3], &[2, 3])]).expect("a sentence");
    assert!(two.contains("by processors 2-3 only") && two.contains("on one of them (-a2)"), "{two}");
    assert_eq!(said(vec![queue(&[0, 1], &[0, 1])]), None, "by all");
    assert_eq!(said(vec![queue(&[0, 1], &[])]), None, "not known");
    assert_eq!(said(vec![queue(&[0, 1], &[9])]), None, "by one that this machine's threads cannot use");
    assert_eq!(said(vec![queue(&[0, 1], &[1]), queue(&[2, 3], &[2])]), None, "several queues");
}

/// Each sentence is said for the layer it is about, once, and nothing else with it.
#[test]
fn every_sentence_has_its_layer() {
    let disk = |change: fn(&mut Layer)| {
        let mut disk = layer(LayerKind::Disk, "sda");
        change(&mut disk);
        disk
    };
    let mapped =
        |detail: &str| Layer { detail: Some(detail.into()), ..layer(LayerKind::DeviceMapper, "dm-0") };
    let array = |detail: &str| Layer { detail: Some(detail.into()), ..layer(LayerKind::Md, "md0") };
    let partition = |start| Layer { starts_at_bytes: Some(start), ..layer(LayerKind::Partition, "sda1") };
    let served = |address: &str| {
        let path = DevicePath { address: Some(address.into()), ..DevicePath::new("session3", None) };
        let details = LayerDetails { paths: vec![path], ..LayerDetails::of(LayerRole::ServedDisk) };
        let transport = Some("iscsi".into());
        Layer { transport, details: Some(details), ..layer(LayerKind::NetworkDisk, "sdd") }
    };
    let expected: [(Layer, &str); 21] = [
        (layer(LayerKind::MemoryFilesystem, "tmpfs"), "Files here are in memory (tmpfs): a test"),
        (layer(LayerKind::Memory, "zram0"), "zram0 is a device in memory: a test"),
        (
            Layer { server: Some("filer".into()), ..layer(LayerKind::RemoteFilesystem, "nfs4") },
            "Another machine holds the data (filer)",
        ),
        (
            layer(LayerKind::NetworkDisk, "nbd0"),
            "nbd0 is served by another machine: every I/O crosses the network, and",
        ),
        (
            served("10.20.0.7:3260"),
            "sdd is served by 10.20.0.7:3260 over iSCSI: every I/O crosses the network",
        ),
        (layer(LayerKind::UserFilesystem, "fuse.x"), "A program serves this file system (fuse.x): "),
        (disk(|d| d.compression = Some("zstd".into())), "compresses (zstd)"),
        (disk(|d| d.deduplicates = Some(true)), "sda deduplicates: it stores equal data only once."),
        (mapped("crypt root (LUKS2)"), "dm-0 encrypts"),
        (mapped("LVM vg/data, thin"), "dm-0 is a thin volume: "),
        (array("raid1, 2 disks, degraded by 1"), "The array md0 lacks a disk: "),
        (array("raid5, 3 disks, degraded by 1, recover running"), "The array md0 is busy with maintenance ("),
        (partition(63 * 512), "begins at byte 32256, which is not a multiple of 4096: "),
        (Layer { direct_io: Some(false), ..layer(LayerKind::Disk, "loop0") }, "--direct-io=on /dev/loop0"),
        (disk(|d| d.write_cache = Some("write back".into())), "acknowledged before they are durable"),
        (disk(|d| d.queue_depth = Some(1)), "one command at a time"),
        (disk(|d| d.hardware_queues = vec![queue(&[0, 1], &[1])]), "answered by processor 1 only: "),
        (disk(|d| d.model = Some("Amazon Elastic Block Store".into())), "sda is Amazon EBS"),
        (
            disk(|d| d.detail = Some("2 paths (nvme1 live, nvme2 connecting)".into())),
            "Not all paths of sda are up: nvme2 is connecting.",
        ),
        (layer(LayerKind::Filesystem, "zfs"), "ARC"),
        (layer(LayerKind::Filesystem, "overlay"), "the first write to a file of the image"),
    ];
    for (layer, part) in expected {
        let said = about(layer.clone());
        assert_eq!(said.iter().filter(|s| s.contains(part)).count(), 1, "{part}: {said:?}");
        let is_lowest_filesystem = layer.kind == LayerKind::Filesystem;
        assert_eq!(said.len(), if is_lowest_filesystem { 2 } else { 1 }, "{part}: {said:?}");
    }
    for quiet in [mapped("LVM vg/pool, thin pool"), array("raid1, 2 disks"), partition(1 << 20)] {
        assert_eq!(about(quiet.clone()), Vec::<String>::new(), "{quiet:?}");
    }
}

#[test]
fn copies_of_drbd_and_what_keeps_them_apart() {
    let drbd = |disk: Option<&str>| {
        let of = |disk: &str| Replica { disk: Some(disk.into()), ..Replica::default() };
        let details = LayerDetails { replica: disk.map(of), ..LayerDetails::of(LayerRole::Replica) };
        about(Layer { details: Some(details), ..layer(LayerKind::NetworkDisk, "drbd0") })
    };
    assert_eq!(drbd(None), ["DRBD keeps copies of drbd0 on other nodes: writes cross the network."]);
    assert_eq!(drbd(Some("UpToDate")).len(), 1);
    let here = Replica { disk: Some("UpToDate".into()), role: Some("Primary".into()), ..Replica::default() };
    let details = LayerDetails { replica: Some(here), ..LayerDetails::of(LayerRole::Replica) };
    let alone = about(Layer { details: Some(details), ..layer(LayerKind::NetworkDisk, "drbd0") });
    assert!(alone[0].ends_with("no other node is connected, so writes stay here."), "{alone:?}");
    let behind = "DRBD does not keep all copies of drbd0 the same: the disk of this node is Inconsistent. ";
    assert!(drbd(Some("Inconsistent"))[1].starts_with(behind), "{:?}", drbd(Some("Inconsistent")));
}

/// A file of 64 blocks of 1 MiB, looked at.
fn file_of_blocks(
    hole: u64,
    unwritten: u64,
    [zero_blocks, repeated_blocks]: [u32; 2],
    percent: u64,
) -> TargetFacts {
    let content = ContentSample {
        blocks: 64,
        block_bytes: 4096,
        zero_blocks,
        repeated_blocks,
        compressed_bytes: 64 * 4096 * percent / 100,
    };
    let extents = ExtentMap {
        range_bytes: 64 << 20,
        written_bytes: (64 - hole - unwritten) << 20,
        unwritten_bytes: unwritten << 20,
        hole_bytes: hole << 20,
        ..ExtentMap::default()
    };
    TargetFacts {
        path: PATH.to_string(),
        kind: OpenedKind::File,
        size_bytes: 64 << 30,
        direct_alignment_bytes: Some(512),
        extents: Some(extents),
        content: Some(content),
        ..TargetFacts::default()
    }
}

#[test]
fn what_a_file_holds_is_told_when_it_matters() {
    let said = |facts: &TargetFacts| know(facts, None);
    assert_eq!(said(&file_of_blocks(0, 0, [0, 0], 100)), Vec::<String>::new(), "data");
    assert_eq!(said(&file_of_blocks(0, 0, [0, 30], 10)), Vec::<String>::new(), "nothing compresses");
    assert_eq!(
        said(&file_of_blocks(64, 0, [64, 63], 1)),
        [
            "The file was never written (64 MiB in holes): reads there return zeros without the disk. -c makes \
             files with every byte written.",
            "100 % of the file has no place of its own yet (in holes): the first write there is slower than all later \
             ones. Before measuring writes, write the range once, which destroys its content, and let it run until all \
             is written: diskspd -b1M -s -o4 -w100 -Zr -Su -d600 --overwrite=test.dat test.dat"
        ],
        "zeros are not told a second time"
    );
    let both = said(&file_of_blocks(16, 16, [33, 32], 50)).join(" ");
    assert!(both.starts_with(
        "50 % of the file was never written (16 MiB in holes, 16 MiB allocated but not written): reads there"
    ));
    let zeros = said(&file_of_blocks(16, 0, [64, 63], 1));
    assert!(
        zeros[0].starts_with("25 % of the file") && zeros[2].starts_with("64 of 64 sampled"),
        "{zeros:?}"
    );
    let device =
        TargetFacts { kind: OpenedKind::BlockDevice, extents: None, ..file_of_blocks(0, 0, [64, 63], 1) };
    assert!(said(&device).join(" ").contains("fills it, and destroys its content."));
}

#[test]
fn data_that_the_storage_keeps_smaller_are_told() {
    let on = |layer: Layer, facts: TargetFacts| {
        know(&TargetFacts { layers: vec![layer], ..facts }, None).into_iter().next().unwrap_or_default()
    };
    let btrfs = || Layer { compression: Some("zstd".into()), ..layer(LayerKind::Disk, "btrfs") };
    let words = on(btrfs(), file_of_blocks(0, 0, [0, 0], 30));
    assert!(words.starts_with("The data compress to 30 % of their size, and 0 % of the blocks"), "{words}");
    assert!(words.contains("btrfs has less to read"), "{words}");
    assert!(
        on(btrfs(), file_of_blocks(0, 0, [0, 7], 100)).contains("11 % of the blocks repeat another block: ")
    );
    assert!(!on(btrfs(), file_of_blocks(0, 0, [0, 0], 100)).contains("The data compress"));
    let memory = on(layer(LayerKind::MemoryFilesystem, "tmpfs"), file_of_blocks(0, 0, [64, 63], 1));
    assert!(memory.starts_with("Files here are in memory"), "{memory}");
}

/// What is told before a run is what its verdict will say: the same cures.
#[test]
fn advice_is_that_of_the_rules() {
    let rule = |name: &str| crate::causes().find(|cause| cause.name == name).expect(name).advice.to_string();
    let say = |facts: &TargetFacts| know(facts, None).join(" ");
    for (name, said, cure) in [
        ("never-written", say(&file_of_blocks(64, 0, [64, 63], 1)), "-c makes files with every byte written"),
        ("zero-data", say(&file_of_blocks(0, 0, [64, 63], 1)), "-c with -Zr"),
        (
            "working-set",
            say(&TargetFacts { size_bytes: 64 << 20, ..file_of_blocks(0, 0, [0, 0], 100) }),
            "est a range much larger than all caches",
        ),
        (
            "reducible-reads",
            say(&TargetFacts {
                layers: vec![told(layer(LayerKind::Memory, "zram0"))],
                ..file_of_blocks(0, 0, [0, 0], 9)
            }),
            "-c with -Zr",
        ),
    ] {
        assert!(rule(name).contains(cure) && said.contains(cure), "{name}: {said}");
    }
}

#[test]
fn sizes_are_told_against_memory() {
    let facts = |kind: OpenedKind, size_bytes, alignment| TargetFacts {
        kind,
        size_bytes,
        direct_alignment_bytes: alignment,
        ..TargetFacts::default()
    };
    let said = |facts: &TargetFacts| know(facts, Some(1 << 30)).join(" ");
    assert!(
        said(&facts(OpenedKind::File, 1 << 30, Some(512)))
            .starts_with("The file (1 GiB) fits into the memory")
    );
    assert_eq!(said(&facts(OpenedKind::File, (1 << 30) + 1, Some(512))), "");
    assert!(
        said(&facts(OpenedKind::BlockDevice, 1 << 40, Some(512)))
            .contains("a raw device goes through the page cache, too, unless it is opened")
    );
    assert!(said(&facts(OpenedKind::File, 1 << 40, None)).contains("Direct I/O is not possible"));
    assert!(said(&facts(OpenedKind::File, 0, Some(512))).contains("The target is empty: "));
    let disk = |size_bytes| vec![Layer { size_bytes: Some(size_bytes), ..layer(LayerKind::Disk, "sda") }];
    let small = |disk_bytes| {
        let facts = TargetFacts { layers: disk(disk_bytes), ..facts(OpenedKind::File, 64 << 20, Some(512)) };
        know(&facts, None).join(" ")
    };
    assert!(
        small(1 << 40)
            .starts_with("The target is small, 64 MiB (<0.1 % of a disk of 1 TiB): a cache of the drive")
    );
    assert_eq!(small(4 << 30), "", "a small disk has small caches");
}

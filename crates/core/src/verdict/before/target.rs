//! A target: its content, the layers below it, and the target itself.

use super::{Known, Rule, rule};
use crate::result::{
    ContentSample, DevicePath, ExtentMap, Layer, LayerKind, LayerRole, OpenedKind, Replica, TargetFacts,
};
use crate::text::{grouped, part_percent as percent, size};
use crate::verdict::thresholds::{
    RANGE_SMALL_BYTES, RANGE_SMALL_PART, REDUCED_SUSPECT, REPEATED_NOTABLE, UNWRITTEN_REMARK, ZERO_NOTABLE,
};

/// A sentence about what a target holds, or nothing.
type OfContent = fn(&TargetFacts) -> Option<String>;
/// A sentence about a layer, or nothing.
type OfLayer = fn(&Layer) -> Option<String>;
/// A sentence about a target, beside memory that the page cache may take, or nothing.
type OfWhole = fn(&TargetFacts, Option<u64>) -> Option<String>;

/// Rules about the content come first.
const CONTENT: &[Rule<OfContent>] =
    &[rule("never-written", never_written), rule("zero-data", zeros), rule("reducible-reads", reducible)];

/// Asked of every layer, in this order.
const LAYERS: &[Rule<OfLayer>] = &[
    rule("memory-target", in_memory),
    rule("remote", on_another_machine),
    rule("remote", in_copies),
    rule("remote", by_a_program),
    rule("overlay", in_an_overlay),
    rule("own-cache", in_zfs),
    rule("reducible-writes", compressed),
    rule("reducible-writes", deduplicated),
    rule("encrypted", encrypted),
    rule("thin", thin),
    rule("array-at-work", array_not_whole),
    rule("misaligned", misaligned),
    rule("served-from-cache", behind_the_page_cache),
    rule("volatile-cache", write_back),
    rule("one-command", one_command),
    rule("interrupts", answered_elsewhere),
    rule("provisioned-limit", of_a_cloud),
    rule("path-down", path_down),
    rule("copies-apart", copies_apart),
];

/// About the target as a whole.
const WHOLE: &[Rule<OfWhole>] = &[
    rule("unproven", hidden_disks),
    rule("unproven", uncounted_commands),
    rule("served-from-cache", no_direct_io),
    rule("working-set", small),
    rule("working-set", cached),
    rule("empty", empty),
];

/// Names of the rules.
#[cfg(test)]
pub(super) fn names_of_rules() -> impl Iterator<Item = &'static str> {
    let names = CONTENT.iter().map(|rule| rule.name).chain(LAYERS.iter().map(|rule| rule.name));
    names.chain(WHOLE.iter().map(|rule| rule.name))
}

/// What is to be known, most important first; each once. `memory_bytes` is what the page cache may take.
pub(super) fn look(facts: &TargetFacts, memory_bytes: Option<u64>) -> Vec<Known> {
    fn said(rule: &'static str, says: Option<String>) -> Option<Known> {
        says.map(|says| Known { rule, says })
    }
    let of_content = CONTENT.iter().filter_map(|rule| said(rule.name, (rule.look)(facts)));
    let each = LAYERS.iter().flat_map(|rule| facts.layers.iter().map(move |layer| (rule, layer)));
    let of_layers = each.filter_map(|(rule, layer)| said(rule.name, (rule.look)(layer)));
    let of_whole = WHOLE.iter().filter_map(|rule| said(rule.name, (rule.look)(facts, memory_bytes)));
    let mut known: Vec<Known> = Vec::new();
    for one in of_content.chain(of_layers).chain(of_whole) {
        if !known.iter().any(|other| other.says == one.says) {
            known.push(one);
        }
    }
    known
}

/// Part of a file that was never written.
pub(super) fn never_written_share(facts: &TargetFacts) -> f64 {
    let share =
        |map: &ExtentMap| (map.unwritten_bytes + map.hole_bytes) as f64 / map.range_bytes.max(1) as f64;
    facts.extents.as_ref().map_or(0.0, share)
}

fn never_written(facts: &TargetFacts) -> Option<String> {
    let map = facts.extents.as_ref()?;
    let share = never_written_share(facts);
    if share < UNWRITTEN_REMARK {
        return None;
    }
    let parts = [(map.hole_bytes, "in holes"), (map.unwritten_bytes, "allocated but not written")];
    let parts = parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(b, what)| format!("{} {what}", size(*b)));
    let parts: Vec<String> = parts.collect();
    let what = if map.unwritten_bytes + map.hole_bytes >= map.range_bytes {
        "The file".to_string()
    } else {
        format!("{} of the file", percent(share))
    };
    Some(format!(
        "{what} was never written ({}): reads there return zeros without the disk. -c makes files with every byte \
         written.",
        parts.join(", ")
    ))
}

/// The sample of the content; none where memory keeps it, since no disk is read there.
fn sample(facts: &TargetFacts) -> Option<&ContentSample> {
    let is_memory = facts.layers.iter().any(|l| l.kind == LayerKind::MemoryFilesystem);
    facts.content.as_ref().filter(|sample| sample.blocks > 0 && sample.block_bytes > 0 && !is_memory)
}

fn zeros(facts: &TargetFacts) -> Option<String> {
    let sample = sample(facts)?;
    let zeros = f64::from(sample.zero_blocks) / f64::from(sample.blocks);
    // What was never written reads as zeros, which `never_written` tells.
    if zeros < ZERO_NOTABLE + never_written_share(facts) {
        return None;
    }
    let fill = if facts.kind == OpenedKind::File {
        "-c with -Zr makes a file of random data."
    } else {
        "A write test over all of it (-w100 -Zr) fills it, and destroys its content."
    };
    Some(format!(
        "{} of {} sampled blocks hold only zeros: thin volumes, compressing storage and many solid-state disks answer \
         reads of zeros without their medium. {fill}",
        grouped(sample.zero_blocks),
        grouped(sample.blocks),
    ))
}

/// Data that the storage compresses or deduplicates.
fn reducible(facts: &TargetFacts) -> Option<String> {
    let sample = sample(facts)?;
    let reduces =
        |l: &&Layer| l.compression.is_some() || l.deduplicates == Some(true) || l.role() == LayerRole::Zram;
    let by = &facts.layers.iter().find(reduces)?.name;
    let blocks = f64::from(sample.blocks);
    let zeros = f64::from(sample.zero_blocks) / blocks;
    let repeated = f64::from(sample.repeated_blocks.saturating_sub(sample.zero_blocks)) / blocks;
    let compressed = sample.compressed_bytes as f64 / (blocks * f64::from(sample.block_bytes));
    // `zeros` has told of them.
    if zeros >= 0.5 || (compressed >= REDUCED_SUSPECT && repeated < REPEATED_NOTABLE) {
        return None;
    }
    let make = if facts.kind == OpenedKind::File { " -c with -Zr makes a file of random data." } else { "" };
    Some(format!(
        "The data compress to {} of their size, and {} of the blocks repeat another block: {by} has less to read \
         than a test asks for.{make}",
        percent(compressed),
        percent(repeated)
    ))
}

fn in_memory(layer: &Layer) -> Option<String> {
    match layer.kind {
        LayerKind::MemoryFilesystem => Some(format!(
            "Files here are in memory ({}): a test measures memory and processor, not a disk. Direct I/O may be \
             accepted, but it changes nothing.",
            layer.name
        )),
        LayerKind::Memory => Some(format!(
            "{} is a device in memory: a test measures memory and processor, not a disk.",
            layer.name
        )),
        _ => None,
    }
}

fn on_another_machine(layer: &Layer) -> Option<String> {
    let server = layer.server.as_ref().map(|s| format!(" ({s})")).unwrap_or_default();
    match layer.kind {
        LayerKind::RemoteFilesystem => Some(format!(
            "Another machine holds the data{server}: every I/O crosses the network. -Su and -Sh bypass the cache of \
             this machine, not the cache of the other. Compare with a run on the machine that holds the data.",
        )),
        _ => layer.served_by().map(|by| {
            format!(
                "{} is served by {by}: every I/O crosses the network, and -Su and -Sh do not bypass the caches of the server.",
                layer.name
            )
        }),
    }
}

fn in_copies(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Replica).then(|| match layer.replica() {
        Some(replica) if replica.is_alone() => format!(
            "DRBD keeps copies of {} ({}): no other node is connected, so writes stay here.",
            layer.name,
            replica.nodes_words()
        ),
        Some(replica) => format!(
            "DRBD keeps copies of {} ({}): writes cross the network.",
            layer.name,
            replica.nodes_words()
        ),
        None => format!("DRBD keeps copies of {} on other nodes: writes cross the network.", layer.name),
    })
}

fn by_a_program(layer: &Layer) -> Option<String> {
    (layer.kind == LayerKind::UserFilesystem).then(|| {
        format!(
            "A program serves this file system ({}): its processor time is part of every I/O, and direct I/O may not \
             bypass its cache.",
            layer.name
        )
    })
}

fn in_an_overlay(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Overlay).then(|| {
        "This is an overlay file system, as in a container: the first write to a file of the image copies the whole \
         file. Use a volume to measure the disk."
            .to_string()
    })
}

fn in_zfs(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Zfs).then(|| {
        "ZFS has its own cache (ARC) beside the page cache, and may compress. OpenZFS before 2.3 accepts -Su, but \
         still answers from the ARC."
            .to_string()
    })
}

fn compressed(layer: &Layer) -> Option<String> {
    let algorithm = layer.compression.as_ref()?;
    Some(format!(
        "{} compresses ({algorithm}): the disk moves less than a test reads or writes if the data compress well. Write \
         random data (-Zr), and fill the target with random data before reading it.",
        layer.name
    ))
}

fn deduplicated(layer: &Layer) -> Option<String> {
    layer.deduplicates.filter(|&d| d).map(|_| {
        format!("{} deduplicates: it stores equal data only once. Write random data (-Zr).", layer.name)
    })
}

fn encrypted(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Encrypted).then(|| {
        format!("{} encrypts: processor time is part of every I/O and may limit the rate.", layer.name)
    })
}

fn thin(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::ThinVolume).then(|| {
        format!(
            "{} is a thin volume: blocks that were never written are read as zeros without the disk, and the first \
             write to a block also allocates it. Fill the volume once before measuring.",
            layer.name
        )
    })
}

fn array_not_whole(layer: &Layer) -> Option<String> {
    let array = layer.details.as_ref().filter(|array| array.role == LayerRole::Array)?;
    if array.sync_action.is_some() {
        return Some(format!(
            "The array {} is busy with maintenance ({}): its own I/O slows a test down.",
            layer.name,
            layer.detail.as_deref().unwrap_or_default()
        ));
    }
    array
        .missing_disks
        .map(|_| format!("The array {} lacks a disk: it is not as fast as a complete array.", layer.name))
}

/// Boundaries that partitions should keep.
const PARTITION_ALIGNMENT_BYTES: u64 = 4096;

fn misaligned(layer: &Layer) -> Option<String> {
    let start_bytes =
        layer.starts_at_bytes.filter(|start| !start.is_multiple_of(PARTITION_ALIGNMENT_BYTES))?;
    Some(format!(
        "Partition {} begins at byte {start_bytes}, which is not a multiple of 4096: on most disks each I/O touches \
         one more block than it needs.",
        layer.name
    ))
}

fn behind_the_page_cache(layer: &Layer) -> Option<String> {
    (layer.direct_io == Some(false)).then(|| {
        format!(
            "{0} uses the page cache for its file: even with -Su memory may answer. losetup --direct-io=on /dev/{0} \
             changes that if the file system of the file supports it.",
            layer.name
        )
    })
}

fn write_back(layer: &Layer) -> Option<String> {
    let is_disk = matches!(layer.kind, LayerKind::Disk | LayerKind::NetworkDisk);
    (is_disk && layer.has_volatile_cache() == Some(true)).then(|| {
        format!(
            "{} has a write cache that loses its content in a power failure: writes are acknowledged before they are \
             durable, unless each is written through (-Sw, -Sh).",
            layer.name
        )
    })
}

/// Of a disk with one hardware queue; of many queues each processor mostly has one near.
fn answered_elsewhere(layer: &Layer) -> Option<String> {
    let [queue] = layer.hardware_queues.as_slice() else { return None };
    let is_partly = !queue.answered_by.is_empty() && !queue.answered_by.holds(&queue.processors);
    let answering = queue.answered_by.within(&queue.processors);
    let (first, is_one) = (answering.iter().next()?, answering.iter().count() == 1);
    is_partly.then(|| {
        format!(
            "The interrupts of {} are answered by {} only: one I/O at a time (-o1) is mostly faster on {} (-a{first}) than on others.",
            layer.name,
            answering.words(),
            if is_one { "that processor" } else { "one of them" }
        )
    })
}

fn one_command(layer: &Layer) -> Option<String> {
    (layer.queue_depth == Some(1)).then(|| {
        format!(
            "{} takes one command at a time: with more than -o1 the other I/Os wait in the kernel, and the latencies \
             include this wait.",
            layer.name
        )
    })
}

/// Parts of models under which clouds show their network storage, and whose it is.
const CLOUDS: &[(&str, &str)] = &[
    ("Amazon Elastic Block Store", "Amazon EBS"),
    ("PersistentDisk", "a Google persistent disk"),
    ("nvme_card-pd", "a Google persistent disk"),
    ("Msft Virtual Disk", "a Hyper-V or Azure disk"),
    ("MSFT NVMe Accelerator", "an Azure disk"),
    ("BlockVolume", "a block volume of Oracle's cloud"),
];

fn of_a_cloud(layer: &Layer) -> Option<String> {
    let model = layer.model.as_deref()?;
    let (_, whose) = CLOUDS.iter().find(|(part, _)| model.contains(part))?;
    Some(format!(
        "{} is {whose}: its type and size, and the size of the machine, limit IOPS and throughput, often only once \
         burst credits are used up. Run long enough to see the steady rate.",
        layer.name
    ))
}

fn path_down(layer: &Layer) -> Option<String> {
    let words = |path: &DevicePath| format!("{} is {}", path.place(), path.standing());
    let down: Vec<String> = layer.paths().iter().filter(|path| path.is_down).map(words).collect();
    (!down.is_empty()).then(|| format!("Not all paths of {} are up: {}.", layer.name, down.join(", ")))
}

fn copies_apart(layer: &Layer) -> Option<String> {
    let faults = layer.replica().map(Replica::faults).filter(|faults| !faults.is_empty())?;
    Some(format!(
        "DRBD does not keep all copies of {} the same: {}. Writes are then faster, or slower, than with all nodes.",
        layer.name,
        faults.join(", ")
    ))
}

/// A file system that shows no disks below it, but keeps data somewhere.
fn hidden_disks(facts: &TargetFacts, _: Option<u64>) -> Option<String> {
    let is_hidden = |l: &&Layer| {
        l.is_lowest() && matches!(l.kind, LayerKind::File | LayerKind::Filesystem | LayerKind::Loop)
    };
    let hidden = facts.layers.iter().find(is_hidden)?;
    Some(format!(
        "The disks below {} are not visible here, as in a container or with a file system that manages its own \
         disks: no disk counter can prove the result.",
        hidden.name
    ))
}

fn uncounted_commands(facts: &TargetFacts, _: Option<u64>) -> Option<String> {
    let commands = facts.nvme_commands.as_ref().filter(|commands| !commands.counted)?;
    let disk = facts.device_name.as_deref().unwrap_or("the disk");
    Some(format!(
        "The kernel does not count the NVMe commands that {} takes, so that the counters of {disk} cannot prove the result: it          counts them since Linux 6.13, where /sys/block/{disk}/queue/iostats_passthrough is 1.",
        commands.device
    ))
}

fn no_direct_io(facts: &TargetFacts, _: Option<u64>) -> Option<String> {
    facts.direct_alignment_bytes.is_none().then(|| {
        "Direct I/O is not possible here: every I/O goes through the page cache, which answers reads of data that fit \
         into memory."
            .to_string()
    })
}

/// Smaller than caches that direct I/O does not bypass.
fn small(facts: &TargetFacts, _: Option<u64>) -> Option<String> {
    let is_memory = |l: &Layer| matches!(l.kind, LayerKind::MemoryFilesystem | LayerKind::Memory);
    let disk: u64 = facts.lowest().filter_map(|layer| layer.size_bytes).sum();
    let is_part = disk > 0 && facts.size_bytes as f64 >= RANGE_SMALL_PART * disk as f64;
    if facts.layers.iter().any(is_memory) || is_part || !(1..RANGE_SMALL_BYTES).contains(&facts.size_bytes) {
        return None;
    }
    let of_disk = match disk {
        0 => String::new(),
        disk => {
            format!(" ({} of a disk of {})", percent(facts.size_bytes as f64 / disk as f64), size(disk))
        }
    };
    Some(format!(
        "The target is small, {}{of_disk}: a cache of the drive, the controller or the host can hold all of it, even \
         with -Su. Test a range much larger than all caches.",
        size(facts.size_bytes)
    ))
}

/// Where memory may answer instead of the disk.
fn cached(facts: &TargetFacts, memory_bytes: Option<u64>) -> Option<String> {
    let is_memory = |l: &Layer| matches!(l.kind, LayerKind::MemoryFilesystem | LayerKind::Memory);
    if facts.layers.iter().any(is_memory) || facts.direct_alignment_bytes.is_none() || facts.size_bytes == 0 {
        return None;
    }
    let memory_bytes = memory_bytes?;
    if facts.size_bytes <= memory_bytes {
        let what = if facts.kind == OpenedKind::File { "The file" } else { "The device" };
        let there = facts.residency.map_or(0, |residency| residency.cached_before_bytes);
        let there = match there {
            0 => String::new(),
            bytes => format!(", and {} of it are in the page cache now", size(bytes)),
        };
        return Some(format!(
            "{what} ({}) fits into the memory of this machine ({}){there}: without -Su or -Sh the page cache would \
             answer most reads.",
            size(facts.size_bytes),
            size(memory_bytes)
        ));
    }
    (facts.kind != OpenedKind::File).then(|| {
        "On Linux a raw device goes through the page cache, too, unless it is opened for direct I/O (-Su, -Sh)."
            .to_string()
    })
}

fn empty(facts: &TargetFacts, _: Option<u64>) -> Option<String> {
    (facts.size_bytes == 0).then(|| "The target is empty: give it a size with -c.".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{CpuSet, HardwareQueue, LayerDetails, NvmeCommands};

    fn know(facts: &TargetFacts, memory_bytes: Option<u64>) -> Vec<String> {
        look(facts, memory_bytes).into_iter().map(|known| known.says).collect()
    }

    /// The layer as a document of before told it: by its words.
    fn told(mut layer: Layer) -> Layer {
        crate::result::legacy::complete_layer(&mut layer);
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
        let told = uncounted_commands(&commands(false), None).expect("not counted");
        assert!(told.contains("/sys/block/nvme0n1/queue/iostats_passthrough is 1"), "{told}");
        assert_eq!(uncounted_commands(&commands(true), None), None);
        assert_eq!(uncounted_commands(&TargetFacts::default(), None), None);
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
            answered_elsewhere(&Layer { hardware_queues: queues, ..layer(LayerKind::Disk, "vda") })
        };
        let one = "The interrupts of vda are answered by processor 1 only: one I/O at a time (-o1) is mostly faster on that \
                   processor (-a1) than on others.";
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
            (
                array("raid5, 3 disks, degraded by 1, recover running"),
                "The array md0 is busy with maintenance (",
            ),
            (partition(63 * 512), "begins at byte 32256, which is not a multiple of 4096: "),
            (
                Layer { direct_io: Some(false), ..layer(LayerKind::Disk, "loop0") },
                "--direct-io=on /dev/loop0",
            ),
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
        let here =
            Replica { disk: Some("UpToDate".into()), role: Some("Primary".into()), ..Replica::default() };
        let details = LayerDetails { replica: Some(here), ..LayerDetails::of(LayerRole::Replica) };
        let alone = about(Layer { details: Some(details), ..layer(LayerKind::NetworkDisk, "drbd0") });
        assert!(alone[0].ends_with("no other node is connected, so writes stay here."), "{alone:?}");
        let behind =
            "DRBD does not keep all copies of drbd0 the same: the disk of this node is Inconsistent. ";
        assert!(drbd(Some("Inconsistent"))[1].starts_with(behind), "{:?}", drbd(Some("Inconsistent")));
    }

    /// A file of 64 blocks of 1 MiB, looked at.
    fn file(
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
        assert_eq!(said(&file(0, 0, [0, 0], 100)), Vec::<String>::new(), "data");
        assert_eq!(said(&file(0, 0, [0, 30], 10)), Vec::<String>::new(), "nothing compresses");
        assert_eq!(
            said(&file(64, 0, [64, 63], 1)),
            [
                "The file was never written (64 MiB in holes): reads there return zeros without the disk. -c makes \
                 files with every byte written."
            ],
            "zeros are not told a second time"
        );
        let both = said(&file(16, 16, [33, 32], 50)).join(" ");
        assert!(both.starts_with(
            "50 % of the file was never written (16 MiB in holes, 16 MiB allocated but not written): reads there"
        ));
        let zeros = said(&file(16, 0, [64, 63], 1));
        assert!(
            zeros[0].starts_with("25 % of the file") && zeros[1].starts_with("64 of 64 sampled"),
            "{zeros:?}"
        );
        let device = TargetFacts { kind: OpenedKind::BlockDevice, extents: None, ..file(0, 0, [64, 63], 1) };
        assert!(said(&device).join(" ").contains("fills it, and destroys its content."));
    }

    #[test]
    fn data_that_the_storage_keeps_smaller_are_told() {
        let on = |layer: Layer, facts: TargetFacts| {
            know(&TargetFacts { layers: vec![layer], ..facts }, None).into_iter().next().unwrap_or_default()
        };
        let btrfs = || Layer { compression: Some("zstd".into()), ..layer(LayerKind::Disk, "btrfs") };
        let words = on(btrfs(), file(0, 0, [0, 0], 30));
        assert!(
            words.starts_with("The data compress to 30 % of their size, and 0 % of the blocks"),
            "{words}"
        );
        assert!(words.contains("btrfs has less to read"), "{words}");
        assert!(on(btrfs(), file(0, 0, [0, 7], 100)).contains("11 % of the blocks repeat another block: "));
        assert!(!on(btrfs(), file(0, 0, [0, 0], 100)).contains("The data compress"));
        let memory = on(layer(LayerKind::MemoryFilesystem, "tmpfs"), file(0, 0, [64, 63], 1));
        assert!(memory.starts_with("Files here are in memory"), "{memory}");
    }

    /// What is told before a run is what its verdict will say: the same cures.
    #[test]
    fn advice_is_that_of_the_rules() {
        let rule = |name: &str| {
            let rule = crate::verdict::RULES.iter().find(|rule| rule.name == name);
            rule.map(|rule| rule.advice.to_string()).expect(name)
        };
        let say = |facts: &TargetFacts| know(facts, None).join(" ");
        for (name, said, cure) in [
            ("never-written", say(&file(64, 0, [64, 63], 1)), "-c makes files with every byte written"),
            ("zero-data", say(&file(0, 0, [64, 63], 1)), "-c with -Zr"),
            (
                "working-set",
                say(&TargetFacts { size_bytes: 64 << 20, ..file(0, 0, [0, 0], 100) }),
                "est a range much larger than all caches",
            ),
            (
                "reducible-reads",
                say(&TargetFacts {
                    layers: vec![told(layer(LayerKind::Memory, "zram0"))],
                    ..file(0, 0, [0, 0], 9)
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
            let facts =
                TargetFacts { layers: disk(disk_bytes), ..facts(OpenedKind::File, 64 << 20, Some(512)) };
            know(&facts, None).join(" ")
        };
        assert!(
            small(1 << 40)
                .starts_with("The target is small, 64 MiB (<0.1 % of a disk of 1 TiB): a cache of the drive")
        );
        assert_eq!(small(4 << 30), "", "a small disk has small caches");
    }
}

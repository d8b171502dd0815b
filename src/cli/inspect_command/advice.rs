//! What a person should know before a run, and a line to begin with. Pure functions over the facts.

use super::show::size;
use crate::result::{Layer, LayerKind, TargetFacts};

/// A sentence about a layer, or nothing.
type AboutLayer = fn(&Layer, &TargetFacts) -> Option<String>;

/// Asked of every layer, in this order.
const ABOUT_LAYERS: &[AboutLayer] = &[
    in_memory,
    on_another_machine,
    by_a_program,
    in_an_overlay,
    in_zfs,
    compressed,
    deduplicated,
    encrypted,
    thin,
    array_not_whole,
    misaligned,
    behind_the_page_cache,
    write_back,
    one_command,
    of_a_cloud,
    path_down,
];

/// Whole sentences, most important first; each once.
pub(super) fn know(facts: &TargetFacts, memory_bytes: Option<u64>) -> Vec<String> {
    let of_layers = ABOUT_LAYERS.iter().flat_map(|about| facts.layers.iter().filter_map(|l| about(l, facts)));
    let of_target = [hidden_disks(facts), no_direct_io(facts), cached(facts, memory_bytes), empty(facts)];
    let mut sentences: Vec<String> = Vec::new();
    for sentence in of_layers.chain(of_target.into_iter().flatten()) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

fn in_memory(layer: &Layer, _: &TargetFacts) -> Option<String> {
    match layer.kind {
        LayerKind::MemoryFilesystem => Some(format!(
            "Files here live in memory ({}): a test measures the memory and the processor. Direct I/O may be accepted; \
             there is nothing that it could bypass.",
            layer.name
        )),
        LayerKind::Memory => Some(format!("{} is memory: a test measures the processor.", layer.name)),
        _ => None,
    }
}

fn on_another_machine(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let server = layer.server.as_ref().map(|s| format!(" ({s})")).unwrap_or_default();
    match layer.kind {
        LayerKind::RemoteFilesystem => Some(format!(
            "Another machine holds the data{server}: each I/O is a hop over the network, and -Su and -Sh bypass the \
             cache of this machine, not the one over there. Compare with a run on the machine that owns the data.",
        )),
        LayerKind::NetworkDisk => {
            Some(format!("{} is reached over the network{server}: each I/O is a hop.", layer.name))
        }
        _ => None,
    }
}

fn by_a_program(layer: &Layer, _: &TargetFacts) -> Option<String> {
    (layer.kind == LayerKind::UserFilesystem).then(|| {
        format!(
            "A program serves this filesystem ({}): its processor time is part of every I/O, and whether direct I/O \
             passes its cache is up to it.",
            layer.name
        )
    })
}

fn in_an_overlay(layer: &Layer, _: &TargetFacts) -> Option<String> {
    (layer.name == "overlay").then(|| {
        "An overlay, as containers have it: the first write to a file of the image copies the whole file. A volume \
         measures the disk better."
            .to_string()
    })
}

fn in_zfs(layer: &Layer, _: &TargetFacts) -> Option<String> {
    (layer.name == "zfs").then(|| {
        "ZFS has a cache of its own (ARC) beside the page cache, and may compress; OpenZFS before 2.3 accepts -Su and \
         answers from the ARC all the same."
            .to_string()
    })
}

fn compressed(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let algorithm = layer.compression.as_ref()?;
    Some(format!(
        "{} compresses ({algorithm}): data that compress well are not stored as written. Write random data (-Zr), and \
         fill what is to be read with them.",
        layer.name
    ))
}

fn deduplicated(layer: &Layer, _: &TargetFacts) -> Option<String> {
    layer.deduplicates.filter(|&d| d).map(|_| {
        format!(
            "{} stores equal data once: write random data (-Zr), or hardly anything is written.",
            layer.name
        )
    })
}

fn encrypted(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let is_crypt = layer.detail.as_deref().is_some_and(|d| d.starts_with("crypt "));
    (layer.kind == LayerKind::DeviceMapper && is_crypt).then(|| {
        format!(
            "{} encrypts: processor time is part of every I/O and may be what limits the rate.",
            layer.name
        )
    })
}

fn thin(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let is_thin = layer.detail.as_deref().is_some_and(|d| d.starts_with("LVM ") && d.ends_with(", thin"));
    is_thin.then(|| {
        format!(
            "{} is thin: what was never written reads as zeros without the disk, and first writes also allocate. Fill \
             it once before measuring.",
            layer.name
        )
    })
}

fn array_not_whole(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let detail = layer.detail.as_deref().filter(|_| layer.kind == LayerKind::Md)?;
    let is_degraded = detail.contains("degraded");
    let is_running = detail.contains(" running");
    match (is_degraded, is_running) {
        (false, false) => None,
        (true, false) => {
            Some(format!("The array {} misses a disk: it is not as fast as when whole.", layer.name))
        }
        (_, true) => Some(format!(
            "The array {} is being worked on ({detail}): its own I/O takes part of the rate.",
            layer.name
        )),
    }
}

/// Boundaries that partitions should keep.
const PARTITION_ALIGNMENT_BYTES: u64 = 4096;

fn misaligned(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let start_bytes =
        layer.starts_at_bytes.filter(|start| !start.is_multiple_of(PARTITION_ALIGNMENT_BYTES))?;
    Some(format!(
        "Partition {} begins at byte {start_bytes}, which is no multiple of 4096: I/Os straddle the blocks of most \
         disks, and each costs more than one.",
        layer.name
    ))
}

fn behind_the_page_cache(layer: &Layer, _: &TargetFacts) -> Option<String> {
    (layer.direct_io == Some(false)).then(|| {
        format!(
            "{0} reaches its file through the page cache: even with -Su memory may answer. losetup --direct-io=on \
             /dev/{0} changes that, where the file's filesystem can.",
            layer.name
        )
    })
}

fn write_back(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let is_disk = matches!(layer.kind, LayerKind::Disk | LayerKind::NetworkDisk);
    (is_disk && layer.write_cache.as_deref() == Some("write back")).then(|| {
        format!(
            "{} has a write cache that loses its content with the power: writes are acknowledged before they are \
             durable, unless each is written through (-Sw, -Sh).",
            layer.name
        )
    })
}

fn one_command(layer: &Layer, _: &TargetFacts) -> Option<String> {
    (layer.queue_depth == Some(1)).then(|| {
        format!(
            "{} takes one command at a time: with more than -o1 the rest waits in the kernel, and latency counts the \
             wait.",
            layer.name
        )
    })
}

/// Parts of models under which clouds show their network storage, and whose it is.
const CLOUDS: &[(&str, &str)] = &[
    ("Amazon Elastic Block Store", "Amazon EBS"),
    ("PersistentDisk", "a Google persistent disk"),
    ("nvme_card-pd", "a Google persistent disk"),
    ("Msft Virtual Disk", "a disk of a Hyper-V or Azure machine"),
    ("MSFT NVMe Accelerator", "an Azure disk"),
    ("BlockVolume", "a block volume of Oracle's cloud"),
];

fn of_a_cloud(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let model = layer.model.as_deref()?;
    let (_, whose) = CLOUDS.iter().find(|(part, _)| model.contains(part))?;
    Some(format!(
        "{} is {whose}: its size and type, and the size of the machine, limit IOPS and throughput, often after a burst \
         of credits. Run long enough to see the steady rate.",
        layer.name
    ))
}

fn path_down(layer: &Layer, _: &TargetFacts) -> Option<String> {
    let detail = layer.detail.as_deref().filter(|d| d.contains(" paths ("))?;
    let is_down = ["connecting", "resetting", "deleting", "dead"].iter().any(|state| detail.contains(state));
    is_down.then(|| format!("Not all paths of {} are up: {detail}.", layer.name))
}

/// A filesystem with nothing below it that keeps data somewhere.
fn hidden_disks(facts: &TargetFacts) -> Option<String> {
    let is_hidden = |l: &&Layer| {
        l.is_lowest() && matches!(l.kind, LayerKind::File | LayerKind::Filesystem | LayerKind::Loop)
    };
    let hidden = facts.layers.iter().find(is_hidden)?;
    Some(format!(
        "What lies below {} cannot be seen from here, as in a container or with a filesystem that manages its own \
         disks: no counter of a disk will vouch for the numbers.",
        hidden.name
    ))
}

fn no_direct_io(facts: &TargetFacts) -> Option<String> {
    facts.direct_alignment_bytes.is_none().then(|| {
        "Direct I/O is not possible here: every I/O goes through the page cache, and reads that fit into memory come \
         from there."
            .to_string()
    })
}

/// Where memory may answer instead of the disk.
fn cached(facts: &TargetFacts, memory_bytes: Option<u64>) -> Option<String> {
    let is_memory = |l: &Layer| matches!(l.kind, LayerKind::MemoryFilesystem | LayerKind::Memory);
    if facts.layers.iter().any(is_memory) || facts.direct_alignment_bytes.is_none() || facts.size_bytes == 0 {
        return None;
    }
    let memory_bytes = memory_bytes?;
    if facts.size_bytes <= memory_bytes {
        let what = if facts.kind == "file" { "The file" } else { "The device" };
        return Some(format!(
            "{what} ({}) fits into the memory of this machine ({}): without -Su or -Sh most reads would come from \
             there.",
            size(facts.size_bytes),
            size(memory_bytes)
        ));
    }
    (facts.kind != "file").then(|| {
        "On Linux a raw device goes through the page cache too, unless opened for direct I/O (-Su, -Sh)."
            .to_string()
    })
}

fn empty(facts: &TargetFacts) -> Option<String> {
    (facts.size_bytes == 0).then(|| "It is empty: give it a size with -c.".to_string())
}

/// Whether [`suggested`] makes a file.
pub(super) fn suggests_new_file(facts: &TargetFacts) -> bool {
    facts.kind == "file" && facts.size_bytes < FILE_BYTES_USEFUL
}

/// Smaller files stay within the caches of disks and controllers.
const FILE_BYTES_USEFUL: u64 = 1 << 30;

/// A command line to begin with: random reads in small blocks, past the caches, with latencies.
pub(super) fn suggested(facts: &TargetFacts) -> String {
    let lowest: Vec<&Layer> = facts.lowest().collect();
    let is_memory = facts.layers.iter().any(|l| l.kind == LayerKind::MemoryFilesystem);
    let turns = lowest.iter().any(|l| l.rotational == Some(true) && l.transport.as_deref() != Some("virtio"));
    let deepest = lowest.iter().filter_map(|l| l.queue_depth).max();
    let block_bytes = facts.direct_alignment_bytes.unwrap_or(0).max(4096);
    let outstanding = match deepest {
        Some(1) => 1,
        _ if turns => 8,
        _ => 32,
    };
    let mut words = vec![
        "diskspd".to_string(),
        format!("-b{}K", block_bytes / 1024),
        "-r".to_string(),
        format!("-o{outstanding}"),
        "-W5".to_string(),
        "-d60".to_string(),
        "-L".to_string(),
    ];
    if !is_memory && facts.direct_alignment_bytes.is_some() {
        words.insert(4, "-Su".to_string());
    }
    if suggests_new_file(facts) {
        words.insert(1, if is_memory { "-c1G" } else { "-c20G" }.to_string());
        words.push(shell_word(&beside(&facts.path)));
    } else {
        words.push(shell_word(&facts.path));
    }
    words.join(" ")
}

/// A new file in the same directory.
fn beside(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((dir, _)) => format!("{dir}/truespd.dat"),
        None => "truespd.dat".to_string(),
    }
}

/// A path as it can be pasted into a shell.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    match path.chars().all(is_plain) && !path.is_empty() {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_lines_fit_the_target() {
        let disk = |turns, depth| Layer {
            kind: LayerKind::Disk,
            rotational: Some(turns),
            queue_depth: depth,
            transport: Some("sata".into()),
            ..Layer::default()
        };
        let facts = |layer, size_bytes, alignment| TargetFacts {
            path: "/data/my file".into(),
            kind: "file".into(),
            size_bytes,
            direct_alignment_bytes: alignment,
            layers: vec![layer],
            ..TargetFacts::default()
        };
        let big = 10 << 30;
        assert_eq!(
            suggested(&facts(disk(false, Some(32)), big, Some(512))),
            "diskspd -b4K -r -o32 -Su -W5 -d60 -L '/data/my file'"
        );
        assert!(suggested(&facts(disk(true, Some(32)), big, Some(512))).contains(" -o8 "));
        assert!(
            suggested(&facts(disk(false, Some(1)), big, Some(16384))).starts_with("diskspd -b16K -r -o1 ")
        );
        assert_eq!(
            suggested(&facts(disk(false, None), 4096, Some(512))),
            "diskspd -c20G -b4K -r -o32 -Su -W5 -d60 -L /data/truespd.dat"
        );
        assert!(!suggested(&facts(disk(false, None), big, None)).contains("-Su"));
    }

    fn about(layer: Layer) -> Vec<String> {
        let facts = TargetFacts {
            kind: "file".into(),
            size_bytes: 1 << 40,
            direct_alignment_bytes: Some(512),
            layers: vec![layer],
            ..TargetFacts::default()
        };
        know(&facts, Some(1 << 30))
    }

    fn layer(kind: LayerKind, name: &str) -> Layer {
        Layer { kind, name: name.into(), ..Layer::default() }
    }

    #[test]
    fn a_plain_disk_larger_than_memory_needs_no_words() {
        let disk = Layer { write_cache: Some("write through".into()), ..layer(LayerKind::Disk, "sda") };
        assert_eq!(about(disk), Vec::<String>::new());
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
        let expected: [(Layer, &str); 19] = [
            (layer(LayerKind::MemoryFilesystem, "tmpfs"), "live in memory (tmpfs)"),
            (layer(LayerKind::Memory, "zram0"), "zram0 is memory"),
            (
                Layer { server: Some("filer".into()), ..layer(LayerKind::RemoteFilesystem, "nfs4") },
                "Another machine holds the data (filer)",
            ),
            (layer(LayerKind::NetworkDisk, "nbd0"), "reached over the network"),
            (layer(LayerKind::UserFilesystem, "fuse.x"), "A program serves this filesystem (fuse.x)"),
            (disk(|d| d.compression = Some("zstd".into())), "compresses (zstd)"),
            (disk(|d| d.deduplicates = Some(true)), "stores equal data once"),
            (mapped("crypt root (LUKS2)"), "dm-0 encrypts"),
            (mapped("LVM vg/data, thin"), "dm-0 is thin"),
            (array("raid1, 2 disks, degraded by 1"), "misses a disk"),
            (array("raid5, 3 disks, degraded by 1, recover running"), "being worked on"),
            (partition(63 * 512), "begins at byte 32256"),
            (
                Layer { direct_io: Some(false), ..layer(LayerKind::Disk, "loop0") },
                "--direct-io=on /dev/loop0",
            ),
            (disk(|d| d.write_cache = Some("write back".into())), "acknowledged before they are durable"),
            (disk(|d| d.queue_depth = Some(1)), "one command at a time"),
            (disk(|d| d.model = Some("Amazon Elastic Block Store".into())), "sda is Amazon EBS"),
            (
                disk(|d| d.detail = Some("2 paths (nvme1 live, nvme2 connecting)".into())),
                "Not all paths of sda are up",
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
    fn sizes_are_told_against_memory() {
        let facts = |kind: &str, size_bytes, alignment| TargetFacts {
            kind: kind.into(),
            size_bytes,
            direct_alignment_bytes: alignment,
            ..TargetFacts::default()
        };
        let said = |facts: &TargetFacts| know(facts, Some(1 << 30)).join(" ");
        assert!(
            said(&facts("file", 1 << 30, Some(512))).starts_with("The file (1 GiB) fits into the memory")
        );
        assert_eq!(said(&facts("file", (1 << 30) + 1, Some(512))), "");
        assert!(
            said(&facts("block_device", 1 << 40, Some(512)))
                .contains("a raw device goes through the page cache")
        );
        assert!(said(&facts("file", 1 << 40, None)).contains("Direct I/O is not possible"));
        assert!(said(&facts("file", 0, Some(512))).contains("is empty"));
    }
}

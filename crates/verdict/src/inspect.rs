//! What `truespd inspect` says of a target and a machine as they are now: the sentences of the catalogue, and a
//! command line
//! to begin with.

use super::causes::{RANGE_SMALL_BYTES, RANGE_SMALL_PART, UNWRITTEN_SUSPECT, causes};
use super::room::never_written_share;
use super::{Cause, Sentence, TargetNow};
use truespd_core::result::{Layer, LayerKind, Limit, MachineNow, OpenedKind, TargetFacts};
use truespd_platform::text::{shell_word, size};

pub use super::view::{limit_words, names, rates};

/// What a person should know of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OfTarget {
    /// Whole sentences, most important first; each once.
    pub sentences: Vec<String>,
    /// A command line to begin with.
    pub beginning: Beginning,
}

/// Looks at a target. `free` is the space for new files beside it.
pub fn of_target(
    facts: &TargetFacts,
    free: Option<FreeSpace>,
    machine: &MachineNow,
    limits: &[Limit],
) -> OfTarget {
    let beginning = beginning(facts, free, machine.host.memory_available_bytes);
    let why_not = beginning.why_not.map(|why| why.to_string());
    let now = TargetNow { facts, machine, limits, no_new_file: why_not.as_deref() };
    let mut said: Vec<(u16, String)> = Vec::new();
    let mut say = |order: u16, says: Option<String>| said.extend(says.map(|says| (order, says)));
    for sentence in causes().flat_map(Cause::sentences) {
        match sentence {
            Sentence::Facts(order, look) => say(order, look(facts)),
            Sentence::Target(order, look) => say(order, look(&now)),
            Sentence::Layer(order, look) => facts.layers.iter().for_each(|layer| say(order, look(layer))),
            Sentence::Limit(order, look) => {
                for limit in limits.iter().filter(|limit| is_on_a_disk_of(limit, facts)) {
                    say(order, look(limit));
                }
            }
            Sentence::Machine(..) => {}
        }
    }
    said.sort_by_key(|(order, _)| *order);
    let mut sentences: Vec<String> = Vec::new();
    for (_, says) in said {
        if !sentences.contains(&says) {
            sentences.push(says);
        }
    }
    OfTarget { sentences, beginning }
}

fn is_on_a_disk_of(limit: &Limit, facts: &TargetFacts) -> bool {
    limit.device.as_ref().is_some_and(|device| facts.layers.iter().any(|layer| layer.name == *device))
}

/// What holds for all targets on a machine, most important first.
pub fn of_machine(machine: &MachineNow, limits: &[Limit]) -> Vec<String> {
    let mut said: Vec<(u16, String)> = Vec::new();
    for sentence in causes().flat_map(Cause::sentences) {
        if let Sentence::Machine(order, look) = sentence {
            said.extend(look(machine, limits).map(|says| (order, says)));
        }
    }
    said.sort_by_key(|(order, _)| *order);
    said.into_iter().map(|(_, says)| says).collect()
}

/// Space for new files beside a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes free for this user's files.
    pub free_bytes: u64,
    /// Whether the file system is mounted read-only.
    pub is_read_only: bool,
}

/// The line, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beginning {
    /// A whole command line of `diskspd`.
    pub line: Option<String>,
    /// The line makes a file first.
    pub makes_file: bool,
    /// Why there is no line, or only one on a file that is too small.
    pub why_not: Option<NoNewFile>,
}

/// Why no new file can be made for a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoNewFile {
    /// Nobody asked how much is free.
    #[error("The free space there is not known: choose the size of a test file (-c) yourself.")]
    FreeUnknown,
    /// Nothing can be written there.
    #[error("The file system is mounted read-only: a test file cannot be made there.")]
    ReadOnly,
    /// Too little space is left over.
    #[error(
        "Only {} are free there: a test file of {}, the smallest that is worth measuring with, would take more than \
         half of it.",
        size(*free_bytes),
        size(*least_bytes)
    )]
    TooLittle {
        /// Free bytes, of the file system or of memory.
        free_bytes: u64,
        /// The smallest file that would do.
        least_bytes: u64,
    },
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Sizes of new files, as `-c` takes them.
const SIZES: &[(u64, &str)] = &[
    (20 * GIB, "20G"),
    (10 * GIB, "10G"),
    (5 * GIB, "5G"),
    (2 * GIB, "2G"),
    (GIB, "1G"),
    (512 * MIB, "512M"),
    (256 * MIB, "256M"),
    (128 * MIB, "128M"),
    (64 * MIB, "64M"),
];
/// In memory a large file proves nothing, and takes memory from everything else.
const MEMORY_FILE_BYTES_MAX: u64 = GIB;

/// Random reads in small blocks, past the caches, with latencies: of the target, or of a new file beside it when it
/// is too small, was never written, and the room is there. `memory_available_bytes` counts for files in memory.
fn beginning(facts: &TargetFacts, room: Option<FreeSpace>, memory_available_bytes: Option<u64>) -> Beginning {
    let is_file = facts.kind == OpenedKind::File;
    let is_unwritten = never_written_share(facts) >= UNWRITTEN_SUSPECT;
    let is_good = facts.size_bytes >= RANGE_SMALL_BYTES && !is_unwritten;
    if !is_file || is_good {
        return Beginning { line: Some(line(facts, None)), ..Beginning::default() };
    }
    match new_file(facts, room, memory_available_bytes) {
        Ok(new) => Beginning { line: Some(line(facts, Some(new))), makes_file: true, why_not: None },
        // A small file is better than none; one of zeros is not.
        Err(why) if facts.size_bytes > 0 && !is_unwritten => {
            Beginning { line: Some(line(facts, None)), makes_file: false, why_not: Some(why) }
        }
        Err(why) => Beginning { why_not: Some(why), ..Beginning::default() },
    }
}

/// Size of a new file: at most a tenth of what is free, unless that is too small to measure with; never more than
/// half.
fn new_file(
    facts: &TargetFacts,
    room: Option<FreeSpace>,
    memory_available_bytes: Option<u64>,
) -> Result<&'static str, NoNewFile> {
    let is_memory = is_in_memory(facts);
    let room = room.ok_or(NoNewFile::FreeUnknown)?;
    if room.is_read_only {
        return Err(NoNewFile::ReadOnly);
    }
    let memory = if is_memory { memory_available_bytes.unwrap_or(u64::MAX) } else { u64::MAX };
    let free = room.free_bytes.min(memory);
    let disks: u64 = facts.lowest().filter_map(|layer| layer.size_bytes).sum();
    let small = match disks {
        _ if is_memory => SIZES[SIZES.len() - 1].0,
        0 => RANGE_SMALL_BYTES,
        disks => RANGE_SMALL_BYTES.min((disks as f64 * RANGE_SMALL_PART) as u64),
    };
    let most = if is_memory { MEMORY_FILE_BYTES_MAX } else { u64::MAX };
    let fits = |limit: u64| SIZES.iter().find(|(bytes, _)| *bytes <= limit.min(most));
    let least = SIZES.iter().rev().find(|(bytes, _)| *bytes >= small).unwrap_or(&SIZES[0]);
    let tenth = fits(free / 10).filter(|(bytes, _)| *bytes >= least.0);
    let chosen = tenth.or_else(|| (least.0 <= free / 2).then_some(least));
    chosen.map(|(_, name)| *name).ok_or(NoNewFile::TooLittle { free_bytes: free, least_bytes: least.0 })
}

fn is_in_memory(facts: &TargetFacts) -> bool {
    facts.layers.iter().any(|l| l.kind == LayerKind::MemoryFilesystem)
}

fn line(facts: &TargetFacts, new_file: Option<&str>) -> String {
    let lowest: Vec<&Layer> = facts.lowest().collect();
    let is_memory = is_in_memory(facts);
    let turns = lowest.iter().any(|l| l.rotational == Some(true) && l.transport.as_deref() != Some("virtio"));
    let deepest = lowest.iter().filter_map(|l| l.queue_depth).max();
    let block_bytes = facts.direct_alignment_bytes.unwrap_or(0).max(4096);
    let outstanding = match deepest {
        Some(1) => 1,
        _ if turns => 8,
        _ => 32,
    };
    let mut words = vec!["diskspd".to_string()];
    if let Some(size) = new_file {
        // Storage may compress or deduplicate without saying so.
        words.extend([format!("-c{size}"), "-Zr".to_string()]);
    }
    words.extend([format!("-b{}K", block_bytes / 1024), "-r".to_string(), format!("-o{outstanding}")]);
    if !is_memory && facts.direct_alignment_bytes.is_some() {
        words.push("-Su".to_string());
    }
    words.extend(["-W5", "-d60", "-L"].map(str::to_string));
    words.push(match new_file {
        Some(_) => shell_word(&new_file_beside(&facts.path)),
        None => shell_word(&facts.path),
    });
    words.join(" ")
}

/// A new file in the same directory.
fn new_file_beside(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((dir, _)) => format!("{dir}/truespd.dat"),
        None => "truespd.dat".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::ExtentMap;

    fn disk(turns: bool, depth: Option<u32>) -> Layer {
        Layer {
            kind: LayerKind::Disk,
            rotational: Some(turns),
            queue_depth: depth,
            transport: Some("sata".into()),
            size_bytes: Some(1 << 40),
            ..Layer::default()
        }
    }

    fn facts(layer: Layer, size_bytes: u64, alignment: Option<u64>) -> TargetFacts {
        TargetFacts {
            path: "/data/my file".into(),
            kind: OpenedKind::File,
            size_bytes,
            direct_alignment_bytes: alignment,
            layers: vec![layer],
            ..TargetFacts::default()
        }
    }

    fn free(free_bytes: u64) -> Option<FreeSpace> {
        Some(FreeSpace { free_bytes, is_read_only: false })
    }

    #[test]
    fn lines_fit_the_target() {
        let line = |layer, size, alignment| {
            beginning(&facts(layer, size, alignment), free(1 << 40), None).line.expect("there is room")
        };
        let big = 10 << 30;
        assert_eq!(
            line(disk(false, Some(32)), big, Some(512)),
            "diskspd -b4K -r -o32 -Su -W5 -d60 -L '/data/my file'"
        );
        assert!(line(disk(true, Some(32)), big, Some(512)).contains(" -o8 "));
        assert!(line(disk(false, Some(1)), big, Some(16384)).starts_with("diskspd -b16K -r -o1 "));
        assert_eq!(
            line(disk(false, None), 4096, Some(512)),
            "diskspd -c20G -Zr -b4K -r -o32 -Su -W5 -d60 -L /data/truespd.dat"
        );
        assert!(!line(disk(false, None), big, None).contains("-Su"));
    }

    #[test]
    fn what_was_never_written_is_not_read() {
        let map = ExtentMap { range_bytes: 10 << 30, hole_bytes: 1 << 30, ..ExtentMap::default() };
        let sparse = TargetFacts { extents: Some(map), ..facts(disk(false, None), 10 << 30, Some(512)) };
        let line = beginning(&sparse, free(1 << 40), None).line.expect("there is room");
        assert!(line.contains(" -c20G ") && line.ends_with("/truespd.dat"), "{line}");
        let nothing = beginning(&sparse, free(1 << 30), None);
        assert_eq!(nothing.line, None, "reading zeros measures nothing");
        assert!(
            nothing
                .why_not
                .is_some_and(|why| why.to_string().starts_with("Only 1 GiB are free there: a test file of"))
        );
    }

    #[test]
    fn new_files_leave_most_of_the_room() {
        let size = |free_bytes, disk_bytes| {
            let disk = Layer { size_bytes: Some(disk_bytes), ..disk(false, None) };
            new_file(&facts(disk, 0, Some(512)), free(free_bytes), None)
        };
        for (free, disk, wanted) in [
            (4 << 40, 4 << 40, Some("20G")),
            (200 * GIB, 1 << 40, Some("20G")),
            (200 * GIB - 1, 1 << 40, Some("10G")),
            (71 * GIB, 256 * GIB, Some("5G")),
            (10 * GIB, 1 << 40, Some("1G")),
            (9 * GIB, 1 << 40, Some("1G")),
            (2 * GIB, 1 << 40, Some("1G")),
            (2 * GIB - 1, 1 << 40, None),
            (9 * GIB, 20 * GIB, Some("512M")),
            (500 * MIB, GIB, Some("64M")),
            (127 * MIB, GIB, None),
            (0, 1 << 40, None),
        ] {
            let found = size(free, disk);
            assert_eq!(found.ok(), wanted, "{free} of {disk}: {found:?}");
            if let Some((bytes, _)) = SIZES.iter().find(|(_, name)| Some(*name) == wanted) {
                assert!(*bytes <= free / 2);
            }
        }
        assert_eq!(size(9 * GIB, 0).ok(), Some("1G"), "a disk of unknown size");
        let read_only = Some(FreeSpace { free_bytes: 1 << 40, is_read_only: true });
        let why_not = |room| new_file(&facts(disk(false, None), 0, None), room, None);
        assert_eq!(why_not(read_only), Err(NoNewFile::ReadOnly));
        assert_eq!(why_not(None), Err(NoNewFile::FreeUnknown));
    }

    #[test]
    fn files_in_memory_stay_small() {
        let layer = Layer { kind: LayerKind::MemoryFilesystem, ..Layer::default() };
        let tmpfs = facts(layer, 0, Some(1));
        let size = |free_bytes, memory| new_file(&tmpfs, free(free_bytes), Some(memory)).ok();
        assert_eq!(size(1 << 40, 1 << 40), Some("1G"));
        assert_eq!(size(1 << 40, 4 * GIB), Some("256M"));
        assert_eq!(size(144 * MIB, 1 << 40), Some("64M"));
        assert_eq!(size(1 << 40, 100 * MIB), None);
    }

    #[test]
    fn a_small_file_is_read_when_nothing_larger_fits() {
        let found = beginning(&facts(disk(false, None), 100 * MIB, Some(512)), free(GIB), None);
        assert!(found.line.is_some_and(|line| line.ends_with("'/data/my file'") && !line.contains("-c")));
        assert!(found.why_not.is_some());
    }
}

//! An inspection: as JSON, and as text at most 80 columns wide where words allow.

mod machine;

use serde::Serialize;

use truespd_core::result::json::indented;
use truespd_core::result::{
    ContentSample, ExtentMap, Layer, LayerKind, Limit, MachineNow, NvmeCommands, OpenedKind, Residency,
    TargetFacts, WriteCache,
};
use truespd_platform::text::{columns_of, grouped, hanging, part_percent, printable, size, wrap};
use truespd_verdict::inspect::limit_words;

const COLUMNS: usize = 80;
/// Where the values of named facts begin.
const VALUE_COLUMN: usize = 14;

/// Everything that is known of the targets and the machine.
#[derive(Debug, Serialize)]
pub(crate) struct Inspection {
    /// [`FORMAT`].
    pub(crate) format: &'static str,
    /// Within a version members are only added.
    pub(crate) format_version: u32,
    pub(crate) targets: Vec<Inspected>,
    /// As a run's evidence would hold them.
    pub(crate) limits: Vec<Limit>,
    pub(crate) machine: MachineNow,
    /// What a person should know about the machine, in whole sentences.
    pub(crate) know: Vec<String>,
}

impl Inspection {
    /// With the version that this program writes.
    pub(crate) fn new(
        targets: Vec<Inspected>,
        limits: Vec<Limit>,
        machine: MachineNow,
        know: Vec<String>,
    ) -> Self {
        Inspection { format: FORMAT, format_version: FORMAT_VERSION, targets, limits, machine, know }
    }
}

const FORMAT: &str = "truespd-inspect";
const FORMAT_VERSION: u32 = 1;

/// One target.
#[derive(Debug, Serialize)]
pub(crate) struct Inspected {
    /// As a run's evidence would hold them.
    #[serde(flatten)]
    pub(crate) facts: TargetFacts,
    /// Bytes that are free for new files beside a file.
    pub(crate) free_bytes: Option<u64>,
    pub(crate) write_test: WriteTest,
    /// What a person should know, in whole sentences.
    pub(crate) know: Vec<String>,
    /// A suggested command line, which reads only and may make a new file. `None` when no useful one fits.
    pub(crate) suggested: Option<String>,
    /// Whether that line makes a new file.
    #[serde(skip)]
    pub(crate) makes_file: bool,
}

/// The answer of the write guard.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WriteTest {
    /// Whether the guard allows a run with writes.
    pub(crate) allowed: bool,
    /// Why not, in words; empty when allowed.
    pub(crate) refusal: String,
    /// What can be done about it.
    pub(crate) hints: Vec<String>,
    /// Whose writing of the target is not visible to this user, in words; `None` when all is, or the test is refused.
    pub(crate) unseen: Option<String>,
    /// Which data of a device could have been missed, in words; `None` when all of it was read, or the test is refused.
    pub(crate) missed: Option<String>,
}

/// All of it as JSON.
pub(crate) fn json(inspection: &Inspection) -> String {
    indented(inspection)
}

/// All targets, and the machine: with the only target, or after all of them.
pub(crate) fn text(inspection: &Inspection) -> String {
    let mut text = String::new();
    let line = format!("\n{}\n\n", "─".repeat(COLUMNS));
    for (i, target) in inspection.targets.iter().enumerate() {
        if i > 0 {
            text.push_str(&line);
        }
        push_target(&mut text, target, &inspection.limits);
        let mut know: Vec<&String> = target.know.iter().collect();
        if inspection.targets.len() == 1 {
            text.push('\n');
            push_machine(&mut text, inspection);
            know.extend(&inspection.know);
        }
        push_know(&mut text, &know);
        push_beginning(&mut text, target);
    }
    if inspection.targets.len() > 1 {
        text.push_str(&line);
        push_machine(&mut text, inspection);
        push_know(&mut text, &inspection.know.iter().collect::<Vec<_>>());
    }
    text
}

fn push_machine(text: &mut String, inspection: &Inspection) {
    text.push_str("This machine now\n");
    machine::lines(&inspection.machine).iter().for_each(|(name, words)| push_fact(text, name, words));
}

fn push_know(text: &mut String, know: &[&String]) {
    if !know.is_empty() {
        text.push_str("\nWhat to know\n");
        know.iter().for_each(|sentence| push_item(text, "  - ", sentence));
    }
}

fn push_beginning(text: &mut String, target: &Inspected) {
    if let Some(line) = &target.suggested {
        let does = if target.makes_file { "makes a file and reads it" } else { "reads only" };
        text.push_str(&format!("\nSuggested command line ({does})\n  {}\n", printable(line)));
    }
}

fn push_target(text: &mut String, target: &Inspected, limits: &[Limit]) {
    let facts = &target.facts;
    let what = match (facts.kind, &facts.nvme_commands) {
        (OpenedKind::File, _) => "file",
        (_, Some(_)) => "NVMe namespace",
        (_, None) => "block device",
    };
    let bytes = grouped(facts.size_bytes);
    push(text, 0, &format!("{}: {what} of {} ({bytes} bytes)", facts.path, size(facts.size_bytes)));
    text.push_str("\nFrom the target down to the disks\n");
    push_tree(text, &facts.layers);
    text.push('\n');
    let direct = match facts.direct_alignment_bytes {
        Some(bytes) => format!("offsets and sizes in multiples of {} bytes", grouped(bytes)),
        None => "not possible here: -Su and -Sh would be refused".to_string(),
    };
    push_fact(text, "Direct I/O", &direct);
    facts.nvme_commands.iter().for_each(|commands| push_fact(text, "Commands", &commands_words(commands)));
    facts.extents.iter().for_each(|e| push_fact(text, "Layout", &extents_words(e)));
    facts.residency.iter().for_each(|r| push_fact(text, "Page cache", &residency_words(r)));
    facts.content.iter().for_each(|c| push_fact(text, "Content", &content_words(c)));
    push_limits(text, target, limits);
    push_write_test(text, &target.write_test);
}

/// What a person should know of NVMe commands past the block layer.
fn commands_words(commands: &NvmeCommands) -> String {
    let longest = commands.transfer_bytes_max.map_or(String::new(), |bytes| {
        format!("; one transfers up to {}, and nothing splits it", size(bytes))
    });
    let counted = if commands.counted { "in its counters" } else { "in none of its counters" };
    format!("past page cache and block layer (--engine nvme), {counted}{longest}")
}

/// A paragraph.
fn push(text: &mut String, indent: usize, words: &str) {
    text.push_str(&hanging(&" ".repeat(indent), &printable(words), COLUMNS));
}

/// Words behind `lead`, further lines below the first word.
pub(crate) fn push_item(text: &mut String, lead: &str, words: &str) {
    text.push_str(&hanging(lead, &printable(words), COLUMNS));
}

fn push_fact(text: &mut String, name: &str, words: &str) {
    push_item(text, &format!("{name:<VALUE_COLUMN$}"), words);
}

fn push_limits(text: &mut String, target: &Inspected, limits: &[Limit]) {
    let mut mine: Vec<&Limit> = Vec::new();
    for limit in limits {
        let layers = &target.facts.layers;
        if limit.device.as_ref().is_none_or(|device| layers.iter().any(|layer| layer.name == *device)) {
            mine.push(limit);
        }
    }
    if mine.is_empty() {
        push_fact(text, "Limits", "no cgroup limits this process");
    }
    for (i, limit) in mine.iter().enumerate() {
        push_fact(text, if i == 0 { "Limits" } else { "" }, &format!("at most {}", limit_words(limit)));
    }
}

fn push_write_test(text: &mut String, test: &WriteTest) {
    if test.allowed {
        let unseen = test.unseen.as_ref().map(|words| format!("; {words}")).unwrap_or_default();
        let missed = test.missed.as_ref().map(|words| format!("; {words}")).unwrap_or_default();
        return push_fact(text, "Write test", &format!("allowed by the write guard{unseen}{missed}"));
    }
    push_fact(text, "Write test", &format!("refused: {}", test.refusal));
    test.hints.iter().for_each(|hint| push_item(text, &format!("{:VALUE_COLUMN$}- ", ""), hint));
}

fn extents_words(map: &ExtentMap) -> String {
    if let Some(why) = &map.unknown
        && map.range_bytes == 0
    {
        return format!("not known: {why}");
    }
    let parts = [
        (map.written_bytes, "written"),
        (map.unwritten_bytes, "allocated and never written"),
        (map.hole_bytes, "in holes"),
        (map.encoded_bytes, "of it compressed or encrypted by the file system"),
        (map.shared_bytes, "of it shared with a copy or a snapshot"),
    ];
    let parts =
        parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(bytes, what)| format!("{} {what}", size(*bytes)));
    let mut words: Vec<String> = parts.collect();
    if map.extents > 0 {
        let s = if map.extents == 1 { "" } else { "s" };
        words.push(format!("{} extent{s}", grouped(map.extents)));
    }
    let unknown = map.unknown.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    format!("{}{unknown}", words.join(", "))
}

fn residency_words(residency: &Residency) -> String {
    let (cached, of) = (residency.cached_before_bytes, residency.range_bytes);
    if cached == 0 {
        return "none of it".to_string();
    }
    if cached == of {
        return format!("all of it ({})", size(of));
    }
    format!("{} of {} ({})", size(cached), size(of), part_percent(cached as f64 / of.max(1) as f64))
}

fn content_words(sample: &ContentSample) -> String {
    let bytes = f64::from(sample.blocks) * f64::from(sample.block_bytes);
    let sample_of =
        format!("sample of {} blocks of {}", grouped(sample.blocks), size(sample.block_bytes.into()));
    if sample.zero_blocks == sample.blocks {
        return format!("{sample_of}: only zeros");
    }
    let mut parts = Vec::new();
    let repeated = sample.repeated_blocks.saturating_sub(sample.zero_blocks);
    for (blocks, what) in [(sample.zero_blocks, "all zeros"), (repeated, "equal to others")] {
        if blocks > 0 {
            parts.push(format!("{} {what}", grouped(blocks)));
        }
    }
    let share = sample.compressed_bytes as f64 / bytes.max(1.0);
    parts.push(if share >= 0.995 {
        "do not compress".to_string()
    } else {
        format!("compress to {}", part_percent(share))
    });
    format!("{sample_of}: {}", parts.join(", "))
}

/// The layers, each below the one that is built on it.
fn push_tree(text: &mut String, layers: &[Layer]) {
    push_layers(text, layers, "  ", "  ");
}

/// Each layer with those that its `below` names under it; `lead` comes before the first line, `rest` before the others.
pub(crate) fn push_layers(text: &mut String, layers: &[Layer], lead: &str, rest: &str) {
    let mut tree = Tree { layers, text, seen: vec![false; layers.len()] };
    if !layers.is_empty() {
        tree.push(0, lead, rest);
    }
}

struct Tree<'a> {
    layers: &'a [Layer],
    text: &'a mut String,
    seen: Vec<bool>,
}

impl Tree<'_> {
    /// One layer and those below it; `lead` comes before its first line, `rest` before all others.
    fn push(&mut self, at: usize, lead: &str, rest: &str) {
        let Some(layer) = self.layers.get(at) else { return };
        if std::mem::replace(&mut self.seen[at], true) {
            return self.line(lead, rest, &format!("{} {} (as above)", noun(layer.kind), layer.name));
        }
        let below: Vec<usize> = layer.below.iter().map(|&b| b as usize).collect();
        self.line(lead, rest, &head(layer));
        let beside = if below.is_empty() { format!("{rest}   ") } else { format!("{rest}│  ") };
        for fact in facts(layer) {
            self.line(&beside, &beside, &fact);
        }
        for (i, &next) in below.iter().enumerate() {
            if i + 1 == below.len() {
                self.push(next, &format!("{rest}└─ "), &format!("{rest}   "))
            } else {
                self.push(next, &format!("{rest}├─ "), &format!("{rest}│  "))
            }
        }
    }

    fn line(&mut self, lead: &str, rest: &str, words: &str) {
        let columns = COLUMNS.saturating_sub(columns_of(lead) + 2).max(20);
        for (i, line) in wrap(&printable(words), columns).iter().enumerate() {
            let lead = if i == 0 { lead.to_string() } else { format!("{rest}  ") };
            self.text.push_str(&format!("{lead}{line}\n"));
        }
    }
}

fn noun(kind: LayerKind) -> &'static str {
    match kind {
        LayerKind::Unknown => "unknown layer",
        LayerKind::File => "file",
        LayerKind::Filesystem => "file system",
        LayerKind::MemoryFilesystem => "file system in memory",
        LayerKind::RemoteFilesystem => "file system of another machine",
        LayerKind::UserFilesystem => "file system served by a program",
        LayerKind::Partition => "partition",
        LayerKind::DeviceMapper => "device-mapper",
        LayerKind::Md => "md array",
        LayerKind::Loop => "loop device",
        LayerKind::Memory => "device in memory",
        LayerKind::NetworkDisk => "network disk",
        LayerKind::Disk => "disk",
    }
}

/// What a layer is and what it is called.
fn head(layer: &Layer) -> String {
    let mut words = format!("{} {}", noun(layer.kind), layer.name);
    let place = [("at", &layer.mount_point), ("from", &layer.mount_source), ("held by", &layer.server)];
    let is_filesystem = layer.mount_point.is_some() || layer.mount_source.is_some();
    if is_filesystem {
        for (joint, value) in place {
            words.extend(value.as_ref().map(|v| format!(" {joint} {v}")));
        }
    }
    // The file behind a loop device is the next line.
    let shows_detail = layer.kind != LayerKind::Loop || layer.below.is_empty();
    let detail = if shows_detail { layer.detail.as_ref() } else { None };
    let mut more: Vec<String> = Vec::new();
    more.extend(layer.model.clone());
    more.extend(layer.firmware.as_ref().map(|revision| format!("firmware {revision}")));
    more.extend(detail.cloned());
    more.extend(layer.transport.clone());
    if !is_filesystem {
        more.extend(layer.server.iter().map(|server| format!("held by {server}")));
    }
    more.extend(layer.size_bytes.map(size));
    if more.is_empty() { words } else { format!("{words}: {}", more.join(", ")) }
}

/// The facts that change numbers: all those of disks, and of layers above them only their own.
fn facts(layer: &Layer) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(layer.mount_options.as_ref().map(|o| format!("options {}", o.replace(',', ", "))));
    lines.extend(layer.compression.as_ref().map(|c| format!("compresses: {c}")));
    lines.extend(layer.deduplicates.filter(|&d| d).map(|_| "deduplicates".to_string()));
    lines.extend(layer.direct_io.map(|direct| {
        if direct {
            "direct I/O to its file".to_string()
        } else {
            "its file is accessed through the page cache".to_string()
        }
    }));
    lines.extend(way_words(layer));
    if !matches!(
        layer.kind,
        LayerKind::Disk | LayerKind::NetworkDisk | LayerKind::Memory | LayerKind::Unknown
    ) {
        return lines;
    }
    lines.extend(sector_words(layer));
    lines.extend(cache_words(layer));
    lines.extend(queue_words(layer));
    lines.extend(machine::queue_words(&layer.hardware_queues));
    lines.extend(request_words(layer));
    lines
}

/// What the storage calls itself, and each path to it.
fn way_words(layer: &Layer) -> Vec<String> {
    let target = layer.details.as_ref().and_then(|details| details.target.as_ref());
    let mut lines: Vec<String> = target.map(|name| format!("target {name}")).into_iter().collect();
    lines.extend(layer.paths().iter().map(|path| format!("path {}: {}", path.place(), path.standing())));
    if let Some(replica) = layer.replica() {
        lines.push(format!("copy of this node: {}", or_unknown(&replica.disk)));
        for peer in &replica.peers {
            let (disk, connection) = (or_unknown(&peer.disk), or_unknown(&peer.connection));
            lines.push(format!("copy of {}: {disk}, connection {connection}", peer.name()));
        }
    }
    lines
}

fn or_unknown(word: &Option<String>) -> &str {
    word.as_deref().unwrap_or("unknown")
}

fn joined(parts: Vec<String>) -> Option<String> {
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn sector_words(layer: &Layer) -> Option<String> {
    let sectors = layer.sector_logical_bytes.map(|logical| {
        let physical = layer.sector_physical_bytes.unwrap_or(logical);
        format!("sectors {} logical, {} physical", size(logical.into()), size(physical.into()))
    });
    let turns =
        layer.rotational.map(|r| if r { "rotating, as it reports" } else { "not rotating" }.to_string());
    joined(sectors.into_iter().chain(turns).collect())
}

fn cache_words(layer: &Layer) -> Option<String> {
    let cache = layer.cache().map(|cache| match cache {
        WriteCache::Volatile => "write cache in use (write back)".to_string(),
        WriteCache::Safe => "no volatile write cache (write through)".to_string(),
        WriteCache::Other(other) => format!("write cache {other}"),
    });
    let is_volatile = layer.has_volatile_cache() == Some(true);
    let forced = if is_volatile { layer.forces_unit_access } else { None };
    let forced = forced.map(|f| {
        if f {
            "single writes can bypass it (FUA)".to_string()
        } else {
            "a durable write flushes all of it (no FUA)".to_string()
        }
    });
    joined(cache.into_iter().chain(forced).collect())
}

fn queue_words(layer: &Layer) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(layer.scheduler.as_ref().map(|s| format!("scheduler {s}")));
    parts.extend(layer.queue_requests.map(|n| format!("queue of {} requests", grouped(n))));
    parts.extend(layer.queue_depth.map(|n| format!("device queue depth {}", grouped(n))));
    joined(parts)
}

fn request_words(layer: &Layer) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(layer.request_bytes_max.map(|bytes| {
        let segments = layer.segments_max.map(|n| format!(" in {} parts", grouped(n)));
        format!("requests up to {}{}", size(bytes), segments.unwrap_or_default())
    }));
    parts.extend(layer.discard_bytes_max.map(|bytes| match bytes {
        0 => "no discards".to_string(),
        bytes => format!("discards up to {}", size(bytes)),
    }));
    joined(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::{DevicePath, LayerDetails, PathAccess, Replica, ReplicaPeer};

    #[test]
    fn what_a_range_holds_in_words() {
        let map = ExtentMap {
            range_bytes: 3 << 20,
            written_bytes: 1 << 20,
            hole_bytes: 2 << 20,
            extents: 1,
            ..ExtentMap::default()
        };
        assert_eq!(extents_words(&map), "1 MiB written, 2 MiB in holes, 1 extent");
        let sparse = ExtentMap { range_bytes: 1 << 20, hole_bytes: 1 << 20, ..ExtentMap::default() };
        assert_eq!(extents_words(&sparse), "1 MiB in holes");
        let partly = ExtentMap { unknown: Some("too many pieces".into()), ..sparse };
        assert_eq!(extents_words(&partly), "1 MiB in holes; too many pieces");
        let unknown = ExtentMap { unknown: Some("no answer".into()), ..ExtentMap::default() };
        assert_eq!(extents_words(&unknown), "not known: no answer");
        let residency =
            Residency { range_bytes: 4 << 20, cached_before_bytes: 1 << 20, cached_after_bytes: 0 };
        assert_eq!(residency_words(&residency), "1 MiB of 4 MiB (25 %)");
        assert_eq!(residency_words(&Residency { cached_before_bytes: 0, ..residency }), "none of it");
        let all = Residency { cached_before_bytes: 4 << 20, ..residency };
        assert_eq!(residency_words(&all), "all of it (4 MiB)");
        let sample = |zero_blocks, repeated_blocks, compressed_bytes| {
            content_words(&ContentSample {
                blocks: 64,
                block_bytes: 4096,
                zero_blocks,
                repeated_blocks,
                compressed_bytes,
            })
        };
        assert_eq!(sample(64, 63, 700), "sample of 64 blocks of 4 KiB: only zeros");
        assert_eq!(
            sample(16, 20, 131_072),
            "sample of 64 blocks of 4 KiB: 16 all zeros, 4 equal to others, compress to 50 %"
        );
        assert_eq!(sample(0, 0, 64 * 4096), "sample of 64 blocks of 4 KiB: do not compress");
    }

    #[test]
    fn the_way_to_storage_elsewhere_is_listed() {
        let word = |text: &str| Some(text.to_string());
        let path = DevicePath {
            address: word("10.0.0.5:4420"),
            access: Some(PathAccess::Optimized),
            ..DevicePath::new("nvme1", word("live"))
        };
        let replica = Replica {
            disk: word("UpToDate"),
            peers: vec![ReplicaPeer {
                name: word("node-b"),
                connection: word("Connected"),
                ..ReplicaPeer::default()
            }],
            ..Replica::default()
        };
        let details = LayerDetails {
            target: word("nqn.2014-08.org.example:pool1"),
            paths: vec![path, DevicePath::new("nvme2", None)],
            replica: Some(replica),
            ..LayerDetails::default()
        };
        let layer = Layer { kind: LayerKind::NetworkDisk, details: Some(details), ..Layer::default() };
        let expected = [
            "target nqn.2014-08.org.example:pool1",
            "path nvme1 (10.0.0.5:4420): live, optimized",
            "path nvme2: in an unknown state",
            "copy of this node: UpToDate",
            "copy of node-b: unknown, connection Connected",
        ];
        assert_eq!(facts(&layer), expected);
    }

    #[test]
    fn a_layer_below_two_is_drawn_once() {
        let layer = |kind, name: &str, below: &[u32]| Layer {
            kind,
            name: name.into(),
            below: below.to_vec(),
            ..Layer::default()
        };
        let layers = [
            layer(LayerKind::DeviceMapper, "dm-2", &[1, 2]),
            layer(LayerKind::DeviceMapper, "dm-0", &[3]),
            layer(LayerKind::DeviceMapper, "dm-1", &[3]),
            layer(LayerKind::Disk, "sda", &[]),
        ];
        let mut text = String::new();
        push_tree(&mut text, &layers);
        let expected = "  device-mapper dm-2\n  ├─ device-mapper dm-0\n  │  └─ disk sda\n  └─ \
            device-mapper dm-1\n     └─ disk sda (as above)\n";
        assert_eq!(text, expected);
    }
}

//! A case as the rules need it: what was asked and completed per target, which disks are below, and
//! what those did.

use super::roles::traits;
use super::room::{cached_share, never_written_share};
use truespd_core::profile::{Target, TimeSpan};
use truespd_core::result;
use truespd_core::result::{
    DiskActivity, DiskCounts, Document, Evidence, Layer, LayerDetails, LayerKind, LayerRole, Limit,
    LimitKind, Measured, NvmeCommands, OpenedKind, Residency, TargetFacts, disks_in_words,
};
use truespd_core::result::{Operations, metrics};
use truespd_platform::text::{grouped, number, rate, size};

/// A time span of a document that is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub document: &'a Document,
    /// What was asked for in this time span.
    pub span: &'a TimeSpan,
    pub measured: &'a Measured,
}

impl<'a> Case<'a> {
    pub fn evidence(&self) -> &'a Evidence {
        &self.measured.evidence
    }

    /// Whether the I/O reached no target (`--engine null`, `--engine sim`).
    pub fn is_simulated(&self) -> bool {
        self.measured.engine_traits.is_some_and(|engine| engine.touches_no_storage)
    }
}

/// What a document does not show, as the object of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing(pub String);

impl Missing {
    pub(super) fn new(what: &str) -> Self {
        Missing(what.to_string())
    }

    /// Too few I/Os to judge: those that were counted, in words, and how many it takes.
    pub(super) fn too_few(counted: &str, least: f64) -> Self {
        Missing(format!("too few I/Os: {counted}, it takes {}", number(least)))
    }
}

/// `part / whole`; 0 when there is no whole.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && part.is_finite() && whole.is_finite() { part / whole } else { 0.0 }
}

/// Two clocks that tell a part of a time differ by less.
const CLOCKS_DIFFER: f64 = 0.05;

/// Whether a part of a time is one that can be: a figure beyond the whole is a measurement that failed.
///
/// # Errors
/// What `what` names is missing, and why.
pub(super) fn part_of_time(part: f64, what: &str) -> Result<(), Missing> {
    if (0.0..=1.0 + CLOCKS_DIFFER).contains(&part) {
        return Ok(());
    }
    let size = if part > 1.0 { "more than all of it" } else { "less than none" };
    Err(Missing(format!("{what}: its measurement failed, as it came to {size}")))
}

/// Reads or writes, as a rate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    pub ios: f64,
    pub bytes: f64,
}

impl Flow {
    /// Mean size in bytes, 0 without I/O.
    pub fn size(self) -> f64 {
        ratio(self.bytes, self.ios)
    }

    pub fn plus(self, other: Flow) -> Flow {
        Flow { ios: self.ios + other.ios, bytes: self.bytes + other.bytes }
    }
}

/// One of the two directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::Read, Direction::Write];

    /// What belongs to it, of reads and of writes.
    pub fn pick<T>(self, read: T, write: T) -> T {
        match self {
            Direction::Read => read,
            Direction::Write => write,
        }
    }

    pub fn plural(self) -> &'static str {
        self.pick("reads", "writes")
    }

    pub fn word(self) -> &'static str {
        self.pick("read", "write")
    }
}

/// A path that was tested: entries of the profile for one path are one target here.
#[derive(Debug, Clone)]
pub struct TargetView<'a> {
    /// The first entry of the profile for it.
    pub asked: &'a Target,
    pub entries: Vec<&'a Target>,
    /// As opened, when the document tells.
    pub facts: Option<&'a TargetFacts>,
    pub read: Flow,
    pub write: Flow,
    /// Trims (`--trim`), with the bytes that they covered.
    pub trim: Flow,
    pub size_bytes: u64,
}

impl<'a> TargetView<'a> {
    pub fn path(&self) -> &'a str {
        &self.asked.path
    }

    pub fn done(&self, way: Direction) -> Flow {
        way.pick(self.read, self.write)
    }

    pub fn reads(&self) -> bool {
        self.entries.iter().any(|target| target.reads())
    }

    pub fn is_in_memory(&self) -> bool {
        self.rests_on() == RestsOn::MemoryFilesystem
    }

    pub fn residency(&self) -> Option<Residency> {
        self.facts?.residency
    }

    /// Every entry asks for direct I/O.
    pub fn is_direct(&self) -> bool {
        self.entries.iter().all(|target| target.is_direct())
    }

    /// Every entry that writes asks for write-through.
    pub fn is_write_through(&self) -> bool {
        self.entries.iter().filter(|target| target.writes_data()).all(|target| target.write_through)
    }

    /// Writes that may be acknowledged before a flush makes them durable, at most (`--flush-every`); none where some
    /// entry that writes asks for no flushes.
    pub fn flushed_every(&self) -> Option<u32> {
        let writing = self.entries.iter().filter(|target| target.writes_data());
        let mut every = None;
        for target in writing {
            every = every.max(Some(target.flush_every?.writes));
        }
        every
    }

    /// Some entry that writes asks for write-through or for flushes, or may flush what it maps.
    pub fn writes_durably(&self) -> bool {
        self.entries.iter().any(|target| {
            target.writes_data()
                && (target.write_through || target.memory_mapped || target.flush_every.is_some())
        })
    }

    /// Whether the test trims the target (`--trim`).
    pub fn trims(&self) -> bool {
        self.entries.iter().any(|target| target.trims())
    }

    /// The layers, when the document tells.
    pub fn layers(&self) -> &'a [Layer] {
        self.facts.map_or(&[], |facts| &facts.layers)
    }

    /// The first layer of a kind.
    pub fn layer(&self, kind: LayerKind) -> Option<&'a Layer> {
        self.layers().iter().find(|layer| layer.kind == kind)
    }

    /// Layers with nothing below them.
    pub fn lowest(&self) -> impl Iterator<Item = &'a Layer> {
        self.layers().iter().filter(|layer| layer.is_lowest())
    }

    /// Length of what is tested, in bytes: ranges of several entries count once where they overlap.
    pub fn range_bytes(&self) -> u64 {
        self.covered(|_| true)
    }

    /// Bytes of the tested range that the page cache can answer: buffered, unless they are only written, and durably.
    pub fn cacheable_bytes(&self) -> u64 {
        self.covered(|target| !target.is_direct() && (target.reads() || !is_made_durable(target)))
    }

    fn covered(&self, counts: impl Fn(&Target) -> bool) -> u64 {
        let mut chosen: Vec<&Target> = self.entries.iter().copied().filter(|target| counts(target)).collect();
        chosen.sort_unstable_by_key(|target| target.base_bytes);
        let (mut total, mut until) = (0, 0);
        for &Target { base_bytes: begin, max_bytes, .. } in chosen {
            let end = if max_bytes == 0 { self.size_bytes } else { max_bytes.min(self.size_bytes) };
            total += end.saturating_sub(begin.max(until));
            until = until.max(end);
        }
        total
    }

    /// Whether it is reached by NVMe commands.
    pub fn is_by_commands(&self) -> bool {
        self.facts.is_some_and(|facts| facts.nvme_commands.is_some())
    }

    /// NVMe commands that no counter of the disk holds.
    pub fn uncounted(&self) -> Option<&'a NvmeCommands> {
        self.facts?.nvme_commands.as_ref().filter(|commands| !commands.counted)
    }

    /// Share of the I/O that goes where nothing was ever written.
    pub fn never_written_share(&self) -> f64 {
        self.facts.map_or(0.0, never_written_share)
    }

    /// Whether half of the I/O or more goes to what the page cache held before the run.
    pub fn was_mostly_cached(&self) -> bool {
        self.facts.and_then(cached_share).is_some_and(|share| share >= 0.5)
    }

    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        self.facts.is_some_and(|facts| facts.kind == OpenedKind::File)
    }

    /// Where its data end up.
    pub fn rests_on(&self) -> RestsOn {
        if self.layers().is_empty() {
            return RestsOn::Unknown;
        }
        let each = self.lowest().map(|layer| match layer.kind {
            LayerKind::MemoryFilesystem => RestsOn::MemoryFilesystem,
            LayerKind::RemoteFilesystem => RestsOn::Remote,
            LayerKind::UserFilesystem => RestsOn::Program,
            // A loop device without a layer below has a deleted file.
            LayerKind::File | LayerKind::Filesystem | LayerKind::Loop | LayerKind::Unknown => {
                RestsOn::Unknown
            }
            _ => RestsOn::Disks,
        });
        each.min().unwrap_or(RestsOn::Disks)
    }

    /// What makes data smaller on their way to the medium, in words.
    pub fn reduced_by(&self) -> Option<String> {
        self.reducer().map(|(_, words)| words)
    }

    /// Whether data are made smaller above the disks, whose counters then show something else than what was asked.
    pub fn is_reduced_above_disks(&self) -> bool {
        self.reducer().is_some_and(|(layer, _)| !layer.is_lowest())
    }

    /// The first layer that makes data smaller, and what it does, in words.
    pub fn reducer(&self) -> Option<(&'a Layer, String)> {
        self.layers().iter().find_map(|layer| {
            let by = match (layer.compression.as_deref(), layer.deduplicates) {
                (Some(algorithm), _) => format!("compresses ({algorithm})"),
                (None, Some(true)) => "deduplicates".to_string(),
                _ if layer.role() == LayerRole::Zram => "compresses".to_string(),
                _ => return None,
            };
            Some((layer, format!("{} {by}", layer.name)))
        })
    }

    /// Whether parts of the tested file have no blocks of their own yet, or may have none.
    pub fn allocates(&self) -> bool {
        self.facts.and_then(|facts| facts.extents.as_ref()).is_some_and(|map| {
            map.unknown.is_some() || map.unwritten_bytes + map.hole_bytes + map.shared_bytes > 0
        })
    }

    /// How many times its layers are meant to write each byte: mirrors.
    pub fn copies(&self) -> f64 {
        self.layers().iter().filter_map(copies).product()
    }

    /// Whether one write becomes several below: mirrors and parity, copies on write, journals, blocks that are
    /// allocated by the write.
    pub fn multiplies_writes(&self) -> bool {
        // The file of a loop device may have holes of its own, which nobody looked for.
        self.allocates()
            || self.trims()
            || self.layer(LayerKind::Loop).is_some()
            || self
                .layers()
                .iter()
                .any(|layer| journals_data(layer) || is_redundant(layer) || traits(layer.role()).writes_more)
    }

    /// Whether writes make a layer below read: parity, copies of what is replaced, parts of blocks and pages.
    pub fn reads_to_write(&self) -> bool {
        self.layers().iter().any(|layer| {
            let level = layer.details.as_ref().and_then(|details| details.level.as_deref());
            let is_parity = is_redundant(layer) && !level.is_some_and(|level| COPY_LEVELS.contains(&level));
            is_parity || layer.is_cached_loop() || traits(layer.role()).writes_more
        })
    }

    /// Whether one read becomes several below: on an array that lacks a disk, or in a cache that fills.
    pub fn multiplies_reads(&self) -> bool {
        self.layers().iter().any(|layer| {
            layer.details.as_ref().is_some_and(LayerDetails::is_rebuilding) || traits(layer.role()).reads_more
        })
    }

    /// Whether a layer allocates its blocks by the first write to them.
    pub fn is_thin(&self) -> bool {
        self.layers().iter().any(|layer| matches!(layer.role(), LayerRole::ThinVolume | LayerRole::ThinPool))
    }
}

/// Levels of md that write the same several times and read nothing for it.
const COPY_LEVELS: [&str; 2] = ["raid1", "raid10"];

/// Its writes are durable when they count: each by itself, or by a flush behind each.
fn is_made_durable(target: &Target) -> bool {
    target.write_through || target.flush_every.is_some_and(|flush| flush.writes == 1)
}

fn journals_data(layer: &Layer) -> bool {
    layer.details.as_ref().is_some_and(|details| details.journals_data)
}

/// Mirrors and parity; not stripes, and not several paths to one disk. An unknown layer on several devices may be
/// redundant.
fn is_redundant(layer: &Layer) -> bool {
    let has_several = layer.below.len() > 1;
    match layer.kind {
        LayerKind::Md => layer.details.as_ref().and_then(|array| array.is_redundant) != Some(false),
        LayerKind::DeviceMapper => match layer.role() {
            LayerRole::FirmwareRaid => true,
            LayerRole::OtherMapped => has_several,
            _ => false,
        },
        _ => has_several,
    }
}

/// How many times an array or a file system is meant to write each byte; `None` where it is not only copies.
pub fn copies(layer: &Layer) -> Option<f64> {
    let details = layer.details.as_ref();
    let name = details.and_then(|details| details.level.as_deref().or(details.data_profile.as_deref()));
    match (layer.kind, name) {
        (LayerKind::Md, Some("raid1")) => Some(layer.below.len().max(1) as f64),
        (LayerKind::Md, Some("raid10")) | (LayerKind::Filesystem, Some("raid1" | "raid10" | "dup")) => {
            Some(2.0)
        }
        (LayerKind::Filesystem, Some("raid1c3")) => Some(3.0),
        (LayerKind::Filesystem, Some("raid1c4")) => Some(4.0),
        (LayerKind::Md, _) if is_redundant(layer) => None,
        _ => Some(1.0),
    }
}

/// Where the data of a target end up; of several places the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestsOn {
    MemoryFilesystem,
    Remote,
    Program,
    /// The document does not tell.
    Unknown,
    /// On devices of this machine.
    Disks,
}

impl Missing {
    /// The layers of a target.
    pub fn layers(target: &TargetView<'_>) -> Self {
        Missing(format!("the layers below '{}' down to the disks", target.path()))
    }

    /// What a disk did of the NVMe commands that a program sent it.
    pub fn commands(target: &TargetView<'_>) -> Self {
        let disk = target.lowest().next().map_or("the disk", |layer| layer.name.as_str());
        Missing(format!(
            "what {disk} moved for '{}': NVMe commands go past the page cache, and the kernel did not count them",
            target.path()
        ))
    }
}

/// Targets that share disks, with those disks.
#[derive(Debug)]
pub struct DiskGroup<'a> {
    pub targets: Vec<TargetView<'a>>,
    /// The lowest devices below them.
    pub disks: Vec<&'a DiskActivity>,
    /// Length of the measured time, for counters without their own.
    seconds: f64,
}

impl DiskGroup<'_> {
    fn shares_a_disk(&self, with: &DiskGroup<'_>) -> bool {
        self.disks.iter().any(|disk| with.disks.iter().any(|mine| mine.name == disk.name))
    }

    /// What completed on the targets.
    pub fn done(&self, way: Direction) -> Flow {
        self.targets.iter().fold(Flow::default(), |sum, target| sum.plus(target.done(way)))
    }

    /// The bytes that the disks are meant to write for the test, per second.
    pub fn expected_writes(&self) -> f64 {
        self.targets.iter().map(|target| target.write.bytes * target.copies()).sum()
    }

    /// Whether an array brings its copies up to date meanwhile, or lacks a disk.
    pub fn is_rebuilding(&self) -> bool {
        let layers = self.targets.iter().flat_map(|target| target.layers());
        let mut details = layers.filter_map(|layer| layer.details.as_ref());
        details.any(LayerDetails::is_rebuilding)
    }

    /// What the disks moved. Where other ranks of this run share them, the part of it that is due to this rank: by what
    /// completed here and there, so that a proof and what others moved are those of the whole host.
    pub fn moved(&self, way: Direction) -> Flow {
        let moved = self
            .disks
            .iter()
            .map(|disk| flow(&disk.total, way, disk.window_s(self.seconds)))
            .fold(Flow::default(), Flow::plus);
        let part = self.own_part(way);
        Flow { ios: moved.ios * part.ios, bytes: moved.bytes * part.bytes }
    }

    /// The part of all ranks' I/Os, and of their bytes, that completed here; 1 without others.
    fn own_part(&self, way: Direction) -> Flow {
        let (done, mut others) = (self.done(way), Flow::default());
        for other in self.disks.iter().filter_map(|disk| disk.other_ranks) {
            let (ios, bytes) = way.pick((other.reads, other.read_bytes), (other.writes, other.write_bytes));
            let seconds = self.seconds;
            others =
                others.plus(Flow { ios: ratio(ios as f64, seconds), bytes: ratio(bytes as f64, seconds) });
        }
        if others.ios == 0.0 {
            return Flow { ios: 1.0, bytes: 1.0 };
        }
        let all = done.plus(others);
        Flow { ios: ratio(done.ios, all.ios), bytes: ratio(done.bytes, all.bytes) }
    }

    /// The bytes that completed on the targets.
    pub fn done_bytes(&self, way: Direction) -> f64 {
        self.done(way).bytes * self.seconds
    }

    /// The bytes that the disks moved from the first to the last reading of their counters.
    pub fn moved_bytes(&self, way: Direction) -> f64 {
        let moved: f64 = self.disks.iter().map(|disk| flow(&disk.total, way, 1.0).bytes).sum();
        moved * self.own_part(way).bytes
    }

    /// Flushes that the disks completed, per second; `None` where the kernel does not count them.
    pub fn flushes(&self) -> Option<f64> {
        self.disks
            .iter()
            .map(|disk| Some(ratio(disk.total.flushes? as f64, disk.window_s(self.seconds))))
            .sum()
    }

    /// Trims that the test completed on the targets, per second.
    pub fn trimmed(&self) -> Flow {
        self.targets.iter().fold(Flow::default(), |sum, target| sum.plus(target.trim))
    }

    /// How many discards the disks completed, how many that is per second, and how many bytes per second.
    pub fn discards(&self) -> (f64, f64, f64) {
        let each = self.disks.iter().map(|disk| discards(disk, disk.window_s(self.seconds)));
        each.fold((0.0, 0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2))
    }

    /// The path when there is one target only.
    pub fn path(&self) -> Option<&str> {
        match self.targets.as_slice() {
            [one] => Some(one.path()),
            _ => None,
        }
    }

    /// Names of the disks in a sentence.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        disks_in_words(&names)
    }
}

/// Discards that a device completed in so many seconds: how many, and per second with their bytes.
pub fn discards(disk: &DiskActivity, seconds: f64) -> (f64, f64, f64) {
    let (count, bytes) = (disk.total.discards as f64, disk.total.discard_bytes as f64);
    (count, ratio(count, seconds), ratio(bytes, seconds))
}

/// Counters of a time as a rate.
pub fn flow(counts: &DiskCounts, way: Direction, seconds: f64) -> Flow {
    let (ios, bytes) = way.pick((counts.reads, counts.read_bytes), (counts.writes, counts.write_bytes));
    Flow { ios: ratio(ios as f64, seconds), bytes: ratio(bytes as f64, seconds) }
}

impl<'a> Case<'a> {
    /// Measured time in seconds; 0 when the document holds no possible time.
    pub fn seconds(&self) -> f64 {
        let seconds = self.measured.test_time_s;
        if seconds.is_finite() && seconds > 0.0 { seconds } else { 0.0 }
    }

    /// The targets, each path once, in the order of the profile.
    pub fn views(&self) -> Vec<TargetView<'a>> {
        let mut views: Vec<TargetView<'a>> = Vec::new();
        for (index, target) in self.span.targets.iter().enumerate() {
            if let Some(known) = views.iter_mut().find(|view| view.asked.path == target.path) {
                known.entries.push(target);
                continue;
            }
            let (mut read, mut write, mut trim) = (Flow::default(), Flow::default(), Flow::default());
            let mut size_bytes = 0;
            let results = self.measured.threads.iter().flat_map(|thread| &thread.targets);
            for result in results.filter(|result| result.path == target.path) {
                let rate = |direction: &result::Direction| Flow {
                    ios: ratio(direction.ios as f64, self.seconds()),
                    bytes: ratio(direction.bytes as f64, self.seconds()),
                };
                read = read.plus(rate(&result.read));
                write = write.plus(rate(&result.write));
                trim = trim.plus(result.trim.as_ref().map_or_else(Flow::default, rate));
                size_bytes = size_bytes.max(result.size_bytes);
            }
            let all = &self.evidence().targets;
            let at_place = all.get(index).filter(|facts| facts.path == target.path);
            let facts = at_place.or_else(|| all.iter().find(|facts| facts.path == target.path));
            let size_bytes = size_bytes.max(facts.map_or(0, |facts| facts.size_bytes));
            let entries = vec![target];
            views.push(TargetView { asked: target, entries, facts, read, write, trim, size_bytes });
        }
        views
    }

    pub fn done(&self, way: Direction) -> Flow {
        self.views().iter().fold(Flow::default(), |sum, view| sum.plus(view.done(way)))
    }

    /// Targets on disks, in groups that share none.
    ///
    /// # Errors
    /// What is missing for that.
    pub fn groups(&self) -> Result<Vec<DiskGroup<'a>>, Missing> {
        let mut groups: Vec<DiskGroup<'a>> = Vec::new();
        for view in self.views() {
            if view.uncounted().is_some() {
                return Err(Missing::commands(&view));
            }
            match view.rests_on() {
                RestsOn::Disks => {}
                RestsOn::Unknown => {
                    return Err(Missing::layers(&view));
                }
                RestsOn::MemoryFilesystem | RestsOn::Remote | RestsOn::Program => continue,
            }
            let activity = &self.evidence().disks;
            let mut disks = Vec::new();
            for layer in view.lowest() {
                match activity.iter().find(|disk| disk.name == layer.name) {
                    Some(disk) => disks.push(disk),
                    None => {
                        return Err(Missing(format!(
                            "the counters of {} over the measured time",
                            layer.name
                        )));
                    }
                }
            }
            let mut group = DiskGroup { targets: vec![view], disks, seconds: self.seconds() };
            while let Some(place) = groups.iter().position(|other| other.shares_a_disk(&group)) {
                let mut other = groups.remove(place);
                other.targets.append(&mut group.targets);
                for disk in group.disks {
                    if !other.disks.iter().any(|known| known.name == disk.name) {
                        other.disks.push(disk);
                    }
                }
                group = other;
            }
            groups.push(group);
        }
        Ok(groups)
    }

    /// Targets whose layers end above any disk, as one group without disks; `None` where there is none.
    pub fn hidden(&self) -> Option<DiskGroup<'a>> {
        let mut targets = self.views();
        if targets.iter().any(|view| view.uncounted().is_some() || view.layers().is_empty()) {
            return None;
        }
        targets.retain(|view| view.rests_on() == RestsOn::Unknown);
        (!targets.is_empty()).then(|| DiskGroup { targets, disks: Vec::new(), seconds: self.seconds() })
    }

    /// Number of all that completed.
    pub fn completed_ios(&self) -> f64 {
        let views = self.views();
        let per_s: f64 = views.iter().map(|view| view.read.ios + view.write.ios + view.trim.ios).sum();
        (per_s * self.seconds()).round()
    }

    /// Most I/Os that are in flight on some targets at a time.
    pub fn in_flight(&self, targets: &[TargetView<'_>]) -> f64 {
        let entries = targets.iter().flat_map(|target| &target.entries);
        entries
            .map(|entry| u64::from(self.span.threads_on(entry)) * u64::from(entry.request_count))
            .sum::<u64>() as f64
    }

    /// A rate is kept below what the targets could do (`-g`, `-i` with `-j`).
    pub fn is_paced(&self) -> bool {
        self.span.targets.iter().any(|target| target.is_rate_limited() || target.think_ms.unwrap_or(0) > 0)
    }

    /// Bursts with pauses between them were asked for (`-i` with `-j`).
    pub fn is_in_bursts(&self) -> bool {
        self.span.targets.iter().any(|target| target.think_ms.unwrap_or(0) > 0)
    }

    /// Completions per interval over the measured time, with the interval's length in seconds: the run's own
    /// series, or that of `-D` in documents without one. Empty when there is neither.
    pub fn series(&self) -> (Vec<f64>, f64) {
        metrics::completions(self.measured, Operations::All)
    }

    /// The same in the shortest intervals that the document has.
    pub fn fine_series(&self) -> (Vec<f64>, f64) {
        match &self.evidence().fine_series {
            Some(fine) if fine.interval_ns > 0 => {
                (fine.completed.iter().map(|&count| count as f64).collect(), fine.interval_ns as f64 / 1e9)
            }
            _ => self.series(),
        }
    }
}

/// What is in flight at the ends of the measured time, and what a file system adds to it, is no more than a
/// few hundredths of so many I/Os.
pub const IOS_MIN: f64 = 100.0;

/// So many are enough when they are large: ...
const LARGE_IOS_MIN: f64 = 10.0;

/// ... when they complete so many bytes together, beside which a file system's own I/O is nothing.
const LARGE_BYTES: f64 = (64 << 20) as f64;

/// A large I/O is moved in parts, so what is in flight at the ends has moved in part only.
pub const TIMES_IN_FLIGHT: f64 = 2.0;

/// I/Os of one direction, and how many it takes to compare them with counters.
#[derive(Debug, Clone, Copy)]
pub struct IoCount {
    pub way: Direction,
    pub ios: f64,
    pub least: f64,
}

impl IoCount {
    /// Those that completed on some targets.
    pub fn new(case: &Case<'_>, targets: &[TargetView<'_>], way: Direction) -> Self {
        let done = targets.iter().map(|target| target.done(way)).fold(Flow::default(), Flow::plus);
        let is_large = done.bytes * case.seconds() >= LARGE_BYTES;
        let large = LARGE_IOS_MIN.max(TIMES_IN_FLIGHT * case.in_flight(targets));
        let least = if is_large { large.min(IOS_MIN) } else { IOS_MIN };
        IoCount { way, ios: (done.ios * case.seconds()).round(), least }
    }

    /// Whether they are some, but too few.
    pub fn is_too_few(self) -> bool {
        self.ios > 0.0 && self.ios < self.least
    }

    pub fn words(self) -> String {
        let word = if self.ios == 1.0 { self.way.word() } else { self.way.plural() };
        format!("{} {word}", number(self.ios))
    }

    /// What a rule lacks that compares them; `None` when they are enough, or none.
    pub fn missing(self) -> Option<Missing> {
        self.is_too_few().then(|| Missing::too_few(&self.words(), self.least))
    }
}

/// What a rule lacks that looks at the rate of the whole run; `None` when its I/Os are enough, or none.
pub fn too_few_in_run(case: &Case<'_>) -> Option<Missing> {
    let ios = case.completed_ios();
    (ios > 0.0 && ios < IOS_MIN).then(|| Missing::too_few(&number(ios), IOS_MIN))
}

/// Disks that are named, at most.
const NAMES_MAX: usize = 4;

/// Names of disks, the first of many.
pub fn names(disks: &[&DiskActivity]) -> String {
    let named: Vec<&str> = disks.iter().take(NAMES_MAX).map(|disk| disk.name.as_str()).collect();
    match disks.len().saturating_sub(NAMES_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `read at 12 MiB/s` and the like, of all these disks together, without what does not happen.
pub fn rates(disks: &[&DiskActivity]) -> Vec<String> {
    let mut ways = Vec::new();
    for (place, way) in ["read", "written"].into_iter().enumerate() {
        let bytes_per_s: f64 = disks.iter().map(|disk| disk.bytes_per_s()[place]).sum();
        if bytes_per_s > 0.0 {
            ways.push(format!("{way} at {}", rate(bytes_per_s)));
        }
    }
    ways
}

/// `1,920 reads/s on loop0 (blkio.throttle of cgroup /x)`.
pub fn limit_words(limit: &Limit) -> String {
    let device = limit.device.as_ref().map(|d| format!(" on {d}")).unwrap_or_default();
    format!("{}{device} ({} of cgroup {})", amount(limit.what, limit.value), limit.by, limit.group)
}

pub fn amount(what: LimitKind, value: u64) -> String {
    match what {
        LimitKind::ReadIops => format!("{} reads/s", grouped(value)),
        LimitKind::WriteIops => format!("{} writes/s", grouped(value)),
        LimitKind::ReadBytesPerSecond => format!("{}/s read", size(value)),
        LimitKind::WriteBytesPerSecond => format!("{}/s written", size(value)),
        LimitKind::CpuMillis => format!("the time of {} processors", value as f64 / 1000.0),
        LimitKind::MemoryBytes => format!("{} of memory, page cache included", size(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_words() {
        let limit = |what, value, device: Option<&str>| {
            let device = device.map(str::to_string);
            limit_words(&Limit { by: "io.max".into(), group: "/x".into(), device, what, value })
        };
        assert_eq!(
            limit(LimitKind::ReadIops, 1920, Some("vda")),
            "1,920 reads/s on vda (io.max of cgroup /x)"
        );
        assert!(limit(LimitKind::WriteBytesPerSecond, 1 << 20, None).starts_with("1 MiB/s written ("));
        assert!(limit(LimitKind::CpuMillis, 1500, None).starts_with("the time of 1.5 processors ("));
        assert!(
            limit(LimitKind::MemoryBytes, 1 << 31, None)
                .starts_with("2 GiB of memory, page cache included (")
        );
    }
}

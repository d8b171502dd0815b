//! How much of what completed can have been at the disks: by their own counters, by the kernel's account of
//! this process, and by what loop devices had in the page cache. Each is a most, so that the least of them
//! counts.
//!
//! The counters of a disk are no proof while somebody else uses it. The account of the process
//! (`/proc/self/io`) counts what its threads handed to the block layer, also those of io_uring's kernel side,
//! whatever lies below.
//!
//! What of the targets was in the page cache before and after the run, and who put it there.
//!
//! What can have answered in the place of disks or a file server: cause and advice, each in one place.

use super::trimmed::empty_share;
use crate::cause::RuleFn::RealTarget;
use crate::cause::{Case, Cause, Missing, OneResult, invalid, ratio, rule, suspect};
use crate::view::{Direction, DiskGroup, Flow, RestsOn, TargetView};
use truespd_core::result::FindingGrade::Invalid;
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{LayerKind, LayerRole, LoopCache, Residency, Theme};
use truespd_platform::text::bytes;

pub(super) const CAUSES: &[Cause] = &[Cause::new("direct-not-honoured", Theme::Cache).judged(
    rule(140, Invalid, WrongNumber, RealTarget(direct_not_honoured)),
    "The test asked for direct I/O, but the file system keeps its files in memory (invalid), or the file's \
     part of the page cache grew (suspect).",
    "test on a file system that supports direct I/O (ext4, xfs), or on the device itself",
)];

/// The disks may move this part of the bytes less before it is worth a word: readings of the counters and of
/// the measured time are not taken in one instant, and a few reads always hit something.
pub(super) const MOVED_SUSPECT: f64 = 0.90;

/// The most that the disks can have moved for the test.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most<'a> {
    pub bytes: f64,
    pub by: By<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum By<'a> {
    /// The disks moved no more in all.
    Disks,
    /// This process handed no more to them.
    Own,
    /// This loop device had the rest in the page cache.
    Loop(&'a LoopCache),
}

/// The most of a way that the disks of a group can have moved for the test; `None` where nothing tells, because they
/// are not visible.
pub(super) fn most<'a>(case: &Case<'_>, group: &DiskGroup<'a>, way: Direction) -> Option<Most<'a>> {
    // A late last reading divides the same bytes by more time, so its rate is too low.
    let in_measured = ratio(group.moved_bytes(way), case.seconds());
    let disks = Most { bytes: group.moved(way).bytes.max(in_measured), by: By::Disks };
    let disks = (!group.disks.is_empty()).then_some(disks);
    let own = own(case, group, way).map(|bytes| Most { bytes, by: By::Own });
    [disks, own, from_loops(case, group, way)].into_iter().flatten().reduce(|least, other| {
        // What the disks show is told where it says the same.
        if other.bytes < 0.9 * least.bytes { other } else { least }
    })
}

/// I/Os in flight at the ends of the measured time, as a rate in bytes per second: one per request, at most a
/// tenth of what was done.
pub(super) fn edge(case: &Case<'_>, targets: &[TargetView<'_>], done: Flow) -> f64 {
    ratio(case.in_flight(targets) * done.size(), case.seconds()).min(done.bytes / 10.0)
}

/// What was done before the first reading of the counters, and is in no count, in bytes per second.
pub(super) fn unread(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction) -> f64 {
    let of_host = case.evidence().host.as_ref().map_or(0, |host| host.late_ns);
    let late_ns = group.disks.iter().map(|disk| disk.late_ns).max().unwrap_or(of_host);
    let late_s = late_ns as f64 / 1e9;
    group.done(way).bytes * ratio(late_s, case.seconds()).min(1.0)
}

/// Bytes per second that were read where the test itself had trimmed: no disk has to give them.
fn empty(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction) -> f64 {
    if way == Direction::Write {
        return 0.0;
    }
    group.targets.iter().map(|target| target.read.bytes * empty_share(case, target)).sum()
}

/// The part of what completed that so many bytes per second at the disks are, with what no count can hold.
pub(super) fn share(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction, moved: f64) -> f64 {
    let done = group.done(way);
    let need_none = unread(case, group, way) + empty(case, group, way);
    ratio(moved + edge(case, &group.targets, done) + need_none, done.bytes)
}

/// What this process handed to the block layer in all, in bytes per second, where it counts all I/O on the
/// targets of the group. It may hold I/O on other targets as well.
pub(super) fn own(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction) -> Option<f64> {
    let is_told = group.targets.iter().all(|target| is_accounted(target, way));
    if is_told { moved_by_own(case, way) } else { None }
}

/// What the account of this process holds, in bytes per second.
pub(super) fn moved_by_own(case: &Case<'_>, way: Direction) -> Option<f64> {
    let host = case.evidence().host.as_ref()?;
    let counted = way.pick(host.own_disk_read_bytes, host.own_disk_write_bytes)?;
    Some(ratio(counted as f64, case.seconds()))
}

/// File systems that hand down reads, and take pages to be written, in the name of the process.
const ACCOUNTED: [&str; 13] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs3", "jfs", "erofs", "squashfs",
    "overlay",
];

/// Whether what is read from devices for the target, and what is handed to them, is in the account of the process.
pub(super) fn gives_its_account(target: &TargetView<'_>) -> bool {
    let is_on_devices = match target.rests_on() {
        RestsOn::Disks => true,
        // Below an overlayfs may be anything. What tells the place of a file on a device is none of those whose
        // program, server or memory gives the data. Compressed data are read by less, and the page cache keeps them.
        RestsOn::Unknown => {
            let map = target.facts.and_then(|facts| facts.extents.as_ref());
            let is_placed = map.is_some_and(|map| map.placed_bytes > 0 && map.encoded_bytes == 0);
            let is_below_overlay = target.lowest().any(|layer| layer.role() == LayerRole::Overlay);
            !target.layers().is_empty() && (is_placed || !is_below_overlay)
        }
        RestsOn::MemoryFilesystem | RestsOn::Remote | RestsOn::Program => false,
    };
    is_on_devices
        && target.layers().iter().all(|layer| match layer.kind {
            LayerKind::Filesystem => ACCOUNTED.contains(&layer.name.as_str()),
            _ => !matches!(layer.role(), LayerRole::Zfs | LayerRole::ZfsVolume),
        })
}

/// Whether less in the account of the process means less at the disks.
fn is_accounted(target: &TargetView<'_>, way: Direction) -> bool {
    if !gives_its_account(target) {
        return false;
    }
    // Whatever answered in the place of a disk was in memory. Where the page cache holds nothing, the account is
    // wrong.
    let residency = target.residency();
    let held = residency.map(|seen| seen.cached_before_bytes.max(seen.cached_after_bytes));
    let journals =
        target.layers().iter().any(|layer| layer.details.as_ref().is_some_and(|d| d.journals_data));
    match (way, target.is_direct()) {
        (Direction::Read, false) => held != Some(0),
        (Direction::Read, true) => {
            let range = residency.map_or(0, |seen| seen.range_bytes);
            held.is_some_and(|held| held > 0 && held as f64 >= 0.01 * range as f64)
        }
        // A page is counted when it becomes dirty, so that writes to a dirty page count once, as they reach the disk.
        (Direction::Write, false) => !journals && !target.is_write_through() && held != Some(0),
        (Direction::Write, true) => false,
    }
}

/// The most that came through loop devices which use the page cache: what was not in it before. Reads only.
fn from_loops<'a>(case: &Case<'_>, group: &DiskGroup<'a>, way: Direction) -> Option<Most<'a>> {
    if way == Direction::Write {
        return None;
    }
    let mut by = None;
    let bytes = group.targets.iter().map(|target| {
        let done = target.done(way).bytes;
        let caches = target.facts.map_or(&[][..], |facts| &facts.loop_caches);
        let least = caches.iter().filter_map(|cache| Some((from_disk(cache, done, case.seconds())?, cache)));
        match least.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((bytes, cache)) if bytes < done => {
                by = Some(cache);
                bytes
            }
            _ => done,
        }
    });
    let bytes = bytes.sum();
    by.map(|cache| Most { bytes, by: By::Loop(cache) })
}

/// Dropped pages above this part of those cached mean that the page cache is too small for the file.
const EVICTED_FEW: f64 = 0.05;

/// From this part on all of the file counts as cached.
const ALL_CACHED: f64 = 0.95;

/// The most that the file of a loop device can have had read from its disk, in bytes per second. `None` where
/// it may have been read several times, because the page cache dropped it in between.
fn from_disk(cache: &LoopCache, done: f64, seconds: f64) -> Option<f64> {
    let Residency { range_bytes, cached_before_bytes, cached_after_bytes } = cache.residency;
    let grew = cached_after_bytes.saturating_sub(cached_before_bytes) as f64;
    if let (Some(before), Some(after)) = (cache.evicted_before_bytes, cache.evicted_after_bytes) {
        let evicted = before.max(after) as f64;
        if evicted <= EVICTED_FEW * cached_after_bytes as f64 && cached_after_bytes >= cached_before_bytes {
            return Some(ratio(grew + evicted, seconds));
        }
    }
    let held = cached_before_bytes.min(cached_after_bytes);
    let is_all = held as f64 >= ALL_CACHED * range_bytes as f64 && held > 0;
    // Some pages may have gone and come again.
    is_all.then(|| ratio(range_bytes.saturating_sub(held) as f64, seconds) + (1.0 - ALL_CACHED) * done)
}

/// How far a layer that makes data smaller explains that the disks moved less.
#[derive(Debug, Clone)]
pub(super) struct Reduction {
    /// What the layer does, in words.
    pub by: String,
    /// The least part of the bytes that it leaves.
    pub least: f64,
    /// To which part the sampled data compress; none without a sample.
    pub sampled: Option<f64>,
}

/// Storage compresses at best to this part of what the fastest deflate does, block by block.
const BETTER_THAN_SAMPLE: f64 = 0.5;

/// The smallest part without a sample: a sector of 4 KiB for 128 KiB, which is also the least that btrfs keeps.
pub(super) const SMALLEST: f64 = 1.0 / 32.0;

/// What the layers of a group make of the bytes of a way; `None` where none is known to make them smaller
/// above the disks.
pub(super) fn reduction(group: &DiskGroup<'_>, way: Direction) -> Option<Reduction> {
    let parts: Vec<(f64, Option<Reduction>)> =
        group.targets.iter().map(|target| (target.done(way).bytes, reduction_of(target, way))).collect();
    let first = parts.iter().find_map(|(_, found)| found.clone())?;
    let least = ratio(
        parts.iter().map(|(done, found)| done * found.as_ref().map_or(1.0, |one| one.least)).sum(),
        group.done(way).bytes,
    );
    Some(Reduction { least, ..first })
}

fn reduction_of(target: &TargetView<'_>, way: Direction) -> Option<Reduction> {
    let (layer, by) = target.reducer()?;
    // Disks count what they are sent: what they make of it themselves is not in their counters.
    if layer.is_lowest() {
        return None;
    }
    let facts = target.facts?;
    let sample = way.pick(facts.content.as_ref(), facts.written.as_ref());
    let sample = sample.filter(|sample| sample.blocks > 0 && sample.block_bytes > 0);
    let sampled = sample.map(|sample| {
        let bytes = f64::from(sample.blocks) * f64::from(sample.block_bytes);
        ratio(sample.compressed_bytes as f64, bytes).min(1.0)
    });
    let compressed = match sampled {
        Some(part) => (part * BETTER_THAN_SAMPLE).max(if layer.name == "btrfs" { SMALLEST } else { 0.0 }),
        None => SMALLEST,
    };
    let distinct = match (sample, layer.deduplicates) {
        (Some(sample), Some(true)) => {
            1.0 - ratio(f64::from(sample.repeated_blocks), f64::from(sample.blocks))
        }
        _ => 1.0,
    };
    // Only extents that are stored compressed are smaller than what they hold.
    let encoded = match (&facts.extents, way, layer.kind) {
        (Some(map), Direction::Read, LayerKind::Filesystem)
            if map.unknown.is_none() && map.range_bytes > 0 =>
        {
            let is_own = target.layers().iter().find(|one| one.kind == LayerKind::Filesystem) == Some(layer);
            if is_own { ratio(map.encoded_bytes as f64, map.range_bytes as f64).min(1.0) } else { 1.0 }
        }
        _ => 1.0,
    };
    Some(Reduction { by, least: 1.0 - encoded + encoded * compressed * distinct, sampled })
}

/// Direct I/O was asked for and something cached all the same.
fn direct_not_honoured(case: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    if !target.is_direct() {
        return Ok(None);
    }
    if let Some(layer) = target.layer(LayerKind::MemoryFilesystem) {
        let says = format!("The test asked for direct I/O, but {} keeps its files in memory.", layer.name);
        return Ok(Some(invalid(says)));
    }
    let Some((grew, is_notable)) = residency_growth(target) else {
        // A device opened for direct I/O has no pages of its own here.
        if target.facts.is_some() && !target.is_file() {
            return Ok(None);
        }
        let path = target.path();
        return Err(Missing(format!("how much of '{path}' was in the page cache before and after the run")));
    };
    // Whoever put them there, it was not this test.
    if !is_notable || pages_of_others(case, target).is_some() {
        return Ok(None);
    }
    let says = format!(
        "The test asked for direct I/O, but {} of the file entered the page cache during the run.",
        bytes(grew as f64)
    );
    Ok(Some(suspect(says).figure("page_cache_growth_bytes", grew as f64)))
}

/// Reads that bypassed the page cache leave as many bytes in the account of the process as completed; this
/// part is enough.
const BYPASSED: f64 = 0.98;

/// Pages of this test would be so many times those that came.
const PAGES_TIMES: f64 = 2.0;

/// Bytes of a target of direct I/O that somebody else put into the page cache during the run; `None` where
/// nothing came, or where it may have been this test.
pub(super) fn pages_of_others(case: &Case<'_>, target: &TargetView<'_>) -> Option<f64> {
    let (grew, is_notable) = residency_growth(target)?;
    let grew = grew as f64;
    let writes = target.done(Direction::Write).bytes > 0.0;
    // Some file systems take direct writes through the page cache where they honour direct reads.
    let may_differ = target.layers().iter().any(|layer| layer.role() == LayerRole::CopyOnWrite);
    if !is_notable || !target.is_direct() || (writes && may_differ) {
        return None;
    }
    let is_of_others = reads_bypassed(case, grew) || touched_once(case, target) >= PAGES_TIMES * grew;
    is_of_others.then_some(grew)
}

/// Whether the reads of the test bypassed the page cache, of which `grew` bytes came during the run: each
/// byte completed was read from the disks, and far more than came.
fn reads_bypassed(case: &Case<'_>, grew: f64) -> bool {
    let views = case.views();
    let is_all_direct = views.iter().all(|view| view.is_direct() && view.rests_on() == RestsOn::Disks);
    let own = case.evidence().host.as_ref().and_then(|host| host.own_disk_read_bytes);
    let done = case.done(Direction::Read).bytes * case.seconds();
    own.is_some_and(|own| {
        let own = own as f64;
        is_all_direct && done > 0.0 && own >= BYPASSED * done && own >= PAGES_TIMES * grew
    })
}

/// How many bytes of a target the test would have brought into the page cache, each once; 0 where its
/// accesses do not tell.
fn touched_once(case: &Case<'_>, target: &TargetView<'_>) -> f64 {
    let range = target.range_bytes() as f64;
    let done = (target.done(Direction::Read).bytes + target.done(Direction::Write).bytes) * case.seconds();
    let mut entries = target.entries.iter();
    let touched = if entries.clone().all(|entry| entry.random_percent == 100 && entry.distribution.is_none())
    {
        // Random accesses meet some places again.
        range * (1.0 - (-ratio(done, range)).exp())
    } else if entries.all(|entry| entry.random_percent == 0) {
        // Threads may take the same stretch.
        let threads: u32 = target.entries.iter().map(|entry| case.span.threads_on(entry)).sum();
        ratio(done, f64::from(threads.max(1))).min(range)
    } else {
        0.0
    };
    let before = target.residency().map_or(0, |seen| seen.cached_before_bytes);
    (touched - before as f64).max(0.0)
}

/// By how many bytes the target's part of the page cache grew, and whether that is notable: more than 1 MiB
/// and more than 1 % of the range. `None` when the document does not tell.
pub(super) fn residency_growth(target: &TargetView<'_>) -> Option<(u64, bool)> {
    let residency = target.facts?.residency?;
    let grew = residency.cached_after_bytes.saturating_sub(residency.cached_before_bytes);
    Some((grew, grew > 1 << 20 && grew as f64 > 0.01 * residency.range_bytes as f64))
}

/// Why less came to the storage than completed.
#[derive(Debug)]
pub(super) struct Substitute {
    /// What is so, as a part of a sentence.
    pub words: String,
    /// What to do about it.
    pub advice: &'static str,
    /// Something other than the target answered.
    pub is_not_the_target: bool,
    /// It was the page cache.
    pub is_page_cache: bool,
    /// The least part of the bytes that compression and the like leave, where some layer does that.
    pub least: Option<f64>,
}

/// What should have been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Disks,
    /// A file server, to which this machine is a client with a page cache of its own.
    Server,
}

impl Asked {
    fn page_cache(self) -> &'static str {
        match self {
            Asked::Disks => "the page cache",
            Asked::Server => "the page cache of this machine",
        }
    }
}

impl Substitute {
    /// Something other than the target.
    pub fn of(words: &str, advice: &'static str) -> Self {
        Substitute {
            words: words.to_string(),
            advice,
            is_not_the_target: true,
            is_page_cache: false,
            least: None,
        }
    }

    /// The page cache, in these words.
    pub fn page_cache(words: &str, advice: &'static str) -> Self {
        Substitute { is_page_cache: true, ..Substitute::of(words, advice) }
    }

    /// The page cache behind a memory-mapped target.
    pub fn mapped(asked: Asked) -> Self {
        let words = format!("the target is memory mapped (-Sm), so {} answered", asked.page_cache());
        let advice = match asked {
            Asked::Disks => {
                "use -Su or -Sh to measure the disk; this result is the speed of memory and page cache"
            }
            Asked::Server => {
                "use -Su or -Sh to measure the server; this result is the speed of memory and page cache"
            }
        };
        Substitute::page_cache(&words, advice)
    }

    /// The page cache that the test did not bypass.
    pub fn not_bypassed(way: Direction, asked: Asked) -> Self {
        let did = way.pick("answered", "took them");
        let words = format!("{} {did}, because neither -Su nor -Sh bypassed it", asked.page_cache());
        let advice = match (way, asked) {
            (Direction::Read, Asked::Disks) => {
                "add -Su or -Sh to measure the disk; this result is what programs that use the page cache get"
            }
            (Direction::Read, Asked::Server) => {
                "add -Su or -Sh (-Sr for the client's cache alone) to measure the server; this result is what \
                 programs get that read the same files again"
            }
            (Direction::Write, Asked::Disks) => {
                "add -Sh to measure durable writes, or -Su to measure writes to the disk's cache; or run until the \
                 page cache is full"
            }
            (Direction::Write, Asked::Server) => {
                "add -Sh to measure writes that the server has made durable, or run until the page cache is full"
            }
        };
        Substitute::page_cache(&words, advice)
    }

    /// A loop device below the target ([`Layer::is_cached_loop`](truespd_core::result::Layer::is_cached_loop)).
    pub fn cached_loop() -> Self {
        Substitute::of(
            "a loop device below the target uses the page cache for its file",
            "set the loop device up with losetup --direct-io=on",
        )
    }

    pub fn something(between: Asked) -> Self {
        let advice = match between {
            Asked::Disks => {
                "look for a cache between the test and the disk (truespd inspect shows the layers)"
            }
            Asked::Server => {
                "look for a cache between the test and the server (truespd inspect shows the layers)"
            }
        };
        let end = if between == Asked::Disks { "disk" } else { "server" };
        Substitute::of(&format!("something between the test and the {end} answered"), advice)
    }
}

//! Did the I/O reach the disks, and as what?

use crate::result::{Finding, Grade, Layer, LayerKind};
use crate::text::{bytes, number, percent};
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::{Flow, Group, RestsOn, View, Way};
use crate::verdict::{Case, Look, Missing};

/// The disks may move this part of the bytes less before it is worth a word: readings of the counters and of
/// the measured time are not taken in one instant, and a few reads always hit something.
const MOVED_SUSPECT: f64 = 0.90;
/// Below this most of the bytes never were at the disks.
const MOVED_INVALID: f64 = 0.50;

/// Bytes completed against bytes moved, reads and writes apart.
pub fn served_from_cache(case: &Case<'_>) -> Look {
    let groups = case.groups()?;
    let mut findings = Vec::new();
    for group in &groups {
        for way in Way::BOTH {
            let (done, moved) = (group.done(way), group.moved(way));
            if done.bytes <= 0.0 {
                continue;
            }
            // A late reading divides the same bytes by more time, so its rate is too low.
            let in_measured = ratio(group.moved_bytes(way), case.seconds());
            let share = ratio(moved.bytes.max(in_measured) + edge(case, group, done), done.bytes);
            if share >= MOVED_SUSPECT {
                continue;
            }
            let cause = cause(group, way);
            let grade = match share < MOVED_INVALID && cause.is_not_the_target {
                true => Grade::Invalid,
                false => Grade::Suspect,
            };
            let says = format!(
                "The test completed {} {}/s of {}, but {} received {}: {}.",
                number(done.ios),
                way.plural(),
                bytes(done.size()),
                group.names(),
                seen(moved, done),
                cause.words
            );
            findings.push(
                found(grade, says)
                    .of(group.path())
                    .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
                    .figure(&format!("completed_{}_bytes_per_s", way.word()), done.bytes)
                    .figure(&format!("disk_{}s_per_s", way.word()), moved.ios)
                    .figure(&format!("disk_{}_bytes_per_s", way.word()), moved.bytes)
                    .advise(cause.advice),
            );
        }
    }
    Ok(findings)
}

fn per_s(ios: f64) -> String {
    format!("{}/s", number(ios))
}

/// `none`, or rate, size and share of the bytes.
fn seen(moved: Flow, done: Flow) -> String {
    if moved.ios <= 0.0 {
        return "none".to_string();
    }
    let share = percent(ratio(moved.bytes, done.bytes));
    format!("{} of {} ({share} of the bytes)", per_s(moved.ios), bytes(moved.size()))
}

/// I/Os in flight at the ends of the measured time, as a rate: one per request, at most a tenth of the bytes.
fn edge(case: &Case<'_>, group: &Group<'_>, done: Flow) -> f64 {
    let requests: u64 = group
        .targets
        .iter()
        .flat_map(|target| &target.entries)
        .map(|target| u64::from(case.span.threads_on(target)) * u64::from(target.request_count))
        .sum();
    ratio(requests as f64 * done.size(), case.seconds()).min(done.bytes / 10.0)
}

/// Why the disks moved less.
struct Cause {
    words: String,
    advice: &'static str,
    /// Something other than the target answered.
    is_not_the_target: bool,
}

fn cause(group: &Group<'_>, way: Way) -> Cause {
    let says = |words: &str, advice| Cause { words: words.to_string(), advice, is_not_the_target: true };
    let most = |holds: &dyn Fn(&View<'_>) -> bool| {
        let with: f64 = group.targets.iter().filter(|t| holds(t)).map(|t| t.done(way).bytes).sum();
        with * 2.0 >= group.done(way).bytes
    };
    let is_cached = most(&|target| !target.is_direct());
    let is_loop_cached = || {
        group.targets.iter().any(|target| {
            target.layers().iter().any(|layer| layer.kind == LayerKind::Loop && layer.direct_io != Some(true))
        })
    };
    let reduced_by = group.targets.iter().find_map(View::reduced_by);
    if way == Way::Read && most(&|target| never_written_share(target) >= 0.5) {
        return says(
            "most of the tested range was never written, so reads there need no disk",
            "write the whole range once before reading it: -c makes such a file; a device needs a write test over \
             all of it (-w100 -Zr), which destroys its content",
        );
    }
    if most(&|target| target.asked.memory_mapped) {
        return says(
            "the target is memory mapped (-Sm), so the page cache answered",
            "use -Su or -Sh to measure the disk; this result is the speed of memory and page cache",
        );
    }
    if is_cached && way == Way::Read {
        return says(
            "the page cache answered, because neither -Su nor -Sh bypassed it",
            "add -Su or -Sh to measure the disk; this result is what programs get that use the page cache",
        );
    }
    if is_cached {
        return says(
            "the page cache took them, because neither -Su nor -Sh bypassed it",
            "add -Sh (durable writes) or -Su (writes to the disk's cache), or run until the page cache is full",
        );
    }
    if let Some(by) = reduced_by {
        let words = format!("{by}, so the disk moved less");
        let advice = "to measure the disk, write and read random data (-Zr), or turn compression and deduplication off";
        return Cause { words, advice, is_not_the_target: false };
    }
    if is_loop_cached() {
        return says(
            "a loop device below the target uses the page cache for its file",
            "set the loop device up with losetup --direct-io=on",
        );
    }
    let grew =
        group.targets.iter().any(|target| residency_growth(target).is_some_and(|(_, notable)| notable));
    let is_thin = group.targets.iter().any(View::is_thin);
    let has_zeros = group.targets.iter().any(|target| {
        let sample = target.facts.and_then(|facts| facts.content.as_ref());
        sample.is_some_and(|sample| sample.zero_blocks > 0)
    });
    if way == Way::Read && (is_thin || has_zeros) {
        return says(
            "reads of zeros need no disk (holes, and blocks that were trimmed or never provisioned)",
            "write the whole range once with -Zr before reading it, which destroys its content",
        );
    }
    match grew {
        true => says(
            "the page cache answered, although the test asked for direct I/O",
            "choose a file system that supports direct I/O",
        ),
        false => says(
            "something between the test and the disk answered",
            "look for a cache between the test and the disk (truespd inspect shows the layers)",
        ),
    }
}

/// Share of the tested range that was never written.
pub fn never_written_share(target: &View<'_>) -> f64 {
    let extents = target.facts.and_then(|facts| facts.extents.as_ref());
    extents.map_or(0.0, |map| ratio((map.unwritten_bytes + map.hole_bytes) as f64, map.range_bytes as f64))
}

/// By how many bytes the target's part of the page cache grew, and whether that is notable: more than 1 MiB
/// and more than 1 % of the range. `None` when the document does not tell.
fn residency_growth(target: &View<'_>) -> Option<(u64, bool)> {
    let residency = target.facts?.residency?;
    let grew = residency.cached_after_bytes.saturating_sub(residency.cached_before_bytes);
    Some((grew, grew > 1 << 20 && grew as f64 > 0.01 * residency.range_bytes as f64))
}

/// From here on the disk's operations are not the ones that were issued.
const SIZE_SUSPECT: f64 = 1.5;
/// From here on it is worth a remark.
const SIZE_REMARK: f64 = 1.1;
/// I/Os of this size and more are issued for throughput, which merging does not change: a remark only.
const LARGE_BYTES: f64 = 64.0 * 1024.0;

/// Mean size and rate at the disks against those issued.
pub fn coalesced(case: &Case<'_>) -> Look {
    let groups = case.groups()?;
    let mut findings = Vec::new();
    for group in &groups {
        for way in Way::BOTH {
            let (done, moved) = (group.done(way), group.moved(way));
            let larger = ratio(moved.size(), done.size());
            // Where most bytes never came to the disk, served-from-cache tells sizes and rates as well.
            let is_told = ratio(moved.bytes, done.bytes) < MOVED_INVALID;
            if larger < SIZE_REMARK || moved.ios >= done.ios / SIZE_REMARK || is_told {
                continue;
            }
            let misleads = larger >= SIZE_SUSPECT && done.size() < LARGE_BYTES;
            let grade = if misleads { Grade::Suspect } else { Grade::Certified };
            let says = format!(
                "The test issued {} {}/s of {}, but {} received {} of {}: neighbouring I/Os were merged.",
                number(done.ios),
                way.plural(),
                bytes(done.size()),
                group.names(),
                per_s(moved.ios),
                bytes(moved.size())
            );
            findings.push(
                found(grade, says)
                    .of(group.path())
                    .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
                    .figure(&format!("issued_{}_bytes_mean", way.word()), done.size())
                    .figure(&format!("disk_{}s_per_s", way.word()), moved.ios)
                    .figure(&format!("disk_{}_bytes_mean", way.word()), moved.size()),
            );
        }
    }
    Ok(findings)
}

/// Direct I/O was asked for and something cached all the same.
pub fn direct_not_honoured(case: &Case<'_>) -> Look {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views().iter().filter(|target| target.is_direct()) {
        if let Some(layer) = target.layer(LayerKind::MemoryFilesystem) {
            let says =
                format!("The test asked for direct I/O, but {} keeps its files in memory.", layer.name);
            findings.push(found(Grade::Invalid, says).of(Some(target.path())));
            continue;
        }
        match residency_growth(target) {
            Some((grew, true)) => {
                let says = format!(
                    "The test asked for direct I/O, but {} of the file entered the page cache during the run.",
                    bytes(grew as f64)
                );
                let finding = found(Grade::Suspect, says).of(Some(target.path()));
                findings.push(finding.figure("page_cache_growth_bytes", grew as f64));
            }
            Some(_) => {}
            None if target.is_file() || target.facts.is_none() => {
                missing.get_or_insert(Missing(format!(
                    "how much of '{}' was in the page cache before and after the run",
                    target.path()
                )));
            }
            // A device opened for direct I/O has no pages of its own here.
            None => {}
        }
    }
    unless_missing(findings, missing)
}

/// A tested range below this fits into the cache of a controller, a drive or a host.
pub const RANGE_SMALL_BYTES: u64 = 1 << 30;
/// Unless it is this part of the disk or more: a small disk has small caches.
pub const RANGE_SMALL_PART: f64 = 0.01;

/// The tested range fits into a cache that it must defeat.
pub fn working_set(case: &Case<'_>) -> Look {
    let views = case.views();
    let (mut findings, mut missing) = (Vec::new(), None);
    let on_disk = |target: &&View<'_>| !matches!(target.rests_on(), RestsOn::MemoryFilesystem);
    let cached: u64 = views.iter().filter(on_disk).map(View::cacheable_bytes).sum();
    if cached > 0 {
        match memory_bytes(case) {
            Some(memory) if cached < memory => {
                let says = format!(
                    "The test used the page cache for {} of its range, which fits into {} of memory.",
                    bytes(cached as f64),
                    bytes(memory as f64)
                );
                let finding = found(Grade::Suspect, says)
                    .figure("range_bytes", cached as f64)
                    .figure("memory_bytes", memory as f64);
                findings.push(
                    finding
                        .advise("bypass the page cache with -Su or -Sh, or test a range larger than memory"),
                );
            }
            Some(_) => {}
            None => missing = Some(Missing::of("the memory of the machine")),
        }
    }
    let direct: Vec<&View<'_>> =
        views.iter().filter(on_disk).filter(|target| target.cacheable_bytes() == 0).collect();
    for target in &direct {
        if target.range_bytes() == 0 {
            missing.get_or_insert(Missing(format!("the size of '{}'", target.path())));
        }
    }
    findings.extend(small_ranges(&direct));
    unless_missing(findings, missing)
}

/// Ranges that fit into a cache of the disks they share: what lies on the same disks is one working set.
fn small_ranges(direct: &[&View<'_>]) -> Vec<Finding> {
    // Targets by the names of their lowest devices.
    let mut sets: Vec<(Vec<&Layer>, Vec<&View<'_>>)> = Vec::new();
    for target in direct.iter().filter(|target| target.range_bytes() > 0) {
        let lowest: Vec<&Layer> = target.lowest().collect();
        let is_same = |other: &[&Layer]| {
            other.len() == lowest.len() && other.iter().zip(&lowest).all(|(a, b)| a.name == b.name)
        };
        match sets.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, targets)) => targets.push(target),
            None => sets.push((lowest, vec![target])),
        }
    }
    sets.iter().filter_map(|(lowest, targets)| small_range(lowest, targets)).collect()
}

fn small_range(lowest: &[&Layer], targets: &[&View<'_>]) -> Option<Finding> {
    // A device in memory has no cache to defeat.
    let is_memory = !lowest.is_empty() && lowest.iter().all(|layer| layer.kind == LayerKind::Memory);
    let range: u64 = targets.iter().map(|target| target.range_bytes()).sum();
    let disk: u64 = lowest.iter().filter_map(|layer| layer.size_bytes).sum();
    let is_much_of_it = disk > 0 && range as f64 >= RANGE_SMALL_PART * disk as f64;
    if is_memory || range >= RANGE_SMALL_BYTES || is_much_of_it {
        return None;
    }
    let of_disk = match disk {
        0 => String::new(),
        disk => {
            format!(" ({} of a disk of {})", percent(ratio(range as f64, disk as f64)), bytes(disk as f64))
        }
    };
    let says = format!(
        "The tested range is {}{of_disk}: a cache of the drive, the controller or the host can hold all of it.",
        bytes(range as f64)
    );
    let path = if let [only] = targets { Some(only.path()) } else { None };
    Some(
        found(Grade::Suspect, says)
            .of(path)
            .figure("range_bytes", range as f64)
            .figure("disk_bytes", disk as f64),
    )
}

/// Memory that the page cache may take: that of the machine, or of the container.
fn memory_bytes(case: &Case<'_>) -> Option<u64> {
    let evidence = &case.measured.evidence;
    let limits = evidence.limits.iter().filter(|limit| limit.what == crate::result::LimitKind::MemoryBytes);
    let limit = limits.map(|limit| limit.value).min();
    let machine = case.document.system.memory_bytes;
    machine.into_iter().chain(limit).min()
}

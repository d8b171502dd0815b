//! Did the I/O reach the disks, and as what?

use super::answers::{Asked, Cause};
use super::pages::residency_growth;
use super::reach::{self, By, Most, edge, unread};
use super::{network, paths};
use crate::profile::Target;
use crate::result::{Finding, FindingGrade, Layer, LayerKind};
use crate::text::{bytes, number, percent};
use crate::verdict::few::Count;
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::{Flow, Group, RestsOn, View, Way, is_cached_loop};
use crate::verdict::{Case, Look, Missing};

/// The disks may move this part of the bytes less before it is worth a word: readings of the counters and of
/// the measured time are not taken in one instant, and a few reads always hit something.
const MOVED_SUSPECT: f64 = 0.90;
/// Below this most of the bytes never were at the disks.
const MOVED_INVALID: f64 = 0.50;

/// Bytes completed against bytes that the disks can have moved for the test, reads and writes apart.
pub fn served_from_cache(case: &Case<'_>) -> Look {
    let groups = case.groups()?;
    let (mut findings, mut missing) = network::served_from_cache(case);
    for group in &groups {
        for way in Way::BOTH {
            let done = group.done(way);
            let count = Count::of(case, &group.targets, way);
            if done.bytes <= 0.0 || count.is_too_few() {
                missing = missing.or(count.missing());
                continue;
            }
            let most = reach::most(case, group, way);
            let share =
                ratio(most.bytes + edge(case, &group.targets, done) + unread(case, group, way), done.bytes);
            if share < MOVED_SUSPECT {
                findings.push(not_at_the_disks(case, group, way, most, share));
            }
        }
    }
    unless_missing(findings, missing)
}

/// The finding that a part of the bytes never was at the disks.
fn not_at_the_disks(case: &Case<'_>, group: &Group<'_>, way: Way, most: Most<'_>, share: f64) -> Finding {
    let (done, moved) = (group.done(way), group.moved(way));
    let own_less = reach::own(case, group, way).is_some_and(|own| own < MOVED_INVALID * done.bytes);
    let cause = cause(group, way, share, own_less);
    let grade = if share < MOVED_INVALID && cause.is_not_the_target {
        FindingGrade::Invalid
    } else {
        FindingGrade::Suspect
    };
    let says = format!(
        "The test completed {} {}/s of {}, but {}: {}{}.",
        number(done.ios),
        way.plural(),
        bytes(done.size()),
        reached(group, way, most),
        cause.words,
        held_before(group, way, &cause)
    );
    let figure = |what: &str| format!("{what}_{}_bytes_per_s", way.word());
    let mut finding = found(grade, says)
        .of(group.path())
        .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
        .figure(&figure("completed"), done.bytes)
        .figure(&format!("disk_{}s_per_s", way.word()), moved.ios)
        .figure(&figure("disk"), moved.bytes);
    if let Some(own) = reach::own(case, group, way) {
        finding = finding.figure(&figure("own_disk"), own);
    }
    if let By::Loop(cache) = most.by {
        finding = finding
            .figure(&figure("loop_disk_most"), most.bytes)
            .figure("loop_cached_before_bytes", cache.residency.cached_before_bytes as f64);
    }
    if let Some(least) = cause.least {
        finding = finding.figure("compressed_least_percent", least * 100.0);
    }
    finding.advise(cause.advice)
}

/// What can have been at the disks, and how that is known.
fn reached(group: &Group<'_>, way: Way, most: Most<'_>) -> String {
    let (done, moved) = (group.done(way), group.moved(way));
    let share = percent(ratio(most.bytes, done.bytes));
    match most.by {
        By::Disks => format!("{} received {}", group.names(), seen(moved, done)),
        By::Own => {
            let does = match way {
                Way::Read => "read from",
                Way::Write => "wrote to",
            };
            let (own, of_all) = match most.bytes {
                own if own > 0.0 => (format!("only {}/s", bytes(own)), format!("{share} of the bytes; ")),
                _ => ("nothing".to_string(), String::new()),
            };
            format!(
                "by the kernel's account this process {does} the disks {own} ({of_all}{} moved {}/s with the {} of others)",
                group.names(),
                bytes(moved.bytes),
                way.plural()
            )
        }
        By::Loop(cache) => format!(
            "{} of '{}', on which {} stands, was in the page cache before, and its disk can have given no more than {}/s \
             ({share} of the bytes)",
            percent(ratio(cache.residency.cached_before_bytes as f64, cache.residency.range_bytes as f64)),
            cache.path,
            cache.device,
            bytes(most.bytes)
        ),
    }
}

/// How much of what was read the page cache held before the run, where it answered.
fn held_before(group: &Group<'_>, way: Way, cause: &Cause) -> String {
    if way == Way::Write || !cause.is_page_cache {
        return String::new();
    }
    let seen = group.targets.iter().filter_map(|target| target.facts?.residency);
    let (held, range) =
        seen.fold((0, 0), |sum, seen| (sum.0 + seen.cached_before_bytes, sum.1 + seen.range_bytes));
    match ratio(held as f64, range as f64) {
        share if share >= HELD_NOTABLE => {
            format!(". It held {} of the tested range before the run", percent(share))
        }
        _ => String::new(),
    }
}

/// From this part of the range on it is worth a word that the page cache held it before the run.
const HELD_NOTABLE: f64 = 0.05;

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

/// The cause of `share`, the part of the bytes that can have been at the disks. `own_less`: this process had
/// the disks move less than half, so that it was answered above the devices.
fn cause(group: &Group<'_>, way: Way, share: f64, own_less: bool) -> Cause {
    if let Some(cause) = cause_in_the_profile(group, way) {
        return cause;
    }
    let Some(reduction) = reach::reduction(group, way) else {
        return cause_below(group, way, false, own_less);
    };
    let data = match reduction.sampled {
        Some(part) => format!("a sample of the data compresses to {}", percent(part)),
        None => "the data were not sampled".to_string(),
    };
    // Data that repeat over longer stretches than the blocks of the sample compress better than it.
    let may_be_less = reduction.least < COMPRESSIBLE && !is_evident(group, way);
    let least = if may_be_less { reduction.least.min(reach::SMALLEST) } else { reduction.least };
    if share >= least * MOVED_SUSPECT {
        let advice = "to measure the disk, write and read random data (-Zr), or turn compression and deduplication off";
        return Cause {
            is_not_the_target: false,
            least: Some(reduction.least),
            ..Cause::of(&format!("{}, so the disk moved less ({data})", reduction.by), advice)
        };
    }
    let cause = cause_below(group, way, true, own_less);
    let words = format!(
        "{}; {}, which explains {} of the bytes but not less ({data})",
        cause.words,
        reduction.by,
        percent(reduction.least)
    );
    Cause { words, least: Some(reduction.least), ..cause }
}

/// Layers that leave at least this part of data keep them, for all that is known, nearly as they are.
const COMPRESSIBLE: f64 = 0.4;

/// Whether a cache is known to have answered most of the bytes, or a loop device reads through one.
fn is_evident(group: &Group<'_>, way: Way) -> bool {
    let answered = |target: &View<'_>| {
        let Some(seen) = target.facts.and_then(|facts| facts.residency) else { return false };
        let grew = seen.cached_after_bytes.saturating_sub(seen.cached_before_bytes) as f64;
        // What came in once was read, and only what was met again was answered.
        let held = seen.cached_before_bytes * 2 >= seen.range_bytes.max(1);
        way == Way::Read && (held || (grew > 0.0 && group.done_bytes(way) > 2.0 * grew))
    };
    group.targets.iter().any(|target| answered(target) || target.layers().iter().any(is_cached_loop))
}

/// What the profile and the layout of the target tell.
fn cause_in_the_profile(group: &Group<'_>, way: Way) -> Option<Cause> {
    let most = |holds: &dyn Fn(&View<'_>) -> bool| {
        let with: f64 = group.targets.iter().filter(|t| holds(t)).map(|t| t.done(way).bytes).sum();
        with * 2.0 >= group.done(way).bytes
    };
    if way == Way::Read && most(&|target| never_written_share(target) >= 0.5) {
        return Some(Cause::of(
            "most of the tested range was never written, so reads there need no disk",
            "write the whole range once before reading it: -c makes such a file; a device needs a write test over \
             all of it (-w100 -Zr), which destroys its content",
        ));
    }
    if most(&|target| target.asked.memory_mapped) {
        return Some(Cause::mapped(Asked::Disks));
    }
    let is_cached = most(&|target| !target.is_direct());
    is_cached.then(|| Cause::not_bypassed(way, Asked::Disks))
}

/// What the layers and the page cache tell. `is_reduced`: the file system or a layer below makes data smaller.
fn cause_below(group: &Group<'_>, way: Way, is_reduced: bool, own_less: bool) -> Cause {
    if !own_less && group.targets.iter().any(|target| target.layers().iter().any(is_cached_loop)) {
        return Cause::cached_loop();
    }
    // Pages that were there before prove nothing where the file system honours direct I/O: it goes by them.
    let goes_by = way == Way::Write || !(is_reduced || own_less);
    let is_held = |target: &View<'_>| {
        let grew = residency_growth(target).is_some_and(|(_, notable)| notable);
        let residency = target.facts.and_then(|facts| facts.residency).filter(|_| !goes_by);
        grew || residency.is_some_and(|seen| seen.cached_before_bytes * 2 >= seen.range_bytes.max(1))
    };
    if way == Way::Read && group.targets.iter().any(paths::reads_from_peers) {
        let advice = "let DRBD bring the disk of this node up to date before reads are measured";
        return Cause {
            is_not_the_target: false,
            ..Cause::of("DRBD read from another node, because the disk of this one is not up to date", advice)
        };
    }
    let has_zeros = |target: &View<'_>| {
        let sample = target.facts.and_then(|facts| facts.content.as_ref());
        sample.is_some_and(|sample| sample.zero_blocks > 0)
    };
    let is_held = group.targets.iter().any(is_held);
    if is_held && is_reduced {
        return Cause::page_cache(
            "the page cache answered, although the test asked for direct I/O",
            "file systems read what they keep compressed through the page cache: make the file again without compression \
             (btrfs: mount without compress, or chattr +m on the new file)",
        );
    }
    if way == Way::Read && group.targets.iter().any(|target| target.is_thin() || has_zeros(target)) {
        return Cause::of(
            "reads of zeros need no disk (holes, and blocks that were trimmed or never provisioned)",
            "write the whole range once with -Zr before reading it, which destroys its content",
        );
    }
    if is_held {
        Cause::page_cache(
            "the page cache answered, although the test asked for direct I/O",
            "choose a file system that supports direct I/O",
        )
    } else {
        Cause::something(Asked::Disks)
    }
}

/// Share of the tested range that was never written.
pub fn never_written_share(target: &View<'_>) -> f64 {
    let extents = target.facts.and_then(|facts| facts.extents.as_ref());
    extents.map_or(0.0, |map| ratio((map.unwritten_bytes + map.hole_bytes) as f64, map.range_bytes as f64))
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
    let (mut findings, mut missing) = (Vec::new(), None);
    for group in &groups {
        for way in Way::BOTH {
            let (done, moved) = (group.done(way), group.moved(way));
            if let Some(few) = Count::of(case, &group.targets, way).missing() {
                missing = Some(few);
                continue;
            }
            let larger = ratio(moved.size(), done.size());
            // Where most bytes never came to the disk, served-from-cache tells sizes and rates as well.
            let is_told = ratio(reach::most(case, group, way).bytes, done.bytes) < MOVED_INVALID;
            if larger < SIZE_REMARK || moved.ios >= done.ios / SIZE_REMARK || is_told {
                continue;
            }
            let misleads = larger >= SIZE_SUSPECT && done.size() < LARGE_BYTES;
            let grade = if misleads { FindingGrade::Suspect } else { FindingGrade::Remark };
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
                    .advise(unmerged(group))
                    .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
                    .figure(&format!("issued_{}_bytes_mean", way.word()), done.size())
                    .figure(&format!("disk_{}s_per_s", way.word()), moved.ios)
                    .figure(&format!("disk_{}_bytes_mean", way.word()), moved.size()),
            );
        }
    }
    unless_missing(findings, missing)
}

/// What to do so that I/Os reach the disk one by one: what the line has already is no advice. None is that of the rule.
fn unmerged(group: &Group<'_>) -> &'static str {
    let any = |holds: fn(&Target) -> bool| {
        group.targets.iter().any(|target| target.entries.iter().any(|entry| holds(entry)))
    };
    if any(|entry| entry.random_percent == 0) {
        return "";
    }
    if any(|entry| entry.random_percent < 100) {
        return "these IOPS are not the disk's: use only random I/O (-r instead of -rs), or use only the throughput of this result";
    }
    if any(|entry| !entry.is_direct()) {
        return "these IOPS are not the disk's: bypass the page cache, which joins neighbouring blocks (-Su or -Sh), or use only the \
                throughput of this result";
    }
    "these IOPS are not the disk's: test a larger range, or with fewer I/Os in flight (-o, -t), so that random I/Os are seldom \
     neighbours, or use only the throughput of this result"
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
                let finding = found(FindingGrade::Suspect, says)
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
        found(FindingGrade::Suspect, says)
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

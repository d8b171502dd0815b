//! Did the I/O reach the disks, and as what?
//!
//! Do several threads, or several requests, walk through the same data?
//!
//! Did the disks have to read more than the test asked for?

use super::reach;
use super::served::MOVED_INVALID;
use crate::cause::RuleFn::RealSpan;
use crate::cause::{
    Case, Cause, Missing, RuleResult, Sentence, TargetNow, found, ratio, rule, suspect, unless_missing,
};
use crate::view::{Direction, DiskGroup, IoCount, RestsOn, TargetView};
use truespd_core::profile::Target;
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{
    Finding, FindingGrade, Layer, LayerKind, Limit, LimitKind, OpenedKind, TargetFacts, Theme,
};
use truespd_platform::text::{bytes, number, part_percent, percent, size};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("coalesced", Theme::Cache).judged(
        rule(170, Suspect, WrongNumber, RealSpan(coalesced)),
        "The disks received fewer and larger I/Os than the test issued: from 1.5 times the size the result \
         is suspect, unless the test's I/Os were 64 KiB or larger.",
        "these IOPS are not the disk's: use random I/O (-r), or use only the throughput of this result",
    ),
    Cause::new("read-amplified", Theme::Cache).judged(
        rule(180, Suspect, WrongNumber, RealSpan(read_amplified)),
        "This process had the disks read more than the test asked for: from twice the bytes the result is \
         suspect, from 1.5 times it is a remark.",
        "use -Su or -Sh: direct I/O reads what is asked for and nothing ahead",
    ),
    Cause::new("working-set", Theme::Cache)
        .inspected(Sentence::Facts(260, small))
        .inspected(Sentence::Target(270, cached))
        .judged(
            rule(190, Suspect, WrongNumber, RealSpan(working_set)),
            "The tested range fits into memory while the page cache is in use, or it is smaller than 1 GiB \
             and than 1 % of the disk.",
            "test a range much larger than all caches, e.g. -c20G",
        ),
    Cause::new("threads-overlap", Theme::Cache).judged(
        rule(200, Suspect, WrongNumber, RealSpan(threads_overlap)),
        "Several threads walk through the same data past the page cache, from the same place or less than \
         1 GiB apart (-s without -si or -T, or with a small -T), or several requests of a thread do (-p).",
        "let the threads share one walk (-si), or keep them apart (-T<size>)",
    ),
    Cause::new("skew-missed", Theme::Cache).judged(
        rule(205, Suspect, WrongNumber, RealSpan(skew_missed)),
        "With --zipf, the hottest hundredth of the blocks got another share of the I/Os than Zipf's law gives it: more \
         than half a percentage point off, and further than chance explains (5 standard deviations).",
        "this is a fault of TrueSpd: report it, and do not use this result",
    ),
    Cause::new("empty", Theme::Content).inspected(Sentence::Facts(280, empty)),
    Cause::new("no-room", Theme::Target).inspected(Sentence::Target(310, no_room)),
];

/// Shares that differ by less are as good as the same.
const SKEW_OFF: f64 = 0.005;

/// Chance does not explain so many standard deviations.
const SKEW_DEVIATIONS: f64 = 5.0;

/// Zipf's law against the places that were drawn.
fn skew_missed(case: &Case<'_>) -> RuleResult {
    let mut findings = Vec::new();
    for result in case.measured.threads.iter().flat_map(|thread| &thread.targets) {
        let Some((skew, observed)) = result.skew.and_then(|skew| Some((skew, skew.observed()?))) else {
            continue;
        };
        let deviation = (skew.expected * (1.0 - skew.expected) / skew.ios as f64).sqrt();
        let off = (observed - skew.expected).abs();
        if off <= SKEW_OFF || off <= SKEW_DEVIATIONS * deviation {
            continue;
        }
        let [expected, was] = [skew.expected, observed].map(percent);
        let says = format!(
            "Zipf's law gives the hottest hundredth of the blocks {expected} of the random I/Os, but it got {was}."
        );
        let finding = suspect(says).target(Some(&result.path));
        findings.push(finding.figure("expected", skew.expected).figure("observed", observed));
    }
    Ok(findings)
}

/// From here on the disk's operations are not the ones that were issued.
const SIZE_SUSPECT: f64 = 1.5;

/// From here on it is worth a remark.
const SIZE_REMARK: f64 = 1.1;

/// I/Os of this size and more are issued for throughput, which merging does not change: a remark only.
const LARGE_BYTES: f64 = 64.0 * 1024.0;

/// Mean size and rate at the disks against those issued.
fn coalesced(case: &Case<'_>) -> RuleResult {
    let groups = case.groups()?;
    let (mut findings, mut missing) = (Vec::new(), None);
    for group in &groups {
        for way in Direction::BOTH {
            let (done, moved) = (group.done(way), group.moved(way));
            if let Some(few) = IoCount::new(case, &group.targets, way).missing() {
                missing = Some(few);
                continue;
            }
            let larger = ratio(moved.size(), done.size());
            // Where most bytes never came to the disk, served-from-cache tells sizes and rates as well.
            let most = reach::most(case, group, way);
            let is_told = most.is_some_and(|most| ratio(most.bytes, done.bytes) < MOVED_INVALID);
            if larger < SIZE_REMARK || moved.ios >= done.ios / SIZE_REMARK || is_told {
                continue;
            }
            let misleads = larger >= SIZE_SUSPECT && done.size() < LARGE_BYTES;
            let grade = if misleads { FindingGrade::Suspect } else { FindingGrade::Remark };
            let says = format!(
                "The test issued {} {}/s of {}, but {} received {}/s of {}: neighbouring I/Os were merged.",
                number(done.ios),
                way.plural(),
                bytes(done.size()),
                group.names(),
                number(moved.ios),
                bytes(moved.size())
            );
            findings.push(
                found(grade, says)
                    .target(group.path())
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

/// What to do so that I/Os reach the disk one by one: what the line has already is no advice. None is that of the
/// rule.
fn unmerged(group: &DiskGroup<'_>) -> &'static str {
    let mut entries = group.targets.iter().flat_map(|target| &target.entries);
    let least_random = entries.clone().map(|entry| entry.random_percent).min().unwrap_or(100);
    if least_random == 0 {
        return "";
    }
    if least_random < 100 {
        return "these IOPS are not the disk's: use only random I/O (-r instead of -rs), or use only the throughput \
             of this result";
    }
    if entries.any(|entry| !entry.is_direct()) {
        return "these IOPS are not the disk's: bypass the page cache, which joins neighbouring blocks (-Su or -Sh), \
             or use only the throughput of this result";
    }
    "these IOPS are not the disk's: test a larger range, or with fewer I/Os in flight (-o, -t), so that random I/Os \
     are seldom neighbours, or use only the throughput of this result"
}

/// A tested range below this fits into the cache of a controller, a drive or a host.
pub(crate) const RANGE_SMALL_BYTES: u64 = 1 << 30;

/// Unless it is this part of the disk or more: a small disk has small caches.
pub(crate) const RANGE_SMALL_PART: f64 = 0.01;

/// The tested range fits into a cache that it must defeat.
fn working_set(case: &Case<'_>) -> RuleResult {
    let mut views = case.views();
    views.retain(|target| target.rests_on() != RestsOn::MemoryFilesystem);
    let (mut findings, mut missing) = (Vec::new(), None);
    let cached: u64 = views.iter().map(TargetView::cacheable_bytes).sum();
    if cached > 0 {
        match memory_for_cache(case.document.system.memory_bytes, &case.evidence().limits) {
            Some(memory) if cached < memory => {
                let says = format!(
                    "The test used the page cache for {} of its range, which fits into {} of memory.",
                    bytes(cached as f64),
                    bytes(memory as f64)
                );
                let finding =
                    suspect(says).figure("range_bytes", cached as f64).figure("memory_bytes", memory as f64);
                findings.push(
                    finding
                        .advise("bypass the page cache with -Su or -Sh, or test a range larger than memory"),
                );
            }
            Some(_) => {}
            None => missing = Some(Missing::new("the memory of the machine")),
        }
    }
    let direct: Vec<&TargetView<'_>> = views.iter().filter(|target| target.cacheable_bytes() == 0).collect();
    for target in &direct {
        if target.range_bytes() == 0 {
            missing.get_or_insert(Missing(format!("the size of '{}'", target.path())));
        }
    }
    findings.extend(small_ranges(&direct));
    unless_missing(findings, missing)
}

/// Ranges that fit into a cache of the disks they share: what lies on the same disks is one working set.
fn small_ranges(direct: &[&TargetView<'_>]) -> Vec<Finding> {
    // Targets by the names of their lowest devices.
    let mut sets: Vec<(Vec<&Layer>, Vec<&TargetView<'_>>)> = Vec::new();
    for target in direct.iter().filter(|target| target.range_bytes() > 0) {
        let lowest: Vec<&Layer> = target.lowest().collect();
        let same = sets.iter_mut().find(|(known, _)| {
            known.iter().map(|layer| &layer.name).eq(lowest.iter().map(|layer| &layer.name))
        });
        match same {
            Some((_, targets)) => targets.push(target),
            None => sets.push((lowest, vec![target])),
        }
    }
    sets.iter().filter_map(|(lowest, targets)| small_range(lowest, targets)).collect()
}

fn small_range(lowest: &[&Layer], targets: &[&TargetView<'_>]) -> Option<Finding> {
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
    Some(suspect(says).target(path).figure("range_bytes", range as f64).figure("disk_bytes", disk as f64))
}

/// Memory that the page cache may take: that of the machine, or of the container.
fn memory_for_cache(machine_bytes: Option<u64>, limits: &[Limit]) -> Option<u64> {
    let limits = limits.iter().filter(|limit| limit.what == LimitKind::MemoryBytes).map(|limit| limit.value);
    limits.chain(machine_bytes).min()
}

/// Smaller than caches that direct I/O does not bypass.
fn small(facts: &TargetFacts) -> Option<String> {
    let disk: u64 = facts.lowest().filter_map(|layer| layer.size_bytes).sum();
    let is_part = disk > 0 && facts.size_bytes as f64 >= RANGE_SMALL_PART * disk as f64;
    if facts.layers.iter().any(|l| matches!(l.kind, LayerKind::MemoryFilesystem | LayerKind::Memory))
        || is_part
        || !(1..RANGE_SMALL_BYTES).contains(&facts.size_bytes)
    {
        return None;
    }
    let of_disk = match disk {
        0 => String::new(),
        disk => {
            format!(" ({} of a disk of {})", part_percent(facts.size_bytes as f64 / disk as f64), size(disk))
        }
    };
    Some(format!(
        "The target is small, {}{of_disk}: a cache of the drive, the controller or the host can hold all of it, even \
         with -Su. Test a range much larger than all caches.",
        size(facts.size_bytes)
    ))
}

/// Where memory may answer instead of the disk.
fn cached(now: &TargetNow<'_>) -> Option<String> {
    let facts = now.facts;
    if facts.layers.iter().any(|l| matches!(l.kind, LayerKind::MemoryFilesystem | LayerKind::Memory))
        || facts.direct_alignment_bytes.is_none()
        || facts.size_bytes == 0
    {
        return None;
    }
    let memory_bytes = memory_for_cache(now.machine.memory_bytes, now.limits)?;
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

fn empty(facts: &TargetFacts) -> Option<String> {
    (facts.size_bytes == 0).then(|| "The target is empty: give it a size with -c.".to_string())
}

/// Sequential walks past the page cache that follow each other closely: what the first one fetches, a buffer
/// of the disk can give to the others.
fn threads_overlap(case: &Case<'_>) -> RuleResult {
    let targets = case.span.targets.iter().filter(|target| target.random_percent == 0 && target.is_direct());
    Ok(targets.filter_map(|target| overlap(case, target)).collect())
}

fn overlap(case: &Case<'_>, target: &Target) -> Option<Finding> {
    let threads = if target.interlocked { 1 } else { case.span.threads_on(target) };
    let requests = if target.parallel { target.request_count } else { 1 };
    // Requests of one thread begin at one place; threads where -T puts them.
    let gap = if requests > 1 { 0 } else { target.thread_stride_bytes };
    let walks = u64::from(threads) * u64::from(requests);
    if walks < 2 || gap >= RANGE_SMALL_BYTES || walked(case, target) / u64::from(requests) <= gap {
        return None;
    }
    let way = match (target.reads(), target.writes()) {
        (true, true) => "read or written",
        (false, _) => "written",
        _ => "read",
    };
    let (who, begin, advice) = match (requests, gap) {
        (2.., _) => (
            format!("{walks} sequential requests"),
            "at the same place (-p)".to_string(),
            "leave -p out, so that each request takes the next block",
        ),
        (_, 0) => (
            format!("{threads} threads"),
            "at the same place (-s without -si or -T)".to_string(),
            "let the threads share one walk (-si), or keep them apart (-T<size>, with the size of the file divided by \
             the threads)",
        ),
        (_, gap) => (
            format!("{threads} threads"),
            format!("only {} apart (-T)", bytes(gap as f64)),
            "set -T to the size of the file divided by the threads, or let the threads share one walk (-si)",
        ),
    };
    let says = format!(
        "{who} walk through the target and begin {begin}, so each block is {way} up to {walks} times within a short \
         time: from the second time on a buffer of the disk can answer."
    );
    Some(
        suspect(says)
            .target(Some(&target.path))
            .figure("walks", walks as f64)
            .figure("distance_bytes", gap as f64)
            .advise(advice),
    )
}

/// How far the fastest thread came in the measured time, in bytes.
fn walked(case: &Case<'_>, target: &Target) -> u64 {
    let threads = case.measured.threads.iter();
    let own = threads.flat_map(|thread| &thread.targets).filter(|result| result.path == target.path);
    let ios = own.map(|result| result.read.ios.saturating_add(result.write.ios));
    ios.max().unwrap_or(0).saturating_mul(target.stride())
}

/// From here on the rate is that of reading ahead, not of the I/Os asked for.
const TIMES_SUSPECT: f64 = 2.0;

/// From here on it is worth a remark.
const TIMES_REMARK: f64 = 1.5;

/// What is read beyond the end of a sequential run is no more than this.
const EXCESS_BYTES: f64 = (16 << 20) as f64;

/// Bytes that this process had the disks read against those that it asked for.
fn read_amplified(case: &Case<'_>) -> RuleResult {
    let groups = case.groups()?;
    // The account is one for all targets.
    let [group] = groups.as_slice() else { return Ok(Vec::new()) };
    let done = group.done(Direction::Read);
    if done.bytes <= 0.0 || group.targets.len() != case.views().len() {
        return Ok(Vec::new());
    }
    let host = case.evidence().host.as_ref();
    let Some(own) = host.and_then(|host| host.own_disk_read_bytes) else {
        let missing = Missing::new("how much this process itself had the disks read");
        // Direct I/O reads nothing ahead.
        return unless_missing(
            Vec::new(),
            (!group.targets.iter().all(TargetView::is_direct)).then_some(missing),
        );
    };
    // The kernel counts a read twice that it tries twice, as when the queue of the device is full; the disks know.
    let own = ratio(own as f64, case.seconds()).min(group.moved(Direction::Read).bytes);
    let times = ratio(own, done.bytes);
    if times < TIMES_REMARK || (own - done.bytes) * case.seconds() < EXCESS_BYTES {
        return Ok(Vec::new());
    }
    let grade = if times >= TIMES_SUSPECT { FindingGrade::Suspect } else { FindingGrade::Remark };
    let says = format!(
        "The test completed {}/s of reads, but had {} read {}/s for them, {} times as much: {}.",
        bytes(done.bytes),
        group.names(),
        bytes(own),
        number(times),
        why_amplified(group)
    );
    let is_direct = group.targets.iter().all(TargetView::is_direct);
    let advice = if is_direct {
        "use larger I/Os (-b), or a file system that reads no more than it is asked for"
    } else {
        ""
    };
    let finding = found(grade, says).target(group.path()).advise(advice).figure("read_amplification", times);
    Ok(vec![
        finding.figure("completed_read_bytes_per_s", done.bytes).figure("own_disk_read_bytes_per_s", own),
    ])
}

/// Why so much was read.
fn why_amplified(group: &DiskGroup<'_>) -> String {
    if group.targets.iter().any(|target| target.asked.memory_mapped) {
        return "each fault of a memory-mapped file (-Sm) reads its surroundings, too".to_string();
    }
    if group.targets.iter().any(|target| !target.is_direct()) {
        return "the page cache reads whole pages, and ahead of what is asked for".to_string();
    }
    let reduced = group.targets.iter().filter(|target| target.is_reduced_above_disks());
    match reduced.filter_map(TargetView::reduced_by).next() {
        Some(by) => format!("{by}, and reads compressed extents as a whole"),
        None => "the file system reads more than it is asked for".to_string(),
    }
}

/// No test file fits beside the target.
fn no_room(now: &TargetNow<'_>) -> Option<String> {
    now.no_new_file.map(str::to_string)
}

//! Did the I/O reach the disks, and as what?

use super::reach::{self, Asked, By, MOVED_SUSPECT, Most, Substitute, residency_growth};
use super::{behind, network, paths};
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, Sentence, found, ratio, rule, unless_missing};
use crate::doctor::Purpose::Every;
use crate::doctor::{Answer, Change, CheckResult, Disk, HostView, Lasts, NoAnswer, each_disk};
use crate::view::{Direction, DiskGroup, Flow, IoCount, TargetView};
use truespd_core::result::FindingGrade::Invalid;
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{Finding, FindingGrade, Layer, LayerKind, TargetFacts, Theme};
use truespd_platform::text::{bytes, number, percent, shell_word};

pub(super) const CAUSES: &[Cause] = &[Cause::new("served-from-cache", Theme::Cache)
    .inspected(Sentence::Layer(160, behind_the_page_cache))
    .inspected(Sentence::Facts(250, no_direct_io))
    .checked(
        each_disk(30, "loop-cache", Every, loop_cache),
        "how a loop device accesses its file",
        "Through the page cache.",
        "Reads can be as fast as memory, and writes that are not written through are done before the disk \
         has them.",
        "losetup(8), the kernel's ABI/testing/sysfs-block-loop",
    )
    .judged(
        rule(120, Invalid, WrongNumber, RealSpan(served_from_cache)),
        "Even if everything that the disks moved was the test's, it is less than 90 % of the bytes that \
         the test completed (suspect), or less than half of them (invalid). The same holds for the server \
         of a network file system. What the disks moved is the least of what their own counters show, of \
         what this process itself had them move, and of what the page cache of a loop device did not hold \
         before. Reads and writes are compared separately.",
        "bypass the page cache with -Su or -Sh, and look for other caches between the test and the disk",
    )];

/// Below this most of the bytes never were at the disks.
pub(super) const MOVED_INVALID: f64 = 0.50;

/// Bytes completed against bytes that the disks can have moved for the test, reads and writes apart.
fn served_from_cache(case: &Case<'_>) -> RuleResult {
    let groups = match (case.groups(), case.hidden()) {
        (Ok(groups), _) => groups,
        (Err(_), Some(hidden)) => vec![hidden],
        (Err(missing), None) => return Err(missing),
    };
    let (mut findings, mut missing) = network::served_from_cache(case);
    for group in &groups {
        for way in Direction::BOTH {
            let done = group.done(way);
            let count = IoCount::new(case, &group.targets, way);
            if done.bytes <= 0.0 || count.is_too_few() {
                missing = missing.or(count.missing());
                continue;
            }
            let Some(most) = reach::most(case, group, way) else {
                let lacks = if behind::is_moved(case, group, way) { None } else { group.targets.first() };
                missing = missing.or(lacks.map(Missing::layers));
                continue;
            };
            let share = reach::share(case, group, way, most.bytes);
            if share < MOVED_SUSPECT {
                findings.push(not_at_the_disks(case, group, way, most, share));
            }
        }
    }
    unless_missing(findings, missing)
}

/// The finding that a part of the bytes never was at the disks.
fn not_at_the_disks(
    case: &Case<'_>,
    group: &DiskGroup<'_>,
    way: Direction,
    most: Most<'_>,
    share: f64,
) -> Finding {
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
        .target(group.path())
        .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
        .figure(&figure("completed"), done.bytes);
    if !group.disks.is_empty() {
        finding = finding
            .figure(&format!("disk_{}s_per_s", way.word()), moved.ios)
            .figure(&figure("disk"), moved.bytes);
    }
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
fn reached(group: &DiskGroup<'_>, way: Direction, most: Most<'_>) -> String {
    let (done, moved) = (group.done(way), group.moved(way));
    let share = percent(ratio(most.bytes, done.bytes));
    match most.by {
        By::Disks => format!("{} received {}", group.names(), seen(moved, done)),
        By::Own => {
            let does = way.pick("read from", "wrote to");
            let (own, of_all) = match most.bytes {
                own if own > 0.0 => (format!("only {}/s", bytes(own)), format!("{share} of the bytes; ")),
                _ => ("nothing".to_string(), String::new()),
            };
            let others = if group.disks.is_empty() {
                "which these are is not visible here".to_string()
            } else {
                format!(
                    "{} moved {}/s with the {} of others",
                    group.names(),
                    bytes(moved.bytes),
                    way.plural()
                )
            };
            format!("by the kernel's account this process {does} the disks {own} ({of_all}{others})")
        }
        By::Loop(cache) => format!(
            "{} of '{}', on which {} stands, was in the page cache before, and its disk can have given no more than \
             {}/s ({share} of the bytes)",
            percent(ratio(cache.residency.cached_before_bytes as f64, cache.residency.range_bytes as f64)),
            cache.path,
            cache.device,
            bytes(most.bytes)
        ),
    }
}

/// How much of what was read the page cache held before the run, where it answered.
fn held_before(group: &DiskGroup<'_>, way: Direction, cause: &Substitute) -> String {
    if way == Direction::Write || !cause.is_page_cache {
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
fn cause(group: &DiskGroup<'_>, way: Direction, share: f64, own_less: bool) -> Substitute {
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
        let advice = "to measure the disk, write and read random data (-Zr), or turn compression and deduplication \
             off";
        return Substitute {
            is_not_the_target: false,
            least: Some(reduction.least),
            ..Substitute::of(&format!("{}, so the disk moved less ({data})", reduction.by), advice)
        };
    }
    let cause = cause_below(group, way, true, own_less);
    let words = format!(
        "{}; {}, which explains {} of the bytes but not less ({data})",
        cause.words,
        reduction.by,
        percent(reduction.least)
    );
    Substitute { words, least: Some(reduction.least), ..cause }
}

/// Layers that leave at least this part of data keep them, for all that is known, nearly as they are.
const COMPRESSIBLE: f64 = 0.4;

/// Whether a cache is known to have answered most of the bytes, or a loop device reads through one.
fn is_evident(group: &DiskGroup<'_>, way: Direction) -> bool {
    group.targets.iter().any(|target| {
        if target.layers().iter().any(Layer::is_cached_loop) {
            return true;
        }
        let Some(seen) = target.residency() else { return false };
        let grew = seen.cached_after_bytes.saturating_sub(seen.cached_before_bytes) as f64;
        // What came in once was read, and only what was met again was answered.
        way == Direction::Read
            && (target.was_mostly_cached() || (grew > 0.0 && group.done_bytes(way) > 2.0 * grew))
    })
}

/// What the profile and the layout of the target tell.
fn cause_in_the_profile(group: &DiskGroup<'_>, way: Direction) -> Option<Substitute> {
    let most = |holds: &dyn Fn(&TargetView<'_>) -> bool| {
        let with: f64 = group.targets.iter().filter(|t| holds(t)).map(|t| t.done(way).bytes).sum();
        with * 2.0 >= group.done(way).bytes
    };
    if way == Direction::Read && most(&|target| !target.trims() && target.never_written_share() >= 0.5) {
        return Some(Substitute::of(
            "most of the tested range was never written, so reads there need no disk",
            "write the whole range once before reading it: -c makes such a file; a device needs a write test over \
             all of it (-w100 -Zr), which destroys its content",
        ));
    }
    if most(&|target| target.asked.memory_mapped) {
        return Some(Substitute::mapped(Asked::Disks));
    }
    let is_cached = most(&|target| !target.is_direct());
    is_cached.then(|| Substitute::not_bypassed(way, Asked::Disks))
}

/// What the layers and the page cache tell. `is_reduced`: the file system or a layer below makes data smaller.
fn cause_below(group: &DiskGroup<'_>, way: Direction, is_reduced: bool, own_less: bool) -> Substitute {
    if !own_less && group.targets.iter().any(|target| target.layers().iter().any(Layer::is_cached_loop)) {
        return Substitute::cached_loop();
    }
    // Pages that were there before prove nothing where the file system honours direct I/O: it goes by them.
    let goes_by = way == Direction::Write || !(is_reduced || own_less);
    let is_held = group.targets.iter().any(|target| {
        residency_growth(target).is_some_and(|(_, notable)| notable)
            || (!goes_by && target.was_mostly_cached())
    });
    if way == Direction::Read && group.targets.iter().any(paths::reads_from_peers) {
        let advice = "let DRBD bring the disk of this node up to date before reads are measured";
        return Substitute {
            is_not_the_target: false,
            ..Substitute::of(
                "DRBD read from another node, because the disk of this one is not up to date",
                advice,
            )
        };
    }
    if is_held && is_reduced {
        return Substitute::page_cache(
            "the page cache answered, although the test asked for direct I/O",
            "file systems read what they keep compressed through the page cache: make the file again without \
             compression (btrfs: mount without compress, or chattr +m on the new file)",
        );
    }
    let reads_zeros = group.targets.iter().any(|target| {
        let sample = target.facts.and_then(|facts| facts.content.as_ref());
        target.is_thin() || sample.is_some_and(|sample| sample.zero_blocks > 0)
    });
    if way == Direction::Read && reads_zeros {
        return Substitute::of(
            "reads of zeros need no disk (holes, and blocks that were trimmed or never provisioned)",
            "write the whole range once with -Zr before reading it, which destroys its content",
        );
    }
    if is_held {
        Substitute::page_cache(
            "the page cache answered, although the test asked for direct I/O",
            "choose a file system that supports direct I/O",
        )
    } else {
        Substitute::something(Asked::Disks)
    }
}

fn behind_the_page_cache(layer: &Layer) -> Option<String> {
    layer.is_cached_loop().then(|| {
        format!(
            "{0} uses the page cache for its file: even with -Su memory may answer. losetup --direct-io=on /dev/{0} \
             changes that if the file system of the file supports it.",
            layer.name
        )
    })
}

fn no_direct_io(facts: &TargetFacts) -> Option<String> {
    facts.direct_alignment_bytes.is_none().then(|| {
        "Direct I/O is not possible here: every I/O goes through the page cache, which answers reads of data that fit \
         into memory."
            .to_string()
    })
}

fn loop_cache(_: &HostView, disk: &Disk) -> CheckResult {
    if disk.layer.kind != LayerKind::Loop {
        return Err(NoAnswer::absent("It is no loop device."));
    }
    match disk.layer.direct_io {
        None => Err(NoAnswer::unknown("The kernel does not tell how its file is accessed.")),
        Some(true) => Ok(Answer::good("Its file is accessed around the page cache.").now("direct I/O")),
        Some(false) => {
            let says = "It uses the page cache for its file: memory may answer, also with -Su and -Sh. The command \
                 fails where the file system of the file has no direct I/O.";
            let node = shell_word(&format!("/dev/{}", disk.device.node_name()));
            let set = |word: &str| format!("losetup --direct-io={word} {node}");
            let change = Change::by(set("on"), set("off"), Lasts::UntilRestart)
                .keep("the same option when it is set up");
            Ok(Answer::spoils(says).now("page cache").wanted("direct I/O").change(change))
        }
    }
}

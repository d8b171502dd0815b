//! Did the disks get I/Os as large as the test asked for?

use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, RuleResult, Sentence, ratio, remark, rule, suspect, unless_missing};
use crate::room::{pieces_per_byte, writes_elsewhere};
use crate::view::{Direction, DiskGroup, Flow, IoCount, TargetView};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{Finding, LayerRole, TargetFacts, Theme};
use truespd_platform::text::{bytes, grouped, number};

pub(super) const CAUSES: &[Cause] = &[Cause::new("fragmented", Theme::Cache)
    .inspected(Sentence::Facts(35, fragments_now))
    .judged(
        rule(175, Suspect, WrongNumber, RealSpan(fragmented)),
        "The disks received more and smaller I/Os than the test issued past the page cache, beyond what the largest \
         request of a layer explains. Suspect from twice as many on where the extents of the file explain half of that \
         or more (or those of the file of a loop device), a remark from 1.5 times on; a remark where nothing explains \
         twice as many reads. Arrays and stripes are left out: they split by their nature.",
        "make the file anew where it finds room in one piece (-c with --recreate, on a file system with free space), \
         or test with blocks no larger than its extents (-b)",
    )];

/// So many times as many I/Os as honest splitting makes: the disks did another test.
const PIECES_SUSPECT: f64 = 2.0;

/// From here on they are worth a remark.
const PIECES_REMARK: f64 = 1.5;

/// The part of the I/Os in excess that the extents must explain.
const EXPLAINED: f64 = 0.5;

/// Bytes at the disks beside those of the test mean that the I/Os there are not those of the test.
const SAME_BYTES: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// The smallest part of memory that a request can have, and the smallest block of a file.
const SEGMENT_BYTES: u64 = 4096;

/// I/Os at the disks for each of the test.
fn fragmented(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for group in &case.groups()? {
        for way in Direction::BOTH {
            match IoCount::new(case, &group.targets, way).missing() {
                Some(few) => missing = Some(few),
                None => findings.extend(in_pieces(group, way)),
            }
        }
    }
    unless_missing(findings, missing)
}

fn in_pieces(group: &DiskGroup<'_>, way: Direction) -> Option<Finding> {
    let (done, moved) = (group.done(way), group.moved(way));
    if done.ios <= 0.0 || !group.targets.iter().all(goes_as_it_is) {
        return None;
    }
    let pieces = ratio(moved.ios, done.ios);
    let limit = group.targets.iter().filter_map(request_bytes_max).min();
    let honest = limit.map_or(1.0, |limit| (done.size() / limit as f64).ceil().max(1.0));
    if pieces < PIECES_REMARK * honest || moved.size() >= done.size() {
        return None;
    }
    let (own, below) = group.targets.iter().map(|target| by_extents(target, way)).fold((0.0, 0.0), sum);
    let (own, below) = (ratio(own, done.ios), ratio(below, done.ios));
    let sizes = format!(
        "The test issued {} {}/s of {}, but {} received {}/s of {}, {} for each",
        number(done.ios),
        way.plural(),
        bytes(done.size()),
        group.names(),
        number(moved.ios),
        bytes(moved.size()),
        number(pieces)
    );
    if own + below < EXPLAINED * (pieces - honest) {
        return unexplained(group, way, pieces / honest, &sizes).map(|one| figures(one, group, way, moved));
    }
    let mean = ratio(done.size() - SEGMENT_BYTES as f64, own.max(below));
    let what = if own >= below { "the file lies" } else { "the file of the loop device below lies" };
    let says = format!(
        "{sizes}: {what} in extents of {} on average, and no I/O goes on beyond the end of one. This is the rate of \
         scattered pieces.",
        bytes(mean)
    );
    let finding = if pieces >= PIECES_SUSPECT * honest { suspect(says) } else { remark(says) };
    Some(figures(finding, group, way, moved).figure("extent_bytes_mean", mean))
}

fn figures(finding: Finding, group: &DiskGroup<'_>, way: Direction, moved: Flow) -> Finding {
    let done = group.done(way);
    finding
        .target(group.path())
        .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
        .figure(&format!("issued_{}_bytes_mean", way.word()), done.size())
        .figure(&format!("disk_{}s_per_s", way.word()), moved.ios)
        .figure(&format!("disk_{}_bytes_mean", way.word()), moved.size())
}

/// Writes also make the file system write, and copies on write come with their lists: only reads need a reason.
fn unexplained(group: &DiskGroup<'_>, way: Direction, times: f64, sizes: &str) -> Option<Finding> {
    let share = ratio(group.moved(way).bytes, group.done(way).bytes);
    let writes = group.done(Direction::Write).ios > 0.0;
    let is_plain = group.targets.iter().all(|target| !target.facts.is_some_and(writes_elsewhere));
    if way == Direction::Write
        || writes
        || !is_plain
        || times < PIECES_SUSPECT
        || !SAME_BYTES.contains(&share)
    {
        return None;
    }
    let says = format!(
        "{sizes}: a layer splits them. Neither the largest request of a layer nor the extents of the file explain it."
    );
    Some(
        remark(says).advise(
            "see which layers lie below (truespd inspect); the disk did the smaller I/Os at the rate that is told here",
        ),
    )
}

fn sum(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0 + other.0, one.1 + other.1)
}

/// Whether nothing between the test and the disks makes other I/Os of those of the test by its nature: no page cache,
/// no array, nothing that compresses.
fn goes_as_it_is(target: &TargetView<'_>) -> bool {
    let is_split = target
        .layers()
        .iter()
        .any(|layer| layer.below.len() > 1 || layer.is_cached_loop() || layer.role() == LayerRole::Array);
    target.is_direct() && !target.asked.memory_mapped && !is_split && target.reduced_by().is_none()
}

/// The largest request that goes through all layers in one piece, whatever memory it is made of.
fn request_bytes_max(target: &TargetView<'_>) -> Option<u64> {
    let each = target.layers().iter().flat_map(|layer| {
        [layer.request_bytes_max, layer.segments_max.map(|parts| u64::from(parts) * SEGMENT_BYTES)]
    });
    each.flatten().filter(|&bytes| bytes > 0).min()
}

/// Ends of extents that the I/Os of a target met, per second: on its file system, and below loop devices.
fn by_extents(target: &TargetView<'_>, way: Direction) -> (f64, f64) {
    let (own, below) = target.facts.map_or((0.0, 0.0), pieces_per_byte);
    let done = target.done(way);
    // Ends lie between blocks of the file system: one that an I/O begins or stops at splits nothing.
    let inside = (done.bytes - done.ios * SEGMENT_BYTES as f64).max(0.0);
    (own * inside, below * inside)
}

/// Extents smaller than this split the blocks of most sequential tests.
const EXTENT_SMALL_BYTES: f64 = (1 << 20) as f64;

/// A few extents are no fragments.
const EXTENTS_MIN: u64 = 16;

fn fragments_now(facts: &TargetFacts) -> Option<String> {
    let extents = facts.extents.as_ref().map_or(0, |map| map.extents);
    let below = facts.allocation.iter().map(|one| one.extents).max().unwrap_or(0);
    let (own, under) = pieces_per_byte(facts);
    let (what, count, per_byte) = if own >= under {
        ("The file", extents, own)
    } else {
        ("The file of the loop device below", below, under)
    };
    let mean = ratio(1.0, per_byte);
    if count < EXTENTS_MIN || mean <= 0.0 || mean >= EXTENT_SMALL_BYTES {
        return None;
    }
    Some(format!(
        "{what} lies in {} extents of {} on average: larger blocks reach the disk in several pieces, and a sequential \
         test is none on the disk. Make it anew where it finds room in one piece (-c with --recreate, on a file system \
         with free space).",
        grouped(count),
        bytes(mean)
    ))
}

//! Caches of fast disks before slow ones: dm-cache (LVM), dm-writecache, bcache.

use super::apart::PerIo;
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, Sentence, found, ratio, rule, unless_missing};
use crate::view::{Direction, Flow, IOS_MIN, TargetView};
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{CacheActivity, CacheKind, Finding, Layer, LayerRole, Theme, disks_in_words};
use truespd_platform::text::{bytes, percent};

pub(super) const CAUSES: &[Cause] = &[Cause::new("cache-device", Theme::Cache)
    .inspected(Sentence::Layer(165, has_a_cache))
    .judged(
        rule(121, Suspect, WrongNumber, RealSpan(cache_device)),
        "A cache on a faster disk (dm-cache, dm-writecache, bcache) answered 10 % of the reads and writes or \
         more, by its own counts, or where these are not told by those of the disks: the number is that of \
         the cache, or a mix. Less is a remark.",
        "test the disk behind the cache by itself, or a range far larger than the cache; where the cache is what is \
         to be measured, keep this sentence with the number",
    )];

/// From this part on the number is that of the cache.
const MOSTLY: f64 = 0.90;

/// Below this it is not.
const LITTLE: f64 = 0.10;

/// A write is done when the slow disk has it.
const MODES_THROUGH: [&str; 3] = ["writethrough", "passthrough", "writearound"];

fn is_cached(layer: &Layer) -> bool {
    matches!(layer.role(), LayerRole::CachedVolume | LayerRole::WriteCachedVolume | LayerRole::Bcache)
}

/// Whether a target lies on a device with a cache.
pub(super) fn has_one(target: &TargetView<'_>) -> bool {
    target.layers().iter().any(is_cached)
}

/// What is said before a run.
fn has_a_cache(layer: &Layer) -> Option<String> {
    is_cached(layer).then(|| {
        format!(
            "{} has a cache on another disk. What the cache holds is measured as the cache, not as the disk behind it, \
             and a range that fits into the cache soon lies in it.",
            layer.known_name()
        )
    })
}

/// A cache, and what it answered of one direction.
struct Answered<'a> {
    way: Direction,
    /// I/Os per second that completed on the targets.
    done: f64,
    /// Part that the cache answered.
    share: f64,
    cache: Vec<PerIo<'a>>,
    origin: Vec<PerIo<'a>>,
}

/// Caches of fast disks below the targets.
fn cache_device(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    let views = case.views();
    let mut seen: Vec<&str> = Vec::new();
    for layer in views.iter().flat_map(|target| target.layers()).filter(|layer| is_cached(layer)) {
        if seen.contains(&layer.name.as_str()) {
            continue;
        }
        seen.push(&layer.name);
        let on_it: Vec<&TargetView<'_>> =
            views.iter().filter(|target| target.layers().iter().any(|one| one.name == layer.name)).collect();
        let activity = case.evidence().caches.iter().flatten().find(|cache| cache.layer == layer.name);
        let Some(activity) = activity else {
            missing.get_or_insert(Missing(format!("what the cache of {} answered", layer.known_name())));
            continue;
        };
        // bcache without a cache hands everything on.
        if activity.kind == CacheKind::Bcache && activity.cache_disks.is_empty() {
            continue;
        }
        let mut told = Vec::new();
        for way in Direction::BOTH {
            let done = on_it.iter().fold(Flow::default(), |sum, target| sum.plus(target.done(way)));
            if done.ios * case.seconds() < IOS_MIN {
                continue;
            }
            match answered(case, activity, way, done.ios) {
                Some(one) => told.push(one),
                None => {
                    missing.get_or_insert(Missing(unknown(activity, layer, way)));
                }
            }
        }
        let path = match on_it.as_slice() {
            [one] => Some(one.path()),
            _ => None,
        };
        findings.extend(finding(layer, activity, &told).map(|finding| finding.target(path)));
    }
    unless_missing(findings, missing)
}

fn unknown(activity: &CacheActivity, layer: &Layer, way: Direction) -> String {
    let why = activity.unknown.as_ref().map_or_else(String::new, |why| format!(" (device-mapper: {why})"));
    format!("how many of the {} the cache of {} answered{why}", way.plural(), layer.known_name())
}

/// What the cache answered: by its counts, otherwise by those of the disks. `None` when nothing tells.
fn answered<'a>(
    case: &Case<'a>,
    activity: &'a CacheActivity,
    way: Direction,
    done: f64,
) -> Option<Answered<'a>> {
    let disks = &case.evidence().disks;
    let [cache, origin] = [&activity.cache_disks, &activity.origin_disks].map(|names| {
        let named = disks.iter().filter(|disk| names.contains(&disk.name));
        named.map(|disk| PerIo::of(disk, way, case.seconds())).collect::<Vec<_>>()
    });
    let is_through = activity.mode.as_deref().is_some_and(|mode| MODES_THROUGH.contains(&mode));
    if way == Direction::Write && is_through {
        return Some(Answered { way, done, share: 0.0, cache, origin });
    }
    let share = by_counts(activity, way).or_else(|| by_disks(activity, way, &cache, &origin))?;
    Some(Answered { way, done, share, cache, origin })
}

/// bcache counts late, and only reads.
fn by_counts(activity: &CacheActivity, way: Direction) -> Option<f64> {
    if activity.kind == CacheKind::Bcache {
        return None;
    }
    let counts = activity.total?;
    let (hits, misses) =
        way.pick((counts.read_hits, counts.read_misses), (counts.write_hits, counts.write_misses));
    let all = hits.saturating_add(misses) as f64;
    (all >= IOS_MIN).then(|| ratio(hits as f64, all))
}

/// Bytes at the disks of both sides; nothing where one disk is on both.
fn by_disks(
    activity: &CacheActivity,
    way: Direction,
    cache: &[PerIo<'_>],
    origin: &[PerIo<'_>],
) -> Option<f64> {
    let is_on_both = activity.cache_disks.iter().any(|name| activity.origin_disks.contains(name));
    if is_on_both || cache.is_empty() || origin.is_empty() {
        return None;
    }
    let [fast, slow] = [cache, origin].map(|side| -> f64 {
        let moved = side.iter().map(|one| way.pick(one.disk.total.read_bytes, one.disk.total.write_bytes));
        moved.sum::<u64>() as f64
    });
    (fast + slow > 0.0).then(|| ratio(fast, fast + slow))
}

fn finding(layer: &Layer, activity: &CacheActivity, told: &[Answered<'_>]) -> Option<Finding> {
    let done: f64 = told.iter().map(|one| one.done).sum();
    let share = ratio(told.iter().map(|one| one.share * one.done).sum(), done);
    if told.is_empty() {
        return None;
    }
    let parts: Vec<String> =
        told.iter().map(|one| format!("{} of the {}", percent(one.share), one.way.plural())).collect();
    let parts = parts.join(" and ");
    let name = layer.known_name();
    let fast = if activity.cache_disks.is_empty() {
        format!("the cache ({}) of {name}", activity.kind.word())
    } else {
        format!("{}, the cache ({}) of {name}", disks_in_words(&activity.cache_disks), activity.kind.word())
    };
    let slow = match activity.origin_disks.as_slice() {
        [] => "the disk behind it".to_string(),
        disks => disks_in_words(disks),
    };
    let size = activity.size_bytes.map(|size| format!(" It holds {} at most.", bytes(size as f64)));
    let figures = figures(told);
    let (grade, says) = match share {
        share if share >= MOSTLY => {
            let size = size.unwrap_or_default();
            let says = format!(
                "{parts} went to {fast}, not to {slow}: the number is that of the cache.{size}{figures}"
            );
            (Suspect, says)
        }
        share if share >= LITTLE => {
            let says =
                format!("{parts} went to {fast}, the others to {slow}: the mean is of neither.{figures}");
            (Suspect, says)
        }
        _ => (Remark, format!("{parts} went to {fast}, the others to {slow}.")),
    };
    let mut finding = found(grade, says).figure("cache_part", share);
    if let Some(counts) = &activity.total {
        finding = finding
            .figure("cache_read_hits", counts.read_hits as f64)
            .figure("cache_read_misses", counts.read_misses as f64)
            .figure("cache_write_hits", counts.write_hits as f64)
            .figure("cache_write_misses", counts.write_misses as f64)
            .figure("cache_promoted_bytes", counts.promoted_bytes as f64);
    }
    Some(match activity.dirty_bytes {
        Some(dirty) => finding.figure("cache_dirty_bytes", dirty as f64),
        None => finding,
    })
}

/// What the disks of both sides did; empty where one of them is not counted.
fn figures(told: &[Answered<'_>]) -> String {
    let each = told.iter().flat_map(|one| one.cache.iter().chain(&one.origin).map(|disk| (one.way, disk)));
    let each: Vec<String> =
        each.filter(|(_, disk)| disk.ios > 0.0).map(|(way, disk)| disk.words(way)).collect();
    if each.is_empty() { String::new() } else { format!(" The disks: {}.", each.join("; ")) }
}

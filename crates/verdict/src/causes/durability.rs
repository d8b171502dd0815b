//! Are acknowledged writes safe?

use super::disk;
use crate::cause::RuleFn::RealTarget;
use crate::cause::{Case, Cause, Missing, OneResult, Sentence, ratio, remark, rule, suspect};
use crate::doctor::Purpose::Every;
use crate::doctor::each_disk;
use crate::view::TargetView;
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{Finding, Layer, LayerKind, TargetFacts, Theme};
use truespd_platform::text::number;

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("volatile-cache", Theme::Cache)
        .inspected(Sentence::Layer(170, write_back))
        .checked(
            each_disk(270, "write-cache", Every, disk::write_cache),
            "volatile write cache of the disk",
            "Never: it tells which.",
            "Writes into a volatile cache are several times faster than durable ones.",
            "the kernel's block/writeback_cache_control.rst",
        )
        .judged(
            rule(240, Suspect, WrongNumber, RealTarget(volatile_cache)),
            "Writes without write-through went to the page cache or to a disk with a volatile cache: they \
             were acknowledged before they were durable.",
            "use -Sh or -Sw, which count a write when it is durable; a drive whose cache survives a power \
             failure (as in many servers) may still report a volatile cache (write back)",
        ),
    Cause::new("write-through-unseen", Theme::Cache).judged(
        rule(250, Suspect, WrongNumber, RealTarget(write_through_unseen)),
        "The test asked for write-through, but a disk with a volatile cache and without FUA received too \
         few flushes; or the test flushed (--flush-every), but a disk with a volatile cache received less than \
         a tenth of its flushes. It takes so many writes that 10 flushes are due.",
        "look for a mount option or a driver that drops flushes (nobarrier, or cache=unsafe of a virtual \
         machine)",
    ),
];

/// How the lowest devices below a target cache writes.
enum Below<'a> {
    /// All of them keep what they acknowledge.
    Safe,
    /// These acknowledge from a volatile cache.
    Volatile(Vec<&'a Layer>),
    /// The only thing known, from documents without layers.
    VolatileUnnamed,
    Unknown,
}

fn below<'a>(target: &TargetView<'a>) -> Below<'a> {
    let disks: Vec<&Layer> = target.lowest().filter(|layer| layer.kind != LayerKind::Memory).collect();
    if target.layers().is_empty() {
        return match target.facts.and_then(TargetFacts::has_volatile_cache) {
            None => Below::Unknown,
            Some(true) => Below::VolatileUnnamed,
            Some(false) => Below::Safe,
        };
    }
    let volatile: Vec<&Layer> =
        disks.iter().copied().filter(|layer| layer.has_volatile_cache() == Some(true)).collect();
    if !volatile.is_empty() {
        Below::Volatile(volatile)
    } else if disks.iter().any(|layer| layer.write_cache.is_none()) {
        Below::Unknown
    } else {
        Below::Safe
    }
}

fn names(layers: &[&Layer]) -> String {
    let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    names.join(", ")
}

fn unknown(target: &TargetView<'_>) -> Missing {
    Missing(format!("whether the disks below '{}' have a volatile cache", target.path()))
}

/// Writes without write-through, on something volatile.
fn volatile_cache(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    let flushes_itself = target.entries.iter().all(|entry| entry.memory_mapped && entry.flush.is_some());
    let flushed_every = target.flushed_every();
    let is_each_flushed = flushed_every == Some(1);
    if target.write.ios <= 0.0 || target.is_write_through() || flushes_itself || is_each_flushed {
        return Ok(None);
    }
    let cache = match below(target) {
        Below::Volatile(layers) => Some(format!("volatile cache of {}", names(&layers))),
        Below::VolatileUnnamed => Some("volatile cache of the disk".to_string()),
        Below::Unknown if target.is_direct() => return Err(unknown(target)),
        Below::Safe | Below::Unknown => None,
    };
    let by = match (target.is_direct(), cache) {
        (true, Some(cache)) => format!("The {cache}"),
        (true, None) => return Ok(None),
        (false, Some(cache)) => format!("The page cache, and later the {cache},"),
        (false, None) => "The page cache".to_string(),
    };
    let says = format!("{by} acknowledged {} writes/s before they were durable", number(target.write.ios));
    let finding = match flushed_every {
        Some(every) => {
            remark(format!("{says}; a flush after every {every} writes of a thread made them durable."))
        }
        None => suspect(format!("{says}.")),
    };
    Ok(Some(finding.figure("completed_writes_per_s", target.write.ios)))
}

/// Fewer flushes than this part of one per full queue of writes are none of these writes.
const FLUSHES_PART: f64 = 0.1;

/// When fewer flushes have to be seen than these, the missing ones may have come just before or after.
const FLUSHES_EXPECTED: f64 = 10.0;

/// Write-through was asked for, and the disks were not told to flush.
fn write_through_unseen(case: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    let asked = flushes_asked(case, target);
    if target.write.ios <= 0.0 || (!target.is_write_through() && asked == 0) {
        return Ok(None);
    }
    let mut must_flush = match below(target) {
        Below::Volatile(layers) => layers,
        Below::Safe => return Ok(None),
        Below::VolatileUnnamed | Below::Unknown => return Err(unknown(target)),
    };
    if target.is_write_through() {
        // A device that takes FUA gets it with the write itself, which no counter shows.
        must_flush.retain(|layer| layer.forces_unit_access != Some(true));
    }
    if must_flush.is_empty() {
        return Ok(None);
    }
    let mut flushes = Some(0u64);
    for layer in &must_flush {
        let Some(disk) = case.evidence().disks.iter().find(|disk| disk.name == layer.name) else {
            return Err(Missing(format!("the counters of {} over the measured time", names(&must_flush))));
        };
        flushes = flushes.zip(disk.total.flushes).map(|(sum, more)| sum.saturating_add(more));
    }
    let Some(flushes) = flushes else {
        return Err(Missing::new("the number of flushes, which Linux counts since 5.5"));
    };
    // One flush may serve everything that was in flight; the flushes of others on the same disk are few.
    let in_flight = case.in_flight(std::slice::from_ref(target)).max(1.0);
    let writes = (target.write.ios * case.seconds()).round();
    if !target.is_write_through() {
        return Ok(flushes_unseen(asked, flushes, in_flight, &names(&must_flush)));
    }
    if flushes as f64 >= ratio(writes, in_flight) * FLUSHES_PART {
        return Ok(None);
    }
    if writes < FLUSHES_EXPECTED * in_flight {
        return Err(Missing::too_few(&format!("{} writes", number(writes)), FLUSHES_EXPECTED * in_flight));
    }
    let received = match flushes {
        0 => "no flush".to_string(),
        few => format!("only {} flushes", number(few as f64)),
    };
    let says = format!(
        "The test asked for write-through and completed {} writes, but {}, with a volatile cache, received {received}.",
        number(writes),
        names(&must_flush)
    );
    Ok(Some(suspect(says).figure("flushes", flushes as f64).figure("completed_writes", writes)))
}

/// Flushes of the test itself on a target (`--flush-every`).
fn flushes_asked(case: &Case<'_>, target: &TargetView<'_>) -> u64 {
    let results = case.measured.threads.iter().flat_map(|thread| &thread.targets);
    let mut asked = 0;
    for result in results.filter(|result| result.path == target.path()) {
        asked += result.flush.as_ref().map_or(0, |flush| flush.ios);
    }
    asked
}

/// The test flushed, and its disks received few of these flushes. One of them may serve all threads.
fn flushes_unseen(asked: u64, received: u64, in_flight: f64, disks: &str) -> Option<Finding> {
    let due = asked as f64 / in_flight;
    if due < FLUSHES_EXPECTED || received as f64 >= due * FLUSHES_PART {
        return None;
    }
    let says = format!(
        "The test flushed {} times, but {disks}, with a volatile cache, received {} flushes.",
        number(asked as f64),
        number(received as f64)
    );
    Some(suspect(says).figure("flushes", received as f64).figure("flushes_asked", asked as f64))
}

fn write_back(layer: &Layer) -> Option<String> {
    let is_disk = matches!(layer.kind, LayerKind::Disk | LayerKind::NetworkDisk);
    (is_disk && layer.has_volatile_cache() == Some(true)).then(|| {
        format!(
            "{} has a write cache that loses its content in a power failure: writes are acknowledged before they are \
             durable, unless each is written through (-Sw, -Sh).",
            layer.name
        )
    })
}

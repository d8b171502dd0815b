//! Commands beside reads and writes: discards and flushes that this run did not cause.

use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, found, ratio, rule, unless_missing};
use crate::roles::traits;
use crate::view::{self, Direction, DiskGroup, TargetView};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::OtherLoad;
use truespd_core::result::{Finding, FindingGrade, LayerKind, Theme};
use truespd_platform::text::{bytes, number};

pub(super) const CAUSES: &[Cause] = &[Cause::new("other-commands", Theme::Neighbours).judged(
    rule(405, Suspect, OtherLoad, RealSpan(other_commands)),
    "The disks discarded more blocks than the test trimmed (--trim), or flushed their caches more often than the \
     run's own writes and their file systems do: from one discard and five flushes a second on it is a remark, \
     from 5 % of the run's I/Os on, or with more bytes discarded than moved, the result is suspect.",
    "find the program (fstrim, blkdiscard, a database or a virtual machine that writes durably), and repeat \
     without it",
)];

/// So many discards a second are worth a word, ...
const DISCARDS_PER_S: f64 = 1.0;

/// ... and so many in all.
const DISCARDS_MIN: f64 = 10.0;

/// Beside trims of the run, others are told from this part of its bytes on: the counters of a device and those of the
/// run do not begin and end in one instant.
const OWN_APART: f64 = 0.1;

/// File systems and logs flush now and then by themselves.
const FLUSHES_PER_S: f64 = 5.0;

/// Commands that disks do not do beside the run's I/Os, against those, from which on the result is suspect.
const COMMANDS_SUSPECT: f64 = 0.05;

/// Flushes that one durable write causes at most in each file system that it passes (measured: 1.0 with XFS, 1.7 with
/// ext4, 2.0 with btrfs).
const FLUSHES_PER_WRITE: f64 = 3.0;

fn other_commands(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for group in &case.groups()? {
        match discards(case, group) {
            Ok(finding) => findings.extend(finding),
            Err(lacks) => missing = missing.or(Some(lacks)),
        }
        findings.extend(flushes(group));
    }
    unless_missing(findings, missing)
}

fn ios(group: &DiskGroup<'_>) -> f64 {
    Direction::BOTH.iter().map(|&way| group.done(way).ios).sum()
}

/// Discards that a device completed: how many, and per second with their bytes.
pub(super) struct Discards {
    pub of: String,
    pub count: f64,
    pub per_s: f64,
    pub bytes_per_s: f64,
}

/// Those of the disks, and of each device above them: a loop device makes holes of them, which reach no disk.
pub(super) fn discards_of(case: &Case<'_>, group: &DiskGroup<'_>) -> Vec<Discards> {
    let (count, per_s, bytes_per_s) = group.discards();
    let mut all = vec![Discards { of: group.names(), count, per_s, bytes_per_s }];
    for disk in &case.evidence().upper_disks {
        if group.targets.iter().any(|target| target.layers().iter().any(|layer| layer.name == disk.name)) {
            let (count, per_s, bytes_per_s) = view::discards(disk, disk.window_ns as f64 / 1e9);
            all.push(Discards { of: disk.name.clone(), count, per_s, bytes_per_s });
        }
    }
    all
}

fn discards(case: &Case<'_>, group: &DiskGroup<'_>) -> Result<Option<Finding>, Missing> {
    let all = discards_of(case, group);
    let own = group.trimmed();
    let others = all.into_iter().map(|one| Discards {
        count: one.count - own.ios * case.seconds(),
        per_s: one.per_s - own.ios,
        bytes_per_s: one.bytes_per_s - own.bytes,
        ..one
    });
    // A device may get a trim in several parts: then they are more, but not larger together.
    let mut others = others.filter(|one| one.bytes_per_s >= OWN_APART * own.bytes);
    let much = others.find(|one| one.count >= DISCARDS_MIN && one.per_s >= DISCARDS_PER_S);
    let Some(Discards { of, per_s, bytes_per_s, .. }) = much else { return Ok(None) };
    let writes = group.done(Direction::Write).bytes > 0.0;
    if writes && group.targets.iter().any(may_discard) {
        return Err(Missing(format!(
            "who discarded blocks of {of}: the layers of this test may discard what they replace"
        )));
    }
    let moved: f64 = Direction::BOTH.iter().map(|&way| group.moved(way).bytes).sum();
    let is_much = per_s >= COMMANDS_SUSPECT * ios(group) || bytes_per_s >= moved;
    let own = if own.ios > 0.0 { "none of them is a trim of this run" } else { "this run issued none" };
    let says = format!(
        "{}/s discards of {} went to {of} during the run, and {own}: another program discarded blocks \
         (fstrim, blkdiscard, files deleted on a file system that discards).",
        number(per_s),
        bytes(ratio(bytes_per_s, per_s))
    );
    let finding = found(grade(is_much), says).target(group.path());
    Ok(Some(finding.figure("discards_per_s", per_s).figure("discarded_bytes_per_s", bytes_per_s)))
}

fn grade(is_much: bool) -> FindingGrade {
    if is_much { FindingGrade::Suspect } else { FindingGrade::Remark }
}

/// Whether its layers discard what is replaced: file systems that write to new places, thin ones.
fn may_discard(target: &TargetView<'_>) -> bool {
    target.layers().iter().any(|layer| traits(layer.role()).discards)
}

fn flushes(group: &DiskGroup<'_>) -> Option<Finding> {
    let flushes = group.flushes()?;
    let writes = group.done(Direction::Write).ios > 0.0;
    if writes && group.targets.iter().any(has_own) {
        return None;
    }
    let most: f64 = group.targets.iter().map(own_flushes).sum::<f64>() * group.disks.len().max(1) as f64;
    let others = flushes - most;
    if others < FLUSHES_PER_S {
        return None;
    }
    let own = if most > 0.0 {
        format!("this run and its file systems cause {}/s at most", number(most))
    } else {
        "this run caused none".to_string()
    };
    let says = format!(
        "{} flushed its cache {}/s during the run, and {own}: another program writes durably there, and I/O waits for \
         each flush.",
        group.names(),
        number(flushes)
    );
    let finding = found(grade(others >= COMMANDS_SUSPECT * ios(group)), says).target(group.path());
    Some(finding.figure("flushes_per_s", flushes).figure("own_flushes_most_per_s", most))
}

/// Whether a layer flushes by itself, or through a page cache.
fn has_own(target: &TargetView<'_>) -> bool {
    target.layers().iter().any(|layer| {
        traits(layer.role()).flushes
            || layer.kind == LayerKind::Unknown
            || (layer.kind == LayerKind::Loop && layer.direct_io != Some(true))
    })
}

/// Flushes that the writes to a target can cause, per second.
fn own_flushes(target: &TargetView<'_>) -> f64 {
    let writes = target.done(Direction::Write).ios;
    if writes <= 0.0 {
        return 0.0;
    }
    let filesystems = target.layers().iter().filter(|layer| layer.kind == LayerKind::Filesystem).count();
    let systems = filesystems.max(1) as f64;
    // A file system that allocates, or gets what the page cache held back, commits now and then.
    let now_and_then = FLUSHES_PER_S * systems;
    let per_write = if target.writes_durably() { FLUSHES_PER_WRITE.powf(systems) } else { 0.0 };
    now_and_then + per_write * writes
}

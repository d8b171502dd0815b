//! What the layers between a test and the disks make of its writes: copies on write, journals, parity and pages turn
//! one into several, and read for it.

use super::bounds::PAGE;
use super::others::{self, FOREIGN_BYTES_PER_S, Share};
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, found, ratio, rule, unless_missing};
use crate::view::{Direction, DiskGroup, IoCount, TargetView, copies, flow};
use truespd_core::result::Meaning::HeldBack;
use truespd_core::result::{
    Finding, FindingGrade, FindingGrade::Suspect, Layer, LayerKind, LayerRole, Theme,
};
use truespd_platform::text::{bytes, number};

pub(super) const CAUSES: &[Cause] = &[Cause::new("write-amplified", Theme::Cache).judged(
    rule(185, Suspect, HeldBack, RealSpan(write_amplified)),
    "The layers below the test wrote more than it asked for: from eight times the bytes the result is suspect, from \
     1.5 times it is a remark. What other programs wrote is taken off, and where that is not seen, only what is in the \
     account of this process counts. A mirror is expected to write each byte several times.",
    "the rate is right for these layers and is not the disk's: larger writes (-b) or no write-through (-Su in the \
     place of -Sh) show what the layers cost, and a test on the device itself what the disk can do",
)];

/// From so many times on the number is that of the layers more than of the disk. The journal of a file system that is
/// written with each durable write of 4 KiB stays below: 1.1 to 3 times with ext4 and XFS.
const TIMES_SUSPECT: f64 = 8.0;

/// From here on it is worth a remark.
const TIMES_REMARK: f64 = 1.5;

/// Less than this beyond what was asked for is what a file system does now and then.
const EXCESS_BYTES: f64 = (4 << 20) as f64;

/// What was written for the test, where that is known.
struct Written<'a> {
    by: String,
    bytes: f64,
    /// The bytes that it was for: those of the test, and of others that wrote beside it.
    asked: f64,
    group: &'a DiskGroup<'a>,
}

impl Written<'_> {
    fn times(&self) -> f64 {
        ratio(self.bytes, self.asked)
    }
}

/// Bytes that were written below the test against those that it wrote.
fn write_amplified(case: &Case<'_>) -> RuleResult {
    let groups = case.groups()?;
    let (mut findings, mut missing) = (Vec::new(), None);
    for group in &groups {
        let done = group.done(Direction::Write);
        let count = IoCount::new(case, &group.targets, Direction::Write);
        if done.bytes <= 0.0 || count.is_too_few() {
            missing = missing.or(count.missing());
            continue;
        }
        let known = written(case, group, groups.len() == 1);
        let largest = known.into_iter().max_by(|a, b| a.times().total_cmp(&b.times()));
        let Some(most) = largest else {
            // Only where there is something to tell.
            if group.moved(Direction::Write).bytes >= TIMES_REMARK * group.expected_writes() {
                missing.get_or_insert(Missing(format!(
                    "which of the writes on {} came from this run: other programs may have written, and their accounts \
                     are not seen (run it as root)",
                    group.names()
                )));
            }
            continue;
        };
        let excess = (most.bytes - most.asked) * case.seconds();
        if most.times() < TIMES_REMARK || excess < EXCESS_BYTES {
            continue;
        }
        findings.push(amplified(case, &most));
    }
    unless_missing(findings, missing)
}

fn amplified(case: &Case<'_>, most: &Written<'_>) -> Finding {
    let (group, times) = (most.group, most.times());
    let done = group.done(Direction::Write);
    let grade = if times >= TIMES_SUSPECT { FindingGrade::Suspect } else { FindingGrade::Remark };
    let read = read_for_writes(case, group).filter(|read| *read >= FOREIGN_BYTES_PER_S);
    let read_words =
        read.map_or_else(String::new, |read| format!(", and {}/s were read for it", bytes(read)));
    let says = format!(
        "The test wrote {}/s, and {} {}/s for it, {} times as much{read_words}: {}.",
        bytes(done.bytes),
        most.by,
        bytes(most.bytes),
        number(times),
        why(group)
    );
    let mut finding = found(grade, says)
        .target(group.path())
        .figure("write_amplification", times)
        .figure("completed_write_bytes_per_s", done.bytes)
        .figure("amplified_write_bytes_per_s", most.bytes);
    if let Some(read) = read {
        finding = finding.figure("read_for_writes_bytes_per_s", read);
    }
    finding
}

/// By the disks, by the topmost device and by the account of this process, as far as each tells of this test.
fn written<'a>(case: &Case<'_>, group: &'a DiskGroup<'a>, is_only: bool) -> Vec<Written<'a>> {
    let (done, moved) = (group.expected_writes(), group.moved(Direction::Write).bytes);
    let host = case.evidence().host.as_ref();
    let mut known = Vec::new();
    let is_beyond = match others::share(case, group, Direction::Write, is_only) {
        Share::AtMost(most) => moved > 1.1 * most,
        // Late writes of before, and others, are in what the disks wrote.
        Share::Unknown => {
            group.targets.iter().any(|target| !target.is_direct() && !target.is_write_through())
        }
        Share::Exact(_) => true,
    };
    let others = others::programs_per_s(case, Direction::Write);
    if let Some(others) = others
        && !is_beyond
        && !group.is_rebuilding()
    {
        let by = format!("{} wrote", group.names());
        known.push(Written { by, bytes: moved, asked: done + others, group });
        if let Some((name, top)) = top_device(case, group) {
            known.push(Written { by: format!("{name} took"), bytes: top, asked: done + others, group });
        }
    }
    let own = host.and_then(|host| host.own_disk_write_bytes);
    if let Some(own) = own
        && is_only
    {
        // What the kernel tries twice is twice in the account.
        let bytes = ratio(own as f64, case.seconds()).min(moved);
        let by = "this process had the disks write".to_string();
        known.push(Written { by, bytes, asked: group.done(Direction::Write).bytes, group });
    }
    // An account that shows nothing says nothing of what the kernel wrote in its own name.
    known.retain(|one| others.is_some() || one.times() >= TIMES_REMARK);
    known
}

/// The topmost device below the file system of a single target, and what was written to it.
fn top_device(case: &Case<'_>, group: &DiskGroup<'_>) -> Option<(String, f64)> {
    let [target] = group.targets.as_slice() else { return None };
    let upper = &case.evidence().upper_disks;
    let device = target.layers().iter().find_map(|layer| upper.iter().find(|one| one.name == layer.name))?;
    let written = flow(&device.total, Direction::Write, device.window_ns.max(1) as f64 / 1e9).bytes;
    Some((device.name.clone(), written))
}

/// What was read for writes: by the account of this process where the test itself read nothing.
fn read_for_writes(case: &Case<'_>, group: &DiskGroup<'_>) -> Option<f64> {
    if group.done(Direction::Read).bytes > 0.0 {
        return None;
    }
    let own = case.evidence().host.as_ref()?.own_disk_read_bytes?;
    Some(ratio(own as f64, case.seconds()).min(group.moved(Direction::Read).bytes))
}

/// What the layers do to a write, from the top.
fn why(group: &DiskGroup<'_>) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for target in &group.targets {
        if !target.is_direct() && target.write.size() < PAGE {
            reasons.push("the page cache reads and writes whole pages of 4 KiB".to_string());
        }
        reasons.extend(target.layers().iter().filter_map(|layer| reason(layer, target)));
    }
    reasons.dedup();
    match reasons.as_slice() {
        [] => "why is not known".to_string(),
        [one] => one.clone(),
        [first, second, ..] => format!("{first}; {second}"),
    }
}

fn reason(layer: &Layer, target: &TargetView<'_>) -> Option<String> {
    let name = &layer.name;
    let details = layer.details.as_ref();
    if details.is_some_and(|details| details.journals_data) {
        return Some(format!("{name} writes the data to its journal first (data=journal)"));
    }
    let says = match (layer.kind, layer.role()) {
        (LayerKind::Filesystem, LayerRole::CopyOnWrite) if target.is_write_through() => {
            format!("{name} copies on write, and writes its log with each durable write")
        }
        (_, LayerRole::CopyOnWrite) => {
            format!("{name} copies on write, with the blocks that lead to the data")
        }
        (LayerKind::Filesystem, LayerRole::Overlay) => return None,
        (LayerKind::Filesystem, _) if target.is_write_through() && target.allocates() => {
            format!("{name} writes its journal with each durable write, and blocks are new")
        }
        (LayerKind::Filesystem, _) if target.is_write_through() => {
            format!("{name} writes its journal with each durable write")
        }
        (LayerKind::Filesystem, _) if target.allocates() => {
            format!("{name} allocates blocks for parts of the file that were never written")
        }
        (LayerKind::Md, _) if details.is_some_and(|array| array.is_redundant == Some(false)) => return None,
        (LayerKind::Md, _) if copies(layer).is_none() => {
            format!("{name} writes parity with the data, and reads both before")
        }
        (_, LayerRole::RaidVolume) => format!("{name} writes copies or parity with the data"),
        (_, LayerRole::Snapshot) => {
            format!("{name} has a snapshot, and what is replaced is copied first")
        }
        (_, LayerRole::ThinPool | LayerRole::ThinVolume) => {
            format!("{name} is thin, and provides whole chunks by the first write to them")
        }
        (_, LayerRole::Integrity) => format!("{name} writes a journal and checksums (dm-integrity)"),
        (_, LayerRole::Replica) => format!("{name} logs which blocks its copies may lack (DRBD)"),
        (_, LayerRole::CachedVolume | LayerRole::WriteCachedVolume | LayerRole::Bcache) => {
            format!("{name} writes to its cache and to its disk")
        }
        _ => return None,
    };
    Some(says)
}

//! What the trims of the test itself (`--trim`) do to its reads and writes, and whether the disks were told of them.

use super::commands::discards_of;
use crate::cause::RuleFn::{RealSpan, RealTarget};
use crate::cause::{Case, Cause, Missing, OneResult, RuleResult, found, ratio, remark, rule};
use crate::view::{Direction, IOS_MIN, IoCount, TargetView};
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::{Seen, WrongNumber};
use truespd_core::result::{FindingGrade, Theme};
use truespd_platform::text::{bytes, number, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("trimmed-places", Theme::Content).judged(
        rule(132, Suspect, WrongNumber, RealTarget(trimmed_places)),
        "The test itself trims (--trim), and part of its reads or writes met places that were trimmed and not written \
         since: such reads return zeros without the disk, such writes are the first ones to their place. The part \
         follows from the bytes trimmed and written, the length of the range and what was empty before. From 5 % of \
         the reads the result is suspect, from 0.5 % it is a remark, as it is where the test only writes. The rules \
         never-written, first-writes and zero-data leave such targets to this one.",
        "this is what reads beside trims are; for reads of data leave --trim out, and for trims beside writes alone \
         use -w100",
    ),
    Cause::new("trims-unseen", Theme::Content).judged(
        rule(133, Remark, Seen, RealSpan(trims_unseen)),
        "The test trimmed (--trim), but the devices below were told of less than a tenth of the bytes. On a file, \
         trims make holes, which reach the device only where the file system is mounted with -o discard, or when \
         fstrim runs.",
        "mount the file system with -o discard, or test a block device, to measure trims of the device",
    ),
];

/// Reads of zeros from this part on are not those of a target with data, ...
const EMPTY_SUSPECT: f64 = 0.05;

/// ... and from this part on worth a word.
const EMPTY_REMARK: f64 = 0.005;

/// The device may be told of this part of the bytes before it is worth a word.
const TOLD_LEAST: f64 = 0.1;

/// The part of the range that was empty on average while the test measured: each place is as its last trim or write
/// left it, and as it was before until it has met one. Exact where all places are alike.
pub(super) fn empty_share(case: &Case<'_>, target: &TargetView<'_>) -> f64 {
    if !target.trims() {
        return 0.0;
    }
    let (trimmed, written) = (target.trim.bytes, target.done(Direction::Write).bytes);
    let passes_per_s = ratio(trimmed + written, target.range_bytes() as f64);
    let before = empty_before(target);
    if passes_per_s <= 0.0 {
        return before;
    }
    let in_the_end = ratio(trimmed, trimmed + written);
    let start = passes_per_s * f64::from(case.span.warmup_s);
    let length = passes_per_s * case.seconds();
    let left = ratio((-start).exp() - (-(start + length)).exp(), length);
    in_the_end + (before - in_the_end) * left
}

/// Of a file by its layout, of a device by a sample of its content.
fn empty_before(target: &TargetView<'_>) -> f64 {
    let sample = target.facts.and_then(|facts| facts.content.as_ref());
    let zeros = sample.map_or(0.0, |sample| ratio(f64::from(sample.zero_blocks), f64::from(sample.blocks)));
    target.never_written_share().max(zeros)
}

fn trimmed_places(case: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    let [reads, writes] = Direction::BOTH.map(|way| target.done(way).ios > 0.0);
    if target.trim.ios <= 0.0 || target.is_in_memory() || !(reads || writes) {
        return Ok(None);
    }
    let share = empty_share(case, target);
    let grade = match share {
        s if s >= EMPTY_SUSPECT && reads => FindingGrade::Suspect,
        s if s >= EMPTY_REMARK => FindingGrade::Remark,
        _ => return Ok(None),
    };
    let way = if reads { Direction::Read } else { Direction::Write };
    if let Some(few) = IoCount::new(case, std::slice::from_ref(target), way).missing() {
        return Err(few);
    }
    let met = match (reads, writes) {
        (true, true) => {
            "of its reads met places that it had trimmed, where the system returns zeros without the disk, and as \
             many of its writes were the first ones to such a place"
        }
        (true, false) => {
            "of its reads met places that it had trimmed, where the system returns zeros without the disk"
        }
        _ => "of its writes were the first ones to a place that it had trimmed",
    };
    let wrote = match target.done(Direction::Write).bytes {
        none if none <= 0.0 => "nothing".to_string(),
        some => format!("{}/s", bytes(some)),
    };
    let says = format!(
        "The test itself trimmed {}/s and wrote {wrote}: about {} {met}.",
        bytes(target.trim.bytes),
        percent(share)
    );
    let mut finding = found(grade, says).figure("empty_share", share);
    if !reads {
        finding =
            finding.advise("this is what writes beside trims are; for writes without them leave --trim out");
    }
    Ok(Some(finding.figure("trimmed_bytes_per_s", target.trim.bytes)))
}

fn trims_unseen(case: &Case<'_>) -> RuleResult {
    let mut findings = Vec::new();
    for group in &case.groups()? {
        let trimmed = group.trimmed();
        let count = trimmed.ios * case.seconds();
        // The kernel counts no command as a discard, and the drive itself got it.
        if count <= 0.0 || group.targets.iter().all(TargetView::is_by_commands) {
            continue;
        }
        if count < IOS_MIN {
            return Err(Missing::too_few(&format!("{} trims", number(count)), IOS_MIN));
        }
        let told = discards_of(case, group).into_iter().map(|one| one.bytes_per_s).fold(0.0, f64::max);
        if told >= TOLD_LEAST * trimmed.bytes {
            continue;
        }
        let received = if told > 0.0 { format!("only {}/s", bytes(told)) } else { "nothing".to_string() };
        let what = if group.targets.iter().all(TargetView::is_file) { " in files" } else { "" };
        let says = format!(
            "The test trimmed {}/s{what} ({} trims/s), and {} received discards of {received}.",
            bytes(trimmed.bytes),
            number(trimmed.ios),
            group.names()
        );
        let finding = remark(says).target(group.path()).figure("trimmed_bytes_per_s", trimmed.bytes);
        findings.push(finding.figure("discarded_bytes_per_s", told));
    }
    Ok(findings)
}

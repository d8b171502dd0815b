//! What the drives themselves say of a run: did they hold themselves back to stay cool, did they count errors?
//!
//! A drive that says nothing of itself is passed over without a word: to ask takes root, and most disks of virtual
//! machines have nobody to ask. The document says why.

use super::disk::is_virtual;
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, RuleResult, found, ratio, rule};
use crate::doctor::Purpose::Every;
use crate::doctor::{Answer, CheckResult, Disk, HostView, NoAnswer, each_disk};
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::HeldBack;
use truespd_core::result::{
    Drive, DriveChange, DriveState, DriveUntold, DriveWarning, Finding, LayerKind, Theme,
};
use truespd_platform::machine::drive_state::read_soon;
use truespd_platform::text::grouped;

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("drive-throttled", Theme::Target).judged(
        rule(355, Suspect, HeldBack, RealSpan(throttled)),
        "A drive held itself back to stay cool between the first I/O and the last, by its own count (as root: NVMe \
         thermal management, OCP's log), or was hot enough to stop. One that was only warmer than it should be is a \
         remark.",
        "cool the drive (airflow, a heat sink), let it rest before the test, and compare only runs that begin and end \
         at like temperatures",
    ),
    Cause::new("drive-errors", Theme::Target)
        .checked(
            each_disk(75, "drive-health", Every, health),
            "the drive's warnings, its spare blocks, and the share of its life that is used up",
            "It warns of something, or its spare blocks are below its own limit (spoils); by its maker's estimate its \
             life is used up.",
            "A drive that fails tries again and again, moves data, or switches its cache off: it is slower than its \
             like, and not steadily so.",
            "NVMe base specification, SMART / Health Information; T13 ACS, T10 SPC",
        )
        .judged(
            rule(357, Suspect, HeldBack, RealSpan(errors)),
            "A drive counted errors between the first I/O and the last (as root): of its medium, of transfers on the \
             cable, or corrected ones of its PCI Express link, one a second and more; or it began to warn of \
             something. Fewer corrected ones, and new entries in its log of errors, are a remark.",
            "look at the logs of the drive (smartctl -x, nvme error-log) and of the kernel (dmesg); for errors on the \
             way to it at cable, slot and riser",
        ),
];

/// The drives of the time span that tell of it, with what they said before, after, and what changed.
fn told<'a>(case: &Case<'a>) -> Vec<(&'a str, &'a DriveState, &'a DriveState, &'a DriveChange)> {
    let mut told = Vec::new();
    for Drive { name, before, after, change, .. } in case.measured.evidence.drives.iter().flatten() {
        if let (Some(before), Some(after), Some(change)) = (before, after, change) {
            told.push((name.as_str(), before, after, change));
        }
    }
    told
}

fn count(counter: Option<u64>) -> u64 {
    counter.unwrap_or_default()
}

fn throttled(case: &Case<'_>) -> RuleResult {
    let mut findings = Vec::new();
    for (name, before, after, change) in told(case) {
        let times = count(change.throttled_times).max(count(change.throttle_events));
        let seconds = count(change.throttled_s);
        let is_held_back = times > 0 || seconds > 0 || after.throttles_now == Some(true);
        let is_critical = count(change.critical_minutes) > 0;
        let is_warm = count(change.warm_minutes) > 0
            || after.temperature_c.zip(after.warm_from_c).is_some_and(|(now, limit)| now >= limit);
        let (grade, mut says) = if is_held_back {
            let mut says = format!("The drive {name} held itself back to stay cool");
            if seconds > 0 {
                says.push_str(&format!(", for {} s", grouped(seconds)));
            }
            match times {
                0 => {}
                1 => says.push_str(", once"),
                many => says.push_str(&format!(", {} times", grouped(many))),
            }
            (Suspect, says)
        } else if is_critical {
            (Suspect, format!("The drive {name} was so hot that it may stop or be damaged"))
        } else if is_warm {
            (Remark, format!("The drive {name} was warmer than it should be, without a count of throttling"))
        } else {
            continue;
        };
        says.push_str(&degrees(before, after));
        let mut finding =
            found(grade, says).figure("throttled_s", seconds as f64).figure("throttled_times", times as f64);
        for (name, state) in [("temperature_before_c", before), ("temperature_after_c", after)] {
            finding = finding.figure(name, state.temperature_c.map_or(f64::NAN, f64::from));
        }
        findings.push(finding);
    }
    Ok(findings)
}

/// The end of a sentence: how warm the drive was, and from where on it is too warm, as far as it tells.
fn degrees(before: &DriveState, after: &DriveState) -> String {
    let Some((then, now)) = before.temperature_c.zip(after.temperature_c) else { return ".".to_string() };
    let limit = after.warm_from_c.map(|limit| format!(", and calls itself too warm from {limit} C on"));
    format!(
        "; it was at {then} C before the first I/O and at {now} C after the last{}.",
        limit.unwrap_or_default()
    )
}

fn errors(case: &Case<'_>) -> RuleResult {
    /// Of errors that the link corrects itself; each costs a repetition of microseconds.
    const CORRECTED_PER_S_SUSPECT: f64 = 1.0;
    let mut findings = Vec::new();
    for (name, _, _, change) in told(case) {
        let media = count(change.media_errors);
        let crc = count(change.crc_errors);
        let corrected = count(change.link_errors_corrected);
        let entries = count(change.error_log_entries);
        let mut warnings = change.warnings.clone();
        // Heat has a rule of its own.
        warnings.retain(|warning| *warning != DriveWarning::Temperature);
        let mut parts = Vec::new();
        if media > 0 {
            parts.push(format!(
                "counted {} that it could not correct",
                counted(media, "error of its medium", "errors of its medium")
            ));
        }
        if crc > 0 {
            parts.push(format!("counted {} with a wrong checksum", counted(crc, "transfer", "transfers")));
        }
        if corrected > 0 {
            parts.push(format!(
                "counted {} of its PCI Express link",
                counted(corrected, "corrected error", "corrected errors")
            ));
        }
        if entries > 0 && media == 0 {
            let entries = counted(entries, "entry", "entries");
            parts.push(format!(
                "has {entries} more in its log of errors (a command that it does not know is enough for one)"
            ));
        }
        parts.extend(warnings.iter().map(|warning| format!("began to warn: {}", warning.words())));
        if parts.is_empty() {
            continue;
        }
        let is_grave = media > 0 || crc > 0 || !warnings.is_empty();
        let grade = if is_grave || ratio(corrected as f64, case.seconds()) >= CORRECTED_PER_S_SUSPECT {
            Suspect
        } else {
            Remark
        };
        let says = format!("The drive {name} {}, between the first I/O and the last.", parts.join(", "));
        findings.push(with_counts(found(grade, says), [media, crc, corrected, entries]));
    }
    Ok(findings)
}

fn with_counts(finding: Finding, counts: [u64; 4]) -> Finding {
    let names = ["media_errors", "crc_errors", "link_errors_corrected", "error_log_entries"];
    names.iter().zip(counts).fold(finding, |finding, (name, count)| finding.figure(name, count as f64))
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

fn health(view: &HostView, disk: &Disk) -> CheckResult {
    if is_virtual(disk) {
        return Err(NoAnswer::absent("It is no device of its own."));
    }
    if disk.layer.kind == LayerKind::NetworkDisk {
        return Err(NoAnswer::absent("Its drives are on another machine."));
    }
    let told = read_soon(std::slice::from_ref(&disk.device), view.roots()).pop();
    let state = match told.unwrap_or(Err(DriveUntold::NoAnswer)) {
        Ok(state) => state,
        Err(DriveUntold::NoInterface) => {
            return Err(NoAnswer::absent("It is no drive that can be asked here."));
        }
        Err(why) => {
            return Err(NoAnswer::unknown(format!("The drive says nothing of its health: {}.", why.words())));
        }
    };
    Ok(health_answer(&state))
}

/// From here on a drive has outlived what its maker promised.
const USED_PERCENT_ALL: u32 = 100;

pub(super) fn health_answer(state: &DriveState) -> Answer {
    let mut now = Vec::new();
    now.extend(state.spare_percent.map(|percent| format!("{percent} % spare")));
    now.extend(state.used_percent.map(|percent| format!("{percent} % used")));
    let now = if now.is_empty() { "no warning".to_string() } else { now.join(", ") };
    if !state.warnings.is_empty() {
        let words: Vec<&str> = state.warnings.iter().map(|warning| warning.words()).collect();
        let says = format!(
            "The drive warns: {}. Do not take its rates for those of a healthy drive.",
            words.join(", ")
        );
        return Answer::spoils(says).now(now).wanted("no warning");
    }
    if state.spare_percent.zip(state.spare_percent_min).is_some_and(|(spare, least)| spare < least) {
        let says = "Its spare blocks are below the drive's own threshold: it may soon fail or refuse writes.";
        return Answer::spoils(says).now(now).wanted("another drive");
    }
    if state.used_percent.is_some_and(|used| used >= USED_PERCENT_ALL) {
        let says =
            "The drive reports that its rated life is used up. Worn cells take longer to read and to erase.";
        return Answer::may_spoil(says).now(now);
    }
    Answer::good("The drive warns of nothing.").now(now)
}

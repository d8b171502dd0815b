//! Arrays that lack a disk, or work for themselves: md, and RAID of device-mapper.

use super::disk;
use super::paths::{Watched, watched};
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, Sentence, found, ratio, rule, suspect, unless_missing};
use crate::doctor::Purpose::Every;
use crate::doctor::each_disk;
use crate::view::TargetView;
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::OtherLoad;
use truespd_core::result::{FindingGrade, Layer, LayerDetails, LayerRole, Theme, WayChange};
use truespd_platform::text::{duration_ns, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("array-sync", Theme::Target)
        .inspected(Sentence::Layer(140, works))
        .checked(
            each_disk(50, "array", Every, disk::array),
            "an array's own work, and missing disks",
            "md resyncs, checks or rebuilds, or lacks a disk.",
            "Maintenance takes a part of the throughput of all its disks.",
            "the kernel's admin-guide/md.rst",
        )
        .judged(
            rule(92, Suspect, OtherLoad, RealSpan(sync)),
            "An array (md, or RAID of device-mapper) worked for itself while it was measured: a resync, \
             recovery, check or reshape. Looked at once per second: from 5 % of the measured time the \
             result is suspect, less is a remark.",
            "wait until the array is done (cat /proc/mdstat; lvs -o +sync_percent), or put the work off (echo \
             frozen to md/sync_action of the array), and repeat",
        ),
    Cause::new("array-degraded", Theme::Target).inspected(Sentence::Layer(142, lacks_a_disk)).judged(
        rule(94, Suspect, OtherLoad, RealSpan(degraded)),
        "An array lacked a disk at any moment of the measured time (looked at once per second): it is not \
         as fast, or not as slow, as a complete one.",
        "put the missing disk back (mdadm --detail, or lvs -o +lv_health_status, shows it), wait until it is \
         rebuilt, and repeat",
    ),
];

/// Work for this part of the measured time is more than a remark.
const SYNC_SUSPECT: f64 = 0.05;

/// With copies or parity: others neither lack a disk nor work for themselves.
fn is_array(layer: &Layer) -> bool {
    let is_redundant = layer.details.as_ref().and_then(|details| details.is_redundant);
    matches!(layer.role(), LayerRole::Array | LayerRole::RaidVolume) && is_redundant != Some(false)
}

fn action(details: Option<&LayerDetails>) -> Option<&str> {
    details.and_then(|details| details.sync_action.as_deref())
}

fn missing_disks(details: Option<&LayerDetails>) -> u64 {
    details.and_then(|details| details.missing_disks).unwrap_or(0)
}

/// What is said before a run.
fn works(layer: &Layer) -> Option<String> {
    if !is_array(layer) {
        return None;
    }
    let action = action(layer.details.as_ref())?;
    Some(format!(
        "The array {} is busy with maintenance ({action}): its own I/O slows a test down.",
        layer.name
    ))
}

/// An array that works is told as that: it mostly brings the disk back.
fn lacks_a_disk(layer: &Layer) -> Option<String> {
    (is_array(layer) && works(layer).is_none() && missing_disks(layer.details.as_ref()) > 0)
        .then(|| format!("The array {} lacks a disk: it is not as fast as a complete array.", layer.name))
}

/// The name of an array with its level.
fn named(layer: &Layer) -> String {
    let name = layer.known_name();
    let level = layer.details.as_ref().and_then(|details| details.level.as_deref());
    level.map_or_else(|| name.to_string(), |level| format!("{name} ({level})"))
}

/// What an array does, in a sentence, with the kernel's word.
fn doing(action: &str) -> String {
    let words = match action {
        "resync" => "brought its disks in step",
        "recover" => "rebuilt a disk",
        "check" => "compared its disks",
        "repair" => "compared and mended its disks",
        "reshape" => "moved its data to another layout",
        _ => "worked for itself",
    };
    format!("{words} ({action})")
}

/// What an array was like over the measured time: from when on, in nanoseconds, the first from 0.
fn states<'a>(device: &Watched<'a>) -> Vec<(u64, Option<&'a LayerDetails>)> {
    let later = device.changes.iter().flatten().map(|change| (change.seen_ns, change.after.as_ref()));
    [(0, device.begin)].into_iter().chain(later).collect()
}

/// For which part of the measured time something was so.
fn part(case: &Case<'_>, device: &Watched<'_>, is_so: impl Fn(Option<&LayerDetails>) -> bool) -> f64 {
    let states = states(device);
    let end_ns = case.seconds() * 1e9;
    let ends = states.iter().skip(1).map(|(from_ns, _)| *from_ns as f64).chain([end_ns]);
    let lengths = states.iter().zip(ends).filter(|((_, details), _)| is_so(*details));
    let so_ns: f64 =
        lengths.map(|((from_ns, _), until_ns)| (until_ns.min(end_ns) - *from_ns as f64).max(0.0)).sum();
    ratio(so_ns, end_ns)
}

/// Whether arrays were followed: without that only how one was at the beginning is known.
fn is_followed(case: &Case<'_>) -> bool {
    case.evidence().caches.is_some()
}

/// What a document lacks that followed no arrays.
fn unfollowed(device: &Watched<'_>, what: &str) -> Missing {
    Missing(format!("{what} {} over the measured time", named(device.layer)))
}

/// Arrays that worked for themselves.
fn sync(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for device in watched(case, |layers, at| is_array(&layers[at])) {
        let name = named(device.layer);
        let mut actions: Vec<&str> = Vec::new();
        for action in states(&device).into_iter().filter_map(|(_, details)| action(details)) {
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        let Some(first) = actions.first() else {
            if !is_followed(case) {
                missing.get_or_insert(unfollowed(&device, "what the array did for itself:"));
            }
            continue;
        };
        let what: Vec<String> = actions.iter().map(|action| doing(action)).collect();
        let share = part(case, &device, |details| action(details).is_some());
        let grade = if share >= SYNC_SUSPECT { Suspect } else { FindingGrade::Remark };
        let finding = if is_followed(case) {
            let says = format!(
                "The array {name} {} during {} of the measured time: its own I/O shared the disks with the test.",
                what.join(" and "),
                percent(share)
            );
            found(grade, says)
        } else {
            suspect(format!("The array {name} {} when the measured time began.", doing(first)))
        };
        findings.push(finding.target(device.path).figure("array_busy_part", share));
    }
    unless_missing(findings, missing)
}

/// Arrays that lacked a disk.
fn degraded(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for device in watched(case, |layers, at| is_array(&layers[at])) {
        let states = states(&device);
        let most = states.iter().map(|(_, details)| missing_disks(*details)).max().unwrap_or(0);
        if most == 0 {
            if !is_followed(case) {
                missing.get_or_insert(unfollowed(&device, "whether no disk was missing in"));
            }
            continue;
        }
        let disks = device.layer.details.as_ref().and_then(|details| details.disks);
        let of = disks
            .map(|disks| format!("{most} of its {disks} disks"))
            .unwrap_or_else(|| format!("{most} of its disks"));
        let from =
            states.iter().find(|(_, details)| missing_disks(*details) > 0).map_or(0, |(from, _)| *from);
        let until = states.iter().find(|(at, details)| *at > from && missing_disks(*details) == 0);
        let when = match (from, until) {
            (0, None) if is_followed(case) => "all the measured time".to_string(),
            (0, None) => "when the measured time began".to_string(),
            (from, None) => format!("from {} on", duration_ns(from as f64)),
            (0, Some((until, _))) => format!("for the first {}", duration_ns(*until as f64)),
            (from, Some((until, _))) => {
                format!("from {} to {}", duration_ns(from as f64), duration_ns(*until as f64))
            }
        };
        let share = part(case, &device, |details| missing_disks(details) > 0);
        let says = format!("The array {} lacked {of} {when}.", named(device.layer));
        let finding = suspect(says).target(device.path).figure("missing_disks", most as f64);
        findings.push(finding.figure("array_degraded_part", share));
    }
    unless_missing(findings, missing)
}

/// What became of an array; empty when nothing that matters.
pub(super) fn change_words(change: &WayChange) -> Vec<String> {
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    let mut told = Vec::new();
    match (missing_disks(before), missing_disks(after)) {
        (was, is) if is > was => told.push("it lost a disk".to_string()),
        (was, is) if is < was => told.push("a disk came back".to_string()),
        _ => {}
    }
    match (action(before), action(after)) {
        (was, Some(is)) if was != Some(is) => told.push(format!("from then on it {}", doing(is))),
        (Some(was), None) => told.push(format!("it was done with its own work ({was})")),
        _ => {}
    }
    told
}

/// The array below a target that moved data for itself at any moment of the measured time.
pub(super) fn worked<'a>(case: &Case<'_>, target: &TargetView<'a>) -> Option<&'a Layer> {
    target.layers().iter().filter(|layer| is_array(layer)).find(|layer| {
        let changes =
            case.evidence().way_changes.iter().flatten().filter(|change| change.device == layer.name);
        let later = changes.flat_map(|change| [change.before.as_ref(), change.after.as_ref()]);
        [layer.details.as_ref()].into_iter().chain(later).any(|details| action(details).is_some())
    })
}

#[cfg(test)]
mod tests_of_changes {
    use super::*;

    #[test]
    fn what_became_of_an_array_is_told() {
        let state = |missing_disks: Option<u64>, action: Option<&str>| {
            let sync_action = action.map(str::to_string);
            Some(LayerDetails { missing_disks, sync_action, ..LayerDetails::of(LayerRole::Array) })
        };
        let told =
            |before, after| change_words(&WayChange { before, after, ..WayChange::default() }).join("; ");
        assert_eq!(told(state(None, None), state(Some(1), None)), "it lost a disk");
        assert_eq!(
            told(state(Some(1), None), state(Some(1), Some("recover"))),
            "from then on it rebuilt a disk (recover)"
        );
        assert_eq!(
            told(state(Some(1), Some("recover")), state(None, None)),
            "a disk came back; it was done with its own work (recover)"
        );
        assert_eq!(told(state(None, None), state(None, None)), "");
    }
}

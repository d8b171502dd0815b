//! Storage that is not in this machine: the paths to it, the servers behind it, the copies that DRBD keeps of it.
//!
//! The counters of such a disk show what this machine sent and got. That is the proof of a run as far as the server.

use crate::cause::RuleFn::RealSpan;
use crate::cause::{
    Case, Cause, Missing, RuleResult, Sentence, ratio, remark, rule, suspect, unless_missing,
};
use crate::view::TargetView;
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::{OtherLoad, Seen, WrongNumber};
use truespd_core::result::{
    DevicePath, DiskCounts, Evidence, Finding, Layer, LayerDetails, LayerRole, PathAccess, Replica, Theme,
    WayChange, disks_in_words, is_path_of_another, served_disks,
};
use truespd_platform::text::{duration_ns, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("path-down", Theme::Target).inspected(Sentence::Layer(210, path_down)).judged(
        rule(90, Suspect, OtherLoad, RealSpan(down)),
        "A path to a disk, or the only connection to its server, was down, came or went while it was \
         measured, or all paths were such that the storage passes I/Os on inside (non-optimized). Looked \
         at once per second: NVMe, iSCSI, Fibre Channel, nbd, and the paths of a multipath device.",
        "bring the path back (multipath -ll, nvme list-subsys, iscsiadm -m session -P 1 show them; dmesg \
         tells why), and repeat",
    ),
    Cause::new("copies-apart", Theme::Target).inspected(Sentence::Layer(220, copies_apart_now)).judged(
        rule(100, Suspect, WrongNumber, RealSpan(copies_apart)),
        "DRBD did not keep all copies the same, or was just making them so: a connection was not up, or a \
         disk not up to date. Writes are then faster, or slower, than they are with all nodes.",
        "wait until drbdadm status shows all disks as UpToDate, and repeat",
    ),
    Cause::new("path-shares", Theme::Target).judged(
        rule(110, Remark, Seen, RealSpan(shares)),
        "The device has several paths: which part of the bytes each of them carried.",
        "to use all paths, set the policy: iopolicy of the NVMe subsystem, path_grouping_policy and \
         path_selector of multipath",
    ),
];

/// By whom the disks of a target are served, and which copies DRBD keeps of it; a sentence each.
pub(super) fn served(target: &TargetView<'_>) -> Vec<String> {
    let layers = target.layers();
    let mut told: Vec<String> = served_disks(layers)
        .into_iter()
        .map(|(names, by)| {
            let are = if names.len() == 1 { "is" } else { "are" };
            let of = if names.len() == 1 { "the disk's counters" } else { "the counters of the disks" };
            format!(
                "{} {are} served by {by}: {of} show what this machine sent; what the server did (its caches too) is \
                 not seen.",
                disks_in_words(&names)
            )
        })
        .collect();
    told.extend(layers.iter().filter(|layer| layer.role() == LayerRole::Replica).map(replica_words));
    told
}

/// Which node has which role, and what a write waits for.
fn replica_words(layer: &Layer) -> String {
    let Some(replica) = layer.replica() else {
        return format!(
            "DRBD keeps copies of {} on other nodes; the kernel does not tell which.",
            layer.name
        );
    };
    let waits = match (replica.is_diskless(), replica.protocol.as_deref()) {
        (true, _) => "this node has no disk for it, so every I/O goes to the others",
        _ if replica.is_alone() => "no other node is connected, so writes stay here",
        (false, Some("A")) => "a write completes when this node has it; the other nodes get it later",
        (false, Some("B")) => "a write completes when the other nodes have it in memory",
        (false, Some("C")) => "a write completes when the other nodes have it on their disks, too",
        (false, _) => "writes go to the others, too",
    };
    format!("DRBD keeps copies of {} ({}): {waits}.", layer.name, replica.nodes_words())
}

/// A device with what is known of the way to it.
pub(super) struct Watched<'a> {
    pub layer: &'a Layer,
    /// As the measured time began.
    pub begin: Option<&'a LayerDetails>,
    /// Since then, in order; `None` when nobody looked.
    pub changes: Option<Vec<&'a WayChange>>,
    /// The only target on it.
    pub path: Option<&'a str>,
}

/// The devices below the targets that satisfy `is_wanted`, each once.
pub(super) fn watched<'a>(case: &Case<'a>, is_wanted: impl Fn(&[Layer], usize) -> bool) -> Vec<Watched<'a>> {
    let evidence = case.evidence();
    let mut all: Vec<Watched<'a>> = Vec::new();
    for target in case.views() {
        let layers = target.layers();
        for (_, layer) in layers.iter().enumerate().filter(|(at, _)| is_wanted(layers, *at)) {
            if let Some(known) = all.iter_mut().find(|known| known.layer.name == layer.name) {
                known.path = None;
                continue;
            }
            let (begin, changes) = over_time(evidence, layer);
            all.push(Watched { layer, begin, changes, path: Some(target.path()) });
        }
    }
    all
}

fn over_time<'a>(
    evidence: &'a Evidence,
    layer: &'a Layer,
) -> (Option<&'a LayerDetails>, Option<Vec<&'a WayChange>>) {
    let Some(all) = &evidence.way_changes else { return (layer.details.as_ref(), None) };
    let of_it = all.iter().filter(|change| change.device == layer.name);
    let (early, later): (Vec<_>, Vec<_>) = of_it.partition(|change| change.seen_ns == 0);
    let begin = early.last().map_or(layer.details.as_ref(), |change| change.after.as_ref());
    (begin, Some(later))
}

/// Changes that are told one by one, at most.
const CHANGES_TOLD: usize = 4;

/// Paths through which no I/O went, or that were not what they had been.
fn down(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    let devices =
        watched(case, |layers, at| !layers[at].paths().is_empty() && !is_path_of_another(layers, at));
    for device in devices {
        let name = &device.layer.name;
        let paths = device.begin.map_or(&[][..], |details| &details.paths);
        let down: Vec<&DevicePath> = paths.iter().filter(|path| path.is_down).collect();
        // What is said, with the number of changes.
        let mut said: Vec<(String, usize)> = Vec::new();
        if device.begin.is_none() {
            said.push((format!("When the measured time began, there was no path to {name}."), 0));
        } else if !down.is_empty() {
            said.push((down_words(name, paths.len(), &down), 0));
        } else if let Some(says) = detour_words(name, paths) {
            said.push((says, 0));
        }
        if device.layer.transport.as_deref() == Some("nbd") {
            missing.get_or_insert(Missing(format!(
                "whether the connection of {name} held: the kernel does not tell it of NBD"
            )));
        }
        if device.changes.is_none() {
            missing.get_or_insert(Missing(format!("whether the paths to {name} stayed as they were")));
        }
        let changes = device.changes.iter().flatten();
        let told: Vec<String> = changes.flat_map(|change| change_words(change)).collect();
        if !told.is_empty() {
            let more = told.len().saturating_sub(CHANGES_TOLD);
            let mut words = told[..told.len() - more].join("; ");
            if more > 0 {
                words.push_str(&format!("; and {more} more"));
            }
            said.push((format!("The paths to {name} changed while it was measured: {words}."), told.len()));
        }
        for (says, changes) in said {
            let finding = suspect(says).target(device.path).figure("paths", paths.len() as f64);
            let finding = finding.figure("paths_down", down.len() as f64);
            findings.push(finding.figure("path_changes", changes as f64));
        }
    }
    unless_missing(findings, missing)
}

fn down_words(name: &str, count: usize, down: &[&DevicePath]) -> String {
    let each: Vec<String> = down
        .iter()
        .map(|path| format!("{} {}", path.place(), path.state.as_deref().unwrap_or("down")))
        .collect();
    let lead = match (count, down.len()) {
        (1, _) => format!("The only path to {name} was down"),
        (all, some) if all == some => format!("All {all} paths to {name} were down"),
        (all, 1) => format!("One of the {all} paths to {name} was down"),
        (all, some) => format!("{some} of the {all} paths to {name} were down"),
    };
    format!("{lead} when the measured time began: {}.", each.join(", "))
}

/// All paths that are up lead by a detour inside the storage.
fn detour_words(name: &str, paths: &[DevicePath]) -> Option<String> {
    let has = |access| paths.iter().any(|path| !path.is_down && path.access == Some(access));
    if has(PathAccess::Optimized) || !has(PathAccess::NonOptimized) {
        return None;
    }
    let each: Vec<String> =
        paths.iter().map(|path| format!("{} {}", path.place(), path.standing())).collect();
    Some(format!(
        "No path to {name} was optimized when the measured time began, so the storage passed every I/O on inside: {}.",
        each.join("; ")
    ))
}

/// What became of each path.
fn path_changes(change: &WayChange) -> Vec<String> {
    let [before, after] = [&change.before, &change.after]
        .map(|details| details.as_ref().map_or(&[][..], |details| &details.paths));
    let at = duration_ns(change.seen_ns as f64);
    let mut told = Vec::new();
    for was in before {
        match after.iter().find(|now| now.name == was.name) {
            None => told.push(format!("{} was gone after {at}", was.place())),
            Some(now)
                if (now.is_down, now.access, &now.address) != (was.is_down, was.access, &was.address) =>
            {
                told.push(format!(
                    "{} went from {} to {} after {at}",
                    was.place(),
                    was.standing(),
                    now.standing()
                ));
            }
            Some(_) => {}
        }
    }
    for now in after {
        if !before.iter().any(|was| was.name == now.name) {
            told.push(format!("{} came after {at}", now.place()));
        }
    }
    told
}

/// What became of the paths to a device, or of the copies that DRBD keeps of it; empty when nothing that matters.
pub(super) fn change_words(change: &WayChange) -> Vec<String> {
    let [before, after] = [&change.before, &change.after].map(|details| details.as_ref()?.replica.as_ref());
    let copies = before.and_then(|was| copies_words(Some(was), after));
    let at = duration_ns(change.seen_ns as f64);
    path_changes(change).into_iter().chain(copies.map(|words| format!("after {at} {words}"))).collect()
}

/// Copies of DRBD that were not the same.
fn copies_apart(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for device in watched(case, |layers, at| layers[at].role() == LayerRole::Replica) {
        let name = &device.layer.name;
        let Some(begin) = device.begin.and_then(|details| details.replica.as_ref()) else {
            missing.get_or_insert(Missing(format!(
                "whether the copies of {name} were the same (/proc/drbd tells it of DRBD 8; of DRBD 9 \
                 /sys/kernel/debug/drbd, which only root may read)"
            )));
            continue;
        };
        let faults = begin.faults();
        if !faults.is_empty() {
            let says = format!(
                "The copies of {name} were not in sync when the measured time began: {}.",
                faults.join(", ")
            );
            findings.push(suspect(says).target(device.path).figure("faults", faults.len() as f64));
        }
        let Some(changes) = &device.changes else {
            missing.get_or_insert(Missing(format!("whether the copies of {name} stayed the same")));
            continue;
        };
        let told: Vec<String> =
            changes.iter().flat_map(|change| change_words(change)).take(CHANGES_TOLD).collect();
        if !told.is_empty() {
            let says =
                format!("What DRBD does with {name} changed while it was measured: {}.", told.join("; "));
            findings.push(suspect(says).target(device.path).figure("changes", told.len() as f64));
        }
    }
    unless_missing(findings, missing)
}

/// What became of the copies; `None` when they are as good as they were.
fn copies_words(before: Option<&Replica>, after: Option<&Replica>) -> Option<String> {
    let Some(after) = after else { return Some("nothing was told of it any more".to_string()) };
    let (was, now) = (before.map(Replica::faults), after.faults());
    if was.as_ref() == Some(&now) {
        return None;
    }
    Some(if now.is_empty() { "all copies were the same".to_string() } else { now.join(", ") })
}

/// The part that each path of a device with several carried.
fn shares(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for device in watched(case, |layers, at| layers[at].role() == LayerRole::Multipath) {
        let layer = device.layer;
        let counts: Option<Vec<DiskCounts>> =
            layer.paths().iter().map(|path| counts_of(case.evidence(), layer, &path.name)).collect();
        let Some(counts) = counts.filter(|counts| !counts.is_empty()) else {
            missing.get_or_insert(Missing(format!("what each path to {} carried", layer.name)));
            continue;
        };
        findings.extend(share_finding(layer, &counts).map(|finding| finding.target(device.path)));
    }
    unless_missing(findings, missing)
}

/// What a path carried: with device-mapper it is a disk, with NVMe the disk above has counts of each.
fn counts_of(evidence: &Evidence, layer: &Layer, path: &str) -> Option<DiskCounts> {
    let mut disks = evidence.disks.iter().chain(&evidence.upper_disks);
    if let Some(disk) = disks.clone().find(|disk| disk.name == path) {
        return Some(disk.total);
    }
    let above = disks.find(|disk| disk.name == layer.name)?;
    above.paths.iter().find(|one| one.name == path).map(|one| one.total)
}

fn share_finding(layer: &Layer, counts: &[DiskCounts]) -> Option<Finding> {
    let bytes: Vec<f64> =
        counts.iter().map(|one| one.read_bytes.saturating_add(one.write_bytes) as f64).collect();
    let all: f64 = bytes.iter().sum();
    if all <= 0.0 || counts.len() < 2 {
        return None;
    }
    let (mut each, mut idle) = (Vec::new(), Vec::new());
    for (path, &bytes) in layer.paths().iter().zip(&bytes) {
        each.push(format!("{} {}", path.place(), percent(ratio(bytes, all))));
        let is_first_choice = matches!(path.access, None | Some(PathAccess::Optimized | PathAccess::Other));
        if !path.is_down && is_first_choice && bytes == 0.0 {
            idle.push(path.name.as_str());
        }
    }
    let idle = match idle.len() {
        0 => String::new(),
        some => format!(
            " {} {} up and carried nothing: {}.",
            disks_in_words(&idle),
            if some == 1 { "is" } else { "are" },
            why_idle(layer)
        ),
    };
    let says = format!("The paths to {} carried of its bytes: {}.{idle}", layer.name, each.join(", "));
    let mut finding = remark(says);
    for (path, bytes) in layer.paths().iter().zip(bytes) {
        finding = finding.figure(&format!("percent_by_{}", path.name), ratio(bytes, all) * 100.0);
    }
    Some(finding)
}

/// Why a path that is up may carry nothing. The policies of NVMe are those of the kernel's
/// `drivers/nvme/host/multipath.c`.
fn why_idle(layer: &Layer) -> String {
    let policy = layer.details.as_ref().and_then(|details| details.path_policy.as_deref());
    match policy {
        Some("numa") => "the policy numa takes one path as long as it is up".to_string(),
        Some(other) => format!("the policy {other} would use all of them"),
        None => "multipath -ll shows whether it stands by in a group of its own".to_string(),
    }
}

/// Whether a read may have been answered by another node of DRBD, so that the disks here do not show it.
pub(super) fn reads_from_peers(target: &TargetView<'_>) -> bool {
    target.layers().iter().filter_map(Layer::replica).any(Replica::reads_from_peers)
}

fn path_down(layer: &Layer) -> Option<String> {
    let down: Vec<String> = layer
        .paths()
        .iter()
        .filter(|path| path.is_down)
        .map(|path| format!("{} is {}", path.place(), path.standing()))
        .collect();
    (!down.is_empty()).then(|| format!("Not all paths of {} are up: {}.", layer.name, down.join(", ")))
}

fn copies_apart_now(layer: &Layer) -> Option<String> {
    let faults = layer.replica().map(Replica::faults).filter(|faults| !faults.is_empty())?;
    Some(format!(
        "DRBD does not keep all copies of {} the same: {}. Writes are then faster, or slower, than with all nodes.",
        layer.name,
        faults.join(", ")
    ))
}

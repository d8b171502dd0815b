//! Where the target is.
//!
//! File systems that a program serves (FUSE): how much it had to do, and whether disks of this machine took part.

use super::others::FOREIGN_BYTES_PER_S;
use super::{network, paths};
use crate::cause::RuleFn::{RealSpan, RealTarget};
use crate::cause::{
    Case, Cause, Missing, OneResult, RuleResult, Sentence, of_each, ratio, remark, rule, suspect,
    unless_missing,
};
use crate::doctor::Purpose::Every;
use crate::doctor::{Answer, CheckResult, HostView, MountedFileSystem, each_filesystem};
use crate::view::{Direction, RestsOn, TargetView, flow};
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::{Seen, WrongNumber};
use truespd_core::result::{Finding, Layer, LayerKind, LayerRole, Loss, Theme};
use truespd_platform::text::{bytes, number, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("target-lost", Theme::Target).judged(
        rule(80, Suspect, WrongNumber, RealSpan(lost)),
        "Somebody removed, replaced, renamed or cut the target while it was tested, or its file system was \
         unmounted or became read-only.",
        "keep other programs away from the target, and repeat",
    ),
    Cause::new("memory-target", Theme::Cache)
        .inspected(Sentence::Layer(40, in_memory))
        .checked(
            each_filesystem(20, "memory-target", Every, in_memory_filesystem),
            "file systems in memory (tmpfs)",
            "The target lies on one.",
            "The result is that of memory.",
            "the kernel's filesystems/tmpfs.rst",
        )
        .judged(
            rule(160, Suspect, WrongNumber, RealTarget(memory_target)),
            "The target is in memory: a file on tmpfs makes the result suspect, and so does null_blk, which \
             stores nothing; another device in memory (zram) is a remark.",
            "choose a target on a disk, unless you want to measure memory",
        ),
    Cause::new("remote", Theme::Cache)
        .inspected(Sentence::Layer(50, on_another_machine))
        .inspected(Sentence::Layer(60, in_copies))
        .inspected(Sentence::Layer(70, by_a_program))
        .judged(
            rule(480, Remark, Seen, RealSpan(remote)),
            "The data are on another machine, DRBD keeps copies there, or a program (FUSE) serves them. \
             What this machine asked the server for (counters of NFS and SMB, and of disks by NVMe over \
             fabrics, iSCSI, Ceph and nbd) proves the run as far as the server. The remark says who that \
             is, and of DRBD which node is Primary.",
            "compare with a run on the machine that holds the data",
        ),
    Cause::new("overlay", Theme::Cache).inspected(Sentence::Layer(80, in_an_overlay)),
    Cause::new("own-cache", Theme::Cache).inspected(Sentence::Layer(90, in_zfs)),
    Cause::new("encrypted", Theme::Target).inspected(Sentence::Layer(120, encrypted)),
    Cause::new("misaligned", Theme::Target).inspected(Sentence::Layer(150, misaligned)),
];

/// Boundaries that partitions should keep.
const PARTITION_ALIGNMENT_BYTES: u64 = 4096;

fn misaligned(layer: &Layer) -> Option<String> {
    let start_bytes =
        layer.starts_at_bytes.filter(|start| !start.is_multiple_of(PARTITION_ALIGNMENT_BYTES))?;
    Some(format!(
        "Partition {} begins at byte {start_bytes}, which is not a multiple of 4096: on most disks each I/O touches \
         one more block than it needs.",
        layer.name
    ))
}

/// Memory instead of a disk.
fn memory_target(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    if let Some(layer) = target.layer(LayerKind::MemoryFilesystem) {
        return Ok(Some(suspect(format!("{} keeps files in memory: no disk is involved.", layer.name))));
    }
    if let Some(layer) = target.lowest().find(|layer| layer.role() == LayerRole::NullBlock) {
        let says = format!(
            "{} is a device of null_blk, which does no I/O and stores nothing (unless it was made with \
             memory_backed=1): the number is that of the kernel above it.",
            layer.name
        );
        return Ok(Some(suspect(says)));
    }
    if let Some(layer) = target.lowest().find(|layer| layer.kind == LayerKind::Memory) {
        return Ok(Some(remark(format!("{} is a device in memory: no disk is involved.", layer.name))));
    }
    if target.rests_on() == RestsOn::Unknown { Err(Missing::layers(target)) } else { Ok(None) }
}

/// A target that somebody removed, replaced, cut or took away under the test.
fn lost(case: &Case<'_>) -> RuleResult {
    of_each(case.views(), |target| {
        let Some(losses) = target.facts.and_then(|facts| facts.losses.as_ref()) else {
            return Err(Missing(format!("whether '{}' was there to the end", target.path())));
        };
        let mut findings = Vec::new();
        for loss in losses {
            let says = format!("{}.", loss.sentence(target.path()));
            let mut finding = suspect(says).target(Some(target.path()));
            if let Loss::Cut { from_bytes, to_bytes } | Loss::Emptied { from_bytes, to_bytes } = *loss {
                finding = finding.figure("size_before_bytes", from_bytes as f64);
                finding = finding.figure("size_after_bytes", to_bytes as f64);
            }
            findings.push(finding);
        }
        Ok(findings)
    })
}

/// What is missing where a document does not show the layers.
fn unknown_layers(case: &Case<'_>) -> Option<Missing> {
    let views = case.views();
    views.iter().find(|target| target.rests_on() == RestsOn::Unknown).map(Missing::layers)
}

/// Another machine, or a program, holds the data.
fn remote(case: &Case<'_>) -> RuleResult {
    let mut findings = network::proof(case);
    for target in case.views().into_iter().filter(|target| !network::is_counted(case, target)) {
        let served = paths::served(&target);
        let says = if let Some(layer) = target.layer(LayerKind::RemoteFilesystem) {
            let at = layer.server.as_ref().map_or(String::new(), |host| format!(" ({host})"));
            format!("{} is on another machine{at}: every I/O crosses the network.", layer.name)
        } else if !served.is_empty() {
            served.join(" ")
        } else if let Some(layer) = target.layer(LayerKind::UserFilesystem) {
            findings.push(program_remark(case, &target, layer));
            continue;
        } else {
            continue;
        };
        findings.push(remark(says).target(Some(target.path())));
    }
    unless_missing(findings, unknown_layers(case))
}

/// Disks that moved less than this part of what completed had no part in it.
const IDLE: f64 = 0.05;

/// The remark on a target that a program serves.
fn program_remark(case: &Case<'_>, target: &TargetView<'_>, layer: &Layer) -> Finding {
    let mut says = format!("A program serves {}: its caches are not visible here.", layer.name);
    let mut figures = Vec::new();
    let programs = &case.evidence().programs;
    let program = programs.iter().find(|one| Some(&one.mount_point) == layer.mount_point.as_ref());
    if let Some(waiting) = program.and_then(|program| program.waiting_mean) {
        says.push_str(&format!(" {} requests waited in it on average.", number(waiting)));
        figures.push(("requests_waiting".to_string(), waiting));
    }
    if let Some(words) = disks_meanwhile(case, &mut figures) {
        says.push_str(&words);
    }
    let finding = remark(says)
        .target(Some(target.path()))
        .advise("measure the storage below that program, too, to see how much time the program takes");
    figures.into_iter().fold(finding, |finding, (name, value)| finding.figure(&name, value))
}

/// What the disks of this machine did meanwhile.
fn disks_meanwhile(case: &Case<'_>, figures: &mut Vec<(String, f64)>) -> Option<String> {
    let disks = &case.evidence().beside_disks;
    if disks.is_empty() {
        return None;
    }
    let mut busy = Vec::new();
    let mut idle = Vec::new();
    for way in Direction::BOTH.into_iter().filter(|&way| case.done(way).bytes > 0.0) {
        let each = disks.iter().map(|disk| flow(&disk.total, way, disk.window_s(case.seconds())).bytes);
        let moved: f64 = each.sum();
        let share = ratio(moved, case.done(way).bytes);
        figures.push((format!("beside_{}_bytes_per_s", way.word()), moved));
        if share < IDLE || moved < FOREIGN_BYTES_PER_S {
            idle.push(way);
        } else {
            let words = format!("{}/s of {} ({} of the bytes)", bytes(moved), way.plural(), percent(share));
            busy.push(words);
        }
    }
    let mut words = String::new();
    if !busy.is_empty() {
        words.push_str(&format!(" The disks of this machine moved {} meanwhile.", busy.join(" and ")));
    }
    match idle.as_slice() {
        [] => {}
        [Direction::Read] => words.push_str(
            " No disk of this machine was read during the run, so the data came from a cache or from another machine.",
        ),
        [Direction::Write] => words.push_str(
            " No disk of this machine was written meanwhile, so the data went to a cache or to another machine.",
        ),
        _ => words.push_str(
            " The disks of this machine were idle meanwhile, so the data came from a cache or another machine, and \
             went there.",
        ),
    }
    (!words.is_empty()).then_some(words)
}

fn in_memory(layer: &Layer) -> Option<String> {
    match layer.kind {
        LayerKind::MemoryFilesystem => Some(format!(
            "Files here are in memory ({}): a test measures memory and processor, not a disk. Direct I/O may be \
             accepted, but it changes nothing.",
            layer.name
        )),
        LayerKind::Memory => Some(format!(
            "{} is a device in memory: a test measures memory and processor, not a disk.",
            layer.name
        )),
        _ => None,
    }
}

fn on_another_machine(layer: &Layer) -> Option<String> {
    let server = layer.server.as_ref().map(|s| format!(" ({s})")).unwrap_or_default();
    match layer.kind {
        LayerKind::RemoteFilesystem => Some(format!(
            "Another machine holds the data{server}: every I/O crosses the network. -Su and -Sh bypass the cache of \
             this machine, not the cache of the other. Compare with a run on the machine that holds the data.",
        )),
        _ => layer.served_by().map(|by| {
            format!(
                "{} is served by {by}: every I/O crosses the network, and -Su and -Sh do not bypass the caches of \
                 the server.",
                layer.name
            )
        }),
    }
}

fn in_copies(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Replica).then(|| match layer.replica() {
        Some(replica) if replica.is_alone() => format!(
            "DRBD keeps copies of {} ({}): no other node is connected, so writes stay here.",
            layer.name,
            replica.nodes_words()
        ),
        Some(replica) => format!(
            "DRBD keeps copies of {} ({}): writes cross the network.",
            layer.name,
            replica.nodes_words()
        ),
        None => format!("DRBD keeps copies of {} on other nodes: writes cross the network.", layer.name),
    })
}

fn by_a_program(layer: &Layer) -> Option<String> {
    (layer.kind == LayerKind::UserFilesystem).then(|| {
        format!(
            "A program serves this file system ({}): its processor time is part of every I/O, and direct I/O may not \
             bypass its cache.",
            layer.name
        )
    })
}

fn in_an_overlay(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Overlay).then(|| {
        "This is an overlay file system, as in a container: the first write to a file of the image copies the whole \
         file. Use a volume to measure the disk."
            .to_string()
    })
}

fn in_zfs(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Zfs).then(|| {
        "ZFS has its own cache (ARC) beside the page cache, and may compress. OpenZFS before 2.3 accepts -Su, but \
         still answers from the ARC."
            .to_string()
    })
}

fn encrypted(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::Encrypted).then(|| {
        format!("{} encrypts: processor time is part of every I/O and may limit the rate.", layer.name)
    })
}

fn in_memory_filesystem(_: &HostView, one: &MountedFileSystem) -> CheckResult {
    if !one.is_memory {
        return Ok(Answer::good("Its files lie on a disk."));
    }
    let says = "Files here lie in memory: a test measures memory and processor, not a disk. Test a file on a file \
         system that lies on a disk.";
    Ok(Answer::spoils(says).now(one.kind.clone()).wanted("a file system on a disk"))
}

//! File systems that a program serves (FUSE): how much it had to do, and whether disks of this machine took part.

use super::machine::FOREIGN_BYTES_PER_S;
use crate::result::{Finding, FindingGrade, Layer};
use crate::text::{bytes, number, percent};
use crate::verdict::Case;
use crate::verdict::figures::{Details, found, ratio};
use crate::verdict::view::{View, Way, flow};

/// Disks that moved less than this part of what completed had no part in it.
const IDLE: f64 = 0.05;

/// The remark on a target that a program serves.
pub fn remark(case: &Case<'_>, target: &View<'_>, layer: &Layer) -> Finding {
    let mut says = format!("A program serves {}: its caches are not visible here.", layer.name);
    let mut figures = Vec::new();
    let programs = &case.measured.evidence.programs;
    let program = programs.iter().find(|one| Some(&one.mount_point) == layer.mount_point.as_ref());
    if let Some(waiting) = program.and_then(|program| program.waiting_mean) {
        says.push_str(&format!(" {} requests waited in it on average.", number(waiting)));
        figures.push(("requests_waiting".to_string(), waiting));
    }
    if let Some(words) = beside(case, &mut figures) {
        says.push_str(&words);
    }
    let finding = found(FindingGrade::Remark, says)
        .of(Some(target.path()))
        .advise("measure the storage below that program, too, to see how much time the program takes");
    figures.into_iter().fold(finding, |finding, (name, value)| finding.figure(&name, value))
}

/// What the disks of this machine did meanwhile.
fn beside(case: &Case<'_>, figures: &mut Vec<(String, f64)>) -> Option<String> {
    let disks = &case.measured.evidence.beside_disks;
    if disks.is_empty() {
        return None;
    }
    let mut busy = Vec::new();
    let mut idle = Vec::new();
    for way in Way::BOTH.into_iter().filter(|&way| case.done(way).bytes > 0.0) {
        let of =
            |disk: &crate::result::DiskActivity| flow(&disk.total, way, disk.window_ns as f64 / 1e9).bytes;
        let moved: f64 = disks.iter().map(of).sum();
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
        [Way::Read] => words.push_str(
            " No disk of this machine was read during the run, so the data came from a cache or from another machine.",
        ),
        [Way::Write] => words.push_str(
            " No disk of this machine was written meanwhile, so the data went to a cache or to another machine.",
        ),
        _ => words.push_str(
            " The disks of this machine were idle meanwhile, so the data came from a cache or another machine, and went \
             there.",
        ),
    }
    (!words.is_empty()).then_some(words)
}

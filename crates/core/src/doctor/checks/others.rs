//! Others on a disk: programs, the system itself, an array's own work.

use crate::doctor::change::Change;
use crate::doctor::check::Answer;
use crate::doctor::finding::Lasts;
use crate::doctor::thresholds::FOREIGN_BYTES_PER_S;
use crate::doctor::view::{Disk, View};
use crate::machine::chain::{LayerKind, LayerRole};
use crate::machine::setting::Setting;
use crate::text::{rate, shell_word};

/// Busy for this share of a second, the disk makes a test wait.
const BUSY_MUCH: f64 = 0.05;
/// Users that are named.
const NAMED_MAX: usize = 3;

pub(super) fn traffic(view: &View, disk: &Disk) -> Vec<Answer> {
    if matches!(disk.layer.kind, LayerKind::Md | LayerKind::DeviceMapper) {
        return vec![Answer::absent("Its I/O is that of the disks below it.")];
    }
    let Some(seen) = view.window.disks.get(disk.name()) else {
        let why = "The kernel does not count its I/O, so that nobody can tell (queue/iostats; a loop device or a drive without use shows \
             nothing before its first I/O).";
        return vec![Answer::unknown(why)];
    };
    let ways = [("read", seen.read_bytes_per_s), ("written", seen.written_bytes_per_s)];
    let ways: Vec<String> = ways
        .iter()
        .filter(|(_, rate)| *rate > 0.0)
        .map(|(way, bytes)| format!("{way} at {}", rate(*bytes)))
        .collect();
    let now = if ways.is_empty() { "idle".to_string() } else { ways.join(" and ") };
    if seen.read_bytes_per_s + seen.written_bytes_per_s < FOREIGN_BYTES_PER_S {
        return vec![Answer::good("Nobody uses it to speak of just now.").now(now)];
    }
    let says = format!(
        "Other programs use {} now: stop the other programs that use the disks (iotop and pidstat -d show them) before measuring.",
        disk.name()
    );
    let answer = if seen.busy >= BUSY_MUCH { Answer::spoils(says) } else { Answer::may_spoil(says) };
    vec![answer.now(now).wanted("idle")]
}

pub(super) fn users(_: &View, disk: &Disk) -> Vec<Answer> {
    let named = |words: &[String]| {
        let more = words.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        format!("{}{more}", words.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("; "))
    };
    let neighbours = &disk.neighbours;
    if let Ok(programs) = &neighbours.programs
        && !programs.is_empty()
    {
        let says = "Programs have the device itself open: their I/O shares it with the test, and a test that writes would destroy \
             their data.";
        return vec![Answer::may_spoil(says).now(named(programs)).wanted("nobody")];
    }
    let why = neighbours.programs.as_ref().err();
    let unseen = why.map(|why| format!("Which programs have it open is not known: {why}."));
    // Of what is built on a disk, the disk tells it.
    if !neighbours.system.is_empty() && !disk.is_stacked() {
        let says = "The operating system is on this disk: its logs, updates and swap disturb a test at times. Test on a disk without it.";
        let says = unseen.map_or_else(|| says.to_string(), |unseen| format!("{says} {unseen}"));
        let now = named(&neighbours.system);
        return vec![Answer::may_spoil(says).now(now).wanted("a disk without the system")];
    }
    if let Some(unseen) = unseen {
        return vec![Answer::unknown(unseen)];
    }
    vec![
        Answer::good("Neither the running system nor a program that has the device open is on it.")
            .now("nobody"),
    ]
}

pub(super) fn array(_: &View, disk: &Disk) -> Vec<Answer> {
    let details = disk.layer.details.as_ref().filter(|details| details.role == LayerRole::Array);
    let Some(array) = details else { return vec![Answer::absent("It is no array.")] };
    if let Some(action) = &array.sync_action {
        let says = format!(
            "The array {} is busy with maintenance ({action}): its own I/O slows a test down.",
            disk.name()
        );
        let file = Setting::read(disk.folder().join("md/sync_action"));
        let path = shell_word(&file.path.display().to_string());
        // A check that was stopped is begun anew; a rebuild goes on from where it was.
        let back = if action == "check" || action == "repair" { action.as_str() } else { "idle" };
        let change =
            Change::by(format!("echo frozen > {path}"), format!("echo {back} > {path}"), Lasts::UntilRestart);
        return vec![Answer::spoils(says).now(action.clone()).wanted("idle").change(change)];
    }
    if array.missing_disks.is_some() {
        let says = format!("The array {} lacks a disk: it is not as fast as a complete array.", disk.name());
        return vec![Answer::spoils(says).now("not complete").wanted("complete")];
    }
    vec![Answer::good("The array is complete, and has nothing of its own to do.").now("idle")]
}

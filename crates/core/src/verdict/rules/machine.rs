//! What else the machine did.

use super::pages::pages_of_others;
use super::reach;
use crate::result::FindingGrade;
use crate::text::{bytes, number, percent};
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::{Group, View, Way};
use crate::verdict::{Case, Look, Missing};

/// Foreign bytes from this part of our own on.
pub const FOREIGN_SUSPECT: f64 = 0.05;
/// And from this rate on: a few log lines disturb no test.
pub const FOREIGN_BYTES_PER_S: f64 = 100.0 * 1024.0;

/// Less than this part of what others moved is not worth a comparison.
const OWN_LITTLE: f64 = 0.01;

/// Another run of this program that had the same target.
pub fn other_test(case: &Case<'_>) -> Look {
    let mut findings = Vec::new();
    for target in case.views() {
        let runs = target.facts.map_or(&[][..], |facts| &facts.other_runs);
        let writers = runs.iter().filter(|run| run.writes).count();
        let Some(first) = runs.iter().find(|run| run.writes).or(runs.first()) else { continue };
        let (does, grade) =
            if first.writes { ("writes", FindingGrade::Suspect) } else { ("reads", FindingGrade::Remark) };
        let who = match (&first.command_line, first.process) {
            (Some(line), Some(id)) => format!(" ({line}; process {id})"),
            (None, Some(id)) => format!(" (process {id})"),
            _ => String::new(),
        };
        let more = if runs.len() > 1 { format!(", and {} more", runs.len() - 1) } else { String::new() };
        let says = format!("Another test {does} {} at the same time{who}{more}.", target.path());
        let finding = found(grade, says).of(Some(target.path()));
        findings
            .push(finding.figure("other_tests", runs.len() as f64).figure("other_writers", writers as f64));
    }
    unless_missing(findings, None)
}

/// Disks that moved more than the run did.
pub fn other_io(case: &Case<'_>) -> Look {
    let groups = case.groups()?;
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views() {
        let Some(grew) = pages_of_others(case, &target) else { continue };
        let says = format!(
            "Another program uses {} through the page cache: {} of it came there during the run, and the I/O of this run \
             bypassed it.",
            target.path(),
            bytes(grew)
        );
        findings.push(
            found(FindingGrade::Remark, says)
                .of(Some(target.path()))
                .figure("foreign_page_cache_bytes", grew),
        );
    }
    for group in &groups {
        let (mut ours, mut foreign, mut parts) = (0.0, 0.0, Vec::new());
        for way in Way::BOTH {
            let Some(own) = own(case, group, way, groups.len() == 1) else {
                ours += group.done(way).bytes;
                missing.get_or_insert(Missing(format!(
                    "which of the {} on {} came from this run: the layers above turn one {} into several, or delay it",
                    way.plural(),
                    group.names(),
                    way.word()
                )));
                continue;
            };
            ours += own;
            let others = (group.moved(way).bytes - own).max(0.0);
            if others > 0.0 {
                parts.push(format!("{}/s of {}", bytes(others), way.plural()));
            }
            foreign += others;
        }
        // The disks also count parts of what had not ended.
        let size = Way::BOTH.iter().map(|&way| group.done(way).size()).fold(0.0, f64::max);
        let in_flight = ratio(case.in_flight(&group.targets) * size, case.seconds());
        let beyond = foreign - in_flight;
        if beyond < FOREIGN_BYTES_PER_S || beyond < FOREIGN_SUSPECT * ours {
            continue;
        }
        let parts = parts.join(" and ");
        // The page cache answers most, and what the run itself has the disks move is nothing to compare with.
        let says = if ours < OWN_LITTLE * foreign {
            format!(
                "Other I/O used {} during the run: {parts}; this run itself had it move {}/s.",
                group.names(),
                bytes(ours)
            )
        } else {
            format!(
                "Other I/O used {} during the run: {parts} beside the {}/s of this run ({}).",
                group.names(),
                bytes(ours),
                percent(ratio(foreign, ours))
            )
        };
        let finding = found(FindingGrade::Suspect, says).of(group.path());
        findings.push(finding.figure("foreign_bytes_per_s", foreign).figure("own_bytes_per_s", ours));
    }
    unless_missing(findings, missing)
}

/// The most that the run itself can have made the disks move; `None` when that cannot be told.
pub fn own(case: &Case<'_>, group: &Group<'_>, way: Way, is_only: bool) -> Option<f64> {
    let done = group.done(way).bytes;
    let is_direct = group.targets.iter().all(View::is_direct);
    let writes = group.done(Way::Write).bytes > 0.0;
    let multiplies = group.targets.iter().any(View::multiplies_writes);
    // Parity is read back, compressed extents are read whole.
    let reads_more = (writes && group.targets.iter().any(View::reads_to_write))
        || group.targets.iter().any(|target| target.reduced_by().is_some() || target.multiplies_reads());
    match way {
        Way::Read if reads_more => None,
        // Cached writes reach the disk later, also those from before the measured time.
        Way::Write if writes && (multiplies || !is_direct) => None,
        _ => {
            let host = case.measured.evidence.host.as_ref().filter(|_| is_only);
            let counted = host.and_then(|host| match way {
                Way::Read => host.own_disk_read_bytes,
                Way::Write => host.own_disk_write_bytes,
            });
            // The kernel's account of the process knows what reading ahead brought, and what the page cache answered.
            let through_cache =
                is_only.then(|| reach::own(case, group, way)).flatten().filter(|_| !is_direct);
            Some(through_cache.unwrap_or(done.max(ratio(counted.unwrap_or(0) as f64, case.seconds()))))
        }
    }
}

/// Stolen processor time in percent that is worth a word.
pub const STEAL_REMARK: f64 = 2.0;
/// And from which on the result is suspect.
pub const STEAL_SUSPECT: f64 = 5.0;
/// The same for a single processor, which may be the one that issues the I/O.
const STEAL_WORST_REMARK: f64 = 7.0;
const STEAL_WORST_SUSPECT: f64 = 15.0;

/// Processor time taken by other machines on the host.
pub fn steal(case: &Case<'_>) -> Look {
    let host = case.measured.evidence.host.as_ref();
    let Some(steal) = host.and_then(|host| host.steal_percent) else {
        return Err(Missing::of("the processor time that other virtual machines took"));
    };
    let worst = host.and_then(|host| host.steal_worst_percent).unwrap_or(steal);
    let grade = if steal > STEAL_SUSPECT || worst > STEAL_WORST_SUSPECT {
        FindingGrade::Suspect
    } else if steal > STEAL_REMARK || worst > STEAL_WORST_REMARK {
        FindingGrade::Remark
    } else {
        return Ok(Vec::new());
    };
    let of_one = if worst > 2.0 * steal {
        format!(", and {} of the time of one processor", percent(worst / 100.0))
    } else {
        String::new()
    };
    let says = format!(
        "Other virtual machines on this host took {} of the processor time (steal){of_one}.",
        percent(steal / 100.0)
    );
    let finding = found(grade, says).figure("steal_percent", steal);
    Ok(vec![finding.figure("steal_worst_percent", worst)])
}

/// Share of the time that some task waited for memory.
pub const MEMORY_SOME_SUSPECT: f64 = 0.05;
/// And that all of them did.
pub const MEMORY_FULL_SUSPECT: f64 = 0.01;
/// Pages of 4 KiB: below this a daemon woke up.
const SWAP_PAGES_SUSPECT: u64 = 256;

/// Tasks that waited for memory, and swapping.
pub fn memory_pressure(case: &Case<'_>) -> Look {
    let Some(host) = &case.measured.evidence.host else {
        return Err(Missing::of("memory pressure and swapping over the measured time"));
    };
    let (swap_in, swap_out) = (host.swap_in_pages, host.swap_out_pages);
    if host.pressure.is_none() && swap_in.is_none() && swap_out.is_none() {
        return Err(Missing::of("memory pressure and swapping over the measured time"));
    }
    let mut findings = Vec::new();
    let share = |ns: u64| ratio(ns as f64 / 1e9, case.seconds());
    let (some, full) =
        host.pressure.map_or((0.0, 0.0), |p| (share(p.memory_some_ns), share(p.memory_full_ns)));
    if some >= MEMORY_SOME_SUSPECT || full >= MEMORY_FULL_SUSPECT {
        let says = format!(
            "Some tasks waited for memory for {} of the time, all tasks for {}.",
            percent(some),
            percent(full)
        );
        findings.push(
            found(FindingGrade::Suspect, says)
                .figure("memory_some_percent", some * 100.0)
                .figure("memory_full_percent", full * 100.0),
        );
    }
    let (pages_in, pages_out) = (swap_in.unwrap_or(0), swap_out.unwrap_or(0));
    let pages = pages_in.saturating_add(pages_out);
    if pages >= SWAP_PAGES_SUSPECT {
        let says = format!(
            "The machine swapped during the run: {} pages in, {} pages out.",
            number(pages_in as f64),
            number(pages_out as f64)
        );
        let finding = found(FindingGrade::Suspect, says).figure("swapped_pages", pages as f64);
        let finding = finding.figure("swapped_in_pages", pages_in as f64);
        findings.push(finding.figure("swapped_out_pages", pages_out as f64));
    }
    Ok(findings)
}

/// Parts per million; times and rates are wrong by as much as the clock.
pub const DRIFT_REMARK: f64 = 100.0;
const DRIFT_SUSPECT: f64 = 1000.0;

/// A clock that drifted.
pub fn clock(case: &Case<'_>) -> Look {
    let Some(clock) = case.measured.evidence.clock.as_ref().filter(|clock| clock.drift_ppm.is_finite())
    else {
        return Err(Missing::of("the drift of the clock"));
    };
    let drift = clock.drift_ppm.abs();
    let grade = match drift {
        d if d > DRIFT_SUSPECT => FindingGrade::Suspect,
        d if d > DRIFT_REMARK => FindingGrade::Remark,
        _ => return Ok(Vec::new()),
    };
    let says = format!(
        "The clock {} ran {} parts per million {} CLOCK_MONOTONIC: rates and times are wrong by as much.",
        clock.name,
        number(drift),
        if clock.drift_ppm > 0.0 { "faster than" } else { "slower than" }
    );
    Ok(vec![found(grade, says).figure("drift_ppm", clock.drift_ppm)])
}

/// Processors that may not run at their speed.
pub fn governor(case: &Case<'_>) -> Look {
    let Some(host) = &case.measured.evidence.host else {
        return Err(Missing::of("the frequency governors"));
    };
    // Most virtual machines have none.
    if !host.governors.iter().any(|name| name == "powersave") {
        return Ok(Vec::new());
    }
    let says = "The frequency governor is powersave: some latencies include the time that a processor takes to speed \
        up.";
    Ok(vec![found(FindingGrade::Remark, says.to_string())])
}

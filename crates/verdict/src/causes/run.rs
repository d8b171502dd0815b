//! Was there a result at all, is it whole, and can it be proven?

use super::rhythm::late_end;
use super::{behind, disk, network};
use crate::cause::RuleFn::{RealSpan, RunSpan, Span};
use crate::cause::{
    Case, Cause, Missing, RuleFn, RuleResult, Sentence, found, invalid, remark, rule, suspect,
};
use crate::doctor::Purpose::Every;
use crate::doctor::each_disk;
use crate::view::{Direction, DiskGroup, IoCount, RestsOn};
use truespd_core::measure::Histogram;
use truespd_core::result::FindingGrade::{Invalid, Remark, Suspect};
use truespd_core::result::Meaning::{Seen, WrongNumber};
use truespd_core::result::{Document, Finding, FindingGrade, TargetFacts, Theme, TimeSpanResult};
use truespd_platform::text::number;

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("run-failed", Theme::Run).judged(
        rule(10, Invalid, WrongNumber, RuleFn::Document(failed)),
        "The run failed, or ended before anything was measured.",
        "fix the cause and run again; the numbers of an incomplete run cannot be used",
    ),
    Cause::new("simulated", Theme::Run).judged(
        rule(20, Invalid, WrongNumber, Span(simulated)),
        "The engine sends nothing to the target (null, sim).",
        "leave --engine out to measure; these engines are for testing the tool",
    ),
    Cause::new("nothing-completed", Theme::Symptom).judged(
        rule(60, Invalid, WrongNumber, Span(nothing_completed)),
        "No I/O completed in the measured time.",
        "measure longer (-d), and check whether the target answers at all",
    ),
    Cause::new("stalled", Theme::Target).judged(
        rule(70, Invalid, WrongNumber, RunSpan(stalled)),
        "I/Os were out for a second or more when the measured time ended, and for ten times the mean \
         latency, so that no count and no latency holds them (suspect). When no I/O completed, or some of \
         these never ended, the result is invalid.",
        "look in the kernel's log (dmesg) for errors and resets of the device or of the connection to it, \
         and measure longer (-d, -L), so that the latencies hold the stalls",
    ),
    Cause::new("unproven", Theme::Cache)
        .inspected(Sentence::Facts(230, hidden_disks))
        .inspected(Sentence::Facts(240, uncounted_commands))
        .checked(
            each_disk(250, "iostats", Every, disk::iostats).one_core_peak(),
            "counters of the disk",
            "They are off; with --peak, when they are on.",
            "The verdict needs the counters to tell whether I/O reached the disk; at the highest rates \
             they cost a few percent.",
            "fio t/one-core-peak.sh; the kernel's ABI/stable/sysfs-block (iostats)",
        )
        .judged(
            rule(150, Suspect, WrongNumber, RealSpan(unproven)),
            "The result does not show which disks are below the target or what they moved, nor what a \
             server was asked for. Where the disks are not visible, as in a container, the kernel's account of \
             this process decides: reads, and direct writes, of which it holds 90 % and more were at the storage. \
             That is a remark where no device of this kernel that answers from memory (zram, a RAM disk, a loop \
             device, nbd, ublk, a ZFS volume) is large enough for the file, and suspect where one is. NVMe commands \
             (/dev/ngXnY) are counted since Linux 6.13, and only where queue/iostats_passthrough is 1. Or its I/Os are \
             too few to compare them with that: fewer than 100, and fewer than 10 that complete 64 MiB together.",
            "choose a target whose disks this machine sees and counts (queue/iostats set to 1; in a \
             container a volume instead of its root), or measure on the machine that has the disks",
        ),
    Cause::new("percentiles", Theme::Symptom).judged(
        rule(460, Remark, Seen, Span(percentiles)),
        "The test completed too few I/Os for its highest percentiles.",
        "ignore these percentiles, or measure longer",
    ),
    Cause::new("stopped-early", Theme::Symptom).judged(
        rule(470, Remark, Seen, Span(stopped_early)),
        "The run was stopped before its measured time was over.",
        "let the run end by itself",
    ),
];

/// The run failed, or stopped before anything was measured.
fn failed(document: &Document) -> RuleResult {
    let spans = document.profile.time_spans.len().max(document.time_spans.len());
    let is_measured =
        |place: usize| matches!(document.time_spans.get(place), Some(TimeSpanResult::Measured(_)));
    let first = (0..spans).find(|&place| !is_measured(place));
    // Of a sum, another rule tells which of its runs failed.
    let failures = if document.is_sum() { &[][..] } else { &document.failures };
    let says = match (failures, first) {
        ([], None) if spans > 0 => return Ok(Vec::new()),
        ([], _) => "The run ended before its measured time: nothing was measured.".to_string(),
        ([only], _) => format!("The run failed: {only}"),
        ([one, more @ ..], _) => format!("The run failed: {one} (and {} more failures)", more.len()),
    };
    let number = first.unwrap_or(spans.saturating_sub(1)) as u32 + 1;
    let measured = (0..spans).filter(|&place| is_measured(place)).count();
    let finding = invalid(says)
        .figure("failures", failures.len() as f64)
        .figure("time_spans", spans as f64)
        .figure("time_spans_measured", measured as f64);
    Ok(vec![Finding { time_span: number, ..finding }])
}

/// An engine whose I/O reaches nothing.
fn simulated(case: &Case<'_>) -> RuleResult {
    let says = format!("The engine {} only simulates I/O: nothing reached the target.", case.measured.engine);
    Ok(if case.is_simulated() { vec![invalid(says)] } else { Vec::new() })
}

fn nothing_completed(case: &Case<'_>) -> RuleResult {
    let targets = case.measured.threads.iter().flat_map(|thread| &thread.targets);
    let ios = targets.fold(0u64, |sum, target| sum.saturating_add(target.ios()));
    if ios > 0 {
        return Ok(Vec::new());
    }
    let says = format!("No I/O completed in the measured {:.2} s.", case.seconds());
    let finding = invalid(says);
    Ok(vec![finding.figure("ios", 0.0).figure("test_time_s", case.seconds())])
}

/// I/Os that the end of the measured time found out, and that no queue explains.
fn stalled(case: &Case<'_>) -> RuleResult {
    let Some(outstanding) = &case.evidence().outstanding else {
        if case.is_simulated() {
            return Ok(Vec::new());
        }
        return Err(Missing::new("the I/Os that were out when the measured time ended"));
    };
    // When the whole program stood still, it noticed late what had ended long before.
    if late_end(case).is_some() {
        return Ok(Vec::new());
    }
    let mean_ns = case.measured.mean_time_out_ns();
    Ok(outstanding
        .iter()
        .filter(|of| of.is_stall(mean_ns))
        .map(|of| {
            let is_worst = of.never > 0 || mean_ns.is_none();
            let grade = if is_worst { FindingGrade::Invalid } else { FindingGrade::Suspect };
            found(grade, format!("{}. No count and no latency holds them.", of.words()))
                .target(Some(&of.path))
                .figure("outstanding", of.ios as f64)
                .figure("never", of.never as f64)
                .figure("oldest_s", of.age_ns_max as f64 / 1e9)
                .figure("late_s", of.late_ns_max as f64 / 1e9)
        })
        .collect())
}

/// Ctrl+C, or an event, ended the measured time.
fn stopped_early(case: &Case<'_>) -> RuleResult {
    let (asked, seconds) = (case.span.result_s() as f64, case.seconds());
    if seconds >= 0.99 * asked {
        return Ok(Vec::new());
    }
    let says =
        format!("The run was stopped after {} s of the {} s asked for.", number(seconds), number(asked));
    Ok(vec![remark(says).figure("test_time_s", seconds).figure("asked_s", asked)])
}

/// The evidence is missing without which no other rule proves anything.
fn unproven(case: &Case<'_>) -> RuleResult {
    let why = match case.groups() {
        Err(Missing(what)) => match case.hidden() {
            Some(group) => return Ok(behind::finding(case, &group, &what).into_iter().collect()),
            None => format!("it does not show {what}"),
        },
        Ok(groups) => match hidden(case) {
            Some(words) => words,
            None => return Ok(too_few(case, &groups).into_iter().collect()),
        },
    };
    let finding = suspect(format!("The result cannot be proven: {why}."));
    Ok(vec![if case.views().iter().any(|view| view.uncounted().is_some()) {
        finding.advise(
        "set queue/iostats_passthrough of the disk to 1 before the run, which counts them (Linux 6.13), or compare \
         with a run on the block device",
    )
    } else {
        finding
    }])
}

/// A direction with a smaller part of the I/Os is not what the result is about.
const UNPROVEN_PART: f64 = 0.1;

/// So few I/Os that nothing can be compared with what was counted below.
fn too_few(case: &Case<'_>, groups: &[DiskGroup<'_>]) -> Option<Finding> {
    let served = network::server_groups(case);
    let of_servers = served.iter().map(|group| &group.targets);
    let sets = groups.iter().map(|group| &group.targets).chain(of_servers);
    let counts: Vec<IoCount> =
        sets.flat_map(|targets| Direction::BOTH.map(|way| IoCount::new(case, targets, way))).collect();
    let few = counts.iter().filter(|count| count.is_too_few());
    let most = few.clone().max_by(|a, b| a.ios.total_cmp(&b.ios))?;
    let all: f64 = counts.iter().map(|count| count.ios).sum();
    let unproven: f64 = few.map(|count| count.ios).sum();
    if unproven <= UNPROVEN_PART * all {
        return None;
    }
    let says = format!(
        "Too few I/Os to prove the result: it has {}, and it takes {} to compare them with what the storage counted.",
        most.words(),
        number(most.least)
    );
    let finding = suspect(says).figure("ios", all).figure("unproven_ios", unproven);
    let finding = finding.figure("ios_least", most.least);
    Some(
        finding
            .advise("measure longer (-d), or let more I/Os complete (a higher -g, smaller blocks with -b)"),
    )
}

/// Why the work of a target's disks cannot be seen from here.
fn hidden(case: &Case<'_>) -> Option<String> {
    case.views().iter().find_map(|target| match target.rests_on() {
        RestsOn::Remote => network::hidden(case, target),
        RestsOn::Program => Some(format!(
            "a program serves '{}', and whether it used a disk is not visible here",
            target.path()
        )),
        RestsOn::Disks | RestsOn::MemoryFilesystem | RestsOn::Unknown => None,
    })
}

/// Percentiles that DiskSpd prints, by their nines.
const NINES: std::ops::RangeInclusive<u32> = 2..=9;

/// The first percentile above which less than one I/O lies; `None` when all have some.
fn first_single(count: u64) -> Option<u32> {
    NINES.into_iter().find(|&nines| count < 10u64.pow(nines))
}

/// Percentiles that are a single I/O.
fn percentiles(case: &Case<'_>) -> RuleResult {
    let mut words = Vec::new();
    let mut least = None;
    for way in Direction::BOTH {
        let directions = case.measured.targets().map(|target| way.pick(&target.read, &target.write));
        let count: u64 =
            directions.filter_map(|direction| direction.latency.as_deref()).map(Histogram::count).sum();
        let Some(nines) = first_single(count) else { continue };
        if count == 0 {
            continue;
        }
        let name = if nines == 2 { "the 99th percentile".to_string() } else { format!("{nines}-nines") };
        words.push(format!(
            "With {} {}, the percentiles from {name} on show a single I/O.",
            number(count as f64),
            way.plural()
        ));
        least = Some(least.map_or(count, |known: u64| known.min(count)));
    }
    let Some(least) = least else { return Ok(Vec::new()) };
    Ok(vec![remark(words.join(" ")).figure("ios", least as f64)])
}

/// A file system that shows no disks below it, but keeps data somewhere.
fn hidden_disks(facts: &TargetFacts) -> Option<String> {
    let hidden = facts.last_visible()?;
    Some(format!(
        "The disks below {} are not visible here, as in a container or with a file system that manages its own \
         disks: no disk counter can prove the result. The kernel's account of the run can tell whether storage \
         moved the bytes, but not which.",
        hidden.name
    ))
}

fn uncounted_commands(facts: &TargetFacts) -> Option<String> {
    let commands = facts.nvme_commands.as_ref().filter(|commands| !commands.counted)?;
    let disk = facts.device_name.as_deref().unwrap_or("the disk");
    Some(format!(
        "The kernel does not count the NVMe commands that {} takes, so that the counters of {disk} cannot prove the \
         result: it counts them since Linux 6.13, where /sys/block/{disk}/queue/iostats_passthrough is 1.",
        commands.device
    ))
}

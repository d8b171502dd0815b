//! What else the machine did.

use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, Sentence, ratio, rule, suspect};
use crate::doctor::Purpose::{Every, Latency};
use crate::doctor::{Answer, Change, CheckResult, HostView, Lasts, NoAnswer, machine};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::OtherLoad;
use truespd_core::result::{Limit, MachineNow, Theme};
use truespd_platform::machine::limits::averages;
use truespd_platform::machine::limits::{memory_facts, nodes_with_memory};
use truespd_platform::machine::roots::Setting;
use truespd_platform::text::{grouped, number, part_percent, percent, size};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("memory-pressure", Theme::Neighbours)
        .inspected(Sentence::Machine(350, no_memory))
        .checked(
            machine(100, "memory-pressure", Every, pressure),
            "tasks that wait for memory, swapping",
            "Some waited for 5 % or all for 1 % of the last 10 s, the machine swaps, or less than 5 % of \
             the memory is available.",
            "Threads wait, and swap takes a part of some disk.",
            "the kernel's accounting/psi.rst, /proc/vmstat",
        )
        .judged(
            rule(420, Suspect, OtherLoad, RealSpan(memory_pressure)),
            "Tasks waited for memory, or the machine swapped, during the measured time.",
            "free memory or use fewer and smaller buffers, and repeat",
        ),
    Cause::new("node-balancing", Theme::Machine).checked(
        machine(460, "node-balancing", Latency, node_balancing).unlike_production(),
        "moving memory between nodes (NUMA balancing)",
        "It is on, and the machine has several nodes.",
        "Outliers of some tens of microseconds.",
        "the kernel's admin-guide/sysctl/kernel.rst (numa_balancing)",
    ),
    Cause::new("huge-pages", Theme::Machine).checked(
        machine(470, "huge-pages", Latency, huge_pages).unlike_production(),
        "transparent huge pages",
        "All programs wait for them (defrag is always).",
        "Stalls of milliseconds when memory is scattered.",
        "the kernel's admin-guide/mm/transhuge.rst",
    ),
];

/// Share of the time that some task waited for memory.
const MEMORY_SOME_SUSPECT: f64 = 0.05;

/// And that all of them did.
const MEMORY_FULL_SUSPECT: f64 = 0.01;

/// Pages of 4 KiB: below this a daemon woke up.
const SWAP_PAGES_SUSPECT: u64 = 256;

/// Tasks that waited for memory, and swapping.
fn memory_pressure(case: &Case<'_>) -> RuleResult {
    let host = case
        .evidence()
        .host
        .as_ref()
        .ok_or_else(|| Missing::new("memory pressure and swapping over the measured time"))?;
    let (swap_in, swap_out) = (host.swap_in_pages, host.swap_out_pages);
    if host.pressure.is_none() && swap_in.is_none() && swap_out.is_none() {
        return Err(Missing::new("memory pressure and swapping over the measured time"));
    }
    let mut findings = Vec::new();
    let [some, full] = host
        .pressure
        .map_or([0, 0], |pressure| [pressure.memory_some_ns, pressure.memory_full_ns])
        .map(|ns| ratio(ns as f64 / 1e9, case.seconds()));
    if some >= MEMORY_SOME_SUSPECT || full >= MEMORY_FULL_SUSPECT {
        let says = format!(
            "Some tasks waited for memory for {} of the time, all tasks for {}.",
            percent(some),
            percent(full)
        );
        findings.push(
            suspect(says)
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
        let finding = suspect(says).figure("swapped_pages", pages as f64);
        let finding = finding.figure("swapped_in_pages", pages_in as f64);
        findings.push(finding.figure("swapped_out_pages", pages_out as f64));
    }
    Ok(findings)
}

/// Less free memory than this part of all is little.
const AVAILABLE_MIN: f64 = 0.05;

fn pressure(view: &HostView) -> CheckResult {
    let swapped = view.window.swapped_pages.unwrap_or(0);
    if swapped >= SWAP_PAGES_SUSPECT {
        let says = format!(
            "The machine swaps: {} pages within a second. Free memory before measuring.",
            grouped(swapped)
        );
        return Ok(Answer::spoils(says).now("swapping").wanted("no swapping"));
    }
    if let Some(stalled) = averages("memory", view.roots()) {
        let now = format!("{} of the last 10 s", part_percent(stalled.some / 100.0));
        if stalled.some / 100.0 >= MEMORY_SOME_SUSPECT || stalled.full / 100.0 >= MEMORY_FULL_SUSPECT {
            let says = format!(
                "Some tasks waited for memory for {} of the last 10 s, all tasks for {}: free memory before \
                 measuring.",
                part_percent(stalled.some / 100.0),
                part_percent(stalled.full / 100.0)
            );
            return Ok(Answer::spoils(says).now(now).wanted("less than 5 %"));
        }
    }
    let Ok(facts) = memory_facts(view.roots()) else {
        return Err(NoAnswer::unknown("The machine's memory (/proc/meminfo) cannot be read."));
    };
    let (Some(total), Some(available)) = (facts.total_bytes, facts.available_bytes) else {
        return Err(NoAnswer::unknown("The kernel does not tell how much memory is available."));
    };
    let now = format!("{} of {} available", size(available), size(total));
    if (available as f64) < AVAILABLE_MIN * total as f64 {
        let says = "Hardly any memory is left: buffers of a test may push others into swap, and the page cache has \
             no room.";
        return Ok(Answer::may_spoil(says).now(now).wanted("more than 5 %"));
    }
    Ok(Answer::good("No task waits for memory.").now(now))
}

fn huge_pages(view: &HostView) -> CheckResult {
    let folder = view.roots().sys.join("kernel/mm/transparent_hugepage");
    let [enabled, defrag] = ["enabled", "defrag"].map(|file| Setting::read(folder.join(file)));
    let on = enabled
        .chosen()
        .ok_or_else(|| NoAnswer::unread(&enabled, "The kernel has no transparent huge pages."))?;
    let now = format!("enabled: {on}, defrag: {}", defrag.chosen().unwrap_or("not known"));
    if on != "never" && defrag.chosen() == Some("always") {
        let says = "Each program waits while the kernel looks for huge pages: tasks stall now and then, also in a \
             run.";
        let change = Change::of(&defrag, "madvise").keep(
            "a line in /etc/tmpfiles.d/60-truespd.conf: w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise",
        );
        return Ok(Answer::may_spoil(says).now(now).wanted("defrag: madvise").change(change));
    }
    Ok(Answer::good("Programs do not wait for huge pages.").now(now))
}

fn node_balancing(view: &HostView) -> CheckResult {
    let several = nodes_with_memory(view.roots()).is_some_and(|nodes| nodes.iter().count() > 1);
    let balancing = view.sysctl("kernel.numa_balancing");
    if view.process.lacks.contains(&"/proc") {
        return Err(NoAnswer::unknown("Whether the kernel moves memory is not known without /proc."));
    }
    let now = balancing
        .word()
        .map(str::to_string)
        .ok_or_else(|| NoAnswer::unread(&balancing, "The kernel does not move memory between nodes."))?;
    if !several {
        return Err(NoAnswer::absent("The machine has one memory node."));
    }
    if now == "0" {
        return Ok(Answer::good("The kernel leaves memory where it is.").now("off"));
    }
    let says = "The kernel takes pages away for a moment to see who uses them, and moves them between nodes: \
         latencies have outliers.";
    let change = Change::by(
        "sysctl kernel.numa_balancing=0",
        format!("sysctl kernel.numa_balancing={now}"),
        Lasts::UntilRestart,
    )
    .keep("kernel.numa_balancing = 0 in /etc/sysctl.d/60-truespd.conf");
    Ok(Answer::may_spoil(says).now("on").wanted("off").change(change))
}

fn no_memory(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let stalled = machine.stalled?;
    let (some, full) = (stalled.memory_some_percent / 100.0, stalled.memory_full_percent / 100.0);
    (some >= MEMORY_SOME_SUSPECT || full >= MEMORY_FULL_SUSPECT).then(|| {
        format!(
            "Some tasks waited for memory for {} of the last 10 s, all tasks for {}: free memory before measuring.",
            part_percent(some),
            part_percent(full)
        )
    })
}

/// Why nothing is known of stalls.
pub(super) const NO_PRESSURE: &str =
    "How long tasks wait is not told here (/proc/pressure; kernel parameter psi=1).";

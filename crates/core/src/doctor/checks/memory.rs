//! Memory: pressure, swap, huge pages, nodes.

use super::words::{NO_PRESSURE, percent_words};
use crate::doctor::change::Change;
use crate::doctor::check::Answer;
use crate::doctor::thresholds::{MEMORY_FULL, MEMORY_SOME};
use crate::doctor::view::View;
use crate::machine::limits::averages;
use crate::machine::memory::{memory_facts, nodes_with_memory};
use crate::machine::setting::Setting;
use crate::text::{grouped, size};

/// Pages of 4 KiB within a second: below this a daemon woke up.
const SWAP_PAGES_MAX: u64 = 256;
/// Less free memory than this part of all is little.
const AVAILABLE_MIN: f64 = 0.05;

pub(super) fn pressure(view: &View) -> Vec<Answer> {
    let swapped = view.window.swapped_pages.unwrap_or(0);
    if swapped >= SWAP_PAGES_MAX {
        let says = format!(
            "The machine swaps: {} pages within a second. Free memory before measuring.",
            grouped(swapped)
        );
        return vec![Answer::spoils(says).now("swapping").wanted("no swapping")];
    }
    if let Some(stalled) = averages("memory", view.roots()) {
        let now = format!("{} of the last 10 s", percent_words(stalled.some));
        if stalled.some / 100.0 >= MEMORY_SOME || stalled.full / 100.0 >= MEMORY_FULL {
            let says = format!(
                "Some tasks waited for memory for {} of the last 10 s, all tasks for {}: free memory before measuring.",
                percent_words(stalled.some),
                percent_words(stalled.full)
            );
            return vec![Answer::spoils(says).now(now).wanted("less than 5 %")];
        }
    }
    let Ok(facts) = memory_facts(view.roots()) else {
        return vec![Answer::unknown("The machine's memory (/proc/meminfo) cannot be read.")];
    };
    let (Some(total), Some(available)) = (facts.total_bytes, facts.available_bytes) else {
        return vec![Answer::unknown("The kernel does not tell how much memory is available.")];
    };
    let now = format!("{} of {} available", size(available), size(total));
    if (available as f64) < AVAILABLE_MIN * total as f64 {
        let says = "Hardly any memory is left: buffers of a test may push others into swap, and the page cache has no room.";
        return vec![Answer::may_spoil(says).now(now).wanted("more than 5 %")];
    }
    vec![Answer::good("No task waits for memory.").now(now)]
}

pub(super) fn io_pressure(view: &View) -> Vec<Answer> {
    let Some(stalled) = averages("io", view.roots()) else { return vec![Answer::unknown(NO_PRESSURE)] };
    let now = format!("{} of the last 10 s", percent_words(stalled.some));
    if stalled.some < 10.0 {
        return vec![Answer::good("Tasks hardly wait for storage.").now(now)];
    }
    let says = "Tasks of this machine wait for storage, so somebody uses it: iotop and pidstat -d show who.";
    vec![Answer::may_spoil(says).now(now).wanted("less than 10 %")]
}

pub(super) fn huge_pages(view: &View) -> Vec<Answer> {
    let folder = view.roots().sys.join("kernel/mm/transparent_hugepage");
    let [enabled, defrag] = ["enabled", "defrag"].map(|file| Setting::read(folder.join(file)));
    let Some(on) = enabled.chosen() else {
        return vec![Answer::unread(&enabled, "The kernel has no transparent huge pages.")];
    };
    let now = format!("enabled: {on}, defrag: {}", defrag.chosen().unwrap_or("not known"));
    if on != "never" && defrag.chosen() == Some("always") {
        let says = "Each program waits while the kernel looks for huge pages: tasks stall now and then, also in a run.";
        let change = Change::of(&defrag, "madvise").keep(
            "a line in /etc/tmpfiles.d/60-truespd.conf: w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise",
        );
        return vec![Answer::may_spoil(says).now(now).wanted("defrag: madvise").change(change)];
    }
    vec![Answer::good("Programs do not wait for huge pages.").now(now)]
}

pub(super) fn node_balancing(view: &View) -> Vec<Answer> {
    let several = nodes_with_memory(view.roots()).is_some_and(|nodes| nodes.iter().count() > 1);
    let balancing = view.sysctl("kernel.numa_balancing");
    if view.process.lacks.contains(&"/proc") {
        return vec![Answer::unknown("Whether the kernel moves memory is not known without /proc.")];
    }
    let Some(now) = balancing.word().map(str::to_string) else {
        return vec![Answer::unread(&balancing, "The kernel does not move memory between nodes.")];
    };
    if !several {
        return vec![Answer::absent("The machine has one memory node.")];
    }
    if now == "0" {
        return vec![Answer::good("The kernel leaves memory where it is.").now("off")];
    }
    let says = "The kernel takes pages away for a moment to see who uses them, and moves them between nodes: latencies have outliers.";
    let change = Change::by(
        "sysctl kernel.numa_balancing=0",
        format!("sysctl kernel.numa_balancing={now}"),
        crate::doctor::finding::Lasts::UntilRestart,
    )
    .keep("kernel.numa_balancing = 0 in /etc/sysctl.d/60-truespd.conf");
    vec![Answer::may_spoil(says).now("on").wanted("off").change(change)]
}

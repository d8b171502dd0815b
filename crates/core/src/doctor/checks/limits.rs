//! Limits of control groups on this process.

use crate::doctor::change::Change;
use crate::doctor::check::Answer;
use crate::doctor::finding::Lasts;
use crate::doctor::view::{Disk, View};
use crate::machine::device::DeviceNumber;
use crate::machine::limits::{Limit, LimitKind};
use crate::machine::memory::memory_facts;
use crate::machine::setting::Setting;
use crate::machine::topology::CpuSet;
use crate::machine::topology::parse_cpu_list;
use crate::text::{grouped, shell_word, size};

pub(super) fn processors(view: &View) -> Vec<Answer> {
    if let Some(answer) = groups_unknown(view) {
        return vec![answer];
    }
    let of_time: Vec<&Limit> =
        view.limits.iter().filter(|limit| limit.what == LimitKind::CpuMillis).collect();
    let Some(least) = of_time.iter().min_by_key(|limit| limit.value) else {
        return vec![Answer::good("No control group limits the processor time of this process.")];
    };
    let now = format!(
        "the time of {} processors ({} of cgroup {})",
        least.value as f64 / 1000.0,
        least.by,
        least.group
    );
    let all = view.process.processors.len() as u64 * 1000;
    if least.value >= all {
        return vec![Answer::good("Not less than the processors that it may run on.").now(now)];
    }
    let says = "The kernel may stop the threads of a test, and the disk then waits for them.";
    // The least counts; the others of its kind would be next.
    let change = lifted(of_time.into_iter().filter(|limit| limit.value < all));
    vec![Answer::may_spoil(says).now(now).wanted("no limit").change(change)]
}

/// Which control groups this process is in is not known.
fn groups_unknown(view: &View) -> Option<Answer> {
    let lacks_proc = view.process.lacks.contains(&"/proc");
    lacks_proc.then(|| Answer::unknown("Which control groups limit this process is not known without /proc."))
}

pub(super) fn cpuset(view: &View) -> Vec<Answer> {
    let online = Setting::read(view.roots().sys.join("devices/system/cpu/online"));
    let Some(all) = online.word().and_then(parse_cpu_list) else {
        return vec![Answer::unread(&online, "The kernel does not tell which processors are online.")];
    };
    let allowed = &view.process.processors;
    let now = format!("{} of {}", allowed.len(), all.len());
    if all.iter().all(|cpu| allowed.contains(cpu)) {
        return vec![Answer::good("This process may run on all processors.").now(now)];
    }
    let says = format!(
        "This process may run on {} only (cpuset, taskset): threads of a test share that, and interrupts may arrive elsewhere.",
        CpuSet::new(allowed.clone()).words()
    );
    vec![Answer::may_spoil(says).now(now).wanted("all, or those that the test is meant for")]
}

pub(super) fn memory(view: &View) -> Vec<Answer> {
    if let Some(answer) = groups_unknown(view) {
        return vec![answer];
    }
    let of_memory = view.limits.iter().filter(|limit| limit.what == LimitKind::MemoryBytes);
    let total = memory_facts(view.roots()).ok().and_then(|facts| facts.total_bytes).unwrap_or(u64::MAX);
    let of_memory: Vec<&Limit> = of_memory.filter(|limit| limit.value < total).collect();
    let Some(least) = of_memory.iter().min_by_key(|limit| limit.value) else {
        return vec![Answer::good("No control group limits the memory of this process.")];
    };
    let now = format!("{} ({} of cgroup {})", size(least.value), least.by, least.group);
    let says = "The page cache counts towards this limit: tests through the page cache get less of it than the machine has.";
    let change = lifted(of_memory.into_iter());
    vec![Answer::may_spoil(says).now(now).wanted("no limit").change(change)]
}

/// Without these limits.
fn lifted<'a>(limits: impl Iterator<Item = &'a Limit>) -> Change {
    // Version 1 writes no limit as -1.
    let to =
        |limit: &Limit| if limit.by.ends_with("_us") || limit.by.ends_with("_bytes") { "-1" } else { "max" };
    let each = limits.filter_map(|limit| {
        let file = Setting::read(limit.file.clone());
        file.word().is_some().then(|| Change::of(&file, to(limit)))
    });
    match each.reduce(Change::and) {
        Some(change) => Change { lasts: Some(Lasts::UntilRestart), ..change }
            .keep("the options of what made the group: systemd's unit, docker run, the pod's limits"),
        None => Change::only_kept(
            "raise it where the group is made: systemd's unit, docker run, the pod's limits",
        ),
    }
}

pub(super) fn of_disk(view: &View, disk: &Disk) -> Vec<Answer> {
    let number = disk.device.number();
    let own: Vec<&Limit> =
        view.limits.iter().filter(|limit| limit.device.is_some() && limit.device == number).collect();
    if let (true, Some(answer)) = (own.is_empty(), groups_unknown(view)) {
        return vec![answer];
    }
    if own.is_empty() {
        return vec![Answer::good("No control group limits this process on it.")];
    }
    let of = |limit: &&Limit| {
        let now = format!("{} ({} of cgroup {})", amount(limit), limit.by, limit.group);
        let says = "A test at that rate measures the limit, not the disk, and more queue depth only adds latency. Raise or remove the \
             limit to measure the disk.";
        Answer::spoils(says).now(now).wanted("no limit").change(disk_limit_lifted(limit, number))
    };
    own.iter().map(of).collect()
}

fn amount(limit: &Limit) -> String {
    match limit.what {
        LimitKind::ReadIops => format!("{} reads/s", grouped(limit.value)),
        LimitKind::WriteIops => format!("{} writes/s", grouped(limit.value)),
        LimitKind::ReadBytesPerSecond => format!("{}/s read", size(limit.value)),
        LimitKind::WriteBytesPerSecond => format!("{}/s written", size(limit.value)),
        LimitKind::CpuMillis | LimitKind::MemoryBytes => grouped(limit.value),
    }
}

/// A line names the device and the limit.
fn disk_limit_lifted(limit: &Limit, number: Option<DeviceNumber>) -> Change {
    let Some(number) = number else { return Change::default() };
    let key = match limit.what {
        LimitKind::ReadIops => "riops",
        LimitKind::WriteIops => "wiops",
        LimitKind::ReadBytesPerSecond => "rbps",
        _ => "wbps",
    };
    let (to, back) = match limit.by {
        "io.max" => (format!("{number} {key}=max"), format!("{number} {key}={}", limit.value)),
        _ => (format!("{number} 0"), format!("{number} {}", limit.value)),
    };
    let file = shell_word(&limit.file.display().to_string());
    let line = |words: &str| format!("echo {} > {file}", shell_word(words));
    Change::by(line(&to), line(&back), Lasts::UntilRestart)
        .keep("the options of what made the group: systemd's unit (IOReadIOPSMax= and the like), docker run, the pod's limits")
}

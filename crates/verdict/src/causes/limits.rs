//! Limits that cgroups set and that the document shows: was one reached, was one set?
//!
//! Limits of control groups on this process.

use crate::cause::{Case, Cause, ratio, suspect};
use crate::doctor::Purpose::Cached;
use crate::doctor::{Answer, Change, CheckResult, Disk, HostView, Lasts, NoAnswer, machine};
use crate::view::{Direction, Flow, amount, flow, limit_words, too_few_in_run};
use truespd_core::result::{CpuSet, Finding, Layer, Limit, LimitKind, MachineNow, Theme};
use truespd_platform::machine::device::DeviceNumber;
use truespd_platform::machine::limits::Limit as CgroupLimit;
use truespd_platform::machine::limits::memory_facts;
use truespd_platform::machine::roots::Setting;
use truespd_platform::machine::topology::parse_cpu_list;
use truespd_platform::text::{bytes, number, shell_word, size};

pub(super) const CAUSES: &[Cause] = &[Cause::new("memory-limit", Theme::Limit).checked(
    machine(190, "memory-limit", Cached, memory_limit),
    "limits of control groups on memory",
    "Less than the machine has.",
    "The page cache of a test is smaller than the machine's.",
    "cgroup-v2.rst (memory.max, memory.high)",
)];

/// As near as this to a limit is at it.
const AT_LIMIT: std::ops::RangeInclusive<f64> = 0.98..=1.05;

/// Limits that are known and in force at the measured rate.
pub(super) fn in_force(case: &Case<'_>) -> Vec<Finding> {
    case.evidence().limits.iter().filter_map(|limit| reached(case, limit)).collect()
}

/// Whether the rate is that of a limit that is known.
pub(super) fn is_reached(case: &Case<'_>) -> bool {
    let is_enough = too_few_in_run(case).is_none();
    is_enough && case.evidence().limits.iter().any(|limit| reached(case, limit).is_some())
}

/// Whether a limit on a device was in force at any time.
pub(super) fn was_set(case: &Case<'_>) -> bool {
    let evidence = case.evidence();
    let changes = evidence.limit_changes.iter().flatten();
    let changed = changes.flat_map(|change| change.gone.iter().chain(&change.new));
    evidence.limits.iter().chain(changed).any(|limit| limit.device.is_some())
}

/// A finding when the measured rate is the limit.
fn reached(case: &Case<'_>, limit: &Limit) -> Option<Finding> {
    let (way, is_bytes) = match limit.what {
        LimitKind::ReadIops => (Direction::Read, false),
        LimitKind::WriteIops => (Direction::Write, false),
        LimitKind::ReadBytesPerSecond => (Direction::Read, true),
        LimitKind::WriteBytesPerSecond => (Direction::Write, true),
        LimitKind::CpuMillis | LimitKind::MemoryBytes => return None,
    };
    let device = limit.device.as_deref()?;
    let pick = |flow: Flow| if is_bytes { flow.bytes } else { flow.ios };
    let disk = case
        .evidence()
        .disks
        .iter()
        .find(|disk| disk.name == device)
        .map(|disk| pick(flow(&disk.total, way, disk.window_s(case.seconds()))));
    // A limit on a layer above the disks is met by what was issued to it.
    let mut views = case.views();
    views.retain(|view| view.layers().iter().any(|layer| layer.name == device));
    let issued: f64 = views.iter().map(|view| pick(view.done(way))).sum();
    let value = limit.value as f64;
    let rates = disk.into_iter().chain([issued]);
    let rate = rates.into_iter().find(|rate| AT_LIMIT.contains(&ratio(*rate, value)))?;
    let [shown_rate, shown_value] = [rate, value].map(|rate| {
        if is_bytes {
            format!("{}/s of {}", bytes(rate), way.plural())
        } else {
            format!("{} {}/s", number(rate), way.plural())
        }
    });
    let says = format!(
        "The measured {shown_rate} reach the limit of {shown_value} that {} of cgroup {} sets on {device}: this is \
         the rate of the limit, not of the disk.",
        limit.by, limit.group
    );
    Some(suspect(says).figure("limit_per_s", value).figure("measured_per_s", rate))
}

pub(super) fn processor_limit(view: &HostView) -> CheckResult {
    knows_groups(view)?;
    let of_time: Vec<&CgroupLimit> =
        view.limits.iter().filter(|limit| limit.what == LimitKind::CpuMillis).collect();
    let Some(least) = of_time.iter().min_by_key(|limit| limit.value) else {
        return Ok(Answer::good("No control group limits the processor time of this process."));
    };
    let now = format!("{} ({} of cgroup {})", amount(least.what, least.value), least.by, least.group);
    let all = view.process.processors.len() as u64 * 1000;
    if least.value >= all {
        return Ok(Answer::good("Not less than the processors that it may run on.").now(now));
    }
    let says = "The kernel may stop the threads of a test, and the disk then waits for them.";
    // The least counts; the others of its kind would be next.
    let change = lifted(of_time.into_iter().filter(|limit| limit.value < all));
    Ok(Answer::may_spoil(says).now(now).wanted("no limit").change(change))
}

/// Whether a limit that is not seen is none.
fn knows_groups(view: &HostView) -> Result<(), NoAnswer> {
    if view.process.lacks.contains(&"/proc") {
        return Err(NoAnswer::unknown("Which control groups limit this process is not known without /proc."));
    }
    Ok(())
}

pub(super) fn cpuset(view: &HostView) -> CheckResult {
    let online = Setting::read(view.roots().sys.join("devices/system/cpu/online"));
    let all = online
        .word()
        .and_then(parse_cpu_list)
        .ok_or_else(|| NoAnswer::unread(&online, "The kernel does not tell which processors are online."))?;
    let allowed = &view.process.processors;
    let now = format!("{} of {}", allowed.len(), all.len());
    if all.iter().all(|cpu| allowed.contains(cpu)) {
        return Ok(Answer::good("This process may run on all processors.").now(now));
    }
    let says = format!(
        "This process may run on {} only (cpuset, taskset): threads of a test share that, and interrupts may arrive \
         elsewhere.",
        CpuSet::new(allowed.clone()).words()
    );
    Ok(Answer::may_spoil(says).now(now).wanted("all, or those that the test is meant for"))
}

fn memory_limit(view: &HostView) -> CheckResult {
    knows_groups(view)?;
    let of_memory = view.limits.iter().filter(|limit| limit.what == LimitKind::MemoryBytes);
    let total = memory_facts(view.roots()).ok().and_then(|facts| facts.total_bytes).unwrap_or(u64::MAX);
    let of_memory: Vec<&CgroupLimit> = of_memory.filter(|limit| limit.value < total).collect();
    let Some(least) = of_memory.iter().min_by_key(|limit| limit.value) else {
        return Ok(Answer::good("No control group limits the memory of this process."));
    };
    let now = format!("{} ({} of cgroup {})", size(least.value), least.by, least.group);
    let says = "The page cache counts towards this limit: tests through the page cache get less of it than the \
         machine has.";
    let change = lifted(of_memory.into_iter());
    Ok(Answer::may_spoil(says).now(now).wanted("no limit").change(change))
}

fn lifted<'a>(limits: impl Iterator<Item = &'a CgroupLimit>) -> Change {
    let each = limits.filter_map(|limit| {
        let file = Setting::read(limit.file.clone());
        // Version 1 writes no limit as -1.
        let is_old = limit.by.ends_with("_us") || limit.by.ends_with("_bytes");
        file.word().is_some().then(|| Change::of(&file, if is_old { "-1" } else { "max" }))
    });
    match each.reduce(Change::and) {
        Some(change) => Change { lasts: Some(Lasts::UntilRestart), ..change }
            .keep("the options of what made the group: systemd's unit, docker run, the pod's limits"),
        None => Change::only_kept(
            "raise it where the group is made: systemd's unit, docker run, the pod's limits",
        ),
    }
}

pub(super) fn disk_limit(view: &HostView, disk: &Disk) -> CheckResult {
    let number = disk.device.number();
    let own: Vec<&CgroupLimit> =
        view.limits.iter().filter(|limit| limit.device.is_some() && limit.device == number).collect();
    if own.is_empty() {
        knows_groups(view)?;
        return Ok(Answer::good("No control group limits this process on it."));
    }
    let says = "A test at that rate measures the limit, not the disk, and more queue depth only adds latency. \
         Raise or remove the limit to measure the disk.";
    let mut answers = Vec::new();
    for limit in own {
        let now = format!("{} ({} of cgroup {})", amount(limit.what, limit.value), limit.by, limit.group);
        let change = disk_limit_lifted(limit, number);
        answers.push(Answer::spoils(says).now(now).wanted("no limit").change(change));
    }
    Answer::of_parts(answers, "")
}

/// A line names the device and the limit.
fn disk_limit_lifted(limit: &CgroupLimit, number: Option<DeviceNumber>) -> Change {
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
    let [to, back] = [to, back].map(|words| format!("echo {} > {file}", shell_word(&words)));
    Change::by(to, back, Lasts::UntilRestart).keep(
        "the options of what made the group: systemd's unit (IOReadIOPSMax= and the like), docker run, the \
             pod's limits",
    )
}

/// A limit on a disk of a target.
pub(super) fn limited(limit: &Limit) -> Option<String> {
    Some(format!(
        "This process is limited to {}: a test at that rate measures the limit, not the disk, and more queue depth \
         only adds latency. Raise or remove the limit to measure the disk.",
        limit_words(limit)
    ))
}

pub(super) fn quota(machine: &MachineNow, limits: &[Limit]) -> Option<String> {
    let least =
        limits.iter().filter(|limit| limit.what == LimitKind::CpuMillis).min_by_key(|limit| limit.value)?;
    (least.value < u64::from(machine.processors_allowed) * 1000).then(|| {
        format!(
            "This process is limited to {}: the kernel may stop the threads of a test, and the disk then waits for \
             them.",
            limit_words(least)
        )
    })
}

/// Parts of models under which clouds show their network storage, and whose it is.
const CLOUDS: &[(&str, &str)] = &[
    ("Amazon Elastic Block Store", "Amazon EBS"),
    ("PersistentDisk", "a Google persistent disk"),
    ("nvme_card-pd", "a Google persistent disk"),
    ("Msft Virtual Disk", "a Hyper-V or Azure disk"),
    ("MSFT NVMe Accelerator", "an Azure disk"),
    ("BlockVolume", "a block volume of Oracle's cloud"),
];

pub(super) fn of_a_cloud(layer: &Layer) -> Option<String> {
    let model = layer.model.as_deref()?;
    let (_, whose) = CLOUDS.iter().find(|(part, _)| model.contains(part))?;
    Some(format!(
        "{} is {whose}: its type and size, and the size of the machine, limit IOPS and throughput, often only once \
         burst credits are used up. Run long enough to see the steady rate.",
        layer.name
    ))
}

//! The kernel: what it lets a run use, how it was built, what else it has to do.

use super::others::sees_programs;
use crate::cause::Cause;
use crate::doctor::Purpose::{Every, Latency};
use crate::doctor::{Answer, Change, CheckResult, HostView, Lasts, NoAnswer, machine};
use truespd_core::result::Theme;
use truespd_platform::machine::drive::pci_links;
use truespd_platform::machine::host::of_programs;
use truespd_platform::machine::host::{is_on, kernel_options};
use truespd_platform::machine::limits::ResourceLimit;
use truespd_platform::machine::roots::Setting;
use truespd_platform::text::{grouped, size};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("debug-kernel", Theme::Machine).checked(
        machine(140, "debug-kernel", Every, debugging),
        "a kernel built for debugging (KASAN, lockdep, ...)",
        "Such an option is built in.",
        "Several times the processor time per I/O: IOPS of a deep queue are those of the kernel, not of \
         the disk.",
        "/proc/config.gz, /boot/config-RELEASE",
    ),
    Cause::new("io-uring", Theme::Machine).checked(
        machine(280, "io-uring", Every, io_uring),
        "whether runs can use io_uring",
        "They cannot.",
        "libaio and threads take more processor time per I/O; polling is not possible.",
        "io_uring_setup(2), sysctl kernel.io_uring_disabled",
    ),
    Cause::new("locked-memory", Theme::Limit).checked(
        machine(290, "locked-memory", Every, locked_memory),
        "memory that may be locked (RLIMIT_MEMLOCK)",
        "Less than 64 MiB, for others than root.",
        "Buffers that are not registered cost some percent of processor time per I/O.",
        "getrlimit(2), io_uring_register(2)",
    ),
    Cause::new("open-files", Theme::Limit).checked(
        machine(300, "open-files", Every, open_files),
        "files that may be open (RLIMIT_NOFILE, the hard limit)",
        "Fewer than 4,096.",
        "Runs that need more open files than this are refused.",
        "getrlimit(2)",
    ),
    Cause::new("aio", Theme::Limit).checked(
        machine(310, "aio", Every, aio),
        "room for I/Os of libaio (fs.aio-max-nr)",
        "Fewer than 4,096 are left.",
        "Runs with --engine libaio are refused.",
        "the kernel's admin-guide/sysctl/fs.rst",
    ),
    Cause::new("irqbalance", Theme::Machine).checked(
        machine(400, "irqbalance", Latency, irqbalance),
        "a program that moves interrupts",
        "It is running.",
        "The rate of a shallow queue changes in the middle of a run.",
        "irqbalance(1)",
    ),
    Cause::new("pcie-power", Theme::Machine).checked(
        machine(430, "pcie-power", Latency, aspm).unlike_production(),
        "power saving of PCI Express links (ASPM)",
        "The policy is powersave or powersupersave.",
        "Up to some tens of microseconds for the first I/O after a pause.",
        "the kernel's kernel-parameters.txt (pcie_aspm.policy)",
    ),
    Cause::new("trim-timer", Theme::Neighbours).checked(
        machine(490, "trim-timer", Every, trim_timer),
        "the weekly discard of free space (fstrim.timer)",
        "Never: it tells whether it is on (`jobs` tells when it runs).",
        "Drives are busy for minutes.",
        "fstrim(8)",
    ),
];

fn io_uring(view: &HostView) -> CheckResult {
    let Err(why) = &view.process.io_uring else {
        return Ok(Answer::good("Runs use io_uring.").now("available"));
    };
    let says = format!(
        "Runs with several outstanding I/Os take another engine, which costs more processor time per I/O: {}.",
        why.trim_end_matches('.')
    );
    let answer = Answer::may_spoil(says).now("not available").wanted("available");
    let disabled = view.sysctl("kernel.io_uring_disabled");
    let group = view.sysctl("kernel.io_uring_group");
    let change = match (disabled.word(), group.word()) {
        (Some("2"), _) | (Some("1"), Some("-1") | None) => Change::by(
            "sysctl kernel.io_uring_disabled=0",
            format!("sysctl kernel.io_uring_disabled={}", disabled.word().unwrap_or_default()),
            Lasts::UntilRestart,
        )
        .keep("kernel.io_uring_disabled = 0 in /etc/sysctl.d/60-truespd.conf"),
        (Some("1"), Some(group)) => Change::only_kept(format!(
            "run as root or as a member of the group {group} (sysctl kernel.io_uring_group)"
        )),
        _ => Change::only_kept(
            "a kernel with io_uring; in a container a system-call filter that allows it (docker run --security-opt \
             seccomp=unconfined, or a profile with io_uring_setup, io_uring_enter and io_uring_register)",
        ),
    };
    Ok(answer.change(change))
}

/// As much as eight threads with 32 I/Os of 256 KiB.
const LOCKED_BYTES_MIN: u64 = 64 << 20;

fn locked_memory(view: &HostView) -> CheckResult {
    let limit = view.process.locked_memory;
    let now = limit.soft.map_or_else(|| "unlimited".to_string(), size);
    if view.process.is_root {
        return Ok(Answer::good("Root may lock as much memory as there is.").now(now));
    }
    let Some(soft) = limit.soft.filter(|&bytes| bytes < LOCKED_BYTES_MIN) else {
        return Ok(Answer::good("Enough for the buffers of a run.").now(now));
    };
    let says =
        "Buffers beyond the limit are not registered with io_uring, and each I/O costs more processor time.";
    let most =
        limit.hard.map_or_else(|| "unlimited".to_string(), |hard| hard.max(LOCKED_BYTES_MIN).to_string());
    let change = Change::by(
        format!("prlimit --pid $$ --memlock={LOCKED_BYTES_MIN}:{most}"),
        format!("prlimit --pid $$ --memlock={}", limits_words(soft, limit)),
        Lasts::InThisShell,
    )
    .keep("a line in /etc/security/limits.d/60-truespd.conf: * - memlock unlimited");
    Ok(Answer::may_spoil(says).now(now).wanted(format!("{} or more", size(LOCKED_BYTES_MIN))).change(change))
}

fn limits_words(soft: u64, limit: ResourceLimit) -> String {
    let hard = limit.hard.map_or_else(|| "unlimited".to_string(), |hard| hard.to_string());
    format!("{soft}:{hard}")
}

/// A run with a hundred threads on ten targets opens a thousand and some.
const OPEN_FILES_MIN: u64 = 4096;

fn open_files(view: &HostView) -> CheckResult {
    // A run raises its own limit up to the hard one.
    let limit = view.process.open_files;
    let now = limit.hard.map_or_else(|| "unlimited".to_string(), grouped);
    let Some(hard) = limit.hard.filter(|&files| files < OPEN_FILES_MIN) else {
        return Ok(Answer::good("Enough for many threads and targets.").now(now));
    };
    let says =
        "Each thread opens each of its targets: a run that needs more open files than this is refused.";
    let back = limits_words(limit.soft.unwrap_or(hard), limit);
    let change = Change::by(
        format!("prlimit --pid $$ --nofile={OPEN_FILES_MIN}:{OPEN_FILES_MIN}"),
        format!("prlimit --pid $$ --nofile={back}"),
        Lasts::InThisShell,
    )
    .keep("a line in /etc/security/limits.d/60-truespd.conf: * hard nofile 1048576");
    Ok(Answer::may_spoil(says).now(now).wanted(format!("{} or more", grouped(OPEN_FILES_MIN))).change(change))
}

/// 64 threads with 64 I/Os each.
const AIO_FREE_MIN: u64 = 4096;

fn aio(view: &HostView) -> CheckResult {
    let [most, used] = ["fs.aio-max-nr", "fs.aio-nr"].map(|name| view.sysctl(name));
    if view.process.lacks.contains(&"/proc") {
        return Err(NoAnswer::unknown("The room for I/Os of libaio is not known without /proc."));
    }
    let (Some(limit), Some(taken)) = (most.number::<u64>(), used.number::<u64>()) else {
        return Err(NoAnswer::unread(&most, "The kernel has no asynchronous I/O of the old kind (libaio)."));
    };
    let now = format!("{} of {} taken", grouped(taken), grouped(limit));
    if limit.saturating_sub(taken) >= AIO_FREE_MIN {
        return Ok(Answer::good("Enough for runs with --engine libaio.").now(now));
    }
    let says = "Runs with --engine libaio, and all with several I/Os where io_uring is not available, may be refused.";
    let wanted = taken.saturating_add(AIO_FREE_MIN).max(1 << 20);
    let change = Change::by(
        format!("sysctl fs.aio-max-nr={wanted}"),
        format!("sysctl fs.aio-max-nr={limit}"),
        Lasts::UntilRestart,
    )
    .keep(format!("fs.aio-max-nr = {wanted} in /etc/sysctl.d/60-truespd.conf"));
    let answer =
        Answer::may_spoil(says).now(now).wanted(format!("{} or more", grouped(wanted))).change(change);
    Ok(answer)
}

/// What slows each I/O down in a kernel for debugging.
const DEBUGGING: &[(&str, &str)] = &[
    ("CONFIG_KASAN", "KASAN"),
    ("CONFIG_KMSAN", "KMSAN"),
    ("CONFIG_KCSAN", "KCSAN"),
    ("CONFIG_PROVE_LOCKING", "lockdep"),
    ("CONFIG_LOCK_STAT", "lock statistics"),
    ("CONFIG_DEBUG_OBJECTS", "debug objects"),
    ("CONFIG_DEBUG_KMEMLEAK", "kmemleak"),
    ("CONFIG_SLUB_DEBUG_ON", "slab debugging"),
    ("CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT", "page debugging"),
];

fn debugging(view: &HostView) -> CheckResult {
    let boot = view.trees.root.join("boot");
    let Some(options) = kernel_options(&boot, &view.process.release, view.roots()) else {
        let why = format!("Neither /boot/config-{} nor /proc/config.gz can be read.", view.process.release);
        return Err(NoAnswer::unknown(why));
    };
    let on: Vec<&str> =
        DEBUGGING.iter().filter(|(option, _)| is_on(&options, option)).map(|(_, name)| *name).collect();
    if on.is_empty() {
        return Ok(Answer::good("The kernel was not built for debugging.").now(view.process.release.clone()));
    }
    let says = "The kernel was built for debugging: each I/O takes several times the processor time that it takes \
         elsewhere.";
    let change = Change::only_kept("boot the distribution's usual kernel");
    Ok(Answer::spoils(says).now(on.join(", ")).wanted("none of these").change(change))
}

fn trim_timer(view: &HostView) -> CheckResult {
    let wants = "timers.target.wants/fstrim.timer";
    let places = ["etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
    let is_on = places.iter().any(|place| view.trees.root.join(place).join(wants).symlink_metadata().is_ok());
    let has_systemd = view.trees.root.join("run/systemd/system").is_dir();
    if view.process.is_container {
        return Err(NoAnswer::unknown("The timers of the host are not visible from this container."));
    }
    if !has_systemd {
        return Err(NoAnswer::absent("This system has no timers of systemd."));
    }
    if !is_on {
        return Ok(Answer::good("No timer discards free space.").now("off"));
    }
    let says = "Once a week it discards free space of all file systems, which keeps drives busy for minutes: let no \
         long series run into it (systemctl list-timers fstrim.timer tells when).";
    Ok(Answer::good(says).now("on"))
}

fn irqbalance(view: &HostView) -> CheckResult {
    let found = of_programs(&["irqbalance"], view.roots());
    let Some((pid, _)) = found.first() else {
        sees_programs(view, "Programs of the host are not visible from this container.")?;
        return Ok(Answer::good("Nobody moves interrupts from processor to processor.").now("not running"));
    };
    let says = "It moves interrupts to other processors every 10 s or so: the rate of a shallow queue changes with \
         their distance to the thread. NVMe drives with a queue per processor are not moved.";
    let change = Change::by("systemctl stop irqbalance", "systemctl start irqbalance", Lasts::UntilRestart)
        .keep("systemctl disable irqbalance");
    Ok(Answer::may_spoil(says).now(format!("running (process {pid})")).wanted("not running").change(change))
}

fn aspm(view: &HostView) -> CheckResult {
    let policy = Setting::read(view.roots().sys.join("module/pcie_aspm/parameters/policy"));
    let now = policy.chosen().map(str::to_string).ok_or_else(|| {
        NoAnswer::unread(&policy, "The kernel does not set the power saving of PCI Express links.")
    })?;
    let has_pci = view.disks.iter().any(|disk| !pci_links(&disk.device).is_empty());
    match now.as_str() {
        _ if !has_pci => {
            Err(NoAnswer::absent("None of the disks is on a PCI Express link that this machine sees."))
        }
        "powersave" | "powersupersave" => {
            let says =
                "Links of drives fall asleep between I/Os, and the next I/O includes the time to wake up.";
            let change =
                Change::of(&policy, "performance").keep("the kernel parameter pcie_aspm.policy=performance");
            Ok(Answer::may_spoil(says).now(now).wanted("performance").change(change))
        }
        "default" => Ok(Answer::good("The firmware's setting is in force.").now(now)),
        _ => Ok(Answer::good("Links of drives stay awake.").now(now)),
    }
}

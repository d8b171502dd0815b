//! Machines as files, and what a check says of them.

use super::tree::UNREADABLE;
use crate::doctor::State;
use crate::doctor::State::{DoesNotApply, Good, MaySpoil, Spoils, Unknown};

/// A machine for a check.
pub(super) struct Case {
    pub id: &'static str,
    /// What is special about the machine.
    what: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    pub state: State,
    /// It is the answer for peak IOPS that is asked for.
    pub is_peak: bool,
    pub wanted: Option<&'static str>,
}

impl Case {
    pub fn name(&self) -> String {
        format!("{} ({})", self.id, self.what)
    }

    const fn peak(self) -> Self {
        Case { is_peak: true, ..self }
    }

    const fn wants(self, wanted: &'static str) -> Self {
        Case { wanted: Some(wanted), ..self }
    }
}

const fn case(
    id: &'static str,
    what: &'static str,
    files: &'static [(&'static str, &'static str)],
    state: State,
) -> Case {
    Case { id, what, files, state, is_peak: false, wanted: None }
}

pub(super) const CASES: &[Case] = &[
    case(
        "governor",
        "fast",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
                "performance powersave schedutil",
            ),
        ],
        Good,
    ),
    case(
        "governor",
        "saving on one",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
                "performance powersave schedutil",
            ),
        ],
        MaySpoil,
    )
    .wants("performance"),
    case(
        "governor",
        "following",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
                "performance powersave schedutil",
            ),
        ],
        Good,
    ),
    case(
        "governor",
        "following, at the peak",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors",
                "performance powersave schedutil",
            ),
        ],
        MaySpoil,
    )
    .peak()
    .wants("performance"),
    case("governor", "none", &[], DoesNotApply),
    case(
        "governor",
        "set by a program",
        &[("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "userspace")],
        MaySpoil,
    )
    .wants("performance"),
    case(
        "governor",
        "a processor is offline",
        &[
            ("sys/devices/system/cpu/online", "0,2"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", UNREADABLE),
            ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave"),
        ],
        MaySpoil,
    )
    .wants("performance"),
    case("governor", "empty", &[("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "")], DoesNotApply),
    case(
        "frequency-limit",
        "none",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "4000000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000"),
        ],
        Good,
    ),
    case(
        "frequency-limit",
        "two of three, that differ",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "2000000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "2000000"),
            ("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "4000000"),
            ("sys/devices/system/cpu/cpu2/cpufreq/scaling_max_freq", "3000000"),
            ("sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq", "3000000"),
        ],
        MaySpoil,
    )
    .wants("4,000 MHz"),
    case(
        "frequency-limit",
        "percent",
        &[("sys/devices/system/cpu/intel_pstate/max_perf_pct", "50")],
        MaySpoil,
    )
    .wants("100 %"),
    case(
        "frequency-limit",
        "no turbo",
        &[
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "2000000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000"),
        ],
        Good,
    ),
    case("frequency-limit", "not set by the kernel", &[], DoesNotApply),
    case(
        "frequency-limit",
        "hidden",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", UNREADABLE),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000"),
        ],
        Unknown,
    ),
    case(
        "governor",
        "hidden",
        &[("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", UNREADABLE)],
        Unknown,
    ),
    case(
        "energy-preference",
        "speed",
        &[("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "performance")],
        Good,
    ),
    case(
        "energy-preference",
        "default",
        &[("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "balance_performance")],
        Good,
    ),
    case(
        "energy-preference",
        "power",
        &[
            ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "power"),
            ("sys/devices/system/cpu/cpu1/cpufreq/energy_performance_preference", "balance_power"),
        ],
        MaySpoil,
    )
    .wants("performance"),
    case("energy-preference", "none", &[], DoesNotApply),
    case(
        "energy-preference",
        "hidden",
        &[("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", UNREADABLE)],
        Unknown,
    ),
    case("turbo", "on", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "0")], Good),
    case("turbo", "off", &[("sys/devices/system/cpu/cpufreq/boost", "0")], Good),
    case("turbo", "none", &[], DoesNotApply),
    case(
        "idle-states",
        "shallow",
        &[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "C0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1"),
        ],
        Good,
    ),
    case(
        "idle-states",
        "deep",
        &[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "C0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C2"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "0"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state2/name", "C2"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "200"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state3/name", "C3"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state3/latency", "200"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "0"),
            ("sys/devices/system/cpu/cpu1/cpuidle/state3/name", "C3"),
        ],
        MaySpoil,
    )
    .wants("none that takes more than 10 us"),
    case(
        "idle-states",
        "deep and off",
        &[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "C0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C2"),
        ],
        Good,
    ),
    case(
        "idle-states",
        "held awake",
        &[
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "C0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C2"),
            ("dev/cpu_dma_latency", "\u{0}\u{0}\u{0}\u{0}"),
        ],
        Good,
    ),
    case(
        "idle-states",
        "held by nobody",
        &[
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C2"),
            ("dev/cpu_dma_latency", "\u{0}\u{5}5w"),
        ],
        MaySpoil,
    ),
    case(
        "idle-states",
        "held, unseen",
        &[
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C2"),
            ("dev/cpu_dma_latency", UNREADABLE),
        ],
        MaySpoil,
    ),
    case("idle-states", "none", &[], DoesNotApply),
    case("idle-governor", "menu", &[("sys/devices/system/cpu/cpuidle/current_governor", "menu")], Good)
        .peak(),
    case(
        "idle-governor",
        "haltpoll of an old kernel",
        &[("sys/devices/system/cpu/cpuidle/current_governor_ro", "haltpoll")],
        Good,
    )
    .peak(),
    case("idle-governor", "teo", &[("sys/devices/system/cpu/cpuidle/current_governor", "teo")], MaySpoil)
        .peak()
        .wants("menu"),
    case(
        "idle-governor",
        "teo of an old kernel",
        &[("sys/devices/system/cpu/cpuidle/current_governor_ro", "teo")],
        MaySpoil,
    )
    .peak()
    .wants("menu"),
    case(
        "idle-governor",
        "hidden",
        &[("sys/devices/system/cpu/cpuidle/current_governor", UNREADABLE)],
        Unknown,
    )
    .peak(),
    case(
        "processors-busy",
        "quiet",
        &[(
            "proc/pressure/cpu",
            "some avg10=9.90 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        )],
        Good,
    ),
    case(
        "processors-busy",
        "busy",
        &[(
            "proc/pressure/cpu",
            "some avg10=10.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        )],
        Spoils,
    ),
    case("processors-busy", "no account", &[], Unknown),
    case(
        "memory-pressure",
        "enough",
        &[
            (
                "proc/pressure/memory",
                "some avg10=4.90 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.90 avg60=0.00 avg300=0.00 total=0\n",
            ),
            ("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n"),
        ],
        Good,
    ),
    case(
        "memory-pressure",
        "some wait",
        &[
            (
                "proc/pressure/memory",
                "some avg10=5.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
            ),
            ("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n"),
        ],
        Spoils,
    ),
    case(
        "memory-pressure",
        "all wait",
        &[
            (
                "proc/pressure/memory",
                "some avg10=1.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n",
            ),
            ("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n"),
        ],
        Spoils,
    ),
    case(
        "memory-pressure",
        "hardly any",
        &[("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 40000 kB\n")],
        MaySpoil,
    ),
    case("memory-pressure", "no procfs", &[], Unknown),
    case(
        "storage-waits",
        "quiet",
        &[(
            "proc/pressure/io",
            "some avg10=9.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        )],
        Good,
    ),
    case(
        "storage-waits",
        "busy",
        &[(
            "proc/pressure/io",
            "some avg10=40.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        )],
        MaySpoil,
    ),
    case("storage-waits", "no account", &[], Unknown),
    case(
        "throttled",
        "never",
        &[("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0")],
        Good,
    ),
    case(
        "throttled",
        "once",
        &[("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "7")],
        MaySpoil,
    ),
    case("throttled", "not counted", &[], DoesNotApply),
    case(
        "battery",
        "mains",
        &[
            ("sys/class/power_supply/BAT0/type", "Battery"),
            ("sys/class/power_supply/BAT0/status", "Charging"),
        ],
        Good,
    ),
    case(
        "battery",
        "battery",
        &[
            ("sys/class/power_supply/BAT0/type", "Battery"),
            ("sys/class/power_supply/BAT0/status", "Discharging"),
        ],
        MaySpoil,
    ),
    case("battery", "none", &[], DoesNotApply),
    case(
        "clock-source",
        "tsc",
        &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")],
        Good,
    ),
    case(
        "clock-source",
        "hpet",
        &[
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm"),
        ],
        MaySpoil,
    )
    .wants("tsc"),
    case(
        "clock-source",
        "hpet only",
        &[
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm"),
        ],
        MaySpoil,
    )
    .wants("tsc"),
    case(
        "clock-source",
        "hidden",
        &[("sys/devices/system/clocksource/clocksource0/current_clocksource", UNREADABLE)],
        Unknown,
    ),
    case(
        "timers",
        "exact",
        &[("proc/cmdline", "quiet"), ("proc/timer_list", " .index: 0\n  .resolution: 1 nsecs\n")],
        Good,
    ),
    case(
        "timers",
        "ticks",
        &[("proc/cmdline", "quiet"), ("proc/timer_list", "  .resolution: 4000000 nsecs\n")],
        MaySpoil,
    ),
    case("timers", "turned off", &[("proc/cmdline", "quiet highres=off")], MaySpoil),
    case("timers", "hidden", &[("proc/timer_list", UNREADABLE)], Unknown),
    case("mitigations", "none", &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected")], Good)
        .peak(),
    case(
        "mitigations",
        "some",
        &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI")],
        MaySpoil,
    )
    .peak(),
    case(
        "mitigations",
        "of this process",
        &[
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected"),
            ("proc/self/status", "Name:\tx\nSpeculation_Store_Bypass:\tthread force mitigated\n"),
        ],
        MaySpoil,
    )
    .peak(),
    case(
        "huge-pages",
        "advice",
        &[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
            ("sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never"),
        ],
        Good,
    ),
    case(
        "huge-pages",
        "always",
        &[
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
            ("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never"),
        ],
        MaySpoil,
    )
    .wants("defrag: madvise"),
    case("huge-pages", "none", &[], DoesNotApply),
    case("huge-pages", "hidden", &[("sys/kernel/mm/transparent_hugepage/enabled", UNREADABLE)], Unknown),
    case(
        "node-balancing",
        "off",
        &[("sys/devices/system/node/has_memory", "0-1"), ("proc/sys/kernel/numa_balancing", "0")],
        Good,
    ),
    case(
        "node-balancing",
        "on",
        &[("sys/devices/system/node/has_memory", "0-1"), ("proc/sys/kernel/numa_balancing", "1")],
        MaySpoil,
    )
    .wants("off"),
    case(
        "node-balancing",
        "one node",
        &[("sys/devices/system/node/has_memory", "0"), ("proc/sys/kernel/numa_balancing", "1")],
        DoesNotApply,
    ),
    case(
        "node-balancing",
        "hidden",
        &[("sys/devices/system/node/has_memory", "0-1"), ("proc/sys/kernel/numa_balancing", UNREADABLE)],
        Unknown,
    ),
    case("aio", "room", &[("proc/sys/fs/aio-max-nr", "65536"), ("proc/sys/fs/aio-nr", "0")], Good),
    case("aio", "taken", &[("proc/sys/fs/aio-max-nr", "65536"), ("proc/sys/fs/aio-nr", "65000")], MaySpoil)
        .wants("1,048,576 or more"),
    case("aio", "hidden", &[("proc/sys/fs/aio-max-nr", UNREADABLE)], Unknown),
    case("debug-kernel", "usual", &[("boot/config-6.1", "CONFIG_HZ=250\n# CONFIG_KASAN is not set\n")], Good),
    case("debug-kernel", "KASAN", &[("boot/config-6.1", "CONFIG_KASAN=y\n")], Spoils),
    case("debug-kernel", "not told", &[], Unknown),
    case("jobs", "none", &[("proc/7/comm", "bash")], Good),
    case("jobs", "ended", &[("proc/7/comm", "fstrim"), ("proc/7/stat", "7 (fstrim) Z 1")], Good),
    case("jobs", "fstrim", &[("proc/7/comm", "fstrim")], MaySpoil).wants("none"),
    case("irqbalance", "none", &[("proc/7/comm", "bash")], Good),
    case("irqbalance", "running", &[("proc/7/comm", "irqbalance")], MaySpoil).wants("not running"),
    case("trim-timer", "none", &[("run/systemd/system/x", "")], Good),
    case(
        "trim-timer",
        "on",
        &[("run/systemd/system/x", ""), ("etc/systemd/system/timers.target.wants/fstrim.timer", "")],
        Good,
    ),
    case("trim-timer", "no systemd", &[], DoesNotApply),
    case("scheduler", "none", &[("sys/block/vda/queue/scheduler", "[none] mq-deadline bfq")], Good),
    case("scheduler", "bfq", &[("sys/block/vda/queue/scheduler", "none mq-deadline [bfq]")], MaySpoil)
        .wants("none"),
    case("scheduler", "mq-deadline", &[("sys/block/vda/queue/scheduler", "none [mq-deadline]")], Good),
    case(
        "scheduler",
        "mq-deadline, at the peak",
        &[("sys/block/vda/queue/scheduler", "none [mq-deadline]")],
        MaySpoil,
    )
    .peak()
    .wants("none"),
    case(
        "scheduler",
        "bfq on a disk that turns",
        &[
            ("sys/block/vda/queue/scheduler", "none mq-deadline [bfq]"),
            ("sys/block/vda/queue/rotational", "1"),
        ],
        Good,
    ),
    case("scheduler", "no queue", &[], DoesNotApply),
    case("scheduler", "empty", &[("sys/block/vda/queue/scheduler", "")], DoesNotApply),
    case("scheduler", "hidden", &[("sys/block/vda/queue/scheduler", UNREADABLE)], Unknown),
    case("nomerges", "merging", &[("sys/block/vda/queue/nomerges", "0")], Good),
    case("nomerges", "not merging", &[("sys/block/vda/queue/nomerges", "2")], MaySpoil).wants("0"),
    case("nomerges", "the last one only", &[("sys/block/vda/queue/nomerges", "1")], MaySpoil).wants("0"),
    case("nomerges", "merging, at the peak", &[("sys/block/vda/queue/nomerges", "0")], MaySpoil)
        .peak()
        .wants("2"),
    case("nomerges", "not merging, at the peak", &[("sys/block/vda/queue/nomerges", "2")], Good).peak(),
    case("nomerges", "hidden", &[("sys/block/vda/queue/nomerges", UNREADABLE)], Unknown),
    case("iostats", "counted", &[("sys/block/vda/queue/iostats", "1")], Good),
    case("iostats", "not counted", &[("sys/block/vda/queue/iostats", "0")], MaySpoil).wants("1"),
    case("iostats", "counted, at the peak", &[("sys/block/vda/queue/iostats", "1")], MaySpoil)
        .peak()
        .wants("0"),
    case("iostats", "hidden", &[("sys/block/vda/queue/iostats", UNREADABLE)], Unknown),
    case("rq-affinity", "near", &[("sys/block/vda/queue/rq_affinity", "1")], Good),
    case("rq-affinity", "anywhere", &[("sys/block/vda/queue/rq_affinity", "0")], MaySpoil).wants("1"),
    case("rq-affinity", "hidden", &[("sys/block/vda/queue/rq_affinity", UNREADABLE)], Unknown),
    case("write-throttling", "off", &[("sys/block/vda/queue/wbt_lat_usec", "0")], Good),
    case("write-throttling", "usual", &[("sys/block/vda/queue/wbt_lat_usec", "2000")], Good),
    case("write-throttling", "usual, at the peak", &[("sys/block/vda/queue/wbt_lat_usec", "2000")], MaySpoil)
        .peak()
        .wants("0 us"),
    case("write-throttling", "none", &[], DoesNotApply),
    case("read-ahead", "usual", &[("sys/block/vda/queue/read_ahead_kb", "128")], Good),
    case("read-ahead", "nothing", &[("sys/block/vda/queue/read_ahead_kb", "0")], MaySpoil).wants("128 KiB"),
    case("read-ahead", "much", &[("sys/block/vda/queue/read_ahead_kb", "8192")], MaySpoil).wants("128 KiB"),
    case("read-ahead", "hidden", &[("sys/block/vda/queue/read_ahead_kb", UNREADABLE)], Unknown),
    case("poll-queues", "some", &[("sys/block/vda/queue/io_poll", "1")], Good).peak(),
    case(
        "poll-queues",
        "late",
        &[("sys/block/vda/queue/io_poll", "1"), ("sys/block/vda/queue/io_poll_delay", "0")],
        MaySpoil,
    )
    .peak()
    .wants("polling at once"),
    case(
        "poll-queues",
        "none",
        &[("sys/block/vda/queue/io_poll", "0"), ("sys/module/virtio_blk/parameters/poll_queues", "0")],
        MaySpoil,
    )
    .peak()
    .wants("yes"),
    case("poll-queues", "hidden", &[("sys/block/vda/queue/io_poll", UNREADABLE)], Unknown).peak(),
    case("queue-depth", "usual", &[("sys/block/vda/queue/nr_requests", "256")], Good),
    case("queue-depth", "shallow", &[("sys/block/vda/queue/nr_requests", "4")], MaySpoil).wants("256"),
    case(
        "queue-depth",
        "shallow, and the driver has few",
        &[
            ("sys/block/vda/queue/nr_requests", "4"),
            ("sys/block/vda/queue/scheduler", "[none] mq-deadline"),
            ("sys/block/vda/mq/0/nr_tags", "128"),
        ],
        MaySpoil,
    )
    .wants("128"),
    case("queue-depth", "no number", &[("sys/block/vda/queue/nr_requests", "99999999999999999999")], Good),
    case("queue-depth", "hidden", &[("sys/block/vda/queue/nr_requests", UNREADABLE)], Unknown),
    case(
        "request-size",
        "usual",
        &[("sys/block/vda/queue/max_sectors_kb", "1280"), ("sys/block/vda/queue/max_hw_sectors_kb", "32767")],
        Good,
    ),
    case(
        "request-size",
        "all of a small one",
        &[("sys/block/vda/queue/max_sectors_kb", "256"), ("sys/block/vda/queue/max_hw_sectors_kb", "256")],
        Good,
    ),
    case(
        "request-size",
        "small",
        &[("sys/block/vda/queue/max_sectors_kb", "128"), ("sys/block/vda/queue/max_hw_sectors_kb", "2048")],
        MaySpoil,
    )
    .wants("1,280 KiB"),
    case("request-size", "hidden", &[("sys/block/vda/queue/max_sectors_kb", UNREADABLE)], Unknown),
    case("write-cache", "back", &[("sys/block/vda/queue/write_cache", "write back")], Good),
    case("write-cache", "through", &[("sys/block/vda/queue/write_cache", "write through")], Good),
    case("write-cache", "hidden", &[("sys/block/vda/queue/write_cache", UNREADABLE)], Unknown),
    case("interrupts", "none", &[], DoesNotApply),
];

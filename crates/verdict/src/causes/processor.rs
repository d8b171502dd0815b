//! What else the machine did.

use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, Sentence, found, part_of_time, remark, rule};
use crate::doctor::Purpose::{Every, Latency, Peak};
use crate::doctor::{Answer, Change, CheckResult, HostView, NoAnswer, Purpose, machine};
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::{HeldBack, OtherLoad, WrongNumber};
use truespd_core::result::{FindingGrade, Limit, MachineNow, Theme};
use truespd_platform::machine::host::{
    IdleState, idle_states, is_on_battery, latency_request_us, of_all_processors, of_each_processor,
    times_throttled,
};
use truespd_platform::machine::roots::{Setting, Value};
use truespd_platform::text::{grouped, number, part_percent, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("steal", Theme::Neighbours)
        .inspected(Sentence::Machine(330, stolen))
        .checked(
            machine(120, "steal", Every, steal_now),
            "processor time that other virtual machines take",
            "More than 5 % within the second (spoils), or more than 2 % since boot.",
            "The test's threads stand still while others run; latencies have outliers of milliseconds.",
            "proc_stat(5)",
        )
        .judged(
            rule(410, Suspect, OtherLoad, RealSpan(steal)),
            "Other virtual machines on the host took processor time: above 5 % (15 % of one processor) the \
             result is suspect, above 2 % (7 %) it is a remark.",
            "repeat at a quieter time, or on a machine with dedicated processors",
        ),
    Cause::new("unstable-clock", Theme::Machine)
        .inspected(Sentence::Machine(360, clock_now))
        .checked(
            machine(320, "clock-source", Latency, clock_source),
            "what the kernel keeps time by",
            "The clock source is not the processor's own counter, but a slower one (hpet, acpi_pm, ...).",
            "Microseconds per stamp, two stamps per I/O: latencies are too high, IOPS of fast drives too \
             low.",
            "/sys/devices/system/clocksource; the kernel's timers/timekeeping.rst",
        )
        .judged(
            rule(430, Suspect, WrongNumber, RealSpan(clock)),
            "The clock that times the I/Os drifted: above 1,000 parts per million the result is suspect, \
             above 100 it is a remark.",
            "check the kernel's clock source and the time synchronisation, and repeat",
        ),
    Cause::new("governor", Theme::Machine)
        .inspected(Sentence::Machine(370, governor_now))
        .checked(
            machine(350, "governor", Latency, governor_check).one_core_peak().unlike_production(),
            "frequency governor of the processors",
            "powersave or userspace; with --peak all but performance.",
            "A processor that has to speed up first adds tens of microseconds and more to latencies of a \
             low rate.",
            "the kernel's admin-guide/pm/cpufreq.rst; fio t/one-core-peak.sh",
        )
        .judged(
            rule(500, Remark, HeldBack, RealSpan(governor)),
            "The processors' frequency governor is powersave.",
            "set the governor to performance while measuring latencies",
        ),
    Cause::new("throttled", Theme::Machine).checked(
        machine(150, "throttled", Every, hot),
        "processors slowed down by heat",
        "It happened within the second (spoils), or since boot.",
        "A slower processor does fewer I/Os, and each takes longer.",
        "the kernel's arch/x86/kernel/cpu/mce/therm_throt.c",
    ),
    Cause::new("battery", Theme::Machine).checked(
        machine(160, "battery", Every, battery),
        "running from a battery",
        "The battery is discharging.",
        "Firmware and kernel save power everywhere.",
        "the kernel's ABI/testing/sysfs-class-power",
    ),
    Cause::new("timers", Theme::Machine).checked(
        machine(330, "timers", Every, timers),
        "exact timers",
        "The kernel has none, or was told to do without.",
        "Paced runs (-g, -ib, -ii) miss their times by up to a tick, 1 to 10 ms.",
        "the kernel's timers/hrtimers.rst, timer_list",
    ),
    Cause::new("energy-preference", Theme::Machine).checked(
        machine(340, "energy-preference", Latency, energy_preference).unlike_production(),
        "what the processors prefer: speed or power",
        "power or balance_power.",
        "As the governor, where the processor chooses its frequency itself.",
        "the kernel's admin-guide/pm/intel_pstate.rst, amd-pstate.rst",
    ),
    Cause::new("frequency-limit", Theme::Limit).checked(
        machine(360, "frequency-limit", Every, frequency_limit).unlike_production(),
        "limits that somebody set on the processors' frequency",
        "Some processor may not reach its highest frequency.",
        "Fewer IOPS where processor time matters, and higher latencies everywhere.",
        "the kernel's admin-guide/pm/cpufreq.rst (scaling_max_freq), intel_pstate.rst (max_perf_pct)",
    ),
    Cause::new("turbo", Theme::Machine).checked(
        machine(370, "turbo", Every, turbo),
        "turbo frequencies",
        "Never: it tells whether they are on.",
        "Some percent between a cool and a warm machine, where processor time matters.",
        "the kernel's admin-guide/pm/cpufreq.rst (boost), intel_pstate.rst (no_turbo)",
    ),
    Cause::new("idle-states", Theme::Machine).checked(
        machine(380, "idle-states", Latency, idle_states_of).unlike_production(),
        "how deep processors sleep while they wait",
        "States that take more than 10 us to leave are used, and no program holds them off.",
        "Up to 100 us and more per I/O at low rates: a lower rate then shows higher latencies (fio \
             issue 1394).",
        "the kernel's admin-guide/pm/cpuidle.rst, power/pm_qos_interface.rst",
    ),
    Cause::new("idle-governor", Theme::Machine).checked(
        machine(520, "idle-governor", Peak, idle_governor).one_core_peak().unlike_production(),
        "who chooses idle states",
        "Neither menu nor haltpoll.",
        "A little per I/O at high rates.",
        "fio t/one-core-peak.sh; the kernel's admin-guide/pm/cpuidle.rst",
    ),
    Cause::new("mitigations", Theme::Machine).checked(
        machine(530, "mitigations", Peak, mitigations).one_core_peak().unlike_production(),
        "work-arounds for faults of the processor",
        "Some are on.",
        "Several percent of the processor time per I/O, more on older processors.",
        "fio t/one-core-peak.sh (RETPOLINE, PAGE_TABLE_ISOLATION); the kernel's admin-guide/hw-vuln",
    ),
];

/// Stolen processor time in percent that is worth a word.
const STEAL_REMARK: f64 = 2.0;

/// And from which on the result is suspect.
const STEAL_SUSPECT: f64 = 5.0;

/// The same for a single processor, which may be the one that issues the I/O.
const STEAL_WORST_REMARK: f64 = 7.0;

const STEAL_WORST_SUSPECT: f64 = 15.0;

/// Processor time taken by other machines on the host.
fn steal(case: &Case<'_>) -> RuleResult {
    let host = case.evidence().host.as_ref();
    let steal = host
        .and_then(|host| host.steal_percent)
        .ok_or_else(|| Missing::new("the processor time that other virtual machines took"))?;
    let worst = host.and_then(|host| host.steal_worst_percent).unwrap_or(steal);
    for percent in [steal, worst] {
        part_of_time(percent / 100.0, "the processor time that other virtual machines took")?;
    }
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

/// Parts per million; times and rates are wrong by as much as the clock.
const DRIFT_REMARK: f64 = 100.0;

const DRIFT_SUSPECT: f64 = 1000.0;

fn clock(case: &Case<'_>) -> RuleResult {
    let clock = case
        .evidence()
        .clock
        .as_ref()
        .filter(|clock| clock.drift_ppm.is_finite())
        .ok_or_else(|| Missing::new("the drift of the clock"))?;
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

const POWERSAVE: &str = "The frequency governor is powersave: some latencies include the time that a processor takes \
     to speed up.";

/// Processors that may not run at their speed.
fn governor(case: &Case<'_>) -> RuleResult {
    let host = case.evidence().host.as_ref().ok_or_else(|| Missing::new("the frequency governors"))?;
    // Most virtual machines have none.
    if !host.governors.iter().any(|name| name == "powersave") {
        return Ok(Vec::new());
    }
    Ok(vec![remark(POWERSAVE.to_string())])
}

/// Leaving an idle state that takes longer shows in the latency of a fast drive.
const EXIT_LATENCY_MAX_US: u64 = 10;

/// Words of several settings, each once, in order.
fn words_of(settings: &[Setting]) -> String {
    let mut words: Vec<&str> = settings.iter().filter_map(Setting::chosen).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

/// The same setting of each processor; `absent` where there is none.
fn readable(file: &str, view: &HostView, absent: &str) -> Result<Vec<Setting>, NoAnswer> {
    let settings = of_each_processor(file, view.roots());
    if settings.is_empty() {
        return Err(NoAnswer::absent(absent));
    }
    match settings.iter().find(|setting| matches!(setting.value, Value::Unreadable(_))) {
        Some(unreadable) => Err(NoAnswer::unread(unreadable, "")),
        None => Ok(settings),
    }
}

const NO_FREQUENCIES: &str =
    "The kernel does not set the frequency: the firmware, or the host of a virtual machine, does.";

fn energy_preference(view: &HostView) -> CheckResult {
    let absent = "The processors have no energy preference that the kernel sets.";
    let preferences = readable("cpufreq/energy_performance_preference", view, absent)?;
    let now = words_of(&preferences);
    if !preferences.iter().any(|setting| matches!(setting.chosen(), Some("power" | "balance_power"))) {
        return Ok(Answer::good("The processors do not prefer to save power.").now(now));
    }
    let answer = Answer::may_spoil("The processors are told to save power, and speed up late.");
    Ok(answer.now(now).wanted("performance").change(Change::of_processors(&preferences, "performance")))
}

/// Capped to less than this share of the highest frequency, processors are slower than they can; a little
/// less is rounding.
const CAPPED: f64 = 0.97;

fn frequency_limit(view: &HostView) -> CheckResult {
    let [limits, highest] = ["cpufreq/scaling_max_freq", "cpufreq/cpuinfo_max_freq"]
        .map(|file| of_each_processor(file, view.roots()));
    let percent = of_all_processors("intel_pstate/max_perf_pct", view.roots());
    if let Some(now) = percent.number::<u64>().filter(|&percent| percent < 100) {
        let says =
            "The processors are kept below their highest frequency: each I/O takes longer than it needs to.";
        let change = Change::of(&percent, "100");
        return Ok(Answer::may_spoil(says).now(format!("{now} %")).wanted("100 %").change(change));
    }
    if limits.is_empty() || limits.len() != highest.len() {
        return Err(NoAnswer::absent(NO_FREQUENCIES));
    }
    readable("cpufreq/scaling_max_freq", view, "")?;
    // Without turbo the limit is the nominal frequency, which some drivers do not call the highest.
    if turbo_is_on(view) == Some(false) {
        return Ok(Answer::good("Turbo is off, and that sets the limit."));
    }
    let mut capped: Vec<(&Setting, &Setting)> = limits.iter().zip(&highest).collect();
    capped.retain(|(limit, highest)| {
        let both = limit.number::<u32>().zip(highest.number::<u32>());
        both.is_some_and(|(limit, highest)| f64::from(limit) < CAPPED * f64::from(highest))
    });
    let Some((limit, most)) = capped.first() else {
        return Ok(Answer::good("The processors may run as fast as they can."));
    };
    // Cores of one processor may differ.
    let mut values: Vec<&str> = capped.iter().filter_map(|(_, highest)| highest.word()).collect();
    values.sort_unstable();
    values.dedup();
    let change = values.iter().map(|value| {
        let of = capped.iter().filter(|(_, highest)| highest.word() == Some(value));
        let of: Vec<Setting> = of.map(|(limit, _)| (*limit).clone()).collect();
        Change::of_processors(&of, value)
    });
    let change = change.reduce(|all, one| Change { lasts: one.lasts, ..all.and(one) }).unwrap_or_default();
    let change = change.keep("the settings of what sets it (tlp, tuned, cpupower, thermald)");
    let [now, wanted] =
        [limit, most].map(|setting| format!("{} MHz", grouped(setting.number::<u64>().unwrap_or(0) / 1000)));
    let says = format!(
        "{} of {} processors are kept below their highest frequency: each I/O takes longer than it needs to.",
        capped.len(),
        limits.len()
    );
    Ok(Answer::may_spoil(says).now(now).wanted(wanted).change(change))
}

/// Whether there are turbo frequencies; `None` where the kernel does not tell.
fn turbo_is_on(view: &HostView) -> Option<bool> {
    let intel = of_all_processors("intel_pstate/no_turbo", view.roots());
    let boost = of_all_processors("cpufreq/boost", view.roots());
    intel.word().map(|no_turbo| no_turbo == "0").or_else(|| boost.word().map(|boost| boost == "1"))
}

fn turbo(view: &HostView) -> CheckResult {
    let is_on = turbo_is_on(view).ok_or_else(|| NoAnswer::absent("The kernel does not tell of a turbo."))?;
    let says = if is_on {
        "How far it reaches depends on temperature and on the other processors: small differences between runs can \
         come from it."
    } else {
        "The processors keep to their nominal speed, which repeats well and is not the highest."
    };
    Ok(Answer::good(says).now(if is_on { "on" } else { "off" }))
}

fn idle_states_of(view: &HostView) -> CheckResult {
    let states = idle_states(view.roots());
    if states.is_empty() {
        return Err(NoAnswer::absent(
            "The kernel chooses no idle states: the processor, or the host of a virtual machine, may.",
        ));
    }
    let mut deep: Vec<&IdleState> = states.iter().filter(|state| state.is_used()).collect();
    let deepest = deep.iter().max_by_key(|state| state.exit_latency_us);
    let now = deepest.map_or_else(
        || "none".to_string(),
        |state| format!("{} (up to {} us to wake up)", state.name, grouped(state.exit_latency_us)),
    );
    deep.retain(|state| state.exit_latency_us > EXIT_LATENCY_MAX_US);
    let held = latency_request_us(view.roots());
    if let Ok(Some(limit_us)) = held {
        deep.retain(|state| state.exit_latency_us <= u64::from(limit_us));
        // 2,000 s is the kernel's word for no request.
        if deep.is_empty() && limit_us < 1_000_000 {
            let says = format!(
                "A program that holds /dev/cpu_dma_latency open keeps the processors within {limit_us} us."
            );
            return Ok(Answer::good(says).now(now));
        }
    }
    if deep.is_empty() {
        return Ok(Answer::good("The processors wake up quickly.").now(now));
    }
    let unseen = match held {
        Err(_) => " Whether a program holds them awake (/dev/cpu_dma_latency) is visible to root only.",
        Ok(_) => "",
    };
    let says = format!(
        "A processor that waits for an I/O falls asleep, and each completion includes the time to wake up. With \
         little load latencies are higher than with much.{unseen}"
    );
    let mut change = Change::default();
    for state in &deep {
        let one = Change::of_processors(&state.disable, "1");
        change = Change { lasts: one.lasts, ..change.and(one) };
    }
    let change = change.keep("tuned-adm profile latency-performance, or the kernel parameter cpuidle.off=1");
    let wanted = format!("none that takes more than {EXIT_LATENCY_MAX_US} us");
    Ok(Answer::may_spoil(says).now(now).wanted(wanted).change(change))
}

fn idle_governor(view: &HostView) -> CheckResult {
    let folder = view.roots().sys.join("devices/system/cpu/cpuidle");
    let governor = Setting::read(folder.join("current_governor"));
    // Kernels before 5.8 show it read-only by another name.
    let governor = match governor.value {
        Value::Absent => Setting::read(folder.join("current_governor_ro")),
        _ => governor,
    };
    let now = governor
        .word()
        .map(str::to_string)
        .ok_or_else(|| NoAnswer::unread(&governor, "The kernel chooses no idle states."))?;
    let offered = Setting::read(folder.join("available_governors"));
    let can_be_set =
        governor.path.ends_with("current_governor") && (offered.word().is_none() || offered.offers("menu"));
    if matches!(now.as_str(), "menu" | "haltpoll") {
        return Ok(Answer::good("It expects short waits.").now(now));
    }
    let answer =
        Answer::may_spoil("Others than menu choose deeper idle states for the short waits of fast I/O.");
    let keep = "the kernel parameter cpuidle.governor=menu, of a kernel with that governor";
    let change = if can_be_set { Change::of(&governor, "menu").keep(keep) } else { Change::only_kept(keep) };
    Ok(answer.now(now).wanted("menu").change(change))
}

fn hot(view: &HostView) -> CheckResult {
    let ever = times_throttled(view.roots())
        .ok_or_else(|| NoAnswer::absent("The processors do not count how often they are slowed down."))?;
    let told = format!("{} times since boot", grouped(ever));
    match view.window.throttled.unwrap_or(0) {
        0 if ever == 0 => Ok(Answer::good("No processor was slowed down because of heat.").now(told)),
        0 => {
            let says = "Processors were slowed down because they were hot, and may be again under load: look at \
                 cooling.";
            Ok(Answer::may_spoil(says).now(told).wanted("0 times"))
        }
        now => {
            let says = format!(
                "Processors were slowed down {now} times within a second because they are hot: look at cooling."
            );
            Ok(Answer::spoils(says).now(told).wanted("0 times"))
        }
    }
}

fn battery(view: &HostView) -> CheckResult {
    match is_on_battery(view.roots()) {
        None => Err(NoAnswer::absent("The machine has no battery.")),
        Some(false) => Ok(Answer::good("The machine does not run from its battery.").now("mains")),
        Some(true) => {
            let says = "The machine runs from its battery: firmware and kernel save power at processors, links and \
                 drives. Plug it in.";
            Ok(Answer::may_spoil(says).now("battery").wanted("mains"))
        }
    }
}

/// Clock sources that are read without leaving the processor.
const QUICK_CLOCKS: &[&str] = &[
    "tsc",
    "arch_sys_counter",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "timebase",
    "tod",
    "riscv_clocksource",
];

fn clock_source(view: &HostView) -> CheckResult {
    let folder = view.roots().sys.join("devices/system/clocksource/clocksource0");
    let source = Setting::read(folder.join("current_clocksource"));
    let now = source
        .word()
        .map(str::to_string)
        .ok_or_else(|| NoAnswer::unread(&source, "The kernel does not tell what it keeps time by."))?;
    if QUICK_CLOCKS.contains(&now.as_str()) {
        return Ok(Answer::good("Reading the clock is quick.").now(now));
    }
    let offered = Setting::read(folder.join("available_clocksource"));
    let better = QUICK_CLOCKS.iter().find(|clock| offered.offers(clock));
    let says = format!(
        "Reading the clock {now} takes up to some microseconds, twice per I/O: latencies hold it, and a thread does \
         fewer I/Os."
    );
    let answer = Answer::may_spoil(says).now(now).wanted(*better.unwrap_or(&"tsc"));
    let change = match better {
        Some(clock) => Change::of(&source, clock).keep(format!("the kernel parameter clocksource={clock}")),
        None => Change::only_kept(
            "look in the kernel's log (dmesg) for why it does not trust the tsc; firmware and hypervisor decide",
        ),
    };
    Ok(answer.change(change))
}

fn timers(view: &HostView) -> CheckResult {
    let line = Setting::read(view.roots().proc.join("cmdline"));
    let parameters = line.word().unwrap_or_default();
    if parameters.split_whitespace().any(|word| word == "highres=off") {
        let says = "Exact timers are turned off (highres=off): waits for a rate (-g) and pauses (-ib, -ii) last \
             until the next tick of the kernel.";
        let change = Change::only_kept("take highres=off off the kernel's command line");
        return Ok(Answer::may_spoil(says).now("ticks of the kernel").wanted("exact").change(change));
    }
    let list = Setting::read(view.roots().proc.join("timer_list"));
    let resolution =
        list.word().and_then(|text| text.lines().find_map(|line| line.trim().strip_prefix(".resolution:")));
    let Some(resolution) = resolution else {
        // The list is root's; the clock tells everybody, rounded to the tick where timers are.
        if let Some(ns) = view.process.timer_ns {
            return Ok(timers_of(&format!("{ns} nsecs")));
        }
        return match (&list.value, line.word()) {
            (Value::Is(_), Some(_)) => {
                Ok(Answer::good("The kernel was not told to do without exact timers."))
            }
            (Value::Unreadable(_), _) => Err(NoAnswer::unread(&list, "")),
            _ => Err(NoAnswer::unknown("The list of timers (/proc/timer_list) is not there.")),
        };
    };
    Ok(timers_of(resolution.trim()))
}

fn timers_of(resolution: &str) -> Answer {
    let ns: Option<u64> = resolution.split(' ').next().and_then(|number| number.parse().ok());
    let now = ns.map_or_else(|| resolution.to_string(), |ns| format!("exact to {} ns", grouped(ns)));
    if ns == Some(1) {
        return Answer::good("Timers are exact; a run asks for no slack of its own.").now(now);
    }
    let says = "Timers wait for the next tick of the kernel: waits for a rate (-g) and pauses (-ib, -ii) are longer \
         than asked for.";
    let change = Change::only_kept("a kernel with CONFIG_HIGH_RES_TIMERS, without highres=off");
    Answer::may_spoil(says).now(now).wanted("exact to 1 ns").change(change)
}

fn mitigations(view: &HostView) -> CheckResult {
    let folder = view.roots().sys.join("devices/system/cpu/vulnerabilities");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut on: Vec<String> = entries
        .filter(|entry| Setting::read(entry.path()).word().is_some_and(|text| text.starts_with("Mitigation")))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    on.sort();
    let status = Setting::read(view.roots().proc.join("self/status"));
    let bypass = status.word().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("Speculation_Store_Bypass:")).map(str::trim)
    });
    if bypass.is_some_and(|state| state.contains("mitigated")) {
        on.push("spec_store_bypass of this process (a container's system-call filter can ask for it)".into());
    }
    if !folder.is_dir() {
        return Err(NoAnswer::absent("The kernel does not tell of faults of the processor."));
    }
    if on.is_empty() {
        return Ok(Answer::good("No fault of the processor is worked around.").now("none"));
    }
    let says = "Each system call and interrupt does extra work against faults of the processor. Leave it: these \
         protect the machine.";
    let change = Change::only_kept(
        "the kernel parameter mitigations=off, on a machine for measuring that runs nothing else",
    );
    Ok(Answer::may_spoil(says).now(on.join(", ")).wanted("none").change(change))
}

fn governor_check(view: &HostView) -> CheckResult {
    let governors = readable("cpufreq/scaling_governor", view, NO_FREQUENCIES)?;
    let now = words_of(&governors);
    let has_performance = of_each_processor("cpufreq/scaling_available_governors", view.roots())
        .iter()
        .all(|offered| offered.offers("performance"));
    let change = if has_performance {
        Change::of_processors(&governors, "performance")
            .keep("the kernel parameter cpufreq.default_governor=performance (Linux 5.9)")
    } else {
        Change::default()
    };
    let chosen: Vec<Option<&str>> = governors.iter().map(Setting::chosen).collect();
    let answer = if chosen.contains(&Some("powersave")) {
        Answer::may_spoil(POWERSAVE)
    } else if chosen.iter().all(|&name| name == Some("performance")) {
        return Ok(Answer::good("The processors run as fast as they can.").now(now));
    } else if chosen.contains(&Some("userspace")) {
        let says = "A program sets the frequency of the processors (userspace): they may be slower than they can for \
             the whole run.";
        Answer::may_spoil(says)
    } else {
        Answer::may_spoil("The processors follow the load, and speed up some time after it began.")
            .only_for(Purpose::Peak)
    };
    let answer = answer.now(now.clone()).wanted("performance").change(change);
    match answer.matters_for {
        Some(_) => Ok(Answer::good("The processors follow the load.").now(now).and(answer)),
        None => Ok(answer),
    }
}

fn steal_now(view: &HostView) -> CheckResult {
    let (now, ever) = (view.window.stolen_percent, view.window.stolen_percent_since_boot);
    let (Some(now), Some(ever)) = (now, ever) else {
        return Err(NoAnswer::unknown("The processor times (/proc/stat) cannot be read."));
    };
    let told = format!("{} just now, {} since boot", part_percent(now / 100.0), part_percent(ever / 100.0));
    if now <= STEAL_SUSPECT && ever <= STEAL_REMARK {
        return Ok(Answer::good("Other virtual machines on this host take little processor time.").now(told));
    }
    let says = "Other virtual machines on this host take processor time (steal). Measure at a quieter time, or on a \
         machine with dedicated processors.";
    let answer = if now > STEAL_SUSPECT { Answer::spoils(says) } else { Answer::may_spoil(says) };
    Ok(answer.now(told).wanted("at most 2 %"))
}

/// A stamp is taken twice per I/O; from here on it shows in latencies and in the rate of a thread.
const STAMP_COST_NOTABLE_NS: f64 = 200.0;

fn stolen(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let now = machine.host.steal_percent.unwrap_or(0.0);
    let ever = machine.steal_since_boot_percent.unwrap_or(0.0);
    // The short sample has steps of a few percent on a small machine.
    (now > STEAL_SUSPECT || ever > STEAL_REMARK).then(|| {
        format!(
            "Other virtual machines on this host take processor time (steal): {} just now, {} since boot. Measure at \
             a quieter time, or on a machine with dedicated processors.",
            part_percent(now / 100.0),
            part_percent(ever / 100.0)
        )
    })
}

fn clock_now(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let clock = &machine.clock;
    if clock.drift_ppm.abs() > DRIFT_REMARK {
        return Some(format!(
            "The clock {} ran {} parts per million {} CLOCK_MONOTONIC just now: rates and times would be wrong by as \
             much. Check the kernel's clock source and the time synchronisation.",
            clock.name,
            grouped(clock.drift_ppm.abs() as u64),
            if clock.drift_ppm > 0.0 { "faster than" } else { "slower than" }
        ));
    }
    if clock.stamp_cost_ns < STAMP_COST_NOTABLE_NS {
        return None;
    }
    let why = clock.why_not_counter.as_ref()?;
    Some(format!(
        "Reading the clock takes {} ns, twice per I/O, because {why}: check the kernel's clock source.",
        grouped(clock.stamp_cost_ns as u64)
    ))
}

fn governor_now(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    machine.host.governors.iter().any(|name| name == "powersave").then(|| {
        "The frequency governor is powersave: some latencies include the time that a processor takes to speed up. Set \
         the governor to performance while measuring latencies."
            .to_string()
    })
}

//! The machine: what a person should know of it, and its lines of the report. Pure functions over the facts, with the
//! thresholds and the advice of the rules that judge a run.

use crate::cli::show::inspect::limit_words;
use crate::load::before::Machine;
use crate::result::{DiskActivity, Limit, LimitKind, TargetFacts};
use crate::text::{grouped, part_percent as percent, size};
use crate::verdict::thresholds::{
    DRIFT_REMARK, FOREIGN_BYTES_PER_S, MEMORY_FULL_SUSPECT, MEMORY_SOME_SUSPECT, STEAL_REMARK, STEAL_SUSPECT,
    WAITING_SUSPECT,
};

/// A stamp is taken twice per I/O; from here on it shows in latencies and in the rate of a thread.
const STAMP_COST_NOTABLE_NS: f64 = 200.0;

/// Memory that the page cache may take: that of the machine, or of the container.
pub(crate) fn memory_for_cache(machine: &Machine, limits: &[Limit]) -> Option<u64> {
    let limits = limits.iter().filter(|limit| limit.what == LimitKind::MemoryBytes).map(|limit| limit.value);
    limits.chain(machine.memory_bytes).min()
}

/// Bytes per second that others read and wrote.
fn rates(disk: &DiskActivity) -> [f64; 2] {
    let seconds = disk.window_ns.max(1) as f64 / 1e9;
    [disk.total.read_bytes, disk.total.write_bytes].map(|bytes| bytes as f64 / seconds)
}

fn is_idle(disk: &DiskActivity) -> bool {
    rates(disk) == [0.0, 0.0]
}

/// Disks that are named, at most.
const NAMES_MAX: usize = 4;

fn names(disks: &[&DiskActivity]) -> String {
    let named: Vec<&str> = disks.iter().take(NAMES_MAX).map(|disk| disk.name.as_str()).collect();
    match disks.len().saturating_sub(NAMES_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `read at 12 MiB/s` and the like, of all these disks together, without what does not happen.
fn ways(disks: &[&DiskActivity]) -> Vec<String> {
    let sum = |way: usize| disks.iter().map(|disk| rates(disk)[way]).sum::<f64>();
    let ways = [("read", sum(0)), ("written", sum(1))];
    ways.iter()
        .filter(|(_, rate)| *rate > 0.0)
        .map(|(way, rate)| format!("{way} at {}", crate::text::rate(*rate)))
        .collect()
}

/// Others on the disks of a target.
pub(crate) fn other_io(facts: &TargetFacts, machine: &Machine) -> Option<String> {
    let is_below = |disk: &&DiskActivity| facts.layers.iter().any(|layer| layer.name == disk.name);
    let used: Vec<_> = machine.disks.iter().filter(is_below).filter(|disk| !is_idle(disk)).collect();
    let rate: f64 = used.iter().flat_map(|disk| rates(disk)).sum();
    let verb = if used.len() == 1 { "is" } else { "are" };
    (rate >= FOREIGN_BYTES_PER_S).then(|| {
        format!(
            "{} {verb} being {} by others now: stop what else uses the disks (iotop, pidstat -d) before measuring.",
            names(&used),
            ways(&used).join(" and ")
        )
    })
}

/// Limits on the disks of a target.
pub(crate) fn limited(facts: &TargetFacts, limits: &[Limit]) -> Vec<String> {
    let is_below =
        |limit: &&Limit| limit.device.as_ref().is_some_and(|d| facts.layers.iter().any(|l| &l.name == d));
    let words = limits.iter().filter(is_below).map(|limit| {
        format!(
            "This process is held to {}: at that rate the limit is measured, not the disk, and more depth only adds \
             latency. Raise or remove the limit to measure the disk.",
            limit_words(limit)
        )
    });
    words.collect()
}

/// What holds for all targets, most important first.
pub(crate) fn know(machine: &Machine, limits: &[Limit]) -> Vec<String> {
    [
        quota(machine, limits),
        stolen(machine),
        no_processor(machine),
        no_memory(machine),
        clock(machine),
        governor(machine),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn quota(machine: &Machine, limits: &[Limit]) -> Option<String> {
    let least =
        limits.iter().filter(|limit| limit.what == LimitKind::CpuMillis).min_by_key(|limit| limit.value)?;
    (least.value < u64::from(machine.processors_allowed) * 1000).then(|| {
        format!(
            "This process is held to {}: the threads of a test may be held, and the disk then waits for them.",
            limit_words(least)
        )
    })
}

fn stolen(machine: &Machine) -> Option<String> {
    let now = machine.host.steal_percent.unwrap_or(0.0);
    let ever = machine.steal_since_boot_percent.unwrap_or(0.0);
    // The short look sees steps of a few percent on a small machine.
    (now > STEAL_SUSPECT || ever > STEAL_REMARK).then(|| {
        format!(
            "Other machines on this host take processor time (steal): {} just now, {} since boot. Measure at a quieter \
             time, or on a machine with processors of its own.",
            percent(now / 100.0),
            percent(ever / 100.0)
        )
    })
}

fn no_processor(machine: &Machine) -> Option<String> {
    let waited = machine.stalled?.cpu_some_percent / 100.0;
    (waited >= WAITING_SUSPECT).then(|| {
        format!(
            "Tasks waited for a processor for {} of the last 10 s, and the threads of a test would as well: stop what \
             else computes before measuring.",
            percent(waited)
        )
    })
}

fn no_memory(machine: &Machine) -> Option<String> {
    let stalled = machine.stalled?;
    let (some, full) = (stalled.memory_some_percent / 100.0, stalled.memory_full_percent / 100.0);
    (some >= MEMORY_SOME_SUSPECT || full >= MEMORY_FULL_SUSPECT).then(|| {
        format!(
            "Tasks waited for memory for {} of the last 10 s, all of them for {}: free memory before measuring.",
            percent(some),
            percent(full)
        )
    })
}

fn clock(machine: &Machine) -> Option<String> {
    let clock = &machine.clock;
    if clock.drift_ppm.abs() > DRIFT_REMARK {
        return Some(format!(
            "The clock {} ran {} parts per million {} CLOCK_MONOTONIC just now: rates and times would be wrong by as \
             much. Look at the kernel's clock source and the time synchronisation.",
            clock.name,
            grouped(clock.drift_ppm.abs() as u64),
            if clock.drift_ppm > 0.0 { "faster than" } else { "slower than" }
        ));
    }
    let why = clock.why_not_counter.as_ref().filter(|_| clock.stamp_cost_ns >= STAMP_COST_NOTABLE_NS)?;
    Some(format!(
        "A stamp costs {} ns, twice per I/O, because {why}: look at the kernel's clock source.",
        grouped(clock.stamp_cost_ns as u64)
    ))
}

fn governor(machine: &Machine) -> Option<String> {
    machine.host.governors.iter().any(|name| name == "powersave").then(|| {
        "The frequency governor is powersave: single latencies contain the time a processor takes to speed up. Set the \
         governor to performance while measuring latencies."
            .to_string()
    })
}

/// Named facts, one line each where the width allows.
pub(crate) fn lines(machine: &Machine) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Processors", processors(machine))];
    if !machine.host.governors.is_empty() {
        lines.push(("Governor", machine.host.governors.join(", ")));
    }
    lines.extend(memory(machine).map(|words| ("Memory", words)));
    let (idle, used): (Vec<_>, Vec<_>) = machine.disks.iter().partition(|disk| is_idle(disk));
    for disk in used {
        lines.push(("Disk", format!("{} {} by others", disk.name, ways(&[disk]).join(", "))));
    }
    if !idle.is_empty() {
        lines.push(("Disk", format!("{} idle", names(&idle))));
    }
    if let Some(stalled) = machine.stalled {
        lines.push((
            "Tasks waited",
            format!(
                "for processors {}, I/O {}, memory {} of the last 10 s",
                percent(stalled.cpu_some_percent / 100.0),
                percent(stalled.io_some_percent / 100.0),
                percent(stalled.memory_some_percent / 100.0)
            ),
        ));
    }
    lines.push(("Clock", clock_words(machine)));
    lines
}

fn processors(machine: &Machine) -> String {
    let mut parts = vec![grouped(machine.processors)];
    if machine.processors_allowed < machine.processors {
        parts.push(format!("{} for this process", grouped(machine.processors_allowed)));
    }
    parts.extend(machine.busy_percent.map(|busy| format!("{} busy", percent(busy / 100.0))));
    parts.extend(
        machine.steal_since_boot_percent.map(|steal| format!("{} stolen since boot", percent(steal / 100.0))),
    );
    parts.join(", ")
}

fn memory(machine: &Machine) -> Option<String> {
    let total = size(machine.memory_bytes?);
    let available = machine.host.memory_available_bytes;
    Some(available.map_or(total.clone(), |bytes| format!("{} of {total} available", size(bytes))))
}

/// Name, why that one, and what a stamp costs.
fn clock_words(machine: &Machine) -> String {
    let clock = &machine.clock;
    let why = match &clock.why_not_counter {
        None => "constant, and the kernel's own".to_string(),
        Some(why) => why.clone(),
    };
    format!("{}: {why}; a stamp costs {:.0} ns", clock.name, clock.stamp_cost_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::before::Stalled;
    use crate::result::{ClockFacts, DiskCounts, HostActivity, Layer};

    const MIB: u64 = 1 << 20;

    fn quiet() -> Machine {
        Machine {
            processors: 4,
            processors_allowed: 4,
            memory_bytes: Some(8 << 30),
            clock: ClockFacts {
                name: "TSC".into(),
                stamp_cost_ns: 15.2,
                why_not_counter: None,
                drift_ppm: 0.3,
            },
            clock_source: Some("tsc".into()),
            steal_since_boot_percent: Some(0.4),
            stalled: Some(Stalled { cpu_some_percent: 2.0, io_some_percent: 60.0, ..Stalled::default() }),
            window_ns: 200_000_000,
            busy_percent: Some(12.7),
            disks: vec![disk(0, 0)],
            host: HostActivity {
                memory_available_bytes: Some(6 << 30),
                steal_percent: Some(2.5),
                ..HostActivity::default()
            },
        }
    }

    /// What `vda` did in the look.
    fn disk(read_bytes: u64, write_bytes: u64) -> DiskActivity {
        let total = DiskCounts { read_bytes, write_bytes, ..DiskCounts::default() };
        DiskActivity { name: "vda".into(), window_ns: 200_000_000, total, ..DiskActivity::default() }
    }

    fn on(disk: &str) -> TargetFacts {
        let layer = Layer { name: disk.into(), ..Layer::default() };
        TargetFacts { layers: vec![layer], ..TargetFacts::default() }
    }

    fn limit(what: LimitKind, value: u64, device: Option<&str>) -> Limit {
        Limit { by: "io.max".into(), group: "/x".into(), device: device.map(str::to_string), what, value }
    }

    #[test]
    fn a_quiet_machine_needs_no_words() {
        assert_eq!(know(&quiet(), &[]), Vec::<String>::new());
        assert_eq!(other_io(&on("vda"), &quiet()), None);
        let lines: Vec<String> =
            lines(&quiet()).iter().map(|(name, words)| format!("{name}: {words}")).collect();
        assert_eq!(
            lines,
            [
                "Processors: 4, 13 % busy, 0.4 % stolen since boot",
                "Memory: 6 GiB of 8 GiB available",
                "Disk: vda idle",
                "Tasks waited: for processors 2 %, I/O 60 %, memory 0 % of the last 10 s",
                "Clock: TSC: constant, and the kernel's own; a stamp costs 15 ns",
            ]
        );
    }

    #[test]
    fn others_on_the_disks_are_told() {
        let used = |read, write| Machine { disks: vec![disk(read, write)], ..quiet() };
        let said = |machine: &Machine| other_io(&on("vda"), machine).unwrap_or_default();
        assert_eq!(
            said(&used(12 * MIB / 5, 0)),
            "vda is being read at 12 MiB/s by others now: stop what else uses the disks (iotop, pidstat -d) before \
             measuring."
        );
        assert!(
            said(&used(MIB, MIB))
                .starts_with("vda is being read at 5 MiB/s and written at 5 MiB/s by others")
        );
        assert_eq!(said(&used(4096, 4096)), "", "a log line");
        assert!(other_io(&on("vdb"), &used(MIB, 0)).is_none(), "the disk of another target");
        let lines = lines(&used(4096, 0));
        assert!(lines.contains(&("Disk", "vda read at 20 KiB/s by others".to_string())), "{lines:?}");
    }

    #[test]
    fn many_disks_are_one_sentence() {
        let named = |number: u32, bytes| DiskActivity { name: format!("sd{number}"), ..disk(bytes, 0) };
        let machine =
            Machine { disks: (0..7).map(|n| named(n, u64::from(n) * MIB / 5)).collect(), ..quiet() };
        let layers = (0..7).map(|n| Layer { name: format!("sd{n}"), ..Layer::default() }).collect();
        let facts = TargetFacts { layers, ..TargetFacts::default() };
        let said = other_io(&facts, &machine).expect("it is used");
        let begin = "sd1, sd2, sd3, sd4 and 2 more are being read at 21 MiB/s by others";
        assert!(said.starts_with(begin), "{said}");
        let disks = lines(&machine).into_iter().filter(|(name, _)| *name == "Disk").count();
        assert_eq!(disks, 7, "one line for each that is used, and one for the rest");
    }

    #[test]
    fn limits_are_told_where_they_hold() {
        let reads = limit(LimitKind::ReadIops, 1920, Some("vda"));
        let said = limited(&on("vda"), std::slice::from_ref(&reads)).join("|");
        assert!(said.starts_with("This process is held to at most 1,920 reads/s on vda (io.max"), "{said}");
        assert!(limited(&on("vdb"), &[reads]).is_empty());
        let cpu = |millis| know(&quiet(), &[limit(LimitKind::CpuMillis, millis, None)]).join("|");
        assert!(cpu(1500).contains("1.5 processors' time") && cpu(4000).is_empty());
        let memory = limit(LimitKind::MemoryBytes, MIB, None);
        assert_eq!(memory_for_cache(&quiet(), &[memory]), Some(MIB));
        assert_eq!(memory_for_cache(&quiet(), &[]), Some(8 << 30));
    }

    /// Each state of the machine with its sentence, the rule that would judge a run by it, and their common cure.
    #[test]
    fn what_disturbs_is_told_as_the_rules_do() {
        let stalled = |change: fn(&mut Stalled)| {
            let mut stalled = Stalled::default();
            change(&mut stalled);
            Machine { stalled: Some(stalled), ..quiet() }
        };
        let clock = |change: fn(&mut ClockFacts)| {
            let mut machine = quiet();
            change(&mut machine.clock);
            machine
        };
        let host = |change: fn(&mut HostActivity)| {
            let mut machine = quiet();
            change(&mut machine.host);
            machine
        };
        let source = "look at the kernel's clock source";
        let own = "at a quieter time, or on a machine with processors of its own";
        let cases: [(Machine, &str, &str, &str); 8] = [
            (host(|h| h.steal_percent = Some(7.5)), "7.5 % just now, 0.4 % since boot", "steal", own),
            (
                Machine { steal_since_boot_percent: Some(3.0), ..quiet() },
                "2.5 % just now, 3 % since boot",
                "steal",
                own,
            ),
            (
                stalled(|s| s.memory_some_percent = 5.0),
                "for memory for 5 %",
                "memory-pressure",
                "free memory",
            ),
            (
                stalled(|s| s.memory_full_percent = 1.0),
                "all of them for 1 %",
                "memory-pressure",
                "free memory",
            ),
            (
                stalled(|s| s.cpu_some_percent = 88.0),
                "for a processor for 88 %",
                "generator-bound",
                "processors",
            ),
            (clock(|c| c.drift_ppm = -250.0), "250 parts per million slower", "unstable-clock", source),
            (
                clock(|c| {
                    c.stamp_cost_ns = 1200.0;
                    c.why_not_counter = Some("the kernel's clock source is hpet, not tsc".into());
                }),
                "costs 1,200 ns, twice per I/O, because the kernel's clock source is hpet",
                "unstable-clock",
                source,
            ),
            (
                host(|h| h.governors = vec!["performance".into(), "powersave".into()]),
                "The frequency governor is powersave: single latencies contain the time a processor takes",
                "governor",
                "to performance while measuring latencies",
            ),
        ];
        for (machine, part, rule, cure) in cases {
            let said = know(&machine, &[]);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains(part), "{part}: {said:?}");
            let rule = crate::verdict::RULES.iter().find(|r| r.name == rule).expect(rule);
            // A sentence of its own begins with a capital.
            let said = said[0].to_lowercase();
            let is_processors = cure == "processors" && said.contains("processor");
            assert!(rule.advice.contains(cure) && (said.contains(cure) || is_processors), "{cure}: {said}");
        }
        let other = crate::verdict::RULES.iter().find(|r| r.name == "other-io").expect("other-io");
        let cure = "stop what else uses the disks (iotop, pidstat -d)";
        let busy = Machine { disks: vec![disk(MIB, 0)], ..quiet() };
        assert!(
            other.advice.contains(cure)
                && other_io(&on("vda"), &busy).is_some_and(|said| said.contains(cure))
        );
    }
}

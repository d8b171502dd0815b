//! The machine, and what others do on the disks of a target.

use super::words::{limit_words, names, ways};
use super::{Known, Rule, rule};
use crate::result::{DiskActivity, Limit, LimitKind, MachineNow, TargetFacts};
use crate::text::{grouped, part_percent as percent};
use crate::verdict::thresholds::{
    DRIFT_REMARK, FOREIGN_BYTES_PER_S, MEMORY_FULL_SUSPECT, MEMORY_SOME_SUSPECT, STEAL_REMARK, STEAL_SUSPECT,
    WAITING_SUSPECT,
};

/// A sentence about the machine and the limits on this process, or nothing.
type OfMachine = fn(&MachineNow, &[Limit]) -> Option<String>;

/// What holds for all targets, most important first.
const RULES: &[Rule<OfMachine>] = &[
    rule("generator-bound", quota),
    rule("steal", stolen),
    rule("generator-bound", no_processor),
    rule("memory-pressure", no_memory),
    rule("unstable-clock", clock),
    rule("governor", governor),
];

/// Others on the disks of a target.
pub(super) const OTHER_IO: &str = "other-io";
/// Limits on the disks of a target.
pub(super) const LIMITED: &str = "provisioned-limit";

/// Names of the rules.
#[cfg(test)]
pub(super) fn names_of_rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name).chain([OTHER_IO, LIMITED])
}

/// A stamp is taken twice per I/O; from here on it shows in latencies and in the rate of a thread.
const STAMP_COST_NOTABLE_NS: f64 = 200.0;

/// Memory that the page cache may take: that of the machine, or of the container.
pub(super) fn memory_for_cache(machine: &MachineNow, limits: &[Limit]) -> Option<u64> {
    let limits = limits.iter().filter(|limit| limit.what == LimitKind::MemoryBytes).map(|limit| limit.value);
    limits.chain(machine.memory_bytes).min()
}

/// Others on the disks of a target.
pub(super) fn other_io(facts: &TargetFacts, machine: &MachineNow) -> Option<String> {
    let is_below = |disk: &&DiskActivity| facts.layers.iter().any(|layer| layer.name == disk.name);
    let used: Vec<_> = machine.disks.iter().filter(is_below).filter(|disk| !disk.is_idle()).collect();
    let rate: f64 = used.iter().flat_map(|disk| disk.bytes_per_s()).sum();
    (rate >= FOREIGN_BYTES_PER_S).then(|| {
        format!(
            "Other programs use {} now ({}): stop the other programs that use the disks (iotop and pidstat -d show \
             them) before measuring.",
            names(&used),
            ways(&used).join(" and ")
        )
    })
}

/// Limits on the disks of a target.
pub(super) fn limited(facts: &TargetFacts, limits: &[Limit]) -> Vec<String> {
    let is_below =
        |limit: &&Limit| limit.device.as_ref().is_some_and(|d| facts.layers.iter().any(|l| &l.name == d));
    let words = limits.iter().filter(is_below).map(|limit| {
        format!(
            "This process is limited to {}: a test at that rate measures the limit, not the disk, and more queue depth \
             only adds latency. Raise or remove the limit to measure the disk.",
            limit_words(limit)
        )
    });
    words.collect()
}

/// What holds for all targets, most important first.
pub(super) fn look(machine: &MachineNow, limits: &[Limit]) -> Vec<Known> {
    let said = |rule: &Rule<OfMachine>| {
        let says = (rule.look)(machine, limits)?;
        Some(Known { rule: rule.name, says })
    };
    RULES.iter().filter_map(said).collect()
}

fn quota(machine: &MachineNow, limits: &[Limit]) -> Option<String> {
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

fn stolen(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let now = machine.host.steal_percent.unwrap_or(0.0);
    let ever = machine.steal_since_boot_percent.unwrap_or(0.0);
    // The short sample has steps of a few percent on a small machine.
    (now > STEAL_SUSPECT || ever > STEAL_REMARK).then(|| {
        format!(
            "Other virtual machines on this host take processor time (steal): {} just now, {} since boot. Measure at a \
             quieter time, or on a machine with dedicated processors.",
            percent(now / 100.0),
            percent(ever / 100.0)
        )
    })
}

fn no_processor(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let waited = machine.stalled?.cpu_some_percent / 100.0;
    (waited >= WAITING_SUSPECT).then(|| {
        format!(
            "Tasks waited for a processor for {} of the last 10 s, and the threads of a test would wait, too: stop \
             other programs that use the processors before measuring.",
            percent(waited)
        )
    })
}

fn no_memory(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    let stalled = machine.stalled?;
    let (some, full) = (stalled.memory_some_percent / 100.0, stalled.memory_full_percent / 100.0);
    (some >= MEMORY_SOME_SUSPECT || full >= MEMORY_FULL_SUSPECT).then(|| {
        format!(
            "Some tasks waited for memory for {} of the last 10 s, all tasks for {}: free memory before measuring.",
            percent(some),
            percent(full)
        )
    })
}

fn clock(machine: &MachineNow, _: &[Limit]) -> Option<String> {
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
    let why = clock.why_not_counter.as_ref().filter(|_| clock.stamp_cost_ns >= STAMP_COST_NOTABLE_NS)?;
    Some(format!(
        "Reading the clock takes {} ns, twice per I/O, because {why}: check the kernel's clock source.",
        grouped(clock.stamp_cost_ns as u64)
    ))
}

fn governor(machine: &MachineNow, _: &[Limit]) -> Option<String> {
    machine.host.governors.iter().any(|name| name == "powersave").then(|| {
        "The frequency governor is powersave: some latencies include the time that a processor takes to speed up. Set \
         the governor to performance while measuring latencies."
            .to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{ClockFacts, DiskCounts, HostActivity, Layer, Stalled};

    const MIB: u64 = 1 << 20;

    fn know(machine: &MachineNow, limits: &[Limit]) -> Vec<String> {
        look(machine, limits).into_iter().map(|known| known.says).collect()
    }

    fn quiet() -> MachineNow {
        let mut machine = MachineNow::quiet();
        machine.host.steal_percent = Some(2.5);
        machine
    }

    /// What `vda` did in the sample.
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
    }

    #[test]
    fn others_on_the_disks_are_told() {
        let used = |read, write| MachineNow { disks: vec![disk(read, write)], ..quiet() };
        let said = |machine: &MachineNow| other_io(&on("vda"), machine).unwrap_or_default();
        assert_eq!(
            said(&used(12 * MIB / 5, 0)),
            "Other programs use vda now (read at 12 MiB/s): stop the other programs that use the disks (iotop and \
             pidstat -d show them) before measuring."
        );
        assert!(
            said(&used(MIB, MIB))
                .starts_with("Other programs use vda now (read at 5 MiB/s and written at 5 MiB/s): stop")
        );
        assert_eq!(said(&used(4096, 4096)), "", "a log line");
        assert!(other_io(&on("vdb"), &used(MIB, 0)).is_none(), "the disk of another target");
    }

    #[test]
    fn many_disks_are_one_sentence() {
        let named = |number: u32, bytes| DiskActivity { name: format!("sd{number}"), ..disk(bytes, 0) };
        let machine =
            MachineNow { disks: (0..7).map(|n| named(n, u64::from(n) * MIB / 5)).collect(), ..quiet() };
        let layers = (0..7).map(|n| Layer { name: format!("sd{n}"), ..Layer::default() }).collect();
        let facts = TargetFacts { layers, ..TargetFacts::default() };
        let said = other_io(&facts, &machine).expect("it is used");
        let begin = "Other programs use sd1, sd2, sd3, sd4 and 2 more now (read at 21 MiB/s): stop";
        assert!(said.starts_with(begin), "{said}");
    }

    #[test]
    fn limits_are_told_where_they_hold() {
        let reads = limit(LimitKind::ReadIops, 1920, Some("vda"));
        let said = limited(&on("vda"), std::slice::from_ref(&reads)).join("|");
        assert!(
            said.starts_with(
                "This process is limited to 1,920 reads/s on vda (io.max of cgroup /x): a test at that rate"
            ),
            "{said}"
        );
        assert!(limited(&on("vdb"), &[reads]).is_empty());
        let cpu = |millis| know(&quiet(), &[limit(LimitKind::CpuMillis, millis, None)]).join("|");
        assert!(cpu(1500).contains("limited to the time of 1.5 processors (io.max") && cpu(4000).is_empty());
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
            MachineNow { stalled: Some(stalled), ..quiet() }
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
        let source = "check the kernel's clock source";
        let own = "at a quieter time, or on a machine with dedicated processors";
        let cases: [(MachineNow, &str, &str, &str); 8] = [
            (host(|h| h.steal_percent = Some(7.5)), "7.5 % just now, 0.4 % since boot", "steal", own),
            (
                MachineNow { steal_since_boot_percent: Some(3.0), ..quiet() },
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
            (stalled(|s| s.memory_full_percent = 1.0), "all tasks for 1 %", "memory-pressure", "free memory"),
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
                "Reading the clock takes 1,200 ns, twice per I/O, because the kernel's clock source is hpet, not \
                 tsc: check",
                "unstable-clock",
                source,
            ),
            (
                host(|h| h.governors = vec!["performance".into(), "powersave".into()]),
                "The frequency governor is powersave: some latencies include the time that a processor takes",
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
        let cure = "stop the other programs that use the disks (iotop and pidstat -d show them)";
        let busy = MachineNow { disks: vec![disk(MIB, 0)], ..quiet() };
        assert!(
            other.advice.contains(cure)
                && other_io(&on("vda"), &busy).is_some_and(|said| said.contains(cure))
        );
    }
}

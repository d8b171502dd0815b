//! What is said of a machine before a run.

use super::*;
use crate::inspect::{FreeSpace, of_machine, of_target};
use truespd_core::result::{Limit, LimitKind, MachineNow, Stalled};

const MIB: u64 = 1 << 20;

fn know(machine: &MachineNow, limits: &[Limit]) -> Vec<String> {
    of_machine(machine, limits)
}

/// What is said of a target, of the sentences that begin so.
fn of_target_beginning(
    facts: &TargetFacts,
    machine: &MachineNow,
    limits: &[Limit],
    begin: &str,
) -> Vec<String> {
    let room = FreeSpace { free_bytes: 1 << 40, is_read_only: false };
    let told = of_target(facts, Some(room), machine, limits).sentences;
    told.into_iter().filter(|says| says.starts_with(begin)).collect()
}

fn other_io(facts: &TargetFacts, machine: &MachineNow) -> Option<String> {
    of_target_beginning(facts, machine, &[], "Other programs").into_iter().next()
}

fn limited(facts: &TargetFacts, limits: &[Limit]) -> Vec<String> {
    of_target_beginning(facts, &quiet(), limits, "This process is limited")
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
    let machine = MachineNow { disks: (0..7).map(|n| named(n, u64::from(n) * MIB / 5)).collect(), ..quiet() };
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
    let cached = |limits: &[Limit]| {
        let facts = TargetFacts { size_bytes: 2 << 30, direct_alignment_bytes: Some(512), ..on("vda") };
        of_target_beginning(&facts, &quiet(), limits, "The ").join("|")
    };
    assert!(cached(&[]).contains("fits into the memory of this machine (8 GiB)"), "{}", cached(&[]));
    assert!(!cached(&[limit(LimitKind::MemoryBytes, MIB, None)]).contains("fits into the memory"));
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
        (stalled(|s| s.memory_some_percent = 5.0), "for memory for 5 %", "memory-pressure", "free memory"),
        (stalled(|s| s.memory_full_percent = 1.0), "all tasks for 1 %", "memory-pressure", "free memory"),
        (stalled(|s| s.cpu_some_percent = 88.0), "for a processor for 88 %", "generator-bound", "processors"),
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
        let rule = crate::causes().find(|cause| cause.name == rule).expect(rule);
        // A sentence of its own begins with a capital.
        let said = said[0].to_lowercase();
        let is_processors = cure == "processors" && said.contains("processor");
        assert!(rule.advice.contains(cure) && (said.contains(cure) || is_processors), "{cure}: {said}");
    }
    let other = crate::causes().find(|cause| cause.name == "other-io").expect("other-io");
    let cure = "stop the other programs that use the disks (iotop and pidstat -d show them)";
    let busy = MachineNow { disks: vec![disk(MIB, 0)], ..quiet() };
    assert!(
        other.advice.contains(cure) && other_io(&on("vda"), &busy).is_some_and(|said| said.contains(cure))
    );
}

//! The lines about the machine.

use truespd_core::result::MachineNow;
use truespd_core::text::{grouped, part_percent as percent, size};
use truespd_core::verdict::inspect::{names, rates};

/// Named facts, one line each where the width allows.
pub(super) fn lines(machine: &MachineNow) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Processors", processors(machine))];
    if !machine.host.governors.is_empty() {
        lines.push(("Governor", machine.host.governors.join(", ")));
    }
    lines.extend(memory(machine).map(|words| ("Memory", words)));
    let (idle, used): (Vec<_>, Vec<_>) = machine.disks.iter().partition(|disk| disk.is_idle());
    for disk in used {
        lines.push(("Disk", format!("{} {} by others", disk.name, rates(&[disk]).join(", "))));
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

fn processors(machine: &MachineNow) -> String {
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

fn memory(machine: &MachineNow) -> Option<String> {
    let total = size(machine.memory_bytes?);
    let available = machine.host.memory_available_bytes;
    Some(available.map_or(total.clone(), |bytes| format!("{} of {total} available", size(bytes))))
}

/// Name, why that one, and how long reading it takes.
fn clock_words(machine: &MachineNow) -> String {
    let clock = &machine.clock;
    let why = match &clock.why_not_counter {
        None => "constant rate, and the kernel's clock source".to_string(),
        Some(why) => why.clone(),
    };
    format!("{}: {why}; reading it takes {:.0} ns", clock.name, clock.stamp_cost_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::{DiskActivity, DiskCounts};

    fn disk(name: &str, read_bytes: u64) -> DiskActivity {
        let total = DiskCounts { read_bytes, ..DiskCounts::default() };
        DiskActivity { name: name.into(), window_ns: 200_000_000, total, ..DiskActivity::default() }
    }

    #[test]
    fn a_quiet_machine() {
        let lines: Vec<String> =
            lines(&MachineNow::quiet()).iter().map(|(name, words)| format!("{name}: {words}")).collect();
        assert_eq!(
            lines,
            [
                "Processors: 4, 13 % busy, 0.4 % stolen since boot",
                "Memory: 6 GiB of 8 GiB available",
                "Disk: vda idle",
                "Tasks waited: for processors 2 %, I/O 60 %, memory 0 % of the last 10 s",
                "Clock: TSC: constant rate, and the kernel's clock source; reading it takes 15 ns",
            ]
        );
    }

    #[test]
    fn disks_that_others_use() {
        let lines_of = |disks| lines(&MachineNow { disks, ..MachineNow::quiet() });
        let one = lines_of(vec![disk("vda", 4096)]);
        assert!(one.contains(&("Disk", "vda read at 20 KiB/s by others".to_string())), "{one:?}");
        let many = lines_of((0..7).map(|n| disk(&format!("sd{n}"), n << 20)).collect());
        let disks = many.into_iter().filter(|(name, _)| *name == "Disk").count();
        assert_eq!(disks, 7, "one line for each that is used, and one for the rest");
    }
}

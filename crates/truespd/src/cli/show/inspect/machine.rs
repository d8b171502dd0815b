//! The lines about the machine.

use truespd_core::result::{HardwareQueue, MachineNow};
use truespd_platform::text::{grouped, part_percent as percent, size};
use truespd_verdict::inspect::{names, rates};

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

/// More queues than this are told together.
const QUEUES_MAX: usize = 4;

/// A line for each queue; of many, one for those that are as they should be and one for each other, up to a
/// few. None when it is of no queue known who answers.
pub(super) fn queue_words(queues: &[HardwareQueue]) -> Vec<String> {
    if queues.iter().all(|queue| queue.irq.is_none()) {
        return Vec::new();
    }
    if queues.len() <= QUEUES_MAX {
        return queues.iter().map(line).collect();
    }
    let (own, others): (Vec<&HardwareQueue>, Vec<&HardwareQueue>) = queues
        .iter()
        .partition(|queue| !queue.answered_by.is_empty() && queue.processors.holds(&queue.answered_by));
    let mut lines = vec![format!(
        "{} hardware queues, {} with interrupts answered by a processor that uses the queue",
        grouped(queues.len() as u64),
        if others.is_empty() {
            "each".to_string()
        } else {
            format!("{} of them each", grouped(own.len() as u64))
        }
    )];
    lines.extend(others.iter().take(QUEUES_MAX).map(|queue| line(queue)));
    if let Some(more) = others.len().checked_sub(QUEUES_MAX).filter(|&more| more > 0) {
        lines.push(format!("and {} more such queues", grouped(more as u64)));
    }
    lines
}

/// `queue 0: processors 0-1, interrupts answered by processor 1 (irq 27)`.
fn line(queue: &HardwareQueue) -> String {
    let processors = if queue.processors.is_empty() {
        "no processor that is online".to_string()
    } else {
        queue.processors.words()
    };
    let answered = match (queue.irq, queue.answered_by.is_empty()) {
        (Some(irq), false) => {
            format!("interrupts answered by {} (irq {irq})", queue.answered_by.words())
        }
        _ => "no interrupt is known (a queue for polling has none)".to_string(),
    };
    format!("queue {}: {processors}, {answered}", queue.number)
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

#[cfg(test)]
mod tests_processors {
    use super::*;
    use truespd_core::result::CpuSet;

    fn queue(number: u32, processors: &[u32], by: &[u32]) -> HardwareQueue {
        HardwareQueue {
            number,
            processors: CpuSet::new(processors.to_vec()),
            irq: by.first().map(|_| 30 + number),
            answered_by: CpuSet::new(by.to_vec()),
        }
    }

    #[test]
    fn few_queues_are_told_one_by_one() {
        let told = queue_words(&[queue(0, &[0, 1], &[1]), queue(1, &[2], &[]), queue(2, &[], &[0])]);
        let expected = [
            "queue 0: processors 0-1, interrupts answered by processor 1 (irq 30)",
            "queue 1: processor 2, no interrupt is known (a queue for polling has none)",
            "queue 2: no processor that is online, interrupts answered by processor 0 (irq 32)",
        ];
        assert_eq!(told, expected);
        assert_eq!(queue_words(&[]), [""; 0]);
    }

    #[test]
    fn many_queues_are_told_together_but_for_those_that_differ() {
        let mut queues: Vec<HardwareQueue> = (0..8).map(|i| queue(i, &[i], &[i])).collect();
        let all = "8 hardware queues, each with interrupts answered by a processor that uses the queue";
        assert_eq!(queue_words(&queues), [all]);
        queues[3] = queue(3, &[3], &[0]);
        let told = queue_words(&queues);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("8 hardware queues, 7 of them"), "{told:?}");
        assert_eq!(told[1], "queue 3: processor 3, interrupts answered by processor 0 (irq 33)");
        let mut polled: Vec<HardwareQueue> = (0..9).map(|i| queue(i, &[i], &[])).collect();
        assert_eq!(queue_words(&polled), [""; 0], "nothing is known");
        polled[0] = queue(0, &[0], &[0]);
        let told = queue_words(&polled);
        assert!(told[0].starts_with("9 hardware queues, 1 of them each with"), "{told:?}");
        assert_eq!(told.last().map(String::as_str), Some("and 4 more such queues"));
    }
}

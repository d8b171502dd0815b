//! Processor order for pinning threads (`command-line.md` §5.3 and §14, `io-semantics.md` §17).

use super::Refusal;
use crate::os::topology::{Processor, Topology};
use crate::profile::{EfficiencyOrder, Placement, TimeSpan};

/// Kernel CPU ids in the order threads are pinned to, round robin; empty when threads float (`-n`).
///
/// `allowed` is what the kernel lets this process use; containers restrict it.
///
/// # Errors
/// A listed processor or group is not there or not allowed, or the placement leaves none.
pub fn processor_order(span: &TimeSpan, topology: &Topology, allowed: &[u32]) -> Result<Vec<u32>, Refusal> {
    if span.disable_affinity {
        return Ok(Vec::new());
    }
    let usable: Vec<Processor> =
        topology.processors.iter().copied().filter(|p| allowed.contains(&p.cpu)).collect();
    if !span.affinity.is_empty() {
        return explicit(span, topology, allowed);
    }
    let order = placed(&usable, span.placement, topology.efficiency_class_max());
    if order.is_empty() {
        return Err(Refusal::machine(
            &["-a"],
            None,
            format!("no processor of the wanted kind is allowed to this process; allowed: {}", list(allowed)),
        ));
    }
    Ok(order)
}

fn explicit(span: &TimeSpan, topology: &Topology, allowed: &[u32]) -> Result<Vec<u32>, Refusal> {
    let mut cpus = Vec::new();
    for id in &span.affinity {
        let cpu = id.cpu();
        if allowed.contains(&cpu) {
            cpus.push(cpu);
            continue;
        }
        let why = if id.group >= topology.groups && id.group > 0 {
            format!(
                "group {} does not exist: this machine has {} group(s) of up to 64",
                id.group, topology.groups
            )
        } else if topology.processors.iter().any(|p| p.cpu == cpu) {
            "it is online but not allowed to this process (taskset, cpuset or container limit)".to_string()
        } else {
            "there is no such processor online".to_string()
        };
        return Err(Refusal::machine(
            &["-a"],
            None,
            format!(
                "cannot pin a thread to group {} processor {} (CPU {cpu}): {why}; allowed CPUs: {}",
                id.group,
                id.processor,
                list(allowed)
            ),
        ));
    }
    Ok(cpus)
}

/// Ascending CPU numbers as ranges: `0-3,8`.
fn list(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let words: Vec<String> =
        parts.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    words.join(",")
}

fn placed(usable: &[Processor], placement: Placement, class_max: u32) -> Vec<u32> {
    let class_min = usable.iter().map(|p| p.efficiency_class).min().unwrap_or(0);
    let wanted = |p: &&Processor| match placement.efficiency {
        EfficiencyOrder::PerformanceOnly => p.efficiency_class == class_max,
        EfficiencyOrder::EfficiencyOnly => p.efficiency_class == class_min,
        _ => true,
    };
    let class_rank = |p: &Processor| match placement.efficiency {
        EfficiencyOrder::PerformanceFirst => class_max - p.efficiency_class,
        EfficiencyOrder::EfficiencyFirst => p.efficiency_class,
        _ => 0,
    };
    // Which sibling of its core a processor is: 0 for the first.
    let sibling_rank = |p: &Processor| match placement.cores_first {
        true => usable.iter().filter(|q| (q.group, q.core) == (p.group, p.core) && q.cpu < p.cpu).count(),
        false => 0,
    };
    let mut keyed: Vec<_> =
        usable.iter().filter(wanted).map(|p| (p.group, class_rank(p), sibling_rank(p), p.cpu)).collect();
    keyed.sort_unstable();
    if !placement.span_groups {
        return keyed.into_iter().map(|(.., cpu)| cpu).collect();
    }
    // Round the groups: the n-th of every group before the (n+1)-th of any.
    let mut ranked: Vec<(usize, u32, u32)> = Vec::new();
    for (i, &(group, .., cpu)) in keyed.iter().enumerate() {
        let first = keyed.iter().position(|k| k.0 == group).unwrap_or(0);
        ranked.push((i - first, group, cpu));
    }
    ranked.sort_unstable();
    ranked.into_iter().map(|(.., cpu)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProcessorId;

    /// Two groups of four logical processors each, SMT pairs (0,1) (2,3); group 1 slow cores.
    fn topology() -> Topology {
        let processor = |group: u32, number: u32| Processor {
            cpu: group * 64 + number,
            group,
            number,
            core: number / 2,
            physical_core: group * 2 + number / 2,
            socket: group,
            node: group,
            efficiency_class: 1 - group,
        };
        Topology {
            processors: (0..2).flat_map(|g| (0..4).map(move |n| processor(g, n))).collect(),
            nodes: 2,
            sockets: 2,
            groups: 2,
        }
    }

    fn order(placement: Placement) -> Vec<u32> {
        let topology = topology();
        let allowed: Vec<u32> = topology.processors.iter().map(|p| p.cpu).collect();
        let span = TimeSpan { placement, ..TimeSpan::default() };
        processor_order(&span, &topology, &allowed).unwrap()
    }

    #[test]
    fn default_is_ascending_numbers_group_by_group() {
        assert_eq!(order(Placement::default()), [0, 1, 2, 3, 64, 65, 66, 67]);
    }

    #[test]
    fn cores_first_uses_second_siblings_last() {
        let placement = Placement { cores_first: true, ..Placement::default() };
        assert_eq!(order(placement), [0, 2, 1, 3, 64, 66, 65, 67]);
    }

    #[test]
    fn spanning_goes_round_the_groups() {
        let placement = Placement { cores_first: true, span_groups: true, ..Placement::default() };
        assert_eq!(order(placement), [0, 64, 2, 66, 1, 65, 3, 67]);
    }

    #[test]
    fn efficiency_classes_order_and_restrict() {
        let with = |efficiency| order(Placement { efficiency, ..Placement::default() });
        assert_eq!(with(EfficiencyOrder::PerformanceOnly), [0, 1, 2, 3]);
        assert_eq!(with(EfficiencyOrder::EfficiencyOnly), [64, 65, 66, 67]);
        assert_eq!(with(EfficiencyOrder::EfficiencyFirst)[0], 0, "within a group only");
    }

    #[test]
    fn lists_are_checked_against_the_allowed_set() {
        let topology = topology();
        let span = |ids: &[(u32, u32)]| TimeSpan {
            affinity: ids.iter().map(|&(group, processor)| ProcessorId { group, processor }).collect(),
            ..TimeSpan::default()
        };
        let allowed = [0, 1, 64];
        let good = processor_order(&span(&[(1, 0), (0, 64), (0, 1)]), &topology, &allowed).unwrap();
        assert_eq!(good, [64, 64, 1], "group 1 processor 0 and Linux CPU 64 are the same");
        for (bad, words) in
            [((0, 2), "not allowed"), ((2, 0), "does not exist"), ((0, 9), "no such processor")]
        {
            let refusal = processor_order(&span(&[bad]), &topology, &allowed).unwrap_err();
            assert!(refusal.message.contains(words), "{}", refusal.message);
            assert!(refusal.message.contains("allowed CPUs: 0-1,64"), "{}", refusal.message);
        }
    }

    #[test]
    fn no_affinity_pins_nothing() {
        let span = TimeSpan { disable_affinity: true, ..TimeSpan::default() };
        assert!(processor_order(&span, &topology(), &[0]).unwrap().is_empty());
    }
}

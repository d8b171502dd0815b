//! Processor order for pinning threads (`command-line.md` §5.3, `release-2.3.md` §2, `io-semantics.md` §17).

use crate::profile::{AffinityItem, EfficiencyOrder, Placement, TimeSpan};
use truespd_platform::fault::Refusal;
use truespd_platform::machine::topology::{Processor, Topology};
use truespd_platform::sys::thread::ranges;

/// Kernel CPU ids in the order threads are pinned to, round robin; empty when threads float (`-n`).
///
/// `allowed` is what the kernel lets this process use; containers restrict it.
///
/// # Errors
/// A listed processor or group is not there or not allowed.
pub fn processor_order(span: &TimeSpan, topology: &Topology, allowed: &[u32]) -> Result<Vec<u32>, Refusal> {
    if span.disable_affinity {
        return Ok(Vec::new());
    }
    let usable: Vec<Processor> =
        topology.processors.iter().copied().filter(|p| allowed.contains(&p.cpu)).collect();
    let listed = if span.has_affinity_list() { listed(span, topology, &usable, allowed)? } else { usable };
    Ok(if span.placement.is_asked() { sorted(&listed, span.placement) } else { cpus(&listed) })
}

fn cpus(processors: &[Processor]) -> Vec<u32> {
    processors.iter().map(|p| p.cpu).collect()
}

/// The processors of the list as given: those of a whole group ascending.
fn listed(
    span: &TimeSpan,
    topology: &Topology,
    usable: &[Processor],
    allowed: &[u32],
) -> Result<Vec<Processor>, Refusal> {
    let mut listed = Vec::new();
    for item in span.affinity_items() {
        let id = match item {
            AffinityItem::Processor(id) => id,
            AffinityItem::WholeGroup(group) => {
                let before = listed.len();
                listed.extend(usable.iter().copied().filter(|p| p.group == group));
                if listed.len() == before {
                    return Err(no_group(group, topology, allowed));
                }
                continue;
            }
        };
        let cpu = id.cpu();
        if let Some(processor) = usable.iter().find(|p| p.cpu == cpu) {
            listed.push(*processor);
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
                ranges(allowed)
            ),
        ));
    }
    Ok(listed)
}

fn no_group(group: u32, topology: &Topology, allowed: &[u32]) -> Refusal {
    Refusal::machine(
        &["-a"],
        None,
        format!(
            "no processor of group {group} is online and allowed to this process: this machine has {} group(s) \
             of up to 64; allowed CPUs: {}",
            topology.groups,
            ranges(allowed)
        ),
    )
}

/// The processors in DiskSpd 2.3's order: groups one after the other unless they are spanned, then the core types and
/// the siblings of a core by the order that was asked for, then the list.
fn sorted(listed: &[Processor], placement: Placement) -> Vec<u32> {
    use EfficiencyOrder as Order;
    let mut keyed = Vec::new();
    for (place, p) in listed.iter().enumerate() {
        // How many processors of the same core stand before it.
        let mut pass = 0;
        if placement.cores_first {
            pass = listed[..place].iter().filter(|q| q.physical_core == p.physical_core).count();
        }
        let (ascending, descending) = (i64::from(p.efficiency_class), -i64::from(p.efficiency_class));
        let pass = pass as i64;
        let order = match placement.efficiency_in_effect() {
            Order::Unset | Order::Unordered => [pass, 0],
            Order::PerformanceFirst => [pass, descending],
            Order::EfficiencyFirst => [pass, ascending],
            Order::FillPerformanceFirst => [descending, pass],
            Order::FillEfficiencyFirst => [ascending, pass],
        };
        let filled = if placement.span_groups { 0 } else { p.group };
        keyed.push((filled, order, p.group, place, p.cpu));
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(.., cpu)| cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{ProcessorId, WholeGroup};

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
            cpus_possible: None,
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
    fn spanning_takes_a_core_of_every_group_before_any_sibling() {
        let placement = Placement { cores_first: true, span_groups: true, ..Placement::default() };
        assert_eq!(order(placement), [0, 2, 64, 66, 1, 3, 65, 67]);
    }

    #[test]
    fn efficiency_classes_order_within_groups() {
        let mut topology = topology();
        topology.processors.iter_mut().for_each(|p| p.efficiency_class = u32::from(p.number >= 2));
        let allowed: Vec<u32> = topology.processors.iter().map(|p| p.cpu).collect();
        let with = |efficiency| {
            let placement = Placement { efficiency, ..Placement::default() };
            processor_order(&TimeSpan { placement, ..TimeSpan::default() }, &topology, &allowed).unwrap()
        };
        assert_eq!(with(EfficiencyOrder::PerformanceFirst), [2, 3, 0, 1, 66, 67, 64, 65]);
        assert_eq!(with(EfficiencyOrder::EfficiencyFirst), [0, 1, 2, 3, 64, 65, 66, 67]);
        assert_eq!(with(EfficiencyOrder::FillPerformanceFirst), [2, 3, 0, 1, 66, 67, 64, 65]);
        assert_eq!(with(EfficiencyOrder::FillEfficiencyFirst), [0, 1, 2, 3, 64, 65, 66, 67]);
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
    fn a_whole_group_stands_for_its_usable_processors() {
        let topology = topology();
        let span = |group| TimeSpan {
            affinity: vec![ProcessorId { group: 0, processor: 3 }],
            affinity_groups: vec![WholeGroup { group, position: 1 }],
            ..TimeSpan::default()
        };
        assert_eq!(processor_order(&span(1), &topology, &[3, 64, 66]).unwrap(), [3, 64, 66]);
        assert!(processor_order(&span(2), &topology, &[3, 64]).unwrap_err().message.contains("group 2"));
    }

    #[test]
    fn no_affinity_pins_nothing() {
        let span = TimeSpan { disable_affinity: true, ..TimeSpan::default() };
        assert!(processor_order(&span, &topology(), &[0]).unwrap().is_empty());
    }
}

//! Figures that follow from a result, beside it in every JSON document so that a reader needs no
//! histogram library for the usual questions. Never read back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::LatencySummary;
use super::{Direction, Measured, OfSize};
use truespd_platform::machine::topology::Topology;

/// Totals of one time span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Measured time in seconds.
    pub test_time_s: f64,
    /// Mean use over all processors in percent, user and kernel.
    pub cpu_usage_percent: f64,
    /// Reads and writes.
    pub total: DirectionSummary,
    /// Reads.
    pub read: DirectionSummary,
    /// Writes.
    pub write: DirectionSummary,
    /// Flushes between writes (`--flush-every`), where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<DirectionSummary>,
    /// Trims (`--trim`) with the bytes that they covered, where there were any; no part of the sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionSummary>,
    /// A row for each memory node, by its number; none on machines with one node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSummary>,
}

/// What the threads on the processors of one memory node did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeSummary {
    /// Number of the node, the kernel's.
    pub node: u32,
    /// Processors of the node.
    pub processors: u32,
    /// Their mean use in percent, user and kernel.
    pub cpu_usage_percent: f64,
    /// Threads that were bound to one of them. Those that were bound to none (`-n`) are in no row.
    pub threads: u32,
    /// Pages of these threads' own buffers that were looked at.
    pub buffer_pages_seen: u64,
    /// Pages among them that lie on another node.
    pub buffer_pages_elsewhere: u64,
    /// Reads and writes of these threads.
    pub total: DirectionSummary,
}

/// Totals of reads, writes or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSummary {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Latencies, when measured and there was I/O.
    pub latency: Option<LatencySummary>,
    /// Latencies from the intended start, of the I/Os on targets with a rate (`-g`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencySummary>,
    /// The same for each size of a mix (`--mix`), ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeSummary>,
}

/// What the I/Os of one size of a mix did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeSummary {
    /// Size of these I/Os in bytes.
    pub block_bytes: u64,
    /// How many of them completed.
    pub ios: u64,
    /// Their share of all I/Os, in percent.
    pub ios_percent: f64,
    /// Bytes that they transferred in all.
    pub bytes: u64,
    /// Their share of all bytes, in percent.
    pub bytes_percent: f64,
    /// Bytes of them per second.
    pub bytes_per_s: f64,
    /// How many of them per second.
    pub iops: f64,
    /// Latencies, when measured and there was I/O.
    pub latency: Option<LatencySummary>,
}

impl SizeSummary {
    fn of(size: &OfSize, sum: &Direction, test_time_s: f64) -> Self {
        SizeSummary {
            block_bytes: size.block_bytes,
            ios: size.ios,
            ios_percent: percent(size.ios, sum.ios),
            bytes: size.bytes,
            bytes_percent: percent(size.bytes, sum.bytes),
            bytes_per_s: rate(size.bytes, test_time_s),
            iops: rate(size.ios, test_time_s),
            latency: size.latency.as_deref().and_then(LatencySummary::of),
        }
    }
}

fn percent(part: u64, all: u64) -> f64 {
    if all > 0 { part as f64 * 100.0 / all as f64 } else { 0.0 }
}

impl DirectionSummary {
    /// Of reads, writes or both over `test_time_s`.
    pub fn of(sum: &Direction, test_time_s: f64) -> Self {
        DirectionSummary {
            bytes: sum.bytes,
            ios: sum.ios,
            bytes_per_s: rate(sum.bytes, test_time_s),
            iops: rate(sum.ios, test_time_s),
            latency: sum.latency.as_deref().and_then(LatencySummary::of),
            response: sum.response.as_deref().and_then(LatencySummary::of),
            sizes: sum.sizes.iter().map(|size| SizeSummary::of(size, sum, test_time_s)).collect(),
        }
    }
}

/// Nothing may become NaN or infinite: JSON has neither.
fn rate(count: u64, test_time_s: f64) -> f64 {
    if test_time_s > 0.0 { count as f64 / test_time_s } else { 0.0 }
}

impl Summary {
    /// Of a measured time span.
    pub fn of(measured: &Measured) -> Self {
        let (mut read, mut write) = (Direction::default(), Direction::default());
        let (mut flush, mut trim): (Option<Direction>, Option<Direction>) = (None, None);
        for target in measured.targets() {
            if let Some(flushes) = &target.flush {
                flush.get_or_insert_default().add_totals(flushes);
            }
            if let Some(trims) = &target.trim {
                trim.get_or_insert_default().add_totals(trims);
            }
            read.add_totals(&target.read);
            write.add_totals(&target.write);
        }
        let usage: f64 = measured.cpu.iter().map(super::CpuUse::usage).sum();
        let [read_summary, write_summary] =
            [&read, &write].map(|sum| DirectionSummary::of(sum, measured.test_time_s));
        read.add_totals(&write);
        Summary {
            test_time_s: measured.test_time_s,
            cpu_usage_percent: usage / measured.cpu.len().max(1) as f64,
            total: DirectionSummary::of(&read, measured.test_time_s),
            read: read_summary,
            write: write_summary,
            flush: flush.map(|sum| DirectionSummary::of(&sum, measured.test_time_s)),
            trim: trim.map(|sum| DirectionSummary::of(&sum, measured.test_time_s)),
            nodes: Vec::new(),
        }
    }

    /// The same with a row for each memory node of the machine, where it has several.
    pub fn with_nodes(measured: &Measured, topology: &Topology) -> Self {
        Summary { nodes: nodes(measured, topology), ..Summary::of(measured) }
    }
}

fn nodes(measured: &Measured, topology: &Topology) -> Vec<NodeSummary> {
    let all: BTreeSet<u32> = topology.processors.iter().map(|processor| processor.node).collect();
    // Sums of several machines have no threads on nodes.
    if all.len() < 2 || measured.evidence.bound_threads.is_empty() {
        return Vec::new();
    }
    all.into_iter().map(|node| of_node(node, measured, topology)).collect()
}

fn of_node(node: u32, measured: &Measured, topology: &Topology) -> NodeSummary {
    let uses = topology.processors.iter().zip(&measured.cpu);
    let uses: Vec<f64> = uses.filter(|(one, _)| one.node == node).map(|(_, used)| used.usage()).collect();
    let bound: Vec<_> = measured.evidence.bound_threads.iter().filter(|one| one.node == node).collect();
    let mut total = Direction::default();
    let ids: BTreeSet<u32> = bound.iter().map(|one| one.id).collect();
    for thread in measured.threads.iter().filter(|thread| ids.contains(&thread.id)) {
        for target in &thread.targets {
            total.add_totals(&target.read);
            total.add_totals(&target.write);
        }
    }
    NodeSummary {
        node,
        processors: uses.len() as u32,
        cpu_usage_percent: uses.iter().sum::<f64>() / uses.len().max(1) as f64,
        threads: bound.len() as u32,
        buffer_pages_seen: bound.iter().filter_map(|one| one.buffer_pages_seen).sum(),
        buffer_pages_elsewhere: bound.iter().filter_map(|one| one.buffer_pages_elsewhere).sum(),
        total: DirectionSummary::of(&total, measured.test_time_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{BoundThread, CpuUse, Evidence, TargetResult, ThreadResult, WaitStatistics};
    use truespd_platform::machine::topology::Processor;

    fn processor(cpu: u32, node: u32) -> Processor {
        Processor {
            cpu,
            group: 0,
            number: cpu,
            core: cpu,
            physical_core: cpu,
            socket: node,
            node,
            efficiency_class: 0,
        }
    }

    fn thread(id: u32, ios: u64) -> ThreadResult {
        let target = TargetResult {
            path: "f".into(),
            size_bytes: 1 << 20,
            read: Direction { bytes: ios * 4096, ios, ..Direction::default() },
            write: Direction::default(),
            distribution: None,
            short_transfers: 0,
            ..TargetResult::default()
        };
        ThreadResult { id, source: None, targets: vec![target], waits: WaitStatistics::default() }
    }

    fn bound(id: u32, processor: u32, node: u32, elsewhere: u64) -> BoundThread {
        let (seen, elsewhere) = (Some(16), Some(elsewhere));
        BoundThread { id, processor, node, buffer_pages_seen: seen, buffer_pages_elsewhere: elsewhere }
    }

    /// Processors 0 and 1 on node 0, 2 and 3 on node 2; node numbers need not follow each other.
    fn two_nodes() -> (Measured, Topology) {
        let processors = [(0, 0), (1, 0), (2, 2), (3, 2)].map(|(cpu, node)| processor(cpu, node));
        let topology = Topology { processors: processors.into(), nodes: 2, ..Topology::default() };
        let cpu = [10.0, 20.0, 30.0, 50.0].map(|kernel| CpuUse { user: 0.0, kernel, idle: 100.0 - kernel });
        let evidence = Evidence {
            bound_threads: vec![bound(0, 0, 0, 0), bound(1, 2, 2, 5), bound(2, 3, 2, 0)],
            ..Evidence::default()
        };
        let measured = Measured {
            test_time_s: 2.0,
            cpu: cpu.into(),
            // Thread 3 is bound to nothing.
            threads: vec![thread(0, 100), thread(1, 10), thread(2, 20), thread(3, 1000)],
            evidence,
            ..Measured::default()
        };
        (measured, topology)
    }

    #[test]
    fn a_node_has_the_threads_of_its_processors() {
        let (measured, topology) = two_nodes();
        let summary = Summary::with_nodes(&measured, &topology);
        assert_eq!(summary.total.ios, 1130);
        let rows = summary.nodes.iter().map(|row| (row.node, row.processors, row.threads, row.total.ios));
        assert_eq!(rows.collect::<Vec<_>>(), [(0, 2, 1, 100), (2, 2, 2, 30)]);
        let [first, second] = &summary.nodes[..] else { panic!("{:?}", summary.nodes) };
        assert_eq!((first.cpu_usage_percent, second.cpu_usage_percent), (15.0, 40.0));
        assert_eq!((second.total.iops, second.total.bytes), (15.0, 30 * 4096));
        let pages = |row: &NodeSummary| (row.buffer_pages_seen, row.buffer_pages_elsewhere);
        assert_eq!((pages(first), pages(second)), ((16, 0), (32, 5)));
    }

    #[test]
    fn one_node_and_threads_that_nobody_bound_have_no_rows() {
        let (mut measured, mut topology) = two_nodes();
        topology.processors.truncate(2);
        assert_eq!(Summary::with_nodes(&measured, &topology).nodes, []);
        let (_, topology) = two_nodes();
        measured.evidence.bound_threads.clear();
        assert_eq!(Summary::with_nodes(&measured, &topology).nodes, []);
    }
}

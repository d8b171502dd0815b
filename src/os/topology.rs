//! Processor topology from sysfs, in DiskSpd's terms.

/// Processors of the machine, in DiskSpd's terms (`text-output.md` §5 and §7).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// Online logical processors, ascending kernel id.
    pub processors: Vec<Processor>,
    /// NUMA nodes, at least one.
    pub nodes: u32,
    /// Sockets, at least one.
    pub sockets: u32,
    /// Processor groups: sets of 64 kernel ids, at least one.
    pub groups: u32,
}

/// One online logical processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// Kernel CPU id.
    pub cpu: u32,
    /// Group: `cpu / 64`.
    pub group: u32,
    /// Number within the group: `cpu % 64`.
    pub number: u32,
    /// Physical core, numbered from 0 within its group.
    pub core: u32,
    /// Socket, from 0.
    pub socket: u32,
    /// NUMA node.
    pub node: u32,
    /// Efficiency class: 0 least performing; all 0 on machines with one kind of core.
    pub efficiency_class: u32,
}

impl Topology {
    /// Physical cores.
    pub fn cores(&self) -> u32 {
        let mut cores: Vec<_> = self.processors.iter().map(|p| (p.group, p.core)).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len() as u32
    }

    /// Highest efficiency class; above 0 the machine has cores of several kinds.
    pub fn efficiency_class_max(&self) -> u32 {
        self.processors.iter().map(|p| p.efficiency_class).max().unwrap_or(0)
    }

    /// Some core has more than one logical processor.
    pub fn has_smt(&self) -> bool {
        (self.cores() as usize) < self.processors.len()
    }
}

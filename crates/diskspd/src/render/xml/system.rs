//! The machine (`xml.md` §2.2).

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use super::super::utc::utc;
use truespd_core::profile::xml::Writer;
use truespd_core::result::System;

/// The version whose results these are; consumers ask for at least 2.1.
const VERSION: &str = "2.2.0";
const VERSION_DATE: &str = "2024/6/3";

/// Processors of a group as a bit each.
#[derive(Default)]
struct Mask(u64);

impl Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Mask {
    fn add(&mut self, number: u32) {
        self.0 |= 1u64.checked_shl(number).unwrap_or(0);
    }
}

pub(super) fn system(out: &mut Writer, system: &System) {
    out.open("System", &[]);
    out.leaf("ComputerName", &system.computer_name);
    out.open("Tool", &[]);
    out.leaf("Version", VERSION);
    out.leaf("VersionDate", VERSION_DATE);
    out.close("Tool");
    out.leaf("RunTime", system.start_unix_s.map(utc).unwrap_or_default());
    // Linux has governors instead of schemes, and they have no identifier.
    out.empty("PowerScheme", &[("Name", &system.power_scheme), ("Guid", &"")]);
    topology(out, system);
    out.close("System");
}

fn topology(out: &mut Writer, system: &System) {
    let topology = &system.topology;
    let is_heterogeneous = topology.efficiency_class_max() > 0;
    out.open("ProcessorTopology", &[("Heterogeneous", &is_heterogeneous)]);
    groups(out, system);
    let processors = || topology.processors.iter();
    sets(out, "Node", processors().map(|p| (p.node, p.group, p.number)));
    sets(out, "Socket", processors().map(|p| (p.socket, p.group, p.number)));
    cores(out, system);
    out.close("ProcessorTopology");
}

/// Every processor group.
fn groups(out: &mut Writer, system: &System) {
    for group in 0..system.topology.groups {
        let mut mask = Mask::default();
        system.topology.processors.iter().filter(|p| p.group == group).for_each(|p| mask.add(p.number));
        let attributes: [(&str, &dyn Display); 4] = [
            ("Group", &group),
            ("MaximumProcessors", &system.topology.maximum_of_group(group)),
            ("ActiveProcessors", &mask.0.count_ones()),
            ("ActiveProcessorMask", &mask),
        ];
        out.empty("Group", &attributes);
    }
}

/// The nodes or sockets, each with a mask per group. A place is set, group and number of a processor.
fn sets(out: &mut Writer, name: &'static str, places: impl Iterator<Item = (u32, u32, u32)>) {
    let mut sets: BTreeMap<u32, BTreeMap<u32, Mask>> = BTreeMap::new();
    for (set, group, number) in places {
        sets.entry(set).or_default().entry(group).or_default().add(number);
    }
    for (set, masks) in &sets {
        out.open(name, &[(name, set)]);
        for (group, mask) in masks {
            out.empty("Group", &[("Group", group), ("Mask", mask)]);
        }
        out.close(name);
    }
}

/// The cores by group and number. One whose siblings are in two groups stands in both.
fn cores(out: &mut Writer, system: &System) {
    let mut cores: BTreeMap<(u32, u32), (Mask, u32)> = BTreeMap::new();
    for processor in &system.topology.processors {
        let place = (processor.group, processor.core);
        cores.entry(place).or_insert((Mask::default(), processor.efficiency_class)).0.add(processor.number);
    }
    for ((group, core), (mask, class)) in &cores {
        out.empty("Core", &[("Group", group), ("Core", core), ("Mask", mask), ("EfficiencyClass", class)]);
    }
}

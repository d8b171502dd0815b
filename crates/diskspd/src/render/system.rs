//! The machine as text: the block that `-Rs` prints and every text result holds (`text-output.md` §5,
//! `release-2.3.md` §5.3).

use std::collections::BTreeMap;
use std::fmt::Display;

use super::figures::{line, utc};
use super::layout::size;
use super::parameters::OneLine;
use truespd_core::profile::masks::{joined, mask_words, ranges};
use truespd_core::profile::{GroupMask, ProcessorId, Release};
use truespd_core::result::System;
use truespd_platform::machine::processor_caches::{FULLY_ASSOCIATIVE, ProcessorCache, ProcessorCacheKind};
use truespd_platform::machine::topology::{Processor, Topology};

/// The system information block in the form of a release.
pub fn system_text(system: &System, release: Release) -> String {
    match release {
        Release::V2_2 => block_of_2_2(system),
        Release::V2_3 => block_of_2_3(system),
    }
}

fn block_of_2_2(system: &System) -> String {
    let out = &mut String::new();
    let topology = &system.topology;
    line!(out, "System information:");
    line!(out);
    line!(out, "\tcomputer name: {}", OneLine(&system.computer_name));
    line!(out, "\tstart time: {}", system.start_unix_s.map(utc).unwrap_or_default());
    line!(out);
    line!(out, "\tcpu count:\t\t{}", topology.processors.len());
    line!(out, "\tcore count:\t\t{}", topology.cores());
    line!(out, "\tgroup count:\t\t{}", topology.groups);
    line!(out, "\tnode count:\t\t{}", topology.nodes);
    line!(out, "\tsocket count:\t\t{}", topology.sockets);
    line!(out, "\theterogeneous cores:\t{}", if topology.efficiency_class_max() > 0 { 'y' } else { 'n' });
    line!(out);
    line!(out, "\tactive power scheme:\t{}", OneLine(&system.power_scheme));
    std::mem::take(out)
}

fn block_of_2_3(system: &System) -> String {
    let out = &mut String::new();
    let topology = &system.topology;
    line!(out, "System information:");
    line!(out);
    row(out, "computer name:", OneLine(&system.computer_name));
    row(out, "processor name:", OneLine(processor_name(system)));
    row(out, "start time:", system.start_unix_s.map(utc).unwrap_or_default());
    row(out, "active power scheme:", OneLine(&system.power_scheme));
    if let Some(page_bytes) = system.page_bytes {
        row(out, "page size:", size(page_bytes));
    }
    line!(out);
    row(out, "cpu count:", topology.processors.len());
    row(out, "core count:", topology.cores());
    row(out, "group count:", topology.groups);
    row(out, "node count:", topology.nodes);
    row(out, "socket count:", topology.sockets);
    row(out, "heterogeneous cores:", if topology.efficiency_class_max() > 0 { 'y' } else { 'n' });
    if !system.caches.is_empty() {
        caches(out, system);
    }
    std::mem::take(out)
}

fn row(out: &mut String, name: &str, value: impl Display) {
    line!(out, "  {name:<22}{value}");
}

/// The processor's name, or the word for none.
pub(super) fn processor_name(system: &System) -> &str {
    if system.processor_name.is_empty() { "<unknown>" } else { &system.processor_name }
}

fn caches(out: &mut String, system: &System) {
    let has_groups = system.topology.groups > 1;
    line!(out);
    line!(out, "  cache information:");
    line!(out);
    line!(out, "    Cache |   Size   | Line  | Assoc  | {}", if has_groups { "Group/CPU" } else { "CPU" });
    line!(out, "    {:-<1$}", "", if has_groups { 59 } else { 55 });
    for Row { cache, kind, masks, count } in rows(system) {
        let name = format!("L{}{}", cache.level, letter(cache.kind));
        let associativity = match cache.associativity {
            FULLY_ASSOCIATIVE => "full".to_string(),
            ways => format!("{ways}-way"),
        };
        line!(
            out,
            "    {name:<5} | {:>8} | {:>5} | {associativity:>6} | {}",
            size(cache.size_bytes),
            size(cache.line_bytes),
            places(kind, &masks, count, has_groups)
        );
    }
}

fn letter(kind: ProcessorCacheKind) -> &'static str {
    match kind {
        ProcessorCacheKind::Unified => "",
        ProcessorCacheKind::Instruction => "i",
        ProcessorCacheKind::Data => "d",
        ProcessorCacheKind::Trace => "t",
        ProcessorCacheKind::Unknown => "?",
    }
}

/// Whose a cache is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Group,
    Core,
    Cpu,
    Other,
}

/// A line of the table: a cache with those that are like it.
struct Row<'a> {
    cache: &'a ProcessorCache,
    kind: Owner,
    masks: Vec<GroupMask>,
    /// How many caches it tells of.
    count: usize,
}

fn rows(system: &System) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cache in &system.caches {
        let masks = masks_of(cache, &system.topology);
        let kind = owner(&masks, &system.topology);
        let alike = rows.iter_mut().find(|row| row.kind == kind && are_alike(row.cache, cache));
        match alike {
            Some(row) if kind != Owner::Other => {
                row.masks.extend(masks);
                row.count += 1;
            }
            _ => rows.push(Row { cache, kind, masks, count: 1 }),
        }
    }
    rows
}

fn are_alike(one: &ProcessorCache, other: &ProcessorCache) -> bool {
    let ProcessorCache { level, kind, associativity, line_bytes, size_bytes, processors: _ } = *other;
    (one.level, one.kind, one.associativity, one.line_bytes, one.size_bytes)
        == (level, kind, associativity, line_bytes, size_bytes)
}

/// The processors that share a cache, a mask for each group.
pub(super) fn masks_of(cache: &ProcessorCache, topology: &Topology) -> Vec<GroupMask> {
    let sharers = topology.processors.iter().filter(|processor| cache.processors.contains(processor.cpu));
    by_group(sharers.map(id))
}

/// How a processor is told.
pub(super) fn id(processor: &Processor) -> ProcessorId {
    ProcessorId { group: processor.group, processor: processor.number }
}

/// One mask for each group, groups ascending.
fn by_group(ids: impl Iterator<Item = ProcessorId>) -> Vec<GroupMask> {
    let mut groups: BTreeMap<u32, Vec<ProcessorId>> = BTreeMap::new();
    for id in ids {
        groups.entry(id.group).or_default().push(id);
    }
    groups.into_values().flat_map(joined_of_group).collect()
}

fn joined_of_group(mut ids: Vec<ProcessorId>) -> Vec<GroupMask> {
    ids.sort_unstable();
    joined(ids)
}

fn owner(masks: &[GroupMask], topology: &Topology) -> Owner {
    let [mask] = masks else { return Owner::Other };
    let of_group = topology.processors.iter().filter(|processor| processor.group == mask.group);
    if topology.groups > 1 && by_group(of_group.map(id)) == masks {
        return Owner::Group;
    }
    let first = topology.processors.iter().find(|p| p.group == mask.group && mask.mask >> p.number & 1 == 1);
    let Some(first) = first else { return Owner::Other };
    let of_core = topology
        .processors
        .iter()
        .filter(|p| p.group == first.group && p.physical_core == first.physical_core);
    if mask.mask.count_ones() > 1 && by_group(of_core.map(id)) == masks {
        return Owner::Core;
    }
    if mask.mask.count_ones() == 1 { Owner::Cpu } else { Owner::Other }
}

/// The last cell: processors, and what they have one each of.
fn places(kind: Owner, masks: &[GroupMask], count: usize, has_groups: bool) -> String {
    if count > 1 && kind == Owner::Group {
        return format!("{} (per group)", ranges(masks.iter().map(|mask| mask.group)));
    }
    let mut united: BTreeMap<u32, u64> = BTreeMap::new();
    for mask in masks {
        *united.entry(mask.group).or_default() |= mask.mask;
    }
    let united: Vec<GroupMask> = united.into_iter().map(|(group, mask)| GroupMask { group, mask }).collect();
    let words = mask_words(&united, has_groups);
    match kind {
        Owner::Core if count > 1 => format!("{words} (per core)"),
        Owner::Cpu if count > 1 => format!("{words} (per cpu)"),
        _ => words,
    }
}

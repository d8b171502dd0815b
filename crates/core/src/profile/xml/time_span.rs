//! The elements of `TimeSpan`, with those that DiskSpd 2.3 added for settings TrueSpd has too.

use super::schema::{
    Element, Kind, Result, Row, flag, read_fields, read_list, set_flag, u32_row, word_of, write_fields,
};
use super::target::{read_targets, write_targets};
use super::write::Writer;
use crate::profile::{
    AffinityItem, Batch, EfficiencyOrder, Placement, ProcessorId, RingOptions, TimeSpan, WholeGroup,
};

/// Highest processor group.
const GROUP_MAX: u32 = 65_535;
/// Highest processor number within a group that the format allows.
const PROCESSOR_MAX: u32 = 255;
/// Processors in a group.
const GROUP_LEN: u32 = 64;

/// Children of `TimeSpan` in the order of writing.
pub(super) const TIME_SPAN: &[Row<TimeSpan>] = &[
    flag!("CompletionRoutines", completion_routines),
    flag!("MeasureLatency", measure_latency),
    flag!("CalculateIopsStdDev", calculate_iops_std_dev),
    flag!("DisableAffinity", disable_affinity),
    u32_row!("Duration", duration_s),
    u32_row!("Warmup", warmup_s),
    u32_row!("Cooldown", cooldown_s),
    u32_row!("ThreadCount", thread_count),
    u32_row!("RequestCount", request_count),
    u32_row!("IoBucketDuration", io_bucket_ms),
    u32_row!("RandSeed", rand_seed),
    // DiskSpd 2.2 reads this but forgets to write it.
    set_flag!("RandomWriteData", random_write_data),
    Row { name: "IoRing", required: false, kind: Kind::Form { read: read_ring, write: write_ring } },
    // Of the time before 2.0.17; groups are always understood.
    Row { name: "GroupAffinity", required: false, kind: Kind::Flag { get: |_| None, set: |_, _| {} } },
    Row {
        name: "AffinityTraversal",
        required: false,
        kind: Kind::Form { read: read_placement, write: write_placement },
    },
    Row {
        name: "Affinity",
        required: false,
        kind: Kind::Form { read: read_affinity, write: write_affinity },
    },
    Row {
        name: "BufferSeparation",
        required: false,
        kind: Kind::Form {
            read: |span, element| {
                span.pack_buffers = element.one_of(SEPARATIONS, &[])?;
                Ok(())
            },
            write: |span, name, out| {
                if let Some(word) = word_of(SEPARATIONS, span.pack_buffers).filter(|_| span.pack_buffers) {
                    out.leaf(name, word);
                }
            },
        },
    },
    Row {
        name: "CompletionDepth",
        required: false,
        kind: Kind::U32 {
            range: 1..=u32::MAX,
            get: |span| span.completion_batch,
            set: |span, value| span.completion_batch = Some(value),
        },
    },
    Row { name: "Targets", required: true, kind: Kind::Form { read: read_targets, write: write_targets } },
];

/// Rules about elements of one time span that the result could not express otherwise.
pub(super) fn check(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    if span.calculate_iops_std_dev && span.io_bucket_ms == 0 {
        let place = element.child("IoBucketDuration").unwrap_or(element);
        return Err(place.error(
            "CalculateIopsStdDev needs intervals, but their length is 0 ms",
            "a whole number from 1, or no CalculateIopsStdDev".to_string(),
        ));
    }
    // 2.3 writes its own default placement beside every list of processors; it does not ask for anything.
    if span.has_affinity_list() && span.placement == PLACEMENT_WRITTEN_BY_2_3 {
        span.placement = Placement::default();
    }
    Ok(())
}

/// What 2.3 writes when no placement was asked for.
const PLACEMENT_WRITTEN_BY_2_3: Placement =
    Placement { cores_first: false, span_groups: false, efficiency: EfficiencyOrder::PerformanceFirst };

/// Word to [`TimeSpan::pack_buffers`].
const SEPARATIONS: &[(&str, bool)] = &[("PDECacheLine", false), ("SystemDefault", true)];

const TRAVERSALS: &[(&str, bool)] = &[("Cpu", false), ("CoreAware", true)];
const GROUP_ORDERS: &[(&str, bool)] = &[("Fill", false), ("Span", true)];
const EFFICIENCY_ORDERS: &[(&str, EfficiencyOrder)] = &[
    ("Unordered", EfficiencyOrder::Ignore),
    ("PFirst", EfficiencyOrder::PerformanceFirst),
    ("FillPFirst", EfficiencyOrder::FillPerformanceFirst),
    ("EFirst", EfficiencyOrder::EfficiencyFirst),
    ("FillEFirst", EfficiencyOrder::FillEfficiencyFirst),
];

fn read_placement(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    let defaults = Placement::default();
    let group = element.attribute_one_of("Group", GROUP_ORDERS)?;
    let efficiency = element.attribute_one_of("Efficiency", EFFICIENCY_ORDERS)?;
    span.placement = Placement {
        cores_first: element.one_of(TRAVERSALS, &["Group", "Efficiency"])?,
        span_groups: group.unwrap_or(defaults.span_groups),
        efficiency: efficiency.unwrap_or(defaults.efficiency),
    };
    Ok(())
}

fn write_placement(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    let placement = &span.placement;
    let words = (
        word_of(GROUP_ORDERS, placement.span_groups),
        word_of(EFFICIENCY_ORDERS, placement.efficiency),
        word_of(TRAVERSALS, placement.cores_first),
    );
    if let (true, (Some(group), Some(efficiency), Some(traversal))) =
        (*placement != Placement::default(), words)
    {
        out.leaf_with(name, &[("Group", &group), ("Efficiency", &efficiency)], traversal);
    }
}

/// Children of `IoRing`.
const RING: &[Row<RingOptions>] = &[
    Row {
        name: "IoRingBatchSize",
        required: false,
        kind: Kind::Form { read: read_batch, write: write_batch },
    },
    flag!("UseRegBuffer", registered_buffers),
];

fn read_ring(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    let mut ring = RingOptions { registered_buffers: true, batch: Batch::Percent(25) };
    read_fields(element, RING, &mut ring)?;
    span.ring = Some(ring);
    Ok(())
}

fn write_ring(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    if let Some(ring) = &span.ring {
        out.open(name, &[]);
        write_fields(ring, RING, out);
        out.close(name);
    }
}

fn read_batch(ring: &mut RingOptions, element: Element<'_>) -> Result<()> {
    const ATTRIBUTES: &[&str] = &["Percent"];
    ring.batch = match element.attribute_flag("Percent")? {
        Some(false) => Batch::Count(element.u32(1..=65_535, ATTRIBUTES)?),
        Some(true) | None => Batch::Percent(element.u32(1..=100, ATTRIBUTES)?),
    };
    Ok(())
}

fn write_batch(ring: &RingOptions, name: &'static str, out: &mut Writer) {
    match ring.batch {
        Batch::Count(n) => out.leaf_with(name, &[("Percent", &false)], n),
        Batch::Percent(n) => out.leaf_with(name, &[("Percent", &true)], n),
    }
}

/// A list of processors in one of three forms: numbers, group and number, or (2.3) group and mask, where no
/// mask means the whole group.
fn read_affinity(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    const FORMS: &[&str] = &["AffinityAssignment", "AffinityGroupAssignment", "Group"];
    read_list(element, FORMS, |entry| {
        match entry.name() {
            "AffinityAssignment" => {
                let processor = entry.u32(0..=u32::MAX, &[])?;
                span.affinity.push(ProcessorId { group: 0, processor });
            }
            "AffinityGroupAssignment" => {
                no_content(entry, &["Group", "Processor"])?;
                let group = entry.attribute_u32("Group", 0..=GROUP_MAX)?.unwrap_or(0);
                let processor = entry.attribute_u32("Processor", 0..=PROCESSOR_MAX)?.unwrap_or(0);
                span.affinity.push(ProcessorId { group, processor });
            }
            _ => {
                no_content(entry, &["Group", "Mask"])?;
                let group = entry.attribute_u32("Group", 0..=GROUP_MAX)?.unwrap_or(0);
                match entry.attribute_mask("Mask")? {
                    None | Some(0) => {
                        span.affinity_groups.push(WholeGroup { group, position: span.affinity.len() });
                    }
                    Some(mask) => {
                        let processors = (0..GROUP_LEN).filter(|bit| mask >> bit & 1 == 1);
                        span.affinity.extend(processors.map(|processor| ProcessorId { group, processor }));
                    }
                }
            }
        }
        Ok(())
    })
}

fn no_content(entry: Element<'_>, attributes: &[&str]) -> Result<()> {
    if entry.text(attributes)?.trim().is_empty() {
        Ok(())
    } else {
        Err(entry.error("the entry has content", "attributes only".to_string()))
    }
}

/// In the form of 2.2, unless the list has whole groups, which only that of 2.3 can name.
fn write_affinity(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    if !span.has_affinity_list() {
        return;
    }
    out.open(name, &[]);
    for item in span.affinity_items() {
        match item {
            AffinityItem::WholeGroup(group) => out.empty("Group", &[("Group", &group), ("Mask", &"0x0")]),
            AffinityItem::Processor(id) if !span.affinity_groups.is_empty() => {
                let id = within_group(id, GROUP_LEN - 1);
                let mask = format!("{:#x}", 1u64 << (id.processor % GROUP_LEN));
                out.empty("Group", &[("Group", &id.group), ("Mask", &mask)]);
            }
            AffinityItem::Processor(id) => {
                let id = within_group(id, PROCESSOR_MAX);
                out.empty("AffinityGroupAssignment", &[("Group", &id.group), ("Processor", &id.processor)]);
            }
        }
    }
    out.close(name);
}

/// A Linux processor whose number goes beyond what the form allows, named by the group that it is in.
fn within_group(id: ProcessorId, number_max: u32) -> ProcessorId {
    if id.processor > number_max {
        ProcessorId { group: id.cpu() / GROUP_LEN, processor: id.cpu() % GROUP_LEN }
    } else {
        id
    }
}

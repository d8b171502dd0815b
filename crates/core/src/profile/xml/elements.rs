//! The elements of `Profile` and `TimeSpan`, with those that DiskSpd 2.3 added for settings TrueSpd has too, and where
//! every element of the format belongs.

use sha2::{Digest, Sha256};

use super::rows::{
    Element, Extension, Mismatch, Result, Row, flag, flag_of, form, mask_of, no_content, nonzero, number,
    number_of, optional, pick, read_extensions, read_fields, read_list, required, set_flag, word_of, words,
    write_extensions, write_fields, write_group,
};
use super::target;
use super::write::Writer;
use crate::profile::masks::{GROUP_LEN, within_group};
use crate::profile::{
    Batch, BufferSeparation, EfficiencyOrder, Etw, Placement, Precreate, ProcessorId, Profile, REQUESTS_MAX,
    Release, ResultFormat, RingOptions, SteadyRule, TimeSpan, WholeGroup,
};

const GROUP_MAX: u64 = 65_535;
/// Highest processor number within a group that the format allows.
const PROCESSOR_MAX: u32 = 255;

const RESULT_FORMATS: &[(&str, ResultFormat)] = &[("text", ResultFormat::Text), ("xml", ResultFormat::Xml)];

const PRECREATES: &[(&str, Precreate)] = &[
    ("UseMaxSize", Precreate::UseMaxSize),
    ("CreateOnlyFilesWithConstantSizes", Precreate::OnlyConstantSizes),
    ("CreateOnlyFilesWithConstantOrZeroSizes", Precreate::OnlyConstantOrZeroSizes),
];

/// Children of `Profile` in the order of writing.
pub(super) const PROFILE: &[Row<Profile>] = &[
    number!("Progress", progress_ios: u32),
    nonzero!("ExperimentFlags", experiment_flags),
    words!("ResultFormat", result_format, RESULT_FORMATS),
    flag!("Verbose", verbose),
    set_flag!("VerboseStats", verbose_stats),
    words!("PrecreateFiles", precreate, PRECREATES),
    form("ETW", read_etw, |p, name, out| {
        if let Some(etw) = &p.etw {
            write_group(name, etw, ETW, out);
        }
    }),
    required(form("TimeSpans", read_time_spans, |p, name, out| {
        out.open(name, &[]);
        let rows = time_span_rows(out.release());
        for span in &p.time_spans {
            out.open("TimeSpan", &[]);
            write_fields(span, rows.iter().copied(), out);
            write_extensions(span, TIME_SPAN_EXTENSIONS, out);
            out.close("TimeSpan");
        }
        out.close(name);
    })),
];

/// Children of `ETW`. Linux has no such tracing: they are kept and written back.
const ETW: &[Row<Etw>] = &[
    flag!("Process", process),
    flag!("Thread", thread),
    flag!("ImageLoad", image_load),
    flag!("DiskIO", disk_io),
    flag!("MemoryPageFaults", memory_page_faults),
    flag!("MemoryHardFaults", memory_hard_faults),
    flag!("Network", network),
    flag!("Registry", registry),
    flag!("UsePagedMemory", use_paged_memory),
    flag!("UsePerfTimer", use_perf_timer),
    flag!("UseSystemTimer", use_system_timer),
    flag!("UseCyclesCounter", use_cycles_counter),
];

fn read_etw(profile: &mut Profile, element: Element<'_>) -> Result<()> {
    let mut etw = Etw::default();
    read_fields(element, ETW, &mut etw)?;
    // Any child turns tracing on, also one that says false.
    profile.etw = element.children().next().is_some().then_some(etw);
    Ok(())
}

fn read_time_spans(profile: &mut Profile, element: Element<'_>) -> Result<()> {
    read_list(element, &["TimeSpan"], |element| {
        let mut span = TimeSpan::default();
        read_fields(element, TIME_SPAN, &mut span)?;
        read_extensions(element, TIME_SPAN_EXTENSIONS, &mut span)?;
        check_time_span(&mut span, element)?;
        profile.time_spans.push(span);
        Ok(())
    })
}

/// A profile as `-Rpxml` of its release prints it: a line per element, each with its line end, the first one `indent`
/// levels deep. In the form of 2.2 stands also what only 2.3 knows, where it was asked for.
///
/// Source: `xml.md` §3, `release-2.3.md` §6.
pub fn write(profile: &Profile, indent: usize) -> String {
    let mut out = Writer::of_release(profile.release, indent);
    write_group("Profile", profile, PROFILE, &mut out);
    out.finish()
}

/// Hexadecimal digits of a profile's hash: 64 bits.
const HASH_DIGITS: usize = 16;

/// The hash of what a profile asks for: the same for runs that may be compared.
///
/// Seeds, paths and the form of the output do not count, so that the same test on another disk has the same
/// hash; sizes, times, caching and threads do. It is made from the XML of the profile, whose form DiskSpd
/// decides and which therefore stays the same from version to version: that of 2.2, whatever form was asked for.
pub fn hash(profile: &Profile) -> String {
    let mut plain = profile.clone();
    plain.release = Release::V2_2;
    plain.result_format = ResultFormat::Text;
    plain.progress_ios = 0;
    (plain.verbose, plain.verbose_stats) = (false, false);
    plain.etw = None;
    for span in &mut plain.time_spans {
        span.rand_seed = 0;
        for (place, target) in span.targets.iter_mut().enumerate() {
            target.path = place.to_string();
            if let Some(path) = &mut target.write_source_path {
                *path = "source".to_string();
            }
        }
    }
    let hash = Sha256::digest(write(&plain, 0).as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..HASH_DIGITS].to_string()
}

/// Children of `TimeSpan` in the order of writing.
const TIME_SPAN: &[Row<TimeSpan>] = &[
    flag!("CompletionRoutines", completion_routines),
    flag!("MeasureLatency", measure_latency),
    flag!("CalculateIopsStdDev", calculate_iops_std_dev),
    flag!("DisableAffinity", disable_affinity),
    number!("Duration", duration_s: u32),
    number!("Warmup", warmup_s: u32),
    number!("Cooldown", cooldown_s: u32),
    number!("ThreadCount", thread_count: u32),
    number!("RequestCount", request_count: u32),
    number!("IoBucketDuration", io_bucket_ms: u32),
    number!("RandSeed", rand_seed: u32),
    // DiskSpd 2.2 reads this but forgets to write it.
    set_flag!("RandomWriteData", random_write_data),
    form("IoRing", read_ring, |span, name, out| {
        if let Some(ring) = &span.ring {
            write_group(name, ring, RING, out);
        }
    }),
    // Of the time before 2.0.17; groups are always understood.
    form("GroupAffinity", |_, element| element.flag().map(drop), |_, _, _| {}),
    form("AffinityTraversal", read_placement, write_placement),
    form("Affinity", read_affinity, write_affinity),
    form(
        "BufferSeparation",
        |span, element| {
            span.separate(element.one_of(SEPARATIONS, &[])?);
            Ok(())
        },
        |span, name, out| {
            let usual = (out.release() == Release::V2_3).then_some(BufferSeparation::SystemDefault);
            if let Some(word) = span.buffer_separation().or(usual).and_then(|one| word_of(SEPARATIONS, one)) {
                out.leaf(name, word);
            }
        },
    ),
    optional!("CompletionDepth", completion_batch: u32, 1, u32::MAX),
    required(form("Targets", target::read_targets, target::write_targets)),
];

/// What a time span of DiskSpd does not have.
const TIME_SPAN_EXTENSIONS: &[Extension<TimeSpan>] = &[Extension {
    name: "until-steady",
    read: |span, text| {
        let rule = SteadyRule::read(text).map_err(|error| Mismatch {
            reason: error.to_string(),
            legal: format!("a rule, as in {}", SteadyRule::default()),
        })?;
        span.until_steady = Some(rule);
        Ok(())
    },
    write: |span| span.until_steady.map(|rule| rule.to_string()),
}];

/// The rows of a time span in the order of a release: 2.3 has moved one.
fn time_span_rows(release: Release) -> Vec<&'static Row<TimeSpan>> {
    let mut rows: Vec<&Row<TimeSpan>> = TIME_SPAN.iter().collect();
    if release == Release::V2_3 {
        let moved = rows.iter().position(|row| row.name == "DisableAffinity");
        let row = rows.remove(moved.expect("the table has it"));
        let before = rows.iter().position(|row| row.name == "IoRing");
        rows.insert(before.expect("the table has it") + 1, row);
    }
    rows
}

/// Rules about elements of one time span that the result could not express otherwise.
fn check_time_span(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    if span.calculate_iops_std_dev && span.io_bucket_ms == 0 {
        let place = element.child("IoBucketDuration").unwrap_or(element);
        return Err(place.error(
            "CalculateIopsStdDev needs intervals, but their length is 0 ms",
            "a whole number from 1, or no CalculateIopsStdDev".to_string(),
        ));
    }
    Ok(())
}

const SEPARATIONS: &[(&str, BufferSeparation)] =
    &[("PDECacheLine", BufferSeparation::Apart), ("SystemDefault", BufferSeparation::SystemDefault)];

const TRAVERSALS: &[(&str, bool)] = &[("Cpu", false), ("CoreAware", true)];
const GROUP_ORDERS: &[(&str, bool)] = &[("Fill", false), ("Span", true)];
const EFFICIENCY_ORDERS: &[(&str, EfficiencyOrder)] = &[
    ("Unordered", EfficiencyOrder::Unordered),
    ("PFirst", EfficiencyOrder::PerformanceFirst),
    ("FillPFirst", EfficiencyOrder::FillPerformanceFirst),
    ("EFirst", EfficiencyOrder::EfficiencyFirst),
    ("FillEFirst", EfficiencyOrder::FillEfficiencyFirst),
];

fn read_placement(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    let group = element.attribute("Group", |text| pick(GROUP_ORDERS, text))?;
    let efficiency = element.attribute("Efficiency", |text| pick(EFFICIENCY_ORDERS, text))?;
    span.placement = Placement {
        cores_first: element.one_of(TRAVERSALS, &["Group", "Efficiency"])?,
        span_groups: group.unwrap_or(false),
        efficiency: efficiency.unwrap_or(EfficiencyOrder::PerformanceFirst),
    };
    Ok(())
}

fn write_placement(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    let placement = &span.placement;
    let is_left_out = match out.release() {
        Release::V2_2 => !placement.is_asked(),
        Release::V2_3 => span.disable_affinity,
    };
    if is_left_out {
        return;
    }
    let group = word_of(GROUP_ORDERS, placement.span_groups).unwrap_or_default();
    let efficiency = word_of(EFFICIENCY_ORDERS, placement.efficiency_in_effect()).unwrap_or_default();
    let traversal = word_of(TRAVERSALS, placement.cores_first).unwrap_or_default();
    out.leaf_with(name, &[("Group", &group), ("Efficiency", &efficiency)], traversal);
}

const RING: &[Row<RingOptions>] =
    &[form("IoRingBatchSize", read_batch, write_batch), flag!("UseRegBuffer", registered_buffers)];

fn read_ring(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    let mut ring = RingOptions { registered_buffers: true, batch: Batch::Percent(25) };
    read_fields(element, RING, &mut ring)?;
    span.ring = Some(ring);
    Ok(())
}

fn read_batch(ring: &mut RingOptions, element: Element<'_>) -> Result<()> {
    const ATTRIBUTES: &[&str] = &["Percent"];
    ring.batch = match element.attribute("Percent", flag_of)? {
        Some(false) | None => Batch::Count(element.number(1..=u64::from(REQUESTS_MAX), ATTRIBUTES)? as u32),
        Some(true) => Batch::Percent(element.number(1..=100, ATTRIBUTES)? as u32),
    };
    Ok(())
}

fn write_batch(ring: &RingOptions, name: &'static str, out: &mut Writer) {
    match ring.batch {
        Batch::Count(n) => out.leaf_with(name, &[("Percent", &false)], n),
        Batch::Percent(n) => out.leaf_with(name, &[("Percent", &true)], n),
    }
}

/// A list of processors in one of three forms: numbers, group and number, or (2.3) group and mask, where the mask 0
/// means the whole group.
fn read_affinity(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    const FORMS: &[&str] = &["AffinityAssignment", "AffinityGroupAssignment", "Group"];
    read_list(element, FORMS, |entry| {
        if entry.name() == "AffinityAssignment" {
            let processor = entry.number(0..=u64::from(u32::MAX), &[])? as u32;
            span.affinity.push(ProcessorId { group: 0, processor });
            return Ok(());
        }
        let is_mask = entry.name() == "Group";
        no_content(entry, if is_mask { &["Group", "Mask"] } else { &["Group", "Processor"] })?;
        let group = entry.attribute("Group", |text| number_of(text, 0..=GROUP_MAX))?;
        if !is_mask {
            let group = group.unwrap_or(0) as u32;
            let range = 0..=u64::from(PROCESSOR_MAX);
            let processor = entry.attribute("Processor", |text| number_of(text, range))?;
            span.affinity.push(ProcessorId { group, processor: processor.unwrap_or(0) as u32 });
            return Ok(());
        }
        let (Some(group), Some(mask)) = (group, entry.attribute("Mask", mask_of)?) else {
            let legal = "Group and Mask; the mask 0x0 means the whole group".to_string();
            return Err(entry.error("an attribute is missing", legal));
        };
        let group = group as u32;
        if mask == 0 {
            span.affinity_groups.push(WholeGroup { group, position: span.affinity.len() });
        }
        if mask != 0 && joins(span, group, mask.trailing_zeros()) {
            span.affinity_mask_starts.push(span.affinity.len());
        }
        let processors = (0..GROUP_LEN).filter(|bit| mask >> bit & 1 == 1);
        span.affinity.extend(processors.map(|processor| ProcessorId { group, processor }));
        Ok(())
    })
}

/// Whether a processor would join the last mask of the list.
fn joins(span: &TimeSpan, group: u32, processor: u32) -> bool {
    let is_behind_group =
        span.affinity_groups.last().is_some_and(|whole| whole.position == span.affinity.len());
    let last = span.affinity.last();
    !is_behind_group && last.is_some_and(|last| last.group == group && last.processor < processor)
}

/// In the form of 2.2 each processor by itself, unless the list has whole groups, which only that of 2.3 can name.
fn write_affinity(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    if !span.has_affinity_list() {
        return;
    }
    out.open(name, &[]);
    if out.release() == Release::V2_3 || !span.affinity_groups.is_empty() {
        for mask in span.affinity_masks() {
            out.empty("Group", &[("Group", &mask.group), ("Mask", &mask)]);
        }
    } else {
        for id in &span.affinity {
            let id = within_group(*id, PROCESSOR_MAX);
            out.empty("AffinityGroupAssignment", &[("Group", &id.group), ("Processor", &id.processor)]);
        }
    }
    out.close(name);
}

/// The element that an element of this name belongs in, for messages. Only where there is a single one.
pub(super) fn home_of(name: &str) -> Option<&'static str> {
    fn has<T>(rows: &[Row<T>], name: &str) -> bool {
        rows.iter().any(|row| row.name == name)
    }
    let homes = [
        ("Profile", has(PROFILE, name)),
        ("ETW", has(ETW, name)),
        ("TimeSpans", name == "TimeSpan"),
        ("TimeSpan", has(TIME_SPAN, name)),
        ("Targets", name == "Target"),
        ("Target", has(target::TARGET, name)),
        ("WriteBufferContent", has(target::WRITE_BUFFER, name)),
        ("RandomDataSource", has(target::RANDOM_SOURCE, name)),
        ("ThreadTargets", name == "ThreadTarget"),
        ("ThreadTarget", has(target::THREAD_TARGET, name)),
    ];
    let mut found = homes.into_iter().filter(|&(_, is_here)| is_here).map(|(home, _)| home);
    match (found.next(), found.next()) {
        (Some(home), None) => Some(home),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes() {
        assert_eq!(home_of("Duration"), Some("TimeSpan"));
        assert_eq!(home_of("BlockSize"), Some("Target"));
        assert_eq!(home_of("Pattern"), Some("WriteBufferContent"));
        assert_eq!(home_of("RequestCount"), None, "TimeSpan and Target have one");
        assert_eq!(home_of("BlockSizeKB"), None);
    }

    #[test]
    fn names_stand_once_in_a_table() {
        fn distinct<T>(rows: &[Row<T>]) {
            let mut names: Vec<&str> = rows.iter().map(|row| row.name).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all);
        }
        distinct(PROFILE);
        distinct(ETW);
        distinct(TIME_SPAN);
        distinct(target::TARGET);
    }
}

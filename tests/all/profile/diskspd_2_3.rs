//! What DiskSpd 2.3 takes and refuses, and what it makes of it: the cases of `tests/data/diskspd-2.3`, whose README tells
//! the columns and the names of settings.

use std::collections::BTreeMap;

use diskspd::grammar::parse::Invocation;
use truespd_core::plan::processor_order;
use truespd_core::profile::{
    Batch, BypassIo, CacheMode, EfficiencyOrder, Placement, ProcessorId, Profile, Severity, TimeSpan,
    WholeGroup, validate, xml,
};
use truespd_platform::machine::topology::{Processor, Topology};

use crate::support::words::read;

/// The lines of a list without its first one, each cut at tabs.
pub(super) fn cases(list: &str) -> Vec<Vec<&str>> {
    list.lines().skip(1).map(|line| line.split('\t').collect()).collect()
}

/// Where TrueSpd does otherwise on purpose: `tests/data/deliberate-differences.md` says why.
pub(super) const DELIBERATE: &[&str] = &[
    // 2.3 forgets its own limit where the I/O is random.
    "-r -o70000 f",
    // 2.3 reads the digits and drops the rest.
    "-oc8x f",
    "-u+8 f",
    "-Rpsxml",
    // Linux numbers processors through all groups.
    "-a0-64 f",
    "-ag0,300 f",
    // 2.2 takes either case.
    "-Sm -NN f",
    "-Sm -NI f",
];

/// The same of fragments.
pub(super) const DELIBERATE_XML: &[&str] = &[
    // 2.3 forgets its own limit where the I/O is random.
    "<Random>8192</Random><RequestCount>70000</RequestCount>",
    // Valid by 2.3's own schema, and taken for what it says.
    "<IoRing><IoRingBatchSize Percent=\"1\">12</IoRingBatchSize></IoRing>",
    // Linux numbers processors through all groups.
    "<Affinity><AffinityGroupAssignment Group=\"0\" Processor=\"64\"/></Affinity>",
    "<Affinity><AffinityAssignment>64</AffinityAssignment></Affinity>",
    // 2.2 takes these.
    "<Affinity><AffinityAssignment>+5</AffinityAssignment></Affinity>",
    "<GroupAffinity>true</GroupAffinity>",
    // 2.3 prints the error and goes on without the entry.
    "<Affinity><Group Group=\"0\" Mask=\"junk\"/><Group Group=\"0\" Mask=\"0x1\"/></Affinity>",
];

fn words_of_order(order: EfficiencyOrder) -> &'static str {
    match order {
        EfficiencyOrder::Unset | EfficiencyOrder::PerformanceFirst => "PFirst",
        EfficiencyOrder::Unordered => "Unordered",
        EfficiencyOrder::FillPerformanceFirst => "FillPFirst",
        EfficiencyOrder::EfficiencyFirst => "EFirst",
        EfficiencyOrder::FillEfficiencyFirst => "FillEFirst",
    }
}

fn masks(span: &TimeSpan) -> String {
    let masks = span.affinity_masks();
    let masks: Vec<String> = masks.iter().map(|mask| format!("{}:{mask}", mask.group)).collect();
    if masks.is_empty() { "none".to_string() } else { masks.join(",") }
}

/// The settings that the lists name and that 2.3 brought.
fn settings(profile: &Profile) -> BTreeMap<&'static str, String> {
    let span = &profile.time_spans[0];
    let target = &span.targets[0];
    let Placement { cores_first, span_groups, efficiency } = span.placement;
    let (mut ring, mut batch) = ("none", String::new());
    if let Some(options) = span.ring {
        ring = if options.registered_buffers { "registered" } else { "unregistered" };
        batch = match options.batch {
            Batch::Count(count) => count.to_string(),
            Batch::Percent(percent) => format!("{percent}%"),
        };
    }
    let bypass = match target.bypass_io {
        None => "none",
        Some(BypassIo::Partial) => "Partial",
        Some(BypassIo::Full) => "Full",
    };
    let cache = match target.cache {
        CacheMode::Cached => "default",
        CacheMode::DisableLocalCache => "local",
        CacheMode::DisableOsCache => "os",
    };
    BTreeMap::from([
        ("masks", masks(span)),
        ("traversal", if cores_first { "CoreAware" } else { "Cpu" }.to_string()),
        ("span", if span_groups { "Span" } else { "Fill" }.to_string()),
        ("order", words_of_order(efficiency).to_string()),
        ("ring", ring.to_string()),
        ("batch", batch),
        ("bypass", bypass.to_string()),
        ("cache", cache.to_string()),
        ("separation", if span.pack_buffers { "SystemDefault" } else { "PDECacheLine" }.to_string()),
        ("depth", span.completion_batch.map_or("none".to_string(), |depth| depth.to_string())),
        ("noaffinity", span.disable_affinity.to_string()),
        ("duration", span.duration_s.to_string()),
        ("warmup", span.warmup_s.to_string()),
        ("cooldown", span.cooldown_s.to_string()),
        ("pool", span.thread_count.to_string()),
        ("poolreq", span.request_count.to_string()),
        ("o", target.request_count.to_string()),
        ("t", target.threads_per_file.to_string()),
        ("block", target.block_bytes.to_string()),
        ("write", target.write_percent.to_string()),
        ("through", target.write_through.to_string()),
        ("map", target.memory_mapped.to_string()),
        ("targets", span.targets.len().to_string()),
    ])
}

/// What differs from the settings of a case.
fn differences(profile: &Profile, wanted: &str) -> Vec<String> {
    let found = settings(profile);
    let mut wrong = Vec::new();
    for (name, value) in wanted.split(';').filter_map(|pair| pair.split_once('=')) {
        let ours = found.get(name).map_or(value, String::as_str);
        if ours != value {
            wrong.push(format!("{name}={ours} instead of {value}"));
        }
    }
    wrong
}

/// `None` when it is refused.
fn profile_of_line(line: &str) -> Option<Option<Profile>> {
    match read(line).ok()? {
        Invocation::Run(request) => Some(Some(request.profile)),
        _ => Some(None),
    }
}

#[test]
fn command_lines() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../data/diskspd-2.3/cases-cmdline.tsv")) {
        let [line, verdict, wanted, ..] = case[..] else { panic!("{case:?}") };
        if DELIBERATE.contains(&line) {
            continue;
        }
        let typed = if line.contains("-R") { line.to_string() } else { format!("-Rpxml {line}") };
        match profile_of_line(&typed) {
            None if verdict == "refused" => {}
            None => wrong.push(format!("{line}: refused: {}", read(&typed).expect_err("refused"))),
            Some(_) if verdict == "refused" => wrong.push(format!("{line}: accepted")),
            Some(Some(profile)) => {
                wrong.extend(differences(&profile, wanted).iter().map(|words| format!("{line}: {words}")));
            }
            Some(None) => {}
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The profile with a fragment at its place.
pub(super) fn whole(place: &str, fragment: &str) -> String {
    let plain = "<Target><Path>f</Path></Target>".to_string();
    let (targets, span, whole) = match place {
        "timespan" => (plain, fragment, ""),
        "profile" => (plain, "", fragment),
        "targets" => (fragment.to_string(), "", ""),
        "target" => (format!("<Target><Path>f</Path>{fragment}</Target>"), "", ""),
        _ => {
            let (targets, span) = fragment.split_once('|').expect("two parts");
            (targets.to_string(), span, "")
        }
    };
    let span = format!("<TimeSpan>{span}<Targets>{targets}</Targets></TimeSpan>");
    format!("<Profile>{whole}<TimeSpans>{span}</TimeSpans></Profile>")
}

/// The profile that is read of a text and of the targets behind it; `None` when it is refused.
pub(super) fn accepted(text: &str, targets: &str) -> Option<Profile> {
    let mut profile = xml::read(text).ok()?;
    let targets: Vec<String> = targets.split_whitespace().map(str::to_string).collect();
    if !targets.is_empty() {
        xml::substitute_templates(&mut profile, &targets).ok()?;
    }
    let findings = validate(&profile, false);
    findings.iter().all(|finding| finding.severity != Severity::Error).then_some(profile)
}

#[test]
fn fragments_of_profiles() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../data/diskspd-2.3/cases-xml.tsv")) {
        let [place, fragment, arguments, verdict, wanted, ..] = case[..] else { panic!("{case:?}") };
        if DELIBERATE_XML.contains(&fragment) {
            continue;
        }
        let text = whole(place, fragment);
        let profile = accepted(&text, arguments);
        match profile {
            None if verdict == "refused" => {}
            None => wrong.push(format!("{place} {fragment}: refused: {:?}", xml::read(&text).err())),
            Some(_) if verdict == "refused" => wrong.push(format!("{place} {fragment}: accepted")),
            Some(profile) => {
                let differ = differences(&profile, wanted);
                wrong.extend(differ.iter().map(|words| format!("{place} {fragment}: {words}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The machine of a case: cores as `group:mask:class`.
fn machine(cores: &str) -> Topology {
    let mut processors = Vec::new();
    for (core, words) in cores.split(',').enumerate() {
        let [group, mask, class] = words.split(':').collect::<Vec<_>>()[..] else { panic!("{words}") };
        let (group, class): (u32, u32) = (group.parse().expect("a group"), class.parse().expect("a class"));
        let mask = u64::from_str_radix(mask.trim_start_matches("0x"), 16).expect("a mask");
        for number in (0..64).filter(|bit| mask >> bit & 1 == 1) {
            let core = core as u32;
            processors.push(Processor {
                cpu: group * 64 + number,
                group,
                number,
                core,
                physical_core: core,
                socket: 0,
                node: 0,
                efficiency_class: class,
            });
        }
    }
    processors.sort_by_key(|processor| processor.cpu);
    let groups = processors.iter().map(|processor| processor.group + 1).max().expect("a group");
    Topology { processors, nodes: 1, sockets: 1, groups, cpus_possible: None }
}

/// A list of masks as processors and whole groups.
fn list(span: &mut TimeSpan, masks: &str) {
    for words in masks.split(',').filter(|words| *words != "-") {
        let (group, mask) = words.split_once(':').expect("group and mask");
        let group: u32 = group.parse().expect("a group");
        match u64::from_str_radix(mask.trim_start_matches("0x"), 16).expect("a mask") {
            0 => span.affinity_groups.push(WholeGroup { group, position: span.affinity.len() }),
            mask => {
                let bits = (0..64).filter(|bit| mask >> bit & 1 == 1);
                span.affinity.extend(bits.map(|processor| ProcessorId { group, processor }));
            }
        }
    }
}

#[test]
fn orders_of_processors() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../data/diskspd-2.3/cases-affinity.tsv")) {
        let [cores, masks, traversal, groups, order, expected, ..] = case[..] else { panic!("{case:?}") };
        let efficiency = match order {
            "Unordered" => EfficiencyOrder::Unordered,
            "PFirst" => EfficiencyOrder::PerformanceFirst,
            "FillPFirst" => EfficiencyOrder::FillPerformanceFirst,
            "EFirst" => EfficiencyOrder::EfficiencyFirst,
            "FillEFirst" => EfficiencyOrder::FillEfficiencyFirst,
            other => panic!("{other}"),
        };
        let placement =
            Placement { cores_first: traversal == "CoreAware", span_groups: groups == "Span", efficiency };
        let mut span = TimeSpan { placement, disable_affinity: traversal == "off", ..TimeSpan::default() };
        list(&mut span, masks);
        let topology = machine(cores);
        let allowed: Vec<u32> = topology.processors.iter().map(|processor| processor.cpu).collect();
        let order = processor_order(&span, &topology, &allowed).expect("an order");
        let order: Vec<String> = order.iter().map(|cpu| format!("{}/{}", cpu / 64, cpu % 64)).collect();
        let found = if order.is_empty() { "-".to_string() } else { order.join(",") };
        if found != expected {
            wrong.push(format!("{}: {found}", case.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

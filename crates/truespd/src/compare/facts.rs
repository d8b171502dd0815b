//! What else differs between two groups: profile, targets, limits, disks, kernel, machine. Likely causes of a
//! difference come first.

use serde::Serialize;
use serde_json::Value;

use super::question::Named;
use super::question::{Area, Difference};
use truespd_core::profile::members::Member;
use truespd_core::result::{Document, Layer, LayerKind, Limit, TargetFacts};
use truespd_platform::text::size;

/// A fact of one run.
struct Fact {
    area: Area,
    name: String,
    value: String,
}

impl Fact {
    /// A value that is empty is none.
    fn new(area: Area, name: &str, value: String) -> Self {
        let value = if value.is_empty() { NONE.to_string() } else { value };
        Fact { area, name: name.to_string(), value }
    }
}

/// What a run has no value for.
const NONE: &str = "none";

pub(super) fn differences(sides: [&[Named]; 2]) -> Vec<Difference> {
    let [a, b] = sides.map(|side| side.iter().map(|named| facts(&named.document)).collect::<Vec<_>>());
    let mut names: Vec<(Area, &str)> = Vec::new();
    for fact in a.iter().chain(&b).flatten() {
        if !names.contains(&(fact.area, &fact.name)) {
            names.push((fact.area, &fact.name));
        }
    }
    names.sort_by_key(|(area, _)| *area);
    let mut differences = Vec::new();
    for (area, name) in names {
        let [a, b] = [&a, &b].map(|side| values(side, area, name));
        if a.len() != b.len() || a.iter().any(|value| !b.contains(value)) {
            differences.push(Difference { area, name: name.to_string(), a, b });
        }
    }
    differences
}

/// The values of a fact on one side, each once.
fn values(side: &[Vec<Fact>], area: Area, name: &str) -> Vec<String> {
    let mut values = Vec::new();
    for facts in side {
        // A run of several time spans has the fact of each.
        let of_name = facts.iter().filter(|fact| fact.area == area && fact.name == name);
        let found: Vec<&str> = of_name.map(|fact| fact.value.as_str()).collect();
        let value = match found.as_slice() {
            [] => NONE.to_string(),
            [first, rest @ ..] if rest.iter().all(|one| one == first) => (*first).to_string(),
            several => several.join(", then "),
        };
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn facts(document: &Document) -> Vec<Fact> {
    let mut all = profile(document);
    for measured in document.measured() {
        let (evidence, threads) = (&measured.evidence, &measured.threads);
        // A target that several threads share is there once for each.
        let results = threads.iter().flat_map(|thread| &thread.targets);
        let mut sizes: Vec<(&str, u64)> =
            results.map(|target| (target.path.as_str(), target.size_bytes)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(|(_, bytes)| size(*bytes)).collect();
        let kinds = evidence.targets.iter().map(|target| word(&target.kind));
        all.push(Fact::new(Area::Target, "size", sizes.join(", ")));
        all.push(Fact::new(Area::Target, "kind", list(kinds)));
        all.push(Fact::new(Area::Limits, "limits", list(evidence.limits.iter().map(limit))));
        all.extend(storage(&evidence.targets));
        all.push(Fact::new(Area::Program, "engine", measured.engine.clone()));
        let governors = evidence.host.iter().flat_map(|host| host.governors.clone());
        all.push(Fact::new(Area::Machine, "frequency governors", list(governors)));
        let clock = evidence.clock.iter().map(|clock| clock.name.clone());
        all.push(Fact::new(Area::Machine, "clock", list(clock)));
    }
    let (system, topology) = (&document.system, &document.system.topology);
    for (area, name, value) in [
        (Area::Program, "version of TrueSpd", document.tool_version.clone()),
        (Area::Kernel, "kernel", system.kernel_release.clone()),
        (Area::Machine, "machine", system.machine_model.clone()),
        (Area::Machine, "power scheme", system.power_scheme.clone()),
        (Area::Machine, "processors", topology.processors.len().to_string()),
        (Area::Machine, "sockets", topology.sockets.to_string()),
        (Area::Machine, "memory nodes", topology.nodes.to_string()),
        (Area::Machine, "memory", system.memory_bytes.map(size).unwrap_or_default()),
        (Area::Machine, "host", document.host_words()),
    ] {
        all.push(Fact::new(area, name, value));
    }
    all
}

/// Several values as one, each once.
fn list(values: impl Iterator<Item = String>) -> String {
    let mut once: Vec<String> = Vec::new();
    for value in values {
        if !value.is_empty() && !once.contains(&value) {
            once.push(value);
        }
    }
    once.join(", ")
}

fn limit(limit: &Limit) -> String {
    let what = serde_json::to_value(limit.what).ok();
    let what = what.as_ref().and_then(Value::as_str).unwrap_or_default().replace('_', " ");
    let device = limit.device.as_ref().map_or(String::new(), |device| format!(" of {device}"));
    format!("{what}{device} {} ({} {})", limit.value, limit.by, limit.group)
}

/// The word of a value that is one in documents.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word.replace('_', " "),
        Ok(Value::Null) | Err(_) => String::new(),
        Ok(other) => other.to_string(),
    }
}

/// The name of a fact, and where a layer has it.
type OfLayer = (&'static str, fn(&Layer) -> Option<String>);

/// What is told of layers and disks, likely causes first.
const OF_LAYERS: [OfLayer; 14] = [
    ("scheduler", |layer| layer.scheduler.clone()),
    ("mount options", |layer| layer.mount_options.clone()),
    ("write cache", |layer| layer.write_cache.clone()),
    ("device model", |layer| layer.model.clone()),
    ("firmware", |layer| layer.firmware.clone()),
    ("transport", |layer| layer.transport.clone()),
    ("server", |layer| layer.server.clone()),
    ("compression", |layer| layer.compression.clone()),
    ("queue of the scheduler (requests)", |layer| layer.queue_requests.map(|count| count.to_string())),
    ("queue depth of the device", |layer| layer.queue_depth.map(|count| count.to_string())),
    ("largest request (bytes)", |layer| layer.request_bytes_max.map(|bytes| bytes.to_string())),
    ("rotational", |layer| layer.rotational.map(|is| if is { "yes" } else { "no" }.to_string())),
    (
        "size of the disk",
        |layer| {
            if layer.kind == LayerKind::Disk { layer.size_bytes.map(size) } else { None }
        },
    ),
    ("disk", |layer| (layer.kind == LayerKind::Disk).then(|| layer.name.clone())),
];

/// Where a target has the first of them, in documents from before there were layers.
const OF_TARGETS: [fn(&TargetFacts) -> Option<String>; 3] = [
    |target| target.scheduler.clone(),
    |target| target.mount_options.clone(),
    |target| target.write_cache.clone(),
];

fn storage(targets: &[TargetFacts]) -> Vec<Fact> {
    let filesystems = targets.iter().filter_map(|target| target.filesystem.clone());
    let mut facts = vec![Fact::new(Area::Storage, "file system", list(filesystems))];
    let mut chains = Vec::new();
    for target in targets {
        chains.push(target.layers.iter().map(|layer| word(&layer.kind)).collect::<Vec<_>>().join(" > "));
    }
    facts.push(Fact::new(Area::Storage, "layers", list(chains.into_iter())));
    for (place, (name, of_layer)) in OF_LAYERS.into_iter().enumerate() {
        let mut value = list(targets.iter().flat_map(|target| &target.layers).filter_map(of_layer));
        if let Some(of_target) = OF_TARGETS.get(place)
            && value.is_empty()
        {
            value = list(targets.iter().filter_map(of_target));
        }
        facts.push(Fact::new(Area::Storage, name, value));
    }
    facts
}

/// Members of profiles that change nothing in a run but how it is told.
const TOLD_ONLY: &[&str] = &[
    "progress_ios",
    "result_format",
    "verbose",
    "verbose_stats",
    "etw",
    "rand_seed",
    "calculate_iops_std_dev",
    "io_bucket_ms",
];

/// What was asked for, a fact for each member of its profile, and the paths of its targets.
fn profile(document: &Document) -> Vec<Fact> {
    let spans = &document.profile.time_spans;
    let mut facts = vec![Fact::new(Area::Profile, "time spans", spans.len().to_string())];
    for span in spans {
        let Ok(Value::Object(mut members)) = serde_json::to_value(span) else { continue };
        let targets = members.remove("targets").unwrap_or_default();
        let targets = targets.as_array().cloned().unwrap_or_default();
        facts.push(Fact::new(Area::Profile, "targets", targets.len().to_string()));
        for (name, value) in members.iter().filter(|(name, _)| !TOLD_ONLY.contains(&name.as_str())) {
            let heading = Member::heading(Member::of_time_span(name), name);
            facts.push(Fact { area: Area::Profile, name: heading, value: shown(value) });
        }
        let paths = list(span.targets.iter().map(|target| target.path.clone()));
        facts.push(Fact { area: Area::Target, name: "path".into(), value: paths });
        for name in targets.first().and_then(Value::as_object).into_iter().flatten().map(|of| of.0) {
            if name == "path" {
                continue;
            }
            let each: Vec<String> = targets.iter().map(|target| shown(&target[name.as_str()])).collect();
            let is_one = each.windows(2).all(|two| two[0] == two[1]);
            let heading = Member::heading(Member::of_target(name), name);
            let value = if is_one { each[0].clone() } else { each.join(", ") };
            facts.push(Fact { area: Area::Profile, name: heading, value });
        }
    }
    facts
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => NONE.into(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.into(),
        Value::String(word) => word.replace('_', " "),
        Value::Array(all) if all.is_empty() => NONE.into(),
        Value::Object(members) => {
            let members = members.iter();
            let words = members.map(|(name, value)| format!("{} {}", name.replace('_', " "), shown(value)));
            words.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::{Profile, Target, TimeSpan};
    use truespd_core::result::Measured;
    use truespd_core::result::{System, TimeSpanResult};

    fn named(change: impl FnOnce(&mut Document)) -> Vec<Named> {
        let target = Target { path: "f".into(), ..Target::default() };
        let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
        let facts = TargetFacts { scheduler: Some("none".into()), ..TargetFacts::default() };
        let mut measured = Measured { engine: "uring".into(), ..Measured::default() };
        measured.evidence.targets = vec![facts];
        let mut document = Document {
            profile: Profile { time_spans: vec![span], ..Profile::default() },
            system: System { kernel_release: "6.1".into(), ..System::default() },
            time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
            ..Document::default()
        };
        change(&mut document);
        vec![Named { name: "run".into(), document }]
    }

    fn measured(document: &mut Document) -> &mut Measured {
        match &mut document.time_spans[0] {
            TimeSpanResult::Measured(measured) => measured,
            TimeSpanResult::NotMeasured => panic!("it was measured"),
        }
    }

    #[test]
    fn what_differs_is_told_with_both_values_likely_causes_first() {
        let a = named(|_| ());
        assert_eq!(differences([&a, &named(|_| ())]), []);
        let b = named(|document| {
            document.system.kernel_release = "6.8".into();
            document.profile.time_spans[0].targets[0].block_bytes = 4096;
            document.profile.time_spans[0].rand_seed = 7;
            measured(document).engine = "aio".into();
            measured(document).evidence.targets[0].scheduler = Some("bfq".into());
            let limit = Limit { by: "io.max".into(), group: "/x".into(), value: 500, ..Limit::default() };
            measured(document).evidence.limits.push(limit);
        });
        let told: Vec<String> = differences([&a, &b]).iter().map(Difference::sentence).collect();
        assert_eq!(
            told,
            [
                "block size in bytes (-b): 65536 and 4096",
                "limits: none and read iops 500 (io.max /x)",
                "scheduler: none and bfq",
                "engine: uring and aio",
                "kernel: 6.1 and 6.8",
            ]
        );
    }

    #[test]
    fn every_member_of_a_profile_has_a_name_of_its_own() {
        let one = named(|_| ());
        let mut names: Vec<String> = profile(&one[0].document).into_iter().map(|fact| fact.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }

    #[test]
    fn a_difference_in_any_target_and_any_time_span_is_told() {
        let one = named(|_| ());
        let told = |change: fn(&mut Document)| -> Vec<String> {
            differences([&one, &named(change)]).iter().map(Difference::sentence).collect()
        };
        let deeper = told(|document| document.profile.time_spans[0].targets[0].request_count = 8);
        assert_eq!(deeper, ["outstanding I/Os (-o): 2 and 8"]);
        let over_all = told(|document| document.profile.time_spans[0].request_count = 8);
        assert_eq!(over_all, ["outstanding I/Os over all targets (-O): 0 and 8"]);
        let longer = told(|document| {
            let mut second = document.profile.time_spans[0].clone();
            second.targets[0].request_count = 8;
            document.profile.time_spans.push(second);
        });
        assert_eq!(longer, ["time spans: 1 and 2", "outstanding I/Os (-o): 2 and 2, then 8"]);
    }

    #[test]
    fn groups_are_compared_as_sets() {
        let engine = |name: &'static str| named(move |document| measured(document).engine = name.into());
        let group =
            |names: &[&'static str]| names.iter().flat_map(|name| engine(name)).collect::<Vec<Named>>();
        assert_eq!(differences([&group(&["uring", "aio"]), &group(&["aio", "uring", "aio"])]), []);
        let told = differences([&group(&["uring"]), &group(&["aio", "uring"])]);
        assert_eq!(told[0].sentence(), "engine: uring and aio, uring");
    }
}

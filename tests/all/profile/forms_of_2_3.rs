//! What is printed in the forms of DiskSpd 2.3: profiles, and the whole examples of `tests/data/diskspd-2.3`.

use std::fs;
use std::path::Path;

use crate::support::words::read;
use crate::xml::results::{document_of, masked_lines};
use diskspd::grammar::parse::Invocation;
use diskspd::render::{profile_text, system_text, text, xml as results};
use roxmltree::Node;
use truespd_core::profile::{Profile, Release, Target, TimeSpan, xml};
use truespd_core::result::{Document, Measured, System, TargetResult, ThreadResult, TimeSpanResult};

use super::diskspd_2_3::{DELIBERATE, DELIBERATE_XML, accepted, cases, whole};

fn example(name: &str) -> String {
    let path = Path::new(crate::support::ROOT).join("tests/data/diskspd-2.3").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// As `-Rpxml --compat 2.3` prints it.
fn printed(profile: &Profile) -> String {
    let mut profile = profile.clone();
    profile.take_release(Release::V2_3);
    xml::write(&profile, 0)
}

#[test]
fn a_profile_with_all_elements_comes_back_byte_for_byte() {
    let wanted = example("profile-all.xml");
    assert_eq!(printed(&xml::read(&wanted).expect("a profile")), wanted);
}

/// Names of settings whose elements hold a value, of the profile, of the time span and of the first target.
const OF_PROFILE: &[(&str, &str)] = &[("verbose", "Verbose"), ("progress", "Progress")];
const OF_TIME_SPAN: &[(&str, &str)] = &[
    ("duration", "Duration"),
    ("warmup", "Warmup"),
    ("cooldown", "Cooldown"),
    ("seed", "RandSeed"),
    ("latency", "MeasureLatency"),
    ("iops", "CalculateIopsStdDev"),
    ("routines", "CompletionRoutines"),
    ("noaffinity", "DisableAffinity"),
    ("pool", "ThreadCount"),
    ("poolreq", "RequestCount"),
    ("separation", "BufferSeparation"),
    ("depth", "CompletionDepth"),
    ("traversal", "AffinityTraversal"),
];
const OF_TARGET: &[(&str, &str)] = &[
    ("path", "Path"),
    ("block", "BlockSize"),
    ("base", "BaseFileOffset"),
    ("max", "MaxFileSize"),
    ("file", "FileSize"),
    ("stride", "StrideSize"),
    ("align", "Random"),
    ("ratio", "RandomRatio"),
    ("write", "WriteRatio"),
    ("o", "RequestCount"),
    ("t", "ThreadsPerFile"),
    ("tstride", "ThreadStride"),
    ("prio", "IOPriority"),
    ("large", "UseLargePages"),
    ("parallel", "ParallelAsyncIO"),
    ("inter", "InterlockedSequential"),
    ("burst", "BurstSize"),
    ("think", "ThinkTime"),
    ("seqhint", "SequentialScan"),
    ("rndhint", "RandomAccess"),
    ("tmphint", "TemporaryFile"),
    ("flush", "FlushType"),
    ("map", "MemoryMappedIo"),
    ("through", "WriteThrough"),
    ("bypass", "BypassIO"),
];
/// They stand there only when they are true.
const FLAGS: &[&str] = &["map", "through"];

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|one| one.has_tag_name(name))
}

fn value_of(node: Node<'_, '_>, name: &str) -> String {
    child(node, name).map_or("none", |one| one.text().unwrap_or("")).to_string()
}

/// A setting as a printed profile has it; `None` for a name that is not known.
fn setting(span: Node<'_, '_>, name: &str) -> Option<String> {
    let targets = child(span, "Targets")?;
    let target = child(targets, "Target")?;
    if let Some((_, element)) = OF_TIME_SPAN.iter().find(|(known, _)| *known == name) {
        return Some(value_of(span, element));
    }
    if let Some((_, element)) = OF_TARGET.iter().find(|(known, _)| *known == name) {
        let found = value_of(target, element);
        return Some(if found == "none" && FLAGS.contains(&name) { "false".to_string() } else { found });
    }
    let traversal = child(span, "AffinityTraversal");
    let ring = child(span, "IoRing");
    match name {
        "targets" => Some(targets.children().filter(|one| one.has_tag_name("Target")).count().to_string()),
        "span" => Some(traversal?.attribute("Group")?.to_string()),
        "order" => Some(traversal?.attribute("Efficiency")?.to_string()),
        "masks" => Some(masks(span)),
        "ring" => Some(match ring.map(|ring| value_of(ring, "UseRegBuffer")).as_deref() {
            None => "none".to_string(),
            Some("true") => "registered".to_string(),
            Some(_) => "unregistered".to_string(),
        }),
        "batch" => {
            let size = child(ring?, "IoRingBatchSize")?;
            let sign = if size.attribute("Percent") == Some("true") { "%" } else { "" };
            Some(format!("{}{sign}", size.text()?))
        }
        "cache" if child(target, "DisableOSCache").is_some() => Some("os".to_string()),
        "cache" if child(target, "DisableLocalCache").is_some() => Some("local".to_string()),
        "cache" => Some("default".to_string()),
        "rate" => {
            let rate = child(target, "Throughput")?;
            Some(format!("{}{}", rate.text()?, rate.attribute("unit").unwrap_or_default()))
        }
        "content" => Some(value_of(child(target, "WriteBufferContent")?, "Pattern")),
        "source" => {
            let source = child(child(target, "WriteBufferContent")?, "RandomDataSource");
            Some(source.map_or("none".to_string(), |source| value_of(source, "SizeInBytes")))
        }
        "dist" => Some(distribution(target)),
        _ => None,
    }
}

fn masks(span: Node<'_, '_>) -> String {
    let Some(list) = child(span, "Affinity") else { return "none".to_string() };
    let mut words = Vec::new();
    for group in list.children().filter(|one| one.has_tag_name("Group")) {
        let [number, mask] = ["Group", "Mask"].map(|name| group.attribute(name).expect("both"));
        words.push(format!("{number}:{mask}"));
    }
    words.join(",")
}

fn distribution(target: Node<'_, '_>) -> String {
    let Some(list) = child(target, "Distribution").and_then(|one| one.first_element_child()) else {
        return "none".to_string();
    };
    let kind = if list.has_tag_name("Percent") { "pct" } else { "abs" };
    let mut words = Vec::new();
    for range in list.children().filter(|one| one.has_tag_name("Range")) {
        words.push(format!(
            "{}/{}",
            range.attribute("IO").expect("a share"),
            range.text().expect("a length")
        ));
    }
    format!("{kind}:{}", words.join(","))
}

/// What a printed profile has otherwise than a case wants.
fn differences(printed: &str, wanted: &str) -> Vec<String> {
    let parsed = roxmltree::Document::parse(printed).expect("is XML");
    let profile = parsed.root_element();
    let spans = child(profile, "TimeSpans").expect("has time spans");
    let span = child(spans, "TimeSpan").expect("has one");
    let mut wrong = Vec::new();
    for (name, wanted) in wanted.split(';').filter_map(|pair| pair.split_once('=')) {
        let of_profile = OF_PROFILE.iter().find(|(known, _)| *known == name);
        match of_profile.map(|(_, element)| value_of(profile, element)).or_else(|| setting(span, name)) {
            Some(found) if found == wanted => {}
            None if wanted == "none" || name == "out" => {}
            found => wrong.push(format!("{name}={} instead of {wanted}", found.unwrap_or_default())),
        }
    }
    wrong
}

#[test]
fn profiles_of_fragments_are_printed_with_their_settings() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../data/diskspd-2.3/cases-xml.tsv")) {
        let [place, fragment, arguments, verdict, wanted, ..] = case[..] else { panic!("{case:?}") };
        if verdict == "refused" || DELIBERATE_XML.contains(&fragment) {
            continue;
        }
        let profile =
            accepted(&whole(place, fragment), arguments).expect("another test says that it is read");
        let text = printed(&profile);
        wrong.extend(differences(&text, wanted).iter().map(|words| format!("{place} {fragment}: {words}")));
        let again = xml::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(printed(&again), text, "{fragment}");
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn profiles_of_lines_are_printed_with_their_settings() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../data/diskspd-2.3/cases-cmdline.tsv")) {
        let [line, verdict, wanted, ..] = case[..] else { panic!("{case:?}") };
        if verdict == "refused" || DELIBERATE.contains(&line) || line.contains("-Rs") {
            continue;
        }
        let Ok(Invocation::Run(request)) = read(&format!("--compat 2.3 {line}")) else {
            panic!("another test says that this is accepted: {line}");
        };
        if request.profile_file.is_none() {
            let text = xml::write(&request.profile, 0);
            wrong.extend(differences(&text, wanted).iter().map(|words| format!("{line}: {words}")));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_form_of_2_2_keeps_what_only_2_3_knows() {
    let line = "-u40p -ag0,1-2 -acs -bsp -oc7 -Suy f";
    let Ok(Invocation::Run(request)) = read(line) else { panic!("it is accepted") };
    let text = xml::write(&request.profile, 0);
    for element in [
        "<IoRingBatchSize Percent=\"true\">40</IoRingBatchSize>",
        "<AffinityTraversal Group=\"Span\" Efficiency=\"PFirst\">CoreAware</AffinityTraversal>",
        "<AffinityGroupAssignment Group=\"0\" Processor=\"2\"/>",
        "<BufferSeparation>PDECacheLine</BufferSeparation>",
        "<CompletionDepth>7</CompletionDepth>",
        "<BypassIO>Partial</BypassIO>",
    ] {
        assert!(text.contains(element), "{element}\n{text}");
    }
    let Ok(Invocation::Run(request)) = read("f") else { panic!("it is accepted") };
    let text = xml::write(&request.profile, 0);
    for element in ["IoRing", "AffinityTraversal", "BufferSeparation", "CompletionDepth", "BypassIO"] {
        assert!(!text.contains(element), "{element}\n{text}");
    }
}

/// A document with one result on a target of this size.
fn of_size(size_bytes: u64) -> Document {
    let target = TargetResult {
        path: "f".to_string(),
        size_bytes,
        read: Default::default(),
        write: Default::default(),
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    };
    let threads = vec![ThreadResult { targets: vec![target], ..ThreadResult::default() }];
    let measured = Measured { test_time_s: 1.0, threads, ..Measured::default() };
    let span =
        TimeSpan { targets: vec![Target { path: "f".into(), ..Target::default() }], ..TimeSpan::default() };
    Document {
        profile: Profile { release: Release::V2_3, time_spans: vec![span], ..Profile::default() },
        time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
        ..Document::default()
    }
}

#[test]
fn sizes() {
    for case in cases(include_str!("../../data/diskspd-2.3/cases-size.tsv")) {
        let [bytes, words, ..] = case[..] else { panic!("{case:?}") };
        let text = text(&of_size(bytes.parse().expect("a number")));
        assert!(text.contains(&format!("| f ({words})\n")), "{bytes}: {words}\n{text}");
    }
}

/// A line without the figures of latencies that a document made of a result cannot have: those over several threads or
/// over reads and writes, and the rows of the charts but their labels.
struct Masker {
    /// Each of its rows is of one thread and target, and of reads or of writes.
    is_of_one_direction: bool,
    /// Columns with figures of latencies.
    columns: Vec<usize>,
}

impl Masker {
    fn masked(&mut self, line: &str) -> String {
        let cells: Vec<&str> = line.split('|').collect();
        if line.starts_with("thread |") || line.starts_with("  %-ile |") {
            let hidden = cells.iter().enumerate().filter(|(_, name)| {
                let name = name.trim();
                name == "AvgLat" || name == "LatStdDev" || name.ends_with("(ms)")
            });
            self.columns = hidden.map(|(place, _)| place).collect();
            return line.to_string();
        }
        if line.is_empty() {
            self.columns.clear();
            self.is_of_one_direction = false;
        }
        if matches!(line, "Read IO" | "Write IO") {
            self.is_of_one_direction = true;
        }
        if self.is_of_one_direction && !line.starts_with("total:") {
            return line.to_string();
        }
        let mut out = Vec::new();
        for (place, cell) in cells.iter().enumerate() {
            // The sums have no column of threads.
            let place = if cells[0].starts_with("total:") && !cells[0].trim_end().ends_with(':') {
                place + 1
            } else {
                place
            };
            let is_figure = cell.trim().parse::<f64>().is_ok();
            out.push(if self.columns.contains(&place) && is_figure {
                "#".repeat(cell.trim_end().len())
            } else {
                (*cell).to_string()
            });
        }
        out.join("|")
    }
}

fn masked_text(text: &str) -> Vec<String> {
    let mut masker = Masker { is_of_one_direction: false, columns: Vec::new() };
    text.lines().map(|line| masker.masked(line)).collect()
}

fn assert_same(ours: &[String], theirs: &[String], name: &str) {
    for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "{name}, line {}", number + 1);
    }
    assert_eq!(ours.len(), theirs.len(), "{name}");
}

/// The runs of the examples: command line, name of the power scheme in the text, and start.
const RUNS: [(&str, &str, &str, &str, i64); 2] = [
    (
        "result-basic.xml",
        "text-basic.txt",
        "diskspd -c1536M -b8K -d6 -W2 -r -t3 -o4 -w25 -L -D -Sh scratch.bin",
        "High performance (0b1f6c52-7d11-4a8e-9a55-2f0c7c3d9e10)",
        1_790_926_869,
    ),
    (
        "result-ioring.xml",
        "text-ioring-groups.txt",
        "diskspd -Xgroups.xml -vs -Rtext",
        "Balanced (381b4222-f694-41f0-9685-ff5bb260df2e)",
        1_790_932_530,
    ),
];

#[test]
fn whole_results_have_the_lines_of_the_examples() {
    for (xml_name, text_name, command, power_scheme, start_unix_s) in RUNS {
        let wanted = example(xml_name);
        let mut document = document_of(&wanted);
        document.system.start_unix_s = Some(start_unix_s);
        let ours = results::results(&document);
        assert_same(&masked_lines(&ours), &masked_lines(&wanted), xml_name);
        assert!(!ours.ends_with('\n') && !wanted.ends_with('\n'), "{xml_name}");
        // Elements that stand masked above.
        let start = wanted.lines().find(|line| line.contains("RunTime")).expect("a start");
        assert!(ours.contains(start), "{start}");

        document.command_line = command.split(' ').map(str::to_string).collect();
        document.system.power_scheme = power_scheme.to_string();
        let (ours, wanted) = (text(&document), example(text_name));
        assert_same(&masked_text(&ours), &masked_text(&wanted), text_name);
        assert!(ours.ends_with('\n'), "{text_name}");
        // What stands before the results has no figure of a latency.
        let parameters = profile_text(&document.command_line, &document.profile, &document.system);
        let before = parameters + &system_text(&document.system, Release::V2_3);
        assert!(wanted.starts_with(&before), "{text_name}");
    }
}

/// A document of a version that knew nothing of 2.3 has no invented figure.
#[test]
fn what_a_document_does_not_tell_is_left_out() {
    let mut document = document_of(&example("result-basic.xml"));
    document.system = System { topology: document.system.topology.clone(), ..System::default() };
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("it was measured") };
    measured.in_effect = None;
    let (text, xml) = (text(&document), results::results(&document));
    assert!(text.contains("  processor name:       <unknown>\n"), "{text}");
    assert!(text.contains("    buffer separation: thread optimized\n"), "{text}");
    for words in ["page size", "cache information", "effective affinity"] {
        assert!(!text.contains(words), "{words}\n{text}");
    }
    for name in ["PageSize", "<Cache", "EffectiveAffinity", "EffectiveBufferSeparation"] {
        assert!(!xml.contains(name), "{name}\n{xml}");
    }
}

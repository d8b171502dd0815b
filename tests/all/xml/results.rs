//! XML results: under a strict reader for every combination of options, and line by line against what the
//! original and the contract's samples say for the same numbers.

use std::fs;
use std::path::Path;

use crate::support::documents::{MIXES, Mix, Recipe, document, recipes};
use crate::support::strict_xml::check;
use diskspd::render::{format, xml};
use roxmltree::Node;
use truespd_core::measure::{Histogram, Intervals};
use truespd_core::profile::{Release, TimeSpan, xml as profile_xml};
use truespd_core::result::{
    CpuUse, Direction, DistributionPart, Document, InEffect, Measured, System, TargetResult, ThreadResult,
    TimeSpanResult, WaitStatistics,
};
use truespd_platform::machine::processor_caches::{ProcessorCache, ProcessorCacheKind};
use truespd_platform::machine::topology::{CpuSet, Processor, Topology};

/// Name and text of every result in a folder.
fn results_in(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(crate::support::ROOT).join("tests/data/xml").join(folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the data is there") {
        let path = entry.expect("entry is readable").path();
        let text = fs::read_to_string(&path).expect("is text");
        // Progress dots stand before the document, and the original does not escape.
        let text = text.trim_start_matches('.').replace("\"<unknown>\"", "\"&lt;unknown&gt;\"");
        if text.starts_with("<Results>") {
            found.push((path.file_name().expect("a file").to_string_lossy().into_owned(), text));
        }
    }
    found.sort();
    found
}

/// The recording machine told of no NUMA node; a system has at least one.
fn with_node(text: &str) -> String {
    let node = "      <Node Node=\"0\">\n        <Group Group=\"0\" Mask=\"0x3\"/>\n      </Node>\n";
    text.replacen("      <Socket", &format!("{node}      <Socket"), 1)
}

fn originals() -> Vec<(String, String)> {
    let mut all: Vec<_> =
        results_in("genuine").into_iter().map(|(name, text)| (name, with_node(&text))).collect();
    assert_eq!(all.len(), 21);
    all.extend(results_in("samples"));
    assert_eq!(all.len(), 25);
    all
}

#[test]
fn the_strict_reader_accepts_what_the_original_wrote() {
    for (name, text) in originals() {
        check(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

const SPANS: [&[bool]; 4] = [&[true], &[false], &[true, true], &[true, false, true]];

/// Options against each other; what is independent of them rotates along.
fn all_recipes() -> Vec<Recipe> {
    recipes(&MIXES, |recipe, mix, index| {
        recipe.mix = *mix;
        recipe.spans = SPANS[index / 3 % SPANS.len()];
    })
}

/// What the generator of documents leaves as a whole: a pool has one thread per file.
fn written(recipe: &Recipe, seed: u64) -> String {
    let mut document = document(recipe, seed);
    for span in document.profile.time_spans.iter_mut().filter(|span| span.thread_count > 0) {
        span.targets.iter_mut().for_each(|target| target.threads_per_file = 1);
    }
    xml::results(&document)
}

#[test]
fn every_combination_is_read_strictly() {
    let recipes = all_recipes();
    assert_eq!(recipes.len(), 1536);
    for (seed, recipe) in recipes.iter().enumerate() {
        let text = written(recipe, seed as u64);
        if let Err(fault) = check(&text) {
            panic!("{recipe:?}\n{fault}\n{text}");
        }
        let words = text.split(|c: char| !c.is_alphabetic());
        assert!(!words.map(str::to_lowercase).any(|word| word == "nan" || word == "inf"), "{text}");
    }
}

/// A line removed, doubled, or exchanged with the next is noticed: the reader is strict.
#[test]
fn damaged_results_are_not_accepted() {
    let rich = Recipe { targets: 2, threads: 2, spans: &[true, false], ..Recipe::RICH };
    let text = written(&rich, 7);
    check(&text).expect("is right as it is");
    let lines: Vec<&str> = text.split('\n').collect();
    // The profile is checked by other tests.
    let start = lines.iter().position(|line| line.trim() == "</Profile>").expect("has a profile") + 1;
    let (mut tried, mut missed) = (0, Vec::new());
    for i in (0..14).chain(start..lines.len()) {
        let mut without = lines.clone();
        without.remove(i);
        let mut doubled = lines.clone();
        doubled.insert(i, lines[i]);
        let mut swapped = lines.clone();
        if i + 1 < lines.len() && lines[i] != lines[i + 1] {
            swapped.swap(i, i + 1);
        } else {
            swapped.remove(0);
        }
        // Another number format: the first digit after a ">" or a quote gets a zero before it.
        let figure = lines[i].replacen(['>'], ">0", 1).replacen("=\"", "=\"0", 1);
        let mut reformatted = lines.clone();
        reformatted[i] = &figure;
        for (what, damaged) in
            [("without", without), ("doubled", doubled), ("swapped", swapped), ("reformatted", reformatted)]
        {
            tried += 1;
            if check(&damaged.join("\n")).is_ok() {
                missed.push(format!("{what}: {}", lines[i].trim()));
            }
        }
    }
    // What is legal either way: names, a range more or less, a deviation of one direction, and a series of
    // one thread that ends an interval earlier.
    let legal = |line: &str| {
        line.starts_with("without: <Bucket SampleMillisecond=\"2100\"")
            || [
                "ComputerName",
                "PowerScheme",
                "<Range",
                "<Path>",
                "IopsStdDev",
                "LookasideCompletion",
                "<Error>",
            ]
            .iter()
            .any(|name| line.contains(name))
    };
    let wrong: Vec<_> = missed.iter().filter(|line| !legal(line)).collect();
    assert!(tried > 2000 && wrong.is_empty(), "{} of {tried}: {wrong:#?}", missed.len());
    assert!(missed.len() < tried / 50, "{missed:#?}");
}

/// A document with the numbers of a result, as far as the result tells them. One that names the processor is of 2.3.
pub(crate) fn document_of(text: &str) -> Document {
    let parsed = roxmltree::Document::parse(text).expect("is XML");
    let root = parsed.root_element();
    let profile = &text[child(root, "Profile").range()];
    let mut profile = profile_xml::read(profile).expect("is a profile");
    let about = child(root, "System");
    let processor_name = children(about, "ProcessorName").next().map(text_of).unwrap_or_default().to_string();
    if !processor_name.is_empty() {
        profile.release = Release::V2_3;
    }
    let spans: Vec<Node<'_, '_>> = children(root, "TimeSpan").collect();
    let time_spans =
        spans.iter().zip(&profile.time_spans).map(|(node, span)| time_span_of(*node, span)).collect();
    let system = System {
        computer_name: text_of(child(about, "ComputerName")).to_string(),
        start_unix_s: None,
        topology: topology_of(root),
        processor_name,
        page_bytes: children(about, "PageSize").next().and_then(|node| text_of(node).parse().ok()),
        caches: children(child(about, "ProcessorTopology"), "Cache").map(cache_of).collect(),
        power_scheme: child(about, "PowerScheme").attribute("Name").expect("has it").to_string(),
        ..System::default()
    };
    Document { command_line: Vec::new(), profile, system, time_spans, ..Document::default() }
}

fn cache_of(node: Node<'_, '_>) -> ProcessorCache {
    let cpus = children(node, "Group").flat_map(cpus_of).collect();
    ProcessorCache {
        level: attribute(node, "Level"),
        kind: match node.attribute("Type").expect("has a type") {
            "Unified" => ProcessorCacheKind::Unified,
            "Instruction" => ProcessorCacheKind::Instruction,
            "Data" => ProcessorCacheKind::Data,
            "Trace" => ProcessorCacheKind::Trace,
            _ => ProcessorCacheKind::Unknown,
        },
        associativity: attribute(node, "Associativity"),
        line_bytes: attribute(node, "LineSize"),
        size_bytes: attribute(node, "CacheSize"),
        processors: CpuSet::new(cpus),
    }
}

fn attribute<T: std::str::FromStr>(node: Node<'_, '_>, name: &str) -> T {
    let value = node.attribute(name).unwrap_or_else(|| panic!("no {name}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is no number"))
}

/// Kernel ids of the processors of a `Group` with a `Mask`, ascending.
fn cpus_of(node: Node<'_, '_>) -> Vec<u32> {
    let group: u32 = attribute(node, "Group");
    let mask = node.attribute("Mask").expect("has a mask").trim_start_matches("0x");
    let mask = u64::from_str_radix(mask, 16).expect("is hexadecimal");
    (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| 64 * group + bit).collect()
}

/// What 2.3 tells of processors and buffers.
fn in_effect_of(node: Node<'_, '_>) -> Option<InEffect> {
    let separation = children(node, "EffectiveBufferSeparation").next()?;
    let masks = children(node, "EffectiveAffinity").flat_map(|list| children(list, "Group"));
    Some(InEffect {
        processors: masks.flat_map(cpus_of).collect(),
        buffer_separation_bytes: text_of(separation).parse().expect("a number"),
        dispatch: Vec::new(),
    })
}

fn waits_of(thread: Node<'_, '_>) -> WaitStatistics {
    let submits = children(thread, "SubmitCount").next().and_then(|node| text_of(node).parse().ok());
    let Some(node) = children(thread, "WaitStatistics").next() else {
        return WaitStatistics { submits, ..WaitStatistics::default() };
    };
    WaitStatistics {
        completion_waits: number(node, "CompletionWait"),
        throttle_waits: number(node, "ThrottleWait"),
        throttle_sleeps: number(node, "ThrottleSleep"),
        lookasides: number(node, "Lookaside"),
        lookaside_completions: eight(child(node, "LookasideCompletion")),
        wait_completions: children(node, "WaitCompletion").next().map(eight),
        submits,
    }
}

fn eight(node: Node<'_, '_>) -> [u64; 8] {
    let numbers: Vec<u64> = text_of(node).split(' ').map(|word| word.parse().expect("a number")).collect();
    numbers.try_into().expect("eight numbers")
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Node<'a, 'a> {
    children(node, name).next().unwrap_or_else(|| panic!("{} has no {name}", node.tag_name().name()))
}

fn children<'a>(node: Node<'a, 'a>, name: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |n| n.tag_name().name() == name)
}

fn text_of<'a>(node: Node<'a, 'a>) -> &'a str {
    node.text().unwrap_or("")
}

fn number<T: std::str::FromStr>(node: Node<'_, '_>, name: &str) -> T {
    let node = node.children().find(|n| n.tag_name().name() == name).expect("is there");
    node.text().unwrap_or("").parse().unwrap_or_else(|_| panic!("{name} is no number"))
}

/// From the processors of the first time span that was measured; else two plain ones.
fn topology_of(root: Node<'_, '_>) -> Topology {
    let rows: Vec<_> = root.descendants().filter(|n| n.tag_name().name() == "CPU").collect();
    let first = rows.first().and_then(|row| row.parent());
    let rows = rows.iter().filter(|row| row.parent() == first);
    let mut processors: Vec<Processor> = rows
        .map(|row| Processor {
            cpu: 64 * number::<u32>(*row, "Group") + number::<u32>(*row, "Id"),
            group: number(*row, "Group"),
            number: number(*row, "Id"),
            core: number(*row, "Core"),
            physical_core: 64 * number::<u32>(*row, "Group") + number::<u32>(*row, "Core"),
            socket: number(*row, "Socket"),
            node: number(*row, "Node"),
            efficiency_class: number(*row, "EfficiencyClass"),
        })
        .collect();
    if processors.is_empty() {
        let plain = |cpu| Processor {
            cpu,
            group: 0,
            number: cpu,
            core: cpu,
            physical_core: cpu,
            socket: 0,
            node: 0,
            efficiency_class: 0,
        };
        processors = vec![plain(0), plain(1)];
    }
    let count = |of: fn(&Processor) -> u32| processors.iter().map(of).max().unwrap_or(0) + 1;
    let (nodes, sockets, groups) = (count(|p| p.node), count(|p| p.socket), count(|p| p.group));
    Topology { processors, nodes, sockets, groups, cpus_possible: None }
}

fn time_span_of(node: Node<'_, '_>, span: &TimeSpan) -> TimeSpanResult {
    if node.children().any(|n| n.tag_name().name() == "Error") {
        return TimeSpanResult::NotMeasured;
    }
    let cpu = node.descendants().filter(|n| n.tag_name().name() == "CPU").map(|row| CpuUse {
        user: number(row, "UserPercent"),
        kernel: number(row, "KernelPercent"),
        idle: number(row, "IdlePercent"),
    });
    let threads = node.children().filter(|n| n.tag_name().name() == "Thread").map(|thread| ThreadResult {
        id: number(thread, "Id"),
        source: None,
        targets: thread
            .children()
            .filter(|n| n.tag_name().name() == "Target")
            .map(|target| target_of(target, span))
            .collect(),
        waits: waits_of(thread),
    });
    // A run of no time at all still has its figures; the document keeps more digits than are written.
    let test_time_s = number::<f64>(node, "TestTimeSeconds").max(1e-4);
    TimeSpanResult::Measured(Box::new(Measured {
        test_time_s,
        cpu: cpu.collect(),
        threads: threads.collect(),
        in_effect: in_effect_of(node),
        ..Measured::default()
    }))
}

fn target_of(node: Node<'_, '_>, span: &TimeSpan) -> TargetResult {
    let direction = |name: &str| {
        let ios = number(node, &format!("{name}Count"));
        Direction {
            bytes: number(node, &format!("{name}Bytes")),
            ios,
            latency: span.measure_latency.then(|| Box::new(latency_of(node, name, ios))),
            intervals: span.calculate_iops_std_dev.then(|| series_of(node, name, span)),
            ..Direction::default()
        }
    };
    let mut end_bytes = 0;
    let mut io_start = 0;
    let parts = node.descendants().filter(|n| n.tag_name().name() == "Range").map(|range| {
        let length_bytes = range.text().expect("has a length").parse().expect("is a number");
        let io_percent = range.attribute("IO").expect("has a share").parse().expect("is a number");
        let part = DistributionPart { io_start, io_percent, offset_bytes: end_bytes, length_bytes };
        end_bytes += length_bytes;
        io_start += io_percent;
        part
    });
    // A hole is what lies between two parts.
    let parts: Vec<_> = parts.filter(|part| part.io_percent > 0).collect();
    TargetResult {
        path: node
            .children()
            .find(|n| n.tag_name().name() == "Path")
            .and_then(|n| n.text())
            .unwrap_or("")
            .to_string(),
        size_bytes: number(node, "FileSize"),
        read: direction("Read"),
        write: direction("Write"),
        distribution: (!parts.is_empty()).then_some(parts),
        short_transfers: 0,
        ..TargetResult::default()
    }
}

/// As many latencies as I/Os, with the mean and the deviation that the result tells: some below the mean, the others
/// above it.
fn latency_of(node: Node<'_, '_>, name: &str, ios: u64) -> Histogram {
    let mut latency = Histogram::new();
    let mean = children(node, &format!("Average{name}LatencyMilliseconds")).next();
    let deviation = children(node, &format!("{name}LatencyStdev")).next();
    let (Some(mean), Some(deviation)) = (mean, deviation) else {
        (0..ios).for_each(|i| latency.record(1000 + i));
        return latency;
    };
    let mean: f64 = text_of(mean).parse().expect("a number");
    let deviation: f64 = text_of(deviation).parse().expect("a number");
    // So many that the others need not be negative.
    let share = deviation.powi(2) / (mean.powi(2) + deviation.powi(2));
    let below = ((ios as f64 * share).ceil() as u64).max(ios / 2);
    let above = ios - below;
    let ratio = if above == 0 { 0.0 } else { (above as f64 / below as f64).sqrt() };
    for i in 0..ios {
        let ms = if i < below { mean - deviation * ratio } else { mean + deviation / ratio };
        latency.record((ms * 1e6).round() as u64);
    }
    latency
}

fn series_of(node: Node<'_, '_>, name: &str, span: &TimeSpan) -> Intervals {
    let interval_ns = u64::from(span.io_bucket_ms) * 1_000_000;
    let mut series = Intervals::new(interval_ns, u64::from(span.duration_s) * 1_000_000_000);
    let buckets = node.descendants().filter(|n| n.tag_name().name() == "Bucket");
    for (index, bucket) in buckets.enumerate() {
        let rate: u64 = bucket.attribute(name).expect("has a rate").parse().expect("is a number");
        let count = (rate as f64 * interval_ns as f64 / 1e9).round() as u64;
        (0..count).for_each(|i| series.record(index as u64 * interval_ns, 1000 + i));
    }
    series
}

/// Where a line stands, as far as masks depend on it.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Average,
    Target,
    Other,
}

/// Figures of a target that [`latency_of`] keeps.
const OF_TARGET: [&str; 4] = [
    "AverageReadLatencyMilliseconds",
    "ReadLatencyStdev",
    "AverageWriteLatencyMilliseconds",
    "WriteLatencyStdev",
];

/// A line without the figures that a document made from a result cannot have: latencies and deviations over several
/// threads or at a time, percentiles, the moment, and means of rounded figures.
fn masked(line: &str, within: Within) -> String {
    let name = line.trim_start().trim_start_matches('<').split(['>', ' ', '/']).next().unwrap_or("");
    let is_latency = name.contains("Latency") || name.contains("Milliseconds") || name.contains("StdDev");
    let hidden = match name {
        "RunTime" => true,
        "UsagePercent" | "UserPercent" | "KernelPercent" | "IdlePercent" => {
            within == Within::Average || name == "UsagePercent"
        }
        "TestTimeSeconds" => false,
        _ if within == Within::Target && OF_TARGET.contains(&name) => false,
        _ => is_latency && line.contains("</"),
    };
    if hidden {
        let end = line.find('>').expect("a tag") + 1;
        return format!("{}…", &line[..end]);
    }
    let mut out = String::new();
    for part in line.split_inclusive("=\"") {
        let masks = out.ends_with("=\"") && {
            let before = out.trim_end_matches("=\"");
            let attribute = before.rsplit(' ').next().unwrap_or("");
            attribute.contains("Latency") || attribute.ends_with("HistoBuckets") || attribute == "Guid"
        };
        match part.split_once('"').filter(|_| masks) {
            Some((_, rest)) => out.push_str(&format!("…\"{rest}")),
            None => out.push_str(part),
        }
    }
    out
}

pub(crate) fn masked_lines(text: &str) -> Vec<String> {
    let mut within = Within::Other;
    text.lines()
        .map(|line| {
            match line.trim() {
                "<Average>" => within = Within::Average,
                "<Target>" => within = Within::Target,
                "</Average>" | "</Target>" => within = Within::Other,
                _ => {}
            }
            masked(line, within)
        })
        .collect()
}

/// Same elements, same order, same formats, and wherever a figure follows from the document the same
/// figure.
#[test]
fn the_original_and_the_renderer_write_the_same_lines() {
    for (name, text) in originals() {
        let ours = xml::results(&document_of(&text));
        check(&ours).unwrap_or_else(|fault| panic!("{name}: {fault}\n{ours}"));
        let (theirs, ours) = (masked_lines(&text), masked_lines(&ours));
        for (number, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            assert_eq!(ours, theirs, "{name}, line {}", number + 1);
        }
        assert_eq!(ours.len(), theirs.len(), "{name}");
    }
}

#[test]
fn masks_hide_figures_and_nothing_else() {
    let masked = |line| masked(line, Within::Other);
    assert_eq!(masked("  <ReadMilliseconds>0.028</ReadMilliseconds>"), "  <ReadMilliseconds>…");
    assert_eq!(masked("<IdlePercent>1.00</IdlePercent>"), "<IdlePercent>1.00</IdlePercent>");
    assert_eq!(masked("<IOCount>97</IOCount>"), "<IOCount>97</IOCount>");
    assert_eq!(
        masked("<Bucket Read=\"1\" ReadLatencyStdDev=\"0.1\" Total=\"2\"/>"),
        "<Bucket Read=\"1\" ReadLatencyStdDev=\"…\" Total=\"2\"/>"
    );
}

/// Figures by hand.
#[test]
fn figures_are_those_of_the_definitions() {
    let recipe = Recipe { latency: true, iops: true, waits: true, mix: Mix::Nothing, ..Recipe::PLAIN };
    let mut document = document(&recipe, 1);
    let span = &mut document.profile.time_spans[0];
    (span.duration_s, span.io_bucket_ms) = (2, 500);
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("is measured") };
    measured.test_time_s = 2.005;
    measured.cpu = vec![
        CpuUse { user: 30.0, kernel: 25.0, idle: 45.0 },
        CpuUse { user: f64::NAN, kernel: f64::NAN, idle: f64::INFINITY },
    ];
    let target = &mut measured.threads[0].targets[0];
    let mut latency = Histogram::new();
    let mut intervals = Intervals::new(500_000_000, 2_000_000_000);
    for (at_ms, latency_us) in [(100, 1000), (200, 2000), (600, 3000), (1600, 6000)] {
        latency.record(latency_us * 1000);
        intervals.record(at_ms * 1_000_000, latency_us * 1000);
    }
    let (latency, intervals) = (Some(latency), Some(intervals));
    target.read =
        Direction { bytes: 16384, ios: 4, latency: latency.map(Box::new), intervals, ..Direction::default() };
    target.write = Direction {
        latency: Some(Box::new(Histogram::new())),
        intervals: Some(Intervals::new(500_000_000, 2_000_000_000)),
        ..Direction::default()
    };
    let waits = WaitStatistics {
        completion_waits: 5,
        lookaside_completions: [1, 2, 3, 4, 5, 6, 7, 8],
        ..WaitStatistics::default()
    };
    measured.threads[0].waits = waits;
    let text = xml::results(&document);
    check(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    for line in [
        "<TestTimeSeconds>2.00</TestTimeSeconds>",
        "<UsagePercent>55.00</UsagePercent>",
        "<IdlePercent>100.00</IdlePercent>",
        "<IdlePercent>72.50</IdlePercent>",
        "<Latency ReadHistoBuckets=\"4\" WriteHistoBuckets=\"0\" TotalHistoBuckets=\"4\">",
        "<AverageReadMilliseconds>3.000</AverageReadMilliseconds>",
        // Deviations -2 -1 0 3: the root of 14 / 4.
        "<ReadLatencyStdev>1.871</ReadLatencyStdev>",
        "<ReadMilliseconds>1.000</ReadMilliseconds>",
        "<ReadMilliseconds>6.000</ReadMilliseconds>",
        // Counts 2 1 0 1 over half a second: the root of 1/2, twice.
        "<ReadIopsStdDev>1.414</ReadIopsStdDev>",
        "<Bucket SampleMillisecond=\"500\" Read=\"4\" Write=\"0\" Total=\"4\" ReadMinLatencyMilliseconds=\"1.000\" \
         ReadMaxLatencyMilliseconds=\"2.000\" ReadAvgLatencyMilliseconds=\"1.500\" ReadLatencyStdDev=\"0.500\" \
         WriteMinLatencyMilliseconds=\"0.000\" WriteMaxLatencyMilliseconds=\"0.000\" \
         WriteAvgLatencyMilliseconds=\"0.000\" WriteLatencyStdDev=\"0.000\"/>",
        "<CompletionWait>5</CompletionWait>",
        "<LookasideCompletion>1 2 3 4 5 6 7 8</LookasideCompletion>",
    ] {
        assert!(text.lines().any(|found| found.trim() == line), "{line}\n{text}");
    }
    assert!(!text.contains("WriteIopsStdDev") && !text.contains("WriteMilliseconds"), "{text}");
    assert_eq!(text.matches("<Bucket SampleMillisecond").count(), 2 * 4);
}

#[test]
fn names_are_escaped() {
    let mut document = document(&Recipe::PLAIN, 3);
    let odd = "a&b<c>\"d'\n\u{1b}[2J\u{e9}";
    document.system.computer_name = odd.to_string();
    document.system.power_scheme = "<unknown>".to_string();
    document.profile.time_spans[0].targets[0].path = odd.to_string();
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("is measured") };
    measured.threads[0].targets[0].path = odd.to_string();
    let text = xml::results(&document);
    check(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let parsed = roxmltree::Document::parse(&text).expect("is well-formed");
    let readable = odd.replace('\u{1b}', "\u{fffd}");
    let paths: Vec<_> =
        parsed.descendants().filter(|n| n.tag_name().name() == "Path").filter_map(|n| n.text()).collect();
    assert_eq!(paths, [readable.as_str(); 2]);
    let scheme = parsed.descendants().find(|n| n.tag_name().name() == "PowerScheme").expect("is there");
    assert_eq!(scheme.attribute("Name"), Some("<unknown>"));
}

#[test]
fn the_system_alone_is_that_of_the_whole() {
    let recipe = all_recipes().pop().expect("there are some");
    let document = document(&recipe, 1);
    let alone = xml::system(&document.system, document.profile.release);
    let indented: String = alone.lines().map(|line| format!("  {line}\n")).collect();
    assert!(xml::results(&document).contains(&indented));
    assert!(alone.starts_with("<System>\n") && alone.ends_with("</System>\n"));
}

#[test]
fn a_document_that_broke_off_has_every_time_span() {
    let mut document = document(&Recipe { spans: &[true, true], ..all_recipes()[0] }, 1);
    document.time_spans.truncate(1);
    let text = xml::results(&document);
    check(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(text.matches("<Error>").count(), 1);
}

#[test]
fn the_table_of_formats_has_it() {
    let row = format("xml").expect("is there");
    let document = document(&all_recipes()[0], 1);
    assert_eq!((row.render)(&document), xml::results(&document));
}

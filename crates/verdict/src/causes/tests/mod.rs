//! The rules on documents made for them: each starts from one that is clean in every respect.

mod agreement;
mod amplified;
mod before_machine;
mod before_target;
mod behind;
mod cache;
mod content;
mod drives;
mod few;
mod first;
mod general;
mod hidden;
mod hosts;
mod layers;
mod machine;
mod mixed;
mod network;
mod pace;
mod paths;
mod standstill;
mod steady;
mod trimmed;
mod uneven;
mod usual;
mod verified;

use crate::{RuleFn, judge, rules};
use truespd_core::measure::Histogram;
use truespd_core::profile::{CacheMode, Decimal, FlushEvery, Profile, SteadyRule, Target, TimeSpan};
use truespd_core::result::{
    ClockFacts, ContentSample, CpuSet, CpuUse, Direction, DiskActivity, DiskCounts, Document, ExtentMap,
    Finding, FindingGrade, Grade, HardwareQueue, Held, HostActivity, LateTick, Layer, LayerKind, LoadCost,
    LoopCache, Measured, OpenedKind, Outstanding, Pressure, ProcessorWaits, Processors, QueueDepth,
    Residency, Round, Rounds, SelfCost, ServingProgram, SkewResult, System, TargetFacts, TargetResult,
    ThreadCost, ThreadProcessors, ThreadResult, Ticks, TimeSpanResult, Timeline, Verdict, WaitStatistics,
    Window, legacy,
};

const GIB: u64 = 1 << 30;
const NS_PER_S: u64 = 1_000_000_000;
const SECONDS: u64 = 60;
const PATH: &str = "test.dat";

/// 20,000 direct random reads/s of 4 KiB at depth 32 for a minute, on a file of 8 GiB with random data, on ext4
/// on a disk of 1 TB; every byte was at the disk.
struct Doc {
    asked: Target,
    seconds: u64,
    reads_per_s: u64,
    offered_per_s: Option<u64>,
    skew: Option<SkewResult>,
    flushes: Option<u64>,
    trims_per_s: u64,
    writes_per_s: u64,
    latency: bool,
    cooldown_s: u32,
    /// Measured from the first I/O on.
    no_warm_up: bool,
    until_steady: Option<SteadyRule>,
    /// Parts of the I/Os that were issued late under a rate, and by how many nanoseconds.
    late: Option<Vec<(f64, u64)>>,
    /// Of each of two processors.
    idle_percent: f64,
    document: Document,
    measured: Measured,
}

fn file(layers: Vec<Layer>) -> TargetFacts {
    TargetFacts {
        path: PATH.to_string(),
        opened_path: PATH.to_string(),
        kind: OpenedKind::File,
        size_bytes: 8 * GIB,
        layers,
        extents: Some(ExtentMap {
            range_bytes: 8 * GIB,
            written_bytes: 8 * GIB,
            extents: 9,
            ..ExtentMap::default()
        }),
        residency: Some(Residency {
            range_bytes: 8 * GIB,
            cached_before_bytes: 4096,
            cached_after_bytes: 4096,
        }),
        content: Some(random_sample()),
        losses: Some(Vec::new()),
        ..TargetFacts::default()
    }
}

fn random_sample() -> ContentSample {
    ContentSample {
        blocks: 256,
        block_bytes: 4096,
        zero_blocks: 0,
        repeated_blocks: 0,
        compressed_bytes: 256 * 4100,
    }
}

fn layer(kind: LayerKind, name: &str, below: &[u32]) -> Layer {
    Layer { kind, name: name.to_string(), below: below.to_vec(), ..Layer::default() }
}

fn disk_layer(name: &str) -> Layer {
    Layer {
        size_bytes: Some(1_000_204_886_016),
        write_cache: Some("write through".to_string()),
        forces_unit_access: Some(false),
        ..layer(LayerKind::Disk, name, &[])
    }
}

fn on_ext4() -> Vec<Layer> {
    vec![layer(LayerKind::File, PATH, &[1]), layer(LayerKind::Filesystem, "ext4", &[2]), disk_layer("vda")]
}

impl Doc {
    fn clean() -> Self {
        let asked = Target {
            path: PATH.to_string(),
            block_bytes: 4096,
            random_percent: 100,
            cache: CacheMode::DisableOsCache,
            request_count: 32,
            ..Target::default()
        };
        Doc {
            asked,
            seconds: SECONDS,
            reads_per_s: 20_000,
            offered_per_s: None,
            skew: None,
            flushes: None,
            trims_per_s: 0,
            writes_per_s: 0,
            latency: false,
            cooldown_s: 0,
            no_warm_up: false,
            until_steady: None,
            late: None,
            idle_percent: 60.0,
            document: Document {
                system: System { memory_bytes: Some(16 * GIB), ..System::default() },
                ..Document::default()
            },
            measured: Measured { engine: "io_uring".to_string(), ..Measured::default() },
        }
        .with_evidence()
    }

    /// A file that is written instead, with random data and durably.
    fn clean_writes() -> Self {
        let mut doc = Doc::clean();
        doc.asked.write_percent = 100;
        doc.asked.write_through = true;
        (doc.reads_per_s, doc.writes_per_s) = (0, 20_000);
        let facts = &mut doc.facts()[0];
        facts.content = None;
        facts.written = Some(random_sample());
        facts.layers[2].write_cache = Some("write back".to_string());
        doc.refresh();
        doc.measured.evidence.disks[0].total.flushes = Some(5000);
        doc
    }

    fn with_evidence(mut self) -> Self {
        let evidence = &mut self.measured.evidence;
        evidence.outstanding = Some(Vec::new());
        evidence.ticks = Some(Ticks { every_ns: 25_000_000, late: Vec::new() });
        evidence.limit_changes = Some(Vec::new());
        evidence.window =
            Some(Window { start_unix_ns: 1_700_000_000 * NS_PER_S, end_unix_ns: 1_700_000_060 * NS_PER_S });
        evidence.clock = Some(ClockFacts {
            name: "TSC".to_string(),
            stamp_cost_ns: 12.0,
            why_not_counter: None,
            drift_ppm: 3.0,
        });
        evidence.targets = vec![file(on_ext4())];
        evidence.queue_depth = Some(QueueDepth { asked: 32, reached: 31.6, from_latency: true });
        evidence.host = Some(HostActivity {
            steal_percent: Some(0.1),
            pressure: Some(Pressure { io_some_ns: 50 * NS_PER_S, ..Pressure::default() }),
            swap_in_pages: Some(0),
            swap_out_pages: Some(0),
            memory_available_bytes: Some(14 * GIB),
            governors: vec!["performance".to_string()],
            ..HostActivity::default()
        });
        evidence.threads = vec![ThreadCost {
            id: 0,
            cpu: Some(0),
            elapsed_ns: 65 * NS_PER_S,
            running_ns: 20 * NS_PER_S,
            waiting_for_cpu_ns: Some(NS_PER_S / 10),
        }];
        evidence.self_cost = Some(SelfCost {
            stamp_ns: 12.0,
            record_ns: 3.0,
            fill_ns_per_kib: None,
            loads: vec![LoadCost { threads: vec![0], generator_ns: 45.0, fill_ns: 0.0 }],
        });
        self.refresh();
        self
    }

    /// Disks and series follow the rates.
    fn refresh(&mut self) {
        let counts = |seconds: u64| DiskCounts {
            reads: self.reads_per_s * seconds,
            read_bytes: self.reads_per_s * seconds * self.asked.block_bytes,
            writes: self.writes_per_s * seconds,
            write_bytes: self.writes_per_s * seconds * self.asked.block_bytes,
            ..DiskCounts::default()
        };
        // A medium never gives the same rate twice.
        let wobble = |i: u64, rate: u64| rate + rate * (i * 7 % 11) / 200 - rate / 40;
        let evidence = &mut self.measured.evidence;
        evidence.disks = vec![DiskActivity {
            name: "vda".to_string(),
            window_ns: self.seconds * NS_PER_S,
            late_ns: 0,
            paths: Vec::new(),
            total: counts(self.seconds),
            interval_ns: NS_PER_S,
            intervals: (0..self.seconds)
                .map(|i| DiskCounts {
                    reads: wobble(i, self.reads_per_s),
                    writes: wobble(i, self.writes_per_s),
                    ..counts(1)
                })
                .collect(),
            other_ranks: None,
        }];
        evidence.series = Some(Timeline {
            interval_ns: NS_PER_S,
            reads: (0..self.seconds).map(|i| wobble(i, self.reads_per_s)).collect(),
            writes: (0..self.seconds).map(|i| wobble(i, self.writes_per_s)).collect(),
        });
    }

    /// Ticks that came late: when they were due, and by how much, in milliseconds.
    fn late_ticks(&mut self, late: &[(u64, u64)]) {
        let tick = |&(due_ms, late_ms): &(u64, u64)| LateTick {
            due_ns: due_ms * 1_000_000,
            late_ns: late_ms * 1_000_000,
            waiting_for_cpu_ns: Some(1_000_000),
        };
        let late = late.iter().map(tick).collect();
        self.measured.evidence.ticks = Some(Ticks { every_ns: 25_000_000, late });
    }

    fn facts(&mut self) -> &mut Vec<TargetFacts> {
        &mut self.measured.evidence.targets
    }

    fn disk(&mut self) -> &mut DiskCounts {
        &mut self.measured.evidence.disks[0].total
    }

    fn host(&mut self) -> &mut HostActivity {
        self.measured.evidence.host.as_mut().expect("a clean document has it")
    }

    fn series(&mut self, rates: impl IntoIterator<Item = u64>) {
        let reads: Vec<u64> = rates.into_iter().collect();
        self.seconds = reads.len() as u64;
        let mean = reads.iter().sum::<u64>() / self.seconds.max(1);
        self.reads_per_s = mean;
        self.refresh();
        let block_bytes = self.asked.block_bytes;
        let counts =
            |&reads: &u64| DiskCounts { reads, read_bytes: reads * block_bytes, ..DiskCounts::default() };
        self.measured.evidence.disks[0].intervals = reads.iter().map(counts).collect();
        self.measured.evidence.series =
            Some(Timeline { interval_ns: NS_PER_S, writes: vec![0; reads.len()], reads });
    }

    fn build(mut self) -> Document {
        let direction = |per_s: u64| {
            let ios = per_s * self.seconds;
            let latency = (self.latency && ios > 0).then(|| {
                let mut histogram = Histogram::new();
                // Whole counts would take long; what counts is their number.
                let spread = u64::from(self.late.is_none());
                (0..ios).for_each(|i| histogram.record(100_000 + spread * i));
                histogram
            });
            let response = self.late.as_ref().filter(|_| latency.is_some()).map(|parts| {
                let (mut histogram, mut left) = (Histogram::new(), ios);
                for (part, late_ns) in parts {
                    let count = (ios as f64 * part).round() as u64;
                    (0..count).for_each(|_| histogram.record(100_000 + late_ns));
                    left -= count;
                }
                (0..left).for_each(|_| histogram.record(100_000));
                histogram
            });
            let (latency, response) = (latency.map(Box::new), response.map(Box::new));
            Direction { bytes: ios * self.asked.block_bytes, ios, latency, response, ..Direction::default() }
        };
        let result = TargetResult {
            path: self.asked.path.clone(),
            size_bytes: 8 * GIB,
            read: direction(self.reads_per_s),
            write: direction(self.writes_per_s),
            distribution: None,
            short_transfers: 0,
            offered_ios: self.offered_per_s.map(|per_s| per_s * self.seconds),
            skew: self.skew,
            flush: self.flushes.map(|ios| Direction { ios, ..Direction::default() }),
            trim: (self.trims_per_s > 0).then(|| direction(self.trims_per_s)),
        };
        let size = self.measured.evidence.targets.first().map_or(8 * GIB, |facts| facts.size_bytes);
        let result = TargetResult { size_bytes: size, ..result };
        self.measured.threads = vec![ThreadResult {
            id: 0,
            source: None,
            targets: vec![result],
            waits: WaitStatistics::default(),
        }];
        self.measured.test_time_s = self.seconds as f64;
        let busy = (100.0 - self.idle_percent) / 2.0;
        self.measured.cpu = vec![CpuUse { user: busy, kernel: busy, idle: self.idle_percent }; 2];
        let span = TimeSpan {
            duration_s: self.seconds as u32,
            measure_latency: self.latency,
            cooldown_s: self.cooldown_s,
            warmup_s: if self.no_warm_up { 0 } else { TimeSpan::default().warmup_s },
            random_write_data: true,
            until_steady: self.until_steady,
            targets: vec![self.asked],
            ..TimeSpan::default()
        };
        self.document.profile = Profile { time_spans: vec![span], ..Profile::default() };
        self.document.time_spans = vec![TimeSpanResult::Measured(Box::new(self.measured))];
        // Layers and engines that the tests tell in words are those of documents from before there were members.
        legacy::complete(&mut self.document);
        self.document
    }

    /// What one rule finds, or what it misses. A finding has the numbers that it rests on.
    fn see(self, rule: &str) -> Result<Vec<Finding>, String> {
        let document = self.build();
        assert!(rules().iter().any(|(cause, _)| cause.name == rule), "{rule}");
        let verdict = judge(&document);
        let is_bare = |finding: &&Finding| finding.figures.is_empty();
        for bare in verdict.findings.iter().filter(is_bare) {
            assert!(MAY_BE_BARE.contains(&bare.rule.as_str()), "no figures: {bare:#?}");
        }
        match verdict.unchecked.iter().find(|unchecked| unchecked.rule == rule) {
            Some(unchecked) => Err(unchecked.why.clone()),
            None => Ok(verdict.findings.into_iter().filter(|finding| finding.rule == rule).collect()),
        }
    }

    /// The only finding of a rule.
    #[track_caller]
    fn fires(self, rule: &str) -> Finding {
        let mut seen = self.see(rule).unwrap_or_else(|why| panic!("{rule} misses {why}"));
        assert_eq!(seen.len(), 1, "{rule}: {seen:#?}");
        seen.remove(0)
    }

    #[track_caller]
    fn silent(self, rule: &str) {
        assert_eq!(self.see(rule), Ok(Vec::new()), "{rule}");
    }

    #[track_caller]
    fn missing(self, rule: &str, why: &str) {
        let missing = self.see(rule).expect_err(rule);
        assert!(missing.contains(why), "{rule}: {missing}");
    }
}

/// Rules with findings that rest on no number: on what something is, on what happened to it, or on what is not known.
const MAY_BE_BARE: [&str; 9] = [
    "simulated",
    "target-lost",
    "direct-not-honoured",
    "unproven",
    "memory-target",
    "test-layer",
    "reducible-writes",
    "remote",
    "governor",
];

/// A change of the clean document, boxed so that a list can hold several.
fn doc(change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = Doc::clean();
    change(&mut doc);
    doc
}

fn writes(change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = Doc::clean_writes();
    change(&mut doc);
    doc
}

/// The only finding of a rule in a verdict.
#[track_caller]
fn fires(verdict: &Verdict, rule: &str) -> Finding {
    let found: Vec<&Finding> = verdict.findings.iter().filter(|finding| finding.rule == rule).collect();
    assert_eq!(found.len(), 1, "{rule}: {:#?}", verdict.findings);
    found[0].clone()
}

#[track_caller]
fn silent(verdict: &Verdict, rule: &str) {
    assert!(verdict.rules.iter().any(|name| name == rule), "{rule} did not look");
    assert!(verdict.findings.iter().all(|finding| finding.rule != rule), "{rule}: {:#?}", verdict.findings);
}

#[track_caller]
fn says(finding: &Finding, grade: FindingGrade, words: &[&str]) {
    assert_eq!(finding.grade, grade, "{}", finding.says);
    for word in words {
        assert!(finding.says.contains(word), "'{word}' is missing: {}", finding.says);
    }
    assert!(!finding.advice.is_empty(), "{}", finding.rule);
}

#[test]
fn clean_documents_are_certified_and_every_rule_looked() {
    for (name, doc) in [("reads", Doc::clean()), ("writes", Doc::clean_writes())] {
        let verdict = judge(&doc.build());
        assert_eq!(verdict.grade, Grade::Certified, "{name}: {:#?}", verdict.findings);
        assert!(verdict.findings.is_empty(), "{name}: {:#?}", verdict.findings);
        assert!(verdict.unchecked.is_empty(), "{name}: {:#?}", verdict.unchecked);
        let of_sums = rules().iter().filter(|(_, rule)| matches!(rule.look, RuleFn::Sum(_))).count();
        assert!(of_sums > 0 && verdict.rules.len() == rules().len() - of_sums);
    }
}

/// A rule without a document beside the ones that it speaks of may as well speak of all.
#[test]
fn every_rule_has_a_document_that_makes_it_speak_and_one_beside() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/causes/tests");
    let mut lines = Vec::new();
    for file in std::fs::read_dir(folder).expect("the tests are there").flatten() {
        if file.path().extension().is_some_and(|end| end == "rs") {
            let source = std::fs::read_to_string(file.path()).expect("it can be read");
            lines.extend(source.lines().map(str::to_string));
        }
    }
    for (rule, _) in rules() {
        let quoted = format!("\"{}\"", rule.name);
        for calls in [&["fires(", "only("][..], &["silent("]] {
            let is_called = lines
                .iter()
                .any(|line| line.contains(&quoted) && calls.iter().any(|call| line.contains(call)));
            assert!(is_called, "no test of {} calls {calls:?}", rule.name);
        }
    }
}

#[test]
fn names_are_unique_and_rows_are_whole() {
    let mut names = std::collections::BTreeSet::new();
    for cause in crate::causes() {
        assert!(names.insert(cause.name), "{} is there twice", cause.name);
    }
    for (rule, _) in rules() {
        assert!(rule.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.name);
        assert!(rule.about.ends_with('.') && rule.about.is_ascii(), "{}", rule.name);
        assert!(!rule.advice.is_empty() && rule.advice.is_ascii(), "{}", rule.name);
    }
}

#[test]
fn without_any_evidence_nothing_is_certified_and_nothing_breaks() {
    let empty = doc(|d| d.measured.evidence = truespd_core::result::Evidence::default());
    let verdict = judge(&empty.build());
    assert_eq!(verdict.grade, Grade::Suspect);
    assert!(verdict.findings.iter().any(|f| f.rule == "unproven"), "{:#?}", verdict.findings);
    assert!(verdict.unchecked.len() > 10, "{:#?}", verdict.unchecked);
}

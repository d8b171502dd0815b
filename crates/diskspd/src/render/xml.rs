//! DiskSpd's XML result (`xml.md`), in the form of 2.2 or 2.3 (`release-2.3.md` §6).
//!
//! Element order, counts and number formats are the contract. Sums are merged, never averaged; no figure
//! is NaN, infinite or negative. Latencies are milliseconds, sizes bytes, rates per second.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::LazyLock;

use super::effective::Effective;
use super::figures::{INTERRUPTED, cpu_mean, measured, shown, utc};
use super::system::{masks_of, processor_name};
use truespd_core::measure::intervals::Interval;
use truespd_core::measure::{Histogram, Intervals};
use truespd_core::profile::xml::{Writer, write};
use truespd_core::profile::{GroupMask, Release, TimeSpan};
use truespd_core::result::hosts::names;
use truespd_core::result::{
    CpuUse, Direction, DistributionPart, Document, Measured, Operations, System, TargetResult, ThreadResult,
    WaitStatistics,
};
use truespd_platform::machine::processor_caches::ProcessorCacheKind;

/// A figure with this many decimals. What is no number, or below zero, is written as zero.
struct Fixed(f64, usize);

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}", self.1, shown(self.0))
    }
}

/// Nanoseconds as milliseconds with three decimals.
fn milliseconds(latency_ns: f64) -> Fixed {
    Fixed(latency_ns / 1e6, 3)
}

/// The whole document as the XML of its release. As there, no line end follows `</Results>`.
pub fn results(document: &Document) -> String {
    let mut out = Writer::of_release(document.profile.release, 0);
    out.open("Results", &[]);
    let system = System { computer_name: document.host_words(), ..document.system.clone() };
    system_element(&mut out, &system);
    out.lines(&write(&document.profile, 1));
    for (index, span) in document.profile.time_spans.iter().enumerate() {
        out.open("TimeSpan", &[]);
        match document.time_spans.get(index).and_then(measured) {
            None => out.leaf("Error", INTERRUPTED),
            Some(measured) => time_span(&mut out, document, index, span, measured),
        }
        out.close("TimeSpan");
    }
    out.close("Results");
    let mut text = out.finish();
    text.truncate(text.trim_end().len());
    text
}

fn time_span(out: &mut Writer, document: &Document, index: usize, span: &TimeSpan, measured: &Measured) {
    let processors = &document.system.topology.processors;
    out.leaf("TestTimeSeconds", Fixed(measured.test_time_s, 2));
    out.leaf("ThreadCount", document.threads_of(index));
    out.leaf("RequestCount", span.request_count);
    out.leaf("ProcCount", processors.len());
    if out.release() == Release::V2_3 {
        in_effect(out, &document.system, measured);
    }
    cpu_utilization(out, &document.system, &measured.cpu);
    if span.measure_latency {
        latency(out, measured);
    }
    if span.calculate_iops_std_dev {
        iops(out, DIRECTIONS.map(|operations| measured.sum(operations, |_| true).intervals));
    }
    let names = if document.sources.len() > 1 { names(&document.sources) } else { Vec::new() };
    for result in &measured.threads {
        let host = result.source.and_then(|source| names.get(source as usize));
        thread(out, span, result, host, document.profile.verbose_stats);
    }
}

/// Buffers and processors as the threads had them, as far as the document tells.
fn in_effect(out: &mut Writer, system: &System, measured: &Measured) {
    if let Some(in_effect) = &measured.in_effect {
        out.leaf("EffectiveBufferSeparation", in_effect.buffer_separation_bytes);
    }
    let Some(Effective { masks, mixed }) = Effective::of(system, measured) else { return };
    out.open("EffectiveAffinity", &[]);
    group_masks(out, &masks);
    out.close("EffectiveAffinity");
    if mixed.is_some() {
        out.leaf("HeterogeneousAffinityWarning", true);
    }
}

fn group_masks(out: &mut Writer, masks: &[GroupMask]) {
    for mask in masks {
        out.empty("Group", &[("Group", &mask.group), ("Mask", mask)]);
    }
}

/// Use of the processors (`xml.md` §2.4): one element per processor, then the plain mean over them.
fn cpu_utilization(out: &mut Writer, system: &System, cpu: &[CpuUse]) {
    let cpu: Vec<CpuUse> = cpu.iter().copied().map(idle_without_ticks).collect();
    out.open("CpuUtilization", &[]);
    for (processor, used) in system.topology.processors.iter().zip(&cpu) {
        out.open("CPU", &[]);
        for (name, number) in [
            ("Socket", processor.socket),
            ("Node", processor.node),
            ("Group", processor.group),
            ("Core", processor.core),
            ("EfficiencyClass", processor.efficiency_class),
            ("Id", processor.number),
        ] {
            out.leaf(name, number);
        }
        percentages(out, used);
        out.close("CPU");
    }
    out.open("Average", &[]);
    percentages(out, &cpu_mean(&cpu));
    out.close("Average");
    out.close("CpuUtilization");
}

/// A processor that counted no time at all was idle: its shares would be quotients by zero.
fn idle_without_ticks(used: CpuUse) -> CpuUse {
    if [used.user, used.kernel, used.idle].iter().all(|share| share.is_finite()) {
        used
    } else {
        CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 }
    }
}

fn percentages(out: &mut Writer, used: &CpuUse) {
    for (name, percent) in [
        ("UsagePercent", used.usage()),
        ("UserPercent", used.user),
        ("KernelPercent", used.kernel),
        ("IdlePercent", used.idle),
    ] {
        out.leaf(name, Fixed(percent, 2));
    }
}

/// Percentiles as written, and as shares. Consumers find them by name and by position: number p of the
/// list is percentile p up to 99.
static PERCENTILES: LazyLock<Vec<(String, f64)>> = LazyLock::new(|| {
    let whole = (0..=99).map(|percent| (percent.to_string(), f64::from(percent) / 100.0));
    let nines = [
        ("99.9", 0.999),
        ("99.99", 0.9999),
        ("99.999", 0.99999),
        ("99.9999", 0.999999),
        ("99.99999", 0.9999999),
        ("99.999999", 0.99999999),
        ("99.9999999", 0.999999999),
        ("100", 1.0),
    ];
    whole.chain(nines.map(|(name, share)| (name.to_string(), share))).collect()
});

const DIRECTIONS: [Operations; 3] = [Operations::Reads, Operations::Writes, Operations::All];

/// Latency over all threads and targets of a time span (`xml.md` §2.5).
fn latency(out: &mut Writer, measured: &Measured) {
    const NAMES: [[&str; 3]; 3] = [
        ["AverageReadMilliseconds", "ReadLatencyStdev", "ReadMilliseconds"],
        ["AverageWriteMilliseconds", "WriteLatencyStdev", "WriteMilliseconds"],
        ["AverageTotalMilliseconds", "LatencyStdev", "TotalMilliseconds"],
    ];
    let sums = DIRECTIONS.map(|operations| measured.sum(operations, |_| true));
    let latencies = sums.each_ref().map(Direction::latencies);
    let [read, write, total] = latencies.map(|latency| latency.map_or(0, Histogram::buckets_used));
    out.open(
        "Latency",
        &[("ReadHistoBuckets", &read), ("WriteHistoBuckets", &write), ("TotalHistoBuckets", &total)],
    );
    for (latency, [mean, std_dev, _]) in latencies.into_iter().zip(NAMES) {
        mean_and_deviation(out, latency, mean, std_dev);
    }
    let percentiles = latencies.map(|latency| latency.map(Histogram::percentiles));
    for (name, share) in PERCENTILES.iter() {
        out.open("Bucket", &[]);
        out.leaf("Percentile", name);
        for (percentiles, [_, _, bucket]) in percentiles.iter().zip(NAMES) {
            if let Some(percentiles) = percentiles {
                out.leaf(bucket, milliseconds(percentiles.ns(*share) as f64));
            }
        }
        out.close("Bucket");
    }
    out.close("Latency");
}

/// Mean and deviation, when there was an I/O.
fn mean_and_deviation(out: &mut Writer, latency: Option<&Histogram>, mean: &str, std_dev: &str) {
    if let Some(latency) = latency {
        out.leaf(mean, milliseconds(latency.mean_ns()));
        out.leaf(std_dev, milliseconds(latency.std_dev_ns()));
    }
}

/// I/Os per second and interval (`xml.md` §2.6), of reads, writes and both.
fn iops(out: &mut Writer, series: [Option<Intervals>; 3]) {
    out.open("Iops", &[]);
    for (name, series) in ["ReadIopsStdDev", "WriteIopsStdDev", "IopsStdDev"].into_iter().zip(&series) {
        if let Some(series) = series.as_ref().filter(|series| series.valid() > 0) {
            out.leaf(name, Fixed(series.iops_std_dev(), 3));
        }
    }
    let [read, write, total] = &series;
    if let Some(total) = total {
        for index in 0..total.valid() {
            let [read, write] = [read, write].map(|series| interval_at(series.as_ref(), index));
            interval_bucket(out, total.interval_ns(), index, read, write);
        }
    }
    out.close("Iops");
}

/// An interval of a series; empty past its end.
fn interval_at(series: Option<&Intervals>, index: usize) -> Interval {
    let series = series.filter(|series| index < series.valid());
    series.and_then(|series| series.series().get(index)).copied().unwrap_or_default()
}

fn interval_bucket(out: &mut Writer, interval_ns: u64, index: usize, read: Interval, write: Interval) {
    let interval_s = interval_ns as f64 / 1e9;
    let [read_rate, write_rate, total_rate] = [read.count, write.count, read.count + write.count]
        .map(|count: u64| Fixed(count as f64 / interval_s, 0));
    let end_ms = (index as u64 + 1).saturating_mul(interval_ns) / 1_000_000;
    let [read_latency, write_latency] = [read, write].map(|interval| {
        [
            interval.min_ns as f64,
            interval.max_ns as f64,
            interval.latency_mean_ns(),
            interval.latency_std_dev_ns(),
        ]
        .map(milliseconds)
    });
    out.empty(
        "Bucket",
        &[
            ("SampleMillisecond", &end_ms),
            ("Read", &read_rate),
            ("Write", &write_rate),
            ("Total", &total_rate),
            ("ReadMinLatencyMilliseconds", &read_latency[0]),
            ("ReadMaxLatencyMilliseconds", &read_latency[1]),
            ("ReadAvgLatencyMilliseconds", &read_latency[2]),
            ("ReadLatencyStdDev", &read_latency[3]),
            ("WriteMinLatencyMilliseconds", &write_latency[0]),
            ("WriteMaxLatencyMilliseconds", &write_latency[1]),
            ("WriteAvgLatencyMilliseconds", &write_latency[2]),
            ("WriteLatencyStdDev", &write_latency[3]),
        ],
    );
}

/// One thread with its targets (`xml.md` §2.7). `host` is where the thread of a sum ran: in an element of TrueSpd's,
/// which other results do not have.
fn thread(out: &mut Writer, span: &TimeSpan, thread: &ThreadResult, host: Option<&String>, has_waits: bool) {
    out.open("Thread", &[]);
    out.leaf("Id", thread.id);
    if let Some(host) = host {
        out.leaf("TrueSpdHost", host);
    }
    if out.release() == Release::V2_3
        && span.ring.is_some()
        && let Some(submits) = thread.waits.submits
    {
        out.leaf("SubmitCount", submits);
    }
    for result in &thread.targets {
        target(out, span, result);
    }
    if has_waits {
        waits(out, &thread.waits);
    }
    out.close("Thread");
}

fn target(out: &mut Writer, span: &TimeSpan, target: &TargetResult) {
    let (read, write) = (&target.read, &target.write);
    out.open("Target", &[]);
    out.leaf("Path", &target.path);
    out.leaf("BytesCount", read.bytes.saturating_add(write.bytes));
    out.leaf("FileSize", target.size_bytes);
    out.leaf("IOCount", read.ios.saturating_add(write.ios));
    out.leaf("ReadBytes", read.bytes);
    out.leaf("ReadCount", read.ios);
    out.leaf("WriteBytes", write.bytes);
    out.leaf("WriteCount", write.ios);
    if let Some(parts) = target.distribution.as_deref().filter(|parts| !parts.is_empty()) {
        distribution(out, parts);
    }
    if span.measure_latency {
        mean_and_deviation(out, read.latencies(), "AverageReadLatencyMilliseconds", "ReadLatencyStdev");
        mean_and_deviation(out, write.latencies(), "AverageWriteLatencyMilliseconds", "WriteLatencyStdev");
        // 2.2 has none over both.
        if out.release() == Release::V2_3 {
            let both = target.sum(Operations::All);
            mean_and_deviation(out, both.latencies(), "AverageLatencyMilliseconds", "LatencyStdev");
        }
    }
    if span.calculate_iops_std_dev {
        iops(out, DIRECTIONS.map(|operations| target.sum(operations).intervals));
    }
    out.close("Target");
}

/// The ranges in use. What lies between two of them is written as a range without I/O, so that the
/// lengths add up from offset 0.
fn distribution(out: &mut Writer, parts: &[DistributionPart]) {
    out.open("Distribution", &[]);
    out.open("Absolute", &[]);
    let mut end_bytes = 0;
    for part in parts {
        if let Some(hole_bytes @ 1..) = part.offset_bytes.checked_sub(end_bytes) {
            out.leaf_with("Range", &[("IO", &0)], hole_bytes);
        }
        out.leaf_with("Range", &[("IO", &part.io_percent)], part.length_bytes);
        end_bytes = part.offset_bytes.saturating_add(part.length_bytes);
    }
    out.close("Absolute");
    out.close("Distribution");
}

fn waits(out: &mut Writer, waits: &WaitStatistics) {
    out.open("WaitStatistics", &[]);
    out.leaf("CompletionWait", waits.completion_waits);
    out.leaf("ThrottleWait", waits.throttle_waits);
    out.leaf("ThrottleSleep", waits.throttle_sleeps);
    out.leaf("Lookaside", waits.lookasides);
    if out.release() == Release::V2_3 {
        let completions = waits.wait_completions.unwrap_or_default().map(|count| count.to_string());
        out.leaf("WaitCompletion", completions.join(" "));
    }
    let completions = waits.lookaside_completions.map(|count| count.to_string());
    out.leaf("LookasideCompletion", completions.join(" "));
    out.close("WaitStatistics");
}

/// The version whose results these are, with its date; consumers ask for at least 2.1.
fn version(release: Release) -> [&'static str; 2] {
    match release {
        Release::V2_2 => ["2.2.0", "2024/6/3"],
        Release::V2_3 => ["2.3.0", "2026/06/15"],
    }
}

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

/// The `System` element alone, as `-Rsxml` of a release prints it.
pub fn system(system: &System, release: Release) -> String {
    let mut out = Writer::of_release(release, 0);
    system_element(&mut out, system);
    out.finish()
}

fn system_element(out: &mut Writer, system: &System) {
    out.open("System", &[]);
    let is_of_2_3 = out.release() == Release::V2_3;
    let [version, date] = version(out.release());
    out.leaf("ComputerName", &system.computer_name);
    if is_of_2_3 {
        out.leaf("ProcessorName", processor_name(system));
    }
    out.open("Tool", &[]);
    out.leaf("Version", version);
    out.leaf("VersionDate", date);
    out.close("Tool");
    out.leaf("RunTime", system.start_unix_s.map(utc).unwrap_or_default());
    // Linux has governors instead of schemes, and they have no identifier.
    out.empty("PowerScheme", &[("Name", &system.power_scheme), ("Guid", &"")]);
    if is_of_2_3 && let Some(page_bytes) = system.page_bytes {
        out.leaf("PageSize", page_bytes);
    }
    topology(out, system);
    out.close("System");
}

fn topology(out: &mut Writer, system: &System) {
    let topology = &system.topology;
    let is_heterogeneous = topology.efficiency_class_max() > 0;
    out.open("ProcessorTopology", &[("Heterogeneous", &is_heterogeneous)]);
    groups(out, system);
    sets(out, "Node", topology.processors.iter().map(|p| (p.node, p.group, p.number)));
    sets(out, "Socket", topology.processors.iter().map(|p| (p.socket, p.group, p.number)));
    cores(out, system);
    if out.release() == Release::V2_3 {
        caches(out, system);
    }
    out.close("ProcessorTopology");
}

/// One element per cache, not combined as in the text.
fn caches(out: &mut Writer, system: &System) {
    for cache in &system.caches {
        let kind = match cache.kind {
            ProcessorCacheKind::Unified => "Unified",
            ProcessorCacheKind::Instruction => "Instruction",
            ProcessorCacheKind::Data => "Data",
            ProcessorCacheKind::Trace => "Trace",
            ProcessorCacheKind::Unknown => "Unknown",
        };
        let attributes: [(&str, &dyn Display); 5] = [
            ("Level", &cache.level),
            ("Associativity", &cache.associativity),
            ("LineSize", &cache.line_bytes),
            ("CacheSize", &cache.size_bytes),
            ("Type", &kind),
        ];
        out.open("Cache", &attributes);
        group_masks(out, &masks_of(cache, &system.topology));
        out.close("Cache");
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_found_by_position_and_by_name() {
        assert_eq!(PERCENTILES.len(), 108);
        for (position, (name, share)) in PERCENTILES.iter().enumerate() {
            if position < 100 {
                assert_eq!(*name, position.to_string());
            }
            let percent: f64 = name.parse().expect("is a number");
            assert!((percent / 100.0 - share).abs() < 1e-12, "{name}");
        }
        assert!(PERCENTILES.is_sorted_by(|a, b| a.1 < b.1));
    }

    #[test]
    fn figures_are_numbers() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1.0] {
            assert_eq!(Fixed(bad, 3).to_string(), "0.000");
        }
        assert_eq!(Fixed(2.0 / 3.0, 2).to_string(), "0.67");
        assert_eq!(Fixed(1754.4, 0).to_string(), "1754");
        assert_eq!(milliseconds(1_234_567.0).to_string(), "1.235");
    }
}

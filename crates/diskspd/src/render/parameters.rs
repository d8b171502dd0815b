//! How a text result begins: command line and input parameters (`text-output.md` §3, §4, `release-2.3.md` §5.2).

use std::fmt;

use super::figures::line;
use super::layout::Layout;
use truespd_core::profile::masks::mask_words;
use truespd_core::profile::{
    Arrivals, Batch, BufferSeparation, BypassIo, CacheMode, Distribution, DistributionKind, EfficiencyOrder,
    FlushMode, IoPriority, Profile, Release, SteadyRule, Target, Throughput, TimeSpan,
};
use truespd_core::result::System;
use truespd_platform::text::hides;

/// A name within a line: what [`hides`] is written escaped, so that no name can look like another line of the
/// result, or act on a terminal. Every other name is written as given.
pub(super) struct OneLine<'a>(pub(super) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(hides) {
            let (plain, tail) = rest.split_at(at);
            let control = tail.chars().next().unwrap_or_default();
            write!(f, "{plain}{}", control.escape_default())?;
            rest = &tail[control.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// What `-Rp` prints: command line and input parameters, up to the empty line after the last time span.
///
/// `command_line` is the words as typed, program name first. 2.3 tells some of it by the machine, as far as that is
/// known.
pub fn profile_text(command_line: &[String], profile: &Profile, machine: &System) -> String {
    let out = &mut String::new();
    let layout = Layout::of(profile.release);
    line!(out);
    line!(out, "Command Line: {}", OneLine(&command_line.join(" ")));
    line!(out);
    if profile.experiment_flags != 0 {
        line!(out, "Experiment Flags: {0:#x} ({0})", profile.experiment_flags);
        line!(out);
    }
    line!(out, "Input parameters:");
    line!(out);
    if profile.verbose {
        line!(out, "{}using verbose mode", layout.head);
    }
    for (index, span) in profile.time_spans.iter().enumerate() {
        line!(out, "{}timespan: {:3}", layout.head, index + 1);
        line!(out, "{}-------------", layout.head);
        time_span(out, layout, span, machine);
        for target in &span.targets {
            target_block(out, layout, span, target);
        }
        line!(out);
    }
    std::mem::take(out)
}

fn time_span(out: &mut String, layout: Layout, span: &TimeSpan, machine: &System) {
    let indent = layout.span;
    line!(out, "{indent}duration: {}s", span.duration_s);
    if let Some(rule) = span.until_steady {
        let SteadyRule { window, rounds, range_percent, slope_percent } = rule;
        line!(
            out,
            "{indent}measuring until {window} of these are steady (TrueSpd): range {range_percent}%, slope \
             {slope_percent}%, at most {rounds}"
        );
    }
    line!(out, "{indent}warm up time: {}s", span.warmup_s);
    line!(out, "{indent}cool down time: {}s", span.cooldown_s);
    if span.disable_affinity && layout.release == Release::V2_2 {
        line!(out, "{indent}affinity disabled");
    }
    if span.measure_latency {
        line!(out, "{indent}measuring latency");
    }
    if span.calculate_iops_std_dev {
        line!(out, "{indent}gathering IOPS at intervals of {}ms", span.io_bucket_ms);
    }
    line!(out, "{indent}random seed: {}", span.rand_seed);
    if span.thread_count > 0 {
        line!(out, "{indent}thread pool with {} threads", span.thread_count);
        line!(out, "{indent}number of outstanding I/O operations per thread: {}", span.request_count);
    }
    match layout.release {
        Release::V2_2 => list_of_2_2(out, layout, span),
        Release::V2_3 => settings_of_2_3(out, layout, span, machine),
    }
    if span.random_write_data {
        line!(out, "{indent}generating random data for each write IO");
        line!(out, "{indent}  WARNING: this increases the CPU cost of issuing writes and should only");
        line!(out, "{indent}           be compared to other results using the -Zr flag");
    }
}

fn list_of_2_2(out: &mut String, layout: Layout, span: &TimeSpan) {
    let indent = layout.span;
    if !span.affinity.is_empty() {
        let list: Vec<String> =
            span.affinity.iter().map(|id| format!("{}/{}", id.group, id.processor)).collect();
        line!(out, "{indent}advanced affinity round robin (group/core): {}", list.join(", "));
    }
}

/// Ring, processors, buffers and completions, which 2.3 has lines for.
fn settings_of_2_3(out: &mut String, layout: Layout, span: &TimeSpan, machine: &System) {
    let indent = layout.span;
    if let Some(ring) = &span.ring {
        let batch = match ring.batch {
            Batch::Count(requests) => requests.to_string(),
            Batch::Percent(percent) => format!("{percent}%"),
        };
        let buffers = if ring.registered_buffers { "with" } else { "without" };
        line!(out, "{indent}using IoRing (batch size: {batch}) {buffers} registered buffers");
    }
    if span.disable_affinity {
        line!(out, "{indent}affinity disabled");
    } else {
        line!(out, "{indent}affinity assignment: {}", order_words(span));
    }
    let masks = span.affinity_masks();
    if !masks.is_empty() {
        let has_groups = machine.topology.groups > 1;
        let form = if has_groups { "group/cpu" } else { "cpu" };
        line!(out, "{indent}affinity ({form}): {}", mask_words(&masks, has_groups));
    }
    match span.buffer_separation() {
        None | Some(BufferSeparation::SystemDefault) => {
            line!(out, "{indent}buffer separation: system default");
        }
        Some(apart) => {
            let bytes = machine.separation_bytes(apart).map(|bytes| format!(" ({})", layout.size(bytes)));
            line!(out, "{indent}buffer separation: thread optimized{}", bytes.unwrap_or_default());
        }
    }
    if let Some(depth) = span.completion_batch {
        line!(out, "{indent}completion depth: {depth}");
    }
}

/// `cpu order, fill groups, P-cores first`
fn order_words(span: &TimeSpan) -> String {
    let traversal = if span.placement.cores_first { "core-aware" } else { "cpu order" };
    let groups = if span.placement.span_groups { "span groups" } else { "fill groups" };
    let efficiency = match span.placement.efficiency_in_effect() {
        EfficiencyOrder::Unset | EfficiencyOrder::Unordered => "no P/E order",
        EfficiencyOrder::PerformanceFirst => "P-cores first",
        EfficiencyOrder::FillPerformanceFirst => "fill P-cores first",
        EfficiencyOrder::EfficiencyFirst => "E-cores first",
        EfficiencyOrder::FillEfficiencyFirst => "fill E-cores first",
    };
    format!("{traversal}, {groups}, {efficiency}")
}

fn target_block(out: &mut String, layout: Layout, span: &TimeSpan, target: &Target) {
    let indent = layout.target;
    match target.template() {
        Some(name) => line!(out, "{}path: template target '{}'", layout.span, OneLine(name)),
        None => line!(out, "{}path: '{}'", layout.span, OneLine(&target.path)),
    }
    line!(out, "{indent}think time: {}ms", target.think_ms.unwrap_or(0));
    line!(out, "{indent}burst size: {}", target.burst_ios.unwrap_or(0));
    caches(out, layout, target);
    write_buffers(out, layout, target);
    if target.parallel {
        line!(out, "{indent}using parallel async I/O");
    }
    accesses(out, layout, target);
    if span.is_pool() {
        line!(out, "{indent}relative IO weight in thread pool: {}", target.weight);
    } else {
        line!(out, "{indent}number of outstanding I/O operations per thread: {}", target.request_count);
    }
    bounds_and_hints(out, layout, target);
    if span.thread_count == 0 {
        line!(out, "{indent}threads per file: {}", target.threads_per_file);
        let has_ring = layout.release == Release::V2_3 && span.ring.is_some();
        if target.request_count > 1 && !has_ring {
            let completions = if span.completion_routines {
                "completion routines (ReadFileEx/WriteFileEx)"
            } else {
                "I/O Completion Ports"
            };
            line!(out, "{indent}using {completions}");
        }
    }
    let priority = match target.priority {
        IoPriority::VeryLow => "very low",
        IoPriority::Low => "low",
        IoPriority::Normal => "normal",
    };
    line!(out, "{indent}IO priority: {priority}");
    match target.throughput {
        Some(Throughput::Iops(limit)) if limit > 0 => {
            line!(out, "{indent}throughput rate-limited to {limit} IOPS");
        }
        Some(Throughput::BytesPerMs(limit)) if limit > 0 => {
            line!(out, "{indent}throughput rate-limited to {limit} B/ms");
        }
        _ => {}
    }
    if target.arrivals == Arrivals::Poisson {
        line!(out, "{indent}arrivals: Poisson");
    }
    if let Some(flush) = target.flush_every {
        let call = if flush.data_only { "fdatasync" } else { "fsync" };
        line!(out, "{indent}flushing after every {} writes of a thread ({call})", flush.writes);
    }
    if let Some(exponent) = target.zipf {
        line!(out, "{indent}IO Distribution: Zipf, exponent {exponent}");
    }
    if let Some(asked) = target.distribution.as_ref().filter(|asked| !asked.ranges.is_empty()) {
        line!(out, "{indent}IO Distribution:");
        distribution(out, layout, asked);
    }
}

fn caches(out: &mut String, layout: Layout, target: &Target) {
    let indent = layout.target;
    let software = match target.cache {
        CacheMode::Cached => "using software cache",
        CacheMode::DisableLocalCache => "local software cache disabled, remote cache enabled",
        CacheMode::DisableOsCache => "software cache disabled",
    };
    let hardware = match (target.write_through, target.cache) {
        (false, _) => "using hardware write cache, writethrough off",
        (true, CacheMode::DisableOsCache) => "hardware write cache disabled, writethrough on",
        (true, _) => "hardware and software write caches disabled, writethrough on",
    };
    line!(out, "{indent}{software}");
    line!(out, "{indent}{hardware}");
    if target.memory_mapped {
        let flush = match target.flush {
            None => "",
            Some(FlushMode::ViewOfFile) => ", flush mode: FlushViewOfFile",
            Some(FlushMode::NonVolatileMemory) => ", flush mode: FlushNonVolatileMemory",
            Some(FlushMode::NonVolatileMemoryNoDrain) => ", flush mode: FlushNonVolatileMemory with no drain",
        };
        line!(out, "{indent}memory mapped I/O enabled{flush}");
    }
    if layout.release == Release::V2_3 {
        match target.bypass_io {
            None => {}
            Some(BypassIo::Partial) => line!(out, "{indent}using BypassIO (allow partial)"),
            Some(BypassIo::Full) => line!(out, "{indent}using BypassIO (full bypass)"),
        }
    }
}

fn write_buffers(out: &mut String, layout: Layout, target: &Target) {
    let indent = layout.target;
    if target.zero_write_buffers {
        line!(out, "{indent}zeroing write buffers");
    }
    if target.write_source_bytes > 0 {
        line!(out, "{indent}write buffer size: {}", layout.size(target.write_source_bytes));
        match target.write_source_path.as_deref().filter(|path| !path.is_empty()) {
            Some(path) => line!(out, "{indent}write buffer source: '{}'", OneLine(path)),
            None => line!(out, "{indent}write buffer source: random fill"),
        }
    }
}

fn accesses(out: &mut String, layout: Layout, target: &Target) {
    let indent = layout.target;
    match target.write_percent {
        _ if target.trim_percent == 100 => line!(out, "{indent}performing trim test"),
        0 => line!(out, "{indent}performing read test"),
        100 => line!(out, "{indent}performing write test"),
        write => {
            let read = 100u32.saturating_sub(write);
            line!(out, "{indent}performing mix test (read/write ratio: {read}/{write})");
        }
    }
    if target.trims() {
        line!(out, "{indent}trimming: {}% of the I/Os", target.trim_percent);
    }
    if target.verify {
        line!(out, "{indent}verifying: every sector is stamped and checked");
    }
    line!(out, "{indent}block size: {}", layout.size(target.block_bytes));
    let stride = match target.stride_bytes.filter(|&bytes| bytes > 0) {
        None if !target.mix.is_empty() => "size of each I/O".to_string(),
        _ => layout.size(target.stride()),
    };
    if !target.mix.is_empty() {
        line!(out, "{indent}sizes: {}", sizes(layout, target));
    }
    match target.random_percent {
        0 if target.interlocked => line!(out, "{indent}using interlocked sequential I/O (stride: {stride})"),
        0 => line!(out, "{indent}using sequential I/O (stride: {stride})"),
        100 => line!(out, "{indent}using random I/O (alignment: {stride})"),
        percent => {
            line!(
                out,
                "{indent}using mixed random/sequential I/O ({percent}% random) (alignment/stride: {stride})"
            );
        }
    }
}

/// The sizes of a mix: `4KiB 60% of I/Os (8.57% of bytes), 64KiB 40% of I/Os (91.43% of bytes)`
fn sizes(layout: Layout, target: &Target) -> String {
    let mut words = Vec::new();
    for part in &target.mix {
        let of_bytes = part.block_bytes as f64 * part.percent.get() / target.mean_bytes();
        let size = layout.size(part.block_bytes);
        words.push(format!("{size} {}% of I/Os ({of_bytes:.2}% of bytes)", part.percent));
    }
    words.join(", ")
}

fn bounds_and_hints(out: &mut String, layout: Layout, target: &Target) {
    let indent = layout.target;
    for (name, bytes) in [
        ("base file offset", target.base_bytes),
        ("max file size", target.max_bytes),
        ("thread stride size", target.thread_stride_bytes),
    ] {
        if bytes > 0 {
            line!(out, "{indent}{name}: {}", layout.size(bytes));
        }
    }
    for (name, given) in [
        ("FILE_FLAG_SEQUENTIAL_SCAN", target.sequential_scan),
        ("FILE_FLAG_RANDOM_ACCESS", target.random_access),
        ("FILE_ATTRIBUTE_TEMPORARY", target.temporary_file),
    ] {
        if given {
            line!(out, "{indent}using {name} hint");
        }
    }
}

/// One range line before its bounds are formatted.
pub(super) struct Range {
    pub io_percent: u32,
    pub first: u64,
    /// Exclusive; `None` = to the end of the target.
    pub end: Option<u64>,
}

/// The ranges of a target as asked for.
fn distribution(out: &mut String, layout: Layout, distribution: &Distribution) {
    let indent = layout.target;
    let mut first = 0u64;
    let mut ranges = Vec::with_capacity(distribution.ranges.len());
    for range in &distribution.ranges {
        let end = first.saturating_add(range.span);
        let open = range.span == 0 && distribution.kind == DistributionKind::Absolute;
        ranges.push(Range { io_percent: range.io_percent, first, end: (!open).then_some(end) });
        first = end;
    }
    match distribution.kind {
        DistributionKind::Percent => {
            for Range { io_percent, first, end } in ranges {
                let end = end.unwrap_or(first);
                line!(out, "{indent}   {io_percent:3}% of IO => [{first:2}% - {end:3}%) of target");
            }
        }
        DistributionKind::Absolute => ranges_in_bytes(out, layout, indent, &ranges),
    }
}

/// Ranges in bytes. Shares that do not add up to 100 belong to a list that was cut short; they are
/// shown scaled to 100, with a decimal.
pub(super) fn ranges_in_bytes(out: &mut String, layout: Layout, indent: &str, ranges: &[Range]) {
    let sum: u32 = ranges.iter().map(|range| range.io_percent).sum();
    for range in ranges {
        let share = if sum < 100 && sum > 0 {
            format!("    {:.1}%", 100.0 * f64::from(range.io_percent) / f64::from(sum))
        } else {
            format!("   {:3}%", range.io_percent)
        };
        let first = match range.first {
            0 => "     0   ".to_string(),
            bytes => layout.bound(bytes),
        };
        let end = match range.end {
            None => "      end".to_string(),
            Some(bytes) => layout.bound(bytes),
        };
        line!(out, "{indent}{share} of IO => [{first} - {end})");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::DistributionRange;

    fn asked_text(kind: DistributionKind, ranges: &[(u32, u64)]) -> String {
        let ranges =
            ranges.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect();
        let mut out = String::new();
        distribution(&mut out, Layout::of(Release::V2_2), &Distribution { kind, ranges });
        out
    }

    #[test]
    fn percent_of_the_target() {
        assert_eq!(
            asked_text(DistributionKind::Percent, &[(90, 10), (10, 90)]),
            "\t\t    90% of IO => [ 0% -  10%) of target\n\t\t    10% of IO => [10% - 100%) of target\n"
        );
    }

    #[test]
    fn bytes_with_a_hole_and_an_open_end() {
        assert_eq!(
            asked_text(DistributionKind::Absolute, &[(70, 1 << 20), (0, 1 << 20), (30, 0)]),
            "\t\t    70% of IO => [     0    -      1MiB)\n\
             \t\t     0% of IO => [     1MiB -      2MiB)\n\
             \t\t    30% of IO => [     2MiB -       end)\n"
        );
    }

    #[test]
    fn below_a_kibibyte_nothing_is_padded() {
        assert_eq!(
            asked_text(DistributionKind::Absolute, &[(60, 512), (40, 1024)]),
            "\t\t    60% of IO => [     0    - 512)\n\t\t    40% of IO => [512 -   1.50KiB)\n"
        );
    }

    #[test]
    fn a_list_cut_short_is_scaled() {
        assert_eq!(
            asked_text(DistributionKind::Absolute, &[(10, 1 << 30), (20, 1 << 30)]),
            "\t\t    33.3% of IO => [     0    -      1GiB)\n\t\t    66.7% of IO => [     1GiB -      2GiB)\n"
        );
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(OneLine("/dev/nvme0n1 (x) é").to_string(), "/dev/nvme0n1 (x) é");
        assert_eq!(OneLine("a\ntotal:\t1\u{85}").to_string(), "a\\ntotal:\\t1\\u{85}");
        assert_eq!(OneLine("").to_string(), "");
    }
}

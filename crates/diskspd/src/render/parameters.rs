//! What a text result begins with: command line, input parameters and the system (`text-output.md` §3, §4, §5).

use std::fmt;

use super::figures::{line, utc};
use truespd_core::profile::{
    CacheMode, Distribution, DistributionKind, FlushMode, IoPriority, Profile, Size, SizeColumn, Target,
    Throughput, TimeSpan,
};
use truespd_core::result::System;
use truespd_core::text::hides;

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
/// `command_line` is the words as typed, program name first.
pub fn profile_text(command_line: &[String], profile: &Profile) -> String {
    let out = &mut String::new();
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
        line!(out, "\tusing verbose mode");
    }
    for (index, span) in profile.time_spans.iter().enumerate() {
        line!(out, "\ttimespan: {:3}", index + 1);
        line!(out, "\t-------------");
        time_span(out, span);
        for target in &span.targets {
            target_block(out, span, target);
        }
        line!(out);
    }
    std::mem::take(out)
}

fn time_span(out: &mut String, span: &TimeSpan) {
    line!(out, "\tduration: {}s", span.duration_s);
    line!(out, "\twarm up time: {}s", span.warmup_s);
    line!(out, "\tcool down time: {}s", span.cooldown_s);
    if span.disable_affinity {
        line!(out, "\taffinity disabled");
    }
    if span.measure_latency {
        line!(out, "\tmeasuring latency");
    }
    if span.calculate_iops_std_dev {
        line!(out, "\tgathering IOPS at intervals of {}ms", span.io_bucket_ms);
    }
    line!(out, "\trandom seed: {}", span.rand_seed);
    if span.thread_count > 0 {
        line!(out, "\tthread pool with {} threads", span.thread_count);
        line!(out, "\tnumber of outstanding I/O operations per thread: {}", span.request_count);
    }
    if !span.affinity.is_empty() {
        let list: Vec<String> =
            span.affinity.iter().map(|id| format!("{}/{}", id.group, id.processor)).collect();
        line!(out, "\tadvanced affinity round robin (group/core): {}", list.join(", "));
    }
    if span.random_write_data {
        line!(out, "\tgenerating random data for each write IO");
        line!(out, "\t  WARNING: this increases the CPU cost of issuing writes and should only");
        line!(out, "\t           be compared to other results using the -Zr flag");
    }
}

fn target_block(out: &mut String, span: &TimeSpan, target: &Target) {
    match target.template() {
        Some(name) => line!(out, "\tpath: template target '{}'", OneLine(name)),
        None => line!(out, "\tpath: '{}'", OneLine(&target.path)),
    }
    line!(out, "\t\tthink time: {}ms", target.think_ms.unwrap_or(0));
    line!(out, "\t\tburst size: {}", target.burst_ios.unwrap_or(0));
    caches(out, target);
    write_buffers(out, target);
    if target.parallel {
        line!(out, "\t\tusing parallel async I/O");
    }
    accesses(out, target);
    if span.is_pool() {
        line!(out, "\t\trelative IO weight in thread pool: {}", target.weight);
    } else {
        line!(out, "\t\tnumber of outstanding I/O operations per thread: {}", target.request_count);
    }
    bounds_and_hints(out, target);
    if span.thread_count == 0 {
        line!(out, "\t\tthreads per file: {}", target.threads_per_file);
        if target.request_count > 1 {
            let completions = if span.completion_routines {
                "completion routines (ReadFileEx/WriteFileEx)"
            } else {
                "I/O Completion Ports"
            };
            line!(out, "\t\tusing {completions}");
        }
    }
    let priority = match target.priority {
        IoPriority::VeryLow => "very low",
        IoPriority::Low => "low",
        IoPriority::Normal => "normal",
    };
    line!(out, "\t\tIO priority: {priority}");
    match target.throughput {
        Some(Throughput::Iops(limit)) if limit > 0 => {
            line!(out, "\t\tthroughput rate-limited to {limit} IOPS");
        }
        Some(Throughput::BytesPerMs(limit)) if limit > 0 => {
            line!(out, "\t\tthroughput rate-limited to {limit} B/ms");
        }
        _ => {}
    }
    if let Some(asked) = target.distribution.as_ref().filter(|asked| !asked.ranges.is_empty()) {
        line!(out, "\t\tIO Distribution:");
        distribution(out, asked);
    }
}

fn caches(out: &mut String, target: &Target) {
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
    line!(out, "\t\t{software}");
    line!(out, "\t\t{hardware}");
    if target.memory_mapped {
        let flush = match target.flush {
            None => "",
            Some(FlushMode::ViewOfFile) => ", flush mode: FlushViewOfFile",
            Some(FlushMode::NonVolatileMemory) => ", flush mode: FlushNonVolatileMemory",
            Some(FlushMode::NonVolatileMemoryNoDrain) => ", flush mode: FlushNonVolatileMemory with no drain",
        };
        line!(out, "\t\tmemory mapped I/O enabled{flush}");
    }
}

fn write_buffers(out: &mut String, target: &Target) {
    if target.zero_write_buffers {
        line!(out, "\t\tzeroing write buffers");
    }
    if target.write_source_bytes > 0 {
        line!(out, "\t\twrite buffer size: {}", Size(target.write_source_bytes));
        match target.write_source_path.as_deref().filter(|path| !path.is_empty()) {
            Some(path) => line!(out, "\t\twrite buffer source: '{}'", OneLine(path)),
            None => line!(out, "\t\twrite buffer source: random fill"),
        }
    }
}

fn accesses(out: &mut String, target: &Target) {
    match target.write_percent {
        0 => line!(out, "\t\tperforming read test"),
        100 => line!(out, "\t\tperforming write test"),
        write => {
            let read = 100u32.saturating_sub(write);
            line!(out, "\t\tperforming mix test (read/write ratio: {read}/{write})");
        }
    }
    line!(out, "\t\tblock size: {}", Size(target.block_bytes));
    let stride = Size(target.stride());
    match target.random_percent {
        0 if target.interlocked => line!(out, "\t\tusing interlocked sequential I/O (stride: {stride})"),
        0 => line!(out, "\t\tusing sequential I/O (stride: {stride})"),
        100 => line!(out, "\t\tusing random I/O (alignment: {stride})"),
        percent => {
            line!(
                out,
                "\t\tusing mixed random/sequential I/O ({percent}% random) (alignment/stride: {stride})"
            );
        }
    }
}

fn bounds_and_hints(out: &mut String, target: &Target) {
    for (name, bytes) in [
        ("base file offset", target.base_bytes),
        ("max file size", target.max_bytes),
        ("thread stride size", target.thread_stride_bytes),
    ] {
        if bytes > 0 {
            line!(out, "\t\t{name}: {}", Size(bytes));
        }
    }
    for (name, given) in [
        ("FILE_FLAG_SEQUENTIAL_SCAN", target.sequential_scan),
        ("FILE_FLAG_RANDOM_ACCESS", target.random_access),
        ("FILE_ATTRIBUTE_TEMPORARY", target.temporary_file),
    ] {
        if given {
            line!(out, "\t\tusing {name} hint");
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

/// The ranges of a target as asked for, each line behind two tabs.
fn distribution(out: &mut String, distribution: &Distribution) {
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
                line!(out, "\t\t   {io_percent:3}% of IO => [{first:2}% - {end:3}%) of target");
            }
        }
        DistributionKind::Absolute => ranges_in_bytes(out, "\t\t", &ranges),
    }
}

/// Ranges in bytes. Shares that do not add up to 100 belong to a list that was cut short; they are
/// shown scaled to 100, with a decimal.
pub(super) fn ranges_in_bytes(out: &mut String, indent: &str, ranges: &[Range]) {
    let sum: u32 = ranges.iter().map(|range| range.io_percent).sum();
    for range in ranges {
        let share = if sum < 100 && sum > 0 {
            format!("    {:.1}%", 100.0 * f64::from(range.io_percent) / f64::from(sum))
        } else {
            format!("   {:3}%", range.io_percent)
        };
        let first = match range.first {
            0 => "     0   ".to_string(),
            bytes => SizeColumn(bytes).to_string(),
        };
        let end = match range.end {
            None => "      end".to_string(),
            Some(bytes) => SizeColumn(bytes).to_string(),
        };
        line!(out, "{indent}{share} of IO => [{first} - {end})");
    }
}

/// The system information block, as `-Rs` prints it.
pub fn system_text(system: &System) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::profile::DistributionRange;

    fn asked_text(kind: DistributionKind, ranges: &[(u32, u64)]) -> String {
        let ranges =
            ranges.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect();
        let mut out = String::new();
        distribution(&mut out, &Distribution { kind, ranges });
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

//! Command line and input parameters (`text-output.md` §3, §4).

use super::{OneLine, distribution};
use truespd_core::profile::{CacheMode, FlushMode, IoPriority, Profile, Size, Target, Throughput, TimeSpan};

/// From the first empty line to the empty line after the last time span.
pub(super) fn profile(out: &mut String, command_line: &[String], profile: &Profile) {
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
            line!(out, "\t\t{}", completion(span.completion_routines));
        }
    }
    line!(out, "\t\tIO priority: {}", priority(target.priority));
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
        distribution::asked(out, asked);
    }
}

/// Lines 4 to 6.
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

/// Lines 7 to 9.
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

/// Lines 11 to 13.
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

/// Lines 15 to 20.
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

fn completion(routines: bool) -> &'static str {
    if routines { "using completion routines (ReadFileEx/WriteFileEx)" } else { "using I/O Completion Ports" }
}

fn priority(priority: IoPriority) -> &'static str {
    match priority {
        IoPriority::VeryLow => "very low",
        IoPriority::Low => "low",
        IoPriority::Normal => "normal",
    }
}

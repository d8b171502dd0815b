//! The rules a profile must obey before anything is opened (`command-line.md` §9).
//!
//! Numbers 1 to 36 are DiskSpd's own table; 2 to 4 ask the machine and live in `plan`. Numbers from 37
//! on refuse what DiskSpd 2.2 silently accepts although it cannot mean anything. Every rule looks at
//! every time span and every target; the findings carry the indices, so that the command line and XML
//! profiles can point at what was typed.

use super::finding::{Collector, Finding, Rule};
use super::{
    BLOCK_BYTES_MAX, Batch, CacheMode, Distribution, DistributionKind, Placement, Profile, Target, TimeSpan,
};
use crate::text::size;

/// Largest batch of `-u` as a count.
const RING_BATCH_MAX: u32 = 65535;

/// Checks every rule that needs no machine. `will_run` is false with `-Rp`.
///
/// The findings come in the order of time spans and targets. A profile with a finding of
/// [`Severity::Error`](super::Severity::Error) must not be run.
pub fn validate(profile: &Profile, will_run: bool) -> Vec<Finding> {
    let mut found = Collector::default();
    if profile.time_spans.is_empty() {
        found.error(Rule::NO_TIME_SPAN, &[], "the profile has no time span: there is nothing to run");
    }
    for (i, span) in profile.time_spans.iter().enumerate() {
        found.time_span = Some(i);
        found.target = None;
        check_time_span(&mut found, span);
        for (k, target) in span.targets.iter().enumerate() {
            found.target = Some(k);
            check_target(&mut found, span, target, will_run);
        }
    }
    found.findings
}

fn check_time_span(found: &mut Collector, span: &TimeSpan) {
    if span.targets.is_empty() {
        found.error(Rule::NO_TARGET, &[], "the time span has no target: give at least one file or device");
    }
    affinity(found, span);
    if span.request_count > 0 && span.thread_count == 0 {
        found.warning(
            Rule::POOL_REQUESTS_WITHOUT_TOTAL,
            &["-O"],
            "-O (requests per thread over all targets) is ignored without -F (total number of threads), as DiskSpd \
             does; -o sets the requests per thread and target",
        );
    }
    if span.calculate_iops_std_dev && span.io_bucket_ms == 0 {
        found.error(Rule::INTERVAL_ZERO, &["-D"], "the interval of -D must be at least 1 ms");
    }
    batches(found, span);
}

fn affinity(found: &mut Collector, span: &TimeSpan) {
    if span.disable_affinity && span.has_affinity_list() {
        found.error(
            Rule::AFFINITY_OFF_WITH_LIST,
            &["-n", "-a"],
            "-n (no affinity) and a list of processors (-a) exclude each other: give one of them",
        );
    }
    if span.placement != Placement::default() && (span.disable_affinity || span.has_affinity_list()) {
        let (switch, why) = if span.disable_affinity {
            ("-n", "-n places no thread")
        } else {
            ("-a", "an explicit list of processors already says where every thread goes")
        };
        found.error(
            Rule::PLACEMENT_WITHOUT_EFFECT,
            &["-a<placement>", switch],
            format!("a placement (-ac, -as, -ap, ...) would have no effect: {why}"),
        );
    }
}

fn batches(found: &mut Collector, span: &TimeSpan) {
    if let Some(ring) = span.ring {
        let bad = match ring.batch {
            Batch::Count(n) => (n == 0 || n > RING_BATCH_MAX).then(|| format!("{n} requests")),
            Batch::Percent(p) => (p == 0 || p > 100).then(|| format!("{p} %")),
        };
        if let Some(given) = bad {
            found.error(
                Rule::BATCH,
                &["-u"],
                format!(
                    "the batch of -u is {given}: it must be 1..{RING_BATCH_MAX} requests, or 1..100 percent \
                     of the outstanding requests (with p)"
                ),
            );
        }
    }
    if span.completion_batch == Some(0) {
        found.error(Rule::BATCH, &["-oc"], "-oc must take at least one completion at a time");
    }
}

fn check_target(found: &mut Collector, span: &TimeSpan, target: &Target, will_run: bool) {
    path(found, target, will_run);
    numbers(found, span, target);
    threads(found, span, target);
    pacing(found, span, target);
    if span.is_pool() {
        pool(found, span, target);
    } else if !target.thread_targets.is_empty() {
        found.error(
            Rule::THREAD_TARGETS_WITHOUT_POOL,
            &[],
            "ThreadTargets need both ThreadCount and RequestCount of the time span (-F with -O)",
        );
    }
    pattern(found, span, target);
    if let Some(distribution) = &target.distribution
        && target.random_percent > 0
    {
        check_distribution(found, target, distribution);
    }
    memory(found, span, target);
    extent(found, span, target);
}

fn path(found: &mut Collector, target: &Target, will_run: bool) {
    let path = target.path.as_str();
    let mut letters = path.chars();
    if path.is_empty() {
        found.error(Rule::PATH, &[], "the target has an empty path: give a file or a device");
    } else if let (Some(letter), Some(':'), None) = (letters.next(), letters.next(), letters.next())
        && letter.is_ascii_alphabetic()
    {
        found.error(
            Rule::PATH,
            &[],
            format!(
                "'{path}' names a Windows volume: on Linux give the device node (such as \
                 /dev/disk/by-id/...), or ./{path} for a file of that name"
            ),
        );
    } else if let Some(number) = path.strip_prefix('#')
        && !number.is_empty()
        && (!number.bytes().all(|b| b.is_ascii_digit()) || number.parse::<u32>().is_err())
    {
        found.error(
            Rule::PATH,
            &[],
            format!(
                "'{path}' is not a disk number: write # and digits (#0 is the first disk), or ./{path} for a \
                file of that name"
            ),
        );
    }
    match (target.template(), target.template_number()) {
        (Some(_), None) => found.error(
            Rule::TEMPLATE_NUMBER,
            &[],
            format!("'{path}' is not a template: write * and a number from 1, or ./{path} for a file of that name"),
        ),
        (Some(_), Some(number)) if will_run => found.error(
            Rule::TEMPLATE_LEFT,
            &[],
            format!(
                "template '{path}' is not replaced by a target: give at least {number} with -X, or write ./{path} \
                 for a file of that name (a disk is written '#5', in quotes)"
            ),
        ),
        _ => {}
    }
}

fn numbers(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.block_bytes == 0 || target.block_bytes > BLOCK_BYTES_MAX {
        found.error(
            Rule::BLOCK_SIZE,
            &["-b"],
            format!("the block size is {} bytes: it must be 1..{BLOCK_BYTES_MAX}", target.block_bytes),
        );
    }
    if target.write_percent > 100 {
        found.error(
            Rule::PERCENTAGE,
            &["-w"],
            format!("{} % of writes: it must be 0..100", target.write_percent),
        );
    }
    if target.random_percent > 100 {
        found.error(
            Rule::PERCENTAGE,
            &["-rs"],
            format!("{} % of random I/O: it must be 1..100", target.random_percent),
        );
    }
    if span.thread_count == 0 && target.threads_per_file == 0 {
        found.error(Rule::NO_THREAD, &["-t"], "no thread would work on the target: -t must be at least 1");
    }
    if !span.is_pool() && target.request_count == 0 {
        found.error(
            Rule::NO_REQUEST,
            &["-o"],
            "no I/O would be outstanding: -o must be at least 1, unless -F and -O are given",
        );
    }
}

fn threads(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if span.thread_count > 0 && target.threads_per_file > 1 {
        found.error(
            Rule::TOTAL_WITH_PER_TARGET,
            &["-F", "-t"],
            format!(
                "-F{} (threads in total) and -t{} (threads per target) exclude each other: give one of them",
                span.thread_count, target.threads_per_file
            ),
        );
    }
}

fn pacing(found: &mut Collector, span: &TimeSpan, target: &Target) {
    let (limited, routines) = (target.is_rate_limited(), span.completion_routines);
    let (burst, pause) = (target.burst_ios.unwrap_or(0), target.think_ms.unwrap_or(0));
    if limited && routines {
        found.error(
            Rule::LIMIT_WITH_ROUTINES,
            &["-g", "-x"],
            "-g (rate limit) and -x (completion routines) exclude each other: a request that is reissued from \
             its own completion cannot wait",
        );
    }
    if (burst > 0) != (pause > 0) {
        let (given, missing) = if burst > 0 { ("-i", "-j") } else { ("-j", "-i") };
        found.error(
            Rule::BURST_AND_PAUSE,
            &["-i", "-j"],
            format!("{given} is given without {missing}: I/Os per burst (-i) and the pause between bursts (-j) go \
                together"),
        );
    }
    if limited && (burst > 0 || pause > 0) {
        found.warning(
            Rule::LIMIT_WITH_PACING,
            &["-g", "-i", "-j"],
            "-i and -j (bursts) are ignored beside -g (rate limit), as DiskSpd does",
        );
    }
    if pause > 0 && routines {
        found.error(
            Rule::PAUSE_WITH_ROUTINES,
            &["-j", "-x"],
            "-j (pause between bursts) and -x (completion routines) exclude each other: a request that is \
             reissued from its own completion never pauses",
        );
    }
    let sharing = span.threads_on(target);
    if burst > 0 && burst < sharing {
        found.warning(
            Rule::BURST_BELOW_THREADS,
            &["-i", "-t", "-F"],
            format!(
                "{sharing} threads share a burst of {burst} I/Os (-i), which is less than one I/O for each: each \
                 thread \
                 pauses after every I/O, as with DiskSpd"
            ),
        );
    }
}

fn pool(found: &mut Collector, span: &TimeSpan, target: &Target) {
    const WHY: &str = "requests of the pool change their target with every I/O";
    if target.is_rate_limited() {
        found.error(
            Rule::POOL_WITH_LIMIT,
            &["-g", "-O"],
            format!("-g (rate limit) and -O (requests per thread) exclude each other: {WHY}"),
        );
    }
    if target.think_ms.unwrap_or(0) > 0 {
        found.error(
            Rule::POOL_WITH_PAUSE,
            &["-j", "-O"],
            format!("-j (pause between bursts) and -O (requests per thread) exclude each other: {WHY}"),
        );
    }
    if target.parallel {
        found.error(
            Rule::POOL_WITH_PARALLEL,
            &["-p", "-O"],
            format!("-p (parallel sequential) and -O (requests per thread) exclude each other: {WHY}"),
        );
    }
    if target.weight == 0 {
        found.error(Rule::POOL_WEIGHT, &[], "the target has weight 0 in the pool: Weight must be at least 1");
    }
    for entry in &target.thread_targets {
        if entry.thread >= span.thread_count {
            found.error(
                Rule::POOL_THREAD,
                &[],
                format!(
                    "ThreadTargets names thread {}, but the threads are 0..{} (ThreadCount {})",
                    entry.thread,
                    span.thread_count - 1,
                    span.thread_count
                ),
            );
        }
    }
}

fn pattern(found: &mut Collector, span: &TimeSpan, target: &Target) {
    let multi = span.thread_count > 1 || target.threads_per_file > 1;
    let strided = target.thread_stride_bytes > 0;
    if target.random_percent > 0 {
        for (given, rule, switch, what) in [
            (
                strided,
                Rule::RANDOM_WITH_THREAD_STRIDE,
                "-T",
                "distance between the starts of sequential threads",
            ),
            (target.interlocked, Rule::RANDOM_WITH_INTERLOCKED, "-si", "one shared sequential offset"),
            (target.parallel, Rule::RANDOM_WITH_PARALLEL, "-p", "parallel sequential"),
        ] {
            if given {
                found.error(
                    rule,
                    &[switch, "-r"],
                    format!("{switch} ({what}) and random I/O (-r, -rs) exclude each other"),
                );
            }
        }
        return;
    }
    if target.distribution.is_some() {
        found.error(
            Rule::DISTRIBUTION_WITHOUT_RANDOM,
            &["-rd", "-s"],
            "-rd (distribution) needs random I/O: add -r, or -rs<pct> for a mix",
        );
    }
    if target.parallel && target.request_count == 1 {
        found.warning(
            Rule::PARALLEL_WITH_ONE_REQUEST,
            &["-p", "-o"],
            "-p does not have effect unless outstanding I/O count (-o) is > 1",
        );
    }
    if target.interlocked {
        if strided {
            found.error(
                Rule::INTERLOCKED_WITH_THREAD_STRIDE,
                &["-si", "-T"],
                "-si (one shared offset) and -T (a start of its own for each thread) exclude each other",
            );
        }
        if target.parallel {
            found.error(
                Rule::INTERLOCKED_WITH_PARALLEL,
                &["-si", "-p"],
                "-si (one shared offset) and -p (an offset of its own for each request) exclude each other",
            );
        }
        if !multi {
            found.warning(Rule::INTERLOCKED_WITH_ONE_THREAD, &["-si"], "single-threaded test, -si ignored");
        }
    } else if multi && !strided {
        found.warning(
            Rule::OVERLAPPING_THREADS,
            &["-t", "-F"],
            "target access pattern will not be sequential, consider -si",
        );
        found.add_words("all threads start at the same offset; -T<size> gives each a start of its own");
    } else if !multi && strided {
        found.error(
            Rule::THREAD_STRIDE_WITH_ONE_THREAD,
            &["-T", "-t", "-F"],
            "-T (distance between the starts of threads) needs several threads on the target: add -t or -F above 1",
        );
    }
}

fn memory(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.write_source_bytes > 0 && target.write_source_bytes < target.block_bytes {
        found.error(
            Rule::SOURCE_BELOW_BLOCK,
            &["-Z", "-b"],
            format!(
                "the source of write data (-Z) is {}, smaller than the block size of {} (-b)",
                size(target.write_source_bytes),
                size(target.block_bytes)
            ),
        );
    }
    if target.memory_mapped {
        if span.completion_routines {
            found.error(
                Rule::MAPPED_WITH_ROUTINES,
                &["-x", "-S"],
                "-x (completion routines) and -Sm (memory mapped) exclude each other: mapped I/O has no completions",
            );
        }
        if target.cache == CacheMode::DisableOsCache {
            found.error(
                Rule::MAPPED_UNBUFFERED,
                &["-S"],
                "unbuffered I/O (-Su, -Sh, -h) and memory mapped I/O (-Sm) exclude each other",
            );
        }
    } else if target.flush.is_some() {
        found.error(
            Rule::FLUSH_WITHOUT_MAPPED,
            &["-N"],
            "-N (flush after mapped writes) needs memory mapped I/O: add -Sm",
        );
    }
}

fn extent(found: &mut Collector, span: &TimeSpan, target: &Target) {
    if target.max_bytes > 0 && target.max_bytes <= target.base_bytes {
        found.error(
            Rule::MAXIMUM_NOT_ABOVE_BASE,
            &["-f", "-B"],
            format!(
                "the maximum offset (-f) is {}, not above the base offset (-B) of {}: both count from the start of \
                 the target",
                size(target.max_bytes),
                size(target.base_bytes)
            ),
        );
    }
    let Some(create) = target.create_bytes.filter(|&bytes| bytes > 0) else { return };
    if target.path.starts_with('#') && target.path.len() > 1 {
        found.error(
            Rule::CREATE_DEVICE,
            &["-c"],
            format!(
                "-c creates files, but '{}' is a disk: leave -c out, a device is used as it is",
                target.path
            ),
        );
    }
    let threads = u128::from(span.threads_on(target)).max(1);
    let needed = u128::from(target.base_bytes)
        + u128::from(target.thread_stride_bytes) * (threads - 1)
        + u128::from(target.block_bytes);
    if u128::from(create) < needed {
        found.error(
            Rule::FILE_TOO_SMALL,
            &["-c", "-B", "-T", "-b"],
            format!(
                "-c creates {create} bytes, but one I/O of each thread needs {needed}: base {} (-B) + thread stride \
                 {} (-T) x {} + block {} (-b)",
                size(target.base_bytes),
                size(target.thread_stride_bytes),
                threads - 1,
                size(target.block_bytes)
            ),
        );
    }
}

/// Rules about non-uniform distributions (`-rd`). Only the first cause is reported: what follows a
/// wrong range has no meaning of its own.
fn check_distribution(found: &mut Collector, target: &Target, distribution: &Distribution) {
    if let Err((rule, message)) = first_cause(distribution, target.block_bytes) {
        let switches: &[&'static str] =
            if rule == Rule::RANGE_BELOW_BLOCK { &["-rd", "-b"] } else { &["-rd"] };
        found.error(rule, switches, message);
    }
}

fn first_cause(distribution: &Distribution, block_bytes: u64) -> Result<(), (Rule, String)> {
    let last = distribution.ranges.len().saturating_sub(1);
    let (mut io, mut covered, mut bytes) = (0u64, 0u64, 0u64);
    for (i, range) in distribution.ranges.iter().enumerate() {
        let number = i + 1;
        if distribution.kind == DistributionKind::Absolute {
            absolute_span(range.span, number, i == last, block_bytes)?;
            bytes = bytes.checked_add(range.span).ok_or_else(|| {
                let message = format!("the end of range {number} of -rd does not fit into 64 bits");
                (Rule::TARGET_SHARES_EXCEED, message)
            })?;
        }
        let share = u64::from(range.io_percent);
        if io + share > 100 {
            return Err((
                Rule::IO_SHARES_EXCEED,
                format!("range {number} of -rd takes {share} % of the I/O, but only {} % are left", 100 - io),
            ));
        }
        io += share;
        if distribution.kind == DistributionKind::Percent {
            if range.span > 100 - covered {
                return Err((
                    Rule::TARGET_SHARES_EXCEED,
                    format!(
                        "range {number} of -rd takes {} % of the target, but only {} % are left",
                        range.span,
                        100 - covered
                    ),
                ));
            }
            covered += range.span;
            if covered == 100 && io < 100 {
                return Err((
                    Rule::IO_LEFT_OVER,
                    format!(
                        "after range {number} of -rd the target is used up, but {} % of the I/O are left over: \
                         give the ranges 100 % of the I/O, or leave a part of the target for the rest",
                        100 - io
                    ),
                ));
            }
        }
    }
    if io < 100 {
        return Err((
            Rule::IO_LEFT_OVER,
            format!("the ranges of -rd take {io} % of the I/O: {} % are left over", 100 - io),
        ));
    }
    if distribution.kind == DistributionKind::Percent && covered != 100 {
        return Err((
            Rule::TARGET_LEFT_OVER,
            format!(
                "the ranges of -rd cover {covered} % of the target in total: it must be 100 (to leave a part \
                 without I/O, add a hole: 0/{})",
                100 - covered
            ),
        ));
    }
    Ok(())
}

fn absolute_span(span: u64, number: usize, is_last: bool, block_bytes: u64) -> Result<(), (Rule, String)> {
    match span {
        0 if is_last => Ok(()),
        0 => Err((
            Rule::OPEN_RANGE_INSIDE,
            format!("range {number} of -rd is open (length 0), which only the last range may be"),
        )),
        span if span < block_bytes => Err((
            Rule::RANGE_BELOW_BLOCK,
            format!(
                "range {number} of -rd is {} long, shorter than the block size of {} (-b): no I/O fits into it",
                size(span),
                size(block_bytes)
            ),
        )),
        _ => Ok(()),
    }
}

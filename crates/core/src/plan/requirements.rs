//! What a machine and a target must offer before the run (`command-line.md` §12), and what the system allows one
//! process and an engine one thread: checked before anything is taken.

use super::lanes::ThreadWork;
use crate::engine;
use crate::engine::EngineRow;
use crate::profile::{DistributionKind, Size, Target, TimeSpan};
use truespd_platform::fault::Refusal;
use truespd_platform::machine::limits::{SpaceLeft, ThreadsAllowed};
use truespd_platform::machine::storage::DirectAlignment;
use truespd_platform::sys::system::TRANSFER_BYTES_MAX;

/// Share of the available memory that a run may take, in percent.
pub const MEMORY_SHARE_MAX: u64 = 90;

/// One size option of a target that direct I/O constrains.
pub(super) fn sizes(target: &Target) -> Vec<(&'static str, &'static str, u64)> {
    let stride = if target.random_percent > 0 { "-r" } else { "-s" };
    let stride_what =
        if target.random_percent > 0 { "alignment of random offsets" } else { "sequential stride" };
    let mut sizes = Vec::new();
    for bytes in target.sizes() {
        let (switch, what) =
            if target.mix.is_empty() { ("-b", "block size") } else { ("--mix", "size of an I/O") };
        sizes.push((switch, what, bytes));
    }
    if target.stride_bytes.is_some_and(|s| s > 0) {
        sizes.push((stride, stride_what, target.stride()));
    }
    sizes.push(("-B", "base offset", target.base_bytes));
    sizes.push(("-T", "thread stride", target.thread_stride_bytes));
    if let Some(distribution) = &target.distribution
        && distribution.kind == DistributionKind::Absolute
    {
        let mut bound = 0u64;
        for range in &distribution.ranges {
            bound = bound.saturating_add(range.span);
            sizes.push(("-rd", "bound of the distribution", bound));
        }
    }
    sizes
}

/// Checks every size and offset option of a direct-I/O target.
pub fn check_alignment(target: &Target, alignment: DirectAlignment) -> Result<(), Refusal> {
    for (switch, what, bytes) in sizes(target) {
        if !bytes.is_multiple_of(alignment.offset_bytes.max(1)) {
            let below = bytes - bytes % alignment.offset_bytes;
            let above = below.saturating_add(alignment.offset_bytes);
            let nearest = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
            return Err(Refusal::machine(
                &[switch],
                Some(&target.path),
                format!(
                    "direct I/O on '{}' needs multiples of {} bytes, but the {what} ({switch}) is {bytes}",
                    target.path, alignment.offset_bytes
                ),
            )
            .hint(format!(
                "use {nearest}, or leave out the switch that bypasses the cache (-S, -Su, -Sh, -h)"
            )));
        }
    }
    Ok(())
}

/// Refuses blocks that the system does not move in one call.
pub fn check_block_size(target: &Target) -> Result<(), Refusal> {
    if target.block_bytes > TRANSFER_BYTES_MAX {
        return Err(Refusal::machine(
            &["-b"],
            Some(&target.path),
            format!(
                "block size {} is more than Linux transfers in one I/O; the largest is {TRANSFER_BYTES_MAX} \
                 bytes (2 GiB - 4 KiB)",
                target.block_bytes
            ),
        ));
    }
    Ok(())
}

/// Refuses flushes (`--flush-every`) by an engine that cannot ask for them. `engine` is that of `--engine`.
pub fn check_flushes(target: &Target, engine: Option<&'static EngineRow>) -> Result<(), Refusal> {
    match engine {
        Some(row) if target.flush_every.is_some() && row.polls && !row.sends_commands => {
            let words = format!(
                "--engine {} cannot flush (--flush-every): a polled ring takes reads and writes only",
                row.name
            );
            Err(Refusal::machine(&["--flush-every", "-engine"], None, words).hint("use --engine io_uring"))
        }
        _ => Ok(()),
    }
}

/// What a run takes of memory, in bytes, and of what.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryNeed {
    pub threads: u128,
    /// Buffers of the outstanding I/Os, and shared sources of write data.
    pub buffers: u128,
    /// Series per interval (`-D`) and what is made of them at the end.
    pub series: u128,
    pub workers: u128,
}

impl MemoryNeed {
    /// All of it.
    pub fn total(&self) -> u128 {
        [self.buffers, self.series, self.workers].into_iter().fold(0, u128::saturating_add)
    }
}

/// Memory that a thread touches besides its buffers: stack, ring, histograms.
const THREAD_BYTES: u128 = 64 * 1024;
/// What a histogram takes for the latencies of a usual device: ten of its blocks.
const HISTOGRAM_BYTES: u128 = 80 * 1024;
/// The engine's and the worker's own state of one outstanding I/O.
const SLOT_BYTES: u128 = 256;
/// Series that are made when threads are added up: one for each direction and the sum.
const SERIES_OF_RESULT: u128 = 3;
const XML_INTERVAL_BYTES: u128 = 400;

/// What a time span will take, without taking any of it.
///
/// Told from the numbers asked for alone, as these may be beyond anything that could be laid out.
/// `series` is what one series of intervals takes; `as_xml`: the result is XML, which lists them all.
pub fn memory_need(span: &TimeSpan, series: u128, as_xml: bool) -> MemoryNeed {
    let mut need = MemoryNeed::default();
    for target in &span.targets {
        let threads = u128::from(span.threads_on(target));
        let requests = u128::from(if span.is_pool() { span.request_count } else { target.request_count });
        let own_writes = target.writes_data() && target.write_source_bytes == 0;
        let halves = u128::from(target.reads()) + u128::from(own_writes);
        let directions = u128::from(target.reads()) + u128::from(target.writes_data());
        let slots = threads.saturating_mul(requests);
        let buffers = slots.saturating_mul(halves).saturating_mul(u128::from(target.block_bytes));
        need.buffers = need.buffers.saturating_add(buffers);
        need.buffers = need.buffers.saturating_add(u128::from(target.write_source_bytes));
        need.series = need.series.saturating_add(threads.saturating_mul(directions).saturating_mul(series));
        need.workers = need.workers.saturating_add(slots.saturating_mul(SLOT_BYTES));
        let histograms = if span.measure_latency {
            (directions + u128::from(target.trims())) * (1 + u128::from(target.is_rate_limited()))
        } else {
            0
        };
        // Of each round that a thread keeps.
        let rounds = span.until_steady.map_or(1, |rule| u128::from(rule.window) + 2);
        let histograms =
            threads.saturating_mul(histograms).saturating_mul(HISTOGRAM_BYTES).saturating_mul(rounds);
        need.workers = need.workers.saturating_add(histograms);
        need.threads += if span.thread_count == 0 { threads } else { 0 };
    }
    need.threads += u128::from(span.thread_count);
    need.workers = need.workers.saturating_add(need.threads.saturating_mul(THREAD_BYTES));
    if series > 0 {
        let text = if as_xml {
            u128::from(span.result_s()) * 1000 / u128::from(span.io_bucket_ms.max(1)) * XML_INTERVAL_BYTES
        } else {
            0
        };
        need.series =
            need.series.saturating_add(series.saturating_mul(SERIES_OF_RESULT)).saturating_add(text);
    }
    need
}

/// Large pages (`-l`) of so many bytes that the buffers of all threads take: each buffer takes whole ones.
pub fn huge_pages_needed(span: &TimeSpan, works: &[ThreadWork], page_bytes: u64) -> u64 {
    let mut pages = 0u64;
    for duty in works.iter().flat_map(|work| &work.duties) {
        let target = &span.targets[duty.target];
        if !target.large_pages {
            continue;
        }
        // Writes from a source have the memory that all threads share, which is ordinary.
        let has_own_writes = target.writes_data() && target.write_source_bytes == 0;
        let buffers = u64::from(target.reads()) + u64::from(has_own_writes);
        let bytes = target.block_bytes.saturating_mul(u64::from(duty.requests));
        pages = pages.saturating_add(bytes.max(1).div_ceil(page_bytes).saturating_mul(buffers));
    }
    pages
}

/// Refuses when the run would not fit the memory that is available.
///
/// # Errors
/// What takes most, and which switches lower it.
pub fn check_memory(
    span: &TimeSpan,
    series: u128,
    as_xml: bool,
    available_bytes: u64,
) -> Result<(), Refusal> {
    let need = memory_need(span, series, as_xml);
    let limit = u128::from(available_bytes) * u128::from(MEMORY_SHARE_MAX) / 100;
    if need.total() <= limit {
        return Ok(());
    }
    let [buffers, series, workers] = [need.buffers, need.series, need.workers]
        .map(|bytes: u128| Size(u64::try_from(bytes).unwrap_or(u64::MAX)));
    let threads = match need.threads {
        1 => "1 thread".to_string(),
        n => format!("{n} threads"),
    };
    let has_sources = span.targets.iter().any(|t| t.write_source_bytes > 0);
    let sources = if has_sources { ", and the sources of -Z" } else { "" };
    let available = Size(available_bytes);
    let most = need.buffers.max(need.series).max(need.workers);
    Err(if most == need.buffers {
        Refusal::machine(
            &["-o", "-O", "-b", "-t", "-F", "-Z"],
            None,
            format!(
                "Could not allocate a buffer for target: the I/O buffers would take {} ({threads} x outstanding I/Os \
                 x block size{sources}), but {available} of memory is available",
                buffers
            ),
        )
        .hint("lower -o, -b or -t, or the size of -Z")
    } else if most == need.series {
        Refusal::machine(
            &["-D", "-d"],
            None,
            format!(
                "the statistics per interval would take {} ({threads}, {} s in intervals of {} ms), but {available} of \
                 memory is available",
                series,
                span.duration_s,
                span.io_bucket_ms
            ),
        )
        .hint("use longer intervals (-D<ms>), a shorter run (-d) or fewer threads")
    } else {
        Refusal::machine(
            &["-t", "-F", "-o", "-O"],
            None,
            format!(
                "{threads} and their outstanding I/Os would take {} of memory, but {available} is available",
                workers
            ),
        )
        .hint("lower -t, -F or -o")
    })
}

/// Address space of a thread's stack, with what guards it.
const STACK_BYTES: u128 = (2 << 20) + (64 << 10);
/// Threads of a run besides its workers: the one that directs them, and those that wait for signals and events.
const OTHER_THREADS: u128 = 3;

/// Refuses more outstanding I/Os than the engine of a thread takes; `named` is that of `--engine`.
///
/// # Errors
/// Which thread, how many, and how many the engine takes.
pub fn check_depth(
    span: &TimeSpan,
    works: &[ThreadWork],
    named: Option<&'static EngineRow>,
) -> Result<(), Refusal> {
    let is_direct = span.targets.iter().all(|target| target.is_direct());
    let Some(deepest) = works.iter().max_by_key(|work| work.slots).filter(|work| work.slots > 1) else {
        return Ok(());
    };
    // Mapped files are served one I/O at a time, whatever the engine.
    if named.is_none() && span.targets.iter().all(|target| target.memory_mapped) {
        return Ok(());
    }
    let row = named.unwrap_or_else(|| engine::likely(is_direct));
    if deepest.slots <= row.depth_max {
        return Ok(());
    }
    let message = format!(
        "{} outstanding I/Os for one thread are more than the engine {} takes, which is 1 to {}",
        deepest.slots, row.name, row.depth_max
    );
    Err(Refusal::machine(&["-o", "-O"], None, message)
        .hint("use fewer outstanding I/Os per thread (-o, -O) and more threads (-t, -F)"))
}

/// Refuses more threads than there can be on this machine.
///
/// # Errors
/// How many, and who sets the limit.
pub fn check_threads(threads: u64, allowed: Option<ThreadsAllowed>) -> Result<(), Refusal> {
    let Some(ThreadsAllowed { count, by }) = allowed.filter(|allowed| threads > allowed.count) else {
        return Ok(());
    };
    let message = format!("{threads} threads are more than this process may have, which is {count} ({by})");
    Err(Refusal::machine(&["-t", "-F"], None, message).hint("use fewer threads, or raise the limit"))
}

/// Refuses when the run would not fit the address space that is left to this process. `series` and `as_xml` are as for
/// [`memory_need`].
///
/// # Errors
/// How much it takes, how much is left, and who sets the limit.
pub fn check_space(
    span: &TimeSpan,
    series: u128,
    as_xml: bool,
    left: Option<SpaceLeft>,
) -> Result<(), Refusal> {
    let Some(SpaceLeft { bytes, by }) = left else { return Ok(()) };
    let need = memory_need(span, series, as_xml);
    let total = space_need(&need);
    if total <= u128::from(bytes) {
        return Ok(());
    }
    let message = format!(
        "the run would take {} of address space (threads: {}, I/O buffers: {}), but the limit of this process leaves \
         {} \
         ({by})",
        Size(u64::try_from(total).unwrap_or(u64::MAX)),
        need.threads,
        Size(u64::try_from(need.buffers).unwrap_or(u64::MAX)),
        Size(bytes)
    );
    Err(Refusal::machine(&["-t", "-F", "-o", "-O", "-b"], None, message)
        .hint("raise the limit, or lower -t, -F, -o or -b"))
}

fn space_need(need: &MemoryNeed) -> u128 {
    let stacks = need.threads.saturating_add(OTHER_THREADS).saturating_mul(STACK_BYTES);
    need.total().saturating_add(stacks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CacheMode, Distribution, DistributionRange};
    use truespd_platform::machine::storage::AlignmentSource;

    const KIB: u64 = 1024;

    fn direct(edit: impl Fn(&mut Target)) -> Target {
        let mut target = Target { path: "f".into(), cache: CacheMode::DisableOsCache, ..Target::default() };
        edit(&mut target);
        target
    }

    fn refused(target: &Target, offset_bytes: u64) -> Option<&'static str> {
        let source = AlignmentSource::Statx;
        let alignment = DirectAlignment { offset_bytes, memory_bytes: 512, source };
        check_alignment(target, alignment).err().map(|r| {
            assert!(r.message.contains(&offset_bytes.to_string()), "{}", r.message);
            r.switches[0]
        })
    }

    #[test]
    fn alignment_names_the_option() {
        assert_eq!(refused(&direct(|t| t.block_bytes = 4 * KIB), 4096), None);
        assert_eq!(refused(&direct(|t| t.block_bytes = 512), 4096), Some("-b"));
        assert_eq!(refused(&direct(|t| t.block_bytes = 1000), 512), Some("-b"));
        assert_eq!(refused(&direct(|t| t.stride_bytes = Some(KIB)), 4096), Some("-s"));
        assert_eq!(
            refused(
                &direct(|t| {
                    t.random_percent = 100;
                    t.stride_bytes = Some(KIB);
                }),
                4096
            ),
            Some("-r")
        );
        assert_eq!(refused(&direct(|t| t.base_bytes = 100), 512), Some("-B"));
        assert_eq!(refused(&direct(|t| t.thread_stride_bytes = 5), 512), Some("-T"));
        let range = |io_percent, span| DistributionRange { io_percent, span };
        let ranges = vec![range(50, 70000), range(50, 0)];
        let distribution = Distribution { kind: DistributionKind::Absolute, ranges };
        assert_eq!(refused(&direct(|t| t.distribution = Some(distribution.clone())), 512), Some("-rd"));
    }

    #[test]
    fn the_linux_limit_of_one_transfer() {
        assert!(check_block_size(&direct(|t| t.block_bytes = TRANSFER_BYTES_MAX)).is_ok());
        assert!(check_block_size(&direct(|t| t.block_bytes = TRANSFER_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn buffers_count_reads_writes_and_sources() {
        let mut span = TimeSpan { targets: vec![direct(|t| t.block_bytes = KIB)], ..TimeSpan::default() };
        span.targets[0].request_count = 8;
        let bytes = |span: &TimeSpan| memory_need(span, 0, false).buffers;
        assert_eq!(bytes(&span), 8192);
        span.targets[0].write_percent = 30;
        assert_eq!(bytes(&span), 16384);
        span.targets[0].write_source_bytes = 1 << 20;
        assert_eq!(bytes(&span), 8192 + (1 << 20));
        assert!(check_memory(&span, 0, false, 2 << 20).is_ok());
        let refusal = check_memory(&span, 0, false, 1 << 20).unwrap_err();
        assert!(refusal.message.contains("Could not allocate a buffer for target"));
    }

    #[test]
    fn series_and_threads_count_too() {
        let mut span = TimeSpan { targets: vec![direct(|_| ())], ..TimeSpan::default() };
        span.calculate_iops_std_dev = true;
        (span.io_bucket_ms, span.duration_s) = (1, 86_400);
        // A series per thread, and those of the result.
        let series = 1000;
        let of = |span: &TimeSpan, as_xml| memory_need(span, series, as_xml).series;
        assert_eq!(of(&span, false), 4 * series);
        assert_eq!(of(&span, true), 4 * series + 86_400_000 * XML_INTERVAL_BYTES);
        span.targets[0].write_percent = 50;
        span.targets[0].threads_per_file = 3;
        assert_eq!(of(&span, false), (2 * 3 + 3) * series);
        let refusal = check_memory(&span, 5 << 30, false, 16 << 30).unwrap_err();
        assert_eq!(refusal.switches, ["-D", "-d"]);
        assert!(refusal.message.contains("86400 s in intervals of 1 ms"), "{}", refusal.message);
        span.targets[0].threads_per_file = 1;
        span.thread_count = u32::MAX;
        let refusal = check_memory(&span, 0, false, 16 << 30).unwrap_err();
        assert!(refusal.switches.contains(&"-F"), "{refusal:?}");
    }

    #[test]
    fn every_buffer_takes_whole_large_pages() {
        let mut span =
            TimeSpan { targets: vec![direct(|t| t.block_bytes = 64 * KIB)], ..TimeSpan::default() };
        span.targets[0].request_count = 33;
        span.targets[0].threads_per_file = 3;
        let pages = |span: &TimeSpan| huge_pages_needed(span, &crate::plan::assign(span, &[]), 2048 * KIB);
        assert_eq!(pages(&span), 0, "without -l");
        span.targets[0].large_pages = true;
        assert_eq!(pages(&span), 3 * 2, "2.06 MiB of each thread");
        span.targets[0].write_percent = 30;
        assert_eq!(pages(&span), 3 * 4, "reads and writes have buffers of their own");
        span.targets[0].write_source_bytes = 1 << 20;
        assert_eq!(pages(&span), 3 * 2, "the source is shared");
        span.targets[0].block_bytes = u64::MAX;
        assert!(pages(&span) > 0, "no overflow");
    }

    #[test]
    fn numbers_beyond_everything_do_not_overflow() {
        let mut span =
            TimeSpan { targets: vec![direct(|t| t.block_bytes = u64::MAX); 3], ..TimeSpan::default() };
        span.thread_count = u32::MAX;
        span.request_count = u32::MAX;
        span.duration_s = u32::MAX;
        span.io_bucket_ms = 1;
        assert!(check_memory(&span, u128::MAX, true, u64::MAX).is_err());
    }
}

#[cfg(test)]
mod tests_of_allowance {
    use super::*;
    use crate::plan::assign;
    use crate::profile::Target;

    fn span(requests: u32, threads: u32) -> TimeSpan {
        let target = Target {
            request_count: requests,
            threads_per_file: threads,
            block_bytes: 4096,
            ..Target::default()
        };
        TimeSpan { targets: vec![target], ..TimeSpan::default() }
    }

    #[test]
    fn every_engine_has_its_depth() {
        let refused = |span: &TimeSpan, named| check_depth(span, &assign(span, &[]), named).err();
        for row in engine::TABLE {
            assert!(refused(&span(row.depth_max, 1), Some(row)).is_none(), "{}", row.name);
            if let Some(more) = row.depth_max.checked_add(1) {
                let words = refused(&span(more, 1), Some(row)).expect("one more is too many").message.clone();
                assert!(words.contains(row.name) && words.contains(&row.depth_max.to_string()), "{words}");
            }
        }
        assert!(refused(&span(1_000_000, 4), None).is_some());
        // A thread on several targets has the I/Os of all.
        let mut shared = span(20_000, 1);
        shared.targets.push(shared.targets[0].clone());
        let ring = engine::find("io_uring");
        assert!(refused(&shared, ring).is_none());
        shared.thread_count = 2;
        assert!(refused(&shared, ring).is_some());
    }

    #[test]
    fn threads_and_space_are_told_with_who_limits_them() {
        let allowed = Some(ThreadsAllowed { count: 100, by: "a limit" });
        assert!(check_threads(100, allowed).is_ok() && check_threads(u64::MAX, None).is_ok());
        assert!(check_threads(101, allowed).unwrap_err().message.contains("which is 100 (a limit)"));
        let left = |bytes| Some(SpaceLeft { bytes, by: "a limit" });
        assert!(check_space(&span(4, 2), 0, false, left(12 << 20)).is_ok());
        let refusal = check_space(&span(4, 20), 0, false, left(12 << 20)).unwrap_err();
        assert!(
            refusal.message.contains("threads: 20") && refusal.message.contains("leaves 12M"),
            "{refusal}"
        );
        assert!(check_space(&span(u32::MAX, u32::MAX), u128::MAX, true, left(u64::MAX)).is_err());
    }
}

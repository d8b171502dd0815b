//! Whether a run fits this machine: what can be told before any target is opened, and before anything is made.

use std::path::Path;

use super::counters::Wanted;
use crate::engine::EngineRow;
use crate::fault::{Refusal, RefusalKind};
use crate::machine::limits::{
    available_bytes, memory_facts, open_files_limit, raise_open_files_limit, space_left, threads_allowed,
};
use crate::machine::roots::Roots;
use crate::machine::topology::Topology;
use crate::measure::Intervals;
use crate::plan::{
    assign, check_block_size, check_depth, check_memory, check_space, check_threads, huge_pages_needed,
    processor_order,
};
use crate::profile::{Target, TimeSpan};
use crate::sys::buffer::IoBuffer;
use crate::sys::error::system_text;
use crate::sys::source::Source;
use crate::sys::thread::allowed_processors;

/// Descriptors that the process needs besides those of its targets and workers: standard streams, result files, events,
/// counters, and those that are open for a moment.
const SPARE_DESCRIPTORS: u64 = 64;
/// Descriptors of each target besides those of the workers: the target itself, and the lock that other runs see.
const DESCRIPTORS_OF_TARGET: u64 = 2;

/// If the kernel tells no size of huge pages, it has none, and the allocation says so.
const HUGE_PAGE_BYTES_USUAL: usize = 2 << 20;

/// What a time span runs on.
pub(super) struct Machine<'a> {
    pub topology: &'a Topology,
    pub roots: &'a Roots,
    /// Processors for the threads of this process, where others run on this host as well.
    pub own: Option<Vec<u32>>,
}

/// Checks numbers of a time span against the machine; returns the processors to pin threads to.
pub(super) fn check_span(
    span: &TimeSpan,
    as_xml: bool,
    engine: Option<&'static EngineRow>,
    machine: &Machine<'_>,
) -> Result<Vec<u32>, Refusal> {
    let Machine { topology, roots, own } = machine;
    let allowed = allowed_processors().map_err(|e| {
        Refusal::machine(
            &["-a"],
            None,
            format!("could not ask which processors are allowed: {}", system_text(&e)),
        )
    })?;
    // What the person asks for (-a) is theirs to share.
    let usual = match own {
        Some(own) if !span.has_affinity_list() => own,
        _ => &allowed,
    };
    let cpus = processor_order(span, topology, usual)?;
    for target in &span.targets {
        check_block_size(target)?;
    }
    // Checked before anything is allocated per thread: the command line may ask for billions of threads.
    let series = match Wanted::of(span).intervals {
        Some((interval_ns, duration_ns)) => Intervals::bytes_needed(interval_ns, duration_ns),
        None => 0,
    };
    if let Some(available) = available_bytes(roots) {
        check_memory(span, series, as_xml, available)?;
    }
    check_threads(threads(span), threads_allowed(roots))?;
    check_space(span, series, as_xml, space_left(roots))?;
    check_depth(span, &assign(span, &cpus), engine)?;
    check_huge_pages(span, roots)?;
    Ok(cpus)
}

fn threads(span: &TimeSpan) -> u64 {
    if span.thread_count > 0 { u64::from(span.thread_count) } else { opened_by_threads(span) }
}

/// How often threads open a target.
fn opened_by_threads(span: &TimeSpan) -> u64 {
    span.targets.iter().map(|target| u64::from(span.threads_on(target))).sum()
}

/// Raises the soft limit of open files as far as needed and allowed.
///
/// # Errors
/// How many are needed, and what the limit is.
pub(super) fn check_descriptors(span: &TimeSpan) -> Result<(), Refusal> {
    let (targets, threads) = (span.targets.len() as u64, threads(span));
    // A thread has a ring besides its targets.
    let wanted = opened_by_threads(span) + threads + targets * DESCRIPTORS_OF_TARGET + SPARE_DESCRIPTORS;
    let fits = |limit: Option<u64>| limit.is_none_or(|n| n >= wanted);
    if fits(open_files_limit().soft) {
        return Ok(());
    }
    let limit = raise_open_files_limit().unwrap_or_else(|_| open_files_limit());
    if fits(limit.soft) {
        return Ok(());
    }
    let limit = limit.soft.unwrap_or(0);
    let words = format!(
        "the run needs {wanted} open files (targets: {targets}, threads: {threads}), but the limit of this process is \
         {limit}"
    );
    Err(Refusal::machine(&["-t", "-F"], None, words)
        .hint("test fewer targets at once, use fewer threads (-t, -F), or raise the limit (ulimit -n)"))
}

/// The size of a large page (`-l`).
pub(super) fn huge_page_bytes(roots: &Roots) -> usize {
    let known = memory_facts(roots).ok().and_then(|facts| facts.huge_page_bytes);
    known.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(HUGE_PAGE_BYTES_USUAL)
}

/// Takes the large pages of `-l` for a moment: only that tells whether the system gives them.
fn check_huge_pages(span: &TimeSpan, roots: &Roots) -> Result<(), Refusal> {
    let page_bytes = huge_page_bytes(roots);
    let pages = huge_pages_needed(span, &assign(span, &[]), page_bytes as u64);
    if pages == 0 {
        return Ok(());
    }
    let bytes = usize::try_from(pages).unwrap_or(usize::MAX).saturating_mul(page_bytes);
    let Err(error) = IoBuffer::with_large_pages(bytes, page_bytes) else { return Ok(()) };
    let free = memory_facts(roots).map_or(0, |facts| facts.huge_pages_free);
    let words = format!("{error}; {free} are free now");
    Err(Refusal::machine(&["l"], None, words))
}

/// Checks that the source of a target's write data (`-Z<size>,<file>`) can be read, without reading all of it.
pub(super) fn check_source(target: &Target) -> Result<(), Refusal> {
    let path = target.write_source_path.as_deref().unwrap_or_default();
    if path.is_empty() || !target.writes() || target.write_source_bytes == 0 {
        return Ok(());
    }
    Source::check_again_and_again(Path::new(path)).map_err(|error| {
        let words = format!("'{path}', the source of write data (-Z<size>,<file>): {}", system_text(&error));
        Refusal::new(RefusalKind::Machine, words)
            .about(&["Z"])
            .hint("give a file with data, or no file for random data (-Z<size>)")
    })
}

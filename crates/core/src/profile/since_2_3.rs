//! Rules that came with DiskSpd 2.3 (`release-2.3.md` §1): rings, completion depth, requests, BypassIO. In its
//! words.

use super::validate::{Collector, Rule};
use super::{Batch, CacheMode, REQUESTS_MAX, Target, TimeSpan};

/// Most completions that one wait takes (`-oc`).
const COMPLETION_DEPTH_MAX: u32 = 16;

/// The rules of a time span; in 2.3's order.
pub(super) fn check_time_span(found: &mut Collector, span: &TimeSpan) {
    completion_depth(found, span);
    ring(found, span);
    if span.request_count > REQUESTS_MAX {
        let given = span.request_count;
        let words = format!("outstanding request count (-O) of {given} exceeds maximum of {REQUESTS_MAX}");
        found.error(Rule::REQUESTS_MAX, &["-O"], words);
    }
}

fn completion_depth(found: &mut Collector, span: &TimeSpan) {
    let Some(depth) = span.completion_batch else { return };
    if !(1..=COMPLETION_DEPTH_MAX).contains(&depth) {
        let words = format!("completion depth (-oc) must be between 1 and {COMPLETION_DEPTH_MAX}");
        found.error(Rule::COMPLETION_DEPTH, &["-oc"], words);
    }
    if span.completion_routines {
        let words = "completion depth (-oc) cannot be used with completion routines (-x)";
        found.error(Rule::COMPLETION_DEPTH, &["-oc", "-x"], words);
    }
    if !span.targets.is_empty() && span.targets.iter().all(|target| target.memory_mapped) {
        let words = "completion depth (-oc) cannot be used when all targets use memory mapped I/O (-Sm)";
        found.error(Rule::COMPLETION_DEPTH, &["-oc", "-S"], words);
    }
}

fn ring(found: &mut Collector, span: &TimeSpan) {
    let Some(ring) = span.ring else { return };
    let (bad, legal) = match ring.batch {
        Batch::Count(count) => (count == 0 || count > REQUESTS_MAX, REQUESTS_MAX),
        Batch::Percent(percent) => (percent == 0 || percent > 100, 100),
    };
    if bad {
        let what = if matches!(ring.batch, Batch::Percent(_)) { "percentage " } else { "" };
        let words = format!("IoRing batch size {what}must be between 1 and {legal}");
        found.error(Rule::BATCH, &["-u"], words);
    }
    if span.completion_routines {
        found.error(
            Rule::RING_ALONE,
            &["-u", "-x"],
            "IoRing (-u) can't be used with completion routines (-x)",
        );
    }
    if span.targets.iter().any(|target| target.memory_mapped) {
        found.error(Rule::RING_ALONE, &["-u", "-S"], "IoRing (-u) can't be used with memory mapped IO (-Sm)");
    }
}

/// The rules of a target, in the order of 2.3.
pub(super) fn check_target(found: &mut Collector, span: &TimeSpan, target: &Target) {
    // 2.3 forgets this where the I/O is random.
    if target.request_count > REQUESTS_MAX && !span.is_pool() {
        let given = target.request_count;
        let words =
            format!("per-target outstanding request count (-o) of {given} exceeds maximum of {REQUESTS_MAX}");
        found.error(Rule::REQUESTS_MAX, &["-o"], words);
    }
    if target.bypass_io.is_none() {
        return;
    }
    if target.cache != CacheMode::DisableOsCache {
        let words = "BypassIO (-SY or -Sy) requires unbuffered IO (-Su)";
        found.error(Rule::BYPASS_IO, &["-S"], words);
    }
    if target.writes() {
        let words = "BypassIO (-SY or -Sy) can't be used with write operations (-w)";
        found.error(Rule::BYPASS_IO, &["-S", "-w"], words);
    }
    if target.memory_mapped {
        let words = "BypassIO (-SY or -Sy) can't be used with memory mapped IO (-Sm)";
        found.error(Rule::BYPASS_IO, &["-S"], words);
    }
}

/// Targets that share a file share its mode.
pub(super) fn check_shared_files(found: &mut Collector, span: &TimeSpan) {
    for (place, target) in span.targets.iter().enumerate() {
        let mut earlier = span.targets[..place].iter();
        if earlier.any(|other| other.path == target.path && other.bypass_io != target.bypass_io) {
            found.target = Some(place);
            let words = format!(
                "conflicting BypassIO modes for target '{}' -- all targets sharing a file must use the same \
                 BypassIO mode",
                target.path
            );
            found.error(Rule::BYPASS_IO, &["-S"], words);
        }
    }
}

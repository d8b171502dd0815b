//! Rules about a time span as a whole.

use super::{Collector, Rule};
use crate::profile::{Batch, Placement, TimeSpan};

/// Largest batch of `-u` as a count.
const RING_BATCH_MAX: u32 = 65535;

pub(super) fn check(found: &mut Collector, span: &TimeSpan) {
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

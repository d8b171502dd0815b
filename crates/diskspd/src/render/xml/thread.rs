//! One thread with its targets (`xml.md` §2.7).

use super::{iops, latency};
use truespd_core::profile::TimeSpan;
use truespd_core::profile::xml::Writer;
use truespd_core::result::{DistributionPart, TargetResult, ThreadResult, WaitStatistics};

/// `host` is where the thread of a sum ran: in an element of TrueSpd's, which other results do not have.
pub(super) fn thread(
    out: &mut Writer,
    span: &TimeSpan,
    thread: &ThreadResult,
    host: Option<&String>,
    has_waits: bool,
) {
    out.open("Thread", &[]);
    out.leaf("Id", thread.id);
    if let Some(host) = host {
        out.leaf("TrueSpdHost", host);
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
        latency::of_target(out, target);
    }
    if span.calculate_iops_std_dev {
        iops::of_target(out, target);
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
    let completions = waits.lookaside_completions.map(|count| count.to_string());
    out.leaf("LookasideCompletion", completions.join(" "));
    out.close("WaitStatistics");
}

//! Do several threads, or several requests, walk through the same data?

use crate::profile::Target;
use crate::result::{Finding, FindingGrade};
use crate::text::bytes;
use crate::verdict::figures::{Details, found};
use crate::verdict::rules::cache::RANGE_SMALL_BYTES;
use crate::verdict::{Case, Look};

/// Sequential walks past the page cache that follow each other closely: what the first one fetches, a buffer
/// of the disk can give to the others.
pub fn threads_overlap(case: &Case<'_>) -> Look {
    let targets = case.span.targets.iter().filter(|target| target.random_percent == 0 && target.is_direct());
    Ok(targets.filter_map(|target| overlap(case, target)).collect())
}

fn overlap(case: &Case<'_>, target: &Target) -> Option<Finding> {
    let threads = if target.interlocked { 1 } else { case.span.threads_on(target) };
    let requests = if target.parallel { target.request_count } else { 1 };
    // Requests of one thread begin at one place; threads where -T puts them.
    let gap = if requests > 1 { 0 } else { target.thread_stride_bytes };
    let walks = u64::from(threads) * u64::from(requests);
    if walks < 2 || gap >= RANGE_SMALL_BYTES || walked(case, target) / u64::from(requests) <= gap {
        return None;
    }
    let way = match (target.reads(), target.writes()) {
        (true, true) => "read or written",
        (false, _) => "written",
        _ => "read",
    };
    let (who, begin, advice) = match (requests, gap) {
        (2.., _) => (
            format!("{walks} sequential requests"),
            "at the same place (-p)".to_string(),
            "leave -p out, so that each request takes the next block",
        ),
        (_, 0) => (
            format!("{threads} threads"),
            "at the same place (-s without -si or -T)".to_string(),
            "let the threads share one walk (-si), or keep them apart (-T<size>, with the size of the file divided by \
             the threads)",
        ),
        (_, gap) => (
            format!("{threads} threads"),
            format!("only {} apart (-T)", bytes(gap as f64)),
            "set -T to the size of the file divided by the threads, or let the threads share one walk (-si)",
        ),
    };
    let says = format!(
        "{who} walk through the target and begin {begin}, so each block is {way} up to {walks} times within a short time: \
         from the second time on a buffer of the disk can answer."
    );
    Some(
        found(FindingGrade::Suspect, says)
            .of(Some(&target.path))
            .figure("walks", walks as f64)
            .figure("distance_bytes", gap as f64)
            .advise(advice),
    )
}

/// How far the fastest thread came in the measured time, in bytes.
fn walked(case: &Case<'_>, target: &Target) -> u64 {
    let threads = case.measured.threads.iter();
    let own = threads.flat_map(|thread| &thread.targets).filter(|result| result.path == target.path);
    let ios = own.map(|result| result.read.ios.saturating_add(result.write.ios));
    ios.max().unwrap_or(0).saturating_mul(target.stride())
}

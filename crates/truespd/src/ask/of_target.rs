//! What each target of a profile did, also when several share a file: the threads are told apart by their order.

use truespd_core::profile::TimeSpan;
use truespd_core::result::{Direction, DirectionSummary, Measured, TargetResult, ThreadResult};

/// What the threads on the profile's target `index` did, on all ranks; none where a sum does not tell any more, because
/// the threads of its results were added up and several targets have one path.
pub fn results_of<'a>(
    span: &TimeSpan,
    measured: &'a Measured,
    index: usize,
) -> Option<Vec<&'a TargetResult>> {
    let mut found = Vec::new();
    // The threads of each rank follow each other.
    for threads in measured.threads.chunk_by(|a, b| a.source == b.source) {
        found.extend(results_of_rank(span, threads, index)?);
    }
    Some(found)
}

fn results_of_rank<'a>(
    span: &TimeSpan,
    threads: &'a [ThreadResult],
    index: usize,
) -> Option<Vec<&'a TargetResult>> {
    let target = &span.targets[index];
    let before: u32 = span.targets[..index].iter().map(|target| target.threads_per_file).sum();
    let all: u32 = span.targets.iter().map(|target| target.threads_per_file).sum();
    if span.thread_count == 0 && threads.len() == all as usize {
        // Threads of their own: those of the first target come first.
        let own = threads.iter().skip(before as usize).take(target.threads_per_file as usize);
        return Some(own.filter_map(|thread| thread.targets.first()).collect());
    }
    // The targets of each rank stand in the order of the profile, whatever they are called there.
    if threads.iter().all(|thread| thread.targets.len() == span.targets.len()) {
        return Some(threads.iter().map(|thread| &thread.targets[index]).collect());
    }
    if threads.len() != span.thread_count as usize {
        return None;
    }
    let earlier = span.targets[..index].iter().filter(|other| other.path == target.path).count();
    let mut found = Vec::new();
    for thread in threads {
        found.extend(thread.targets.iter().filter(|result| result.path == target.path).nth(earlier));
    }
    Some(found)
}

/// What several parts of `test_time_s` seconds did together.
pub fn sum<'a>(parts: impl Iterator<Item = &'a Direction>, test_time_s: f64) -> DirectionSummary {
    let mut sum = Direction::default();
    for part in parts {
        sum.ios += part.ios;
        sum.bytes += part.bytes;
        for (to, from) in [(&mut sum.latency, &part.latency), (&mut sum.response, &part.response)] {
            if let Some(from) = from {
                to.get_or_insert_default().merge(from);
            }
        }
    }
    DirectionSummary::of(&sum, test_time_s)
}

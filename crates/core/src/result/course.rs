//! Metrics over the course of one run: what their means are made of, interval by interval.

use super::metrics::{Metric, completions, gathered};
use super::{Direction, Measured, Operations};
use crate::measure::blocks::Part;

/// What is summed in each interval, and what it is divided by, so that the sums give the metric of the run;
/// `None` where intervals do not tell: of percentiles, the maximum and the processor time, and of latencies
/// without `-D`.
pub fn parts(metric: Metric, measured: &Measured) -> Option<Vec<Part>> {
    if metric == Metric::MEAN {
        return latencies(measured);
    }
    let [of_read, of_write] = match metric {
        of if of == Metric::IOPS => [1.0, 1.0],
        of if of == Metric::BYTES => {
            [mean_bytes(measured, |target| &target.read), mean_bytes(measured, |target| &target.write)]
        }
        _ => return None,
    };
    let (reads, interval_s) = completions(measured, Operations::Reads);
    let (writes, _) = completions(measured, Operations::Writes);
    let at = |list: &[f64], place: usize| list.get(place).copied().unwrap_or(0.0);
    let sum = |place: usize| at(&reads, place) * of_read + at(&writes, place) * of_write;
    let part = |place: usize| Part { sum: sum(place), weight: interval_s };
    let count = reads.len().max(writes.len());
    (interval_s > 0.0 && count > 0).then(|| (0..count).map(part).collect())
}

/// Bytes of a read, or of a write; 0 without any.
fn mean_bytes(measured: &Measured, of: fn(&super::TargetResult) -> &Direction) -> f64 {
    let directions = || measured.threads.iter().flat_map(|thread| &thread.targets).map(of);
    let [bytes, ios] = [|one: &Direction| one.bytes, |one: &Direction| one.ios]
        .map(|read: fn(&Direction) -> u64| directions().map(read).sum::<u64>() as f64);
    if ios > 0.0 { bytes / ios } else { 0.0 }
}

/// Of `-D` with `-L`.
fn latencies(measured: &Measured) -> Option<Vec<Part>> {
    let mut all = gathered(measured, Operations::All);
    let mut sum = all.next()?.clone();
    let interval_ns = sum.interval_ns();
    all.filter(|one| one.interval_ns() == interval_ns).for_each(|one| sum.merge(one));
    let part =
        |of: &crate::measure::intervals::Interval| Part { sum: of.sum_ns as f64, weight: of.count as f64 };
    let parts: Vec<Part> = sum.series()[..sum.valid()].iter().map(part).collect();
    // Without -L the intervals hold counts only.
    parts.iter().any(|part| part.sum > 0.0).then_some(parts)
}

//! The figures of reads, writes or both as words.

use truespd_core::result::{DirectionSummary, LatencySummary};
use truespd_core::text::{duration_ns, number, rate};

/// The latencies that count: from when the rate (`-g`) wanted the I/O, where there is one.
pub(super) fn times(sum: &DirectionSummary) -> Option<(&LatencySummary, &'static str)> {
    let response = sum.response.as_ref().map(|times| (times, "response time"));
    response.or(sum.latency.as_ref().map(|times| (times, "latency")))
}

/// Words of a head.
pub(super) fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_string).to_vec()
}

/// What [`figures`] are.
pub(super) fn figure_names() -> Vec<String> {
    strings(["IOPS", "throughput", "mean", "p50", "p99", "p99.9", "longest"])
}

/// Rates, then latencies.
pub(super) fn figures(sum: &DirectionSummary) -> Vec<String> {
    let latency = |of: fn(&LatencySummary) -> f64| {
        times(sum).map_or("-".to_string(), |(times, _)| duration_ns(of(times)))
    };
    vec![
        number(sum.iops),
        rate(sum.bytes_per_s),
        latency(|times| times.mean_ns),
        latency(|times| times.p50_ns as f64),
        latency(|times| times.p99_ns as f64),
        latency(|times| times.p99_9_ns as f64),
        latency(|times| times.max_ns as f64),
    ]
}

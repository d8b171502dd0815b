//! The highest rate whose response times stay under a limit: which rate to try next, and when it is found.
//!
//! Rates are per stream (`-g` counts per thread and target), so that a rate is always one that the line can ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

use truespd_core::fault::Refusal;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{Grade, LatencySummary};

/// Parts of the rate without limit that are tried first, upwards until one breaks the limit.
const STEPS: [f64; 6] = [0.1, 0.3, 0.5, 0.7, 0.85, 0.95];
/// How near the highest rate within the limit and the lowest beyond have to come, as a part of the rate without limit.
const NEAR: f64 = 0.025;
/// A rate that is missed by more is not sustained.
const MISSED_MAX: f64 = 0.015;
/// No search takes more runs, whatever the storage does.
pub const RUNS_MAX: usize = 20;
/// The smallest and the largest limit: the resolution of latencies, and a day.
const MS_MIN: f64 = 0.000_001;
const MS_MAX: f64 = 86_400_000.0;
/// What a search usually takes, with the run without limit.
pub const RUNS_USUAL: usize = 12;

/// Which figure of the response times is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// The mean.
    Mean,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    P999,
}

impl Of {
    /// All of them with their words.
    pub const ALL: [(Of, &str); 4] =
        [(Of::Mean, "mean"), (Of::P95, "p95"), (Of::P99, "p99"), (Of::P999, "p99.9")];

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(of, _)| *of == self).map_or("", |(_, word)| word)
    }

    pub fn ms(self, response: &LatencySummary) -> f64 {
        let metric = match self {
            Of::Mean => Metric::MEAN,
            Of::P95 => Metric::P95,
            Of::P99 => Metric::P99,
            Of::P999 => Metric::P999,
        };
        ms(metric, response)
    }
}

/// In milliseconds; 0 where the metric is none of times.
fn ms(metric: Metric, response: &LatencySummary) -> f64 {
    metric.of_latencies(response).unwrap_or(0.0) / 1e6
}

/// What response times have to keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Limit")]
pub struct LatencyLimit {
    /// Which figure.
    pub of: Of,
    /// At most this, in milliseconds.
    pub ms: f64,
}

impl LatencyLimit {
    /// # Errors
    /// A number that is no limit.
    pub fn new(of: Of, ms: f64) -> Result<Self, Refusal> {
        if (MS_MIN..=MS_MAX).contains(&ms) {
            return Ok(LatencyLimit { of, ms });
        }
        // In full, some numbers have hundreds of digits.
        Err(Refusal::command_line(format!(
            "a latency limit is from {MS_MIN} ms (a nanosecond) to {MS_MAX} ms (a day), not {ms:e} ms"
        )))
    }
}

/// One rate that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// I/Os per second of each thread on each target.
    pub per_stream: u64,
    /// I/Os per second in all.
    pub offered_iops: f64,
    /// What was reached.
    pub reached_iops: f64,
    /// Response times from the intended start, in milliseconds.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p99_9_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The figure that the limit is about, in milliseconds.
    pub held_ms: f64,
    /// The rate was reached.
    pub is_reached: bool,
    /// The rate was reached, and the limit kept.
    pub is_within: bool,
    /// The verdict of the run.
    pub grade: Option<Grade>,
}

impl Point {
    /// Of what a run at `per_stream` on so many streams reached.
    pub fn of(
        limit: LatencyLimit,
        per_stream: u64,
        streams: u64,
        reached_iops: f64,
        response: &LatencySummary,
        grade: Option<Grade>,
    ) -> Self {
        let offered_iops = per_stream.saturating_mul(streams) as f64;
        let held_ms = limit.of.ms(response);
        let is_reached = reached_iops >= offered_iops * (1.0 - MISSED_MAX);
        Point {
            per_stream,
            offered_iops,
            reached_iops,
            mean_ms: ms(Metric::MEAN, response),
            p50_ms: ms(Metric::P50, response),
            p95_ms: ms(Metric::P95, response),
            p99_ms: ms(Metric::P99, response),
            p99_9_ms: ms(Metric::P999, response),
            max_ms: ms(Metric::MAX, response),
            held_ms,
            is_reached,
            is_within: is_reached && held_ms <= limit.ms,
            grade,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Try this rate per stream.
    Try(u64),
    /// Found: this rate per stream keeps the limit, in two runs at least, and a little more does not.
    Found(u64),
    /// No rate keeps the limit.
    None,
    /// Too many runs: the storage does not answer twice alike.
    GaveUp,
}

/// How many runs of a rate were within the limit, and how many not.
pub(super) fn runs_of(points: &[Point], per_stream: u64) -> (usize, usize) {
    let (mut kept, mut broken) = (0, 0);
    for point in points.iter().filter(|point| point.per_stream == per_stream) {
        *(if point.is_within { &mut kept } else { &mut broken }) += 1;
    }
    (kept, broken)
}

/// The highest rate that kept the limit in most of its runs.
pub(super) fn best(points: &[Point]) -> Option<u64> {
    let rates = points.iter().map(|point| point.per_stream);
    let kept = rates.filter(|&rate| {
        let (kept, broken) = runs_of(points, rate);
        kept > broken
    });
    kept.max()
}

/// Decides on the points so far. `unlimited` is the rate per stream without a limit.
///
/// Of several runs of a rate the majority counts. Runs are repeated where one alone would decide the most:
/// the first rate that breaks the limit, and the answer.
pub fn next(unlimited: f64, points: &[Point]) -> Next {
    if unlimited < 1.0 {
        return Next::None;
    }
    let decided = decide(unlimited, points);
    match decided {
        Next::Try(_) if points.len() >= RUNS_MAX => Next::GaveUp,
        decided => decided,
    }
}

fn decide(unlimited: f64, points: &[Point]) -> Next {
    let mut rates: Vec<u64> = points.iter().map(|point| point.per_stream).collect();
    rates.sort_unstable();
    rates.dedup();
    let mut bad = Vec::new();
    for &rate in &rates {
        let (kept, broken) = runs_of(points, rate);
        match broken.cmp(&kept) {
            Ordering::Equal => return Next::Try(rate),
            Ordering::Greater => bad.push(rate),
            Ordering::Less => {}
        }
    }
    if let [only] = bad[..]
        && runs_of(points, only) == (0, 1)
    {
        return Next::Try(only);
    }
    let bad = bad.first().copied();
    // The highest below the first bad one.
    let good = rates.iter().rfind(|&&rate| bad.is_none_or(|bad| rate < bad)).copied().unwrap_or(0);
    if bad.is_none() {
        for part in STEPS {
            let rate = ((unlimited * part) as u64).max(1);
            if rate > good {
                return Next::Try(rate);
            }
        }
    }
    let near = ((unlimited * NEAR) as u64).max(1);
    let beyond = bad.unwrap_or(unlimited.ceil() as u64);
    if beyond > good + near {
        return Next::Try((good + (beyond - good) / 2).max(1));
    }
    match good {
        0 => Next::None,
        good if runs_of(points, good).0 < 2 => Next::Try(good),
        good => Next::Found(good),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit() -> LatencyLimit {
        LatencyLimit::new(Of::P99, 10.0).unwrap()
    }

    fn response(p99_ms: f64) -> LatencySummary {
        let ns = (p99_ms * 1e6) as u64;
        LatencySummary {
            mean_ns: p99_ms * 5e5,
            std_dev_ns: 0.0,
            min_ns: 0,
            p25_ns: 0,
            p50_ns: ns / 2,
            p75_ns: ns,
            p90_ns: ns,
            p95_ns: ns,
            p99_ns: ns,
            p99_9_ns: ns * 2,
            p99_99_ns: ns * 2,
            p99_999_ns: ns * 2,
            max_ns: ns * 2,
        }
    }

    /// Searches on storage whose 99th percentile at a rate of the run is this; rates tried and how it ended.
    fn search(unlimited: f64, mut p99_ms: impl FnMut(usize, u64) -> f64) -> (Vec<u64>, Next) {
        let mut points = Vec::new();
        loop {
            match next(unlimited, &points) {
                Next::Try(rate) => {
                    assert!(rate >= 1 && points.len() < RUNS_MAX);
                    let p99 = p99_ms(points.len(), rate);
                    let reached = (rate * 4) as f64;
                    points.push(Point::of(limit(), rate, 4, reached, &response(p99), None));
                }
                end => return (points.iter().map(|p| p.per_stream).collect(), end),
            }
        }
    }

    #[test]
    fn the_knee_is_found_wherever_it_is() {
        for knee in [30u64, 99, 100, 101, 250, 499, 720, 849, 900, 960, 979] {
            let (tried, end) = search(1000.0, |_, rate| if rate <= knee { 5.0 } else { 50.0 });
            let Next::Found(rate) = end else { panic!("{knee}: {end:?} {tried:?}") };
            assert!(rate <= knee && rate + 25 >= knee, "{knee}: {rate} {tried:?}");
            assert!(tried.iter().filter(|&&r| r == rate).count() >= 2, "{tried:?}");
            assert!(tried.len() <= 15, "{knee}: {tried:?}");
        }
    }

    #[test]
    fn nothing_keeps_the_limit() {
        let (tried, end) = search(1000.0, |_, _| 11.0);
        assert_eq!(end, Next::None);
        assert!(tried.iter().min().is_some_and(|&rate| rate <= 50), "{tried:?}");
        assert_eq!(search(0.5, |_, _| 1.0), (Vec::new(), Next::None));
    }

    #[test]
    fn everything_keeps_it() {
        let (tried, end) = search(1000.0, |_, _| 1.0);
        let Next::Found(rate) = end else { panic!("{end:?}") };
        assert!(rate >= 970, "{rate} {tried:?}");
    }

    #[test]
    fn slow_storage_has_few_rates() {
        // 3 I/Os per second and stream.
        let (tried, end) = search(3.0, |_, rate| if rate <= 1 { 5.0 } else { 50.0 });
        assert_eq!(end, Next::Found(1), "{tried:?}");
    }

    #[test]
    fn one_disturbed_run_does_not_decide() {
        // The first run of all is disturbed, then one in the middle.
        for disturbed in 0..8 {
            let (tried, end) =
                search(1000.0, |run, rate| if rate <= 600 && run != disturbed { 5.0 } else { 50.0 });
            let Next::Found(rate) = end else { panic!("{disturbed}: {end:?} {tried:?}") };
            assert!(rate <= 600, "{tried:?}");
            if disturbed < 4 {
                assert!(rate + 25 >= 600, "{disturbed}: {rate} {tried:?}");
            }
        }
    }

    #[test]
    fn an_answer_that_does_not_repeat_is_none() {
        // Above 400 only the first run of a rate is good.
        let mut seen = Vec::new();
        let (tried, end) = search(1000.0, |_, rate| {
            let again = seen.contains(&rate);
            seen.push(rate);
            if rate <= 400 || rate <= 600 && !again { 5.0 } else { 50.0 }
        });
        match end {
            Next::Found(rate) => assert!(rate <= 400, "{tried:?}"),
            end => assert_eq!(end, Next::GaveUp, "{tried:?}"),
        }
        // And storage that never does the same twice comes to an end.
        let mut seed = 1u64;
        let (tried, _) = search(1000.0, |_, _| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if seed >> 63 == 0 { 5.0 } else { 50.0 }
        });
        assert!(tried.len() <= RUNS_MAX);
    }

    #[test]
    fn a_rate_that_is_missed_is_not_within() {
        let point = |reached| Point::of(limit(), 100, 4, reached, &response(5.0), None);
        assert!(point(400.0).is_within && point(395.0).is_within);
        assert!(!point(390.0).is_within && !point(390.0).is_reached);
        let slow = Point::of(limit(), 100, 4, 400.0, &response(10.1), None);
        assert!(slow.is_reached && !slow.is_within);
        assert_eq!(Of::ALL.map(|(of, _)| of.ms(&response(8.0))), [4.0, 8.0, 8.0, 16.0]);
        for ms in [-1.0, 0.0, f64::NAN, f64::INFINITY, 1e308, 1e-300, MS_MAX * 1.01] {
            let words = LatencyLimit::new(Of::Mean, ms).unwrap_err().to_string();
            assert!(words.contains("(a nanosecond) to") && words.len() < 150, "{words}");
        }
        assert!(LatencyLimit::new(Of::Mean, MS_MAX).is_ok());
    }
}

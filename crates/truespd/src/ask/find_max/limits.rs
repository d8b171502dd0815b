//! What response times have to keep: a percentile or the mean, and the longest that it may be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::LatencySummary;
use truespd_core::result::metrics::Metric;
use truespd_platform::fault::Refusal;

/// The smallest and the largest limit in milliseconds: the resolution of latencies, and a day.
const MS_MIN: f64 = 0.000_001;
const MS_MAX: f64 = 86_400_000.0;
/// I/Os over the limit that a trial at the edge has to have: with fewer, the share of them says nothing.
const TAIL_IOS: f64 = 10.0;
/// Fewer I/Os have no mean whose error can be told.
const MEAN_IOS: u64 = 200;
/// Units of a limit, with milliseconds in each; the longer words first.
const UNITS: [(&str, f64); 4] = [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3)];

/// Which figure of the response times is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// The mean of all response times.
    Mean,
    /// The median, or 50th percentile.
    P50,
    /// The 95th percentile of the response times.
    P95,
    /// The 99th percentile of the response times.
    P99,
    /// The 99.9th percentile of the response times.
    #[serde(rename = "p99.9")]
    P999,
}

/// A row of the table of figures: its word, the share of I/Os that it leaves above it (none: the mean), its metric.
type Row = (Of, &'static str, Option<f64>, Metric);

impl Of {
    const TABLE: [Row; 5] = [
        (Of::Mean, "mean", None, Metric::MEAN),
        (Of::P50, "p50", Some(0.5), Metric::P50),
        (Of::P95, "p95", Some(0.05), Metric::P95),
        (Of::P99, "p99", Some(0.01), Metric::P99),
        (Of::P999, "p99.9", Some(0.001), Metric::P999),
    ];

    /// All of them with their words.
    pub fn all() -> [(Of, &'static str); 5] {
        Self::TABLE.map(|(of, word, ..)| (of, word))
    }

    fn row(self) -> Row {
        Self::TABLE[self as usize]
    }

    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// The share of I/Os that may be above a percentile (0.01 of p99); none of the mean.
    pub fn share_allowed(self) -> Option<f64> {
        self.row().2
    }

    /// The figure of these response times, in milliseconds.
    pub fn ms(self, response: &LatencySummary) -> f64 {
        self.row().3.of_latencies(response).unwrap_or(0.0) / 1e6
    }

    /// I/Os that a trial needs at least, so that it can say something about the figure.
    pub fn ios_min(self) -> u64 {
        self.share_allowed().map_or(MEAN_IOS, |share| (TAIL_IOS / share).round() as u64)
    }
}

/// What response times have to keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Limit")]
pub struct LatencyLimit {
    /// Which figure of the response times.
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

    /// The limit in nanoseconds, as histograms count.
    pub fn ns(self) -> f64 {
        self.ms * 1e6
    }

    /// In words: `p99 <= 2 ms`.
    pub fn words(self) -> String {
        format!("{} <= {} ms", self.of.word(), self.ms)
    }
}

/// All limits in words: `p99 <= 2 ms and mean <= 0.5 ms`.
pub fn limits_words(limits: &[LatencyLimit]) -> String {
    let words: Vec<String> = limits.iter().map(|limit| limit.words()).collect();
    words.join(" and ")
}

/// Reads a time with its unit as milliseconds: `2ms`, `500us`, `1.5s`.
///
/// # Errors
/// It is none, or no limit.
pub fn milliseconds(text: &str) -> Result<f64, Refusal> {
    for (unit, ms) in UNITS {
        let Some(digits) = text.strip_suffix(unit) else { continue };
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match digits.parse::<f64>() {
            Ok(number) if is_plain => return LatencyLimit::new(Of::P99, number * ms).map(|limit| limit.ms),
            _ => break,
        }
    }
    Err(Refusal::command_line("a time with its unit is missing")
        .hint("write a number with ns, us, ms or s: 2ms, 500us, 1.5s"))
}

/// Refuses limits of which one says nothing: a lower percentile is never above a higher one.
///
/// # Errors
/// Which limits contradict each other.
pub fn check_together(limits: &[LatencyLimit]) -> Result<(), Refusal> {
    for lower in limits {
        for higher in limits {
            let (Some(more), Some(fewer)) = (lower.of.share_allowed(), higher.of.share_allowed()) else {
                continue;
            };
            if more > fewer && lower.ms >= higher.ms {
                let (low, high) = (lower.of.word(), higher.of.word());
                let message = format!(
                    "--{low}: a limit of {} ms says nothing beside --{high} {}ms, because {low} is never above {high}",
                    lower.ms, higher.ms
                );
                return Err(Refusal::command_line(message)
                    .hint(format!("leave out --{low}, or give a time below {}ms", higher.ms)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in [("2ms", 2.0), ("500us", 0.5), ("1.5s", 1500.0), ("1ns", 0.000_001), (".5ms", 0.5)]
        {
            let read = milliseconds(text).unwrap();
            assert!((read / ms - 1.0).abs() < 1e-9, "{text}: {read}");
        }
        for text in ["", "2", "ms", "2 ms", "-1ms", "infs", "nanms", "2min", "1e3ms", "1,5ms"] {
            let words = milliseconds(text).unwrap_err().to_string();
            assert!(words.contains("2ms, 500us, 1.5s"), "{text}: {words}");
        }
        for text in ["0ms", "0.5ns", "90000s"] {
            let words = milliseconds(text).unwrap_err().to_string();
            assert!(words.contains("(a nanosecond) to"), "{text}: {words}");
        }
    }

    #[test]
    fn a_limit_that_says_nothing_is_refused() {
        let limit = |of, ms| LatencyLimit::new(of, ms).unwrap();
        assert!(check_together(&[limit(Of::P99, 2.0), limit(Of::P50, 0.5), limit(Of::Mean, 9.0)]).is_ok());
        let words = check_together(&[limit(Of::P99, 2.0), limit(Of::P50, 5.0)]).unwrap_err().to_string();
        assert!(words.contains("--p50: a limit of 5 ms says nothing beside --p99 2ms"), "{words}");
    }

    #[test]
    fn rare_i_os_need_many() {
        let least: Vec<u64> = Of::all().map(|(of, _)| of.ios_min()).into();
        assert_eq!(least, [200, 20, 200, 1_000, 10_000]);
        for ms in [-1.0, 0.0, f64::NAN, f64::INFINITY, 1e308, 1e-300, MS_MAX * 1.01] {
            let words = LatencyLimit::new(Of::Mean, ms).unwrap_err().to_string();
            assert!(words.contains("(a nanosecond) to") && words.len() < 150, "{words}");
        }
        assert!(LatencyLimit::new(Of::Mean, MS_MAX).is_ok());
    }
}

//! IOPS and latency per interval (`-D`, `io-semantics.md` §14.3).
//!
//! One series per thread, target and direction, merged by adding interval to interval. All memory is
//! taken when a series is made, [`Intervals::bytes_needed`] says beforehand how much.

use serde::{Deserialize, Serialize};

/// Population standard deviation from exact sums; 0 without samples, never negative or NaN.
pub fn std_dev(count: u64, sum: u128, sum_squares: u128) -> f64 {
    if count == 0 {
        return 0.0;
    }
    // Moments about the mean rounded down, in integers, so that nothing cancels: with sum = n*m + r,
    // Σ(x-m)² = Σx² - m*sum - m*r, and every product is at most Σx², so nothing overflows either.
    let n = u128::from(count);
    let (m, r) = (sum / n, sum % n);
    // Below zero only when the sum of squares was saturated.
    let about_m = sum_squares.saturating_sub(m.saturating_mul(sum)).saturating_sub(m.saturating_mul(r));
    let rest = r as f64 / count as f64;
    (about_m as f64 / count as f64 - rest * rest).max(0.0).sqrt()
}

/// What completed in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Completions.
    pub count: u64,
    /// Smallest latency in nanoseconds, 0 while `count` is 0.
    pub min_ns: u64,
    /// Largest latency in nanoseconds.
    pub max_ns: u64,
    /// Sum of latencies in nanoseconds.
    pub sum_ns: u128,
    /// Sum of squared latencies.
    pub sum_squares: u128,
}

impl Interval {
    /// Mean latency in nanoseconds, 0 without completions.
    pub fn latency_mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Population standard deviation of the latencies in nanoseconds, 0 without completions.
    pub fn latency_std_dev_ns(&self) -> f64 {
        std_dev(self.count, self.sum_ns, self.sum_squares)
    }

    #[inline]
    fn record(&mut self, latency_ns: u64) {
        let square = u128::from(latency_ns) * u128::from(latency_ns);
        self.merge(&Interval {
            count: 1,
            min_ns: latency_ns,
            max_ns: latency_ns,
            sum_ns: latency_ns.into(),
            sum_squares: square,
        });
    }

    /// Adds what `other` holds. An empty contributor leaves the minimum alone (2.2 makes it 0).
    #[inline]
    fn merge(&mut self, other: &Interval) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }
}

/// Series of intervals from the start of measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Intervals {
    interval_ns: u64,
    /// Measured time the series stands for: the planned one, less when the run was stopped.
    duration_ns: u64,
    series: Vec<Interval>,
    /// Index of the interval of the last completion, plus one, at most the length of the series.
    valid: usize,
}

impl Intervals {
    /// Memory a series takes, in bytes, for checks before the run.
    ///
    /// # Panics
    /// When the interval is zero.
    pub fn bytes_needed(interval_ns: u64, duration_ns: u64) -> u128 {
        u128::from(duration_ns.div_ceil(interval_ns)) * size_of::<Interval>() as u128
    }

    /// A series of `ceil(duration / interval)` intervals. All memory is taken here.
    ///
    /// # Panics
    /// When the interval is zero.
    pub fn new(interval_ns: u64, duration_ns: u64) -> Self {
        let slots = duration_ns.div_ceil(interval_ns) as usize;
        Intervals { interval_ns, duration_ns, series: vec![Interval::default(); slots], valid: 0 }
    }

    /// Records a completion `since_start_ns` after measurement began. Beyond the last interval it is
    /// dropped, and only shows that the intervals before it are over.
    #[inline]
    pub fn record(&mut self, since_start_ns: u64, latency_ns: u64) {
        let index = (since_start_ns / self.interval_ns) as usize;
        // 2.2 takes the index of the last I/O; a thread's completions never go back in time, so that
        // is the largest one.
        self.valid = self.valid.max(index.saturating_add(1).min(self.series.len()));
        if let Some(slot) = self.series.get_mut(index) {
            slot.record(latency_ns);
        }
    }

    /// Measuring ended after `measured_ns`, before the planned end: an interval that this cut short is
    /// left out of the deviation. Later than planned changes nothing.
    pub fn end_at(&mut self, measured_ns: u64) {
        self.duration_ns = self.duration_ns.min(measured_ns);
    }

    /// Adds another thread's, target's or direction's series of the same run, interval by interval.
    /// The shorter measured time counts ([`Intervals::end_at`] may have been told to either).
    ///
    /// # Panics
    /// When the intervals differ in length: series of different time spans have no common axis.
    pub fn merge(&mut self, other: &Intervals) {
        assert_eq!(self.interval_ns, other.interval_ns, "series of one time span have one interval");
        if self.series.len() < other.series.len() {
            self.series.resize(other.series.len(), Interval::default());
        }
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            mine.merge(theirs);
        }
        self.valid = self.valid.max(other.valid);
        self.duration_ns = self.duration_ns.min(other.duration_ns);
    }

    /// Adds the series of the time right after this one's, which ends with a whole interval.
    ///
    /// # Panics
    /// When the intervals differ in length.
    pub fn append(&mut self, next: &Intervals) {
        assert_eq!(self.interval_ns, next.interval_ns, "series of one time span have one interval");
        if next.valid > 0 {
            self.valid = self.series.len() + next.valid;
        }
        self.series.extend_from_slice(&next.series);
        self.duration_ns = self.duration_ns.saturating_add(next.duration_ns);
    }

    /// Length of an interval in nanoseconds.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// All intervals of the measured time, empty ones too; [`Intervals::valid`] of them are printed.
    pub fn series(&self) -> &[Interval] {
        &self.series
    }

    /// Number of valid intervals: index of the interval of the last completion, plus one.
    pub fn valid(&self) -> usize {
        self.valid
    }

    /// Population standard deviation of the completions per interval over the valid intervals, per
    /// second. Leading and inner empty intervals count, trailing ones and one that is shorter than the
    /// others do not. 0 without intervals.
    pub fn iops_std_dev(&self) -> f64 {
        let full = (self.duration_ns / self.interval_ns) as usize;
        let counts = self.series[..self.valid.min(full)].iter().map(|i| u128::from(i.count));
        let (mut intervals, mut sum, mut sum_squares) = (0, 0, 0u128);
        for count in counts {
            intervals += 1;
            sum += count;
            sum_squares = sum_squares.saturating_add(count * count);
        }
        std_dev(intervals, sum, sum_squares) * 1e9 / self.interval_ns as f64
    }
}

/// A series as a document holds it. All lists have one entry per interval, from the start of measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Intervals"))]
struct Stored {
    /// Length of an interval in nanoseconds.
    interval_ns: u64,
    /// Measured time in nanoseconds: the planned one, less when the run was stopped.
    duration_ns: u64,
    /// Intervals up to the last completion, which are those that results show.
    valid: usize,
    /// I/Os completed.
    count: Vec<u64>,
    /// Smallest latency in nanoseconds, 0 without I/Os.
    min_ns: Vec<u64>,
    /// Largest latency in nanoseconds.
    max_ns: Vec<u64>,
    /// Sum of latencies in nanoseconds, as decimal text.
    #[serde(serialize_with = "decimal::serialize_list", deserialize_with = "decimal::deserialize_list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    sum_ns: Vec<u128>,
    /// Sum of squared latencies in square nanoseconds, as decimal text.
    #[serde(serialize_with = "decimal::serialize_list", deserialize_with = "decimal::deserialize_list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    sum_squares_ns2: Vec<u128>,
}

/// Why a stored series cannot be taken back.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("'interval_ns' is 0")]
    NoLength,
    #[error(
        "the document is damaged: its lists of intervals have different lengths ('count' has {0} entries)"
    )]
    Ragged(usize),
    #[error("'valid' is {valid}, but there are {intervals} intervals")]
    Valid { valid: usize, intervals: usize },
    #[error("interval {0}: 'sum_ns' is more than 'count' and 'max_ns' allow")]
    Sum(usize),
}

impl From<Intervals> for Stored {
    fn from(from: Intervals) -> Self {
        Stored {
            interval_ns: from.interval_ns,
            duration_ns: from.duration_ns,
            valid: from.valid,
            count: from.series.iter().map(|i| i.count).collect(),
            min_ns: from.series.iter().map(|i| i.min_ns).collect(),
            max_ns: from.series.iter().map(|i| i.max_ns).collect(),
            sum_ns: from.series.iter().map(|i| i.sum_ns).collect(),
            sum_squares_ns2: from.series.iter().map(|i| i.sum_squares).collect(),
        }
    }
}

impl TryFrom<Stored> for Intervals {
    type Error = Unreadable;

    fn try_from(stored: Stored) -> Result<Self, Unreadable> {
        let intervals = stored.count.len();
        let others =
            [stored.min_ns.len(), stored.max_ns.len(), stored.sum_ns.len(), stored.sum_squares_ns2.len()];
        if stored.interval_ns == 0 {
            return Err(Unreadable::NoLength);
        }
        if others.iter().any(|&length| length != intervals) {
            return Err(Unreadable::Ragged(intervals));
        }
        if stored.valid > intervals {
            return Err(Unreadable::Valid { valid: stored.valid, intervals });
        }
        for i in 0..intervals {
            if stored.sum_ns[i] > u128::from(stored.count[i]) * u128::from(stored.max_ns[i]) {
                return Err(Unreadable::Sum(i));
            }
        }
        Ok(Intervals {
            interval_ns: stored.interval_ns,
            duration_ns: stored.duration_ns,
            series: (0..intervals)
                .map(|i: usize| Interval {
                    count: stored.count[i],
                    min_ns: stored.min_ns[i],
                    max_ns: stored.max_ns[i],
                    sum_ns: stored.sum_ns[i],
                    sum_squares: stored.sum_squares_ns2[i],
                })
                .collect(),
            valid: stored.valid,
        })
    }
}

/// 128-bit whole numbers in documents as decimal text, because common readers of JSON hold numbers in 53 bits.
pub(super) mod decimal {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        parse(&Cow::<str>::deserialize(deserializer)?)
    }

    pub fn serialize_list<S: Serializer>(numbers: &[u128], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().map(ToString::to_string))
    }

    pub fn deserialize_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u128>, D::Error> {
        let texts = Vec::<Cow<str>>::deserialize(deserializer)?;
        texts.iter().map(|text| parse(text)).collect()
    }

    fn parse<E: de::Error>(text: &str) -> Result<u128, E> {
        text.parse().map_err(|_| E::custom(format!("'{text}' is not a whole number of at most 128 bits")))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_stored {
    use super::*;

    #[test]
    fn a_series_comes_back() {
        let mut series = Intervals::new(300, 1000);
        for (at, latency) in [(0, 5), (10, u64::MAX), (650, u64::MAX), (650, u64::MAX), (2000, 1)] {
            series.record(at, latency);
        }
        series.end_at(950);
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Intervals>(&text).unwrap(), series, "{text}");
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let good = Stored::from(Intervals::new(300, 1000));
        for (stored, reason) in [
            (Stored { interval_ns: 0, ..good.clone() }, "interval_ns"),
            (Stored { min_ns: vec![], ..good.clone() }, "different lengths"),
            (Stored { sum_ns: vec![0, 1, 0, 0], ..good.clone() }, "interval 1: 'sum_ns'"),
            (Stored { valid: 5, ..good }, "4 intervals"),
        ] {
            let refused = Intervals::try_from(stored).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}

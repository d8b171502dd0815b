//! What suites share that repeat their runs in rounds: order, seeds, and what the runs of a point say together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::access::Rng;
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::OverRuns;

/// 1 less the confidence of intervals.
pub const LEVEL: f64 = 0.05;
/// An interval of fewer runs says little.
pub const RUNS_MIN: usize = 3;
/// Each thread takes the seed behind that of the thread before: so far apart, runs share none.
pub const SEEDS_OF_A_RUN: u64 = 10_000;
/// Starting and ending a run, roughly, in seconds.
pub const AROUND_S: f64 = 0.5;

/// A measured figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Mean over the runs of the point.
    pub mean: f64,
    /// Lower end of the interval; the smallest run where there are fewer than three.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Measured {
    /// Of the runs of a point; none without one. Nothing that is measured is below 0.
    pub fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (mut low, mut high) = (first, first);
        for &value in values {
            (low, high) = (low.min(value), high.max(value));
        }
        if values.len() >= RUNS_MIN
            && let Some(estimate) = Estimate::of(values)
        {
            (low, high) = estimate.interval(LEVEL);
        }
        Some(Measured { mean, low: low.max(0.0), high })
    }

    /// With its interval, for the document.
    pub fn over_runs(self) -> OverRuns {
        OverRuns { value: self.mean, interval: Some([self.low, self.high]) }
    }

    /// Half of its interval in percent of its mean, from so many `runs`; none from fewer than tell.
    pub fn error_percent(self, runs: usize) -> Option<f64> {
        if runs < RUNS_MIN || self.mean <= 0.0 {
            return None;
        }
        Some((self.high - self.low) / 2.0 / self.mean * 100.0)
    }
}

/// A random order, by Fisher and Yates.
pub fn shuffle(places: &mut [usize], rng: &mut Rng) {
    for last in (1..places.len()).rev() {
        places.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_come() {
        let mut rng = Rng::new(0);
        let mut firsts = [0; 4];
        for _ in 0..400 {
            let mut places = [0, 1, 2, 3];
            shuffle(&mut places, &mut rng);
            firsts[places[0]] += 1;
            places.sort_unstable();
            assert_eq!(places, [0, 1, 2, 3]);
        }
        assert!(firsts.iter().all(|&count| count > 60), "{firsts:?}");
    }

    #[test]
    fn an_interval_needs_three_runs() {
        assert_eq!(Measured::of(&[]), None);
        assert_eq!(Measured::of(&[4.0, 2.0]), Some(Measured { mean: 3.0, low: 2.0, high: 4.0 }));
        let three = Measured::of(&[9.0, 10.0, 11.0]).expect("runs");
        // Student's t of 2 degrees of freedom: 4.303 standard errors.
        assert!((three.high - 12.484).abs() < 0.001 && (three.low - 7.516).abs() < 0.001, "{three:?}");
        assert_eq!((three.error_percent(2), three.error_percent(3).map(f64::round)), (None, Some(25.0)));
        assert_eq!(Measured::of(&[0.0, 0.0, 9.0]).map(|it| it.low), Some(0.0));
    }
}

//! How uncertain the mean of a series is whose values depend on their neighbours: the block bootstrap.
//!
//! Blocks of successive intervals keep the dependence that single intervals lose (Künsch 1989; circular:
//! Politis and Romano 1992). Of a ratio of sums, the variance over all series that could be drawn has a
//! closed form, which is computed here: the result is that of endlessly many draws, is the same every time,
//! and needs no random numbers. The length of the blocks follows from the autocorrelation (Politis and White
//! 2004, corrected by Patton, Politis and White 2009).

use super::estimate::Estimate;

/// Fewer intervals tell too little of how they depend on each other.
pub const INTERVALS_MIN: usize = 20;

/// The rule for the length is for the smallest mean squared error. Its blocks are too short for honest intervals.
const LONGER: f64 = 1.5;
/// Blocks are at least this part of the series: slow waves are seen only by long blocks ...
const BLOCK_PART_MIN: f64 = 1.0 / 6.0;
/// ... and at most this part, so that there are several.
const BLOCK_PART_MAX: f64 = 1.0 / 4.0;

/// What a series says of its mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Course {
    /// The natural logarithm of the mean.
    pub log_mean: Estimate,
    /// By how much the means of the halves differ, as part of the mean.
    pub halves_differ: f64,
    /// Intervals in a block.
    pub block: usize,
}

/// One interval: what was counted, and what it is divided by (its length, or its I/Os).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Above the line.
    pub sum: f64,
    /// Below the line.
    pub weight: f64,
}

impl Course {
    /// Of the ratio of all sums to all weights; none for less than [`INTERVALS_MIN`] intervals, or without
    /// anything counted.
    pub fn of(parts: &[Part]) -> Option<Self> {
        let count = parts.len();
        let ratio = ratio(parts)?;
        if count < INTERVALS_MIN {
            return None;
        }
        let weight_mean = parts.iter().map(|part| part.weight).sum::<f64>() / count as f64;
        // What each interval moves the logarithm of the ratio by (the delta method).
        let shares: Vec<f64> =
            parts.iter().map(|part: &Part| (part.sum / ratio - part.weight) / weight_mean).collect();
        let [least, most] = [BLOCK_PART_MIN, BLOCK_PART_MAX].map(|part| part * count as f64);
        let block = (LONGER * block_length(&shares)).ceil().clamp(least.ceil(), most.floor()) as usize;
        let part = block as f64 / count as f64;
        // Deviations from the own mean are smaller than those from the true one, the more so the longer the blocks.
        let error = variance(&shares, block).sqrt() / (1.0 - part).powf(0.75);
        let log_mean = Estimate { mean: ratio.ln(), error, freedom: 1.0 / part - 1.0 };
        let half = count / 2;
        let [first, second] = [&parts[..half], &parts[count - half..]].map(self::ratio);
        let halves_differ = match (first, second) {
            (Some(first), Some(second)) => (first - second).abs() / ratio,
            _ => 1.0,
        };
        Some(Course { log_mean, halves_differ, block })
    }
}

/// All sums by all weights; above 0.
fn ratio(parts: &[Part]) -> Option<f64> {
    let total = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
    let ratio = total(|part| part.sum) / total(|part| part.weight);
    (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// Variance of the mean over all series made of blocks of this length; the shares have the mean 0.
fn variance(shares: &[f64], block: usize) -> f64 {
    let count = shares.len();
    let at = |place: usize| shares[place % count];
    let mut sum: f64 = shares[..block].iter().sum();
    let mut squares = 0.0;
    for begin in 0..count {
        squares += sum * sum;
        sum += at(begin + block) - at(begin);
    }
    squares / count as f64 / (block * count) as f64
}

/// The length of blocks that suits the autocorrelation of a series with the mean 0: 1 for values that do not
/// depend on each other.
fn block_length(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let covariance = |lag: usize| {
        let pairs = series.iter().zip(&series[lag..]);
        pairs.map(|(now, later)| now * later).sum::<f64>() / count
    };
    let variance = covariance(0);
    if variance <= 0.0 {
        return 1.0;
    }
    // So many correlations in a row must be chance, and each is when it is below this.
    let in_a_row = (count.log10().sqrt() as usize).max(5);
    let is_chance = 2.0 * (count.log10() / count).sqrt();
    let lag_max = (count.sqrt().ceil() as usize + in_a_row).min(series.len() - 1);
    let correlations: Vec<f64> = (0..=lag_max).map(|lag| covariance(lag) / variance).collect();
    let last = (0..=lag_max - in_a_row)
        .find(|lag: &usize| correlations[lag + 1..=lag + in_a_row].iter().all(|r| r.abs() < is_chance));
    let last = last.or_else(|| correlations.iter().rposition(|r| r.abs() >= is_chance)).unwrap_or(1).max(1);
    let bandwidth = (2 * last).min(lag_max);
    let (mut slope, mut level) = (0.0, 1.0);
    for (lag, correlation) in correlations.iter().enumerate().take(bandwidth + 1).skip(1) {
        let place = lag as f64 / bandwidth as f64;
        let window = if place <= 0.5 { 1.0 } else { 2.0 * (1.0 - place) };
        slope += 2.0 * window * lag as f64 * correlation;
        level += 2.0 * window * correlation;
    }
    let length = (1.5 * (slope / level).powi(2) * count).cbrt();
    if length.is_finite() { length.max(1.0) } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean 0, from a linear congruence: good enough to depend on nothing.
    fn noise(count: usize) -> Vec<f64> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let drawn: Vec<f64> = (0..count).map(|_| next()).collect();
        let mean = drawn.iter().sum::<f64>() / count as f64;
        drawn.iter().map(|x| x - mean).collect()
    }

    fn smooth(noise: &[f64], stays: f64) -> Vec<f64> {
        let mut now = 0.0;
        let mut next = |x: &f64| {
            now = stays * now + x;
            now
        };
        let drawn: Vec<f64> = noise.iter().map(&mut next).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        drawn.iter().map(|x| x - mean).collect()
    }

    #[test]
    fn blocks_are_as_long_as_the_dependence() {
        let noise = noise(1000);
        assert!(block_length(&noise) < 5.0, "{}", block_length(&noise));
        let lengths = [0.3, 0.6, 0.9].map(|stays| block_length(&smooth(&noise, stays)));
        assert!(lengths.is_sorted() && lengths[2] > 20.0, "{lengths:?}");
        assert_eq!(block_length(&[0.0; 30]), 1.0);
    }

    #[test]
    fn the_variance_is_that_of_drawn_blocks() {
        let shares = noise(120);
        let plain = shares.iter().map(|x| x * x).sum::<f64>() / 120.0 / 120.0;
        assert!((variance(&shares, 1) - plain).abs() < 1e-12);
        // Circular: by hand for blocks of two of four values.
        let by_hand: f64 =
            [(1.0 + 2.0f64), 2.0 - 4.0, -4.0 + 1.0, 1.0 + 1.0].iter().map(|x| x * x).sum::<f64>();
        assert!((variance(&[1.0, 2.0, -4.0, 1.0], 2) - by_hand / 4.0 / 8.0).abs() < 1e-12);
    }

    #[test]
    fn a_course_tells_its_mean_and_what_it_cannot_tell() {
        let part = |sum: f64| Part { sum, weight: 2.0 };
        let steady: Vec<Part> = (0..40).map(|i| part(100.0 + f64::from(i % 2))).collect();
        let course = Course::of(&steady).expect("it is long enough");
        assert!(
            (course.log_mean.mean.exp() - 50.25).abs() < 1e-9 && course.log_mean.error < 1e-3,
            "{course:?}"
        );
        assert_eq!(course.halves_differ, 0.0);
        let falls: Vec<Part> = (0..40).map(|i| part(if i < 20 { 120.0 } else { 80.0 })).collect();
        let course = Course::of(&falls).expect("it is long enough");
        assert!((course.halves_differ - 0.4).abs() < 1e-9 && course.log_mean.error > 0.05, "{course:?}");
        assert_eq!(Course::of(&steady[..INTERVALS_MIN - 1]), None);
        assert_eq!(Course::of(&[part(0.0); 40]), None);
    }
}

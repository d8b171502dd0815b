//! The middle of numbers that scatter, how uncertain it is, and what Student's distribution makes of it.
//!
//! How uncertain the mean of a series is whose values depend on their neighbours: the block bootstrap.
//!
//! Blocks of successive intervals keep the dependence that single intervals lose (Künsch 1989; circular:
//! Politis and Romano 1992). Of a ratio of sums, the variance over all series that could be drawn has a
//! closed form, which is computed here: the result is that of endlessly many draws, is the same every time,
//! and needs no random numbers. The length of the blocks follows from the autocorrelation (Politis and White
//! 2004, corrected by Patton, Politis and White 2009).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Middle and its uncertainty, from numbers that scatter and have outliers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The middle: mean without the outer fifths.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// Part left out at each end, of all but the first three numbers: few numbers need their degrees of freedom more.
const TRIMMED: f64 = 0.2;
const UNTRIMMED: usize = 3;

impl Estimate {
    /// Of at least two numbers: trimmed mean with the Winsorised variance (Tukey and McLaughlin 1963; Yuen 1974).
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len();
        if count < 2 {
            return None;
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let out = (TRIMMED * count.saturating_sub(UNTRIMMED) as f64).floor() as usize;
        let kept = &sorted[out..count - out];
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let drawn_in = sorted.iter().map(|x| x.clamp(kept[0], kept[kept.len() - 1]));
        let drawn_in: Vec<f64> = drawn_in.collect();
        let middle = drawn_in.iter().sum::<f64>() / count as f64;
        let variance = drawn_in.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / (count - 1) as f64;
        let error = variance.sqrt() * (count as f64).sqrt() / kept.len() as f64;
        Some(Estimate { mean, error, freedom: (kept.len() - 1) as f64 })
    }

    /// This middle less another one, of numbers that have nothing to do with these (Welch 1947; of trimmed
    /// means Yuen 1974).
    pub fn less(self, other: Estimate) -> Self {
        let [ours, theirs] = [self.error.powi(2), other.error.powi(2)];
        let sum = ours + theirs;
        let parts = ours.powi(2) / self.freedom + theirs.powi(2) / other.freedom;
        // Without any scatter the degrees of freedom do not matter.
        let freedom = if parts > 0.0 { sum.powi(2) / parts } else { self.freedom + other.freedom };
        Estimate { mean: self.mean - other.mean, error: sum.sqrt(), freedom }
    }

    /// Two-sided level at which a t test says that the middle is not 0.
    pub fn level(&self) -> f64 {
        match (self.error > 0.0, self.mean == 0.0) {
            (true, _) => 2.0 * student_beyond((self.mean / self.error).abs(), self.freedom),
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }

    /// Where the middle lies, with confidence 1 - `level`.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = self.error * student_quantile(level, self.freedom);
        (self.mean - half, self.mean + half)
    }
}

/// P(T > t) of Student's distribution.
pub fn student_beyond(t: f64, freedom: f64) -> f64 {
    // Fails for parameters that are no distribution only: freedom is at least 1.
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(0.5, |student| student.sf(t))
}

/// The t that |T| exceeds with probability `level`.
pub fn student_quantile(level: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 4.0);
    while 2.0 * student_beyond(high, freedom) > level && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if 2.0 * student_beyond(middle, freedom) > level { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

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
    let weight: f64 = parts.iter().map(|part| part.weight).sum();
    let ratio = parts.iter().map(|part| part.sum).sum::<f64>() / weight;
    (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// Variance of the mean over all series made of blocks of this length; the shares have the mean 0.
fn variance(shares: &[f64], block: usize) -> f64 {
    let count = shares.len();
    let mut sum: f64 = shares[..block].iter().sum();
    let mut squares = 0.0;
    for begin in 0..count {
        squares += sum * sum;
        sum += shares[(begin + block) % count] - shares[begin];
    }
    squares / count as f64 / (block * count) as f64
}

fn covariance(series: &[f64], lag: usize) -> f64 {
    let pairs = series.iter().zip(&series[lag..]);
    pairs.map(|(now, later)| now * later).sum::<f64>() / series.len() as f64
}

/// The length of blocks that suits the autocorrelation of a series with the mean 0: 1 for values that do not
/// depend on each other.
fn block_length(series: &[f64]) -> f64 {
    let count = series.len() as f64;
    let variance = covariance(series, 0);
    if variance <= 0.0 {
        return 1.0;
    }
    // So many correlations in a row must be chance, and each is when it is below this.
    let in_a_row = (count.log10().sqrt() as usize).max(5);
    let is_chance = 2.0 * (count.log10() / count).sqrt();
    let lag_max = (count.sqrt().ceil() as usize + in_a_row).min(series.len() - 1);
    let correlations: Vec<f64> = (0..=lag_max).map(|lag| covariance(series, lag) / variance).collect();
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

/// How far values go off their mean, as parts of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excursions {
    /// From the smallest value to the largest.
    pub range: f64,
    /// What the best straight line rises from the first value to the last; it falls below 0.
    pub slope: f64,
}

/// The excursions of values at even distances; 0 where the mean is 0.
pub fn excursions(values: &[f64]) -> Excursions {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let smallest = values.iter().copied().fold(f64::MAX, f64::min);
    let middle = (count - 1.0) / 2.0;
    let (mut over, mut under) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let x = i as f64 - middle;
        over += x * (value - mean);
        under += x * x;
    }
    let rise = part_of(over, under) * (count - 1.0);
    Excursions { range: part_of(largest - smallest, mean), slope: part_of(rise, mean) }
}

fn part_of(value: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { value / whole }
}

#[cfg(test)]
mod tests_excursions {
    use super::*;

    #[test]
    fn excursions_of_a_line() {
        let Excursions { range, slope } = excursions(&[90.0, 95.0, 100.0, 105.0, 110.0]);
        assert!((range - 0.2).abs() < 1e-9 && (slope - 0.2).abs() < 1e-9, "{range} {slope}");
        let Excursions { slope, .. } = excursions(&[110.0, 105.0, 100.0, 95.0, 90.0]);
        assert!((slope + 0.2).abs() < 1e-9, "{slope}");
        assert_eq!(excursions(&[0.0; 5]), Excursions { range: 0.0, slope: 0.0 });
        assert_eq!(excursions(&[7.0]), Excursions { range: 0.0, slope: 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} and {b}");
    }

    #[test]
    fn student_is_that_of_the_tables() {
        for (level, freedom, t) in [
            (0.05, 1.0, 12.706),
            (0.05, 3.0, 3.182),
            (0.01, 10.0, 3.169),
            (0.001, 30.0, 3.646),
            (1e-4, 3.0, 28.000),
        ] {
            near(student_quantile(level, freedom), t, 1e-3);
            near(2.0 * student_beyond(t, freedom), level, level * 1e-2);
        }
        near(student_quantile(0.05, 1e6), 1.96, 1e-3);
    }

    #[test]
    fn outliers_hardly_move_the_estimate() {
        let calm: Vec<f64> = (0..20).map(|i| f64::from(i % 5) - 2.0).collect();
        let plain = Estimate::of(&calm).unwrap();
        near(plain.mean, 0.0, 1e-12);
        let mut wild = calm.clone();
        wild[3] = 500.0;
        let moved = Estimate::of(&wild).unwrap();
        assert!(moved.mean.abs() < 0.2 && moved.error < 2.0 * plain.error, "{moved:?}");
        assert_eq!(Estimate::of(&[1.0]), None);
        // Without outer tenths it is Student's.
        let few = Estimate::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        near(few.mean, 2.5, 1e-12);
        near(few.error, (5.0_f64 / 3.0).sqrt() / 2.0, 1e-12);
        let same = Estimate::of(&[0.3; 5]).unwrap();
        assert_eq!((same.level(), same.interval(0.01)), (0.0, (0.3, 0.3)));
        assert_eq!(Estimate::of(&[0.0; 5]).unwrap().level(), 1.0);
    }

    #[test]
    fn a_difference_has_the_freedom_of_welch() {
        let [a, b] = [[27.5, 21.0, 19.0], [27.1, 22.0, 20.8]].map(|numbers| Estimate::of(&numbers).unwrap());
        let less = b.less(a);
        // By hand, from the variances of the means.
        let [of_a, of_b] = [a.error.powi(2), b.error.powi(2)];
        let welch = (of_a + of_b).powi(2) / (of_a.powi(2) / 2.0 + of_b.powi(2) / 2.0);
        near(less.mean, 0.8, 1e-9);
        near(less.error, 3.2114, 1e-3);
        near(less.freedom, welch, 1e-9);
        let sure = Estimate { error: 0.0, ..a };
        near(b.less(sure).freedom, b.freedom, 1e-9);
        assert_eq!(sure.less(sure).level(), 1.0);
    }
}

#[cfg(test)]
mod tests_blocks {
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

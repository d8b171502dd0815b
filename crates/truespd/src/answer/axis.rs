//! Axes: where a value lies, and which values get a tick; long series made as short as a chart has room for.

use truespd_core::measure::slices;

/// Ticks closer to each other than this part of an axis would touch.
const TICKS_APART: f64 = 0.07;

/// Points of a series, at most: half a wide chart's width in pixels.
const POINTS_MAX: usize = 360;

/// A value with its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where along the x axis.
    pub x: f64,
    /// The value, for several its mean.
    pub y: f64,
    /// The smallest and the largest of what is drawn here as one.
    pub range: [f64; 2],
}

impl Point {
    /// A value without a range.
    pub fn at(x: f64, y: f64) -> Self {
        Point { x, y, range: [y, y] }
    }
}

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    Linear,
    /// Evenly, from the smallest value to the largest, which may be negative.
    Free,
    /// Each power of ten takes the same room.
    Logarithmic,
    /// Each coarse bucket of latencies takes the same room, which is nearly logarithmic.
    Buckets,
}

/// A range of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    spread: Spread,
    low: f64,
    high: f64,
    unit: f64,
}

impl Axis {
    /// From `low` to `high` exactly, evenly. Ticks are round in units of `unit`.
    pub fn exact(low: f64, high: f64, unit: f64) -> Self {
        Axis { spread: Spread::Linear, low, high: if high > low { high } else { low + 1.0 }, unit }
    }

    /// From one limit of coarse buckets to another exactly, in nanoseconds.
    pub fn buckets(low: f64, high: f64) -> Self {
        Axis { spread: Spread::Buckets, low, high, unit: 1.0 }
    }

    /// Round limits that hold all values, which are finite; logarithmic axes leave out what is not positive.
    /// Ticks of a linear one are round in units of `unit`.
    pub fn holding(spread: Spread, values: &[f64], unit: fn(f64) -> f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &value in values {
            if spread != Spread::Logarithmic || value > 0.0 {
                (low, high) = (low.min(value), high.max(value));
            }
        }
        match spread {
            Spread::Free => {
                let (low, high) = if low < high { (low, high) } else { (-1.0, 1.0) };
                let unit = unit(low.abs().max(high.abs()));
                let step = step((high - low) / unit, 5) * unit;
                Axis { spread, low: (low / step).floor() * step, high: (high / step).ceil() * step, unit }
            }
            Spread::Linear => {
                let high = if high > 0.0 { high } else { 1.0 };
                let unit = unit(high);
                let step = step(high / unit, 5) * unit;
                Axis { spread, low: 0.0, high: (high / step).ceil() * step, unit }
            }
            Spread::Logarithmic | Spread::Buckets => {
                let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
                let low = 10f64.powf(low.log10().floor());
                let high = 10f64.powf(high.log10().ceil()).max(low * 10.0);
                Axis { spread, low, high, unit: 1.0 }
            }
        }
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    /// Where a value lies: 0 at the low end, 1 at the high end.
    pub fn part(&self, value: f64) -> f64 {
        let part = match self.spread {
            Spread::Linear | Spread::Free => (value - self.low) / (self.high - self.low),
            Spread::Logarithmic => (value.max(self.low) / self.low).log10() / (self.high / self.low).log10(),
            Spread::Buckets => {
                let [value, low, high] = [value, self.low, self.high].map(slices::position);
                (value - low) / (high - low)
            }
        };
        part.clamp(0.0, 1.0)
    }

    /// So many times powers of ten, down to the first that would touch the one above it: buckets of the
    /// smallest latencies are all of one width, so that round values lie close together there.
    fn apart(&self, times: &[f64]) -> Vec<f64> {
        let all = (0..20).rev().flat_map(|power| times.iter().rev().map(move |n| n * 10f64.powi(power)));
        let mut ticks: Vec<f64> = Vec::new();
        let mut above = f64::INFINITY;
        for tick in all.filter(|tick| (self.low..=self.high).contains(tick)) {
            if above - self.part(tick) < TICKS_APART {
                break;
            }
            above = self.part(tick);
            ticks.insert(0, tick);
        }
        ticks
    }

    /// Values for ticks, `about` so many.
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        match self.spread {
            Spread::Linear | Spread::Free => {
                // Round limits at both ends take two more steps at most.
                let about = if self.spread == Spread::Free { about + 2 } else { about };
                let step = step((self.high - self.low) / self.unit, about) * self.unit;
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            Spread::Logarithmic => {
                let (first, last) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                let every = ((last - first) as usize).div_ceil(about.max(1)).max(1);
                (first..=last).step_by(every).map(|power| 10f64.powi(power)).collect()
            }
            Spread::Buckets => {
                let decades = (self.high / self.low.max(1000.0)).log10();
                let is_short = 3.0 * decades <= about as f64 + 2.0;
                self.apart(if is_short { &[1.0, 2.0, 5.0] } else { &[1.0] })
            }
        }
    }
}

/// The smallest of 1, 2 or 5 times a power of ten that cuts `range` into `about` steps or fewer.
fn step(range: f64, about: usize) -> f64 {
    let least = range / about.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= least * (1.0 - 1e-9));
    times.unwrap_or(10.0) * power
}

/// A value per interval of `seconds`, from 0, as points in the middle of what they stand for. The mean of means is
/// weighted (`weights` has as many entries as `values`); intervals without weight hold nothing, and are left out.
pub fn points(values: &[f64], weights: Option<&[u64]>, seconds: f64) -> Vec<Point> {
    let ranges: Vec<[f64; 2]> = values.iter().map(|value| [*value, *value]).collect();
    points_within(values, &ranges, weights, seconds)
}

/// As [`points`], of values that have a range each.
pub fn points_within(
    values: &[f64],
    ranges: &[[f64; 2]],
    weights: Option<&[u64]>,
    seconds: f64,
) -> Vec<Point> {
    let per_point = values.len().div_ceil(POINTS_MAX).max(1);
    let mut points = Vec::new();
    for first in (0..values.len()).step_by(per_point) {
        let end = (first + per_point).min(values.len());
        let (mut total, mut sum, mut range) = (0, 0.0, [f64::INFINITY, f64::NEG_INFINITY]);
        for place in first..end {
            let weight = weights.map_or(1, |weights| weights[place]);
            if weight > 0 {
                total += weight;
                sum += values[place] * weight as f64;
                range = [range[0].min(ranges[place][0]), range[1].max(ranges[place][1])];
            }
        }
        if total > 0 {
            points.push(Point { x: (first + end) as f64 / 2.0 * seconds, y: sum / total as f64, range });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(_: f64) -> f64 {
        1.0
    }

    #[test]
    fn ticks_are_round_in_their_unit() {
        let mib = |_: f64| 1_048_576.0;
        let axis = Axis::holding(Spread::Linear, &[238.0 * 1_048_576.0], mib);
        let ticks: Vec<f64> = axis.ticks(5).iter().map(|tick| tick / 1_048_576.0).collect();
        assert_eq!(ticks, [0.0, 50.0, 100.0, 150.0, 200.0, 250.0]);
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis::holding(Spread::Linear, &[3.0, 87_123.0], ones);
        assert_eq!(axis.ticks(5), [0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0, 100_000.0]);
        assert_eq!((axis.part(0.0), axis.part(50_000.0), axis.part(1e9)), (0.0, 0.5, 1.0));
        let axis = Axis::holding(Spread::Logarithmic, &[0.0, 93.0, 8_000.0], ones);
        assert_eq!(axis.ticks(5), [10.0, 100.0, 1000.0, 10_000.0]);
        assert!((axis.part(100.0) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(Axis::exact(-1.0, 7.0, 1.0).ticks(5), [0.0, 2.0, 4.0, 6.0]);
    }

    #[test]
    fn free_axes_hold_negative_values() {
        let axis = Axis::holding(Spread::Free, &[-3.2, 6.1], ones);
        assert_eq!(axis.ticks(5), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert!((axis.part(0.0) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(Axis::holding(Spread::Free, &[], ones).ticks(5).len(), 5);
    }

    #[test]
    fn buckets_are_even_and_their_ticks_round() {
        let axis = Axis::buckets(1024.0, 16_384.0);
        assert_eq!([1024.0, 1280.0, 2048.0, 16_384.0].map(|ns| axis.part(ns)), [0.0, 0.0625, 0.25, 1.0]);
        assert_eq!(axis.ticks(5), [2000.0, 5000.0, 10_000.0]);
        assert_eq!(Axis::buckets(1024.0, 67_108_864.0).ticks(5), [1e4, 1e5, 1e6, 1e7]);
        assert_eq!(Axis::buckets(0.0, 3072.0).ticks(5), [200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(Axis::buckets(0.0, 33_554_432.0).ticks(5), [1e3, 1e4, 1e5, 1e6, 1e7]);
    }

    #[test]
    fn no_values_and_equal_values_have_an_axis() {
        assert_eq!(Axis::holding(Spread::Linear, &[], ones).ticks(5).last(), Some(&1.0));
        assert_eq!(Axis::holding(Spread::Logarithmic, &[0.0], ones).ticks(5), [1.0, 10.0]);
        assert_eq!(Axis::holding(Spread::Logarithmic, &[100.0], ones).ticks(5), [100.0, 1000.0]);
        assert_eq!(Axis::exact(3.0, 3.0, 1.0).part(3.0), 0.0);
    }

    #[test]
    fn short_series_stay_as_they_are() {
        assert_eq!(points(&[1.0, 3.0], None, 2.0), [Point::at(1.0, 1.0), Point::at(3.0, 3.0)]);
        assert!(points(&[], None, 1.0).is_empty());
    }

    #[test]
    fn a_bucket_keeps_mean_and_extremes() {
        let mut values = vec![10.0; 3600];
        values[5] = 1000.0;
        let drawn = points(&values, None, 1.0);
        assert_eq!((drawn.len(), drawn[0]), (360, Point { x: 5.0, y: 109.0, range: [10.0, 1000.0] }));
        assert_eq!(drawn[1], Point { x: 15.0, y: 10.0, range: [10.0, 10.0] });
    }

    #[test]
    fn means_are_weighted_and_empty_intervals_left_out() {
        let mut weights = vec![0; 720];
        (weights[0], weights[1], weights[2]) = (3, 1, 2);
        let mut values = vec![0.0; 720];
        (values[0], values[1], values[2]) = (1.0, 5.0, 7.0);
        let drawn = points(&values, Some(&weights), 1.0);
        assert_eq!(
            drawn,
            [Point { x: 1.0, y: 2.0, range: [1.0, 5.0] }, Point { x: 3.0, y: 7.0, range: [7.0, 7.0] }]
        );
    }
}

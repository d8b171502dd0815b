//! Long series made short: as many buckets as a chart has room for, each with mean, smallest and largest value.

use super::chart::{POINTS_MAX, Point};

/// A value per interval of `seconds`, from 0, as points in the middle of what they stand for. The mean of means is
/// weighted (`weights` has as many entries as `values`); intervals without weight hold nothing, and are left out.
pub(super) fn points(values: &[f64], weights: Option<&[u64]>, seconds: f64) -> Vec<Point> {
    let ranges: Vec<[f64; 2]> = values.iter().map(|value| [*value, *value]).collect();
    points_within(values, &ranges, weights, seconds)
}

/// As [`points`], of values that have a range each.
pub(super) fn points_within(
    values: &[f64],
    ranges: &[[f64; 2]],
    weights: Option<&[u64]>,
    seconds: f64,
) -> Vec<Point> {
    let per_bucket = values.len().div_ceil(POINTS_MAX).max(1);
    let weight = |place: usize| weights.map_or(1, |weights| weights[place]);
    let bucket = |first: usize| {
        let places = first..(first + per_bucket).min(values.len());
        let middle = (places.start + places.end) as f64 / 2.0 * seconds;
        let held = || places.clone().filter(|place| weight(*place) > 0);
        let total: u64 = held().map(weight).sum();
        let sum: f64 = held().map(|place| values[place] * weight(place) as f64).sum();
        let low = held().map(|place| ranges[place][0]).reduce(f64::min)?;
        let high = held().map(|place| ranges[place][1]).reduce(f64::max)?;
        Some(Point { x: middle, y: sum / total as f64, range: [low, high] })
    };
    (0..values.len()).step_by(per_bucket).filter_map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

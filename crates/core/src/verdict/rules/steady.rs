//! Did the rate hold, and long enough to say so?
//!
//! Steady is what SNIA's Performance Test Specification calls steady: over five rounds the largest excursion
//! is at most 20 % of the mean and that of the fitted line at most 10 %. Rounds are fifths of the measured
//! time. SNIA's are a minute long. In rounds of seconds a disk that others share drifts by more than that,
//! and its mean is still of use.

use super::causes::{why, why_fell};
use super::rhythm::{self, Stretch, mean, stretches};
use crate::result::FindingGrade;
use crate::text::{change, number};
use crate::verdict::few;
use crate::verdict::figures::{Details, found, ratio};
use crate::verdict::{Case, Look, Missing};

/// Rounds of a window.
const ROUNDS: usize = 5;
/// Largest less smallest round, as part of the mean.
const RANGE_MAX: f64 = 0.20;
/// What the fitted line rises or falls over the window, as part of the mean.
const SLOPE_MAX: f64 = 0.10;
/// Rounds as long as SNIA's, in seconds: then its limits count in full.
const SNIA_ROUND_S: f64 = 60.0;
/// Excursions in shorter rounds that make the mean one of different rates.
const SHORT_RANGE_MAX: f64 = 0.40;
/// The same for the fitted line: either end is 15 % from the mean.
const SHORT_SLOPE_MAX: f64 = 0.30;
/// Standard errors that an excursion must be beyond its limit.
const ERRORS: f64 = 2.0;
/// A fall by this part that stays is a state of its own.
const STEP: f64 = 0.25;
/// A first part that differs by this much from the rest ...
const WARM_UP_DIFFERS: f64 = 0.15;
/// ... and moves the mean by this much is worth a remark.
const WARM_UP_MATTERS: f64 = 0.02;
/// By this much: another result.
const WARM_UP_SUSPECT: f64 = 0.05;
/// The warm-up is the first part of at most this share.
const WARM_UP_PART: f64 = 0.25;
/// Points that a change is looked for in: more only find noise.
const POINTS_MAX: usize = 30;
/// Deviations of counted events that chance does not make.
const SIGMAS: f64 = 5.0;
/// This part of the points on its side of the middle makes a change one that stays.
const STAYS: f64 = 0.9;

/// What the rate did over the measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Nothing to tell.
    Steady,
    /// Fell after this part of the time, from and to these rates.
    Step { after: f64, from: f64, to: f64 },
    /// The first part was another rate than the rest.
    WarmUp { part: f64, first: f64, rest: f64 },
    /// Excursion of the rounds and of the fitted line, as parts of the mean.
    Unsteady { range: f64, slope: f64 },
}

/// Where each of `points` begins when a series is cut into that many, and where the last one ends. Lengths differ
/// by one interval at most, and none is left out.
fn bounds(length: usize, points: usize) -> Vec<usize> {
    let points = points.clamp(1, length.max(1));
    (0..=points).map(|point| point * length / points).collect()
}

/// Means of neighbours, so that `points` are left.
fn grouped(series: &[f64], points: usize) -> Vec<f64> {
    bounds(series.len(), points).windows(2).map(|ends| mean(&series[ends[0]..ends[1]])).collect()
}

/// Excursion of the values and of the line through them, as parts of the mean.
fn excursions(values: &[f64]) -> (f64, f64) {
    let mean_value = mean(values);
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let smallest = values.iter().copied().fold(f64::MAX, f64::min);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut over, mut under) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let x = i as f64 - middle;
        over += x * (value - mean_value);
        under += x * x;
    }
    let rise = ratio(over.abs(), under) * (values.len() as f64 - 1.0) * over.signum();
    let of_mean = |value: f64| if mean_value > 0.0 { value / mean_value } else { 0.0 };
    (of_mean(largest - smallest), of_mean(rise))
}

/// Excursions of five rounds when they are more than steadiness allows and more than the scatter from point to
/// point makes of a steady rate: rounds of seconds are not SNIA's rounds of minutes.
fn unsteady(series: &[f64]) -> Option<(f64, f64)> {
    let rounds = grouped(series, ROUNDS);
    let (range, slope) = excursions(&rounds);
    let error = round_error(series);
    // The error of a difference of two rounds, and that of the fitted rise over five: 4 / sqrt(10) rounds.
    let range_max = RANGE_MAX + ERRORS * error * std::f64::consts::SQRT_2;
    let slope_max = SLOPE_MAX + ERRORS * error * 4.0 / 10f64.sqrt();
    (range > range_max || slope.abs() > slope_max).then_some((range, slope))
}

/// Standard error of a round as part of the mean: from the differences of neighbours, which a trend or a step
/// hardly changes, and not less than counted events have.
fn round_error(series: &[f64]) -> f64 {
    let points = grouped(series, POINTS_MAX);
    let of_mean = |value: f64| ratio(value, mean(&points));
    let squares: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    let scatter = of_mean((mean(&squares) / 2.0).sqrt());
    let per_round = (points.len() as f64 / ROUNDS as f64).max(1.0);
    let counted = ratio(1.0, (mean(series) * series.len() as f64 / ROUNDS as f64).sqrt());
    (scatter / per_round.sqrt()).max(counted)
}

/// Squares that two levels, and a line, leave of the points.
fn left_over(points: &[f64], split: usize) -> (f64, f64) {
    let squares = |part: &[f64]| {
        let level = mean(part);
        part.iter().map(|value| (value - level).powi(2)).sum::<f64>()
    };
    let (before, after) = points.split_at(split);
    let (_, rise) = excursions(points);
    let (level, steps) = (mean(points), (points.len().max(2) - 1) as f64);
    let on_line = |i: usize| level * (1.0 + rise * (i as f64 / steps - 0.5));
    let line = points.iter().enumerate().map(|(i, value)| (value - on_line(i)).powi(2)).sum();
    (squares(before) + squares(after), line)
}

/// Where two rates fit best: number of points before the change, and the two means, per interval of the series.
/// `per_point` intervals are in a point.
fn change_point(points: &[f64], per_point: f64) -> Option<(usize, f64, f64)> {
    let edge = 2.max(points.len() / 20);
    let gain = |split: usize| {
        let (before, after) = points.split_at(split);
        let difference = mean(before) - mean(after);
        difference * difference * (before.len() * after.len()) as f64
    };
    let split =
        (edge..(points.len() + 1).saturating_sub(edge)).max_by(|&a, &b| gain(a).total_cmp(&gain(b)))?;
    let (before, after) = points.split_at(split);
    let (a, b) = (mean(before), mean(after));
    let middle = (a + b) / 2.0;
    let on_side = |part: &[f64], above: bool| {
        let there = part.iter().filter(|&&value| (value > middle) == above).count();
        there as f64 >= STAYS * part.len() as f64
    };
    let stays = on_side(before, a > b) && on_side(after, b > a);
    // Counted events scatter by the root of their number.
    let events = |part: &[f64]| part.len() as f64 * per_point;
    let chance = SIGMAS * (ratio(a, events(before)) + ratio(b, events(after))).sqrt();
    // A slope has no levels.
    let (levels, line) = left_over(points, split);
    (stays && (a - b).abs() > chance && levels < line).then_some((split, a, b))
}

fn shape(series: &[f64], interval_s: f64) -> Shape {
    if mean(series) <= 0.0 {
        return Shape::Steady;
    }
    let points = grouped(series, POINTS_MAX);
    let rate = |count: f64| ratio(count, interval_s);
    let per_point = ratio(series.len() as f64, points.len() as f64);
    if let Some((split, before, after)) = change_point(&points, per_point) {
        let at = bounds(series.len(), POINTS_MAX)[split];
        let part = ratio(at as f64, series.len() as f64);
        if after <= before * (1.0 - STEP) {
            return Shape::Step { after: part, from: rate(before), to: rate(after) };
        }
        let differs = ratio((before - after).abs(), after) >= WARM_UP_DIFFERS;
        let matters = ratio((mean(&points) - after).abs(), after) >= WARM_UP_MATTERS;
        if differs && matters && part <= WARM_UP_PART && unsteady(&series[at..]).is_none() {
            return Shape::WarmUp { part, first: rate(before), rest: rate(after) };
        }
    }
    match unsteady(series) {
        Some((range, slope)) => Shape::Unsteady { range, slope },
        None => Shape::Steady,
    }
}

const NO_SERIES: &str = "the number of completions over time";

/// The shape of the run without what it is not made of: the program's own standstills and pauses, which other
/// rules tell; `None` when there are too few intervals (another rule tells that), or bursts were asked for
/// (`-i`, `-j`).
pub fn shape_of(case: &Case<'_>) -> Result<Option<Shape>, Missing> {
    if case.is_in_bursts() {
        return Ok(None);
    }
    let (series, interval_s) = rhythm::between_pauses(case);
    if series.is_empty() && case.measured.evidence.series.is_none() {
        return Err(Missing::of(NO_SERIES));
    }
    match few::of_run(case) {
        Some(few) => Err(few),
        None => Ok((series.len() >= ROUNDS).then(|| shape(&series, interval_s))),
    }
}

/// When the rate was below its mean.
fn below_the_mean(case: &Case<'_>) -> Vec<Stretch> {
    let (series, interval_s) = rhythm::between_pauses(case);
    let points = grouped(&series, POINTS_MAX);
    let level = mean(&points);
    let point_s = interval_s * ratio(series.len() as f64, points.len() as f64);
    stretches(points.len(), point_s, |at| points[at] < level)
}

/// Range and trend over the measured time.
pub fn not_steady(case: &Case<'_>) -> Look {
    match shape_of(case)? {
        Some(Shape::Unsteady { range, slope }) => {
            let why = why(case, &below_the_mean(case));
            let says = format!(
                "The rate was not steady: the fifths of the measured time differ by {:.1} % of the mean, and the \
                 trend is {:+.1} % (up to 20 % and 10 % count as steady).{}",
                range * 100.0,
                slope * 100.0,
                why.words_if_known()
            );
            let is_long = case.seconds() >= SNIA_ROUND_S * ROUNDS as f64;
            let is_apart = range > SHORT_RANGE_MAX || slope.abs() > SHORT_SLOPE_MAX;
            let grade = if is_long || is_apart { FindingGrade::Suspect } else { FindingGrade::Remark };
            let finding = found(grade, says);
            let finding =
                finding.figure("range_percent", range * 100.0).figure("slope_percent", slope * 100.0);
            Ok(vec![why.add_to(finding)])
        }
        _ => Ok(Vec::new()),
    }
}

/// A fall that stays.
pub fn step_down(case: &Case<'_>) -> Look {
    match shape_of(case)? {
        Some(Shape::Step { after, from, to }) => {
            let after_s = after * case.seconds();
            let why = why_fell(case, after_s);
            let says = format!(
                "After {} s the rate fell from {} to {} IOPS ({}) and stayed low. {} The mean mixes both rates.",
                number(after_s),
                number(from),
                number(to),
                change(-ratio(from - to, from)),
                why.words()
            );
            let finding = found(FindingGrade::Suspect, says);
            let finding = finding.figure("after_s", after_s).figure("iops_before", from);
            Ok(vec![why.add_to(finding.figure("iops_after", to))])
        }
        _ => Ok(Vec::new()),
    }
}

/// A first part unlike the rest.
pub fn warm_up(case: &Case<'_>) -> Look {
    match shape_of(case)? {
        Some(Shape::WarmUp { part, first, rest }) => {
            let first_s = part * case.seconds();
            let (begin, end) =
                (Stretch { from_s: 0.0, for_s: first_s }, Stretch { from_s: first_s, for_s: case.seconds() });
            let why = why(case, &[if first < rest { begin } else { end }]);
            let says = format!(
                "The first {} s ran at {} IOPS, the rest at {}: the warm-up (-W{}) was too short.{}",
                number(first_s),
                number(first),
                number(rest),
                case.span.warmup_s,
                why.words_if_known()
            );
            let moved = part * ratio((first - rest).abs(), rest);
            let grade = if moved >= WARM_UP_SUSPECT { FindingGrade::Suspect } else { FindingGrade::Remark };
            let finding = found(grade, says);
            let finding =
                finding.figure("first_s", first_s).figure("iops_first", first).figure("iops_rest", rest);
            Ok(vec![why.add_to(finding)])
        }
        _ => Ok(Vec::new()),
    }
}

/// Below this nothing can be said about steadiness.
const SECONDS_SUSPECT: f64 = 2.5;
/// Below this caches, credits and the drive's own housekeeping have hardly begun to show.
const SECONDS_REMARK: f64 = 30.0;

/// Too short to judge.
pub fn too_short(case: &Case<'_>) -> Look {
    let seconds = case.seconds();
    let (series, _) = case.series();
    let few = !series.is_empty() && series.len() < ROUNDS;
    let (grade, says) = if seconds < SECONDS_SUSPECT || few {
        (
            FindingGrade::Suspect,
            format!(
                "The measured time of {} s is too short to show whether the rate is steady.",
                number(seconds)
            ),
        )
    } else if seconds < SECONDS_REMARK {
        let words = "burst credits, caches and a drive's housekeeping often show only after 30 s";
        (FindingGrade::Remark, format!("The measured time is {} s: {words}.", number(seconds)))
    } else {
        return Ok(Vec::new());
    };
    Ok(vec![found(grade, says).figure("test_time_s", seconds)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excursions_of_a_line() {
        let (range, slope) = excursions(&[90.0, 95.0, 100.0, 105.0, 110.0]);
        assert!((range - 0.2).abs() < 1e-9 && (slope - 0.2).abs() < 1e-9, "{range} {slope}");
        let (_, slope) = excursions(&[110.0, 105.0, 100.0, 95.0, 90.0]);
        assert!((slope + 0.2).abs() < 1e-9, "{slope}");
        assert_eq!(excursions(&[0.0; 5]), (0.0, 0.0));
    }

    #[test]
    fn scatter_is_no_trend() {
        // A clean line is judged by SNIA's figures alone.
        let line = |rise: f64| -> Vec<f64> {
            (0..30).map(|i| 1e9 * (1.0 + rise * (f64::from(i) - 14.5) / 24.0)).collect()
        };
        assert_eq!(unsteady(&line(0.09)), None);
        assert!(unsteady(&line(0.12)).is_some());
        // The same rise from points that scatter by a tenth is not told from chance; twice the rise is.
        let scattered = |rise: f64| -> Vec<f64> {
            line(rise).iter().enumerate().map(|(i, v)| v * if i % 2 == 0 { 1.1 } else { 0.9 }).collect()
        };
        assert_eq!(unsteady(&scattered(0.12)), None);
        assert!(unsteady(&scattered(0.40)).is_some());
    }

    #[test]
    fn grouping_leaves_nothing_out() {
        assert_eq!(grouped(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 3), [1.5, 3.5, 6.0]);
        assert_eq!(grouped(&[1.0, 2.0], 5), [1.0, 2.0]);
        assert_eq!(grouped(&[], 5), [0.0]);
        assert_eq!(bounds(50, 30).first().zip(bounds(50, 30).last()), Some((&0, &50)));
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let points: Vec<f64> = (0..30).map(|i| if i < 12 { 12_000.0 } else { 3000.0 }).collect();
        let (split, a, b) = change_point(&points, 1.0).expect("a change");
        assert_eq!((split, a, b), (12, 12_000.0, 3000.0));
        // A dip does not stay.
        let dip: Vec<f64> = (0..30).map(|i| if (10..20).contains(&i) { 3000.0 } else { 12_000.0 }).collect();
        assert_eq!(change_point(&dip, 1.0), None);
        // Few events scatter: this is chance.
        let few: Vec<f64> = (0..30).map(|i| if i < 15 { 4.0 } else { 3.0 }).collect();
        assert_eq!(change_point(&few, 1.0), None);
        // Neither does a slope: a disk that turns, read from its outer to its inner tracks.
        let slope: Vec<f64> = (0..30).map(|i| 4000.0 - f64::from(i) * 70.0).collect();
        assert_eq!(change_point(&slope, 1.0), None);
    }
}

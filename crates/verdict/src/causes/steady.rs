//! Did the rate hold, and long enough to say so?
//!
//! Steady is what SNIA's Performance Test Specification calls steady: over five rounds the largest excursion
//! is at most 20 % of the mean and that of the fitted line at most 10 %. Rounds are fifths of the measured
//! time. SNIA's are a minute long. In rounds of seconds a disk that others share drifts by more than that,
//! and its mean is still of use.

use super::limits;
use super::rhythm::{
    self, INTERVAL_IOS_MIN, Pauses, Stretch, added, begins, levels, mean, median, period, scatter, stretches,
};
use super::why::{why, why_fell};
use crate::cause::RuleFn::{RealSpan, RunSpan};
use crate::cause::{Case, Cause, Missing, RuleResult, found, ratio, rule, suspect};
use crate::view::too_few_in_run;
use truespd_core::measure::estimate::{Excursions, excursions};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::Seen;
use truespd_core::result::rounds::tracked;
use truespd_core::result::{FindingGrade, Theme};
use truespd_platform::text::{change, number, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("pauses", Theme::Symptom).judged(
        rule(270, Suspect, Seen, RealSpan(pauses)),
        "Almost nothing completed (less than a tenth of what is usual) for 0.1 s or more although the \
         program ran: for 4 % of the measured time in all, or three times and 1 % of it (suspect), or once \
         for 0.2 s (remark). It takes 20 I/Os per second.",
        "look for what the target does at these times: its housekeeping, flushes, errors in the kernel's \
         log (dmesg)",
    ),
    Cause::new("uneven", Theme::Symptom).judged(
        rule(280, Suspect, Seen, RealSpan(uneven)),
        "The rate did not stay near its mean: two levels in turn that differ by 25 % of the higher one, \
         regular breaks that cost 3 %, or a scatter of 25 % from second to second (half seconds in runs \
         below 10 s). It takes 20 I/Os per second.",
        "look at the series over time (-D, or the JSON document) for what happens at these times, and \
         report both rates",
    ),
    Cause::new("step-down", Theme::Symptom).judged(
        rule(290, Suspect, Seen, RealSpan(step_down)),
        "The rate fell by 25 % or more during the run and stayed low. The cause is named when something \
         changed with it: a limit, a path to the storage, other programs on the disks, or the processor \
         time of the threads.",
        "warm up (-W) until the rate has fallen, to measure the rate that lasts",
    ),
    Cause::new("warm-up-short", Theme::Symptom).judged(
        rule(300, Suspect, Seen, RealSpan(warm_up)),
        "In the first part of the measured time the rate differed from the rest by 15 % or more, so that \
         the mean is off by 2 % (remark) or by 5 % (suspect). A cause is named when there is one to be \
         seen.",
        "warm up longer (-W)",
    ),
    Cause::new("not-steady", Theme::Symptom).judged(
        rule(310, Suspect, Seen, RealSpan(not_steady)),
        "The rate was not steady: the fifths of the measured time differ by more than 20 % of the mean, or \
         their trend is more than 10 % (SNIA's limits), and the scatter from second to second does not \
         explain it. Suspect in runs of five minutes and more, as SNIA's rounds are a minute long; in \
         shorter ones a remark, and suspect above 40 % or 30 %.",
        "measure longer, look for other load on the machine, or repeat the run and report the spread",
    ),
    Cause::new("never-steady", Theme::Symptom).judged(
        rule(315, Suspect, Seen, RunSpan(never_steady)),
        "The run was to measure until it is steady (--until-steady), and no rounds in a row were steady by the rule \
         that was asked for before the last one was over. The result is of the last rounds.",
        "let it run longer (--steady-rule rounds=100, or a longer -d), and bring the drive into its steady state \
         before the run (--precondition 2x)",
    ),
    Cause::new("too-short", Theme::Symptom).judged(
        rule(320, Suspect, Seen, RealSpan(too_short)),
        "A measured time below 2.5 s is suspect, one below 30 s is a remark.",
        "measure for a minute or more (-d60)",
    ),
];

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
enum Shape {
    Steady,
    /// Fell after this part of the time, from and to these rates.
    Step {
        after: f64,
        from: f64,
        to: f64,
    },
    /// The first part was another rate than the rest.
    WarmUp {
        part: f64,
        first: f64,
        rest: f64,
    },
    /// Excursion of the rounds and of the fitted line, as parts of the mean.
    Unsteady {
        range: f64,
        slope: f64,
    },
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

/// Excursions of five rounds when they are more than steadiness allows and more than the scatter from point to
/// point makes of a steady rate: rounds of seconds are not SNIA's rounds of minutes.
fn unsteady(series: &[f64]) -> Option<(f64, f64)> {
    let rounds = grouped(series, ROUNDS);
    let Excursions { range, slope } = excursions(&rounds);
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
    let squares: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    let scatter = ratio((mean(&squares) / 2.0).sqrt(), mean(&points));
    let per_round = (points.len() as f64 / ROUNDS as f64).max(1.0);
    let counted = ratio(1.0, (mean(series) * series.len() as f64 / ROUNDS as f64).sqrt());
    (scatter / per_round.sqrt()).max(counted)
}

/// Squares that two levels, and a line, leave of the points.
fn left_over(points: &[f64], split: usize) -> (f64, f64) {
    let (before, after) = points.split_at(split);
    let rise = excursions(points).slope;
    let (level, steps) = (mean(points), (points.len().max(2) - 1) as f64);
    let mut line = 0.0;
    for (i, value) in points.iter().enumerate() {
        line += (value - level * (1.0 + rise * (i as f64 / steps - 0.5))).powi(2);
    }
    (squares(before) + squares(after), line)
}

/// Squares of the deviations from the mean, added up.
fn squares(part: &[f64]) -> f64 {
    let level = mean(part);
    part.iter().map(|value| (value - level).powi(2)).sum()
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
    let [a_chance, b_chance] =
        [(a, before), (b, after)].map(|(level, part)| ratio(level, part.len() as f64 * per_point));
    let chance = SIGMAS * (a_chance + b_chance).sqrt();
    // A slope has no levels.
    let (levels, line) = left_over(points, split);
    (stays && (a - b).abs() > chance && levels < line).then_some((split, a, b))
}

fn shape(series: &[f64], interval_s: f64) -> Shape {
    if mean(series) <= 0.0 {
        return Shape::Steady;
    }
    let points = grouped(series, POINTS_MAX);
    let per_point = ratio(series.len() as f64, points.len() as f64);
    if let Some((split, before, after)) = change_point(&points, per_point) {
        let (from, to) = (ratio(before, interval_s), ratio(after, interval_s));
        let at = bounds(series.len(), POINTS_MAX)[split];
        let part = ratio(at as f64, series.len() as f64);
        if after <= before * (1.0 - STEP) {
            return Shape::Step { after: part, from, to };
        }
        let differs = ratio((before - after).abs(), after) >= WARM_UP_DIFFERS;
        let matters = ratio((mean(&points) - after).abs(), after) >= WARM_UP_MATTERS;
        if differs && matters && part <= WARM_UP_PART && unsteady(&series[at..]).is_none() {
            return Shape::WarmUp { part, first: from, rest: to };
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
fn shape_of(case: &Case<'_>) -> Result<Option<Shape>, Missing> {
    if case.is_in_bursts() {
        return Ok(None);
    }
    let (series, interval_s) = rhythm::between_pauses(case);
    if series.is_empty() && case.evidence().series.is_none() {
        return Err(Missing::new(NO_SERIES));
    }
    match too_few_in_run(case) {
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
fn not_steady(case: &Case<'_>) -> RuleResult {
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

/// Rounds that did not become steady.
fn never_steady(case: &Case<'_>) -> RuleResult {
    let (Some(rule), Some(rounds)) = (case.span.until_steady, &case.measured.rounds) else {
        return Ok(Vec::new());
    };
    let is_over = rounds.rounds.len() >= rule.rounds as usize;
    if rounds.is_steady || !is_over {
        return Ok(Vec::new());
    }
    let says = format!(
        "The run never became steady: {} rounds of {} s, and the last {} still differ ({}; up to {} % and {} % \
         count as steady).",
        rule.rounds,
        number(rounds.round_s),
        rule.window,
        rounds.words(),
        rule.range_percent,
        rule.slope_percent
    );
    let finding = suspect(says).figure("rounds", rounds.rounds.len() as f64);
    let all = tracked(rounds.window());
    let range = all.iter().map(|of| of.excursions.range * 100.0).fold(0.0, f64::max);
    let slope = all.iter().map(|of| of.excursions.slope.abs() * 100.0).fold(0.0, f64::max);
    Ok(vec![finding.figure("range_percent", range).figure("slope_percent", slope)])
}

fn step_down(case: &Case<'_>) -> RuleResult {
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
            let finding = suspect(says);
            let finding = finding.figure("after_s", after_s).figure("iops_before", from);
            Ok(vec![why.add_to(finding.figure("iops_after", to))])
        }
        _ => Ok(Vec::new()),
    }
}

/// A first part unlike the rest.
fn warm_up(case: &Case<'_>) -> RuleResult {
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

fn too_short(case: &Case<'_>) -> RuleResult {
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

/// Pauses of this part of the measured time make the result suspect ...
const PAUSES_SUSPECT: f64 = 0.04;

/// ... and three or more from this part on.
const PAUSES_AGAIN_SUSPECT: f64 = 0.01;

const AGAIN: usize = 3;

/// A pause of this length is worth a remark.
const PAUSE_REMARK_S: f64 = 0.2;

/// Two levels differ by this part of the higher one.
const LEVELS_DIFFER: f64 = 0.25;

/// Points differ by this part of the mean from one to the next.
const SCATTER_SUSPECT: f64 = 0.25;

/// A point below this part of what is usual is a dip.
const DIP: f64 = 0.75;

/// Regular dips that cost this part of the completions are no chance.
const DIPS_SUSPECT: f64 = 0.03;

/// Dips that come at even intervals.
const DIPS_MIN: usize = 4;

/// Fewer points show no pattern.
const POINTS_MIN: usize = 8;

/// Points are seconds when the run is as long as this; shorter runs have halves.
const WHOLE_SECONDS_FROM_S: f64 = 10.0;

/// The series of a run that has one and did not ask for bursts.
fn series_of(case: &Case<'_>) -> Result<Option<(Vec<f64>, f64)>, Missing> {
    if case.is_in_bursts() {
        return Ok(None);
    }
    let (series, interval_s) = rhythm::while_running(case);
    if series.is_empty() && case.evidence().series.is_none() {
        return Err(Missing::new(NO_SERIES));
    }
    let per_s = ratio(mean(&series), interval_s);
    if per_s > 0.0 && per_s < INTERVAL_IOS_MIN {
        return Err(Missing::too_few(&format!("{} per second", number(per_s)), INTERVAL_IOS_MIN));
    }
    // A limit that is reached lets I/Os through in clumps: that is told by its own rule.
    let is_limited = limits::is_reached(case);
    Ok((series.len() >= POINTS_MIN && !is_limited).then_some((series, interval_s)))
}

fn pauses_grade(pauses: &Pauses, seconds: f64) -> Option<FindingGrade> {
    let part = ratio(pauses.lost_s, seconds);
    let again = pauses.stretches.len() >= AGAIN && part >= PAUSES_AGAIN_SUSPECT;
    let longest = pauses.stretches.iter().map(|pause| pause.for_s).fold(0.0, f64::max);
    match longest {
        _ if part >= PAUSES_SUSPECT || again => Some(FindingGrade::Suspect),
        longest if longest >= PAUSE_REMARK_S - 1e-9 => Some(FindingGrade::Remark),
        _ => None,
    }
}

fn every(period_s: Option<f64>) -> String {
    period_s.map_or_else(String::new, |period_s| format!(", about every {} s", number(period_s)))
}

/// For a while almost nothing completed, although the program ran.
fn pauses(case: &Case<'_>) -> RuleResult {
    let Some((series, interval_s)) = series_of(case)? else { return Ok(Vec::new()) };
    let pauses = rhythm::pauses_of(case, &series, interval_s);
    let Some(grade) = pauses_grade(&pauses, case.seconds()) else { return Ok(Vec::new()) };
    let Some(longest) = pauses.stretches.iter().rev().copied().max_by(|a, b| a.for_s.total_cmp(&b.for_s))
    else {
        return Ok(Vec::new());
    };
    let (between, interval_s) = rhythm::between_pauses(case);
    let rate = ratio(mean(&between), interval_s);
    let how_often = match pauses.stretches.len() {
        1 => format!(
            "From {} s on, almost nothing completed for {} s",
            number(longest.from_s),
            number(longest.for_s)
        ),
        many => format!(
            "{} times almost nothing completed, for up to {} s (from {} s on){}",
            number(many as f64),
            number(longest.for_s),
            number(longest.from_s),
            every(pauses.period_s)
        ),
    };
    let why = why(case, &pauses.stretches);
    let says = format!(
        "{how_often}: {} s or {} of the measured {} s in all. Outside these pauses the rate was {} IOPS. {}",
        number(pauses.lost_s),
        percent(ratio(pauses.lost_s, case.seconds())),
        number(case.seconds()),
        number(rate),
        why.words()
    );
    let finding = found(grade, says)
        .figure("pauses", pauses.stretches.len() as f64)
        .figure("lost_s", pauses.lost_s)
        .figure("longest_s", longest.for_s)
        .figure("iops_between", rate);
    let finding = pauses.period_s.into_iter().fold(finding, |finding, s| finding.figure("period_s", s));
    Ok(vec![why.add_to(finding)])
}

/// What a rate does that is not one rate.
enum Pattern {
    Levels { low: f64, high: f64, low_part: f64 },
    Dips { count: usize, lost: f64 },
    Scatter(f64),
}

/// A pattern, where the rate is low, and the period.
struct Uneven {
    pattern: Pattern,
    low: Vec<Stretch>,
    period_s: Option<f64>,
}

/// The rate is not one rate, seen from second to second.
fn uneven(case: &Case<'_>) -> RuleResult {
    let Some((series, interval_s)) = series_of(case)? else { return Ok(Vec::new()) };
    if pauses_grade(&rhythm::pauses_of(case, &series, interval_s), case.seconds())
        == Some(FindingGrade::Suspect)
    {
        return Ok(Vec::new());
    }
    // One change that stays is told by its own rule.
    if matches!(shape_of(case)?, Some(Shape::Step { .. } | Shape::WarmUp { .. })) {
        return Ok(Vec::new());
    }
    let Some(Uneven { pattern, low, period_s }) = seen(&series, interval_s, case.seconds()) else {
        return Ok(Vec::new());
    };
    let why = why(case, &low);
    let every = every(period_s);
    let (words, figures) = match pattern {
        Pattern::Levels { low, high, low_part } => (
            format!(
                "The rate went up and down between two levels: about {} IOPS for {} of the time and {} IOPS for the \
                 rest{every}. The mean is neither.",
                number(low),
                percent(low_part),
                number(high)
            ),
            vec![("iops_low", low), ("iops_high", high), ("low_percent", low_part * 100.0)],
        ),
        Pattern::Dips { count, lost } => (
            format!(
                "The rate broke down by a quarter or more {count} times{every}, which cost {} of the completions.",
                percent(lost)
            ),
            vec![("dips", count as f64), ("lost_percent", lost * 100.0)],
        ),
        Pattern::Scatter(part) => (
            format!(
                "The rate varied by {} from one moment to the next: the mean says little.",
                percent(part)
            ),
            vec![("scatter_percent", part * 100.0)],
        ),
    };
    let finding = suspect(format!("{words} {}", why.words()));
    let finding = figures.into_iter().fold(finding, |finding, (name, value)| finding.figure(name, value));
    let finding = period_s.into_iter().fold(finding, |finding, s| finding.figure("period_s", s));
    Ok(vec![why.add_to(finding)])
}

/// Looks at the seconds, and at the shortest intervals for what comes and goes within them.
fn seen(series: &[f64], interval_s: f64, seconds: f64) -> Option<Uneven> {
    let point_s = if seconds >= WHOLE_SECONDS_FROM_S { 1.0 } else { 0.5 };
    let count = (point_s / interval_s).round().max(1.0) as usize;
    let (points, point_s) = (added(series, count), interval_s * count as f64);
    if points.len() >= POINTS_MIN {
        let pattern = two_levels(&points, point_s).or_else(|| dips(&points, point_s));
        if pattern.is_some() {
            return pattern;
        }
        let part = scatter(&points);
        if part >= SCATTER_SUSPECT && mean(&points) >= INTERVAL_IOS_MIN {
            let low = below(&points, point_s, median(&points));
            return Some(Uneven { pattern: Pattern::Scatter(part), low, period_s: None });
        }
    }
    two_levels(series, interval_s).filter(|uneven| uneven.period_s.is_some())
}

/// Stretches in which the points are below a border.
fn below(points: &[f64], point_s: f64, border: f64) -> Vec<Stretch> {
    stretches(points.len(), point_s, |at| points[at] < border)
}

fn two_levels(points: &[f64], point_s: f64) -> Option<Uneven> {
    let found = levels(points)?;
    // Once down and up again is a dip.
    let is_pattern = found.falls + found.rises >= 3 && found.falls >= 1 && found.rises >= 1;
    if !is_pattern || found.high - found.low < LEVELS_DIFFER * found.high {
        return None;
    }
    let low = below(points, point_s, found.border);
    let [low_rate, high] = [found.low, found.high].map(|count| ratio(count, point_s));
    let pattern = Pattern::Levels { low: low_rate, high, low_part: found.low_part };
    Some(Uneven { pattern, period_s: period(&begins(&low), point_s), low })
}

fn dips(points: &[f64], point_s: f64) -> Option<Uneven> {
    let usual = median(points);
    // Five deviations of counted events.
    let border = (DIP * usual).min(usual - 5.0 * usual.max(0.0).sqrt());
    let low = below(points, point_s, border);
    let missing: f64 = points.iter().filter(|&&point| point < border).map(|point| usual - point).sum();
    let lost = ratio(missing, usual * points.len() as f64);
    let period_s = period(&begins(&low), point_s)?;
    let is_told = low.len() >= DIPS_MIN && lost >= DIPS_SUSPECT;
    is_told.then_some(Uneven {
        pattern: Pattern::Dips { count: low.len(), lost },
        low,
        period_s: Some(period_s),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! Is the mean a rate that there ever was? Pauses, two rates in turn, and scatter that only looks steady from afar.

use super::causes::why;
use super::limits;
use super::rhythm::{
    self, IOS_MIN, Pauses, Stretch, added, begins, levels, mean, median, period, scatter, stretches,
};
use super::steady::{self, Shape};
use crate::result::FindingGrade;
use crate::text::{number, percent};
use crate::verdict::figures::{Details, found, ratio};
use crate::verdict::{Case, Look, Missing};

/// Pauses of this part of the measured time make the result suspect ...
const PAUSES_SUSPECT: f64 = 0.04;
/// ... and three or more from this part on.
const PAUSES_AGAIN_SUSPECT: f64 = 0.01;
/// How many that are.
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

const NO_SERIES: &str = "the number of completions over time";

/// The series of a run that has one and did not ask for bursts.
fn series_of(case: &Case<'_>) -> Result<Option<(Vec<f64>, f64)>, Missing> {
    if case.is_in_bursts() {
        return Ok(None);
    }
    let (series, interval_s) = rhythm::while_running(case);
    if series.is_empty() && case.measured.evidence.series.is_none() {
        return Err(Missing::of(NO_SERIES));
    }
    let per_s = ratio(mean(&series), interval_s);
    if per_s > 0.0 && per_s < IOS_MIN {
        return Err(Missing::too_few(&format!("{} per second", number(per_s)), IOS_MIN));
    }
    // A limit that is reached lets I/Os through in clumps: that is told by its own rule.
    let is_limited = limits::is_reached(case);
    Ok((series.len() >= POINTS_MIN && !is_limited).then_some((series, interval_s)))
}

/// What they are worth.
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
pub fn pauses(case: &Case<'_>) -> Look {
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
pub fn uneven(case: &Case<'_>) -> Look {
    let Some((series, interval_s)) = series_of(case)? else { return Ok(Vec::new()) };
    if pauses_grade(&rhythm::pauses_of(case, &series, interval_s), case.seconds())
        == Some(FindingGrade::Suspect)
    {
        return Ok(Vec::new());
    }
    // One change that stays is told by its own rule.
    if matches!(steady::shape_of(case)?, Some(Shape::Step { .. } | Shape::WarmUp { .. })) {
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
    let finding = found(FindingGrade::Suspect, format!("{words} {}", why.words()));
    let finding = figures.into_iter().fold(finding, |finding, (name, value)| finding.figure(name, value));
    let finding = period_s.into_iter().fold(finding, |finding, s| finding.figure("period_s", s));
    Ok(vec![why.add_to(finding)])
}

/// Looks at the seconds, and at the shortest intervals for what comes and goes within them.
fn seen(series: &[f64], interval_s: f64, seconds: f64) -> Option<Uneven> {
    let point_s = if seconds >= WHOLE_SECONDS_FROM_S { 1.0 } else { 0.5 };
    let count = (point_s / interval_s).round().max(1.0) as usize;
    let (points, point_s) = (added(series, count), interval_s * count as f64);
    let of_seconds = || {
        let pattern = two_levels(&points, point_s).or_else(|| dips(&points, point_s));
        pattern.or_else(|| {
            let part = scatter(&points);
            let level = median(&points);
            let low = below(&points, point_s, level);
            let is_chance = mean(&points) < IOS_MIN;
            (part >= SCATTER_SUSPECT && !is_chance).then_some(Uneven {
                pattern: Pattern::Scatter(part),
                low,
                period_s: None,
            })
        })
    };
    let of_parts = || two_levels(series, interval_s).filter(|uneven| uneven.period_s.is_some());
    if points.len() < POINTS_MIN { of_parts() } else { of_seconds().or_else(of_parts) }
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
    let rate = |count: f64| ratio(count, point_s);
    let pattern = Pattern::Levels { low: rate(found.low), high: rate(found.high), low_part: found.low_part };
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

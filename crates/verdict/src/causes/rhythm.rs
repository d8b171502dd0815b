//! The shape of a series of completions: pauses, two levels in turn, scatter, and whether they come at even
//! intervals.
//!
//! Did the program itself run all the time? When it was stopped, what looks like a stall of the storage is none.

use super::limits;
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, found, ratio, rule, suspect, unless_missing};
use crate::view::Direction;
use truespd_core::profile::TimeSpan;
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{Finding, FindingGrade, Theme};
use truespd_platform::text::{number, percent};

pub(super) const CAUSES: &[Cause] = &[Cause::new("standstill", Theme::Processor).judged(
    rule(340, Suspect, WrongNumber, RealSpan(standstill)),
    "The whole program stood still while it measured, or at the end of it: for 0.2 s at a time or 1 % of \
     the measured time (suspect), or for 0.1 s (remark).",
    "make sure that nothing stops the program (SIGSTOP, a debugger, a frozen cgroup, a paused or moved \
     virtual machine), and repeat",
)];

/// Fewer completions in an interval are missing by chance. Intervals are added up to a second at most.
pub(super) const INTERVAL_IOS_MIN: f64 = 20.0;

/// An interval with less than this part of what is usual around it is nearly empty.
const EMPTY: f64 = 0.10;

/// What is usual is the median of so many intervals on either side.
const AROUND: usize = 30;

/// After a pause, so many intervals ...
const NEXT: usize = 3;

/// ... reach this part of what is usual.
const GOES_ON: f64 = 0.3;

/// A pause at the end is this part of the series at most.
const TAIL: f64 = 0.10;

/// Kernels let I/Os of a limit through in clumps of a tenth of a second.
const CLUMPS_S: f64 = 0.5;

/// Under a limit it takes more than one of these to be a pause.
const CLUMPS_EMPTY: usize = 2;

/// A level with less of the points is none.
const LEVEL_PART: f64 = 0.10;

/// How much of the variance two levels must explain: evenly spread points reach 0.75.
const LEVELS_EXPLAIN: f64 = 0.85;

/// Deviations of counted events that chance does not make.
const SIGMAS: f64 = 5.0;

/// Distances of this part of all must be alike, ...
const REGULAR: f64 = 0.8;

/// ... which they are when they differ by less than this part, or by one interval.
const ALIKE: f64 = 0.15;

/// A stretch in seconds since the measured time began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    pub from_s: f64,
    pub for_s: f64,
}

/// Stretches in which almost nothing completed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pauses {
    pub stretches: Vec<Stretch>,
    /// The time that they cost, in seconds.
    pub lost_s: f64,
    /// Time from one to the next, in seconds, when that is always about the same.
    pub period_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Levels {
    /// The lower one, per interval.
    pub low: f64,
    /// The higher one, per interval.
    pub high: f64,
    /// From here up a point belongs to the higher one.
    pub border: f64,
    /// Part of the points on the lower one.
    pub low_part: f64,
    /// How often the rate fell from one to the other.
    pub falls: usize,
    pub rises: usize,
}

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    ratio(values.iter().sum(), values.len() as f64)
}

/// The coefficient of variation: deviation by mean.
pub(super) fn variation(values: &[f64]) -> f64 {
    let level = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - level).powi(2)).collect();
    ratio(mean(&squares).sqrt(), level)
}

/// The median; 0 of nothing.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Neighbours added up by `count`, what is left over at the end not.
pub(super) fn added(series: &[f64], count: usize) -> Vec<f64> {
    series.chunks_exact(count.max(1)).map(|part| part.iter().sum()).collect()
}

/// The intervals around one: as many at the ends of the series as in its middle.
fn around(length: usize, place: usize) -> std::ops::Range<usize> {
    let from = place.saturating_sub(AROUND).min(length.saturating_sub(2 * AROUND + 1));
    from..(from + 2 * AROUND + 1).min(length)
}

/// What is usual around each interval.
fn usual(series: &[f64]) -> Vec<f64> {
    (0..series.len()).map(|place| median(&series[around(series.len(), place)])).collect()
}

/// The series with what is usual in the place of all that `is_out` says.
fn mended(series: &[f64], is_out: impl Fn(usize) -> bool) -> Vec<f64> {
    let kept: Vec<f64> = (0..series.len()).filter(|&at| !is_out(at)).map(|at| series[at]).collect();
    let mut mended = series.to_vec();
    for at in (0..series.len()).filter(|&at| is_out(at)) {
        let near: Vec<f64> =
            around(series.len(), at).filter(|&at| !is_out(at)).map(|at| series[at]).collect();
        mended[at] = median(if near.is_empty() { &kept } else { &near });
    }
    mended
}

/// The shortest series of a run that tells something, as if the program had run all the time.
pub(super) fn while_running(case: &Case<'_>) -> (Vec<f64>, f64) {
    let ((series, interval_s), stops) = (case.fine_series(), stops(case));
    if interval_s <= 0.0 {
        return (series, interval_s);
    }
    let series = mended(&series, |at| {
        // What was out comes back at once when it goes on, and a tick may be a little late.
        let from_s = at as f64 * interval_s;
        let (from_s, until_s) = (from_s - 0.25 * interval_s, from_s + 1.25 * interval_s);
        stops.iter().any(|stop| stop.within_s(from_s, until_s) > 0.0)
    });
    let count = if limits::was_set(case) { (CLUMPS_S / interval_s).ceil().max(1.0) as usize } else { 1 };
    (added(&series, count), interval_s * count as f64)
}

/// The same without its pauses as well: how the rate was between them.
pub(super) fn between_pauses(case: &Case<'_>) -> (Vec<f64>, f64) {
    let (series, interval_s) = while_running(case);
    let pauses = pauses_of(case, &series, interval_s).stretches;
    let series = mended(&series, |at| {
        let middle_s = (at as f64 + 0.5) * interval_s;
        pauses.iter().any(|pause| (pause.from_s..pause.from_s + pause.for_s).contains(&middle_s))
    });
    (series, interval_s)
}

/// The pauses of a run, in what [`while_running`] gives of it.
pub(super) fn pauses_of(case: &Case<'_>, series: &[f64], interval_s: f64) -> Pauses {
    // A limit that has let through too much lets nothing through until it is even.
    let least = if limits::was_set(case) { CLUMPS_EMPTY } else { 1 };
    pauses(series, interval_s, least)
}

/// The pauses of a series, each of so many intervals at least; none where so little completes that intervals
/// are empty by chance.
fn pauses(series: &[f64], interval_s: f64, least: usize) -> Pauses {
    let usually = median(series);
    if usually <= 0.0 {
        return Pauses::default();
    }
    let count = (INTERVAL_IOS_MIN / usually).ceil().max(1.0) as usize;
    let (series, interval_s) = (added(series, count), interval_s * count as f64);
    if interval_s > 1.01 {
        return Pauses::default();
    }
    let usual = usual(&series);
    let mut runs = runs(series.len(), |at| usual[at] >= INTERVAL_IOS_MIN && series[at] < EMPTY * usual[at]);
    runs.retain(|&(from, length)| {
        // A fall that stays is no pause: what comes next is as usual again.
        let next = &series[from + length..(from + length + NEXT).min(series.len())];
        let is_over = if next.is_empty() {
            length as f64 <= TAIL * series.len() as f64
        } else {
            mean(next) >= GOES_ON * usual[from]
        };
        length * count >= least && is_over
    });
    let lost_s = runs
        .iter()
        .flat_map(|&(from, count)| from..from + count)
        .map(|at| interval_s * (1.0 - ratio(series[at], usual[at])))
        .sum();
    let stretches: Vec<Stretch> = runs.into_iter().map(|run| stretch(run, interval_s)).collect();
    Pauses { lost_s, period_s: period(&begins(&stretches), interval_s), stretches }
}

/// First interval and number of each run of intervals of which something is so.
fn runs(length: usize, is_so: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..length).filter(|&at| is_so(at)) {
        match runs.last_mut() {
            Some((from, count)) if *from + *count == at => *count += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

fn stretch((from, count): (usize, usize), interval_s: f64) -> Stretch {
    Stretch { from_s: from as f64 * interval_s, for_s: count as f64 * interval_s }
}

/// Stretches of intervals of which something is so.
pub(super) fn stretches(length: usize, interval_s: f64, is_so: impl Fn(usize) -> bool) -> Vec<Stretch> {
    runs(length, is_so).into_iter().map(|run| stretch(run, interval_s)).collect()
}

/// When stretches begin, in seconds.
pub(super) fn begins(stretches: &[Stretch]) -> Vec<f64> {
    stretches.iter().map(|stretch| stretch.from_s).collect()
}

/// The distance of instants that are three at least and come at even intervals.
pub(super) fn period(instants: &[f64], resolution_s: f64) -> Option<f64> {
    let distances: Vec<f64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median(&distances);
    let mut alike = distances.clone();
    alike.retain(|distance| (distance - usual).abs() <= (ALIKE * usual).max(1.01 * resolution_s));
    let regular = ratio(alike.len() as f64, distances.len() as f64);
    // Distances of few intervals are alike whatever they are.
    let is_told = distances.len() >= 2 && usual >= 2.0 * resolution_s - 1e-9 && regular >= REGULAR;
    is_told.then(|| mean(&alike))
}

/// The two levels that fit the points best, when they are two, and not the two halves of one that scatters.
pub(super) fn levels(points: &[f64]) -> Option<Levels> {
    let mut sorted = points.to_vec();
    sorted.sort_by(f64::total_cmp);
    let all = mean(points);
    let variance: f64 = points.iter().map(|point| (point - all).powi(2)).sum();
    let least = ((LEVEL_PART * points.len() as f64).ceil() as usize).max(2);
    if points.len() < 2 * least || variance <= 0.0 {
        return None;
    }
    let between = |split: usize| {
        let (low, high) = sorted.split_at(split);
        low.len() as f64 * (mean(low) - all).powi(2) + high.len() as f64 * (mean(high) - all).powi(2)
    };
    let split = (least..=points.len() - least).max_by(|&a, &b| between(a).total_cmp(&between(b)))?;
    let (low, high) = (mean(&sorted[..split]), mean(&sorted[split..]));
    let by_chance = SIGMAS * all.max(0.0).sqrt();
    if between(split) < LEVELS_EXPLAIN * variance || high - low <= by_chance {
        return None;
    }
    let border = (low + high) / 2.0;
    let is_high: Vec<bool> = points.iter().map(|&point| point >= border).collect();
    Some(Levels {
        low,
        high,
        border,
        low_part: ratio(split as f64, points.len() as f64),
        falls: is_high.windows(2).filter(|pair| pair[0] && !pair[1]).count(),
        rises: is_high.windows(2).filter(|pair| !pair[0] && pair[1]).count(),
    })
}

/// How much neighbours differ, as the deviation of one as part of the mean; a trend or a step hardly changes
/// it. Without what counted events scatter by chance.
pub(super) fn scatter(points: &[f64]) -> f64 {
    let level = mean(points);
    let squares: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    let variance = mean(&squares) / 2.0 - level;
    ratio(variance.max(0.0).sqrt(), level)
}

/// A shorter gap is that of a busy machine.
const STOP_S: f64 = 0.1;

/// A stop of this length makes the result suspect ...
const STOP_SUSPECT_S: f64 = 0.2;

/// ... and so do shorter ones of this part of the measured time.
const STOPS_SUSPECT_PART: f64 = 0.01;

/// A thread that was ready to run for this part of the gap was not stopped: it had no processor.
const WAITED_PART: f64 = 0.5;

/// With this part of the usual completions in the meantime, only the thread that looks was late.
const WENT_ON_PART: f64 = 0.5;

/// Completions that must be expected in a gap to tell whether they are missing.
const EXPECTED: f64 = 20.0;

/// The last reading counts as late from this part of the measured time on, and from the seconds below.
const LATE_END_PART: f64 = 0.10;

/// No busy machine keeps a thread of raised priority waiting for so long.
const LATE_END_S: f64 = 0.25;

/// A time in which the program did not run, in seconds since the measured time began.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stop {
    /// When it began, or up to a tick later.
    pub from_s: f64,
    /// How long it lasted at least.
    pub for_s: f64,
}

impl Stop {
    pub fn until_s(self) -> f64 {
        self.from_s + self.for_s
    }

    /// For how long it covers a time.
    pub fn within_s(self, from_s: f64, until_s: f64) -> f64 {
        (self.until_s().min(until_s) - self.from_s.max(from_s)).max(0.0)
    }
}

/// The times in which the whole program stood still; none where nobody looked.
fn stops(case: &Case<'_>) -> Vec<Stop> {
    let ticks = case.evidence().ticks.as_ref();
    ticks.map_or_else(Vec::new, |ticks| {
        ticks
            .late
            .iter()
            .filter_map(|tick| {
                let late_ns = tick.late_ns as f64;
                let waited = ratio(tick.waiting_for_cpu_ns.unwrap_or(0) as f64, late_ns) >= WAITED_PART;
                let stop = Stop { from_s: tick.due_ns as f64 / 1e9, for_s: late_ns / 1e9 };
                (!waited && stop.for_s >= STOP_S && !went_on(case, stop)).then_some(stop)
            })
            .collect()
    })
}

/// For how long the program stood still, and for how long at a time at most, in seconds.
pub(super) fn stopped_s(case: &Case<'_>) -> (f64, f64) {
    let stops = stops(case);
    (stops.iter().map(|stop| stop.for_s).sum(), stops.iter().map(|stop| stop.for_s).fold(0.0, f64::max))
}

/// Whether I/Os completed in the intervals that lie wholly within a gap.
fn went_on(case: &Case<'_>, gap: Stop) -> bool {
    let (series, interval_s) = case.fine_series();
    if interval_s <= 0.0 {
        return false;
    }
    let first = (gap.from_s / interval_s).ceil() as usize;
    let end = ((gap.until_s() / interval_s).floor() as usize).min(series.len());
    let inside = series.get(first..end).unwrap_or_default();
    let expected = ratio(series.iter().sum(), series.len() as f64) * inside.len() as f64;
    expected >= EXPECTED && inside.iter().sum::<f64>() >= WENT_ON_PART * expected
}

/// The program did not run all the time.
fn standstill(case: &Case<'_>) -> RuleResult {
    let stops = stops(case);
    let mut findings: Vec<Finding> = told(case, &stops).into_iter().collect();
    if findings.is_empty() {
        findings.extend(late_end(case));
    }
    let missing = case.evidence().ticks.is_none();
    unless_missing(findings, missing.then(|| Missing::new("whether the program ran all the time")))
}

fn told(case: &Case<'_>, stops: &[Stop]) -> Option<Finding> {
    let longest = stops.iter().rev().copied().max_by(|a, b| a.for_s.total_cmp(&b.for_s))?;
    let total_s: f64 = stops.iter().map(|stop| stop.for_s).sum();
    let part = ratio(total_s, case.seconds());
    let is_suspect = longest.for_s >= STOP_SUSPECT_S || part >= STOPS_SUSPECT_PART;
    let when = match stops.len() {
        1 => format!("from {} s on", number(longest.from_s)),
        many => {
            format!(
                "{many} times, the longest {} s from {} s on",
                number(longest.for_s),
                number(longest.from_s)
            )
        }
    };
    let ios: f64 = Direction::BOTH.iter().map(|&way| case.done(way).ios).sum();
    let running = ratio(ios * case.seconds(), case.seconds() - total_s);
    // A rate that was set is caught up with.
    let has_rate = ios > 0.0 && !case.is_paced();
    let rates = if has_rate {
        format!("; over the time that ran the rate was {} IOPS, not {}", number(running), number(ios))
    } else {
        String::new()
    };
    let says = format!(
        "The whole program stood still for {} s, {} of the measured {} s ({when}): something stopped it, or the \
         machine. Rates and latencies include that time{rates}.",
        number(total_s),
        percent(part),
        number(case.seconds()),
    );
    let finding = found(if is_suspect { FindingGrade::Suspect } else { FindingGrade::Remark }, says)
        .figure("standstill_s", total_s)
        .figure("standstills", stops.len() as f64)
        .figure("longest_s", longest.for_s);
    Some(if has_rate { finding.figure("iops_while_running", running) } else { finding })
}

/// The thread that ends the measured time woke up late, and so did every thread that makes the load.
pub(super) fn late_end(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence();
    let window_s = evidence.disks.iter().map(|disk| disk.window_ns).min()? as f64 / 1e9;
    let late_s = window_s - case.seconds();
    let is_late = late_s >= LATE_END_S.max(case.seconds() * LATE_END_PART);
    // A stopped wait goes on with its remaining time, so threads that noticed earlier may end before the window does.
    let end_s = f64::from(case.span.warmup_s) + case.seconds();
    // A cool-down keeps the threads running as well, although only the reader is late.
    let TimeSpan { cooldown_s, .. } = *case.span;
    let beyond_s = if cooldown_s == 0 { late_s / 2.0 } else { f64::from(cooldown_s) + LATE_END_S };
    if !is_late || !evidence.threads.iter().all(|thread| thread.elapsed_ns as f64 / 1e9 >= end_s + beyond_s) {
        return None;
    }
    let says = format!(
        "The whole program was stopped at the end of the measured {} s and noticed the end {} s late: the test did \
         not run all the time, so its rates may be too low.",
        number(case.seconds()),
        number(late_s)
    );
    Some(suspect(says).figure("late_s", late_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_found_with_their_period() {
        // 500 ms in every 3 s.
        let series: Vec<f64> = (0..150).map(|i| if i % 30 < 5 { 3.0 } else { 1000.0 }).collect();
        let found = pauses(&series, 0.1, 1);
        assert_eq!(pauses(&series, 0.1, 5), found);
        assert_eq!(pauses(&series, 0.1, 6), Pauses::default());
        assert_eq!(found.stretches.len(), 5);
        assert!((found.lost_s - 2.5).abs() < 0.02 && found.period_s.is_some_and(|s| (s - 3.0).abs() < 0.01));
        assert!(found.stretches.iter().all(|pause| (pause.for_s - 0.5).abs() < 1e-9), "{found:?}");
        // A fall that stays is no pause, nor is a slow disk's empty tenth of a second.
        let fall: Vec<f64> = (0..150).map(|i| if i < 75 { 1000.0 } else { 30.0 }).collect();
        assert_eq!(pauses(&fall, 0.1, 1), Pauses::default());
        let slow: Vec<f64> = (0..150).map(|i| f64::from(i % 3)).collect();
        assert_eq!(pauses(&slow, 0.1, 1), Pauses::default());
        assert_eq!((pauses(&[], 0.1, 1), pauses(&[0.0; 9], 0.1, 1)), (Pauses::default(), Pauses::default()));
    }

    #[test]
    fn a_period_needs_even_distances() {
        assert_eq!(period(&[1.0, 4.0, 7.0, 10.0], 0.1), Some(3.0));
        assert_eq!(period(&[1.0, 4.0, 5.0, 10.0], 0.1), None);
        assert_eq!((period(&[1.0, 4.0], 0.1), period(&[], 0.1)), (None, None));
    }

    #[test]
    fn two_levels_are_told_from_scatter() {
        let turns: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 6000.0 } else { 600.0 }).collect();
        let found = levels(&turns).expect("two levels");
        assert_eq!((found.low, found.high, found.low_part), (600.0, 6000.0, 0.5));
        assert_eq!((found.falls, found.rises), (10, 9));
        let even: Vec<f64> = (0..40).map(|i| 5000.0 + f64::from(i * 7 % 40) * 100.0).collect();
        assert_eq!(levels(&even), None);
        // Counted events.
        let few: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 9.0 } else { 5.0 }).collect();
        assert_eq!(levels(&few), None);
        assert_eq!((levels(&[]), levels(&[5.0; 30])), (None, None));
    }

    #[test]
    fn scatter_is_no_trend() {
        let line: Vec<f64> = (0..30).map(|i| 1000.0 + f64::from(i) * 100.0).collect();
        assert!(scatter(&line) < 0.05, "{}", scatter(&line));
        let wild: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { 5005.0 } else { 10_000.0 }).collect();
        assert!(scatter(&wild) > 0.3, "{}", scatter(&wild));
        assert_eq!((scatter(&[]), scatter(&[0.0; 5])), (0.0, 0.0));
    }
}

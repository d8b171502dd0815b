//! Does the rate keep account? What a limit lets through too little or too much it makes up for, so the sum of all I/Os
//! stays near an even line for ever. The sum of a medium strays from it, as each I/O takes its own time: by the root of
//! their number, times the scatter of a single I/O.

use crate::cause::{Case, found, ratio};
use crate::view::{Direction, IOS_MIN};
use truespd_core::measure::Histogram;
use truespd_core::result::{Finding, FindingGrade};
use truespd_platform::text::{bytes, duration_ns, number, percent};

use super::rhythm::{added, mean, variation};

/// Intervals that are looked at together: of independent ones, one group in 120 strays less than half of what its
/// scatter lets expect, and one in twenty thousand less than a third. An even number, as bursts of a limit beside the
/// tenths of a second fall into every second one.
const WINDOW: usize = 24;

/// A sum strays no further than this part of the root of all I/Os: a third of what it would where single I/Os vary by
/// 30 %.
const EVEN: f64 = 0.1;

/// And by one I/O more, which the ends of intervals cut; not where the highest and the lowest are left out.
const CUT_IOS: f64 = 1.0;

/// So many of the windows must be even.
const EVEN_WINDOWS: f64 = 0.5;

/// Levels closer than this are one.
const SAME_LEVEL: f64 = 0.02;

/// Levels that are told, at most.
const LEVELS_MAX: usize = 3;

/// A flat rate above this may as well be the most that a fast device can do; below it no device of today with a queue
/// is that slow and that even.
pub(super) const LIMIT_IOPS_MAX: f64 = 20_000.0;

/// From this throughput on an even rate may be that of a link that is simply full.
pub(super) const LINK_BYTES_PER_S: f64 = 100.0 * 1024.0 * 1024.0;

/// These take one I/O at a time, evenly: a flat rate is theirs.
const SERIAL_TRANSPORTS: [&str; 2] = ["mmc", "usb"];

/// How far the sum of a series is from an even line at the end of each interval, sorted.
fn off_line(series: &[f64]) -> Vec<f64> {
    let level = mean(series);
    let mut sum = 0.0;
    let mut off = Vec::with_capacity(series.len());
    for count in series {
        sum += count - level;
        off.push(sum);
    }
    off.sort_by(f64::total_cmp);
    off
}

/// How far the sum of a series strays from an even line, up and down together.
fn strays(series: &[f64]) -> f64 {
    let off = off_line(series);
    off.last().unwrap_or(&0.0).max(0.0) - off.first().unwrap_or(&0.0).min(0.0)
}

/// Whether a series strays less than that of any medium does: all of it, or all but one interval up and one down. What
/// comes late by a moment is made up for in the next interval.
fn is_even(series: &[f64]) -> bool {
    let total: f64 = series.iter().sum();
    let off = off_line(series);
    let [_, lowest, .., highest, _] = off.as_slice() else { return false };
    total >= IOS_MIN
        && (strays(series) <= CUT_IOS + EVEN * total.sqrt() || highest - lowest <= EVEN * total.sqrt())
}

/// Whether most of a series in tenths of a second keeps account.
pub(super) fn is_kept(series: &[f64]) -> bool {
    !even_windows(series).is_empty()
}

/// The windows of a series that are even; none where most are not.
fn even_windows(series: &[f64]) -> Vec<&[f64]> {
    let mut windows = windows(series);
    let all = windows.len() as f64;
    windows.retain(|window| is_even(window));
    if (windows.len() as f64) < EVEN_WINDOWS * all {
        windows.clear();
    }
    windows
}

/// The windows of a series, each with enough I/Os, in their order. They are laid from its end, as limits let a burst
/// through at the beginning; the first one begins with it.
fn windows(series: &[f64]) -> Vec<&[f64]> {
    let length = WINDOW.max(ratio(IOS_MIN, mean(series)).ceil() as usize);
    let mut windows: Vec<&[f64]> = series.rchunks_exact(length).collect();
    if series.len() > length && !series.len().is_multiple_of(length) {
        windows.push(&series[..length]);
    }
    windows.reverse();
    windows
}

pub(super) fn is_serial(case: &Case<'_>) -> bool {
    let views = case.views();
    let lowest = views.iter().flat_map(|view| view.lowest());
    lowest
        .filter_map(|layer| layer.transport.as_deref())
        .any(|transport| SERIAL_TRANSPORTS.contains(&transport))
}

/// A rate that keeps account.
pub(super) fn kept(case: &Case<'_>) -> Option<Finding> {
    let (series, interval_s) = case.fine_series();
    let even = even_windows(&series);
    if even.is_empty() || interval_s <= 0.0 {
        return None;
    }
    let most = even.iter().map(|window| strays(window)).fold(0.0, f64::max);
    let mut levels: Vec<f64> = Vec::new();
    for level in even.iter().map(|window| mean(window) / interval_s) {
        if levels.last().is_none_or(|last| (level - last).abs() > SAME_LEVEL * last) {
            levels.push(level);
        }
    }
    let done = case.done(Direction::Read).plus(case.done(Direction::Write));
    let rates = levels.iter().take(LEVELS_MAX);
    let rates: Vec<String> =
        rates.map(|iops| format!("{} IOPS ({}/s)", number(*iops), bytes(iops * done.size()))).collect();
    let highest = levels.iter().copied().fold(0.0, f64::max);
    let (grade, what) =
        if highest > LIMIT_IOPS_MAX || highest * done.size() >= LINK_BYTES_PER_S || is_serial(case) {
            (FindingGrade::Remark, "of a limit, or the most that a link or device can do")
        } else {
            (FindingGrade::Suspect, "of a limit, or of a device that takes the same time for every I/O")
        };
    let says = format!(
        "The storage kept to {}: over {} s the sum of all I/Os was never more than {} away from an even line. Media \
         scatter more, so this is the rate {what}.",
        rates.join(", then to "),
        number(even[0].len() as f64 * interval_s),
        number(most.max(1.0).ceil())
    );
    let finding = found(grade, says).figure("iops", highest).figure("off_line_ios", most);
    Some(finding.figure("bytes_per_s", highest * done.size()))
}

/// I/Os this slow have waited for a limit that lets them through in bursts ...
const BURST_WAIT_NS: u64 = 10_000_000;

/// ... when most take this part of the mean at most, ...
const QUICK: f64 = 0.25;

/// ... and the seconds vary by so much less than the latencies make them.
const BURSTS_EVEN: f64 = 4.0;

/// With more in flight, latencies scatter by the order in which they are served.
const BURSTS_DEPTH_MAX: f64 = 2.5;

/// Seconds that vary by more are those of no limit.
const BURSTS_VARY: f64 = 0.03;

/// A shallow queue that is let through in bursts: the latencies scatter widely, and each second makes up for it.
pub(super) fn in_bursts(case: &Case<'_>, latency: Option<&Histogram>) -> Option<Finding> {
    let depth = case.evidence().queue_depth?.reached;
    let latency = latency?;
    let (series, interval_s) = case.series();
    let count = (1.0 / interval_s.max(1e-9)).round().max(1.0) as usize;
    let seconds = added(&series, count);
    let rate = mean(&seconds);
    if depth > BURSTS_DEPTH_MAX || seconds.len() < 5 || !(IOS_MIN..=LIMIT_IOPS_MAX).contains(&rate) {
        return None;
    }
    let varies = variation(&seconds);
    // Where each I/O takes its own time, the number in a second varies as one of them, by the root of their number.
    let expected = ratio(ratio(latency.std_dev_ns(), latency.mean_ns()), rate.sqrt());
    let median_ns = latency.percentile_ns(0.5);
    let is_burst = median_ns as f64 <= QUICK * latency.mean_ns() && latency.max_ns() >= BURST_WAIT_NS;
    if !is_burst || varies > BURSTS_VARY || varies * BURSTS_EVEN > expected {
        return None;
    }
    let says = format!(
        "Half of the I/Os took {} or less and some up to {}, yet each second had {} of them, give or take {}: a \
         limit lets them through in bursts.",
        duration_ns(median_ns as f64),
        duration_ns(latency.max_ns() as f64),
        number(rate),
        percent(varies)
    );
    let finding = found(FindingGrade::Suspect, says).figure("iops", rate);
    Some(finding.figure("variation_percent", varies * 100.0))
}

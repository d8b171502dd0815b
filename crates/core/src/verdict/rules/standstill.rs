//! Did the program itself run all the time? When it was stopped, what looks like a stall of the storage is none.

use crate::profile::TimeSpan;
use crate::result::{Finding, FindingGrade, LateTick, ThreadCost};
use crate::text::{number, percent};
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::Way;
use crate::verdict::{Case, Look, Missing};

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
pub struct Stop {
    /// When it began, or up to a tick later.
    pub from_s: f64,
    /// How long it lasted at least.
    pub for_s: f64,
}

impl Stop {
    /// When it was over.
    pub fn until_s(self) -> f64 {
        self.from_s + self.for_s
    }

    /// For how long it covers a time.
    pub fn within_s(self, from_s: f64, until_s: f64) -> f64 {
        (self.until_s().min(until_s) - self.from_s.max(from_s)).max(0.0)
    }
}

/// The times in which the whole program stood still; none where nobody looked.
pub fn stops(case: &Case<'_>) -> Vec<Stop> {
    let ticks = case.measured.evidence.ticks.as_ref();
    let of = |tick: &LateTick| {
        let late_ns = tick.late_ns as f64;
        let waited = ratio(tick.waiting_for_cpu_ns.unwrap_or(0) as f64, late_ns) >= WAITED_PART;
        let stop = Stop { from_s: tick.due_ns as f64 / 1e9, for_s: late_ns / 1e9 };
        (!waited && stop.for_s >= STOP_S && !went_on(case, stop)).then_some(stop)
    };
    ticks.map_or_else(Vec::new, |ticks| ticks.late.iter().filter_map(of).collect())
}

/// For how long the program stood still, and for how long at a time at most, in seconds.
pub fn stopped_s(case: &Case<'_>) -> (f64, f64) {
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
pub fn standstill(case: &Case<'_>) -> Look {
    let stops = stops(case);
    let mut findings: Vec<Finding> = told(case, &stops).into_iter().collect();
    if findings.is_empty() {
        findings.extend(late_end(case));
    }
    let missing = case.measured.evidence.ticks.is_none();
    unless_missing(findings, missing.then(|| Missing::of("whether the program ran all the time")))
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
    let ios: f64 = Way::BOTH.iter().map(|&way| case.done(way).ios).sum();
    let running = ratio(ios * case.seconds(), case.seconds() - total_s);
    // A rate that was set is caught up with.
    let has_rate = ios > 0.0 && !case.is_paced();
    let rates = if has_rate {
        format!("; over the time that ran the rate was {} IOPS, not {}", number(running), number(ios))
    } else {
        String::new()
    };
    let says = format!(
        "The whole program stood still for {} s, {} of the measured {} s ({when}): something stopped it, or the machine. \
         Rates and latencies include that time{rates}.",
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
pub fn late_end(case: &Case<'_>) -> Option<Finding> {
    let evidence = &case.measured.evidence;
    let window_s = evidence.disks.iter().map(|disk| disk.window_ns).min()? as f64 / 1e9;
    let late_s = window_s - case.seconds();
    let is_late = late_s >= LATE_END_S.max(case.seconds() * LATE_END_PART);
    // A stopped wait goes on with its remaining time, so threads that noticed earlier may end before the window does.
    let end_s = f64::from(case.span.warmup_s) + case.seconds();
    // A cool-down keeps the threads running as well, although only the reader is late.
    let TimeSpan { cooldown_s, .. } = *case.span;
    let beyond_s = if cooldown_s == 0 { late_s / 2.0 } else { f64::from(cooldown_s) + LATE_END_S };
    let was_there = |thread: &ThreadCost| thread.elapsed_ns as f64 / 1e9 >= end_s + beyond_s;
    if !is_late || !evidence.threads.iter().all(was_there) {
        return None;
    }
    let says = format!(
        "The whole program was stopped at the end of the measured {} s and noticed the end {} s late: the test did not \
         run all the time, so its rates may be too low.",
        number(case.seconds()),
        number(late_s)
    );
    Some(found(FindingGrade::Suspect, says).figure("late_s", late_s))
}

//! One run at a rate: what it reached, and whether the limits were kept, as sure as the run can tell.

use crate::ask::find_max::batches::{
    Ratio, Sum, batches, effective_ios, grows, mean_interval, ratio_of, share_interval,
};
use crate::ask::find_max::limits::{LatencyLimit, Of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::measure::Histogram;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Grade, LatencySummary, Measured, Operations, Summary};

/// A rate that is missed by more is not sustained.
const MISSED_MAX: f64 = 0.015;
/// Little's law: a steady queue leaves no more I/Os behind than are in flight on average, times this.
const LEFT_TIMES: f64 = 5.0;
/// And that only counts where it is a part of all I/Os.
const LEFT_PART: f64 = 0.002;
/// A growing queue matters once response times come near a limit: this part of it.
const NEAR_LIMIT: f64 = 0.1;
/// With a smaller part of the outstanding I/Os in flight, no I/O waits for a free one.
const IN_USE: f64 = 0.5;
/// The rule of the verdict about a program that could not issue more.
const GENERATOR_BOUND: &str = "generator-bound";

/// One rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// I/Os per second of each thread on each target.
    pub per_stream: u64,
    /// I/Os per second in all.
    pub offered_iops: f64,
    /// I/Os per second that were reached.
    pub reached_iops: f64,
    /// Response times from the intended start, in milliseconds.
    pub mean_ms: f64,
    /// The median of the response times.
    pub p50_ms: f64,
    /// The 95th percentile of the response times.
    pub p95_ms: f64,
    /// The 99th percentile of the response times.
    pub p99_ms: f64,
    /// The 99.9th percentile of the response times.
    pub p99_9_ms: f64,
    /// The longest of the response times.
    pub max_ms: f64,
    /// The figure that the first limit is about, in milliseconds.
    pub held_ms: f64,
    /// The rate that was offered was reached.
    pub is_reached: bool,
    /// The rate was reached, and all limits kept.
    pub is_within: bool,
    /// The verdict of the run.
    pub grade: Option<Grade>,
    /// How sure that is; none in documents from before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

/// How sure a run at a rate is of what it says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Measured time of the run in seconds.
    pub seconds: f64,
    /// I/Os that were due in it.
    pub due_ios: u64,
    /// I/Os that completed in it.
    pub ios: u64,
    /// One for each limit, in the order of the limits.
    pub held: Vec<Held>,
    /// The mean response time in milliseconds, whatever the limits.
    pub mean: Held,
    /// Response times grew from its begin to its end, or more I/Os were left behind than a steady queue leaves: more
    /// arrived than was answered.
    pub is_growing: bool,
    /// From its issue on, each limit was kept: what came late had waited in this program, for one of the outstanding
    /// I/Os (`-o`) or for a processor. False where I/Os waited although most of the outstanding ones were free: then
    /// the call that hands an I/O over waited, and that is the storage.
    pub storage_kept: bool,
    /// The verdict says that this program could not issue more.
    pub is_generator_bound: bool,
    /// It repeats the first rate at the end, to see whether the storage is still the same.
    pub is_again: bool,
}

/// What a run says about one limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The share of I/Os over the limit of a percentile (0 to 1), or the mean in milliseconds.
    pub value: f64,
    /// Its standard error, by batch means.
    pub error: f64,
    /// So many independent I/Os would tell the share as well.
    pub effective_ios: f64,
    /// Batches of the run that tell the error; 0: it is not known.
    pub batches: usize,
}

/// Why a limit or a rate is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Too many responses were late, or the mean was too long.
    Late,
    /// The rate was not reached.
    Missed,
    /// The queue grew: the rate cannot be kept for long.
    Grows,
}

/// What is known of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Kept,
    Broken(Why),
    Undecided,
}

impl Point {
    /// Of a run at `per_stream` on so many streams; none when it did no I/O at all.
    pub fn of(
        limits: &[LatencyLimit],
        per_stream: u64,
        streams: u64,
        outstanding: u64,
        document: &Document,
        grade: Option<Grade>,
    ) -> Option<Self> {
        let measured = document.measured().next()?;
        let total = Summary::of(measured).total;
        let reached_iops = Metric::IOPS.of_sum(&total, Since::Wanted)?;
        let response = total.response.as_ref()?;
        let mut trial = Trial::of(limits, measured)?;
        let findings = document.verdict.iter().flat_map(|verdict| &verdict.findings);
        for finding in findings {
            trial.is_generator_bound |= finding.rule == GENERATOR_BOUND && !finding.grade.is_remark();
        }
        let mean_ns = total.latency.as_ref()?.mean_ns;
        trial.storage_kept &=
            trial.is_generator_bound || are_outstanding_in_use(reached_iops, mean_ns, outstanding);
        let offered_iops = per_stream.saturating_mul(streams) as f64;
        Some(Point::new(limits, per_stream, offered_iops, reached_iops, response, trial, grade))
    }

    fn new(
        limits: &[LatencyLimit],
        per_stream: u64,
        offered_iops: f64,
        reached_iops: f64,
        response: &LatencySummary,
        trial: Trial,
        grade: Option<Grade>,
    ) -> Self {
        let is_reached = trial.is_reached();
        Point {
            per_stream,
            offered_iops,
            reached_iops,
            mean_ms: Of::Mean.ms(response),
            p50_ms: Of::P50.ms(response),
            p95_ms: Of::P95.ms(response),
            p99_ms: Of::P99.ms(response),
            p99_9_ms: Of::P999.ms(response),
            max_ms: response.max_ns as f64 / 1e6,
            held_ms: limits.first().map_or(0.0, |limit| limit.of.ms(response)),
            is_reached,
            is_within: is_reached && !trial.is_growing && trial.is_kept_by_itself(limits),
            grade,
            trial: Some(trial),
        }
    }

    /// It repeats the first rate at the end.
    pub fn is_again(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.is_again)
    }
}

impl Trial {
    /// Of the numbers of a run under a rate; none without response times.
    fn of(limits: &[LatencyLimit], measured: &Measured) -> Option<Self> {
        let all = measured.sum(Operations::All, |_| true);
        let response = all.response.as_deref()?;
        let due_ios = measured.targets().map(|target| target.offered_ios.unwrap_or(0)).sum();
        let mut trial = Trial {
            seconds: measured.test_time_s,
            due_ios,
            ios: all.ios,
            storage_kept: true,
            ..Trial::default()
        };
        let longest_ns = response.max_ns() as f64;
        for limit in limits {
            let ratio = match &measured.response_over_time {
                Some(slices) => {
                    let sum = limit.of.share_allowed().map_or(Sum::Time, |_| Sum::Over(limit.ns()));
                    ratio_of(&batches(slices, sum), slices.slice_ns() as f64, longest_ns)
                }
                None => Ratio::default(),
            };
            trial.held.push(trial.held_of(*limit, response, &ratio));
            trial.storage_kept &= all.latency.as_deref().is_some_and(|latency| is_kept(*limit, latency));
        }
        let mean = LatencyLimit { of: Of::Mean, ms: 0.0 };
        if let Some(slices) = &measured.response_over_time {
            let ratio = ratio_of(&batches(slices, Sum::Time), slices.slice_ns() as f64, longest_ns);
            trial.mean = trial.held_of(mean, response, &ratio);
        }
        let near_ns = limits.iter().map(|limit| limit.ns() * NEAR_LIMIT).fold(f64::INFINITY, f64::min);
        let slices = measured.response_over_time.as_ref();
        let has_trend = slices.is_some_and(|slices| grows(&batches(slices, Sum::Time), near_ns));
        trial.is_growing = has_trend || trial.leaves_more_than_is_in_flight(response.mean_ns());
        Some(trial)
    }

    fn held_of(&self, limit: LatencyLimit, response: &Histogram, ratio: &Ratio) -> Held {
        let ios = response.count() as f64;
        if limit.of.share_allowed().is_none() {
            let value = response.mean_ns() / 1e6;
            // The batches know the mean by coarse buckets; relative to it, their scatter is the same.
            let relative = if ratio.value > 0.0 { ratio.error / ratio.value } else { f64::INFINITY };
            return Held { value, error: value * relative, effective_ios: ios, batches: ratio.batches };
        }
        // I/Os that were due longer ago than the limit and have not completed are late, too.
        let rate = self.due_ios as f64 / self.seconds.max(1e-9);
        let young = rate * limit.ns() / 1e9;
        let left = self.due_ios as f64 - self.ios as f64;
        let late_and_left = (left - young - 3.0 * young.sqrt() - 1.0).max(0.0);
        let value = (over(response, limit.ns()) + late_and_left) / (ios + late_and_left).max(1.0);
        let effective_ios = effective_ios(ratio, ios);
        let error = (value * (1.0 - value) / effective_ios.max(1.0)).sqrt();
        Held { value, error, effective_ios, batches: ratio.batches }
    }

    /// Little's law: rate times response time are in flight. A steady queue leaves about as many behind as it found.
    fn leaves_more_than_is_in_flight(&self, mean_ns: f64) -> bool {
        let left = self.due_ios as f64 - self.ios as f64;
        let in_flight = self.due_ios as f64 / self.seconds.max(1e-9) * mean_ns / 1e9;
        left > LEFT_TIMES * in_flight && left > LEFT_PART * self.due_ios as f64
    }

    /// The rate that was offered was reached.
    pub fn is_reached(&self) -> bool {
        self.ios as f64 >= self.due_ios as f64 * (1.0 - MISSED_MAX)
    }

    /// Without regard to how sure that is.
    fn is_kept_by_itself(&self, limits: &[LatencyLimit]) -> bool {
        self.held.iter().zip(limits).all(|(held, limit)| held.value <= allowed(*limit))
    }

    fn unstable(&self) -> Option<Why> {
        if !self.is_reached() {
            return Some(Why::Missed);
        }
        self.is_growing.then_some(Why::Grows)
    }

    /// What this run says alone.
    pub fn class(&self, limits: &[LatencyLimit]) -> Class {
        match self.unstable() {
            Some(why) => Class::Broken(why),
            None => pooled(&[self], limits),
        }
    }
}

/// Whether I/Os may have waited for one of the outstanding to be free; by Little's law.
fn are_outstanding_in_use(iops: f64, mean_ns: f64, outstanding: u64) -> bool {
    iops * mean_ns / 1e9 >= outstanding as f64 * IN_USE
}

/// I/Os over a limit in nanoseconds.
fn over(response: &Histogram, limit_ns: f64) -> f64 {
    let late = response.buckets().filter(|bucket| bucket.low_ns as f64 > limit_ns);
    late.map(|bucket| bucket.count as f64).sum()
}

/// Whether latencies keep a limit, without regard to how sure that is.
fn is_kept(limit: LatencyLimit, latency: &Histogram) -> bool {
    let value = match limit.of.share_allowed() {
        Some(_) => over(latency, limit.ns()) / (latency.count() as f64).max(1.0),
        None => latency.mean_ns() / 1e6,
    };
    value <= allowed(limit)
}

/// What the value of a limit may be: a share, or milliseconds.
fn allowed(limit: LatencyLimit) -> f64 {
    limit.of.share_allowed().unwrap_or(limit.ms)
}

/// What several runs of a rate say together. A run that says for sure the opposite of most others is a fluke.
pub fn class_of(trials: &[&Trial], limits: &[LatencyLimit]) -> Class {
    let classes: Vec<Class> = trials.iter().map(|trial| trial.class(limits)).collect();
    let kept = classes.iter().filter(|class| **class == Class::Kept).count();
    let undecided = classes.iter().filter(|class| **class == Class::Undecided).count();
    let broken = classes.len() - kept - undecided;
    if kept > 0 && kept == broken {
        return Class::Undecided;
    }
    let mut remaining = Vec::new();
    for (trial, class) in trials.iter().zip(&classes) {
        let is_fluke = match class {
            Class::Kept => kept < broken,
            Class::Broken(_) => broken < kept,
            Class::Undecided => false,
        };
        if !is_fluke {
            remaining.push(*trial);
        }
    }
    let unstable: Vec<Why> = remaining.iter().filter_map(|trial| trial.unstable()).collect();
    match unstable.first() {
        Some(why) if unstable.len() * 2 > remaining.len() => Class::Broken(*why),
        _ => pooled(&remaining, limits),
    }
}

/// The limits over all I/Os of several runs.
fn pooled(trials: &[&Trial], limits: &[LatencyLimit]) -> Class {
    let mut class = Class::Kept;
    for (place, limit) in limits.iter().enumerate() {
        let mut helds = Vec::new();
        for trial in trials {
            helds.extend(trial.held.get(place).map(|held| (*held, trial.ios as f64)));
        }
        let [low, high] = interval(*limit, &helds);
        if low > allowed(*limit) {
            return Class::Broken(Why::Late);
        }
        if high > allowed(*limit) {
            class = Class::Undecided;
        }
    }
    class
}

/// Where the true value of a limit lies, of runs with their I/Os. Runs that differ by more than their own errors say
/// make the interval wider (Birge's ratio).
fn interval(limit: LatencyLimit, helds: &[(Held, f64)]) -> [f64; 2] {
    let ios: f64 = helds.iter().map(|(_, ios)| ios).sum();
    if ios <= 0.0 {
        return [0.0, f64::INFINITY];
    }
    let value = helds.iter().map(|(held, ios)| held.value * ios).sum::<f64>() / ios;
    let batches = helds.iter().map(|(held, _)| held.batches).sum();
    let (mut scatter, mut variance) = (0.0, 0.0);
    for (held, own_ios) in helds {
        // With the value of all: the one of a run without a late I/O would have no error.
        let own_variance = match limit.of.share_allowed() {
            Some(_) => value * (1.0 - value) / held.effective_ios.max(1.0),
            None => held.error * held.error,
        };
        variance += own_variance * (own_ios / ios).powi(2);
        if own_variance > 0.0 {
            scatter += (held.value - value).powi(2) / own_variance;
        }
    }
    let birge = if helds.len() > 1 { (scatter / (helds.len() - 1) as f64).max(1.0) } else { 1.0 };
    variance *= birge;
    if limit.of.share_allowed().is_none() {
        return mean_interval(value, variance.sqrt(), batches);
    }
    let binomial = value * (1.0 - value);
    let known: f64 = helds.iter().map(|(held, _)| held.effective_ios).sum();
    let effective = if variance > 0.0 { binomial / variance } else { known };
    share_interval(value, effective, batches)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const SECONDS: f64 = 10.0;

    /// A run at a rate whose share of I/Os over the only limit is this, of so many independent I/Os.
    pub fn point(
        per_stream: u64,
        streams: u64,
        limit: LatencyLimit,
        share: f64,
        effective_ios: f64,
    ) -> Point {
        let offered_iops = (per_stream * streams) as f64;
        let ios = (offered_iops * SECONDS) as u64;
        let held = Held { value: share, effective_ios, batches: 200, ..Held::default() };
        let trial = Trial { seconds: SECONDS, due_ios: ios, ios, held: vec![held], ..Trial::default() };
        let response = LatencySummary {
            mean_ns: 1e6,
            std_dev_ns: 0.0,
            min_ns: 0,
            p25_ns: 0,
            p50_ns: 0,
            p75_ns: 0,
            p90_ns: 0,
            p95_ns: 0,
            p99_ns: 0,
            p99_9_ns: 0,
            p99_99_ns: 0,
            p99_999_ns: 0,
            max_ns: 0,
        };
        Point::new(&[limit], per_stream, offered_iops, offered_iops, &response, trial, None)
    }

    fn limit() -> LatencyLimit {
        LatencyLimit::new(Of::P99, 10.0).unwrap()
    }

    fn trial(share: f64, effective_ios: f64) -> Trial {
        point(100, 4, limit(), share, effective_ios).trial.unwrap()
    }

    fn class(trials: &[Trial]) -> Class {
        class_of(&trials.iter().collect::<Vec<_>>(), &[limit()])
    }

    #[test]
    fn what_is_near_the_limit_is_undecided_until_there_are_enough() {
        assert_eq!(class(&[trial(0.005, 10_000.0)]), Class::Kept);
        assert_eq!(class(&[trial(0.015, 10_000.0)]), Class::Broken(Why::Late));
        assert_eq!(class(&[trial(0.008, 1_000.0)]), Class::Undecided);
        assert_eq!(class(&vec![trial(0.008, 1_000.0); 30]), Class::Kept);
        assert_eq!(class(&[]), Class::Undecided, "nothing is known");
    }

    #[test]
    fn one_disturbed_run_of_three_is_a_fluke() {
        let (good, bad) = (trial(0.001, 10_000.0), trial(0.3, 10_000.0));
        assert_eq!(class(&[good.clone(), bad.clone()]), Class::Undecided);
        assert_eq!(class(&[good.clone(), bad.clone(), good.clone()]), Class::Kept);
        assert_eq!(class(&[good, bad.clone(), bad]), Class::Broken(Why::Late));
    }

    #[test]
    fn runs_that_differ_among_themselves_are_less_sure() {
        let near = |share| trial(share, 3_000.0);
        assert_eq!(class(&[near(0.007), near(0.007), near(0.007), near(0.007)]), Class::Kept);
        let apart = [near(0.001), near(0.0125), near(0.0015), near(0.013)];
        assert_eq!(class(&apart), Class::Undecided, "the same mean");
    }

    #[test]
    fn a_rate_that_is_missed_or_whose_queue_grows_is_broken_whatever_the_share() {
        let missed = Trial { ios: 3_900, ..trial(0.0, 1e4) };
        assert_eq!(class(&[missed]), Class::Broken(Why::Missed));
        assert_eq!(class(&[Trial { is_growing: true, ..trial(0.0, 1e4) }]), Class::Broken(Why::Grows));
        // At 400 per second and 1 ms, less than one I/O is in flight.
        assert!(Trial { ios: 3_985, ..trial(0.0, 1e4) }.leaves_more_than_is_in_flight(1e6));
        assert!(!Trial { ios: 3_997, ..trial(0.0, 1e4) }.leaves_more_than_is_in_flight(1e6));
        assert!(!Trial { ios: 3_985, ..trial(0.0, 1e4) }.leaves_more_than_is_in_flight(1e8));
    }

    /// A file system in a program (FUSE) had 16 in flight of 256, and the calls that handed over the others waited.
    #[test]
    fn calls_that_wait_are_the_storage_and_not_the_outstanding_ios() {
        assert!(!are_outstanding_in_use(1920.0, 8.3e6, 256));
        assert!(are_outstanding_in_use(1920.0, 8.3e6, 16));
        assert!(are_outstanding_in_use(1920.0, 120e6, 256));
    }

    #[test]
    fn a_mean_is_held_by_the_error_of_its_batches() {
        let mean = LatencyLimit::new(Of::Mean, 2.0).unwrap();
        let held = |value, error| Held { value, error, effective_ios: 1e4, batches: 100 };
        let of = |value, error| interval(mean, &[(held(value, error), 1e4)]);
        assert!(of(1.9, 0.01)[1] < 2.0 && of(1.9, 0.1)[1] > 2.0 && of(2.1, 0.01)[0] > 2.0);
    }
}

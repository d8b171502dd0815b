//! A search for the highest rate as a document holds it, and in words.

use crate::ask::find_max::decide::{Known, Next, Rate, is_near};
use crate::ask::find_max::limits::{LatencyLimit, Of, limits_words};
use crate::ask::find_max::trial::{Class, Point, Why};
use crate::runner::until_known::has_changed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use truespd_core::measure::estimate::Estimate;
use truespd_core::result::metrics::Metric;
use truespd_core::result::{Found, Grade, Part};
use truespd_platform::text::{duration_ns, grouped, number, shell_line};

/// The storage has changed when the mean response time of the first rate has, by more than this part ...
const CHANGED: f64 = 0.2;
/// ... and by more than its error explains, but for one time in a thousand.
const CHANGED_LEVEL: f64 = 0.001;

/// How a search for a rate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// The highest rate that kept the limits, in two runs or more; per stream.
    Found(u64),
    /// Not the limits end the search, but what is outstanding at once, or this program. The highest rate
    /// that was reached, in two runs or more; per stream.
    AllKeepIt(u64),
    /// No rate kept the limits.
    NoneKeepsIt,
    /// The storage did not answer twice alike, or the time was up.
    GaveUp,
    /// No I/O was completed at this rate; per stream.
    NoIo(u64),
}

/// A bound of the highest rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// I/Os per second of each thread on each target.
    pub per_stream: u64,
    /// I/Os per second in all.
    pub iops: u64,
    /// Runs at this rate that kept the limits.
    pub kept: usize,
    /// Runs at this rate that did not.
    pub broken: usize,
    /// Why they did not; none for a bound that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// Mean response times of the first rate, before and after the search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// I/Os per second of each thread on each target.
    pub per_stream: u64,
    /// At the beginning, in milliseconds.
    pub before_ms: f64,
    /// At the end, in milliseconds.
    pub after_ms: f64,
}

/// Rates that were tried, and what they say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// What had to be kept; of several limits the first.
    pub limit: LatencyLimit,
    /// All limits; empty in documents from before there could be several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LatencyLimit>,
    /// How far apart the bounds may be, in percent of the upper one; none in documents from before there were bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_percent: Option<f64>,
    /// Threads times targets: what a rate per thread is multiplied with.
    pub streams: u64,
    /// I/Os of all threads that are outstanding at once, at most; 0 in documents from before this was noted.
    #[serde(default)]
    pub outstanding: u64,
    /// I/Os per second without a limit.
    pub unlimited_iops: f64,
    /// In the order of trying.
    pub points: Vec<Point>,
    /// The highest rate that kept the limits, below the lowest that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<Bound>,
    /// The lowest rate that did not keep them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<Bound>,
    /// What ended the search was this program, which could not issue more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_generator_bound: bool,
    /// The time for the search was up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_out_of_time: bool,
    /// The storage changed while it was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// How it ended; none when it was stopped.
    pub end: Option<SearchEnd>,
}

/// Whether a member need not stand in a document.
fn is_false(is_so: &bool) -> bool {
    !is_so
}

impl Search {
    /// All limits, also of documents with one.
    pub fn limits(&self) -> Vec<LatencyLimit> {
        if self.limits.is_empty() { vec![self.limit] } else { self.limits.clone() }
    }

    /// What was tried, from the lowest rate to the highest.
    pub fn by_rate(&self) -> Vec<&Point> {
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by_key(|point| point.per_stream);
        points
    }

    /// Notes both bounds, of the points so far.
    pub fn note_bounds(&mut self) {
        let known = Known::of(&self.points, &self.limits());
        self.lower = known.lower().map(|(rate, known)| self.bound(rate, known));
        self.upper = known.upper().map(|(rate, known)| self.bound(rate, known));
    }

    fn bound(&self, per_stream: u64, known: Rate) -> Bound {
        let why = match known.class {
            Class::Broken(why) => Some(why),
            Class::Kept | Class::Undecided => None,
        };
        let iops = per_stream.saturating_mul(self.streams);
        Bound { per_stream, iops, kept: known.kept, broken: known.broken, why }
    }

    /// Notes how it ended, and what ended it.
    pub fn note_end(&mut self, next: Next) {
        self.note_bounds();
        let lower = self.lower.map(|lower| lower.per_stream);
        self.end = Some(match (next, lower) {
            (Next::Found, Some(rate)) if self.is_storage_late() => SearchEnd::Found(rate),
            (Next::Found | Next::Top, Some(rate)) => {
                let is_bound = self.upper_broken().any(is_generator_bound);
                self.is_generator_bound = is_bound;
                SearchEnd::AllKeepIt(rate)
            }
            (Next::None, _) => SearchEnd::NoneKeepsIt,
            _ => SearchEnd::GaveUp,
        });
    }

    /// The highest rate as the history keeps and counts it, of a search that found it: the lower bound. `line` are the
    /// words of the run without a limit, `profile` is its hash.
    pub fn part(&self, name: &str, profile: Option<&str>, line: &[String]) -> Option<Part> {
        let (found, rate) = match self.end {
            Some(SearchEnd::Found(rate) | SearchEnd::AllKeepIt(rate)) => (Found::Kept, Some(rate)),
            Some(SearchEnd::NoneKeepsIt) => (Found::Nothing, None),
            Some(SearchEnd::GaveUp | SearchEnd::NoIo(_)) | None => (Found::Undecided, None),
        };
        let mut limits = Vec::new();
        for LatencyLimit { of, ms } in self.limits() {
            limits.push(format!("{} up to {ms} ms", of.word()));
        }
        let limits = limits.join(" and ");
        let iops = rate.map(|rate| rate.saturating_mul(self.streams) as f64);
        let mut figures = BTreeMap::new();
        figures.extend(iops.map(|iops| (Metric::IOPS.id().to_string(), iops)));
        let (profile, command) = (profile?.to_string(), shell_line(line));
        let name = format!("{name}, highest rate with {limits}");
        let part = Part { name, profile, command, figures, found, ..Part::default() };
        Some(part.at("limit", limits))
    }

    /// Runs at the upper bound that did not keep the limits.
    fn upper_broken(&self) -> impl Iterator<Item = &Point> {
        let rate = self.upper.map(|upper| upper.per_stream);
        let points = self.points.iter();
        points.filter(move |point| Some(point.per_stream) == rate && !point.is_within)
    }

    /// Whether the storage itself was late at the upper bound, in a run of two or more: not only I/Os that waited in
    /// this program.
    fn is_storage_late(&self) -> bool {
        let (mut late, mut in_time) = (0, 0);
        for point in self.upper_broken() {
            let is_in_time = point.trial.as_ref().is_some_and(|trial| trial.storage_kept);
            *(if is_in_time { &mut in_time } else { &mut late }) += 1;
        }
        late >= in_time
    }

    /// Compares the run of the first rate with the run of it at the end, and notes a change.
    pub fn note_change(&mut self) {
        let Some(again) = self.points.iter().find(|point| point.is_again()) else { return };
        let mut first = self.points.iter();
        let Some(first) = first.find(|point| point.per_stream == again.per_stream) else { return };
        let (before_ms, after_ms) = (first.mean_ms, again.mean_ms);
        let mean = LatencyLimit { of: Of::Mean, ms: before_ms };
        let [before, after] = [first, again].map(|point| estimate(point, mean));
        let difference = after.less(before);
        if has_changed(before_ms, difference, CHANGED, CHANGED_LEVEL) {
            self.change = Some(Change { per_stream: again.per_stream, before_ms, after_ms });
            self.end = Some(SearchEnd::GaveUp);
        }
    }

    /// How it ended, for people; with a line end.
    pub fn answer(&self) -> String {
        if let Some(change) = self.change {
            return self.changed_words(change);
        }
        let limits = limits_words(&self.limits());
        match self.end {
            Some(SearchEnd::Found(rate)) if self.lower.is_none() => {
                format!("highest rate within the limit: {}\n", self.found_words(rate))
            }
            Some(SearchEnd::AllKeepIt(rate)) if self.lower.is_none() => {
                let words = if self.points.iter().all(|point| point.is_reached) {
                    "the limit was kept at every rate tried"
                } else {
                    "no higher rate broke the limit, but some were not reached"
                };
                let found = self.found_words(rate);
                format!("highest rate within the limit: {found}\n{words}: {}\n", self.outstanding_words())
            }
            Some(SearchEnd::Found(_)) => format!("highest rate: {} at {limits}\n", self.bounds_words()),
            Some(SearchEnd::AllKeepIt(_)) => self.lower_only_words(&limits),
            Some(SearchEnd::NoneKeepsIt) => self.none_words(),
            Some(SearchEnd::GaveUp) => self.undecided_words(&limits),
            Some(SearchEnd::NoIo(rate)) => format!(
                "undecided: no I/O was completed in the run at {} IOPS; longer runs (-d) may help{}\n",
                grouped(rate.saturating_mul(self.streams)),
                self.so_far_words()
            ),
            None => format!("stopped before it was decided{}\n", self.so_far_words()),
        }
    }

    fn changed_words(&self, change: Change) -> String {
        format!(
            "no answer: the storage changed while it was searched: at {} IOPS, the mean response time was {} in the \
             first run and {} in the last; write to it until it is steady, and search again\n",
            grouped(change.per_stream.saturating_mul(self.streams)),
            duration_ns(change.before_ms * 1e6),
            duration_ns(change.after_ms * 1e6)
        )
    }

    /// `between 46,048 (kept 5 of 5) and 48,276 (broken 3 of 4) IOPS`
    fn bounds_words(&self) -> String {
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => {
                format!("between {} and {} IOPS", lower.kept_words(), upper.broken_words())
            }
            (Some(lower), None) => format!("at least {} IOPS", lower.kept_words()),
            (None, Some(upper)) => format!("below {} IOPS", upper.broken_words()),
            (None, None) => "unknown".to_string(),
        }
    }

    fn outstanding_words(&self) -> String {
        format!(
            "the {} outstanding I/Os are what ends the search, not the limit; a larger -o can reach more",
            self.outstanding
        )
    }

    /// The upper bound is none of the storage.
    fn lower_only_words(&self, limits: &str) -> String {
        let Some(lower) = self.lower else { return String::new() };
        let mut out = format!("highest rate: at least {} IOPS at {limits}\n", lower.kept_words());
        let beyond = match self.upper {
            Some(upper) => format!("{} IOPS broke it", upper.broken_words()),
            None => "the limit was kept at every rate tried".to_string(),
        };
        let ends = if self.is_generator_bound {
            "this program ends the search, not the storage, because it could not issue more; let more threads \
             (-t) issue, or stop other programs"
                .to_string()
        } else {
            self.outstanding_words()
        };
        out.push_str(&format!("{beyond}, though the storage answered in time: {ends}\n"));
        out
    }

    fn none_words(&self) -> String {
        match self.points.iter().min_by_key(|point| point.per_stream) {
            Some(point) => format!(
                "no rate keeps {} within {} ms: at {} IOPS, {} is {}\n",
                self.limit.of.word(),
                self.limit.ms,
                number(point.offered_iops),
                self.limit.of.word(),
                duration_ns(point.held_ms * 1e6)
            ),
            None => format!(
                "no rate could be tried: {} IOPS without a limit are less than one for each of {} (threads x targets); \
                 use fewer threads (-t)\n",
                number(self.unlimited_iops),
                self.streams
            ),
        }
    }

    fn undecided_words(&self, limits: &str) -> String {
        let Some(percent) = self.precision_percent else {
            return format!(
                "undecided after {} runs: runs at the same rate disagree; longer runs (-d) may help{}\n",
                self.points.len(),
                self.so_far_words()
            );
        };
        let why = if self.is_out_of_time {
            "the time was up; more of it (--max-minutes) may help"
        } else {
            "runs at the rates between them do not agree, or are too near the limit; longer runs (-d) may help"
        };
        let (low, high) = (self.lower.map(|of| of.per_stream), self.upper.map(|of| of.per_stream));
        let far = match (low, high) {
            (Some(low), Some(high)) if is_near(low, high, percent / 100.0) => {
                "which are not repeated enough to be sure".to_string()
            }
            _ => format!("which is not as near as {percent} %"),
        };
        let (runs, bounds) = (self.points.len(), self.bounds_words());
        format!("undecided after {runs} runs: {bounds} at {limits}, {far}: {why}\n")
    }

    /// What is known when there is no answer: `; so far between ...`
    fn so_far_words(&self) -> String {
        if self.lower.is_some() || self.upper.is_some() {
            return format!("; so far {}", self.bounds_words());
        }
        let kept = self.points.iter().filter(|point| point.is_within).max_by_key(|point| point.per_stream);
        match kept {
            Some(point) => {
                format!("; the highest rate that kept the limit so far: {} IOPS", number(point.offered_iops))
            }
            None if self.points.is_empty() => String::new(),
            None => "; no rate kept the limit so far".to_string(),
        }
    }

    /// The answer of a document from before there were bounds: `1,000 IOPS (p99 2 ms, ...), 50 % of ...`
    fn found_words(&self, rate: u64) -> String {
        // The latest run at this rate that kept the limit; at a rate that is found, most did.
        let run = self.points.iter().rfind(|point| point.per_stream == rate && point.is_within);
        let (held, grade) = run.map_or((0.0, None), |run| (run.held_ms, run.grade));
        let iops = rate.saturating_mul(self.streams);
        format!(
            "{} IOPS ({} {}, kept in two runs or more), {:.0} % of the {} IOPS without a limit{}",
            grouped(iops),
            self.limit.of.word(),
            duration_ns(held * 1e6),
            iops as f64 / self.unlimited_iops * 100.0,
            number(self.unlimited_iops),
            if grade == Some(Grade::Invalid) { " (INVALID: see the verdict)" } else { "" }
        )
    }
}

/// The mean response time of a point with its error.
fn estimate(point: &Point, mean: LatencyLimit) -> Estimate {
    let held = point.trial.as_ref().map(|trial| trial.mean);
    let held = held.unwrap_or_default();
    let freedom = held.batches.max(2) as f64 - 1.0;
    Estimate { mean: point.mean_ms, error: held.error.max(mean.ms * 1e-9), freedom }
}

fn is_generator_bound(point: &Point) -> bool {
    point.trial.as_ref().is_some_and(|trial| trial.is_generator_bound)
}

impl Bound {
    /// `46,048 (kept 5 of 5)`
    fn kept_words(&self) -> String {
        format!("{} (kept {} of {})", grouped(self.iops), self.kept, self.kept + self.broken)
    }

    /// `48,276 (broken 3 of 4)`
    fn broken_words(&self) -> String {
        format!("{} (broken {} of {})", grouped(self.iops), self.broken, self.kept + self.broken)
    }
}

/// Whether a run kept the limits, as sure as it is alone.
pub fn kept_words(point: &Point, limits: &[LatencyLimit]) -> &'static str {
    let Some(trial) = &point.trial else { return if point.is_within { "yes" } else { "no" } };
    match (trial.class(limits), point.is_within) {
        (Class::Kept, _) => "yes",
        (Class::Broken(Why::Late), _) => "no",
        (Class::Broken(Why::Missed), _) => "rate missed",
        (Class::Broken(Why::Grows), _) => "queue grows",
        (Class::Undecided, true) => "yes?",
        (Class::Undecided, false) => "no?",
    }
}

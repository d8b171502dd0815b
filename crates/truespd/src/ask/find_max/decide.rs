//! Which rate to try next, and when the answer is known: the search of RFC 9971 (MLRsearch), with a limit of response
//! times in place of a loss ratio. Nothing here runs anything.
//!
//! Rates are per stream (`-g` counts per thread and target), so that a rate is always one that the line can ask for.

use crate::ask::find_max::limits::LatencyLimit;
use crate::ask::find_max::trial::{Class, Point, Trial, class_of};
use std::collections::BTreeMap;

/// Parts of the rate without limit that are tried first, upwards until one is broken. Beyond 1, because arrivals that
/// wait for nobody can reach more than a closed loop with few outstanding I/Os.
const STEPS: [f64; 11] = [0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 2.0, 3.0];
/// Below this part of the rate without limit, no rate is looked for.
const LOWEST: f64 = 0.02;
/// A bound has to be so in most of three runs, so two that say the same are enough (exceed ratio one half).
const RUNS_OF_A_BOUND: usize = 2;
/// How often a rate that stays undecided is run, in turns with rates beside it.
const ROUNDS: [usize; 4] = [2, 4, 8, 16];
/// So many runs of a broken rate are enough, whatever higher rates do.
const DOUBTED_RUNS: usize = 6;
/// How far beside an undecided rate the next ones are, as a part of the width that is wanted: two of them fit into it.
const BESIDE: f64 = 0.45;
/// No search takes more runs, whatever the storage does.
pub const RUNS_MAX: usize = 80;
/// What a search usually takes, with the run without limit.
pub const RUNS_USUAL: usize = 18;

/// What is asked of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked<'a> {
    /// I/Os per second of a stream without a limit.
    pub unlimited: f64,
    pub limits: &'a [LatencyLimit],
    /// How near the bounds have to come to each other, as a part of the upper one.
    pub width: f64,
    /// A lower rate has too few I/Os in a run to say something of the limits.
    pub least: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Try this rate per stream.
    Try(u64),
    /// Both bounds are known and near enough.
    Found,
    /// No rate keeps the limit.
    None,
    /// Every rate kept the limits.
    Top,
    /// Too many runs: the storage does not answer twice alike.
    GaveUp,
}

/// What is known of the rates that were tried.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    rates: BTreeMap<u64, Rate>,
}

/// What is known of one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub class: Class,
    /// Runs that kept the limits.
    pub kept: usize,
    /// Runs that did not keep them.
    pub broken: usize,
}

impl Rate {
    fn runs(self) -> usize {
        self.kept + self.broken
    }

    /// Would stay what it is, whatever a third run said.
    fn is_settled(self) -> bool {
        match self.class {
            Class::Kept => self.kept >= RUNS_OF_A_BOUND && self.kept > self.broken,
            Class::Broken(_) => self.broken >= RUNS_OF_A_BOUND && self.broken > self.kept,
            Class::Undecided => false,
        }
    }
}

impl Known {
    /// Of all runs but those that only look whether the storage is the same.
    pub fn of(points: &[Point], limits: &[LatencyLimit]) -> Self {
        let mut runs: BTreeMap<u64, Vec<(&Trial, bool)>> = BTreeMap::new();
        for point in points.iter().filter(|point| !point.is_again()) {
            let Some(trial) = &point.trial else { continue };
            runs.entry(point.per_stream).or_default().push((trial, point.is_within));
        }
        let mut known = Known::default();
        for (rate, runs) in runs {
            let trials: Vec<&Trial> = runs.iter().map(|(trial, _)| *trial).collect();
            let kept = runs.iter().filter(|(_, is_within)| *is_within).count();
            let class = class_of(&trials, limits);
            known.rates.insert(rate, Rate { class, kept, broken: runs.len() - kept });
        }
        known
    }

    /// The relevant upper bound: the lowest rate that is broken.
    pub fn upper(&self) -> Option<(u64, Rate)> {
        let mut broken = self.rates.iter().filter(|(_, rate)| matches!(rate.class, Class::Broken(_)));
        broken.next().map(|(rate, known)| (*rate, *known))
    }

    /// The relevant lower bound: the highest rate that is kept, below the upper bound. What is kept above is a fluke.
    pub fn lower(&self) -> Option<(u64, Rate)> {
        let upper = self.upper().map_or(u64::MAX, |(rate, _)| rate);
        let mut kept = self.rates.range(..upper).rev().filter(|(_, rate)| rate.class == Class::Kept);
        kept.next().map(|(rate, known)| (*rate, *known))
    }

    /// Of one rate, where it was tried.
    pub fn rate(&self, per_stream: u64) -> Option<Rate> {
        self.rates.get(&per_stream).copied()
    }

    /// Whether a higher rate was kept in as many runs as this one was broken.
    fn is_doubted(&self, broken_rate: u64, broken: Rate) -> bool {
        let mut above = self.rates.range(broken_rate + 1..);
        above.any(|(_, rate)| rate.class == Class::Kept && rate.kept >= broken.broken)
    }

    /// Undecided rates between the bounds, upwards.
    fn undecided(&self, low: u64, high: u64) -> Vec<(u64, Rate)> {
        let mut all = Vec::new();
        for (rate, known) in self.rates.range(low..high) {
            if *rate > low && known.class == Class::Undecided {
                all.push((*rate, *known));
            }
        }
        all
    }
}

/// Whether the bounds are near enough. Rates are whole numbers.
pub fn is_near(low: u64, high: u64, width: f64) -> bool {
    high <= low + 1 || (high - low) as f64 <= high as f64 * width
}

/// Decides on the points so far.
pub fn next(asked: &Asked<'_>, points: &[Point]) -> Next {
    if asked.unlimited < 1.0 {
        return Next::None;
    }
    let known = Known::of(points, asked.limits);
    match decide(asked, &known, points.len()) {
        Next::Try(_) if points.len() >= RUNS_MAX => Next::GaveUp,
        decided => decided,
    }
}

fn decide(asked: &Asked<'_>, known: &Known, runs: usize) -> Next {
    let lower = known.lower();
    let low = lower.map_or(0, |(rate, _)| rate);
    let Some((high, upper)) = known.upper() else { return climb(asked, known, low) };
    // One disturbed run would cost all rates above it.
    let broken = known.rates.values().filter(|rate| matches!(rate.class, Class::Broken(_))).count();
    if broken == 1 && upper.runs() == 1 {
        return Next::Try(high);
    }
    // A lower rate that broke and a higher one that was kept: one of them is a fluke, perhaps the lower one.
    if known.is_doubted(high, upper) && upper.runs() < DOUBTED_RUNS {
        return Next::Try(high);
    }
    if lower.is_none() && high as f64 <= (asked.unlimited * LOWEST).max(1.0) {
        return if upper.is_settled() { Next::None } else { Next::Try(high) };
    }
    if is_near(low, high, asked.width)
        && let Some((low, lower)) = lower
    {
        return settle((low, lower), (high, upper), runs);
    }
    between(asked, known, low, high)
}

/// Upwards, as no rate is broken yet. An undecided one gets some more time, and no more: those above may tell enough.
fn climb(asked: &Asked<'_>, known: &Known, low: u64) -> Next {
    let undecided = known.undecided(low, u64::MAX);
    if let Some((rate, _)) = undecided.iter().find(|(_, rate)| rate.runs() < ROUNDS[0]) {
        return Next::Try(*rate);
    }
    let highest = known.rates.keys().next_back().copied().unwrap_or(0);
    for part in STEPS {
        let rate = ((asked.unlimited * part) as u64).max(1);
        if rate > highest && rate >= asked.least.min(asked.unlimited as u64) {
            return Next::Try(rate);
        }
    }
    match known.lower() {
        Some((rate, known)) if !known.is_settled() => Next::Try(rate),
        Some(_) => Next::Top,
        None => Next::GaveUp,
    }
}

/// Both bounds once more, in turns, until each would stay what it is.
fn settle(low: (u64, Rate), high: (u64, Rate), runs: usize) -> Next {
    match (low.1.is_settled(), high.1.is_settled()) {
        (true, true) => Next::Found,
        (false, true) => Next::Try(low.0),
        (true, false) => Next::Try(high.0),
        // The one with fewer runs; of equals now this one and now that, so that no drift looks like a difference.
        (false, false) if low.1.runs() < high.1.runs() => Next::Try(low.0),
        (false, false) if low.1.runs() > high.1.runs() => Next::Try(high.0),
        (false, false) => Next::Try(if runs.is_multiple_of(2) { low.0 } else { high.0 }),
    }
}

/// Closes the gap between bounds that are too far apart: in the middle, and where rates stay undecided, closely beside
/// them.
fn between(asked: &Asked<'_>, known: &Known, low: u64, high: u64) -> Next {
    let undecided = known.undecided(low, high);
    let (Some((first, _)), Some((last, _))) = (undecided.first(), undecided.last()) else {
        return Next::Try((low + (high - low) / 2).max(1));
    };
    for round in ROUNDS {
        let mut least: Option<(u64, Rate)> = None;
        for (rate, known) in &undecided {
            if known.runs() < round && least.is_none_or(|(_, least)| known.runs() < least.runs()) {
                least = Some((*rate, *known));
            }
        }
        if let Some((rate, _)) = least {
            return Next::Try(rate);
        }
        let beside = asked.width * BESIDE;
        let below = (*first as f64 * (1.0 - beside)) as u64;
        if below > low && below < *first {
            return Next::Try(below);
        }
        let above = (*last as f64 * (1.0 + beside)).ceil() as u64;
        if above > *last && above < high {
            return Next::Try(above);
        }
        // As far from the undecided ones as the width allows with one of the bounds.
        let below = (high as f64 * (1.0 - asked.width)).ceil() as u64;
        if below > low && below < *first {
            return Next::Try(below);
        }
        let above = (low as f64 / (1.0 - asked.width)) as u64;
        if above > *last && above < high {
            return Next::Try(above);
        }
    }
    Next::GaveUp
}

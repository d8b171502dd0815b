//! Did the threads run on other processors when the rate was low? Where a thread may run on any processor,
//! its distance to the one that answers the disk's interrupts changes when it moves, and with it the rate of
//! a shallow queue.

use std::collections::BTreeMap;

use super::rhythm::Stretch;
use crate::result::{Layer, disks_in_words};
use crate::verdict::Case;
use crate::verdict::figures::ratio;
use crate::verdict::view::View;

/// A thread that spends this much more of the low times on some processors than of the other times has moved.
const MOVED: f64 = 0.6;
/// Fewer intervals on either side show nothing.
const INTERVALS_MIN: usize = 2;
/// An interval belongs to the low times by this part of it.
const INSIDE: f64 = 0.5;

/// Where the threads ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Threads that moved.
    pub threads: usize,
    /// Threads that were free to.
    pub of: usize,
    /// Where the first of them mostly ran when the rate was low.
    pub low: u32,
    /// Where it mostly ran otherwise.
    pub otherwise: u32,
}

/// Which processor answers the disks' interrupts, as far as it tells a place where a thread ran from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The document does not tell it.
    Unknown,
    /// Not the processor where the thread mostly ran when the rate was low, but the other one.
    NotLow {
        /// The disks, in words.
        disks: String,
    },
    /// Both, neither, or the processor where the rate was low; or not the same of all disks.
    NoReason,
}

/// Who answers for the disks of all targets, seen from the processors where a thread ran.
pub fn answers(case: &Case<'_>, Moved { low, otherwise, .. }: Moved) -> Answers {
    let views = case.views();
    // One disk can be below several targets.
    let disks: BTreeMap<&str, &Layer> = views
        .iter()
        .flat_map(View::lowest)
        .filter(|layer| !layer.hardware_queues.is_empty())
        .map(|layer| (layer.name.as_str(), layer))
        .collect();
    let mut names = Vec::new();
    for (name, disk) in &disks {
        let by = |cpu: u32| disk.hardware_queues.iter().find_map(|queue| queue.is_answered_by(cpu));
        match (by(low), by(otherwise)) {
            (Some(false), Some(true)) => names.push(*name),
            (Some(_), Some(_)) => return Answers::NoReason,
            _ => return Answers::Unknown,
        }
    }
    if names.is_empty() { Answers::Unknown } else { Answers::NotLow { disks: disks_in_words(&names) } }
}

/// `None` when threads were bound, or most of them did not move with the rate.
pub fn moved(case: &Case<'_>, low: &[Stretch]) -> Option<Moved> {
    let seen = case.measured.evidence.processors.as_ref().filter(|seen| seen.interval_ns > 0)?;
    let interval_s = seen.interval_ns as f64 / 1e9;
    let is_low = |at: usize| {
        let from_s = at as f64 * interval_s;
        let inside =
            low.iter().map(|of| (of.from_s + of.for_s).min(from_s + interval_s) - of.from_s.max(from_s));
        inside.map(|seconds| seconds.max(0.0)).sum::<f64>() >= INSIDE * interval_s
    };
    let moves = seen.threads.iter().filter_map(|thread| between(&thread.processors, is_low));
    let moves: Vec<(u32, u32)> = moves.collect();
    let &(low, otherwise) = moves.first()?;
    let of = seen.threads.len();
    (2 * moves.len() > of).then_some(Moved { threads: moves.len(), of, low, otherwise })
}

/// Where one thread mostly ran in the low times and in the others, when these differ.
fn between(processors: &[u32], is_low: impl Fn(usize) -> bool) -> Option<(u32, u32)> {
    let (mut low, mut others) = (BTreeMap::new(), BTreeMap::new());
    for (at, processor) in processors.iter().enumerate() {
        let side = if is_low(at) { &mut low } else { &mut others };
        *side.entry(*processor).or_insert(0usize) += 1;
    }
    let (low_all, others_all) = (low.values().sum::<usize>(), others.values().sum::<usize>());
    if low_all.min(others_all) < INTERVALS_MIN {
        return None;
    }
    let share = |of: &BTreeMap<u32, usize>, all: usize, processor: &u32| {
        ratio(of.get(processor).copied().unwrap_or(0) as f64, all as f64)
    };
    let more = |processor: &u32| share(&low, low_all, processor) - share(&others, others_all, processor);
    let distance: f64 = low.keys().map(|processor| more(processor).max(0.0)).sum();
    let mostly = |of: &BTreeMap<u32, usize>| of.iter().max_by_key(|(_, count)| **count).map(|(p, _)| *p);
    let (low, otherwise) = (mostly(&low)?, mostly(&others)?);
    (distance >= MOVED && low != otherwise).then_some((low, otherwise))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moved_when_the_low_times_were_elsewhere() {
        let low = |at: usize| (4..8).contains(&at);
        assert_eq!(between(&[0, 0, 0, 0, 1, 1, 1, 1, 0, 0], low), Some((1, 0)));
        assert_eq!(between(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1], low), None, "to and fro all the time");
        assert_eq!(between(&[0; 10], low), None, "always the same");
        assert_eq!(between(&[0, 0, 0, 0, 1, 1, 1, 0, 0, 0], low), Some((1, 0)), "nearly");
        assert_eq!(between(&[0, 0, 0, 0, 1], low), None, "one interval");
        assert_eq!(between(&[], low), None);
    }
}

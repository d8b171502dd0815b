//! Rounds of a run that measures until it is steady (`--until-steady`).
//!
//! The threads measure on without a break, and each keeps what it counted in the last rounds. When the rounds of a
//! window are steady, the run ends, and the result is what was counted in them and nothing else.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::profile::{SteadyRule, TimeSpan};
use crate::result::Round;

/// Rounds that threads keep beside those of a window: the one that goes on, and one that a thread may be late to end.
pub const KEPT_BESIDE: u32 = 2;

const NS_PER_S: u64 = 1_000_000_000;

/// How a measured time is divided into rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundLengths {
    pub each_ns: u64,
    pub rule: SteadyRule,
}

impl RoundLengths {
    /// Those of a time span; none without `--until-steady`.
    pub fn of(span: &TimeSpan) -> Option<Self> {
        let each_ns = u64::from(span.duration_s) * NS_PER_S;
        span.until_steady.map(|rule| RoundLengths { each_ns, rule })
    }

    /// Measured time of the result.
    pub fn window_ns(&self) -> u64 {
        self.each_ns.saturating_mul(u64::from(self.rule.window))
    }

    /// The longest of some whole seconds, up to `wanted_ns`, of which a round is made; a second or less as it is.
    pub fn dividing(&self, wanted_ns: u64) -> u64 {
        let mut longest_ns = wanted_ns;
        while longest_ns > NS_PER_S && !self.each_ns.is_multiple_of(longest_ns) {
            longest_ns -= NS_PER_S;
        }
        longest_ns.max(NS_PER_S.min(wanted_ns))
    }
}

/// The part of the measured time that the result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cut {
    /// What was measured before it, in nanoseconds.
    pub skipped_ns: u64,
    /// Nanoseconds that are measured in it.
    pub measured_ns: u64,
}

impl Cut {
    /// All of a measured time.
    pub fn all(measured_ns: u64) -> Self {
        Cut { skipped_ns: 0, measured_ns }
    }

    /// Its end, from the start of the measured time.
    pub fn end_ns(&self) -> u64 {
        self.skipped_ns.saturating_add(self.measured_ns)
    }
}

/// What all threads counted in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundCounts {
    /// How many reads, writes and trims were completed.
    pub ios: [u64; 3],
    /// I/Os in flight times nanoseconds.
    pub in_flight_ns: u64,
}

/// A row of the board.
#[derive(Debug, Default)]
struct Row {
    ios: [AtomicU64; 3],
    in_flight_ns: AtomicU64,
    /// Threads that have ended the round.
    threads: AtomicU32,
}

/// Where threads tell what they counted in each round.
#[derive(Debug)]
pub struct Board {
    pub lengths: RoundLengths,
    threads: u32,
    /// Rounds that a thread keeps.
    kept: usize,
    rows: Vec<Row>,
}

impl Board {
    /// For so many threads. Where they run one after the other (`in_turns`), each keeps all its rounds: which are
    /// steady is known when the last one has ended.
    pub fn new(lengths: RoundLengths, threads: usize, in_turns: bool) -> Self {
        let SteadyRule { window, rounds, .. } = lengths.rule;
        let kept = if in_turns { rounds + KEPT_BESIDE } else { window + KEPT_BESIDE };
        let rows = std::iter::repeat_with(Row::default).take(rounds as usize).collect();
        Board { lengths, threads: threads as u32, kept: kept as usize, rows }
    }

    pub fn each_ns(&self) -> u64 {
        self.lengths.each_ns
    }

    pub fn kept(&self) -> usize {
        self.kept
    }

    /// A thread has ended a round.
    pub fn tell(&self, round: u32, counts: &RoundCounts) {
        let Some(row) = self.rows.get(round as usize) else { return };
        for (sum, ios) in row.ios.iter().zip(counts.ios) {
            sum.fetch_add(ios, Ordering::Relaxed);
        }
        row.in_flight_ns.fetch_add(counts.in_flight_ns, Ordering::Relaxed);
        row.threads.fetch_add(1, Ordering::Release);
    }

    /// What all threads counted in a round; none before the last of them has ended it.
    pub fn round(&self, round: usize) -> Option<Round> {
        let row = self.rows.get(round)?;
        if row.threads.load(Ordering::Acquire) < self.threads {
            return None;
        }
        let ios = row.ios.each_ref().map(|ios| ios.load(Ordering::Relaxed) as f64);
        let all: f64 = ios.iter().sum();
        let in_flight_ns = row.in_flight_ns.load(Ordering::Relaxed) as f64;
        let latency_mean_ns = if all > 0.0 { in_flight_ns / all } else { 0.0 };
        let seconds = self.lengths.each_ns as f64 / NS_PER_S as f64;
        let [read_iops, write_iops, trim_iops] = ios.map(|ios| ios / seconds);
        Some(Round { read_iops, write_iops, trim_iops, latency_mean_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_made_of_whole_parts() {
        let of = |round_s: u64| RoundLengths { each_ns: round_s * NS_PER_S, rule: SteadyRule::default() };
        for (round_s, wanted_ns, expected_ns) in [
            (60, 2 * NS_PER_S, 2 * NS_PER_S),
            (61, 2 * NS_PER_S, NS_PER_S),
            (9, 5 * NS_PER_S, 3 * NS_PER_S),
            (1, NS_PER_S / 10, NS_PER_S / 10),
            (7, NS_PER_S, NS_PER_S),
        ] {
            assert_eq!(of(round_s).dividing(wanted_ns), expected_ns, "{round_s} s, {wanted_ns} ns");
        }
    }
}

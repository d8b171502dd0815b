//! The rounds of a run that measures until it is steady (`--until-steady`), and when rounds are steady.

use serde::{Deserialize, Serialize};

use crate::measure::estimate::{Excursions, excursions};
use crate::profile::SteadyRule;

/// What was measured in a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// Reads that completed per second.
    pub read_iops: f64,
    /// Writes that completed per second.
    pub write_iops: f64,
    /// Trims that completed per second (`--trim`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_iops: f64,
    /// Mean latency of all of them in nanoseconds, by Little's law: I/Os in flight divided by I/Os per second.
    pub latency_mean_ns: f64,
}

/// For a member that stands in a document only where there is something.
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Round {
    /// The rates with their names: those that are above 0.
    pub fn rates(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [(READ_IOPS, self.read_iops), (WRITE_IOPS, self.write_iops), (TRIM_IOPS, self.trim_iops)];
        all.into_iter().filter(|(_, iops)| *iops > 0.0)
    }
}

const READ_IOPS: &str = "read IOPS";
const WRITE_IOPS: &str = "write IOPS";
const TRIM_IOPS: &str = "trim IOPS";

/// The rounds of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rounds {
    /// Length of a round in seconds.
    pub round_s: f64,
    /// All rounds that were measured whole, in their order.
    pub rounds: Vec<Round>,
    /// Place of the first round of the result, from 0. The result goes on to the end of the measured time.
    pub window_first: u32,
    /// Whether the rounds of the result are steady.
    pub is_steady: bool,
}

/// A figure that is followed from round to round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tracked {
    /// In words, as in `read IOPS`.
    pub name: &'static str,
    /// How far it goes off its mean over the window.
    pub excursions: Excursions,
}

impl Tracked {
    /// Of its values over the rounds of a window.
    pub fn of(name: &'static str, values: &[f64]) -> Self {
        Tracked { name, excursions: excursions(values) }
    }

    /// Whether it keeps the limits of a rule.
    pub fn is_steady(&self, rule: &SteadyRule) -> bool {
        let Excursions { range, slope } = self.excursions;
        let [range_max, slope_max] =
            [rule.range_percent, rule.slope_percent].map(|percent| f64::from(percent) / 100.0 + EXACT);
        range <= range_max && slope.abs() <= slope_max
    }
}

/// What is at a limit keeps it: decimal fractions are not exact.
const EXACT: f64 = 1e-9;

/// Gets a figure of a round.
type FigureOf = fn(&Round) -> f64;

/// The figures of a round with their names.
const FIGURES: [(&str, FigureOf); 4] = [
    (READ_IOPS, |round| round.read_iops),
    (WRITE_IOPS, |round| round.write_iops),
    (TRIM_IOPS, |round| round.trim_iops),
    ("mean latency", |round| round.latency_mean_ns),
];

/// The values of every figure that is followed over these rounds: of reads, writes and trims those that there were;
/// none where nothing completed.
pub fn values(rounds: &[Round]) -> Vec<(&'static str, Vec<f64>)> {
    let mut all = Vec::new();
    for (name, figure) in FIGURES {
        let values: Vec<f64> = rounds.iter().map(figure).collect();
        if values.iter().any(|&value| value > 0.0) {
            all.push((name, values));
        }
    }
    all
}

/// How far each of them goes off its mean.
pub fn tracked(rounds: &[Round]) -> Vec<Tracked> {
    values(rounds).iter().map(|(name, values)| Tracked::of(name, values)).collect()
}

/// Whether these rounds, which are those of a window, are steady: every figure keeps the limits.
///
/// Source: SNIA's Performance Test Specification 2.0.2, 2.1.24.
pub fn are_steady(window: &[Round], rule: &SteadyRule) -> bool {
    let all = tracked(window);
    window.len() == rule.window as usize
        && !all.is_empty()
        && all.iter().all(|tracked| tracked.is_steady(rule))
}

impl Rounds {
    /// The rounds of the result that were measured whole.
    pub fn window(&self) -> &[Round] {
        self.rounds.get(self.window_first as usize..).unwrap_or_default()
    }

    /// What became of the figures over the window, in words.
    pub fn words(&self) -> String {
        words(&tracked(self.window()))
    }
}

/// The figures that moved most, as in `largest range 19.1 % (read IOPS), largest slope +7.3 % (write IOPS)`.
pub fn words(all: &[Tracked]) -> String {
    let range = all.iter().max_by(|a, b| a.excursions.range.total_cmp(&b.excursions.range));
    let slope = all.iter().max_by(|a, b| a.excursions.slope.abs().total_cmp(&b.excursions.slope.abs()));
    let Some((range, slope)) = range.zip(slope) else { return "nothing completed".to_string() };
    format!(
        "largest range {:.1} % ({}), largest slope {:+.1} % ({})",
        range.excursions.range * 100.0,
        range.name,
        slope.excursions.slope * 100.0,
        slope.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(iops: [f64; 5]) -> Vec<Round> {
        iops.map(|write_iops| Round { read_iops: 0.0, write_iops, trim_iops: 0.0, latency_mean_ns: 1e6 })
            .to_vec()
    }

    /// Series with known answers, of which those at the limits are computed by hand.
    #[test]
    fn rounds_are_steady_by_both_limits() {
        let rule = SteadyRule::default();
        for (series, expected) in [
            ([100.0; 5], true),
            // Range 20 % of the mean 100, no slope: (90, 100, 110, 100, 100) has slope 2 x 1 ...
            ([100.0, 90.0, 100.0, 110.0, 100.0], true),
            // ... and 21 % is too much.
            ([100.0, 89.0, 100.0, 110.0, 101.0], false),
            // A line of 2.5 a round: 10 % over the window.
            ([95.0, 97.5, 100.0, 102.5, 105.0], true),
            // Of 2.6 a round, although the range is 10.4 %.
            ([94.8, 97.4, 100.0, 102.6, 105.2], false),
            ([105.2, 102.6, 100.0, 97.4, 94.8], false),
            // 20 % up and down from the mean is what others take for SNIA's limit.
            ([82.0, 118.0, 100.0, 82.0, 118.0], false),
        ] {
            assert_eq!(are_steady(&writes(series), &rule), expected, "{series:?}");
        }
    }

    #[test]
    fn every_figure_counts_and_all_rounds_of_the_window_are_needed() {
        let rule = SteadyRule::default();
        let mut rounds = writes([100.0; 5]);
        assert!(!are_steady(&rounds[1..], &rule), "four rounds");
        rounds[4].latency_mean_ns *= 1.5;
        assert!(!are_steady(&rounds, &rule), "the latency is not");
        let nothing = Round { read_iops: 0.0, write_iops: 0.0, trim_iops: 0.0, latency_mean_ns: 0.0 };
        assert!(!are_steady(&[nothing; 5], &rule), "what does nothing is not steady");
        assert_eq!(words(&tracked(&[nothing; 5])), "nothing completed");
    }

    #[test]
    fn the_figure_that_moved_most_is_told() {
        let mut rounds = writes([80.0, 97.5, 100.0, 102.5, 105.0]);
        for round in &mut rounds {
            round.latency_mean_ns = 32e9 / round.write_iops;
        }
        let told = words(&tracked(&rounds));
        assert_eq!(told, "largest range 28.6 % (mean latency), largest slope -24.8 % (mean latency)");
    }
}

//! Until when a run measures: in rounds, until the last ones are steady (`--until-steady`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// When the rounds of a run are steady. A round takes the time of `-d`; the last rounds together are the result.
///
/// Source: SNIA's Performance Test Specification 2.0.2, 2.1.24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyRule {
    /// Rounds that must be steady together.
    pub window: u32,
    /// Rounds after which the run ends in any case.
    pub rounds: u32,
    /// How far the largest figure of the window may be above the smallest, in percent of their mean.
    pub range_percent: u32,
    /// How much the best straight line may change over the window, in percent of the mean.
    pub slope_percent: u32,
}

/// The numbers of SNIA's specification.
impl Default for SteadyRule {
    fn default() -> Self {
        SteadyRule { window: 5, rounds: 25, range_percent: 20, slope_percent: 10 }
    }
}

/// Most rounds of a run: each thread has a table for the latencies of each.
pub const ROUNDS_MAX: u32 = 1000;
/// Fewer rounds than this show no trend.
pub const WINDOW_MIN: u32 = 3;

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SteadyRuleError {
    /// A part that is no name with a number.
    #[error("'{0}' is none of window=<n>, rounds=<n>, range=<percent>, slope=<percent>")]
    Part(String),
    /// A name that stands twice.
    #[error("'{0}' stands twice")]
    Twice(String),
    /// Too few rounds in the window: [`WINDOW_MIN`].
    #[error("the window has {0} rounds: it needs {WINDOW_MIN} at least")]
    Window(u32),
    /// More rounds in the window than there may be, or more than [`ROUNDS_MAX`].
    #[error(
        "there are {rounds} rounds at most: it must be from {window}, the rounds of the window, to {ROUNDS_MAX}"
    )]
    Rounds {
        #[allow(missing_docs)]
        window: u32,
        #[allow(missing_docs)]
        rounds: u32,
    },
    /// A limit that nothing meets, or everything.
    #[error("the limit of the {name} is {percent} %: it must be from 1 to 100")]
    Percent {
        #[allow(missing_docs)]
        name: &'static str,
        #[allow(missing_docs)]
        percent: u32,
    },
}

impl SteadyRule {
    /// Reads parts of what its `Display` writes: `rounds=50,range=10`. What is left out is SNIA's.
    ///
    /// # Errors
    /// [`SteadyRuleError`]
    pub fn read(text: &str) -> Result<Self, SteadyRuleError> {
        let mut rule = SteadyRule::default();
        let mut seen = Vec::new();
        for part in text.split(',') {
            let unknown = || SteadyRuleError::Part(part.to_string());
            let (name, number) = part.split_once('=').ok_or_else(unknown)?;
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(unknown());
            }
            let place = match name {
                "window" => &mut rule.window,
                "rounds" => &mut rule.rounds,
                "range" => &mut rule.range_percent,
                "slope" => &mut rule.slope_percent,
                _ => return Err(unknown()),
            };
            *place = number.parse().map_err(|_| unknown())?;
            if seen.contains(&name) {
                return Err(SteadyRuleError::Twice(name.to_string()));
            }
            seen.push(name);
        }
        rule.check()?;
        Ok(rule)
    }

    /// Whether something can meet it.
    ///
    /// # Errors
    /// [`SteadyRuleError`], but for those of a text.
    pub fn check(&self) -> Result<(), SteadyRuleError> {
        let SteadyRule { window, rounds, range_percent, slope_percent } = *self;
        if window < WINDOW_MIN {
            return Err(SteadyRuleError::Window(window));
        }
        if rounds < window || rounds > ROUNDS_MAX {
            return Err(SteadyRuleError::Rounds { window, rounds });
        }
        for (name, percent) in [("range", range_percent), ("slope", slope_percent)] {
            if !(1..=100).contains(&percent) {
                return Err(SteadyRuleError::Percent { name, percent });
            }
        }
        Ok(())
    }
}

impl fmt::Display for SteadyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SteadyRule { window, rounds, range_percent, slope_percent } = self;
        write!(f, "window={window},rounds={rounds},range={range_percent},slope={slope_percent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_as_snia_has_it() {
        let snia = SteadyRule { window: 5, rounds: 25, range_percent: 20, slope_percent: 10 };
        assert_eq!(SteadyRule::default(), snia);
        assert_eq!(
            SteadyRule::read("rounds=50,range=5"),
            Ok(SteadyRule { rounds: 50, range_percent: 5, ..snia })
        );
        assert_eq!(SteadyRule::read(&snia.to_string()), Ok(snia));
    }

    #[test]
    fn what_nothing_can_meet_is_no_rule() {
        for text in
            ["", "rounds", "rounds=", "rounds=+5", "rounds=5x", "ronds=5", "rounds=5,", "rounds=99999999999"]
        {
            assert!(matches!(SteadyRule::read(text), Err(SteadyRuleError::Part(_))), "{text}");
        }
        for text in
            ["window=2", "rounds=4", "rounds=1001", "window=26", "range=0", "slope=101", "range=5,range=5"]
        {
            assert!(SteadyRule::read(text).is_err(), "{text}");
        }
    }
}

//! From how many I/Os on a rule speaks: rates, shares and means of fewer say nothing yet.

use super::view::{Flow, View, Way};
use super::{Case, Missing};
use crate::text::number;

/// What is in flight at the ends of the measured time, and what a file system adds to it, is no more than a
/// few hundredths of so many I/Os.
pub const IOS_MIN: f64 = 100.0;
/// So many are enough when they are large: ...
const LARGE_IOS_MIN: f64 = 10.0;
/// ... when they complete so many bytes together, beside which a file system's own I/O is nothing.
const LARGE_BYTES: f64 = (64 << 20) as f64;
/// A large I/O is moved in parts, so what is in flight at the ends has moved in part only.
pub const TIMES_IN_FLIGHT: f64 = 2.0;

impl Missing {
    /// Too few I/Os to judge: those that were counted, in words, and how many it takes.
    pub fn too_few(counted: &str, least: f64) -> Self {
        Missing(format!("too few I/Os: {counted}, it takes {}", number(least)))
    }
}

/// I/Os of one direction, and how many it takes to compare them with counters.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// Their direction.
    pub way: Way,
    /// How many completed.
    pub ios: f64,
    /// How many it takes.
    pub least: f64,
}

impl Count {
    /// Those that completed on some targets.
    pub fn of(case: &Case<'_>, targets: &[View<'_>], way: Way) -> Self {
        let done = targets.iter().map(|target| target.done(way)).fold(Flow::default(), Flow::plus);
        let is_large = done.bytes * case.seconds() >= LARGE_BYTES;
        let large = LARGE_IOS_MIN.max(TIMES_IN_FLIGHT * case.in_flight(targets));
        let least = if is_large { large.min(IOS_MIN) } else { IOS_MIN };
        Count { way, ios: (done.ios * case.seconds()).round(), least }
    }

    /// Whether they are some, but too few.
    pub fn is_too_few(self) -> bool {
        self.ios > 0.0 && self.ios < self.least
    }

    /// `2 reads`.
    pub fn words(self) -> String {
        let word = if self.ios == 1.0 { self.way.word() } else { self.way.plural() };
        format!("{} {word}", number(self.ios))
    }

    /// What a rule lacks that compares them; `None` when they are enough, or none.
    pub fn missing(self) -> Option<Missing> {
        self.is_too_few().then(|| Missing::too_few(&self.words(), self.least))
    }
}

/// What a rule lacks that looks at the rate of the whole run; `None` when its I/Os are enough, or none.
pub fn of_run(case: &Case<'_>) -> Option<Missing> {
    let ios = case.completed_ios();
    (ios > 0.0 && ios < IOS_MIN).then(|| Missing::too_few(&number(ios), IOS_MIN))
}

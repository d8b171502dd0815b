//! Numbers without meaning: clock, histogram, intervals, processor counters.

pub mod clock;
pub mod histogram;
pub mod intervals;

pub use clock::{Clock, MachineClock};
pub use histogram::Histogram;
pub use intervals::Intervals;

//! Numbers without meaning: clock, histogram, intervals, processor counters.

pub mod histogram;
pub mod intervals;

pub use histogram::Histogram;
pub use intervals::Intervals;

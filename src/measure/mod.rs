//! Numbers without meaning: clock, histogram, intervals, processor counters.

pub mod clock;
pub mod cpu;
mod decimal;
pub mod histogram;
pub mod intervals;
pub mod process;
pub mod repeat;

pub use clock::{Clock, MachineClock};
pub use histogram::Histogram;
pub use intervals::Intervals;

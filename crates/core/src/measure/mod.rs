//! Numbers without meaning: clock, histogram, intervals, latencies over time, processor counters, and how
//! uncertain a mean is.

pub mod clock;
pub mod cpu;
pub mod estimate;
pub mod histogram;
pub mod intervals;
pub mod slices;

pub use clock::{Clock, MachineClock};
pub use histogram::Histogram;
pub use intervals::Intervals;
pub use slices::LatencySlices;

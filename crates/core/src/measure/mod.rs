//! Numbers without meaning: clock, histogram, intervals, latencies over time, processor counters, and how
//! uncertain a mean is.
//!
//! ```
//! use truespd_core::measure::estimate::Estimate;
//! use truespd_core::measure::Histogram;
//!
//! let mut latencies = Histogram::new();
//! for microseconds in 1..=100 {
//!     latencies.record(microseconds * 1000);
//! }
//! assert_eq!((latencies.min_ns(), latencies.max_ns()), (1_000, 100_000));
//! // Percentiles are true to 0.05 %; mean and deviation are exact.
//! let p99 = latencies.percentile_ns(0.99) as f64;
//! assert!((p99 / 99_000.0 - 1.0).abs() < 0.0005);
//! assert_eq!(latencies.mean_ns(), 50_500.0);
//!
//! // How well the mean of three rounds is known, in 95 of 100 such measurements.
//! let rounds = Estimate::of(&[101.0, 99.0, 100.0]).expect("more than one");
//! let (low, high) = rounds.interval(0.05);
//! assert!(low < 98.0 && high > 102.0);
//! ```

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

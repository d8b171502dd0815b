//! `truespd mark`: CrystalDiskMark's tests, in its order, by its rule for the result, and what that rule hides.
//!
//! What is CrystalDiskMark's: tests, presets and profiles; all reads, then all writes, then all mixed tests;
//! a pause between tests; of each test one run that is discarded and some that count; the largest rate and,
//! apart from it, the smallest mean latency of those. What is better here: random data are random over the
//! whole file, every loop of a random test goes to other places (a sequential one has one way only), threads
//! that go through the file together share one position, median and spread stand beside the best, and every
//! run has its verdict.

mod report;
mod saved;
mod table;
mod test;
#[cfg(test)]
mod tests;

pub use report::*;
pub use saved::{Reader, text};
pub use test::{NoTest, Operation, Pattern, Planned, Preset, Profile, Settings, Target, Test};

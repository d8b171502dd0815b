//! Thresholds of the verdict's rules of the same names; a test keeps them equal (`tests/all/machine/doctor.rs`).

/// Bytes per second of others on a disk.
pub const FOREIGN_BYTES_PER_S: f64 = 100.0 * 1024.0;
/// Share of the time that some task waited for memory.
pub const MEMORY_SOME: f64 = 0.05;
/// And that all of them did.
pub const MEMORY_FULL: f64 = 0.01;
/// Stolen processor time in percent that is worth a word.
pub const STEAL_REMARK: f64 = 2.0;
/// And from which on a result is suspect.
pub const STEAL_SUSPECT: f64 = 5.0;
/// Share of the time that tasks waited for a processor.
pub const WAITING: f64 = 0.10;

//! What happened when, while the time was measured: what a rate that changes can be held against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Limit;

/// A clock inside the program that should tick evenly. It is late when the whole program was stopped, when the machine
/// was, or when the thread that looks at it had no processor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ticks {
    /// Time from tick to tick in nanoseconds.
    pub every_ns: u64,
    /// Ticks that came late, in order; the least late of them are left out where there are very many.
    pub late: Vec<LateTick>,
}

/// A tick that came late. The program was seen to run one tick before it was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LateTick {
    /// When it was due, in nanoseconds since the measured time began.
    pub due_ns: u64,
    /// How late it was, as far as that was measured time, in nanoseconds.
    pub late_ns: u64,
    /// For how long the thread that looks was ready to run meanwhile and had no processor, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for_cpu_ns: Option<u64>,
}

/// Completions, reads and writes together, in intervals shorter than those of the series of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FineSeries {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Completions in each interval; whole intervals only.
    pub completed: Vec<u64>,
}

/// For how long the threads of the test had no processor, over time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessorWaits {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Times of all threads added up, per interval, in nanoseconds.
    pub waiting_ns: Vec<u64>,
    /// Processor time that other virtual machines on the host took (steal), of all processors, per interval, in
    /// nanoseconds; none when nobody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stolen_ns: Vec<u64>,
}

/// On which processors the threads ran that were not bound to one, over time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Processors {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// One entry for each such thread.
    pub threads: Vec<ThreadProcessors>,
}

/// On which processors one thread ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadProcessors {
    /// Thread number, as in the result.
    pub id: u32,
    /// Number of the processor on which it was seen most often in each interval; whole intervals only.
    pub processors: Vec<u32>,
}

/// Limits were changed while the time was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitChange {
    /// When that was seen, in nanoseconds since the measured time began; it happened in the interval before.
    pub seen_ns: u64,
    /// How long before that the limits had been looked at, in nanoseconds.
    pub within_ns: u64,
    /// Limits that were no longer in force.
    pub gone: Vec<Limit>,
    /// Limits that were in force from then on.
    pub new: Vec<Limit>,
}

//! What the program itself costs per I/O on the machine of the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the program itself costs on this machine, measured for a few milliseconds before the threads start and
/// without storage. Each figure is the lowest of several rounds, since what disturbs only adds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SelfCost {
    /// One stamp of the run's clock, in nanoseconds.
    pub stamp_ns: f64,
    /// Recording one latency (`-L`), in nanoseconds.
    pub record_ns: f64,
    /// Making random data for writes (`-Zr`), in nanoseconds per KiB; none where the run makes none.
    pub fill_ns_per_kib: Option<f64>,
    /// Generating I/O, for each kind of thread.
    pub loads: Vec<LoadCost>,
}

/// What generating the I/O of a thread costs: its own loop with its own patterns, depth, data and statistics, and the
/// engine that finishes every I/O at once. Rate limits are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadCost {
    /// Numbers of the threads with this load.
    pub threads: Vec<u32>,
    /// Processor time per I/O in nanoseconds, data of writes included.
    pub generator_ns: f64,
    /// Of that, random data (`-Zr`), as a mean over reads and writes.
    pub fill_ns: f64,
}

impl SelfCost {
    /// The load of a thread.
    pub fn of_thread(&self, id: u32) -> Option<&LoadCost> {
        self.loads.iter().find(|load| load.threads.contains(&id))
    }
}

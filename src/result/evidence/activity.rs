//! What the machine did while the tool measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::machine::diskstat::DiskCounts;
pub use crate::machine::limits::LimitKind;

/// What the block layer counted for one disk over the measured time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiskActivity {
    /// Kernel name, as in [`super::Layer::name`].
    pub name: String,
    /// Time between the first and the last reading in nanoseconds.
    pub window_ns: u64,
    /// From the first to the last reading.
    pub total: DiskCounts,
    /// Length of an interval in nanoseconds; 0 without a series.
    pub interval_ns: u64,
    /// The same per interval, in order.
    pub intervals: Vec<DiskCounts>,
}

impl DiskActivity {
    /// Bytes per second that were read and written.
    pub fn bytes_per_s(&self) -> [f64; 2] {
        let seconds = self.window_ns.max(1) as f64 / 1e9;
        [self.total.read_bytes, self.total.write_bytes].map(|bytes| bytes as f64 / seconds)
    }

    /// Nothing was read or written.
    pub fn is_idle(&self) -> bool {
        self.bytes_per_s() == [0.0, 0.0]
    }
}

/// What the rest of the machine did over the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostActivity {
    /// Share of processor time that other machines on this host took, in percent.
    pub steal_percent: Option<f64>,
    /// The same of the processor that lost most, in percent of its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_worst_percent: Option<f64>,
    /// Stalls by the kernel's account (PSI).
    pub pressure: Option<Pressure>,
    /// Pages read from swap.
    pub swap_in_pages: Option<u64>,
    /// Pages written to swap.
    pub swap_out_pages: Option<u64>,
    /// Memory available at the start of the measured time, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Frequency governors in use, each once.
    pub governors: Vec<String>,
    /// Time during which the cgroup's processor quota held its threads, in nanoseconds.
    pub cpu_throttled_ns: Option<u64>,
    /// Bytes that this process sent to disks or had read from them, by the kernel's account of tasks.
    pub own_disk_read_bytes: Option<u64>,
    /// Likewise written.
    pub own_disk_write_bytes: Option<u64>,
}

/// Stalls over the measured time, in nanoseconds (the kernel's `Documentation/accounting/psi.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pressure {
    /// Some task waited for a processor.
    pub cpu_some_ns: u64,
    /// Some task waited for I/O.
    pub io_some_ns: u64,
    /// All tasks that could run waited for I/O.
    pub io_full_ns: u64,
    /// Some task waited for memory.
    pub memory_some_ns: u64,
    /// All tasks that could run waited for memory.
    pub memory_full_ns: u64,
}

/// Processor time of one thread of the tool over its whole life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadCost {
    /// Thread number, as in the result.
    pub id: u32,
    /// Processor it was bound to.
    pub cpu: Option<u32>,
    /// Time by the clock from its start signal to its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// Time on a processor, in nanoseconds.
    pub running_ns: u64,
    /// Time it was ready to run and had no processor, in nanoseconds.
    pub waiting_for_cpu_ns: Option<u64>,
}

/// Completions of the whole run per interval of the measured time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Series")]
pub struct Timeline {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Reads completed in each interval; whole intervals only.
    pub reads: Vec<u64>,
    /// Writes completed in each interval.
    pub writes: Vec<u64>,
}

/// I/Os in flight, on average over the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueDepth {
    /// Asked for.
    pub asked: u64,
    /// Reached.
    pub reached: f64,
    /// Whether it is IOPS times mean latency; otherwise I/Os handed over and not yet returned.
    pub from_latency: bool,
}

/// A limit that the administrator or the container runtime put on this process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limit {
    /// Who keeps it: `io.max`, `blkio.throttle`, `cpu.max`, `cpu.cfs_quota_us`, `memory.max`, ...
    pub by: String,
    /// The cgroup that carries it.
    pub group: String,
    /// Kernel name of the disk it is for.
    pub device: Option<String>,
    /// What is limited.
    pub what: LimitKind,
    /// How much, in the unit of `what`.
    pub value: u64,
}

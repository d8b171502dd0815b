//! Evidence of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::result::rank::CommonStart;

use super::WriteCache;
use super::{
    BoundThread, ContentSample, DiskActivity, ExtentMap, FineSeries, HostActivity, Layer, Limit, LimitChange,
    LoopCache, Loss, Outstanding, ProcessorWaits, Processors, QueueDepth, Residency, SelfCost, ServedMount,
    ServingProgram, ThreadCost, Ticks, Timeline, WayChange,
};

/// What the numbers of a time span rest on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// The measured time by the wall clock; none for simulated time.
    pub window: Option<Window>,
    /// How it started together with the other ranks of a cluster run; none for a run of one process, and for a sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_start: Option<CommonStart>,
    /// The clock of all stamps.
    pub clock: Option<ClockFacts>,
    /// The targets as opened, in the profile's order.
    pub targets: Vec<TargetFacts>,
    /// What the tool itself used from the start of its threads to the last one's end.
    pub own_cost: Option<OwnCost>,
    /// I/Os in flight on average.
    pub queue_depth: Option<QueueDepth>,
    /// I/Os that the end of the measured time found out, and that were out for a second or more in all, by target; none
    /// when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<Vec<Outstanding>>,
    /// Completions over time.
    pub series: Option<Timeline>,
    /// The same in shorter intervals; none where those of the series are short already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fine_series: Option<FineSeries>,
    /// Whether the program ran all the time; none when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticks: Option<Ticks>,
    /// The lowest devices under the targets, each once, with what they did.
    pub disks: Vec<DiskActivity>,
    /// Devices right under the targets that stand on others (a loop device, a logical volume), each once: they
    /// show what was merged before it went further down. None of them is in `disks`.
    pub upper_disks: Vec<DiskActivity>,
    /// The mounts of file servers under the targets, each once, with what their clients counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub served_mounts: Vec<ServedMount>,
    /// The programs that serve targets (FUSE), each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ServingProgram>,
    /// The whole disks of this machine, where a program serves a target: any of them may be what it uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside_disks: Vec<DiskActivity>,
    /// The rest of the machine.
    pub host: Option<HostActivity>,
    /// Processor time of each thread.
    pub threads: Vec<ThreadCost>,
    /// For how long these threads had no processor, over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_waits: Option<ProcessorWaits>,
    /// On which processors the threads ran that were not bound to one (`-n`), over time; none when all were
    /// bound, or when more than 64 were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<Processors>,
    /// Where the threads that are bound to processors lie, and their buffers, on machines with several memory nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bound_threads: Vec<BoundThread>,
    /// Limits in force at the end for this process on the devices under the targets, its processors and memory.
    pub limits: Vec<Limit>,
    /// Changes of these limits over the measured time, in order; none when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_changes: Option<Vec<LimitChange>>,
    /// Changes of the paths to devices under the targets and of the copies that DRBD keeps of them, in order; none when
    /// nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way_changes: Option<Vec<WayChange>>,
    /// What the program itself costs on this machine; none for simulated time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_cost: Option<SelfCost>,
}

/// A stretch of wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Begin, nanoseconds since 1970 UTC.
    pub start_unix_ns: u64,
    /// End, nanoseconds since 1970 UTC.
    pub end_unix_ns: u64,
}

impl Window {
    /// Length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_unix_ns.saturating_sub(self.start_unix_ns)
    }

    /// What both share; `None` when they do not touch.
    pub fn common(self, other: Window) -> Option<Window> {
        let start_unix_ns = self.start_unix_ns.max(other.start_unix_ns);
        let end_unix_ns = self.end_unix_ns.min(other.end_unix_ns);
        (start_unix_ns < end_unix_ns).then_some(Window { start_unix_ns, end_unix_ns })
    }
}

/// The clock of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockFacts {
    /// `TSC`, `CNTVCT`, `CLOCK_MONOTONIC`, or `virtual` for simulated time.
    pub name: String,
    /// Cost of one stamp in nanoseconds.
    pub stamp_cost_ns: f64,
    /// Why it is not the processor's counter, in words.
    pub why_not_counter: Option<String>,
    /// How much faster than `CLOCK_MONOTONIC` it ran, in parts per million.
    pub drift_ppm: f64,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenedKind {
    /// A regular file.
    File,
    /// A disk, a partition or another block device.
    BlockDevice,
    /// The document does not tell.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

/// A target as opened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TargetFacts {
    /// Path as given.
    pub path: String,
    /// Path opened.
    pub opened_path: String,
    /// What was opened.
    pub kind: OpenedKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// The kernel's name of the device, for a file that of the device below its filesystem.
    pub device_name: Option<String>,
    /// Logical sector size of that device in bytes.
    pub sector_logical_bytes: Option<u32>,
    /// Physical sector size of that device in bytes.
    pub sector_physical_bytes: Option<u32>,
    /// What direct I/O must be aligned to on the target, in bytes.
    pub direct_alignment_bytes: Option<u64>,
    /// Type of the filesystem.
    pub filesystem: Option<String>,
    /// What is mounted there.
    pub mount_source: Option<String>,
    /// Where it is mounted.
    pub mount_point: Option<String>,
    /// Options of the mount and of its filesystem, as the kernel lists them.
    pub mount_options: Option<String>,
    /// Scheduler of the device.
    pub scheduler: Option<String>,
    /// Cache of the device as the kernel drives it: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// How NVMe commands reached it past the block layer; none for other I/O. Everything else here is told of the block
    /// device that is the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvme_commands: Option<NvmeCommands>,
    /// The target itself, then everything below it.
    pub layers: Vec<Layer>,
    /// Layout of the tested range of a file.
    pub extents: Option<ExtentMap>,
    /// Page cache of the tested range.
    pub residency: Option<Residency>,
    /// Page cache of what the loop devices below it stand on, of those without direct I/O.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loop_caches: Vec<LoopCache>,
    /// What the tested range held before a run that reads it.
    pub content: Option<ContentSample>,
    /// What a run that writes put there.
    pub written: Option<ContentSample>,
    /// What others did to it during the time span; `null` when that was not looked at.
    pub losses: Option<Vec<Loss>>,
    /// Other runs of this program that had the target when the time span began or when it ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_runs: Vec<OtherRun>,
}

/// A namespace that took NVMe commands by its character device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NvmeCommands {
    /// Path of the character device.
    pub device: String,
    /// Longest transfer of one command in bytes, when the kernel tells.
    pub transfer_bytes_max: Option<u64>,
    /// The counters of the disk hold these commands (`queue/iostats_passthrough`).
    pub counted: bool,
}

/// Another run of this program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OtherRun {
    /// Number of its process; none when it was not visible.
    pub process: Option<u32>,
    /// Its command line as it would be typed.
    pub command_line: Option<String>,
    /// It wrote the target; otherwise it only read.
    pub writes: bool,
}

impl TargetFacts {
    /// The layers with nothing below them.
    pub fn lowest(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|l| l.is_lowest())
    }

    /// Whether the device below acknowledges writes from a volatile cache; `None` when the kernel does not tell.
    pub fn has_volatile_cache(&self) -> Option<bool> {
        self.write_cache.as_deref().map(|word| WriteCache::of(word) == WriteCache::Volatile)
    }
}

/// What the tool itself used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OwnCost {
    /// Processor time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// Processor time in kernel mode, in nanoseconds.
    pub system_ns: u64,
    /// Largest resident memory so far, in bytes.
    pub resident_bytes_max: u64,
    /// Page faults that needed no I/O.
    pub faults_minor: u64,
    /// Page faults that needed I/O.
    pub faults_major: u64,
    /// Times a thread gave up its processor to wait.
    pub switches_voluntary: u64,
    /// Times a thread lost its processor to another.
    pub switches_involuntary: u64,
}

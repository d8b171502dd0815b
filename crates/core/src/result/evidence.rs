//! Evidence of a time span: its clock and window, its targets and what they held, its threads, and what the tool cost.

use super::CommonStart;
use super::{
    CacheActivity, DiskActivity, Drive, FineSeries, Held, HostActivity, Layer, LayerKind, Limit, LimitChange,
    Outstanding, ProcessorWaits, Processors, QueueDepth, ServedMount, ServingProgram, ThreadCost, Ticks,
    Timeline, WayChange, WriteCache,
};
use serde::{Deserialize, Serialize};
use truespd_platform::machine::thing::Thing;
use truespd_platform::text::{bytes, printable};

/// What the numbers of a time span rest on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The drives under the targets, each once, with what they said of themselves before the first I/O and after the
    /// last; empty where the targets stand on none, none when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drives: Option<Vec<Drive>>,
    /// Devices right under the targets that stand on others (a loop device, a logical volume), each once: they
    /// show what was merged before it went further down. None of them is in `disks`.
    pub upper_disks: Vec<DiskActivity>,
    /// The caches of fast disks before slow ones under the targets, each once; none when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<Vec<CacheActivity>>,
    /// The mounts of file servers under the targets, each once, with what their clients counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub served_mounts: Vec<ServedMount>,
    /// The programs that serve targets (FUSE), each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ServingProgram>,
    /// The whole disks of this machine, where a program serves a target: any of them may be what it uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside_disks: Vec<DiskActivity>,
    /// All block devices of this kernel that have a size, where the layers of a target end above its disks, as in a
    /// container: one of them holds it. None where nobody looked, or where the kernel's list is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_devices: Option<Vec<KernelDevice>>,
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
    /// Changes of the paths to devices under the targets, of the copies that DRBD keeps of them, and of arrays, in
    /// order; none when nobody looked, and without those of arrays where `caches` is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way_changes: Option<Vec<WayChange>>,
    /// Frozen file systems and suspended devices, each once; none when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Vec<Held>>,
    /// What the program itself costs on this machine; none for simulated time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_cost: Option<SelfCost>,
}

/// A block device of this kernel, as it lists them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KernelDevice {
    /// The kernel's name, also that of a partition.
    pub name: String,
    /// Its size in bytes, a multiple of 1024.
    pub size_bytes: u64,
    /// It is in use as swap, so that no file lies on it.
    pub is_swap: bool,
}

/// A stretch of wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// By what it is recognised later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Thing>,
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
    /// Parts of the tested range with the share of the I/O that each gets, where it is not even (`-rd`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RangePart>,
    /// Page cache of the tested range.
    pub residency: Option<Residency>,
    /// Page cache of what the loop devices below it stand on, of those without direct I/O.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loop_caches: Vec<LoopCache>,
    /// Layers below it that give room to what is written only on the first write to it, before the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allocation: Vec<Allocation>,
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The layer with which what is visible of it ends, above any disk: as in a container, or on a file system that
    /// manages its own disks.
    pub fn last_visible(&self) -> Option<&Layer> {
        self.lowest()
            .find(|layer| matches!(layer.kind, LayerKind::File | LayerKind::Filesystem | LayerKind::Loop))
    }

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// How the tested range of a file is laid out (FIEMAP), before the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ExtentMap {
    /// Bytes looked at.
    pub range_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes allocated and never written: reads return zeros without the disk.
    pub unwritten_bytes: u64,
    /// Bytes with nothing behind them.
    pub hole_bytes: u64,
    /// Bytes that the filesystem stores compressed or encrypted, among the written ones.
    pub encoded_bytes: u64,
    /// Bytes that another file or a snapshot shares, among the written ones: the first write to them goes elsewhere.
    #[serde(skip_serializing_if = "is_none_of_it")]
    pub shared_bytes: u64,
    /// Bytes of the written ones whose place on a device the file system tells: it keeps them on block devices.
    #[serde(skip_serializing_if = "is_none_of_it")]
    pub placed_bytes: u64,
    /// Separate extents.
    pub extents: u64,
    /// Why the layout is not known, or not all of it, in words; the counts are about `range_bytes`, which may
    /// then be 0.
    pub unknown: Option<String>,
}

/// A part of the tested range, and what it was like before the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RangePart {
    /// Where it begins, in bytes from the beginning of the target.
    pub offset_bytes: u64,
    /// Length of the part in bytes.
    pub length_bytes: u64,
    /// Share of the I/O that goes there, in percent of all.
    pub io_percent: u32,
    /// Layout of it, for a file.
    pub extents: Option<ExtentMap>,
    /// As of the whole range ([`TargetFacts::allocation`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allocation: Vec<Allocation>,
    /// Page cache of this part alone.
    pub residency: Option<Residency>,
}

fn is_none_of_it(count: &u64) -> bool {
    *count == 0
}

/// What gives room to data on the first write to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AllocatedBy {
    /// The file system that holds the file of a loop device: holes, space set aside, parts shared with copies.
    LoopFile,
    /// A thin pool (dm-thin): blocks of a volume that have no place in the pool yet, or share it with a snapshot.
    ThinPool,
    /// A snapshot of device-mapper: blocks that it shares with the device that it was taken of.
    Snapshot,
    /// The document does not tell.
    #[default]
    #[serde(rename = "", other)]
    Untold,
}

/// A layer that gives room to what is written only on the first write to it, and how much had its room before the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Allocation {
    /// Name of the layer, as in [`Layer::name`].
    pub layer: String,
    /// What gives the room there.
    pub by: AllocatedBy,
    /// Bytes looked at.
    pub range_bytes: u64,
    /// Bytes of them that have their room and were written: reads of all others need no disk.
    pub allocated_bytes: u64,
    /// Bytes of the allocated ones that a copy or a snapshot shares: the first write to them goes elsewhere.
    pub shared_bytes: u64,
    /// Separate extents of the allocated ones; 0 where nobody counted.
    #[serde(skip_serializing_if = "is_none_of_it")]
    pub extents: u64,
    /// The bytes looked at are those of the tested range; otherwise they are all of the layer.
    pub is_tested_range: bool,
    /// Why it is not known, or not all of it, in words; the counts are about `range_bytes`, which may then be 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Bytes of the tested range in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Residency {
    /// Bytes looked at.
    pub range_bytes: u64,
    /// Bytes of them cached before the run.
    pub cached_before_bytes: u64,
    /// Bytes of them cached after the run.
    pub cached_after_bytes: u64,
}

/// The page cache of what a loop device below a target stands on, all of it. A loop device without direct I/O reads and
/// writes through it, in the name of no process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LoopCache {
    /// Kernel name of the loop device.
    pub device: String,
    /// Path of the file or device that it stands on.
    pub path: String,
    /// Its page cache before and after the run.
    pub residency: Residency,
    /// Bytes that had been cached, were dropped for want of memory and were not read again, before the run; none where
    /// the kernel does not tell.
    pub evicted_before_bytes: Option<u64>,
    /// The same after the run.
    pub evicted_after_bytes: Option<u64>,
}

/// What a sample of data is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ContentSample {
    /// Blocks looked at, spread over the tested range.
    pub blocks: u32,
    /// Bytes of each such block.
    pub block_bytes: u32,
    /// Blocks of nothing but zeros.
    pub zero_blocks: u32,
    /// Blocks equal to an earlier one, zeros included.
    pub repeated_blocks: u32,
    /// Size of all blocks after compression (deflate, fastest level), in bytes.
    pub compressed_bytes: u64,
}

/// A target at the end of a time span is not what it was at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Loss {
    /// The file has no name any more: it is gone when the test closes it.
    Removed,
    /// Its path leads to another file or device now.
    Replaced,
    /// Its path leads nowhere now.
    Moved,
    /// The file is shorter than it was.
    Cut {
        /// Size at the beginning, in bytes.
        from_bytes: u64,
        /// Size at the end, in bytes.
        to_bytes: u64,
    },
    /// Parts of the file are not stored any more: it was cut and written again, or holes were punched into it.
    Emptied {
        /// Bytes that were stored at the beginning.
        from_bytes: u64,
        /// Bytes that are stored at the end.
        to_bytes: u64,
    },
    /// Its file system is mounted nowhere any more (`umount -l`).
    Unmounted,
    /// Its file system became read-only.
    ReadOnly,
    /// Something that a later version tells.
    #[serde(rename = "", other)]
    Untold,
}

impl Loss {
    /// What happened to the target `path`, in a sentence without its end.
    pub fn sentence(&self, path: &str) -> String {
        let path = printable(path);
        match *self {
            Loss::Removed => format!(
                "'{path}' was removed while it was tested: the test went on with a file without a name, which is \
                 gone now"
            ),
            Loss::Replaced => format!(
                "'{path}' leads to another file or device than the one that was tested: somebody replaced it meanwhile"
            ),
            Loss::Moved => {
                format!(
                    "'{path}' is not there any more: it was renamed, or something hides it, since the test began"
                )
            }
            Loss::Cut { from_bytes, to_bytes } => format!(
                "'{path}' was cut from {} to {} while it was tested",
                bytes(from_bytes as f64),
                bytes(to_bytes as f64)
            ),
            Loss::Emptied { from_bytes, to_bytes } => format!(
                "'{path}' was cut, or holes were punched into it, while it was tested: of {} that were stored {} are \
                 left",
                bytes(from_bytes as f64),
                bytes(to_bytes as f64)
            ),
            Loss::Unmounted => format!(
                "the file system of '{path}' was unmounted while it was tested (umount -l): only the test still kept it"
            ),
            Loss::Untold => format!("'{path}' was changed by others while it was tested"),
            Loss::ReadOnly => format!(
                "the file system of '{path}' became read-only while it was tested, as after an error; see the kernel \
                 log \
                 (dmesg)"
            ),
        }
    }
}

/// A thread that was bound to one processor, and the memory node of that processor. What it read and wrote is in the
/// thread's row of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BoundThread {
    /// Thread number, as in the result.
    pub id: u32,
    /// Number of the processor, the kernel's.
    pub processor: u32,
    /// Number of its memory node, the kernel's.
    pub node: u32,
    /// Pages of the thread's own buffers that were looked at, a sample of each buffer; none where the kernel
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_pages_seen: Option<u64>,
    /// Pages among them that lie on another node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_pages_elsewhere: Option<u64>,
}

/// The machine at this moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineNow {
    /// Processors online.
    pub processors: u32,
    /// Of these, the ones this process may use.
    pub processors_allowed: u32,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The clock that stamps of a run would come from, and how it ran during the look.
    pub clock: ClockFacts,
    /// What the kernel keeps time by.
    pub clock_source: Option<String>,
    /// Share of the time since boot that the hypervisor gave to others, in percent.
    pub steal_since_boot_percent: Option<f64>,
    /// Tasks that waited, over the last ten seconds.
    pub stalled: Option<Stalled>,
    /// Length of the look in nanoseconds; what follows is about it.
    pub window_ns: u64,
    /// Use of the processors, in percent.
    pub busy_percent: Option<f64>,
    /// The lowest devices under the targets; this process did nothing on them meanwhile.
    pub disks: Vec<DiskActivity>,
    /// The rest, as a run's evidence would hold it.
    pub host: HostActivity,
}

impl MachineNow {
    /// A machine on which nothing disturbs a test, for tests.
    #[doc(hidden)]
    pub fn quiet() -> Self {
        let disk = DiskActivity { name: "vda".into(), window_ns: 200_000_000, ..DiskActivity::default() };
        MachineNow {
            processors: 4,
            processors_allowed: 4,
            memory_bytes: Some(8 << 30),
            clock: ClockFacts {
                name: "TSC".into(),
                stamp_cost_ns: 15.2,
                why_not_counter: None,
                drift_ppm: 0.3,
            },
            clock_source: Some("tsc".into()),
            steal_since_boot_percent: Some(0.4),
            stalled: Some(Stalled { cpu_some_percent: 2.0, io_some_percent: 60.0, ..Stalled::default() }),
            window_ns: 200_000_000,
            busy_percent: Some(12.7),
            disks: vec![disk],
            host: HostActivity { memory_available_bytes: Some(6 << 30), ..HostActivity::default() },
        }
    }
}

/// Share of the last ten seconds that tasks waited, in percent (PSI).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Stalled {
    /// Some task waited for a processor.
    pub cpu_some_percent: f64,
    /// Some task waited for I/O.
    pub io_some_percent: f64,
    /// All tasks that could run waited for I/O.
    pub io_full_percent: f64,
    /// Some task waited for memory.
    pub memory_some_percent: f64,
    /// All tasks that could run waited for memory.
    pub memory_full_percent: f64,
}

/// What the program itself costs on this machine, measured for a few milliseconds before the threads start and
/// without storage. Each figure is the lowest of several rounds, since what disturbs only adds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

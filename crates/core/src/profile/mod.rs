//! What to do: a profile holds time spans, a time span holds targets.
//!
//! Everything a command line or an XML profile can ask for is a field here, with DiskSpd's
//! defaults. A profile is plain data: it opens nothing and knows no machine. Rules that need no
//! machine live in [`validate()`]; rules that do live in `plan`.
//!
//! Source: `command-line.md` §5 and §9, `xml.md` §3 and §4 of the DiskSpd 2.2 contract.
//!
//! ```
//! use truespd_core::profile::{validate, xml};
//!
//! let text = "<Profile><TimeSpans><TimeSpan><Targets><Target>
//!   <Path>data</Path><BlockSize>8192</BlockSize>
//! </Target></Targets></TimeSpan></TimeSpans></Profile>";
//! let profile = xml::read(text)?;
//! let span = &profile.time_spans[0];
//! // What the text leaves out has DiskSpd's default.
//! assert_eq!((span.duration_s, span.targets[0].block_bytes, span.targets[0].request_count), (10, 8192, 2));
//! assert!(validate(&profile, false).is_empty());
//! // Written, every default stands there.
//! let again = xml::read(&xml::write(&profile, 0))?;
//! assert_eq!(again.time_spans[0].targets[0].path, "data");
//!
//! let error = xml::read("<Profile>\n  <Verbos>true</Verbos>\n</Profile>").unwrap_err();
//! assert!(error.to_string().contains("is VerboseStats meant?"));
//! # Ok::<(), xml::XmlError>(())
//! ```

pub mod loads;
pub mod masks;
pub mod members;
mod release;
mod rule;
mod size;
pub mod steady;
mod validate;
pub mod xml;

use serde::{Deserialize, Serialize};

pub use loads::{Arrivals, BLOCK_BYTES_MAX, Decimal, FlushEvery, MixPart};
pub use masks::GroupMask;
pub use release::{BufferSeparation, Release};
pub use rule::Rule;
pub use size::{Size, SizeColumn};
pub use steady::SteadyRule;
pub use validate::{Finding, Severity, validate};
pub use xml::hash;

/// Default I/O size in bytes (`-b`).
pub const BLOCK_BYTES_DEFAULT: u64 = 64 * 1024;
/// Default interval of `-D` in milliseconds.
pub const IO_BUCKET_MS_DEFAULT: u32 = 1000;
/// Most requests of a thread, and largest batch of them (DiskSpd 2.3).
pub const REQUESTS_MAX: u32 = 65_536;

/// How the result is written to standard output (`-R`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultFormat {
    /// DiskSpd's text result.
    #[default]
    Text,
    /// DiskSpd's XML result.
    Xml,
}

/// Which files are created before the first time span (XML `PrecreateFiles`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Precreate {
    /// Each time span creates its own files.
    #[default]
    None,
    /// Every path at its largest size.
    UseMaxSize,
    /// Paths whose entries all have the same non-zero size.
    OnlyConstantSizes,
    /// Paths whose non-zero entries are all equal.
    OnlyConstantOrZeroSizes,
}

/// Windows kernel tracing settings (`-e`), kept for the round trip; Linux has no counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
#[serde(default)]
pub struct Etw {
    pub process: bool,
    pub thread: bool,
    pub image_load: bool,
    pub disk_io: bool,
    pub memory_page_faults: bool,
    pub memory_hard_faults: bool,
    pub network: bool,
    pub registry: bool,
    pub use_paged_memory: bool,
    pub use_perf_timer: bool,
    pub use_system_timer: bool,
    pub use_cycles_counter: bool,
}

/// Names of the events between processes around a run (`-y`, `command-line.md` §5.9).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventNames {
    /// `-ys`: signalled when the measurement starts.
    pub start: Option<String>,
    /// `-yf`: signalled when the measurement ends.
    pub finish: Option<String>,
    /// `-yr`: waited for before the warm-up.
    pub wait: Option<String>,
    /// `-yp`: stops the run when set; Ctrl+C sets it.
    pub stop: Option<String>,
}

/// A whole run: one or more time spans and how to report them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Profile {
    /// The release of DiskSpd whose forms the result has, and whose defaults were taken (`--compat`).
    #[serde(skip_serializing_if = "Release::is_usual")]
    pub release: Release,
    /// One progress dot per this many completed I/Os and thread; 0 = no dots (`-P`).
    pub progress_ios: u32,
    /// Format of the result on standard output (`-R`).
    pub result_format: ResultFormat,
    /// Verbose mode (`-v`).
    pub verbose: bool,
    /// Wait statistics (`-vs`).
    pub verbose_stats: bool,
    /// Experiment bits (`-:`).
    pub experiment_flags: u32,
    /// Which files are created before the first time span.
    pub precreate: Precreate,
    /// Tracing settings, when any was given (`-e`).
    pub etw: Option<Etw>,
    /// The time spans, run one after the other.
    pub time_spans: Vec<TimeSpan>,
}

impl Profile {
    /// The targets of all time spans, one after the other: a file that is tested in two spans comes twice.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.time_spans.iter().flat_map(|span| &span.targets)
    }
}

/// A logical processor as DiskSpd names it: processor group and number within the group.
///
/// On Linux the kernel's CPU id is `64 * group + processor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessorId {
    /// Processor group, 0..65535.
    pub group: u32,
    /// Number within the group; for group 0 any Linux CPU id.
    pub processor: u32,
}

impl ProcessorId {
    /// The kernel's CPU id.
    pub fn cpu(self) -> u32 {
        self.group.saturating_mul(64).saturating_add(self.processor)
    }
}

/// Order in which threads are placed on the processors of a list, or on all of them (DiskSpd 2.3 `-ac`, `-as`, ...).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Placement {
    /// `c`: one thread per physical core before any second sibling is used.
    pub cores_first: bool,
    /// `s`: the order goes over all processor groups, instead of filling one after the other.
    pub span_groups: bool,
    /// `p`/`P`/`e`/`E`/`up`: order by efficiency class.
    pub efficiency: EfficiencyOrder,
}

impl Placement {
    /// Whether any order was asked for. Without one threads follow the list, or go through the groups in ascending
    /// order, as in DiskSpd 2.2.
    pub fn is_asked(&self) -> bool {
        *self != Placement::default()
    }

    /// The order by efficiency class that was asked for, or that of DiskSpd 2.3 beside `-ac` or `-as` alone. None where
    /// nothing was asked for.
    pub fn efficiency_in_effect(&self) -> EfficiencyOrder {
        match self.efficiency {
            EfficiencyOrder::Unset if self.is_asked() => EfficiencyOrder::PerformanceFirst,
            EfficiencyOrder::Unset => EfficiencyOrder::Unordered,
            asked => asked,
        }
    }
}

/// Efficiency-class order of [`Placement`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EfficiencyOrder {
    /// No order by core type was asked for.
    // Earlier documents had one word for this and for `-aup`.
    #[default]
    #[serde(alias = "ignore")]
    Unset,
    /// `up`: the core types make no difference.
    Unordered,
    /// `p`: performance cores first, before the second siblings of any core.
    PerformanceFirst,
    /// `P`: all processors of performance cores first, siblings too.
    FillPerformanceFirst,
    /// `e`: efficiency cores first, before the second siblings of any core.
    EfficiencyFirst,
    /// `E`: all processors of efficiency cores first, siblings too.
    FillEfficiencyFirst,
}

/// A whole processor group in an affinity list (DiskSpd 2.3 `-ag<group>`).
///
/// Which processors it has is known to the machine only; `plan` expands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WholeGroup {
    /// Number of the processor group, 0..65535.
    pub group: u32,
    /// Number of entries of [`TimeSpan::affinity`] that come before it.
    pub position: usize,
}

/// An entry of an affinity list in the order given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffinityItem {
    /// One processor.
    Processor(ProcessorId),
    /// Every usable processor of a group, ascending.
    WholeGroup(u32),
}

/// A count or a share of the outstanding requests (`-u`, `-oc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Batch {
    /// This many requests.
    Count(u32),
    /// This percentage of the thread's outstanding requests, 1..100, at least one request.
    Percent(u32),
}

/// How much of the way through Windows is to be left out (DiskSpd 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BypassIo {
    /// `-Sy`: as much of it as can be left out.
    Partial,
    /// `-SY`: all of it is left out, or the run ends.
    Full,
}

/// io_uring settings of `-u[n]<batch>[p]` (DiskSpd 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RingOptions {
    /// Register buffers with the kernel; false with `n`.
    pub registered_buffers: bool,
    /// Requests handed to the kernel per submission.
    pub batch: Batch,
}

/// One measured interval with its own threads, targets and phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TimeSpan {
    /// Reissue every request from its own completion (`-x`).
    pub completion_routines: bool,
    /// Measure latency (`-L`).
    pub measure_latency: bool,
    /// IOPS statistics per interval (`-D`).
    pub calculate_iops_std_dev: bool,
    /// Do not pin threads (`-n`).
    pub disable_affinity: bool,
    /// Measured time in seconds (`-d`).
    pub duration_s: u32,
    /// Warm-up in seconds (`-W`).
    pub warmup_s: u32,
    /// Cool-down in seconds (`-C`).
    pub cooldown_s: u32,
    /// Fixed total number of threads, 0 = threads per target (`-F`).
    pub thread_count: u32,
    /// Outstanding I/Os per thread over all targets, 0 = per target (`-O`).
    pub request_count: u32,
    /// Interval of `-D` in milliseconds.
    pub io_bucket_ms: u32,
    /// Seed of the random generators (`-z`).
    pub rand_seed: u32,
    /// Refill the write buffer with random bytes before every write (`-Zr`).
    pub random_write_data: bool,
    /// Explicit affinity list (`-a`), round robin over threads; empty = default.
    pub affinity: Vec<ProcessorId>,
    /// Whole groups within that list (`-ag<group>`); see [`TimeSpan::affinity_items`].
    pub affinity_groups: Vec<WholeGroup>,
    /// Entries of [`TimeSpan::affinity`], by their place, that begin a mask of their own although they could join the
    /// one before (XML `Group`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affinity_mask_starts: Vec<usize>,
    /// Order of the list, or of all processors (`-ac -as -ap ...`).
    pub placement: Placement,
    /// io_uring settings (`-u`), `None` = default.
    pub ring: Option<RingOptions>,
    /// Completions taken per batch (`-oc`), `None` = DiskSpd's 16.
    pub completion_batch: Option<u32>,
    /// Threads' buffers wherever the system puts them (`-bsn`).
    pub pack_buffers: bool,
    /// Threads' buffers far apart (`-bsp`, and 2.3's default).
    #[serde(skip_serializing_if = "is_false")]
    pub separate_buffers: bool,
    /// Measure in rounds of [`TimeSpan::duration_s`] until they are steady (`--until-steady`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<SteadyRule>,
    /// The targets, in the order given.
    pub targets: Vec<Target>,
}

/// For members that stand in a document only when they are set.
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Default for TimeSpan {
    fn default() -> Self {
        TimeSpan {
            completion_routines: false,
            measure_latency: false,
            calculate_iops_std_dev: false,
            disable_affinity: false,
            duration_s: 10,
            warmup_s: 5,
            cooldown_s: 0,
            thread_count: 0,
            request_count: 0,
            io_bucket_ms: IO_BUCKET_MS_DEFAULT,
            rand_seed: 0,
            random_write_data: false,
            affinity: Vec::new(),
            affinity_groups: Vec::new(),
            affinity_mask_starts: Vec::new(),
            placement: Placement::default(),
            ring: None,
            completion_batch: None,
            pack_buffers: false,
            separate_buffers: false,
            until_steady: None,
            targets: Vec::new(),
        }
    }
}

impl TimeSpan {
    /// Every thread serves every target with requests aimed at random targets (`-F` with `-O`).
    pub fn is_pool(&self) -> bool {
        self.thread_count > 0 && self.request_count > 0
    }

    /// An explicit affinity list was given (`-a` with processors or whole groups).
    pub fn has_affinity_list(&self) -> bool {
        !self.affinity.is_empty() || !self.affinity_groups.is_empty()
    }

    /// The affinity list in the order given, processors and whole groups.
    pub fn affinity_items(&self) -> Vec<AffinityItem> {
        let mut items = Vec::with_capacity(self.affinity.len() + self.affinity_groups.len());
        let mut groups = self.affinity_groups.iter().peekable();
        for (i, &processor) in self.affinity.iter().enumerate() {
            while let Some(whole) = groups.next_if(|whole| whole.position <= i) {
                items.push(AffinityItem::WholeGroup(whole.group));
            }
            items.push(AffinityItem::Processor(processor));
        }
        items.extend(groups.map(|whole| AffinityItem::WholeGroup(whole.group)));
        items
    }

    /// Measured time in seconds at most: until rounds are steady it may be less.
    pub fn measured_s_max(&self) -> u64 {
        u64::from(self.duration_s) * u64::from(self.until_steady.map_or(1, |rule| rule.rounds))
    }

    /// Warm-up, measured time and cool-down in seconds, at most.
    pub fn all_s_max(&self) -> u64 {
        self.measured_s_max() + u64::from(self.warmup_s) + u64::from(self.cooldown_s)
    }

    /// Measured time in seconds that the result is of, unless the run ends early.
    pub fn result_s(&self) -> u64 {
        u64::from(self.duration_s) * u64::from(self.until_steady.map_or(1, |rule| rule.window))
    }

    /// Number of threads: `-F`, or the sum of threads per target.
    pub fn threads_total(&self) -> u64 {
        match self.thread_count {
            0 => self.targets.iter().map(|t| u64::from(t.threads_per_file)).sum(),
            n => u64::from(n),
        }
    }

    /// Number of threads that work on `target`.
    pub fn threads_on(&self, target: &Target) -> u32 {
        if self.thread_count == 0 {
            target.threads_per_file
        } else if target.thread_targets.is_empty() {
            self.thread_count
        } else {
            target.thread_targets.len() as u32
        }
    }
}

/// Operating-system cache mode (`-S`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Page cache in use (no `-S`, or `-Sb`).
    #[default]
    Cached,
    /// Client cache of a remote file system bypassed (`-Sr`).
    DisableLocalCache,
    /// Page cache bypassed by direct I/O (`-Su`, `-Sh`).
    DisableOsCache,
}

/// Flush after each write to a mapped file (`-N`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlushMode {
    /// `-Nv`: `msync(MS_SYNC)` over the pages of the write.
    ViewOfFile,
    /// `-Nn`: cache-line write-back and fence, DAX mappings only.
    NonVolatileMemory,
    /// `-Ni`: cache-line write-back without fence, DAX mappings only.
    NonVolatileMemoryNoDrain,
}

/// I/O priority (`-I`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoPriority {
    /// 1
    VeryLow,
    /// 2
    Low,
    /// 3
    #[default]
    Normal,
}

/// Which kind of number a distribution's spans are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DistributionKind {
    /// `-rdpct`: spans are percentages of the target.
    Percent,
    /// `-rdabs`: spans are bytes; 0 stands for "to the end", last range only.
    Absolute,
}

/// One range of a distribution: a share of the I/O over the next span of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionRange {
    /// Share of I/O in percent, 0..100; 0 is a hole.
    pub io_percent: u32,
    /// Percent of the target, or bytes, by kind.
    pub span: u64,
}

/// Non-uniform random distribution (`-rd`), with the implied tail already appended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Meaning of the spans.
    pub kind: DistributionKind,
    /// Cumulative on both axes, in the order given.
    pub ranges: Vec<DistributionRange>,
}

impl Distribution {
    /// Shares below 100 in total leave the rest to the rest of the target. Nothing is added when a list of
    /// percentages leaves no such rest; that is a fault which [`validate()`] reports.
    pub fn add_tail(&mut self) {
        let io: u64 = self.ranges.iter().map(|range| u64::from(range.io_percent)).sum();
        let covered = self.ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.span));
        let span = match self.kind {
            DistributionKind::Absolute => 0,
            DistributionKind::Percent if covered < 100 => 100 - covered,
            DistributionKind::Percent => return,
        };
        if io < 100 {
            self.ranges.push(DistributionRange { io_percent: (100 - io) as u32, span });
        }
    }
}

/// Rate limit per thread and target (`-g`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Throughput {
    /// Bytes per millisecond.
    BytesPerMs(u64),
    /// I/Os per second.
    Iops(u64),
}

/// A thread that uses a target in pool mode (XML `ThreadTargets`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadTarget {
    /// Thread number, from 0.
    pub thread: u32,
    /// Weight of the target for this thread; 0 = the target's own.
    pub weight: u32,
}

/// A file or device and how it is exercised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Target {
    /// Path as given; `*N` is a template, `#N` the N-th whole disk.
    pub path: String,
    /// I/O size in bytes (`-b`); the largest one of a mix.
    pub block_bytes: u64,
    /// Sizes in shares (`--mix`); empty where all I/Os have one size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixPart>,
    /// First byte of the tested range (`-B`).
    pub base_bytes: u64,
    /// End of the tested range, exclusive, from 0 of the target; 0 = none (`-f`, `-B..:len`).
    pub max_bytes: u64,
    /// Share of random I/O: 0 sequential, 1..99 mixed, 100 random (`-r`, `-rs`).
    pub random_percent: u32,
    /// Alignment of random offsets or stride of sequential ones; `None` or 0 = block size.
    pub stride_bytes: Option<u64>,
    /// All threads share one sequential offset (`-si`).
    pub interlocked: bool,
    /// Each request walks the target on its own (`-p`).
    pub parallel: bool,
    /// Distance between the starting offsets of successive threads (`-T`).
    pub thread_stride_bytes: u64,
    /// Non-uniform random distribution (`-rd`).
    pub distribution: Option<Distribution>,
    /// Exponent of Zipf's law, by which random I/Os choose their places (`--zipf`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zipf: Option<Decimal>,
    /// Cache mode (`-S`).
    pub cache: CacheMode,
    /// Write-through (`-Sw`, `-Sh`).
    pub write_through: bool,
    /// Memory-mapped I/O (`-Sm`).
    pub memory_mapped: bool,
    /// BypassIO of Windows (`-Sy`, `-SY`), which changes nothing on Linux.
    pub bypass_io: Option<BypassIo>,
    /// Flush after mapped writes (`-N`).
    pub flush: Option<FlushMode>,
    /// Flushes between writes (`--flush-every`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<FlushEvery>,
    /// Zero write buffers (`-Z`).
    pub zero_write_buffers: bool,
    /// Size of the shared source of write data; 0 = none (`-Z<size>`).
    pub write_source_bytes: u64,
    /// File that fills the source, instead of random bytes (`-Z<size>,<file>`).
    pub write_source_path: Option<String>,
    /// Sequential-scan hint (`-fs`).
    pub sequential_scan: bool,
    /// Random-access hint (`-fr`).
    pub random_access: bool,
    /// Temporary-file hint (`-ft`).
    pub temporary_file: bool,
    /// Large pages for buffers (`-l`).
    pub large_pages: bool,
    /// Percentage of writes, 0..100 (`-w`); with trims that of the other I/Os.
    pub write_percent: u32,
    /// Percentage of trims among the I/Os, 1..100 (`--trim`); 0 = none.
    #[serde(skip_serializing_if = "loads::is_zero")]
    pub trim_percent: u32,
    /// Writes are stamped and reads are checked (`--verify`).
    #[serde(skip_serializing_if = "loads::is_false")]
    pub verify: bool,
    /// Outstanding I/Os per thread (`-o`).
    pub request_count: u32,
    /// Threads on this target (`-t`).
    pub threads_per_file: u32,
    /// Rate limit (`-g`).
    pub throughput: Option<Throughput>,
    /// When the I/Os of the rate arrive (`--arrivals`).
    #[serde(skip_serializing_if = "Arrivals::is_even")]
    pub arrivals: Arrivals,
    /// I/Os per burst (`-i`).
    pub burst_ios: Option<u32>,
    /// Pause between bursts in milliseconds (`-j`).
    pub think_ms: Option<u32>,
    /// I/O priority (`-I`).
    pub priority: IoPriority,
    /// Share of requests in pool mode.
    pub weight: u32,
    /// Threads that use the target in pool mode; empty = all.
    pub thread_targets: Vec<ThreadTarget>,
    /// Create the file with this size before the run (`-c`).
    pub create_bytes: Option<u64>,
}

impl Default for Target {
    fn default() -> Self {
        Target {
            path: String::new(),
            block_bytes: BLOCK_BYTES_DEFAULT,
            mix: Vec::new(),
            base_bytes: 0,
            max_bytes: 0,
            random_percent: 0,
            stride_bytes: None,
            interlocked: false,
            parallel: false,
            thread_stride_bytes: 0,
            distribution: None,
            zipf: None,
            cache: CacheMode::Cached,
            write_through: false,
            memory_mapped: false,
            bypass_io: None,
            flush: None,
            flush_every: None,
            zero_write_buffers: false,
            write_source_bytes: 0,
            write_source_path: None,
            sequential_scan: false,
            random_access: false,
            temporary_file: false,
            large_pages: false,
            write_percent: 0,
            trim_percent: 0,
            verify: false,
            request_count: 2,
            threads_per_file: 1,
            throughput: None,
            arrivals: Arrivals::Even,
            burst_ios: None,
            think_ms: None,
            priority: IoPriority::Normal,
            weight: 1,
            thread_targets: Vec::new(),
            create_bytes: None,
        }
    }
}

impl Target {
    /// Alignment (random) or stride (sequential) in bytes, the block size when not given.
    pub fn stride(&self) -> u64 {
        match self.stride_bytes {
            None | Some(0) => self.block_bytes,
            Some(n) => n,
        }
    }

    /// Mean size of an I/O in bytes.
    pub fn mean_bytes(&self) -> f64 {
        if self.mix.is_empty() {
            return self.block_bytes as f64;
        }
        self.mix.iter().map(|part| part.block_bytes as f64 * part.percent.get() / 100.0).sum()
    }

    /// Sizes of the I/Os in bytes, ascending; one unless there is a mix.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.mix.iter().map(|part| part.block_bytes).collect();
        if sizes.is_empty() {
            sizes.push(self.block_bytes);
        }
        sizes.sort_unstable();
        sizes
    }

    /// A rate limit is set (`-g`); a limit of 0 in a profile means none.
    pub fn is_rate_limited(&self) -> bool {
        matches!(self.throughput, Some(Throughput::BytesPerMs(n) | Throughput::Iops(n)) if n > 0)
    }

    /// Direct I/O is asked for (`-Su`, `-Sh`, `-Sr`).
    pub fn is_direct(&self) -> bool {
        self.cache != CacheMode::Cached && !self.memory_mapped
    }

    /// The test reads.
    pub fn reads(&self) -> bool {
        self.write_percent < 100 && self.trim_percent < 100
    }

    /// The test changes what the target holds, as the write guard means it: it writes data, or trims.
    pub fn writes(&self) -> bool {
        self.writes_data() || self.trims()
    }

    /// Some of the I/Os write data.
    pub fn writes_data(&self) -> bool {
        self.write_percent > 0 && self.trim_percent < 100
    }

    /// Some of the I/Os trim (`--trim`).
    pub fn trims(&self) -> bool {
        self.trim_percent > 0
    }

    /// The number of a template path `*N`: decimal digits, from 1. `None` for any other path.
    pub fn template_number(&self) -> Option<u32> {
        let digits = self.template().filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse().ok().filter(|&n| n > 0)
    }

    /// The text after the star of a template path.
    pub fn template(&self) -> Option<&str> {
        self.path.strip_prefix('*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Target, TimeSpan};

    fn profile(path: &str, seed: u32, block_bytes: u64) -> Profile {
        let targets = vec![Target { path: path.into(), block_bytes, ..Target::default() }];
        let time_spans = vec![TimeSpan { rand_seed: seed, targets, ..TimeSpan::default() }];
        Profile { time_spans, ..Profile::default() }
    }

    #[test]
    fn the_same_test_has_the_same_hash_elsewhere() {
        let of = hash(&profile("/dev/a", 1, 4096));
        assert_eq!(of.len(), 16);
        assert_eq!(hash(&profile("/srv/b.dat", 7, 4096)), of);
        let verbose = Profile { verbose: true, ..profile("/dev/a", 1, 4096) };
        assert_eq!(hash(&verbose), of);
        assert_ne!(hash(&profile("/dev/a", 1, 8192)), of);
        // Two targets are another test than one.
        let mut two = profile("/dev/a", 1, 4096);
        two.time_spans[0].targets.extend(profile("/dev/b", 1, 4096).time_spans[0].targets.clone());
        assert_ne!(hash(&two), of);
    }
}

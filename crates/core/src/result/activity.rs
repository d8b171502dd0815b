//! What the machine did while the tool measured, and when.

use super::PathActivity;
use serde::{Deserialize, Serialize};
pub use truespd_platform::machine::caches::{CacheCounts, CacheKind};
pub use truespd_platform::machine::diskstat::DiskCounts;
pub use truespd_platform::machine::fileserver::{FileProtocol, RequestCounts, ServerCounts};
pub use truespd_platform::machine::limits::LimitKind;
pub use truespd_platform::machine::programs::{KernelWork, OtherProgram};
use truespd_platform::text::{duration_ns, grouped};

/// What the block layer counted for one disk over the measured time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DiskActivity {
    /// Kernel name, as in [`super::Layer::name`].
    pub name: String,
    /// Time between the first and the last reading in nanoseconds.
    pub window_ns: u64,
    /// How long after the start of the measured time the first reading came, in nanoseconds: what the disk
    /// did before it is in no count.
    #[serde(skip_serializing_if = "is_zero")]
    pub late_ns: u64,
    /// From the first to the last reading.
    pub total: DiskCounts,
    /// Length of an interval in nanoseconds; 0 without a series.
    pub interval_ns: u64,
    /// The same per interval, in order.
    pub intervals: Vec<DiskCounts>,
    /// What each path carried, of an NVMe disk that has several; `total` is the sum of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathActivity>,
    /// What completed on targets of the other ranks of this run on this host, on this disk. Of several disks below a
    /// target each has an equal part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_ranks: Option<Completed>,
}

/// I/Os that completed, with their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Completed {
    /// Number of reads that completed in the measured time.
    pub reads: u64,
    /// Bytes that these reads brought.
    pub read_bytes: u64,
    /// Number of writes that completed in the measured time.
    pub writes: u64,
    /// Bytes that these writes took.
    pub write_bytes: u64,
}

impl Completed {
    /// Adds what completed somewhere else, without going beyond the largest number.
    pub fn add(&mut self, other: &Completed) {
        self.reads = self.reads.saturating_add(other.reads);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.writes = self.writes.saturating_add(other.writes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl DiskActivity {
    /// Bytes per second that were read and written.
    pub fn bytes_per_s(&self) -> [f64; 2] {
        let seconds = self.window_ns.max(1) as f64 / 1e9;
        [self.total.read_bytes, self.total.write_bytes].map(|bytes| bytes as f64 / seconds)
    }

    /// The time between the readings in seconds; the measured time where the document does not tell it.
    pub fn window_s(&self, measured_s: f64) -> f64 {
        if self.window_ns > 0 { self.window_ns as f64 / 1e9 } else { measured_s }
    }

    /// Nothing was read or written.
    pub fn is_idle(&self) -> bool {
        self.bytes_per_s() == [0.0, 0.0]
    }
}

/// A cache of fast disks before slow ones, over the measured time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CacheActivity {
    /// Kernel name of the device that has it, as in [`super::Layer::name`].
    pub layer: String,
    /// Which driver of the kernel keeps it.
    pub kind: CacheKind,
    /// When writes are done, in the kernel's word: `writeback`, `writethrough`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Kernel names of the disks of the cache; empty where the kernel does not tell which they are.
    pub cache_disks: Vec<String>,
    /// Kernel names of the disks that it is for.
    pub origin_disks: Vec<String>,
    /// Size of the cache in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Bytes of it in use at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// Bytes that only the cache held at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<u64>,
    /// From the first to the last reading; none where the kernel does not count, or does not tell this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<CacheCounts>,
    /// Why its state is not known, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// What the rest of the machine did over the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostActivity {
    /// Share of processor time that other machines on this host took, in percent.
    pub steal_percent: Option<f64>,
    /// The same of the processor that lost most, in percent of its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_worst_percent: Option<f64>,
    /// Stalls by the kernel's account (PSI).
    pub pressure: Option<Pressure>,
    /// Pages that were read from swap.
    pub swap_in_pages: Option<u64>,
    /// Pages that were written to swap.
    pub swap_out_pages: Option<u64>,
    /// Memory available at the start of the measured time, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Frequency governors in use, each once.
    pub governors: Vec<String>,
    /// Time during which the cgroup's processor quota held its threads, in nanoseconds.
    pub cpu_throttled_ns: Option<u64>,
    /// How long after the measured time began these were first read, in nanoseconds: what was done before is in none.
    #[serde(skip_serializing_if = "is_zero")]
    pub late_ns: u64,
    /// Bytes that this process sent to disks or had read from them, by the kernel's account of tasks.
    pub own_disk_read_bytes: Option<u64>,
    /// Likewise written.
    pub own_disk_write_bytes: Option<u64>,
    /// What other programs had disks do, from before the first I/O to the end of the measured time; none where this
    /// process may not see the accounts of all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_programs: Option<OtherPrograms>,
}

/// What other programs had disks do, any disks of the machine, and what the kernel's threads computed, by its accounts
/// of tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OtherPrograms {
    /// Time between the two readings of their accounts, in nanoseconds.
    pub window_ns: u64,
    /// Read by all of them that had 1 MiB or more moved, in bytes.
    pub read_bytes: u64,
    /// Written by all of these, in bytes.
    pub write_bytes: u64,
    /// Those that moved most, at most five.
    pub most: Vec<OtherProgram>,
    /// What threads of the kernel computed, those that computed most, at most five.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelWork>,
}

/// Stalls over the measured time, in nanoseconds (the kernel's `Documentation/accounting/psi.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[cfg_attr(feature = "schema", schemars(rename = "Series"))]
pub struct Timeline {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Reads completed in each interval; whole intervals only.
    pub reads: Vec<u64>,
    /// Writes completed in each interval.
    pub writes: Vec<u64>,
}

impl Timeline {
    /// Adds what another run completed, in the intervals that both have; not where those differ in length.
    pub fn add(&mut self, other: &Timeline) -> bool {
        for (mine, theirs) in [(&mut self.reads, &other.reads), (&mut self.writes, &other.writes)] {
            mine.truncate(theirs.len());
            mine.iter_mut().zip(theirs).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
        self.interval_ns == other.interval_ns
    }
}

/// I/Os in flight, on average over the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// I/Os on a target that were out when the measured time ended, and for a second or more in all. They are in
/// no count and in no latency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Outstanding {
    /// The target as given.
    pub path: String,
    /// How many.
    pub ios: u64,
    /// Of these: broken off by the end of the run.
    pub broken_off: u64,
    /// Of these: had not ended when the run stopped waiting for them.
    pub never: u64,
    /// How long the oldest had been out when the measured time ended, in nanoseconds. Without `-L` and `-D`
    /// it may have been longer.
    pub age_ns_max: u64,
    /// The times of all of them that were measured time, added up, in nanoseconds.
    pub measured_ns: u64,
    /// How long after the measured time the last of them ended, or was given up, in nanoseconds.
    pub late_ns_max: u64,
}

/// I/Os that were out for so many times the mean stand in no queue.
const STALL_TIMES: f64 = 10.0;

impl Outstanding {
    /// Whether no queue explains how long they were out: `mean_ns` is how long those that completed were out
    /// on average, none when there were none.
    pub fn is_stall(&self, mean_ns: Option<f64>) -> bool {
        let longest_ns = self.age_ns_max.saturating_add(self.late_ns_max) as f64;
        self.ios > 0 && (self.never > 0 || mean_ns.is_none_or(|mean_ns| longest_ns >= STALL_TIMES * mean_ns))
    }

    /// How many, for how long, and what became of them, without a full stop.
    pub fn words(&self) -> String {
        let ended = self.ios.saturating_sub(self.broken_off).saturating_sub(self.never);
        let late = duration_ns(self.late_ns_max as f64);
        let became = [
            (ended, format!("{} ended up to {late} later", grouped(ended))),
            (self.broken_off, format!("the end of the run broke {} off", grouped(self.broken_off))),
            (self.never, format!("{} did not end within {late} after that", grouped(self.never))),
        ];
        let became: Vec<String> =
            became.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
        let (many, were) = if self.ios == 1 {
            ("1 I/O".to_string(), "was")
        } else {
            (format!("{} I/Os", grouped(self.ios)), "were")
        };
        let oldest = match self.ios {
            1 => "for",
            _ => "the oldest for",
        };
        format!(
            "{many} {were} still out when the measured time ended, {oldest} {}; {}",
            duration_ns(self.age_ns_max as f64),
            became.join(", ")
        )
    }
}

/// A clock inside the program that should tick evenly. It is late when the whole program was stopped, when the machine
/// was, or when the thread that looks at it had no processor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Ticks {
    /// Time from tick to tick in nanoseconds.
    pub every_ns: u64,
    /// Ticks that came late, in order; the least late of them are left out where there are very many.
    pub late: Vec<LateTick>,
}

impl Ticks {
    /// Those of a part of the measured time that begins `skipped_ns` after its start, as if it were all of it.
    pub fn between(mut self, skipped_ns: u64, measured_ns: u64) -> Self {
        let part = skipped_ns..=skipped_ns.saturating_add(measured_ns);
        self.late.retain(|tick| part.contains(&tick.due_ns));
        for tick in &mut self.late {
            tick.due_ns -= skipped_ns;
        }
        self
    }
}

/// A tick that came late. The program was seen to run one tick before it was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FineSeries {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// Completions in each interval; whole intervals only.
    pub completed: Vec<u64>,
}

/// For how long the threads of the test had no processor, over time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Processors {
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// One entry for each such thread.
    pub threads: Vec<ThreadProcessors>,
}

/// On which processors one thread ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThreadProcessors {
    /// Thread number, as in the result.
    pub id: u32,
    /// Number of the processor on which it was seen most often in each interval; whole intervals only.
    pub processors: Vec<u32>,
}

/// Limits were changed while the time was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitChange {
    /// When that was seen, in nanoseconds since the measured time began; it happened in the interval before.
    pub seen_ns: u64,
    /// How long before that the limits had been looked at, in nanoseconds.
    pub within_ns: u64,
    /// Whether this process was in another control group from then on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// Limits that were no longer in force.
    pub gone: Vec<Limit>,
    /// Limits that were in force from then on.
    pub new: Vec<Limit>,
}

/// Somebody held the I/O of the targets back while the time was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Held {
    /// The mapped device that was suspended; none for a file system that was frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// When that was seen, once a second at most, in nanoseconds since the measured time began.
    pub seen_ns: Vec<u64>,
}

/// A mount whose files another machine holds, over the measured time. The counters are the sums of all programs that
/// use it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ServedMount {
    /// Where it is mounted; several places when targets reach one file system by several.
    pub mount_points: Vec<String>,
    /// How the client talks to the server.
    pub protocol: FileProtocol,
    /// Version of the protocol.
    pub version: Option<String>,
    /// Address of the server.
    pub address: Option<String>,
    /// Connections to the server at the end.
    pub connections: Option<u32>,
    /// Time between the first and the last reading in nanoseconds.
    pub window_ns: u64,
    /// From the first to the last reading.
    pub total: ServerCounts,
    /// Length of an interval in nanoseconds; 0 without a series.
    pub interval_ns: u64,
    /// The same per interval, in order.
    pub intervals: Vec<ServerCounts>,
}

/// A program that serves a file system (FUSE), over the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ServingProgram {
    /// Where the file system is mounted.
    pub mount_point: String,
    /// Requests without an answer, of all programs that use the file system, on average over the readings;
    /// none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_mean: Option<f64>,
    /// Readings, one per second, without those at both ends.
    pub readings: u64,
}

#[cfg(test)]
mod tests_of_activity {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_was_out_is_told_with_its_end() {
        let out = Outstanding { ios: 32, age_ns_max: 4 * S, late_ns_max: 7 * S, ..Outstanding::default() };
        assert_eq!(
            out.words(),
            "32 I/Os were still out when the measured time ended, the oldest for 4 s; 32 ended up to 7 s later"
        );
        let out = Outstanding { ios: 3, broken_off: 1, never: 1, ..out };
        assert!(
            out.words().ends_with(
                "; 1 ended up to 7 s later, the end of the run broke 1 off, 1 did not end within 7 s after that"
            ),
            "{}",
            out.words()
        );
        let out = Outstanding { ios: 1, broken_off: 1, never: 0, ..out };
        assert_eq!(
            out.words(),
            "1 I/O was still out when the measured time ended, for 4 s; the end of the run broke 1 off"
        );
    }

    #[test]
    fn a_deep_queue_is_no_stall() {
        let out = Outstanding { ios: 900, age_ns_max: 9 * S, late_ns_max: S, ..Outstanding::default() };
        assert!(!out.is_stall(Some(1.1e9)) && out.is_stall(Some(0.9e9)) && out.is_stall(None));
        assert!(Outstanding { never: 1, ..out }.is_stall(Some(1.1e9)));
        assert!(!Outstanding::default().is_stall(None));
    }
}

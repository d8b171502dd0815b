//! Limits that cgroups put on this process.
//!
//! Version 2: `Documentation/admin-guide/cgroup-v2.rst`; a limit of every ancestor counts. Version 1:
//! `cgroup-v1/blkio-controller.rst` (the throttle knows no hierarchy there: only the process's own group
//! counts), `scheduler/sched-bwc.rst`, `cgroup-v1/memory.rst` (both with ancestors).
//!
//! Counters of what the machine lacks and of what this process did: stalls, swap, quotas, bytes at disks.
//!
//! Source: the kernel's `Documentation/accounting/psi.rst`, `admin-guide/cgroup-v2.rst`,
//! `scheduler/sched-bwc.rst`, and `proc_vmstat`, `proc_pid_io(5)`.
//!
//! Memory of the machine, what control groups leave of it, and per-process limits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::machine::device::DeviceNumber;
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::roots::Roots;
use crate::machine::roots::{number_in, read_number, read_word};
use crate::machine::topology::{CpuSet, parse_cpu_list};
pub use crate::sys::system::{ResourceLimit, locked_memory_limit, open_files_limit, raise_open_files_limit};
use crate::sys::system::{address_space_limit, data_limit, page_bytes, processes_limit};

/// What a limit is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Reads per second.
    #[default]
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBytesPerSecond,
    /// Bytes written per second.
    WriteBytesPerSecond,
    /// Thousandths of a processor.
    CpuMillis,
    /// Bytes of memory, page cache included.
    MemoryBytes,
}

/// One limit that a control group sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Who keeps it: `io.max`, `blkio.throttle`, `cpu.max`, ...
    pub by: &'static str,
    /// The cgroup that carries it, as seen from here.
    pub group: String,
    /// The device it is for.
    pub device: Option<DeviceNumber>,
    /// What is limited, which also gives the unit.
    pub what: LimitKind,
    /// How much, in the unit of `what`.
    pub value: u64,
    /// The file that sets it.
    pub file: PathBuf,
}

/// Version 1 says "no limit" with the largest number of whole pages.
const MEMORY_UNLIMITED_BYTES: u64 = 1 << 62;

/// The limits in force for this process on `devices`, its processors and its memory; its own group's first.
pub fn in_force(devices: &[DeviceNumber], roots: &Roots) -> Vec<Limit> {
    Sources::find(devices, roots).in_force()
}

/// Where limits are told, to read them again and again.
#[derive(Debug)]
pub struct Sources {
    devices: Vec<DeviceNumber>,
    /// Where control groups are mounted.
    mounts: Vec<Mount>,
    roots: Roots,
}

impl Sources {
    /// Those of limits on `devices`, on processors and memory.
    pub fn find(devices: &[DeviceNumber], roots: &Roots) -> Self {
        let mut mounts = read_mounts(roots).unwrap_or_default();
        mounts.retain(|mount| mount.fs_type.starts_with("cgroup"));
        Sources { devices: devices.to_vec(), mounts, roots: roots.clone() }
    }

    /// The control groups of this process, as the kernel lists them.
    pub fn groups(&self) -> String {
        std::fs::read_to_string(self.roots.proc.join("self/cgroup")).unwrap_or_default()
    }

    /// The limits in force now; also when this process was put into another group meanwhile.
    pub fn in_force(&self) -> Vec<Limit> {
        let membership = self.groups();
        let mut found = Vec::new();
        for group in membership.lines().filter_map(Membership::parse) {
            // The same hierarchy at a second place tells nothing new.
            let Some(mount) = self.mounts.iter().find(|m| group.is_seen_in(m)) else { continue };
            for (at, (shown, dir)) in group.with_ancestors(mount, &self.roots).iter().enumerate() {
                let cgroup = Cgroup { group: shown, dir, devices: &self.devices };
                if group.controllers.is_empty() {
                    cgroup.version_2(&mut found)
                } else {
                    cgroup.version_1(&group.controllers, at == 0, &mut found)
                }
            }
        }
        found
    }
}

/// A line of `/proc/self/cgroup`: `4:memory:/path`, for version 2 `0::/path`.
struct Membership<'a> {
    controllers: Vec<&'a str>,
    path: &'a str,
}

impl<'a> Membership<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Membership { controllers: controllers.split(',').filter(|c| !c.is_empty()).collect(), path })
    }

    fn is_seen_in(&self, mount: &Mount) -> bool {
        match self.controllers.first() {
            None => mount.fs_type == "cgroup2",
            Some(first) => {
                mount.fs_type == "cgroup" && mount.options.split(',').any(|option| option == *first)
            }
        }
    }

    /// Directories from the process's own group up to the top of the mount, with the groups' paths. In a
    /// container the mount may show a part of the tree only, and the path may lead out of it.
    fn with_ancestors(&self, mount: &Mount, roots: &Roots) -> Vec<(String, PathBuf)> {
        let path = Path::new(self.path);
        let inside = match path.strip_prefix(&mount.root) {
            _ if self.path.starts_with("/..") => Path::new(""),
            Ok(inside) => inside,
            Err(_) => path.strip_prefix("/").unwrap_or(path),
        };
        let top = match mount.mount_point.strip_prefix("/sys") {
            Ok(inside) => roots.sys.join(inside),
            Err(_) => mount.mount_point.clone(),
        };
        let groups = inside.ancestors().map(|group| {
            let shown = Path::new("/").join(group).to_string_lossy().into_owned();
            (shown, top.join(group))
        });
        groups.collect()
    }
}

struct Cgroup<'a> {
    group: &'a str,
    dir: &'a Path,
    devices: &'a [DeviceNumber],
}

impl Cgroup<'_> {
    fn limit(&self, by: &'static str, device: Option<DeviceNumber>, what: LimitKind, value: u64) -> Limit {
        Limit { by, group: self.group.to_string(), device, what, value, file: self.dir.join(by) }
    }

    /// Lines of a file that begin with the number of one of the devices, without it.
    fn of_devices(&self, file: &str) -> Vec<(DeviceNumber, String)> {
        let text = read_word(&self.dir.join(file)).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
        lines
            .filter_map(|(number, rest)| Some((number.parse().ok()?, rest.to_string())))
            .filter(|(number, _)| self.devices.contains(number))
            .collect()
    }

    fn version_2(&self, found: &mut Vec<Limit>) {
        const KEYS: [(&str, LimitKind); 4] = [
            ("riops", LimitKind::ReadIops),
            ("wiops", LimitKind::WriteIops),
            ("rbps", LimitKind::ReadBytesPerSecond),
            ("wbps", LimitKind::WriteBytesPerSecond),
        ];
        for (device, rest) in self.of_devices("io.max") {
            let pairs: Vec<(&str, &str)> =
                rest.split_whitespace().filter_map(|p| p.split_once('=')).collect();
            for (key, what) in KEYS {
                let value = pairs.iter().find(|(k, _)| *k == key).and_then(|(_, v)| v.parse().ok());
                found.extend(value.map(|value| self.limit("io.max", Some(device), what, value)));
            }
        }
        if let Some(text) = read_word(&self.dir.join("cpu.max")) {
            let mut words = text.split_whitespace();
            let quota = words.next().and_then(|w| w.parse().ok());
            let period = words.next().and_then(|w| w.parse().ok());
            found.extend(self.processors("cpu.max", quota, period));
        }
        for by in ["memory.max", "memory.high"] {
            let value = read_number(&self.dir.join(by));
            found.extend(value.map(|value| self.limit(by, None, LimitKind::MemoryBytes, value)));
        }
    }

    fn version_1(&self, controllers: &[&str], is_own: bool, found: &mut Vec<Limit>) {
        const FILES: [(&str, LimitKind); 4] = [
            ("blkio.throttle.read_iops_device", LimitKind::ReadIops),
            ("blkio.throttle.write_iops_device", LimitKind::WriteIops),
            ("blkio.throttle.read_bps_device", LimitKind::ReadBytesPerSecond),
            ("blkio.throttle.write_bps_device", LimitKind::WriteBytesPerSecond),
        ];
        if controllers.contains(&"blkio") && is_own {
            for (file, what) in FILES {
                for (device, rest) in self.of_devices(file) {
                    let value = rest.trim().parse().ok();
                    let limit = value.map(|v| self.limit("blkio.throttle", Some(device), what, v));
                    found.extend(limit.map(|limit| Limit { file: self.dir.join(file), ..limit }));
                }
            }
        }
        if controllers.contains(&"cpu") {
            let quota = number_in(self.dir, "cpu.cfs_quota_us");
            let period = number_in(self.dir, "cpu.cfs_period_us");
            found.extend(self.processors("cpu.cfs_quota_us", quota, period));
        }
        if controllers.contains(&"memory") {
            let value = read_number::<u64>(&self.dir.join("memory.limit_in_bytes"));
            let value = value.filter(|&bytes| bytes < MEMORY_UNLIMITED_BYTES);
            found.extend(value.map(|v| self.limit("memory.limit_in_bytes", None, LimitKind::MemoryBytes, v)));
        }
    }

    /// Both in microseconds; no limit shows as `max` or -1, which are no such numbers.
    fn processors(&self, by: &'static str, quota: Option<u64>, period: Option<u64>) -> Option<Limit> {
        let (quota, period) = (quota?, period.filter(|&p| p > 0)?);
        let millis = u64::try_from(u128::from(quota) * 1000 / u128::from(period)).ok()?;
        Some(self.limit(by, None, LimitKind::CpuMillis, millis))
    }
}

/// Time that tasks spent stalled since boot, in nanoseconds (the kernel counts microseconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stalls {
    /// Time in which some task waited, since boot.
    pub some_ns: u64,
    /// All tasks that could run waited; 0 where the kernel does not tell.
    pub full_ns: u64,
}

/// Parses a file of `/proc/pressure`.
pub fn parse_stalls(text: &str) -> Option<Stalls> {
    let [some_ns, full_ns] = ["some ", "full "]
        .map(|kind| word_of_line(text, kind, "total=")?.parse::<u64>().ok()?.checked_mul(1000));
    Some(Stalls { some_ns: some_ns?, full_ns: full_ns.unwrap_or(0) })
}

/// The rest of the word that begins with `key`, on the line that begins with `kind`.
fn word_of_line<'a>(text: &'a str, kind: &str, key: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    line.split_whitespace().find_map(|word| word.strip_prefix(key))
}

/// Stalls for one resource: `cpu`, `io` or `memory`. `None` without PSI.
pub fn stalls(resource: &str, roots: &Roots) -> Option<Stalls> {
    parse_stalls(&fs::read_to_string(roots.proc.join("pressure").join(resource)).ok()?)
}

/// Share of the last ten seconds that tasks spent stalled, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StalledPercent {
    /// Share in which some task waited, 0 to 100.
    pub some: f64,
    /// All tasks that could run waited; 0 where the kernel does not tell.
    pub full: f64,
}

/// Parses the averages of a file of `/proc/pressure`.
pub fn parse_averages(text: &str) -> Option<StalledPercent> {
    let [some, full] = ["some ", "full "].map(|kind| {
        word_of_line(text, kind, "avg10=")?.parse().ok().filter(|percent: &f64| percent.is_finite())
    });
    Some(StalledPercent { some: some?, full: full.unwrap_or(0.0) })
}

/// Averages for one resource: `cpu`, `io` or `memory`. `None` without PSI.
pub fn averages(resource: &str, roots: &Roots) -> Option<StalledPercent> {
    parse_averages(&fs::read_to_string(roots.proc.join("pressure").join(resource)).ok()?)
}

/// Pages read from and written to swap since boot.
pub fn swapped_pages(roots: &Roots) -> Option<(u64, u64)> {
    let text = fs::read_to_string(roots.proc.join("vmstat")).ok()?;
    Some((number_after(&text, "pswpin ")?, number_after(&text, "pswpout ")?))
}

/// Bytes that this process had read from and sent to disks, since it started. `None` where the kernel
/// keeps no accounts of tasks.
pub fn own_disk_bytes(roots: &Roots) -> Option<(u64, u64)> {
    disk_bytes_in(&fs::read_to_string(roots.proc.join("self/io")).ok()?)
}

/// The same from the text of an account.
pub(super) fn disk_bytes_in(text: &str) -> Option<(u64, u64)> {
    Some((number_after(text, "read_bytes:")?, number_after(text, "write_bytes:")?))
}

/// The number on the line that begins with `key`.
fn number_after(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}

/// Frequency governors of the processors, each once; none where the machine shows none.
pub fn governors(roots: &Roots) -> Vec<String> {
    let processors = fs::read_dir(roots.sys.join("devices/system/cpu")).into_iter().flatten().flatten();
    let names = processors.filter_map(|entry| read_word(&entry.path().join("cpufreq/scaling_governor")));
    let found: BTreeSet<String> = names.filter(|name| !name.is_empty()).collect();
    found.into_iter().collect()
}

/// A folder of a control group.
#[derive(Debug)]
pub(super) struct GroupFolder {
    pub dir: PathBuf,
    /// It is one of version 2, whose files have other names.
    pub is_v2: bool,
}

/// The folders of this process's groups for a controller, each followed by those above it.
pub(super) fn group_folders(controller: &str, roots: &Roots) -> Vec<GroupFolder> {
    let groups = fs::read_to_string(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mut folders = Vec::new();
    for group in groups.lines().filter_map(Membership::parse) {
        let is_v2 = group.controllers.is_empty();
        if !is_v2 && !group.controllers.contains(&controller) {
            continue;
        }
        // A hierarchy of version 1 is mounted under its list of controllers, or under one of them.
        let all = roots.sys.join("fs/cgroup").join(group.controllers.join(","));
        let root = if is_v2 || all.is_dir() { all } else { roots.sys.join("fs/cgroup").join(controller) };
        // In a container the path may be the host's, of which only the root is to be seen.
        let own = root.join(group.path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|dir| dir.starts_with(&root));
        folders.extend(above.map(|dir| GroupFolder { dir: dir.to_path_buf(), is_v2 }));
    }
    folders
}

/// The files that count how long a processor quota held this process: one for its own control group and
/// one for each above it, since a quota of those holds it as well.
pub fn throttle_files(roots: &Roots) -> Vec<PathBuf> {
    let files = group_folders("cpu", roots).into_iter().map(|group| group.dir.join("cpu.stat"));
    files.filter(|file| throttled_in(file).is_some()).collect()
}

/// Time that quotas held the groups of [`throttle_files`], added up, in nanoseconds; `None` without any.
pub fn throttled_ns(files: &[PathBuf]) -> Option<u64> {
    files.iter().filter_map(throttled_in).reduce(u64::saturating_add)
}

fn throttled_in(file: &PathBuf) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    // Version 2 counts microseconds, version 1 nanoseconds.
    let v2 = number_after(&text, "throttled_usec ").and_then(|us| us.checked_mul(1000));
    v2.or_else(|| number_after(&text, "throttled_time "))
}

/// Facts of `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryFacts {
    /// Memory of the machine (`MemTotal`).
    pub total_bytes: Option<u64>,
    /// Memory that can be had without swapping (`MemAvailable`).
    pub available_bytes: Option<u64>,
    /// Size of a default huge page; `None` when the kernel has none.
    pub huge_page_bytes: Option<u64>,
    /// Huge pages of that size that are free and not promised to anybody.
    pub huge_pages_free: u64,
}

/// Reads `/proc/meminfo`.
///
/// # Errors
/// When procfs is not there or not readable.
pub fn memory_facts(roots: &Roots) -> io::Result<MemoryFacts> {
    Ok(parse_meminfo(&std::fs::read_to_string(roots.proc.join("meminfo"))?))
}

/// Parses the text of `/proc/meminfo`.
pub fn parse_meminfo(text: &str) -> MemoryFacts {
    let number = |key: &str| -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        value.split_whitespace().next()?.parse().ok()
    };
    let bytes = |key: &str| number(key)?.checked_mul(1024);
    let free = number("HugePages_Free").unwrap_or(0);
    MemoryFacts {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        huge_page_bytes: bytes("Hugepagesize").filter(|&b| b > 0),
        huge_pages_free: free.saturating_sub(number("HugePages_Rsvd").unwrap_or(0)),
    }
}

/// Memory nodes that this process may take memory from, as its cpuset allows (`/proc/self/status`).
pub fn allowed_nodes(roots: &Roots) -> Option<CpuSet> {
    let status = std::fs::read_to_string(roots.proc.join("self/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"))?;
    parse_cpu_list(list).map(CpuSet::new)
}

/// Nodes that have memory of their own (`/sys/devices/system/node/has_memory`).
pub fn nodes_with_memory(roots: &Roots) -> Option<CpuSet> {
    parse_cpu_list(&read_word(&roots.sys.join("devices/system/node/has_memory"))?).map(CpuSet::new)
}

/// Memory that this process may still take: what the machine has, or less where a control group
/// (container, service) allows less. `None` when nothing tells.
pub fn available_bytes(roots: &Roots) -> Option<u64> {
    let of_machine = memory_facts(roots).ok().and_then(|facts| facts.available_bytes);
    [of_machine, available_in_groups(roots)].into_iter().flatten().min()
}

/// Address space or memory that a limit leaves this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceLeft {
    /// What the limit leaves, in bytes.
    pub bytes: u64,
    /// Name of the limit as an administrator knows it.
    pub by: &'static str,
}

/// What the limits of this process leave it beyond what it has; `None` without limits.
pub fn space_left(roots: &Roots) -> Option<SpaceLeft> {
    let pages = std::fs::read_to_string(roots.proc.join("self/statm")).unwrap_or_default();
    // In pages: all, resident, shared, text, nothing, data and stack (`proc_pid_statm(5)`).
    let mut all = Vec::new();
    for (limit, field, by) in [(address_space_limit(), 0, "ulimit -v"), (data_limit(), 5, "ulimit -d")] {
        let pages = pages.split_whitespace().nth(field).and_then(|number| number.parse::<u64>().ok());
        let used = pages.unwrap_or(0).saturating_mul(page_bytes() as u64);
        all.extend(limit.soft.map(|limit| SpaceLeft { bytes: limit.saturating_sub(used), by }));
    }
    all.into_iter().min_by_key(|left| left.bytes)
}

/// Most threads that this process can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadsAllowed {
    /// Threads, those that run already included.
    pub count: u64,
    /// Name of the limit as an administrator knows it.
    pub by: &'static str,
}

/// The lowest limit of threads: of the system, of this user, and of the process's control groups. `None` when nothing
/// tells.
pub fn threads_allowed(roots: &Roots) -> Option<ThreadsAllowed> {
    let kernel = roots.proc.join("sys/kernel");
    let all = [
        (read_number(&kernel.join("threads-max")), "sysctl kernel.threads-max"),
        (read_number(&kernel.join("pid_max")), "sysctl kernel.pid_max"),
        (processes_limit().soft, "ulimit -u"),
        (threads_in_groups(roots), "pids.max of its control group"),
    ];
    let all = all.into_iter().filter_map(|(count, by)| Some(ThreadsAllowed { count: count?, by }));
    all.min_by_key(|allowed| allowed.count)
}

/// The least that the process's control groups and those above them allow.
fn threads_in_groups(roots: &Roots) -> Option<u64> {
    let folders = group_folders("pids", roots);
    folders.iter().filter_map(|group| read_number(&group.dir.join("pids.max"))).min()
}

/// Files of a memory control group: its limit, its use, and the key of its statistics that counts cached
/// file pages, which give way.
type GroupFiles = (&'static str, &'static str, [&'static str; 2]);
const GROUP_V2: GroupFiles = ("memory.max", "memory.current", ["inactive_file", "active_file"]);
const GROUP_V1: GroupFiles =
    ("memory.limit_in_bytes", "memory.usage_in_bytes", ["total_inactive_file", "total_active_file"]);

/// The least that the process's memory control groups and those above them leave.
fn available_in_groups(roots: &Roots) -> Option<u64> {
    let folders = group_folders("memory", roots);
    let left = folders.iter().filter_map(left_in_group);
    left.min()
}

fn left_in_group(group: &GroupFolder) -> Option<u64> {
    let (limit, usage, cached) = if group.is_v2 { GROUP_V2 } else { GROUP_V1 };
    let dir = group.dir.as_path();
    // Without a limit this is the word "max", or a number beyond any machine.
    let limit: u64 = number_in(dir, limit)?;
    let used: u64 = number_in(dir, usage).unwrap_or(0);
    let statistics = std::fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
    let mut cached_bytes: u64 = 0;
    for (key, value) in statistics.lines().filter_map(|line| line.split_once(' ')) {
        if cached.contains(&key) {
            cached_bytes += value.trim().parse::<u64>().unwrap_or(0);
        }
    }
    Some(limit.saturating_sub(used.saturating_sub(cached_bytes)))
}

#[cfg(test)]
mod tests_pressure {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Tree(tempfile::tempdir().unwrap());
            files.iter().for_each(|(place, text)| tree.write(place, text));
            tree
        }

        fn write(&self, place: &str, text: &str) {
            let file = self.0.path().join(place);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn roots(&self) -> Roots {
            Roots { proc: self.0.path().join("proc"), sys: self.0.path().join("sys"), dev: "/dev".into() }
        }
    }

    #[test]
    fn stalls_of_three_kernels() {
        let text = "some avg10=0.22 avg60=0.14 avg300=0.10 total=58761459\nfull avg10=0.00 avg60=0.12 \
            avg300=0.10 total=52307441\n";
        assert_eq!(parse_stalls(text), Some(Stalls { some_ns: 58_761_459_000, full_ns: 52_307_441_000 }));
        // Before 5.13 there is no second line for processors.
        let cpu = "some avg10=0.00 avg60=0.00 avg300=0.00 total=121\n";
        assert_eq!(parse_stalls(cpu), Some(Stalls { some_ns: 121_000, full_ns: 0 }));
        assert_eq!(parse_stalls(""), None);
        assert_eq!(parse_averages(text), Some(StalledPercent { some: 0.22, full: 0.0 }));
        let memory = "some avg10=7.10 avg60=0 avg300=0 total=1\nfull avg10=3.25 avg60=0 avg300=0 total=1\n";
        assert_eq!(parse_averages(memory), Some(StalledPercent { some: 7.1, full: 3.25 }));
        assert_eq!((parse_averages("some avg10=nan total=1\n"), parse_averages("")), (None, None));
        assert_eq!(stalls("io", &Tree::new(&[]).roots()), None, "booted with psi=0");
        assert_eq!(stalls("io", &Tree::new(&[("proc/pressure/io", cpu)]).roots()).unwrap().some_ns, 121_000);
    }

    #[test]
    fn swap_and_own_bytes() {
        let tree = Tree::new(&[
            ("proc/vmstat", "pgpgin 100\npswpin 7\npswpout 19\npgsteal 3\n"),
            (
                "proc/self/io",
                "rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 40960\nwrite_bytes: \
                 8192\ncancelled_write_bytes: 4096\n",
            ),
        ]);
        assert_eq!(swapped_pages(&tree.roots()), Some((7, 19)));
        assert_eq!(own_disk_bytes(&tree.roots()), Some((40960, 8192)));
        let bare = Tree::new(&[]).roots();
        assert_eq!((swapped_pages(&bare), own_disk_bytes(&bare)), (None, None));
    }

    #[test]
    fn governors_each_once() {
        let tree = Tree::new(&[
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/online", "0-2\n"),
        ]);
        assert_eq!(governors(&tree.roots()), ["performance", "powersave"]);
        assert!(governors(&Tree::new(&[]).roots()).is_empty());
    }

    #[test]
    fn quotas_of_own_group_and_those_above() {
        let v2 = Tree::new(&[
            ("proc/self/cgroup", "0::/system.slice/bench.service\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 900\nuser_usec 500\nsystem_usec 400\n"),
            (
                "sys/fs/cgroup/system.slice/cpu.stat",
                "usage_usec 90\nnr_periods 4\nnr_throttled 1\nthrottled_usec 5\n",
            ),
            ("sys/fs/cgroup/system.slice/bench.service/cpu.stat", "usage_usec 9\nthrottled_usec 2\n"),
        ]);
        let files = throttle_files(&v2.roots());
        assert_eq!(files.len(), 2, "the root has no quota: {files:?}");
        assert_eq!(throttled_ns(&files), Some(7000));
        v2.write("sys/fs/cgroup/system.slice/cpu.stat", "throttled_usec 105\n");
        assert_eq!(throttled_ns(&files), Some(107_000));

        let stat = "nr_periods 30\nnr_throttled 12\nthrottled_time 640000123\n";
        let v1 = Tree::new(&[
            (
                "proc/self/cgroup",
                "4:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab\n2:cpuset:/docker/ab\n0::/\n",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", stat),
        ]);
        assert_eq!(throttled_ns(&throttle_files(&v1.roots())), Some(640_000_123), "as a container sees it");
        let alone = Tree::new(&[("proc/self/cgroup", "1:cpu:/a\n"), ("sys/fs/cgroup/cpu/a/cpu.stat", stat)]);
        assert_eq!(throttled_ns(&throttle_files(&alone.roots())), Some(640_000_123));
        assert_eq!(throttled_ns(&throttle_files(&Tree::new(&[]).roots())), None);
    }
}

#[cfg(test)]
mod tests_memory {
    use super::*;

    #[test]
    fn meminfo_text() {
        let text = "MemTotal:       49368168 kB\nMemFree:        40000000 kB\nMemAvailable:   45000000 kB\n\
            HugePages_Total:       8\nHugePages_Free:        6\nHugePages_Rsvd:        2\nHugepagesize:       2048 kB\n";
        let facts = parse_meminfo(text);
        assert_eq!(facts.available_bytes, Some(45_000_000 * 1024));
        assert_eq!(facts.huge_page_bytes, Some(2 << 20));
        assert_eq!(facts.huge_pages_free, 4);
        assert_eq!(parse_meminfo("nothing"), MemoryFacts::default());
    }

    #[test]
    fn this_machine_has_memory() {
        let facts = memory_facts(&Roots::default()).unwrap();
        assert!(facts.available_bytes.unwrap() > 1 << 20);
    }

    #[test]
    fn a_control_group_may_allow_less_than_the_machine_has() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys"), ..Roots::default() };
        assert_eq!(available_bytes(&roots), None);
        put("proc/meminfo", "MemAvailable: 1000 kB\n");
        assert_eq!(available_bytes(&roots), Some(1_024_000));
        put("proc/self/cgroup", "4:cpu,memory:/a/b\n0::/x/y\n");
        assert_eq!(available_bytes(&roots), Some(1_024_000), "no limits to be seen");
        put("sys/fs/cgroup/x/memory.max", "900000\n");
        put("sys/fs/cgroup/x/memory.current", "500000\n");
        put("sys/fs/cgroup/x/memory.stat", "anon 1\ninactive_file 100000\nactive_file 50000\n");
        put("sys/fs/cgroup/x/y/memory.max", "max\n");
        assert_eq!(available_bytes(&roots), Some(550_000), "a limit further up, less what is in use");
        put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "300000\n");
        put("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "400000\n");
        put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(available_bytes(&roots), Some(0));
    }
}

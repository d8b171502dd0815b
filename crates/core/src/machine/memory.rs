//! Memory of the machine, what control groups leave of it, and per-process limits.

use std::io;
use std::path::Path;

use super::limits::{GroupFolder, group_folders};
use super::roots::Roots;
use super::setting::{read_number, read_word};
use super::topology::{CpuSet, parse_cpu_list};
pub(crate) use crate::sys::system::ResourceLimit;
pub(crate) use crate::sys::system::locked_memory_limit;
pub(crate) use crate::sys::system::open_files_limit;
pub(crate) use crate::sys::system::raise_open_files_limit;
use crate::sys::system::{address_space_limit, data_limit, page_bytes, processes_limit};

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
pub(crate) fn memory_facts(roots: &Roots) -> io::Result<MemoryFacts> {
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
pub(crate) fn allowed_nodes(roots: &Roots) -> Option<CpuSet> {
    let status = std::fs::read_to_string(roots.proc.join("self/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"))?;
    parse_cpu_list(list).map(CpuSet::new)
}

/// Nodes that have memory of their own (`/sys/devices/system/node/has_memory`).
pub(crate) fn nodes_with_memory(roots: &Roots) -> Option<CpuSet> {
    parse_cpu_list(&read_word(&roots.sys.join("devices/system/node/has_memory"))?).map(CpuSet::new)
}

/// Memory that this process may still take: what the machine has, or less where a control group
/// (container, service) allows less. `None` when nothing tells.
pub(crate) fn available_bytes(roots: &Roots) -> Option<u64> {
    let of_machine = memory_facts(roots).ok().and_then(|facts| facts.available_bytes);
    [of_machine, available_in_groups(roots)].into_iter().flatten().min()
}

/// Address space or memory that a limit leaves this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceLeft {
    /// How much.
    pub bytes: u64,
    /// What sets the limit.
    pub by: &'static str,
}

/// What the limits of this process leave it beyond what it has; `None` without limits.
pub(crate) fn space_left(roots: &Roots) -> Option<SpaceLeft> {
    let pages = std::fs::read_to_string(roots.proc.join("self/statm")).unwrap_or_default();
    // In pages: all, resident, shared, text, nothing, data and stack (`proc_pid_statm(5)`).
    let used = |field: usize| {
        let pages = pages.split_whitespace().nth(field).and_then(|number| number.parse::<u64>().ok());
        pages.unwrap_or(0).saturating_mul(page_bytes() as u64)
    };
    let left = |limit: ResourceLimit, field, by| {
        limit.soft.map(|limit| SpaceLeft { bytes: limit.saturating_sub(used(field)), by })
    };
    let all = [left(address_space_limit(), 0, "ulimit -v"), left(data_limit(), 5, "ulimit -d")];
    all.into_iter().flatten().min_by_key(|left| left.bytes)
}

/// Most threads that this process can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadsAllowed {
    /// How many.
    pub count: u64,
    /// What sets the limit.
    pub by: &'static str,
}

/// The lowest limit of threads: of the system, of this user, and of the process's control groups. `None` when nothing
/// tells.
pub(crate) fn threads_allowed(roots: &Roots) -> Option<ThreadsAllowed> {
    let limit = |count: Option<u64>, by| count.map(|count| ThreadsAllowed { count, by });
    let of_system = |name: &str| read_number(&roots.proc.join("sys/kernel").join(name));
    let all = [
        limit(of_system("threads-max"), "sysctl kernel.threads-max"),
        limit(of_system("pid_max"), "sysctl kernel.pid_max"),
        limit(processes_limit().soft, "ulimit -u"),
        limit(threads_in_groups(roots), "pids.max of its control group"),
    ];
    all.into_iter().flatten().min_by_key(|allowed| allowed.count)
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
    let left = |group: &GroupFolder| left_in_group(&group.dir, if group.is_v2 { GROUP_V2 } else { GROUP_V1 });
    folders.iter().filter_map(left).min()
}

fn left_in_group(dir: &Path, (limit, usage, cached): GroupFiles) -> Option<u64> {
    let number = |file: &str| read_number::<u64>(&dir.join(file));
    // Without a limit this is the word "max", or a number beyond any machine.
    let limit = number(limit)?;
    let used = number(usage).unwrap_or(0);
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
mod tests {
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

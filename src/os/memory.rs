//! Memory and per-process limits.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::roots::Roots;

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

/// A limit of this process; `None` stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What counts now.
    pub soft: Option<u64>,
    /// Up to where the process may raise it.
    pub hard: Option<u64>,
}

fn limit(resource: Resource) -> Limit {
    let Rlimit { current, maximum } = getrlimit(resource);
    Limit { soft: current, hard: maximum }
}

/// Memory the process may lock, in bytes (`RLIMIT_MEMLOCK`).
pub fn locked_memory_limit() -> Limit {
    limit(Resource::Memlock)
}

/// Files the process may have open (`RLIMIT_NOFILE`).
pub fn open_files_limit() -> Limit {
    limit(Resource::Nofile)
}

/// Raises the limit of open files to its hard limit and returns the limit that then counts.
///
/// # Errors
/// What `setrlimit(2)` says; the limit is then as before.
pub fn raise_open_files_limit() -> io::Result<Limit> {
    let before = getrlimit(Resource::Nofile);
    if before.current != before.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum })?;
    }
    Ok(open_files_limit())
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
    fn this_machine_has_memory_and_limits() {
        let facts = memory_facts(&Roots::default()).unwrap();
        assert!(facts.available_bytes.unwrap() > 1 << 20);
        assert!(open_files_limit().soft.is_none_or(|n| n > 0));
        let memory = locked_memory_limit();
        assert!(memory.hard.is_none_or(|hard| memory.soft.is_some_and(|soft| soft <= hard)));
    }

    #[test]
    fn raising_reaches_the_hard_limit() {
        let raised = raise_open_files_limit().unwrap();
        assert_eq!(raised.soft, raised.hard);
    }
}

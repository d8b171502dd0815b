//! Counters of what the machine lacks and of what this process did: stalls, swap, quotas, bytes at disks.
//!
//! Source: the kernel's `Documentation/accounting/psi.rst`, `admin-guide/cgroup-v2.rst`,
//! `scheduler/sched-bwc.rst`, and `proc_vmstat`, `proc_pid_io(5)`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::roots::Roots;
use crate::machine::read::read_word;

/// Time that tasks spent stalled since boot, in nanoseconds (the kernel counts microseconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stalls {
    /// Some task waited.
    pub some_ns: u64,
    /// All tasks that could run waited; 0 where the kernel does not tell.
    pub full_ns: u64,
}

/// Parses a file of `/proc/pressure`.
pub fn parse_stalls(text: &str) -> Option<Stalls> {
    let total_ns = |kind: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let total: u64 =
            line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
        total.checked_mul(1000)
    };
    Some(Stalls { some_ns: total_ns("some ")?, full_ns: total_ns("full ").unwrap_or(0) })
}

/// Stalls for one resource: `cpu`, `io` or `memory`. `None` without PSI.
pub fn stalls(resource: &str, roots: &Roots) -> Option<Stalls> {
    parse_stalls(&fs::read_to_string(roots.proc.join("pressure").join(resource)).ok()?)
}

/// Share of the last ten seconds that tasks spent stalled, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StalledPercent {
    /// Some task waited.
    pub some: f64,
    /// All tasks that could run waited; 0 where the kernel does not tell.
    pub full: f64,
}

/// Parses the averages of a file of `/proc/pressure`.
pub fn parse_averages(text: &str) -> Option<StalledPercent> {
    let average = |kind: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        let percent: f64 =
            line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
        Some(percent).filter(|percent| percent.is_finite())
    };
    Some(StalledPercent { some: average("some ")?, full: average("full ").unwrap_or(0.0) })
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
    let text = fs::read_to_string(roots.proc.join("self/io")).ok()?;
    Some((number_after(&text, "read_bytes:")?, number_after(&text, "write_bytes:")?))
}

/// The number on the line that begins with `key`.
fn number_after(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}

/// Frequency governors of the processors, each once; none where the machine shows none.
pub fn governors(roots: &Roots) -> Vec<String> {
    let processors = fs::read_dir(roots.sys.join("devices/system/cpu")).into_iter().flatten().flatten();
    let of_processor = |dir: PathBuf| read_word(&dir.join("cpufreq/scaling_governor"));
    let found: BTreeSet<String> =
        processors.filter_map(|entry| of_processor(entry.path())).filter(|name| !name.is_empty()).collect();
    found.into_iter().collect()
}

/// The files that count how long a processor quota held this process: one for its own control group and
/// one for each above it, since a quota of those holds it as well.
pub fn throttle_files(roots: &Roots) -> Vec<PathBuf> {
    let groups = fs::read_to_string(roots.proc.join("self/cgroup")).unwrap_or_default();
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let place = match controllers {
            "" => "fs/cgroup".to_string(),
            list if list.split(',').any(|c| c == "cpu") => first_existing(list, roots),
            _ => continue,
        };
        let root = roots.sys.join(place);
        // In a container the path may be the host's, of which only the root is to be seen.
        let own = root.join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|dir| dir.starts_with(&root));
        files.extend(above.map(|dir| dir.join("cpu.stat")).filter(|file| throttled_in(file).is_some()));
    }
    files
}

/// Where the hierarchy of a list of controllers is mounted: under that list, or `cpu` alone.
fn first_existing(list: &str, roots: &Roots) -> String {
    let place = format!("fs/cgroup/{list}");
    if roots.sys.join(&place).is_dir() { place } else { "fs/cgroup/cpu".to_string() }
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

#[cfg(test)]
mod tests {
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
        let text = "some avg10=0.22 avg60=0.14 avg300=0.10 total=58761459\nfull avg10=0.00 avg60=0.12 avg300=0.10 total=52307441\n";
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
                "rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 40960\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n",
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

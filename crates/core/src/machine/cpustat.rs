//! Processor time from `/proc/stat`: what each processor did since boot, in clock ticks.

use std::fs;
use std::path::Path;

use crate::sys::error::system_text;

/// Where the kernel keeps the counters.
const PATH: &str = "/proc/stat";
/// `USER_HZ` is 100 on every common kernel.
const NS_PER_TICK: u64 = 10_000_000;

/// What one processor did since boot, in clock ticks (1/100 s on every common kernel).
///
/// Time spent running guests is inside `user` and `nice`, as the kernel counts it (proc_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Kernel CPU id.
    pub cpu: u32,
    /// User programs.
    pub user: u64,
    /// User programs of low priority.
    pub nice: u64,
    /// Kernel on behalf of programs.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do, with a thread waiting for I/O.
    pub iowait: u64,
    /// Interrupts.
    pub irq: u64,
    /// Deferred work of interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor for others.
    pub steal: u64,
}

/// Share of all processor time since boot that the hypervisor gave to others, in percent.
pub fn steal_percent_since_boot(all: &[CpuTicks]) -> f64 {
    let stolen: u64 = all.iter().map(|t| t.steal).sum();
    let used = |t: &CpuTicks| t.user + t.nice + t.system + t.idle + t.iowait + t.irq + t.softirq;
    let total = stolen + all.iter().map(used).sum::<u64>();
    if total == 0 { 0.0 } else { stolen as f64 * 100.0 / total as f64 }
}

/// Processor time since boot that the hypervisor gave to others, of all processors, in nanoseconds.
pub fn stolen_ns(all: &[CpuTicks]) -> u64 {
    all.iter().map(|ticks| ticks.steal).sum::<u64>() * NS_PER_TICK
}

/// Why the counters could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CpuStatError {
    /// The file could not be read.
    #[error("cannot read processor times from {path}: {}; is /proc mounted?", system_text(error))]
    Read {
        /// The file.
        path: String,
        /// The system's text.
        error: std::io::Error,
    },
    /// A line is not what proc_stat(5) promises.
    #[error("cannot read processor times: {line:?} is not a line \"cpuN user nice system idle ...\"")]
    Malformed {
        /// The line.
        line: String,
    },
}

/// The counters of all online processors, ascending by CPU id.
///
/// # Errors
/// [`CpuStatError`] when the file is not there or not understood.
pub fn read() -> Result<Vec<CpuTicks>, CpuStatError> {
    read_from(Path::new(PATH))
}

/// [`read`] from another file of that format.
///
/// # Errors
/// [`CpuStatError`] when the file is not there or not understood.
pub fn read_from(path: &Path) -> Result<Vec<CpuTicks>, CpuStatError> {
    let text = fs::read_to_string(path)
        .map_err(|error| CpuStatError::Read { path: path.display().to_string(), error })?;
    parse(&text)
}

/// The `cpuN` lines of a `/proc/stat` text. Columns that an old kernel does not have are 0.
///
/// # Errors
/// [`CpuStatError::Malformed`] with the first line that is not understood.
pub fn parse(text: &str) -> Result<Vec<CpuTicks>, CpuStatError> {
    let numbered = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut all = Vec::new();
    for line in text.lines().filter(numbered) {
        all.push(parse_line(line).ok_or_else(|| CpuStatError::Malformed { line: line.to_string() })?);
    }
    all.sort_unstable_by_key(|ticks| ticks.cpu);
    Ok(all)
}

fn parse_line(line: &str) -> Option<CpuTicks> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let mut columns = [0u64; 8];
    // Beyond the eighth come guest and guest_nice, already part of the first two.
    let mut present = 0;
    for (column, word) in columns.iter_mut().zip(words) {
        *column = word.parse().ok()?;
        present += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = columns;
    (present >= 4).then_some(CpuTicks { cpu, user, nice, system, idle, iowait, irq, softirq, steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "cpu  6147 0 2717 236665 405 0 47 10 0 0\n\
                            cpu1 3485 2 1709 117384 375 3 32 8 5 1\n\
                            cpu0 2662 0 1008 119280 30 0 14 1 0 0\n\
                            intr 200910 0 0 1\nctxt 363094\nbtime 1763688000\n";

    #[test]
    fn lines_of_processors_are_taken_and_sorted() {
        let all = parse(RECORDED).expect("as recorded");
        assert_eq!(all.iter().map(|t| t.cpu).collect::<Vec<_>>(), [0, 1]);
        let wanted = CpuTicks {
            cpu: 1,
            user: 3485,
            nice: 2,
            system: 1709,
            idle: 117_384,
            iowait: 375,
            irq: 3,
            softirq: 32,
            steal: 8,
        };
        assert_eq!(all[1], wanted);
        let percent = steal_percent_since_boot(&all);
        assert!((percent - 900.0 / 245_117.0).abs() < 1e-3, "{percent}");
        assert_eq!(steal_percent_since_boot(&[]), 0.0);
    }

    #[test]
    fn old_kernels_have_fewer_columns() {
        let all = parse("cpu 1 2 3 4\ncpu0 1 2 3 4\n").expect("Linux 2.4");
        assert_eq!(all, [CpuTicks { user: 1, nice: 2, system: 3, idle: 4, ..CpuTicks::default() }]);
    }

    #[test]
    fn strange_lines_are_named() {
        for line in ["cpu0 1 2 3", "cpu0", "cpu0 1 2 x 4", "cpu99999999999 1 2 3 4", "cpu0 1 -2 3 4"] {
            let error = parse(&format!("cpu 1 2 3 4\n{line}\n")).expect_err(line);
            assert!(error.to_string().contains(line), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = read_from(&folder.path().join("stat")).expect_err("not there").to_string();
        assert!(error.contains("/stat: No such file"), "{error}");
    }

    #[test]
    fn this_machine_has_processors() {
        let all = read().expect("Linux has it");
        assert!(all.iter().any(|t| t.idle + t.user > 0));
        assert!(all.windows(2).all(|pair| pair[0].cpu < pair[1].cpu));
    }
}

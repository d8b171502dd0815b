//! Sources of time: the processor's own counter and `CLOCK_MONOTONIC`.
//!
//! The counter saves the clock arithmetic of the kernel's fast path, no more; it is used only where the
//! kernel itself trusts it as its clock source, so that both tell the same time.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::sys::error::system_text;

/// Why the processor's counter is not used, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CounterUnfit {
    /// No counter is known for this kind of processor.
    #[error("this kind of processor has no counter that TrueSpd knows")]
    Architecture,
    /// The counter may change its rate or stop.
    #[error("the processor's counter may change its rate or stop (no {flag} in /proc/cpuinfo)")]
    NotConstant {
        /// The flag of a counter that is steady.
        flag: &'static str,
    },
    /// The kernel keeps time by something else.
    #[error("the kernel's clock source is {clocksource}, not {wanted}")]
    NotTheKernels {
        /// What the kernel keeps time by.
        clocksource: String,
        /// What it would use if it trusted the counter.
        wanted: &'static str,
    },
    /// A file that would tell could not be read.
    #[error("it is not known whether the processor's counter is steady: {path}: {error}")]
    Unknown {
        /// The file that would tell it.
        path: String,
        /// The system's text of the error.
        error: String,
    },
}

/// What is particular to a processor architecture.
#[derive(Debug)]
struct Arch {
    /// Name of the counter for people; `None` without one.
    counter: Option<&'static str>,
    /// The kernel's name of the clock source that is this counter.
    clocksource: &'static str,
    /// Flags of `/proc/cpuinfo` that promise a constant rate that never stops.
    flags: &'static [&'static str],
}

#[cfg(target_arch = "x86_64")]
mod arch {
    pub const ARCH: super::Arch =
        super::Arch { counter: Some("TSC"), clocksource: "tsc", flags: &["constant_tsc", "nonstop_tsc"] };

    #[inline]
    pub(crate) fn read_unfenced() -> u64 {
        // SAFETY: as below.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[inline]
    pub fn read() -> u64 {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        // SAFETY: every x86-64 processor has both instructions and they have no precondition. Reading can
        // be made to fault with `prctl(PR_SET_TSC)`, which only this process could ask for and never does.
        unsafe {
            _mm_lfence();
            _rdtsc()
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    /// The architecture promises constancy, there is no flag for it.
    pub const ARCH: super::Arch =
        super::Arch { counter: Some("CNTVCT"), clocksource: "arch_sys_counter", flags: &[] };

    #[inline]
    pub(crate) fn read_unfenced() -> u64 {
        let ticks: u64;
        // SAFETY: as below.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags));
        }
        ticks
    }

    #[inline]
    pub fn read() -> u64 {
        let ticks: u64;
        // SAFETY: reads a register that Linux leaves open to user programs (its own vDSO reads it so)
        // and touches neither memory nor stack. `nomem` is left out on purpose: memory accesses of the
        // program must not move across the stamp.
        unsafe {
            std::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags));
        }
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    pub const ARCH: super::Arch = super::Arch { counter: None, clocksource: "", flags: &[] };

    pub fn read() -> u64 {
        super::monotonic_ns()
    }

    pub(crate) fn read_unfenced() -> u64 {
        super::monotonic_ns()
    }
}

/// Name of the processor's counter.
pub const COUNTER_NAME: &str = match arch::ARCH.counter {
    Some(name) => name,
    None => "none",
};

/// The processor's counter, in ticks from an arbitrary start.
///
/// Read after everything before it in the program has finished and loaded what it wanted to load, as the
/// kernel's own clock does: a stamp after a copy from mapped memory is not taken while the copy still
/// runs, and a stamp before an I/O is taken before the I/O can be seen by the kernel. The fence
/// costs about 6 ns; without it the read could move over several hundred instructions.
#[inline]
pub fn counter() -> u64 {
    arch::read()
}

/// [`counter`] without the fence: read while instructions before it may still be under way, as many as the processor
/// keeps under way at a time (some hundred, and system calls among them). Good for what passes through the kernel.
///
/// Measured with 4 KiB reads from the page cache, the shortest there are: median latency with and without the fence
/// 802 and 801 ns one by one with `pread`, 1192 and 1181 ns with io_uring, where the counter moves in steps of 10 ns;
/// the loop of a worker takes 9 ns less per I/O, because the fence keeps it from overlapping with the reading.
#[inline]
pub fn counter_unfenced() -> u64 {
    // The compiler must not move memory accesses across the stamp, whatever the processor does.
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    let ticks = arch::read_unfenced();
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    ticks
}

/// Whether the counter runs at a constant rate, never stops and is what the kernel keeps time by.
///
/// # Errors
/// [`CounterUnfit`] tells why it should not be used.
pub fn counter_fitness() -> Result<(), CounterUnfit> {
    fitness_at(Path::new("/"))
}

/// [`counter_fitness`] with the files of another root folder.
fn fitness_at(root: &Path) -> Result<(), CounterUnfit> {
    if arch::ARCH.counter.is_none() {
        return Err(CounterUnfit::Architecture);
    }
    let unknown =
        |path: &str, e: io::Error| CounterUnfit::Unknown { path: format!("/{path}"), error: system_text(&e) };
    if !arch::ARCH.flags.is_empty() {
        let path = "proc/cpuinfo";
        let flags = fs::File::open(root.join(path)).and_then(|file| first_flags(BufReader::new(file)));
        judge_flags(&flags.map_err(|e| unknown(path, e))?, arch::ARCH.flags)?;
    }
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clocksource = fs::read_to_string(root.join(path)).map_err(|e| unknown(path, e))?;
    let clocksource = clocksource.trim();
    if clocksource == arch::ARCH.clocksource {
        Ok(())
    } else {
        Err(CounterUnfit::NotTheKernels {
            clocksource: clocksource.to_string(),
            wanted: arch::ARCH.clocksource,
        })
    }
}

/// The flags of the first processor in `/proc/cpuinfo`, empty when there are none.
///
/// One is enough, the kernel takes the counter as clock source for all or none; and reading on would take
/// milliseconds on a large machine.
fn first_flags(cpuinfo: impl BufRead) -> io::Result<String> {
    for line in cpuinfo.lines() {
        if let Some((name, flags)) = line?.split_once(':')
            && name.trim() == "flags"
        {
            return Ok(flags.to_string());
        }
    }
    Ok(String::new())
}

fn judge_flags(flags: &str, wanted: &[&'static str]) -> Result<(), CounterUnfit> {
    match wanted.iter().find(|&&flag| !flags.split_ascii_whitespace().any(|f| f == flag)) {
        Some(flag) => Err(CounterUnfit::NotConstant { flag }),
        None => Ok(()),
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds, read without entering the kernel where the vDSO allows.
#[inline]
pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Seconds since boot: never negative, and beyond 64 bits after 584 years.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nvmx flags\t: vnmi\n\
                           flags\t\t: fpu tsc constant_tsc nonstop_tsc rdtscp\n\nprocessor\t: 1\n";

    #[test]
    fn the_processor_must_have_all_flags() {
        let judge = |text: &str| {
            let flags = first_flags(text.as_bytes()).expect("memory can be read");
            judge_flags(&flags, &["constant_tsc", "nonstop_tsc"])
        };
        assert_eq!(judge(CPUINFO), Ok(()));
        let missing = |text: &str, flag| assert_eq!(judge(text), Err(CounterUnfit::NotConstant { flag }));
        missing(&CPUINFO.replace("nonstop_tsc", "nonstop"), "nonstop_tsc");
        missing(&CPUINFO.replace(" constant_tsc", ""), "constant_tsc");
        missing("processor : 0\nFeatures : fp asimd\n", "constant_tsc");
        missing("", "constant_tsc");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_clock_source_must_be_the_counter() {
        let root = tempfile::tempdir().expect("a folder");
        let words = || fitness_at(root.path()).map_err(|e| e.to_string());
        assert!(words().is_err_and(|e| e.contains("/proc/cpuinfo: ")), "nothing there yet");
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/cpuinfo"), CPUINFO).unwrap();
        assert!(words().is_err_and(|e| e.contains("current_clocksource: ")));
        let folder = root.path().join("sys/devices/system/clocksource/clocksource0");
        fs::create_dir_all(&folder).unwrap();
        for (clocksource, result) in [
            ("tsc\n", Ok(())),
            ("kvm-clock\n", Err("the kernel's clock source is kvm-clock, not tsc".to_string())),
            ("hpet\n", Err("the kernel's clock source is hpet, not tsc".to_string())),
        ] {
            fs::write(folder.join("current_clocksource"), clocksource).unwrap();
            assert_eq!(words(), result);
        }
    }

    #[test]
    fn sources_move_forward() {
        let (ticks, ns) = (counter(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(counter() > ticks);
        assert!(monotonic_ns() - ns >= 1_000_000);
    }
}

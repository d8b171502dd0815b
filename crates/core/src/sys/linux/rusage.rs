//! What this process has used so far.

/// Resources used by all threads of this process since it started (getrusage(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessUsage {
    /// Processor time in user mode, in nanoseconds (the kernel counts microseconds).
    pub user_ns: u64,
    /// Processor time in kernel mode, in nanoseconds.
    pub system_ns: u64,
    /// Largest resident memory ever, in bytes.
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

impl ProcessUsage {
    /// Processor time in user and kernel mode, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// Resources used by this process so far.
pub fn process_usage() -> ProcessUsage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, which the kernel fills; all zeros is one as well.
    let usage = unsafe {
        let refused = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        debug_assert_eq!(refused, 0, "getrusage refuses only bad arguments");
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ProcessUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        // Linux reports kibibytes.
        resident_bytes_max: usage.ru_maxrss as u64 * 1024,
        faults_minor: usage.ru_minflt as u64,
        faults_major: usage.ru_majflt as u64,
        switches_voluntary: usage.ru_nvcsw as u64,
        switches_involuntary: usage.ru_nivcsw as u64,
    }
}

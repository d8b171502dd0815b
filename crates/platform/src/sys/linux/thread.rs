//! Threads: processors they may use, priorities, names, and how to interrupt them.
//!
//! Instructions executed by a thread, by the processor's own counter (`perf_event_open(2)`).
//!
//! Virtual machines often have none, and administrators can forbid it (`kernel.perf_event_paranoid`).

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::{io, mem, ptr};

use super::error::system_text;

/// Largest affinity mask asked for, in 64-bit words: 65536 processors.
const MASK_WORDS_MAX: usize = 1024;

/// Processors the calling thread may run on, ascending kernel ids; not limited to 1024.
///
/// # Errors
/// What `sched_getaffinity(2)` says.
pub fn allowed_processors() -> io::Result<Vec<u32>> {
    let mut words = 16;
    loop {
        let mut mask = vec![0u64; words];
        // SAFETY: the kernel writes at most the given number of bytes into `mask`. Thread 0 is the caller.
        let written = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                0,
                mem::size_of_val(mask.as_slice()),
                mask.as_mut_ptr(),
            )
        };
        if written >= 0 {
            return Ok(processors_of(&mask));
        }
        let error = io::Error::last_os_error();
        // EINVAL: the kernel's mask is larger.
        if error.raw_os_error() != Some(libc::EINVAL) || words >= MASK_WORDS_MAX {
            return Err(error);
        }
        words *= 2;
    }
}

/// Processors whose bits are set.
fn processors_of(mask: &[u64]) -> Vec<u32> {
    let all = 0..mask.len() as u32 * 64;
    all.filter(|bit| mask[*bit as usize / 64] >> (bit % 64) & 1 == 1).collect()
}

/// Why a thread could not be bound to a processor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not bind a thread to processor {cpu}: {text}; this process may use processors {allowed}")]
pub struct AffinityError {
    /// Kernel id of the processor.
    pub cpu: u32,
    /// The system's text of the error.
    pub text: String,
    /// Processors that would be legal, e.g. `0-3,8`.
    pub allowed: String,
}

/// Binds the calling thread to one processor.
///
/// # Errors
/// [`AffinityError`] when the processor does not exist, is offline, or is outside the allowed set.
pub fn pin_to_processor(cpu: u32) -> Result<(), AffinityError> {
    let index = cpu as usize / 64;
    let bound = if index < MASK_WORDS_MAX {
        let mut mask = vec![0u64; index + 1];
        mask[index] = 1 << (cpu % 64);
        set_mask(&mask)
    } else {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    };
    bound.map_err(|error| AffinityError {
        cpu,
        text: system_text(&error),
        allowed: allowed_processors().map_or_else(|_| "unknown".to_string(), |set| ranges(&set)),
    })
}

fn set_mask(mask: &[u64]) -> io::Result<()> {
    // SAFETY: the kernel reads the given number of bytes of `mask`. Thread 0 is the caller.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mem::size_of_val(mask), mask.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ascending numbers as ranges: `0-3,8`.
pub fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match parts.last_mut() {
            Some((_, last)) if n == *last + 1 => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let words: Vec<String> =
        parts.into_iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    words.join(",")
}

/// What a thread took of the processors so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Time on a processor, in nanoseconds.
    pub running_ns: u64,
    /// Time it was ready to run and had none, in nanoseconds; `None` where the kernel keeps no such account.
    pub waiting_ns: Option<u64>,
}

/// Times of the calling thread (`clock_gettime(2)`, and the kernel's `Documentation/scheduler/sched-stats.rst`).
pub fn times_of_this_thread() -> ThreadTimes {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    ThreadTimes {
        running_ns: running_ns_of_this_thread(),
        waiting_ns: schedstat.and_then(|text| text.split_whitespace().nth(1)?.parse().ok()),
    }
}

/// Number of the processor that the calling thread runs on just now (`getcpu(2)`); takes some tens of nanoseconds.
pub fn current_processor() -> u32 {
    u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(0)
}

/// Time the calling thread was on a processor, in nanoseconds; asks the kernel, which takes some hundred of them.
pub fn running_ns_of_this_thread() -> u64 {
    let ran = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(ran.tv_sec * 1_000_000_000 + ran.tv_nsec).unwrap_or(0)
}

/// I/O priority in the kernel's encoding (`ioprio_set(2)`): class in the top three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPrio(pub u16);

impl IoPrio {
    /// Not set: the kernel derives it from the nice value.
    pub const NONE: IoPrio = IoPrio(0);
    /// Best effort, lowest level (`-I2`).
    pub const BEST_EFFORT_LOWEST: IoPrio = IoPrio(2 << 13 | 7);
    /// Idle: served when nobody else wants the device (`-I1`).
    pub const IDLE: IoPrio = IoPrio(3 << 13);
}

/// `IOPRIO_WHO_PROCESS`: the number is a thread's.
const WHO_PROCESS: libc::c_int = 1;

/// I/O priority of the calling thread; [`IoPrio::NONE`] where the kernel does not tell.
pub fn io_priority_of_this_thread() -> IoPrio {
    // SAFETY: takes numbers only. Thread 0 is the caller.
    let had = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0) };
    u16::try_from(had).map_or(IoPrio::NONE, IoPrio)
}

/// Sets the I/O priority of the calling thread.
///
/// # Errors
/// What `ioprio_set(2)` says.
pub fn set_io_priority_of_this_thread(priority: IoPrio) -> io::Result<()> {
    // SAFETY: no memory is passed. Thread 0 is the caller.
    let result =
        unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, libc::c_int::from(priority.0)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Raises the calling thread's priority as far as the user may (nice -20 for root); returns the nice value it
/// then has. Threads started later inherit it, so the controller calls this after its workers started.
pub fn raise_priority_of_this_thread() -> i32 {
    // SAFETY: no memory is passed. On Linux a nice value belongs to a thread; 0 is the caller.
    let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    for nice in -20..before {
        // SAFETY: as above.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } == 0 {
            return nice;
        }
    }
    before
}

/// Sleeps for `length`, or less when a signal arrives ([`Interrupter`]).
pub fn sleep_once(length: std::time::Duration) {
    let request = rustix::thread::Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: length.subsec_nanos().into(),
    };
    // Interrupted or not: the caller looks at the time.
    let _ = rustix::thread::nanosleep(&request);
}

/// Lets the kernel end timed waits of the calling thread at the nanosecond it was told; by default it may be
/// 50 microseconds late, to serve several timers with one interrupt. Threads started later inherit it.
///
/// # Errors
/// What `prctl(2)` says.
pub fn keep_exact_time_on_this_thread() -> io::Result<()> {
    const SLACK_NS: libc::c_ulong = 1;
    // SAFETY: takes numbers only.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Kernel id of a thread of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(libc::pid_t);

impl ThreadId {
    /// The id of the calling thread.
    pub fn current() -> Self {
        ThreadId(rustix::thread::gettid().as_raw_nonzero().get())
    }
}

/// Time a thread of this process was ready to run and had no processor, in nanoseconds; `None` when it has
/// ended, or where the kernel keeps no such account.
pub fn waiting_ns_of(thread: ThreadId) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{}/schedstat", thread.0)).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Interrupts blocking system calls of other threads: a signal whose handler does nothing.
///
/// A signal that arrives before the call does not interrupt it, so send until the thread has left.
#[derive(Debug, Clone, Copy)]
pub struct Interrupter {
    signal: libc::c_int,
}

extern "C" fn do_nothing(_: libc::c_int) {}

impl Interrupter {
    /// Installs the handler for `SIGURG`, which nothing else in this program uses and which by default is
    /// ignored; calls are not restarted after it. Not a real-time signal: those are queued, and
    /// cannot be sent once the user's limit of queued signals is reached. Installing again changes nothing.
    ///
    /// # Errors
    /// What `sigaction(2)` says.
    pub fn install() -> io::Result<Self> {
        let signal = libc::SIGURG;
        // SAFETY: all-zero is a valid sigaction: no flags (in particular no SA_RESTART), empty mask.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = do_nothing as extern "C" fn(libc::c_int) as usize;
        // SAFETY: a complete action whose handler is async-signal-safe because it does nothing.
        let result = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        if result == 0 { Ok(Interrupter { signal }) } else { Err(io::Error::last_os_error()) }
    }

    /// Interrupts the thread's present system call; tells whether the thread still exists.
    ///
    /// # Errors
    /// What `tgkill(2)` says.
    pub fn interrupt(&self, thread: ThreadId) -> io::Result<bool> {
        let process = rustix::process::getpid().as_raw_nonzero().get();
        // SAFETY: no memory is passed; naming the process keeps a reused id of another process safe.
        let result = unsafe { libc::syscall(libc::SYS_tgkill, process, thread.0, self.signal) };
        if result == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::ESRCH) { Ok(false) } else { Err(error) }
    }
}

/// The first version of the kernel's `perf_event_attr`, which every kernel takes.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
}

const KIND_HARDWARE: u32 = 0;
const HARDWARE_INSTRUCTIONS: u64 = 1;
/// On the processor for as long as the thread runs, or an error: nothing is extrapolated.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Close the descriptor in programs that this one starts.
const FLAG_CLOEXEC: libc::c_ulong = 1 << 3;

/// Why a thread's instructions are not counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCounter {
    /// The system's answer to a user without the right to count.
    #[error(
        "the kernel does not allow the processor's instruction counter ({0}; sysctl kernel.perf_event_paranoid=2 \
         allows it)"
    )]
    NotAllowed(String),
    /// The processor has none, or hides it.
    #[error("the processor has no instruction counter here")]
    None,
    /// Others have all of them.
    #[error("other programs use the processor's instruction counter")]
    Taken,
    /// Anything else the system said.
    #[error("the kernel offers no instruction counter ({0})")]
    Other(String),
}

/// Counts the instructions that the thread which opened it executes in user mode.
#[derive(Debug)]
pub struct Instructions(File);

impl Instructions {
    /// Starts counting on the calling thread.
    ///
    /// # Errors
    /// Why there is no such counter.
    pub fn of_this_thread() -> Result<Self, NoCounter> {
        let attributes = Attributes {
            kind: KIND_HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: HARDWARE_INSTRUCTIONS,
            flags: PINNED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        // SAFETY: the kernel reads `size` bytes of `attributes` and keeps nothing of them. Thread 0 is the caller,
        // processor -1 any, group -1 none.
        let fd = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, FLAG_CLOEXEC)
        };
        let fd = i32::try_from(fd).unwrap_or(-1);
        if fd < 0 {
            return Err(why(&io::Error::last_os_error()));
        }
        // SAFETY: the kernel has just given this descriptor to us alone.
        let counter = Instructions(unsafe { File::from_raw_fd(fd) });
        match counter.read() {
            Some(_) => Ok(counter),
            None => Err(NoCounter::Taken),
        }
    }

    /// Instructions so far; `None` when the counter was lost.
    pub fn read(&self) -> Option<u64> {
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count).ok()?;
        Some(u64::from_ne_bytes(count))
    }
}

fn why(error: &io::Error) -> NoCounter {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => NoCounter::NotAllowed(system_text(error)),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => NoCounter::None,
        _ => NoCounter::Other(system_text(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::Duration;

    #[test]
    fn masks_beyond_1024_processors() {
        let mut mask = vec![0u64; 32];
        mask[0] = 0b1011;
        mask[31] = 1 << 63;
        assert_eq!(processors_of(&mask), [0, 1, 3, 2047]);
        assert_eq!(ranges(&[0, 1, 3, 2047]), "0-1,3,2047");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn pinning_is_what_the_kernel_then_reports() {
        std::thread::spawn(|| {
            let allowed = allowed_processors().unwrap();
            let last = *allowed.last().unwrap();
            pin_to_processor(last).unwrap();
            assert_eq!(allowed_processors().unwrap(), [last]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_with_those_that_are() {
        for cpu in [65535, u32::MAX] {
            let error = pin_to_processor(cpu).unwrap_err();
            let allowed = ranges(&allowed_processors().unwrap());
            let words = format!("Invalid argument; this process may use processors {allowed}");
            assert!(error.to_string().ends_with(&words), "{error}");
        }
    }

    #[test]
    fn a_busy_thread_was_running() {
        std::thread::spawn(|| {
            let before = times_of_this_thread();
            let since = std::time::Instant::now();
            while times_of_this_thread().running_ns < before.running_ns + 20_000_000 {
                assert!(since.elapsed() < Duration::from_secs(60), "a busy thread was never running");
            }
            let after = times_of_this_thread();
            let ran = after.running_ns - before.running_ns;
            let waited = after.waiting_ns.zip(before.waiting_ns).map_or(0, |(a, b)| a - b);
            // The two clocks of the kernel are read one after the other.
            let elapsed = since.elapsed().as_nanos() as u64 + 10_000_000;
            assert!(ran + waited <= elapsed, "ran {ran}, waited {waited}, of {elapsed} ns");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn io_priorities_are_what_the_kernel_then_reports() {
        std::thread::spawn(|| {
            for priority in [IoPrio::IDLE, IoPrio::BEST_EFFORT_LOWEST] {
                set_io_priority_of_this_thread(priority).unwrap();
                // SAFETY: no memory is passed.
                let now = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) };
                assert_eq!(now, i64::from(priority.0));
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn exact_time_is_what_the_kernel_then_reports() {
        std::thread::spawn(|| {
            keep_exact_time_on_this_thread().unwrap();
            // SAFETY: takes numbers only.
            assert_eq!(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }, 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn raising_never_lowers() {
        std::thread::spawn(|| {
            // SAFETY: no memory is passed.
            let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
            assert!(raise_priority_of_this_thread() <= before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_blocking_read_is_interrupted() {
        let interrupter = Interrupter::install().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            send.send(ThreadId::current()).unwrap();
            reader.read(&mut [0]).unwrap_err().kind()
        });
        let id = receive.recv().unwrap();
        while !thread.is_finished() {
            interrupter.interrupt(id).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(thread.join().unwrap(), io::ErrorKind::Interrupted);
        assert!(!interrupter.interrupt(id).unwrap(), "the thread is gone");
        drop(writer);
    }
}

#[cfg(test)]
mod tests_instructions {
    use super::*;

    #[test]
    fn counts_what_runs_or_says_why_not() {
        let counter = match Instructions::of_this_thread() {
            Ok(counter) => counter,
            Err(why) => return assert!(why.to_string().contains("instruction counter"), "{why}"),
        };
        let of = |rounds: u64| {
            let before = counter.read().expect("counts");
            (0..rounds).for_each(|i| {
                std::hint::black_box(i);
            });
            counter.read().expect("counts") - before
        };
        let (some, many) = (of(1000), of(1_000_000));
        assert!(some >= 1000 && many >= 1_000_000 && many > 100 * some, "{some} and {many}");
    }

    #[test]
    fn refusals_say_what_to_do() {
        let words = |errno| why(&io::Error::from_raw_os_error(errno)).to_string();
        assert!(words(libc::EACCES).contains("perf_event_paranoid"));
        assert!(words(libc::ENOENT).contains("the processor has no instruction counter here"));
        assert!(words(libc::EMFILE).contains("Too many open files"));
        assert_eq!(size_of::<Attributes>(), 64, "PERF_ATTR_SIZE_VER0");
    }
}

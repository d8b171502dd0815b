//! The running system and this process in it: names, clock, user, pages, limits.
//!
//! What this process has used so far.
//!
//! TrueSpd's own folders among those of a user (XDG base directory specification).
//!
//! By hand, not with `etcetera` (0.11, alive) or `dirs`: both ask the user database for a home where HOME is not set,
//! and etcetera has no folder at all where that has none, even with XDG_STATE_HOME set. Containers run like that.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_getres, clock_gettime};

/// Host name as the kernel knows it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Release of the running kernel, e.g. `6.1.0-28-amd64`.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Whether the running kernel is of this release or a newer one; not where its release is no number.
pub fn is_kernel_since(major: u32, minor: u32) -> bool {
    release_numbers(&kernel_release()).is_some_and(|running| running >= (major, minor))
}

/// The first two numbers of a release.
fn release_numbers(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Milliseconds since the machine started, suspended time included.
pub fn uptime_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let ms = now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000);
    u64::try_from(ms).unwrap_or(0)
}

/// What the kernel rounds timers to, in nanoseconds: 1 where it has exact ones, else its tick.
pub fn timer_resolution_ns() -> u64 {
    let resolution = clock_getres(ClockId::Monotonic);
    let ns = resolution.tv_sec.saturating_mul(1_000_000_000).saturating_add(resolution.tv_nsec);
    u64::try_from(ns).unwrap_or(0)
}

/// Whether the process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Number of the user that the process acts as.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Bytes of a page of memory.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Most bytes that one read or write moves (`read(2)`, NOTES): 2 GiB less 4 KiB.
pub const TRANSFER_BYTES_MAX: u64 = 0x7fff_f000;

/// A limit of this process; `None` stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimit {
    /// What counts now; `None` without a limit.
    pub soft: Option<u64>,
    /// Up to where the process may raise it.
    pub hard: Option<u64>,
}

fn limit(resource: Resource) -> ResourceLimit {
    let Rlimit { current, maximum } = getrlimit(resource);
    ResourceLimit { soft: current, hard: maximum }
}

/// Memory the process may lock, in bytes (`RLIMIT_MEMLOCK`).
pub fn locked_memory_limit() -> ResourceLimit {
    limit(Resource::Memlock)
}

/// Files the process may have open (`RLIMIT_NOFILE`).
pub fn open_files_limit() -> ResourceLimit {
    limit(Resource::Nofile)
}

/// Bytes that a file may grow to (`RLIMIT_FSIZE`): beyond it the kernel ends the process by a signal.
pub fn file_size_limit() -> ResourceLimit {
    limit(Resource::Fsize)
}

/// Address space of the process, in bytes (`RLIMIT_AS`).
pub(crate) fn address_space_limit() -> ResourceLimit {
    limit(Resource::As)
}

/// Memory of the process that belongs to no file, in bytes (`RLIMIT_DATA`).
pub(crate) fn data_limit() -> ResourceLimit {
    limit(Resource::Data)
}

/// Processes and threads of this user (`RLIMIT_NPROC`); nothing limits root.
pub(crate) fn processes_limit() -> ResourceLimit {
    if is_root() { ResourceLimit { soft: None, hard: None } } else { limit(Resource::Nproc) }
}

/// Raises the limit of open files to its hard limit and returns the limit that then counts.
///
/// # Errors
/// What `setrlimit(2)` says; the limit is then as before.
pub fn raise_open_files_limit() -> io::Result<ResourceLimit> {
    let before = getrlimit(Resource::Nofile);
    if before.current != before.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum })?;
    }
    Ok(open_files_limit())
}

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
    let [user_ns, system_ns] = [usage.ru_utime, usage.ru_stime]
        .map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000);
    ProcessUsage {
        user_ns,
        system_ns,
        // Linux reports kibibytes.
        resident_bytes_max: usage.ru_maxrss as u64 * 1024,
        faults_minor: usage.ru_minflt as u64,
        faults_major: usage.ru_majflt as u64,
        switches_voluntary: usage.ru_nvcsw as u64,
        switches_involuntary: usage.ru_nivcsw as u64,
    }
}

/// Name of our folder in each of them.
const OWN: &str = "truespd";

/// What outlives a run: `$XDG_STATE_HOME/truespd` or `~/.local/state/truespd`; none where neither
/// XDG_STATE_HOME nor HOME is set.
pub fn state_folder() -> Option<PathBuf> {
    own(variable, "XDG_STATE_HOME", ".local/state")
}

/// What a person would miss: `$XDG_DATA_HOME/truespd` or `~/.local/share/truespd`; none where neither is set.
pub fn data_folder() -> Option<PathBuf> {
    own(variable, "XDG_DATA_HOME", ".local/share")
}

/// What a person writes: `$XDG_CONFIG_HOME/truespd` or `~/.config/truespd`; none where neither is set.
pub fn config_folder() -> Option<PathBuf> {
    own(variable, "XDG_CONFIG_HOME", ".config")
}

/// What an administrator writes for all users of the machine.
pub fn machine_config_folder() -> PathBuf {
    PathBuf::from("/etc").join(OWN)
}

/// What ends with the session: `$XDG_RUNTIME_DIR/truespd`; none where that is not set or no folder.
pub fn runtime_folder() -> Option<PathBuf> {
    runtime_in(variable("XDG_RUNTIME_DIR"))
}

fn runtime_in(value: Option<OsString>) -> Option<PathBuf> {
    Some(absolute(value).filter(|dir| dir.is_dir())?.join(OWN))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn own(variable: impl Fn(&str) -> Option<OsString>, name: &str, below_home: &str) -> Option<PathBuf> {
    let folder = match absolute(variable(name)) {
        Some(folder) => folder,
        None => absolute(variable("HOME"))?.join(below_home),
    };
    Some(folder.join(OWN))
}

/// Relative values do not count, as the specification says.
fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_limits() {
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

#[cfg(test)]
mod tests_folders {
    use super::*;

    #[test]
    fn state_directories() {
        let state_dir_of = |state: Option<&str>, home: Option<&str>| {
            let variable = |name: &str| if name == "HOME" { home } else { state }.map(OsString::from);
            own(variable, "XDG_STATE_HOME", ".local/state")
        };
        assert_eq!(state_dir_of(Some("/state"), Some("/home/u")), Some("/state/truespd".into()));
        assert_eq!(state_dir_of(None, Some("/home/u")), Some("/home/u/.local/state/truespd".into()));
        assert_eq!(state_dir_of(Some("relative"), Some("/h")), Some("/h/.local/state/truespd".into()));
        assert_eq!(state_dir_of(Some(""), None), None);
    }

    #[test]
    fn the_runtime_directory_is_one() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(runtime_in(Some(temp.path().into())), Some(temp.path().join("truespd")));
        for none in [None, Some("relative".into()), Some("/no/such/directory".into())] {
            assert_eq!(runtime_in(none), None);
        }
    }
}

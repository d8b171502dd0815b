//! Named events between processes (`-ys -yf -yr -yp -ye`): set once, seen by everybody who waits.
//!
//! An event is a word of shared memory in a small file of the user's runtime directory; setting stores 1 and
//! wakes all waiters, and the state stays. A Windows event vanishes with its last handle. Here every
//! handle holds a shared `flock`: who can take it exclusively is alone, finds at most the remains of a
//! crash, and starts with a clear word; the last one out removes the file.
//!
//! Events meet within one user and one runtime directory, as Windows events meet within one session.
//!
//! A latch that can be waited for with a deadline: stop requests, failures.

use std::fs::{self, DirBuilder, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;

use crate::sys::error::system_text;
use crate::sys::system;
use crate::text::{printable, printable_path};

/// Size of an event's file: the word, and a number that tells a finished file from a new one.
const FILE_BYTES: usize = 8;
/// Second word of a finished file.
const FINISHED: u32 = 0x5453_4556;
/// Longest escaped name, below the limit of file names.
const NAME_BYTES_MAX: usize = 240;
/// Longest uninterrupted wait: how soon a stop is noticed when no signal comes.
const WAIT_SLICE: Duration = Duration::from_millis(50);
/// Attempts to join while others come and go.
const ATTEMPTS: u32 = 1000;

/// Why an event cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// `-ye` names an event that no running process has.
    #[error(
        "event '{name}' does not exist: no running process of this user waits for it or signals it; events are \
         kept in {dir}"
    )]
    NotExisting {
        /// The name of the event as typed.
        name: String,
        /// The folder that was searched for it.
        dir: String,
    },
    /// The name cannot be used.
    #[error("event name '{name}' cannot be used: {reason}")]
    Name {
        /// The name of the event as typed.
        name: String,
        /// What is wrong with the name.
        reason: String,
    },
    /// The directory is not the user's own.
    #[error(
        "{dir} cannot hold events: {reason}; remove it, or set XDG_RUNTIME_DIR to a directory of your own"
    )]
    Directory {
        /// The folder of the user's events.
        dir: String,
        /// Why others could reach into it.
        reason: String,
    },
    /// The system refused a call on the file of the event.
    #[error("event '{name}': could not {action} {path}: {text}")]
    System {
        /// The name of the event as typed.
        name: String,
        /// What was tried, as in "could not open".
        action: &'static str,
        /// The file of the event.
        path: String,
        /// The system's text of the error.
        text: String,
    },
}

/// Directory of the events of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDir {
    path: PathBuf,
}

impl EventDir {
    /// The folder that this user's programs share.
    pub fn of_this_user() -> Self {
        Self::choose(system::runtime_folder(), rustix::process::geteuid().as_raw())
    }

    /// A folder that a test made.
    #[cfg(test)]
    pub fn at(dir: &Path) -> Self {
        EventDir { path: dir.to_path_buf() }
    }

    fn choose(runtime: Option<PathBuf>, uid: u32) -> Self {
        let path = runtime.unwrap_or_else(|| format!("/tmp/truespd-{uid}").into());
        EventDir { path }
    }

    /// Makes it when missing and checks that nobody else can reach into it.
    fn prepare(&self) -> Result<(), EventError> {
        let refuse = |reason: String| EventError::Directory { dir: printable_path(&self.path), reason };
        match DirBuilder::new().mode(0o700).create(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(refuse(system_text(&e))),
            _ => {}
        }
        // Not through a symbolic link, which somebody else may have put into /tmp.
        let metadata = fs::symlink_metadata(&self.path).map_err(|e| refuse(system_text(&e)))?;
        let uid = rustix::process::geteuid().as_raw();
        if !metadata.is_dir() {
            Err(refuse("it is not a directory".to_string()))
        } else if metadata.uid() != uid {
            Err(refuse(format!("it belongs to user {}, not to user {uid}", metadata.uid())))
        } else if metadata.mode() & 0o077 != 0 {
            Err(refuse("other users may enter it (its mode must be 0700)".to_string()))
        } else {
            Ok(())
        }
    }
}

/// Why a wait for an event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    /// Somebody has set the event.
    Set,
    /// The caller's stop condition came true.
    Stopped,
    /// The time limit has passed.
    TimedOut,
}

/// An open event: manual reset, initially clear.
pub struct EventHandle {
    name: String,
    path: PathBuf,
    file: File,
    word: NonNull<AtomicU32>,
}

// SAFETY: the word is an atomic in shared memory that lives as long as the handle.
unsafe impl Send for EventHandle {}
// SAFETY: as above.
unsafe impl Sync for EventHandle {}

impl fmt::Debug for EventHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventHandle").field("name", &self.name).field("is_set", &self.is_set()).finish()
    }
}

impl EventHandle {
    /// Joins the event `name`, creating it clear when no running process has it.
    ///
    /// # Errors
    /// [`EventError`].
    pub fn create_or_open(name: &str, dir: &EventDir) -> Result<Self, EventError> {
        dir.prepare()?;
        Self::join(name, dir, true)
    }

    /// Joins the event `name` only when some running process has it (`-ye`).
    ///
    /// # Errors
    /// [`EventError::NotExisting`] otherwise.
    pub fn open_existing(name: &str, dir: &EventDir) -> Result<Self, EventError> {
        if fs::symlink_metadata(&dir.path).is_ok() {
            dir.prepare()?;
        }
        Self::join(name, dir, false)
    }

    fn join(name: &str, dir: &EventDir, create: bool) -> Result<Self, EventError> {
        let path = dir.path.join(file_name(name)?);
        let failed = |action: &'static str| {
            let (name, path) = (printable(name), printable_path(&path));
            move |e: rustix::io::Errno| EventError::System {
                name,
                action,
                path,
                text: system_text(&e.into()),
            }
        };
        let missing = EventError::NotExisting { name: printable(name), dir: printable_path(&dir.path) };
        for _ in 0..ATTEMPTS {
            let mut flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            flags.set(OFlags::CREATE, create);
            let file: File = match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(fd) => fd.into(),
                Err(rustix::io::Errno::NOENT) if !create => return Err(missing),
                Err(errno) => return Err(failed("open")(errno)),
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Alone: what the file says is left from a crash.
                Ok(()) if create => reset(&file).map_err(failed("write"))?,
                Ok(()) => {
                    if is_at(&file, &path) {
                        let _ = fs::remove_file(&path);
                    }
                    return Err(missing);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(failed("lock")(errno)),
            }
            flock(&file, FlockOperation::LockShared).map_err(failed("lock"))?;
            // Between the two locks the last one out may have removed the file, or somebody may have died
            // before finishing it: then begin again.
            if is_at(&file, &path) && is_finished(&file) {
                let word = map(&file).map_err(failed("map"))?;
                return Ok(EventHandle { name: name.to_string(), path, file, word });
            }
        }
        Err(failed("join")(rustix::io::Errno::AGAIN))
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: points into the mapping that this handle owns; the file keeps its size because only
        // who holds the exclusive lock resizes it, and this handle holds a shared one.
        unsafe { self.word.as_ref() }
    }

    /// Whether the event is set now.
    pub fn is_set(&self) -> bool {
        self.word().load(Ordering::Acquire) != 0
    }

    /// Sets it and wakes everybody who waits, in all processes.
    pub fn set(&self) {
        self.word().store(1, Ordering::Release);
        // Waking fails only for a bad address, which this is not.
        let _ = futex::wake(self.word(), futex::Flags::empty(), i32::MAX as u32);
    }

    /// Waits until it is set, `is_stopped` says so (looked at 20 times a second and after every signal), or
    /// `limit` has passed.
    pub fn wait(&self, is_stopped: &dyn Fn() -> bool, limit: Option<Duration>) -> WaitEnd {
        let deadline = limit.and_then(|l| Instant::now().checked_add(l));
        loop {
            if self.is_set() {
                return WaitEnd::Set;
            }
            if is_stopped() {
                return WaitEnd::Stopped;
            }
            let left = deadline.map_or(WAIT_SLICE, |d| d.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return WaitEnd::TimedOut;
            }
            let slice = left.min(WAIT_SLICE);
            let slice = futex::Timespec { tv_sec: 0, tv_nsec: slice.subsec_nanos().into() };
            // Set meanwhile, woken, interrupted or timed out: all are looked at above.
            let _ = futex::wait(self.word(), futex::Flags::empty(), 0, Some(&slice));
        }
    }
}

impl Drop for EventHandle {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, owned by this handle and not used any more.
        let _ = unsafe { rustix::mm::munmap(self.word.as_ptr().cast(), FILE_BYTES) };
        // The last one out gets the exclusive lock; a failed attempt gives up the shared one, so of
        // two who leave at once the second gets it.
        let alone = flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if alone && is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A name in a message: the beginning of a long one.
fn shown(name: &str) -> String {
    const LETTERS_SHOWN: usize = 40;
    match name.char_indices().nth(LETTERS_SHOWN) {
        Some((end, _)) => format!("{}...", printable(&name[..end])),
        None => printable(name),
    }
}

/// File name of an event: everything but letters, digits, dot, dash and underscore as `%XX`.
fn file_name(name: &str) -> Result<String, EventError> {
    let refuse = |reason: String| Err(EventError::Name { name: shown(name), reason });
    if name.is_empty() {
        return refuse("it is empty; write the name directly after the switch, e.g. -ysstart".to_string());
    }
    let mut escaped = String::from("event-");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b".-_".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    if escaped.len() > NAME_BYTES_MAX {
        let (letters, fit) = (name.chars().count(), NAME_BYTES_MAX - "event-".len());
        return refuse(format!("it is too long ({letters} letters); {fit} letters or digits fit"));
    }
    Ok(escaped)
}

/// Makes the file a clear event; the caller holds the exclusive lock.
fn reset(file: &File) -> rustix::io::Result<()> {
    rustix::fs::ftruncate(file, FILE_BYTES as u64)?;
    let mut bytes = [0; FILE_BYTES];
    bytes[4..].copy_from_slice(&FINISHED.to_ne_bytes());
    let written = rustix::io::pwrite(file, &bytes, 0)?;
    if written == FILE_BYTES { Ok(()) } else { Err(rustix::io::Errno::NOSPC) }
}

fn is_finished(file: &File) -> bool {
    let mut bytes = [0; FILE_BYTES];
    file.read_exact_at(&mut bytes, 0).is_ok() && bytes[4..] == FINISHED.to_ne_bytes()
}

/// The open file is still the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn map(file: &File) -> rustix::io::Result<NonNull<AtomicU32>> {
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new shared mapping at an address the kernel chooses aliases nothing in this process.
    let address = unsafe {
        rustix::mm::mmap(std::ptr::null_mut(), FILE_BYTES, prot, MapFlags::SHARED, file.as_fd(), 0)?
    };
    // Mappings start at pages, so the word is aligned.
    Ok(NonNull::new(address.cast()).expect("mmap never returns null"))
}

/// Set once, never cleared; cheap to ask, precise to wait for. Clones share the latch.
#[derive(Debug, Clone)]
pub struct Latch {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    set: AtomicBool,
    event: OwnedFd,
}

impl Latch {
    /// A latch that is not set.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Latch { inner: Arc::new(Inner { set: AtomicBool::new(false), event }) })
    }

    /// Sets the latch and wakes everyone who waits.
    pub fn set(&self) {
        self.inner.set.store(true, Ordering::Release);
        // The counter cannot overflow in practice; if it did, the waiters are awake already.
        let _ = rustix::io::write(&self.inner.event, &1u64.to_ne_bytes());
    }

    /// Whether it was set by anybody so far.
    pub fn is_set(&self) -> bool {
        self.inner.set.load(Ordering::Acquire)
    }

    /// The latch as a plain flag, for loops that look now and then. Wait with [`Latch::wait_any`].
    pub fn flag(&self) -> &AtomicBool {
        &self.inner.set
    }

    /// Waits until one of `latches` is set, at most `limit`; tells whether one is.
    pub fn wait_any(latches: &[&Latch], limit: Option<Duration>) -> bool {
        let deadline = limit.map(|l| std::time::Instant::now() + l);
        loop {
            if latches.iter().any(|l| l.is_set()) {
                return true;
            }
            let left = deadline.map(|d| d.saturating_duration_since(std::time::Instant::now()));
            if left.is_some_and(|l| l.is_zero()) {
                return false;
            }
            let mut fds: Vec<PollFd<'_>> = latches
                .iter()
                .map(|l| PollFd::from_borrowed_fd(l.inner.event.as_fd(), PollFlags::IN))
                .collect();
            let timeout = left.map(|l| Timespec {
                tv_sec: i64::try_from(l.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(l.subsec_nanos()),
            });
            // An interrupted wait is looked at again above.
            let _ = poll(&mut fds, timeout.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command};
    use std::sync::atomic::AtomicBool;

    fn dir() -> (tempfile::TempDir, EventDir) {
        let temp = tempfile::tempdir().unwrap();
        let events = EventDir::at(&temp.path().join("events"));
        (temp, events)
    }

    fn never() -> bool {
        false
    }

    const LONG: Option<Duration> = Some(Duration::from_secs(30));

    #[test]
    fn set_is_seen_by_every_handle_and_stays() {
        let (_temp, dir) = dir();
        let a = EventHandle::create_or_open("go", &dir).unwrap();
        let b = EventHandle::create_or_open("go", &dir).unwrap();
        let other = EventHandle::create_or_open("stop", &dir).unwrap();
        assert!(!a.is_set() && !b.is_set());
        EventHandle::open_existing("go", &dir).unwrap().set();
        assert!(a.is_set() && b.is_set() && !other.is_set());
        assert_eq!(b.wait(&never, LONG), WaitEnd::Set);
        let late = EventHandle::create_or_open("go", &dir).unwrap();
        assert!(late.is_set(), "manual reset: the state stays while somebody holds it");
    }

    /// Another test may start a child just then. It holds copies of our handles until its exec, and is the last one
    /// out: once more.
    fn is_removed_by_the_last(come_and_go: impl Fn(&EventDir)) -> bool {
        (0..5).any(|_| {
            let (_temp, dir) = dir();
            come_and_go(&dir);
            let is_empty = fs::read_dir(&dir.path).unwrap().count() == 0;
            is_empty && !EventHandle::create_or_open("go", &dir).unwrap().is_set()
        })
    }

    #[test]
    fn the_last_one_out_removes_it() {
        assert!(is_removed_by_the_last(|dir| {
            let a = EventHandle::create_or_open("go", dir).unwrap();
            let b = EventHandle::create_or_open("go", dir).unwrap();
            a.set();
            drop(a);
            assert!(b.is_set());
            drop(b);
        }));
    }

    #[test]
    fn what_a_crash_left_is_not_believed() {
        let (_temp, dir) = dir();
        dir.prepare().unwrap();
        let path = dir.path.join(file_name("go").unwrap());
        let mut bytes = 1u32.to_ne_bytes().to_vec();
        bytes.extend(FINISHED.to_ne_bytes());
        fs::write(&path, &bytes).unwrap();
        let error = EventHandle::open_existing("go", &dir).unwrap_err();
        assert!(matches!(error, EventError::NotExisting { .. }), "{error}");
        assert!(!path.exists());
        fs::write(&path, &bytes).unwrap();
        assert!(!EventHandle::create_or_open("go", &dir).unwrap().is_set());
        fs::write(&path, "half").unwrap();
        assert!(!EventHandle::create_or_open("go", &dir).unwrap().is_set());
    }

    #[test]
    fn only_existing_events_can_be_opened_as_existing() {
        let (_temp, dir) = dir();
        let error = EventHandle::open_existing("go", &dir).unwrap_err();
        assert!(error.to_string().starts_with("event 'go' does not exist: no running process"), "{error}");
        assert!(!dir.path.exists(), "looking makes nothing");
    }

    #[test]
    fn waits_end_by_set_stop_or_time() {
        let (_temp, dir) = dir();
        let event = EventHandle::create_or_open("go", &dir).unwrap();
        assert_eq!(event.wait(&never, Some(Duration::from_millis(20))), WaitEnd::TimedOut);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| event.wait(&|| stop.load(Ordering::Acquire), LONG));
            stop.store(true, Ordering::Release);
            assert_eq!(stopped.join().unwrap(), WaitEnd::Stopped);
            let waiters: Vec<_> = (0..4).map(|_| scope.spawn(|| event.wait(&never, LONG))).collect();
            event.set();
            assert!(waiters.into_iter().all(|w| w.join().unwrap() == WaitEnd::Set));
        });
    }

    #[test]
    fn names_are_escaped_and_told_apart() {
        assert_eq!(file_name("go-1.x_Y").unwrap(), "event-go-1.x_Y");
        assert_eq!(file_name("Global\\go/../ü").unwrap(), "event-Global%5Cgo%2F..%2F%C3%BC");
        assert_ne!(file_name("%41").unwrap(), file_name("A").unwrap());
        assert!(file_name("").is_err());
        assert!(file_name(&"x".repeat(234)).is_ok());
        assert!(file_name(&"x".repeat(235)).unwrap_err().to_string().contains("234 letters"));
    }

    #[test]
    fn directories_of_others_are_refused() {
        let (temp, dir) = dir();
        dir.prepare().unwrap();
        assert_eq!(fs::metadata(&dir.path).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&dir.path, fs::Permissions::from_mode(0o755)).unwrap();
        let error = EventHandle::create_or_open("go", &dir).unwrap_err();
        assert!(error.to_string().contains("other users may enter it"), "{error}");
        let link = temp.path().join("link");
        std::os::unix::fs::symlink(temp.path(), &link).unwrap();
        let error = EventHandle::create_or_open("go", &EventDir::at(&link)).unwrap_err();
        assert!(error.to_string().contains("not a directory"), "{error}");
        // Of root, and open to all: refused for the one reason or the other.
        assert!(EventHandle::open_existing("go", &EventDir::at(Path::new("/tmp"))).is_err());
    }

    #[test]
    fn the_runtime_directory_is_chosen_by_the_environment() {
        let temp = tempfile::tempdir().unwrap();
        let runtime = temp.path().join("truespd");
        assert_eq!(EventDir::choose(Some(runtime.clone()), 7).path, runtime);
        assert_eq!(EventDir::choose(None, 7).path, PathBuf::from("/tmp/truespd-7"));
    }

    /// Environment of [`child_process`]: the directory of the events.
    const CHILD_DIR: &str = "TRUESPD_TEST_EVENT_DIR";

    fn start_child(dir: &EventDir) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sys::linux::events::tests::child_process", "--ignored", "--nocapture"])
            .env(CHILD_DIR, &dir.path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Not a test of its own: the other process of the tests below.
    #[test]
    #[ignore = "run by two_processes_meet and a_killed_process_leaves_nothing"]
    fn child_process() {
        let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
        let dir = EventDir::at(Path::new(&dir));
        let answer = EventHandle::create_or_open("answer", &dir).unwrap();
        let question = EventHandle::create_or_open("question", &dir).unwrap();
        EventHandle::open_existing("ready", &dir).unwrap().set();
        assert_eq!(question.wait(&never, LONG), WaitEnd::Set);
        answer.set();
    }

    #[test]
    fn two_processes_meet() {
        let (_temp, dir) = dir();
        let ready = EventHandle::create_or_open("ready", &dir).unwrap();
        let answer = EventHandle::create_or_open("answer", &dir).unwrap();
        let mut child = start_child(&dir);
        assert_eq!(ready.wait(&never, LONG), WaitEnd::Set);
        assert_eq!(answer.wait(&never, Some(Duration::from_millis(100))), WaitEnd::TimedOut);
        EventHandle::open_existing("question", &dir).unwrap().set();
        assert_eq!(answer.wait(&never, LONG), WaitEnd::Set);
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_killed_process_leaves_nothing_that_counts() {
        let (_temp, dir) = dir();
        let ready = EventHandle::create_or_open("ready", &dir).unwrap();
        let mut child = start_child(&dir);
        assert_eq!(ready.wait(&never, LONG), WaitEnd::Set);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(dir.path.join(file_name("question").unwrap()).exists(), "the kill left the file");
        let error = EventHandle::open_existing("question", &dir).unwrap_err();
        assert!(matches!(error, EventError::NotExisting { .. }), "{error}");
    }

    #[test]
    fn many_threads_come_and_go() {
        assert!(is_removed_by_the_last(|dir| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..200 {
                            EventHandle::create_or_open("go", dir).unwrap();
                        }
                    });
                }
            });
        }));
    }
}

#[cfg(test)]
mod tests_wake {
    use super::*;

    #[test]
    fn waits_for_any_and_gives_up_in_time() {
        let (a, b) = (Latch::new().unwrap(), Latch::new().unwrap());
        assert!(!Latch::wait_any(&[&a, &b], Some(Duration::from_millis(5))));
        let setter = b.clone();
        let thread = std::thread::spawn(move || setter.set());
        assert!(Latch::wait_any(&[&a, &b], None));
        assert!(b.is_set() && !a.is_set());
        thread.join().unwrap();
        assert!(Latch::wait_any(&[&b], None), "stays set");
    }
}
